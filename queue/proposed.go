package queue

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/models"
)

// ProposedInput completes one call that the agent proposed, as typed by the person who asks for its
// approval.
type ProposedInput struct {
	Index        int // among the calls of the last handover
	Amount       string
	Currency     string
	PostingDate  string // may be empty
	DocumentType string
	CostCentre   string // may be empty
	Summary      string
}

// ProposedCall is a call an agent proposed on a case, with what the desk can tell of it for a request.
type ProposedCall struct {
	Index       int
	Tool        string
	Bound       bool // the workspace states where the values stand in this tool's arguments
	Amount      string
	Currency    string
	PostingDate string
}

// proposal is a call to ask for, checked.
type proposal struct {
	index   int
	request models.ProposedRequest
}

// goesOn says whether an exit lets calls of the agent be asked for: one by which it goes on.
func (e Exit) goesOn() bool {
	return e.effect != effectAsk && (e.Instruction == models.InstructResume || e.Instruction == models.InstructRetryWith)
}

// AllowsProposed says whether proposed calls may be asked for together with this exit.
func (e Exit) AllowsProposed() bool { return e.goesOn() }

// proposing is the newest handover of a case and the calls it proposes.
func proposing(tx *models.Tx, c models.Case) (models.Handover, []models.Call, error) {
	var rows []models.Handover
	err := tx.DB.Where("case_id = ? AND kind = ?", c.ID, kindHandover).Order("at DESC, id DESC").Limit(1).Find(&rows).Error
	if err != nil || len(rows) == 0 {
		return models.Handover{}, nil, err
	}
	h, err := handoverOf(rows[0])
	return rows[0], h.ProposedCalls, err
}

// proposedCalls are the calls of the last handover, prefilled from where the workspace says the values
// stand in them.
func proposedCalls(tx *models.Tx, c models.Case) ([]ProposedCall, error) {
	_, calls, err := proposing(tx, c)
	if err != nil || len(calls) == 0 {
		return nil, err
	}
	bindings, err := tx.Bindings()
	if err != nil {
		return nil, err
	}
	out := make([]ProposedCall, len(calls))
	for i, call := range calls {
		b, bound := bindings[call.Tool]
		at := func(pointer string) string { return pointed(call.Arguments, pointer) }
		out[i] = ProposedCall{Index: i, Tool: call.Tool, Bound: bound, Amount: at(b.Amount), Currency: at(b.Currency), PostingDate: at(b.PostingDate)}
	}
	return out, nil
}

// pointed is the text or number at a JSON Pointer, "" when there is none.
func pointed(raw json.RawMessage, pointer string) string {
	value, ok := decodeAny(raw)
	if !ok || pointer == "" {
		return ""
	}
	for name := range jsontext.Pointer(pointer).Tokens() {
		switch v := value.(type) {
		case object:
			value = v.get(name)
		case []any:
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(v) {
				return ""
			}
			value = v[i]
		default:
			return ""
		}
	}
	switch v := value.(type) {
	case string:
		return v
	case json.Number:
		return v.String()
	}
	return ""
}

// Longest texts of a request that a person completes, in characters.
const (
	maxSummary  = 300
	maxTypeText = 64
)

// readProposed checks what a person entered for the calls they ask for together with an exit and its
// values. What cannot be asked for at all is an issue too.
func readProposed(tx *models.Tx, c models.Case, exit Exit, values map[string]string, inputs []ProposedInput) ([]proposal, []models.Issue, error) {
	if len(inputs) == 0 {
		return nil, nil, nil
	}
	if !exit.goesOn() {
		return nil, []models.Issue{{Path: "/proposed", Message: "can only be asked for with an exit by which the agent goes on"}}, nil
	}
	last, calls, err := proposing(tx, c)
	if err != nil {
		return nil, nil, err
	}
	agent, err := agentOf(tx, last)
	if err != nil {
		return nil, nil, err
	}
	fix := correction{}
	if exit.Instruction == models.InstructRetryWith {
		if fix, err = correctionBy(tx, c, values); err != nil {
			return nil, nil, err
		}
	}
	inv := fix.invoice(invoiceOfCase(c))
	var out []proposal
	var issues []models.Issue
	for i, in := range inputs {
		if in.Index < 0 || in.Index >= len(calls) || slices.ContainsFunc(inputs[:i], func(p ProposedInput) bool { return p.Index == in.Index }) {
			issues = append(issues, models.Issue{Path: "/proposed", Message: "must name calls of the last handover, each once"})
			continue
		}
		request, wrong := completed(in)
		issues = append(append(issues, wrong...), fix.refuse(in.Index, calls[in.Index], &request)...)
		request.Call, request.Invoice, request.Agent = calls[in.Index], inv, agent
		out = append(out, proposal{index: in.Index, request: request})
	}
	return out, issues, nil
}

