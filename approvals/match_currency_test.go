package approvals_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/approvals"
)

// ordersIn are all the ways in which evidence says the currency of an order; ¤ stands for it.
var ordersIn = map[string][]string{
	"the record of the order":                   {`{"kind": "record", "source": "get_purchase_order", "data": {"currency": "¤", "lines": [{"line": 1, "quantity": "20", "unit_price": "100.00"}]}}`, twoPer},
	"the record of the order, in small letters": {`{"kind": "record", "source": "get_purchase_order", "data": {"Currency": " §", "lines": [{"line": 1, "quantity": "20", "unit_price": "100.00"}]}}`, twoPer},
	"the record of the order beside a table without a currency": {`{"kind": "record", "source": "get_purchase_order", "data": {"po_currency": "¤", "status": "open"}}`,
		`{"kind": "table", "columns": ["line", "ordered", "received", "unit_price", "invoiced", "invoice_amount"], "rows": [[1, 20, 20, "100.00", 20, "2000.00"]]}`, twoPer},
	"a line of the order":  {`{"kind": "record", "source": "get_purchase_order", "data": {"lines": [{"line": 1, "quantity": "20", "unit_price": "100.00", "currency": "¤"}]}}`, twoPer},
	"a price of the order": {`{"kind": "record", "source": "get_purchase_order", "data": {"lines": [{"line": 1, "quantity": "20", "unit_price": "100.00 ¤"}]}}`, twoPer},
	"a column":             {`{"kind": "table", "columns": ["line", "ordered", "received", "unit_price", "Order currency"], "rows": [[1, 20, 20, "100.00", "¤"]]}`, twoPer},
	"a price in a table":   {`{"kind": "table", "columns": ["line", "ordered", "received", "unit_price"], "rows": [[1, 20, 20, "¤ 100.00"]]}`, twoPer},
	"the match":            {`{"kind": "record", "source": "run_three_way_match", "data": {"currency": "¤", "limit": "2 %", "expected": "2000.00", "invoiced": "2000.00", "difference": "0.00"}}`},
	"what was received":    {`{"kind": "record", "source": "run_three_way_match", "data": {"limit": "2 %", "received_value": "2000.00 ¤", "invoiced": "2000.00 EUR"}}`},
	"both of the match":    {`{"kind": "record", "source": "run_three_way_match", "data": {"limit": "2 %", "received_value": "2000.00 ¤", "invoiced": "2000.00 ¤"}}`},
	"lines of the match":   {`{"kind": "record", "source": "run_three_way_match", "data": {"limit": "2 %", "currency": "¤", "lines": [{"line": 1, "ordered": "20", "received": "20", "unit_price": "100.00", "value": "2000.00"}]}}`},
	"what a receipt says":  {`{"kind": "record", "source": "get_goods_receipt", "data": {"currency": "¤", "lines": [{"line": 1, "quantity": "20", "received_value": "2000.00"}]}}`, twoPer},
}

func TestAmountsOfTwoCurrenciesAreNeverCompared(t *testing.T) {
	t.Parallel()
	for name, pieces := range ordersIn {
		for _, invoice := range []string{twoKWhole, twoK} {
			for _, currency := range []string{"EUR", "USD", "ZZZ"} {
				var evidence []string
				for _, p := range pieces {
					evidence = append(evidence, strings.NewReplacer("¤", currency, "§", strings.ToLower(currency)).Replace(p))
				}
				if strings.Contains(name, "price") && currency == "ZZZ" || strings.Contains(name, "what was received") && currency == "ZZZ" || name == "both of the match" && currency == "ZZZ" {
					continue // behind a figure that is a unit
				}
				m := approvals.MatchOf(evidenceOf(evidence...), json.RawMessage(invoice))
				if m == nil {
					t.Errorf("%s: there is no match", name)
					continue
				}
				read := strings.Join(matchText(m), "\n")
				said := fmt.Sprintf("The order is in %s and the invoice in EUR: their amounts are not compared", currency)
				if currency == "EUR" {
					if m.Difference != "0.00" || !slices.Equal(m.Marks, []string{"Within the tolerance of 2 %"}) || len(m.Doubts) > 0 {
						t.Errorf("%s in the invoice's currency reads\n%s", name, read)
					}
					continue
				}
				judged := strings.Contains(read, "olerance") || slices.ContainsFunc(m.Lines, func(l approvals.MatchLine) bool { return l.Difference+l.Percent != "" || l.Over })
				if m.Currency != currency || m.Difference+m.Percent != "" || m.Over || judged || !slices.Contains(m.Marks, said) || !slices.Contains(m.Doubts, said) {
					t.Errorf("%s in %s reads\n%s", name, currency, read)
				}
			}
		}
	}
}

