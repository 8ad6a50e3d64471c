package pages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

// part is a piece of what approvals says, such as "a yes of Finance lead" or an amount.
func (w words) part(text string) string { return w.lang.SaidPart(text) }

// ruleInWords is a rule in words, which stand beside one another.
func (w words) ruleInWords(text string) string {
	parts := strings.Split(text, " · ")
	for i, p := range parts {
		parts[i] = w.part(p)
	}
	return strings.Join(parts, " · ")
}

// The forms of a request's page.
const (
	formVote     = "vote"
	formSendBack = "send_back"
	formAsk      = "ask"
)

// voteForm is what a form of the request's page that was refused brings back to the page.
type voteForm struct {
	refused refusal            // which form, with what was typed
	late    *models.NamedError // decided meanwhile, or not this person's to decide
}

func (v *visit) renderApproval(id string, status int, form voteForm) error {
	var page approvals.RequestPage
	err := v.find(func() error {
		var err error
		page, err = v.p.approvals.Page(v.ctx, v.by, id)
		return err
	})
	if err != nil {
		return err
	}
	r := v.reader()
	// Whoever decides about a call sees all of it: what is approved is exactly what is shown.
	r.bankData = r.bankData || page.CanVote
	invoice := r.invoice(page.Invoice)
	title := v.money(page.Amount.Text(), page.Amount.Currency())
	if number := invoice.Number.Plain(); number != "" {
		title += ": " + number
	}
	if page.CanVote {
		title = v.trc("title", "Approve %s", title)
	} else {
		title = v.tr("Approval %s", title)
	}
	typed, err := v.unsent(id, requestURL(id), form.refused.form)
	if err != nil {
		return err
	}
	around, err := v.page(title, v.self(requestURL(id)), "request:"+id)
	if err != nil {
		return err
	}
	if around.Here, err = v.here(id, "/approvals"); err != nil {
		return err
	}
	out := v.approvalPage(around, page, invoice, r, form)
	if page.CanVote {
		if out.Form, err = v.voteForm(page, form); err != nil {
			return err
		}
	}
	if err := v.besideRequest(&out, page, r); err != nil {
		return err
	}
	if err := typed.onApproval(&out); err != nil {
		return err
	}
	return render(v.c, status, views.Approval(out))
}

// besideRequest adds what the desk knows besides the request itself: until when it can be decided, what changed
// since an earlier one, and which other invoices it may be again.
func (v *visit) besideRequest(out *views.ApprovalPage, page approvals.RequestPage, r reader) error {
	out.Match = v.matchView(approvals.MatchOf(page.Evidence, page.Invoice))
	before, err := v.p.approvals.EarlierRequestOf(v.ctx, v.by, page.Request.ID)
	if err != nil {
		return err
	}
	out.Before = r.earlierRequest(v, before)
	if out.Duplicates, err = v.duplicateCandidates(models.Invoice{ID: page.Request.InvoiceID}); err != nil {
		return err
	}
	if page.Status == models.RequestPending || page.Status == models.RequestUnrouted {
		var calendar models.Calendar
		err := v.p.store.View(v.ctx, v.by, func(tx *models.Tx) error {
			var err error
			calendar, err = tx.Calendar()
			return err
		})
		if err != nil {
			return err
		}
		out.Deadline = v.deadline(page.Request.ExpiresAt, calendar)
	}
	return nil
}

// deadline says how long a request can be decided, and whether that is less than a business day.
func (v *visit) deadline(expires models.Time, calendar models.Calendar) *views.Deadline {
	left := v.span(nearest(expires.Sub(v.now)))
	d := &views.Deadline{Text: v.tr("%s are left", left), Moment: v.lang.Format(expires.In(v.zone), lang.WeekdayAt) + ", " + v.zone.String(),
		Soon: !calendar.AddBusinessDays(models.At(v.now), 1).Before(expires.Time)}
	if strings.HasPrefix(left, "1 ") {
		d.Text = v.tr("%s is left", left)
	}
	if d.Soon {
		d.Text = v.tr("Less than a business day is left: %s", left)
	}
	return d
}

// matchView puts order, receipt and invoice into the words of a page.
func (v *visit) matchView(m *approvals.ThreeWay) *views.Match {
	if m == nil {
		return nil
	}
	amount := func(text string) string {
		if text == "" {
			return ""
		}
		return v.figures(text, m.Currency)
	}
	marks := func(texts []string) []ui.Foreign {
		var out []ui.Foreign
		for _, t := range texts {
			out = append(out, ui.Foreign(v.said(t)))
		}
		return out
	}
	out := &views.Match{Currency: m.Currency, Expected: amount(m.Expected), Invoiced: amount(m.Invoiced), Differs: signed(m.Difference, amount), Percent: signed(m.Percent, v.lang.Figures), Over: m.Over}
	for _, text := range m.Marks {
		out.Verdict = append(out.Verdict, ui.Foreign(v.said(text)+"."))
	}
	for _, l := range m.Lines {
		out.Lines = append(out.Lines, views.MatchLine{Line: ui.Foreign(l.Line), Text: ui.Foreign(l.Text), Ordered: v.quantity(l.Ordered), Received: v.quantity(l.Received),
			Invoiced: v.quantity(l.Invoiced), OrderPrice: v.quantity(l.OrderPrice), InvoicePrice: v.quantity(l.InvoicePrice), Expected: amount(l.Expected), Amount: amount(l.Amount),
			Differs: signed(l.Difference, amount), Percent: signed(l.Percent, v.lang.Figures), Over: l.Over, Marks: marks(l.Marks)})
	}
	return out
}

