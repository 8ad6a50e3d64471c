package pages_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
)

// receiptMissing is a case whose exits ask for an amount.
var receiptMissing = strings.NewReplacer("PO_CLOSED", "GR_MISSING", "5105600123", "5105600777", `"reason": "named_error"`, `"reason": "retry_exhausted"`).Replace(poClosed)

var englishFigures = regexp.MustCompile(`^-?[0-9,]*\.[0-9]{1,2}$`)

// germanAmounts refuses amounts in fields, and examples of amounts, that a German would not write.
func (p page) germanAmounts(t *testing.T, what string) int {
	t.Helper()
	fields := p.doc.Find("input.field__input--amount")
	fields.Each(func(_ int, f *goquery.Selection) {
		if value := f.AttrOr("value", ""); englishFigures.MatchString(value) {
			t.Errorf("%s: the field %s holds %q", what, f.AttrOr("name", ""), value)
		}
	})
	for _, part := range []string{".field__hint", ".field__error", "[data-testid=error-summary]"} {
		if text := p.text(part); strings.Contains(text, "1234.50") || strings.Contains(text, "1,234.50") {
			t.Errorf("%s: a German reads %q", what, text)
		}
	}
	return fields.Length()
}

// Every field that asks for an amount takes it as a German writes it, gives what is wrong back as it was
// typed with an example in German, and is filled in German.
func TestAmountsAreTypedInThePersonsLanguage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	cheap, dear := d.closedPO("a1", "V-1", "50.00", "EUR"), d.closedPO("a2", "V-1", "1234.50", "EUR")
	petra, anna, lars, fiona, adam := d.inGerman("petra"), d.inGerman("anna"), d.inGerman("lars"), d.inGerman("fiona"), d.inGerman("adam")
	seen := 0
	look := func(what string, p page) page {
		t.Helper()
		seen += p.germanAmounts(t, what)
		return p
	}

	for typed, want := range map[string][]string{"1.234,50": {dear}, "1234,50": {dear}, "1234.50": {dear}, "50,00": {dear, cheap}, "1.234": {dear}} {
		got := look("a filter", petra.get("/queues/procurement?sort=-amount&amount_from="+typed))
		got.shows(t, "from "+typed, want...)
	}
	d.signedIn("petra").get("/queues/procurement?amount_from=1,234.50").shows(t, "an English filter", dear)
	kept := petra.get("/queues/procurement?amount_from=1.234,50")
	if href := kept.href(t, "[data-testid=sheet]"); !strings.Contains(href, "amount_from=1234.50") {
		t.Errorf("the list is addressed as %s", href)
	}
	bad := look("a filter that is wrong", petra.refused("/queues/procurement?amount_from=1,2,3", http.StatusUnprocessableEntity))
	if !strings.Contains(bad.testID("error-summary"), "1.234,50") || bad.doc.Find("[name=amount_from]").AttrOr("value", "") != "1,2,3" {
		t.Errorf("it is refused with %q", bad.testID("error-summary"))
	}

	less := d.handOver(d.robot(), receiptMissing)
	form := look("an exit", anna.get("/cases/"+less))
	wrong := look("an exit that is wrong", anna.send(form, "decision-form", one("exit", "short_pay", "input.amount", "1,0,0", "reason", "Teil fehlt.")))
	if !strings.Contains(wrong.testID("error-summary"), "1.234,50") {
		t.Errorf("an amount that is none is refused with %q", wrong.testID("error-summary"))
	}
	anna.follow(anna.send(wrong, "decision-form", one("exit", "short_pay", "input.amount", "1.000,50", "reason", "Teil fehlt.")))
	if view, err := d.queue.Get(t.Context(), d.robot(), less); err != nil || view.Instruction == nil || view.Instruction.Input["amount"] != "1000.50" {
		t.Errorf("the agent is told %+v (%v)", view.Instruction, err)
	}

	request := d.ask(d.robot(), approvalFor("500.00"))
	call := look("a correction", fiona.get("/approvals/"+request))
	if got := call.doc.Find("[data-testid=send-back-form] [name='input.amount']").AttrOr("value", ""); got != "500,00" {
		t.Errorf("the amount to correct reads %q", got)
	}
	if same := fiona.send(call, "send-back-form", one("reason", "Falsch.", "input.amount", "500,00")); same.status != http.StatusUnprocessableEntity {
		t.Errorf("sending back without a change is answered %d", same.status)
	}
	fiona.follow(fiona.send(call, "send-back-form", one("reason", "Nur die Hälfte.", "input.amount", "250,50")))
	if view, err := d.approvals.Get(t.Context(), d.robot(), request); err != nil || view.Instruction == nil || view.Instruction.Input["amount"] != "250.50" {
		t.Errorf("the agent is told %+v (%v)", view.Instruction, err)
	}

	rules := look("rules", lars.get("/settings/rules"))
	lars.follow(lars.send(rules, "rule-form", one("currency", "CHF", "from", "1.000", "to", "12.345,50", "role", "finance_lead", "required", "1", "valid", "24h"))).wants(t, "rules", "12.345,50")
	rule := d.rule(company, approvals.NewRule{Currency: "JPY", From: "0", To: "5000", Role: models.RoleFinanceLead})
	look("a rule", lars.get("/settings/rules/"+rule.ID))
	look("a trial", lars.get("/settings/rules/try?tool=post_invoice_adjustment&amount=1.500,50&currency=CHF")).wants(t, "try-result", "1.500,50 CHF")

	proposed := d.handOver(d.robot(), closedWithCalls)
	ask := look("a proposed call", petra.get("/cases/"+proposed))
	petra.follow(petra.send(ask, "decision-form", one("exit", "reopen_po", "reason", "Wieder offen.", "proposed.0", "yes", "proposed.0.amount", "50,00", "proposed.0.currency", "EUR",
		"proposed.0.posting_date", "2026-10-05", "proposed.0.document_type", "KR", "proposed.0.summary", "Anpassen."))).wants(t, "case-status", "Erledigt")

	security := look("security", adam.get("/settings/security"))
	adam.follow(adam.send(security, "step-up-form", one("above", "10.000,00", "currency", "EUR"))).wants(t, "ask-again-amount", "10.000,00 EUR")
	if seen < 20 {
		t.Errorf("only %d fields of amounts were seen", seen)
	}
}
