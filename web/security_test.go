package web

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/apdesk/apdesk/web/proxy"
	"github.com/apdesk/apdesk/web/upload"
)

// raw sends bytes as they are and answers what comes back until the connection ends.
func raw(t *testing.T, base, text string) string {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	if half, ok := conn.(*net.TCPConn); ok {
		if err := half.CloseWrite(); err != nil {
			t.Fatal(err)
		}
	}
	all, err := io.ReadAll(conn)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && len(all) == 0 {
		t.Fatal(err)
	}
	return string(all)
}

// A request whose end two servers see in two places is refused, and what follows it on the same connection
// is not answered: behind a proxy it could be answered to somebody else.
func TestARequestWithTwoEndsIsRefusedWithItsConnection(t *testing.T) {
	t.Parallel()
	r := run(t)
	strictThere := map[string]bool{"two lengths": true, "a length that is none": true, "a list of lengths": true, "another coding": true, "two codings": true, "a blank before the colon": true,
		"a name that is none": true, "a line without a colon": true, "two hosts": true}
	const next = "GET /api/v1/outcomes HTTP/1.1\r\nHost: desk\r\n\r\n"
	for name, head := range map[string]string{
		"length and coding":          "POST /login HTTP/1.1\r\nHost: desk\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"coding and length":          "POST /login HTTP/1.1\r\nHost: desk\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
		"two lengths":                "POST /login HTTP/1.1\r\nHost: desk\r\nContent-Length: 0\r\nContent-Length: 5\r\n\r\nabcde",
		"the same length twice":      "POST /login HTTP/1.1\r\nHost: desk\r\nContent-Length: 5\r\nContent-Length: 5\r\n\r\nabcde",
		"a length that is none":      "POST /login HTTP/1.1\r\nHost: desk\r\nContent-Length: +5\r\n\r\nabcde",
		"a list of lengths":          "POST /login HTTP/1.1\r\nHost: desk\r\nContent-Length: 5, 5\r\n\r\nabcde",
		"another coding":             "POST /login HTTP/1.1\r\nHost: desk\r\nTransfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
		"two codings":                "POST /login HTTP/1.1\r\nHost: desk\r\nTransfer-Encoding: identity\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"identity and a length":      "POST /login HTTP/1.1\r\nHost: desk\r\nTransfer-Encoding: identity\r\nContent-Length: 5\r\n\r\nabcde",
		"a coding in HTTP/1.0":       "POST /login HTTP/1.0\r\nHost: desk\r\nConnection: keep-alive\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"a folded line":              "POST /login HTTP/1.1\r\nHost: desk\r\nX: a\r\n Content-Length: 5\r\n\r\n",
		"a folded first line":        "GET /api/v1/outcomes HTTP/1.1\r\n X: a\r\nHost: desk\r\n\r\n",
		"a blank before the colon":   "POST /login HTTP/1.1\r\nHost: desk\r\nContent-Length : 5\r\n\r\nabcde",
		"a name that is none":        "GET /api/v1/outcomes HTTP/1.1\r\nHost: desk\r\nX\x00Y: a\r\n\r\n",
		"a line without a colon":     "GET /api/v1/outcomes HTTP/1.1\r\nHost: desk\r\nContent-Length\r\n\r\n",
		"a line ended by a newline":  "GET /api/v1/outcomes HTTP/1.1\r\nHost: desk\nX: a\r\n\r\n",
		"a header ended by newlines": "GET /api/v1/outcomes HTTP/1.1\r\nHost: desk\r\nX: a\n\n",
		"a lone carriage return":     "GET /api/v1/outcomes HTTP/1.1\r\nHost: desk\r\nX: a\rContent-Length: 5\r\n\r\n",
		"two hosts":                  "GET /api/v1/outcomes HTTP/1.1\r\nHost: desk\r\nHost: evil\r\n\r\n",
	} {
		for server, base := range map[string]string{"people": r.people, "agents": r.agents} {
			if server == "agents" && !strictThere[name] {
				continue // net/http takes the others as RFC 9112 allows: the coding wins, equal lengths are one, folds are blanks
			}
			got := raw(t, base, head+next)
			if strings.Contains(got, "INVOICE_NOT_FOUND") || strings.Count(got, "HTTP/1.1 ") > 1 {
				t.Errorf("%s: %s: what follows is answered: %s", server, name, got)
			}
			if status, _, _ := strings.Cut(got, "\r\n"); got != "" && !strings.HasPrefix(status, "HTTP/1.1 4") && !strings.HasPrefix(status, "HTTP/1.1 501") {
				t.Errorf("%s: %s is answered %s", server, name, status)
			}
		}
	}
	if got := raw(t, r.people, "GET /api/v1/outcomes HTTP/1.1\r\nHost: desk\r\nContent-Length: 4\r\n\r\nabcd"+next); strings.Count(got, "HTTP/1.1 200 OK") != 2 {
		t.Errorf("the body of a GET is taken for a request: %s", got)
	}
	if got := raw(t, r.people, "POST /login HTTP/1.1\r\nHost: desk\r\nTransfer-Encoding: Chunked\r\n\r\n3\r\na=b\r\n0\r\n\r\n"+next); strings.Count(got, "HTTP/1.1 ") != 2 {
		t.Errorf("a body in chunks: %s", got)
	}
}

