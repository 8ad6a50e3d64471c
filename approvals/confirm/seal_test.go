package confirm

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func digestOf(t testing.TB, tool, arguments string) string {
	t.Helper()
	digest, err := Digest(company, "", tool, json.RawMessage(arguments))
	if err != nil {
		t.Fatal(err)
	}
	return digest
}

func (d *desk) askState(digest string) string {
	d.t.Helper()
	state, err := d.svc.Sealer().Ask(d.t.Context(), d.mcp("robot"), "withdraw_case", digest)
	if err != nil {
		d.t.Fatal(err)
	}
	return state
}

func (d *desk) open(digest, state string) string {
	d.t.Helper()
	nonce, err := d.svc.Sealer().Open(d.mcp("robot"), "withdraw_case", digest, state)
	if err != nil {
		var why *StateError
		if errors.As(err, &why) {
			d.t.Fatalf("%v (%s)", err, why.Reason)
		}
		d.t.Fatal(err)
	}
	return nonce
}

func (d *desk) spend(nonce, outcome string) error {
	return d.store.InTx(d.t.Context(), d.mcp("robot"), func(tx *models.Tx) error { return d.svc.Sealer().Spend(tx, nonce, outcome) })
}

func TestTheDigestOfACallLeavesNothingOut(t *testing.T) {
	t.Parallel()
	if digestOf(t, "revoke_approval", `{"approval_id":"apr_a"}`) == digestOf(t, "revoke_approval", `{"approval_id":"apr_b"}`) {
		t.Fatal("a yes to revoking one approval would revoke another")
	}
	if digestOf(t, "x", `{"a":1.50,"b":2}`) != digestOf(t, "x", `{"b":2, "a":1.5}`) {
		t.Fatal("one call spelled in two ways has two digests")
	}
	a, errA := Digest(company, "https://a.example", "x", json.RawMessage(`{}`))
	b, errB := Digest(company, "https://b.example", "x", json.RawMessage(`{}`))
	if errA != nil || errB != nil || a == b {
		t.Fatalf("two servers have one digest: %v %v", errA, errB)
	}
}

func TestAStateOpensOnlyForItsOwnCall(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		digest := digestOf(t, "withdraw_case", `{"case_id":"case_1"}`)
		state := d.askState(digest)
		nonce := d.open(digest, state)
		if d.askState(digest) == state || strings.Contains(state, nonce) {
			t.Fatal("states must differ and must hide what they say")
		}
		sealer := d.svc.Sealer()
		texts := map[string]bool{}
		refused := func(what string, by models.Principal, tool, digest, state string) {
			t.Helper()
			_, err := sealer.Open(by, tool, digest, state)
			if !IsStateError(err) {
				t.Fatalf("%s: %v", what, err)
			}
			texts[err.Error()] = true
		}
		robot := d.mcp("robot")
		elsewhere, otherToken := robot, robot
		elsewhere.WorkspaceID, otherToken.TokenID = "2000", "tok_2"
		refused("another person's token", d.mcp("other-robot"), "withdraw_case", digest, state)
		refused("another token", otherToken, "withdraw_case", digest, state)
		refused("another workspace", elsewhere, "withdraw_case", digest, state)
		refused("another tool", robot, "cancel_hold", digest, state)
		refused("other arguments", robot, "withdraw_case", digestOf(t, "withdraw_case", `{"case_id":"case_2"}`), state)
		for _, s := range []string{"", "v1.", "v2." + state[3:], state + "A", state + "=", state + "\n", state[:10] + "\n" + state[10:], strings.Repeat("A", 10000), "v1." + strings.Repeat("A", 50)} {
			refused("a made-up state", robot, "withdraw_case", digest, s)
		}
		for i := range state {
			flipped := []byte(state)
			flipped[i] ^= 1
			refused("a flipped byte", robot, "withdraw_case", digest, string(flipped))
		}
		foreign, err := NewSealer(d.store, []byte("the secret key of quite another desk, too"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := foreign.Open(robot, "withdraw_case", digest, state); !IsStateError(err) {
			t.Fatal("another desk's key opened it")
		}
		again, err := New(d.store, deskKey) // after a restart
		if err != nil {
			t.Fatal(err)
		}
		if got, err := again.Sealer().Open(robot, "withdraw_case", digest, state); err != nil || got != nonce {
			t.Fatalf("after a restart: %v", err)
		}
		clock.Advance(StateLife - time.Microsecond)
		d.open(digest, state)
		clock.Advance(time.Microsecond)
		refused("an expired state", robot, "withdraw_case", digest, state)
		if len(texts) != 1 {
			t.Fatalf("the refusals can be told apart: %v", texts)
		}
	})
}

