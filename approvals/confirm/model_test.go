package confirm

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// modelQuestion is what an outsider who only knows the words of the contract notes of a forwarded question.
type modelQuestion struct {
	id, asker string
	status    models.ConfirmationStatus
	action    models.ElicitAction // of the answer
	key       string              // under which it was taken
	ends      time.Time           // when the question, or the answer nobody took, lapses
}

func (m *modelQuestion) at(now time.Time) models.ConfirmationStatus {
	if (m.status == models.ConfirmationPending || m.status == models.ConfirmationAnswered) && !now.Before(m.ends) {
		return models.ConfirmationExpired
	}
	return m.status
}

// handedOut is what is to be taken.
func (m *modelQuestion) handedOut() string {
	if m.action == models.ElicitAccept {
		return acceptedSure
	}
	return fmt.Sprintf(`{"ok":{"action":%q}}`, m.action)
}

// modelState is what an outsider notes of a question asked in the agent's own client.
type modelState struct {
	digest, state string
	ends          time.Time
	outcome       string // of the first answer
}

type confirmPlay struct {
	d         *desk
	clock     *modelstest.Clock
	rng       *rand.Rand
	questions []*modelQuestion
	states    []*modelState
	history   []string
	done      map[string]int
}

func (p *confirmPlay) expect(what string, err error, want models.Code) bool {
	p.d.t.Helper()
	got := models.Code("")
	if ne, ok := models.AsNamed(err); ok {
		got = ne.Code
	} else if err != nil {
		got = models.Code(err.Error())
	}
	p.history = append(p.history, fmt.Sprintf("%s %s -> %s", p.clock.Now().Format(time.DateTime), what, got))
	if got != want {
		p.d.t.Fatalf("%s ended with %q (%v), and must end with %q\n%s", what, got, err, want, strings.Join(p.history[max(0, len(p.history)-25):], "\n"))
	}
	kind, _, _ := strings.Cut(what, " ")
	p.done[strings.TrimSpace(kind+" "+string(want))]++
	return want == ""
}

func (p *confirmPlay) ask() {
	by := []string{"robot", "other-robot"}[p.rng.IntN(2)]
	life := time.Duration(10+p.rng.IntN(50)) * time.Minute
	seconds := int64(life / time.Second)
	id := p.d.ask(by, func(in *RequestInput) { in.ExpiresIn = &seconds })
	p.questions = append(p.questions, &modelQuestion{id: id, asker: by, status: models.ConfirmationPending, ends: p.clock.Now().Add(life)})
}

func (p *confirmPlay) step() {
	d, now := p.d, p.clock.Now()
	q := p.questions[max(0, len(p.questions)-1-p.rng.IntN(5))]
	robot := []string{"robot", "other-robot"}[p.rng.IntN(2)]
	invisible := models.Code("")
	if robot != q.asker {
		invisible = models.NotFound
	}
	switch p.rng.IntN(16) {
	case 0:
		p.ask()
	case 1, 2, 3:
		who := []string{"fumiko", "frank", "fumiko", "clara", "lars", "adam"}[p.rng.IntN(6)]
		action := []models.ElicitAction{models.ElicitAccept, models.ElicitDecline, models.ElicitCancel}[p.rng.IntN(3)]
		want := models.Code("")
		switch {
		case q.at(now) != models.ConfirmationPending:
			want = models.Conflict
		case who == "clara": // of the role, and responsible for who asked
			want = models.Unprocessable
		case who != "fumiko" && who != "frank":
			want = models.InsufficientPermission
		}
		if p.expect("answer "+who+" "+string(action), d.answer(who, q.id, action), want) {
			q.status, q.action, q.ends = models.ConfirmationAnswered, action, now.Add(AnswerLife)
		}
	case 4, 5, 6, 7:
		p.take(q, robot, invisible)
	case 8:
		_, err := d.svc.Withdraw(d.t.Context(), d.mcp(robot), q.id)
		want := invisible
		if s := q.at(now); want == "" && (s == models.ConfirmationTaken || s == models.ConfirmationExpired) {
			want = models.Conflict
		}
		if p.expect("withdraw "+robot, err, want) {
			q.status = models.ConfirmationWithdrawn
		}
	case 9:
		p.clock.Advance(time.Duration(p.rng.IntN(12)) * time.Minute)
		if p.rng.IntN(10) == 0 {
			p.clock.Advance(AnswerLife)
		}
	case 10:
		d.runJobs()
	default:
		p.inClient()
	}
}

func (p *confirmPlay) take(q *modelQuestion, robot string, invisible models.Code) {
	now, key, other := p.clock.Now(), fmt.Sprintf("key-%d", p.rng.IntN(2)), p.rng.IntN(5) == 0
	got, err := p.d.take(robot, q.id, key, func(in *TakeInput) {
		if other {
			in.Arguments = json.RawMessage(`{"invoice_id":"5105600123","amount":"251.00"}`)
		}
	})
	want, status := invisible, q.at(now)
	switch {
	case want != "":
	case status == models.ConfirmationTaken && (other || key != q.key):
		want = models.ConfirmationReplayed
	case status == models.ConfirmationTaken:
	case other, status == models.ConfirmationPending:
		want = models.Conflict
	}
	if !p.expect("take "+robot+" "+key, err, want) {
		return
	}
	handed := cancelledAll
	if status == models.ConfirmationAnswered || status == models.ConfirmationTaken {
		handed = q.handedOut()
	}
	if got != handed {
		p.d.t.Fatalf("what was %s and %s hands out %s, want %s", status, q.action, got, handed)
	}
	if status == models.ConfirmationAnswered {
		q.status, q.key = models.ConfirmationTaken, key
	}
}

