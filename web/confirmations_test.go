package web

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
)

const deletion = `"server": {"name": "Archive", "url": "https://archive.example.test/mcp"}, "tool": "delete_document", "arguments": {"document_id": "D-1", "pages": 2.50}`

const question = `{` + deletion + `, "run_id": "run-7f3", "request_state_hash": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
 "invoice": {"id": "5105600123", "amount": 1234.50, "currency": "EUR"},
 "input_requests": {"confirm": {"method": "elicitation/create", "params": {"message": "Delete D-1 for good?",
   "requestedSchema": {"type": "object", "properties": {"confirm": {"type": "boolean", "title": "Delete it"}}, "required": ["confirm"]}}}}}`

// newWorldThatAsks is a desk with tokens that may ask for confirmations: asker, and glimpse, which only
// reads them.
func newWorldThatAsks(t *testing.T) *world {
	t.Helper()
	w := newWorld(t)
	w.in("1000", func(tx *models.Tx) error {
		for name, scope := range map[string]models.Scope{"asker": models.ScopeConfirmationsWrite, "glimpse": models.ScopeConfirmationsRead} {
			secret, _, err := tx.CreateToken(models.NewToken{UserEmail: "agent@example.test", Name: name, Scopes: []models.Scope{scope}})
			if err != nil {
				return err
			}
			w.tokens[name] = secret
		}
		return nil
	})
	return w
}

func (w *world) answerConfirmation(id string, in confirm.AnswerInput) {
	w.t.Helper()
	fiona := w.person("fiona@example.test")
	page, err := w.confirm.Page(w.t.Context(), fiona, id)
	if err != nil {
		w.t.Fatal(err)
	}
	in.ID, in.Version = id, page.Confirmation.Version
	if _, err := w.confirm.Answer(w.t.Context(), fiona, in); err != nil {
		w.t.Fatal(err)
	}
}

