package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
)

type ruleCmd struct {
	Create ruleCreateCmd `cmd:"" help:"Add a rule: who may approve which writes up to which amount."`
	List   ruleListCmd   `cmd:"" help:"List the rules in force, and what is found about them."`
	Retire ruleRetireCmd `cmd:"" help:"Take a rule out of use; requests it routed keep their copy."`
	Export ruleExportCmd `cmd:"" help:"Write the rules in force to a CSV file."`
	Import ruleImportCmd `cmd:"" help:"Add and change rules from a CSV file, all or none."`
}

type ruleCreateCmd struct {
	Workspace    string   `required:"" help:"Workspace the rule belongs to." placeholder:"CODE"`
	Role         string   `help:"Role whose people may approve; instead of --person." placeholder:"ROLE"`
	Person       []string `help:"E-mail of a person who may approve; repeat or separate by commas; instead of --role." placeholder:"EMAIL"`
	ThenRole     string   `help:"Role that approves second, after the first said yes; instead of --then-person." placeholder:"ROLE"`
	ThenPerson   []string `help:"E-mail of a person who may approve second; repeat or separate by commas." placeholder:"EMAIL"`
	Currency     string   `required:"" help:"Currency of the amounts." placeholder:"ISO"`
	From         string   `required:"" help:"Lowest amount, included." placeholder:"AMOUNT"`
	To           string   `required:"" help:"Highest amount, included." placeholder:"AMOUNT"`
	Tool         string   `help:"Only this write tool; default any."`
	DocumentType string   `help:"Only this document type; default any."`
	Supplier     string   `help:"Only this supplier; default any."`
	CostCentre   string   `help:"Only this cost centre; default any."`
	Required     *int     `help:"How many different people must say yes, 1 or 2; default 1, or 2 when somebody comes second." placeholder:"N"`
	Valid        string   `help:"How long an approval stays good, such as 24h, 90m or 3d." default:"24h"`
}

func (c ruleCreateCmd) Run(e *env) error {
	n := approvals.NewRule{Tool: c.Tool, DocumentType: c.DocumentType, Supplier: c.Supplier, CostCentre: c.CostCentre, Currency: c.Currency, From: c.From, To: c.To,
		Role: models.Role(c.Role), People: c.Person, ThenRole: models.Role(c.ThenRole), ThenPeople: c.ThenPerson}
	var issues []models.Issue
	if c.Required != nil {
		if n.Required = *c.Required; n.Required != 1 && n.Required != 2 {
			issues = append(issues, models.Issue{Path: "/required", Message: "must be 1 or 2 people"})
		}
	}
	var err error
	if n.Valid, err = approvals.ParseValid(c.Valid); err != nil {
		issues = append(issues, models.Issue{Path: "/valid", Message: err.Error()})
	}
	if len(issues) > 0 {
		return models.Invalid(issues...)
	}
	var rule models.Rule
	err = e.withRules(func(s *approvals.Service) error {
		rule, err = s.CreateRule(e.ctx, models.Operator(c.Workspace), n)
		return err
	})
	if err != nil {
		return err
	}
	who := whoIn(c.Role, c.Person)
	if c.ThenRole != "" || len(c.ThenPerson) > 0 {
		who += ", then " + whoIn(c.ThenRole, c.ThenPerson)
	}
	fmt.Fprintf(e.stdout, "Rule %s created in workspace %s: %s from %s to %s, %d of %s.\n", rule.ID, c.Workspace, c.Currency, c.From, c.To, rule.Required, who)
	return nil
}

func whoIn(role string, people []string) string {
	if role != "" {
		return role
	}
	return strings.Join(people, ", ")
}

// withRules opens the database for something about the rules.
func (e *env) withRules(do func(*approvals.Service) error) error {
	store, err := e.open()
	if err != nil {
		return err
	}
	return errors.Join(do(approvals.New(store)), store.Close())
}

type ruleListCmd struct {
	Workspace string `required:"" help:"Workspace whose rules to list." placeholder:"CODE"`
}

func (c ruleListCmd) Run(e *env) error {
	var m approvals.Matrix
	err := e.withRules(func(s *approvals.Service) error {
		var err error
		m, err = s.Matrix(e.ctx, models.Operator(c.Workspace))
		return err
	})
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "RULE\tVERSION\tCURRENCY\tFROM\tTO\tFOR\tWHO DECIDES\tVOTES\tVALID")
	for _, v := range m.Rules {
		r := v.Rule
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\t%s\t%d\t%s\n", r.ID, r.Version, r.Currency, r.FromAmount, r.ToAmount, approvals.ScopeOf(r).Text(), v.Who, r.Required, approvals.ValidText(v.Valid))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, f := range m.Findings {
		if f.Warn {
			fmt.Fprintln(e.stdout, "!", f.Text)
		}
	}
	return nil
}

