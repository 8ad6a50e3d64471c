package wire

import (
	"strings"
	"testing"
)

// What is kept must also be shown to a person: depth costs a page the square of it.
func TestBodiesAreBounded(t *testing.T) {
	t.Parallel()
	list := func(n int, item string) string {
		return "[" + strings.TrimSuffix(strings.Repeat(item+",", n), ",") + "]"
	}
	for name, c := range map[string]struct{ body, path, says string }{
		"as deep as may be":    {`{"a":` + strings.Repeat("[", 63) + strings.Repeat("]", 63) + `}`, "", ""},
		"one too deep":         {`{"a":` + strings.Repeat("[", 64) + strings.Repeat("]", 64) + `}`, "/a", "levels deep"},
		"deep in objects":      {`{"a":` + strings.Repeat(`{"b":`, 5000) + "1" + strings.Repeat("}", 5001), "/a/b", "levels deep"},
		"as long as may be":    {`{"errors":` + list(2000, "1") + `}`, "", ""},
		"one item too many":    {`{"evidence":[{"rows":` + list(2001, "[]") + `}]}`, "/evidence/0/rows", "more than 2000 items"},
		"many lists of many":   {`{"a":` + list(1000, list(100, "1")) + `}`, "", "more than 50000 values"},
		"deep inside a string": {`{"a":"` + strings.Repeat("[", 5000) + `"}`, "", ""},
	} {
		b, err := Parse([]byte(c.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.says == "" {
			if len(b.issues) > 0 {
				t.Errorf("%s: %v", name, b.issues)
			}
			continue
		}
		if len(b.issues) != 1 || !strings.HasPrefix(b.issues[0].Path, c.path) || !strings.Contains(b.issues[0].Message, c.says) {
			t.Errorf("%s: %v", name, b.issues)
		}
	}
}
