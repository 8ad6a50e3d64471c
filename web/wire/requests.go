package wire

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/models"
)

// Where is the part of every request that says which workspace it is about.
type Where struct {
	WorkspaceID string `json:"workspace_id,omitempty" wire:"max=64" jsonschema:"workspace to work in; left out: the token's default, else the only one reachable"`
}

// Write is the part of every request that changes something.
type Write struct {
	Where
	IdempotencyKey string `json:"idempotency_key,omitempty" wire:"max=255" jsonschema:"your own key for this call: the same key and body again give the first answer again"`
}

// Invoice is the invoice a request is about.
type Invoice struct {
	ID           string   `json:"id" wire:"max=255" jsonschema:"invoice id in the ERP"`
	Number       string   `json:"number,omitempty" wire:"max=255" jsonschema:"invoice number as printed by the supplier"`
	SupplierID   string   `json:"supplier_id,omitempty" wire:"max=255" jsonschema:"supplier id in the ERP"`
	SupplierName string   `json:"supplier_name,omitempty" wire:"max=1000" jsonschema:"supplier name as printed"`
	PoID         string   `json:"po_id,omitempty" wire:"max=255" jsonschema:"purchase order number"`
	Amount       Amount   `json:"amount" jsonschema:"invoice total as a plain decimal text such as 1234.50; minus for credit notes"`
	Currency     Currency `json:"currency" jsonschema:"ISO 4217 currency of the amount"`
	InvoiceDate  Date     `json:"invoice_date,omitzero" jsonschema:"date of the invoice"`
	DueDate      Date     `json:"due_date,omitzero" jsonschema:"date payment is due"`
	TaxID        string   `json:"tax_id,omitempty" wire:"max=255" jsonschema:"supplier's tax number as printed"`
	BankAccount  string   `json:"bank_account,omitempty" wire:"max=255" jsonschema:"supplier's bank account as printed"`
	DocumentURL  HTTPS    `json:"document_url,omitempty" jsonschema:"https address of the scanned document; people see its host"`
	Lines        []Line   `json:"lines,omitempty" jsonschema:"the invoice's lines, each with the fields your ERP has"`

	raw   jsontext.Value
	total models.Money
}

// Line is one line of an invoice: any fields, of which amount is exact like the total.
type Line jsontext.Value

func (l *Line) read(r *reader, raw jsontext.Value, at string) {
	members, ok := membersOf(raw)
	if !ok {
		r.fail(at, "must be an object")
		return
	}
	for _, m := range members {
		if m.name == "amount" {
			new(Amount).read(r, m.raw, child(at, m.name))
		}
	}
	*l = Line(raw)
}

func (i *Invoice) keep(raw jsontext.Value) { i.raw = raw }

func (i *Invoice) check(r *reader, at string) {
	i.total = r.money(i.Amount, i.Currency, child(at, "amount"))
}

// SeenError is one error an agent met.
type SeenError struct {
	Tool      string     `json:"tool,omitempty" wire:"max=255" jsonschema:"tool that answered the error"`
	Arguments Object     `json:"arguments,omitempty" jsonschema:"what the tool was called with"`
	At        Moment     `json:"at,omitempty" jsonschema:"when, in RFC 3339"`
	Error     NamedError `json:"error" jsonschema:"the error object, as the tool answered it"`
}

// NamedError is an error with the five fields, as another system answered it.
type NamedError struct {
	Code       string `json:"code" wire:"max=255" jsonschema:"the error's code"`
	Message    string `json:"message,omitempty" jsonschema:"what it says"`
	Retryable  *bool  `json:"retryable,omitempty" jsonschema:"whether a retry can help"`
	NextAction string `json:"next_action,omitempty" wire:"max=255" jsonschema:"what it says to do next"`
	Details    Object `json:"details,omitempty" jsonschema:"identifiers the error carries"`
}

// Suggestion is the exit an agent would choose.
type Suggestion struct {
	Exit string `json:"exit" wire:"max=255" jsonschema:"exit you would choose, such as reopen_po"`
	Why  string `json:"why,omitempty" jsonschema:"why"`
}

// Call names a tool and the exact arguments of one call.
type Call struct {
	Tool      string    `json:"tool" wire:"max=255" jsonschema:"name of the tool"`
	Arguments Arguments `json:"arguments" jsonschema:"its exact arguments"`
}

