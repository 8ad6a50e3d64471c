package confirm

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

const (
	acceptedSure = `{"ok":{"action":"accept","content":{"sure":true}}}`
	cancelledAll = `{"ok":{"action":"cancel"}}`
)

func TestAFinanceLeadAnswersAndTheRobotTakesItOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		id := d.ask("robot")
		v, err := d.svc.Get(t.Context(), d.mcp("robot"), id)
		if err != nil || v.Status != models.ConfirmationPending || !v.ExpiresAt.Equal(modelstest.Start.Add(time.Hour)) {
			t.Fatalf("asked: %+v %v", v, err)
		}
		_, err = d.take("robot", id, "k1")
		_ = wantReason(t, err, models.Conflict, "not_answered")

		p := d.page("fumiko", id)
		if !p.CanAnswer || p.Server.Registered || p.Server.ReportedBy != "robot" || p.Server.Host != "erp.example" || p.Role != models.RoleFinanceLead ||
			p.TimeLeft != time.Hour || string(p.Arguments) != `{"amount":"250.00","invoice_id":"5105600123"}` || p.Questions[0].Message != "Delete the draft of 5105600123?" {
			t.Fatalf("page %+v", p)
		}
		if len(p.OnBehalf) != 1 || p.OnBehalf[0] != "clara" || len(p.Deciders) != 3 {
			t.Fatalf("people %v %+v", p.OnBehalf, p.Deciders)
		}
		_, err = d.svc.Answer(t.Context(), d.web("fumiko"), AnswerInput{ID: id, Action: models.ElicitAccept, Content: map[string][]string{"reason": {strings.Repeat("x", 41)}}, Version: 1})
		wantIssue(t, err, "/content/sure")
		wantIssue(t, err, "/content/reason")
		_, err = d.svc.Answer(t.Context(), d.web("fumiko"), AnswerInput{ID: id, Action: models.ElicitAccept, Content: yes(), Version: 1})
		wantIssue(t, err, "/second_step")
		if !NeedsSecondStep(err) || d.status(id) != models.ConfirmationPending {
			t.Fatalf("accepting must take a second step: %v", err)
		}
		d.mustAnswer("fumiko", id, models.ElicitAccept)
		if d.status(id) != models.ConfirmationAnswered {
			t.Fatal("not answered")
		}
		_, err = d.take("other-robot", id, "k1")
		_ = wantCode(t, err, models.NotFound)
		for _, other := range []func(*TakeInput){
			func(in *TakeInput) { in.ServerURL = "https://other.example/mcp" },
			func(in *TakeInput) { in.ServerName = "Other" },
			func(in *TakeInput) { in.Tool = "delete_all" },
			func(in *TakeInput) {
				in.Arguments = json.RawMessage(`{"invoice_id":"5105600123","amount":"250.0"}`)
			},
			func(in *TakeInput) {
				in.Arguments = json.RawMessage(`{"invoice_id":"5105600123","amount":"250.00","approval_id":"x"}`)
			},
		} {
			_, err = d.take("robot", id, "k1", other)
			_ = wantReason(t, err, models.Conflict, "different_call")
		}
		d.wantTaken(id, "k1", acceptedSure)
		d.wantTaken(id, "k1", acceptedSure)
		got, err := d.take("robot", id, "k1", func(in *TakeInput) {
			in.ServerURL, in.ServerName = "https://ERP.example:443/mcp", ""
			in.Arguments = json.RawMessage(` {"amount" : "250.00", "invoice_id":"5105600123"}`)
		})
		if err != nil || got != acceptedSure {
			t.Fatalf("the same call spelled differently: %s %v", got, err)
		}
		_, err = d.take("robot", id, "k2")
		_ = wantCode(t, err, models.ConfirmationReplayed)
		_, err = d.take("robot", id, "k1", func(in *TakeInput) { in.Tool = "delete_all" })
		_ = wantCode(t, err, models.ConfirmationReplayed)
		if d.status(id) != models.ConfirmationTaken {
			t.Fatal("not taken")
		}
		p = d.page("fumiko", id)
		if p.TakenBy != "robot" || len(p.Answer) != 2 || p.Answer[0].Value != "Yes" || p.Answer[1].Given {
			t.Fatalf("page after: %+v", p)
		}
		d.wantTrail(id, "confirmation.requested", "confirmation.answered", "confirmation.take_refused", "confirmation.take_refused", "confirmation.take_refused",
			"confirmation.take_refused", "confirmation.take_refused", "confirmation.taken", "confirmation.take_refused", "confirmation.take_refused")
	})
}

