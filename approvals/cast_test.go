package approvals_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// desk is a company with people, an agent and an ERP, and the approvals service on a real database.
type desk struct {
	t     testing.TB
	store *models.Store
	svc   *approvals.Service
	cases *caseBook
	users map[string]models.User
	roles map[string][]models.Role
}

// caseBook stands in for the queues: it remembers what was opened.
type caseBook struct {
	mu     sync.Mutex
	opened map[string]models.SeenError // by request id

	closed, reviews, answered map[string]string // exit by case, why by request, note by case
}

func (c *caseBook) OpenUnrouted(tx *models.Tx, r models.ApprovalRequest, _ models.Invoice, seen models.SeenError) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.opened[r.ID] = seen
	return "case_for_" + r.ID, nil
}

const company = "1000"

func newDesk(t *testing.T, store *models.Store) *desk {
	t.Helper()
	return newDeskIn(t, store)
}

func newDeskIn(t testing.TB, store *models.Store) *desk {
	t.Helper()
	d := &desk{t: t, store: store, svc: approvals.New(store), cases: &caseBook{opened: map[string]models.SeenError{},
		closed: map[string]string{}, reviews: map[string]string{}, answered: map[string]string{}},
		users: map[string]models.User{}, roles: map[string][]models.Role{}}
	d.svc.UseCases(d.cases)
	for _, ws := range []string{company, "2000"} {
		d.tx(models.Operator(ws), func(tx *models.Tx) error {
			return tx.CreateWorkspace(models.Workspace{ID: ws, Name: "Company " + ws, TimeZone: "Europe/Berlin", Currency: "EUR"})
		})
	}
	d.person("lars", models.RoleAPLead)
	d.person("nina", models.RoleAPLead)
	d.person("fumiko", models.RoleFinanceLead)
	d.person("frank", models.RoleFinanceLead)
	d.person("clara", models.RoleAPClerk)
	d.person("audrey", models.RoleAuditor)
	d.person("adam", models.RoleAdmin)
	d.account("robot", "clara", models.RoleAgent)
	d.account("other-robot", "clara", models.RoleAgent)
	d.account("sap", "clara", models.RoleERP)
	d.account("sap-two", "clara", models.RoleERP)
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

// web is a person signed in to the pages.
func (d *desk) web(name string) models.Principal { return d.as(name, models.ChannelWeb) }

// mcp is somebody with a token.
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
		p.Scopes, p.TokenID, p.TokenName = []models.Scope{models.ScopeAll}, "tok_"+name, name
	}
	return p
}

// rule adds a row of the matrix, as the operator.
func (d *desk) rule(n approvals.NewRule) models.Rule {
	d.t.Helper()
	r, err := d.svc.CreateRule(d.t.Context(), models.Operator(company), n)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

func financeRule(required int) approvals.NewRule {
	return approvals.NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "0", To: "10000", Required: required}
}

// ask is a request for an adjustment of an amount.
func ask(t testing.TB, amount string, change ...func(*approvals.RequestInput)) approvals.RequestInput {
	t.Helper()
	money, err := models.ParseMoney(amount, "EUR")
	if err != nil {
		t.Fatal(err)
	}
	posting, err := models.ParseDate("2026-10-05")
	if err != nil {
		t.Fatal(err)
	}
	in := approvals.RequestInput{
		RunID: "run-1", Invoice: models.Invoice{ID: "5105600123", SupplierID: "V-2001", Amount: money, Sent: json.RawMessage(`{"id":"5105600123","supplier_id":"V-2001","amount":"9999.00","currency":"EUR"}`)},
		Action:      models.Call{Tool: "post_invoice_adjustment", Arguments: arguments(amount)},
		Amount:      money,
		PostingDate: posting,
		Summary:     "Post the price difference.",
	}
	for _, c := range change {
		c(&in)
	}
	return in
}

func arguments(amount string) json.RawMessage {
	return json.RawMessage(fmt.Sprintf(`{"invoice_id":"5105600123","supplier_id":"V-2001","amount":%q,"currency":"EUR","posting_date":"2026-10-05","approval_id":"to come"}`, amount))
}

func (d *desk) request(by string, in approvals.RequestInput) approvals.RequestView {
	d.t.Helper()
	v, err := d.svc.Request(d.t.Context(), d.mcp(by), in, models.Idempotency{})
	if err != nil {
		d.t.Fatal(err)
	}
	return v
}

