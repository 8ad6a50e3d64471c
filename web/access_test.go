package web

import (
	"fmt"
	"html"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// who may use an address.
type who struct {
	anybody bool          // also without signing in
	roles   []models.Role // in the company that owns the record; the others are refused
	own     bool          // what belongs to one person alone: for all others it is not there, whatever their role
	last    bool          // using it ends what other addresses need, so it is tried after them
}

var (
	all    = who{roles: models.Roles()}
	public = who{anybody: true}
	// people are those who work at the desk; agents and ERPs have tools.
	people = who{roles: []models.Role{models.RoleAPClerk, models.RoleAPLead, models.RoleProcurement, models.RoleFinanceLead, models.RoleMasterData, models.RoleAuditor, models.RoleAdmin}}
	// withAgents are people and whoever filed something.
	withAgents = who{roles: slices.Concat(people.roles, []models.Role{models.RoleAgent})}
)

var (
	buyers  = only(models.RoleProcurement) // the queue of the case
	editors = only(models.RoleAPLead, models.RoleAdmin)
)

func only(roles ...models.Role) who { return who{roles: roles} }

func (w who) atLast() who { w.last = true; return w }

// pageAccess is who may use each address of the pages. An address that is not here fails the tests, as does
// one that is gone.
var pageAccess = map[string]who{
	"GET /healthz": public, "GET /readyz": public, "GET /metrics": public, "GET /static/*": public, "GET /login": public, "POST /login": public, "GET /welcome": public, "POST /welcome": public,
	"GET /login/second": public, "POST /login/second": public, "POST /login/second/ask": public,

	"GET /": all, "GET /live": all, "GET /next": all, "GET /notices": all, "GET /views": all, "GET /shortcuts": all,
	"GET /queues/:queue": all, "GET /queues/:queue.csv": all, "GET /cases": all, "GET /cases.csv": all, "GET /cases/bulk": all, "GET /approvals/bulk": all,
	"GET /confirmations": all, "GET /holds": all, "GET /settings": all, "GET /settings/hours": all, "GET /settings/me": all, "GET /settings/me/passkeys": all, "GET /settings/me/security": all, "GET /settings/tokens": all, "GET /settings/rules/try": all,
	"GET /approvals": withAgents, "GET /search": people,
	"GET /cases/:id": people, "GET /approvals/:id": people, "GET /approvals/:id/proof": people, "GET /approvals/:id/proof.json": people,
	"GET /confirmations/:id": people, "GET /holds/:id": people, "GET /files/:id": people, "GET /invoices": people, "GET /invoices/*": people,
	"GET /approvals/:id/revoke": only(models.RoleFinanceLead), "GET /approvals/:id/withdraw": only(),
	"GET /audit": {roles: models.AuditReaders()}, "GET /audit.csv": {roles: models.AuditReaders()}, "GET /audit.jsonl": {roles: models.AuditReaders()},
	"GET /reports": {roles: models.AuditReaders()}, "GET /reports.csv": {roles: models.AuditReaders()},
	"GET /settings/people": people, "GET /settings/people/:id": people, "GET /settings/people/:id/deactivate": only(models.RoleAdmin),
	"GET /settings/delegations": people, "GET /settings/security": people, "GET /settings/servers": people,
	"GET /settings/rules": people, "GET /settings/rules.csv": people, "GET /settings/rules/:id": people, "GET /settings/rules/history": people,
	"GET /settings/rules/import": only(models.RoleAPLead, models.RoleAdmin),

	"POST /logout": all.atLast(), "POST /workspace": all.atLast(), "POST /settings/me": all, "POST /settings/me/security/password": all, "POST /settings/me/security/sessions": all,
	"POST /settings/tokens": all, "POST /settings/tokens/rotate": all.atLast(), "POST /settings/tokens/revoke": all.atLast(), "POST /views": all,
	"POST /settings/me/confirm": all, "POST /settings/me/confirm/ask": all, "POST /settings/me/passkeys": all, "POST /settings/me/passkeys/ask": all, "POST /settings/me/passkeys/codes": all,
	"POST /settings/me/passkeys/:id/rename": {roles: []models.Role{models.RoleProcurement}, own: true}, "POST /settings/me/passkeys/:id/remove": {roles: []models.Role{models.RoleProcurement}, own: true},
	"POST /views/:id/rename": {roles: []models.Role{models.RoleProcurement}, own: true}, "POST /views/:id/delete": who{roles: []models.Role{models.RoleProcurement}, own: true}.atLast(),
	"POST /notices/read": {roles: []models.Role{models.RoleFinanceLead}, own: true}, "POST /notices/:id/read": {roles: []models.Role{models.RoleFinanceLead}, own: true},
	"POST /drafts": people, "POST /drafts/discard": people, "POST /presence": people, "POST /presence/leave": people,

	"POST /cases/:id/claim": buyers, "POST /cases/:id/release": buyers, "POST /cases/:id/comments": buyers, "POST /cases/:id/files": buyers, "POST /cases/:id/snooze": buyers,
	"POST /cases/:id/unsnooze": buyers, "POST /cases/:id/reroute": only(models.RoleProcurement, models.RoleAPLead).atLast(), "POST /cases/:id/take-over": only(models.RoleAPLead),
	"POST /cases/:id": buyers.atLast(), "POST /cases/:id/decision": buyers.atLast(),
	"POST /cases/bulk": all, "POST /cases/bulk/do": buyers,

	"POST /approvals/:id": only(models.RoleFinanceLead), "POST /approvals/:id/vote": only(models.RoleFinanceLead), "POST /approvals/:id/ask": only(models.RoleFinanceLead),
	"POST /approvals/:id/revoke": only(models.RoleFinanceLead).atLast(), "POST /approvals/:id/withdraw": only(),
	"POST /approvals/bulk": withAgents, "POST /approvals/bulk/approve": only(models.RoleFinanceLead),
	"POST /confirmations/:id": only(models.RoleFinanceLead),

	"POST /settings/period": only(models.RoleFinanceLead), "POST /settings/holidays": editors, "POST /settings/holidays/remove": editors, "POST /settings/bindings": only(models.RoleAdmin), "POST /settings/bindings/remove": only(models.RoleAdmin),
	"POST /settings/erp": only(models.RoleAdmin), "POST /settings/hours": editors,
	"POST /settings/rules": editors, "POST /settings/rules/:id": editors, "POST /settings/rules/:id/retire": editors.atLast(), "POST /settings/rules/import": editors, "POST /settings/rules/import/apply": editors,
	"POST /settings/servers": only(models.RoleAdmin, models.RoleFinanceLead), "POST /settings/servers/:id/retire": only(models.RoleAdmin, models.RoleFinanceLead).atLast(),
	"POST /settings/security": only(models.RoleAdmin).atLast(), "POST /settings/security/step-up": only(models.RoleAdmin), "POST /settings/security/second-factor": only(models.RoleAdmin),
	"POST /settings/people": only(models.RoleAdmin), "POST /settings/people/:id/roles": only(models.RoleAdmin), "POST /settings/people/:id/deactivate": only(models.RoleAdmin).atLast(),
	"POST /settings/people/invitations/withdraw": only(models.RoleAdmin).atLast(),
	"POST /settings/people/:id/reactivate":       only(models.RoleAdmin).atLast(),
	"POST /settings/delegations":                 only(models.RoleAPLead, models.RoleFinanceLead), "POST /settings/delegations/:id/end": only(models.RoleAPLead, models.RoleFinanceLead).atLast(),
}

// parameters are the records that the parts of an address stand for.
var parameters = []struct{ prefix, record string }{
	{"/approvals/:id/revoke", "granted"}, {"/cases/:id/unsnooze", "snoozed"}, {"/cases/:id/take-over", "lead case"}, {"/cases/", "case"}, {"/approvals/", "request"}, {"/confirmations/", "confirmation"}, {"/holds/", "hold"}, {"/files/", "file"}, {"/settings/people/", "person"},
	{"/settings/rules/", "rule"}, {"/settings/servers/", "server rule"}, {"/settings/delegations/", "delegation"}, {"/settings/me/passkeys/", "passkey"}, {"/views/", "view"}, {"/notices/", "notice"},
	{"/api/v1/cases/", "case"}, {"/api/v1/approval-requests/", "request"}, {"/api/v1/approvals/", "approval"}, {"/api/v1/confirmations/", "confirmation"}, {"/api/v1/holds/", "hold"}, {"/api/v1/files/", "file"},
}

// address is a route with real records in the place of its parameters; names says whether it has any.
func (s *site) address(route string) (path string, names bool) {
	s.t.Helper()
	path = strings.NewReplacer(":queue", "procurement", "/invoices/*", "/invoices/5105600123", "/static/*", "/static/css/app.css").Replace(route)
	names = strings.HasPrefix(route, "/invoices")
	if route == "/invoices" {
		return "/invoices?id=5105600123", true
	}
	if route == "/live" {
		return "/live?topic=nothing", false // a stream would not end
	}
	before, after, found := strings.Cut(path, ":")
	if !found {
		return path, names
	}
	_, rest, _ := strings.Cut(after, "/")
	if rest != "" {
		rest = "/" + rest
	}
	for _, p := range parameters {
		if strings.HasPrefix(path, p.prefix) {
			return before + s.ids[p.record] + rest, true
		}
	}
	s.t.Fatalf("no record is known for the address %s: give it one in parameters", route)
	return "", false
}

// form is what a person would send to an address, as far as its fields are known.
func (s *site) form(by *visitor, route string) url.Values {
	version := "1"
	s.in("", func(tx *models.Tx) error {
		var found []int64
		for prefix, from := range map[string]any{"/cases/:id": &models.Case{}, "/approvals/:id": &models.ApprovalRequest{}, "/confirmations/:id": &models.Confirmation{}, "/settings/rules/:id": &models.Rule{}} {
			if !strings.HasPrefix(route, prefix) {
				continue
			}
			path, _ := s.address(route)
			id := strings.Split(strings.TrimPrefix(path, strings.TrimSuffix(prefix, ":id")), "/")[0]
			if err := tx.DB.Model(from).Where("id = ?", id).Pluck("version", &found).Error; err != nil {
				return err
			}
			version = fmt.Sprint(found[0])
		}
		return nil
	})
	sheet := ""
	if strings.HasPrefix(route, "/settings/rules/import") {
		from := s.people[models.RoleAdmin]
		if by == s.outsider {
			from = by
		}
		sheet = from.sheet(strings.HasSuffix(route, "/apply"))
		if sheet == "" {
			s.t.Fatal("there is no sheet to import")
		}
	}
	v := values("version", version, "reason", "Because.", "workspace_id", "1000", "workspace", "1000")
	for prefix, fields := range map[string]url.Values{
		"/cases/:id":                values("exit", "reject_invoice", "text", "A word.", "until", "own", "until_at", "2026-10-09T12:00", "to", "ap"),
		"/cases/bulk":               values("act", "claim", "case", s.ids["case"], "item", s.ids["case"]+"@"+version),
		"/approvals/:id":            values("decision", "approve", "question", "Why?"),
		"/approvals/bulk":           values("request", s.ids["request"], "item", s.ids["request"]+"@1"),
		"/confirmations/:id":        values("action", "accept", "content.confirm", "true"),
		"/settings/period":          values("period_closed_through", "2026-09-30"),
		"/settings/holidays":        values("day", "2026-12-25"),
		"/settings/bindings/remove": values("tool", "pay"),
		"/settings/bindings":        values("tool", "pay", "invoice_id", "/a", "amount", "/b", "currency", "/c"),
		"/settings/erp":             values("erp_link", "https://erp.example.com/{invoice_id}"),
		"/settings/rules":           values("currency", "EUR", "from", "0", "to", "1", "role", "finance_lead", "required", "1", "valid", "24h", "sheet", sheet),
		"/settings/servers":         values("server_name", "Archive 2", "server_url", "https://archive.example.com/mcp", "role", "procurement"),
		"/settings/security":        values("action", "get_case", "channel", "mcp", "blocked", "yes", "currency", "EUR", "above", "1000000", "required", "no"),
		"/settings/people":          values("email", "new@example.test", "name", "New", "role", "ap_clerk", "was", "ap_clerk", "confirmed", "yes"),
		"/settings/delegations":     values("person", "finance_lead@"+s.texts.mark+".test", "delegate", "second@"+s.texts.mark+".test", "first_day", "2026-12-01", "last_day", "2026-12-02"),
		"/settings/hours":           values("opens_at", "08:00", "closes_at", "16:00", "weekday", "1"),
		"/settings/me":              values("after_decision", "list", "theme", "dark", "name", "Mine"),
		"/views":                    values("name", "Mine", "list", "/queues/procurement"),
		"/drafts":                   values("draft", s.ids["case"]+"/decision", "made", models.At(s.clock.Now()).String(), "back", "/cases/"+s.ids["case"]),
		"/presence":                 values("subject", s.ids["case"], "doing", "viewing"),
		"/notices/read":             values("newest", s.ids["notice"]),
		"/login":                    values("email", "nobody@example.test", "password", "not the password"),
	} {
		if strings.HasPrefix(route, prefix) {
			for name, value := range fields {
				v[name] = value
			}
		}
	}
	return v
}

// sheet is a sheet of rules with one new rule; checked is the same as the preview hands it on, to be imported.
func (v *visitor) sheet(checked bool) string {
	head, _, _ := strings.Cut(v.do(http.MethodGet, "/settings/rules.csv", nil).body, "\n")
	row := strings.Split(strings.TrimPrefix(strings.TrimSpace(head), "\ufeff"), ",")
	for i, column := range row {
		row[i] = map[string]string{"currency": "EUR", "from": "70", "to": "77", "role": "finance_lead", "required": "1", "valid": "24h"}[column]
	}
	sheet := strings.TrimSpace(head) + "\n" + strings.Join(row, ",") + "\n"
	if !checked {
		return sheet
	}
	return html.UnescapeString(attribute(v.post("/settings/rules/import", values("sheet", sheet)).body, `name="sheet" value="`))
}

// pageRoutes are the addresses of the pages, from the running server.
func (s *site) pageRoutes() []string {
	var list []string
	for _, r := range s.server.app.GetRoutes(true) {
		name := r.Method + " " + r.Path
		if r.Method == http.MethodHead || r.Path == "/mcp" || strings.HasPrefix(r.Path, "/api/") || slices.Contains(list, name) {
			continue
		}
		list = append(list, name)
	}
	slices.Sort(list)
	return list
}

// shows says whether an answer holds anything of company 1000.
func (s *site) shows(a answer) bool {
	return strings.Contains(strings.ToLower(a.body+fmt.Sprint(a.header)), s.texts.mark)
}

func TestEveryAddressOfThePagesIsInTheAccessTable(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	routes := s.pageRoutes()
	for _, r := range routes {
		if _, known := pageAccess[r]; !known {
			t.Errorf("%s is new: say in pageAccess who may use it", r)
		}
	}
	for r := range maps.Keys(pageAccess) {
		if !slices.Contains(routes, r) {
			t.Errorf("%s is gone", r)
		}
	}
}

func TestNoPageIsForWhoIsNotSignedIn(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	before := s.state("")
	stranger := &visitor{w: s.world, name: "stranger", cookies: map[string]string{}}
	for _, r := range s.pageRoutes() {
		method, route, _ := strings.Cut(r, " ")
		path, _ := s.address(route)
		var form url.Values
		if method == http.MethodPost {
			form = s.form(s.outsider, route)
		}
		a := stranger.do(method, path, form)
		if s.shows(a) {
			t.Errorf("%s shows something: %s", r, plainText(a.body))
		}
		switch {
		case pageAccess[r].anybody:
		case route == "/live":
			if a.status != http.StatusUnauthorized {
				t.Errorf("%s is answered %d", r, a.status)
			}
		case a.status == http.StatusSeeOther && strings.HasPrefix(a.header.Get("Location"), "/login"):
		case a.status == http.StatusUnauthorized && strings.Contains(a.body, `data-testid="login-form"`):
		default:
			t.Errorf("%s is answered %d", r, a.status)
		}
	}
	if c := changed(before, s.state("")); len(c) > 0 {
		t.Errorf("a stranger changed %v", c)
	}
}

// Somebody who holds every role, in another company, with the true ids of this one in every place where an
// id can stand.
func TestNoPageLeadsIntoAnotherCompany(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	before := s.state("1000")
	for _, r := range s.pageRoutes() {
		method, route, _ := strings.Cut(r, " ")
		if pageAccess[r].anybody || route == "/logout" {
			continue
		}
		path, names := s.address(route)
		var a answer
		if method == http.MethodPost {
			form := s.form(s.outsider, route)
			a = s.outsider.post(path, form)
			if b := s.outsider.post(path+"?workspace_id=1000", form, "X-Workspace-Id", "1000"); s.shows(b) {
				t.Errorf("%s with the company in the address shows something: %s", r, plainText(b.body))
			}
		} else {
			a = s.outsider.do(method, path, nil)
			sep := "?"
			if strings.Contains(path, "?") {
				sep = "&"
			}
			if b := s.outsider.do(method, path+sep+"workspace_id=1000", nil, "X-Workspace-Id", "1000"); b.status != http.StatusForbidden && b.status != http.StatusNotFound || s.shows(b) {
				t.Errorf("%s with the company in the address is answered %d: %s", r, b.status, plainText(b.body))
			}
		}
		if names && a.status != http.StatusNotFound && a.status != http.StatusForbidden && r != "POST /views/:id/delete" { // deleting what is not there is done
			t.Errorf("%s is answered %d: %s", r, a.status, plainText(a.body))
		}
		if s.shows(a) {
			t.Errorf("%s shows something: %s", r, plainText(a.body))
		}
	}
	for _, topic := range []string{"case:" + s.ids["case"], "request:" + s.ids["request"], "confirmation:" + s.ids["confirmation"], "hold:" + s.ids["hold"]} {
		if a := s.outsider.do(http.MethodGet, "/live?topic="+url.QueryEscape(topic), nil); a.status != http.StatusNotFound {
			t.Errorf("the live stream of %s is answered %d", topic, a.status)
		}
	}
	if c := changed(before, s.state("1000")); len(c) > 0 {
		t.Errorf("somebody of another company changed %v", c)
	}
}

// Every role at every address: whoever may not is refused, and nothing has changed but the trail and the
// words they typed; whoever may is not refused.
func TestEveryAddressKnowsWhoMayUseIt(t *testing.T) {
	t.Parallel()
	s := newSite(t, plainTexts)
	before := s.state("", "audit_events", "drafts")
	try := func(r string, role models.Role) answer {
		method, route, _ := strings.Cut(r, " ")
		path, _ := s.address(route)
		if route == "/cases/:id/files" {
			return s.people[role].attach(path, "more.png")
		}
		if method == http.MethodPost {
			return s.people[role].post(path, s.form(s.people[role], route))
		}
		return s.people[role].do(method, path, nil)
	}
	routes := slices.DeleteFunc(s.pageRoutes(), func(r string) bool { return pageAccess[r].anybody })
	for _, r := range routes {
		for _, role := range models.Roles() {
			if slices.Contains(pageAccess[r].roles, role) {
				continue
			}
			a := try(r, role)
			refused := a.status == http.StatusForbidden || a.status == http.StatusNotFound || bulk[r] && a.status == http.StatusOK || r == "POST /views/:id/delete" && a.status == http.StatusSeeOther
			if !refused {
				t.Errorf("%s of a person with the role %s is answered %d: %s", r, role, a.status, plainText(a.body))
			}
		}
		if strings.HasPrefix(r, http.MethodGet) {
			continue // looking is tried elsewhere
		}
		if after := s.state("", "audit_events", "drafts"); len(changed(before, after)) > 0 {
			t.Errorf("%s, refused, changed %v", r, changed(before, after))
			before = after
		}
	}
	slices.SortStableFunc(routes, func(a, b string) int { return order(a) - order(b) })
	for _, r := range routes {
		for _, role := range pageAccess[r].roles {
			if a := try(r, role); a.status == http.StatusForbidden || a.status == http.StatusNotFound && r != "GET /live" && !pageAccess[r].last || a.status >= http.StatusInternalServerError {
				t.Errorf("%s of a person with the role %s is answered %d: %s", r, role, a.status, plainText(a.body))
			}
		}
	}
}

// bulk are acts on several records, which answer for each what became of it.
var bulk = map[string]bool{"POST /approvals/bulk": true, "POST /approvals/bulk/approve": true, "POST /cases/bulk": true, "POST /cases/bulk/do": true}

func order(route string) int {
	switch {
	case route == "POST /logout":
		return 3
	case pageAccess[route].last:
		return 2
	}
	return 1
}

// Reading is reading: after everybody has looked at every address, also with HEAD, every row of every table
// is as it was.
func TestLookingAtEveryAddressChangesNothing(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		s := newSiteOn(t, store, clock, plainTexts)
		before := s.state("")
		for _, role := range models.Roles() {
			for _, r := range s.pageRoutes() {
				method, route, _ := strings.Cut(r, " ")
				path, _ := s.address(route)
				if method != http.MethodGet { // the address of a form, opened as a link with all its fields
					path += "?" + s.form(s.people[role], route).Encode() + "&csrf_token=" + s.people[role].csrf
				}
				s.people[role].do(http.MethodGet, path, nil)
				if method == http.MethodGet {
					s.people[role].do(http.MethodHead, path, nil)
				}
			}
			if after := s.state(""); len(changed(before, after)) > 0 {
				t.Fatalf("looking as %s changed %v", role, changed(before, after))
			}
		}
		for _, r := range s.pageRoutes() {
			if method, _, _ := strings.Cut(r, " "); method != http.MethodGet && method != http.MethodPost {
				t.Errorf("%s: addresses of pages take GET and POST", r)
			}
		}
	})
}
