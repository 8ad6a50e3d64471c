package pages

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

// reader is for whom foreign data is turned into words.
type reader struct {
	words
	// bankData says that the reader may see tax and bank data.
	bankData bool
	// invoiceURL is the page of an invoice by its id; nil leads nowhere.
	invoiceURL func(id string) templ.SafeURL
	// fileOf finds a file by its id, erp the place of an invoice in the ERP; nil finds none.
	fileOf func(id string) *views.File
	erp    func(invoice, po, supplier string) *ui.Link
}

// seesBankData says whose business tax and bank data is.
func seesBankData(by models.Principal) bool {
	return by.Has(models.RoleMasterData, models.RoleFinanceLead, models.RoleAuditor)
}

// shown is a value that stands beside its name: what the reader may see of it. name may be a path.
func (r reader) shown(name, value string) string {
	if value == "" || r.bankData || !isPrivatePath(name) {
		return value
	}
	return r.tr(withheldText)
}

// isPrivatePath says whether a name, or a part of a path, is one of tax or bank data.
func isPrivatePath(path string) bool {
	parts := strings.FieldsFunc(path, func(c rune) bool { return c == '/' || c == '.' || c == '›' })
	return slices.ContainsFunc(append(parts, path), models.IsPrivateName)
}

var withheldText = lang.Mark("shown to master data, finance lead and auditor only")

// withhold replaces tax and bank data in place and answers whether there was any.
func (w words) withhold(v *ui.Value) bool {
	found := false
	for i := range v.Fields {
		f := &v.Fields[i]
		if models.IsPrivateName(string(f.Key)) {
			f.Value = ui.TextValue(w.tr(withheldText))
			found = true
			continue
		}
		found = w.withhold(&f.Value) || found
	}
	for i := range v.Items {
		found = w.withhold(&v.Items[i]) || found
	}
	return found
}

// value reads JSON of any shape. JSON that cannot be read is shown as the text it is.
func (r reader) value(raw json.RawMessage) (v ui.Value, withheld bool) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return ui.Value{Kind: ui.KindNone}, false
	}
	v, err := ui.FromJSON(raw)
	if err != nil {
		return ui.TextValue(string(raw)), false
	}
	if !r.bankData {
		withheld = r.withhold(&v)
	}
	return v, withheld
}

// told is value in the reader's words: names, figures, dates, moments and states.
func (r reader) told(raw json.RawMessage) (v ui.Value, withheld bool) {
	v, withheld = r.value(raw)
	r.inWords(&v, "")
	return v, withheld
}

// asSent is JSON as it came, set in lines.
func asSent(raw json.RawMessage) ui.Foreign {
	var out bytes.Buffer
	if json.Indent(&out, raw, "", "  ") != nil {
		return ui.Foreign(raw)
	}
	return ui.Foreign(out.String())
}

// brought is a piece of evidence of any kind.
type brought struct {
	Kind    string              `json:"kind"`
	Title   string              `json:"title"`
	Source  string              `json:"source"`
	Data    json.RawMessage     `json:"data"`
	Left    json.RawMessage     `json:"left"`
	Right   json.RawMessage     `json:"right"`
	Columns []string            `json:"columns"`
	Rows    [][]json.RawMessage `json:"rows"`
	Text    string              `json:"text"`
	URL     string              `json:"url"`
	FileID  string              `json:"file_id"`
}

func (r reader) evidence(all []json.RawMessage) []views.Evidence {
	out := make([]views.Evidence, 0, len(all))
	for _, raw := range all {
		out = append(out, r.piece(raw))
	}
	return out
}

