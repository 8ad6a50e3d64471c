package static

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"
)

func TestAnAddressChangesWithItsContentAndLeadsToIt(t *testing.T) {
	t.Parallel()
	for name := range bundles {
		url := URL(name)
		if !regexp.MustCompile(`^/static/(css/|js/)?[a-z]+\.[0-9a-f]{16}\.(css|js|svg)$`).MatchString(url) {
			t.Errorf("%s has the address %q without a content hash", name, url)
		}
		a, ok := File(strings.TrimPrefix(url, Prefix))
		if !ok || len(a.Body) == 0 || a.Type == "" || !a.Immutable {
			t.Errorf("%s: the hashed path gives %d bytes, type %q, immutable %v", name, len(a.Body), a.Type, a.Immutable)
		}
		if plain, ok := File(name); !ok || plain.Immutable {
			t.Errorf("%s: the plain path must be served and must not be kept for ever", name)
		}
	}
}

func TestAnOlderHashGivesTheCurrentContentForNow(t *testing.T) {
	t.Parallel()
	a, ok := File("css/app.0123456789abcdef.css")
	if !ok || a.Immutable {
		t.Errorf("a page of another release asked for its style sheet: found %v, immutable %v", ok, a.Immutable)
	}
}

func TestOtherPathsGiveNothing(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "css", "css/tokens.css", "../static.go", "static.go", "css/app.css/", "js/app.0123456789abcdef.css"} {
		if _, ok := File(name); ok {
			t.Errorf("%q was served", name)
		}
	}
}

func TestStyleAndScriptStaySmall(t *testing.T) {
	t.Parallel()
	css, _ := File("css/app.css")
	js, _ := File("js/app.js")
	if sum := len(css.Body) + len(js.Body); sum >= 62_000 {
		t.Errorf("style and script are %d bytes, want less than 62,000", sum)
	}
}

func TestNothingIsFetchedFromElsewhere(t *testing.T) {
	t.Parallel()
	outside := regexp.MustCompile(`(?i)url\(|@import|https?://`)
	err := fs.WalkDir(sources, ".", func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasSuffix(p, ".svg") {
			return err
		}
		b, err := fs.ReadFile(sources, p)
		if m := outside.FindString(string(b)); m != "" {
			t.Errorf("%s contains %q", p, m)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheStyleSheetKeepsEveryClass(t *testing.T) {
	t.Parallel()
	class := regexp.MustCompile(`\.[A-Za-z_][\w-]*`)
	comment := regexp.MustCompile(`(?s)/\*.*?\*/`)
	served, _ := File("css/app.css")
	there := map[string]int{}
	for _, c := range class.FindAllString(string(served.Body), -1) {
		there[c]++
	}
	for _, part := range bundles["css/app.css"] {
		source, err := fs.ReadFile(sources, part)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range class.FindAllString(comment.ReplaceAllString(string(source), ""), -1) {
			there[c]--
		}
	}
	for c, n := range there {
		if n != 0 {
			t.Errorf("%s stands %+d times as often as in the sources", c, n)
		}
	}
	if strings.Contains(string(served.Body), "--color-") {
		t.Error("tokens keep their long names")
	}
}
