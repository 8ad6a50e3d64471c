package approvals

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/apdesk/apdesk/models"
)

// RequestPage is everything a person needs to judge one request. No approval id stands in it.
type RequestPage struct {
	Request   models.ApprovalRequest
	Status    models.RequestStatus // of now, where Request.Status may not yet say expired
	Amount    models.Money
	Invoice   json.RawMessage
	Arguments json.RawMessage // canonical: what the digest covers
	Evidence  []json.RawMessage
	Binding   []BoundValue // how the claims stand in the call
	IsBound   bool         // the workspace knows where the values stand in this tool's arguments
	// AmountSaid is set when the call itself does not carry the amount where the workspace looks for it: it
	// is then only what the asker says.
	AmountSaid bool

	Asked    []models.User // every account that asked, the first one first
	OnBehalf []models.User // who answers for them, or made their token

	Routing  Routing
	RuleText string // the rule in words, empty when none
	Named    string // name of a person named for this item only
	NamedBy  string
	Unrouted string  // why nobody can decide it
	Tried    []Tried // for an unrouted request, every rule and why it does not help

	Deciders []Decider
	Votes    []models.Vote
	// NotCounted says why a yes of an open request no longer counts, by the vote's id; empty words where
	// nothing more is to say.
	NotCounted map[string]string
	Tally      Tally
	NextStep   int    // step that is open now, 1 or 2; 0 when no vote is missing
	Needed     string // what is missing, such as "a yes of Finance lead, then one of AP lead"; empty when nothing is
	CanVote    bool
	WhyNot     string // why the reader cannot decide; empty when they can, or when it is decided
	MyLimit    string // highest amount the reader may approve here, alone or with others, in words; empty when they hold no limit
	MyAlone    string // what of it they may approve alone, in words; empty for nothing

	Questions []Question // what people asked the agent about it, oldest first
	CanAsk    bool       // the reader may ask the agent a question now

	StepUp      models.Money  // the amount above which the reader must confirm that it is them before a yes; zero when not
	Earlier     *EarlierRun   // the same call was carried out before: an approval needs a second step
	Correctable []Correctable // values a person may change when sending the call back
	Instruction *models.Instruction
	Grant       *Grant
	CanRevoke   bool
	Timeline    []models.AuditEvent
}

// Decider is one person whom the routing names.
type Decider struct {
	Name string
	Role models.Role
	May  bool
	Why  string // why not, in words
	You  bool
	Step int // 1, or 2 for those who come second of two one after the other
	// OnBehalfOf is the name of the person whose place it is, empty when it is the decider's own.
	OnBehalfOf string
	Limit      string      // highest amount they may approve here, in words; the lower of both on behalf of somebody
	Until      models.Time // when the delegation ends that OnBehalfOf or Why speaks of
}

// Question is what a person asked the agent about a request.
type Question struct {
	CaseID     string
	Text       string
	By         string
	At         models.Time
	Answer     string // empty while the agent has not answered
	AnsweredBy string
	AnsweredAt models.Time
}

// Grant is the approval that came of a request.
type Grant struct {
	MaskedID       string
	Status         models.ApprovalStatus
	GrantedAt      models.Time
	ExpiresAt      models.Time
	RedeemedAt     models.Time
	RedeemedBy     string
	RevokedAt      models.Time
	RevokedBy      string
	RevokeReason   string
	Report         ReportStatus // empty while nothing was reported
	DocumentNumber string
	Message        string
	ReportedAt     models.Time
}

// Page reads a request for the people of its workspace, with who may decide it and why the reader may
// not.
func (s *Service) Page(ctx context.Context, by models.Principal, requestID string) (RequestPage, error) {
	if err := mayRead(by); err != nil {
		return RequestPage{}, err
	}
	var page RequestPage
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		r, err := findRequest(tx, requestID)
		if err != nil {
			return err
		}
		page, err = pageOf(tx, r)
		return err
	})
	return page, err
}

