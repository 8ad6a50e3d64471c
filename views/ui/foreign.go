package ui

import (
	"context"
	"io"
	"strings"

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
