package erp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/cockroachdb/apd/v3"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/data"
	"github.com/apdesk/apdesk/cmd/apdesk/demo/mcpcall"
)

// RunMeta is the _meta key under which a caller may name its run.
const RunMeta = "apdesk.demo/run_id"

type details map[string]any

// named builds a five-field error.
func named(code, nextAction string, retryable bool, d details, format string, args ...any) *mcpcall.NamedError {
	if d == nil {
		d = details{}
	}
	raw, err := json.Marshal(d)
	if err != nil {
		raw = json.RawMessage("{}")
	}
	return &mcpcall.NamedError{Code: code, Message: fmt.Sprintf(format, args...), Retryable: retryable, NextAction: nextAction, Details: raw}
}

func invalid(path, message string) *mcpcall.NamedError {
	return named("VALIDATION_ERROR", "fix_input_and_retry", true,
		details{"issues": []details{{"path": path, "message": message}}}, "%s: %s", path, message)
}

type (
	invoiceArgs struct {
		InvoiceID string `json:"invoice_id" jsonschema:"the ERP's invoice id, ten digits"`
	}
	orderArgs struct {
		POID string `json:"po_id" jsonschema:"purchase order number, ten digits"`
	}
	supplierArgs struct {
		SupplierID string `json:"supplier_id" jsonschema:"supplier number, such as V-2001"`
	}
	duplicateArgs struct {
		InvoiceID  string `json:"invoice_id"`
		SupplierID string `json:"supplier_id"`
		Number     string `json:"number" jsonschema:"the supplier's invoice number as written"`
	}
	matchArgs struct {
		InvoiceID string `json:"invoice_id"`
		POID      string `json:"po_id"`
		Mode      string `json:"mode,omitempty" jsonschema:"three_way (default) or two_way"`
	}
	postArgs struct {
		InvoiceID      string `json:"invoice_id"`
		SupplierID     string `json:"supplier_id"`
		POID           string `json:"po_id,omitempty"`
		Amount         string `json:"amount" jsonschema:"decimal string"`
		Currency       string `json:"currency"`
		PostingDate    string `json:"posting_date" jsonschema:"YYYY-MM-DD"`
		Text           string `json:"text"`
		ApprovalID     string `json:"approval_id,omitempty" jsonschema:"the approval of exactly this call"`
		IdempotencyKey string `json:"idempotency_key,omitempty"`
	}
	notifyArgs struct {
		InvoiceID      string `json:"invoice_id"`
		SupplierID     string `json:"supplier_id"`
		Message        string `json:"message"`
		ApprovalID     string `json:"approval_id,omitempty" jsonschema:"the approval of exactly this call"`
		IdempotencyKey string `json:"idempotency_key,omitempty"`
	}
)

// newMCPServer registers the eight tools.
func (s *Server) newMCPServer() *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "simulated-erp", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{},
		Instructions: "Invoices, orders and receipts. The two write tools need the approval_id of exactly that call.",
	})
	read(s, server, "get_invoice", "Reads one invoice. INVOICE_NOT_FOUND names near ids.", s.getInvoice)
	read(s, server, "get_purchase_order", "Reads an open purchase order. PO_NOT_FOUND names near numbers; PO_CLOSED says who closed it, when and why.", s.getPurchaseOrder)
	read(s, server, "get_goods_receipt", "Reads what was received for an order. GR_MISSING while nothing was.", s.getGoodsReceipt)
	read(s, server, "run_three_way_match", "Compares order, receipt and invoice. A clean match releases the invoice; a difference above the limit comes back as the information TOLERANCE_EXCEEDED.", s.runMatch)
	read(s, server, "get_supplier_history", "Reads a supplier and its history. SUPPLIER_NOT_FOUND names near ids.", s.getSupplierHistory)
	read(s, server, "check_duplicate_invoice", "Looks for an earlier invoice with the same number. DUPLICATE_INVOICE names it.", s.checkDuplicate)
	write(s, server, "post_invoice_adjustment", "Posts the invoice at the given amount. Needs approval_id.", s.post)
	write(s, server, "notify_supplier", "Sends the supplier a message about the invoice. Needs approval_id.", s.notify)
	return server
}

