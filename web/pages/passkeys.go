package pages

import (
	"net/http"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
	"github.com/apdesk/apdesk/web/auth/passkey"
)

const (
	passkeysPath   = mePath + "/passkeys"
	secondStepPath = "/login/second"

	formAddPasskey    = "add_passkey"
	formRenamePasskey = "rename_passkey"
	formConfirm       = "confirm"
	formCode          = "code"
)

func mountPasskeys(get, post route) {
	get(passkeysPath, (*visit).showPasskeys)
	post(passkeysPath, (*visit).addPasskey)
	post(passkeysPath+"/ask", (*visit).askNewPasskey)
	post(passkeysPath+"/codes", (*visit).renewCodes)
	post(passkeysPath+"/:id/rename", (*visit).renamePasskey)
	post(passkeysPath+"/:id/remove", (*visit).removePasskey)
	post(mePath+"/confirm", (*visit).confirmMe)
	post(confirmAskPath, (*visit).askConfirm)
	post("/settings/security/step-up", (*visit).setStepUp)
	post("/settings/security/second-factor", (*visit).setSecondFactor)
}

// passkeysBeside says on the page about the person how many passkeys they have.
func (v *visit) passkeysBeside(out *views.PreferencesPage) error {
	keys, _, err := v.p.store.Passkeys(v.ctx, v.id.User.ID)
	if err != nil {
		return err
	}
	out.PasskeysURL, out.Passkeys = v.link(passkeysPath), v.tr("You have none: your password alone signs you in.")
	if n := len(keys); n > 0 {
		out.Passkeys = v.trn("%d passkey is asked for when you sign in.", "%d passkeys are asked for when you sign in.", n)
	}
	return nil
}

// showPasskeys is GET /settings/me/passkeys.
func (v *visit) showPasskeys() error { return v.renderPasskeys(http.StatusOK, refusal{}) }

func (v *visit) renderPasskeys(status int, refused refusal) error {
	keys, codes, err := v.p.store.Passkeys(v.ctx, v.id.User.ID)
	if err != nil {
		return err
	}
	page, err := v.page(v.tr("Passkeys"), v.link(passkeysPath), "")
	if err != nil {
		return err
	}
	out := views.PasskeysPage{Page: page, Tabs: v.settingsTabs(mePath),
		Lead:  v.tr("A passkey is a key on your phone, your computer or a security key. With one, signing in asks for it after the password, so that nobody gets in with a stolen password."),
		Empty: ui.Empty{Heading: v.tr("You have no passkey"), Text: v.tr("Your password alone signs you in. Add two, on different devices, and keep the recovery codes: then a lost device does not lock you out."), TestID: "empty"}}
	_, can := v.site()
	if !can {
		out.Notices = append(out.Notices, ui.Notice{Tone: ui.ToneWarn, Heading: v.tr("No passkeys at this address"), Text: ui.Foreign(noSite(v.lang)), TestID: "no-passkeys-here"})
	}
	if len(keys) == 0 && v.ws.SecondFactor && v.id.Session.SignedInBy != models.FactorProvider {
		out.Notices = append(out.Notices, ui.Notice{Tone: ui.ToneInfo, Heading: v.tr("%s requires a passkey", v.ws.Name), TestID: "required",
			Text: ui.Foreign(v.tr("Whoever decides there needs one. Add it here; then you come to your desk."))})
	}
	if refused.form == "other" {
		for _, e := range refused.summary() {
			out.Notices = append(out.Notices, ui.Notice{Tone: ui.ToneWarn, Heading: refused.heading, Text: ui.Foreign(e.Text), TestID: "refused"})
		}
	}
	confirmed := v.by.SteppedUp(models.At(v.now))
	fresh := v.now.Sub(v.id.Session.CreatedAt.Time) <= models.StepUpFor
	bare := len(keys) == 0 && (v.id.User.PasswordHash == "" || v.id.User.PasswordOff)
	mayChange := confirmed || (bare && fresh)
	for _, k := range keys {
		row := v.passkeyRow(k, mayChange)
		if refused.form == formRenamePasskey && k.ID == v.param("id") {
			row.NameIs = refused.field(row.NameIs)
			row.Rename.Heading, row.Rename.Errors = refused.heading, refused.summary(row.NameIs)
		}
		out.Rows = append(out.Rows, row)
	}
	if !mayChange {
		if out.Confirm, err = v.confirmForm(refused.of(formConfirm), bare); err != nil {
			return err
		}
	} else if can {
		out.Add = v.addPasskeyForm(refused.of(formAddPasskey))
	}
	if confirmed {
		out.ConfirmedAt = v.tr("You confirmed %s that it is you; for %d minutes from then you can change your passkeys.", v.timeOfDay(v.by.SteppedUpAt), int(models.StepUpFor.Minutes()))
	}
	if len(keys) > 0 {
		out.CodesLeft = v.tr("%d of %d are left. Each signs you in once, after the password, in the place of a passkey.", codes, models.RecoveryCodes)
		if mayChange {
			out.Renew = &ui.PostForm{URL: v.link(passkeysPath + "/codes"), CSRF: v.csrf, Button: ui.Button{Label: v.tr("Make new codes; the old ones count no more"), Variant: ui.ButtonPlain, TestID: "renew-codes"}}
		}
	}
	return render(v.c, status, views.Passkeys(out))
}

