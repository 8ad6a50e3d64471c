package confirm

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"

	"github.com/apdesk/apdesk/models"
)

// Get is the state of a confirmation. It never shows the answer. People of the workspace may read every
// confirmation, an agent what it asked.
func (s *Service) Get(ctx context.Context, by models.Principal, id string) (View, error) {
	if err := mayRead(by); err != nil {
		return View{}, err
	}
	var view View
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		if err := tx.CheckBlocked(ActionGet); err != nil {
			return err
		}
		c, err := find(tx, id)
		view = viewOf(c, tx.Now)
		return err
	})
	if err != nil {
		return View{}, err
	}
	return view, nil
}

// Await is Get once the confirmation is no longer pending, or when the time is up.
func (s *Service) Await(ctx context.Context, by models.Principal, id string, wait time.Duration) (View, error) {
	var view View
	err := s.store.Await(ctx, by, wait, models.TopicConfirmation(id), func(by models.Principal) (bool, error) {
		var err error
		view, err = s.Get(ctx, by, id)
		return view.Status != models.ConfirmationPending, err
	})
	return view, err
}

// Page is everything a person needs to answer one confirmation. Server's reported name, Questions and
// Arguments are foreign.
type Page struct {
	Confirmation models.Confirmation
	Status       models.ConfirmationStatus // of now, where Confirmation.Status may not yet say expired
	Server       Server
	Arguments    json.RawMessage // exact and in canonical form, but that approval ids are masked
	Invoice      json.RawMessage // as sent; nil when none was named
	Questions    []Question

	Agent    string   // name of the account that asked
	OnBehalf []string // who answers for it, or made its token

	Role       models.Role // that answers; empty in url mode
	Person     string      // in url mode, who alone answers; empty when there is nobody
	Deciders   []Decider   // people of the role, or the one person
	CanAnswer  bool
	WhyNot     string        // why the reader cannot answer; empty when they can, or when it is over
	TimeLeft   time.Duration // to answer, or to take the answer; 0 once it is over
	Answer     []AnswerValue // what was answered, for a form that was accepted
	TakenBy    string
	CancelOnly bool // whatever was answered, only cancel is handed out any more
	Timeline   []models.AuditEvent
}

// Server is the foreign server as the desk knows it.
type Server struct {
	Name       string // as the workspace calls it when Registered, else as reported
	Reported   string // as the asking agent called it
	URL        string
	Host       string
	Registered bool
	ReportedBy string // the agent whose word it is, when not Registered
}

// Decider is one person who might answer.
type Decider struct {
	Name string
	Role string
	May  bool
	Why  string // why not, in words
	You  bool
}

// AnswerValue is one field of an accepted form and what was answered, in words.
type AnswerValue struct {
	Field Field
	Value string
	Given bool // false: left out
}

// Page reads a confirmation for the people of its workspace, with who may answer and why the reader may
// not.
func (s *Service) Page(ctx context.Context, by models.Principal, id string) (Page, error) {
	if err := mayRead(by); err != nil {
		return Page{}, err
	}
	var page Page
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		c, err := find(tx, id)
		if err != nil {
			return err
		}
		page, err = pageOf(tx, c)
		return err
	})
	return page, err
}

func pageOf(tx *models.Tx, c models.Confirmation) (Page, error) {
	p := Page{Confirmation: c, Status: statusAt(c, tx.Now), Agent: c.AskerName, Role: c.Role}
	if c.Invoice != "" {
		p.Invoice = json.RawMessage(c.Invoice)
	}
	if p.Status == models.ConfirmationPending || p.Status == models.ConfirmationAnswered {
		p.TimeLeft = c.ExpiresAt.Sub(tx.Now.Time)
	}
	p.CancelOnly = p.Status == models.ConfirmationExpired || p.Status == models.ConfirmationWithdrawn
	var err error
	if p.Questions, err = questionsOf(c); err != nil {
		return p, err
	}
	if err := fillArguments(&p); err != nil {
		return p, err
	}
	if p.Server, err = serverOf(tx, c); err != nil {
		return p, err
	}
	if err := fillPeople(tx, &p); err != nil {
		return p, err
	}
	if err := fillAnswer(&p); err != nil {
		return p, err
	}
	return p, fillTimeline(tx, &p)
}

// fillArguments gives the exact arguments, with approval ids masked.
func fillArguments(p *Page) error {
	dec := json.NewDecoder(bytes.NewReader([]byte(p.Confirmation.Arguments)))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return fmt.Errorf("confirm: arguments of %s: %w", p.Confirmation.ID, err)
	}
	p.Arguments = json.RawMessage(p.Confirmation.Arguments)
	if maskApprovals(v) {
		text, err := json.Marshal(v)
		if err != nil {
			return fmt.Errorf("confirm: arguments of %s: %w", p.Confirmation.ID, err)
		}
		if p.Arguments, err = canonical(text); err != nil {
			return err
		}
		p.Confirmation.Arguments = string(p.Arguments)
	}
	for i := range p.Questions {
		p.Questions[i].Message = models.MaskIDs(p.Questions[i].Message)
	}
	p.Confirmation.InputRequests = models.MaskIDs(p.Confirmation.InputRequests)
	return nil
}

