package pages_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
	"github.com/apdesk/apdesk/web/wire"
)

// periodClosed stops in queue finance.
const periodClosed = `{"run_id": "run-21", "reason": "named_error", "invoice": {"id": "5105600300", "number": "INV-900", "supplier_id": "V-3003", "supplier_name": "Ostsee AG", "amount": "80.00", "currency": "EUR"},
	"errors": [{"tool": "post_invoice_adjustment", "error": {"code": "PERIOD_CLOSED", "message": "September is closed.", "retryable": false, "next_action": "stop_and_escalate", "details": {"period": "2026-09"}}}],
	"explanation": "The period is closed."}`

// onlyFiona asks for a write that by the matrix only Fiona decides.
const onlyFiona = `{"run_id": "run-22", "invoice": {"id": "5105600400", "number": "INV-901", "supplier_id": "V-4004", "supplier_name": "Inselwerk", "amount": "12.00", "currency": "EUR"},
	"action": {"tool": "notify_supplier", "arguments": {"invoice_id": "5105600400", "supplier_id": "V-4004", "text": "Please send the order number."}},
	"amount": "12.00", "currency": "EUR", "document_type": "ZZ", "summary": "Write to Inselwerk"}`

var adjustment = models.Call{Tool: "post_invoice_adjustment", Arguments: []byte(`{"invoice_id": "5105600123", "amount": "7350.25", "currency": "EUR",
	"posting_date": "2026-10-05", "supplier_id": "V-2001", "text": "Price difference"}`)}

// entangled is Fiona in the middle of her work: a case claimed, a token, an approval given and not used,
// a request only she can decide, and Felix away with her in his place.
type entangled struct {
	*desk
	fiona                 *visitor
	token                 string
	caseID, gave, pending string
	approvalID            string
}

func entangle(t *testing.T, d *desk) entangled {
	t.Helper()
	e := entangled{desk: d}
	d.rule(company, approvals.NewRule{Currency: "EUR", From: "0", To: "500", DocumentType: "ZZ", People: []string{"fiona@example.com"}})
	e.fiona = d.signedIn("fiona")
	e.caseID = d.handOver(d.robot(), periodClosed)
	e.fiona.follow(e.fiona.press(e.fiona.get("/cases/"+e.caseID), "claim")).wants(t, "case-claim", "you")
	e.gave = d.ask(d.robot(), approvalFor("7350.25"))
	e.fiona.follow(e.fiona.send(e.fiona.get("/approvals/"+e.gave), "vote-form", one("decision", "approve", "reason", "Checked.")))
	view, err := d.approvals.Get(t.Context(), d.robot(), e.gave)
	if err != nil || view.ApprovalID == "" {
		t.Fatalf("no approval was given: %+v, %v", view, err)
	}
	e.approvalID = view.ApprovalID
	e.pending = d.ask(d.robot(), onlyFiona)
	felix := d.signedIn("felix")
	felix.follow(felix.send(felix.get("/settings/delegations"), "delegation-form", one("delegate", "fiona@example.com", "first_day", "2026-10-05", "last_day", "2026-10-09")))
	d.tx(models.Operator(company), func(tx *models.Tx) error {
		var err error
		e.token, _, err = tx.CreateToken(models.NewToken{UserEmail: "fiona@example.com", Name: "laptop", Scopes: []models.Scope{models.ScopeAll}})
		return err
	})
	return e
}

// redeemed tries to spend what Fiona approved, and answers why it was refused.
func (e entangled) redeemed() string {
	e.t.Helper()
	_, err := e.approvals.Redeem(e.t.Context(), e.sap(), approvals.RedeemInput{ApprovalID: e.approvalID, Call: adjustment, IdempotencyKey: "k"})
	ne, _ := models.AsNamed(err)
	if ne == nil {
		return ""
	}
	reason, _ := ne.Details["reason"].(string)
	return string(ne.Code) + " " + reason
}

func (d *desk) personURL(name string) string { return "/settings/people/" + d.users[name].ID }

