package pages_test

import (
	"context"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/web/auth"
	"github.com/apdesk/apdesk/web/pages"
	"github.com/apdesk/apdesk/web/wire"
)

// desk is two companies with one person for each role, an agent, an ERP, and the pages on a real
// database.
type desk struct {
	t         testing.TB
	store     *models.Store
	clock     *modelstest.Clock
	queue     *queue.Service
	approvals *approvals.Service
	confirm   *confirm.Service
	app       *fiber.App
	stop      context.CancelFunc // shuts the desk down
	users     map[string]models.User
	host      string // of the address browsers use
}

const (
	company = "1000"
	other   = "2000"
)

const password = "correct horse battery staple"

var passwordHash = sync.OnceValues(func() (string, error) { return models.HashPassword(password) })

func newDesk(t testing.TB) *desk {
	t.Helper()
	store, clock := modelstest.SQLite(t)
	return newDeskOn(t, store, clock)
}

// newDeskOn is newDesk on a database of the test's choice.
func newDeskOn(t testing.TB, store *models.Store, clock *modelstest.Clock) *desk {
	t.Helper()
	d := &desk{t: t, store: store, clock: clock, queue: queue.New(store), approvals: approvals.New(store), users: map[string]models.User{}, host: "desk.example"}
	d.queue.UseApprovals(d.approvals)
	d.approvals.UseCases(d.queue)
	store.OnPeopleChanged(d.queue.ReturnClaims)
	store.OnPeopleChanged(d.approvals.PeopleChanged)
	confirmations, err := confirm.New(store, []byte(strings.Repeat("k", 32)))
	if err != nil {
		t.Fatal(err)
	}
	d.confirm = confirmations
	guard, err := auth.New(store, []byte(strings.Repeat("k", 32)), "")
	if err != nil {
		t.Fatal(err)
	}
	d.app = fiber.New(fiber.Config{DisableStartupMessage: true})
	var up context.Context
	up, d.stop = context.WithCancel(t.Context())
	pages.New(pages.Config{Store: store, Queue: d.queue, Approvals: d.approvals, Confirm: d.confirm, Auth: guard, Context: up}).Mount(d.app)

	d.workspace(company, "Nordlicht Handels GmbH", "Europe/Berlin", "EUR")
	d.workspace(other, "Northlight Japan KK", "Asia/Tokyo", "JPY")
	for name, role := range map[string]models.Role{"anna": models.RoleAPClerk, "lars": models.RoleAPLead, "petra": models.RoleProcurement, "paul": models.RoleProcurement,
		"fiona": models.RoleFinanceLead, "felix": models.RoleFinanceLead, "mona": models.RoleMasterData, "audra": models.RoleAuditor, "adam": models.RoleAdmin} {
		d.person(company, name, role)
	}
	d.person(other, "yuki", models.RoleProcurement)
	d.account(company, "robot", models.RoleAgent)
	d.account(company, "sap", models.RoleERP)
	d.account(other, "robo2", models.RoleAgent)
	d.rule(company, approvals.NewRule{Currency: "EUR", From: "0", To: "10000", Role: models.RoleFinanceLead})
	d.rule(company, approvals.NewRule{Currency: "EUR", From: "10000.01", To: "100000", Role: models.RoleFinanceLead, Required: 2})
	return d
}

func (d *desk) tx(by models.Principal, fn func(*models.Tx) error) {
	d.t.Helper()
	if err := d.store.InTx(d.t.Context(), by, fn); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) workspace(id, name, zone, currency string) {
	d.t.Helper()
	d.tx(models.Operator(id), func(tx *models.Tx) error {
		return tx.CreateWorkspace(models.Workspace{ID: id, Name: name, TimeZone: zone, Currency: currency})
	})
}

func (d *desk) person(ws, name string, roles ...models.Role) {
	d.t.Helper()
	hash, err := passwordHash()
	if err != nil {
		d.t.Fatal(err)
	}
	d.add(ws, models.NewUser{Email: name + "@example.com", Name: strings.ToUpper(name[:1]) + name[1:], Roles: roles, PasswordHash: hash})
}

func (d *desk) account(ws, name string, roles ...models.Role) {
	d.t.Helper()
	d.add(ws, models.NewUser{Email: name + "@example.com", Name: name, Roles: roles, Service: true, OwnerEmail: "lars@example.com"})
}

func (d *desk) add(ws string, n models.NewUser) {
	d.t.Helper()
	d.tx(models.Operator(ws), func(tx *models.Tx) error {
		u, _, err := tx.CreateUser(n)
		d.users[strings.Split(n.Email, "@")[0]] = u
		return err
	})
}

