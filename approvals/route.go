package approvals

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
)

// The exits of a case that route requests.
const (
	exitNameApprover = "name_approver"
	exitMatrixFixed  = "matrix_fixed"
)

// NameApprover lets one person decide an unrouted request, this item only. The person must be an active
// member whose own limit covers the amount and whom nothing bars; VALIDATION_ERROR on /input/person
// otherwise. A limit that they have only together with others, or by a rule they wrote, does not count. Where a rule matched, the number of people it asks for stands, and the named person is one
// of them. Every other unrouted request that the matrix covers by now is routed with it.
// UNPROCESSABLE_ENTITY when the request is not unrouted any more, or still lacks people.
func (s *Service) NameApprover(tx *models.Tx, requestID, personEmail string) error {
	d, r, err := lockUnrouted(tx, requestID)
	if err != nil {
		return err
	}
	wanted, err := wantedWith(d.bindings, r)
	if err != nil {
		return err
	}
	invalid := func(format string, args ...any) error {
		return models.Invalid(models.Issue{Path: "/input/person", Message: fmt.Sprintf(format, args...)})
	}
	m, err := memberByEmail(tx, personEmail)
	if errors.Is(err, models.ErrNoRow) {
		return invalid("names no active person of this workspace; give the e-mail of one")
	}
	if err != nil {
		return err
	}
	facts, err := factsOf(tx, r)
	if err != nil {
		return err
	}
	rule, limit, why := nameable(d.book, facts, wanted, m, tx.By.UserID)
	if why != "" {
		return invalid("%s %s", m.User.Name, why)
	}
	facts = namedFacts(d.book, facts, wanted, rule, m, tx.By.UserID)
	err = s.reroute(tx, d, r, facts, wanted, map[string]any{"named_id": m.User.ID, "named_by_id": tx.By.UserID},
		map[string]any{"named": m.User.ID, "named_name": m.User.Name, "limit": limit, "currency": r.Currency, "limit_rule": rule.ID, "limit_rule_version": rule.Version})
	if err != nil {
		return err
	}
	return s.routeOthers(tx, d, r, exitNameApprover)
}

// nameable says whether a member can be named for a request by somebody: under which rule and up to
// which limit, or why not; why finishes a sentence that begins with their name.
func nameable(book ruleBook, facts Facts, wanted Wanted, m models.Member, byID string) (rule models.Rule, limit, why string) {
	rules, required := book.rules, 1
	if matched, ok := Match(rules, wanted); ok {
		required = matched.Required
	}
	tool, documentType, currency := wanted.Tool, wanted.DocumentType, wanted.Amount.Currency()
	limit, rule, ok := limitBeside(rules, m, required, tool, documentType, currency)
	if !ok || compareAmounts(wanted.Amount.Abs().Text(), limit) > 0 {
		return rule, limit, tooLow(rules, m, wanted, limit)
	}
	facts = namedFacts(book, facts, wanted, rule, m, byID)
	if bar := facts.bar(m.User.ID); bar != "" {
		return rule, limit, "cannot decide this: they " + barText[bar]
	}
	return rule, limit, ""
}

// tooLow says why the limit a member has for this item, empty without one, is not enough.
func tooLow(rules []models.Rule, m models.Member, wanted Wanted, limit string) string {
	currency := wanted.Amount.Currency()
	highest, from, ok := LimitOf(rules, m, wanted.Tool, wanted.DocumentType, currency)
	switch {
	case !ok:
		return fmt.Sprintf("holds no limit for %s in %s: no rule names them or their role", wanted.Tool, currency)
	case limit != "" && compareAmounts(highest, limit) == 0:
		return fmt.Sprintf("may approve up to %s, and this is %s", formatAmount(limit, currency), wanted.Amount.Format())
	}
	why := "only together with somebody else"
	if from.AuthorID != nil && *from.AuthorID == m.User.ID {
		why = "only by a rule they wrote themself"
	}
	if limit == "" {
		return fmt.Sprintf("may approve up to %s %s, so this cannot be theirs to decide", formatAmount(highest, currency), why)
	}
	return fmt.Sprintf("may approve up to %s, more %s, and this is %s", formatAmount(limit, currency), why, wanted.Amount.Format())
}

