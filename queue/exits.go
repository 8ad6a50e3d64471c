package queue

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
)

// FieldKind says how a person fills a field and how it is checked.
type FieldKind string

// The kinds of fields.
const (
	FieldText   FieldKind = "text"   // one line, such as an id
	FieldLong   FieldKind = "long"   // several lines
	FieldDate   FieldKind = "date"   // a calendar date
	FieldAmount FieldKind = "amount" // plain decimal in the invoice's currency
	FieldEmail  FieldKind = "email"  // of a person
)

// Field is one thing an exit asks for; it is posted as input.<Name>. Every field must be filled.
type Field struct {
	Name  string
	Label string
	Hint  string
	Kind  FieldKind
}

// Exit is one way out of a case. Its code is published; the texts are for people.
type Exit struct {
	Code        string
	Instruction models.InstructionKind // what the agent is told; empty when the case only moves
	Label       string                 // "Reopen the purchase order"
	Next        string                 // what happens then
	States      string                 // what the person states of another system by choosing it; empty when nothing
	Plain       bool                   // a plain "go on", which needs no reason
	Fields      []Field

	codes  []models.Code
	effect effect
}

// effect is what an exit does besides telling the agent.
type effect int

const (
	effectResolve     effect = iota // the case is done
	effectHold                      // held until the date given
	effectMove                      // moves to queue ap
	effectAsk                       // stays open until the agent answered
	effectVerdict                   // done, and the pair is remembered
	effectFraud                     // done, and the AP lead is told
	effectPeriod                    // done, and the closed-through date moves
	effectName                      // done, and one person may decide the request
	effectRoute                     // done, and the matrix is tried again
	effectNextPeriod                // done; its date must lie in an open period
	effectShortPay                  // done; its amount must be less than the invoice's
	effectCreditFirst               // done, with a note on what comes first
	effectRecheckPair               // done, with a note that the duplicate check runs again
)

const (
	exitAnswerAgent  = "answer_agent"
	exitAskAgent     = "ask_agent"
	exitClose        = "close"
	exitNonPO        = "treat_as_non_po"
	exitRejected     = "reject_invoice"
	exitReopenPeriod = "reopen_period"
	exitNotDuplicate = "not_duplicate"
	exitFraud        = "suspected_fraud"
)

const (
	nextResume = "The agent goes on from where it stopped."
	nextStop   = "The agent stops; nothing more is done with this invoice."
)

func untilField(label string) Field {
	return Field{Name: "until", Label: label, Hint: "The case comes back at the start of this day.", Kind: FieldDate}
}

