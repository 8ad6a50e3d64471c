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
	size := func(names ...string) (sum int) {
		for _, name := range names {
			a, _ := File(name)
			sum += len(a.Body)
		}
		return sum
	}
	for kind, c := range map[string]struct {
		sheets []string
		most   int
	}{
		"lists":   {[]string{"css/lists.css"}, 44_000},
		"records": {[]string{"css/records.css"}, 54_000},
		"others":  {[]string{"css/lists.css", "css/records.css", "css/settings.css"}, 71_000},
	} {
		if sum := size("css/app.css", "js/app.js") + size(c.sheets...); sum >= c.most {
			t.Errorf("style and script of %s are %d bytes, want less than %d", kind, sum, c.most)
		} else {
			t.Logf("style and script of %s are %d bytes", kind, sum)
		}
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
	for _, sheet := range []string{"css/app.css", "css/lists.css", "css/records.css", "css/settings.css"} {
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
