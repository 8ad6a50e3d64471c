package approvals

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/cockroachdb/apd/v3"

	"github.com/apdesk/apdesk/models"
)

// ThreeWay is order, receipt and invoice beside each other, as far as the evidence of a request carries
// them. Quantities, prices and amounts are plain decimals, empty where nothing was sent.
type ThreeWay struct {
	Currency string
	Lines    []MatchLine
	// Expected is the value of what was received (ordered, where no receipt is told of), Invoiced what is
	// billed, Difference the second less the first.
	Expected, Invoiced, Difference, Percent string
	Limit                                   string   // the tolerance in percent, empty when none was sent
	Over                                    bool     // the tolerance is broken, by the whole or by a line
	Marks                                   []string // in words, about the whole
	Doubts                                  []string // those of the marks for which the figures may not be what they seem
}

// MatchLine is one line of a ThreeWay.
type MatchLine struct {
	Line, Text                  string
	Ordered, Received, Invoiced string // quantities
	OrderPrice, InvoicePrice    string
	Expected, Amount            string // value of what was received, and what the line bills
	Difference, Percent         string
	Over                        bool
	Marks                       []string // in words
}

// The values a row of order, receipt or invoice may carry, and the names under which they come.
const (
	fieldLine         = "line"
	fieldText         = "text"
	fieldOrdered      = "ordered"
	fieldReceived     = "received"
	fieldInvoiced     = "invoiced"
	fieldOrderPrice   = "order price"
	fieldInvoicePrice = "invoice price"
	fieldExpected     = "expected"
	fieldAmount       = "amount"

	// Whose row it is, and in what money.
	fieldDocument        = "document"
	fieldOrder           = "order"
	fieldCurrency        = "currency"
	fieldOrderCurrency   = "order currency"
	fieldInvoiceCurrency = "invoice currency"
)

// side is whose row it is: it says what a plain "quantity" or "price" means.
type side int

const (
	sideMatch side = iota
	sideOrder
	sideReceipt
	sideInvoice
)

var fieldNames = map[string]string{
	"line": fieldLine, "line_no": fieldLine, "line_number": fieldLine, "pos": fieldLine, "position": fieldLine, "item": fieldLine, "line_id": fieldLine,
	"po_line": fieldLine, "po_line_no": fieldLine, "po_line_number": fieldLine, "po_item": fieldLine, "order_line": fieldLine,
	"po_id": fieldOrder, "po": fieldOrder, "po_number": fieldOrder, "order_id": fieldOrder, "order_number": fieldOrder, "purchase_order": fieldOrder, "purchase_order_id": fieldOrder, "purchase_order_number": fieldOrder,
	"receipt_id": fieldDocument, "receipt": fieldDocument, "receipt_no": fieldDocument, "receipt_number": fieldDocument, "gr_id": fieldDocument, "gr_number": fieldDocument, "grn": fieldDocument, "goods_receipt": fieldDocument, "goods_receipt_id": fieldDocument, "goods_receipt_number": fieldDocument, "material_document": fieldDocument, "delivery_note": fieldDocument,
	"currency": fieldCurrency, "currency_code": fieldCurrency, "order_currency": fieldOrderCurrency, "po_currency": fieldOrderCurrency, "invoice_currency": fieldInvoiceCurrency,
	"text": fieldText, "description": fieldText, "item_text": fieldText, "material": fieldText, "article": fieldText, "name": fieldText, "product": fieldText,
	"ordered": fieldOrdered, "ordered_quantity": fieldOrdered, "quantity_ordered": fieldOrdered, "order_quantity": fieldOrdered, "po_quantity": fieldOrdered, "qty_ordered": fieldOrdered, "ordered_qty": fieldOrdered, "po_qty": fieldOrdered,
	"received": fieldReceived, "received_quantity": fieldReceived, "quantity_received": fieldReceived, "receipt_quantity": fieldReceived, "gr_quantity": fieldReceived, "qty_received": fieldReceived, "received_qty": fieldReceived, "gr_qty": fieldReceived, "delivered": fieldReceived,
	"invoiced": fieldInvoiced, "invoiced_quantity": fieldInvoiced, "quantity_invoiced": fieldInvoiced, "invoice_quantity": fieldInvoiced, "billed_quantity": fieldInvoiced, "billed": fieldInvoiced, "qty_invoiced": fieldInvoiced, "invoiced_qty": fieldInvoiced, "invoice_qty": fieldInvoiced,
	"unit_price": fieldOrderPrice, "price": fieldOrderPrice, "net_price": fieldOrderPrice, "order_price": fieldOrderPrice, "po_price": fieldOrderPrice, "ordered_price": fieldOrderPrice, "po_unit_price": fieldOrderPrice, "order_unit_price": fieldOrderPrice,
	"invoice_price": fieldInvoicePrice, "invoiced_price": fieldInvoicePrice, "billed_price": fieldInvoicePrice, "invoice_unit_price": fieldInvoicePrice, "invoiced_unit_price": fieldInvoicePrice,
	"value": fieldExpected, "expected": fieldExpected, "received_value": fieldExpected, "expected_amount": fieldExpected, "po_amount": fieldExpected, "order_amount": fieldExpected, "order_value": fieldExpected,
	"amount": fieldAmount, "invoice_amount": fieldAmount, "invoiced_amount": fieldAmount, "amount_invoiced": fieldAmount, "billed_amount": fieldAmount, "line_amount": fieldAmount, "net_amount": fieldAmount,
}

