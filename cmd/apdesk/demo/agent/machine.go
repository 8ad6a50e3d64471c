package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/mcpcall"
)

const (
	toolPost   = "post_invoice_adjustment"
	toolNotify = "notify_supplier"
)

// advance does one step. The work is saved after each, so a step makes at most
// one call that changes anything.
func (a *Agent) advance(ctx context.Context, w *Work) error {
	switch w.Step {
	case stepInvoice:
		return a.readInvoice(ctx, w)
	case stepSupplier:
		return a.readSupplier(ctx, w)
	case stepDuplicate:
		return a.checkDuplicate(ctx, w)
	case stepEarlier:
		return a.readEarlier(ctx, w)
	case stepOrder:
		return a.readOrder(ctx, w)
	case stepReceipt:
		return a.readReceipt(ctx, w)
	case stepMatch:
		return a.runMatch(ctx, w)
	case stepWrite:
		return a.tryWrite(ctx, w)
	case stepAsk:
		return a.askApproval(ctx, w)
	case stepHandOver:
		return a.handOver(ctx, w)
	case stepHold:
		return a.hold(ctx, w)
	case stepReport:
		return a.reportRecheck(ctx, w)
	case stepAnswer:
		return a.answer(ctx, w)
	case stepCase:
		return a.awaitCase(ctx, w)
	case stepApproval:
		return a.awaitApproval(ctx, w)
	case stepRecheck:
		return a.awaitRecheck(ctx, w)
	}
	return fmt.Errorf("agent: %s stands at no step: %q", w.Doc.Key, w.Step)
}

