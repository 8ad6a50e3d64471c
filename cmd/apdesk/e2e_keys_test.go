package main_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-rod/rod/lib/input"
	"github.com/go-rod/rod/lib/proto"
)

// typist works a window by keys alone and counts the strokes; what is typed as text counts none.
type typist struct {
	*window
	strokes int
}

func (k *typist) press(keys ...rune) {
	k.t.Helper()
	for _, key := range keys {
		k.page.Keyboard.MustType(input.Key(key))
		k.strokes++
	}
}

// send presses Ctrl and Enter and waits for the page that follows.
func (k *typist) send() {
	k.t.Helper()
	arrived := k.page.WaitNavigation(proto.PageLifecycleEventNameLoad)
	k.page.KeyActions().Press(input.ControlLeft).Type(input.Enter).MustDo()
	arrived()
	k.strokes++
}

// arrive presses a key that leads to another page.
func (k *typist) arrive(key rune) {
	k.t.Helper()
	arrived := k.page.WaitNavigation(proto.PageLifecycleEventNameLoad)
	k.press(key)
	arrived()
}

func (k *typist) write(text string) {
	k.t.Helper()
	k.page.MustInsertText(text)
}

// focused is the test id, else the name, of what has the focus.
func (w *window) focused() string {
	w.t.Helper()
	return w.page.MustEval(`() => { const a = document.activeElement; return a.dataset.testid || a.getAttribute("name") || a.className || a.tagName }`).Str()
}

// arrivedAtTheDecision fails unless the focus is on the head of the decision, where a screen reader tells what was
// just done, and the page stands where it begins.
func (w *window) arrivedAtTheDecision(says string) {
	w.t.Helper()
	at := w.page.MustEval(`() => { const a = document.activeElement; const told = document.getElementById(a.getAttribute("aria-describedby")); return [a.id, told ? told.textContent : "", String(scrollY)].join("|") }`).Str()
	if !strings.HasPrefix(at, "decide-title|") || !strings.Contains(at, says) || !strings.HasSuffix(at, "|0") {
		w.t.Errorf("the focus is at %q", at)
	}
}

// prefers sets what a person likes by the form.
func (w *window) prefers(after string) {
	w.t.Helper()
	w.visit("/settings/me")
	w.page.MustElement("[name=after_decision][value=" + after + "]").MustClick()
	w.follow("save-preferences")
	w.shows("flash", "How you work is saved")
}

