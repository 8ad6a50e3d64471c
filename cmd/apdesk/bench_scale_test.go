package main_test

import (
	"bufio"
	"context"
	"database/sql"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/PuerkitoBio/goquery"
)

// history is what a desk holds before it starts.
type history struct {
	open, resolved int // cases in one queue
	requests       int // that wait for a finance lead
	rules          int // besides the two of the company
}

// seeded founds a company whose database holds a history. The desk itself writes
// one record of each kind; the others are copies of it, made by statements, which
// takes seconds where handing them over would take hours. The desk does not run.
func seeded(b *testing.B, h history) *company {
	b.Helper()
	c := open(b, sqliteFile(b))
	agent := c.as(c.agent)
	caseID := agent.handOver(b, poClosed(900_000_001))
	request := agent.ask(b, approvalOf(invoice(900_000_002, "200.00")))
	c.sealed(b)
	if err := c.stop(); err != nil {
		b.Fatal(err)
	}
	db, err := sql.Open("sqlite3", "file:"+strings.TrimPrefix(c.database, "sqlite:")+"?_synchronous=OFF&_cache_size=-200000&_txlock=immediate")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	tx, err := db.Begin()
	if err != nil {
		b.Fatal(err)
	}
	copies := copier{b: b, tx: tx}
	id := func(prefix, from string) string { return "'" + prefix + "_' || printf('%s%022d', '" + from + "', n.i)" }
	number := "printf('9%010d', n.i)"
	openCase := map[string]string{"id": id("case", "1000"), "invoice_id": number, "invoice_number": number, "join_key": "'seed' || n.i"}
	resolved := maps.Clone(openCase)
	resolved["id"], resolved["join_key"], resolved["status"], resolved["resolved_at"] = id("case", "0000"), "'done' || n.i", "'resolved'", "t.created_at"
	copies.of("cases", "id", caseID, h.open-1, openCase)
	copies.of("cases", "id", caseID, h.resolved, resolved)
	for from, n := range map[string]int{"1000": h.open - 1, "0000": h.resolved} {
		copies.of("handovers", "case_id", caseID, n, map[string]string{"id": id("ho", from), "case_id": id("case", from)})
	}
	copies.of("approval_requests", "id", request, h.requests-1, map[string]string{"id": id("areq", "1000"), "invoice_id": number, "digest": "'seed' || n.i"})
	copies.of("askers", "request_id", request, h.requests-1, map[string]string{"request_id": id("areq", "1000")})
	copies.of("rules", "to_amount", "10000", h.rules, map[string]string{"id": id("rule", "1000"), "supplier": "'V-9' || n.i"})
	if err := tx.Commit(); err != nil {
		b.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA wal_checkpoint(TRUNCATE)"); err != nil {
		b.Fatal(err)
	}
	return c
}

// sealed waits until the trail's chain holds every event so far.
func (c *company) sealed(b *testing.B) {
	b.Helper()
	db, err := sql.Open("sqlite3", "file:"+strings.TrimPrefix(c.database, "sqlite:")+"?_query_only=1&_busy_timeout=10000")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	eventually(b, "the trail is sealed", func() bool {
		var left int
		return db.QueryRow("SELECT count(*) FROM audit_events WHERE seq IS NULL").Scan(&left) == nil && left == 0
	})
}

type copier struct {
	b  *testing.B
	tx *sql.Tx
}

// columns are the names of a table's columns. They are read to the end before anything else is asked.
func (c copier) columns(table string) (names []string) {
	c.b.Helper()
	rows, err := c.tx.Query("SELECT name FROM pragma_table_info('" + table + "')")
	if err != nil {
		c.b.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			c.b.Fatal(err)
		}
		names = append(names, name)
	}
	if err := rows.Err(); err != nil {
		c.b.Fatal(err)
	}
	return names
}

