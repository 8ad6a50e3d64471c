package main_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // what was written is read behind the desk's back
	_ "github.com/mattn/go-sqlite3"

	"github.com/apdesk/apdesk/models"
)

// load is a company at work: agents, an ERP and people, each doing one thing after the other at any of the
// desks, and a ledger of all that they were told. Nothing in it knows when a desk dies; a client that gets
// no answer does what a real one does.
type load struct {
	t     testing.TB
	c     *company
	asker token
	http  *http.Client
	began time.Time

	people map[cast]*visitor

	// outages says that a desk may answer UNAVAILABLE: such a call is repeated like one without an answer.
	outages bool
	told503 int

	mu    sync.Mutex
	desks []*desk // those that run
	rng   *rand.Rand
	next  int // numbers what is sent
	keyed map[string]*keyed
	seen  map[event]int // acts on pages that were acknowledged, and how often
	acks  int
	acked func(all int) // told of every acknowledgement, under mu; may be nil

	toVote, toRedeem, toConfirm, toDecide chan string
	calls                                 map[string]object // of a request, the call it is about
}

// keyed is a call that carries a key, so that its sender may repeat it.
type keyed struct {
	kind string // of the record it makes, as in ledger's queries
	told string // what it was answered with; "" while no answer came
	send func(context.Context, *desk) (string, error)
}

// event is an act of a person as the trail must tell it.
type event struct{ action, subject, actor string }

func newLoad(t testing.TB, c *company, seed uint64) *load {
	t.Helper()
	l := &load{t: t, c: c, began: time.Now(), asker: c.asking(), rng: rand.New(rand.NewPCG(seed, 7)), desks: []*desk{c.desk},
		http:  &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}},
		keyed: map[string]*keyed{}, seen: map[event]int{}, calls: map[string]object{}, people: map[cast]*visitor{}}
	for _, who := range []cast{fiona, felix, petra, paul} {
		l.people[who] = c.signIn(t, who)
	}
	return l
}

// anyDesk is one of those that run, and whether there are others.
func (l *load) anyDesk() (*desk, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.desks[l.rng.IntN(len(l.desks))], len(l.desks) > 1
}

func (l *load) number() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	return l.next
}

func (l *load) note(change func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	l.acks++
	if l.acked != nil {
		l.acked(l.acks)
	}
}

func (l *load) at(d *desk, t token) api { return api{url: d.url + "/api/v1", token: t, http: l.http} }

// visitorAt is a person at one of the desks: cookies know no ports.
func (l *load) visitorAt(who cast, d *desk) *visitor {
	v := l.people[who].staying()
	v.url = d.url
	return v
}

// unavailable is the answer that asks to wait.
type unavailable struct{ what string }

func (u unavailable) Error() string { return u.what }

// refused judges an answer that is not the one wanted.
func (l *load) refused(what string, status int, header http.Header, got fmt.Stringer) error {
	if status == http.StatusServiceUnavailable && l.outages {
		if header.Get("Retry-After") == "" {
			return fmt.Errorf("%s: 503 without Retry-After: %s", what, got)
		}
		l.mu.Lock()
		l.told503++
		l.mu.Unlock()
		return unavailable{what}
	}
	return fmt.Errorf("%s is answered with %s", what, got)
}

// post sends a keyed call and reads one member of its answer.
func (l *load) post(ctx context.Context, d *desk, tok token, path string, body object, key, member string) (string, error) {
	got, err := l.at(d, tok).try(ctx, http.MethodPost, path, body, key)
	if err != nil {
		return "", lost{err}
	}
	if got.status != http.StatusOK && got.status != http.StatusCreated {
		return "", l.refused(path, got.status, got.header, got)
	}
	if got.text(member) == "" {
		return "", fmt.Errorf("%s: the answer has no %s: %s", path, member, got)
	}
	return got.text(member), nil
}

// lost is a call whose answer never came.
type lost struct{ error }

func (l lost) Unwrap() error { return l.error }

// do sends a keyed call until it is answered, at another desk after one that did not answer. It is false
// when the time is over first.
func (l *load) do(ctx context.Context, kind, key string, send func(context.Context, *desk) (string, error)) (told string, ok bool) {
	k := &keyed{kind: kind, send: send}
	l.mu.Lock()
	l.keyed[key] = k
	l.mu.Unlock()
	for {
		d, others := l.anyDesk()
		answer, err := send(ctx, d)
		var gone lost
		var later unavailable
		switch {
		case err == nil:
			l.note(func() { k.told = answer })
			return answer, true
		case errors.As(err, &gone):
			if ctx.Err() != nil || !others && !l.outages {
				return "", false
			}
		case errors.As(err, &later):
		default:
			l.t.Errorf("%s: %v", key, err)
			return "", false
		}
		if !pause(ctx) {
			return "", false
		}
	}
}

