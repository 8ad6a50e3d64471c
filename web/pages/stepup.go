package pages

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
	"github.com/apdesk/apdesk/web/auth/passkey"
)

const (
	formStepUp     = "step_up"
	confirmAskPath = "/settings/me/confirm/ask"
)

func noScriptToUse(l *lang.Lang) string {
	return l.T("Using a passkey needs JavaScript: the browser asks for the key by it. Switch it on for this site and load the page again.")
}

func noScriptToAdd(l *lang.Lang) string {
	return l.T("Adding a passkey needs JavaScript: the browser makes the key by it. Switch it on for this site and load the page again.")
}

// factor is by what somebody showed that it is them.
func (w words) factor(f models.Factor) string {
	switch f {
	case models.FactorPassword:
		return w.tr("by password")
	case models.FactorPasskey:
		return w.tr("by passkey")
	case models.FactorRecoveryCode:
		return w.tr("by recovery code")
	case models.FactorProvider:
		return w.tr("through the identity provider")
	}
	return ""
}

// site is where passkeys are good; ok is false where browsers do none.
func (v *visit) site() (passkey.Site, bool) { return v.p.siteOf(string(v.c.Context().Host())) }

func (p *Pages) siteOf(host string) (passkey.Site, bool) {
	return passkey.SiteOf(p.publicURL, strings.Clone(host))
}

// noSite says why passkeys cannot be used at this address, and where they can.
func noSite(l *lang.Lang) string {
	return l.T("Browsers use passkeys only at an address with a name and https, or at localhost. Open the desk there; whoever operates it gives the address with --public-url.")
}

// stepUp asks, within a form, that it is the person; nil when the amount asks for nothing (no amount), or
// when they confirmed lately. button is the value of the button that needs it, empty for every one.
func (v *visit) stepUp(above models.Money, button string, refused refusal) (*views.StepUp, error) {
	if above.IsZero() || v.by.SteppedUp(models.At(v.now)) {
		return nil, nil
	}
	text := v.tr("Above %s this workspace asks you again that it is you. It then counts for %d minutes.", v.money(above.Text(), above.Currency()), int(models.StepUpFor.Minutes()))
	return v.confirmFields(text, button, refused)
}

// confirmFields are what confirms that it is the person: their passkey, else their password.
func (v *visit) confirmFields(text, button string, refused refusal) (*views.StepUp, error) {
	s := &views.StepUp{Text: text}
	hasKey, err := v.p.store.HasPasskey(v.ctx, v.id.User.ID)
	if err != nil {
		return nil, err
	}
	why := ""
	for _, name := range []string{"passkey", "step_up", "password"} {
		if p := refused.problems[name]; p != "" {
			why = sentence(p)
		}
	}
	switch {
	case hasKey:
		s.Text += " " + v.tr("Your browser asks for your passkey when you press the button.")
		s.Passkey, s.Error = &views.Passkey{AskURL: templ.SafeURL(confirmAskPath), For: button, NoScript: noScriptToUse(v.lang)}, why
		if _, ok := v.site(); !ok {
			s.Passkey, s.Missing, s.SetUpURL = nil, noSite(v.lang), v.link(passkeysPath)
		}
	case v.id.User.PasswordHash != "" && !v.id.User.PasswordOff:
		s.Email = v.id.User.Email
		s.Password = &ui.Field{ID: "step-up-password", Name: "password", Label: v.tr("Your password, to confirm that it is you"), Kind: ui.FieldPassword, RequiredLater: true,
			Autocomplete: "current-password", Error: why, TestID: "step-up-password"}
	default:
		s.Missing, s.SetUpURL, s.Error = v.tr("You have neither a passkey nor a password here. Add a passkey first."), v.link(passkeysPath), why
	}
	return s, nil
}

// stepUpFields are the fields of a form with those of its step-up, for the list of what is wrong.
func (v *visit) stepUpFields(s *views.StepUp, fields ...ui.Field) []ui.Field {
	if s != nil && s.Password != nil {
		fields = append(fields, *s.Password)
	}
	return fields
}

// confirmWithForm takes the confirmation that came with a form, if one did: from then on the person has
// confirmed that it is them. It fails with VALIDATION_ERROR on /password, /passkey or /step_up.
func (v *visit) confirmWithForm() error {
	sent := fieldsOf(v.c, "password", "passkey")
	var id models.Identity
	var err error
	switch {
	case sent["passkey"] != "":
		site, ok := v.site()
		if !ok {
			return models.Invalid(models.Issue{Path: "/passkey", Message: noSite(v.lang)})
		}
		id, err = v.p.passkeys.Confirm(v.ctx, site, v.id, sent["passkey"])
	case sent["password"] != "":
		id, err = v.p.store.ConfirmByPassword(v.ctx, v.id, sent["password"])
	default:
		return nil
	}
	if ne, named := models.AsNamed(err); named && (ne.Code == models.Unprocessable || ne.Code == models.RateLimited) {
		return models.Invalid(models.Issue{Path: "/step_up", Message: ne.Message})
	}
	if err != nil {
		return err
	}
	v.id, v.by.SteppedUpAt, v.by.SteppedUpHow = id, id.Session.SteppedUpAt, id.Session.SteppedUpHow
	v.p.auth.Changed(v.c, id)
	return nil
}

