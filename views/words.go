package views

import (
	"context"
	"encoding/json"

	"github.com/apdesk/apdesk/views/lang"
)

// tr is a message in the reader's language; see package lang.
func tr(ctx context.Context, id string, values ...any) string { return lang.Of(ctx).T(id, values...) }

// trn is the form of a message that goes with a count, its first value.
func trn(ctx context.Context, one, many string, count int, values ...any) string {
	return lang.Of(ctx).N(one, many, count, values...)
}

// trc is a message whose English means several things.
func trc(ctx context.Context, in, id string, values ...any) string {
	return lang.Of(ctx).C(in, id, values...)
}

// timeWords are the messages by which the script keeps times fresh, as JSON; "" in English, which the
// script speaks itself.
func timeWords(ctx context.Context) string {
	l := lang.Of(ctx)
	if l == lang.English() {
		return ""
	}
	text, err := json.Marshal(l.TimeWords())
	if err != nil {
		return ""
	}
	return string(text)
}
