package pages

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// draftForms are the forms of which what is typed is kept.
var draftForms = []string{formDecision, formComment, formVote, formSendBack, formAsk, formAnswer}

// isDraftForm says whether a name can be that of a form, or of what is kept beside it.
func isDraftForm(name string) bool {
	form, _ := models.Draft{Form: name}.Beside()
	return slices.Contains(draftForms, form)
}

// draftKey names a form of a record, as the form itself carries it.
func draftKey(subject, form string) string { return subject + "/" + form }

// readDraftKey takes a key apart; ok says whether it can be one of a form, or of what is kept beside it.
func readDraftKey(key string) (subject, form string, ok bool) {
	subject, form, _ = strings.Cut(key, "/")
	return subject, form, subject != "" && isDraftForm(form)
}

// keptFields are the fields in which people write or choose, and nothing that a form only carries along.
func keptFields(fields []formField) []models.DraftField {
	var kept []models.DraftField
	for _, f := range fields {
		prefixed := strings.HasPrefix(f.name, "input.") || strings.HasPrefix(f.name, "content.") || strings.HasPrefix(f.name, proposedPrefix)
		if prefixed || slices.Contains([]string{"exit", "reason", "text", "question"}, f.name) {
			kept = append(kept, models.DraftField{Name: f.name, Value: f.value})
		}
	}
	return kept
}

// typingIn is the window a form was filled in, as it says itself, and what it goes on from.
func typingIn(c *fiber.Ctx) models.Typing {
	typed := fieldsOf(c, "window", "based")
	return models.Typing{Window: strings.Clone(typed["window"]), Based: strings.Clone(typed["based"])}
}

// saveDraft is POST /drafts: the fields of a form as they stand, with draft (its key), version, made, the
// time of its page, window and based. The answer says in ETag what the window goes on from now, or shows
// what another window typed meanwhile.
func (v *visit) saveDraft() error {
	typed := v.typed("draft", "version", "made")
	subject, form, ok := readDraftKey(typed["draft"])
	if !ok || !slices.Contains(draftForms, form) {
		return models.Invalid(models.Issue{Path: "/draft", Message: "must name a form of a record"})
	}
	if err := v.reach(subject); err != nil {
		return err
	}
	made, err := time.Parse(time.RFC3339Nano, typed["made"])
	if err != nil {
		return models.Invalid(models.Issue{Path: "/made", Message: "must be a time"})
	}
	now, other, err := v.p.store.SaveTyped(v.ctx, v.by, models.Draft{Subject: subject, Form: form, Version: versionOf(typed["version"])}, keptFields(postedMarked(v.c)), models.At(made), typingIn(v.c))
	if err != nil {
		return err
	}
	if other != nil {
		return render(v.c, http.StatusConflict, views.OtherWindow(v.keptDraft(*other), other.State()))
	}
	v.c.Set(fiber.HeaderETag, strconv.Quote(now.State()))
	return v.c.SendStatus(http.StatusNoContent)
}

