package ui

import (
	"fmt"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/apdesk/apdesk/views/lang"
)

// Foreign is text that somebody outside wrote: an agent, a supplier, a
// document, another system. It has its own type so that a page cannot print it
// without going through Text or Block, which escape it, isolate its direction
// and make invisible characters visible.
type Foreign string

// Segment is a run of text as it is shown. When Mark is set, Text is the
// visible stand-in ("U+202E") of one character that would otherwise be unseen
// or would reorder its surroundings, and Name is the message that says what it is.
type Segment struct {
	Text string
	Mark bool
	Name string
}

// markNames names the characters people meet most; every other marked
// character is called by its class.
var markNames = map[rune]string{
	0x00AD: lang.Mark("soft hyphen"),
	0x034F: lang.Mark("combining grapheme joiner"),
	0x061C: lang.Mark("Arabic letter mark"),
	0x180E: lang.Mark("Mongolian vowel separator"),
	0x200B: lang.Mark("zero width space"),
	0x200C: lang.Mark("zero width non-joiner"),
	0x200D: lang.Mark("zero width joiner"),
	0x200E: lang.Mark("left-to-right mark"),
	0x200F: lang.Mark("right-to-left mark"),
	0x2028: lang.Mark("line separator"),
	0x2029: lang.Mark("paragraph separator"),
	0x202A: lang.Mark("left-to-right embedding"),
	0x202B: lang.Mark("right-to-left embedding"),
	0x202C: lang.Mark("pop directional formatting"),
	0x202D: lang.Mark("left-to-right override"),
	0x202E: lang.Mark("right-to-left override"),
	0x2060: lang.Mark("word joiner"),
	0x2066: lang.Mark("left-to-right isolate"),
	0x2067: lang.Mark("right-to-left isolate"),
	0x2068: lang.Mark("first strong isolate"),
	0x2069: lang.Mark("pop directional isolate"),
	0x2800: lang.Mark("blank Braille pattern"),
	0x3164: lang.Mark("Hangul filler"),
	0xFEFF: lang.Mark("zero width no-break space"),
	0xFFA0: lang.Mark("halfwidth Hangul filler"),
}

var invalidByte = lang.Mark("invalid byte")

// Visible splits text into what is shown as it is and marks for characters
// that are invisible, of no width, control the text direction, or are not
// valid UTF-8. Line feeds and tabs stay. Nothing is dropped and nothing is
// shortened: joining all unmarked segments and the marked characters gives the
// text back.
func Visible(text string) []Segment {
	var out []Segment
	start := 0
	flush := func(end int) {
		if end > start {
			out = append(out, Segment{Text: text[start:end]})
		}
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			flush(i)
			out = append(out, Segment{Text: fmt.Sprintf("0x%02X", text[i]), Mark: true, Name: invalidByte})
			start = i + size
		case unseen(r):
			flush(i)
			out = append(out, Segment{Text: fmt.Sprintf("U+%04X", r), Mark: true, Name: markName(r)})
			start = i + size
		}
		i += size
	}
	flush(len(text))
	return out
}

// unseen says whether r leaves no trace on screen or steers its neighbours.
func unseen(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.Is(unicode.Cf, r), unicode.Is(unicode.Cc, r), unicode.Is(unicode.Co, r):
		return true
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5,
		r == 0x2028, r == 0x2029, r == 0x2800, r == 0x3164, r == 0xFFA0:
		return true
	case r >= 0x180B && r <= 0x180F, r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF:
		return true
	}
	return false
}

func markName(r rune) string {
	if name, ok := markNames[r]; ok {
		return name
	}
	switch {
	case unicode.Is(unicode.Cc, r):
		return lang.Mark("control character")
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF:
		return lang.Mark("variation selector")
	case r >= 0xE0000 && r <= 0xE007F:
		return lang.Mark("tag character")
	case unicode.Is(unicode.Co, r):
		return lang.Mark("private use character")
	}
	return lang.Mark("invisible character")
}

// Plain is the same text for places that take no markup (a document title, an
// attribute): marks stand in square brackets, lines become one.
func (f Foreign) Plain() string {
	var b strings.Builder
	for _, s := range Visible(string(f)) {
		if s.Mark {
			b.WriteString("[" + s.Text + "]")
			continue
		}
		b.WriteString(s.Text)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// Link is an address somebody outside gave. It is shown with its host and
// opened only by the reader's own click.
type Link struct {
	Title Foreign
	URL   string
	Host  Foreign
}

// ParseLink accepts absolute https addresses without credentials in them;
// anything else is not a link to be followed.
func ParseLink(title Foreign, raw string) (Link, bool) {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil {
		return Link{}, false
	}
	return Link{Title: title, URL: u.String(), Host: Foreign(u.Host)}, true
}
