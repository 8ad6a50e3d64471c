package lang

import "strings"

// Figures writes a plain decimal by the language's marks: "-1234567.50" is "−1,234,567.50" in English
// and "−1.234.567,50" in German. Text that is no plain decimal comes back as it was; no digit is ever
// rounded or dropped.
func (l *Lang) Figures(amount string) string {
	l = l.or()
	sign, whole, frac, ok := Decimal(amount)
	if !ok {
		return amount
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, r := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteString(l.group)
		}
		b.WriteRune(r)
	}
	if frac != "" {
		b.WriteString(l.point + frac)
	}
	return b.String()
}

// GroupMark stands between the groups of three digits.
func (l *Lang) GroupMark() string { return l.or().group }

// Decimal takes apart -?digits(.digits)?; the sign comes back as a true minus, which cannot be taken
// for a hyphen.
func Decimal(amount string) (sign, whole, frac string, ok bool) {
	rest, negative := strings.CutPrefix(amount, "-")
	if negative {
		sign = "\u2212"
	}
	whole, frac, dot := strings.Cut(rest, ".")
	if !digits(whole) || (dot && !digits(frac)) {
		return "", "", "", false
	}
	return sign, whole, frac, true
}

func digits(s string) bool {
	if s == "" {
		return false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return true
}
