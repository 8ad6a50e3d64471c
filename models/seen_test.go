package models_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// inv is an invoice in short: id, number, supplier, amount with currency, date; any may be empty.
func inv(t *testing.T, id, number, supplier, amount, date string) models.Invoice {
	t.Helper()
	out := models.Invoice{ID: id, Number: number, SupplierID: supplier, SupplierName: "Nordwind GmbH", TaxID: "DE123456789", BankAccount: "DE02120300000000202051"}
	if amount != "" {
		value, currency, _ := strings.Cut(amount, " ")
		m, err := models.ParseMoney(value, currency)
		if err != nil {
			t.Fatal(err)
		}
		out.Amount = m
	}
	if date != "" {
		d, err := models.ParseDate(date)
		if err != nil {
			t.Fatal(err)
		}
		out.InvoiceDate = d
	}
	return out
}

func TestWhichInvoicesMayBeTheSame(t *testing.T) {
	t.Parallel()
	const same = models.DuplicateWhy("")
	for _, x := range []struct {
		name              string
		number, otherNo   string
		amount, otherSum  string
		date, otherDate   string
		supplier, otherBy string
		want              models.DuplicateWhy
	}{
		{"the same number written in other ways", "INV-001", "inv 1", "10.00 EUR", "20.00 EUR", "2026-10-01", "2026-10-02", "V-1", "V-1", models.WhyNumber},
		{"without any sign between", "INV-001", "INV001", "10.00 EUR", "20.00 EUR", "2026-10-01", "2026-10-02", "V-1", "V-1", models.WhyNumber},
		{"in full width", "INV-001", "ＩＮＶ－００１", "10.00 EUR", "20.00 EUR", "2026-10-01", "2026-10-02", "V-1", "V-1", models.WhyNumber},
		{"with zeros before each run of digits", "01234-0001", "1234-1", "10.00 EUR", "20.00 EUR", "2026-10-01", "2026-10-02", "V-1", "V-1", models.WhyNumber},
		{"a number that is another one", "INV-10", "INV-1", "10.00 EUR", "20.00 EUR", "2026-10-01", "2026-10-02", "V-1", "V-1", same},
		{"numbers that restart every year are still for a person to judge", "1", "001", "10.00 EUR", "20.00 EUR", "2025-01-07", "2026-01-07", "V-1", "V-1", models.WhyNumber},
		{"the year in the number tells them apart", "2025-001", "2026-001", "10.00 EUR", "20.00 EUR", "2025-01-07", "2026-01-07", "V-1", "V-1", same},
		{"no number is no number", "", "", "10.00 EUR", "20.00 EUR", "2026-10-01", "2026-10-01", "V-1", "V-1", same},
		{"signs alone are no number", "-/-", "##", "10.00 EUR", "20.00 EUR", "2026-10-01", "2026-10-01", "V-1", "V-1", same},
		{"both", "INV-001", "inv 1", "10.00 EUR", "10.0 EUR", "2026-10-01", "2026-10-01", "V-1", "V-1", models.WhyBoth},
		{"the same amount two weeks apart", "A", "B", "10.00 EUR", "10 EUR", "2026-10-01", "2026-10-15", "V-1", "V-1", models.WhyAmount},
		{"and a day more", "A", "B", "10.00 EUR", "10.00 EUR", "2026-10-01", "2026-10-16", "V-1", "V-1", same},
		{"over the turn of the year", "A", "B", "10.00 EUR", "10.00 EUR", "2026-01-02", "2025-12-28", "V-1", "V-1", models.WhyAmount},
		{"without any date", "A", "B", "10.00 EUR", "10.00 EUR", "", "", "V-1", "V-1", models.WhyAmount},
		{"with the date of one alone", "A", "B", "10.00 EUR", "10.00 EUR", "2026-10-01", "", "V-1", "V-1", same},
		{"with the date of the other alone", "A", "B", "10.00 EUR", "10.00 EUR", "", "2026-10-01", "V-1", "V-1", same},
		{"another currency", "A", "B", "10.00 EUR", "10.00 USD", "2026-10-01", "2026-10-01", "V-1", "V-1", same},
		{"yen have no decimals", "A", "B", "1000 JPY", "1000 JPY", "2026-10-01", "2026-10-01", "V-1", "V-1", models.WhyAmount},
		{"and ten times as many are others", "A", "B", "1000 JPY", "10000 JPY", "2026-10-01", "2026-10-01", "V-1", "V-1", same},
		{"dinars have three", "A", "B", "1.500 KWD", "1.5 KWD", "2026-10-01", "2026-10-01", "V-1", "V-1", models.WhyAmount},
		{"and the third tells them apart", "A", "B", "1.501 KWD", "1.5 KWD", "2026-10-01", "2026-10-01", "V-1", "V-1", same},
		{"a credit note is not the invoice it credits", "A", "B", "-10.00 EUR", "10.00 EUR", "2026-10-01", "2026-10-01", "V-1", "V-1", same},
		{"but a credit note may come twice", "A", "B", "-10.00 EUR", "-10.0 EUR", "2026-10-01", "2026-10-01", "V-1", "V-1", models.WhyAmount},
		{"zeros before the amount say nothing", "A", "B", "010.00 EUR", "10.00 EUR", "2026-10-01", "2026-10-01", "V-1", "V-1", models.WhyAmount},
		{"many digits are compared to the last", "A", "B", "123456789012345678.01 EUR", "123456789012345678.02 EUR", "2026-10-01", "2026-10-01", "V-1", "V-1", same},
		{"an amount nobody said", "A", "B", "", "", "2026-10-01", "2026-10-01", "V-1", "V-1", same},
		{"another supplier", "INV-001", "INV-001", "10.00 EUR", "10.00 EUR", "2026-10-01", "2026-10-01", "V-1", "V-2", same},
	} {
		a, b := inv(t, "1", x.number, x.supplier, x.amount, x.date), inv(t, "2", x.otherNo, x.otherBy, x.otherSum, x.otherDate)
		for _, pair := range [][2]models.Invoice{{a, b}, {b, a}} {
			if got := models.MayDuplicate(models.SeenOf(pair[0], ""), models.SeenOf(pair[1], "")); got != x.want {
				t.Errorf("%s: %q, want %q", x.name, got, x.want)
			}
		}
		if got := models.MayDuplicate(models.SeenOf(a, ""), models.SeenOf(a, "")); got != "" {
			t.Errorf("%s: an invoice is no candidate for itself", x.name)
		}
	}
	nameless := models.Invoice{ID: "1", Number: "INV-001"}
	other := models.Invoice{ID: "2", Number: "INV-001"}
	if got := models.MayDuplicate(models.SeenOf(nameless, ""), models.SeenOf(other, "")); got != "" {
		t.Errorf("without a supplier nothing is alike, but got %q", got)
	}
}

