package approvals

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/models"
)

// Correctable is one value of a call that a person can change when sending it back: a plain top-level
// argument, or a plain value deeper down that the workspace's binding names.
type Correctable struct {
	Name  string // of the argument; for a value deeper down its JSON Pointer
	Value string // as text; empty when the call does not carry it
	Bound string // which value of the request it is, such as BoundAmount; empty when none
}

// Deep says whether the value lies inside another argument.
func (c Correctable) Deep() bool { return strings.HasPrefix(c.Name, "/") }

// place is a Correctable and where it stands in the call.
type place struct {
	Correctable
	pointer jsontext.Pointer
	kind    jsontext.Kind // of what stands there, 0 when nothing does
}

// issue is a problem with what was typed for the value.
func (p place) issue(problem string) models.Issue {
	return models.Issue{Path: CorrectionPath(p.Name), Message: problem}
}

// CorrectionPath is where an issue about a value of a correction points to.
func CorrectionPath(name string) string {
	if strings.HasPrefix(name, "/") {
		return "/input" + name
	}
	return string(jsontext.Pointer("/input").AppendToken(name))
}

// placesOf lists the plain top-level arguments of a call, those the binding names and the call lacks, and
// what the binding names deeper down.
func placesOf(arguments json.RawMessage, b models.Binding) ([]place, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(arguments, &members); err != nil {
		return nil, fmt.Errorf("approvals: arguments: %w", err)
	}
	var list []place
	for name, raw := range members {
		if text, ok := plainOf(raw); ok {
			list = append(list, place{Correctable{Name: name, Value: text}, jsontext.Pointer("").AppendToken(name), jsontext.Value(raw).Kind()})
		}
	}
	for _, value := range boundPointers(b) {
		pointer := jsontext.Pointer(value.Pointer)
		if pointer == "" {
			continue
		}
		found := false
		for i := range list {
			if list[i].pointer == pointer {
				found = true
				if list[i].Bound == "" {
					list[i].Bound = value.Name
				}
			}
		}
		if found {
			continue
		}
		raw, present, err := at(arguments, value.Pointer)
		if err != nil {
			return nil, err
		}
		top, deep := pointer.LastToken(), pointer.Parent() != ""
		switch text, plain := plainOf(raw); {
		case present && plain && deep:
			if _, taken := members[value.Pointer]; !taken {
				list = append(list, place{Correctable{Name: value.Pointer, Value: text, Bound: value.Name}, pointer, jsontext.Value(raw).Kind()})
			}
		case !present && !deep:
			list = append(list, place{Correctable{Name: top, Bound: value.Name}, pointer, 0})
		}
	}
	sort.Slice(list, func(i, j int) bool {
		if list[i].Deep() != list[j].Deep() {
			return list[j].Deep()
		}
		return list[i].Name < list[j].Name
	})
	return list, nil
}

// plainOf is a text, number or truth value as people read it; false for anything else.
func plainOf(raw json.RawMessage) (string, bool) {
	switch jsontext.Value(raw).Kind() {
	case '"':
		var text string
		err := json.Unmarshal(raw, &text)
		return text, err == nil
	case '0', 't', 'f':
		return string(raw), true
	}
	return "", false
}

func correctables(arguments json.RawMessage, b models.Binding) ([]Correctable, error) {
	places, err := placesOf(arguments, b)
	if err != nil {
		return nil, err
	}
	list := make([]Correctable, 0, len(places))
	for _, p := range places {
		list = append(list, p.Correctable)
	}
	return list, nil
}

// correction is what a person changed in a call.
type correction struct {
	input     map[string]any    // of the agent's next try: the top-level arguments that changed, whole
	changed   map[string]string // what was typed, by the names of Correctable
	invoiceID string            // the invoice that the call is about from now on, empty when it stays
}

