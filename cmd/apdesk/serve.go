package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/web"
	"github.com/apdesk/apdesk/web/auth/oauth"
	"github.com/apdesk/apdesk/web/proxy"
)

type serveCmd struct {
	Addr          string        `help:"Address of pages and REST." default:"127.0.0.1:8080" env:"APDESK_ADDR" placeholder:"HOST:PORT"`
	MCPAddr       string        `help:"Address of the MCP endpoint." name:"mcp-addr" default:"127.0.0.1:8081" env:"APDESK_MCP_ADDR" placeholder:"HOST:PORT"`
	PublicURL     string        `help:"Where people reach the desk, such as https://desk.example.com; default http://ADDR." name:"public-url" env:"APDESK_PUBLIC_URL" placeholder:"URL"`
	MCPURL        string        `help:"Where agents reach the MCP endpoint; default PUBLIC-URL/mcp when that is set, else http://MCP-ADDR/mcp." name:"mcp-url" env:"APDESK_MCP_URL" placeholder:"URL"`
	SecretKey     string        `help:"Key that seals cookies and forms, 64 hex digits. On SQLite one is made beside the database on first start; required on PostgreSQL." env:"APDESK_SECRET_KEY" placeholder:"HEX"`
	SecretKeyFile string        `help:"File that holds the secret key." env:"APDESK_SECRET_KEY_FILE" placeholder:"FILE" type:"path"`
	OAuthIssuer   string        `help:"Accept access tokens of this identity provider, found by OIDC discovery; such as https://login.example.com." name:"oauth-issuer" env:"APDESK_OAUTH_ISSUER" placeholder:"URL"`
	OAuthAudience string        `help:"What access tokens must be meant for; default the MCP URL." name:"oauth-audience" env:"APDESK_OAUTH_AUDIENCE" placeholder:"TEXT"`
	OAuthScopes   []string      `help:"The most an access token may do; default the four read scopes." name:"oauth-scopes" env:"APDESK_OAUTH_SCOPES" placeholder:"SCOPE,..."`
	OAuthSubjects []string      `help:"Users of the provider's subjects, as SUBJECT=EMAIL; others are found by verified e-mail." name:"oauth-subject" env:"APDESK_OAUTH_SUBJECTS" placeholder:"SUBJECT=EMAIL"`
	OAuthSkew     time.Duration `help:"How far the provider's clock may differ." name:"oauth-skew" default:"60s" env:"APDESK_OAUTH_SKEW"`
	OIDC          oidcFlags     `embed:"" prefix:"oidc-" envprefix:"APDESK_OIDC_"`
	RateLimit     int           `help:"Calls a second per person, with bursts of five times as many; 0 is off." default:"1000" env:"APDESK_RATE_LIMIT" placeholder:"N"`
	TrustedProxy  []string      `help:"Proxies that are believed when they say for whom they ask (X-Forwarded-For, -Proto and -Host), as addresses or ranges; default none." name:"trusted-proxy" env:"APDESK_TRUSTED_PROXIES" placeholder:"CIDR,..."`
	SessionIdle   time.Duration `help:"After how long without use people are signed out: 5m to 24h." name:"session-idle" default:"8h" env:"APDESK_SESSION_IDLE" placeholder:"TIME"`
	SessionLife   time.Duration `help:"After how long people have to sign in again in any case: 15m to 720h." name:"session-life" default:"168h" env:"APDESK_SESSION_LIFE" placeholder:"TIME"`
	Insecure      bool          `help:"Take connections from other machines without https, on a network that nobody else is on." env:"APDESK_INSECURE"`
}

func (c serveCmd) Run(e *env) error {
	publicURL, mcpURL, err := c.urls()
	if err != nil {
		return err
	}
	proxies, err := proxy.Parse(c.TrustedProxy...)
	if err != nil {
		return fmt.Errorf("--trusted-proxy: %w", err)
	}
	if err := checkUnsafe(c, publicURL, mcpURL, e.cli.Database, proxies); err != nil {
		return err
	}
	key, err := c.secretKey(e.cli.Database)
	if err != nil {
		return err
	}
	store, err := e.open()
	if err != nil {
		return err
	}
	err = c.serve(e, store, key, publicURL, mcpURL, proxies)
	return errors.Join(err, store.Close())
}

// wire joins queues and approvals, which know each other only through interfaces, and lets both follow
// when people come, go or change roles. The server and every command that changes people wire alike.
func wire(store *models.Store) (*queue.Service, *approvals.Service) {
	cases, grants := queue.New(store), approvals.New(store)
	cases.UseApprovals(grants)
	grants.UseCases(cases)
	store.OnPeopleChanged(cases.ReturnClaims)
	store.OnPeopleChanged(grants.PeopleChanged)
	return cases, grants
}

