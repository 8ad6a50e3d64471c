package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/PuerkitoBio/goquery"
	"golang.org/x/net/html"
)

// scriptless is a browser in which script is switched off. It opens links, fills in the fields a page shows
// and presses the buttons a page shows, and like every browser it sends no form that breaks the rules which
// stand in its fields. Nothing else changes anything.
type scriptless struct {
	t       *testing.T
	s       *site
	name    string
	cookies map[string]string
	acts    *acts
	sheet   // what it shows now
}

// sheet is a page or a file as it came.
type sheet struct {
	path   string // with the query
	status int
	header http.Header
	body   string
	doc    *goquery.Document
}

// acts is what could be done on the pages that were seen, and what was done.
type acts struct {
	routes []string          // that take forms
	seen   map[string]string // act to the page on which it was first seen
	done   map[string]bool
	forms  func(b *scriptless, form *goquery.Selection) // looks at each form that posts; may be nil
}

func newActs(s *site) *acts {
	a := &acts{seen: map[string]string{}, done: map[string]bool{}}
	for _, r := range s.pageRoutes() {
		if method, route, _ := strings.Cut(r, " "); method == http.MethodPost {
			a.routes = append(a.routes, route)
		}
	}
	return a
}

// browser opens the browser of somebody who has signed in already; without is nobody in particular.
func (s *site) browser(v *visitor, a *acts) *scriptless {
	b := &scriptless{t: s.t, s: s, name: "a stranger", cookies: map[string]string{}, acts: a}
	if v != nil {
		b.name, b.cookies = v.name, maps.Clone(v.cookies)
	}
	return b
}

// open goes to an address that a person knows or was sent.
func (b *scriptless) open(path string) *scriptless {
	b.t.Helper()
	return b.arrive(http.MethodGet, path, "", nil)
}

// opened is open for a page that has to be there.
func (b *scriptless) opened(path string) *scriptless {
	b.t.Helper()
	from := b.path
	b.open(path)
	if b.status != http.StatusOK {
		b.t.Errorf("%s from %s at %s is answered %d: %s", b.name, from, path, b.status, plainText(b.body))
	}
	return b
}

// arrive sends a request and goes on to where it leads.
func (b *scriptless) arrive(method, path, kind string, body []byte) *scriptless {
	b.t.Helper()
	for range 5 {
		res := b.send(method, path, kind, body)
		if !slices.Contains([]int{http.StatusSeeOther, http.StatusFound}, res.status) {
			b.sheet = res
			b.note()
			return b
		}
		to, err := url.Parse(res.header.Get("Location"))
		if err != nil || to.Host != "" && to.Host != "desk.example.test" {
			b.t.Fatalf("%s is led to %q", b.name, res.header.Get("Location"))
		}
		method, path, kind, body = http.MethodGet, to.RequestURI(), "", nil
	}
	b.t.Fatalf("%s is led round and round, last to %s", b.name, path)
	return nil
}

func (b *scriptless) send(method, path, kind string, body []byte) sheet {
	b.t.Helper()
	req := httptest.NewRequestWithContext(context.Background(), method, "https://desk.example.test"+path, bytes.NewReader(body))
	req.Header.Set("Accept", "text/html")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
		req.Header.Set("Origin", "https://desk.example.test")
	}
	for name, value := range b.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	res, err := b.s.server.app.Test(req, -1)
	if err != nil {
		b.t.Fatalf("%s: %s %s: %v", b.name, method, path, err)
	}
	defer func() { _ = res.Body.Close() }()
	for _, c := range res.Cookies() {
		if b.cookies[c.Name] = c.Value; c.MaxAge < 0 || c.Value == "" {
			delete(b.cookies, c.Name)
		}
	}
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(text))
	if err != nil {
		b.t.Fatal(err)
	}
	return sheet{path, res.StatusCode, res.Header, string(text), doc}
}

