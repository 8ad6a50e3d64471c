package models

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// SeenInvoice is an invoice the desk has heard of, by a handover, a hold or an approval request: the
// newest known value of each field. Tax and bank data is never kept here.
type SeenInvoice struct {
	WorkspaceID  string `gorm:"primaryKey"`
	InvoiceID    string `gorm:"primaryKey"`
	Number       string // as sent
	NumberNorm   string // see NormaliseNumber
	Supplier     string // the id, else the name: see Invoice.Supplier
	SupplierName string
	PoID         string
	Amount       string // as sent; empty when nobody said
	AmountNorm   string // see normaliseAmount
	Currency     string
	InvoiceDate  Date
	FirstSeenAt  Time
	LastSeenAt   Time
}

// TableName is the table of seen invoices.
func (SeenInvoice) TableName() string { return "seen_invoices" }

// SeenOf is an invoice as the desk remembers it; supplierID, when given, is its supplier's.
func SeenOf(inv Invoice, supplierID string) SeenInvoice {
	if supplierID == "" {
		supplierID = inv.SupplierID
	}
	s := SeenInvoice{InvoiceID: inv.ID, Number: inv.Number, NumberNorm: NormaliseNumber(inv.Number), Supplier: supplierID, SupplierName: inv.SupplierName,
		PoID: inv.PoID, InvoiceDate: inv.InvoiceDate}
	if s.Supplier == "" {
		s.Supplier = inv.SupplierName
	}
	if !inv.Amount.IsZero() {
		s.Amount, s.AmountNorm, s.Currency = inv.Amount.Text(), normaliseAmount(inv.Amount.Text()), inv.Amount.Currency()
	}
	return s
}

// normaliseAmount is one text per value: 250.00, 250.0 and 0250 are 250. The sign stays, so that a
// credit note is not the invoice it credits.
func normaliseAmount(decimal string) string {
	digits, negative := strings.CutPrefix(decimal, "-")
	whole, frac, _ := strings.Cut(digits, ".")
	whole = strings.TrimLeft(whole, "0")
	frac = strings.TrimRight(frac, "0")
	if whole == "" {
		whole = "0"
	}
	if frac != "" {
		whole += "." + frac
	}
	if negative && whole != "0" {
		return "-" + whole
	}
	return whole
}

// upsertSeen keeps what was known where nothing new is said. A supplier's id is kept when only a name
// comes; an amount and its currency stay together.
const upsertSeen = `INSERT INTO seen_invoices (workspace_id, invoice_id, number, number_norm, supplier, supplier_name, po_id, amount, amount_norm, currency,
	invoice_date, first_seen_at, last_seen_at) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?)
	ON CONFLICT (workspace_id, invoice_id) DO UPDATE SET
	number = CASE WHEN excluded.number <> '' THEN excluded.number ELSE seen_invoices.number END,
	number_norm = CASE WHEN excluded.number <> '' THEN excluded.number_norm ELSE seen_invoices.number_norm END,
	supplier = CASE WHEN excluded.supplier = '' OR (excluded.supplier = excluded.supplier_name AND seen_invoices.supplier NOT IN ('', seen_invoices.supplier_name))
		THEN seen_invoices.supplier ELSE excluded.supplier END,
	supplier_name = CASE WHEN excluded.supplier_name <> '' THEN excluded.supplier_name ELSE seen_invoices.supplier_name END,
	po_id = CASE WHEN excluded.po_id <> '' THEN excluded.po_id ELSE seen_invoices.po_id END,
	amount = CASE WHEN excluded.amount <> '' THEN excluded.amount ELSE seen_invoices.amount END,
	amount_norm = CASE WHEN excluded.amount <> '' THEN excluded.amount_norm ELSE seen_invoices.amount_norm END,
	currency = CASE WHEN excluded.amount <> '' THEN excluded.currency ELSE seen_invoices.currency END,
	invoice_date = COALESCE(excluded.invoice_date, seen_invoices.invoice_date),
	last_seen_at = excluded.last_seen_at`