// readCorrection reads what a person changed in a call and checks each value as the next request will be.
// A number stays a number and true or false stays one.
func readCorrection(tx *models.Tx, r models.ApprovalRequest, changes map[string]string) (correction, []models.Issue, error) {
	bindings, err := tx.Bindings()
	if err != nil {
		return correction{}, nil, fmt.Errorf("approvals: read bindings: %w", err)
	}
	w, err := tx.Workspace()
	if err != nil {
		return correction{}, nil, fmt.Errorf("approvals: read workspace: %w", err)
	}
	places, err := placesOf(json.RawMessage(r.Arguments), bindings[r.Tool])
	if err != nil {
		return correction{}, nil, err
	}
	c := correction{input: map[string]any{}, changed: map[string]string{}}
	var issues []models.Issue
	known := map[string]bool{}
	money := map[string]place{} // amount and currency, where they changed
	call := json.RawMessage(r.Arguments)
	for _, p := range places {
		known[p.Name] = true
		value := strings.TrimSpace(strings.ReplaceAll(changes[p.Name], "\r\n", "\n"))
		if value == "" || value == strings.TrimSpace(p.Value) {
			continue
		}
		p.Value = value
		if p.Bound == BoundAmount || p.Bound == BoundCurrency {
			money[p.Bound] = p
		}
		raw, problem := p.read()
		if problem == "" {
			problem = p.check(w.PeriodClosedThrough)
		}
		if problem != "" {
			issues = append(issues, p.issue(problem))
			continue
		}
		c.changed[p.Name] = value
		if call, err = put(call, p.pointer, raw); err != nil {
			return correction{}, nil, err
		}
		if c.input[topOf(p.pointer)], err = topLevel(call, p.pointer, raw); err != nil {
			return correction{}, nil, err
		}
		if p.Bound == BoundInvoice || p.Name == "invoice_id" && c.invoiceID == "" {
			c.invoiceID = value
		}
	}
	for name := range changes {
		if !known[name] {
			issues = append(issues, models.Issue{Path: CorrectionPath(clip(name, 80)), Message: "is no argument of this call"})
		}
	}
	for _, is := range moneyIssues(r, money) {
		issues = append(slices.DeleteFunc(issues, func(known models.Issue) bool { return known.Path == is.Path }), is)
	}
	if len(issues) == 0 && len(c.input) == 0 {
		issues = append(issues, models.Issue{Path: "/input", Message: "must change at least one value; to refuse the call as it is, reject it"})
	}
	return c, issues, nil
}

// read is what was typed as the JSON that stands in its place.
func (p place) read() (json.RawMessage, string) {
	switch p.kind {
	case '0':
		if number := jsontext.Value(p.Value); number.Kind() != '0' || !number.IsValid() || !sameAsDouble(p.Value) {
			return nil, "must be a number, as in the call"
		}
		return json.RawMessage(p.Value), ""
	case 't', 'f':
		if p.Value != "true" && p.Value != "false" {
			return nil, "must be true or false, as in the call"
		}
		return json.RawMessage(p.Value), ""
	}
	if models.HasUnseen(p.Value) {
		return nil, "must not hold characters that cannot be seen"
	}
	raw, err := json.Marshal(p.Value)
	if err != nil {
		return nil, "is no text"
	}
	return raw, ""
}

// check is what the next request for approval would refuse about a value that is not money.
func (p place) check(closedThrough models.Date) string {
	switch p.Bound {
	case BoundInvoice, BoundSupplier:
		return models.CheckID(p.Value)
	case BoundPostingDate:
		date, err := models.ParseDate(p.Value)
		if err != nil {
			return err.Error()
		}
		if !closedThrough.IsZero() && !date.After(closedThrough) {
			return "must be after " + closedThrough.String() + ", through which the books are closed"
		}
	}
	return ""
}

