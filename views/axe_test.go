package views_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/go-rod/rod"

	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
)

const (
	wide      = 1280
	narrow    = 380
	narrowest = 320
)

// axeCore is what npm ci leaves in cmd/apdesk/testdata/node.
var axeCore = filepath.Join("..", "cmd", "apdesk", "testdata", "node", "node_modules", "axe-core", "axe.min.js")

// readAxe reads the accessibility checker; without it the test is skipped.
func readAxe(t *testing.T) string {
	t.Helper()
	source, err := os.ReadFile(axeCore)
	if err != nil {
		needs(t, requireNode, "axe-core is not installed: run npm ci in cmd/apdesk/testdata/node")
	}
	return string(source)
}

// violations lists what axe finds on the page as it is, or, by names, what the rules named find.
const violations = `async (names) => {
	const only = names.length ? {runOnly: {type: "rule", values: names}} : {};
	const found = await axe.run(document, {...only, resultTypes: ["violations"], elementRef: false});
	return found.violations.flatMap((v) => v.nodes.map((n) =>
		v.id + ": " + n.target.join(" ") + "\n" + n.html.slice(0, 300) + "\n" + (n.failureSummary || "")));
}`

// outOfOrder lists the tab stops that do not follow the reading order: those with an order of their own, those
// that have no place on the page, and those that stand above what came before them in the same column.
const outOfOrder = `() => {
	const stops = [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex]")].filter((e) =>
		e.tabIndex >= 0 && !e.disabled && e.type !== "hidden" && e.checkVisibility({visibilityProperty: true}));
	const call = (e) => e.outerHTML.slice(0, 120);
	const floats = (e) => e && (["fixed", "sticky"].includes(getComputedStyle(e).position) || floats(e.parentElement));
	const found = [];
	let before = null;
	let radios = "";
	for (const e of stops) {
		if (e.tabIndex > 0) found.push("has an order of its own: " + call(e));
		if (e.closest(".skip, dialog:not([open])") || floats(e)) continue;
		if (e.type === "radio") {
			if (radios === e.name) continue;
			radios = e.name;
		}
		let r = e.getBoundingClientRect();
		if ((r.width < 2 || r.height < 2) && e.labels && e.labels.length) r = e.labels[0].getBoundingClientRect();
		if (r.width < 1 || r.height < 1) found.push("cannot be seen: " + call(e));
		if (before && r.bottom <= before.r.top && r.left < before.r.right && before.r.left < r.right) {
			found.push("stands above what came before: " + call(e) + " after " + call(before.e));
		}
		before = {e, r};
	}
	return found;
}`

// eachPage opens every page of the gallery once, a few at the same time in tabs of one browser.
func eachPage(t *testing.T, visit func(t *testing.T, name string, p *rod.Page)) {
	t.Helper()
	b := browse(t)
	d := openDesk(t, views.Login(sampleLogin()))
	names := make(chan string)
	var tabs sync.WaitGroup
	for range 3 {
		tabs.Go(func() {
			p := b.MustPage("")
			defer func() { _ = p.Close() }()
			for name := range names {
				p.MustSetViewport(wide, 900, 1, false)
				p.MustNavigate(d.URL + "/gallery/" + name).MustWaitLoad()
				visit(t, name, p)
			}
		})
	}
	for _, name := range galleryNames() {
		names <- name
	}
	close(names)
	tabs.Wait()
}

// theme shows the open page in a theme.
func theme(p *rod.Page, name string) {
	p.MustEval(`(name) => { document.documentElement.dataset.theme = name; }`, name)
}

func TestAxeFindsNothingAndTheKeyboardFollowsTheReadingOrder(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	axe := readAxe(t)
	var proved sync.Once
	everything, colours := []string{}, []string{"color-contrast", "link-in-text-block"}
	eachPage(t, func(t *testing.T, name string, p *rod.Page) {
		if _, err := p.Evaluate(&rod.EvalOptions{JS: "() => {" + axe + "}"}); err != nil {
			t.Errorf("%s: %v", name, err)
			return
		}
		proved.Do(func() {
			p.MustEval(`() => document.querySelector("main").insertAdjacentHTML("beforeend", "<input id=nameless>")`)
			if len(p.MustEval(violations, everything).Arr()) == 0 {
				t.Error("a field without a name passes, so that the check shows nothing")
			}
			p.MustEval(`() => document.getElementById("nameless").remove()`)
		})
		for _, look := range []struct {
			theme string
			width int
			rules []string
		}{
			// A theme changes nothing but colours.
			{"light", wide, everything}, {"dark", wide, colours}, {"dark", narrow, colours}, {"light", narrow, everything},
		} {
			p.MustSetViewport(look.width, 900, 1, false)
			theme(p, look.theme)
			for _, v := range p.MustEval(violations, look.rules).Arr() {
				t.Errorf("%s, %s, %d px: %s", name, look.theme, look.width, v.Str())
			}
			if len(look.rules) > 0 {
				continue
			}
			for _, stop := range p.MustEval(outOfOrder).Arr() {
				t.Errorf("%s, %d px: %s", name, look.width, stop.Str())
			}
		}
	})
}

// TestEveryPageIsPicturedForLookingAt takes a picture of every page, wide, narrow and as narrow as it gets, light and
// dark, in every language, and of those that are filed as they are printed, in the directory named by APDESK_PICTURES.
// What the samples say stays English: the other language is that of the pages' own words.
func TestEveryPageIsPicturedForLookingAt(t *testing.T) {
	dir := os.Getenv("APDESK_PICTURES")
	if dir == "" {
		t.Skip("APDESK_PICTURES names no directory")
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	printed := map[string]bool{"case": true, "case-late": true, "approval": true, "approval-spent": true, "invoice": true, "proof": true}
	eachPage(t, func(t *testing.T, name string, p *rod.Page) {
		address := p.MustInfo().URL
		for _, l := range lang.All() {
			p.MustNavigate(address + "?lang=" + l.Tag()).MustWaitLoad()
			named := filepath.Join(dir, name+"-"+l.Tag())
			for label, width := range map[string]int{"wide": wide, "narrow": narrow, "narrowest": narrowest} {
				p.MustSetViewport(width, 900, 1, false)
				for _, look := range []string{"light", "dark"} {
					theme(p, look)
					p.MustScreenshotFullPage(named + "-" + label + "-" + look + ".png")
				}
			}
			if printed[name] {
				asPrinted(t, p, named+"-print.png")
			}
		}
	})
}
