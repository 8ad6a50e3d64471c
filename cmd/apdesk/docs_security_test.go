package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// testsOfTheTree are the names of all tests and fuzz targets.
func testsOfTheTree(t *testing.T) map[string]bool {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	names := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && d.Name() != "..") {
			if err == nil && d.Name() != "../.." {
				return filepath.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

func TestEveryThreatNamesTestsThatExist(t *testing.T) {
	t.Parallel()
	there := testsOfTheTree(t)
	text, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`((?:Test|Fuzz)\\w+)`")
	rows, targets := 0, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "| ") || strings.Contains(line, "| shown by |") {
			continue
		}
		rows++
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		shown := named.FindAllStringSubmatch(cells[len(cells)-1], -1)
		if len(shown) == 0 {
			t.Errorf("nothing shows %s", cells[0])
		}
		for _, m := range shown {
			targets[m[1]] = true
			if !there[m[1]] {
				t.Errorf("%s is shown by %s, which does not exist", cells[0], m[1])
			}
		}
	}
	if rows < 40 {
		t.Errorf("only %d threats are named", rows)
	}
	for _, threat := range []string{"fixation", "CSRF", "XSS", "IDOR", "mass assignment", "open redirect", "Files that are something else", "CSV", "timing", "replaying", "Guessing passwords", "Lines in the log",
		"Injecting headers through a proxy", "Clickjacking", "Caches", "SSRF", "Decompression", "Secrets in addresses", "cost more than their size"} {
		if !strings.Contains(string(text), threat) {
			t.Errorf("nothing is said of %s", threat)
		}
	}
	for name := range there {
		if strings.HasPrefix(name, "Fuzz") && !targets[name] {
			t.Errorf("docs/security.md does not say what %s reads", name)
		}
	}
}
