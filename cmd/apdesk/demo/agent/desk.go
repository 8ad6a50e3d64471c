package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/mcpcall"
)

// deskWrite makes one call that changes something at the desk. ok is false when
// the work's next step is already set, because the desk refused.
func (a *Agent) deskWrite(ctx context.Context, w *Work, tool string, args map[string]any) (raw json.RawMessage, refused *mcpcall.NamedError, err error) {
	args["workspace_id"] = w.Doc.Workspace
	raw, refused, err = a.call(ctx, w, true, tool, args)
	if err != nil {
		return nil, nil, err
	}
	done := Call{Run: w.Run, Tool: tool, Arguments: canonical(args), Counted: tool == "request_approval"}
	if refused != nil {
		done.Code, done.Transient = refused.Code, transient(refused)
	}
	w.Calls = append(w.Calls, done)
	return raw, refused, nil
}

// refusedByDesk handles what should not happen: a handover, hold or answer that
// the desk does not take.
func (a *Agent) refusedByDesk(ctx context.Context, w *Work, tool string, e *mcpcall.NamedError) {
	if transient(e) {
		a.say(w, tool, e.Code, e.NextAction)
		a.pause(ctx, 2*time.Second)
		return
	}
	a.say(w, tool, e.Code, e.NextAction)
	w.End, w.Why = EndFailed, fmt.Sprintf("%s was refused: %s", tool, e)
}

func (w *Work) invoice() map[string]any {
	f := w.Facts
	all := map[string]any{"id": f.InvoiceID, "number": f.Number, "supplier_id": f.SupplierID, "supplier_name": f.SupplierName, "po_id": f.POID,
		"amount": f.Amount, "currency": f.Currency, "invoice_date": f.InvoiceDate, "due_date": f.DueDate, "tax_id": f.TaxID, "bank_account": f.BankAccount}
	maps.DeleteFunc(all, func(_ string, v any) bool { return v == "" })
	return all
}

func (a *Agent) handOver(ctx context.Context, w *Work) error {
	evidence := w.Evidence
	if w.Doc.Note != "" {
		evidence = append(slices.Clone(evidence), map[string]any{"kind": "note", "title": "On the document", "text": w.Doc.Note})
	}
	args := map[string]any{"run_id": w.RunID(), "reason": w.Reason, "invoice": w.invoice(), "errors": nonNil(w.Seen),
		"evidence": nonNil(evidence), "explanation": w.Explanation}
	if s := suggest(w); s != nil {
		args["suggestion"] = s
	}
	via := w.Via
	raw, refused, err := a.deskWrite(ctx, w, via, args)
	if err != nil {
		return a.fault(ctx, w, via, err)
	}
	if refused != nil {
		a.refusedByDesk(ctx, w, via, refused)
		return nil
	}
	var out struct {
		CaseID  string `json:"case_id"`
		Code    string `json:"code"`
		Queue   string `json:"queue"`
		Created bool   `json:"created"`
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return fmt.Errorf("agent: %s: %w", via, err)
	}
	w.CaseID, w.CaseCode = out.CaseID, out.Code
	w.Seen, w.Evidence = nil, nil
	w.Handovers++
	w.did("handed over to %s", or(out.Queue, "a person"))
	w.Step = stepCase
	a.say(w, via, "in queue "+out.Queue, "waiting for a person")
	return nil
}

// Instruction is what a person wants done.
type Instruction struct {
	Kind     string         `json:"kind"`
	Input    map[string]any `json:"input"`
	Question string         `json:"question"`
	Note     string         `json:"note"`
	Until    string         `json:"until"`
}

