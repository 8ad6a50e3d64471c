package approvals

import (
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/models"
)

// bound are the values of a request that its routing relies on, after they were compared with what
// the call itself says.
type bound struct {
	SupplierID  string
	PostingDate models.Date
	Values      []BoundValue
}

// BoundValue is a value of the request that stands, or could stand, in the call's arguments.
type BoundValue struct {
	Name    string // Invoice, Supplier, Amount, Currency, Posting date
	Value   string
	Pointer string // where it stands in the arguments; empty when it is the request's own
}

// Names of bound values, and of what changed between two requests.
const (
	BoundInvoice     = "Invoice"
	BoundSupplier    = "Supplier"
	BoundAmount      = "Amount"
	BoundCurrency    = "Currency"
	BoundPostingDate = "Posting date"
)

// boundPointers is where a binding looks for each value.
func boundPointers(b models.Binding) []BoundValue {
	return []BoundValue{{Name: BoundInvoice, Pointer: b.InvoiceID}, {Name: BoundSupplier, Pointer: b.SupplierID}, {Name: BoundAmount, Pointer: b.Amount},
		{Name: BoundCurrency, Pointer: b.Currency}, {Name: BoundPostingDate, Pointer: b.PostingDate}}
}

// bind compares the claims of a request with its call, at the places the workspace states for the
// tool. A value without a place, or absent there, is the request's own. The issues name the claims
// that differ from the call.
func bind(b models.Binding, arguments json.RawMessage, claimed RequestInput) (bound, []models.Issue, error) {
	out := bound{SupplierID: claimed.Invoice.SupplierID, PostingDate: claimed.PostingDate}
	var issues []models.Issue
	for _, claim := range []struct {
		name, pointer, path, value string
		same                       func(said string, number bool) bool
		take                       func(said string, number bool) (problem string)
	}{
		{BoundInvoice, b.InvoiceID, "/invoice/id", claimed.Invoice.ID, nil, nil},
		{BoundSupplier, b.SupplierID, "/invoice/supplier_id", claimed.Invoice.SupplierID, nil, func(said string, _ bool) string {
			out.SupplierID = said
			return ""
		}},
		{BoundAmount, b.Amount, "/amount", claimed.Amount.Text(), func(said string, number bool) bool {
			return sameAmount(said, number, claimed.Amount.Text())
		}, nil},
		{BoundCurrency, b.Currency, "/currency", claimed.Amount.Currency(), func(said string, number bool) bool {
			return !number && said == claimed.Amount.Currency()
		}, nil},
		{BoundPostingDate, b.PostingDate, "/posting_date", claimed.PostingDate.String(), func(said string, number bool) bool {
			return !number && said == claimed.PostingDate.String()
		}, func(said string, number bool) string {
			d, err := models.ParseDate(said)
			if err != nil || number {
				return "must be a calendar date such as 2026-10-05, as a string"
			}
			out.PostingDate = d
			return ""
		}},
	} {
		value := BoundValue{Name: claim.name, Value: claim.value}
		said, number, present, err := saidAt(arguments, claim.pointer)
		if err != nil {
			return bound{}, nil, err
		}
		if !present {
			if value.Value != "" {
				out.Values = append(out.Values, value)
			}
			continue
		}
		value.Pointer = claim.pointer
		switch {
		case claim.value == "" && claim.take != nil:
			if problem := claim.take(said, number); problem != "" {
				issues = append(issues, models.Issue{Path: "/action/arguments" + claim.pointer, Message: problem})
			}
			value.Value = said
		case claim.same == nil && said != claim.value, claim.same != nil && !claim.same(said, number):
			issues = append(issues, models.Issue{Path: claim.path, Message: fmt.Sprintf("differs from the call: action.arguments%s says %q, the request says %q",
				claim.pointer, clip(said, 80), clip(claim.value, 80))})
		}
		out.Values = append(out.Values, value)
	}
	return out, issues, nil
}

// saidAt reads the text or number a call carries at a pointer. Anything else there is given as its
// JSON, so that it equals no claim.
func saidAt(arguments json.RawMessage, pointer string) (said string, number, present bool, err error) {
	if pointer == "" {
		return "", false, false, nil
	}
	raw, present, err := at(arguments, pointer)
	if err != nil || !present {
		return "", false, false, err
	}
	switch jsontext.Value(raw).Kind() {
	case '"':
		err = json.Unmarshal(raw, &said)
		return said, false, true, err
	case '0':
		return string(raw), true, true, nil
	default:
		return string(raw), false, true, nil
	}
}

// sameAmount compares two amounts as decimals: 250.0 is 250.00. Text must be a plain decimal; a JSON
// number may have any spelling.
func sameAmount(said string, number bool, claimed string) bool {
	if !number && models.ParseDecimal(said) != nil {
		return false
	}
	a, okA := decimalOf(said)
	b, okB := decimalOf(claimed)
	return okA && okB && a == b
}
