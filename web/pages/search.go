package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

const searchPath = "/search"

func mountSearch(get, _ route) { get(searchPath, (*visit).search) }

// searchBox is the box in the top bar, for people who may search.
func (v *visit) searchBox(text string) *views.SearchBox {
	if !v.by.MaySearch() {
		return nil
	}
	b := &views.SearchBox{URL: searchPath, Text: ui.Foreign(text)}
	if v.by.WorkspaceID != v.chosen {
		b.WorkspaceID = v.by.WorkspaceID
	}
	return b
}

// search is GET /search: what is typed in q, narrowed by the links' kind and state.
func (v *visit) search() error {
	if !v.by.MaySearch() {
		return models.E(models.InsufficientPermission, "Search is for people who read the records of this workspace.", map[string]any{"permission": string(models.RoleAPClerk)})
	}
	q := models.ReadSearch(strings.Clone(v.c.Query("q")))
	if q.RecordID != "" {
		return seeOther(v.c, string(foundURL(q.RecordID)))
	}
	if k := models.SearchKind(v.c.Query("kind")); k.Valid() {
		q.Kind = models.SearchKind(strings.Clone(string(k)))
	}
	if s := v.c.Query("state"); slices.Contains(models.SearchStatuses(q.Kind), s) {
		q.Status = strings.Clone(s)
	}
	cursor := v.c.Query("cursor")
	found, err := v.p.store.Search(v.ctx, v.by, q, models.SearchPage{Cursor: cursor})
	if err != nil {
		return err
	}
	narrow := func(more ...string) []string { return append([]string{"q", q.Text}, more...) }
	kept := narrow("kind", string(q.Kind), "state", q.Status)
	count := fmt.Sprint(found.Count)
	if found.More {
		count = fmt.Sprintf("%d+", found.Count)
	}
	out := views.SearchPage{Heading: v.tr("Search"), Box: *v.searchBox(q.Text), Lead: v.tr("Cases, invoices, suppliers, purchase orders, approval requests, holds, confirmations, comments and reasons of this workspace.")}
	title := v.tr("Search")
	if strings.TrimSpace(q.Text) != "" || q.Filtered() {
		title = v.tr("Search (%s): %s", count, clipped(q.Text, 60))
		switch {
		case found.More:
			out.Lead = v.tr("More than %d results.", found.Count)
		default:
			out.Lead = v.trn("%d result.", "%d results.", found.Count)
		}
	}
	if out.Page, err = v.page(title, v.link(searchPath, append(kept, "cursor", cursor)...), ""); err != nil {
		return err
	}
	out.Page.Search = nil // the page has its own
	if q.Cut {
		out.Notes = append(out.Notes, v.tr("That was long: only its first words were looked for."))
	}
	for _, h := range found.Hits {
		out.Rows = append(out.Rows, v.searchRow(q, h))
	}
	out.Pager = v.pager(searchPath, len(found.Hits), cursor, found.NextCursor, kept...)
	if q.Empty() && strings.TrimSpace(q.Text) == "" {
		out.Examples = v.searchExamples()
		return render(v.c, http.StatusOK, views.Search(out))
	}
	if !q.ApprovalID {
		out.Kinds, out.States = v.searchTabs(q, narrow)
	}
	if len(found.Hits) == 0 {
		out.Empty, out.Looked = v.nothingFound(q)
		out.Examples = v.searchExamples()
	}
	return render(v.c, http.StatusOK, views.Search(out))
}

// searchTabs narrow what was found by kind, and by the states of a kind.
func (v *visit) searchTabs(q models.SearchQuery, narrow func(...string) []string) (kinds, states []ui.Tab) {
	kinds = []ui.Tab{{Label: v.tr("All"), URL: v.link(searchPath, narrow()...), Current: q.Kind == "", TestID: "kind-all"}}
	for _, k := range models.SearchKinds() {
		kinds = append(kinds, ui.Tab{Label: v.tr(kindWords[k].many), URL: v.link(searchPath, narrow("kind", string(k))...), Current: q.Kind == k, TestID: "kind-" + string(k)})
	}
	known := models.SearchStatuses(q.Kind)
	if len(known) == 0 {
		return kinds, nil
	}
	states = []ui.Tab{{Label: v.tr("Any state"), URL: v.link(searchPath, narrow("kind", string(q.Kind))...), Current: q.Status == "", TestID: "state-any"}}
	for _, s := range known {
		states = append(states, ui.Tab{Label: v.searchBadge(q.Kind, s).Text, URL: v.link(searchPath, narrow("kind", string(q.Kind), "state", s)...), Current: q.Status == s, TestID: "state-" + s})
	}
	return kinds, states
}

