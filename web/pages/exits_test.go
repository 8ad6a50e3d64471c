package pages_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
	"github.com/apdesk/apdesk/queue"
)

// closedWithCalls is a closed order with what the agent would write next.
var closedWithCalls = strings.Replace(poClosed, `"explanation":`, `"proposed_calls": [{"tool": "post_invoice_adjustment", "arguments": {"invoice_id": "5105600123",
	"amount": "50.00", "currency": "EUR", "posting_date": "2026-10-05", "supplier_id": "V-2001"}}, {"tool": "tell_\u202ebuyer", "arguments": {"text": "hello"}}], "explanation":`, 1)

func TestADecidingPersonAsksForWhatTheAgentProposed(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), closedWithCalls)
	petra := d.signedIn("petra")
	seen := petra.get("/cases/" + id)
	seen.wants(t, "proposed-form", "Post an adjustment of 50.00 EUR on invoice 5105600123", "not bound", "you cannot approve it yourself")
	if got := seen.doc.Find("[name='proposed.0.amount']").AttrOr("value", ""); got != "50.00" {
		t.Errorf("the amount is prefilled with %q", got)
	}
	if got := seen.doc.Find("[name='proposed.0.posting_date']").AttrOr("value", ""); got != "2026-10-05" {
		t.Errorf("the posting date is prefilled with %q", got)
	}
	wrong := petra.send(seen, "decision-form", one("exit", "reopen_po", "reason", "Reopened.", "proposed.0", "yes", "proposed.0.amount", "51.00", "proposed.0.currency", "EUR",
		"proposed.0.posting_date", "2026-10-05", "proposed.0.document_type", "KR", "proposed.0.summary", "Adjust it."))
	if wrong.status != http.StatusUnprocessableEntity || !strings.Contains(wrong.testID("error-summary"), "differs from the call") {
		t.Fatalf("an amount that differs from the call is answered %d: %s", wrong.status, wrong.testID("error-summary"))
	}
	for name, want := range map[string]string{"proposed.0.amount": "51.00", "proposed.0.document_type": "KR", "proposed.0.summary": "Adjust it."} {
		if got := wrong.doc.Find("[name='"+name+"']").AttrOr("value", ""); got != want {
			t.Errorf("%s was typed as %q and is now %q", name, want, got)
		}
	}
	if wrong.doc.Find("[name='proposed.0']").AttrOr("checked", "no") == "no" || wrong.doc.Find("textarea[name=reason]").Text() != "Reopened." {
		t.Error("the tick or the reason is lost")
	}
	stops := petra.send(seen, "decision-form", one("exit", "reject_invoice", "reason", "No.", "proposed.0", "yes", "proposed.0.summary", "Adjust it."))
	if stops.status != http.StatusUnprocessableEntity || !strings.Contains(stops.testID("error-summary"), "by which the agent goes on") {
		t.Errorf("a stop that asks for a write is answered %d: %s", stops.status, stops.testID("error-summary"))
	}

	done := petra.follow(petra.send(wrong, "decision-form", one("exit", "reopen_po", "reason", "Reopened.", "proposed.0", "yes", "proposed.0.amount", "50.00",
		"proposed.0.currency", "EUR", "proposed.0.posting_date", "2026-10-05", "proposed.0.document_type", "KR", "proposed.0.summary", "Adjust it.")))
	done.wants(t, "case-status", "Resolved")
	view, err := d.queue.Get(t.Context(), d.robot(), id)
	if err != nil || view.Resolution == nil || len(view.Resolution.ApprovalRequestIDs) != 1 {
		t.Fatalf("the agent finds no request: %+v %v", view.Resolution, err)
	}
	request := view.Resolution.ApprovalRequestIDs[0]
	asked := d.signedIn("fiona").get("/approvals/" + request)
	asked.wants(t, "approval-status", "Pending")
	for _, who := range []string{"robot", "Petra", "Adjust it."} {
		if !strings.Contains(asked.text("main"), who) {
			t.Errorf("the request does not name %s", who)
		}
	}
}

