package mcpserver

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
)

// foreignQuestion is a call of another server that asked its person, as an agent forwards it.
func foreignQuestion(path string) object {
	return object{
		"server": object{"name": "files", "url": "https://files.example.test/mcp"}, "tool": "delete_folder", "arguments": object{"path": path, "deep": true},
		"input_requests": object{"ok": object{"method": "elicitation/create", "params": object{"mode": "form", "message": "Delete " + path + "?",
			"requestedSchema": object{"type": "object", "properties": object{"sure": object{"type": "boolean"}}, "required": []string{"sure"}}}}},
		"request_state_hash": strings.Repeat("ab", 32), "run_id": "run-1", "invoice": object{"id": "5105600123"},
	}
}

func takeOf(forwarded object, id any, key string) object {
	return object{"confirmation_id": id, "server": forwarded["server"], "tool": forwarded["tool"], "arguments": forwarded["arguments"], "idempotency_key": key}
}

// answer is a person's answer on the page, given with the deliberate second step.
func (w *world) answer(email string, id any, action models.ElicitAction, content map[string][]string) error {
	w.t.Helper()
	var c models.Confirmation
	w.in("1000", func(tx *models.Tx) error { return tx.DB.Where("id = ?", id).Take(&c).Error })
	_, err := w.confirm.Answer(w.t.Context(), w.person(email), confirm.AnswerInput{ID: c.ID, Action: action, Content: content, Reason: "Looked at it.", Version: c.Version, SecondStep: true})
	return err
}

func TestAnotherServersQuestionReachesAPersonAndTheAnswerComesBackOnce(t *testing.T) {
	for _, version := range []string{"", version202511, version202506} {
		t.Run("client "+version, func(t *testing.T) {
			w := newWorld(t)
			agent := w.dial("everything", version)
			question := foreignQuestion("/old")
			filed := must[object](t, agent, "request_confirmation", question)
			id := filed["confirmation_id"]
			if filed["status"] != "pending" || filed["url"] != "https://desk.example.test/confirmations/"+id.(string) || filed["expires_at"] != "2026-10-05T10:00:00Z" {
				t.Errorf("forwarded: %v", filed)
			}
			if ne := refusedWith(t, agent, "take_confirmation", takeOf(question, id, "k")); ne.Code != models.Conflict || ne.Details["reason"] != "not_answered" {
				t.Errorf("taken before the answer: %+v", ne)
			}
			told := make(chan object, 1)
			go func() {
				told <- must[object](t, agent, "get_confirmation", object{"confirmation_id": id, "wait_seconds": 50})
			}()
			w.next(+1)
			if err := w.answer("lena@example.test", id, models.ElicitAccept, map[string][]string{"sure": {"true"}}); !models.IsCode(err, models.InsufficientPermission) {
				t.Errorf("an AP lead answers: %v", err)
			}
			if err := w.answer("fiona@example.test", id, models.ElicitAccept, map[string][]string{"sure": {"true"}}); err != nil {
				t.Fatal(err)
			}
			if got := <-told; got["status"] != "answered" || got["input_responses"] != nil {
				t.Errorf("the wait ends with %v", got)
			}
			other := takeOf(foreignQuestion("/new"), id, "k")
			if ne := refusedWith(t, agent, "take_confirmation", other); ne.Code != models.Conflict || ne.Details["reason"] != "different_call" {
				t.Errorf("taken for another call: %+v", ne)
			}
			first := must[object](t, agent, "take_confirmation", takeOf(question, id, "k"))
			again := must[object](t, agent, "take_confirmation", takeOf(question, id, "k"))
			responses, _ := first["input_responses"].(map[string]any)
			ok, _ := responses["ok"].(map[string]any)
			content, _ := ok["content"].(map[string]any)
			if ok["action"] != "accept" || content["sure"] != true {
				t.Errorf("taken: %v", first)
			}
			if a, b := string(encode(first)), string(encode(again)); a != b {
				t.Errorf("taken again: %s, first %s", b, a)
			}
			if ne := refusedWith(t, agent, "take_confirmation", takeOf(question, id, "k2")); ne.Code != models.ConfirmationReplayed {
				t.Errorf("taken with another key: %+v", ne)
			}
			if got := must[object](t, agent, "get_confirmation", object{"confirmation_id": id}); got["status"] != "taken" {
				t.Errorf("afterwards: %v", got)
			}
		})
	}
}

func TestAQuestionNobodyAnswersIsCancelled(t *testing.T) {
	w := newWorld(t)
	agent := w.dial("everything", "")
	question := foreignQuestion("/old")
	id := must[object](t, agent, "request_confirmation", question)["confirmation_id"]
	w.clock.Advance(time.Hour)
	if got := must[object](t, agent, "get_confirmation", object{"confirmation_id": id, "wait_seconds": 50}); got["status"] != "expired" {
		t.Errorf("after its time: %v", got)
	}
	taken := must[object](t, agent, "take_confirmation", takeOf(question, id, "k"))
	if got := string(encode(taken["input_responses"])); got != `{"ok":{"action":"cancel"}}` {
		t.Errorf("taken: %s", got)
	}
}

