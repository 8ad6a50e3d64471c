package approvals_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// totalText is sums in words, in order.
func totalText(totals []approvals.CurrencyTotal) string {
	var parts []string
	for _, c := range totals {
		parts = append(parts, fmt.Sprintf("%s (%d)", c.Total.Format(), c.Count))
	}
	return strings.Join(parts, ", ")
}

// askIn is ask in another currency, for another invoice.
func askIn(t *testing.T, invoice, amount, currency string) approvals.RequestInput {
	t.Helper()
	money, err := models.ParseMoney(amount, currency)
	if err != nil {
		t.Fatal(err)
	}
	return ask(t, amount, func(in *approvals.RequestInput) {
		in.Amount = money
		in.Invoice = models.Invoice{ID: invoice, SupplierID: "V-" + invoice, Amount: money, Sent: []byte(fmt.Sprintf(`{"id":%q,"supplier_id":%q,"amount":%q,"currency":%q}`, invoice, "V-"+invoice, amount, currency))}
		in.Action.Arguments = []byte(fmt.Sprintf(`{"invoice_id":%q,"supplier_id":%q,"amount":%q,"currency":%q,"posting_date":"2026-10-05"}`, invoice, "V-"+invoice, amount, currency))
	})
}

func (d *desk) preview(t *testing.T, name string, ids ...string) approvals.Bulk {
	t.Helper()
	b, err := d.svc.BulkPreview(t.Context(), d.web(name), ids)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func choicesOf(b approvals.Bulk) []approvals.BulkChoice {
	var out []approvals.BulkChoice
	for _, i := range b.Items {
		if i.Can {
			out = append(out, approvals.BulkChoice{RequestID: i.RequestID, Version: i.Version})
		}
	}
	return out
}

func TestSeveralRequestsAreApprovedWithAResultForEach(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		d.rule(approvals.NewRule{Role: models.RoleFinanceLead, Currency: "EUR", From: "10000.01", To: "50000", Required: 2})
		d.rule(approvals.NewRule{Role: models.RoleFinanceLead, Currency: "USD", From: "0", To: "9000"})
		d.rule(approvals.NewRule{Role: models.RoleAPLead, Tool: "notify_supplier", Currency: "EUR", From: "0", To: "9000"})
		small, large, dollars := d.request("robot", askIn(t, "1", "100.10", "EUR")), d.request("robot", askIn(t, "2", "20000.00", "EUR")), d.request("robot", askIn(t, "3", "7.05", "USD"))
		more := d.request("robot", askIn(t, "4", "0.20", "EUR"))
		foreign := d.request("robot", func() approvals.RequestInput {
			in := askIn(t, "5", "5.00", "EUR")
			in.Action.Tool = "notify_supplier"
			return in
		}())
		preview := d.preview(t, "fumiko", small.RequestID, large.RequestID, dollars.RequestID, more.RequestID, foreign.RequestID, small.RequestID, "areq_nowhere")
		if got := totalText(preview.Totals); got != "EUR 20,100.30 (3), USD 7.05 (1)" || preview.Count != 4 || len(preview.Items) != 6 {
			t.Fatalf("the preview adds up to %s, %d of %d", got, preview.Count, len(preview.Items))
		}
		if w := preview.Items[4]; w.Can || !strings.Contains(w.Why, "AP lead, which you do not hold") {
			t.Errorf("what is not hers is shown as %+v", w)
		}
		if w := preview.Items[5]; w.Can || !strings.Contains(w.Why, "no such request") {
			t.Errorf("what is not there is shown as %+v", w)
		}
		if preview.Items[1].Left != 1 {
			t.Errorf("a rule of two leaves %d after this one", preview.Items[1].Left)
		}
		if got, _ := d.svc.Get(t.Context(), d.mcp("robot"), small.RequestID); got.Status != models.RequestPending {
			t.Fatalf("a preview made it %s", got.Status)
		}

		// Meanwhile somebody rejects one of them.
		d.mustVote(t, "frank", dollars.RequestID, approvals.VoteInput{Decision: models.VoteReject, Reason: "Not ours."})
		result, err := d.svc.BulkApprove(t.Context(), d.web("fumiko"), choicesOf(preview), "Checked with the buyers.")
		if err != nil {
			t.Fatal(err)
		}
		var outcomes []string
		for _, i := range result.Items {
			outcomes = append(outcomes, i.InvoiceID+" "+string(i.Outcome))
		}
		if !slices.Equal(outcomes, []string{"1 approved", "2 waits", "3 refused", "4 approved"}) {
			t.Fatalf("what came of them: %q", outcomes)
		}
		if got := totalText(result.Totals); got != "EUR 100.30 (2)" || result.Count != 2 {
			t.Errorf("approved were %s, %d", got, result.Count)
		}
		if why := result.Items[1].Why; !strings.Contains(why, "one more yes of Finance lead") {
			t.Errorf("the one that waits says %q", why)
		}
		if why := result.Items[2].Why; !strings.Contains(why, "frank") {
			t.Errorf("the refusal says %q", why)
		}
		page, err := d.svc.Page(t.Context(), d.web("frank"), small.RequestID)
		if err != nil || len(page.Votes) != 1 || page.Votes[0].Reason != "Checked with the buyers." || page.Votes[0].RuleID == "" {
			t.Errorf("the vote is kept as %+v, %v", page.Votes, err)
		}

		// Sent twice, nothing is voted twice, and nobody is said to have been refused.
		before := len(d.refusals("vote.refused"))
		again, err := d.svc.BulkApprove(t.Context(), d.web("fumiko"), choicesOf(preview), "Checked with the buyers.")
		if err != nil {
			t.Fatal(err)
		}
		outcomes = nil
		for _, i := range again.Items {
			outcomes = append(outcomes, string(i.Outcome))
		}
		if !slices.Equal(outcomes, []string{"already", "already", "refused", "already"}) || again.Count != 0 {
			t.Errorf("sent twice: %q, %d approved", outcomes, again.Count)
		}
		if after := len(d.refusals("vote.refused")); after != before {
			t.Errorf("%d attempts were put on the trail", after-before)
		}
	})
}

