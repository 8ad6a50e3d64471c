package pages

import (
	"regexp"
	"strings"
	"time"
	"unicode"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

// fieldKind says how the values under a well-known name are read.
type fieldKind int

const (
	byForm   fieldKind = iota // by their own form: decimals with a point, dates, moments
	asIs                      // identifiers and texts, whose figures are no amounts
	figure                    // quantities, rates and differences
	amount                    // figures in the currency of their record
	stateful                  // words for where something stands
)

type field struct {
	word lang.Message
	kind fieldKind
}

// word is a message for the table below.
func word(id string) lang.Message { return lang.Message{ID: id} }

// fields are the names that agents and other systems give to what invoices, orders and receipts have, with the
// desk's own words for them.
var fields = map[string]field{
	"id": {lang.MarkIn("field", "ID"), asIs}, "number": {lang.MarkIn("field", "Number"), asIs}, "normalised_number": {word("Normalised number"), asIs},
	"reference": {word("Reference"), asIs}, "code": {word("Code"), asIs}, "name": {word("Name"), asIs},
	"text": {word("Text"), asIs}, "description": {word("Description"), asIs}, "note": {word("Note"), asIs}, "question": {word("Question"), asIs},
	"reason": {word("Reason"), asIs}, "message": {lang.MarkIn("field", "Message"), asIs}, "person": {word("Person"), asIs}, "until": {word("Until"), byForm},
	"type": {word("Type"), asIs}, "sent": {lang.MarkIn("field", "Sent"), byForm},

	"invoice": {word("Invoice"), asIs}, "invoice_id": {word("Invoice ID"), asIs}, "invoice_number": {word("Invoice number"), asIs},
	"invoice_no": {word("Invoice number"), asIs}, "duplicate_of": {word("Duplicate of"), asIs}, "near_ids": {word("Similar IDs"), asIs}, "near": {word("Similar ones"), asIs},
	"invoice_date": {word("Invoice date"), byForm}, "posting_date": {word("Posting date"), byForm}, "due_date": {word("Due date"), byForm},
	"tax_date": {word("Tax date"), byForm}, "document_date": {word("Document date"), byForm}, "document_type": {word("Document type"), asIs},
	"document_id": {word("Document ID"), asIs}, "document_number": {word("Document number"), asIs}, "document": {word("Document"), asIs},
	"payment_terms": {word("Payment terms"), asIs}, "payment_method": {word("Payment method"), asIs}, "payment_block": {word("Payment block"), asIs},
	"payment_date": {word("Payment date"), byForm}, "paid_on": {word("Paid on"), byForm}, "baseline_date": {word("Baseline date"), byForm},

	"supplier": {word("Supplier"), asIs}, "supplier_id": {word("Supplier ID"), asIs}, "supplier_name": {word("Supplier name"), asIs},
	"supplier_number": {word("Supplier number"), asIs}, "supplier_tax_id": {word("Supplier's tax ID"), asIs}, "vendor": {word("Supplier"), asIs}, "vendor_id": {word("Supplier ID"), asIs},
	"vendor_name": {word("Supplier name"), asIs}, "vendor_number": {word("Supplier number"), asIs}, "tax_id": {word("Tax ID"), asIs}, "tax_number": {word("Tax number"), asIs},
	"vat_id": {word("VAT ID"), asIs}, "vat_number": {word("VAT number"), asIs}, "bank_account": {word("Bank account"), asIs}, "bank_name": {word("Bank name"), asIs},
	"iban": {word("IBAN"), asIs}, "bic": {word("BIC"), asIs}, "swift": {word("SWIFT code"), asIs}, "account_number": {word("Account number"), asIs},
	"country": {word("Country"), asIs}, "city": {word("City"), asIs}, "street": {word("Street"), asIs}, "postal_code": {word("Postal code"), asIs},
	"address": {word("Address"), asIs}, "email": {word("E-mail"), asIs}, "phone": {word("Phone"), asIs},
	"buyer": {word("Buyer"), asIs}, "approver": {word("Approver"), asIs}, "requester": {word("Requester"), asIs},

	"po": {word("PO"), asIs}, "po_id": {word("PO ID"), asIs}, "po_number": {word("PO number"), asIs}, "purchase_order": {word("PO"), asIs},
	"purchase_order_id": {word("PO ID"), asIs}, "purchase_order_number": {word("PO number"), asIs}, "order_id": {word("PO ID"), asIs}, "order_number": {word("PO number"), asIs},
	"order_date": {word("Order date"), byForm}, "ordered_on": {word("Ordered on"), byForm}, "other_open_orders": {word("Other open orders"), asIs},
	"receipt": {word("Receipt"), asIs}, "receipt_id": {word("Receipt ID"), asIs}, "receipt_number": {word("Receipt number"), asIs}, "receipt_date": {word("Receipt date"), byForm},
	"gr_id": {word("Receipt ID"), asIs}, "gr_number": {word("Receipt number"), asIs}, "goods_receipt": {word("Receipt"), asIs}, "receipts": {word("Receipts"), asIs},
	"delivery_note": {word("Delivery note"), asIs}, "delivery_date": {word("Delivery date"), byForm}, "expected_date": {word("Expected on"), byForm}, "received_on": {word("Received on"), byForm},
	"material": {word("Material"), asIs}, "material_document": {word("Material document"), asIs}, "article": {word("Article"), asIs}, "item": {word("Item"), asIs},
	"line": {word("Line"), asIs}, "line_number": {word("Line"), asIs}, "po_line": {word("Order line"), asIs}, "po_item": {word("Order line"), asIs}, "lines": {word("Lines"), asIs},
	"cost_centre": {word("Cost centre"), asIs}, "cost_center": {word("Cost centre"), asIs}, "gl_account": {word("G/L account"), asIs}, "account": {word("Account"), asIs},
	"company_code": {word("Company code"), asIs}, "plant": {word("Plant"), asIs}, "tax_code": {word("Tax code"), asIs}, "unit": {word("Unit"), asIs},

	"closed_on": {word("Closed on"), byForm}, "closed_at": {word("Closed on"), byForm}, "closed_by": {word("Closed by"), asIs}, "closed_because": {word("Closed because"), asIs},
	"created_on": {word("Created on"), byForm}, "created_at": {word("Created on"), byForm}, "created_by": {word("Created by"), asIs},
	"changed_on": {word("Changed on"), byForm}, "changed_at": {word("Changed on"), byForm}, "changed_by": {word("Changed by"), asIs},
	"period": {word("Period"), asIs}, "last_open_period": {word("Last open period"), asIs}, "next_open_period": {word("Next open period"), asIs},
	"closed_through": {word("Closed through"), byForm}, "period_closed_through": {word("Closed through"), byForm},
	"request_id": {word("Request ID"), asIs}, "case_id": {word("Case ID"), asIs},

	"currency": {word("Currency"), asIs}, "currency_code": {word("Currency"), asIs}, "order_currency": {word("Currency of the order"), asIs},
	"po_currency": {word("Currency of the order"), asIs}, "invoice_currency": {word("Currency of the invoice"), asIs}, "document_currency": {word("Currency"), asIs},
	"amount": {word("Amount"), amount}, "open_amount": {word("Open amount"), amount}, "amount_left": {word("Amount left"), amount}, "paid_amount": {word("Amount paid"), amount},
	"net": {word("Net"), amount}, "net_amount": {word("Net amount"), amount}, "tax": {word("Tax"), amount}, "tax_amount": {word("Tax amount"), amount},
	"vat": {word("VAT"), amount}, "vat_amount": {word("VAT amount"), amount}, "gross": {word("Gross"), amount}, "gross_amount": {word("Gross amount"), amount},
	"total": {word("Total"), amount}, "total_amount": {word("Total amount"), amount}, "subtotal": {word("Subtotal"), amount}, "line_amount": {word("Amount of the line"), amount},
	"invoice_amount": {word("Invoice amount"), amount}, "invoiced_amount": {word("Invoiced amount"), amount}, "order_amount": {word("Order amount"), amount}, "po_amount": {word("Order amount"), amount},
	"order_value": {word("Value of the order"), amount}, "ordered_value": {word("Value ordered"), amount}, "received_value": {word("Value received"), amount}, "expected_amount": {word("Expected amount"), amount},
	"unit_price": {word("Unit price"), amount}, "price": {word("Price"), amount}, "net_price": {word("Net price"), amount}, "order_price": {word("Order price"), amount},
	"po_price": {word("Order price"), amount}, "invoice_price": {word("Invoice price"), amount}, "credit_limit": {word("Credit limit"), amount}, "balance": {word("Balance"), amount},
	"discount_amount": {word("Discount"), amount}, "freight": {word("Freight"), amount}, "difference_amount": {word("Difference"), amount},

	"quantity": {word("Quantity"), figure}, "qty": {word("Quantity"), figure}, "quantity_left": {word("Quantity left"), figure}, "open_quantity": {word("Open quantity"), figure},
	"ordered": {word("Ordered"), figure}, "received": {word("Received"), figure}, "invoiced": {word("Invoiced"), figure}, "delivered": {word("Delivered"), figure},
	"ordered_quantity": {word("Quantity ordered"), figure}, "received_quantity": {word("Quantity received"), figure}, "invoiced_quantity": {word("Quantity invoiced"), figure},
	"quantity_ordered": {word("Quantity ordered"), figure}, "quantity_received": {word("Quantity received"), figure}, "quantity_invoiced": {word("Quantity invoiced"), figure},
	"value": {word("Value"), figure}, "expected": {word("Expected"), figure}, "difference": {word("Difference"), figure}, "left": {lang.MarkIn("field", "Left"), figure}, "open": {lang.MarkIn("field", "Open"), figure},
	"percent": {word("Percent"), figure}, "limit": {lang.MarkIn("field", "Limit"), figure}, "limit_percent": {word("Limit in percent"), figure}, "tolerance": {word("Tolerance"), figure},
	"tolerance_percent": {word("Tolerance in percent"), figure}, "tax_rate": {word("Tax rate"), figure}, "vat_rate": {word("VAT rate"), figure}, "discount": {word("Discount"), figure}, "exchange_rate": {word("Exchange rate"), figure},

	"status": {word("Status"), stateful}, "state": {word("Status"), stateful}, "po_status": {word("Status of the order"), stateful}, "order_status": {word("Status of the order"), stateful},
	"invoice_status": {word("Status of the invoice"), stateful}, "payment_status": {word("Status of payment"), stateful}, "receipt_status": {word("Status of the receipt"), stateful},
	"delivery_status": {word("Status of delivery"), stateful}, "supplier_status": {word("Status of the supplier"), stateful}, "blocked": {word("Blocked"), byForm}, "paid": {lang.MarkIn("field", "Paid"), byForm},
}

// states are the words that systems commonly say under the names of a state.
var states = map[string]lang.Message{
	"open": lang.MarkIn("state", "open"), "closed": lang.MarkIn("state", "closed"), "blocked": lang.MarkIn("state", "blocked"), "released": lang.MarkIn("state", "released"), "locked": lang.MarkIn("state", "locked"),
	"active": lang.MarkIn("state", "active"), "inactive": lang.MarkIn("state", "inactive"), "deleted": lang.MarkIn("state", "deleted"), "new": lang.MarkIn("state", "new"), "draft": lang.MarkIn("state", "draft"),
	"paid": lang.MarkIn("state", "paid"), "unpaid": lang.MarkIn("state", "unpaid"), "partially_paid": lang.MarkIn("state", "partially paid"), "overdue": lang.MarkIn("state", "overdue"), "cleared": lang.MarkIn("state", "cleared"),
	"posted": lang.MarkIn("state", "posted"), "parked": lang.MarkIn("state", "parked"), "reversed": lang.MarkIn("state", "reversed"), "credited": lang.MarkIn("state", "credited"), "cancelled": lang.MarkIn("state", "cancelled"), "canceled": lang.MarkIn("state", "cancelled"),
	"pending": lang.MarkIn("state", "pending"), "approved": lang.MarkIn("state", "approved"), "rejected": lang.MarkIn("state", "rejected"), "on_hold": lang.MarkIn("state", "on hold"), "expired": lang.MarkIn("state", "expired"),
	"received": lang.MarkIn("state", "received"), "partially_received": lang.MarkIn("state", "partially received"), "delivered": lang.MarkIn("state", "delivered"), "partially_delivered": lang.MarkIn("state", "partially delivered"),
	"invoiced": lang.MarkIn("state", "invoiced"), "partially_invoiced": lang.MarkIn("state", "partially invoiced"), "complete": lang.MarkIn("state", "complete"), "completed": lang.MarkIn("state", "completed"), "in_progress": lang.MarkIn("state", "in progress"),
	"missing": lang.MarkIn("state", "missing"), "failed": lang.MarkIn("state", "failed"), "unknown": lang.MarkIn("state", "unknown"),
}

// identifying are last words of names whose values only name something: digits there are no figure.
var identifying = map[string]bool{"id": true, "ids": true, "number": true, "numbers": true, "no": true, "nr": true, "num": true, "account": true, "iban": true, "bic": true, "code": true, "reference": true,
	"ref": true, "key": true, "version": true, "release": true, "line": true, "position": true, "pos": true, "item": true, "phone": true, "zip": true, "sku": true, "ean": true, "gtin": true, "isbn": true,
	"material": true, "article": true, "invoice": true, "order": true, "po": true, "centre": true, "center": true, "name": true, "text": true, "hash": true, "nummer": true, "konto": true, "normalised": true}

// plainName is a name in the form of the table: "Unit price", "unit-price" and "unitPrice" are unit_price. A name
// with other signs in it is none of the table's, so that nothing unseen in it goes unmarked.
func plainName(name string) string {
	var b strings.Builder
	wasLower := false
	for _, r := range name {
		switch {
		case r > unicode.MaxASCII:
			return ""
		case r >= 'A' && r <= 'Z':
			if wasLower {
				b.WriteByte('_')
			}
			b.WriteRune(unicode.ToLower(r))
		case r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		case r == '_' || r == ' ' || r == '-':
			b.WriteByte('_')
		default:
			return ""
		}
		wasLower = r >= 'a' && r <= 'z'
	}
	return b.String()
}

// fieldOf is what the desk knows of a name. A name that ends as identifiers do is one.
func fieldOf(name string) (f field, known bool) {
	if f, known = fields[plainName(name)]; known {
		return f, true
	}
	words := strings.FieldsFunc(plainName(strings.Map(asciiOnly, name)), func(r rune) bool { return r == '_' })
	if len(words) > 0 && (identifying[words[len(words)-1]] || strings.HasSuffix(words[len(words)-1], "nummer")) {
		return field{kind: asIs}, false
	}
	return field{}, false
}

func asciiOnly(r rune) rune {
	if r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
		return '_'
	}
	return r
}

