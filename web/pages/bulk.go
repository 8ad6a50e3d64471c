package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

// mountBulk puts approving several requests on the router. It comes before the pages of one request,
// whose address would take "bulk" for an id.
func mountBulk(get, post route) {
	get("/approvals/bulk", (*visit).toApprovals)
	post("/approvals/bulk", (*visit).previewBulk)
	post("/approvals/bulk/approve", (*visit).approveBulk)
	post("/approvals/:id/ask", (*visit).askAgent)
}

// toApprovals is GET /approvals/bulk, for who reloads or comes back to a preview: it is made from a form.
func (v *visit) toApprovals() error { return seeOther(v.c, string(v.link("/approvals"))) }

// picked reads which requests a form names: request is an id, item an id with the version that was seen.
func picked(fields []formField) (choices []approvals.BulkChoice, issues []models.Issue) {
	for _, f := range fields {
		c := approvals.BulkChoice{RequestID: f.value}
		switch f.name {
		case "request":
		case "item":
			id, seen, _ := strings.Cut(f.value, "@")
			n, wrong := version(seen)
			issues = append(issues, wrong...)
			c = approvals.BulkChoice{RequestID: id, Version: n}
		default:
			continue
		}
		choices = append(choices, c)
	}
	return choices, issues
}

// goToPicked enters the workspace that holds the requests; they are of one list, hence of one workspace.
func (v *visit) goToPicked(choices []approvals.BulkChoice) error {
	if len(choices) == 0 {
		return nil
	}
	if err := v.goToRequest(choices[0].RequestID); !models.IsCode(err, models.NotFound) {
		return err
	}
	return nil
}

// previewBulk is POST /approvals/bulk: what would be approved together, one by one. It changes nothing.
func (v *visit) previewBulk() error {
	choices, _ := picked(posted(v.c)) // what is shown carries the versions of now
	typed := v.typed("without", "skip", "reason")
	choices = slices.DeleteFunc(choices, func(c approvals.BulkChoice) bool { return c.RequestID == typed["without"] })
	if err := v.goToPicked(choices); err != nil {
		return err
	}
	return v.renderBulk(http.StatusOK, choices, typed["skip"] == "marked", refusal{typed: map[string]string{"reason": typed["reason"]}})
}

func (v *visit) renderBulk(status int, choices []approvals.BulkChoice, skipMarked bool, refused refusal) error {
	ids := make([]string, len(choices))
	for i, c := range choices {
		ids[i] = c.RequestID
	}
	preview, err := v.p.approvals.BulkPreview(v.ctx, v.by, ids)
	if skipMarked && err == nil {
		var kept []string
		for _, i := range preview.Items {
			if len(i.Look) == 0 {
				kept = append(kept, i.RequestID)
			}
		}
		preview, err = v.p.approvals.BulkPreview(v.ctx, v.by, kept)
	}
	page, pageErr := v.page(v.tr("Approve several"), v.link("/approvals"), "")
	if pageErr != nil {
		return pageErr
	}
	out := views.BulkPage{Page: page, BackURL: v.listAt("/approvals")}
	if ne, named := models.AsNamed(err); named && ne.Code == models.ValidationError {
		out.Lead, out.Problem = v.tr("Nothing is approved."), v.problem(whatIsWrong(ne))
		return render(v.c, http.StatusUnprocessableEntity, views.BulkPreview(out))
	}
	if err != nil {
		return err
	}
	marked := 0
	for _, i := range preview.Items {
		item := v.bulkItem(i)
		if item.Mark {
			marked++
		}
		out.Items = append(out.Items, item)
	}
	out.Lead = v.bulkLead(preview.Count, len(preview.Items), marked)
	if preview.Count > 0 {
		out.Totals = v.totals(v.tr("What would be approved"), preview.Totals)
		reason := refused.field(ui.Field{Name: "reason", Label: v.tr("Reason"), Kind: ui.FieldArea, Hint: v.tr("Not needed. Kept on the trail of each.")})
		out.Form = &views.BulkForm{Form: v.recordForm("/approvals/bulk/approve"), Reason: reason, Approve: v.trn("Approve %d request", "Approve %d requests", preview.Count), PreviewURL: "/approvals/bulk"}
		if marked > 0 && marked < len(preview.Items) {
			out.Form.LeaveMarked = v.tr("Leave out the %d to look at", marked)
		}
		if out.Form.StepUp, err = v.stepUp(preview.StepUp, "", refused); err != nil {
			return err
		}
		out.Form.Heading, out.Form.Errors = refused.heading, refused.summary(v.stepUpFields(out.Form.StepUp, reason)...)
	}
	return render(v.c, status, views.BulkPreview(out))
}

// whatIsWrong is the first thing that is wrong with a form.
func whatIsWrong(ne *models.NamedError) string {
	if issues, _ := ne.Details["issues"].([]models.Issue); len(issues) > 0 {
		return issues[0].Message
	}
	return ne.Message
}

func (w words) bulkLead(can, of, marked int) string {
	if marked > 0 {
		return w.trn("Nothing is approved yet. %[2]d of %[1]d request can be approved together, %[3]d of them with something to look at first.",
			"Nothing is approved yet. %[2]d of %[1]d requests can be approved together, %[3]d of them with something to look at first.", of, can, marked)
	}
	return w.trn("Nothing is approved yet. %[2]d of %[1]d request can be approved together.", "Nothing is approved yet. %[2]d of %[1]d requests can be approved together.", of, can)
}