func (d *desk) vote(name, requestID string, decision models.VoteDecision, reason string) (approvals.RequestView, error) {
	d.t.Helper()
	page, err := d.svc.Page(d.t.Context(), d.web(name), requestID)
	if err != nil {
		d.t.Fatal(err)
	}
	return d.svc.Vote(d.t.Context(), d.web(name), approvals.VoteInput{RequestID: requestID, Decision: decision, Reason: reason, Version: page.Request.Version})
}

func (d *desk) yes(name, requestID string) approvals.RequestView {
	d.t.Helper()
	v, err := d.vote(name, requestID, models.VoteApprove, "")
	if err != nil {
		d.t.Fatalf("%s could not approve: %v", name, err)
	}
	return v
}

// approved asks as the robot, has fumiko approve, and answers the approval's id as the robot reads it.
func (d *desk) approved(in approvals.RequestInput) (requestID, approvalID string) {
	d.t.Helper()
	v := d.request("robot", in)
	d.yes("fumiko", v.RequestID)
	got, err := d.svc.Get(d.t.Context(), d.mcp("robot"), v.RequestID)
	if err != nil {
		d.t.Fatal(err)
	}
	if got.ApprovalID == "" {
		d.t.Fatalf("approved, but the robot got no approval id: %+v", got)
	}
	return v.RequestID, got.ApprovalID
}

func (d *desk) redeem(by, approvalID, key string, args json.RawMessage) (approvals.RedeemResult, error) {
	d.t.Helper()
	return d.svc.Redeem(d.t.Context(), d.mcp(by), approvals.RedeemInput{ApprovalID: approvalID, IdempotencyKey: key,
		Call: models.Call{Tool: "post_invoice_adjustment", Arguments: args}, Reachable: []string{company}})
}

// runJobs does what is due.
func (d *desk) runJobs() {
	d.t.Helper()
	worker := models.NewWorker(d.store, discard(), d.svc.Jobs())
	if _, err := worker.RunDue(d.t.Context()); err != nil {
		d.t.Fatal(err)
	}
}

// trail lists the actions about a request, in order.
func (d *desk) trail(requestID string) []string {
	d.t.Helper()
	page, err := d.svc.Page(d.t.Context(), d.web("audrey"), requestID)
	if err != nil {
		d.t.Fatal(err)
	}
	var actions []string
	for _, e := range page.Timeline {
		actions = append(actions, e.Action)
	}
	return actions
}

func (d *desk) refusals(action string) []models.AuditEvent {
	d.t.Helper()
	var events []models.AuditEvent
	err := d.store.View(d.t.Context(), models.System(company), func(tx *models.Tx) error {
		return tx.DB.Where("workspace_id = ? AND action = ?", company, action).Order("id").Find(&events).Error
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return events
}

func (d *desk) takeRole(name string, role models.Role) {
	d.t.Helper()
	d.tx(models.Operator(company), func(tx *models.Tx) error {
		return tx.DB.Exec("DELETE FROM membership_roles WHERE user_id = ? AND workspace_id = ? AND role = ?", d.users[name].ID, company, role).Error
	})
}

func (d *desk) deactivate(name string) {
	d.t.Helper()
	d.tx(models.Operator(company), func(tx *models.Tx) error {
		return tx.DB.Exec("UPDATE memberships SET active = ? WHERE user_id = ? AND workspace_id = ?", false, d.users[name].ID, company).Error
	})
}

// peopleChanged says that somebody's membership or roles changed, as whoever changes them does.
func (d *desk) peopleChanged(names ...string) {
	d.t.Helper()
	var ids []string
	for _, name := range names {
		ids = append(ids, d.users[name].ID)
	}
	d.tx(models.Operator(company), func(tx *models.Tx) error { return d.svc.PeopleChanged(tx, ids...) })
}

func (d *desk) closePeriod(day string) {
	d.t.Helper()
	through, err := models.ParseDate(day)
	if err != nil {
		d.t.Fatal(err)
	}
	d.tx(models.Operator(company), func(tx *models.Tx) error { return tx.MovePeriod(through, models.Date{}) })
}

// refusal is what a caller is told.
type refusal struct {
	Message string
	Details map[string]any
}

func wantCode(t *testing.T, err error, code models.Code) refusal {
	t.Helper()
	var ne *models.NamedError
	if !errors.As(err, &ne) || ne.Code != code {
		t.Fatalf("got %v, want %s", err, code)
	}
	return refusal{Message: ne.Message, Details: ne.Details}
}

func wantReason(t *testing.T, err error, reason string) {
	t.Helper()
	if ne := wantCode(t, err, models.ApprovalMissing); ne.Details["reason"] != reason {
		t.Fatalf("got reason %v, want %s", ne.Details["reason"], reason)
	}
}

func wantIssue(t *testing.T, err error, path string) models.Issue {
	t.Helper()
	ne := wantCode(t, err, models.ValidationError)
	issues, _ := ne.Details["issues"].([]models.Issue)
	for _, is := range issues {
		if is.Path == path {
			return is
		}
	}
	t.Fatalf("got issues %+v, want one at %s", issues, path)
	return models.Issue{}
}

func onBoth(t *testing.T, test func(t *testing.T, d *desk, clock *modelstest.Clock)) {
	t.Helper()
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		t.Parallel()
		test(t, newDesk(t, store), clock)
	})
}

