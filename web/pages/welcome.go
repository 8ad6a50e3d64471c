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

const welcomePath = "/welcome"

// showWelcome is GET /welcome?link=…, where a link that works once leads. Opening it changes nothing, however
// often a mail scanner does: only the form spends it.
func (p *Pages) showWelcome(c *fiber.Ctx) error {
	return p.welcome(c, http.StatusOK, strings.Clone(c.Query("link")), refusal{})
}

// useWelcome is POST /welcome with link, name and password. It signs nobody in: whoever holds the link
// proves who they are at the sign-in form, with whatever else that asks for.
func (p *Pages) useWelcome(c *fiber.Ctx) error {
	if err := p.auth.CheckCSRF(c); err != nil {
		return err
	}
	typed, w := fieldsOf(c, "link", "name", "password", "again"), p.speaker(c)
	opened, err := p.store.OpenLink(c.UserContext(), typed["link"])
	if err == nil && !opened.Known && typed["password"] != typed["again"] {
		err = models.Invalid(models.Issue{Path: "/again", Message: w.tr("is not the same as the new password")})
	}
	var user models.User
	if err == nil {
		user, err = p.store.UseLink(c.UserContext(), typed["link"], typed["name"], typed["password"])
	}
	if err == nil {
		message := "joined"
		if !opened.Known {
			p.auth.Remember(c, user)
			message = "password_set"
		}
		p.say(c, message)
		return seeOther(c, "/login")
	}
	if models.IsCode(err, models.NotFound) {
		return p.welcome(c, http.StatusOK, typed["link"], refusal{})
	}
	r, ok := w.refuse(err, formPassword, w.tr("Nothing was saved"), map[string]string{"name": typed["name"]}, nil)
	if !ok {
		return err
	}
	return p.welcome(c, formStatus(err), typed["link"], r)
}

func (p *Pages) welcome(c *fiber.Ctx, status int, secret string, refused refusal) error {
	token, err := p.auth.CSRFToken(c)
	if err != nil {
		return err
	}
	w := p.speaker(c)
	c.Set("X-Robots-Tag", "noindex, nofollow")
	out := views.WelcomePage{Page: views.Page{Assets: assets(), CSRF: token, SelfURL: welcomePath}, Login: w.tr("To the sign-in page")}
	opened, err := p.store.OpenLink(c.UserContext(), secret)
	if models.IsCode(err, models.NotFound) {
		out.Heading = w.tr("This link is not good any more")
		out.Lead = w.tr("It was used, replaced or withdrawn, or its time is over.")
		out.Spent = w.tr("Ask whoever gave it to you for a new one. If you have set your password already, sign in with it.")
		out.Page.Title = out.Heading
		return render(c, http.StatusGone, views.Welcome(out))
	}
	if err != nil {
		return err
	}
	out.Email = opened.Email
	out.Link, out.Form = secret, &views.Form{URL: welcomePath, CSRF: token}
	out.Facts = []ui.Entry{ui.Pair(w.tr("E-mail"), opened.Email)}
	if opened.Kind == models.LinkInvitation {
		out.Heading, out.Button = w.tr("You are invited to apdesk"), w.tr("Join")
		out.Lead = w.tr("Choose the name colleagues see and a password, then sign in.")
		out.Facts = append(out.Facts, ui.Pair(w.tr("Workspace"), opened.Workspace), ui.Pair(w.tr("Roles"), w.roleTitles(opened.Roles)))
	} else {
		out.Heading, out.Button = w.tr("Set a new password"), w.tr("Set the password")
		out.Lead = w.tr("All your sessions end, and you sign in with the new one.")
	}
	switch {
	case opened.Known:
		out.Lead = w.tr("You have an account already. Join, then sign in as always.")
	case opened.Kind == models.LinkInvitation:
		out.Fields = append(out.Fields, refused.field(ui.Field{Name: "name", Label: w.tr("Your name"), Required: true, Autocomplete: "name", Value: opened.Name}))
	}
	if !opened.Known {
		out.Fields = append(out.Fields,
			refused.field(ui.Field{Name: "password", Label: w.tr("New password"), Kind: ui.FieldPassword, Required: true, Autocomplete: "new-password", Hint: w.passwordHint()}),
			refused.field(ui.Field{Name: "again", Label: w.tr("New password, once more"), Kind: ui.FieldPassword, Required: true, Autocomplete: "new-password"}))
	}
	out.Form.Heading, out.Form.Errors = refused.heading, refused.summary(out.Fields...)
	out.Page.Title = out.Heading
	return render(c, status, views.Welcome(out))
}

// invitations are those to the workspace that wait to be used, for who may see them.
func (v *visit) invitations() ([]views.InvitationRow, error) {
	list, err := v.p.store.Invitations(v.ctx, v.by)
	if models.IsCode(err, models.InsufficientPermission) {
		return nil, nil
	}
	var rows []views.InvitationRow
	for _, in := range list {
		rows = append(rows, views.InvitationRow{ID: in.Link.ID, Email: in.Link.Email, Roles: v.roleTitles(in.Roles), By: v.author(in.ByName), Ends: v.exactly(in.Link.ExpiresAt),
			Withdraw: &ui.PostForm{URL: v.link("/settings/people/invitations/withdraw"), CSRF: v.csrf, Hidden: []ui.Hidden{{Name: "invitation", Value: in.Link.ID}},
				Button: ui.Button{Label: v.tr("Withdraw"), About: v.tr("the invitation of %s", in.Link.Email), Variant: ui.ButtonPlain, TestID: "withdraw-invitation"}}})
	}
	return rows, err
}

// withdrawInvitation is POST /settings/people/invitations/withdraw with invitation.
func (v *visit) withdrawInvitation() error {
	id := v.typed("invitation")["invitation"]
	err := v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error { return tx.WithdrawInvitation(id) })
	if err != nil && !models.IsCode(err, models.NotFound) { // one that is gone by itself is what was wanted
		return v.refusedOnPeople(err, "")
	}
	v.p.say(v.c, "invitation_withdrawn")
	return seeOther(v.c, string(v.link("/settings/people")))
}

// invited shows the link of an invitation, this once.
func (v *visit) invited(in models.Invited) *views.MadeSecret {
	return &views.MadeSecret{Heading: v.tr("%s is invited", in.Link.Email),
		Text:  v.tr("Hand this link over yourself; the desk sends no mail. It works once, for %s, and is shown only now.", v.lifetime(models.InvitationLife)),
		Label: v.tr("Link"), Secret: strings.TrimSuffix(v.p.publicURL, "/") + welcomePath + "?" + url.Values{"link": {in.Secret}}.Encode()}
}
