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

// ReadFigures is the plain decimal that a person of this language typed: "1.234,50" and "1234,50" in
// German, "1,234.50" in English, and the plain form "1234.50" in both. What languages read differently is
// read as this one does: a single point before three digits parts thousands in German, so "1.234" is 1234
// there, and 1.234 in English; no thousands begin with a zero, so "0.500" is plain everywhere. What this
// language has no reading for is read as the one that has. Anything else comes back as it was typed, so
// that nothing is guessed.
func (l *Lang) ReadFigures(typed string) string {
	text := strings.NewReplacer("\u00a0", "", "\u202f", "", " ", "", "\u2212", "-").Replace(strings.TrimSpace(typed))
	if plain, ok := l.or().grouped(text); ok {
		return plain
	}
	if _, _, _, ok := Decimal(text); ok {
		return text
	}
	for _, other := range All() {
		if plain, ok := other.or().grouped(text); ok {
			return plain
		}
	}
	return typed
}

// grouped is the plain decimal of figures written by the language's marks, thousands parted or not.
func (l *Lang) grouped(text string) (plain string, ok bool) {
	rest, negative := strings.CutPrefix(text, "-")
	whole, frac, point := strings.Cut(rest, l.point)
	groups := strings.Split(whole, l.group)
	for i, g := range groups {
		if !digits(g) || len(groups) > 1 && (i > 0 && len(g) != 3 || i == 0 && (len(g) > 3 || g[0] == '0')) {
			return "", false
		}
	}
	plain = strings.Join(groups, "")
	if point {
		if !digits(frac) {
			return "", false
		}
		plain += "." + frac
	}
	if negative {
		plain = "-" + plain
	}
	return plain, true
}

// TypeFigures is a plain decimal as it stands in a field to be typed over: with the language's mark of
// decimals, and no other. ReadFigures gives the same decimal back.
func (l *Lang) TypeFigures(amount string) string {
	if _, _, _, ok := Decimal(amount); !ok {
		return amount
	}
	return strings.Replace(amount, ".", l.or().point, 1)
}

// FiguresInAddress is a plain decimal that every language reads alike, for addresses, which outlive the
// choice of one: a zero goes before what could be thousands, "01.234".
func FiguresInAddress(amount string) string {
	if _, whole, frac, ok := Decimal(amount); ok && len(frac) == 3 && len(whole) <= 3 && whole[0] != '0' {
		return strings.Replace(amount, whole, "0"+whole, 1)
	}
	return amount
}

// GroupMark stands between the groups of three digits.
func (l *Lang) GroupMark() string { return l.or().group }

// Decimal takes apart -?digits(.digits)?; the sign comes back as a true minus, which cannot be taken
// for a hyphen. Zero has none.
func Decimal(amount string) (sign, whole, frac string, ok bool) {
	rest, negative := strings.CutPrefix(amount, "-")
	if negative {
		sign = "\u2212"
	}
	whole, frac, dot := strings.Cut(rest, ".")
	if !digits(whole) || (dot && !digits(frac)) {
		return "", "", "", false
	}
	if strings.Trim(rest, "0.") == "" {
		sign = ""
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
