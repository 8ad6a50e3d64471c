package lang

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/leonelquinteros/gotext"
)

// message is one use of the catalogue in the code.
type message struct{ in, id, many string }

// used finds every message of the pages: the arguments of the functions that look one up.
func used(t *testing.T) map[message]string {
	t.Helper()
	found := map[message]string{}
	for _, pattern := range []string{"*.go", "../*.go", "../ui/*.go", "../../web/pages/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			set := token.NewFileSet()
			tree, err := parser.ParseFile(set, file, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				call, ok := n.(*ast.CallExpr)
				if !ok {
					return true
				}
				var texts []string
				for _, a := range call.Args {
					if text, ok := constant(a); ok {
						texts = append(texts, text)
					}
				}
				if m, ok := messageOf(called(call), texts); ok {
					found[m] = strings.TrimPrefix(set.Position(call.Pos()).String(), "../")
				}
				return true
			})
		}
	}
	if len(found) < 500 {
		t.Fatalf("only %d messages were found: the search is broken", len(found))
	}
	return found
}

func called(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func messageOf(name string, texts []string) (message, bool) {
	switch {
	case len(texts) >= 1 && (name == "tr" || name == "T" || name == "Mark" || name == "word"):
		return message{id: texts[0]}, true
	case len(texts) >= 2 && (name == "trn" || name == "N"):
		return message{id: texts[0], many: texts[1]}, true
	case len(texts) >= 2 && (name == "trc" || name == "C" || name == "MarkIn"):
		return message{in: texts[0], id: texts[1]}, true
	}
	return message{}, false
}

// constant is the value of a text written in the code, also of one in several pieces.
func constant(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := constant(e.X)
		right, also := constant(e.Y)
		return left + right, ok && also && e.Op == token.ADD
	}
	return "", false
}

var (
	verbs  = regexp.MustCompile(`%(\[\d+\])?[+#]?[sdqvx]`)
	braces = regexp.MustCompile(`\{[a-z_]+\}`)
)

// valuesOf are the values a message takes, in the order of the arguments, and the parts of a sentence.
func valuesOf(text string) []string {
	var values []string
	for i, v := range verbs.FindAllString(text, -1) {
		place := strconv.Itoa(i + 1)
		if from, to := strings.Index(v, "["), strings.Index(v, "]"); from >= 0 {
			place = v[from+1 : to]
		}
		values = append(values, place+v[len(v)-1:])
	}
	values = append(values, braces.FindAllString(text, -1)...)
	slices.Sort(values)
	return values
}

func TestEveryMessageIsThereInEveryLanguage(t *testing.T) {
	t.Parallel()
	messages := used(t)
	for _, l := range All()[1:] {
		left := maps.Clone(l.or().words)
		var missing []string
		for m, where := range messages {
			key := m.id
			if m.in != "" {
				key = keyed(m.in, m.id)
			}
			delete(left, key)
			texts, ok := l.words[key]
			wanted := 1
			if m.many != "" {
				wanted = 2
			}
			if !ok || len(texts) < wanted {
				missing = append(missing, entry(m, where))
				continue
			}
			for i, text := range texts {
				from := m.id
				if i > 0 {
					from = m.many
				}
				got, want := valuesOf(text), valuesOf(from)
				if i == 0 && m.many != "" { // "one case" may leave the count out
					want = slices.DeleteFunc(want, func(v string) bool { return v == "1d" && !slices.Contains(got, v) })
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: %q takes %v, and %q in %s takes %v", where, from, want, text, l.Tag(), got)
				}
			}
		}
		if len(missing) > 0 {
			slices.Sort(missing)
			t.Errorf("%d messages have no words in %s. Add them to the catalogue of their part:\n\n%s", len(missing), l.Tag(), strings.Join(missing, "\n"))
		}
		for _, key := range slices.Sorted(maps.Keys(left)) {
			t.Errorf("%s: nothing says %q any more", l.Tag(), key)
		}
	}
}

// entry is a message as it stands in a catalogue before it is translated.
func entry(m message, where string) string {
	var b strings.Builder
	b.WriteString("#: " + where + "\n")
	if m.in != "" {
		b.WriteString("msgctxt " + strconv.Quote(m.in) + "\n")
	}
	b.WriteString("msgid " + strconv.Quote(m.id) + "\n")
	if m.many != "" {
		b.WriteString("msgid_plural " + strconv.Quote(m.many) + "\nmsgstr[0] \"\"\nmsgstr[1] \"\"\n")
	} else {
		b.WriteString("msgstr \"\"\n")
	}
	return b.String()
}

