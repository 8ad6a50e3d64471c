package pages

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
	"github.com/apdesk/apdesk/web/auth"
)

// showLogin is GET /login. Whoever is signed in already goes on.
func (p *Pages) showLogin(c *fiber.Ctx) error {
	next := localPath(c.Query("next"))
	if _, err := p.auth.Session(c); err == nil {
		return seeOther(c, orHome(next))
	}
	p.chooseLanguage(c)
	return p.login(c, http.StatusOK, signInForm{next: next}, nil)
}

// languageCookie keeps the language chosen on the sign-in page, for whoever has chosen none under "How you work".
const (
	languageCookie = "apdesk_lang"
	languageLife   = 365 * 24 * time.Hour
)

// chooseLanguage keeps the language the address asks for in the browser. Nothing changes on the server.
func (p *Pages) chooseLanguage(c *fiber.Ctx) {
	asked := c.Query("lang")
	for _, l := range lang.All() {
		if l.Tag() != asked {
			continue
		}
		c.Locals(langKey, l)
		c.Cookie(&fiber.Cookie{Name: p.auth.Cookie(c, languageCookie), Value: l.Tag(), Path: "/", MaxAge: int(languageLife / time.Second),
			HTTPOnly: true, Secure: p.auth.Secure(c), SameSite: fiber.CookieSameSiteLaxMode})
	}
}

// wish is the language that the browser asks for: what was chosen on the sign-in page, else the best for
// what it accepts.
func (p *Pages) wish(c *fiber.Ctx) *lang.Lang {
	return lang.Choose(c.Cookies(p.auth.Cookie(c, languageCookie)), c.Get(fiber.HeaderAcceptLanguage))
}

// speaker puts a page into words for somebody who is not signed in.
func (p *Pages) speaker(c *fiber.Ctx) words { return words{lang: p.langOf(c), now: p.store.Now().Time} }

// languageChoices are the languages of the sign-in page, which goes on to where it would have gone.
func (p *Pages) languageChoices(c *fiber.Ctx, next string) []views.LanguageChoice {
	var choices []views.LanguageChoice
	for _, l := range lang.All() {
		q := url.Values{"lang": {l.Tag()}}
		if next != "" {
			q.Set("next", next)
		}
		choices = append(choices, views.LanguageChoice{Tag: l.Tag(), Name: l.Name(), URL: templ.SafeURL("/login?" + q.Encode()), Current: l == p.langOf(c)})
	}
	return choices
}

// signIn is POST /login.
func (p *Pages) signIn(c *fiber.Ctx) error {
	typed := fieldsOf(c, "email", "password", "next", "kept")
	next := localPath(typed["next"])
	err := p.auth.CheckCSRF(c)
	if err == nil {
		err = p.auth.SignIn(c, typed["email"], typed["password"])
	} else if _, signedIn := p.auth.Session(c); signedIn == nil && models.IsCode(err, models.SecurityBlocked) {
		return seeOther(c, orHome(next)) // a second sign-in form, left open since before the first was sent
	}
	switch {
	case err == nil:
		return p.goOnSignedIn(c, next, typed["kept"])
	case errors.Is(err, auth.ErrSecondStep):
		return p.secondStep(c, http.StatusOK, next, typed["kept"], nil)
	case models.IsCode(err, models.Unauthenticated), models.IsCode(err, models.RateLimited), models.IsCode(err, models.SecurityBlocked), models.IsCode(err, models.MembershipInactive):
		return p.login(c, statusOf(err), signInForm{email: typed["email"], next: next, kept: p.speaker(c).keptWords(typed["kept"]), keptForm: typed["kept"]}, err)
	}
	return err
}

// goOnSignedIn goes on to where somebody was going, with what they had sent after their session had ended.
func (p *Pages) goOnSignedIn(c *fiber.Ctx, next, kept string) error {
	if kept, ok := readKeptForm(kept); ok {
		p.keepFor(c, kept)
	}
	return seeOther(c, orHome(next))
}

// signInForm is what the sign-in page starts from.
type signInForm struct {
	email, next string
	kept        *views.Conflict // what was sent after the session had ended
	keptForm    string          // the same, to become a draft; "" when nothing of it is kept
}

func (p *Pages) login(c *fiber.Ctx, status int, form signInForm, refused error) error {
	token, err := p.auth.CSRFToken(c)
	if err != nil {
		return err
	}
	w := p.speaker(c)
	page := views.LoginPage{
		Languages: p.languageChoices(c, form.next),
		Page:      views.Page{Title: w.tr("Sign in"), Assets: assets(), CSRF: token, SelfURL: "/login", Flashes: p.said(c)},
		Form:      views.Form{URL: "/login", CSRF: token}, Next: form.next, Kept: form.kept, KeptForm: form.keptForm,
		Email:    ui.Field{Name: "email", Label: w.tr("E-mail"), Kind: ui.FieldEmail, Required: true, Autocomplete: "username", Value: form.email},
		Password: ui.Field{Name: "password", Label: w.tr("Password"), Kind: ui.FieldPassword, Required: true, Autocomplete: "current-password"},
	}
	page.Provider = p.providerButton(token, form.next)
	if ne, ok := models.AsNamed(refused); ok {
		page.Form.Heading, page.Form.Errors = w.tr("You are not signed in"), []ui.FieldError{{Text: w.problem(ne.Message)}}
	}
	return p.render(c, status, views.Login(page))
}

