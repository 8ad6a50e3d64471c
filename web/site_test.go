package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// site is a desk with one record of every kind in one company, everybody who could want to see it, and
// somebody who holds every role in another company.
type site struct {
	*world
	texts    texts
	people   map[models.Role]*visitor // one for each role, in company 1000
	outsider *visitor                 // every role, in company 2000
	ids      map[string]string
	wearing  string // what agents write instead of the mark, when they are of another company
}

// texts are what people and agents wrote into the records.
type texts struct {
	mark string // stands in every text of company 1000, and nowhere else
	text func(what string) string
	name string // of a view, which has few letters; "": as other texts
}

var plainTexts = texts{mark: "kranich", text: func(what string) string { return "Kranich " + what }}

// visitor is a browser with a session.
type visitor struct {
	w       *world
	name    string
	user    models.User
	cookies map[string]string
	csrf    string
}

// session is a browser in which somebody has signed in already.
func (w *world) session(u models.User) *visitor {
	w.t.Helper()
	secret := models.Secret(nil, 32)
	w.in("", func(tx *models.Tx) error {
		return tx.DB.Create(&models.Session{ID: models.HashSecret(secret), UserID: u.ID, CreatedAt: tx.Now, LastSeenAt: tx.Now, ExpiresAt: tx.Now.Add(models.SessionLife)}).Error
	})
	v := &visitor{w: w, name: u.Name, user: u, cookies: map[string]string{"__Host-apdesk_session": secret}}
	v.csrf = attribute(v.do("GET", "/settings/me", nil).body, `name="csrf_token" value="`)
	if v.csrf == "" {
		w.t.Fatalf("%s gets no form", u.Name)
	}
	return v
}