// Every answer about a confirmation that an agent can get over REST.
func TestConfirmations_on_the_wire(t *testing.T) {
	w := newWorldThatAsks(t)
	talk := w.talk()
	ids, say := talk.ids, talk.say

	say("a scope the token lacks", "POST", "/api/v1/confirmations", "agent", question)
	say("a token that may only read", "POST", "/api/v1/confirmations", "glimpse", question)
	say("a role the user lacks", "POST", "/api/v1/confirmations", "fiona", question)
	say("a body that names nothing right", "POST", "/api/v1/confirmations", "asker",
		`{"server": "Archive", "tool": "", "arguments": {"n": 12345678901234567890, "a": 1, "a": 2}, "input_requests": {"k": {"method": "sampling/createMessage"}}, "expires_in": 0, "role": "ap_clerk"}`)
	say("questions that are none", "POST", "/api/v1/confirmations", "asker", `{`+deletion+`, "input_requests": {"k": {"method": "sampling/createMessage", "params": {}}}}`)
	say("a form that is nested", "POST", "/api/v1/confirmations", "asker",
		`{`+deletion+`, "input_requests": {"k": {"method": "elicitation/create", "params": {"message": "Where?", "requestedSchema": {"type": "object", "properties": {"where": {"type": "object"}}}}}}}`)
	say("a form that asks for a secret", "POST", "/api/v1/confirmations", "asker",
		`{`+deletion+`, "input_requests": {"k": {"method": "elicitation/create", "params": {"message": "Type your password.", "requestedSchema": {"type": "object", "properties": {"password": {"type": "string"}}}}}}}`)

	a := say("a question", "POST", "/api/v1/confirmations", "asker", question, "Idempotency-Key", "k1")
	ids["confirmation"] = a.field("confirmation_id")
	say("the same with the same key: the first answer", "POST", "/api/v1/confirmations", "asker", question, "Idempotency-Key", "k1")
	say("the key with another body", "POST", "/api/v1/confirmations", "asker", swap(t, question, "for good", "today"), "Idempotency-Key", "k1")
	say("where it stands", "GET", "/api/v1/confirmations/{confirmation}?wait=0", "glimpse", "")
	say("a wait out of range", "GET", "/api/v1/confirmations/{confirmation}?wait=51", "glimpse", "")
	say("another agent", "GET", "/api/v1/confirmations/{confirmation}?workspace_id=1000", "both", "")
	say("another workspace", "GET", "/api/v1/confirmations/{confirmation}?workspace_id=2000", "both", "")
	say("taken before anybody answered", "POST", "/api/v1/confirmations/{confirmation}/take", "asker", `{`+deletion+`, "idempotency_key": "t1"}`)

	w.answerConfirmation(ids["confirmation"], confirm.AnswerInput{Action: models.ElicitAccept, Content: map[string][]string{"confirm": {"true"}}, SecondStep: true})
	say("once answered: not what", "GET", "/api/v1/confirmations/{confirmation}?wait=50", "asker", "")
	say("taken without a key", "POST", "/api/v1/confirmations/{confirmation}/take", "asker", `{`+deletion+`}`)
	say("taken for another call", "POST", "/api/v1/confirmations/{confirmation}/take", "asker", `{`+strings.Replace(deletion, "D-1", "D-2", 1)+`, "idempotency_key": "t1"}`)
	say("taken by a token that may only read", "POST", "/api/v1/confirmations/{confirmation}/take", "glimpse", `{`+deletion+`, "idempotency_key": "t1"}`)
	say("taken by another account", "POST", "/api/v1/confirmations/{confirmation}/take?workspace_id=1000", "both", `{`+deletion+`, "idempotency_key": "t1"}`)
	say("taken", "POST", "/api/v1/confirmations/{confirmation}/take", "asker", `{`+deletion+`, "idempotency_key": "t1"}`)
	say("the same key and call again, the key in the header", "POST", "/api/v1/confirmations/{confirmation}/take", "asker", `{`+deletion+`}`, "Idempotency-Key", "t1")
	say("taken twice", "POST", "/api/v1/confirmations/{confirmation}/take", "asker", `{`+deletion+`, "idempotency_key": "t2"}`)
	say("the same key for another call", "POST", "/api/v1/confirmations/{confirmation}/take", "asker", `{`+strings.Replace(deletion, "D-1", "D-2", 1)+`, "idempotency_key": "t1"}`)
	say("withdrawn too late", "POST", "/api/v1/confirmations/{confirmation}/withdraw", "asker", "")

	a = say("another question", "POST", "/api/v1/confirmations", "asker", question)
	ids["second"] = a.field("confirmation_id")
	say("withdrawn by another account", "POST", "/api/v1/confirmations/{second}/withdraw?workspace_id=1000", "both", "")
	say("withdrawn", "POST", "/api/v1/confirmations/{second}/withdraw", "asker", "")
	say("withdrawn again", "POST", "/api/v1/confirmations/{second}/withdraw", "asker", "{}")
	say("what was withdrawn is cancelled", "POST", "/api/v1/confirmations/{second}/take", "asker", `{`+deletion+`, "idempotency_key": "t1"}`)

	a = say("a question for a minute", "POST", "/api/v1/confirmations", "asker", swap(t, question, `"run_id"`, `"expires_in": 60, "run_id"`))
	ids["third"] = a.field("confirmation_id")
	w.clock.Advance(time.Minute)
	say("nobody answered", "GET", "/api/v1/confirmations/{third}", "asker", "")
	say("what nobody answered is cancelled", "POST", "/api/v1/confirmations/{third}/take", "asker", `{`+deletion+`, "idempotency_key": "t1"}`)

	a = say("an address to open", "POST", "/api/v1/confirmations", "both",
		`{"workspace_id": "2000", `+deletion+`, "input_requests": {"go": {"method": "elicitation/create", "params": {"mode": "url", "message": "Sign in.", "url": "https://login.example.test/x", "elicitationId": "e1"}}}}`)
	ids["fourth"] = a.field("confirmation_id")
	say("no such confirmation", "GET", "/api/v1/confirmations/conf_nothing", "asker", "")

	talk.golden("testdata/confirmations.golden")
}

// No token answers a confirmation: not over REST, where there is no such operation, nor on the pages.
func TestNoToken_answers_a_confirmation(t *testing.T) {
	w := newWorldThatAsks(t)
	id := w.call("POST", "/api/v1/confirmations", "asker", question).field("confirmation_id")
	for _, token := range []string{"fiona", "asker"} {
		for _, path := range []string{"/confirmations/" + id, "/confirmations/" + id + "/answer"} {
			if a := w.call("POST", "/api/v1"+path, token, `{"action": "accept"}`); a.status != 404 && a.status != 405 {
				t.Errorf("/api/v1%s with %s: %d %s", path, token, a.status, a.body)
			}
			if a := w.call("POST", path, token, "action=accept&content.confirm=true&second_step=yes&version=1", "Content-Type", "application/x-www-form-urlencoded"); a.status < 300 || (a.status < 400 && !strings.HasPrefix(a.header.Get("Location"), "/login")) {
				t.Errorf("%s with %s: %d", path, token, a.status)
			}
		}
	}
	if a := w.call("GET", "/api/v1/confirmations/"+id, "asker", ""); a.field("status") != "pending" {
		t.Errorf("%s", a.body)
	}
}

