package main

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/apdesk/apdesk/models"
)

// deskURL is where people reach the desk, for links to hand over.
type deskURL struct {
	PublicURL string `help:"Where people reach the desk; the link begins with it." name:"public-url" default:"http://127.0.0.1:8080" env:"APDESK_PUBLIC_URL" placeholder:"URL"`
}

func (d deskURL) link(secret string) (string, error) {
	u, err := url.Parse(strings.TrimSuffix(d.PublicURL, "/"))
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return "", fmt.Errorf("--public-url %q: must be an http or https URL", d.PublicURL)
	}
	return u.String() + "/welcome?" + url.Values{"link": {secret}}.Encode(), nil
}

type userInviteCmd struct {
	Email     string   `required:"" help:"E-mail address, which is also the name to sign in with."`
	Name      string   `help:"Full name; the invited person can change it."`
	Workspace string   `required:"" help:"Workspace to join." placeholder:"CODE"`
	Role      []string `required:"" help:"Role in the workspace; repeat or separate by commas."`
	TimeZone  string   `help:"The person's own time zone; default the workspace's." placeholder:"ZONE"`
	deskURL
}

func (c userInviteCmd) Run(e *env) error {
	if _, err := c.link(""); err != nil {
		return err
	}
	n := models.NewUser{Email: c.Email, Name: c.Name, TimeZone: c.TimeZone}
	for _, r := range c.Role {
		n.Roles = append(n.Roles, models.Role(strings.TrimSpace(r)))
	}
	var in models.Invited
	err := e.inWorkspace(c.Workspace, func(tx *models.Tx) error {
		var err error
		in, err = tx.Invite(n)
		return err
	})
	if err != nil {
		return err
	}
	if in.Secret == "" {
		fmt.Fprintf(e.stdout, "%s is known and now a member of workspace %s as %s; nothing else changed.\n", in.User.Email, c.Workspace, strings.Join(c.Role, ", "))
		return nil
	}
	link, err := c.link(in.Secret)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, link)
	fmt.Fprintf(e.stderr, "Hand this link to %s: it works once, until %s, and is shown only now.\n", in.Link.Email, in.Link.ExpiresAt)
	return nil
}

type userResetCmd struct {
	Email string `required:"" help:"E-mail of the person."`
	deskURL
}

func (c userResetCmd) Run(e *env) error {
	if _, err := c.link(""); err != nil {
		return err
	}
	var secret string
	var made models.OneTimeLink
	_, err := e.changeUser(c.Email, "", func(tx *models.Tx, u models.User) error {
		var err error
		secret, made, err = tx.ResetLink(u.ID)
		return err
	})
	if err != nil {
		return err
	}
	link, err := c.link(secret)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, link)
	fmt.Fprintf(e.stderr, "Hand this link to %s: it sets a new password, works once, until %s, and is shown only now.\n", made.Email, made.ExpiresAt)
	return nil
}

type userLockedCmd struct {
	Email string `help:"Only of this e-mail."`
}

func (c userLockedCmd) Run(e *env) error {
	store, err := e.open()
	if err != nil {
		return err
	}
	now := store.Now()
	locks, err := store.SignInLocks(e.ctx, models.Operator(""), c.Email)
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	out := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "COUNTED FOR\tEMAIL\tADDRESS\tFAILED\tLAST\tWAITS UNTIL")
	words := map[string]string{"account": "account, anywhere unknown", "address": "address", "pair": "account at address", "device": "account in a known browser", "password": "present password"}
	for _, l := range locks {
		until := "-"
		if now.Before(l.Until.Time) {
			until = l.Until.Truncate(time.Second).Format(time.RFC3339)
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%d\t%s\t%s\n", words[l.What], dash(oneLine(l.Email)), dash(oneLine(l.Address)), l.Failures, l.Last.Truncate(time.Second).Format(time.RFC3339), until)
	}
	return out.Flush()
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

type userUnlockCmd struct {
	Email   string `help:"E-mail of the person whose failed sign-ins are forgotten." xor:"what"`
	Address string `help:"Address whose failed sign-ins are forgotten." xor:"what"`
}

func (c userUnlockCmd) Run(e *env) error {
	if c.Email == "" && c.Address == "" {
		return errors.New("give --email or --address")
	}
	var n int64
	err := e.inWorkspace("", func(tx *models.Tx) error {
		var err error
		n, err = tx.ClearSignInLocks(c.Email, c.Address)
		return err
	})
	if err != nil {
		return err
	}
	if n == 0 {
		fmt.Fprintf(e.stdout, "No failed sign-in of %s is counted.\n", c.Email+c.Address)
		return nil
	}
	fmt.Fprintf(e.stdout, "The failed sign-ins of %s are forgotten.\n", c.Email+c.Address)
	return nil
}

type tokenListCmd struct {
	Workspace string `help:"Only of the members of this workspace." placeholder:"CODE"`
	User      string `help:"Only of this user." placeholder:"EMAIL"`
}

func (c tokenListCmd) Run(e *env) error {
	store, err := e.open()
	if err != nil {
		return err
	}
	tokens, err := store.Tokens(e.ctx, models.Operator(c.Workspace))
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	out := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "ID\tUSER\tNAME\tBEGINS\tSCOPES\tCREATED BY\tLAST USED\tENDS\tSTATE")
	for _, t := range tokens {
		if c.User != "" && t.User.Email != strings.ToLower(strings.TrimSpace(c.User)) {
			continue
		}
		state := "good"
		switch {
		case !t.Token.RevokedAt.IsZero():
			state = "revoked"
		case !t.Good:
			state = "ended"
		case t.Token.ReplacedByID != nil:
			state = "rotated"
		}
		by := oneLine(t.CreatedBy)
		if by == "" {
			by = "operator"
		}
		fmt.Fprintf(out, "%s\t%s\t%s\t%s…\t%s\t%s\t%s\t%s\t%s\n", t.Token.ID, t.User.Email, oneLine(t.Token.Name), t.Token.Prefix, t.Token.Scopes, by, day(t.Token.LastUsedAt), day(t.Token.ExpiresAt), state)
	}
	return out.Flush()
}

func day(t models.Time) string {
	if t.IsZero() {
		return "never"
	}
	return t.UTC().Format(time.RFC3339[:16] + "Z")
}

// tokenID names a token by its id or by what it begins with.
type tokenID struct {
	Token string `arg:"" help:"Id of the token, as apdesk token list shows it." placeholder:"ID"`
}

type tokenRevokeCmd struct{ tokenID }

func (c tokenRevokeCmd) Run(e *env) error {
	var token models.Token
	err := e.inWorkspace("", func(tx *models.Tx) error {
		var err error
		token, err = tx.RevokeToken(c.Token)
		return err
	})
	if err == nil {
		fmt.Fprintf(e.stdout, "The token %s… (%s) is revoked; calls with it are refused from now on.\n", token.Prefix, oneLine(token.Name))
	}
	return err
}

type tokenRotateCmd struct {
	tokenID
	Overlap time.Duration `help:"How long the old token goes on: 0h to 168h." default:"24h"`
}

func (c tokenRotateCmd) Run(e *env) error {
	var secret string
	err := e.inWorkspace("", func(tx *models.Tx) error {
		var err error
		secret, _, err = tx.RotateToken(c.Token, c.Overlap)
		return err
	})
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, secret)
	fmt.Fprintf(e.stderr, "The old token goes on for %s.\n", c.Overlap)
	return nil
}