func (d *desk) rule(ws string, n approvals.NewRule) models.Rule {
	d.t.Helper()
	r, err := d.approvals.CreateRule(d.t.Context(), models.Operator(ws), n)
	if err != nil {
		d.t.Fatal(err)
	}
	return r
}

// agent is a service account with a token of every scope.
func (d *desk) agent(ws, name string, roles ...models.Role) models.Principal {
	u := d.users[name]
	return models.Principal{UserID: u.ID, UserName: u.Name, Email: u.Email, Kind: models.KindService, OwnerID: d.users["lars"].ID, WorkspaceID: ws, Roles: roles,
		Scopes: []models.Scope{models.ScopeAll}, Channel: models.ChannelMCP, TokenID: "tok_" + name}
}

func (d *desk) robot() models.Principal { return d.agent(company, "robot", models.RoleAgent) }
func (d *desk) sap() models.Principal   { return d.agent(company, "sap", models.RoleERP) }

func (d *desk) body(text string) *wire.Body {
	d.t.Helper()
	b, err := wire.Parse([]byte(text))
	if err != nil {
		d.t.Fatal(err)
	}
	return b
}

// handOver files a handover and answers the case's id.
func (d *desk) handOver(by models.Principal, text string) string {
	d.t.Helper()
	in, idem, err := wire.ReadHandover(d.body(text), false)
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := d.queue.HandOver(d.t.Context(), by, in, idem)
	if err != nil {
		d.t.Fatal(err)
	}
	return res.CaseID
}

// ask files an approval request and answers its id.
func (d *desk) ask(by models.Principal, text string) string {
	d.t.Helper()
	in, idem, err := wire.ReadApprovalRequest(d.body(text))
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := d.approvals.Request(d.t.Context(), by, in, idem)
	if err != nil {
		d.t.Fatal(err)
	}
	return res.RequestID
}

func (d *desk) hold(by models.Principal, text string) string {
	d.t.Helper()
	in, idem, err := wire.ReadHold(d.body(text))
	if err != nil {
		d.t.Fatal(err)
	}
	res, err := d.queue.Hold(d.t.Context(), by, in, idem)
	if err != nil {
		d.t.Fatal(err)
	}
	return res.HoldID
}

const invoiceText = `{"id": "5105600123", "number": "INV-778", "supplier_id": "V-2001", "supplier_name": "Nordwind GmbH",
	"po_id": "4500018822", "amount": "1234.50", "currency": "EUR", "invoice_date": "2026-10-03", "tax_id": "DE811234567", "bank_account": "DE89370400440532013000"}`

const poClosed = `{"run_id": "run-7f3", "reason": "named_error", "invoice": ` + invoiceText + `,
	"errors": [{"tool": "get_purchase_order", "arguments": {"po_id": "4500018822"}, "at": "2026-10-05T08:12:44Z",
		"error": {"code": "PO_CLOSED", "message": "PO 4500018822 was closed on 2026-09-30.", "retryable": false, "next_action": "route_to_person", "details": {"po_id": "4500018822"}}}],
	"evidence": [{"kind": "record", "title": "PO 4500018822", "source": "get_purchase_order", "data": {"status": "closed", "left": 12345678901234567890}}],
	"explanation": "The order is closed although goods are still to come.", "suggestion": {"exit": "reopen_po", "why": "A delivery is missing."}}`

const duplicate = `{"run_id": "run-8", "reason": "named_error", "invoice": ` + invoiceText + `,
	"errors": [{"tool": "check_duplicate_invoice", "error": {"code": "DUPLICATE_INVOICE", "message": "Looks like 5105600098.", "retryable": false,
		"next_action": "route_to_person", "details": {"duplicate_of": "5105600098"}}}],
	"evidence": [{"kind": "comparison", "title": "Possible duplicate",
		"left": {"number": "INV-778", "amount": "1234.50", "invoice_date": "2026-10-03"},
		"right": {"number": "inv 0778", "amount": "1234.5", "invoice_date": "2026-09-03", "status": "paid"}}],
	"explanation": "Same number."}`

func approvalFor(amount string) string {
	return `{"run_id": "run-9", "invoice": ` + invoiceText + `, "action": {"tool": "post_invoice_adjustment", "arguments": {"invoice_id": "5105600123",
		"amount": "` + amount + `", "currency": "EUR", "posting_date": "2026-10-05", "supplier_id": "V-2001", "text": "Price difference"}},
		"amount": "` + amount + `", "currency": "EUR", "document_type": "KR", "posting_date": "2026-10-05", "cost_centre": "C-210",
		"summary": "Post the price difference", "explanation": "The price was raised.",
		"evidence": [{"kind": "note", "title": "Mail", "text": "The new price counts."}]}`
}

