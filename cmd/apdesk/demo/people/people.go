package people

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/data"
)

// Options of the scripted people.
type Options struct {
	// URL of the desk's pages.
	URL   string `json:"url"`
	Today string `json:"today"`
	// Passwords by key of the person.
	Passwords map[string]string `json:"passwords"`
	// LookEvery is the pause between two looks at the lists, in milliseconds.
	LookEvery int `json:"look_every_ms"`
	// Decisions replace those of the data set when there are any.
	Decisions []data.Decision `json:"decisions,omitempty"`
}

// Run lets everybody with something in the script work until the context ends.
func Run(ctx context.Context, opt Options, set data.Set, out io.Writer) error {
	if opt.LookEvery == 0 {
		opt.LookEvery = 300
	}
	decisions := set.Decisions
	if len(opt.Decisions) > 0 {
		decisions = opt.Decisions
	}
	shared := &shared{out: out}
	var all sync.WaitGroup
	for _, p := range set.People {
		var script []data.Decision
		for _, d := range decisions {
			if d.Person == p.Key {
				script = append(script, d)
			}
		}
		if len(script) == 0 {
			continue
		}
		jar, err := cookiejar.New(nil)
		if err != nil {
			return fmt.Errorf("people: %w", err)
		}
		w := &worker{person: p, password: opt.Passwords[p.Key], base: strings.TrimSuffix(opt.URL, "/"), set: set, script: script, shared: shared,
			http: &http.Client{Jar: jar, Timeout: 15 * time.Second}, done: map[string]bool{}}
		all.Go(func() { w.work(ctx, time.Duration(opt.LookEvery)*time.Millisecond) })
	}
	all.Wait()
	return nil
}

type shared struct {
	mu  sync.Mutex
	out io.Writer
}

type worker struct {
	person         data.Person
	password, base string
	set            data.Set
	script         []data.Decision
	shared         *shared
	http           *http.Client
	// done holds what was decided in this life, only to keep the log short.
	done map[string]bool
	last string
}

func (w *worker) say(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	if line == w.last {
		return
	}
	w.last = line
	w.shared.mu.Lock()
	defer w.shared.mu.Unlock()
	fmt.Fprintf(w.shared.out, "people %-14s %s\n", strings.Fields(w.person.Name)[0], line)
}