// exits is the table of all ways out, in the order people see them.
var exits = []Exit{
	{Code: "reopen_po", codes: []models.Code{models.POClosed}, Instruction: models.InstructResume, Label: "Reopen the purchase order", Next: nextResume,
		States: "You state that the purchase order is reopened in the ERP. The desk does not reopen it."},
	{Code: "use_other_po", codes: []models.Code{models.POClosed}, Instruction: models.InstructRetryWith, Label: "Use another purchase order",
		Next:   "The agent calls again with the order given.",
		Fields: []Field{{Name: "po_id", Label: "Purchase order", Kind: FieldText}}},
	{Code: exitNonPO, codes: []models.Code{models.POClosed}, Label: "Treat as an invoice without order", effect: effectMove,
		Next: "The case moves to accounts payable, where somebody confirms or rejects it. The agent waits."},

	{Code: "confirm_duplicate", codes: []models.Code{models.DuplicateInvoice}, Instruction: models.InstructStop, Label: "It is a duplicate", Next: nextStop},
	{Code: exitNotDuplicate, codes: []models.Code{models.DuplicateInvoice}, Instruction: models.InstructResume, Label: "It is not a duplicate", effect: effectVerdict,
		Next: nextResume + " The desk remembers the verdict: this pair is not raised again."},
	{Code: "corrected_version", codes: []models.Code{models.DuplicateInvoice}, Instruction: models.InstructResume, Label: "It corrects the earlier invoice", effect: effectCreditFirst,
		Next: nextResume, States: "You state that the earlier invoice is credited in the ERP before this one is paid. The desk does not credit it."},
	{Code: "hold_for_statement", codes: []models.Code{models.DuplicateInvoice}, Instruction: models.InstructWait, Label: "Wait for the supplier's statement", effect: effectHold,
		Next: "The case is held and comes back by itself.", Fields: []Field{untilField("Wait until")}},

	{Code: "name_approver", codes: []models.Code{models.ApproverNotFound}, Instruction: models.InstructResume, Label: "Name an approver for this item", effect: effectName,
		Next:   "The person named is asked, for this item only. The agent goes on waiting for the answer.",
		Fields: []Field{{Name: "person", Label: "E-mail of the approver", Hint: "The person must hold the limit for this amount.", Kind: FieldEmail}}},
	{Code: "matrix_fixed", codes: []models.Code{models.ApproverNotFound}, Instruction: models.InstructResume, Label: "The matrix is fixed", effect: effectRoute,
		Next: "The request is routed again by the rules as they are now. The agent goes on waiting for the answer."},
	{Code: "send_back", codes: []models.Code{models.ApproverNotFound}, Instruction: models.InstructStop, Label: "Send back", Next: nextStop + " The request is withdrawn."},

	{Code: "post_next_period", codes: []models.Code{models.PeriodClosed}, Instruction: models.InstructRetryWith, Label: "Post in an open period", effect: effectNextPeriod,
		Next:   "The agent calls again with the posting date given.",
		Fields: []Field{{Name: "posting_date", Label: "Posting date", Hint: "A date after the closed period.", Kind: FieldDate}}},
	{Code: exitReopenPeriod, codes: []models.Code{models.PeriodClosed}, Instruction: models.InstructResume, Label: "Reopen the period", effect: effectPeriod,
		Next:   nextResume + " The desk's own closed-through date moves back before the month of the posting date. It is not moved forward again by itself: when the time is up, the finance leads are told to close the period.",
		States: "You state that the period is reopened in the ERP. The desk does not reopen it.",
		Fields: []Field{{Name: "until", Label: "Reopened until", Hint: "The last day on which the period stays open.", Kind: FieldDate}}},
	{Code: "accrue", codes: []models.Code{models.PeriodClosed}, Instruction: models.InstructStop, Label: "Accrue", Next: nextStop,
		States: "You state that the amount is accrued in the ERP. The desk does not accrue it."},

	{Code: "correct_id", codes: []models.Code{models.InvoiceNotFound}, Instruction: models.InstructRetryWith, Label: "Correct the invoice id",
		Next:   "The agent calls again with the id given.",
		Fields: []Field{{Name: "invoice_id", Label: "Invoice id", Kind: FieldText}}},
	{Code: "wait_for_import", codes: []models.Code{models.InvoiceNotFound}, Instruction: models.InstructWait, Label: "Wait for the import", effect: effectHold,
		Next: "The case is held and comes back by itself.", Fields: []Field{untilField("Wait until")}},
	{Code: "registered", codes: []models.Code{models.InvoiceNotFound}, Instruction: models.InstructResume, Label: "The invoice is registered now", Next: nextResume, Plain: true,
		States: "You state that the invoice is registered in the ERP. The desk does not register it."},
	{Code: "cancel", codes: []models.Code{models.InvoiceNotFound}, Instruction: models.InstructStop, Label: "Cancel", Next: nextStop},

	{Code: "correct_po", codes: []models.Code{models.PONotFound}, Instruction: models.InstructRetryWith, Label: "Correct the order number",
		Next:   "The agent calls again with the order given.",
		Fields: []Field{{Name: "po_id", Label: "Purchase order", Kind: FieldText}}},
	{Code: exitNonPO, codes: []models.Code{models.PONotFound}, Instruction: models.InstructResume, Label: "Treat as an invoice without order",
		Next: "The agent goes on without an order."},
	{Code: "ask_supplier", codes: []models.Code{models.PONotFound}, Instruction: models.InstructWait, Label: "Ask the supplier", effect: effectHold,
		Next:   "The case is held and comes back by itself.",
		States: "You state that the supplier is being asked. The desk sends nothing.", Fields: []Field{untilField("Wait until")}},

	{Code: "link_supplier", codes: []models.Code{models.SupplierNotFound}, Instruction: models.InstructRetryWith, Label: "Link to a known supplier", effect: effectRecheckPair,
		Next:   "The agent calls again with the supplier given and checks for duplicates again.",
		Fields: []Field{{Name: "supplier_id", Label: "Supplier", Kind: FieldText}}},
	{Code: "supplier_created", codes: []models.Code{models.SupplierNotFound}, Instruction: models.InstructRetryWith, Label: "The supplier is created now", effect: effectRecheckPair,
		Next: "The agent calls again with the supplier given and checks for duplicates again.", States: "You state that the supplier is created in the ERP. The desk does not create it.",
		Fields: []Field{{Name: "supplier_id", Label: "Supplier", Kind: FieldText}}},
	{Code: exitFraud, codes: []models.Code{models.SupplierNotFound}, Instruction: models.InstructStop, Label: "Suspected fraud", effect: effectFraud,
		Next: nextStop + " The AP lead is told, and other open cases of this supplier or bank account are marked."},

	{Code: "keep_waiting", codes: []models.Code{models.GRMissing}, Instruction: models.InstructWait, Label: "Keep waiting", effect: effectHold,
		Next: "The case is held and comes back by itself, earlier when a re-check finds the receipt.", Fields: []Field{untilField("Wait until")}},
	{Code: "receipt_confirmed", codes: []models.Code{models.GRMissing}, Instruction: models.InstructResume, Label: "The receipt is posted now", Next: nextResume, Plain: true,
		States: "You state that the goods receipt is posted in the ERP. The desk does not post it."},
	{Code: "two_way_match", codes: []models.Code{models.GRMissing}, Instruction: models.InstructResume, Label: "Match without a receipt",
		Next: "The agent goes on with invoice and order alone."},
	{Code: "short_pay", codes: []models.Code{models.GRMissing}, Instruction: models.InstructRetryWith, Label: "Pay less", effect: effectShortPay,
		Next:   "The agent calls again with the amount given.",
		Fields: []Field{{Name: "amount", Label: "Amount to pay", Hint: "In the invoice's currency, less than the invoice.", Kind: FieldAmount}}},

	{Code: exitRejected, codes: []models.Code{models.POClosed, models.PeriodClosed, models.PONotFound, models.SupplierNotFound, models.GRMissing},
		Instruction: models.InstructStop, Label: "Reject the invoice", Next: nextStop},
}

