package pages

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

// words puts times into the words of one reader: seen from now, in the workspace's zone.
type words struct {
	lang *lang.Lang
	now  time.Time
	zone *time.Location
	timing
}

// tr is a message in the reader's language; see package lang.
func (w words) tr(id string, values ...any) string { return w.lang.T(id, values...) }

// trn is the form of a message that goes with a count, its first value.
func (w words) trn(one, many string, count int, values ...any) string {
	return w.lang.N(one, many, count, values...)
}

// trc is a message whose English means several things.
func (w words) trc(in, id string, values ...any) string { return w.lang.C(in, id, values...) }

// number is an amount without its currency, in the reader's figures.
func (w words) number(m models.Money) string {
	return w.lang.Figures(strings.ReplaceAll(strings.ReplaceAll(m.FormatNumber(), ",", ""), "\u2212", "-"))
}

// figures groups an amount without its currency. Text that is no amount in that currency comes back
// whole.
func (w words) figures(amount, currency string) string {
	m, err := models.ParseMoney(amount, currency)
	if err != nil {
		return w.lang.Figures(amount)
	}
	return strings.ReplaceAll(w.number(m), "\u2212", "-")
}

// money is an amount with its currency for use in a sentence.
func (w words) money(amount, currency string) string {
	return strings.TrimSpace(w.figures(amount, currency) + " " + currency)
}

// at is a moment that was or will be; no time is the moment that shows nothing.
func (w words) at(t models.Time) ui.Moment {
	if t.IsZero() {
		return ui.Moment{}
	}
	return ui.At(w.lang, t.Time, w.now, w.zone)
}

// author is who wrote something, by the name that was kept: the operator has none of their own.
func (w words) author(name string) string {
	if name == "" || name == models.Operator("").UserName {
		return w.tr("the operator")
	}
	return name
}

// age is how long ago something was.
func (w words) age(t models.Time) ui.Moment {
	if t.IsZero() {
		return ui.Moment{}
	}
	return ui.AgeAt(w.lang, t.Time, w.now, w.zone)
}

// due is a moment by which something is to be done.
func (w words) due(t models.Time) ui.Moment {
	if t.IsZero() {
		return ui.Moment{}
	}
	return ui.DueAt(w.lang, t.Time, w.now, w.zone)
}

// exactly is date and time of day.
func (w words) exactly(t models.Time) ui.Moment {
	if t.IsZero() {
		return ui.Moment{}
	}
	return ui.Exactly(w.lang, t.Time, w.zone)
}

// expires is a moment after which it is too late.
func (w words) expires(t models.Time) ui.Moment {
	m := w.at(t)
	switch {
	case m.Zero():
		return m
	case t.After(w.now):
		m.Text = w.tr("expires %s", w.in(t))
	default:
		m.Text = w.tr("expired %s", m.Text)
	}
	m.Kind = ui.MomentPlain
	return m
}

// clock is the time of day, with the date when it is another day than today.
func (w words) clock(t models.Time) string {
	local, today := t.In(w.zone), w.now.In(w.zone)
	if local.YearDay() == today.YearDay() && local.Year() == today.Year() {
		return local.Format("15:04")
	}
	return w.lang.Format(local, lang.DayTime)
}

// day is the date of a moment.
func (w words) day(t models.Time) string { return w.lang.Format(t.In(w.zone), lang.Day) }

// today is the date now.
func (w words) today() models.Date { return models.DateOf(models.At(w.now), w.zone) }

// ago is a moment within a sentence.
func (w words) ago(t models.Time) string { return w.lang.Ago(t.Time, w.now) }

// date writes a plain date, which is the same in every zone.
func (w words) date(d models.Date) string { return w.dateAs(d, lang.Day) }

// weekday is a date with its day of the week.
func (w words) weekday(d models.Date) string { return w.dateAs(d, lang.WeekdayDate) }

func (w words) dateAs(d models.Date, layout string) string {
	t, err := time.Parse(time.DateOnly, d.String())
	if err != nil {
		return d.String()
	}
	return w.lang.Format(t, layout)
}