func read[A any](s *Server, server *mcp.Server, name, description string, run func(ctx context.Context, runID string, in A) (any, *mcpcall.NamedError)) {
	register(s, server, &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true}},
		func(ctx context.Context, req *mcp.CallToolRequest, in A) (any, *mcpcall.NamedError) {
			runID, _ := req.Params.Meta[RunMeta].(string)
			out, refused := run(ctx, runID, in)
			if refused == nil {
				return out, nil
			}
			// Perhaps a person has just said at the desk that it was put right. Looking
			// again does no harm when not, and the office may have acted meanwhile.
			if err := s.office.sync(ctx); err != nil {
				s.log.Warn("office", "error", err)
				return nil, refused
			}
			return run(ctx, runID, in)
		})
}

func write[A any](s *Server, server *mcp.Server, name, description string, run func(ctx context.Context, raw json.RawMessage, in A) (any, *mcpcall.NamedError)) {
	no := false
	register(s, server, &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{DestructiveHint: &no, IdempotentHint: true}},
		func(ctx context.Context, req *mcp.CallToolRequest, in A) (any, *mcpcall.NamedError) {
			return run(ctx, req.Params.Arguments, in)
		})
}

// register answers with five-field errors even when the arguments are wrong.
func register[A any](s *Server, server *mcp.Server, tool *mcp.Tool, run func(context.Context, *mcp.CallToolRequest, A) (any, *mcpcall.NamedError)) {
	schema, err := jsonschema.For[A](nil)
	if err != nil {
		panic("erp: schema of " + tool.Name + ": " + err.Error())
	}
	tool.InputSchema = schema
	server.AddTool(tool, func(ctx context.Context, req *mcp.CallToolRequest) (result *mcp.CallToolResult, err error) {
		defer func() {
			if r := recover(); r != nil {
				s.log.Error("tool failed", "tool", tool.Name, "panic", r)
				result, err = answer(nil, named("INTERNAL", "stop_and_escalate", false, nil, "The ERP could not do this.")), nil
			}
		}()
		var in A
		raw := req.Params.Arguments
		if len(raw) == 0 {
			raw = json.RawMessage("{}")
		}
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			return answer(nil, invalid("", err.Error())), nil
		}
		if _, err := dec.Token(); err != io.EOF {
			return answer(nil, invalid("", "more than one value")), nil
		}
		for _, field := range schema.Required {
			var all map[string]json.RawMessage
			if json.Unmarshal(raw, &all) == nil {
				if v, ok := all[field]; !ok || string(v) == `""` {
					return answer(nil, invalid("/"+field, "is required")), nil
				}
			}
		}
		if err := s.books.change(func(b *state) error { b.Calls[tool.Name]++; return nil }); err != nil {
			return answer(nil, s.broken(err)), nil
		}
		return answer(run(ctx, req, in)), nil
	})
}

func answer(out any, refused *mcpcall.NamedError) *mcp.CallToolResult {
	if refused != nil {
		raw, err := json.Marshal(refused)
		if err != nil {
			raw = []byte(`{"code":"INTERNAL","message":"The ERP could not do this.","retryable":false,"next_action":"stop_and_escalate","details":{}}`)
		}
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: string(raw)}}}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return answer(nil, named("INTERNAL", "stop_and_escalate", false, nil, "The ERP could not do this."))
	}
	return &mcp.CallToolResult{StructuredContent: json.RawMessage(raw), Content: []mcp.Content{&mcp.TextContent{Text: string(raw)}}}
}

func (s *Server) broken(err error) *mcpcall.NamedError {
	s.log.Error("books", "error", err)
	return named("INTERNAL", "stop_and_escalate", false, nil, "The ERP could not keep its books.")
}

