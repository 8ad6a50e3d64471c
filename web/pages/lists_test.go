package pages_test

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// onBoth runs a story of the pages on both databases.
func onBoth(t *testing.T, story func(t *testing.T, d *desk)) {
	t.Helper()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		t.Parallel()
		story(t, newDeskOn(t, store, clock))
	})
}

// closedPO files a PO_CLOSED case with its own invoice, supplier and amount.
func (d *desk) closedPO(id, supplier, amount, currency string) string {
	d.t.Helper()
	return d.handOver(d.robot(), strings.NewReplacer("5105600123", id, "INV-778", "INV-"+id, "V-2001", supplier, `"amount": "1234.50", "currency": "EUR"`,
		fmt.Sprintf(`"amount": %q, "currency": %q`, amount, currency)).Replace(poClosed))
}

// rows are the cases a list shows, in its order.
func (p page) rows() (ids []string) {
	p.doc.Find("[data-testid=case-row]").Each(func(_ int, r *goquery.Selection) { ids = append(ids, r.AttrOr("data-case", "")) })
	return ids
}

func (p page) shows(t *testing.T, what string, want ...string) {
	t.Helper()
	if got := p.rows(); !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

func (p page) href(t *testing.T, selector string) string {
	t.Helper()
	href, ok := p.doc.Find(selector).First().Attr("href")
	if !ok {
		t.Fatalf("there is no link %s", selector)
	}
	return href
}

// refused opens a page whose address was not understood whole.
func (v *visitor) refused(path string, status int) page {
	v.t.Helper()
	p := v.do(http.MethodGet, path, nil)
	if p.status != status {
		v.t.Fatalf("GET %s is answered %d, not %d", path, p.status, status)
	}
	return p
}

func TestAListIsNarrowedByItsFormAndEachFilterIsTakenAwayByItsChip(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		small, large := d.closedPO("1", "V-1", "10.00", "EUR"), d.closedPO("2", "V-2", "1000.00", "EUR")
		credit, dollars := d.closedPO("3", "V-1", "-12.50", "EUR"), d.closedPO("4", "V-1", "500.00", "USD")
		petra := d.signedIn("petra")
		list := petra.get("/queues/procurement")
		form := list.doc.Find("form[data-testid=filter-form]")
		if form.AttrOr("method", "") != "get" || form.AttrOr("action", "") != "/queues/procurement" {
			t.Error("the filter is no form without script")
		}
		for _, name := range []string{"state", "due", "age", "code", "claimed_by", "supplier", "number", "po_id", "run_id", "agent", "amount_from", "amount_to", "currency", "sort"} {
			if form.Find("[name="+name+"]").Length() != 1 {
				t.Errorf("the form has no field %s", name)
			}
		}
		// What a browser sends holds every field, most of them empty.
		both := petra.get("/queues/procurement?state=&due=&age=&code=PO_CLOSED&claimed_by=nobody&supplier=V-1&number=&po_id=&run_id=&agent=robot&amount_from=-20&amount_to=100&currency=&sort=amount")
		both.shows(t, "V-1 from -20 to 100", credit, small)
		both.wants(t, "chips", "Narrowed to", "Supplier V-1", "Amount from -20.00 EUR", "Amount to 100.00 EUR", "Stopped because Purchase order closed", "Claimed by nobody", "Agent robot", "Clear all")
		if got := both.doc.Find("[name=supplier]").AttrOr("value", ""); got != "V-1" {
			t.Errorf("the form forgot the supplier: %q", got)
		}
		without := petra.get(both.href(t, "[data-testid=chip-supplier]"))
		without.shows(t, "without the supplier", credit, small)
		wide := petra.get(without.href(t, "[data-testid=chip-amount_to]"))
		wide.shows(t, "without an upper end", credit, small, large)
		if all := petra.get(wide.href(t, "[data-testid=clear-all]")); len(all.rows()) != 4 || all.has("chips") {
			t.Errorf("clear all shows %v", all.rows())
		}
		petra.get("/queues/procurement?currency=usd").shows(t, "dollars", dollars)
		petra.get("/queues/procurement?number=inv+0002").shows(t, "a number as read", large)
		nothing := petra.get("/queues/procurement?supplier=V-9")
		nothing.wants(t, "empty", "Nothing here is like that", "Search for “V-9”")
		held := petra.get("/queues/procurement?supplier=V-1").href(t, "[data-testid=filter-held]")
		if held != "/queues/procurement?state=held&supplier=V-1" {
			t.Errorf("another state forgets the filter: %s", held)
		}
	})
}

