package wire

import (
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Evidence is one thing an agent brings along. What it may hold depends on its kind.
type Evidence jsontext.Value

type (
	recordEvidence struct {
		Kind   string `json:"kind" jsonschema:"always record"`
		Title  string `json:"title,omitempty" jsonschema:"what the record is, such as PO 4500018822"`
		Source string `json:"source,omitempty" jsonschema:"tool the record came from"`
		Data   Object `json:"data" jsonschema:"the record itself, as the tool answered it"`
	}
	comparisonEvidence struct {
		Kind  string `json:"kind" jsonschema:"always comparison"`
		Title string `json:"title,omitempty" jsonschema:"what is compared"`
		Left  Object `json:"left" jsonschema:"one record"`
		Right Object `json:"right" jsonschema:"the other record, with the same field names"`
	}
	tableEvidence struct {
		Kind    string   `json:"kind" jsonschema:"always table"`
		Title   string   `json:"title,omitempty" jsonschema:"what the table shows"`
		Columns []string `json:"columns" jsonschema:"column headings"`
		Rows    [][]Any  `json:"rows" jsonschema:"one list of cells per row, in the order of the columns"`
	}
	noteEvidence struct {
		Kind  string `json:"kind" jsonschema:"always note"`
		Title string `json:"title,omitempty" jsonschema:"heading of the note"`
		Text  string `json:"text" jsonschema:"plain text"`
	}
	linkEvidence struct {
		Kind  string `json:"kind" jsonschema:"always link"`
		Title string `json:"title,omitempty" jsonschema:"what the link leads to"`
		URL   HTTPS  `json:"url" jsonschema:"https address; people see its host, the desk never fetches it"`
	}
	fileEvidence struct {
		Kind  string `json:"kind" jsonschema:"always file"`
		Title string `json:"title,omitempty" jsonschema:"what the file is"`
		File  string `json:"file_id" wire:"max=255" jsonschema:"id of a file you uploaded before with POST /api/v1/files"`
	}
)

func (t *tableEvidence) check(r *reader, at string) {
	for i, row := range t.Rows {
		if len(row) > len(t.Columns) {
			r.fail(item(child(at, "rows"), i), "has %d cells for %d columns", len(row), len(t.Columns))
		}
	}
}

var evidenceKinds = []string{"record", "comparison", "table", "note", "link", "file"}

var evidenceTypes = map[string]reflect.Type{
	"record":     reflect.TypeFor[recordEvidence](),
	"comparison": reflect.TypeFor[comparisonEvidence](),
	"table":      reflect.TypeFor[tableEvidence](),
	"note":       reflect.TypeFor[noteEvidence](),
	"link":       reflect.TypeFor[linkEvidence](),
	"file":       reflect.TypeFor[fileEvidence](),
}

func (e *Evidence) read(r *reader, raw jsontext.Value, at string) {
	members, ok := membersOf(raw)
	if !ok {
		r.fail(at, "must be an object")
		return
	}
	i := slices.IndexFunc(members, func(m member) bool { return m.name == "kind" })
	if i < 0 {
		r.fail(child(at, "kind"), "is required")
		return
	}
	kind, _ := textOf(members[i].raw)
	t, known := evidenceTypes[kind]
	if !known {
		r.fail(child(at, "kind"), "must be one of %s", strings.Join(evidenceKinds, ", "))
		return
	}
	r.members(members, at, reflect.New(t).Elem())
	*e = Evidence(compact(raw))
}