func TestDeclineAndCancelReachTheRobotAsSuch(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		for _, action := range []models.ElicitAction{models.ElicitDecline, models.ElicitCancel} {
			id := d.ask("robot")
			if _, err := d.svc.Answer(t.Context(), d.web("frank"), AnswerInput{ID: id, Action: action, Version: 1, Reason: "not agreed"}); err != nil {
				t.Fatal(err)
			}
			d.wantTaken(id, "k", fmt.Sprintf(`{"ok":{"action":%q}}`, action))
		}
	})
}

func TestWhoMayNotAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		id := d.ask("robot")
		_ = wantCode(t, d.answer("lars", id, models.ElicitAccept), models.InsufficientPermission)
		_ = wantCode(t, d.answer("adam", id, models.ElicitAccept), models.InsufficientPermission)
		_ = wantCode(t, d.answer("audrey", id, models.ElicitDecline), models.InsufficientPermission)
		_ = wantReason(t, d.answer("clara", id, models.ElicitAccept), models.Unprocessable, "responsible")
		for _, by := range []models.Principal{d.mcp("robot"), d.mcp("fumiko"), d.as("fumiko", models.ChannelAPI), d.as("robot", models.ChannelWeb)} {
			_, err := d.svc.Answer(t.Context(), by, AnswerInput{ID: id, Action: models.ElicitAccept, Content: yes(), Version: 1, SecondStep: true})
			_ = wantCode(t, err, models.InsufficientPermission)
		}
		// The one who made the token that asked.
		made := d.mcp("robot")
		made.TokenBy = d.users["frank"].ID
		v, err := d.svc.Request(t.Context(), made, question(), models.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		_ = wantReason(t, d.answer("frank", v.ConfirmationID, models.ElicitAccept), models.Unprocessable, "token_creator")
		// A person who asks with a token of their own.
		fumiko := d.mcp("fumiko")
		fumiko.Roles = append(fumiko.Roles, models.RoleAgent)
		own, err := d.svc.Request(t.Context(), fumiko, question(), models.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		_ = wantReason(t, d.answer("fumiko", own.ConfirmationID, models.ElicitAccept), models.Unprocessable, "asked")
		// Whoever becomes responsible later is barred as well.
		d.tx(models.Operator(company), func(tx *models.Tx) error {
			return tx.DB.Exec("UPDATE users SET owner_id = ? WHERE id = ?", d.users["frank"].ID, d.users["robot"].ID).Error
		})
		_ = wantReason(t, d.answer("frank", id, models.ElicitAccept), models.Unprocessable, "responsible")
		if d.status(id) != models.ConfirmationPending {
			t.Fatal("somebody answered")
		}
		refused := 0
		for _, e := range d.page("audrey", id).Timeline {
			if e.Action == "confirmation.answer_refused" {
				refused++
			}
		}
		if refused != 9 {
			t.Fatalf("%d refusals on the trail, want 9", refused)
		}
		if why := d.page("clara", id).WhyNot; !strings.Contains(why, "answer for the account") {
			t.Fatalf("clara is told %q", why)
		}
		stranger := d.web("fumiko")
		stranger.WorkspaceID = "2000"
		_, err = d.svc.Answer(t.Context(), stranger, AnswerInput{ID: id, Action: models.ElicitAccept, Content: yes(), Version: 1, SecondStep: true})
		_ = wantCode(t, err, models.NotFound)
		_, err = d.svc.Page(t.Context(), stranger, id)
		_ = wantCode(t, err, models.NotFound)
	})
}

func TestTheSecondAnswerIsToldWhoDidWhatAndWhen(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		id := d.ask("robot")
		_, err := d.svc.Answer(t.Context(), d.web("frank"), AnswerInput{ID: id, Action: models.ElicitDecline, Version: 7})
		_ = wantReason(t, err, models.Conflict, "stale")
		d.mustAnswer("fumiko", id, models.ElicitAccept)
		ne := wantReason(t, d.answer("frank", id, models.ElicitDecline), models.Conflict, "answered")
		if ne.Message != "fumiko accepted this on 5 October 2026 at 09:00 UTC." || ne.Details["answered_by"] != "fumiko" {
			t.Fatalf("frank is told %q %v", ne.Message, ne.Details)
		}
		var both sync.WaitGroup
		id = d.ask("robot")
		errs := make([]error, 2)
		for i, name := range []string{"fumiko", "frank"} {
			action := []models.ElicitAction{models.ElicitAccept, models.ElicitDecline}[i]
			both.Go(func() { errs[i] = d.answer(name, id, action) })
		}
		both.Wait()
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("exactly one may win: %v", errs)
		}
	})
}