func TestWhatAListDoesNotKnowIsSaidAndTheRestStays(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		mine, other := d.closedPO("1", "V-1", "10.00", "EUR"), d.closedPO("2", "V-2", "20.00", "EUR")
		petra := d.signedIn("petra")
		for query, want := range map[string]string{
			"state=closed": "State: there is no closed to choose", "due=later": "Due: there is no later to choose", "age=2d": "Age", "code=NOPE": "Stopped because", "claimed_by=bob": "Claimed by",
			"sort=supplier": "Sorted by", "amount_from=ten": "Amount from: must be", "amount_from=10&amount_to=9": "Amount to: must not be less", "currency=XXZ": "Currency: must be an ISO 4217",
			"amount_to=1.005": "Amount to: has more decimals", "number=%3F": "Invoice number", "po_id=" + strings.Repeat("x", 201): "PO: must have at most 200 characters", "state=held&due=soon": "Due: only an open case is due",
		} {
			p := petra.refused("/queues/procurement?supplier=V-1&"+query, http.StatusUnprocessableEntity)
			p.wants(t, "error-summary", want)
			if !strings.Contains(query, "held") {
				p.shows(t, query, mine)
			}
			if strings.Contains(p.testID("chips"), "there is no") || !strings.Contains(p.testID("chips"), "V-1") {
				t.Errorf("%s: the chips read %q", query, p.testID("chips"))
			}
			if name := strings.Split(query, "=")[0]; p.doc.Find("[name="+name+"]").Length() != 1 {
				t.Errorf("%s: the field is gone", query)
			}
			if p.has("sheet") {
				t.Errorf("%s: the page offers a file that would be refused", query)
			}
		}
		petra.refused("/queues/procurement.csv?due=later", http.StatusUnprocessableEntity)
		bad := petra.refused("/queues/procurement?cursor=nonsense", http.StatusBadRequest)
		bad.shows(t, "a page of another list", mine, other)
		bad.wants(t, "error-summary", "belongs to another list")
	})
}

func TestAListIsSortedByItsHeads(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		first := d.closedPO("1", "V-1", "20.00", "EUR")
		d.clock.Advance(time.Hour)
		second := d.closedPO("2", "V-1", "-5.00", "EUR")
		d.clock.Advance(time.Hour)
		third := d.closedPO("3", "V-1", "100.00", "EUR")
		petra := d.signedIn("petra")
		p := petra.get("/queues/procurement?supplier=V-1")
		sorted := func(column, want string) {
			t.Helper()
			if got := p.doc.Find("[data-testid=sort-"+column+"]").Closest("th").AttrOr("aria-sort", ""); got != want {
				t.Errorf("the column %s says it is sorted %q, want %q", column, got, want)
			}
		}
		sorted("Due", "ascending")
		sorted("Age", "none")
		for _, x := range []struct {
			press, says string
			want        []string
		}{
			{"Due", "descending", []string{third, second, first}}, {"Due", "ascending", []string{first, second, third}},
			{"Age", "descending", []string{first, second, third}}, {"Age", "ascending", []string{third, second, first}},
			{"Amount", "descending", []string{third, first, second}}, {"Amount", "ascending", []string{second, first, third}},
		} {
			p = petra.get(p.href(t, "[data-testid=sort-"+x.press+"]"))
			p.shows(t, x.press+" "+x.says, x.want...)
			sorted(x.press, x.says)
			if !strings.Contains(p.testID("chips"), "V-1") {
				t.Error("sorting forgets the filter")
			}
		}
	})
}