func TestAMessageStandsInOneFileOfALanguage(t *testing.T) {
	t.Parallel()
	for _, l := range All()[1:] {
		files, err := filepath.Glob(l.Tag() + "/*.po")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no catalogue (%v)", l.Tag(), err)
		}
		in := map[string]string{}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(filepath.Base(file), servicesFile) {
				continue
			}
			po := gotext.NewPo()
			po.Parse(text)
			ids := slices.Collect(maps.Keys(po.GetDomain().GetTranslations()))
			for context, messages := range po.GetDomain().GetCtxTranslations() {
				for id := range messages {
					if id != "" { // the reader keeps one such beside every message with a context
						ids = append(ids, keyed(context, id))
					}
				}
			}
			ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" }) // the head of the file
			for _, id := range ids {
				if in[id] != "" && id != "" {
					t.Errorf("%q stands in %s and in %s", id, in[id], file)
				}
				in[id] = file
			}
			if n := strings.Count(string(text), "\nmsgid \"") - strings.Count(string(text), "\nmsgid \"\"\nmsgstr \"\"\n"); n != len(ids) {
				t.Errorf("%s has %d messages, and %d can be read: one stands there twice or is not well formed", file, n, len(ids))
			}
		}
	}
}

func TestALanguageIsChosenByThePersonThenTheBrowser(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ chosen, accepted, want string }{
		{"de", "en", "de"}, {"en", "de", "en"}, {"", "de-AT,de;q=0.9,en;q=0.8", "de"}, {"", "fr,en;q=0.5", "en"},
		{"", "fr", "en"}, {"", "", "en"}, {"", "*", "en"}, {"", "a;q=;;,", "en"}, {"xx", "de", "de"},
	} {
		if got := Choose(c.chosen, c.accepted).Tag(); got != c.want {
			t.Errorf("chosen %q, accepted %q: %s, want %s", c.chosen, c.accepted, got, c.want)
		}
	}
}

