package queue_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
	"github.com/apdesk/apdesk/queue"
)

// cast is a company with the people and agents the stories are about.
type cast struct {
	t     *testing.T
	store *models.Store
	clock *modelstest.Clock
	desk  *queue.Service

	clara, carl, lena, petra, fiona, mara, aude, adam models.Principal // people on the pages
	agent, other, erp                                 models.Principal // callers with tokens
	stranger                                          models.Principal // clerk of another company
}

// each runs a story on both databases.
func each(t *testing.T, story func(t *testing.T, c *cast)) {
	t.Helper()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		t.Parallel()
		story(t, newCast(t, store, clock))
	})
}

func newCast(t *testing.T, store *models.Store, clock *modelstest.Clock) *cast {
	t.Helper()
	c := &cast{t: t, store: store, clock: clock, desk: queue.New(store)}
	for _, ws := range []string{"1000", "2000"} {
		must(t, store.InTx(t.Context(), models.Operator(ws), func(tx *models.Tx) error {
			return tx.CreateWorkspace(models.Workspace{ID: ws, Name: "Company " + ws, TimeZone: "Europe/Berlin", Currency: "EUR"})
		}))
	}
	c.clara = c.person("1000", "Clara", models.RoleAPClerk)
	c.carl = c.person("1000", "Carl", models.RoleAPClerk)
	c.lena = c.person("1000", "Lena", models.RoleAPLead)
	c.petra = c.person("1000", "Petra", models.RoleProcurement)
	c.fiona = c.person("1000", "Fiona", models.RoleFinanceLead)
	c.mara = c.person("1000", "Mara", models.RoleMasterData)
	c.aude = c.person("1000", "Aude", models.RoleAuditor)
	c.adam = c.person("1000", "Adam", models.RoleAdmin)
	c.stranger = c.person("2000", "Sven", models.RoleAPClerk)
	c.agent = c.caller("1000", "agent-one", models.RoleAgent)
	c.other = c.caller("1000", "agent-two", models.RoleAgent)
	c.erp = c.caller("1000", "erp", models.RoleERP)
	return c
}

func (c *cast) person(ws, name string, roles ...models.Role) models.Principal {
	c.t.Helper()
	p := models.Principal{UserName: name, Email: strings.ToLower(name) + "@example.test", Kind: models.KindPerson, WorkspaceID: ws, Roles: roles, Channel: models.ChannelWeb}
	c.user(ws, models.NewUser{Email: p.Email, Name: name, Roles: roles}, &p)
	return p
}

func (c *cast) caller(ws, name string, roles ...models.Role) models.Principal {
	c.t.Helper()
	p := models.Principal{UserName: name, Email: name + "@example.test", Kind: models.KindService, WorkspaceID: ws, Roles: roles, Channel: models.ChannelAPI,
		TokenID: "tok_" + name, TokenName: name, Scopes: []models.Scope{models.ScopeAll}}
	c.user(ws, models.NewUser{Email: p.Email, Name: name, Roles: roles, Service: true, OwnerEmail: "adam@example.test"}, &p)
	return p
}

func (c *cast) user(ws string, n models.NewUser, p *models.Principal) {
	c.t.Helper()
	must(c.t, c.store.InTx(c.t.Context(), models.Operator(ws), func(tx *models.Tx) error {
		u, _, err := tx.CreateUser(n)
		p.UserID = u.ID
		return err
	}))
}

