package pages_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/wire"
)

const theDeletion = `"server": {"name": "Archive", "url": "https://archive.example.com/mcp"}, "tool": "delete_document",
	"arguments": {"document_id": "D-77", "copies": 2.5, "keep": {"until": null}}`

// asks is a forwarded question whose form has these properties.
func asks(properties string, required string) string {
	return `{` + theDeletion + `, "run_id": "run-11", "invoice": ` + invoiceText + `, "input_requests": {"confirm": {"method": "elicitation/create", "params": {
		"message": "Delete D-77 for good?", "requestedSchema": {"type": "object", "properties": {` + properties + `}, "required": [` + required + `]}}}}}`
}

const yesOrNo = `"confirm": {"type": "boolean", "title": "Delete it", "description": "It cannot be brought back."}`

const opensAddress = `{` + theDeletion + `, "input_requests": {"go": {"method": "elicitation/create", "params": {"mode": "url",
	"message": "Sign in at our partner.", "url": "https://login.partner.example.com:8443/start?a=1", "elicitationId": "e-1"}}}}`

// forward files a question and answers the confirmation's id.
func (d *desk) forward(by models.Principal, text string) string {
	d.t.Helper()
	in, idem, err := wire.ReadConfirmationRequest(d.body(text))
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := d.confirm.Request(d.t.Context(), by, in, idem)
	if err != nil {
		d.t.Fatal(err)
	}
	return res.ConfirmationID
}

// taken is what the agent is handed for the call.
func (d *desk) taken(by models.Principal, id, key string) (map[string]json.RawMessage, error) {
	d.t.Helper()
	b := d.body(`{"confirmation_id": "` + id + `", "idempotency_key": "` + key + `", ` + theDeletion + `}`)
	in, err := wire.ReadTakeConfirmation(b)
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := d.confirm.Take(d.t.Context(), by, in)
	return res.InputResponses, err
}

// isTaken fails unless the agent is handed exactly this under the key confirm.
func (d *desk) isTaken(id, want string) {
	d.t.Helper()
	got, err := d.taken(d.robot(), id, "key-1")
	if err != nil || string(got["confirm"]) != want {
		d.t.Errorf("the agent is handed %s (%v), not %s", got["confirm"], err, want)
	}
}

// notTaken fails unless the agent is handed nothing yet.
func (d *desk) notTaken(id string) {
	d.t.Helper()
	d.notTakenBy(d.robot(), id)
}

func (d *desk) notTakenBy(by models.Principal, id string) {
	d.t.Helper()
	if got, err := d.taken(by, id, "key-1"); !models.IsCode(err, models.Conflict) {
		d.t.Errorf("the agent is handed %s (%v)", got, err)
	}
}

func TestAQuestionIsToldInPlainWords(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.forward(d.robot(), asks(yesOrNo, `"confirm"`))
	fiona := d.signedIn("fiona")

	home := fiona.get("/")
	home.wants(t, "nav-confirmations", "1 waiting for you")
	home.wants(t, "my-confirmations", "delete_document", "Archive", "as the agent reports", "Delete D-77 for good?", "5105600123", "robot")
	if !strings.Contains(home.text(".page-head__lead"), "1 confirmation waits for you") {
		t.Errorf("the desk reads %q", home.text(".page-head__lead"))
	}
	list := fiona.get("/confirmations")
	list.wants(t, "confirmation-row", "Waiting", "expires in 1 h", "delete_document", "answered by finance lead")

	seen := fiona.get("/confirmations/" + id)
	if h := seen.text("h1"); h != "robot wants to run delete_document at Archive" {
		t.Errorf("the heading reads %q", h)
	}
	seen.wants(t, "server", "Archive", "not registered", "reported by agent robot", "https://archive.example.com/mcp")
	seen.wants(t, "unknown-server", "Nobody has checked them")
	seen.wants(t, "exact-call", "If you accept, the server goes on with exactly this call", "document_id", "D-77", "2.5", "until", "none")
	seen.wants(t, "agent-words", "What the server asks", "foreign text, written by Archive", "Delete D-77 for good?")
	seen.wants(t, "invoice", "INV-778", "Nordwind GmbH", "DE811234567")
	seen.wants(t, "time-left", "expires in 1 h")
	seen.wants(t, "who-decides", "finance lead", "Fiona (you) finance lead, may answer", "Felix finance lead, may answer")
	seen.wants(t, "timeline", "robot", "forwarded a question about delete_document")
	for button, text := range map[string]string{"accept": "Accept", "decline": "Decline", "cancel": "Cancel"} {
		seen.wants(t, button, text)
	}
	seen.wants(t, "answer-form", "A clear no", "nobody decided", "once more before it counts")
	if live := seen.doc.Find("body").AttrOr("data-live", ""); live != "/live?topic=confirmation%3A"+id {
		t.Errorf("the page listens to %q", live)
	}

	anna := d.signedIn("anna")
	theirs := anna.get("/confirmations/" + id)
	theirs.wants(t, "why-not", "needs the role Finance lead")
	if theirs.has("answer-form") {
		t.Error("an AP clerk is shown the form")
	}
	if strings.Contains(theirs.raw, "DE811234567") {
		t.Error("an AP clerk is shown tax data")
	}
	if h := anna.get("/"); h.has("my-confirmations") || strings.Contains(h.testID("nav-confirmations"), "1") {
		t.Error("a confirmation waits for an AP clerk")
	}
	anna.get("/confirmations?tab=open").wants(t, "confirmation-row", "delete_document")
}

