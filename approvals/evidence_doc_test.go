package approvals

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// docs/evidence.md tells what makes order, receipt and invoice stand beside each other; its lists of names
// are held against those that are read. Its example is fed to the desk in web/pages.
func TestTheDocumentedNamesAreTheOnesThatAreRead(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/evidence.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string][][]string{} // of each table, by its heading's first cell
	heading := ""
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "|") {
			heading = ""
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if heading == "" {
			heading = cells[0]
		} else if !strings.HasPrefix(cells[0], "---") {
			rows[heading] = append(rows[heading], cells)
		}
	}
	inCode := regexp.MustCompile("`([^`]+)`")
	names := func(cell string) []string {
		var out []string
		for _, m := range inCode.FindAllStringSubmatch(cell, -1) {
			out = append(out, m[1])
		}
		slices.Sort(out)
		return out
	}
	sorted := func(names []string) []string { return slices.Sorted(slices.Values(names)) }
	same := func(what string, got, want []string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("%s: the page names %q, read are %q", what, got, want)
		}
	}

	byField := map[string][]string{}
	for name, field := range fieldNames {
		byField[field] = append(byField[field], name)
	}
	told := map[string][]string{}
	for _, row := range rows["value of a row"] {
		told[row[0]] = names(row[1])
	}
	for _, field := range slices.Sorted(maps.Keys(byField)) {
		same(field, told[field], sorted(byField[field]))
		delete(told, field)
	}
	if len(told) > 0 {
		t.Errorf("the page tells of %v, which nothing reads", slices.Collect(maps.Keys(told)))
	}

	plain := map[string]bool{}
	for _, row := range rows["plain name"] {
		for _, name := range names(row[0]) {
			plain[name] = true
			for i, s := range []side{sideMatch, sideOrder, sideReceipt, sideInvoice} {
				if field := fieldOf(s, name); field != strings.Replace(row[i+1], "not read", "", 1) {
					t.Errorf("%s of side %d is read as %q, and the page says %q", name, s, field, row[i+1])
				}
			}
		}
	}
	for _, of := range plainNames {
		for name := range of {
			if !plain[name] {
				t.Errorf("the page does not say that %s hangs on whose row it is", name)
			}
		}
	}

	ofRecord := map[string][]string{}
	for _, row := range rows["value of a record"] {
		ofRecord[row[0]] = names(row[1])
	}
	same("currency", ofRecord["currency"], sorted(currencyNames))
	same("number of an order", ofRecord["number of the order"], sorted(documentNames[sideOrder]))
	same("order of a receipt or match", ofRecord["order of a receipt or a match"], sorted(orderNames))
	same("number of a receipt", ofRecord["number of the receipt"], sorted(documentNames[sideReceipt]))
	for total, read := range totalNames {
		same(total, ofRecord[total+" of a match"], sorted(read))
	}
	if len(ofRecord) != 4+len(totalNames) {
		t.Errorf("the page tells of %v of a record", slices.Collect(maps.Keys(ofRecord)))
	}
}
