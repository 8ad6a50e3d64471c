package pages_test

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
)

func TestAGermanReadsTheSettingsPeopleRulesAndTheTrailInGerman(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	e := entangle(t, d)
	messages := englishOnly(t)
	rule := d.rule(company, approvals.NewRule{Currency: "EUR", From: "0", To: "800", DocumentType: "KR", Role: models.RoleFinanceLead, Required: 2})
	pages := []string{"/", "/notices", "/search", "/search?q=INV-778", "/search?q=nothing+like+it", "/settings", "/settings/hours", "/settings/me", "/shortcuts",
		"/settings/people", "/settings/people/" + d.users["fiona"].ID, "/settings/people/" + d.users["robot"].ID, "/settings/delegations",
		"/settings/rules", "/settings/rules/" + rule.ID, "/settings/rules/history",
		"/settings/rules/try?" + url.Values{"tool": {"post_invoice_adjustment"}, "amount": {"7350.25"}}.Encode(), "/settings/people/usr_nobody"}
	for who, more := range map[string][]string{
		"adam":  {"/settings/people/" + d.users["fiona"].ID + "/deactivate", "/settings/rules/import"},
		"lars":  {"/settings/rules/import"},
		"fiona": nil,
		"audra": {"/audit", "/audit?refused=1", "/reports", "/reports?from=x"},
	} {
		v := e.signedIn(who)
		v.headers = map[string]string{"Accept-Language": "de-AT,de;q=0.9,en;q=0.5"}
		for _, path := range append(append([]string{}, pages...), more...) {
			p := v.do(http.MethodGet, path, nil)
			wanted := http.StatusOK
			switch path {
			case "/settings/people/usr_nobody":
				wanted = http.StatusNotFound
			case "/reports?from=x":
				wanted = http.StatusUnprocessableEntity
			}
			if p.status != wanted {
				t.Errorf("%s reads %s and is answered %d", who, path, p.status)
			}
			if lang, _ := p.doc.Find("html").Attr("lang"); lang != "de" {
				t.Errorf("%s reads %s in %q", who, path, lang)
			}
			for _, text := range p.read() {
				if slices.Contains(messages, text) {
					t.Errorf("%s, %s: %q stands there in English", who, path, text)
				}
			}
		}
	}
}

func TestTheSignInPageSpeaksTheBrowsersLanguageOrTheOneChosenThere(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	v := d.stranger()
	in := func(p page, want string) page {
		t.Helper()
		if got, _ := p.doc.Find("html").Attr("lang"); got != want {
			t.Errorf("the page is in %q, want %q", got, want)
		}
		return p
	}
	in(v.get("/login"), "en")
	v.headers = map[string]string{"Accept-Language": "de"}
	p := in(v.get("/login?next=%2Fholds"), "de")
	link, _ := p.doc.Find(`[data-testid=languages] a[lang=en]`).Attr("href")
	messages := englishOnly(t)
	for _, text := range p.read() {
		if slices.Contains(messages, text) {
			t.Errorf("%q stands on the German page in English", text)
		}
	}
	chosen := in(v.get(link), "en")
	if next, _ := chosen.doc.Find(`[name=next]`).Attr("value"); next != "/holds" {
		t.Errorf("whoever chooses a language goes on to %q", next)
	}
	in(v.get("/login"), "en") // the cookie goes before the browser's wish
	in(v.get("/login?lang=xx"), "en")
	in(v.get("/login?lang=de"), "de")
	v.headers = nil
	in(v.get("/login"), "de")
	wrong := v.send(v.get("/login"), "login-form", one("email", "anna@example.com", "password", "not this one"))
	wrong.wants(t, "error-summary", "Sie sind nicht angemeldet", "E-Mail oder Passwort stimmt nicht.")
}

func TestAnAmountOfARuleMayHaveADecimalComma(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	lars := d.signedIn("lars")
	fields := func(from, to string) url.Values {
		return one("currency", "EUR", "tool", "comma_tool", "from", from, "to", to, "role", "finance_lead", "required", "1", "valid", "24h")
	}
	lars.follow(lars.send(lars.get("/settings/rules"), "rule-form", fields("0", "1234,50"))).wants(t, "rules", "1,234.50")
	for _, wrong := range []string{"1,2,3", "12,34,567", "1.234.5"} {
		if p := lars.send(lars.get("/settings/rules"), "rule-form", fields("0", wrong)); p.status != 422 {
			t.Errorf("%s is taken for an amount (%d)", wrong, p.status)
		}
	}
}