const day = 24 * time.Hour

func (c *caseBook) CloseRouted(_ *models.Tx, caseID, _, exit, _ string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed[caseID] = exit
	return nil
}

func (c *caseBook) OpenReview(_ *models.Tx, r models.ApprovalRequest, _ models.Invoice, why string) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reviews[r.ID] = why
	return "case_review_of_" + r.ID, nil
}

// AskAgent keeps the question as the queues do: on a case of the workspace, with the agent's
// instruction and the decision that asked.
func (c *caseBook) AskAgent(tx *models.Tx, r models.ApprovalRequest, _ models.Invoice, caseID, question string) (string, error) {
	instruction, err := json.Marshal(models.Instruction{Kind: models.InstructResume, Question: question})
	if err != nil {
		return "", err
	}
	text := string(instruction)
	if caseID == "" {
		caseID = "case_about_" + r.ID
		err = tx.DB.Create(&models.Case{ID: caseID, WorkspaceID: r.WorkspaceID, Status: models.CaseOpen, Queue: models.QueueFinance, Reason: models.ReasonOther, Version: 1,
			JoinKey: caseID, InvoiceID: r.InvoiceID, Amount: r.Amount, Currency: r.Currency, Invoice: "{}", Marks: "[]", Instruction: &text,
			DueAt: tx.Now, CreatedAt: tx.Now, UpdatedAt: tx.Now}).Error
	} else {
		err = tx.DB.Model(&models.Case{}).Where("id = ?", caseID).Update("instruction", text).Error
	}
	if err != nil {
		return "", err
	}
	input, err := json.Marshal(map[string]string{"question": question})
	if err != nil {
		return "", err
	}
	return caseID, tx.DB.Create(&models.Decision{ID: tx.NewID(models.PrefixDecision), WorkspaceID: r.WorkspaceID, CaseID: caseID, InvoiceID: r.InvoiceID, Exit: "ask_agent",
		InstructionKind: models.InstructResume, Input: string(input), DecidedByID: &tx.By.UserID, DecidedByName: tx.By.UserName, ApprovalRequestIDs: "[]", DecidedAt: tx.Now}).Error
}

// answer is what the queues keep of the agent's answer.
func (d *desk) answer(by, caseID, answer string) {
	d.t.Helper()
	body, err := json.Marshal(map[string]string{"case_id": caseID, "answer": answer})
	if err != nil {
		d.t.Fatal(err)
	}
	d.tx(d.mcp(by), func(tx *models.Tx) error {
		err := tx.DB.Create(&models.Handover{ID: tx.NewID(models.PrefixHandover), WorkspaceID: company, CaseID: caseID, Kind: "answer", At: tx.Now,
			AgentID: tx.By.UserID, AgentName: tx.By.UserName, Channel: tx.By.Channel, Body: string(body)}).Error
		if err != nil {
			return err
		}
		return tx.DB.Model(&models.Case{}).Where("id = ?", caseID).Update("instruction", nil).Error
	})
}

func (c *caseBook) CloseQuestion(_ *models.Tx, caseID, note string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answered[caseID] = note
	return nil
}

// notices lists the kinds of what somebody was told, oldest first.
func (d *desk) notices(name string) []string {
	d.t.Helper()
	list, _, err := d.store.Notices(d.t.Context(), d.web(name), "")
	if err != nil {
		d.t.Fatal(err)
	}
	kinds := make([]string, len(list))
	for i, n := range list {
		kinds[len(list)-1-i] = string(n.Kind)
	}
	return kinds
}

// told says whether somebody was told something of a kind, and how often.
func (d *desk) told(name string, kind models.NoticeKind) int {
	d.t.Helper()
	n := 0
	for _, k := range d.notices(name) {
		if k == string(kind) {
			n++
		}
	}
	return n
}
