package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

// notBody are the members that say who calls and how, not what.
var notBody = []string{"workspace_id", "idempotency_key"}

// UseKey takes an idempotency key that came outside the body, as a header. A different key inside is
// an issue.
func (b *Body) UseKey(key string) {
	b.use("idempotency_key", key, "is another key than the Idempotency-Key header")
}

// UseID takes the id of the record a request is about from its path, under the name it has as an
// argument. A different id inside the body is an issue.
func (b *Body) UseID(name, id string) { b.use(name, id, "is another id than the path names") }

func (b *Body) use(name, value, differs string) {
	if value == "" || !b.object {
		return
	}
	for _, m := range b.members {
		if m.name != name {
			continue
		}
		if s, ok := textOf(m.raw); !ok || s != value {
			b.issues = append(b.issues, models.Issue{Path: child("", name), Message: differs})
		}
		return
	}
	b.members = append(b.members, member{name, quote(value)})
}

// read fills a request struct from the body and fails with every issue found.
func read[T any](b *Body) (T, error) {
	var in T
	r := &reader{issues: slices.Clone(b.issues)}
	if !b.object {
		r.fail("", "must be an object")
		return in, r.err()
	}
	r.members(b.members, "", reflect.ValueOf(&in).Elem())
	return in, r.err()
}

// kept is the body as it is stored: less what says who calls and how, with some members replaced.
func (b *Body) kept(replaced map[string]jsontext.Value) json.RawMessage {
	return json.RawMessage(joined(b.members, func(m member) (jsontext.Value, bool) {
		if value, ok := replaced[m.name]; ok {
			return value, true
		}
		return m.raw, !slices.Contains(notBody, m.name)
	}))
}

// joined writes an object of the members that pick keeps.
func joined(members []member, pick func(member) (jsontext.Value, bool)) jsontext.Value {
	out := []byte{'{'}
	for _, m := range members {
		value, ok := pick(m)
		if !ok {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(out, quote(m.name)...)
		out = append(out, ':')
		out = append(out, value...)
	}
	return compact(append(out, '}'))
}

// idempotency names the call: its key and the digest of what is kept, in one order and with its
// numbers' own digits. A call without a key needs no digest.
func idempotency(key string, kept json.RawMessage) models.Idempotency {
	if key == "" {
		return models.Idempotency{}
	}
	canonical := jsontext.Value(bytes.Clone(kept))
	err := canonical.Canonicalize(jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false))
	if err != nil {
		canonical = jsontext.Value(kept) // cannot be: it was valid before
	}
	return models.Idempotency{Key: key, BodyHash: models.HashBody(canonical)}
}

func amountText(a Amount) jsontext.Value { return quote(string(a)) }

// sent is the invoice as it came, its amounts as text.
func (i *Invoice) sent() jsontext.Value {
	members, _ := membersOf(i.raw)
	return joined(members, func(m member) (jsontext.Value, bool) {
		switch m.name {
		case "amount":
			return amountText(i.Amount), true
		case "lines":
			return sentLines(m.raw), true
		}
		return m.raw, true
	})
}

func sentLines(raw jsontext.Value) jsontext.Value {
	lines, _ := itemsOf(raw)
	out := []byte{'['}
	for n, line := range lines {
		if n > 0 {
			out = append(out, ',')
		}
		members, _ := membersOf(line)
		out = append(out, joined(members, func(m member) (jsontext.Value, bool) {
			if m.name == "amount" && m.raw.Kind() == '0' {
				return quote(string(m.raw)), true
			}
			return m.raw, true
		})...)
	}
	return append(out, ']')
}

func (i *Invoice) model() models.Invoice {
	return models.Invoice{
		ID: i.ID, Number: i.Number, SupplierID: i.SupplierID, SupplierName: i.SupplierName, PoID: i.PoID, Amount: i.total,
		InvoiceDate: i.InvoiceDate.Date, DueDate: i.DueDate.Date, TaxID: i.TaxID, BankAccount: i.BankAccount, DocumentURL: string(i.DocumentURL),
		Sent: json.RawMessage(i.sent()),
	}
}

func seenErrors(list []SeenError) []models.SeenError {
	out := make([]models.SeenError, len(list))
	for i, e := range list {
		out[i] = models.SeenError{Tool: e.Tool, Arguments: json.RawMessage(e.Arguments), At: string(e.At), Error: models.SeenNamedError{
			Code: models.Code(e.Error.Code), Message: e.Error.Message, Retryable: e.Error.Retryable,
			NextAction: models.NextAction(e.Error.NextAction), Details: json.RawMessage(e.Error.Details),
		}}
	}
	return out
}

func raws[T ~[]byte](list []T) []json.RawMessage {
	out := make([]json.RawMessage, len(list))
	for i, v := range list {
		out[i] = json.RawMessage(v)
	}
	return out
}

func (c Call) model() models.Call {
	return models.Call{Tool: c.Tool, Arguments: json.RawMessage(c.Arguments)}
}

// IsAnswer says whether a body for the handover operations answers a person's question.
func IsAnswer(b *Body) bool { return b.Has("case_id") || b.Has("answer") }

