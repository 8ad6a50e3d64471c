package mcpserver

import (
	"net/http"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
)

// The four confirmation errors, the question and the refused state, as they go over the wire.
func TestConfirmationsOnTheWire(t *testing.T) {
	w := newWorld(t)
	w.ruleFor(models.RoleFinanceLead, "10000")
	check := func(name string, a ask) (*http.Response, string) {
		t.Helper()
		res, body := w.send(a)
		golden(t, "confirm/"+name, transcript(res, body))
		return res, body
	}
	_, args := w.filedCase("1")
	_, body := check("asked", formCall("agent", formCapability, "withdraw_case", args, ""))
	state := w.stateIn(body)
	check("asked_again", resent("agent", "withdraw_case", args, state, saysNothing))
	check("confirmation_required", formCall("agent", `{}`, "withdraw_case", args, ""))
	check("confirmation_required_2025", ask{token: "agent", version: version202511, body: `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"withdraw_case","arguments":` + args + `}}`})
	check("confirmation_required_on_resend", formCall("agent", `{}`, "withdraw_case", args, `,"requestState":"`+state+`","inputResponses":{"confirm":`+saysYes+`}`))
	check("32602_state", resent("agent", "withdraw_case", args, strings.ToUpper(state), saysYes))
	check("32602_state_of_a_tool_that_asks_nothing", resent("agent", "get_case", args, state, saysYes))
	check("32602_action", resent("agent", "withdraw_case", args, state, `{"action":"explode"}`))
	check("confirmed", resent("agent", "withdraw_case", args, state, saysYes))
	check("confirmation_replayed", resent("agent", "withdraw_case", args, state, saysYes))

	_, args = w.filedCase("2")
	state = w.asked("agent", "withdraw_case", args)
	check("declined", resent("agent", "withdraw_case", args, state, declines))
	check("declined_then_yes", resent("agent", "withdraw_case", args, state, saysYes))
	state = w.asked("agent", "withdraw_case", args)
	check("accepted_with_false", resent("agent", "withdraw_case", args, state, saysNo))
	state = w.asked("agent", "withdraw_case", args)
	check("cancelled", resent("agent", "withdraw_case", args, state, dismisses))
	state = w.asked("agent", "withdraw_case", args)
	w.handler.keeper = brokenKeeper{w.handler.keeper}
	check("confirmation_unavailable", resent("agent", "withdraw_case", args, state, saysYes))
}
