package queue_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

// modelCase is what an outsider who only knows the words of the contract notes of a case.
type modelCase struct {
	id        string
	invoice   string
	status    models.CaseStatus
	queue     models.Queue
	version   int64
	handovers int
	filers    map[string]bool
	holder    string
	until     time.Time // of the holder's lease
	said      models.InstructionKind
	question  bool
	snoozed   time.Time // until then; zero: it is not
	held      models.Date
}

// play lets many actors do random things to a few cases, and holds every answer and every state against the
// model.
type play struct {
	t       *testing.T
	c       *cast
	rng     *rand.Rand
	cases   []*modelCase
	history []string
	done    map[string]int // acts by kind and outcome
}

func (p *play) now() time.Time { return p.c.clock.Now() }

func (m *modelCase) holderAt(now time.Time) string {
	if m.holder != "" && now.Before(m.until) {
		return m.holder
	}
	return ""
}

func (m *modelCase) lend(to models.Principal, now time.Time) {
	m.holder, m.until, m.snoozed = to.UserName, now.Add(30*time.Minute), time.Time{}
}

func (m *modelCase) free() { m.holder, m.until = "", time.Time{} }

// works says whether somebody works the case's queue.
func (m *modelCase) works(p models.Principal) bool {
	switch m.queue {
	case models.QueueAP:
		return p.Has(models.RoleAPClerk, models.RoleAPLead)
	case models.QueueAPLead:
		return p.Has(models.RoleAPLead)
	}
	return false
}

// person is somebody on the pages, or now and then a caller with a token, who may do none of this.
func (p *play) person() models.Principal {
	all := []models.Principal{p.c.clara, p.c.carl, p.c.lena, p.c.clara, p.c.carl, p.c.lena, p.c.petra, p.c.aude, onToken(p.c.lena), p.c.agent}
	return all[p.rng.IntN(len(all))]
}

func (p *play) robot() models.Principal {
	return []models.Principal{p.c.agent, p.c.agent, p.c.other}[p.rng.IntN(3)]
}

// version is the one on the page somebody looks at, which now and then is an old one.
func (p *play) version(m *modelCase) int64 {
	if m.version > 1 && p.rng.IntN(6) == 0 {
		return m.version - 1
	}
	return m.version
}

// expect compares how an act ended with how the model says it must.
func (p *play) expect(what string, err error, want models.Code) bool {
	p.t.Helper()
	got := models.Code("")
	if ne, ok := models.AsNamed(err); ok {
		got = ne.Code
	} else if err != nil {
		got = models.Code(err.Error())
	}
	p.history = append(p.history, fmt.Sprintf("%s %s -> %s", p.now().Format(time.DateTime), what, got))
	if got != want {
		p.t.Fatalf("%s ended with %q (%v), and must end with %q\n%s", what, got, err, want, strings.Join(p.history[max(0, len(p.history)-25):], "\n"))
	}
	kind, _, _ := strings.Cut(what, " ")
	if want != "" {
		kind += " " + string(want)
	}
	p.done[kind]++
	return want == ""
}

const conflict, forbidden = models.Conflict, models.InsufficientPermission

// first is the first of several reasons against an act.
func first(reasons ...models.Code) models.Code {
	for _, r := range reasons {
		if r != "" {
			return r
		}
	}
	return ""
}

// when is a reason that holds only if so.
func when(so bool, reason models.Code) models.Code {
	if so {
		return reason
	}
	return ""
}

// noPerson is why a caller with a token does nothing that people do: an agent does not even see what others
// filed.
func (m *modelCase) noPerson(by models.Principal) models.Code {
	if by.Channel == models.ChannelWeb {
		return ""
	}
	if by.Kind == models.KindService && !m.filers[by.UserName] {
		return models.NotFound
	}
	return forbidden
}

