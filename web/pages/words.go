package pages

import (
	"regexp"
	"strconv"
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
	return w.number(m)
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
		m.Text = "expires " + w.in(t)
	default:
		m.Text = "expired " + m.Text
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
	return local.Format("2 Jan 2006, 15:04")
}

// day is the date of a moment.
func (w words) day(t models.Time) string { return t.In(w.zone).Format("2 Jan 2006") }

// today is the date now.
func (w words) today() models.Date { return models.DateOf(models.At(w.now), w.zone) }

// ago is a moment within a sentence.
func (w words) ago(t models.Time) string { return w.lang.Ago(t.Time, w.now) }

// date writes a plain date, which is the same in every zone.
func date(d models.Date) string {
	t, err := time.Parse(time.DateOnly, d.String())
	if err != nil {
		return d.String()
	}
	return t.Format("2 Jan 2006")
}

// dateText writes a text that should be a date; one that is none stays as it is.
func dateText(s string) string {
	d, err := models.ParseDate(s)
	if err != nil {
		return s
	}
	return date(d)
}

// weekday is a date with its day of the week.
func weekday(d models.Date) string {
	t, err := time.Parse(time.DateOnly, d.String())
	if err != nil {
		return d.String()
	}
	return t.Format("Mon 2 Jan 2006")
}

// figures groups an amount without its currency. Text that is no amount in that currency comes back
// whole.
func figures(amount, currency string) string {
	m, err := models.ParseMoney(amount, currency)
	if err != nil {
		return lang.English().Figures(amount)
	}
	return m.FormatNumber()
}

// money is an amount with its currency for use in a sentence.
func money(amount, currency string) string {
	return strings.TrimSpace(figures(amount, currency) + " " + currency)
}

// plural counts things in words.
func plural[N int | int64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.FormatInt(int64(n), 10) + " " + many
}

// span is a length of time in words: "24 h", "90 min".
func span(d time.Duration) string {
	if d > 0 && d < 48*time.Hour && d%time.Hour != 0 {
		return strconv.Itoa(int(d/time.Minute)) + " min"
	}
	if s := lang.English().Span(d); s != "" {
		return s
	}
	return strconv.Itoa(int(d/time.Second)) + " s"
}

