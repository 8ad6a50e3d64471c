package mcpserver

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
	"github.com/apdesk/apdesk/queue"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestMain ends what the tests started.
func TestMain(m *testing.M) { modelstest.Main(m) }

// world is a desk of two companies with an endpoint on a real socket.
type world struct {
	t         testing.TB
	store     *models.Store
	clock     *modelstest.Clock
	queue     *queue.Service
	approvals *approvals.Service
	confirm   *confirm.Service
	handler   *handler
	url       string
	addr      string
	stop      func() // tells the endpoint that the program shuts down
	log       *lines
	tokens    map[string]string // by the name of the token
	waits     chan int          // +1 when a long poll begins, -1 when it ends
	open      atomic.Int64      // connections
}

// lines is a log that can be read while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// people of the test world by e-mail, with their roles in workspace 1000.
var people = []struct {
	email, name string
	roles       []models.Role
	service     bool
}{
	{"olga@example.test", "Olga Owner", []models.Role{models.RoleAdmin}, false},
	{"carl@example.test", "Carl Clerk", []models.Role{models.RoleAPClerk}, false},
	{"petra@example.test", "Petra Procurement", []models.Role{models.RoleProcurement}, false},
	{"fiona@example.test", "Fiona Finance", []models.Role{models.RoleFinanceLead}, false},
	{"lena@example.test", "Lena Lead", []models.Role{models.RoleAPLead}, false},
	{"agent@example.test", "Invoice agent", []models.Role{models.RoleAgent}, true},
	{"erp@example.test", "ERP", []models.Role{models.RoleERP}, true},
}

func newWorld(t testing.TB) *world { return newWorldWith(t, func(*Config) {}) }

func newWorldWith(t testing.TB, change func(*Config), further ...*tool) *world {
	t.Helper()
	store, clock := modelstest.SQLite(t)
	return newWorldOn(t, store, clock, change, further...)
}

func newWorldOn(t testing.TB, store *models.Store, clock *modelstest.Clock, change func(*Config), further ...*tool) *world {
	t.Helper()
	w := &world{t: t, store: store, clock: clock, tokens: map[string]string{}, log: &lines{}, waits: make(chan int, 100)}
	w.queue, w.approvals, w.confirm = queue.New(store), approvals.New(store), confirmOver(t, store)
	w.connect()
	for _, ws := range []models.Workspace{
		{ID: "1000", Name: "Nordwind Europe", TimeZone: "Europe/Berlin", Currency: "EUR"},
		{ID: "2000", Name: "Nordwind Japan", TimeZone: "Asia/Tokyo", Currency: "JPY"},
	} {
		w.in(ws.ID, func(tx *models.Tx) error { return tx.CreateWorkspace(ws) })
	}
	w.in("1000", func(tx *models.Tx) error {
		for _, p := range people {
			n := models.NewUser{Email: p.email, Name: p.name, Roles: p.roles, Service: p.service}
			if p.service {
				n.OwnerEmail = "olga@example.test"
			}
			if _, _, err := tx.CreateUser(n); err != nil {
				return err
			}
		}
		for _, n := range []models.NewToken{
			{UserEmail: "agent@example.test", Name: "agent", Scopes: []models.Scope{models.ScopeCasesWrite, models.ScopeApprovalsWrite, models.ScopeHoldsWrite}},
			{UserEmail: "agent@example.test", Name: "reader", Scopes: []models.Scope{models.ScopeCasesRead}},
			{UserEmail: "agent@example.test", Name: "everything", Scopes: []models.Scope{models.ScopeAll}},
			{UserEmail: "erp@example.test", Name: "erp", Scopes: []models.Scope{models.ScopeApprovalsWrite, models.ScopeMoney}},
			{UserEmail: "olga@example.test", Name: "admin", Scopes: []models.Scope{models.ScopeAll}},
		} {
			secret, _, err := tx.CreateToken(n)
			if err != nil {
				return err
			}
			w.tokens[n.Name] = secret
		}
		return nil
	})
	// A caller with two workspaces and no default.
	w.in("2000", func(tx *models.Tx) error {
		if _, _, err := tx.CreateUser(models.NewUser{Email: "both@example.test", Name: "Agent of both", Service: true, OwnerEmail: "olga@example.test", Roles: []models.Role{models.RoleAgent}}); err != nil {
			return err
		}
		secret, _, err := tx.CreateToken(models.NewToken{UserEmail: "both@example.test", Name: "both", Scopes: []models.Scope{models.ScopeAll}})
		w.tokens["both"] = secret
		return err
	})
	w.in("1000", func(tx *models.Tx) error {
		_, _, err := tx.CreateUser(models.NewUser{Email: "both@example.test", Name: "Agent of both", Roles: []models.Role{models.RoleAgent}})
		return err
	})

	w.serve(change, further...)
	return w
}