// piece is one piece of evidence. One that is not of the shape its kind has is shown as the data it
// is: evidence is never dropped.
func (r reader) piece(raw json.RawMessage) views.Evidence {
	var b brought
	if err := json.Unmarshal(raw, &b); err != nil {
		return r.anything(raw)
	}
	e := views.Evidence{Kind: views.EvidenceKind(b.Kind), Title: ui.Foreign(b.Title), Source: ui.Foreign(b.Source)}
	withheld := false
	switch e.Kind {
	case views.EvidenceRecord:
		e.Data, withheld = r.told(b.Data)
	case views.EvidenceComparison:
		left, l := r.told(b.Left)
		right, ri := r.told(b.Right)
		withheld = l || ri
		e.Rows = r.compare(left, right)
		e.LeftTitle, e.RightTitle = sides(left, right)
		e.DiffersText = r.differ(e.Rows)
	case views.EvidenceTable:
		for _, cells := range b.Rows {
			row, hidden := r.row(b.Columns, cells)
			e.Table = append(e.Table, row)
			withheld = withheld || hidden
		}
		e.Columns = r.tableInWords(b.Columns, e.Table)
		alignColumns(e.Table)
	case views.EvidenceNote:
		e.Note = ui.Foreign(b.Text)
	case views.EvidenceLink:
		link, ok := ui.ParseLink("", b.URL)
		if !ok {
			return r.anything(raw)
		}
		e.Link = &link
	case views.EvidenceFile:
		if r.fileOf != nil {
			e.File = r.fileOf(b.FileID)
		}
		if e.File == nil {
			e.Kind, e.Note = views.EvidenceNote, ui.Foreign(r.tr("This file is not there for you."))
		}
	default:
		return r.anything(raw)
	}
	if !withheld && e.Kind != views.EvidenceNote && e.Kind != views.EvidenceLink && e.Kind != views.EvidenceFile {
		e.AsSent = asSent(raw)
	}
	return e
}

func (r reader) anything(raw json.RawMessage) views.Evidence {
	v, _ := r.told(raw)
	return views.Evidence{Kind: views.EvidenceRecord, Title: ui.Foreign(r.tr("Evidence of an unknown kind")), Data: v}
}

func (r reader) row(columns []string, cells []json.RawMessage) (row []views.Cell, withheld bool) {
	for i := range columns {
		cell := views.Cell{Value: ui.Value{Kind: ui.KindNone}}
		if i < len(cells) {
			var hidden bool
			cell.Value, hidden = r.value(cells[i])
			withheld = withheld || hidden
		}
		if !r.bankData && models.IsPrivateName(columns[i]) {
			cell.Value, withheld = ui.TextValue(r.tr(withheldText)), true
		}
		row = append(row, cell)
	}
	return row, withheld
}

// alignColumns sets a column flush right as a whole or not at all: all of it when it holds figures and
// nothing but numbers.
func alignColumns(rows [][]views.Cell) {
	if len(rows) == 0 {
		return
	}
	for col := range rows[0] {
		for _, row := range rows {
			v := row[col].Value
			row[col].Number = v.Kind == ui.KindNumber || v.Figure || v.Kind == ui.KindText && isFigure(string(v.Text))
		}
		figures, others := false, false
		for _, row := range rows {
			cell := row[col]
			figures = figures || cell.Number
			others = others || !cell.Number && cell.Value.Kind != ui.KindNone && models.ParseDecimal(string(cell.Value.Text)) != nil
		}
		for _, row := range rows {
			row[col].Number = figures && !others
		}
	}
}

// isFigure says whether a text is a decimal with a point; digits alone may be a number of something.
func isFigure(s string) bool { return strings.Contains(s, ".") && models.ParseDecimal(s) == nil }

// numberKeys are the names under which a supplier's invoice number comes.
var numberKeys = []ui.Foreign{"number", "invoice_number", "reference"}

// compare joins two records by name. An invoice number is shown as it is and as the desk compares it;
// amounts that differ only in trailing zeros are the same, unless their currencies differ.
func (w words) compare(left, right ui.Value) []ui.CompareRow {
	rows := ui.Compare(left, right)
	sent := func(key ui.Foreign) bool {
		return slices.ContainsFunc(rows, func(r ui.CompareRow) bool { return r.Key == key })
	}
	here, there := currencyOf(left.Fields, ""), currencyOf(right.Fields, "")
	withNormalised := !sent("normalised_number") && !sent("number_normalised")
	var out []ui.CompareRow
	for _, row := range rows {
		if row.Difference == ui.Differs && row.Left.Scalar() && row.Right.Scalar() && sameFigure(string(row.Left.Text), string(row.Right.Text)) {
			row.Difference = ui.Same
		}
		if f, _ := fieldOf(string(row.Key)); row.Difference == ui.Same && f.kind == amount && here != "" && there != "" && here != there {
			row.Difference = ui.Differs
		}
		out = append(out, row)
		if withNormalised && slices.Contains(numberKeys, row.Key) && (row.Left.Kind == ui.KindText || row.Right.Kind == ui.KindText) {
			out = append(out, w.normalised(row))
		}
	}
	return out
}