type invoiceView struct {
	InvoiceID      string `json:"invoice_id"`
	Company        string `json:"company_code"`
	Number         string `json:"number"`
	SupplierID     string `json:"supplier_id"`
	SupplierName   string `json:"supplier_name"`
	TaxID          string `json:"tax_id,omitempty"`
	BankAccount    string `json:"bank_account,omitempty"`
	POID           string `json:"po_id,omitempty"`
	Amount         string `json:"amount"`
	Currency       string `json:"currency"`
	InvoiceDate    string `json:"invoice_date"`
	DueDate        string `json:"due_date,omitempty"`
	Status         string `json:"status"`
	DocumentNumber string `json:"document_number,omitempty"`
	PaidOn         string `json:"paid_on,omitempty"`
}

func viewOf(r Record) invoiceView {
	return invoiceView{InvoiceID: r.ID, Company: r.Workspace, Number: r.Number, SupplierID: r.SupplierID, SupplierName: r.SupplierName,
		TaxID: r.TaxID, BankAccount: r.BankAccount, POID: r.OrderID, Amount: r.Amount, Currency: r.Currency,
		InvoiceDate: r.InvoiceDate, DueDate: r.DueDate, Status: r.Status, DocumentNumber: r.DocumentNumber, PaidOn: r.PaidOn}
}

func (s *Server) getInvoice(_ context.Context, _ string, in invoiceArgs) (out any, refused *mcpcall.NamedError) {
	s.books.view(func(b *state) {
		r, ok := b.Invoices[in.InvoiceID]
		if !ok {
			refused = invoiceNotFound(b, in.InvoiceID)
			return
		}
		out = viewOf(r)
	})
	return out, refused
}

func invoiceNotFound(b *state, id string) *mcpcall.NamedError {
	return named("INVOICE_NOT_FOUND", "fix_input_and_retry", true,
		details{"invoice_id": id, "near_ids": nearIDs(id, slices.Collect(maps.Keys(b.Invoices)))},
		"There is no invoice %s.", id)
}

func poNotFound(b *state, id string) *mcpcall.NamedError {
	return named("PO_NOT_FOUND", "fix_input_and_retry", true,
		details{"po_id": id, "near_ids": nearIDs(id, slices.Collect(maps.Keys(b.Orders)))},
		"There is no purchase order %s.", id)
}

type openOrder struct {
	POID  string `json:"po_id"`
	Value string `json:"value"`
	Text  string `json:"text"`
}

func (s *Server) getPurchaseOrder(_ context.Context, _ string, in orderArgs) (out any, refused *mcpcall.NamedError) {
	s.books.view(func(b *state) {
		o, ok := b.Orders[in.POID]
		if !ok {
			refused = poNotFound(b, in.POID)
			return
		}
		m, err := compare(o, "0", true)
		if err != nil {
			refused = s.broken(err)
			return
		}
		if o.Closed {
			others := []openOrder{}
			for _, id := range slices.Sorted(maps.Keys(b.Orders)) {
				other := b.Orders[id]
				if other.SupplierID != o.SupplierID || other.Closed || id == o.ID {
					continue
				}
				if v, err := compare(other, "0", true); err == nil {
					others = append(others, openOrder{POID: id, Value: v.Expected, Text: other.Lines[0].Text})
				}
			}
			refused = named("PO_CLOSED", "route_to_person", false, details{
				"po_id": o.ID, "closed_on": o.ClosedOn, "closed_by": o.ClosedBy, "closed_because": o.ClosedBecause,
				"ordered_value": m.Expected, "currency": o.Currency, "lines": m.Lines, "other_open_orders": others,
			}, "PO %s was closed on %s by %s.", o.ID, o.ClosedOn, o.ClosedBy)
			return
		}
		out = details{"po_id": o.ID, "supplier_id": o.SupplierID, "status": "open", "ordered_on": o.OrderedOn, "currency": o.Currency,
			"value": m.Expected, "lines": m.Lines}
	})
	return out, refused
}

