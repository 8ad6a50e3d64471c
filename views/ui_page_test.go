package views_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/static"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

// specimen is one state of a component of views/ui.
type specimen struct {
	state string
	shown templ.Component
}

// specimens are the states of every component, by the component's name.
func specimens() map[string][]specimen {
	all := map[string][]specimen{}
	add := func(component, state string, shown templ.Component) {
		all[component] = append(all[component], specimen{state, shown})
	}

	for _, tone := range constants("Tone") {
		add("BadgeOf", tone, ui.BadgeOf(ui.Badge{Text: "a state", Tone: ui.Tone(tone), Sign: ui.SignOpen}))
		add("NoticeOf", tone, ui.NoticeOf(ui.Notice{Tone: ui.Tone(tone), Heading: "What there is to know", Text: "And what it means.", LinkText: "What to do about it", URL: "#main"}))
		add("Flashes", tone, ui.Flashes([]ui.Flash{{Tone: ui.Tone(tone), Text: "What just happened."}}))
	}
	for _, sign := range constants("Sign") {
		add("BadgeOf", "sign "+sign, ui.BadgeOf(ui.Badge{Text: "a state", Tone: ui.ToneNeutral, Sign: ui.Sign(sign)}))
	}
	for _, variant := range constants("ButtonVariant") {
		add("ButtonOf", variant, ui.ButtonOf(ui.Button{Label: "Do it", Variant: ui.ButtonVariant(variant)}))
	}
	add("PostFormOf", "a form of one button", ui.PostFormOf(ui.PostForm{URL: "#main", CSRF: "csrf-sample", Button: ui.Button{Label: "Release", About: "INV-778", Variant: ui.ButtonPlain}}))
	add("CSRF", "unseen", ui.CSRF("csrf-sample"))
	add("HiddenOf", "unseen", ui.HiddenOf(ui.Hidden{Name: "version", Value: "3"}))

	options := []ui.Option{{Value: "a", Label: "The first", Note: "a", Selected: true}, {Value: "b", Label: "The second", Note: "b"}}
	for _, kind := range constants("FieldKind") {
		field := ui.Field{Name: "plain-" + kind, Label: "What is asked", Kind: ui.FieldKind(kind), Options: options}
		add("FieldOf", kind, inForm(field))
		field.Name, field.Required, field.Hint, field.Error = "refused-"+kind, true, "What to write here.", "What is wrong with it."
		if field.Kind != ui.FieldCheckbox {
			field.Suffix = "EUR"
		}
		add("FieldOf", kind+", required, with hint, suffix and error", inForm(field))
	}
	add("FieldOf", "in somebody else’s words", ui.FieldOf(ui.Field{Name: "foreign", LabelForeign: ui.Foreign(hostileScript), About: ui.Foreign(hostilePrompt), Kind: ui.FieldText}))
	add("ErrorSummary", "above a refused form", ui.ErrorSummary("Nothing was sent", []ui.FieldError{{FieldID: "f-refused-text", Text: "What is asked: what is wrong with it."}, {Text: "What is wrong with the whole."}}))

	add("EmptyOf", "nothing yet", ui.EmptyOf(ui.Empty{Heading: "Nothing is waiting here", Text: "What comes here, and when.", LinkText: "Where to go instead", URL: "#main"}))
	add("EmptyOf", "without a way on", ui.EmptyOf(ui.Empty{Heading: "No comments yet"}))
	add("Tabs", "with and without counts", ui.Tabs("Views of a list", []ui.Tab{{Label: "Open", Count: "4", URL: "#main", Current: true}, {Label: "Held", Count: "1", URL: "#main"}, {Label: "Resolved", URL: "#main"}}))
	add("PagerOf", "amid several", ui.PagerOf(ui.Pager{First: "#main", Next: "#main", Text: "50 shown of 214"}))

	for _, m := range []struct {
		state string
		at    ui.Moment
	}{
		{"just now", ago(0)}, {"ago", ago(90 * time.Minute)}, {"due", due(3 * time.Hour)}, {"overdue", due(-50 * time.Hour)},
		{"age", ui.AgeAt(lang.English(), now.Add(-72*time.Hour), now, berlin)}, {"exactly", ui.Exactly(lang.English(), now, berlin)}, {"none", ui.Moment{}},
	} {
		add("MomentOf", m.state, ui.MomentOf(m.at))
	}
	var entries []ui.TimelineEntry
	for _, kind := range constants("TimelineKind") {
		entries = append(entries, ui.TimelineEntry{At: ago(time.Hour), Kind: ui.TimelineKind(kind), Who: "Who it was", Channel: "in the browser", What: "did something", Words: "And why, in their own words.",
			Details: []ui.Entry{ui.Pair("Until", "12:00")}, About: "INV-778", URL: "#main"})
	}
	add("Timeline", "one of everybody", ui.Timeline(entries))

	for state, text := range map[string]string{"plain": "Nordwind GmbH", "markup": hostileScript, "turned": hostileRTL, "unseen": hostileZero, "long": longSupplier} {
		add("Text", state, ui.Text(ui.Foreign(text)))
	}
	slices.SortFunc(all["Text"], func(a, b specimen) int { return strings.Compare(a.state, b.state) })
	add("TextOr", "given", ui.TextOr("INV-778", "not given"))
	add("TextOr", "absent", ui.TextOr("", "not given"))
	add("Block", "several lines", ui.Block(ui.Foreign(hostilePrompt)))
	add("LongBlock", "folded after its first lines", ui.LongBlock(ui.Foreign(strings.Repeat("The order was closed before this invoice came. ", 20))))
	add("LongBlock", "short", ui.LongBlock("The order was closed before this invoice came."))
	add("AgentWords", "around what the agent wrote", wrapped(ui.AgentWords("What the agent says", "invoice-agent"), ui.Block("The purchase order was closed before this invoice came.")))
	add("Sentence", "with a time and a link", ui.Sentence("asked {when}: {what}, {else}", ui.Parts{"when": ui.MomentOf(ui.AgeAt(lang.English(), now.Add(-72*time.Hour), now, berlin)), "what": ui.Anchor("#main", "what it is")}))
	for name, part := range map[string]templ.Component{"Strong": ui.Strong("some words"), "Muted": ui.Muted("some words"), "Code": ui.Code("PO_CLOSED"), "Key": ui.Key("?"), "Plain": ui.Plain("some words"), "Anchor": ui.Anchor("#main", "some words")} {
		add(name, "in a sentence", part)
	}
	add("Breakable", "a very long amount", ui.Breakable(lang.English().Figures(wideAmount)))

	record := data(`{"po_id":"4500018822","status":"closed","amount":"1234.50","blocked":false,"note":null,"lines":[{"line":10,"ordered":200},{"line":20,"ordered":1}],"tags":["urgent","Q3"],"nothing":[]}`)
	add("Data", "names in words", ui.Data(record))
	add("ExactData", "names as a call has them", ui.ExactData(record))
	add("Entries", "named values", ui.Entries([]ui.Entry{ui.Pair("Invoice", "INV-778"), ui.Pair("Supplier", longSupplier)}))
	add("Comparison", "same, different, on one side only", ui.Comparison("This invoice", "Invoice 5105600098",
		ui.Compare(data(`{"number":"INV-778","amount":"1234.50","due":"2026-11-02"}`), data(`{"number":"inv 778","amount":"1234.50","status":"paid"}`))))
	add("AsSent", "folded", ui.AsSent(`{"po_id":"4500018822"}`))
	return all
}

