package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
	"github.com/apdesk/apdesk/queue"
)

// formCapability is what a client declares that shows forms to a person.
const formCapability = `{"elicitation":{"form":{}}}`

// formCall is a 2026-07-28 call of a client with these capabilities; more holds further params.
func formCall(token, capabilities, tool, args, more string) ask {
	a := callTool(token, tool, args+more)
	a.body = strings.Replace(a.body, `clientCapabilities":{}`, `clientCapabilities":`+capabilities, 1)
	return a
}

// resent is the call that comes back with a state and an answer.
func resent(token, tool, args, state, answer string) ask {
	more := `,"requestState":"` + state + `"`
	if answer != "" {
		more += `,"inputResponses":{"confirm":` + answer + `}`
	}
	return formCall(token, formCapability, tool, args, more)
}

// The answers people give.
const (
	saysYes     = `{"action":"accept","content":{"confirm":true,"reason":"It was a test."}}`
	saysNo      = `{"action":"accept","content":{"confirm":false}}`
	declines    = `{"action":"decline"}`
	dismisses   = `{"action":"cancel"}`
	saysNothing = `{"action":"accept","content":{}}`
)

// asked makes the first call and gives the state it is answered with.
func (w *world) asked(token, tool, args string) string {
	w.t.Helper()
	_, body := w.send(formCall(token, formCapability, tool, args, ""))
	return w.stateIn(body)
}