// SeeInvoice remembers an invoice for the candidates of duplicates. supplierID, when given, is the
// supplier's id as the call or a person says it, which goes before the invoice's own. What is unknown
// now keeps its last known value.
func (tx *Tx) SeeInvoice(inv Invoice, supplierID string) error {
	if inv.ID == "" {
		return nil
	}
	s := SeenOf(inv, supplierID)
	_, err := tx.Exec(upsertSeen, tx.By.WorkspaceID, s.InvoiceID, s.Number, s.NumberNorm, s.Supplier, s.SupplierName, s.PoID, s.Amount, s.AmountNorm, s.Currency,
		s.InvoiceDate, tx.Now, tx.Now)
	if err != nil {
		return fmt.Errorf("models: remember invoice: %w", err)
	}
	return tx.dueForSearch("seen_invoices", s.InvoiceID)
}

// DuplicateWhy says by what one invoice may be another one again.
type DuplicateWhy string

// The reasons of a candidate.
const (
	WhyNumber DuplicateWhy = "number" // the same number, as NormaliseNumber compares them
	WhyAmount DuplicateWhy = "amount" // the same amount and currency, with dates near one another
	WhyBoth   DuplicateWhy = "both"
)

// nearDays is how far apart, in days, the dates of two invoices may lie to count as near.
const nearDays = 14

// MayDuplicate says why two invoices may be one: they are of the same supplier, and have the same
// number, or the same amount and near dates. "" when they are no candidates.
//
// The supplier must be known, and be written alike. The number counts whatever amounts and dates are:
// numbers restart every year, so it is for a person to judge. Dates are near within 14 days; without
// any date of both they count as near, since nothing tells the two apart, and with the date of only one
// they do not. Amounts are compared with their sign: a credit note is not the invoice it credits.
func MayDuplicate(a, b SeenInvoice) DuplicateWhy {
	if a.InvoiceID == b.InvoiceID || a.Supplier == "" || a.Supplier != b.Supplier {
		return ""
	}
	number := a.NumberNorm != "" && a.NumberNorm == b.NumberNorm
	amount := a.AmountNorm != "" && a.AmountNorm == b.AmountNorm && a.Currency == b.Currency && near(a.InvoiceDate, b.InvoiceDate)
	switch {
	case number && amount:
		return WhyBoth
	case number:
		return WhyNumber
	case amount:
		return WhyAmount
	}
	return ""
}

func near(a, b Date) bool {
	days, ok := DaysBetween(a, b)
	if !ok {
		return a.IsZero() && b.IsZero()
	}
	return days <= nearDays
}

// DaysBetween is how many days lie between two dates; ok is false when one is missing.
func DaysBetween(a, b Date) (days int, ok bool) {
	if a.IsZero() || b.IsZero() {
		return 0, false
	}
	from, errA := time.Parse(time.DateOnly, a.String())
	to, errB := time.Parse(time.DateOnly, b.String())
	if errA != nil || errB != nil {
		return 0, false
	}
	return int(to.Sub(from).Abs().Hours()) / 24, true
}

// DuplicateCandidate is an invoice that another one may be again.
type DuplicateCandidate struct {
	Invoice SeenInvoice
	Why     DuplicateWhy // empty when it is only named
	Named   bool         // somebody said that this is the other invoice
	// Judged is set when a person judged this pair not to be duplicates, or the one to be the other.
	Judged    *JudgedPair
	Cases     []CandidateCase     // the newest first, at most five
	Approvals []CandidateApproval // the newest first, at most five
}

// JudgedPair is what a person decided about two invoices.
type JudgedPair struct {
	Exit   string // not_duplicate, confirm_duplicate or corrected_version
	CaseID string
	By     string
	At     Time
	// Outdated: the supplier of one of the two changed since, so the verdict does not count any more.
	Outdated bool
}

// CandidateCase is a case of a candidate.
type CandidateCase struct {
	InvoiceID string
	CaseID    string
	Code      Code
	Status    CaseStatus
	Exit      string // by which it was resolved
}

// CandidateApproval is an approval request of a candidate, and what became of it.
type CandidateApproval struct {
	InvoiceID      string
	RequestID      string
	Tool           string
	Status         RequestStatus
	Amount         string
	Currency       string
	Approval       ApprovalStatus // empty while nothing is granted
	ReportStatus   string
	DocumentNumber string // of the write, once it is posted
}

// Duplicates are the candidates of one invoice, the likeliest first.
type Duplicates struct {
	This       SeenInvoice
	Candidates []DuplicateCandidate
	More       bool // there are more than are listed
}

