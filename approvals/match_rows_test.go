package approvals_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/approvals"
)

// matchText is a match as one would read it: its lines, the whole, and what is said of it.
func matchText(m *approvals.ThreeWay) []string {
	var out []string
	for _, l := range m.Lines {
		out = append(out, lineText(l))
	}
	out = append(out, fmt.Sprintf("%s: %s | %s | %s | over %v", m.Currency, m.Expected, m.Invoiced, m.Difference, m.Over))
	return append(out, m.Marks...)
}

const (
	twenty    = `{"kind": "record", "source": "get_purchase_order", "data": {"po_id": "4500018804", "currency": "EUR", "lines": [{"line": 1, "quantity": "20", "unit_price": "100.00"}]}}`
	twoPer    = `{"kind": "record", "source": "run_three_way_match", "data": {"limit_percent": "2"}}`
	twoK      = `{"amount": "2000.00", "currency": "EUR", "lines": [{"line": 1, "quantity": "20", "unit_price": "100.00"}]}`
	twoKWhole = `{"amount": "2000.00", "currency": "EUR"}`
)

func receipt(head, quantity string) string {
	return `{"kind": "record", "source": "get_goods_receipt", "data": {` + head + `"lines": [{"line": 1, "quantity": "` + quantity + `"}]}}`
}

