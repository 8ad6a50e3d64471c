package pages

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func mountMatrix(get, post route) {
	get("/settings/rules.csv", (*visit).exportRules)
	get("/settings/rules/try", (*visit).tryRequest)
	get("/settings/rules/history", (*visit).rulesHistory)
	get("/settings/rules/import", (*visit).askImport)
	post("/settings/rules/import", (*visit).previewImport)
	post("/settings/rules/import/apply", (*visit).applyImport)
	get("/settings/rules/:id", (*visit).showRule)
	post("/settings/rules/:id", (*visit).replaceRule)
}

// showRule is GET /settings/rules/{id}: one rule with its history.
func (v *visit) showRule() error { return v.rulePage(http.StatusOK, v.param("id"), refusal{}) }

func (v *visit) rulePage(status int, id string, refused refusal) error {
	var changes []approvals.RuleChange
	err := v.find(func() error {
		var err error
		changes, err = v.p.approvals.RuleHistory(v.ctx, v.by, id)
		return err
	})
	if err != nil {
		return err
	}
	now := changes[0].After
	retired := !now.Rule.RetiredAt.IsZero()
	name := v.ruleTitle(id)
	page, err := v.page(name, v.ruleURL(id), "")
	if err != nil {
		return err
	}
	out := views.RulePage{Page: page, Back: v.link("/settings/rules"), Heading: name, Lead: v.tr("Version %d, written by %s on %s.", now.Rule.Version, v.author(now.Rule.AuthorName), v.day(now.Rule.CreatedAt)),
		Badge: ui.Badge{Text: v.tr("In force"), Tone: ui.ToneGood, Sign: ui.SignDone, TestID: "rule-state"}, Facts: v.ruleEntries(now)}
	for _, c := range changes {
		out.Changes = append(out.Changes, v.ruleChangeOf(c, false))
	}
	if retired {
		out.Badge = ui.Badge{Text: v.tr("Retired"), Tone: ui.ToneNeutral, Sign: ui.SignNo, TestID: "rule-state"}
	}
	if status == http.StatusConflict {
		out.Conflict = sentence(refused.problems[""])
		refused.problems = map[string]string{}
		refused.heading = ""
	}
	switch {
	case !v.editsRules():
		out.WhyNot = v.tr("You can read the matrix, not change it: that is for AP leads and admins.")
	case retired:
		out.WhyNot = v.tr("This rule is retired: it routes nothing any more, and cannot be changed. Requests it routed keep their copy.")
		if refused.typed != nil && refused.form == formRule {
			out.WhyNot += " " + v.tr("To have it back with what you typed, add it as a new rule.")
			out.Edit = v.ruleForm(refused.of(formRule), v.typedRule(now))
			out.Edit.URL, out.Edit.Button = v.link("/settings/rules"), v.tr("Add it as a new rule")
		}
	default:
		if err := v.fillRuleForms(&out, now, refused); err != nil {
			return err
		}
	}
	return render(v.c, status, views.RuleDetail(out))
}

// fillRuleForms adds what an editor can do with a rule in force.
func (v *visit) fillRuleForms(out *views.RulePage, now approvals.RuleView, refused refusal) error {
	id, seen := now.Rule.ID, strconv.FormatInt(now.Rule.Version, 10)
	out.Edit = v.ruleForm(refused.of(formRule), v.typedRule(now))
	out.Edit.URL, out.Edit.Button, out.Edit.Version = v.ruleURL(id), v.tr("Save the next version"), seen
	own := refused.of(formRetire)
	out.Retire = &views.RetireForm{Form: v.form(v.link("/settings/rules/" + id + "/retire")),
		What: v.tr("New requests are no longer routed by it. Requests already asked keep their copy.")}
	out.Retire.Version, out.Retire.Heading, out.Retire.Errors = seen, own.heading, own.summary()
	m, err := v.p.approvals.Matrix(v.ctx, v.by)
	if err != nil {
		return err
	}
	for _, f := range m.Findings {
		if f.Warn && slices.Contains(f.Rules, id) {
			out.Warning = append(out.Warning, v.finding(f))
		}
	}
	return nil
}

func (w words) ruleEntries(r approvals.RuleView) []ui.Entry {
	var facts []ui.Entry
	for _, f := range r.Fields() {
		facts = append(facts, ui.Pair(w.said(f.Field), w.ruleValue(f.Field, f.After)))
	}
	return facts
}