// dateText writes a text that should be a date; one that is none stays as it is.
func (w words) dateText(s string) string {
	d, err := models.ParseDate(s)
	if err != nil {
		return s
	}
	return w.date(d)
}

// span is a length of time in words: "24 h", "90 min".
func (w words) span(d time.Duration) string {
	if d > 0 && d < 48*time.Hour && d%time.Hour != 0 {
		return w.tr("%d min", int(d/time.Minute))
	}
	if s := w.lang.Span(d); s != "" {
		return s
	}
	return w.tr("%d s", int(d/time.Second))
}

// list joins names: "a", "a and b", "a, b and c".
func (w words) list(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	}
	return w.tr("%s and %s", strings.Join(names[:len(names)-1], ", "), names[len(names)-1])
}

// said is a sentence of the services, or a title of models or queue, in the reader's language. It is
// for the desk's own words, never for text of people or agents.
func (w words) said(text string) string {
	if text == models.ErrAmountSyntax.Error() { // of what agents send; people write it as their language does
		return w.tr("must be an amount such as %s", w.lang.Figures("1234.50"))
	}
	return w.lang.Said(w.momentsIn(text))
}

// momentForm is a moment in a sentence of the services, which know no time zone.
var momentForm = regexp.MustCompile(`\b\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z|\b\d{1,2} [A-Z][a-z]+ \d{4} at \d{2}:\d{2} UTC`)

// momentsIn writes the moments in a sentence of the services by the reader's clock.
func (w words) momentsIn(text string) string {
	return momentForm.ReplaceAllStringFunc(text, func(found string) string {
		for _, layout := range []string{time.RFC3339Nano, lang.SaidMoment} {
			if t, err := time.Parse(layout, found); err == nil {
				return t.In(w.zone).Format(lang.DayTime)
			}
		}
		return found
	})
}

// problem is what a service says was wrong, as a sentence.
func (w words) problem(text string) string { return sentence(w.said(text)) }

// role, queue, code and exit are titles in the reader's language.
func (w words) role(r models.Role) string   { return w.said(r.Title()) }
func (w words) queue(q models.Queue) string { return w.said(q.Title()) }
func (w words) exit(code string) string     { return w.said(queue.ExitLabel(code)) }

// codeTitle is a code in words; a handover without one of the ten codes has none.
func (w words) codeTitle(c models.Code) string {
	if c == "" {
		return w.tr("Needs a person")
	}
	return w.said(c.Title())
}

func (w words) roleTitles(roles []models.Role) string {
	titles := make([]string, len(roles))
	for i, r := range roles {
		titles[i] = w.role(r)
	}
	return strings.Join(titles, ", ")
}

// lower puts a title into the middle of a sentence: "AP clerk" stays, "Finance lead" is "finance lead".
// German keeps its capitals.
func (w words) lower(title string) string {
	if w.lang.Tag() == lang.German {
		return title
	}
	if len(title) > 1 && title[1] >= 'a' && title[1] <= 'z' {
		return strings.ToLower(title[:1]) + title[1:]
	}
	return title
}

// upper begins a sentence.
func upper(s string) string {
	if s == "" {
		return s
	}
	_, first := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:first]) + s[first:]
}

// sentence is a message that begins with a capital and ends with a full stop. Text of agents within it
// cannot turn or hide the rest.
func sentence(s string) string {
	s = upper(ui.Foreign(s).Plain())
	if s != "" && !strings.ContainsAny(s[len(s)-1:], ".!?") {
		s += "."
	}
	return s
}

func (w words) channel(c models.Channel) string {
	switch c {
	case models.ChannelWeb:
		return w.tr("in the browser")
	case models.ChannelAPI:
		return w.tr("over REST")
	case models.ChannelMCP:
		return w.tr("over MCP")
	}
	return ""
}

