package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
)

// full is a limit that is used up for a while.
func full(string) (time.Duration, bool) { return 1500 * time.Millisecond, false }

// The protocol's limit has its place after Host and Origin and before anything about the call.
func TestAnAddressThatCallsTooOften(t *testing.T) {
	w := newWorldWith(t, func(c *Config) { c.LimitAddress = full })
	list := modern("agent", "tools/list", "")
	anonymous, foreign, elsewhere, broken := list, list, list, list
	anonymous.token = ""
	foreign.headers = append([]string{"Host: evil.example"}, list.headers...)
	elsewhere.headers = append([]string{"X-Workspace-Id: 2000"}, list.headers...)
	broken.body = "{"
	for name, a := range map[string]ask{
		"429_address": list, "429_after_credentials": anonymous, "429_after_host": foreign, "429_before_workspace": elsewhere, "429_before_json": broken,
	} {
		t.Run(name, func(t *testing.T) {
			res, body := w.send(a)
			golden(t, "transport/"+name, transcript(res, body))
		})
	}
}

func TestAnAddressIsTheOneThatConnects(t *testing.T) {
	for remote, want := range map[string]string{
		"127.0.0.1:5000": "127.0.0.1", "[::ffff:10.1.2.3]:80": "10.1.2.3", "[2001:db8:1:2:3:4:5:6]:80": "2001:db8:1:2::/64", "[fe80::1%eth0]:80": "fe80::/64", "pipe": "pipe", "name:80": "name",
	} {
		if got := addressOf(&http.Request{RemoteAddr: remote}); got != want {
			t.Errorf("%s counts as %s, want %s", remote, got, want)
		}
	}
}