func TestTheSameCurrencyOfSeveralIsCompared(t *testing.T) {
	t.Parallel()
	dollars := strings.Replace(twenty, "EUR", "USD", 1)
	for name, c := range map[string]struct {
		evidence []string
		want     []string
	}{
		"the order in dollars, and a match that states both in euros": {[]string{dollars, `{"kind": "record", "source": "run_three_way_match", "data": {"currency": "EUR", "expected": "1900.00", "invoiced": "2000.00", "limit": "2"}}`},
			[]string{"1 | - | 20 | - | 20 | 100.00 (USD) | 100.00 | - | 2000.00 | - | -", "EUR: 1900.00 | 2000.00 | 100.00 | over true", "Over the tolerance of 2 %: EUR 100.00 more than expected (5.3 %)",
				"Some evidence of the order is in USD and the invoice in EUR: those amounts are not compared"}},
		"an order of each, and a table that says neither": {[]string{dollars, `{"kind": "table", "columns": ["line", "ordered", "received", "unit_price"], "rows": [[1, 20, 20, "95.00"]]}`, `{"kind": "record", "source": "run_three_way_match", "data": {"difference": "0.00 EUR", "expected": "2000.00 EUR", "limit": "2"}}`},
			[]string{"1 | - | 20 | 20 | 20 | 100.00 (USD) | 100.00 | - | 2000.00 | - | -", "EUR: 2000.00 | 2000.00 | 0.00 | over false", "Within the tolerance of 2 %", "Some evidence of the order is in USD and the invoice in EUR: those amounts are not compared"}},
		"a match that states what is invoiced in another currency than the invoice": {[]string{`{"kind": "record", "source": "run_three_way_match", "data": {"received_value": "2000.00 EUR", "invoiced": "9000.00 USD", "limit": "2"}}`},
			[]string{"1 | - | - | - | 20 | - | 100.00 | - | 2000.00 | - | -", "EUR: 2000.00 | 2000.00 | 0.00 | over false", "Within the tolerance of 2 %"}},
		"quantities are compared all the same": {[]string{dollars, receipt(`"number": "1", `, "15"), twoPer},
			[]string{"1 | - | 20 | 15 | 20 | 100.00 | 100.00 (EUR) | 1500.00 | - | - | - | 20 invoiced, only 15 received | 15 received of 20 ordered", "USD: 1500.00 |  |  | over false", "The order is in USD and the invoice in EUR: their amounts are not compared"}},
	} {
		if got := matchText(approvals.MatchOf(evidenceOf(c.evidence...), json.RawMessage(twoK))); !slices.Equal(got, c.want) {
			t.Errorf("%s: it reads\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestATolerancePerAmountIsNoPercentage(t *testing.T) {
	t.Parallel()
	m := approvals.MatchOf(evidenceOf(twenty, `{"kind": "record", "source": "run_three_way_match", "data": {"tolerance": "50.00 EUR"}}`), json.RawMessage(`{"amount": "2900.00", "currency": "EUR"}`))
	if want := []string{"The evidence states a tolerance of 50.00 EUR, which is no percentage and is not compared"}; m.Limit != "" || !slices.Equal(m.Marks, want) {
		t.Errorf("it reads\n%s\nwant %q", strings.Join(matchText(m), "\n"), want)
	}
}
