package web

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/auth/oauth"
)

// requireProvider makes a provider that cannot be built a failure instead of a reason to skip.
const requireProvider = "APDESK_TEST_REQUIRE_IDP"

// buildProvider compiles the identity provider of the tests, a module of its own. Where its modules cannot
// be had the test is skipped.
func buildProvider(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	program := filepath.Join(t.TempDir(), "idp")
	command := func(args ...string) ([]byte, error) {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = filepath.Join("auth", "oauth", "testdata", "idp")
		cmd.Env = append(os.Environ(), "GOWORK=off")
		return cmd.CombinedOutput()
	}
	if out, err := command("list", "-mod=readonly", "-deps", "."); err != nil { // fetches what is missing
		if os.Getenv(requireProvider) != "" {
			t.Fatalf("%s is set, and the identity provider's modules cannot be had: %v\n%s", requireProvider, err, out)
		}
		t.Skipf("the modules of the identity provider cannot be had here: %v\n%s", err, out)
	}
	if out, err := command("build", "-mod=readonly", "-o", program, "."); err != nil {
		t.Fatalf("build the identity provider: %v\n%s", err, out)
	}
	return program
}

// provider is a running identity provider.
type provider struct {
	t       *testing.T
	program string
	issuer  string
	process *exec.Cmd
	life    io.Closer // the process ends when this is closed
}

func startProvider(t *testing.T, program string) *provider {
	t.Helper()
	p := &provider{t: t, program: program}
	p.start("127.0.0.1:0")
	t.Cleanup(p.stop)
	return p
}

func (p *provider) start(address string) {
	p.t.Helper()
	p.process = exec.Command(p.program, address)
	p.process.Stderr = os.Stderr
	life, err := p.process.StdinPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	out, err := p.process.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.process.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.life = life
	issuer, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		p.t.Fatalf("the identity provider does not say where it is: %v", err)
	}
	p.issuer = strings.TrimSpace(issuer)
}

func (p *provider) stop() {
	if p.process == nil {
		return
	}
	_ = p.life.Close()
	if err := p.process.Wait(); err != nil {
		p.t.Errorf("the identity provider: %v", err)
	}
	p.process = nil
}

// restart starts it again where it was, with keys and memory lost.
func (p *provider) restart() {
	p.t.Helper()
	p.start(strings.TrimPrefix(p.issuer, "http://"))
}

func (p *provider) rotate() {
	p.t.Helper()
	p.read(http.MethodPost, "/operator/rotate", nil)
}

func (p *provider) read(method, path string, into any) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.issuer+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err == nil && into != nil {
		err = json.Unmarshal(body, into)
	}
	if err != nil || res.StatusCode >= 300 {
		p.t.Fatalf("%s %s: %d %v %s", method, path, res.StatusCode, err, body)
	}
}

const callback = "http://127.0.0.1:9/callback"

