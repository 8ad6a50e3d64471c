package pages_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
)

func TestTheMatrixIsEditedByLeadsAndAdmins(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, name := range []string{"lars", "adam"} {
		who := d.signedIn(name)
		seen := who.get("/settings/rules")
		seen.wants(t, "rules", "finance lead", "10,000.00", "two together", "24 h")
		refused := who.send(seen, "rule-form", one("currency", "EUR", "from", "5", "to", "1", "role", "auditor", "required", "1", "valid", "soon"))
		if refused.status != http.StatusUnprocessableEntity || refused.doc.Find("[name=from]").AttrOr("value", "") != "5" {
			t.Errorf("a rule that is wrong is answered %d", refused.status)
		}
		refused.wants(t, "error-summary", "The rule was not added", "Approval good for: must be a length of time")
		added := who.follow(who.send(seen, "rule-form", one("currency", "JPY", "from", "0", "to", "1000000", "role", "", "person", "fiona@example.com, felix@example.com", "required", "2", "valid", "8h")))
		added.wants(t, "rules", "Fiona, Felix", "1,000,000", "8 h")
		page := who.get(added.doc.Find("[data-testid=rule-row] a").Last().AttrOr("href", ""))
		page.wants(t, "rule-facts", "JPY 1,000,000", "two people together")
		action, sent := page.fill(t, "retire-form", one())
		who.follow(who.do(http.MethodPost, action, sent))
		again := who.do(http.MethodPost, action, sent)
		if again.status != http.StatusConflict || !strings.Contains(again.testID("conflict"), "retired this rule") {
			t.Errorf("retiring a rule twice is answered %d: %s", again.status, again.testID("conflict"))
		}
	}
	anna := d.signedIn("anna")
	p := anna.get("/settings/rules")
	p.wants(t, "why-not", "You can read the matrix")
	rule := p.doc.Find("[data-testid=rule-row] a").First().AttrOr("href", "")
	one := anna.get(rule)
	if p.has("rule-form") || p.has("rules-import") || one.has("rule-form") || one.has("retire-form") {
		t.Error("a clerk is offered to change the rules")
	}
	values := fields()
	values.Set("csrf_token", p.doc.Find("input[name=csrf_token]").AttrOr("value", ""))
	for _, path := range []string{"/settings/rules", rule, "/settings/rules/import", "/settings/rules/import/apply"} {
		values.Set("version", "1")
		if forced := anna.do(http.MethodPost, path, values); forced.status != http.StatusForbidden {
			t.Errorf("a clerk posts to %s and is answered %d", path, forced.status)
		}
	}
	if p := anna.do(http.MethodGet, "/settings/rules/import", nil); p.status != http.StatusForbidden {
		t.Errorf("a clerk opens the import and is answered %d", p.status)
	}
	for _, path := range []string{"/settings/rules/history", "/settings/rules/try", "/settings/rules.csv"} {
		anna.get(path)
	}
}

func TestTheSheetStandsByCurrencyAndNamesWithWhatIsMissing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.rule(company, approvals.NewRule{Currency: "EUR", From: "200000", To: "300000", Role: models.RoleFinanceLead, Tool: "pay_invoice"})
	d.rule(company, approvals.NewRule{Currency: "CHF", From: "0", To: "10", Role: models.RoleMasterData, Required: 2})
	p := d.signedIn("audra").get("/settings/rules")
	var order []string
	p.doc.Find("[data-testid=rules] tbody tr").Each(func(_ int, tr *goquery.Selection) {
		order = append(order, strings.Join(strings.Fields(tr.Text()), " "))
	})
	for i, want := range []string{"EUR", "Any write", "0.00 EUR10,000.00 EURfinance lead", "10,000.01 EUR", "tool pay_invoice", "200,000.00 EUR", "CHF", "Any write", "0.00 CHF"} {
		if i >= len(order) || !strings.HasPrefix(order[i], want) {
			t.Errorf("line %d of the sheet is %q, want %q", i, order, want)
			break
		}
	}
	p.wants(t, "findings", "Nobody decides EUR 100,000.01 to 199,999.99 for tool pay_invoice", "needs 2 different people of Master data, and only Mona is there for it",
		"names the tool pay_invoice, which has no pointers")
	p.wants(t, "notes", "Nobody decides more than EUR 300,000.00, which is the limit for tool pay_invoice. For what no rule names the limit is EUR 100,000.00.")
	if n := p.doc.Find("[data-testid=finding] a[href^='/settings/rules/']").Length(); n < 4 {
		t.Errorf("the findings link %d rules", n)
	}
	p.wants(t, "rule-bindings", "post_invoice_adjustment", "/posting_date")
}