// caseMatch sets order, receipt and invoice side by side from the last handover that tells of them.
func (v *visit) caseMatch(c queue.CaseView) *views.Match {
	for _, h := range slices.Backward(c.Handovers) {
		if m := approvals.MatchOf(h.Evidence, c.Invoice); m != nil {
			return v.matchView(m)
		}
	}
	return nil
}

// quantity is a figure as it was sent, with the marks of the reader's language where that is another than
// English, in which agents send them.
func (w words) quantity(text string) ui.Foreign {
	if w.lang.Tag() == lang.English().Tag() {
		return ui.Foreign(text)
	}
	return ui.Foreign(w.lang.Figures(text))
}

// signed shows a difference with its sign, also when it is more.
func signed(text string, show func(string) string) string {
	if text == "" || strings.HasPrefix(text, "-") || strings.Trim(text, "0.") == "" {
		return show(text)
	}
	return "+" + show(text)
}

// earlierRequest says what the request before for the same write and invoice was, and what differs.
func (r reader) earlierRequest(v *visit, e *approvals.EarlierRequest) *views.EarlierRequest {
	if e == nil {
		return nil
	}
	out := &views.EarlierRequest{URL: requestURL(e.RequestID), Asked: v.at(e.AskedAt), Reason: ui.Foreign(e.Reason), Evidence: r.evidenceChange(e.EvidenceThen, e.EvidenceNow)}
	who := orSome(r.list(e.DecidedBy), r.tr("Somebody"))
	switch e.Status {
	case models.RequestApproved:
		out.Came = r.tr("%s approved it %s; %s.", who, v.ago(e.DecidedAt), r.whatCame(e))
	case models.RequestRejected:
		out.Came = r.tr("%s rejected it %s.", who, v.ago(e.DecidedAt))
		if e.SentBack {
			out.Came = r.tr("%s sent it back %s.", who, v.ago(e.DecidedAt))
		}
	case models.RequestExpired:
		out.Came = r.tr("It expired %s; nobody decided it in time.", v.ago(e.ExpiredAt))
	case models.RequestWithdrawn:
		out.Came = r.tr("It was withdrawn %s.", v.ago(e.DecidedAt))
	case models.RequestUnrouted:
		out.Came = r.tr("It still waits for an approver to be found.")
	default:
		out.Came = r.tr("It is still open.")
	}
	for _, c := range e.Correction {
		out.SentBack = append(out.SentBack, ui.Pair(c.Name, r.shown(c.Name, c.Value)))
	}
	if e.SameCall {
		out.Same = r.tr("It is the very same call as then.")
	}
	for _, c := range e.Changes {
		change := views.ChangedValue{Then: ui.Foreign(r.shown(c.Name, c.Then)), Now: ui.Foreign(r.shown(c.Name, c.Now)), WasThere: c.WasThere, IsThere: c.IsThere}
		switch {
		case c.Argument:
			change.Argument = ui.Foreign(c.Name)
		case c.Name == approvals.BoundPostingDate:
			change.Name, change.Then, change.Now = r.part(c.Name), ui.Foreign(r.dateText(c.Then)), ui.Foreign(r.dateText(c.Now))
		default:
			change.Name = r.part(c.Name)
			if c.Name == approvals.BoundAmount {
				change.Then, change.Now = ui.Foreign(r.part(c.Then)), ui.Foreign(r.part(c.Now))
			}
		}
		out.Changes = append(out.Changes, change)
	}
	return out
}

// whatCame is what came of an approval, within a sentence.
func (w words) whatCame(e *approvals.EarlierRequest) string {
	came := w.result(approvals.ListItem{Report: e.Report, Document: e.Document, Approval: e.Approval})
	return orSome(came, w.tr("nothing is known of it since"))
}

func (w words) evidenceChange(then, now int) string {
	if then == now {
		return w.trn("%d piece of evidence came with it, as many as then.", "%d pieces of evidence came with it, as many as then.", now)
	}
	return w.trn("%d piece of evidence then, %d now.", "%d pieces of evidence then, %d now.", then, now)
}