const (
	maxCandidates = 20
	maxSeenRead   = 200 // rows read per rule, so that a page costs the same whatever was sent
	maxPerInvoice = 5
)

// The reads behind the candidates; each finds its rows by an index. A condition that repeats the
// index's own is there because SQLite uses a partial index only for it.
const (
	seenByNumber = `SELECT * FROM seen_invoices WHERE workspace_id = ? AND supplier = ? AND number_norm = ? AND number_norm <> '' AND invoice_id <> ? LIMIT ?`
	seenByAmount = `SELECT * FROM seen_invoices WHERE workspace_id = ? AND supplier = ? AND currency = ? AND amount_norm = ? AND invoice_date >= ? AND invoice_date <= ? AND invoice_id <> ? LIMIT ?`
	seenUndated  = `SELECT * FROM seen_invoices WHERE workspace_id = ? AND supplier = ? AND currency = ? AND amount_norm = ? AND invoice_date IS NULL AND invoice_id <> ? LIMIT ?`
	casesOfSeen  = `SELECT * FROM (SELECT c.invoice_id, c.id AS case_id, c.code, c.status, c.created_at,
		COALESCE((SELECT d.exit FROM decisions d WHERE d.case_id = c.id AND c.status = 'resolved' ORDER BY d.decided_at DESC, d.id DESC LIMIT 1), '') AS exit,
		ROW_NUMBER() OVER (PARTITION BY c.invoice_id ORDER BY c.created_at DESC, c.id DESC) AS nth
		FROM cases c WHERE c.workspace_id = ? AND c.invoice_id IN ?) x WHERE nth <= ? ORDER BY created_at DESC, case_id DESC`
	approvalsOfSeen = `SELECT * FROM (SELECT r.invoice_id, r.id AS request_id, r.tool, r.status, r.amount, r.currency, r.created_at,
		COALESCE(a.status, '') AS approval, COALESCE(a.report_status, '') AS report_status, COALESCE(a.document_number, '') AS document_number,
		ROW_NUMBER() OVER (PARTITION BY r.invoice_id ORDER BY r.created_at DESC, r.id DESC) AS nth
		FROM approval_requests r LEFT JOIN approvals a ON a.request_id = r.id WHERE r.workspace_id = ? AND r.invoice_id IN ?) x WHERE nth <= ? ORDER BY created_at DESC, request_id DESC`
	verdictsLow  = selectVerdict + ` WHERE v.workspace_id = ? AND v.low = ? AND v.high IN ?`
	verdictsHigh = selectVerdict + ` WHERE v.workspace_id = ? AND v.low IN ? AND v.high = ?`
	// What was decided on cases that name one of two invoices as a duplicate of the other.
	pairDecisions = `SELECT c.invoice_id, c.duplicate_of, d.case_id, d.exit, d.decided_by_name, d.decided_at FROM decisions d JOIN cases c ON c.id = d.case_id
		WHERE d.workspace_id = ? AND d.invoice_id IN ? AND d.exit IN ('confirm_duplicate', 'corrected_version') ORDER BY d.decided_at DESC, d.id DESC LIMIT ?`
	// Which suppliers people found for invoices.
	supplierDecisions = `SELECT d.invoice_id, d.input, d.decided_at FROM decisions d WHERE d.workspace_id = ? AND d.invoice_id IN ? AND d.exit IN ('link_supplier', 'supplier_created')`
)