func (w words) normalised(row ui.CompareRow) ui.CompareRow {
	norm := func(v ui.Value) ui.Value {
		if v.Kind != ui.KindText && v.Kind != ui.KindNumber {
			return ui.Value{Kind: ui.KindNone}
		}
		return ui.TextValue(models.NormaliseNumber(string(v.Text)))
	}
	n := ui.CompareRow{Key: row.Key + " (normalised)", Label: ui.Foreign(w.tr("%s, normalised", row.Label)), Left: norm(row.Left), Right: norm(row.Right), Difference: row.Difference}
	if row.Difference == ui.Differs && n.Left.Text == n.Right.Text && n.Left.Kind == n.Right.Kind {
		n.Difference = ui.Same
	}
	return n
}

// sameFigure says whether two plain decimals differ only in zeros at the end: 250.0 and 250.00.
func sameFigure(a, b string) bool {
	if models.ParseDecimal(a) != nil || models.ParseDecimal(b) != nil || (!strings.Contains(a, ".") && !strings.Contains(b, ".")) {
		return false
	}
	return shortest(a) == shortest(b)
}

func shortest(decimal string) string {
	if !strings.Contains(decimal, ".") {
		return decimal
	}
	return strings.TrimSuffix(strings.TrimRight(decimal, "0"), ".")
}

// sides names the two columns of a comparison by what tells the records apart.
func sides(left, right ui.Value) (l, r ui.Foreign) {
	for _, key := range []ui.Foreign{"title", "name", "invoice_id", "id", "number"} {
		a, b := left.Get(key), right.Get(key)
		if a.Kind == ui.KindText && b.Kind == ui.KindText && a.Text != "" && b.Text != "" && a.Text != b.Text {
			return a.Text, b.Text
		}
	}
	return "", ""
}

// invoice reads an invoice as it was sent.
func (r reader) invoice(sent json.RawMessage) views.Invoice {
	v, err := ui.FromJSON(sent)
	if err != nil {
		return views.Invoice{}
	}
	text := func(key ui.Foreign) ui.Foreign {
		if f := v.Get(key); f.Scalar() {
			return f.Text
		}
		return ""
	}
	currency := string(text("currency"))
	inv := views.Invoice{
		ID: text("id"), Number: text("number"), SupplierID: text("supplier_id"), SupplierName: text("supplier_name"), PO: text("po_id"),
		Amount: r.figures(string(text("amount")), currency), Currency: currency,
		InvoiceDate: r.dateText(string(text("invoice_date"))), DueDate: r.dateText(string(text("due_date"))),
	}
	inv.Withheld = !r.bankData && (text("tax_id") != "" || text("bank_account") != "" || v.Get("bank_account").Kind == ui.KindFields)
	if r.bankData {
		inv.TaxID, inv.BankAccount = text("tax_id"), text("bank_account")
	}
	if link, ok := ui.ParseLink("", string(text("document_url"))); ok {
		inv.Document = &link
	}
	if r.invoiceURL != nil {
		inv.URL = r.invoiceURL(string(inv.ID))
	}
	if r.erp != nil {
		inv.ERP = r.erp(string(inv.ID), string(inv.PO), string(inv.SupplierID))
	}
	inv.Lines = v.Get("lines")
	known := []ui.Foreign{"id", "number", "supplier_id", "supplier_name", "po_id", "amount", "currency", "invoice_date", "due_date",
		"tax_id", "bank_account", "document_url", "lines"}
	for _, f := range v.Fields {
		if !slices.Contains(known, f.Key) {
			inv.More = append(inv.More, f)
		}
	}
	if !models.ValidCurrency(currency) {
		currency = ""
	}
	more := ui.FieldsValue(inv.More...)
	if !r.bankData {
		r.withhold(&inv.Lines)
		r.withhold(&more)
	}
	r.inWords(&inv.Lines, currency)
	r.inWords(&more, currency)
	inv.More = more.Fields
	return inv
}

