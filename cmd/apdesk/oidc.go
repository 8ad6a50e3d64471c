package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/auth/passkey"
	"github.com/apdesk/apdesk/web/auth/provider"
)

// oidcFlags are how people sign in through an identity provider.
type oidcFlags struct {
	Issuer           string   `help:"People sign in through this OpenID Connect provider too; such as https://login.example.com." env:"ISSUER" placeholder:"URL"`
	ClientID         string   `help:"What the provider calls the desk." name:"client-id" env:"CLIENT_ID" placeholder:"ID"`
	ClientSecret     string   `help:"Secret of the desk at the provider." env:"CLIENT_SECRET" placeholder:"TEXT"`
	ClientSecretFile string   `help:"File that holds that secret." env:"CLIENT_SECRET_FILE" placeholder:"FILE" type:"path"`
	Scopes           []string `help:"What the provider is asked for; default openid, email and profile." env:"SCOPES" placeholder:"SCOPE,..."`
	Name             string   `help:"What people call the provider, on the button." env:"NAME" placeholder:"TEXT"`
	Groups           string   `help:"Claim that lists somebody's groups." default:"groups" env:"GROUPS" placeholder:"CLAIM"`
	Role             []string `help:"Roles that a group gives, as GROUP=WORKSPACE:ROLE,...; repeat, or separate by semicolons. Memberships of the workspaces named then follow the groups at every sign-in." sep:";" env:"ROLES" placeholder:"GROUP=CODE:ROLE,..."`
	RoleFile         string   `help:"JSON file with the same: {\"GROUP\": {\"WORKSPACE\": [\"ROLE\", ...]}}." env:"ROLE_FILE" placeholder:"FILE" type:"path"`
	PasswordOff      bool     `help:"Who came through the provider once signs in no other way." env:"PASSWORD_OFF"`
}

// provider signs people in; nil when none is configured.
func (f oidcFlags) provider(store *models.Store, publicURL string) (*provider.Provider, error) {
	if f.Issuer == "" {
		if f.ClientID != "" || f.ClientSecret != "" || f.ClientSecretFile != "" || len(f.Scopes) > 0 || len(f.Role) > 0 || f.RoleFile != "" || f.PasswordOff {
			return nil, errors.New("the --oidc- settings need --oidc-issuer")
		}
		return nil, nil
	}
	secret, err := f.secret()
	if err != nil {
		return nil, err
	}
	roles, err := f.roles()
	if err != nil {
		return nil, err
	}
	cfg := provider.Config{Store: store, Issuer: f.Issuer, ClientID: f.ClientID, ClientSecret: secret, PublicURL: publicURL, Scopes: f.Scopes, Groups: f.Groups, Name: f.Name,
		Roles: roles, PasswordOff: f.PasswordOff}
	if store == nil { // only asked whether it answers
		cfg.Now = time.Now
	}
	p, err := provider.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("--oidc-issuer and its settings: %w", err)
	}
	return p, nil
}

