package approvals

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/apd/v3"
)

// joinedRow is what all sides say of one line.
type joinedRow struct {
	value    matchRow
	marks    []string // in words
	unjudged bool
}

func (r *joinedRow) mark(form string, values ...any) {
	r.marks = append(r.marks, fmt.Sprintf(form, values...))
}

func (r *joinedRow) refuse(form string, values ...any) {
	r.mark(form, values...)
	r.unjudged = true
}

// lineKey says which line a row speaks of. order is set where the evidence tells of several orders, row where
// the row has no number of a line; a row of the invoice is stray when nothing says which line of the order it bills.
type lineKey struct {
	order, line string
	row         int
	stray       bool
}

// placed is a row with the set it came from and the number of its document.
type placed struct {
	row      matchRow
	set      int
	document string
}

// lineRows are the rows of each side that speak of one line.
type lineRows struct {
	key  lineKey
	rows [sideInvoice + 1][]placed
}

// joined puts the rows that speak of one line together. A line is known by its number; where each side
// has but one line, those are the same line.
func (m *matching) joined() []joinedRow {
	orders := m.ordersTold()
	keyed := make([][]lineKey, len(m.sets))
	single := len(orders.names) < 2
	var perSide [sideInvoice + 1]map[lineKey]bool
	for i, set := range m.sets {
		if perSide[set.side] == nil {
			perSide[set.side] = map[lineKey]bool{}
		}
		for at, row := range set.rows {
			key := lineKey{line: number(row[fieldLine])}
			if key.line == "" {
				key.row = at + 1
			}
			key.order = orders.of(m, set, row)
			keyed[i] = append(keyed[i], key)
			perSide[set.side][key] = true
		}
		single = single && len(perSide[set.side]) == 1
	}
	index := map[lineKey]int{}
	var lines []lineRows
	for i, set := range m.sets {
		for at, row := range set.rows {
			key := keyed[i][at]
			if single {
				key = lineKey{}
			}
			key.stray = !single && key.line == "" && set.side == sideInvoice
			n, ok := index[key]
			if !ok {
				n = len(lines)
				index[key] = n
				lines = append(lines, lineRows{key: key})
			}
			lines[n].rows[set.side] = append(lines[n].rows[set.side], placed{row, i, number(documentOf(set, row))})
		}
	}
	if len(orders.names) > 1 {
		m.marks = append(m.marks, fmt.Sprintf("%d orders count together", len(orders.names)))
	}
	m.doubtAlike()
	var repeated repetitions
	var out []joinedRow
	for _, l := range lines {
		row := l.merged(&repeated)
		if receipts := setsIn(l.rows[sideReceipt]); !single && l.key.line == "" && receipts > 1 {
			row.refuse("%d receipts name no line, so it is not judged", receipts)
		}
		if len(orders.names) > 1 && l.key.order == "" && len(orders.withLine[l.key.line]) > 1 {
			row.refuse("several orders have such a line, and nothing says which is meant, so it is not judged")
		}
		if text := orders.names[l.key.order]; text != "" {
			row.value[fieldLine] = text + " / " + orElse(row.value[fieldLine], "–")
		}
		out = append(out, row)
	}
	m.marks = append(m.marks, repeated.marks...)
	return out
}

// number is the number of a line or a document as it is compared.
func number(text string) string {
	if n := strings.TrimLeft(text, "0"); n != "" || text == "" {
		return n
	}
	return "0"
}

// documentOf is the number by which a row that was sent twice is known.
func documentOf(set matchSet, row matchRow) string {
	if set.side == sideOrder {
		return set.document
	}
	return orElse(row[fieldDocument], set.document)
}

// ordersKnown are the orders of which evidence tells, with their lines.
type ordersKnown struct {
	names    map[string]string   // as they were sent, by number
	withLine map[string][]string // the orders that have a line of this number
}

func (m *matching) ordersTold() ordersKnown {
	out := ordersKnown{names: map[string]string{}, withLine: map[string][]string{}}
	for _, set := range m.sets {
		if set.side == sideInvoice {
			continue
		}
		for _, row := range set.rows {
			text := orElse(row[fieldOrder], set.order)
			order, line := number(text), number(row[fieldLine])
			if order == "" {
				continue
			}
			if out.names[order] == "" {
				out.names[order] = text
			}
			if !slices.Contains(out.withLine[line], order) {
				out.withLine[line] = append(out.withLine[line], order)
			}
		}
	}
	return out
}