func (w *worker) work(ctx context.Context, pause time.Duration) {
	for ctx.Err() == nil {
		for _, ws := range w.set.Workspaces {
			if err := w.look(ctx, ws.ID); err != nil && ctx.Err() == nil {
				w.say("cannot work just now: %v", err)
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// look goes through the person's queue and the waiting approvals of a workspace.
func (w *worker) look(ctx context.Context, workspace string) error {
	if w.person.Queue != "" && w.hasCases() {
		page, err := w.get(ctx, "/queues/"+w.person.Queue+"?workspace_id="+workspace)
		if err != nil {
			return err
		}
		for _, row := range rows(page, "case-row") {
			if err := w.decideCase(ctx, row); err != nil {
				return err
			}
		}
	}
	if w.hasVotes() {
		page, err := w.get(ctx, "/approvals?workspace_id="+workspace)
		if err != nil {
			return err
		}
		for _, row := range rows(page, "approval-row") {
			if err := w.vote(ctx, row); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *worker) hasCases() bool {
	for _, d := range w.script {
		if d.Vote == "" {
			return true
		}
	}
	return false
}

func (w *worker) hasVotes() bool {
	for _, d := range w.script {
		if d.Vote != "" {
			return true
		}
	}
	return false
}

type row struct {
	href, number, code string
}

func rows(page *goquery.Document, testID string) []row {
	var all []row
	page.Find(`[data-testid="` + testID + `"]`).Each(func(_ int, s *goquery.Selection) {
		href, _ := s.Find("a.cases__link").Attr("href")
		all = append(all, row{href: href, number: text(s.Find(`[data-label="Invoice"]`)), code: text(s.Find(".code-text").First())})
	})
	return all
}

func text(s *goquery.Selection) string { return strings.Join(strings.Fields(s.Text()), " ") }

// invoiceKey finds the invoice by the supplier's number, which is what a list
// shows and what no two documents of the demo share.
func (w *worker) invoiceKey(number string) string {
	for _, d := range w.set.Inbox {
		if d.Number == number {
			return d.Key
		}
	}
	return ""
}

func (w *worker) decideCase(ctx context.Context, r row) error {
	key := w.invoiceKey(r.number)
	for _, d := range w.script {
		if d.Vote != "" || d.Invoice != key || d.Code != r.code {
			continue
		}
		page, err := w.get(ctx, r.href)
		if err != nil {
			return err
		}
		form := page.Find(`form[data-testid="decision-form"]`)
		if form.Length() == 0 {
			return nil // decided meanwhile, or the agent is at work on it
		}
		values := filled(form)
		exit := d.Exit
		if d.Ask != "" && !answered(page) {
			if form.Find(`input[name="exit"][value="`+askExit+`"]`).Length() == 0 {
				return nil // asked already; the agent has not answered
			}
			exit = askExit
			values.Set("input.question", d.Ask)
		} else {
			for name, value := range d.Inputs {
				values.Set("input."+name, value)
			}
		}
		values.Set("exit", exit)
		values.Set("reason", d.Reason)
		if err := w.post(ctx, form, r.href, values); err != nil {
			return fmt.Errorf("%s on %s: %w", exit, r.number, err)
		}
		w.say("%s: %s (%s)", r.number, exit, d.Reason)
		return nil
	}
	return nil
}

func (w *worker) vote(ctx context.Context, r row) error {
	key := w.invoiceKey(r.number)
	for _, d := range w.script {
		if d.Vote == "" || d.Invoice != key || d.Tool != r.code {
			continue
		}
		page, err := w.get(ctx, r.href)
		if err != nil {
			return err
		}
		if d.Amount != "" && !strings.Contains(page.Find(`[data-testid="exact-call"]`).Text(), d.Amount) {
			continue
		}
		which, did := "vote-form", d.Vote
		if len(d.Inputs) > 0 {
			which, did = "send-back-form", "send back"
		}
		form := page.Find(`form[data-testid="` + which + `"]`)
		if form.Length() == 0 {
			return nil // voted already, or not this person's to decide
		}
		values := filled(form)
		for name, value := range d.Inputs {
			values.Set("input."+name, value)
		}
		values.Set("decision", d.Vote)
		values.Set("reason", d.Reason)
		if err := w.post(ctx, form, r.href, values); err != nil {
			return fmt.Errorf("%s on %s: %w", did, r.number, err)
		}
		w.say("%s: %s %s (%s)", r.number, did, d.Tool, d.Reason)
		return nil
	}
	return nil
}

// answered says whether the agent has replied to a question on this case.
func answered(page *goquery.Document) bool {
	return page.Find("h3").FilterFunction(func(_ int, s *goquery.Selection) bool { return text(s) == "Its answer" }).Length() > 0
}

// askExit is the exit that asks the agent something.
const askExit = "ask_agent"

// filled is the form as a browser would send it before anybody touches it: its
// hidden fields (the CSRF token and the version among them) and its texts.
func filled(form *goquery.Selection) url.Values {
	values := url.Values{}
	form.Find("input[name]").Each(func(_ int, s *goquery.Selection) {
		switch s.AttrOr("type", "text") {
		case "radio", "checkbox", "submit", "button":
		default:
			values.Set(s.AttrOr("name", ""), s.AttrOr("value", ""))
		}
	})
	form.Find("textarea[name]").Each(func(_ int, s *goquery.Selection) { values.Set(s.AttrOr("name", ""), s.Text()) })
	return values
}

var errSignedOut = errors.New("not signed in")

// get reads a page, signing in first when need be.
func (w *worker) get(ctx context.Context, path string) (*goquery.Document, error) {
	page, err := w.page(ctx, http.MethodGet, path, nil)
	if !errors.Is(err, errSignedOut) {
		return page, err
	}
	if err := w.signIn(ctx); err != nil {
		return nil, err
	}
	return w.page(ctx, http.MethodGet, path, nil)
}

func (w *worker) signIn(ctx context.Context) error {
	page, err := w.page(ctx, http.MethodGet, "/login", nil)
	if err != nil && !errors.Is(err, errSignedOut) {
		return err
	}
	form := page.Find(`form:has(input[name="password"])`)
	values := filled(form)
	values.Set("email", w.person.Email)
	values.Set("password", w.password)
	page, err = w.page(ctx, http.MethodPost, action(form, "/login"), values)
	if errors.Is(err, errSignedOut) {
		return fmt.Errorf("sign-in refused: %s", text(page.Find(`[role="alert"]`)))
	}
	return err
}

func (w *worker) post(ctx context.Context, form *goquery.Selection, from string, values url.Values) error {
	_, err := w.page(ctx, http.MethodPost, action(form, from), values)
	return err
}

func action(form *goquery.Selection, otherwise string) string {
	if to, ok := form.Attr("action"); ok && to != "" {
		return to
	}
	return otherwise
}

// page sends one request as a browser would, follows redirects and answers the
// page it ends at. A sign-in form answers errSignedOut with its page.
func (w *worker) page(ctx context.Context, method, path string, values url.Values) (*goquery.Document, error) {
	base, err := url.Parse(w.base + "/")
	if err != nil {
		return nil, fmt.Errorf("people: %w", err)
	}
	to, err := base.Parse(path)
	if err != nil {
		return nil, fmt.Errorf("people: %w", err)
	}
	var body io.Reader
	if values != nil {
		body = strings.NewReader(values.Encode())
	}
	req, err := http.NewRequestWithContext(ctx, method, to.String(), body)
	if err != nil {
		return nil, fmt.Errorf("people: %w", err)
	}
	req.Header.Set("Accept", "text/html")
	if values != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", w.base)
	}
	res, err := w.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	doc, err := goquery.NewDocumentFromReader(io.LimitReader(res.Body, 8<<20))
	if err != nil {
		return nil, fmt.Errorf("people: %s: %w", path, err)
	}
	if doc.Find(`input[name="password"]`).Length() > 0 { // the sign-in page, whatever the address
		return doc, errSignedOut
	}
	if res.StatusCode >= 400 {
		return doc, fmt.Errorf("%s: %s: %s", path, res.Status, text(doc.Find(`[role="alert"], .notice, .problem, h1`).First()))
	}
	return doc, nil
}
