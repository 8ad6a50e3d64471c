package models

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// SearchKind is what kind of record a result is.
type SearchKind string

// The kinds of records people search.
const (
	SearchCase         SearchKind = "case"
	SearchRequest      SearchKind = "request" // approval request
	SearchHold         SearchKind = "hold"
	SearchConfirmation SearchKind = "confirmation"
	SearchInvoice      SearchKind = "invoice"
	SearchSupplier     SearchKind = "supplier"
	SearchPO           SearchKind = "po"
	SearchComment      SearchKind = "comment"
	SearchReason       SearchKind = "reason" // of a decision on a case, or of a vote on a request
)

// SearchKinds lists every kind.
func SearchKinds() []SearchKind {
	return []SearchKind{SearchCase, SearchRequest, SearchInvoice, SearchHold, SearchConfirmation, SearchSupplier, SearchPO, SearchComment, SearchReason}
}

// Valid says whether k is a known kind.
func (k SearchKind) Valid() bool { return slices.Contains(SearchKinds(), k) }

// SearchHit is a record that was found. Text is what of it is searched, without tax and bank data.
type SearchHit struct {
	Seq      int64
	Kind     SearchKind
	Subject  string // the record's id
	Page     string // id of the record whose page shows it
	At       Time   // when it began
	Status   string
	Queue    Queue
	Code     Code
	Title    string
	Number   string // of the invoice
	Supplier string
	Amount   string
	Currency string
	Text     string
	Own      bool `gorm:"-"` // what was typed is its id or number
}

// SearchPage says which of the results are wanted.
type SearchPage struct {
	Cursor string
	Limit  int // 0 means SearchLimit
}

// SearchResult is one page of results: those whose own id or number was typed first, then the newest.
type SearchResult struct {
	Hits       []SearchHit
	NextCursor string // "" on the last page
	Count      int    // of all results, at most SearchCounted
	More       bool   // there are more than Count
}

// Bounds of a search.
const (
	SearchLimit   = 25
	SearchCounted = 100
)

// searchers are the roles of people who may search: those who may read every record of the workspace.
var searchers = []Role{RoleAPClerk, RoleAPLead, RoleProcurement, RoleFinanceLead, RoleMasterData, RoleAuditor, RoleAdmin}

// MaySearch says whether the principal is a signed-in person who reads the workspace's records. No token
// of any scope searches.
func (p Principal) MaySearch() bool { return p.IsPerson() && p.Has(searchers...) }

// Search finds records of the workspace acted in. It fails with insufficient_permission, and with
// BAD_REQUEST for a cursor it did not make; nothing typed makes it fail.
func (s *Store) Search(ctx context.Context, by Principal, q SearchQuery, p SearchPage) (SearchResult, error) {
	out := SearchResult{}
	if err := by.NeedPerson(); err != nil {
		return out, err
	}
	if err := by.NeedRole(searchers...); err != nil {
		return out, err
	}
	from, err := readSearchCursor(p.Cursor)
	if err != nil {
		return out, err
	}
	if q.Empty() || q.ApprovalID {
		return out, nil
	}
	limit := p.Limit
	if limit <= 0 || limit > SearchLimit {
		limit = SearchLimit
	}
	s.awaitSearch(ctx)
	err = s.View(ctx, by, func(tx *Tx) error {
		ws, err := tx.Workspace()
		if err != nil {
			return err
		}
		find := newSearch(tx, q, ws.Zone())
		if out.Hits, err = find.page(from, limit+1); err != nil {
			return err
		}
		if len(out.Hits) > limit {
			out.Hits = out.Hits[:limit]
			last := out.Hits[limit-1]
			out.NextCursor = searchCursor{own: last.Own, seq: last.Seq}.text()
		}
		out.Count, err = find.count()
		if out.Count > SearchCounted {
			out.Count, out.More = SearchCounted, true
		}
		return err
	})
	return out, err
}

// searchCursor is behind which result a page begins.
type searchCursor struct {
	own bool
	seq int64 // 0: at the first
}

