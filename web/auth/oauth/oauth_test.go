package oauth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

const resource = "https://desk.example.test/mcp"

// issuer publishes what a test wants published, however wrong.
type issuer struct {
	*httptest.Server
	asked atomic.Int32 // times the keys were read

	mu       sync.Mutex
	keys     []any  // of the JWKS
	document string // instead of the discovery document; empty: a good one
	hold     chan struct{}
	down     bool
}

func newIssuer(t *testing.T, keys ...any) *issuer {
	t.Helper()
	i := &issuer{keys: keys}
	i.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		keys, document, hold, down := i.keys, i.document, i.hold, i.down
		i.mu.Unlock()
		switch {
		case down:
			w.WriteHeader(http.StatusBadGateway)
		case r.URL.Path == "/.well-known/openid-configuration":
			if document == "" {
				document = fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, i.URL, i.URL+"/keys")
			}
			_, _ = w.Write([]byte(document))
		case r.URL.Path == "/keys":
			i.asked.Add(1)
			if hold != nil {
				<-hold
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"keys": keys})
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(i.Close)
	return i
}

func (i *issuer) set(change func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	change()
}

// signer is a key with its name and the algorithm it signs with.
type signer struct {
	id      string
	alg     jose.SignatureAlgorithm
	private any
}

func rsaKey(t *testing.T, id string, bits int) signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return signer{id, jose.RS256, key}
}

func (s signer) public() jose.JSONWebKey {
	return jose.JSONWebKey{Key: publicOf(s.private), KeyID: s.id, Algorithm: string(s.alg), Use: "sig"}
}

func publicOf(private any) any {
	switch k := private.(type) {
	case *rsa.PrivateKey:
		return &k.PublicKey
	case *ecdsa.PrivateKey:
		return &k.PublicKey
	case ed25519.PrivateKey:
		return k.Public()
	}
	return private
}

