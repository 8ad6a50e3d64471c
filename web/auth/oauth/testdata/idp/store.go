package main

import (
	"context"
	"crypto/rsa"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/uuid"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"
)

// tokenLife is short, so that a test can look behind it; its desk's clock is moved, not the world's.
const tokenLife = 5 * time.Minute

// user of the provider, by subject.
type user struct {
	email    string
	verified bool
	groups   []string
}

var users = map[string]user{
	"u-agent":   {email: "agent@example.test", verified: true},
	"u-fiona":   {email: "fiona@example.test", verified: true},
	"u-olga":    {email: "olga@example.test", verified: true},
	"u-new":     {email: "nora@example.test", verified: true},
	"u-gone":    {email: "gone@example.test", verified: true},
	"u-nobody":  {email: "nobody@example.test", verified: true},
	"u-careful": {email: "fiona@example.test"}, // says so, and nobody has checked
}

// key signs tokens.
type key struct {
	id      string
	private *rsa.PrivateKey
}

func (k key) SignatureAlgorithm() jose.SignatureAlgorithm { return jose.RS256 }
func (k key) Algorithm() jose.SignatureAlgorithm          { return jose.RS256 }
func (k key) Use() string                                 { return "sig" }
func (k key) ID() string                                  { return k.id }
func (k key) Key() any                                    { return k.private }

// published is a key as others see it.
type published struct{ key }

func (p published) Key() any { return &p.private.PublicKey }

// request is an authorization request on its way to a code.
type request struct {
	id, subject, resource string
	sent                  oidc.AuthRequest
	at                    time.Time
}

func (r *request) GetID() string                      { return r.id }
func (r *request) GetACR() string                     { return "" }
func (r *request) GetAMR() []string                   { return nil }
func (r *request) GetNonce() string                   { return r.sent.Nonce }
func (r *request) GetState() string                   { return r.sent.State }
func (r *request) GetSubject() string                 { return r.subject }
func (r *request) Done() bool                         { return r.subject != "" }
func (r *request) GetClientID() string                { return r.sent.ClientID }
func (r *request) GetScopes() []string                { return r.sent.Scopes }
func (r *request) GetAuthTime() time.Time             { return r.at }
func (r *request) GetRedirectURI() string             { return r.sent.RedirectURI }
func (r *request) GetResponseType() oidc.ResponseType { return r.sent.ResponseType }
func (r *request) GetResponseMode() oidc.ResponseMode { return r.sent.ResponseMode }

// GetAudience is the resource asked for (RFC 8707), else the program itself.
func (r *request) GetAudience() []string {
	if r.resource == "" {
		return []string{r.sent.ClientID}
	}
	return []string{r.resource}
}

func (r *request) GetCodeChallenge() *oidc.CodeChallenge {
	return &oidc.CodeChallenge{Challenge: r.sent.CodeChallenge, Method: r.sent.CodeChallengeMethod}
}

// service is a request of a program for itself.
type service struct {
	clientID, resource string
	scopes             []string
}

func (s service) GetSubject() string    { return s.clientID + "@clients" }
func (s service) GetAudience() []string { return []string{s.resource} }
func (s service) GetScopes() []string   { return s.scopes }

// store is what the provider knows.
type store struct {
	mu       sync.Mutex
	key      key
	requests map[string]*request
	codes    map[string]string
}

func newStore() (*store, error) {
	s := &store{requests: map[string]*request{}, codes: map[string]string{}}
	return s, s.rotate()
}

// rotate signs with a new key from now on, and withdraws the old one.
func (s *store) rotate() error {
	private, err := newKey()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.key = key{uuid.NewString(), private}
	return nil
}

func (s *store) user(subject string) (user, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u, ok := users[subject]
	return u, ok
}

// group puts a user into these groups and no others.
func (s *store) group(subject string, groups []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := users[subject]
	u.groups = groups
	users[subject] = u
}

func (s *store) signIn(id, subject string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.requests[id]
	if _, known := users[subject]; !ok || !known {
		return fmt.Errorf("no request %q or no user %q", id, subject)
	}
	r.subject, r.at = subject, time.Now()
	return nil
}

type resourceKey struct{}

// withResource hands the resource parameter of RFC 8707, which the library does not read, to the store.
func withResource(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), resourceKey{}, r.FormValue("resource"))))
	})
}

func resource(ctx context.Context) string {
	text, _ := ctx.Value(resourceKey{}).(string)
	return text
}

func (s *store) CreateAuthRequest(ctx context.Context, sent *oidc.AuthRequest, _ string) (op.AuthRequest, error) {
	r := &request{id: uuid.NewString(), resource: resource(ctx), sent: *sent}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[r.id] = r
	return r, nil
}