// serve opens an endpoint on a socket of its own.
func (w *world) serve(change func(*Config), further ...*tool) {
	stopping := make(chan struct{})
	w.stop = sync.OnceFunc(func() { close(stopping) })
	server := httptest.NewUnstartedServer(nil)
	cfg := Config{
		Store: w.store, Queue: w.queue, Approvals: w.approvals, Confirm: w.confirm, Version: "1.2.3", Stopping: stopping,
		PublicURL: "https://desk.example.test", MCPURL: "https://desk.example.test/mcp",
		Logger: slog.New(slog.NewJSONHandler(w.log, nil)),
	}
	change(&cfg)
	h := newHandler(cfg, further...)
	h.waiting = func(change int) { w.waits <- change }
	w.handler = h
	server.Config.Handler = h.mux
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			w.open.Add(1)
		case http.StateClosed, http.StateHijacked:
			w.open.Add(-1)
		}
	}
	server.Start()
	w.url, w.addr = server.URL+Path, server.Listener.Addr().String()
	stop := w.stop
	w.t.Cleanup(func() {
		stop()
		server.Close()
	})
}

// another is a second endpoint over a store of its own on the same database, as another replica has it, or
// the same one after a restart.
func (w *world) another(store *models.Store) *world {
	other := &world{t: w.t, store: store, clock: w.clock, tokens: w.tokens, log: &lines{}, waits: make(chan int, 100),
		queue: queue.New(store), approvals: approvals.New(store), confirm: confirmOver(w.t, store)}
	other.connect()
	other.serve(func(*Config) {})
	return other
}

// confirmOver keeps questions in a store, under the same key wherever it is.
func confirmOver(t testing.TB, store *models.Store) *confirm.Service {
	t.Helper()
	service, err := confirm.New(store, bytes.Repeat([]byte{7}, 32))
	if err != nil {
		t.Fatal(err)
	}
	return service
}

func (w *world) in(workspace string, fn func(*models.Tx) error) {
	w.t.Helper()
	if err := w.store.InTx(w.t.Context(), models.Operator(workspace), fn); err != nil {
		w.t.Fatal(err)
	}
}

