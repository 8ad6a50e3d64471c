package pages

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// The forms of the case page.
const (
	formDecision = "decision"
	formComment  = "comment"
)

// caseForm is what a form of the case page that was refused brings back to the page.
type caseForm struct {
	exit     string            // that was chosen
	typed    map[string]string // of the decision, by field name
	decision refusal
	comment  refusal
	file     refusal
	moving   refusal            // of snoozing or rerouting
	late     *models.NamedError // somebody was faster
	since    string             // the version for which the form that came too late was made
}

// refused are the forms that were just sent in vain and bring back their own text.
func (f caseForm) refused() []string {
	forms := []string{f.comment.form}
	if f.typed != nil || f.decision.form != "" {
		forms = append(forms, formDecision)
	}
	return forms
}

func (v *visit) renderCase(id string, status int, form caseForm) error {
	var page queue.CasePage
	err := v.find(func() error {
		var err error
		page, err = v.p.queue.Page(v.ctx, v.by, id)
		return err
	})
	if err != nil {
		return err
	}
	r := v.reader()
	r.bankData = r.bankData && !page.Hidden
	invoice := r.invoice(page.Case.Invoice)
	title := v.codeTitle(codeOf(page.Case.Code))
	if number := invoice.Number.Plain(); number != "" {
		title += ": " + number
	}
	list := string(v.link(queueURL(page.Case.Queue)))
	typed, err := v.unsent(id, caseURL(id), form.refused()...)
	if err != nil {
		return err
	}
	form = typed.intoCase(form, page.Case.Version)
	around, err := v.page(title, v.self(caseURL(id)), "case:"+id)
	if err != nil {
		return err
	}
	if around.Here, err = v.here(id, list); err != nil {
		return err
	}
	if page.Claim.Mine && page.Case.Status != models.CaseResolved {
		around.Here.ClaimEnd = page.Claim.Until.String()
	}
	out := v.casePage(around, page, invoice, r, form)
	if err := typed.onCase(&out, list); err != nil {
		return err
	}
	if err := v.addToCase(&out, page, form); err != nil {
		return err
	}
	out.Duplicates, out.Match = v.duplicates(page.Duplicates), v.caseMatch(page.Case)
	if page.RequestID != "" && codeOf(page.Case.Code) == models.ApproverNotFound && page.Case.Status != models.CaseResolved {
		if out.Search, err = v.approverSearch(page.RequestID); err != nil {
			return err
		}
		v.offerCandidates(out.Decision, out.Search)
	}
	return render(v.c, status, views.Case(out))
}

func codeOf(c *models.Code) models.Code {
	if c == nil {
		return ""
	}
	return *c
}

func (v *visit) casePage(around views.Page, page queue.CasePage, invoice views.Invoice, r reader, form caseForm) views.CasePage {
	c := page.Case
	badge := v.caseBadge(c.Status)
	badge.TestID = "case-status"
	out := views.CasePage{
		Page: around, ID: c.CaseID, Heading: v.codeTitle(codeOf(c.Code)), Code: ui.Foreign(codeOf(c.Code)),
		QueueName: v.queue(c.Queue), QueueURL: v.link(queueURL(c.Queue)), Status: badge,
		Opened: v.at(c.CreatedAt), Run: ui.Foreign(page.RunID), Reason: v.handoverReason(c.Reason),
		Claim: v.claim(page), Marks: v.marks(page), Earlier: v.earlier(page.Earlier), Invoice: invoice,
		Request: v.relatedRecord(page), Instruction: v.instruction(page), WhyNot: v.said(page.WhyNot),
		Timeline: v.timeline(page.Timeline, page.Comments),
	}
	if c.Status == models.CaseOpen {
		out.Due = v.caseDue(c.DueAt)
	}
	for _, h := range slices.Backward(c.Handovers) {
		out.Handovers = append(out.Handovers, r.handover(h, page))
	}
	if page.CanComment {
		out.CommentForm = v.commentForm(c.CaseID, form.comment)
	}
	if len(page.Exits) > 0 {
		out.Decision = v.decisionForm(page, form)
	}
	out.Snooze, out.Reroute = v.snooze(page, form.moving), v.reroute(page, form.moving)
	out.Marks = append(out.Marks, v.timeNotices(page)...)
	out.Conflict, out.Changes = v.tooLate(page, form, v.withoutPlace(out, form))
	return out
}