// of is the order of a row, where there are several: the one it names, or the only one with such a line.
func (o ordersKnown) of(m *matching, set matchSet, row matchRow) string {
	if len(o.names) < 2 {
		return ""
	}
	order := number(orElse(row[fieldOrder], set.order))
	if order == "" && set.side == sideInvoice && o.names[number(m.totalOrder)] != "" {
		order = number(m.totalOrder)
	}
	if with := o.withLine[number(row[fieldLine])]; order == "" && len(with) == 1 {
		order = with[0]
	}
	return order
}

func setsIn(rows []placed) int {
	seen := map[int]bool{}
	for _, r := range rows {
		seen[r.set] = true
	}
	return len(seen)
}

// doubtAlike tells of receipts that may be one and the same: they carry no number and say the same.
func (m *matching) doubtAlike() {
	times := map[string]int{}
	for _, set := range m.sets {
		if set.side == sideReceipt && !slices.ContainsFunc(set.rows, func(row matchRow) bool { return documentOf(set, row) != "" }) {
			times[set.whole]++
		}
	}
	for _, n := range times {
		if n > 1 {
			m.doubts = append(m.doubts, fmt.Sprintf("%d receipts carry no number and are alike: if they are the same one, too much counts as received", n))
		}
	}
	slices.Sort(m.doubts)
}

// repetitions says once of each document that it was sent more than once.
type repetitions struct{ marks []string }

func (r *repetitions) of(s side, document string) {
	text := "The same lines were sent more than once and count once"
	switch {
	case s == sideOrder && document == "":
		text = "The order was sent more than once and counts once"
	case s == sideOrder:
		text = fmt.Sprintf("Order %s was sent more than once and counts once", document)
	case document != "":
		text = fmt.Sprintf("Receipt %s was sent more than once and counts once", document)
	}
	if !slices.Contains(r.marks, text) {
		r.marks = append(r.marks, text)
	}
}

// owners are whose word counts for a value, the first of them that says it.
var owners = map[string][]side{
	fieldLine: {sideOrder, sideMatch, sideReceipt, sideInvoice}, fieldText: {sideOrder, sideMatch, sideReceipt, sideInvoice},
	fieldOrdered: {sideOrder, sideMatch, sideReceipt, sideInvoice}, fieldOrderPrice: {sideOrder, sideMatch, sideReceipt, sideInvoice},
	fieldReceived: {sideReceipt, sideMatch, sideOrder, sideInvoice}, fieldExpected: {sideReceipt, sideMatch, sideOrder, sideInvoice},
	fieldInvoiced: {sideInvoice, sideMatch, sideOrder, sideReceipt}, fieldInvoicePrice: {sideInvoice, sideMatch, sideOrder, sideReceipt},
	fieldAmount: {sideInvoice, sideMatch, sideOrder, sideReceipt},
}

// otherwise is how it is said that other evidence has another figure.
var otherwise = []struct{ field, form string }{
	{fieldOrdered, "other evidence says %s ordered"},
	{fieldReceived, "other evidence says %s received"},
	{fieldInvoiced, "other evidence says %s invoiced"},
	{fieldOrderPrice, "other evidence has the order's price as %s"},
	{fieldInvoicePrice, "other evidence has the invoice's price as %s"},
	{fieldAmount, "other evidence has the line's amount as %s"},
}

// merged adds up the rows of each side and then takes every value from the side whose it is.
func (l lineRows) merged(repeated *repetitions) joinedRow {
	out := joinedRow{value: matchRow{}}
	var by [sideInvoice + 1][]matchRow
	for s := range l.rows {
		s := side(s)
		for _, rows := range l.apart(s, repeated, &out) {
			by[s] = append(by[s], out.added(s, rows))
		}
	}
	for field, sides := range owners {
		for _, s := range sides {
			for _, row := range by[s] {
				if field == fieldExpected && s == sideOrder && receivedOf(by) != "" && !sameFigure(receivedOf(by), row[fieldOrdered]) {
					continue // what was ordered is not worth what was received
				}
				out.value.set(field, row[field])
			}
		}
	}
	for _, o := range otherwise {
		var told []string
		for _, rows := range by {
			for _, row := range rows {
				if other := row[o.field]; figureText(other) != "" && figureText(out.value[o.field]) != "" && !sameFigure(other, out.value[o.field]) &&
					!slices.ContainsFunc(told, func(t string) bool { return sameFigure(t, other) }) {
					told = append(told, other)
					out.mark(o.form, other)
				}
			}
		}
	}
	return out
}

