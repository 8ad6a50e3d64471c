package pages

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

func mountInvoice(get, _ route) {
	get("/invoices", (*visit).showInvoice)
	get("/invoices/*", (*visit).showInvoice)
}

// invoiceURL is the page of an invoice, by its id as agents send it, which may hold anything. It is ""
// for people who may not read what others filed.
func (v *visit) invoiceURL(id string) templ.SafeURL {
	if id == "" || !queue.ReadsAll(v.by) {
		return ""
	}
	return v.link(invoicePath(id), invoiceQuery(id)...)
}

// invoicePath is the path of an invoice's page. Browsers take ids of only dots for steps of the path, so
// those stand in the query.
func invoicePath(id string) string {
	if id == "." || id == ".." {
		return "/invoices"
	}
	return "/invoices/" + url.PathEscape(id)
}

func invoiceQuery(id string) []string {
	if id == "." || id == ".." {
		return []string{"id", id}
	}
	return nil
}

const (
	// storyShown is how many events one page of an invoice tells, and storyRead how many it reads at
	// most to find them, so that a narrow view of a long story costs no more than a page.
	storyShown, storyRead = 50, 400
	// statesShown is how many records of each kind the top of the page tells of.
	statesShown = 10
)

const showMoney = "money"

// aboutMoney says whether an event is about a write and its approval.
func aboutMoney(e models.AuditEvent) bool {
	switch noun, _, _ := strings.Cut(e.Action, "."); noun {
	case "request", "vote", "approval", "redeem", "write", "report":
		return true
	}
	return false
}

// showInvoice is GET /invoices/{id}.
func (v *visit) showInvoice() error {
	id := v.param("*")
	if id == "" {
		id = v.c.Query("id")
	}
	id = strings.Clone(id)
	missing := models.Missing("invoice", ui.Foreign(id).Plain())
	if id == "" {
		return missing
	}
	work, err := v.p.queue.OfInvoice(v.ctx, v.by, id, statesShown)
	if err != nil {
		return err
	}
	requests, moreRequests, err := v.p.approvals.OfInvoice(v.ctx, v.by, id, statesShown)
	if err != nil {
		return err
	}
	questions, err := v.p.confirm.List(v.ctx, v.by, confirm.Filter{InvoiceID: id, Status: []models.ConfirmationStatus{models.ConfirmationPending}, Limit: statesShown})
	if err != nil {
		return err
	}
	show, cursor := v.c.Query("show"), strings.Clone(v.c.Query("cursor"))
	if show != showMoney {
		show = ""
	}
	events, next, err := v.invoiceEvents(id, show, cursor)
	if err != nil {
		return err
	}
	unknown := len(work.Cases)+len(work.Holds)+len(requests)+len(questions.Items) == 0
	if unknown && len(events) == 0 {
		// Nothing on this page of the trail; another page, or view, of it may know the invoice.
		if first, _, err := v.invoiceEvents(id, "", ""); err != nil || len(first) == 0 {
			return orError(err, missing)
		}
	}
	comments, err := v.commentsOf(events)
	if err != nil {
		return err
	}

	r := v.reader()
	r.bankData = r.bankData && !work.Hidden
	invoice, sentBy, sentAt := r.described(work, requests)
	title := v.tr("Invoice %s", orSome(invoice.Number.Plain(), ui.Foreign(id).Plain()))
	query := invoiceQuery(id)
	around, err := v.page(title, v.link(invoicePath(id), append(query, "show", show, "cursor", cursor)...), "invoice")
	if err != nil {
		return err
	}
	out := views.InvoicePage{Page: around, ID: ui.Foreign(id), Number: invoice.Number, Normalised: models.NormaliseNumber(string(invoice.Number)), Supplier: invoice.SupplierName,
		Invoice: invoice, SentBy: ui.Foreign(sentBy), SentAt: v.at(sentAt), Caption: v.tr("everything"),
		Timeline: r.timeline(events, comments, v.aboutEvent), Pager: v.pager(invoicePath(id), len(events), cursor, next, append(query, "show", show)...)}
	if out.Supplier == "" {
		out.Supplier = invoice.SupplierID
	}
	out.Invoice.URL = "" // it is this page
	if out.Invoice.ID == "" {
		out.Invoice.ID = ui.Foreign(id)
	}
	out.States = v.invoiceStates(work, requests, questions.Items)
	if work.More || moreRequests {
		out.States = append(out.States, views.InvoiceState{Badge: ui.Badge{Text: v.tr("More"), Tone: ui.ToneNeutral}, Text: ui.Foreign(v.tr("Older cases, holds and requests are told below.")),
			Link: views.RelatedLink{Text: v.tr("What happened"), URL: "#story-title"}})
	}
	tab := func(label, of, testID string) ui.Tab {
		return ui.Tab{Label: label, URL: v.link(invoicePath(id), append(query, "show", of)...), Current: show == of, TestID: testID}
	}
	out.Filters = []ui.Tab{tab(v.tr("All"), "", "filter-all"), tab(v.tr("Money only"), showMoney, "filter-money")}
	out.Empty = ui.Empty{Heading: v.tr("Nothing happened here yet"), TestID: "empty"}
	if show == showMoney {
		out.Caption = v.tr("money only")
		out.Empty = ui.Empty{Heading: v.tr("No write was asked for"), Text: v.tr("Requests, votes, approvals and writes of this invoice appear here."), TestID: "empty"}
		if next != "" {
			out.Empty = ui.Empty{Heading: v.tr("No write in this part of the story"), Text: v.tr("Go on to older events."), TestID: "empty"}
		}
	}
	return render(v.c, http.StatusOK, views.InvoiceStory(out))
}