// inClient asks through requestState, or answers what was asked so: now and then for another call, too late, or
// once more.
func (p *confirmPlay) inClient() {
	d, now := p.d, p.clock.Now()
	if len(p.states) == 0 || p.rng.IntN(3) == 0 {
		digest := digestOf(d.t, "withdraw_case", fmt.Sprintf(`{"case_id":"case_%d"}`, len(p.states)))
		p.states = append(p.states, &modelState{digest: digest, state: d.askState(digest), ends: now.Add(10 * time.Minute)})
		return
	}
	s := p.states[max(0, len(p.states)-1-p.rng.IntN(3))]
	by, digest := "robot", s.digest
	switch p.rng.IntN(6) {
	case 0:
		by = "other-robot"
	case 1:
		digest = digestOf(d.t, "withdraw_case", `{"case_id":"another"}`)
	}
	nonce, err := d.svc.Sealer().Open(d.mcp(by), "withdraw_case", digest, s.state)
	fits := by == "robot" && digest == s.digest && now.Before(s.ends)
	var why *StateError
	if opened := err == nil; opened != fits || !opened && !errors.As(err, &why) {
		d.t.Fatalf("a state that fits its call: %t, and opening it ends with %v", fits, err)
	}
	if !fits {
		p.done["open refused"]++
		return
	}
	outcome := []string{OutcomeRan, OutcomeRan, OutcomeRefused, OutcomeDeclined, OutcomeCancelled}[p.rng.IntN(5)]
	want := models.Code("")
	switch s.outcome {
	case OutcomeRan, OutcomeRefused:
		want = models.ConfirmationReplayed
	case OutcomeDeclined, OutcomeCancelled:
		want = models.UserDeclined
	}
	if p.expect("spend "+outcome, d.spend(nonce, outcome), want) {
		s.outcome = outcome
	}
}

// TestConfirmationsBehaveLikeTheirModel lets agents and people do random things to questions, forwarded ones and
// those of the agent's own client, and holds every answer and state against a model.
func TestConfirmationsBehaveLikeTheirModel(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		p := &confirmPlay{d: d, clock: clock, rng: rand.New(rand.NewPCG(seed, 5)), done: map[string]int{}}
		p.ask()
		for range 500 {
			p.step()
			for _, q := range p.questions[max(0, len(p.questions)-5):] {
				v, err := d.svc.Get(t.Context(), d.mcp(q.asker), q.id)
				if want := q.at(clock.Now()); err != nil || v.Status != want {
					t.Fatalf("the desk says %s, %v, and the model %s\n%s", v.Status, err, want, strings.Join(p.history[max(0, len(p.history)-25):], "\n"))
				}
			}
		}
		for _, kind := range []string{"answer", "answer CONFLICT", "answer insufficient_permission", "take", "take CONFLICT", "take confirmation_replayed", "withdraw", "spend", "open refused"} {
			if p.done[kind] == 0 {
				t.Errorf("%q never happened, so the play proves nothing about it: %v", kind, p.done)
			}
		}
	})
}

// TestConfirmationsStandManyActorsAtOnce lets people answer, and the agent take and withdraw, at the same time:
// one answer counts, one key gets it, and nobody is told of another.
func TestConfirmationsStandManyActorsAtOnce(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		for range 8 {
			id := d.ask("robot")
			var mu sync.Mutex
			var answered []models.ElicitAction
			taken := map[string]string{}
			var all sync.WaitGroup
			for i, who := range []string{"fumiko", "frank", "fumiko", "frank"} {
				action := []models.ElicitAction{models.ElicitAccept, models.ElicitDecline}[i%2]
				all.Go(func() {
					err := d.answer(who, id, action)
					if err == nil {
						mu.Lock()
						defer mu.Unlock()
						answered = append(answered, action)
					} else if !models.IsCode(err, models.Conflict) {
						t.Errorf("answering ends with %v", err)
					}
				})
			}
			for i := range 4 {
				key := fmt.Sprintf("key-%d", i%2)
				all.Go(func() {
					for range 4 {
						got, err := d.take("robot", id, key)
						if err == nil {
							mu.Lock()
							if before := taken[key]; before != "" && before != got {
								t.Errorf("%s took %s and then %s", key, before, got)
							}
							taken[key] = got
							mu.Unlock()
						} else if !models.IsCode(err, models.Conflict) && !models.IsCode(err, models.ConfirmationReplayed) {
							t.Errorf("taking ends with %v", err)
						}
					}
				})
			}
			all.Wait()
			if len(answered) != 1 || len(taken) > 1 {
				t.Errorf("%d answers counted, %d keys took one", len(answered), len(taken))
				continue
			}
			q := modelQuestion{action: answered[0]}
			for key, got := range taken {
				if got != q.handedOut() {
					t.Errorf("%s took %s, and the answer was %s", key, got, answered[0])
				}
			}
		}
	})
}
