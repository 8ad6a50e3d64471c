package pages

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views/ui"
)

func TestLocalPathStaysOnTheDesk(t *testing.T) {
	t.Parallel()
	for next, want := range map[string]string{
		"/cases/case_1":                       "/cases/case_1",
		"/queues/ap?state=held&cursor=a%2Fb":  "/queues/ap?state=held&cursor=a%2Fb",
		"/cases/case_1#decision":              "/cases/case_1",
		"/":                                   "/",
		"":                                    "",
		"cases":                               "",
		"//evil.example/x":                    "",
		"///evil.example/x":                   "",
		`/\evil.example`:                      "",
		"/\\/evil.example":                    "",
		"/\tevil":                             "",
		"/x\r\nSet-Cookie: a=b":               "",
		"https://evil.example":                "",
		"javascript:alert(1)":                 "",
		"/%2F/evil.example":                   "",
		"/login":                              "",
		"/login?next=/login":                  "",
		"/logout":                             "",
		"/live?topic=home":                    "",
		"/api/v1/cases":                       "",
		"/approvals/areq_1?x=//evil.example/": "/approvals/areq_1?x=//evil.example/",
	} {
		if got := localPath(next); got != want {
			t.Errorf("localPath(%q) is %q, want %q", next, got, want)
		}
	}
}

func TestPageBehindAForm(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/cases/case_1/claim": "/cases/case_1", "/approvals/areq_1/vote": "/approvals/areq_1", "/settings/period": "/settings",
		"/settings/rules/rule_1/retire": "/settings/rules", "/workspace": "/", "/logout": "/", "/": "/", "/cases": "/",
	} {
		if got := pageBehind(path); got != want {
			t.Errorf("pageBehind(%q) is %q, want %q", path, got, want)
		}
	}
}

func TestFiguresKeepEveryDigit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ amount, currency, want string }{
		{"1234.50", "EUR", "1,234.50"}, {"1234.5", "EUR", "1,234.50"}, {"-250.00", "EUR", "-250.00"}, {"88000", "JPY", "88,000"}, {"88.125", "KWD", "88.125"},
		{"123456789012345678.90", "EUR", "123,456,789,012,345,678.90"}, {"0", "USD", "0.00"}, {"1234.567", "EUR", "1,234.567"}, {"<b>", "EUR", "<b>"}, {"12", "none", "12"},
	} {
		if got := (words{}).figures(c.amount, c.currency); got != c.want {
			t.Errorf("%s %s is shown as %q, want %q", c.amount, c.currency, got, c.want)
		}
	}
}

func TestMomentsAreToldInTheWorkspacesZone(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 10, 5, 22, 30, 0, 0, time.UTC) // the 6th in Berlin
	w := words{now: now, zone: berlin}
	if got := w.today().String(); got != "2026-10-06" {
		t.Errorf("today is %s", got)
	}
	if got := w.clock(models.At(now.Add(time.Hour))); got != "01:30" {
		t.Errorf("an hour later is %s", got)
	}
	if got := w.clock(models.At(now.Add(-time.Hour))); got != "5 Oct 2026, 23:30" {
		t.Errorf("an hour ago is %s", got)
	}
	if got := w.due(models.At(now.Add(3*time.Hour + time.Minute))).Text; got != "due in 3 h" {
		t.Errorf("due reads %q", got)
	}
	if got := w.expires(models.At(now.Add(-2 * time.Hour))).Text; got != "expired 2 h ago" {
		t.Errorf("expires reads %q", got)
	}
	if !w.at(models.Time{}).Zero() || !w.due(models.Time{}).Zero() || !w.expires(models.Time{}).Zero() {
		t.Error("no time is shown as one")
	}
}

func TestEvidenceOfAnyShapeIsShown(t *testing.T) {
	t.Parallel()
	r := reader{words: words{now: time.Now(), zone: time.UTC}}
	for _, raw := range []string{`{"kind":"record","data":[1,{"a":null}]}`, `{"kind":"comparison","left":1,"right":null}`, `{"kind":"comparison"}`,
		`{"kind":"table","columns":["a"],"rows":[[1,2],[]]}`, `{"kind":"table","columns":"a"}`, `{"kind":"link","url":"javascript:alert(1)"}`, `{"kind":"other"}`, `5`, `null`, `"text"`} {
		for _, e := range r.evidence([]json.RawMessage{json.RawMessage(raw)}) {
			if e.Link != nil && !strings.HasPrefix(e.Link.URL, "https://") {
				t.Errorf("%s becomes a link to %s", raw, e.Link.URL)
			}
		}
	}
}