// completed reads the fields a person filled in for one call.
func completed(in ProposedInput) (models.ProposedRequest, []models.Issue) {
	var out models.ProposedRequest
	var issues []models.Issue
	wrong := func(field, message string) {
		issues = append(issues, models.Issue{Path: proposedPath(in.Index, field), Message: message})
	}
	text := func(field, value string, most int, required bool) string {
		value = strings.TrimSpace(value)
		switch n := len([]rune(value)); {
		case n == 0 && required:
			wrong(field, "must be filled in")
		case n > most:
			wrong(field, fmt.Sprintf("must have at most %d characters", most))
		default:
			if problem := models.CheckLine(value); problem != "" {
				wrong(field, problem)
			}
		}
		return value
	}
	amount, currency := strings.TrimSpace(in.Amount), strings.ToUpper(strings.TrimSpace(in.Currency))
	switch m, err := models.ParseMoney(amount, currency); {
	case amount == "":
		wrong("amount", "must be filled in")
	case errors.Is(err, models.ErrCurrencyUnknown):
		wrong("currency", err.Error())
	case err != nil:
		wrong("amount", err.Error())
	default:
		out.Amount = m
	}
	if day := strings.TrimSpace(in.PostingDate); day != "" {
		d, err := models.ParseDate(day)
		if err != nil {
			wrong("posting_date", err.Error())
		}
		out.PostingDate = d
	}
	out.DocumentType = text("document_type", in.DocumentType, maxTypeText, false)
	out.CostCentre = text("cost_centre", in.CostCentre, maxTypeText, false)
	out.Summary = text("summary", in.Summary, maxSummary, true)
	return out, issues
}

// correction is what a decision replaces, by the names of its fields. The calls an agent proposed are older
// than it: whoever approved one that holds a replaced value would approve what the decision refuses.
type correction struct {
	was, is  map[string]string
	bindings map[string]models.Binding
}

func correctionBy(tx *models.Tx, c models.Case, values map[string]string) (correction, error) {
	date, err := postingDate(tx, c)
	if err != nil {
		return correction{}, err
	}
	bindings, err := tx.Bindings()
	return correction{is: values, bindings: bindings,
		was: map[string]string{"invoice_id": c.InvoiceID, "supplier_id": c.SupplierID, "po_id": c.PoID, "amount": c.Amount, "posting_date": date.String()}}, err
}

// invoice is the invoice as corrected. Its amount stays what the supplier asks for.
func (fix correction) invoice(inv models.Invoice) models.Invoice {
	for name, field := range map[string]*string{"invoice_id": &inv.ID, "supplier_id": &inv.SupplierID, "po_id": &inv.PoID} {
		if is, ok := fix.is[name]; ok {
			*field = is
		}
	}
	return inv
}

// same says whether two values of a field are one; amounts are, however many zeros they are written with.
func (fix correction) same(name, a, b string) bool {
	if name != "amount" {
		return a == b
	}
	left, _, err := apd.NewFromString(a)
	if err != nil {
		return false
	}
	right, _, err := apd.NewFromString(b)
	return err == nil && left.Cmp(right) == 0
}

// refuse says where a call, or what a person completed it with, still holds what the decision replaces. A
// posting date nobody gave is the corrected one.
func (fix correction) refuse(index int, call models.Call, request *models.ProposedRequest) []models.Issue {
	var issues []models.Issue
	for _, name := range slices.Sorted(maps.Keys(fix.is)) {
		is := fix.is[name]
		if old := fix.stale(name, call); old != "" {
			issues = append(issues, models.Issue{Path: proposedPath(index, "summary"),
				Message: fmt.Sprintf("cannot be asked for: the call holds %s, which this decision replaces by %s. The agent calls again with the new value and asks by itself", old, is)})
		}
		switch {
		case name == "amount" && fix.same(name, request.Amount.Text(), fix.was[name]):
			issues = append(issues, models.Issue{Path: proposedPath(index, name), Message: fmt.Sprintf("is replaced by %s in this decision", is)})
		case name == "posting_date" && request.PostingDate.IsZero():
			day, err := models.ParseDate(is)
			if err != nil {
				issues = append(issues, models.Issue{Path: proposedPath(index, name), Message: err.Error()})
			}
			request.PostingDate = day
		case name == "posting_date" && request.PostingDate.String() != is:
			issues = append(issues, models.Issue{Path: proposedPath(index, name), Message: fmt.Sprintf("is replaced by %s in this decision", is)})
		}
	}
	return issues
}