// movedNonPO are the exits of a PO_CLOSED case that procurement moved to accounts payable.
var movedNonPO = []Exit{
	{Code: exitNonPO, Instruction: models.InstructResume, Label: "Treat as an invoice without order", Next: "The agent goes on without an order."},
	{Code: exitRejected, Instruction: models.InstructStop, Label: "Reject the invoice", Next: nextStop},
}

// withoutCulprit are the exits of handovers that no single error explains.
var withoutCulprit = []Exit{
	{Code: exitAnswerAgent, Instruction: models.InstructResume, Label: "Tell the agent how to go on", Next: "The agent goes on with your note.", Plain: true,
		Fields: []Field{{Name: "note", Label: "Note to the agent", Kind: FieldLong}}},
	{Code: exitClose, Instruction: models.InstructStop, Label: "Close", Next: nextStop},
}

// askAgent asks before deciding; the case stays open.
var askAgent = Exit{Code: exitAskAgent, Instruction: models.InstructResume, Label: "Ask the agent", Plain: true, effect: effectAsk,
	Next:   "The agent answers on this case, which stays open for your decision.",
	Fields: []Field{{Name: "question", Label: "Question to the agent", Kind: FieldLong}}}

// AsksAmount says whether the field of that name is an amount, in whatever exit asks for it.
func AsksAmount(name string) bool {
	return slices.ContainsFunc(slices.Concat(exits, movedNonPO), func(e Exit) bool {
		return slices.ContainsFunc(e.Fields, func(f Field) bool { return f.Name == name && f.Kind == FieldAmount })
	})
}

