package approvals

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"gorm.io/gorm"

	"github.com/apdesk/apdesk/models"
)

// maxMatrices bounds how many matrices are kept in memory.
const maxMatrices = 256

// matrices keeps the rules in force of each workspace of each database, as they were at a version of
// its rule set. The version is read in the reader's own transaction, so that what is kept is never
// taken for what the matrix is by now.
var matrices = struct {
	sync.Mutex
	kept map[matrixKey]keptMatrix
}{kept: map[matrixKey]keptMatrix{}}

type matrixKey struct {
	database  gorm.Dialector // one per open database and pool
	workspace string
}

type keptMatrix struct {
	version int64
	book    ruleBook
}

// rulesInForce lists the matrix as it is now. The list is the caller's.
func rulesInForce(tx *models.Tx) ([]models.Rule, error) {
	rules, err := matrixOf(tx)
	return slices.Clone(rules), err
}

// matrixOf is rulesInForce whose list is shared and must not be changed.
func matrixOf(tx *models.Tx) ([]models.Rule, error) {
	m, err := bookOf(tx)
	return m.rules, err
}

// bookOf is the matrix with what was taken out of it lately. Its lists are shared and must not be changed.
//
// Whoever edits rules stamps them with the transaction's time and raises the rule set's version in the
// same transaction. A transaction therefore reads its own edits, which may still be undone, from the
// database, and keeps nothing of them.
func bookOf(tx *models.Tx) (ruleBook, error) {
	key := matrixKey{database: tx.DB.Dialector, workspace: tx.By.WorkspaceID}
	seen, err := stampOf(tx)
	if err != nil {
		return ruleBook{}, err
	}
	matrices.Lock()
	kept, ok := matrices.kept[key]
	matrices.Unlock()
	if ok && seen.Made == 0 && kept.version == seen.Version && len(kept.book.rules) == seen.InForce {
		return kept.book, nil
	}
	var m ruleBook
	m.rules, err = models.All[models.Rule](tx, "SELECT * FROM rules WHERE workspace_id = ? AND retired_at IS NULL ORDER BY first_at, id", tx.By.WorkspaceID)
	if err != nil {
		return m, fmt.Errorf("approvals: read rules: %w", err)
	}
	m.out, err = models.All[models.Rule](tx, "SELECT * FROM rules WHERE workspace_id = ? AND retired_at > ? ORDER BY retired_at DESC, id, version", tx.By.WorkspaceID, tx.Now.Add(-takenOutKept))
	if err != nil {
		return m, fmt.Errorf("approvals: read rules taken out: %w", err)
	}
	// Where each statement sees what others have committed meanwhile, the rules may be newer than the
	// version read before them.
	again, err := stampOf(tx)
	if err != nil || again.Made > 0 || again != seen {
		return m, err
	}
	var retired int64
	if err := tx.DB.Model(&models.Rule{}).Where("workspace_id = ? AND retired_at >= ?", tx.By.WorkspaceID, tx.Now).Count(&retired).Error; err != nil || retired > 0 {
		return m, err
	}
	matrices.Lock()
	defer matrices.Unlock()
	if len(matrices.kept) >= maxMatrices {
		for other := range matrices.kept {
			delete(matrices.kept, other)
			break
		}
	}
	matrices.kept[key] = keptMatrix{version: seen.Version, book: m}
	return m, nil
}

// stamp tells one state of a matrix from another: its version, and for a transaction that is just editing
// it whether a rule was made at its very time, and how many are in force.
type stamp struct {
	Version int64
	Made    int
	InForce int
}

func stampOf(tx *models.Tx) (stamp, error) {
	var row stamp
	err := tx.DB.Raw(`SELECT s.version,
		(SELECT COUNT(*) FROM rules r WHERE r.workspace_id = s.workspace_id AND r.created_at >= ?) AS made,
		(SELECT COUNT(*) FROM rules r WHERE r.workspace_id = s.workspace_id AND r.retired_at IS NULL) AS in_force
		FROM rule_sets s WHERE s.workspace_id = ?`, tx.Now, tx.By.WorkspaceID).Scan(&row).Error
	if err != nil {
		return row, fmt.Errorf("approvals: read rule set: %w", err)
	}
	return row, nil
}

// standIns are the active delegations of a workspace with what their limits are worked out from.
type standIns struct {
	tx          *models.Tx
	delegations []models.Delegation
	members     map[string]models.Member
	rules       []models.Rule
	bindings    map[string]models.Binding
	limits      map[limitKey]string
}

// limitKey is whose limit it is and for what; beside is the number of people who must say yes where they
// stand in, 0 for a place of their own.
type limitKey struct {
	user, tool, documentType, currency string
	beside                             int
}

// standInsOf reads the delegations that are active now; most of the time there are none.
func standInsOf(tx *models.Tx) (standIns, error) {
	var active []models.Delegation
	err := tx.DB.Where("workspace_id = ? AND ends_at > ? AND starts_at <= ? AND ended_at IS NULL AND to_id IS NOT NULL", tx.By.WorkspaceID, tx.Now, tx.Now).
		Order("id").Find(&active).Error
	if err != nil {
		return standIns{}, fmt.Errorf("approvals: read delegations: %w", err)
	}
	return standInsBy(tx, active)
}

