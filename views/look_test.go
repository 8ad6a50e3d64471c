package views_test

import (
	"strings"
	"testing"

	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// ownFacts is by code where the facts stand that decide a case of it.
var ownFacts = map[string]string{
	"INVOICE_NOT_FOUND":  "[data-testid=deciding] [data-testid=seen-error]",
	"PO_NOT_FOUND":       "[data-testid=deciding] [data-testid=seen-error]",
	"SUPPLIER_NOT_FOUND": "[data-testid=deciding] [data-testid=evidence-comparison] tbody tr",
	"GR_MISSING":         "[data-testid=deciding] [data-testid=match-line]",
	"PO_CLOSED":          "[data-testid=deciding] [data-testid=evidence-record] dd",
	"DUPLICATE_INVOICE":  "[data-testid=deciding] [data-testid=evidence-comparison] tbody tr",
	"APPROVER_NOT_FOUND": "[data-testid=deciding] [data-testid=unrouted-request] dd",
	"PERIOD_CLOSED":      "[data-testid=deciding] [data-testid=seen-error]",
}

func TestFactsOfTheCodeStandFirst(t *testing.T) {
	t.Parallel()
	for _, code := range stopCodes {
		doc := render(t, views.Case(stopped(code)))
		first := doc.Find(".case__main").Find("[data-testid=agent-words], [data-testid=invoice], [data-testid=duplicates], " + ownFacts[code]).First()
		if !first.Is(ownFacts[code]) {
			t.Errorf("%s: %q stands before the facts of the code", code, text(first))
		}
		for _, after := range []string{"files", "comments", "duplicates", "earlier-handovers"} {
			if testID(doc, after).ParentsFiltered(".case__main").Length() > 0 {
				t.Errorf("%s: %s stands before the decision", code, after)
			}
		}
	}
}

// Nothing an agent brought is lost, or shown twice, whatever the code.
func TestEveryPartOfAStopIsShownOnce(t *testing.T) {
	t.Parallel()
	for _, code := range append([]string{"", "TOLERANCE_EXCEEDED", "APPROVAL_MISSING"}, stopCodes...) {
		p := sampleCase()
		p.Code, p.Match = ui.Foreign(code), weighedApproval().Match
		doc := render(t, views.Case(p))
		for id, want := range map[string]int{"duplicates": 1, "match": 1, "unrouted-request": 1, "seen-error": 2, "agent-words": 2, "proposed-calls": 1,
			"evidence-record": 1, "evidence-comparison": 1, "evidence-table": 1, "evidence-note": 1, "evidence-link": 1, "evidence-file": 1} {
			if n := testID(doc, id).Length(); n != want {
				t.Errorf("%s: %s stands %d times, want %d", code, id, n, want)
			}
		}
		if testID(doc, "deciding").Children().Length() == 0 {
			t.Errorf("%s: nothing stands before the decision", code)
		}
	}
	none := sampleCase()
	none.Handovers, none.Match, none.Search, none.Duplicates = none.Handovers[1:], nil, nil, nil
	mustSay(t, testID(render(t, views.Case(none)), "deciding"), "It sent neither errors nor evidence with this.")
	none.Handovers = nil
	mustSay(t, testID(render(t, views.Case(none)), "deciding"), "It sent neither errors nor evidence with this.")
}

// An answer to a question comes as a handover without errors; the facts stay those of the stop.
func TestAnAnswerLeavesTheFactsWhereTheyAre(t *testing.T) {
	t.Parallel()
	p := stopped("PO_CLOSED")
	p.Handovers = append([]views.HandoverView{{At: ago(1), Agent: "invoice-agent", Asks: "Who closed it?", Answer: "Mia Brandt did."}}, p.Handovers...)
	doc := render(t, views.Case(p))
	mustSay(t, testID(doc, "deciding"), "m.brandt")
	words := doc.Find(".case__main [data-testid=agent-words]")
	if words.Length() != 2 || !strings.Contains(text(words.First()), "Mia Brandt did.") {
		t.Errorf("before the decision stand %d words of the agent, first %q", words.Length(), text(words.First()))
	}
	if earlier := testID(doc, "earlier-handovers"); !strings.Contains(text(earlier), "The first time.") || strings.Contains(text(earlier), "Mia Brandt") {
		t.Errorf("the earlier handovers read %q", text(earlier))
	}
}

const firstLook = `(facts, decision) => [facts, decision].map((s) => {
	const e = document.querySelector(s);
	return e ? Math.round(e.getBoundingClientRect().top + scrollY) : 99999;
})`

func TestWhatDecidesIsSeenWithoutScrolling(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	b := browse(t)
	d := openDesk(t, views.Home(sampleHome()))
	look := map[string][2]string{
		"approval-weighed": {"[data-testid=match-verdict]", "#decision .panel__title"},
		"approval":         {"[data-testid=amount]", "#decision .panel__title"},
		"confirmation":     {"[data-testid=question]", "#answer .panel__title"},
	}
	for _, code := range stopCodes {
		look["stop-"+code] = [2]string{ownFacts[code], "#decision .panel__title"}
	}
	p := open(t, b, d.URL+"/gallery/home", 1280)
	for name, at := range look {
		for _, lang := range []string{"en", "de"} {
			p.MustSetViewport(1280, 900, 1, false)
			p.MustNavigate(d.URL + "/gallery/" + name + "?lang=" + lang).MustWaitLoad()
			y := p.MustEval(firstLook, at[0], at[1]).Arr()
			if facts, decision := y[0].Int(), y[1].Int(); facts >= 900 || decision >= 900 {
				t.Errorf("%s in %s: the facts begin at %d px and the decision at %d, want both within 900", name, lang, facts, decision)
			}
			for _, narrow := range []int{380, 320} {
				p.MustSetViewport(narrow, 900, 1, false)
				y := p.MustEval(firstLook, at[0], at[1]).Arr()
				if facts, decision := y[0].Int(), y[1].Int(); facts >= decision {
					t.Errorf("%s in %s at %d px: the facts begin at %d px and the decision before them, at %d", name, lang, narrow, facts, decision)
				}
			}
		}
	}
}