func TestHeadersAreBoundedOnBothAddresses(t *testing.T) {
	t.Parallel()
	r := run(t)
	with := func(bytes int) string {
		return "GET /healthz HTTP/1.1\r\nHost: desk\r\nConnection: close\r\nAuthorization: Bearer " + strings.Repeat("a", bytes) + "\r\n\r\n"
	}
	for server, base := range map[string]string{"people": r.people, "agents": r.agents} {
		if got := raw(t, base, with(14<<10)); !strings.HasPrefix(got, "HTTP/1.1 200 ") { // an access token of 12 kB beside other headers
			t.Errorf("%s: %.200s", server, got)
		}
		if got := raw(t, base, with(64<<10)); !strings.HasPrefix(got, "HTTP/1.1 431 ") {
			t.Errorf("%s: %.200s", server, got)
		}
	}
}

// Who sends a header letter by letter is cut off after the time for headers, whatever else may take longer.
func TestWhoNeverEndsAHeaderIsCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if s := w.server.app.Server(); s.ReadTimeout != headerTime || s.IdleTimeout == 0 || s.WriteTimeout == 0 {
		t.Errorf("people: %v %v %v", s.ReadTimeout, s.IdleTimeout, s.WriteTimeout)
	}
	if s := w.server.mcp; s.ReadHeaderTimeout != headerTime || s.ReadTimeout == 0 || s.IdleTimeout == 0 || s.WriteTimeout <= requestTime || s.MaxHeaderBytes == 0 {
		t.Errorf("agents: %+v", s)
	}
	if headerTime > 15*time.Second {
		t.Errorf("headers may take %v", headerTime)
	}
	quick := newWorld(t) // the same on sockets, with less patience
	quick.server.app.Server().ReadTimeout = 20 * time.Millisecond
	quick.server.mcp.ReadHeaderTimeout = 20 * time.Millisecond
	q := runWorld(t, quick)
	for server, base := range map[string]string{"people": q.people, "agents": q.agents} {
		conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "GET /healthz HTTP/1.1\r\nHost: de"); err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(conn) // ends only when the desk ends it
		if strings.Contains(string(got), "200 OK") {
			t.Errorf("%s: %s", server, got)
		}
		_ = conn.Close()
	}
}

func TestLimitsOfARequestFollowItsAddress(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		method, uri string
		body        int
		write       time.Duration
	}{
		{"GET", "/", BodyLimit, writeTime},
		{"POST", "/api/v1/handovers", BodyLimit, writeTime},
		{"POST", "/api/v1/files?name=a.pdf", upload.BodyLimit, writeTime},
		{"POST", "/cases/case_1/files", upload.BodyLimit, writeTime},
		{"GET", "/cases/case_1/files", BodyLimit, writeTime},
		{"POST", "/cases/a/b/files", BodyLimit, writeTime},
	} {
		var h fasthttp.RequestHeader
		h.SetMethod(tc.method)
		h.SetRequestURI(tc.uri)
		got := bounds(&h)
		if got.MaxRequestBodySize != tc.body || got.WriteTimeout != tc.write || got.ReadTimeout != readTime {
			t.Errorf("%s %s: %+v", tc.method, tc.uri, got)
		}
	}
	if writeTime+requestTime < 50*time.Second {
		t.Error("a wait of 50 seconds does not fit")
	}
}

