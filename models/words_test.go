package models_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
)

func TestMoney(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		amount, currency string
		want             error
	}{
		{"1234.50", "EUR", nil}, {"-12.5", "EUR", nil}, {"0", "JPY", nil}, {"1200", "JPY", nil}, {"1.234", "KWD", nil},
		{"123456789012345678.90", "EUR", nil}, {"007.10", "EUR", nil},
		{"+5", "EUR", models.ErrAmountSyntax}, {".5", "EUR", models.ErrAmountSyntax}, {"5.", "EUR", models.ErrAmountSyntax},
		{"1e3", "EUR", models.ErrAmountSyntax}, {"1,234.50", "EUR", models.ErrAmountSyntax}, {"NaN", "EUR", models.ErrAmountSyntax},
		{"", "EUR", models.ErrAmountSyntax}, {"٣", "EUR", models.ErrAmountSyntax}, {"１２", "EUR", models.ErrAmountSyntax}, {"5 ", "EUR", models.ErrAmountSyntax},
		{strings.Repeat("9", 65), "EUR", models.ErrAmountLong}, {strings.Repeat("9", 33), "EUR", models.ErrAmountLong},
		{"-" + strings.Repeat("9", 31) + ".99", "EUR", models.ErrAmountLong}, {strings.Repeat("0", 31) + "1", "EUR", nil},
		{strings.Repeat("0", 65), "EUR", models.ErrAmountLong}, {strings.Repeat("x", 65), "EUR", models.ErrAmountSyntax},
		{"12.345", "EUR", models.ErrAmountDigits}, {"1200.0", "JPY", models.ErrAmountDigits}, {"1.2345", "KWD", models.ErrAmountDigits},
		{"5", "eur", models.ErrCurrencyUnknown}, {"5", "ZZZ", models.ErrCurrencyUnknown}, {"5", "", models.ErrCurrencyUnknown},
	} {
		m, err := models.ParseMoney(c.amount, c.currency)
		if !errors.Is(err, c.want) {
			t.Errorf("%q %s: %v, want %v", c.amount, c.currency, err, c.want)
		}
		if err == nil && m.Text() != c.amount {
			t.Errorf("%q came back as %q", c.amount, m.Text())
		}
	}
}

func TestMoneyComparesAsDecimals(t *testing.T) {
	t.Parallel()
	sum, err := must(t, "0.1", "EUR").Add(must(t, "0.2", "EUR"))
	if err != nil || !sum.Equal(must(t, "0.30", "EUR")) {
		t.Errorf("0.1 + 0.2 = %s (%v)", sum.Text(), err)
	}
	if !must(t, "250.0", "EUR").Equal(must(t, "250.00", "EUR")) {
		t.Error("250.0 and 250.00 differ")
	}
	if _, err := must(t, "1", "EUR").Cmp(must(t, "1", "USD")); err == nil {
		t.Error("euros were compared with dollars")
	}
	big := must(t, "9007199254740993.01", "EUR")
	if c, err := big.Cmp(must(t, "9007199254740993.02", "EUR")); err != nil || c != -1 {
		t.Errorf("a cent was lost in a large amount: %d, %v", c, err)
	}
	if got := must(t, "-12.50", "EUR").Abs().Text(); got != "12.50" {
		t.Errorf("|-12.50| = %s", got)
	}
}

// What is accepted can be shown and added up: no amount may end as "NaN" in front of somebody who approves.
func TestTheLongestAmountsAreExact(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"EUR", "JPY", "KWD"} {
		longest := strings.Repeat("9", 32)
		if d := models.CurrencyDigits(code); d > 0 {
			longest = longest[d:] + "." + longest[:d]
		}
		m := must(t, longest, code)
		if got := strings.NewReplacer(",", "", code+" ", "").Replace(m.Format()); got != longest {
			t.Errorf("%s is written %s", longest, got)
		}
		sum := must(t, "-"+longest, code)
		for range 3 {
			var err error
			if sum, err = sum.Add(m); err != nil {
				t.Fatal(err)
			}
		}
		if half, err := sum.Sub(m); err != nil || !half.Equal(m) || strings.Contains(sum.Format(), "NaN") {
			t.Errorf("%s: twice the longest amount is %s (%v)", code, sum.Format(), err)
		}
	}
}

func TestZeroHasNoSign(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"EUR", "JPY", "KWD"} {
		spellings := []string{"-0", "-000"}
		for d := range models.CurrencyDigits(code) {
			spellings = append(spellings, "-0."+strings.Repeat("0", d+1))
		}
		for _, text := range spellings {
			zero := must(t, text, code)
			sum, err := zero.Add(zero)
			if err != nil {
				t.Fatal(err)
			}
			less, err := zero.Sub(must(t, "0", code))
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range []models.Money{zero, zero.Abs(), sum, less} {
				if all := m.Text() + m.Format() + m.FormatNumber() + m.SortKey(); strings.ContainsAny(all, "-\u2212") || m.Negative() || m.SortKey() != must(t, "0", code).SortKey() {
					t.Errorf("%s %s is written %s", text, code, all)
				}
			}
		}
	}
}

func TestMoneyIsWrittenWithAllItsDigits(t *testing.T) {
	t.Parallel()
	for amount, want := range map[string]string{
		"1234.5": "EUR 1,234.50", "-12.50": "EUR -12.50", "123456789012345678.90": "EUR 123,456,789,012,345,678.90", "0": "EUR 0.00",
	} {
		if got := must(t, amount, "EUR").Format(); got != want {
			t.Errorf("%s: %q, want %q", amount, got, want)
		}
	}
	if got := must(t, "1200000", "JPY").Format(); got != "JPY 1,200,000" {
		t.Errorf("yen: %q", got)
	}
	if got := must(t, "1.234", "KWD").Format(); got != "KWD 1.234" {
		t.Errorf("dinar: %q", got)
	}
}

