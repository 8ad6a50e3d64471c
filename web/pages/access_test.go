package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
)

func TestAPersonSignsInAndOut(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	v := d.stranger()
	sent := v.do(http.MethodGet, "/queues/ap?state=held", nil)
	if sent.status != http.StatusSeeOther || sent.location != "/login?next="+url.QueryEscape("/queues/ap?state=held") {
		t.Fatalf("a stranger is answered %d to %q", sent.status, sent.location)
	}
	form := v.get(sent.location)
	wrong := v.send(form, "login-form", one("email", "anna@example.com", "password", "not it at all"))
	if wrong.status != http.StatusUnauthorized || wrong.doc.Find("input[name=email]").AttrOr("value", "") != "anna@example.com" || strings.Contains(wrong.raw, "not it at all") {
		t.Errorf("a wrong password is answered %d", wrong.status)
	}
	wrong.wants(t, "error-summary", "E-mail or password is not right.")
	unknown := v.send(form, "login-form", one("email", "nobody@example.com", "password", password))
	if unknown.status != http.StatusUnauthorized || unknown.testID("error-summary") != wrong.testID("error-summary") {
		t.Error("an unknown e-mail looks different from a wrong password")
	}
	in := v.send(form, "login-form", one("email", "Anna@Example.com", "password", password))
	if in.status != http.StatusSeeOther || in.location != "/queues/ap?state=held" {
		t.Fatalf("signing in is answered %d to %q", in.status, in.location)
	}
	desk := v.get("/")
	desk.wants(t, "signed-in-as", "Anna", "AP clerk")
	if again := v.do(http.MethodGet, "/login", nil); again.status != http.StatusSeeOther || again.location != "/" {
		t.Errorf("the sign-in page answers %d to a person signed in", again.status)
	}
	out := v.press(desk, "sign-out")
	if out.status != http.StatusSeeOther || out.location != "/login" {
		t.Fatalf("signing out is answered %d to %q", out.status, out.location)
	}
	if p := v.do(http.MethodGet, "/", nil); p.status != http.StatusSeeOther {
		t.Errorf("after signing out the desk answers %d", p.status)
	}
}

func TestSignInLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, next := range []string{"https://evil.example/", "//evil.example/", `/\evil.example/`, `\\evil.example`, "/\t/evil.example", "javascript:alert(1)", "/login", "/logout", "http:/evil", "/%0a//x", "", "evil"} {
		v := d.stranger()
		form := v.get("/login?next=" + url.QueryEscape(next))
		if got := form.doc.Find("input[name=next]").AttrOr("value", "none"); got != "none" && got != "/%0a//x" {
			t.Errorf("next %q stands in the form as %q", next, got)
		}
	}
	v := d.stranger()
	in := v.send(v.get("/login"), "login-form", one("email", "anna@example.com", "password", password, "next", "//evil.example/"))
	if in.location != "/" {
		t.Errorf("signing in leads to %q", in.location)
	}
}

// posts lists a form of every kind with the person who may send it.
func posts(d *desk) []struct{ who, path string } {
	caseID := d.handOver(d.robot(), poClosed)
	request := d.ask(d.robot(), approvalFor("500.00"))
	rules, err := d.approvals.Rules(d.t.Context(), models.Operator(company))
	if err != nil {
		d.t.Fatal(err)
	}
	return []struct{ who, path string }{
		{"petra", "/workspace"}, {"petra", "/cases/" + caseID}, {"petra", "/cases/" + caseID + "/decision"}, {"petra", "/cases/" + caseID + "/claim"},
		{"petra", "/cases/" + caseID + "/release"}, {"lars", "/cases/" + caseID + "/take-over"}, {"petra", "/cases/" + caseID + "/comments"},
		{"petra", "/cases/" + caseID + "/snooze"}, {"petra", "/cases/" + caseID + "/unsnooze"}, {"petra", "/cases/" + caseID + "/reroute"}, {"lars", "/settings/hours"},
		{"fiona", "/approvals/" + request}, {"fiona", "/approvals/" + request + "/vote"}, {"fiona", "/approvals/" + request + "/revoke"}, {"fiona", "/approvals/" + request + "/withdraw"},
		{"fiona", "/settings/period"}, {"adam", "/settings/holidays"}, {"adam", "/settings/holidays/remove"}, {"adam", "/settings/bindings"}, {"adam", "/settings/bindings/remove"}, {"adam", "/settings/erp"},
		{"adam", "/settings/rules"}, {"adam", "/settings/rules/" + rules[0].Rule.ID + "/retire"},
		{"petra", "/cases/bulk"}, {"petra", "/cases/bulk/do"}, {"petra", "/views"}, {"petra", "/views/view_1/rename"}, {"petra", "/views/view_1/delete"}, {"petra", "/logout"},
	}
}

// fields fills in every form of posts.
func fields() url.Values {
	return one("exit", "reject_invoice", "reason", "x", "version", "1", "text", "x", "decision", "approve", "workspace_id", other, "period_closed_through", "2026-09-30",
		"day", "2026-12-25", "tool", "pay", "currency", "EUR", "from", "0", "to", "1", "role", "finance_lead", "required", "1", "valid", "24h",
		"until", "2026-10-06T07:00:00Z", "opens_at", "08:00", "closes_at", "16:00")
}

