package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/apdesk/apdesk/models"
)

// How the queues name a question to the agent among the decisions, and an answer among the handovers.
const (
	exitAskAgent = "ask_agent"
	kindAnswer   = "answer"
)

// AskAgent puts a question about a pending request to the agent that filed it; voting stays possible
// meanwhile. Those may ask whom the routing names, or who stand in for them, and whom nothing bars from
// judging the request; having voted, or coming second, does not. version is the request's as the person
// saw it. Fails with VALIDATION_ERROR on /question, CONFLICT while an earlier question waits or when the
// request was decided or changed, insufficient_permission and UNPROCESSABLE_ENTITY as Vote.
func (s *Service) AskAgent(ctx context.Context, by models.Principal, requestID, question string, version int64) error {
	if err := by.NeedPerson(); err != nil {
		return err
	}
	question, why := models.NeededText(question, maxReason, "is required: what the agent should answer")
	if why != "" {
		return models.Invalid(models.Issue{Path: "/question", Message: why})
	}
	return s.store.InTx(ctx, by, func(tx *models.Tx) error {
		r, err := lockVisible(tx, requestID)
		if err != nil {
			return err
		}
		if err := stillOpen(tx, r, version); err != nil {
			return err
		}
		facts, members, _, err := count(tx, r)
		if err != nil {
			return err
		}
		if !mayAsk(by, facts, members) {
			_, err := mayVote(by, facts, members)
			return err
		}
		if waits, err := questionFor(tx, r); err != nil {
			return err
		} else if waits != nil {
			return models.E(models.Conflict, "A question about this request waits for the agent's answer: "+waits.Question,
				map[string]any{"reason": "question_waits", "request_id": r.ID})
		}
		before := ""
		if r.QuestionCaseID != nil {
			before = *r.QuestionCaseID
		}
		caseID, err := s.cases.AskAgent(tx, r, invoiceOf(r), before, question)
		if err != nil {
			return fmt.Errorf("approvals: ask the agent: %w", err)
		}
		// The version stays: what a person saw of the request is still what they decide.
		if err := change(tx, &r, map[string]any{"question_case_id": caseID}); err != nil {
			return err
		}
		notify(tx, r)
		tx.Notify(models.TopicCase(caseID))
		ref := r.Ref()
		ref.CaseID = caseID
		return tx.Audit("request.questioned", ref, map[string]any{"question": question, "case_id": caseID})
	})
}

// mayAsk says whether a person may put a question to the agent.
func mayAsk(by models.Principal, facts Facts, members []models.Member) bool {
	if facts.standingBar(by.UserID) != "" {
		return false
	}
	return slices.ContainsFunc(facts.Deciders(members), func(d Eligible) bool { return d.UserID == by.UserID }) ||
		slices.ContainsFunc(facts.Votes, func(v models.Vote) bool { return v.UserID == by.UserID })
}

// questionFor is what the agent is told while a question about its request waits for an answer, nil when
// none does.
func questionFor(tx *models.Tx, r models.ApprovalRequest) (*models.Instruction, error) {
	if r.QuestionCaseID == nil {
		return nil, nil
	}
	var rows []models.Case
	err := tx.DB.Select("id", "status", "instruction").Where("id = ? AND workspace_id = ?", *r.QuestionCaseID, r.WorkspaceID).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("approvals: read question: %w", err)
	}
	if len(rows) == 0 || rows[0].Status == models.CaseResolved || rows[0].Instruction == nil {
		return nil, nil
	}
	var in models.Instruction
	if err := json.Unmarshal([]byte(*rows[0].Instruction), &in); err != nil {
		return nil, fmt.Errorf("approvals: question of %s: %w", r.ID, err)
	}
	if in.Question == "" {
		return nil, nil
	}
	return &models.Instruction{Kind: models.InstructResume, Question: in.Question, Input: map[string]any{"case_id": rows[0].ID}}, nil
}

// fillQuestions reads what people asked the agent and what it answered.
func fillQuestions(tx *models.Tx, p *RequestPage, _ Facts, _ []models.Member) error {
	if p.Request.QuestionCaseID == nil {
		return nil
	}
	id := *p.Request.QuestionCaseID
	var asked []models.Decision
	err := tx.DB.Where("case_id = ? AND workspace_id = ? AND exit = ?", id, p.Request.WorkspaceID, exitAskAgent).Order("decided_at, id").Limit(maxTimeline).Find(&asked).Error
	if err != nil {
		return fmt.Errorf("approvals: read questions: %w", err)
	}
	var answers []models.Handover
	err = tx.DB.Where("case_id = ? AND workspace_id = ? AND kind = ?", id, p.Request.WorkspaceID, kindAnswer).Order("at, id").Limit(maxTimeline).Find(&answers).Error
	if err != nil {
		return fmt.Errorf("approvals: read answers: %w", err)
	}
	for i, d := range asked {
		var in struct {
			Question string `json:"question"`
		}
		if err := json.Unmarshal([]byte(d.Input), &in); err != nil {
			return fmt.Errorf("approvals: question of %s: %w", p.Request.ID, err)
		}
		q := Question{CaseID: id, Text: in.Question, By: d.DecidedByName, At: d.DecidedAt}
		// One question waits at a time, so that the next answer is to it.
		if i < len(answers) {
			var body struct {
				Answer string `json:"answer"`
			}
			if err := json.Unmarshal([]byte(answers[i].Body), &body); err != nil {
				return fmt.Errorf("approvals: answer about %s: %w", p.Request.ID, err)
			}
			q.Answer, q.AnsweredBy, q.AnsweredAt = body.Answer, answers[i].AgentName, answers[i].At
		}
		p.Questions = append(p.Questions, q)
	}
	return nil
}
