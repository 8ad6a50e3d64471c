package queue

import (
	"context"
	"fmt"
	"slices"

	"github.com/apdesk/apdesk/models"
)

// BulkAct is what is done to several cases at once.
type BulkAct string

// The acts on several cases.
const (
	BulkClaim   BulkAct = "claim"
	BulkRelease BulkAct = "release"
	BulkReroute BulkAct = "reroute"
	BulkSnooze  BulkAct = "snooze"
)

// BulkActs lists them.
func BulkActs() []BulkAct { return []BulkAct{BulkClaim, BulkRelease, BulkReroute, BulkSnooze} }

// Valid says whether it is one of them.
func (a BulkAct) Valid() bool { return slices.Contains(BulkActs(), a) }

// MostBulk bounds how many cases are worked at once.
const MostBulk = 200

// BulkItem is what an act would do to one case. Where it would do nothing or be refused, Can is false and
// Why says so in words.
type BulkItem struct {
	CaseItem
	Found   bool // the person may read it
	Can     bool
	Already bool // it is as the act would make it
	Why     string
	To      []models.Queue // where it can be rerouted
}

// BulkPreview says for each case what an act would do to it now. It changes nothing. It fails with
// VALIDATION_ERROR on /act or /cases, and with insufficient_permission for tokens.
func (s *Service) BulkPreview(ctx context.Context, by models.Principal, act BulkAct, ids []string) ([]BulkItem, error) {
	if err := by.NeedPerson(); err != nil {
		return nil, err
	}
	ids, err := bulkOf(act, ids)
	if err != nil {
		return nil, err
	}
	items := make([]BulkItem, 0, len(ids))
	err = s.store.View(ctx, by, func(tx *models.Tx) error {
		var rows []caseRow
		if err := tx.DB.Raw("SELECT "+selectCaseRow+" FROM cases WHERE cases.workspace_id = ? AND cases.id IN ?", by.WorkspaceID, ids).Find(&rows).Error; err != nil {
			return err
		}
		homes := map[models.Code]models.Queue{}
		for _, id := range ids {
			i := slices.IndexFunc(rows, func(r caseRow) bool { return r.ID == id })
			if i < 0 || !readsAll(by) {
				items = append(items, BulkItem{CaseItem: CaseItem{CaseSummary: CaseSummary{CaseID: clipID(id)}}, Why: "There is no such case in this workspace."})
				continue
			}
			row := rows[i]
			item := BulkItem{CaseItem: itemOf(row, tx), Found: true}
			if act == BulkReroute {
				home, known := homes[row.Code]
				if !known {
					d, err := s.deskFor(tx, row.Code)
					if err != nil {
						return err
					}
					home = d.home
					homes[row.Code] = home
				}
				for _, q := range models.Queues() {
					if whyNotTo(row.Case, q, home) == "" {
						item.To = append(item.To, q)
					}
				}
			}
			item.Why, item.Already = whyNotBulk(act, row, by, tx.Now, item.To)
			item.Can = item.Why == ""
			items = append(items, item)
		}
		return nil
	})
	return items, err
}

// bulkOf checks an act and leaves out what was ticked twice.
func bulkOf(act BulkAct, ids []string) ([]string, error) {
	if !act.Valid() {
		return nil, models.Invalid(models.Issue{Path: "/act", Message: "must be claim, release, reroute or snooze"})
	}
	var once []string
	for _, id := range ids {
		if !slices.Contains(once, id) {
			once = append(once, id)
		}
	}
	switch {
	case len(once) == 0:
		return nil, models.Invalid(models.Issue{Path: "/cases", Message: "tick at least one case"})
	case len(once) > MostBulk:
		return nil, models.Invalid(models.Issue{Path: "/cases", Message: fmt.Sprintf("tick at most %d cases at once", MostBulk)})
	}
	return once, nil
}

// whyNotBulk says why an act would be refused or do nothing, "" when it would do something. The act
// itself asks again.
func whyNotBulk(act BulkAct, row caseRow, by models.Principal, now models.Time, to []models.Queue) (why string, already bool) {
	c, holder := row.Case, row.ClaimedAt(now)
	mine := holder == by.UserID
	held := fmt.Sprintf("%s holds it.", row.ClaimedByName)
	may := works(by, c.Queue) || act == BulkReroute && by.Has(models.RoleAPLead)
	switch {
	case c.Status == models.CaseResolved:
		return "It is resolved.", false
	case !may:
		return "You do not work the queue " + c.Queue.Title() + ".", false
	}
	switch act {
	case BulkClaim:
		switch {
		case mine:
			return "You hold it already.", true
		case holder != "":
			return held, false
		}
	case BulkRelease:
		switch {
		case holder == "":
			return "Nobody holds it.", true
		case !mine:
			return held, false
		}
	case BulkReroute, BulkSnooze:
		switch {
		case c.Status == models.CaseHeld:
			return "It is held and comes back by itself.", false
		case holder != "" && !mine && (act == BulkSnooze || !mayTakeOver(by, c.Queue)):
			return held, false
		case act == BulkReroute && len(to) == 0:
			return "No other queue may decide it.", false
		}
	}
	return "", false
}

// BulkChoice is a case somebody ticked, as they saw it.
type BulkChoice struct {
	CaseID  string
	Version int64
}

// BulkInput is an act on several cases. To and Reason are of reroute, Until and Reason of snooze.
type BulkInput struct {
	Act    BulkAct
	Cases  []BulkChoice
	To     models.Queue
	Until  models.Time
	Reason string
}

