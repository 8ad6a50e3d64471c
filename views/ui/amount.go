package ui

import (
	"strings"

	"github.com/apdesk/apdesk/views/lang"
)

var (
	ones = [...]string{"", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
		"twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"}
	tens   = [...]string{"", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"}
	scales = [...]string{"", "thousand", "million", "billion", "trillion", "quadrillion", "quintillion", "sextillion",
		"septillion", "octillion", "nonillion"}
)

// Words writes an amount the way a cheque does, so that a slipped digit is
// seen: "1234.50" EUR is "one thousand two hundred thirty-four EUR and 50/100".
// The sign stands before all of it, so one cent of a credit is "minus zero EUR
// and 01/100". It is "" for text that is not a plain decimal or has more than 33
// digits before the point, which no amount has.
func Words(l *lang.Lang, amount, currency string) string {
	sign, whole, frac, ok := lang.Decimal(amount)
	whole = strings.TrimLeft(whole, "0")
	if !ok || len(whole) > 3*len(scales) {
		return ""
	}
	if l.Tag() == lang.German {
		return germanWords(sign != "", whole, currency, frac)
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
	if part := fraction(frac); part != "" {
		parts = append(parts, "and "+part)
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

// fraction is what stands behind the point as on a cheque, "50/100"; "" when it is nothing.
func fraction(frac string) string {
	if strings.Trim(frac, "0") == "" {
		return ""
	}
	return frac + "/1" + strings.Repeat("0", len(frac))
}

var (
	eins = [...]string{"", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf",
		"zwölf", "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn"}
	zehner = [...]string{"", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig"}
	// From a million on German numbers are nouns of their own, with a plural.
	grosse = [...][2]string{{"Million", "Millionen"}, {"Milliarde", "Milliarden"}, {"Billion", "Billionen"}, {"Billiarde", "Billiarden"},
		{"Trillion", "Trillionen"}, {"Trilliarde", "Trilliarden"}, {"Quadrillion", "Quadrillionen"}, {"Quadrilliarde", "Quadrilliarden"},
		{"Quintillion", "Quintillionen"}}
)

// germanWords writes an amount as German does: "eintausendzweihundertvierunddreißig EUR und 50/100".
func germanWords(minus bool, whole, currency, frac string) string {
	var parts []string
	if minus {
		parts = append(parts, "minus")
	}
	for len(whole) > 6 {
		head := (len(whole)-1)%3 + 1
		if n := number(whole[:head]); n > 0 {
			noun := grosse[(len(whole)-head)/3-2]
			if n == 1 {
				parts = append(parts, "eine "+noun[0])
			} else {
				parts = append(parts, germanHundreds(n)+" "+noun[1])
			}
		}
		whole = whole[head:]
	}
	below := strings.TrimLeft(whole, "0")
	word := ""
	if len(below) > 3 {
		word = germanHundreds(number(below[:len(below)-3])) + "tausend"
		below = below[len(below)-3:]
	}
	if n := number(below); n > 0 {
		word += germanHundreds(n)
		if n%100 == 1 {
			word += "s"
		}
	}
	switch {
	case word != "":
		parts = append(parts, word)
	case len(parts) == 0 || (minus && len(parts) == 1):
		parts = append(parts, "null")
	}
	parts = append(parts, currency)
	if part := fraction(frac); part != "" {
		parts = append(parts, "und "+part)
	}
	return strings.Join(parts, " ")
}

func number(digits string) (n int) {
	for i := range len(digits) {
		n = n*10 + int(digits[i]-'0')
	}
	return n
}

func germanHundreds(n int) string {
	word := ""
	if n >= 100 {
		word = eins[n/100] + "hundert"
		n %= 100
	}
	switch {
	case n >= 20 && n%10 != 0:
		return word + eins[n%10] + "und" + zehner[n/10]
	case n >= 20:
		return word + zehner[n/10]
	}
	return word + eins[n]
}
