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
	records, _ := File("css/records.css")
	js, _ := File("js/app.js")
	if sum := len(css.Body) + len(js.Body); sum >= 48_000 {
		t.Errorf("style and script of a list are %d bytes, want less than 48,000", sum)
	}
	if len(records.Body) >= 34_000 {
		t.Errorf("the style of records is %d bytes, want less than 34,000", len(records.Body))
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
	there := map[string]int{}
	for _, sheet := range []string{"css/app.css", "css/records.css", "css/settings.css"} {
		served, _ := File(sheet)
		for _, c := range class.FindAllString(string(served.Body), -1) {
			there[c]++
		}
		for _, part := range bundles[sheet] {
			for _, c := range class.FindAllString(comment.ReplaceAllString(string(read(part)), ""), -1) {
				there[c]--
			}
		}
		if strings.Contains(string(served.Body), "--color-") {
			t.Errorf("%s: tokens keep their long names", sheet)
		}
	}
	for c, n := range there {
		if n != 0 {
			t.Errorf("%s stands %+d times as often as in the sources", c, n)
		}
	}
}
