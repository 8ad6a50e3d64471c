package pages

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// showLogin is GET /login. Whoever is signed in already goes on.
func (p *Pages) showLogin(c *fiber.Ctx) error {
	next := localPath(c.Query("next"))
	if _, err := p.auth.Session(c); err == nil {
		return seeOther(c, orHome(next))
	}
	return p.login(c, http.StatusOK, signInForm{next: next}, nil)
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
		if kept, ok := readKeptForm(typed["kept"]); ok {
			p.keepFor(c, kept)
		}
		return seeOther(c, orHome(next))
	case models.IsCode(err, models.Unauthenticated), models.IsCode(err, models.RateLimited), models.IsCode(err, models.SecurityBlocked), models.IsCode(err, models.MembershipInactive):
		return p.login(c, statusOf(err), signInForm{email: typed["email"], next: next, kept: keptWords(typed["kept"]), keptForm: typed["kept"]}, err)
	}
	return err
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
	page := views.LoginPage{
		Page: views.Page{Title: "Sign in", Assets: assets(), CSRF: token, SelfURL: "/login", Flashes: p.said(c)},
		Form: views.Form{URL: "/login", CSRF: token}, Next: form.next, Kept: form.kept, KeptForm: form.keptForm,
		Email:    ui.Field{Name: "email", Label: "E-mail", Kind: ui.FieldEmail, Required: true, Autocomplete: "username", Value: form.email},
		Password: ui.Field{Name: "password", Label: "Password", Kind: ui.FieldPassword, Required: true, Autocomplete: "current-password"},
	}
	if ne, ok := models.AsNamed(refused); ok {
		page.Form.Heading, page.Form.Errors = "You are not signed in", []ui.FieldError{{Text: sentence(ne.Message)}}
	}
	return render(c, status, views.Login(page))
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
	}
	if typed := writtenFields(c); len(typed) > 0 && p.auth.OwnOrigin(c) {
		kept := keptOf(c)
		form := signInForm{next: localPath(next), keptForm: kept.text(), kept: &views.Conflict{Text: endedBefore, Typed: typed}}
		if form.keptForm != "" {
			form.kept.Text = endedBefore + keptAsDraft
		}
		return p.login(c, http.StatusUnauthorized, form, nil)
	}
	to := "/login"
	if next = localPath(next); next != "" && next != "/" {
		to += "?" + url.Values{"next": {next}}.Encode()
	}
	return seeOther(c, to)
}

const (
	endedBefore = "Your session had ended before you sent this. Sign in and you come back to the page."
	keptAsDraft = " What you had typed is in the form there."
)

// keptOf is the form that was sent after the session had ended, when it is one of which drafts are kept.
func keptOf(c *fiber.Ctx) keptForm {
	named := fieldsOf(c, "draft", "version")
	if _, _, ok := readDraftKey(named["draft"]); !ok {
		return keptForm{}
	}
	return keptForm{Draft: named["draft"], Version: versionOf(named["version"]), Fields: keptFields(posted(c))}
}

// keptWords shows again what a sign-in form carries along.
func keptWords(text string) *views.Conflict {
	kept, ok := readKeptForm(text)
	if !ok {
		return nil
	}
	return &views.Conflict{Text: endedBefore + keptAsDraft, Typed: kept.entries()}
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
func writtenFields(c *fiber.Ctx) []ui.Entry {
	var typed []ui.Entry
	for _, f := range posted(c) {
		name, isInput := strings.CutPrefix(f.name, "input.")
		if !isInput {
			name, isInput = strings.CutPrefix(f.name, "content.")
		}
		if (isInput || name == "reason" || name == "text") && strings.TrimSpace(f.value) != "" {
			typed = append(typed, ui.Entry{Key: ui.Foreign(f.name), Label: ui.Label(name), Value: ui.TextValue(f.value)})
		}
	}
	return typed
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