func (s *Server) getGoodsReceipt(_ context.Context, runID string, in orderArgs) (out any, refused *mcpcall.NamedError) {
	err := s.books.change(func(b *state) error {
		o, ok := b.Orders[in.POID]
		if !ok {
			refused = poNotFound(b, in.POID)
			return nil
		}
		for i, l := range o.Lines {
			if l.ReceiptAfterMisses == 0 || orZero(l.Received) != "0" {
				continue
			}
			asked := b.Misses[o.ID]
			if len(asked) >= l.ReceiptAfterMisses && !slices.Contains(asked, runID) {
				// The lorry has come.
				o.Lines = slices.Clone(o.Lines)
				o.Lines[i].Received = l.Quantity
				b.Orders[o.ID] = o
				continue
			}
			if !slices.Contains(asked, runID) {
				b.Misses[o.ID] = append(asked, runID)
			}
			refused = named("GR_MISSING", "hold_and_recheck", false, details{"po_id": o.ID, "line": l.Line},
				"Nothing has been received for PO %s, line %d.", o.ID, l.Line)
			return nil
		}
		lines := []details{}
		for _, l := range o.Lines {
			lines = append(lines, details{"line": l.Line, "text": l.Text, "ordered": l.Quantity, "received": orZero(l.Received)})
		}
		out = details{"po_id": o.ID, "lines": lines}
		return nil
	})
	if err != nil {
		return nil, s.broken(err)
	}
	return out, refused
}

type matchView struct {
	Result       string              `json:"result"`
	InvoiceID    string              `json:"invoice_id"`
	POID         string              `json:"po_id"`
	Mode         string              `json:"mode"`
	Lines        []matchLine         `json:"lines"`
	Expected     string              `json:"expected"`
	Invoiced     string              `json:"invoiced"`
	Difference   string              `json:"difference"`
	Percent      string              `json:"percent"`
	LimitPercent string              `json:"limit_percent"`
	Currency     string              `json:"currency"`
	Information  *mcpcall.NamedError `json:"information,omitempty"`
}

func (s *Server) runMatch(_ context.Context, _ string, in matchArgs) (out any, refused *mcpcall.NamedError) {
	if in.Mode != "" && in.Mode != "three_way" && in.Mode != "two_way" {
		return nil, invalid("/mode", "must be three_way or two_way")
	}
	err := s.books.change(func(b *state) error {
		r, ok := b.Invoices[in.InvoiceID]
		if !ok {
			refused = invoiceNotFound(b, in.InvoiceID)
			return nil
		}
		o, ok := b.Orders[in.POID]
		if !ok {
			refused = poNotFound(b, in.POID)
			return nil
		}
		if o.Currency != r.Currency || o.SupplierID != r.SupplierID {
			refused = named("UNPROCESSABLE_ENTITY", "route_to_person", false,
				details{"invoice_id": r.ID, "po_id": o.ID}, "PO %s is not for this invoice's supplier and currency.", o.ID)
			return nil
		}
		twoWay := in.Mode == "two_way"
		if twoWay && r.Matching != "two_way" {
			refused = named("UNPROCESSABLE_ENTITY", "route_to_person", false, details{"invoice_id": r.ID},
				"Nobody has allowed a two-way match for invoice %s.", r.ID)
			return nil
		}
		m, err := compare(o, r.Amount, twoWay)
		if err != nil {
			return err
		}
		v := matchView{Result: "matched", InvoiceID: r.ID, POID: o.ID, Mode: "three_way", Lines: m.Lines, Expected: m.Expected, Invoiced: r.Amount,
			Difference: m.Difference, Percent: m.Percent, LimitPercent: tolerancePercent, Currency: r.Currency}
		if twoWay {
			v.Mode = "two_way"
		}
		if m.Exceeded {
			v.Result = "tolerance_exceeded"
			v.Information = named("TOLERANCE_EXCEEDED", "request_approval", false,
				details{"invoice_id": r.ID, "po_id": o.ID, "difference": m.Difference, "percent": m.Percent, "limit_percent": tolerancePercent},
				"Invoice %s differs from PO %s by %s %s (%s %%), limit %s %%.", r.ID, o.ID, m.Difference, r.Currency, m.Percent, tolerancePercent)
			out = v
			return nil
		}
		if r.Status == Open {
			r.Status, r.OrderID = Released, o.ID
			b.Invoices[r.ID] = r
		}
		out = v
		return nil
	})
	if err != nil {
		return nil, s.broken(err)
	}
	return out, refused
}

