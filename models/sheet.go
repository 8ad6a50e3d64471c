package models

import (
	"encoding/csv"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// byteOrderMark begins a file that spreadsheets are to read as UTF-8.
const byteOrderMark = "\ufeff"

// Sheet writes comma-separated values for spreadsheets: UTF-8 with its mark at the beginning, every cell
// a PlainCell.
type Sheet struct{ rows *csv.Writer }

// NewSheet begins a file.
func NewSheet(to io.Writer) (*Sheet, error) {
	if _, err := io.WriteString(to, byteOrderMark); err != nil {
		return nil, fmt.Errorf("models: begin a sheet: %w", err)
	}
	w := csv.NewWriter(to)
	w.UseCRLF = true
	return &Sheet{w}, nil
}

// Write adds a row.
func (s *Sheet) Write(row []string) error {
	plain := make([]string, len(row))
	for i, cell := range row {
		plain[i] = PlainCell(cell)
	}
	return s.rows.Write(plain)
}

// Flush sends what was written so far.
func (s *Sheet) Flush() error {
	s.rows.Flush()
	return s.rows.Error()
}

var plainNumber = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?$`)

// PlainCell is text for a cell of a CSV file that no spreadsheet takes for a formula, whatever it takes
// for a separator: a German one splits a line at ";" and knows nothing of the quotes around the cell. Where
// a cell could begin with what looks like a formula, an apostrophe goes before it. Numbers stay numbers.
// Characters that cannot be seen, or turn the direction of others, are written as pages show them:
// "[U+202E]". ReadCell undoes all of it for text that is UTF-8.
func PlainCell(s string) string {
	s = withMarks(s)
	var b strings.Builder
	for start := 0; start < len(s); {
		rest := s[start:]
		// The whole cell may be a number; a piece of one is text.
		if LikeFormula(rest) && (start > 0 || !plainNumber.MatchString(s)) {
			b.WriteByte('\'')
		}
		end := strings.IndexAny(rest, cellSeparators) + 1
		if end == 0 {
			end = len(rest)
		}
		b.WriteString(rest[:end])
		start += end
	}
	return b.String()
}

// ReadCell is the text that PlainCell wrote.
func ReadCell(s string) string {
	var b strings.Builder
	for s != "" {
		if rest, guarded := strings.CutPrefix(s, "'"); guarded && LikeFormula(rest) {
			s = rest
		}
		end := strings.IndexAny(s, cellSeparators) + 1
		if end == 0 {
			end = len(s)
		}
		b.WriteString(s[:end])
		s = s[end:]
	}
	return cellMark.ReplaceAllStringFunc(b.String(), func(mark string) string {
		n, err := strconv.ParseInt(mark[len("[U+"):len(mark)-1], 16, 32)
		if r := rune(n); err == nil && (r == '[' || unseen(r)) {
			return string(r)
		}
		return mark
	})
}

// cellSeparators are what some spreadsheet begins a new cell at.
const cellSeparators = ",;\t\r\n"

// formulaStarts begin what a spreadsheet runs, in the widths in which spreadsheets know them.
const formulaStarts = "=+-@\t\r\n|%\uff1d\uff0b\uff0d\uff20\ufe66\ufe62\ufe63\ufe6b"

// LikeFormula says whether a text begins as a formula does, blanks, quotes and apostrophes before it left
// aside: a quote may be taken for the beginning of a quoted cell.
func LikeFormula(s string) bool {
	start := strings.TrimLeft(s, " \u00a0\ufeff\"'")
	return start != "" && strings.ContainsRune(formulaStarts, []rune(start)[0])
}

// cellMark is a mark, also one that stood in the text as it came: its bracket is written as a mark then.
var cellMark = regexp.MustCompile(`\[U\+[0-9A-F]{4,6}\]`)

func withMarks(s string) string {
	s = cellMark.ReplaceAllStringFunc(s, func(mark string) string { return "[U+005B]" + mark[1:] })
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(s[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, "[0x%02X]", s[i])
		case unseen(r):
			fmt.Fprintf(&b, "[U+%04X]", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
