package pages

import (
	"net/http"
	"strconv"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
	"github.com/apdesk/apdesk/web/auth"
)

const (
	accountPath  = "/settings/me/security"
	formPassword = "password"
	formSession  = "session"
)

func mountAccount(get, post route) {
	get(accountPath, (*visit).showAccount)
	post(accountPath+"/password", (*visit).changePassword)
	post(accountPath+"/sessions", (*visit).endSession)
}

// showAccount is GET /settings/me/security: the person's password and where they are signed in.
func (v *visit) showAccount() error { return v.account(http.StatusOK, refusal{}) }

// changePassword is POST /settings/me/security/password with current, password and again. What was typed is
// never shown again.
func (v *visit) changePassword() error {
	typed := fieldsOf(v.c, "current", "password", "again")
	err := error(nil)
	if typed["password"] != typed["again"] {
		err = models.Invalid(models.Issue{Path: "/again", Message: v.tr("is not the same as the new password")})
	} else {
		_, err = v.p.store.ChangePassword(v.ctx, v.id, typed["current"], typed["password"])
	}
	if err == nil {
		// The browser is known for the password before.
		if user, err := v.p.store.UserByEmail(v.ctx, v.id.User.Email); err == nil {
			v.p.auth.Remember(v.c, user)
		}
		v.p.say(v.c, "password_changed")
		return seeOther(v.c, string(v.link(accountPath)))
	}
	status := formStatus(err)
	r, ok := v.refuse(err, formPassword, v.tr("Your password was not changed"), nil, nil)
	if models.IsCode(err, models.RateLimited) {
		r, ok, status = refusal{form: formPassword, heading: v.tr("Your password was not changed"), problems: map[string]string{"": asNamed(err).Message}}, true, http.StatusTooManyRequests
	}
	if !ok {
		return err
	}
	return v.account(status, r)
}

// endSession is POST /settings/me/security/sessions with session, or with all to end all others.
func (v *visit) endSession() error {
	typed := v.typed("session", "all")
	var err error
	if typed["all"] != "" {
		_, err = v.p.store.EndOtherSessions(v.ctx, v.id)
	} else {
		err = v.p.store.EndSession(v.ctx, v.id, typed["session"])
	}
	if err == nil || models.IsCode(err, models.NotFound) { // it ended by itself, which is what was wanted
		v.p.say(v.c, "session_ended")
		return seeOther(v.c, string(v.link(accountPath)))
	}
	r, ok := v.refuse(err, formSession, v.tr("Nothing was changed"), nil, nil)
	if !ok {
		return err
	}
	return v.account(formStatus(err), r)
}

func (v *visit) account(status int, refused refusal) error {
	sessions, err := v.p.store.Sessions(v.ctx, v.id)
	if err != nil {
		return err
	}
	page, err := v.page(v.tr("Password and sessions"), v.link(accountPath), "")
	if err != nil {
		return err
	}
	own := refused.of(formPassword)
	idle, life := v.p.store.SessionLimits()
	out := views.AccountPage{Page: page, Email: v.id.User.Email, BackURL: v.link(mePath), Tabs: v.settingsTabs(mePath), Password: v.form(v.link(accountPath + "/password")),
		After:  v.tr("All your other sessions end, and every browser is asked like a new one again. You stay signed in here."),
		Limits: v.tr("A session ends after %s without use, and after %s in any case.", v.lifetime(idle), v.lifetime(life)),
		Fields: []ui.Field{
			own.field(ui.Field{Name: "current", Label: v.tr("Present password"), Kind: ui.FieldPassword, Required: true, Autocomplete: "current-password"}),
			own.field(ui.Field{Name: "password", Label: v.tr("New password"), Kind: ui.FieldPassword, Required: true, Autocomplete: "new-password", Hint: v.passwordHint()}),
			own.field(ui.Field{Name: "again", Label: v.tr("New password, once more"), Kind: ui.FieldPassword, Required: true, Autocomplete: "new-password"}),
		}}
	out.Password.Heading, out.Password.Errors = own.heading, own.summary(out.Fields...)
	if refused.form == formSession {
		for _, e := range refused.summary() {
			out.Page.Flashes = append(out.Page.Flashes, ui.Flash{Tone: ui.ToneWarn, Text: e.Text})
		}
	}
	for _, s := range sessions {
		row := views.SessionRow{Device: v.device(s.UserAgent), Address: orSome(s.Address, v.tr("unknown")), SignedIn: v.at(s.CreatedAt), Used: v.at(s.LastSeenAt), Current: s.ID == v.id.Session.ID}
		if !row.Current {
			row.End = &ui.PostForm{URL: v.link(accountPath + "/sessions"), CSRF: v.csrf, Hidden: []ui.Hidden{{Name: "session", Value: s.ID}},
				Button: ui.Button{Label: v.tr("End"), About: v.tr("the session of %s at %s", row.Device, row.Address), Variant: ui.ButtonPlain, TestID: "end-session"}}
		}
		out.Sessions = append(out.Sessions, row)
	}
	if len(sessions) > 1 {
		out.EndAll = &ui.PostForm{URL: v.link(accountPath + "/sessions"), CSRF: v.csrf, Hidden: []ui.Hidden{{Name: "all", Value: "yes"}},
			Button: ui.Button{Label: v.tr("End all other sessions"), Variant: ui.ButtonDanger, TestID: "end-all"}}
	}
	return render(v.c, status, views.Account(out))
}

// passwordHint says what a password must be.
func (w words) passwordHint() string {
	return w.tr("At least %d characters. Four words that have nothing to do with one another, or with you, make a good one.", models.MinPassword)
}

// device names a browser so that its person recognises it.
func (w words) device(userAgent string) string {
	browser, system := auth.Device(userAgent)
	switch {
	case browser != "" && system != "":
		return w.tr("%s on %s", browser, system)
	case browser != "" || system != "":
		return browser + system
	}
	return w.tr("an unknown browser")
}

// lifetime is a length of time in whole days, hours or minutes.
func (w words) lifetime(d time.Duration) string {
	count := func(unit time.Duration) (int, bool) { return int(d / unit), d >= unit && d%unit == 0 }
	if n, ok := count(24 * time.Hour); ok && n > 1 {
		return w.trn("%d day", "%d days", n)
	}
	if n, ok := count(time.Hour); ok {
		return w.trn("%d hour", "%d hours", n)
	}
	return w.tr("%s minutes", strconv.Itoa(int(d/time.Minute)))
}