func (a *Agent) awaitCase(ctx context.Context, w *Work) error {
	raw, refused, err := a.desk.Call(ctx, "get_case", map[string]any{"workspace_id": w.Doc.Workspace, "case_id": w.CaseID, "wait_seconds": a.opt.PollSeconds}, nil)
	if err != nil {
		return a.fault(ctx, w, "get_case", err)
	}
	if refused != nil {
		a.refusedByDesk(ctx, w, "get_case", refused)
		return nil
	}
	var c struct {
		Status      string       `json:"status"`
		Code        string       `json:"code"`
		Instruction *Instruction `json:"instruction"`
		Resolution  *struct {
			Exit      string          `json:"exit"`
			DecidedBy json.RawMessage `json:"decided_by"`
		} `json:"resolution"`
	}
	if err := json.Unmarshal(raw, &c); err != nil {
		return fmt.Errorf("agent: get_case: %w", err)
	}
	if c.Instruction == nil {
		if c.Status == "resolved" {
			w.End, w.Why = EndStopped, "the case was closed"
		}
		return nil
	}
	if c.Instruction.Question != "" {
		w.Question, w.Step = c.Instruction.Question, stepAnswer
		a.say(w, "get_case", "question", "answer it")
		return nil
	}
	exit, who := "", ""
	if c.Resolution != nil {
		exit, who = c.Resolution.Exit, strings.Join(people(c.Resolution.DecidedBy), " and ")
	}
	if c.Instruction.Kind == "wait" && !a.opt.Fast {
		if w.Why == "" {
			w.Why = "waiting until " + c.Instruction.Until
			a.say(w, "get_case", "wait", w.Why)
		}
		a.pause(ctx, 5*time.Second)
		return nil
	}
	w.Why = ""
	w.decidedBy(who)
	before := w.Step
	w.obey(exit, *c.Instruction)
	next := c.Instruction.Kind
	if w.End == "" && w.Step != before {
		next += ": " + w.nextTool()
	}
	a.say(w, "get_case", or(exit, "decided")+by(who), next)
	return nil
}

// obey turns a person's instruction into the next step. The call that failed
// gets one fresh try.
func (w *Work) obey(exit string, in Instruction) {
	input := map[string]string{}
	for k, v := range in.Input {
		if s, ok := v.(string); ok {
			input[k] = s
		}
	}
	w.did("%s", strings.TrimPrefix(exit+": "+in.Kind, ": "))
	switch in.Kind {
	case "stop":
		w.End, w.Why = EndStopped, or(exit, "told to stop")
		return
	case "wait":
		w.End, w.Why = EndWaiting, "until "+in.Until
		return
	}
	w.Step = w.FailedStep
	f := &w.Facts
	if in.Kind == "retry_with" {
		take := func(name string, field *string, step string) {
			if v := input[name]; v != "" {
				*field, w.Step = v, step
			}
		}
		take("amount", &f.Amount, stepWrite)
		take("posting_date", &f.PostingDate, stepWrite)
		take("po_id", &f.POID, stepOrder)
		take("supplier_id", &f.SupplierID, stepSupplier)
		take("invoice_id", &f.InvoiceID, stepInvoice)
		if w.Step == stepWrite {
			because := w.Explanation
			if w.Write != nil {
				if s, ok := w.Write.Arguments["text"].(string); ok {
					because = strings.TrimPrefix(s, "Invoice "+f.Number+". ")
				}
			}
			w.prepareWrite(because)
			// The way to this write is known to lead over an approval.
			w.Step = stepAsk
		}
		w.Granted = toolOf(w.Step, w.Write)
		return
	}
	switch exit {
	case "not_duplicate", "corrected_version":
		w.afterDuplicate()
	case "treat_as_non_po":
		f.NonPO, f.POID = true, ""
		w.prepareWrite("To be treated as an invoice without a purchase order.")
	case "two_way_match":
		f.TwoWay, w.Step = true, stepMatch
	case "receipt_confirmed":
		w.Step = stepReceipt
	}
	if id := input["request_id"]; id != "" {
		w.RequestID, w.Step = id, stepApproval
		return
	}
	w.Granted = toolOf(w.Step, w.Write)
}