// wrapped puts a component into another one that takes children.
func wrapped(around, inner templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		return around.Render(templ.WithChildren(ctx, inner), w)
	})
}

// inForm puts a password into a form, where browsers want it, and leaves every other field alone.
func inForm(field ui.Field) templ.Component {
	if field.Kind != ui.FieldPassword {
		return ui.FieldOf(field)
	}
	field.Autocomplete = "current-password"
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		if _, err := io.WriteString(w, `<form method="post" action="#main" class="stack">`); err != nil {
			return err
		}
		for _, part := range []templ.Component{ui.CSRF("csrf-sample"),
			ui.FieldOf(ui.Field{Name: "who-" + field.Name, Label: "E-mail", Kind: ui.FieldEmail, Autocomplete: "username"}), ui.FieldOf(field), ui.ButtonOf(ui.Button{Label: "Sign in", Variant: ui.ButtonPlain})} {
			if err := part.Render(ctx, w); err != nil {
				return err
			}
		}
		_, err := io.WriteString(w, `</form>`)
		return err
	})
}

// uiSources are the parsed files of views/ui, without its tests.
func uiSources() []*ast.File {
	names, err := filepath.Glob("ui/*.go")
	if err != nil {
		panic(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			panic(err)
		}
		files = append(files, f)
	}
	return files
}

