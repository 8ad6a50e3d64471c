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