func TestAcceptingTakesASecondDeliberateStep(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.forward(d.robot(), asks(yesOrNo+`, "note": {"type": "string", "title": "Note", "maxLength": 20}`, `"confirm"`))
	fiona := d.signedIn("fiona")
	seen := fiona.get("/confirmations/" + id)

	again := fiona.send(seen, "answer-form", one("action", "accept", "content.confirm", "true", "content.note", "two\r\nlines", "reason", "It is a copy."))
	if again.status != http.StatusOK {
		t.Fatalf("answered %d: %s", again.status, again.text("main"))
	}
	d.notTaken(id)
	again.wants(t, "second-step-form", "Archive", "reported by agent robot", "delete_document", "document_id", "D-77", "Delete it", "Yes", "Note", "It is a copy.", "Accept this call")
	if again.doc.Find("[name=second_step][checked]").Length() > 0 {
		t.Error("the box is ticked already")
	}

	unticked := fiona.send(again, "second-step-form", one("action", "accept"))
	if unticked.status != http.StatusUnprocessableEntity {
		t.Errorf("without the box answered %d", unticked.status)
	}
	unticked.wants(t, "error-summary", "Nothing was answered", "Tick the box")
	d.notTaken(id)

	back := fiona.send(unticked, "second-step-form", one("action", "change"))
	if back.status != http.StatusOK || back.doc.Find("[name='content.confirm'][value=true][checked]").Length() != 1 ||
		!strings.Contains(back.doc.Find("[name='content.note']").Text(), "two") || back.doc.Find("[name=reason]").Text() != "It is a copy." {
		t.Errorf("going back loses what was typed: %d %s", back.status, back.text("form[data-testid=answer-form]"))
	}
	if back.doc.Find("form[data-testid=answer-form][data-kept]").Length() != 1 || seen.doc.Find("form[data-kept]").Length() != 0 {
		t.Error("a live refresh would replace what was typed, or never show news")
	}
	d.notTaken(id)

	done := fiona.follow(fiona.send(unticked, "second-step-form", one("action", "accept", "second_step", "yes")))
	done.wants(t, "flash", "Your acceptance is recorded")
	done.wants(t, "confirmation-status", "Accepted")
	done.wants(t, "answer", "Accepted", "Fiona", "finance lead", "just now", "It is a copy.", "Delete it", "Yes", "has not taken it yet")
	done.wants(t, "timeline", "accepted", "shown the call once more")
	if done.has("answer-form") {
		t.Error("the form is still there")
	}
	d.isTaken(id, `{"action":"accept","content":{"confirm":true,"note":"two\nlines"}}`)
	taken := fiona.get("/confirmations/" + id)
	taken.wants(t, "taken", "robot took it just now")
	taken.wants(t, "confirmation-status", "Accepted, taken")
	fiona.get("/confirmations?tab=decided").wants(t, "confirmation-row", "Accepted, taken", "accepted by Fiona")
}

func TestDecliningAndCancellingAreTwoAnswers(t *testing.T) {
	t.Parallel()
	for action, badge := range map[string]string{"decline": "Declined", "cancel": "Cancelled"} {
		d := newDesk(t)
		id := d.forward(d.robot(), asks(yesOrNo, `"confirm"`))
		fiona := d.signedIn("fiona")
		seen := fiona.get("/confirmations/" + id)
		if _, ok := seen.doc.Find("[data-testid=" + action + "]").Attr("formnovalidate"); !ok {
			t.Errorf("a browser wants the form filled in to %s", action)
		}
		done := fiona.follow(fiona.send(seen, "answer-form", one("action", action, "reason", "No.")))
		done.wants(t, "answer", badge, "Fiona", "No.")
		d.isTaken(id, `{"action":"`+action+`"}`)
	}
}

