package ui

import (
	"context"
	"io"
	"strings"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/lang"
)

func tr(ctx context.Context, id string, values ...any) string { return lang.Of(ctx).T(id, values...) }

// Parts are what stands in a sentence by name.
type Parts map[string]templ.Component

// Sentence is a message with components in it, so that each language puts them where it needs them: the
// message is "asked {when} by {who}", the parts are those of the names in braces. Its own text is
// escaped. A name that is not among the parts stays as it is.
//
//	@ui.Sentence(tr(ctx, "asked {when} by {who}"), ui.Parts{"when": ui.MomentOf(m), "who": ui.Text(name)})
func Sentence(message string, parts Parts) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		for rest := message; rest != ""; {
			before, after, found := strings.Cut(rest, "{")
			name, behind, closed := strings.Cut(after, "}")
			part := parts[name]
			if !found || !closed || part == nil {
				_, err := io.WriteString(w, templ.EscapeString(rest))
				return err
			}
			if _, err := io.WriteString(w, templ.EscapeString(before)); err != nil {
				return err
			}
			if err := part.Render(ctx, w); err != nil {
				return err
			}
			rest = behind
		}
		return nil
	})
}
