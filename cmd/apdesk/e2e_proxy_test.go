package main_test

import (
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/apdesk/apdesk/models/modelstest"
)

// TestAProxyJoinsTwoDesksUnderOneName runs Caddy with the file of deploy/ before two desks: pages, REST, /mcp, live
// streams and long polls come through one name, and go on when a desk is killed.
func TestAProxyJoinsTwoDesksUnderOneName(t *testing.T) {
	t.Parallel()
	caddy, err := exec.LookPath("caddy")
	if err != nil {
		t.Skip("no caddy here: install Debian's package caddy")
	}
	c := founded(t, modelstest.PostgresURL(t))
	other := newDesk(t, c.database)
	front := "http://" + freeAddress(t)
	for _, d := range []*desk{c.desk, other} {
		d.start("--public-url", front, "--trusted-proxy", "127.0.0.1")
	}
	proxy := exec.Command(caddy, "run", "--config", filepath.Join("..", "..", "deploy", "Caddyfile"), "--adapter", "caddyfile")
	proxy.Env = append(os.Environ(), "DESK_NAME="+front, "DESK_PAGES="+c.addr+" "+other.addr, "DESK_MCP="+c.mcpAddr+" "+other.mcpAddr,
		"DESK_LOOK=200ms", "XDG_DATA_HOME="+t.TempDir(), "XDG_CONFIG_HOME="+t.TempDir())
	if err := start(proxy); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = proxy.Process.Kill()
		_ = proxy.Wait() // reports the kill
	})
	joined := &desk{t: t, url: front, mcpURL: front + "/mcp", database: c.database}
	eventually(t, "the proxy answers", func() bool {
		res, err := http.Get(front + "/readyz")
		if err != nil {
			return false
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	})

	work := func(n int) {
		t.Helper()
		through := &company{desk: joined, agent: c.agent, erp: c.erp}
		id := through.as(c.agent).handOver(t, poClosed(n))
		if err := callTool(t.Context(), http.DefaultClient, joined.mcpURL, c.agent, "get_case", object{"case_id": id}); err != nil {
			t.Fatalf("over MCP through the proxy: %v", err)
		}
		petras := joined.signIn(t, petra)
		seen := petras.get(t, "/cases/"+id)
		live := petras.stream(t, seen)
		defer live.close()
		waiting := through.waits(t, "/cases/"+id)
		after := petras.send(t, seen, "decision-form", url.Values{"exit": {"reopen_po"}, "reason": {"Reopened."}})
		if after.status != http.StatusOK {
			t.Fatalf("a decision through the proxy is answered with %s", after)
		}
		if got := waiting(); got.text("instruction", "kind") != "resume" {
			t.Errorf("the wait ends with %s", got)
		}
		live.told(t)
	}
	work(1)
	other.kill()
	// A call that was on its way to the lost desk is answered with 502, and is repeated with its key.
	through := &company{desk: joined, agent: c.agent, erp: c.erp}
	inRow, lost := 0, ""
	eventually(t, "calls get through again", func() bool {
		got, err := through.as(c.agent).try(t.Context(), http.MethodPost, "/handovers", poClosed(9), "repeated")
		if err == nil && got.status == http.StatusCreated {
			lost = got.text("case_id")
			err = callTool(t.Context(), http.DefaultClient, joined.mcpURL, c.agent, "get_case", object{"case_id": lost})
		}
		inRow++
		if err != nil || got.status != http.StatusCreated {
			inRow = 0
		}
		return inRow == 8
	})
	if handovers, _ := dig(through.as(c.agent).get(t, "/cases/"+lost).body, "handovers").([]any); len(handovers) != 1 {
		t.Errorf("one call repeated with its key is %d handovers", len(handovers))
	}
	for n := range 4 { // whichever desk each would have gone to
		work(10 + n)
	}
}
