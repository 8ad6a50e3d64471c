package erp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// deskStub redeems everything once per key and remembers reports.
type deskStub struct {
	mu       sync.Mutex
	redeemed map[string]string // approval -> key
	reported map[string]string // approval -> document
	refuse   string            // reason, when set
	lose     int               // answers to lose after the redeem took effect
	wake     chan struct{}
}

func (d *deskStub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in map[string]any
	_ = json.NewDecoder(r.Body).Decode(&in)
	d.mu.Lock()
	defer d.mu.Unlock()
	parts := strings.Split(r.URL.Path, "/")
	id := parts[len(parts)-2]
	if strings.HasSuffix(r.URL.Path, "/report") {
		d.reported[id] = fmt.Sprint(in["document_number"])
		_, _ = w.Write([]byte("{}"))
		select {
		case d.wake <- struct{}{}:
		default:
		}
		return
	}
	deny := func(reason string) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"error":{"code":"APPROVAL_MISSING","message":"no","retryable":false,"next_action":"request_approval","details":{"reason":%q}}}`, reason)
	}
	key := fmt.Sprint(in["idempotency_key"])
	switch {
	case d.refuse != "":
		deny(d.refuse)
		return
	case d.redeemed[id] != "" && d.redeemed[id] != key:
		deny("already_used")
		return
	}
	d.redeemed[id] = key
	if d.lose > 0 {
		d.lose--
		panic(http.ErrAbortHandler)
	}
	fmt.Fprintf(w, `{"approval_id":%q,"request_id":"areq_1"}`, id)
}

type fixture struct {
	*Server
	desk *deskStub
	opt  Options
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	desk := &deskStub{redeemed: map[string]string{}, reported: map[string]string{}, wake: make(chan struct{}, 16)}
	web := httptest.NewServer(desk)
	t.Cleanup(web.Close)
	opt := Options{Books: filepath.Join(t.TempDir(), "books.json"), Token: "t", DeskURL: web.URL, Today: "2026-10-05"}
	f := &fixture{desk: desk, opt: opt}
	f.restart(t)
	return f
}

// restart is what a SIGKILL leaves: the books on disk, nothing else.
func (f *fixture) restart(t *testing.T) {
	t.Helper()
	s, err := New(f.opt, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	f.Server = s
}

func (f *fixture) try(t *testing.T, amount, approval string) (document, code string) {
	t.Helper()
	raw := fmt.Sprintf(`{"invoice_id":"5105600106","supplier_id":"V-2002","amount":%q,"currency":"EUR","posting_date":"2026-10-05","text":"x","approval_id":%q,"idempotency_key":"k"}`, amount, approval)
	var in postArgs
	if err := json.Unmarshal([]byte(raw), &in); err != nil {
		t.Fatal(err)
	}
	out, refused := f.post(t.Context(), []byte(raw), in)
	if refused != nil {
		return "", refused.Code
	}
	return out.(details)["document_number"].(string), ""
}

func (f *fixture) bookings() int {
	n := 0
	f.books.view(func(s *state) { n = len(s.Bookings) })
	return n
}

func TestAWriteWithoutApprovalIsRefusedAndBooksNothing(t *testing.T) {
	f := newFixture(t)
	if _, code := f.try(t, "2478.00", ""); code != "APPROVAL_MISSING" || f.bookings() != 0 {
		t.Errorf("code %q, %d bookings", code, f.bookings())
	}
}

func TestARefusedRedeemBooksNothingAndIsPassedOn(t *testing.T) {
	f := newFixture(t)
	f.desk.refuse = "expired"
	if _, code := f.try(t, "2478.00", "apr_1"); code != "APPROVAL_MISSING" || f.bookings() != 0 {
		t.Errorf("code %q, %d bookings", code, f.bookings())
	}
	f.desk.refuse = ""
	if doc, code := f.try(t, "2478.00", "apr_1"); code != "" || doc == "" {
		t.Errorf("a refusal must not block a later call: %q", code)
	}
}

func TestOneApprovalBooksOnceHoweverManyCallAtOnce(t *testing.T) {
	f := newFixture(t)
	documents := make([]string, 16)
	var all sync.WaitGroup
	for i := range documents {
		all.Go(func() { documents[i], _ = f.try(t, "2478.00", "apr_1") })
	}
	all.Wait()
	for _, d := range documents {
		if d == "" || d != documents[0] {
			t.Errorf("documents %v", documents)
			break
		}
	}
	if f.bookings() != 1 {
		t.Errorf("%d bookings", f.bookings())
	}
}

func TestAnApprovalSpentOnOneCallIsNoGoodForAnother(t *testing.T) {
	f := newFixture(t)
	if _, code := f.try(t, "2478.00", "apr_1"); code != "" {
		t.Fatal(code)
	}
	if _, code := f.try(t, "2478.01", "apr_1"); code != "APPROVAL_MISSING" || f.bookings() != 1 {
		t.Errorf("code %q, %d bookings", code, f.bookings())
	}
	if _, code := f.try(t, "2478.00", "apr_2"); code != "CONFLICT" || f.bookings() != 1 {
		t.Errorf("a second posting of the invoice: code %q, %d bookings", code, f.bookings())
	}
}

func TestALostRedeemAnswerIsAskedForAgain(t *testing.T) {
	f := newFixture(t)
	f.desk.lose = 2
	if doc, code := f.try(t, "2478.00", "apr_1"); doc == "" || code != "" || f.bookings() != 1 {
		t.Errorf("document %q, code %q, %d bookings", doc, code, f.bookings())
	}
}

func TestARestartFinishesAndReportsWhatAKillLeftBehind(t *testing.T) {
	f := newFixture(t)
	// Killed after the redeem took effect and before anything was booked.
	raw := json.RawMessage(`{"invoice_id":"5105600106","supplier_id":"V-2002","amount":"2478.00","currency":"EUR","posting_date":"2026-10-05","text":"x","approval_id":"apr_1"}`)
	digest, err := digestOf(raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.books.change(func(s *state) error {
		s.Writes["apr_1"] = pendingWrite{ApprovalID: "apr_1", Workspace: "1000", Tool: "post_invoice_adjustment", Invoice: "5105600106", Arguments: raw, Digest: digest, Step: asked}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	f.desk.redeemed["apr_1"] = "erp-" + digest
	f.restart(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var reporting sync.WaitGroup
	reporting.Go(func() { f.report(ctx) })
	f.finish(ctx)
	<-f.desk.wake
	cancel()
	reporting.Wait()
	doc, code := f.try(t, "2478.00", "apr_1")
	f.desk.mu.Lock()
	defer f.desk.mu.Unlock()
	if code != "" || doc == "" || f.bookings() != 1 || f.desk.reported["apr_1"] != doc {
		t.Errorf("document %q, code %q, %d bookings, reported %v", doc, code, f.bookings(), f.desk.reported)
	}
}

func TestABookedWriteIsStillThereAfterARestart(t *testing.T) {
	f := newFixture(t)
	first, _ := f.try(t, "2478.00", "apr_1")
	f.restart(t)
	again, code := f.try(t, "2478.00", "apr_1")
	if code != "" || again != first || f.bookings() != 1 {
		t.Errorf("first %q, again %q, code %q, %d bookings", first, again, code, f.bookings())
	}
}