func (v *visit) approvalPage(around views.Page, page approvals.RequestPage, invoice views.Invoice, r reader, form voteForm) views.ApprovalPage {
	q := page.Request
	badge := v.requestBadge(page.Status)
	if page.Grant != nil {
		badge = v.standBadge(page.Status, page.Grant.Status)
	}
	badge.TestID = "approval-status"
	out := views.ApprovalPage{
		Page: around, ID: q.ID, BackURL: v.link("/approvals"), ProofURL: withFrom(proofURL(q.ID), v.from()), Status: badge, Asked: v.at(q.CreatedAt), AskedBy: ui.Foreign(v.askedBy(page)),
		OnBehalf: v.onBehalf(page.OnBehalf), CallHeading: v.callHeading(page), Sentence: v.writeSentence(page),
		Amount: v.number(page.Amount), Currency: page.Amount.Currency(), InWords: ui.Words(v.lang, page.Amount.Text(), page.Amount.Currency()),
		Facts: v.writeFacts(page), Call: r.call(q.Tool, page.Arguments), Digest: q.Digest, Invoice: invoice,
		Summary: ui.Foreign(q.Summary), Explained: ui.Foreign(q.Explanation), Run: ui.Foreign(q.RunID), Evidence: r.evidence(page.Evidence),
		Rule: v.rule(page), Votes: v.votes(page), WhyNot: v.whyNot(page), Grant: v.grant(page.Grant), Notices: v.requestNotices(page, r),
		Timeline: v.timeline(page.Timeline, nil),
	}
	out.Call.InWords = "" // the sentence above says it, from the values that were compared
	if page.Status == models.RequestPending || page.Status == models.RequestUnrouted {
		out.Expires = v.expires(q.ExpiresAt)
	}
	if len(page.Tried) > 0 {
		out.Search = &views.ApproverSearch{Tried: v.tried(page.Tried)}
	}
	for _, b := range page.Binding {
		out.Binding = append(out.Binding, views.BoundValue{Name: v.part(b.Name), Value: ui.Foreign(b.Value), Pointer: ui.Foreign(b.Pointer)})
	}
	out.Supplier, out.Number = supplierOf(invoice, q.SupplierID), ui.Foreign(orSome(string(invoice.Number), q.InvoiceID))
	v.deciders(&out, page)
	out.Questions, out.Ask = v.askedQuestions(page.Questions), v.askForm(page, form)
	if page.Tally.Required > 0 {
		out.VotesText = v.votesText(page.Tally.Yes, page.Tally.Required)
	}
	if page.Earlier != nil && page.Status != models.RequestApproved {
		out.RedeemedBefore = v.ranBefore(*page.Earlier)
	}
	if page.CanVote {
		out.SendBack = v.sendBackForm(page, form)
	}
	switch {
	case q.UnroutedCaseID != nil:
		out.Case = &views.RelatedLink{Text: v.tr("The case that looks for an approver"), URL: caseURL(*q.UnroutedCaseID)}
	case q.CaseID != nil:
		out.Case = &views.RelatedLink{Text: v.tr("The case this belongs to"), URL: caseURL(*q.CaseID)}
	}
	out.Conflict, out.Changes = v.voteTooLate(page, form)
	return out
}

// askedBy names who asks: for a call that people filed from a case, them and the agent they did it for.
func (w words) askedBy(page approvals.RequestPage) string {
	var people []string
	for _, u := range page.Asked {
		if u.Kind == models.KindPerson && u.ID != page.Request.AskerID {
			people = append(people, u.Name)
		}
	}
	if len(people) == 0 {
		return page.Request.AskerName
	}
	return w.tr("%s, for %s", w.list(people), page.Request.AskerName)
}

// supplierOf names the supplier with its id, as the invoice has them.
func supplierOf(i views.Invoice, id string) ui.Foreign {
	id = orSome(string(i.SupplierID), id)
	switch {
	case i.SupplierName == "":
		return ui.Foreign(id)
	case id == "":
		return i.SupplierName
	}
	return i.SupplierName + ui.Foreign(" ("+id+")")
}

// deciders says who may decide an open request, in order where one comes after the other, and how far
// the reader's own authority goes. Of a request that is decided nobody may.
func (v *visit) deciders(out *views.ApprovalPage, page approvals.RequestPage) {
	if page.Status != models.RequestPending && page.Status != models.RequestUnrouted {
		return
	}
	eligible := func(d approvals.Decider) views.Eligible {
		e := views.Eligible{Name: d.Name, Role: v.lower(v.role(d.Role)), May: d.May, Why: v.said(d.Why), You: d.You, OnBehalf: d.OnBehalfOf, Limit: v.part(d.Limit)}
		if !d.Until.IsZero() && d.OnBehalfOf != "" {
			e.Until = v.tr("until %s", v.clock(d.Until))
		}
		return e
	}
	out.Needed = v.part(page.Needed)
	if page.Status == models.RequestPending {
		out.MyLimit = v.tr("You hold no limit of your own for this.")
		if page.MyLimit != "" {
			out.MyLimit = v.myLimit(page)
		}
	}
	c := page.Routing.Authority()
	if c == nil || !c.Sequence() {
		for _, d := range page.Deciders {
			out.Eligible = append(out.Eligible, eligible(d))
		}
		return
	}
	steps := []views.Step{{Title: v.tr("First: %s", v.placeWords(c.Role)), State: v.stepState(page, 1)}, {Title: v.tr("Then: %s", v.placeWords(c.ThenRole)), State: v.stepState(page, 2)}}
	for _, d := range page.Deciders {
		i := 0
		if d.Step == 2 {
			i = 1
		}
		steps[i].People = append(steps[i].People, eligible(d))
	}
	out.Steps = steps
}

