package models_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// clerk is a signed-in person of a workspace.
func clerk(workspace string) models.Principal {
	return models.Principal{UserID: "usr_clerk", UserName: "Clara Clerk", Kind: models.KindPerson, WorkspaceID: workspace, Roles: []models.Role{models.RoleAPClerk}, Channel: models.ChannelWeb}
}

// archive is a database with records to search.
type archive struct {
	t     *testing.T
	store *models.Store
	names map[string]string // short names of records, by id
	n     int
}

func newArchive(t *testing.T, store *models.Store) *archive {
	t.Helper()
	a := &archive{t: t, store: store, names: map[string]string{}}
	for _, id := range []string{"1000", "2000"} {
		err := store.InTx(t.Context(), models.Operator(id), func(tx *models.Tx) error {
			return tx.CreateWorkspace(models.Workspace{ID: id, Name: "Company " + id, TimeZone: "Europe/Berlin", Currency: "EUR"})
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err := store.InTx(t.Context(), models.Operator("1000"), func(tx *models.Tx) error {
		return tx.DB.Exec("INSERT INTO users (id, kind, email, name, active, created_at) VALUES ('usr_agent', 'person', 'agent@example.com', 'Agent', TRUE, ?)", tx.Now).Error
	})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *archive) in(workspace string, do func(tx *models.Tx) error) {
	a.t.Helper()
	if err := a.store.InTx(a.t.Context(), models.System(workspace), do); err != nil {
		a.t.Fatal(err)
	}
}

// aCase files a case and the handover on it.
func (a *archive) aCase(name, workspace string, c models.Case, body string) string {
	a.t.Helper()
	a.in(workspace, func(tx *models.Tx) error {
		a.n++
		c.ID, c.WorkspaceID, c.JoinKey, c.Reason = tx.NewID(models.PrefixCase), workspace, fmt.Sprint(a.n), models.ReasonOther
		if c.Status == "" {
			c.Status = models.CaseOpen
		}
		if c.Queue == "" {
			c.Queue = models.QueueAP
		}
		if c.InvoiceID == "" {
			c.InvoiceID = fmt.Sprintf("51056%05d", a.n)
		}
		if c.Amount == "" {
			c.Amount, c.Currency = "10.00", "EUR"
		}
		if c.Invoice == "" {
			c.Invoice = "{}"
		}
		c.Marks, c.DueAt, c.CreatedAt, c.UpdatedAt = "[]", tx.Now, tx.Now, tx.Now
		if err := tx.DB.Create(&c).Error; err != nil {
			return err
		}
		h := models.Handover{ID: tx.NewID(models.PrefixHandover), WorkspaceID: workspace, CaseID: c.ID, Kind: "handover", At: tx.Now, Channel: models.ChannelAPI, Body: body}
		if err := tx.DB.Create(&h).Error; err != nil {
			return err
		}
		return tx.IndexCase(c.ID)
	})
	a.names[c.ID] = name
	return c.ID
}

// settle waits until the search knows everything.
func (a *archive) settle() {
	a.t.Helper()
	if err := a.store.FillSearch(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
}

func (a *archive) find(by models.Principal, typed string) []string {
	a.t.Helper()
	found, err := a.store.Search(a.t.Context(), by, models.ReadSearch(typed), models.SearchPage{})
	if err != nil {
		a.t.Fatalf("search %q: %v", typed, err)
	}
	out := []string{}
	for _, h := range found.Hits {
		name, ok := a.names[h.Subject]
		if !ok {
			name = string(h.Kind) + " " + h.Subject
		}
		out = append(out, name)
	}
	if len(found.Hits) != found.Count && found.NextCursor == "" {
		a.t.Errorf("search %q: %d counted, %d shown", typed, found.Count, len(found.Hits))
	}
	return out
}

// Both databases must answer every one of these alike.
func TestPeopleFindRecordsByWhatTheyRemember(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		t.Parallel()
		a := newArchive(t, store)
		step := func() { clock.Advance(26 * time.Hour) }
		closed := a.aCase("closed", "1000", models.Case{Code: models.POClosed, Queue: models.QueueProcurement, InvoiceNumber: "INV-778", InvoiceID: "5105600123", SupplierID: "V-2001",
			SupplierName: "Nordwind GmbH", PoID: "4500018822", Amount: "1234.50", Currency: "EUR", RunID: "run-7f3"},
			`{"explanation": "The purchase order was closed too early, ask Jürgen Müller.", "errors": [{"error": {"message": "PO 4500018822 was closed on 2026-09-30."}}],
			"evidence": [{"kind": "note", "title": "Mail", "text": "Straße 5: Lieferung unvollständig"}]}`)
		step()
		a.aCase("resolved", "1000", models.Case{Code: models.DuplicateInvoice, Status: models.CaseResolved, InvoiceNumber: "778", SupplierName: "Łódź Café", Amount: "-99.00", Currency: "USD"}, "{}")
		step()
		a.aCase("secret", "1000", models.Case{InvoiceNumber: "R-1", SupplierName: "Südwind AG", Amount: "1234", Currency: "EUR",
			Invoice: `{"tax_id": "DE 811 907 980", "bank_account": "DE89370400440532013000"}`},
			`{"explanation": "Pay to DE89 3704 0044 0532 0130 00 or DE811907980, not GB33BUKB20201555555555; approval apr_01arz3ndektsv4rrffq69g5favabcdefghijklmnop is spent"}`)
		step()
		a.aCase("other", "2000", models.Case{InvoiceNumber: "INV-778", SupplierName: "Nordwind GmbH", Amount: "1234.50", Currency: "EUR"}, `{"explanation": "closed"}`)
		step()
		var comment, reason, hold string
		a.in("1000", func(tx *models.Tx) error {
			c := models.Comment{ID: tx.NewID(models.PrefixComment), WorkspaceID: "1000", CaseID: closed, AuthorID: "usr_clerk", AuthorName: "Clara Clerk", Text: "Called them about 2.345,00, they send a credit note.", At: tx.Now}
			comment = c.ID
			if err := tx.DB.Create(&c).Error; err != nil {
				return err
			}
			return tx.IndexComment(c.ID)
		})
		step()
		a.in("1000", func(tx *models.Tx) error {
			d := models.Decision{ID: tx.NewID(models.PrefixDecision), WorkspaceID: "1000", CaseID: closed, InvoiceID: "5105600123", Exit: "reopen_po", Input: "{}", Reason: "Remaining quantity is legitimate",
				DecidedByName: "Paul Procurement", ApprovalRequestIDs: "[]", DecidedAt: tx.Now}
			reason = d.ID
			if err := tx.DB.Create(&d).Error; err != nil {
				return err
			}
			return tx.IndexDecision(d.ID)
		})
		step()
		a.in("1000", func(tx *models.Tx) error {
			h := models.Hold{ID: tx.NewID(models.PrefixHold), WorkspaceID: "1000", Status: models.HoldWaiting, Code: models.GRMissing, InvoiceID: "5105600900", PoID: "4500019999", JoinKey: "h",
				Invoice: `{"number": "K 00042/2026", "supplier_name": "Nordwind GmbH"}`, Amount: "7", Currency: "JPY", Errors: "[]", MaxChecks: 5, ChecksLeft: 5, NextCheckAt: tx.Now, AgentID: "usr_agent",
				AgentName: "invoice-agent", CreatedAt: tx.Now, UpdatedAt: tx.Now}
			hold = h.ID
			if err := tx.DB.Create(&h).Error; err != nil {
				return err
			}
			return tx.IndexHold(h.ID)
		})
		a.names[comment], a.names[reason], a.names[hold] = "comment", "reason", "hold"
		a.in("1000", func(tx *models.Tx) error {
			money, err := models.ParseMoney("1234.50", "EUR")
			if err != nil {
				return err
			}
			return tx.SeeInvoice(models.Invoice{ID: "5105600123", Number: "INV-778", SupplierID: "V-2001", SupplierName: "Nordwind GmbH", PoID: "4500018822", Amount: money}, "")
		})
		const invoice, supplier, po = "invoice 5105600123", "supplier V-2001", "po 4500018822"

		for _, q := range []struct {
			typed string
			want  []string
		}{
			// Numbers as people write them: the records of that number first, then what belongs to them.
			{"INV-778", []string{invoice, "closed", "reason", "comment"}},
			{"inv-00778", []string{invoice, "closed", "reason", "comment"}},
			{"INV 778", []string{invoice, "closed", "reason", "comment"}},
			{"ＩＮＶ００７７８", []string{invoice, "closed", "reason", "comment"}},
			{"inv.778", []string{invoice, "closed", "reason", "comment"}},
			{"778", []string{"resolved", invoice, "reason", "comment", "closed"}},
			{"INV-7", []string{invoice, "reason", "comment", "closed"}},
			{"K42-2026", []string{"hold"}},
			{"k 42/2026", []string{"hold"}},
			{"51056001", []string{invoice, "reason", "comment", "closed"}},
			{"4500018822", []string{po, invoice, "reason", "comment", "closed"}},
			{"4500-018822", []string{po, invoice, "reason", "comment", "closed"}},
			{"4500 018822", []string{po, invoice, "reason", "comment", "closed"}},
			{"45000 18822", []string{po, invoice, "reason", "comment", "closed"}},
			{"4500/018822 nordwind", []string{po, invoice, "reason", "comment", "closed"}},
			{"V-2001", []string{supplier, po, invoice, "reason", "comment", "closed"}},
			{"run-7f3", []string{"closed"}},
			// Amounts.
			{"1,234.50", []string{invoice, "reason", "comment", "closed"}},
			{"1.234,50", []string{invoice, "reason", "comment", "closed"}},
			{"1234.5", []string{invoice, "reason", "comment", "closed"}},
			{"1 234,50", []string{invoice, "reason", "comment", "closed"}},
			{"1'234.50", []string{invoice, "reason", "comment", "closed"}},
			{"EUR 1234.50", []string{invoice, "reason", "comment", "closed"}},
			{"€1.234,50", []string{invoice, "reason", "comment", "closed"}},
			{"1234", []string{invoice, "reason", "comment", "secret", "closed"}},
			{"99", []string{"resolved"}},
			{"-99.00", []string{"resolved"}},
			{"2345", []string{"comment"}},
			{"2,345.00", []string{"comment"}},
			{"1234.51", nil},
			// Words: all of them, the last may go on, without case and accents.
			{"nordwind", []string{po, supplier, invoice, "hold", "reason", "comment", "closed"}},
			{"NORDW", []string{po, supplier, invoice, "hold", "reason", "comment", "closed"}},
			{"nordwind closed", []string{"closed"}},
			{"closed nordw", []string{"closed"}},
			{"nordw closed", nil},
			{"muller", []string{"closed"}},
			{"Müller", []string{"closed"}},
			{"mueller", []string{"closed"}},
			{"jurgen muel", []string{"closed"}},
			{"strasse", []string{"closed"}},
			{"STRAẞE", []string{"closed"}},
			{"suedwind", []string{"secret"}},
			{"lodz cafe", nil}, // Ł is a letter of its own
			{"łodz cafe", []string{"resolved"}},
			{"credit note", []string{"comment"}},
			{"legitimate", []string{"reason"}},
			{"reopen", []string{"reason"}},
			{"clara", []string{"comment"}},
			{"gr_missing", []string{"hold"}},
			{`"nordw"`, nil},
			// Filters.
			{"status:open", []string{"secret", "closed"}},
			{"status:open nordwind", []string{"closed"}},
			{"state:resolved", []string{"resolved"}},
			{"code:PO_CLOSED", []string{"reason", "comment", "closed"}},
			{"code:po_closed kind:case", []string{"closed"}},
			{"queue:procurement", []string{"closed"}},
			{`supplier:"Nordwind GmbH" kind:hold`, []string{"hold"}},
			{`supplier:nordw kind:supplier`, []string{supplier}},
			{"supplier:V-2001 kind:po", []string{po}},
			{"po:4500019999", []string{"hold"}},
			{"invoice:inv778 kind:case", []string{"closed"}},
			{"amount>1000 kind:case", []string{"secret", "closed"}},
			{"amount>1234 kind:case", []string{"closed"}},
			{"amount>=1.234,50 kind:case", []string{"closed"}},
			{"amount<100 kind:case", []string{"resolved"}},
			{"amount:1234.50 kind:case", []string{"closed"}},
			{"currency:jpy", []string{"hold"}},
			{"kind:case from:2026-10-06", []string{"secret", "resolved"}},
			{"kind:case to:2026-10-05", []string{"closed"}},
			{"queue:nowhere", nil},
			{"colour:red", nil},
			{"status:", nil},
			// Nothing private, and no approval id.
			{"DE89370400440532013000", nil},
			{"DE89 3704 0044", nil},
			{"0532 0130", nil},
			{"811907980", nil},
			{"DE811907980", nil},
			{"GB33BUKB20201555555555", nil},
			{"apr_01arz3ndektsv4rrffq69g5favabcdefghijklmnop", nil},
			{"APR_01ARZ3NDEK nordwind", nil},
			{"01arz3ndektsv4rrffq69g5fav", nil},
			{"spent", []string{"secret"}},
			// What is no query finds nothing, and never fails.
			{"", nil},
			{"   ", nil},
			{`"`, nil},
			{"***", nil},
			{"AND OR NOT", nil},
			{`nordwind" OR "a`, nil},
			{"') OR 1=1 --", []string{"secret"}}, // which has an "or" and a number 1
			{"':* & !", nil},
			{"NEAR/2 nordwind*", nil},
			{"nordwind\x00closed", []string{"closed"}},
			{"\xff\xfe", nil},
			{strings.Repeat("nordwind ", 1200), []string{po, supplier, invoice, "hold", "reason", "comment", "closed"}},
			{strings.Repeat("(((\"", 3000), nil},
			{strings.Repeat("9", 10000), nil},
		} {
			got := a.find(clerk("1000"), q.typed)
			if !slices.Equal(got, q.want) && len(got)+len(q.want) > 0 {
				t.Errorf("%.80q finds %q, want %q", q.typed, got, q.want)
			}
		}
		if got := a.find(clerk("2000"), "nordwind"); !slices.Equal(got, []string{"other"}) {
			t.Errorf("the other workspace finds %q", got)
		}
		if got := a.find(clerk("2000"), closed); len(got) > 0 {
			t.Errorf("the other workspace finds %q by id", got)
		}
		if got := a.find(clerk("1000"), closed); !slices.Equal(got, []string{"closed"}) {
			t.Errorf("by its id: %q", got)
		}
	})
}

func TestResultsArePagedWithoutLossAndTheOwnNumberFirst(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		t.Parallel()
		a := newArchive(t, store)
		var rest, own []string
		for i := range 12 {
			c := models.Case{InvoiceNumber: fmt.Sprintf("INV-77%02d", i), SupplierName: "Nordwind GmbH"}
			if i%4 == 0 {
				c.InvoiceNumber = "INV-7"
			}
			id := a.aCase(fmt.Sprint(i), "1000", c, "{}")
			if i%4 == 0 {
				own = append(own, id)
			} else {
				rest = append(rest, id)
			}
			if i%3 == 0 { // some of one millisecond
				clock.Advance(time.Minute)
			}
		}
		slices.Reverse(own)
		slices.Reverse(rest)
		for _, limit := range []int{1, 2, 5, 12, 13} {
			var got []string
			for p := (models.SearchPage{Limit: limit}); ; {
				found, err := store.Search(t.Context(), clerk("1000"), models.ReadSearch("inv-7"), p)
				if err != nil {
					t.Fatal(err)
				}
				if len(found.Hits) > limit || found.Count != 12 || found.More {
					t.Errorf("%d of %d, more: %v, on pages of %d", len(found.Hits), found.Count, found.More, limit)
				}
				for _, h := range found.Hits {
					if h.Own != slices.Contains(own, h.Subject) {
						t.Errorf("case %s: own %v", a.names[h.Subject], h.Own)
					}
					got = append(got, h.Subject)
				}
				if p.Cursor = found.NextCursor; p.Cursor == "" {
					break
				}
			}
			if want := slices.Concat(own, rest); !slices.Equal(got, want) {
				t.Errorf("pages of %d: %v, want %v", limit, got, want)
			}
		}
		for _, cursor := range []string{"x", "o", "r-1", "r0", "o!", "rzzzzzzzzzzzzzzzzzzz", "'"} {
			if _, err := store.Search(t.Context(), clerk("1000"), models.ReadSearch("inv"), models.SearchPage{Cursor: cursor}); !models.IsCode(err, models.BadRequest) {
				t.Errorf("cursor %q is answered %v", cursor, err)
			}
		}
	})
}

