package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

const formRule = "rule"

// showRules is GET /settings/rules: the approval matrix.
func (v *visit) showRules() error { return v.rules(http.StatusOK, refusal{}) }

// ruleFields are the fields of the form that adds a rule.
var ruleFields = []string{"tool", "document_type", "supplier", "cost_centre", "currency", "from", "to", "role", "person", "required", "valid"}

// addRule is POST /settings/rules.
func (v *visit) addRule() error {
	typed := v.typed(ruleFields...)
	n := approvals.NewRule{Tool: typed["tool"], DocumentType: typed["document_type"], Supplier: typed["supplier"], CostCentre: typed["cost_centre"],
		Currency: strings.ToUpper(typed["currency"]), From: typed["from"], To: typed["to"], Role: models.Role(typed["role"]), People: people(typed["person"])}
	var issues []models.Issue
	var err error
	if typed["required"] != "" {
		if n.Required, err = strconv.Atoi(typed["required"]); err != nil || n.Required < 1 {
			issues = append(issues, models.Issue{Path: "/required", Message: "must be 1 or 2 people"})
		}
	}
	if typed["valid"] != "" {
		if n.Valid, err = time.ParseDuration(typed["valid"]); err != nil || n.Valid <= 0 {
			issues = append(issues, models.Issue{Path: "/valid", Message: "must be a length of time such as 24h or 90m"})
		}
	}
	if err = invalid(issues); err == nil {
		_, err = v.p.approvals.CreateRule(v.ctx, v.by, n)
	}
	return v.ruleChanged(err, formRule, "The rule was not added", typed, "rule_added")
}

// people splits e-mail addresses written with commas, semicolons or blanks between them.
func people(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(",; \t\r\n", r) })
}

// retireRule is POST /settings/rules/{id}/retire.
func (v *visit) retireRule() error {
	id, typed := v.param("id"), v.typed("version")
	version, issues := version(typed["version"])
	err := invalid(issues)
	if err == nil {
		err = v.p.approvals.RetireRule(v.ctx, v.by, id, version)
	}
	return v.ruleChanged(err, "retire:"+id, "The rule was not retired", typed, "rule_retired")
}

func (v *visit) ruleChanged(err error, form, heading string, typed map[string]string, message string) error {
	if err == nil {
		v.p.say(v.c, message)
		return seeOther(v.c, string(v.link("/settings/rules")))
	}
	r, ok := refuse(err, form, heading, typed, nil)
	if !ok {
		return err
	}
	return v.rules(formStatus(err), r)
}

func (v *visit) rules(status int, refused refusal) error {
	rules, err := v.p.approvals.Rules(v.ctx, v.by)
	if err != nil {
		return err
	}
	page, err := v.page(counted("Approval rules", len(rules)), v.link("/settings/rules"), "")
	if err != nil {
		return err
	}
	edits := v.by.Has(models.RoleAPLead, models.RoleAdmin)
	tabs := v.settingsTabs("/settings/rules")
	tabs[1].Count = count(len(rules))
	out := views.RulesPage{Page: page, Tabs: tabs,
		Lead:  "Who decides about which write. The rule that names most wins; then the one with more votes, then the lower limit, then the older.",
		Empty: ui.Empty{Heading: "The matrix is empty", Text: "Without a rule no write can be approved: each request opens a case for the AP lead.", TestID: "empty"}}
	if !edits {
		out.WhyNot = "You can read the matrix, not change it: that is for AP leads and admins."
	}
	for _, r := range rules {
		row := v.ruleRow(r)
		if edits {
			row.Retire = v.retireForm(r.Rule, refused)
		}
		out.Rows = append(out.Rows, row)
	}
	if edits {
		out.Add = v.ruleForm(refused.of(formRule))
		if strings.HasPrefix(refused.form, "retire:") && !slices.ContainsFunc(rules, func(r approvals.RuleView) bool { return "retire:"+r.Rule.ID == refused.form }) {
			// The rule to be retired is gone: there is no form left to say so in.
			out.Page.Flashes = append(out.Page.Flashes, ui.Flash{Tone: ui.ToneWarn, Text: sentence(refused.problems[""])})
		}
	}
	return render(v.c, status, views.Rules(out))
}