// trusting makes the tests' own address a trusted proxy.
func trusting(t *testing.T) func(*Config) {
	t.Helper()
	trust, err := proxy.Parse("127.0.0.0/8")
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) {
		c.Proxies, c.PublicURL, c.MCPURL = trust, "http://desk.example.test", "http://desk.example.test/mcp"
	}
}

func (r *running) ask(t *testing.T, method, url string, headers ...string) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Add(headers[i], headers[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(req) // no redirects
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{res.StatusCode, res.Header, string(body)}
}

func TestBehindATrustedProxyTheClientCounts(t *testing.T) {
	t.Parallel()
	r := run(t, trusting(t))
	over := r.ask(t, "GET", r.people+"/login", "X-Forwarded-For", "1.2.3.4, 198.51.100.1", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "desk.example.test")
	if c := over.header.Get("Set-Cookie"); !strings.HasPrefix(c, "__Host-apdesk_sign_in=") || !strings.Contains(strings.ToLower(c), "secure") {
		t.Errorf("over https the cookie is %q", c)
	}
	if over.header.Get("Strict-Transport-Security") == "" {
		t.Error("over https nothing keeps browsers there")
	}
	if log := r.log.String(); !strings.Contains(log, `"address":"198.51.100.1"`) || strings.Contains(log, "1.2.3.4") {
		t.Errorf("the log names another client: %s", log)
	}
	plain := r.ask(t, "GET", r.people+"/login", "X-Forwarded-Proto", "http")
	if c := plain.header.Get("Set-Cookie"); !strings.HasPrefix(c, "apdesk_sign_in=") || plain.header.Get("Strict-Transport-Security") != "" {
		t.Errorf("over http: %q", c)
	}
	agents := r.ask(t, "POST", r.agents+"/mcp", "X-Forwarded-Proto", "https", "X-Forwarded-Host", "desk.example.test", "Authorization", "Bearer "+r.tokens["agent"])
	if agents.header.Get("Strict-Transport-Security") == "" || agents.status == http.StatusForbidden {
		t.Errorf("agents: %d %s", agents.status, agents.body)
	}
	if a := r.ask(t, "POST", r.agents+"/mcp", "X-Forwarded-Host", "evil.example", "Authorization", "Bearer "+r.tokens["agent"]); a.status != http.StatusForbidden {
		t.Errorf("a foreign host through the proxy: %d %s", a.status, a.body)
	}
}

// Everybody else can send the same headers, and nothing comes of them.
func TestNobodyElsesForwardedHeadersAreBelieved(t *testing.T) {
	t.Parallel()
	r := run(t, func(c *Config) { c.PublicURL, c.MCPURL = "http://127.0.0.1", "http://127.0.0.1/mcp" })
	headers := []string{"X-Forwarded-For", "6.6.6.6", "X-Real-Ip", "6.6.6.6", "Forwarded", "for=6.6.6.6;proto=https;host=evil.example", "True-Client-Ip", "6.6.6.6",
		"X-Forwarded-Proto", "https", "X-Forwarded-Host", "evil.example", "X-Forwarded-Ssl", "on", "X-Original-Url", "/metrics", "X-Http-Method-Override", "DELETE"}
	a := r.ask(t, "GET", r.people+"/login", headers...)
	if c := a.header.Get("Set-Cookie"); a.status != 200 || !strings.HasPrefix(c, "apdesk_sign_in=") || a.header.Get("Strict-Transport-Security") != "" {
		t.Errorf("%d %q", a.status, c)
	}
	b := r.ask(t, "POST", r.agents+"/mcp", append(headers, "Authorization", "Bearer "+r.tokens["agent"])...)
	if b.status == http.StatusForbidden || b.header.Get("Strict-Transport-Security") != "" {
		t.Errorf("agents: %d %v", b.status, b.header)
	}
	if log := r.log.String(); strings.Contains(log, "6.6.6.6") || strings.Contains(log, "evil.example") {
		t.Errorf("the log believes them: %s", log)
	}
	for _, text := range []string{a.body, fmt.Sprint(a.header), b.body, fmt.Sprint(b.header)} {
		if strings.Contains(text, "evil.example") {
			t.Errorf("an answer repeats them: %s", text)
		}
	}
}

// A form counts as the desk's own by the name people used, which the proxy tells; another host's page
// cannot make itself the desk through a header that only a proxy may send.
func TestAFormThroughAProxyIsTheDesksOwn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, origin, host, proto string
		trusted, own              bool
	}{
		{"the desk's page", "https://desk.example.test", "desk.example.test", "https", true, true},
		{"another page", "https://evil.example", "desk.example.test", "https", true, false},
		{"the page of a plain neighbour", "http://desk.example.test", "desk.example.test", "https", true, false},
		{"another page with a header", "https://evil.example", "evil.example", "https", false, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			change := func(c *Config) { c.PublicURL = "http://inside.example.test" }
			if tc.trusted {
				change = func(c *Config) { trusting(t)(c); c.PublicURL = "http://inside.example.test" }
			}
			r := run(t, change)
			form := r.ask(t, "GET", r.people+"/login", "X-Forwarded-Proto", tc.proto, "X-Forwarded-Host", tc.host)
			_, rest, _ := strings.Cut(form.body, `name="csrf_token" value="`)
			token, _, _ := strings.Cut(rest, `"`)
			cookie, _, _ := strings.Cut(form.header.Get("Set-Cookie"), ";")
			req, err := http.NewRequestWithContext(t.Context(), "POST", r.people+"/login", strings.NewReader("email=a%40b.c&password=x&csrf_token="+token))
			if err != nil {
				t.Fatal(err)
			}
			for name, value := range map[string]string{"X-Forwarded-Proto": tc.proto, "X-Forwarded-Host": tc.host, "Origin": tc.origin, "Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"} {
				req.Header.Set(name, value)
			}
			a, err := send(req)
			if err != nil {
				t.Fatal(err)
			}
			if want := map[bool]int{true: 401, false: 403}[tc.own]; a.status != want {
				t.Errorf("answered %d, want %d", a.status, want)
			}
		})
	}
}