func (v *visit) bulkItem(i approvals.BulkItem) views.BulkItem {
	if i.Missing {
		return views.BulkItem{ID: i.RequestID, Missing: true, Why: ui.Foreign(v.said(i.Why))}
	}
	out := views.BulkItem{ID: i.RequestID, URL: withFrom(requestURL(i.RequestID), v.from()), Summary: ui.Foreign(i.Summary), Supplier: ui.Foreign(orSome(i.Invoice.SupplierName, i.SupplierID)),
		Invoice: ui.Foreign(orSome(i.Invoice.Number, i.InvoiceID)), OnBehalf: i.OnBehalfOf, Expires: v.expires(i.ExpiresAt), Why: ui.Foreign(v.said(i.Why)), OwnPage: i.OwnPage, Mark: len(i.Look) > 0}
	if !i.Amount.IsZero() {
		out.Amount, out.Currency = v.number(i.Amount), i.Amount.Currency()
		out.Sentence = v.writeSentence(approvals.RequestPage{Request: models.ApprovalRequest{Tool: i.Tool, Currency: i.Amount.Currency()}, Binding: i.Binding})
	}
	if i.Can {
		out.Key = fmt.Sprintf("%s@%d", i.RequestID, i.Version)
	}
	for _, text := range i.Look {
		out.Look = append(out.Look, ui.Foreign(v.said(text)+"."))
	}
	if i.Left > 0 {
		out.After = v.trn("%d more person has to say yes after you", "%d more people have to say yes after you", i.Left) + "."
	}
	return out
}

// approveBulk is POST /approvals/bulk/approve. Sending it twice approves nothing twice.
func (v *visit) approveBulk() error {
	choices, issues := picked(posted(v.c))
	typed := v.typed("reason")
	if err := v.goToPicked(choices); err != nil {
		return err
	}
	err := invalid(issues)
	var result approvals.BulkResult
	if err == nil {
		err = v.confirmWithForm()
	}
	if err == nil {
		result, err = v.p.approvals.BulkApprove(v.ctx, v.by, choices, typed["reason"])
	}
	if refused, ok := v.refuse(err, formVote, v.tr("Nothing was approved"), typed, nil); ok {
		return v.renderBulk(formStatus(err), choices, false, refused)
	}
	if err != nil {
		return err
	}
	page, err := v.page(v.tr("What came of it"), v.link("/approvals"), "")
	if err != nil {
		return err
	}
	out := views.BulkResultPage{Page: page, BackURL: v.listAt("/approvals")}
	tally := map[approvals.BulkOutcome]int{}
	for _, i := range result.Items {
		tally[i.Outcome]++
		out.Items = append(out.Items, v.bulkAnswer(i))
	}
	out.Lead = v.bulkResultLead(tally)
	if result.Count > 0 {
		out.Totals = v.totals(v.tr("Approved"), result.Totals)
	}
	return render(v.c, http.StatusOK, views.BulkResult(out))
}

func (w words) bulkResultLead(tally map[approvals.BulkOutcome]int) string {
	var parts []string
	for _, p := range []struct {
		outcome approvals.BulkOutcome
		words   string
	}{
		{approvals.BulkApproved, lang.Mark("%d approved")}, {approvals.BulkWaits, lang.Mark("%d now waiting for somebody else's yes")},
		{approvals.BulkAlready, lang.Mark("%d decided by you before")}, {approvals.BulkRefused, lang.Mark("%d refused")},
	} {
		if n := tally[p.outcome]; n > 0 {
			parts = append(parts, w.tr(p.words, n))
		}
	}
	return sentence(w.list(parts))
}

func (v *visit) bulkAnswer(i approvals.BulkAnswer) views.BulkAnswer {
	out := views.BulkAnswer{ID: i.RequestID, URL: withFrom(requestURL(i.RequestID), v.from()), Summary: ui.Foreign(i.Summary), Supplier: ui.Foreign(orSome(i.Invoice.SupplierName, i.SupplierID)),
		Invoice: ui.Foreign(orSome(i.Invoice.Number, i.InvoiceID)), Why: ui.Foreign(v.said(i.Why))}
	if i.Missing {
		out = views.BulkAnswer{ID: i.RequestID, Missing: true, Why: out.Why}
	}
	if !i.Amount.IsZero() {
		out.Amount, out.Currency = v.number(i.Amount), i.Amount.Currency()
	}
	switch i.Outcome {
	case approvals.BulkApproved:
		out.Result = ui.Badge{Text: v.tr("Approved"), Tone: ui.ToneGood, Sign: ui.SignYes}
	case approvals.BulkWaits:
		out.Result = ui.Badge{Text: v.tr("Your yes is recorded"), Tone: ui.ToneInfo, Sign: ui.SignHalf}
		out.Why = ui.Foreign(orSome(v.said(i.Why), v.tr("It now waits for another person's yes.")))
	case approvals.BulkAlready:
		out.Result = ui.Badge{Text: v.tr("Already decided by you"), Tone: ui.ToneNeutral, Sign: ui.SignDone}
		out.Why = ui.Foreign(v.tr("You said yes to this before; nothing was added."))
	default:
		out.Result = ui.Badge{Text: v.tr("Not approved"), Tone: ui.ToneBad, Sign: ui.SignNo}
	}
	return out
}

// askAgent is POST /approvals/{request_id}/ask.
func (v *visit) askAgent() error {
	id := v.param("id")
	if err := v.goToRequest(id); err != nil {
		return err
	}
	typed := v.typed("question", "version")
	seen, issues := version(typed["version"])
	err := invalid(issues)
	if err == nil {
		err = v.p.approvals.AskAgent(v.ctx, v.by, id, typed["question"], seen)
	}
	if err == nil {
		v.sent(id, formAsk)
		v.p.say(v.c, "asked_about")
		return v.backTo(requestURL(id))
	}
	return v.refusedOnRequest(id, err, formAsk, v.tr("The question was not sent"), typed)
}