func (v *visit) ruleChangeOf(c approvals.RuleChange, named bool) views.RuleChange {
	out := views.RuleChange{Version: v.tr("version %d", c.After.Rule.Version), At: v.exactly(c.At), Who: v.author(c.By), First: c.Before == nil}
	if named {
		out.Rule, out.URL = v.ruleTitle(c.RuleID), v.ruleURL(c.RuleID)
	}
	switch c.What {
	case approvals.RuleRetired:
		out.What = v.tr("retired the rule")
		return out
	case approvals.RuleChanged:
		out.What = v.tr("changed the rule")
		if named {
			out.What = v.trc("a rule", "changed")
		}
	default:
		out.What = v.tr("added the rule")
		if named {
			out.What = v.trc("a rule", "added")
		}
	}
	if named {
		out.Routed = ""
	} else if c.Routed > 0 {
		out.Routed = v.trn("%d request carries it", "%d requests carry it", int(c.Routed))
	} else {
		out.Routed = v.tr("no request carries it")
	}
	if named && c.Before != nil {
		out.Fields = v.changedFields(c.Fields)
		return out
	}
	changed := map[string]approvals.FieldChange{}
	for _, f := range c.Fields {
		changed[f.Field] = f
	}
	var before []approvals.FieldChange
	if c.Before != nil {
		before = c.Before.Fields()
	}
	for i, f := range c.After.Fields() {
		row := views.RuleField{Label: v.said(f.Field), After: ui.Foreign(v.ruleValue(f.Field, f.After))}
		if before != nil {
			row.Before = ui.Foreign(v.ruleValue(f.Field, before[i].After))
			_, row.Changed = changed[f.Field]
		}
		out.Fields = append(out.Fields, row)
	}
	return out
}

func (w words) changedFields(list []approvals.FieldChange) []views.RuleField {
	rows := make([]views.RuleField, len(list))
	for i, f := range list {
		rows[i] = views.RuleField{Label: w.said(f.Field), Before: ui.Foreign(w.ruleValue(f.Field, f.Before)), After: ui.Foreign(w.ruleValue(f.Field, f.After)), Changed: true}
	}
	return rows
}

// rulesHistory is GET /settings/rules/history.
func (v *visit) rulesHistory() error {
	cursor := strings.Clone(v.c.Query("cursor"))
	list, err := v.p.approvals.MatrixHistory(v.ctx, v.by, cursor)
	if err != nil {
		return err
	}
	page, err := v.page(v.tr("History of the rules"), v.link("/settings/rules/history", "cursor", cursor), "")
	if err != nil {
		return err
	}
	out := views.RuleHistoryPage{Page: page, Back: v.link("/settings/rules"), Empty: ui.Empty{Heading: v.tr("No rule was ever written"), Text: v.tr("What happens to the matrix is listed here."), TestID: "empty"}}
	for _, c := range list.Items {
		out.Changes = append(out.Changes, v.ruleChangeOf(c, true))
	}
	if cursor != "" {
		out.Pager.First = v.link("/settings/rules/history")
	}
	if list.NextCursor != "" {
		out.Pager.Next = v.link("/settings/rules/history", "cursor", list.NextCursor)
	}
	return render(v.c, http.StatusOK, views.RulesHistory(out))
}

// tryRequest is GET /settings/rules/try: what the matrix would do with a write.
func (v *visit) tryRequest() error {
	names := []string{"tool", "document_type", "supplier", "cost_centre", "amount", "currency", "asker"}
	typed := map[string]string{}
	asked := false
	for _, name := range names {
		typed[name] = strings.TrimSpace(strings.Clone(v.c.Query(name)))
		asked = asked || (typed[name] != "" && name != "currency")
	}
	if typed["currency"] == "" {
		typed["currency"] = v.ws.Currency
	}
	typed["currency"] = strings.ToUpper(typed["currency"])
	page, err := v.page(v.tr("Try a request"), v.link("/settings/rules/try"), "")
	if err != nil {
		return err
	}
	out := views.TryPage{Page: page, Back: v.link("/settings/rules"), URL: "/settings/rules/try"}
	if v.by.WorkspaceID != v.chosen {
		out.Hidden = append(out.Hidden, ui.Hidden{Name: "workspace_id", Value: v.by.WorkspaceID})
	}
	refused, status := refusal{typed: typed}, http.StatusOK
	if asked {
		result, err := v.p.approvals.Try(v.ctx, v.by, approvals.TryInput{Tool: typed["tool"], DocumentType: typed["document_type"], Supplier: typed["supplier"],
			CostCentre: typed["cost_centre"], Amount: v.lang.ReadFigures(typed["amount"]), Currency: typed["currency"], Asker: typed["asker"]})
		if err == nil {
			out.Result = v.tryResult(result, typed)
		} else if r, ok := v.refuse(err, "try", v.tr("The request could not be tried"), typed, nil); ok {
			refused, status = r, formStatus(err)
		} else {
			return err
		}
	}
	for _, f := range []ui.Field{{Name: "tool", Label: v.tr("Tool"), Required: true, Hint: v.tr("Such as post_invoice_adjustment")},
		{Name: "amount", Label: v.tr("Amount"), Kind: ui.FieldAmount, Required: true}, {Name: "currency", Label: v.tr("Currency"), Required: true},
		{Name: "document_type", Label: v.tr("Document type")}, {Name: "supplier", Label: v.tr("Supplier")}, {Name: "cost_centre", Label: v.tr("Cost centre")},
		{Name: "asker", Label: v.tr("Who would ask"), Hint: v.tr("E-mail of an account or person; nobody decides their own")}} {
		out.Fields = append(out.Fields, refused.field(f))
	}
	out.Heading, out.Errors = refused.heading, refused.summary(out.Fields...)
	return render(v.c, status, views.TryRequest(out))
}