func TestAProposedCallIsApprovedByAnotherAndUsedByTheAgent(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, _ *modelstest.Clock) {
		cases, grants := queue.New(store), approvals.New(store)
		cases.UseApprovals(grants)
		grants.UseCases(cases)
		in := func(by models.Principal, fn func(tx *models.Tx) error) {
			t.Helper()
			if err := store.InTx(t.Context(), by, fn); err != nil {
				t.Fatal(err)
			}
		}
		in(models.Operator(company), func(tx *models.Tx) error {
			return tx.CreateWorkspace(models.Workspace{ID: company, Name: "Nordlicht", TimeZone: "Europe/Berlin", Currency: "EUR"})
		})
		user := func(name, owner string, channel models.Channel, roles ...models.Role) (p models.Principal) {
			in(models.Operator(company), func(tx *models.Tx) error {
				n := models.NewUser{Email: name + "@example.com", Name: name, Roles: roles, Service: owner != ""}
				if n.Service {
					n.OwnerEmail = owner + "@example.com"
				}
				u, _, err := tx.CreateUser(n)
				p = models.Principal{UserID: u.ID, UserName: name, Email: u.Email, Kind: u.Kind, WorkspaceID: company, Roles: roles, Channel: channel}
				if u.OwnerID != nil {
					p.OwnerID = *u.OwnerID
				}
				return err
			})
			if channel != models.ChannelWeb {
				p.Scopes = []models.Scope{models.ScopeAll}
			}
			return p
		}
		// Petra decides cases and would be entitled to approve; Fred answers for the agent.
		petra := user("petra", "", models.ChannelWeb, models.RoleProcurement, models.RoleFinanceLead)
		fred := user("fred", "", models.ChannelWeb, models.RoleFinanceLead)
		toni := user("toni", "", models.ChannelWeb, models.RoleFinanceLead)
		fiona := user("fiona", "", models.ChannelWeb, models.RoleFinanceLead)
		robot := user("robot", "fred", models.ChannelMCP, models.RoleAgent)
		sap := user("sap", "fred", models.ChannelMCP, models.RoleERP)
		in(toni, func(tx *models.Tx) error { // who makes the agent's token asks as well
			token := models.Token{ID: "tok_robot", UserID: robot.UserID, Name: "robot", Hash: "h", Scopes: "all", CreatedByID: &toni.UserID, CreatedAt: tx.Now}
			robot.TokenID, robot.TokenBy = token.ID, toni.UserID
			return tx.DB.Create(&token).Error
		})
		if _, err := grants.CreateRule(t.Context(), models.Operator(company), approvals.NewRule{Currency: "EUR", From: "0", To: "1000", Role: models.RoleFinanceLead, Required: 1}); err != nil {
			t.Fatal(err)
		}
		amount, err := models.ParseMoney("1234.50", "EUR")
		if err != nil {
			t.Fatal(err)
		}
		arguments := json.RawMessage(`{"invoice_id": "i1", "amount": "50.00", "currency": "EUR", "posting_date": "2026-10-05", "supplier_id": "V-2001"}`)
		filed, err := cases.HandOver(t.Context(), robot, queue.HandoverInput{RunID: "run-1", Reason: models.ReasonNamedError,
			Invoice:       models.Invoice{ID: "i1", Number: "INV-1", SupplierID: "V-2001", Amount: amount},
			Errors:        []models.SeenError{{Tool: "get_purchase_order", Error: models.SeenNamedError{Code: models.POClosed, Message: "closed", Details: json.RawMessage(`{}`)}}},
			ProposedCalls: []models.Call{{Tool: "post_invoice_adjustment", Arguments: arguments}}}, models.Idempotency{})
		if err != nil {
			t.Fatal(err)
		}
		after, err := cases.Decide(t.Context(), petra, queue.DecideInput{CaseID: filed.CaseID, Exit: "use_other_po", Input: map[string]string{"po_id": "45"}, Reason: "Follow-up order.", Version: 1,
			Proposed: []queue.ProposedInput{{Index: 0, Amount: "50.00", Currency: "EUR", PostingDate: "2026-10-05", Summary: "Adjust the price."}}})
		if err != nil {
			t.Fatal(err)
		}
		if len(after.Resolution.ApprovalRequestIDs) != 1 || after.Instruction.Kind != models.InstructRetryWith || after.Instruction.Input["po_id"] != "45" {
			t.Fatalf("decided: %+v, told %+v", after.Resolution, after.Instruction)
		}
		id := after.Resolution.ApprovalRequestIDs[0]
		page, err := grants.Page(t.Context(), fiona, id)
		if err != nil || page.Request.AskerName != "robot" || page.Status != models.RequestPending {
			t.Fatalf("the request: %+v %v", page.Request, err)
		}
		for _, barred := range []models.Principal{petra, fred, toni} {
			if _, err := grants.Vote(t.Context(), barred, approvals.VoteInput{RequestID: id, Decision: models.VoteApprove, Version: page.Request.Version}); !models.IsCode(err, models.InsufficientPermission) && !models.IsCode(err, models.Unprocessable) {
				t.Errorf("%s votes on what they asked for: %v", barred.UserName, err)
			}
		}
		if view, err := grants.Get(t.Context(), robot, id); err != nil || view.ApprovalID != "" {
			t.Errorf("before the vote the agent gets %+v %v", view, err)
		}
		if _, err := grants.Vote(t.Context(), fiona, approvals.VoteInput{RequestID: id, Decision: models.VoteApprove, Version: page.Request.Version}); err != nil {
			t.Fatal(err)
		}
		view, err := grants.Get(t.Context(), robot, id)
		if err != nil || view.ApprovalID == "" {
			t.Fatalf("the agent gets no approval id: %+v %v", view, err)
		}
		if _, err := grants.Redeem(t.Context(), sap, approvals.RedeemInput{ApprovalID: view.ApprovalID, Call: models.Call{Tool: "post_invoice_adjustment", Arguments: arguments},
			IdempotencyKey: "k1", Reachable: []string{company}}); err != nil {
			t.Errorf("the ERP cannot use it: %v", err)
		}
	})
}