// kindWords name the kinds of records.
var kindWords = map[models.SearchKind]struct{ one, many string }{
	models.SearchCase: {lang.Mark("Case"), lang.Mark("Cases")}, models.SearchRequest: {lang.Mark("Approval request"), lang.Mark("Approval requests")},
	models.SearchHold: {lang.Mark("Hold"), lang.Mark("Holds")}, models.SearchConfirmation: {lang.Mark("Confirmation"), lang.Mark("Confirmations")},
	models.SearchInvoice: {lang.Mark("Invoice"), lang.Mark("Invoices")}, models.SearchSupplier: {lang.Mark("Supplier"), lang.Mark("Suppliers")},
	models.SearchPO: {lang.Mark("Purchase order"), lang.Mark("Purchase orders")}, models.SearchComment: {lang.Mark("Comment"), lang.Mark("Comments")},
	models.SearchReason: {lang.Mark("Reason"), lang.Mark("Reasons")},
}

// searchBadge is the state of a record of a kind; without text for kinds without states.
func (w words) searchBadge(kind models.SearchKind, status string) ui.Badge {
	switch kind {
	case models.SearchCase:
		return w.caseBadge(models.CaseStatus(status))
	case models.SearchRequest:
		return w.requestBadge(models.RequestStatus(status))
	case models.SearchHold:
		return w.holdBadge(models.HoldStatus(status), false)
	case models.SearchConfirmation:
		switch s := models.ConfirmationStatus(status); s {
		case models.ConfirmationAnswered:
			return ui.Badge{Text: w.tr("Answered"), Tone: ui.ToneGood, Sign: ui.SignDone}
		case models.ConfirmationTaken:
			return ui.Badge{Text: w.tr("Answered, taken"), Tone: ui.ToneGood, Sign: ui.SignDone}
		default:
			return w.confirmationBadge(s, "")
		}
	}
	return ui.Badge{}
}

// foundURL is the page of a record, by the prefix of its id.
func foundURL(id string) templ.SafeURL {
	prefix, _, _ := strings.Cut(id, "_")
	switch prefix {
	case models.PrefixApprovalRequest:
		return requestURL(id)
	case models.PrefixConfirmation:
		return confirmationURL(id)
	case models.PrefixHold:
		return holdURL(id)
	}
	return caseURL(id)
}

func (v *visit) searchRow(q models.SearchQuery, h models.SearchHit) views.SearchRow {
	row := views.SearchRow{Kind: v.tr(kindWords[h.Kind].one), KindCode: string(h.Kind), At: v.age(h.At), Own: h.Own, Status: v.searchBadge(h.Kind, h.Status),
		Number: marked(q, h.Number), Supplier: marked(q, h.Supplier)}
	if h.Amount != "" {
		row.Amount, row.Currency = v.figures(h.Amount, h.Currency), h.Currency
		row.AmountIs = slices.ContainsFunc(q.Mark(strings.TrimPrefix(h.Amount, "-")), func(m models.MarkedText) bool { return m.Found })
	}
	if h.Queue != "" {
		row.Queue = v.queue(h.Queue)
	}
	row.Snippet = snippet(q, h.Text)
	plain := func(text string) []views.Piece { return []views.Piece{{Text: ui.Foreign(text)}} }
	switch h.Kind {
	case models.SearchCase:
		row.Title, row.URL = plain(v.codeTitle(h.Code)), caseURL(h.Page)
	case models.SearchRequest:
		row.Title, row.URL = marked(q, h.Title), requestURL(h.Page)
	case models.SearchHold:
		row.Title, row.URL = append(plain(v.tr("%s: PO ", v.codeTitle(h.Code))), marked(q, h.Title)...), holdURL(h.Page)
	case models.SearchConfirmation:
		row.Title, row.URL = marked(q, h.Title), confirmationURL(h.Page)
	case models.SearchInvoice:
		row.Title, row.URL, row.Number = marked(q, h.Title), v.invoiceURL(h.Page), nil
	case models.SearchSupplier:
		row.Title, row.URL, row.Supplier = marked(q, h.Title), v.searchFor("supplier", h.Page), nil
		if h.Number == h.Title {
			row.Number = nil
		}
	case models.SearchPO:
		row.Title, row.URL, row.Number = marked(q, h.Title), v.searchFor("po", h.Page), nil
	case models.SearchComment:
		row.Title, row.URL = append(plain(v.tr("by ")), marked(q, h.Title)...), caseURL(h.Page)
	case models.SearchReason:
		row.Title, row.URL = append(plain(v.tr("of a decision by ")), marked(q, h.Title)...), caseURL(h.Page)
		if strings.HasPrefix(h.Page, models.PrefixApprovalRequest+"_") {
			row.Title, row.URL = append(plain(v.tr("of a vote by ")), marked(q, h.Title)...), requestURL(h.Page)
		}
	}
	return row
}