// Handover puts an invoice in front of a person.
type Handover struct {
	Write
	RunID         string      `json:"run_id,omitempty" wire:"max=255" jsonschema:"your name for this run"`
	Reason        Reason      `json:"reason" jsonschema:"why you stop: named_error when a tool answered a named error"`
	Invoice       Invoice     `json:"invoice" jsonschema:"the invoice you stopped at"`
	Errors        []SeenError `json:"errors" jsonschema:"the errors you met, oldest first; the last decides where the case goes; may be empty unless the reason is named_error"`
	Evidence      []Evidence  `json:"evidence,omitempty" jsonschema:"what a person needs to see to judge"`
	Explanation   string      `json:"explanation,omitempty" jsonschema:"in your own words, what happened"`
	Suggestion    *Suggestion `json:"suggestion,omitempty" jsonschema:"the exit you would choose"`
	ProposedCalls []Call      `json:"proposed_calls,omitempty" jsonschema:"writes you would make next, for a person to put up for approval"`
}

func (h *Handover) check(r *reader, at string) {
	if h.Reason == Reason(models.ReasonNamedError) && h.Errors != nil && len(h.Errors) == 0 {
		r.fail(child(at, "errors"), "must not be empty when the reason is named_error")
	}
}

// Answer replies to a person's question on a case.
type Answer struct {
	Write
	CaseID      string     `json:"case_id" wire:"max=255" jsonschema:"case with the question"`
	Answer      string     `json:"answer" jsonschema:"your answer to the question"`
	Evidence    []Evidence `json:"evidence,omitempty" jsonschema:"what the answer rests on"`
	Explanation string     `json:"explanation,omitempty" jsonschema:"in your own words"`
	RunID       string     `json:"run_id,omitempty" wire:"max=255" jsonschema:"your name for this run"`
}

// HandoverOrAnswer are the arguments of the handover tools: a handover, or an answer alone.
type HandoverOrAnswer struct {
	Write
	RunID         string      `json:"run_id,omitempty" jsonschema:"your name for this run"`
	Reason        Reason      `json:"reason,omitempty" jsonschema:"required in a handover: why you stop; named_error when a tool answered a named error"`
	Invoice       *Invoice    `json:"invoice,omitempty" jsonschema:"required in a handover: the invoice you stopped at"`
	Errors        []SeenError `json:"errors,omitempty" jsonschema:"required in a handover: the errors you met, oldest first; the last decides where the case goes; may be empty unless the reason is named_error"`
	Evidence      []Evidence  `json:"evidence,omitempty" jsonschema:"what a person needs to see to judge"`
	Explanation   string      `json:"explanation,omitempty" jsonschema:"in your own words, what happened"`
	Suggestion    *Suggestion `json:"suggestion,omitempty" jsonschema:"the exit you would choose"`
	ProposedCalls []Call      `json:"proposed_calls,omitempty" jsonschema:"writes you would make next, for a person to put up for approval"`
	CaseID        string      `json:"case_id,omitempty" jsonschema:"only when you answer a person's question: the case; then send answer too, and of the others only evidence, explanation and run_id"`
	Answer        string      `json:"answer,omitempty" jsonschema:"only when you answer a person's question: your answer"`
}

// ApprovalRequest asks leave for exactly one write.
type ApprovalRequest struct {
	Write
	RunID        string     `json:"run_id,omitempty" wire:"max=255" jsonschema:"your name for this run"`
	CaseID       string     `json:"case_id,omitempty" wire:"max=255" jsonschema:"case the write belongs to, if any"`
	Invoice      Invoice    `json:"invoice" jsonschema:"the invoice the write is about"`
	Action       Call       `json:"action" jsonschema:"the one write: its tool and exact arguments; the approval is bound to them"`
	Amount       Amount     `json:"amount" jsonschema:"amount the write moves, as a plain decimal text"`
	Currency     Currency   `json:"currency" jsonschema:"ISO 4217 currency of the amount"`
	DocumentType string     `json:"document_type,omitempty" wire:"max=255" jsonschema:"ERP document type"`
	PostingDate  Date       `json:"posting_date,omitzero" jsonschema:"date the write posts on"`
	CostCentre   string     `json:"cost_centre,omitempty" wire:"max=255" jsonschema:"cost centre charged"`
	Summary      string     `json:"summary" wire:"max=2000" jsonschema:"one sentence: what the write does"`
	Explanation  string     `json:"explanation,omitempty" jsonschema:"why it is right, in your own words"`
	Evidence     []Evidence `json:"evidence,omitempty" jsonschema:"what the approver needs to see"`

	money models.Money
}