// namedFacts is a request as it would be once a member is named for it by somebody.
func namedFacts(book ruleBook, facts Facts, wanted Wanted, rule models.Rule, m models.Member, byID string) Facts {
	facts.Routing, facts.NamedID, facts.NamedByID = book.route(wanted), m.User.ID, byID
	facts.Routing.Named = copyOf(rule)
	return facts
}

// tooFewWith says why a request could still not be decided; it finishes a sentence that begins with the
// name of the person who would be named.
func tooFewWith(facts Facts, members []models.Member) string {
	tally := facts.Count(members)
	switch {
	case tally.Status != models.RequestUnrouted:
		return ""
	case facts.Routing.Steps() == 2:
		return "alone is not enough: the rule asks for two different people, one after the other"
	}
	return fmt.Sprintf("alone is not enough: the rule asks for %d different people, and with them there are %d", tally.Required, tally.Yes+tally.Left)
}

// RouteAgain tries the matrix again for an unrouted request, and routes every other unrouted request
// that it covers by now. UNPROCESSABLE_ENTITY says what is still missing, with every rule that was tried
// and why it does not fit under details.tried.
func (s *Service) RouteAgain(tx *models.Tx, requestID string) error {
	d, r, err := lockUnrouted(tx, requestID)
	if err != nil {
		return err
	}
	wanted, err := wantedWith(d.bindings, r)
	if err != nil {
		return err
	}
	facts, err := factsOf(tx, r)
	if err != nil {
		return err
	}
	facts.Routing, facts.NamedID, facts.NamedByID = d.book.route(wanted), "", ""
	if err := s.reroute(tx, d, r, facts, wanted, map[string]any{"named_id": nil, "named_by_id": nil}, map[string]any{}); err != nil {
		return err
	}
	return s.routeOthers(tx, d, r, exitMatrixFixed)
}

// dispatch is what routing knows of the workspace while the matrix is locked.
type dispatch struct {
	book     ruleBook
	bindings map[string]models.Binding
	members  []models.Member
	expires  models.Time              // of requests routed now
	others   []models.ApprovalRequest // locked: the next unrouted requests that a rule covers
	after    string                   // the last of them, when more follow
}

// routeBatch is how many requests one transaction routes besides the one that was decided about; the
// others follow in jobs.
const routeBatch = 100

// JobRoute goes on routing what the matrix covers by now where a transaction stopped. Its subject is the
// workspace, the exit and request of the decision, and the last request looked at.
const JobRoute models.JobKind = "requests.route"

func (s *Service) routeMore(tx *models.Tx, job models.Job) error {
	parts := strings.Split(job.Subject, "/")
	if len(parts) != 4 {
		return fmt.Errorf("approvals: job of an unknown subject %q", job.Subject)
	}
	d, err := dispatchOf(tx)
	if err != nil {
		return err
	}
	decided, err := takeRequest(tx, "id, unrouted_case_id", parts[2], "")
	if err != nil {
		return ignoreMissing(err)
	}
	ids, err := d.covered(tx, decided.ID, parts[3])
	if err != nil {
		return err
	}
	if _, err := d.lock(tx, "", ids); err != nil {
		return err
	}
	return s.routeOthers(tx, d, decided, parts[1])
}