func TestOnlyTheFirstAnswerCounts(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		digest := digestOf(t, "withdraw_case", `{}`)
		for outcome, later := range map[string]models.Code{OutcomeRan: models.ConfirmationReplayed, OutcomeRefused: models.ConfirmationReplayed,
			OutcomeDeclined: models.UserDeclined, OutcomeCancelled: models.UserDeclined} {
			nonce := d.open(digest, d.askState(digest))
			// An attempt that is undone has spent nothing.
			err := d.store.InTx(t.Context(), d.mcp("robot"), func(tx *models.Tx) error {
				if err := d.svc.Sealer().Spend(tx, nonce, OutcomeRan); err != nil {
					return err
				}
				return models.E(models.Conflict, "changed in between", nil)
			})
			_ = wantCode(t, err, models.Conflict)
			if err := d.spend(nonce, outcome); err != nil {
				t.Fatal(err)
			}
			for _, again := range []string{OutcomeRan, OutcomeDeclined} {
				_ = wantCode(t, d.spend(nonce, again), later)
			}
		}
		_ = wantCode(t, d.spend("never-asked", OutcomeRan), models.ConfirmationReplayed)
	})
}

func TestTwelveSpendsAtOnceRunOnce(t *testing.T) {
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		t.Parallel()
		clock := modelstest.NewClock()
		d := newDesk(t, modelstest.Open(t, url, clock))
		second, err := NewSealer(modelstest.Open(t, url, clock), deskKey) // another process on the same database
		if err != nil {
			t.Fatal(err)
		}
		digest := digestOf(t, "withdraw_case", `{}`)
		nonce := d.open(digest, d.askState(digest))
		robot := d.mcp("robot")
		errs := make([]error, 12)
		var all sync.WaitGroup
		for i := range errs {
			sealer := d.svc.Sealer()
			if i%2 == 1 {
				sealer = second
			}
			all.Go(func() {
				errs[i] = sealer.store.InTx(t.Context(), robot, func(tx *models.Tx) error {
					if err := sealer.Spend(tx, nonce, OutcomeRan); err != nil {
						return err
					}
					return tx.Audit("test.ran", models.Ref{Subject: nonce}, nil)
				})
			})
		}
		all.Wait()
		for _, err := range errs {
			if err != nil {
				_ = wantCode(t, err, models.ConfirmationReplayed)
			}
		}
		var ran int64
		if err := d.store.View(t.Context(), robot, func(tx *models.Tx) error {
			return tx.DB.Model(&models.AuditEvent{}).Where("action = ?", "test.ran").Count(&ran).Error
		}); err != nil || ran != 1 {
			t.Fatalf("ran %d times (%v), want once", ran, err)
		}
	})
}

func TestANoIsRecordedAndStays(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		digest := digestOf(t, "withdraw_case", `{}`)
		robot, sealer := d.mcp("robot"), d.svc.Sealer()
		no := false
		answer := Answered{Tool: "withdraw_case", Ref: models.Ref{CaseID: "case_1"}, Action: models.ElicitAccept, Confirm: &no, Reason: "wrong case"}
		nonce := d.open(digest, d.askState(digest))
		for range 2 {
			_ = wantCode(t, sealer.Refuse(t.Context(), robot, nonce, OutcomeDeclined, answer), models.UserDeclined)
		}
		_ = wantCode(t, d.spend(nonce, OutcomeRan), models.UserDeclined)
		unclear := d.open(digest, d.askState(digest))
		if err := sealer.Refuse(t.Context(), robot, unclear, OutcomeRefused, answer); err != nil {
			t.Fatal(err)
		}
		var events []models.AuditEvent
		if err := d.store.View(t.Context(), robot, func(tx *models.Tx) error {
			return tx.DB.Where("action = ?", "confirmation.answered_in_client").Find(&events).Error
		}); err != nil || len(events) != 2 {
			t.Fatalf("%d answers on the trail, want 2 (%v)", len(events), err)
		}
		if e := events[0]; e.CaseID != "case_1" || e.Channel != models.ChannelMCP || !strings.Contains(e.Data, "answered in the client of token robot-token, person not verified") {
			t.Fatalf("%+v", e)
		}
	})
}

