package pages

import (
	"net/http"
	"slices"
	"strings"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// The forms of the settings page.
const (
	formPeriod  = "period"
	formHoliday = "holiday"
	formBinding = "binding"
)

// workspaceEditors may change holidays and bindings; the period is the finance lead's.
var workspaceEditors = []models.Role{models.RoleAdmin, models.RoleAPLead}

// showSettings is GET /settings.
func (v *visit) showSettings() error { return v.settings(http.StatusOK, refusal{}) }

// refusal is a form that was refused: which one, what was typed, and what is wrong with it.
type refusal struct {
	form     string
	heading  string
	typed    map[string]string
	problems map[string]string // by field name; "" is about the form as a whole
}

func (r refusal) of(form string) refusal {
	if r.form == form {
		return r
	}
	return refusal{form: form}
}

// field gives a field back as it was typed, with what is wrong with it.
func (r refusal) field(f ui.Field) ui.Field {
	if typed, ok := r.typed[f.Name]; ok {
		f.Value = typed
		for i := range f.Options {
			f.Options[i].Selected = f.Options[i].Value == typed
		}
	}
	f.Error = r.problems[f.Name]
	return f
}

// summary lists what is wrong above the form; problems of fields it does not have come last.
func (r refusal) summary(fields ...ui.Field) []ui.FieldError {
	out := ui.ErrorsOf(fields...)
	known := map[string]bool{}
	for _, f := range fields {
		known[f.Name] = true
	}
	var rest []string
	for name, problem := range r.problems {
		if !known[name] && problem != "" {
			rest = append(rest, sentence(problem))
		}
	}
	slices.Sort(rest)
	for _, text := range rest {
		out = append(out, ui.FieldError{Text: text})
	}
	return out
}

// issueField is the name of the field that a service's pointer is about: "/input/amount" is input.amount.
func issueField(pointer string) string {
	return strings.ReplaceAll(strings.TrimPrefix(pointer, "/"), "/", ".")
}

// refuse turns the refusal of a service into that of a form. ok is false for errors that are not about
// what was typed. names translates the service's pointers, "/period_closed_through", into field names;
// without a translation the pointer's own name counts.
func (w words) refuse(err error, form, heading string, typed, names map[string]string) (r refusal, ok bool) {
	ne, named := models.AsNamed(err)
	if !named || (ne.Code != models.ValidationError && ne.Code != models.Unprocessable && ne.Code != models.Conflict) {
		return refusal{}, false
	}
	r = refusal{form: form, heading: heading, typed: typed, problems: map[string]string{}}
	issues := issuesOf(ne)
	for _, is := range issues {
		name := issueField(is.Path)
		if to, ok := names[name]; ok {
			name = to
		}
		if r.problems[name] != "" {
			r.problems[name] += "; "
		}
		r.problems[name] += ui.Foreign(w.said(is.Message)).Plain()
	}
	if len(issues) == 0 {
		r.problems[""] = w.said(ne.Message)
	}
	return r, true
}

// movePeriod is POST /settings/period.
func (v *visit) movePeriod() error {
	typed := v.typed("period_closed_through")
	through, err := optionalDate(typed["period_closed_through"], "/period_closed_through")
	if _, sent := typed["period_closed_through"]; !sent {
		// An empty field opens every period; one that is not there says nothing.
		err = models.Invalid(models.Issue{Path: "/period_closed_through", Message: "is missing; send it empty to open every period"})
	}
	if err == nil {
		err = v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error { return tx.MovePeriod(through, models.Date{}) })
	}
	return v.changed(err, formPeriod, v.tr("The closed period was not moved"), typed, "period_moved")
}

// addHoliday is POST /settings/holidays.
func (v *visit) addHoliday() error {
	typed := v.typed("day")
	day, err := models.ParseDate(typed["day"])
	if err != nil {
		err = models.Invalid(models.Issue{Path: "/day", Message: err.Error()})
	} else {
		err = v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error { return tx.AddHolidays(day) })
	}
	return v.changed(err, formHoliday, v.tr("The holiday was not added"), typed, "holiday_added")
}