func orError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}

// invoiceEvents reads one page of what happened to an invoice, the newest first, and where the next one
// starts, "" on the last.
func (v *visit) invoiceEvents(id, show, cursor string) (events []models.AuditEvent, next string, err error) {
	f := models.TrailFilter{InvoiceID: id, Limit: storyShown}
	if cursor != "" {
		if f.After, err = readStoryCursor(cursor); err != nil {
			return nil, "", err
		}
	}
	for read := 0; ; read += storyShown {
		batch, more, err := v.p.store.Trail(v.ctx, v.by, f)
		if err != nil {
			return nil, "", err
		}
		for i, e := range batch {
			if show == showMoney && !aboutMoney(e) {
				continue
			}
			events = append(events, e)
			if len(events) == storyShown && (more || i < len(batch)-1) {
				return events, storyCursor(e), nil
			}
		}
		if !more {
			return events, "", nil
		}
		last := batch[len(batch)-1]
		if read+storyShown >= storyRead {
			return events, storyCursor(last), nil
		}
		f.After = &models.TrailKey{At: last.At, ID: last.ID}
	}
}

// A cursor is the moment and the id of the last event shown.
func storyCursor(e models.AuditEvent) string { return e.At.String() + "~" + e.ID }

func readStoryCursor(text string) (*models.TrailKey, error) {
	at, id, ok := strings.Cut(text, "~")
	var key models.TrailKey
	if err := key.At.Scan(at); err != nil || !ok || id == "" {
		return nil, models.E(models.BadRequest, "This page of the story does not exist. Start again from the newest events.", map[string]any{"field": "cursor"})
	}
	key.ID = id
	return &key, nil
}

// commentsOf reads the texts behind the comments among the events.
func (v *visit) commentsOf(events []models.AuditEvent) ([]models.Comment, error) {
	var ids []string
	for _, e := range events {
		if e.Action == "case.commented" {
			if id := commentID(e); id != "" {
				ids = append(ids, id)
			}
		}
	}
	return v.p.queue.Comments(v.ctx, v.by, ids...)
}

// described is the invoice as it was described last, by a case, a hold or a request.
func (r reader) described(work queue.InvoiceWork, requests []approvals.InvoiceRequest) (inv views.Invoice, by string, at models.Time) {
	if len(requests) > 0 && requests[0].CreatedAt.After(work.SentAt.Time) {
		return r.invoice(requests[0].Invoice.Sent), requests[0].AskerName, requests[0].CreatedAt
	}
	if work.Sent == nil {
		return views.Invoice{}, "", models.Time{}
	}
	return r.invoice(work.Sent), work.SentBy, work.SentAt
}