func (c searchCursor) text() string {
	if c.own {
		return "o" + strconv.FormatInt(c.seq, 36)
	}
	return "r" + strconv.FormatInt(c.seq, 36)
}

func readSearchCursor(s string) (searchCursor, error) {
	if s == "" {
		return searchCursor{own: true}, nil
	}
	seq, err := strconv.ParseInt(s[1:], 36, 64)
	if err != nil || seq <= 0 || s[0] != 'o' && s[0] != 'r' {
		return searchCursor{}, E(BadRequest, "This page of results does not exist. Start again at the first.", map[string]any{"field": "cursor"})
	}
	return searchCursor{own: s[0] == 'o', seq: seq}, nil
}

// search is a query for one workspace and database.
type search struct {
	tx     *Tx
	mark   string
	own    string     // expression for records whose own id or number was typed; "" when none can be
	rest   string     // expression for the others; "" when only filters narrow
	scope  string     // expression that both need; "" when none
	where  []string   // conditions on columns
	args   []any      // of where
	values expression // how the database wants it
}

func newSearch(tx *Tx, q SearchQuery, zone *time.Location) *search {
	f := &search{tx: tx, mark: searchMark(tx.By.WorkspaceID), values: liteExpression{}}
	if tx.store.postgres {
		f.values = pgExpression{}
	}
	x := f.values
	one := func(class rune, value string, prefix bool) string { return x.term(f.mark+string(class)+value, prefix) }
	var scope, words []string
	if q.Kind != "" {
		scope = append(scope, one(classKind, string(q.Kind), false))
	}
	if q.Code != "" {
		scope = append(scope, one(classCode, termValue(foldText(string(q.Code))), false))
	}
	if q.Currency != "" {
		scope = append(scope, one(classCurrency, termValue(foldText(q.Currency)), false))
	}
	if q.Supplier != "" {
		// Either its words stand in the name, or it is the id.
		t := newTerms(tx.By.WorkspaceID)
		t.words(classSupplier, q.Supplier)
		var all []string
		for _, r := range runsIn(q.Supplier) {
			text := q.Supplier[r.from:r.to]
			forms := []string{digitsValue(text)}
			if !r.digits {
				forms = wordForms(text)
			}
			var any []string
			for _, form := range forms {
				if form != "" {
					any = append(any, one(classSupplier, form, len([]rune(form)) > 1))
				}
			}
			if len(any) > 0 && len(all) < maxQueryWord {
				all = append(all, x.or(any))
			}
		}
		if len(all) > 0 {
			scope = append(scope, x.and(all))
		}
	}
	if q.Invoice != "" {
		scope = append(scope, one(classInvoice, numberValue(q.Invoice), true))
	}
	if q.PO != "" {
		scope = append(scope, one(classPO, numberValue(q.PO), true))
	}
	for _, w := range q.Words {
		var forms []string
		for _, form := range w.Forms {
			var parts []string
			for _, t := range form {
				parts = append(parts, one(t.class, t.value, t.prefix))
			}
			forms = append(forms, x.and(parts))
		}
		words = append(words, x.or(forms))
	}
	f.scope = x.and(scope)
	f.rest = x.and(words)
	if q.Own != "" && len(q.Words) > 0 {
		f.own = one(classOwn, q.Own, false)
	}
	if q.RecordID != "" {
		f.own = one(classOwn, numberValue(q.RecordID), false)
	}
	col := func(condition string, args ...any) {
		f.where, f.args = append(f.where, condition), append(f.args, args...)
	}
	if q.Status != "" {
		col("d.status = ? AND d.status <> ''", q.Status)
	}
	if q.Queue != "" {
		col("d.queue = ? AND d.queue <> ''", string(q.Queue))
	}
	bound := func(amount, reached, passed string, without bool) {
		if amount == "" {
			return
		}
		op := reached
		if without {
			op = passed
		}
		col("d.amount_key "+op+" ? AND d.amount_key <> ''", amountKey(amount))
	}
	bound(q.AmountFrom, ">=", ">", q.Over)
	bound(q.AmountTo, "<=", "<", q.Under)
	from, before := q.dayBounds(zone)
	if !from.IsZero() {
		col("d.seq >= ?", seqAt(from))
	}
	if !before.IsZero() {
		col("d.seq < ?", seqAt(before))
	}
	return f
}