func (v *visit) passkeyRow(k models.Passkey, mayChange bool) views.PasskeyRow {
	at := templ.SafeURL(passkeysPath + "/" + k.ID)
	row := views.PasskeyRow{ID: k.ID, Name: k.Name, Added: v.at(k.CreatedAt), NotUsed: k.LastUsedAt.IsZero(), Rename: v.form(at + "/rename"),
		NameIs: ui.Field{ID: "name-" + k.ID, Name: "name", Label: v.tr("Name"), Value: k.Name, Required: true}}
	if !row.NotUsed {
		row.Used = v.at(k.LastUsedAt)
	}
	if mayChange {
		row.Remove = &ui.PostForm{URL: at + "/remove", CSRF: v.csrf, Button: ui.Button{Label: v.tr("Remove"), About: k.Name, Variant: ui.ButtonQuiet, TestID: "remove-passkey"}}
	}
	return row
}

// confirmForm asks that it is the person before their passkeys can be changed; bare says that they have
// nothing to confirm with.
func (v *visit) confirmForm(refused refusal, bare bool) (*views.ConfirmForm, error) {
	f := &views.ConfirmForm{Form: v.form(v.link(mePath + "/confirm")), Next: passkeysPath}
	if bare {
		f.StepUp = views.StepUp{Text: v.tr("You have neither a passkey nor a password here."), Missing: v.tr("Sign out and in again, and add your passkey within five minutes."), SetUpURL: v.link(passkeysPath)}
		return f, nil
	}
	s, err := v.confirmFields(v.tr("Before your passkeys can be added or removed. It then counts for five minutes."), "", refused)
	if err != nil {
		return nil, err
	}
	if s.Password != nil {
		s.Password.Required = true
	}
	f.StepUp = *s
	f.Heading, f.Errors = refused.heading, refused.summary(v.stepUpFields(s)...)
	return f, nil
}

func (v *visit) addPasskeyForm(refused refusal) *views.PasskeyForm {
	f := &views.PasskeyForm{Form: v.form(v.link(passkeysPath)),
		Name:    refused.field(ui.Field{ID: "passkey-name", Name: "name", Label: v.tr("Name"), Required: true, Autocomplete: "off", Hint: v.tr("What you will know it by, such as: phone, or key on my key ring.")}),
		Passkey: views.Passkey{AskURL: templ.SafeURL(passkeysPath + "/ask"), Add: true, NoScript: noScriptToAdd(v.lang)}}
	f.Heading, f.Errors = refused.heading, refused.summary(f.Name)
	return f
}

// passkeysChanged answers a form of the passkeys' page.
func (v *visit) passkeysChanged(err error, form, heading string, typed map[string]string, message string) error {
	if err == nil {
		v.p.say(v.c, message)
		return seeOther(v.c, string(v.link(passkeysPath)))
	}
	r, ok := v.refuse(err, form, heading, typed, nil)
	if !ok {
		return err
	}
	return v.renderPasskeys(formStatus(err), r)
}

