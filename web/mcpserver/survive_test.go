package mcpserver

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/wire"
)

// failing is a tool that ends in its own way.
func failing(name string, run func(context.Context, *call) (any, error)) *tool {
	return &tool{name: name, title: name, description: name, noWorkspace: true, spec: wire.NoArguments, output: reflect.TypeFor[workspacesAnswer](), run: run}
}

func TestNoToolStopsTheProcess(t *testing.T) {
	w := newWorldWith(t, func(*Config) {},
		failing("panics", func(context.Context, *call) (any, error) { panic("a secret /etc/path") }),
		failing("breaks", func(context.Context, *call) (any, error) { return nil, errors.New("table cases is gone") }),
		failing("is_cut_off", func(context.Context, *call) (any, error) {
			return nil, models.E(models.Unavailable, "The desk cannot reach its database right now; nothing was changed. Wait and repeat the same call.",
				map[string]any{"retry_after_seconds": 5}).Because(errors.New("dial tcp 10.0.0.7:5432: refused"))
		}),
		failing("answers_no_json", func(context.Context, *call) (any, error) { return func() {}, nil }),
	)
	for name, wants := range map[string][]string{
		"panics":          {`"error":{"code":-32603,`, "req_"},
		"answers_no_json": {`"error":{"code":-32603,`},
		"breaks":          {`\"code\":\"INTERNAL\"`, `\"request_id\":\"req_`, `"isError":true`},
		"is_cut_off":      {`\"code\":\"UNAVAILABLE\"`, `\"retry_after_seconds\":5`, `\"next_action\":\"hold_and_recheck\"`, `"isError":true`},
	} {
		res, body := w.send(callTool("agent", name, "{}"))
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s: %s lacks %s", name, body, want)
			}
		}
		for _, secret := range []string{"/etc/path", "table cases", "10.0.0.7", "goroutine", "structuredContent"} {
			if strings.Contains(body, secret) {
				t.Errorf("%s: %s tells %s", name, body, secret)
			}
		}
		if res.StatusCode != 200 {
			t.Errorf("%s: HTTP %d", name, res.StatusCode)
		}
	}
	for _, cause := range []string{"a secret /etc/path", "table cases is gone", "10.0.0.7"} {
		if !strings.Contains(w.log.String(), cause) {
			t.Errorf("the log does not say %s", cause)
		}
	}
	if res, _ := w.send(callTool("agent", "list_workspaces", "{}")); res.StatusCode != 200 {
		t.Errorf("afterwards: HTTP %d", res.StatusCode)
	}
}

func TestAMethodWithoutResultIsAnInternalError(t *testing.T) {
	w := newWorld(t)
	h := newHandler(Config{Store: w.store, MCPURL: "http://127.0.0.1/mcp"})
	for name, next := range map[string]mcp.MethodHandler{
		"nil":       func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, nil },
		"typed nil": func(context.Context, string, mcp.Request) (mcp.Result, error) { return (*mcp.CallToolResult)(nil), nil },
		"error":     func(context.Context, string, mcp.Request) (mcp.Result, error) { return nil, errors.New("secret") },
		"panic":     func(context.Context, string, mcp.Request) (mcp.Result, error) { panic("secret") },
	} {
		res, err := h.survive(next)(t.Context(), "tools/call", nil)
		if res != nil || err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v", name, res, err)
		}
	}
}

func TestTheEndpointSaysWhenItCannotCheckATokenAtAll(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		file string
	}{
		"unavailable": {models.E(models.Unavailable, "The desk cannot reach its database right now; nothing was changed. Wait and repeat the same call.",
			map[string]any{"retry_after_seconds": 5}).Because(errors.New("disk secret")), "transport/503_unavailable"},
		"broken": {errors.New("disk secret"), "transport/500_internal"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorldWith(t, func(c *Config) {
				c.Identify = func(context.Context, string) (models.Identity, error) { return models.Identity{}, tc.err }
			})
			res, body := w.send(callTool("agent", "list_workspaces", "{}"))
			id := res.Header.Get("X-Request-Id")
			golden(t, tc.file, transcript(res, body))
			if !strings.Contains(w.log.String(), "disk secret") || !strings.Contains(w.log.String(), id) {
				t.Errorf("the log is %s", w.log.String())
			}
		})
	}
}

func TestAnOpenStreamOfChangesEndsAtOnce(t *testing.T) {
	w := newWorld(t)
	res, body := w.send(modern("agent", "subscriptions/listen", `"notifications":{"toolsListChanged":true}`))
	if res.StatusCode != 200 || !strings.Contains(body, "subscriptions/acknowledged") {
		t.Errorf("HTTP %d %s", res.StatusCode, body)
	}
}