// receivedOf is what the side whose word counts says was received.
func receivedOf(by [sideInvoice + 1][]matchRow) string {
	for _, s := range owners[fieldReceived] {
		for _, row := range by[s] {
			if row[fieldReceived] != "" {
				return row[fieldReceived]
			}
		}
	}
	return ""
}

// apart takes out what was sent twice. The rows of a match come back by table: another table tells of the
// same goods again, while another receipt tells of other goods.
func (l lineRows) apart(s side, repeated *repetitions, out *joinedRow) [][]placed {
	rows := l.rows[s]
	if len(rows) == 0 {
		return nil
	}
	type sent struct {
		document, figures string
	}
	first := map[string]int{} // the set in which a document came first
	known := map[sent]bool{}
	var kept []placed
	for _, row := range rows {
		is := sent{row.document, row.row.figures()}
		numbered := row.document != "" || s == sideOrder
		from, again := first[row.document]
		again = again && from != row.set && numbered && s != sideInvoice && s != sideMatch
		switch {
		case s == sideMatch && row.document != "" && known[is], s == sideReceipt && row.row[fieldDocument] != "" && known[is], again && known[is]:
			repeated.of(s, row.document)
			continue
		case again && row.document != "" && s == sideOrder:
			out.refuse("order %s was sent again with other figures, so the line is not judged", row.document)
		case again && row.document != "":
			out.refuse("receipt %s was sent again with other figures, so the line is not judged", row.document)
		}
		if _, ok := first[row.document]; !ok {
			first[row.document] = row.set
		}
		known[is] = true
		kept = append(kept, row)
	}
	if s != sideMatch || !slices.ContainsFunc(kept, func(row placed) bool { return row.document == "" }) {
		return [][]placed{kept}
	}
	var tables [][]placed
	for _, row := range kept {
		if n := len(tables); n > 0 && tables[n-1][0].set == row.set {
			tables[n-1] = append(tables[n-1], row)
		} else {
			tables = append(tables, []placed{row})
		}
	}
	if len(tables) > 1 {
		repeated.of(s, "")
	}
	return tables
}

var figureFields = []string{fieldOrdered, fieldReceived, fieldInvoiced, fieldOrderPrice, fieldInvoicePrice, fieldExpected, fieldAmount}

// figures are what a row says, in one text.
func (r matchRow) figures() string {
	var b strings.Builder
	for _, field := range figureFields {
		text := r[field]
		if d, ok := exactOf(text); ok {
			var plain apd.Decimal
			plain.Reduce(d)
			text = plain.Text('f')
		}
		b.WriteString(text + "\x00")
	}
	return b.String()
}

func sameFigure(a, b string) bool {
	way, ok := order(a, b)
	return ok && way == 0
}

