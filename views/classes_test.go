package views_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/static"
)

var (
	cssComment  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	cssBody     = regexp.MustCompile(`\{[^{}]*\}`)
	cssClass    = regexp.MustCompile(`\.([A-Za-z_][\w-]*)`)
	markupClass = regexp.MustCompile(`\sclass="([^"]*)"`)
	word        = regexp.MustCompile(`[A-Za-z_][\w-]*`)
)

// unstyled are the classes that have no rule on purpose.
var unstyled = classes(
	// The look of every button, badge, message and notice needs no rule of its own.
	"btn--plain badge--neutral flash--neutral flash--agent notice--agent notice--neutral",
	// Values of a row or an entry that look like all others: the rest of their kind has a rule.
	"timeline__kind--person timeline__kind--system timeline__kind--erp",
	"bell__link--unread field--check",
	// Parts that take their look from what they stand in, named so that template, tests and script speak of the same.
	"audit__what audit__when audit__who bell__name bulk comment duplicates eligible__sign",
	"evidence__title group handovers home import-list__one instruction__arrow list-page matrix__group",
	"notices__line page-head__text related related__state rules seen-error__message timeline__line timeline__what write write__amount",
)

func classes(lines ...string) map[string]bool {
	all := map[string]bool{}
	for _, name := range strings.Fields(strings.Join(lines, " ")) {
		all[name] = true
	}
	return all
}

// styled are the classes that the style sheet knows.
func styled(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../static/css/*.css")
	if err != nil || len(files) == 0 {
		t.Fatalf("no style sheet: %v", err)
	}
	known := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		selectors := cssBody.ReplaceAllString(cssComment.ReplaceAllString(string(source), ""), " ")
		for _, m := range cssClass.FindAllStringSubmatch(selectors, -1) {
			known[m[1]] = true
		}
	}
	return known
}

// rendered are the classes of every page of the gallery, each with one page it stands on.
func rendered(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, page := range gallery() {
		var b strings.Builder
		if err := page.Render(context.Background(), &b); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for _, m := range markupClass.FindAllStringSubmatch(b.String(), -1) {
			for _, class := range strings.Fields(m[1]) {
				found[class] = "page " + name
			}
		}
	}
	return found
}

// written are the words of all templates, their view models and the script. A class is written whole, but for the
// part after a "--", which may be a value.
func written(t *testing.T) map[string]bool {
	t.Helper()
	words := map[string]bool{}
	for _, pattern := range []string{"*.templ", "ui/*.templ", "*.go", "ui/*.go", "../static/js/*.js"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "_templ.go") {
				continue
			}
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, w := range word.FindAllString(string(source), -1) {
				words[w] = true
			}
		}
	}
	return words
}

func TestNoClassIsStyledInVain(t *testing.T) {
	words, pages := written(t), rendered(t)
	var vain []string
	for class := range styled(t) {
		base, _, modified := strings.Cut(class, "--")
		if words[class] || pages[class] != "" || modified && words[base+"--"] {
			continue
		}
		vain = append(vain, class)
	}
	slices.Sort(vain)
	for _, class := range vain {
		t.Errorf("the style sheet knows .%s, and no template uses it", class)
	}
}

func TestEveryClassIsStyled(t *testing.T) {
	known, used := styled(t), rendered(t)
	files, err := filepath.Glob("*.templ")
	if err != nil {
		t.Fatal(err)
	}
	parts, err := filepath.Glob("ui/*.templ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, parts...) {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range markupClass.FindAllStringSubmatch(string(source), -1) {
			for _, class := range strings.Fields(m[1]) {
				used[class] = file
			}
		}
	}
	for class, where := range used {
		if !known[class] && !unstyled[class] {
			t.Errorf("%s uses .%s, which the style sheet does not know", where, class)
		}
	}
	for class := range unstyled {
		switch {
		case known[class]:
			t.Errorf(".%s is said to have no rule, and has one", class)
		case used[class] == "":
			t.Errorf(".%s is said to have no rule, and nothing uses it", class)
		}
	}
}

// A page loads the style of its kind alone, so nothing on it may need that of another.
func TestNoPageNeedsStyleItDoesNotLoad(t *testing.T) {
	t.Parallel()
	whole := regexp.MustCompile(`\.[A-Za-z_][\w-]*`)
	selectors := map[string][]string{}
	for _, sheet := range []string{"lists", "records", "settings"} {
		source, err := os.ReadFile("../static/css/" + sheet + ".css")
		if err != nil {
			t.Fatal(err)
		}
		plain := cssBody.ReplaceAllString(cssComment.ReplaceAllString(string(source), ""), ";")
		selectors[sheet] = strings.FieldsFunc(plain, func(r rune) bool { return strings.ContainsRune(",;{}", r) })
	}
	checked := map[string]int{}
	for name, page := range gallery() {
		if name == "ui" {
			continue // parts, and no page
		}
		var b strings.Builder
		if err := page.Render(context.Background(), &b); err != nil {
			t.Fatal(err)
		}
		on := map[string]bool{}
		for _, m := range markupClass.FindAllStringSubmatch(b.String(), -1) {
			for _, class := range strings.Fields(m[1]) {
				on["."+class] = true
			}
		}
		for sheet, all := range selectors {
			if strings.Contains(b.String(), static.URL("css/"+sheet+".css")) {
				continue
			}
			checked[sheet]++
			for _, selector := range all {
				needed := whole.FindAllString(selector, -1)
				if len(needed) > 0 && !slices.ContainsFunc(needed, func(class string) bool { return !on[class] }) {
					t.Errorf("page %s has all of %q, whose style (%s) it does not load", name, strings.TrimSpace(selector), sheet)
				}
			}
		}
	}
	for sheet := range selectors {
		if checked[sheet] < 5 {
			t.Errorf("only %d pages do without the style of %s", checked[sheet], sheet)
		}
	}
}