// pause is how long a client waits before it tries again. It is false when the time is over.
func pause(ctx context.Context) bool {
	timer := time.NewTimer(20 * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// take waits for something to do.
func take(ctx context.Context, from chan string) (string, bool) {
	select {
	case <-ctx.Done():
		return "", false
	case id := <-from:
		return id, true
	}
}

// run lets everybody work until ctx ends or what they talk to is gone.
func (l *load) run(ctx context.Context) *sync.WaitGroup {
	var all sync.WaitGroup
	forever := func(clients int, turn func(i int) bool) {
		for i := range clients {
			all.Go(func() {
				for ctx.Err() == nil && turn(i) {
				}
			})
		}
	}
	forever(4, func(int) bool { return l.handOver(ctx) })
	forever(2, func(int) bool { return l.ask(ctx) })
	forever(1, func(int) bool { return l.hold(ctx) })
	forever(1, func(int) bool { return l.askConfirmation(ctx) })
	forever(2, func(int) bool { return l.redeem(ctx) })
	forever(2, func(i int) bool { return l.vote(ctx, []cast{fiona, felix}[i]) })
	forever(1, func(int) bool { return l.confirm(ctx, fiona) })
	forever(2, func(i int) bool { return l.decide(ctx, []cast{petra, paul}[i]) })
	return &all
}

func (l *load) handOver(ctx context.Context) bool {
	n := l.number()
	id, ok := l.do(ctx, "case", fmt.Sprintf("handover-%d", n), func(ctx context.Context, d *desk) (string, error) {
		return l.post(ctx, d, l.c.agent, "/handovers", poClosed(n), fmt.Sprintf("handover-%d", n), "case_id")
	})
	if ok {
		offer(l.toDecide, id)
	}
	return ok
}

func (l *load) ask(ctx context.Context) bool {
	n := l.number()
	inv := invoice(n, "100.00")
	if n%5 == 0 {
		inv = invoice(n, "20000.00") // needs two
	}
	id, ok := l.do(ctx, "request", fmt.Sprintf("request-%d", n), func(ctx context.Context, d *desk) (string, error) {
		id, err := l.post(ctx, d, l.c.agent, "/approval-requests", approvalOf(inv), fmt.Sprintf("request-%d", n), "request_id")
		if err == nil {
			l.mu.Lock()
			l.calls[id] = posting(inv)
			l.mu.Unlock()
		}
		return id, err
	})
	if ok {
		offer(l.toVote, id)
	}
	return ok
}

func (l *load) hold(ctx context.Context) bool {
	n := l.number()
	body := object{"workspace_id": workspace, "code": "GR_MISSING", "invoice": invoice(n, "50.00"), "po_id": "4500018822", "line": 10, "errors": []object{}}
	_, ok := l.do(ctx, "hold", fmt.Sprintf("hold-%d", n), func(ctx context.Context, d *desk) (string, error) {
		return l.post(ctx, d, l.c.agent, "/holds", body, fmt.Sprintf("hold-%d", n), "hold_id")
	})
	return ok
}

func deletion(n int) object {
	return object{"workspace_id": workspace, "server": object{"name": "Archive", "url": "https://archive.example.test/mcp"}, "tool": "delete_document",
		"arguments": object{"document_id": fmt.Sprintf("D-%d", n)}}
}

func (l *load) askConfirmation(ctx context.Context) bool {
	n := l.number()
	body := deletion(n)
	body["run_id"] = "run-1"
	body["input_requests"] = object{"confirm": object{"method": "elicitation/create", "params": object{"message": "Delete it?",
		"requestedSchema": object{"type": "object", "properties": object{"sure": object{"type": "boolean", "title": "I am sure"}}}}}}
	id, ok := l.do(ctx, "confirmation", fmt.Sprintf("confirmation-%d", n), func(ctx context.Context, d *desk) (string, error) {
		return l.post(ctx, d, l.asker, "/confirmations", body, fmt.Sprintf("confirmation-%d", n), "confirmation_id")
	})
	if ok {
		offer(l.toConfirm, id)
	}
	return ok
}

// redeem spends an approval and reports the write.
func (l *load) redeem(ctx context.Context) bool {
	request, ok := take(ctx, l.toRedeem)
	if !ok {
		return false
	}
	d, _ := l.anyDesk()
	got, err := l.at(d, l.c.agent).try(ctx, http.MethodGet, "/approval-requests/"+request, nil, "")
	if err != nil || got.status != http.StatusOK {
		return l.outages && pause(ctx)
	}
	approval := got.text("approval_id")
	if approval == "" {
		return true // the second vote is missing still
	}
	l.mu.Lock()
	call := maps.Clone(l.calls[request])
	l.mu.Unlock()
	call["idempotency_key"] = "posting-" + request
	_, ok = l.do(ctx, "approval", "redeem-"+request, func(ctx context.Context, d *desk) (string, error) {
		return l.post(ctx, d, l.c.erp, "/approvals/"+approval+"/redeem", call, "", "redeemed_at")
	})
	if !ok {
		return false
	}
	_, ok = l.do(ctx, "report", "report-"+request, func(ctx context.Context, d *desk) (string, error) {
		return l.post(ctx, d, l.c.erp, "/approvals/"+approval+"/report", object{"status": "posted", "document_number": "19" + request[len(request)-6:]}, "", "document_number")
	})
	return ok
}

// act opens a page and sends one of its forms. true means that what it does is acknowledged.
func (l *load) act(ctx context.Context, who cast, d *desk, path, form string, values url.Values) (done bool, err error) {
	v := l.visitorAt(who, d)
	seen, err := v.try(ctx, http.MethodGet, path, nil)
	if err != nil {
		return false, lost{err}
	}
	if seen.status != http.StatusOK {
		return false, l.refused(path, seen.status, seen.header, seen)
	}
	action := seen.doc.Find(form)
	if action.Length() == 0 {
		return false, nil // somebody else was faster
	}
	after, err := v.submitForm(ctx, action.First(), values)
	if err != nil {
		return false, lost{err}
	}
	switch after.status {
	case http.StatusSeeOther:
		return true, nil
	case http.StatusConflict, http.StatusForbidden:
		return false, nil // somebody else was faster
	}
	return false, l.refused(path, after.status, after.header, after)
}

// acts is act with the ledger: false means that the client's work ends.
func (l *load) acts(ctx context.Context, who cast, path, form string, values url.Values, as event) (done, goOn bool) {
	d, others := l.anyDesk()
	done, err := l.act(ctx, who, d, path, form, values)
	var gone lost
	var later unavailable
	switch {
	case err == nil:
		if done {
			as.actor = who.name
			l.note(func() { l.seen[as]++ })
		}
		return done, true
	case errors.As(err, &gone):
		return false, ctx.Err() == nil && (others || l.outages) && pause(ctx)
	case errors.As(err, &later):
		return false, pause(ctx)
	}
	l.t.Errorf("%s at %s: %v", who.name, path, err)
	return false, false
}

func (l *load) vote(ctx context.Context, who cast) bool {
	request, ok := take(ctx, l.toVote)
	if !ok {
		return false
	}
	done, goOn := l.acts(ctx, who, "/approvals/"+request, "form[data-testid=vote-form]", url.Values{"decision": {"approve"}, "reason": {"Agreed."}}, event{action: "vote.cast", subject: request})
	if done {
		offer(l.toRedeem, request)
	}
	if done && l.needsTwo(request) {
		offer(l.toVote, request)
	}
	return goOn
}

func (l *load) needsTwo(request string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	arguments, _ := l.calls[request]["arguments"].(object)
	return arguments["amount"] == "20000.00"
}

func (l *load) confirm(ctx context.Context, who cast) bool {
	id, ok := take(ctx, l.toConfirm)
	if !ok {
		return false
	}
	_, goOn := l.acts(ctx, who, "/confirmations/"+id, "form[data-testid=answer-form]", url.Values{"action": {"decline"}, "reason": {"Still in use."}}, event{action: "confirmation.answered", subject: id})
	return goOn
}

// decide claims a case, says something and chooses an exit.
func (l *load) decide(ctx context.Context, who cast) bool {
	id, ok := take(ctx, l.toDecide)
	if !ok {
		return false
	}
	path := "/cases/" + id
	for _, step := range []struct {
		form   string
		values url.Values
		action string
	}{
		{"form[action$='/claim']", nil, "case.claimed"},
		{"form[data-testid=comment-form]", url.Values{"text": {"I ask the buyer."}}, "case.commented"},
		{"form[data-testid=decision-form]", url.Values{"exit": {"reopen_po"}, "reason": {"Reopened."}}, "case.resolved"},
	} {
		if done, goOn := l.acts(ctx, who, path, step.form, step.values, event{action: step.action, subject: id}); !done {
			return goOn
		}
	}
	return true
}

// offer puts something on a pile; what does not fit is left to a later round.
func offer(pile chan string, id string) {
	select {
	case pile <- id:
	default:
	}
}

// stock lays out what waits for people and the ERP, as the database says.
func (l *load) stock(db *database) {
	l.t.Helper()
	for pile, query := range map[*chan string]string{
		&l.toVote:    "SELECT id FROM approval_requests WHERE status = 'pending' ORDER BY id",
		&l.toRedeem:  "SELECT request_id FROM approvals WHERE status = 'granted' ORDER BY request_id",
		&l.toConfirm: "SELECT id FROM confirmations WHERE status = 'pending' ORDER BY id",
		&l.toDecide:  "SELECT id FROM cases WHERE status = 'open' AND claimed_by_id IS NULL ORDER BY id DESC LIMIT 50",
	} {
		*pile = make(chan string, 10_000)
		for _, id := range db.column(query) {
			offer(*pile, id)
		}
	}
}

// repeat sends again what carried a key, as its sender does who got no answer. What was answered before
// must be answered with the same again.
func (l *load) repeat(ctx context.Context, keys []string) {
	l.t.Helper()
	slices.Sort(keys)
	var workers sync.WaitGroup
	work := make(chan string)
	for range 8 {
		workers.Go(func() {
			for key := range work {
				k := l.keyed[key]
				d, _ := l.anyDesk()
				told, err := k.send(ctx, d)
				if err != nil {
					l.t.Errorf("%s, sent again, gets %v", key, err)
					continue
				}
				if k.told != "" && k.told != told {
					l.t.Errorf("%s was answered with %s and is now with %s", key, k.told, told)
				}
				l.mu.Lock()
				k.told = told
				l.mu.Unlock()
			}
		})
	}
	for _, key := range keys {
		work <- key
	}
	close(work)
	workers.Wait()
}

// database reads what a desk wrote, behind its back.
type database struct {
	t        testing.TB
	db       *sql.DB
	postgres bool
}

func openDatabase(t testing.TB, address string) *database {
	t.Helper()
	d := &database{t: t, postgres: !strings.HasPrefix(address, "sqlite:")}
	var err error
	if d.postgres {
		d.db, err = sql.Open("pgx", address)
	} else {
		d.db, err = sql.Open("sqlite3", "file:"+strings.TrimPrefix(address, "sqlite:")+"?_query_only=1&_busy_timeout=10000")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.db.Close() })
	return d
}

// column reads the first column of a query as text.
func (d *database) column(query string, arguments ...any) (values []string) {
	d.t.Helper()
	d.each(query, arguments, func(row []string) { values = append(values, row[0]) })
	return values
}

// each reads rows as text.
func (d *database) each(query string, arguments []any, do func(row []string)) {
	d.t.Helper()
	if d.postgres {
		for i := range arguments {
			query = strings.Replace(query, "?", fmt.Sprintf("$%d", i+1), 1)
		}
	}
	rows, err := d.db.Query(query, arguments...)
	if err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
	defer func() { _ = rows.Close() }()
	names, err := rows.Columns()
	if err != nil {
		d.t.Fatal(err)
	}
	row, into := make([]sql.NullString, len(names)), make([]any, len(names))
	for i := range row {
		into[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			d.t.Fatalf("%s: %v", query, err)
		}
		text := make([]string, len(row))
		for i := range row {
			text[i] = row[i].String
		}
		do(text)
	}
	if err := rows.Err(); err != nil {
		d.t.Fatalf("%s: %v", query, err)
	}
}

// events counts a record's events of an action.
func events(column, record, action string) string {
	return fmt.Sprintf("(SELECT count(*) FROM audit_events e WHERE e.workspace_id = r.workspace_id AND e.%s = %s AND e.action = '%s')", column, record, action)
}

// wholes are the rules between rows that one transaction writes: each query finds what breaks its rule.
var wholes = []struct{ rule, query string }{
	{"a request is approved exactly when it has a grant", `SELECT r.id FROM approval_requests r LEFT JOIN approvals a ON a.request_id = r.id WHERE (r.status = 'approved') <> (a.id IS NOT NULL)`},
	{"a grant has the votes it needs", `SELECT r.id FROM approval_requests r WHERE r.status = 'approved' AND (SELECT count(*) FROM votes v WHERE v.request_id = r.id AND v.decision = 'approve') < r.required`},
	{"a redemption is whole", `SELECT r.id FROM approvals r WHERE (r.status = 'redeemed') <> (r.redeemed_at IS NOT NULL) OR (r.status = 'redeemed') <> (r.redeem_key <> '') OR (r.status = 'redeemed') <> (r.redeem_answer <> '')`},
	{"a report is of a redemption and whole", `SELECT r.id FROM approvals r WHERE (r.report_status = 'posted') <> (r.document_number <> '') OR r.report_status <> '' AND r.status <> 'redeemed'`},
	{"a case was opened once on the trail", `SELECT r.id FROM cases r WHERE ` + events("case_id", "r.id", "case.opened") + ` <> 1`},
	{"a case holds what was handed over", `SELECT r.id FROM cases r WHERE (SELECT count(*) FROM handovers h WHERE h.case_id = r.id) <> r.handover_count`},
	{"a resolved case has its decision, instruction and end", `SELECT r.id FROM cases r WHERE (r.status = 'resolved') <> (r.resolved_at IS NOT NULL) OR r.status = 'resolved' AND (r.instruction IS NULL OR NOT EXISTS (SELECT 1 FROM decisions d WHERE d.case_id = r.id)) OR (r.status = 'resolved') <> (` + events("case_id", "r.id", "case.resolved") + ` = 1)`},
	{"a claim is on the trail", `SELECT r.id FROM cases r WHERE r.claimed_by_id IS NOT NULL AND ` + events("case_id", "r.id", "case.claimed") + ` = 0`},
	{"a comment is on the trail", `SELECT r.id FROM cases r WHERE (SELECT count(*) FROM comments m WHERE m.case_id = r.id) <> ` + events("case_id", "r.id", "case.commented")},
	{"a request was filed once on the trail", `SELECT r.id FROM approval_requests r WHERE ` + events("approval_request_id", "r.id", "request.filed") + ` <> 1`},
	{"a vote is on the trail", `SELECT r.id FROM approval_requests r WHERE (SELECT count(*) FROM votes v WHERE v.request_id = r.id) <> ` + events("approval_request_id", "r.id", "vote.cast")},
	{"a grant is on the trail", `SELECT r.id FROM approvals r WHERE ` + events("approval_request_id", "r.request_id", "approval.granted") + ` <> 1`},
	{"a redemption is on the trail", `SELECT r.id FROM approvals r WHERE (r.status = 'redeemed') <> (` + events("approval_request_id", "r.request_id", "approval.redeemed") + ` = 1)`},
	{"a report is on the trail", `SELECT r.id FROM approvals r WHERE (r.report_status = 'posted') <> (` + events("approval_request_id", "r.request_id", "write.reported") + ` = 1)`},
	{"a hold is on the trail", `SELECT r.id FROM holds r WHERE ` + events("subject", "r.id", "hold.opened") + ` <> 1`},
	{"a confirmation is on the trail", `SELECT r.id FROM confirmations r WHERE ` + events("subject", "r.id", "confirmation.requested") + ` <> 1 OR (r.answered_at IS NOT NULL) <> (` + events("subject", "r.id", "confirmation.answered") + ` = 1)`},
	{"an answer to a key is kept whole", `SELECT scope FROM idempotency_keys WHERE answer = ''`},
	{"what lapses has its job", `SELECT r.id FROM approval_requests r WHERE r.status = 'pending' AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'request.expire' AND j.subject = r.id)
		UNION ALL SELECT r.id FROM approvals r WHERE r.status = 'granted' AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'approval.expire' AND j.subject = r.request_id)
		UNION ALL SELECT r.id FROM confirmations r WHERE r.status = 'pending' AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'confirmation.expire' AND j.subject = r.id)
		UNION ALL SELECT r.id FROM holds r WHERE r.status = 'waiting' AND NOT EXISTS (SELECT 1 FROM jobs j WHERE j.kind = 'hold.missed' AND j.subject = r.id)`},
	{"a case can be found", `SELECT r.id FROM cases r WHERE NOT EXISTS (SELECT 1 FROM search_docs s WHERE s.workspace_id = r.workspace_id AND s.kind = 'case' AND s.subject = r.id AND s.status = r.status)
		AND NOT EXISTS (SELECT 1 FROM search_due q WHERE q.workspace_id = r.workspace_id AND q.subject = r.id)`},
	{"the counts of cases are right", `SELECT n.queue FROM case_counts n WHERE n.n <> (SELECT count(*) FROM cases r WHERE r.workspace_id = n.workspace_id AND r.queue = n.queue AND r.status = n.status)`},
}

// whole checks that nothing is written half.
func (d *database) whole() {
	d.t.Helper()
	for _, w := range wholes {
		if found := d.column(w.query); len(found) > 0 {
			d.t.Errorf("%s: not so of %d, such as %v", w.rule, len(found), found[:min(3, len(found))])
		}
	}
}

// madeOnce says, for every kind of keyed call, how to find that what it made is there once.
var madeOnce = map[string]string{
	"case":         `SELECT id, (SELECT count(*) FROM cases t WHERE t.invoice_id = r.invoice_id) FROM cases r WHERE created_at >= ?`,
	"request":      `SELECT id, (SELECT count(*) FROM approval_requests t WHERE t.workspace_id = r.workspace_id AND t.digest = r.digest) FROM approval_requests r WHERE created_at >= ?`,
	"hold":         `SELECT id, (SELECT count(*) FROM holds t WHERE t.workspace_id = r.workspace_id AND t.invoice_id = r.invoice_id) FROM holds r WHERE created_at >= ?`,
	"confirmation": `SELECT id, 1 FROM confirmations r WHERE created_at >= ?`,
}

// there checks that all that was acknowledged since a time is there, once.
func (l *load) there(db *database, since time.Time) {
	l.t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for kind, query := range madeOnce {
		found := map[string]string{}
		db.each(query, []any{models.At(since)}, func(row []string) { found[row[0]] = row[1] })
		told := map[string]string{}
		for key, k := range l.keyed {
			if k.kind != kind || k.told == "" {
				continue
			}
			if found[k.told] != "1" {
				l.t.Errorf("%s was told %s, of which there are %q", key, k.told, found[k.told])
			}
			if other := told[k.told]; other != "" {
				l.t.Errorf("%s and %s were both told %s", key, other, k.told)
			}
			told[k.told] = key
		}
		if len(found) != len(told) {
			l.t.Errorf("there are %d of kind %s, and clients were told of %d", len(found), kind, len(told))
		}
	}
	happened := map[event]int{}
	db.each(`SELECT action, CASE WHEN action = 'vote.cast' THEN approval_request_id ELSE subject END, actor_name, count(*) FROM audit_events
		WHERE at >= ? AND channel = 'web' GROUP BY 1, 2, 3`, []any{models.At(since)}, func(row []string) {
		n, err := strconv.Atoi(row[3])
		if err != nil {
			db.t.Fatal(err)
		}
		happened[event{row[0], row[1], row[2]}] = n
	})
	for e, n := range l.seen {
		if happened[e] != n {
			l.t.Errorf("%s was told of %s on %s %d times, and the trail says %d", e.actor, e.action, e.subject, n, happened[e])
		}
	}
}

// tally counts what was acknowledged, by kind.
func (l *load) tally() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := map[string]int{}
	for _, k := range l.keyed {
		if k.told != "" {
			n[k.kind]++
		}
	}
	for e, times := range l.seen {
		n[e.action] += times
	}
	return n
}