// placeWords is whose place a step is.
func (w words) placeWords(r models.Role) string {
	if r == "" {
		return w.tr("one of the people named")
	}
	return w.lower(w.said(r.Title()))
}

// stepState says where one of two steps stands.
func (w words) stepState(page approvals.RequestPage, step int) ui.Badge {
	switch {
	case page.NextStep == step:
		return ui.Badge{Text: w.tr("now"), Tone: ui.ToneInfo, Sign: ui.SignOpen}
	case page.NextStep > step || page.NextStep == 0:
		return ui.Badge{Text: w.tr("said yes"), Tone: ui.ToneGood, Sign: ui.SignYes}
	}
	return ui.Badge{Text: w.tr("not yet"), Tone: ui.ToneNeutral, Sign: ui.SignPaused}
}

// askedQuestions are what people asked the agent about a request, and what it answered.
func (v *visit) askedQuestions(asked []approvals.Question) []views.AskedQuestion {
	var out []views.AskedQuestion
	for _, q := range asked {
		out = append(out, views.AskedQuestion{By: q.By, At: v.at(q.At), Text: ui.Foreign(q.Text), Answer: ui.Foreign(q.Answer), AnsweredBy: ui.Foreign(q.AnsweredBy),
			AnsweredAt: v.at(q.AnsweredAt), URL: caseURL(q.CaseID)})
	}
	return out
}

// askForm lets the reader ask the agent about an open request; nil for who may not.
func (v *visit) askForm(page approvals.RequestPage, form voteForm) *views.AskForm {
	if !page.CanAsk {
		return nil
	}
	refused := form.refused.of(formAsk)
	f := &views.AskForm{Form: v.recordForm(requestURL(page.Request.ID) + "/ask"), Question: refused.field(ui.Field{Name: "question", Label: v.tr("Question"), Kind: ui.FieldArea, Required: true,
		Hint: v.tr("The agent reads it and answers here. The request stays open meanwhile, and can be decided.")})}
	f.Version, f.Open = strconv.FormatInt(page.Request.Version, 10), refused.typed != nil
	f.Heading, f.Errors = refused.heading, refused.summary(f.Question)
	return f
}

func (w words) votesText(yes, required int) string { return w.tr("%d of %d", yes, required) }

func (w words) onBehalf(people []models.User) string {
	var names []string
	for _, u := range people {
		if !slices.Contains(names, u.Name) {
			names = append(names, u.Name)
		}
	}
	switch len(names) {
	case 0:
		return ""
	case 1:
		return w.tr("%s answers for this account", names[0])
	}
	return w.tr("%s answer for this account", w.list(names))
}

// callHeading says where the call stands.
func (w words) callHeading(page approvals.RequestPage) string {
	if g := page.Grant; g != nil {
		switch {
		case g.Report == approvals.ReportPosted:
			return w.tr("Exactly this was written")
		case g.Report == approvals.ReportFailed:
			return w.tr("Exactly this was tried, and it failed")
		case g.Status == models.ApprovalRedeemed:
			return w.tr("Exactly this was released for writing")
		case g.Status == models.ApprovalGranted:
			return w.tr("Exactly this may be written, once")
		}
		return w.tr("This was approved and not written")
	}
	switch page.Status {
	case models.RequestPending, models.RequestUnrouted:
		return w.tr("Exactly this will be written if you approve")
	case models.RequestRejected:
		return w.tr("This was refused and not written")
	}
	return w.tr("This was not written")
}

// writeSentence says what the write does, from the values the desk compared with the call.
func (w words) writeSentence(page approvals.RequestPage) ui.Foreign {
	value := func(name string) string {
		for _, b := range page.Binding {
			if b.Name == name {
				return b.Value
			}
		}
		return ""
	}
	return w.writeInWords(page.Request.Tool, value(approvals.BoundInvoice), value(approvals.BoundSupplier), value(approvals.BoundAmount), page.Request.Currency, value(approvals.BoundPostingDate))
}

func (v *visit) writeFacts(page approvals.RequestPage) []ui.Entry {
	q := page.Request
	return pairs(v.tr("Document type"), q.DocumentType, v.tr("Posting date"), v.date(q.PostingDate), v.tr("Cost centre"), q.CostCentre)
}