// moneyIssues judges amount and currency together, as the next request states them. A value that was not
// changed is the request's.
func moneyIssues(r models.ApprovalRequest, changed map[string]place) []models.Issue {
	amount, code := r.Amount, r.Currency
	a, newAmount := changed[BoundAmount]
	c, newCurrency := changed[BoundCurrency]
	if newAmount {
		amount = a.Value
	}
	if newCurrency {
		code = c.Value
	}
	if !newAmount && !newCurrency {
		return nil
	}
	var issues []models.Issue
	if newCurrency && !models.ValidCurrency(code) {
		issues = append(issues, c.issue(models.ErrCurrencyUnknown.Error()))
		code = r.Currency
	}
	_, err := models.ParseMoney(amount, code)
	switch {
	case err == nil:
	case newAmount:
		issues = append(issues, a.issue(err.Error()))
	case errors.Is(err, models.ErrAmountDigits):
		issues = append(issues, c.issue(fmt.Sprintf("does not fit the amount %s: %s has %d decimals; correct the amount too", amount, code, models.CurrencyDigits(code))))
	default:
		issues = append(issues, c.issue(err.Error()))
	}
	return issues
}

// topOf is the top-level argument in which a pointer lies.
func topOf(p jsontext.Pointer) string {
	for token := range p.Tokens() {
		return token
	}
	return ""
}

// topLevel is the whole top-level argument in which a value was changed: the value itself, or the list or
// object around it.
func topLevel(call json.RawMessage, p jsontext.Pointer, raw json.RawMessage) (any, error) {
	if p.Parent() == "" {
		switch jsontext.Value(raw).Kind() {
		case '0':
			return json.Number(raw), nil
		case 't', 'f':
			return string(raw) == "true", nil
		}
		var text string
		err := json.Unmarshal(raw, &text)
		return text, err
	}
	whole, _, err := at(call, string(jsontext.Pointer("").AppendToken(topOf(p))))
	return whole, err
}

// put is canonical arguments with one value replaced, or added to the object it belongs to.
func put(arguments json.RawMessage, p jsontext.Pointer, value json.RawMessage) (json.RawMessage, error) {
	if p == "" {
		return value, nil
	}
	first := topOf(p)
	rest := p[len(jsontext.Pointer("").AppendToken(first)):]
	var err error
	switch jsontext.Value(arguments).Kind() {
	case '{':
		var members map[string]json.RawMessage
		if err := json.Unmarshal(arguments, &members); err != nil {
			return nil, fmt.Errorf("approvals: correction: %w", err)
		}
		if members[first], err = put(members[first], rest, value); err != nil {
			return nil, err
		}
		return json.Marshal(members)
	case '[':
		var items []json.RawMessage
		if err := json.Unmarshal(arguments, &items); err != nil {
			return nil, fmt.Errorf("approvals: correction: %w", err)
		}
		i, err := strconv.Atoi(first)
		if err != nil || i < 0 || i >= len(items) {
			return nil, fmt.Errorf("approvals: correction: nothing stands at %s", p)
		}
		if items[i], err = put(items[i], rest, value); err != nil {
			return nil, err
		}
		return json.Marshal(items)
	}
	return nil, fmt.Errorf("approvals: correction: nothing stands at %s", p)
}

// CorrectedValue is one value that a correction changes. Name is its path in the call.
type CorrectedValue struct{ Name, Value string }

// CorrectedValues lists what an instruction changes in a call, by path. Of an argument that the correction
// carries whole, only what differs counts.
func CorrectedValues(arguments json.RawMessage, in *models.Instruction) []CorrectedValue {
	if in == nil || in.Kind != models.InstructRetryWith {
		return nil
	}
	input, err := json.Marshal(in.Input)
	if err != nil {
		return nil
	}
	before, after := flatten(string(arguments)), flatten(string(input))
	out := make([]CorrectedValue, 0, len(in.Input))
	for path, leaf := range after {
		if before[path] != leaf {
			out = append(out, CorrectedValue{path, leaf.text})
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}