// addPasskey is POST /settings/me/passkeys with name and passkey, the browser's answer. With the first one
// the recovery codes are shown, this once.
func (v *visit) addPasskey() error {
	typed := v.typed("name", "passkey")
	answer := typed["passkey"]
	delete(typed, "passkey")
	site, ok := v.site()
	var codes []string
	var err error
	switch {
	case !ok:
		err = models.Invalid(models.Issue{Path: "/passkey", Message: noSite(v.lang)})
	case answer == "":
		err = models.Invalid(models.Issue{Path: "/passkey", Message: noScriptToAdd(v.lang)})
	default:
		codes, err = v.p.passkeys.Add(v.ctx, site, v.id, typed["name"], answer)
	}
	if err == nil && len(codes) > 0 {
		return v.showCodes(codes)
	}
	return v.passkeysChanged(err, formAddPasskey, v.tr("The passkey was not added"), typed, "passkey_added")
}

func (v *visit) showCodes(codes []string) error {
	page, err := v.page(v.tr("Your recovery codes"), v.link(passkeysPath), "")
	if err != nil {
		return err
	}
	return render(v.c, http.StatusOK, views.RecoveryCodes(views.RecoveryCodesPage{Page: page, Codes: codes, BackURL: v.link(passkeysPath),
		Words: v.tr("Print them or write them down, and keep them apart from your devices. Each signs you in once when your passkey is lost. The desk shows them only now.")}))
}

// renewCodes is POST /settings/me/passkeys/codes.
func (v *visit) renewCodes() error {
	codes, err := v.p.store.RenewRecoveryCodes(v.ctx, v.id)
	if err != nil {
		return v.passkeysChanged(err, "other", v.tr("No codes were made"), nil, "")
	}
	return v.showCodes(codes)
}

// renamePasskey is POST /settings/me/passkeys/{id}/rename with name.
func (v *visit) renamePasskey() error {
	typed := v.typed("name")
	return v.passkeysChanged(v.p.store.RenamePasskey(v.ctx, v.id, v.param("id"), typed["name"]), formRenamePasskey, v.tr("The name was not changed"), typed, "passkey_renamed")
}

// removePasskey is POST /settings/me/passkeys/{id}/remove.
func (v *visit) removePasskey() error {
	return v.passkeysChanged(v.p.store.RemovePasskey(v.ctx, v.id, v.param("id")), "other", v.tr("The passkey was not removed"), nil, "passkey_removed")
}

// confirmMe is POST /settings/me/confirm with password or passkey, and next.
func (v *visit) confirmMe() error {
	next := localPath(v.typed("next")["next"])
	err := v.confirmWithForm()
	if err == nil && !v.by.SteppedUp(models.At(v.now)) {
		err = models.Invalid(models.Issue{Path: "/step_up", Message: "give your password, or your passkey, to confirm"})
	}
	if err == nil {
		return seeOther(v.c, orHome(next))
	}
	return v.passkeysChanged(err, formConfirm, v.tr("That did not confirm that it is you"), nil, "")
}

// askNewPasskey is POST /settings/me/passkeys/ask, for the script: what the browser is to make.
func (v *visit) askNewPasskey() error {
	return v.p.toScript(v.c, func(site passkey.Site) ([]byte, error) { return v.p.passkeys.AskNew(v.ctx, site, v.id) })
}

// askConfirm is POST /settings/me/confirm/ask, for the script: what the browser is to sign.
func (v *visit) askConfirm() error {
	return v.p.toScript(v.c, func(site passkey.Site) ([]byte, error) { return v.p.passkeys.AskConfirm(v.ctx, site, v.id) })
}

// toScript answers the script in JSON: what the browser is asked, or why not, in words.
func (p *Pages) toScript(c *fiber.Ctx, ask func(passkey.Site) ([]byte, error)) error {
	site, ok := p.siteOf(string(c.Context().Host()))
	var options []byte
	err := error(models.Invalid(models.Issue{Path: "/passkey", Message: noSite(p.langOf(c))}))
	if ok {
		options, err = ask(site)
	}
	ne, named := models.AsNamed(err)
	switch {
	case err != nil && !named:
		return err
	case named:
		return c.Status(statusOf(err)).JSON(map[string]string{"message": sentence(whatIsWrong(ne))})
	}
	c.Set(fiber.HeaderContentType, fiber.MIMEApplicationJSONCharsetUTF8)
	return c.Send(options)
}

