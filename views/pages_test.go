package views_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"
	"github.com/a-h/templ"
	"golang.org/x/net/html"

	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func render(t *testing.T, page templ.Component) *goquery.Document {
	t.Helper()
	var b bytes.Buffer
	if err := page.Render(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(&b)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

// text is what a person reads: block elements stand apart, runs of white space
// are one blank.
func text(s *goquery.Selection) string {
	var b strings.Builder
	var walk func(*html.Node)
	walk = func(n *html.Node) {
		if n.Type == html.TextNode {
			b.WriteString(n.Data)
		}
		apart := n.Type == html.ElementNode && !inline[n.Data]
		if apart {
			b.WriteString(" ")
		}
		for c := n.FirstChild; c != nil; c = c.NextSibling {
			walk(c)
		}
		if apart {
			b.WriteString(" ")
		}
	}
	for _, n := range s.Nodes {
		walk(n)
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

var inline = map[string]bool{"span": true, "bdi": true, "strong": true, "a": true, "wbr": true, "time": true}

func testID(doc *goquery.Document, id string) *goquery.Selection {
	return doc.Find(`[data-testid="` + id + `"]`)
}

func mustSay(t *testing.T, s *goquery.Selection, words ...string) {
	t.Helper()
	all := text(s)
	for _, w := range words {
		if !strings.Contains(all, w) {
			t.Errorf("%q is missing in %q", w, all)
		}
	}
}

func names(form *goquery.Selection) []string {
	var out []string
	form.Find("[name]").Each(func(_ int, s *goquery.Selection) {
		name, _ := s.Attr("name")
		if v, ok := s.Attr("value"); ok && (s.Is("button") || s.Is(`[type="radio"]`)) {
			name += "=" + v
		}
		out = append(out, name)
	})
	return out
}

func sameNames(t *testing.T, form *goquery.Selection, want ...string) {
	t.Helper()
	if form.Length() != 1 {
		t.Fatalf("found %d forms, want one", form.Length())
	}
	if got := strings.Join(names(form), " "); got != strings.Join(want, " ") {
		t.Errorf("the form posts\n%s, want\n%s", got, strings.Join(want, " "))
	}
}

func TestEveryPage(t *testing.T) {
	t.Parallel()
	for name, page := range gallery() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := render(t, page)

			if n := doc.Find("h1").Length(); n != 1 {
				t.Errorf("has %d first-level headings, want one", n)
			}
			if n := doc.Find("main#main").Length(); n != 1 {
				t.Errorf("has %d main landmarks, want one", n)
			}
			if title := doc.Find("title").Text(); !strings.HasSuffix(title, " · apdesk") || len(title) < 12 {
				t.Errorf("has the title %q", title)
			}
			if doc.Find("script:not([src]), style, [style], [onclick], [onload], [onerror]").Length() != 0 {
				t.Error("carries inline script or style, which the content policy forbids")
			}
			if n := doc.Find("script").Length(); n != 1 {
				t.Errorf("loads %d scripts, want one", n)
			}
			doc.Find("form:not([method=dialog])").Each(func(_ int, f *goquery.Selection) {
				action, _ := f.Attr("action")
				if method, _ := f.Attr("method"); method == "get" {
					// What only narrows a list is an address; the token must not end in one.
					if f.Find(`[name="csrf_token"]`).Length() != 0 {
						t.Errorf("the form to %s puts the token into an address", action)
					}
					return
				} else if method != "post" {
					t.Errorf("the form to %s is sent with %q", action, method)
				}
				if token, _ := f.Find(`input[type="hidden"][name="csrf_token"]`).Attr("value"); token != "csrf-sample" {
					t.Errorf("the form to %s carries the token %q", action, token)
				}
				id, outside := f.Attr("id") // its button may stand elsewhere and name it
				outside = outside && doc.Find(`button[type="submit"][form="`+id+`"]`).Length() > 0
				if f.Find(`button[type="submit"]`).Length() == 0 && !outside {
					t.Errorf("the form to %s cannot be sent without script", action)
				}
			})
			doc.Find(`input:not([type="hidden"]), select, textarea`).Each(func(_ int, c *goquery.Selection) {
				id, _ := c.Attr("id")
				if c.ParentsFiltered("label").Length() == 0 && (id == "" || doc.Find(`label[for="`+id+`"]`).Length() != 1) {
					name, _ := c.Attr("name")
					t.Errorf("the control %s has no label", name)
				}
			})
			seen := map[string]bool{}
			doc.Find("[id]").Each(func(_ int, s *goquery.Selection) {
				id, _ := s.Attr("id")
				if seen[id] {
					t.Errorf("the id %s stands twice", id)
				}
				seen[id] = true
			})
			doc.Find("[aria-describedby], [aria-labelledby]").Each(func(_ int, s *goquery.Selection) {
				for _, attr := range []string{"aria-describedby", "aria-labelledby"} {
					refs, _ := s.Attr(attr)
					for _, id := range strings.Fields(refs) {
						if !seen[id] {
							t.Errorf("%s names %s, which is not there", attr, id)
						}
					}
				}
			})
			doc.Find(`a[href^="#"]`).Each(func(_ int, a *goquery.Selection) {
				if href, _ := a.Attr("href"); !seen[strings.TrimPrefix(href, "#")] {
					t.Errorf("a link leads to %s, which is not there", href)
				}
			})
			regions := map[string]bool{}
			doc.Find("[data-live-region]").Each(func(_ int, s *goquery.Selection) {
				name, _ := s.Attr("data-live-region")
				if regions[name] {
					t.Errorf("the live region %s stands twice", name)
				}
				regions[name] = true
				if s.ParentsFiltered("[data-live-region]").Length() > 0 {
					t.Errorf("the live region %s stands inside another", name)
				}
			})
		})
	}
}

func TestEverySignedInPageCanBeLeftAndLeadsAround(t *testing.T) {
	t.Parallel()
	doc := render(t, views.Home(sampleHome()))
	sameNames(t, testID(doc, "workspace-switcher"), "csrf_token", "workspace_id")
	if testID(doc, "sign-out").ParentsFiltered(`form[action="/logout"]`).Length() != 1 {
		t.Error("there is no way to sign out")
	}
	mustSay(t, testID(doc, "signed-in-as"), "Petra Vogel", "procurement, AP clerk")
	mustSay(t, doc.Find("nav.nav"), "Procurement", "4 open", "Approval rules")
	if doc.Find(`a.skip[href="#main"]`).Length() != 1 {
		t.Error("there is no skip link")
	}
	if n := render(t, views.Home(sampleEmptyHome())).Find("[data-testid=workspace-switcher]").Length(); n != 0 {
		t.Error("a person with one workspace is offered a switch")
	}
}

func TestLogin(t *testing.T) {
	t.Parallel()
	doc := render(t, views.Login(sampleLogin()))
	sameNames(t, testID(doc, "login-form"), "csrf_token", "next", "email", "password")
	mustSay(t, testID(doc, "error-summary"), "E-mail or password is wrong.")
	if v, _ := doc.Find(`[name="password"]`).Attr("value"); v != "" {
		t.Errorf("the password comes back as %q", v)
	}
	if doc.Find("nav").Length() != 0 {
		t.Error("there is navigation before sign-in")
	}
}

func TestHome(t *testing.T) {
	t.Parallel()
	doc := render(t, views.Home(sampleHome()))
	mustSay(t, testID(doc, "queue-count-procurement"), "Procurement", "4 open")
	mustSay(t, testID(doc, "my-cases"), "INV-778", "you")
	mustSay(t, testID(doc, "my-approvals"), "Post the price difference on INV-778", "1,234.50 EUR", "0 of 1")
	mustSay(t, testID(doc, "overdue-holds"), "overdue by 26 h", "18,400.00 EUR")
	mustSay(t, testID(doc, "report-overdue"), "No report has come for 22 min")
	mustSay(t, testID(doc, "expiring"), "expires")
	mustSay(t, testID(doc, "flash"), "You released case INV-780.")

	empty := render(t, views.Home(sampleEmptyHome()))
	mustSay(t, empty.Find("main"), "You have claimed nothing", "No approval waits for you", "No re-check is overdue")
}

func TestQueue(t *testing.T) {
	t.Parallel()
	doc := render(t, views.Queue(sampleQueue()))
	rows := testID(doc, "case-row")
	if rows.Length() != 4 {
		t.Fatalf("%d rows, want 4", rows.Length())
	}
	first := rows.First()
	mustSay(t, first, "overdue by 1 h", "PO is closed", "PO_CLOSED", "INV-778", "Nordwind GmbH", "1,234.50 EUR", "you", "27 h", "invoice-agent")
	if at, _ := first.Find("time").First().Attr("title"); at != "Mon 5 Oct 2026, 10:00:00 (Europe/Berlin)" {
		t.Errorf("the due time is %q on hover", at)
	}
	if href, _ := first.Find("a").Attr("href"); href != "/cases/case_01k6v8a" {
		t.Errorf("the row leads to %q", href)
	}
	mustSay(t, rows.Eq(1), longSupplier, "123,456,789,012,345,678.90 EUR", "Jonas Weber")
	if href, _ := testID(doc, "pager-next").Attr("href"); href != "/queues/procurement?after=abc" {
		t.Errorf("the next page is %q", href)
	}
	if cur, _ := testID(doc, "filter-open").Attr("aria-current"); cur != "page" {
		t.Error("the chosen state is not marked")
	}
	mustSay(t, testID(render(t, views.Queue(sampleEmptyQueue())), "empty"), "Nothing is waiting here")
}

func TestTheCasePageShowsWhatIsNeededToJudge(t *testing.T) {
	t.Parallel()
	doc := render(t, views.Case(sampleCase()))
	mustSay(t, doc.Find("h1"), "PO is closed: INV-778")
	mustSay(t, testID(doc, "case-status"), "open")
	mustSay(t, testID(doc, "case-claim"), "Claimed by you until 12:00")
	mustSay(t, testID(doc, "mark"), "no corrected retry")
	mustSay(t, testID(doc, "earlier-decision"), "Jonas Weber decided the same error 3 h ago", "Buyer confirmed")
	mustSay(t, testID(doc, "invoice"), "INV-778", "Nordwind GmbH", "V-2001", "1,234.50 EUR", "4500018822", "3 Oct 2026", "shown to master data")
	mustSay(t, testID(doc, "agent-words"), "written by invoice-agent", "100 of 200 brackets", "Reopen the PO", "second delivery")
	seen := testID(doc, "seen-error")
	mustSay(t, seen.Last(), "PO is closed", "PO_CLOSED", "was closed on 2026-09-30", "Closed by", "m.brandt", "hand over to a person")
	mustSay(t, testID(doc, "proposed-calls"), "post_invoice_adjustment", "posting_date", "2026-10-05", "gl_account", "400100")
	mustSay(t, testID(doc, "timeline"), "Petra Vogel", "claimed the case", "invoice-agent", "over MCP", "routed the case")
	mustSay(t, testID(doc, "comments"), "Petra Vogel 4 min ago", "line 20 is still expected")
}

func TestEachKindOfEvidenceHasItsOwnRendering(t *testing.T) {
	t.Parallel()
	doc := render(t, views.Case(sampleCase()))

	record := testID(doc, "evidence-record")
	mustSay(t, record.Find("dl"), "Closed by", "m.brandt", "Backup", "Jonas Weber")
	mustSay(t, record.Find("dl table"), "Material", "Steel brackets M8", "200")
	if record.Find("details.as-sent").Length() != 1 {
		t.Error("the raw JSON is not at hand")
	}

	comparison := testID(doc, "evidence-comparison")
	mustSay(t, comparison, "This invoice", "Invoice 5105600098", "6 of 10 fields differ")
	for key, words := range map[string]string{
		"Number":            "Number INV-778 inv 778 ≠ differs",
		"Normalised number": "Normalised number INV778 INV778 same",
		"Payment date":      "Payment date not given 2026-09-28 ◨ only right",
	} {
		row := comparison.Find("tr").FilterFunction(func(_ int, s *goquery.Selection) bool { return text(s.Find("th")) == key })
		if got := text(row); got != words {
			t.Errorf("the row reads %q, want %q", got, words)
		}
	}
	if n := comparison.Find(".compare__flag").Length(); n != 6 {
		t.Errorf("%d rows are marked in words, want 6", n)
	}

	mustSay(t, testID(doc, "evidence-table").Find("table"), "Ordered", "254.50 EUR, 25.9 %")
	mustSay(t, testID(doc, "evidence-note").Find("p"), "the brackets were delivered on 1 October.")
	link := testID(doc, "evidence-link").Find("a")
	if rel, _ := link.Attr("rel"); rel != "noopener noreferrer nofollow" {
		t.Errorf("a foreign link has rel %q", rel)
	}
	mustSay(t, testID(doc, "evidence-link"), "leads to erp.example.com")
	mustSay(t, testID(doc, "evidence-file"), "lieferschein-4500018822.pdf", "182 kB")
}

func TestTheDecisionFormPostsTheContractsFields(t *testing.T) {
	t.Parallel()
	doc := render(t, views.Case(sampleCase()))
	form := testID(doc, "decision-form")
	sameNames(t, form, "csrf_token", "version", "exit=reopen_po", "exit=use_other_po", "input.po_id", "exit=treat_as_non_po",
		"exit=hold_for_statement", "input.until", "exit=short_pay", "input.amount", "exit=reject_invoice", "reason")
	if v, _ := form.Find(`[name="version"]`).Attr("value"); v != "3" {
		t.Errorf("the form carries version %q", v)
	}
	if typ, _ := form.Find(`[name="input.until"]`).Attr("type"); typ != "date" {
		t.Errorf("until is asked for with type %q", typ)
	}
	exit := form.Find(`[data-exit="use_other_po"]`)
	mustSay(t, exit, "Use another PO", "The agent calls again with the PO you name.", "PO number")
	mustSay(t, form.Find(`[data-exit="reopen_po"]`), "the agent suggests this", "open again in the ERP")
	if form.Find(`[data-exit-fields] [required], [data-exit-fields][hidden], textarea[required]`).Length() != 0 {
		t.Error("without script the form insists on fields of exits that were not chosen, or hides them")
	}
	if testID(doc, "exit-reopen_po").Length() != 1 {
		t.Error("the exit has no test id")
	}
	proposed := testID(render(t, views.Case(refusedCase())), "proposed-form")
	sameNames(t, proposed,
		"proposed.0", "proposed.0.amount", "proposed.0.currency", "proposed.0.posting_date", "proposed.0.document_type", "proposed.0.cost_centre", "proposed.0.summary",
		"proposed.1", "proposed.1.amount", "proposed.1.currency", "proposed.1.posting_date", "proposed.1.document_type", "proposed.1.cost_centre", "proposed.1.summary")
	if proposed.Find("[required]").Length() != 0 {
		t.Error("the form insists on what only a tick asks for")
	}
	sameNames(t, testID(doc, "comment-form"), "csrf_token", "text")
	release := testID(doc, "release").ParentsFiltered("form")
	if action, _ := release.Attr("action"); action != "/cases/case_01k6v8a/release" {
		t.Errorf("release goes to %q", action)
	}
	if testID(doc, "claim").Length()+testID(doc, "take-over").Length() != 0 {
		t.Error("what cannot be done is offered")
	}
}

func TestTwoExitsMayAskForTheSameInput(t *testing.T) {
	t.Parallel()
	p := sampleCase()
	field := []ui.Field{{Name: "input.supplier_id", Label: "Supplier", Required: true}}
	p.Decision.Exits = []views.Exit{{Code: "link_supplier", Label: "Link", Fields: field}, {Code: "supplier_created", Label: "Created", Fields: field}}
	doc := render(t, views.Case(p))
	for _, exit := range p.Decision.Exits {
		id := exit.FieldID("input.supplier_id")
		if doc.Find(`[id="`+id+`"]`).Length() != 1 || doc.Find(`label[for="`+id+`"]`).Length() != 1 {
			t.Errorf("%s has no field and label of its own", exit.Code)
		}
	}
}

func TestARefusedDecisionKeepsWhatWasTypedAndSaysWhatChanged(t *testing.T) {
	t.Parallel()
	doc := render(t, views.Case(refusedCase()))
	mustSay(t, testID(doc, "error-summary"), "The case was not decided", "no open PO 450001")
	mustSay(t, testID(doc, "changed-since"), "nothing was decided", "handed over again with two more errors", "Jonas Weber commented")
	if v, _ := doc.Find(`[name="input.po_id"]`).Attr("value"); v != "450001" {
		t.Errorf("the PO came back as %q", v)
	}
	if v := doc.Find(`[name="reason"]`).Text(); v != "Brackets belong to the follow-up order." {
		t.Errorf("the reason came back as %q", v)
	}
	if _, ok := testID(doc, "exit-use_other_po").Attr("checked"); !ok {
		t.Error("the chosen exit is no longer chosen")
	}
	input := doc.Find(`[name="input.po_id"]`)
	if invalid, _ := input.Attr("aria-invalid"); invalid != "true" {
		t.Error("the wrong field is not marked")
	}
}

func TestASecondDecisionIsToldWhoWasFasterAndKeepsTheText(t *testing.T) {
	t.Parallel()
	doc := render(t, views.Case(lateCase()))
	mustSay(t, testID(doc, "conflict"), "This was decided by Jonas Weber 2 min ago: use another PO.", "Follow-up order exists.", "Nothing you sent was recorded.")
	mustSay(t, testID(doc, "typed-kept"), "Buyer confirmed <b>the rest</b>.")
	mustSay(t, testID(doc, "instruction"), "Use another PO", "Call again with the corrected input.", "4500018901")
	mustSay(t, testID(doc, "why-not"), "This case is resolved.")
	if testID(doc, "decision-form").Length() != 0 {
		t.Error("a resolved case can be decided")
	}
}

func TestTheApprovalPageShowsTheExactCall(t *testing.T) {
	t.Parallel()
	doc := render(t, views.Approval(sampleApproval()))
	mustSay(t, testID(doc, "approval-status"), "waiting for a decision")
	mustSay(t, testID(doc, "amount"), "1,234.50 EUR")
	mustSay(t, testID(doc, "amount-in-words"), "one thousand two hundred thirty-four EUR and 50/100")
	mustSay(t, testID(doc, "exact-call"), "Post an adjustment of 1,234.50 EUR on invoice 5105600123", "post_invoice_adjustment",
		"invoice_id", "supplier_id", "V-2001", "gl_account", "473000", "notify yes", "by empty list", "until none", "/amount")
	mustSay(t, testID(doc, "who-decides"), "One yes of a finance lead", "Rule 7, version 3", "Ines Roth (you)", "corrected a case of this invoice")
	sameNames(t, testID(doc, "vote-form"), "csrf_token", "version", "reason", "decision=approve", "decision=reject")
	sameNames(t, testID(doc, "send-back-form"), "decision", "csrf_token", "version", "input.amount", "reason")
	mustSay(t, testID(doc, "approve"), "Approve 1,234.50 EUR")
}

func TestACallThatRanBeforeAsksForASecondStep(t *testing.T) {
	t.Parallel()
	doc := render(t, views.Approval(repeatedApproval()))
	mustSay(t, testID(doc, "redeemed-before"), "carried out before", "document 5100001234")
	form := testID(doc, "vote-form")
	sameNames(t, form, "csrf_token", "version", "second_step", "reason", "decision=approve", "decision=reject")
	mustSay(t, testID(doc, "amount"), "123,456,789,012,345,678.90 EUR")
}

func TestASpentApprovalShowsItsProofAndNoForm(t *testing.T) {
	t.Parallel()
	doc := render(t, views.Approval(spentApproval()))
	mustSay(t, testID(doc, "grant"), "apr_…9f2c", "used", "6 Oct 2026, 10:30", "by erp-posting", "posted")
	mustSay(t, testID(doc, "document-number"), "5100001234")
	mustSay(t, testID(doc, "vote"), "Ines Roth", "finance lead", "yes", "in the browser")
	mustSay(t, testID(doc, "why-not"), "You approved this")
	if testID(doc, "vote-form").Length() != 0 {
		t.Error("a decided request can be voted on")
	}
}

func TestHolds(t *testing.T) {
	t.Parallel()
	mustSay(t, testID(render(t, views.Holds(sampleHoldsPage())), "hold-row").First(), "overdue", "Goods receipt missing", "GR_MISSING", "line 10", "1 of 5", "still missing")
	doc := render(t, views.Hold(sampleHold()))
	mustSay(t, testID(doc, "hold-status"), "overdue")
	checks := testID(doc, "check")
	if checks.Length() != 2 {
		t.Fatalf("%d checks, want 2", checks.Length())
	}
	mustSay(t, checks.Last(), "not made", "missed", "nobody")
	mustSay(t, doc.Find(".case__bar"), "overdue by 26 h", "1 of 5 checks left")
}

func TestSettings(t *testing.T) {
	t.Parallel()
	doc := render(t, views.Settings(sampleSettings()))
	mustSay(t, testID(doc, "period-closed-through"), "30 Sep 2026")
	sameNames(t, testID(doc, "period-form"), "csrf_token", "period_closed_through")
	sameNames(t, testID(doc, "holiday-form"), "csrf_token", "day")
	mustSay(t, testID(doc, "binding-row").First(), "post_invoice_adjustment", "/posting_date")

	rules := render(t, views.Rules(sampleRules()))
	mustSay(t, testID(rules, "rule-row").Eq(1), "10,000.01 EUR", "100,000.00 EUR", "finance lead", "then AP lead", "Edit Rule 9QW4ZT")
	mustSay(t, testID(rules, "rule-row").Eq(2), "250,000.00 EUR", "two together", "too few people for it now")
	mustSay(t, testID(rules, "findings"), "Nobody decides EUR 100,000.01 to 149,999.99", "only Ines Roth is there for it")
	sameNames(t, testID(rules, "rule-form"), "csrf_token", "tool", "document_type", "supplier", "cost_centre", "currency", "from", "to", "required", "valid", "role", "person", "then_role", "then_person")
}

func TestAProblemQuotesTheRequestAndSaysWhatToDo(t *testing.T) {
	t.Parallel()
	doc := render(t, views.Problem(sampleProblem()))
	mustSay(t, testID(doc, "problem"), "404", "There is nothing here", "Switch the workspace", "Your desk")
	mustSay(t, testID(doc, "request-id"), "req_01k6vc3")
	before := sampleProblem()
	before.Page.Person = nil
	if n := render(t, views.Problem(before)).Find("nav").Length(); n != 0 {
		t.Error("a person who is not signed in is led around")
	}
}

func TestHostileTextIsHarmless(t *testing.T) {
	t.Parallel()
	for name, page := range gallery() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc := render(t, page)
			if n := doc.Find("img:not(.file__image), iframe:not(.file__page), object, embed, b, i, svg, meta[http-equiv], base").Length(); n != 0 {
				t.Errorf("text from outside became %d elements", n)
			}
			doc.Find("[href], [src], [action]").Each(func(_ int, s *goquery.Selection) {
				for _, attr := range []string{"href", "src", "action"} {
					v, _ := s.Attr(attr)
					if strings.Contains(strings.ToLower(v), "javascript:") {
						t.Errorf("%s is %q", attr, v)
					}
				}
			})
			page, _ := doc.Html()
			for _, r := range page {
				if strings.ContainsRune("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\u200e\u200f\ufeff", r) {
					t.Errorf("the unseen character %U got through", r)
				}
			}
		})
	}
	rows := testID(render(t, views.Queue(sampleQueue())), "case-row")
	mustSay(t, rows.Eq(2), "INV-U+202E001U+202C-2026", `Nordwind <script>alert("paid")</script> GmbH`)
	mustSay(t, rows.Eq(3), "AcmeU+200B Ltd")
	mark := rows.Eq(2).Find(".mark").First()
	if name, _ := mark.Attr("title"); name != "right-to-left override" {
		t.Errorf("the mark is called %q", name)
	}
}

func TestLongTextIsNeverCut(t *testing.T) {
	t.Parallel()
	p := sampleCase()
	long := strings.Repeat("The buyer said nothing about line 20. ", 3000) + "THE LAST WORD"
	p.Handovers[0].Explanation = ui.Foreign(long)
	mustSay(t, testID(render(t, views.Case(p)), "agent-words"), "THE LAST WORD")
}

func TestEveryStatusHasItsOwnWords(t *testing.T) {
	t.Parallel()
	seen := map[string]int{}
	for _, status := range []int{400, 403, 404, 405, 409, 413, 422, 429, 500, 503} {
		p := views.ProblemWords(status)
		if p.Heading == "" || p.Text == "" || p.URL == "" {
			t.Errorf("%d says %+v", status, p)
		}
		if other, ok := seen[p.Heading]; ok {
			t.Errorf("%d and %d say the same", status, other)
		}
		seen[p.Heading] = status
	}
}