func TestNobodyAnsweredInTime(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		lazy, swept := d.ask("robot"), d.ask("robot", func(in *RequestInput) { seconds := int64(60); in.ExpiresIn = &seconds })
		clock.Advance(time.Minute)
		d.runJobs()
		if d.status(swept) != models.ConfirmationExpired || d.status(lazy) != models.ConfirmationPending {
			t.Fatal("a minute later")
		}
		clock.Advance(time.Hour)
		if d.status(lazy) != models.ConfirmationExpired { // before any job has run
			t.Fatal("an hour later")
		}
		ne := wantReason(t, d.answer("fumiko", lazy, models.ElicitAccept), models.Conflict, "expired")
		if !strings.Contains(ne.Message, "expired on 5 October 2026 at 10:00 UTC") {
			t.Fatalf("fumiko is told %q", ne.Message)
		}
		for _, key := range []string{"k1", "k2", "k1"} {
			d.wantTaken(lazy, key, cancelledAll)
			d.wantTaken(swept, key, cancelledAll)
		}
		_, err := d.take("robot", lazy, "k3", func(in *TakeInput) { in.Tool = "other" })
		_ = wantReason(t, err, models.Conflict, "different_call")
		d.runJobs()
		d.wantTrail(lazy, "confirmation.requested", "confirmation.answer_refused", "confirmation.expired", "confirmation.cancel_taken", "confirmation.take_refused")
		if !d.page("fumiko", lazy).CancelOnly {
			t.Fatal("the page must say that only cancel is handed out")
		}
	})
}

func TestAnAnswerNobodyTakesExpires(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		lazy, swept, taken := d.ask("robot"), d.ask("robot"), d.ask("robot")
		for _, id := range []string{lazy, swept, taken} {
			d.mustAnswer("fumiko", id, models.ElicitAccept)
		}
		clock.Advance(24*time.Hour - time.Second)
		d.wantTaken(taken, "k", acceptedSure)
		clock.Advance(time.Second)
		d.wantTaken(lazy, "k", cancelledAll)
		d.runJobs()
		d.wantTaken(swept, "k", cancelledAll)
		d.wantTaken(taken, "k", acceptedSure)
		d.wantTrail(swept, "confirmation.requested", "confirmation.answered", "confirmation.expired", "confirmation.cancel_taken")
		if ne := wantReason(t, d.answer("frank", swept, models.ElicitAccept), models.Conflict, "expired"); !strings.Contains(ne.Message, "fumiko accepted") {
			t.Fatalf("frank is told %q", ne.Message)
		}
	})
}

func TestWithdrawnHandsOutCancel(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		for _, answered := range []bool{false, true} {
			id := d.ask("robot")
			if answered {
				d.mustAnswer("fumiko", id, models.ElicitAccept)
			}
			_, err := d.svc.Withdraw(t.Context(), d.mcp("other-robot"), id)
			_ = wantCode(t, err, models.NotFound)
			for range 2 {
				if v, err := d.svc.Withdraw(t.Context(), d.mcp("robot"), id); err != nil || v.Status != models.ConfirmationWithdrawn {
					t.Fatalf("%+v %v", v, err)
				}
			}
			d.wantTaken(id, "k1", cancelledAll)
			d.wantTaken(id, "k2", cancelledAll)
			if ne := wantReason(t, d.answer("fumiko", id, models.ElicitAccept), models.Conflict, "withdrawn"); !strings.Contains(ne.Message, "robot withdrew") {
				t.Fatal(ne.Message)
			}
		}
		id := d.ask("robot")
		d.mustAnswer("fumiko", id, models.ElicitAccept)
		d.wantTaken(id, "k", acceptedSure)
		_, err := d.svc.Withdraw(t.Context(), d.mcp("robot"), id)
		_ = wantCode(t, err, models.Conflict)
	})
}

func TestTwelveTakesAtOnceHandOutOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		id := d.ask("robot")
		d.mustAnswer("fumiko", id, models.ElicitAccept)
		got, errs := make([]string, 12), make([]error, 12)
		var all sync.WaitGroup
		for i := range got {
			all.Go(func() { got[i], errs[i] = d.take("robot", id, fmt.Sprintf("key-%d", i/2)) }) // six keys, each twice
		}
		all.Wait()
		won := map[int]int{}
		for i, err := range errs {
			if err == nil {
				if got[i] != acceptedSure {
					t.Fatalf("handed out %s", got[i])
				}
				won[i/2]++
				continue
			}
			_ = wantCode(t, err, models.ConfirmationReplayed)
		}
		if len(won) != 1 {
			t.Fatalf("keys that won: %v, want one", won)
		}
		for key, times := range won {
			if times != 2 {
				t.Fatalf("key %d got it %d times, want both", key, times)
			}
		}
	})
}

func TestURLModeIsForTheResponsiblePersonAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		url := func(in *RequestInput) { in.InputRequests = json.RawMessage(openURL) }
		id := d.ask("robot", url)
		p := d.page("clara", id)
		if !p.CanAnswer || p.Person != "clara" || p.Questions[0].Host != "bank.example" || len(p.Deciders) != 1 {
			t.Fatalf("page %+v", p)
		}
		answer := func(name string) error {
			_, err := d.svc.Answer(t.Context(), d.web(name), AnswerInput{ID: id, Action: models.ElicitAccept, Version: 1, SecondStep: true})
			return err
		}
		_ = wantCode(t, answer("fumiko"), models.InsufficientPermission)
		if err := answer("clara"); err != nil {
			t.Fatal(err)
		}
		d.wantTaken(id, "k", `{"ok":{"action":"accept"}}`)

		d.deactivate("clara")
		id = d.ask("robot", url)
		if d.status(id) != models.ConfirmationAnswered {
			t.Fatal("without an active responsible person the answer is there at once")
		}
		d.wantTaken(id, "k", cancelledAll)
		d.wantTrail(id, "confirmation.requested", "confirmation.answered", "confirmation.taken")
	})
}

func TestServerRulesSayWhoseRoleAnswers(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		add := func(by, url, tool string, role models.Role) (models.ServerRule, error) {
			return d.svc.AddServerRule(t.Context(), d.web(by), NewServerRule{ServerURL: url, ServerName: "Our ERP", Tool: tool, Role: role})
		}
		_, err := add("lars", erpURL, "", models.RoleAPLead)
		_ = wantCode(t, err, models.InsufficientPermission)
		_, err = d.svc.AddServerRule(t.Context(), d.mcp("adam"), NewServerRule{ServerURL: erpURL, ServerName: "x", Role: models.RoleAPLead})
		_ = wantCode(t, err, models.InsufficientPermission)
		_, err = add("adam", "erp", "", models.RoleAdmin)
		wantIssue(t, err, "/server_url")
		wantIssue(t, err, "/role")

		first := d.ask("robot")
		if _, err = add("adam", "https://ERP.example/", "", models.RoleMasterData); err != nil { // the origin
			t.Fatal(err)
		}
		_, err = add("fumiko", "https://erp.example", "", models.RoleAPLead)
		_ = wantCode(t, err, models.Conflict)
		exact, err := add("fumiko", erpURL, "", models.RoleAPLead)
		if err != nil {
			t.Fatal(err)
		}
		if _, err = add("fumiko", erpURL, "delete_supplier", models.RoleProcurement); err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			url, tool  string
			role       models.Role
			registered bool
		}{
			{erpURL, "delete_draft", models.RoleAPLead, true},
			{erpURL, "delete_supplier", models.RoleProcurement, true},
			{"https://erp.example/other", "delete_draft", models.RoleMasterData, true},
			{"http://erp.example/mcp", "delete_draft", models.RoleFinanceLead, false},
			{"https://erp.example.evil.example/mcp", "delete_draft", models.RoleFinanceLead, false},
		} {
			id := d.ask("robot", func(in *RequestInput) { in.ServerURL, in.Tool, in.ServerName = c.url, c.tool, "ERP (or so)" })
			p := d.page("audrey", id)
			if p.Role != c.role || p.Server.Registered != c.registered || (p.Server.Name == "Our ERP") != c.registered || p.Server.Reported != "ERP (or so)" {
				t.Errorf("%s %s: %s %+v", c.url, c.tool, p.Role, p.Server)
			}
		}
		if p := d.page("audrey", first); p.Role != models.RoleFinanceLead || p.Server.Registered {
			t.Fatal("what was asked before a rule keeps its role")
		}
		second := d.ask("robot")
		if err := d.svc.RetireServerRule(t.Context(), d.web("adam"), exact.ID); err != nil {
			t.Fatal(err)
		}
		_ = wantCode(t, d.svc.RetireServerRule(t.Context(), d.web("adam"), exact.ID), models.Conflict)
		d.mustAnswer("lars", second, models.ElicitAccept)
		if rules, err := d.svc.ServerRules(t.Context(), d.web("audrey")); err != nil || len(rules) != 2 {
			t.Fatalf("%+v %v", rules, err)
		}
		d.mustAnswer("mara", d.ask("robot"), models.ElicitDecline)
	})
}

