package models

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// NormaliseNumber is the form in which invoice numbers are compared: NFKC, upper case, letters and
// digits only, leading zeros of each run of digits dropped. INV-001, "inv 1" and full-width ＩＮＶ１
// are one number; 01234-0001 and 1234-1 are as well.
func NormaliseNumber(s string) string {
	s = strings.ToUpper(norm.NFKC.String(s))
	var out strings.Builder
	digits := make([]rune, 0, len(s))
	flush := func() {
		if len(digits) == 0 {
			return
		}
		trimmed := digits
		for len(trimmed) > 1 && trimmed[0] == '0' {
			trimmed = trimmed[1:]
		}
		out.WriteString(string(trimmed))
		digits = digits[:0]
	}
	for _, r := range s {
		switch {
		case unicode.IsDigit(r):
			digits = append(digits, r)
		case unicode.IsLetter(r):
			flush()
			out.WriteRune(r)
		default:
			flush()
		}
	}
	flush()
	return out.String()
}