// aboutEvent leads to the record an event happened to.
func (v *visit) aboutEvent(e models.AuditEvent) (string, templ.SafeURL) {
	switch noun, _, _ := strings.Cut(e.Action, "."); {
	case noun == "hold":
		return v.tr("the hold"), holdURL(e.Subject)
	case noun == "confirmation":
		return v.tr("the confirmation"), confirmationURL(e.Subject)
	case noun == "case" && e.CaseID != "":
		return v.tr("the case"), caseURL(e.CaseID)
	case e.ApprovalRequestID != "":
		return v.tr("the request"), requestURL(e.ApprovalRequestID)
	case e.CaseID != "":
		return v.tr("the case"), caseURL(e.CaseID)
	}
	return "", ""
}

// invoiceStates say where the invoice stands: what waits first, then the requests from the newest on,
// then what the desk is done with.
func (v *visit) invoiceStates(work queue.InvoiceWork, requests []approvals.InvoiceRequest, questions []confirm.ListItem) []views.InvoiceState {
	var waiting, done []views.InvoiceState
	for _, q := range requests {
		s := views.InvoiceState{Badge: v.requestBadge(q.Status), Text: v.requestState(stateOf(q)), Amount: v.number(q.Amount), Code: q.Amount.Currency(),
			Link: views.RelatedLink{Text: v.tr("The request"), URL: requestURL(q.RequestID)}}
		if q.Approval != "" && q.Status == models.RequestApproved {
			s.Badge = v.approvalBadge(q.Approval)
		}
		if q.Status != models.RequestPending && q.Status != models.RequestUnrouted {
			s.More = &views.RelatedLink{Text: v.tr("Its proof"), URL: proofURL(q.RequestID)}
		}
		waiting = append(waiting, s)
	}
	for _, c := range work.Cases {
		s := views.InvoiceState{Badge: v.caseBadge(c.Status), Text: v.caseState(c), Link: views.RelatedLink{Text: v.tr("The case"), URL: caseURL(c.CaseID)}}
		if c.Status == models.CaseResolved {
			done = append(done, s)
		} else {
			waiting = append([]views.InvoiceState{s}, waiting...)
		}
	}
	for _, q := range questions {
		waiting = append([]views.InvoiceState{{Badge: ui.Badge{Text: v.tr("Question"), Tone: ui.ToneInfo, Sign: ui.SignOpen}, Text: ui.Foreign(v.tr("A person has to answer a question about %s.", q.Tool)),
			Link: views.RelatedLink{Text: v.tr("The confirmation"), URL: confirmationURL(q.ConfirmationID)}}}, waiting...)
	}
	for _, h := range work.Holds {
		s := views.InvoiceState{Badge: v.holdBadge(h.Status, v.isOverdue(h)), Text: v.holdState(h), Link: views.RelatedLink{Text: v.tr("The hold"), URL: holdURL(h.HoldID)}}
		if h.Status == models.HoldWaiting {
			waiting = append([]views.InvoiceState{s}, waiting...)
		} else {
			done = append(done, s)
		}
	}
	return append(waiting, done...)
}

func (v *visit) caseState(c queue.InvoiceCase) ui.Foreign {
	what := v.codeTitle(codeOf(c.Code))
	switch {
	case c.Status == models.CaseResolved && c.Last != nil:
		return ui.Foreign(v.tr("%s: %s chose “%s” on %s.", what, c.Last.By, v.said(c.Last.Label), v.on(c.Last.At)))
	case c.Status == models.CaseResolved:
		return ui.Foreign(v.tr("%s: resolved.", what))
	case c.Status == models.CaseHeld:
		return ui.Foreign(v.tr("%s: held until %s.", what, v.date(c.HeldUntil)))
	case c.ClaimedBy != nil:
		return ui.Foreign(v.tr("%s: %s works on it in %s.", what, *c.ClaimedBy, v.queue(c.Queue)))
	}
	return ui.Foreign(v.tr("%s: waits in %s.", what, v.queue(c.Queue)))
}

func (v *visit) holdState(h queue.HoldView) ui.Foreign {
	what := v.tr("%s, PO %s", v.codeTitle(h.Code), string(v.orderLine(h)))
	switch h.Status {
	case models.HoldReleased:
		return ui.Foreign(v.tr("%s: available now; the wait is over.", what))
	case models.HoldEscalated:
		return ui.Foreign(v.tr("%s: no check is left, so a case was opened.", what))
	case models.HoldCancelled:
		return ui.Foreign(v.tr("%s: the wait was cancelled.", what))
	}
	return ui.Foreign(v.tr("%s: checked again on %s; %d of %d checks left.", what, v.on(h.NextCheckAt), h.ChecksLeft, h.MaxChecks))
}