func (f oidcFlags) secret() (string, error) {
	if f.ClientSecretFile == "" {
		return f.ClientSecret, nil
	}
	if f.ClientSecret != "" {
		return "", errors.New("give --oidc-client-secret or --oidc-client-secret-file, not both")
	}
	text, err := os.ReadFile(f.ClientSecretFile)
	if err != nil {
		return "", fmt.Errorf("--oidc-client-secret-file: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// roles are those of the flags and the file together.
func (f oidcFlags) roles() (models.ProviderRoles, error) {
	roles := models.ProviderRoles{}
	if f.RoleFile != "" {
		text, err := os.ReadFile(f.RoleFile)
		if err != nil {
			return nil, fmt.Errorf("--oidc-role-file: %w", err)
		}
		if err := json.Unmarshal(text, &roles); err != nil {
			return nil, fmt.Errorf("--oidc-role-file %s: must hold {\"GROUP\": {\"WORKSPACE\": [\"ROLE\"]}}: %w", f.RoleFile, err)
		}
	}
	for _, line := range f.Role {
		// A group may hold "=", such as a distinguished name; a workspace and a role cannot.
		at := strings.LastIndex(line, "=")
		if at < 1 {
			return nil, fmt.Errorf("--oidc-role %q: must be GROUP=WORKSPACE:ROLE with commas between several roles", line)
		}
		group := strings.TrimSpace(line[:at])
		for _, place := range strings.Split(line[at+1:], ",") {
			ws, role, ok := strings.Cut(strings.TrimSpace(place), ":")
			if !ok {
				return nil, fmt.Errorf("--oidc-role %q: %q must be WORKSPACE:ROLE", line, place)
			}
			if roles[group] == nil {
				roles[group] = map[string][]models.Role{}
			}
			roles[group][ws] = append(roles[group][ws], models.Role(role))
		}
	}
	return roles, roles.Check()
}

type userProviderCmd struct {
	Email    string `required:"" help:"E-mail address of the person."`
	Password string `help:"Whether they may sign in with a password too (on), or through the provider only (off)." enum:",on,off" default:""`
	Unlink   bool   `help:"Forget which account of the provider is theirs; the next sign-in finds them by verified e-mail address."`
}

func (c userProviderCmd) Run(e *env) error {
	if c.Password == "" && !c.Unlink {
		return errors.New("nothing to do: give --password on, --password off or --unlink")
	}
	user, err := e.changeUser(c.Email, "", func(tx *models.Tx, u models.User) error {
		if c.Password != "" {
			if err := tx.SwitchPassword(u.ID, c.Password == "off"); err != nil {
				return err
			}
		}
		if c.Unlink {
			return tx.UnlinkProvider(u.ID)
		}
		return nil
	})
	if err == nil {
		fmt.Fprintf(e.stdout, "Changed how %s signs in.\n", user.Email)
	}
	return err
}

// people looks at how people sign in: passkeys, and the identity provider.
func (d *doctor) people(ctx context.Context, c serveCmd) {
	const keys, check = "passkeys", "sign-in through a provider"
	publicURL, _, err := c.urls()
	if err != nil {
		return // told elsewhere
	}
	u, err := url.Parse(publicURL)
	if err != nil {
		return
	}
	if _, ok := passkey.SiteOf(publicURL, "localhost:"+u.Port()); ok {
		d.ok(keys, "Browsers do passkeys at the desk's address.")
	} else {
		d.warn(keys, fmt.Sprintf("Browsers do no passkeys at %s.", publicURL), "Give a --public-url with a name and https. People without a passkey sign in with their password alone.")
	}
	f := c.OIDC
	if f.Issuer == "" {
		if _, err := f.provider(nil, publicURL); err != nil {
			d.problem(check, err.Error(), "Give --oidc-issuer, or leave the other settings out.")
		}
		return
	}
	const fix = "Correct the --oidc- settings; the desk does not start with these."
	if info, err := os.Stat(f.ClientSecretFile); f.ClientSecretFile != "" && err == nil && info.Mode().Perm()&0o077 != 0 {
		d.warn(check, fmt.Sprintf("%s can be read by others (mode %04o).", f.ClientSecretFile, info.Mode().Perm()), "chmod 600 "+f.ClientSecretFile)
	}
	p, err := f.provider(nil, publicURL)
	if err != nil {
		d.problem(check, err.Error(), fix)
		return
	}
	if len(f.Role) == 0 && f.RoleFile == "" {
		d.ok(check, "No group gives a role, so memberships are the desk's own.")
	}
	if err := p.Load(ctx); err != nil {
		d.problem(check, fmt.Sprintf("%s does not answer as it should: %v", f.Issuer, err), "Until it does nobody signs in through it. Check --oidc-issuer, the network and the certificate.")
		return
	}
	d.ok(check, fmt.Sprintf("%s answers. People are sent back to %s%s, which must be registered there.", f.Issuer, publicURL, provider.CallbackPath))
}
