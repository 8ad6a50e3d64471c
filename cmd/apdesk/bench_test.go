package main_test

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	_ "github.com/mattn/go-sqlite3" // the raw figures use the desk's own driver
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BenchmarkDesk prints what the built desk does on SQLite, each figure beside its
// baseline of the same machine in the same run, so that only the ratio is to be
// compared with another machine's. "task bench" runs it; clients, desk and
// baselines share the machine's cores. Baseline and desk take turns, and rates are
// the median of their rounds.
func BenchmarkDesk(b *testing.B) {
	for range b.N {
		var report figures
		for _, part := range []struct {
			name    string
			measure func(*testing.B, *figures)
		}{
			{"writes", benchWrites}, {"calls", benchToolsCall}, {"pages", benchQueuePage}, {"queue", benchLongQueue},
			{"matrix", benchMatrix}, {"history", benchHistory}, {"mixed", benchMixed},
		} {
			if *benchOnly == "" || slices.Contains(strings.Split(*benchOnly, ","), part.name) {
				part.measure(b, &report)
			}
		}
		report.print(os.Stdout)
	}
}

var (
	benchOnly = flag.String("bench-only", "", "parts of the benchmark to run: writes,calls,pages,queue,matrix,history,mixed")
	benchMany = flag.Int("bench-cases", 100_000, "cases of the desk with a long history")
)

const (
	benchClients = 32
	benchRounds  = 3
	benchWindow  = 3 * time.Second
)

// figure is one line of the report. Of a rate more is better, and the ratio is to
// be at least what is to reach; of anything else less is, and at most.
type figure struct {
	what, baseIs string
	unit         string
	desk, base   []float64
	reach        float64 // the ratio; 0: the figure is only told
}

type figures []figure

const perSecond = "/s"

func (f figure) print(table io.Writer) {
	desk, base := median(f.desk), median(f.base)
	ratio, relation, reached := desk/base, "at most", false
	if f.unit == perSecond {
		relation, reached = "at least", ratio >= f.reach
	} else {
		reached = ratio <= f.reach
	}
	reach, verdict := fmt.Sprintf("%s %.4g", relation, f.reach), "no"
	switch {
	case f.reach == 0:
		reach, verdict = "", ""
	case reached:
		verdict = "yes"
	}
	fmt.Fprintf(table, "%s\t%.4g%s\t%.4g%s\t%.2f\t%s\t%s\t%s\n", f.what, desk, f.unit, base, f.unit, ratio, reach, verdict, f.baseIs)
}

func (all figures) print(w io.Writer) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nmeasure\tfigure\tbaseline\tratio\tto reach\treached\tbaseline is")
	for _, f := range all {
		f.print(table)
	}
	_ = table.Flush() // nobody is left to tell
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// during lets clients repeat do until the window is over and returns how often
// a second it was done.
func during(b *testing.B, clients int, window time.Duration, do func(client int) error) float64 {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), window)
	defer cancel()
	var count atomic.Int64
	var failed atomic.Value
	began := time.Now()
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() {
			for ctx.Err() == nil {
				if err := do(client); err != nil {
					failed.Store(err)
					return
				}
				count.Add(1)
			}
		})
	}
	all.Wait()
	if err, ok := failed.Load().(error); ok {
		b.Fatal(err)
	}
	return float64(count.Load()) / time.Since(began).Seconds()
}

// through lets clients do each of n things once and returns how many a second.
func through(b *testing.B, clients, n int, do func(i int) error) float64 {
	b.Helper()
	var next atomic.Int64
	var failed atomic.Value
	began := time.Now()
	var all sync.WaitGroup
	for range clients {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				if err := do(i); err != nil {
					failed.Store(err)
					return
				}
			}
		})
	}
	all.Wait()
	if err, ok := failed.Load().(error); ok {
		b.Fatal(err)
	}
	return float64(n) / time.Since(began).Seconds()
}