// authorize is what a browser does: it opens the address, its person signs in, and it is sent back with
// what it is given here.
func (p *provider) authorize(ctx context.Context, address, user string) (url.Values, error) {
	browser := &http.Client{CheckRedirect: func(req *http.Request, _ []*http.Request) error {
		if req.URL.Path == "/login" {
			query := req.URL.Query()
			query.Set("user", user)
			req.URL.RawQuery = query.Encode()
		}
		if strings.HasPrefix(req.URL.String(), callback) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	res, err := browser.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	back, err := res.Location()
	if err != nil {
		body, _ := io.ReadAll(res.Body)
		return nil, fmt.Errorf("%d %w %s", res.StatusCode, err, body)
	}
	return back.Query(), nil
}

type tokens struct {
	Access string `json:"access_token"`
	ID     string `json:"id_token"`
}

// signIn is the authorization code flow with PKCE, for a person.
func (p *provider) signIn(user, resource, scope string) tokens {
	p.t.Helper()
	verifier := rand.Text() + rand.Text()
	challenge := sha256.Sum256([]byte(verifier))
	back, err := p.authorize(p.t.Context(), p.issuer+"/authorize?"+url.Values{"response_type": {"code"}, "client_id": {"invoice-agent"}, "redirect_uri": {callback},
		"scope": {scope}, "resource": {resource}, "code_challenge": {base64.RawURLEncoding.EncodeToString(challenge[:])}, "code_challenge_method": {"S256"}}.Encode(), user)
	if err != nil || back.Get("code") == "" {
		p.t.Fatalf("sign in: %v %v", err, back)
	}
	return p.token(url.Values{"grant_type": {"authorization_code"}, "client_id": {"invoice-agent"}, "redirect_uri": {callback}, "code": {back.Get("code")}, "code_verifier": {verifier}})
}

// forItself is the client credentials flow, for a program without a person.
func (p *provider) forItself(resource, scope string) tokens {
	p.t.Helper()
	return p.token(url.Values{"grant_type": {"client_credentials"}, "client_id": {"night-run"}, "client_secret": {"night-run-secret"}, "scope": {scope}, "resource": {resource}})
}

func (p *provider) token(form url.Values) tokens {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, p.issuer+"/oauth/token", strings.NewReader(form.Encode()))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	a, err := send(req)
	if err != nil || a.status != 200 {
		p.t.Fatalf("token: %v %d %s", err, a.status, a.body)
	}
	var got tokens
	if err := json.Unmarshal([]byte(a.body), &got); err != nil || got.Access == "" {
		p.t.Fatalf("token: %v %s", err, a.body)
	}
	return got
}

// oauthDesk is a running desk that accepts a provider's tokens.
type oauthDesk struct {
	*running
	t        *testing.T
	resource string
}

func newOAuthDesk(t *testing.T, issuer string, change ...func(*oauth.Config)) *oauthDesk {
	t.Helper()
	var listen net.ListenConfig
	free, err := listen.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	d := &oauthDesk{t: t, resource: "http://" + address + "/mcp"}
	d.running = run(t, func(c *Config) {
		c.MCPAddr, c.MCPURL = address, d.resource
		cfg := oauth.Config{Store: c.Store, Issuer: issuer, Audience: d.resource}
		for _, f := range change {
			f(&cfg)
		}
		if c.OAuth, err = oauth.New(cfg); err != nil {
			t.Fatal(err)
		}
	})
	d.in("1000", func(tx *models.Tx) error {
		return tx.DB.Model(&models.User{}).Where("email = ?", "gone@example.test").Update("active", false).Error
	})
	d.now()
	return d
}

// now sets the desk's clock, which stands still, to the world's, in which the provider lives.
func (d *oauthDesk) now() { d.clock.Set(time.Now()) }

// tool calls a tool over the socket.
func (d *oauthDesk) tool(token, name, arguments string) answer {
	d.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + name + `","arguments":` + arguments +
		`,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
	return d.post(d.resource, token, body, "MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", name, "Accept", "application/json, text/event-stream")
}

func (d *oauthDesk) post(address, token, body string, headers ...string) answer {
	d.t.Helper()
	method := http.MethodPost
	if body == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(d.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		d.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	a, err := send(req)
	if err != nil {
		d.t.Fatal(err)
	}
	return a
}

// ask makes the same harmless call on both channels.
func (d *oauthDesk) ask(token string) (overMCP, overREST answer) {
	d.t.Helper()
	return d.tool(token, "list_workspaces", "{}"), d.post(d.people+"/api/v1/workspaces", token, "")
}

func (d *oauthDesk) accepts(token string) {
	d.t.Helper()
	m, r := d.ask(token)
	if m.status != 200 || !strings.Contains(m.body, "1000") || r.status != 200 || !strings.Contains(r.body, "1000") {
		d.t.Errorf("MCP %d %s\nREST %d %s", m.status, m.body, r.status, r.body)
	}
}

// refuses says that the token counts for nothing on both channels, for a reason.
func (d *oauthDesk) refuses(token, reason string) {
	d.t.Helper()
	m, r := d.ask(token)
	challenge := m.header.Get("WWW-Authenticate")
	if m.status != 401 || !strings.HasPrefix(challenge, `Bearer resource_metadata="`) || !strings.Contains(challenge, `error="invalid_token"`) || !strings.Contains(challenge, reason) {
		d.t.Errorf("MCP %d %s\n%s", m.status, challenge, m.body)
	}
	if r.status != 401 || r.code() != "unauthenticated" || !strings.Contains(r.header.Get("WWW-Authenticate"), `error="invalid_token"`) || !strings.Contains(r.body, reason) {
		d.t.Errorf("REST %d %s", r.status, r.body)
	}
}