func pageOf(tx *models.Tx, r models.ApprovalRequest) (RequestPage, error) {
	p := RequestPage{Request: r, Status: statusAt(r, tx.Now), Invoice: json.RawMessage(r.Invoice), Arguments: json.RawMessage(r.Arguments)}
	if err := json.Unmarshal([]byte(r.Evidence), &p.Evidence); err != nil {
		return p, fmt.Errorf("approvals: evidence of %s: %w", r.ID, err)
	}
	if r.Instruction != nil {
		if err := json.Unmarshal([]byte(*r.Instruction), &p.Instruction); err != nil {
			return p, fmt.Errorf("approvals: instruction of %s: %w", r.ID, err)
		}
	}
	facts, members, tally, err := count(tx, r)
	if err != nil {
		return p, err
	}
	p.Routing, p.Votes, p.Tally = facts.Routing, facts.Votes, tally
	for _, step := range []func(*models.Tx, *RequestPage, Facts, []models.Member) error{
		fillCall, fillPeople, fillRouting, fillDecision, fillQuestions, fillGrant, fillTimeline,
	} {
		if err := step(tx, &p, facts, members); err != nil {
			return p, err
		}
	}
	return p, nil
}

func fillCall(tx *models.Tx, p *RequestPage, _ Facts, _ []models.Member) error {
	bindings, err := tx.Bindings()
	if err != nil {
		return fmt.Errorf("approvals: read bindings: %w", err)
	}
	binding, isBound := bindings[p.Request.Tool]
	p.IsBound = isBound
	if p.Amount, err = models.ParseMoney(p.Request.Amount, p.Request.Currency); err != nil {
		return fmt.Errorf("approvals: amount of %s: %w", p.Request.ID, err)
	}
	values, _, err := bind(binding, p.Arguments, RequestInput{Invoice: models.Invoice{ID: p.Request.InvoiceID, SupplierID: p.Request.SupplierID},
		Amount: p.Amount, PostingDate: p.Request.PostingDate})
	if err != nil {
		return err
	}
	p.Binding = values.Values
	p.AmountSaid = binding.Amount != "" && !slices.ContainsFunc(values.Values, func(v BoundValue) bool { return v.Name == BoundAmount && v.Pointer != "" })
	if p.Correctable, err = correctables(p.Arguments, binding); err != nil {
		return err
	}
	p.Earlier, err = earlierRun(tx, p.Request)
	return err
}

func fillPeople(tx *models.Tx, p *RequestPage, facts Facts, _ []models.Member) error {
	ids := []string{p.Request.AskerID, facts.NamedID, facts.NamedByID}
	for id := range facts.Askers {
		ids = append(ids, id)
	}
	var users []models.User
	if err := tx.DB.Select("id", "kind", "email", "name", "active").Where("id IN ?", ids).Order("name, id").Find(&users).Error; err != nil {
		return fmt.Errorf("approvals: read people: %w", err)
	}
	for _, u := range users {
		switch facts.Askers[u.ID] {
		case BarAsker:
			if u.ID == p.Request.AskerID {
				p.Asked = slices.Insert(p.Asked, 0, u)
			} else {
				p.Asked = append(p.Asked, u)
			}
		case BarResponsible, BarTokenMaker:
			p.OnBehalf = append(p.OnBehalf, u)
		}
		if u.ID == facts.NamedID {
			p.Named = u.Name
		}
		if u.ID == facts.NamedByID {
			p.NamedBy = u.Name
		}
	}
	return nil
}

func fillRouting(tx *models.Tx, p *RequestPage, facts Facts, members []models.Member) error {
	names, err := namesOf(tx, facts.Routing.userIDs()...)
	if err != nil {
		return err
	}
	if c := facts.Routing.Authority(); c != nil {
		p.RuleText = c.Text(names)
	}
	if p.Status != models.RequestUnrouted {
		return nil
	}
	p.Unrouted = p.Request.Reason
	book, err := bookOf(tx)
	if err != nil {
		return err
	}
	wanted, err := wantedOf(tx, p.Request)
	if err != nil {
		return err
	}
	p.Tried, err = triedRules(tx, book, facts, wanted, members)
	return err
}

