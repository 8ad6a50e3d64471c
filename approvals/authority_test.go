package approvals_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// firstFinanceThenAP is a rule for a finance lead and then an AP lead.
func firstFinanceThenAP() approvals.NewRule {
	r := financeRule(2)
	r.ThenRole = models.RoleAPLead
	return r
}

func (d *desk) page(name, requestID string) approvals.RequestPage {
	d.t.Helper()
	p, err := d.svc.Page(d.t.Context(), d.web(name), requestID)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

func (d *desk) delegates(by string, n approvals.NewDelegation) models.Delegation {
	d.t.Helper()
	made, err := d.svc.Delegate(d.t.Context(), d.web(by), n)
	if err != nil {
		d.t.Fatal(err)
	}
	return made.Delegation
}

// days are dates of October 2026.
func (d *desk) days(first, last int) approvals.NewDelegation {
	d.t.Helper()
	var n approvals.NewDelegation
	for day, into := range map[int]*models.Date{first: &n.FirstDay, last: &n.LastDay} {
		var err error
		if *into, err = models.ParseDate(fmt.Sprintf("2026-10-%02d", day)); err != nil {
			d.t.Fatal(err)
		}
	}
	if first == last {
		n.FirstDay, _ = models.ParseDate(fmt.Sprintf("2026-10-%02d", first))
		n.LastDay = n.FirstDay
	}
	return n
}

func (d *desk) toDelegate(first, last int, email string) approvals.NewDelegation {
	d.t.Helper()
	n := d.days(first, last)
	n.DelegateEmail = email
	return n
}

func decider(p approvals.RequestPage, name string) (approvals.Decider, bool) {
	i := slices.IndexFunc(p.Deciders, func(d approvals.Decider) bool { return d.Name == name })
	if i < 0 {
		return approvals.Decider{}, false
	}
	return p.Deciders[i], true
}

func TestTwoPeopleDecideOneAfterTheOther(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(firstFinanceThenAP())
		v := d.request("robot", ask(t, "250.00"))
		if v.Approver == nil || v.Approver.Role != "finance_lead, then ap_lead" || v.Approver.Required != 2 {
			t.Fatalf("%+v", v.Approver)
		}
		if d.told("fumiko", "request.waiting") != 1 || d.told("lars", "request.waiting") != 0 {
			t.Fatalf("the first step is told first: %v, %v", d.notices("fumiko"), d.notices("lars"))
		}
		p := d.page("lars", v.RequestID)
		if p.CanVote || p.WhyNot != "It is not your turn yet: first a yes of Finance lead." || p.NextStep != 1 || p.Needed != "a yes of Finance lead, then one of AP lead" {
			t.Fatalf("%t %q %d %q", p.CanVote, p.WhyNot, p.NextStep, p.Needed)
		}
		if _, err := d.vote("lars", v.RequestID, models.VoteApprove, ""); wantCode(t, err, models.Unprocessable).Details["reason"] != "not_your_turn" {
			t.Fatal(err)
		}
		d.yes("fumiko", v.RequestID)
		if d.told("lars", "request.waiting") != 1 {
			t.Fatalf("lars's turn was not told: %v", d.notices("lars"))
		}
		if p = d.page("lars", v.RequestID); !p.CanVote || p.NextStep != 2 || p.Needed != "a yes of AP lead" || p.MyLimit != "EUR 10,000.00" {
			t.Fatalf("%+v", p)
		}
		if frank := d.page("frank", v.RequestID); frank.CanVote || !strings.Contains(frank.WhyNot, "now a yes of AP lead is needed") {
			t.Fatalf("the first step has its yes: %q", frank.WhyNot)
		}
		d.yes("lars", v.RequestID)
		got, err := d.svc.Get(t.Context(), d.mcp("robot"), v.RequestID)
		if err != nil || got.ApprovalID == "" || !slices.Equal(got.DecidedBy, []string{"fumiko", "lars"}) {
			t.Fatalf("%+v, %v", got, err)
		}
		if p = d.page("audrey", v.RequestID); p.Votes[0].Step != 1 || p.Votes[1].Step != 2 {
			t.Fatalf("%+v", p.Votes)
		}
		second := d.request("robot", ask(t, "251.00"))
		d.yes("fumiko", second.RequestID)
		if rejected, err := d.vote("nina", second.RequestID, models.VoteReject, "not agreed"); err != nil || rejected.Status != models.RequestRejected {
			t.Fatalf("one no rejects at any step: %+v, %v", rejected, err)
		}
		// Whoever gave the second yes leaves: the approval falls.
		d.takeRole("lars", models.RoleAPLead)
		_, err = d.redeem("sap", got.ApprovalID, "k", arguments("250.00"))
		wantReason(t, err, "revoked")
	})
}

