package queue

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/apdesk/apdesk/models"
)

// CaseSummary is a case as lists show it, in the form of the wire. URL is for the web to fill.
type CaseSummary struct {
	CaseID    string                `json:"case_id"`
	Status    models.CaseStatus     `json:"status"`
	Code      *models.Code          `json:"code"`
	Queue     models.Queue          `json:"queue"`
	Reason    models.HandoverReason `json:"reason"`
	URL       string                `json:"url"`
	Version   int64                 `json:"version"`
	CreatedAt models.Time           `json:"created_at"`
	DueAt     models.Time           `json:"due_at"`
	ClaimedBy *string               `json:"claimed_by"` // name of who holds it now
	Invoice   json.RawMessage       `json:"invoice"`    // as sent, amounts as strings
}

// CaseView is a case with what was handed over and what the agent is to do next.
type CaseView struct {
	CaseSummary
	Handovers   []HandoverView      `json:"handovers"`
	Instruction *models.Instruction `json:"instruction"`
	Resolution  *Resolution         `json:"resolution"`
}

// HandoverView is one handover or answer, in the agent's words. ProposedCalls and Answer are there
// only when the agent sent them.
type HandoverView struct {
	At            models.Time        `json:"at"`
	RunID         string             `json:"run_id"`
	Agent         string             `json:"agent"`
	Errors        []models.SeenError `json:"errors"`
	Evidence      []json.RawMessage  `json:"evidence"`
	Explanation   string             `json:"explanation"`
	Suggestion    *Suggestion        `json:"suggestion"`
	ProposedCalls []models.Call      `json:"proposed_calls,omitempty"`
	Answer        string             `json:"answer,omitempty"`

	Question string `json:"-"` // the question an answer answers
}

// Resolution is how a person closed the case.
type Resolution struct {
	Exit               string                 `json:"exit"`
	Instruction        models.InstructionKind `json:"instruction"`
	Input              map[string]string      `json:"input"`
	Reason             string                 `json:"reason"`
	DecidedBy          string                 `json:"decided_by"`
	DecidedAt          models.Time            `json:"decided_at"`
	ApprovalRequestIDs []string               `json:"approval_request_ids"`
}

// caseRow is a case with the name of who claimed it.
type caseRow struct {
	models.Case   `gorm:"embedded"`
	ClaimedByName string
}

const selectCaseRow = `cases.*, COALESCE((SELECT u.name FROM users u WHERE u.id = cases.claimed_by_id), '') AS claimed_by_name`

func summaryOf(row caseRow, now models.Time) CaseSummary {
	out := CaseSummary{CaseID: row.ID, Status: row.Status, Queue: row.Queue, Reason: row.Reason, Version: row.Version,
		CreatedAt: row.CreatedAt, DueAt: row.DueAt, Invoice: json.RawMessage(row.Invoice)}
	if row.Code != "" {
		out.Code = &row.Code
	}
	if row.ClaimedAt(now) != "" {
		out.ClaimedBy = &row.ClaimedByName
	}
	return out
}

// Get reads one case. People of the workspace read every case, callers what they filed; else
// NOT_FOUND. Tax and bank data is shown to the roles it is for and to the agent that sent it.
func (s *Service) Get(ctx context.Context, by models.Principal, caseID string) (CaseView, error) {
	if err := by.NeedScope(models.ScopeCasesRead); err != nil {
		return CaseView{}, err
	}
	var out CaseView
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		row, private, err := readCase(tx, caseID)
		if err != nil {
			return err
		}
		out, err = viewOf(tx, row, private)
		return err
	})
	return out, err
}

// Await reads one case once it carries an instruction, or as it is when the time is up.
func (s *Service) Await(ctx context.Context, by models.Principal, caseID string, wait time.Duration) (CaseView, error) {
	if err := by.NeedScope(models.ScopeCasesRead); err != nil {
		return CaseView{}, err
	}
	var out CaseView
	read := false
	err := s.store.Await(ctx, by, wait, models.TopicCase(caseID), func(by models.Principal) (bool, error) {
		v, err := s.Get(ctx, by, caseID)
		if err != nil {
			return false, err
		}
		out, read = v, true
		return v.Instruction != nil || v.Status == models.CaseResolved, nil
	})
	if err != nil && read && ctx.Err() != nil && !errors.Is(ctx.Err(), context.Canceled) {
		return out, nil // the caller's own deadline: the state as it was read last
	}
	return out, err
}

// readCase finds a case that the principal may read, and says whether it may see tax and bank data.
func readCase(tx *models.Tx, id string) (caseRow, bool, error) {
	row, err := models.One[caseRow](tx, "SELECT "+selectCaseRow+" FROM cases WHERE cases.id = ? AND cases.workspace_id = ?", id, tx.By.WorkspaceID)
	if errors.Is(err, models.ErrNoRow) {
		return row, false, models.Missing("case", clipID(id))
	}
	if err != nil {
		return row, false, err
	}
	filed, err := filedBy(tx, row.Case)
	if err != nil {
		return row, false, err
	}
	if !filed && !readsAll(tx.By) {
		return row, false, models.Missing("case", clipID(id))
	}
	return row, seesPrivate(tx.By, filed), nil
}

func viewOf(tx *models.Tx, row caseRow, private bool) (CaseView, error) {
	rows, err := models.All[models.Handover](tx, "SELECT * FROM handovers WHERE case_id = ? ORDER BY at, id", row.ID)
	if err != nil {
		return CaseView{}, err
	}
	out := CaseView{CaseSummary: summaryOf(row, tx.Now), Handovers: make([]HandoverView, 0, len(rows)), Instruction: instructionIn(row.Instruction)}
	for _, h := range rows {
		v, err := handoverOf(h)
		if err != nil {
			return CaseView{}, err
		}
		out.Handovers = append(out.Handovers, v)
	}
	if row.Status == models.CaseResolved {
		var last []models.Decision
		if err := tx.DB.Where("case_id = ?", row.ID).Order("decided_at DESC, id DESC").Limit(1).Find(&last).Error; err != nil {
			return CaseView{}, err
		}
		if len(last) == 1 {
			r, err := resolutionOf(last[0])
			if err != nil {
				return CaseView{}, err
			}
			out.Resolution = &r
		}
	}
	if !private {
		hidePrivate(&out)
	}
	return out, nil
}

func handoverOf(h models.Handover) (HandoverView, error) {
	var body handoverBody
	// An agent may hand over a call it made with an approval; nobody who reads that may use it.
	if err := json.Unmarshal([]byte(models.MaskIDs(h.Body)), &body); err != nil {
		return HandoverView{}, err
	}
	v := HandoverView{At: h.At, RunID: h.RunID, Agent: h.AgentName, Errors: body.Errors, Evidence: body.Evidence, Explanation: body.Explanation,
		Suggestion: body.Suggestion, ProposedCalls: body.ProposedCalls, Answer: body.Answer}
	if v.Errors == nil {
		v.Errors = []models.SeenError{}
	}
	if v.Evidence == nil {
		v.Evidence = []json.RawMessage{}
	}
	return v, nil
}

func resolutionOf(d models.Decision) (Resolution, error) {
	r := Resolution{Exit: d.Exit, Instruction: d.InstructionKind, Reason: d.Reason, DecidedBy: d.DecidedByName, DecidedAt: d.DecidedAt}
	if err := json.Unmarshal([]byte(d.Input), &r.Input); err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(d.ApprovalRequestIDs), &r.ApprovalRequestIDs)
}