func TestEveryQueueTogetherIsAListToo(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		po, twice := d.closedPO("1", "V-1", "20.00", "EUR"), d.handOver(d.robot(), duplicate)
		anna := d.signedIn("anna")
		home := anna.get("/")
		all := anna.get(home.href(t, "[data-testid=nav-cases]"))
		if title := all.text("title"); !strings.HasPrefix(title, "All cases (2)") {
			t.Errorf("the title is %q", title)
		}
		all.shows(t, "all cases by due time", twice, po)
		if row := all.text("tr[data-case='" + po + "']"); !strings.Contains(row, "Procurement") {
			t.Errorf("the row does not name its queue: %q", row)
		}
		next := anna.get(all.href(t, "tr[data-case='"+twice+"'] a"))
		if next.testID("around-list") != "All cases" || !strings.Contains(next.href(t, "[data-testid=around-next]"), po) {
			t.Errorf("the case does not lead on in the list it was opened from: %q", next.testID("around-list"))
		}
	})
}

func TestAPersonKeepsAListAsAViewWithItsCount(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		for i := range 3 {
			d.closedPO(fmt.Sprint(i), "V-1", "20.00", "EUR")
		}
		d.closedPO("9", "V-2", "20.00", "EUR")
		petra := d.signedIn("petra")
		list := petra.get("/queues/procurement?supplier=V-1&sort=amount&cursor=")
		kept := petra.follow(petra.send(list, "save-view-form", one("name", "V-1 <b>first</b>")))
		kept.wants(t, "flash", "The list is kept.")
		kept.wants(t, "saved-as", "V-1 <b>first</b>")
		nav := kept.doc.Find("[data-testid=nav-view]")
		if text := strings.Join(strings.Fields(nav.Text()), " "); text != "V-1 <b>first</b> 3 cases" || nav.AttrOr("aria-current", "") != "page" || kept.doc.Find("[data-testid=nav-queue-procurement][aria-current]").Length() != 0 {
			t.Errorf("the navigation shows %q", text)
		}
		// The same name once more is refused, with what was typed.
		other := petra.get("/queues/procurement?supplier=V-2")
		again := petra.send(other, "save-view-form", one("name", "v-1 <B>FIRST</B>"))
		if again.status != http.StatusUnprocessableEntity || again.doc.Find("form[data-testid=save-view-form] [name=name]").AttrOr("value", "") != "v-1 <B>FIRST</B>" || len(again.rows()) != 1 {
			t.Errorf("a name twice is answered %d", again.status)
		}
		again.wants(t, "save-view-form", "is the name of another of your views")
		petra.follow(petra.send(other, "save-view-form", one("name", "Another")))
		// A colleague has views of their own, and the same name.
		paul := d.signedIn("paul")
		if p := paul.get("/"); p.has("nav-view") {
			t.Error("a colleague sees the view")
		}
		manage := petra.get("/views")
		if n := manage.doc.Find("[data-testid=view]").Length(); n != 2 {
			t.Fatalf("%d views", n)
		}
		if text := manage.text("[data-testid=view]:nth-child(2)"); !strings.Contains(text, "Procurement") || !strings.Contains(text, "Supplier V-1") || !strings.Contains(text, "the smallest amount first") {
			t.Errorf("the view says %q", text)
		}
		clash := petra.send(manage, "rename-form", one("name", "V-1 <b>First</b>")) // the first by name is "Another"
		if clash.status != http.StatusUnprocessableEntity {
			t.Errorf("renaming to a name that is taken is answered %d", clash.status)
		}
		clash.wants(t, "error-summary", "is the name of another of your views")
		renamed := petra.follow(petra.send(petra.get("/views"), "rename-form", one("name", "Zuletzt")))
		renamed.wants(t, "views", "Zuletzt")
		gone := petra.follow(petra.press(renamed, "delete-view"))
		if n := gone.doc.Find("[data-testid=view]").Length(); n != 1 {
			t.Errorf("%d views after deleting one", n)
		}
		// What cannot be kept is refused.
		token := petra.get("/").doc.Find("input[name=csrf_token]").AttrOr("value", "")
		for _, list := range []string{"", "/approvals", "//evil.example/queues/ap", "https://evil.example/queues/ap", "/queues/ap?due=later", "/queues/none"} {
			if p := petra.do(http.MethodPost, "/views", one("csrf_token", token, "name", "x", "list", list)); p.status != http.StatusUnprocessableEntity {
				t.Errorf("keeping %q is answered %d", list, p.status)
			}
		}
	})
}