// page reads results from a cursor on.
func (f *search) page(from searchCursor, limit int) ([]SearchHit, error) {
	var hits []SearchHit
	if from.own && f.own != "" {
		found, err := f.read(f.values.and(some(f.own, f.scope)), from.seq, limit)
		if err != nil {
			return nil, err
		}
		for _, h := range found {
			h.Own = true
			hits = append(hits, h)
		}
	}
	if len(hits) >= limit || f.rest == "" && f.own != "" {
		return hits, nil
	}
	after := from.seq
	if from.own {
		after = 0
	}
	expr := f.values.and(some(f.rest, f.scope))
	if f.own != "" {
		expr = f.values.not(expr, f.own)
	}
	found, err := f.read(expr, after, limit-len(hits))
	return append(hits, found...), err
}

// count counts results, up to one more than is told.
func (f *search) count() (int, error) {
	expr := f.values.and(some(f.values.or(some(f.own, f.rest)), f.scope))
	from, where, args := f.from(expr)
	var n int
	err := f.tx.DB.Raw("SELECT count(*) FROM (SELECT 1 FROM "+from+" WHERE "+where+" LIMIT ?) x", append(args, SearchCounted+1)...).Scan(&n).Error
	if err != nil {
		return 0, fmt.Errorf("models: count what was found: %w", err)
	}
	return n, nil
}

func (f *search) read(expr string, after int64, limit int) ([]SearchHit, error) {
	query, args := f.statement(expr, after, limit)
	var rows []SearchHit
	if err := f.tx.DB.Raw(query, args...).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("models: search: %w", err)
	}
	return rows, nil
}

func (f *search) statement(expr string, after int64, limit int) (query string, args []any) {
	from, where, args := f.from(expr)
	key := "d.seq"
	if expr != "" && !f.tx.store.postgres {
		key = "i.docid" // the index itself has them in order
	}
	if after > 0 {
		where += " AND " + key + " < ?"
		args = append(args, after)
	}
	return "SELECT d.seq, d.kind, d.subject, d.page, d.at, d.status, d.queue, d.code, d.title, d.number, d.supplier, d.amount, d.currency, d.text FROM " + from +
		" WHERE " + where + " ORDER BY " + key + " DESC LIMIT ?", append(args, limit)
}

// from is where results are read, for an expression of terms or, without one, for the columns alone.
func (f *search) from(expr string) (from, where string, args []any) {
	from = "search_docs d"
	var conditions []string
	switch {
	case expr == "":
	case f.tx.store.postgres:
		conditions, args = append(conditions, "d.terms @@ CAST(CAST(? AS text) AS tsquery)"), append(args, expr)
	default:
		from = "search_index i CROSS JOIN search_docs d ON d.seq = i.docid"
		conditions, args = append(conditions, "i.norm MATCH ?"), append(args, expr)
	}
	conditions = append(append(conditions, "d.workspace_id = ?"), f.where...)
	return from, strings.Join(conditions, " AND "), append(append(args, f.tx.By.WorkspaceID), f.args...)
}

func some(texts ...string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return s == "" })
}

// expression writes terms and how they belong together as one database wants it. Terms are letters and
// digits, so that none is an operator.
type expression interface {
	term(term string, prefix bool) string
	and(parts []string) string
	or(parts []string) string
	not(expr, without string) string
}

// liteExpression is the enhanced query syntax of SQLite's FTS4. Operators are upper case, terms never.
type liteExpression struct{}

func (liteExpression) term(term string, prefix bool) string {
	if prefix {
		return term + "*"
	}
	return term
}
func (liteExpression) and(parts []string) string { return joined(parts, " AND ") }
func (liteExpression) or(parts []string) string  { return joined(parts, " OR ") }
func (liteExpression) not(expr, without string) string {
	if expr == "" {
		return ""
	}
	return expr + " NOT " + without
}