// serve wires everything together and runs it until the context ends.
func (c serveCmd) serve(e *env, store *models.Store, key []byte, publicURL, mcpURL string, proxies proxy.Trust) error {
	if err := store.SetSessionLimits(c.SessionIdle, c.SessionLife); err != nil {
		return fmt.Errorf("--session-idle and --session-life: %w", err)
	}
	cases, grants := wire(store)
	confirmations, err := confirm.New(store, key)
	if err != nil {
		return err
	}
	checkpoints, err := models.NewAuditKey(key)
	if err != nil {
		return err
	}

	tokens, err := c.oauth(store, mcpURL)
	if err != nil {
		return err
	}
	people, err := c.OIDC.provider(store, publicURL)
	if err != nil {
		return err
	}
	server, err := web.New(web.Config{
		Store: store, Queue: cases, Approvals: grants, Confirm: confirmations,
		Addr: c.Addr, MCPAddr: c.MCPAddr, PublicURL: publicURL, MCPURL: mcpURL, OAuth: tokens, Provider: people,
		SecretKey: key, Proxies: proxies, RateLimit: c.RateLimit, Logger: e.log, Version: version(),
	})
	if err != nil {
		return err
	}

	ctx, stop := context.WithCancel(e.ctx)
	worker := models.NewWorker(store, e.log, models.HouseKeeping(), cases.Jobs(), grants.Jobs(), confirmations.Jobs(), models.AuditJobs(checkpoints))
	var background sync.WaitGroup
	background.Go(func() { worker.Run(ctx) })
	collectLess()
	background.Go(func() { returnMemory(ctx) })
	if people != nil {
		background.Go(func() {
			if err := people.Load(ctx); err != nil && ctx.Err() == nil {
				e.log.WarnContext(ctx, "the identity provider does not answer; nobody signs in through it until it does", "issuer", people.Issuer(), "cause", err)
			}
		})
	}
	if tokens != nil {
		background.Go(func() {
			if err := tokens.Load(ctx); err != nil && ctx.Err() == nil {
				e.log.WarnContext(ctx, "the identity provider does not answer; its access tokens are refused until it does", "issuer", tokens.Issuer(), "cause", err)
			}
		})
	}
	err = server.Run(ctx)
	stop()
	background.Wait()
	return err
}

// oauth checks access tokens of the configured identity provider; nil when there is none.
func (c serveCmd) oauth(store *models.Store, mcpURL string) (*oauth.Verifier, error) {
	if c.OAuthIssuer == "" {
		if c.OAuthAudience != "" || len(c.OAuthScopes) > 0 || len(c.OAuthSubjects) > 0 {
			return nil, errors.New("--oauth-audience, --oauth-scopes and --oauth-subject need --oauth-issuer")
		}
		return nil, nil
	}
	cfg := oauth.Config{Store: store, Issuer: c.OAuthIssuer, Audience: c.OAuthAudience, Subjects: map[string]string{}, Skew: c.OAuthSkew}
	if cfg.Audience == "" {
		cfg.Audience = mcpURL
	}
	for _, s := range c.OAuthScopes {
		cfg.Scopes = append(cfg.Scopes, models.Scope(s))
	}
	for _, pair := range c.OAuthSubjects {
		at := strings.LastIndex(pair, "=")
		if at < 0 {
			return nil, fmt.Errorf("--oauth-subject %q: must be SUBJECT=EMAIL", pair)
		}
		if _, twice := cfg.Subjects[pair[:at]]; twice {
			return nil, fmt.Errorf("--oauth-subject %q: this subject is given twice", pair)
		}
		cfg.Subjects[pair[:at]] = pair[at+1:]
	}
	verifier, err := oauth.New(cfg)
	if err != nil {
		return nil, fmt.Errorf("--oauth-issuer and its settings: %w", err)
	}
	return verifier, nil
}

// urls are the public addresses, defaults filled in.
func (c serveCmd) urls() (publicURL, mcpURL string, err error) {
	publicURL, mcpURL = strings.TrimSuffix(c.PublicURL, "/"), c.MCPURL
	switch {
	case mcpURL != "":
	case publicURL != "":
		mcpURL = publicURL + "/mcp"
	default:
		mcpURL = "http://" + c.MCPAddr + "/mcp"
	}
	if publicURL == "" {
		publicURL = "http://" + c.Addr
	}
	for flag, raw := range map[string]string{"--public-url": publicURL, "--mcp-url": mcpURL} {
		u, err := url.Parse(raw)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
			return "", "", fmt.Errorf("%s %q: must be an http or https URL", flag, raw)
		}
	}
	return publicURL, mcpURL, nil
}

const secretKeyBytes = 32

// secretKey is the key given, or on SQLite the one kept beside the database, made on first start.
func (c serveCmd) secretKey(database string) ([]byte, error) {
	if c.SecretKey != "" && c.SecretKeyFile != "" {
		return nil, errors.New("give --secret-key or --secret-key-file, not both")
	}
	if c.SecretKey != "" {
		return decodeKey("--secret-key", c.SecretKey)
	}
	if c.SecretKeyFile != "" {
		return readKey(c.SecretKeyFile)
	}
	path, isFile := strings.CutPrefix(database, "sqlite:")
	if !isFile {
		return nil, errors.New("on PostgreSQL --secret-key or --secret-key-file is required, the same for every replica; " +
			"make one with: openssl rand -hex 32")
	}
	path = strings.TrimPrefix(path, "//") + ".key"
	key, err := readKey(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	key = make([]byte, secretKeyBytes)
	if _, err := rand.Read(key); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return readKey(path)
	}
	if err != nil {
		return nil, fmt.Errorf("make the secret key: %w", err)
	}
	_, err = file.WriteString(hex.EncodeToString(key) + "\n")
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return nil, fmt.Errorf("make the secret key: %w", err)
	}
	return key, nil
}

func readKey(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("secret key: %w", err)
	}
	return decodeKey(path, strings.TrimSpace(string(text)))
}

func decodeKey(source, text string) ([]byte, error) {
	key, err := hex.DecodeString(text)
	if err != nil || len(key) != secretKeyBytes {
		return nil, fmt.Errorf("%s: the secret key must be %d hex digits", source, 2*secretKeyBytes)
	}
	return key, nil
}