func (p *play) step() {
	t, c, m := p.t, p.c, p.cases[p.rng.IntN(len(p.cases))]
	now, by := p.now(), p.person()
	byOther := m.holderAt(now) != "" && m.holderAt(now) != by.UserName
	resolved, noPerson := m.status == models.CaseResolved, m.noPerson(by)
	takesOver := (m.queue == models.QueueAP || m.queue == models.QueueAPLead) && by.Has(models.RoleAPLead)
	switch op := p.rng.IntN(16); op {
	case 0, 1:
		p.handOver(m, p.robot())
	case 2, 3:
		_, err := c.desk.Claim(t.Context(), by, m.id)
		if p.expect("claim "+by.UserName, err, first(noPerson, when(resolved, conflict), when(!m.works(by), forbidden), when(byOther, conflict))) {
			m.lend(by, now)
		}
	case 4:
		_, err := c.desk.Release(t.Context(), by, m.id)
		if p.expect("release "+by.UserName, err, first(noPerson, when(resolved, conflict), when(!m.works(by), forbidden), when(byOther, conflict))) {
			m.free()
		}
	case 5:
		_, err := c.desk.TakeOver(t.Context(), by, m.id)
		if p.expect("take_over "+by.UserName, err, first(noPerson, when(resolved, conflict), when(!takesOver, forbidden))) {
			m.lend(by, now)
		}
	case 6:
		_, err := c.desk.Renew(t.Context(), by, m.id)
		if p.expect("renew "+by.UserName, err, first(noPerson, when(resolved, conflict))) && m.holderAt(now) == by.UserName {
			m.lend(by, now)
		}
	case 7, 8, 9:
		p.decide(m, by, byOther, []string{"confirm_duplicate", "ask_agent", "ask_agent", "hold_for_statement"}[p.rng.IntN(4)])
	case 10:
		robot := p.robot()
		_, err := c.desk.Answer(t.Context(), robot, queue.AnswerInput{CaseID: m.id, Answer: "It is another delivery.", RunID: "run-2"}, models.Idempotency{})
		if p.expect("answer "+robot.UserName, err, first(when(!m.filers[robot.UserName], models.NotFound), when(!m.question, conflict))) {
			m.version++
			m.handovers++
			m.said, m.question, m.snoozed = "", false, time.Time{}
		}
	case 11:
		seen, until := p.version(m), now.Add(time.Duration(1+p.rng.IntN(90))*time.Minute)
		_, err := c.desk.Snooze(t.Context(), by, queue.SnoozeInput{CaseID: m.id, Until: models.At(until), Version: seen})
		if p.expect("snooze "+by.UserName, err, first(noPerson, when(resolved, conflict), when(seen != m.version, conflict), when(m.status == models.CaseHeld, conflict),
			when(!m.works(by), forbidden), when(byOther, conflict))) {
			m.free()
			m.snoozed = until
		}
	case 12:
		seen, to := p.version(m), []models.Queue{models.QueueAP, models.QueueAPLead}[p.rng.IntN(2)]
		_, err := c.desk.Reroute(t.Context(), by, queue.RerouteInput{CaseID: m.id, To: to, Reason: "belongs there", Version: seen})
		if p.expect("reroute "+by.UserName, err, first(noPerson, when(resolved, conflict), when(seen != m.version, conflict), when(m.status == models.CaseHeld, conflict),
			when(!m.works(by) && !by.Has(models.RoleAPLead), forbidden), when(byOther && !takesOver, conflict), when(to == m.queue, models.ValidationError))) {
			m.free()
			m.version++
			m.queue, m.snoozed = to, time.Time{}
		}
	case 13:
		if p.rng.IntN(3) > 0 {
			return
		}
		robot := p.robot()
		_, err := c.desk.WithdrawCase(t.Context(), robot, queue.WithdrawInput{CaseID: m.id}, models.Idempotency{})
		if p.expect("withdraw "+robot.UserName, err, first(when(!m.filers[robot.UserName], models.NotFound), when(resolved, conflict))) {
			m.end(models.InstructStop)
		}
	case 14:
		step := time.Duration(p.rng.IntN(25)) * time.Minute
		if p.rng.IntN(8) == 0 {
			step = 26 * time.Hour
		}
		c.clock.Advance(step)
		p.jobs()
	case 15:
		p.jobs()
	}
}

func (m *modelCase) end(said models.InstructionKind) {
	m.free()
	m.version++
	m.status, m.said, m.question, m.snoozed, m.held = models.CaseResolved, said, false, time.Time{}, models.Date{}
}

func (p *play) handOver(m *modelCase, robot models.Principal) {
	out, err := p.c.desk.HandOver(p.t.Context(), robot, p.c.stop(m.invoice, models.DuplicateInvoice, `{"duplicate_of":"900"}`), models.Idempotency{})
	if !p.expect("hand_over "+robot.UserName, err, "") {
		return
	}
	if m.status == models.CaseResolved {
		if !out.Created || out.CaseID == m.id {
			p.t.Fatalf("a stop after the case was resolved must open another: %+v", out)
		}
		*m = modelCase{id: out.CaseID, invoice: m.invoice, status: models.CaseOpen, queue: models.QueueAP, version: 1, handovers: 1, filers: map[string]bool{robot.UserName: true}}
		return
	}
	if out.Created || out.CaseID != m.id {
		p.t.Fatalf("the same stop must join its case %s: %+v", m.id, out)
	}
	m.version++
	m.handovers++
	m.filers[robot.UserName] = true
	m.snoozed = time.Time{}
}