// of copies the rows of a table that hold a value n times, with some columns made
// anew; n.i is the number of the copy.
func (c copier) of(table, column, value string, n int, anew map[string]string) {
	c.b.Helper()
	if n <= 0 {
		return
	}
	names := c.columns(table)
	values := make([]string, len(names))
	for i, name := range names {
		values[i] = "t." + name
		if expression, ok := anew[name]; ok {
			values[i] = expression
		}
	}
	made, err := c.tx.Exec("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?) INSERT INTO "+table+" ("+strings.Join(names, ", ")+
		") SELECT "+strings.Join(values, ", ")+" FROM n, (SELECT * FROM "+table+" WHERE "+column+" = ?) t", n, value)
	if err != nil {
		c.b.Fatalf("copy %s: %v", table, err)
	}
	if count, err := made.RowsAffected(); err != nil || count < int64(n) {
		c.b.Fatalf("copies of %s: %d of %d, %v", table, count, n, err)
	}
}

// crowd is one person at several machines.
func (c *company) crowd(b *testing.B, who cast, n int) []*visitor {
	b.Helper()
	first := c.signIn(b, who)
	first.http.Transport = &http.Transport{MaxIdleConnsPerHost: n}
	people := make([]*visitor, n)
	for i := range people {
		people[i] = first // a client may be used by many at once
	}
	return people
}

// times are how long each of many requests took.
type times struct {
	mu  sync.Mutex
	all []time.Duration
}

func (t *times) add(d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = append(t.all, d)
}

// at is a quantile in milliseconds.
func (t *times) at(quantile float64) float64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.all) == 0 {
		return 0
	}
	slices.Sort(t.all)
	return float64(t.all[int(quantile*float64(len(t.all)-1))].Microseconds()) / 1000
}

// pageTimes are how long pages took to begin and to end, and how heavy the last one was.
type pageTimes struct {
	first, whole times
	bytes        atomic.Int64
}

// fetch loads a page and keeps its times.
func (p *pageTimes) fetch(v *visitor, path string) error {
	var first time.Time
	trace := &httptrace.ClientTrace{GotFirstResponseByte: func() { first = time.Now() }}
	req, err := http.NewRequestWithContext(httptrace.WithClientTrace(context.Background(), trace), http.MethodGet, v.url+path, nil)
	if err != nil {
		return err
	}
	began := time.Now()
	res, err := v.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	n, err := io.Copy(io.Discard, res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, res.Status)
	}
	p.first.add(first.Sub(began))
	p.whole.add(time.Since(began))
	p.bytes.Store(n)
	return nil
}

// twoDesks loads one page of a small and of a large desk in turns.
func twoDesks(b *testing.B, small, large *company, who cast, path string) (base, desk *pageTimes) {
	b.Helper()
	base, desk = &pageTimes{}, &pageTimes{}
	few, many := small.crowd(b, who, 2), large.crowd(b, who, 2)
	for _, v := range []*visitor{few[0], many[0]} { // what is read for the first time counts for neither
		if err := v.load(path); err != nil {
			b.Fatal(err)
		}
	}
	for range 2 * benchRounds {
		during(b, 2, benchWindow/2, func(i int) error { return base.fetch(few[i], path) })
		during(b, 2, benchWindow/2, func(i int) error { return desk.fetch(many[i], path) })
	}
	return base, desk
}

// benchLongQueue measures the page of a long queue beside that of a short one.
func benchLongQueue(b *testing.B, report *figures) {
	b.Helper()
	small, large := seeded(b, history{open: 100}), seeded(b, history{open: 100_000})
	small.start()
	large.start()
	base, desk := twoDesks(b, small, large, petra, "/queues/procurement")
	const queue, is = "queue of 100000 open cases, ", "the same with 100"
	*report = append(*report,
		figure{what: queue + "first byte, p50", unit: " ms", reach: 1.3, baseIs: is, desk: []float64{desk.first.at(.5)}, base: []float64{base.first.at(.5)}},
		figure{what: queue + "whole page, p50", unit: " ms", reach: 1.3, baseIs: is, desk: []float64{desk.whole.at(.5)}, base: []float64{base.whole.at(.5)}},
		figure{what: queue + "page weight", unit: " kB", reach: 1, baseIs: "the limit", desk: []float64{float64(desk.bytes.Load()) / 1000}, base: []float64{100}})
}