func TestARefusedOneLeavesTheOthersAlone(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		d.rule(financeRule(1))
		ran, id := d.approved(ask(t, "1.00"))
		if _, err := d.redeem("sap", id, "k", arguments("1.00")); err != nil {
			t.Fatal(err)
		}
		repeat, plain, lapsed := d.request("robot", ask(t, "1.00")), d.request("robot", ask(t, "2.00")), d.request("robot", ask(t, "3.00"))
		if repeat.RequestID == ran {
			t.Fatal("the call that ran was joined")
		}
		preview := d.preview(t, "fumiko", repeat.RequestID, plain.RequestID, lapsed.RequestID)
		if i := preview.Items[0]; i.Can || !i.OwnPage || !strings.Contains(i.Why, "carried out") && !strings.Contains(i.Why, "released") {
			t.Errorf("a call that ran before is shown as %+v", i)
		}
		// A form forged to hold it is refused for that one.
		forged := append(choicesOf(preview), approvals.BulkChoice{RequestID: repeat.RequestID, Version: preview.Items[0].Version}, approvals.BulkChoice{RequestID: plain.RequestID, Version: 99})
		forged[1].Version = 99
		result, err := d.svc.BulkApprove(t.Context(), d.web("fumiko"), forged, "")
		if err != nil {
			t.Fatal(err)
		}
		var outcomes []string
		for _, i := range result.Items {
			outcomes = append(outcomes, string(i.Outcome)+": "+i.Why)
		}
		if result.Items[0].Outcome != approvals.BulkApproved || result.Items[1].Outcome != approvals.BulkRefused || result.Items[2].Outcome != approvals.BulkRefused ||
			!strings.Contains(result.Items[2].Why, "own page") || !strings.Contains(result.Items[1].Why, "changed since") {
			t.Errorf("what came of them: %q", outcomes)
		}
		clock.Advance(30 * day)
		if i := d.preview(t, "fumiko", lapsed.RequestID).Items[0]; i.Can || !strings.Contains(i.Why, "expired") {
			t.Errorf("what lapsed is shown as %+v", i)
		}
	})
}

