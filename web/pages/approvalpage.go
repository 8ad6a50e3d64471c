package pages

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// The forms of a request's page.
const (
	formVote     = "vote"
	formSendBack = "send_back"
)

// voteForm is what a form of the request's page that was refused brings back to the page.
type voteForm struct {
	typed   map[string]string
	refused refusal
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
	title := money(page.Amount.Text(), page.Amount.Currency())
	if number := invoice.Number.Plain(); number != "" {
		title += ": " + number
	}
	if page.CanVote {
		title = "Approve " + title
	} else {
		title = "Approval " + title
	}
	around, err := v.page(title, requestURL(id), "request:"+id)
	if err != nil {
		return err
	}
	return render(v.c, status, views.Approval(v.approvalPage(around, page, invoice, r, form)))
}

func (v *visit) approvalPage(around views.Page, page approvals.RequestPage, invoice views.Invoice, r reader, form voteForm) views.ApprovalPage {
	q := page.Request
	badge := requestBadge(page.Status)
	badge.TestID = "approval-status"
	out := views.ApprovalPage{
		Page: around, ID: q.ID, BackURL: v.link("/approvals"), Status: badge, Asked: v.at(q.CreatedAt), AskedBy: ui.Foreign(q.AskerName),
		OnBehalf: onBehalf(page.OnBehalf), CallHeading: callHeading(page), Sentence: writeSentence(page),
		Amount: page.Amount.FormatNumber(), Currency: page.Amount.Currency(), InWords: ui.Words(page.Amount.Text(), page.Amount.Currency()),
		Facts: v.writeFacts(page), Call: r.call(q.Tool, page.Arguments), Digest: q.Digest, Invoice: invoice,
		Summary: ui.Foreign(q.Summary), Explained: ui.Foreign(q.Explanation), Run: ui.Foreign(q.RunID), Evidence: r.evidence(page.Evidence),
		Rule: v.rule(page), Votes: v.votes(page.Votes), WhyNot: v.whyNot(page), Grant: v.grant(page.Grant), Notices: v.requestNotices(page),
		Timeline: v.timeline(page.Timeline, nil),
	}
	out.Call.InWords = "" // the sentence above says it, from the values that were compared
	if page.Status == models.RequestPending || page.Status == models.RequestUnrouted {
		out.Expires = v.expires(q.ExpiresAt)
	}
	if len(page.Tried) > 0 {
		out.Search = &views.ApproverSearch{Tried: tried(page.Tried)}
	}
	for _, b := range page.Binding {
		out.Binding = append(out.Binding, views.BoundValue{Name: b.Name, Value: ui.Foreign(b.Value), Pointer: ui.Foreign(b.Pointer)})
	}
	for _, d := range page.Deciders {
		if page.Status != models.RequestPending && page.Status != models.RequestUnrouted {
			break // it is decided: nobody may decide it any more
		}
		out.Eligible = append(out.Eligible, views.Eligible{Name: d.Name, Role: lower(d.Role.Title()), May: d.May, Why: d.Why, You: d.You})
	}
	if page.Tally.Required > 0 {
		out.VotesText = votesText(page.Tally.Yes, page.Tally.Required)
	}
	if page.Earlier != nil && page.Status != models.RequestApproved {
		out.RedeemedBefore = v.ranBefore(*page.Earlier)
	}
	if page.CanVote {
		out.Form = v.voteForm(page, form)
		out.SendBack = v.sendBackForm(page, form)
	}
	switch {
	case q.UnroutedCaseID != nil:
		out.Case = &views.RelatedLink{Text: "The case that looks for an approver", URL: caseURL(*q.UnroutedCaseID)}
	case q.CaseID != nil:
		out.Case = &views.RelatedLink{Text: "The case this belongs to", URL: caseURL(*q.CaseID)}
	}
	out.Conflict, out.Changes = v.voteTooLate(page, form)
	return out
}

func votesText(yes, required int) string { return fmt.Sprintf("%d of %d", yes, required) }

func onBehalf(people []models.User) string {
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
		return names[0] + " answers for this account"
	}
	return list(names) + " answer for this account"
}