// searchFor is a search for all of a supplier or a purchase order.
func (v *visit) searchFor(filter, id string) templ.SafeURL {
	id = strings.TrimSpace(strings.Map(func(r rune) rune {
		if strings.ContainsRune(`"„“”«»`, r) {
			return ' '
		}
		return r
	}, id))
	if strings.ContainsFunc(id, unicode.IsSpace) {
		id = `"` + id + `"`
	}
	return v.link(searchPath, "q", filter+":"+id)
}

func marked(q models.SearchQuery, text string) []views.Piece {
	var out []views.Piece
	for _, m := range q.Mark(text) {
		out = append(out, views.Piece{Text: ui.Foreign(m.Text), Found: m.Found})
	}
	return out
}

// How much of a text a result shows, in characters, and how much of that before what was found.
const (
	snippetLength = 240
	snippetBefore = 80
)

// snippet is the part of a text where something was found, on one line; its beginning when nothing was.
func snippet(q models.SearchQuery, text string) []views.Piece {
	text = strings.Join(strings.Fields(text), " ")
	if text == "" {
		return nil
	}
	at := 0
	for _, m := range q.Mark(text) {
		if m.Found {
			break
		}
		at += len(m.Text)
	}
	if at == len(text) {
		at = 0
	}
	from := at
	for n := 0; from > 0 && n < snippetBefore; n++ {
		_, size := utf8.DecodeLastRuneInString(text[:from])
		from -= size
	}
	if from > 0 {
		if blank := strings.IndexByte(text[from:at], ' '); blank >= 0 {
			from += blank + 1
		}
	}
	part := clipped(text[from:], snippetLength)
	out := marked(q, part)
	if from > 0 {
		out = append([]views.Piece{{Text: "… "}}, out...)
	}
	return out
}

// clipped is the beginning of a text, in characters.
func clipped(text string, length int) string {
	n := 0
	for i := range text {
		if n == length {
			return strings.TrimRightFunc(text[:i], unicode.IsSpace) + " …"
		}
		n++
	}
	return text
}

// nothingFound says what was looked for, so that it is plain whether looking otherwise helps.
func (v *visit) nothingFound(q models.SearchQuery) (*ui.Empty, []string) {
	empty := &ui.Empty{Heading: v.tr("Nothing was found"), TestID: "empty"}
	if q.ApprovalID {
		empty.Text = v.tr("An approval id lets one write through, so nothing is found by it. Look for the invoice, or for the id of the request, which begins with areq_.")
		return empty, nil
	}
	empty.Text = v.tr("Every word must be in the same record. Leave words out, or look for the beginning of a number.")
	if q.Kind != "" || q.Status != "" {
		empty.LinkText, empty.URL = v.tr("Look in all kinds of records"), v.link(searchPath, "q", q.Text)
	}
	var looked []string
	if form := q.Looked(); form != "" {
		looked = append(looked, v.tr("As a number, this was looked for as %s, whatever signs and zeros stand in it.", form))
	}
	for _, w := range q.Words {
		if amount := w.Amount(); amount != "" {
			looked = append(looked, v.tr("%s was looked for as the amount %s, too.", w.Text, amount))
		}
	}
	return empty, looked
}

func (v *visit) searchExamples() []views.SearchExample {
	var out []views.SearchExample
	for _, e := range []struct{ typed, words string }{
		{typed: "INV-778", words: v.tr("a number, with or without its signs and leading zeros, or its beginning")},
		{typed: "1,234.50", words: v.tr("an amount; 1.234,50 and 1234.5 find the same")},
		{typed: "nordwind credit", words: v.tr("words that stand in one record; the last may go on")},
		{typed: `supplier:"Nordwind GmbH" status:open`, words: v.tr("what belongs to a supplier and is open")},
		{typed: "po:4500018822", words: v.tr("what belongs to a purchase order")},
		{typed: "code:PO_CLOSED queue:procurement", words: v.tr("cases by why they stopped and where they wait")},
		{typed: "amount>1000 currency:EUR", words: v.tr("amounts above a figure")},
		{typed: "from:2026-10-01 to:2026-10-31", words: v.tr("what began between two days")},
	} {
		out = append(out, views.SearchExample{Text: e.typed, URL: v.link(searchPath, "q", e.typed), Words: e.words})
	}
	return append(out, views.SearchExample{Text: "case_…, areq_…, hold_…, conf_…", Words: v.tr("the whole id of a record goes straight to it"), URL: v.link(searchPath)})
}
