package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
)

type workspaceCmd struct {
	Create workspaceCreateCmd `cmd:"" help:"Create a workspace."`
	Set    workspaceSetCmd    `cmd:"" help:"Set a workspace's closed period, holidays and bindings."`
}

type workspaceCreateCmd struct {
	ID       string `required:"" help:"Company code, such as 1000." placeholder:"CODE"`
	Name     string `required:"" help:"Name of the company."`
	TimeZone string `required:"" help:"IANA time zone, such as Europe/Berlin." placeholder:"ZONE"`
	Currency string `required:"" help:"Home currency, such as EUR." placeholder:"ISO"`
}

func (c workspaceCreateCmd) Run(e *env) error {
	err := e.inWorkspace(c.ID, func(tx *models.Tx) error {
		return tx.CreateWorkspace(models.Workspace{ID: c.ID, Name: c.Name, TimeZone: c.TimeZone, Currency: c.Currency})
	})
	if err == nil {
		fmt.Fprintf(e.stdout, "Workspace %s (%s) created.\n", c.ID, c.Name)
	}
	return err
}

type workspaceSetCmd struct {
	ID                  string   `required:"" help:"Company code." placeholder:"CODE"`
	PeriodClosedThrough *string  `help:"Books are closed through this date; an empty value opens all." placeholder:"DATE"`
	Holiday             []string `help:"A day on which nobody works; repeat or separate by commas." placeholder:"DATE"`
	Binding             string   `help:"JSON file: for each write tool where in its arguments the invoice, amount, currency, posting date and supplier stand, as JSON Pointers." placeholder:"FILE" type:"existingfile"`
}

func (c workspaceSetCmd) Run(e *env) error {
	var through models.Date
	var issues []models.Issue
	if c.PeriodClosedThrough != nil && *c.PeriodClosedThrough != "" {
		var err error
		if through, err = models.ParseDate(*c.PeriodClosedThrough); err != nil {
			issues = append(issues, models.Issue{Path: "/period_closed_through", Message: err.Error()})
		}
	}
	var days []models.Date
	for _, h := range c.Holiday {
		d, err := models.ParseDate(h)
		if err != nil {
			issues = append(issues, models.Issue{Path: "/holiday", Message: err.Error()})
			continue
		}
		days = append(days, d)
	}
	bindings, bindingIssue := readBindings(c.Binding)
	if bindingIssue != nil {
		issues = append(issues, *bindingIssue)
	}
	if len(issues) > 0 {
		return models.Invalid(issues...)
	}
	if c.PeriodClosedThrough == nil && len(days) == 0 && len(bindings) == 0 {
		return errors.New("nothing to set: give --period-closed-through, --holiday or --binding")
	}
	err := e.inWorkspace(c.ID, func(tx *models.Tx) error {
		if _, err := tx.Workspace(); err != nil {
			if errors.Is(err, models.ErrNoRow) {
				return models.Missing("workspace", c.ID)
			}
			return err
		}
		if c.PeriodClosedThrough != nil {
			if err := tx.MovePeriod(through, models.Date{}); err != nil {
				return err
			}
		}
		if len(days) > 0 {
			if err := tx.AddHolidays(days...); err != nil {
				return err
			}
		}
		for tool, b := range bindings {
			if err := tx.SetBinding(tool, b); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		fmt.Fprintf(e.stdout, "Workspace %s set.\n", c.ID)
	}
	return err
}

// readBindings reads {"tool": {"invoice_id": "/invoice_id", "amount": "/amount", …}, …}.
func readBindings(file string) (map[string]models.Binding, *models.Issue) {
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, &models.Issue{Path: "/binding", Message: err.Error()}
	}
	var bindings map[string]models.Binding
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&bindings); err != nil {
		return nil, &models.Issue{Path: "/binding", Message: `must hold {"TOOL": {"invoice_id": "/POINTER", "amount": …, "currency": …, "posting_date": …, "supplier_id": …}}: ` + err.Error()}
	}
	for tool, b := range bindings {
		for _, p := range []string{b.InvoiceID, b.Amount, b.Currency, b.PostingDate, b.SupplierID} {
			if p != "" && !strings.HasPrefix(p, "/") {
				return nil, &models.Issue{Path: "/binding", Message: fmt.Sprintf("has the pointer %q for %s; a JSON Pointer starts with /", p, tool)}
			}
		}
	}
	return bindings, nil
}