func TestTheNavigationCountsTenViewsAndLeadsToTheRest(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		for i := range 100 {
			d.closedPO(fmt.Sprint(i), "V-1", "20.00", "EUR")
		}
		by := models.Principal{UserID: d.users["petra"].ID, UserName: "Petra", Kind: models.KindPerson, WorkspaceID: company, Roles: []models.Role{models.RoleProcurement}, Channel: models.ChannelWeb}
		for i := range 12 {
			query := "supplier=V-1"
			if i == 0 {
				query = "supplier=V-9"
			}
			if _, err := d.store.SaveView(t.Context(), by, fmt.Sprintf("View %02d", i), "/queues/procurement", query); err != nil {
				t.Fatal(err)
			}
		}
		p := d.signedIn("petra").get("/queues/procurement")
		var shown []string
		p.doc.Find("[data-testid=nav-view]").Each(func(_ int, s *goquery.Selection) { shown = append(shown, strings.Join(strings.Fields(s.Text()), " ")) })
		if len(shown) != 10 || shown[0] != "View 00" || shown[1] != "View 01 99+ cases" {
			t.Errorf("the navigation shows %q", shown)
		}
		p.wants(t, "nav-views", "All 12 views")
	})
}

func TestTickedCasesAreWorkedTogetherWithoutScript(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		a, b, c := d.closedPO("1", "V-1", "20.00", "EUR"), d.closedPO("2", "V-1", "30.00", "EUR"), d.closedPO("3", "V-1", "40.00", "EUR")
		petra, paul := d.signedIn("petra"), d.signedIn("paul")
		paul.follow(paul.press(paul.get("/cases/"+b), "claim"))
		list := petra.get("/queues/procurement?supplier=V-1")
		if n := list.doc.Find("form[data-testid=pick-form] [data-testid=case-row] input[type=checkbox][data-testid=pick]").Length(); n != 3 {
			t.Errorf("%d rows can be ticked", n)
		}
		if all := petra.get(list.href(t, "[data-testid=pick-all]")); all.doc.Find("[data-testid=pick][checked]").Length() != 3 {
			t.Error("the link does not tick all")
		}
		none := petra.send(list, "pick-form", one("act", "claim"))
		if none.status != http.StatusUnprocessableEntity {
			t.Errorf("with nothing ticked: %d", none.status)
		}
		none.wants(t, "bulk-problem", "Tick at least one case.")
		tick := func(act string, ids ...string) page {
			t.Helper()
			form := one("act", act)
			for _, id := range ids {
				form.Add("case", id)
			}
			p := petra.send(petra.get("/queues/procurement?supplier=V-1"), "pick-form", form)
			if p.status != http.StatusOK {
				t.Fatalf("the preview is answered %d: %s", p.status, p.text("main"))
			}
			return p
		}
		before := d.trail()
		preview := tick("claim", a, b, c)
		preview.wants(t, "bulk-form", "20.00 EUR", "Becomes yours.", "Paul holds it.")
		if d.trail() != before {
			t.Error("the preview left something on the trail")
		}
		action, sent := preview.fill(t, "bulk-form", nil)
		if len(sent["item"]) != 2 {
			t.Errorf("the form holds %v", sent["item"])
		}
		result := petra.do(http.MethodPost, action, sent)
		if text := result.text("main"); result.status != http.StatusOK || !strings.Contains(text, "2 claimed.") {
			t.Errorf("%d %s", result.status, text)
		}
		if back := result.href(t, "[data-testid=bulk-back]"); back != "/queues/procurement?supplier=V-1" {
			t.Errorf("the way back is %s", back)
		}
		if again := petra.do(http.MethodPost, action, sent); !strings.Contains(again.text("main"), "2 yours before.") {
			t.Errorf("sent twice: %s", again.text("main"))
		}
		petra.get("/cases/"+a).wants(t, "case-claim", "Claimed by you")

		move := tick("reroute", a, c)
		refusedForm := petra.send(move, "bulk-form", withItems(t, move, "to", "ap"))
		if refusedForm.status != http.StatusUnprocessableEntity || refusedForm.doc.Find("[name=to] option[selected]").AttrOr("value", "") != "ap" {
			t.Errorf("a reroute without a reason is answered %d", refusedForm.status)
		}
		refusedForm.wants(t, "error-summary", "Reason: say why")
		moved := petra.send(refusedForm, "bulk-form", withItems(t, refusedForm, "to", "ap", "reason", "No order <script>needed</script>"))
		if !strings.Contains(moved.text("main"), "2 sent on.") {
			t.Errorf("rerouted: %s", moved.text("main"))
		}
		d.signedIn("anna").get("/cases/"+a).wants(t, "rerouted", "No order <script>needed</script>")
		paul.follow(paul.press(paul.get("/cases/"+b), "release"))

		snooze := tick("snooze", b)
		choice := snooze.doc.Find("[name=until]").First().AttrOr("value", "")
		if _, err := time.Parse(time.RFC3339, choice); err != nil {
			t.Fatalf("the first moment offered is %q", choice)
		}
		own := petra.send(snooze, "bulk-form", withItems(t, snooze, "until", "own", "until_at", "2026-10-05T08:00"))
		if own.status != http.StatusUnprocessableEntity || !strings.Contains(own.testID("error-summary"), "Another time: must be a moment in the future") {
			t.Errorf("a moment that is over is answered %d: %s", own.status, own.testID("error-summary"))
		}
		if done := petra.send(snooze, "bulk-form", withItems(t, snooze, "until", choice, "reason", "waits")); !strings.Contains(done.text("main"), "1 snoozed.") {
			t.Errorf("snoozed: %s", done.text("main"))
		}
		petra.get("/queues/procurement").shows(t, "after snoozing")
		petra.get("/queues/procurement?state=snoozed").shows(t, "snoozed", b)
		if p := petra.do(http.MethodGet, "/cases/bulk", nil); p.status != http.StatusSeeOther || p.location != "/cases" {
			t.Errorf("coming back to a preview leads to %q", p.location)
		}
		if auditor := d.signedIn("audra").get("/queues/procurement?state=snoozed"); auditor.has("pick") {
			t.Error("who may do nothing can tick rows")
		}
	})
}

