package client_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/apdesk/apdesk/client"
)

func TestACallThatAPersonAllowsRunsOnce(t *testing.T) {
	desk, other := newDesk(t, always(yes)), newVendors(t, asksOnce)
	var seen []client.Status
	confirmer := fast(desk.rest(), &client.Options{
		RunID: "run-7f3", Invoice: map[string]string{"id": "5105600123", "amount": "1234.50", "currency": "EUR"}, ExpiresIn: 20 * time.Minute,
		Progress: func(p client.Progress) {
			seen = append(seen, p.Confirmation.Status)
			if p.Call.Tool != "delete_vendor" || !strings.Contains(p.Confirmation.URL, "/confirmations/conf_1") {
				t.Errorf("progress tells of %+v", p)
			}
		},
	})
	session := other.connect(t, confirmer.NewClient(agent, other.server(), nil))
	res, err := session.CallTool(t.Context(), deletion)
	if err != nil {
		t.Fatal(err)
	}
	if textOf(t, res) != "deleted" || !slices.Equal(other.ran, []string{`{"note":"a < b & c","vendor_id":"V-2001"}`}) {
		t.Errorf("%q, ran %q", textOf(t, res), other.ran)
	}
	if !slices.Equal(other.states, []string{"", "state-1"}) {
		t.Errorf("requestState of the calls: %q", other.states)
	}
	if !strings.Contains(other.bodies[len(other.bodies)-1], `"count":12345678901234567`) {
		t.Errorf("the answer went on as %s", other.bodies[len(other.bodies)-1])
	}
	if want := []client.Status{client.Pending, client.Answered, client.Taken}; !slices.Equal(seen, want) {
		t.Errorf("progress told %v, want %v", seen, want)
	}
	if want := []string{"POST", "GET /{id}", "POST /{id}/take"}; !slices.Equal(desk.did(), want) {
		t.Errorf("the desk was called %v, want %v", desk.did(), want)
	}

	sum := sha256.Sum256([]byte("state-1"))
	var questions any
	if err := json.Unmarshal([]byte(`{"confirm":{"method":"elicitation/create","params":{"mode":"form","message":"Delete vendor V-2001 <for good>?","requestedSchema":`+sure+`}}}`), &questions); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"server": map[string]any{"name": "Vendor register", "url": other.url}, "tool": "delete_vendor",
		"arguments":      map[string]any{"vendor_id": "V-2001", "note": "a < b & c"},
		"input_requests": questions, "request_state_hash": hex.EncodeToString(sum[:]), "run_id": "run-7f3",
		"invoice": map[string]any{"id": "5105600123", "amount": "1234.50", "currency": "EUR"}, "expires_in": 1200.0,
	}
	if len(desk.asked) != 1 || !reflect.DeepEqual(desk.asked[0], want) {
		t.Errorf("the desk was asked\n%v, want\n%v", desk.asked, want)
	}
}

func TestAPersonsNoReachesTheServer(t *testing.T) {
	for _, action := range []string{"decline", "cancel"} {
		desk, other := newDesk(t, always(`{"confirm":{"action":"`+action+`","content":{"sure":true}}}`)), newVendors(t, asksOnce)
		session := other.connect(t, fast(desk.rest(), nil).NewClient(agent, other.server(), nil))
		res, err := session.CallTool(t.Context(), deletion)
		if err != nil {
			t.Fatal(err)
		}
		if textOf(t, res) != "not deleted: "+action || len(other.ran) != 0 {
			t.Errorf("%s: %q, ran %q", action, textOf(t, res), other.ran)
		}
		if got := other.answers[1]["confirm"].(*mcp.ElicitResult); got.Content != nil {
			t.Errorf("%s carries %v", action, got.Content)
		}
	}
}