func TestRowsOfOneLineAreAddedUpAndSaid(t *testing.T) {
	t.Parallel()
	const within = "Within the tolerance of 2 %"
	whole := "EUR: 2000.00 | 2000.00 | 0.00 | over false"
	line := func(marks ...string) string {
		return strings.Join(append([]string{"1 | - | 20 | 20 | 20 | 100.00 | 100.00 | 2000.00 | 2000.00 | 0.00 | 0"}, marks...), " | ")
	}
	unjudged := func(cells string, marks ...string) string {
		return strings.Join(append([]string{cells}, marks...), " | ")
	}
	const notCompared = "A line could not be judged, so the whole is not compared"
	for _, c := range []struct {
		name     string
		evidence []json.RawMessage
		invoice  string
		want     []string
	}{
		{name: "two receipts of one line", evidence: evidenceOf(twenty, receipt(`"receipt_id": "5000001", `, "10"), receipt(`"receipt_id": "5000002", `, "10"), twoPer), invoice: twoK,
			want: []string{line("20 received in 2 receipts"), whole, within}},
		{name: "the number of the line with and without zeros", evidence: evidenceOf(twenty, receipt(`"receipt_id": "5000001", `, "4"),
			`{"kind": "record", "source": "get_goods_receipt", "data": {"receipt_id": "5000002", "lines": [{"line": "0001", "quantity": "15.5"}, {"line": "01", "quantity": "0.5"}]}}`, twoPer), invoice: twoK,
			want: []string{line("20 received in 2 receipts"), whole, within}},
		{name: "the line of the order counts, not that of the receipt", evidence: evidenceOf(twenty,
			`{"kind": "record", "source": "get_goods_receipt", "data": {"receipt_id": "5000001", "lines": [{"line": 1, "po_line": 1, "quantity": "12"}, {"line": 2, "po_line": 1, "quantity": "8"}]}}`, twoPer), invoice: twoK,
			want: []string{line("20 received in 2 rows"), whole, within}},
		{name: "one receipt sent twice, once with less around it", evidence: evidenceOf(twenty, receipt(`"receipt_id": "5000001", `, "20"), receipt(`"received_on": "2026-10-01", "receipt_id": "5000001", `, "20.0"), twoPer), invoice: twoK,
			want: []string{line(), whole, within, "Receipt 5000001 was sent more than once and counts once"}},
		{name: "one receipt sent twice with other figures", evidence: evidenceOf(twenty, receipt(`"receipt_id": "5000001", `, "10"), receipt(`"receipt_id": "5000001", `, "20"), twoPer), invoice: twoK,
			want: []string{unjudged("1 | - | 20 | 30 | 20 | 100.00 | 100.00 | - | 2000.00 | - | -", "receipt 5000001 was sent again with other figures, so the line is not judged", "30 received in 2 rows", "20 invoiced of 30 received", "30 received, only 20 ordered"),
				"EUR:  | 2000.00 |  | over false", notCompared}},
		{name: "two receipts without a number are alike", evidence: evidenceOf(twenty, receipt("", "10"), receipt("", "10"), twoPer), invoice: twoK,
			want: []string{line("20 received in 2 receipts"), whole, within, "2 receipts carry no number and are alike: if they are the same one, too much counts as received"}},
		{name: "two rows of a table", evidence: evidenceOf(`{"kind": "table", "columns": ["line", "ordered", "received", "unit_price", "value"], "rows": [["1", "20", "10", "100.00", "1000.00"], ["01", "20", "10", "100.00", "1000.00"]]}`, twoPer), invoice: twoKWhole,
			want: []string{"1 | - | 20 | 20 | - | 100.00 | - | 2000.00 | 2000.00 | 0.00 | 0 | 20 received in 2 rows | 20 ordered stands in each of 2 rows and counts once", whole, within}},
		{name: "rows of a table that name their receipts", evidence: evidenceOf(`{"kind": "table", "columns": ["Receipt", "Line", "Ordered", "Received", "Unit price"],
			"rows": [["R1", "1", "20", "12", "100.00"], ["R2", "1", "20", "8", "100.00"], ["R2", "1", "20", "8", "100.00"]]}`, twoPer), invoice: twoKWhole,
			want: []string{"1 | - | 20 | 20 | - | 100.00 | - | 2000.00 | 2000.00 | 0.00 | 0 | 20 received in 2 receipts | 20 ordered stands in each of 2 rows and counts once", whole, within,
				"Receipt R2 was sent more than once and counts once"}},
		{name: "a line of the order in parts", evidence: evidenceOf(`{"kind": "table", "columns": ["line", "ordered", "received", "unit_price"], "rows": [["1", "12", "12", "100.00"], ["1", "8", "8", "100.00"]]}`, twoPer), invoice: twoKWhole,
			want: []string{"1 | - | 20 | 20 | - | 100.00 | - | 2000.00 | 2000.00 | 0.00 | 0 | 20 received in 2 rows | 20 ordered in 2 rows", whole, within}},
		{name: "two rows of the order and of the invoice", evidence: evidenceOf(`{"kind": "record", "source": "get_purchase_order", "data": {"lines": [{"line": 1, "quantity": "12", "unit_price": "100.00", "value": "1200.00"}, {"line": 1, "quantity": "8", "unit_price": "100", "value": "800.00"}]}}`,
			receipt(`"receipt_id": "5000001", `, "20"), twoPer), invoice: `{"amount": "2000.00", "currency": "EUR", "lines": [{"line": 1, "quantity": "15", "unit_price": "100.00"}, {"line": 1, "quantity": "5", "unit_price": "100.00", "amount": "500.00"}]}`,
			want: []string{line("20 ordered in 2 rows", "20 invoiced in 2 rows"), whole, within}},
		{name: "rows of the order with different prices", evidence: evidenceOf(`{"kind": "record", "source": "get_purchase_order", "data": {"lines": [{"line": 1, "quantity": "10", "unit_price": "100.00"}, {"line": 1, "quantity": "10", "unit_price": "90.00"}]}}`,
			receipt(`"receipt_id": "5000001", `, "20"), twoPer), invoice: twoK,
			want: []string{unjudged("1 | - | 20 | 20 | 20 | 100.00 / 90.00 | 100.00 | - | 2000.00 | - | -", "20 ordered in 2 rows", "2 rows have different prices of the order, so the line is not judged"), "EUR:  | 2000.00 |  | over false", notCompared}},
		{name: "rows of the invoice with different prices are judged by what they bill", evidence: evidenceOf(twenty, receipt(`"receipt_id": "5000001", `, "20"), twoPer),
			invoice: `{"amount": "1900.00", "currency": "EUR", "lines": [{"line": 1, "quantity": "10", "unit_price": "100.00"}, {"line": 1, "quantity": "10", "unit_price": "90.00"}]}`,
			want: []string{"1 | - | 20 | 20 | 20 | 100.00 | 100.00 / 90.00 | 2000.00 | 1900.00 | -100.00 | -5 | over the tolerance of 2 % | 20 invoiced in 2 rows | 2 rows have different prices of the invoice", "EUR: 2000.00 | 1900.00 | -100.00 | over true",
				"Over the tolerance of 2 %: EUR 100.00 less than expected (-5 %)"}},
		{name: "units that cannot be added up", evidence: evidenceOf(twenty, receipt(`"receipt_id": "5000001", `, "10 pcs"), receipt(`"receipt_id": "5000002", `, "1,000"), twoPer), invoice: twoK,
			want: []string{"1 | - | 20 | 10 pcs + 1,000 | 20 | 100.00 | 100.00 | - | 2000.00 | - | - | 10 pcs + 1,000 cannot be added up, so the line is not judged", "EUR:  | 2000.00 |  | over false", notCompared}},
		{name: "rows of which each says what is invoiced", evidence: evidenceOf(`{"kind": "table", "columns": ["line", "ordered", "received", "invoiced", "unit_price", "invoice_price"], "rows": [["1", "20", "10", "20", "100.00", "100.00"], ["1", "20", "10", "20", "100.00", "100.00"]]}`, twoPer), invoice: twoKWhole,
			want: []string{"1 | - | 20 | 20 | 40 | 100.00 | 100.00 | - | 4000.00 | - | - | 20 received in 2 rows | 20 ordered stands in each of 2 rows and counts once | each of 2 rows says 20 invoiced, and nothing tells whether that is the same again, so the line is not judged | 40 invoiced, only 20 received",
				"EUR:  | 4000.00 |  | over false", notCompared, "The lines bill EUR 4,000.00 together; the invoice's total is EUR 2,000.00"}},
		{name: "the match and a table of the same lines", evidence: evidenceOf(`{"kind": "record", "source": "run_three_way_match", "data": {"limit": "2", "currency": "EUR", "lines": [{"line": 1, "ordered": "20", "received": "20", "unit_price": "100.00"}]}}`,
			`{"kind": "table", "columns": ["line", "ordered", "received"], "rows": [["1", "20", "18"]]}`), invoice: twoK,
			want: []string{line("other evidence says 18 received"), whole, within, "The same lines were sent more than once and count once"}},
		{name: "what the order says was received is not what the receipts say", evidence: evidenceOf(strings.Replace(twenty, `"unit_price"`, `"received": "0", "value": "2000.00", "unit_price"`, 1), receipt(`"receipt_id": "5000001", `, "20"), twoPer), invoice: twoK,
			want: []string{line("other evidence says 0 received"), whole, within}},
		{name: "the same line of two orders", evidence: evidenceOf(twenty, strings.NewReplacer("4500018804", "4500018805", `"20"`, `"3"`).Replace(twenty),
			receipt(`"receipt_id": "5000001", "po_id": "4500018804", `, "20"), receipt(`"receipt_id": "5000001", "po_id": "4500018805", `, "3"), twoPer),
			invoice: `{"amount": "2300.00", "currency": "EUR", "lines": [{"po_id": "4500018804", "line": 1, "quantity": "20", "unit_price": "100.00"}, {"po_id": "4500018805", "line": 1, "quantity": "3", "unit_price": "100.00"}]}`,
			want:    []string{"4500018804 / " + line(), "4500018805 / 1 | - | 3 | 3 | 3 | 100.00 | 100.00 | 300.00 | 300.00 | 0.00 | 0", "EUR: 2300.00 | 2300.00 | 0.00 | over false", within, "2 orders count together"}},
		{name: "a line of two orders, and the invoice does not say which", evidence: evidenceOf(twenty, strings.NewReplacer("4500018804", "4500018805").Replace(twenty), twoPer), invoice: twoK,
			want: []string{"4500018804 / 1 | - | 20 | - | - | 100.00 | - | 2000.00 | - | - | -", "4500018805 / 1 | - | 20 | - | - | 100.00 | - | 2000.00 | - | - | -",
				"1 | - | - | - | 20 | - | 100.00 | - | 2000.00 | - | - | several orders have such a line, and nothing says which is meant, so it is not judged",
				"EUR:  | 2000.00 |  | over false", notCompared, "2 orders count together"}},
		{name: "receipts that name no line, of an order with two", evidence: evidenceOf(`{"kind": "record", "source": "get_purchase_order", "data": {"lines": [{"quantity": "5", "unit_price": "2.00"}, {"quantity": "7", "unit_price": "3.00"}]}}`,
			`{"kind": "record", "source": "get_goods_receipt", "data": {"number": "1", "lines": [{"quantity": "5"}]}}`, `{"kind": "record", "source": "get_goods_receipt", "data": {"number": "2", "lines": [{"quantity": "7"}]}}`, twoPer), invoice: twoKWhole,
			want: []string{"- | - | 5 | 12 | - | 2.00 | - | - | - | - | - | 12 received in 2 receipts | 2 receipts name no line, so it is not judged | 12 received, only 5 ordered", "- | - | 7 | - | - | 3.00 | - | 21.00 | - | - | -",
				"EUR:  | 2000.00 |  | over false", notCompared}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			m := approvals.MatchOf(c.evidence, json.RawMessage(c.invoice))
			if m == nil {
				t.Fatal("there is no match")
			}
			if got := matchText(m); !slices.Equal(got, c.want) {
				t.Errorf("it reads\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
			}
		})
	}
}