func TestOnlySignedInPeopleOfTheWorkspaceSearch(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	newArchive(t, store)
	q := models.ReadSearch("nordwind")
	auditor := clerk("1000")
	auditor.Roles = []models.Role{models.RoleAuditor}
	if _, err := store.Search(t.Context(), auditor, q, models.SearchPage{}); err != nil {
		t.Errorf("an auditor is answered %v", err)
	}
	token := clerk("1000")
	token.Channel, token.Scopes = models.ChannelAPI, []models.Scope{models.ScopeAll}
	service := clerk("1000")
	service.Kind = models.KindService
	agent := clerk("1000")
	agent.Roles = []models.Role{models.RoleAgent, models.RoleERP}
	for name, by := range map[string]models.Principal{"a token": token, "a service account": service, "a person who only hands in": agent} {
		if _, err := store.Search(t.Context(), by, q, models.SearchPage{}); !models.IsCode(err, models.InsufficientPermission) {
			t.Errorf("%s is answered %v", name, err)
		}
		if by.MaySearch() {
			t.Errorf("%s may search", name)
		}
	}
}

// The row and the index hold no tax or bank data and no approval id, whatever text they came in.
func TestNothingPrivateIsKeptForTheSearch(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		t.Parallel()
		a := newArchive(t, store)
		a.aCase("secret", "1000", models.Case{SupplierName: "Nordwind", InvoiceNumber: "INV-1", RunID: "apr_01arz3ndektsv4rrffq69g5favabcdefghijkl",
			Invoice: `{"tax_id": "12/345/67890", "bank_account": "0532013000 (BLZ 37040044)", "lines": [{"columns": ["pos", "old_iban"], "rows": [["1", "XX-NOT-AN-IBAN-77"]]}]}`},
			`{"explanation": "Tax 12 345 67890, account 0532013000 blz 37040044, was XX NOT AN IBAN 77. Visible remains. FR7630006000011234567890189 DE811907980 apr_01ARZ3NDEKTSV4RRFFQ69G5FAVABCDEFGHIJKL",
			"errors": [{"error": {"message": "bank de89 3704 0044 0532 0130 00 today"}}]}`)
		a.settle()
		a.in("1000", func(tx *models.Tx) error {
			rows, err := models.All[struct{ Text, Norm, Title, Number, Supplier string }](tx, "SELECT text, norm, title, number, supplier FROM search_docs")
			for _, r := range rows {
				plain := strings.ToLower(strings.NewReplacer(" ", "", "-", "", "/", "").Replace(r.Text + r.Title + r.Number + r.Supplier))
				for _, secret := range []string{"1234567890", "0532013000", "37040044", "notaniban", "7630006", "811907980", "ndektsv4", "370400440532"} {
					if strings.Contains(plain, secret) || strings.Contains(strings.ReplaceAll(r.Norm, " ", ""), secret) {
						t.Errorf("%q stands in %q or %q", secret, r.Text, r.Norm)
					}
				}
				if !strings.Contains(r.Text, "Visible remains.") || !strings.Contains(r.Text, "today") {
					t.Errorf("too much is gone: %q", r.Text)
				}
			}
			if len(rows) != 1 {
				t.Errorf("%d rows", len(rows))
			}
			return err
		})
	})
}