// removeHoliday is POST /settings/holidays/remove.
func (v *visit) removeHoliday() error {
	typed := v.typed("day")
	day, err := models.ParseDate(typed["day"])
	if err != nil {
		err = models.Invalid(models.Issue{Path: "/day", Message: err.Error()})
	} else {
		err = v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error { return tx.RemoveHoliday(day) })
	}
	return v.changed(err, formHoliday, v.tr("The holiday was not removed"), typed, "holiday_removed")
}

// setBinding is POST /settings/bindings.
func (v *visit) setBinding() error {
	typed := v.typed("tool", "invoice_id", "amount", "currency", "posting_date", "supplier_id")
	b := models.Binding{InvoiceID: typed["invoice_id"], Amount: typed["amount"], Currency: typed["currency"],
		PostingDate: typed["posting_date"], SupplierID: typed["supplier_id"]}
	var issues []models.Issue
	if typed["tool"] == "" {
		issues = append(issues, models.Issue{Path: "/tool", Message: "must name a tool"})
	}
	for _, name := range []string{"invoice_id", "amount", "currency", "posting_date", "supplier_id"} {
		if p := typed[name]; p != "" && !validPointer(p) {
			issues = append(issues, models.Issue{Path: "/" + name, Message: "must be a JSON Pointer such as /invoice_id, or empty"})
		}
	}
	var err error
	if len(issues) > 0 {
		err = models.Invalid(issues...)
	} else {
		err = v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error { return tx.SetBinding(typed["tool"], b) })
	}
	return v.changed(err, formBinding, v.tr("The pointers were not saved"), typed, "binding_set")
}

// removeBinding is POST /settings/bindings/remove.
func (v *visit) removeBinding() error {
	tool := v.typed("tool")["tool"]
	err := v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error { return tx.RemoveBinding(tool) })
	return v.changed(err, formBinding, v.tr("The pointers were not removed"), nil, "binding_removed")
}

// setERPLink is POST /settings/erp.
func (v *visit) setERPLink() error {
	typed := v.typed("erp_link")
	err := v.p.store.InTx(v.ctx, v.by, func(tx *models.Tx) error { return tx.SetERPLink(typed["erp_link"]) })
	return v.changed(err, formERP, v.tr("The link was not saved"), typed, "erp_set")
}

// exampleInvoice is an invoice as it could be, for the example of a link.
var exampleInvoice = [...]string{"5105600123", "4500018822", "100234"}

func (v *visit) erpSetting(refused refusal) views.ERPSetting {
	s := views.ERPSetting{Link: ui.Foreign(v.ws.ERPLink), Example: v.erpLink(exampleInvoice[0], exampleInvoice[1], exampleInvoice[2])}
	if !v.by.Has(models.RoleAdmin) {
		return s
	}
	s.Field = refused.field(ui.Field{Name: "erp_link", Label: v.tr("Address"), Kind: ui.FieldText, Value: v.ws.ERPLink, Autocomplete: "off",
		Placeholder: "https://erp.example.com/invoice/{invoice_id}", Hint: v.tr("Https only. Places: {invoice_id}, {po_id}, {supplier_id}, {workspace_id}. Empty: no link.")})
	form := v.form(v.link("/settings/erp"))
	form.Heading, form.Errors = refused.heading, refused.summary(s.Field)
	s.Form = &form
	return s
}

// validPointer says whether s is a JSON Pointer to a member: "/" first, "~" only as ~0 or ~1.
func validPointer(s string) bool {
	if !strings.HasPrefix(s, "/") || len(s) > 200 {
		return false
	}
	return !strings.Contains(strings.NewReplacer("~0", "", "~1", "").Replace(s), "~")
}

// changed answers a form of the settings: back to the page, or the page with what is wrong.
func (v *visit) changed(err error, form, heading string, typed map[string]string, message string) error {
	if err == nil {
		v.p.say(v.c, message)
		return seeOther(v.c, string(v.link("/settings")))
	}
	r, ok := v.refuse(err, form, heading, typed, nil)
	if !ok {
		return err
	}
	return v.settings(formStatus(err), r)
}

