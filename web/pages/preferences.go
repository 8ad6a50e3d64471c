package pages

import (
	"net/http"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

const formPreferences = "preferences"

// showPreferences is GET /settings/me: how the person likes to work.
func (v *visit) showPreferences() error { return v.preferences(http.StatusOK, refusal{}) }

// setPreferences is POST /settings/me with after_decision, shortcuts (yes, or not there) and theme.
func (v *visit) setPreferences() error {
	typed := v.typed("after_decision", "shortcuts", "theme", "language")
	theme := typed["theme"]
	if theme == "system" {
		theme = models.ThemeSystem
	}
	language := typed["language"]
	if language == "browser" {
		language = ""
	}
	err := v.p.store.SetPreferences(v.ctx, v.by, func(p *models.Preference) {
		p.AfterDecision, p.Shortcuts, p.Theme = models.AfterDecision(typed["after_decision"]), typed["shortcuts"] != "", theme
		p.Language = language
	})
	if err == nil {
		v.p.say(v.c, "preferences_set")
		return seeOther(v.c, string(v.link(mePath)))
	}
	r, ok := v.refuse(err, formPreferences, v.tr("Nothing was changed"), typed, nil)
	if !ok {
		return err
	}
	return v.preferences(formStatus(err), r)
}

// afterWords are the choices where to go once something is decided.
func (w words) afterWords(chosen models.AfterDecision) []ui.Option {
	return []ui.Option{
		{Value: string(models.AfterStay), Label: w.tr("stay here"), Selected: chosen == models.AfterStay},
		{Value: string(models.AfterList), Label: w.tr("go to the list"), Selected: chosen == models.AfterList},
		{Value: string(models.AfterNext), Label: w.tr("open the next one"), Selected: chosen == models.AfterNext},
	}
}

func (v *visit) preferences(status int, refused refusal) error {
	likes, err := v.likes()
	if err != nil {
		return err
	}
	page, err := v.page(v.tr("How you work"), v.link(mePath), "")
	if err != nil {
		return err
	}
	zone := v.meantZone()
	theme := orSome(likes.Theme, "system")
	languages := []ui.Option{{Value: "browser", Label: v.tr("as your browser asks"), Selected: likes.Language == ""}}
	for _, l := range lang.All() {
		languages = append(languages, ui.Option{Value: l.Tag(), Label: l.Name(), Selected: likes.Language == l.Tag()})
	}
	out := views.PreferencesPage{Page: page, Tabs: v.settingsTabs(mePath), Lead: v.tr("This is about you alone, in every workspace."), Form: v.form(v.link(mePath)),
		Facts: []ui.Entry{ui.Pair(v.tr("Name"), v.id.User.Name), ui.Pair(v.tr("E-mail"), v.id.User.Email), ui.Pair(v.tr("Your time zone"), v.tr("%s, where it is %s now", zone.String(), v.now.In(zone).Format("15:04"))),
			ui.Pair(v.tr("Times on pages"), v.tr("in the time zone of the workspace, %s", v.zone.String()))},
		Fields: []ui.Field{
			refused.field(ui.Field{Name: "after_decision", Label: v.tr("After a decision"), Kind: ui.FieldRadios, Required: true, Options: v.afterWords(likes.AfterDecision),
				Hint: v.tr("Beside every button that decides you can choose otherwise, and that is remembered too.")}),
			refused.field(ui.Field{Name: "theme", Label: v.tr("Colours"), Kind: ui.FieldRadios, Required: true, Options: []ui.Option{
				{Value: "system", Label: v.tr("as your system has them"), Selected: theme == "system"},
				{Value: models.ThemeLight, Label: v.tr("light"), Selected: theme == models.ThemeLight},
				{Value: models.ThemeDark, Label: v.tr("dark"), Selected: theme == models.ThemeDark}}}),
			refused.field(ui.Field{Name: "language", Label: v.tr("Language"), Kind: ui.FieldRadios, Required: true, Options: languages,
				Hint: v.tr("What people and agents wrote stays as they wrote it.")}),
			{Name: "shortcuts", Label: v.tr("Single keys do something"), Kind: ui.FieldCheckbox, Value: "yes", Checked: likes.Shortcuts, TestID: "shortcuts-on",
				Hint: v.tr("Switch them off when you speak to your computer or a key is pressed by accident.")},
		}, KeysURL: v.link(shortcutsPath), AccountURL: v.link(accountPath)}
	if err := v.passkeysBeside(&out); err != nil {
		return err
	}
	if refused.typed != nil {
		out.Fields[3].Checked = refused.typed["shortcuts"] != ""
	}
	out.Form.Heading, out.Form.Errors = refused.heading, refused.summary(out.Fields...)
	return render(v.c, status, views.Preferences(out))
}

// timeOfDay is when something was, as short as it can be said.
func (v *visit) timeOfDay(t models.Time) string {
	at, now := t.In(v.zone), v.now.In(v.zone)
	if at.Format(time.DateOnly) == now.Format(time.DateOnly) {
		return v.tr("at %s", at.Format("15:04"))
	}
	return v.tr("on %s at %s", v.lang.Format(at, lang.DayMonth), at.Format("15:04"))
}