// maskApprovals masks approval ids inside v, and whatever is called approval_id. It answers whether
// there were any.
func maskApprovals(v any) (masked bool) {
	mask := func(name string, value any) (any, bool) {
		text, ok := value.(string)
		if !ok {
			return value, maskApprovals(value)
		}
		changed := models.MaskIDs(text)
		if name == "approval_id" {
			changed = models.MaskID(text)
		}
		return changed, changed != text
	}
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			var here bool
			v[name], here = mask(name, value)
			masked = masked || here
		}
	case []any:
		for i, value := range v {
			var here bool
			v[i], here = mask("", value)
			masked = masked || here
		}
	}
	return masked
}

func serverOf(tx *models.Tx, c models.Confirmation) (Server, error) {
	s := Server{Name: c.ServerName, Reported: c.ServerName, URL: c.ServerURL, Registered: c.Registered}
	address, origin, problem := serverAddress(c.ServerURL)
	if problem != "" {
		return s, fmt.Errorf("confirm: server of %s: %s", c.ID, problem)
	}
	if u, err := url.Parse(address); err == nil {
		s.Host = u.Host
	}
	if !c.Registered {
		s.ReportedBy = c.AskerName
		return s, nil
	}
	// The rule that was in force when it was asked, also if it was retired since.
	var rules []models.ServerRule
	err := tx.DB.Where("workspace_id = ? AND server_url IN ? AND created_at <= ? AND (retired_at IS NULL OR retired_at > ?)", c.WorkspaceID,
		[]string{address, origin}, c.CreatedAt, c.CreatedAt).Order("id").Find(&rules).Error
	if err != nil {
		return s, fmt.Errorf("confirm: read server rules: %w", err)
	}
	if rule, ok := choose(rules, address, c.Tool); ok {
		s.Name = rule.ServerName
	} else if len(rules) > 0 {
		s.Name = rules[0].ServerName
	}
	return s, nil
}

func fillPeople(tx *models.Tx, p *Page) error {
	c := p.Confirmation
	members, err := tx.Members()
	if err != nil {
		return fmt.Errorf("confirm: read members: %w", err)
	}
	all, err := barsOf(tx, c)
	if err != nil {
		return err
	}
	bars := all[c.ID]
	ids := []string{}
	for id, relation := range bars {
		if relation != relationAsked {
			ids = append(ids, id)
		}
	}
	if c.PersonID != nil {
		ids = append(ids, *c.PersonID)
	}
	if c.TakenByID != nil {
		ids = append(ids, *c.TakenByID)
	}
	users, err := usersOf(tx, ids...)
	if err != nil {
		return err
	}
	for id, relation := range bars {
		if relation != relationAsked {
			p.OnBehalf = append(p.OnBehalf, users[id].Name)
		}
	}
	slices.Sort(p.OnBehalf)
	if c.PersonID != nil {
		p.Person = users[*c.PersonID].Name
	}
	if c.TakenByID != nil {
		p.TakenBy = users[*c.TakenByID].Name
	}
	for _, m := range members {
		if m.User.Kind != models.KindPerson {
			continue
		}
		d := Decider{Name: m.User.Name, You: m.User.ID == tx.By.UserID}
		switch {
		case c.Mode == ModeURL:
			if c.PersonID == nil || *c.PersonID != m.User.ID {
				continue
			}
			d.Role, d.May = roleResponsible, true
		case !m.Has(c.Role):
			continue
		default:
			relation, barred := bars[m.User.ID]
			d.Role, d.May, d.Why = string(c.Role), !barred, whyNot[relation]
		}
		p.Deciders = append(p.Deciders, d)
	}
	if p.Status != models.ConfirmationPending {
		return nil
	}
	if !tx.By.IsPerson() {
		p.WhyNot = "Only a person signed in to these pages can answer this."
		return nil
	}
	_, err = authority(tx.By, c, members, bars)
	if ne, refused := models.AsNamed(err); refused {
		p.WhyNot = ne.Message
		return nil
	}
	p.CanAnswer = err == nil
	return err
}

// whyNot finishes a sentence that begins with a person's name.
var whyNot = map[string]string{
	relationAsked:       "asked for this",
	relationResponsible: "answers for the account that asked for this",
	relationTokenMaker:  "made the token that asked for this",
}