func TestSomebodyLeavesAndNothingOfTheirsIsStuck(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		e := entangle(t, newDeskOn(t, store, clock))
		adam, felix, lars := e.signedIn("adam"), e.signedIn("felix"), e.signedIn("lars")

		list := adam.get("/settings/people")
		if row := list.text("tr[data-person='" + e.users["felix"].ID + "']"); !strings.Contains(row, "Away") || !strings.Contains(row, "until Fri 9 Oct 2026; Fiona decides every document type") {
			t.Errorf("Felix's row reads %q", row)
		}
		before := adam.get(e.personURL("fiona"))
		before.wants(t, "limits", "document type ZZ", "any write", "100,000.00 EUR", "together with somebody else")
		before.wants(t, "person-delegations", "Felix is away; Fiona decides")
		before.wants(t, "acts", "voted yes", "claimed the case")
		link := before.doc.Find("[data-testid=deactivate]").AttrOr("href", "")
		ask := adam.get(link)
		ask.wants(t, "will", "1 claimed case goes back to its queue", "1 approval that Fiona gave and nobody used is revoked", "1 request that waits for Fiona loses an approver",
			"1 delegation from or to Fiona ends", "1 session ends, and 1 token is revoked", "Signing in is refused from now on")
		// Looking changes nothing.
		e.fiona.get("/cases/"+e.caseID).wants(t, "case-claim", "you")
		after := adam.follow(adam.send(ask, "confirm-form", one("reason", "Left for another company.")))
		if gone := after.testID("gone"); !strings.Contains(gone, "Fiona") || !strings.Contains(gone, "Deactivated") {
			t.Errorf("the list of those who left reads %q", gone)
		}

		// Her session is over, and so is the token; signing in again is refused with the reason.
		if p := e.fiona.do(http.MethodGet, "/", nil); p.status != http.StatusSeeOther || p.location != "/login" {
			t.Errorf("her session is answered %d, %s", p.status, p.location)
		}
		again := e.stranger()
		refused := again.send(again.get("/login"), "login-form", one("email", "fiona@example.com", "password", password))
		if refused.status != http.StatusForbidden || !strings.Contains(refused.text("main"), "deactivated") {
			t.Errorf("signing in is answered %d: %s", refused.status, refused.text("main"))
		}
		if _, err := store.IdentityByToken(t.Context(), e.token); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("her token is answered %v", err)
		}

		// The case is free in its queue, and says who gave it back.
		queue := felix.get("/queues/finance")
		if row := queue.text("tr[data-case='" + e.caseID + "']"); !strings.Contains(row, "INV-900") || strings.Contains(row, "Fiona") {
			t.Errorf("the queue shows %q", row)
		}
		seen := felix.get("/cases/" + e.caseID)
		seen.wants(t, "timeline", "gave the case back to Finance, since Fiona no longer works there")
		if !seen.has("claim") {
			t.Error("nobody can claim the case")
		}

		// What she approved is refused at the write, and a person looks into it.
		if got := e.redeemed(); got != "APPROVAL_MISSING revoked" {
			t.Errorf("the ERP is answered %q", got)
		}
		felix.get("/approvals/"+e.gave).wants(t, "grant", "Revoked")
		// The request only she could decide has a case for the lead.
		felix.get("/approvals/"+e.pending).wants(t, "approval-status", "Unrouted")
		work := lars.get("/queues/ap_lead").text("main")
		for _, want := range []string{"INV-778", "INV-901"} {
			if !strings.Contains(work, want) {
				t.Errorf("the lead's queue lacks %s: %s", want, work)
			}
		}
		in, idem, err := wire.ReadApprovalRequest(e.body(onlyFiona))
		if err != nil {
			t.Fatal(err)
		}
		asked, err := e.approvals.Request(t.Context(), e.robot(), in, idem)
		if err != nil || asked.RequestID != e.pending || asked.Refused == nil || asked.Refused.Code != models.ApproverNotFound {
			t.Errorf("the agent is told %+v, %v", asked, err)
		}

		// Felix decides for himself again, and was told.
		mine := felix.get("/settings/delegations")
		mine.wants(t, "my-delegations", "You are not away")
		mine.wants(t, "ended-delegations", "You are away; Fiona decides", "ended by Adam")
		felix.get("/notices").wants(t, "notice-row", "has ended")
		felix.get("/").wants(t, "my-cases", "You have claimed nothing")

		// She comes back with her roles; what ended stays ended.
		back := adam.follow(adam.send(adam.get(e.personURL("fiona")), "reactivate-form", nil))
		back.wants(t, "person-state", "Active")
		back.wants(t, "acts", "What they did last")
		fiona := e.stranger()
		if p := fiona.send(fiona.get("/login"), "login-form", one("email", "fiona@example.com", "password", password)); p.status != http.StatusSeeOther {
			t.Errorf("after the reactivation signing in is answered %d", p.status)
		}
		if _, err := store.IdentityByToken(t.Context(), e.token); !models.IsCode(err, models.Unauthenticated) {
			t.Errorf("her token came back: %v", err)
		}
		if got := e.redeemed(); got != "APPROVAL_MISSING revoked" {
			t.Errorf("later the ERP is answered %q", got)
		}
	})
}