func (s *Server) getSupplierHistory(_ context.Context, _ string, in supplierArgs) (out any, refused *mcpcall.NamedError) {
	s.books.view(func(b *state) {
		sup, ok := b.Suppliers[in.SupplierID]
		if !ok {
			near := []details{}
			for _, id := range nearIDs(in.SupplierID, slices.Collect(maps.Keys(b.Suppliers))) {
				n := b.Suppliers[id]
				near = append(near, details{"supplier_id": id, "name": n.Name, "tax_id": n.TaxID, "bank_account": n.BankAccount})
			}
			refused = named("SUPPLIER_NOT_FOUND", "fix_input_and_retry", true, details{"supplier_id": in.SupplierID, "near": near},
				"There is no supplier %s.", in.SupplierID)
			return
		}
		out = supplierView(sup)
	})
	return out, refused
}

func supplierView(sup data.Supplier) details {
	return details{"supplier_id": sup.ID, "name": sup.Name, "tax_id": sup.TaxID, "bank_account": sup.BankAccount, "since": sup.Since,
		"invoices_last_year": sup.InvoicesLastYear, "last_paid": sup.LastPaid}
}

func (s *Server) checkDuplicate(_ context.Context, _ string, in duplicateArgs) (out any, refused *mcpcall.NamedError) {
	s.books.view(func(b *state) {
		this, ok := b.Invoices[in.InvoiceID]
		if !ok {
			refused = invoiceNotFound(b, in.InvoiceID)
			return
		}
		want := normalNumber(in.Number)
		for _, id := range slices.Sorted(maps.Keys(b.Invoices)) {
			other := b.Invoices[id]
			if id == in.InvoiceID || other.Workspace != this.Workspace || other.SupplierID != in.SupplierID ||
				normalNumber(other.Number) != want || b.NotDuplicates[pair(id, in.InvoiceID)] {
				continue
			}
			refused = named("DUPLICATE_INVOICE", "route_to_person", false, details{
				"invoice_id": in.InvoiceID, "duplicate_of": id, "number": in.Number, "earlier_number": other.Number, "normalised_number": want,
			}, "Invoice %s has the number of invoice %s (%s and %s).", in.InvoiceID, id, in.Number, other.Number)
			return
		}
		out = details{"invoice_id": in.InvoiceID, "normalised_number": want, "duplicate": false}
	})
	return out, refused
}

func pair(a, b string) string {
	if a > b {
		a, b = b, a
	}
	return a + "|" + b
}

func (s *Server) post(ctx context.Context, raw json.RawMessage, in postArgs) (any, *mcpcall.NamedError) {
	amount, _, err := apd.NewFromString(in.Amount)
	if err != nil || amount.Form != apd.Finite || amount.Sign() <= 0 {
		return nil, invalid("/amount", "must be a decimal above zero")
	}
	return s.perform(ctx, raw, performing{
		tool: "post_invoice_adjustment", invoice: in.InvoiceID, approval: in.ApprovalID,
		book: func(b *state, r *Record) Booking {
			b.NextDoc++
			r.Status, r.DocumentNumber = Posted, fmt.Sprint(b.NextDoc)
			return Booking{DocumentNumber: r.DocumentNumber, Amount: in.Amount, Currency: in.Currency, PostingDate: in.PostingDate}
		},
	})
}

func (s *Server) notify(ctx context.Context, raw json.RawMessage, in notifyArgs) (any, *mcpcall.NamedError) {
	return s.perform(ctx, raw, performing{
		tool: "notify_supplier", invoice: in.InvoiceID, approval: in.ApprovalID,
		book: func(b *state, r *Record) Booking {
			b.NextNote++
			if r.Status == Open {
				r.Status = Disputed
			}
			return Booking{DocumentNumber: fmt.Sprintf("MSG-%d", b.NextNote), Message: in.Message}
		},
	})
}