// forget drops the ledger of what was checked, and answers what it counted.
func (l *load) forget() map[string]int {
	n := l.tally()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keyed, l.seen = map[string]*keyed{}, map[event]int{}
	return n
}

// keys are those of the calls sent since the ledger was new.
func (l *load) keys() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.keyed))
}

// milestones lets a test wait until so much was acknowledged.
func (l *load) milestones() func(t testing.TB, all int) {
	news := make(chan struct{}, 1)
	l.acked = func(int) {
		select {
		case news <- struct{}{}:
		default:
		}
	}
	return func(t testing.TB, all int) {
		t.Helper()
		over := time.NewTimer(patience)
		defer over.Stop()
		for {
			l.mu.Lock()
			n := l.acks
			l.mu.Unlock()
			if n >= all {
				return
			}
			select {
			case <-news:
			case <-over.C:
				t.Fatalf("only %d of %d acts were acknowledged", n, all)
			}
		}
	}
}

// settle repeats what carried a key and checks everything that was acknowledged since the load began.
func (l *load) settle(t testing.TB, db *database) {
	t.Helper()
	l.acked = nil
	l.repeat(t.Context(), l.keys())
	l.there(db, l.began)
	db.whole()
	if said := l.c.run("audit", "verify"); !strings.Contains(said, "intact") {
		t.Errorf("the trail is not intact: %s", said)
	}
}