func (p *play) decide(m *modelCase, by models.Principal, byOther bool, exit string) {
	now, seen := p.now(), p.version(m)
	in := queue.DecideInput{CaseID: m.id, Exit: exit, Reason: "Looked at both.", Version: seen, Input: map[string]string{}}
	until := models.DateOf(models.At(now), time.UTC).AddDays(2 + p.rng.IntN(3))
	switch exit {
	case "ask_agent":
		in.Input["question"] = "Which delivery is it?"
	case "hold_for_statement":
		in.Input["until"] = until.String()
	}
	_, err := p.c.desk.Decide(p.t.Context(), by, in)
	if !p.expect("decide_"+exit+" "+by.UserName, err, first(m.noPerson(by), when(m.status == models.CaseResolved, conflict), when(seen != m.version, conflict),
		when(!m.works(by), forbidden), when(byOther, conflict), when(exit == "ask_agent" && m.question, models.ValidationError))) {
		return
	}
	switch exit {
	case "ask_agent":
		m.version++
		m.lend(by, now)
		m.status, m.said, m.question, m.held = models.CaseOpen, models.InstructResume, true, models.Date{}
	case "hold_for_statement":
		m.free()
		m.version++
		m.status, m.said, m.question, m.snoozed, m.held = models.CaseHeld, models.InstructWait, false, time.Time{}, until
	default:
		m.end(models.InstructStop)
	}
}

// jobs does what is due: snoozed cases come back, held ones on their day.
func (p *play) jobs() {
	p.c.runJobs()
	berlin, err := time.LoadLocation("Europe/Berlin")
	must(p.t, err)
	for _, m := range p.cases {
		if m.status == models.CaseHeld && !p.now().Before(m.held.StartIn(berlin).Time) {
			m.free()
			m.version++
			m.status, m.said, m.held = models.CaseOpen, "", models.Date{}
		}
		if !m.snoozed.IsZero() && !p.now().Before(m.snoozed) {
			m.snoozed = time.Time{}
		}
	}
}

// check compares the desk's state of a case with the model's.
func (p *play) check(m *modelCase) {
	p.t.Helper()
	v := p.c.get(p.c.aude, m.id)
	said, question := models.InstructionKind(""), false
	if v.Instruction != nil {
		said, question = v.Instruction.Kind, v.Instruction.Question != ""
	}
	holder := ""
	if v.ClaimedBy != nil {
		holder = *v.ClaimedBy
	}
	if v.Status != m.status || v.Queue != m.queue || v.Version != m.version || len(v.Handovers) != m.handovers || said != m.said || question != m.question || holder != m.holderAt(p.now()) {
		p.t.Fatalf("the desk says %s in %s at version %d with %d handovers, held by %q, told %q (question %t)\nthe model %+v\n%s",
			v.Status, v.Queue, v.Version, len(v.Handovers), holder, said, question, *m, strings.Join(p.history[max(0, len(p.history)-25):], "\n"))
	}
}

// TestCasesBehaveLikeTheirModel lets many actors do random things to cases, one after the other, and holds
// every answer and state against a model of a few fields.
func TestCasesBehaveLikeTheirModel(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		p := &play{t: t, c: c, rng: rand.New(rand.NewPCG(seed, 3)), done: map[string]int{}}
		for i := range 3 {
			invoice := fmt.Sprintf("51056%05d", i)
			out := c.file(c.stop(invoice, models.DuplicateInvoice, `{"duplicate_of":"900"}`))
			p.cases = append(p.cases, &modelCase{id: out.CaseID, invoice: invoice, status: models.CaseOpen, queue: models.QueueAP, version: 1, handovers: 1, filers: map[string]bool{c.agent.UserName: true}})
		}
		wanted := []string{"claim", "claim CONFLICT", "release", "decide_ask_agent", "answer", "answer CONFLICT", "hand_over"}
		missing := func() int {
			return slices.IndexFunc(wanted, func(kind string) bool { return p.done[kind] == 0 })
		}
		for i := 0; i < 400 || i < 4000 && missing() >= 0; i++ { // chance may take longer to come to all of it
			p.step()
			for _, m := range p.cases {
				p.check(m)
			}
		}
		if i := missing(); i >= 0 {
			t.Errorf("%q never happened, so the play proves nothing about it: %v", wanted[i], p.done)
		}
	})
}