// note remembers what could be done on a page, and that it asks for nothing that only script can do.
func (b *scriptless) note() {
	b.t.Helper()
	if !strings.HasPrefix(b.header.Get("Content-Type"), "text/html") {
		return
	}
	b.doc.Find("form").Each(func(_ int, form *goquery.Selection) {
		method := strings.ToLower(form.AttrOr("method", "get"))
		if method == "dialog" || !shown(form) && b.doc.Find(`[form="`+form.AttrOr("id", "-")+`"]`).Length() == 0 {
			return
		}
		buttons := b.buttons(form)
		if len(buttons) == 0 {
			b.t.Errorf("%s: the form to %q has no button to send it with", b.path, form.AttrOr("action", ""))
		}
		if method != "post" {
			return
		}
		if b.acts.forms != nil {
			b.acts.forms(b, form)
		}
		for _, button := range buttons {
			if act := b.act(form, button); b.acts.seen[act] == "" {
				b.acts.seen[act] = b.path + " of " + b.name
			}
		}
	})
	b.doc.Find("button[type=button], a[href='#'], a:not([href]), [onclick]").Each(func(_ int, e *goquery.Selection) {
		if shown(e) {
			b.t.Errorf("%s shows %q, which only script can work", b.path, words(e))
		}
	})
}

// shown says whether something can be seen without script.
func shown(e *goquery.Selection) bool {
	return e.Closest("[hidden], dialog:not([open]), template").Length() == 0
}

// buttons are those that send a form, also from elsewhere on the page.
func (b *scriptless) buttons(form *goquery.Selection) []*goquery.Selection {
	all := form.Find("button, input[type=submit], input[type=image]").Not("[form]")
	if id := form.AttrOr("id", ""); id != "" {
		all = all.AddSelection(b.doc.Find(`button[form="` + id + `"], input[type=submit][form="` + id + `"]`))
	}
	var list []*goquery.Selection
	all.Each(func(_ int, e *goquery.Selection) {
		if kind := e.AttrOr("type", "submit"); kind != "button" && kind != "reset" && shown(e) && !off(e) {
			list = append(list, e)
		}
	})
	return list
}

// act is what pressing a button of a form does: the address, without ids, and the button.
func (b *scriptless) act(form, button *goquery.Selection) string {
	at := button.AttrOr("formaction", form.AttrOr("action", b.path))
	target, err := url.Parse(at)
	if err != nil {
		b.t.Fatalf("%s has a form to %q", b.path, at)
	}
	name := button.AttrOr("data-testid", "")
	switch {
	case button.AttrOr("name", "") != "":
		name = button.AttrOr("name", "") + "=" + button.AttrOr("value", "")
	case name == "":
		if name = form.AttrOr("data-testid", ""); name == "" {
			name = words(button)
		}
	}
	route := b.acts.route(target.Path)
	if route == "" {
		b.t.Errorf("%s has a form to %s, which takes none", b.path, at)
	}
	return route + " " + anID.ReplaceAllString(name, "…")
}

// route is the address of a form as the server knows it.
func (a *acts) route(path string) string {
	parts := strings.Split(path, "/")
	best := ""
	for _, route := range a.routes {
		pattern := strings.Split(route, "/")
		if len(pattern) != len(parts) {
			continue
		}
		fits := true
		for i := range parts {
			fits = fits && (pattern[i] == parts[i] || strings.HasPrefix(pattern[i], ":") && parts[i] != "")
		}
		if fits && (best == "" || strings.Count(route, ":") < strings.Count(best, ":")) {
			best = route
		}
	}
	return best
}

// words is what can be read in something, without what only a screen reader says.
func words(e *goquery.Selection) string {
	e = e.Clone()
	e.Find(".visually-hidden, [aria-hidden=true]").Remove()
	return strings.Join(strings.Fields(e.Text()), " ")
}