// visitor is a browser.
type visitor struct {
	*desk
	cookies map[string]string
	headers map[string]string
}

// page is what a browser was answered.
type page struct {
	status   int
	location string
	header   http.Header
	doc      *goquery.Document
	raw      string
}

func (d *desk) stranger() *visitor { return &visitor{desk: d, cookies: map[string]string{}} }

// signedIn is a browser in which somebody has a session already, without the cost of a password.
func (d *desk) signedIn(name string) *visitor {
	d.t.Helper()
	v := d.stranger()
	secret := models.Secret(nil, 32)
	d.tx(models.Operator(""), func(tx *models.Tx) error {
		return tx.DB.Create(&models.Session{ID: models.HashSecret(secret), UserID: d.users[name].ID, CreatedAt: tx.Now, LastSeenAt: tx.Now, ExpiresAt: tx.Now.Add(models.SessionLife)}).Error
	})
	v.cookies["apdesk_session"] = secret
	return v
}

func (v *visitor) do(method, path string, form url.Values) page {
	v.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	req := httptest.NewRequest(method, "http://"+v.host+path, body)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range v.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	for name, value := range v.headers {
		req.Header.Set(name, value)
	}
	res, err := v.app.Test(req, -1)
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	for _, c := range res.Cookies() {
		if c.MaxAge < 0 || c.Value == "" {
			delete(v.cookies, c.Name)
			continue
		}
		v.cookies[c.Name] = c.Value
	}
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(string(raw)))
	if err != nil {
		v.t.Fatal(err)
	}
	return page{status: res.StatusCode, location: res.Header.Get("Location"), header: res.Header, doc: doc, raw: string(raw)}
}

// get opens a page and fails unless it is there.
func (v *visitor) get(path string) page {
	v.t.Helper()
	p := v.do(http.MethodGet, path, nil)
	if p.status != http.StatusOK {
		v.t.Fatalf("GET %s is answered %d: %s", path, p.status, p.text("main"))
	}
	return p
}

// fill is what a form would post, with values added or replaced.
func (p page) fill(t testing.TB, testID string, values url.Values) (action string, sent url.Values) {
	t.Helper()
	form := p.doc.Find("form[data-testid=" + testID + "]").First()
	action, ok := form.Attr("action")
	if !ok {
		t.Fatalf("no form %s on the page: %s", testID, p.text("main"))
	}
	if method := form.AttrOr("method", ""); method != "post" {
		t.Fatalf("form %s is sent by %q", testID, method)
	}
	sent = url.Values{}
	form.Find("input[type=hidden]").Each(func(_ int, f *goquery.Selection) { sent.Add(f.AttrOr("name", ""), f.AttrOr("value", "")) })
	maps.Copy(sent, values)
	return action, sent
}

// send fills in a form and posts it.
func (v *visitor) send(p page, testID string, values url.Values) page {
	v.t.Helper()
	action, sent := p.fill(v.t, testID, values)
	return v.do(http.MethodPost, action, sent)
}

// press posts the form around a button.
func (v *visitor) press(p page, buttonID string) page {
	v.t.Helper()
	form := p.doc.Find("[data-testid=" + buttonID + "]").Closest("form")
	action, ok := form.Attr("action")
	if !ok {
		v.t.Fatalf("no button %s on the page: %s", buttonID, p.text("main"))
	}
	sent := url.Values{}
	form.Find("input[type=hidden]").Each(func(_ int, f *goquery.Selection) { sent.Add(f.AttrOr("name", ""), f.AttrOr("value", "")) })
	return v.do(http.MethodPost, action, sent)
}

// follow goes on where a form sent the browser.
func (v *visitor) follow(p page) page {
	v.t.Helper()
	if p.status != http.StatusSeeOther {
		v.t.Fatalf("answered %d, not 303: %s", p.status, p.text("main"))
	}
	return v.get(p.location)
}

func (p page) text(selector string) string {
	return strings.Join(strings.Fields(p.doc.Find(selector).Text()), " ")
}

func (p page) testID(id string) string { return p.text("[data-testid=" + id + "]") }

func (p page) has(testID string) bool { return p.doc.Find("[data-testid="+testID+"]").Length() > 0 }

// wants fails unless the thing with a test id reads all the texts.
func (p page) wants(t testing.TB, testID string, texts ...string) {
	t.Helper()
	got := p.testID(testID)
	for _, want := range texts {
		if !strings.Contains(got, want) {
			t.Errorf("%s reads %q, which lacks %q", testID, got, want)
		}
	}
}

func one(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v
}