func TestFromAnOpenQueueToTheNextCaseInFiveKeys(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	agent := c.as(c.agent)
	for _, x := range []struct {
		code, next, queue string
		who               cast
		details           object
		exit, field       string // the commonest exit, and what is typed into its field
	}{
		{"PO_CLOSED", "route_to_person", "procurement", petra, object{"po_id": "4500018822"}, "reopen_po", ""},
		{"DUPLICATE_INVOICE", "route_to_person", "ap", anna, object{"duplicate_of": "5105600099"}, "confirm_duplicate", ""},
		{"APPROVER_NOT_FOUND", "route_to_person", "ap_lead", lars, object{}, "name_approver", fiona.email},
		{"PERIOD_CLOSED", "stop_and_escalate", "finance", fiona, object{}, "post_next_period", "2026-12-30"},
		{"SUPPLIER_NOT_FOUND", "fix_input_and_retry", "master_data", mona, object{}, "link_supplier", "V-2002"},
		{"PO_NOT_FOUND", "fix_input_and_retry", "ap", anna, object{}, "correct_po", "4500018804"},
		{"INVOICE_NOT_FOUND", "fix_input_and_retry", "ap", anna, object{}, "correct_id", "5105600777"},
		{"GR_MISSING", "hold_and_recheck", "ap", anna, object{"po_id": "4500018822"}, "receipt_confirmed", ""},
	} {
		var ids []string
		for i := range 2 {
			n := 100 + len(x.code)*10 + i
			stop := stopped(invoice(n, "100.00"), x.code, x.next, x.details)
			if x.code == "GR_MISSING" {
				stop["reason"] = "retry_exhausted" // by itself it is held, and comes to people once the waiting is over
			}
			ids = append(ids, agent.handOver(t, stop))
		}
		w := c.signedIn(t, x.who)
		w.prefers("next")
		w.visit("/queues/" + x.queue + "?code=" + x.code)
		k := &typist{window: w}
		k.press('j')
		k.arrive('\r')
		if !strings.HasPrefix(w.path(), "/cases/"+ids[0]) {
			t.Fatalf("%s: the first row led to %s", x.code, w.path())
		}
		choice := w.has("exit-" + x.exit)
		number := choice.MustEval(`() => 1 + Array.from(document.querySelectorAll("[name=exit]")).indexOf(this)`).Int()
		k.press(rune('0' + number))
		if x.field == "" {
			k.press('r')
		} else {
			if strings.Contains(x.field, "-12-") {
				w.page.MustEval(`(value) => { document.activeElement.value = value }`, x.field)
			} else {
				k.write(x.field)
			}
			k.press('\r')
		}
		if at := w.focused(); at != "reason" {
			t.Fatalf("%s: before the reason is typed the focus is on %s", x.code, at)
		}
		k.write("Looked at with the supplier. j 1 c ? u")
		k.send()
		if !strings.HasPrefix(w.path(), "/cases/"+ids[1]) {
			t.Errorf("%s: after the decision the page is %s, want the next case %s", x.code, w.path(), ids[1])
			continue
		}
		if k.strokes > 5 {
			t.Errorf("%s: it took %d keys", x.code, k.strokes)
		}
		w.shows("flash", "recorded", "INV-")
		w.arrivedAtTheDecision("recorded")
		if got := agent.get(t, "/cases/"+ids[0]).text("resolution", "exit"); got != x.exit {
			t.Errorf("%s: decided by %q, want %s", x.code, got, x.exit)
		}
		k.arrive('u')
		if !strings.HasPrefix(w.path(), "/queues/"+x.queue) || !strings.Contains(w.path(), "code="+x.code) {
			t.Errorf("%s: u led to %s, want the list with its filter", x.code, w.path())
		}
		for id, exit := range map[string]string{ids[1]: x.exit} {
			agentFields := map[string]string{}
			w.visit("/cases/" + id + "?from=" + "/queues/" + x.queue + "%3Fcode%3D" + x.code)
			if x.field != "" {
				agentFields[w.has("exit-"+exit).MustEval(`() => this.closest(".exit").querySelector("[name^='input.']").name.slice(6)`).Str()] = x.field
			}
			w.decide(exit, "Same again.", agentFields)
			w.has("nothing-left")
			w.shows("flash", "recorded")
		}
	}
}

func TestAnApprovalIsDecidedByKeysAndNeverByOne(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	agent := c.as(c.agent)
	first := agent.ask(t, approvalOf(invoice(61, "7350.25")))
	second := agent.ask(t, approvalOf(invoice(62, "120.00")))

	w := c.signedIn(t, fiona)
	w.prefers("next")
	k := &typist{window: w}
	w.visit("/approvals")
	k.press('j')
	k.arrive('\r')
	if !strings.HasPrefix(w.path(), "/approvals/"+first) {
		t.Fatalf("the first row led to %s", w.path())
	}
	// Nothing is armed, so nothing is sent.
	k.page.KeyActions().Press(input.ControlLeft).Type(input.Enter).MustDo()
	w.page.MustElementR("[data-testid=vote-form] [data-armed-words]", "get ready to approve")
	k.press('e')
	w.page.MustElementR("[data-testid=vote-form] [data-armed-words]", "Reject")
	if at := w.focused(); at != "reason" {
		t.Errorf("e led to %s", at)
	}
	k.press(rune(input.Escape), 'a')
	w.page.MustElementR("[data-testid=vote-form] [data-armed-words]", "Approve")
	if got := agent.get(t, "/approval-requests/"+first).text("status"); got != "pending" {
		t.Errorf("single keys made it %s", got)
	}
	k.write("As agreed.")
	k.send()
	if got := agent.get(t, "/approval-requests/"+first).text("status"); got != "approved" {
		t.Errorf("the request is %s, want approved", got)
	}
	if !strings.HasPrefix(w.path(), "/approvals/"+second) {
		t.Errorf("after the vote the page is %s, want the next request", w.path())
	}
	w.shows("flash", "7,350.25 EUR", "Your yes is recorded")
}

