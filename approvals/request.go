package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
)

// requestLife is how many business days a request waits for votes.
const requestLife = 5

// Request asks leave for one write. A live request for the same call is joined. The answer has Refused
// set when no rule gives enough people the authority: the request is kept as unrouted, together with
// its APPROVER_NOT_FOUND case. Fails with VALIDATION_ERROR when the claims differ from the call or the
// arguments cannot be digested, and with PERIOD_CLOSED.
func (s *Service) Request(ctx context.Context, by models.Principal, in RequestInput, idem models.Idempotency) (RequestView, error) {
	if err := by.NeedScope(models.ScopeApprovalsWrite); err != nil {
		return RequestView{}, err
	}
	if err := by.NeedRole(models.RoleAgent); err != nil {
		return RequestView{}, err
	}
	call, err := readCall(by.WorkspaceID, in)
	if err != nil {
		return RequestView{}, err
	}
	var view RequestView
	err = s.store.InTx(ctx, by, func(tx *models.Tx) error {
		var err error
		view, err = models.Once(tx, "request_approval", idem, func() (RequestView, error) {
			view, err := s.file(tx, in, call)
			if err != nil {
				return view, err
			}
			home := view.RequestID // of the files, unless there is a case
			if in.CaseID != "" {
				home = in.CaseID
			}
			return view, tx.UseFiles(home, in.Evidence)
		})
		return err
	})
	if models.IsCode(err, models.PeriodClosed) {
		ref := models.Ref{Subject: in.Invoice.ID, InvoiceID: in.Invoice.ID}
		if err := s.store.RecordRefusal(ctx, by, "request.refused", ref, map[string]any{"code": models.PeriodClosed, "tool": in.Action.Tool, "digest": call.digest}); err != nil {
			return RequestView{}, err
		}
	}
	return view, err
}

// exactCall is a call in the one form that digest, page and redeem agree on.
type exactCall struct {
	arguments json.RawMessage
	digest    string
}

func readCall(workspace string, in RequestInput) (exactCall, error) {
	issues := CheckArguments(in.Action.Arguments, "/action/arguments")
	if strings.TrimSpace(in.Action.Tool) == "" {
		issues = append(issues, models.Issue{Path: "/action/tool", Message: "is required: the tool that will make the write"})
	}
	if !models.HasVisible(in.Summary) {
		issues = append(issues, models.Issue{Path: "/summary", Message: "is required: one sentence that says what is asked"})
	}
	if in.Invoice.ID == "" {
		issues = append(issues, models.Issue{Path: "/invoice/id", Message: "is required"})
	}
	if in.Amount.IsZero() {
		issues = append(issues, models.Issue{Path: "/amount", Message: "is required, with its currency"})
	}
	if len(issues) > 0 {
		return exactCall{}, models.Invalid(issues...)
	}
	arguments, err := CanonicalArguments(in.Action.Arguments)
	if err != nil {
		return exactCall{}, err
	}
	digest, err := digestOf(workspace, in.Action.Tool, arguments)
	return exactCall{arguments: arguments, digest: digest}, err
}

