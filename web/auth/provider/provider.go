// Package provider signs people in through an OpenID Connect provider: authorization code with PKCE, state
// and nonce. What belongs to a sign-in on its way lies in the database and is good once, in the browser that
// began it, so any replica may begin and any finish. Access tokens of agents are the package oauth's.
package provider

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/auth/oauth"
)

// CallbackPath is where the provider sends people back to, below the public URL.
const CallbackPath = "/login/provider/callback"

const (
	askTime = 10 * time.Second // for all that is asked of the provider in one sign-in
	// askAgain is how long a provider that did not answer is left alone.
	askAgain = 5 * time.Second
)

// Config is the provider and what it decides. All but Roles, PasswordOff, Scopes, Groups and Name must be set.
type Config struct {
	Store        *models.Store
	Issuer       string // exactly as the provider writes itself
	ClientID     string
	ClientSecret string
	PublicURL    string   // where people reach the desk
	Scopes       []string // none: openid, email, profile
	Groups       string   // claim that lists somebody's groups; empty: groups
	Name         string   // what people call the provider
	// Roles are what groups give; none: memberships are the desk's own.
	Roles models.ProviderRoles
	// PasswordOff lets people who came through the provider sign in no other way.
	PasswordOff bool
	// Now is the clock; nil: the store's.
	Now func() time.Time
}

// Provider signs people in. It is safe for concurrent use.
type Provider struct {
	cfg    Config
	client *http.Client

	mu     sync.Mutex
	found  *oidc.Provider // nil until the provider has answered
	failed error
	since  time.Time // of failed
}

// New checks the settings. It does not ask the provider anything yet, so that a desk starts while it is down.
func New(cfg Config) (*Provider, error) {
	if err := oauth.CheckIssuer(cfg.Issuer); err != nil {
		return nil, fmt.Errorf("issuer %w", err)
	}
	switch {
	case cfg.ClientID == "":
		return nil, errors.New("a client id is required")
	case cfg.ClientSecret == "":
		return nil, errors.New("a client secret is required")
	case cfg.PublicURL == "":
		return nil, errors.New("a public URL is required: the provider sends people back to it")
	}
	if err := cfg.Roles.Check(); err != nil {
		return nil, err
	}
	if len(cfg.Scopes) == 0 {
		cfg.Scopes = []string{oidc.ScopeOpenID, "email", "profile"}
	}
	if !slices.Contains(cfg.Scopes, oidc.ScopeOpenID) {
		return nil, errors.New("the scopes must name openid")
	}
	if cfg.Groups == "" {
		cfg.Groups = "groups"
	}
	if cfg.Name == "" {
		cfg.Name = "your identity provider"
	}
	if cfg.Now == nil {
		cfg.Now = func() time.Time { return cfg.Store.Now().Time }
	}
	cfg.PublicURL = strings.TrimSuffix(cfg.PublicURL, "/")
	return &Provider{cfg: cfg, client: oauth.NewClient()}, nil
}

// Name is what people call the provider.
func (p *Provider) Name() string { return p.cfg.Name }

// Issuer is the provider's own name.
func (p *Provider) Issuer() string { return p.cfg.Issuer }

// Load asks the provider, so that a wrong setting is noticed before somebody signs in.
func (p *Provider) Load(ctx context.Context) error {
	_, err := p.discover(ctx)
	return err
}

// discover finds the provider's addresses. What was found counts until the desk ends; keys are asked for
// again as they change.
func (p *Provider) discover(ctx context.Context) (*oidc.Provider, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.found != nil {
		return p.found, nil
	}
	now := p.cfg.Now()
	if p.failed != nil && now.Sub(p.since) < askAgain && now.Sub(p.since) >= 0 {
		return nil, p.failed
	}
	ctx, cancel := context.WithTimeout(oidc.ClientContext(context.WithoutCancel(ctx), p.client), askTime)
	defer cancel()
	found, err := oidc.NewProvider(ctx, p.cfg.Issuer) // refuses a document of another issuer
	if err == nil {
		var d struct {
			Keys string `json:"jwks_uri"`
		}
		if err = found.Claims(&d); err == nil {
			err = oauth.CheckAddresses(d.Keys, found.Endpoint().AuthURL, found.Endpoint().TokenURL)
		}
	}
	if err != nil {
		p.failed, p.since = err, now
		return nil, err
	}
	p.found, p.failed = found, nil
	return found, nil
}

func unavailable(cause error) error {
	return models.E(models.Unavailable, "The identity provider cannot be reached, so nobody can sign in through it just now. Wait a moment and try again.",
		map[string]any{"retry_after_seconds": int(askAgain.Seconds())}).Because(cause)
}

func (p *Provider) oauth2(found *oidc.Provider) oauth2.Config {
	return oauth2.Config{ClientID: p.cfg.ClientID, ClientSecret: p.cfg.ClientSecret, Endpoint: found.Endpoint(), RedirectURL: p.cfg.PublicURL + CallbackPath, Scopes: p.cfg.Scopes}
}

