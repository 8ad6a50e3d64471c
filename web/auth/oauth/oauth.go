package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/models"
)

// Skew is how far the clocks of issuer and desk may differ, when nothing else is configured.
const Skew = 60 * time.Second

// maxToken is the longest token looked at, in bytes.
const maxToken = 12 << 10

// retryAfter is how long a caller is asked to wait for an issuer that does not answer, in seconds.
const retryAfter = int(fetchEvery / time.Second)

// ReadScopes are what access tokens may carry unless configured otherwise: reading.
func ReadScopes() []models.Scope {
	return []models.Scope{models.ScopeCasesRead, models.ScopeApprovalsRead, models.ScopeConfirmationsRead, models.ScopeHoldsRead}
}

// Config is what is accepted. Store, Issuer and Audience must be set.
type Config struct {
	Store    *models.Store
	Issuer   string            // exactly as the issuer writes itself
	Audience string            // what a token must be meant for: this desk
	Scopes   []models.Scope    // the most a token may carry; none means ReadScopes
	Subjects map[string]string // e-mail of the user by the issuer's subject; others go by verified e-mail
	Skew     time.Duration     // 0 means Skew
}

// Verifier finds out whose access token it is. It is safe for concurrent use.
type Verifier struct {
	cfg  Config
	keys *keys
}

// New checks the configuration. It does not ask the issuer anything yet, so that a desk starts while its
// issuer is down.
func New(cfg Config) (*Verifier, error) {
	if err := checkAddress(cfg.Issuer); err != nil {
		return nil, fmt.Errorf("issuer %w", err)
	}
	if u, err := url.Parse(cfg.Issuer); err != nil || u.RawQuery != "" {
		return nil, fmt.Errorf("issuer %q must have no query", cfg.Issuer)
	}
	if cfg.Audience == "" {
		return nil, errors.New("an audience is required, or tokens meant for others would be accepted")
	}
	if len(cfg.Scopes) == 0 {
		cfg.Scopes = ReadScopes()
	}
	for _, s := range cfg.Scopes {
		if !s.Valid() {
			return nil, fmt.Errorf("%q is no scope", s)
		}
	}
	subjects := make(map[string]string, len(cfg.Subjects))
	for subject, email := range cfg.Subjects {
		normal, err := models.NormaliseEmail(email)
		if err != nil || subject == "" {
			return nil, fmt.Errorf("subject %q: %q must be the e-mail address of a user", subject, email)
		}
		subjects[subject] = normal
	}
	cfg.Subjects = subjects
	if cfg.Skew == 0 {
		cfg.Skew = Skew
	}
	now := func() time.Time { return cfg.Store.Now().Time }
	return &Verifier{cfg: cfg, keys: newKeys(cfg.Issuer, newClient(), now)}, nil
}

// Issuer is whose tokens are accepted.
func (v *Verifier) Issuer() string { return v.cfg.Issuer }

// Scopes are the most a token may carry.
func (v *Verifier) Scopes() []models.Scope { return slices.Clone(v.cfg.Scopes) }

// Load asks the issuer for its keys, so that a wrong setting is noticed before somebody's token is. The
// desk works without: keys are asked for when they are needed.
func (v *Verifier) Load(ctx context.Context) error {
	_, err := v.keys.current(ctx)
	return err
}

// Identify finds whose bearer token it is: a personal token of the desk, or an access token of the issuer.
// It fails with unauthenticated, or with UNAVAILABLE while the issuer's keys are not known.
func (v *Verifier) Identify(ctx context.Context, token string) (models.Identity, error) {
	if token == "" || strings.HasPrefix(token, models.TokenPrefix) {
		return v.cfg.Store.IdentityByToken(ctx, token)
	}
	c, err := v.verify(ctx, token)
	if err != nil {
		return models.Identity{}, err
	}
	email, err := v.emailOf(c)
	if err != nil {
		return models.Identity{}, err
	}
	id, err := v.cfg.Store.IdentityByOAuth(ctx, email,
		models.OAuthToken{ID: plain(c.ID), Subject: plain(c.Subject), ClientID: plain(c.client()), Scopes: v.scopesOf(c)})
	if models.IsCode(err, models.Unauthenticated) {
		return models.Identity{}, refused("it is for nobody who may use the desk")
	}
	return id, err
}