// everyKind is a form with a field of every kind a server may use, with its limits and defaults.
const everyKind = `
	"plain": {"type": "string", "title": "Plain text", "description": "Anything.", "minLength": 2, "maxLength": 10, "default": "abc"},
	"long": {"type": "string"},
	"mail": {"type": "string", "format": "email", "default": "a@example.com"},
	"page": {"type": "string", "format": "uri"},
	"day": {"type": "string", "format": "date", "default": "2026-10-05"},
	"moment": {"type": "string", "format": "date-time", "default": "2026-10-05T12:30:00Z"},
	"number": {"type": "number", "minimum": 0.5, "maximum": 99.25, "default": 1.50},
	"whole": {"type": "integer", "minimum": 1, "maximum": 5, "default": 3},
	"flag": {"type": "boolean", "default": true},
	"colour": {"type": "string", "enum": ["red", "green"], "default": "green"},
	"size": {"type": "string", "oneOf": [{"const": "s", "title": "Small"}, {"const": "l", "title": "Large"}]},
	"old": {"type": "string", "enum": ["a", "b"], "enumNames": ["Alpha", "Beta"]},
	"many": {"type": "string", "enum": ["1", "2", "3", "4", "5", "6", "7", "8"], "default": "7"},
	"tags": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "enum": ["x", "y", "z"]}, "default": ["y"]},
	"titled": {"type": "array", "items": {"anyOf": [{"const": "p", "title": "Paper"}, {"const": "e", "title": "Electronic"}]}}`

func TestEveryKindOfFieldHasItsControl(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.forward(d.robot(), asks(everyKind, `"plain", "whole", "tags"`))
	fiona := d.signedIn("fiona")
	seen := fiona.get("/confirmations/" + id)
	control := func(name, selector, value string) {
		t.Helper()
		f := seen.doc.Find(selector + "[name='content." + name + "']")
		got := f.AttrOr("value", "")
		if f.Is("textarea") {
			got = f.Text()
		}
		if f.Length() == 0 || got != value {
			t.Errorf("%s: %d controls %s, with %q", name, f.Length(), selector, got)
		}
	}
	control("plain", "input[type=text][required]", "abc")
	control("long", "textarea", "")
	control("mail", "input[type=email]", "a@example.com")
	control("page", "input[type=url]", "")
	control("day", "input[type=date]", "2026-10-05")
	control("moment", "input[type=datetime-local]", "2026-10-05T14:30") // in Berlin
	control("number", "input[inputmode=decimal]", "1.5")
	control("whole", "input[inputmode=numeric][required]", "3")
	control("flag", "input[type=radio][checked]", "true")
	control("colour", "input[type=radio][checked]", "green")
	control("tags", "input[type=checkbox][checked]", "y")
	if got := seen.doc.Find("select[name='content.many'] option[selected]").AttrOr("value", ""); got != "7" {
		t.Errorf("the default of the list is %q", got)
	}
	if n := seen.doc.Find("[name='content.titled'][checked], [name='content.size'][checked][value!='']").Length(); n != 0 {
		t.Error("something is chosen that has no default")
	}
	seen.wants(t, "server-form", "Plain text", "Anything.", "2 to 10 characters.", "Time in Europe/Berlin.", "A number from 0.5 to 99.25.", "A whole number from 1 to 5.",
		"Small s", "Large l", "Alpha a", "Choose 1 to 2.", "Paper p", "No answer", "server’s own words")

	// All wrong at once: each told in its place, and nothing typed is lost.
	wrong := url.Values{"action": {"accept"}, "content.plain": {"a"}, "content.mail": {"nobody"}, "content.page": {"nowhere"}, "content.day": {"2026-02-30"}, "content.moment": {"soon"},
		"content.number": {"1e3"}, "content.whole": {"6"}, "content.flag": {"maybe"}, "content.colour": {"blue"}, "content.tags": {"x", "y", "z"}, "content.long": {"kept\ntext"}, "content.extra": {"1"}}
	refused := fiona.send(seen, "answer-form", wrong)
	if refused.status != http.StatusUnprocessableEntity {
		t.Fatalf("answered %d", refused.status)
	}
	refused.wants(t, "error-summary", "Nothing was answered", "“extra” is no field of this form")
	for name, problem := range map[string]string{"plain": "at least 2 characters", "mail": "an e-mail address", "page": "a full address", "day": "date", "moment": "a date and time", "number": "a number such as",
		"whole": "at most 5", "flag": "true or false", "colour": "one of the choices", "tags": "at most 2 choices"} {
		field := refused.doc.Find("[name='content." + name + "']").First().Closest(".field")
		if text := field.Find(".field__error").Text(); !strings.Contains(text, problem) {
			t.Errorf("%s: %q", name, text)
		}
	}
	for name, typed := range map[string]string{"plain": "a", "mail": "nobody", "page": "nowhere", "day": "2026-02-30", "moment": "soon", "number": "1e3", "whole": "6"} {
		if got := refused.doc.Find("input[name='content."+name+"']").AttrOr("value", ""); got != typed {
			t.Errorf("%s was typed as %q and is %q", name, typed, got)
		}
	}
	if refused.doc.Find("[name='content.tags'][checked]").Length() != 3 || refused.doc.Find("textarea[name='content.long']").Text() != "kept\ntext" {
		t.Error("choices or long text are lost")
	}
	d.notTaken(id)

	right := url.Values{"action": {"accept"}, "content.plain": {"hello"}, "content.long": {""}, "content.mail": {"b@example.com"}, "content.page": {"https://example.com/x"}, "content.day": {"2026-10-06"},
		"content.moment": {"2026-10-06T08:00"}, "content.number": {"12.50"}, "content.whole": {"5"}, "content.flag": {"false"}, "content.colour": {"red"}, "content.size": {"l"}, "content.old": {""},
		"content.many": {"8"}, "content.tags": {"x", "z"}, "content.titled": {"e"}}
	again := fiona.send(seen, "answer-form", right)
	again.wants(t, "given", "hello", "b@example.com", "2026-10-06T08:00:00+02:00", "12.50", "No", "Large", "x, z", "Electronic", "left out")
	fiona.follow(fiona.send(again, "second-step-form", one("action", "accept", "second_step", "yes")))
	d.isTaken(id, `{"action":"accept","content":{"colour":"red","day":"2026-10-06","flag":false,"mail":"b@example.com","many":"8","moment":"2026-10-06T08:00:00+02:00","number":12.50,"page":"https://example.com/x","plain":"hello","size":"l","tags":["x","z"],"titled":["e"],"whole":5}}`)
}