// nextStep is what a code tells the agent to do.
func (w words) nextStep(n models.NextAction) string {
	switch n {
	case models.FixInputAndRetry:
		return w.tr("correct the input and try once more")
	case models.HoldAndRecheck:
		return w.tr("wait and check again")
	case models.RouteToPerson:
		return w.tr("hand over to a person")
	case models.RequestApproval:
		return w.tr("ask for an approval")
	case models.StopAndEscalate:
		return w.tr("stop and escalate")
	}
	return ""
}

func (w words) handoverReason(r models.HandoverReason) string {
	switch r {
	case models.ReasonNamedError:
		return w.tr("stopped at a named error")
	case models.ReasonRetryExhausted:
		return w.tr("its corrected retry failed too")
	case models.ReasonLoopDetected:
		return w.tr("went in a loop")
	case models.ReasonBudgetExhausted:
		return w.tr("ran out of calls for this invoice")
	}
	return w.tr("stopped for another reason")
}

// instructionText is what the agent does next.
func (w words) instructionText(k models.InstructionKind, question string) string {
	switch k {
	case models.InstructResume:
		if question != "" {
			return w.tr("The agent answers the question on this case.")
		}
		return w.tr("The agent goes on from where it stopped.")
	case models.InstructRetryWith:
		return w.tr("The agent calls again with the corrected input.")
	case models.InstructWait:
		return w.tr("The agent waits.")
	case models.InstructStop:
		return w.tr("The agent stops; nothing more is done with this invoice.")
	}
	return ""
}

func (w words) caseBadge(s models.CaseStatus) ui.Badge {
	switch s {
	case models.CaseHeld:
		return ui.Badge{Text: w.tr("Held"), Tone: ui.ToneWarn, Sign: ui.SignPaused}
	case models.CaseResolved:
		return ui.Badge{Text: w.tr("Resolved"), Tone: ui.ToneGood, Sign: ui.SignDone}
	}
	return ui.Badge{Text: w.trc("status", "Open"), Tone: ui.ToneInfo, Sign: ui.SignOpen}
}

func (w words) requestBadge(s models.RequestStatus) ui.Badge {
	switch s {
	case models.RequestUnrouted:
		return ui.Badge{Text: w.tr("Unrouted"), Tone: ui.ToneBad, Sign: ui.SignAlert}
	case models.RequestApproved:
		return ui.Badge{Text: w.tr("Approved"), Tone: ui.ToneGood, Sign: ui.SignYes}
	case models.RequestRejected:
		return ui.Badge{Text: w.tr("Rejected"), Tone: ui.ToneBad, Sign: ui.SignNo}
	case models.RequestExpired:
		return ui.Badge{Text: w.tr("Expired"), Tone: ui.ToneNeutral, Sign: ui.SignNo}
	case models.RequestWithdrawn:
		return ui.Badge{Text: w.tr("Withdrawn"), Tone: ui.ToneNeutral, Sign: ui.SignNo}
	}
	return ui.Badge{Text: w.tr("Pending"), Tone: ui.ToneInfo, Sign: ui.SignOpen}
}

func (w words) approvalBadge(s models.ApprovalStatus) ui.Badge {
	switch s {
	case models.ApprovalRedeemed:
		return ui.Badge{Text: w.tr("Used"), Tone: ui.ToneGood, Sign: ui.SignDone}
	case models.ApprovalExpired:
		return ui.Badge{Text: w.tr("Expired unused"), Tone: ui.ToneNeutral, Sign: ui.SignNo}
	case models.ApprovalRevoked:
		return ui.Badge{Text: w.tr("Revoked"), Tone: ui.ToneBad, Sign: ui.SignNo}
	}
	return ui.Badge{Text: w.tr("Granted, not used yet"), Tone: ui.ToneInfo, Sign: ui.SignYes}
}