func TestNumbersAndTheOrderOfNamesStayAsTheyWereSent(t *testing.T) {
	t.Parallel()
	r := reader{bankData: true}
	v, _ := r.value(json.RawMessage(`{"z": 12345678901234567890, "a": 0.10, "m": {"y": 1e400, "b": "2"}}`))
	if v.Fields[0].Key != "z" || v.Fields[1].Key != "a" || v.Fields[2].Value.Fields[0].Key != "y" {
		t.Errorf("the names are in another order: %+v", v.Fields)
	}
	if v.Fields[0].Value.Text != "12345678901234567890" || v.Fields[1].Value.Text != "0.10" || v.Fields[2].Value.Fields[0].Value.Text != "1e400" {
		t.Errorf("a number lost its digits: %+v", v.Fields)
	}
}

func TestComparedNumbers(t *testing.T) {
	t.Parallel()
	left, _ := ui.FromJSON([]byte(`{"number": "INV-001", "amount": "250.0", "po": "0042"}`))
	right, _ := ui.FromJSON([]byte(`{"number": "inv 1", "amount": "250.00", "po": "42"}`))
	got := map[ui.Foreign]ui.Difference{}
	for _, row := range (words{}).compare(left, right) {
		got[row.Key] = row.Difference
	}
	for key, want := range map[ui.Foreign]ui.Difference{"number": ui.Differs, "number (normalised)": ui.Same, "amount": ui.Same, "po": ui.Differs} {
		if got[key] != want {
			t.Errorf("%s is %s, want %s", key, got[key], want)
		}
	}
}

func TestTimeLeftIsRoundedToTheNearestUnit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 5, 9, 0, 0, 0, time.UTC)
	w := words{now: now, zone: time.UTC}
	for left, want := range map[time.Duration]string{
		7*24*time.Hour - time.Millisecond: "expires in 7 days", 2*24*time.Hour + 14*time.Hour: "expires in 3 days", 26 * time.Hour: "expires in 26 h",
		47*time.Hour + 45*time.Minute: "expires in 2 days", 90*time.Minute - time.Second: "expires in 1 h", 59*time.Minute + 50*time.Second: "expires in 1 h",
		119 * time.Second: "expires in 2 min", 20 * time.Second: "expires now", -3 * time.Hour: "expired 3 h ago",
	} {
		if got := w.expires(models.At(now.Add(left))).Text; got != want {
			t.Errorf("%s: %q, want %q", left, got, want)
		}
	}
}

func TestAnApprovalNobodyCanUseIsNotShownAsOne(t *testing.T) {
	t.Parallel()
	for approval, want := range map[models.ApprovalStatus]string{"": "Approved", models.ApprovalGranted: "Approved", models.ApprovalRedeemed: "Approved",
		models.ApprovalExpired: "Approved, expired unused", models.ApprovalRevoked: "Approval revoked"} {
		if b := (words{}).standBadge(models.RequestApproved, approval); b.Text != want || (b.Tone == ui.ToneGood) != (want == "Approved") {
			t.Errorf("%s: %+v", approval, b)
		}
	}
}

func TestAReasonNamesTheExitAndNoCode(t *testing.T) {
	t.Parallel()
	for kept, want := range map[string]string{
		"superseded: Carl Clerk decided reject_invoice on case case_01m8abc": "Carl Clerk chose “Reject the invoice” on a case of the same invoice",
		"Wrong supplier.": "Wrong supplier.",
	} {
		if got := (words{}).kept(kept); got != want {
			t.Errorf("%q reads %q, want %q", kept, got, want)
		}
	}
}

func TestAnAnswerIsToldInWords(t *testing.T) {
	t.Parallel()
	told := words{}.noticeWords("case.answered", noticeData{By: "Invoice agent", Number: "INV-1"})
	if told.text != "Invoice agent answered your question about invoice INV-1." {
		t.Errorf("%q", told.text)
	}
}

func TestTheTrailTellsHowARequestFoundWhoDecidesIt(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"rule":"rule_1","rule_version":1,"required":1}`:                                                                   "routed the request by the matrix",
		`{"rule":"rule_1","rule_version":1,"required":1,"named_name":"Fiona","limit_rule":"rule_1","limit_rule_version":1}`: "named Fiona to decide this item",
		`{"rule":"rule_1","rule_version":1,"required":1,"again":true,"why":"They are back."}`:                               "sent the request back to those who may decide it",
	} {
		line := reader{words: words{now: time.Date(2026, 10, 5, 9, 0, 0, 0, time.UTC), zone: time.UTC}}.timeline([]models.AuditEvent{{Action: "request.routed", ActorName: "apdesk", Data: data}}, nil, nil)
		if len(line) != 1 || line[0].What != want {
			t.Errorf("%s reads %+v", data, line)
		}
	}
}
