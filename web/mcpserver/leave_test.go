package mcpserver

import (
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// A client that goes away takes with it all that was kept for it, however many do so at once.
func TestAbortedCallsLeaveNothingBehind(t *testing.T) {
	const calls = 200
	w := newWorld(t)
	id, _ := w.filedCase("1")
	modernCall := callTool("agent", "get_case", `{"case_id":"`+id+`","wait_seconds":50}`)
	oldCall := ask{token: "agent", version: version202511, body: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"get_case","arguments":{"case_id":"` + id + `","wait_seconds":50}}}`}
	for name, a := range map[string]ask{"2026-07-28": modernCall, "2025-11-25": oldCall} {
		t.Run(name, func(t *testing.T) {
			w.send(callTool("agent", "list_workspaces", `{}`)) // what is made once is made now
			until(func() bool { return w.open.Load() == 0 })
			before, left := runtime.NumGoroutine(), strings.Count(w.log.String(), "client_gone")
			conns := make([]net.Conn, calls)
			for i := range conns {
				conns[i] = w.begin(a)
				w.next(+1)
			}
			if got := w.open.Load(); got != calls {
				t.Errorf("%d connections are open", got)
			}
			for _, conn := range conns {
				if err := conn.Close(); err != nil {
					t.Error(err)
				}
				w.next(-1) // the wait ends because the client left, 50 seconds before its time
			}
			until(func() bool { return w.open.Load() == 0 })
			until(func() bool { return runtime.NumGoroutine() <= before })
			if got := strings.Count(w.log.String(), "client_gone") - left; got != calls {
				t.Errorf("the log tells of %d clients that left", got)
			}
			if res, _ := w.send(callTool("agent", "get_case", `{"case_id":"`+id+`"}`)); res.StatusCode != http.StatusOK {
				t.Errorf("afterwards: HTTP %d", res.StatusCode)
			}
		})
	}
}

// until lets others run as long as something is not so yet. A test that waits for ever fails by its time.
func until(so func() bool) {
	for !so() {
		runtime.Gosched()
	}
}
