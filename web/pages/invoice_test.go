package pages_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
)

// approve has a person say yes to a request.
func (d *desk) approve(name string, role models.Role, request string) {
	d.t.Helper()
	by := models.Principal{UserID: d.users[name].ID, UserName: d.users[name].Name, Kind: models.KindPerson, WorkspaceID: company, Roles: []models.Role{role}, Channel: models.ChannelWeb}
	page, err := d.approvals.Page(d.t.Context(), by, request)
	if err != nil {
		d.t.Fatal(err)
	}
	if _, err := d.approvals.Vote(d.t.Context(), by, approvals.VoteInput{RequestID: request, Decision: models.VoteApprove, Version: page.Request.Version}); err != nil {
		d.t.Fatal(err)
	}
}

// post spends the approval of a request and reports the write as posted.
func (d *desk) post(request, amount, document string) {
	d.t.Helper()
	view, err := d.approvals.Get(d.t.Context(), d.robot(), request)
	if err != nil {
		d.t.Fatal(err)
	}
	_, err = d.approvals.Redeem(d.t.Context(), d.sap(), approvals.RedeemInput{ApprovalID: view.ApprovalID, IdempotencyKey: "r-" + request, Reachable: []string{company},
		Call: models.Call{Tool: "post_invoice_adjustment", Arguments: json.RawMessage(`{"invoice_id": "5105600123", "amount": "` + amount +
			`", "currency": "EUR", "posting_date": "2026-10-05", "supplier_id": "V-2001", "text": "Price difference"}`)}})
	if err != nil {
		d.t.Fatal(err)
	}
	d.clock.Advance(time.Minute)
	_, err = d.approvals.Report(d.t.Context(), d.sap(), view.ApprovalID, approvals.ReportInput{Status: approvals.ReportPosted, DocumentNumber: document}, models.Idempotency{})
	if err != nil {
		d.t.Fatal(err)
	}
}

const holdOfInvoice = `{"code": "GR_MISSING", "invoice": ` + invoiceText + `, "po_id": "4500018822", "line": 10, "errors": []}`

func TestAnInvoicesPageTellsItsWholeStory(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	caseID := d.handOver(d.robot(), poClosed)
	d.clock.Advance(time.Minute)
	petra := d.signedIn("petra")
	petra.send(petra.get("/cases/"+caseID), "comment-form", one("text", "I asked the buyer."))
	d.clock.Advance(time.Minute)
	hold := d.hold(d.robot(), holdOfInvoice)
	d.clock.Advance(time.Minute)
	request := d.ask(d.robot(), approvalFor("500.00"))
	d.clock.Advance(time.Minute)

	anna := d.signedIn("anna")
	p := anna.get("/invoices/5105600123")
	p.wants(t, "invoice-state", "Purchase order closed: waits in Procurement", "Waits for a decision: 0 of 1 votes", "5 of 5 checks left", "500.00 EUR")
	d.approve("fiona", models.RoleFinanceLead, request)
	d.clock.Advance(time.Minute)
	d.post(request, "500.00", "5100001234")

	p = anna.get("/invoices/5105600123")
	if h := p.text("h1"); h != "Invoice INV-778" {
		t.Errorf("the page is headed %q", h)
	}
	p.wants(t, "invoice-state", "Approved by Fiona on 5 Oct 2026 at", "posted as 5100001234 on 5 Oct 2026 at", "Its proof")
	p.wants(t, "normalised", models.NormaliseNumber("INV-778"))
	p.wants(t, "invoice", "Nordwind GmbH", "1,234.50 EUR", "shown to master data, finance lead and auditor only")
	p.wants(t, "timeline", "stopped and handed over", "I asked the buyer.", "asked the desk to wait", "asked for leave to call post_invoice_adjustment", "voted yes",
		"granted the approval", "used the approval", "reported the write as posted", "5100001234")
	if strings.Contains(p.raw, "DE811234567") || models.MaskIDs(p.raw) != p.raw {
		t.Error("the page shows what is not for a clerk")
	}
	links := map[string]bool{}
	p.doc.Find("[data-testid=timeline] a").Each(func(_ int, a *goquery.Selection) { links[a.AttrOr("href", "")] = true })
	for _, want := range []string{"/cases/" + caseID, "/holds/" + hold, "/approvals/" + request} {
		if !links[want] {
			t.Errorf("no event leads to %s: %v", want, links)
		}
	}
	money := anna.get(p.doc.Find("[data-testid=filter-money]").AttrOr("href", ""))
	money.wants(t, "timeline", "voted yes", "5100001234")
	if got := money.testID("timeline"); strings.Contains(got, "handed over") || strings.Contains(got, "wait and check") {
		t.Errorf("money only tells %q", got)
	}
	if fiona := d.signedIn("fiona").get("/invoices/5105600123"); !strings.Contains(fiona.testID("invoice"), "DE811234567") {
		t.Error("a finance lead does not see the tax id")
	}
	for _, path := range []string{"/cases/" + caseID, "/holds/" + hold, "/approvals/" + request} {
		if href := anna.get(path).doc.Find("[data-testid=invoice-link]").AttrOr("href", ""); href != "/invoices/5105600123" {
			t.Errorf("%s leads to %q", path, href)
		}
	}
}

