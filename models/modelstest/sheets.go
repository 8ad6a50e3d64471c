package modelstest

import (
	"encoding/csv"
	"regexp"
	"strings"
	"testing"
)

// Rows reads an exported sheet as spreadsheets do: it must begin with the mark of UTF-8, and no cell may
// run, wherever a spreadsheet of any country begins one.
func Rows(t testing.TB, sheet string) [][]string {
	t.Helper()
	text, marked := strings.CutPrefix(sheet, "\ufeff")
	if !marked {
		t.Error("the sheet does not begin with the mark of UTF-8")
	}
	for _, cell := range Formulas(text) {
		t.Errorf("a spreadsheet runs %q", cell)
	}
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

var number = regexp.MustCompile(`^-[0-9]+(\.[0-9]+)?$`)

// Formulas are the cells of a sheet that some spreadsheet would run: it may separate at any mark, and
// take any quote for the beginning of a cell.
func Formulas(sheet string) []string {
	var out []string
	for _, cell := range strings.FieldsFunc(sheet, func(r rune) bool { return strings.ContainsRune(",;\t\r\n", r) }) {
		cell = strings.Trim(cell, "\" \u00a0")
		if strings.HasPrefix(cell, "=") || strings.HasPrefix(cell, "+") || strings.HasPrefix(cell, "-") || strings.HasPrefix(cell, "@") ||
			strings.HasPrefix(cell, "＝") || strings.HasPrefix(cell, "＋") || strings.HasPrefix(cell, "－") || strings.HasPrefix(cell, "＠") {
			if !number.MatchString(cell) {
				out = append(out, cell)
			}
		}
	}
	return out
}