// dispatchOf locks the matrix and reads what routing depends on.
func dispatchOf(tx *models.Tx) (dispatch, error) {
	var d dispatch
	if _, err := tx.LockRules(); err != nil {
		return d, fmt.Errorf("approvals: lock rules: %w", err)
	}
	var err error
	if d.book, err = bookOf(tx); err != nil {
		return d, err
	}
	if d.bindings, err = tx.Bindings(); err != nil {
		return d, fmt.Errorf("approvals: read bindings: %w", err)
	}
	if d.members, err = tx.Members(); err != nil {
		return d, fmt.Errorf("approvals: read members: %w", err)
	}
	calendar, err := tx.Calendar()
	if err != nil {
		return d, fmt.Errorf("approvals: read calendar: %w", err)
	}
	d.expires = calendar.AddBusinessDays(tx.Now, requestLife)
	return d, nil
}

// lockUnrouted locks the matrix and then, in the order of their ids, the request and the first of the
// other unrouted ones that a rule covers.
func lockUnrouted(tx *models.Tx, requestID string) (dispatch, models.ApprovalRequest, error) {
	d, err := dispatchOf(tx)
	if err != nil {
		return d, models.ApprovalRequest{}, err
	}
	ids, err := d.covered(tx, requestID, "")
	if err != nil {
		return d, models.ApprovalRequest{}, err
	}
	own, err := d.lock(tx, requestID, append(ids, requestID))
	if err != nil {
		return d, models.ApprovalRequest{}, err
	}
	if own == nil {
		return d, models.ApprovalRequest{}, models.Missing("approval request", clip(requestID, 80))
	}
	if status := statusAt(*own, tx.Now); status != models.RequestUnrouted {
		return d, *own, models.E(models.Unprocessable, fmt.Sprintf("The approval request behind this case is %s by now, so there is nothing to route.", status),
			map[string]any{"request_id": own.ID, "status": status})
	}
	return d, *own, nil
}

// lock locks requests in the order of their ids, keeps those that are unrouted still and answers the one
// that is decided about, which is none of them.
func (d *dispatch) lock(tx *models.Tx, requestID string, ids []string) (own *models.ApprovalRequest, err error) {
	var rows []models.ApprovalRequest
	if err := tx.Lock().Where("workspace_id = ? AND id IN ?", tx.By.WorkspaceID, ids).Order("id").Find(&rows).Error; err != nil {
		return nil, fmt.Errorf("approvals: lock requests: %w", err)
	}
	for _, r := range rows {
		switch {
		case r.ID == requestID:
			own = &r
		case statusAt(r, tx.Now) == models.RequestUnrouted:
			d.others = append(d.others, r)
		}
	}
	return own, nil
}

// covered lists, sorted, the ids of the next unrouted requests that a rule covers, without the one that is
// decided about.
func (d *dispatch) covered(tx *models.Tx, requestID, after string) ([]string, error) {
	var rows []models.ApprovalRequest
	err := tx.DB.Select("id", "tool", "document_type", "supplier_id", "cost_centre", "amount", "currency").
		Where("workspace_id = ? AND status = ? AND expires_at > ? AND id > ? AND id <> ?", tx.By.WorkspaceID, models.RequestUnrouted, tx.Now, after, requestID).
		Order("id").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("approvals: read unrouted requests: %w", err)
	}
	var ids []string
	for _, r := range rows {
		w, err := wantedWith(d.bindings, r)
		if err != nil {
			return nil, err
		}
		if _, ok := Match(d.book.rules, w); !ok {
			continue
		}
		if len(ids) == routeBatch {
			d.after = ids[routeBatch-1]
			break
		}
		ids = append(ids, r.ID)
	}
	return ids, nil
}

// wantedWith is what the matrix is asked for a stored request.
func wantedWith(bindings map[string]models.Binding, r models.ApprovalRequest) (Wanted, error) {
	amount, err := models.ParseMoney(r.Amount, r.Currency)
	if err != nil {
		return Wanted{}, fmt.Errorf("approvals: amount of %s: %w", r.ID, err)
	}
	_, isBound := bindings[r.Tool]
	return Wanted{Tool: r.Tool, DocumentType: r.DocumentType, Supplier: r.SupplierID, CostCentre: r.CostCentre, Amount: amount, Unbound: !isBound, At: r.CreatedAt}, nil
}