// pgExpression is a tsquery of exact terms.
type pgExpression struct{}

func (pgExpression) term(term string, prefix bool) string {
	if prefix {
		return "'" + term + "':*"
	}
	return "'" + term + "'"
}
func (pgExpression) and(parts []string) string { return joined(parts, " & ") }
func (pgExpression) or(parts []string) string  { return joined(parts, " | ") }
func (pgExpression) not(expr, without string) string {
	if expr == "" {
		return ""
	}
	return expr + " & !" + without
}

func joined(parts []string, operator string) string {
	switch len(parts) {
	case 0:
		return ""
	case 1:
		return parts[0]
	}
	return "(" + strings.Join(parts, operator) + ")"
}

// seqBits are for telling records of one millisecond apart.
const seqBits = 12

// seqAt is the least key of a record that begins at a time.
func seqAt(t Time) int64 { return max(t.UnixMilli(), 1) << seqBits }

// searchDoc is a record as it is searched.
type searchDoc struct {
	Kind     SearchKind
	Subject  string
	Page     string
	At       Time
	Status   string
	Queue    string
	Code     string
	Title    string
	Number   string
	Supplier string
	Amount   string
	Currency string
	Text     string
	terms    *terms
}

// keptDoc is what of a row tells whether it has to be written again.
type keptDoc struct {
	Seq      int64
	Status   string
	Queue    string
	Title    string
	Number   string
	Supplier string
	Amount   string
	Currency string
	Text     string
	Norm     string
}

// put writes a record's row, unless it stands there already as it is.
func (tx *Tx) put(d searchDoc) error {
	d.terms.add(classKind, string(d.Kind))
	d.terms.add(classCode, termValue(foldText(d.Code)))
	want := keptDoc{Status: d.Status, Queue: d.Queue, Title: d.Title, Number: d.Number, Supplier: d.Supplier, Amount: d.Amount, Currency: d.Currency, Text: d.Text, Norm: d.terms.norm()}
	ws := tx.By.WorkspaceID
	for attempt := range int64(1 << seqBits) {
		have, err := One[keptDoc](tx, "SELECT seq, status, queue, title, number, supplier, amount, currency, text, norm FROM search_docs WHERE workspace_id = ? AND kind = ? AND subject = ?",
			ws, string(d.Kind), d.Subject)
		if err == nil {
			want.Seq = have.Seq
			if have == want {
				return nil
			}
			if have.Norm != want.Norm {
				if err := tx.reindex(want.Seq, true); err != nil {
					return err
				}
			}
			_, err := tx.Exec(`UPDATE search_docs SET status = ?, queue = ?, title = ?, number = ?, supplier = ?, amount = ?, amount_key = ?, currency = ?, text = ?, norm = ? WHERE seq = ?`,
				want.Status, want.Queue, want.Title, want.Number, want.Supplier, want.Amount, amountKeyOr(want.Amount), want.Currency, want.Text, want.Norm, want.Seq)
			return searchWritten(err)
		}
		if !errors.Is(err, ErrNoRow) {
			return searchWritten(err)
		}
		seq := seqAt(d.At) | (tx.store.searched.Add(1)+attempt)&(1<<seqBits-1)
		if crowded := attempt - 32; crowded > 0 {
			seq += crowded << seqBits // its millisecond is full: the next will do
		}
		made, err := tx.Exec(`INSERT INTO search_docs (seq, workspace_id, kind, subject, page, at, status, queue, code, title, number, supplier, amount, amount_key, currency, text, norm)
			VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT DO NOTHING`,
			seq, ws, string(d.Kind), d.Subject, d.Page, d.At, d.Status, d.Queue, d.Code, d.Title, d.Number, d.Supplier, d.Amount, amountKeyOr(d.Amount), d.Currency, d.Text, want.Norm)
		if err != nil {
			return searchWritten(err)
		}
		if made == 1 {
			return tx.reindex(seq, false)
		}
	}
	return fmt.Errorf("models: search: no place for %s", d.Subject)
}