// nextTool is the call that the work's step makes, in the words of the contract.
func (w *Work) nextTool() string {
	if w.Step == stepApproval {
		return "get_approval"
	}
	return or(toolOf(w.Step, w.Write), w.Step)
}

func toolOf(step string, write *Write) string {
	switch step {
	case stepInvoice:
		return "get_invoice"
	case stepSupplier:
		return "get_supplier_history"
	case stepDuplicate:
		return "check_duplicate_invoice"
	case stepOrder:
		return "get_purchase_order"
	case stepReceipt:
		return "get_goods_receipt"
	case stepMatch:
		return "run_three_way_match"
	case stepAsk:
		return "request_approval"
	case stepWrite:
		if write != nil {
			return write.Tool
		}
	}
	return ""
}

// answer replies to a question with what the document says.
func (a *Agent) answer(ctx context.Context, w *Work) error {
	text := or(w.Doc.Note, "The document says nothing about that.")
	raw, refused, err := a.deskWrite(ctx, w, "route_to_person", map[string]any{"case_id": w.CaseID, "run_id": w.RunID(), "answer": text})
	if err != nil {
		return a.fault(ctx, w, "route_to_person", err)
	}
	if refused != nil {
		a.refusedByDesk(ctx, w, "route_to_person", refused)
		return nil
	}
	_ = raw
	w.did("answered a question")
	w.Question, w.Step = "", stepCase
	a.say(w, "route_to_person", "answered", "waiting for a person")
	return nil
}

func (a *Agent) askApproval(ctx context.Context, w *Work) error {
	f := w.Facts
	args := map[string]any{"run_id": w.RunID(), "invoice": w.invoice(),
		"action": map[string]any{"tool": w.Write.Tool, "arguments": w.Write.Arguments},
		"amount": f.Amount, "currency": f.Currency, "document_type": "supplier_invoice", "posting_date": f.PostingDate,
		"summary": w.Write.Summary, "explanation": w.Explanation, "evidence": nonNil(w.Evidence)}
	if w.CaseID != "" {
		args["case_id"] = w.CaseID
	}
	next := Call{Run: w.Run, Tool: "request_approval", Arguments: canonical(w.Write.Arguments), Counted: true}
	if w.Started == nil {
		if reason, fine := allowed(w.Calls, next, false, w.Granted == "request_approval"); !fine {
			w.FailedStep = stepAsk
			w.Step, w.Via, w.Reason = stepHandOver, "route_to_person", reason
			w.Explanation = "I stopped myself before asking again: " + strings.ReplaceAll(reason, "_", " ") + "."
			return nil
		}
	}
	raw, refused, err := a.deskWrite(ctx, w, "request_approval", args)
	if err != nil {
		return a.fault(ctx, w, "request_approval", err)
	}
	w.Granted = ""
	w.Calls[len(w.Calls)-1].Arguments = next.Arguments
	if refused != nil {
		a.follow(ctx, w, stepAsk, "request_approval", map[string]any{"action": map[string]any{"tool": w.Write.Tool, "arguments": w.Write.Arguments},
			"amount": f.Amount, "currency": f.Currency, "posting_date": f.PostingDate}, refused)
		return nil
	}
	var out approvalState
	if err := json.Unmarshal(raw, &out); err != nil {
		return fmt.Errorf("agent: request_approval: %w", err)
	}
	w.RequestID, w.Step = out.RequestID, stepApproval
	w.Seen, w.Evidence = nil, nil
	w.did("asked to %s", map[string]string{toolPost: "post", toolNotify: "notify"}[w.Write.Tool])
	a.say(w, "request_approval", out.Status, "waiting for an approver")
	return nil
}