// text is what can be read in the thing with a test id, "main" for the page.
func (b *scriptless) text(testID string) string {
	e := b.doc.Find(`[data-testid="` + testID + `"]`)
	if testID == "main" {
		e = b.doc.Find("main")
	}
	return strings.Join(strings.Fields(e.Text()), " ")
}

func (b *scriptless) has(testID string) bool {
	return b.doc.Find(`[data-testid="`+testID+`"]`).Length() > 0
}

// reads fails unless the texts can be read in the thing with a test id, "main" for the page.
func (b *scriptless) reads(testID string, texts ...string) *scriptless {
	b.t.Helper()
	got := b.text(testID)
	for _, text := range texts {
		if !strings.Contains(got, text) {
			b.t.Errorf("%s at %s (%d): %s reads %q, which lacks %q", b.name, b.path, b.status, testID, got[:min(len(got), 1500)], text)
		}
	}
	return b
}

// follow opens the link with a test id, with these words or to this address.
func (b *scriptless) follow(link string) *scriptless {
	b.t.Helper()
	var found *goquery.Selection
	b.doc.Find("a[href]").EachWithBreak(func(_ int, a *goquery.Selection) bool {
		href, _, _ := strings.Cut(a.AttrOr("href", ""), "?")
		if shown(a) && (a.AttrOr("data-testid", "") == link || words(a) == link || href == link) {
			found = a
		}
		return found == nil
	})
	if found == nil {
		text := b.text("main")
		b.t.Fatalf("%s finds no link %q at %s: …%s", b.name, link, b.path, text[max(0, len(text)-1500):])
	}
	b.opened(found.AttrOr("href", ""))
	return b
}

// press fills in the form around a button and presses it. The button is named by its test id, its
// name=value or its words; where several are alike, of stands in what the right one is in.
func (b *scriptless) press(button string, fields url.Values, of ...string) *scriptless {
	b.t.Helper()
	b.try(button, fields, of...)
	if !b.taken() {
		b.t.Fatalf("%s pressed %s and is answered %d at %s: %s", b.name, button, b.status, b.path, plainText(b.body))
	}
	return b
}

func (b *scriptless) taken() bool {
	return b.status == http.StatusOK || b.status == http.StatusCreated // which shows a secret this once
}

// try is press for what may be refused.
func (b *scriptless) try(button string, fields url.Values, of ...string) *scriptless {
	b.t.Helper()
	var form, pressed *goquery.Selection
	b.doc.Find("button, input[type=submit]").EachWithBreak(func(_ int, e *goquery.Selection) bool {
		if e.AttrOr("data-testid", "") != button && words(e) != button && e.AttrOr("name", "")+"="+e.AttrOr("value", "") != button {
			return true
		}
		around := e.Closest("form")
		if id := e.AttrOr("form", ""); id != "" {
			around = b.doc.Find(`form[id="` + id + `"]`)
		}
		near := e.Closest("tr, li, section, main").Text()
		for _, text := range of {
			if !strings.Contains(near, text) {
				return true
			}
		}
		if shown(e) && !off(e) && around.Length() == 1 {
			form, pressed = around, e
		}
		return form == nil
	})
	if form == nil {
		b.t.Fatalf("%s finds no button %q at %s: %s", b.name, button, b.path, plainText(b.body))
	}
	sent, files := b.fill(form, fields, pressed)
	target := pressed.AttrOr("formaction", form.AttrOr("action", b.path))
	if strings.EqualFold(form.AttrOr("method", "get"), "get") {
		target, _, _ = strings.Cut(target, "?")
		return b.opened(target + "?" + sent.Encode())
	}
	kind, body := "application/x-www-form-urlencoded", []byte(sent.Encode())
	if form.AttrOr("enctype", "") == "multipart/form-data" {
		kind, body = multiform(b.t, sent, files)
	}
	act := b.act(form, pressed)
	b.arrive(http.MethodPost, target, kind, body)
	if b.taken() {
		b.acts.done[act] = true
	}
	return b
}

