package views_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a-h/templ"
	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/launcher"
	"github.com/go-rod/rod/lib/proto"

	"github.com/apdesk/apdesk/static"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
)

// desk serves pages, assets and one event stream the way web does.
type desk struct {
	*httptest.Server
	events chan string

	posts  chan string
	answer http.HandlerFunc // of what is posted; nil: none ever comes

	mu   sync.Mutex
	page templ.Component
}

const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'"

func openDesk(t *testing.T, page templ.Component) *desk {
	t.Helper()
	d := &desk{events: make(chan string), posts: make(chan string, 8), page: page}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+static.Prefix, func(w http.ResponseWriter, r *http.Request) {
		a, ok := static.File(strings.TrimPrefix(r.URL.Path, static.Prefix))
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", a.Type)
		_, _ = w.Write(a.Body)
	})
	mux.HandleFunc("GET /live", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.(http.Flusher).Flush()
		for {
			select {
			case e := <-d.events:
				_, _ = fmt.Fprintf(w, "data: %s\n\n", e)
				w.(http.Flusher).Flush()
			case <-r.Context().Done():
				return
			}
		}
	})
	mux.HandleFunc("POST /", func(w http.ResponseWriter, r *http.Request) {
		if d.answer != nil {
			d.answer(w, r)
			return
		}
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		d.posts <- r.PostForm.Encode()
		<-r.Context().Done() // answered never: the person waits and clicks again
	})
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		page := d.page
		d.mu.Unlock()
		if named, ok := gallery()[strings.TrimPrefix(r.URL.Path, "/gallery/")]; ok {
			page = named
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", policy)
		var body bytes.Buffer
		ctx := context.Background()
		if l := lang.Find(r.URL.Query().Get("lang")); l != nil {
			ctx = lang.With(ctx, l)
		}
		if err := page.Render(ctx, &body); err != nil {
			t.Error(err)
		}
		_, _ = body.WriteTo(w) // the browser may have gone
	})
	d.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		d.CloseClientConnections()
		d.Close()
	})
	return d
}

func (d *desk) show(page templ.Component) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.page = page
}

// pressThrice clicks three times in a row and says how many of the clicks the
// page let through as a submission.
const pressThrice = `(id) => {
	let sent = 0;
	window.addEventListener("submit", (e) => { if (!e.defaultPrevented) sent++; });
	const button = document.querySelector("[data-testid=" + id + "]");
	button.click(); button.click(); button.click();
	return sent;
}`

// The names of what turns a skip for want of a program into a failure.
const (
	requireBrowser = "APDESK_TEST_REQUIRE_BROWSER"
	requireNode    = "APDESK_TEST_REQUIRE_NODE"
)

// needs skips a test whose program is missing, or fails it where continuous integration says that nothing may be
// skipped.
func needs(t *testing.T, switchName, missing string) {
	t.Helper()
	if os.Getenv(switchName) == "1" {
		t.Fatalf("%s (and %s=1)", missing, switchName)
	}
	t.Skipf("%s (set %s=1 to make this a failure)", missing, switchName)
}

// chromium is the one browser of all tests of this package.
var chromium struct {
	once     sync.Once
	launcher *launcher.Launcher
	browser  *rod.Browser
	err      error
}

// browse starts the browser; without one the test is skipped.
func browse(t *testing.T) *rod.Browser {
	t.Helper()
	bin, err := exec.LookPath("chromium")
	if err != nil {
		needs(t, requireBrowser, "no chromium on PATH: install Debian's package chromium")
	}
	chromium.once.Do(func() {
		profile, err := os.MkdirTemp("", "apdesk-views-")
		if err != nil {
			chromium.err = err
			return
		}
		chromium.launcher = launcher.New().Bin(bin).Leakless(false).Headless(true).NoSandbox(true).UserDataDir(profile).
			Set("disable-gpu").Set("disable-quic").Set("no-first-run").Set("disable-background-networking").
			Set("disable-component-update").Set("disable-sync").Set("disable-dev-shm-usage").Set("hide-scrollbars")
		url, err := chromium.launcher.Launch()
		if err != nil {
			chromium.err = err
			return
		}
		chromium.browser = rod.New().ControlURL(url)
		chromium.err = chromium.browser.Connect()
	})
	if chromium.err != nil {
		t.Fatal(chromium.err)
	}
	return chromium.browser
}

