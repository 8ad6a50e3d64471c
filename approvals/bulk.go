package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/apdesk/apdesk/models"
)

// MaxBulk is how many requests can be approved in one go.
const MaxBulk = 100

// Bulk is a preview of approving several requests: nothing is changed by reading it.
type Bulk struct {
	Items  []BulkItem
	Totals []CurrencyTotal // of what can be approved
	Count  int             // how many can be approved
	StepUp models.Money    // an amount that one of them is above, so that by must confirm first; zero: none is
}

// BulkItem is one request of a Bulk.
type BulkItem struct {
	ListItem
	Version int64
	Binding []BoundValue // what the call does, as compared with the request
	Can     bool
	Missing bool   // nothing is known of it: it is of nowhere, or of another workspace
	Why     string // why it cannot be approved here; empty when it can
	OwnPage bool   // it can be approved, but on its own page only
	Left    int    // how many more people have to say yes after this one
	StepUp  bool   // approving it needs a fresh confirmation of by
	// Look are reasons to look at the request before it is approved with others, in words.
	Look []string
}

// BulkChoice is one request as the person saw it.
type BulkChoice struct {
	RequestID string
	Version   int64
}

// BulkOutcome is what came of one request.
type BulkOutcome string

// What can come of a request that is approved with others.
const (
	BulkApproved BulkOutcome = "approved"
	BulkWaits    BulkOutcome = "waits"   // the yes is recorded, and more people have to say theirs
	BulkAlready  BulkOutcome = "already" // the person had said yes before
	BulkRefused  BulkOutcome = "refused"
)

// BulkResult is what came of approving several requests.
type BulkResult struct {
	Items []BulkAnswer
	// Totals and Count are of the requests whose approval was granted by this.
	Totals []CurrencyTotal
	Count  int
}

// BulkAnswer is what came of one of them.
type BulkAnswer struct {
	ListItem
	Outcome BulkOutcome
	Missing bool   // as in BulkItem
	Why     string // of a refusal; of one that waits what is still needed
}

// BulkPreview says of each request whether by can approve it now and what to look at first, in the order
// given. VALIDATION_ERROR for none or too many.
func (s *Service) BulkPreview(ctx context.Context, by models.Principal, requestIDs []string) (Bulk, error) {
	var choices []BulkChoice
	for _, id := range requestIDs {
		choices = append(choices, BulkChoice{RequestID: id})
	}
	choices, err := checkChoices(by, choices)
	if err != nil {
		return Bulk{}, err
	}
	var out Bulk
	err = s.store.View(ctx, by, func(tx *models.Tx) error {
		out = Bulk{}
		rows, err := lightRequests(tx, choices)
		if err != nil {
			return err
		}
		var found []models.ApprovalRequest
		for _, r := range rows {
			found = append(found, r)
		}
		facts, members, err := countAll(tx, found)
		if err != nil {
			return err
		}
		ask, err := tx.StepUpAmounts()
		if err != nil {
			return err
		}
		var amounts []models.Money
		for _, c := range choices {
			r, ok := rows[c.RequestID]
			if !ok {
				out.Items = append(out.Items, BulkItem{ListItem: ListItem{RequestID: c.RequestID}, Missing: true, Why: noSuchRequest})
				continue
			}
			item, err := bulkItem(tx, r, facts[r.ID], members)
			if err != nil {
				return err
			}
			if item.Can {
				amounts = append(amounts, item.Amount)
				above, asks := models.AsksAgain(ask, item.Amount)
				if item.StepUp = asks; asks && out.StepUp.IsZero() {
					out.StepUp = above
				}
			}
			out.Items = append(out.Items, item)
		}
		out.Count = len(amounts)
		out.Totals, err = TotalsOf(amounts)
		return err
	})
	return out, err
}

const noSuchRequest = "There is no such request in this workspace."

func checkChoices(by models.Principal, choices []BulkChoice) ([]BulkChoice, error) {
	if err := mayRead(by); err != nil {
		return nil, err
	}
	if err := by.NeedPerson(); err != nil {
		return nil, err
	}
	var once []BulkChoice
	for _, c := range choices {
		if c.RequestID != "" && !slices.ContainsFunc(once, func(o BulkChoice) bool { return o.RequestID == c.RequestID }) {
			once = append(once, c)
		}
	}
	switch {
	case len(once) == 0:
		return nil, models.Invalid(models.Issue{Path: "/request", Message: "tick at least one request"})
	case len(once) > MaxBulk:
		return nil, models.Invalid(models.Issue{Path: "/request", Message: fmt.Sprintf("at most %d requests can be approved in one go, and %d are ticked", MaxBulk, len(once))})
	}
	return once, nil
}

