package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apdesk/apdesk/models"
)

const maxReason = 4000 // characters of a reason people give

// VoteInput is one person's decision on a request.
type VoteInput struct {
	RequestID string
	Decision  models.VoteDecision
	Reason    string
	Version   int64 // of the request as the person saw it
	// SecondStep says that the person knows the same call was carried out before.
	SecondStep bool
	// Correction sends the call back: it rejects and tells the agent what to change, by the names that
	// Correctable gives. Empty values change nothing. nil is a plain vote.
	Correction map[string]string

	confirmed bool // the amount asks for a fresh confirmation, and there is one
}

// Vote records a person's decision and what comes of it. Only people in the browser can vote. Refused
// with CONFLICT when the request was decided or changed since Version, with insufficient_permission
// when its rule does not name the person, and with UNPROCESSABLE_ENTITY when something bars them.
func (s *Service) Vote(ctx context.Context, by models.Principal, in VoteInput) (RequestView, error) {
	id := clip(in.RequestID, 80)
	ref := models.Ref{Subject: id, ApprovalRequestID: id} // until the request is found
	view, err := s.vote(ctx, by, in, &ref)
	if ne, ok := models.AsNamed(err); ok && (ne.Code == models.InsufficientPermission || ne.Code == models.Unprocessable) {
		data := map[string]any{"decision": clip(string(in.Decision), 20), "code": ne.Code, "why": ne.Message}
		if reason, ok := ne.Details["reason"]; ok {
			data["reason"] = reason
		}
		if recErr := s.store.RecordRefusal(ctx, by, "vote.refused", ref, data); recErr != nil {
			return RequestView{}, recErr
		}
	}
	return view, err
}

func (s *Service) vote(ctx context.Context, by models.Principal, in VoteInput, found *models.Ref) (RequestView, error) {
	if err := by.NeedPerson(); err != nil {
		return RequestView{}, err
	}
	if err := in.check(); err != nil {
		return RequestView{}, err
	}
	var view RequestView
	var late error // the answer when the vote came to nothing but what it found out stays
	err := s.store.InTx(ctx, by, func(tx *models.Tx) error {
		late = nil
		if err := lockVoters(tx, in.RequestID); err != nil {
			return err
		}
		r, err := lockVisible(tx, in.RequestID)
		if err != nil {
			return err
		}
		*found = r.Ref()
		if err := stillOpen(tx, r, in.Version); err != nil {
			return err
		}
		facts, members, tally, err := count(tx, r)
		if err != nil {
			return err
		}
		if tally.Status != models.RequestPending {
			if _, err := s.settle(tx, &r); err != nil {
				return err
			}
			notify(tx, r)
			late = stillOpen(tx, r, in.Version)
			return nil
		}
		with, err := mayVote(tx.By, facts, members)
		if err != nil {
			return err
		}
		if err := secondStep(tx, r, in); err != nil {
			return err
		}
		if in.confirmed, err = stepUp(tx, r, in.Decision); err != nil {
			return err
		}
		vote, err := s.cast(tx, r, in, facts, with)
		if err != nil {
			return err
		}
		if in.Decision == models.VoteReject {
			err = s.reject(tx, &r, in, vote)
		} else {
			err = s.countYes(tx, &r, tally.Open)
		}
		if err != nil {
			return err
		}
		notify(tx, r)
		view, err = viewOf(tx, r)
		return err
	})
	if err == nil {
		err = late
	}
	return view, err
}

// check refuses a form that cannot be a vote, and brings the reason into the form that is kept.
func (in *VoteInput) check() error {
	var issues []models.Issue
	if in.Decision != models.VoteApprove && in.Decision != models.VoteReject {
		issues = append(issues, models.Issue{Path: "/decision", Message: "must be approve or reject"})
	}
	if in.Correction != nil && in.Decision != models.VoteReject {
		issues = append(issues, models.Issue{Path: "/decision", Message: "must be reject when the call is sent back with a correction"})
	}
	reason, why := models.FreeText(in.Reason, maxReason)
	if why == "" && reason == "" && in.Decision == models.VoteReject {
		why = "is required when you reject"
	}
	if why != "" {
		issues = append(issues, models.Issue{Path: "/reason", Message: why})
	}
	in.Reason = reason
	if len(issues) > 0 {
		return models.Invalid(issues...)
	}
	return nil
}