func (v *visit) claim(page queue.CasePage) views.Claim {
	at := caseURL(page.Case.CaseID)
	c := views.Claim{CanClaim: page.Claim.CanClaim, CanRelease: page.Claim.CanRelease, CanTakeOver: page.Claim.CanTakeOver,
		ClaimURL: at + "/claim", ReleaseURL: at + "/release", TakeOverURL: at + "/take-over", Hidden: append(v.along(), ui.Hidden{Name: "version", Value: fmt.Sprint(page.Case.Version)})}
	switch {
	case page.Case.Status == models.CaseResolved:
	case page.Claim.Mine:
		c.Text = v.tr("Claimed by you until %s", v.clock(page.Claim.Until))
	case page.Claim.By != "":
		c.Text = v.tr("Claimed by %s until %s", page.Claim.By, v.clock(page.Claim.Until))
	default:
		c.Text = v.tr("Claimed by nobody")
	}
	return c
}

// marks are what intake noticed and what decisions left for others to see.
func (v *visit) marks(page queue.CasePage) []ui.Notice {
	var out []ui.Notice
	for _, m := range page.Marks {
		tone := ui.ToneWarn
		if m.Kind == queue.MarkSuspectedFraud {
			tone = ui.ToneBad
		}
		out = append(out, ui.Notice{Tone: tone, Text: ui.Foreign(v.said(m.Text)), TestID: "mark"})
	}
	if page.Moved != "" {
		for _, d := range slices.Backward(page.Decisions) {
			if d.Exit == page.Moved {
				out = append(out, ui.Notice{Tone: ui.ToneInfo, Heading: v.tr("%s moved this here %s: %s.", d.By, v.ago(d.At), v.lower(v.said(d.Label))), Text: ui.Foreign(d.Reason), TestID: "moved"})
				break
			}
		}
	}
	if page.Case.Status == models.CaseHeld && !page.HeldUntil.IsZero() {
		out = append(out, ui.Notice{Tone: ui.ToneInfo, Text: ui.Foreign(v.tr("Held until %s. It can be decided before.", v.date(page.HeldUntil))), TestID: "held-until"})
	}
	if page.Question != "" {
		out = append(out, ui.Notice{Tone: ui.ToneInfo, Heading: v.tr("A question waits for the agent’s answer"), Text: ui.Foreign(page.Question), TestID: "question"})
	}
	return out
}

func (v *visit) earlier(decisions []queue.Decision) []views.EarlierDecision {
	var out []views.EarlierDecision
	for _, d := range decisions {
		out = append(out, views.EarlierDecision{Text: v.tr("%s decided the same error %s: %s.", d.By, v.ago(d.At), v.lower(v.said(d.Label))),
			Reason: ui.Foreign(d.Reason), URL: caseURL(d.CaseID)})
	}
	return out
}

func (w words) relatedRecord(page queue.CasePage) *views.RelatedLink {
	switch {
	case page.RequestID != "":
		if codeOf(page.Case.Code) == models.ApproverNotFound {
			return &views.RelatedLink{Text: w.tr("The approval request behind this case"), URL: requestURL(page.RequestID)}
		}
		return &views.RelatedLink{Text: w.tr("The approval request this case is about"), URL: requestURL(page.RequestID)}
	case page.HoldID != "":
		return &views.RelatedLink{Text: w.tr("The hold behind this case, with every check"), URL: holdURL(page.HoldID)}
	}
	return nil
}

