package confirm

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"gorm.io/gorm/clause"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
)

// How somebody counts as having asked.
const (
	relationAsked       = "asked"
	relationResponsible = "responsible"
	relationTokenMaker  = "token_creator"
)

// Request puts another server's question in front of a person. The workspace's server rules say whose
// role answers; a question that asks to open an address goes to the person responsible for the asking
// account, and is cancelled at once when there is no active one. Fails with VALIDATION_ERROR for
// anything a form may not have and with UNPROCESSABLE_ENTITY for a form that asks for a secret.
func (s *Service) Request(ctx context.Context, by models.Principal, in RequestInput, idem models.Idempotency) (View, error) {
	if err := mayWrite(by); err != nil {
		return View{}, err
	}
	asked, err := in.read(by.WorkspaceID)
	if err == nil {
		if err = refuseSecrets(asked.questions); err != nil {
			data := map[string]any{"code": models.Unprocessable, "server": asked.server, "tool": in.Tool, "digest": asked.digest}
			if ne, ok := models.AsNamed(err); ok {
				data["reason"], data["field"] = ne.Details["reason"], ne.Details["field"]
			}
			if recErr := s.store.RecordRefusal(ctx, by, "confirmation.refused", asked.ref(), data); recErr != nil {
				return View{}, recErr
			}
		}
	}
	if err != nil {
		return View{}, err
	}
	var view View
	err = s.store.InTx(ctx, by, func(tx *models.Tx) error {
		if err := tx.CheckBlocked(ActionRequest); err != nil {
			return err
		}
		var err error
		view, err = models.Once(tx, ActionRequest, idem, func() (View, error) { return file(tx, in, asked) })
		return err
	})
	return view, err
}

// asked is a request that has been read.
type asked struct {
	server    string // address as it is compared
	origin    string
	arguments json.RawMessage
	digest    string
	questions []Question
	requests  string // as sent, without spaces around
	stateHash string
	life      time.Duration
	invoiceID string
	invoice   string
}

func (a asked) ref() models.Ref { return models.Ref{Subject: a.digest, InvoiceID: a.invoiceID} }

func (in RequestInput) read(workspace string) (asked, error) {
	a := asked{life: DefaultExpiry}
	var issues []models.Issue
	add := func(path, format string, args ...any) {
		issues = append(issues, models.Issue{Path: path, Message: fmt.Sprintf(format, args...)})
	}
	if n := utf8.RuneCountInString(in.ServerName); !models.HasVisible(in.ServerName) || n > maxServerName {
		add("/server/name", "is required: the server's name, of at most %d characters", maxServerName)
	}
	var problem string
	if a.server, a.origin, problem = serverAddress(in.ServerURL); problem != "" {
		add("/server/url", "%s", problem)
	}
	issues = append(issues, checkCall(in.Tool, in.Arguments)...)
	questions, wrong := ReadQuestions(in.InputRequests, "/input_requests")
	issues = append(issues, wrong...)
	a.questions, a.requests = questions, string(bytes.TrimSpace(in.InputRequests))
	if in.RequestStateHash != "" {
		a.stateHash = strings.ToLower(in.RequestStateHash)
		if sum, err := hex.DecodeString(a.stateHash); err != nil || len(sum) != 32 {
			add("/request_state_hash", "must be the SHA-256 of the server's requestState, in 64 hex digits")
		}
	}
	if utf8.RuneCountInString(in.RunID) > maxTool {
		add("/run_id", "must have at most %d characters", maxTool)
	}
	if in.ExpiresIn != nil {
		most := int64(MaxExpiry / time.Second)
		if *in.ExpiresIn < 1 || *in.ExpiresIn > most {
			add("/expires_in", "must be 1 to %d seconds", most)
		} else {
			a.life = time.Duration(*in.ExpiresIn) * time.Second
		}
	}
	if in.Invoice != nil {
		if a.invoiceID = in.Invoice.ID; a.invoiceID == "" {
			add("/invoice/id", "is required")
		}
		if a.invoice = string(in.Invoice.Sent); a.invoice == "" {
			a.invoice = "{}"
		}
	}
	if len(issues) > 0 {
		return a, models.Invalid(issues...)
	}
	var err error
	if a.arguments, err = canonical(in.Arguments); err != nil {
		return a, err
	}
	a.digest, err = Digest(workspace, a.server, in.Tool, a.arguments)
	return a, err
}

func checkCall(tool string, arguments json.RawMessage) []models.Issue {
	var issues []models.Issue
	if n := utf8.RuneCountInString(tool); strings.TrimSpace(tool) == "" || n > maxTool {
		issues = append(issues, models.Issue{Path: "/tool", Message: fmt.Sprintf("is required: the tool's name, of at most %d characters", maxTool)})
	}
	if len(arguments) > maxArguments {
		return append(issues, models.Issue{Path: "/arguments", Message: fmt.Sprintf("must have at most %d bytes", maxArguments)})
	}
	return append(issues, approvals.CheckArguments(arguments, "/arguments")...)
}

