package wire

import (
	"fmt"
	"reflect"
	"slices"
	"unicode/utf8"

	"github.com/apdesk/apdesk/models"
)

// Parameter is one field of a query string.
type Parameter struct{ Name, Value string }

// The queries of reading operations. Every field is also a filter's name.
type (
	// CaseQuery narrows a list of cases.
	CaseQuery struct {
		Where
		Queue         QueueName   `json:"queue,omitempty" jsonschema:"only cases of this queue"`
		Status        CaseState   `json:"status,omitempty" jsonschema:"only cases in this state"`
		Unresolved    bool        `json:"unresolved,omitempty" jsonschema:"true: only open and held cases"`
		Code          OutcomeCode `json:"code,omitempty" jsonschema:"only cases of this outcome"`
		Reason        Reason      `json:"reason,omitempty" jsonschema:"only cases handed over for this reason"`
		ClaimedBy     string      `json:"claimed_by,omitempty" wire:"max=255" jsonschema:"me, nobody, or the id of a user"`
		Supplier      string      `json:"supplier,omitempty" wire:"max=1000" jsonschema:"supplier id or name"`
		InvoiceID     string      `json:"invoice_id,omitempty" wire:"max=255" jsonschema:"invoice id in the ERP"`
		InvoiceNumber string      `json:"invoice_number,omitempty" wire:"max=255" jsonschema:"invoice number; punctuation, case and leading zeros do not matter"`
		PoID          string      `json:"po_id,omitempty" wire:"max=255" jsonschema:"purchase order number"`
		RunID         string      `json:"run_id,omitempty" wire:"max=255" jsonschema:"run that handed over"`
		Agent         string      `json:"agent,omitempty" wire:"max=255" jsonschema:"id or name of the account that handed over first"`
		Due           string      `json:"due,omitempty" wire:"max=50" jsonschema:"only open cases: soon, today or overdue"`
		Snoozed       string      `json:"snoozed,omitempty" wire:"max=50" jsonschema:"not: without snoozed cases; only: snoozed cases alone"`
		Age           string      `json:"age,omitempty" wire:"max=50" jsonschema:"at least so old: 1d, 3d, 7d or 30d"`
		Currency      string      `json:"currency,omitempty" wire:"max=3" jsonschema:"only invoices in this currency"`
		AmountFrom    string      `json:"amount_from,omitempty" wire:"max=50" jsonschema:"invoice amount not below this, in currency, which must be given"`
		AmountTo      string      `json:"amount_to,omitempty" wire:"max=50" jsonschema:"invoice amount not above this, in currency, which must be given"`
		Sort          string      `json:"sort,omitempty" wire:"max=50" jsonschema:"due_at (default), created_at or amount; a minus before it turns the order round"`
		Paging
	}
	// HoldQuery narrows a list of holds.
	HoldQuery struct {
		Where
		Due       bool      `json:"due,omitempty" jsonschema:"true: only holds whose check is due now; nothing is leased"`
		Status    HoldState `json:"status,omitempty" jsonschema:"only holds in this state"`
		InvoiceID string    `json:"invoice_id,omitempty" wire:"max=255" jsonschema:"invoice id in the ERP"`
		Paging
	}
	// AuditQuery narrows the trail.
	AuditQuery struct {
		Where
		Action            string `json:"action,omitempty" wire:"max=255" jsonschema:"what happened, such as case.decided"`
		ActorID           string `json:"actor_id,omitempty" wire:"max=255" jsonschema:"id of the user who did it"`
		Subject           string `json:"subject,omitempty" wire:"max=255" jsonschema:"id of the record it happened to"`
		CaseID            string `json:"case_id,omitempty" wire:"max=255" jsonschema:"case it belongs to"`
		ApprovalRequestID string `json:"approval_request_id,omitempty" wire:"max=255" jsonschema:"approval request it belongs to"`
		InvoiceID         string `json:"invoice_id,omitempty" wire:"max=255" jsonschema:"invoice it belongs to"`
		From              Moment `json:"from,omitempty" jsonschema:"not before this time, in RFC 3339"`
		To                Moment `json:"to,omitempty" jsonschema:"before this time, in RFC 3339"`
		Sort              string `json:"sort,omitempty" wire:"max=50" jsonschema:"-at (default, newest first) or at"`
		Paging
	}
	// WaitQuery is how long a read may wait for news.
	WaitQuery struct {
		Where
		Wait int64 `json:"wait,omitempty" wire:"min=0,max=50" jsonschema:"wait up to so many seconds for a decision; 0 answers at once"`
	}
	// Paging is which page of a list is wanted.
	Paging struct {
		Limit  int64  `json:"limit,omitempty" wire:"min=1,max=200" jsonschema:"at most so many; left out: 50"`
		Cursor string `json:"cursor,omitempty" wire:"max=2000" jsonschema:"next_cursor of the page before"`
	}
)

// ReadQuery fills a query struct, to which dst points. A field the query does not have, or one given
// twice, is BAD_REQUEST; a value that is not valid is VALIDATION_ERROR. An empty value is none.
func ReadQuery(given []Parameter, dst any) error {
	v := reflect.ValueOf(dst).Elem()
	fields := fieldsOf(v.Type())
	r := &reader{query: true}
	seen := map[string]bool{}
	for _, p := range given {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == p.Name })
		if i < 0 {
			return models.E(models.BadRequest, fmt.Sprintf("There is no query field %q here; there are %s.", clip(p.Name), namesOf(fields)),
				map[string]any{"field": clip(p.Name)})
		}
		if seen[p.Name] {
			return models.E(models.BadRequest, fmt.Sprintf("The query field %s is given twice; give it once.", p.Name), map[string]any{"field": p.Name})
		}
		seen[p.Name] = true
		switch {
		case p.Value == "":
		case !utf8.ValidString(p.Value):
			r.fail(child("", p.Name), "is not valid Unicode text")
		default:
			r.value(quote(p.Value), child("", p.Name), v.FieldByIndex(fields[i].index), fields[i].limits)
		}
	}
	return r.err()
}

// clip bounds what is repeated to the caller.
func clip(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:80]) + "…"
	}
	return s
}