// callHeading says where the call stands.
func callHeading(page approvals.RequestPage) string {
	if g := page.Grant; g != nil {
		switch {
		case g.Report == approvals.ReportPosted:
			return "Exactly this was written"
		case g.Report == approvals.ReportFailed:
			return "Exactly this was tried, and it failed"
		case g.Status == models.ApprovalRedeemed:
			return "Exactly this was released for writing"
		case g.Status == models.ApprovalGranted:
			return "Exactly this may be written, once"
		}
		return "This was approved and not written"
	}
	switch page.Status {
	case models.RequestPending, models.RequestUnrouted:
		return "Exactly this will be written if you approve"
	case models.RequestRejected:
		return "This was refused and not written"
	}
	return "This was not written"
}

// writeSentence says what the write does, from the values the desk compared with the call.
func writeSentence(page approvals.RequestPage) ui.Foreign {
	value := func(name string) string {
		for _, b := range page.Binding {
			if b.Name == name {
				return b.Value
			}
		}
		return ""
	}
	return writeInWords(page.Request.Tool, value("Invoice"), value("Supplier"), value("Amount"), page.Request.Currency, value("Posting date"))
}

func (v *visit) writeFacts(page approvals.RequestPage) []ui.Entry {
	q := page.Request
	return pairs("Document type", q.DocumentType, "Posting date", date(q.PostingDate), "Cost centre", q.CostCentre)
}

// rule is the request's own copy of what routed it.
func (v *visit) rule(page approvals.RequestPage) views.Rule {
	c := page.Routing.Authority()
	if c == nil {
		return views.Rule{None: sentence(orSome(page.Unrouted, "No rule of the matrix covers this request"))}
	}
	who := c.Role.Title()
	if c.Role == "" {
		who = "the people named"
	}
	out := views.Rule{Name: ruleName(c.ID, c.Version), Text: page.RuleText, Valid: "An approval is good for " + span(c.Valid()) + " and one call.",
		Written: fmt.Sprintf("Written by %s, %s.", c.AuthorName, v.day(c.CreatedAt))}
	switch required := page.Routing.Required(); {
	case page.Named != "" && required == 1:
		out.Need = "One yes of " + page.Named
	case required == 1:
		out.Need = "One yes of " + lower(who)
	default:
		out.Need = fmt.Sprintf("%d different people must say yes: %s", required, lower(who))
	}
	if page.Named != "" {
		out.Text += fmt.Sprintf(" · %s named by %s for this request only", page.Named, page.NamedBy)
	}
	return out
}

func (v *visit) votes(votes []models.Vote) []views.Vote {
	var out []views.Vote
	for _, vote := range votes {
		b := ui.Badge{Text: "Yes", Tone: ui.ToneGood, Sign: ui.SignYes}
		if vote.Decision == models.VoteReject {
			b = ui.Badge{Text: "No", Tone: ui.ToneBad, Sign: ui.SignNo}
		}
		out = append(out, views.Vote{Who: vote.UserName, Role: lower(models.Role(vote.Role).Title()), Badge: b, At: v.at(vote.At), Channel: channelWords(vote.Channel), Reason: ui.Foreign(vote.Reason)})
	}
	return out
}

// whyNot says why this person cannot decide; for a request that is over, how it ended.
func (v *visit) whyNot(page approvals.RequestPage) string {
	if page.WhyNot != "" {
		return page.WhyNot
	}
	q := page.Request
	switch page.Status {
	case models.RequestApproved, models.RequestRejected:
		var names []string
		for _, vote := range page.Votes {
			if (vote.Decision == models.VoteReject) == (page.Status == models.RequestRejected) {
				names = append(names, vote.UserName)
			}
		}
		return fmt.Sprintf("%s %s this %s.", orSome(list(names), "Somebody"), page.Status, v.ago(q.DecidedAt))
	case models.RequestExpired:
		return "This expired " + v.ago(q.ExpiresAt) + "; nobody decided it in time, and nothing was approved."
	case models.RequestWithdrawn:
		return "This was withdrawn " + v.ago(q.DecidedAt) + ": " + sentence(q.Reason)
	case models.RequestUnrouted:
		return "Nobody can decide this until an approver is found."
	}
	return ""
}