// DuplicateCandidates finds the invoices of the workspace that inv may be again, by what the desk has
// seen (see MayDuplicate). The costs do not grow with history.
//
// named are ids of invoices that somebody said inv duplicates: those the desk has seen stand first,
// whatever the rule says of them.
func (tx *Tx) DuplicateCandidates(inv Invoice, named ...string) (Duplicates, error) {
	this, err := tx.seen(inv)
	if err != nil {
		return Duplicates{}, err
	}
	out := Duplicates{This: this}
	found, err := tx.seenLike(this)
	if err != nil {
		return out, err
	}
	if named = slices.DeleteFunc(named, func(id string) bool { return id == "" || id == this.InvoiceID }); len(named) > 0 {
		var rows []SeenInvoice
		if err := tx.DB.Where("workspace_id = ? AND invoice_id IN ?", tx.By.WorkspaceID, named).Limit(maxCandidates).Find(&rows).Error; err != nil {
			return out, fmt.Errorf("models: read named invoices: %w", err)
		}
		found = append(rows, found...)
	}
	var others []SeenInvoice
	known := map[string]bool{}
	for _, s := range found {
		c := DuplicateCandidate{Invoice: s, Why: MayDuplicate(this, s), Named: slices.Contains(named, s.InvoiceID)}
		if (c.Why != "" || c.Named) && !known[s.InvoiceID] {
			out.Candidates = append(out.Candidates, c)
			others, known[s.InvoiceID] = append(others, s), true
		}
	}
	if len(others) == 0 {
		return out, nil
	}
	judged, err := tx.judgedPairs(this, others)
	if err != nil {
		return out, err
	}
	for i := range out.Candidates {
		if j, ok := judged[out.Candidates[i].Invoice.InvoiceID]; ok {
			out.Candidates[i].Judged = &j
		}
	}
	slices.SortStableFunc(out.Candidates, byLikelihood)
	if len(out.Candidates) > maxCandidates {
		out.Candidates, out.More = out.Candidates[:maxCandidates], true
	}
	return out, tx.fillCandidates(out.Candidates)
}

