package pages

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views/ui"
)

// told says what an event of the trail means. what finishes a sentence that begins with the actor's
// name; words are what the actor wrote; details are the facts worth showing beside it.
type told struct {
	what    string
	words   string
	details []ui.Entry
}

// eventData is what the desk writes beside its events.
type eventData struct {
	Queue            models.Queue         `json:"queue"`
	Exit             string               `json:"exit"`
	Reason           string               `json:"reason"`
	Input            map[string]string    `json:"input"`
	Until            string               `json:"until"`
	From             string               `json:"from"`
	HeldUntil        string               `json:"held_until"`
	CommentID        string               `json:"comment_id"`
	Name             string               `json:"name"` // of a file
	Message          string               `json:"message"`
	Why              string               `json:"why"`
	Tool             string               `json:"tool"`
	Amount           string               `json:"amount"`
	Currency         string               `json:"currency"`
	Rule             string               `json:"rule"`
	RuleVersion      int64                `json:"rule_version"`
	Again            bool                 `json:"again"` // routed by itself, when people were back
	NamedName        string               `json:"named_name"`
	TakenOut         []approvals.TakenOut `json:"taken_out"`
	LimitRule        string               `json:"limit_rule"`
	LimitRuleVersion int64                `json:"limit_rule_version"`
	Required         int                  `json:"required"`
	Decision         models.VoteDecision  `json:"decision"`
	Role             models.Role          `json:"role"`
	Limit            string               `json:"limit"`
	SecondStep       bool                 `json:"second_step"`
	ConfirmedHow     models.Factor        `json:"confirmed_how"`
	SentBack         bool                 `json:"sent_back"`
	Correction       map[string]string    `json:"correction"`
	Approval         string               `json:"approval"`
	Status           string               `json:"status"`
	DocumentNumber   string               `json:"document_number"`
	Result           string               `json:"result"`
	ChecksLeft       *int                 `json:"checks_left"`
	NextCheckAt      string               `json:"next_check_at"`
	Code             string               `json:"code"`
	Action           models.ElicitAction  `json:"action"`
	Server           string               `json:"server"`
	Answered         bool                 `json:"answered"`
	Confirm          *bool                `json:"confirm"`
	Note             string               `json:"note"`
	Same             string               `json:"same"`
	FraudCase        string               `json:"fraud_case"`
	Candidates       int                  `json:"candidates"`
	Question         string               `json:"question"`
	OnBehalfOf       string               `json:"on_behalf_of_name"`
	FromQueue        models.Queue         `json:"from_queue"`
}

// ofTheDesk are the events that follow from the desk's rules, whoever's act set them off.
var ofTheDesk = []string{"request.routed", "request.unrouted", "request.expired", "approval.granted", "approval.expired", "hold.escalated", "hold.check_missed", "report.overdue", "report.reminded", "request.expiring", "approval.expiring", "confirmation.expired"}

// timeline joins what agents, people and the desk did, the newest first. comments gives the text
// behind an event that only names its comment.
func (v *visit) timeline(events []models.AuditEvent, comments []models.Comment) []ui.TimelineEntry {
	return v.reader().timeline(events, comments, nil)
}

// timeline is the line of time as its reader may see it. about names the record an event happened to,
// where the line tells of several; it may be nil.
func (r reader) timeline(events []models.AuditEvent, comments []models.Comment, about func(models.AuditEvent) (string, templ.SafeURL)) []ui.TimelineEntry {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b models.AuditEvent) int {
		if c := b.At.Compare(a.At.Time); c != 0 {
			return c
		}
		return strings.Compare(b.ID, a.ID)
	})
	decided := map[string]bool{} // cases whose own decision of the same moment is told
	moment := func(e models.AuditEvent) string { return e.CaseID + e.At.String() }
	for _, e := range events {
		decided[moment(e)] = decided[moment(e)] || e.Action == "case.decided" || e.Action == "case.withdrawn"
	}
	out := make([]ui.TimelineEntry, 0, len(events))
	for _, e := range events {
		if e.Action == "case.resolved" && decided[moment(e)] {
			continue // the exit chosen says so already
		}
		entry := r.entry(e, comments)
		if about != nil {
			entry.About, entry.URL = about(e)
		}
		out = append(out, entry)
	}
	return out
}