func TestTheSheetListsTheKeysAndTheyCanBeSwitchedOff(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	c.as(c.agent).handOver(t, poClosed(781))
	w := c.signedIn(t, petra)
	k := &typist{window: w}

	w.visit("/queues/procurement")
	k.press('?')
	if !w.has("keys").MustVisible() {
		t.Fatal("? opens no sheet")
	}
	w.shows("keys", "the next row", "claim the row’s case", "go to approvals")
	if off := w.has("keys").MustEval(`() => { const r = this.getBoundingClientRect(); return Math.round(Math.max(Math.abs(r.left - (innerWidth - r.right)), Math.abs(r.top - (innerHeight - r.bottom)))) }`).Int(); off > 20 {
		t.Errorf("the sheet stands %d pixels beside the middle of the window", off)
	}
	k.press(rune(input.Escape))
	k.press('c')
	k.press('j', 'c')
	w.page.MustElementR("[data-say]", "You claimed this case")
	w.page.MustElementR("[data-testid=case-row]", "you")
	if !strings.HasPrefix(w.path(), "/queues/procurement") {
		t.Errorf("claiming in the list led to %s", w.path())
	}
	if at := w.focused(); at != "cases__link" {
		t.Errorf("after the list was refreshed the focus is on %s", at)
	}
	// On the case's own page what was pressed is gone with the page; the next act is at hand, and said.
	k.arrive('o')
	w.follow("release")
	k.arrive('c')
	w.arrivedAtTheDecision("You claimed this case")
	// Also what a search finds, and what the desk tells, are rows.
	w.visit("/search?q=INV-781")
	k.press('j')
	if at := w.focused(); at != "hit__link" {
		t.Errorf("in what a search found j led to %s", at)
	}
	k.arrive('o')
	if strings.HasPrefix(w.path(), "/search") {
		t.Errorf("o left the page at %s", w.path())
	}
	k.press('g')
	k.arrive('a')
	if w.path() != "/approvals" {
		t.Errorf("g a led to %s", w.path())
	}
	k.press('/')
	if at := w.page.MustEval(`() => document.activeElement.type`).Str(); at != "search" {
		t.Errorf("/ led to a field of type %s", at)
	}
	k.press('g', 'h', 'j')
	if got := w.page.MustEval(`() => document.activeElement.value`).Str(); got != "ghj" {
		t.Errorf("keys typed into a field arrived as %q", got)
	}

	w.visit("/settings/me")
	w.has("shortcuts-on").MustClick()
	w.follow("save-preferences")
	w.visit("/queues/procurement")
	w.lacks("keys")
	k.press('j', '?')
	if at := w.focused(); at == "cases__link" {
		t.Error("j still moves the focus")
	}
	w.follow("shortcuts-link")
	w.shows("shortcuts", "You have switched shortcuts off", "claim the row’s case", "decide")
}

func TestTheFocusStaysThroughALiveUpdate(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	agent := c.as(c.agent)
	first := agent.handOver(t, poClosed(791))
	id := agent.handOver(t, poClosed(792))
	w := c.signedIn(t, petra)
	w.visit("/queues/procurement")
	k := &typist{window: w}
	k.press('j', 'j')
	third := agent.handOver(t, poClosed(793))
	w.page.MustElement("tr[data-case='" + third + "']")
	on := w.page.MustEval(`() => document.activeElement.closest("tr") && document.activeElement.closest("tr").dataset.case`).Str()
	if on != id {
		t.Errorf("after a new case came the focus is in the row of %q, want %s", on, id)
	}
	if w.page.MustElement("[data-live-bar]").MustVisible() {
		t.Error("the list asks to be refreshed although it is fresh")
	}
	// With ticks the list waits to be refreshed, and then keeps both: the ticks, and the focus in its row.
	k.press('k', 'x', 'j', 'x')
	fourth := agent.handOver(t, poClosed(794))
	w.page.MustElement("[data-live-bar]").MustWaitVisible()
	k.arrive('R')
	w.page.MustElement("tr[data-case='" + fourth + "']")
	if got := w.page.MustEval(`() => Array.from(document.querySelectorAll("[name=case]:checked")).map((b) => b.value).sort().join(" ")`).Str(); got != strings.Join(slices.Sorted(slices.Values([]string{first, id})), " ") {
		t.Errorf("after refreshing %q are ticked, want those of %s and %s", got, first, id)
	}
	if on := w.page.MustEval(`() => document.activeElement.closest("tr") && document.activeElement.closest("tr").dataset.case`).Str(); on != id {
		t.Errorf("after refreshing the focus is in the row of %q, want %s", on, id)
	}
	k.press('k', 'j')
	k.arrive('o')
	if !strings.HasPrefix(w.path(), "/cases/"+id) {
		t.Errorf("the row led to %s", w.path())
	}
	// On the case the bar keeps off the field that is written in, wherever that stands.
	for _, size := range [][2]int{{1280, 900}, {380, 700}} {
		w.resize(size[0], size[1])
		reason := w.page.MustElement("[data-testid=decision-form] [name=reason]")
		for _, at := range []string{"end", "start", "center"} {
			covered := reason.MustEval(`(at) => { this.focus(); this.scrollIntoView({ block: at }); const bar = document.querySelector("[data-live-bar]"); bar.hidden = false;
				window.dispatchEvent(new Event("resize")); const a = bar.getBoundingClientRect(), b = this.getBoundingClientRect();
				return a.height > 0 && a.top < b.bottom && b.top < a.bottom && a.left < b.right && b.left < a.right }`, at).Bool()
			if covered {
				t.Errorf("at %d pixels, scrolled to its %s, the field with the focus is covered by the bar", size[0], at)
			}
		}
	}
	w.resize(1280, 900)
	k.press(rune(input.Escape))
	// Back in the list the row is still the current one.
	k.arrive('u')
	if row := w.page.MustElement(`a[aria-current="true"].cases__link`).MustEval(`() => this.closest("tr").dataset.case`).Str(); row != id {
		t.Errorf("the current row is that of %s, want %s", row, id)
	}
}