// byLikelihood puts what was named first, then what still has to be judged first, then what is alike in both ways, then the newest.
func byLikelihood(a, b DuplicateCandidate) int {
	settled := func(c DuplicateCandidate) int {
		if c.Judged != nil && !c.Judged.Outdated && c.Judged.Exit == verdictNotDuplicate {
			return 1
		}
		return 0
	}
	rank := map[DuplicateWhy]int{WhyBoth: 0, WhyNumber: 1, WhyAmount: 2, "": 3}
	first := func(c DuplicateCandidate) int {
		if c.Named {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(first(a), first(b)), cmp.Compare(settled(a), settled(b)), cmp.Compare(rank[a.Why], rank[b.Why]),
		b.Invoice.LastSeenAt.Compare(a.Invoice.LastSeenAt.Time), cmp.Compare(a.Invoice.InvoiceID, b.Invoice.InvoiceID))
}

// seen is an invoice with what the desk knows of it beyond what it says itself.
func (tx *Tx) seen(inv Invoice) (SeenInvoice, error) {
	this := SeenOf(inv, "")
	var rows []SeenInvoice
	if err := tx.DB.Where("workspace_id = ? AND invoice_id = ?", tx.By.WorkspaceID, inv.ID).Limit(1).Find(&rows).Error; err != nil {
		return this, fmt.Errorf("models: read invoice: %w", err)
	}
	if len(rows) == 1 {
		return rows[0], nil
	}
	this.WorkspaceID = tx.By.WorkspaceID
	return this, nil
}

func (tx *Tx) seenLike(this SeenInvoice) ([]SeenInvoice, error) {
	ws := tx.By.WorkspaceID
	var all []SeenInvoice
	read := func(query string, args ...any) error {
		var rows []SeenInvoice
		if err := tx.DB.Raw(query, args...).Scan(&rows).Error; err != nil {
			return fmt.Errorf("models: read candidates: %w", err)
		}
		all = append(all, rows...)
		return nil
	}
	if this.Supplier == "" {
		return nil, nil
	}
	if this.NumberNorm != "" {
		if err := read(seenByNumber, ws, this.Supplier, this.NumberNorm, this.InvoiceID, maxSeenRead); err != nil {
			return nil, err
		}
	}
	var err error
	switch {
	case this.AmountNorm == "":
	case this.InvoiceDate.IsZero():
		err = read(seenUndated, ws, this.Supplier, this.Currency, this.AmountNorm, this.InvoiceID, maxSeenRead)
	default:
		err = read(seenByAmount, ws, this.Supplier, this.Currency, this.AmountNorm, this.InvoiceDate.AddDays(-nearDays), this.InvoiceDate.AddDays(nearDays), this.InvoiceID, maxSeenRead)
	}
	return all, err
}

// verdictNotDuplicate is the exit whose verdict on a pair is remembered.
const verdictNotDuplicate = "not_duplicate"

// selectVerdict reads a remembered verdict with the case it was given on, whose invoice is one of the
// pair, and who gave it.
const selectVerdict = `SELECT v.low, v.high, v.case_id, v.decided_at, c.invoice_id, c.supplier_id, c.supplier_name,
	COALESCE((SELECT d.decided_by_name FROM decisions d WHERE d.case_id = v.case_id AND d.exit = 'not_duplicate' LIMIT 1), '') AS decided_by
	FROM pair_verdicts v JOIN cases c ON c.id = v.case_id`

type verdictRow struct {
	Low, High    string
	CaseID       string
	DecidedAt    Time
	InvoiceID    string // of the case
	SupplierID   string // in the case
	SupplierName string
	DecidedBy    string
}

func (v verdictRow) other(invoiceID string) string {
	if v.Low == invoiceID {
		return v.High
	}
	return v.Low
}

// foundSupplier is a supplier that a person found for an invoice.
type foundSupplier struct {
	InvoiceID  string
	SupplierID string
	At         Time
}

// outdated says whether the pair's supplier changed since the verdict: whether somebody found a supplier
// for one of the two afterwards, or the invoice the verdict was given on is said to be another
// supplier's now. A verdict counts on until the change is certain: a supplier that is only said more or
// less completely (an id beside the same name, a name left out) has not changed.
func (v verdictRow) outdated(now SeenInvoice, found []foundSupplier) bool {
	if now.InvoiceID == v.InvoiceID && supplierChanged(v.SupplierID, v.SupplierName, now.supplierID(), now.SupplierName) {
		return true
	}
	return slices.ContainsFunc(found, func(f foundSupplier) bool {
		if (f.InvoiceID != v.Low && f.InvoiceID != v.High) || !f.At.After(v.DecidedAt.Time) {
			return false
		}
		return f.InvoiceID != v.InvoiceID || f.SupplierID != v.SupplierID
	})
}

// supplierID is the supplier's id, "" when only the name is known.
func (s SeenInvoice) supplierID() string {
	if s.Supplier == s.SupplierName {
		return ""
	}
	return s.Supplier
}

func supplierChanged(idBefore, nameBefore, idNow, nameNow string) bool {
	if idBefore != "" && idNow != "" {
		return idBefore != idNow
	}
	return nameBefore != "" && nameNow != "" && nameBefore != nameNow
}

// suppliersFound lists which suppliers people found for the invoices.
func (tx *Tx) suppliersFound(invoiceIDs ...string) ([]foundSupplier, error) {
	var rows []struct {
		InvoiceID string
		Input     string
		DecidedAt Time
	}
	if err := tx.DB.Raw(supplierDecisions, tx.By.WorkspaceID, invoiceIDs).Scan(&rows).Error; err != nil {
		return nil, fmt.Errorf("models: read suppliers found: %w", err)
	}
	found := make([]foundSupplier, 0, len(rows))
	for _, r := range rows {
		var input struct {
			SupplierID string `json:"supplier_id"`
		}
		if err := json.Unmarshal([]byte(r.Input), &input); err != nil {
			return nil, fmt.Errorf("models: input of a decision: %w", err)
		}
		found = append(found, foundSupplier{InvoiceID: r.InvoiceID, SupplierID: input.SupplierID, At: r.DecidedAt})
	}
	return found, nil
}

// NotDuplicate finds the case on which inv and another invoice were judged not to be duplicates; ok is
// false when nobody judged them. outdated says that the verdict does not count any more, since the
// supplier of one of the two changed after it.
func (tx *Tx) NotDuplicate(inv Invoice, other string) (caseID string, outdated, ok bool, err error) {
	var rows []verdictRow
	low, high := min(inv.ID, other), max(inv.ID, other)
	if err := tx.DB.Raw(verdictsLow, tx.By.WorkspaceID, low, []string{high}).Scan(&rows).Error; err != nil {
		return "", false, false, fmt.Errorf("models: read verdict: %w", err)
	}
	if len(rows) == 0 {
		return "", false, false, nil
	}
	now := SeenOf(inv, "")
	if rows[0].InvoiceID != inv.ID {
		if now, err = tx.seen(Invoice{ID: rows[0].InvoiceID}); err != nil {
			return "", false, false, err
		}
	}
	found, err := tx.suppliersFound(low, high)
	if err != nil {
		return "", false, false, err
	}
	return rows[0].CaseID, rows[0].outdated(now, found), true, nil
}

// judgedPairs finds what was decided about an invoice and each of the others, the newest decision of
// each pair.
func (tx *Tx) judgedPairs(this SeenInvoice, others []SeenInvoice) (map[string]JudgedPair, error) {
	ids, seen := make([]string, len(others)), map[string]SeenInvoice{this.InvoiceID: this}
	for i, o := range others {
		ids[i], seen[o.InvoiceID] = o.InvoiceID, o
	}
	all := append([]string{this.InvoiceID}, ids...)
	var low, high []verdictRow
	if err := tx.DB.Raw(verdictsLow, tx.By.WorkspaceID, this.InvoiceID, ids).Scan(&low).Error; err != nil {
		return nil, fmt.Errorf("models: read verdicts: %w", err)
	}
	if err := tx.DB.Raw(verdictsHigh, tx.By.WorkspaceID, ids, this.InvoiceID).Scan(&high).Error; err != nil {
		return nil, fmt.Errorf("models: read verdicts: %w", err)
	}
	judged := map[string]JudgedPair{}
	keep := func(other string, j JudgedPair) {
		if known, ok := judged[other]; !ok || j.At.After(known.At.Time) {
			judged[other] = j
		}
	}
	if verdicts := append(low, high...); len(verdicts) > 0 {
		found, err := tx.suppliersFound(all...)
		if err != nil {
			return nil, err
		}
		for _, v := range verdicts {
			keep(v.other(this.InvoiceID), JudgedPair{Exit: verdictNotDuplicate, CaseID: v.CaseID, By: v.DecidedBy, At: v.DecidedAt,
				Outdated: v.outdated(seen[v.InvoiceID], found)})
		}
	}
	var decided []struct {
		InvoiceID, DuplicateOf, CaseID, Exit, DecidedByName string
		DecidedAt                                           Time
	}
	if err := tx.DB.Raw(pairDecisions, tx.By.WorkspaceID, all, maxSeenRead).Scan(&decided).Error; err != nil {
		return nil, fmt.Errorf("models: read decisions on pairs: %w", err)
	}
	for _, d := range decided {
		other := d.InvoiceID
		switch {
		case d.InvoiceID == this.InvoiceID:
			other = d.DuplicateOf
		case d.DuplicateOf != this.InvoiceID:
			continue
		}
		if other != "" {
			keep(other, JudgedPair{Exit: d.Exit, CaseID: d.CaseID, By: d.DecidedByName, At: d.DecidedAt})
		}
	}
	return judged, nil
}

// fillCandidates adds the cases and approvals of each candidate.
func (tx *Tx) fillCandidates(list []DuplicateCandidate) error {
	at := map[string]*DuplicateCandidate{}
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = list[i].Invoice.InvoiceID
		at[ids[i]] = &list[i]
	}
	var cases []CandidateCase
	if err := tx.DB.Raw(casesOfSeen, tx.By.WorkspaceID, ids, maxPerInvoice).Scan(&cases).Error; err != nil {
		return fmt.Errorf("models: read cases of candidates: %w", err)
	}
	for _, c := range cases {
		at[c.InvoiceID].Cases = append(at[c.InvoiceID].Cases, c)
	}
	var grants []CandidateApproval
	if err := tx.DB.Raw(approvalsOfSeen, tx.By.WorkspaceID, ids, maxPerInvoice).Scan(&grants).Error; err != nil {
		return fmt.Errorf("models: read approvals of candidates: %w", err)
	}
	for _, a := range grants {
		at[a.InvoiceID].Approvals = append(at[a.InvoiceID].Approvals, a)
	}
	return nil
}

// DuplicateCandidates reads the candidates of an invoice for people of the workspace acted in; others
// get insufficient_permission.
func (s *Store) DuplicateCandidates(ctx context.Context, by Principal, inv Invoice, named ...string) (Duplicates, error) {
	var out Duplicates
	if err := by.NeedRole(RoleAPClerk, RoleAPLead, RoleProcurement, RoleFinanceLead, RoleMasterData, RoleAuditor, RoleAdmin); err != nil {
		return out, err
	}
	err := s.View(ctx, by, func(tx *Tx) error {
		var err error
		out, err = tx.DuplicateCandidates(inv, named...)
		return err
	})
	return out, err
}