func TestWhoHasBothStepsTakesOne(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.person("both", models.RoleFinanceLead, models.RoleAPLead)
		d.rule(firstFinanceThenAP())
		v := d.request("robot", ask(t, "1.00"))
		d.yes("both", v.RequestID)
		if _, err := d.vote("both", v.RequestID, models.VoteApprove, ""); wantCode(t, err, models.Unprocessable).Details["reason"] != "voted" {
			t.Fatal(err)
		}
		d.yes("nina", v.RequestID)
		// When nobody else could come second, both steps are not for the same person to start.
		for _, name := range []string{"lars", "nina"} {
			d.takeRole(name, models.RoleAPLead)
		}
		w := d.request("robot", ask(t, "2.00"))
		if _, err := d.vote("both", w.RequestID, models.VoteApprove, ""); wantCode(t, err, models.Unprocessable).Details["reason"] != "needed_later" {
			t.Fatal(err)
		}
		d.yes("frank", w.RequestID)
		if got := d.yes("both", w.RequestID); got.Status != models.RequestApproved {
			t.Fatalf("%+v", got)
		}
		// Only one person for both steps: nobody can decide.
		for _, name := range []string{"fumiko", "frank"} {
			d.takeRole(name, models.RoleFinanceLead)
		}
		if x := d.request("robot", ask(t, "3.00")); x.Status != models.RequestUnrouted || !strings.Contains(x.Reason, "Finance lead, then AP lead") {
			t.Fatalf("%+v", x)
		}
	})
}

func TestAColleagueDecidesWhileSomebodyIsAway(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(approvals.NewRule{People: []string{"fumiko@example.com"}, Currency: "EUR", From: "0", To: "10000", Valid: 10 * day})
		d.rule(approvals.NewRule{Role: models.RoleAPLead, Tool: "post_invoice_adjustment", DocumentType: "", Supplier: "V-9", Currency: "EUR", From: "0", To: "5000"})
		waiting := d.request("robot", ask(t, "1.00"))
		tooMuch := d.request("robot", ask(t, "6000.00"))
		made := d.delegates("fumiko", d.toDelegate(6, 8, "lars@example.com"))
		if made.TimeZone != "Europe/Berlin" || made.StartsAt.String() != "2026-10-05T22:00:00Z" || made.EndsAt.String() != "2026-10-08T22:00:00Z" {
			t.Fatalf("%+v", made)
		}
		if d.told("fumiko", "delegation.set") != 1 || d.told("lars", "delegation.set") != 1 {
			t.Fatal("both are told")
		}
		if p := d.page("lars", waiting.RequestID); p.CanVote {
			t.Fatal("lars may decide before the first day")
		}
		clock.Advance(13 * time.Hour) // midnight in Berlin
		d.runJobs()
		if d.told("lars", "delegation.started") != 1 || d.told("fumiko", "delegation.started") != 1 {
			t.Fatalf("the start is told: %v", d.notices("lars"))
		}
		list, err := d.svc.Delegations(t.Context(), d.web("audrey"), false)
		if err != nil || len(list) != 1 || list[0].State != approvals.DelegationActive || list[0].Moved != 1 || list[0].CanEnd {
			t.Fatalf("%+v, %v", list, err)
		}
		p := d.page("fumiko", waiting.RequestID)
		if p.CanVote || p.WhyNot != "You delegated this to lars until 8 October 2026; end the delegation to decide yourself." {
			t.Fatalf("%q", p.WhyNot)
		}
		if stand, ok := decider(p, "lars"); !ok || !stand.May || stand.OnBehalfOf != "fumiko" || stand.Limit != "EUR 5,000.00" || !stand.Until.Equal(made.EndsAt.Time) {
			t.Fatalf("%+v", p.Deciders)
		}
		if p := d.page("fumiko", tooMuch.RequestID); !p.CanVote {
			t.Fatalf("lars's limit does not cover it, so it stays: %q", p.WhyNot)
		}
		if p := d.page("lars", tooMuch.RequestID); p.CanVote || !strings.Contains(p.WhyNot, "stays with fumiko") {
			t.Fatalf("%q", p.WhyNot)
		}
		if _, err := d.vote("fumiko", waiting.RequestID, models.VoteApprove, ""); wantCode(t, err, models.Unprocessable).Details["reason"] != "delegated" {
			t.Fatal(err)
		}
		if got := d.yes("lars", waiting.RequestID); got.Status != models.RequestApproved {
			t.Fatalf("%+v", got)
		}
		v := d.page("audrey", waiting.RequestID).Votes[0]
		if v.OnBehalfOfName != "fumiko" || v.LimitAmount != "5000" || v.DelegationID != made.ID || v.UserName != "lars" {
			t.Fatalf("%+v", v)
		}
		cast := d.refusals("vote.cast")
		if !strings.Contains(cast[0].Data, `"on_behalf_of_name":"fumiko"`) {
			t.Fatalf("the trail does not say in whose place: %s", cast[0].Data)
		}
		other := d.request("robot", ask(t, "2.00"))
		clock.Set(made.EndsAt.Time)
		d.runJobs()
		if d.told("fumiko", "delegation.ended") != 1 {
			t.Fatal("the end is told")
		}
		if p := d.page("lars", other.RequestID); p.CanVote {
			t.Fatal("it must have come back")
		}
		if got := d.yes("fumiko", other.RequestID); got.Status != models.RequestApproved {
			t.Fatalf("%+v", got)
		}
		// A vote cast for somebody counts until that somebody loses the place.
		approval, err := d.svc.Get(t.Context(), d.mcp("robot"), waiting.RequestID)
		if err != nil || approval.ApprovalID == "" {
			t.Fatalf("%+v, %v", approval, err)
		}
		d.deactivate("fumiko")
		d.peopleChanged("fumiko")
		if why := d.cases.reviews[waiting.RequestID]; !strings.Contains(why, "fumiko, in whose place lars approved") {
			t.Fatalf("no review was opened: %v", d.cases.reviews)
		}
		_, err = d.redeem("sap", approval.ApprovalID, "k", arguments("1.00"))
		wantReason(t, err, "revoked")
	})
}

func TestAPlaceIsUsedOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(approvals.NewRule{People: []string{"fumiko@example.com", "clara@example.com"}, Currency: "EUR", From: "0", To: "10000", Required: 2})
		d.rule(approvals.NewRule{Role: models.RoleAPLead, Supplier: "V-9", Currency: "EUR", From: "0", To: "10000"})
		made := d.delegates("fumiko", d.toDelegate(5, 9, "lars@example.com"))
		d.account("helper", "adam", models.RoleAgent)
		v := d.request("helper", ask(t, "1.00"))
		d.yes("lars", v.RequestID)
		if err := d.svc.EndDelegation(t.Context(), d.web("fumiko"), made.ID); err != nil {
			t.Fatal(err)
		}
		if _, err := d.vote("fumiko", v.RequestID, models.VoteApprove, ""); wantCode(t, err, models.Unprocessable).Details["reason"] != "stood_in" {
			t.Fatal(err)
		}
		if got := d.yes("clara", v.RequestID); got.Status != models.RequestApproved {
			t.Fatalf("the vote cast stays good after the delegation ended: %+v", got)
		}
		w := d.request("helper", ask(t, "2.00"))
		d.yes("fumiko", w.RequestID)
		d.delegates("fumiko", d.toDelegate(5, 9, "lars@example.com"))
		if p := d.page("lars", w.RequestID); p.CanVote {
			t.Fatal("a delegate voted for somebody who voted")
		}
	})
}

func TestWhoStandsInForAnAskerIsBarred(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		d.rule(smallLimit("clara"))
		n := d.toDelegate(5, 9, "fumiko@example.com")
		n.PersonEmail = "clara@example.com" // who answers for the robot
		d.delegates("lars", n)
		v := d.request("robot", ask(t, "2.00"))
		if _, err := d.vote("fumiko", v.RequestID, models.VoteApprove, ""); wantCode(t, err, models.Unprocessable).Details["reason"] != "delegation" {
			t.Fatal(err)
		}
		// Both finance leads delegate to who asked: now nobody is left, and the case opens by itself.
		list, err := d.svc.Delegations(t.Context(), d.web("lars"), false)
		if err != nil || len(list) != 1 {
			t.Fatalf("%+v, %v", list, err)
		}
		if err := d.svc.EndDelegation(t.Context(), d.web("clara"), list[0].ID); err != nil {
			t.Fatal(err)
		}
		d.delegates("fumiko", d.toDelegate(5, 9, "clara@example.com"))
		d.delegates("frank", d.toDelegate(5, 9, "clara@example.com"))
		if _, opened := d.cases.opened[v.RequestID]; !opened {
			t.Fatal("nobody can decide it, and no case was opened")
		}
	})
}