func (a *Agent) readInvoice(ctx context.Context, w *Work) error {
	raw, ok, err := a.ask(ctx, w, "get_invoice", map[string]any{"invoice_id": w.Facts.InvoiceID})
	if err != nil || !ok {
		return err
	}
	var in struct {
		Number       string `json:"number"`
		SupplierID   string `json:"supplier_id"`
		SupplierName string `json:"supplier_name"`
		TaxID        string `json:"tax_id"`
		BankAccount  string `json:"bank_account"`
		POID         string `json:"po_id"`
		Amount       string `json:"amount"`
		Currency     string `json:"currency"`
		InvoiceDate  string `json:"invoice_date"`
		DueDate      string `json:"due_date"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return fmt.Errorf("agent: get_invoice: %w", err)
	}
	if in.Number != w.Doc.Number && slices.Contains(w.Corrected, "get_invoice") && w.Facts.InvoiceID != w.Doc.InvoiceID && w.CaseID == "" {
		// The corrected id leads to somebody else's invoice: no second guess.
		w.Facts.InvoiceID = w.Doc.InvoiceID
		w.Step, w.Via, w.Reason, w.FailedStep = stepHandOver, "route_to_person", "retry_exhausted", stepInvoice
		w.Explanation = "A near id exists, but it is another invoice (" + in.Number + " instead of " + w.Doc.Number + "). I did not use it."
		return nil
	}
	w.Record = raw
	f := &w.Facts
	f.Number, f.SupplierID, f.SupplierName, f.TaxID, f.BankAccount = in.Number, in.SupplierID, in.SupplierName, in.TaxID, in.BankAccount
	f.POID, f.Amount, f.Currency, f.InvoiceDate, f.DueDate = in.POID, in.Amount, in.Currency, in.InvoiceDate, in.DueDate
	w.Step = stepSupplier
	return nil
}

func (a *Agent) readSupplier(ctx context.Context, w *Work) error {
	_, ok, err := a.ask(ctx, w, "get_supplier_history", map[string]any{"supplier_id": w.Facts.SupplierID})
	if err != nil || !ok {
		return err
	}
	w.Step = stepDuplicate
	return nil
}

func (a *Agent) checkDuplicate(ctx context.Context, w *Work) error {
	_, ok, err := a.ask(ctx, w, "check_duplicate_invoice", map[string]any{
		"invoice_id": w.Facts.InvoiceID, "supplier_id": w.Facts.SupplierID, "number": w.Facts.Number})
	if err != nil || !ok {
		return err
	}
	w.afterDuplicate()
	return nil
}

// readEarlier fetches the other invoice, so that people see both side by side. The
// handover is prepared already and does not depend on it.
func (a *Agent) readEarlier(ctx context.Context, w *Work) error {
	args := map[string]any{"invoice_id": w.Seen[len(w.Seen)-1].Error.Detail("duplicate_of")}
	next := Call{Run: w.Run, Tool: "get_invoice", Arguments: canonical(args), Counted: true}
	w.Step = stepHandOver
	if _, fine := allowed(w.Calls, next, false, false); !fine && w.Started == nil {
		return nil
	}
	w.Step = stepEarlier // until it is answered, for a restart
	raw, refused, err := a.call(ctx, w, false, "get_invoice", args)
	if err != nil {
		return a.fault(ctx, w, "get_invoice", err)
	}
	w.Step = stepHandOver
	if refused != nil {
		next.Code = refused.Code
	} else {
		w.Earlier = raw
		w.Evidence = append(w.Evidence, map[string]any{"kind": "comparison", "title": "Possible duplicate", "left": plain(w.Record), "right": plain(raw)})
	}
	w.Calls = append(w.Calls, next)
	a.say(w, "get_invoice", or(next.Code, "ok"), "")
	return nil
}

func (w *Work) afterDuplicate() {
	w.Step = stepOrder
	if w.Facts.NonPO || w.Facts.POID == "" {
		w.prepareWrite("There is no purchase order.")
	}
}

func (a *Agent) readOrder(ctx context.Context, w *Work) error {
	raw, ok, err := a.ask(ctx, w, "get_purchase_order", map[string]any{"po_id": w.Facts.POID})
	if err != nil || !ok {
		return err
	}
	w.Evidence = append(w.Evidence, record("PO "+w.Facts.POID, "get_purchase_order", raw))
	w.Step = stepReceipt
	return nil
}

func (a *Agent) readReceipt(ctx context.Context, w *Work) error {
	_, ok, err := a.ask(ctx, w, "get_goods_receipt", map[string]any{"po_id": w.Facts.POID})
	if err != nil {
		return err
	}
	if w.Recheck != "" {
		// A re-check is reported either way; only afterwards the work goes on.
		if ok {
			w.Recheck, w.Step = "available", stepReport
		} else if w.Step == stepHold {
			w.Recheck, w.Step = "still_missing", stepReport
		}
		return nil
	}
	if ok {
		w.Step = stepMatch
	}
	return nil
}

func (a *Agent) runMatch(ctx context.Context, w *Work) error {
	args := map[string]any{"invoice_id": w.Facts.InvoiceID, "po_id": w.Facts.POID}
	if w.Facts.TwoWay {
		args["mode"] = "two_way"
	}
	raw, ok, err := a.ask(ctx, w, "run_three_way_match", args)
	if err != nil || !ok {
		return err
	}
	var m struct {
		Result       string              `json:"result"`
		Lines        []map[string]any    `json:"lines"`
		Expected     string              `json:"expected"`
		Invoiced     string              `json:"invoiced"`
		Difference   string              `json:"difference"`
		Percent      string              `json:"percent"`
		LimitPercent string              `json:"limit_percent"`
		Currency     string              `json:"currency"`
		Information  *mcpcall.NamedError `json:"information"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		return fmt.Errorf("agent: run_three_way_match: %w", err)
	}
	if m.Information == nil {
		a.say(w, "run_three_way_match", "matched", "")
		w.End, w.Why = EndReleased, "the payment run takes it"
		w.did("released")
		return nil
	}
	w.met(m.Information.Code)
	w.Calls[len(w.Calls)-1].Code = m.Information.Code
	w.Evidence = append(w.Evidence,
		table("Order, receipt and invoice", []string{"line", "text", "ordered", "received", "unit_price", "value"}, m.Lines),
		map[string]any{"kind": "record", "title": "Difference", "source": "run_three_way_match", "data": map[string]any{
			"received_value": m.Expected + " " + m.Currency, "invoiced": m.Invoiced + " " + m.Currency,
			"difference": m.Difference + " " + m.Currency, "percent": m.Percent + " %", "limit": m.LimitPercent + " %"}})
	w.prepareWrite(m.Information.Message)
	w.Step = stepAsk
	a.say(w, "run_three_way_match", m.Information.Code, m.Information.NextAction)
	return nil
}