func (v *visit) tryResult(r approvals.TryResult, typed map[string]string) *views.TryResult {
	out := &views.TryResult{Write: v.tr("%s for %s", v.amountsIn(r.Amount.Format()), ui.Foreign(typed["tool"]).Plain()), Currency: r.Amount.Currency(), Why: ui.Foreign(v.amountsIn(v.said(r.Why))), Missing: ui.Foreign(v.amountsIn(v.said(r.Missing)))}
	if !r.Bound {
		out.Unbound = v.tr("No pointers are set for this tool: nobody compares the amount asked for with the call, so the rule with the highest limit decides.")
	}
	sequence := false
	if r.Rule != nil {
		row := v.ruleRow(*r.Rule)
		out.Rule, out.Scope, sequence = &row, scopeOf(r.Rule.Rule), r.Rule.Sequence()
	}
	for _, p := range r.People {
		person := views.TryPerson{Name: p.Name, Role: v.role(p.Role), OnBehalfOf: p.OnBehalfOf, Limit: v.amountsIn(p.Limit), Absence: v.said(p.Absence), May: p.May, Why: v.amountsIn(v.said(p.Why))}
		if sequence {
			person.Turn = v.tr("comes first")
			if p.Step == 2 {
				person.Turn = v.tr("comes second")
			}
		}
		out.People = append(out.People, person)
	}
	for _, t := range r.Tried {
		out.Others = append(out.Others, views.OtherRule{Name: v.ruleTitle(t.RuleID), URL: v.ruleURL(t.RuleID), Text: ui.Foreign(v.ruleInWords(t.Rule)), Why: ui.Foreign(v.amountsIn(upper(v.said(t.Why)) + "."))})
	}
	return out
}

// exportRules is GET /settings/rules.csv.
func (v *visit) exportRules() error {
	sheet, err := v.p.approvals.ExportSheet(v.ctx, v.by)
	if err != nil {
		return err
	}
	v.c.Set(fiber.HeaderContentType, "text/csv; charset=utf-8; header=present")
	v.c.Set(fiber.HeaderContentDisposition, fmt.Sprintf(`attachment; filename="rules-%s-%s.csv"`, v.by.WorkspaceID, v.today()))
	v.c.Set(fiber.HeaderCacheControl, "no-store")
	return v.c.Send(sheet)
}

// askImport is GET /settings/rules/import.
func (v *visit) askImport() error {
	if !v.editsRules() {
		return v.by.NeedRole(ruleEditors...)
	}
	return v.importPage(http.StatusOK, nil, "", false, nil)
}

// sentSheet reads the sheet of the form: the file, else what was pasted.
func (v *visit) sentSheet() (sheet []byte, pasted string, retire bool, err error) {
	typed := fieldsOf(v.c, "sheet", "retire_missing")
	pasted, retire = typed["sheet"], typed["retire_missing"] != ""
	if file, fileErr := v.c.FormFile("file"); fileErr == nil && file.Filename != "" {
		f, err := file.Open()
		if err != nil {
			return nil, pasted, retire, fmt.Errorf("pages: open sheet: %w", err)
		}
		defer func() { _ = f.Close() }() // it was only read
		sheet, err = io.ReadAll(io.LimitReader(f, approvals.MaxSheetBytes+1))
		if err != nil {
			return nil, pasted, retire, fmt.Errorf("pages: read sheet: %w", err)
		}
		if len(sheet) > 0 || pasted == "" {
			return sheet, pasted, retire, nil
		}
	}
	return []byte(pasted), pasted, retire, nil
}