// plainNames are names whose meaning hangs on whose row it is.
var plainNames = map[side]map[string]string{
	sideOrder:   {"quantity": fieldOrdered, "qty": fieldOrdered, "amount": fieldExpected, "net_amount": fieldExpected, "line_amount": fieldExpected},
	sideReceipt: {"quantity": fieldReceived, "qty": fieldReceived, "amount": "", "value": "", "unit_price": "", "price": ""},
	sideInvoice: {"quantity": fieldInvoiced, "qty": fieldInvoiced, "unit_price": fieldInvoicePrice, "price": fieldInvoicePrice, "net_price": fieldInvoicePrice,
		"value": fieldAmount, "net": fieldAmount, "total": fieldAmount},
}

// orderLines are names that say a line of the order, also where the document counts lines of its own.
var orderLines = []string{"po_line", "po_line_no", "po_line_number", "po_item", "order_line"}

func plainName(name string) string {
	return strings.Trim(notName.ReplaceAllString(strings.ToLower(name), "_"), "_")
}

// fieldOf says what a column or member is, "" for one that has no part in a match.
func fieldOf(s side, name string) string {
	name = plainName(name)
	if field, ok := plainNames[s][name]; ok {
		return field
	}
	return fieldNames[name]
}

var notName = regexp.MustCompile(`[^a-z0-9]+`)

// shown is a piece of evidence as far as a match reads it.
type shown struct {
	Kind    string              `json:"kind"`
	Source  string              `json:"source"`
	Data    json.RawMessage     `json:"data"`
	Columns []string            `json:"columns"`
	Rows    [][]json.RawMessage `json:"rows"`
}

// matchRow is what one row says, by field.
type matchRow map[string]string

// MatchOf sets order, receipt and invoice side by side from the evidence and the invoice of a request.
// nil when the evidence does not tell of an order or a receipt. Figures that cannot be read as plain
// decimals are left out of the arithmetic; nothing is rounded but percentages, whose comparison with
// the tolerance is exact all the same.
func MatchOf(evidence []json.RawMessage, invoice json.RawMessage) *ThreeWay {
	var m matching
	for _, raw := range evidence {
		var e shown
		if json.Unmarshal(raw, &e) != nil {
			continue
		}
		switch e.Kind {
		case "table":
			m.table(e)
		case "record":
			m.record(e, string(raw))
		}
	}
	if len(m.sets) == 0 && !m.stated {
		return nil
	}
	m.invoice(invoice)
	return m.result()
}

const matchTool = "run_three_way_match"

// matching gathers what the pieces of evidence say.
type matching struct {
	sets     []matchSet
	stated   bool // a match tool gave totals
	expected figure
	invoiced figure
	// claimed is the difference as the evidence states it.
	claimed figure
	limit   string
	noLimit string // a tolerance that is no percentage, as it was sent

	// orders are the currencies in which the evidence speaks of the order; currency is that of the comparison,
	// and apart is set where no amount of the order is in the currency of the invoice.
	orders   []string
	currency string
	apart    bool

	total         string // of the invoice
	totalCurrency string
	totalOrder    string // the order the invoice names

	marks, doubts []string // about the whole, from putting rows together
}