func TestTheStateOfARecordIsSearchedAsItIsNow(t *testing.T) {
	t.Parallel()
	modelstest.Each(t, func(t *testing.T, store *models.Store) {
		t.Parallel()
		a := newArchive(t, store)
		id := a.aCase("case", "1000", models.Case{SupplierName: "Nordwind", Queue: models.QueueProcurement}, "{}")
		if got := a.find(clerk("1000"), "queue:procurement status:open"); !slices.Equal(got, []string{"case"}) {
			t.Errorf("at first %q", got)
		}
		a.in("1000", func(tx *models.Tx) error {
			return tx.DB.Exec("UPDATE cases SET status = 'resolved', queue = 'ap' WHERE id = ?", id).Error
		})
		for typed, want := range map[string]int{"queue:procurement": 0, "status:open nordwind": 0, "queue:ap status:resolved": 1, "nordwind status:resolved": 1} {
			if got := a.find(clerk("1000"), typed); len(got) != want {
				t.Errorf("once it is resolved %s finds %q", typed, got)
			}
		}
		a.in("1000", func(tx *models.Tx) error {
			h := models.Handover{ID: tx.NewID(models.PrefixHandover), WorkspaceID: "1000", CaseID: id, Kind: "answer", At: tx.Now, Channel: models.ChannelAPI, Body: `{"answer": "Quantities were swapped"}`}
			if err := tx.DB.Create(&h).Error; err != nil {
				return err
			}
			return tx.IndexCase(id)
		})
		if got := a.find(clerk("1000"), "nordwind swapped"); !slices.Equal(got, []string{"case"}) {
			t.Errorf("after the answer %q", got)
		}
	})
}

