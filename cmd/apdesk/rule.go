package main

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
)

type ruleCmd struct {
	Create ruleCreateCmd `cmd:"" help:"Add a rule: who may approve which writes up to which amount."`
}

type ruleCreateCmd struct {
	Workspace    string        `required:"" help:"Workspace the rule belongs to." placeholder:"CODE"`
	Role         string        `help:"Role whose people may approve; instead of --person." placeholder:"ROLE"`
	Person       []string      `help:"E-mail of a person who may approve; repeat or separate by commas; instead of --role." placeholder:"EMAIL"`
	Currency     string        `required:"" help:"Currency of the amounts." placeholder:"ISO"`
	From         string        `required:"" help:"Lowest amount, included." placeholder:"AMOUNT"`
	To           string        `required:"" help:"Highest amount, included." placeholder:"AMOUNT"`
	Tool         string        `help:"Only this write tool; default any."`
	DocumentType string        `help:"Only this document type; default any."`
	Supplier     string        `help:"Only this supplier; default any."`
	CostCentre   string        `help:"Only this cost centre; default any."`
	Required     int           `help:"How many different people must say yes, 1 or 2." default:"1"`
	Valid        time.Duration `help:"How long an approval stays good." default:"24h"`
}

func (c ruleCreateCmd) Run(e *env) error {
	if c.Required != 1 && c.Required != 2 {
		return models.Invalid(models.Issue{Path: "/required", Message: "must be 1 or 2 people"})
	}
	store, err := e.open()
	if err != nil {
		return err
	}
	rule, err := approvals.New(store).CreateRule(e.ctx, models.Operator(c.Workspace), approvals.NewRule{
		Tool: c.Tool, DocumentType: c.DocumentType, Supplier: c.Supplier, CostCentre: c.CostCentre,
		Currency: c.Currency, From: c.From, To: c.To, Role: models.Role(c.Role), People: c.Person, Required: c.Required, Valid: c.Valid,
	})
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	who := c.Role
	if who == "" {
		who = strings.Join(c.Person, ", ")
	}
	fmt.Fprintf(e.stdout, "Rule %s created in workspace %s: %s from %s to %s, %d of %s.\n", rule.ID, c.Workspace, c.Currency, c.From, c.To, c.Required, who)
	return nil
}