// attribute is what stands behind a text up to the next quote.
func attribute(body, before string) string {
	_, rest, found := strings.Cut(body, before)
	if !found {
		return ""
	}
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

func (v *visitor) do(method, path string, form url.Values, headers ...string) answer {
	v.w.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	kind := ""
	if form != nil {
		kind = "application/x-www-form-urlencoded"
	}
	return v.send(method, path, kind, body, headers...)
}

func (v *visitor) send(method, path, kind string, body io.Reader, headers ...string) answer {
	v.w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	req := httptest.NewRequestWithContext(ctx, method, path, body)
	req.Header.Set("Accept", "text/html")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for name, value := range v.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := v.w.server.app.Test(req, -1)
	if err != nil {
		v.w.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		v.w.t.Fatalf("%s %s: %v", method, path, err)
	}
	return answer{res.StatusCode, res.Header, string(text)}
}

// post sends a form with its token.
func (v *visitor) post(path string, form url.Values, headers ...string) answer {
	v.w.t.Helper()
	filled := url.Values{"csrf_token": {v.csrf}}
	for name, values := range form {
		filled[name] = values
	}
	return v.do("POST", path, filled, headers...)
}

// attach posts a form with a file.
func (v *visitor) attach(path, name string) answer {
	v.w.t.Helper()
	var file bytes.Buffer
	form := multipart.NewWriter(&file)
	part, err := form.CreateFormField("csrf_token")
	if err == nil {
		_, err = io.WriteString(part, v.csrf)
	}
	if err == nil {
		part, err = form.CreateFormFile("file", name)
	}
	if err == nil {
		_, err = io.WriteString(part, tinyPNG)
	}
	if err = errors.Join(err, form.Close()); err != nil {
		v.w.t.Fatal(err)
	}
	return v.send("POST", path, form.FormDataContentType(), &file)
}

// must posts a form that has to be taken.
func (v *visitor) must(path string, form url.Values) {
	v.w.t.Helper()
	if a := v.post(path, form); a.status != http.StatusSeeOther {
		v.w.t.Fatalf("%s: POST %s is answered %d: %s", v.name, path, a.status, plainText(a.body))
	}
}

// plainText is a page without its markup, roughly, for messages of tests.
func plainText(page string) string {
	_, main, found := strings.Cut(page, "<main")
	if !found {
		main = page
	}
	var out strings.Builder
	inside := found
	for _, r := range main {
		switch {
		case r == '<':
			inside = true
		case r == '>':
			inside = false
			out.WriteByte(' ')
		case !inside:
			out.WriteRune(r)
		}
	}
	text := strings.Join(strings.Fields(out.String()), " ")
	return text[:min(len(text), 600)]
}

func values(pairs ...string) url.Values {
	v := url.Values{}
	for i := 0; i+1 < len(pairs); i += 2 {
		v.Add(pairs[i], pairs[i+1])
	}
	return v
}

const tinyPNG = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89\x00\x00\x00\x0dIDATx\x9cc\xf8\xff\xff?\x00\x05\xfe\x02\xfe\xa35\x81\x84\x00\x00\x00\x00IEND\xaeB`\x82"

func newSite(t *testing.T, x texts) *site {
	t.Helper()
	store, clock := modelstest.SQLite(t)
	return newSiteOn(t, store, clock, x)
}

// newSiteOn fills both companies through the forms and calls that people and agents use.
func newSiteOn(t *testing.T, store *models.Store, clock *modelstest.Clock, x texts) *site {
	t.Helper()
	w := newWorldOn(t, store, clock, func(c *Config) { c.RateLimit = 0 })
	s := &site{world: w, texts: x, people: map[models.Role]*visitor{}, ids: map[string]string{}}
	users := map[models.Role]models.User{}
	add := func(ws string, n models.NewUser) (u models.User) {
		t.Helper()
		w.in(ws, func(tx *models.Tx) (err error) { u, _, err = tx.CreateUser(n); return err })
		return u
	}
	for _, r := range models.Roles() {
		users[r] = add("1000", models.NewUser{Email: string(r) + "@" + x.mark + ".test", Name: x.text(string(r)), Roles: []models.Role{r}})
	}
	spare := add("1000", models.NewUser{Email: "spare@" + x.mark + ".test", Name: x.text("spare"), Roles: []models.Role{models.RoleAPClerk}})
	add("1000", models.NewUser{Email: "second@" + x.mark + ".test", Name: x.text("second"), Roles: []models.Role{models.RoleFinanceLead}})
	outsider := add("2000", models.NewUser{Email: "outsider@example.test", Name: "Outsider", Roles: models.Roles()})
	service := func(ws, email string, r models.Role) {
		t.Helper()
		add(ws, models.NewUser{Email: email, Name: "Account " + ws, Roles: []models.Role{r}, Service: true, OwnerEmail: "olga@example.test"})
	}
	service("2000", "agent2@example.test", models.RoleAgent)
	service("2000", "erp2@example.test", models.RoleERP)
	w.in("1000", func(tx *models.Tx) error {
		for _, n := range []models.NewToken{
			{UserEmail: "agent@example.test", Name: "agent-all", Scopes: []models.Scope{models.ScopeAll}},
			{UserEmail: "erp@example.test", Name: "erp-all", Scopes: []models.Scope{models.ScopeAll}},
		} {
			secret, _, err := tx.CreateToken(n)
			if err != nil {
				return err
			}
			w.tokens[n.Name] = secret
		}
		for _, r := range models.Roles() {
			secret, _, err := tx.CreateToken(models.NewToken{UserEmail: users[r].Email, Name: "role-" + string(r), Scopes: []models.Scope{models.ScopeAll}})
			if err != nil {
				return err
			}
			w.tokens["role-"+string(r)] = secret
		}
		for _, scope := range models.Scopes() {
			for _, who := range []models.Role{models.RoleAgent, models.RoleERP, models.RoleAuditor} {
				secret, _, err := tx.CreateToken(models.NewToken{UserEmail: users[who].Email, Name: string(who) + " " + string(scope), Scopes: []models.Scope{scope}})
				if err != nil {
					return err
				}
				w.tokens[string(who)+" "+string(scope)] = secret
			}
		}
		return nil
	})
	w.in("2000", func(tx *models.Tx) error {
		for email, name := range map[string]string{"agent2@example.test": "outside-agent", "erp2@example.test": "outside-erp", "outsider@example.test": "outside-all"} {
			secret, _, err := tx.CreateToken(models.NewToken{UserEmail: email, Name: name, Scopes: []models.Scope{models.ScopeAll}})
			if err != nil {
				return err
			}
			w.tokens[name] = secret
		}
		return nil
	})
	for _, r := range models.Roles() {
		s.people[r] = w.session(users[r])
	}
	s.outsider = w.session(outsider)
	s.fill(spare)
	return s
}

// quoted is a text inside a JSON document.
func quoted(s string) string {
	q := fmt.Sprintf("%q", s)
	return q[1 : len(q)-1]
}

func (s *site) invoice(id string) string {
	x := s.texts
	return `{"id": "` + id + `", "number": "` + quoted(x.text("INV-"+id)) + `", "supplier_id": "` + quoted(x.text("V-2001")) + `", "supplier_name": "` + quoted(x.text("supplier")) + `",
		"po_id": "` + quoted(x.text("4500018822")) + `", "amount": "1234.50", "currency": "EUR", "invoice_date": "2026-10-03", "tax_id": "` + quoted(x.text("DE811234567")) + `", "bank_account": "` + quoted(x.text("DE89")) + `",
		"lines": [{"text": "` + quoted(x.text("line")) + `"}]}`
}

// mayFill sends a call that has to be taken, and answers a field of the answer.
func (s *site) filed(path, token, body, field string) string {
	s.t.Helper()
	a := s.call("POST", "/api/v1"+path, token, body)
	if a.status != 200 && a.status != 201 {
		s.t.Fatalf("POST %s is answered %d %s", path, a.status, a.body)
	}
	return a.field(field)
}

// handover is a case of one code about one invoice.
func (s *site) handover(invoice, code string) string {
	x := s.texts
	return `{"run_id": "` + quoted(x.text("run")) + `", "reason": "named_error", "invoice": ` + s.invoice(invoice) + `,
		"errors": [{"tool": "` + quoted(x.text("tool")) + `", "arguments": {"` + quoted(x.text("argument")) + `": "` + quoted(x.text("value")) + `"}, "at": "2026-10-05T09:12:44Z",
			"error": {"code": "` + code + `", "message": "` + quoted(x.text("message")) + `", "retryable": false, "next_action": "route_to_person",
			"details": {"duplicate_of": "9-` + invoice + `", "` + quoted(x.text("detail")) + `": "` + quoted(x.text("detail")) + `"}}}],
		"evidence": [{"kind": "record", "title": "` + quoted(x.text("record")) + `", "source": "` + quoted(x.text("source")) + `", "data": {"` + quoted(x.text("key")) + `": "` + quoted(x.text("datum")) + `"}},
			{"kind": "comparison", "title": "` + quoted(x.text("comparison")) + `", "left": {"a": "` + quoted(x.text("left")) + `"}, "right": {"a": "` + quoted(x.text("right")) + `"}},
			{"kind": "table", "title": "` + quoted(x.text("table")) + `", "columns": ["` + quoted(x.text("column")) + `"], "rows": [["` + quoted(x.text("cell")) + `"]]},
			{"kind": "note", "title": "` + quoted(x.text("note")) + `", "text": "` + quoted(x.text("note text")) + `"},
			{"kind": "link", "title": "` + quoted(x.text("link")) + `", "url": "https://elsewhere.example/?q=` + url.QueryEscape(x.text("link")) + `"}],
		"explanation": "` + quoted(x.text("explanation")) + `", "suggestion": {"exit": "` + quoted(x.text("exit")) + `", "why": "` + quoted(x.text("why")) + `"},
		"proposed_calls": [{"tool": "` + quoted(x.text("proposed")) + `", "arguments": {"` + quoted(x.text("p")) + `": "` + quoted(x.text("p")) + `"}}]}`
}

func (s *site) write(invoice, amount string) string {
	x := s.texts
	return `{"run_id": "` + quoted(x.text("run")) + `", "invoice": ` + s.invoice(invoice) + `, "action": {"tool": "post_invoice_adjustment", "arguments": {"invoice_id": "` + invoice + `",
		"amount": "` + amount + `", "currency": "EUR", "posting_date": "2026-10-05", "supplier_id": "` + quoted(x.text("V-2001")) + `", "` + quoted(x.text("argument")) + `": "` + quoted(x.text("argument")) + `"}},
		"amount": "` + amount + `", "currency": "EUR", "document_type": "KR", "posting_date": "2026-10-05", "cost_centre": "C-210", "summary": "` + quoted(x.text("summary")) + `",
		"explanation": "` + quoted(x.text("explanation")) + `", "evidence": [{"kind": "note", "title": "` + quoted(x.text("mail")) + `", "text": "` + quoted(x.text("mail")) + `"}]}`
}

func (s *site) question(invoice string) string {
	x := s.texts
	return `{"server": {"name": "` + quoted(x.text("server")) + `", "url": "https://archive.example.test/mcp"}, "tool": "` + quoted(x.text("delete")) + `", "arguments": {"` + quoted(x.text("document")) + `": "` + quoted(x.text("D-1")) + `"},
		"run_id": "` + quoted(x.text("run")) + `", "invoice": ` + s.invoice(invoice) + `, "request_state_hash": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"input_requests": {"confirm": {"method": "elicitation/create", "params": {"message": "` + quoted(x.text("question")) + `",
		"requestedSchema": {"type": "object", "properties": {"confirm": {"type": "boolean", "title": "` + quoted(x.text("box")) + `", "description": "` + quoted(x.text("what the box means")) + `"},
			"pick": {"type": "string", "title": "` + quoted(x.text("pick")) + `", "enum": ["` + quoted(x.text("one")) + `", "two"]}}, "required": ["confirm"]}}}}}`
}

func (s *site) holdOf(invoice string) string {
	x := s.texts
	return `{"code": "GR_MISSING", "invoice": ` + s.invoice(invoice) + `, "po_id": "` + quoted(x.text("4500018823")) + `", "line": 10, "errors": []}`
}

func (s *site) fill(spare models.User) {
	s.t.Helper()
	t, x := s.t, s.texts
	s.in("1000", func(tx *models.Tx) error {
		return tx.DB.Model(&models.Workspace{}).Where("id = ?", "1000").Update("name", x.text("works")).Error
	})
	s.ids["case"] = s.filed("/handovers", "agent-all", s.handover("5105600123", "PO_CLOSED"), "case_id")
	s.ids["snoozed"] = s.filed("/handovers", "agent-all", s.handover("5105600130", "PO_CLOSED"), "case_id")
	s.ids["duplicate"] = s.filed("/handovers", "agent-all", s.handover("5105600124", "DUPLICATE_INVOICE"), "case_id")
	s.ids["finance case"] = s.filed("/handovers", "agent-all", s.handover("5105600125", "PERIOD_CLOSED"), "case_id")
	s.ids["lead case"] = s.filed("/handovers", "agent-all", s.handover("5105600126", "APPROVER_NOT_FOUND"), "case_id")
	s.ids["supplier case"] = s.filed("/handovers", "agent-all", s.handover("5105600127", "SUPPLIER_NOT_FOUND"), "case_id")
	s.ids["request"] = s.filed("/approval-requests", "agent-all", s.write("5105600123", "250.00"), "request_id")
	s.ids["granted"] = s.filed("/approval-requests", "agent-all", s.write("5105600123", "260.00"), "request_id")
	s.ids["confirmation"] = s.filed("/confirmations", "agent-all", s.question("5105600123"), "confirmation_id")
	s.ids["hold"] = s.filed("/holds", "agent-all", s.holdOf("5105600128"), "hold_id")

	finance, buyer, admin, lead := s.people[models.RoleFinanceLead], s.people[models.RoleProcurement], s.people[models.RoleAdmin], s.people[models.RoleAPLead]
	finance.must("/approvals/"+s.ids["granted"], values("decision", "approve", "reason", x.text("reason"), "version", "1"))
	if s.ids["approval"] = s.call("GET", "/api/v1/approval-requests/"+s.ids["granted"], "agent-all", "").field("approval_id"); s.ids["approval"] == "" {
		t.Fatal("nothing was granted")
	}
	buyer.must("/cases/"+s.ids["case"]+"/comments", values("text", x.text("comment")+" @finance_lead", "mention", finance.name))
	buyer.must("/cases/"+s.ids["case"]+"/claim", values("version", "1"))
	buyer.must("/cases/"+s.ids["case"]+"/release", values("version", "1"))
	if a := buyer.attach("/cases/"+s.ids["case"]+"/files", x.text("scan.png")); a.status != http.StatusSeeOther {
		t.Fatalf("the file is answered %d %s", a.status, plainText(a.body))
	}
	s.ids["file"] = attribute(buyer.do("GET", "/cases/"+s.ids["case"], nil).body, `href="/files/`)
	s.ids["file"], _, _ = strings.Cut(s.ids["file"], "?")
	buyer.must("/views", values("name", cmp.Or(x.name, x.text("view")), "list", "/queues/procurement?supplier="+url.QueryEscape(x.text("V-2001"))))
	buyer.post("/drafts", values("draft", s.ids["case"]+"/decision", "version", "1", "made", models.At(s.clock.Now()).String(), "reason", x.text("draft"), "exit", "reject_invoice"))
	admin.must("/settings/servers", values("server_name", x.text("server"), "server_url", "https://archive.example.test/mcp", "tool", x.text("delete"), "role", "procurement"))
	s.ids["confirmation of a server"] = s.filed("/confirmations", "agent-all", s.question("5105600129"), "confirmation_id")
	lead.must("/settings/rules", values("tool", x.text("pay"), "document_type", x.text("KR"), "supplier", x.text("V-9"), "cost_centre", x.text("C-1"), "currency", "EUR", "from", "0", "to", "10", "role", "finance_lead", "required", "1", "valid", "24h"))
	admin.must("/settings/bindings", values("tool", x.text("pay"), "invoice_id", "/"+x.text("ref"), "amount", "/sum", "currency", "/currency", "posting_date", "", "supplier_id", ""))
	finance.must("/settings/delegations", values("person", "", "delegate", "second@"+x.mark+".test", "first_day", "2026-11-02", "last_day", "2026-11-06", "note", x.text("away")))
	buyer.must("/cases/"+s.ids["snoozed"]+"/snooze", values("until", "own", "until_at", "2026-10-09T12:00", "reason", x.text("snooze"), "version", "1"))
	s.people[models.RoleAPClerk].must("/cases/"+s.ids["duplicate"], values("exit", "not_duplicate", "reason", x.text("not a duplicate"), "version", "1"))
	s.ids["person"], s.ids["outsider's company"] = spare.ID, "2000"
	rules, err := s.approvals.Rules(t.Context(), models.Operator("1000"))
	if err != nil {
		t.Fatal(err)
	}
	s.ids["rule"] = rules[slices.IndexFunc(rules, func(r approvals.RuleView) bool { return r.Rule.Tool != "" })].Rule.ID
	s.in("1000", func(tx *models.Tx) error {
		var found []string
		key := models.Passkey{ID: tx.NewID(models.PrefixPasskey), UserID: s.people[models.RoleProcurement].user.ID, CredentialID: "key-of-the-buyer", Name: "Key", Credential: "{}", CreatedAt: tx.Now}
		if err := tx.DB.Create(&key).Error; err != nil {
			return err
		}
		s.ids["passkey"] = key.ID
		for name, from := range map[string]any{"view": &models.SavedView{}, "server rule": &models.ServerRule{}, "delegation": &models.Delegation{}, "notice": &models.Notice{}} {
			q := tx.DB.Model(from).Where("workspace_id = ?", "1000").Limit(1)
			if name == "notice" {
				q = q.Where("user_id = ?", finance.user.ID)
			}
			if err := q.Pluck("id", &found).Error; err != nil {
				return err
			}
			if len(found) == 0 {
				return fmt.Errorf("there is no %s", name)
			}
			s.ids[name], found = found[0], nil
		}
		return nil
	})
	for name, id := range s.ids {
		if id == "" {
			t.Fatalf("there is no %s", name)
		}
	}
}

