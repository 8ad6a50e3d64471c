package pages

import (
	"net/http"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// The lists of approval requests.
const (
	tabMine    = "mine"
	tabOpen    = "open"
	tabDecided = "decided"
)

// listApprovals is GET /approvals: what waits for this person, for anybody, or is decided.
func (v *visit) listApprovals() error {
	beside, err := v.figures()
	if err != nil {
		return err
	}
	waiting := beside.waiting
	tab := v.c.Query("tab")
	if tab != tabOpen && tab != tabDecided && tab != tabMine {
		tab = tabMine
		if len(waiting) == 0 && v.by.Has(models.RoleAuditor, models.RoleAdmin) {
			tab = tabOpen
		}
	}
	list := approvals.List{Items: waiting[:min(len(waiting), approvals.MaxLimit)]} // those that lapse first
	cursor := v.c.Query("cursor")
	switch tab {
	case tabOpen:
		list, err = v.p.approvals.List(v.ctx, v.by, approvals.Filter{Status: []models.RequestStatus{models.RequestPending, models.RequestUnrouted}, Sort: "created_at", Cursor: cursor})
	case tabDecided:
		list, err = v.p.approvals.List(v.ctx, v.by, approvals.Filter{Cursor: cursor,
			Status: []models.RequestStatus{models.RequestApproved, models.RequestRejected, models.RequestExpired, models.RequestWithdrawn}})
	}
	if err != nil {
		return err
	}
	page, err := v.page(counted("Approvals", len(waiting)), v.link("/approvals", "tab", v.c.Query("tab"), "cursor", cursor), "approvals")
	if err != nil {
		return err
	}
	out := views.ApprovalsPage{Page: page, Lead: waitingWords(len(waiting)), Rows: v.approvalRows(list.Items),
		Tabs: []ui.Tab{
			{Label: "Waiting for me", Count: count(len(waiting)), URL: v.link("/approvals", "tab", tabMine), Current: tab == tabMine, TestID: "tab-mine"},
			{Label: "All open", URL: v.link("/approvals", "tab", tabOpen), Current: tab == tabOpen, TestID: "tab-open"},
			{Label: "Decided", URL: v.link("/approvals", "tab", tabDecided), Current: tab == tabDecided, TestID: "tab-decided"},
		}}
	switch tab {
	case tabMine:
		out.Caption = "waiting for me"
		out.Empty = ui.Empty{Heading: "No approval waits for you", Text: "When a write needs your yes, it appears here by itself, with the exact call.",
			LinkText: "See what waits for others", URL: v.link("/approvals", "tab", tabOpen), TestID: "empty"}
	case tabOpen:
		out.Caption = "all open"
		out.Empty = ui.Empty{Heading: "No request is open", Text: "Agents ask here before they write.", LinkText: "See what was decided", URL: v.link("/approvals", "tab", tabDecided), TestID: "empty"}
	default:
		out.Caption = "decided"
		out.Empty = ui.Empty{Heading: "Nothing was decided yet", TestID: "empty"}
	}
	out.Pager = v.pager("/approvals", len(out.Rows), cursor, list.NextCursor, "tab", tab)
	return render(v.c, http.StatusOK, views.Approvals(out))
}

func waitingWords(n int) string {
	switch n {
	case 0:
		return "Nothing waits for you."
	case 1:
		return "1 waits for you."
	}
	return plural(n, "", "wait for you.")
}

func (v *visit) approvalRows(items []approvals.ListItem) []views.ApprovalRow {
	rows := make([]views.ApprovalRow, 0, len(items))
	for _, i := range items {
		row := views.ApprovalRow{ID: i.RequestID, URL: requestURL(i.RequestID), Status: requestBadge(i.Status), Tool: ui.Foreign(i.Tool), Summary: ui.Foreign(i.Summary),
			Amount: i.Amount.FormatNumber(), Currency: i.Amount.Currency(), InvoiceNumber: ui.Foreign(orSome(i.Invoice.Number, i.InvoiceID)),
			Supplier: ui.Foreign(orSome(i.Invoice.SupplierName, i.SupplierID)), AskedBy: ui.Foreign(i.AskerName), Asked: v.at(i.CreatedAt), Result: result(i)}
		if i.Required > 0 {
			row.Votes = votesText(i.Yes, i.Required)
		}
		if i.Status == models.RequestPending || i.Status == models.RequestUnrouted {
			row.Expires = v.expires(i.ExpiresAt)
		}
		rows = append(rows, row)
	}
	return rows
}

// result is what came of a decided request.
func result(i approvals.ListItem) string {
	switch {
	case i.Report == approvals.ReportPosted && i.Document != "":
		return "posted as " + ui.Foreign(i.Document).Plain()
	case i.Report == approvals.ReportPosted:
		return "posted"
	case i.Report == approvals.ReportFailed:
		return "the write failed"
	case i.Report == approvals.ReportOverdue:
		return "no report came"
	}
	switch i.Approval {
	case models.ApprovalGranted:
		return "not used yet"
	case models.ApprovalRedeemed:
		return "used, report to come"
	case models.ApprovalExpired:
		return "expired unused"
	case models.ApprovalRevoked:
		return "revoked"
	}
	return ""
}

// goToRequest enters the workspace that holds the request.
func (v *visit) goToRequest(id string) error {
	return v.find(func() error {
		_, err := v.p.approvals.Get(v.ctx, v.by, id)
		return err
	})
}

// showApproval is GET /approvals/{request_id}.
func (v *visit) showApproval() error {
	return v.renderApproval(v.param("id"), http.StatusOK, voteForm{})
}

// vote is POST /approvals/{request_id}/vote, and POST /approvals/{request_id} for who posts to the page
// itself.
func (v *visit) vote() error {
	id := v.param("id")
	if err := v.goToRequest(id); err != nil {
		return err
	}
	typed := v.typed("decision", "reason", "version", "second_step")
	in := approvals.VoteInput{RequestID: id, Decision: models.VoteDecision(typed["decision"]), Reason: typed["reason"], SecondStep: typed["second_step"] != ""}
	input, issues := v.inputs()
	if len(input) > 0 {
		in.Correction = input
		for name, value := range input {
			typed["input."+name] = value
		}
	}
	var missing []models.Issue
	in.Version, missing = version(typed["version"])
	err := invalid(append(issues, missing...))
	if err == nil {
		_, err = v.p.approvals.Vote(v.ctx, v.by, in)
	}
	if err == nil {
		v.p.say(v.c, votedWords(in))
		return seeOther(v.c, string(requestURL(id)))
	}
	return v.refusedOnRequest(id, err, typed, in.Correction != nil)
}

// refusedOnRequest shows a request again after a form that was refused, with what was typed.
func (v *visit) refusedOnRequest(id string, err error, typed map[string]string, sentBack bool) error {
	ne, named := models.AsNamed(err)
	if !named {
		return err
	}
	form := voteForm{typed: typed}
	switch ne.Code {
	case models.ValidationError:
		which := formVote
		if sentBack {
			which = formSendBack
		}
		form.refused, _ = refuse(err, which, "Nothing was decided", typed, nil)
	case models.Conflict, models.Unprocessable, models.InsufficientPermission:
		form.late = ne
	default:
		return err
	}
	return v.renderApproval(id, statusOf(err), form)
}

func votedWords(in approvals.VoteInput) string {
	switch {
	case in.Decision == models.VoteApprove:
		return "voted_yes"
	case in.Correction != nil:
		return "sent_back"
	}
	return "voted_no"
}

// askRevoke is GET /approvals/{request_id}/revoke: a page of its own, since taking an approval back
// cannot be undone.
func (v *visit) askRevoke() error { return v.confirmOnRequest(revoking, http.StatusOK, refusal{}) }

// revoke is POST /approvals/{request_id}/revoke.
func (v *visit) revoke() error {
	return v.takeBack(revoking, func(id, reason string) error {
		_, err := v.p.approvals.RevokeApproval(v.ctx, v.by, approvals.RevokeInput{RequestID: id, Reason: reason})
		return err
	})
}

// askWithdraw is GET /approvals/{request_id}/withdraw, for people who asked themselves.
func (v *visit) askWithdraw() error { return v.confirmOnRequest(withdrawing, http.StatusOK, refusal{}) }

// withdraw is POST /approvals/{request_id}/withdraw.
func (v *visit) withdraw() error {
	return v.takeBack(withdrawing, func(id, reason string) error {
		_, err := v.p.approvals.WithdrawRequest(v.ctx, v.by, approvals.WithdrawInput{RequestID: id, Reason: reason})
		return err
	})
}

// takingBack is one of the two ways to take back what was asked or granted.
type takingBack struct {
	path, heading, text, button, refused, message string
}

var (
	revoking = takingBack{path: "/revoke", heading: "Revoke this approval?", button: "Revoke the approval", message: "revoked", refused: "The approval was not revoked",
		text: "The agent can no longer make this call with it. If the write is still needed, it has to ask again."}
	withdrawing = takingBack{path: "/withdraw", heading: "Withdraw this request?", button: "Withdraw the request", message: "withdrawn", refused: "The request was not withdrawn",
		text: "Nobody is asked any more, and nothing is written."}
)

func (v *visit) takeBack(how takingBack, act func(id, reason string) error) error {
	id, typed := v.param("id"), v.typed("reason")
	if err := v.goToRequest(id); err != nil {
		return err
	}
	err := act(id, typed["reason"])
	if err == nil {
		v.p.say(v.c, how.message)
		return seeOther(v.c, string(requestURL(id)))
	}
	if models.IsCode(err, models.Conflict) {
		return v.renderApproval(id, http.StatusConflict, voteForm{late: asNamed(err), typed: typed})
	}
	r, ok := refuse(err, how.path, how.refused, typed, nil)
	if !ok {
		return err
	}
	return v.confirmOnRequest(how, formStatus(err), r)
}

func (v *visit) confirmOnRequest(how takingBack, status int, refused refusal) error {
	id := v.param("id")
	var r approvals.RequestPage
	err := v.find(func() error {
		var err error
		r, err = v.p.approvals.Page(v.ctx, v.by, id)
		return err
	})
	if err != nil {
		return err
	}
	page, err := v.page(how.heading, requestURL(id), "")
	if err != nil {
		return err
	}
	reason := refused.field(ui.Field{Name: "reason", Label: "Reason", Kind: ui.FieldArea, Required: true})
	form := v.form(requestURL(id) + templ.SafeURL(how.path))
	form.Heading, form.Errors = refused.heading, refused.summary(reason)
	return render(v.c, status, views.Confirm(views.ConfirmPage{Page: page, Heading: how.heading, Text: how.text,
		Facts: []ui.Entry{ui.Pair("Request", r.Request.Summary), ui.Pair("Amount", money(r.Request.Amount, r.Request.Currency)), ui.Pair("Invoice", r.Request.InvoiceID)},
		Form:  form, Fields: []ui.Field{reason}, Button: ui.Button{Label: how.button, Variant: ui.ButtonDanger}, CancelURL: requestURL(id)}))
}