type userCmd struct {
	Create userCreateCmd `cmd:"" help:"Create a person or service account, or add a known one to a workspace."`
}

type userCreateCmd struct {
	Email         string   `required:"" help:"E-mail address, which is also the name to sign in with."`
	Name          string   `help:"Full name; needed for a new user."`
	Workspace     string   `required:"" help:"Workspace to join." placeholder:"CODE"`
	Role          []string `required:"" help:"Role in the workspace; repeat or separate by commas: ap_clerk, ap_lead, procurement, finance_lead, master_data, auditor, admin, agent, erp."`
	TimeZone      string   `help:"The person's own time zone; default the workspace's." placeholder:"ZONE"`
	PasswordStdin bool     `help:"Read the person's password from standard input."`
	Service       bool     `help:"A service account: works with tokens, cannot sign in to pages."`
	Owner         string   `help:"E-mail of a service account's responsible person." placeholder:"EMAIL"`
}

func (c userCreateCmd) Run(e *env) error {
	n := models.NewUser{Email: c.Email, Name: c.Name, TimeZone: c.TimeZone, Service: c.Service, OwnerEmail: c.Owner}
	for _, r := range c.Role {
		n.Roles = append(n.Roles, models.Role(strings.TrimSpace(r)))
	}
	if c.Owner != "" && !c.Service {
		return errors.New("--owner goes with --service")
	}
	if c.PasswordStdin {
		line, err := bufio.NewReader(e.stdin).ReadString('\n')
		if err != nil && line == "" {
			return errors.New("--password-stdin: no password came on standard input")
		}
		if n.PasswordHash, err = models.HashPassword(strings.TrimRight(line, "\r\n")); err != nil {
			return err
		}
	}
	var user models.User
	var isNew bool
	err := e.inWorkspace(c.Workspace, func(tx *models.Tx) error {
		var err error
		user, isNew, err = tx.CreateUser(n)
		return err
	})
	if err != nil {
		return err
	}
	if !isNew {
		fmt.Fprintf(e.stdout, "%s is known and now a member of workspace %s as %s; nothing else changed.\n", user.Email, c.Workspace, strings.Join(c.Role, ", "))
		return nil
	}
	fmt.Fprintf(e.stdout, "%s (%s) created in workspace %s as %s.\n", user.Name, user.Email, c.Workspace, strings.Join(c.Role, ", "))
	if user.Kind == models.KindPerson && n.PasswordHash == "" {
		fmt.Fprintln(e.stderr, "No password was given (--password-stdin), so this person cannot sign in.")
	}
	return nil
}

type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Create a token; it is printed once and kept only as a hash."`
}

type tokenCreateCmd struct {
	User      string        `required:"" help:"E-mail of the user it acts for." placeholder:"EMAIL"`
	Name      string        `required:"" help:"What it is for."`
	Scope     []string      `required:"" help:"Scope; repeat or separate by commas: cases, approvals, confirmations, holds with :read or :write; money; all."`
	Workspace string        `help:"Default workspace of calls that name none." placeholder:"CODE"`
	Expires   time.Duration `help:"Life of the token, such as 720h; default no end."`
}

func (c tokenCreateCmd) Run(e *env) error {
	n := models.NewToken{UserEmail: c.User, Name: c.Name, DefaultWorkspace: c.Workspace}
	for _, s := range c.Scope {
		n.Scopes = append(n.Scopes, models.Scope(strings.TrimSpace(s)))
	}
	var secret string
	err := e.inWorkspace(c.Workspace, func(tx *models.Tx) error {
		if c.Expires > 0 {
			n.ExpiresAt = tx.Now.Add(c.Expires)
		}
		var err error
		secret, _, err = tx.CreateToken(n)
		return err
	})
	if err == nil {
		fmt.Fprintln(e.stdout, secret)
	}
	return err
}