func TestWhoMaySetAndEndADelegation(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		try := func(by string, n approvals.NewDelegation) error {
			_, err := d.svc.Delegate(t.Context(), d.web(by), n)
			return err
		}
		of := func(person string, n approvals.NewDelegation) approvals.NewDelegation {
			n.PersonEmail = person + "@example.com"
			return n
		}
		wantIssue(t, try("fumiko", d.toDelegate(5, 9, "fumiko@example.com")), "/delegate")
		wantIssue(t, try("fumiko", d.toDelegate(5, 9, "audrey@example.com")), "/delegate")
		wantIssue(t, try("fumiko", d.toDelegate(5, 9, "robot@example.com")), "/delegate")
		wantIssue(t, try("fumiko", d.toDelegate(4, 9, "frank@example.com")), "/first_day")
		wantIssue(t, try("lars", of("fumiko", d.toDelegate(5, 9, "lars@example.com"))), "/delegate")
		wantIssue(t, try("lars", of("nobody", d.toDelegate(5, 9, "frank@example.com"))), "/person")
		wantCode(t, try("frank", of("fumiko", d.toDelegate(5, 9, "nina@example.com"))), models.InsufficientPermission)
		_, err := d.svc.Delegate(t.Context(), d.mcp("fumiko"), d.toDelegate(5, 9, "frank@example.com"))
		wantCode(t, err, models.InsufficientPermission)
		made := d.delegates("lars", of("fumiko", d.toDelegate(6, 9, "frank@example.com")))
		wantIssue(t, try("fumiko", d.toDelegate(9, 12, "nina@example.com")), "/first_day")
		wantIssue(t, try("frank", d.toDelegate(9, 12, "nina@example.com")), "/delegate")
		wantCode(t, d.svc.EndDelegation(t.Context(), d.web("clara"), made.ID), models.InsufficientPermission)
		wantCode(t, d.svc.EndDelegation(t.Context(), d.web("clara"), "deleg_unknown"), models.NotFound)
		if err := d.svc.EndDelegation(t.Context(), d.web("nina"), made.ID); err != nil {
			t.Fatalf("any AP lead may: %v", err)
		}
		wantCode(t, d.svc.EndDelegation(t.Context(), d.web("fumiko"), made.ID), models.Conflict)
		clock.Advance(2 * day)
		d.runJobs()
		if d.told("frank", "delegation.started") != 0 {
			t.Fatal("a delegation called off started")
		}
		ended, err := d.svc.Delegations(t.Context(), d.web("lars"), true)
		if err != nil || len(ended) != 1 || ended[0].State != approvals.DelegationEnded || ended[0].EndedBy != "nina" {
			t.Fatalf("%+v, %v", ended, err)
		}
		// Who leaves takes their delegations with them.
		d.delegates("fumiko", d.toDelegate(8, 9, "frank@example.com"))
		d.deactivate("frank")
		d.peopleChanged("frank")
		if list, err := d.svc.Delegations(t.Context(), d.web("lars"), false); err != nil || len(list) != 0 {
			t.Fatalf("%+v, %v", list, err)
		}
	})
}