// What the security settings forbid over REST is refused before anything is written; over no other
// channel, and in no other workspace.
func TestASecurityBlock_refuses_the_action_over_REST(t *testing.T) {
	w := newWorldThatAsks(t)
	confirmation := w.call("POST", "/api/v1/confirmations", "asker", question).field("confirmation_id")
	theCase := w.call("POST", "/api/v1/handovers", "agent", poClosed).field("case_id")
	request := w.call("POST", "/api/v1/approval-requests", "agent", write).field("request_id")
	waits := w.call("POST", "/api/v1/holds", "agent", hold).field("hold_id")

	other := strings.ReplaceAll(poClosed, "5105600123", "5105600999")
	for _, c := range []struct{ action, method, path, token, body string }{
		{"route_to_person", "POST", "/handovers", "agent", other},
		{"route_to_person", "POST", "/handovers", "agent", `{"case_id": "` + theCase + `", "answer": "Yes."}`},
		{"get_case", "GET", "/cases", "agent", ""},
		{"get_case", "GET", "/cases/" + theCase, "agent", ""},
		{"request_approval", "POST", "/approval-requests", "agent", strings.ReplaceAll(write, "V-2001", "V-2002")},
		{"get_approval", "GET", "/approval-requests/" + request, "agent", ""},
		{"redeem_approval", "POST", "/approvals/apr_nothing/redeem", "erp", `{` + theCall + `, "idempotency_key": "r1"}`},
		{"report_write", "POST", "/approvals/apr_nothing/report", "erp", `{"status": "posted", "document_number": "1"}`},
		{"hold_and_recheck", "POST", "/holds", "agent", strings.ReplaceAll(hold, "5105600124", "5105600999")},
		{"list_due_rechecks", "POST", "/holds/lease", "agent", ""},
		{"report_recheck", "POST", "/holds/" + waits + "/recheck", "agent", `{"result": "available"}`},
		{"request_confirmation", "POST", "/confirmations", "asker", question},
		{"get_confirmation", "GET", "/confirmations/" + confirmation, "asker", ""},
		{"take_confirmation", "POST", "/confirmations/" + confirmation + "/take", "asker", `{` + deletion + `, "idempotency_key": "t1"}`},
		{"withdraw_confirmation", "POST", "/confirmations/" + confirmation + "/withdraw", "asker", ""},
	} {
		t.Run(c.action+" "+c.path, func(t *testing.T) {
			set := func(change func(models.Principal, string, models.Channel) error, channel models.Channel) {
				t.Helper()
				if err := change(w.person("olga@example.test"), c.action, channel); err != nil {
					t.Fatal(err)
				}
			}
			block := func(by models.Principal, action string, on models.Channel) error {
				return w.confirm.Block(t.Context(), by, action, on)
			}
			unblock := func(by models.Principal, action string, on models.Channel) error {
				return w.confirm.Unblock(t.Context(), by, action, on)
			}
			set(block, models.ChannelAPI)
			before := w.rows()
			a := w.call(c.method, "/api/v1"+c.path, c.token, c.body)
			if a.status != 403 || a.code() != "SECURITY_BLOCKED" || !strings.Contains(a.body, `"action":"`+c.action+`"`) || !strings.Contains(a.body, "/settings/security") {
				t.Errorf("%d %s", a.status, a.body)
			}
			if after := w.rows(); after != before {
				t.Errorf("something was written:\n%s\n%s", before, after)
			}
			set(unblock, models.ChannelAPI)
			set(block, models.ChannelMCP)
			if a := w.call(c.method, "/api/v1"+c.path, c.token, c.body); a.code() == "SECURITY_BLOCKED" {
				t.Errorf("a block of the other channel counts here too: %s", a.body)
			}
			set(unblock, models.ChannelMCP)
		})
	}

	if err := w.confirm.Block(t.Context(), w.person("olga@example.test"), "route_to_person", models.ChannelAPI); err != nil {
		t.Fatal(err)
	}
	if a := w.call("POST", "/api/v1/handovers?workspace_id=2000", "both", poClosed); a.status != 201 {
		t.Errorf("another workspace: %d %s", a.status, a.body)
	}
	if a := w.call("POST", "/api/v1/handovers", "fiona", poClosed); a.code() != "insufficient_permission" {
		t.Errorf("somebody who may not do it anyway: %s", a.body)
	}
}

// rows counts what the desk has written.
func (w *world) rows() string {
	w.t.Helper()
	var out strings.Builder
	w.in("1000", func(tx *models.Tx) error {
		out.Reset()
		for _, table := range []string{"cases", "handovers", "approval_requests", "approvals", "holds", "confirmations", "audit_events", "idempotency_keys", "jobs"} {
			var n int64
			if err := tx.DB.Table(table).Count(&n).Error; err != nil {
				return err
			}
			fmt.Fprintf(&out, "%s %d ", table, n)
		}
		return nil
	})
	return out.String()
}
