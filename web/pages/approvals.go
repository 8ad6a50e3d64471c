package pages

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

// The lists of approval requests.
const (
	tabMine    = "mine"
	tabOpen    = "open"
	tabDecided = "decided"
)

// mostWaiting is up to where the navigation counts what waits for a person, on every page: who may decide a request
// is looked at one by one.
const mostWaiting = 20

// waitingCount is how much waits for a person, counted up to mostWaiting.
type waitingCount struct {
	n    int
	more bool
}

// text is the count, "" for none.
func (w waitingCount) text() string {
	switch {
	case w.n == 0:
		return "" // also when the first ones are all barred to the reader, and none of the rest is known
	case w.more:
		return strconv.Itoa(w.n) + "+"
	}
	return strconv.Itoa(w.n)
}

// counted is a title with the count a person looks for in a row of tabs.
func (w waitingCount) counted(title string) string {
	return title + " (" + orSome(w.text(), "0") + ")"
}

// approvalFilters are the fields that narrow a list of requests, as they stand in its address.
var approvalFilters = []string{"currency", "supplier", "tool", "asked_by"}

// listApprovals is GET /approvals: what waits for this person, for anybody, or is decided.
func (v *visit) listApprovals() error {
	beside, err := v.counts()
	if err != nil {
		return err
	}
	waiting := beside.waiting
	tab := v.c.Query("tab")
	if tab != tabOpen && tab != tabDecided && tab != tabMine {
		tab = tabMine
		if waiting.n == 0 && v.by.Has(models.RoleAuditor, models.RoleAdmin) {
			tab = tabOpen
		}
	}
	narrow := map[string]string{}
	query := []string{"tab", tab}
	for _, name := range approvalFilters {
		if value := strings.TrimSpace(v.c.Query(name)); value != "" {
			narrow[name] = strings.Clone(value)
			query = append(query, name, narrow[name])
		}
	}
	narrow["currency"] = strings.ToUpper(narrow["currency"])
	cursor := strings.Clone(v.c.Query("cursor"))
	f := approvals.Filter{Currency: narrow["currency"], Supplier: narrow["supplier"], Tool: narrow["tool"], Asker: narrow["asked_by"], Cursor: cursor, Limit: listShown}
	mine := approvals.WaitingFilter{Currency: f.Currency, Supplier: f.Supplier, Tool: f.Tool, Asker: f.Asker, Cursor: cursor, Limit: listShown}
	var list approvals.List
	switch tab {
	case tabMine:
		list, err = v.p.approvals.WaitingList(v.ctx, v.by, mine)
	case tabOpen:
		f.Status, f.Sort = []models.RequestStatus{models.RequestPending, models.RequestUnrouted}, "expires_at"
		list, err = v.p.approvals.List(v.ctx, v.by, f)
	case tabDecided:
		f.Status = []models.RequestStatus{models.RequestApproved, models.RequestRejected, models.RequestExpired, models.RequestWithdrawn}
		list, err = v.p.approvals.List(v.ctx, v.by, f)
	}
	if err != nil {
		return err
	}
	self := v.link("/approvals", append(slices.Clone(query), "cursor", cursor, "select", v.c.Query("select"), "totals", v.c.Query("totals"))...)
	page, err := v.page(waiting.counted(v.tr("Approvals")), self, "approvals")
	if err != nil {
		return err
	}
	out := views.ApprovalsPage{Page: page, Lead: v.waitingWords(waiting), Rows: v.approvalRows(list.Items),
		Tabs: []ui.Tab{
			{Label: v.tr("Waiting for me"), Count: orSome(waiting.text(), "0"), URL: v.link("/approvals", "tab", tabMine), Current: tab == tabMine, TestID: "tab-mine"},
			{Label: v.tr("All open"), URL: v.link("/approvals", "tab", tabOpen), Current: tab == tabOpen, TestID: "tab-open"},
			{Label: v.tr("Decided"), URL: v.link("/approvals", "tab", tabDecided), Current: tab == tabDecided, TestID: "tab-decided"},
		}}
	if err := presentIn(v, out.Rows, func(r *views.ApprovalRow) (string, *[]views.Presence) { return r.ID, &r.Present }); err != nil {
		return err
	}
	if out.Filter, err = v.approvalFilter(tab, narrow); err != nil {
		return err
	}
	out.Empty = v.noApprovals(tab, out.Filter.Active != "")
	if out.Notices, err = v.delegationNotes(); err != nil {
		return err
	}
	switch tab {
	case tabMine:
		out.Caption = v.tr("waiting for me")
		v.pickable(&out, append(slices.Clone(query), "cursor", cursor))
		if out.Totals, err = v.waitingTotals(mine, list, query); err != nil {
			return err
		}
		if len(list.Items) == 0 && list.NextCursor != "" {
			out.Empty = ui.Empty{Heading: v.tr("None of the first ones is yours to decide"), Text: v.tr("There are too many to look through at once. The next page goes on where this one ends."), TestID: "empty"}
		}
	case tabOpen:
		out.Caption = v.tr("all open")
	default:
		out.Caption = v.tr("decided")
	}
	if tab != tabMine {
		untickable(&out.Page)
	}
	out.Pager = v.pager("/approvals", len(out.Rows), cursor, list.NextCursor, query...)
	return render(v.c, http.StatusOK, views.Approvals(out))
}

