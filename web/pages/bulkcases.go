package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

const (
	bulkPath = allCasesPath + "/bulk"
	formBulk = "bulk"
)

// bulkWording is one act on several cases in words.
type bulkWording struct{ verb, done, already, hint string }

func (w words) bulkWords(act queue.BulkAct) bulkWording {
	switch act {
	case queue.BulkClaim:
		return bulkWording{w.tr("Claim"), w.tr("Claimed"), w.tr("Yours before"), w.tr("Each is yours for 30 minutes, longer while you work on it.")}
	case queue.BulkRelease:
		return bulkWording{w.tr("Release"), w.trc("of a case", "Released"), w.tr("Free before"), w.tr("Somebody else can claim them then.")}
	case queue.BulkReroute:
		return bulkWording{w.tr("Send to another queue"), w.tr("Sent on"), w.tr("There before"),
			w.tr("Each is free there and gets the time of that queue; your reason is shown to who works it.")}
	case queue.BulkSnooze:
		return bulkWording{w.tr("Snooze"), w.tr("Snoozed"), w.tr("Snoozed before"), w.tr("Each leaves the list until then and comes back by itself; when it is due stays.")}
	}
	return bulkWording{}
}

// bulkDo is what the button says.
func (w words) bulkDo(act queue.BulkAct, n int) string {
	switch act {
	case queue.BulkClaim:
		return w.trn("Claim %d case", "Claim %d cases", n)
	case queue.BulkRelease:
		return w.trn("Release %d case", "Release %d cases", n)
	case queue.BulkReroute:
		return w.trn("Send %d case there", "Send %d cases there", n)
	}
	return w.trn("Snooze %d case", "Snooze %d cases", n)
}

// toCases is GET /cases/bulk, for who reloads or comes back to a preview: it is made from a form.
func (v *visit) toCases() error { return seeOther(v.c, string(v.link(allCasesPath))) }

// ticked reads which cases a form names: case is an id, item an id with the version that was seen.
func ticked(fields []formField) (choices []queue.BulkChoice, issues []models.Issue) {
	for _, f := range fields {
		switch f.name {
		case "case":
			choices = append(choices, queue.BulkChoice{CaseID: f.value})
		case "item":
			id, seen, _ := strings.Cut(f.value, "@")
			n, wrong := version(seen)
			issues = append(issues, wrong...)
			choices = append(choices, queue.BulkChoice{CaseID: id, Version: n})
		}
	}
	return choices, issues
}

// goToTicked enters the workspace that holds the cases; they are of one list, hence of one workspace.
func (v *visit) goToTicked(choices []queue.BulkChoice) error {
	if len(choices) == 0 {
		return nil
	}
	if err := v.goToCase(choices[0].CaseID); !models.IsCode(err, models.NotFound) {
		return err
	}
	return nil
}

// bulkBack is the list the cases were ticked in.
func (v *visit) bulkBack(back string) templ.SafeURL {
	if local := listPath(back); local != "" {
		return templ.SafeURL(local)
	}
	return v.link(allCasesPath)
}

// previewBulkCases is POST /cases/bulk with act and the ticked cases: what would happen to each. It
// changes nothing.
func (v *visit) previewBulkCases() error {
	choices, _ := ticked(posted(v.c)) // what is shown carries the versions of now
	if err := v.goToTicked(choices); err != nil {
		return err
	}
	return v.renderBulkCases(choices, refusal{}, http.StatusOK)
}