func TestARuleGetsItsNextVersionUnderTheOneSeen(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	rule := d.rule(company, approvals.NewRule{Currency: "CHF", From: "0", To: "500", Role: models.RoleFinanceLead, Supplier: "V-1"})
	lars, adam := d.signedIn("lars"), d.signedIn("adam")
	path := "/settings/rules/" + rule.ID
	seenByLars, seenByAdam := lars.get(path), adam.get(path)
	typed := one("currency", "CHF", "from", "0", "to", "800", "supplier", "V-1", "role", "finance_lead", "required", "then", "then_role", "ap_lead", "then_person", "", "valid", "24h")
	changed := lars.follow(lars.send(seenByLars, "rule-form", typed))
	changed.wants(t, "rule-facts", "CHF 800.00", "AP lead", "two people, one after the other")
	changed.wants(t, "rule-history", "Lars changed the rule version 2", "CHF 500.00", "no request carries it")
	if n := changed.doc.Find("[data-testid=rule-change]").First().Find(".rule-fields__changed").Length(); n != 3 {
		t.Errorf("%d fields are marked as changed", n)
	}

	late := adam.send(seenByAdam, "rule-form", one("currency", "CHF", "from", "0", "to", "1234", "supplier", "V-1", "role", "finance_lead", "required", "1", "valid", "24h"))
	if late.status != http.StatusConflict || late.doc.Find("[name=to]").AttrOr("value", "") != "1234" {
		t.Errorf("a stale change is answered %d and keeps %q", late.status, late.doc.Find("[name=to]").AttrOr("value", ""))
	}
	late.wants(t, "conflict", "Lars changed this rule", "What you typed stands in the form below")
	late.wants(t, "rule-facts", "CHF 800.00")
	adam.follow(adam.send(late, "rule-form", one("currency", "CHF", "from", "0", "to", "1234", "supplier", "V-1", "role", "finance_lead", "required", "1", "valid", "24h"))).wants(t, "rule-facts", "CHF 1,234.00")

	same := adam.send(adam.get(path), "rule-form", one("currency", "CHF", "from", "0", "to", "1234.00", "supplier", "V-1", "role", "finance_lead", "required", "1", "valid", "1d"))
	if same.status != http.StatusUnprocessableEntity || !strings.Contains(same.testID("error-summary"), "Nothing was changed") {
		t.Errorf("a change of nothing is answered %d: %s", same.status, same.testID("error-summary"))
	}
	for _, wrong := range []string{"0", "3", "two"} {
		refused := adam.send(adam.get(path), "rule-form", one("currency", "CHF", "from", "0", "to", "1", "role", "finance_lead", "required", wrong, "valid", "24h"))
		if refused.status != http.StatusUnprocessableEntity || !strings.Contains(refused.testID("error-summary"), "must be 1 or 2 people") {
			t.Errorf("required %q is answered %d: %s", wrong, refused.status, refused.testID("error-summary"))
		}
	}
	history := adam.get("/settings/rules/history")
	history.wants(t, "matrix-history", "Adam changed", "CHF 800.00", "CHF 1,234.00", "Lars changed", "operator added")
	if first := history.doc.Find("[data-testid=rule-change]").First().Text(); !strings.Contains(first, "Adam") {
		t.Errorf("the history begins with %q", first)
	}
	if p := adam.do(http.MethodGet, "/settings/rules/rule_nothing", nil); p.status != http.StatusNotFound {
		t.Errorf("a rule that is none is answered %d", p.status)
	}
	if p := d.signedIn("yuki").do(http.MethodGet, path, nil); p.status != http.StatusNotFound {
		t.Errorf("another workspace's rule is answered %d", p.status)
	}
}