// rule is the request's own copy of what routed it.
func (v *visit) rule(page approvals.RequestPage) views.Rule {
	c := page.Routing.Authority()
	if c == nil {
		return views.Rule{None: sentence(orSome(v.said(page.Unrouted), v.tr("No rule of the matrix covers this request")))}
	}
	who := v.role(c.Role)
	if c.Role == "" {
		who = v.tr("the people named")
	}
	if c.Sequence() {
		who = v.tr("%s, then %s", v.placeWords(c.Role), v.placeWords(c.ThenRole))
	}
	out := views.Rule{Name: v.ruleName(c.ID, c.Version), Text: v.ruleInWords(page.RuleText), Valid: v.tr("An approval is good for %s and one call.", v.span(c.Valid())),
		Written: v.tr("Written by %s, %s.", v.author(c.AuthorName), v.day(c.CreatedAt))}
	if page.Routing.Rule == nil {
		// Nobody was asked by this rule: a person found who decides, and the rule says how far they may.
		out.Name = v.tr("%s was named by %s for this item", orSome(page.Named, v.tr("One person")), orSome(page.NamedBy, v.tr("a person")))
		out.Text = v.tr("the limit is from %s (%s)", v.ruleName(c.ID, c.Version), v.ruleInWords(page.RuleText))
		out.Need = v.tr("One yes of %s", orSome(page.Named, v.tr("the person named")))
		return out
	}
	switch required := page.Routing.Required(); {
	case c.Sequence():
		out.Need = v.tr("Two people one after the other: first a yes of %s", who)
	case page.Named != "" && required == 1:
		out.Need = v.tr("One yes of %s or %s", v.lower(who), page.Named)
	case required == 1:
		out.Need = v.tr("One yes of %s", v.lower(who))
	default:
		out.Need = v.tr("%d different people must say yes: %s", required, v.lower(who))
	}
	if page.Named != "" {
		out.Text += v.tr(" · %s named by %s for this request only", page.Named, page.NamedBy)
	}
	return out
}

// myLimit says how far the reader may go here alone, and how far only together with somebody else.
func (v *visit) myLimit(page approvals.RequestPage) string {
	switch page.MyAlone {
	case page.MyLimit:
		return v.tr("Your own limit here: up to %s.", v.part(page.MyLimit))
	case "":
		return v.tr("You may approve here only together with somebody else: up to %s.", v.part(page.MyLimit))
	}
	return v.tr("You may approve here up to %s, more only together with somebody else.", v.part(page.MyAlone))
}

func (v *visit) votes(page approvals.RequestPage) []views.Vote {
	var out []views.Vote
	for _, vote := range page.Votes {
		b := ui.Badge{Text: v.tr("Yes"), Tone: ui.ToneGood, Sign: ui.SignYes}
		if vote.Decision == models.VoteReject {
			b = ui.Badge{Text: v.tr("No"), Tone: ui.ToneBad, Sign: ui.SignNo}
		}
		lost := ""
		if why, not := page.NotCounted[vote.ID]; not {
			b = ui.Badge{Text: v.tr("Yes, counts no longer"), Tone: ui.ToneNeutral, Sign: ui.SignNo}
			lost = strings.TrimSpace(v.tr("This yes no longer counts.") + " " + v.said(why))
		}
		out = append(out, views.Vote{Lost: lost, Who: v.voter(vote), Role: v.lower(v.role(models.Role(vote.Role))), Badge: b, At: v.at(vote.At), Channel: v.channel(vote.Channel), Reason: ui.Foreign(vote.Reason)})
	}
	return out
}

// voter names who voted, and in whose place.
func (w words) voter(v models.Vote) string {
	if v.OnBehalfOfName != "" {
		return w.tr("%s on behalf of %s", v.UserName, v.OnBehalfOfName)
	}
	return v.UserName
}

// whyNot says why this person cannot decide; for a request that is over, how it ended.
func (v *visit) whyNot(page approvals.RequestPage) string {
	if page.WhyNot != "" {
		return v.said(page.WhyNot)
	}
	q := page.Request
	switch page.Status {
	case models.RequestApproved, models.RequestRejected:
		var names []string
		for _, vote := range page.Votes {
			if (vote.Decision == models.VoteReject) == (page.Status == models.RequestRejected) {
				names = append(names, v.voter(vote))
			}
		}
		who := orSome(v.list(names), v.tr("Somebody"))
		text := v.tr("%s approved this %s", who, v.ago(q.DecidedAt))
		if page.Status == models.RequestRejected {
			text = v.tr("%s rejected this %s", who, v.ago(q.DecidedAt))
		}
		if page.Grant != nil {
			switch page.Grant.Status {
			case models.ApprovalExpired:
				text += v.tr("; the approval expired unused")
			case models.ApprovalRevoked:
				text += v.tr("; the approval was revoked before it was used")
			}
		}
		return text + "."
	case models.RequestExpired:
		return v.tr("This expired %s; nobody decided it in time, and nothing was approved.", v.ago(q.ExpiresAt))
	case models.RequestWithdrawn:
		return v.tr("This was withdrawn %s: %s", v.ago(q.DecidedAt), sentence(v.kept(q.Reason)))
	case models.RequestUnrouted:
		return v.tr("Nobody can decide this until an approver is found.")
	}
	return ""
}