func versionOf(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// discardDraft is POST /drafts/discard with draft and back, the page it stands on.
func (v *visit) discardDraft() error {
	typed := v.typed("draft", "back")
	subject, form, ok := readDraftKey(typed["draft"])
	if !ok {
		return models.Missing("draft", typed["draft"])
	}
	if err := v.reach(subject); err != nil {
		return err
	}
	if err := v.p.store.DropDraft(v.ctx, v.by, subject, form); err != nil {
		return err
	}
	v.p.say(v.c, "draft_discarded")
	return seeOther(v.c, orHome(localPath(typed["back"])))
}

// keepTyped keeps what was sent in vain, since something else happened first. That the answer shows it
// too is what counts, so a failure is only logged. form is for forms that do not say which they are.
func (v *visit) keepTyped(subject, form string) {
	if at, sent, ok := readDraftKey(v.typed("draft")["draft"]); ok && at == subject && slices.Contains(draftForms, sent) {
		form = sent
	}
	_, _, err := v.p.store.SaveTyped(v.ctx, v.by, models.Draft{Subject: subject, Form: form, Version: versionOf(v.typed("version")["version"])}, keptFields(postedMarked(v.c)), models.At(v.now), typingIn(v.c))
	if err != nil {
		v.p.log.WarnContext(v.ctx, "what was typed is not kept", "form", form, "cause", err)
	}
}

// sent forgets what was typed into forms that have done their work. The act stands whether or not that
// succeeds.
func (v *visit) sent(subject string, forms ...string) {
	found, err := v.p.store.Drafts(v.ctx, v.by, subject)
	for _, d := range found {
		if form, beside := d.Beside(); beside && slices.Contains(forms, form) {
			forms = append(forms, d.Form)
		}
	}
	if err == nil {
		err = v.p.store.DropDraft(v.ctx, v.by, subject, forms...)
	}
	if err != nil {
		v.p.log.WarnContext(v.ctx, "a draft is not forgotten", "cause", err)
	}
}

// unsent is what the person typed into the forms of a record's page and did not send.
type unsent struct {
	v       *visit
	subject string
	page    templ.SafeURL
	found   map[string]models.Draft
	refused []string // forms
}

// unsent reads what was typed. A form that was just refused has its own text, so nothing older is offered
// in it.
func (v *visit) unsent(subject string, page templ.SafeURL, refused ...string) (unsent, error) {
	u := unsent{v: v, subject: subject, page: page, refused: refused}
	var err error
	u.found, err = v.p.store.Drafts(v.ctx, v.by, subject)
	return u, err
}

// toFill is what a form is filled in with: a draft made for this very version, or that the person asks for.
func (u unsent) toFill(form string, version int64) (models.Draft, bool) {
	d, ok := u.found[form]
	asked := u.v.c.Query("draft")
	if of, beside := (models.Draft{Form: asked}).Beside(); beside && of == form {
		if chosen, there := u.found[asked]; there {
			d, ok = chosen, true
		}
	}
	if !ok || slices.Contains(u.refused, form) || d.Version != version && asked != d.Form {
		return models.Draft{}, false
	}
	return d, true
}

// fill gives the fields to be filled in.
func (u unsent) fill(form string, version int64) (map[string]string, bool) {
	d, ok := u.toFill(form, version)
	if !ok {
		return nil, false
	}
	typed := map[string]string{}
	for _, f := range d.Typed() {
		if typed[f.Name] == "" {
			typed[f.Name] = f.Value
		}
	}
	return typed, true
}

// offer lets a form keep what is typed into it, and says what was kept before.
func (u unsent) offer(f *views.Form, form string) {
	f.Draft = &views.Draft{Key: draftKey(u.subject, form)}
	d, ok := u.found[form]
	refused := slices.Contains(u.refused, form)
	asked := u.v.c.Query("draft")
	switch of, beside := (models.Draft{Form: asked}).Beside(); {
	case refused: // the form holds what was sent, from wherever that went on
		at := typingIn(u.v.c)
		asked = form
		if f.Draft.Based = at.Based; ok && d.Window() == at.Window {
			f.Draft.Based = d.State()
		}
		if at.Window != "" {
			delete(u.found, models.Draft{Form: form}.Aside(at.Window)) // the same text
		}
	case !beside || of != form:
		f.Draft.Based = d.State() // else the form holds another text, and saving it has to ask
		asked = form
	}
	for _, name := range slices.Sorted(maps.Keys(u.found)) {
		d := u.found[name]
		if of, beside := d.Beside(); (beside && of == form || name == form && asked != form) && name != asked {
			f.Draft.Others = append(f.Draft.Others, u.kept(d))
		}
	}
	if !ok || refused {
		return
	}
	if asked != form {
		return // the text asked for is in the form, and this one among the others
	}
	_, f.Draft.Filled = u.fill(form, versionOf(f.Version))
	kept := u.kept(d)
	f.Draft.At, f.Draft.UseURL, f.Draft.Typed = kept.At, kept.UseURL, kept.Typed
}

// kept is a draft to be looked at and used.
func (u unsent) kept(d models.Draft) views.Kept {
	out := u.v.keptDraft(d)
	out.UseURL = u.v.link(string(u.page), "from", u.v.from(), "draft", d.Form)
	return out
}

func (v *visit) keptDraft(d models.Draft) views.Kept {
	return views.Kept{Key: draftKey(d.Subject, d.Form), At: v.timeOfDay(d.SavedAt), Typed: v.fieldEntries(d.Typed())}
}

// intoCase fills the forms of a case's page.
func (u unsent) intoCase(form caseForm, version int64) caseForm {
	if typed, ok := u.fill(formDecision, version); ok {
		form.exit, form.typed = typed["exit"], typed
	}
	if typed, ok := u.fill(formComment, 0); ok {
		form.comment = refusal{form: formComment, typed: typed}
	}
	return form
}

// onCase lets the forms of a case's page keep what is typed, and the decision say where to go.
func (u unsent) onCase(p *views.CasePage, list string) error {
	if p.CommentForm != nil {
		u.offer(&p.CommentForm.Form, formComment)
	}
	if p.Decision == nil {
		return nil
	}
	u.offer(&p.Decision.Form, formDecision)
	return u.v.onward(&p.Decision.Form, list)
}

// onApproval is onCase for an approval request, whose forms are filled here.
func (u unsent) onApproval(p *views.ApprovalPage) error {
	if f := p.Form; f != nil {
		u.offer(&f.Form, formVote)
		if typed, ok := u.fill(formVote, versionOf(f.Version)); ok {
			f.Reason.Value = typed["reason"]
		}
		if err := u.v.onward(&f.Form, "/approvals"); err != nil {
			return err
		}
	}
	if f := p.SendBack; f != nil {
		u.offer(&f.Form, formSendBack)
		if typed, ok := u.fill(formSendBack, versionOf(f.Version)); ok {
			f.Open, f.Reason.Value = true, typed["reason"]
			for i := range f.Fields {
				if value, sent := typed[f.Fields[i].Name]; sent {
					f.Fields[i].Value = value
				}
			}
		}
		if err := u.v.onward(&f.Form, "/approvals"); err != nil {
			return err
		}
	}
	if f := p.Ask; f != nil {
		u.offer(&f.Form, formAsk)
		if typed, ok := u.fill(formAsk, versionOf(f.Version)); ok {
			f.Open, f.Question.Value = true, typed["question"]
		}
	}
	return nil
}

// intoAnswer fills the form of a confirmation, unless it was just refused.
func (u unsent) intoAnswer(d draft, page confirm.Page) draft {
	if d.sent || !isDrafted(page) {
		return d
	}
	if typed, ok := u.toFill(formAnswer, page.Confirmation.Version); ok {
		d.sent, d.content, d.reason = true, map[string][]string{}, typed.Value("reason")
		for _, f := range typed.Typed() {
			if name, ok := strings.CutPrefix(f.Name, "content."); ok {
				d.content[name] = append(d.content[name], f.Value)
			}
		}
	}
	return d
}

// isDrafted says whether what is typed into the form of a confirmation may be kept: not where it asks
// for tax or bank data.
func isDrafted(page confirm.Page) bool {
	for _, q := range page.Questions {
		if q.Form == nil {
			continue
		}
		for _, f := range q.Form.Fields {
			if models.IsPrivateName(f.Name) || models.IsPrivateName(f.Label()) {
				return false
			}
		}
	}
	return true
}

// draftEntry shows a field of a draft; ok says whether there is anything to see.
func (w words) draftEntry(f models.DraftField) (ui.Entry, bool) {
	name := strings.TrimPrefix(strings.TrimPrefix(f.Name, "input."), "content.")
	if rest, ok := strings.CutPrefix(f.Name, proposedPrefix); ok {
		_, name, _ = strings.Cut(rest, ".") // the tick has none
	}
	switch {
	case strings.TrimSpace(f.Value) == "" || name == "":
		return ui.Entry{}, false
	case f.Name == "exit":
		return ui.Pair(w.tr("You chose"), w.exit(f.Value)), true
	case strings.HasPrefix(f.Name, "content."): // asked by another server, in its words
		return ui.Entry{Key: ui.Foreign(f.Name), Label: ui.Label(name), Value: ui.TextValue(f.Value)}, true
	}
	return ui.Entry{Key: ui.Foreign(f.Name), Label: w.inputLabel(name), Value: ui.TextValue(w.inputText(name, f.Value))}, true
}

// keptForm is what was sent after the session had ended, as the sign-in form carries it along.
type keptForm struct {
	Draft   string              `json:"draft"`
	Version int64               `json:"version"`
	Fields  []models.DraftField `json:"fields"`
	models.Typing
}

// text is the form for a hidden field; empty when nothing of it is kept.
func (k keptForm) text() string {
	raw, err := json.Marshal(k)
	if err != nil || len(k.Fields) == 0 || len(raw) > 2*models.MaxDraft {
		return ""
	}
	return string(raw)
}

// fieldEntries shows those of the fields in which there is anything to see.
func (w words) fieldEntries(fields []models.DraftField) []ui.Entry {
	var out []ui.Entry
	for _, f := range fields {
		if entry, ok := w.draftEntry(f); ok {
			out = append(out, entry)
		}
	}
	return out
}

// readKeptForm reads what text wrote.
func readKeptForm(text string) (k keptForm, ok bool) {
	if text == "" || json.Unmarshal([]byte(text), &k) != nil {
		return keptForm{}, false
	}
	_, form, ok := readDraftKey(k.Draft)
	return k, ok && slices.Contains(draftForms, form)
}

// keep makes a draft of what was sent after the session had ended, once the person has signed in again.
func (v *visit) keep(k keptForm) {
	subject, form, _ := readDraftKey(k.Draft)
	err := v.reach(subject)
	if err == nil {
		var fields []formField
		for _, f := range k.Fields {
			fields = append(fields, formField{f.Name, f.Value})
		}
		_, _, err = v.p.store.SaveTyped(v.ctx, v.by, models.Draft{Subject: subject, Form: form, Version: k.Version}, keptFields(fields), models.At(v.now), k.Typing)
	}
	if err != nil {
		v.p.log.WarnContext(v.ctx, "what was typed before signing in is not kept", "form", form, "cause", err)
	}
}