func (w words) holdBadge(s models.HoldStatus, overdue bool) ui.Badge {
	switch s {
	case models.HoldReleased:
		return ui.Badge{Text: w.tr("Released"), Tone: ui.ToneGood, Sign: ui.SignDone}
	case models.HoldEscalated:
		return ui.Badge{Text: w.tr("Escalated"), Tone: ui.ToneBad, Sign: ui.SignAlert}
	case models.HoldCancelled:
		return ui.Badge{Text: w.tr("Cancelled"), Tone: ui.ToneNeutral, Sign: ui.SignNo}
	}
	if overdue {
		return ui.Badge{Text: w.tr("Overdue"), Tone: ui.ToneBad, Sign: ui.SignAlert}
	}
	return ui.Badge{Text: w.tr("Waiting"), Tone: ui.ToneWarn, Sign: ui.SignPaused}
}

// noticeTold is what a notice says: what it is about, in one or two words, and a sentence.
type noticeTold struct {
	about string
	text  string
	tone  ui.Tone
}

// noticeData is what the desk writes beside its notices.
type noticeData struct {
	Amount       string       `json:"amount"`
	Currency     string       `json:"currency"`
	Tool         string       `json:"tool"`
	Summary      string       `json:"summary"`
	InvoiceID    string       `json:"invoice_id"`
	Number       string       `json:"invoice_number"`
	Supplier     string       `json:"supplier"`
	Code         string       `json:"code"`
	By           string       `json:"by"`
	From         string       `json:"from"`
	To           string       `json:"to"`
	FirstDay     string       `json:"first_day"`
	LastDay      string       `json:"last_day"`
	DocumentType string       `json:"document_type"`
	Reason       string       `json:"reason"`
	Why          string       `json:"why"`
	Note         string       `json:"note"`
	HeldUntil    string       `json:"held_until"`
	Until        string       `json:"until"`
	Closed       string       `json:"closed_through"`
	Flagged      int          `json:"flagged"`
	Ended        string       `json:"ended"`
	ClaimedBy    string       `json:"claimed_by"`
	Address      string       `json:"address"`
	Name         string       `json:"name"`
	Prefix       string       `json:"prefix"`
	Holder       string       `json:"holder"`
	Queue        models.Queue `json:"queue"`
}

// notice puts one notice into words.
type notice struct {
	words
	noticeData
}

// what names the write a notice is about, as far as it is known.
func (d notice) what() string {
	amount := orSome(d.money(d.Amount, d.Currency), d.tr("a write"))
	invoice := orSome(d.Number, d.InvoiceID)
	switch {
	case invoice != "" && d.Supplier != "":
		return d.tr("%s for invoice %s of %s", amount, invoice, d.Supplier)
	case invoice != "":
		return d.tr("%s for invoice %s", amount, invoice)
	case d.Supplier != "":
		return d.trc("a write of a supplier", "%s of %s", amount, d.Supplier)
	}
	return amount
}

// because adds why something happened, when it was said.
func (d notice) because() string {
	if why := orSome(d.Why, d.Reason); why != "" {
		return ": " + sentence(d.kept(why))
	}
	return "."
}

// days are those of a delegation.
func (d notice) days() string {
	switch {
	case d.FirstDay != "" && d.LastDay != "":
		return d.tr(" from %s to %s", d.dateText(d.FirstDay), d.dateText(d.LastDay))
	case d.LastDay != "":
		return d.tr(" until %s", d.dateText(d.LastDay))
	}
	return ""
}

// invoice is how people call the invoice a notice is about.
func (d notice) invoice() string { return orSome(d.Number, d.InvoiceID) }

// by is who did what a notice tells.
func (d notice) token() string { return orSome(orSome(d.Name, d.Prefix), d.tr("without a name")) }

func (d notice) by() string { return orSome(d.By, d.tr("Somebody")) }

// queueOf is the queue a notice is about.
func (d notice) queueOf(otherwise string) string { return orSome(d.queue(d.Queue), otherwise) }

