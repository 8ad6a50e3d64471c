package views_test

import (
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func sampleSheet() views.KeySheet {
	return views.KeySheet{Groups: []views.KeyGroup{
		{Heading: "In a list", Keys: []views.Shortcut{
			{Show: [][]string{{"j"}, {"↓"}}, Words: "Next row", Keys: "j ArrowDown", Act: "row", To: "1"},
			{Show: [][]string{{"k"}, {"↑"}}, Words: "Row before", Keys: "k ArrowUp", Act: "row", To: "-1"}}},
		{Heading: "Go to", Keys: []views.Shortcut{{Show: [][]string{{"g", "h"}}, Words: "Your desk", Keys: "g,h", Act: "go", To: "/"}}},
	}}
}

func sampleChips() []views.Chip {
	return []views.Chip{{Name: "supplier", Value: longSupplier, URL: "/queues/procurement?a=1"}, {Name: "overdue", URL: "/queues/procurement?b=1"}, {Name: "number", Value: hostileRTL, URL: "/queues/procurement?c=1"}}
}

func sampleSavedViews() views.ViewsPage {
	view := func(id, name string) views.SavedView {
		return views.SavedView{ID: id, Name: ui.Foreign(name), URL: "/queues/procurement?due=overdue", Where: "Procurement", Chips: sampleChips()[1:], Count: "4", Rename: views.Form{URL: "/views", CSRF: "csrf-sample"},
			Field:  ui.Field{ID: "name-" + id, Name: "name", Label: "Name", Required: true, Value: name},
			Delete: ui.PostForm{URL: "/views", CSRF: "csrf-sample", Button: ui.Button{Label: "Delete", About: name, Variant: ui.ButtonQuiet}}}
	}
	return views.ViewsPage{Page: samplePage("Your views", "/views"), Lead: "Lists you keep under names of your own.", Views: []views.SavedView{view("1", "Overdue, large"), view("2", hostileScript)}}
}

func noSavedViews() views.ViewsPage {
	return views.ViewsPage{Page: samplePage("Your views", "/views"), Lead: "Lists you keep under names of your own.", Empty: ui.Empty{Heading: "You keep no lists yet", Text: "Narrow a queue and keep it as a view."}}
}

func sampleBulkItems() []views.BulkCase {
	rows := sampleCases()
	return []views.BulkCase{{ID: rows[0].ID, Key: rows[0].ID + ":3", Row: rows[0], Found: true, What: "becomes yours for 30 minutes"},
		{ID: rows[1].ID, Row: rows[1], Found: true, Why: "Jonas Weber holds it until 12:00."}}
}

func sampleBulkCases() views.BulkCasesPage {
	return views.BulkCasesPage{Page: samplePage("Claim several", "/cases/bulk"), Heading: "Claim several", Lead: "Nothing is done yet. 1 of 2 cases can be claimed.", BackURL: "/queues/procurement", Items: sampleBulkItems(),
		Form: &views.BulkCasesForm{Form: views.Form{URL: "/cases/bulk", CSRF: "csrf-sample"}, Fields: []ui.Field{{Name: "reason", Label: "Reason", Kind: ui.FieldArea}}, Do: "Claim 1 case", Hint: "Each is done by itself."}}
}

func doneBulkCases() views.BulkCasesResultPage {
	items := sampleBulkItems()
	items[0].Result = ui.Badge{Text: "claimed", Tone: ui.ToneGood, Sign: ui.SignYes}
	items[1].Result = ui.Badge{Text: "not claimed", Tone: ui.ToneBad, Sign: ui.SignNo}
	return views.BulkCasesResultPage{Page: samplePage("Claimed 1 of 2", "/cases/bulk"), Heading: "Claimed 1 of 2", Lead: "What came of each.", BackURL: "/queues/procurement", Items: items}
}

// narrowedQueue is a list that is narrowed and sorted, with rows to tick.
func narrowedQueue() views.QueuePage {
	p := sampleQueue()
	sheet := sampleSheet()
	p.Page.Keys = &sheet
	p.Filter = views.ListFilter{Open: true, URL: "/queues/procurement", ClearURL: "/queues/procurement", Chips: sampleChips(),
		Fields: []ui.Field{{Name: "supplier", Label: "Supplier", Value: longSupplier}, {Name: "amount_from", Label: "Amount from", Kind: ui.FieldAmount}, {Name: "due", Label: "Due", Kind: ui.FieldSelect, Options: []ui.Option{{Label: "any"}, {Value: "overdue", Label: "overdue"}}}}}
	p.Pick = &views.PickCases{URL: "/cases/bulk", CSRF: "csrf-sample", Back: "/queues/procurement", AllURL: "/queues/procurement?all=1", NoneURL: "/queues/procurement",
		Acts: []ui.Button{{Label: "Claim…", Variant: ui.ButtonPlain, Name: "act", Value: "claim"}, {Label: "Snooze…", Variant: ui.ButtonPlain, Name: "act", Value: "snooze"}}}
	p.Heads = []views.SortHead{{Column: "Due", URL: "/queues/procurement?sort=-due_at", Sorted: "ascending", Words: "sorted: the first due first; turn round"},
		{Column: "Amount", URL: "/queues/procurement?sort=-amount", Words: "sort: the largest amount first"}, {Column: "Age", URL: "/queues/procurement?sort=created_at", Words: "sort: the oldest first"}}
	for i := range p.Rows {
		p.Rows[i].Pick = true
	}
	p.Rows[0].Present = []views.Presence{{Name: "Jonas Weber", Words: "is looking at this"}, {Name: "Ines Hoffmann", Words: "is writing", Editing: true}}
	p.Save = &views.SaveViewForm{Form: views.Form{URL: "/views", CSRF: "csrf-sample"}, Name: ui.Field{Name: "name", Label: "Name", Required: true}, List: "/queues/procurement"}
	p.Total = "500 cases or more"
	p.Sheet, p.Rest = "/queues/procurement.csv", "all 214, not only those shown"
	return p
}