func must(t *testing.T, amount, currency string) models.Money {
	t.Helper()
	m, err := models.ParseMoney(amount, currency)
	if err != nil {
		t.Fatalf("%s %s: %v", amount, currency, err)
	}
	return m
}

func TestNumbersOfOneInvoiceAreTheSame(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"INV-001", "inv 1", "INV001", "ＩＮＶ－００１", "inv/1"},
		{"01234-0001", "1234-1"},
		{"INV 778", "inv-00778"},
		{"2026/000", "2026-0"},
	} {
		for _, n := range same[1:] {
			if a, b := models.NormaliseNumber(same[0]), models.NormaliseNumber(n); a != b {
				t.Errorf("%q is %q but %q is %q", same[0], a, n, b)
			}
		}
	}
	if models.NormaliseNumber("INV-10") == models.NormaliseNumber("INV-1") {
		t.Error("INV-10 and INV-1 are taken for one")
	}
}

func TestDatesAreRealAndNeverShift(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"2026-02-29", "2026-13-01", "2026-1-1", "05.10.2026", "", "2026-10-05T00:00:00Z"} {
		if _, err := models.ParseDate(bad); err == nil {
			t.Errorf("%q was taken for a date", bad)
		}
	}
	d, err := models.ParseDate("2024-02-29")
	if err != nil || d.AddDays(1).String() != "2024-03-01" {
		t.Errorf("the day after 2024-02-29 is %s (%v)", d.AddDays(1), err)
	}
	zone, err := time.LoadLocation("Pacific/Kiritimati")
	if err != nil {
		t.Fatal(err)
	}
	if got := models.DateOf(models.At(time.Date(2026, 10, 4, 11, 0, 0, 0, time.UTC)), zone).String(); got != "2026-10-05" {
		t.Errorf("11:00 UTC on the 4th is the %s at UTC+14", got)
	}
}

func TestCalendar(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	holiday, _ := models.ParseDate("2026-12-25")
	c := models.NewCalendar(berlin, []models.Date{holiday})
	at := func(s string) models.Time {
		v, err := time.ParseInLocation("2006-01-02 15:04", s, berlin)
		if err != nil {
			t.Fatal(err)
		}
		return models.At(v)
	}
	for _, x := range []struct {
		name      string
		got, want models.Time
	}{
		{"eight hours from Monday noon end on Tuesday noon", c.AddBusinessHours(at("2026-10-05 12:00"), 8*time.Hour), at("2026-10-06 12:00")},
		{"a case of Saturday starts on Monday", c.AddBusinessHours(at("2026-10-03 10:00"), 2*time.Hour), at("2026-10-05 11:00")},
		{"a holiday does not count", c.AddBusinessHours(at("2026-12-24 16:00"), 2*time.Hour), at("2026-12-28 10:00")},
		{"the clock change at the weekend moves no working hour", c.AddBusinessHours(at("2026-10-23 16:00"), 2*time.Hour), at("2026-10-26 10:00")},
		{"one business day before Monday is Friday", c.AddBusinessDays(at("2026-10-12 10:00"), -1), at("2026-10-09 10:00")},
		{"three business days before", c.AddBusinessDays(at("2026-10-14 15:00"), -3), at("2026-10-09 15:00")},
		{"no business day is the moment itself", c.AddBusinessDays(at("2026-10-14 15:00"), 0), at("2026-10-14 15:00")},
		{"five business days pass the weekend", c.AddBusinessDays(at("2026-10-07 15:00"), 5), at("2026-10-14 15:00")},
		{"the next re-check is at six of the next business day", c.NextRecheck(at("2026-10-09 18:00")), at("2026-10-12 06:00")},
	} {
		if !x.got.Equal(x.want.Time) {
			t.Errorf("%s: %s, want %s", x.name, x.got.In(berlin), x.want.In(berlin))
		}
	}
}

func TestIDsSortAndApprovalIDsCannotBeGuessed(t *testing.T) {
	t.Parallel()
	ids := models.NewIDs(func() time.Time { return time.UnixMilli(1) }, nil)
	last := ""
	for range 1000 {
		id := ids.New(models.PrefixCase)
		if id <= last || !strings.HasPrefix(id, "case_") {
			t.Fatalf("%s after %s", id, last)
		}
		last = id
	}
	a := ids.New(models.PrefixApproval)
	if random := len(a) - len("apr_") - 26; random*5 < 128 {
		t.Errorf("%s has only %d random bits of its own", a, random*5)
	}
	if masked := models.MaskID(a); strings.Contains(masked, a[16:]) || !strings.HasPrefix(a, strings.TrimSuffix(masked, "…")) {
		t.Errorf("%s is masked as %s", a, masked)
	}
}

func TestScopesOfATokenIncludeWhatTheyImply(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		have []models.Scope
		want models.Scope
		ok   bool
	}{
		{[]models.Scope{models.ScopeCasesWrite}, models.ScopeCasesRead, true},
		{[]models.Scope{models.ScopeCasesRead}, models.ScopeCasesWrite, false},
		{[]models.Scope{models.ScopeAll}, models.ScopeMoney, true},
		{[]models.Scope{models.ScopeApprovalsWrite}, models.ScopeMoney, false},
		{[]models.Scope{models.ScopeApprovalsWrite}, models.ScopeCasesRead, false},
	} {
		if models.Grants(c.have, c.want) != c.ok {
			t.Errorf("%v grants %s: want %v", c.have, c.want, c.ok)
		}
	}
}