// Each row has several faults; the one that is told is the first in the published order.
func TestTheFirstFaultIsTheOneThatIsTold(t *testing.T) {
	w := newWorld(t)
	const noMeta, badMeta = `{"jsonrpc":"2.0","id":7,"method":"%s","params":{"name":"x"}}`, `{"jsonrpc":"2.0","id":%s,"method":"%s","params":{"name":"x","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	for _, tc := range []struct {
		name string
		a    ask
		want string
	}{
		{"workspace before JSON", ask{token: "agent", headers: []string{"X-Workspace-Id: 2000"}, body: `{`}, "403 -32600"},
		{"JSON before the request", ask{token: "agent", version: "1900-01-01", body: `[`}, "400 -32700"},
		{"request before the version", ask{token: "agent", version: "1900-01-01", body: `[]`}, "400 -32600"},
		{"id before the version", ask{token: "agent", version: "1900-01-01", body: fmt.Sprintf(badMeta, "1.5", "x")}, "400 -32600"},
		{"version before the headers", ask{token: "agent", version: "1900-01-01", headers: []string{"Mcp-Method: y"}, body: fmt.Sprintf(badMeta, "7", "x")}, "400 -32022"},
		{"no version before the method", ask{token: "agent", body: fmt.Sprintf(badMeta, "7", "x")}, "400 -32020"},
		{"headers before the method", ask{token: "agent", version: version2026, headers: []string{"Mcp-Method: y"}, body: fmt.Sprintf(badMeta, "7", "x")}, "400 -32020"},
		{"method before the params", ask{token: "agent", version: version2026, headers: []string{"Mcp-Method: x"}, body: fmt.Sprintf(noMeta, "x")}, "404 -32601"},
		{"params before the tool's access", callTool("erp", "route_to_person", `{"zzz":1}`), "400 -32602"},
		{"access before the arguments", callTool("erp", "route_to_person", `{}`), "insufficient_scope"},
		{"scope before the workspace", callTool("reader", "route_to_person", `{"workspace_id":"2000"}`), "insufficient_scope"},
		{"workspace before the role", callTool("everything", "redeem_approval", `{"workspace_id":"2000"}`), "workspace_access_denied"},
		{"role before the person's answer", formCall("erp", `{}`, "withdraw_request", `{}`, ""), "insufficient_permission"},
		{"capability before the arguments", formCall("agent", `{}`, "withdraw_case", `{}`, ""), "confirmation_required"},
		{"arguments before the state", formCall("agent", formCapability, "withdraw_case", `{}`, `,"requestState":"v1.x"`), "VALIDATION_ERROR"},
	} {
		if got := w.sent(tc.a); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
	w.block("withdraw_case", true)
	if got := w.sent(formCall("agent", `{}`, "withdraw_case", `{}`, "")); got != "SECURITY_BLOCKED" {
		t.Errorf("what is forbidden, before capability and arguments: %s", got)
	}
}

// The codes that a tool answers for reasons of the desk's own, as they go over the wire.
func TestFurtherNamedErrors(t *testing.T) {
	unavailable := models.E(models.Unavailable, "The desk cannot reach its database right now; nothing was changed. Wait and repeat the same call.",
		map[string]any{"retry_after_seconds": 5}).Because(errors.New("dial tcp 10.0.0.7:5432: refused"))
	limited := false
	w := newWorldWith(t, func(c *Config) {
		c.LimitPerson = func(string) (time.Duration, bool) { return 2500 * time.Millisecond, !limited }
	},
		failing("is_cut_off", func(context.Context, *call) (any, error) { return nil, unavailable }),
		failing("breaks", func(context.Context, *call) (any, error) { return nil, errors.New("table cases is gone") }),
		failing("panics", func(context.Context, *call) (any, error) { panic("a secret") }),
	)
	check := func(name string, a ask) {
		t.Helper()
		res, body := w.send(a)
		golden(t, name, transcript(res, body))
	}
	check("errors/unavailable", callTool("agent", "is_cut_off", `{}`))
	check("errors/internal", callTool("agent", "breaks", `{}`))
	check("transport/32603_panic", callTool("agent", "panics", `{}`))

	w.ruleFor(models.RoleFinanceLead, "10000")
	w.in("1000", func(tx *models.Tx) error {
		through, err := models.ParseDate("2026-12-31")
		if err != nil {
			return err
		}
		return tx.MovePeriod(through, models.Date{})
	})
	check("errors/period_closed", callTool("agent", "request_approval", `{"invoice":{"id":"1","amount":"250.00","currency":"EUR"},"action":{"tool":"post_invoice_adjustment","arguments":{"invoice_id":"1","amount":"250.00","currency":"EUR","posting_date":"2026-12-01"}},"amount":"250.00","currency":"EUR","summary":"Post it."}`))
	check("errors/unprocessable_hold", callTool("agent", "hold_and_recheck", `{"code":"PO_CLOSED","invoice":{"id":"1","amount":"250.00","currency":"EUR"},"po_id":"1"}`))

	limited = true
	check("errors/rate_limited", callTool("agent", "get_case", `{"case_id":"case_1"}`))
	limited = false

	w.block("get_case", true)
	check("errors/security_blocked", callTool("agent", "get_case", `{"case_id":"case_1"}`))
	w.block("get_case", false)

	w.in("2000", func(tx *models.Tx) error {
		return tx.DB.Exec("UPDATE memberships SET active = ? WHERE workspace_id = '2000'", false).Error
	})
	check("errors/membership_inactive", callTool("both", "get_case", `{"case_id":"case_1","workspace_id":"2000"}`))
	inactive := callTool("both", "get_case", `{"case_id":"case_1"}`)
	inactive.headers = append(inactive.headers, "X-Workspace-Id: 2000")
	check("transport/403_membership_inactive", inactive)
}

// What a workspace forbids is forbidden there alone.
func TestABlockHoldsInItsWorkspaceAndOnItsChannel(t *testing.T) {
	w := newWorld(t)
	w.block("get_case", true)
	if got := w.sent(callTool("both", "get_case", `{"case_id":"case_1","workspace_id":"1000"}`)); got != "SECURITY_BLOCKED" {
		t.Errorf("where it is forbidden: %s", got)
	}
	if got := w.sent(callTool("both", "get_case", `{"case_id":"case_1","workspace_id":"2000"}`)); got != "NOT_FOUND" {
		t.Errorf("elsewhere: %s", got)
	}
	w.block("get_case", false)
	w.in("1000", func(tx *models.Tx) error {
		return tx.DB.Create(&models.SecurityBlock{WorkspaceID: "1000", Action: "get_case", Channel: models.ChannelAPI, AuthorName: "Olga", CreatedAt: tx.Now}).Error
	})
	if got := w.sent(callTool("agent", "get_case", `{"case_id":"case_1"}`)); got != "NOT_FOUND" {
		t.Errorf("forbidden on REST alone: %s", got)
	}
}

func TestEveryToolCanBeForbidden(t *testing.T) {
	w := newWorld(t)
	for name, tool := range w.handler.tools {
		if tool.noWorkspace {
			continue
		}
		w.block(name, true)
		// As whoever may call it; arguments do not matter.
		token := "everything"
		if strings.HasPrefix(name, "redeem_") || strings.HasPrefix(name, "report_w") {
			token = "erp"
		}
		if got := w.sent(formCall(token, formCapability, name, `{}`, "")); got != "SECURITY_BLOCKED" {
			t.Errorf("%s: %s", name, got)
		}
		w.block(name, false)
	}
}

func TestTheObserverIsToldHowEveryCallEnded(t *testing.T) {
	told := make(chan string, 100)
	w := newWorldWith(t, func(c *Config) {
		c.Observe = func(tool, outcome string, took time.Duration) {
			if took < 0 {
				t.Errorf("%s took %s", tool, took)
			}
			told <- tool + " " + outcome
		}
	}, failing("panics", func(context.Context, *call) (any, error) { panic("a secret") }))
	_, args := w.filedCase("1")
	state := w.asked("agent", "withdraw_case", args)
	for _, a := range []ask{
		callTool("agent", "list_workspaces", `{}`), callTool("agent", "get_case", `{"case_id":"case_1"}`), callTool("agent", "drop_tables", `{}`),
		callTool("agent", "panics", `{}`), resent("agent", "withdraw_case", args, state+"x", saysYes), resent("agent", "withdraw_case", args, state, declines),
		formCall("agent", `{"elicitation":true}`, "get_case", args, ""), // refused by the SDK
		modern("agent", "tools/list", ""),                               // no call
	} {
		w.send(a)
	}
	for _, want := range []string{"route_to_person ok", "withdraw_case input_required", "list_workspaces ok", "get_case NOT_FOUND", "unknown -32602", "panics -32603", "withdraw_case -32602", "withdraw_case USER_DECLINED", "get_case http_400"} {
		if got := <-told; got != want {
			t.Errorf("told %q, want %q", got, want)
		}
	}
	select {
	case got := <-told:
		t.Errorf("told %q besides", got)
	default:
	}
}
