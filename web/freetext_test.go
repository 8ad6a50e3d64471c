package web

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
)

// ownWords are the names of fields in which people write in their own words.
var ownWords = []string{"reason", "text", "question", "note", "name", "server_name", "input.question", "input.note"}

// otherTexts are the names of all other fields of text. They hold ids, amounts, addresses and the like, which have
// rules of their own.
var otherTexts = []string{"mention", "document_type", "tool", "cost_centre", "currency", "supplier", "supplier_id", "invoice_id", "posting_date", "amount", "erp_link", "opens_at", "closes_at", "time_zone",
	"from", "to", "person", "then_person", "valid", "sheet", "above", "input.po_id", "input.supplier_id"}

// isOtherText says whether a field is one of the others. Arguments of calls and what is proposed have their own rules.
func isOtherText(route, name string) bool {
	return slices.Contains(otherTexts, name) || strings.HasPrefix(name, "proposed.") || strings.HasPrefix(name, "due_soon.") || strings.HasPrefix(name, "hours.") ||
		route == "/approvals/:id/vote" && strings.HasPrefix(name, "input.")
}

// textField is a field of a form in which something can be typed, with all that the form holds.
type textField struct {
	who     *scriptless
	page    string
	action  string
	name    string
	needed  bool
	line    bool
	holds   url.Values
	choices map[string][]string // of radios and selects, by name
}

// textFields are the fields of text in every form that is on a page somebody finds the way to, by route and name.
func textFields(s *site) map[string]textField {
	found := map[string]textField{}
	for _, role := range models.Roles() {
		b := s.browser(s.people[role], newActs(s))
		b.acts.forms = func(b *scriptless, form *goquery.Selection) {
			action := form.AttrOr("action", b.path)
			target, err := url.Parse(action)
			if err != nil {
				return
			}
			holds, choices := url.Values{}, map[string][]string{}
			var typed []*goquery.Selection
			form.Find("input, select, textarea").Each(func(_ int, c *goquery.Selection) {
				name, kind := c.AttrOr("name", ""), c.AttrOr("type", "text")
				if c.Is("select, textarea") {
					kind = goquery.NodeName(c)
				}
				switch {
				case name == "" || off(c) || kind == "file":
				case kind == "radio" || kind == "checkbox":
					choices[name] = append(choices[name], c.AttrOr("value", "on"))
					if _, checked := c.Attr("checked"); checked {
						holds.Add(name, c.AttrOr("value", "on"))
					}
				case kind == "select":
					c.Find("option").Each(func(_ int, o *goquery.Selection) { choices[name] = append(choices[name], o.AttrOr("value", "")) })
					holds.Set(name, c.Find("option[selected]").AttrOr("value", c.Find("option").First().AttrOr("value", "")))
				case kind == "textarea":
					holds.Set(name, strings.TrimPrefix(c.Text(), "\n"))
					typed = append(typed, c)
				default:
					holds.Set(name, c.AttrOr("value", ""))
					if kind == "text" || kind == "search" {
						typed = append(typed, c)
					}
				}
			})
			for _, c := range typed {
				name := c.AttrOr("name", "")
				_, needed := c.Attr("required")
				if key := b.acts.route(target.Path) + " " + anID.ReplaceAllString(name, "…"); found[key].who == nil {
					found[key] = textField{b, b.path, action, name, needed, c.Is("input"), maps.Clone(holds), choices}
				}
			}
		}
		b.opened("/").crawl()
	}
	return found
}

// send posts the form with a text in the field; of choices the given one is made.
func (f textField) send(text, choice, chosen string) sheet {
	sent := maps.Clone(f.holds)
	sent.Set(f.name, text)
	if choice != "" {
		sent.Set(choice, chosen)
	}
	return f.who.send(http.MethodPost, f.action, "application/x-www-form-urlencoded", []byte(sent.Encode()))
}

// refused says whether an answer refuses the field with a text, and stands in it again.
func (f textField) refused(page sheet, why, kept string) bool {
	stands := kept == ""
	page.doc.Find(`[name="` + f.name + `"]`).Each(func(_ int, c *goquery.Selection) {
		stands = stands || strings.Contains(c.Text()+c.AttrOr("value", ""), kept)
	})
	return (page.status == http.StatusBadRequest || page.status == http.StatusUnprocessableEntity) && strings.Contains(page.doc.Find("main").Text(), why) && stands
}