func (v *visit) noApprovals(tab string, narrowed bool) ui.Empty {
	switch {
	case narrowed:
		return ui.Empty{Heading: v.tr("Nothing here is like that"), Text: v.tr("Other requests may be here all the same."), LinkText: v.tr("Show all"), URL: v.link("/approvals", "tab", tab), TestID: "empty"}
	case tab == tabMine:
		return ui.Empty{Heading: v.tr("No approval waits for you"), Text: v.tr("When a write needs your yes, it appears here by itself, with the exact call."),
			LinkText: v.tr("See what waits for others"), URL: v.link("/approvals", "tab", tabOpen), TestID: "empty"}
	case tab == tabOpen:
		return ui.Empty{Heading: v.tr("No request is open"), Text: v.tr("Agents ask here before they write."), LinkText: v.tr("See what was decided"), URL: v.link("/approvals", "tab", tabDecided), TestID: "empty"}
	}
	return ui.Empty{Heading: v.tr("Nothing was decided yet"), TestID: "empty"}
}

// approvalFilter is the form that narrows a list of requests.
func (v *visit) approvalFilter(tab string, narrow map[string]string) (*views.FilterForm, error) {
	var askers []ui.Option
	var words []string
	if narrow["currency"] != "" {
		words = append(words, ui.Foreign(narrow["currency"]).Plain())
	}
	if narrow["supplier"] != "" {
		words = append(words, v.tr("supplier %s", ui.Foreign(narrow["supplier"]).Plain()))
	}
	if narrow["tool"] != "" {
		words = append(words, ui.Foreign(narrow["tool"]).Plain())
	}
	err := v.p.store.View(v.ctx, v.by, func(tx *models.Tx) error {
		members, err := tx.Members()
		if err != nil {
			return err
		}
		askers = []ui.Option{{Value: "", Label: v.tr("anybody")}}
		for _, m := range members {
			if m.Has(models.RoleAgent) {
				askers = append(askers, ui.Option{Value: m.User.ID, Label: m.User.Name, Selected: m.User.ID == narrow["asked_by"]})
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if narrow["asked_by"] != "" {
		name := v.tr("somebody else")
		for _, o := range askers {
			if o.Selected {
				name = o.Label
			}
		}
		words = append(words, v.tr("asked by %s", name))
	}
	f := &views.FilterForm{URL: "/approvals", Active: v.list(words), ClearURL: v.link("/approvals", "tab", tab), Hidden: []ui.Hidden{{Name: "tab", Value: tab}},
		Fields: []ui.Field{
			{Name: "currency", Label: v.tr("Currency"), Value: narrow["currency"], Placeholder: "EUR"},
			{Name: "supplier", Label: v.tr("Supplier id"), Value: narrow["supplier"]},
			{Name: "tool", Label: v.tr("Tool"), Value: narrow["tool"]},
			{Name: "asked_by", Label: v.tr("Asked by"), Kind: ui.FieldSelect, Options: askers},
		}}
	if v.by.WorkspaceID != v.chosen {
		f.Hidden = append(f.Hidden, ui.Hidden{Name: "workspace_id", Value: v.by.WorkspaceID})
	}
	return f, nil
}

// pickable lets the rows be ticked, all at once by a link.
func (v *visit) pickable(out *views.ApprovalsPage, query []string) {
	if len(out.Rows) == 0 {
		return
	}
	all := v.c.Query("select") == "all"
	for i := range out.Rows {
		out.Rows[i].Pick, out.Rows[i].Picked = true, all
	}
	out.Pick = &views.PickForm{From: listPath(string(v.link("/approvals", query...))), URL: "/approvals/bulk", CSRF: v.csrf, All: all, AllURL: v.link("/approvals", append(slices.Clone(query), "select", "all")...), NoneURL: v.link("/approvals", query...)}
}

// waitingTotals are the sums of what waits: of all of it when one page holds it, or when they are asked
// for, else of what is listed.
func (v *visit) waitingTotals(f approvals.WaitingFilter, listed approvals.List, query []string) (*views.Totals, error) {
	if len(listed.Items) == 0 {
		return nil, nil
	}
	whole := f.Cursor == "" && listed.NextCursor == ""
	if !whole && v.c.Query("totals") == "all" {
		sums, more, err := v.p.approvals.WaitingTotals(v.ctx, v.by, f)
		if err != nil {
			return nil, err
		}
		out := v.totals(v.tr("What waits for you"), sums)
		if more {
			out.Note = v.tr("More waits than is added up here; these are the sums of what lapses first.")
		}
		return out, nil
	}
	amounts := make([]models.Money, len(listed.Items))
	for i, item := range listed.Items {
		amounts[i] = item.Amount
	}
	sums, err := approvals.TotalsOf(amounts)
	if err != nil {
		return nil, err
	}
	if whole {
		return v.totals(v.tr("What waits for you"), sums), nil
	}
	out := v.totals(v.tr("On this page"), sums)
	out.More, out.MoreURL = v.tr("Add up everything that waits"), v.link("/approvals", append(slices.Clone(query), "totals", "all")...)
	return out, nil
}

func (w words) totals(of string, sums []approvals.CurrencyTotal) *views.Totals {
	out := &views.Totals{Of: of}
	for _, s := range sums {
		item := views.Total{Amount: w.number(s.Total), Currency: s.Total.Currency(), Count: w.trn("%d request", "%d requests", s.Count)}
		if s.Credit {
			item.Of = w.tr("credits")
		}
		out.Items = append(out.Items, item)
	}
	return out
}

func (w words) waitingWords(c waitingCount) string {
	switch {
	case c.more && c.n == 0:
		return w.tr("None of those that lapse first waits for you.")
	case c.more:
		return w.tr("More than %d wait for you.", c.n)
	case c.n == 0:
		return w.tr("Nothing waits for you.")
	}
	return w.trn("%d waits for you.", "%d wait for you.", c.n)
}

func (v *visit) approvalRows(items []approvals.ListItem) []views.ApprovalRow {
	rows := make([]views.ApprovalRow, 0, len(items))
	for _, i := range items {
		row := views.ApprovalRow{ID: i.RequestID, URL: v.fromHere(requestURL(i.RequestID)), Status: v.standBadge(i.Status, i.Approval), Tool: ui.Foreign(i.Tool), Summary: ui.Foreign(i.Summary),
			Amount: v.number(i.Amount), Currency: i.Amount.Currency(), InvoiceNumber: ui.Foreign(orSome(i.Invoice.Number, i.InvoiceID)), InvoiceURL: v.invoiceURL(i.InvoiceID),
			Supplier: ui.Foreign(orSome(i.Invoice.SupplierName, i.SupplierID)), AskedBy: ui.Foreign(i.AskerName), Asked: v.at(i.CreatedAt), Result: v.result(i), OnBehalf: i.OnBehalfOf}
		if i.Required > 0 {
			row.Votes = v.votesText(i.Yes, i.Required)
		}
		if i.Status == models.RequestPending || i.Status == models.RequestUnrouted {
			row.Expires = v.expires(i.ExpiresAt)
		}
		rows = append(rows, row)
	}
	return rows
}

// result is what came of a decided request.
func (w words) result(i approvals.ListItem) string {
	switch {
	case i.Report == approvals.ReportPosted && i.Document != "":
		return w.tr("posted as %s", ui.Foreign(i.Document).Plain())
	case i.Report == approvals.ReportPosted:
		return w.tr("posted")
	case i.Report == approvals.ReportFailed:
		return w.tr("the write failed")
	case i.Report == approvals.ReportOverdue:
		return w.tr("no report came")
	}
	switch i.Approval {
	case models.ApprovalGranted:
		return w.tr("not used yet")
	case models.ApprovalRedeemed:
		return w.tr("used, report to come")
	case models.ApprovalExpired:
		return w.tr("expired unused")
	case models.ApprovalRevoked:
		return w.tr("revoked")
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
		if err := v.readCorrectedAmount(id, input); err != nil {
			return err
		}
	}
	var missing []models.Issue
	in.Version, missing = version(typed["version"])
	err := invalid(append(issues, missing...))
	if err == nil && in.Decision == models.VoteApprove {
		err = v.confirmWithForm()
	}
	if err == nil {
		_, err = v.p.approvals.Vote(v.ctx, v.by, in)
	}
	if err == nil {
		v.sent(id, formVote, formSendBack)
		return v.goOn(votedWords(in), id, "/approvals")
	}
	which := formVote
	if in.Correction != nil {
		which = formSendBack
	}
	return v.refusedOnRequest(id, err, which, v.tr("Nothing was decided"), typed)
}

// refusedOnRequest shows a request again after a form that was refused, with what was typed.
func (v *visit) refusedOnRequest(id string, err error, which, heading string, typed map[string]string) error {
	ne, named := models.AsNamed(err)
	if !named {
		return err
	}
	form := voteForm{refused: refusal{form: which, typed: typed}}
	switch ne.Code {
	case models.ValidationError:
		form.refused, _ = v.refuse(err, which, heading, typed, correctionFields(typed))
	case models.Conflict, models.Unprocessable, models.InsufficientPermission:
		form.late = ne
		v.keepTyped(id, which)
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
func (v *visit) askRevoke() error {
	return v.askToTakeBack(revoking, func(id string) error {
		_, err := v.p.approvals.ApprovalToRevoke(v.ctx, v.by, approvals.RevokeInput{RequestID: id})
		return err
	})
}

// askToTakeBack shows the question only to who may answer it, while there is something to take back.
func (v *visit) askToTakeBack(how takingBack, may func(id string) error) error {
	id := v.param("id")
	if err := v.goToRequest(id); err != nil {
		return err
	}
	err := may(id)
	if models.IsCode(err, models.Conflict) {
		return v.backTo(requestURL(id)) // which says what became of it
	}
	if err != nil {
		return err
	}
	return v.confirmOnRequest(how, http.StatusOK, refusal{})
}

// revoke is POST /approvals/{request_id}/revoke.
func (v *visit) revoke() error {
	return v.takeBack(revoking, func(id, reason string) error {
		_, err := v.p.approvals.RevokeApproval(v.ctx, v.by, approvals.RevokeInput{RequestID: id, Reason: reason})
		return err
	})
}

// askWithdraw is GET /approvals/{request_id}/withdraw, for people who asked themselves.
func (v *visit) askWithdraw() error {
	return v.askToTakeBack(withdrawing, func(id string) error {
		_, err := v.p.approvals.RequestToWithdraw(v.ctx, v.by, id)
		return err
	})
}

// withdraw is POST /approvals/{request_id}/withdraw.
func (v *visit) withdraw() error {
	return v.takeBack(withdrawing, func(id, reason string) error {
		_, err := v.p.approvals.WithdrawRequest(v.ctx, v.by, approvals.WithdrawInput{RequestID: id, Reason: reason})
		return err
	})
}

// takingBack is one of the two ways to take back what was asked or granted; its texts are messages.
type takingBack struct {
	path, heading, text, button, refused, message string
}

var (
	revoking = takingBack{path: "/revoke", heading: lang.Mark("Revoke this approval?"), button: lang.Mark("Revoke the approval"), message: "revoked", refused: lang.Mark("The approval was not revoked"),
		text: lang.Mark("The agent can no longer make this call with it. If the write is still needed, it has to ask again.")}
	withdrawing = takingBack{path: "/withdraw", heading: lang.Mark("Withdraw this request?"), button: lang.Mark("Withdraw the request"), message: "withdrawn", refused: lang.Mark("The request was not withdrawn"),
		text: lang.Mark("Nobody is asked any more, and nothing is written.")}
)

func (v *visit) takeBack(how takingBack, act func(id, reason string) error) error {
	id, typed := v.param("id"), v.typed("reason")
	if err := v.goToRequest(id); err != nil {
		return err
	}
	err := act(id, typed["reason"])
	if err == nil {
		v.p.say(v.c, how.message)
		return v.backTo(requestURL(id))
	}
	if models.IsCode(err, models.Conflict) {
		return v.renderApproval(id, http.StatusConflict, voteForm{late: asNamed(err), refused: refusal{form: how.path, typed: typed}})
	}
	r, ok := v.refuse(err, how.path, v.tr(how.refused), typed, nil)
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
	page, err := v.page(v.tr(how.heading), withFrom(requestURL(id), v.from()), "")
	if err != nil {
		return err
	}
	reason := refused.field(ui.Field{Name: "reason", Label: v.tr("Reason"), Kind: ui.FieldArea, Required: true})
	form := v.recordForm(requestURL(id) + templ.SafeURL(how.path))
	form.Heading, form.Errors = refused.heading, refused.summary(reason)
	return render(v.c, status, views.Confirm(views.ConfirmPage{Page: page, Heading: v.tr(how.heading), Text: v.tr(how.text),
		Facts: []ui.Entry{ui.Pair(v.tr("Request"), r.Request.Summary), ui.Pair(v.tr("Amount"), v.money(r.Request.Amount, r.Request.Currency)), ui.Pair(v.tr("Invoice"), r.Request.InvoiceID)},
		Form:  form, Fields: []ui.Field{reason}, Button: ui.Button{Label: v.tr(how.button), Variant: ui.ButtonDanger}, CancelURL: withFrom(requestURL(id), v.from())}))
}