// correctCall lays what an approver changed over the arguments of the write, to
// ask again for exactly that.
func (w *Work) correctCall(input map[string]any) {
	f := &w.Facts
	for name, value := range input {
		w.Write.Arguments[name] = value
		text, ok := value.(string)
		if !ok {
			continue
		}
		switch name {
		case "amount":
			f.Amount = text
		case "posting_date":
			f.PostingDate = text
		case "supplier_id":
			f.SupplierID = text
		case "po_id":
			f.POID = text
		}
	}
	w.Write.Summary = fmt.Sprintf("%s, as corrected", strings.TrimSuffix(w.Write.Summary, ", as corrected"))
	w.ApprovalID, w.Step, w.Granted = "", stepAsk, "request_approval"
	w.did("sent back: retry_with")
}

type approvalState struct {
	RequestID   string          `json:"request_id"`
	Status      string          `json:"status"`
	ApprovalID  string          `json:"approval_id"`
	Reason      string          `json:"reason"`
	DecidedBy   json.RawMessage `json:"decided_by"`
	Instruction *Instruction    `json:"instruction"`
}

func (a *Agent) awaitApproval(ctx context.Context, w *Work) error {
	raw, refused, err := a.desk.Call(ctx, "get_approval", map[string]any{"workspace_id": w.Doc.Workspace, "request_id": w.RequestID, "wait_seconds": a.opt.PollSeconds}, nil)
	if err != nil {
		return a.fault(ctx, w, "get_approval", err)
	}
	if refused != nil {
		a.refusedByDesk(ctx, w, "get_approval", refused)
		return nil
	}
	var out approvalState
	if err := json.Unmarshal(raw, &out); err != nil {
		return fmt.Errorf("agent: get_approval: %w", err)
	}
	who := people(out.DecidedBy)
	switch out.Status {
	case "approved":
		w.decidedBy(who...)
		w.ApprovalID, w.Step = out.ApprovalID, stepWrite
		w.did("approved")
		a.say(w, "get_approval", "approved"+by(strings.Join(who, " and ")), w.Write.Tool)
	case "rejected":
		w.decidedBy(who...)
		if out.Instruction == nil {
			w.did("rejected")
		}
		switch {
		case out.Instruction != nil && out.Instruction.Kind == "retry_with":
			w.correctCall(out.Instruction.Input)
		case w.Write.Tool == toolPost && slices.Contains(w.Codes, "TOLERANCE_EXCEEDED"):
			w.prepareNotice()
		default:
			w.End, w.Why = EndStopped, "rejected: "+out.Reason
		}
		a.say(w, "get_approval", "rejected"+by(strings.Join(who, " and ")), or(w.End, w.nextTool()))
	case "expired":
		// Silence is not consent. A new run may ask once more.
		w.Run++
		w.Step = stepAsk
		w.did("the request expired")
		a.say(w, "get_approval", "expired", "ask again")
	case "withdrawn":
		w.End, w.Why = EndStopped, "the request was withdrawn"
	}
	return nil
}

func (a *Agent) hold(ctx context.Context, w *Work) error {
	last := w.Seen[len(w.Seen)-1]
	args := map[string]any{"code": last.Error.Code, "invoice": w.invoice(), "po_id": w.Facts.POID, "errors": w.Seen,
		"recheck_at": a.now().Add(time.Duration(a.opt.RecheckEvery) * time.Millisecond).UTC().Format(time.RFC3339)}
	var d struct {
		Line *int `json:"line"`
	}
	if json.Unmarshal(last.Error.Details, &d) == nil && d.Line != nil {
		args["line"] = *d.Line
	}
	if w.Doc.MaxChecks > 0 {
		args["max_checks"] = w.Doc.MaxChecks
	}
	raw, refused, err := a.deskWrite(ctx, w, "hold_and_recheck", args)
	if err != nil {
		return a.fault(ctx, w, "hold_and_recheck", err)
	}
	if refused != nil {
		a.refusedByDesk(ctx, w, "hold_and_recheck", refused)
		return nil
	}
	var out holdState
	if err := json.Unmarshal(raw, &out); err != nil {
		return fmt.Errorf("agent: hold_and_recheck: %w", err)
	}
	w.HoldID, w.NextCheck, w.Step = out.HoldID, a.nextCheck(), stepRecheck
	w.did("held")
	a.say(w, "hold_and_recheck", out.Status, "check again")
	return nil
}

