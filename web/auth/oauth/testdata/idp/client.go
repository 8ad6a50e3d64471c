package main

import (
	"time"

	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// redirectURI is where the provider sends the browser of somebody who signed in.
const redirectURI = "http://127.0.0.1:9/callback"

// desk is the program to whose pages people sign in, and deskURI where their browsers are sent back to.
const (
	desk    = "desk"
	deskURI = "http://127.0.0.1:9/login/provider/callback"
)

// client is a registered program: a public one for people, which proves itself with PKCE, or a
// confidential one that acts for itself or signs people in.
type client struct {
	id      string
	public  bool
	signsIn bool
}

func (c client) GetID() string                       { return c.id }
func (c client) RedirectURIs() []string              { return []string{redirectURI, deskURI} }
func (c client) PostLogoutRedirectURIs() []string    { return nil }
func (c client) ApplicationType() op.ApplicationType { return op.ApplicationTypeNative }
func (c client) ResponseTypes() []oidc.ResponseType {
	return []oidc.ResponseType{oidc.ResponseTypeCode}
}
func (c client) LoginURL(id string) string            { return "/login?id=" + id }
func (c client) AccessTokenType() op.AccessTokenType  { return op.AccessTokenTypeJWT }
func (c client) IDTokenLifetime() time.Duration       { return tokenLife }
func (c client) DevMode() bool                        { return false }
func (c client) IsScopeAllowed(string) bool           { return true }
func (c client) IDTokenUserinfoClaimsAssertion() bool { return false }
func (c client) ClockSkew() time.Duration             { return 0 }

func (c client) AuthMethod() oidc.AuthMethod {
	if c.public {
		return oidc.AuthMethodNone
	}
	return oidc.AuthMethodBasic
}

func (c client) GrantTypes() []oidc.GrantType {
	if c.public || c.signsIn {
		return []oidc.GrantType{oidc.GrantTypeCode}
	}
	return []oidc.GrantType{oidc.GrantTypeClientCredentials}
}

func (c client) RestrictAdditionalIdTokenScopes() func([]string) []string     { return asTheyAre }
func (c client) RestrictAdditionalAccessTokenScopes() func([]string) []string { return asTheyAre }

func asTheyAre(scopes []string) []string { return scopes }