// prepareWrite sets the posting of the whole invoice as the write to be made.
// Whether it needs an approval is not for the agent to know: it tries.
func (w *Work) prepareWrite(because string) {
	f := w.Facts
	args := map[string]any{"invoice_id": f.InvoiceID, "supplier_id": f.SupplierID, "amount": f.Amount, "currency": f.Currency,
		"posting_date": f.PostingDate, "text": "Invoice " + f.Number + ". " + because}
	if f.POID != "" {
		args["po_id"] = f.POID
	}
	w.Write = &Write{Tool: toolPost, Arguments: args,
		Summary: fmt.Sprintf("Post invoice %s of %s at %s %s", f.Number, f.SupplierName, f.Amount, f.Currency)}
	w.ApprovalID, w.Step = "", stepWrite
	w.Explanation = because
}

func (w *Work) prepareNotice() {
	f := w.Facts
	w.Write = &Write{Tool: toolNotify,
		Arguments: map[string]any{"invoice_id": f.InvoiceID, "supplier_id": f.SupplierID,
			"message": fmt.Sprintf("Your invoice %s over %s %s differs from our order %s and was not accepted. Please send a corrected invoice.", f.Number, f.Amount, f.Currency, f.POID)},
		Summary: fmt.Sprintf("Ask %s for a corrected invoice %s", f.SupplierName, f.Number)}
	w.ApprovalID, w.Step = "", stepWrite
	if slices.Contains(w.Codes, "APPROVAL_MISSING") {
		w.Step = stepAsk // it knows by now
	}
	w.Explanation = "The posting was rejected; the supplier should know."
}

func (a *Agent) tryWrite(ctx context.Context, w *Work) error {
	args := maps.Clone(w.Write.Arguments)
	if w.ApprovalID != "" {
		args["approval_id"] = w.ApprovalID
	}
	raw, ok, err := a.ask(ctx, w, w.Write.Tool, args)
	if err != nil || !ok {
		return err
	}
	var out struct {
		DocumentNumber string `json:"document_number"`
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		return fmt.Errorf("agent: %s: %w", w.Write.Tool, err)
	}
	w.Document, w.End, w.Why = out.DocumentNumber, EndWritten, w.Write.Tool+" ran as approved, document "+out.DocumentNumber
	w.did("%s %s", map[string]string{toolPost: "posted", toolNotify: "notified supplier"}[w.Write.Tool], out.DocumentNumber)
	return nil
}

// ask makes one ERP call within the loop limits. ok is false when the answer was
// an error; what the error says to do next is then already the work's next step.
func (a *Agent) ask(ctx context.Context, w *Work, tool string, args map[string]any) (raw json.RawMessage, ok bool, err error) {
	write := tool == toolPost || tool == toolNotify
	approvalID, _ := args["approval_id"].(string)
	next := Call{Run: w.Run, Tool: tool, Arguments: canonical(args), ApprovalID: approvalID, Counted: true}
	granted := w.Granted == tool
	if w.Started == nil {
		if reason, fine := allowed(w.Calls, next, write, granted); !fine {
			w.FailedStep = w.Step
			w.Step, w.Via, w.Reason = stepHandOver, "route_to_person", reason
			w.Explanation = "I stopped myself before " + tool + ": " + strings.ReplaceAll(reason, "_", " ") + "."
			a.say(w, tool, "not called", reason)
			return nil, false, nil
		}
	}
	step := w.Step
	if write {
		args = maps.Clone(args)
	}
	raw, refused, err := a.call(ctx, w, false, tool, args)
	if err != nil {
		return nil, false, a.fault(ctx, w, tool, err)
	}
	if granted {
		w.Granted = ""
	}
	if refused != nil {
		next.Code, next.Transient = refused.Code, transient(refused)
	}
	w.Calls = append(w.Calls, next)
	if refused == nil {
		if tool != "run_three_way_match" { // which says itself how it came out
			a.say(w, tool, "ok", "")
		}
		return raw, true, nil
	}
	a.follow(ctx, w, step, tool, args, refused)
	return nil, false, nil
}

func transient(e *mcpcall.NamedError) bool {
	return e.NextAction == "hold_and_recheck" && e.Retryable
}