// lightRequests reads requests of the workspace without what may be large, by id.
func lightRequests(tx *models.Tx, choices []BulkChoice) (map[string]models.ApprovalRequest, error) {
	ids := make([]string, len(choices))
	for i, c := range choices {
		ids[i] = c.RequestID
	}
	var rows []models.ApprovalRequest
	if err := tx.DB.Omit(heavyColumns...).Where("workspace_id = ? AND id IN ?", tx.By.WorkspaceID, ids).Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("approvals: read requests: %w", err)
	}
	byID := make(map[string]models.ApprovalRequest, len(rows))
	for _, r := range rows {
		byID[r.ID] = r
	}
	return byID, nil
}

func bulkItem(tx *models.Tx, light models.ApprovalRequest, facts Facts, members []models.Member) (BulkItem, error) {
	items, err := itemsOf(tx, []models.ApprovalRequest{light})
	if err != nil {
		return BulkItem{}, err
	}
	item := BulkItem{ListItem: items[0], Version: light.Version}
	// What the write is stands on the item also when it cannot be approved.
	r, err := takeRequest(tx, "*", light.ID, "")
	if err != nil {
		return item, err
	}
	var page RequestPage
	page.Request, page.Arguments = r, json.RawMessage(r.Arguments)
	if err := fillCall(tx, &page, facts, members); err != nil {
		return item, err
	}
	item.Binding = page.Binding
	if err := stillOpen(tx, light, light.Version); err != nil {
		ne, named := models.AsNamed(err)
		if !named {
			return item, err
		}
		item.Why = ne.Message
		return item, nil
	}
	tally := facts.Count(members)
	with, err := mayVote(tx.By, facts, members)
	if ne, named := models.AsNamed(err); named {
		item.Why = ne.Message
		return item, nil
	}
	if err != nil {
		return item, err
	}
	if with.by != nil {
		item.OnBehalfOf = with.owner.User.Name
	}
	item.Left = max(tally.Required-tally.Yes-1, 0)
	if page.Earlier != nil {
		item.OwnPage = true
		item.Why = upperFirst(page.Earlier.Text()) + ". Decide it on its own page."
		return item, nil
	}
	item.Can = true
	item.Look, err = lookAt(tx, r, page)
	return item, err
}

// lookAt lists reasons to look at a request before it is approved with others.
func lookAt(tx *models.Tx, r models.ApprovalRequest, page RequestPage) ([]string, error) {
	var look []string
	var evidence []json.RawMessage
	if err := json.Unmarshal([]byte(r.Evidence), &evidence); err != nil {
		return nil, fmt.Errorf("approvals: evidence of %s: %w", r.ID, err)
	}
	if m := MatchOf(evidence, json.RawMessage(r.Invoice)); m != nil {
		if m.Over {
			look = append(look, m.Marks[0])
		}
		look = append(look, m.Doubts...)
	}
	duplicates, err := tx.DuplicateCandidates(invoiceOf(r))
	if err != nil {
		return nil, fmt.Errorf("approvals: read candidates of duplicates: %w", err)
	}
	var like []string
	for _, c := range duplicates.Candidates {
		if c.Judged == nil || c.Judged.Outdated || c.Judged.Exit != notDuplicate {
			like = append(like, c.Invoice.InvoiceID)
		}
	}
	if len(like) > 0 {
		look = append(look, "It may be a duplicate of "+strings.Join(like, ", "))
	}
	if !page.IsBound || page.AmountSaid {
		look = append(look, "Its amount could not be compared with the call")
	}
	if err := checkPeriod(tx, r.PostingDate); err != nil {
		ne, named := models.AsNamed(err)
		if !named {
			return nil, err
		}
		look = append(look, strings.TrimSuffix(ne.Message, "."))
	}
	earlier, err := earlierRequest(tx, r)
	if err != nil {
		return nil, err
	}
	if earlier != nil && earlier.Status == models.RequestRejected {
		look = append(look, "An earlier request for this invoice was refused: "+earlier.Reason)
	}
	return look, nil
}

// notDuplicate is the exit by which a person said that two invoices are not one.
const notDuplicate = "not_duplicate"

func upperFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// BulkApprove says yes to each request in a transaction of its own, as Vote does, and answers what came
// of each. One that is refused changes nothing of the others. A request the person said yes to before is
// left as it is, so that sending it all twice does no harm. VALIDATION_ERROR for none or too many, or for
// a reason that is too long.
func (s *Service) BulkApprove(ctx context.Context, by models.Principal, choices []BulkChoice, reason string) (BulkResult, error) {
	choices, err := checkChoices(by, choices)
	if err != nil {
		return BulkResult{}, err
	}
	if reason, err = checkReason(reason); err != nil {
		return BulkResult{}, err
	}
	voted, err := s.votedYes(ctx, by, choices)
	if err != nil {
		return BulkResult{}, err
	}
	if err := s.bulkStepUp(ctx, by, choices, voted); err != nil {
		return BulkResult{}, err
	}
	answers := make(map[string]BulkAnswer, len(choices))
	for _, c := range choices {
		if voted[c.RequestID] {
			answers[c.RequestID] = BulkAnswer{Outcome: BulkAlready}
			continue
		}
		view, err := s.Vote(ctx, by, VoteInput{RequestID: c.RequestID, Decision: models.VoteApprove, Reason: reason, Version: c.Version})
		answer := BulkAnswer{Outcome: BulkApproved}
		ne, named := models.AsNamed(err)
		switch {
		case err != nil && !named:
			return BulkResult{}, err
		case named:
			answer.Outcome, answer.Why = BulkRefused, whyRefused(ne)
		case view.Status != models.RequestApproved:
			answer.Outcome = BulkWaits
			page, err := s.Page(ctx, by, c.RequestID)
			if err != nil {
				return BulkResult{}, err
			}
			if page.Needed != "" {
				answer.Why = "It now waits for " + page.Needed + "."
			}
		}
		answers[c.RequestID] = answer
	}
	return s.bulkResult(ctx, by, choices, answers)
}

// bulkStepUp asks for a fresh confirmation before the first vote, so that not half of them are given. Each
// vote looks again.
func (s *Service) bulkStepUp(ctx context.Context, by models.Principal, choices []BulkChoice, voted map[string]bool) error {
	return s.store.View(ctx, by, func(tx *models.Tx) error {
		ask, err := tx.StepUpAmounts()
		if err != nil || len(ask) == 0 || by.SteppedUp(tx.Now) {
			return err
		}
		rows, err := lightRequests(tx, choices)
		if err != nil {
			return err
		}
		for _, r := range rows {
			above, needed, err := asksAgain(tx, r)
			if err != nil {
				return err
			}
			if needed && !voted[r.ID] && statusAt(r, tx.Now) == models.RequestPending {
				return models.Invalid(models.Issue{Path: IssueStepUp, Message: askAgainText(above)})
			}
		}
		return nil
	})
}

// whyRefused is a refusal in words; of a form that was not filled in, what is wrong with it.
func whyRefused(ne *models.NamedError) string {
	issues, _ := ne.Details["issues"].([]models.Issue)
	for _, is := range issues {
		if is.Path == "/second_step" {
			return upperFirst(strings.TrimPrefix(is.Message, "must be confirmed: ")) + ". Decide it on its own page."
		}
	}
	if len(issues) > 0 {
		return issues[0].Message
	}
	return ne.Message
}

func (s *Service) votedYes(ctx context.Context, by models.Principal, choices []BulkChoice) (map[string]bool, error) {
	voted := map[string]bool{}
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		ids := make([]string, len(choices))
		for i, c := range choices {
			ids[i] = c.RequestID
		}
		var mine []string
		err := tx.DB.Model(&models.Vote{}).Where("workspace_id = ? AND request_id IN ? AND user_id = ? AND decision = ?", by.WorkspaceID, ids, by.UserID, models.VoteApprove).
			Pluck("request_id", &mine).Error
		if err != nil {
			return fmt.Errorf("approvals: read votes: %w", err)
		}
		for _, id := range mine {
			voted[id] = true
		}
		return nil
	})
	return voted, err
}

// bulkResult completes the answers with what each request is, as it stands now.
func (s *Service) bulkResult(ctx context.Context, by models.Principal, choices []BulkChoice, answers map[string]BulkAnswer) (BulkResult, error) {
	var out BulkResult
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		out = BulkResult{}
		rows, err := lightRequests(tx, choices)
		if err != nil {
			return err
		}
		var amounts []models.Money
		for _, c := range choices {
			answer := answers[c.RequestID]
			r, ok := rows[c.RequestID]
			if !ok {
				answer.RequestID, answer.Missing, answer.Why = c.RequestID, true, noSuchRequest
				out.Items = append(out.Items, answer)
				continue
			}
			items, err := itemsOf(tx, []models.ApprovalRequest{r})
			if err != nil {
				return err
			}
			answer.ListItem = items[0]
			if answer.Outcome == BulkApproved {
				amounts = append(amounts, answer.Amount)
			}
			out.Items = append(out.Items, answer)
		}
		out.Count = len(amounts)
		out.Totals, err = TotalsOf(amounts)
		return err
	})
	return out, err
}