func (w *world) stateIn(body string) string {
	w.t.Helper()
	var answer struct {
		Result struct {
			ResultType    string                     `json:"resultType"`
			RequestState  string                     `json:"requestState"`
			InputRequests map[string]json.RawMessage `json:"inputRequests"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		w.t.Fatal(err)
	}
	if answer.Result.ResultType != "input_required" || answer.Result.RequestState == "" || len(answer.Result.InputRequests) != 1 || answer.Result.InputRequests["confirm"] == nil {
		w.t.Fatalf("no question: %s", body)
	}
	return answer.Result.RequestState
}

// outcome is what became of a call: ok, input_required, a code of the desk or one of the protocol.
func (w *world) outcome(res *http.Response, body string) string {
	w.t.Helper()
	var answer struct {
		Error  *struct{ Code int } `json:"error"`
		Result struct {
			ResultType string              `json:"resultType"`
			IsError    bool                `json:"isError"`
			Content    []map[string]string `json:"content"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		w.t.Fatalf("HTTP %d %q: %v", res.StatusCode, body, err)
	}
	switch {
	case answer.Error != nil:
		return fmt.Sprintf("%d %d", res.StatusCode, answer.Error.Code)
	case res.StatusCode != http.StatusOK:
		return fmt.Sprintf("HTTP %d", res.StatusCode)
	case answer.Result.IsError:
		var ne models.NamedError
		if err := json.Unmarshal([]byte(answer.Result.Content[0]["text"]), &ne); err != nil {
			w.t.Fatal(err)
		}
		return string(ne.Code)
	case answer.Result.ResultType == "input_required":
		return "input_required"
	}
	return "ok"
}

func (w *world) sent(a ask) string {
	w.t.Helper()
	res, body := w.send(a)
	return w.outcome(res, body)
}

// filedCase is a case of the agent's, and the arguments that withdraw it.
func (w *world) filedCase(invoiceID string) (id, args string) {
	w.t.Helper()
	body, err := json.Marshal(poClosed(invoiceID))
	if err != nil {
		w.t.Fatal(err)
	}
	_, answer := w.send(callTool("agent", "route_to_person", string(body)))
	var got struct {
		Result struct {
			Structured map[string]any `json:"structuredContent"`
		} `json:"result"`
	}
	if err := json.Unmarshal([]byte(answer), &got); err != nil {
		w.t.Fatal(err)
	}
	id, _ = got.Result.Structured["case_id"].(string)
	return id, `{"case_id":"` + id + `"}`
}

// statusOf is where a case stands, and how often it was withdrawn.
func (w *world) statusOf(caseID string) (status models.CaseStatus, withdrawn int64) {
	w.t.Helper()
	err := w.store.View(w.t.Context(), models.Operator("1000"), func(tx *models.Tx) error {
		var c models.Case
		if err := tx.DB.Where("id = ?", caseID).Take(&c).Error; err != nil {
			return err
		}
		status = c.Status
		return tx.DB.Model(&models.AuditEvent{}).Where("subject = ? AND action = ?", caseID, "case.withdrawn").Count(&withdrawn).Error
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return status, withdrawn
}

// said lists what the trail says of the answers given about a record.
func (w *world) said(subject string) (list []string) {
	w.t.Helper()
	err := w.store.View(w.t.Context(), models.Operator("1000"), func(tx *models.Tx) error {
		var events []models.AuditEvent
		err := tx.DB.Where("subject = ? AND action = ?", subject, "confirmation.answered_in_client").Order("at, id").Find(&events).Error
		for _, e := range events {
			var data map[string]any
			if err := json.Unmarshal([]byte(e.Data), &data); err != nil {
				return err
			}
			list = append(list, fmt.Sprintf("%v %v: %v", data["action"], data["confirm"], data["note"]))
			if e.Channel != models.ChannelMCP || data["person_verified"] != false {
				w.t.Errorf("the trail says %+v", e)
			}
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// dialAsking connects the official client with a person beside it who answers like this.
func (w *world) dialAsking(token, version string, person func(*mcp.ElicitParams) *mcp.ElicitResult) *mcp.ClientSession {
	w.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return person(req.Params), nil
		},
	})
	session, err := client.Connect(w.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: w.url, HTTPClient: &http.Client{Transport: withToken(w.tokens[token])}, MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = session.Close() })
	return session
}

func yes(*mcp.ElicitParams) *mcp.ElicitResult {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}
}

func TestThePersonBesideTheClientConfirmsWhatIsUndone(t *testing.T) {
	w := newWorld(t)
	w.ruleFor(models.RoleFinanceLead, "10000")
	var asked []string
	agent := w.dialAsking("agent", "", func(p *mcp.ElicitParams) *mcp.ElicitResult {
		asked = append(asked, p.Message)
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true, "reason": "Not needed."}}
	})

	filed := must[object](t, agent, "route_to_person", poClosed("1"))
	withdrawn := must[object](t, agent, "withdraw_case", object{"case_id": filed["case_id"]})
	resolution, _ := withdrawn["resolution"].(map[string]any)
	if withdrawn["status"] != "resolved" || resolution["exit"] != "withdrawn" || resolution["reason"] != "Not needed." || withdrawn["url"] != filed["url"] {
		t.Errorf("the case is %v", withdrawn)
	}

	first := must[object](t, agent, "request_approval", approvalFor("2", "250.00"))
	if got := must[object](t, agent, "withdraw_request", object{"request_id": first["request_id"]}); got["status"] != "withdrawn" || got["reason"] != "Not needed." {
		t.Errorf("the request is %v", got)
	}

	second := must[object](t, agent, "request_approval", approvalFor("3", "250.00"))
	w.vote(second["request_id"].(string), models.VoteApprove)
	granted := must[object](t, agent, "get_approval", object{"request_id": second["request_id"]})
	approval, _ := granted["approval_id"].(string)
	revoked := must[object](t, agent, "revoke_approval", object{"approval_id": approval})
	if reason, _ := revoked["reason"].(string); revoked["approval_id"] != nil || !strings.Contains(reason, "revoked: Not needed.") {
		t.Errorf("the approval is %v", revoked)
	}
	call := object{"approval_id": approval, "tool": "post_invoice_adjustment", "arguments": posting("3", "250.00"), "idempotency_key": "k"}
	if ne := refusedWith(t, w.dial("erp", ""), "redeem_approval", call); ne.Details["reason"] != "revoked" {
		t.Errorf("afterwards it answers %+v", ne)
	}

	hold := must[object](t, agent, "hold_and_recheck", object{"code": "GR_MISSING", "invoice": invoice("4", "10.00"), "po_id": "4500018822", "line": 10})
	if got := must[object](t, agent, "cancel_hold", object{"hold_id": hold["hold_id"]}); got["status"] != "cancelled" || got["next_check_at"] != nil {
		t.Errorf("the hold is %v", got)
	}

	wants := [][]string{
		{"Withdraw the case", "“INV-1” of “Nordwind GmbH” over 1234.50 EUR", "Purchase order closed", "Procurement", "cannot be undone"},
		{"Withdraw the request to call “post_invoice_adjustment” for invoice “2” over 250.00 EUR", "Post the price difference.", "pending"},
		{"Revoke the approval to call “post_invoice_adjustment” for invoice “3”", "Fiona Finance approved it", "6 October 2026, 09:00 UTC"},
		{"Cancel the hold of invoice “INV-4”", "“4500018822”, line 10", "6 October 2026, 04:00 UTC; 5 of 5 checks"},
	}
	if len(asked) != len(wants) {
		t.Fatalf("asked %q", asked)
	}
	for i, want := range wants {
		for _, part := range want {
			if !strings.Contains(asked[i], part) {
				t.Errorf("the question %q lacks %q", asked[i], part)
			}
		}
	}
	want := "accept true: answered in the client of token agent, person not verified"
	for _, subject := range []any{filed["case_id"], first["request_id"], second["request_id"], hold["hold_id"]} {
		if got := w.said(subject.(string)); !slices.Equal(got, []string{want}) {
			t.Errorf("the trail of %v says %q", subject, got)
		}
	}
	if strings.Contains(w.log.String(), approval) {
		t.Error("the log shows an approval id")
	}
}