// benchWrites measures handovers and redeems beside single-row transactions.
func benchWrites(b *testing.B, report *figures) {
	b.Helper()
	c := open(b, sqliteFile(b))
	agent, erp := c.as(c.agent), c.as(c.erp)
	raw := newRawInserts(b)
	handovers := figure{what: fmt.Sprintf("durable handovers, %d clients, REST", benchClients), unit: perSecond, reach: 0.8, baseIs: "single-row insert transactions, synchronous=FULL"}
	redeems := figure{what: fmt.Sprintf("redeems, %d clients, REST", benchClients), unit: perSecond, reach: 0.8, baseIs: handovers.baseIs}
	const perRound = 200
	var next atomic.Int64
	for round := range benchRounds {
		rawRate := during(b, 1, benchWindow, func(int) error { return raw.insert() })
		handovers.base, redeems.base = append(handovers.base, rawRate), append(redeems.base, rawRate)
		handovers.desk = append(handovers.desk, during(b, benchClients, benchWindow, func(int) error {
			return handOverOne(b.Context(), agent, int(next.Add(1)))
		}))

		approvals, calls := grantMany(b, c, round*perRound, perRound)
		redeems.desk = append(redeems.desk, through(b, benchClients, perRound, func(i int) error {
			got, err := erp.try(b.Context(), http.MethodPost, "/approvals/"+approvals[i]+"/redeem", calls[i], "")
			if err == nil && got.status != http.StatusOK {
				err = fmt.Errorf("redeem: %s", got)
			}
			return err
		}))
	}
	*report = append(*report, handovers, redeems)
}

func handOverOne(ctx context.Context, agent api, n int) error {
	got, err := agent.try(ctx, http.MethodPost, "/handovers", poClosed(n), "")
	if err == nil && got.status != http.StatusCreated {
		err = fmt.Errorf("handover: %s", got)
	}
	return err
}

// grantMany lets two finance leads approve n writes and returns the approvals
// with their calls.
func grantMany(b *testing.B, c *company, from, n int) (approvals []string, calls []object) {
	b.Helper()
	agent := c.as(c.agent)
	voters := []*visitor{c.signIn(b, fiona), c.signIn(b, felix), c.signIn(b, fiona), c.signIn(b, felix)}
	approvals, calls = make([]string, n), make([]object, n)
	var voting sync.WaitGroup
	for v, voter := range voters {
		voting.Go(func() {
			for i := v; i < n; i += len(voters) {
				inv := invoice(50000+from+i, "200.00")
				request := agent.ask(b, approvalOf(inv))
				voter.vote(b, request, "approve")
				approvals[i] = agent.get(b, "/approval-requests/"+request).text("approval_id")
				calls[i] = posting(inv)
				calls[i]["idempotency_key"] = "bench"
			}
		})
	}
	voting.Wait()
	return approvals, calls
}

// rawInserts writes one row a transaction with nothing around it.
type rawInserts struct {
	db   *sql.DB
	body string
	n    int
}

func newRawInserts(b *testing.B) *rawInserts {
	b.Helper()
	db, err := sql.Open("sqlite3", "file:"+filepath.Join(b.TempDir(), "raw.db")+"?_journal_mode=WAL&_synchronous=FULL&_txlock=immediate")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE rows (id INTEGER PRIMARY KEY, body TEXT NOT NULL)"); err != nil {
		b.Fatal(err)
	}
	body, err := json.Marshal(poClosed(1))
	if err != nil {
		b.Fatal(err)
	}
	return &rawInserts{db: db, body: string(body)}
}

func (r *rawInserts) insert() error {
	r.n++
	tx, err := r.db.Begin()
	if err != nil {
		return err
	}
	if _, err := tx.Exec("INSERT INTO rows (id, body) VALUES (?, ?)", r.n, r.body); err != nil {
		return err
	}
	return tx.Commit()
}

// benchQueuePage measures a queue's first page beside its query alone.
func benchQueuePage(b *testing.B, report *figures) {
	b.Helper()
	c := seeded(b, history{open: 1000})
	c.start()
	f := figure{what: "queue page with 1000 open cases, 4 clients", unit: perSecond, baseIs: "bare query of the page's 50 rows"}
	query := newRawQuery(b, c.database)
	person := c.crowd(b, petra, 4)
	for range benchRounds {
		f.base = append(f.base, during(b, 4, benchWindow, func(int) error { return query() }))
		f.desk = append(f.desk, during(b, 4, benchWindow, func(i int) error { return person[i].load("/queues/procurement") }))
	}
	*report = append(*report, f)
}

// load fetches a page without looking at it.
func (v *visitor) load(path string) error {
	res, err := v.http.Get(v.url + path)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", path, res.Status)
	}
	return nil
}

