package pages

import (
	"cmp"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

const formRule = "rule"

// ruleEditors may change the matrix on the pages.
var ruleEditors = []models.Role{models.RoleAPLead, models.RoleAdmin}

// showRules is GET /settings/rules: the approval matrix.
func (v *visit) showRules() error { return v.rules(http.StatusOK, refusal{}) }

// ruleFields are the fields of the form that adds or changes a rule.
var ruleFields = []string{"tool", "document_type", "supplier", "cost_centre", "currency", "from", "to", "role", "person", "then_role", "then_person", "required", "valid", "version"}

// inSequence is what the field "required" posts for two people, one after the other.
const inSequence = "then"

// newRule reads the form. Fields of a second step count only where the rule asks one after the other.
func (w words) newRule(typed map[string]string) (approvals.NewRule, []models.Issue) {
	n := approvals.NewRule{Tool: typed["tool"], DocumentType: typed["document_type"], Supplier: typed["supplier"], CostCentre: typed["cost_centre"],
		Currency: strings.ToUpper(typed["currency"]), From: w.lang.ReadFigures(typed["from"]), To: w.lang.ReadFigures(typed["to"]), Role: models.Role(typed["role"]), People: approvals.SplitPeople(typed["person"])}
	var issues []models.Issue
	var err error
	switch required := typed["required"]; required {
	case "":
	case inSequence:
		n.Required, n.ThenRole, n.ThenPeople = 2, models.Role(typed["then_role"]), approvals.SplitPeople(typed["then_person"])
		if n.ThenRole == "" && len(n.ThenPeople) == 0 {
			issues = append(issues, models.Issue{Path: "/then_role", Message: "is required when one decides after the other, or name people"})
		}
	default:
		if n.Required, err = strconv.Atoi(required); err != nil || n.Required < 1 {
			issues = append(issues, models.Issue{Path: "/required", Message: "must be 1 or 2 people"})
		}
		if typed["then_role"] != "" || typed["then_person"] != "" {
			issues = append(issues, models.Issue{Path: "/required", Message: "must be two people, one after the other, when somebody comes second"})
		}
	}
	if typed["valid"] != "" {
		if n.Valid, err = approvals.ParseValid(typed["valid"]); err != nil {
			issues = append(issues, models.Issue{Path: "/valid", Message: err.Error()})
		}
	}
	return n, issues
}

// addRule is POST /settings/rules.
func (v *visit) addRule() error {
	typed := v.typed(ruleFields...)
	n, issues := v.newRule(typed)
	err := invalid(issues)
	if err == nil {
		_, err = v.p.approvals.CreateRule(v.ctx, v.by, n)
	}
	if err == nil {
		v.p.say(v.c, "rule_added")
		return seeOther(v.c, string(v.link("/settings/rules")))
	}
	r, ok := v.refuse(err, formRule, v.tr("The rule was not added"), typed, nil)
	if !ok {
		return err
	}
	return v.rules(formStatus(err), r)
}

// replaceRule is POST /settings/rules/{id}: the next version of a rule.
func (v *visit) replaceRule() error {
	id, typed := v.param("id"), v.typed(ruleFields...)
	n, issues := v.newRule(typed)
	seen, more := version(typed["version"])
	err := invalid(append(issues, more...))
	if err == nil {
		_, err = v.p.approvals.ReplaceRule(v.ctx, v.by, id, seen, n)
	}
	return v.ruleChanged(err, formRule, v.tr("The rule was not changed"), id, typed, "rule_changed")
}

// retireRule is POST /settings/rules/{id}/retire.
func (v *visit) retireRule() error {
	id, typed := v.param("id"), v.typed("version")
	version, issues := version(typed["version"])
	err := invalid(issues)
	if err == nil {
		err = v.p.approvals.RetireRule(v.ctx, v.by, id, version)
	}
	if err == nil {
		v.p.say(v.c, "rule_retired")
		return seeOther(v.c, string(v.link("/settings/rules")))
	}
	return v.ruleChanged(err, formRetire, v.tr("The rule was not retired"), id, typed, "")
}

const formRetire = "retire"

func (v *visit) ruleChanged(err error, form, heading, id string, typed map[string]string, message string) error {
	if err == nil {
		v.p.say(v.c, message)
		return seeOther(v.c, string(v.ruleURL(id)))
	}
	r, ok := v.refuse(err, form, heading, typed, nil)
	if !ok {
		return err
	}
	return v.rulePage(formStatus(err), id, r)
}

func (v *visit) ruleURL(id string) templ.SafeURL {
	return v.link("/settings/rules/" + url.PathEscape(id))
}

func (v *visit) editsRules() bool { return v.by.Has(ruleEditors...) }

func (v *visit) rules(status int, refused refusal) error {
	m, err := v.p.approvals.Matrix(v.ctx, v.by)
	if err != nil {
		return err
	}
	page, err := v.page(counted(v.tr("Approval rules"), len(m.Rules)), v.link("/settings/rules"), "")
	if err != nil {
		return err
	}
	tabs := v.settingsTabs("/settings/rules")
	for i := range tabs {
		if tabs[i].Current {
			tabs[i].Count = count(len(m.Rules))
		}
	}
	out := views.RulesPage{Page: page, Tabs: tabs, Bindings: bindingRows(m.Bindings),
		Lead:  v.tr("Who decides about which write. The rule that names most goes first; then the one that asks for more votes, then the lower limit, then the older."),
		Empty: ui.Empty{Heading: v.tr("The matrix is empty"), Text: v.tr("Without a rule no write can be approved: each request opens a case for the AP lead."), TestID: "empty"}}
	out.Links = v.ruleLinks()
	if !v.editsRules() {
		out.WhyNot = v.tr("You can read the matrix, not change it: that is for AP leads and admins.")
	}
	out.Waiting = v.waitingForRules(m)
	if v.by.Has(models.RoleAdmin) {
		out.EditURL = v.link("/settings") + "#bindings-title"
	}
	out.Sheets = v.sheets(m)
	v.findings(&out, m.Findings)
	if v.editsRules() {
		out.Add = v.ruleForm(refused.of(formRule), v.emptyRule())
		out.Add.URL, out.Add.Button = v.link("/settings/rules"), v.tr("Add the rule")
	}
	return render(v.c, status, views.Rules(out))
}

func (v *visit) ruleLinks() []ui.Tab {
	links := []ui.Tab{{Label: v.tr("Try a request"), URL: v.link("/settings/rules/try"), TestID: "rules-try"},
		{Label: v.tr("History"), URL: v.link("/settings/rules/history"), TestID: "rules-history"},
		{Label: v.tr("Export CSV"), URL: v.link("/settings/rules.csv"), TestID: "rules-export"}}
	if v.editsRules() {
		links = append(links, ui.Tab{Label: v.tr("Import CSV"), URL: v.link("/settings/rules/import"), TestID: "rules-import"})
	}
	return links
}

// waitingForRules says how many requests nobody can decide.
func (v *visit) waitingForRules(m approvals.Matrix) *ui.Notice {
	if m.Waiting == 0 {
		return nil
	}
	n := &ui.Notice{Tone: ui.ToneWarn, Heading: v.trn("%d request waits for somebody who may decide", "%d requests wait for somebody who may decide", m.Waiting),
		URL: v.link("/queues/ap_lead"), LinkText: v.tr("Cases of the AP lead"), TestID: "rules-waiting"}
	switch {
	case m.Covered == 0:
		n.Text = ui.Foreign(v.tr("No rule covers what they ask for, or the people of its rule are too few."))
	case m.Covered == 1:
		n.Text = ui.Foreign(v.tr("A rule covers one of them by now. Choose “Matrix fixed” on its case: it goes on then, with every other that the rules cover."))
	default:
		n.Text = ui.Foreign(v.tr("Rules cover %d of them by now. Choose “Matrix fixed” on one of their cases: all of them go on then.", m.Covered))
	}
	return n
}

func bindingRows(bindings map[string]models.Binding) []views.Binding {
	var rows []views.Binding
	for tool, b := range bindings {
		rows = append(rows, views.Binding{Tool: ui.Foreign(tool), Invoice: ui.Foreign(b.InvoiceID), Amount: ui.Foreign(b.Amount), Currency: ui.Foreign(b.Currency),
			PostingDate: ui.Foreign(b.PostingDate), SupplierID: ui.Foreign(b.SupplierID)})
	}
	slices.SortFunc(rows, func(a, b views.Binding) int { return cmp.Compare(a.Tool, b.Tool) })
	return rows
}

// sheets puts the rules into the order of a delegation-of-authority sheet: by currency, the workspace's
// own first; what names nothing before what names more; amounts ascending.
func (v *visit) sheets(m approvals.Matrix) []views.RuleSheet {
	rules := slices.Clone(m.Rules)
	named := func(s approvals.Scope) int {
		n := 0
		for _, d := range []string{s.Tool, s.DocumentType, s.Supplier, s.CostCentre} {
			if d != "" {
				n++
			}
		}
		return n
	}
	slices.SortStableFunc(rules, func(a, b approvals.RuleView) int {
		x, y := approvals.ScopeOf(a.Rule), approvals.ScopeOf(b.Rule)
		return cmp.Or(v.currencyOrder(a.Rule.Currency, b.Rule.Currency), cmp.Compare(named(x), named(y)),
			cmp.Compare(x.Tool, y.Tool), cmp.Compare(x.DocumentType, y.DocumentType), cmp.Compare(x.Supplier, y.Supplier), cmp.Compare(x.CostCentre, y.CostCentre),
			compareFigures(a.Rule.FromAmount, b.Rule.FromAmount), compareFigures(a.Rule.ToAmount, b.Rule.ToAmount))
	})
	gaps := map[string]string{}
	for _, f := range m.Findings {
		if f.Kind == approvals.FindingStaffing && f.Warn {
			gaps[f.Rules[0]] = v.tr("too few people for it now")
		}
	}
	var sheets []views.RuleSheet
	for _, r := range rules {
		if len(sheets) == 0 || sheets[len(sheets)-1].Currency != r.Rule.Currency {
			sheets = append(sheets, views.RuleSheet{Currency: r.Rule.Currency})
		}
		sheet, scope := &sheets[len(sheets)-1], scopeOf(r.Rule)
		if len(sheet.Groups) == 0 || sheet.Groups[len(sheet.Groups)-1].Scope != scope {
			sheet.Groups = append(sheet.Groups, views.RuleGroup{Scope: scope})
		}
		group := &sheet.Groups[len(sheet.Groups)-1]
		row := v.ruleRow(r)
		row.Gap = gaps[r.Rule.ID]
		group.Rows = append(group.Rows, row)
	}
	return sheets
}

func (v *visit) currencyOrder(a, b string) int {
	if (a == v.ws.Currency) != (b == v.ws.Currency) {
		if a == v.ws.Currency {
			return -1
		}
		return 1
	}
	return cmp.Compare(a, b)
}

// compareFigures compares two plain amounts; texts that are none come last.
func compareFigures(a, b string) int {
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	if !okX || !okY {
		return cmp.Compare(a, b)
	}
	return x.Cmp(y)
}

func scopeOf(r models.Rule) views.RuleScope {
	return views.RuleScope{Tool: ui.Foreign(r.Tool), DocumentType: ui.Foreign(r.DocumentType), Supplier: ui.Foreign(r.Supplier), CostCentre: ui.Foreign(r.CostCentre)}
}

func (v *visit) ruleRow(r approvals.RuleView) views.RuleRow {
	m := r.Rule
	row := views.RuleRow{ID: m.ID, Name: v.ruleTitle(m.ID), URL: v.ruleURL(m.ID), Version: v.tr("version %d", m.Version),
		From: v.figures(m.FromAmount, m.Currency), To: v.figures(m.ToAmount, m.Currency), Who: v.whoWords(m.Role, r.First), Then: v.whoWords(m.ThenRole, r.Then), How: v.howWords(r),
		Valid: v.span(r.Valid), By: v.author(m.AuthorName), At: v.day(m.CreatedAt), Open: v.tr("History")}
	if r.Sequence() {
		row.How = "" // "then …" says it
	}
	if v.editsRules() {
		row.Open = v.tr("Edit")
	}
	return row
}

// whoWords writes a role within a sentence, and names as they are.
func (w words) whoWords(role models.Role, who string) string {
	if role != "" {
		return w.lower(w.said(who))
	}
	return who
}

func (w words) howWords(r approvals.RuleView) string {
	switch {
	case r.Sequence():
		return w.tr("one after the other")
	case r.Rule.Required == 2:
		return w.tr("two together")
	case r.Rule.Role == "" && len(r.People) > 1:
		return w.tr("one of them")
	}
	return ""
}

// maxNotes is how many findings that are only said a page lists.
const maxNotes = 100

// findings sorts what is worth a look from what is only said.
func (v *visit) findings(out *views.RulesPage, found []approvals.Finding) {
	for _, f := range found {
		if f.Warn {
			out.Findings = append(out.Findings, v.finding(f))
		} else {
			out.Notes = append(out.Notes, v.finding(f))
		}
	}
	cut := func(list []views.Finding) ([]views.Finding, int) {
		if more := len(list) - maxNotes; more > 0 {
			return list[:maxNotes], more
		}
		return list, 0
	}
	var more int
	if out.Findings, more = cut(out.Findings); more > 0 {
		out.Findings = append(out.Findings, views.Finding{Warn: true, Parts: []views.FindingPart{{Text: ui.Foreign(v.tr("And %d more.", more))}}})
	}
	if out.Notes, more = cut(out.Notes); more > 0 {
		out.More = v.tr("And %d more.", more)
	}
}

// finding links the rules that a finding names.
func (v *visit) finding(f approvals.Finding) views.Finding {
	out := views.Finding{Kind: string(f.Kind), Warn: f.Warn}
	urls := map[string]templ.SafeURL{}
	for _, id := range f.Rules {
		urls[v.ruleTitle(id)] = v.ruleURL(id)
	}
	rest := v.amountsIn(v.said(f.Text))
	for rest != "" {
		at, name := -1, ""
		for n := range urls {
			if i := strings.Index(rest, n); i >= 0 && (at < 0 || i < at) {
				at, name = i, n
			}
		}
		if at < 0 {
			break
		}
		if at > 0 {
			out.Parts = append(out.Parts, views.FindingPart{Text: ui.Foreign(rest[:at])})
		}
		out.Parts = append(out.Parts, views.FindingPart{Text: ui.Foreign(name), URL: urls[name]})
		rest = rest[at+len(name):]
	}
	if rest != "" {
		out.Parts = append(out.Parts, views.FindingPart{Text: ui.Foreign(rest)})
	}
	return out
}

// emptyRule is what the form for a new rule begins with.
func (v *visit) emptyRule() map[string]string {
	return map[string]string{"currency": v.ws.Currency, "from": "0", "role": string(models.RoleFinanceLead), "required": "1", "valid": "24h"}
}

// typedRule is a rule as somebody would type it.
func (w words) typedRule(r approvals.RuleView) map[string]string {
	m := r.Rule
	required := strconv.Itoa(m.Required)
	if r.Sequence() {
		required = inSequence
	}
	return map[string]string{"tool": m.Tool, "document_type": m.DocumentType, "supplier": m.Supplier, "cost_centre": m.CostCentre, "currency": m.Currency,
		"from": w.lang.TypeFigures(m.FromAmount), "to": w.lang.TypeFigures(m.ToAmount), "role": string(m.Role), "person": addresses(r.People), "then_role": string(m.ThenRole), "then_person": addresses(r.ThenPeople),
		"required": required, "valid": approvals.ValidText(r.Valid)}
}

func addresses(users []models.User) string {
	list := make([]string, len(users))
	for i, u := range users {
		list[i] = u.Email
	}
	return strings.Join(list, ", ")
}

// ruleForm is the form of a rule with the values it begins with, or as it was typed.
func (v *visit) ruleForm(refused refusal, start map[string]string) *views.RuleForm {
	anyValue := v.tr("Any when empty")
	roles := func(named string) []ui.Option {
		options := []ui.Option{{Value: "", Label: named}}
		for _, r := range []models.Role{models.RoleFinanceLead, models.RoleAPLead, models.RoleAPClerk, models.RoleProcurement, models.RoleMasterData} {
			options = append(options, ui.Option{Value: string(r), Label: v.role(r)})
		}
		return options
	}
	if refused.typed == nil {
		refused.typed = start
	}
	fields := func(list ...ui.Field) []ui.Field {
		for i := range list {
			list[i] = refused.field(list[i])
		}
		return list
	}
	f := &views.RuleForm{Form: v.form(""),
		Covers: fields(ui.Field{Name: "tool", Label: v.tr("Tool"), Hint: anyValue}, ui.Field{Name: "document_type", Label: v.tr("Document type"), Hint: anyValue},
			ui.Field{Name: "supplier", Label: v.tr("Supplier"), Hint: anyValue}, ui.Field{Name: "cost_centre", Label: v.tr("Cost centre"), Hint: anyValue}),
		Band: fields(ui.Field{Name: "currency", Label: v.tr("Currency"), Required: true, Hint: v.tr("ISO code; nothing is converted")},
			ui.Field{Name: "from", Label: v.tr("From"), Kind: ui.FieldAmount, Required: true}, ui.Field{Name: "to", Label: v.tr("To"), Kind: ui.FieldAmount, Required: true}),
		How: fields(ui.Field{Name: "required", Label: v.tr("How many decide"), Kind: ui.FieldSelect, Required: true,
			Options: []ui.Option{{Value: "1", Label: v.tr("one person")}, {Value: "2", Label: v.tr("two people together")}, {Value: inSequence, Label: v.tr("two people, one after the other")}}},
			ui.Field{Name: "valid", Label: v.tr("Approval good for"), Required: true, Hint: v.tr("Such as 24h, 90m or 3d")}),
		Who: fields(ui.Field{Name: "role", Label: v.tr("Role"), Kind: ui.FieldSelect, Options: roles(v.tr("named people instead"))},
			ui.Field{Name: "person", Label: v.tr("People"), Hint: v.tr("E-mail addresses, with commas; leave the role empty then")}),
		Then: fields(ui.Field{Name: "then_role", Label: v.tr("Second role"), Kind: ui.FieldSelect, Options: roles(v.tr("nobody, or named people"))},
			ui.Field{Name: "then_person", Label: v.tr("Second people"), Hint: v.tr("E-mail addresses; leave the second role empty then")}),
	}
	f.Heading, f.Errors = refused.heading, refused.summary(slices.Concat(f.Covers, f.Band, f.How, f.Who, f.Then)...)
	return f
}