// matchSet is what one table, one record or the invoice says, row by row.
type matchSet struct {
	side     side
	rows     []matchRow
	currency string
	document string // the number of the receipt, or of the order itself
	order    string
	whole    string // the piece as it was sent
}

func (m *matching) table(e shown) {
	has := map[string]bool{}
	for _, c := range e.Columns {
		has[fieldOf(sideMatch, c)] = true
	}
	quantities := 0
	for _, f := range []string{fieldOrdered, fieldReceived, fieldInvoiced} {
		if has[f] {
			quantities++
		}
	}
	if quantities < 2 {
		return
	}
	var rows []matchRow
	for _, cells := range e.Rows {
		row := matchRow{}
		row.read(sideMatch, e.Columns, func(i int) string {
			if i >= len(cells) {
				return ""
			}
			return plainText(cells[i])
		})
		rows = append(rows, row)
	}
	m.add(matchSet{side: sideMatch, rows: rows})
}

// The members of a record's data beside its lines, the surest first. docs/evidence.md lists them.
var (
	orderNames    = []string{"po_id", "po_number", "po", "purchase_order_id", "purchase_order_number", "purchase_order", "order_id", "order_number"}
	documentNames = map[side][]string{
		sideOrder: slices.Concat(orderNames, []string{"document_number", "document_id", "number", "id"}),
		sideReceipt: {"receipt_id", "receipt_number", "receipt_no", "receipt", "goods_receipt_id", "goods_receipt_number", "goods_receipt", "gr_id", "gr_number", "grn", "material_document",
			"document_number", "document_id", "document", "delivery_note", "number", "id"},
	}
	currencyNames = []string{"currency", "currency_code", "order_currency", "po_currency", "document_currency"}
	totalNames    = map[string][]string{ // of a match
		"expected":   {"expected", "received_value", "expected_amount", "order_value", "po_amount"},
		"invoiced":   {"invoiced", "invoiced_amount", "invoice_amount"},
		"difference": {"difference", "difference_amount"},
		"limit":      {"limit_percent", "tolerance_percent", "limit", "tolerance"},
	}
)

func (m *matching) record(e shown, whole string) {
	var sent map[string]json.RawMessage
	if json.Unmarshal(e.Data, &sent) != nil {
		return
	}
	s, known := map[string]side{matchTool: sideMatch, "get_purchase_order": sideOrder, "get_goods_receipt": sideReceipt}[e.Source]
	if !known {
		return
	}
	data := map[string]string{}
	for _, name := range sortedNames(sent) {
		if text := plainText(sent[name]); text != "" && data[plainName(name)] == "" {
			data[plainName(name)] = text
		}
	}
	first := func(names ...string) string {
		for _, name := range names {
			if data[name] != "" {
				return data[name]
			}
		}
		return ""
	}
	set := matchSet{side: s, rows: rowsOf(s, sent["lines"]), whole: whole, document: first(documentNames[s]...),
		currency: currencyOf(first(currencyNames...))}
	if set.order = set.document; s != sideOrder {
		set.order = first(orderNames...)
	}
	if s != sideReceipt {
		m.orderIn(set.currency)
	}
	m.add(set)
	if s != sideMatch {
		return
	}
	take := func(into *figure, otherwise string, names ...string) {
		for _, name := range names {
			f, ok := figureOf(data[name])
			if !ok {
				continue
			}
			if into.text == "" {
				*into = figure{f.text, orElse(currencyIn(f.unit), otherwise)}
			}
			m.stated = true
			return
		}
	}
	take(&m.expected, set.currency, totalNames["expected"]...)
	take(&m.invoiced, orElse(currencyOf(data["invoice_currency"]), set.currency), totalNames["invoiced"]...)
	take(&m.claimed, set.currency, totalNames["difference"]...)
	m.orderIn(m.expected.unit)
	for _, name := range totalNames["limit"] {
		f, ok := figureOf(data[name])
		if !ok {
			continue
		}
		m.stated = true
		switch f.unit {
		case "", "%":
			m.limit = orElse(m.limit, f.text)
		default: // an amount is no percentage
			m.noLimit = orElse(m.noLimit, data[name])
		}
	}
}

// orderIn notes a currency in which the evidence speaks of the order.
func (m *matching) orderIn(currency string) {
	if currency != "" && !slices.Contains(m.orders, currency) {
		m.orders = append(m.orders, currency)
	}
}