func (v *visit) settings(status int, refused refusal) error {
	var days []models.Date
	var bindings map[string]models.Binding
	err := v.p.store.View(v.ctx, v.by, func(tx *models.Tx) error {
		var err error
		if v.ws, err = tx.Workspace(); err != nil {
			return err
		}
		if days, err = tx.Holidays(); err != nil {
			return err
		}
		bindings, err = tx.Bindings()
		return err
	})
	if err != nil {
		return err
	}
	page, err := v.page(v.tr("Settings"), v.link("/settings"), "")
	if err != nil {
		return err
	}
	out := views.SettingsPage{Page: page, Lead: v.tr("%s, company code %s.", v.ws.Name, v.ws.ID), Tabs: v.settingsTabs("/settings"),
		Facts: []ui.Entry{ui.Pair(v.tr("Name"), v.ws.Name), ui.Pair(v.tr("Company code"), v.ws.ID), ui.Pair(v.tr("Time zone"), v.ws.TimeZone), ui.Pair(v.tr("Currency"), v.ws.Currency),
			ui.Pair(v.tr("Business hours"), v.tr("Monday to Friday, %s, less the holidays below", v.opening(v.ws.Opening())))},
		Period:   v.periodSetting(refused.of(formPeriod)),
		Holidays: v.holidaySetting(days, refused.of(formHoliday)),
		Bindings: v.bindingSetting(bindings, refused.of(formBinding)), ERP: v.erpSetting(refused.of(formERP))}
	if out.Period.Form == nil && out.Holidays.Form == nil && out.Bindings.Form == nil {
		out.WhyNot = v.tr("You can read the settings, not change them. The posting period is moved by a finance lead, holidays by an AP lead or an admin, pointers by an admin.")
	}
	return render(v.c, status, views.Settings(out))
}

// settingsTabs are the pages of the settings, less those that the person may not open: who holds nothing but
// the role of an agent or an ERP reads what is theirs alone.
func (v *visit) settingsTabs(current string) []ui.Tab {
	all := []ui.Tab{
		{Label: v.tr("Workspace"), URL: v.link("/settings"), Current: current == "/settings", TestID: "tab-workspace"},
		{Label: v.tr("Hours"), URL: v.link(hoursPath), Current: current == hoursPath, TestID: "tab-hours"},
		{Label: v.tr("Approval rules"), URL: v.link("/settings/rules"), Current: current == "/settings/rules", TestID: "tab-rules"},
		{Label: v.tr("People"), URL: v.link("/settings/people"), Current: current == "/settings/people", TestID: "tab-people"},
		{Label: v.tr("Away"), URL: v.link(delegationsPath), Current: current == delegationsPath, TestID: "tab-away"},
		{Label: v.tr("Servers"), URL: v.link("/settings/servers"), Current: current == "/settings/servers", TestID: "tab-servers"},
		{Label: v.tr("Tokens"), URL: v.link(tokensPath), Current: current == tokensPath, TestID: "tab-tokens"},
		{Label: v.tr("Security"), URL: v.link("/settings/security"), Current: current == "/settings/security", TestID: "tab-security"},
		{Label: v.tr("You"), URL: v.link(mePath), Current: current == mePath, TestID: "tab-me"},
	}
	if v.by.MaySearch() {
		return all
	}
	return slices.DeleteFunc(all, func(t ui.Tab) bool {
		return slices.Contains([]string{"tab-rules", "tab-people", "tab-away", "tab-servers", "tab-security"}, t.TestID)
	})
}

func (v *visit) periodSetting(refused refusal) views.PeriodSetting {
	s := views.PeriodSetting{Through: v.date(v.ws.PeriodClosedThrough)}
	if !v.ws.PeriodReopenedUntil.IsZero() {
		s.By = v.tr("Reopened until %s.", v.date(v.ws.PeriodReopenedUntil))
	}
	if !v.by.Has(models.RoleFinanceLead) {
		return s
	}
	s.Field = refused.field(ui.Field{Name: "period_closed_through", Label: v.tr("Closed through"), Kind: ui.FieldDate, Value: v.ws.PeriodClosedThrough.String(),
		Hint: v.tr("The last day on which nothing more may be posted. Empty: no day is closed.")})
	form := v.form(v.link("/settings/period"))
	form.Heading, form.Errors = refused.heading, refused.summary(s.Field)
	s.Form = &form
	return s
}