// fieldLabel is what people call a name in data of others: the desk's word where it has one, else the name in words.
func (w words) fieldLabel(name string) ui.Foreign {
	if f, known := fieldOf(name); known {
		return ui.Foreign(w.lang.M(f.word))
	}
	return ui.Label(name)
}

// inWords gives names their words, and figures, dates, moments and states the form in which the reader's language
// writes them. What was sent stays in the value.
func (w words) inWords(v *ui.Value, currency string) {
	if v.Kind == ui.KindFields {
		currency = currencyOf(v.Fields, currency)
	}
	for i := range v.Fields {
		f := &v.Fields[i]
		f.Label = w.fieldLabel(string(f.Key))
		w.under(string(f.Key), &f.Value, currency)
	}
	ui.TellApart(v.Fields)
	for i := range v.Items {
		w.inWords(&v.Items[i], currency)
	}
}

// under puts the value that stands under a name into words, and each of a list of them.
func (w words) under(name string, v *ui.Value, currency string) {
	if v.Kind == ui.KindItems {
		for i := range v.Items {
			w.under(name, &v.Items[i], currency)
		}
		return
	}
	if v.Kind == ui.KindFields {
		w.inWords(v, currency)
		return
	}
	if v.Kind != ui.KindText && v.Kind != ui.KindNumber {
		return
	}
	f, _ := fieldOf(name)
	text := string(v.Text)
	switch f.kind {
	case asIs:
		return
	case stateful:
		if state, ok := states[plainName(text)]; ok {
			v.Shown = shownAs(w.lang.M(state), text)
		}
		return
	case amount, figure:
		if shown, ok := w.figureText(text); ok {
			if f.kind == amount && currency != "" {
				shown += " " + currency
			}
			v.Shown, v.Figure = shownAs(shown, text), true
			return
		}
	}
	w.formed(v, text)
}

