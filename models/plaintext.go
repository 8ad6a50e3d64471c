package models

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxID is how many characters an id of an invoice, a supplier or an order may have.
const MaxID = 255

// CheckLine says why a text that a person typed is not one line of what can be seen, "" when it is.
func CheckLine(text string) string {
	switch {
	case strings.ContainsAny(text, "\n\r\t"):
		return "must be one line"
	case HasUnseen(text):
		return "must not hold characters that cannot be seen"
	}
	return ""
}

// CheckID says why a text that a person typed cannot be an id of another system, "" when it can: nobody
// finds out afterwards why an id with something unseen in it is never met.
func CheckID(text string) string {
	if utf8.RuneCountInString(text) > MaxID {
		return fmt.Sprintf("must have at most %d characters", MaxID)
	}
	return CheckLine(text)
}

// HasUnseen says whether a text holds characters that leave no trace on screen or steer their neighbours.
// Line feeds and tabs are none.
func HasUnseen(text string) bool {
	return !utf8.ValidString(text) || strings.ContainsFunc(text, unseen)
}

// unseen says whether r leaves no trace on screen or steers its neighbours. It is the rule of the pages.
func unseen(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case unicode.In(r, unicode.Cf, unicode.Cc, unicode.Co):
		return true
	case r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5,
		r == 0x2028, r == 0x2029, r == 0x2800, r == 0x3164, r == 0xFFA0:
		return true
	}
	return r >= 0x180B && r <= 0x180F || r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF
}
