package pages_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
)

// Whatever is sent too late, and whatever happened meanwhile: what was typed stands in the very form it was typed
// into, which is open, or in the notice to be copied; and nobody is told of a form that is not there.
func TestWhatIsSentTooLateIsKeptInItsFormOrToBeCopied(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	petra, paul, lars, fiona, felix := d.signedIn("petra"), d.signedIn("paul"), d.signedIn("lars"), d.signedIn("fiona"), d.signedIn("felix")
	const reason = "I called the supplier about it."
	answer := func(v *visitor, form string, values ...string) func(at string) {
		return func(at string) {
			if p := v.send(v.get(at), form, one(values...)); p.status != http.StatusSeeOther {
				t.Fatalf("%s at %s is answered %d: %s", form, at, p.status, p.text("main"))
			}
		}
	}
	joins := func(string) {
		d.handOver(d.robot(), strings.ReplaceAll(poClosed, "although goods are", "and more goods are"))
	}
	moves := answer(lars, "reroute-form", "to", "ap_lead", "reason", "The lead knows it.")
	decides := answer(paul, "decision-form", "exit", "reject_invoice", "reason", "Not ours.")
	claims := func(at string) { paul.follow(paul.press(paul.get(at), "claim")) }
	rejects := answer(felix, "vote-form", "decision", "reject", "reason", "Too much.")
	gone := func(string) {
		d.tx(models.Operator(company), func(tx *models.Tx) error {
			_, err := tx.Exec("UPDATE memberships SET active = ? WHERE user_id = ? AND workspace_id = ?", false, d.users["petra"].ID, company)
			return err
		})
	}
	onCase := func() string { return "/cases/" + d.handOver(d.robot(), numbered("00"+models.Secret(nil, 4))) }
	same := func() string { return "/cases/" + d.handOver(d.robot(), poClosed) }
	asked := 0
	onRequest := func() string {
		asked++
		return "/approvals/" + d.ask(d.robot(), approvalFor(fmt.Sprintf("%d.00", 250+asked)))
	}
	decision := one("exit", "use_other_po", "input.po_id", "4500018804", "reason", reason)
	snooze := one("until", "own", "until_at", "2026-10-09T12:00", "reason", reason)
	for name, tc := range map[string]struct {
		at        func() string
		who       *visitor
		meanwhile func(at string)
		form      string
		typed     url.Values
	}{
		"a decision, moved to people of another queue": {onCase, petra, moves, "decision-form", decision},
		"a decision, and more came in":                 {same, petra, joins, "decision-form", decision},
		"a decision, decided":                          {onCase, petra, decides, "decision-form", decision},
		"a decision, claimed by somebody else":         {onCase, petra, claims, "decision-form", decision},
		"a snooze, moved":                              {onCase, petra, moves, "snooze-form", snooze},
		"a snooze, decided":                            {onCase, petra, decides, "snooze-form", snooze},
		"moving it, moved":                             {onCase, petra, moves, "reroute-form", one("to", "finance", "reason", reason)},
		"moving it, and more came in":                  {same, petra, joins, "reroute-form", one("to", "finance", "reason", reason)},
		"a vote, rejected":                             {onRequest, fiona, rejects, "vote-form", one("decision", "reject", "reason", reason)},
		"sending back, rejected":                       {onRequest, fiona, rejects, "send-back-form", one("input.amount", "199.00", "reason", reason)},
		"a question, rejected":                         {onRequest, fiona, rejects, "ask-form", one("question", reason)},
	} {
		t.Run(name, func(t *testing.T) {
			at := tc.at()
			seen := tc.who.get(at)
			tc.meanwhile(at)
			tc.who.send(seen, tc.form, tc.typed).keeps(t, tc.form, tc.typed, reason)
		})
	}
	at := onCase()
	seen := petra.get(at)
	gone(at)
	late := petra.send(seen, "comment-form", one("text", reason))
	late.wants(t, "typed-kept", reason)

	conf := "/confirmations/" + d.forward(d.robot(), question)
	seen = fiona.get(conf)
	answer(felix, "answer-form", "action", "decline", "reason", "No.")(conf)
	fiona.send(seen, "answer-form", one("action", "decline", "reason", reason)).wants(t, "typed-kept", reason)
}

var question = asks(`"note": {"type": "string"}`, ``)

// keeps fails unless what was typed is in its form, or to be copied, and the page says which.
func (p page) keeps(t *testing.T, testID string, typed url.Values, reason string) {
	t.Helper()
	if p.status == http.StatusSeeOther || p.status >= http.StatusInternalServerError {
		t.Fatalf("answered %d", p.status)
	}
	says := p.text("[data-testid=changed-since], [data-testid=conflict], [data-testid=problem]")
	form := p.doc.Find("form[data-testid=" + testID + "]")
	shut := form.Closest("details:not([open])").Length() > 0
	kept := p.testID("typed-kept")
	inForm := true
	for name, values := range maps.All(typed) {
		text := values[0]
		in := false
		form.Find("[name='" + name + "']").Each(func(_ int, f *goquery.Selection) {
			_, on := f.Attr("checked")
			in = in || f.Is("textarea") && f.Text() == text || f.Is("input:not([type=radio])") && f.AttrOr("value", "") == text || f.AttrOr("value", "") == text && on ||
				f.Find("option[selected]").AttrOr("value", "") == text || f.AttrOr("type", "") == "submit"
		})
		in = in && !shut
		if text == reason && !in && !strings.Contains(kept, text) {
			t.Errorf("what was typed for %s is nowhere: %s", name, says)
		}
		inForm = inForm && (in || name == "decision")
	}
	if strings.Contains(says, "still in the form") && !inForm {
		t.Errorf("it is not in the form, and the page says: %s", says)
	}
	if strings.Contains(says, "decide again") && form.Length() == 0 {
		t.Errorf("without a form the page says: %s", says)
	}
	if says == "" {
		t.Errorf("nothing is said: %s", p.text("main"))
	}
	others := 0
	p.doc.Find("main form:not([data-testid=" + testID + "]) textarea").Each(func(_ int, f *goquery.Selection) {
		if strings.Contains(f.Text(), reason) {
			others++
		}
	})
	if others > 0 {
		t.Error("what was typed stands in another form")
	}
}