func searchWritten(err error) error {
	if err != nil {
		return fmt.Errorf("models: write for search: %w", err)
	}
	return nil
}

func amountKeyOr(amount string) string {
	if amount == "" {
		return ""
	}
	return amountKey(amount)
}

// clipText keeps the beginning of a text that is too long to be searched whole.
func clipText(s string) string {
	if len(s) <= maxDocText {
		return s
	}
	return strings.ToValidUTF8(s[:maxDocText], "")
}

// about is what every record about an invoice is found by.
func (tx *Tx) about(inv sentInvoice, hide *scrubber) *terms {
	t := newTerms(tx.By.WorkspaceID)
	for _, n := range []string{inv.Number, inv.ID} {
		n = hide.number(n)
		t.number(n)
		t.field(classInvoice, n)
	}
	t.number(hide.number(inv.SupplierID))
	t.runs(hide.text(inv.SupplierName))
	t.words(classSupplier, hide.number(inv.SupplierID)+" "+hide.text(inv.SupplierName))
	t.number(hide.number(inv.PoID))
	t.field(classPO, hide.number(inv.PoID))
	t.amount(inv.amount, inv.currency)
	return t
}

// sentInvoice is what the search needs of an invoice.
type sentInvoice struct {
	ID           string `json:"id"`
	Number       string `json:"number"`
	SupplierID   string `json:"supplier_id"`
	SupplierName string `json:"supplier_name"`
	PoID         string `json:"po_id"`
	amount       string
	currency     string
}

// readSent reads an invoice as it was sent; what cannot be read is left out.
func readSent(raw string) sentInvoice {
	var inv sentInvoice
	if json.Unmarshal([]byte(raw), &inv) != nil {
		return sentInvoice{}
	}
	return inv
}

func invoiceOfCase(c Case) sentInvoice {
	return sentInvoice{ID: c.InvoiceID, Number: c.InvoiceNumber, SupplierID: c.SupplierID, SupplierName: c.SupplierName, PoID: c.PoID, amount: c.Amount, currency: c.Currency}
}

// searchedHandovers bounds how many of a case's handovers are searched, the newest first.
const searchedHandovers = 20

// indexCase makes a case found by its invoice and by what agents wrote on it.
func (tx *Tx) indexCase(id string) error {
	c, err := One[Case](tx, "SELECT * FROM cases WHERE id = ? AND workspace_id = ?"+tx.ForChange(), id, tx.By.WorkspaceID)
	if err != nil {
		return searchRead(err)
	}
	handed, err := All[Handover](tx, "SELECT body FROM handovers WHERE case_id = ? ORDER BY at DESC, id DESC LIMIT "+strconv.Itoa(searchedHandovers), c.ID)
	if err != nil {
		return searchRead(err)
	}
	raws := []json.RawMessage{json.RawMessage(c.Invoice)}
	for _, h := range handed {
		raws = append(raws, json.RawMessage(h.Body))
	}
	hide := scrubberFor(raws...)
	inv := invoiceOfCase(c)
	t := tx.about(inv, hide)
	t.own(c.ID, hide.number(c.InvoiceNumber), hide.number(c.InvoiceID))
	t.add(classNumber, numberValue(hide.number(c.RunID)))
	t.add(classNumber, numberValue(hide.number(c.DuplicateOf)))
	t.text(string(c.Code))
	t.text(c.AgentName)
	var texts []string
	for _, h := range handed {
		for _, said := range saidIn(h.Body) {
			if !slices.Contains(texts, said) {
				texts = append(texts, said)
			}
		}
	}
	text := clipText(hide.text(strings.Join(texts, "\n")))
	t.text(text)
	return tx.put(searchDoc{Kind: SearchCase, Subject: c.ID, Page: c.ID, At: c.CreatedAt, Status: string(c.Status), Queue: string(c.Queue), Code: string(c.Code),
		Number: hide.number(cmp.Or(c.InvoiceNumber, c.InvoiceID)), Supplier: hide.text(cmp.Or(c.SupplierName, c.SupplierID)), Amount: c.Amount, Currency: c.Currency, Text: text, terms: t})
}