func (v *visit) renderBulkCases(choices []queue.BulkChoice, refused refusal, status int) error {
	typed := v.typed("act", "back")
	act := queue.BulkAct(typed["act"])
	ids := make([]string, len(choices))
	for i, c := range choices {
		ids[i] = c.CaseID
	}
	items, err := v.p.queue.BulkPreview(v.ctx, v.by, act, ids)
	back := v.bulkBack(typed["back"])
	page, pageErr := v.page(v.tr("Several cases at once"), back, "")
	if pageErr != nil {
		return pageErr
	}
	out := views.BulkCasesPage{Page: page, BackURL: back, Heading: v.tr("Several cases at once")}
	if ne, named := models.AsNamed(err); named && ne.Code == models.ValidationError {
		out.Lead, out.Problem = v.tr("Nothing is done."), v.problem(whatIsWrong(ne))
		return render(v.c, http.StatusUnprocessableEntity, views.BulkCases(out))
	}
	if err != nil {
		return err
	}
	out.Heading = v.tr("%s: several at once", v.bulkWords(act).verb)
	can := 0
	for _, i := range items {
		item := v.bulkCaseOf(i)
		if i.Can {
			can++
			item.Key = fmt.Sprintf("%s@%d", i.CaseID, i.Version)
			item.What = v.bulkWhat(act, i)
		}
		item.Why = ui.Foreign(v.said(i.Why))
		out.Items = append(out.Items, item)
	}
	// First those something happens to.
	slices.SortStableFunc(out.Items, func(a, b views.BulkCase) int { return btoi(a.Key == "") - btoi(b.Key == "") })
	out.Lead = v.trn("Nothing is done yet. It can be done to %[2]d of %[1]d case.", "Nothing is done yet. It can be done to %[2]d of %[1]d cases.", len(items), can)
	if can > 0 {
		fields := v.bulkFields(act, items, refused)
		out.Form = &views.BulkCasesForm{Form: v.form(bulkPath + "/do"), Hidden: []ui.Hidden{{Name: "act", Value: string(act)}, {Name: "back", Value: string(back)}}, Fields: fields,
			Do: v.bulkDo(act, can), Hint: v.bulkWords(act).hint + " " + v.tr("One that cannot be done any more leaves the others alone.")}
		out.Form.Heading, out.Form.Errors = refused.heading, refused.summary(fields...)
	}
	return render(v.c, status, views.BulkCases(out))
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// bulkFields are what an act needs besides the cases.
func (v *visit) bulkFields(act queue.BulkAct, items []queue.BulkItem, refused refusal) []ui.Field {
	reason := ui.Field{Name: "reason", Label: v.tr("Reason"), Kind: ui.FieldArea}
	switch act {
	case queue.BulkReroute:
		to := ui.Field{Name: "to", Label: v.tr("Queue"), Kind: ui.FieldSelect, Required: true, Options: []ui.Option{{Value: "", Label: v.tr("Choose…")}}}
		able := 0
		for _, i := range items {
			able += btoi(i.Can)
		}
		for _, q := range models.Queues() {
			n := 0
			for _, i := range items {
				n += btoi(i.Can && slices.Contains(i.To, q))
			}
			label := v.queue(q)
			switch {
			case n == 0:
				continue
			case n < able:
				label += v.tr(" (%d of them may go there)", n)
			}
			to.Options = append(to.Options, ui.Option{Value: string(q), Label: label})
		}
		reason.Required, reason.Hint = true, v.tr("Why they belong there.")
		return []ui.Field{refused.field(to), refused.field(reason)}
	case queue.BulkSnooze:
		until := ui.Field{Name: "until", Label: v.tr("Until"), Kind: ui.FieldRadios, Required: true}
		for _, p := range presets(v.now, v.ownZone()) {
			until.Options = append(until.Options, ui.Option{Value: p.at.UTC().Format(time.RFC3339), Label: v.tr(p.label) + ", " + v.clockIn(p.at)})
		}
		until.Options = append(until.Options, ui.Option{Value: snoozeOwn, Label: v.tr("Another time")})
		own := ui.Field{Name: "until_at", Label: v.tr("Another time"), Kind: ui.FieldDateTime, Hint: v.tr("On the clock of %s; within 90 days.", v.ownZone().String())}
		reason.Hint = v.tr("Not needed. What they wait for, for who looks in between.")
		return []ui.Field{refused.field(until), refused.field(own), refused.field(reason)}
	}
	return nil
}

// bulkWhat says what happens to one case.
func (w words) bulkWhat(act queue.BulkAct, i queue.BulkItem) string {
	switch act {
	case queue.BulkClaim:
		return w.tr("Becomes yours.")
	case queue.BulkRelease:
		return w.tr("Is given back to %s.", w.queue(i.Queue))
	case queue.BulkReroute:
		names := make([]string, len(i.To))
		for n, q := range i.To {
			names[n] = w.queue(q)
		}
		text := w.tr("Can go to %s.", strings.Join(names, ", "))
		if i.ClaimedBy != nil && !i.ClaimedByMe {
			text += " " + w.tr("%s holds it, and loses it.", *i.ClaimedBy)
		}
		return text
	}
	if !i.SnoozedUntil.IsZero() {
		return w.tr("Is snoozed already; the new time counts.")
	}
	return w.tr("Leaves the list until the time below.")
}

// bulkCaseOf is one of several cases as it is now.
func (v *visit) bulkCaseOf(i queue.BulkItem) views.BulkCase {
	out := views.BulkCase{ID: i.CaseID, Found: i.Found}
	if i.Found {
		out.Row = v.caseRows([]queue.CaseItem{i.CaseItem}, true)[0]
		out.Row.URL = withFrom(caseURL(i.CaseID), listPath(v.typed("back")["back"]))
	}
	return out
}

// bulkCases is POST /cases/bulk/do: the act, to each by itself. Sending it twice does nothing twice.
func (v *visit) bulkCases() error {
	choices, issues := ticked(posted(v.c))
	typed := v.typed("act", "to", "until", "until_at", "reason", "back")
	if err := v.goToTicked(choices); err != nil {
		return err
	}
	in := queue.BulkInput{Act: queue.BulkAct(typed["act"]), Cases: choices, To: models.Queue(typed["to"]), Reason: typed["reason"]}
	names := map[string]string{}
	if in.Act == queue.BulkSnooze {
		var wrong *models.Issue
		if in.Until, wrong = readUntil(typed["until"], typed["until_at"], v.ownZone()); wrong != nil {
			issues = append(issues, *wrong)
		}
		if typed["until"] == snoozeOwn {
			names["until"] = "until_at"
		}
	}
	err := invalid(issues)
	var results []queue.BulkResult
	if err == nil {
		results, err = v.p.queue.Bulk(v.ctx, v.by, in)
	}
	if refused, ok := v.refuse(err, formBulk, v.tr("Nothing was done"), typed, names); ok {
		return v.renderBulkCases(choices, refused, formStatus(err))
	}
	if err != nil {
		return err
	}
	back := v.bulkBack(typed["back"])
	page, err := v.page(v.tr("What came of it"), back, "")
	if err != nil {
		return err
	}
	words := v.bulkWords(in.Act)
	out := views.BulkCasesResultPage{Page: page, Heading: v.tr("What came of it"), BackURL: back}
	tally := map[queue.BulkOutcome]int{}
	for _, r := range results {
		tally[r.Outcome]++
		item := v.bulkCaseOf(r.BulkItem)
		item.Why = ui.Foreign(v.problem(r.Why))
		switch r.Outcome {
		case queue.BulkDone:
			item.Result = ui.Badge{Text: words.done, Tone: ui.ToneGood, Sign: ui.SignYes}
		case queue.BulkAlready:
			item.Result = ui.Badge{Text: words.already, Tone: ui.ToneNeutral, Sign: ui.SignDone}
		default:
			item.Result = ui.Badge{Text: v.tr("Not done"), Tone: ui.ToneBad, Sign: ui.SignNo}
		}
		out.Items = append(out.Items, item)
	}
	var parts []string
	for _, p := range []struct {
		outcome queue.BulkOutcome
		words   string
	}{{queue.BulkDone, v.lower(words.done)}, {queue.BulkAlready, v.lower(words.already)}, {queue.BulkRefused, v.tr("not done")}} {
		if tally[p.outcome] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", tally[p.outcome], p.words))
		}
	}
	out.Lead = v.list(parts) + "."
	return render(v.c, http.StatusOK, views.BulkCasesResult(out))
}