// quiet are columns that are written without anybody having changed anything: when somebody was last here,
// and what is filled in behind the answers.
var quiet = map[string][]string{
	"sessions": {"last_seen_at"}, "tokens": {"last_used_at"}, "audit_events": {"seq", "hash", "prev_hash", "sealed_at"},
	"audit_heads": nil, "access_changes": nil, "search_docs": nil, "search_backlog": nil, "case_counts": nil, "goose_db_version": nil,
}

// state is every row of every table, as one number for each table; with a company, its rows and those of its
// people alone. Tables of what happens behind the answers are left out.
func (s *site) state(company string, without ...string) map[string]string {
	s.t.Helper()
	sums := map[string]string{}
	s.in("", func(tx *models.Tx) error {
		var members []string
		if err := tx.DB.Model(&models.Membership{}).Where("workspace_id = ?", company).Pluck("user_id", &members).Error; err != nil {
			return err
		}
		tables, err := tx.DB.Migrator().GetTables()
		if err != nil {
			return err
		}
		for _, table := range tables {
			columns, isQuiet := quiet[table]
			if isQuiet && columns == nil || slices.Contains(without, table) || strings.HasPrefix(table, "sqlite_") || strings.HasPrefix(table, "search_") {
				continue
			}
			rows, err := tx.DB.Table(table).Rows()
			if err != nil {
				return err
			}
			names, err := rows.Columns()
			if err != nil {
				return err
			}
			at := slices.Index(names, "workspace_id")
			ours := func(value string) bool { return value == company }
			switch {
			case at >= 0:
			case table == "workspaces":
				at = slices.Index(names, "id")
			case table == "users" || slices.Contains(names, "user_id"):
				at = max(slices.Index(names, "user_id"), slices.Index(names, "id")*btoi(table == "users"))
				ours = func(value string) bool { return slices.Contains(members, value) }
			}
			var lines []string
			for rows.Next() {
				row := make([]any, len(names))
				into := make([]any, len(names))
				for i := range row {
					into[i] = &row[i]
				}
				if err := rows.Scan(into...); err != nil {
					return err
				}
				if company != "" && at >= 0 && !ours(fmt.Sprintf("%s", row[at])) {
					continue
				}
				for i, name := range names {
					if slices.Contains(columns, name) {
						row[i] = nil
					}
				}
				lines = append(lines, fmt.Sprintf("%v", row))
			}
			if err := rows.Close(); err != nil {
				return err
			}
			slices.Sort(lines)
			sum := sha256.Sum256([]byte(strings.Join(lines, "\n")))
			sums[table] = fmt.Sprintf("%d rows, %s", len(lines), hex.EncodeToString(sum[:6]))
		}
		return nil
	})
	if len(sums) < 30 {
		s.t.Fatalf("only %d tables are looked at", len(sums))
	}
	return sums
}

// changed lists the tables that differ.
func changed(before, after map[string]string) []string {
	var names []string
	for table, sum := range after {
		if before[table] != sum {
			names = append(names, fmt.Sprintf("%s (%s, then %s)", table, before[table], sum))
		}
	}
	slices.Sort(names)
	return names
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