func TestTwoPeopleSeeEachOtherOnACase(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	id := c.as(c.agent).handOver(t, poClosed(795))
	first, list, second := c.signedIn(t, petra), c.signedIn(t, paul), c.signedIn(t, paul)
	first.visit("/cases/" + id)
	list.visit("/queues/procurement")
	list.page.MustElementR("tr[data-case='"+id+"']", petra.name+" is looking at this")
	second.visit("/cases/" + id)
	second.page.MustElementR("[data-testid=presence]", petra.name+" is looking at this")
	first.page.MustElementR("[data-testid=presence]", paul.name+" is looking at this")
	first.page.MustElement("[name=reason]").MustInput("The delivery is")
	second.page.MustElementR("[data-testid=presence]", petra.name+" is writing")
	first.visit("/queues/procurement")
	second.page.MustWait(`() => !document.querySelector("[data-testid=presence]").textContent.includes("` + petra.name + `")`)
}

func TestTypedTextIsThereAgain(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	id := c.as(c.agent).handOver(t, poClosed(796))
	w := c.signedIn(t, petra)
	w.visit("/cases/" + id)
	w.has("exit-use_other_po").MustClick()
	w.fill("input.po_id", "4500018804")
	w.fill("reason", "The follow-on order has what is left.")
	w.visit("/queues/procurement") // leaving saves what the pause did not
	eventually(t, "the text is kept", func() bool {
		w.visit("/cases/" + id)
		return w.page.MustHas("[data-testid=draft]")
	})
	w.shows("draft", "You had typed this at")
	if got := w.page.MustElement("[data-testid=decision-form] [name=reason]").MustProperty("value").Str(); got != "The follow-on order has what is left." {
		t.Errorf("the reason reads %q", got)
	}
	if !w.has("exit-use_other_po").MustProperty("checked").Bool() {
		t.Error("the exit is not chosen any more")
	}
	// Somebody else's page has none of it.
	other := c.signedIn(t, paul)
	other.visit("/cases/" + id)
	other.lacks("draft")
	w.follow("discard-draft")
	w.shows("flash", "discarded")
	w.lacks("draft")

	w.page.MustElement("[data-testid=comment-form] [name=text]").MustInput("Called them.")
	w.press("Add the comment")
	w.visit("/cases/" + id)
	w.lacks("draft")
}

func TestDecidingGoesOnWithoutScript(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	first := c.as(c.agent).handOver(t, poClosed(797))
	second := c.as(c.agent).handOver(t, poClosed(798))
	w := c.window(t)
	w.withoutScript()
	w.login(petra)
	w.visit("/queues/procurement")
	w.open(first)
	w.page.MustElement("[data-testid=decision-form] [name=after]").MustSelect("open the next one")
	w.decide("reopen_po", "Reopened.", nil)
	if !strings.HasPrefix(w.path(), "/cases/"+second) {
		t.Errorf("after the decision the page is %s, want the next case", w.path())
	}
	w.shows("flash", "INV-797", "recorded")
	w.decide("reopen_po", "Reopened too.", nil) // what was chosen is remembered
	w.shows("flash", "INV-798")
	w.page.MustElementR("h1", "Nothing left in Procurement")
	w.follow("to-list")
	w.has("empty")
}