// stillOpen answers CONFLICT, in words, when a request is decided or no longer what the person saw.
// Another person's yes on a rule that needs two changes neither.
func stillOpen(tx *models.Tx, r models.ApprovalRequest, seen int64) error {
	status := statusAt(r, tx.Now)
	details := map[string]any{"request_id": r.ID, "status": status, "version": r.Version}
	switch status {
	case models.RequestPending:
		if seen == r.Version {
			return nil
		}
		return models.E(models.Conflict, "Who decides this request was changed since you opened it. Look at it again before you decide.", details)
	case models.RequestExpired:
		details["decided_at"] = r.ExpiresAt
		return models.E(models.Conflict, fmt.Sprintf("This request expired on %s; nobody decided it in time.", when(r.ExpiresAt)), details)
	case models.RequestUnrouted:
		return models.E(models.Conflict, "Nobody can decide this request at the moment: "+r.Reason, details)
	case models.RequestWithdrawn:
		details["decided_at"] = r.DecidedAt
		return models.E(models.Conflict, fmt.Sprintf("This request was withdrawn on %s: %s", when(r.DecidedAt), r.Reason), details)
	}
	names, err := decidedBy(tx, r)
	if err != nil {
		return err
	}
	details["decided_by"], details["decided_at"] = names, r.DecidedAt
	return models.E(models.Conflict, fmt.Sprintf("%s %s this request on %s.", strings.Join(names, " and "), status, when(r.DecidedAt)), details)
}

func when(t models.Time) string { return t.UTC().Format("2 January 2006 at 15:04 UTC") }

// secondStep asks a person who approves a call that ran before whether they know it.
func secondStep(tx *models.Tx, r models.ApprovalRequest, in VoteInput) error {
	if in.Decision != models.VoteApprove || in.SecondStep {
		return nil
	}
	earlier, err := earlierRun(tx, r)
	if err != nil || earlier == nil {
		return err
	}
	return models.Invalid(models.Issue{Path: "/second_step", Message: "must be confirmed: " + earlier.Text()})
}

// cast writes the vote with the authority it was given under.
func (s *Service) cast(tx *models.Tx, r models.ApprovalRequest, in VoteInput, facts Facts, with seat) (models.Vote, error) {
	limit, err := limitOn(tx, r, facts, with)
	if err != nil {
		return models.Vote{}, err
	}
	authority := facts.Routing.Authority()
	v := models.Vote{ID: tx.NewID(models.PrefixVote), WorkspaceID: r.WorkspaceID, RequestID: r.ID, UserID: tx.By.UserID, UserName: tx.By.UserName,
		Role: string(with.role), Step: with.step, Decision: in.Decision, Reason: in.Reason, LimitAmount: limit,
		RuleID: authority.ID, RuleVersion: authority.Version, Channel: tx.By.Channel, At: tx.Now}
	data := map[string]any{"vote": v.ID, "decision": v.Decision, "reason": v.Reason, "role": v.Role, "step": v.Step, "limit": v.LimitAmount,
		"currency": r.Currency, "rule": v.RuleID, "rule_version": v.RuleVersion, "request_version": r.Version, "second_step": in.SecondStep}
	if with.by != nil {
		v.OnBehalfOfID, v.OnBehalfOfName, v.DelegationID = &with.by.FromID, with.owner.User.Name, with.by.ID
		data["on_behalf_of_name"], data["on_behalf_of_id"], data["delegation"] = v.OnBehalfOfName, with.by.FromID, v.DelegationID
	}
	if in.confirmed {
		v.ConfirmedHow, v.ConfirmedAt = tx.By.SteppedUpHow, tx.By.SteppedUpAt
		data["confirmed_how"], data["confirmed_at"] = v.ConfirmedHow, v.ConfirmedAt
	}
	if err := tx.DB.Create(&v).Error; err != nil {
		return models.Vote{}, fmt.Errorf("approvals: write vote: %w", err)
	}
	if err := tx.IndexVote(v.ID); err != nil {
		return models.Vote{}, err
	}
	return v, tx.Audit("vote.cast", r.Ref(), data)
}