// onToken is a person acting through a token of every scope.
func onToken(p models.Principal) models.Principal {
	p.Channel, p.TokenID, p.TokenName, p.Scopes = models.ChannelAPI, "tok_x", "x", []models.Scope{models.ScopeAll}
	return p
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// refused asserts the code.
func refused(t *testing.T, err error, code models.Code) {
	t.Helper()
	if !models.IsCode(err, code) {
		t.Fatalf("want %s, got %v", code, err)
	}
}

// refusal asserts the code and answers the error.
func refusal(t *testing.T, err error, code models.Code) *models.NamedError {
	t.Helper()
	ne, ok := models.AsNamed(err)
	if !ok || ne.Code != code {
		t.Fatalf("want %s, got %v", code, err)
	}
	return ne
}

// issueOn asserts that VALIDATION_ERROR names the path.
func issueOn(t *testing.T, err error, path string) {
	t.Helper()
	ne := refusal(t, err, models.ValidationError)
	for _, is := range ne.Details["issues"].([]models.Issue) {
		if is.Path == path {
			return
		}
	}
	t.Fatalf("want an issue on %s, got %v", path, err)
}

func money(t *testing.T, amount, currency string) models.Money {
	t.Helper()
	m, err := models.ParseMoney(amount, currency)
	must(t, err)
	return m
}

func (c *cast) invoice(id string) models.Invoice {
	return models.Invoice{ID: id, Number: "INV-" + id, SupplierID: "V-2001", SupplierName: "Nordwind GmbH", PoID: "4500018822", Amount: money(c.t, "1234.50", "EUR"),
		TaxID: "DE123456789", BankAccount: "DE02120300000000202051"}
}

func seen(code models.Code, tool, arguments, details string) models.SeenError {
	return models.SeenError{Tool: tool, Arguments: json.RawMessage(arguments), Error: models.SeenNamedError{Code: code, Message: "said the tool", Details: json.RawMessage(details)}}
}

// stop is a handover of one named error.
func (c *cast) stop(invoiceID string, code models.Code, details string) queue.HandoverInput {
	return queue.HandoverInput{RunID: "run-1", Reason: models.ReasonNamedError, Invoice: c.invoice(invoiceID), Explanation: "I stopped.",
		Errors: []models.SeenError{seen(code, "get_purchase_order", `{"po_id":"4500018822"}`, details)}}
}

func (c *cast) file(in queue.HandoverInput) queue.HandoverResult {
	c.t.Helper()
	out, err := c.desk.HandOver(c.t.Context(), c.agent, in, models.Idempotency{})
	must(c.t, err)
	return out
}

func (c *cast) get(by models.Principal, caseID string) queue.CaseView {
	c.t.Helper()
	v, err := c.desk.Get(c.t.Context(), by, caseID)
	must(c.t, err)
	return v
}

// choose decides on the case as it is now.
func (c *cast) choose(by models.Principal, caseID, exit string, input map[string]string, reason string) (queue.CaseView, error) {
	c.t.Helper()
	return c.desk.Decide(c.t.Context(), by, queue.DecideInput{CaseID: caseID, Exit: exit, Input: input, Reason: reason, Version: c.get(by, caseID).Version})
}

func (c *cast) decide(by models.Principal, caseID, exit string, input map[string]string, reason string) queue.CaseView {
	c.t.Helper()
	v, err := c.choose(by, caseID, exit, input, reason)
	must(c.t, err)
	return v
}

// actions are the trail of a case, oldest first.
func (c *cast) actions(caseID string) []string {
	c.t.Helper()
	p, err := c.desk.Page(c.t.Context(), c.aude, caseID)
	must(c.t, err)
	out := make([]string, len(p.Timeline))
	for i, e := range p.Timeline {
		out[len(out)-1-i] = e.Action
	}
	return out
}

func (c *cast) runJobs() {
	c.t.Helper()
	_, err := models.NewWorker(c.store, discard, c.desk.Jobs()).RunDue(c.t.Context())
	must(c.t, err)
}

func (c *cast) closePeriod(through string) {
	c.t.Helper()
	d, err := models.ParseDate(through)
	must(c.t, err)
	must(c.t, c.store.InTx(c.t.Context(), models.Operator("1000"), func(tx *models.Tx) error { return tx.MovePeriod(d, models.Date{}) }))
}

func (c *cast) closedThrough() string {
	c.t.Helper()
	var ws models.Workspace
	must(c.t, c.store.View(c.t.Context(), models.Operator("1000"), func(tx *models.Tx) error {
		var err error
		ws, err = tx.Workspace()
		return err
	}))
	return ws.PeriodClosedThrough.String()
}

func (c *cast) tomorrow(days int) string {
	return c.clock.Now().Add(time.Duration(days) * 24 * time.Hour).Format(time.DateOnly)
}