func TestTheHistoryOfTheMatrixGoesOnWhereItsPageEnded(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	sheet := "currency,from,to,role,tool\n"
	for i := range 60 {
		sheet += fmt.Sprintf("USD,0,10,ap_lead,tool_%d\n", i)
	}
	if _, err := d.approvals.ApplySheet(t.Context(), models.Operator(company), []byte(sheet), false, 2); err != nil {
		t.Fatal(err)
	}
	anna := d.signedIn("anna")
	seen := map[string]bool{}
	for path := "/settings/rules/history"; path != ""; {
		p := anna.get(path)
		p.doc.Find("[data-testid=rule-change] p a").Each(func(_ int, a *goquery.Selection) {
			href := a.AttrOr("href", "")
			if seen[href] {
				t.Errorf("%s is listed twice", href)
			}
			seen[href] = true
		})
		path = p.doc.Find("[data-testid=pager-next]").AttrOr("href", "")
	}
	if len(seen) != 62 {
		t.Errorf("the history lists %d changes, not 62", len(seen))
	}
	if p := anna.do(http.MethodGet, "/settings/rules/history?cursor=nonsense", nil); p.status != http.StatusBadRequest {
		t.Errorf("a cursor that is none is answered %d", p.status)
	}
}

func TestARequestCanBeTriedWithoutAsking(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.rule(company, approvals.NewRule{Currency: "EUR", From: "0", To: "500", Role: models.RoleAPLead, ThenRole: models.RoleFinanceLead, Supplier: "V-2001"})
	anna := d.signedIn("anna")
	blank := anna.get("/settings/rules/try")
	if blank.has("try-result") || blank.has("error-summary") {
		t.Error("nothing was tried yet")
	}
	p := anna.get("/settings/rules/try?tool=post_invoice_adjustment&amount=250&currency=eur&supplier=V-2001&asker=robot@example.com")
	p.wants(t, "try-rule", "0.00 to 500.00 EUR", "supplier V-2001")
	p.wants(t, "try-why", "It goes before Rule", "it names more")
	p.wants(t, "try-people", "Lars AP lead, comes first", "no: answers for the account that asked for this", "Fiona Finance lead, comes second", "EUR 100,000.00")
	p.wants(t, "try-others", "It begins at EUR 10,000.01.", "goes first: it names more")
	p.wants(t, "try-missing", "Nobody could decide this now")
	anna.get("/settings/rules/try?tool=post_invoice_adjustment&amount=999999&currency=EUR").wants(t, "try-missing", "No rule of the approval matrix covers EUR 999,999.00")
	anna.get("/settings/rules/try?tool=pay_invoice&amount=1&currency=EUR").wants(t, "try-unbound", "the rule with the highest limit decides")
	bad := anna.do(http.MethodGet, "/settings/rules/try?tool=&amount=1e3&currency=EURO&asker=nobody@example.com", nil)
	if bad.status != http.StatusUnprocessableEntity || bad.doc.Find("[name=amount]").AttrOr("value", "") != "1e3" {
		t.Errorf("a try that is none is answered %d", bad.status)
	}
	bad.wants(t, "error-summary", "Tool: must name a tool", "Currency: must be an ISO 4217")
}

// upload posts a sheet as a file.
func (v *visitor) upload(p page, sheet string, more ...string) page {
	v.t.Helper()
	action, sent := p.fill(v.t, "import-form", one(more...))
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for name, values := range sent {
		for _, value := range values {
			if err := w.WriteField(name, value); err != nil {
				v.t.Fatal(err)
			}
		}
	}
	f, err := w.CreateFormFile("file", "rules.csv")
	if err != nil {
		v.t.Fatal(err)
	}
	if _, err := io.WriteString(f, sheet); err != nil {
		v.t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		v.t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodPost, "http://desk.example"+action, &body)
	req.Header.Set("Content-Type", w.FormDataContentType())
	for name, value := range v.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	res, err := v.app.Test(req, -1)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(raw))
	if err != nil {
		v.t.Fatal(err)
	}
	return page{status: res.StatusCode, location: res.Header.Get("Location"), header: res.Header, doc: doc, raw: string(raw)}
}