func TestAnInvoiceNobodyHeardOfHasNoPage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.handOver(d.robot(), poClosed)
	d.person(other, "anna", models.RoleAPClerk)
	anna := d.signedIn("anna")
	for _, path := range []string{"/invoices/5105600124", "/invoices", "/invoices/", "/invoices/5105600123?workspace_id=" + other} {
		if p := anna.do(http.MethodGet, path, nil); p.status != http.StatusNotFound || strings.Contains(p.raw, "INV-778") {
			t.Errorf("%s is answered %d", path, p.status)
		}
	}
	if p := d.signedIn("yuki").do(http.MethodGet, "/invoices/5105600123", nil); p.status != http.StatusNotFound || strings.Contains(p.raw, "INV-778") {
		t.Errorf("another company's person is answered %d", p.status)
	}
	d.person(company, "ada", models.RoleAgent)
	if p := d.signedIn("ada").do(http.MethodGet, "/invoices/5105600123", nil); p.status != http.StatusForbidden || strings.Contains(p.raw, "INV-778") {
		t.Errorf("a person with only an agent's role is answered %d", p.status)
	}
}

func TestAnInvoiceIsFoundByAnyId(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	anna := d.signedIn("anna")
	for _, id := range []string{"2026/0042", "a b", "a+b?c#d", "50%", "%2F", "..", ".", "Ünï/cödé", `"><script>`, "a/", "UPPER", "a//b", "../login"} {
		text, err := json.Marshal(id)
		if err != nil {
			t.Fatal(err)
		}
		caseID := d.handOver(d.robot(), strings.Replace(poClosed, `"id": "5105600123"`, `"id": `+string(text), 1))
		href := anna.get("/cases/"+caseID).doc.Find("[data-testid=invoice-link]").AttrOr("href", "")
		u, err := url.Parse(href)
		if err != nil || slices.ContainsFunc(strings.Split(u.EscapedPath(), "/"), func(step string) bool { return step == ".." || step == "." }) {
			t.Errorf("%q has the address %q", id, href)
		}
		p := anna.do(http.MethodGet, href, nil)
		if p.status != http.StatusOK || p.text(".crumbs .code-text") != strings.Join(strings.Fields(id), " ") {
			t.Errorf("%q at %s is answered %d with %q", id, href, p.status, p.text(".crumbs .code-text"))
		}
	}
}

func TestALongStoryIsTurnedPageByPage(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.ask(d.robot(), approvalFor("500.00"))
	d.clock.Advance(time.Minute)
	for range 120 {
		d.handOver(d.robot(), poClosed)
		d.clock.Advance(time.Second)
	}
	anna := d.signedIn("anna")
	told := 0
	for path, pages := "/invoices/5105600123", 0; path != ""; pages++ {
		p := anna.get(path)
		told += p.doc.Find("[data-testid=timeline-entry]").Length()
		path = p.doc.Find("[data-testid=pager-next]").AttrOr("href", "")
		if pages > 5 {
			t.Fatal("the story does not end")
		}
	}
	if told != 120+2 { // asked and routed
		t.Errorf("%d events are told", told)
	}
	money := anna.get("/invoices/5105600123?show=money")
	money.wants(t, "timeline", "asked for leave")
	if p := anna.do(http.MethodGet, "/invoices/5105600123?cursor=nonsense", nil); p.status != http.StatusBadRequest {
		t.Errorf("a made-up cursor is answered %d", p.status)
	}
}

// digestOf computes the digest of a record as docs/proof.md says.
func digestOf(t *testing.T, workspace, tool string, arguments json.RawMessage) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"workspace": workspace, "tool": tool, "arguments": arguments})
	if err != nil {
		t.Fatal(err)
	}
	canonical := jsontext.Value(text)
	if err := canonical.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