func (v *visit) ruleRow(r approvals.RuleView) views.RuleRow {
	m := r.Rule
	row := views.RuleRow{ID: m.ID, Name: "Rule " + shortID(m.ID), Version: fmt.Sprintf("version %d", m.Version), Tool: ui.Foreign(m.Tool), DocumentType: ui.Foreign(m.DocumentType),
		Supplier: ui.Foreign(m.Supplier), CostCentre: ui.Foreign(m.CostCentre), Currency: m.Currency, From: figures(m.FromAmount, m.Currency), To: figures(m.ToAmount, m.Currency),
		Who: lower(r.Who), Required: plural(m.Required, "vote", "votes"), Valid: span(r.Valid), Written: fmt.Sprintf("%s, %s", m.AuthorName, v.day(m.CreatedAt))}
	if m.Role == "" {
		row.Who = r.Who
		active := 0
		for _, u := range r.People {
			if u.Active {
				active++
			}
		}
		if active < m.Required {
			row.Gap = "too few of them are active"
		}
	}
	return row
}

func (v *visit) retireForm(m models.Rule, refused refusal) *views.RetireForm {
	f := &views.RetireForm{Form: v.form(v.link("/settings/rules/" + m.ID + "/retire")), What: "New requests are no longer routed by it. Requests already asked keep their copy."}
	f.Version = strconv.FormatInt(m.Version, 10)
	own := refused.of("retire:" + m.ID)
	f.Heading, f.Errors = own.heading, own.summary()
	return f
}

func (v *visit) ruleForm(refused refusal) *views.RuleForm {
	anyValue := "Any when empty"
	roles := []ui.Option{{Value: "", Label: "named people instead"}}
	for _, r := range []models.Role{models.RoleFinanceLead, models.RoleAPLead, models.RoleAPClerk, models.RoleProcurement, models.RoleMasterData} {
		roles = append(roles, ui.Option{Value: string(r), Label: r.Title(), Selected: r == models.RoleFinanceLead})
	}
	fields := func(list ...ui.Field) []ui.Field {
		for i := range list {
			list[i] = refused.field(list[i])
		}
		return list
	}
	f := &views.RuleForm{Form: v.form(v.link("/settings/rules")),
		Covers: fields(ui.Field{Name: "tool", Label: "Tool", Hint: anyValue}, ui.Field{Name: "document_type", Label: "Document type", Hint: anyValue},
			ui.Field{Name: "supplier", Label: "Supplier", Hint: anyValue}, ui.Field{Name: "cost_centre", Label: "Cost centre", Hint: anyValue}),
		Band: fields(ui.Field{Name: "currency", Label: "Currency", Required: true, Value: v.ws.Currency, Hint: "ISO code; nothing is converted"},
			ui.Field{Name: "from", Label: "From", Kind: ui.FieldAmount, Required: true, Value: "0"}, ui.Field{Name: "to", Label: "To", Kind: ui.FieldAmount, Required: true}),
		Who: fields(ui.Field{Name: "role", Label: "Role", Kind: ui.FieldSelect, Options: roles},
			ui.Field{Name: "person", Label: "People", Hint: "E-mail addresses, with commas; leave the role empty then"}),
		How: fields(ui.Field{Name: "required", Label: "Votes needed", Kind: ui.FieldSelect, Required: true,
			Options: []ui.Option{{Value: "1", Label: "1 person", Selected: true}, {Value: "2", Label: "2 different people"}}},
			ui.Field{Name: "valid", Label: "Approval good for", Value: "24h", Required: true, Hint: "Such as 24h or 90m"}),
	}
	f.Heading, f.Errors = refused.heading, refused.summary(slices.Concat(f.Covers, f.Band, f.Who, f.How)...)
	return f
}