// benchHistory measures a desk with a long history beside one with a short one:
// the queue's page, the start, and the memory.
func benchHistory(b *testing.B, report *figures) {
	b.Helper()
	const waiting = 500
	empty, small, large := founded(b, sqliteFile(b)), seeded(b, history{open: waiting, resolved: 1000 - waiting}), seeded(b, history{open: waiting, resolved: *benchMany - waiting})
	with := fmt.Sprintf("%d cases, %d of them open: ", *benchMany, waiting)
	start := figure{what: with + "start to first answer", unit: " ms", reach: 10, baseIs: "an empty desk"}
	for round := range benchRounds {
		for _, d := range []*company{empty, large} {
			began := time.Now()
			d.start()
			took := float64(time.Since(began).Microseconds()) / 1000
			if d == empty {
				start.base = append(start.base, took)
			} else {
				start.desk = append(start.desk, took)
			}
			if round < benchRounds-1 {
				if err := d.stop(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	small.start()
	idle := empty.resident(b)
	base, desk := twoDesks(b, small, large, petra, "/queues/procurement")
	is := "the same with 1000 cases"
	*report = append(*report,
		figure{what: with + "queue page, p50", unit: " ms", reach: 1.2, baseIs: is, desk: []float64{desk.whole.at(.5)}, base: []float64{base.whole.at(.5)}},
		figure{what: with + "queue page, p99", unit: " ms", reach: 1.2, baseIs: is, desk: []float64{desk.whole.at(.99)}, base: []float64{base.whole.at(.99)}},
		start)
	if idle == 0 {
		b.Log("this system does not tell how much memory a process has")
		return
	}
	grown := large.settled(b) - small.settled(b)
	const streams = 1000
	before := empty.resident(b)
	live := empty.watch(b, petra, streams)
	perPage := (empty.settled(b) - before) / streams
	live.end()
	*report = append(*report,
		figure{what: "memory of an idle desk", unit: " MB", reach: 1, baseIs: "the limit", desk: []float64{idle / 1e6}, base: []float64{45}},
		figure{what: "memory per open live page, of 1000", unit: " kB", reach: 1, baseIs: "the limit", desk: []float64{perPage / 1e3}, base: []float64{40}},
		figure{what: with + "growth of memory", unit: " MB", reach: 1, baseIs: "the limit", desk: []float64{grown / 1e6}, base: []float64{30}})
}

// resident is how much memory the desk's process has of its own, in bytes; 0 where the system does not tell.
// The pages of the program's file are not in it: the kernel maps as many of them as it likes, and takes them
// back when it wants to.
func (d *desk) resident(b *testing.B) float64 {
	b.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", d.process.Process.Pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if value, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kilobytes, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
			if err != nil {
				b.Fatal(err)
			}
			return kilobytes * 1024
		}
	}
	return 0
}

// settled is how much it has once it gave back what the work before took, which it does when it gets quiet:
// the least of a minute.
func (d *desk) settled(b *testing.B) float64 {
	b.Helper()
	least := d.resident(b)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for range 60 {
		<-look.C
		least = min(least, d.resident(b))
	}
	return least
}

// watching are open live pages.
type watching struct {
	cancel context.CancelFunc
	ended  sync.WaitGroup
	lost   atomic.Int64 // streams that ended by themselves
	told   atomic.Int64 // changes told
}

// watch opens live pages and returns once all of them are told to retry, which is
// the first thing a stream says.
func (d *desk) watch(b *testing.B, who cast, n int) *watching {
	b.Helper()
	person := d.signIn(b, who)
	person.http.Transport = &http.Transport{MaxConnsPerHost: 0}
	ctx, cancel := context.WithCancel(b.Context())
	w := &watching{cancel: cancel}
	opened := make(chan error, n)
	gate := make(chan struct{}, 32)
	for range n {
		w.ended.Go(func() {
			gate <- struct{}{}
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, d.url+"/live?topic=queue:procurement", nil)
			if err != nil {
				opened <- err
				return
			}
			res, err := person.http.Do(req)
			if err != nil {
				opened <- err
				return
			}
			defer res.Body.Close()
			lines := bufio.NewReaderSize(res.Body, 64)
			_, err = lines.ReadString('\n')
			opened <- err
			<-gate
			for err == nil {
				var line string
				if line, err = lines.ReadString('\n'); strings.HasPrefix(line, "data:") {
					w.told.Add(1)
				}
			}
			if ctx.Err() == nil {
				w.lost.Add(1)
			}
		})
	}
	for range n {
		if err := <-opened; err != nil {
			b.Fatal(err)
		}
	}
	return w
}

func (w *watching) end() {
	w.cancel()
	w.ended.Wait()
}

// benchMatrix measures what one person does among many requests and rules beside
// the same among few.
func benchMatrix(b *testing.B, report *figures) {
	b.Helper()
	small, large := seeded(b, history{requests: 10, rules: 10}), seeded(b, history{requests: 10_000, rules: 500})
	small.start()
	large.start()
	const among, is, turns = "among 10000 open requests and 500 rules, p50: ", "among 10 and 10", 40
	steps := []string{"deciding one", "listing mine", "changing a rule"}
	took := map[*company][]times{small: make([]times, len(steps)), large: make([]times, len(steps))}
	people := map[*company][2]*visitor{}
	for _, c := range []*company{small, large} {
		people[c] = [2]*visitor{c.signIn(b, fiona), c.signIn(b, lars)}
	}
	for turn := range turns {
		for _, c := range []*company{small, large} {
			lead, editor := people[c][0], people[c][1]
			request := c.as(c.agent).ask(b, approvalOf(invoice(70_000+turn, "300.00")))
			seen := lead.get(b, "/approvals/"+request)
			clocked(&took[c][0], func() {
				after, err := lead.staying().submit(b.Context(), seen, "vote-form", url.Values{"decision": {"approve"}, "reason": {"Agreed."}})
				if err != nil || after.status != http.StatusSeeOther {
					b.Fatalf("the vote is answered with %d: %.500s, %v", after.status, after.all(), err)
				}
			})
			clocked(&took[c][1], func() {
				if err := lead.load("/approvals"); err != nil {
					b.Fatal(err)
				}
			})
			editor.changeRule(b, turn, &took[c][2])
		}
	}
	for i, step := range steps {
		*report = append(*report, figure{what: among + step, unit: " ms", reach: 1.5, baseIs: is,
			desk: []float64{took[large][i].at(.5)}, base: []float64{took[small][i].at(.5)}})
	}
}

// staying is the same visitor who does not go on to the page that an answer leads to.
func (v *visitor) staying() *visitor {
	client := *v.http
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &visitor{url: v.url, http: &client}
}

func clocked(into *times, do func()) {
	began := time.Now()
	do()
	into.add(time.Since(began))
}

// changeRule gives the first rule another time of validity, on its page.
func (v *visitor) changeRule(b *testing.B, turn int, took *times) {
	b.Helper()
	list := v.get(b, "/settings/rules")
	link, ok := list.doc.Find("[data-testid=rule-link]").First().Attr("href")
	if !ok {
		b.Fatalf("no rule: %.500s", list.all())
	}
	page := v.get(b, link)
	form := page.doc.Find("form[data-testid=rule-form]").First()
	values := url.Values{}
	form.Find("input, select").Each(func(_ int, field *goquery.Selection) {
		name, value := field.AttrOr("name", ""), field.AttrOr("value", "")
		if goquery.NodeName(field) == "select" {
			value = field.Find("option[selected]").AttrOr("value", "")
		}
		values.Set(name, value)
	})
	values.Set("valid", fmt.Sprintf("%dh", 25+turn))
	clocked(took, func() {
		after, err := v.staying().try(b.Context(), http.MethodPost, form.AttrOr("action", ""), values)
		if err != nil || after.status != http.StatusSeeOther {
			b.Fatalf("the rule is not changed: %d %.800s, %v", after.status, after.all(), err)
		}
	})
}

// benchMixed lets agents, people and open live pages use one desk together.
func benchMixed(b *testing.B, report *figures) {
	b.Helper()
	c := seeded(b, history{open: 2000, resolved: 8000, requests: 50})
	c.start()
	const agents, persons, streams, window = 32, 50, 1000, 15 * time.Second
	live := c.watch(b, petra, streams)
	defer live.end()
	staff := []*visitor{}
	for _, who := range []cast{anna, lars, petra, paul, fiona, felix, mona, audra, adam, arne} {
		staff = append(staff, c.signIn(b, who))
	}
	for _, v := range staff {
		v.http.Transport = &http.Transport{MaxIdleConnsPerHost: persons}
	}
	agent, tools := c.as(c.agent), &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: agents}}
	var took times
	var filed, seen, turns atomic.Int64
	ctx, cancel := context.WithTimeout(b.Context(), window)
	defer cancel()
	var all sync.WaitGroup
	var failed atomic.Value
	// worker does one thing after the other with pauses, as long as the window is open.
	worker := func(pause time.Duration, do func(n int) error) {
		all.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				began := time.Now()
				if err := do(n); err != nil {
					failed.Store(err)
					return
				}
				took.add(time.Since(began))
				turns.Add(1)
			}
		})
	}
	for a := range agents {
		var last string
		worker(250*time.Millisecond, func(n int) error {
			if n%2 == 1 {
				seen.Add(1)
				return callTool(b.Context(), tools, c.mcpURL, c.agent, "get_case", object{"case_id": last})
			}
			got, err := agent.try(b.Context(), http.MethodPost, "/handovers", poClosed(1_000_000+a*10_000+n), fmt.Sprintf("mixed-%d-%d", a, n))
			if err == nil && got.status != http.StatusCreated {
				err = fmt.Errorf("handover: %s", got)
			}
			if err == nil {
				last = got.text("case_id")
				filed.Add(1)
			}
			return err
		})
	}
	paths := []string{"/", "/queues/procurement", "/approvals", "/queues/ap", "/holds"}
	for p := range persons {
		v := staff[p%len(staff)]
		worker(time.Second, func(n int) error { return v.load(paths[(p+n)%len(paths)]) })
	}
	all.Wait()
	if err, ok := failed.Load().(error); ok {
		b.Fatalf("under mixed load: %v", err)
	}
	if n := live.lost.Load(); n > 0 {
		b.Fatalf("%d of %d live pages were cut off", n, streams)
	}
	if n := c.countCases(b); n != 10_000+filed.Load() {
		b.Fatalf("the desk holds %d cases, want %d", n, 10_000+filed.Load())
	}
	b.Logf("mixed load: %d requests, of them %d handovers, none lost; %d changes told to %d live pages", turns.Load(), filed.Load(), live.told.Load(), streams)
	*report = append(*report, figure{what: fmt.Sprintf("mixed load of %d agents, %d people, %d live pages: p99", agents, persons, streams), unit: " ms", reach: 10,
		baseIs: "p50 of the same", desk: []float64{took.at(.99)}, base: []float64{took.at(.5)}})
}

// countCases counts the cases in the file.
func (c *company) countCases(b *testing.B) (n int64) {
	b.Helper()
	db, err := sql.Open("sqlite3", "file:"+strings.TrimPrefix(c.database, "sqlite:")+"?_query_only=1&_busy_timeout=10000")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow("SELECT count(*) FROM cases").Scan(&n); err != nil {
		b.Fatal(err)
	}
	return n
}
