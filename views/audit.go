package views

import (
	"context"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// AuditPage is the trail of a workspace, an event a line.
type AuditPage struct {
	Page        Page
	Lead        string
	Filter      FilterForm
	Errors      []ui.FieldError // of the filter
	Rows        []AuditRow
	Empty       ui.Empty
	Cut         string // why the page is short: "2,000 events were looked at, back to …"
	Pager       ui.Pager
	JSONL, CSV  templ.SafeURL // the same filter as a file; "" when it is refused
	Checkpoints []Checkpoint
	NoneSigned  string // instead of checkpoints
}

// AuditRow is one event.
type AuditRow struct {
	ID        string
	At        ui.Moment
	Number    string // in the chain; "" until it is sealed
	Kind      string // "person", "agent"
	Who       ui.Foreign
	Roles     string
	Channel   string
	What      string
	Action    string
	Words     ui.Foreign
	Details   []ui.Entry
	Changes   []ui.CompareRow // before and after
	Refused   bool
	Links     []RelatedLink
	Data      ui.Value // as recorded
	Empty     bool     // nothing more was recorded
	RequestID ui.Foreign
}

// Checkpoint is a signed note of how far the trail had come.
type Checkpoint struct {
	Number string
	Signed ui.Moment
	Note   ui.Foreign
}

// verifyCommand is typed as it stands in every language.
const verifyCommand = "apdesk audit verify --checkpoint"

// place is where the event stands in the chain.
func (r AuditRow) place(ctx context.Context) string {
	if r.Number == "" {
		return tr(ctx, "not in the chain yet")
	}
	return tr(ctx, "number %s", r.Number)
}

// about says what the actor is and which way they came.
func (r AuditRow) about() string {
	var parts []string
	for _, p := range []string{r.Kind, r.Roles, r.Channel} {
		if p != "" && !slices.ContainsFunc(parts, func(said string) bool { return strings.EqualFold(said, p) }) {
			parts = append(parts, p)
		}
	}
	return strings.Join(parts, ", ")
}