// refused says why a token is not accepted, in words that hold nothing of the token.
func refused(reason string) error {
	return models.E(models.Unauthenticated, "The access token is not accepted: "+reason+".", nil).Because(errors.New("access token refused: " + reason))
}

// claims are what a token says, under exactly these names.
type claims struct {
	Issuer    string   `json:"iss"`
	Subject   string   `json:"sub"`
	Audience  words    `json:"aud"`
	Expiry    *float64 `json:"exp"` // seconds since 1970
	NotBefore *float64 `json:"nbf"`
	IssuedAt  *float64 `json:"iat"`
	ID        string   `json:"jti"`

	ClientID        string `json:"client_id"`
	AuthorizedParty string `json:"azp"`
	Scope           *words `json:"scope"` // one text with spaces, says RFC 9068; some issuers write a list
	Scopes          *words `json:"scp"`   // what other issuers call it

	Email         string `json:"email"`
	EmailVerified any    `json:"email_verified"`

	// What shows that a token is no bearer access token.
	Type         string         `json:"typ"`
	Use          string         `json:"token_use"`
	Nonce        string         `json:"nonce"`
	AccessHash   string         `json:"at_hash"`
	CodeHash     string         `json:"c_hash"`
	Events       jsontext.Value `json:"events"`
	Confirmation jsontext.Value `json:"cnf"`
}

func (c claims) client() string {
	if c.ClientID != "" {
		return c.ClientID
	}
	return c.AuthorizedParty
}

// words is a claim that is one text or a list of them.
type words []string

func (w *words) UnmarshalJSON(raw []byte) error {
	var one string
	if json.Unmarshal(raw, &one) == nil {
		*w = words{one}
		return nil
	}
	return json.Unmarshal(raw, (*[]string)(w))
}

// verify checks everything about a token but whose it is.
func (v *Verifier) verify(ctx context.Context, token string) (claims, error) {
	if len(token) > maxToken {
		return claims{}, refused("it is too long")
	}
	jws, err := jose.ParseSignedCompact(token, algorithms)
	if err != nil {
		return claims{}, refused("it is no JWT with an accepted signature algorithm")
	}
	explicit, err := tokenType(jws)
	if err != nil {
		return claims{}, err
	}
	payload, err := v.payload(ctx, jws)
	if err != nil {
		return claims{}, err
	}
	var c claims
	if err := json.Unmarshal(payload, &c); err != nil {
		return claims{}, refused("its claims cannot be read")
	}
	if reason := v.judge(c, explicit); reason != "" {
		return claims{}, refused(reason)
	}
	return c, nil
}

// tokenType reads the header's typ. explicit says that it names an access token, which ID tokens and
// others never do.
func tokenType(jws *jose.JSONWebSignature) (explicit bool, err error) {
	typ, named := jws.Signatures[0].Header.ExtraHeaders[jose.HeaderType]
	if !named {
		return false, nil
	}
	text, _ := typ.(string)
	switch strings.TrimPrefix(strings.ToLower(text), "application/") {
	case "at+jwt":
		return true, nil
	case "jwt":
		return false, nil
	}
	return false, refused("its type is not that of an access token")
}

// payload is what a token says, once the signature is found to be the issuer's. A key not known yet may be
// a new one, so the issuer is asked again, though not as often as anybody likes.
func (v *Verifier) payload(ctx context.Context, jws *jose.JSONWebSignature) ([]byte, error) {
	set, err := v.keys.current(ctx)
	if err != nil {
		return nil, unavailable(err)
	}
	payload, known := check(jws, set)
	if payload != nil {
		return payload, nil
	}
	if err := v.keys.refresh(ctx); err == nil || errors.Is(err, errTooSoon) {
		if set, err = v.keys.current(ctx); err != nil {
			return nil, unavailable(err)
		}
		if payload, known = check(jws, set); payload != nil {
			return payload, nil
		}
	}
	if !known && !v.keys.reachable() {
		return nil, unavailable(errors.New("a token is signed with a key not known here, and the issuer does not answer"))
	}
	return nil, refused("it is not signed with a key of the issuer")
}

