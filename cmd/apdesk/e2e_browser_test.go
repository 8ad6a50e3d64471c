package main_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/go-rod/rod"
	"github.com/go-rod/rod/lib/proto"
)

// requireBrowser turns "skipped, there is no Chromium here" into a failure.
const requireBrowser = "APDESK_TEST_REQUIRE_BROWSER"

var chromium struct {
	once    sync.Once
	browser *rod.Browser
	process *exec.Cmd
	profile string
	err     error
}

var errNoChromium = errors.New("no chromium on PATH: install Debian's package chromium")

// openBrowser starts one Chromium for all tests of the process.
func openBrowser(t testing.TB) *rod.Browser {
	t.Helper()
	chromium.once.Do(func() { chromium.err = startChromium() })
	switch {
	case errors.Is(chromium.err, errNoChromium):
		needs(t, requireBrowser, errNoChromium.Error())
	case chromium.err != nil:
		t.Fatal(chromium.err)
	}
	return chromium.browser
}

func startChromium() error {
	program := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			program = found
			break
		}
	}
	if program == "" {
		return errNoChromium
	}
	profile, err := os.MkdirTemp("", "apdesk-chromium-")
	if err != nil {
		return err
	}
	chromium.profile = profile
	// The sandbox cannot be had as root. Nothing but the desk under test is
	// opened, and nothing else may be looked up.
	cmd := exec.Command(program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--force-color-profile=srgb", "--hide-scrollbars", "--lang=en-GB",
		"--remote-debugging-port=0", "--user-data-dir="+profile, "about:blank")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	chromium.process = cmd
	var said strings.Builder
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if _, url, found := strings.Cut(lines.Text(), "DevTools listening on "); found {
			go func() { _, _ = io.Copy(io.Discard, stderr) }()
			chromium.browser = rod.New().ControlURL(strings.TrimSpace(url))
			return chromium.browser.Connect()
		}
		said.WriteString(lines.Text() + "\n")
	}
	return fmt.Errorf("%s ended before it could be driven: %s", program, said.String())
}

func closeBrowser() {
	if chromium.browser != nil {
		_ = chromium.browser.Close()
	}
	if chromium.process != nil {
		_ = chromium.process.Process.Kill()
		_ = chromium.process.Wait() // reports the kill
	}
	if chromium.profile != "" {
		_ = os.RemoveAll(chromium.profile)
	}
}

// window is a browser window of one person, with cookies of its own.
type window struct {
	t    testing.TB
	url  string
	page *rod.Page
}

// window opens a window in which nobody is signed in.
func (d *desk) window(t testing.TB) *window {
	t.Helper()
	private, err := openBrowser(t).Incognito()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = private.Close() })
	opened, err := private.Page(proto.TargetCreateTarget{URL: "about:blank"})
	if err != nil {
		t.Fatal(err)
	}
	w := &window{t: t, url: d.url}
	w.page = opened.Timeout(5 * patience).WithPanic(func(problem any) { t.Helper(); t.Fatalf("browser: %v", problem) })
	w.resize(1280, 900)
	return w
}

// signedIn opens a window and signs somebody in by the form.
func (d *desk) signedIn(t testing.TB, who cast) *window {
	t.Helper()
	w := d.window(t)
	w.login(who)
	return w
}

func (w *window) login(who cast) {
	w.t.Helper()
	w.visit("/login")
	w.fill("email", who.email)
	w.fill("password", password)
	w.press("Sign in")
	if name := w.text("signed-in-as"); !strings.Contains(name, who.name) {
		w.t.Fatalf("signed in as %q, want %s", name, who.name)
	}
}

func (w *window) resize(width, height int) {
	w.t.Helper()
	w.page.MustSetViewport(width, height, 1, false)
}

// withoutScript keeps every script from being loaded. The pages carry none of
// their own, so that nothing runs; turning script off in the browser itself
// would stop the test's own look at the page too.
func (w *window) withoutScript() {
	w.t.Helper()
	requests := w.page.HijackRequests()
	if err := requests.Add("*", proto.NetworkResourceTypeScript, func(h *rod.Hijack) {
		h.Response.Fail(proto.NetworkErrorReasonBlockedByClient)
	}); err != nil {
		w.t.Fatal(err)
	}
	go requests.Run()
	w.t.Cleanup(func() { _ = requests.Stop() })
}