// file writes or joins a request in the caller's transaction.
func (s *Service) file(tx *models.Tx, in RequestInput, call exactCall) (RequestView, error) {
	// Routing and edits of rules, bindings and the period wait for one another here, before any of them
	// is read.
	if _, err := tx.LockRules(); err != nil {
		return RequestView{}, fmt.Errorf("approvals: lock rules: %w", err)
	}
	bindings, err := tx.Bindings()
	if err != nil {
		return RequestView{}, fmt.Errorf("approvals: read bindings: %w", err)
	}
	binding, isBound := bindings[in.Action.Tool]
	values, issues, err := bind(binding, call.arguments, in)
	if err != nil {
		return RequestView{}, err
	}
	if in.CaseID != "" {
		known, err := knowsCase(tx, in.CaseID)
		if err != nil {
			return RequestView{}, err
		}
		if !known {
			issues = append(issues, models.Issue{Path: "/case_id", Message: "names no case you filed in this workspace"})
		}
	}
	if len(issues) > 0 {
		return RequestView{}, models.Invalid(issues...)
	}
	if err := checkPeriod(tx, values.PostingDate); err != nil {
		return RequestView{}, err
	}
	if err := tx.SeeInvoice(in.Invoice, values.SupplierID); err != nil {
		return RequestView{}, err
	}
	// The first round finds a live request, or one that has lapsed and is put away; the second then
	// writes. A third would mean that somebody else wrote in between, whose request is joined.
	for range 3 {
		r, err := s.newRequest(tx, in, call, values, isBound)
		if err != nil {
			return RequestView{}, err
		}
		inserted, err := insertRequest(tx, &r)
		if err != nil {
			return RequestView{}, err
		}
		if inserted {
			return s.filed(tx, r, in.agent)
		}
		live, ok, err := lockLive(tx, call.digest)
		if err != nil {
			return RequestView{}, err
		}
		if !ok {
			continue
		}
		lapsed, err := s.putAwayLapsed(tx, &live)
		if err != nil {
			return RequestView{}, err
		}
		if !lapsed {
			return s.join(tx, live, in.agent)
		}
	}
	return RequestView{}, models.E(models.Unavailable, "The same call is being requested and decided at this very moment. Wait and repeat the same call.",
		map[string]any{"retry_after_seconds": 1})
}

func (s *Service) newRequest(tx *models.Tx, in RequestInput, call exactCall, values bound, isBound bool) (models.ApprovalRequest, error) {
	calendar, err := tx.Calendar()
	if err != nil {
		return models.ApprovalRequest{}, fmt.Errorf("approvals: read calendar: %w", err)
	}
	book, err := bookOf(tx)
	if err != nil {
		return models.ApprovalRequest{}, err
	}
	invoice := string(in.Invoice.Sent)
	if invoice == "" {
		invoice = "{}"
	}
	evidence, err := json.Marshal(in.Evidence)
	if err != nil {
		return models.ApprovalRequest{}, fmt.Errorf("approvals: evidence: %w", err)
	}
	if in.Evidence == nil {
		evidence = []byte("[]")
	}
	r := models.ApprovalRequest{
		ID: tx.NewID(models.PrefixApprovalRequest), WorkspaceID: tx.By.WorkspaceID, Status: models.RequestPending, Live: true, Version: 1,
		RunID: in.RunID, InvoiceID: in.Invoice.ID, SupplierID: values.SupplierID, Invoice: invoice,
		Tool: in.Action.Tool, Arguments: string(call.arguments), Digest: call.digest,
		Amount: in.Amount.Text(), Currency: in.Amount.Currency(), DocumentType: in.DocumentType, PostingDate: values.PostingDate, CostCentre: in.CostCentre,
		Summary: in.Summary, Explanation: in.Explanation, Evidence: string(evidence), Body: string(in.Body),
		AskerID: tx.By.UserID, AskerName: tx.By.UserName, TokenID: tx.By.TokenID, Channel: tx.By.Channel,
		ExpiresAt: calendar.AddBusinessDays(tx.Now, requestLife), CreatedAt: tx.Now, UpdatedAt: tx.Now,
	}
	if in.CaseID != "" {
		r.CaseID = &in.CaseID
	}
	if a := in.agent; a != nil {
		r.AskerID, r.AskerName, r.TokenID = a.UserID, a.UserName, a.TokenID
	}
	wanted := Wanted{Tool: r.Tool, DocumentType: r.DocumentType, Supplier: r.SupplierID, CostCentre: r.CostCentre, Amount: in.Amount, Unbound: !isBound, At: tx.Now}
	return r, setRouting(&r, book.route(wanted))
}

// setRouting keeps the copy of the rule that decides about the request.
func setRouting(r *models.ApprovalRequest, routing Routing) error {
	r.Rule, r.RuleID, r.RuleVersion, r.Required = nil, "", 0, 0
	authority := routing.Authority()
	if authority == nil {
		return nil
	}
	text, err := json.Marshal(routing)
	if err != nil {
		return fmt.Errorf("approvals: rule copy: %w", err)
	}
	kept := string(text)
	r.Rule, r.RuleID, r.RuleVersion, r.Required = &kept, authority.ID, authority.Version, routing.Required()
	return nil
}

