package main_test

import (
	"fmt"
	"testing"

	"github.com/go-rod/rod"
)

// heaviest is what a page may weigh with its style sheet and script, before compression.
const heaviest = 100_000

func TestAPageWithStyleAndScriptIsLight(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	agent := c.as(c.agent)
	handover := poClosed(810)
	handover["evidence"] = []object{
		{"kind": "record", "title": "PO 4500018822", "source": "get_purchase_order", "data": object{"status": "closed", "closed_on": "2026-09-30", "lines": []object{{"line": 10, "ordered": "200", "received": "100"}}}},
		{"kind": "comparison", "title": "Possible duplicate", "left": object{"number": "INV-810", "amount": "100.00"}, "right": object{"number": "inv 810", "amount": "100.00", "status": "paid"}},
	}
	id := agent.handOver(t, handover)
	for n := range 9 {
		other := stopped(invoice(820+n, fmt.Sprintf("%d.50", 311+7*n)), "PO_CLOSED", "route_to_person", object{"po_id": "4500018822"})
		inv, _ := other["invoice"].(object)
		inv["supplier_id"], inv["supplier_name"] = fmt.Sprintf("V-%d", 3000+n), "Kessler Werkzeuge KG"
		other["run_id"] = fmt.Sprintf("run-%d", n)
		agent.handOver(t, other)
	}
	request := agent.ask(t, approvalOf(invoice(811, "7350.25")))

	w := c.signedIn(t, petra)
	lead := c.signedIn(t, fiona)
	for _, page := range []struct {
		by   *window
		path string
	}{{w, "/cases/" + id}, {w, "/queues/procurement"}, {lead, "/approvals/" + request}} {
		page.by.visit(page.path)
		parts := page.by.page.MustEval(`() => [...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")]
			.filter((e) => ["navigation", "link", "script", "css"].includes(e.initiatorType)).map((e) => [new URL(e.name).pathname, e.decodedBodySize])`).Arr()
		sum, told := 0, ""
		for _, part := range parts {
			sum += part.Arr()[1].Int()
			told += fmt.Sprintf(" %s %d", part.Arr()[0].Str(), part.Arr()[1].Int())
		}
		t.Logf("%s: %d bytes (%s)", page.path, sum, told)
		if len(parts) < 3 {
			t.Errorf("%s: saw only%s", page.path, told)
		}
		if sum > heaviest {
			t.Errorf("%s weighs %d bytes, more than %d:%s", page.path, sum, heaviest, told)
		}
	}
}

// shifts collects how far things move by themselves from now on.
const shifts = `() => {
	window.shifted = [];
	new PerformanceObserver((list) => {
		for (const e of list.getEntries()) window.shifted.push(e.value + " " + e.sources.map((s) => s.node && (s.node.className || s.node.nodeName)).join(", "));
	}).observe({type: "layout-shift"});
}`

func TestALiveUpdateMovesNothing(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := open(t, sqliteFile(t))
	agent := c.as(c.agent)
	id := agent.handOver(t, poClosed(880))
	agent.handOver(t, poClosed(881))

	list, one := c.signedIn(t, petra), c.signedIn(t, petra)
	list.visit("/queues/procurement")
	one.visit("/cases/" + id)
	one.has("exit-reopen_po").MustClick()
	one.fill("reason", "Looking at it")
	list.page.MustEval(shifts)
	one.page.MustEval(shifts)

	third := agent.handOver(t, poClosed(882))
	list.page.MustElement("tr[data-case='" + third + "']")
	// The agent stops at the same once more, and a colleague says something.
	agent.handOver(t, poClosed(880))
	paul := c.signedIn(t, paul)
	paul.visit("/cases/" + id)
	paul.page.MustElement("[data-testid=comment-form] textarea").MustInput("I know this one.")
	paul.leave(func() *rod.Element { return paul.page.MustElement("[data-testid=comment-form] button[type=submit]") })
	one.page.MustElementR("[data-testid=comment]", "I know this one")

	for name, w := range map[string]*window{"the list": list, "the case": one} {
		// Shifts are told after the frame that made them.
		w.page.MustEval(`() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done))))`)
		for _, moved := range w.page.MustEval(`() => window.shifted`).Arr() {
			t.Errorf("%s moved by itself: %s", name, moved.Str())
		}
	}
}