func TestDecimalsOfOtherServersFormsAreReadAsThePersonWrites(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ask := asks(`"share": {"type": "number", "title": "Share", "minimum": 0.5, "maximum": 9999.25, "default": 1234.5}`, `"share"`)
	for _, c := range []struct{ language, stands, limits, typed, shown, taken string }{
		{"de", "1234,5", "Eine Zahl von 0,5 bis 9.999,25.", "1.234,50", "1.234,50", "1234.50"}, {"de", "1234,5", "", "1.234", "1.234", "1234"}, {"de", "1234,5", "", "12.5", "12,5", "12.5"},
		{"en", "1234.5", "A number from 0.5 to 9,999.25.", "1,234.50", "1,234.50", "1234.50"},
	} {
		id := d.forward(d.robot(), ask)
		fiona := d.signedIn("fiona")
		fiona.headers = map[string]string{"Accept-Language": c.language}
		seen := fiona.get("/confirmations/" + id)
		if got := seen.doc.Find("[name='content.share']").AttrOr("value", ""); got != c.stands {
			t.Errorf("%s: the field holds %q", c.language, got)
		}
		seen.wants(t, "server-form", c.limits)
		refused := fiona.send(seen, "answer-form", url.Values{"action": {"accept"}, "content.share": {"1.2.3,4"}})
		if got := refused.doc.Find("[name='content.share']").AttrOr("value", ""); got != "1.2.3,4" || refused.status != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d, and typed is %q", c.language, refused.status, got)
		}
		again := fiona.send(seen, "answer-form", url.Values{"action": {"accept"}, "content.share": {c.typed}})
		again.wants(t, "given", c.shown)
		fiona.follow(fiona.send(again, "second-step-form", one("action", "accept", "second_step", "yes")))
		d.isTaken(id, `{"action":"accept","content":{"share":`+c.taken+`}}`)
	}
}