// instruction is what the agent was told, and by whose decision.
func (v *visit) instruction(page queue.CasePage) *views.Instruction {
	in := page.Case.Instruction
	if in == nil {
		return nil
	}
	out := &views.Instruction{Kind: string(in.Kind), Words: v.instructionText(in.Kind, in.Question), Question: ui.Foreign(in.Question), Note: ui.Foreign(in.Note), Until: v.dateText(in.Until)}
	names := make([]string, 0, len(in.Input))
	for name := range in.Input {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		out.Input = append(out.Input, ui.Entry{Key: ui.Foreign(name), Label: v.inputLabel(name), Value: ui.TextValue(v.inputText(name, fmt.Sprint(in.Input[name])))})
	}
	if n := len(page.Decisions); n > 0 {
		d := page.Decisions[n-1]
		out.ExitText, out.At, out.Reason = v.said(d.Label), v.at(d.At), ui.Foreign(d.Reason)
		switch d.Role {
		case models.RoleAgent:
			out.By = v.tr("Withdrawn by %s", d.By)
		case "":
			out.By = v.tr("Decided by %s", d.By)
		default:
			out.By = v.tr("Decided by %s, %s", d.By, v.lower(v.role(d.Role)))
		}
	} else {
		out.ExitText, out.By, out.At = v.tr("The agent has its instruction"), v.tr("Set by the desk"), v.at(page.Case.CreatedAt)
	}
	return out
}

func (r reader) handover(h queue.HandoverView, page queue.CasePage) views.HandoverView {
	out := views.HandoverView{At: r.at(h.At), Agent: ui.Foreign(h.Agent), Run: ui.Foreign(h.RunID), Asks: ui.Foreign(h.Question).Plain(), Answer: ui.Foreign(h.Answer),
		Explanation: ui.Foreign(h.Explanation), Errors: r.seenErrors(h.Errors), Evidence: r.evidence(h.Evidence), Calls: r.calls(h.ProposedCalls)}
	if h.Suggestion != nil {
		out.Suggestion = &views.Suggestion{Exit: ui.Foreign(h.Suggestion.Exit), Why: ui.Foreign(h.Suggestion.Why)}
		offered := queue.Exits(codeOf(page.Case.Code), page.Case.Reason, page.Moved)
		if slices.ContainsFunc(offered, func(e queue.Exit) bool { return e.Code == h.Suggestion.Exit }) {
			out.Suggestion.ExitWords = r.exit(h.Suggestion.Exit)
		}
	}
	return out
}

func (v *visit) commentForm(id string, refused refusal) *views.CommentForm {
	f := &views.CommentForm{Form: v.recordForm(caseURL(id) + "/comments"),
		Text:    refused.field(ui.Field{Name: "text", Label: v.tr("Comment"), Kind: ui.FieldArea, Required: true, Rows: 2}),
		Mention: refused.field(ui.Field{Name: "mention", Label: v.tr("Tell somebody"), Hint: v.tr("They get a notice. Or write @ and a name in the comment.")})}
	f.Heading, f.Errors = refused.heading, refused.summary(f.Text, f.Mention)
	return f
}