// limitOn is the highest amount that a vote in a seat could approve now: what the matrix or the rule
// that routed the request gives its owner, and for a place held for another the lower limit of the two.
func limitOn(tx *models.Tx, r models.ApprovalRequest, facts Facts, with seat) (string, error) {
	if with.by != nil {
		return with.by.Limit, nil
	}
	rules, err := matrixOf(tx)
	if err != nil {
		return "", err
	}
	limit := facts.Routing.Authority().To
	if l, _, ok := LimitOf(rules, with.owner, r.Tool, r.DocumentType, r.Currency); ok && compareAmounts(l, limit) > 0 {
		limit = l
	}
	return limit, nil
}

// reject ends a request by one no; with a correction the agent is told what to change.
func (s *Service) reject(tx *models.Tx, r *models.ApprovalRequest, in VoteInput, vote models.Vote) error {
	columns := map[string]any{"status": models.RequestRejected, "live": false, "reason": vote.Reason, "decided_at": tx.Now, "version": r.Version + 1}
	var corrected correction
	if in.Correction != nil {
		var issues []models.Issue
		var err error
		if corrected, issues, err = readCorrection(tx, *r, in.Correction); err != nil {
			return err
		}
		if len(issues) > 0 {
			return models.Invalid(issues...)
		}
		text, err := json.Marshal(models.Instruction{Kind: models.InstructRetryWith, Input: corrected.input, Note: vote.Reason})
		if err != nil {
			return fmt.Errorf("approvals: instruction: %w", err)
		}
		columns["instruction"] = string(text)
		if err := tx.Correct(r.ID, r.InvoiceID, corrected.invoiceID); err != nil {
			return err
		}
	}
	if err := change(tx, r, columns); err != nil {
		return err
	}
	if err := unschedule(tx, r.ID, JobRequestExpire, JobRequestExpiring); err != nil {
		return err
	}
	if err := s.concluded(tx, *r, "The request was rejected: "+vote.Reason); err != nil {
		return err
	}
	if err := tx.Audit("request.rejected", r.Ref(), map[string]any{"reason": vote.Reason, "sent_back": in.Correction != nil, "correction": corrected.changed}); err != nil {
		return err
	}
	if in.Correction == nil {
		return nil
	}
	// Whoever sends a call back cannot approve the others of this invoice.
	return s.settleInvoices(tx, r.InvoiceID, corrected.invoiceID)
}

// countYes settles a request after a yes, and tells those whose turn has come with it.
func (s *Service) countYes(tx *models.Tx, r *models.ApprovalRequest, before int) error {
	facts, members, tally, err := count(tx, *r)
	if err != nil {
		return err
	}
	if err := s.settleAs(tx, r, facts, tally); err != nil || tally.Status != models.RequestPending || tally.Open == before {
		return err
	}
	return tell(tx, NoticeWaiting, r.ID, noticeData(*r), deciderIDs(facts, members)...)
}

// lockVoters locks the memberships of the voter and of everybody whose vote or place counts already, before
// the request itself: who takes a membership away locks that before the requests it touches as well.
func lockVoters(tx *models.Tx, requestID string) error {
	var votes []models.Vote
	if err := tx.DB.Select("user_id", "on_behalf_of_id").Where("request_id = ? AND workspace_id = ?", requestID, tx.By.WorkspaceID).Find(&votes).Error; err != nil {
		return fmt.Errorf("approvals: read voters: %w", err)
	}
	ids := map[string]bool{tx.By.UserID: true}
	for _, v := range votes {
		ids[v.UserID], ids[ownerOf(v)] = true, true
	}
	return lockMembers(tx, keys(ids)...)
}

// lockMembers makes a vote, or what it grants, and changes of the memberships it rests on wait for one
// another: either is seen by the other. Always in one order.
func lockMembers(tx *models.Tx, userIDs ...string) error {
	var rows []models.Membership
	if err := tx.Lock().Where("user_id IN ? AND workspace_id = ?", userIDs, tx.By.WorkspaceID).Order("user_id").Find(&rows).Error; err != nil {
		return fmt.Errorf("approvals: lock memberships: %w", err)
	}
	return nil
}