// Begin starts a sign-in: where the browser goes, and the secret that a cookie keeps in it until it comes
// back. next is the page of the desk to go on to. It fails with UNAVAILABLE.
func (p *Provider) Begin(ctx context.Context, next string) (to, browser string, err error) {
	found, err := p.discover(ctx)
	if err != nil {
		return "", "", unavailable(err)
	}
	state, nonce, verifier := models.Secret(rand.Reader, 32), models.Secret(rand.Reader, 32), oauth2.GenerateVerifier()
	browser = models.Secret(rand.Reader, 32)
	if err := p.cfg.Store.BeginProviderSignIn(ctx, state, browser, models.ProviderSignIn{Nonce: nonce, Verifier: verifier, Next: next}); err != nil {
		return "", "", err
	}
	cfg := p.oauth2(found)
	return cfg.AuthCodeURL(state, oidc.Nonce(nonce), oauth2.S256ChallengeOption(verifier)), browser, nil
}

// Finished is what came of a sign-in.
type Finished struct {
	Secret   string // of the session
	Identity models.Identity
	Next     string // page to go on to
}

// refused says why nobody is signed in, in words that hold nothing of what the provider sent.
func refused(reason string, cause error) error {
	ne := models.E(models.Unauthenticated, "The identity provider did not sign you in: "+reason+". Begin again.", nil)
	if cause == nil {
		return ne
	}
	return ne.Because(cause)
}

// Finish ends a sign-in that comes back from the provider with state and code, or with failure, in the
// browser that keeps the secret. It fails with unauthenticated, insufficient_permission or UNAVAILABLE.
func (p *Provider) Finish(ctx context.Context, browser, state, code, failure, address, userAgent string) (Finished, error) {
	begun, err := p.cfg.Store.TakeProviderSignIn(ctx, state, browser)
	if err != nil {
		return Finished{}, err
	}
	switch {
	case failure == "access_denied":
		return Finished{Next: begun.Next}, refused("it was refused or broken off there", nil)
	case failure != "" || code == "":
		return Finished{Next: begun.Next}, refused("it reported a problem", errors.New("the provider answers "+plain(failure)))
	}
	found, err := p.discover(ctx)
	if err != nil {
		return Finished{Next: begun.Next}, unavailable(err)
	}
	who, err := p.exchange(ctx, found, begun, code)
	if err != nil {
		return Finished{Next: begun.Next}, err
	}
	secret, id, err := p.cfg.Store.SignInByProvider(ctx, who, p.cfg.Roles, p.cfg.PasswordOff, address, userAgent)
	return Finished{Secret: secret, Identity: id, Next: begun.Next}, err
}

// exchange gives the code for a token that says who it is, and checks that.
func (p *Provider) exchange(ctx context.Context, found *oidc.Provider, begun models.ProviderSignIn, code string) (models.ProviderPerson, error) {
	ctx, cancel := context.WithTimeout(oidc.ClientContext(ctx, p.client), askTime)
	defer cancel()
	cfg := p.oauth2(found)
	token, err := cfg.Exchange(ctx, code, oauth2.VerifierOption(begun.Verifier))
	var answered *oauth2.RetrieveError
	switch {
	case errors.As(err, &answered):
		return models.ProviderPerson{}, refused("it does not accept the code", errors.New("the token endpoint answers "+answered.Response.Status+" "+plain(answered.ErrorCode)))
	case err != nil:
		return models.ProviderPerson{}, unavailable(err)
	}
	raw, ok := token.Extra("id_token").(string)
	if !ok {
		return models.ProviderPerson{}, refused("its answer does not say who you are", nil)
	}
	verifier := found.Verifier(&oidc.Config{ClientID: p.cfg.ClientID, Now: p.cfg.Now, SupportedSigningAlgs: oauth.Algorithms()})
	id, err := verifier.Verify(ctx, raw)
	if err != nil {
		return models.ProviderPerson{}, refused("its answer cannot be trusted", err)
	}
	if id.Nonce != begun.Nonce || id.Subject == "" {
		return models.ProviderPerson{}, refused("its answer belongs to another sign-in", nil)
	}
	who := models.ProviderPerson{Issuer: p.cfg.Issuer, Subject: id.Subject}
	var claims map[string]any
	if err := id.Claims(&claims); err != nil {
		return models.ProviderPerson{}, refused("its answer cannot be read", err)
	}
	p.read(&who, claims)
	if who.Email != "" && (len(p.cfg.Roles) == 0 || len(who.Groups) > 0) {
		return who, nil
	}
	// Many providers tell more only when they are asked.
	info, err := found.UserInfo(ctx, oauth2.StaticTokenSource(token))
	if err != nil || info.Subject != id.Subject {
		return who, nil // what the token says has to do
	}
	var more map[string]any
	if info.Claims(&more) == nil {
		p.read(&who, more)
	}
	return who, nil
}

// read fills in what is not known yet from what the provider says.
func (p *Provider) read(who *models.ProviderPerson, claims map[string]any) {
	if email, ok := claims["email"].(string); ok && who.Email == "" {
		who.Email = email
		verified := claims["email_verified"]
		who.EmailVerified = verified == true || verified == "true" // some issuers write every claim as text
	}
	if name, ok := claims["name"].(string); ok && who.Name == "" {
		who.Name = strings.Join(strings.Fields(plain(name)), " ")
	}
	if len(who.Groups) > 0 {
		return
	}
	switch groups := claims[p.cfg.Groups].(type) {
	case string:
		who.Groups = []string{groups}
	case []any:
		for _, g := range groups {
			if text, ok := g.(string); ok {
				who.Groups = append(who.Groups, text)
			}
		}
	}
}

// plain keeps control characters of the provider's texts out of the trail and the log, and bounds them.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, s)
	if r := []rune(s); len(r) > 200 {
		s = string(r[:200])
	}
	return s
}