type ruleRetireCmd struct {
	Rule      string `arg:"" help:"Id of the rule." placeholder:"RULE"`
	Workspace string `required:"" help:"Workspace the rule belongs to." placeholder:"CODE"`
}

func (c ruleRetireCmd) Run(e *env) error {
	err := e.withRules(func(s *approvals.Service) error {
		by := models.Operator(c.Workspace)
		rule, err := s.Rule(e.ctx, by, c.Rule)
		if err != nil {
			return err
		}
		return s.RetireRule(e.ctx, by, c.Rule, rule.Rule.Version)
	})
	if err == nil {
		fmt.Fprintf(e.stdout, "Rule %s of workspace %s retired.\n", c.Rule, c.Workspace)
	}
	return err
}

type ruleExportCmd struct {
	File      string `arg:"" help:"File to write; - is standard output." placeholder:"FILE"`
	Workspace string `required:"" help:"Workspace whose rules to write." placeholder:"CODE"`
}

func (c ruleExportCmd) Run(e *env) error {
	var sheet []byte
	err := e.withRules(func(s *approvals.Service) error {
		var err error
		sheet, err = s.ExportSheet(e.ctx, models.Operator(c.Workspace))
		return err
	})
	if err != nil {
		return err
	}
	if c.File == "-" {
		_, err := e.stdout.Write(sheet)
		return err
	}
	if err := os.WriteFile(c.File, sheet, 0o600); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%d rules of workspace %s written to %s.\n", bytes.Count(sheet, []byte("\n"))-1, c.Workspace, c.File)
	return nil
}

type ruleImportCmd struct {
	File          string `arg:"" help:"CSV file to read; - is standard input." placeholder:"FILE"`
	Workspace     string `required:"" help:"Workspace the rules belong to." placeholder:"CODE"`
	RetireMissing bool   `help:"Retire rules that are not in the file."`
	DryRun        bool   `help:"Say what would change, and change nothing."`
}

func (c ruleImportCmd) Run(e *env) error {
	sheet, err := c.read(e)
	if err != nil {
		return err
	}
	var plan approvals.SheetPlan
	err = e.withRules(func(s *approvals.Service) error {
		by := models.Operator(c.Workspace)
		var err error
		if plan, err = s.PlanSheet(e.ctx, by, sheet, c.RetireMissing); err != nil || len(plan.Problems) > 0 || c.DryRun {
			return err
		}
		plan, err = s.ApplySheet(e.ctx, by, sheet, c.RetireMissing, plan.Version)
		return err
	})
	if err != nil {
		return err
	}
	if len(plan.Problems) > 0 {
		lines := make([]string, 0, len(plan.Problems)+1)
		for _, p := range plan.Problems {
			lines = append(lines, p.String())
		}
		if plan.More > 0 {
			lines = append(lines, fmt.Sprintf("and %d more", plan.More))
		}
		return fmt.Errorf("nothing was imported from %s:\n%s", c.File, strings.Join(lines, "\n"))
	}
	c.tell(e, plan)
	return nil
}

func (c ruleImportCmd) read(e *env) ([]byte, error) {
	if c.File != "-" {
		return os.ReadFile(c.File)
	}
	return io.ReadAll(io.LimitReader(e.stdin, approvals.MaxSheetBytes+1))
}

// tell says what changed, or would.
func (c ruleImportCmd) tell(e *env, plan approvals.SheetPlan) {
	for _, a := range plan.Added {
		fmt.Fprintf(e.stdout, "added     line %d: %s\n", a.Line, a.After.Text)
	}
	for _, ch := range plan.Changed {
		var fields []string
		for _, f := range ch.Fields {
			fields = append(fields, fmt.Sprintf("%s: %s -> %s", f.Field, f.Before, f.After))
		}
		fmt.Fprintf(e.stdout, "changed   %s: %s\n", ch.Before.Rule.ID, strings.Join(fields, "; "))
	}
	for _, r := range plan.Retired {
		fmt.Fprintf(e.stdout, "retired   %s: %s\n", r.Before.Rule.ID, r.Before.Text)
	}
	verb := "Imported"
	if c.DryRun {
		verb = "Dry run, nothing was changed"
	}
	fmt.Fprintf(e.stdout, "%s: %d added, %d changed, %d retired, %d unchanged", verb, len(plan.Added), len(plan.Changed), len(plan.Retired), plan.Unchanged)
	if plan.Missing > 0 {
		fmt.Fprintf(e.stdout, ", %d not in the file and kept", plan.Missing)
	}
	fmt.Fprintln(e.stdout, ".")
}