// follow does what the error says.
func (a *Agent) follow(ctx context.Context, w *Work, step, tool string, args map[string]any, e *mcpcall.NamedError) {
	a.say(w, tool, e.Code, e.NextAction)
	if transient(e) {
		var d struct {
			After json.Number `json:"retry_after_seconds"`
		}
		_ = json.Unmarshal(e.Details, &d)
		wait, err := d.After.Int64()
		if err != nil {
			wait = 30
		}
		a.pause(ctx, time.Duration(wait)*time.Second)
		w.Step = step
		return
	}
	w.met(e.Code)
	shown := maps.Clone(args)
	delete(shown, "idempotency_key")
	delete(shown, "approval_id")
	w.Seen = append(w.Seen, Seen{Tool: tool, Arguments: shown, At: a.now().UTC().Format(time.RFC3339), Error: e})
	w.Evidence = append(w.Evidence, evidenceOf(w, tool, e)...)
	w.FailedStep = step

	switch e.NextAction {
	case "fix_input_and_retry":
		if mayCorrect(w.Corrected, tool) && w.correct(tool, e) {
			w.Corrected = append(w.Corrected, tool)
			w.Retries++
			w.Step = step
			w.did("corrected an id")
			return
		}
		w.Reason = "named_error"
		if slices.Contains(w.Corrected, tool) {
			w.Reason = "retry_exhausted"
		}
		w.Step, w.Via = stepHandOver, "route_to_person"
	case "hold_and_recheck":
		w.Step = stepHold
	case "request_approval":
		if w.Write == nil {
			w.prepareWrite(e.Message)
		}
		if w.ApprovalID != "" {
			// An approval that no longer holds: asking anew is a new run, which the
			// budget bounds.
			w.Run++
		}
		w.ApprovalID, w.Step = "", stepAsk
		return
	case "stop_and_escalate":
		w.Step, w.Via, w.Reason = stepHandOver, "stop_and_escalate", "named_error"
	default:
		w.Step, w.Via, w.Reason = stepHandOver, "route_to_person", "named_error"
	}
	w.Explanation = explain(w, e)
	if e.Code == "DUPLICATE_INVOICE" && w.Step == stepHandOver && e.Detail("duplicate_of") != "" {
		w.Step = stepEarlier
	}
}

// correct puts a better input in place, if there is one.
func (w *Work) correct(tool string, e *mcpcall.NamedError) bool {
	change := func(field *string, better string) bool {
		w.Tried = append(w.Tried, *field)
		if better == "" || better == *field {
			return false
		}
		*field = better
		return true
	}
	f := &w.Facts
	switch e.Code {
	case "INVOICE_NOT_FOUND":
		return change(&f.InvoiceID, correctID(f.InvoiceID, w.Tried, e))
	case "PO_NOT_FOUND":
		return change(&f.POID, correctID(f.POID, w.Tried, e))
	case "SUPPLIER_NOT_FOUND":
		return change(&f.SupplierID, correctSupplier(f.SupplierID, f.SupplierName, w.Tried, e))
	}
	return false
}

// call sends one call under a number that is saved before, so that after a crash
// the same call goes out under the same key.
func (a *Agent) call(ctx context.Context, w *Work, desk bool, tool string, args map[string]any) (json.RawMessage, *mcpcall.NamedError, error) {
	if w.Started == nil || w.Started.Tool != tool || w.Started.Desk != desk {
		w.Seq++
		w.Started = &Started{Seq: w.Seq, Desk: desk, Tool: tool, Arguments: args}
		if err := w.save(a.opt.Dir); err != nil {
			return nil, nil, err
		}
	}
	send := maps.Clone(w.Started.Arguments)
	to := a.erp
	if desk {
		to = a.desk
	}
	if desk || tool == toolPost || tool == toolNotify {
		send["idempotency_key"] = fmt.Sprintf("%s-%d", w.RunID(), w.Started.Seq)
	}
	raw, refused, err := to.Call(ctx, tool, send, map[string]any{"apdesk.demo/run_id": w.RunID()})
	if err != nil {
		return nil, nil, err
	}
	w.Started = nil
	return raw, refused, nil
}

// fault ends the work on an invoice that the agent cannot go on with; a stop of
// the agent itself is passed on.
func (a *Agent) fault(ctx context.Context, w *Work, tool string, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var refused *mcpcall.NamedError
	if errors.As(err, &refused) {
		w.met(refused.Code)
	}
	w.End, w.Why = EndFailed, tool+": "+err.Error()
	return nil
}