func TestMain(m *testing.M) {
	code := m.Run()
	if chromium.launcher != nil {
		if chromium.browser != nil {
			_ = chromium.browser.Close()
		}
		chromium.launcher.Kill()
		chromium.launcher.Cleanup()
	}
	os.Exit(code)
}

func open(t *testing.T, b *rod.Browser, url string, width int) *rod.Page {
	t.Helper()
	p := b.MustPage("").Timeout(2 * time.Minute)
	t.Cleanup(func() { _ = p.Close() })
	p.MustSetViewport(width, 900, 1, false)
	p.MustNavigate(url).MustWaitLoad()
	return p
}

func TestInABrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	b := browse(t)

	t.Run("only the chosen exit shows and sends its fields", func(t *testing.T) {
		d := openDesk(t, views.Case(sampleCase()))
		p := open(t, b, d.URL+"/cases/case_01k6v8a", 1280)
		po, until := p.MustElement(`[name="input.po_id"]`), p.MustElement(`[name="input.until"]`)
		if po.MustVisible() || until.MustVisible() {
			t.Error("fields are shown before an exit was chosen")
		}
		p.MustElement(`[data-testid="exit-use_other_po"]`).MustClick()
		if !po.MustVisible() || until.MustVisible() {
			t.Error("choosing an exit does not show its fields alone")
		}
		if !po.MustProperty("required").Bool() || until.MustProperty("required").Bool() {
			t.Error("the browser insists on the wrong fields")
		}
		po.MustInput("4500018901")
		p.MustElement(`[name="reason"]`).MustInput("follow-up order")
		if n := p.MustEval(pressThrice, "decide").Int(); n != 1 {
			t.Errorf("three clicks sent the form %d times", n)
		}
		if got := <-d.posts; got != "csrf_token=csrf-sample&exit=use_other_po&input.po_id=4500018901&reason=follow-up+order&version=3" {
			t.Errorf("sent %q", got)
		}
	})

	t.Run("a pressed button sends its own value", func(t *testing.T) {
		d := openDesk(t, views.Approval(sampleApproval()))
		p := open(t, b, d.URL+"/approvals/areq_01k6va1", 380)
		if n := p.MustEval(pressThrice, "reject").Int(); n != 1 {
			t.Errorf("three clicks sent the form %d times", n)
		}
		if got := <-d.posts; got != "csrf_token=csrf-sample&decision=reject&reason=&version=1" {
			t.Errorf("sent %q", got)
		}
	})

	t.Run("declining needs nothing filled in, accepting does", func(t *testing.T) {
		d := openDesk(t, views.Confirmation(sampleConfirmation()))
		p := open(t, b, d.URL+"/confirmations/conf_01k6w1", 1280)
		if n := p.MustEval(pressThrice, "accept").Int(); n != 0 {
			t.Errorf("a form that is not filled in was sent %d times", n)
		}
		if n := p.MustEval(pressThrice, "decline").Int(); n != 1 {
			t.Errorf("three clicks sent the no %d times", n)
		}
		if got := <-d.posts; !strings.HasPrefix(got, "action=decline&") {
			t.Errorf("sent %q", got)
		}
	})

	t.Run("a second look is not accepted without its box", func(t *testing.T) {
		d := openDesk(t, views.SecondStep(sampleSecondStep()))
		p := open(t, b, d.URL+"/confirmations/conf_01k6w1", 380)
		if n := p.MustEval(pressThrice, "accept-now").Int(); n != 0 {
			t.Errorf("sent %d times", n)
		}
		p.MustElement(`[data-testid="second-step"]`).MustClick()
		if n := p.MustEval(pressThrice, "accept-now").Int(); n != 1 {
			t.Errorf("three clicks sent it %d times", n)
		}
		if got := <-d.posts; got != "action=accept&content.confirm=true&csrf_token=csrf-sample&second_step=yes&version=1" {
			t.Errorf("sent %q", got)
		}
	})

	t.Run("a list refreshes by itself", func(t *testing.T) {
		d := openDesk(t, views.Queue(sampleEmptyQueue()))
		p := open(t, b, d.URL+"/queues/procurement", 1280)
		p.MustElement(`[data-testid="empty"]`)
		d.show(views.Queue(sampleQueue()))
		d.events <- "changed"
		p.MustElement(`[data-testid="case-row"]`)
		p.MustWait(`() => document.title === "Procurement (4) · apdesk"`)
		if p.MustElement("[data-live-bar]").MustVisible() {
			t.Error("the page asks to be refreshed although it is fresh")
		}
	})

	t.Run("what a person is typing is never replaced", func(t *testing.T) {
		d := openDesk(t, views.Case(sampleCase()))
		p := open(t, b, d.URL+"/cases/case_01k6v8a", 1280)
		p.MustElement(`[data-testid="exit-use_other_po"]`).MustClick()
		p.MustElement(`[name="input.po_id"]`).MustInput("45000")
		p.MustEval(`() => document.activeElement.blur()`)
		d.show(views.Case(lateCase()))
		d.events <- "changed"
		p.MustElementR(`[data-testid="case-status"]`, "resolved")
		p.MustWait(`() => !document.querySelector("[data-live-bar]").hidden`)
		if got := p.MustElement(`[name="input.po_id"]`).MustProperty("value").String(); got != "45000" {
			t.Errorf("the typed text became %q", got)
		}
		if v := p.MustElement(`[data-testid="decision-form"] [name="version"]`).MustProperty("value").String(); v != "3" {
			t.Errorf("the open form took version %q without its reader having seen what changed", v)
		}
	})

	t.Run("an open fold stays open when its region is replaced", func(t *testing.T) {
		d := openDesk(t, views.Case(sampleCase()))
		p := open(t, b, d.URL+"/cases/case_01k6v8a", 1280)
		p.MustEval(`() => { document.querySelector("[data-live-region=facts] details").open = true; }`)
		next := sampleCase()
		next.Handovers[0].Explanation = "Another explanation."
		d.show(views.Case(next))
		d.events <- "changed"
		p.MustElementR(`[data-testid="agent-words"]`, "Another explanation")
		if !p.MustEval(`() => document.querySelector("[data-live-region=facts] details").open`).Bool() {
			t.Error("the fold fell shut")
		}
	})

	t.Run("no page is wider than the screen and the policy blocks nothing", func(t *testing.T) {
		d := openDesk(t, views.Login(sampleLogin()))
		p := open(t, b, d.URL+"/", 1280)
		var mu sync.Mutex
		var complaints []string
		go p.EachEvent(func(e *proto.LogEntryAdded) {
			mu.Lock()
			defer mu.Unlock()
			complaints = append(complaints, e.Entry.Text)
		})()
		_ = proto.LogEnable{}.Call(p)
		for name, page := range gallery() {
			d.show(page)
			p.MustNavigate(d.URL + "/" + name).MustWaitLoad()
			for _, width := range []int{narrowest, narrow, 768, wide, 1920} {
				p.MustSetViewport(width, 900, 1, false)
				if got := p.MustEval(`() => document.documentElement.scrollWidth`).Int(); got > width {
					t.Errorf("%s is %d px wide on a screen of %d", name, got, width)
				}
				if got := p.MustEval(`() => Math.max(0, ...[...document.querySelectorAll(".topbar .who")].map((e) => e.offsetHeight))`).Int(); got > 64 {
					t.Errorf("%s: who is signed in stands %d px high on a screen of %d", name, got, width)
				}
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for _, c := range complaints {
			t.Errorf("the browser says: %s", c)
		}
	})
}
