package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func (v *visitor) search(typed string) page {
	v.t.Helper()
	return v.get("/search?" + url.Values{"q": {typed}}.Encode())
}

func (p page) hits() []string {
	var out []string
	p.doc.Find("[data-testid=search-hit]").Each(func(_ int, s *goquery.Selection) { out = append(out, s.AttrOr("data-kind", "")) })
	return out
}

func TestPeopleSearchFromAnyPage(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		t.Parallel()
		d := newDeskOn(t, store, clock)
		caseID := d.handOver(d.robot(), poClosed)
		request := d.ask(d.robot(), approvalFor("500.00"))
		anna, petra, audra := d.signedIn("anna"), d.signedIn("petra"), d.signedIn("audra")

		box := anna.get("/").doc.Find("form[role=search]")
		if box.AttrOr("action", "") != "/search" || box.AttrOr("method", "") != "get" || box.Find("label").AttrOr("for", "") != box.Find("input[name=q]").AttrOr("id", "-") {
			t.Errorf("the box on the desk is %s", box.Text())
		}
		p := anna.get("/search")
		if p.doc.Find("form[role=search]").Length() != 1 || !p.has("search-help") || p.has("search-hit") {
			t.Errorf("before anything is typed: %s", p.text("main"))
		}
		p = anna.search("inv 00778")
		if got := strings.Join(p.hits(), " "); got != "request invoice case" {
			t.Errorf("by the number: %s", got)
		}
		if title := p.text("title"); !strings.HasPrefix(title, "Search (3): inv 00778") {
			t.Errorf("the title is %q", title)
		}
		row := p.doc.Find("[data-kind=case]")
		for _, want := range []string{"Case", "Purchase order closed", "Open", "INV-778", "Nordwind GmbH", "1,234.50", "EUR", "Procurement"} {
			if !strings.Contains(row.Text(), want) {
				t.Errorf("the case's row lacks %q: %s", want, row.Text())
			}
		}
		if got := row.Find("mark").Text(); got != "INV-778" || row.Find("a").AttrOr("href", "") != "/cases/"+caseID {
			t.Errorf("marked is %q", got)
		}
		if got := strings.Join(anna.get("/search?q=nordwind&kind=case&state=open").hits(), " "); got != "case" {
			t.Errorf("narrowed: %s", got)
		}
		if p := anna.get("/search?q=nordwind&kind=case&state=held"); len(p.hits()) != 0 || !p.has("empty") || !p.has("state-held") {
			t.Errorf("no held case: %s", p.text("main"))
		}
		if p := anna.do(http.MethodGet, "/search?q="+strings.ToUpper(request), nil); p.status != http.StatusSeeOther || p.location != "/approvals/"+request {
			t.Errorf("an id leads to %d %q", p.status, p.location)
		}
		if got := strings.Join(audra.search("1.234,50").hits(), " "); !strings.Contains(got, "case") {
			t.Errorf("an auditor finds %s", got)
		}

		// What people write and decide is found, too, and the state follows.
		form := petra.get("/cases/" + caseID)
		if got := petra.send(form, "comment-form", one("text", "Called the warehouse <script>alert(1)</script>")); got.status != http.StatusSeeOther {
			t.Fatalf("the comment is answered %d", got.status)
		}
		p = anna.search("warehouse script")
		if got := strings.Join(p.hits(), " "); got != "comment" || strings.Contains(p.raw, "<script>alert") {
			t.Errorf("the comment: %s", got)
		}
		if p.doc.Find("mark").Length() < 2 {
			t.Errorf("nothing is marked in %s", p.text("main"))
		}
		none := anna.search("INV-0000779")
		none.wants(t, "empty", "Nothing was found")
		none.wants(t, "search-looked", "INV779")
		for _, secret := range []string{"DE811234567", "DE89370400440532013000", "de89 3704 0044 0532"} {
			if got := d.signedIn("mona").search(secret).hits(); len(got) > 0 {
				t.Errorf("%s finds %s", secret, got)
			}
		}

		// Hostile text does no harm and is no error; an approval id is neither found nor shown.
		for _, typed := range []string{`"><script>x</script>`, "' OR 1=1", "\x00", strings.Repeat("ü(\"", 90), "*", "a:b"} {
			p := anna.search(typed)
			if strings.Contains(p.raw, "<script>x") {
				t.Errorf("%.20q is run", typed)
			}
		}
		const key = "apr_01arz3ndektsv4rrffq69g5favabcdefghijklmnop"
		if p := anna.search("find " + key); len(p.hits()) > 0 || strings.Contains(p.raw, key) || strings.Contains(p.raw, "3ndek") {
			t.Errorf("an approval id: %s", p.text("main"))
		}
		if got := anna.do(http.MethodGet, "/search?q=nordwind&cursor=zzz", nil); got.status != http.StatusBadRequest {
			t.Errorf("a page that is none is answered %d", got.status)
		}

		// Another company finds nothing of it.
		if got := d.signedIn("yuki").search("nordwind").hits(); len(got) > 0 {
			t.Errorf("another company finds %s", got)
		}
		d.person(company, "ingo", models.RoleAgent)
		ingo := d.signedIn("ingo")
		if p := ingo.do(http.MethodGet, "/search?q=nordwind", nil); p.status != http.StatusForbidden || ingo.get("/").doc.Find("form[role=search]").Length() > 0 {
			t.Errorf("who only hands in is answered %d", p.status)
		}
	})
}