// fillAnswer puts the accepted form's values into words.
func fillAnswer(p *Page) error {
	if p.Confirmation.Action != models.ElicitAccept {
		return nil
	}
	var answers map[string]struct{ Content map[string]json.RawMessage }
	if err := json.Unmarshal([]byte(p.Confirmation.Answers), &answers); err != nil {
		return fmt.Errorf("confirm: answers of %s: %w", p.Confirmation.ID, err)
	}
	for _, q := range p.Questions {
		if q.Form == nil {
			continue
		}
		for _, f := range q.Form.Fields {
			raw, given := answers[q.Key].Content[f.Name]
			p.Answer = append(p.Answer, AnswerValue{Field: f, Value: f.inWords(raw), Given: given})
		}
	}
	return nil
}

func (f Field) inWords(raw json.RawMessage) string {
	title := func(value string) string {
		for _, o := range f.Options {
			if o.Value == value {
				return o.Title
			}
		}
		return value
	}
	switch f.Kind {
	case KindBoolean:
		return map[string]string{"true": "Yes", "false": "No"}[string(raw)]
	case KindNumber, KindInteger:
		return string(raw)
	case KindChoices:
		var chosen []string
		if err := json.Unmarshal(raw, &chosen); err != nil {
			return ""
		}
		for i := range chosen {
			chosen[i] = title(chosen[i])
		}
		return strings.Join(chosen, ", ")
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return ""
	}
	return title(text)
}

// maxTimeline bounds what a page shows of a confirmation's trail; the audit page has the rest.
const maxTimeline = 200

func fillTimeline(tx *models.Tx, p *Page) error {
	err := tx.DB.Where("subject = ? AND subject <> '' AND workspace_id = ?", p.Confirmation.ID, p.Confirmation.WorkspaceID).Order("at DESC, id DESC").Limit(maxTimeline).Find(&p.Timeline).Error
	if err != nil {
		return fmt.Errorf("confirm: read trail: %w", err)
	}
	slices.Reverse(p.Timeline)
	return nil
}

// Sizes of a page of a list.
const (
	DefaultLimit = 50
	MaxLimit     = 200
)

// Filter narrows a list of confirmations. Empty fields do not narrow.
type Filter struct {
	Status    []models.ConfirmationStatus
	InvoiceID string
	RunID     string
	Tool      string
	ServerURL string
	Asker     string // user id
	Sort      string // created_at, or -created_at (newest first, the default)
	Cursor    string // of the page before
	Limit     int    // 0 means DefaultLimit
}

// List is one page of confirmations.
type List struct {
	Items      []ListItem
	NextCursor string // empty on the last page
}

// ListItem is one confirmation in a list.
type ListItem struct {
	ConfirmationID string
	Status         models.ConfirmationStatus
	Mode           string
	ServerName     string
	ServerURL      string
	Registered     bool
	Tool           string
	Message        string // of the first question, foreign
	InvoiceID      string
	RunID          string
	Agent          string
	Role           models.Role // that answers; empty in url mode
	Action         models.ElicitAction
	AnsweredBy     string
	AnsweredAt     models.Time
	CreatedAt      models.Time
	ExpiresAt      models.Time
}

// List reads confirmations, by keyset. People of the workspace see every one, an agent what it asked.
// BAD_REQUEST for an unknown status, sort field or cursor.
func (s *Service) List(ctx context.Context, by models.Principal, f Filter) (List, error) {
	if err := mayRead(by); err != nil {
		return List{}, err
	}
	order, err := f.check()
	if err != nil {
		return List{}, err
	}
	var list List
	err = s.store.View(ctx, by, func(tx *models.Tx) error {
		q, err := f.query(tx, order)
		if err != nil {
			return err
		}
		var rows []models.Confirmation
		if err := q.Limit(f.Limit + 1).Find(&rows).Error; err != nil {
			return fmt.Errorf("confirm: list: %w", err)
		}
		list = List{}
		if len(rows) > f.Limit {
			rows = rows[:f.Limit]
			last := rows[len(rows)-1]
			list.NextCursor = models.KeyCursor(last.CreatedAt, last.ID)
		}
		list.Items = itemsOf(rows, tx.Now)
		return nil
	})
	return list, err
}

func (f *Filter) check() (order string, err error) {
	if f.Limit == 0 {
		f.Limit = DefaultLimit
	}
	if f.Limit < 1 || f.Limit > MaxLimit {
		return "", models.Invalid(models.Issue{Path: "/limit", Message: fmt.Sprintf("must be 1 to %d", MaxLimit)})
	}
	for _, st := range f.Status {
		if !st.Valid() {
			return "", models.E(models.BadRequest, fmt.Sprintf("%q is no status of a confirmation.", clip(string(st), 40)), map[string]any{"field": "status"})
		}
	}
	switch f.Sort {
	case "", "-created_at":
		return "DESC", nil
	case "created_at":
		return "ASC", nil
	}
	return "", models.E(models.BadRequest, "Confirmations can be sorted by created_at or -created_at.", map[string]any{"field": "sort"})
}