// routeOthers routes what else waited for the matrix as it is now, and closes the cases of it. Requests
// that still lack people stay as they are; those after the first ones follow in jobs.
func (s *Service) routeOthers(tx *models.Tx, d dispatch, decided models.ApprovalRequest, exit string) error {
	note := "Routed together with another request, by what was decided about its approver."
	if exit == exitMatrixFixed {
		note = "Routed together with another request, since the matrix covers it now."
	}
	facts, err := factsOfAll(tx, d.others)
	if err != nil {
		return err
	}
	for _, r := range d.others {
		wanted, err := wantedWith(d.bindings, r)
		if err != nil {
			return err
		}
		f := facts[r.ID]
		f.Routing, f.NamedID, f.NamedByID = d.book.route(wanted), "", ""
		if f.Count(d.members).Status == models.RequestUnrouted {
			continue
		}
		opened := r.UnroutedCaseID
		err = s.reroute(tx, d, r, f, wanted, map[string]any{"named_id": nil, "named_by_id": nil}, map[string]any{"together_with": decided.ID})
		if err != nil {
			return err
		}
		if opened == nil || (decided.UnroutedCaseID != nil && *opened == *decided.UnroutedCaseID) {
			continue
		}
		if err := s.cases.CloseRouted(tx, *opened, r.ID, exit, note); err != nil {
			return fmt.Errorf("approvals: close case: %w", err)
		}
	}
	if d.after == "" {
		return nil
	}
	if err := tx.Schedule(JobRoute, strings.Join([]string{tx.By.WorkspaceID, exit, decided.ID, d.after}, "/"), tx.Now); err != nil {
		return fmt.Errorf("approvals: schedule: %w", err)
	}
	return nil
}

// reroute makes an unrouted request pending under a new routing, if that gives enough people the
// authority; its time starts anew.
func (s *Service) reroute(tx *models.Tx, d dispatch, r models.ApprovalRequest, facts Facts, wanted Wanted, columns, audit map[string]any) error {
	tally := facts.Count(d.members)
	if tally.Status == models.RequestUnrouted {
		return stillMissing(tx, d, r, facts, wanted, tally)
	}
	if err := setRouting(&r, facts.Routing); err != nil {
		return err
	}
	columns["status"], columns["reason"], columns["version"], columns["expires_at"] = models.RequestPending, "", r.Version+1, d.expires
	if len(facts.Routing.TakenOut) > 0 {
		audit["taken_out"] = facts.Routing.TakenOut
	}
	columns["rule"], columns["rule_id"], columns["rule_version"], columns["required"] = r.Rule, r.RuleID, r.RuleVersion, r.Required
	if err := change(tx, &r, columns); err != nil {
		return err
	}
	if err := tx.Schedule(JobRequestExpire, r.ID, d.expires); err != nil {
		return fmt.Errorf("approvals: schedule: %w", err)
	}
	audit["rule"], audit["rule_version"], audit["required"], audit["expires_at"] = r.RuleID, r.RuleVersion, r.Required, d.expires
	if err := tx.Audit("request.routed", r.Ref(), audit); err != nil {
		return err
	}
	// Votes cast before the request lost its deciders still count, and a grant is of those who cast them.
	err := asDesk(tx, func() error {
		_, err := s.settle(tx, &r)
		return err
	})
	if err != nil {
		return err
	}
	notify(tx, r)
	return s.tellWaiting(tx, r)
}

// Candidate is a person who might be named to decide an unrouted request.
type Candidate struct {
	UserID    string
	Name      string
	Email     string
	Roles     []models.Role
	Limit     string // "EUR 10,000.00"; empty without one
	LimitRule string // id of the rule that gives it
	Absence   string // "away until 12 Oct 2026; Jonas Weber decides meanwhile", empty when they are there
	May       bool
	Why       string // why they cannot be named; finishes a sentence that begins with their name
}