func searchRead(err error) error { return fmt.Errorf("models: read for search: %w", err) }

// saidIn is the free text of a handover.
func saidIn(body string) []string {
	var h struct {
		Explanation string      `json:"explanation"`
		Answer      string      `json:"answer"`
		Errors      []SeenError `json:"errors"`
		Suggestion  *struct {
			Why string `json:"why"`
		} `json:"suggestion"`
		Evidence []struct {
			Title string `json:"title"`
			Text  string `json:"text"`
		} `json:"evidence"`
	}
	if json.Unmarshal([]byte(body), &h) != nil {
		return nil
	}
	said := []string{h.Explanation, h.Answer}
	for _, e := range h.Errors {
		said = append(said, e.Error.Message)
	}
	if h.Suggestion != nil {
		said = append(said, h.Suggestion.Why)
	}
	for _, e := range h.Evidence {
		said = append(said, e.Title, e.Text)
	}
	return slices.DeleteFunc(said, func(s string) bool { return strings.TrimSpace(s) == "" })
}

// indexRequest makes an approval request found.
func (tx *Tx) indexRequest(id string) error {
	r, err := One[ApprovalRequest](tx, "SELECT * FROM approval_requests WHERE id = ? AND workspace_id = ?"+tx.ForChange(), id, tx.By.WorkspaceID)
	if err != nil {
		return searchRead(err)
	}
	hide := scrubberFor(json.RawMessage(r.Invoice), json.RawMessage(r.Arguments), json.RawMessage(r.Evidence))
	inv := requestInvoice(r)
	t := tx.about(inv, hide)
	t.own(r.ID, hide.number(inv.Number), hide.number(r.InvoiceID))
	t.text(hide.text(r.Tool))
	t.text(hide.text(r.DocumentType))
	t.number(hide.number(r.CostCentre))
	t.add(classNumber, numberValue(hide.number(r.RunID)))
	t.text(r.AskerName)
	title := clipText(hide.text(r.Summary))
	t.text(title)
	text := clipText(hide.text(r.Explanation))
	t.text(text)
	return tx.put(searchDoc{Kind: SearchRequest, Subject: r.ID, Page: r.ID, At: r.CreatedAt, Status: string(r.Status), Title: title,
		Number: hide.number(cmp.Or(inv.Number, r.InvoiceID)), Supplier: hide.text(cmp.Or(inv.SupplierName, inv.SupplierID)), Amount: r.Amount, Currency: r.Currency, Text: text, terms: t})
}

func requestInvoice(r ApprovalRequest) sentInvoice {
	inv := readSent(r.Invoice)
	inv.ID, inv.amount, inv.currency = r.InvoiceID, r.Amount, r.Currency
	inv.SupplierID = cmp.Or(r.SupplierID, inv.SupplierID)
	return inv
}

// indexHold makes a hold found.
func (tx *Tx) indexHold(id string) error {
	h, err := One[Hold](tx, "SELECT * FROM holds WHERE id = ? AND workspace_id = ?"+tx.ForChange(), id, tx.By.WorkspaceID)
	if err != nil {
		return searchRead(err)
	}
	hide := scrubberFor(json.RawMessage(h.Invoice), json.RawMessage(h.Errors))
	inv := readSent(h.Invoice)
	inv.ID, inv.PoID, inv.amount, inv.currency = h.InvoiceID, h.PoID, h.Amount, h.Currency
	t := tx.about(inv, hide)
	t.own(h.ID, hide.number(inv.Number), hide.number(h.InvoiceID))
	t.text(string(h.Code))
	t.text(h.AgentName)
	var errs []SeenError
	var said []string
	if json.Unmarshal([]byte(h.Errors), &errs) == nil {
		for _, e := range errs {
			said = append(said, e.Error.Message)
		}
	}
	text := clipText(hide.text(strings.Join(said, "\n")))
	t.text(text)
	return tx.put(searchDoc{Kind: SearchHold, Subject: h.ID, Page: h.ID, At: h.CreatedAt, Status: string(h.Status), Code: string(h.Code), Title: hide.number(h.PoID),
		Number: hide.number(cmp.Or(inv.Number, h.InvoiceID)), Supplier: hide.text(cmp.Or(inv.SupplierName, inv.SupplierID)), Amount: h.Amount, Currency: h.Currency, Text: text, terms: t})
}