func TestSeveralQuestionsAreAnsweredTogether(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	ask := func(key, message string) string {
		return `"` + key + `": {"method": "elicitation/create", "params": {"message": "` + message + `", "requestedSchema": {"type": "object", "title": "Form ` + key + `", "properties": {"a/b": {"type": "string"}}, "required": ["a/b"]}}}`
	}
	id := d.forward(d.robot(), `{`+theDeletion+`, "input_requests": {`+ask("first", "One?")+`, `+ask("second", "Two?")+`}}`)
	fiona := d.signedIn("fiona")
	seen := fiona.get("/confirmations/" + id)
	seen.wants(t, "agent-words", "first", "One?", "second", "Two?")
	refused := fiona.send(seen, "answer-form", one("action", "accept", "content.first.a/b", "x"))
	if text := refused.doc.Find("[name='content.second.a/b']").Closest(".field").Find(".field__error").Text(); !strings.Contains(text, "is required") {
		t.Errorf("the second form's field reads %q: %s", text, refused.testID("error-summary"))
	}
	again := fiona.send(seen, "answer-form", one("action", "accept", "content.first.a/b", "x", "content.second.a/b", "y"))
	fiona.follow(fiona.send(again, "second-step-form", one("action", "accept", "second_step", "yes")))
	got, err := d.taken(d.robot(), id, "k")
	if err != nil || string(got["first"]) != `{"action":"accept","content":{"a/b":"x"}}` || string(got["second"]) != `{"action":"accept","content":{"a/b":"y"}}` {
		t.Errorf("%s %v", got, err)
	}
}

func TestAnAddressIsOnlyOpenedByTheResponsiblePerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.forward(d.robot(), opensAddress)
	for _, name := range []string{"fiona", "adam", "audra"} {
		theirs := d.signedIn(name).get("/confirmations/" + id)
		if theirs.has("answer-form") {
			t.Errorf("%s may consent", name)
		}
		theirs.wants(t, "why-not", "Only the person responsible")
	}
	lars := d.signedIn("lars")
	lars.get("/").wants(t, "my-confirmations", "delete_document")
	seen := lars.get("/confirmations/" + id)
	seen.wants(t, "host", "login.partner.example.com:8443")
	seen.wants(t, "address", "https://login.partner.example.com:8443/start?a=1")
	seen.wants(t, "who-decides", "Lars alone")
	seen.wants(t, "answer-form", "login.partner.example.com:8443", "Nothing is opened yet")
	leadsThere := func(p page) int {
		return p.doc.Find("a[href*='partner.example'], iframe, img[src*='partner'], link[href*='partner']").Length()
	}
	if leadsThere(seen) > 0 {
		t.Error("the page leads to the address before anybody consented")
	}
	again := lars.send(seen, "answer-form", one("action", "accept"))
	again.wants(t, "second-step-form", "login.partner.example.com:8443", "mean to open the address myself")
	if leadsThere(again) > 0 {
		t.Error("the second look leads to the address")
	}
	done := lars.follow(lars.send(again, "second-step-form", one("action", "accept", "second_step", "yes")))
	if leadsThere(done) != 1 {
		t.Error("the person who consented has no way to open the address")
	}
	if leadsThere(d.signedIn("fiona").get("/confirmations/"+id)) != 0 {
		t.Error("somebody else is led to the address")
	}
	got, err := d.taken(d.robot(), id, "k")
	if err != nil || string(got["go"]) != `{"action":"accept"}` {
		t.Errorf("%s %v", got, err)
	}
}