// withItems are the cases of a preview with fields of its form.
func withItems(t *testing.T, p page, pairs ...string) url.Values {
	t.Helper()
	_, sent := p.fill(t, "bulk-form", nil)
	for i := 0; i+1 < len(pairs); i += 2 {
		sent.Set(pairs[i], pairs[i+1])
	}
	return sent
}

func TestTheTitleAndTheTotalCountWhatIsShown(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		for i := range 31 {
			d.closedPO(fmt.Sprint("a", i), "V-ACME", "20.00", "EUR")
		}
		d.closedPO("b1", "V-B", "10.00", "EUR")
		petra := d.signedIn("petra")
		petra.follow(petra.press(petra.get("/cases/"+petra.get("/queues/procurement?supplier=v-b").rows()[0]), "claim"))
		for query, want := range map[string][2]string{"": {"(32)", ""}, "?supplier=V-ACME": {"(31)", "31 cases"}, "?supplier=v-acme&sort=amount": {"(31)", "31 cases"}, "?supplier=V-B": {"(1)", "1 case"},
			"?supplier=nobody": {"(0)", ""}, "?state=snoozed": {"(0)", ""}, "?state=resolved": {"(0)", ""}, "?due=overdue": {"(0)", ""}, "?state=held": {"(0)", ""}, "?claimed_by=me": {"(1)", "1 case"},
			"?amount_from=11": {"(31)", "31 cases"}} {
			for _, path := range []string{"/queues/procurement", "/cases"} {
				p := petra.get(path + query)
				if title := p.text("title"); !strings.Contains(title, want[0]) || strings.TrimSpace(p.testID("total")) != want[1] {
					t.Errorf("%s: titled %q with the total %q, want %v", path+query, title, p.testID("total"), want)
				}
			}
		}
		if second := petra.get(petra.get("/queues/procurement?supplier=V-ACME").href(t, "[data-testid=pager-next]")); !strings.Contains(second.text("title"), "(31)") {
			t.Errorf("the second page is titled %q", second.text("title"))
		}
		empty := petra.get("/queues/procurement?supplier=acme")
		if href := empty.href(t, "[data-testid=empty] a"); href != "/search?q=acme" || !strings.Contains(empty.testID("empty"), "search finds parts of names") {
			t.Errorf("the empty list leads to %q: %s", href, empty.testID("empty"))
		}
	})
}

