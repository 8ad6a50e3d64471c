package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
)

// hostile are texts that would do something if any page took them for markup: as an element, out of an
// attribute in either kind of quotes, out of a comment, a title or a text area, as an address, and as a formula.
var hostile = texts{mark: "kranich", name: `"'><img src=x onerror=alert(1)><script>alert(1)</script>`, text: func(what string) string {
	return `Kranich ` + what + ` </title></textarea></script>--><script>alert(1)</script>"'><img src=x onerror=alert(1)><svg/onload=alert(1)><a href="javascript:alert(1)">{{7*7}}`
}}

// harmless fails unless a page holds no markup but the desk's own.
func harmless(t *testing.T, where string, a answer) {
	t.Helper()
	kind := a.header.Get("Content-Type")
	if a.header.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%s may be taken for something else than %q", where, kind)
	}
	if !strings.HasPrefix(kind, "text/html") {
		if a.body != "" && !strings.HasPrefix(kind, "text/csv") && kind != "application/jsonl" && !strings.HasPrefix(kind, "application/json") && !strings.HasPrefix(kind, "image/") &&
			!strings.HasPrefix(kind, "text/plain") && !strings.HasPrefix(kind, "text/css") && !strings.HasPrefix(kind, "text/event-stream") {
			t.Errorf("%s is of the kind %q", where, kind)
		}
		return
	}
	for _, raw := range []string{"<script>alert", "<img src=x", "<svg/onload", `<a href="javascript:`} {
		if strings.Contains(strings.ToLower(a.body), raw) {
			t.Errorf("%s holds %s", where, raw)
		}
	}
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	doc.Find("*").Each(func(_ int, e *goquery.Selection) {
		node := e.Nodes[0]
		for _, attr := range node.Attr {
			value := strings.ToLower(strings.TrimSpace(attr.Val))
			if strings.HasPrefix(attr.Key, "on") || attr.Key == "style" || attr.Key == "srcdoc" {
				t.Errorf("%s: <%s> has the attribute %s=%q", where, node.Data, attr.Key, attr.Val)
			}
			if slices.Contains([]string{"href", "src", "action", "formaction", "data", "poster"}, attr.Key) && (strings.HasPrefix(value, "javascript:") || strings.HasPrefix(value, "vbscript:") || strings.HasPrefix(value, "data:text")) {
				t.Errorf("%s: <%s> leads to %q", where, node.Data, attr.Val)
			}
			if attr.Key == "src" && !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "data:image/") {
				t.Errorf("%s: <%s> loads %q", where, node.Data, attr.Val)
			}
			if attr.Key == "href" && strings.HasPrefix(value, "http") && !strings.Contains(e.AttrOr("rel", ""), "noreferrer") {
				t.Errorf("%s: a link to %q tells where it came from", where, attr.Val)
			}
		}
		switch node.Data {
		case "script":
			if src := e.AttrOr("src", ""); !strings.HasPrefix(src, "/static/") || strings.TrimSpace(e.Text()) != "" {
				t.Errorf("%s has a script of its own: %q %q", where, src, e.Text())
			}
		case "style", "object", "embed", "base", "meta":
			if node.Data != "meta" || strings.EqualFold(e.AttrOr("http-equiv", ""), "refresh") {
				t.Errorf("%s has the element <%s>", where, node.Data)
			}
		}
	})
}