func TestASheetIsImportedAfterItsPreview(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	lars := d.signedIn("lars")
	exported := lars.do(http.MethodGet, "/settings/rules.csv", nil)
	if exported.status != http.StatusOK || !strings.Contains(exported.header.Get("Content-Disposition"), "attachment") || !strings.HasPrefix(exported.raw, "\ufeffrule,version,currency,") {
		t.Fatalf("the export is answered %d: %s", exported.status, exported.raw)
	}
	form := lars.get("/settings/rules/import")
	same := lars.upload(form, exported.raw)
	same.wants(t, "import-counts", "Unchanged2 rules")
	if same.status != http.StatusOK || same.has("import-apply") || !same.has("import-nothing") {
		t.Errorf("an import of the export is answered %d: %s", same.status, same.text("main"))
	}

	wrong := lars.send(form, "import-form", one("sheet", "currency,from,to,role\nEUR,5,1,finance_lead\nXXX,0,1,agent\n"))
	if wrong.status != http.StatusUnprocessableEntity || !strings.Contains(wrong.doc.Find("textarea[name=sheet]").Text(), "XXX,0,1") {
		t.Errorf("a sheet that is wrong is answered %d", wrong.status)
	}
	wrong.wants(t, "sheet-problems", "Line 2, column to: must not be below 5", `Line 3, column role: must be one of`, "nothing was changed")

	sheet := strings.Replace(exported.raw, ",100000,", ",200000,", 1)
	first, rest, _ := strings.Cut(sheet, "\r\n")
	gone, kept, _ := strings.Cut(rest, "\r\n")
	sheet = first + "\r\n" + kept + ",,USD,=cmd|x,,,,0,10,ap_lead,,finance_lead,,2,8h,,\r\n"
	preview := lars.upload(form, sheet, "retire_missing", "yes")
	preview.wants(t, "import-counts", "Added1 rule", "Changed1 rule", "Retired1 rule")
	preview.wants(t, "import-changed", "To", "EUR 100,000.00", "EUR 200,000.00")
	preview.wants(t, "import-added", "line 3", "AP lead, then Finance lead")
	if strings.Count(lars.get("/settings/rules").testID("rules"), "200,000.00") != 0 {
		t.Error("the preview changed the rules")
	}
	applied := lars.follow(lars.send(preview, "import-apply", one()))
	applied.wants(t, "rules", "200,000.00", "=cmd|x", "then finance lead")
	if id, _, _ := strings.Cut(gone, ","); applied.doc.Find("[data-rule='"+id+"']").Length() != 0 {
		t.Error("the rule that is not in the file is still there")
	}
	again := lars.send(preview, "import-apply", one())
	if again.status != http.StatusUnprocessableEntity && again.status != http.StatusConflict {
		t.Errorf("applying the same preview twice is answered %d", again.status)
	}
	if !strings.Contains(lars.do(http.MethodGet, "/settings/rules.csv", nil).raw, "'=cmd|x") {
		t.Error("the export leaves a formula to the spreadsheet")
	}

	// Somebody else changes the matrix between preview and apply.
	form = lars.get("/settings/rules/import")
	preview = lars.send(form, "import-form", one("sheet", "currency,from,to,role\nGBP,0,1,ap_lead\n"))
	d.rule(company, approvals.NewRule{Currency: "GBP", From: "5", To: "6", Role: models.RoleFinanceLead})
	late := lars.send(preview, "import-apply", one())
	if late.status != http.StatusConflict || !strings.Contains(late.testID("error-summary"), "Somebody changed the rules since this preview") {
		t.Errorf("a preview that is too old is answered %d: %s", late.status, late.text("main"))
	}
	lars.follow(lars.send(late, "import-apply", one())).wants(t, "rules", "GBP")
}

func TestAnImportMarksWhatWouldBeLessStrict(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	lars := d.signedIn("lars")
	form := lars.get("/settings/rules/import")
	form.wants(t, "columns-left-out", "changes nothing of a rule that stands")
	two := lars.get("/settings/rules").doc.Find("[data-rule]").Last().AttrOr("data-rule", "") // from 10,000.01, two people
	strict := lars.send(form, "import-form", one("sheet", "rule,currency,from,to,role\n"+two+",EUR,10000.01,50000,finance_lead\n"))
	strict.wants(t, "import-changed", "EUR 50,000.00")
	if strict.has("import-looser") || strings.Contains(strict.testID("import-changed"), "How many") {
		t.Errorf("a sheet without the column changes %s", strict.testID("import-changed"))
	}
	loose := lars.send(form, "import-form", one("sheet", "rule,currency,from,to,role,required\n"+two+",EUR,10000.01,500000,finance_lead,1\n"))
	loose.wants(t, "import-looser", "Less strict than now: fewer people decide and it reaches amounts that it did not reach.")
	german := d.inGerman("lars")
	german.send(german.get("/settings/rules/import"), "import-form", one("sheet", "rule,currency,from,to,role,required\n"+two+",EUR,10000.01,500000,finance_lead,1\n")).isGerman(t, "an import that loosens a rule")
}