func TestAskingTheAgent(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		v := d.request("robot", ask(t, "1.00"))
		version := d.page("fumiko", v.RequestID).Request.Version
		asks := func(name, question string) error {
			return d.svc.AskAgent(t.Context(), d.web(name), v.RequestID, question, version)
		}
		wantIssue(t, asks("fumiko", " "), "/question")
		wantCode(t, asks("audrey", "Why?"), models.InsufficientPermission)
		wantCode(t, d.svc.AskAgent(t.Context(), d.web("fumiko"), v.RequestID, "Why?", version+1), models.Conflict)
		wantCode(t, d.svc.AskAgent(t.Context(), d.mcp("fumiko"), v.RequestID, "Why?", version), models.InsufficientPermission)
		awaited := make(chan approvals.RequestView, 1)
		robot := modelstest.WithToken(t, d.store, d.mcp("robot"))
		go func() {
			view, err := d.svc.Await(t.Context(), robot, v.RequestID, 50*time.Second)
			if err != nil {
				t.Error(err)
			}
			awaited <- view
		}()
		if err := asks("fumiko", "Where does the difference come from?"); err != nil {
			t.Fatal(err)
		}
		caseID := "case_about_" + v.RequestID
		if view := <-awaited; view.Status != models.RequestPending || view.Instruction == nil || view.Instruction.Kind != models.InstructResume ||
			view.Instruction.Question != "Where does the difference come from?" || view.Instruction.Input["case_id"] != caseID {
			t.Fatalf("%+v", view)
		}
		wantCode(t, asks("frank", "And who agreed?"), models.Conflict)
		p := d.page("frank", v.RequestID)
		if len(p.Questions) != 1 || p.Questions[0].By != "fumiko" || p.Questions[0].Answer != "" || !p.CanAsk || !p.CanVote {
			t.Fatalf("%+v", p)
		}
		d.answer("robot", caseID, "From the freight.")
		if got, err := d.svc.Get(t.Context(), d.mcp("robot"), v.RequestID); err != nil || got.Instruction != nil {
			t.Fatalf("the answer clears the instruction: %+v, %v", got, err)
		}
		if p = d.page("frank", v.RequestID); p.Questions[0].Answer != "From the freight." || p.Questions[0].AnsweredBy != "robot" {
			t.Fatalf("%+v", p.Questions)
		}
		if err := asks("frank", "And who agreed?"); err != nil {
			t.Fatal(err)
		}
		d.yes("fumiko", v.RequestID)
		if d.cases.answered[caseID] == "" {
			t.Fatal("the case for questions must close when the request is decided")
		}
		if got, err := d.svc.Get(t.Context(), d.mcp("robot"), v.RequestID); err != nil || got.Instruction != nil || got.ApprovalID == "" {
			t.Fatalf("%+v, %v", got, err)
		}
		if trail := d.trail(v.RequestID); !slices.Contains(trail, "request.questioned") {
			t.Fatalf("%v", trail)
		}
	})
}

func TestWarningsBeforeTimeIsUp(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		waits := d.request("robot", ask(t, "1.00"))
		_, id := d.approved(ask(t, "2.00"))
		clock.Advance(18*time.Hour + time.Minute)
		d.runJobs()
		if d.told("fumiko", "approval.expiring") != 1 || d.told("frank", "approval.expiring") != 0 {
			t.Fatalf("whoever approved is warned with a quarter of the time left: %v", d.notices("fumiko"))
		}
		clock.Set(modelstest.Start.AddDate(0, 0, 4)) // the Friday before it lapses on Monday
		d.runJobs()
		if d.told("frank", "request.expiring") != 1 || d.told("audrey", "request.expiring") != 0 {
			t.Fatalf("who can decide is warned: %v", d.notices("frank"))
		}
		clock.Advance(3 * day)
		d.runJobs()
		if d.told("frank", "request.lapsed") != 1 {
			t.Fatalf("%v", d.notices("frank"))
		}
		for _, e := range d.refusals("request.expired") {
			if e.ApprovalRequestID == waits.RequestID && (e.ActorID != "" || e.ActorName != "apdesk") {
				t.Fatalf("a lapse names %q", e.ActorName)
			}
		}
		_, err := d.redeem("sap", id, "k", arguments("2.00"))
		wantReason(t, err, "expired")
	})
}

func TestALapseNamesNobodyWhoeverFindsItOut(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		d.request("robot", ask(t, "1.00"))
		clock.Advance(8 * day)
		if again := d.request("robot", ask(t, "1.00")); !again.Created {
			t.Fatalf("%+v", again)
		}
		if e := d.refusals("request.expired"); len(e) != 1 || e[0].ActorName != "apdesk" {
			t.Fatalf("%+v", e)
		}
	})
}

