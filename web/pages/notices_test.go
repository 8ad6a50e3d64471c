package pages_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
)

// tell puts a notice before people of a workspace.
func (d *desk) tell(ws string, kind models.NoticeKind, subject string, data map[string]any, names ...string) {
	d.t.Helper()
	var ids []string
	for _, name := range names {
		ids = append(ids, d.users[name].ID)
	}
	d.tx(models.System(ws), func(tx *models.Tx) error { return tx.Tell(kind, subject, data, ids...) })
	d.clock.Advance(time.Second)
}

func TestPeopleReadWhatTheyWereTold(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("500.00"))
	fiona := d.signedIn("fiona")
	start := fiona.get("/notices").doc.Find("[data-testid=notice-row]").Length()
	if err := d.store.ReadNotices(t.Context(), models.Principal{UserID: d.users["fiona"].ID, WorkspaceID: company}); err != nil {
		t.Fatal(err)
	}
	d.tell(company, "request.expiring", request, map[string]any{"amount": "500.00", "currency": "EUR", "invoice_number": "INV-778"}, "fiona", "felix")
	d.tell(company, "delegation.set", "deleg_1", map[string]any{"from": "Felix", "to": "Fiona", "first_day": "2026-10-06", "last_day": "2026-10-09"}, "fiona")
	d.tell(company, "something.new", "5105600999", nil, "fiona")

	p := fiona.get("/notices")
	rows := p.doc.Find("[data-testid=notice-row]")
	if rows.Length() != start+3 {
		t.Fatalf("%d notices are listed", rows.Length())
	}
	for i, want := range []string{"Something changed that concerns you.", "Felix is away from 6 Oct 2026 to 9 Oct 2026; Fiona decides in their place.", "expires soon: 500.00 EUR for invoice INV-778."} {
		if got := strings.Join(strings.Fields(rows.Eq(i).Text()), " "); !strings.Contains(got, want) || !strings.Contains(got, "New") {
			t.Errorf("notice %d reads %q", i, got)
		}
	}
	p.wants(t, "bell", "3 unread")
	for range 2 { // looking changes nothing
		fiona.get("/notices").wants(t, "bell", "3 unread")
		fiona.do(http.MethodHead, "/notices", nil)
		fiona.do(http.MethodGet, rows.Eq(2).Find("form").AttrOr("action", ""), nil)
	}

	action := rows.Eq(2).Find("form").AttrOr("action", "")
	token := p.doc.Find("input[name=csrf_token]").AttrOr("value", "")
	if got := fiona.do(http.MethodPost, action, one()); got.status != http.StatusForbidden {
		t.Errorf("without its token the form is answered %d", got.status)
	}
	if got := fiona.do(http.MethodPost, action, one("csrf_token", token, "workspace", company)); got.status != http.StatusSeeOther || got.location != "/approvals/"+request {
		t.Errorf("following a notice is answered %d to %q", got.status, got.location)
	}
	fiona.get("/").wants(t, "bell", "2 unread")
	d.tell(company, "fraud.suspected", request, map[string]any{"by": "Mona"}, "fiona") // after she looked
	if got := fiona.press(p, "read-all"); got.status != http.StatusSeeOther || got.location != "/notices" {
		t.Errorf("marking all is answered %d to %q", got.status, got.location)
	}
	p = fiona.get("/notices")
	p.wants(t, "bell", "1 unread")
	if got := p.doc.Find("[data-testid=notice-row]").First().Text(); !strings.Contains(got, "Mona suspects fraud") || !strings.Contains(got, "New") {
		t.Errorf("what came after she looked reads %q", got)
	}
}

func TestNobodySeesWhatAnotherWasTold(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.person(other, "fiona", models.RoleFinanceLead)
	request := d.ask(d.robot(), approvalFor("500.00"))
	d.tell(company, "fraud.suspected", request, map[string]any{"by": "Mona"}, "fiona")
	d.tell(other, "fraud.suspected", "case_other", map[string]any{"by": "Yuki"}, "fiona")
	fiona, felix := d.signedIn("fiona"), d.signedIn("felix")
	here, there := fiona.get("/notices?workspace_id="+company), fiona.get("/notices?workspace_id="+other)
	if strings.Contains(here.raw, "Yuki") || !strings.Contains(here.raw, "Mona suspects") || strings.Contains(there.raw, "Mona suspects") || !strings.Contains(there.raw, "Yuki") {
		t.Error("notices of one workspace stand in another's list")
	}
	theirs := felix.get("/notices")
	if strings.Contains(theirs.raw, "Mona suspects") {
		t.Error("another person's notice is listed")
	}
	form := here.doc.Find("[data-testid=notice-row]").FilterFunction(func(_ int, s *goquery.Selection) bool { return strings.Contains(s.Text(), "Mona") }).Find("form")
	action := form.AttrOr("action", "")
	token := theirs.doc.Find("input[name=csrf_token]").AttrOr("value", "")
	if p := felix.do(http.MethodPost, action, one("csrf_token", token, "workspace", company)); p.status != http.StatusNotFound {
		t.Errorf("reading another person's notice is answered %d", p.status)
	}
	id := strings.Split(action, "/")[2]
	if p := felix.do(http.MethodPost, "/notices/read", one("csrf_token", token, "workspace", company, "newest", id)); p.status != http.StatusNotFound {
		t.Errorf("marking up to another person's notice is answered %d", p.status)
	}
	if p := felix.do(http.MethodPost, action, one("csrf_token", token, "workspace", other)); p.status == http.StatusSeeOther {
		t.Error("a person reads in a workspace out of reach")
	}
	if p := felix.do(http.MethodGet, "/notices?cursor="+id, nil); p.status != http.StatusNotFound {
		t.Errorf("listing from another person's notice is answered %d", p.status)
	}
	// Reading in the workspace the form was made in, while another one is shown.
	token = there.doc.Find("input[name=csrf_token]").AttrOr("value", "")
	act := there.doc.Find("[data-testid=notice-row] form").AttrOr("action", "")
	if p := fiona.do(http.MethodPost, act, one("csrf_token", token, "workspace", other)); p.status != http.StatusSeeOther {
		t.Errorf("a notice of the other workspace is answered %d", p.status)
	}
	fiona.get("/notices?workspace_id="+other).wants(t, "bell", "all read")
}

func TestManyNoticesAreTurnedPageByPage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for range 120 {
		d.tell(company, "case.returned", "case_x", nil, "anna")
	}
	anna := d.signedIn("anna")
	anna.get("/").wants(t, "bell", "more than 99 unread")
	told := 0
	for path, pages := "/notices", 0; path != ""; pages++ {
		p := anna.get(path)
		told += p.doc.Find("[data-testid=notice-row]").Length()
		path = p.doc.Find("[data-testid=pager-next]").AttrOr("href", "")
		if pages > 5 {
			t.Fatal("the list does not end")
		}
	}
	if told != 120 {
		t.Errorf("%d notices are listed", told)
	}
	empty := d.signedIn("audra").get("/notices")
	empty.wants(t, "empty", "You were told nothing yet")
	empty.wants(t, "bell", "all read")
}