// However the goods of a line are split among receipts, rows of the order and lines of the invoice, the
// comparison is that of the undivided line, and the parts are said.
func TestALineInPartsIsComparedLikeTheWholeLine(t *testing.T) {
	t.Parallel()
	for seed := range uint64(100) {
		rng := rand.New(rand.NewPCG(seed, 1))
		parts := func() []int {
			out := make([]int, 1+rng.IntN(6))
			for i := range out {
				out[i] = 1 + rng.IntN(99_999)
			}
			return out
		}
		whole := func(parts []int) []int {
			total := 0
			for _, p := range parts {
				total += p
			}
			return []int{total}
		}
		rows := func(quantities []int, with string) string {
			var out []string
			for i, q := range quantities {
				number := []string{`"7"`, `7`, `"07"`, `"0007"`}[i%4]
				out = append(out, fmt.Sprintf(`{"line": %s, "quantity": "%s"%s}`, number, placesOf(q, 3), with))
			}
			return strings.Join(out, ", ")
		}
		receipt := func(number int, quantities []int) string {
			return fmt.Sprintf(`{"kind": "record", "source": "get_goods_receipt", "data": {"receipt_id": "R%d", "lines": [%s]}}`, number, rows(quantities, ""))
		}
		priced := fmt.Sprintf(`, "unit_price": "%s"`, placesOf(1+rng.IntN(9_999), 2))
		const other = `, {"line": 8, "quantity": "1", "unit_price": "1.00"}`
		compared := func(ordered, billed []int, receipts ...string) *approvals.ThreeWay {
			evidence := append([]string{`{"kind": "record", "source": "get_purchase_order", "data": {"lines": [` + rows(ordered, priced) + other + `]}}`, twoPer,
				`{"kind": "record", "source": "get_goods_receipt", "data": {"receipt_id": "R-8", "lines": [{"line": 8, "quantity": "1"}]}}`}, receipts...)
			return approvals.MatchOf(evidenceOf(evidence...), json.RawMessage(`{"amount": "1.00", "currency": "EUR", "lines": [`+rows(billed, priced)+other+`]}`))
		}

		ordered, received, billed := parts(), parts(), parts()
		var receipts []string
		for i := 0; i < len(received); {
			n := 1 + rng.IntN(len(received)-i)
			for range 1 + rng.IntN(2) { // now and then one is sent twice
				receipts = append(receipts, receipt(i, received[i:i+n]))
			}
			i += n
		}
		got := compared(ordered, billed, receipts...)
		want := compared(whole(ordered), whole(billed), receipt(0, whole(received)))
		if len(got.Lines) != 2 || got.Expected != want.Expected || got.Invoiced != want.Invoiced || got.Difference != want.Difference || got.Percent != want.Percent || got.Over != want.Over || len(got.Doubts) > 0 {
			t.Fatalf("seed %d: in parts it reads\n%s\nand whole\n%s", seed, strings.Join(matchText(got), "\n"), strings.Join(matchText(want), "\n"))
		}
		for _, s := range []struct {
			parts []int
			said  string
		}{{received, " received in "}, {billed, " invoiced in "}, {ordered, " ordered in "}} {
			if said := slices.ContainsFunc(got.Lines[0].Marks, func(m string) bool { return strings.Contains(m, s.said) }); said != (len(s.parts) > 1) {
				t.Fatalf("seed %d: of %d parts it reads\n%s", seed, len(s.parts), strings.Join(matchText(got), "\n"))
			}
		}
	}
}

func placesOf(n, places int) string {
	text := fmt.Sprintf("%0*d", places+1, n)
	return text[:len(text)-places] + "." + text[len(text)-places:]
}