func TestWhatARequestMustBe(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		seconds := func(n int64) func(*RequestInput) { return func(in *RequestInput) { in.ExpiresIn = &n } }
		for path, change := range map[string]func(*RequestInput){
			"/server/name":        func(in *RequestInput) { in.ServerName = " " },
			"/server/url":         func(in *RequestInput) { in.ServerURL = "" },
			"/tool":               func(in *RequestInput) { in.Tool = "" },
			"/arguments":          func(in *RequestInput) { in.Arguments = nil },
			"/arguments/a":        func(in *RequestInput) { in.Arguments = json.RawMessage(`{"a":1,"a":2}`) },
			"/arguments/n":        func(in *RequestInput) { in.Arguments = json.RawMessage(`{"n":12345678901234567890}`) },
			"/input_requests":     func(in *RequestInput) { in.InputRequests = nil },
			"/request_state_hash": func(in *RequestInput) { in.RequestStateHash = "v1.sealed" },
			"/expires_in":         seconds(0),
			"/invoice/id":         func(in *RequestInput) { in.Invoice.ID = "" },
		} {
			_, err := d.svc.Request(t.Context(), d.mcp("robot"), question(change), models.Idempotency{})
			wantIssue(t, err, path)
		}
		_, err := d.svc.Request(t.Context(), d.mcp("robot"), question(seconds(7*24*3600+1)), models.Idempotency{})
		wantIssue(t, err, "/expires_in")
		_, err = d.svc.Request(t.Context(), d.mcp("robot"), question(func(in *RequestInput) {
			in.InputRequests = json.RawMessage(strings.Replace(sureForm, `"reason"`, `"password"`, 1))
		}), models.Idempotency{})
		_ = wantReason(t, err, models.Unprocessable, "asks_for_secret")
		_, err = d.svc.Request(t.Context(), d.mcp("sap"), question(), models.Idempotency{})
		_ = wantCode(t, err, models.InsufficientPermission)
		reader := d.mcp("robot")
		reader.Scopes = []models.Scope{models.ScopeConfirmationsRead}
		_, err = d.svc.Request(t.Context(), reader, question(), models.Idempotency{})
		_ = wantCode(t, err, models.InsufficientScope)

		idem := models.Idempotency{Key: "k", BodyHash: "h"}
		one, err := d.svc.Request(t.Context(), d.mcp("robot"), question(), idem)
		if err != nil {
			t.Fatal(err)
		}
		two, err := d.svc.Request(t.Context(), d.mcp("robot"), question(), idem)
		if err != nil || one != two {
			t.Fatalf("%+v, then %+v, %v", one, two, err)
		}
		if d.ask("robot") == one.ConfirmationID {
			t.Fatal("two questions must never share an answer")
		}
	})
}