// uploaded is a file of the person's computer, as the value of a field.
func uploaded(name, content string) string { return "\x00" + name + "\x00" + content }

// fill is what a browser sends of a form: what it holds, changed by what the person fills in. What the form
// has no visible field for cannot be filled in, and what its fields forbid is not sent.
func (b *scriptless) fill(form *goquery.Selection, fields url.Values, pressed *goquery.Selection) (sent, files url.Values) {
	b.t.Helper()
	sent, files = url.Values{}, url.Values{}
	left := maps.Clone(fields)
	checks := pressed.AttrOr("formnovalidate", "no") == "no"
	refuse := func(name, why string) {
		b.t.Helper()
		b.t.Fatalf("%s at %s: the browser does not send the form to %s: the field %s %s", b.name, b.path, form.AttrOr("action", ""), name, why)
	}
	controls := form.Find("input, select, textarea").Not("[form]")
	if id := form.AttrOr("id", ""); id != "" {
		controls = controls.AddSelection(b.doc.Find(`input[form="` + id + `"], select[form="` + id + `"], textarea[form="` + id + `"]`))
	}
	missing := map[string]bool{} // radios of which one has to be chosen
	controls.Each(func(_ int, c *goquery.Selection) {
		name, kind := c.AttrOr("name", ""), c.AttrOr("type", "text")
		if c.Is("select, textarea") {
			kind = goquery.NodeName(c)
		}
		if kind == "submit" || kind == "image" || kind == "button" || off(c) {
			return
		}
		values, given := fields[name]
		if given && (kind == "hidden" || !shown(c)) {
			return
		}
		delete(left, name)
		_, required := c.Attr("required")
		switch kind {
		case "hidden":
			sent.Add(name, c.AttrOr("value", ""))
			return
		case "radio", "checkbox":
			value := c.AttrOr("value", "on")
			_, checked := c.Attr("checked")
			if given {
				checked = slices.Contains(values, value)
			}
			if checked {
				sent.Add(name, value)
				missing[name] = false
			} else if _, known := missing[name]; required && !known {
				missing[name] = true
			}
			return
		case "file":
			if given && strings.HasPrefix(values[0], "\x00") {
				files[name] = values
			} else if required {
				refuse(name, "needs a file")
			}
			return
		}
		if name == "" {
			return
		}
		value := c.AttrOr("value", "")
		switch kind {
		case "textarea":
			value = strings.TrimPrefix(c.Text(), "\n")
		case "select":
			options := c.Find("option")
			value = options.First().AttrOr("value", "")
			if chosen := options.Filter("[selected]"); chosen.Length() > 0 {
				value = chosen.Last().AttrOr("value", "")
			}
		}
		if _, fixed := c.Attr("readonly"); given && !fixed {
			value = values[0]
			if kind == "select" && c.Find("option").FilterFunction(func(_ int, o *goquery.Selection) bool { return o.AttrOr("value", o.Text()) == value }).Length() == 0 {
				refuse(name, "offers no "+value)
			}
		}
		if why := breaks(c, kind, value, required); checks && why != "" {
			refuse(name, why)
		}
		sent.Add(name, value)
	})
	for name, is := range missing {
		if is && checks {
			refuse(name, "needs a choice")
		}
	}
	for name := range left {
		b.t.Fatalf("%s at %s: the form to %s has no field %s that can be filled in", b.name, b.path, form.AttrOr("action", ""), name)
	}
	for name, values := range fields {
		for _, value := range values {
			if !strings.HasPrefix(value, "\x00") && value != "" && !slices.Contains(sent[name], value) {
				b.t.Fatalf("%s at %s: the field %s cannot be set to %q", b.name, b.path, name, value)
			}
		}
	}
	if name := pressed.AttrOr("name", ""); name != "" {
		sent.Add(name, pressed.AttrOr("value", ""))
	}
	return sent, files
}

func off(c *goquery.Selection) bool {
	_, is := c.Attr("disabled")
	return is || c.Closest("fieldset[disabled]").Length() > 0
}