// constants are the values of a string type of views/ui, in the order they are declared in.
func constants(typeName string) []string {
	var values []string
	for _, f := range uiSources() {
		ast.Inspect(f, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok {
				return true
			}
			if id, ok := spec.Type.(*ast.Ident); ok && id.Name == typeName {
				for _, v := range spec.Values {
					if lit, ok := v.(*ast.BasicLit); ok {
						if text, err := strconv.Unquote(lit.Value); err == nil {
							values = append(values, text)
						}
					}
				}
			}
			return true
		})
	}
	return values
}

// components are the names of what views/ui can show.
func components() []string {
	var names []string
	for _, f := range uiSources() {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv != nil || !fn.Name.IsExported() || fn.Type.Results == nil || len(fn.Type.Results.List) != 1 {
				continue
			}
			if result, ok := fn.Type.Results.List[0].Type.(*ast.SelectorExpr); ok && result.Sel.Name == "Component" {
				names = append(names, fn.Name.Name)
			}
		}
	}
	slices.Sort(names)
	return names
}

// uiPage shows every component of views/ui in every state, and the colours and sizes they are made of.
func uiPage() templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		var failed error
		put := func(format string, args ...any) {
			if _, err := fmt.Fprintf(w, format, args...); err != nil && failed == nil {
				failed = err
			}
		}
		put(`<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Parts of the pages · apdesk</title>`)
		put(`<link rel="stylesheet" href="%s"><link rel="stylesheet" href="%s"><link rel="stylesheet" href="%s"><link rel="stylesheet" href="%s"><link rel="icon" type="image/svg+xml" href="%s"><script src="%s" defer></script></head><body><main class="shell__main" id="main" tabindex="-1"><h1>Parts of the pages</h1>`,
			static.URL("css/app.css"), static.URL("css/lists.css"), static.URL("css/records.css"), static.URL("css/settings.css"), static.URL("favicon.svg"), static.URL("js/app.js"))
		all := specimens()
		for _, name := range components() {
			put(`<section class="block" id="part-%s"><h2 class="block__title">%s</h2>`, name, name)
			for _, s := range all[name] {
				put(`<h3 class="sub">%s</h3><div>`, templ.EscapeString(s.state))
				if err := s.shown.Render(ctx, w); err != nil && failed == nil {
					failed = fmt.Errorf("%s, %s: %w", name, s.state, err)
				}
				put(`</div>`)
			}
			put(`</section>`)
		}
		put(`</main></body></html>`)
		return failed
	})
}

func TestThePageOfPartsShowsEveryComponent(t *testing.T) {
	all, names := specimens(), components()
	if len(names) == 0 {
		t.Fatal("found no component")
	}
	for _, name := range names {
		if len(all[name]) == 0 {
			t.Errorf("%s is in no state on the page of parts: add it to specimens", name)
		}
	}
	for name := range all {
		if !slices.Contains(names, name) {
			t.Errorf("%s is on the page of parts and not in views/ui", name)
		}
	}
	var b strings.Builder
	if err := uiPage().Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
}

// TestThePageOfPartsIsWritten writes it to the file named by APDESK_UI_PAGE, with style and script within it.
func TestThePageOfPartsIsWritten(t *testing.T) {
	file := os.Getenv("APDESK_UI_PAGE")
	if file == "" {
		t.Skip("APDESK_UI_PAGE names no file")
	}
	var b strings.Builder
	if err := uiPage().Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	css, _ := static.File("css/app.css")
	records, _ := static.File("css/records.css")
	settings, _ := static.File("css/settings.css")
	lists, _ := static.File("css/lists.css")
	js, _ := static.File("js/app.js")
	html := strings.NewReplacer(
		`<link rel="stylesheet" href="`+static.URL("css/app.css")+`">`, "<style>"+string(css.Body)+"</style>",
		`<link rel="stylesheet" href="`+static.URL("css/records.css")+`">`, "<style>"+string(records.Body)+"</style>",
		`<link rel="stylesheet" href="`+static.URL("css/lists.css")+`">`, "<style>"+string(lists.Body)+"</style>",
		`<link rel="stylesheet" href="`+static.URL("css/settings.css")+`">`, "<style>"+string(settings.Body)+"</style>",
		`<link rel="icon" type="image/svg+xml" href="`+static.URL("favicon.svg")+`">`, "",
		`<script src="`+static.URL("js/app.js")+`" defer></script>`, `<script type="module">`+string(js.Body)+"</script>",
	).Replace(b.String())
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(html), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("wrote %s", file)
}