func TestHostileTextIsMarksInEveryPartOfAList(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		const evil = `<img src=x onerror=alert(1)>`
		id := d.handOver(d.robot(), strings.NewReplacer("INV-778", "=1\u202e"+evil, "V-2001", "V-"+evil, "Nordwind GmbH", "@"+evil, "run-7f3", "run-"+evil, "4500018822", "PO"+evil).Replace(poClosed))
		petra := d.signedIn("petra")
		q := "supplier=" + url.QueryEscape("V-"+evil) + "&run_id=" + url.QueryEscape("run-"+evil) + "&po_id=" + url.QueryEscape("PO"+evil)
		list := petra.get("/queues/procurement?" + q)
		list.shows(t, "the hostile case", id)
		petra.follow(petra.send(list, "save-view-form", one("name", evil)))
		preview := petra.send(list, "pick-form", one("act", "claim", "case", id))
		result := petra.send(preview, "bulk-form", withItems(t, preview))
		unknown := petra.refused("/queues/procurement?"+q+"&due="+url.QueryEscape(evil)+"&amount_from="+url.QueryEscape(evil), http.StatusUnprocessableEntity)
		for name, p := range map[string]page{"list": petra.get("/queues/procurement?" + q), "views": petra.get("/views"), "preview": preview, "result": result, "unknown": unknown} {
			if p.doc.Find("img, [onerror]").Length() > 0 || strings.Contains(p.raw, "\u202e") {
				t.Errorf("%s: text became markup", name)
			}
			if !strings.Contains(p.raw, "&lt;img") {
				t.Errorf("%s does not show the text", name)
			}
		}
		sheet := petra.do(http.MethodGet, "/queues/procurement.csv?"+q, nil)
		if rows := modelstest.Rows(t, sheet.raw); len(rows) != 2 || strings.Contains(sheet.raw, "\u202e") || !strings.Contains(sheet.raw, "[U+202E]") {
			t.Fatalf("the sheet has %d rows: %s", len(rows), sheet.raw)
		}
		if strings.Contains(sheet.raw, "DE89370400440532013000") || !strings.Contains(sheet.header.Get("Content-Disposition"), "attachment; filename=") {
			t.Error("the file holds bank data, or is no file")
		}
	})
}

func TestTheRowSaysWhoHoldsACaseAndWhoLooksAtIt(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, d *desk) {
		id := d.closedPO("1", "V-1", "20.00", "EUR")
		petra, paul := d.signedIn("petra"), d.signedIn("paul")
		token := paul.get("/cases/"+id).doc.Find("input[name=csrf_token]").AttrOr("value", "")
		if p := paul.do(http.MethodPost, "/presence", one("csrf_token", token, "subject", id, "doing", "viewing")); p.status != http.StatusOK {
			t.Fatalf("presence is answered %d", p.status)
		}
		paul.follow(paul.press(paul.get("/cases/"+id), "claim"))
		row := petra.get("/queues/procurement").text("tr[data-case='" + id + "']")
		if !strings.Contains(row, "Paul Paul is looking at this") {
			t.Errorf("the row reads %q", row)
		}
	})
}
