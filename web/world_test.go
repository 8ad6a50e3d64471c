package web

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
	"github.com/apdesk/apdesk/queue"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != text {
		t.Errorf("%s is stale; if the change is meant, run go test %s -update", path, "./web")
		for i, line := range strings.Split(text, "\n") {
			was := strings.Split(string(want), "\n")
			if i >= len(was) || was[i] != line {
				t.Errorf("first difference, line %d: %s", i+1, line)
				break
			}
		}
	}
}

// world is a desk of two companies, whole but for its sockets.
type world struct {
	t         *testing.T
	store     *models.Store
	clock     *modelstest.Clock
	queue     *queue.Service
	approvals *approvals.Service
	confirm   *confirm.Service
	server    *Server
	log       *lines
	tokens    map[string]string
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

func newWorld(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	store, clock := modelstest.SQLite(t)
	return newWorldOn(t, store, clock, change...)
}

func newWorldOn(t *testing.T, store *models.Store, clock *modelstest.Clock, change ...func(*Config)) *world {
	t.Helper()
	w := &world{t: t, store: store, clock: clock, tokens: map[string]string{}, log: &lines{}}
	w.queue, w.approvals = queue.New(store), approvals.New(store)
	w.queue.UseApprovals(w.approvals)
	w.approvals.UseCases(w.queue)
	for _, ws := range []models.Workspace{
		{ID: "1000", Name: "Nordwind Europe", TimeZone: "Europe/Berlin", Currency: "EUR"},
		{ID: "2000", Name: "Nordwind Japan", TimeZone: "Asia/Tokyo", Currency: "JPY"},
	} {
		w.in(ws.ID, func(tx *models.Tx) error {
			if err := tx.CreateWorkspace(ws); err != nil {
				return err
			}
			for _, n := range []models.NewUser{
				{Email: "olga@example.test", Name: "Olga Owner", Roles: []models.Role{models.RoleAdmin}},
				{Email: "petra@example.test", Name: "Petra Procurement", Roles: []models.Role{models.RoleProcurement}},
				{Email: "both@example.test", Name: "Agent of both", Roles: []models.Role{models.RoleAgent}, Service: true, OwnerEmail: "olga@example.test"},
			} {
				if _, _, err := tx.CreateUser(n); err != nil {
					return err
				}
			}
			return nil
		})
	}
	w.in("1000", func(tx *models.Tx) error {
		for _, n := range []models.NewUser{
			{Email: "fiona@example.test", Name: "Fiona Finance", Roles: []models.Role{models.RoleFinanceLead}},
			{Email: "lena@example.test", Name: "Lena Lead", Roles: []models.Role{models.RoleAPLead}},
			{Email: "agent@example.test", Name: "Invoice agent", Roles: []models.Role{models.RoleAgent}, Service: true, OwnerEmail: "olga@example.test"},
			{Email: "erp@example.test", Name: "ERP", Roles: []models.Role{models.RoleERP}, Service: true, OwnerEmail: "olga@example.test"},
			{Email: "gone@example.test", Name: "Agent that left", Roles: []models.Role{models.RoleAgent}, Service: true, OwnerEmail: "olga@example.test"},
		} {
			if _, _, err := tx.CreateUser(n); err != nil {
				return err
			}
		}
		for _, n := range []models.NewToken{
			{UserEmail: "agent@example.test", Name: "agent", Scopes: []models.Scope{models.ScopeCasesWrite, models.ScopeApprovalsWrite, models.ScopeHoldsWrite}},
			{UserEmail: "agent@example.test", Name: "reader", Scopes: []models.Scope{models.ScopeCasesRead}},
			{UserEmail: "erp@example.test", Name: "erp", Scopes: []models.Scope{models.ScopeApprovalsWrite, models.ScopeMoney}},
			{UserEmail: "both@example.test", Name: "both", Scopes: []models.Scope{models.ScopeAll}},
			{UserEmail: "fiona@example.test", Name: "fiona", Scopes: []models.Scope{models.ScopeAll}},
			{UserEmail: "lena@example.test", Name: "lena", Scopes: []models.Scope{models.ScopeAll}},
			{UserEmail: "gone@example.test", Name: "gone", Scopes: []models.Scope{models.ScopeAll}},
		} {
			secret, _, err := tx.CreateToken(n)
			if err != nil {
				return err
			}
			w.tokens[n.Name] = secret
		}
		gone, err := tx.UserByEmail("gone@example.test")
		if err != nil {
			return err
		}
		return tx.DB.Model(&models.Membership{}).Where("user_id = ?", gone.ID).Update("active", false).Error
	})
	_, err := w.approvals.CreateRule(t.Context(), models.Operator("1000"), approvals.NewRule{Currency: "EUR", From: "0", To: "10000", Role: models.RoleFinanceLead})
	if err != nil {
		t.Fatal(err)
	}
	if w.confirm, err = confirm.New(store, bytes.Repeat([]byte{7}, 32)); err != nil {
		t.Fatal(err)
	}
	cfg := Config{Store: store, Queue: w.queue, Approvals: w.approvals, Confirm: w.confirm, Addr: "127.0.0.1:0", MCPAddr: "127.0.0.1:0", PublicURL: "https://desk.example.test",
		MCPURL: "https://desk.example.test/mcp", SecretKey: bytes.Repeat([]byte{7}, 32), Version: "1.2.3", Logger: slog.New(slog.NewJSONHandler(w.log, nil))}
	for _, c := range change {
		c(&cfg)
	}
	if w.server, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) in(workspace string, fn func(*models.Tx) error) {
	w.t.Helper()
	if err := w.store.InTx(w.t.Context(), models.Operator(workspace), fn); err != nil {
		w.t.Fatal(err)
	}
}

// person is somebody signed in to the pages of workspace 1000.
func (w *world) person(email string) models.Principal {
	w.t.Helper()
	var by models.Principal
	w.in("1000", func(tx *models.Tx) error {
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
	return by
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// code is the code of a named error in the answer.
func (a answer) code() string {
	var envelope struct{ Error struct{ Code string } }
	_ = json.Unmarshal([]byte(a.body), &envelope)
	return envelope.Error.Code
}

// field is a member of the answer's object, as text.
func (a answer) field(name string) string {
	var object map[string]any
	if err := json.Unmarshal([]byte(a.body), &object); err != nil {
		return ""
	}
	text, _ := object[name].(string)
	return text
}

// call makes one request; headers come in pairs.
func (w *world) call(method, path, token, body string, headers ...string) answer {
	w.t.Helper()
	var reader io.Reader
	if body != "" {
		reader = strings.NewReader(body)
	}
	req := httptest.NewRequestWithContext(w.t.Context(), method, path, reader)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		secret := w.tokens[token]
		if secret == "" {
			secret = token
		}
		req.Header.Set("Authorization", "Bearer "+secret)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := w.server.app.Test(req, -1)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

// talk is a conversation over REST, written down as it goes over the wire.
type talk struct {
	w   *world
	ids map[string]string // what {name} stands for in paths and bodies
	out strings.Builder
}

func (w *world) talk() *talk { return &talk{w: w, ids: map[string]string{}} }

func (k *talk) say(name, method, path, token, body string, headers ...string) answer {
	k.w.t.Helper()
	for id, value := range k.ids {
		path, body = strings.ReplaceAll(path, "{"+id+"}", value), strings.ReplaceAll(body, "{"+id+"}", value)
	}
	a := k.w.call(method, path, token, body, headers...)
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, []byte(a.body), "", "  "); err != nil {
		k.w.t.Fatalf("%s: %d %s", name, a.status, a.body)
	}
	fmt.Fprintf(&k.out, "## %s\n%s %s\n%d\n", name, method, path, a.status)
	for _, h := range []string{"WWW-Authenticate", "Retry-After", "Allow"} {
		if v := a.header.Get(h); v != "" {
			fmt.Fprintf(&k.out, "%s: %s\n", h, v)
		}
	}
	fmt.Fprintf(&k.out, "%s\n\n", pretty.String())
	return a
}

func (k *talk) golden(path string) {
	k.w.t.Helper()
	// Events are sealed a moment after they are written; whether that has happened is no answer's concern.
	golden(k.w.t, path, masked(sealed.ReplaceAllString(k.out.String(), `"seq": null`)))
}

var sealed = regexp.MustCompile(`"seq": [0-9]+`)

var anID = regexp.MustCompile(`\b(case|areq|apr|conf|hold|evt|usr|rule|req)_[0-9a-z]{26,}`)

// masked numbers the ids of each kind in the order in which they come.
func masked(text string) string {
	known, count := map[string]string{}, map[string]int{}
	return anID.ReplaceAllStringFunc(text, func(id string) string {
		if known[id] == "" {
			kind, _, _ := strings.Cut(id, "_")
			count[kind]++
			known[id] = fmt.Sprintf("%s_%d", kind, count[kind])
		}
		return known[id]
	})
}