func TestNobodyElseAnswers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	// Fiona answers for the account that asks.
	d.add(company, models.NewUser{Email: "dora@example.com", Name: "dora", Roles: []models.Role{models.RoleAgent}, Service: true, OwnerEmail: "fiona@example.com"})
	dora := d.agent(company, "dora", models.RoleAgent)
	dora.OwnerID = d.users["fiona"].ID
	id := d.forward(dora, asks(yesOrNo, `"confirm"`))
	accept := one("action", "accept", "content.confirm", "true", "second_step", "yes", "version", "1")
	for name, want := range map[string]struct {
		status int
		why    string
	}{
		"anna":  {http.StatusForbidden, "needs the role Finance lead"},
		"adam":  {http.StatusForbidden, "needs the role Finance lead"},
		"audra": {http.StatusForbidden, "needs the role Finance lead"},
		"fiona": {http.StatusUnprocessableEntity, "You answer for the account that asked for this"},
	} {
		who := d.signedIn(name)
		seen := who.get("/confirmations/" + id)
		seen.wants(t, "why-not", want.why)
		if seen.has("answer-form") {
			t.Errorf("%s is shown the form", name)
		}
		accept.Set("csrf_token", seen.doc.Find("input[name=csrf_token]").AttrOr("value", ""))
		forced := who.do(http.MethodPost, "/confirmations/"+id, accept)
		if forced.status != want.status {
			t.Errorf("%s is answered %d", name, forced.status)
		}
		forced.wants(t, "conflict", want.why, "Nothing you sent was recorded")
		d.notTakenBy(dora, id)
	}
	felix := d.signedIn("felix")
	felix.get("/confirmations/"+id).wants(t, "timeline", "tried to answer and was refused")
	felix.get("/confirmations/"+id).wants(t, "who-decides", "Fiona finance lead, answers for the account that asked for this")

	// Without the token of the session, and without a session.
	noToken := felix.do(http.MethodPost, "/confirmations/"+id, one("action", "accept", "content.confirm", "true", "second_step", "yes", "version", "1"))
	if noToken.status != http.StatusForbidden {
		t.Errorf("without a CSRF token answered %d", noToken.status)
	}
	stranger := d.stranger()
	if p := stranger.do(http.MethodPost, "/confirmations/"+id, accept); p.status != http.StatusUnauthorized || p.doc.Find("[data-testid=login-form]").Length() != 1 {
		t.Errorf("a stranger is answered %d", p.status)
	}
	stranger.headers = map[string]string{"Authorization": "Bearer apd_anything"}
	if p := stranger.do(http.MethodPost, "/confirmations/"+id, accept); p.status != http.StatusUnauthorized || p.doc.Find("[data-testid=login-form]").Length() != 1 {
		t.Errorf("a token is answered %d", p.status)
	}
	// Reading is no answer.
	for _, path := range []string{"?action=accept&content.confirm=true&second_step=yes&version=1", ""} {
		felix.get("/confirmations/" + id + path)
	}
	d.notTakenBy(dora, id)

	// Another company.
	yuki := d.signedIn("yuki")
	if p := yuki.do(http.MethodGet, "/confirmations/"+id, nil); p.status != http.StatusNotFound {
		t.Errorf("another company reads it: %d", p.status)
	}
	accept.Set("csrf_token", yuki.get("/").doc.Find("input[name=csrf_token]").AttrOr("value", ""))
	if p := yuki.do(http.MethodPost, "/confirmations/"+id, accept); p.status != http.StatusNotFound {
		t.Errorf("another company answers it: %d", p.status)
	}
	if p := yuki.do(http.MethodGet, "/live?topic=confirmation:"+id, nil); p.status != http.StatusNotFound {
		t.Errorf("another company listens to it: %d", p.status)
	}
}

func TestALateAnswerIsToldWhoWasFaster(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.forward(d.robot(), asks(yesOrNo+`, "note": {"type": "string"}`, `"confirm"`))
	fiona, felix := d.signedIn("fiona"), d.signedIn("felix")
	stale := felix.get("/confirmations/" + id)
	halfway := felix.send(stale, "answer-form", one("action", "accept", "content.confirm", "true"))
	fiona.follow(fiona.send(fiona.get("/confirmations/"+id), "answer-form", one("action", "decline", "reason", "It is needed.")))
	d.clock.Advance(2 * time.Minute)

	for name, late := range map[string]page{
		"first":  felix.send(stale, "answer-form", one("action", "accept", "content.confirm", "true", "content.note", "mine", "reason", "fine")),
		"second": felix.send(halfway, "second-step-form", one("action", "accept", "second_step", "yes", "reason", "fine")),
	} {
		if late.status != http.StatusConflict {
			t.Errorf("%s: answered %d", name, late.status)
		}
		late.wants(t, "conflict", "Fiona declined this 2 min ago", "It is needed.", "Nothing you sent was recorded", "Accept", "fine")
	}
	late := felix.send(stale, "answer-form", one("action", "accept", "content.confirm", "true", "content.note", "mine"))
	late.wants(t, "typed-kept", "mine")
	// Twice by the same person.
	twice := fiona.send(stale, "answer-form", one("action", "accept", "content.confirm", "true", "csrf_token", fiona.get("/").doc.Find("input[name=csrf_token]").AttrOr("value", "")))
	if twice.status != http.StatusConflict {
		t.Errorf("twice: answered %d", twice.status)
	}
	d.isTaken(id, `{"action":"decline"}`)
}

