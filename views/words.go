package views

import (
	"context"
	"encoding/json"

	"github.com/apdesk/apdesk/views/lang"
)

// tr is a message in the reader's language; see package lang.
func tr(ctx context.Context, id string, values ...any) string { return lang.Of(ctx).T(id, values...) }

// trc is a message whose English means several things.
func trc(ctx context.Context, in, id string, values ...any) string {
	return lang.Of(ctx).C(in, id, values...)
}

// scriptWords are the messages of the script, among them those by which it keeps times fresh, as JSON; ""
// in English, which the script speaks itself.
func scriptWords(ctx context.Context) string {
	l := lang.Of(ctx)
	if l == lang.English() {
		return ""
	}
	words := l.TimeWords()
	words["ready"] = l.T("Ctrl Enter: %s")
	text, err := json.Marshal(words)
	if err != nil {
		return ""
	}
	return string(text)
}