func (v *visit) grant(g *approvals.Grant) *views.Grant {
	if g == nil {
		return nil
	}
	out := &views.Grant{MaskedID: g.MaskedID, Status: approvalBadge(g.Status), Expires: v.exactly(g.ExpiresAt)}
	if !g.RedeemedAt.IsZero() {
		out.Redeemed = &views.Redeemed{At: v.at(g.RedeemedAt), By: ui.Foreign(g.RedeemedBy)}
	}
	switch g.Report {
	case approvals.ReportPosted:
		out.Report = &views.Report{Status: ui.Badge{Text: "Posted", Tone: ui.ToneGood, Sign: ui.SignYes}}
	case approvals.ReportFailed:
		out.Report = &views.Report{Status: ui.Badge{Text: "Failed", Tone: ui.ToneBad, Sign: ui.SignNo}}
	case approvals.ReportOverdue:
		out.Missing = "No report has come since " + v.clock(g.RedeemedAt)
	}
	if out.Report != nil {
		out.Report.Document, out.Report.Message, out.Report.At = ui.Foreign(g.DocumentNumber), ui.Foreign(g.Message), v.at(g.ReportedAt)
	}
	return out
}

// requestNotices are what to know before going on.
func (v *visit) requestNotices(page approvals.RequestPage) []ui.Notice {
	var out []ui.Notice
	q := page.Request
	open := page.Status == models.RequestPending || page.Status == models.RequestUnrouted
	if page.Status == models.RequestUnrouted {
		n := ui.Notice{Tone: ui.ToneBad, Heading: "Nobody can decide this now", Text: ui.Foreign(page.Unrouted), TestID: "unrouted"}
		if q.UnroutedCaseID != nil {
			n.LinkText, n.URL = "The case that looks for an approver", caseURL(*q.UnroutedCaseID)
		}
		out = append(out, n)
	}
	if closed := v.ws.PeriodClosedThrough; open && !closed.IsZero() && !q.PostingDate.IsZero() && !q.PostingDate.After(closed) {
		out = append(out, ui.Notice{Tone: ui.ToneBad, Heading: "The posting period is closed", TestID: "period-closed",
			Text: ui.Foreign("The books are closed through " + date(closed) + ". While they are, the write is refused even with an approval.")})
	}
	if open && !page.IsBound {
		out = append(out, ui.Notice{Tone: ui.ToneWarn, Heading: "The amount could not be compared with the call", TestID: "unbound",
			Text: "The workspace does not state where this tool's arguments carry the amount. Read the arguments themselves; the rule with the highest limit decides."})
	}
	if in := page.Instruction; in != nil && in.Kind == models.InstructRetryWith {
		n := ui.Notice{Tone: ui.ToneInfo, Heading: "It was sent back: the agent calls again with a correction", TestID: "sent-back"}
		names := make([]string, 0, len(in.Input))
		for name := range in.Input {
			names = append(names, name)
		}
		slices.Sort(names)
		var changed []string
		for _, name := range names {
			changed = append(changed, fmt.Sprintf("%s: %v", ui.Label(name).Plain(), in.Input[name]))
		}
		n.Text = ui.Foreign(strings.Join(changed, "; "))
		out = append(out, n)
	}
	if g := page.Grant; g != nil && g.Status == models.ApprovalRevoked {
		out = append(out, ui.Notice{Tone: ui.ToneWarn, Heading: "The approval was revoked " + v.ago(g.RevokedAt), Text: ui.Foreign(g.RevokeReason), TestID: "revoked"})
	}
	if page.CanRevoke {
		out = append(out, ui.Notice{Tone: ui.ToneInfo, Text: "You approved this. Until it is used you can take the approval back.", LinkText: "Revoke the approval…",
			URL: requestURL(q.ID) + "/revoke", TestID: "can-revoke"})
	}
	if open && v.by.Has(models.RoleAgent) && slices.ContainsFunc(page.Asked, func(u models.User) bool { return u.ID == v.by.UserID }) {
		out = append(out, ui.Notice{Tone: ui.ToneInfo, Text: "You asked for this yourself.", LinkText: "Withdraw the request…", URL: requestURL(q.ID) + "/withdraw", TestID: "can-withdraw"})
	}
	return out
}