// Candidates lists the people of the workspace who hold a deciding role or are named by a rule, with
// their limit for a request, their absence, and why they cannot be named for it: those who can first,
// then by limit, the lowest that is enough before the others. People of the workspace may read it.
func (s *Service) Candidates(ctx context.Context, by models.Principal, requestID string) ([]Candidate, error) {
	if err := by.NeedRole(readers...); err != nil {
		return nil, err
	}
	var list []Candidate
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		r, err := findRequest(tx, requestID)
		if err != nil {
			return err
		}
		book, err := bookOf(tx)
		if err != nil {
			return err
		}
		wanted, err := wantedOf(tx, r)
		if err != nil {
			return err
		}
		facts, err := factsOf(tx, r)
		if err != nil {
			return err
		}
		members, err := tx.Members()
		if err != nil {
			return fmt.Errorf("approvals: read members: %w", err)
		}
		away, err := absences(tx)
		if err != nil {
			return err
		}
		list = candidates(book, facts, wanted, members, away, by.UserID)
		return nil
	})
	return list, err
}

// candidates is the pure part of Candidates.
func candidates(book ruleBook, facts Facts, wanted Wanted, members []models.Member, away map[string]string, byID string) []Candidate {
	type ranked struct {
		Candidate
		limit string // plain
	}
	var all []ranked
	for _, m := range members {
		if m.User.Kind != models.KindPerson {
			continue
		}
		rule, limit, why := nameable(book, facts, wanted, m, byID)
		switch {
		case why == "":
			why = tooFewWith(namedFacts(book, facts, wanted, rule, m, byID), members)
		case strings.HasSuffix(why, barText[BarNamedBy]):
			why = "looks for the approver, and nobody names themself"
		}
		if limit == "" && !m.Has(deciders...) {
			continue
		}
		c := Candidate{UserID: m.User.ID, Name: m.User.Name, Email: m.User.Email, Roles: m.Roles, Absence: away[m.User.ID], May: why == "", Why: why}
		if limit != "" {
			c.Limit, c.LimitRule = formatAmount(limit, wanted.Amount.Currency()), rule.ID
		}
		all = append(all, ranked{c, limit})
	}
	slices.SortStableFunc(all, func(a, b ranked) int {
		switch {
		case a.May != b.May:
			return pick(a.May, -1, 1)
		case (a.limit == "") != (b.limit == ""):
			return pick(a.limit == "", 1, -1)
		case a.limit != "" && compareAmounts(a.limit, b.limit) != 0:
			return pick(a.May, 1, -1) * compareAmounts(a.limit, b.limit)
		}
		return cmp.Compare(a.Name, b.Name)
	})
	list := make([]Candidate, len(all))
	for i, c := range all {
		list[i] = c.Candidate
	}
	return list
}

// absences says of everybody who is away now until when, and who decides meanwhile, by user id.
func absences(tx *models.Tx) (map[string]string, error) {
	var rows []models.Delegation
	err := tx.DB.Where("workspace_id = ? AND ended_at IS NULL AND starts_at <= ? AND ends_at > ?", tx.By.WorkspaceID, tx.Now, tx.Now).Order("starts_at, id").Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("approvals: read absences: %w", err)
	}
	away := map[string]string{}
	for _, d := range rows {
		text := "away until " + dayText(d.LastDay)
		if d.ToID != nil {
			text += "; " + d.ToName + " decides meanwhile"
		}
		if d.DocumentType != "" {
			text += ", for document type " + d.DocumentType
		}
		if before := away[d.FromID]; before != "" {
			text = before + "; " + text
		}
		away[d.FromID] = text
	}
	return away, nil
}

func dayText(d models.Date) string {
	t, err := time.Parse(time.DateOnly, d.String())
	if err != nil {
		return d.String()
	}
	return t.Format("2 Jan 2006")
}