// standInsBy is what these delegations, each with a delegate, mean while they are active.
func standInsBy(tx *models.Tx, delegations []models.Delegation) (standIns, error) {
	s := standIns{tx: tx, delegations: delegations, members: map[string]models.Member{}, limits: map[limitKey]string{}}
	var err error
	if len(s.delegations) == 0 {
		return s, nil
	}
	var ids []string
	for _, d := range s.delegations {
		ids = append(ids, d.FromID, *d.ToID)
	}
	members, err := tx.Members(ids...)
	if err != nil {
		return s, fmt.Errorf("approvals: read members: %w", err)
	}
	for _, m := range members {
		s.members[m.User.ID] = m
	}
	if s.rules, err = matrixOf(tx); err != nil {
		return s, err
	}
	if s.bindings, err = tx.Bindings(); err != nil {
		return s, fmt.Errorf("approvals: read bindings: %w", err)
	}
	return s, nil
}

// on finds the delegations that bear on a request, and whether the limits of both people cover it.
func (s standIns) on(r models.ApprovalRequest, f Facts) ([]Substitute, error) {
	var list []Substitute
	for _, d := range s.delegations {
		if d.DocumentType != "" && d.DocumentType != r.DocumentType {
			continue
		}
		from, active := s.members[d.FromID]
		to, standsIn := s.members[*d.ToID]
		sub := Substitute{Delegation: d}
		if active && standsIn && f.placed(from) {
			amount, err := models.ParseMoney(r.Amount, r.Currency)
			if err != nil {
				return nil, fmt.Errorf("approvals: amount of %s: %w", r.ID, err)
			}
			need := amount.Abs().Text()
			authority := f.Routing.Authority()
			if _, bound := s.bindings[r.Tool]; !bound {
				// Nobody can check the amount such a tool is claimed to write: the rule's end counts.
				need = authority.To
			}
			own, held := s.limitOf(from, r, 0)
			if !held || compareAmounts(authority.To, own) > 0 {
				own = authority.To // the rule that routed it, as it was then
			}
			sub.Limit, sub.Within = within(need, own, s.limitBesideText(to, r, f.Routing.Required()))
		}
		list = append(list, sub)
	}
	return list, nil
}

// within answers the lower of two limits and whether it covers an amount; no limit covers nothing.
func within(amount string, limits ...string) (lower string, ok bool) {
	for _, l := range limits {
		if l == "" {
			return "", false
		}
		if lower == "" || compareAmounts(l, lower) < 0 {
			lower = l
		}
	}
	return lower, compareAmounts(amount, lower) <= 0
}

// limitBesideText is the limit of who stands in, empty without one.
func (s standIns) limitBesideText(m models.Member, r models.ApprovalRequest, required int) string {
	limit, _ := s.limitOf(m, r, required)
	return limit
}

func (s standIns) limitOf(m models.Member, r models.ApprovalRequest, beside int) (string, bool) {
	key := limitKey{m.User.ID, r.Tool, r.DocumentType, r.Currency, beside}
	limit, known := s.limits[key]
	if !known {
		if beside == 0 {
			limit, _, _ = LimitOf(s.rules, m, r.Tool, r.DocumentType, r.Currency)
		} else {
			limit, _, _ = limitBeside(s.rules, m, beside, r.Tool, r.DocumentType, r.Currency)
		}
		s.limits[key] = limit
	}
	return limit, limit != ""
}

// membersFor reads the active members who matter for requests: whom their rules name, by role or in
// person, who voted, and who stands in for any of them. By name.
func membersFor(tx *models.Tx, all ...Facts) ([]models.Member, error) {
	ids, roles := map[string]bool{}, map[models.Role]bool{}
	for _, f := range all {
		if r := f.Routing.Rule; r != nil {
			for _, role := range []models.Role{r.Role, r.ThenRole} {
				if role != "" {
					roles[role] = true
				}
			}
		}
		for _, id := range append(f.Routing.userIDs(), f.NamedID) {
			ids[id] = true
		}
		for _, v := range f.Votes {
			ids[v.UserID], ids[ownerOf(v)] = true, true
		}
		for _, s := range f.Substitutes {
			if s.Within {
				ids[s.FromID], ids[*s.ToID] = true, true
			}
		}
	}
	if err := holders(tx, roles, ids); err != nil {
		return nil, err
	}
	delete(ids, "")
	if len(ids) == 0 {
		return nil, nil
	}
	members, err := tx.Members(keys(ids)...)
	if err != nil {
		return nil, fmt.Errorf("approvals: read members: %w", err)
	}
	return members, nil
}

// holders adds the ids of everybody who holds one of the roles.
func holders(tx *models.Tx, roles map[models.Role]bool, ids map[string]bool) error {
	if len(roles) == 0 {
		return nil
	}
	var found []string
	err := tx.DB.Table("membership_roles").Where("workspace_id = ? AND role IN ?", tx.By.WorkspaceID, keys(roles)).Pluck("user_id", &found).Error
	if err != nil {
		return fmt.Errorf("approvals: read roles: %w", err)
	}
	for _, id := range found {
		ids[id] = true
	}
	return nil
}

func keys[K cmp.Ordered](set map[K]bool) []K {
	list := make([]K, 0, len(set))
	for k, in := range set {
		if in {
			list = append(list, k)
		}
	}
	slices.Sort(list)
	return list
}

// countAll is count for many requests with a fixed number of reads.
func countAll(tx *models.Tx, requests []models.ApprovalRequest) (map[string]Facts, []models.Member, error) {
	facts, err := factsOfAll(tx, requests)
	if err != nil {
		return nil, nil, err
	}
	list := make([]Facts, 0, len(facts))
	for _, f := range facts {
		list = append(list, f)
	}
	members, err := membersFor(tx, list...)
	return facts, members, err
}
