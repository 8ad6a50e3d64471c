package pages_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
)

// The names, figures, dates, moments and states of evidence, as sent.
const sentEvidence = `[
	{"kind": "record", "title": "Order", "source": "get_po", "data": {
		"po_number": "4500018822", "invoice_number": "1234.50", "supplier_id": 20010000, "status": "PARTIALLY_RECEIVED", "currency": "EUR", "open_amount": "1234.50", "gross": 1234567.5,
		"tax_rate": "19.00", "quantity": "12000", "payment_terms": "30.00", "closed_on": "2026-09-30", "changed_at": "2026-10-05T22:30:00Z",
		"approved_on_level": "closed", "shipment_weight": "1050.25", "sapAccount": "4711.10", "batch": "0012.50", "rev": "1e3", "rebate": "118.00 EUR",
		"lines": [{"line": 10, "unit_price": "1118.00", "ordered": 1200}]}},
	{"kind": "table", "title": "Lines", "columns": ["Line", "Unit price", "Currency", "po_id", "remark"],
		"rows": [["10", "1118.00", "USD", "4500018822", "<b>closed</b>\u202e"], ["20", "1.5", "none", "4500018823", "1000"]]},
	{"kind": "comparison", "title": "Twice", "left": {"currency": "EUR", "gross": "1234.50", "status": "paid", "entered": "2026-10-05T08:00:00Z", "number": "INV-7.50"},
		"right": {"currency": "USD", "gross": "1234.5", "status": "open", "entered": "2026-10-05T10:00:00+02:00", "number": "INV-7.50"}},
	{"kind": "record", "title": "Hostile", "source": "x", "data": {"<script>alert(1)</script>": "<img src=x onerror=alert(1)>", "status": "<i>closed</i>", "amount\u200b": "1234.50",
		"amount": "9.00", "Amount": "8.00", "currency": "<b>", "supplier_id": "V-1", "vendor_id": "V-2"}}]`

// lines are the names and values of the first list of a piece of evidence.
func (p page) lines(piece string, nth int) (out []string) {
	p.doc.Find("[data-testid=" + piece + "]").Eq(nth).Find(".evidence__head ~ .data").First().ChildrenFiltered("dl").First().Children().Each(func(_ int, row *goquery.Selection) {
		value := row.ChildrenFiltered("dd")
		if value.Find("table").Length() == 0 {
			out = append(out, joined(row.ChildrenFiltered("dt").Text())+": "+joined(value.Text()))
		}
	})
	return out
}

// cells are the rows of a table.
func (p page) cells(selector string) (out []string) {
	p.doc.Find(selector).First().Find("tr").Each(func(_ int, row *goquery.Selection) {
		var cells []string
		row.Find("th, td").Each(func(_ int, cell *goquery.Selection) { cells = append(cells, joined(cell.Text())) })
		out = append(out, strings.Join(cells, " | "))
	})
	return out
}

func joined(text string) string { return strings.Join(strings.Fields(text), " ") }