func see(t *testing.T, store *models.Store, ws string, all ...models.Invoice) {
	t.Helper()
	err := store.InTx(t.Context(), models.Operator(ws), func(tx *models.Tx) error {
		for _, i := range all {
			if err := tx.SeeInvoice(i, ""); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func candidates(t *testing.T, store *models.Store, i models.Invoice, named ...string) (out models.Duplicates) {
	t.Helper()
	err := store.View(t.Context(), operator, func(tx *models.Tx) (err error) {
		out, err = tx.DuplicateCandidates(i, named...)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func listed(d models.Duplicates) string {
	var all []string
	for _, c := range d.Candidates {
		why := string(c.Why)
		if c.Named {
			why += "!"
		}
		all = append(all, c.Invoice.InvoiceID+" "+why)
	}
	return strings.Join(all, ", ")
}

func TestTheDeskRemembersTheNewestOfEachField(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		company(t, store)
		row := func() (s models.SeenInvoice) {
			if err := store.View(t.Context(), operator, func(tx *models.Tx) error {
				return tx.DB.Where("workspace_id = '1000' AND invoice_id = '5'").Take(&s).Error
			}); err != nil {
				t.Fatal(err)
			}
			return s
		}
		byName := models.Invoice{ID: "5", SupplierName: "Nordwind"}
		see(t, store, "1000", byName)
		if s := row(); s.Supplier != "Nordwind" || s.Amount != "" || !s.InvoiceDate.IsZero() {
			t.Errorf("at first: %+v", s)
		}
		see(t, store, "1000", inv(t, "5", "INV-001", "V-1", "250.00 EUR", "2026-10-03"))
		full := row()
		if full.Number != "INV-001" || full.NumberNorm != "INV1" || full.Supplier != "V-1" || full.AmountNorm != "250" || full.InvoiceDate.String() != "2026-10-03" {
			t.Errorf("with everything: %+v", full)
		}
		clock.Advance(1e9)
		see(t, store, "1000", byName)
		less := row()
		if less.Number != "INV-001" || less.Supplier != "V-1" || less.SupplierName != "Nordwind" || less.Amount != "250.00" || less.Currency != "EUR" || less.InvoiceDate.IsZero() ||
			!less.LastSeenAt.After(full.LastSeenAt.Time) || less.FirstSeenAt != full.FirstSeenAt {
			t.Errorf("what is said less completely empties nothing: %+v", less)
		}
		see(t, store, "1000", inv(t, "5", "INV-2", "V-2", "9 USD", "2026-10-04"))
		if s := row(); s.Number != "INV-2" || s.NumberNorm != "INV2" || s.Supplier != "V-2" || s.Amount != "9" || s.AmountNorm != "9" || s.Currency != "USD" || s.InvoiceDate.String() != "2026-10-04" {
			t.Errorf("the newest counts: %+v", s)
		}
		if text := fmt.Sprintf("%+v", row()); strings.Contains(text, "DE123456789") || strings.Contains(text, "DE0212") {
			t.Errorf("tax or bank data is kept: %s", text)
		}
	})
}

func TestCandidatesAreThoseOfTheSameSupplierInTheSameWorkspace(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		company(t, store)
		if err := store.InTx(t.Context(), models.Operator("2000"), func(tx *models.Tx) error {
			return tx.CreateWorkspace(models.Workspace{ID: "2000", Name: "Other", TimeZone: "Europe/Berlin", Currency: "EUR"})
		}); err != nil {
			t.Fatal(err)
		}
		mine := inv(t, "1", "INV-001", "V-1", "250.00 EUR", "2026-10-03")
		see(t, store, "2000", inv(t, "foreign", "INV-001", "V-1", "250.00 EUR", "2026-10-03"))
		see(t, store, "1000", mine,
			inv(t, "both", "inv 1", "V-1", "250.0 EUR", "2026-10-05"),
			inv(t, "other supplier", "inv 1", "V-2", "250.0 EUR", "2026-10-05"),
			inv(t, "last year", "INV1", "V-1", "99.00 EUR", "2025-10-03"),
			inv(t, "amount", "X-1", "V-1", "250 EUR", "2026-10-17"),
			inv(t, "too far", "X-2", "V-1", "250 EUR", "2026-10-18"),
			inv(t, "undated", "X-3", "V-1", "250 EUR", ""))
		if got := listed(candidates(t, store, models.Invoice{ID: "1"})); got != "both both, last year number, amount amount" {
			t.Errorf("candidates of a seen invoice: %s", got)
		}
		got := candidates(t, store, inv(t, "new", "INV 01", "V-1", "", ""))
		for _, id := range []string{"1", "both", "last year"} {
			if !strings.Contains(listed(got), id+" number") {
				t.Errorf("candidates of one not seen before: %s", listed(got))
			}
		}
		if got := listed(candidates(t, store, models.Invoice{ID: "undated"})); got != "" {
			t.Errorf("candidates of one without a date: %s", got)
		}
		if got := listed(candidates(t, store, models.Invoice{ID: "1"}, "too far", "never seen", "1")); got != "too far !, both both, last year number, amount amount" {
			t.Errorf("with one named: %s", got)
		}
		if got := listed(candidates(t, store, models.Invoice{ID: "1"}, "last year")); got != "last year number!, both both, amount amount" {
			t.Errorf("a named one stands first: %s", got)
		}
		var many []models.Invoice
		for i := range 40 {
			many = append(many, inv(t, fmt.Sprintf("m%02d", i), "INV-001", "V-1", "1 EUR", ""))
		}
		clock.Advance(1e9)
		see(t, store, "1000", many...)
		if d := candidates(t, store, models.Invoice{ID: "1"}); len(d.Candidates) != 20 || !d.More || d.Candidates[0].Invoice.InvoiceID != "both" {
			t.Errorf("%d candidates, more %v: %s", len(d.Candidates), d.More, listed(d))
		}
	})
}

func TestOnlyPeopleReadCandidates(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	company(t, store)
	agent := models.Principal{WorkspaceID: "1000", UserName: "robot", Roles: []models.Role{models.RoleAgent}, Channel: models.ChannelAPI, Scopes: []models.Scope{models.ScopeAll}}
	if _, err := store.DuplicateCandidates(t.Context(), agent, models.Invoice{ID: "1"}); !models.IsCode(err, models.InsufficientPermission) {
		t.Errorf("an agent reads %v", err)
	}
	agent.Roles = []models.Role{models.RoleAuditor}
	if _, err := store.DuplicateCandidates(t.Context(), agent, models.Invoice{ID: "1"}); err != nil {
		t.Error(err)
	}
}

func TestCandidatesAreFoundByIndexes(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	company(t, store)
	scan := regexp.MustCompile(`\bSCAN (seen_invoices|pair_verdicts|cases|decisions|approval_requests|approvals|[a-z])\b`)
	err := store.View(t.Context(), operator, func(tx *models.Tx) error {
		for name, query := range models.SeenQueries() {
			var steps []struct{ Detail string }
			query = strings.ReplaceAll(query, "IN ?", "IN (?)")
			args := make([]any, strings.Count(query, "?"))
			if err := tx.DB.Raw("EXPLAIN QUERY PLAN "+query, args...).Scan(&steps).Error; err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if len(steps) == 0 {
				t.Errorf("%s has no plan", name)
			}
			for _, s := range steps {
				// What a subquery made of the rows found is read through.
				if scan.MatchString(s.Detail) && !strings.Contains(s.Detail, "SCAN x") {
					t.Errorf("%s reads a whole table: %s", name, s.Detail)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