func TestAllQuestionsOfARoundAreForwardedAtOnceAndEachRoundAnew(t *testing.T) {
	form := func(message string) *mcp.ElicitParams {
		return &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}}}`)}
	}
	other := newVendors(t, func(round int) *mcp.CallToolResult {
		switch round {
		case 0:
			return &mcp.CallToolResult{RequestState: "one", InputRequests: mcp.InputRequestMap{"a": form("A?"), "b": form("B?")}}
		case 1:
			return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"c": &mcp.ElicitParams{Mode: "url", Message: "Open this", URL: "https://pay.example.test/x"}}}
		}
		return nil
	})
	desk := newDesk(t, func(n int, _ map[string]any) string {
		return []string{`{"a":{"action":"accept","content":{"ok":true}},"b":{"action":"accept","content":{"ok":false}}}`, `{"c":{"action":"accept"}}`}[n-1]
	})
	session := other.connect(t, fast(desk.rest(), nil).NewClient(agent, other.server(), nil))
	res, err := session.CallTool(t.Context(), deletion)
	if err != nil || textOf(t, res) != "deleted" {
		t.Fatalf("%v, %v", res, err)
	}
	if !slices.Equal(other.states, []string{"", "one", ""}) || len(other.answers[1]) != 2 || len(other.answers[2]) != 1 {
		t.Errorf("states %q, answers %v", other.states, other.answers)
	}
	if len(desk.asked) != 2 || desk.asked[1]["request_state_hash"] != nil {
		t.Errorf("the desk was asked %v", desk.asked)
	}
}

func TestOneCallOnAClientMadeElsewhere(t *testing.T) {
	desk, other := newDesk(t, always(yes)), newVendors(t, asksOnce)
	session := other.connect(t, mcp.NewClient(agent, &mcp.ClientOptions{
		MultiRoundTrip: &mcp.MultiRoundTripOptions{Disabled: true},
		Capabilities:   &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}}},
	}))
	params := *deletion
	res, err := fast(desk.rest(), nil).CallTool(t.Context(), session, other.server(), &params)
	if err != nil || textOf(t, res) != "deleted" {
		t.Fatalf("%v, %v", res, err)
	}
	if !reflect.DeepEqual(&params, deletion) {
		t.Errorf("the caller's params became %+v", params)
	}
}

func TestAHandlerInTheSDKsOwnLoop(t *testing.T) {
	desk, other := newDesk(t, always(`{"question":{"action":"accept","content":{"sure":true}}}`)), newVendors(t, asksOnce)
	confirmer := fast(desk.rest(), nil)
	c := mcp.NewClient(agent, &mcp.ClientOptions{ElicitationHandler: confirmer.ElicitationHandler()})
	session := other.connect(t, c)
	if _, err := session.CallTool(t.Context(), deletion); !errors.Is(err, client.ErrNoCall) || len(other.ran) != 0 || len(desk.asked) != 0 {
		t.Errorf("without a known call: %v, ran %q, asked %v", err, other.ran, desk.asked)
	}
	other.states = nil
	c.AddSendingMiddleware(confirmer.Middleware(other.server()))
	res, err := session.CallTool(t.Context(), deletion)
	if err != nil || textOf(t, res) != "deleted" {
		t.Fatalf("%v, %v", res, err)
	}
	if len(desk.asked) != 1 || desk.asked[0]["tool"] != "delete_vendor" || !reflect.DeepEqual(desk.asked[0]["arguments"], deletion.Arguments) {
		t.Errorf("the desk was asked %v", desk.asked)
	}
	other.states = nil
	res, err = session.CallTool(client.WithCall(t.Context(), client.Call{Server: other.server(), Tool: "another"}), deletion)
	if err != nil || textOf(t, res) != "deleted" || desk.asked[1]["tool"] != "delete_vendor" {
		t.Errorf("the call in hand counts: %v, %v, asked %v", res, err, desk.asked[1])
	}
}

func TestACallThatIsCalledOffWithdrawsItsQuestion(t *testing.T) {
	desk, other := newDesk(t, always("")), newVendors(t, asksOnce)
	desk.waiting = make(chan string)
	session := other.connect(t, client.New(desk.rest(), nil).NewClient(agent, other.server(), nil))
	enough := errors.New("the run was stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	go func() {
		<-desk.waiting
		cancel(enough)
	}()
	_, err := session.CallTool(ctx, deletion)
	if !errors.Is(err, enough) || !strings.Contains(err.Error(), "conf_1") {
		t.Errorf("ended with %v", err)
	}
	if !slices.Equal(desk.withdrawn, []string{"conf_1"}) || len(other.ran) != 0 || len(other.states) != 1 {
		t.Errorf("withdrawn %v, ran %q after %d calls", desk.withdrawn, other.ran, len(other.states))
	}
}

func TestACallCalledOffWhileItAsksWithdrawsToo(t *testing.T) {
	desk, other := newDesk(t, always(yes)), newVendors(t, asksOnce)
	ctx, cancel := context.WithCancel(t.Context())
	desk.trouble = func(call string, _ http.ResponseWriter) bool {
		if call == "POST" {
			cancel()
		}
		return false
	}
	session := other.connect(t, client.New(desk.rest(), nil).NewClient(agent, other.server(), nil))
	if _, err := session.CallTool(ctx, deletion); !errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v", err)
	}
	if !slices.Equal(desk.withdrawn, []string{"conf_1"}) || len(other.ran) != 0 {
		t.Errorf("withdrawn %v, ran %q", desk.withdrawn, other.ran)
	}
}

func TestADeadlineShortensTheTimePeopleAreGiven(t *testing.T) {
	desk, other := newDesk(t, always(yes)), newVendors(t, asksOnce)
	session := other.connect(t, fast(desk.rest(), &client.Options{ExpiresIn: 2 * time.Hour}).NewClient(agent, other.server(), nil))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	if _, err := session.CallTool(ctx, deletion); err != nil {
		t.Fatal(err)
	}
	if left, _ := desk.asked[0]["expires_in"].(float64); left < 1 || left > 601 {
		t.Errorf("people are given %v seconds", desk.asked[0]["expires_in"])
	}
}

func TestLostAnswersAndShortOutagesChangeNothing(t *testing.T) {
	desk, other := newDesk(t, always(yes)), newVendors(t, asksOnce)
	lost, out := map[string]bool{}, map[string]bool{}
	desk.lose = func(call string) bool {
		first := !lost[call]
		lost[call] = true
		return first
	}
	desk.trouble = func(call string, w http.ResponseWriter) bool {
		if !lost[call] || out[call] {
			return false
		}
		out[call] = true
		switch call {
		case "GET /{id}": // a proxy in front of a desk that starts again
			w.WriteHeader(http.StatusBadGateway)
			_, _ = w.Write([]byte("<html>bad gateway"))
		default:
			refuse(w, http.StatusServiceUnavailable, "UNAVAILABLE", "hold_and_recheck", true, `{"retry_after_seconds":7}`)
		}
		return true
	}
	var pauses []time.Duration
	confirmer := client.WithoutPauses(client.New(desk.rest(), nil), func(d time.Duration) { pauses = append(pauses, d) })
	session := other.connect(t, confirmer.NewClient(agent, other.server(), nil))
	res, err := session.CallTool(t.Context(), deletion)
	if err != nil || textOf(t, res) != "deleted" || len(other.ran) != 1 {
		t.Fatalf("%v, %v, ran %q", res, err, other.ran)
	}
	if len(desk.asked) != 1 || len(lost) != 3 || len(out) != 3 {
		t.Errorf("asked %d times, lost %v, out %v", len(desk.asked), lost, out)
	}
	if !slices.Contains(pauses, 7*time.Second) {
		t.Errorf("paused %v, though the desk asked for 7 s", pauses)
	}
}

func TestADeskThatStaysAwayFailsTheCall(t *testing.T) {
	desk, other := newDesk(t, always(yes)), newVendors(t, asksOnce)
	desk.trouble = func(_ string, w http.ResponseWriter) bool {
		refuse(w, http.StatusServiceUnavailable, "UNAVAILABLE", "hold_and_recheck", true, "{}")
		return true
	}
	session := other.connect(t, fast(desk.rest(), &client.Options{Patience: 5 * time.Second}).NewClient(agent, other.server(), nil))
	_, err := session.CallTool(t.Context(), deletion)
	var refused *client.Error
	if !errors.As(err, &refused) || refused.Code != "UNAVAILABLE" || len(other.states) != 1 {
		t.Errorf("ended with %v after %d calls", err, len(other.states))
	}
}

func TestARefusalOfTheDeskIsTheCallers(t *testing.T) {
	desk, other := newDesk(t, always(yes)), newVendors(t, asksOnce)
	desk.trouble = func(call string, w http.ResponseWriter) bool {
		refuse(w, http.StatusUnprocessableEntity, "UNPROCESSABLE_ENTITY", "route_to_person", false, `{"field":"password"}`)
		return true
	}
	session := other.connect(t, fast(desk.rest(), nil).NewClient(agent, other.server(), nil))
	_, err := session.CallTool(t.Context(), deletion)
	var refused *client.Error
	if !errors.As(err, &refused) {
		t.Fatalf("ended with %v", err)
	}
	want := &client.Error{Code: "UNPROCESSABLE_ENTITY", Message: "No.", NextAction: "route_to_person", Details: map[string]any{"field": "password"}, Status: 422}
	if !reflect.DeepEqual(refused, want) || len(desk.calls) != 1 || len(other.ran) != 0 {
		t.Errorf("%+v after %v, ran %q", refused, desk.calls, other.ran)
	}
	wrongToken := desk.rest()
	wrongToken.Token = "apd_other"
	session = other.connect(t, fast(wrongToken, nil).NewClient(agent, other.server(), nil))
	other.states = nil
	if _, err = session.CallTool(t.Context(), deletion); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
		t.Errorf("a wrong token ends with %v", err)
	}
}

func TestNothingButAPersonsAnswerIsSentOn(t *testing.T) {
	for name, answer := range map[string]string{
		"another key":   `{"other":{"action":"accept","content":{"sure":true}}}`,
		"no action":     `{"confirm":{"content":{"sure":true}}}`,
		"a made-up one": `{"confirm":{"action":"explode"}}`,
		"no object":     `{"confirm":"accept"}`,
		"null":          `null`,
	} {
		desk, other := newDesk(t, always(answer)), newVendors(t, asksOnce)
		session := other.connect(t, fast(desk.rest(), nil).NewClient(agent, other.server(), nil))
		if res, err := session.CallTool(t.Context(), deletion); err == nil || len(other.states) != 1 {
			t.Errorf("%s: answered %v after %d calls", name, res, len(other.states))
		}
	}
}

func TestQuestionsThatNoPersonCanAnswer(t *testing.T) {
	desk := newDesk(t, always(yes))
	other := newVendors(t, func(int) *mcp.CallToolResult {
		roots := &mcp.ListRootsParams{} //nolint:staticcheck // deprecated, and what servers may still ask for
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"confirm": &mcp.ElicitParams{Message: "?"}, "roots": roots}}
	})
	session := other.connect(t, fast(desk.rest(), nil).NewClient(agent, other.server(), nil))
	if _, err := session.CallTool(t.Context(), deletion); !errors.Is(err, client.ErrNotElicitation) || !strings.Contains(err.Error(), "roots") {
		t.Errorf("ended with %v", err)
	}
	if len(desk.calls) != 0 {
		t.Errorf("the desk was called %v", desk.calls)
	}
}

func TestAServerThatNeverStopsAsking(t *testing.T) {
	desk := newDesk(t, always(yes))
	other := newVendors(t, func(int) *mcp.CallToolResult { return asksOnce(0) })
	session := other.connect(t, fast(desk.rest(), &client.Options{MaxRounds: 3}).NewClient(agent, other.server(), nil))
	if _, err := session.CallTool(t.Context(), deletion); !errors.Is(err, client.ErrTooManyRounds) || len(desk.asked) != 3 {
		t.Errorf("ended with %v after %d questions", err, len(desk.asked))
	}
}

func TestABusyServerIsCalledAgainAFewTimes(t *testing.T) {
	busy := &mcp.CallToolResult{RequestState: "later", InputRequests: mcp.InputRequestMap{}}
	desk := newDesk(t, always(yes))
	for name, test := range map[string]struct {
		until int
		want  error
	}{"twice": {2, nil}, "always": {99, client.ErrBusy}} {
		other := newVendors(t, func(round int) *mcp.CallToolResult {
			if round < test.until {
				return busy
			}
			return nil
		})
		session := other.connect(t, fast(desk.rest(), nil).NewClient(agent, other.server(), nil))
		_, err := session.CallTool(t.Context(), deletion)
		if !errors.Is(err, test.want) || len(other.states) != 3 || other.states[1] != "later" || len(desk.calls) != 0 {
			t.Errorf("busy %s: %v, states %q, desk %v", name, err, other.states, desk.calls)
		}
	}
}

func TestSeveralCallsWaitSideBySide(t *testing.T) {
	desk := newDesk(t, always(yes))
	other := newVendors(t, nil)
	var asked int
	other.ask = func(int) *mcp.CallToolResult {
		if other.states[len(other.states)-1] == "" {
			asked++
			return asksOnce(0)
		}
		return nil
	}
	session := other.connect(t, fast(desk.rest(), nil).NewClient(agent, other.server(), nil))
	done := make(chan error)
	for range 8 {
		go func() {
			params := *deletion
			_, err := session.CallTool(t.Context(), &params)
			done <- err
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if len(other.ran) != 8 || asked != 8 || len(desk.asked) != 8 {
		t.Errorf("ran %d, asked %d, at the desk %d", len(other.ran), asked, len(desk.asked))
	}
}