func orHome(next string) string {
	if next == "" {
		return "/"
	}
	return next
}

// toLogin sends somebody who is not signed in to the sign-in page, and from there to where they were
// going. A form's address is no page, so they come to the page it stands on.
//
// What they had typed is shown, so that it can be copied, if the form was one of the desk's own: another
// site must not put its words on this page.
func (p *Pages) toLogin(c *fiber.Ctx) error {
	next := string(c.Context().URI().PathOriginal())
	if query := c.Context().URI().QueryString(); len(query) > 0 {
		next += "?" + string(query)
	}
	if c.Method() != fiber.MethodGet && c.Method() != fiber.MethodHead {
		next = pageBehind(c.Path())
		if isRecord(kindOf(next)) {
			next = string(withFrom(templ.SafeURL(next), postedFrom(c)))
		}
	}
	w := p.speaker(c)
	if typed := w.writtenFields(c); len(typed) > 0 && p.auth.OwnOrigin(c) {
		kept := keptOf(c)
		form := signInForm{next: localPath(next), keptForm: kept.text(), kept: &views.Conflict{Text: w.endedBefore(), Typed: typed}}
		if form.keptForm != "" {
			form.kept.Text = w.endedBefore() + " " + w.keptAsDraft()
		}
		return p.login(c, http.StatusUnauthorized, form, nil)
	}
	to := "/login"
	if next = localPath(next); next != "" && next != "/" {
		to += "?" + url.Values{"next": {next}}.Encode()
	}
	return seeOther(c, to)
}

func (w words) endedBefore() string {
	return w.tr("Your session had ended before you sent this. Sign in and you come back to the page.")
}

func (w words) keptAsDraft() string { return w.tr("What you had typed is in the form there.") }

// keptOf is the form that was sent after the session had ended, when it is one of which drafts are kept.
func keptOf(c *fiber.Ctx) keptForm {
	named := fieldsOf(c, "draft", "version")
	if _, _, ok := readDraftKey(named["draft"]); !ok {
		return keptForm{}
	}
	return keptForm{Draft: named["draft"], Version: versionOf(named["version"]), Fields: keptFields(postedMarked(c)), Typing: typingIn(c)}
}

// keptWords shows again what a sign-in form carries along.
func (w words) keptWords(text string) *views.Conflict {
	kept, ok := readKeptForm(text)
	if !ok {
		return nil
	}
	return &views.Conflict{Text: w.endedBefore() + " " + w.keptAsDraft(), Typed: w.fieldEntries(kept.Fields)}
}

// keepFor makes a draft of what a sign-in form carried along, for whoever signed in.
func (p *Pages) keepFor(c *fiber.Ctx, kept keptForm) {
	v, err := p.visit(c)
	if err == nil {
		err = v.chooseWorkspace()
	}
	if err != nil {
		p.log.WarnContext(c.UserContext(), "what was typed before signing in is not kept", "cause", err)
		return
	}
	v.keep(kept)
}

// writtenFields are the fields of a form in which people write; what they only chose is no loss.
func (w words) writtenFields(c *fiber.Ctx) []ui.Entry {
	var typed []models.DraftField
	for _, f := range postedMarked(c) {
		name, isInput := strings.CutPrefix(f.name, "input.")
		if !isInput {
			name, isInput = strings.CutPrefix(f.name, "content.")
		}
		if (isInput || name == "reason" || name == "text" || name == "question") && strings.TrimSpace(f.value) != "" {
			typed = append(typed, models.DraftField{Name: f.name, Value: f.value})
		}
	}
	return w.fieldEntries(typed)
}

// signOut is POST /logout.
func (v *visit) signOut() error {
	if err := v.p.auth.SignOut(v.c, v.id); err != nil {
		return err
	}
	v.p.say(v.c, "signed_out")
	return seeOther(v.c, "/login")
}

// switchWorkspace is POST /workspace: the pages show another workspace from now on.
func (v *visit) switchWorkspace() error {
	to := v.typed("workspace_id")["workspace_id"]
	if err := v.p.store.SelectWorkspace(v.ctx, v.id, to); err != nil {
		return err
	}
	if to != v.chosen {
		v.p.say(v.c, "switched")
	}
	return seeOther(v.c, "/")
}
