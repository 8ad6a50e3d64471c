package ui

import (
	"context"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/lang"
)

// Foreign text and figures are written by hand rather than by a template so that no blank is
// added between its parts.

// Text prints foreign text within a line, whole, in a direction of its own.
func Text(f Foreign) templ.Component {
	return foreign(`<bdi>`, f, `</bdi>`)
}

// Block prints foreign text with its own line breaks, whole.
func Block(f Foreign) templ.Component {
	return foreign(`<p class="foreign-block" dir="auto">`, f, `</p>`)
}

// How much of a long text is read at once, and how much more there must be for a fold to be worth its click.
const (
	openingRunes, openingLines = 420, 5
	restRunes                  = 140
)

// Opening parts a text in two: what is read at once, and the rest, "" for a text that is short enough. It
// parts between lines, else between sentences, else between words; nothing of the text is lost but the blank
// between the two.
func (f Foreign) Opening() (opening, rest Foreign) {
	text := string(f)
	line, sentence, word, lines, runes := 0, 0, 0, 1, 0
	var before rune
	for i, r := range text {
		if runes == openingRunes || lines > openingLines {
			break
		}
		switch {
		case r == '\n':
			line, sentence, word = i, i, i
			lines++
		case r == ' ' && strings.ContainsRune(".!?:;", before):
			sentence, word = i, i
		case r == ' ':
			word = i
		}
		before = r
		runes++
	}
	at := word
	for _, better := range []int{sentence, line} {
		if utf8.RuneCountInString(text[:better]) > openingRunes/3 || lines > openingLines && better == line {
			at = better
		}
	}
	more := strings.TrimLeft(text[at:], " \n")
	if at == 0 || utf8.RuneCountInString(more) < restRunes && strings.Count(more, "\n") < 2 {
		return f, ""
	}
	return Foreign(text[:at]), Foreign(more)
}

func pre(f Foreign) templ.Component {
	return foreign(`<pre class="as-sent__text" tabindex="0">`, f, `</pre>`)
}

func foreign(before string, f Foreign, after string) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		var b strings.Builder
		b.WriteString(before)
		for _, s := range Visible(string(f)) {
			if s.Mark {
				b.WriteString(`<span class="mark" title="` + templ.EscapeString(tr(ctx, s.Name)) + `">` + s.Text + `</span>`)
				continue
			}
			b.WriteString(templ.EscapeString(s.Text))
		}
		b.WriteString(after)
		_, err := io.WriteString(w, b.String())
		return err
	})
}

// Breakable prints grouped figures that may go on in the next line after a
// separator.
func Breakable(figures string) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		mark := lang.Of(ctx).GroupMark()
		_, err := io.WriteString(w, strings.ReplaceAll(templ.EscapeString(figures), mark, mark+"<wbr>"))
		return err
	})
}