// filed completes a request just written: who asks, whether anybody can decide, and when it lapses.
func (s *Service) filed(tx *models.Tx, r models.ApprovalRequest, agent *models.AgentOf) (RequestView, error) {
	if err := addAskers(tx, r.ID, agent); err != nil {
		return RequestView{}, err
	}
	if err := tx.IndexRequest(r.ID); err != nil {
		return RequestView{}, err
	}
	if err := reschedule(tx, JobRequestExpire, r.ID, r.ExpiresAt); err != nil {
		return RequestView{}, err
	}
	calendar, err := tx.Calendar()
	if err != nil {
		return RequestView{}, fmt.Errorf("approvals: read calendar: %w", err)
	}
	if err := reschedule(tx, JobRequestExpiring, r.ID, warnAt(calendar, r.CreatedAt, r.ExpiresAt)); err != nil {
		return RequestView{}, err
	}
	err = tx.Audit("request.filed", r.Ref(), map[string]any{"tool": r.Tool, "amount": r.Amount, "currency": r.Currency, "digest": r.Digest,
		"posting_date": r.PostingDate, "document_type": r.DocumentType, "expires_at": r.ExpiresAt})
	if err != nil {
		return RequestView{}, err
	}
	if r.Rule != nil {
		routing, err := routingOf(r)
		if err != nil {
			return RequestView{}, err
		}
		data := map[string]any{"rule": r.RuleID, "rule_version": r.RuleVersion, "required": r.Required}
		if len(routing.TakenOut) > 0 {
			data["taken_out"] = routing.TakenOut
		}
		if err := tx.Audit("request.routed", r.Ref(), data); err != nil {
			return RequestView{}, err
		}
	}
	facts, members, tally, err := count(tx, r)
	if err != nil {
		return RequestView{}, err
	}
	if err := s.settleAs(tx, &r, facts, tally); err != nil {
		return RequestView{}, err
	}
	if r.Status == models.RequestPending {
		if err := tell(tx, NoticeWaiting, r.ID, noticeData(r), deciderIDs(facts, members)...); err != nil {
			return RequestView{}, err
		}
	}
	notify(tx, r)
	view, err := viewOf(tx, r)
	view.Created = true
	return withRefusal(view, r), err
}

// join makes the caller one more asker of a live request for the same call.
func (s *Service) join(tx *models.Tx, r models.ApprovalRequest, agent *models.AgentOf) (RequestView, error) {
	asked, err := filedBy(tx, r.ID, tx.By.UserID)
	if err != nil {
		return RequestView{}, err
	}
	if r.Status == models.RequestApproved {
		// Whoever approved a call, or was represented by who did, may not come to own the approval by asking
		// for it afterwards.
		facts, err := factsOf(tx, r)
		if err != nil {
			return RequestView{}, err
		}
		for _, a := range askersFor(tx.By, agent, r.ID) {
			for _, v := range facts.Votes {
				if v.UserID != a.UserID && ownerOf(v) != a.UserID {
					continue
				}
				what := v.UserName + " approved this very call for somebody else, and nobody may ask for what they approved."
				if v.UserID != a.UserID {
					what = fmt.Sprintf("%s approved this very call in the place of %s, and nobody may ask for what was approved in their place.", v.UserName, v.OnBehalfOfName)
				}
				return RequestView{}, models.E(models.Unprocessable, what+" Another account must ask.", map[string]any{"reason": "voter_asks", "request_id": r.ID})
			}
		}
	}
	if err := addAskers(tx, r.ID, agent); err != nil {
		return RequestView{}, err
	}
	if !asked {
		if err := tx.Audit("request.joined", r.Ref(), map[string]any{"status": r.Status}); err != nil {
			return RequestView{}, err
		}
	}
	if r.Status == models.RequestPending {
		if _, err := s.settle(tx, &r); err != nil {
			return RequestView{}, err
		}
	}
	notify(tx, r)
	view, err := viewOf(tx, r)
	return withRefusal(view, r), err
}

// withRefusal adds the APPROVER_NOT_FOUND of an unrouted request, the same each time it is asked for.
func withRefusal(view RequestView, r models.ApprovalRequest) RequestView {
	if r.Status == models.RequestUnrouted {
		view.Refused = approverNotFound(r)
	}
	return view
}