func (v *visit) decisionForm(page queue.CasePage, form caseForm) *views.DecisionForm {
	f := &views.DecisionForm{Form: v.recordForm(caseURL(page.Case.CaseID) + "/decision"),
		Reason: ui.Field{Name: "reason", Label: v.tr("Reason"), Kind: ui.FieldArea, Required: true, Value: form.typed["reason"], Error: form.decision.problems["reason"],
			Hint: v.tr("Kept on the trail, beside your name.")}}
	f.Version = fmt.Sprint(page.Case.Version)
	if page.Claim.By == "" {
		f.ClaimsOnSubmit = v.tr("Deciding also claims the case for you.")
	}
	suggested := ""
	if n := len(page.Case.Handovers); n > 0 && page.Case.Handovers[n-1].Suggestion != nil {
		suggested = page.Case.Handovers[n-1].Suggestion.Exit
	}
	var shown []ui.Field
	for _, e := range page.Exits {
		exit := views.Exit{Code: e.Code, Label: v.said(e.Label), AgentWill: v.said(e.Next), States: v.said(e.States), NoReason: e.Plain, Stops: e.Instruction == models.InstructStop,
			Checked: e.Code == form.exit, Suggested: e.Code == suggested}
		for _, field := range e.Fields {
			kept := form
			if e.Code != keeper(page.Exits, form.exit, field.Name) {
				kept = caseForm{}
			}
			exit.Fields = append(exit.Fields, v.exitField(e, field, page.Amount.Currency(), kept))
		}
		if exit.Checked {
			shown = append(shown, exit.Fields...)
		}
		f.Exits = append(f.Exits, exit)
	}
	for _, c := range page.Proposed {
		call := v.proposedCall(page, c, form)
		shown = append(shown, call.Fields...)
		f.Proposed = append(f.Proposed, call)
	}
	f.ProposedError = form.decision.problems["proposed"]
	shown = append(shown, f.Reason)
	f.Heading, f.Errors = form.decision.heading, form.decision.summary(shown...)
	return f
}

// keeper is the exit whose field keeps what was typed under a name: the chosen one, else the first that asks
// for it. Only one may keep it, since the fields of all are sent without script.
func keeper(exits []queue.Exit, chosen, name string) string {
	first := ""
	for _, e := range exits {
		asks := slices.ContainsFunc(e.Fields, func(f queue.Field) bool { return f.Name == name })
		if asks && (first == "" || e.Code == chosen) {
			first = e.Code
		}
	}
	return first
}

// exitField is one field of an exit, with what was typed into it. What was wrong is said of the exit chosen.
func (v *visit) exitField(e queue.Exit, field queue.Field, currency string, form caseForm) ui.Field {
	f := ui.Field{Name: "input." + field.Name, Label: v.said(field.Label), Hint: v.said(field.Hint), Required: true, Kind: ui.FieldText}
	f.ID = views.Exit{Code: e.Code}.FieldID(f.Name)
	switch field.Kind {
	case queue.FieldLong:
		f.Kind = ui.FieldArea
	case queue.FieldDate:
		f.Kind = ui.FieldDate
	case queue.FieldAmount:
		f.Kind, f.Suffix = ui.FieldAmount, currency
	case queue.FieldEmail:
		f.Kind, f.Autocomplete = ui.FieldEmail, "off"
	}
	f.Value = form.typed[f.Name]
	if e.Code == form.exit {
		f.Error = form.decision.problems[f.Name]
	}
	return f
}

// withoutPlace is what somebody had typed that no form of the page holds as it is now.
func (v *visit) withoutPlace(out views.CasePage, form caseForm) []ui.Entry {
	moving := form.moving.typed
	switch form.moving.form {
	case formSnooze:
		if out.Snooze == nil || out.Snooze.Form == nil {
			until := moving["until"]
			if at, err := time.Parse(time.RFC3339, until); err == nil {
				until = v.clockIn(models.At(at))
			} else if until == snoozeOwn || until == "" {
				until = moving["until_at"]
			}
			return pairs(v.tr("Until"), until, v.tr("Reason"), moving["reason"])
		}
	case formReroute:
		var typed []ui.Entry
		if out.Reroute == nil || !slices.ContainsFunc(out.Reroute.To.Options, func(o ui.Option) bool { return o.Selected }) {
			if to := models.Queue(moving["to"]); to.Valid() {
				typed = pairs(v.tr("Queue"), v.queue(to))
			}
		}
		if out.Reroute == nil {
			typed = append(typed, pairs(v.tr("Reason"), moving["reason"])...)
		}
		return typed
	}
	held := map[string]bool{}
	if d := out.Decision; d != nil {
		held["reason"] = true
		for _, e := range d.Exits {
			held["exit"] = held["exit"] || e.Checked
			for _, f := range e.Fields {
				held[f.Name] = held[f.Name] || f.Value != ""
			}
		}
		for _, c := range d.Proposed {
			held[c.Tick.Name] = true
			for _, f := range c.Fields {
				held[f.Name] = true
			}
		}
	}
	rest := caseForm{typed: map[string]string{}}
	if !held["exit"] {
		rest.exit = form.exit
	}
	for name, value := range form.typed {
		if !held[name] {
			rest.typed[name] = value
		}
	}
	return v.typedEntries(rest)
}

