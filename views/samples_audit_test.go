package views_test

import (
	"time"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

func sampleAudit() views.AuditPage {
	exact := func(d time.Duration) ui.Moment { return ui.Exactly(lang.English(), now.Add(-d), berlin) }
	link := []views.RelatedLink{{Text: "Case", URL: "/cases/case_01k6va1"}, {Text: "Invoice 5105600123", URL: "/invoices/5105600123"}}
	before := ui.FieldsValue(ui.Pair("To amount", "10000.00"), ui.Pair("Role", "finance_lead"))
	after := ui.FieldsValue(ui.Pair("To amount", "25000.00"), ui.Pair("Role", "finance_lead"))
	data := ui.FieldsValue(ui.Pair("reason", "Credit note instead."), ui.Pair("version", "4"))
	return views.AuditPage{Page: samplePage("Audit trail", "/audit"), Lead: "Everything that people, agents and the desk did in Nordlicht Handels GmbH, and what was refused.",
		Filter: views.FilterForm{URL: "/audit", ClearURL: "/audit", Active: "Petra Vogel and from day 1 Oct 2026", Fields: []ui.Field{
			{Name: "actor", Label: "Who", Kind: ui.FieldSelect, Options: []ui.Option{{Value: "", Label: "Anybody"}, {Value: "usr_1", Label: "Petra Vogel", Selected: true}}},
			{Name: "from", Label: "From day", Kind: ui.FieldDate, Value: "2026-10-01"}, {Name: "to", Label: "Through day", Kind: ui.FieldDate},
			{Name: "invoice", Label: "Invoice id", Kind: ui.FieldText}, {Name: "refused", Label: "Only what was refused", Kind: ui.FieldCheckbox, Value: "1"}}},
		JSONL: "/audit.jsonl", CSV: "/audit.csv", Cut: "The last 2000 events looked at go back to 1 Oct 2026, 09:00; older ones may match too. Go on with Next, or choose days.",
		Rows: []views.AuditRow{
			{ID: "evt_4", At: exact(time.Minute), Kind: "person", Who: "Petra Vogel", Roles: "Procurement", Channel: "in the browser", What: "tried to claim and was refused", Action: "case.claim_refused",
				Details: []ui.Entry{ui.Pair("Why", "Paul Albers holds it until 10:05.")}, Refused: true, Links: link, Data: data, RequestID: "req-77"},
			{ID: "evt_3", At: exact(2 * time.Hour), Number: "412", Kind: "person", Who: "Lars Lindner", Roles: "AP lead", Channel: "in the browser", What: "rule replaced", Action: "rule.replaced",
				Changes: ui.Compare(before, after)[:1], Data: data},
			{ID: "evt_2", At: exact(26 * time.Hour), Number: "411", Kind: "agent", Who: hostileScript, Roles: "Agent", Channel: "over MCP", What: "withdrew the case: nobody has to decide it any more", Action: "case.withdrawn",
				Words: hostilePrompt, Links: link, Data: data},
			{ID: "evt_1", At: exact(50 * time.Hour), Number: "410", Kind: "desk", Who: "apdesk", What: "let the request expire: nobody decided in time", Action: "request.expired", Empty: true},
		},
		Pager: ui.Pager{Next: templ.SafeURL("/audit?cursor=x"), Text: "4 shown"},
		Checkpoints: []views.Checkpoint{{Number: "410", Signed: exact(10 * time.Hour),
			Note: "apdesk/1000\n410\nagZ+poyA2cstsg+Ih0kQr+P/y9ujr6gAq65RS6BXUD8=\ntime 2026-10-04T22:00:00Z\n\n— apdesk 5cq1k3Hn0B6m8u1dGqvT2V0nq0gW6N1m5vOq7wPzWb3nX6f2w4o1p8C9d0E1f2G3h4I5j6K7l8M9n0O1p2Q3r4==\n"}},
	}
}

func sampleReports() views.ReportsPage {
	numbers := func(names ...string) (columns []views.FigureColumn) {
		for _, n := range names {
			columns = append(columns, views.FigureColumn{Name: n})
		}
		return columns
	}
	return views.ReportsPage{Page: samplePage("Reports", "/reports"), Lead: "What came, what was decided and how fast, in days of Europe/Berlin.", CSV: "/reports.csv",
		Tabs: []ui.Tab{{Label: "Last 7 days", URL: "/reports", Current: true}, {Label: "This month", URL: "/reports?from=2026-10-01"}},
		Form: views.FilterForm{URL: "/reports", Fields: []ui.Field{{Name: "from", Label: "First day", Kind: ui.FieldDate, Value: "2026-09-29"}, {Name: "to", Label: "Last day", Kind: ui.FieldDate, Value: "2026-10-05"}}},
		Cut:  "More happened in this period than is counted at once: the last 100,000 of each kind are. Choose fewer days.",
		Tables: []views.FigureTable{
			{ID: "queues", Heading: "Queues", Note: "A case that was moved counts where it is now. In time is what people resolved before it was overdue.",
				Columns: numbers("Queue", "Came", "Resolved", "In time", "Half of them within", "Open now", "Overdue now"),
				Rows: []views.FigureRow{{Name: "Accounts payable", URL: "/queues/ap", Cells: []string{"1,204", "1,198", "1,150 of 1,198", "3 business hours", "37", "2"}},
					{Name: "Procurement", URL: "/queues/procurement", Cells: []string{"0", "0", "", "", "0", "0"}}}},
			{ID: "codes", Heading: "What agents stopped at, and how it ended", Columns: []views.FigureColumn{{Name: "Outcome"}, {Name: "Came"}, {Name: "Decisions", Text: true}},
				Rows: []views.FigureRow{{Name: "Purchase order closed", Code: "PO_CLOSED", Cells: []string{"12", "Reopen the purchase order 7 · Use another purchase order 4 · Reject the invoice 1"}}}},
			{ID: "people", Heading: "Work by person", Empty: "Nobody decided anything.", Columns: numbers("Person", "Cases decided"),
				Rows: []views.FigureRow{{Name: hostileScript, URL: "/settings/people/usr_1", Cells: []string{"3"}}}},
			{ID: "prompts", Heading: "Invoices people were asked about most", Empty: "None."},
		}}
}