// mountSecondStep puts the step after the password on the router, for who is not signed in yet.
func (p *Pages) mountSecondStep(r fiber.Router) {
	r.Get(secondStepPath, p.guarded(p.showSecondStep))
	r.Post(secondStepPath, p.guarded(p.finishSignIn))
	r.Post(secondStepPath+"/ask", p.guarded(p.askSecondStep))
}

// showSecondStep is GET /login/second.
func (p *Pages) showSecondStep(c *fiber.Ctx) error {
	next := localPath(c.Query("next"))
	if _, err := p.auth.Session(c); err == nil {
		return seeOther(c, orHome(next))
	}
	return p.secondStep(c, http.StatusOK, next, "", nil)
}

// secondStep asks for the passkey of who gave the right password; who did not, or long ago, begins again.
func (p *Pages) secondStep(c *fiber.Ctx, status int, next, kept string, refused error) error {
	if _, err := p.store.HalfSignedIn(c.UserContext(), p.auth.HalfSecret(c)); err != nil {
		if !models.IsCode(err, models.Unauthenticated) {
			return err
		}
		return p.login(c, http.StatusUnauthorized, signInForm{next: next, kept: p.speaker(c).keptWords(kept), keptForm: kept}, err)
	}
	token, err := p.auth.CSRFToken(c)
	if err != nil {
		return err
	}
	l := p.langOf(c)
	page := views.SignInStepPage{Page: views.Page{Title: l.T("One more step"), Assets: assets(), CSRF: token, SelfURL: secondStepPath, Flashes: p.said(c)},
		Form: views.Form{URL: secondStepPath, CSRF: token}, Next: next, KeptForm: kept,
		Code: ui.Field{Name: "code", Label: l.T("Recovery code"), Required: true, Autocomplete: "one-time-code", Hint: l.T("One of the ten you were shown when you added your first passkey. Each counts once.")}}
	if _, ok := p.siteOf(string(c.Context().Host())); ok {
		page.Passkey = &views.Passkey{AskURL: templ.SafeURL(secondStepPath + "/ask"), NoScript: noScriptToUse(l)}
	} else {
		page.Missing = noSite(p.langOf(c))
	}
	if r, ok := (words{lang: l}).refuse(refused, formCode, l.T("You are not signed in"), nil, nil); ok {
		page.Code, page.CodeOpen = r.field(page.Code), r.problems["code"] != ""
		page.Form.Heading, page.Form.Errors = r.heading, r.summary(page.Code)
	} else if ne, named := models.AsNamed(refused); named {
		page.Form.Heading, page.Form.Errors = l.T("You are not signed in"), []ui.FieldError{{Text: sentence(ne.Message)}}
	}
	return p.render(c, status, views.SignInStep(page))
}

// askSecondStep is POST /login/second/ask, for the script.
func (p *Pages) askSecondStep(c *fiber.Ctx) error {
	if err := p.auth.CheckCSRF(c); err != nil {
		return err
	}
	return p.toScript(c, func(site passkey.Site) ([]byte, error) {
		return p.passkeys.AskSignIn(c.UserContext(), site, p.auth.HalfSecret(c))
	})
}

// finishSignIn is POST /login/second with passkey, the browser's answer, or code, a recovery code.
func (p *Pages) finishSignIn(c *fiber.Ctx) error {
	typed := fieldsOf(c, "passkey", "code", "next", "kept")
	next := localPath(typed["next"])
	if _, err := p.auth.Session(c); err == nil {
		return seeOther(c, orHome(next)) // sent twice
	}
	err := p.auth.CheckCSRF(c)
	site, ok := p.siteOf(string(c.Context().Host()))
	switch {
	case err != nil:
	case typed["passkey"] != "" && ok:
		secret, id, signErr := p.passkeys.SignIn(c.UserContext(), site, p.auth.HalfSecret(c), typed["passkey"])
		err = p.auth.Opened(c, secret, id, signErr)
	case typed["code"] != "":
		err = p.auth.FinishByCode(c, typed["code"])
	default:
		err = models.Invalid(models.Issue{Path: "/passkey", Message: noScriptToUse(p.langOf(c))})
	}
	if err == nil {
		return p.goOnSignedIn(c, next, typed["kept"])
	}
	if _, named := models.AsNamed(err); !named {
		return err
	}
	return p.secondStep(c, statusOf(err), next, typed["kept"], err)
}