// invoice adds what the invoice itself says.
func (m *matching) invoice(raw json.RawMessage) {
	var sent struct {
		Amount   json.RawMessage `json:"amount"`
		Currency string          `json:"currency"`
		POID     string          `json:"po_id"`
		Lines    json.RawMessage `json:"lines"`
	}
	if json.Unmarshal(raw, &sent) != nil {
		return
	}
	m.totalCurrency, m.totalOrder = sent.Currency, sent.POID
	if f, ok := figureOf(plainText(sent.Amount)); ok {
		m.total = f.text
	}
	// Where only totals in another currency are told of, there is nothing to hold its lines against.
	if len(m.sets) > 0 || !slices.ContainsFunc(m.orders, func(c string) bool { return c != sent.Currency }) {
		m.add(matchSet{side: sideInvoice, rows: rowsOf(sideInvoice, sent.Lines), currency: sent.Currency})
	}
}

func (m *matching) add(s matchSet) {
	if len(s.rows) > 0 {
		m.sets = append(m.sets, s)
	}
}

func rowsOf(s side, raw json.RawMessage) []matchRow {
	var items []map[string]json.RawMessage
	if json.Unmarshal(raw, &items) != nil {
		return nil
	}
	var rows []matchRow
	for _, item := range items {
		row := matchRow{}
		// In order of their names, so that of two names for one thing always the same one counts.
		names := sortedNames(item)
		row.read(s, names, func(i int) string { return plainText(item[names[i]]) })
		if len(row) > 0 {
			rows = append(rows, row)
		}
	}
	return rows
}