func TestWhatIsToBeLookedAtIsMarked(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		over := askIn(t, "11", "120.00", "EUR")
		over.Evidence = evidenceOf(`{"kind": "record", "source": "run_three_way_match", "data": {"expected": "100.00", "limit": "2"}}`)
		aLine := askIn(t, "15", "7.00", "EUR") // the other one has no figures
		aLine.Evidence = evidenceOf(`{"kind": "table", "columns": ["line", "ordered", "received", "unit_price", "amount"], "rows": [["1", "1", "1", "5.00", "6.00"], ["2"]]}`,
			`{"kind": "record", "source": "run_three_way_match", "data": {"limit": "2"}}`)
		dollars := askIn(t, "16", "8.00", "EUR")
		dollars.Evidence = evidenceOf(`{"kind": "record", "source": "run_three_way_match", "data": {"received_value": "8.00 USD", "limit": "2"}}`)
		unbound := askIn(t, "12", "3.00", "EUR")
		unbound.Action.Tool = "pay_now"
		first := askIn(t, "13", "40.00", "EUR")
		refused := d.request("robot", first)
		d.mustVote(t, "frank", refused.RequestID, approvals.VoteInput{Decision: models.VoteReject, Reason: "No delivery note."})
		second := d.request("robot", askIn(t, "13", "41.00", "EUR"))
		marks := func(id string) string { return strings.Join(d.preview(t, "fumiko", id).Items[0].Look, "; ") }
		for id, want := range map[string]string{
			d.request("robot", over).RequestID:                          "Over the tolerance of 2 %: EUR 20.00 more than expected (20 %)",
			d.request("robot", aLine).RequestID:                         "A line is over the tolerance of 2 %; the whole could not be compared",
			d.request("robot", dollars).RequestID:                       "The order is in USD and the invoice in EUR: their amounts are not compared",
			d.request("robot", unbound).RequestID:                       "could not be compared with the call",
			second.RequestID:                                            "was refused: No delivery note.",
			d.request("robot", askIn(t, "14", "9.00", "EUR")).RequestID: "",
		} {
			if got := marks(id); !strings.Contains(got, want) || want == "" && got != "" {
				t.Errorf("marked %q, want %q", got, want)
			}
		}
		d.closePeriod("2026-10-31")
		if got := marks(second.RequestID); !strings.Contains(got, "closed through 2026-10-31") {
			t.Errorf("a closed period is marked %q", got)
		}
	})
}

func TestWhoMayNotApproveSeveral(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		r := d.request("robot", ask(t, "1.00"))
		choice := []approvals.BulkChoice{{RequestID: r.RequestID, Version: 1}}
		_, err := d.svc.BulkApprove(t.Context(), d.mcp("fumiko"), choice, "")
		wantCode(t, err, models.InsufficientPermission)
		_, err = d.svc.BulkPreview(t.Context(), d.mcp("robot"), []string{r.RequestID})
		wantCode(t, err, models.InsufficientPermission)
		_, err = d.svc.BulkPreview(t.Context(), d.web("fumiko"), nil)
		wantIssue(t, err, "/request")
		_, err = d.svc.BulkApprove(t.Context(), d.web("fumiko"), choice, strings.Repeat("x", 4001))
		wantIssue(t, err, "/reason")
		var many []string
		for i := range approvals.MaxBulk + 1 {
			many = append(many, fmt.Sprintf("areq_%d", i))
		}
		_, err = d.svc.BulkPreview(t.Context(), d.web("fumiko"), many)
		wantIssue(t, err, "/request")
		other := d.web("fumiko")
		other.WorkspaceID = "2000"
		b, err := d.svc.BulkPreview(t.Context(), other, []string{r.RequestID})
		if err != nil || b.Items[0].Can || b.Items[0].Summary != "" {
			t.Errorf("another workspace sees %+v, %v", b, err)
		}
		result, err := d.svc.BulkApprove(t.Context(), other, choice, "")
		if err != nil || result.Items[0].Outcome != approvals.BulkRefused || result.Items[0].Summary != "" {
			t.Errorf("another workspace approves %+v, %v", result, err)
		}
	})
}

// Credits are never set off against what is paid: both stand beside each other, per currency.
func TestTotalsKeepCreditsApart(t *testing.T) {
	t.Parallel()
	for want, amounts := range map[string][]string{
		"EUR 6,003.00 (2), EUR -3,003.00 (1)": {"3001.00 EUR", "-3003.00 EUR", "3002.00 EUR"},
		"EUR -2.00 (2)":                       {"-1.00 EUR", "-1.00 EUR"},
		"EUR 1.00 (1), EUR -1.00 (1)":         {"-1.00 EUR", "1.00 EUR"},
		"EUR 0.00 (1)":                        {"0.00 EUR"},
		"EUR -5.00 (1), JPY 7 (1), USD 2.00 (1), USD -9.00 (2)": {"-4.00 USD", "7 JPY", "-5.00 EUR", "2.00 USD", "-5.00 USD"},
	} {
		var list []models.Money
		for _, a := range amounts {
			text, code, _ := strings.Cut(a, " ")
			m, err := models.ParseMoney(text, code)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, m)
		}
		totals, err := approvals.TotalsOf(list)
		if got := totalText(totals); err != nil || got != want {
			t.Errorf("%v add up to %s, want %s (%v)", amounts, got, want, err)
		}
	}
}