func TestALostRoleTakesBackWhatNeededItAndNothingElse(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		d := newDeskOn(t, store, clock)
		d.tx(models.Operator(company), func(tx *models.Tx) error {
			return tx.SetRoles(d.users["fiona"].ID, []models.Role{models.RoleFinanceLead, models.RoleAPClerk})
		})
		e := entangle(t, d)
		kept := e.handOver(e.robot(), duplicate)
		e.fiona.follow(e.fiona.press(e.fiona.get("/cases/"+kept), "claim"))
		adam, felix := e.signedIn("adam"), e.signedIn("felix")

		page := adam.get(e.personURL("fiona"))
		if got := page.doc.Find("[data-testid=roles] input[checked]").Length(); got != 2 {
			t.Errorf("%d roles are ticked", got)
		}
		ask := adam.send(page, "roles-form", one("role", "ap_clerk"))
		if ask.status != http.StatusOK {
			t.Fatalf("answered %d: %s", ask.status, ask.text("main"))
		}
		ask.wants(t, "will", "1 claimed case goes back to its queue", "1 approval that Fiona gave and nobody used is revoked", "Sessions and tokens stay")
		if got := e.isRevoked(); got {
			t.Error("asking changed something")
		}
		adam.follow(adam.send(ask, "confirm-form", nil)).wants(t, "person-facts", "AP clerk")

		if got := e.redeemed(); got != "APPROVAL_MISSING revoked" {
			t.Errorf("the ERP is answered %q", got)
		}
		felix.get("/cases/"+e.caseID).wants(t, "timeline", "gave the case back to Finance")
		e.fiona.get("/cases/"+kept).wants(t, "case-claim", "you")
		e.fiona.get("/").wants(t, "signed-in-as", "AP clerk")
		e.fiona.get("/notices").wants(t, "notice-row", "went back to its queue")
		if _, err := store.IdentityByToken(t.Context(), e.token); err != nil {
			t.Errorf("her token is answered %v", err)
		}
		// Named by the rule, and still holding a role that decides, she keeps that place.
		felix.get("/approvals/"+e.pending).wants(t, "approval-status", "Pending")
	})
}

// isRevoked says whether the approval can no longer be used, without spending it.
func (e entangled) isRevoked() bool {
	e.t.Helper()
	view, err := e.approvals.Get(e.t.Context(), e.robot(), e.gave)
	if err != nil {
		e.t.Fatal(err)
	}
	return view.ApprovalID == ""
}

func TestAnAdminAddsAKnownPerson(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	adam := d.signedIn("adam")
	form := adam.get("/settings/people")
	if n := form.doc.Find("[data-testid=roles] input").Length(); n != len(models.Roles()) {
		t.Errorf("%d roles can be ticked", n)
	}
	// Yuki works in the other company; her name there stays.
	known := adam.follow(adam.send(form, "person-form", one("email", "Yuki@example.com", "name", "Somebody Else", "role", "procurement", "role", "ap_clerk")))
	if row := known.text("tr[data-person='" + d.users["yuki"].ID + "']"); !strings.Contains(row, "Yuki") || strings.Contains(row, "Somebody") || !strings.Contains(row, "AP clerk, Procurement") {
		t.Errorf("her row reads %q", row)
	}
	bad := adam.send(form, "person-form", one("email", "not an address", "name", "Olga Ort", "time_zone", "Mars", "role", "procurement"))
	if bad.status != http.StatusUnprocessableEntity {
		t.Fatalf("answered %d", bad.status)
	}
	for name, want := range map[string]string{"email": "not an address", "name": "Olga Ort", "time_zone": "Mars"} {
		if got := bad.doc.Find("[data-testid=person-form] [name="+name+"]").AttrOr("value", ""); got != want {
			t.Errorf("%s was not kept: %q", name, got)
		}
	}
	if got := bad.doc.Find("[data-testid=roles] input[checked]").AttrOr("value", ""); got != "procurement" {
		t.Errorf("the ticked role was not kept: %q", got)
	}
	if text := bad.text(".error-summary"); !strings.Contains(text, "E-mail") || !strings.Contains(text, "Time zone") {
		t.Errorf("the summary reads %q", text)
	}
}

