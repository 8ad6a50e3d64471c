package models_test

import (
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
)

func TestFreeTextKeepsWordsAndRefusesControls(t *testing.T) {
	t.Parallel()
	const family = "👩\u200d👩\u200d👧 🇩🇪 \u2764\ufe0f"
	for _, c := range []struct{ in, text, textWhy, line, lineWhy string }{
		{"plain", "plain", "", "plain", ""},
		{" \tplain  words\r\n", "plain  words", "", "plain words", ""},
		{"one\r\ntwo\rthree\n\tfour", "one\ntwo\nthree\n\tfour", "", "", "must be one line"},
		{family, family, "", family, ""},
		{"שלום \u200fمرحبا\u202e", "שלום \u200fمرحبا\u202e", "", "שלום \u200fمرحبا\u202e", ""},
		{"", "", "", "", ""}, {" \u00a0\u3000\n", "", "", "", ""}, {"\u200b\u2060\ufeff\u00ad\u3164\u2800\ufe0f", "", "", "", ""},
		{"a\x00b", "", "must not contain the control character U+0000", "", "must not contain the control character U+0000"},
		{"\x1b[31mred", "", "must not contain the control character U+001B", "", "must not contain the control character U+001B"},
		{"end\x0b", "", "must not contain the control character U+000B", "", "must not contain the control character U+000B"},
		{"a\u0085b", "", "must not contain the control character U+0085", "", "must not contain the control character U+0085"},
		{"\x7f", "", "must not contain the control character U+007F", "", "must not contain the control character U+007F"},
		{"a\tb", "a\tb", "", "", "must not contain the control character U+0009"},
		{"a\xffb", "", "must be valid Unicode text", "", "must be valid Unicode text"},
		{strings.Repeat("ü", 60), strings.Repeat("ü", 60), "", strings.Repeat("ü", 60), ""},
		{strings.Repeat("ü", 61), "", "must have at most 60 characters", "", "must have at most 60 characters"},
	} {
		if kept, why := models.FreeText(c.in, 60); kept != c.text || why != c.textWhy {
			t.Errorf("%q is kept as %q (%s), want %q (%s)", c.in, kept, why, c.text, c.textWhy)
		}
		if kept, why := models.FreeLine(c.in, 60); kept != c.line || why != c.lineWhy {
			t.Errorf("%q in one line is kept as %q (%s), want %q (%s)", c.in, kept, why, c.line, c.lineWhy)
		}
	}
}
