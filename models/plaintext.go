package models

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxID is how many characters an id of an invoice, a supplier or an order may have.
const MaxID = 255

// FreeText reads what somebody wrote in their own words, as it is kept: without blanks around it, its lines ended
// by \n, and "" when nothing of it can be seen. why says why it cannot be kept, "" when it can. Every script may
// stand in it, and what joins or turns its letters; the pages mark what cannot be seen.
func FreeText(text string, most int) (kept, why string) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	if why := CheckFreeText(text); why != "" {
		return "", why
	}
	return bounded(text, most)
}

// FreeLine is FreeText for one line, such as a name, whose words stand one blank apart.
func FreeLine(text string, most int) (kept, why string) {
	text = strings.Trim(text, "\r\n\t ")
	if strings.ContainsAny(text, "\r\n") {
		return "", "must be one line"
	}
	if why := checkFree(text, ""); why != "" {
		return "", why
	}
	return bounded(strings.Join(strings.Fields(text), " "), most)
}

// NeededText is FreeText for a text that must be there: missing says why it cannot be left out; "": it can.
func NeededText(text string, most int, missing string) (kept, why string) {
	kept, why = FreeText(text, most)
	if why == "" && kept == "" {
		why = missing
	}
	return kept, why
}

// NeededLine is FreeLine for a line that must be there; missing says why.
func NeededLine(text string, most int, missing string) (kept, why string) {
	kept, why = FreeLine(text, most)
	if why == "" && kept == "" {
		why = missing
	}
	return kept, why
}

// checkedName is a name, which must be there.
func checkedName(name string, most int) (kept, why string) {
	return NeededLine(name, most, "must not be empty")
}

// CheckReason is FreeText for a reason that may be left out.
func CheckReason(reason string, most int) (kept string, err error) {
	kept, why := FreeText(reason, most)
	if why != "" {
		return "", Invalid(Issue{"/reason", why})
	}
	return kept, nil
}

// CheckFreeText says why a text cannot be one that FreeText keeps, whatever its length, "" when it can.
func CheckFreeText(text string) string { return checkFree(text, "\r\n\t") }

// checkFree names the first control character of a text that is none of the allowed.
func checkFree(text, allowed string) string {
	if !utf8.ValidString(text) {
		return "must be valid Unicode text"
	}
	for _, r := range text {
		if unicode.IsControl(r) && !strings.ContainsRune(allowed, r) {
			return fmt.Sprintf("must not contain the control character U+%04X", r)
		}
	}
	return ""
}

func bounded(text string, most int) (kept, why string) {
	if !HasVisible(text) {
		return "", ""
	}
	text = strings.TrimSpace(text)
	if utf8.RuneCountInString(text) > most {
		return "", fmt.Sprintf("must have at most %d characters", most)
	}
	return text, ""
}

// HasVisible says whether anything of a text can be seen: white space, and what leaves no trace, cannot.
func HasVisible(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsSpace(r) && !unseen(r) })
}

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
