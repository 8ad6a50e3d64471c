package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/mcpcall"
)

// record is evidence of one object; only its plain values are shown.
func record(title, source string, raw json.RawMessage) map[string]any {
	return map[string]any{"kind": "record", "title": title, "source": source, "data": plain(raw)}
}

func plain(raw json.RawMessage) map[string]any {
	var all map[string]any
	out := map[string]any{}
	if json.Unmarshal(raw, &all) != nil {
		return out
	}
	for k, v := range all {
		switch v.(type) {
		case string, bool, float64:
			out[k] = v
		}
	}
	return out
}

func table(title string, columns []string, rows []map[string]any) map[string]any {
	cells := [][]string{}
	for _, r := range rows {
		row := []string{}
		for _, c := range columns {
			cell := ""
			if v, ok := r[c]; ok && v != nil {
				cell = fmt.Sprint(v)
			}
			row = append(row, cell)
		}
		cells = append(cells, row)
	}
	return map[string]any{"kind": "table", "title": title, "columns": columns, "rows": cells}
}

// evidenceOf shows what an error's details say, each code in its own way.
func evidenceOf(w *Work, tool string, e *mcpcall.NamedError) []map[string]any {
	var d struct {
		Lines   []map[string]any `json:"lines"`
		Others  []map[string]any `json:"other_open_orders"`
		NearIDs []string         `json:"near_ids"`
		Near    []map[string]any `json:"near"`
	}
	_ = json.Unmarshal(e.Details, &d)
	switch e.Code {
	case "PO_CLOSED":
		all := []map[string]any{record("PO "+e.Detail("po_id"), tool, e.Details)}
		if len(d.Lines) > 0 {
			all = append(all, table("Lines of the order", []string{"line", "text", "ordered", "received", "unit_price", "value"}, d.Lines))
		}
		if len(d.Others) > 0 {
			all = append(all, table("Other open orders of the supplier", []string{"po_id", "text", "value"}, d.Others))
		}
		return all
	case "INVOICE_NOT_FOUND", "PO_NOT_FOUND":
		near := "none"
		if len(d.NearIDs) > 0 {
			near = strings.Join(d.NearIDs, ", ")
		}
		return []map[string]any{{"kind": "record", "title": "Looked for " + or(e.Detail("invoice_id"), e.Detail("po_id")), "source": tool,
			"data": map[string]any{"sent": or(e.Detail("invoice_id"), e.Detail("po_id")), "near ids": near}}}
	case "SUPPLIER_NOT_FOUND":
		var all []map[string]any
		for _, near := range d.Near {
			all = append(all, map[string]any{"kind": "comparison", "title": "The invoice and the nearest master record",
				"left":  map[string]any{"supplier_id": e.Detail("supplier_id"), "name": w.Facts.SupplierName, "tax_id": w.Facts.TaxID, "bank_account": w.Facts.BankAccount},
				"right": near})
		}
		return all
	case "GR_MISSING":
		return []map[string]any{record("Goods receipt", tool, e.Details)}
	}
	return nil
}

// explain is the agent's own view, which people read as exactly that.
func explain(w *Work, e *mcpcall.NamedError) string {
	f := w.Facts
	switch e.Code {
	case "PO_CLOSED":
		return fmt.Sprintf("Invoice %s belongs to order %s, which was closed: %s. I cannot match against a closed order.", f.Number, f.POID, or(e.Detail("closed_because"), "no reason given"))
	case "DUPLICATE_INVOICE":
		return fmt.Sprintf("The number %s reads the same as that of invoice %s of this supplier.", f.Number, e.Detail("duplicate_of"))
	case "INVOICE_NOT_FOUND":
		return fmt.Sprintf("I read %s on the document and tried %s; neither exists.", w.Doc.InvoiceID, strings.Join(w.sent("get_invoice"), ", "))
	case "PO_NOT_FOUND":
		return fmt.Sprintf("The order number reads %s; I tried %s and found none.", w.Doc.OrderID, strings.Join(w.sent("get_purchase_order"), ", "))
	case "SUPPLIER_NOT_FOUND":
		return fmt.Sprintf("The invoice names %s with number %s; no master record has it.", f.SupplierName, strings.Join(w.sent("get_supplier_history"), ", "))
	case "APPROVER_NOT_FOUND":
		return fmt.Sprintf("No rule of the matrix covers %s %s for %s.", f.Amount, f.Currency, w.Write.Tool)
	case "PERIOD_CLOSED":
		return fmt.Sprintf("The posting date %s was asked for, and its period is closed.", f.PostingDate)
	}
	return e.Message
}

func (w *Work) sent(tool string) []string {
	var ids []string
	for _, s := range w.Seen {
		if s.Tool == tool {
			for _, v := range s.Arguments {
				ids = append(ids, fmt.Sprint(v))
			}
		}
	}
	return ids
}

// suggest is the exit the agent would choose, with why, or nil.
func suggest(w *Work) map[string]any {
	if len(w.Seen) == 0 {
		return nil
	}
	e := w.Seen[len(w.Seen)-1].Error
	of := func(exit, why string) map[string]any { return map[string]any{"exit": exit, "why": why} }
	var d struct {
		Value  string `json:"ordered_value"`
		Others []struct {
			POID  string `json:"po_id"`
			Value string `json:"value"`
		} `json:"other_open_orders"`
	}
	_ = json.Unmarshal(e.Details, &d)
	switch e.Code {
	case "PO_CLOSED":
		for _, o := range d.Others {
			if o.Value == w.Facts.Amount {
				return of("use_other_po", "Order "+o.POID+" is open and has the same value.")
			}
		}
		if d.Value == w.Facts.Amount {
			return of("reopen_po", "The invoice is exactly what was ordered.")
		}
	case "DUPLICATE_INVOICE":
		var this, earlier struct {
			Amount string `json:"amount"`
			POID   string `json:"po_id"`
		}
		if json.Unmarshal(w.Record, &this) != nil || json.Unmarshal(w.Earlier, &earlier) != nil {
			return nil
		}
		if this == earlier {
			return of("confirm_duplicate", "Amount and order agree.")
		}
		return of("not_duplicate", "Amount and order differ; only the number is the same.")
	case "PERIOD_CLOSED":
		return of("post_next_period", "The amount is small.")
	case "APPROVER_NOT_FOUND":
		return of("name_approver", "One item only; the matrix has a gap.")
	}
	return nil
}