// Exits lists the ways out of a case with this code and reason, after the exit that moved it, if any.
// "Ask the agent" comes last; whether there is an agent to ask is for the case to say.
func Exits(code models.Code, reason models.HandoverReason, moved string) []Exit {
	var out []Exit
	switch {
	case code == models.POClosed && moved == exitNonPO:
		out = append(out, movedNonPO...)
	default:
		for _, e := range exits {
			if slices.Contains(e.codes, code) {
				out = append(out, e)
			}
		}
	}
	if reason != models.ReasonNamedError || len(out) == 0 {
		out = append(out, withoutCulprit...)
	}
	return append(out, askAgent)
}

// ExitLabel is an exit in words, whichever code it belongs to; an unknown exit is its own label.
func ExitLabel(exit string) string {
	if exit == exitWithdrawn {
		return "Withdrawn by the agent"
	}
	for _, set := range [][]Exit{exits, withoutCulprit, {askAgent}} {
		for _, e := range set {
			if e.Code == exit {
				return e.Label
			}
		}
	}
	return exit
}

// exitsOf are the exits a case offers now: no second question while one waits for its answer, and a
// period is moved only by whoever may move it.
func exitsOf(c models.Case, by models.Principal) []Exit {
	all := Exits(c.Code, c.Reason, c.Moved)
	if forQuestions(c) {
		all = []Exit{askAgent} // what was asked about is decided on the request's own page
	}
	return slices.DeleteFunc(all, func(e Exit) bool {
		switch e.effect {
		case effectAsk:
			return c.AgentID == nil || questionOf(c) != ""
		case effectPeriod:
			return !by.Has(models.RoleFinanceLead)
		}
		return false
	})
}

// Longest texts people may enter, in characters.
const (
	maxFieldText = 200
	maxLongText  = 4000
)

// facts are what an exit's fields are checked against.
type facts struct {
	today         models.Date // in the workspace's zone
	closedThrough models.Date
	invoiceAmount models.Money
}

// checkInput checks what a person entered for an exit and answers the values, and the reason, in the form the
// agent and the trail get. Inputs of other exits, which a form without script posts too, are ignored.
func checkInput(e Exit, input map[string]string, reason string, f facts) (map[string]string, string, []models.Issue) {
	values := map[string]string{}
	var issues []models.Issue
	for _, field := range e.Fields {
		path := "/input/" + field.Name
		text := strings.TrimSpace(input[field.Name])
		if !models.HasVisible(text) && models.CheckFreeText(text) == "" {
			issues = append(issues, models.Issue{Path: path, Message: "must be filled in"})
			continue
		}
		value, problem := checkField(e, field, text, f)
		if problem != "" {
			issues = append(issues, models.Issue{Path: path, Message: problem})
			continue
		}
		values[field.Name] = value
	}
	reason, why := models.FreeText(reason, maxLongText)
	if why == "" && reason == "" && !e.Plain {
		why = "must say why"
	}
	if why != "" {
		issues = append(issues, models.Issue{Path: "/reason", Message: why})
	}
	return values, reason, issues
}