func TestOldQuestionsAreForgotten(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		count := func(model any, where ...any) (n int64) {
			t.Helper()
			if err := d.store.View(t.Context(), models.System(company), func(tx *models.Tx) error {
				q := tx.DB.Model(model)
				if len(where) > 0 {
					q = q.Where(where[0], where[1:]...)
				}
				return q.Count(&n).Error
			}); err != nil {
				t.Fatal(err)
			}
			return n
		}
		jobs := func() int64 { return count(&models.Job{}, "kind = ?", JobPurge) }
		for range 3 {
			d.askState(digestOf(t, "withdraw_case", `{}`))
		}
		if n := jobs(); n != 1 {
			t.Fatalf("%d jobs for one hour's questions, want 1", n)
		}
		clock.Advance(time.Hour)
		d.runJobs()
		d.askState(digestOf(t, "withdraw_case", `{}`))
		if n := count(&models.StateNonce{}); n != 4 {
			t.Fatalf("%d questions are kept, want 4", n)
		}
		clock.Advance(time.Hour)
		d.runJobs()
		if n := count(&models.StateNonce{}); n != 1 {
			t.Fatalf("%d questions are kept, want the last one", n)
		}
		clock.Advance(3 * time.Hour)
		d.runJobs()
		if n, left := count(&models.StateNonce{}), jobs(); n != 0 || left != 0 {
			t.Fatalf("%d questions and %d jobs are left", n, left)
		}
	})
}

func TestWithoutTheStoreNothingIsAsked(t *testing.T) {
	t.Parallel()
	store, _ := modelstest.SQLite(t)
	d := newDesk(t, store)
	late, cancel := context.WithDeadline(t.Context(), time.Unix(0, 0))
	defer cancel()
	_, err := d.svc.Sealer().Ask(late, d.mcp("robot"), "withdraw_case", digestOf(t, "withdraw_case", `{}`))
	_ = wantCode(t, err, models.ConfirmationUnavailable)
}

func TestASecretKeyMustBeLongEnough(t *testing.T) {
	t.Parallel()
	if _, err := New(nil, []byte("short")); err == nil {
		t.Fatal("a short key was taken")
	}
}

func TestTheReasonIsOnlyForTheLog(t *testing.T) {
	t.Parallel()
	var log strings.Builder
	err := &StateError{Reason: "expired"}
	slog.New(slog.NewTextHandler(&log, nil)).Info("refused", "cause", err)
	if strings.Contains(err.Error(), "expired") || !strings.Contains(log.String(), "expired") {
		t.Fatalf("%q, logged %q", err.Error(), log.String())
	}
}

// FuzzOpen checks that nothing opens but what was sealed with the desk's own key. The seeds are states
// of another desk, so that the right one cannot come up by changing them.
func FuzzOpen(f *testing.F) {
	sealers := make([]*Sealer, 2)
	for i, key := range [][]byte{deskKey, []byte("the secret key of quite another desk, too")} {
		var err error
		if sealers[i], err = NewSealer(nil, key); err != nil {
			f.Fatal(err)
		}
	}
	row := models.StateNonce{Nonce: "n", WorkspaceID: company, UserID: "usr_1", TokenID: "tok_1", Tool: "withdraw_case", Digest: "d", ExpiresAt: models.At(modelstest.Start)}
	foreign, err := sealers[1].seal(row)
	if err != nil {
		f.Fatal(err)
	}
	for _, s := range []string{"", "v1.", "v1.AAAA", foreign, foreign[:len(foreign)-1], foreign + "A", "v1." + strings.Repeat("-", 200), "v0." + foreign[3:]} {
		f.Add(s)
	}
	by := models.Principal{UserID: "usr_1", TokenID: "tok_1", WorkspaceID: company}
	f.Fuzz(func(t *testing.T, state string) {
		if nonce, err := sealers[0].Open(by, "withdraw_case", "d", state); !IsStateError(err) || nonce != "" {
			t.Fatalf("%q opened: %q %v", state, nonce, err)
		}
	})
}