// Every text that comes from outside is hostile: those of invoices, errors, evidence, explanations, tools and
// servers, comments, reasons, files, views, rules, names of people and of the company. Everybody looks at
// every page, and sends every form filled with the same.
func TestNothingFromOutsideBecomesMarkupOnAnyPage(t *testing.T) {
	t.Parallel()
	s := newSite(t, hostile)
	bad := hostile.text("typed")
	seen := 0
	for _, role := range []models.Role{models.RoleProcurement, models.RoleFinanceLead, models.RoleAPLead, models.RoleAdmin} {
		v := s.people[role]
		look := func(path string) {
			a := v.do(http.MethodGet, path, nil)
			harmless(t, string(role)+" at "+path, a)
			if strings.Contains(a.body, "Kranich") || strings.Contains(a.body, "kranich") {
				seen++
			}
			for _, name := range []string{"Location", "Content-Disposition"} {
				if value := a.header.Get(name); strings.ContainsAny(value, "\r\n<") {
					t.Errorf("%s is answered with %s: %s", path, name, value)
				}
			}
		}
		for _, r := range s.pageRoutes() {
			method, route, _ := strings.Cut(r, " ")
			path, _ := s.address(route)
			if method == http.MethodGet && route != "/live" {
				look(path)
				look(path + "?" + url.Values{"q": {bad}, "supplier": {bad}, "number": {bad}, "invoice": {bad}, "actor": {bad}, "action": {bad}, "tool": {bad}, "amount": {bad}, "currency": {bad}, "from": {bad},
					"next": {bad}, "cursor": {bad}, "sort": {bad}, "tab": {bad}, "state": {bad}, "code": {bad}, "run_id": {bad}, "asked_by": {bad}, "agent": {bad}, "id": {bad}, "show": {bad}}.Encode())
			}
		}
		for _, name := range []string{"duplicate", "finance case", "lead case", "supplier case", "snoozed"} {
			look("/cases/" + s.ids[name])
		}
		look("/approvals/" + s.ids["granted"])
		look("/approvals/" + s.ids["granted"] + "/proof")
		look("/confirmations/" + s.ids["confirmation of a server"])
		look("/queues/procurement?supplier=" + url.QueryEscape(hostile.text("V-2001")))
		look("/search?q=kranich")
		look("/" + url.PathEscape(bad))
		look("/cases/" + url.PathEscape(bad))
		look("/invoices/" + url.PathEscape(bad))
	}
	if seen < 100 {
		t.Errorf("only %d pages show any of it", seen)
	}
	for _, r := range s.pageRoutes() {
		method, route, _ := strings.Cut(r, " ")
		if method != http.MethodPost || route == "/logout" {
			continue
		}
		path, _ := s.address(route)
		for _, role := range []models.Role{models.RoleProcurement, models.RoleAdmin} {
			form := s.form(s.people[role], route)
			for name := range form {
				if name != "version" {
					form.Set(name, bad)
				}
			}
			for _, more := range []string{"input.po_id", "content.pick", "comment", "from", "back", "list", "draft", "subject"} {
				form.Set(more, bad)
			}
			a := s.people[role].post(path, form)
			harmless(t, string(role)+" posting to "+path, a)
			if to := a.header.Get("Location"); to != "" && !strings.HasPrefix(to, "/") || strings.HasPrefix(to, "//") {
				t.Errorf("posting to %s leads to %s", path, to)
			}
		}
	}
}

// What the calls answer is JSON and says so, whatever stands in it.
func TestNothingFromOutsideBecomesMarkupInAnAnswerToACall(t *testing.T) {
	t.Parallel()
	s := newSite(t, hostile)
	for _, r := range s.restRoutes() {
		for _, token := range []string{"agent-all", "role-auditor", ""} {
			a := s.rest(r, token, "Accept", "text/html")
			harmless(t, r, a)
			if kind := a.header.Get("Content-Type"); a.status >= 400 && !strings.HasPrefix(kind, "application/json") {
				t.Errorf("%s is answered %d as %q", r, a.status, kind)
			}
		}
	}
	for _, path := range []string{"/api/v1/" + url.PathEscape(hostile.text("x")), "/api/v1/cases?x=" + url.QueryEscape(hostile.text("x"))} {
		if a := s.call(http.MethodGet, path, "agent-all", "", "Accept", "text/html"); !strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
			t.Errorf("%s is answered as %q", path, a.header.Get("Content-Type"))
		}
	}
}

// Nothing that was written into a record, a form or a header can begin a line of the log or of the sheets
// that people open, and no secret stands in the log.
func TestNothingFromOutsideBeginsALineOfTheLog(t *testing.T) {
	t.Parallel()
	lines := texts{mark: "kranich", text: func(what string) string { return "Kranich " + what + " FORGED level=INFO msg=paid" }}
	s := newSite(t, lines)
	const forged = "x\r\nlevel=INFO msg=FORGED"
	v := s.people[models.RoleProcurement]
	for _, path := range []string{"/cases/" + url.PathEscape(forged), "/search?q=" + url.QueryEscape(forged), "/nowhere/" + url.PathEscape(forged), "/login?next=" + url.QueryEscape(forged)} {
		v.do(http.MethodGet, path, nil, "User-Agent", "FORGED", "X-Request-Id", "FORGED")
	}
	stranger := &visitor{w: s.world, cookies: map[string]string{"__Host-apdesk_session": "FORGED"}}
	stranger.do(http.MethodGet, "/", nil)
	s.call(http.MethodGet, "/api/v1/cases/"+url.PathEscape(forged), "agent-all", "")
	s.toolCode("get_case", "agent-all", `{"case_id": "x\r\nFORGED"}`)
	s.tool("FORGED\n", "agent-all", `{}`)
	for line := range strings.Lines(s.log.String()) {
		if !strings.HasPrefix(line, `{"time":`) {
			t.Errorf("the log has the line %q", line)
		}
	}
	log := s.log.String()
	for name, secret := range s.tokens {
		if strings.Contains(log, secret) {
			t.Errorf("the token %s stands in the log", name)
		}
	}
	for _, secret := range []string{v.cookies["__Host-apdesk_session"], v.csrf, s.ids["approval"], "DE811234567"} {
		if strings.Contains(log, secret) {
			t.Errorf("%s stands in the log", secret)
		}
	}
}