// formed puts a value into words that tells by its form what it is.
func (w words) formed(v *ui.Value, text string) {
	if strings.Contains(text, ".") {
		if shown, ok := w.figureText(text); ok {
			v.Shown, v.Figure = shownAs(shown, text), true
			return
		}
	}
	if v.Kind != ui.KindText {
		return
	}
	if m := measured.FindStringSubmatch(text); m != nil && (m[3] == "%" || models.ValidCurrency(m[3])) {
		if shown, ok := w.figureText(m[1]); ok {
			v.Shown, v.Figure = shownAs(shown+m[2]+m[3], text), true
		}
		return
	}
	if d, err := models.ParseDate(text); err == nil {
		v.Shown = shownAs(w.date(d), text)
		return
	}
	if t, err := time.Parse(time.RFC3339Nano, text); err == nil {
		layout := lang.DayTime
		if t.Second() != 0 || t.Nanosecond() != 0 {
			layout = lang.DaySecond
		}
		v.Shown = shownAs(w.lang.Format(t.In(w.zone), layout), text)
	}
}

// measured is a figure with its currency, or a percentage.
var measured = regexp.MustCompile(`^(-?[0-9]+(?:\.[0-9]+)?)( ?)([A-Z]{3}|%)$`)

// figureText is a plain decimal with the marks of the reader's language. One with zeros before it is a name.
func (w words) figureText(text string) (string, bool) {
	if models.ParseDecimal(text) != nil {
		return "", false
	}
	if whole := strings.TrimPrefix(text, "-"); len(whole) > 1 && whole[0] == '0' && whole[1] != '.' {
		return "", false
	}
	return strings.ReplaceAll(w.lang.Figures(text), "\u2212", "-"), true
}