func TestSilenceAboutAWriteIsToldThreeTimes(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		_, id := d.approved(ask(t, "1.00"))
		_, other := d.approved(ask(t, "2.00"))
		for approval, amount := range map[string]string{id: "1.00", other: "2.00"} {
			if _, err := d.redeem("sap", approval, "k", arguments(amount)); err != nil {
				t.Fatal(err)
			}
		}
		want := func(n int, after string) {
			t.Helper()
			d.runJobs()
			for _, name := range []string{"fumiko", "lars"} {
				if got := d.told(name, "report.overdue"); got != n {
					t.Fatalf("%s: %s was told %d times, want %d", after, name, got, n)
				}
			}
		}
		want(0, "at once")
		clock.Advance(15 * time.Minute)
		want(2, "after 15 minutes")
		if _, err := d.svc.Report(t.Context(), d.mcp("sap"), other, approvals.ReportInput{Status: approvals.ReportPosted, DocumentNumber: "19"}, models.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		clock.Advance(45 * time.Minute)
		want(3, "after an hour, of the one still silent")
		clock.Advance(23 * time.Hour)
		want(4, "after a day")
		clock.Advance(100 * day)
		want(4, "and then no more")
	})
}

func TestAnUnroutedRequestThatEndsClosesItsCase(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		withdrawn := d.request("robot", ask(t, "1.00"))
		lapses := d.request("robot", ask(t, "2.00"))
		if _, err := d.svc.WithdrawRequest(t.Context(), d.mcp("robot"), approvals.WithdrawInput{RequestID: withdrawn.RequestID}); err != nil {
			t.Fatal(err)
		}
		clock.Advance(8 * day)
		d.runJobs()
		for _, id := range []string{withdrawn.RequestID, lapses.RequestID} {
			if d.cases.closed["case_for_"+id] != "send_back" {
				t.Fatalf("the case of %s stays open: %v", id, d.cases.closed)
			}
		}
	})
}

func TestACorrectionSettlesTheOtherRequestsOfTheInvoice(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(2))
		corrected := d.request("robot", ask(t, "1.00"))
		other := d.request("robot", ask(t, "2.00"))
		p := d.page("frank", corrected.RequestID)
		_, err := d.svc.Vote(t.Context(), d.web("frank"), approvals.VoteInput{RequestID: corrected.RequestID, Decision: models.VoteReject, Reason: "another amount",
			Version: p.Request.Version, Correction: map[string]string{"amount": "1.50"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, opened := d.cases.opened[other.RequestID]; !opened {
			t.Fatal("frank may not approve the other call of this invoice any more, and nobody else is left")
		}
	})
}

func TestVotersWhoLeaveAreReviewed(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		mine, id := d.approved(ask(t, "1.00"))
		spent, spentID := d.approved(ask(t, "2.00"))
		if _, err := d.redeem("sap", spentID, "k", arguments("2.00")); err != nil {
			t.Fatal(err)
		}
		d.deactivate("fumiko")
		d.peopleChanged("fumiko")
		if d.cases.reviews[mine] == "" || d.cases.reviews[spent] != "" {
			t.Fatalf("a case for what was not used yet, and only for that: %v", d.cases.reviews)
		}
		if d.told("lars", "approval.revoked") != 1 || d.told("clara", "approval.revoked") != 1 {
			t.Fatal("AP lead and who answers for the robot are told")
		}
		_, err := d.redeem("sap", id, "k", arguments("1.00"))
		wantReason(t, err, "revoked")
		// Found out only at the redeem, it is the same.
		v := d.request("robot", ask(t, "3.00"))
		d.yes("frank", v.RequestID)
		got, err := d.svc.Get(t.Context(), d.mcp("robot"), v.RequestID)
		if err != nil {
			t.Fatal(err)
		}
		d.takeRole("frank", models.RoleFinanceLead)
		_, err = d.redeem("sap", got.ApprovalID, "k", arguments("3.00"))
		wantReason(t, err, "revoked")
		if d.cases.reviews[v.RequestID] == "" {
			t.Fatal("no review")
		}
	})
}

