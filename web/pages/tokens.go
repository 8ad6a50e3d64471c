package pages

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

const (
	tokensPath = "/settings/tokens"
	formToken  = "token"
	formTokens = "tokens"
)

func mountTokens(get, post route) {
	get(tokensPath, (*visit).showTokens)
	post(tokensPath, (*visit).makeToken)
	post(tokensPath+"/rotate", (*visit).rotateToken)
	post(tokensPath+"/revoke", (*visit).revokeToken)
}

// showTokens is GET /settings/tokens: the person's own, and for admins those of the workspace.
func (v *visit) showTokens() error { return v.tokens(http.StatusOK, refusal{}, nil, nil) }

// makeToken is POST /settings/tokens with user, name, scope, workspace and days. The page that answers shows
// the secret, this once.
func (v *visit) makeToken() error {
	typed := v.typed("user", "name", "workspace", "days")
	var scopes []models.Scope
	for _, f := range posted(v.c) {
		if f.name == "scope" && f.value != "" {
			scopes = append(scopes, models.Scope(f.value))
		}
	}
	days, _ := strconv.Atoi(typed["days"]) // what is no number is none of the choices
	if !slices.Contains(models.TokenDays(), days) {
		days = 0
	}
	n := models.NewToken{UserEmail: orSome(typed["user"], v.id.User.Email), Name: typed["name"], Scopes: scopes}
	if typed["workspace"] != "" {
		n.DefaultWorkspace = v.by.WorkspaceID
	}
	var secret string
	err := v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error {
		var err error
		secret, _, err = tx.IssueToken(n, time.Duration(days)*24*time.Hour)
		return err
	})
	if err == nil {
		return v.tokens(http.StatusCreated, refusal{}, nil, &views.MadeSecret{Heading: v.tr("The token is made"),
			Text: v.tr("Copy it now: it is shown this once, and the desk keeps only a hash of it."), Label: v.tr("Token"), Secret: secret})
	}
	r, ok := v.refuse(err, formToken, v.tr("No token was made"), typed, map[string]string{"expires": "days"})
	if !ok {
		return err
	}
	return v.tokens(formStatus(err), r, scopes, nil)
}

// rotateToken is POST /settings/tokens/rotate with token.
func (v *visit) rotateToken() error {
	id := v.typed("token")["token"]
	var secret string
	err := v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error {
		var err error
		secret, _, err = tx.RotateToken(id, models.TokenOverlap)
		return err
	})
	if err == nil {
		return v.tokens(http.StatusCreated, refusal{}, nil, &views.MadeSecret{Heading: v.tr("The token is rotated"),
			Text:  v.tr("Put this one in the place of the old one, which goes on for %s. It is shown this once.", v.lifetime(models.TokenOverlap)),
			Label: v.tr("Token"), Secret: secret})
	}
	return v.tokenRefused(err)
}

// revokeToken is POST /settings/tokens/revoke with token.
func (v *visit) revokeToken() error {
	id := v.typed("token")["token"]
	err := v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error { _, err := tx.RevokeToken(id); return err })
	if err == nil {
		v.p.say(v.c, "token_revoked")
		return seeOther(v.c, string(v.link(tokensPath)))
	}
	return v.tokenRefused(err)
}

func (v *visit) tokenRefused(err error) error {
	r, ok := v.refuse(err, formTokens, v.tr("Nothing was changed"), nil, nil)
	if !ok {
		return err
	}
	return v.tokens(formStatus(err), r, nil, nil)
}

func (v *visit) tokens(status int, refused refusal, scopes []models.Scope, made *views.MadeSecret) error {
	list, err := v.p.store.Tokens(v.ctx, v.by)
	if err != nil {
		return err
	}
	page, err := v.page(v.tr("Tokens"), v.link(tokensPath), "")
	if err != nil {
		return err
	}
	admin := v.by.Has(models.RoleAdmin)
	own := views.TokenGroup{ID: "own-tokens", Heading: v.tr("Your tokens"), Empty: v.tr("You have none. An agent or a script that acts as you needs one.")}
	theirs := views.TokenGroup{ID: "other-tokens", Heading: v.tr("Tokens of this workspace"), Whose: true, Empty: v.tr("No service account and no other member has one.")}
	for _, t := range list {
		if t.User.ID == v.by.UserID {
			own.Rows = append(own.Rows, v.tokenRow(t))
		} else {
			theirs.Rows = append(theirs.Rows, v.tokenRow(t))
		}
	}
	out := views.TokensPage{Page: page, Tabs: v.settingsTabs(tokensPath), Made: made, Groups: []views.TokenGroup{own},
		Lead: v.tr("What agents, systems and scripts call the desk with. No token votes, resolves a case or answers a question.")}
	if admin {
		out.Groups = append(out.Groups, theirs)
	}
	if refused.form == formTokens {
		for _, e := range refused.summary() {
			out.Page.Flashes = append(out.Page.Flashes, ui.Flash{Tone: ui.ToneWarn, Text: e.Text})
		}
	}
	if out.Add, err = v.tokenForm(refused.of(formToken), scopes, admin); err != nil {
		return err
	}
	return render(v.c, status, views.Tokens(out))
}