// token signs claims; typ and what else stands in the header come in pairs.
func (s signer) token(t *testing.T, claims any, header ...string) string {
	t.Helper()
	payload, ok := claims.([]byte)
	if !ok {
		var err error
		if payload, err = json.Marshal(claims); err != nil {
			t.Fatal(err)
		}
	}
	options := &jose.SignerOptions{}
	if s.id != "" {
		options.WithHeader("kid", s.id)
	}
	for n := 0; n < len(header); n += 2 {
		options.WithHeader(jose.HeaderKey(header[n]), header[n+1])
	}
	sign, err := jose.NewSigner(jose.SigningKey{Algorithm: s.alg, Key: s.private}, options)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := sign.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

type desk struct {
	*Verifier
	store    *models.Store
	clock    *modelstest.Clock
	personal string
}

func newDesk(t *testing.T, i *issuer, change ...func(*Config)) *desk {
	t.Helper()
	d := &desk{}
	d.store, d.clock = modelstest.SQLite(t)
	err := d.store.InTx(t.Context(), models.Operator("1000"), func(tx *models.Tx) error {
		if err := tx.CreateWorkspace(models.Workspace{ID: "1000", Name: "Nordwind", TimeZone: "Europe/Berlin", Currency: "EUR"}); err != nil {
			return err
		}
		for _, name := range []string{"anna", "bert"} {
			if _, _, err := tx.CreateUser(models.NewUser{Email: name + "@example.test", Name: name, Roles: []models.Role{models.RoleAgent}}); err != nil {
				return err
			}
		}
		var err error
		d.personal, _, err = tx.CreateToken(models.NewToken{UserEmail: "bert@example.test", Name: "own", Scopes: []models.Scope{models.ScopeAll}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{Store: d.store, Issuer: i.URL, Audience: resource}
	for _, f := range change {
		f(&cfg)
	}
	if d.Verifier, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	return d
}

// claims of a good token for anna, with changes; a nil value leaves a claim out.
func (d *desk) claims(changes map[string]any) map[string]any {
	now := d.clock.Now().Unix()
	c := map[string]any{"iss": d.Issuer(), "sub": "s-1", "aud": resource, "iat": now, "nbf": now, "exp": now + 300, "jti": "t-1", "client_id": "agent",
		"email": "anna@example.test", "email_verified": true}
	maps.Copy(c, changes)
	maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
	return c
}

// says tells who the token is, or why it is refused.
func (d *desk) says(t *testing.T, token string) string {
	t.Helper()
	id, err := d.Identify(t.Context(), token)
	if err == nil {
		return id.User.Name
	}
	ne, ok := models.AsNamed(err)
	if !ok {
		t.Fatalf("not a named error: %v", err)
	}
	if len(token) > 20 && strings.Contains(fmt.Sprint(err, ne.Message, ne.Unwrap()), token[20:]) {
		t.Error("the error holds the token")
	}
	if ne.Code == models.Unavailable {
		return "unavailable"
	}
	if ne.Code != models.Unauthenticated {
		t.Errorf("code %s", ne.Code)
	}
	return strings.TrimSuffix(strings.TrimPrefix(ne.Message, "The access token is not accepted: "), ".")
}

func TestClaims(t *testing.T) {
	key := rsaKey(t, "k1", 2048)
	d := newDesk(t, newIssuer(t, key.public()), func(c *Config) { c.Subjects = map[string]string{"program": "bert@example.test"} })
	now := float64(d.clock.Now().Unix())
	type is map[string]any
	for _, tc := range []struct {
		name    string
		changes is
		says    string
	}{
		{"a good one is who it says", nil, "anna"},
		{"e-mail addresses are compared in any case", is{"email": "Anna@Example.Test"}, "anna"},
		{"a verified address may be told as text", is{"email_verified": "true"}, "anna"},
		{"an address nobody verified does not count", is{"email_verified": false}, "its e-mail address is not verified"},
		{"nor one told as another text", is{"email_verified": "yes"}, "its e-mail address is not verified"},
		{"nor one of which nothing is said", is{"email_verified": nil}, "its e-mail address is not verified"},
		{"claims go by their exact names", is{"email_verified": nil, "Email_Verified": true}, "its e-mail address is not verified"},
		{"without an address the subject must be known", is{"email": nil}, "its subject is not known here, and it carries no e-mail address"},
		{"a known subject goes before the address", is{"sub": "program"}, "bert"},
		{"and needs none", is{"sub": "program", "email": nil, "email_verified": nil}, "bert"},
		{"without a subject it is nobody's", is{"sub": nil}, "it names no subject"},
		{"an address nobody has is nobody's", is{"email": "carl@example.test"}, "it is for nobody who may use the desk"},

		{"the issuer counts to the letter", is{"iss": d.Issuer() + "/"}, "another issuer made it"},
		{"and must be there", is{"iss": nil}, "another issuer made it"},

		{"one of several audiences is enough", is{"aud": []string{"https://other.example.test", resource}}, "anna"},
		{"a slash at the end makes no difference", is{"aud": resource + "/"}, "anna"},
		{"two do", is{"aud": resource + "//"}, "it is meant for another service"},
		{"another service's is refused", is{"aud": "https://other.example.test"}, "it is meant for another service"},
		{"so is one for the host alone", is{"aud": "https://desk.example.test"}, "it is meant for another service"},
		{"and one for nobody", is{"aud": nil}, "it is meant for another service"},
		{"and one for an empty list", is{"aud": []string{}}, "it is meant for another service"},

		{"it may be 59 seconds over", is{"exp": now - 59}, "anna"},
		{"and not 60", is{"exp": now - 60}, "it has expired"},
		{"it must expire", is{"exp": nil}, "it never expires"},
		{"a time may have a fraction", is{"exp": now + 0.5}, "anna"},
		{"it may begin in 60 seconds", is{"nbf": now + 60}, "anna"},
		{"and not in 61", is{"nbf": now + 61}, "it is not valid yet"},
		{"nor be made in the future", is{"iat": now + 61}, "it is not valid yet"},
		{"a time that is text is none", is{"exp": "tomorrow"}, "its claims cannot be read"},

		{"an ID token is known by its nonce", is{"nonce": "n"}, "it is an ID token, not an access token"},
		{"or by its hashes", is{"at_hash": "h"}, "it is an ID token, not an access token"},
		{"or by its use", is{"token_use": "id"}, "it is no access token"},
		{"an access token's use is well", is{"token_use": "access"}, "anna"},
		{"a refresh token is none", is{"typ": "Refresh"}, "it is no access token"},
		{"an access token may say Bearer", is{"typ": "Bearer"}, "anna"},
		{"a security event is none", is{"events": is{"http://schemas.openid.net/event/backchannel-logout": is{}}}, "it is no access token"},
		{"one bound to a key is not taken for one that is not", is{"cnf": is{"jkt": "x"}}, "it is bound to a key of its holder, which cannot be checked here"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if says := d.says(t, key.token(t, d.claims(tc.changes))); says != tc.says {
				t.Errorf("got %q, want %q", says, tc.says)
			}
		})
	}
	t.Run("the same name twice is refused", func(t *testing.T) {
		payload, err := json.Marshal(d.claims(nil))
		if err != nil {
			t.Fatal(err)
		}
		twice := []byte(strings.Replace(string(payload), "{", `{"email":"bert@example.test",`, 1))
		if says := d.says(t, key.token(t, twice)); says != "its claims cannot be read" {
			t.Errorf("got %q", says)
		}
	})
	t.Run("claims that are no object are refused", func(t *testing.T) {
		for _, payload := range []string{"", "null", "[]", "7", "{"} {
			if says := d.says(t, key.token(t, []byte(payload))); says == "anna" || says == "bert" {
				t.Errorf("%q is %s", payload, says)
			}
		}
	})
	t.Run("a personal token is never taken for another's", func(t *testing.T) {
		if says := d.says(t, d.personal); says != "bert" {
			t.Errorf("got %q", says)
		}
		if says := d.says(t, "apd_"+key.token(t, d.claims(nil))); says == "anna" {
			t.Errorf("got %q", says)
		}
		if says := d.says(t, ""); !strings.Contains(says, "missing") {
			t.Errorf("got %q", says)
		}
	})
}

func TestHeader(t *testing.T) {
	key := rsaKey(t, "k1", 2048)
	d := newDesk(t, newIssuer(t, key.public()))
	for typ, says := range map[string]string{
		"JWT": "anna", "jwt": "anna", "at+jwt": "anna", "application/at+jwt": "anna", "AT+JWT": "anna",
		"id_token": "its type is not that of an access token", "logout+jwt": "its type is not that of an access token",
		"dpop+jwt": "its type is not that of an access token", "": "its type is not that of an access token",
	} {
		if got := d.says(t, key.token(t, d.claims(nil), "typ", typ)); got != says {
			t.Errorf("typ %q: %q", typ, got)
		}
	}
	if got := d.says(t, key.token(t, d.claims(map[string]any{"nonce": "n"}), "typ", "at+jwt")); got != "anna" {
		t.Errorf("an access token that says so, with a nonce: %q", got)
	}
	if got := d.says(t, key.token(t, d.claims(nil), "jku", "https://evil.example.test/keys")); got != "anna" {
		t.Errorf("a foreign key address is not followed, and does no harm: %q", got)
	}
}

func TestScopes(t *testing.T) {
	key := rsaKey(t, "k1", 2048)
	i := newIssuer(t, key.public())
	for _, tc := range []struct {
		name    string
		allowed []models.Scope
		claims  map[string]any
		want    string
	}{
		{"by default it reads", nil, nil, "cases:read approvals:read confirmations:read holds:read"},
		{"and no more, whatever it says", nil, map[string]any{"scope": "all money cases:write"}, "cases:read approvals:read confirmations:read holds:read"},
		{"it reads less when it says less", nil, map[string]any{"scope": "openid cases:read"}, "cases:read"},
		{"a write scope includes the read scope", nil, map[string]any{"scope": "cases:write"}, "cases:read"},
		{"a token of foreign scopes may do nothing", nil, map[string]any{"scope": "openid email"}, ""},
		{"nor one of an empty scope", nil, map[string]any{"scope": ""}, ""},
		{"a list is as good", nil, map[string]any{"scope": []string{"cases:read", "holds:read"}}, "cases:read holds:read"},
		{"scp counts where there is no scope", nil, map[string]any{"scp": []string{"holds:read"}}, "holds:read"},
		{"scope goes before scp", nil, map[string]any{"scope": "cases:read", "scp": "all"}, "cases:read"},
		{"what is configured is what there is", []models.Scope{models.ScopeCasesWrite}, nil, "cases:read cases:write"},
		{"all of it is all, when both say so", []models.Scope{models.ScopeAll}, map[string]any{"scope": "holds:write"}, "holds:read holds:write"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := newDesk(t, i, func(c *Config) { c.Scopes = tc.allowed })
			id, err := d.Identify(t.Context(), key.token(t, d.claims(tc.claims)))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, s := range id.Scopes() {
				got = append(got, string(s))
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("got %v, want %s", got, tc.want)
			}
		})
	}
}

func TestIdentity_names_the_token_and_nothing_secret(t *testing.T) {
	key := rsaKey(t, "k1", 2048)
	d := newDesk(t, newIssuer(t, key.public()))
	for _, tc := range []struct {
		claims   map[string]any
		id, name string
	}{
		{nil, "oauth:t-1", "oauth client agent"},
		{map[string]any{"jti": nil, "client_id": nil, "azp": "portal"}, "oauth", "oauth client portal"},
		{map[string]any{"jti": "a\nb", "client_id": nil}, "oauth:ab", "oauth client"},
		{map[string]any{"jti": strings.Repeat("x", 300)}, "oauth:" + strings.Repeat("x", 200), "oauth client agent"},
	} {
		id, err := d.Identify(t.Context(), key.token(t, d.claims(tc.claims)))
		if err != nil {
			t.Fatal(err)
		}
		by, err := id.As("1000", models.ChannelAPI, "req_1")
		if err != nil {
			t.Fatal(err)
		}
		if by.TokenID != tc.id || by.TokenName != tc.name || by.TokenBy != "" || id.TokenType() != "oauth" || by.IsPerson() || by.NeedPerson() == nil {
			t.Errorf("%q %q %+v", by.TokenID, by.TokenName, by)
		}
	}
}

func TestKeys(t *testing.T) {
	t.Run("of every asymmetric kind are taken", func(t *testing.T) {
		private, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		signers := []signer{}
		for _, alg := range []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512} {
			signers = append(signers, signer{string(alg), alg, private})
		}
		for alg, curve := range map[jose.SignatureAlgorithm]elliptic.Curve{jose.ES256: elliptic.P256(), jose.ES384: elliptic.P384(), jose.ES512: elliptic.P521()} {
			key, err := ecdsa.GenerateKey(curve, rand.Reader)
			if err != nil {
				t.Fatal(err)
			}
			signers = append(signers, signer{string(alg), alg, key})
		}
		_, ed, err := ed25519.GenerateKey(rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		signers = append(signers, signer{"ed", jose.EdDSA, ed})
		var published []any
		for _, s := range signers {
			published = append(published, s.public())
		}
		d := newDesk(t, newIssuer(t, published...))
		for _, s := range signers {
			if got := d.says(t, s.token(t, d.claims(nil))); got != "anna" {
				t.Errorf("%s: %q", s.alg, got)
			}
		}
	})
	t.Run("that are secret, weak, for encryption or unknown sign nothing", func(t *testing.T) {
		good, weak, private, sealing := rsaKey(t, "good", 2048), rsaKey(t, "weak", 1024), rsaKey(t, "private", 2048), rsaKey(t, "sealing", 2048)
		forSealing := sealing.public()
		forSealing.Use = "enc"
		shared := signer{"shared", jose.HS256, []byte(strings.Repeat("s", 32))}
		i := newIssuer(t, map[string]string{"kty": "made-up", "kid": "new"}, weak.public(), jose.JSONWebKey{Key: private.private, KeyID: "private"}, forSealing,
			jose.JSONWebKey{Key: shared.private, KeyID: "shared", Algorithm: "HS256"}, good.public())
		d := newDesk(t, i)
		if got := d.says(t, good.token(t, d.claims(nil))); got != "anna" {
			t.Errorf("good: %q", got)
		}
		for _, s := range []signer{private, sealing, shared} {
			if got := d.says(t, s.token(t, d.claims(nil))); got == "anna" {
				t.Errorf("%s was taken", s.id)
			}
		}
		if set, err := d.keys.current(t.Context()); err != nil || len(set) != 1 {
			t.Errorf("%d keys are used, %v", len(set), err)
		}
	})
	t.Run("sign with the algorithm published for them alone", func(t *testing.T) {
		key := rsaKey(t, "k1", 2048)
		d := newDesk(t, newIssuer(t, key.public()))
		other := signer{"k1", jose.PS256, key.private}
		if got := d.says(t, other.token(t, d.claims(nil))); got != "it is not signed with a key of the issuer" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("without a name are tried one by one", func(t *testing.T) {
		first, second := rsaKey(t, "", 2048), rsaKey(t, "", 2048)
		d := newDesk(t, newIssuer(t, first.public(), second.public()))
		if got := d.says(t, second.token(t, d.claims(nil))); got != "anna" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("not known are asked for, and no more often than every ten seconds", func(t *testing.T) {
		key, forged := rsaKey(t, "k1", 2048), rsaKey(t, "made-up", 2048)
		i := newIssuer(t, key.public())
		d := newDesk(t, i)
		for range 50 {
			if got := d.says(t, forged.token(t, d.claims(nil))); got != "it is not signed with a key of the issuer" {
				t.Fatalf("got %q", got)
			}
		}
		if n := i.asked.Load(); n != fetchBurst {
			t.Errorf("the issuer was asked %d times", n)
		}
		d.clock.Advance(fetchEvery)
		next := rsaKey(t, "k2", 2048)
		i.set(func() { i.keys = []any{next.public()} })
		if got := d.says(t, next.token(t, d.claims(nil))); got != "anna" {
			t.Errorf("a new key: %q", got)
		}
		if got := d.says(t, key.token(t, d.claims(nil))); got != "it is not signed with a key of the issuer" {
			t.Errorf("a withdrawn key: %q", got)
		}
		if n := i.asked.Load(); n != fetchBurst+1 {
			t.Errorf("the issuer was asked %d times", n)
		}
	})
	t.Run("are asked for once by everybody who waits", func(t *testing.T) {
		key := rsaKey(t, "k1", 2048)
		i := newIssuer(t, key.public())
		i.hold = make(chan struct{})
		d := newDesk(t, i)
		token := key.token(t, d.claims(nil))
		said := make(chan string, 20)
		for range cap(said) {
			go func() { said <- d.says(t, token) }()
		}
		close(i.hold)
		for range cap(said) {
			if got := <-said; got != "anna" {
				t.Errorf("got %q", got)
			}
		}
		if n := i.asked.Load(); n != 1 {
			t.Errorf("the issuer was asked %d times", n)
		}
	})
	t.Run("withdrawn stop counting after ten minutes, though nobody brings another", func(t *testing.T) {
		key, next := rsaKey(t, "k1", 2048), rsaKey(t, "k2", 2048)
		i := newIssuer(t, key.public())
		d := newDesk(t, i, func(c *Config) { c.Skew = time.Hour })
		token := key.token(t, d.claims(nil))
		d.says(t, token)
		i.set(func() { i.keys = []any{next.public()} })
		d.clock.Advance(10*time.Minute - time.Second)
		if got := d.says(t, token); got != "anna" {
			t.Errorf("a second before: %q", got)
		}
		d.clock.Advance(time.Second)
		if got := d.says(t, token); got != "it is not signed with a key of the issuer" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("are kept while the issuer is down", func(t *testing.T) {
		key := rsaKey(t, "k1", 2048)
		i := newIssuer(t, key.public())
		d := newDesk(t, i, func(c *Config) { c.Skew = 48 * time.Hour })
		token := key.token(t, d.claims(nil))
		if got := d.says(t, token); got != "anna" {
			t.Fatalf("got %q", got)
		}
		i.set(func() { i.down = true })
		for range 24 {
			d.clock.Advance(time.Hour)
			if got := d.says(t, token); got != "anna" {
				t.Fatalf("got %q", got)
			}
		}
		forged := rsaKey(t, "k1", 2048)
		if got := d.says(t, forged.token(t, d.claims(nil))); got != "it is not signed with a key of the issuer" {
			t.Errorf("a forged token under a known name: %q", got)
		}
		if got := d.says(t, rsaKey(t, "k2", 2048).token(t, d.claims(nil))); got != "unavailable" {
			t.Errorf("a key that may be new: %q", got)
		}
	})
	t.Run("are not to be had where the issuer is not what it says", func(t *testing.T) {
		key := rsaKey(t, "k1", 2048)
		i := newIssuer(t, key.public())
		for name, document := range map[string]string{
			"another issuer":     fmt.Sprintf(`{"issuer":"https://other.example.test","jwks_uri":%q}`, i.URL+"/keys"),
			"no keys":            fmt.Sprintf(`{"issuer":%q}`, i.URL),
			"keys in the open":   fmt.Sprintf(`{"issuer":%q,"jwks_uri":"http://keys.example.test/keys"}`, i.URL),
			"keys in a file":     fmt.Sprintf(`{"issuer":%q,"jwks_uri":"file:///etc/passwd"}`, i.URL),
			"an endless answer":  fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q,"x":%q}`, i.URL, i.URL+"/keys", strings.Repeat("x", maxDocument)),
			"no JSON":            "<html>",
			"keys that are none": fmt.Sprintf(`{"issuer":%q,"jwks_uri":%q}`, i.URL, i.URL+"/nothing"),
		} {
			i.set(func() { i.document = document })
			d := newDesk(t, i)
			if err := d.Load(t.Context()); err == nil {
				t.Errorf("%s: loaded", name)
			}
			if got := d.says(t, key.token(t, d.claims(nil))); got != "unavailable" {
				t.Errorf("%s: %q", name, got)
			}
			if got := d.says(t, d.personal); got != "bert" {
				t.Errorf("%s: personal tokens: %q", name, got)
			}
		}
	})
	t.Run("are not fetched from where the issuer was led astray", func(t *testing.T) {
		astray := httptest.NewServer(http.RedirectHandler("http://keys.example.test/", http.StatusFound))
		defer astray.Close()
		store, _ := modelstest.SQLite(t)
		v, err := New(Config{Store: store, Issuer: astray.URL, Audience: resource})
		if err != nil {
			t.Fatal(err)
		}
		if err := v.Load(t.Context()); err == nil || !strings.Contains(err.Error(), "https") {
			t.Errorf("got %v", err)
		}
	})
}

func TestNew_refuses_what_would_accept_too_much(t *testing.T) {
	store, _ := modelstest.SQLite(t)
	for name, change := range map[string]func(*Config){
		"an issuer in the open":    func(c *Config) { c.Issuer = "http://login.example.test" },
		"no issuer":                func(c *Config) { c.Issuer = "" },
		"a name for an issuer":     func(c *Config) { c.Issuer = "login.example.test" },
		"an issuer with a query":   func(c *Config) { c.Issuer = "https://login.example.test?tenant=1" },
		"an issuer with a secret":  func(c *Config) { c.Issuer = "https://a:b@login.example.test" },
		"no audience":              func(c *Config) { c.Audience = "" },
		"a scope that is none":     func(c *Config) { c.Scopes = []models.Scope{"cases:everything"} },
		"a subject without e-mail": func(c *Config) { c.Subjects = map[string]string{"s": "anna"} },
	} {
		cfg := Config{Store: store, Issuer: "https://login.example.test", Audience: resource}
		change(&cfg)
		if _, err := New(cfg); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	for _, issuer := range []string{"https://login.example.test/realms/x", "http://127.0.0.1:8080", "http://localhost:8080/", "http://[::1]:8080"} {
		if _, err := New(Config{Store: store, Issuer: issuer, Audience: resource}); err != nil {
			t.Errorf("%s: %v", issuer, err)
		}
	}
	v, err := New(Config{Store: store, Issuer: "https://login.example.test", Audience: resource})
	if err != nil || !slices.Equal(v.Scopes(), ReadScopes()) {
		t.Errorf("%v %v", err, v.Scopes())
	}
}
