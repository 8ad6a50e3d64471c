package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/apdesk/apdesk/models"
)

type workspaceCmd struct {
	Create workspaceCreateCmd `cmd:"" help:"Create a workspace."`
	Set    workspaceSetCmd    `cmd:"" help:"Set a workspace's closed period, holidays, hours and bindings."`
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
	OpensAt             string   `help:"When a business day begins, such as 09:00." placeholder:"TIME"`
	ClosesAt            string   `help:"When a business day ends, such as 17:00." placeholder:"TIME"`

	SLA      map[models.Queue]int  `name:"sla" help:"Business hours a queue has for a case, such as ap=8; repeatable. Hours count for cases that arrive from then on." placeholder:"QUEUE=HOURS"`
	DueSoon  map[models.Queue]int  `help:"Business hours before it is due from which a case counts as due soon, such as ap=2; repeatable." placeholder:"QUEUE=HOURS"`
	Escalate map[models.Queue]bool `help:"Whether overdue cases of a queue are brought before the AP leads and its people, such as ap=false; repeatable." placeholder:"QUEUE=BOOL"`

	StepUp       map[string]string `help:"Above which amount approving asks people again that it is them, such as EUR=10000; repeatable. An empty amount asks no more." placeholder:"CURRENCY=AMOUNT"`
	SecondFactor *bool             `help:"Whether people whose roles decide need a passkey (true or false)." placeholder:"BOOL"`

	Binding string `help:"JSON file: for each write tool where in its arguments the invoice, amount, currency, posting date and supplier stand, as JSON Pointers." placeholder:"FILE" type:"existingfile"`
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
	hours, hourIssues := c.hours()
	issues = append(issues, checkStepUp(c.StepUp)...)
	if issues = append(issues, hourIssues...); len(issues) > 0 {
		return models.Invalid(issues...)
	}
	if c.PeriodClosedThrough == nil && len(days) == 0 && len(bindings) == 0 && hours == nil && len(c.StepUp) == 0 && c.SecondFactor == nil {
		return errors.New("nothing to set: give --period-closed-through, --holiday, --opens-at, --closes-at, --sla, --due-soon, --escalate, --step-up, --second-factor or --binding")
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
		if hours != nil {
			if err := tx.SetWorkHours(hours, ""); err != nil {
				return err
			}
		}
		for currency, above := range c.StepUp {
			if err := tx.SetStepUp(currency, above); err != nil {
				return err
			}
		}
		if c.SecondFactor != nil {
			if err := tx.SetSecondFactor(*c.SecondFactor); err != nil {
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

// hours is the change of the workspace's hours that was asked for, nil when none was.
func (c workspaceSetCmd) hours() (func(models.WorkHours) models.WorkHours, []models.Issue) {
	if c.OpensAt == "" && c.ClosesAt == "" && len(c.SLA) == 0 && len(c.DueSoon) == 0 && len(c.Escalate) == 0 {
		return nil, nil
	}
	var issues []models.Issue
	read := func(path, text string) (at models.DayTime) {
		if text == "" {
			return 0
		}
		at, err := models.ParseDayTime(text)
		if err != nil {
			issues = append(issues, models.Issue{Path: path, Message: err.Error()})
		}
		return at
	}
	opens, closes := read("/opens_at", c.OpensAt), read("/closes_at", c.ClosesAt)
	for path, queues := range map[string][]models.Queue{"/sla": slices.Collect(maps.Keys(c.SLA)), "/due_soon": slices.Collect(maps.Keys(c.DueSoon)), "/escalate": slices.Collect(maps.Keys(c.Escalate))} {
		for _, q := range queues {
			if !q.Valid() {
				issues = append(issues, models.Issue{Path: path, Message: fmt.Sprintf("names %q, which is no queue", q)})
			}
		}
	}
	for q, n := range c.SLA {
		if n < 1 || n > models.MostSLAHours {
			issues = append(issues, models.Issue{Path: "/sla", Message: fmt.Sprintf("gives %s %d hours; it must be 1 to %d", q, n, models.MostSLAHours)})
		}
	}
	return func(h models.WorkHours) models.WorkHours {
		if c.OpensAt != "" {
			h.Opening.Opens = opens
		}
		if c.ClosesAt != "" {
			h.Opening.Closes = closes
		}
		for _, q := range models.Queues() {
			s := h.SLA(q)
			if n, ok := c.SLA[q]; ok {
				s.Hours = n
				if _, own := c.DueSoon[q]; !own {
					s.DueSoon = min(s.DueSoon, n) // never longer than the time itself
				}
			}
			if n, ok := c.DueSoon[q]; ok {
				s.DueSoon = n
			}
			if yes, ok := c.Escalate[q]; ok {
				s.Escalate = yes
			}
			h.SLAs[q] = s
		}
		return h
	}, issues
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
	Create     userCreateCmd     `cmd:"" help:"Create a person or service account, or add a known one to a workspace."`
	List       userListCmd       `cmd:"" help:"List the people and service accounts of a workspace."`
	Roles      userRolesCmd      `cmd:"" help:"Set the roles somebody has in a workspace; roles not named are taken away."`
	Deactivate userDeactivateCmd `cmd:"" help:"Deactivate somebody in one workspace, or everywhere."`
	Activate   userActivateCmd   `cmd:"" help:"Let somebody who was deactivated work again, in one workspace or everywhere."`
	Password   userPasswordCmd   `cmd:"" help:"Set a person's password from standard input; their sessions end."`
	Invite     userInviteCmd     `cmd:"" help:"Print a link with which somebody new joins a workspace and sets a password of their own."`
	Reset      userResetCmd      `cmd:"" help:"Print a link with which a person sets a new password."`
	Locked     userLockedCmd     `cmd:"" help:"List whose sign-ins have to wait after too many failures."`
	Unlock     userUnlockCmd     `cmd:"" help:"Forget the failed sign-ins of a person or an address."`
	Provider   userProviderCmd   `cmd:"" help:"Change how a person signs in through the identity provider."`
	Passkeys   userPasskeysCmd   `cmd:"" help:"List a person's passkeys, or remove them when they are lost."`
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
		password, err := e.password()
		if err != nil {
			return err
		}
		if n.PasswordHash, err = models.HashPassword(password, c.Email, c.Name); err != nil {
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
		fmt.Fprintln(e.stderr, "No password was given (--password-stdin), so this person cannot sign in until apdesk user reset gives them a link to set one, or apdesk user password sets one.")
	}
	return nil
}

// password reads a password from standard input.
func (e *env) password() (string, error) {
	line, err := bufio.NewReader(e.stdin).ReadString('\n')
	if err != nil && line == "" {
		return "", errors.New("--password-stdin: no password came on standard input")
	}
	return strings.TrimRight(line, "\r\n"), nil
}

type userListCmd struct {
	Workspace string `required:"" help:"Company code." placeholder:"CODE"`
}

func (c userListCmd) Run(e *env) error {
	store, err := e.open()
	if err != nil {
		return err
	}
	people, err := store.People(e.ctx, models.Operator(c.Workspace))
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	out := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "EMAIL\tNAME\tKIND\tSTATE\tROLES\tRESPONSIBLE")
	for _, p := range people {
		roles := make([]string, len(p.Roles))
		for i, r := range p.Roles {
			roles[i] = string(r)
		}
		state := "active"
		switch {
		case !p.User.Active:
			state = "deactivated everywhere"
		case !p.Joined:
			state = "deactivated"
		}
		owner := ""
		if p.User.Kind == models.KindService {
			owner = p.OwnerEmail
			if !p.OwnerActive {
				owner += " (not active)"
			}
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\n", p.User.Email, oneLine(p.User.Name), p.User.Kind, state, strings.Join(roles, ","), owner)
	}
	return out.Flush()
}

// oneLine keeps a name from looking like another row or column.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, s)
}

type userRolesCmd struct {
	Email     string   `required:"" help:"E-mail of the person or service account."`
	Workspace string   `required:"" help:"Company code." placeholder:"CODE"`
	Role      []string `required:"" help:"Role in the workspace; repeat or separate by commas."`
}

func (c userRolesCmd) Run(e *env) error {
	var roles []models.Role
	for _, r := range c.Role {
		roles = append(roles, models.Role(strings.TrimSpace(r)))
	}
	user, err := e.changeUser(c.Email, c.Workspace, func(tx *models.Tx, u models.User) error { return tx.SetRoles(u.ID, roles) })
	if err == nil {
		fmt.Fprintf(e.stdout, "%s has these roles in workspace %s now: %s.\n", user.Email, c.Workspace, strings.Join(c.Role, ", "))
	}
	return err
}

type userDeactivateCmd struct {
	Email     string `required:"" help:"E-mail of the person or service account."`
	Workspace string `help:"Only in this workspace; default everywhere." placeholder:"CODE"`
	Reason    string `help:"Why, for the trail."`
}

func (c userDeactivateCmd) Run(e *env) error {
	user, err := e.changeUser(c.Email, c.Workspace, func(tx *models.Tx, u models.User) error {
		if c.Workspace == "" {
			return tx.DeactivateUser(u.ID, c.Reason)
		}
		return tx.DeactivateMember(u.ID, c.Reason)
	})
	if err != nil {
		return err
	}
	where := "everywhere; sessions and tokens have ended"
	if c.Workspace != "" {
		where = "in workspace " + c.Workspace
	}
	fmt.Fprintf(e.stdout, "%s is deactivated %s. Claims went back, and approvals given but not used are revoked.\n", user.Email, where)
	return nil
}

type userActivateCmd struct {
	Email     string `required:"" help:"E-mail of the person or service account."`
	Workspace string `help:"Only in this workspace; default the user as such." placeholder:"CODE"`
}

func (c userActivateCmd) Run(e *env) error {
	user, err := e.changeUser(c.Email, c.Workspace, func(tx *models.Tx, u models.User) error {
		if c.Workspace == "" {
			return tx.ReactivateUser(u.ID)
		}
		return tx.ReactivateMember(u.ID)
	})
	if err != nil {
		return err
	}
	where := "wherever the membership is active"
	if c.Workspace != "" {
		where = "in workspace " + c.Workspace
	}
	fmt.Fprintf(e.stdout, "%s is active again %s. Ended sessions and tokens stay ended.\n", user.Email, where)
	return nil
}

type userPasswordCmd struct {
	Email         string `required:"" help:"E-mail of the person."`
	PasswordStdin bool   `required:"" help:"Read the password from standard input, never from an argument."`
}

func (c userPasswordCmd) Run(e *env) error {
	password, err := e.password()
	if err != nil {
		return err
	}
	user, err := e.changeUser(c.Email, "", func(tx *models.Tx, u models.User) error {
		hash, err := models.HashPassword(password, u.Email, u.Name)
		if err != nil {
			return err
		}
		return tx.SetPassword(u.ID, hash)
	})
	if err == nil {
		fmt.Fprintf(e.stdout, "The password of %s is set; their sessions have ended.\n", user.Email)
	}
	return err
}

// changeUser changes a known user in one transaction, as the operator of a workspace or, without one, of
// the whole desk.
func (e *env) changeUser(email, workspace string, change func(*models.Tx, models.User) error) (models.User, error) {
	var user models.User
	err := e.inWorkspace(workspace, func(tx *models.Tx) error {
		var err error
		if user, err = tx.UserByEmail(email); errors.Is(err, models.ErrNoRow) {
			return models.Invalid(models.Issue{Path: "/email", Message: "no user has this e-mail"})
		}
		if err != nil {
			return err
		}
		return change(tx, user)
	})
	return user, err
}

type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Create a token; it is printed once and kept only as a hash."`
	List   tokenListCmd   `cmd:"" help:"List tokens with their scopes, last use and end; never their secrets."`
	Revoke tokenRevokeCmd `cmd:"" help:"End a token at once."`
	Rotate tokenRotateCmd `cmd:"" help:"Print a new token that takes the place of another, which goes on for a while."`
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