func newRawQuery(b *testing.B, database string) func() error {
	b.Helper()
	db, err := sql.Open("sqlite3", "file:"+strings.TrimPrefix(database, "sqlite:")+"?_query_only=1&_busy_timeout=10000")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = db.Close() })
	page, err := db.Prepare(`SELECT id, code, status, due_at, invoice_number, supplier_name, amount, currency, created_at, agent_name
		FROM cases WHERE workspace_id = ? AND queue = ? AND status = ? ORDER BY due_at, id LIMIT 50`)
	if err != nil {
		b.Fatal(err)
	}
	return func() error {
		rows, err := page.Query(workspace, "procurement", "open")
		if err != nil {
			return err
		}
		defer rows.Close()
		n := 0
		var text [10]sql.RawBytes
		into := make([]any, len(text))
		for i := range text {
			into[i] = &text[i]
		}
		for ; rows.Next(); n++ {
			if err := rows.Scan(into...); err != nil {
				return err
			}
		}
		if err := rows.Err(); err != nil || n == 50 {
			return err
		}
		return fmt.Errorf("the page's query found %d rows, want 50", n)
	}
}

// benchToolsCall measures get_case beside an SDK server whose one tool echoes.
func benchToolsCall(b *testing.B, report *figures) {
	b.Helper()
	c := open(b, sqliteFile(b))
	id := c.as(c.agent).handOver(b, poClosed(1))
	echo := startEcho(b)
	f := figure{what: fmt.Sprintf("tools/call get_case, %d clients", benchClients), unit: perSecond, reach: 0.8, baseIs: "tools/call of an echo on a bare SDK server"}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchClients}}
	for range benchRounds {
		f.base = append(f.base, during(b, benchClients, benchWindow, func(int) error {
			return callTool(b.Context(), client, echo, "", "echo", object{"text": "case_01k6t0000000000000000000"})
		}))
		f.desk = append(f.desk, during(b, benchClients, benchWindow, func(int) error {
			return callTool(b.Context(), client, c.mcpURL, c.agent, "get_case", object{"case_id": id})
		}))
	}
	*report = append(*report, f)
}

// callTool posts one tools/call as the protocol wants it, without a client
// library's cost.
func callTool(ctx context.Context, client *http.Client, url string, tok token, tool string, arguments object) error {
	body, err := json.Marshal(object{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": object{
		"name": tool, "arguments": arguments,
		"_meta": object{"io.modelcontextprotocol/protocolVersion": protocol2026, "io.modelcontextprotocol/clientCapabilities": object{}},
	}})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", protocol2026)
	req.Header.Set("Mcp-Method", "tools/call")
	req.Header.Set("Mcp-Name", tool)
	if tok != "" {
		req.Header.Set("Authorization", "Bearer "+string(tok))
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK || bytes.Contains(raw, []byte(`"isError":true`)) || !bytes.Contains(raw, []byte(`"content"`)) {
		return fmt.Errorf("%s: %s %.300s", tool, res.Status, raw)
	}
	return nil
}

// echoAddress makes this test program an echo server instead; see startEcho.
const echoAddress = "APDESK_BENCH_ECHO"

// startEcho runs a bare SDK server in a process of its own, as the desk is, with the desk's setting of the
// collector.
func startEcho(b *testing.B) (url string) {
	b.Helper()
	address := freeAddress(b)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), echoAddress+"="+address, "GOGC="+cmp.Or(os.Getenv("GOGC"), "400"))
	cmd.Stderr = os.Stderr
	if err := start(cmd); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // reports the kill
	})
	eventually(b, "the echo server listens", func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return "http://" + address + "/mcp"
}

func serveEcho(address string) error {
	type text struct {
		Text string `json:"text"`
	}
	server := mcp.NewServer(&mcp.Implementation{Name: "echo", Version: "1.0.0"}, nil)
	mcp.AddTool(server, &mcp.Tool{Name: "echo", Description: "answers what it was sent"},
		func(_ context.Context, _ *mcp.CallToolRequest, in text) (*mcp.CallToolResult, text, error) {
			return nil, in, nil
		})
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server },
		&mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})
	mux := http.NewServeMux()
	mux.Handle("/mcp", handler)
	return (&http.Server{Addr: address, Handler: mux, ReadHeaderTimeout: time.Minute}).ListenAndServe()
}