func (w *window) visit(path string) {
	w.t.Helper()
	w.page.MustNavigate(w.url + path).MustWaitLoad()
}

// has waits for something with a test id and returns it.
func (w *window) has(testID string) *rod.Element {
	w.t.Helper()
	return w.page.MustElement("[data-testid='" + testID + "']")
}

// lacks says that nothing with a test id is on the page now.
func (w *window) lacks(testID string) {
	w.t.Helper()
	if w.page.MustHas("[data-testid='" + testID + "']") {
		w.t.Errorf("%s is on %s", testID, w.path())
	}
}

// text is what is readable in the thing with a test id.
func (w *window) text(testID string) string {
	w.t.Helper()
	return strings.Join(strings.Fields(w.has(testID).MustText()), " ")
}

// shows fails unless a text can be read in the thing with a test id.
func (w *window) shows(testID string, wanted ...string) {
	w.t.Helper()
	got := w.text(testID)
	for _, text := range wanted {
		if !strings.Contains(got, text) {
			w.t.Errorf("%s on %s reads %q, which lacks %q", testID, w.path(), got, text)
		}
	}
}

// follow clicks what leads to another page, by its test id, and waits for it.
func (w *window) follow(testID string) {
	w.t.Helper()
	w.leave(func() *rod.Element { return w.has(testID) })
}

// press clicks the button with a label and waits for the page it leads to.
func (w *window) press(label string) {
	w.t.Helper()
	w.leave(func() *rod.Element { return w.page.MustElementR("button", "^\\s*"+label+"\\s*$") })
}

// leave clicks what find finds. A live update may replace it just before the click; then it is looked for
// again, as a person would.
func (w *window) leave(find func() *rod.Element) {
	w.t.Helper()
	// Not until the network is idle: a live page's never is.
	arrived := w.page.WaitNavigation(proto.PageLifecycleEventNameLoad)
	click(w.t, find)
	arrived()
}

func click(t testing.TB, find func() *rod.Element) {
	t.Helper()
	for tries := 1; ; tries++ {
		err := find().Click(proto.InputMouseButtonLeft, 1)
		if err == nil {
			return
		}
		if tries == 5 {
			t.Fatalf("browser: %v", err)
		}
	}
}

// open follows the link in the row of a case or request.
func (w *window) open(id string) {
	w.t.Helper()
	w.leave(func() *rod.Element {
		return w.page.MustElement("tr[data-case='" + id + "'] a, tr[data-request='" + id + "'] a")
	})
}

// fill types into the visible field with a name.
func (w *window) fill(name, value string) {
	w.t.Helper()
	for _, field := range w.page.MustElements("[name='" + name + "']:not([type=hidden])") {
		if field.MustVisible() {
			if kind := field.MustProperty("type").Str(); kind == "date" {
				field.MustEval(`(value) => { this.value = value; this.dispatchEvent(new Event("input", {bubbles: true})); this.dispatchEvent(new Event("change", {bubbles: true})) }`, value)
				return
			}
			if strings.HasPrefix(field.MustProperty("type").Str(), "select") {
				// By its value, else by what it says.
				if field.Select([]string{fmt.Sprintf("option[value=%q]", value)}, true, rod.SelectorTypeCSSSector) != nil {
					field.MustSelect(value)
				}
				return
			}
			field.MustSelectAllText().MustInput(value)
			return
		}
	}
	w.t.Fatalf("%s shows no field %s", w.path(), name)
}

// decide chooses an exit on a case's page, fills in its fields and sends it.
func (w *window) decide(exit, reason string, fields map[string]string) {
	w.t.Helper()
	w.has("exit-" + exit).MustClick()
	for name, value := range fields {
		w.fill("input."+name, value)
	}
	if reason != "" {
		w.fill("reason", reason)
	}
	w.follow("decide")
}

func (w *window) path() string {
	w.t.Helper()
	return strings.TrimPrefix(w.page.MustInfo().URL, w.url)
}