func TestRecordsFromBeforeTheSearchAreAdded(t *testing.T) {
	t.Parallel()
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		t.Parallel()
		clock := modelstest.NewClock()
		store := modelstest.Open(t, url, clock)
		a := newArchive(t, store)
		for i := range 120 {
			workspace := []string{"1000", "2000"}[i%2]
			id := a.aCase(fmt.Sprint(i), workspace, models.Case{SupplierName: "Nordwind", InvoiceNumber: fmt.Sprint("OLD-", i)}, `{"explanation": "long ago"}`)
			a.in(workspace, func(tx *models.Tx) error {
				return tx.DB.Create(&models.Comment{ID: tx.NewID(models.PrefixComment), WorkspaceID: workspace, CaseID: id, AuthorID: "u", AuthorName: "Clara", Text: "remembered", At: tx.Now}).Error
			})
			a.in(workspace, func(tx *models.Tx) error {
				return tx.SeeInvoice(models.Invoice{ID: fmt.Sprint("old", i), SupplierName: "Nordwind"}, "")
			})
		}
		a.settle()
		a.in("1000", func(tx *models.Tx) error { // as the migration leaves an older database
			for _, statement := range []string{"DELETE FROM search_docs", "INSERT INTO search_backlog (source) VALUES ('cases')", "INSERT INTO search_backlog (source) VALUES ('comments')",
				"INSERT INTO search_backlog (source) VALUES ('seen_invoices')"} {
				if err := tx.DB.Exec(statement).Error; err != nil {
					return err
				}
			}
			return nil
		})
		if got := a.find(clerk("1000"), "nordwind"); len(got) > 0 {
			t.Fatalf("before, %q is found", got)
		}
		again := modelstest.Open(t, url, clock) // a desk that starts adds them, too
		if err := again.FillSearch(t.Context()); err != nil {
			t.Fatal(err)
		}
		for typed, want := range map[string]int{"remembered": 60, "long ago": 60, "kind:invoice": 60, "old-7": 1, "kind:supplier": 1} {
			found, err := store.Search(t.Context(), clerk("1000"), models.ReadSearch(typed), models.SearchPage{})
			if err != nil || found.Count < want {
				t.Errorf("%s finds %d, want %d (%v)", typed, found.Count, want, err)
			}
		}
		a.in("1000", func(tx *models.Tx) error {
			var left int
			err := tx.Value(&left, "SELECT count(*) FROM search_backlog")
			if left != 0 {
				t.Errorf("%d tables are left", left)
			}
			return err
		})
	})
}

