package pages_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views/lang"
)

// inGerman is a browser of somebody who reads German.
func (d *desk) inGerman(name string) *visitor {
	d.t.Helper()
	v := d.signedIn(name)
	v.headers = map[string]string{"Accept-Language": "de"}
	return v
}

var (
	poText = regexp.MustCompile(`(?m)^(msgid|msgid_plural) (".*")$`)
	blanks = regexp.MustCompile(`%(\[\d+\])?[sdqv]|\{[a-z_]+\}`)
)

// englishForms are the messages that have values or parts and enough words of their own to be known
// again.
var englishForms = sync.OnceValue(func() (forms []*regexp.Regexp) {
	files, err := filepath.Glob("../../views/lang/de/*.po")
	if err != nil {
		panic(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		for _, m := range poText.FindAllStringSubmatch(string(text), -1) {
			id, err := strconv.Unquote(m[2])
			if err != nil || !blanks.MatchString(id) {
				continue
			}
			own := blanks.ReplaceAllString(id, "")
			if strings.Count(strings.TrimSpace(own), " ") < 2 || len(own) < 12 {
				continue
			}
			var form strings.Builder
			at := 0
			for _, b := range blanks.FindAllStringIndex(id, -1) {
				form.WriteString(regexp.QuoteMeta(id[at:b[0]]) + ".+?")
				at = b[1]
			}
			forms = append(forms, regexp.MustCompile("^"+form.String()+regexp.QuoteMeta(id[at:])+"$"))
		}
	}
	return forms
})

// isEnglish says whether a text is a message of the desk whose German reads otherwise.
func isEnglish(text string) bool {
	de := lang.Find(lang.German)
	if de.T(text) != text || de.SaidPart(text) != text && regexp.MustCompile(`[a-z]{2}`).MatchString(text) {
		return true
	}
	return slices.ContainsFunc(englishForms(), func(f *regexp.Regexp) bool { return f.MatchString(text) })
}

// isGerman fails for every text of the page's content that is English although there is German for it.
// What people, agents and other servers wrote is left out.
func (p page) isGerman(t *testing.T, what string) {
	t.Helper()
	if dir := os.Getenv("APDESK_GERMAN_PAGES"); dir != "" { // to look at them
		if err := os.WriteFile(filepath.Join(dir, strings.ReplaceAll(what, " ", "-")+".html"), []byte(p.raw), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got := p.doc.Find("html").AttrOr("lang", ""); got != "de" {
		t.Errorf("%s: the page is in %q", what, got)
	}
	// What stands on pages of every part is looked at with its own part.
	p.doc.Find("[data-testid=invoice], [data-testid=flash], [data-live-region=timeline], [data-testid=timeline], .here, [data-testid=delegation-note], .after, title").Remove()
	var walk func(n *html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.ElementNode {
			if slices.Contains([]string{"script", "style", "textarea", "pre", "kbd", "q"}, n.Data) {
				return
			}
			for _, a := range n.Attr {
				switch {
				case a.Key == "class" && regexp.MustCompile(`\b(code-text|foreign-block|data--exact|timeline|as-sent|evidence)\b`).MatchString(a.Val):
					return
				case slices.Contains([]string{"aria-label", "title", "placeholder", "data-label"}, a.Key) && isEnglish(a.Val):
					t.Errorf("%s: %s is %q", what, a.Key, a.Val)
				}
			}
		}
		if n.Type == html.TextNode {
			if text := strings.Join(strings.Fields(n.Data), " "); text != "" && isEnglish(text) {
				t.Errorf("%s: %q is English", what, text)
			}
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
	}
	for _, n := range p.doc.Find("main, title").Nodes {
		walk(n)
	}
}

func dayOf(t *testing.T, text string) models.Date {
	t.Helper()
	day, err := models.ParseDate(text)
	if err != nil {
		t.Fatal(err)
	}
	return day
}

func TestTheApprovalsAreGermanForAGermanReader(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	fiona, felix, anna, lars := d.inGerman("fiona"), d.inGerman("felix"), d.inGerman("anna"), d.inGerman("lars")
	fiona.get("/approvals").isGerman(t, "an empty list")
	first := d.ask(d.robot(), withEvidence(approvalFor("1234.50"), matched))
	two := d.ask(d.robot(), approvalFor("25000.00"))
	unrouted := d.ask(d.robot(), approvalFor("250000.00"))

	list := fiona.get("/approvals")
	list.isGerman(t, "the list")
	list.wants(t, "totals", "26.234,50 EUR")
	fiona.get("/approvals?tab=open&currency=EUR&tool=x").isGerman(t, "a list with nothing in it")
	fiona.get("/approvals?tab=open").isGerman(t, "the open ones")

	seen := fiona.get("/approvals/" + first)
	seen.isGerman(t, "a request")
	seen.wants(t, "amount", "1.234,50 EUR")
	seen.wants(t, "amount-in-words", "eintausendzweihundertvierunddreißig EUR und 50/100")
	seen.wants(t, "match-verdict", "Über der Toleranz von 2 %: 58,50 EUR mehr als erwartet (5 %)")
	seen.wants(t, "match-line", "über der Toleranz von 2 %", "20 zu 58,80", "1.176,00", "+58,50")
	seen.wants(t, "who-decides", "Ein Ja von Finanzleitung", "0,00 EUR bis 10.000,00 EUR", "darf entscheiden")
	seen.wants(t, "deadline", "bis Montag, 12. Oktober 2026 um 11:00")
	if button := seen.testID("approve"); button != "1.234,50 EUR genehmigen" {
		t.Errorf("the button reads %q", button)
	}
	refused := fiona.send(seen, "vote-form", one("decision", "reject", "reason", ""))
	refused.isGerman(t, "a refused vote")
	refused.wants(t, "error-summary", "Begründung: ist nötig, wenn Sie ablehnen")
	fiona.send(seen, "ask-form", one("question", "")).isGerman(t, "a refused question")
	anna.get("/approvals/"+first).isGerman(t, "a request of others")
	lars.get("/approvals/"+unrouted).isGerman(t, "a request nobody can decide")
	lars.get("/approvals/"+unrouted).wants(t, "unrouted", "Keine Regel der Genehmigungsmatrix deckt 250.000,00 EUR für post_invoice_adjustment, Belegart KR, ab.")
	lars.get("/approvals/"+unrouted).wants(t, "tried-rule", "sie endet bei 100.000,00 EUR")

	picked := fiona.send(fiona.get("/approvals?select=all"), "pick-form", one("request", first, "request", two))
	picked.isGerman(t, "several at once")
	picked.wants(t, "bulk-look", "Über der Toleranz von 2 %")
	fiona.send(fiona.get("/approvals"), "pick-form", one()).isGerman(t, "nothing ticked")
	items := picked.doc.Find("input[name=item]").Map(func(_ int, s *goquery.Selection) string { return s.AttrOr("value", "") })
	done := fiona.send(picked, "bulk-form", map[string][]string{"item": items, "reason": {"Geprüft."}})
	done.isGerman(t, "what came of several")
	done.wants(t, "bulk-result", "Es wartet jetzt auf", "Genehmigt")

	fiona.get("/approvals/"+two).isGerman(t, "after one of two votes")
	fiona.get("/approvals/"+two).wants(t, "why-not", "Sie haben zu dieser Anfrage schon abgestimmt und können sie daher nicht entscheiden.")
	late := felix.send(felix.get("/approvals/"+two), "vote-form", one("decision", "reject", "reason", "Nein."))
	felix.follow(late).isGerman(t, "a rejected request")
	approved := fiona.get("/approvals/" + first)
	approved.isGerman(t, "an approved request")
	fiona.get("/approvals/"+first+"/proof").isGerman(t, "a proof")
	fiona.get("/approvals/"+first+"/proof").wants(t, "proof-state", "Genehmigt von Fiona am 5. Okt. 2026")
	fiona.get("/invoices/5105600123").isGerman(t, "an invoice")
	fiona.get("/invoices/5105600123?show=money").isGerman(t, "the money of an invoice")
	revoke := fiona.get("/approvals/" + first + "/revoke")
	revoke.isGerman(t, "asking to revoke")
	fiona.send(revoke, "confirm-form", one("reason", "")).isGerman(t, "a refused revocation")
	fiona.follow(fiona.send(revoke, "confirm-form", one("reason", "Falscher Lieferant."))).isGerman(t, "a revoked approval")
	fiona.get("/approvals/"+first+"/proof").isGerman(t, "the proof of a revoked approval")
	fiona.get("/approvals?tab=decided").isGerman(t, "the decided ones")
}

func TestOnBehalfOneAfterTheOtherAndAgainAreGerman(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if _, err := d.approvals.CreateRule(t.Context(), models.Operator(company), approvals.NewRule{Tool: "post_invoice_adjustment", Currency: "EUR", From: "30", To: "40", Required: 2,
		Role: models.RoleProcurement, ThenRole: models.RoleFinanceLead}); err != nil {
		t.Fatal(err)
	}
	sequence := d.ask(d.robot(), approvalFor("35.00"))
	fiona, petra := d.inGerman("fiona"), d.inGerman("petra")
	petra.get("/approvals/"+sequence).isGerman(t, "the first of two")
	fiona.get("/approvals/"+sequence).isGerman(t, "before it is the second one's turn")
	fiona.get("/approvals/"+sequence).wants(t, "why-not", "Sie sind noch nicht an der Reihe: zuerst ein Ja von Einkauf.")
	petra.follow(petra.send(petra.get("/approvals/"+sequence), "vote-form", one("decision", "approve")))
	fiona.get("/approvals/"+sequence).isGerman(t, "the second of two")

	rejected := d.ask(d.robot(), approvalFor("500.00"))
	fiona.follow(fiona.send(fiona.get("/approvals/"+rejected), "send-back-form", one("reason", "Nur die Hälfte.", "input.amount", "250.00"))).isGerman(t, "a request that was sent back")
	again := d.ask(d.robot(), approvalFor("250.00"))
	repeated := fiona.get("/approvals/" + again)
	repeated.isGerman(t, "a request after another")
	repeated.wants(t, "earlier-request", "zurückgegeben", "Betrag")

	d.rule(company, approvals.NewRule{Currency: "EUR", From: "0", To: "1", Role: models.RoleAPClerk})
	away := models.Principal{UserID: d.users["felix"].ID, UserName: "Felix", Kind: models.KindPerson, WorkspaceID: company, Roles: []models.Role{models.RoleFinanceLead}, Channel: models.ChannelWeb}
	if _, err := d.approvals.Delegate(t.Context(), away, approvals.NewDelegation{DelegateEmail: "anna@example.com", FirstDay: dayOf(t, "2026-10-05"), LastDay: dayOf(t, "2026-10-09")}); err != nil {
		t.Fatal(err)
	}
	behalf := d.inGerman("anna").get("/approvals/" + again)
	behalf.isGerman(t, "a request decided on behalf of somebody")
	d.inGerman("felix").get("/approvals/"+again).isGerman(t, "a request of somebody who is away")
	absences := d.inGerman("felix").get("/settings/delegations")
	absences.isGerman(t, "an absence whose delegate may decide a part")
	absences.wants(t, "limits", "Nicht alles geht über", "Anna", "Felix")
	none := fiona.send(fiona.get("/settings/delegations"), "delegation-form", one("delegate", "lars@example.com", "first_day", "2026-10-06", "last_day", "2026-10-06"))
	none.isGerman(t, "a delegate without a limit")
	none.wants(t, "error-summary", "hat für nichts, was Fiona entscheidet, eine eigene Betragsgrenze")
	d.inGerman("anna").get("/approvals").isGerman(t, "the list of who stands in")
}

func TestConfirmationsServersAndSecurityAreGermanForAGermanReader(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	fiona, adam := d.inGerman("fiona"), d.inGerman("adam")
	fiona.get("/confirmations").isGerman(t, "no confirmation")
	id := d.forward(d.robot(), asks(yesOrNo+`, "copies": {"type": "integer", "minimum": 1, "maximum": 9}, "why": {"type": "string", "minLength": 3, "maxLength": 80},
		"many": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}, "minItems": 1}`, `"confirm", "copies"`))
	fiona.get("/confirmations").isGerman(t, "the confirmations")
	seen := fiona.get("/confirmations/" + id)
	seen.isGerman(t, "a confirmation")
	seen.wants(t, "server-form", "Eine ganze Zahl von 1 bis 9.", "3 bis 80 Zeichen.", "Wählen Sie mindestens 1.")
	refused := fiona.send(seen, "answer-form", one("action", "accept", "content.copies", "20"))
	if refused.status != http.StatusUnprocessableEntity {
		t.Fatalf("answered %d", refused.status)
	}
	refused.isGerman(t, "a refused answer")
	refused.wants(t, "error-summary", "darf höchstens 9 sein")
	second := fiona.send(seen, "answer-form", one("action", "accept", "content.confirm", "true", "content.copies", "2", "content.many", "a"))
	second.isGerman(t, "the second look")
	fiona.send(second, "second-step-form", one("action", "accept")).isGerman(t, "the second look without the tick")
	fiona.follow(fiona.send(second, "second-step-form", one("action", "accept", "second_step", "yes")))
	fiona.get("/confirmations/"+id).isGerman(t, "an answered confirmation")
	d.inGerman("anna").get("/confirmations/"+d.forward(d.robot(), opensAddress)).isGerman(t, "an address to open")
	fiona.get("/confirmations?tab=decided").isGerman(t, "what is done")
	fiona.get("/confirmations?tab=open").isGerman(t, "what is open")

	servers := adam.get("/settings/servers")
	servers.isGerman(t, "the servers")
	adam.send(servers, "server-rule-form", one("server_name", "", "server_url", "ftp://x", "role", "finance_lead")).isGerman(t, "a refused rule")
	adam.follow(adam.send(servers, "server-rule-form", one("server_name", "Archiv", "server_url", "https://archive.example.com/mcp", "role", "finance_lead"))).isGerman(t, "a server rule")
	d.inGerman("anna").get("/settings/servers").isGerman(t, "the servers to read")
	adam.get("/settings/security").isGerman(t, "the security page")
	d.inGerman("anna").get("/settings/security").isGerman(t, "the security page to read")
}

func TestACaseShowsOrderReceiptAndInvoiceSideBySide(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	seen := d.signedIn("anna").get("/cases/" + d.handOver(d.robot(), withEvidence(poClosed, matched)))
	seen.wants(t, "match-verdict", "Over the tolerance of 2 %: EUR 58.50 more than expected (5 %)")
	seen.wants(t, "match-line", "10 Carbide insert", "20 at 58.80", "1,176.00", "1,234.50", "+58.50")
	if d.signedIn("anna").get("/cases/" + d.handOver(d.robot(), duplicate)).has("match") {
		t.Error("a case without order and receipt shows a match")
	}
}

// Every argument that the desk itself knows, and every field of an exit, has a German name.
func TestArgumentsOfCallsHaveGermanNames(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("500.00"))
	fiona := d.inGerman("fiona")
	page := fiona.get("/approvals/" + request)
	var labels []string
	page.doc.Find("[data-testid=send-back-form] label").Each(func(_ int, s *goquery.Selection) {
		labels = append(labels, strings.TrimSpace(s.Contents().First().Text()))
	})
	if got, want := strings.Join(labels, ", "), "Betrag, Währung, Rechnungs-ID, Buchungsdatum, Lieferanten-ID, Text, Begründung, Danach"; got != want {
		t.Errorf("the labels are %s, want %s", got, want)
	}
	back := fiona.follow(fiona.send(page, "send-back-form", one("reason", "Falsch.", "input.supplier_id", "V-3000", "input.invoice_id", "5105600999")))
	back.wants(t, "sent-back", "Rechnungs-ID: 5105600999", "Lieferanten-ID: V-3000")
	history := back.doc.Find("[data-live-region=timeline]").Text()
	if !strings.Contains(history, "Lieferanten-ID") {
		t.Errorf("the history is %s", history)
	}
	if strings.Contains(history, "Währung") {
		t.Error("the history tells of values that nobody corrected")
	}
}

// An amount inside a list of the call is written and read as the reader's language does, like any other.
func TestAnAmountInsideTheCallIsTypedInGerman(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.tx(models.Operator(company), func(tx *models.Tx) error {
		return tx.SetBinding("post_lines", models.Binding{InvoiceID: "/invoice_id", Amount: "/lines/0/value", Currency: "/sum/currency"})
	})
	request := d.ask(d.robot(), `{"invoice": {"id": "5105600123", "amount": "2100.00", "currency": "EUR"}, "amount": "2100.00", "currency": "EUR", "summary": "Post it",
		"action": {"tool": "post_lines", "arguments": {"invoice_id": "5105600123", "lines": [{"value": "2100.00"}], "sum": {"currency": "EUR"}}}}`)
	fiona := d.inGerman("fiona")
	page := fiona.get("/approvals/" + request)
	page.wants(t, "send-back-form", "Betrag", "Steht innerhalb des Aufrufs bei /lines/0/value.")
	if got := page.doc.Find("[name='input./lines/0/value']").AttrOr("value", ""); got != "2100,00" && got != "2.100,00" {
		t.Errorf("the amount reads %q", got)
	}
	fiona.follow(fiona.send(page, "send-back-form", one("reason", "Zu viel.", "input./lines/0/value", "1.210,50"))).wants(t, "sent-back", "1210.50")
}
