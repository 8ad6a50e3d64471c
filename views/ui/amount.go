package ui

import "strings"

// Figures groups the digits of a plain decimal by thousands: "-1234567.50" is
// "−1,234,567.50". Text that is not a plain decimal comes back as it was; no
// digit is ever rounded or dropped.
func Figures(amount string) string {
	sign, whole, frac, ok := splitDecimal(amount)
	if !ok {
		return amount
	}
	var b strings.Builder
	b.WriteString(sign)
	for i, r := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(r)
	}
	if frac != "" {
		b.WriteString("." + frac)
	}
	return b.String()
}

// splitDecimal takes apart -?digits(.digits)?; the sign comes back as a true
// minus, which cannot be taken for a hyphen.
func splitDecimal(amount string) (sign, whole, frac string, ok bool) {
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

var (
	ones = [...]string{"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
		"twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"}
	tens   = [...]string{"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
	scales = [...]string{"", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion", "sextillion"}
)

// Words writes an amount the way a cheque does, so that a slipped digit is
// seen: "1234.50" EUR is "one thousand two hundred thirty-four EUR and 50/100".
// It is "" for text that is not a plain decimal or has more than 24 digits
// before the point.
func Words(amount, currency string) string {
	sign, whole, frac, ok := splitDecimal(amount)
	whole = strings.TrimLeft(whole, "0")
	if !ok || len(whole) > 3*len(scales) {
		return ""
	}
	var parts []string
	if sign != "" {
		parts = append(parts, "minus")
	}
	if whole == "" {
		parts = append(parts, "zero")
	}
	for whole != "" {
		head := (len(whole)-1)%3 + 1
		scale := (len(whole) - head) / 3
		if group := hundreds(whole[:head]); group != "" {
			parts = append(parts, group)
			if scale > 0 {
				parts = append(parts, scales[scale])
			}
		}
		whole = whole[head:]
	}
	parts = append(parts, currency)
	if strings.Trim(frac, "0") != "" {
		parts = append(parts, "and "+frac+"/1"+strings.Repeat("0", len(frac)))
	}
	return strings.Join(parts, " ")
}

func hundreds(group string) string {
	n := 0
	for i := range len(group) {
		n = n*10 + int(group[i]-'0')
	}
	var parts []string
	if n >= 100 {
		parts = append(parts, ones[n/100]+" hundred")
		n %= 100
	}
	switch {
	case n >= 20 && n%10 != 0:
		parts = append(parts, tens[n/10]+"-"+ones[n%10])
	case n >= 20:
		parts = append(parts, tens[n/10])
	case n > 0:
		parts = append(parts, ones[n])
	}
	return strings.Join(parts, " ")
}