// trail counts what was recorded in the company.
func (d *desk) trail() int64 {
	var n int64
	err := d.store.View(d.t.Context(), models.Operator(company), func(tx *models.Tx) error {
		return tx.DB.Model(&models.AuditEvent{}).Where("workspace_id = ?", company).Count(&n).Error
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return n
}

func TestAFormWithoutItsTokenChangesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	forms := posts(d)
	before := d.trail()
	for _, f := range forms {
		who := d.signedIn(f.who)
		token := who.get("/").doc.Find("input[name=csrf_token]").AttrOr("value", "")
		theirs := d.signedIn("lars").get("/").doc.Find("input[name=csrf_token]").AttrOr("value", "")
		for name, sent := range map[string]string{"none": "", "wrong": "wrong", "another session's": theirs} {
			values := fields()
			if sent != "" {
				values.Set("csrf_token", sent)
			}
			if p := who.do(http.MethodPost, f.path, values); p.status != http.StatusForbidden {
				t.Errorf("POST %s with token %s is answered %d", f.path, name, p.status)
			}
		}
		if p := who.do(http.MethodPost, f.path+"?csrf_token="+url.QueryEscape(token), fields()); p.status != http.StatusForbidden {
			t.Errorf("POST %s with the token in the address is answered %d", f.path, p.status)
		}
		values := fields()
		values.Set("csrf_token", token)
		who.headers = map[string]string{"Origin": "https://evil.example"}
		if p := who.do(http.MethodPost, f.path, values); p.status != http.StatusForbidden {
			t.Errorf("POST %s from elsewhere is answered %d", f.path, p.status)
		}
	}
	if after := d.trail(); after != before {
		t.Errorf("%d events were recorded", after-before)
	}
}

// Every address that takes a form, also one added tomorrow.
func TestEveryAddressThatTakesAFormNeedsItsToken(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	who := d.signedIn("adam")
	seen := 0
	for _, route := range d.app.GetRoutes(true) {
		// Signing in sends who is signed in already on, and does nothing.
		if route.Method != http.MethodPost || route.Path == "/login" || route.Path == "/login/second" {
			continue
		}
		seen++
		path := strings.NewReplacer(":id", "x", ":queue", "ap").Replace(route.Path)
		if p := who.do(http.MethodPost, path, fields()); p.status != http.StatusForbidden {
			t.Errorf("POST %s without a token is answered %d", route.Path, p.status)
		}
	}
	if seen < 40 {
		t.Errorf("only %d addresses take a form", seen)
	}
}

func TestAStrangersFormLeadsToTheSignInPage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	forms := posts(d)
	before := d.trail()
	for _, f := range forms {
		p := d.stranger().do(http.MethodPost, f.path, fields())
		// Words they wrote are kept in sight on the sign-in page itself.
		login := p.doc.Find("[data-testid=login-form]")
		if p.status != http.StatusUnauthorized || login.Length() != 1 {
			t.Errorf("POST %s of a stranger is answered %d to %q", f.path, p.status, p.location)
		}
		if next := login.Find("input[name=next]").AttrOr("value", ""); strings.HasSuffix(next, "/claim") {
			t.Errorf("POST %s leads back to %q, which is no page", f.path, next)
		}
	}
	if after := d.trail(); after != before {
		t.Errorf("%d events were recorded", after-before)
	}
}

func TestLookingAtAFormsAddressChangesNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	forms := posts(d)
	before := d.trail()
	for _, f := range forms {
		who := d.signedIn(f.who)
		token := who.get("/").doc.Find("input[name=csrf_token]").AttrOr("value", "")
		values := fields()
		values.Set("csrf_token", token)
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			who.do(method, f.path+"?"+values.Encode(), nil)
		}
		if p := who.do(http.MethodGet, "/", nil); p.status != http.StatusOK {
			t.Errorf("after looking at %s the desk answers %d", f.path, p.status)
		}
	}
	if after := d.trail(); after != before {
		t.Errorf("%d events were recorded", after-before)
	}
}

func TestEveryPageIsReachedFromTheDeskByLinks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	request := d.ask(d.robot(), approvalFor("500.00"))
	hold := d.hold(d.robot(), holdText)
	for _, name := range []string{"anna", "lars", "petra", "fiona", "mona", "audra", "adam"} {
		who := d.signedIn(name)
		seen := map[string]bool{}
		todo := []string{"/"}
		for len(todo) > 0 {
			path := todo[0]
			todo = todo[1:]
			if seen[path] {
				continue
			}
			seen[path] = true
			p := who.get(path)
			if !strings.HasPrefix(p.header.Get("Content-Type"), "text/html") {
				continue // a file to take along, no page
			}
			p.doc.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
				href := a.AttrOr("href", "")
				if strings.HasPrefix(href, "/") && !strings.HasPrefix(href, "/static/") {
					todo = append(todo, href)
				}
			})
			p.doc.Find("form[method=post]").Each(func(_ int, f *goquery.Selection) {
				if f.Find("input[name=csrf_token]").AttrOr("value", "") == "" {
					t.Errorf("a form of %s lacks its token", path)
				}
			})
			if p.doc.Find("main h1").Length() != 1 {
				t.Errorf("%s has %d main headings", path, p.doc.Find("main h1").Length())
			}
			ids := map[string]int{}
			p.doc.Find("[id]").Each(func(_ int, s *goquery.Selection) { ids[s.AttrOr("id", "")]++ })
			for id, n := range ids {
				if n > 1 {
					t.Errorf("%s has the id %q %d times", path, id, n)
				}
			}
		}
		for _, want := range []string{"/cases/" + id, "/approvals/" + request, "/holds/" + hold, "/settings", "/settings/rules", "/queues/ap", "/queues/ap_lead", "/queues/finance", "/queues/master_data"} {
			if !seen[want] {
				t.Errorf("%s finds no way to %s", name, want)
			}
		}
	}
}