func TestAVoteLostBeforeTheGrantDoesNotSpoilIt(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.person("greta", models.RoleFinanceLead)
		d.rule(financeRule(2))
		v := d.request("robot", ask(t, "1.00"))
		d.yes("fumiko", v.RequestID)
		d.deactivate("fumiko")
		d.peopleChanged("fumiko")
		for _, name := range []string{"frank", "greta"} {
			clock.Advance(time.Minute)
			d.yes(name, v.RequestID)
		}
		got, err := d.svc.Get(t.Context(), d.mcp("robot"), v.RequestID)
		if err != nil || !slices.Equal(got.DecidedBy, []string{"frank", "greta"}) {
			t.Fatalf("%+v, %v", got, err)
		}
		answer, err := d.redeem("sap", got.ApprovalID, "k", arguments("1.00"))
		if err != nil || len(answer.Approvers) != 2 {
			t.Fatalf("two people who are still there approved it: %+v, %v", answer, err)
		}
	})
}

func TestManyRequestsAreSettledInBatches(t *testing.T) {
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		d := newDesk(t, store)
		d.rule(financeRule(2))
		const n = 250
		for i := range n {
			d.request("robot", ask(t, fmt.Sprintf("%d.00", i+1), func(in *approvals.RequestInput) {
				in.Invoice.ID = fmt.Sprintf("INV-%d", i)
				in.Action.Arguments = json.RawMessage(fmt.Sprintf(`{"invoice_id":"INV-%d","amount":"%d.00","currency":"EUR"}`, i, i+1))
			}))
			clock.Advance(time.Millisecond)
		}
		d.deactivate("frank")
		d.peopleChanged("frank")
		if opened := len(d.cases.opened); opened == 0 || opened == n {
			t.Fatalf("%d settled at once", opened)
		}
		d.runJobs()
		if opened := len(d.cases.opened); opened != n {
			t.Fatalf("%d of %d settled", opened, n)
		}
	})
}

func TestADelegateWithoutALimitIsRefusedAndOneWithSomeIsToldOf(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		try := func(document string) (approvals.DelegationView, error) {
			n := d.toDelegate(6, 9, "nina@example.com")
			n.DocumentType = document
			return d.svc.Delegate(t.Context(), d.web("fumiko"), n)
		}
		refused := func(document, words string) {
			t.Helper()
			_, err := try(document)
			wantIssue(t, err, "/delegate")
			if !strings.Contains(err.Error(), words) {
				t.Errorf("%v", err)
			}
		}
		// Before there is a rule nobody knows what fumiko will decide.
		made, err := try("")
		if err != nil || made.Reach != (approvals.Reach{}) {
			t.Fatalf("%+v, %v", made.Reach, err)
		}
		if err := d.svc.EndDelegation(t.Context(), d.web("fumiko"), made.ID); err != nil {
			t.Fatal(err)
		}
		large := d.rule(financeRule(1))
		refused("", "has no limit of their own for anything fumiko decides, and both limits count, so nothing would move to nina")
		if list, err := d.svc.Delegations(t.Context(), d.web("fumiko"), false); err != nil || len(list) != 0 {
			t.Fatalf("what was refused stands: %+v, %v", list, err)
		}
		small := smallLimit("nina")
		small.DocumentType = "KG"
		d.rule(small)
		refused("KR", "for anything fumiko decides on document type KR")
		made, err = try("KG")
		if err != nil || made.Reach != (approvals.Reach{Rules: 1, Part: 1}) {
			t.Fatalf("%+v, %v", made.Reach, err)
		}
		if list, err := d.svc.Delegations(t.Context(), d.web("frank"), false); err != nil || len(list) != 1 || list[0].Reach != made.Reach {
			t.Errorf("the list says %+v, %v", list, err)
		}
		if err := d.svc.EndDelegation(t.Context(), d.web("fumiko"), made.ID); err != nil {
			t.Fatal(err)
		}
		// A pending request keeps its rule, and so does what can move of it.
		waiting := d.request("robot", ask(t, "0.50")).RequestID
		if err := d.svc.RetireRule(t.Context(), models.Operator(company), large.ID, 1); err != nil {
			t.Fatal(err)
		}
		d.rule(approvals.NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "5000", To: "10000"})
		d.rule(smallLimit("nina"))
		today := d.toDelegate(5, 9, "nina@example.com")
		if made, err = d.svc.Delegate(t.Context(), d.web("fumiko"), today); err != nil || !made.Reach.Nothing() {
			t.Fatalf("%+v, %v", made.Reach, err)
		}
		if p := d.page("frank", waiting); !slices.ContainsFunc(p.Deciders, func(w approvals.Decider) bool { return w.Name == "nina" && w.OnBehalfOf == "fumiko" }) {
			t.Errorf("%+v", p.Deciders)
		}
	})
}