func TestWhatWasFoundIsMarkedWhereItStands(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ typed, text, want string }{
		{"inv-778", "Invoice INV-00778, again", "Invoice [INV-00778], again"},
		{"INV 77", "INV-778", "[INV-778]"},
		{"nordw", "Nordwind GmbH", "[Nordwind] GmbH"},
		{"muller", "Herr Müller", "Herr [Müller]"},
		{"mueller", "Herr Müller", "Herr [Müller]"},
		{"1.234,50", "paid 1,234.50 EUR.", "paid [1,234.50] EUR."},
		{"<b>", "a <b> & <i>", "a <[b]> & <i>"},
		{"nothing", "of it", "of it"},
		{"ｉｎｖ７７８", "ＩＮＶ００７７８", "[ＩＮＶ００７７８]"},
		{"", "text", "text"},
		{"a", "\xff a \xfe", "\xff [a] \xfe"},
	} {
		var got strings.Builder
		for _, m := range models.ReadSearch(x.typed).Mark(x.text) {
			if m.Found {
				got.WriteString("[" + m.Text + "]")
				continue
			}
			got.WriteString(m.Text)
		}
		if got.String() != x.want {
			t.Errorf("%q in %q: %q, want %q", x.typed, x.text, got.String(), x.want)
		}
	}
}