func TestWhatUndoesIsPublishedAsDestructive(t *testing.T) {
	w := newWorld(t)
	list, err := w.dial("agent", "").ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var destructive []string
	for _, tool := range list.Tools {
		if *tool.Annotations.DestructiveHint {
			destructive = append(destructive, tool.Name)
			if tool.Annotations.ReadOnlyHint || !strings.Contains(tool.Description, "input_required") {
				t.Errorf("%s is described as %+v %s", tool.Name, tool.Annotations, tool.Description)
			}
		}
	}
	slices.Sort(destructive)
	if want := []string{"cancel_hold", "revoke_approval", "withdraw_case", "withdraw_request"}; !slices.Equal(destructive, want) {
		t.Errorf("destructive are %q", destructive)
	}
}

func TestANoChangesNothingAndIsToldApartOnTheTrail(t *testing.T) {
	w := newWorld(t)
	for i, tc := range []struct{ answer, said string }{
		{saysNo, "accept false"}, {declines, "decline <nil>"}, {dismisses, "cancel <nil>"},
		{`{"action":"decline","content":{"confirm":true}}`, "decline <nil>"},
		{`{"action":"accept","content":{"confirm":false,"reason":7}}`, "accept false"},
	} {
		id, args := w.filedCase(fmt.Sprint(i))
		state := w.asked("agent", "withdraw_case", args)
		if got := w.sent(resent("agent", "withdraw_case", args, state, tc.answer)); got != "USER_DECLINED" {
			t.Errorf("%s: %s", tc.answer, got)
		}
		// Whatever comes later with that question, the answer stays no.
		for _, later := range []string{saysYes, declines, saysNothing, ""} {
			if got := w.sent(resent("agent", "withdraw_case", args, state, later)); got != "USER_DECLINED" {
				t.Errorf("%s, then %s: %s", tc.answer, later, got)
			}
		}
		if status, withdrawn := w.statusOf(id); status != models.CaseOpen || withdrawn != 0 {
			t.Errorf("%s: the case is %s", tc.answer, status)
		}
		if got := w.said(id); len(got) != 1 || !strings.HasPrefix(got[0], tc.said+": answered in the client of token agent") {
			t.Errorf("%s: the trail says %q", tc.answer, got)
		}
	}
}

func TestAnAnswerThatSaysNothingIsAskedAgain(t *testing.T) {
	w := newWorld(t)
	for i, nothing := range []string{"", saysNothing, `{"action":"accept"}`, `{"action":"accept","content":null}`, `{"action":"accept","content":{"confirm":"true"}}`,
		`{"action":"accept","content":{"confirm":null}}`, `{"action":"accept","content":{"confirm":1}}`, `{"action":"accept","content":{"confirm":true,"reason":7}}`,
		`{"action":"accept","content":{"confirm":true,"reason":"a\u0000b"}}`, `{"action":"accept","content":{"confirm":true,"reason":"a\u0007b"}}`, `{"action":"accept","content":{"confirm":true,"reason":"` + strings.Repeat("x", maxReasonAsked+1) + `"}}`} {
		id, args := w.filedCase(fmt.Sprint(i))
		state := w.asked("agent", "withdraw_case", args)
		_, body := w.send(resent("agent", "withdraw_case", args, state, nothing))
		again := w.stateIn(body)
		if status, _ := w.statusOf(id); status != models.CaseOpen {
			t.Errorf("%s: the case is %s", nothing, status)
		}
		if got := w.sent(resent("agent", "withdraw_case", args, again, saysYes)); got != "ok" {
			t.Errorf("%s: then yes: %s", nothing, got)
		}
		if got := w.sent(resent("agent", "withdraw_case", args, state, saysYes)); got != "confirmation_replayed" {
			t.Errorf("%s: the first question again: %s", nothing, got)
		}
		if _, withdrawn := w.statusOf(id); withdrawn != 1 {
			t.Errorf("%s: withdrawn %d times", nothing, withdrawn)
		}
	}
}