func TestListsShowWhatTheReaderMaySee(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		var ids []string
		for range 3 {
			ids = append(ids, d.ask("robot"))
			clock.Advance(time.Minute)
		}
		foreign := d.ask("other-robot")
		d.mustAnswer("fumiko", ids[0], models.ElicitAccept)

		var read []string
		f := Filter{Limit: 2, Sort: "created_at"}
		for {
			l, err := d.svc.List(t.Context(), d.web("audrey"), f)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range l.Items {
				read = append(read, item.ConfirmationID)
			}
			if f.Cursor = l.NextCursor; f.Cursor == "" {
				break
			}
		}
		if want := append(append([]string{}, ids...), foreign); strings.Join(read, " ") != strings.Join(want, " ") {
			t.Fatalf("read %v, want %v", read, want)
		}
		own, err := d.svc.List(t.Context(), d.mcp("other-robot"), Filter{})
		if err != nil || len(own.Items) != 1 || own.Items[0].ConfirmationID != foreign || own.Items[0].Message != "Delete the draft of 5105600123?" {
			t.Fatalf("%+v %v", own, err)
		}
		_, err = d.svc.Get(t.Context(), d.mcp("other-robot"), ids[0])
		_ = wantCode(t, err, models.NotFound)
		for name, want := range map[string]int{"fumiko": 3, "clara": 0, "lars": 0, "audrey": 0} {
			if waiting, err := d.svc.WaitingFor(t.Context(), d.web(name)); err != nil || len(waiting) != want {
				t.Errorf("%d wait for %s, want %d (%v)", len(waiting), name, want, err)
			}
		}
		clock.Advance(time.Hour)
		for status, want := range map[models.ConfirmationStatus]int{models.ConfirmationPending: 0, models.ConfirmationExpired: 3, models.ConfirmationAnswered: 1} {
			l, err := d.svc.List(t.Context(), d.web("audrey"), Filter{Status: []models.ConfirmationStatus{status}, InvoiceID: "5105600123"})
			if err != nil || len(l.Items) != want {
				t.Errorf("%d are %s, want %d (%v)", len(l.Items), status, want, err)
			}
		}
		_, err = d.svc.List(t.Context(), d.web("audrey"), Filter{Sort: "tool"})
		_ = wantCode(t, err, models.BadRequest)
		_, err = d.svc.List(t.Context(), d.web("audrey"), Filter{Cursor: "x"})
		_ = wantCode(t, err, models.BadRequest)
	})
}

func TestAWaitEndsWithTheAnswer(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		id := d.ask("robot")
		ready, done := make(chan struct{}), make(chan error, 1)
		go func() {
			close(ready)
			done <- d.answer("fumiko", id, models.ElicitDecline)
		}()
		<-ready
		v, err := d.svc.Await(t.Context(), modelstest.WithToken(t, d.store, d.mcp("robot")), id, 50*time.Second)
		if err != nil || v.Status != models.ConfirmationAnswered {
			t.Fatalf("%+v %v", v, err)
		}
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	})
}

func TestAnApprovalIDIsMaskedOnThePage(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		secret := d.store.NewID(models.PrefixApproval)
		id := d.ask("robot", func(in *RequestInput) {
			in.Arguments = json.RawMessage(`{"approval_id":"` + secret + `","lines":[{"n":1.50}]}`)
			in.InputRequests = json.RawMessage(strings.Replace(sureForm, "Delete the draft", "Post with "+secret, 1))
		})
		page, err := json.Marshal(d.page("fumiko", id))
		if err != nil || strings.Contains(string(page), secret) || !strings.Contains(string(page), models.MaskID(secret)) || !strings.Contains(string(page), `"n":1.5`) {
			t.Fatalf("%s %v", page, err)
		}
		d.mustAnswer("fumiko", id, models.ElicitAccept)
		_, err = d.take("robot", id, "k", func(in *TakeInput) {
			in.Arguments = json.RawMessage(`{"approval_id":"` + models.MaskID(secret) + `","lines":[{"n":1.50}]}`)
		})
		_ = wantReason(t, err, models.Conflict, "different_call")
	})
}

func TestABlockedActionIsRefusedOnItsChannel(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		block := func(by models.Principal, action string, channel models.Channel) error {
			return d.svc.Block(t.Context(), by, action, channel)
		}
		_ = wantCode(t, block(d.web("fumiko"), ActionRequest, models.ChannelMCP), models.InsufficientPermission)
		_ = wantCode(t, block(d.mcp("adam"), ActionRequest, models.ChannelMCP), models.InsufficientPermission)
		wantIssue(t, block(d.web("adam"), "drop_tables", models.ChannelMCP), "/action")
		wantIssue(t, block(d.web("adam"), ActionRequest, models.ChannelWeb), "/channel")
		for range 2 {
			if err := block(d.web("adam"), ActionRequest, models.ChannelMCP); err != nil {
				t.Fatal(err)
			}
		}
		_, err := d.svc.Request(t.Context(), d.mcp("robot"), question(), models.Idempotency{})
		_ = wantCode(t, err, models.SecurityBlocked)
		if _, err := d.svc.Request(t.Context(), d.as("robot", models.ChannelAPI), question(), models.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		if blocks, err := d.svc.Blocks(t.Context(), d.web("audrey")); err != nil || len(blocks) != 1 || blocks[0].AuthorName != "adam" {
			t.Fatalf("%+v %v", blocks, err)
		}
		if err := d.svc.Unblock(t.Context(), d.web("adam"), ActionRequest, models.ChannelMCP); err != nil {
			t.Fatal(err)
		}
		d.ask("robot")
	})
}