func approverNotFound(r models.ApprovalRequest) *models.NamedError {
	details := map[string]any{"request_id": r.ID, "tool": r.Tool, "amount": r.Amount, "currency": r.Currency}
	if r.UnroutedCaseID != nil {
		details["case_id"] = *r.UnroutedCaseID
	}
	if r.DocumentType != "" {
		details["document_type"] = r.DocumentType
	}
	return models.E(models.ApproverNotFound, r.Reason, details)
}

// checkPeriod answers PERIOD_CLOSED for a posting date on or before the day through which the books
// are closed.
func checkPeriod(tx *models.Tx, posting models.Date) error {
	w, err := tx.Workspace()
	if err != nil {
		return fmt.Errorf("approvals: read workspace: %w", err)
	}
	if posting.IsZero() || w.PeriodClosedThrough.IsZero() || posting.After(w.PeriodClosedThrough) {
		return nil
	}
	return models.E(models.PeriodClosed, fmt.Sprintf("The books of workspace %s are closed through %s; nothing can be posted on %s.", w.ID, w.PeriodClosedThrough, posting),
		map[string]any{"posting_date": posting.String(), "period_closed_through": w.PeriodClosedThrough.String(), "first_open_date": w.PeriodClosedThrough.AddDays(1).String()})
}

// knowsCase says whether the caller may refer to a case: people to any of the workspace, an agent to
// those it filed.
func knowsCase(tx *models.Tx, id string) (bool, error) {
	q := tx.DB.Model(&models.Case{}).Where("id = ? AND workspace_id = ?", id, tx.By.WorkspaceID)
	if !tx.By.Has(readers...) {
		q = q.Where("agent_id = ? OR EXISTS (SELECT 1 FROM handovers h WHERE h.case_id = cases.id AND h.agent_id = ?)", tx.By.UserID, tx.By.UserID)
	}
	var n int64
	if err := q.Count(&n).Error; err != nil {
		return false, fmt.Errorf("approvals: read case: %w", err)
	}
	return n > 0, nil
}

// Get is a request as its asker sees it. People of the workspace may read every request, an agent what
// it filed.
func (s *Service) Get(ctx context.Context, by models.Principal, requestID string) (RequestView, error) {
	if err := mayRead(by); err != nil {
		return RequestView{}, err
	}
	var view RequestView
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		r, err := findRequest(tx, requestID)
		if err != nil {
			return err
		}
		view, err = viewOf(tx, r)
		return err
	})
	return view, err
}

// Await is Get once the request is decided or somebody asks the agent about it, or when the time is up.
func (s *Service) Await(ctx context.Context, by models.Principal, requestID string, wait time.Duration) (RequestView, error) {
	var view RequestView
	err := s.store.Await(ctx, by, wait, models.TopicRequest(requestID), func(by models.Principal) (bool, error) {
		var err error
		view, err = s.Get(ctx, by, requestID)
		return view.Status != models.RequestPending && view.Status != models.RequestUnrouted || view.Instruction != nil, err
	})
	return view, err
}

// statusAt is the request's state at a moment: past its time it is expired, also before the job that
// writes this has run.
func statusAt(r models.ApprovalRequest, now models.Time) models.RequestStatus {
	if (r.Status == models.RequestPending || r.Status == models.RequestUnrouted) && !now.Before(r.ExpiresAt.Time) {
		return models.RequestExpired
	}
	return r.Status
}

// approvalAt is statusAt for a grant.
func approvalAt(a models.Approval, now models.Time) models.ApprovalStatus {
	if a.Status == models.ApprovalGranted && !now.Before(a.ExpiresAt.Time) {
		return models.ApprovalExpired
	}
	return a.Status
}