func TestTimesAndFiguresInGerman(t *testing.T) {
	t.Parallel()
	de := Find("de")
	now := time.Date(2026, 10, 5, 14, 30, 7, 0, time.UTC)
	for got, want := range map[string]string{
		de.Format(now, DayTime): "5. Okt. 2026, 14:30", de.Format(now, Exact): "Mo. 5. Okt. 2026, 14:30:07", de.Format(now, DayLong): "5. Oktober 2026",
		English().Format(now, DayTime):      "5 Oct 2026, 14:30",
		de.Ago(now.Add(-72*time.Hour), now): "vor 3 Tagen", de.Age(now.Add(-72*time.Hour), now): "3 Tage", de.Ago(now.Add(5*time.Minute), now): "in 5 Min.",
		de.Due(now.Add(-3*time.Hour), now): "überfällig seit 3 Std.", de.Due(now.Add(72*time.Hour), now): "fällig in 3 Tagen", de.Due(now, now): "jetzt fällig",
		de.Figures("-1234567.50"): "−1.234.567,50", English().Figures("-1234567.50"): "−1,234,567.50", de.Figures("12a"): "12a",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestFiguresAreReadAsTheLanguageWritesThem(t *testing.T) {
	t.Parallel()
	de, en := Find("de"), English()
	for _, c := range []struct{ typed, de, en string }{
		{"1234.50", "1234.50", "1234.50"}, {"1234", "1234", "1234"}, {"-12.5", "-12.5", "-12.5"}, {"0.500", "0.500", "0.500"}, {"1234.567", "1234.567", "1234.567"}, {"01.234", "01.234", "01.234"},
		{"1.234,50", "1234.50", "1234.50"}, {"1234,50", "1234.50", "1234.50"}, {"1.234.567", "1234567", "1234567"}, {"−1.234,5", "-1234.5", "-1234.5"}, {"1 234,50", "1234.50", "1234.50"},
		{"1,234.50", "1234.50", "1234.50"}, {"1,234,567", "1234567", "1234567"}, {" -1,234 ", "-1.234", "-1234"}, {"1 234.50", "1234.50", "1234.50"},
		{"1.234", "1234", "1.234"}, {"1,234", "1.234", "1234"}, {"12.34.567", "12.34.567", "12.34.567"}, {"1,2,3", "1,2,3", "1,2,3"}, {"1.234,", "1.234,", "1.234,"}, {",5", ",5", ",5"}, {"", "", ""},
		{"EUR 5", "EUR 5", "EUR 5"}, {"1e3", "1e3", "1e3"}, {"+5", "+5", "+5"}, {"--5", "--5", "--5"}, {"-", "-", "-"}, {"1..2", "1..2", "1..2"}, {"٣", "٣", "٣"}, {"1.2345", "1.2345", "1.2345"},
	} {
		if got := de.ReadFigures(c.typed); got != c.de {
			t.Errorf("%q is read %q in German, want %q", c.typed, got, c.de)
		}
		if got := en.ReadFigures(c.typed); got != c.en {
			t.Errorf("%q is read %q in English, want %q", c.typed, got, c.en)
		}
	}
	for _, amount := range []string{"1.234", "0.001", "1234.50", "-1.234", "12", "123.456", "-0.5", "01.234", "1234567.891"} {
		for _, l := range []*Lang{de, en} {
			if got := l.ReadFigures(l.TypeFigures(amount)); got != amount {
				t.Errorf("%s: %s stands as %s in a field and is read %s", l.Tag(), amount, l.TypeFigures(amount), got)
			}
			if got := l.ReadFigures(strings.ReplaceAll(l.Figures(amount), "\u2212", "-")); got != amount && amount[0] != '0' {
				t.Errorf("%s: %s is shown as %s and read %s", l.Tag(), amount, l.Figures(amount), got)
			}
			if got := FiguresInAddress(amount); got != l.ReadFigures(got) || strings.TrimLeft(strings.Replace(got, "-", "", 1), "0") != strings.TrimLeft(strings.Replace(amount, "-", "", 1), "0") {
				t.Errorf("%s: %s is %s in an address and read %s", l.Tag(), amount, got, l.ReadFigures(got))
			}
		}
	}
}

func TestSentencesOfTheServicesAreFoundByTheirForm(t *testing.T) {
	t.Parallel()
	l := &Lang{tag: "xx", group: ".", point: ",", exact: map[string]string{}, exactParts: map[string]string{}, locale: german.locale}
	l.learn("must be filled in", "fehlt")
	l.learn("%s holds this case until %s.", "%[2]s: %[1]s hält diesen Vorgang.")
	l.learn("%s holds this case.", "%s hält diesen Vorgang.")
	l.learn("at most %d of %d", "höchstens %d von %d")
	l.learn("approved", "genehmigt")
	l.learn("This is %s already.", "Das ist schon %s.")
	l.learn("The limit of %v is %s: %s.", "%s darf bis %s: %s.")
	l.learnPart("a yes of %s", "ein Ja: %s")
	l.learnPart("%s or %s", "%s oder %s")
	l.learn("Nobody decides %s: %s begins above it.", "Niemand entscheidet %s: %s beginnt darüber.")
	l.learn("Only more reaches in: %s.", "Nur mehr reicht hinein: %s.")
	l.learnPart("Rule %v", "Regel %s")
	l.learnPart("Rule %v for %s", "Regel %s für %s")
	l.learnPart("tool %v", "Werkzeug %s")
	l.learnPart("supplier %v", "Lieferant %s")
	l.learnPart(" and ", " und ")
	l.said, l.parts = exactFirst(l.said), exactFirst(l.parts)
	for said, want := range map[string]string{
		"must be filled in":                          "fehlt",
		"Ines Hoffmann holds this case until 5 Oct.": "5 Oct: Ines Hoffmann hält diesen Vorgang.",
		"at most 5 of 10":                            "höchstens 5 von 10",
		"at most five of 10":                         "at most five of 10",
		"This is approved already.":                  "Das ist schon genehmigt.",
		"This is 4500018822 already.":                "Das ist schon 4500018822.",
		"The limit of approved is EUR 1,234.50: a yes of approved or Ines.": "approved darf bis 1.234,50 EUR: ein Ja: genehmigt oder Ines.",
		"approved or Ines": "approved or Ines",
		"The limit of 4500018822 is 1,234.50: a yes of EUR 0.00 to 10,000.00.":                                                           "4500018822 darf bis 1.234,50: ein Ja: 0,00 to 10.000,00 EUR.",
		"Nobody decides EUR 5.00: Rule A begins above it. Only more reaches in: Rule B for tool pay, supplier V; Rule C for supplier W.": "Niemand entscheidet 5,00 EUR: Regel A beginnt darüber. Nur mehr reicht hinein: Regel B für Werkzeug pay, Lieferant V; Regel C für Lieferant W.",
		"Only more reaches in: Rule B and Rule C.":                                                                                       "Nur mehr reicht hinein: Regel B und Regel C.",
		"Only more reaches in: Rule B and Ines.":                                                                                         "Nur mehr reicht hinein: Regel B and Ines.",
		"Anna A. holds this case.":                                                                                                       "Anna A. hält diesen Vorgang.",
		"This is 2026-10-05 already.":                                                                                                    "Das ist schon 5 Okt. 2026.",
		"This is 5 Oct 2026, 11:30 already.":                                                                                             "Das ist schon 5 Okt. 2026, 11:30.",
		"Ines holds this case. This is approved already.":                                                                                "Ines hält diesen Vorgang. Das ist schon genehmigt.",
		"Ines holds this case. Nobody knows this sentence.":                                                                              "Ines hält diesen Vorgang. Nobody knows this sentence.",
	} {
		if got := l.Said(said); got != want {
			t.Errorf("%q is said as %q, want %q", said, got, want)
		}
	}
	if got := English().Said("must be filled in"); got != "must be filled in" {
		t.Errorf("English says %q", got)
	}
}