// wide says whether the page is wider than its window, so that a person would
// have to scroll sideways.
func (w *window) wide() bool {
	w.t.Helper()
	return w.page.MustEval(`() => document.documentElement.scrollWidth > window.innerWidth`).Bool()
}

// picture saves what the window shows as a PNG in a directory.
func (w *window) picture(dir, name string) {
	w.t.Helper()
	w.page.MustScreenshot(filepath.Join(dir, name))
}

// inReach says whether something can be seen without scrolling.
func (w *window) inReach(testID string) bool {
	w.t.Helper()
	return w.has(testID).MustEval(`() => { const r = this.getBoundingClientRect(); return r.height > 0 && r.top >= 0 && r.bottom <= window.innerHeight }`).Bool()
}

// On a phone, 380 pixels wide: a write above one person's limit takes two people one after the other,
// and the first of them is away and has named a colleague.
func TestTwoPeopleApproveOnAPhoneOneOfThemForSomebodyElse(t *testing.T) {
	t.Parallel()
	openBrowser(t)
	c := founded(t, sqliteFile(t))
	c.run("rule", "create", "--workspace", workspace, "--tool", "post_invoice_adjustment", "--person", fiona.email, "--then-role", "procurement",
		"--currency", "EUR", "--from", "10000.01", "--to", "100000")
	c.start()
	request := c.as(c.agent).ask(t, approvalOf(invoice(88, "25000.75")))
	told := c.waits(t, "/approval-requests/"+request)

	away := c.signedIn(t, fiona)
	away.visit("/settings/delegations")
	away.fill("delegate", felix.name)
	today := away.page.MustElement("[name=first_day]").MustAttribute("min")
	away.fill("first_day", *today)
	away.fill("last_day", *today)
	away.press("Plan the absence")
	away.visit("/approvals/" + request)
	away.shows("why-not", "You delegated this to "+felix.name)
	away.lacks("vote-form")

	phone := func(who cast) *window {
		w := c.signedIn(t, who)
		w.resize(380, 740)
		w.visit("/approvals")
		return w
	}
	first := phone(felix)
	first.shows("approval-row", "25,000.75", "Nordwind GmbH", "on behalf of "+fiona.name)
	first.open(request)
	first.shows("amount", "25,000.75 EUR")
	first.shows("supplier", "Nordwind GmbH", "INV-88")
	first.shows("exact-call", "Post an adjustment of 25,000.75 EUR on invoice 5105600088", "post_invoice_adjustment")
	first.shows("needed", "a yes of "+fiona.name+", then one of Procurement")
	first.shows("who-decides", felix.name+" (you) on behalf of "+fiona.name, "First:", "Then: procurement")
	if first.wide() {
		t.Error("the page is wider than the phone")
	}
	if !first.inReach("decide-bar") || !first.inReach("amount") {
		t.Error("amount and decision are not both in reach when the page opens")
	}
	if first.inReach("approve") {
		t.Fatal("the form is in sight already, so that the way to it shows nothing")
	}
	click(t, func() *rod.Element { return first.page.MustElementR("[data-testid=decide-bar] a", "Approve") })
	first.page.MustWait(`() => { const r = document.querySelector("[data-testid=approve]").getBoundingClientRect(); return r.top >= 0 && r.bottom <= window.innerHeight }`)
	first.fill("reason", "Agreed with the buyer.")
	first.follow("approve")
	first.shows("approval-status", "Pending")
	first.shows("vote", felix.name+" on behalf of "+fiona.name, "Agreed with the buyer.")
	first.shows("needed", "a yes of Procurement")
	first.lacks("vote-form")

	second := phone(petra)
	second.open(request)
	second.shows("who-decides", "said yes")
	second.follow("approve")
	second.shows("approval-status", "Approved")
	if second.wide() {
		t.Error("the approved page is wider than the phone")
	}
	second.shows("timeline", felix.name, "on behalf of "+fiona.name, petra.name)

	got := told()
	if got.text("status") != "approved" || !strings.HasPrefix(got.text("approval_id"), "apr_") {
		t.Errorf("the agent reads %s, want an approval", got)
	}
	if by := got.String(); !strings.Contains(by, felix.name) || !strings.Contains(by, petra.name) {
		t.Errorf("the agent reads %s, want both names", got)
	}
}
