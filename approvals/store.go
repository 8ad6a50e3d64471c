package approvals

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"gorm.io/gorm/clause"

	"github.com/apdesk/apdesk/models"
)

// readers are the roles of people who may read every request of their workspace. Agents read what
// they filed.
var readers = []models.Role{models.RoleAPClerk, models.RoleAPLead, models.RoleProcurement, models.RoleFinanceLead,
	models.RoleMasterData, models.RoleAuditor, models.RoleAdmin}

func mayRead(by models.Principal) error {
	if err := by.NeedScope(models.ScopeApprovalsRead); err != nil {
		return err
	}
	if by.Has(models.RoleAgent) || by.Has(readers...) || by.Channel == models.ChannelSystem {
		return nil
	}
	return by.NeedRole(models.RoleAgent)
}

// findRequest reads a request the caller may read; NOT_FOUND for another workspace's, and for an agent
// also what others filed.
func findRequest(tx *models.Tx, id string) (models.ApprovalRequest, error) {
	r, err := takeRequest(tx, "*", id, "")
	if err != nil {
		return r, err
	}
	return r, visible(tx, r)
}

// lockVisible is findRequest for a change.
func lockVisible(tx *models.Tx, id string) (models.ApprovalRequest, error) {
	r, err := lockRequest(tx, id)
	if err != nil {
		return r, err
	}
	return r, visible(tx, r)
}

// lockRequest reads a request of the workspace for a change: votes, redeems and revocations wait for
// one another here.
func lockRequest(tx *models.Tx, id string) (models.ApprovalRequest, error) {
	return takeRequest(tx, "*", id, tx.ForChange())
}

func takeRequest(tx *models.Tx, columns, id, locking string) (models.ApprovalRequest, error) {
	r, err := models.One[models.ApprovalRequest](tx, "SELECT "+columns+" FROM approval_requests WHERE id = ? AND workspace_id = ?"+locking, id, tx.By.WorkspaceID)
	if errors.Is(err, models.ErrNoRow) {
		return r, models.Missing("approval request", clip(id, 80))
	}
	if err != nil {
		return r, fmt.Errorf("approvals: read request: %w", err)
	}
	return r, nil
}

func visible(tx *models.Tx, r models.ApprovalRequest) error {
	if tx.By.Channel == models.ChannelSystem || tx.By.Has(readers...) {
		return nil
	}
	filed, err := filedBy(tx, r.ID, tx.By.UserID)
	if err == nil && !filed {
		err = models.Missing("approval request", clip(r.ID, 80))
	}
	return err
}

// filedBy says whether a user asked for the request, as the first or by joining it.
func filedBy(tx *models.Tx, requestID, userID string) (bool, error) {
	var n int64
	err := tx.DB.Model(&models.Asker{}).Where("request_id = ? AND user_id = ? AND relation = ?", requestID, userID, relationAsked).Count(&n).Error
	if err != nil {
		return false, fmt.Errorf("approvals: read askers: %w", err)
	}
	return n > 0, nil
}

// How a user counts as asker of a request.
const (
	relationAsked       = "asked"
	relationResponsible = "responsible"
	relationTokenMaker  = "token_creator"
)

var barOfRelation = map[string]Bar{relationAsked: BarAsker, relationResponsible: BarResponsible, relationTokenMaker: BarTokenMaker}

// askersOf lists everybody who asks when by does: the account, its responsible person and whoever made
// its token.
func askersOf(by models.Principal, requestID string) []models.Asker {
	var list []models.Asker
	for _, a := range []struct{ user, relation string }{
		{by.UserID, relationAsked}, {by.OwnerID, relationResponsible}, {by.TokenBy, relationTokenMaker},
	} {
		if a.user != "" {
			list = append(list, models.Asker{RequestID: requestID, UserID: a.user, Relation: a.relation})
		}
	}
	return list
}

// askersFor is askersOf for a request that a person files for an agent, who both ask; agent is nil for
// what an account asks itself.
func askersFor(by models.Principal, agent *models.AgentOf, requestID string) []models.Asker {
	list := askersOf(by, requestID)
	if agent != nil {
		list = append(list, askersOf(models.Principal{UserID: agent.UserID, OwnerID: agent.OwnerID, TokenBy: agent.TokenByID}, requestID)...)
	}
	return list
}