// askAgain is when the workspace asks people again that it is them.
func (v *visit) askAgain(refused refusal, edits bool) (*views.AskAgain, error) {
	var amounts []models.Money
	err := v.p.store.View(v.ctx, v.by, func(tx *models.Tx) error {
		var err error
		if v.ws, err = tx.Workspace(); err != nil {
			return err
		}
		amounts, err = tx.StepUpAmounts()
		return err
	})
	if err != nil {
		return nil, err
	}
	out := &views.AskAgain{None: v.tr("No amount is set, so nobody is asked again."), Required: v.tr("A passkey is not required: whoever has one is asked for it when they sign in.")}
	if v.ws.SecondFactor {
		out.Required = v.tr("People whose roles decide need a passkey, and are led to add one after they sign in. Whoever signs in through the identity provider need not.")
	}
	for _, m := range amounts {
		row := views.AskAgainRow{Amount: v.money(m.Text(), m.Currency())}
		if edits {
			row.Remove = &ui.PostForm{URL: v.link("/settings/security/step-up"), CSRF: v.csrf, Hidden: []ui.Hidden{{Name: "currency", Value: m.Currency()}, {Name: "above", Value: ""}},
				Button: ui.Button{Label: v.tr("Remove"), About: v.tr("the amount in %s", m.Currency()), Variant: ui.ButtonQuiet}}
		}
		out.Amounts = append(out.Amounts, row)
	}
	if !edits {
		return out, nil
	}
	out.Add = &views.AskAgainForm{Form: v.form(v.link("/settings/security/step-up")), Fields: []ui.Field{
		refused.field(ui.Field{ID: "step-up-above", Name: "above", Label: v.tr("Above"), Kind: ui.FieldAmount, Required: true, Hint: v.tr("The amount itself is not asked about. Credit notes count by their absolute amount.")}),
		refused.field(ui.Field{ID: "step-up-currency", Name: "currency", Label: v.tr("Currency"), Required: true, Value: v.ws.Currency, Hint: v.tr("A currency without an amount is never asked about.")})}}
	out.Add.Heading, out.Add.Errors = refused.heading, refused.summary(out.Add.Fields...)
	out.Switch = &ui.PostForm{URL: v.link("/settings/security/second-factor"), CSRF: v.csrf, Hidden: []ui.Hidden{{Name: "required", Value: "yes"}},
		Button: ui.Button{Label: v.tr("Require a passkey"), Variant: ui.ButtonPlain, TestID: "require-passkey"}}
	if v.ws.SecondFactor {
		out.Switch.Hidden[0].Value, out.Switch.Button.Label = "no", v.tr("Require it no more")
	}
	return out, nil
}

// setStepUp is POST /settings/security/step-up with currency and above, which is empty to ask no more.
func (v *visit) setStepUp() error {
	typed := v.typed("currency", "above")
	err := v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error { return tx.SetStepUp(typed["currency"], v.lang.ReadFigures(typed["above"])) })
	return v.securityChanged(err, typed, "step_up_set")
}

// setSecondFactor is POST /settings/security/second-factor with required, which is yes or no.
func (v *visit) setSecondFactor() error {
	typed := v.typed("required")
	if typed["required"] != "yes" && typed["required"] != "no" {
		return v.securityChanged(models.Invalid(models.Issue{Path: "/required", Message: "must be yes or no"}), typed, "")
	}
	err := v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error { return tx.SetSecondFactor(typed["required"] == "yes") })
	return v.securityChanged(err, typed, "factor_set")
}

func (v *visit) securityChanged(err error, typed map[string]string, message string) error {
	if err == nil {
		v.p.say(v.c, message)
		return seeOther(v.c, string(v.link("/settings/security")))
	}
	r, ok := v.refuse(err, formStepUp, v.tr("Nothing was changed"), typed, nil)
	if !ok {
		return err
	}
	return v.security(formStatus(err), r)
}

// needSecondFactor refuses a workspace that requires a passkey to somebody whose roles there decide and who
// has none; their passkeys, and leaving, stay open to them.
func (v *visit) needSecondFactor(ws models.Workspace, by models.Principal) error {
	path := v.c.Path()
	if !ws.NeedsSecondFactor(v.id, by) || path == "/logout" || path == "/workspace" || path == passkeysPath || strings.HasPrefix(path, passkeysPath+"/") || strings.HasPrefix(path, "/settings/me/confirm") {
		return nil
	}
	has, err := v.p.store.HasPasskey(v.ctx, v.id.User.ID)
	if err != nil || has {
		return err
	}
	return models.E(models.InsufficientPermission, fmt.Sprintf("Workspace %s requires a passkey of people whose roles decide. Add one under %s.", ws.Name, passkeysPath),
		map[string]any{"permission": "second_factor", "workspace_id": ws.ID})
}

// orSetUp leads somebody who needs a passkey first to where they add one.
func (v *visit) orSetUp(err error) error {
	if !isSecondFactorMissing(err) || v.c.Path() == "/live" {
		return err
	}
	if m := v.c.Method(); m == http.MethodGet || m == http.MethodHead {
		return seeOther(v.c, passkeysPath)
	}
	return err
}

func isSecondFactorMissing(err error) bool {
	ne, named := models.AsNamed(err)
	return named && ne.Details["permission"] == "second_factor"
}