// indexConfirmation makes another server's question found by the server, the tool and its words. Answers
// are never searched.
func (tx *Tx) indexConfirmation(id string) error {
	c, err := One[Confirmation](tx, "SELECT * FROM confirmations WHERE id = ? AND workspace_id = ?"+tx.ForChange(), id, tx.By.WorkspaceID)
	if err != nil {
		return searchRead(err)
	}
	hide := scrubberFor(json.RawMessage(c.Invoice), json.RawMessage(c.Arguments), json.RawMessage(c.InputRequests))
	inv := readSent(c.Invoice)
	inv.ID = c.InvoiceID
	t := tx.about(inv, hide)
	t.own(c.ID)
	title := hide.text(c.Tool)
	t.text(title)
	server := hide.text(cmp.Or(c.ServerName, c.ServerURL))
	t.text(server)
	t.text(c.AskerName)
	t.add(classNumber, numberValue(hide.number(c.RunID)))
	var requests map[string]struct {
		Params struct {
			Message string `json:"message"`
		} `json:"params"`
	}
	var said []string
	if json.Unmarshal([]byte(c.InputRequests), &requests) == nil {
		for _, r := range requests {
			said = append(said, r.Params.Message)
		}
		slices.Sort(said)
	}
	text := clipText(hide.text(strings.Join(said, "\n")))
	t.text(text)
	return tx.put(searchDoc{Kind: SearchConfirmation, Subject: c.ID, Page: c.ID, At: c.CreatedAt, Status: string(c.Status), Title: title, Number: hide.number(cmp.Or(inv.Number, c.InvoiceID)),
		Supplier: hide.text(cmp.Or(inv.SupplierName, inv.SupplierID)), Text: cmp.Or(text, server), terms: t})
}

// indexComment makes a comment found by its text and by the invoice of its case.
func (tx *Tx) indexComment(id string) error {
	c, err := One[Comment](tx, "SELECT * FROM comments WHERE id = ? AND workspace_id = ?", id, tx.By.WorkspaceID)
	if err != nil {
		return searchRead(err)
	}
	return tx.indexOnCase(SearchComment, c.ID, c.CaseID, c.At, c.AuthorName, "", c.Text)
}

// indexDecision makes the reason of a decision found. What was entered is never searched.
func (tx *Tx) indexDecision(id string) error {
	d, err := One[Decision](tx, "SELECT * FROM decisions WHERE id = ? AND workspace_id = ?", id, tx.By.WorkspaceID)
	if err != nil {
		return searchRead(err)
	}
	if strings.TrimSpace(d.Reason) == "" {
		return nil
	}
	return tx.indexOnCase(SearchReason, d.ID, d.CaseID, d.DecidedAt, d.DecidedByName, d.Exit, d.Reason)
}

func (tx *Tx) indexOnCase(kind SearchKind, id, caseID string, at Time, who, what, said string) error {
	c, err := One[Case](tx, "SELECT * FROM cases WHERE id = ? AND workspace_id = ?", caseID, tx.By.WorkspaceID)
	if err != nil {
		return searchRead(err)
	}
	hide := scrubberFor(json.RawMessage(c.Invoice))
	t := tx.about(invoiceOfCase(c), hide)
	t.add(classNumber, numberValue(c.ID))
	t.text(who)
	t.text(what)
	text := clipText(hide.text(said))
	t.text(text)
	return tx.put(searchDoc{Kind: kind, Subject: id, Page: c.ID, At: at, Code: string(c.Code), Title: who, Number: hide.number(cmp.Or(c.InvoiceNumber, c.InvoiceID)),
		Supplier: hide.text(cmp.Or(c.SupplierName, c.SupplierID)), Amount: c.Amount, Currency: c.Currency, Text: text, terms: t})
}