// Tried is one rule of the matrix and why it does not let a request be decided.
type Tried struct {
	RuleID  string `json:"rule_id"`
	Version int64  `json:"version"`
	Rule    string `json:"rule"`
	Why     string `json:"why"`
	// Covers says that the rule covers the write and does not decide all the same.
	Covers  bool   `json:"-"`
	because string // why another rule goes first
}

// triedRules says of every rule why it does not help.
func triedRules(tx *models.Tx, book ruleBook, facts Facts, wanted Wanted, members []models.Member) ([]Tried, error) {
	rules := book.rules
	var ids []string
	for _, r := range rules {
		ids = append(append(ids, peopleOf(r)...), thenPeopleOf(r)...)
	}
	names, err := namesOf(tx, ids...)
	if err != nil {
		return nil, err
	}
	winner, matched := Match(rules, wanted)
	list := make([]Tried, len(rules))
	for i, r := range rules {
		c := copyOf(r)
		t := Tried{RuleID: r.ID, Version: r.Version, Rule: c.Text(names), Why: misses(r, wanted)}
		if t.Covers = t.Why == ""; t.Covers {
			if matched && r.ID == winner.ID {
				f := facts
				f.Routing = book.route(wanted)
				t.Why = shortage(f, members, names)
			} else {
				t.because = whyBefore(winner, r, wanted)
				t.Why = fmt.Sprintf("%s goes first: %s", RuleName(winner.ID), t.because)
			}
		}
		list[i] = t
	}
	return list, nil
}

// whyBefore says why the winner goes before another rule that covers the same write.
func whyBefore(winner, other models.Rule, wanted Wanted) string {
	if wanted.Unbound && compareAmounts(winner.ToAmount, other.ToAmount) != 0 {
		return "the tool has no pointers, so the highest limit decides"
	}
	return whyFirst(winner, other)
}

// shortage says why the people a rule names are too few.
func shortage(f Facts, members []models.Member, names map[string]string) string {
	tally := f.Count(members)
	var barred []string
	for _, d := range f.Deciders(members) {
		switch why := d.Name + " " + d.Why(); {
		case d.May(), d.Bar == BarVoted, d.Bar == BarTurn, d.Bar == BarStepDone, slices.Contains(barred, why):
		default:
			barred = append(barred, why)
		}
	}
	text := fmt.Sprintf("it needs %d of its people and %d can decide", tally.Required, tally.Yes+tally.Left)
	if f.Routing.Steps() > 1 {
		text = "it needs " + f.needed(tally, names) + ", and too few who may give them are there"
	}
	if len(barred) > 0 {
		text += ": " + strings.Join(barred, "; ")
	}
	return text
}

func stillMissing(tx *models.Tx, d dispatch, r models.ApprovalRequest, facts Facts, wanted Wanted, tally Tally) error {
	names, err := namesOf(tx, append(facts.Routing.userIDs(), facts.NamedID)...)
	if err != nil {
		return err
	}
	tried, err := triedRules(tx, d.book, facts, wanted, d.members)
	if err != nil {
		return err
	}
	return models.E(models.Unprocessable, "The request still cannot be routed. "+facts.whyUnrouted(wanted, tally, names),
		map[string]any{"request_id": r.ID, "required": tally.Required, "eligible": tally.Yes + tally.Left, "tried": tried})
}

// memberByEmail finds an active person of the workspace; ErrNoRow when there is none.
func memberByEmail(tx *models.Tx, email string) (models.Member, error) {
	u, err := tx.UserByEmail(email)
	if err != nil {
		return models.Member{}, err
	}
	members, err := tx.Members(u.ID)
	if err != nil {
		return models.Member{}, fmt.Errorf("approvals: read member: %w", err)
	}
	if len(members) == 0 || u.Kind != models.KindPerson {
		return models.Member{}, models.ErrNoRow
	}
	return members[0], nil
}