func addAskers(tx *models.Tx, requestID string, agent *models.AgentOf) error {
	askers := askersFor(tx.By, agent, requestID)
	if len(askers) == 0 {
		return nil
	}
	if err := tx.DB.Clauses(clause.OnConflict{DoNothing: true}).Create(&askers).Error; err != nil {
		return fmt.Errorf("approvals: add askers: %w", err)
	}
	return nil
}

// insertRequest writes a request unless a live one for the same call exists.
func insertRequest(tx *models.Tx, r *models.ApprovalRequest) (inserted bool, err error) {
	made := tx.DB.Clauses(clause.OnConflict{DoNothing: true}).Create(r)
	if made.Error != nil {
		return false, fmt.Errorf("approvals: insert request: %w", made.Error)
	}
	return made.RowsAffected == 1, nil
}

// lockLive reads and locks the live request of a call; ok is false when there is none any more.
func lockLive(tx *models.Tx, digest string) (r models.ApprovalRequest, ok bool, err error) {
	var rows []models.ApprovalRequest
	if err := tx.Lock().Where("workspace_id = ? AND digest = ? AND live", tx.By.WorkspaceID, digest).Limit(1).Find(&rows).Error; err != nil {
		return r, false, fmt.Errorf("approvals: read live request: %w", err)
	}
	if len(rows) == 0 {
		return r, false, nil
	}
	return rows[0], true, nil
}

// change writes some columns of a locked request and keeps r in step with them.
func change(tx *models.Tx, r *models.ApprovalRequest, columns map[string]any) error {
	columns["updated_at"] = tx.Now
	done := tx.DB.Model(&models.ApprovalRequest{}).Where("id = ? AND workspace_id = ?", r.ID, r.WorkspaceID).Updates(columns)
	if done.Error != nil {
		return fmt.Errorf("approvals: change request: %w", done.Error)
	}
	var err error
	if *r, err = models.One[models.ApprovalRequest](tx, "SELECT * FROM approval_requests WHERE id = ?", r.ID); err != nil {
		return fmt.Errorf("approvals: read request again: %w", err)
	}
	return nil
}

// approvalOf reads the grant of a request; ok is false when there is none.
func approvalOf(tx *models.Tx, requestID string) (a models.Approval, ok bool, err error) {
	rows, err := models.All[models.Approval](tx, "SELECT * FROM approvals WHERE request_id = ? AND workspace_id = ?", requestID, tx.By.WorkspaceID)
	if err != nil {
		return a, false, fmt.Errorf("approvals: read approval: %w", err)
	}
	if len(rows) == 0 {
		return a, false, nil
	}
	return rows[0], true, nil
}

// factsOf gathers what decides who may vote on one request.
func factsOf(tx *models.Tx, r models.ApprovalRequest) (Facts, error) {
	all, err := factsOfAll(tx, []models.ApprovalRequest{r})
	return all[r.ID], err
}