// previewImport is POST /settings/rules/import: it says what the sheet would change and changes nothing.
func (v *visit) previewImport() error {
	sheet, pasted, retire, err := v.sentSheet()
	if err != nil {
		return err
	}
	plan, err := v.p.approvals.PlanSheet(v.ctx, v.by, sheet, retire)
	if err != nil {
		return err
	}
	if len(plan.Problems) > 0 {
		return v.importPage(http.StatusUnprocessableEntity, &plan, pasted, retire, nil)
	}
	return v.preview(http.StatusOK, plan, sheet, retire, nil)
}

// applyImport is POST /settings/rules/import/apply.
func (v *visit) applyImport() error {
	typed := v.typed("sheet", "retire_missing", "version")
	retire := typed["retire_missing"] != ""
	sheet, err := base64.StdEncoding.DecodeString(typed["sheet"])
	seen, numErr := strconv.ParseInt(typed["version"], 10, 64)
	if err != nil || numErr != nil {
		return v.importPage(http.StatusUnprocessableEntity, nil, "", retire, []string{v.tr("The preview did not arrive whole. Check the sheet again.")})
	}
	_, err = v.p.approvals.ApplySheet(v.ctx, v.by, sheet, retire, seen)
	if err == nil {
		v.p.say(v.c, "rules_imported")
		return seeOther(v.c, string(v.link("/settings/rules")))
	}
	r, ok := v.refuse(err, "import", v.tr("Nothing was imported"), nil, nil)
	if !ok {
		return err
	}
	plan, planErr := v.p.approvals.PlanSheet(v.ctx, v.by, sheet, retire)
	switch {
	case planErr != nil:
		return planErr
	case len(plan.Problems) > 0:
		return v.importPage(formStatus(err), &plan, string(sheet), retire, nil)
	}
	return v.preview(formStatus(err), plan, sheet, retire, r.summary())
}

func (v *visit) importPage(status int, plan *approvals.SheetPlan, pasted string, retire bool, problems []string) error {
	page, err := v.page(v.tr("Import rules"), v.link("/settings/rules/import"), "")
	if err != nil {
		return err
	}
	out := views.ImportPage{Page: page, Back: v.link("/settings/rules"), Form: v.form(v.link("/settings/rules/import")), Template: v.link("/settings/rules.csv"), Problems: problems,
		File: ui.Field{Hint: v.tr("CSV in UTF-8, separated by commas or semicolons; at most %d kB and %d rules", approvals.MaxSheetBytes/1024, approvals.MaxSheetLines)},
		Text: ui.Field{Name: "sheet", Label: v.tr("Or the sheet as text"), Kind: ui.FieldArea, Rows: 8, Value: pasted, Hint: v.tr("The first line names the columns. A file goes before what stands here.")},
		Retire: ui.Field{Name: "retire_missing", Label: v.tr("Retire rules that are not in the file"), Kind: ui.FieldCheckbox, Value: "yes", Checked: retire,
			Hint: v.tr("Else they stay as they are.")},
		Columns: v.importColumns()}
	if plan != nil {
		for _, p := range plan.Problems {
			out.Problems = append(out.Problems, v.sheetProblem(p))
		}
		if plan.More > 0 {
			out.More = v.tr("And %d more.", plan.More)
		}
	}
	return render(v.c, status, views.ImportRules(out))
}

func (w words) importColumns() []views.ImportColumn {
	return []views.ImportColumn{
		{Name: "rule, version", What: w.tr("As exported: which rule the line is about. Empty for a new rule, or for one that is found by what it covers.")},
		{Name: "currency, from, to", What: w.tr("The amounts, both included, as plain decimals such as 10000.01.")},
		{Name: "tool, document_type, supplier, cost_centre", What: w.tr("What the rule is for; empty is any.")},
		{Name: "role, people", What: w.tr("Who decides: a role such as finance_lead, or e-mail addresses with blanks between them.")},
		{Name: "then_role, then_people", What: w.tr("Who comes second, when one decides after the other.")},
		{Name: "required", What: w.tr("1 or 2 people. Empty is 1, or 2 when somebody comes second.")},
		{Name: "valid", What: w.tr("How long an approval is good, such as 24h, 90m or 3d. Empty is 24h.")},
		{Name: "written_by, written_at", What: w.tr("For people to read; not imported.")},
	}
}