func (r reader) entry(e models.AuditEvent, comments []models.Comment) ui.TimelineEntry {
	var d eventData
	_ = json.Unmarshal([]byte(e.Data), &d) // an event the page cannot read is told without its facts
	if !r.bankData {
		r.withholdInputs(d.Input)
		r.withholdInputs(d.Correction)
	}
	t := r.tell(e, d)
	for _, c := range comments {
		if d.CommentID != "" && c.ID == d.CommentID {
			t.words = c.Text
		}
	}
	entry := ui.TimelineEntry{At: r.at(e.At), Who: ui.Foreign(e.ActorName), Channel: r.channel(e.Channel), What: ui.Foreign(t.what).Plain(),
		Words: ui.Foreign(models.MaskIDs(t.words)), Details: t.details}
	if d.OnBehalfOf != "" {
		entry.Who = ui.Foreign(r.tr("%s on behalf of %s", e.ActorName, d.OnBehalfOf))
	}
	entry.Kind = cameAs(e)
	switch {
	case entry.Kind == ui.BySystem:
		entry.Who = ui.Foreign(r.author(e.ActorName))
	case slices.Contains(ofTheDesk, e.Action):
		entry.Kind, entry.Who, entry.Channel = ui.BySystem, "apdesk", ""
	}
	return entry
}

// cameAs is what the actor of an event is.
func cameAs(e models.AuditEvent) ui.TimelineKind {
	switch {
	case e.Channel == models.ChannelSystem:
		return ui.BySystem
	case e.Channel != models.ChannelAPI && e.Channel != models.ChannelMCP:
		return ui.ByPerson
	case e.ActorRoles == string(models.RoleERP):
		return ui.ByERP
	}
	return ui.ByAgent
}

// withholdInputs takes tax and bank data out of what people entered.
func (w words) withholdInputs(input map[string]string) {
	for name := range input {
		if isPrivatePath(name) {
			input[name] = w.tr(withheldText)
		}
	}
}

// tell puts one event into words.
func (w words) tell(e models.AuditEvent, d eventData) told {
	noun, _, _ := strings.Cut(e.Action, ".")
	switch noun {
	case "membership", "invitation", "user", "person", "token", "delegation", "passkey", "passkeys", "provider", "recovery_code", "recovery_codes":
		return w.tellPeople(e)
	case "case", "file":
		return w.tellCase(e, d)
	case "hold":
		return w.tellHold(e, d)
	case "confirmation":
		return w.tellConfirmation(e, d)
	case "request", "vote", "approval", "redeem", "write", "report":
		return w.tellApproval(e, d)
	}
	return w.tellSettings(e)
}