// TestCasesStandManyActorsAtOnce lets the same actors act at the same time. No order can be foretold, but
// every success counts once: versions, handovers and ends add up with what the actors were told and with the
// trail.
func TestCasesStandManyActorsAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		const cases = 3
		var mu sync.Mutex
		raised, handed, ended := map[string]int64{}, map[string]int{}, map[string]int{}
		ids := make([]string, cases)
		for i := range ids {
			ids[i] = c.file(c.stop(fmt.Sprintf("51056%05d", i), models.DuplicateInvoice, `{"duplicate_of":"900"}`)).CaseID
			handed[ids[i]] = 1
		}
		count := func(id string, version int64, handovers, ends int) {
			mu.Lock()
			defer mu.Unlock()
			raised[id] += version
			handed[id] += handovers
			ended[id] += ends
		}
		ok := func(err error) bool {
			if err != nil && !models.IsCode(err, conflict) && !models.IsCode(err, forbidden) && !models.IsCode(err, models.ValidationError) && !models.IsCode(err, models.NotFound) {
				t.Errorf("unforeseen: %v", err)
			}
			return err == nil
		}
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		var all sync.WaitGroup
		for worker, by := range []models.Principal{c.clara, c.carl, c.lena, c.clara, c.agent, c.other} {
			rng := rand.New(rand.NewPCG(seed, uint64(worker)))
			all.Go(func() {
				for range 30 {
					id := ids[rng.IntN(cases)]
					seen, err := c.desk.Get(t.Context(), c.aude, id)
					if err != nil {
						t.Error(err)
						return
					}
					if by.Channel != models.ChannelWeb {
						if rng.IntN(3) == 0 {
							if _, err := c.desk.Answer(t.Context(), by, queue.AnswerInput{CaseID: id, Answer: "yes", RunID: "run-2"}, models.Idempotency{}); ok(err) {
								count(id, 1, 1, 0)
							}
							continue
						}
						n := slices.Index(ids, id)
						out, err := c.desk.HandOver(t.Context(), by, c.stop(fmt.Sprintf("51056%05d", n), models.DuplicateInvoice, `{"duplicate_of":"900"}`), models.Idempotency{})
						if ok(err) && out.CaseID == id {
							count(id, 1, 1, 0)
						}
						continue
					}
					switch rng.IntN(6) {
					case 0:
						_, err := c.desk.Claim(t.Context(), by, id)
						_ = ok(err)
					case 1:
						_, err := c.desk.Release(t.Context(), by, id)
						_ = ok(err)
					case 2, 3:
						if _, err := c.desk.Decide(t.Context(), by, queue.DecideInput{CaseID: id, Exit: "ask_agent", Input: map[string]string{"question": "Which?"}, Version: seen.Version}); ok(err) {
							count(id, 1, 0, 0)
						}
					case 4:
						if rng.IntN(4) > 0 {
							continue
						}
						if _, err := c.desk.Decide(t.Context(), by, queue.DecideInput{CaseID: id, Exit: "confirm_duplicate", Reason: "It is.", Version: seen.Version}); ok(err) {
							count(id, 1, 0, 1)
						}
					case 5:
						to := models.QueueAPLead
						if seen.Queue == models.QueueAPLead {
							to = models.QueueAP
						}
						if _, err := c.desk.Reroute(t.Context(), by, queue.RerouteInput{CaseID: id, To: to, Reason: "there", Version: seen.Version}); ok(err) {
							count(id, 1, 0, 0)
						}
					}
				}
			})
		}
		all.Wait()
		for _, id := range ids {
			v := c.get(c.aude, id)
			if v.Version != 1+raised[id] || len(v.Handovers) != handed[id] || ended[id] > 1 || (ended[id] == 1) != (v.Status == models.CaseResolved) {
				t.Errorf("case %s is %s at version %d with %d handovers; its actors were told of %d changes, %d handovers and %d ends",
					id, v.Status, v.Version, len(v.Handovers), raised[id], handed[id], ended[id])
			}
			trail := c.actions(id)
			changes := int64(0)
			for _, action := range trail {
				if slices.Contains([]string{"case.joined", "case.answered", "case.decided", "case.rerouted"}, action) {
					changes++
				}
			}
			if changes != raised[id] {
				t.Errorf("the trail of %s tells of %d changes, its actors of %d: %v", id, changes, raised[id], trail)
			}
		}
	})
}