// list joins names: "a", "a and b", "a, b and c".
func list(names []string) string {
	switch len(names) {
	case 0:
		return ""
	case 1:
		return names[0]
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
}

func roleTitles(roles []models.Role) string {
	titles := make([]string, len(roles))
	for i, r := range roles {
		titles[i] = r.Title()
	}
	return strings.Join(titles, ", ")
}

// lower puts a title into the middle of a sentence: "AP clerk" stays, "Finance lead" is "finance lead".
func lower(title string) string {
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

// codeTitle is a code in words; a handover without one of the ten codes has none.
func codeTitle(c models.Code) string {
	if c == "" {
		return "Needs a person"
	}
	return c.Title()
}

func channelWords(c models.Channel) string {
	switch c {
	case models.ChannelWeb:
		return "in the browser"
	case models.ChannelAPI:
		return "over REST"
	case models.ChannelMCP:
		return "over MCP"
	}
	return ""
}

// nextWords is what a code tells the agent to do.
func nextWords(n models.NextAction) string {
	switch n {
	case models.FixInputAndRetry:
		return "correct the input and try once more"
	case models.HoldAndRecheck:
		return "wait and check again"
	case models.RouteToPerson:
		return "hand over to a person"
	case models.RequestApproval:
		return "ask for an approval"
	case models.StopAndEscalate:
		return "stop and escalate"
	}
	return ""
}

func reasonWords(r models.HandoverReason) string {
	switch r {
	case models.ReasonNamedError:
		return "stopped at a named error"
	case models.ReasonRetryExhausted:
		return "its corrected retry failed too"
	case models.ReasonLoopDetected:
		return "went in a loop"
	case models.ReasonBudgetExhausted:
		return "ran out of calls for this invoice"
	}
	return "stopped for another reason"
}

// instructionWords is what the agent does next.
func instructionWords(k models.InstructionKind, question string) string {
	switch k {
	case models.InstructResume:
		if question != "" {
			return "The agent answers the question on this case."
		}
		return "The agent goes on from where it stopped."
	case models.InstructRetryWith:
		return "The agent calls again with the corrected input."
	case models.InstructWait:
		return "The agent waits."
	case models.InstructStop:
		return "The agent stops; nothing more is done with this invoice."
	}
	return ""
}

func caseBadge(s models.CaseStatus) ui.Badge {
	switch s {
	case models.CaseHeld:
		return ui.Badge{Text: "Held", Tone: ui.ToneWarn, Sign: ui.SignPaused}
	case models.CaseResolved:
		return ui.Badge{Text: "Resolved", Tone: ui.ToneGood, Sign: ui.SignDone}
	}
	return ui.Badge{Text: "Open", Tone: ui.ToneInfo, Sign: ui.SignOpen}
}

func requestBadge(s models.RequestStatus) ui.Badge {
	switch s {
	case models.RequestUnrouted:
		return ui.Badge{Text: "Unrouted", Tone: ui.ToneBad, Sign: ui.SignAlert}
	case models.RequestApproved:
		return ui.Badge{Text: "Approved", Tone: ui.ToneGood, Sign: ui.SignYes}
	case models.RequestRejected:
		return ui.Badge{Text: "Rejected", Tone: ui.ToneBad, Sign: ui.SignNo}
	case models.RequestExpired:
		return ui.Badge{Text: "Expired", Tone: ui.ToneNeutral, Sign: ui.SignNo}
	case models.RequestWithdrawn:
		return ui.Badge{Text: "Withdrawn", Tone: ui.ToneNeutral, Sign: ui.SignNo}
	}
	return ui.Badge{Text: "Pending", Tone: ui.ToneInfo, Sign: ui.SignOpen}
}

func approvalBadge(s models.ApprovalStatus) ui.Badge {
	switch s {
	case models.ApprovalRedeemed:
		return ui.Badge{Text: "Used", Tone: ui.ToneGood, Sign: ui.SignDone}
	case models.ApprovalExpired:
		return ui.Badge{Text: "Expired unused", Tone: ui.ToneNeutral, Sign: ui.SignNo}
	case models.ApprovalRevoked:
		return ui.Badge{Text: "Revoked", Tone: ui.ToneBad, Sign: ui.SignNo}
	}
	return ui.Badge{Text: "Granted, not used yet", Tone: ui.ToneInfo, Sign: ui.SignYes}
}

func holdBadge(s models.HoldStatus, overdue bool) ui.Badge {
	switch s {
	case models.HoldReleased:
		return ui.Badge{Text: "Released", Tone: ui.ToneGood, Sign: ui.SignDone}
	case models.HoldEscalated:
		return ui.Badge{Text: "Escalated", Tone: ui.ToneBad, Sign: ui.SignAlert}
	case models.HoldCancelled:
		return ui.Badge{Text: "Cancelled", Tone: ui.ToneNeutral, Sign: ui.SignNo}
	}
	if overdue {
		return ui.Badge{Text: "Overdue", Tone: ui.ToneBad, Sign: ui.SignAlert}
	}
	return ui.Badge{Text: "Waiting", Tone: ui.ToneWarn, Sign: ui.SignPaused}
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
	Queue        models.Queue `json:"queue"`
}

// what names the write a notice is about, as far as it is known.
func (d noticeData) what() string {
	text := orSome(money(d.Amount, d.Currency), "a write")
	if invoice := orSome(d.Number, d.InvoiceID); invoice != "" {
		text += " for invoice " + invoice
	}
	if d.Supplier != "" {
		text += " of " + d.Supplier
	}
	return text
}

// because adds why something happened, when it was said.
func (d noticeData) because() string {
	if why := orSome(d.Why, d.Reason); why != "" {
		return ": " + sentence(why)
	}
	return "."
}

// days are those of a delegation.
func (d noticeData) days() string {
	switch {
	case d.FirstDay != "" && d.LastDay != "":
		return " from " + dateText(d.FirstDay) + " to " + dateText(d.LastDay)
	case d.LastDay != "":
		return " until " + dateText(d.LastDay)
	}
	return ""
}

// noticeWords puts a notice into words. A kind without words of its own is told neutrally.
func noticeWords(kind models.NoticeKind, d noticeData) noticeTold {
	from, to := orSome(d.From, "a colleague"), orSome(d.To, "nobody")
	switch kind {
	case "request.waiting":
		return noticeTold{"Approval", "Your decision is needed on " + d.what() + ".", ui.ToneInfo}
	case "request.expiring":
		return noticeTold{"Approval", "A request that waits for you expires soon: " + d.what() + ".", ui.ToneWarn}
	case "request.lapsed":
		return noticeTold{"Approval", "A request expired undecided, and nothing was written: " + d.what() + ".", ui.ToneNeutral}
	case "approval.expiring":
		return noticeTold{"Approval", "An approval you gave is not used yet and expires soon: " + d.what() + ".", ui.ToneWarn}
	case "approval.revoked":
		return noticeTold{"Approval", "An approval of " + d.what() + " was revoked before it was used" + d.because(), ui.ToneWarn}
	case "report.overdue":
		return noticeTold{"Write", "No report came of an approved write: " + d.what() + ". Check in the ERP whether it was posted.", ui.ToneBad}
	case "delegation.set":
		return noticeTold{"Delegation", from + " is away" + d.days() + "; " + to + " decides in their place.", ui.ToneInfo}
	case "delegation.started":
		return noticeTold{"Delegation", "From now on " + to + " decides in the place of " + from + d.days() + ".", ui.ToneInfo}
	case "delegation.ended":
		text := "The delegation from " + from + " to " + to + " has ended"
		if d.By != "" {
			text += ", by " + d.By
		}
		return noticeTold{"Delegation", text + d.because(), ui.ToneInfo}
	case "fraud.suspected":
		text := orSome(d.By, "Somebody") + " suspects fraud: " + d.what() + d.because()
		if d.Flagged > 0 {
			text += " Marked too: " + plural(d.Flagged, "other open case", "other open cases") + " of the supplier or bank account."
		}
		return noticeTold{"Fraud", text, ui.ToneBad}
	case "period.reopened_over":
		text := "The period that " + orSome(d.By, "somebody") + " reopened" + before(" until ", dateText(d.Until)) + " is still open"
		if d.Closed != "" {
			text += ": the books are closed through " + dateText(d.Closed)
		}
		return noticeTold{"Period", text + ". Close it again in the settings and in the ERP.", ui.ToneWarn}
	case "case.overdue":
		text := "A case in " + orSome(d.Queue.Title(), "your queue") + " is overdue: " + d.what() + "."
		if d.ClaimedBy != "" {
			text += " " + d.ClaimedBy + " holds it."
		}
		return noticeTold{"Overdue", text, ui.ToneBad}
	case "case.awake":
		return noticeTold{"Case", "A case you snoozed is back in " + orSome(d.Queue.Title(), "its queue") + ", " + awakeWords(d.Ended, d.By) + ": invoice " + orSome(d.Number, d.InvoiceID) + "." + before(" Your note: ", d.Note), ui.ToneInfo}
	case "case.answered":
		return noticeTold{"Answer", orSome(d.By, "The agent") + " answered your question about invoice " + orSome(d.Number, d.InvoiceID) + ".", ui.ToneInfo}
	case "comment.mentioned":
		return noticeTold{"Comment", orSome(d.By, "Somebody") + " mentions you in a comment on the case of invoice " + orSome(d.Number, d.InvoiceID) + ".", ui.ToneInfo}
	case models.NoticeSignInLocked:
		return noticeTold{"Sign-in", "Somebody failed to sign in with your e-mail address so often that attempts from there have to wait" + before(", from ", d.Address) +
			". Browsers in which you signed in before are not concerned. If that was not you, see under “You” where you are signed in.", ui.ToneWarn}
	case models.NoticePasswordChanged:
		return noticeTold{"Password", "Your password was changed, and your other sessions ended. If that was not you, tell the operator of the desk at once.", ui.ToneInfo}
	case "case.returned":
		if d.HeldUntil != "" {
			return noticeTold{"Case", "A case you put on hold until " + dateText(d.HeldUntil) + " is back" + d.because() + " It concerns invoice " + orSome(d.Number, d.InvoiceID) + ".", ui.ToneInfo}
		}
		return noticeTold{"Case", "A case you had claimed went back to its queue" + d.because(), ui.ToneNeutral}
	}
	return noticeTold{"Notice", "Something changed that concerns you" + d.because(), ui.ToneNeutral}
}

// before puts words before a text that is there.
func before(words, text string) string {
	if text == "" {
		return ""
	}
	return words + text
}

// in says how far away a moment to come is, rounded to the nearest unit: seven days that began a moment
// ago are seven days.
func (w words) in(t models.Time) string {
	if left := lang.English().Span(nearest(t.Sub(w.now))); left != "" {
		return "in " + left
	}
	return "now"
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
func standBadge(s models.RequestStatus, approval models.ApprovalStatus) ui.Badge {
	if s == models.RequestApproved {
		switch approval {
		case models.ApprovalExpired:
			return ui.Badge{Text: "Approved, expired unused", Tone: ui.ToneNeutral, Sign: ui.SignNo}
		case models.ApprovalRevoked:
			return ui.Badge{Text: "Approval revoked", Tone: ui.ToneBad, Sign: ui.SignNo}
		}
	}
	return requestBadge(s)
}

// superseded is the reason kept when a case decision took a request or an approval back.
var superseded = regexp.MustCompile(`^superseded: (.*) decided ([a-z_]+) on case (case_[0-9A-Za-z_]+)$`)

// keptReason is a kept reason with the exit's label for its code.
func keptReason(reason string) string {
	m := superseded.FindStringSubmatch(reason)
	if m == nil {
		return reason
	}
	return m[1] + " chose “" + queue.ExitLabel(m[2]) + "” on a case of the same invoice"
}