// file writes a confirmation in the caller's transaction.
func file(tx *models.Tx, in RequestInput, a asked) (View, error) {
	c := models.Confirmation{
		ID: tx.NewID(models.PrefixConfirmation), WorkspaceID: tx.By.WorkspaceID, Status: models.ConfirmationPending, Version: 1, Mode: a.questions[0].Mode,
		ServerName: strings.TrimSpace(in.ServerName), ServerURL: a.server, Tool: in.Tool, Arguments: string(a.arguments), Digest: a.digest,
		InputRequests: a.requests, RequestStateHash: a.stateHash, RunID: in.RunID, InvoiceID: a.invoiceID, Invoice: a.invoice,
		AskerID: tx.By.UserID, AskerName: tx.By.UserName, TokenID: tx.By.TokenID, Channel: tx.By.Channel,
		ExpiresAt: tx.Now.Add(a.life), CreatedAt: tx.Now, UpdatedAt: tx.Now,
	}
	rules, err := rulesFor(tx, a.server, a.origin)
	if err != nil {
		return View{}, err
	}
	c.Registered = len(rules) > 0
	responsible, err := responsibleFor(tx)
	if err != nil {
		return View{}, err
	}
	if c.Mode == ModeURL {
		if responsible != "" {
			c.PersonID = &responsible
		}
	} else {
		c.Role = defaultRole
		if rule, ok := choose(rules, a.server, in.Tool); ok {
			c.Role, c.RuleID = rule.Role, rule.ID
		}
	}
	if c.Mode == ModeURL && responsible == "" {
		if err := cancelAtOnce(&c, a.questions, tx.Now); err != nil {
			return View{}, err
		}
	}
	if err := tx.DB.Create(&c).Error; err != nil {
		return View{}, fmt.Errorf("confirm: write confirmation: %w", err)
	}
	askers := askersOf(tx.By, c.ID)
	if err := tx.DB.Clauses(clause.OnConflict{DoNothing: true}).Create(&askers).Error; err != nil {
		return View{}, fmt.Errorf("confirm: write askers: %w", err)
	}
	if err := tx.IndexConfirmation(c.ID); err != nil {
		return View{}, err
	}
	if err := tx.Schedule(JobExpire, c.ID, c.ExpiresAt); err != nil {
		return View{}, fmt.Errorf("confirm: schedule expiry: %w", err)
	}
	err = tx.Audit("confirmation.requested", c.Ref(), map[string]any{"server": c.ServerURL, "server_name": c.ServerName, "registered": c.Registered, "tool": c.Tool,
		"digest": c.Digest, "mode": c.Mode, "role": c.Role, "rule": c.RuleID, "run_id": c.RunID, "expires_at": tx.Now.Add(a.life)})
	if err != nil {
		return View{}, err
	}
	if c.Status == models.ConfirmationAnswered {
		if err := tx.Audit("confirmation.answered", c.Ref(), map[string]any{"action": c.Action, "reason": c.Reason}); err != nil {
			return View{}, err
		}
	}
	tx.Notify(models.TopicConfirmation(c.ID), models.TopicConfirmations(c.WorkspaceID))
	return viewOf(c, tx.Now), nil
}

// cancelAtOnce answers a question that nobody may be asked.
func cancelAtOnce(c *models.Confirmation, questions []Question, now models.Time) error {
	answers, err := json.Marshal(sameForAll(questions, models.ElicitCancel))
	if err != nil {
		return fmt.Errorf("confirm: answers: %w", err)
	}
	c.Status, c.Action, c.Answers = models.ConfirmationAnswered, models.ElicitCancel, string(answers)
	c.AnsweredByName, c.AnsweredAt, c.ExpiresAt = "apdesk", now, now.Add(AnswerLife)
	c.Reason = "No active person is responsible for the account that asked, and nobody else may open the address."
	return nil
}

// responsibleFor is the active person of the workspace who answers for the asking account: a person
// for themself, a service account's responsible person for it. Empty when there is none.
func responsibleFor(tx *models.Tx) (string, error) {
	id := tx.By.OwnerID
	if tx.By.Kind == models.KindPerson {
		id = tx.By.UserID
	}
	if id == "" {
		return "", nil
	}
	members, err := tx.Members(id)
	if err != nil {
		return "", fmt.Errorf("confirm: read responsible person: %w", err)
	}
	if len(members) == 0 || members[0].User.Kind != models.KindPerson {
		return "", nil
	}
	return id, nil
}

func askersOf(by models.Principal, id string) []models.ConfirmationAsker {
	list := []models.ConfirmationAsker{{ConfirmationID: id, UserID: by.UserID, Relation: relationAsked}}
	if by.OwnerID != "" {
		list = append(list, models.ConfirmationAsker{ConfirmationID: id, UserID: by.OwnerID, Relation: relationResponsible})
	}
	if by.TokenBy != "" {
		list = append(list, models.ConfirmationAsker{ConfirmationID: id, UserID: by.TokenBy, Relation: relationTokenMaker})
	}
	return list
}