func TestTheProofOfAnApprovalCanBeCheckedByItself(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("500.00"))
	d.clock.Advance(time.Minute)
	felix := d.signedIn("felix")
	refused := d.signedIn("anna") // holds no role the rule asks for
	token := refused.get("/").doc.Find("input[name=csrf_token]").AttrOr("value", "")
	refused.do(http.MethodPost, "/approvals/"+request+"/vote", one("decision", "approve", "version", "1", "csrf_token", token))
	d.approve("fiona", models.RoleFinanceLead, request)
	d.clock.Advance(time.Minute)
	d.post(request, "500.00", "5100001234")
	if err := d.store.SealEvents(t.Context(), company); err != nil {
		t.Fatal(err)
	}

	audra := d.signedIn("audra")
	p := audra.get("/approvals/" + request + "/proof")
	p.wants(t, "proof", "Approved by Fiona on", "posted as 5100001234", "500.00 EUR", "post_invoice_adjustment", "Nordlicht Handels GmbH", "robot (service account)", "Lars, responsible for the account",
		"Fiona, finance lead", "Limit at that moment 100,000", "version 1", "Step 1", "UTC", "Europe/Berlin", "INV-778", "5100001234")
	p.wants(t, "proof-refused", "Anna", "refused")
	p.wants(t, "proof-trail", "vote.cast", "approval.redeemed", "write.reported")
	if title := p.text("title"); title != "Proof "+request+" INV-778 · apdesk" {
		t.Errorf("the page is called %q", title)
	}

	j := felix.do(http.MethodGet, p.doc.Find("[data-testid=proof-json]").AttrOr("href", ""), nil)
	if j.status != http.StatusOK || !strings.HasPrefix(j.header.Get("Content-Type"), "application/json") {
		t.Fatalf("the record as JSON is answered %d %s", j.status, j.header.Get("Content-Type"))
	}
	var record struct {
		Schema    string
		Workspace struct{ ID string }
		Call      struct {
			Tool      string
			Arguments json.RawMessage
		}
		Digest struct{ Value string }
		Events []struct {
			EventID string `json:"event_id"`
			Seq     *int64
			Hash    *string
		}
	}
	if err := json.Unmarshal([]byte(j.raw), &record); err != nil {
		t.Fatal(err)
	}
	if record.Schema != "apdesk.proof/1" || digestOf(t, record.Workspace.ID, record.Call.Tool, record.Call.Arguments) != record.Digest.Value {
		t.Errorf("the digest of the record cannot be recomputed from it: %s", j.raw)
	}
	if p.testID("proof-digest") != record.Digest.Value {
		t.Error("page and record name different digests")
	}
	for _, e := range record.Events {
		if e.Seq == nil || e.Hash == nil || len(*e.Hash) != 64 || !strings.Contains(p.raw, *e.Hash) {
			t.Errorf("event %s is not to be found in the chain: %+v", e.EventID, e)
		}
	}
	for _, raw := range []string{p.raw, j.raw} {
		if models.MaskIDs(raw) != raw {
			t.Error("an approval id stands in the record")
		}
	}
	if p := d.signedIn("yuki").do(http.MethodGet, "/approvals/"+request+"/proof.json", nil); p.status != http.StatusNotFound {
		t.Errorf("another company's person is answered %d", p.status)
	}
}

// A document number that the ERP adds later is on every page that shows the write.
func TestADocumentNumberAddedLaterIsShownEverywhere(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	request := d.ask(d.robot(), approvalFor("500.00"))
	d.approve("fiona", models.RoleFinanceLead, request)
	view, err := d.approvals.Get(t.Context(), d.robot(), request) // afterwards the id is shown no more
	if err != nil {
		t.Fatal(err)
	}
	d.post(request, "500.00", "")
	_, err = d.approvals.Report(t.Context(), d.sap(), view.ApprovalID, approvals.ReportInput{Status: approvals.ReportPosted, DocumentNumber: "5100004711"}, models.Idempotency{})
	if err != nil {
		t.Fatal(err)
	}
	lars := d.signedIn("lars")
	for _, path := range []string{"/approvals/" + request, "/approvals/" + request + "/proof", "/invoices/5105600123", "/invoices/5105600123?show=money", "/approvals?tab=decided"} {
		if !strings.Contains(lars.get(path).raw, "5100004711") {
			t.Errorf("%s does not show the number", path)
		}
	}
	if history := lars.get("/approvals/" + request).doc.Find("[data-live-region=timeline]").Text(); !strings.Contains(history, "added the document number of the write") {
		t.Errorf("the history is %s", history)
	}
	d.inGerman("lars").get("/approvals/"+request).isGerman(t, "a number added later")
}
