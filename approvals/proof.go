package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
)

// ProofSchema names the form of a Proof. A form may gain fields; one that loses a field or changes what
// one means gets another number. docs/proof.md describes every field.
const ProofSchema = "apdesk.proof/1"

// Proof is the record of one approval request for an auditor: the exact call, who decided it with which
// authority, and what came of it, as it stood when each thing happened. No approval id stands in it but
// a masked one.
type Proof struct {
	Schema     string          `json:"schema"`
	MadeAt     ProofTime       `json:"made_at"` // when the record was drawn
	Workspace  ProofWorkspace  `json:"workspace"`
	Request    ProofRequest    `json:"request"`
	Call       ProofCall       `json:"call"`
	Digest     ProofDigest     `json:"digest"`
	Amount     string          `json:"amount"`
	Currency   string          `json:"currency"`
	Invoice    ProofInvoice    `json:"invoice"`
	Askers     []ProofAsker    `json:"askers"`
	Authority  *ProofAuthority `json:"authority"` // null: no rule covered the request
	Votes      []ProofVote     `json:"votes"`
	Approval   *ProofApproval  `json:"approval"` // null: never granted
	Refused    []ProofRefusal  `json:"refused_attempts"`
	Events     []ProofEvent    `json:"events"`
	MoreEvents bool            `json:"more_events"` // the trail holds more about the request than events lists
}

// ProofTime is one moment, in UTC and as clocks in the workspace showed it.
type ProofTime struct {
	UTC   models.Time `json:"utc"`
	Local string      `json:"local"` // RFC 3339 with the workspace's offset
}

// ProofWorkspace is the company code the request belongs to.
type ProofWorkspace struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	TimeZone string `json:"time_zone"`
}

// ProofRequest is the question that was asked.
type ProofRequest struct {
	ID           string               `json:"request_id"`
	Status       models.RequestStatus `json:"status"`
	AskedAt      ProofTime            `json:"asked_at"`
	ExpiresAt    ProofTime            `json:"expires_at"`
	DecidedAt    *ProofTime           `json:"decided_at"` // null: not decided by anybody
	Channel      models.Channel       `json:"channel"`
	RunID        string               `json:"run_id"`
	CaseID       string               `json:"case_id"`
	DocumentType string               `json:"document_type"`
	PostingDate  models.Date          `json:"posting_date"`
	CostCentre   string               `json:"cost_centre"`
	Summary      string               `json:"summary"`
	Reason       string               `json:"reason"`      // of a rejection, a withdrawal, or why nobody can decide
	Instruction  *models.Instruction  `json:"instruction"` // null unless it was sent back with a correction
}

// ProofCall is the one call the approval is good for.
type ProofCall struct {
	Tool string `json:"tool"`
	// Arguments are what the digest covers. Hidden says that tax or bank data in them is not for the
	// reader, so that the digest cannot be computed from this copy.
	Arguments json.RawMessage `json:"arguments"`
	Hidden    bool            `json:"arguments_hidden"`
}