func TestEvidenceReadsAsTheReaderWrites(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), strings.NewReplacer(`"details": {"po_id": "4500018822"}`, `"details": {"po_id": "4500018822", "open_amount": "2500.00", "currency": "EUR"}`,
		`[{"kind": "record", "title": "PO 4500018822", "source": "get_purchase_order", "data": {"status": "closed", "left": 12345678901234567890}}]`, sentEvidence).Replace(poClosed))
	for _, reads := range []struct {
		in                                      string
		reader                                  *visitor
		record, hostile, table, inner, compared []string
		details                                 string
	}{
		{"English", d.signedIn("petra"),
			[]string{"PO number: 4500018822", "Invoice number: 1234.50", "Supplier ID: 20010000", "Status: partially received", "Currency: EUR", "Open amount: 1,234.50 EUR", "Gross: 1,234,567.5 EUR",
				"Tax rate: 19.00", "Quantity: 12,000", "Payment terms: 30.00", "Closed on: 30 Sep 2026", "Changed on: 6 Oct 2026, 00:30",
				"Approved on level: closed", "Shipment weight: 1,050.25", "sapAccount: 4711.10", "Batch: 0012.50", "Rev: 1e3", "Rebate: 118.00 EUR"},
			[]string{"<script>alert(1)</script>: <img src=x onerror=alert(1)>", "Status: <i>closed</i>", "amountU+200B: 1,234.50", "Amount (amount): 9.00", "Amount (Amount): 8.00", "Currency: <b>",
				"Supplier ID (supplier_id): V-1", "Supplier ID (vendor_id): V-2"},
			[]string{"Line | Unit price | Currency | PO ID | Remark", "10 | 1,118.00 USD | USD | 4500018822 | <b>closed</b>U+202E", "20 | 1.5 | none | 4500018823 | 1000"},
			[]string{"Line | Unit price | Ordered", "10 | 1,118.00 EUR | 1,200"},
			[]string{"Field | Left | Right | Difference", "Currency | EUR | USD | ≠ differs", "Gross | 1,234.50 EUR | 1,234.5 USD | ≠ differs", "Status | paid | open | ≠ differs",
				"Entered | 5 Oct 2026, 10:00 2026-10-05T08:00:00Z | 5 Oct 2026, 10:00 2026-10-05T10:00:00+02:00 | ≠ differs", "Number | INV-7.50 | INV-7.50 | same", "Number, normalised | INV750 | INV750 | same"},
			"Open amount2,500.00 EUR"},
		{"German", d.inGerman("petra"),
			[]string{"Bestellnummer: 4500018822", "Rechnungsnummer: 1234.50", "Lieferanten-ID: 20010000", "Status: teilweise eingegangen", "Währung: EUR", "Offener Betrag: 1.234,50 EUR", "Brutto: 1.234.567,5 EUR",
				"Steuersatz: 19,00", "Menge: 12.000", "Zahlungsbedingungen: 30.00", "Geschlossen am: 30. Sept. 2026", "Geändert am: 6. Okt. 2026, 00:30",
				"Approved on level: closed", "Shipment weight: 1.050,25", "sapAccount: 4711.10", "Batch: 0012.50", "Rev: 1e3", "Rebate: 118,00 EUR"},
			[]string{"<script>alert(1)</script>: <img src=x onerror=alert(1)>", "Status: <i>closed</i>", "amountU+200B: 1.234,50", "Betrag (amount): 9,00", "Betrag (Amount): 8,00", "Währung: <b>",
				"Lieferanten-ID (supplier_id): V-1", "Lieferanten-ID (vendor_id): V-2"},
			[]string{"Position | Stückpreis | Währung | Bestellnummer | Remark", "10 | 1.118,00 USD | USD | 4500018822 | <b>closed</b>U+202E", "20 | 1,5 | none | 4500018823 | 1000"},
			[]string{"Position | Stückpreis | Bestellt", "10 | 1.118,00 EUR | 1.200"},
			[]string{"Feld | Links | Rechts | Unterschied", "Währung | EUR | USD | ≠ verschieden", "Brutto | 1.234,50 EUR | 1.234,5 USD | ≠ verschieden", "Status | bezahlt | offen | ≠ verschieden",
				"Entered | 5. Okt. 2026, 10:00 2026-10-05T08:00:00Z | 5. Okt. 2026, 10:00 2026-10-05T10:00:00+02:00 | ≠ verschieden", "Nummer | INV-7.50 | INV-7.50 | gleich", "Nummer, normalisiert | INV750 | INV750 | gleich"},
			"Offener Betrag2.500,00 EUR"},
	} {
		seen := reads.reader.get("/cases/" + id)
		same := func(what string, got, want []string) {
			t.Helper()
			if !slices.Equal(got, want) {
				t.Errorf("%s, %s:\n%s\nwant\n%s", reads.in, what, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
		}
		same("the record", seen.lines("evidence-record", 0), reads.record)
		same("the hostile record", seen.lines("evidence-record", 1), reads.hostile)
		same("the table", seen.cells("[data-testid=evidence-table] table"), reads.table)
		same("the lines of the record", seen.cells("[data-testid=evidence-record] table"), reads.inner)
		same("the comparison", seen.cells("[data-testid=evidence-comparison] table"), reads.compared)
		seen.wants(t, "seen-error", reads.details)
		raw := map[string]bool{}
		seen.doc.Find(".evidence [title]").Each(func(_ int, s *goquery.Selection) { raw[s.AttrOr("title", "")] = true })
		for _, sent := range []string{"1234.50", "2026-10-05T22:30:00Z", "2026-09-30", "PARTIALLY_RECEIVED"} {
			if !raw[sent] {
				t.Errorf("%s: %s as sent is not at hand", reads.in, sent)
			}
		}
		if strings.Contains(seen.raw, "<img src=x") || strings.Contains(seen.raw, "<i>closed") || strings.ContainsAny(seen.raw, "\u202e\u200b") {
			t.Errorf("%s: text of the agent stands on the page as it is", reads.in)
		}
	}
}