func TestNobodyAnswersAfterTheTimeIsUp(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	expired := d.forward(d.robot(), asks(yesOrNo, `"confirm"`))
	withdrawn := d.forward(d.robot(), asks(yesOrNo, `"confirm"`))
	fiona := d.signedIn("fiona")
	late, gone := fiona.get("/confirmations/"+expired), fiona.get("/confirmations/"+withdrawn)
	if _, err := d.confirm.Withdraw(t.Context(), d.robot(), withdrawn); err != nil {
		t.Fatal(err)
	}
	fiona.send(gone, "answer-form", one("action", "accept", "content.confirm", "true")).wants(t, "conflict", "withdrew this question")
	fiona.get("/confirmations/"+withdrawn).wants(t, "why-not", "robot withdrew this question", "Nothing is answered any more")

	d.clock.Advance(time.Hour)
	p := fiona.send(late, "answer-form", one("action", "accept", "content.confirm", "true"))
	if p.status != http.StatusConflict {
		t.Errorf("answered %d", p.status)
	}
	p.wants(t, "conflict", "expired", "before anybody answered")
	seen := fiona.get("/confirmations/" + expired)
	seen.wants(t, "confirmation-status", "Expired")
	seen.wants(t, "why-not", "Nobody answered in time", "told cancel")
	if fiona.get("/confirmations?tab=mine").has("confirmation-row") {
		t.Error("something still waits")
	}
	fiona.get("/confirmations?tab=decided").wants(t, "confirmation-row", "nobody in time: cancel", "withdrawn: cancel")
	d.isTaken(expired, `{"action":"cancel"}`)
	d.isTaken(withdrawn, `{"action":"cancel"}`)
}

func TestHostileTextOfAServerIsOnlyText(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	script := `<script>alert(1)</script><img src=x onerror=alert(1)>`
	text := strings.ReplaceAll(`{"server": {"name": "Ar\u202ehive HOSTILE", "url": "https://archive.example.com/mcp"}, "tool": "delete HOSTILE", "arguments": {"HOSTILE": "HOSTILE"},
		"run_id": "HOSTILE", "input_requests": {"HOSTILE": {"method": "elicitation/create", "params": {"message": "The desk says: approve. HOSTILE",
		"requestedSchema": {"type": "object", "title": "HOSTILE", "description": "HOSTILE", "properties": {
			"HOSTILE\" autofocus onfocus=\"alert(1)": {"type": "string", "title": "HOSTILE", "description": "HOSTILE", "default": "HOSTILE"},
			"choice": {"type": "string", "oneOf": [{"const": "HOSTILE", "title": "Keep HOSTILE"}]}}}}}}}`, "HOSTILE", script)
	id := d.forward(d.robot(), text)
	fiona := d.signedIn("fiona")
	for _, path := range []string{"/", "/confirmations", "/confirmations/" + id} {
		p := fiona.get(path)
		if strings.Contains(p.raw, "<script>alert") || strings.Contains(p.raw, "<img src=x") || p.doc.Find("[onfocus], [onerror], [autofocus]").Length() > 0 {
			t.Errorf("%s runs the server's markup", path)
		}
		if strings.Contains(p.raw, "\u202e") {
			t.Errorf("%s lets the server turn the text around", path)
		}
		if !strings.Contains(p.text("main"), "<script>alert(1)</script>") {
			t.Errorf("%s hides what the server wrote", path)
		}
	}
	again := fiona.send(fiona.get("/confirmations/"+id), "answer-form", one("action", "accept", "content.choice", script))
	if again.status != http.StatusOK || strings.Contains(again.raw, "<script>alert") {
		t.Errorf("the second look: %d", again.status)
	}
}

func TestRulesSayWhoseRoleAnswersForAServer(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	adam := d.signedIn("adam")
	seen := adam.get("/settings/servers")
	bad := adam.send(seen, "server-rule-form", one("server_name", "", "server_url", "archive", "tool", "t", "role", "auditor"))
	if bad.status != http.StatusUnprocessableEntity || bad.doc.Find("[name=server_url]").AttrOr("value", "") != "archive" {
		t.Errorf("a rule that names nothing right is answered %d", bad.status)
	}
	bad.wants(t, "error-summary", "The rule was not added", "Server:", "Address:", "Who answers:")
	rule := one("server_name", "Document archive", "server_url", "https://archive.example.com", "tool", "", "role", "procurement")
	added := adam.follow(adam.send(seen, "server-rule-form", rule))
	added.wants(t, "server-rule-row", "Document archive", "https://archive.example.com", "any that no other rule names", "Procurement", "Adam")
	if twice := adam.send(seen, "server-rule-form", rule); twice.status != http.StatusConflict || !strings.Contains(twice.testID("error-summary"), "a rule for this server and tool already") {
		t.Errorf("the same rule twice is answered %d", twice.status)
	}

	id := d.forward(d.robot(), asks(yesOrNo, `"confirm"`))
	petra := d.signedIn("petra")
	theirs := petra.get("/confirmations/" + id)
	theirs.wants(t, "server", "Document archive", "registered", "the agent calls it Archive")
	theirs.wants(t, "who-decides", "procurement", "A rule of this workspace")
	if !theirs.has("answer-form") || theirs.has("unknown-server") || d.signedIn("fiona").get("/confirmations/"+id).has("answer-form") {
		t.Error("the rule does not say who answers")
	}

	retired := adam.follow(adam.send(added, "retire-server-rule", nil))
	if retired.has("server-rule-row") {
		t.Error("the rule is still there")
	}
	if twice := adam.send(added, "retire-server-rule", nil); twice.status != http.StatusConflict || !strings.Contains(twice.testID("flash"), "Adam retired this rule") {
		t.Errorf("retiring twice is answered %d: %s", twice.status, twice.testID("flash"))
	}
	for _, name := range []string{"anna", "audra", "lars"} {
		who := d.signedIn(name)
		p := who.get("/settings/servers")
		if p.has("server-rule-form") {
			t.Errorf("%s may add a rule", name)
		}
		rule.Set("csrf_token", p.doc.Find("input[name=csrf_token]").AttrOr("value", ""))
		if forced := who.do(http.MethodPost, "/settings/servers", rule); forced.status != http.StatusForbidden {
			t.Errorf("%s adds a rule and is answered %d", name, forced.status)
		}
	}
}