func TestPossibleDuplicatesStandBesideACase(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	earlier := d.handOver(d.robot(), strings.NewReplacer("5105600123", "5105600098", "INV-778", "inv 0778", "2026-10-03", "2026-09-29").Replace(poClosed))
	d.ask(d.robot(), strings.NewReplacer("5105600123", "5105600098", "INV-778", "inv 0778").Replace(approvalFor("50.00")))
	id := d.handOver(d.robot(), duplicate)
	anna := d.signedIn("anna")
	seen := anna.get("/cases/" + id)
	seen.wants(t, "duplicates", "Possible duplicates 1", "named by the agent", "same number", "inv 0778", "INV778", "Number as compared", "differs", "5105600098", "Purchase order closed", "50.00 EUR with post_invoice_adjustment")
	if href := seen.doc.Find("[data-testid=duplicate-link]").AttrOr("href", ""); href != "/invoices/5105600098" {
		t.Errorf("the candidate leads to %q", href)
	}
	if strings.Contains(seen.testID("duplicates"), "DE89370400440532013000") {
		t.Error("bank data stands among the candidates")
	}
	anna.follow(anna.send(seen, "decision-form", one("exit", "not_duplicate", "reason", "Two deliveries."))).wants(t, "duplicate-verdict", "Anna judged", "no duplicates")
	d.signedIn("petra").get("/cases/"+earlier).wants(t, "duplicates", "INV-778", "Anna judged")
	alone := d.handOver(d.robot(), strings.NewReplacer("5105600123", "9", "INV-778", "X-1", "1234.50", "7.00").Replace(poClosed))
	if anna.get("/cases/" + alone).has("duplicates") {
		t.Error("a case without candidates has a list of them")
	}
}

func TestTheLeadChoosesAmongThoseWhoMayDecide(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	d.rule(company, approvals.NewRule{Tool: "post_invoice_adjustment", Supplier: "V-9999", Currency: "EUR", From: "0", To: "900000", People: []string{"fiona@example.com"}})
	request := d.ask(d.robot(), approvalFor("250000.00"))
	view, err := d.approvals.Page(t.Context(), models.System(company), request)
	if err != nil {
		t.Fatal(err)
	}
	lars := d.signedIn("lars")
	seen := lars.get("/cases/" + *view.Request.UnroutedCaseID)
	seen.wants(t, "unrouted-request", "post_invoice_adjustment", "250,000.00 EUR", "KR", "robot", "Post the price difference")
	seen.wants(t, "not-candidates", "Felix")
	var options []string
	seen.doc.Find("select[name='input.person'] option").Each(func(i int, _ *goquery.Selection) {
		options = append(options, seen.doc.Find("select[name='input.person'] option").Eq(i).AttrOr("value", ""))
	})
	if len(options) != 2 || options[0] != "" || options[1] != "fiona@example.com" {
		t.Errorf("to choose from: %q", options)
	}
	if href := seen.doc.Find("[data-testid=try-request]").AttrOr("href", ""); !strings.HasPrefix(href, "/settings/rules/try?") || lars.get(href).status != http.StatusOK {
		t.Errorf("trying it on the matrix leads to %q", href)
	}
}

// Of many look-alikes three are shown field by field, and a link shows any other so.
func TestEveryLookAlikeCanBeCompared(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	for _, id := range []string{"5105600091", "5105600092", "5105600093", "5105600094", "5105600095"} {
		d.handOver(d.robot(), strings.NewReplacer("5105600123", id, "2026-10-03", "2026-09-29").Replace(poClosed))
	}
	id := d.handOver(d.robot(), duplicate)
	anna := d.signedIn("anna")
	seen := anna.get("/cases/" + id + "?from=%2Fqueues%2Fap")
	all, links := seen.doc.Find("[data-testid=duplicate]"), seen.doc.Find("[data-testid=beside]")
	if all.Length() < 5 || all.Find("table").Length() != 3 || links.Length() != all.Length()-3 {
		t.Fatalf("%d look-alikes with %d tables and %d links", all.Length(), all.Find("table").Length(), links.Length())
	}
	row := all.Last()
	then := anna.get(strings.TrimSuffix(links.Last().AttrOr("href", ""), "#beside"))
	chosen := then.doc.Find("details#beside[open]")
	if chosen.AttrOr("data-invoice", "") != row.AttrOr("data-invoice", "-") || chosen.Find("table").Length() != 1 {
		t.Errorf("the link of %s shows %s", row.AttrOr("data-invoice", ""), chosen.AttrOr("data-invoice", "nothing"))
	}
	if then.doc.Find("[data-testid=duplicate][open]").Length() != 1 || then.doc.Find("[data-testid=around-list]").Length() != 1 {
		t.Error("others stand open too, or the list the person came from is lost")
	}
	if live := then.doc.Find("body").AttrOr("data-live-page", ""); !strings.Contains(live, "beside=") {
		t.Errorf("a refresh asks for %q, without the one compared", live)
	}
}
