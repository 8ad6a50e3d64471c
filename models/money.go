package models

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/bojanz/currency"
)

// Money is an exact decimal amount with its ISO 4217 currency. The zero value is no amount.
type Money struct {
	amount currency.Amount
	text   string
}

// Why a text is no amount of money.
var (
	ErrAmountSyntax    = errors.New(`must be a plain decimal such as "1234.50", without separators, sign "+" or exponent`)
	ErrCurrencyUnknown = errors.New("must be an ISO 4217 currency code such as EUR")
	ErrAmountDigits    = errors.New("has more decimals than the currency allows")
	ErrAmountLong      = fmt.Errorf("has more than the %d digits an amount may have", maxAmountDigits)
)

var amountSyntax = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// maxAmountDigits bounds an amount so that even the sum of ten million of them is exact: the decimal
// arithmetic underneath carries 39 digits and answers NaN beyond. maxAmountText bounds its text, leading
// zeros included.
const (
	maxAmountDigits = 32
	maxAmountText   = 64
)

// ParseDecimal checks the plain decimal form that amounts have on the wire: ASCII digits, an optional
// minus for credit notes, at most one point with digits on both sides. It fails with ErrAmountSyntax or
// ErrAmountLong.
func ParseDecimal(s string) error {
	if !amountSyntax.MatchString(s[:min(len(s), maxAmountText+2)]) {
		return ErrAmountSyntax
	}
	if len(s) > maxAmountText || len(strings.TrimLeft(strings.ReplaceAll(s, ".", ""), "-0")) > maxAmountDigits {
		return ErrAmountLong
	}
	return nil
}

// ParseMoney reads an amount in plain decimal form. It fails with ErrAmountSyntax,
// ErrAmountLong, ErrCurrencyUnknown, or ErrAmountDigits when the amount has more decimals than the currency has.
// Trailing zeros beyond the currency's digits count as decimals too. Zero has no sign.
func ParseMoney(amount, code string) (Money, error) {
	if err := ParseDecimal(amount); err != nil {
		return Money{}, err
	}
	digits, ok := currency.GetDigits(code)
	if !ok {
		return Money{}, ErrCurrencyUnknown
	}
	if _, frac, found := strings.Cut(amount, "."); found && len(frac) > int(digits) {
		return Money{}, fmt.Errorf("%w: %s has %d", ErrAmountDigits, code, digits)
	}
	if strings.Trim(amount, "-0.") == "" {
		amount = strings.TrimPrefix(amount, "-")
	}
	a, err := currency.NewAmount(amount, code)
	if err != nil {
		return Money{}, ErrAmountSyntax
	}
	return Money{amount: a, text: amount}, nil
}

// ValidCurrency says whether code is a known ISO 4217 currency.
func ValidCurrency(code string) bool { return currency.IsValid(code) }

// CurrencyDigits is the number of decimals of a currency, 2 when unknown.
func CurrencyDigits(code string) int {
	if d, ok := currency.GetDigits(code); ok {
		return int(d)
	}
	return 2
}

// IsZero says whether there is no amount at all.
func (m Money) IsZero() bool { return m.text == "" }

// Text is the amount as it was given, zero without a sign.
func (m Money) Text() string { return m.text }

// Currency is the ISO 4217 code.
func (m Money) Currency() string { return m.amount.CurrencyCode() }

// Negative says whether the amount is below zero, as on a credit note.
func (m Money) Negative() bool { return m.amount.IsNegative() }

// Abs is the amount without its sign.
func (m Money) Abs() Money {
	if !m.Negative() {
		return m
	}
	abs, err := ParseMoney(strings.TrimPrefix(m.text, "-"), m.Currency())
	if err != nil {
		return m
	}
	return abs
}

// Cmp compares two amounts of one currency; another currency is an error, never a conversion.
func (m Money) Cmp(other Money) (int, error) { return m.amount.Cmp(other.amount) }

// Equal says whether currency and value are the same (250.0 equals 250.00).
func (m Money) Equal(other Money) bool { return m.amount.Equal(other.amount) }

// Sub is m less other; both must have one currency.
func (m Money) Sub(other Money) (Money, error) {
	d, err := m.amount.Sub(other.amount)
	if err != nil {
		return Money{}, err
	}
	return Money{amount: d, text: d.Number()}, nil
}

// Add is the sum of two amounts of one currency.
func (m Money) Add(other Money) (Money, error) {
	d, err := m.amount.Add(other.amount)
	if err != nil {
		return Money{}, err
	}
	return Money{amount: d, text: d.Number()}, nil
}

// amountKeyPart is how many decimals a sort key has: as many as any currency.
const amountKeyPart = 4

// SortKey is a text of digits alone that sorts, in any collation, like the amount does among amounts of
// its currency; "" for no amount.
func (m Money) SortKey() string {
	if m.IsZero() {
		return ""
	}
	whole, part, _ := strings.Cut(strings.TrimPrefix(m.text, "-"), ".")
	whole = strings.TrimLeft(whole, "0")
	digits := fmt.Sprintf("%02d%s%s", len(whole), whole, (part + strings.Repeat("0", amountKeyPart))[:amountKeyPart])
	if !m.Negative() {
		return "1" + digits
	}
	return "0" + strings.Map(func(r rune) rune { return '9' - (r - '0') }, digits)
}

// Format writes the amount for people, grouped and with all its digits, code first: "EUR 1,234.50".
func (m Money) Format() string {
	if m.IsZero() {
		return ""
	}
	f := currency.NewFormatter(currency.NewLocale("en"))
	f.CurrencyDisplay = currency.DisplayNone
	f.MaxDigits = uint8(CurrencyDigits(m.Currency()))
	return m.Currency() + " " + strings.TrimSpace(f.Format(m.amount))
}

// FormatNumber is Format without the currency, for columns that show it apart.
func (m Money) FormatNumber() string { return strings.TrimPrefix(m.Format(), m.Currency()+" ") }