// stale is a value in a call's arguments in the place of the one replaced: under its name, where the
// workspace says it stands, or the old value itself anywhere.
func (fix correction) stale(name string, call models.Call) string {
	is := fix.is[name]
	for _, at := range []string{"/" + name, fix.bound(call.Tool, name)} {
		if value := pointed(call.Arguments, at); value != "" && !fix.same(name, value, is) {
			return value
		}
	}
	was := fix.was[name]
	if was == "" || fix.same(name, was, is) {
		return ""
	}
	arguments, ok := decodeAny(call.Arguments)
	if ok && holds(arguments, func(value string) bool { return fix.same(name, value, was) }) {
		return was
	}
	return ""
}

func (fix correction) bound(tool, name string) string {
	b := fix.bindings[tool]
	switch name {
	case "invoice_id":
		return b.InvoiceID
	case "supplier_id":
		return b.SupplierID
	case "amount":
		return b.Amount
	case "posting_date":
		return b.PostingDate
	}
	return ""
}

// holds says whether a text or number anywhere in a value is one that is looked for.
func holds(value any, is func(string) bool) bool {
	switch v := value.(type) {
	case object:
		return slices.ContainsFunc(v, func(m member) bool { return holds(m.value, is) })
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return holds(item, is) })
	case string:
		return is(v)
	case json.Number:
		return is(v.String())
	}
	return false
}

func proposedPath(index int, field string) string {
	return fmt.Sprintf("/proposed/%d/%s", index, field)
}

// agentOf is the account behind a handover, and who stands behind it.
func agentOf(tx *models.Tx, h models.Handover) (models.AgentOf, error) {
	out := models.AgentOf{UserID: h.AgentID, UserName: h.AgentName, TokenID: h.TokenID}
	if h.AgentID == "" {
		return out, nil
	}
	user, err := tx.User(h.AgentID)
	if err != nil {
		return out, err
	}
	if user.OwnerID != nil {
		out.OwnerID = *user.OwnerID
	}
	if h.TokenID == "" {
		return out, nil
	}
	var tokens []models.Token
	if err := tx.DB.Select("id", "created_by_id").Where("id = ?", h.TokenID).Limit(1).Find(&tokens).Error; err != nil {
		return out, err
	}
	if len(tokens) == 1 && tokens[0].CreatedByID != nil {
		out.TokenByID = *tokens[0].CreatedByID
	}
	return out, nil
}

// fileProposed asks for the approval of the calls, in the transaction of the decision, and answers the
// requests. What is refused comes back on the field it is about.
func (s *Service) fileProposed(tx *models.Tx, c models.Case, calls []proposal) ([]string, error) {
	var ids []string
	for _, p := range calls {
		if s.approvals == nil {
			return nil, errors.ErrUnsupported
		}
		id, err := s.approvals.FileProposed(tx, c, p.request)
		if err != nil {
			return nil, onProposed(p.index, err)
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// onProposed turns why a request is refused into issues on the fields of the proposed call.
func onProposed(index int, err error) error {
	ne, ok := models.AsNamed(err)
	if !ok {
		return err
	}
	field := ""
	switch ne.Code {
	case models.ValidationError:
		given, _ := ne.Details["issues"].([]models.Issue)
		issues := make([]models.Issue, len(given))
		for i, is := range given {
			issues[i] = models.Issue{Path: proposedPath(index, proposedField(is.Path)), Message: is.Message}
		}
		if len(issues) > 0 {
			return models.Invalid(issues...)
		}
	case models.PeriodClosed:
		field = "posting_date"
	case models.Unprocessable:
		field = "summary"
	default:
		return err
	}
	return models.Invalid(models.Issue{Path: proposedPath(index, field), Message: strings.TrimSuffix(ne.Message, ".")})
}

// proposedField is the field of the form that a path of a request is about. What is wrong with the call
// itself, which nobody can change here, stands by the summary.
func proposedField(path string) string {
	switch name := strings.TrimPrefix(path, "/"); name {
	case "amount", "currency", "posting_date", "document_type", "cost_centre":
		return name
	}
	return "summary"
}