// tried lists the rules of the matrix and why each did not help.
func tried(rules []approvals.Tried) []views.TriedRule {
	out := make([]views.TriedRule, 0, len(rules))
	for _, t := range rules {
		out = append(out, views.TriedRule{Name: ruleName(t.RuleID, t.Version), Text: t.Rule, Why: ui.Foreign(t.Why)})
	}
	return out
}

// search is what finding an approver needs: every rule and why it does not help, and who holds the
// limit for the amount. nil once the request is routed.
func (v *visit) search(requestID string) (*views.ApproverSearch, error) {
	request, err := v.p.approvals.Page(v.ctx, v.by, requestID)
	if models.IsCode(err, models.NotFound) || (err == nil && request.Status != models.RequestUnrouted) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	holders, err := v.limitHolders(request)
	return &views.ApproverSearch{Amount: money(request.Request.Amount, request.Request.Currency), Holders: holders, Tried: tried(request.Tried)}, err
}

// limitHolders lists the people whose limit covers a request and who did not ask for it.
func (v *visit) limitHolders(request approvals.RequestPage) ([]views.LimitHolder, error) {
	matrix, err := v.p.approvals.Rules(v.ctx, v.by)
	if err != nil {
		return nil, err
	}
	rules := make([]models.Rule, len(matrix))
	for i, r := range matrix {
		rules[i] = r.Rule
	}
	var members []models.Member
	err = v.p.store.View(v.ctx, v.by, func(tx *models.Tx) error {
		var err error
		members, err = tx.Members()
		return err
	})
	if err != nil {
		return nil, err
	}
	q := request.Request
	asked := func(id string) bool {
		return slices.ContainsFunc(slices.Concat(request.Asked, request.OnBehalf), func(u models.User) bool { return u.ID == id })
	}
	var out []views.LimitHolder
	for _, m := range members {
		if m.User.Kind != models.KindPerson || asked(m.User.ID) {
			continue
		}
		text, _, ok := approvals.LimitOf(rules, m, q.Tool, q.DocumentType, q.Currency)
		if !ok {
			continue
		}
		limit, err := models.ParseMoney(text, q.Currency)
		if err != nil {
			return nil, fmt.Errorf("pages: limit of a rule: %w", err)
		}
		if order, err := limit.Cmp(request.Amount.Abs()); err == nil && order >= 0 {
			out = append(out, views.LimitHolder{Name: m.User.Name, Email: m.User.Email, Limit: limit.Format()})
		}
	}
	return out, nil
}

func (v *visit) ranBefore(e approvals.EarlierRun) *ui.Notice {
	n := &ui.Notice{Tone: ui.ToneBad, Heading: "This exact call was carried out before", TestID: "redeemed-before", LinkText: "See that request", URL: requestURL(e.RequestID)}
	at := v.clock(e.RedeemedAt)
	switch {
	case e.Report == approvals.ReportPosted && e.DocumentNumber != "":
		n.Text = ui.Foreign(fmt.Sprintf("At %s it was posted as document %s.", at, e.DocumentNumber))
	case e.Report == approvals.ReportPosted:
		n.Text = ui.Foreign(fmt.Sprintf("At %s it was posted; no document number was reported.", at))
	case e.Report == approvals.ReportFailed:
		n.Heading = "This exact call was tried before"
		n.Text = ui.Foreign(fmt.Sprintf("At %s it was tried, and reported as failed.", at))
	default:
		n.Text = ui.Foreign(fmt.Sprintf("At %s it was released for writing, and nobody reported what came of it.", at))
	}
	return n
}