// noticeWords puts a notice into words. A kind without words of its own is told neutrally.
func (w words) noticeWords(kind models.NoticeKind, data noticeData) noticeTold {
	d := notice{words: w, noticeData: data}
	from, to := orSome(d.From, d.tr("a colleague")), orSome(d.To, d.tr("nobody"))
	switch kind {
	case "request.waiting":
		return noticeTold{d.tr("Approval"), d.tr("Your decision is needed on %s.", d.what()), ui.ToneInfo}
	case "request.expiring":
		return noticeTold{d.tr("Approval"), d.tr("A request that waits for you expires soon: %s.", d.what()), ui.ToneWarn}
	case "request.lapsed":
		return noticeTold{d.tr("Approval"), d.tr("A request expired undecided, and nothing was written: %s.", d.what()), ui.ToneNeutral}
	case "approval.expiring":
		return noticeTold{d.tr("Approval"), d.tr("An approval you gave is not used yet and expires soon: %s.", d.what()), ui.ToneWarn}
	case "approval.revoked":
		return noticeTold{d.tr("Approval"), d.tr("An approval of %s was revoked before it was used", d.what()) + d.because(), ui.ToneWarn}
	case "report.overdue":
		return noticeTold{d.tr("Write"), d.tr("No report came of an approved write: %s. Check in the ERP whether it was posted.", d.what()), ui.ToneBad}
	case "delegation.set":
		return noticeTold{d.tr("Delegation"), d.tr("%s is away%s; %s decides in their place.", from, d.days(), to), ui.ToneInfo}
	case "delegation.started":
		return noticeTold{d.tr("Delegation"), d.tr("From now on %s decides in the place of %s%s.", to, from, d.days()), ui.ToneInfo}
	case "delegation.ended":
		text := d.tr("The delegation from %s to %s has ended", from, to)
		if d.By != "" {
			text = d.tr("The delegation from %s to %s has ended, by %s", from, to, d.By)
		}
		return noticeTold{d.tr("Delegation"), text + d.because(), ui.ToneInfo}
	case "fraud.suspected":
		text := d.tr("%s suspects fraud: %s", d.by(), d.what()) + d.because()
		if d.Flagged > 0 {
			text += " " + d.trn("Marked too: %d other open case of the supplier or bank account.", "Marked too: %d other open cases of the supplier or bank account.", d.Flagged)
		}
		return noticeTold{d.tr("Fraud"), text, ui.ToneBad}
	case "period.reopened_over":
		return noticeTold{d.tr("Period"), d.stillOpen(), ui.ToneWarn}
	case "case.overdue":
		text := d.tr("A case in %s is overdue: %s.", d.queueOf(d.tr("your queue")), d.what())
		if d.ClaimedBy != "" {
			text += " " + d.tr("%s holds it.", d.ClaimedBy)
		}
		return noticeTold{d.tr("Overdue"), text, ui.ToneBad}
	case "case.awake":
		text := d.tr("A case you snoozed is back in %s, %s: invoice %s.", d.queueOf(d.tr("its queue")), d.awake(d.Ended, d.By), d.invoice())
		if d.Note != "" {
			text += " " + d.tr("Your note: %s", d.Note)
		}
		return noticeTold{d.tr("Case"), text, ui.ToneInfo}
	case "case.answered":
		return noticeTold{d.tr("Answer"), d.tr("%s answered your question about invoice %s.", orSome(d.By, d.tr("The agent")), d.invoice()), ui.ToneInfo}
	case "comment.mentioned":
		return noticeTold{d.tr("Comment"), d.tr("%s mentions you in a comment on the case of invoice %s.", d.by(), d.invoice()), ui.ToneInfo}
	case models.NoticeSignInLocked:
		if d.Address != "" {
			return noticeTold{d.tr("Sign-in"), d.tr("Somebody failed to sign in with your e-mail address so often that attempts from there have to wait, from %s. Browsers in which you signed in before are not concerned. If that was not you, see under “You” where you are signed in.", d.Address), ui.ToneWarn}
		}
		return noticeTold{d.tr("Sign-in"), d.tr("Somebody failed to sign in with your e-mail address so often that attempts from there have to wait. Browsers in which you signed in before are not concerned. If that was not you, see under “You” where you are signed in."), ui.ToneWarn}
	case models.NoticeTokenExpiring:
		return noticeTold{d.tr("Token"), d.tr("The token %s of %s ends soon, on %s. Rotate it under Settings before it does.", d.token(), orSome(d.Holder, d.tr("an account")), orSome(d.dateText(d.Until), d.tr("a day near by"))), ui.ToneWarn}
	case models.NoticeTokenRevoked:
		return noticeTold{d.tr("Token"), d.tr("%s revoked the token %s of %s. Calls with it are refused from now on.", d.by(), d.token(), orSome(d.Holder, d.tr("an account"))), ui.ToneWarn}
	case models.NoticePasswordChanged:
		return noticeTold{d.tr("Password"), d.tr("Your password was changed, and your other sessions ended. If that was not you, tell the operator of the desk at once."), ui.ToneInfo}
	case "case.returned":
		if d.HeldUntil != "" {
			return noticeTold{d.tr("Case"), d.tr("A case you put on hold until %s is back", d.dateText(d.HeldUntil)) + d.because() + " " + d.tr("It concerns invoice %s.", d.invoice()), ui.ToneInfo}
		}
		return noticeTold{d.tr("Case"), d.tr("A case you had claimed went back to its queue") + d.because(), ui.ToneNeutral}
	}
	return noticeTold{d.tr("Notice"), d.tr("Something changed that concerns you") + d.because(), ui.ToneNeutral}
}