func TestRolesThatChangedMeanwhileAreNotOverwritten(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	adam := d.signedIn("adam")
	page := adam.get(d.personURL("anna"))
	d.tx(models.Operator(company), func(tx *models.Tx) error {
		return tx.SetRoles(d.users["anna"].ID, []models.Role{models.RoleAPClerk, models.RoleProcurement})
	})
	stale := adam.send(page, "roles-form", one("role", "ap_lead"))
	if stale.status != http.StatusConflict || !strings.Contains(stale.text("main"), "They are now: AP clerk, Procurement") {
		t.Errorf("answered %d: %s", stale.status, stale.text("main"))
	}
	if got := stale.doc.Find("[data-testid=roles] input[checked]").AttrOr("value", ""); got != "ap_lead" {
		t.Errorf("what was ticked is lost: %q", got)
	}
	if none := adam.send(stale, "roles-form", one()); none.status != http.StatusUnprocessableEntity || !strings.Contains(none.text(".error-summary"), "Roles") {
		t.Errorf("no role at all is answered %d: %s", none.status, none.text("main"))
	}
	adam.follow(adam.send(adam.get(d.personURL("anna")), "roles-form", url.Values{"role": {"ap_clerk", "procurement", "ap_lead"}})).wants(t, "person-facts", "AP clerk, AP lead, Procurement")
}

func TestOthersReadWhoWorksHereAndChangeNothing(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, name := range []string{"anna", "lars", "fiona", "audra"} {
		who := d.signedIn(name)
		list := who.get("/settings/people")
		list.wants(t, "why-not", "admins")
		one := who.get(d.personURL("petra"))
		for _, form := range []string{"person-form", "roles-form", "deactivate", "reactivate-form"} {
			if list.has(form) || one.has(form) {
				t.Errorf("%s is offered %s", name, form)
			}
		}
		csrf := list.doc.Find("input[name=csrf_token]").First().AttrOr("value", "")
		for path, form := range map[string]url.Values{"/settings/people": {"email": {"x@example.com"}, "name": {"X"}, "role": {"admin"}},
			d.personURL("petra") + "/deactivate": {}, d.personURL("petra") + "/roles": {"role": {"procurement", "admin"}, "was": {"procurement"}}, d.personURL("petra") + "/reactivate": {}} {
			form.Set("csrf_token", csrf)
			if p := who.do(http.MethodPost, path, form); p.status != http.StatusForbidden {
				t.Errorf("%s posts to %s and is answered %d", name, path, p.status)
			}
		}
		if p := who.do(http.MethodGet, d.personURL("petra")+"/deactivate", nil); p.status != http.StatusForbidden {
			t.Errorf("%s sees the preview: %d", name, p.status)
		}
	}
	adam := d.signedIn("adam")
	self := adam.get(d.personURL("adam"))
	self.wants(t, "why-not", "This is you")
	self.wants(t, "acts", "What they did last")
	if self.has("roles-form") || self.has("deactivate") {
		t.Error("an admin is offered to change themself")
	}
	csrf := self.doc.Find("input[name=csrf_token]").First().AttrOr("value", "")
	for path, form := range map[string]url.Values{"/roles": {"role": {"admin", "finance_lead"}, "was": {"admin"}}, "/deactivate": {}} {
		form.Set("csrf_token", csrf)
		if p := adam.do(http.MethodPost, d.personURL("adam")+path, form); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.text("main"), "Nobody changes their own") {
			t.Errorf("%s of oneself is answered %d: %s", path, p.status, p.text("main"))
		}
	}
	if p := adam.do(http.MethodGet, d.personURL("yuki"), nil); p.status != http.StatusNotFound {
		t.Errorf("somebody of another workspace is answered %d", p.status)
	}
	// The attempts are on the trail of whom they were about.
	d.signedIn("audra").get(d.personURL("lars")).wants(t, "acts", "tried to change people and was refused")
}