// factsOfAll is factsOf for many requests with a fixed number of reads.
func factsOfAll(tx *models.Tx, requests []models.ApprovalRequest) (map[string]Facts, error) {
	facts := make(map[string]Facts, len(requests))
	if len(requests) == 0 {
		return facts, nil
	}
	ids, invoices := make([]string, len(requests)), make([]string, len(requests))
	for i, r := range requests {
		ids[i], invoices[i] = r.ID, r.InvoiceID
	}
	var askers []models.Asker
	if err := tx.DB.Where("request_id IN ?", ids).Find(&askers).Error; err != nil {
		return nil, fmt.Errorf("approvals: read askers: %w", err)
	}
	var votes []models.Vote
	if err := tx.DB.Where("request_id IN ? AND workspace_id = ?", ids, tx.By.WorkspaceID).Order("at, id").Find(&votes).Error; err != nil {
		return nil, fmt.Errorf("approvals: read votes: %w", err)
	}
	corrections, err := correctionsOf(tx, invoices)
	if err != nil {
		return nil, err
	}
	stand, err := standInsOf(tx)
	if err != nil {
		return nil, err
	}
	read := map[string]Routing{} // many requests are routed by one rule
	for _, r := range requests {
		f := Facts{Askers: map[string]Bar{}, Correctors: map[string]bool{}}
		if r.Rule != nil {
			known := false
			if f.Routing, known = read[*r.Rule]; !known {
				if f.Routing, err = routingOf(r); err != nil {
					return nil, err
				}
				read[*r.Rule] = f.Routing
			}
		}
		if r.NamedID != nil {
			f.NamedID = *r.NamedID
		}
		if r.NamedByID != nil {
			f.NamedByID = *r.NamedByID
		}
		for _, c := range corrections {
			// Whoever sends this very call back did so with their vote on it, which ends it.
			if slices.Contains(models.CorrectionKeys(r.InvoiceID), c.InvoiceID) && c.Source != r.ID {
				f.Correctors[c.UserID] = true
			}
		}
		if f.Substitutes, err = stand.on(r, f); err != nil {
			return nil, err
		}
		facts[r.ID] = f
	}
	for _, a := range askers {
		f := facts[a.RequestID]
		if f.Askers[a.UserID] != BarAsker { // asking oneself outweighs the other relations
			f.Askers[a.UserID] = barOfRelation[a.Relation]
		}
	}
	for _, v := range votes {
		f := facts[v.RequestID]
		f.Votes = append(f.Votes, v)
		facts[v.RequestID] = f
	}
	return facts, nil
}

// correctionsOf lists who corrected one of the invoices, by a case decision with retry_with or by sending a
// call of it back.
func correctionsOf(tx *models.Tx, invoices []string) ([]models.Correction, error) {
	var list []models.Correction
	if err := tx.DB.Where("workspace_id = ? AND invoice_id IN ?", tx.By.WorkspaceID, models.CorrectionKeys(invoices...)).Find(&list).Error; err != nil {
		return nil, fmt.Errorf("approvals: read corrections: %w", err)
	}
	return list, nil
}

func routingOf(r models.ApprovalRequest) (Routing, error) {
	var routing Routing
	if r.Rule == nil {
		return routing, nil
	}
	if err := json.Unmarshal([]byte(*r.Rule), &routing); err != nil {
		return routing, fmt.Errorf("approvals: rule copy of %s: %w", r.ID, err)
	}
	return routing, nil
}

// wantedOf is what the matrix is asked for a stored request.
func wantedOf(tx *models.Tx, r models.ApprovalRequest) (Wanted, error) {
	bindings, err := tx.Bindings()
	if err != nil {
		return Wanted{}, fmt.Errorf("approvals: read bindings: %w", err)
	}
	amount, err := models.ParseMoney(r.Amount, r.Currency)
	if err != nil {
		return Wanted{}, fmt.Errorf("approvals: amount of %s: %w", r.ID, err)
	}
	_, isBound := bindings[r.Tool]
	return Wanted{Tool: r.Tool, DocumentType: r.DocumentType, Supplier: r.SupplierID, CostCentre: r.CostCentre, Amount: amount, Unbound: !isBound, At: r.CreatedAt}, nil
}

// namesOf finds the names of users, for sentences.
func namesOf(tx *models.Tx, ids ...string) (map[string]string, error) {
	names := map[string]string{}
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return id == "" })
	if len(ids) == 0 {
		return names, nil
	}
	var users []models.User
	if err := tx.DB.Select("id", "name").Where("id IN ?", ids).Find(&users).Error; err != nil {
		return nil, fmt.Errorf("approvals: read names: %w", err)
	}
	for _, u := range users {
		names[u.ID] = u.Name
	}
	return names, nil
}

func (r Routing) userIDs() []string {
	var ids []string
	for _, c := range []*RuleCopy{r.Rule, r.Named} {
		if c != nil {
			ids = append(append(ids, c.People...), c.ThenPeople...)
		}
	}
	return ids
}

// notify wakes whoever waits for the request, its list, or the cases it belongs to.
func notify(tx *models.Tx, r models.ApprovalRequest) {
	tx.Notify(models.TopicRequest(r.ID), models.TopicApprovals(r.WorkspaceID))
	for _, id := range []*string{r.CaseID, r.UnroutedCaseID} {
		if id != nil {
			tx.Notify(models.TopicCase(*id))
		}
	}
}