func (v *visit) grant(g *approvals.Grant) *views.Grant {
	if g == nil {
		return nil
	}
	out := &views.Grant{MaskedID: g.MaskedID, Status: v.approvalBadge(g.Status), Expires: v.exactly(g.ExpiresAt)}
	if !g.RedeemedAt.IsZero() {
		out.Redeemed = &views.Redeemed{At: v.at(g.RedeemedAt), By: ui.Foreign(g.RedeemedBy)}
	}
	switch g.Report {
	case approvals.ReportPosted:
		out.Report = &views.Report{Status: ui.Badge{Text: v.tr("Posted"), Tone: ui.ToneGood, Sign: ui.SignYes}}
	case approvals.ReportFailed:
		out.Report = &views.Report{Status: ui.Badge{Text: v.tr("Failed"), Tone: ui.ToneBad, Sign: ui.SignNo}}
	case approvals.ReportOverdue:
		out.Missing = v.tr("No report has come since %s", v.clock(g.RedeemedAt))
	}
	if out.Report != nil {
		out.Report.Document, out.Report.Message, out.Report.At = ui.Foreign(g.DocumentNumber), ui.Foreign(g.Message), v.at(g.ReportedAt)
	}
	return out
}

// requestNotices are what to know before going on.
func (v *visit) requestNotices(page approvals.RequestPage, r reader) []ui.Notice {
	var out []ui.Notice
	q := page.Request
	open := page.Status == models.RequestPending || page.Status == models.RequestUnrouted
	if page.Status == models.RequestUnrouted {
		n := ui.Notice{Tone: ui.ToneBad, Heading: v.tr("Nobody can decide this now"), Text: ui.Foreign(v.said(page.Unrouted)), TestID: "unrouted"}
		if q.UnroutedCaseID != nil {
			n.LinkText, n.URL = v.tr("The case that looks for an approver"), caseURL(*q.UnroutedCaseID)
		}
		out = append(out, n)
	}
	if closed := v.ws.PeriodClosedThrough; open && !closed.IsZero() && !q.PostingDate.IsZero() && !q.PostingDate.After(closed) {
		out = append(out, ui.Notice{Tone: ui.ToneBad, Heading: v.tr("The posting period is closed"), TestID: "period-closed",
			Text: ui.Foreign(v.tr("The books are closed through %s. While they are, the write is refused even with an approval.", v.date(closed)))})
	}
	if open && !page.IsBound {
		out = append(out, ui.Notice{Tone: ui.ToneWarn, Heading: v.tr("The amount could not be compared with the call"), TestID: "unbound",
			Text: ui.Foreign(v.tr("The workspace does not state where this tool's arguments carry the amount. Read the arguments themselves; the rule with the highest limit decides."))})
	}
	if open && page.AmountSaid {
		out = append(out, ui.Notice{Tone: ui.ToneWarn, Heading: v.tr("The call does not say this amount"), TestID: "unbound",
			Text: ui.Foreign(v.tr("Where the workspace looks for it the call carries no amount, so %s is only what the asker says. Read the arguments themselves before you decide.", v.part(page.Amount.Format())))})
	}
	if in := page.Instruction; in != nil && in.Kind == models.InstructRetryWith {
		n := ui.Notice{Tone: ui.ToneInfo, Heading: v.tr("It was sent back: the agent calls again with a correction"), TestID: "sent-back"}
		var changed []string
		for _, c := range approvals.CorrectedValues(page.Arguments, in) {
			changed = append(changed, fmt.Sprintf("%s: %s", v.argumentLabel(c.Name), r.shown(c.Name, c.Value)))
		}
		n.Text = ui.Foreign(strings.Join(changed, "; "))
		out = append(out, n)
	}
	if g := page.Grant; g != nil && g.Status == models.ApprovalRevoked {
		out = append(out, ui.Notice{Tone: ui.ToneWarn, Heading: v.tr("The approval was revoked %s", v.ago(g.RevokedAt)), Text: ui.Foreign(v.kept(g.RevokeReason)), TestID: "revoked"})
	}
	if page.CanRevoke {
		out = append(out, ui.Notice{Tone: ui.ToneInfo, Text: ui.Foreign(v.tr("You approved this. Until it is used you can take the approval back.")), LinkText: v.tr("Revoke the approval…"),
			URL: withFrom(requestURL(q.ID)+"/revoke", v.from()), TestID: "can-revoke"})
	}
	if open && v.by.Has(models.RoleAgent) && slices.ContainsFunc(page.Asked, func(u models.User) bool { return u.ID == v.by.UserID }) {
		out = append(out, ui.Notice{Tone: ui.ToneInfo, Text: ui.Foreign(v.tr("You asked for this yourself.")), LinkText: v.tr("Withdraw the request…"), URL: withFrom(requestURL(q.ID)+"/withdraw", v.from()), TestID: "can-withdraw"})
	}
	return out
}