// preview shows what a sheet would change, with the form that carries it out.
func (v *visit) preview(status int, plan approvals.SheetPlan, sheet []byte, retire bool, errors []ui.FieldError) error {
	page, err := v.page(v.tr("What the sheet would change"), v.link("/settings/rules/import"), "")
	if err != nil {
		return err
	}
	out := views.ImportPreview{Page: page, Back: v.link("/settings/rules"), Again: v.link("/settings/rules/import"),
		Counts: []ui.Entry{ui.Pair(v.tr("Added"), v.trn("%d rule", "%d rules", len(plan.Added))), ui.Pair(v.tr("Changed"), v.trn("%d rule", "%d rules", len(plan.Changed))),
			ui.Pair(v.tr("Retired"), v.trn("%d rule", "%d rules", len(plan.Retired))), ui.Pair(v.tr("Unchanged"), v.trn("%d rule", "%d rules", plan.Unchanged))}}
	if plan.Missing > 0 {
		out.Counts = append(out.Counts, ui.Pair(v.tr("Not in the sheet"), v.trn("%d rule, which stays", "%d rules, which stay", plan.Missing)))
	}
	for _, c := range plan.Added {
		out.Added = append(out.Added, views.ImportChange{Line: v.tr("line %d", c.Line), Text: ui.Foreign(v.ruleSentence(*c.After))})
	}
	for _, c := range plan.Changed {
		out.Changed = append(out.Changed, views.ImportChange{Line: v.tr("line %d", c.Line), Name: v.ruleTitle(c.Before.Rule.ID), URL: v.ruleURL(c.Before.Rule.ID), Fields: v.changedFields(c.Fields),
			Looser: v.looser(c.Looser)})
	}
	for _, c := range plan.Retired {
		out.Retired = append(out.Retired, views.ImportChange{Name: v.ruleTitle(c.Before.Rule.ID), URL: v.ruleURL(c.Before.Rule.ID), Text: ui.Foreign(v.ruleInWords(c.Before.Text))})
	}
	if plan.Changes() > 0 {
		form := v.form(v.link("/settings/rules/import/apply"))
		form.Version = strconv.FormatInt(plan.Version, 10)
		if form.Errors = errors; len(errors) > 0 {
			form.Heading = v.tr("Nothing was imported")
		}
		out.Form, out.Button = &form, v.trn("Apply: %d change", "Apply: %d changes", plan.Changes())
		out.Hidden = []ui.Hidden{{Name: "sheet", Value: base64.StdEncoding.EncodeToString(sheet)}}
		if retire {
			out.Hidden = append(out.Hidden, ui.Hidden{Name: "retire_missing", Value: "yes"})
		}
	}
	return render(v.c, status, views.PreviewImport(out))
}

// looser says in what a rule would be less strict than it is, empty when in nothing.
func (w words) looser(how []approvals.Loosening) string {
	var parts []string
	for _, h := range how {
		switch h {
		case approvals.LooserPeople:
			parts = append(parts, w.tr("fewer people decide"))
		case approvals.LooserAmounts:
			parts = append(parts, w.tr("it reaches amounts that it did not reach"))
		case approvals.LooserWrites:
			parts = append(parts, w.tr("it is for writes that it was not for"))
		case approvals.LooserValid:
			parts = append(parts, w.tr("an approval is good for longer"))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return w.tr("Less strict than now: %s.", w.list(parts))
}

// ruleSentence is a rule in one line, with how many decide and for how long.
func (w words) ruleSentence(r approvals.RuleView) string {
	text := w.ruleInWords(r.Text)
	if how := w.howWords(r); how != "" {
		text += " · " + how
	}
	return text + " · " + w.tr("good for %s", w.span(r.Valid))
}

// ruleTitle names a rule by the end of its id, as its findings do.
func (w words) ruleTitle(id string) string {
	return w.tr("Rule %s", strings.TrimPrefix(approvals.RuleName(id), "Rule "))
}

// amountsIn writes the amounts in a text of the services by the reader's marks.
func (w words) amountsIn(text string) string { return w.lang.AmountsIn(text) }

// ruleValue is the value of a field of a rule. What the rule names stays as it was typed.
func (w words) ruleValue(field, value string) string {
	switch field {
	case "From", "To":
		return w.amountsIn(value)
	case "Who decides", "Then", "How many":
		return w.said(value)
	case "Currency", "Approval good for":
		return value
	}
	if value == "any" {
		return w.tr("any")
	}
	return value
}

// sheetProblem is what is wrong with a line of a sheet.
func (w words) sheetProblem(p approvals.SheetProblem) string {
	said := w.said(p.Message)
	switch {
	case p.Line == 0:
		return said
	case p.Column == "":
		return w.tr("Line %d: %s", p.Line, said)
	}
	return w.tr("Line %d, column %s: %s", p.Line, p.Column, said)
}
