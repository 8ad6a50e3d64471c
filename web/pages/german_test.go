package pages_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/leonelquinteros/gotext"
	"golang.org/x/net/html"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views/lang"
)

// englishOnly are the messages without values that read otherwise in German.
func englishOnly(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../views/lang/de/*.po")
	if err != nil || len(files) == 0 {
		t.Fatalf("no catalogue (%v)", err)
	}
	var english, german []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		po := gotext.NewPo()
		po.Parse(text)
		for id, m := range po.GetDomain().GetTranslations() {
			if id != "" && m.Get() != id && !strings.ContainsAny(id, "%{") {
				english = append(english, id)
			}
			german = append(german, m.Get())
		}
	}
	return slices.DeleteFunc(english, func(id string) bool { return slices.Contains(german, id) })
}

// read are the texts of a page that a person reads or hears, without what others wrote.
func (p page) read() (texts []string) {
	p.doc.Find("script, style, .brand, .foreign-block, .code-text, .evidence bdi, .call bdi, .seen-error bdi, .data bdi, .compare bdi").Remove()
	add := func(text string) {
		if text = strings.Join(strings.Fields(text), " "); text != "" {
			texts = append(texts, text)
		}
	}
	p.doc.Find("*").Each(func(_ int, s *goquery.Selection) {
		for _, name := range []string{"title", "aria-label", "placeholder", "alt", "data-label"} {
			add(s.AttrOr(name, ""))
		}
		for n := s.Nodes[0].FirstChild; n != nil; n = n.NextSibling {
			if n.Type == html.TextNode {
				add(n.Data)
			}
		}
	})
	return texts
}

func TestAGermanReaderReadsGerman(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	decided := d.handOver(d.robot(), poClosed)
	double := d.handOver(d.robot(), duplicate)
	hold := d.hold(d.robot(), holdText)
	d.ask(d.robot(), approvalFor("500.00"))
	petra, anna, lars := d.signedIn("petra"), d.signedIn("anna"), d.signedIn("lars")
	petra.send(petra.get("/cases/"+decided), "decision-form", one("exit", "use_other_po", "input.po_id", "4500018999", "reason", "Wrong order."))
	anna.press(anna.get("/cases/"+double), "claim")
	anna.send(anna.get("/cases/"+double), "comment-form", one("text", "Please look."))
	english := englishOnly(t)
	for name, person := range map[string]*visitor{"petra": petra, "anna": anna, "lars": lars} {
		person.headers = map[string]string{"Accept-Language": "de-DE,de;q=0.9,en;q=0.5"}
		for _, path := range []string{"/", "/cases", "/cases?state=resolved", "/cases?state=nonsense", "/cases?code=PO_CLOSED&state=held", "/queues/ap", "/queues/procurement", "/views",
			"/cases/" + decided, "/cases/" + double, "/holds", "/holds?state=overdue", "/holds/" + hold, "/next?from=/queues/finance"} {
			p := person.do("GET", path, nil)
			if tag := p.doc.Find("html").AttrOr("lang", ""); tag != "de" && p.status != 303 {
				t.Errorf("%s, %s: the page says it is in %q", name, path, tag)
			}
			for _, text := range p.read() {
				if slices.Contains(english, text) {
					t.Errorf("%s, %s: %q stands there in English", name, path, text)
				}
			}
		}
	}
}

func TestTheLanguageIsThePersonsOwnBeforeTheBrowsers(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	petra := d.signedIn("petra")
	tag := func() string { return petra.get("/").doc.Find("html").AttrOr("lang", "") }
	if got := tag(); got != "en" {
		t.Errorf("without any wish the page is in %q", got)
	}
	petra.headers = map[string]string{"Accept-Language": "de"}
	if got := tag(); got != "de" {
		t.Errorf("for a German browser the page is in %q", got)
	}
	for _, chosen := range []string{"en", "de"} {
		err := d.store.SetPreferences(t.Context(), d.as("petra"), func(p *models.Preference) { p.Language = chosen })
		if err != nil {
			t.Fatal(err)
		}
		if chosen == "de" {
			petra.headers = map[string]string{"Accept-Language": "en"}
		}
		if got := tag(); got != chosen {
			t.Errorf("who chose %s reads a page in %q", chosen, got)
		}
	}
}

// What the services call things by is found by its form, so a word changed there is missed only here.
func TestExitsCodesAndRolesAreSaidInEveryLanguage(t *testing.T) {
	t.Parallel()
	said := map[string]bool{}
	for _, o := range append(models.Outcomes(), models.Entry{}) {
		if o.Code != "" {
			said[o.Title] = true
		}
		for _, reason := range []models.HandoverReason{models.ReasonNamedError, models.ReasonLoopDetected} {
			for _, moved := range []string{"", "treat_as_non_po"} {
				for _, e := range queue.Exits(o.Code, reason, moved) {
					said[e.Label], said[e.Next], said[e.States] = true, true, true
					for _, f := range e.Fields {
						said[f.Label], said[f.Hint] = true, true
					}
				}
			}
		}
	}
	for _, r := range models.Roles() {
		said[r.Title()] = true
	}
	for _, q := range models.Queues() {
		said[q.Title()] = true
	}
	same := []string{"", "Agent", "ERP"} // in every language
	for _, l := range lang.All()[1:] {
		for text := range said {
			for _, part := range strings.SplitAfter(text, ". ") {
				if part = strings.TrimSpace(part); l.Said(part) == part && !slices.Contains(same, part) {
					t.Errorf("%q is not said in %s", part, l.Tag())
				}
			}
		}
	}
}