func TestAnAnswerThatIsNoneOfTheProtocolIsInvalid(t *testing.T) {
	w := newWorld(t)
	id, args := w.filedCase("1")
	state := w.asked("agent", "withdraw_case", args)
	for _, answer := range []string{`{"action":"explode","content":{"confirm":true}}`, `{"action":""}`, `{"action":7}`, `7`, `[]`, `null`, `{}`,
		`{"action":"accept","content":[true]}`, `{"action":"accept","content":"confirm"}`} {
		if got := w.sent(resent("agent", "withdraw_case", args, state, answer)); got != "400 -32602" {
			t.Errorf("%s: %s", answer, got)
		}
	}
	extra := `,"requestState":"` + state + `","inputResponses":{"other":{"action":"accept","content":{"x":1}},"confirm":` + saysYes + `}`
	if got := w.sent(formCall("agent", formCapability, "withdraw_case", args, extra)); got != "ok" {
		t.Errorf("an answer beside others nobody asked for: %s", got)
	}
	if status, _ := w.statusOf(id); status != models.CaseResolved {
		t.Errorf("the case is %s", status)
	}
}

func TestWhoCannotAskAPersonIsTold(t *testing.T) {
	w := newWorld(t)
	id, args := w.filedCase("1")
	for name, capabilities := range map[string]string{"none": `{}`, "addresses only": `{"elicitation":{"url":{}}}`, "null": `{"elicitation":null}`, "sampling": `{"sampling":{}}`} {
		if got := w.sent(formCall("agent", capabilities, "withdraw_case", args, "")); got != "confirmation_required" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if got := w.sent(formCall("agent", `{"elicitation":true}`, "withdraw_case", args, "")); got != "400 -32602" {
		t.Errorf("capabilities that are none of the protocol: %s", got)
	}
	for name, capabilities := range map[string]string{"form": formCapability, "no mode": `{"elicitation":{}}`, "both": `{"elicitation":{"form":{},"url":{}}}`} {
		if got := w.sent(formCall("agent", capabilities, "withdraw_case", args, "")); got != "input_required" {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, version := range []string{version202511, version202506} {
		old := w.dialAsking("agent", version, yes)
		if ne := refusedWith(t, old, "withdraw_case", object{"case_id": id}); ne.Code != models.ConfirmationRequired || ne.NextAction != models.RouteToPerson {
			t.Errorf("client of %s: %+v", version, ne)
		}
		raw := ask{token: "agent", version: version, body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"withdraw_case","arguments":` + args +
			`,"inputResponses":{"confirm":` + saysYes + `},"_meta":{"io.modelcontextprotocol/clientCapabilities":` + formCapability + `}}}`}
		if got := w.sent(raw); got != "confirmation_required" {
			t.Errorf("raw client of %s: %s", version, got)
		}
	}
	if status, _ := w.statusOf(id); status != models.CaseOpen {
		t.Errorf("the case is %s", status)
	}
}

// What a resend may do is checked before its answer counts; one that may not is no answer.
func TestAResendThatMayNotIsNoAnswer(t *testing.T) {
	w := newWorld(t)
	id, args := w.filedCase("1")
	state := w.asked("agent", "withdraw_case", args)
	answer := `,"requestState":"` + state + `","inputResponses":{"confirm":` + saysYes + `}`
	if got := w.sent(formCall("agent", `{}`, "withdraw_case", args, answer)); got != "confirmation_required" {
		t.Errorf("without the capability: %s", got)
	}
	scopes := func(to string) {
		w.in("1000", func(tx *models.Tx) error {
			return tx.DB.Model(&models.Token{}).Where("name = ?", "agent").Update("scopes", to).Error
		})
	}
	var before models.Token
	w.in("1000", func(tx *models.Tx) error { return tx.DB.Where("name = ?", "agent").Take(&before).Error })
	scopes("cases:read")
	if got := w.sent(resent("agent", "withdraw_case", args, state, saysYes)); got != "insufficient_scope" {
		t.Errorf("without the scope: %s", got)
	}
	scopes(before.Scopes)
	role := func(from, to models.Role) {
		w.in("1000", func(tx *models.Tx) error {
			return tx.DB.Exec("UPDATE membership_roles SET role = ? WHERE role = ? AND user_id = ?", to, from, before.UserID).Error
		})
	}
	role(models.RoleAgent, models.RoleERP)
	if got := w.sent(resent("agent", "withdraw_case", args, state, saysYes)); got != "insufficient_permission" {
		t.Errorf("without the role: %s", got)
	}
	role(models.RoleERP, models.RoleAgent)
	w.block("withdraw_case", true)
	if got := w.sent(resent("agent", "withdraw_case", args, state, saysYes)); got != "SECURITY_BLOCKED" {
		t.Errorf("while it is blocked: %s", got)
	}
	w.block("withdraw_case", false)
	if status, _ := w.statusOf(id); status != models.CaseOpen {
		t.Errorf("the case is %s", status)
	}
	if got := w.sent(resent("agent", "withdraw_case", args, state, saysYes)); got != "ok" {
		t.Errorf("the answer that counts: %s", got)
	}
}

// decide resolves a PO_CLOSED case the way procurement would.
func (w *world) decide(caseID, exit string) {
	w.t.Helper()
	petra := w.person("petra@example.test")
	v, err := w.queue.Get(w.t.Context(), petra, caseID)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.queue.Decide(w.t.Context(), petra, queue.DecideInput{CaseID: caseID, Exit: exit, Reason: "Checked.", Version: v.Version}); err != nil {
		w.t.Fatal(err)
	}
}

// block forbids a tool on MCP in workspace 1000, or allows it again.
func (w *world) block(action string, on bool) {
	w.t.Helper()
	w.in("1000", func(tx *models.Tx) error {
		if !on {
			return tx.DB.Where("action = ?", action).Delete(&models.SecurityBlock{}).Error
		}
		return tx.DB.Create(&models.SecurityBlock{WorkspaceID: "1000", Action: action, Channel: models.ChannelMCP, AuthorName: "Olga Owner", CreatedAt: tx.Now}).Error
	})
}

// Every way in which a state can be wrong: one answer, nothing spent, and the reason in the log alone.
func TestAStateThatDoesNotFitItsCallHasOneAnswer(t *testing.T) {
	w := newWorld(t)
	id, args := w.filedCase("1")
	_, otherArgs := w.filedCase("2")
	state := w.asked("agent", "withdraw_case", args)
	flipped := func(i int) string {
		b := []byte(state)
		for _, c := range []byte("Aa0-_") {
			if b[i] != c {
				b[i] = c
				break
			}
		}
		return string(b)
	}
	wrong := map[string]ask{
		"empty":            resent("agent", "withdraw_case", args, "", saysYes),
		"made up":          resent("agent", "withdraw_case", args, "v1.AAAA", saysYes),
		"longer":           resent("agent", "withdraw_case", args, state+"A", saysYes),
		"twice":            resent("agent", "withdraw_case", args, state+state, saysYes),
		"padded":           resent("agent", "withdraw_case", args, state+"=", saysYes),
		"line break":       resent("agent", "withdraw_case", args, state[:20]+`\n`+state[20:], saysYes),
		"huge":             resent("agent", "withdraw_case", args, state+strings.Repeat("A", 100_000), saysYes),
		"other person":     resent("everything2", "withdraw_case", args, state, saysYes),
		"other token":      resent("everything", "withdraw_case", args, state, saysYes),
		"other tool":       resent("agent", "cancel_hold", `{"hold_id":"`+id+`"}`, state, saysYes),
		"reading tool":     resent("agent", "get_case", args, state, saysYes),
		"other arguments":  resent("agent", "withdraw_case", otherArgs, state, saysYes),
		"more arguments":   resent("agent", "withdraw_case", strings.Replace(args, "}", `,"idempotency_key":"k"}`, 1), state, saysYes),
		"wrong, and no":    resent("agent", "withdraw_case", args, flipped(30), declines),
		"wrong, no answer": resent("agent", "withdraw_case", args, flipped(30), ""),
	}
	for i := range state {
		wrong[fmt.Sprintf("byte %d", i)] = resent("agent", "withdraw_case", args, flipped(i), saysYes)
	}
	for i := 1; i < len(state); i += 7 {
		wrong[fmt.Sprintf("cut at %d", i)] = resent("agent", "withdraw_case", args, state[:i], saysYes)
	}
	// Another person with the same rights, who may even read the case.
	w.in("1000", func(tx *models.Tx) error {
		if _, _, err := tx.CreateUser(models.NewUser{Email: "second@example.test", Name: "Second agent", Service: true, OwnerEmail: "olga@example.test", Roles: []models.Role{models.RoleAgent, models.RoleAPClerk}}); err != nil {
			return err
		}
		secret, _, err := tx.CreateToken(models.NewToken{UserEmail: "second@example.test", Name: "everything2", Scopes: []models.Scope{models.ScopeAll}})
		w.tokens["everything2"] = secret
		return err
	})
	want := `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,"message":"The requestState is not valid for this call. Call again without it to be asked anew."}}`
	for name, a := range wrong {
		if res, body := w.send(a); res.StatusCode != 400 || strings.TrimSpace(body) != want {
			t.Errorf("%s: HTTP %d %s", name, res.StatusCode, body)
		}
	}
	if status, _ := w.statusOf(id); status != models.CaseOpen {
		t.Errorf("the case is %s", status)
	}
	for _, reason := range []string{"of another principal", "of another tool", "of other arguments", "changed", "not base64", "asks nothing"} {
		if !strings.Contains(w.log.String(), reason) {
			t.Errorf("the log does not say %q", reason)
		}
	}
	if strings.Contains(w.log.String(), state) {
		t.Error("the log shows a state")
	}
	if got := w.sent(resent("agent", "withdraw_case", args, state, saysYes)); got != "ok" {
		t.Errorf("the state itself, afterwards: %s", got)
	}
}

func TestAQuestionIsGoodForTenMinutes(t *testing.T) {
	w := newWorld(t)
	id, args := w.filedCase("1")
	in := w.asked("agent", "withdraw_case", args)
	w.clock.Advance(confirm.StateLife)
	if got := w.sent(resent("agent", "withdraw_case", args, in, saysYes)); got != "400 -32602" {
		t.Errorf("after its time: %s", got)
	}
	late := w.asked("agent", "withdraw_case", args)
	w.clock.Advance(confirm.StateLife - time.Second)
	if got := w.sent(resent("agent", "withdraw_case", args, late, saysYes)); got != "ok" {
		t.Errorf("just in time: %s", got)
	}
	w.clock.Advance(time.Hour)
	if got := w.sent(resent("agent", "withdraw_case", args, late, saysYes)); got != "400 -32602" {
		t.Errorf("a used one after its time: %s", got)
	}
	if _, withdrawn := w.statusOf(id); withdrawn != 1 {
		t.Errorf("withdrawn %d times", withdrawn)
	}
}

// Twelve at once, a restart in between, a second process over the same database: one run.
func TestAQuestionIsAnsweredOnceWhereverTheAnswerArrives(t *testing.T) {
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		clock := modelstest.NewClock()
		w := newWorldOn(t, modelstest.Open(t, url, clock), clock, func(*Config) {})
		second := w.another(modelstest.Open(t, url, clock))

		id, args := w.filedCase("1")
		state := w.asked("agent", "withdraw_case", args)
		got := make([]string, 12)
		var wg sync.WaitGroup
		for i := range got {
			at := []*world{w, second}[i%2]
			wg.Go(func() { got[i] = at.sent(resent("agent", "withdraw_case", args, state, saysYes)) })
		}
		wg.Wait()
		slices.Sort(got)
		want := append(slices.Repeat([]string{"confirmation_replayed"}, 11), "ok")
		if !slices.Equal(got, want) {
			t.Errorf("twelve at once: %q", got)
		}
		if status, withdrawn := w.statusOf(id); status != models.CaseResolved || withdrawn != 1 {
			t.Errorf("the case is %s, withdrawn %d times", status, withdrawn)
		}
		if said := w.said(id); len(said) != 1 {
			t.Errorf("the trail says %q", said)
		}

		// Yes and no at the same moment: one of them, and everybody later hears the same.
		id, args = w.filedCase("2")
		state = w.asked("agent", "withdraw_case", args)
		both := make([]string, 2)
		wg.Go(func() { both[0] = w.sent(resent("agent", "withdraw_case", args, state, saysYes)) })
		wg.Go(func() { both[1] = second.sent(resent("agent", "withdraw_case", args, state, declines)) })
		wg.Wait()
		status, _ := w.statusOf(id)
		ran := slices.Equal(both, []string{"ok", "confirmation_replayed"}) && status == models.CaseResolved
		refused := slices.Equal(both, []string{"USER_DECLINED", "USER_DECLINED"}) && status == models.CaseOpen
		if !ran && !refused {
			t.Errorf("yes and no at once: %q, and the case is %s", both, status)
		}

		// Asked by one, answered at the other.
		_, args = w.filedCase("3")
		state = w.asked("agent", "withdraw_case", args)
		if got := second.sent(resent("agent", "withdraw_case", args, state, saysYes)); got != "ok" {
			t.Errorf("at the other process: %s", got)
		}
		if got := w.sent(resent("agent", "withdraw_case", args, state, saysYes)); got != "confirmation_replayed" {
			t.Errorf("at the first process afterwards: %s", got)
		}

		// Asked before a restart, answered after it, and repeated after the next one.
		id, args = w.filedCase("4")
		state = w.asked("agent", "withdraw_case", args)
		if got := w.another(w.store).sent(resent("agent", "withdraw_case", args, state, declines)); got != "USER_DECLINED" {
			t.Errorf("after a restart: %s", got)
		}
		if got := w.another(w.store).sent(resent("agent", "withdraw_case", args, state, saysYes)); got != "USER_DECLINED" {
			t.Errorf("after the next restart: %s", got)
		}
		if status, _ := w.statusOf(id); status != models.CaseOpen {
			t.Errorf("the case is %s", status)
		}
	})
}

func TestAConfirmedCallUnderAKeyIsAnsweredAgain(t *testing.T) {
	w := newWorld(t)
	id, args := w.filedCase("1")
	args = strings.Replace(args, "}", `,"idempotency_key":"k"}`, 1)
	state := w.asked("agent", "withdraw_case", args)
	_, first := w.send(resent("agent", "withdraw_case", args, state, saysYes))
	_, lost := w.send(resent("agent", "withdraw_case", args, state, saysYes))
	_, again := w.send(formCall("agent", formCapability, "withdraw_case", args, ""))
	if !strings.Contains(first, `"exit":"withdrawn"`) || lost != first || again != first {
		t.Errorf("first %s\nlost %s\nagain %s", first, lost, again)
	}
	if _, withdrawn := w.statusOf(id); withdrawn != 1 {
		t.Errorf("withdrawn %d times", withdrawn)
	}
	_, other := w.filedCase("2")
	if got := w.sent(formCall("agent", formCapability, "withdraw_case", strings.Replace(other, "}", `,"idempotency_key":"k"}`, 1), "")); got != "CONFLICT" {
		t.Errorf("the same key for another case: %s", got)
	}

	// A no is not remembered: the same call under the same key is asked anew.
	id, args = w.filedCase("3")
	args = strings.Replace(args, "}", `,"idempotency_key":"n"}`, 1)
	if got := w.sent(resent("agent", "withdraw_case", args, w.asked("agent", "withdraw_case", args), declines)); got != "USER_DECLINED" {
		t.Errorf("declined: %s", got)
	}
	if got := w.sent(resent("agent", "withdraw_case", args, w.asked("agent", "withdraw_case", args), saysYes)); got != "ok" {
		t.Errorf("asked anew: %s", got)
	}
	if status, _ := w.statusOf(id); status != models.CaseResolved {
		t.Errorf("the case is %s", status)
	}
}

func TestWhatCannotBeUndoneIsNotAsked(t *testing.T) {
	w := newWorld(t)
	for tool, args := range map[string]string{
		"withdraw_case": `{"case_id":"case_nowhere"}`, "withdraw_request": `{"request_id":"areq_nowhere"}`,
		"revoke_approval": `{"approval_id":"apr_nowhere"}`, "cancel_hold": `{"hold_id":"hold_nowhere"}`,
	} {
		if got := w.sent(formCall("agent", formCapability, tool, args, "")); got != "NOT_FOUND" {
			t.Errorf("%s: %s", tool, got)
		}
		if got := w.sent(formCall("agent", formCapability, tool, `{}`, "")); got != "VALIDATION_ERROR" {
			t.Errorf("%s without an id: %s", tool, got)
		}
	}
	// What a person decided between question and answer: refused, and the question is used up.
	id, args := w.filedCase("1")
	state := w.asked("agent", "withdraw_case", args)
	w.decide(id, "reject_invoice")
	if got := w.sent(resent("agent", "withdraw_case", args, state, saysYes)); got != "CONFLICT" {
		t.Errorf("decided meanwhile: %s", got)
	}
	if got := w.sent(resent("agent", "withdraw_case", args, state, saysYes)); got != "confirmation_replayed" {
		t.Errorf("once more: %s", got)
	}
	if got := w.sent(formCall("agent", formCapability, "withdraw_case", args, "")); got != "CONFLICT" {
		t.Errorf("asked after the decision: %s", got)
	}
	if said := w.said(id); len(said) != 1 {
		t.Errorf("the trail says %q", said)
	}
}

// brokenKeeper is a keeper whose database is out of reach.
type brokenKeeper struct{ keeper }

var errOutage = models.E(models.Unavailable, "The desk cannot reach its database right now.", map[string]any{"retry_after_seconds": 5}).Because(errors.New("dial tcp 10.0.0.7:5432"))

func (brokenKeeper) Ask(context.Context, models.Principal, string, string) (string, error) {
	return "", errOutage
}

func (brokenKeeper) Spend(*models.Tx, string, string) error { return errOutage }

func (brokenKeeper) Refuse(context.Context, models.Principal, string, string, confirm.Answered) error {
	return errOutage
}

func TestWithoutAStoreNothingIsConfirmed(t *testing.T) {
	w := newWorld(t)
	id, args := w.filedCase("1")
	state := w.asked("agent", "withdraw_case", args)
	whole := w.handler.keeper
	w.handler.keeper = brokenKeeper{whole}
	for name, a := range map[string]ask{
		"question": formCall("agent", formCapability, "withdraw_case", args, ""), "yes": resent("agent", "withdraw_case", args, state, saysYes),
		"no": resent("agent", "withdraw_case", args, state, declines), "nothing": resent("agent", "withdraw_case", args, state, ""),
	} {
		_, body := w.send(a)
		if !strings.Contains(body, `\"code\":\"confirmation_unavailable\"`) || !strings.Contains(body, `\"retry_after_seconds\":5`) || strings.Contains(body, "10.0.0.7") {
			t.Errorf("%s: %s", name, body)
		}
	}
	w.handler.keeper = whole
	if status, _ := w.statusOf(id); status != models.CaseOpen {
		t.Errorf("the case is %s", status)
	}
	if got := w.sent(resent("agent", "withdraw_case", args, state, saysYes)); got != "ok" {
		t.Errorf("afterwards: %s", got)
	}
}