func shownAs(shown, text string) ui.Foreign {
	if shown == text {
		return ""
	}
	return ui.Foreign(shown)
}

// currencyOf is the one currency of a record, that of the record around it where it names none, and "" where it
// names several or none that there is.
func currencyOf(entries []ui.Entry, around string) string {
	found, named := "", false
	for _, e := range entries {
		name := plainName(string(e.Key))
		if name != "currency" && !strings.HasSuffix(name, "_currency") && name != "currency_code" {
			continue
		}
		code := string(e.Value.Text)
		if e.Value.Kind != ui.KindText || !models.ValidCurrency(code) || named && code != found {
			return ""
		}
		found, named = code, true
	}
	if !named {
		return around
	}
	return found
}

// tableInWords is inWords for a table, whose names are its columns.
func (w words) tableInWords(columns []string, rows [][]views.Cell) []ui.Foreign {
	heads := make([]ui.Entry, len(columns))
	for i, c := range columns {
		heads[i] = ui.Entry{Key: ui.Foreign(c), Label: w.fieldLabel(c)}
	}
	ui.TellApart(heads)
	labels := make([]ui.Foreign, len(columns))
	for i, h := range heads {
		labels[i] = h.Label
	}
	for _, row := range rows {
		record := make([]ui.Entry, len(row))
		for i := range row {
			record[i] = ui.Entry{Key: ui.Foreign(columns[i]), Value: row[i].Value}
		}
		currency := currencyOf(record, "")
		for i := range row {
			w.under(columns[i], &row[i].Value, currency)
		}
	}
	return labels
}