// added is the sum of the rows that one side has of a line.
func (r *joinedRow) added(s side, rows []placed) matchRow {
	if len(rows) == 1 {
		return rows[0].row
	}
	sum := matchRow{}
	for _, row := range rows {
		sum.set(fieldLine, row.row[fieldLine])
		sum.set(fieldText, row.row[fieldText])
	}
	received := added(rows, fieldReceived)
	if received.count > 1 && !received.bad {
		if n := documentsIn(s, rows); n > 1 {
			r.mark("%s received in %d receipts", received.text, n)
		} else {
			r.mark("%s received in %d rows", received.text, received.count)
		}
	}
	ordered, invoiced := added(rows, fieldOrdered), added(rows, fieldInvoiced)
	switch everywhere := ordered.count == len(rows) && ordered.same; {
	case ordered.count < 2:
	case s == sideReceipt:
		ordered.text, ordered.bad = ordered.each, false // every receipt says again what was ordered
	case s == sideMatch && everywhere && received.text == "":
		r.refuse("each of %d rows says %s ordered, and nothing tells whether that is the same again, so the line is not judged", ordered.count, ordered.each)
	case s == sideMatch && everywhere && atMost(received.text, ordered.each):
		ordered.text = ordered.each
		r.mark("%s ordered stands in each of %d rows and counts once", ordered.text, ordered.count)
	default:
		r.mark("%s ordered in %d rows", ordered.text, ordered.count)
	}
	switch {
	case invoiced.count < 2:
	case s == sideMatch && invoiced.count == len(rows) && invoiced.same:
		r.refuse("each of %d rows says %s invoiced, and nothing tells whether that is the same again, so the line is not judged", invoiced.count, invoiced.each)
	default:
		r.mark("%s invoiced in %d rows", invoiced.text, invoiced.count)
	}
	for _, q := range []sumOf{received, ordered, invoiced} {
		if q.bad {
			r.refuse("%s cannot be added up, so the line is not judged", q.text)
		}
		sum.set(q.field, q.text)
	}
	price := added(rows, fieldOrderPrice)
	if sum.set(fieldOrderPrice, price.each); !price.same && price.count > 1 {
		r.refuse("%d rows have different prices of the order, so the line is not judged", price.count)
	}
	if value := added(rows, fieldExpected); value.count == len(rows) && !value.bad {
		sum.set(fieldExpected, value.text)
	}
	billed := added(rows, fieldInvoicePrice)
	if sum.set(fieldInvoicePrice, billed.each); !billed.same && billed.count > 1 {
		r.mark("%d rows have different prices of the invoice", billed.count)
	}
	bills := make([]placed, len(rows))
	for i, row := range rows {
		bills[i].row = matchRow{fieldAmount: row.row[fieldAmount]}
		product, ok := times(row.row[fieldInvoiced], row.row[fieldInvoicePrice], "")
		switch stated := figureText(row.row[fieldAmount]); {
		case ok && stated == "":
			bills[i].row[fieldAmount] = product
		case ok && !billed.same && compareAmounts(stated, product) != 0:
			r.mark("a row of it bills %s; quantity times price is %s", stated, product)
		}
	}
	switch amount := added(bills, fieldAmount); {
	case amount.count != len(rows) || amount.bad:
	case s == sideMatch && amount.same && invoiced.count == 0:
		r.refuse("each of %d rows says %s invoiced, and nothing tells whether that is the same again, so the line is not judged", amount.count, amount.each)
	default:
		sum.set(fieldAmount, amount.text)
	}
	return sum
}

// documentsIn counts the receipts the rows come from, 0 where rows do not say.
func documentsIn(s side, rows []placed) int {
	seen := map[string]bool{}
	for _, row := range rows {
		switch {
		case row.document != "":
			seen["number "+row.document] = true
		case s == sideReceipt:
			seen[fmt.Sprint("set ", row.set)] = true
		default:
			return 0
		}
	}
	return len(seen)
}

// sumOf is a value of several rows added up.
type sumOf struct {
	field string
	text  string // the sum; what stands in the rows where it cannot be added up
	each  string // what stands in the rows, one after the other where they differ
	count int    // of the rows that say it
	same  bool   // all that say it say the same
	bad   bool   // it cannot be added up
}

// mostShown bounds the values that are written out one after the other.
const mostShown = 4

func added(rows []placed, field string) sumOf {
	out := sumOf{field: field, same: true}
	var shown []string
	var sum apd.Decimal
	var before figure
	for _, row := range rows {
		text := row.row[field]
		if text == "" {
			continue
		}
		f, ok := figureOf(text)
		out.count++
		if shown = append(shown, text); out.count > 1 {
			out.same = out.same && (text == shown[0] || ok && f.unit == before.unit && sameFigure(text, shown[0]))
			out.bad = out.bad || f.unit != before.unit
		}
		before = f
		d, ok := exactOf(text)
		if !ok {
			out.bad = true
			continue
		}
		if _, err := exact.Add(&sum, &sum, d); err != nil {
			out.bad = true
		}
	}
	switch {
	case out.count == 0:
		return out
	case out.same:
		out.each = shown[0]
	default:
		out.each = together(shown, " / ")
	}
	switch {
	case out.count == 1:
		out.text, out.bad = shown[0], false
	case out.bad:
		out.text = together(shown, " + ")
	case slices.Contains(orderMoney, field), slices.Contains(invoiceMoney, field):
		out.text = sum.Text('f')
	default:
		out.text = strings.TrimSpace(shortestText(&sum) + " " + before.unit)
	}
	return out
}

func together(texts []string, joint string) string {
	if len(texts) > mostShown {
		texts = append(slices.Clone(texts[:mostShown]), "…")
	}
	return strings.Join(texts, joint)
}

func atMost(a, b string) bool {
	way, ok := order(a, b)
	return ok && way <= 0
}
