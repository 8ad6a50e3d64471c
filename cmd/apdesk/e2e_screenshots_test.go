package main_test

import (
	"os"
	"testing"
)

// picturesTo names the directory that TestScreenshots writes to; "task
// screenshots" sets it.
const picturesTo = "APDESK_TEST_SCREENSHOTS"

// TestScreenshots takes the pictures of the README from the running desk.
func TestScreenshots(t *testing.T) {
	dir := os.Getenv(picturesTo)
	if dir == "" {
		t.Skipf("%s names no directory", picturesTo)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	openBrowser(t)
	c := open(t, sqliteFile(t))
	agent := c.as(c.agent)

	closed := stopped(invoice(778, "1234.50"), "PO_CLOSED", "route_to_person", object{"po_id": "4500018822", "closed_on": "2026-09-30"})
	closed["explanation"] = "Goods were received on 24 September. The order was closed on 30 September in the quarter-end clean-up, before this invoice came. 2,400.00 EUR were still open on it."
	closed["suggestion"] = object{"exit": "reopen_po", "why": "The receipt is complete and the price is the order's."}
	closed["evidence"] = []object{
		{"kind": "record", "title": "PO 4500018822", "source": "get_purchase_order", "data": object{
			"status": "closed", "closed_on": "2026-09-30", "closed_by": "S. Brandt", "reason": "quarter-end clean-up", "amount_left": "2400.00 EUR"}},
		{"kind": "table", "title": "Other open orders of Nordwind GmbH", "columns": []string{"PO", "Ordered", "Open", "Text"}, "rows": [][]string{
			{"4500018805", "2026-08-11", "980.00", "Service kit, pumps"}, {"4500018809", "2026-09-02", "22,500.00", "Hydraulic aggregate"}}},
	}
	closed["proposed_calls"] = []object{posting(invoice(778, "1234.50"))}
	id := agent.handOver(t, closed)
	for n, body := range []object{
		stopped(invoice(781, "3720.00"), "PO_CLOSED", "route_to_person", object{"po_id": "4500018802"}),
		stopped(invoice(784, "1680.00"), "PO_CLOSED", "route_to_person", object{"po_id": "4500018803"}),
		stopped(invoice(790, "980.00"), "DUPLICATE_INVOICE", "route_to_person", object{"duplicate_of": "5105600099"}),
		stopped(invoice(791, "860.00"), "PERIOD_CLOSED", "stop_and_escalate", object{"posting_date": "2026-09-30"}),
	} {
		inv, _ := body["invoice"].(object)
		inv["supplier_id"] = []string{"V-2002", "V-2003", "V-2004", "V-2006"}[n]
		inv["supplier_name"] = []string{"Kessler Werkzeuge KG", "Baltic Papier AG", "Rheintal Logistik GmbH", "Alster Büromöbel GmbH"}[n]
		agent.handOver(t, body)
	}
	over := approvalOf(invoice(802, "23400.00"))
	over["summary"] = "Post INV-802 of Nordwind GmbH, 4 % over the order"
	over["explanation"] = "The supplier raised the price of steel on 1 September; the buyer agreed by mail."
	over["document_type"] = "invoice"
	over["evidence"] = []object{{"kind": "comparison", "title": "Order and invoice",
		"left":  object{"quantity": "3", "unit_price": "7500.00", "total": "22500.00"},
		"right": object{"quantity": "3", "unit_price": "7800.00", "total": "23400.00"}}}
	request := agent.ask(t, over)

	buyer := c.signedIn(t, petra)
	buyer.resize(1360, 960)
	buyer.visit("/cases/" + id)
	buyer.has("exit-reopen_po").MustClick()
	buyer.picture(dir, "case.png")
	buyer.visit("/queues/procurement")
	buyer.picture(dir, "queue.png")

	lead := c.signedIn(t, fiona)
	lead.resize(1360, 960)
	lead.visit("/approvals/" + request)
	lead.picture(dir, "approval.png")
	lead.resize(390, 844)
	lead.visit("/approvals/" + request)
	lead.picture(dir, "approval-phone.png")
}