func sortedNames(item map[string]json.RawMessage) []string {
	names := make([]string, 0, len(item))
	for name := range item {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// read takes the values that stand under names. Which line of the order it is counts before the line the
// document itself counts.
func (r matchRow) read(s side, names []string, at func(int) string) {
	for i, name := range names {
		if slices.Contains(orderLines, plainName(name)) {
			r.set(fieldLine, at(i))
		}
	}
	for i, name := range names {
		if f := fieldOf(s, name); f != "" {
			r.set(f, at(i))
		}
	}
}

func (r matchRow) set(field, text string) {
	if text != "" && r[field] == "" {
		r[field] = text
	}
}

func (m *matching) result() *ThreeWay {
	m.settleCurrency()
	out := &ThreeWay{Currency: m.currency, Limit: m.limit}
	rows := m.joined()
	expected, invoiced := figureSum{}, figureSum{}
	unjudged := false
	for _, row := range rows {
		if len(rows) == 1 && row.value[fieldAmount] == "" && m.totalCurrency == m.currency {
			// The only line of an invoice is the invoice.
			row.value.set(fieldAmount, orElse(m.invoiced.text, m.total))
		}
		line := m.line(row)
		expected.add(line.Expected)
		invoiced.add(line.Amount)
		out.Over = out.Over || line.Over
		unjudged = unjudged || row.unjudged
		out.Lines = append(out.Lines, line)
	}
	out.Expected = orElse(expected.text(m.currency), m.expected.text)
	out.Invoiced = orElse(invoiced.text(m.currency), m.invoiced.text)
	if out.Invoiced == "" && m.totalCurrency == m.currency {
		out.Invoiced = m.total
	}
	over := false
	out.Difference, out.Percent, over = m.compare(out.Expected, out.Invoiced)
	out.Over = out.Over || over
	switch {
	case over:
		out.Marks = append(out.Marks, "Over the tolerance of "+m.limit+" %: "+m.away(out.Difference, out.Percent))
	case m.limit != "" && out.Difference != "" && out.Over:
		out.Marks = append(out.Marks, "The whole is within the tolerance of "+m.limit+" %, a line is not")
	case m.limit != "" && out.Difference != "":
		out.Marks = append(out.Marks, "Within the tolerance of "+m.limit+" %")
	case out.Over:
		out.Marks = append(out.Marks, "A line is over the tolerance of "+m.limit+" %; the whole could not be compared")
	case m.limit == "" && m.noLimit == "" && out.Difference != "" && !isZeroText(out.Difference):
		out.Marks = append(out.Marks, "The evidence does not say which tolerance holds")
	}
	doubt := func(text string) { out.Marks, out.Doubts = append(out.Marks, text), append(out.Doubts, text) }
	if m.limit == "" && m.noLimit != "" {
		doubt(fmt.Sprintf("The evidence states a tolerance of %s, which is no percentage and is not compared", m.noLimit))
	}
	others := slices.DeleteFunc(slices.Clone(m.orders), func(c string) bool { return c == m.totalCurrency })
	switch {
	case m.totalCurrency == "" || len(others) == 0:
	case m.apart:
		doubt(fmt.Sprintf("The order is in %s and the invoice in %s: their amounts are not compared", strings.Join(others, ", "), m.totalCurrency))
	default:
		doubt(fmt.Sprintf("Some evidence of the order is in %s and the invoice in %s: those amounts are not compared", strings.Join(others, ", "), m.totalCurrency))
	}
	switch {
	case unjudged && out.Difference == "" && !m.apart:
		doubt("A line could not be judged, so the whole is not compared")
	case unjudged:
		doubt("A line could not be judged")
	}
	for _, text := range m.doubts {
		doubt(text)
	}
	out.Marks = append(out.Marks, m.marks...)
	if m.claimed.text != "" && out.Difference != "" && compareAmounts(m.claimed.text, out.Difference) != 0 {
		out.Marks = append(out.Marks, fmt.Sprintf("The evidence states a difference of %s; its figures give %s", m.amount(m.claimed.text), m.amount(out.Difference)))
	}
	if m.total != "" && m.totalCurrency == m.currency && out.Invoiced != "" && compareAmounts(m.total, out.Invoiced) != 0 {
		out.Marks = append(out.Marks, fmt.Sprintf("The lines bill %s together; the invoice's total is %s", m.amount(out.Invoiced), m.amount(m.total)))
	}
	return out
}

func (m *matching) line(joined joinedRow) MatchLine {
	row := joined.value
	l := MatchLine{Line: row[fieldLine], Text: row[fieldText], Ordered: row[fieldOrdered], Received: row[fieldReceived], Invoiced: row[fieldInvoiced],
		OrderPrice: row[fieldOrderPrice], InvoicePrice: row[fieldInvoicePrice]}
	l.Expected = figureText(row[fieldExpected])
	if product, ok := times(orElse(l.Received, l.Ordered), l.OrderPrice, m.currency); ok {
		if l.Expected != "" && compareAmounts(l.Expected, product) != 0 {
			l.Marks = append(l.Marks, fmt.Sprintf("states a value of %s; quantity times price is %s", m.amount(l.Expected), m.amount(product)))
		}
		l.Expected = product
	}
	l.Amount = figureText(row[fieldAmount])
	if product, ok := times(l.Invoiced, l.InvoicePrice, m.currency); ok {
		if l.Amount == "" {
			l.Amount = product
		} else if compareAmounts(l.Amount, product) != 0 {
			l.Marks = append(l.Marks, fmt.Sprintf("bills %s; quantity times price is %s", m.amount(l.Amount), m.amount(product)))
		}
	}
	l.Marks = append(l.Marks, joined.marks...)
	if joined.unjudged {
		l.Expected = ""
	}
	l.Difference, l.Percent, l.Over = m.compare(l.Expected, l.Amount)
	if l.Over {
		l.Marks = append([]string{"over the tolerance of " + m.limit + " %"}, l.Marks...)
	}
	switch order, ok := order(l.Invoiced, l.Received); {
	case ok && order > 0:
		l.Marks = append(l.Marks, fmt.Sprintf("%s invoiced, only %s received", l.Invoiced, l.Received))
	case ok && order < 0:
		l.Marks = append(l.Marks, fmt.Sprintf("%s invoiced of %s received", l.Invoiced, l.Received))
	}
	switch order, ok := order(l.Received, l.Ordered); {
	case ok && order > 0:
		l.Marks = append(l.Marks, fmt.Sprintf("%s received, only %s ordered", l.Received, l.Ordered))
	case ok && order < 0:
		l.Marks = append(l.Marks, fmt.Sprintf("%s received of %s ordered", l.Received, l.Ordered))
	}
	if order, ok := order(l.InvoicePrice, l.OrderPrice); ok && order != 0 {
		l.Marks = append(l.Marks, fmt.Sprintf("price %s instead of %s", l.InvoicePrice, l.OrderPrice))
	}
	return l
}

// compare answers what is billed beyond what was expected, in amount and percent, and whether that
// breaks the tolerance. The tolerance is compared without a division, hence without rounding.
func (m *matching) compare(expected, invoiced string) (difference, percent string, over bool) {
	e, okE := exactOf(expected)
	i, okI := exactOf(invoiced)
	if !okE || !okI || m.apart {
		return "", "", false
	}
	var d apd.Decimal
	if _, err := exact.Sub(&d, i, e); err != nil {
		return "", "", false
	}
	difference = trimmed(&d, m.currency)
	limit, limited := exactOf(m.limit)
	if e.IsZero() {
		return difference, "", limited && !d.IsZero()
	}
	var hundredfold, base, bound, size apd.Decimal
	if _, err := exact.Mul(&hundredfold, &d, apd.New(100, 0)); err != nil {
		return difference, "", false
	}
	base.Abs(e)
	if limited {
		if _, err := exact.Mul(&bound, limit, &base); err != nil {
			return difference, "", false
		}
		size.Abs(&hundredfold)
		over = size.Cmp(&bound) > 0
	}
	var quotient apd.Decimal
	if _, err := exact.Quo(&quotient, &hundredfold, &base); err != nil {
		return difference, "", over
	}
	// Enough places that what is over the limit is not shown as the limit.
	for places := int32(1); places <= 8; places++ {
		var rounded apd.Decimal
		if _, err := exact.Quantize(&rounded, &quotient, -places); err != nil {
			return difference, "", over
		}
		percent = shortestText(&rounded)
		if size.Abs(&rounded); !over || size.Cmp(limit) != 0 {
			break
		}
	}
	return difference, percent, over
}

// away says a difference in words.
func (m *matching) away(difference, percent string) string {
	than, size := "more than expected", difference
	if s, less := strings.CutPrefix(difference, "-"); less {
		than, size = "less than expected", s
	}
	text := m.amount(size) + " " + than
	if percent != "" {
		text += " (" + percent + " %)"
	}
	return text
}

func (m *matching) amount(text string) string {
	if m.currency == "" {
		return text
	}
	return formatAmount(text, m.currency)
}

// exact computes without rounding: no product of two amounts has as many digits.
var exact = apd.BaseContext.WithPrecision(200)

// figure is a number with what stands behind it: a currency, a unit, "%".
type figure struct{ text, unit string }

var figureSyntax = regexp.MustCompile(`^(?:([A-Z]{3})\s+)?(-?[0-9]+(?:\.[0-9]+)?)(?:\s*(%|\p{L}{1,12}))?$`)

// figureOf reads a plain decimal with an optional unit. A text with separators is no figure: nobody
// knows which of them is the decimal point.
func figureOf(text string) (figure, bool) {
	parts := figureSyntax.FindStringSubmatch(strings.TrimSpace(text))
	if parts == nil || models.ParseDecimal(parts[2]) != nil {
		return figure{}, false
	}
	return figure{text: parts[2], unit: orElse(parts[1], parts[3])}, true
}

func figureText(text string) string {
	f, _ := figureOf(text)
	return f.text
}

func exactOf(text string) (*apd.Decimal, bool) {
	f, ok := figureOf(text)
	if !ok {
		return nil, false
	}
	d, _, err := apd.NewFromString(f.text)
	return d, err == nil
}

func order(a, b string) (int, bool) {
	x, okX := exactOf(a)
	y, okY := exactOf(b)
	if !okX || !okY {
		return 0, false
	}
	return x.Cmp(y), true
}

func isZeroText(text string) bool {
	d, ok := exactOf(text)
	return ok && d.IsZero()
}

func times(quantity, price, currency string) (string, bool) {
	q, okQ := exactOf(quantity)
	p, okP := exactOf(price)
	if !okQ || !okP {
		return "", false
	}
	var d apd.Decimal
	if _, err := exact.Mul(&d, q, p); err != nil {
		return "", false
	}
	return trimmed(&d, currency), true
}

// figureSum adds up until a part is missing: a sum without it would be another sum.
type figureSum struct {
	sum     apd.Decimal
	parts   int
	missing bool
}

func (s *figureSum) add(text string) {
	d, ok := exactOf(text)
	if !ok {
		s.missing = true
		return
	}
	if _, err := exact.Add(&s.sum, &s.sum, d); err != nil {
		s.missing = true
		return
	}
	s.parts++
}

func (s *figureSum) text(currency string) string {
	if s.missing || s.parts == 0 {
		return ""
	}
	return trimmed(&s.sum, currency)
}

// trimmed writes a decimal with the places its currency has, and more only where they are not zero.
func trimmed(d *apd.Decimal, currency string) string {
	places := models.CurrencyDigits(currency)
	text := d.Text('f')
	if d.IsZero() {
		text = strings.TrimPrefix(text, "-")
	}
	whole, fraction, _ := strings.Cut(text, ".")
	fraction = strings.TrimRight(fraction, "0")
	for len(fraction) < places {
		fraction += "0"
	}
	if fraction == "" {
		return whole
	}
	return whole + "." + fraction
}

func shortestText(d *apd.Decimal) string {
	text := d.Text('f')
	if strings.Contains(text, ".") {
		text = strings.TrimSuffix(strings.TrimRight(text, "0"), ".")
	}
	if text == "-0" {
		return "0"
	}
	return text
}

// plainText is a JSON string or number as text; "" for anything else.
func plainText(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return ""
	}
	switch c := raw[0]; {
	case c == '"':
		var text string
		if json.Unmarshal(raw, &text) != nil {
			return ""
		}
		return strings.TrimSpace(text)
	case c == '-' || (c >= '0' && c <= '9'):
		return string(raw)
	}
	return ""
}

// EarlierRequest is the last request before this one that asked for the same tool on the same invoice,
// with what became of it and what differs.
type EarlierRequest struct {
	RequestID  string
	Status     models.RequestStatus
	AskedAt    models.Time
	DecidedAt  models.Time
	ExpiredAt  models.Time // when it lapsed
	DecidedBy  []string    // "Jonas Weber on behalf of Ines Hoffmann"
	Reason     string
	SentBack   bool // with a correction
	Correction []CorrectedValue
	Approval   models.ApprovalStatus // empty without an approval
	Report     ReportStatus
	Document   string
	SameCall   bool
	Changes    []Change
	// EvidenceThen and EvidenceNow count the pieces of evidence.
	EvidenceThen, EvidenceNow int
}

// Change is one value that differs between two requests. Of an argument Name is its path in the call.
type Change struct {
	Name      string
	Argument  bool
	Then, Now string
	// WasThere and IsThere tell an empty text from a value that is not in the call.
	WasThere, IsThere bool
}

// EarlierRequestOf reads what an earlier request for the same tool and invoice asked, and how this one
// differs; nil when there is none.
func (s *Service) EarlierRequestOf(ctx context.Context, by models.Principal, requestID string) (*EarlierRequest, error) {
	if err := mayRead(by); err != nil {
		return nil, err
	}
	var out *EarlierRequest
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		r, err := findRequest(tx, requestID)
		if err != nil {
			return err
		}
		out, err = earlierRequest(tx, r)
		return err
	})
	return out, err
}