// tried lists the rules of the matrix and why each did not help.
func (w words) tried(rules []approvals.Tried) []views.TriedRule {
	out := make([]views.TriedRule, 0, len(rules))
	for _, t := range rules {
		out = append(out, views.TriedRule{Name: w.ruleName(t.RuleID, t.Version), Text: w.ruleInWords(t.Rule), Why: ui.Foreign(w.said(t.Why))})
	}
	return out
}

func (v *visit) ranBefore(e approvals.EarlierRun) *ui.Notice {
	n := &ui.Notice{Tone: ui.ToneBad, Heading: v.tr("This exact call was carried out before"), TestID: "redeemed-before", LinkText: v.tr("See that request"), URL: requestURL(e.RequestID)}
	at := v.clock(e.RedeemedAt)
	switch {
	case e.Report == approvals.ReportPosted && e.DocumentNumber != "":
		n.Text = ui.Foreign(v.tr("At %s it was posted as document %s.", at, e.DocumentNumber))
	case e.Report == approvals.ReportPosted:
		n.Text = ui.Foreign(v.tr("At %s it was posted; no document number was reported.", at))
	case e.Report == approvals.ReportFailed:
		n.Heading = v.tr("This exact call was tried before")
		n.Text = ui.Foreign(v.tr("At %s it was tried, and reported as failed.", at))
	default:
		n.Text = ui.Foreign(v.tr("At %s it was released for writing, and nobody reported what came of it.", at))
	}
	return n
}

func (v *visit) voteForm(page approvals.RequestPage, form voteForm) (*views.VoteForm, error) {
	q := page.Request
	refused := form.refused.of(formVote)
	typed := refused.typed
	f := &views.VoteForm{Form: v.recordForm(requestURL(q.ID) + "/vote"), ApproveLabel: v.tr("Approve %s", v.money(q.Amount, q.Currency)),
		Reason: ui.Field{Name: "reason", Label: v.tr("Reason"), Kind: ui.FieldArea, Hint: v.tr("Needed to reject. Kept on the trail, beside your name."), Value: typed["reason"], Error: refused.problems["reason"]}}
	f.Version = strconv.FormatInt(q.Version, 10)
	fields := []ui.Field{f.Reason}
	if page.Earlier != nil {
		f.SecondStep = &ui.Field{Name: "second_step", Label: v.tr("Yes, it is to be carried out a second time"), Kind: ui.FieldCheckbox, Value: "yes",
			Checked: typed["second_step"] != "", Error: refused.problems["second_step"], TestID: "second-step"}
		fields = append(fields, *f.SecondStep)
	}
	valid := ""
	if c := page.Routing.Authority(); c != nil {
		valid = v.span(c.Valid())
	}
	f.After = v.tr("The agent then has %s to make exactly this call, once.", valid)
	if left := page.Tally.Required - page.Tally.Yes - 1; left > 0 {
		f.After = v.trn("%d more person has to say yes after you", "%d more people have to say yes after you", left) + ". " + f.After
	}
	for _, d := range page.Deciders {
		if d.You && d.May && d.OnBehalfOf == "" {
			f.OnBehalf = "" // a person's own place goes first
			break
		}
		if d.You && d.May {
			f.OnBehalf = d.OnBehalfOf
		}
	}
	var err error
	if f.StepUp, err = v.stepUp(page.StepUp, string(models.VoteApprove), refused); err != nil {
		return nil, err
	}
	f.Heading, f.Errors = refused.heading, refused.summary(v.stepUpFields(f.StepUp, fields...)...)
	return f, nil
}

