package views_test

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/static"
)

// heavy are the pages that may weigh more than others, each with its own bound and why.
var heavy = map[string]int{
	"ui": 120_000, // every part in every state, for looking at only
	// Every kind of evidence, look-alikes and a search for approvers on one page, and then a refused form with
	// writes asked for, the sheet of keys, or a case that moves.
	"case-refused": 106_000, "case-worked": 106_000, "case-moving": 106_000,
}

var linked = regexp.MustCompile(`<(?:link rel="stylesheet" href|script src)="` + static.Prefix + `([^"]+)"`)

// A page with its style and script stays under 100 kB as it goes over the wire uncompressed.
func TestEveryPageStaysLight(t *testing.T) {
	t.Parallel()
	var sums []string
	for name, page := range gallery() {
		var html bytes.Buffer
		if err := page.Render(context.Background(), &html); err != nil {
			t.Fatal(err)
		}
		sum, parts := html.Len(), 0
		for _, m := range linked.FindAllStringSubmatch(html.String(), -1) {
			asset, ok := static.File(m[1])
			if !ok {
				t.Errorf("page %s links %s, which is not there", name, m[1])
			}
			sum += len(asset.Body)
			parts++
		}
		if parts < 2 {
			t.Errorf("page %s links %d files", name, parts)
		}
		most := 100_000
		if bound, ok := heavy[name]; ok {
			most = bound
		}
		if sum >= most {
			t.Errorf("page %s weighs %d bytes with style and script, want less than %d", name, sum, most)
		}
		sums = append(sums, fmt.Sprintf("%6d %s", sum, name))
	}
	slices.Sort(sums)
	t.Log(strings.Join(sums[len(sums)-12:], "\n"))
}