// stillOpen tells that a period reopened for some time is open beyond it.
func (d notice) stillOpen() string {
	by := orSome(d.By, d.tr("somebody"))
	text := d.tr("The period that %s reopened is still open", by)
	if d.Until != "" {
		text = d.tr("The period that %s reopened until %s is still open", by, d.dateText(d.Until))
	}
	if d.Closed != "" {
		text += d.tr(": the books are closed through %s", d.dateText(d.Closed))
	}
	return text + ". " + d.tr("Close it again in the settings and in the ERP.")
}

// in says how far away a moment to come is, rounded to the nearest unit: seven days that began a moment
// ago are seven days.
func (w words) in(t models.Time) string {
	return w.lang.Ago(w.now.Add(max(nearest(t.Sub(w.now)), time.Nanosecond)), w.now)
}

// nearest rounds a time that is left to whole days from two on, to hours from one on, else to minutes.
func nearest(d time.Duration) time.Duration {
	switch {
	case d.Round(time.Hour) >= 48*time.Hour:
		return d.Round(24 * time.Hour)
	case d.Round(time.Minute) >= time.Hour:
		return d.Round(time.Hour)
	}
	return d.Round(time.Minute)
}

// standBadge is where a request stands for who looks for what may still be done: an approval that
// nobody can use any more is none.
func (w words) standBadge(s models.RequestStatus, approval models.ApprovalStatus) ui.Badge {
	if s == models.RequestApproved {
		switch approval {
		case models.ApprovalExpired:
			return ui.Badge{Text: w.tr("Approved, expired unused"), Tone: ui.ToneNeutral, Sign: ui.SignNo}
		case models.ApprovalRevoked:
			return ui.Badge{Text: w.tr("Approval revoked"), Tone: ui.ToneBad, Sign: ui.SignNo}
		}
	}
	return w.requestBadge(s)
}

// superseded is the reason kept when a case decision took a request or an approval back.
var superseded = regexp.MustCompile(`^superseded: (.*) decided ([a-z_]+) on case (case_[0-9A-Za-z_]+)$`)

// kept is a kept reason with the exit's label for its code. A reason the desk gave is in the reader's
// language, one that a person gave stays as it is.
func (w words) kept(reason string) string {
	m := superseded.FindStringSubmatch(reason)
	if m == nil {
		return w.said(reason)
	}
	return w.tr("%s chose “%s” on a case of the same invoice", m[1], w.exit(m[2]))
}