func (q *ApprovalRequest) check(r *reader, at string) {
	q.money = r.money(q.Amount, q.Currency, child(at, "amount"))
}

// Redeem spends an approval for the one call it is bound to.
type Redeem struct {
	Where
	Tool           string    `json:"tool" wire:"max=255" jsonschema:"write tool about to run"`
	Arguments      Arguments `json:"arguments" jsonschema:"its exact arguments; approval_id and idempotency_key in them are ignored"`
	IdempotencyKey string    `json:"idempotency_key" wire:"max=255" jsonschema:"your key for this write: the same key and call again give the first answer again"`
}

// Report says how the write of a redeemed approval ended.
type Report struct {
	Write
	Status         ReportStatus `json:"status" jsonschema:"posted or failed"`
	DocumentNumber string       `json:"document_number,omitempty" wire:"max=255" jsonschema:"number of the document posted"`
	Message        string       `json:"message,omitempty" jsonschema:"what the ERP said"`
}

// Hold makes an invoice wait for a re-check.
type Hold struct {
	Write
	RunID     string      `json:"run_id,omitempty" wire:"max=255" jsonschema:"your name for this run"`
	Code      OutcomeCode `json:"code" jsonschema:"what the invoice waits for, usually GR_MISSING"`
	Invoice   Invoice     `json:"invoice" jsonschema:"the invoice that waits"`
	PoID      string      `json:"po_id" wire:"max=255" jsonschema:"purchase order it waits for"`
	Line      *int64      `json:"line,omitempty" wire:"min=0" jsonschema:"order line it waits for"`
	RecheckAt Moment      `json:"recheck_at,omitempty" jsonschema:"first re-check, in RFC 3339; left out: 06:00 of the next business day"`
	MaxChecks int64       `json:"max_checks,omitempty" wire:"min=1,max=20" jsonschema:"re-checks before a person is asked; left out: 5"`
	Errors    []SeenError `json:"errors,omitempty" jsonschema:"the errors you met; may be empty"`
}

// Lease takes due re-checks for ten minutes.
type Lease struct {
	Write
	Limit int64 `json:"limit,omitempty" wire:"min=1,max=200" jsonschema:"at most so many; left out: 50"`
}

// Recheck says what a re-check found.
type Recheck struct {
	Write
	Result CheckResult `json:"result" jsonschema:"available or still_missing"`
}

// Nothing are the arguments of a call that needs none.
type Nothing struct{ Where }

// The arguments of tools whose REST twins carry an id in their path.
type (
	// GetCase reads a case.
	GetCase struct {
		Where
		CaseID string `json:"case_id" wire:"max=255" jsonschema:"the case"`
		Waiting
	}
	// GetApproval reads an approval request.
	GetApproval struct {
		Where
		RequestID string `json:"request_id" wire:"max=255" jsonschema:"the approval request"`
		Waiting
	}
	// RedeemApproval is Redeem with its approval.
	RedeemApproval struct {
		ApprovalID string `json:"approval_id" wire:"max=255" jsonschema:"the approval to spend"`
		Redeem
	}
	// ReportWrite is Report with its approval.
	ReportWrite struct {
		ApprovalID string `json:"approval_id" wire:"max=255" jsonschema:"the approval that was spent"`
		Report
	}
	// ReportRecheck is Recheck with its hold.
	ReportRecheck struct {
		HoldID string `json:"hold_id" wire:"max=255" jsonschema:"the hold that was re-checked"`
		Recheck
	}
)

// Waiting is how long a read may wait for news.
type Waiting struct {
	WaitSeconds int64 `json:"wait_seconds,omitempty" wire:"min=0,max=50" jsonschema:"wait up to so many seconds for a decision; 0 answers at once"`
}