// BulkOutcome is what came of an act on one case.
type BulkOutcome string

// The outcomes.
const (
	BulkDone    BulkOutcome = "done"
	BulkAlready BulkOutcome = "already" // it was so before, such as when a form is sent twice
	BulkRefused BulkOutcome = "refused"
)

// BulkResult is what came of one case, which is shown as it is now.
type BulkResult struct {
	BulkItem
	Outcome BulkOutcome
}

// Bulk does one act to several cases, each in a transaction of its own by the service of the single act,
// so that one that is refused leaves the others alone. Sending it twice does nothing twice. What is wrong
// with the form as a whole is VALIDATION_ERROR on /act, /cases, /to, /until or /reason, and nothing is
// done; tokens get insufficient_permission.
func (s *Service) Bulk(ctx context.Context, by models.Principal, in BulkInput) ([]BulkResult, error) {
	if err := by.NeedPerson(); err != nil {
		return nil, err
	}
	ids := make([]string, len(in.Cases))
	seen := map[string]int64{}
	for i, c := range in.Cases {
		ids[i], seen[c.CaseID] = c.CaseID, c.Version
	}
	ids, err := bulkOf(in.Act, ids)
	if err != nil {
		return nil, err
	}
	if err := s.checkBulk(in); err != nil {
		return nil, err
	}
	results := map[string]BulkResult{}
	for _, id := range ids {
		r := BulkResult{Outcome: BulkDone}
		so, err := s.isSo(ctx, by, in, id)
		switch {
		case err != nil:
			return nil, err
		case so:
			r.Outcome = BulkAlready
		default:
			if err := s.one(ctx, by, in, id, seen[id]); err != nil {
				ne, named := models.AsNamed(err)
				if !named || ne.Code == models.Unavailable {
					return nil, err
				}
				r.Outcome, r.Why = BulkRefused, refusalWords(ne)
			}
		}
		results[id] = r
	}
	// Shown is what is there now, whoever changed it last.
	now, err := s.BulkPreview(ctx, by, in.Act, ids)
	if err != nil {
		return nil, err
	}
	out := make([]BulkResult, len(now))
	for i, id := range ids {
		r := results[id]
		why := r.Why
		r.BulkItem = now[i]
		r.Why = why
		out[i] = r
	}
	return out, nil
}

// checkBulk refuses what would be refused for every case.
func (s *Service) checkBulk(in BulkInput) error {
	var issues []models.Issue
	now := s.store.Now()
	reason, err := reasonOf(in.Reason)
	if err != nil {
		return err
	}
	switch in.Act {
	case BulkReroute:
		if !in.To.Valid() {
			issues = append(issues, models.Issue{Path: "/to", Message: "choose the queue to send them to"})
		}
		if reason == "" {
			issues = append(issues, models.Issue{Path: "/reason", Message: "say why, for who gets them"})
		}
	case BulkSnooze:
		switch {
		case !in.Until.After(now.Time):
			issues = append(issues, models.Issue{Path: "/until", Message: "must be a moment in the future"})
		case in.Until.After(now.Add(MostSnooze).Time):
			issues = append(issues, models.Issue{Path: "/until", Message: "must be within 90 days"})
		}
	}
	if len(issues) > 0 {
		return models.Invalid(issues...)
	}
	return nil
}

// isSo says whether a case is already as the act would make it for this person.
func (s *Service) isSo(ctx context.Context, by models.Principal, in BulkInput, id string) (so bool, err error) {
	if !readsAll(by) {
		return false, nil
	}
	err = s.store.View(ctx, by, func(tx *models.Tx) error {
		c, err := caseInList(tx, id)
		if models.IsCode(err, models.NotFound) {
			return nil // the act says so
		}
		if err != nil || c.Status == models.CaseResolved {
			return err
		}
		switch in.Act {
		case BulkClaim:
			so = works(by, c.Queue) && c.ClaimedAt(tx.Now) == by.UserID
		case BulkRelease:
			so = works(by, c.Queue) && c.ClaimedAt(tx.Now) == ""
		case BulkReroute:
			so = c.Queue == in.To
		case BulkSnooze:
			so = c.SnoozedUntil.Equal(in.Until.Time) && c.SnoozedBy == by.UserID
		}
		return nil
	})
	return so, err
}

// one does the act to one case.
func (s *Service) one(ctx context.Context, by models.Principal, in BulkInput, id string, version int64) (err error) {
	switch in.Act {
	case BulkClaim:
		_, err = s.Claim(ctx, by, id)
	case BulkRelease:
		_, err = s.Release(ctx, by, id)
	case BulkReroute:
		_, err = s.Reroute(ctx, by, RerouteInput{CaseID: id, To: in.To, Reason: in.Reason, Version: version})
	case BulkSnooze:
		_, err = s.Snooze(ctx, by, SnoozeInput{CaseID: id, Until: in.Until, Reason: in.Reason, Version: version})
	}
	return err
}

// refusalWords says in words why one case was refused.
func refusalWords(ne *models.NamedError) string {
	if issues, _ := ne.Details["issues"].([]models.Issue); len(issues) > 0 {
		switch issues[0].Path {
		case "/to":
			return "The queue " + issues[0].Message + "."
		case "/version":
			return "It changed since it was shown."
		}
		return issues[0].Message
	}
	if holder, ok := ne.Details["claimed_by"].(string); ok && ne.Details["reason"] == "claimed" {
		return holder + " holds it."
	}
	return ne.Message
}