// ProofDigest identifies the call, and says how to check that.
type ProofDigest struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"value"`
	How       string `json:"how"`
}

const howToDigest = "Build a JSON object with three members: workspace (the text workspace.id), tool (the text call.tool) and arguments (the object call.arguments, " +
	"without top-level members named approval_id or idempotency_key). Write it in the canonical form of RFC 8785 in UTF-8. The SHA-256 of these bytes, in lower-case hexadecimal, is value."

// ProofInvoice is the invoice the call is about, as it was named in the request.
type ProofInvoice struct {
	ID               string      `json:"id"`
	Number           string      `json:"number"`
	NumberNormalised string      `json:"number_normalised"`
	SupplierID       string      `json:"supplier_id"`
	SupplierName     string      `json:"supplier_name"`
	PoID             string      `json:"po_id"`
	Amount           string      `json:"amount"` // the invoice's total, which may differ from the write's
	Currency         string      `json:"currency"`
	InvoiceDate      models.Date `json:"invoice_date"`
}

// ProofPerson is somebody as the record names them.
type ProofPerson struct {
	UserID string `json:"user_id"`
	Name   string `json:"name"`
}

// ProofAsker is somebody who counts as having asked, and so could never vote.
type ProofAsker struct {
	ProofPerson
	Kind     models.UserKind `json:"kind"`
	Relation string          `json:"relation"` // asked, responsible, token_creator
}

// ProofAuthority is the routing of the request: the rule's copy as it was then.
type ProofAuthority struct {
	Text     string        `json:"text"`     // the rule in words
	Required int           `json:"required"` // different people who had to say yes
	Rule     *RuleCopy     `json:"rule"`     // null: only a named person decides
	Named    *RuleCopy     `json:"named"`    // the rule that gives a named person their limit
	Person   *ProofPerson  `json:"named_person"`
	NamedBy  *ProofPerson  `json:"named_by"`
	People   []ProofPerson `json:"people"` // names of the people the rules name by id
	// TakenOut are the people who could not decide because another rule would have without their edit.
	TakenOut []ProofTakenOut `json:"taken_out"`
}

// ProofTakenOut is somebody who took a rule out of the matrix, or changed it, before the request was filed.
type ProofTakenOut struct {
	ProofPerson
	What string    `json:"what"` // retired, changed
	At   ProofTime `json:"at"`
	Text string    `json:"text"` // the rule in words, as it was
	Rule *RuleCopy `json:"rule"`
}

// ProofVote is one person's answer with the authority it was given under.
type ProofVote struct {
	ID string `json:"vote_id"`
	ProofPerson
	Decision    models.VoteDecision `json:"decision"`
	Reason      string              `json:"reason"`
	Role        string              `json:"role"`
	Step        int                 `json:"step"`
	OnBehalfOf  *ProofPerson        `json:"on_behalf_of"` // null: the voter's own place
	Delegation  *ProofDelegation    `json:"delegation"`
	LimitAmount string              `json:"limit_amount"` // highest amount the voter could approve at that moment
	Currency    string              `json:"currency"`
	RuleID      string              `json:"rule_id"`
	RuleVersion int64               `json:"rule_version"`
	Channel     models.Channel      `json:"channel"`
	At          ProofTime           `json:"at"`
	// SecondStep says that the voter was told that the same call had been carried out before, and
	// confirmed it.
	SecondStep bool `json:"second_step"`
	// Confirmed is how and when the voter confirmed that it is them; null where the workspace did not ask.
	Confirmed *ProofConfirmed `json:"confirmed"`
}

// ProofConfirmed is by what somebody confirmed, shortly before they voted, that it is them.
type ProofConfirmed struct {
	How models.Factor `json:"how"` // passkey, password
	At  ProofTime     `json:"at"`
}

// ProofDelegation is under what somebody voted in another's place.
type ProofDelegation struct {
	ID           string      `json:"delegation_id"`
	FirstDay     models.Date `json:"first_day"`
	LastDay      models.Date `json:"last_day"`
	TimeZone     string      `json:"time_zone"`
	DocumentType string      `json:"document_type"` // empty: any
	SetBy        string      `json:"set_by"`
	SetAt        ProofTime   `json:"set_at"`
	EndedAt      *ProofTime  `json:"ended_at"` // null: not ended before its time
}

// ProofApproval is the grant and what became of it.
type ProofApproval struct {
	MaskedID     string                `json:"masked_id"`
	Status       models.ApprovalStatus `json:"status"`
	GrantedAt    ProofTime             `json:"granted_at"`
	ExpiresAt    ProofTime             `json:"expires_at"`
	RedeemedAt   *ProofTime            `json:"redeemed_at"`
	RedeemedBy   *ProofPerson          `json:"redeemed_by"`
	RevokedAt    *ProofTime            `json:"revoked_at"`
	RevokedBy    string                `json:"revoked_by"`
	RevokeReason string                `json:"revoke_reason"`
	Outcome      *ProofOutcome         `json:"outcome"` // null until it was redeemed
}

// ProofOutcome is what the system that wrote said afterwards.
type ProofOutcome struct {
	Status         string     `json:"status"` // awaited, posted, failed, overdue
	DocumentNumber string     `json:"document_number"`
	Message        string     `json:"message"`
	ReportedAt     *ProofTime `json:"reported_at"`
}

// OutcomeAwaited is the outcome of a write that is not reported yet.
const OutcomeAwaited = "awaited"

// ProofRefusal is an attempt to vote on, use or ask for the call that was refused.
type ProofRefusal struct {
	EventID string         `json:"event_id"`
	Action  string         `json:"action"` // vote.refused, redeem.refused
	At      ProofTime      `json:"at"`
	Actor   ProofPerson    `json:"actor"`
	Roles   []string       `json:"roles"`
	Channel models.Channel `json:"channel"`
	Code    string         `json:"code"`
	Why     string         `json:"why"`
}

// ProofEvent is one line of the trail about the request. Seq and the hashes are null until the event is
// linked into the workspace's chain, which happens shortly after it.
type ProofEvent struct {
	ID       string         `json:"event_id"`
	Action   string         `json:"action"`
	At       ProofTime      `json:"at"`
	Actor    ProofPerson    `json:"actor"`
	Channel  models.Channel `json:"channel"`
	Seq      *int64         `json:"seq"`
	PrevHash *string        `json:"prev_hash"`
	Hash     *string        `json:"hash"`
}

// maxProofEvents bounds the lines of the trail in one record, so that attempts without end cannot make
// it endless.
const maxProofEvents = 1000

// Proof draws the record of a request. People of the workspace may read every one, the account that
// asked its own. It changes nothing.
func (s *Service) Proof(ctx context.Context, by models.Principal, requestID string) (Proof, error) {
	if err := mayRead(by); err != nil {
		return Proof{}, err
	}
	var out Proof
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		r, err := findRequest(tx, requestID)
		if err != nil {
			return err
		}
		out, err = proofOf(tx, r)
		return err
	})
	return out, err
}

// proofClerk draws one record.
type proofClerk struct {
	tx     *models.Tx
	r      models.ApprovalRequest
	zone   *time.Location
	secret redaction
	second map[string]bool // votes whose caster confirmed that the call ran before
}

func proofOf(tx *models.Tx, r models.ApprovalRequest) (Proof, error) {
	ws, err := tx.Workspace()
	if err != nil {
		return Proof{}, fmt.Errorf("approvals: read workspace: %w", err)
	}
	c := &proofClerk{tx: tx, r: r, zone: ws.Zone(), second: map[string]bool{}}
	p := Proof{Schema: ProofSchema, MadeAt: c.at(tx.Now), Workspace: ProofWorkspace{ID: ws.ID, Name: ws.Name, TimeZone: ws.TimeZone},
		Digest: ProofDigest{Algorithm: "SHA-256", Value: r.Digest, How: howToDigest}, Amount: r.Amount, Currency: r.Currency,
		Askers: []ProofAsker{}, Votes: []ProofVote{}, Refused: []ProofRefusal{}, Events: []ProofEvent{}}
	var votes []models.Vote
	if err := tx.DB.Where("request_id = ? AND workspace_id = ?", r.ID, r.WorkspaceID).Order("at, id").Find(&votes).Error; err != nil {
		return p, fmt.Errorf("approvals: read votes: %w", err)
	}
	if c.secret, err = c.redaction(votes); err != nil {
		return p, err
	}
	for _, fill := range []func(*Proof) error{c.events, c.request, c.askers, c.authority, func(p *Proof) error { return c.votes(p, votes) }, c.approval} {
		if err := fill(&p); err != nil {
			return p, err
		}
	}
	return p, nil
}

func (c *proofClerk) at(t models.Time) ProofTime {
	return ProofTime{UTC: t, Local: t.In(c.zone).Format(time.RFC3339)}
}

// maybe is at for a moment that need not have come.
func (c *proofClerk) maybe(t models.Time) *ProofTime {
	if t.IsZero() {
		return nil
	}
	at := c.at(t)
	return &at
}

// text is what people and systems wrote, without what is not for the reader.
func (c *proofClerk) text(s string) string { return models.MaskIDs(c.secret.text(s)) }

func (c *proofClerk) request(p *Proof) error {
	r := c.r
	p.Request = ProofRequest{ID: r.ID, Status: statusAt(r, c.tx.Now), AskedAt: c.at(r.CreatedAt), ExpiresAt: c.at(r.ExpiresAt), DecidedAt: c.maybe(r.DecidedAt),
		Channel: r.Channel, RunID: r.RunID, DocumentType: r.DocumentType, PostingDate: r.PostingDate, CostCentre: r.CostCentre,
		Summary: c.text(r.Summary), Reason: c.text(r.Reason)}
	if r.CaseID != nil {
		p.Request.CaseID = *r.CaseID
	}
	if r.Instruction != nil {
		if err := json.Unmarshal([]byte(c.text(*r.Instruction)), &p.Request.Instruction); err != nil {
			return fmt.Errorf("approvals: instruction of %s: %w", r.ID, err)
		}
		for name, value := range p.Request.Instruction.Input {
			if c.secret.hides(name) {
				value = hiddenText
			} else {
				value, _ = c.secret.value(value)
			}
			p.Request.Instruction.Input[name] = value
		}
	}
	arguments, hidden := c.secret.json(json.RawMessage(r.Arguments))
	masked := models.MaskIDs(string(arguments)) // deeper down than the digest leaves them out
	p.Call = ProofCall{Tool: r.Tool, Arguments: json.RawMessage(masked), Hidden: hidden || masked != string(arguments)}
	inv := invoiceOf(r)
	p.Invoice = ProofInvoice{ID: r.InvoiceID, Number: inv.Number, NumberNormalised: models.NormaliseNumber(inv.Number), SupplierID: r.SupplierID,
		SupplierName: inv.SupplierName, PoID: inv.PoID, Amount: inv.Amount.Text(), Currency: inv.Amount.Currency(), InvoiceDate: inv.InvoiceDate}
	return nil
}

func (c *proofClerk) askers(p *Proof) error {
	err := c.tx.DB.Table("askers a").Select("a.user_id, u.name, u.kind, a.relation").Joins("JOIN users u ON u.id = a.user_id").
		Where("a.request_id = ?", c.r.ID).Order("CASE a.relation WHEN 'asked' THEN 0 ELSE 1 END, u.name, a.user_id, a.relation").Scan(&p.Askers).Error
	if err != nil {
		return fmt.Errorf("approvals: read askers: %w", err)
	}
	for i, a := range p.Askers {
		if a.UserID == c.r.AskerID && a.Relation == relationAsked { // who asked first stands first
			a.Name = c.r.AskerName // as it was when they asked
			p.Askers = slices.Insert(slices.Delete(p.Askers, i, i+1), 0, a)
			break
		}
	}
	return nil
}

func (c *proofClerk) authority(p *Proof) error {
	routing, err := routingOf(c.r)
	if err != nil {
		return err
	}
	rule := routing.Authority()
	if rule == nil {
		return nil
	}
	ids := routing.userIDs()
	for _, id := range []*string{c.r.NamedID, c.r.NamedByID} {
		if id != nil {
			ids = append(ids, *id)
		}
	}
	for _, t := range routing.TakenOut {
		ids = slices.Concat(ids, t.Rule.People, t.Rule.ThenPeople)
	}
	names, err := namesOf(c.tx, ids...)
	if err != nil {
		return err
	}
	a := &ProofAuthority{Text: rule.Text(names), Required: routing.Required(), Rule: routing.Rule, Named: routing.Named, People: []ProofPerson{}, TakenOut: []ProofTakenOut{}}
	for _, t := range routing.TakenOut {
		a.TakenOut = append(a.TakenOut, ProofTakenOut{ProofPerson: ProofPerson{UserID: t.UserID, Name: t.UserName}, What: t.What, At: c.at(t.At), Text: t.Rule.Text(names), Rule: t.Rule})
	}
	if routing.Rule == nil && c.r.NamedID != nil {
		by := ""
		if c.r.NamedByID != nil {
			by = " by " + names[*c.r.NamedByID]
		}
		a.Text = fmt.Sprintf("%s, named%s for this item; limit from %s version %d: %s", names[*c.r.NamedID], by, RuleName(rule.ID), rule.Version, rule.Text(names))
	}
	if c.r.NamedID != nil {
		a.Person = &ProofPerson{UserID: *c.r.NamedID, Name: names[*c.r.NamedID]}
	}
	if c.r.NamedByID != nil {
		a.NamedBy = &ProofPerson{UserID: *c.r.NamedByID, Name: names[*c.r.NamedByID]}
	}
	for _, id := range slices.Compact(slices.Sorted(slices.Values(routing.userIDs()))) {
		a.People = append(a.People, ProofPerson{UserID: id, Name: names[id]})
	}
	p.Authority = a
	return nil
}

func (c *proofClerk) votes(p *Proof, votes []models.Vote) error {
	for _, v := range votes {
		out := ProofVote{ID: v.ID, ProofPerson: ProofPerson{UserID: v.UserID, Name: v.UserName}, Decision: v.Decision, Reason: c.text(v.Reason), Role: v.Role, Step: max(v.Step, 1),
			LimitAmount: v.LimitAmount, Currency: c.r.Currency, RuleID: v.RuleID, RuleVersion: v.RuleVersion, Channel: v.Channel, At: c.at(v.At), SecondStep: c.second[v.ID]}
		if v.ConfirmedHow != "" {
			out.Confirmed = &ProofConfirmed{How: v.ConfirmedHow, At: c.at(v.ConfirmedAt)}
		}
		if v.OnBehalfOfID != nil {
			out.OnBehalfOf = &ProofPerson{UserID: *v.OnBehalfOfID, Name: v.OnBehalfOfName}
		}
		if v.DelegationID != "" {
			var d models.Delegation
			if err := c.tx.DB.Where("id = ? AND workspace_id = ?", v.DelegationID, c.r.WorkspaceID).Take(&d).Error; err != nil {
				return fmt.Errorf("approvals: read delegation %s: %w", v.DelegationID, err)
			}
			out.Delegation = &ProofDelegation{ID: d.ID, FirstDay: d.FirstDay, LastDay: d.LastDay, TimeZone: d.TimeZone, DocumentType: d.DocumentType,
				SetBy: d.CreatedByName, SetAt: c.at(d.CreatedAt), EndedAt: c.maybe(d.EndedAt)}
		}
		p.Votes = append(p.Votes, out)
	}
	return nil
}

func (c *proofClerk) approval(p *Proof) error {
	a, ok, err := approvalOf(c.tx, c.r.ID)
	if err != nil || !ok {
		return err
	}
	out := &ProofApproval{MaskedID: models.MaskID(a.ID), Status: approvalAt(a, c.tx.Now), GrantedAt: c.at(a.GrantedAt), ExpiresAt: c.at(a.ExpiresAt),
		RedeemedAt: c.maybe(a.RedeemedAt), RevokedAt: c.maybe(a.RevokedAt), RevokedBy: a.RevokedBy, RevokeReason: c.text(a.RevokeReason)}
	if a.RedeemedByID != nil {
		names, err := namesOf(c.tx, *a.RedeemedByID)
		if err != nil {
			return err
		}
		out.RedeemedBy = &ProofPerson{UserID: *a.RedeemedByID, Name: names[*a.RedeemedByID]}
		out.Outcome = &ProofOutcome{Status: a.ReportStatus, DocumentNumber: c.text(a.DocumentNumber), Message: c.text(a.ReportMessage), ReportedAt: c.maybe(a.ReportedAt)}
		if a.ReportStatus == "" {
			out.Outcome.Status = OutcomeAwaited
		}
	}
	p.Approval = out
	return nil
}

// events lists the trail of the request, and finds in it what no other table keeps.
func (c *proofClerk) events(p *Proof) error {
	var events []models.AuditEvent
	err := c.tx.DB.Where("workspace_id = ? AND approval_request_id = ? AND approval_request_id <> ''", c.r.WorkspaceID, c.r.ID).
		Order("at, id").Limit(maxProofEvents + 1).Find(&events).Error
	if err != nil {
		return fmt.Errorf("approvals: read trail: %w", err)
	}
	if len(events) > maxProofEvents {
		events, p.MoreEvents = events[:maxProofEvents], true
	}
	for _, e := range events {
		actor := ProofPerson{UserID: e.ActorID, Name: e.ActorName}
		p.Events = append(p.Events, ProofEvent{ID: e.ID, Action: e.Action, At: c.at(e.At), Actor: actor, Channel: e.Channel, Seq: e.Seq, PrevHash: e.PrevHash, Hash: e.Hash})
		var data struct {
			Vote       string `json:"vote"`
			SecondStep bool   `json:"second_step"`
			Code       string `json:"code"`
			Why        string `json:"why"`
		}
		if err := json.Unmarshal([]byte(e.Data), &data); err != nil {
			return fmt.Errorf("approvals: data of %s: %w", e.ID, err)
		}
		switch {
		case e.Action == "vote.cast":
			c.second[data.Vote] = data.SecondStep
		case strings.HasSuffix(e.Action, ".refused"):
			roles := []string{}
			if e.ActorRoles != "" {
				roles = strings.Split(e.ActorRoles, ",")
			}
			p.Refused = append(p.Refused, ProofRefusal{EventID: e.ID, Action: e.Action, At: c.at(e.At), Actor: actor, Roles: roles, Channel: e.Channel, Code: data.Code, Why: c.text(data.Why)})
		}
	}
	return nil
}

// hiddenText stands where tax or bank data is not for the reader.
const hiddenText = "(hidden)"

// redaction takes tax and bank data out of a record for readers it is not for: members that hold it by
// their name, and their values wherever else they are repeated.
type redaction struct {
	on     bool
	values []string
}

// redaction says what of the request this reader may not see. Such data is for master data, finance
// leads and auditors, for the account that sent it, and for who decided about it.
func (c *proofClerk) redaction(votes []models.Vote) (redaction, error) {
	by := c.tx.By
	if by.Channel == models.ChannelSystem || by.Has(models.RoleMasterData, models.RoleFinanceLead, models.RoleAuditor) ||
		slices.ContainsFunc(votes, func(v models.Vote) bool { return v.UserID == by.UserID }) {
		return redaction{}, nil
	}
	if by.Has(models.RoleAgent) && by.Channel != models.ChannelWeb {
		filed, err := filedBy(c.tx, c.r.ID, by.UserID)
		if err != nil || filed {
			return redaction{}, err
		}
	}
	r := redaction{on: true}
	for _, raw := range []string{c.r.Arguments, c.r.Invoice} {
		if v, err := decode(json.RawMessage(raw)); err == nil {
			r.learn(v, false)
		}
	}
	return r, nil
}

func decode(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

// minRepeated is the length from which a private value is looked for in other text; shorter ones would
// hide what has nothing to do with it.
const minRepeated = 6

func (r *redaction) learn(v any, private bool) {
	switch v := v.(type) {
	case string:
		if private && len(v) >= minRepeated {
			r.values = append(r.values, v)
		}
	case map[string]any:
		for name, member := range v {
			r.learn(member, private || models.IsPrivateName(name))
		}
	case []any:
		for _, item := range v {
			r.learn(item, private)
		}
	}
}

func (r redaction) hides(name string) bool { return r.on && models.IsPrivateName(name) }

func (r redaction) text(s string) string {
	for _, v := range r.values {
		s = strings.ReplaceAll(s, v, hiddenText)
	}
	return s
}

// json is an object without private data, and whether any was in it. What cannot be read is hidden whole.
func (r redaction) json(raw json.RawMessage) (out json.RawMessage, hidden bool) {
	if !r.on {
		return raw, false
	}
	v, err := decode(raw)
	if err == nil {
		v, hidden = r.value(v)
		if !hidden {
			return raw, false
		}
		if out, err = json.Marshal(v); err == nil {
			return out, true
		}
	}
	return json.RawMessage(`"` + hiddenText + `"`), true
}

func (r redaction) value(v any) (_ any, hidden bool) {
	switch v := v.(type) {
	case string:
		text := r.text(v)
		return text, text != v
	case map[string]any:
		for name, member := range v {
			if r.hides(name) && member != nil {
				v[name], hidden = hiddenText, true
				continue
			}
			clean, found := r.value(member)
			v[name], hidden = clean, hidden || found
		}
		return v, hidden
	case []any:
		for i, item := range v {
			clean, found := r.value(item)
			v[i], hidden = clean, hidden || found
		}
		return v, hidden
	}
	return v, false
}