// An address that comes again and again without proof of who it is waits; people known to the desk behind
// the same address do not, and another address does not.
func TestAnAddressThatOnlyGuessesWaits(t *testing.T) {
	t.Parallel()
	r := run(t, trusting(t), func(c *Config) { c.RateLimit = 1 })
	from := func(address, token string) answer {
		return r.ask(t, "GET", r.people+"/api/v1/cases", "X-Forwarded-For", address, "Authorization", "Bearer "+token)
	}
	for i := range 5 {
		if a := from("198.51.100.1", "apd_guess"); a.status != 401 {
			t.Fatalf("guess %d is answered %d", i, a.status)
		}
	}
	a := from("198.51.100.1", "apd_guess")
	if a.status != 429 || a.code() != "RATE_LIMITED" || a.header.Get("Retry-After") == "" {
		t.Errorf("the sixth guess is answered %d %s", a.status, a.body)
	}
	if a := from("198.51.100.2", r.tokens["agent"]); a.status != 200 {
		t.Errorf("another address is answered %d", a.status)
	}
	for i := range 5 {
		if a := from("203.0.113.5", r.tokens["lena"]); a.status != 200 {
			t.Errorf("known call %d is answered %d %s", i, a.status, a.body)
		}
	}
	if a := from("203.0.113.5", "apd_guess"); a.status != 401 {
		t.Errorf("calls of somebody known count against the address: %d", a.status)
	}
	if a := r.ask(t, "GET", r.people+"/healthz", "X-Forwarded-For", "198.51.100.1"); a.status != 200 {
		t.Errorf("the health of the desk is answered %d", a.status)
	}
	r.clock.Advance(time.Second)
	if a := from("198.51.100.1", "apd_guess"); a.status != 401 {
		t.Errorf("a second later a guess is answered %d", a.status)
	}
}

