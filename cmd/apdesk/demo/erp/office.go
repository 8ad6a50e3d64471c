package erp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/data"
)

// office stands for the colleagues who do in the ERP what they state at the
// desk: whoever chooses "reopened in the ERP" has reopened the order. It reads
// decided cases with an auditor's token and carries each out once.
type office struct {
	desk       *desk
	books      *Books
	workspaces []string
	mu         sync.Mutex
}

type decidedCase struct {
	CaseID  string `json:"case_id"`
	Status  string `json:"status"`
	Code    string `json:"code"`
	Invoice struct {
		ID           string `json:"id"`
		Number       string `json:"number"`
		SupplierID   string `json:"supplier_id"`
		SupplierName string `json:"supplier_name"`
		POID         string `json:"po_id"`
		Amount       string `json:"amount"`
		Currency     string `json:"currency"`
		InvoiceDate  string `json:"invoice_date"`
	} `json:"invoice"`
	Handovers []struct {
		Errors []struct {
			Error struct {
				Code    string          `json:"code"`
				Details json.RawMessage `json:"details"`
			} `json:"error"`
		} `json:"errors"`
	} `json:"handovers"`
	Resolution *struct {
		Exit  string          `json:"exit"`
		Input json.RawMessage `json:"input"`
	} `json:"resolution"`
}

// sync carries out decisions that were not carried out yet.
func (o *office) sync(ctx context.Context) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	for _, ws := range o.workspaces {
		cursor := ""
		for {
			path := "/api/v1/cases?status=resolved&limit=200"
			if cursor != "" {
				path += "&cursor=" + url.QueryEscape(cursor)
			}
			raw, err := o.desk.call(ctx, http.MethodGet, path, ws, "", nil)
			if err != nil {
				return fmt.Errorf("office: %w", err)
			}
			var page struct {
				Items []struct {
					CaseID string `json:"case_id"`
				} `json:"items"`
				NextCursor *string `json:"next_cursor"`
			}
			if err := json.Unmarshal(raw, &page); err != nil {
				return fmt.Errorf("office: %w", err)
			}
			for _, item := range page.Items {
				var done bool
				o.books.view(func(b *state) { done = b.Applied[item.CaseID] })
				if done {
					continue
				}
				raw, err := o.desk.call(ctx, http.MethodGet, "/api/v1/cases/"+url.PathEscape(item.CaseID), ws, "", nil)
				if err != nil {
					return fmt.Errorf("office: %w", err)
				}
				var c decidedCase
				if err := json.Unmarshal(raw, &c); err != nil {
					return fmt.Errorf("office: %w", err)
				}
				if c.Resolution == nil {
					continue
				}
				if err := o.books.change(func(b *state) error {
					b.Applied[c.CaseID] = true
					carryOut(b, ws, c)
					return nil
				}); err != nil {
					return err
				}
			}
			if page.NextCursor == nil || *page.NextCursor == "" {
				break
			}
			cursor = *page.NextCursor
		}
	}
	return nil
}

// carryOut changes the books as the decision says. Only invoices that are still
// open change their status: what is posted stays posted.
func carryOut(b *state, workspace string, c decidedCase) {
	input := map[string]string{}
	var loose map[string]any
	if json.Unmarshal(c.Resolution.Input, &loose) == nil {
		for k, v := range loose {
			if s, ok := v.(string); ok {
				input[k] = s
			}
		}
	}
	order := c.Invoice.POID
	duplicateOf := ""
	for _, h := range c.Handovers {
		for _, e := range h.Errors {
			var d struct {
				POID        string `json:"po_id"`
				DuplicateOf string `json:"duplicate_of"`
			}
			if json.Unmarshal(e.Error.Details, &d) != nil {
				continue
			}
			if d.POID != "" {
				order = d.POID
			}
			if d.DuplicateOf != "" {
				duplicateOf = d.DuplicateOf
			}
		}
	}
	ends := map[string]string{
		"reject_invoice": Rejected, "confirm_duplicate": Duplicate, "suspected_fraud": Blocked,
		"cancel": Cancelled, "accrue": Accrued, "send_back": Returned,
	}
	record, known := b.Invoices[c.Invoice.ID]
	if known && record.Workspace != workspace {
		return
	}
	if end, ok := ends[c.Resolution.Exit]; ok {
		if known && record.Status == Open {
			record.Status = end
			b.Invoices[record.ID] = record
		}
		return
	}
	switch c.Resolution.Exit {
	case "reopen_po":
		if o, ok := b.Orders[order]; ok && o.Workspace == workspace {
			o.Closed = false
			b.Orders[order] = o
		}
	case "receipt_confirmed":
		if o, ok := b.Orders[order]; ok && o.Workspace == workspace {
			o.Lines = slices.Clone(o.Lines)
			for i := range o.Lines {
				o.Lines[i].Received = o.Lines[i].Quantity
			}
			b.Orders[order] = o
		}
	case "not_duplicate", "corrected_version":
		if duplicateOf != "" {
			b.NotDuplicates[pair(c.Invoice.ID, duplicateOf)] = true
		}
	case "two_way_match":
		if known {
			record.Matching = "two_way"
			b.Invoices[record.ID] = record
		}
	case "treat_as_non_po":
		if known {
			record.OrderID = ""
			b.Invoices[record.ID] = record
		}
	case "use_other_po", "correct_po":
		if known && input["po_id"] != "" {
			record.OrderID = input["po_id"]
			b.Invoices[record.ID] = record
		}
	case "link_supplier", "supplier_created":
		id := input["supplier_id"]
		if id == "" {
			return
		}
		if _, ok := b.Suppliers[id]; !ok && c.Resolution.Exit == "supplier_created" {
			b.Suppliers[id] = data.Supplier{ID: id, Workspace: workspace, Name: c.Invoice.SupplierName, TaxID: record.TaxID, BankAccount: record.BankAccount}
		}
		if sup, ok := b.Suppliers[id]; ok && known && sup.Workspace == workspace {
			record.SupplierID = id
			b.Invoices[record.ID] = record
		}
	case "registered":
		if !known {
			for _, sup := range b.Suppliers {
				if c.Invoice.SupplierID == "" && sup.Workspace == workspace && sup.Name == c.Invoice.SupplierName {
					c.Invoice.SupplierID = sup.ID
				}
			}
			b.Invoices[c.Invoice.ID] = Record{Invoice: data.Invoice{
				ID: c.Invoice.ID, Workspace: workspace, Number: c.Invoice.Number, SupplierID: c.Invoice.SupplierID, SupplierName: c.Invoice.SupplierName,
				OrderID: c.Invoice.POID, Amount: c.Invoice.Amount, Currency: c.Invoice.Currency, InvoiceDate: c.Invoice.InvoiceDate, Status: Open,
			}}
		}
	}
}

// keep carries decisions out as they come.
func (o *office) keep(ctx context.Context, every time.Duration, warn func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := o.sync(ctx); err != nil && ctx.Err() == nil {
				warn(err)
			}
		}
	}
}
