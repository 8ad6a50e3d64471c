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

// Every form with fields to write in, filled in with more than it takes: it is refused, and what was
// written stands in it still, each field's in its own.
func TestARefusedFormKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	tried := map[string]bool{}
	for _, role := range []models.Role{models.RoleProcurement, models.RoleFinanceLead, models.RoleAPLead, models.RoleAdmin} {
		b := s.browser(s.people[role], newActs(s))
		b.crawl()
		for _, act := range slices.Sorted(maps.Keys(b.acts.seen)) {
			at, _, _ := strings.Cut(b.acts.seen[act], " of ")
			route, name, _ := strings.Cut(act, " ")
			if tried[act] || strings.HasPrefix(name, "act=") {
				continue
			}
			tried[act] = true
			b.opened(at)
			var form, pressed *goquery.Selection
			b.doc.Find("form[method=post]").Each(func(_ int, f *goquery.Selection) {
				for _, button := range b.buttons(f) {
					if form == nil && b.act(f, button) == act {
						form, pressed = f, button
					}
				}
			})
			if form == nil {
				t.Errorf("%s has no form any more to %s", at, act)
				continue
			}
			long, fields := url.Values{}, url.Values{}
			form.Find("input, textarea, select").Each(func(_ int, f *goquery.Selection) {
				name, kind := f.AttrOr("name", ""), f.AttrOr("type", "text")
				switch {
				case name == "" || kind == "hidden" || kind == "password" || kind == "file" || off(f):
				case f.Is("select"):
					fields.Set(name, f.Find("option").Last().AttrOr("value", ""))
				case kind == "radio" || kind == "checkbox":
					fields.Set(name, f.AttrOr("value", ""))
				case kind == "date":
					fields.Set(name, "2026-12-01")
				case kind == "datetime-local":
					fields.Set(name, "2026-12-01T10:00")
				default:
					text := "Typed for " + name + strings.Repeat(" and more of it", 600)
					switch kind {
					case "email":
						text = strings.Repeat("a", 9000) + "@example.test"
					case "url":
						text = "https://example.test/" + strings.Repeat("a", 9000)
					}
					long.Set(name, text)
				}
			})
			if len(long) == 0 {
				continue
			}
			maps.Copy(fields, long)
			sent, _ := b.fill(form, fields, pressed)
			kind, body := "application/x-www-form-urlencoded", []byte(sent.Encode())
			if form.AttrOr("enctype", "") == "multipart/form-data" {
				kind, body = multiform(t, sent, nil)
			}
			b.arrive(http.MethodPost, pressed.AttrOr("formaction", form.AttrOr("action", "")), kind, body)
			if b.status != http.StatusUnprocessableEntity && b.status != http.StatusBadRequest {
				t.Errorf("%s (%s, %s) is answered %d: %s", act, route, at, b.status, plainText(b.body))
				continue
			}
			for name, text := range long {
				kept := false
				b.doc.Find("textarea, input").Each(func(_ int, f *goquery.Selection) {
					value := f.AttrOr("value", "")
					if f.Is("textarea") {
						value = strings.TrimPrefix(f.Text(), "\n")
					}
					kept = kept || f.AttrOr("name", "") == name && value == text[0] && f.AttrOr("type", "") != "hidden"
				})
				if !kept {
					t.Errorf("%s at %s: what was typed for %s is gone: %s", act, at, name, b.text("error-summary"))
				}
			}
			if b.text("error-summary") == "" && !b.has("sheet-problems") {
				t.Errorf("%s at %s: nothing says what is wrong: %s", act, at, plainText(b.body))
			}
		}
	}
}