// viewOf is the request as tx.By may see it. The approval's id goes only to the account that asked, on
// the channels of agents, while it can still be spent.
func viewOf(tx *models.Tx, r models.ApprovalRequest) (RequestView, error) {
	view := RequestView{RequestID: r.ID, Status: statusAt(r, tx.Now), ExpiresAt: r.ExpiresAt, Reason: r.Reason}
	routing, err := routingOf(r)
	if err != nil {
		return RequestView{}, err
	}
	if view.Approver, err = approverView(tx, r, routing); err != nil {
		return RequestView{}, err
	}
	if r.Instruction != nil {
		if err := json.Unmarshal([]byte(*r.Instruction), &view.Instruction); err != nil {
			return RequestView{}, fmt.Errorf("approvals: instruction of %s: %w", r.ID, err)
		}
	}
	switch view.Status {
	case models.RequestPending, models.RequestUnrouted:
		if view.Instruction, err = questionFor(tx, r); err != nil {
			return RequestView{}, err
		}
	case models.RequestExpired:
		view.Reason = "Nobody decided in time. Nothing was approved; ask again if the write is still needed."
	case models.RequestApproved, models.RequestRejected:
		if view.DecidedBy, err = decidedBy(tx, r); err != nil {
			return RequestView{}, err
		}
	}
	if view.Status != models.RequestApproved {
		return view, nil
	}
	a, ok, err := approvalOf(tx, r.ID)
	if err != nil || !ok {
		return view, err
	}
	view.ApprovalExpiresAt = &a.ExpiresAt
	switch approvalAt(a, tx.Now) {
	case models.ApprovalRevoked:
		view.Reason = "The approval was revoked: " + a.RevokeReason
	case models.ApprovalExpired:
		view.Reason = "The approval expired before it was used. Ask again if the write is still needed."
	case models.ApprovalGranted:
		asked, err := filedBy(tx, r.ID, tx.By.UserID)
		if err != nil {
			return RequestView{}, err
		}
		if !asked || !tx.By.Has(models.RoleAgent) || (tx.By.Channel != models.ChannelAPI && tx.By.Channel != models.ChannelMCP) {
			break
		}
		// Who waits for long may have been deactivated meanwhile.
		now, err := tx.Members(tx.By.UserID)
		if err != nil {
			return RequestView{}, fmt.Errorf("approvals: read member: %w", err)
		}
		if len(now) == 1 && now[0].Has(models.RoleAgent) {
			view.ApprovalID = a.ID
		}
	}
	return view, nil
}

func approverView(tx *models.Tx, r models.ApprovalRequest, routing Routing) (*ApproverView, error) {
	authority := routing.Authority()
	if authority == nil || r.Status == models.RequestUnrouted {
		return nil, nil
	}
	named := ""
	if r.NamedID != nil {
		named = *r.NamedID
	}
	names, err := namesOf(tx, append(routing.userIDs(), named)...)
	if err != nil {
		return nil, err
	}
	view := &ApproverView{Required: r.Required}
	switch {
	case named != "" && routing.Rule == nil:
		view.Role = names[named]
	case authority.Sequence() && routing.Rule != nil:
		view.Role = approverAt(*authority, 1, names) + ", then " + approverAt(*authority, 2, names)
	default:
		view.Role = approverAt(*authority, 1, names)
	}
	if named != "" && routing.Rule != nil {
		view.Role += " or " + names[named]
	}
	return view, nil
}

// approverAt names who decides at a step, as the agent reads it: the role's own word, or people's names.
func approverAt(c RuleCopy, step int, names map[string]string) string {
	role := c.Role
	if step == 2 {
		role = c.ThenRole
	}
	if role != "" {
		return string(role)
	}
	return c.whoAt(step, names)
}

// decidedBy names those whose votes decided the request.
func decidedBy(tx *models.Tx, r models.ApprovalRequest) ([]string, error) {
	want := models.VoteApprove
	if r.Status == models.RequestRejected {
		want = models.VoteReject
	}
	var f Facts
	err := tx.DB.Where("request_id = ? AND workspace_id = ? AND decision = ?", r.ID, r.WorkspaceID, want).Order("at, id").Find(&f.Votes).Error
	if err != nil {
		return nil, fmt.Errorf("approvals: read votes: %w", err)
	}
	if want == models.VoteApprove {
		if f.Routing, err = routingOf(r); err != nil {
			return nil, err
		}
		a, _, err := approvalOf(tx, r.ID)
		if err != nil {
			return nil, err
		}
		f.Votes = f.basis(a)
	}
	var names []string
	for _, v := range f.Votes {
		names = append(names, v.UserName)
	}
	return names, nil
}