func (w words) tellCase(e models.AuditEvent, d eventData) told {
	switch e.Action {
	case "case.opened":
		if e.Channel == models.ChannelSystem {
			return told{what: w.tr("opened the case in %s", w.queue(d.Queue))}
		}
		return told{what: w.tr("stopped and handed over; the case went to %s", w.queue(d.Queue))}
	case "case.joined":
		return told{what: w.tr("handed over the same stop again")}
	case "case.answered":
		return told{what: w.tr("answered the question")}
	case "case.claimed":
		return told{what: w.tr("claimed the case")}
	case "case.released":
		return told{what: w.tr("released the case")}
	case "case.taken_over":
		if d.From != "" {
			return told{what: w.tr("took the case over from %s", d.From)}
		}
		return told{what: w.tr("took the case over")}
	case "case.claim_returned":
		return told{what: w.tr("gave the case back to %s, since %s no longer works there", w.queue(d.Queue), orSome(d.From, w.tr("its holder")))}
	case "file.uploaded":
		return told{what: w.tr("added the file %s", orSome(d.Name, w.tr("without a name")))}
	case "file.removed":
		return told{what: w.tr("removed a file that nobody used")}
	case "file.attached":
		return told{what: w.tr("sent the file %s along", orSome(d.Name, w.tr("without a name")))}
	case "case.commented":
		return told{what: w.tr("commented")}
	case "case.decided":
		return told{what: w.tr("chose “%s”", w.exit(d.Exit)), words: d.Reason, details: w.inputEntries(d.Input)}
	case "case.held":
		return told{what: w.tr("put the case on hold until %s", w.dateText(d.Until))}
	case "case.moved":
		return told{what: w.tr("moved the case to %s", w.queue(d.Queue))}
	case "case.withdrawn":
		return told{what: w.tr("withdrew the case: nobody has to decide it any more"), words: d.Reason}
	case "case.resolved":
		return told{what: w.tr("resolved the case")}
	case "case.flagged":
		return told{what: w.sameFraud(d.Same), details: pairs(w.tr("Case"), d.FraudCase)}
	case "case.duplicates_checked":
		if d.Candidates == 0 {
			return told{what: w.tr("looked for duplicates among the supplier’s invoices and found none")}
		}
		return told{what: w.trn("looked for duplicates among the supplier’s invoices and found %d candidate", "looked for duplicates among the supplier’s invoices and found %d candidates", d.Candidates)}
	case "case.reopened":
		if d.Why == "receipt" {
			return told{what: w.tr("reported the receipt, which brought the case back")}
		}
		return told{what: w.tr("brought the case back, since %s has come", orSome(w.dateText(d.HeldUntil), w.tr("its day")))}
	case "case.rerouted":
		return told{what: w.tr("moved the case from %s to %s", w.queue(d.FromQueue), w.queue(d.Queue)), words: d.Reason}
	case "case.escalated":
		return told{what: w.tr("brought the overdue case before the AP leads and who works %s", w.queue(d.Queue))}
	case "case.snoozed":
		return told{what: w.tr("snoozed the case until %s", w.momentText(d.Until)), words: d.Reason}
	case "case.snooze_ended":
		return told{what: w.tr("brought the snoozed case back, %s", w.awake(d.Why, e.ActorName))}
	case "case.fraud_suspected":
		return told{what: w.tr("told the AP lead of suspected fraud")}
	}
	if strings.HasSuffix(e.Action, "_refused") {
		act := strings.TrimSuffix(strings.TrimPrefix(e.Action, "case."), "_refused")
		return told{what: w.tr("tried to %s and was refused", w.said(strings.ReplaceAll(act, "_", " "))), details: pairs(w.tr("They were told"), w.said(d.Message))}
	}
	return w.plainTold(e, d)
}

// sameFraud says that fraud was suspected on another case of the same supplier or bank account.
func (w words) sameFraud(same string) string {
	switch {
	case same == "" || same == "supplier":
		return w.tr("suspected fraud on another case of the same supplier")
	case strings.HasPrefix(same, "bank"):
		return w.tr("suspected fraud on another case of the same bank account")
	}
	return w.tr("suspected fraud on another case of the same %s", same)
}

func (w words) tellHold(e models.AuditEvent, d eventData) told {
	var more []ui.Entry
	if d.ChecksLeft != nil {
		more = pairs(w.tr("Checks left"), fmt.Sprint(*d.ChecksLeft))
	}
	switch e.Action {
	case "hold.opened":
		return told{what: w.tr("asked the desk to wait and check again")}
	case "hold.joined":
		return told{what: w.tr("asked to wait for the same thing again")}
	case "hold.leased":
		return told{what: w.tr("took the check on")}
	case "hold.checked":
		return told{what: w.tr("checked: still missing"), details: more}
	case "hold.check_missed":
		return told{what: w.tr("counted a check that nobody made"), details: more}
	case "hold.released":
		return told{what: w.tr("checked: available now; the wait is over")}
	case "hold.escalated":
		return told{what: w.tr("opened a case, since no check is left")}
	case "hold.resumed":
		return told{what: w.tr("let the hold wait and check again"), details: more}
	case "hold.cancelled":
		return told{what: w.tr("cancelled the hold"), words: d.Reason}
	}
	return w.plainTold(e, d)
}