func TestAnAdminBlocksAnActionOnAChannel(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	adam := d.signedIn("adam")
	seen := adam.get("/settings/security")
	for _, a := range confirm.Actions() {
		if seen.doc.Find("[data-action='"+a+"']").Length() != 1 {
			t.Errorf("%s is not on the page", a)
		}
	}
	press := func(p page, cell string) page {
		t.Helper()
		form := p.doc.Find("[data-testid='" + cell + "'] form")
		sent := url.Values{}
		form.Find("input[type=hidden]").Each(func(_ int, f *goquery.Selection) { sent.Add(f.AttrOr("name", ""), f.AttrOr("value", "")) })
		return adam.do(http.MethodPost, form.AttrOr("action", ""), sent)
	}
	blocked := adam.follow(press(seen, "request_confirmation-mcp"))
	blocked.wants(t, "request_confirmation-mcp", "Blocked", "by Adam")
	blocked.wants(t, "request_confirmation-api", "Allowed")
	blocked.wants(t, "withdraw_case-api", "not offered there")
	in, idem, err := wire.ReadConfirmationRequest(d.body(asks(yesOrNo, `"confirm"`)))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.confirm.Request(t.Context(), d.robot(), in, idem); !models.IsCode(err, models.SecurityBlocked) {
		t.Errorf("the agent still may: %v", err)
	}
	allowed := adam.follow(press(blocked, "request_confirmation-mcp"))
	allowed.wants(t, "request_confirmation-mcp", "Allowed")
	d.forward(d.robot(), asks(yesOrNo, `"confirm"`))

	token := seen.doc.Find("input[name=csrf_token]").AttrOr("value", "")
	wrong := adam.do(http.MethodPost, "/settings/security", one("csrf_token", token, "action", "fly", "channel", "web", "blocked", "yes"))
	if wrong.status != http.StatusUnprocessableEntity {
		t.Errorf("an action that is none is answered %d", wrong.status)
	}
	wrong.wants(t, "flash", "Nothing was changed")
	for _, name := range []string{"fiona", "lars", "audra"} {
		who := d.signedIn(name)
		p := who.get("/settings/security")
		p.wants(t, "why-not", "that is for admins")
		forced := who.do(http.MethodPost, "/settings/security", one("csrf_token", p.doc.Find("input[name=csrf_token]").AttrOr("value", ""), "action", "get_case", "channel", "api", "blocked", "yes"))
		if forced.status != http.StatusForbidden {
			t.Errorf("%s blocks an action and is answered %d", name, forced.status)
		}
	}
}

func TestOpenConfirmationsAreToldOfNews(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	base := d.listen()
	fiona, felix := d.signedIn("fiona"), d.signedIn("felix")
	listens := func(path string) *stream {
		t.Helper()
		s := felix.open(t, base, felix.get(path).doc.Find("body").AttrOr("data-live", ""))
		if s.status != http.StatusOK || !s.until("retry:") {
			t.Fatalf("the stream of %s is answered %d", path, s.status)
		}
		return s
	}
	list, home := listens("/confirmations"), listens("/")
	id := d.forward(d.robot(), asks(yesOrNo, `"confirm"`))
	if !list.until("data:") || !home.until("data:") {
		t.Error("a list is not told of a new question")
	}
	open := listens("/confirmations/" + id)
	fiona.follow(fiona.send(fiona.get("/confirmations/"+id), "answer-form", one("action", "cancel")))
	if !open.until("data:") {
		t.Error("an open question is not told of its answer")
	}
}
