package ui

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apdesk/apdesk/views/lang"
)

func TestVisible(t *testing.T) {
	t.Parallel()
	show := func(text string) string {
		var b strings.Builder
		for _, s := range Visible(text) {
			if s.Mark {
				b.WriteString("<" + s.Text + ">")
				continue
			}
			b.WriteString(s.Text)
		}
		return b.String()
	}
	for _, c := range []struct{ name, in, want string }{
		{"plain text stays", "Nordwind GmbH", "Nordwind GmbH"},
		{"nothing stays nothing", "", ""},
		{"line feeds and tabs stay", "a\n\tb", "a\n\tb"},
		{"umlauts, Arabic and Japanese stay", "Köln شركة 株式会社", "Köln شركة 株式会社"},
		{"an override is marked", "a\u202eb", "a<U+202E>b"},
		{"isolates are marked", "\u2066a\u2069", "<U+2066>a<U+2069>"},
		{"a zero width space is marked", "INV\u200b-1", "INV<U+200B>-1"},
		{"a byte order mark is marked", "\ufeffa", "<U+FEFF>a"},
		{"a soft hyphen is marked", "a\u00adb", "a<U+00AD>b"},
		{"a carriage return is marked", "a\rb", "a<U+000D>b"},
		{"an escape is marked", "a\x1b[2Jb", "a<U+001B>[2Jb"},
		{"tag characters are marked", "a\U000E0041", "a<U+E0041>"},
		{"a variation selector is marked", "a\ufe0f", "a<U+FE0F>"},
		{"a filler is marked", "a\u3164", "a<U+3164>"},
		{"a line separator is marked", "a\u2028b", "a<U+2028>b"},
		{"a broken byte is marked", "a\xffb", "a<0xFF>b"},
		{"a true replacement character stays", "a\ufffdb", "a\ufffdb"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := show(c.in); got != c.want {
				t.Errorf("%q is shown as %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func FuzzVisibleLosesNothing(f *testing.F) {
	f.Add("a\u202eb\xff\u200b")
	f.Fuzz(func(t *testing.T, in string) {
		rest := in
		for _, s := range Visible(in) {
			if s.Mark {
				r := []rune(rest)[0]
				if s.Name == "invalid byte" {
					rest = rest[1:]
					continue
				}
				rest = rest[len(string(r)):]
				continue
			}
			after, ok := strings.CutPrefix(rest, s.Text)
			if !ok {
				t.Fatalf("%q is not next in %q", s.Text, rest)
			}
			rest = after
		}
		if rest != "" {
			t.Fatalf("%q was lost of %q", rest, in)
		}
	})
}

func TestPlainIsOneLineWithMarks(t *testing.T) {
	t.Parallel()
	if got := Foreign(" INV\u202e-1\n next ").Plain(); got != "INV[U+202E]-1 next" {
		t.Errorf("got %q", got)
	}
}

func TestParseLink(t *testing.T) {
	t.Parallel()
	for raw, host := range map[string]string{
		"https://erp.example.com/po/1?x=y": "erp.example.com",
		"https://erp.example.com:8443/":    "erp.example.com:8443",
		"http://erp.example.com/":          "",
		"javascript:alert(1)":              "",
		"https://user:pw@evil.example/":    "",
		"https:///nothing":                 "",
		"//evil.example/":                  "",
		"/po/1":                            "",
		"https://a b/":                     "",
	} {
		link, ok := ParseLink("t", raw)
		if ok != (host != "") || string(link.Host) != host {
			t.Errorf("%q: accepted %v with host %q, want %q", raw, ok, link.Host, host)
		}
	}
}

func TestFromJSONKeepsOrderAndDigits(t *testing.T) {
	t.Parallel()
	v, err := FromJSON([]byte(`{"z":1.50,"a":12345678901234567890,"list":[true,null,"x"],"o":{}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range v.Fields {
		got = append(got, string(f.Key)+"="+string(f.Value.Text))
	}
	if s := strings.Join(got, " "); s != "z=1.50 a=12345678901234567890 list= o=" {
		t.Errorf("got %s", s)
	}
	if list := v.Get("list"); len(list.Items) != 3 || list.Items[0].Text != "yes" || list.Items[1].Kind != KindNone {
		t.Errorf("got the list %+v", list)
	}
	for _, bad := range []string{"", "{", `{"a":1} {}`, "[1,]", "nul"} {
		if _, err := FromJSON([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func TestVeryDeepDataIsShownAsItsText(t *testing.T) {
	t.Parallel()
	v, err := FromJSON([]byte(strings.Repeat("[", 400) + "7" + strings.Repeat("]", 400)))
	if err != nil {
		t.Fatal(err)
	}
	depth := 0
	for v.Kind == KindItems {
		v = v.Items[0]
		depth++
	}
	if depth != maxDepth || !strings.Contains(string(v.Text), "7") {
		t.Errorf("%d levels deep it says %q", depth, v.Text)
	}
}

func TestLabel(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{"po_id": "PO ID", "quantity_left": "Quantity left", "iban": "IBAN", "closedBy": "closedBy", "": "", "Betrag €": "Betrag €", "unit_price": "Unit price", "__": ""} {
		if got := string(Label(key)); got != want {
			t.Errorf("%q is %q, want %q", key, got, want)
		}
	}
}

func TestColumnsAreForAlikeObjectsOnly(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]int{
		`[{"a":1,"b":2},{"b":3,"c":4}]`: 3,
		`[{"a":1},{}]`:                  0,
		`[{"a":{"b":1}}]`:               0,
		`[{"a":1},2]`:                   0,
		`[]`:                            0,
		`[{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}]`: 0,
	} {
		v, err := FromJSON([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		if got := len(v.Columns()); got != want {
			t.Errorf("%s has %d columns, want %d", in, got, want)
		}
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	left, _ := FromJSON([]byte(`{"number":"INV-1","amount":"10.00","lines":[{"a":1,"b":2}],"only":1}`))
	right, _ := FromJSON([]byte(`{"amount":"10.00","number":"inv 1","lines":[{"b":2,"a":1}],"paid":null}`))
	rows := Compare(left, right)
	var got []string
	for _, r := range rows {
		got = append(got, string(r.Key)+":"+string(r.Difference))
	}
	if s := strings.Join(got, " "); s != "number:differs amount:same lines:same only:only_left paid:only_right" {
		t.Errorf("got %s", s)
	}
	if n := CountDifferences(rows); n != 3 {
		t.Errorf("%d differences, want 3", n)
	}
}

func TestTimesInWords(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 5, 9, 0, 0, 0, time.UTC)
	for d, want := range map[time.Duration][3]string{
		0:                 {"just now", "due now", "new"},
		30 * time.Second:  {"now", "due now", "new"},
		-30 * time.Second: {"just now", "due now", "new"},
		-5 * time.Minute:  {"5 min ago", "overdue by 5 min", "5 min"},
		59 * time.Minute:  {"in 59 min", "due in 59 min", "new"},
		-47 * time.Hour:   {"47 h ago", "overdue by 47 h", "47 h"},
		-72 * time.Hour:   {"3 days ago", "overdue by 3 days", "3 days"},
		49 * time.Hour:    {"in 2 days", "due in 2 days", "new"},
	} {
		at := now.Add(d)
		if got := [3]string{lang.English().Ago(at, now), lang.English().Due(at, now), lang.English().Age(at, now)}; got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
	m := DueAt(lang.English(), now.Add(-time.Hour), now, time.FixedZone("Europe/Berlin", 7200))
	if !m.Late || m.Absolute != "Mon 5 Oct 2026, 10:00:00 (Europe/Berlin)" || m.ISO != "2026-10-05T08:00:00Z" {
		t.Errorf("got %+v", m)
	}
}

func TestFigures(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"0": "0", "-0": "0", "-0.00": "0.00", "-0.01": "−0.01", "999": "999", "1000": "1,000", "-1234567.50": "−1,234,567.50", "123456789012345678.90": "123,456,789,012,345,678.90",
		"0.125": "0.125", "1e5": "1e5", "": "", "5.": "5.", ".5": ".5", "+1": "+1", "12a": "12a",
	} {
		if got := lang.English().Figures(in); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"1234.50":                     "one thousand two hundred thirty-four EUR and 50/100",
		"0.05":                        "zero EUR and 05/100",
		"-20":                         "minus twenty EUR",
		"1000000":                     "one million EUR",
		"1000001.000":                 "one million one EUR",
		"88.125":                      "eighty-eight EUR and 125/1000",
		"913":                         "nine hundred thirteen EUR",
		"007":                         "seven EUR",
		"1e3":                         "",
		"-0.01":                       "minus zero EUR and 01/100",
		"-0.00":                       "zero EUR",
		"-0":                          "zero EUR",
		"1" + strings.Repeat("0", 32): "one hundred nonillion EUR",
		"1" + strings.Repeat("0", 33): "",
		"100000000000000000":          "one hundred quadrillion EUR",
		"123456789012345678901234.0":  "one hundred twenty-three sextillion four hundred fifty-six quintillion seven hundred eighty-nine quadrillion twelve trillion three hundred forty-five billion six hundred seventy-eight million nine hundred one thousand two hundred thirty-four EUR",
	} {
		if got := Words(lang.English(), in, "EUR"); got != want {
			t.Errorf("%q is %q, want %q", in, got, want)
		}
	}
}

func TestForeignTextAddsNoBlanks(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	if err := Text("a<b\u202ec").Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	want := `<bdi>a&lt;b<span class="mark" title="right-to-left override">U+202E</span>c</bdi>`
	if b.String() != want {
		t.Errorf("got %s", b.String())
	}
}

func TestALongTextIsPartedAndKept(t *testing.T) {
	t.Parallel()
	sentence := "The order was closed before the invoice came. "
	lines := strings.Repeat("one short line\n", 12)
	for name, c := range map[string]struct{ text, opening string }{
		"short":          {sentence, sentence},
		"a little more":  {strings.Repeat(sentence, 11), strings.Repeat(sentence, 11)},
		"sentences":      {strings.Repeat(sentence, 30), strings.TrimSuffix(strings.Repeat(sentence, 9), " ")},
		"lines":          {lines, strings.TrimSuffix(strings.Repeat("one short line\n", 5), "\n")},
		"words":          {strings.Repeat("word ", 200), strings.TrimSuffix(strings.Repeat("word ", 83), " ") + " word"},
		"one long word":  {strings.Repeat("x", 2000), strings.Repeat("x", 2000)},
		"other scripts":  {strings.Repeat("発注書は閉じています ", 60), ""},
		"nothing at all": {"", ""},
	} {
		opening, rest := Foreign(c.text).Opening()
		if c.opening != "" && string(opening) != c.opening {
			t.Errorf("%s: it opens with %q, want %q", name, opening, c.opening)
		}
		without := func(s string) string { return strings.NewReplacer(" ", "", "\n", "").Replace(s) }
		if without(string(opening)+string(rest)) != without(c.text) {
			t.Errorf("%s: %q and %q are not the whole text", name, opening, rest)
		}
		if !utf8.ValidString(string(opening)) || (name == "other scripts" && rest == "") {
			t.Errorf("%s: parted as %q and %q", name, opening, rest)
		}
	}
}