// requestFacts are what a request's state in words is made of.
type requestFacts struct {
	status          models.RequestStatus
	by              []string // who decided
	decidedAt       models.Time
	expiresAt       models.Time
	yes, required   int
	reason          string
	approval        models.ApprovalStatus
	approvalExpires models.Time
	redeemedAt      models.Time
	revokedAt       models.Time
	revokeReason    string
	report          approvals.ReportStatus
	document        string
	message         string
	reportedAt      models.Time
}

func stateOf(q approvals.InvoiceRequest) requestFacts {
	return requestFacts{status: q.Status, by: q.Approvers, decidedAt: q.DecidedAt, expiresAt: q.ExpiresAt, yes: q.Yes, required: q.Required, reason: q.Reason,
		approval: q.Approval, approvalExpires: q.ApprovalExpires, redeemedAt: q.RedeemedAt, revokedAt: q.RevokedAt, revokeReason: q.RevokeReason,
		report: q.Report, document: q.Document, message: q.ReportMessage, reportedAt: q.ReportedAt}
}

// requestState says in one sentence where a request and its write stand.
func (w words) requestState(f requestFacts) ui.Foreign {
	by := orSome(w.list(f.by), w.tr("somebody"))
	switch f.status {
	case models.RequestPending:
		return ui.Foreign(w.tr("Waits for a decision: %s votes, until %s.", w.votesText(f.yes, f.required), w.on(f.expiresAt)))
	case models.RequestUnrouted:
		return ui.Foreign(w.tr("Nobody can decide it: %s", sentence(orSome(w.said(f.reason), w.tr("no rule covers it")))))
	case models.RequestRejected:
		return ui.Foreign(w.tr("Rejected by %s on %s: %s", by, w.on(f.decidedAt), sentence(f.reason)))
	case models.RequestExpired:
		return ui.Foreign(w.tr("Expired on %s; nobody decided it in time, and nothing was written.", w.on(f.expiresAt)))
	case models.RequestWithdrawn:
		return ui.Foreign(w.tr("Withdrawn on %s: %s", w.on(f.decidedAt), sentence(w.kept(f.reason))))
	}
	when := w.on(f.decidedAt)
	return ui.Foreign(w.approvedState(f, by, when))
}

// approvedState says what came of an approval.
func (w words) approvedState(f requestFacts, by, when string) string {
	switch {
	case f.report == approvals.ReportPosted && f.document != "":
		return w.tr("Approved by %s on %s, posted as %s on %s.", by, when, f.document, w.on(f.reportedAt))
	case f.report == approvals.ReportPosted:
		return w.tr("Approved by %s on %s, posted on %s; no document number was reported.", by, when, w.on(f.reportedAt))
	case f.report == approvals.ReportFailed:
		return w.tr("Approved by %s on %s; the write failed on %s: %s", by, when, w.on(f.reportedAt), sentence(orSome(f.message, w.tr("no reason was reported"))))
	case f.report == approvals.ReportOverdue:
		return w.tr("Approved by %s on %s, used on %s; no report of the write came in time.", by, when, w.on(f.redeemedAt))
	case f.approval == models.ApprovalRedeemed:
		return w.tr("Approved by %s on %s, used on %s; the report of the write is to come.", by, when, w.on(f.redeemedAt))
	case f.approval == models.ApprovalRevoked:
		return w.tr("Approved by %s on %s, revoked on %s before it was used: %s", by, when, w.on(f.revokedAt), sentence(w.kept(f.revokeReason)))
	case f.approval == models.ApprovalExpired:
		return w.tr("Approved by %s on %s; it expired unused on %s.", by, when, w.on(f.approvalExpires))
	}
	return w.tr("Approved by %s on %s; not used yet, good until %s.", by, when, w.on(f.approvalExpires))
}

// on is a moment within a sentence that stays true: date and time of day.
func (w words) on(t models.Time) string { return w.lang.Format(t.In(w.zone), lang.DayAtTime) }
