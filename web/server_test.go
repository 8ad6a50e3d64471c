package web

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/static"
)

// running is the desk on real sockets.
type running struct {
	*world
	people, agents string // base URLs
	stop           func() // begins the shutdown
	ended          chan error
}

func run(t *testing.T, change ...func(*Config)) *running {
	t.Helper()
	return runWorld(t, newWorld(t, change...))
}

// runWorld puts a desk on sockets.
func runWorld(t *testing.T, w *world) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{world: w, stop: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- w.server.Run(ctx) }()
	people, agents, err := w.server.Addresses(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	r.people, r.agents = "http://"+people, "http://"+agents
	t.Cleanup(func() {
		cancel()
		select {
		case err, open := <-r.ended:
			if open && err != nil {
				t.Errorf("Run: %v", err)
			}
		case <-time.After(30 * time.Second):
			t.Error("the server does not end")
		}
	})
	return r
}

func (r *running) get(ctx context.Context, url, token string) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		return answer{}, err
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+r.tokens[token])
	}
	return send(req)
}

func send(req *http.Request) (answer, error) {
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return answer{}, err
	}
	body, err := io.ReadAll(res.Body)
	return answer{res.StatusCode, res.Header, string(body)}, errors.Join(err, res.Body.Close())
}

func TestRun_serves_both_addresses(t *testing.T) {
	r := run(t)
	for _, address := range []string{r.people + "/healthz", r.people + "/readyz", r.people + "/api/v1/outcomes", r.people + "/login", r.agents + "/healthz", r.agents + "/readyz"} {
		if a, err := r.get(t.Context(), address, ""); err != nil || a.status != 200 {
			t.Errorf("%s: %v %d %s", address, err, a.status, a.body)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), "POST", r.agents+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	if err != nil {
		t.Fatal(err)
	}
	a, err := send(req)
	if err != nil || a.status != 401 || !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer ") {
		t.Errorf("MCP without a token: %v %d %s", err, a.status, a.body)
	}
}

func TestRun_fails_when_an_address_is_taken(t *testing.T) {
	r := run(t)
	w := newWorld(t, func(c *Config) { c.MCPAddr = strings.TrimPrefix(r.people, "http://") })
	if err := w.server.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "MCP") {
		t.Errorf("got %v", err)
	}
}

func TestShutdown_ends_a_wait_at_once_with_the_state_as_it_is(t *testing.T) {
	r := run(t)
	id := r.call("POST", "/api/v1/handovers", "agent", poClosed).field("case_id")
	got := r.waits(t, id)
	r.stop()
	if err := <-r.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	close(r.ended)
	if a := <-got; a.status != 200 || !strings.Contains(a.body, `"status":"open"`) || !strings.Contains(a.body, `"instruction":null`) {
		t.Errorf("the wait ended with %d %s", a.status, a.body)
	}
	if _, err := r.get(context.Background(), r.people+"/healthz", ""); err == nil {
		t.Error("the address still answers")
	}
}

func TestShutdown_does_not_wait_for_connections_opened_in_advance(t *testing.T) {
	r := run(t)
	for _, base := range []string{r.people, r.agents} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
	}
	// A request after the connections: they have been accepted by then.
	if a, err := r.get(t.Context(), r.people+"/healthz", ""); err != nil || a.status != 200 {
		t.Fatalf("%v %d", err, a.status)
	}
	r.stop()
	if err := <-r.ended; err != nil {
		t.Errorf("Run: %v", err)
	}
	close(r.ended)
}

// waits begins to wait for a case and gives what the wait is answered with.
func (r *running) waits(t *testing.T, caseID string) <-chan answer {
	t.Helper()
	got := make(chan answer, 1)
	go func() {
		a, err := r.get(context.Background(), r.people+"/api/v1/cases/"+caseID+"?wait=50", "agent")
		if err != nil {
			a.body = err.Error()
		}
		got <- a
	}()
	r.untilWaiting(t)
	return got
}

// untilWaiting returns once a wait has begun, as the metrics tell.
func (r *running) untilWaiting(t *testing.T) {
	t.Helper()
	for {
		a, err := r.get(t.Context(), r.people+"/metrics", "")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(a.body, `apdesk_waits{channel="api"} 1`) {
			return
		}
	}
}