// tooLate says who was faster, what is new since the page was opened, or why this person's decision
// does not count. What was typed stays: in its form while the person still has it, else in the notice.
func (v *visit) tooLate(page queue.CasePage, form caseForm, left []ui.Entry) (*views.Conflict, *views.Changes) {
	if form.late == nil {
		return nil, nil
	}
	d := form.late.Details
	by, _ := d["decided_by"].(string)
	if changes := v.changes(page.Timeline, form.since); by == "" && d["reason"] == "stale" && len(changes) > 0 {
		c := &views.Changes{Items: changes, Typed: left, Heading: v.tr("This changed since you opened it, so nothing was decided.")}
		if form.moving.form != "" {
			c.Heading = v.tr("This changed since you opened it, so nothing was done.")
		}
		switch {
		case form.moving.form != "" && len(left) == 0:
			c.Again = v.tr("What you typed is still in the form. Read what is new, then send it again.")
		case form.moving.form != "" || len(page.Exits) == 0:
			// There is nothing the person could send again as it is.
		case len(left) > 0:
			c.Again = v.tr("Read what is new, then decide again.")
		default:
			c.Again = v.tr("What you typed is still in the form. Read what is new, then decide again.")
		}
		return nil, c
	}
	c := &views.Conflict{Text: v.problem(form.late.Message), Typed: left}
	if form.typed != nil {
		c.Typed = v.typedEntries(form)
	}
	if at, ok := d["decided_at"].(models.Time); ok && by != "" {
		exit, _ := d["exit"].(string)
		c.Text = v.tr("%s decided this %s (%s): %s.", by, v.ago(at), v.clock(at), v.lower(v.exit(exit)))
	}
	if holder, ok := d["claimed_by"].(string); ok {
		c.Text = v.tr("%s holds this case.", holder)
		if until, ok := d["claimed_until"].(models.Time); ok {
			c.Text = v.tr("%s holds this case until %s.", holder, v.clock(until))
		}
	}
	if reason, ok := d["decision_reason"].(string); ok {
		c.Reason = ui.Foreign(reason)
	}
	return c, nil
}

// changes tells, newest first, what raised the case's version since the one a form was made for.
func (v *visit) changes(events []models.AuditEvent, since string) []views.Change {
	var out []views.Change
	from, _ := strconv.ParseInt(since, 10, 64)
	for _, e := range events {
		var d struct {
			eventData
			Version int64 `json:"version"`
		}
		if json.Unmarshal([]byte(e.Data), &d) != nil || d.Version <= from {
			continue
		}
		switch e.Action {
		case "case.joined", "case.answered", "case.decided", "case.reopened", "case.withdrawn", "case.rerouted":
			out = append(out, views.Change{At: v.at(e.At), Text: ui.Foreign(e.ActorName + " " + v.tell(e, d.eventData).what)})
		}
	}
	return out
}

// typedEntries are what somebody had typed, to be copied.
func (w words) typedEntries(form caseForm) []ui.Entry {
	fields := []models.DraftField{{Name: "exit", Value: form.exit}}
	for _, name := range slices.Sorted(maps.Keys(form.typed)) {
		if name == "reason" || strings.HasPrefix(name, "input.") || strings.HasPrefix(name, proposedPrefix) {
			fields = append(fields, models.DraftField{Name: name, Value: form.typed[name]})
		}
	}
	return w.fieldEntries(fields)
}