func TestNoTokenForwardsForAnotherOrWithoutTheScope(t *testing.T) {
	w := newWorld(t)
	question := foreignQuestion("/old")
	id := must[object](t, w.dial("everything", ""), "request_confirmation", question)["confirmation_id"]
	for token, want := range map[string]models.Code{"agent": models.InsufficientScope, "admin": models.InsufficientPermission, "erp": models.InsufficientScope} {
		for tool, args := range map[string]object{"request_confirmation": question, "take_confirmation": takeOf(question, id, "k")} {
			if ne := refusedWith(t, w.dial(token, ""), tool, args); ne.Code != want {
				t.Errorf("%s calls %s: %+v", token, tool, ne)
			}
		}
	}
	both := takeOf(question, id, "k")
	both["workspace_id"] = "1000"
	if ne := refusedWith(t, w.dial("both", ""), "take_confirmation", both); ne.Code != models.NotFound {
		t.Errorf("another account takes it: %+v", ne)
	}
	secret := foreignQuestion("/old")
	secret["input_requests"] = object{"ok": object{"method": "elicitation/create", "params": object{"message": "Log in", "requestedSchema": object{"type": "object", "properties": object{"password": object{"type": "string"}}}}}}
	if ne := refusedWith(t, w.dial("everything", ""), "request_confirmation", secret); ne.Code != models.Unprocessable {
		t.Errorf("a form that asks for a password: %+v", ne)
	}
}

func TestDuplicateNamesInAForwardedCallAreNamed(t *testing.T) {
	w := newWorld(t)
	body, err := json.Marshal(foreignQuestion("/old"))
	if err != nil {
		t.Fatal(err)
	}
	twice := strings.Replace(string(body), `"deep":true`, `"deep":true,"deep":false`, 1)
	if got := w.sent(callTool("everything", "request_confirmation", twice)); got != "VALIDATION_ERROR" {
		t.Errorf("in the call: %s", got)
	}
	elsewhere := strings.Replace(string(body), `"run_id":"run-1"`, `"run_id":"run-1","run_id":"run-2"`, 1)
	if got := w.sent(callTool("everything", "request_confirmation", elsewhere)); got != "400 -32700" {
		t.Errorf("around the call: %s", got)
	}
}

// Clients check structured content against the published schema, also of what was undone.
func TestFurtherAnswersMatchTheirPublishedSchemas(t *testing.T) {
	w := newWorld(t)
	w.ruleFor(models.RoleFinanceLead, "10000")
	agent := w.dialAsking("everything", "", func(*mcp.ElicitParams) *mcp.ElicitResult {
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"confirm": true}}
	})
	list, err := agent.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	schemas := map[string]*jsonschema.Resolved{}
	for _, tool := range list.Tools {
		text, err := json.Marshal(tool.OutputSchema)
		if err != nil {
			t.Fatal(err)
		}
		var schema jsonschema.Schema
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		if schemas[tool.Name], err = schema.Resolve(nil); err != nil {
			t.Fatal(err)
		}
	}
	var checked []string
	check := func(tool string, args object) object {
		t.Helper()
		checked = append(checked, tool)
		answer := must[object](t, agent, tool, args)
		if err := schemas[tool].Validate(map[string]any(answer)); err != nil {
			t.Errorf("%s: %v\n%v", tool, err, answer)
		}
		return answer
	}
	question := foreignQuestion("/old")
	id := check("request_confirmation", question)["confirmation_id"]
	check("get_confirmation", object{"confirmation_id": id})
	if err := w.answer("fiona@example.test", id, models.ElicitDecline, nil); err != nil {
		t.Fatal(err)
	}
	check("take_confirmation", takeOf(question, id, "k"))

	filed := must[object](t, agent, "route_to_person", poClosed("1"))
	check("withdraw_case", object{"case_id": filed["case_id"]})
	asked := must[object](t, agent, "request_approval", approvalFor("2", "250.00"))
	check("withdraw_request", object{"request_id": asked["request_id"]})
	asked = must[object](t, agent, "request_approval", approvalFor("3", "250.00"))
	w.vote(asked["request_id"].(string), models.VoteApprove)
	granted := must[object](t, agent, "get_approval", object{"request_id": asked["request_id"]})
	check("revoke_approval", object{"approval_id": granted["approval_id"]})
	hold := must[object](t, agent, "hold_and_recheck", object{"code": "GR_MISSING", "invoice": invoice("4", "10.00"), "po_id": "4500018822"})
	check("cancel_hold", object{"hold_id": hold["hold_id"]})
	slices.Sort(checked)
	if want := []string{"cancel_hold", "get_confirmation", "request_confirmation", "revoke_approval", "take_confirmation", "withdraw_case", "withdraw_request"}; !slices.Equal(checked, want) {
		t.Errorf("checked %q", checked)
	}
}