func TestWait_ends_as_soon_as_a_person_decides(t *testing.T) {
	r := run(t)
	id := r.call("POST", "/api/v1/handovers", "agent", poClosed).field("case_id")
	got := r.waits(t, id)
	_, err := r.queue.Decide(t.Context(), r.person("petra@example.test"), queue.DecideInput{CaseID: id, Exit: "reopen_po", Reason: "Reopened.", Version: 1})
	if err != nil {
		t.Fatal(err)
	}
	if a := <-got; a.status != 200 || !strings.Contains(a.body, `"instruction":{"kind":"resume"`) {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

func TestWait_ends_with_the_token_it_came_with(t *testing.T) {
	r := run(t)
	id := r.call("POST", "/api/v1/handovers", "agent", poClosed).field("case_id")
	got := r.waits(t, id)
	identity, err := r.store.IdentityByToken(t.Context(), r.tokens["agent"])
	if err != nil {
		t.Fatal(err)
	}
	r.in("1000", func(tx *models.Tx) error { _, err := tx.RevokeToken(identity.Token.ID); return err })
	waited, anew := <-got, r.call("GET", "/api/v1/cases/"+id, "agent", "")
	if waited.status != http.StatusUnauthorized || waited.code() != "unauthenticated" || waited.body != anew.body || waited.header.Get("WWW-Authenticate") != anew.header.Get("WWW-Authenticate") {
		t.Errorf("the wait ends with %d %s %s, a new call with %d %s", waited.status, waited.body, waited.header, anew.status, anew.body)
	}
}

func TestBodyLimit_is_answered_in_the_envelope(t *testing.T) {
	r := run(t)
	// The client sends the whole body before it reads the answer.
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(r.people, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	head := fmt.Sprintf("POST /api/v1/handovers HTTP/1.1\r\nHost: desk\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", BodyLimit+1)
	if _, err := io.WriteString(conn, head+strings.Repeat(" ", BodyLimit+1)); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		t.Fatal(err)
	}
	a := answer{res.StatusCode, res.Header, string(body)}
	if a.status != 413 || a.code() != "BAD_REQUEST" || !strings.Contains(a.body, `"limit_bytes":14680064`) || a.header.Get("X-Request-Id") == "" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestMCP_on_the_address_of_people_names_the_right_one(t *testing.T) {
	w := newWorld(t)
	for _, method := range []string{"POST", "GET", "DELETE"} {
		a := w.call(method, "/mcp", "agent", "")
		if a.status != 421 || a.code() != "BAD_REQUEST" || !strings.Contains(a.body, `"mcp_url":"https://desk.example.test/mcp"`) {
			t.Errorf("%s: %d %s", method, a.status, a.body)
		}
	}
}

func TestHealth_is_refused_until_both_addresses_listen(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/healthz", "/readyz"} {
		if a := w.call("GET", path, "", ""); a.status != 503 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

func TestHeaders(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/login", "/api/v1/outcomes", "/nowhere", "/mcp"} {
		h := w.call("GET", path, "", "").header
		for name, want := range map[string]string{
			"Content-Security-Policy":   contentPolicy,
			"X-Content-Type-Options":    "nosniff",
			"X-Frame-Options":           "DENY",
			"Referrer-Policy":           "same-origin",
			"Cache-Control":             "no-store",
			"Strict-Transport-Security": "max-age=31536000",
		} {
			if h.Get(name) != want {
				t.Errorf("%s: %s is %q", path, name, h.Get(name))
			}
		}
	}
	if strings.Contains(contentPolicy, "unsafe") {
		t.Error("the policy allows inline script or style")
	}
	plain := newWorld(t, func(c *Config) { c.PublicURL = "http://127.0.0.1:8080" })
	if h := plain.call("GET", "/login", "", "").header; h.Get("Strict-Transport-Security") != "" {
		t.Error("http is told to be https")
	}
}

func TestRequestID_is_made_here_and_logged(t *testing.T) {
	w := newWorld(t)
	a := w.call("GET", "/api/v1/cases", "agent", "", "X-Request-Id", "req_from_outside")
	id := a.header.Get("X-Request-Id")
	if !regexp.MustCompile(`^req_[0-9a-z]{26}$`).MatchString(id) {
		t.Errorf("X-Request-Id %q", id)
	}
	log := w.log.String()
	for _, want := range []string{`"msg":"request"`, `"request_id":"` + id + `"`, `"route":"/api/v1/cases"`, `"status":200`, `"method":"GET"`} {
		if !strings.Contains(log, want) {
			t.Errorf("%s is not in the log %s", want, log)
		}
	}
	if strings.Contains(log, w.tokens["agent"]) {
		t.Error("the log holds a token")
	}
}

func TestPanic_is_answered_and_survived(t *testing.T) {
	w := newWorld(t)
	w.server.app.Get("/api/v1/boom", func(*fiber.Ctx) error { panic("secret detail") })
	a := w.call("GET", "/api/v1/boom", "", "")
	if a.status != 500 || a.code() != "INTERNAL" || strings.Contains(a.body, "secret") || !strings.Contains(a.body, a.header.Get("X-Request-Id")) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if !strings.Contains(w.log.String(), "secret detail") {
		t.Error("the cause is not in the log")
	}
}

func TestProblems_are_pages_for_browsers_and_envelopes_for_programs(t *testing.T) {
	w := newWorld(t)
	if a := w.call("GET", "/nowhere", "", "", "Accept", "text/html"); a.status != 404 || !strings.Contains(a.header.Get("Content-Type"), "text/html") {
		t.Errorf("%d %s", a.status, a.header.Get("Content-Type"))
	}
	for _, path := range []string{"/queues/ap?number=%00", "/search?q=%00", "/cases?supplier=%ff", "/cases/%00", "/login?next=%00"} {
		if a := w.call("GET", path, "", "", "Accept", "text/html"); a.status < 400 || !strings.Contains(a.header.Get("Content-Type"), "text/html") {
			t.Errorf("%s: %d %s", path, a.status, a.header.Get("Content-Type"))
		}
	}
	if a := w.call("GET", "/nowhere", "", ""); a.status != 404 || a.code() != "NOT_FOUND" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := w.call("GET", "/api/v1/nowhere", "", "", "Accept", "text/html"); a.status != 404 || a.code() != "NOT_FOUND" {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestStatic(t *testing.T) {
	w := newWorld(t)
	a := w.call("GET", static.URL("css/app.css"), "", "")
	if a.status != 200 || !strings.Contains(a.header.Get("Cache-Control"), "immutable") || !strings.HasPrefix(a.header.Get("Content-Type"), "text/css") || a.body == "" {
		t.Errorf("%d %v", a.status, a.header)
	}
	if b := w.call("GET", static.URL("css/app.css"), "", "", "If-None-Match", a.header.Get("ETag")); b.status != 304 || b.body != "" {
		t.Errorf("again: %d", b.status)
	}
	if b := w.call("GET", "/static/css/app.css", "", ""); b.status != 200 || strings.Contains(b.header.Get("Cache-Control"), "immutable") {
		t.Errorf("without the hash: %d %v", b.status, b.header)
	}
	for _, path := range []string{"/static/", "/static/../server.go", "/static/static.go"} {
		if b := w.call("GET", path, "", ""); b.status != 404 {
			t.Errorf("%s: %d", path, b.status)
		}
	}
}

func TestMetrics_name_no_workspace(t *testing.T) {
	w := newWorld(t)
	w.call("GET", "/api/v1/cases?workspace_id=2000", "both", "")
	w.in("1000", func(tx *models.Tx) error {
		if err := tx.DB.Exec("DELETE FROM jobs").Error; err != nil { // what a new desk has planned
			return err
		}
		return tx.Schedule("test.job", "x", tx.Now.Add(-time.Hour))
	})
	body := w.call("GET", "/metrics", "", "").body
	for _, want := range []string{`apdesk_http_requests_total{method="GET",route="/api/v1/cases",server="people",status="200"} 1`, "apdesk_jobs_overdue 1", "go_goroutines"} {
		if !strings.Contains(body, want) {
			t.Errorf("%s is missing", want)
		}
	}
	if strings.Contains(body, "2000") && strings.Contains(body, `workspace`) {
		t.Error("a workspace is named")
	}
}

func TestNew_refuses_a_weak_key(t *testing.T) {
	if _, err := New(Config{SecretKey: []byte("short")}); err == nil {
		t.Error("accepted")
	}
}