// Whatever is typed is read, means the same when read again, and makes a query both databases take.
func FuzzReadSearch(f *testing.F) {
	for _, seed := range []string{"INV-778", `supplier:"Nordwind GmbH" status:open amount>1.234,50`, "„ä“ from:2026-10-01", "\x00\xff", `"""`, "a:b:c", "1 234,50 -5", "apr_01arz3ndek",
		"case_01arz3ndektsv4rrffq69g5fav", "AND OR NOT ( * '", "ﬁ½①𝟙", "amount>=99999999999999999999999999"} {
		f.Add(seed)
	}
	store, _ := modelstest.SQLite(f)
	f.Fuzz(func(t *testing.T, typed string) {
		q := models.ReadSearch(typed)
		if q.ApprovalID && len(q.Words) > 0 {
			t.Errorf("%d words beside an approval id", len(q.Words))
		}
		if again := models.ReadSearch(q.Text); !q.ApprovalID && !q.Cut && (again.Plain != q.Plain || again.Own != q.Own || len(again.Words) != len(q.Words)) {
			t.Errorf("%q reads as %+v, and what it is shown as as %+v", typed, q, again)
		}
		whole := ""
		for _, m := range q.Mark(typed) {
			whole += m.Text
		}
		if whole != typed {
			t.Errorf("marking %q makes it %q", typed, whole)
		}
		if err := store.TrySearch(t.Context(), q); err != nil {
			t.Errorf("%q: %v", typed, err)
		}
	})
}