// Every field in which people write in their own words, on every page that anybody finds the way to, names the
// control character it refuses and keeps what was typed; what cannot be seen is nothing.
func TestEveryFieldOfWordsRefusesWhatCannotBeSeen(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	fields := textFields(s)
	met := map[string]bool{}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		f := fields[key]
		route, _, _ := strings.Cut(key, " ")
		if !slices.Contains(ownWords, f.name) {
			if !isOtherText(route, f.name) {
				t.Errorf("the field %s, seen at %s, is new: say whether people write in their own words there", key, f.page)
			}
			continue
		}
		met[f.name] = true
		if route == "/settings/me/passkeys" {
			continue // the answer of the browser's key is looked at before; /rename has the same rule
		}
		try := func(text, why, kept string) {
			t.Helper()
			if page := f.send(text, "", ""); f.refused(page, why, kept) {
				return
			}
			for choice, all := range f.choices { // a field may count only with a choice
				for _, chosen := range all {
					if page := f.send(text, choice, chosen); f.refused(page, why, kept) {
						return
					}
				}
			}
			page := f.send(text, "", "")
			t.Errorf("%s at %s takes %q: %d %s", key, f.page, text, page.status, plainText(page.body))
		}
		try("before\aafter", "must not contain the control character U+0007", "before")
		try("before\x00after", "must not contain the control character U+0000", "before\uFFFDafter")
		if f.line {
			try("before\nafter", "must be one line", "before")
		}
		if f.needed {
			try("\u200b \u2060\ufeff", "", "")
		}
	}
	for _, name := range ownWords {
		if !met[name] && name != "input.note" {
			t.Errorf("no field %s was met", name)
		}
	}
}

// What is done to several records at once is checked as what is done to one.
func TestActsOnSeveralRefuseWhatCannotBeSeen(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	for path, form := range map[string]url.Values{
		"/cases/bulk/reroute": values("case", s.ids["lead case"]+" 1", "to", "ap"), "/approvals/bulk/approve": values("item", s.ids["request"]+"@1"),
	} {
		form.Set("reason", "before\aafter")
		if a := s.people[models.RoleFinanceLead].post(path, form); !strings.Contains(a.body, "U+0007") {
			t.Errorf("%s: %d %s", path, a.status, plainText(a.body))
		}
	}
}

// Letters of every script, joined emoji and flags are words like all others, and lines end one way.
func TestEveryScriptIsWelcome(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	const words = "Grüße 漢字 שלום مرحبا 👩\u200d👩\u200d👧 🇩🇪 🏴\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F"
	buyer := s.people[models.RoleProcurement]
	buyer.must("/cases/"+s.ids["case"]+"/comments", values("text", words+"\r\nsecond line"))
	buyer.must("/views", values("name", words, "list", "/queues/procurement?supplier=V-77"))
	buyer.must("/cases/"+s.ids["case"], values("exit", "reject_invoice", "reason", words+"\r\nsecond line", "version", "1"))
	s.in("1000", func(tx *models.Tx) error {
		var comments []models.Comment
		var views []models.SavedView
		if err := tx.DB.Where("text LIKE ?", "%second line").Find(&comments).Error; err != nil {
			return err
		}
		if len(comments) != 1 || comments[0].Text != words+"\nsecond line" {
			t.Errorf("kept is %+v", comments)
		}
		if err := tx.DB.Where("name = ?", words).Find(&views).Error; err != nil {
			return err
		}
		if len(views) != 1 {
			t.Error("the view's name was changed")
		}
		return nil
	})
	if got := s.call(http.MethodGet, "/api/v1/cases/"+s.ids["case"], "agent-all", "").body; !strings.Contains(got, `second line`) || strings.Contains(got, `\r`) {
		t.Errorf("the reason reads %s", got)
	}
}

// What agents send of their own is checked as it is read: what cannot be seen is nothing, and no database keeps the
// character zero. Their explanations, messages and evidence are shown with marks, whatever stands in them.
func TestWordsOfAgents(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	unseen := `"\u200b \u2060"`
	for _, c := range []struct{ path, body, field string }{
		{"/approval-requests", strings.Replace(s.write("77", "20.00"), `"summary": "Kranich summary"`, `"summary": `+unseen, 1), "/summary"},
		{"/handovers", `{"case_id": "` + s.ids["case"] + `", "answer": ` + unseen + `}`, "/answer"},
		{"/confirmations", strings.Replace(s.question("77"), `"name": "Kranich server"`, `"name": `+unseen, 1), "/server/name"},
		{"/handovers", strings.Replace(s.handover("78", "PO_CLOSED"), `"explanation": "Kranich explanation"`, `"explanation": "a\u0000b"`, 1), "/explanation"},
	} {
		if a := s.call(http.MethodPost, "/api/v1"+c.path, "agent-all", c.body); a.status != http.StatusBadRequest || !strings.Contains(a.body, `"`+c.field+`"`) {
			t.Errorf("%s of %s: %d %s", c.field, c.path, a.status, a.body)
		}
	}
	hidden := s.filed("/handovers", "agent-all", strings.Replace(s.handover("79", "PO_CLOSED"), `"explanation": "Kranich explanation"`, `"explanation": `+unseen, 1), "case_id")
	if page := s.people[models.RoleProcurement].do(http.MethodGet, "/cases/"+hidden, nil).body; !strings.Contains(page, "no explanation") {
		t.Error("an explanation of which nothing can be seen counts as one")
	}
	s.filed("/handovers", "agent-all", strings.Replace(s.handover("80", "PO_CLOSED"), `"explanation": "Kranich explanation"`, `"explanation": "a\u0007b\u202ec"`, 1), "case_id")
}