func earlierRequest(tx *models.Tx, r models.ApprovalRequest) (*EarlierRequest, error) {
	var rows []models.ApprovalRequest
	err := tx.DB.Where("workspace_id = ? AND invoice_id = ? AND tool = ? AND id <> ? AND (created_at < ? OR (created_at = ? AND id < ?))",
		r.WorkspaceID, r.InvoiceID, r.Tool, r.ID, r.CreatedAt, r.CreatedAt, r.ID).
		Order("created_at DESC, id DESC").Limit(1).Find(&rows).Error
	if err != nil {
		return nil, fmt.Errorf("approvals: read earlier request: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	e := rows[0]
	out := &EarlierRequest{RequestID: e.ID, Status: statusAt(e, tx.Now), AskedAt: e.CreatedAt, DecidedAt: e.DecidedAt, Reason: e.Reason,
		SameCall: e.Digest == r.Digest, EvidenceThen: countItems(e.Evidence), EvidenceNow: countItems(r.Evidence)}
	if out.Status == models.RequestExpired {
		out.ExpiredAt = e.ExpiresAt
	}
	if e.Instruction != nil {
		var in models.Instruction
		if json.Unmarshal([]byte(*e.Instruction), &in) == nil && in.Kind == models.InstructRetryWith {
			out.SentBack, out.Correction = true, CorrectedValues(json.RawMessage(e.Arguments), &in)
		}
	}
	a, ok, err := approvalOf(tx, e.ID)
	if err != nil {
		return nil, err
	}
	if ok {
		out.Approval, out.Report, out.Document = approvalAt(a, tx.Now), ReportStatus(a.ReportStatus), a.DocumentNumber
	}
	if out.DecidedBy, err = whoDecided(tx, e, out.Status); err != nil {
		return nil, err
	}
	out.Changes = Changes(e, r)
	return out, nil
}

// whoDecided names whose votes decided a request, with in whose place each voted.
func whoDecided(tx *models.Tx, r models.ApprovalRequest, status models.RequestStatus) ([]string, error) {
	want := models.VoteApprove
	switch status {
	case models.RequestRejected:
		want = models.VoteReject
	case models.RequestApproved:
	default:
		return nil, nil
	}
	var votes []models.Vote
	err := tx.DB.Where("request_id = ? AND workspace_id = ? AND decision = ?", r.ID, r.WorkspaceID, want).Order("at, id").Find(&votes).Error
	if err != nil {
		return nil, fmt.Errorf("approvals: read votes: %w", err)
	}
	var names []string
	for _, v := range votes {
		name := v.UserName
		if v.OnBehalfOfName != "" {
			name += " on behalf of " + v.OnBehalfOfName
		}
		names = append(names, name)
	}
	return names, nil
}

func countItems(list string) int {
	var items []json.RawMessage
	if json.Unmarshal([]byte(list), &items) != nil {
		return 0
	}
	return len(items)
}

// Changes lists what differs between two requests for the same tool: first what the request claims,
// then the arguments of the call, by path.
func Changes(then, now models.ApprovalRequest) []Change {
	var out []Change
	for _, c := range []Change{
		{Name: BoundAmount, Then: formatAmount(then.Amount, then.Currency), Now: formatAmount(now.Amount, now.Currency)},
		{Name: BoundPostingDate, Then: then.PostingDate.String(), Now: now.PostingDate.String()},
		{Name: BoundSupplier, Then: then.SupplierID, Now: now.SupplierID},
		{Name: "Document type", Then: then.DocumentType, Now: now.DocumentType},
		{Name: "Cost centre", Then: then.CostCentre, Now: now.CostCentre},
	} {
		if c.Then != c.Now {
			c.WasThere, c.IsThere = c.Then != "", c.Now != ""
			out = append(out, c)
		}
	}
	before, after := flatten(then.Arguments), flatten(now.Arguments)
	var paths []string
	for path := range before {
		paths = append(paths, path)
	}
	for path := range after {
		if _, ok := before[path]; !ok {
			paths = append(paths, path)
		}
	}
	sort.Strings(paths)
	for _, path := range paths {
		a, was := before[path]
		b, is := after[path]
		if was != is || a != b {
			out = append(out, Change{Name: path, Argument: true, Then: a.text, Now: b.text, WasThere: was, IsThere: is})
		}
	}
	return out
}

// leaf is one value within arguments. Its kind tells the number 5 from the text "5".
type leaf struct {
	kind rune
	text string
}

// flatten lists the values within arguments by their path.
func flatten(arguments string) map[string]leaf {
	out := map[string]leaf{}
	dec := json.NewDecoder(strings.NewReader(arguments))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return out
	}
	var walk func(path string, v any)
	walk = func(path string, v any) {
		below := func(name string) string {
			if path == "" {
				return name
			}
			return path + " › " + name
		}
		// No name can be spelled like the path of something else.
		plain := strings.NewReplacer(`\`, `\\`, "›", `\›`, "[", `\[`)
		switch v := v.(type) {
		case map[string]any:
			if len(v) == 0 && path != "" {
				out[path] = leaf{'{', "{}"}
			}
			for name, member := range v {
				walk(below(plain.Replace(name)), member)
			}
		case []any:
			if len(v) == 0 {
				out[path] = leaf{'[', "[]"}
			}
			for i, item := range v {
				walk(below("["+strconv.Itoa(i+1)+"]"), item)
			}
		case string:
			out[path] = leaf{'"', v}
		case json.Number:
			out[path] = leaf{'0', v.String()}
		case bool:
			out[path] = leaf{'t', strconv.FormatBool(v)}
		default:
			out[path] = leaf{'n', "null"}
		}
	}
	walk("", v)
	return out
}