func checkField(e Exit, field Field, text string, f facts) (value, problem string) {
	if field.Kind == FieldLong {
		return models.FreeText(text, maxLongText)
	}
	limit := maxFieldText
	if len([]rune(text)) > limit {
		return "", fmt.Sprintf("must have at most %d characters", limit)
	}
	switch field.Kind {
	case FieldDate:
		date, err := models.ParseDate(text)
		if err != nil {
			return "", err.Error()
		}
		return date.String(), checkDate(e, date, f)
	case FieldAmount:
		return text, checkAmount(text, f.invoiceAmount)
	case FieldEmail:
		email, err := models.NormaliseEmail(text)
		if err != nil {
			return "", err.Error()
		}
		return email, ""
	case FieldText:
		return text, models.CheckID(text)
	}
	return text, ""
}

// maxUntil is how far ahead somebody may put a case off or leave a period open, in days: a slip of the year
// would keep either for good.
const maxUntil = 366

func checkDate(e Exit, date models.Date, f facts) string {
	switch {
	case e.effect == effectHold && !date.After(f.today):
		return "must be a date in the future"
	case e.effect == effectPeriod && f.today.After(date):
		return "must not lie in the past"
	case (e.effect == effectHold || e.effect == effectPeriod) && date.After(f.today.AddDays(maxUntil)):
		return fmt.Sprintf("must lie within %d days", maxUntil)
	case e.effect == effectNextPeriod && !f.closedThrough.IsZero() && !date.After(f.closedThrough):
		return "must be after " + f.closedThrough.String() + ", through which the books are closed"
	}
	return ""
}

// checkAmount takes less than the invoice, of the same sign, and not nothing.
func checkAmount(text string, invoice models.Money) string {
	amount, err := models.ParseMoney(text, invoice.Currency())
	if err != nil {
		return err.Error()
	}
	zero, err := models.ParseMoney("0", invoice.Currency())
	if err != nil {
		return err.Error()
	}
	less, err := amount.Abs().Cmp(invoice.Abs())
	if err != nil {
		return err.Error()
	}
	switch {
	case amount.Equal(zero):
		return "must not be zero"
	case amount.Negative() != invoice.Negative():
		return "must have the invoice's sign"
	case less >= 0:
		return "must be less than the invoice's " + invoice.Text()
	}
	return ""
}

// instructionOf is what the agent is told once an exit was chosen with these values; nil when the
// case only moves. requestID is the approval request behind the case, "" for none.
func instructionOf(e Exit, values map[string]string, requestID string) *models.Instruction {
	if e.Instruction == "" {
		return nil
	}
	in := &models.Instruction{Kind: e.Instruction, Question: values["question"], Note: values["note"], Until: values["until"]}
	if e.Instruction == models.InstructRetryWith {
		in.Input = map[string]any{}
		for k, v := range values {
			in.Input[k] = v
		}
	}
	switch e.effect {
	case effectName, effectRoute:
		if requestID != "" {
			in.Input = map[string]any{"request_id": requestID}
		} else {
			in.Note = "Ask for the approval again."
		}
	case effectCreditFirst:
		in.Note = "The earlier invoice must be credited first."
	case effectRecheckPair:
		in.Note = "Run check_duplicate_invoice again with this supplier before anything else."
	}
	return in
}

// reopenedThrough is the closed-through date that lets an invoice be posted on postingDate: the last
// day before that date's month, since books are closed by months. Without a posting date the month
// closed last is reopened. It never moves the date forward; no date means no period is closed.
func reopenedThrough(closed, postingDate models.Date) models.Date {
	if closed.IsZero() || (!postingDate.IsZero() && postingDate.After(closed)) {
		return closed
	}
	if postingDate.IsZero() {
		postingDate = closed
	}
	t, err := time.Parse(time.DateOnly, postingDate.String())
	if err != nil {
		return closed
	}
	before, err := models.ParseDate(t.AddDate(0, 0, -t.Day()).Format(time.DateOnly))
	if err != nil {
		return closed
	}
	return before
}