func (v *visit) sendBackForm(page approvals.RequestPage, form voteForm) *views.SendBackForm {
	if len(page.Correctable) == 0 {
		return nil
	}
	refused := form.refused.of(formSendBack)
	f := &views.SendBackForm{Form: v.recordForm(requestURL(page.Request.ID) + "/vote"),
		Reason: ui.Field{ID: "back-reason", Name: "reason", Label: v.tr("Reason"), Kind: ui.FieldArea, Required: true, Error: refused.problems["reason"]},
		What:   v.tr("This refuses the call and tells the agent what to change. You cannot approve the corrected call yourself.")}
	if refused.typed != nil {
		f.Open, f.Reason.Value = true, refused.typed["reason"]
	}
	f.Version = strconv.FormatInt(page.Request.Version, 10)
	for _, c := range page.Correctable {
		field := ui.Field{ID: "back-" + strings.ReplaceAll(strings.TrimPrefix(c.Name, "/"), "/", "-"), Name: inputField(c.Name), Label: v.argumentLabel(c.Name), Value: c.Value}
		if c.Deep() {
			field.Label, field.Hint = v.part(c.Bound), v.tr("Stands inside the call at %s.", ui.Foreign(c.Name).Plain())
		}
		if strings.Contains(c.Value, "\n") {
			field.Kind = ui.FieldArea // one line would lose the others
		}
		if slices.ContainsFunc(ui.Visible(c.Value), func(s ui.Segment) bool { return s.Mark }) {
			// A field would show it as if the unseen characters were not there.
			field.Value, field.Hint = "", v.tr("Holds characters that cannot be seen. Empty leaves it as it is.")
		}
		switch c.Bound {
		case approvals.BoundAmount:
			field.Kind, field.Suffix, field.Value = ui.FieldAmount, page.Request.Currency, v.lang.TypeFigures(field.Value)
		case approvals.BoundPostingDate:
			if _, err := models.ParseDate(c.Value); err == nil {
				field.Kind = ui.FieldDate
			}
		}
		f.Fields = append(f.Fields, refused.field(field))
	}
	f.Heading, f.Errors = refused.heading, refused.summary(append(slices.Clone(f.Fields), f.Reason)...)
	return f
}

// readCorrectedAmount reads the amount among the corrections as the person's language writes it.
func (v *visit) readCorrectedAmount(id string, input map[string]string) error {
	page, err := v.p.approvals.Page(v.ctx, v.by, id)
	if err != nil {
		return err
	}
	for _, c := range page.Correctable {
		if value, sent := input[c.Name]; sent && c.Bound == approvals.BoundAmount {
			input[c.Name] = v.lang.ReadFigures(value)
		}
	}
	return nil
}

// voteTooLate says who decided meanwhile, or why the vote does not count. What was typed stays.
func (v *visit) voteTooLate(page approvals.RequestPage, form voteForm) (*views.Conflict, *views.Changes) {
	if form.late == nil {
		return nil, nil
	}
	d := form.late.Details
	which, typed := form.refused.form, form.refused.typed
	inForm := which == formVote && page.CanVote || which == formSendBack && page.CanVote && len(page.Correctable) > 0 || which == formAsk && page.CanAsk
	if form.late.Code == models.Conflict && inForm {
		c := &views.Changes{Items: []views.Change{{At: v.at(page.Request.UpdatedAt), Text: ui.Foreign(v.said(form.late.Message))}},
			Heading: v.tr("This changed since you opened it, so nothing was decided."), Again: v.tr("What you typed is still in the form. Read what is new, then decide again.")}
		if which == formAsk {
			c.Heading, c.Again = v.tr("This changed since you opened it, so nothing was done."), v.tr("What you typed is still in the form. Read what is new, then send it again.")
		}
		return nil, c
	}
	c := &views.Conflict{Text: v.problem(form.late.Message)}
	names, _ := d["decided_by"].([]string)
	if at, ok := d["decided_at"].(models.Time); ok && len(names) > 0 {
		c.Text = v.tr("%s approved this %s (%s).", v.list(names), v.ago(at), v.clock(at))
		if fmt.Sprint(d["status"]) == string(models.RequestRejected) {
			c.Text = v.tr("%s rejected this %s (%s).", v.list(names), v.ago(at), v.clock(at))
		}
		c.Reason = ui.Foreign(page.Request.Reason)
	}
	switch models.VoteDecision(typed["decision"]) {
	case models.VoteApprove:
		c.Typed = append(c.Typed, ui.Pair(v.tr("You chose"), v.tr("Approve")))
	case models.VoteReject:
		c.Typed = append(c.Typed, ui.Pair(v.tr("You chose"), v.tr("Reject")))
	}
	c.Typed = append(c.Typed, pairs(v.tr("Reason"), typed["reason"], v.tr("Question"), typed["question"])...)
	c.Typed = append(c.Typed, v.inputEntries(inputsOf(typed))...)
	return c, nil
}

// inputField is the field in which a value is typed.
func inputField(name string) string { return "input." + name }

// correctionFields are the fields of a correction that was typed, by the pointers of the service's issues.
func correctionFields(typed map[string]string) map[string]string {
	names := map[string]string{}
	for name := range inputsOf(typed) {
		names[issueField(approvals.CorrectionPath(name))] = inputField(name)
	}
	return names
}

// inputsOf are the fields input.<name> among what was typed, by name.
func inputsOf(typed map[string]string) map[string]string {
	out := map[string]string{}
	for name, value := range typed {
		if plain, ok := strings.CutPrefix(name, "input."); ok {
			out[plain] = value
		}
	}
	return out
}