func TestAnUnknownAddressIsAPageToo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	anna := d.signedIn("anna")
	for _, path := range []string{"/queues/nothing", "/holds/nothing", "/approvals/nothing", "/settings?workspace_id=nothing"} {
		p := anna.do(http.MethodGet, path, nil)
		if p.status != http.StatusNotFound && p.status != http.StatusForbidden {
			t.Errorf("%s is answered %d", path, p.status)
		}
		if !p.has("problem") || !p.has("signed-in-as") {
			t.Errorf("%s is answered without a page", path)
		}
	}
}

func TestAPersonWithoutAWorkspaceIsToldSo(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	anna := d.signedIn("anna")
	d.tx(models.Operator(company), func(tx *models.Tx) error {
		return tx.DB.Model(&models.Membership{}).Where("user_id = ?", d.users["anna"].ID).Update("active", false).Error
	})
	p := anna.do(http.MethodGet, "/", nil)
	if p.status != http.StatusForbidden || !strings.Contains(p.testID("problem"), "no active member") {
		t.Errorf("answered %d: %s", p.status, p.testID("problem"))
	}
}

func TestAPersonWithOnlyAnAgentsRoleSeesWhatTheyFiled(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.person(company, "ada", models.RoleAgent)
	d.handOver(d.robot(), poClosed)
	ada := d.signedIn("ada")
	for _, path := range []string{"/", "/approvals", "/approvals?tab=open", "/queues/procurement", "/holds"} {
		if p := ada.get(path); strings.Contains(p.raw, "INV-778") {
			t.Errorf("%s shows what another account filed", path)
		}
	}
}

func TestASessionEnds(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	anna := d.signedIn("anna")
	d.clock.Advance(models.SessionIdle + time.Minute)
	if p := anna.do(http.MethodGet, "/", nil); p.status != http.StatusSeeOther {
		t.Errorf("an idle session is answered %d", p.status)
	}
}

func TestSwitchingTheWorkspace(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.person(other, "petra", models.RoleProcurement)
	petra := d.signedIn("petra")
	after := petra.follow(petra.send(petra.get("/"), "workspace-switcher", one("workspace_id", other)))
	if got := after.doc.Find("select[name=workspace_id] option[selected]").AttrOr("value", ""); got != other {
		t.Errorf("the desk shows workspace %s", got)
	}
	if p := petra.send(after, "workspace-switcher", one("workspace_id", "3000")); p.status != http.StatusForbidden {
		t.Errorf("a workspace out of reach is answered %d", p.status)
	}
}

// Whoever writes for long may send after the session has ended: the words are shown again, the decision
// is not taken, and another site cannot put its words there.
func TestWhatIsSentAfterTheSessionEndedIsKeptInSight(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	v := d.stranger()
	before := d.trail()
	const words = "The buyer confirmed <b>the rest</b> of the delivery."
	form := url.Values{"exit": {"reopen_po"}, "reason": {words}, "input.po_id": {"4500018822"}, "version": {"1"}, "csrf_token": {"old"}}
	p := v.do(http.MethodPost, "/cases/case_1/decision", form)
	kept := p.doc.Find("[data-testid=typed-kept]").Text()
	if p.status != http.StatusUnauthorized || !strings.Contains(kept, words) || !strings.Contains(kept, "4500018822") {
		t.Errorf("%d, kept %q", p.status, kept)
	}
	if next := p.doc.Find("[data-testid=login-form] input[name=next]").AttrOr("value", ""); next != "/cases/case_1" {
		t.Errorf("after signing in they come to %q", next)
	}
	v.headers = map[string]string{"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
	if p := v.do(http.MethodPost, "/cases/case_1/decision", form); p.status != http.StatusSeeOther || strings.Contains(p.doc.Text(), "buyer") {
		t.Errorf("another site's words: %d %q", p.status, p.doc.Text())
	}
	v.headers = nil
	if p := v.do(http.MethodPost, "/cases/case_1/claim", url.Values{"version": {"1"}}); p.status != http.StatusSeeOther {
		t.Errorf("with nothing written: %d", p.status)
	}
	if after := d.trail(); after != before {
		t.Errorf("%d events came of it", after-before)
	}
}