// ReadHandover reads a handover; escalate says that it came through stop_and_escalate.
func ReadHandover(b *Body, escalate bool) (queue.HandoverInput, models.Idempotency, error) {
	h, err := read[Handover](b)
	if err != nil {
		return queue.HandoverInput{}, models.Idempotency{}, err
	}
	in := queue.HandoverInput{
		RunID: h.RunID, Reason: models.HandoverReason(h.Reason), Invoice: h.Invoice.model(), Errors: seenErrors(h.Errors),
		Evidence: raws(h.Evidence), Explanation: h.Explanation, Escalate: escalate,
	}
	if h.Suggestion != nil {
		in.Suggestion = &queue.Suggestion{Exit: h.Suggestion.Exit, Why: h.Suggestion.Why}
	}
	for _, c := range h.ProposedCalls {
		in.ProposedCalls = append(in.ProposedCalls, c.model())
	}
	in.Body = b.kept(map[string]jsontext.Value{"invoice": jsontext.Value(in.Invoice.Sent)})
	return in, idempotency(h.IdempotencyKey, in.Body), nil
}

// ReadAnswer reads an agent's answer to a person's question.
func ReadAnswer(b *Body) (queue.AnswerInput, models.Idempotency, error) {
	a, err := read[Answer](b)
	if err != nil {
		return queue.AnswerInput{}, models.Idempotency{}, err
	}
	in := queue.AnswerInput{CaseID: a.CaseID, Answer: a.Answer, Evidence: raws(a.Evidence), Explanation: a.Explanation, RunID: a.RunID, Body: b.kept(nil)}
	return in, idempotency(a.IdempotencyKey, in.Body), nil
}

// ReadApprovalRequest reads a request for approval.
func ReadApprovalRequest(b *Body) (approvals.RequestInput, models.Idempotency, error) {
	q, err := read[ApprovalRequest](b)
	if err != nil {
		return approvals.RequestInput{}, models.Idempotency{}, err
	}
	in := approvals.RequestInput{
		RunID: q.RunID, CaseID: q.CaseID, Invoice: q.Invoice.model(), Action: q.Action.model(), Amount: q.money, DocumentType: q.DocumentType,
		PostingDate: q.PostingDate.Date, CostCentre: q.CostCentre, Summary: q.Summary, Explanation: q.Explanation, Evidence: raws(q.Evidence),
	}
	in.Body = b.kept(map[string]jsontext.Value{"invoice": jsontext.Value(in.Invoice.Sent), "amount": amountText(q.Amount)})
	return in, idempotency(q.IdempotencyKey, in.Body), nil
}

// ReadRedeem reads the spending of an approval.
func ReadRedeem(b *Body) (approvals.RedeemInput, error) {
	q, err := read[RedeemApproval](b)
	if err != nil {
		return approvals.RedeemInput{}, err
	}
	return approvals.RedeemInput{ApprovalID: q.ApprovalID, Call: Call{q.Tool, q.Arguments}.model(), IdempotencyKey: q.IdempotencyKey}, nil
}

// ReadGetCase reads which case is asked for, and how long to wait.
func ReadGetCase(b *Body) (GetCase, error) { return read[GetCase](b) }

// ReadGetApproval reads which request is asked for, and how long to wait.
func ReadGetApproval(b *Body) (GetApproval, error) { return read[GetApproval](b) }

// ReadNothing reads the arguments of a call that needs none.
func ReadNothing(b *Body) (Nothing, error) { return read[Nothing](b) }

// ReadReport reads how the write of an approval ended.
func ReadReport(b *Body) (approvalID string, in approvals.ReportInput, idem models.Idempotency, err error) {
	q, err := read[ReportWrite](b)
	if err != nil {
		return "", approvals.ReportInput{}, models.Idempotency{}, err
	}
	in = approvals.ReportInput{Status: approvals.ReportStatus(q.Status), DocumentNumber: q.DocumentNumber, Message: q.Message}
	return q.ApprovalID, in, idempotency(q.IdempotencyKey, b.kept(nil)), nil
}

// ReadHold reads an invoice that is to wait for a re-check.
func ReadHold(b *Body) (queue.HoldInput, models.Idempotency, error) {
	h, err := read[Hold](b)
	if err != nil {
		return queue.HoldInput{}, models.Idempotency{}, err
	}
	in := queue.HoldInput{Code: models.Code(h.Code), Invoice: h.Invoice.model(), PoID: h.PoID, Line: h.Line, RecheckAt: h.RecheckAt.Time(),
		MaxChecks: int(h.MaxChecks), Errors: seenErrors(h.Errors)}
	in.Body = b.kept(map[string]jsontext.Value{"invoice": jsontext.Value(in.Invoice.Sent)})
	return in, idempotency(h.IdempotencyKey, in.Body), nil
}

// ReadLease reads how many due re-checks to take; 0 when the request does not say.
func ReadLease(b *Body) (limit int, idem models.Idempotency, err error) {
	q, err := read[Lease](b)
	if err != nil {
		return 0, models.Idempotency{}, err
	}
	return int(q.Limit), idempotency(q.IdempotencyKey, b.kept(nil)), nil
}

// ReadRecheck reads what a re-check found.
func ReadRecheck(b *Body) (holdID string, result queue.CheckResult, idem models.Idempotency, err error) {
	q, err := read[ReportRecheck](b)
	if err != nil {
		return "", "", models.Idempotency{}, err
	}
	return q.HoldID, queue.CheckResult(q.Result), idempotency(q.IdempotencyKey, b.kept(nil)), nil
}