func (v *visit) voteForm(page approvals.RequestPage, form voteForm) *views.VoteForm {
	q := page.Request
	refused := form.refused.of(formVote)
	typed := form.typed
	if form.refused.form == formSendBack {
		typed = nil
	}
	f := &views.VoteForm{Form: v.form(requestURL(q.ID) + "/vote"), ApproveLabel: "Approve " + money(q.Amount, q.Currency),
		Reason: ui.Field{Name: "reason", Label: "Reason", Kind: ui.FieldArea, Hint: "Needed to reject. Kept on the trail, beside your name.", Value: typed["reason"], Error: refused.problems["reason"]}}
	f.Version = strconv.FormatInt(q.Version, 10)
	fields := []ui.Field{f.Reason}
	if page.Earlier != nil {
		f.SecondStep = &ui.Field{Name: "second_step", Label: "Yes, it is to be carried out a second time", Kind: ui.FieldCheckbox, Value: "yes",
			Checked: typed["second_step"] != "", Error: refused.problems["second_step"], TestID: "second-step"}
		fields = append(fields, *f.SecondStep)
	}
	valid := ""
	if c := page.Routing.Authority(); c != nil {
		valid = span(c.Valid())
	}
	f.After = "The agent then has " + valid + " to make exactly this call, once."
	if left := page.Tally.Required - page.Tally.Yes - 1; left > 0 {
		f.After = plural(left, "more person has to say yes after you", "more people have to say yes after you") + ". " + f.After
	}
	f.Heading, f.Errors = refused.heading, refused.summary(fields...)
	return f
}

func (v *visit) sendBackForm(page approvals.RequestPage, form voteForm) *views.SendBackForm {
	if len(page.Correctable) == 0 {
		return nil
	}
	refused := form.refused.of(formSendBack)
	f := &views.SendBackForm{Form: v.form(requestURL(page.Request.ID) + "/vote"),
		Reason: ui.Field{ID: "back-reason", Name: "reason", Label: "Reason", Kind: ui.FieldArea, Required: true, Error: refused.problems["reason"]},
		What:   "This refuses the call and tells the agent what to change. You cannot approve the corrected call yourself."}
	if refused.typed != nil {
		f.Reason.Value = refused.typed["reason"]
	}
	f.Version = strconv.FormatInt(page.Request.Version, 10)
	pointer := map[string]string{}
	for _, b := range page.Binding {
		pointer[b.Pointer] = b.Name
	}
	for _, c := range page.Correctable {
		field := ui.Field{ID: "back-" + c.Name, Name: "input." + c.Name, Label: ui.Label(c.Name).Plain(), Value: c.Value}
		if slices.ContainsFunc(ui.Visible(c.Value), func(s ui.Segment) bool { return s.Mark }) {
			// A field would show it as if the unseen characters were not there.
			field.Value, field.Hint = "", "Holds characters that cannot be seen. Empty leaves it as it is."
		}
		switch pointer["/"+c.Name] {
		case "Amount":
			field.Kind, field.Suffix = ui.FieldAmount, page.Request.Currency
		case "Posting date":
			if _, err := models.ParseDate(c.Value); err == nil {
				field.Kind = ui.FieldDate
			}
		}
		f.Fields = append(f.Fields, refused.field(field))
	}
	f.Heading, f.Errors = refused.heading, refused.summary(append(slices.Clone(f.Fields), f.Reason)...)
	return f
}

// voteTooLate says who decided meanwhile, or why the vote does not count. What was typed stays.
func (v *visit) voteTooLate(page approvals.RequestPage, form voteForm) (*views.Conflict, *views.Changes) {
	if form.late == nil {
		return nil, nil
	}
	d := form.late.Details
	if form.late.Code == models.Conflict && page.CanVote {
		return nil, &views.Changes{Items: []views.Change{{At: v.at(page.Request.UpdatedAt), Text: ui.Foreign(form.late.Message)}}}
	}
	c := &views.Conflict{Text: sentence(form.late.Message)}
	names, _ := d["decided_by"].([]string)
	if at, ok := d["decided_at"].(models.Time); ok && len(names) > 0 {
		c.Text = fmt.Sprintf("%s %s this %s (%s).", list(names), d["status"], v.ago(at), v.clock(at))
		c.Reason = ui.Foreign(page.Request.Reason)
	}
	switch models.VoteDecision(form.typed["decision"]) {
	case models.VoteApprove:
		c.Typed = append(c.Typed, ui.Pair("You chose", "Approve"))
	case models.VoteReject:
		c.Typed = append(c.Typed, ui.Pair("You chose", "Reject"))
	}
	c.Typed = append(c.Typed, pairs("Reason", form.typed["reason"])...)
	c.Typed = append(c.Typed, inputEntries(inputsOf(form.typed))...)
	return c, nil
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
