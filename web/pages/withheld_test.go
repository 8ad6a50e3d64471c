package pages_test

import (
	"net/http"
	"strings"
	"testing"
)

func askWithBank(iban string) string {
	return `{"run_id": "run-9", "invoice": {"id": "5105600123", "number": "INV-778", "supplier_id": "V-2001", "supplier_name": "Nordwind GmbH", "amount":"1.00","currency":"EUR"}, "action": {"tool": "post_invoice_adjustment", "arguments": {"invoice_id": "5105600123",
		"amount": "250.00", "currency": "EUR", "posting_date": "2026-10-05", "supplier_id": "V-2001", "bank_account": "` + iban + `"}},
		"amount": "250.00", "currency": "EUR", "document_type": "KR", "posting_date": "2026-10-05", "summary": "Post the price difference", "explanation": "The price was raised."}`
}

// Who may not see bank data does not see it as what changed or was corrected either.
func TestBankDataIsWithheldWhereverItStands(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	const a, b = "DE11111111111111111111", "DE22222222222222222222"
	first := d.ask(d.robot(), askWithBank(a))
	fiona := d.signedIn("fiona")
	page := fiona.get("/approvals/" + first)
	res := fiona.send(page, "send-back-form", one("reason", "wrong account", "decision", "reject", "input.bank_account", b))
	if res.status != http.StatusSeeOther {
		t.Fatalf("sending back is answered %d", res.status)
	}
	second := d.ask(d.robot(), askWithBank(b))
	if page := fiona.get("/approvals/" + second); !strings.Contains(page.raw, a) || !strings.Contains(page.raw, b) {
		t.Error("a finance lead must see what changed")
	}
	for _, who := range []string{"anna", "adam", "petra"} {
		v := d.signedIn(who)
		for _, path := range []string{"/approvals/" + first, "/approvals/" + second, "/approvals/" + first + "/proof", "/approvals/" + second + "/proof", "/approvals/" + second + "/proof.json", "/approvals/" + first + "/proof.json", "/invoices/5105600123", "/approvals?tab=decided"} {
			p := v.do("GET", path, nil)
			for name, iban := range map[string]string{"old": a, "new": b} {
				if i := strings.Index(p.raw, iban); i >= 0 {
					t.Errorf("%s reads the %s account on %s (%d): …%s…", who, name, path, p.status, p.raw[max(0, i-200):i+30])
				}
			}
		}
	}
}

// An amount that the call does not carry is only what somebody says, and the page must say so.
func TestAnAmountThatTheCallDoesNotSayIsMarked(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), strings.Replace(approvalFor("10.00"), `"amount": "10.00", "currency": "EUR", "posting_date"`, `"Amount": "900000.00", "currency": "EUR", "posting_date"`, 1))
	fiona := d.signedIn("fiona")
	fiona.get("/approvals/"+request).wants(t, "unbound", "EUR 10.00 is only what the asker says")
	if said := d.ask(d.robot(), approvalFor("11.00")); fiona.get("/approvals/" + said).has("unbound") {
		t.Error("an amount that was compared is marked")
	}
}
