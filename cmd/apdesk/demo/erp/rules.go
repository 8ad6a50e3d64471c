package erp

import (
	"slices"
	"strings"
	"unicode"

	"github.com/cockroachdb/apd/v3"
	"golang.org/x/text/unicode/norm"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/data"
)

// tolerancePercent is how far an invoice may be from what was received.
const tolerancePercent = "2"

// normalNumber is an invoice number as people compare it: width and case folded,
// letters and digits only, leading zeros of each run of digits dropped.
func normalNumber(s string) string {
	var out, run strings.Builder
	flush := func() {
		if run.Len() == 0 {
			return
		}
		digits := strings.TrimLeft(run.String(), "0")
		if digits == "" {
			digits = "0"
		}
		out.WriteString(digits)
		run.Reset()
	}
	for _, r := range strings.ToUpper(norm.NFKC.String(s)) {
		switch {
		case unicode.IsDigit(r):
			run.WriteRune(r)
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

// nearIDs lists the known ids at most one letter away from id, in order.
func nearIDs(id string, known []string) []string {
	near := []string{}
	for _, k := range known {
		if k != id && within1(id, k) {
			near = append(near, k)
		}
	}
	slices.Sort(near)
	return near
}

func within1(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	if len(b)-len(a) > 1 {
		return false
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	if len(a) == len(b) {
		return i == len(a) || a[i+1:] == b[i+1:]
	}
	return a[i:] == b[i+1:]
}

// match is the comparison of order, receipt and invoice.
type match struct {
	Lines      []matchLine
	Expected   string // value of what was received (two-way: ordered)
	Difference string // invoice less expected
	Percent    string
	Exceeded   bool
}

type matchLine struct {
	Line     int    `json:"line"`
	Text     string `json:"text"`
	Ordered  string `json:"ordered"`
	Received string `json:"received"`
	Price    string `json:"unit_price"`
	Value    string `json:"value"`
}

var exact = apd.BaseContext.WithPrecision(40)

// compare matches an invoice amount with an order. Quantities and prices are
// exact decimals throughout.
func compare(o data.Order, amount string, twoWay bool) (match, error) {
	var m match
	total := apd.New(0, 0)
	for _, l := range o.Lines {
		quantity := l.Received
		if twoWay {
			quantity = l.Quantity
		}
		value, err := product(quantity, l.UnitPrice)
		if err != nil {
			return m, err
		}
		if _, err := exact.Add(total, total, value); err != nil {
			return m, err
		}
		m.Lines = append(m.Lines, matchLine{Line: l.Line, Text: l.Text, Ordered: l.Quantity, Received: orZero(l.Received), Price: l.UnitPrice, Value: value.Text('f')})
	}
	invoiced, _, err := apd.NewFromString(amount)
	if err != nil {
		return m, err
	}
	var difference, percent apd.Decimal
	if _, err := exact.Sub(&difference, invoiced, total); err != nil {
		return m, err
	}
	m.Expected, m.Difference = total.Text('f'), difference.Text('f')
	if total.IsZero() {
		m.Percent, m.Exceeded = "", !difference.IsZero()
		return m, nil
	}
	hundred := apd.New(100, 0)
	if _, err := exact.Mul(&percent, &difference, hundred); err != nil {
		return m, err
	}
	if _, err := exact.Quo(&percent, &percent, total); err != nil {
		return m, err
	}
	var size, shown apd.Decimal
	size.Abs(&percent)
	limit, _, err := apd.NewFromString(tolerancePercent)
	if err != nil {
		return m, err
	}
	m.Exceeded = size.Cmp(limit) > 0
	if _, err := exact.Quantize(&shown, &percent, -1); err != nil {
		return m, err
	}
	m.Percent = shown.Text('f')
	return m, nil
}

func product(a, b string) (*apd.Decimal, error) {
	x, _, err := apd.NewFromString(orZero(a))
	if err != nil {
		return nil, err
	}
	y, _, err := apd.NewFromString(b)
	if err != nil {
		return nil, err
	}
	var out apd.Decimal
	_, err = exact.Mul(&out, x, y)
	return &out, err
}

func orZero(s string) string {
	if s == "" {
		return "0"
	}
	return s
}