// person is somebody signed in to the pages.
func (w *world) person(email string) models.Principal {
	w.t.Helper()
	var by models.Principal
	err := w.store.View(w.t.Context(), models.Operator("1000"), func(tx *models.Tx) error {
		user, err := tx.UserByEmail(email)
		if err != nil {
			return err
		}
		members, err := tx.Members(user.ID)
		if err != nil {
			return err
		}
		by = models.Principal{UserID: user.ID, UserName: user.Name, Email: user.Email, Kind: user.Kind, WorkspaceID: "1000", Roles: members[0].Roles, Channel: models.ChannelWeb}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return by
}

// dial connects the official client; version "" lets it negotiate, which gives the newest.
func (w *world) dial(token, version string) *mcp.ClientSession {
	w.t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(w.t.Context(), &mcp.StreamableClientTransport{
		Endpoint:   w.url,
		HTTPClient: &http.Client{Transport: withToken(w.tokens[token])},
		MaxRetries: -1,
	}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		w.t.Fatalf("connect as %s: %v", token, err)
	}
	w.t.Cleanup(func() { _ = session.Close() })
	return session
}

type withToken string

func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

// must calls a tool and decodes its structured answer; an error of any kind fails the test.
func must[T any](t *testing.T, s *mcp.ClientSession, tool string, args any) T {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if res.IsError {
		t.Fatalf("%s: %s", tool, textOf(t, res))
	}
	structured, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	var fromText, fromStructured any
	if json.Unmarshal([]byte(textOf(t, res)), &fromText) != nil || json.Unmarshal(structured, &fromStructured) != nil || fmt.Sprint(fromText) != fmt.Sprint(fromStructured) {
		t.Errorf("%s: the text block %s is not the structured content %s", tool, textOf(t, res), structured)
	}
	var out T
	if err := json.Unmarshal(structured, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// refusedWith calls a tool and gives the named error it answers.
func refusedWith(t *testing.T, s *mcp.ClientSession, tool string, args any) models.NamedError {
	t.Helper()
	res, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if !res.IsError {
		t.Fatalf("%s: succeeded with %s", tool, textOf(t, res))
	}
	if res.StructuredContent != nil {
		t.Errorf("%s: an error carries structured content", tool)
	}
	var ne models.NamedError
	if err := json.Unmarshal([]byte(textOf(t, res)), &ne); err != nil {
		t.Fatal(err)
	}
	return ne
}

func textOf(t *testing.T, res *mcp.CallToolResult) string {
	t.Helper()
	if len(res.Content) != 1 {
		t.Fatalf("%d content blocks, want one", len(res.Content))
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		t.Fatalf("the content is a %T", res.Content[0])
	}
	return text.Text
}

// ask is one raw HTTP request.
type ask struct {
	method  string // POST when empty
	path    string // of the endpoint when empty
	token   string // name of a token; "" sends none
	version string // header MCP-Protocol-Version; "" sends none
	headers []string
	body    string
}

// modern is a 2026-07-28 request of a method, with its headers.
func modern(token, method, params string) ask {
	meta := `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	if params != "" {
		meta = "," + meta
	}
	a := ask{token: token, version: version2026, headers: []string{"Mcp-Method: " + method},
		body: `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + params + meta + `}}`}
	if name := regexp.MustCompile(`^"(?:name|uri)":"([^"]*)"`).FindStringSubmatch(params); name != nil {
		a.headers = append(a.headers, "Mcp-Name: "+name[1])
	}
	return a
}

// callTool is a 2026-07-28 tools/call.
func callTool(token, tool, args string) ask {
	return modern(token, "tools/call", `"name":"`+tool+`","arguments":`+args)
}

// send writes the request to the socket byte by byte as given and reads the answer.
func (w *world) send(a ask) (*http.Response, string) {
	w.t.Helper()
	conn := w.begin(a)
	defer func() { _ = conn.Close() }()
	res, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: a.method})
	if err != nil {
		w.t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res, string(body)
}

// begin writes the request to a socket of its own and reads nothing.
func (w *world) begin(a ask) net.Conn {
	w.t.Helper()
	if a.method == "" {
		a.method = http.MethodPost
	}
	if a.path == "" {
		a.path = Path
	}
	var req strings.Builder
	fmt.Fprintf(&req, "%s %s HTTP/1.1\r\n", a.method, a.path)
	given := map[string]bool{}
	for _, line := range a.headers {
		name, _, _ := strings.Cut(line, ":")
		given[strings.ToLower(name)] = true
	}
	standard := func(name, value string) {
		if !given[strings.ToLower(name)] {
			fmt.Fprintf(&req, "%s: %s\r\n", name, value)
		}
	}
	standard("Host", w.addr)
	standard("Content-Type", "application/json")
	standard("Accept", "application/json, text/event-stream")
	if a.token != "" {
		standard("Authorization", "Bearer "+w.tokens[a.token])
	}
	if a.version != "" {
		standard(versionHeader, a.version)
	}
	standard("Connection", "close")
	for _, line := range a.headers {
		if !strings.HasSuffix(line, ":") { // "Name:" leaves the header out
			req.WriteString(line + "\r\n")
		}
	}
	if !given["content-length"] && !given["transfer-encoding"] {
		fmt.Fprintf(&req, "Content-Length: %d\r\n", len(a.body))
	}
	req.WriteString("\r\n" + a.body)
	conn, err := (&net.Dialer{}).DialContext(w.t.Context(), "tcp", w.addr)
	if err != nil {
		w.t.Fatal(err)
	}
	go func() { _, _ = io.WriteString(conn, req.String()) }() // the server may answer before it has read all
	return conn
}

// transcript is the answer as the golden files keep it.
func transcript(res *http.Response, body string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP %d\n", res.StatusCode)
	for _, name := range []string{"Allow", "Content-Type", "Retry-After", "WWW-Authenticate"} {
		for _, value := range res.Header.Values(name) {
			fmt.Fprintf(&b, "%s: %s\n", name, value)
		}
	}
	b.WriteString("\n" + body + "\n")
	return b.String()
}

var freshID = regexp.MustCompile(`\b(case|areq|apr|hold|req|conf)_[0-9a-z]{26,}`)

var freshState = regexp.MustCompile(`\bv1\.[0-9A-Za-z_-]+`)

func golden(t *testing.T, name, got string) {
	t.Helper()
	got = freshState.ReplaceAllString(freshID.ReplaceAllString(got, "${1}_FRESH"), "v1.STATE")
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s\ngot:\n%s\nwant:\n%s", path, got, want)
	}
}