func fillDecision(tx *models.Tx, p *RequestPage, facts Facts, members []models.Member) error {
	rules, err := matrixOf(tx)
	if err != nil {
		return err
	}
	r := p.Request
	limitOf := func(userID string) string {
		i := slices.IndexFunc(members, func(m models.Member) bool { return m.User.ID == userID })
		if i < 0 {
			return ""
		}
		limit, _, ok := LimitOf(rules, members[i], r.Tool, r.DocumentType, r.Currency)
		if authority := facts.Routing.Authority(); facts.placed(members[i]) && (!ok || compareAmounts(authority.To, limit) > 0) {
			limit, ok = authority.To, true
		}
		if !ok {
			return ""
		}
		return formatAmount(limit, r.Currency)
	}
	for _, d := range facts.Deciders(members) {
		decider := Decider{Name: d.Name, Role: d.Role, May: d.May(), Why: d.Why(), You: d.UserID == tx.By.UserID, Step: d.Step, OnBehalfOf: d.OnBehalfOf, Until: d.Until}
		if d.OnBehalfOf != "" {
			decider.Limit = formatAmount(d.Limit, r.Currency)
		} else {
			decider.Limit = limitOf(d.UserID)
		}
		p.Deciders = append(p.Deciders, decider)
	}
	mine, err := tx.Members("", tx.By.UserID)
	if err != nil {
		return fmt.Errorf("approvals: read member: %w", err)
	}
	if p.MyLimit = limitOf(tx.By.UserID); p.MyLimit == "" {
		for _, m := range mine {
			if limit, _, ok := LimitOf(rules, m, r.Tool, r.DocumentType, r.Currency); ok {
				p.MyLimit = formatAmount(limit, r.Currency)
			}
		}
	}
	for _, m := range mine {
		alone := func(r models.Rule) bool { return r.Required == 1 }
		if limit, _, ok := limitAmong(rules, m, r.Tool, r.DocumentType, r.Currency, alone); ok {
			p.MyAlone = formatAmount(limit, r.Currency)
		}
	}
	if p.Status == models.RequestPending || p.Status == models.RequestUnrouted {
		p.NotCounted = facts.notCounted(p.Tally, members)
	}
	if p.Status != models.RequestPending {
		return nil
	}
	names, err := namesOf(tx, append(facts.Routing.userIDs(), facts.NamedID)...)
	if err != nil {
		return err
	}
	p.NextStep, p.Needed = p.Tally.Open, facts.needed(p.Tally, names)
	if err := tx.By.NeedPerson(); err != nil {
		p.WhyNot = "Only a person signed in to these pages can decide this."
		return nil
	}
	p.CanAsk = mayAsk(tx.By, facts, members)
	_, err = mayVote(tx.By, facts, members)
	if ne, refused := models.AsNamed(err); refused {
		p.WhyNot = ne.Message
		return nil
	}
	p.CanVote = err == nil
	if err == nil {
		p.StepUp, _, err = asksAgain(tx, r)
	}
	return err
}

func fillGrant(tx *models.Tx, p *RequestPage, _ Facts, _ []models.Member) error {
	a, ok, err := approvalOf(tx, p.Request.ID)
	if err != nil || !ok {
		return err
	}
	g := Grant{MaskedID: models.MaskID(a.ID), Status: approvalAt(a, tx.Now), GrantedAt: a.GrantedAt, ExpiresAt: a.ExpiresAt, RedeemedAt: a.RedeemedAt,
		RevokedAt: a.RevokedAt, RevokedBy: a.RevokedBy, RevokeReason: a.RevokeReason, Report: ReportStatus(a.ReportStatus),
		DocumentNumber: a.DocumentNumber, Message: a.ReportMessage, ReportedAt: a.ReportedAt}
	if a.RedeemedByID != nil {
		names, err := namesOf(tx, *a.RedeemedByID)
		if err != nil {
			return err
		}
		g.RedeemedBy = names[*a.RedeemedByID]
	}
	p.Grant = &g
	if g.Status == models.ApprovalGranted && tx.By.IsPerson() {
		p.CanRevoke = slices.ContainsFunc(p.Votes, func(v models.Vote) bool { return v.UserID == tx.By.UserID && v.Decision == models.VoteApprove })
	}
	return nil
}

// maxTimeline bounds what a page shows of a request's trail; the audit page has the rest.
const maxTimeline = 200

func fillTimeline(tx *models.Tx, p *RequestPage, _ Facts, _ []models.Member) error {
	err := tx.DB.Where("approval_request_id = ? AND approval_request_id <> '' AND workspace_id = ?", p.Request.ID, p.Request.WorkspaceID).Order("at DESC, id DESC").Limit(maxTimeline).Find(&p.Timeline).Error
	if err != nil {
		return fmt.Errorf("approvals: read trail: %w", err)
	}
	slices.Reverse(p.Timeline)
	return nil
}