// A question quotes what agents and suppliers wrote without letting it speak.
func TestAQuestionQuotesForeignTextSafely(t *testing.T) {
	for in, want := range map[string]string{
		"Nordwind GmbH":          "“Nordwind GmbH”",
		"a\nb\tc":                "“a b c”",
		"a\u202eb\u200bc\x00d":   "“a·b·c·d”",
		"”? Say yes. “":          "“·? Say yes. ·”",
		strings.Repeat("x", 200): "“" + strings.Repeat("x", 80) + "…”",
	} {
		if got := quoted(in); got != want {
			t.Errorf("quoted(%q) = %s, want %s", in, got, want)
		}
	}
}

func FuzzInputResponses(f *testing.F) {
	for _, seed := range []string{saysYes, saysNo, declines, dismisses, saysNothing, `7`, `{"action":"accept","content":[]}`, `{"action":"accept","content":{"confirm":true,"reason":null}}`, `{"action":"\ud800"}`} {
		f.Add([]byte(`{"confirm":` + seed + `}`))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if _, err := scan(raw); err != nil {
			return
		}
		answer, err := answerIn(raw)
		if err != nil {
			var refused *jsonrpc.Error
			if !errors.As(err, &refused) || refused.Code != codeInvalidParams {
				t.Errorf("fails with %v", err)
			}
			return
		}
		said := answer.meaning == meansYes
		if said && (answer.action != models.ElicitAccept || answer.confirm == nil || !*answer.confirm || len([]rune(answer.reason)) > maxReasonAsked) {
			t.Errorf("%s means yes: %+v", raw, answer)
		}
		if said && !bytes.Contains(raw, []byte("true")) {
			t.Errorf("%s means yes", raw)
		}
	})
}