func (r reader) seenErrors(errs []models.SeenError) []views.SeenError {
	out := make([]views.SeenError, 0, len(errs))
	for _, e := range errs {
		seen := views.SeenError{Tool: ui.Foreign(e.Tool), Code: ui.Foreign(e.Error.Code), Message: ui.Foreign(e.Error.Message), NextWords: r.nextStep(e.Error.NextAction)}
		if _, known := models.Lookup(e.Error.Code); known {
			seen.CodeWords = r.codeTitle(e.Error.Code)
		} else {
			seen.CodeWords = r.tr("A code the desk does not know:")
		}
		if seen.NextWords != "" {
			seen.NextWords = r.tr("next: %s", seen.NextWords)
		}
		if at, err := time.Parse(time.RFC3339Nano, e.At); err == nil {
			seen.At = r.at(models.At(at))
		}
		var w1, w2 bool
		seen.Details, w1 = r.told(e.Error.Details)
		seen.Arguments, w2 = r.value(e.Arguments)
		if !w1 && !w2 {
			var raw bytes.Buffer
			plain := json.NewEncoder(&raw)
			plain.SetEscapeHTML(false) // the page escapes; what was sent is shown as it was
			if plain.Encode(e) == nil {
				seen.AsSent = asSent(raw.Bytes())
			}
		}
		out = append(out, seen)
	}
	return out
}

func (r reader) calls(calls []models.Call) []views.Call {
	out := make([]views.Call, 0, len(calls))
	for _, c := range calls {
		out = append(out, r.call(c.Tool, c.Arguments))
	}
	return out
}

// call shows a call with every argument under its exact name.
func (r reader) call(tool string, arguments json.RawMessage) views.Call {
	v, withheld := r.value(arguments)
	call := views.Call{Tool: ui.Foreign(tool), InWords: r.callInWords(tool, v), Arguments: v}
	if !withheld {
		call.AsSent = asSent(arguments)
	}
	return call
}

// callInWords says what a call of a tool with a binding of every workspace's does, from where its
// arguments stand; "" for other tools.
func (w words) callInWords(tool string, arguments ui.Value) ui.Foreign {
	b, known := models.DefaultBindings()[tool]
	if !known {
		return ""
	}
	at := func(pointer string) string {
		v := arguments.Get(ui.Foreign(strings.TrimPrefix(pointer, "/")))
		if pointer == "" || !v.Scalar() {
			return ""
		}
		return string(v.Text)
	}
	return w.writeInWords(tool, at(b.InvoiceID), at(b.SupplierID), at(b.Amount), at(b.Currency), at(b.PostingDate))
}

// differ counts what differs between two sides.
func (w words) differ(rows []ui.CompareRow) string {
	return w.trn("%[2]d of %[1]d field differs", "%[2]d of %[1]d fields differ", len(rows), ui.CountDifferences(rows))
}

// writeInWords says what a write does.
func (w words) writeInWords(tool, invoice, supplier, amount, currency, postingDate string) ui.Foreign {
	text := w.tr("Call %s", tool)
	add := func(message, value string) {
		if value != "" {
			text += w.tr(message, value)
		}
	}
	if amount != "" {
		amount = w.money(amount, currency)
	}
	switch tool {
	case "post_invoice_adjustment":
		text = w.tr("Post an adjustment")
		add(lang.Mark(" of %s"), amount)
		add(lang.Mark(" on invoice %s"), invoice)
		add(lang.Mark(" of supplier %s"), supplier)
	case "notify_supplier":
		text = w.tr("Send a message")
		add(lang.Mark(" to supplier %s"), supplier)
		add(lang.Mark(" about invoice %s"), invoice)
	default:
		add(lang.Mark(" for invoice %s"), invoice)
		add(lang.Mark(", %s"), amount)
	}
	if postingDate != "" {
		text += w.tr(", dated %s", w.dateText(postingDate))
	}
	return ui.Foreign(text + ".")
}