func (w words) tellApproval(e models.AuditEvent, d eventData) told {
	switch e.Action {
	case "request.filed":
		return told{what: w.tr("asked for leave to call %s", d.Tool), details: pairs(w.tr("Amount"), w.money(d.Amount, d.Currency))}
	case "request.joined":
		return told{what: w.tr("asked for the same call again")}
	case "request.routed", "request.routed_again":
		rule := append(pairs(w.tr("Rule"), w.ruleName(d.Rule, d.RuleVersion), w.tr("Votes needed"), fmt.Sprint(d.Required)), w.takenOut(d.TakenOut)...)
		switch {
		case d.NamedName != "":
			return told{what: w.tr("named %s to decide this item", d.NamedName),
				details: append(pairs(w.tr("Limit from"), w.ruleName(d.LimitRule, d.LimitRuleVersion), w.tr("Votes needed"), fmt.Sprint(d.Required)), w.takenOut(d.TakenOut)...)}
		case d.Again:
			return told{what: w.tr("sent the request back to those who may decide it"), details: append(rule, pairs(w.tr("Why"), w.said(d.Why))...)}
		}
		return told{what: w.tr("routed the request by the matrix"), details: rule}
	case "request.unrouted":
		return told{what: w.tr("found nobody who may decide"), details: pairs(w.tr("Why"), w.said(d.Why))}
	case "request.approver_named":
		return told{what: w.tr("named an approver for this request only")}
	case "request.rejected":
		if d.SentBack {
			return told{what: w.tr("sent the call back with a correction"), details: w.inputEntries(d.Correction)}
		}
		return told{what: w.tr("refused the call")}
	case "request.expired":
		return told{what: w.tr("let the request expire: nobody decided in time")}
	case "request.expiring":
		return told{what: w.tr("warned those who can decide that the request expires soon")}
	case "approval.expiring":
		return told{what: w.tr("warned those who approved that the approval expires soon")}
	case "request.questioned":
		return told{what: w.tr("asked the agent"), words: d.Question}
	case "report.reminded":
		return told{what: w.tr("told approver and AP lead again that no report came")}
	case "request.withdrawn":
		return told{what: w.tr("withdrew the request"), words: d.Reason}
	case "request.refused":
		return told{what: w.tr("asked for a call that was refused"), details: pairs(w.tr("Why"), d.Code)}
	case "vote.cast":
		t := told{what: w.tr("voted yes"), words: d.Reason, details: pairs(w.tr("As"), w.role(d.Role), w.tr("Limit"), w.limitText(d.Limit, d.Currency), w.tr("Rule"), w.ruleName(d.Rule, d.RuleVersion))}
		if d.Decision == models.VoteReject {
			t.what = w.tr("voted no")
		}
		if d.SecondStep {
			t.details = append(t.details, ui.Pair(w.tr("Second step"), w.tr("confirmed that the same call ran before")))
		}
		if d.ConfirmedHow != "" {
			t.details = append(t.details, ui.Pair(w.tr("Confirmed that it is them"), w.factor(d.ConfirmedHow)))
		}
		return t
	case "vote.refused":
		return told{what: w.tr("tried to vote and was refused"), details: pairs(w.tr("They were told"), w.said(orSome(d.Why, d.Message)))}
	case "approval.granted":
		return told{what: w.tr("granted the approval, since enough people said yes"), details: pairs(w.tr("Approval"), d.Approval)}
	case "approval.redeemed":
		return told{what: w.tr("used the approval for exactly this call")}
	case "approval.retried":
		return told{what: w.tr("used the approval again after a write that failed")}
	case "approval.revoked":
		return told{what: w.tr("revoked the approval"), words: d.Reason}
	case "approval.expired":
		return told{what: w.tr("let the approval expire unused")}
	case "redeem.refused":
		return told{what: w.tr("tried to use an approval and was refused"), details: pairs(w.tr("Why"), w.said(strings.ReplaceAll(d.Reason, "_", " ")))}
	case "write.reported":
		return told{what: w.tr("reported the write as %s", w.said(strings.ReplaceAll(d.Status, "_", " "))), details: pairs(w.tr("Document"), d.DocumentNumber, w.tr("Message"), d.Message)}
	case "write.numbered":
		return told{what: w.tr("added the document number of the write"), details: pairs(w.tr("Document"), d.DocumentNumber, w.tr("Message"), d.Message)}
	case "report.overdue":
		return told{what: w.tr("told approver and AP lead that no report came")}
	}
	return w.plainTold(e, d)
}