// Finding costs by what is shown, not by how much there is.
func BenchmarkSearch(b *testing.B) {
	for _, size := range []int{100, 100_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			store, clock := modelstest.SQLite(b)
			fillSearch(b, store, clock, size)
			for _, typed := range []string{"INV-77", "nordwind", "nordwind status:open", "1234.50", "amount>5000"} {
				q := models.ReadSearch(typed)
				b.Run(typed, func(b *testing.B) {
					for b.Loop() {
						if _, err := store.Search(b.Context(), clerk("1000"), q, models.SearchPage{}); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		})
	}
}

// fillSearch writes cases as agents hand them over, many at a time.
func fillSearch(tb testing.TB, store *models.Store, clock *modelstest.Clock, size int) {
	tb.Helper()
	if err := store.InTx(tb.Context(), models.Operator("1000"), func(tx *models.Tx) error {
		return tx.CreateWorkspace(models.Workspace{ID: "1000", Name: "Nordlicht", TimeZone: "Europe/Berlin", Currency: "EUR"})
	}); err != nil {
		tb.Fatal(err)
	}
	for from := 0; from < size; from += 1000 {
		clock.Advance(time.Minute)
		err := store.InTx(tb.Context(), models.System("1000"), func(tx *models.Tx) error {
			for i := from; i < min(from+1000, size); i++ {
				supplier := []string{"Nordwind GmbH", "Südwind AG", "Ostwind KG", "Westwind OHG"}[i%4]
				c := models.Case{ID: tx.NewID(models.PrefixCase), WorkspaceID: "1000", Status: models.CaseOpen, Queue: models.QueueAP, Code: models.DuplicateInvoice, Reason: models.ReasonNamedError,
					JoinKey: fmt.Sprint(i), InvoiceID: fmt.Sprint(5105600000 + i), InvoiceNumber: fmt.Sprint("INV-", i), SupplierID: fmt.Sprint("V-", 2000+i%50), SupplierName: supplier,
					PoID: fmt.Sprint(4500000000 + i), Amount: fmt.Sprintf("%d.50", i%10000), Currency: "EUR", Invoice: "{}", Marks: "[]", RunID: fmt.Sprint("run-", i), DueAt: tx.Now, CreatedAt: tx.Now, UpdatedAt: tx.Now}
				if err := tx.DB.Create(&c).Error; err != nil {
					return err
				}
				h := models.Handover{ID: tx.NewID(models.PrefixHandover), WorkspaceID: "1000", CaseID: c.ID, Kind: "handover", At: tx.Now, Channel: models.ChannelAPI,
					Body: fmt.Sprintf(`{"explanation": "The order of line %d was closed although goods are still to come, which looks like %d.", "errors": [{"error": {"message": "Looks like %d."}}]}`, i%7, i, i)}
				if err := tx.DB.Create(&h).Error; err != nil {
					return err
				}
				if err := tx.IndexCase(c.ID); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			tb.Fatal(err)
		}
	}
	if err := store.FillSearch(tb.Context()); err != nil {
		tb.Fatal(err)
	}
}

func TestSearchReadsItsIndexes(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		t.Parallel()
		fillSearch(t, store, clock, 1500)
		if store.Postgres() {
			if err := store.InTx(t.Context(), models.Operator("1000"), func(tx *models.Tx) error { return tx.DB.Exec("ANALYZE search_docs").Error }); err != nil {
				t.Fatal(err)
			}
		}
		for _, typed := range []string{"INV-77", "nordwind", "nordwind sued", "status:open", "queue:ap", "from:2026-01-01", "1234.50", "kind:case code:DUPLICATE_INVOICE", "line closed goods order although"} {
			plans, err := store.SearchPlans(t.Context(), clerk("1000"), models.ReadSearch(typed))
			if err != nil || len(plans) == 0 {
				t.Fatalf("%s: %d plans, %v", typed, len(plans), err)
			}
			for _, plan := range plans {
				if strings.Contains(plan, "Seq Scan on search_docs") || strings.Contains(plan, "SCAN d") || strings.Contains(plan, "TEMP B-TREE") ||
					!strings.Contains(plan, "search_docs_") && !strings.Contains(plan, "VIRTUAL TABLE INDEX") {
					t.Errorf("%s is read by:\n%s", typed, plan)
				}
			}
		}
	})
}