func unavailable(cause error) error {
	return models.E(models.Unavailable, "The identity provider cannot be reached, so access tokens cannot be checked. Wait and repeat the same call.",
		map[string]any{"retry_after_seconds": retryAfter}).Because(cause)
}

// check tries the keys a token may be signed with. known says that there was a key of the token's name.
func check(jws *jose.JSONWebSignature, set []jose.JSONWebKey) (payload []byte, known bool) {
	head := jws.Signatures[0].Header
	for _, key := range set {
		if head.KeyID != "" && key.KeyID != head.KeyID {
			continue
		}
		known = known || head.KeyID != ""
		if key.Algorithm != "" && key.Algorithm != head.Algorithm {
			continue
		}
		if payload, err := jws.Verify(key.Key); err == nil {
			return payload, true
		}
	}
	return nil, known
}

// judge says what is wrong with a token's claims; empty when nothing is.
func (v *Verifier) judge(c claims, explicit bool) string {
	now := v.cfg.Store.Now().Time
	seconds := float64(now.UnixMilli()) / 1000
	skew := v.cfg.Skew.Seconds()
	switch {
	case c.Issuer != v.cfg.Issuer:
		return "another issuer made it"
	case !slices.ContainsFunc(c.Audience, func(a string) bool { return sameResource(a, v.cfg.Audience) }):
		return "it is meant for another service"
	case c.Expiry == nil:
		return "it never expires"
	case seconds >= *c.Expiry+skew:
		return "it has expired"
	case c.NotBefore != nil && seconds+skew < *c.NotBefore, c.IssuedAt != nil && seconds+skew < *c.IssuedAt:
		return "it is not valid yet"
	case c.Subject == "":
		return "it names no subject"
	case c.Use != "" && c.Use != "access", c.Type != "" && !strings.EqualFold(c.Type, "Bearer") && !strings.EqualFold(c.Type, "at+jwt") && !strings.EqualFold(c.Type, "JWT"), len(c.Events) > 0:
		return "it is no access token"
	case !explicit && (c.Nonce != "" || c.AccessHash != "" || c.CodeHash != ""):
		return "it is an ID token, not an access token"
	case len(c.Confirmation) > 0:
		return "it is bound to a key of its holder, which cannot be checked here"
	}
	return ""
}

// sameResource compares audiences: exactly, but for one slash at the end.
func sameResource(a, b string) bool { return strings.TrimSuffix(a, "/") == strings.TrimSuffix(b, "/") }

// emailOf is the user a token is for: whom its subject is configured to be, else the owner of its verified
// e-mail address.
func (v *Verifier) emailOf(c claims) (string, error) {
	if email, ok := v.cfg.Subjects[c.Subject]; ok {
		return email, nil
	}
	if c.Email == "" {
		return "", refused("its subject is not known here, and it carries no e-mail address")
	}
	if c.EmailVerified != true && c.EmailVerified != "true" { // some issuers write every claim as text
		return "", refused("its e-mail address is not verified")
	}
	return c.Email, nil
}

// scopesOf are the scopes configured, narrowed by those the token carries if it says so. Broader scopes
// include the narrower ones on both sides.
func (v *Verifier) scopesOf(c claims) []models.Scope {
	carried := c.Scope
	if carried == nil {
		carried = c.Scopes
	}
	var asked []models.Scope
	if carried != nil {
		for _, text := range *carried {
			for _, s := range strings.Fields(text) {
				asked = append(asked, models.Scope(s))
			}
		}
	}
	scopes := []models.Scope{}
	for _, s := range models.Scopes() {
		if models.Grants(v.cfg.Scopes, s) && (carried == nil || models.Grants(asked, s)) {
			scopes = append(scopes, s)
		}
	}
	return scopes
}

// plain keeps control characters of the issuer's texts out of the trail and the log.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, s)
}
