package pages_test

import (
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views/ui"
)

func TestSheetsMarkTheCharactersThatPagesMark(t *testing.T) {
	t.Parallel()
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) {
			continue
		}
		shown := ""
		for _, s := range ui.Visible("x" + string(r)) {
			if s.Mark {
				s.Text = "[" + s.Text + "]"
			}
			shown += s.Text
		}
		if cell := models.PlainCell("x" + string(r)); cell != shown {
			t.Errorf("U+%04X is %q in a sheet and %q on a page", r, cell, shown)
		}
	}
}