// seen narrows a read to what the caller may see.
func seen(q *gorm.DB, by models.Principal) *gorm.DB {
	switch {
	case readsAll(by):
		return q
	case by.IsPerson():
		return q.Where("(asker_id = ? OR person_id = ?)", by.UserID, by.UserID)
	}
	return q.Where("asker_id = ?", by.UserID)
}

func (f *Filter) query(tx *models.Tx, order string) (*gorm.DB, error) {
	q := seen(tx.DB.Where("workspace_id = ?", tx.By.WorkspaceID), tx.By).Order("created_at " + order + ", id " + order)
	address := f.ServerURL
	if normal, _, problem := serverAddress(address); problem == "" {
		address = normal
	}
	for column, value := range map[string]string{"invoice_id": f.InvoiceID, "run_id": f.RunID, "tool": f.Tool, "server_url": address, "asker_id": f.Asker} {
		if value != "" {
			q = q.Where(column+" = ?", value)
		}
	}
	if len(f.Status) > 0 {
		either := tx.DB.Session(&gorm.Session{NewDB: true})
		live := []models.ConfirmationStatus{models.ConfirmationPending, models.ConfirmationAnswered}
		for _, st := range f.Status {
			// What is past its time is expired, whether or not the job has written it down.
			switch st {
			case models.ConfirmationPending, models.ConfirmationAnswered:
				either = either.Or("(status = ? AND expires_at > ?)", st, tx.Now)
			case models.ConfirmationExpired:
				either = either.Or("(status = ? OR (status IN ? AND expires_at <= ?))", st, live, tx.Now)
			default:
				either = either.Or("status = ?", st)
			}
		}
		q = q.Where(either)
	}
	if f.Cursor != "" {
		when, id, err := models.ReadKeyCursor(f.Cursor)
		if err != nil {
			return nil, err
		}
		compare := map[string]string{"DESC": "<", "ASC": ">"}[order]
		q = q.Where("(created_at "+compare+" ? OR (created_at = ? AND id "+compare+" ?))", when, when, id)
	}
	return q, nil
}

func itemsOf(rows []models.Confirmation, now models.Time) []ListItem {
	items := make([]ListItem, len(rows))
	for i, c := range rows {
		items[i] = ListItem{ConfirmationID: c.ID, Status: statusAt(c, now), Mode: c.Mode, ServerName: c.ServerName, ServerURL: c.ServerURL, Registered: c.Registered,
			Tool: c.Tool, Message: models.MaskIDs(firstMessage(c)), InvoiceID: c.InvoiceID, RunID: c.RunID, Agent: c.AskerName, Role: c.Role, Action: c.Action,
			AnsweredBy: c.AnsweredByName, AnsweredAt: c.AnsweredAt, CreatedAt: c.CreatedAt, ExpiresAt: c.ExpiresAt}
	}
	return items
}

// firstMessage is the first question's message, without reading all the forms.
func firstMessage(c models.Confirmation) string {
	requests, ok := members(json.RawMessage(c.InputRequests))
	if !ok || len(requests) == 0 {
		return ""
	}
	var first struct {
		Params struct {
			Message string `json:"message"`
		} `json:"params"`
	}
	if err := json.Unmarshal(requests[0].value, &first); err != nil {
		return ""
	}
	return first.Params.Message
}

// maxWaiting bounds what WaitingFor looks through; what lapses first comes first.
const maxWaiting = 1000

// WaitingFor lists the confirmations by may answer now, those that lapse first on top.
func (s *Service) WaitingFor(ctx context.Context, by models.Principal) ([]ListItem, error) {
	if err := mayRead(by); err != nil {
		return nil, err
	}
	if !by.IsPerson() {
		return nil, nil
	}
	var items []ListItem
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		members, err := tx.Members(by.UserID)
		if err != nil || len(members) == 0 {
			return err
		}
		var rows []models.Confirmation
		err = seen(tx.DB.Where("workspace_id = ? AND status = ? AND expires_at > ?", by.WorkspaceID, models.ConfirmationPending, tx.Now), by).
			Order("expires_at, id").Limit(maxWaiting).Find(&rows).Error
		if err != nil {
			return fmt.Errorf("confirm: list pending: %w", err)
		}
		bars, err := barsOf(tx, rows...)
		if err != nil {
			return err
		}
		var mine []models.Confirmation
		for _, c := range rows {
			if _, err := authority(by, c, members, bars[c.ID]); err == nil {
				mine = append(mine, c)
			}
		}
		items = itemsOf(mine, tx.Now)
		return nil
	})
	return items, err
}