var anAddress = regexp.MustCompile(`^[^@\s]+@[^@\s]+$`)

// breaks says what a browser holds against a value.
func breaks(c *goquery.Selection, kind, value string, required bool) string {
	switch {
	case value == "" && required:
		return "has to be filled in"
	case value == "":
		return ""
	case kind == "email" && !anAddress.MatchString(value):
		return "takes e-mail addresses only"
	}
	if pattern := c.AttrOr("pattern", ""); pattern != "" {
		if ok, err := regexp.MatchString("^(?:"+pattern+")$", value); err != nil || !ok {
			return "does not take " + value
		}
	}
	if n, err := strconv.Atoi(c.AttrOr("maxlength", "")); err == nil && utf8.RuneCountInString(value) > n {
		return "is too long"
	}
	if n, err := strconv.Atoi(c.AttrOr("minlength", "")); err == nil && utf8.RuneCountInString(value) < n {
		return "is too short"
	}
	less := func(a, b string) bool { return a < b }
	if kind == "number" {
		less = func(a, b string) bool {
			x, _ := strconv.ParseFloat(a, 64)
			y, _ := strconv.ParseFloat(b, 64)
			return x < y
		}
	} else if !slices.Contains([]string{"date", "time", "datetime-local"}, kind) {
		return ""
	}
	if low := c.AttrOr("min", ""); low != "" && less(value, low) {
		return "takes nothing before " + low
	}
	if high := c.AttrOr("max", ""); high != "" && less(high, value) {
		return "takes nothing after " + high
	}
	return ""
}

// multiform is a form with a file in the way browsers send it.
func multiform(t *testing.T, sent, files url.Values) (kind string, body []byte) {
	t.Helper()
	var out bytes.Buffer
	form := multipart.NewWriter(&out)
	var err error
	for name, values := range sent {
		for _, value := range values {
			err = errors.Join(err, form.WriteField(name, value))
		}
	}
	for field, file := range files {
		name, content, _ := strings.Cut(file[0][1:], "\x00")
		part, problem := form.CreateFormFile(field, name)
		if problem == nil {
			_, problem = io.WriteString(part, content)
		}
		err = errors.Join(err, problem)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		t.Fatal(err)
	}
	return form.FormDataContentType(), out.Bytes()
}

// crawl opens every page that links lead to from the desk. Of lists that differ only in how they are narrowed
// one is opened, and of people a few.
func (b *scriptless) crawl() (pages int) {
	b.t.Helper()
	seen, todo, few := map[string]bool{}, []string{"/"}, map[string]int{}
	for len(todo) > 0 {
		path := todo[0]
		todo = todo[1:]
		at, err := url.Parse(path)
		if err != nil {
			b.t.Fatal(err)
		}
		key, names := at.Path, at.Query()
		delete(names, "from")
		delete(names, "workspace_id")
		if len(names) > 0 {
			route, _, _ := strings.Cut(strings.TrimPrefix(at.Path, "/"), "/")
			key = route + "?" + strings.Join(slices.Sorted(maps.Keys(names)), "&")
		}
		kind := anID.ReplaceAllString(at.Path, "")
		if seen[key] || strings.Contains(at.Path, "/usr_") && few[kind] > 2 {
			continue
		}
		seen[key] = true
		few[kind]++
		b.opened(path)
		pages++
		b.doc.Find("a[href]").Each(func(_ int, a *goquery.Selection) {
			href, _, _ := strings.Cut(a.AttrOr("href", ""), "#")
			if strings.HasPrefix(href, "/") && !strings.HasPrefix(href, "/static/") && !isFile(a.Nodes[0]) {
				todo = append(todo, href)
			}
		})
	}
	return pages
}

func isFile(a *html.Node) bool {
	return slices.ContainsFunc(a.Attr, func(at html.Attribute) bool { return at.Key == "download" })
}
