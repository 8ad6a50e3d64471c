package oauth

import (
	"context"
	"crypto/rsa"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/time/rate"
)

const (
	keyLife      = 10 * time.Minute // after this the keys are asked for again, so that a withdrawn one goes
	keyRetry     = time.Minute      // the same after a failure, while the old ones are used on
	fetchEvery   = 10 * time.Second // how often the issuer is asked at most, whatever is sent to the desk
	fetchBurst   = 3                // so that a few rotations or a restart of the issuer are noticed at once
	fetchTime    = 5 * time.Second
	maxDocument  = 1 << 20 // bytes of one answer of the issuer
	minRSABits   = 2048
	maxRedirects = 3
)

// algorithms are the signatures accepted: asymmetric ones only, so that a published key can never be
// used as a shared secret.
var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512,
	jose.ES256, jose.ES384, jose.ES512, jose.EdDSA}

// keys are the issuer's signing keys, as last published.
type keys struct {
	issuer string
	client *http.Client
	now    func() time.Time

	mu      sync.Mutex
	set     []jose.JSONWebKey // nil until a first answer
	due     time.Time         // when the set is asked for again
	failed  error             // of the last fetch; nil when it went well
	running *fetch
	limit   *rate.Limiter
}

// fetch is one question to the issuer that everybody who needs the answer waits for.
type fetch struct {
	done chan struct{}
	err  error
}

func newKeys(issuer string, client *http.Client, now func() time.Time) *keys {
	return &keys{issuer: issuer, client: client, now: now, limit: rate.NewLimiter(rate.Every(fetchEvery), fetchBurst)}
}

// errTooSoon says that the issuer was asked a moment ago and is not asked again yet.
var errTooSoon = errors.New("the issuer was asked a moment ago")

// current are the keys to check a token with. The one caller who finds them old asks again; everybody
// else goes on with what there is. It fails only while there are none.
func (k *keys) current(ctx context.Context) ([]jose.JSONWebKey, error) {
	k.mu.Lock()
	set, fresh := k.set, k.now().Before(k.due) || k.running != nil
	k.mu.Unlock()
	if set != nil && fresh {
		return set, nil
	}
	err := k.refresh(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.set != nil {
		return k.set, nil
	}
	if errors.Is(err, errTooSoon) && k.failed != nil {
		err = k.failed
	}
	return nil, err
}

// refresh asks the issuer, or waits for the answer when somebody has already asked. It fails with
// errTooSoon when the issuer has been asked too often.
func (k *keys) refresh(ctx context.Context) error {
	k.mu.Lock()
	f := k.running
	if f == nil {
		if !k.limit.AllowN(k.now(), 1) {
			k.mu.Unlock()
			return errTooSoon
		}
		f = &fetch{done: make(chan struct{})}
		k.running = f
		go k.run(context.WithoutCancel(ctx), f) // others wait for it too; it ends within fetchTime
	}
	k.mu.Unlock()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (k *keys) run(ctx context.Context, f *fetch) {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	set, err := k.ask(ctx)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err == nil {
		k.set, k.due = set, k.now().Add(keyLife)
	} else {
		k.due = k.now().Add(keyRetry)
	}
	k.failed, f.err, k.running = err, err, nil
	close(f.done)
}

// reachable says whether the issuer answered when it was last asked.
func (k *keys) reachable() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.failed == nil
}

// ask discovers the issuer and reads the keys it publishes.
func (k *keys) ask(ctx context.Context) ([]jose.JSONWebKey, error) {
	provider, err := oidc.NewProvider(oidc.ClientContext(ctx, k.client), k.issuer) // refuses a document of another issuer
	if err != nil {
		return nil, fmt.Errorf("discover the issuer: %w", err)
	}
	var document struct {
		Keys string `json:"jwks_uri"`
	}
	if err := provider.Claims(&document); err != nil {
		return nil, fmt.Errorf("discover the issuer: %w", err)
	}
	if err := checkAddress(document.Keys); err != nil {
		return nil, fmt.Errorf("jwks_uri %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, document.Keys, nil)
	if err != nil {
		return nil, fmt.Errorf("read the issuer's keys: %w", err)
	}
	res, err := k.client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("read the issuer's keys: %w", err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("read the issuer's keys: status %d", res.StatusCode)
	}
	var published struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := json.NewDecoder(res.Body).Decode(&published); err != nil {
		return nil, fmt.Errorf("read the issuer's keys: %w", err)
	}
	var set []jose.JSONWebKey
	for _, raw := range published.Keys {
		var key jose.JSONWebKey
		if key.UnmarshalJSON(raw) == nil && usable(key) { // a key of a kind not known here is for others
			set = append(set, key)
		}
	}
	if len(set) == 0 {
		return nil, errors.New("the issuer publishes no key that signs tokens")
	}
	return set, nil
}

// usable says whether a published key may sign tokens.
func usable(key jose.JSONWebKey) bool {
	if !key.Valid() || !key.IsPublic() || (key.Use != "" && key.Use != "sig") {
		return false
	}
	if key.Algorithm != "" && !slices.Contains(algorithms, jose.SignatureAlgorithm(key.Algorithm)) {
		return false
	}
	if public, ok := key.Key.(*rsa.PublicKey); ok && public.N.BitLen() < minRSABits {
		return false
	}
	return true
}

// checkAddress refuses addresses of the issuer that others on the way could answer for: anything but
// https, except on this machine.
func checkAddress(raw string) error {
	u, err := url.Parse(raw)
	if err != nil || u.Host == "" || u.User != nil || u.Fragment != "" {
		return fmt.Errorf("%q must be an https URL", raw)
	}
	if u.Scheme == "https" || (u.Scheme == "http" && loopback(u.Hostname())) {
		return nil
	}
	return fmt.Errorf("%q must be an https URL; http is only for an issuer on this machine", raw)
}

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || (ip != nil && ip.IsLoopback())
}

// newClient is an HTTP client that reads no endless answers and follows redirects only to where it might
// have been sent in the first place.
func newClient() *http.Client {
	return &http.Client{
		Timeout:   fetchTime,
		Transport: bounded{http.DefaultTransport},
		CheckRedirect: func(req *http.Request, via []*http.Request) error {
			if len(via) > maxRedirects {
				return errors.New("too many redirects")
			}
			return checkAddress(req.URL.String())
		},
	}
}

type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := b.RoundTripper.RoundTrip(req)
	if err == nil {
		res.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(res.Body, maxDocument), res.Body}
	}
	return res, err
}