// Every answer of both addresses carries the headers that keep browsers strict, refusals included.
func TestEveryAnswerCarriesTheStrictHeaders(t *testing.T) {
	t.Parallel()
	r := run(t)
	want := map[string]string{"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Cache-Control": "no-store", "Strict-Transport-Security": strictTransport}
	for _, url := range []string{r.people + "/login", r.people + "/nowhere", r.people + "/", r.people + "/api/v1/cases", r.people + "/metrics", r.agents + "/mcp", r.agents + "/nowhere"} {
		a := r.ask(t, "GET", url)
		for name, value := range want {
			if a.header.Get(name) != value {
				t.Errorf("%s: %s is %q", url, name, a.header.Get(name))
			}
		}
		if csp := a.header.Get("Content-Security-Policy"); !strings.Contains(csp, "default-src 'none'") || !strings.Contains(csp, "frame-ancestors 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: the policy is %q", url, csp)
		}
		if a.header.Get("Referrer-Policy") == "" {
			t.Errorf("%s: nothing bounds the referrer", url)
		}
	}
	page := r.ask(t, "GET", r.people+"/login").header
	for name, has := range map[string]string{"Permissions-Policy": "camera=()", "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "same-origin"} {
		if !strings.Contains(page.Get(name), has) {
			t.Errorf("%s is %q", name, page.Get(name))
		}
	}
	unread := raw(t, r.people, "POST /login HTTP/1.1\r\nHost: desk\r\nContent-Length: 99999999\r\n\r\n")
	res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(unread)), nil)
	if err != nil {
		t.Fatalf("%v: %s", err, unread)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != 413 || res.Header.Get("X-Content-Type-Options") != "nosniff" || res.Header.Get("Content-Security-Policy") == "" {
		t.Errorf("a request refused unread: %d %v", res.StatusCode, res.Header)
	}
	for _, path := range []string{"/login", "/cases/case_1/decision", "/cases/case_1/files", "/settings/rules/import"} {
		unread := raw(t, r.people, "POST "+path+" HTTP/1.1\r\nHost: desk\r\nAccept: text/html,*/*\r\nContent-Length: 99999999\r\n\r\n")
		if !strings.HasPrefix(unread, "HTTP/1.1 413") || !strings.Contains(unread, "Content-Type: text/html") {
			t.Errorf("a browser that sends too much to %s is answered %.200s", path, unread)
		}
	}
}

// FuzzAmbiguity compares with net/http, which is strict: what it refuses because of its length is refused
// here too.
func FuzzAmbiguity(f *testing.F) {
	f.Add("Host: a\r\nContent-Length: 5\r\n")
	f.Add("Host: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n")
	f.Add("Host: a\r\nTransfer-Encoding: chunked\r\n")
	f.Add("Host: a\r\n Content-Length: 5\r\n")
	f.Add("Content-Length:5\r\nhost : a\r\n")
	f.Fuzz(func(t *testing.T, head string) {
		why := ambiguity([]byte(head+"\r\n"), true)
		if why != "" {
			return
		}
		if head != "" && (!strings.HasSuffix(head, "\r\n") || strings.HasPrefix(head, "\r\n")) || strings.Contains(head, "\r\n\r\n") {
			return // it ends before its end
		}
		req, err := http.ReadRequest(bufio.NewReader(strings.NewReader("POST / HTTP/1.1\r\n" + head + "\r\n0\r\n\r\n")))
		if err != nil {
			return // refused for something else, such as a value
		}
		defer func() { _ = req.Body.Close() }()
		lengths, codings := 0, 0
		for line := range strings.SplitSeq(strings.ToLower(head), "\r\n") {
			if strings.HasPrefix(line, "content-length:") {
				lengths++
			}
			if strings.HasPrefix(line, "transfer-encoding:") {
				codings++
			}
		}
		if lengths+codings > 1 || codings == 0 && len(req.TransferEncoding) > 0 || lengths == 0 && codings == 0 && req.ContentLength != 0 {
			t.Errorf("%q: %d lengths, %d codings", head, lengths, codings)
		}
	})
}