// indexVote makes the reason of a vote found.
func (tx *Tx) indexVote(id string) error {
	v, err := One[Vote](tx, "SELECT * FROM votes WHERE id = ? AND workspace_id = ?", id, tx.By.WorkspaceID)
	if err != nil {
		return searchRead(err)
	}
	if strings.TrimSpace(v.Reason) == "" {
		return nil
	}
	r, err := One[ApprovalRequest](tx, "SELECT * FROM approval_requests WHERE id = ? AND workspace_id = ?", v.RequestID, tx.By.WorkspaceID)
	if err != nil {
		return searchRead(err)
	}
	hide := scrubberFor(json.RawMessage(r.Invoice), json.RawMessage(r.Arguments))
	inv := requestInvoice(r)
	t := tx.about(inv, hide)
	t.add(classNumber, numberValue(r.ID))
	t.text(v.UserName)
	text := clipText(hide.text(v.Reason))
	t.text(text)
	return tx.put(searchDoc{Kind: SearchReason, Subject: v.ID, Page: r.ID, At: v.At, Title: v.UserName, Number: hide.number(cmp.Or(inv.Number, r.InvoiceID)),
		Supplier: hide.text(cmp.Or(inv.SupplierName, inv.SupplierID)), Amount: r.Amount, Currency: r.Currency, Text: text, terms: t})
}

// indexSeen makes an invoice the desk has heard of found, and its supplier and purchase order.
func (tx *Tx) indexSeen(invoiceID string) error {
	s, err := One[SeenInvoice](tx, "SELECT * FROM seen_invoices WHERE workspace_id = ? AND invoice_id = ?", tx.By.WorkspaceID, invoiceID)
	if err != nil {
		return searchRead(err)
	}
	hide := scrubberFor()
	inv := sentInvoice{ID: s.InvoiceID, Number: s.Number, SupplierID: s.Supplier, SupplierName: s.SupplierName, PoID: s.PoID, amount: s.Amount, currency: s.Currency}
	t := tx.about(inv, hide)
	t.own(hide.number(s.InvoiceID), hide.number(s.Number))
	t.text(s.InvoiceDate.String())
	name := hide.text(cmp.Or(s.SupplierName, s.Supplier))
	if err := tx.put(searchDoc{Kind: SearchInvoice, Subject: s.InvoiceID, Page: s.InvoiceID, At: s.FirstSeenAt, Title: hide.number(cmp.Or(s.Number, s.InvoiceID)),
		Number: hide.number(cmp.Or(s.Number, s.InvoiceID)), Supplier: name, Amount: s.Amount, Currency: s.Currency, terms: t}); err != nil {
		return err
	}
	if id := hide.number(s.Supplier); id != "" && name != "" {
		t := newTerms(tx.By.WorkspaceID)
		t.own(id, s.SupplierName)
		t.words(classSupplier, id+" "+name)
		t.runs(name)
		if err := tx.put(searchDoc{Kind: SearchSupplier, Subject: id, Page: id, At: s.FirstSeenAt, Title: name, Number: id, Supplier: name, terms: t}); err != nil {
			return err
		}
	}
	po := hide.number(s.PoID)
	if po == "" {
		return nil
	}
	t = newTerms(tx.By.WorkspaceID)
	t.own(po)
	t.field(classPO, po)
	t.words(classSupplier, hide.number(s.Supplier)+" "+name)
	t.number(hide.number(s.Supplier))
	t.runs(name)
	return tx.put(searchDoc{Kind: SearchPO, Subject: po, Page: po, At: s.FirstSeenAt, Title: po, Number: po, Supplier: name, terms: t})
}