// cannotTell says that the desk asks for patience on both channels.
func (d *oauthDesk) cannotTell(token string) {
	d.t.Helper()
	m, r := d.ask(token)
	if m.status != 503 || m.header.Get("Retry-After") == "" || !strings.Contains(m.body, "identity provider") {
		d.t.Errorf("MCP %d %s", m.status, m.body)
	}
	if r.status != 503 || r.header.Get("Retry-After") == "" || r.code() != "UNAVAILABLE" {
		d.t.Errorf("REST %d %s", r.status, r.body)
	}
}

// reads is the scope parameter of most sign-ins here.
const reads = "openid email cases:read approvals:read"

func TestAccessTokensOfAnIdentityProvider(t *testing.T) {
	program := buildProvider(t)
	idp := startProvider(t, program)

	t.Run("somebody the desk knows is let in", func(t *testing.T) {
		d := newOAuthDesk(t, idp.issuer)
		token := idp.signIn("u-agent", d.resource, reads).Access
		d.accepts(token)
		t.Run("while personal tokens go on", func(t *testing.T) { d.accepts(d.tokens["agent"]) })
		t.Run("and the logs tell the kind of token and never the token", func(t *testing.T) {
			log := d.log.String()
			for _, line := range []string{`"msg":"request"`, `"msg":"tools/call"`} {
				if !slices.ContainsFunc(strings.Split(log, "\n"), func(l string) bool {
					return strings.Contains(l, line) && strings.Contains(l, `"token_type":"oauth"`)
				}) {
					t.Errorf("no line %s with token_type oauth", line)
				}
			}
			for _, part := range strings.Split(token, ".") {
				if strings.Contains(log, part) {
					t.Error("the log holds a part of the token")
				}
			}
		})
	})
	t.Run("the metadata names the issuer and what to ask for", func(t *testing.T) {
		d := newOAuthDesk(t, idp.issuer)
		a := d.post(d.agents+"/.well-known/oauth-protected-resource/mcp", "", "")
		var got struct {
			Resource string   `json:"resource"`
			Servers  []string `json:"authorization_servers"`
			Scopes   []string `json:"scopes_supported"`
		}
		if err := json.Unmarshal([]byte(a.body), &got); err != nil || got.Resource != d.resource || !slices.Equal(got.Servers, []string{idp.issuer}) ||
			!slices.Equal(got.Scopes, []string{"cases:read", "approvals:read", "confirmations:read", "holds:read"}) {
			t.Errorf("%v %s", err, a.body)
		}
		m := d.tool("", "list_workspaces", "{}")
		want := `Bearer resource_metadata="` + d.agents + `/.well-known/oauth-protected-resource/mcp", scope="cases:read approvals:read confirmations:read holds:read"`
		if m.status != 401 || m.header.Get("WWW-Authenticate") != want {
			t.Errorf("%d %s", m.status, m.header.Get("WWW-Authenticate"))
		}
	})
	t.Run("the official client finds the way by itself", func(t *testing.T) {
		d := newOAuthDesk(t, idp.issuer)
		handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
			PreregisteredClient: &oauthex.ClientCredentials{ClientID: "invoice-agent"}, RedirectURL: callback,
			AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
				back, err := idp.authorize(ctx, args.URL, "u-agent")
				if err != nil {
					return nil, err
				}
				return &auth.AuthorizationResult{Code: back.Get("code"), State: back.Get("state"), Iss: back.Get("iss")}, nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: d.resource, OAuthHandler: handler, MaxRetries: -1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = session.Close() }()
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if !slices.Contains(names, "get_case") || slices.Contains(names, "route_to_person") {
			t.Errorf("a reader is shown %v", names)
		}
	})

	t.Run("a token is refused", func(t *testing.T) {
		d := newOAuthDesk(t, idp.issuer)
		good := idp.signIn("u-agent", d.resource, reads)
		d.accepts(good.Access)
		t.Run("when it is for another service", func(t *testing.T) {
			d.refuses(idp.signIn("u-agent", "https://other.example.test/mcp", reads).Access, "meant for another service")
			d.refuses(idp.signIn("u-agent", "", reads).Access, "meant for another service")
			d.refuses(idp.signIn("u-agent", d.resource+"/more", reads).Access, "meant for another service")
		})
		t.Run("when it has expired, clocks a minute apart allowed for", func(t *testing.T) {
			defer d.now()
			d.clock.Advance(5*time.Minute + 50*time.Second)
			d.accepts(good.Access)
			d.clock.Advance(30 * time.Second)
			d.refuses(good.Access, "has expired")
		})
		t.Run("when it is not valid yet, clocks a minute apart allowed for", func(t *testing.T) {
			defer d.now()
			d.now()
			d.clock.Advance(-30 * time.Second)
			d.accepts(idp.signIn("u-agent", d.resource, reads).Access)
			d.clock.Advance(-5 * time.Minute)
			d.refuses(good.Access, "not valid yet")
		})
		t.Run("when another issuer made it", func(t *testing.T) {
			other := startProvider(t, program)
			d.refuses(other.signIn("u-agent", d.resource, reads).Access, "not signed with a key of the issuer")
		})
		t.Run("when it is an ID token", func(t *testing.T) {
			d.refuses(good.ID, "ID token")
		})
		t.Run("when it is no token at all", func(t *testing.T) {
			d.refuses("abc", "no JWT")
			d.refuses("a.b.c", "no JWT")
			d.refuses(strings.Repeat("a", 13<<10), "too long")
		})
		t.Run("when its e-mail address is not verified", func(t *testing.T) {
			d.refuses(idp.signIn("u-careful", d.resource, reads).Access, "not verified")
		})
		t.Run("when nobody has its e-mail address", func(t *testing.T) {
			d.refuses(idp.signIn("u-nobody", d.resource, reads).Access, "nobody who may use the desk")
		})
		t.Run("when the person was deactivated", func(t *testing.T) {
			d.refuses(idp.signIn("u-gone", d.resource, reads).Access, "nobody who may use the desk")
		})
		t.Run("when its subject is a program nobody has named", func(t *testing.T) {
			d.refuses(idp.forItself(d.resource, "cases:read").Access, "subject is not known")
		})
	})

	t.Run("a forged token is refused", func(t *testing.T) {
		d := newOAuthDesk(t, idp.issuer)
		good := idp.signIn("u-agent", d.resource, reads).Access
		d.accepts(good)
		var published jose.JSONWebKeySet
		idp.read(http.MethodGet, "/keys", &published)
		own, err := rsa.GenerateKey(rand.Reader, 2048)
		if err != nil {
			t.Fatal(err)
		}
		payload, err := base64.RawURLEncoding.DecodeString(strings.Split(good, ".")[1])
		if err != nil {
			t.Fatal(err)
		}
		der, err := x509.MarshalPKIXPublicKey(published.Keys[0].Key)
		if err != nil {
			t.Fatal(err)
		}
		kid := published.Keys[0].KeyID
		t.Run("without a signature", func(t *testing.T) {
			for _, alg := range []string{"none", "None", ""} {
				head := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"` + alg + `","kid":"` + kid + `"}`))
				d.refuses(head+"."+base64.RawURLEncoding.EncodeToString(payload)+".", "signature algorithm")
			}
		})
		t.Run("with the public key as a shared secret", func(t *testing.T) {
			secret := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
			d.refuses(sign(t, jose.HS256, secret, kid, payload), "signature algorithm")
			d.refuses(sign(t, jose.HS256, bytes.TrimSpace(secret), kid, payload), "signature algorithm")
		})
		t.Run("with a key of the forger's, under a made-up name, the right name and none", func(t *testing.T) {
			for _, name := range []string{"made-up", kid, ""} {
				d.refuses(sign(t, jose.RS256, own, name, payload), "not signed with a key of the issuer")
			}
		})
		t.Run("with claims changed under the old signature", func(t *testing.T) {
			parts := strings.Split(good, ".")
			parts[1] = base64.RawURLEncoding.EncodeToString(bytes.Replace(payload, []byte("agent@example.test"), []byte("fiona@example.test"), 1))
			d.refuses(strings.Join(parts, "."), "not signed with a key of the issuer")
		})
		d.accepts(good)
	})

	t.Run("a token reads and does not write, unless that is configured", func(t *testing.T) {
		handover := `{"workspace_id":"1000",` + strings.TrimPrefix(poClosed, "{")
		everything := "openid email all cases:write approvals:write money"
		refusedWrite := func(d *oauthDesk, token string) {
			d.t.Helper()
			m, r := d.tool(token, "route_to_person", handover), d.post(d.people+"/api/v1/handovers", token, handover)
			if m.status != 200 || !strings.Contains(m.body, `"isError":true`) || !strings.Contains(m.body, "insufficient_scope") || !strings.Contains(m.body, "oauth client invoice-agent") {
				d.t.Errorf("MCP %d %s", m.status, m.body)
			}
			if r.status != 403 || r.code() != "insufficient_scope" || !strings.Contains(r.body, "cases:write") {
				d.t.Errorf("REST %d %s", r.status, r.body)
			}
		}
		t.Run("whatever it asked the provider for", func(t *testing.T) {
			d := newOAuthDesk(t, idp.issuer)
			refusedWrite(d, idp.signIn("u-agent", d.resource, everything).Access)
		})
		writing := func(c *oauth.Config) { c.Scopes = []models.Scope{models.ScopeCasesWrite} }
		t.Run("nor when the token itself carries less", func(t *testing.T) {
			d := newOAuthDesk(t, idp.issuer, writing)
			refusedWrite(d, idp.signIn("u-agent", d.resource, "openid email cases:read").Access)
			refusedWrite(d, idp.signIn("u-agent", d.resource, "openid email").Access)
		})
		t.Run("then it writes, and the trail names it", func(t *testing.T) {
			d := newOAuthDesk(t, idp.issuer, writing)
			token := idp.signIn("u-agent", d.resource, "openid email cases:write").Access
			m := d.tool(token, "route_to_person", handover)
			if m.status != 200 || strings.Contains(m.body, `"isError":true`) || !strings.Contains(m.body, "case_") {
				t.Fatalf("%d %s", m.status, m.body)
			}
			var events []models.AuditEvent
			d.in("1000", func(tx *models.Tx) error {
				return tx.DB.Where("workspace_id = ? AND channel = ?", "1000", models.ChannelMCP).Find(&events).Error
			})
			var claims struct{ JTI string }
			payload, _ := base64.RawURLEncoding.DecodeString(strings.Split(token, ".")[1])
			if err := json.Unmarshal(payload, &claims); err != nil || claims.JTI == "" {
				t.Fatalf("%v %s", err, payload)
			}
			if len(events) == 0 {
				t.Fatal("nothing on the trail")
			}
			for _, e := range events {
				if e.TokenID != "oauth:"+claims.JTI || e.ActorName != "Invoice agent" || strings.Contains(e.Data, token) {
					t.Errorf("%+v", e)
				}
			}
			if a := d.tool(token, "request_approval", write); !strings.Contains(a.body, "insufficient_scope") {
				t.Errorf("more than configured: %s", a.body)
			}
		})
	})

	t.Run("a subject can be named", func(t *testing.T) {
		d := newOAuthDesk(t, idp.issuer, func(c *oauth.Config) {
			c.Subjects = map[string]string{"night-run@clients": "Agent@example.test", "u-careful": "agent@example.test"}
		})
		t.Run("for a program without a person", func(t *testing.T) { d.accepts(idp.forItself(d.resource, "cases:read").Access) })
		t.Run("and then its e-mail address does not count", func(t *testing.T) {
			d.accepts(idp.signIn("u-careful", d.resource, reads).Access)
			if log := d.log.String(); strings.Contains(log, d.person("fiona@example.test").UserID) {
				t.Error("the subject became the owner of its e-mail address")
			}
		})
	})

	t.Run("a new key is noticed, and a withdrawn one stops counting", func(t *testing.T) {
		d := newOAuthDesk(t, idp.issuer)
		before := idp.signIn("u-agent", d.resource, reads).Access
		d.accepts(before)
		idp.rotate()
		after := idp.signIn("u-agent", d.resource, reads).Access
		d.accepts(before) // nobody has told the desk yet
		d.accepts(after)
		d.refuses(before, "not signed with a key of the issuer")
		t.Run("after ten minutes also when nobody brings the new one", func(t *testing.T) {
			d := newOAuthDesk(t, idp.issuer, func(c *oauth.Config) { c.Skew = time.Hour })
			token := idp.signIn("u-agent", d.resource, reads).Access
			d.accepts(token)
			idp.rotate()
			d.accepts(token)
			d.clock.Advance(10 * time.Minute)
			d.refuses(token, "not signed with a key of the issuer")
		})
	})

	t.Run("the provider goes away", func(t *testing.T) {
		p := startProvider(t, program)
		d, late := newOAuthDesk(t, p.issuer), newOAuthDesk(t, p.issuer)
		known := p.signIn("u-agent", d.resource, reads).Access
		forLate := p.signIn("u-agent", late.resource, reads).Access
		d.accepts(known)
		p.rotate()
		unknown := p.signIn("u-agent", d.resource, reads).Access
		p.stop()
		t.Run("keys known go on", func(t *testing.T) {
			d.accepts(known)
			d.clock.Advance(4 * time.Minute)
			d.accepts(known)
		})
		t.Run("keys not known cannot be judged", func(t *testing.T) {
			d.cannotTell(unknown)
			d.accepts(known)
		})
		t.Run("a desk that never met it asks for patience, for its tokens alone", func(t *testing.T) {
			late.cannotTell(forLate)
			for range 5 { // also when it does not ask the provider again
				late.cannotTell(forLate)
			}
			late.accepts(late.tokens["agent"])
		})
		t.Run("and it comes back", func(t *testing.T) {
			p.restart()
			d.now()
			d.clock.Advance(30 * time.Second)
			late.clock.Advance(30 * time.Second)
			d.accepts(p.signIn("u-agent", d.resource, reads).Access)
			late.accepts(p.signIn("u-agent", late.resource, reads).Access)
			d.refuses(unknown, "not signed with a key of the issuer")
		})
	})
}

// sign makes a token as a forger would.
func sign(t *testing.T, alg jose.SignatureAlgorithm, key any, kid string, payload []byte) string {
	t.Helper()
	options := (&jose.SignerOptions{}).WithType("JWT")
	if kid != "" {
		options = options.WithHeader("kid", kid)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, options)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