type holdState struct {
	HoldID string `json:"hold_id"`
	Status string `json:"status"`
	CaseID string `json:"case_id"`
}

func (a *Agent) nextCheck() string {
	return a.now().Add(time.Duration(a.opt.RecheckEvery) * time.Millisecond).UTC().Format(time.RFC3339Nano)
}

// awaitRecheck leases what is due and checks when it is, or when the demo's day
// is over: the desk takes a report before the check is due.
func (a *Agent) awaitRecheck(ctx context.Context, w *Work) error {
	at, err := time.Parse(time.RFC3339Nano, w.NextCheck)
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	if wait := at.Sub(a.now()); wait > 0 {
		a.pause(ctx, wait)
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
	raw, refused, err := a.desk.Call(ctx, "list_due_rechecks", map[string]any{"workspace_id": w.Doc.Workspace}, nil)
	if err != nil {
		return a.fault(ctx, w, "list_due_rechecks", err)
	}
	due := "before it is due"
	if refused == nil && strings.Contains(string(raw), `"`+w.HoldID+`"`) {
		due = "due"
	}
	// A re-check is a run of its own; what was read in the last one may be read again.
	w.Run++
	w.Recheck, w.Step = "pending", stepReceipt
	a.say(w, "list_due_rechecks", due, "get_goods_receipt")
	return nil
}

func (a *Agent) reportRecheck(ctx context.Context, w *Work) error {
	raw, refused, err := a.deskWrite(ctx, w, "report_recheck", map[string]any{"hold_id": w.HoldID, "result": w.Recheck})
	if err != nil {
		return a.fault(ctx, w, "report_recheck", err)
	}
	if refused != nil {
		a.refusedByDesk(ctx, w, "report_recheck", refused)
		return nil
	}
	var out holdState
	if err := json.Unmarshal(raw, &out); err != nil {
		return fmt.Errorf("agent: report_recheck: %w", err)
	}
	a.say(w, "report_recheck", w.Recheck, out.Status)
	w.did("%s", strings.ReplaceAll(w.Recheck, "_", " "))
	available := w.Recheck == "available"
	w.Recheck = ""
	switch {
	case available:
		w.Seen, w.Evidence = nil, nil
		w.Step = stepMatch
	case out.Status == "escalated" && out.CaseID != "":
		w.CaseID, w.FailedStep, w.Step = out.CaseID, stepReceipt, stepCase
		w.Seen, w.Evidence = nil, nil
		a.say(w, "report_recheck", "escalated", "waiting for a person")
	case out.Status == "escalated":
		// The desk opened a case; handing over joins it and tells which.
		w.Seen = w.Seen[:1]
		w.Step, w.Via, w.Reason, w.FailedStep = stepHandOver, "route_to_person", "retry_exhausted", stepReceipt
		w.Explanation = "The goods receipt was still missing at every re-check."
	default:
		w.Seen = w.Seen[:1]
		w.NextCheck, w.Step = a.nextCheck(), stepRecheck
	}
	return nil
}

// people reads who decided: a name, a list of names, or objects with one.
func people(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		if one == "" {
			return nil
		}
		return []string{one}
	}
	var many []json.RawMessage
	if json.Unmarshal(raw, &many) == nil {
		var all []string
		for _, m := range many {
			all = append(all, people(m)...)
		}
		return all
	}
	var object struct {
		Name string `json:"name"`
	}
	if json.Unmarshal(raw, &object) == nil && object.Name != "" {
		return []string{object.Name}
	}
	return nil
}

func by(who string) string {
	if who == "" {
		return ""
	}
	return " by " + who
}

func or(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

func nonNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