func (s *store) AuthRequestByID(_ context.Context, id string) (op.AuthRequest, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r, ok := s.requests[id]
	if !ok {
		return nil, errors.New("no such request")
	}
	copied := *r
	return &copied, nil
}

func (s *store) AuthRequestByCode(ctx context.Context, code string) (op.AuthRequest, error) {
	s.mu.Lock()
	id := s.codes[code]
	delete(s.codes, code)
	s.mu.Unlock()
	return s.AuthRequestByID(ctx, id)
}

func (s *store) SaveAuthCode(_ context.Context, id, code string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.codes[code] = id
	return nil
}

func (s *store) DeleteAuthRequest(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.requests, id)
	return nil
}

func (s *store) CreateAccessToken(context.Context, op.TokenRequest) (string, time.Time, error) {
	return uuid.NewString(), time.Now().Add(tokenLife), nil
}

func (s *store) ClientCredentials(ctx context.Context, id, secret string) (op.Client, error) {
	if err := s.AuthorizeClientIDSecret(ctx, id, secret); err != nil {
		return nil, err
	}
	return s.GetClientByClientID(ctx, id)
}

func (s *store) ClientCredentialsTokenRequest(ctx context.Context, id string, scopes []string) (op.TokenRequest, error) {
	return service{id, resource(ctx), scopes}, nil
}

func (s *store) SigningKey(context.Context) (op.SigningKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.key, nil
}

func (s *store) KeySet(context.Context) ([]op.Key, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []op.Key{published{s.key}}, nil
}

func (s *store) SignatureAlgorithms(context.Context) ([]jose.SignatureAlgorithm, error) {
	return []jose.SignatureAlgorithm{jose.RS256}, nil
}

// GetPrivateClaimsFromRequest puts scope and e-mail into access tokens, as most providers can.
func (s *store) GetPrivateClaimsFromRequest(_ context.Context, r op.TokenRequest, _ []string) (map[string]any, error) {
	claims := map[string]any{"scope": oidc.SpaceDelimitedArray(r.GetScopes()).String()}
	if u, ok := s.user(r.GetSubject()); ok {
		claims["email"], claims["email_verified"] = u.email, u.verified
	}
	return claims, nil
}

// SetUserinfoFromScopes says in ID tokens whom they are about.
func (s *store) SetUserinfoFromScopes(_ context.Context, info *oidc.UserInfo, subject, _ string, _ []string) error {
	info.Subject = subject
	return nil
}

func (s *store) GetClientByClientID(_ context.Context, id string) (op.Client, error) {
	switch id {
	case "invoice-agent":
		return client{id: id, public: true}, nil
	case "night-run":
		return client{id: id}, nil
	case desk:
		return client{id: id, signsIn: true}, nil
	}
	return nil, errors.New("no such client")
}

func (s *store) AuthorizeClientIDSecret(_ context.Context, id, secret string) error {
	if (id != "night-run" && id != desk) || secret != id+"-secret" {
		return errors.New("no such client, or another secret")
	}
	return nil
}

// What this provider does not offer.
var errNotOffered = errors.New("not offered")

func (s *store) CreateAccessAndRefreshTokens(context.Context, op.TokenRequest, string) (string, string, time.Time, error) {
	return "", "", time.Time{}, errNotOffered
}

func (s *store) TokenRequestByRefreshToken(context.Context, string) (op.RefreshTokenRequest, error) {
	return nil, errNotOffered
}

func (s *store) TerminateSession(context.Context, string, string) error { return errNotOffered }

func (s *store) RevokeToken(context.Context, string, string, string) *oidc.Error {
	return oidc.ErrServerError()
}

func (s *store) GetRefreshTokenInfo(context.Context, string, string) (string, string, error) {
	return "", "", op.ErrInvalidRefreshToken
}

// SetUserinfoFromToken says who somebody is to the program they signed in to, when it asks.
func (s *store) SetUserinfoFromToken(_ context.Context, info *oidc.UserInfo, _, subject, _ string) error {
	u, ok := s.user(subject)
	if !ok {
		return errors.New("no such user")
	}
	info.Subject, info.Email, info.EmailVerified, info.Name = subject, u.email, oidc.Bool(u.verified), "Nora New"
	info.AppendClaims("groups", u.groups)
	return nil
}

func (s *store) SetIntrospectionFromToken(context.Context, *oidc.IntrospectionResponse, string, string, string) error {
	return errNotOffered
}

func (s *store) GetPrivateClaimsFromScopes(context.Context, string, string, []string) (map[string]any, error) {
	return nil, nil
}

func (s *store) GetKeyByIDAndClientID(context.Context, string, string) (*jose.JSONWebKey, error) {
	return nil, errNotOffered
}

func (s *store) ValidateJWTProfileScopes(context.Context, string, []string) ([]string, error) {
	return nil, errNotOffered
}

func (s *store) Health(context.Context) error { return nil }