func TestAnAccountWithoutAResponsiblePersonIsFlagged(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	adam := d.signedIn("adam")
	if adam.get("/settings/people").has("no-responsible") {
		t.Error("an account with a responsible person is flagged")
	}
	adam.follow(adam.send(adam.get(d.personURL("lars")+"/deactivate"), "confirm-form", nil))
	list := adam.get("/settings/people")
	list.wants(t, "no-responsible", "Nobody answers for robot", "Lars")
	list.wants(t, "no-owner", "not active here")
	one := adam.get(d.personURL("robot"))
	one.wants(t, "no-responsible", "Lars")
	if n := one.doc.Find("[data-testid=roles] input").Length(); n != 2 {
		t.Errorf("a service account can be given %d roles, want agent and ERP", n)
	}
}

func TestAnAbsenceIsPlannedMovesWhatWaitsAndEnds(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		d := newDeskOn(t, store, clock)
		d.rule(company, approvals.NewRule{Currency: "EUR", From: "0", To: "500", DocumentType: "ZZ", People: []string{"fiona@example.com"}})
		request := d.ask(d.robot(), onlyFiona)
		worker := models.NewWorker(store, nil, models.HouseKeeping(), d.queue.Jobs(), d.approvals.Jobs())
		run := func() {
			t.Helper()
			if _, err := worker.RunDue(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		// Felix's own limit must cover what he decides for her.
		fiona, felix := d.signedIn("fiona"), d.signedIn("felix")
		page := fiona.get("/settings/delegations")
		if text := page.text("[data-testid=delegation-form]"); !strings.Contains(text, "Europe/Berlin, your time zone") || !strings.Contains(text, "name ZZ") || page.doc.Find("[name=person]").Length() > 0 {
			t.Errorf("the form reads %q", text)
		}
		for _, c := range []struct {
			form url.Values
			want string
		}{
			{one("delegate", "felix@example.com", "first_day", "2026-10-01", "last_day", "2026-10-09"), "past"},
			{one("delegate", "felix@example.com", "first_day", "2026-10-09", "last_day", "2026-10-08"), "before the first day"},
			{one("delegate", "felix@example.com", "first_day", "soon", "last_day", "2026-10-08"), "calendar date"},
			{one("delegate", "fiona@example.com", "first_day", "2026-10-06", "last_day", "2026-10-08"), "somebody else"},
			{one("delegate", "audra@example.com", "first_day", "2026-10-06", "last_day", "2026-10-08"), "role that decides"},
			{one("delegate", "lars@example.com", "first_day", "2026-10-06", "last_day", "2026-10-08"), "no limit of their own for anything Fiona decides"},
		} {
			c.form.Set("note", "On holiday.")
			bad := fiona.send(page, "delegation-form", c.form)
			if bad.status != http.StatusUnprocessableEntity || !strings.Contains(bad.text(".error-summary"), c.want) {
				t.Errorf("%v is answered %d: %s", c.form, bad.status, bad.text(".error-summary"))
			}
			if got := bad.doc.Find("[name=first_day]").AttrOr("value", ""); got != c.form.Get("first_day") || bad.text("[name=note]") != "On holiday." {
				t.Errorf("what was typed is lost: %q", got)
			}
		}
		planned := fiona.follow(fiona.send(page, "delegation-form", one("delegate", "felix@example.com", "first_day", "2026-10-06", "last_day", "2026-10-08", "note", "On holiday.")))
		planned.wants(t, "my-delegations", "Planned", "You are away; Felix decides", "Tue 6 Oct 2026 to Thu 8 Oct 2026 (Europe/Berlin)", "Every document type", "On holiday.")
		if felix.get("/").has("delegation-note") {
			t.Error("it is said to hold before it does")
		}

		clock.Advance(24 * time.Hour)
		run()
		fiona, felix = d.signedIn("fiona"), d.signedIn("felix")
		felix.get("/").wants(t, "delegation-note", "You decide for Fiona until Thu 8 Oct 2026")
		fiona.get("/").wants(t, "delegation-note", "Felix decides for you until Thu 8 Oct 2026", "End it")
		fiona.get("/settings/delegations").wants(t, "moved", "1 request waits with Felix through it now")
		felix.get("/settings/delegations").wants(t, "moved", "1 request waits with you through it now")
		if text := felix.get("/approvals").text("main"); !strings.Contains(text, "Write to Inselwerk") {
			t.Errorf("nothing moved: %s", text)
		}
		felix.get("/approvals/"+request).wants(t, "on-behalf", "You decide on behalf of Fiona.")
		d.signedIn("audra").get("/settings/delegations").wants(t, "other-delegations", "Fiona is away; Felix decides", "Away now")
		if p := felix.get("/settings/delegations"); p.has("end-delegation") {
			t.Error("the delegate can end it")
		}
		chain := felix.send(felix.get("/settings/delegations"), "delegation-form", one("delegate", "lars@example.com", "first_day", "2026-10-07", "last_day", "2026-10-07"))
		if chain.status != http.StatusUnprocessableEntity || !strings.Contains(chain.text(".error-summary"), "cannot be delegated on") {
			t.Errorf("a chain is answered %d: %s", chain.status, chain.text(".error-summary"))
		}

		// She comes back early.
		ended := fiona.follow(fiona.send(fiona.get("/settings/delegations"), "end-delegation", nil))
		ended.wants(t, "ended-delegations", "You are away; Felix decides", "ended by Fiona")
		if text := fiona.get("/approvals").text("main"); !strings.Contains(text, "Write to Inselwerk") {
			t.Errorf("nothing came back: %s", text)
		}
		if text := felix.get("/approvals").text("main"); strings.Contains(text, "Write to Inselwerk") {
			t.Errorf("it still waits with Felix: %s", text)
		}
		if late := fiona.send(fiona.get("/settings/delegations"), "delegation-form", one("delegate", "", "first_day", "2026-10-07", "last_day", "2026-10-07")); late.status != http.StatusSeeOther {
			t.Errorf("being away without a delegate is answered %d", late.status)
		}
		clock.Advance(24 * time.Hour)
		run()
		d.signedIn("fiona").get("/").wants(t, "delegation-note", "You are away until Wed 7 Oct 2026", "Nobody decides in your place")
		_ = request
	})
}

