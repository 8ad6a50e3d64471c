package confirm

import (
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func TestMain(m *testing.M) { modelstest.Main(m) }

const company = "1000"

var deskKey = []byte("a secret key of the desk, 32 bytes or more")

// desk is a workspace with people and agents, and the service on a real database.
type desk struct {
	t     *testing.T
	store *models.Store
	svc   *Service
	users map[string]models.User
	roles map[string][]models.Role
}

func newDesk(t *testing.T, store *models.Store) *desk {
	t.Helper()
	svc, err := New(store, deskKey)
	if err != nil {
		t.Fatal(err)
	}
	d := &desk{t: t, store: store, svc: svc, users: map[string]models.User{}, roles: map[string][]models.Role{}}
	for _, ws := range []string{company, "2000"} {
		d.tx(models.Operator(ws), func(tx *models.Tx) error {
			return tx.CreateWorkspace(models.Workspace{ID: ws, Name: "Company " + ws, TimeZone: "Europe/Berlin", Currency: "EUR"})
		})
	}
	d.person("fumiko", models.RoleFinanceLead)
	d.person("frank", models.RoleFinanceLead)
	d.person("clara", models.RoleAPClerk, models.RoleFinanceLead) // responsible for the robot
	d.person("lars", models.RoleAPLead)
	d.person("mara", models.RoleMasterData)
	d.person("adam", models.RoleAdmin)
	d.person("audrey", models.RoleAuditor)
	d.account("robot", "clara", models.RoleAgent)
	d.account("other-robot", "clara", models.RoleAgent)
	d.account("sap", "clara", models.RoleERP)
	return d
}

func (d *desk) tx(by models.Principal, fn func(*models.Tx) error) {
	d.t.Helper()
	if err := d.store.InTx(d.t.Context(), by, fn); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) person(name string, roles ...models.Role) {
	d.t.Helper()
	d.add(models.NewUser{Email: name + "@example.com", Name: name, Roles: roles})
}

func (d *desk) account(name, owner string, roles ...models.Role) {
	d.t.Helper()
	d.add(models.NewUser{Email: name + "@example.com", Name: name, Roles: roles, Service: true, OwnerEmail: owner + "@example.com"})
}

func (d *desk) add(n models.NewUser) {
	d.t.Helper()
	d.tx(models.Operator(company), func(tx *models.Tx) error {
		u, _, err := tx.CreateUser(n)
		d.users[n.Name], d.roles[n.Name] = u, n.Roles
		return err
	})
}

// web is a person signed in to the pages, mcp somebody with a token.
func (d *desk) web(name string) models.Principal { return d.as(name, models.ChannelWeb) }
func (d *desk) mcp(name string) models.Principal { return d.as(name, models.ChannelMCP) }

func (d *desk) as(name string, channel models.Channel) models.Principal {
	d.t.Helper()
	u, ok := d.users[name]
	if !ok {
		d.t.Fatalf("nobody is called %q", name)
	}
	p := models.Principal{UserID: u.ID, UserName: u.Name, Email: u.Email, Kind: u.Kind, WorkspaceID: company, Roles: d.roles[name], Channel: channel}
	if u.OwnerID != nil {
		p.OwnerID = *u.OwnerID
	}
	if channel != models.ChannelWeb {
		p.Scopes, p.TokenID, p.TokenName = []models.Scope{models.ScopeAll}, "tok_"+name, name+"-token"
	}
	return p
}

const (
	erpURL    = "https://erp.example/mcp"
	arguments = `{"invoice_id":"5105600123","amount":"250.00"}`
	sureForm  = `{"ok":{"method":"elicitation/create","params":{"mode":"form","message":"Delete the draft of 5105600123?","requestedSchema":{"type":"object",
		"properties":{"sure":{"type":"boolean","title":"Delete it"},"reason":{"type":"string","maxLength":40}},"required":["sure"]}}}}`
	openURL = `{"ok":{"method":"elicitation/create","params":{"mode":"url","message":"Sign in to the bank","url":"https://bank.example/consent?id=7"}}}`
)

// question is a forwarded question as the robot sends it.
func question(change ...func(*RequestInput)) RequestInput {
	in := RequestInput{ServerName: "ERP", ServerURL: erpURL, Tool: "delete_draft", Arguments: json.RawMessage(arguments), InputRequests: json.RawMessage(sureForm),
		RequestStateHash: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", RunID: "run-1",
		Invoice: &models.Invoice{ID: "5105600123", Sent: json.RawMessage(`{"id":"5105600123","amount":"250.00","currency":"EUR"}`)}}
	for _, c := range change {
		c(&in)
	}
	return in
}

func (d *desk) ask(by string, change ...func(*RequestInput)) string {
	d.t.Helper()
	v, err := d.svc.Request(d.t.Context(), d.mcp(by), question(change...), models.Idempotency{})
	if err != nil {
		d.t.Fatal(err)
	}
	return v.ConfirmationID
}

func (d *desk) status(id string) models.ConfirmationStatus {
	d.t.Helper()
	v, err := d.svc.Get(d.t.Context(), d.mcp("robot"), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return v.Status
}

func yes() map[string][]string { return map[string][]string{"sure": {"true"}} }

func (d *desk) answer(name, id string, action models.ElicitAction) error {
	d.t.Helper()
	_, err := d.svc.Answer(d.t.Context(), d.web(name), AnswerInput{ID: id, Action: action, Content: yes(), Version: 1, SecondStep: true})
	return err
}

func (d *desk) mustAnswer(name, id string, action models.ElicitAction) {
	d.t.Helper()
	if err := d.answer(name, id, action); err != nil {
		d.t.Fatalf("%s could not %s: %v", name, action, err)
	}
}

func (d *desk) take(by, id, key string, change ...func(*TakeInput)) (string, error) {
	d.t.Helper()
	in := TakeInput{ID: id, IdempotencyKey: key, ServerName: "ERP", ServerURL: erpURL, Tool: "delete_draft", Arguments: json.RawMessage(arguments)}
	for _, c := range change {
		c(&in)
	}
	got, err := d.svc.Take(d.t.Context(), d.mcp(by), in)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(got.InputResponses)
	return string(text), err
}

func (d *desk) wantTaken(id, key, want string) {
	d.t.Helper()
	got, err := d.take("robot", id, key)
	if err != nil || got != want {
		d.t.Fatalf("took %s, %v; want %s", got, err, want)
	}
}

func (d *desk) page(name, id string) Page {
	d.t.Helper()
	p, err := d.svc.Page(d.t.Context(), d.web(name), id)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

func (d *desk) runJobs() {
	d.t.Helper()
	if _, err := models.NewWorker(d.store, slog.New(slog.DiscardHandler), d.svc.Jobs()).RunDue(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// trail lists the actions about a confirmation in order.
func (d *desk) wantTrail(id string, want ...string) {
	d.t.Helper()
	var got []string
	for _, e := range d.page("audrey", id).Timeline {
		got = append(got, e.Action)
	}
	if !slices.Equal(got, want) {
		d.t.Fatalf("trail %v\n want %v", got, want)
	}
}

func (d *desk) deactivate(name string) {
	d.t.Helper()
	d.tx(models.Operator(company), func(tx *models.Tx) error {
		return tx.DB.Exec("UPDATE memberships SET active = ? WHERE user_id = ? AND workspace_id = ?", false, d.users[name].ID, company).Error
	})
}

func wantCode(t *testing.T, err error, code models.Code) *models.NamedError {
	t.Helper()
	var ne *models.NamedError
	if !errors.As(err, &ne) || ne.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	return ne
}

func wantReason(t *testing.T, err error, code models.Code, reason string) *models.NamedError {
	t.Helper()
	ne := wantCode(t, err, code)
	if ne.Details["reason"] != reason {
		t.Fatalf("got reason %v, want %s", ne.Details["reason"], reason)
	}
	return ne
}

func wantIssue(t *testing.T, err error, path string) {
	t.Helper()
	issues, _ := wantCode(t, err, models.ValidationError).Details["issues"].([]models.Issue)
	if !slices.ContainsFunc(issues, func(is models.Issue) bool { return is.Path == path }) {
		t.Fatalf("got issues %+v, want one at %s", issues, path)
	}
}

func onBoth(t *testing.T, test func(t *testing.T, d *desk, clock *modelstest.Clock)) {
	t.Helper()
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		t.Parallel()
		test(t, newDesk(t, store), clock)
	})
}