func (v *visit) tokenRow(t models.TokenView) views.TokenRow {
	row := views.TokenRow{ID: t.Token.ID, Name: ui.Foreign(t.Token.Name).Plain(), Begins: t.Token.Prefix, Whose: t.User.Name, Scopes: strings.ReplaceAll(t.Token.Scopes, ",", ", "),
		CreatedBy: v.tr("by %s", v.author(t.CreatedBy)), Created: v.at(t.Token.CreatedAt), Used: v.at(t.Token.LastUsedAt), Ends: v.tr("never"),
		State: ui.Badge{Text: v.tr("Good"), Tone: ui.ToneGood, Sign: ui.SignDone, TestID: "token-state"}}
	if !t.Token.ExpiresAt.IsZero() {
		row.Ends = v.exactly(t.Token.ExpiresAt).Text
	}
	switch {
	case !t.Token.RevokedAt.IsZero():
		row.State = ui.Badge{Text: v.tr("Revoked"), Tone: ui.ToneNeutral, Sign: ui.SignNo, TestID: "token-state"}
	case !t.Good:
		row.State = ui.Badge{Text: v.tr("Ended"), Tone: ui.ToneNeutral, Sign: ui.SignNo, TestID: "token-state"}
	case t.Token.ReplacedByID != nil:
		row.State = ui.Badge{Text: v.tr("Rotated, ends soon"), Tone: ui.ToneWarn, Sign: ui.SignPaused, TestID: "token-state"}
	case !t.Token.ExpiresAt.IsZero() && t.Token.ExpiresAt.Sub(v.now) < models.TokenWarning:
		row.State = ui.Badge{Text: v.tr("Ends soon"), Tone: ui.ToneWarn, Sign: ui.SignAlert, TestID: "token-state"}
	}
	press := func(path, label, about, testID string, variant ui.ButtonVariant) *ui.PostForm {
		return &ui.PostForm{URL: v.link(tokensPath + path), CSRF: v.csrf, Hidden: []ui.Hidden{{Name: "token", Value: t.Token.ID}},
			Button: ui.Button{Label: label, About: about, Variant: variant, TestID: testID}}
	}
	about := v.tr("the token %s of %s", row.Name, row.Whose)
	if t.MayRotate {
		row.Rotate = press("/rotate", v.tr("Rotate"), about, "rotate-token", ui.ButtonPlain)
	}
	if t.MayRevoke {
		row.Revoke = press("/revoke", v.tr("Revoke"), about, "revoke-token", ui.ButtonQuiet)
	}
	return row
}

// scopeMeans says what a token with the scope may do. A writing scope reads too.
var scopeMeans = map[models.Scope]string{
	models.ScopeCasesRead:          lang.Mark("read cases"),
	models.ScopeCasesWrite:         lang.Mark("hand over cases and withdraw them"),
	models.ScopeApprovalsRead:      lang.Mark("read approval requests"),
	models.ScopeApprovalsWrite:     lang.Mark("ask for approvals and withdraw requests"),
	models.ScopeConfirmationsRead:  lang.Mark("read questions of other servers"),
	models.ScopeConfirmationsWrite: lang.Mark("bring questions of other servers and take the answers"),
	models.ScopeHoldsRead:          lang.Mark("read holds"),
	models.ScopeHoldsWrite:         lang.Mark("hold invoices and report re-checks"),
	models.ScopeMoney:              lang.Mark("redeem approvals and report writes, together with approvals:write"),
	models.ScopeAll:                lang.Mark("everything, money too"),
}

func (v *visit) tokenForm(refused refusal, scopes []models.Scope, admin bool) (*views.TokenForm, error) {
	f := &views.TokenForm{Form: v.form(v.link(tokensPath)), After: v.tr("Calls with it are made in the name of its user, and everything they change stands on the trail with the token.")}
	if admin {
		whose := ui.Field{Name: "user", Label: v.trc("whose token", "For"), Kind: ui.FieldSelect, Options: []ui.Option{{Value: v.id.User.Email, Label: v.tr("yourself")}}}
		people, err := v.p.store.People(v.ctx, v.by)
		if err != nil {
			return nil, err
		}
		for _, p := range people {
			if p.User.Kind == models.KindService && p.Active() {
				whose.Options = append(whose.Options, ui.Option{Value: p.User.Email, Label: p.User.Name})
			}
		}
		f.Fields = append(f.Fields, refused.field(whose))
	}
	days := ui.Field{Name: "days", Label: v.tr("Good for"), Kind: ui.FieldSelect, Required: true, Hint: v.tr("One without an end is made by the operator alone.")}
	for _, n := range models.TokenDays() {
		days.Options = append(days.Options, ui.Option{Value: strconv.Itoa(n), Label: v.trn("%d day", "%d days", n), Selected: n == 90})
	}
	may := ui.Field{Name: "scope", Label: v.tr("What it may do"), Kind: ui.FieldChecks, Required: true, Error: refused.problems["scope"], TestID: "scopes"}
	for _, s := range models.Scopes() {
		may.Options = append(may.Options, ui.Option{Value: string(s), Label: v.tr(scopeMeans[s]), Note: string(s), Selected: slices.Contains(scopes, s)})
	}
	f.Fields = append(f.Fields,
		refused.field(ui.Field{Name: "name", Label: v.tr("What it is for"), Required: true, Autocomplete: "off"}), may, refused.field(days),
		ui.Field{Name: "workspace", Label: v.tr("Calls that name no workspace are about this one"), Kind: ui.FieldCheckbox, Value: "yes", Checked: refused.typed == nil || refused.typed["workspace"] != ""})
	f.Heading, f.Errors = refused.heading, refused.summary(f.Fields...)
	return f, nil
}