func (v *visit) holidaySetting(days []models.Date, refused refusal) views.HolidaySetting {
	s := views.HolidaySetting{}
	edits := v.by.Has(workspaceEditors...)
	for _, d := range days {
		h := views.Holiday{Day: v.weekday(d)}
		if edits {
			h.Remove = &ui.PostForm{URL: v.link("/settings/holidays/remove"), CSRF: v.csrf, Hidden: []ui.Hidden{{Name: "day", Value: d.String()}},
				Button: ui.Button{Label: v.tr("Remove"), Variant: ui.ButtonQuiet}}
		}
		s.Days = append(s.Days, h)
	}
	if !edits {
		return s
	}
	s.Field = refused.field(ui.Field{Name: "day", Label: v.tr("Day"), Kind: ui.FieldDate, Required: true})
	form := v.form(v.link("/settings/holidays"))
	form.Heading, form.Errors = refused.heading, refused.summary(s.Field)
	s.Form = &form
	return s
}

func (v *visit) bindingSetting(bindings map[string]models.Binding, refused refusal) views.BindingSetting {
	s := views.BindingSetting{}
	tools := make([]string, 0, len(bindings))
	for tool := range bindings {
		tools = append(tools, tool)
	}
	slices.Sort(tools)
	defaults := models.DefaultBindings()
	for _, tool := range tools {
		b := bindings[tool]
		builtIn, known := defaults[tool]
		row := views.Binding{Tool: ui.Foreign(tool), Invoice: ui.Foreign(b.InvoiceID), Amount: ui.Foreign(b.Amount), Currency: ui.Foreign(b.Currency),
			PostingDate: ui.Foreign(b.PostingDate), SupplierID: ui.Foreign(b.SupplierID), Default: known && b == builtIn}
		if !row.Default && v.by.Has(models.RoleAdmin) {
			label := v.tr("Remove")
			if known {
				label = v.tr("Back to what is built in")
			}
			row.Remove = &ui.PostForm{URL: v.link("/settings/bindings/remove"), CSRF: v.csrf, Hidden: []ui.Hidden{{Name: "tool", Value: tool}},
				Button: ui.Button{Label: label, About: ui.Foreign(tool).Plain(), Variant: ui.ButtonQuiet, TestID: "remove-binding"}}
		}
		s.Rows = append(s.Rows, row)
	}
	if !v.by.Has(models.RoleAdmin) {
		return s
	}
	for _, f := range []ui.Field{
		{ID: "b-tool", Name: "tool", Label: v.tr("Tool"), Required: true},
		{ID: "b-invoice", Name: "invoice_id", Label: v.tr("Invoice"), Placeholder: "/invoice_id"},
		{ID: "b-amount", Name: "amount", Label: v.tr("Amount"), Placeholder: "/amount"},
		{ID: "b-currency", Name: "currency", Label: v.tr("Currency"), Placeholder: "/currency"},
		{ID: "b-posting", Name: "posting_date", Label: v.tr("Posting date"), Placeholder: "/posting_date"},
		{ID: "b-supplier", Name: "supplier_id", Label: v.tr("Supplier"), Placeholder: "/supplier_id"},
	} {
		s.Fields = append(s.Fields, refused.field(f))
	}
	form := v.form(v.link("/settings/bindings"))
	form.Heading, form.Errors = refused.heading, refused.summary(s.Fields...)
	s.Form = &form
	return s
}

// optionalDate reads a date that may be left empty.
func optionalDate(text, path string) (models.Date, error) {
	if text == "" {
		return models.Date{}, nil
	}
	d, err := models.ParseDate(text)
	if err != nil {
		return models.Date{}, models.Invalid(models.Issue{Path: path, Message: err.Error()})
	}
	return d, nil
}