func (w words) tellConfirmation(e models.AuditEvent, d eventData) told {
	switch e.Action {
	case "confirmation.requested":
		return told{what: w.tr("forwarded a question about %s", d.Tool), details: pairs(w.tr("Server"), d.Server, w.tr("Who answers"), w.role(d.Role))}
	case "confirmation.answered":
		t := told{what: w.elicitWords(d.Action), words: d.Reason, details: pairs(w.tr("As"), w.roleWords(string(d.Role)))}
		if d.Role == "" {
			t.what = w.tr("was answered with cancel at once")
		}
		if d.SecondStep {
			t.details = append(t.details, ui.Pair(w.tr("Second step"), w.tr("shown the call once more, and meant it")))
		}
		return t
	case "confirmation.asked":
		return told{what: w.tr("was asked to have a person confirm %s", d.Tool)}
	case "confirmation.answered_in_client":
		t := told{what: w.tr("passed on a no to %s", d.Tool), words: d.Reason, details: pairs(w.tr("Who answered"), d.Note)}
		switch {
		case d.Action == models.ElicitCancel:
			t.what = w.tr("passed on that nobody answered about %s", d.Tool)
		case d.Action == models.ElicitAccept && d.Confirm != nil && *d.Confirm:
			t.what = w.tr("passed on a yes to %s", d.Tool)
		}
		return t
	case "confirmation.refused":
		return told{what: w.tr("forwarded a question that asks for a secret, which was refused"), details: pairs(w.tr("Server"), d.Server, w.tr("Tool"), d.Tool)}
	case "confirmation.answer_refused":
		return told{what: w.tr("tried to answer and was refused"), details: pairs(w.tr("They were told"), w.said(d.Why))}
	case "confirmation.taken":
		return told{what: w.tr("took the answer for exactly this call")}
	case "confirmation.cancel_taken":
		return told{what: w.tr("was told cancel")}
	case "confirmation.take_refused":
		return told{what: w.tr("tried to take the answer for another key or call and was refused")}
	case "confirmation.withdrawn":
		return told{what: w.tr("withdrew the question")}
	case "confirmation.expired":
		if d.Answered {
			return told{what: w.tr("let the answer expire: nobody took it in time")}
		}
		return told{what: w.tr("let the question expire: nobody answered in time, so the answer is cancel")}
	}
	return w.plainTold(e, d)
}

// pairs are labelled texts, without the empty ones.
func pairs(labelled ...string) []ui.Entry {
	var out []ui.Entry
	for i := 0; i+1 < len(labelled); i += 2 {
		if labelled[i+1] != "" {
			out = append(out, ui.Pair(labelled[i], labelled[i+1]))
		}
	}
	return out
}

// inputEntries are what a person entered for an exit, in the order of their names.
func (w words) inputEntries(input map[string]string) []ui.Entry {
	names := make([]string, 0, len(input))
	for name := range input {
		names = append(names, name)
	}
	slices.Sort(names)
	var out []ui.Entry
	for _, name := range names {
		if input[name] != "" {
			out = append(out, ui.Entry{Key: ui.Foreign(name), Label: w.inputLabel(name), Value: ui.TextValue(w.inputText(name, input[name]))})
		}
	}
	return out
}

// argumentLabel is what people call an argument of a call: the desk's word where it has one.
func (w words) argumentLabel(name string) string { return w.fieldLabel(name).Plain() }

// inputLabel is what people call a field of an exit.
func (w words) inputLabel(name string) ui.Foreign {
	if f, known := fieldOf(name); known {
		return ui.Foreign(w.lang.M(f.word))
	}
	return ui.Foreign(w.said(string(ui.Label(name))))
}

// inputText writes a value of an exit for people: dates as dates.
func (w words) inputText(name, value string) string {
	if name == "until" || name == "posting_date" {
		return w.dateText(value)
	}
	return value
}

func (w words) limitText(limit, currency string) string {
	if limit == "" {
		return ""
	}
	return w.money(limit, currency)
}

// ruleName names one version of a rule by the end of its id, which tells rules apart.
func (w words) ruleName(id string, version int64) string {
	if id == "" {
		return ""
	}
	return w.tr("Rule %s, version %d", shortID(id), version)
}

// shortID is the end of an id, enough to tell records apart on one page.
func shortID(id string) string {
	const tail = 6
	if len(id) <= tail {
		return id
	}
	return strings.ToUpper(id[len(id)-tail:])
}

func orSome(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}

// commentID names the comment behind an event.
func commentID(e models.AuditEvent) string {
	var d eventData
	_ = json.Unmarshal([]byte(e.Data), &d) // an event the page cannot read names none
	return d.CommentID
}

// takenOut says who may not decide a request because they took another rule out of the matrix.
func (w words) takenOut(edits []approvals.TakenOut) []ui.Entry {
	var out []ui.Entry
	for _, t := range edits {
		out = append(out, pairs(w.tr("May not decide"), w.tr("%s, who took out or changed %s", t.UserName, w.ruleName(t.Rule.ID, t.Rule.Version)))...)
	}
	return out
}