func TestAnAPLeadPlansAnAbsenceForAColleagueAndNotForThemself(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	lars := d.signedIn("lars")
	page := lars.get("/settings/delegations")
	self := lars.send(page, "delegation-form", one("person", "fiona@example.com", "delegate", "lars@example.com", "first_day", "2026-10-06", "last_day", "2026-10-08"))
	if self.status != http.StatusUnprocessableEntity || !strings.Contains(self.text(".error-summary"), "nobody names themself") {
		t.Errorf("answered %d: %s", self.status, self.text(".error-summary"))
	}
	if got := self.doc.Find("[name=person] option[selected]").AttrOr("value", ""); got != "fiona@example.com" {
		t.Errorf("the colleague chosen is lost: %q", got)
	}
	set := lars.follow(lars.send(page, "delegation-form", one("person", "fiona@example.com", "delegate", "felix@example.com", "first_day", "2026-10-06", "last_day", "2026-10-08")))
	set.wants(t, "other-delegations", "Fiona is away; Felix decides", "Set by Lars")
	id := set.doc.Find("[data-testid=delegation]").AttrOr("data-delegation", "")
	for _, name := range []string{"anna", "audra", "felix", "adam"} {
		who := d.signedIn(name)
		p := who.get("/settings/delegations")
		csrf := p.doc.Find("input[name=csrf_token]").First().AttrOr("value", "")
		if p.has("end-delegation") {
			t.Errorf("%s is offered to end it", name)
		}
		if forced := who.do(http.MethodPost, "/settings/delegations/"+id+"/end", one("csrf_token", csrf)); forced.status != http.StatusForbidden {
			t.Errorf("%s ends it and is answered %d", name, forced.status)
		}
		if forced := who.do(http.MethodPost, "/settings/delegations", one("csrf_token", csrf, "person", "petra@example.com", "first_day", "2026-10-06", "last_day", "2026-10-06")); forced.status != http.StatusForbidden {
			t.Errorf("%s plans an absence for Petra and is answered %d", name, forced.status)
		}
	}
	again := d.signedIn("fiona")
	stale := again.get("/settings/delegations")
	again.follow(again.send(stale, "end-delegation", nil))
	if twice := again.send(stale, "end-delegation", nil); twice.status != http.StatusConflict || !strings.Contains(twice.text("main"), "ended already") {
		t.Errorf("a second time is answered %d: %s", twice.status, twice.text("main"))
	}
	d.signedIn("adam").get("/settings/delegations").wants(t, "why-not", "Nothing waits for your roles")
}
