package models

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"
)

// BreakKind says what was done to a chain.
type BreakKind string

// The kinds of break.
const (
	BreakEdited    BreakKind = "edited"       // an event does not say what was sealed
	BreakRemoved   BreakKind = "removed"      // events are missing before others
	BreakInserted  BreakKind = "inserted"     // an event stands there that the desk did not seal there
	BreakReordered BreakKind = "reordered"    // an event stands in another's place
	BreakTail      BreakKind = "removed tail" // events are missing at the end
	BreakRewritten BreakKind = "rewritten"    // every link fits, yet it is not the chain that was signed or sealed
)

// ChainBreak is the first place where a chain does not hold.
type ChainBreak struct {
	Kind    BreakKind `json:"kind"`
	Seq     int64     `json:"seq"` // place in the chain
	EventID string    `json:"event_id,omitempty"`
	At      Time      `json:"at"` // of that event, as it says now; null when there is none
	Text    string    `json:"text"`
}

// ChainReport is what was found in one workspace's chain.
type ChainReport struct {
	WorkspaceID string      `json:"workspace_id"`
	Events      int64       `json:"events"` // in the chain
	HeadSeq     int64       `json:"head_seq"`
	HeadHash    string      `json:"head_hash"`
	HeadAt      Time        `json:"head_at"`
	Unsealed    int64       `json:"unsealed"` // written and not yet in the chain
	UnsealedAt  Time        `json:"unsealed_since"`
	SealedLate  int64       `json:"sealed_late"` // see LateSeal
	Signed      int         `json:"checkpoints"` // that the chain was held against
	Foreign     int         `json:"checkpoints_of_other_keys"`
	LastSigned  Time        `json:"last_checkpoint"` // of the desk's own
	Break       *ChainBreak `json:"break"`
}

// Name is the workspace's id; what belongs to none has a name of its own.
func (r ChainReport) Name() string { return orDesk(r.WorkspaceID) }

// LateSeal is how much earlier than an event before it one may have happened. What exceeds it was sealed
// long after it was written: the desk was down in between, its clock went back, or somebody put the
// event there. That is no break; it is counted.
const LateSeal = 15 * time.Minute

// VerifyOptions choose what is verified.
type VerifyOptions struct {
	Workspace *string      // nil: all
	Signed    []Checkpoint // kept elsewhere: the chain of today must extend each
	Key       *AuditKey    // checks the desk's own checkpoints; nil: they are held against the chain unchecked
	// Progress is told how far a chain has been read; of is 0 when that is not known.
	Progress func(workspaceID string, done, of int64)
}

// VerifyAudit reads whole chains, one page at a time, and says of each what it found. Writing goes on
// meanwhile.
func (s *Store) VerifyAudit(ctx context.Context, o VerifyOptions) ([]ChainReport, error) {
	var chains []string
	if o.Workspace != nil {
		chains = []string{*o.Workspace}
	} else if err := s.View(ctx, Principal{}, func(tx *Tx) error {
		var err error
		chains, err = tx.chains()
		return err
	}); err != nil {
		return nil, err
	}
	if o.Workspace == nil {
		for _, c := range o.Signed {
			if !slices.Contains(chains, c.WorkspaceID) {
				chains = append(chains, c.WorkspaceID)
			}
		}
		slices.Sort(chains)
	}
	reports := make([]ChainReport, 0, len(chains))
	for _, ws := range chains {
		v := &verifier{store: s, by: System(ws), report: ChainReport{WorkspaceID: ws}, progress: o.Progress}
		if err := v.run(ctx, o); err != nil {
			return nil, fmt.Errorf("models: verify the trail of %s: %w", orDesk(ws), err)
		}
		reports = append(reports, v.report)
	}
	return reports, nil
}

// chains names every workspace that has events, should have, or had.
func (tx *Tx) chains() ([]string, error) {
	// Each step looks up the next name in an index, instead of reading every event.
	var names []string
	err := tx.DB.Raw(`WITH RECURSIVE w(id) AS (
			SELECT MIN(workspace_id) FROM audit_events
			UNION ALL
			SELECT (SELECT MIN(e.workspace_id) FROM audit_events e WHERE e.workspace_id > w.id) FROM w WHERE w.id IS NOT NULL
		)
		SELECT id FROM w WHERE id IS NOT NULL
		UNION SELECT id FROM workspaces
		UNION SELECT workspace_id FROM audit_heads
		UNION SELECT workspace_id FROM audit_checkpoints
		ORDER BY 1`).Scan(&names).Error
	return names, err
}

const verifyPage = 1000 // events in memory at a time

// maxLost bounds how many places beyond the last event are tried when it is asked where an event stood.
const maxLost = 100_000

// verifier walks one chain.
type verifier struct {
	store    *Store
	by       Principal
	report   ChainReport
	progress func(string, int64, int64)

	sealed    int64  // how far the desk says it sealed
	marks     []mark // in the order of their places
	seq       int64  // of the event read last
	hash      string
	latest    Time // of all events so far
	confirmed mark // the last one met
}

// mark is a place in the chain that is known from a checkpoint.
type mark struct {
	Checkpoint
	kept bool // elsewhere
}

func (m mark) words() string {
	when := m.At.Format("2 Jan 2006, 15:04:05 UTC")
	if m.kept {
		return "the checkpoint you kept (" + when + ")"
	}
	return "the desk's own signed checkpoint (" + when + ")"
}

func (v *verifier) run(ctx context.Context, o VerifyOptions) error {
	err := v.view(ctx, func(tx *Tx) error {
		if err := v.readMarks(tx, o); err != nil {
			return err
		}
		head, err := tx.sealedHead(v.by.WorkspaceID)
		if head != nil {
			v.sealed = head.Seq
		}
		return err
	})
	if err != nil {
		return err
	}
	var head *auditHead
	var after *AuditEvent
	for end := false; !end; {
		var page []AuditEvent
		err := v.view(ctx, func(tx *Tx) error {
			var err error
			if page, err = tx.chainAfter(v.by.WorkspaceID, after, verifyPage); err != nil || len(page) == verifyPage {
				return err
			}
			// The end and the desk's own note of it, in one snapshot.
			end = true
			if head, err = tx.sealedHead(v.by.WorkspaceID); err != nil {
				return err
			}
			return v.readUnsealed(tx)
		})
		if err != nil {
			return err
		}
		for i, e := range page {
			if v.report.Break == nil {
				var next *AuditEvent
				if i+1 < len(page) {
					next = &page[i+1]
				}
				if err := v.step(ctx, e, next); err != nil {
					return err
				}
			}
			v.report.Events++
			v.report.HeadSeq, v.report.HeadHash, v.report.HeadAt = *e.Seq, deref(e.Hash), e.At
		}
		if len(page) > 0 {
			after = &page[len(page)-1]
		}
		if v.progress != nil {
			v.progress(v.by.WorkspaceID, v.report.Events, v.sealed)
		}
	}
	if v.report.Break == nil {
		return v.atEnd(ctx, head)
	}
	return nil
}

func (v *verifier) view(ctx context.Context, read func(*Tx) error) error {
	return v.store.View(ctx, v.by, read)
}

func (tx *Tx) sealedHead(workspaceID string) (*auditHead, error) {
	var rows []auditHead
	if err := tx.DB.Where("workspace_id = ?", workspaceID).Limit(1).Find(&rows).Error; err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

// chainAfter reads on in the chain. Two events may have one place when somebody took the unique index
// away; both are read.
func (tx *Tx) chainAfter(workspaceID string, after *AuditEvent, limit int) ([]AuditEvent, error) {
	db := tx.DB.Where("workspace_id = ? AND seq IS NOT NULL", workspaceID)
	if after != nil {
		db = db.Where("seq >= ? AND (seq > ? OR id > ?)", *after.Seq, *after.Seq, after.ID)
	}
	var page []AuditEvent
	err := db.Order("seq, id").Limit(limit).Find(&page).Error
	return page, err
}

// readMarks takes what was signed, the desk's own and what was kept elsewhere.
func (v *verifier) readMarks(tx *Tx, o VerifyOptions) error {
	for _, c := range o.Signed {
		if c.WorkspaceID == v.by.WorkspaceID {
			v.marks = append(v.marks, mark{c, true})
		}
	}
	var rows []StoredCheckpoint
	if err := tx.DB.Where("workspace_id = ?", v.by.WorkspaceID).Find(&rows).Error; err != nil {
		return err
	}
	for _, row := range rows {
		c := Checkpoint{WorkspaceID: row.WorkspaceID, Seq: row.Seq, Hash: row.Hash, At: row.At}
		if o.Key != nil {
			opened, err := o.Key.Open([]byte(row.Note))
			if err != nil || len(opened) != 1 || opened[0].WorkspaceID != row.WorkspaceID {
				v.report.Foreign++
				continue
			}
			c = opened[0]
		}
		if row.At.After(v.report.LastSigned.Time) {
			v.report.LastSigned = row.At
		}
		v.marks = append(v.marks, mark{c, false})
	}
	slices.SortStableFunc(v.marks, func(a, b mark) int { return cmp.Compare(a.Seq, b.Seq) })
	v.report.Signed = len(v.marks)
	return nil
}

func (v *verifier) readUnsealed(tx *Tx) error {
	db := tx.DB.Model(&AuditEvent{}).Where("workspace_id = ? AND seq IS NULL", v.by.WorkspaceID)
	if err := db.Count(&v.report.Unsealed).Error; err != nil || v.report.Unsealed == 0 {
		return err
	}
	var oldest []AuditEvent
	err := tx.DB.Where("workspace_id = ? AND seq IS NULL", v.by.WorkspaceID).Order("id").Limit(1).Find(&oldest).Error
	if len(oldest) == 1 {
		v.report.UnsealedAt = oldest[0].At
	}
	return err
}

// step goes on to the next event.
func (v *verifier) step(ctx context.Context, e AuditEvent, next *AuditEvent) error {
	seq, prev, hash := *e.Seq, deref(e.PrevHash), deref(e.Hash)
	fits := seq == v.seq+1 && prev == v.hash && e.digest(seq, prev) == hash
	if !fits {
		var err error
		v.report.Break, err = v.diagnose(ctx, e, next)
		return err
	}
	v.seq, v.hash = seq, hash
	if e.At.Add(LateSeal).Before(v.latest.Time) {
		v.report.SealedLate++
	}
	if e.At.After(v.latest.Time) {
		v.latest = e.At
	}
	for len(v.marks) > 0 && v.marks[0].Seq <= seq {
		m := v.marks[0]
		v.marks = v.marks[1:]
		if m.Seq == seq && m.Hash != hash {
			v.report.Break = v.brk(BreakRewritten, &e, seq, fmt.Sprintf("Every link fits, but event %d is not the one in %s: the chain was written anew somewhere %s.", seq, m.words(), v.since(seq)))
			return nil
		}
		v.confirmed = m
	}
	return nil
}

// since says where a rewritten part can begin.
func (v *verifier) since(seq int64) string {
	if v.confirmed.Seq == 0 {
		return fmt.Sprintf("between event 1 and event %d", seq)
	}
	return fmt.Sprintf("between event %d, the one after the last that is signed and unchanged, and event %d", v.confirmed.Seq+1, seq)
}

func (v *verifier) brk(kind BreakKind, e *AuditEvent, seq int64, text string) *ChainBreak {
	b := &ChainBreak{Kind: kind, Seq: seq, Text: text}
	if e != nil {
		b.EventID, b.At = e.ID, e.At
	}
	return b
}

// diagnose says what was done where an event does not follow the one before it.
func (v *verifier) diagnose(ctx context.Context, e AuditEvent, next *AuditEvent) (*ChainBreak, error) {
	seq, prev, hash := *e.Seq, deref(e.PrevHash), deref(e.Hash)
	asSealed := e.digest(seq, prev) == hash
	switch {
	case seq < 1:
		return v.brk(BreakInserted, &e, seq, fmt.Sprintf("An event stands at number %d, before the first of the chain.", seq)), nil
	case seq == v.seq:
		return v.brk(BreakInserted, &e, seq, fmt.Sprintf("Two events have number %d; the desk gives each number once.", seq)), nil
	case asSealed && prev == v.hash && seq > v.seq+1:
		return v.brk(BreakRemoved, &e, v.seq+1, fmt.Sprintf("%s missing: event %d follows event %d directly, so it was sealed anew by somebody else than the desk.", count(seq-v.seq-1), seq, v.seq)), nil
	case seq > v.seq+1 && e.digest(v.seq+1, prev) == hash && prev == v.hash:
		return v.brk(BreakReordered, &e, seq, fmt.Sprintf("The event at number %d was sealed as number %d and moved.", seq, v.seq+1)), nil
	}
	was, found, err := v.placeOf(ctx, e)
	if err != nil {
		return nil, err
	}
	before, err := v.byHash(ctx, prev)
	if err != nil {
		return nil, err
	}
	if found && was != seq {
		follows := prev == "" || before != nil && *before.Seq < seq // the one it followed still stands before it
		switch {
		case was < seq && follows && seq <= v.seq+1:
			return v.brk(BreakInserted, &e, was, fmt.Sprintf("%s put in at %s: the event sealed as number %d now stands at number %d.", put(seq-was), places(was, seq-1), was, seq)), nil
		case was > seq && before == nil && prev != "":
			return v.brk(BreakRemoved, &e, seq, fmt.Sprintf("%s missing before this one, and the rest was renumbered: the event sealed as number %d now stands at number %d.", count(was-seq), was, seq)), nil
		}
		return v.brk(BreakReordered, &e, seq, fmt.Sprintf("The event at number %d was sealed as number %d: events changed places.", seq, was)), nil
	}
	if seq > v.seq+1 {
		return v.brk(BreakRemoved, &e, v.seq+1, fmt.Sprintf("%s missing: the chain goes from number %d to number %d.", count(seq-v.seq-1), v.seq, seq)), nil
	}
	if asSealed {
		if before != nil && *before.Seq < v.seq {
			return v.brk(BreakInserted, &e, *before.Seq+1, fmt.Sprintf("%s put in at %s: event %d was sealed right after event %d.", put(v.seq-*before.Seq), places(*before.Seq+1, v.seq), seq, *before.Seq)), nil
		}
		if v.seq == 0 {
			return v.brk(BreakRemoved, &e, seq, "The first event says that it follows another: the beginning of the chain is missing."), nil
		}
		return v.brk(BreakEdited, &e, v.seq, fmt.Sprintf("Event %d was changed together with its own hash; event %d still holds the hash of what was sealed before it.", v.seq, seq)), nil
	}
	if next == nil {
		if next, err = v.following(ctx, e); err != nil {
			return nil, err
		}
	}
	if next != nil && deref(next.PrevHash) == v.hash && *next.Seq > seq {
		return v.brk(BreakInserted, &e, seq, fmt.Sprintf("The event at number %d was put in: the one after it follows event %d directly.", seq, v.seq)), nil
	}
	return v.brk(BreakEdited, &e, seq, fmt.Sprintf("Event %d does not say what was sealed: one of its fields was changed afterwards.", seq)), nil
}

// placeOf finds under which number an event was sealed, if it was sealed as it stands.
func (v *verifier) placeOf(ctx context.Context, e AuditEvent) (int64, bool, error) {
	prev, hash := deref(e.PrevHash), deref(e.Hash)
	if e.digest(*e.Seq, prev) == hash {
		return *e.Seq, true, nil
	}
	// Its number alone was changed, or its content stands in the place of another event.
	var after *AuditEvent
	for {
		if err := ctx.Err(); err != nil {
			return 0, false, err
		}
		var page []AuditEvent
		err := v.view(ctx, func(tx *Tx) error {
			var err error
			page, err = tx.chainAfter(v.by.WorkspaceID, after, verifyPage)
			return err
		})
		if err != nil {
			return 0, false, err
		}
		if len(page) == 0 { // the chain was longer once
			// How much longer is the desk's own note, which whoever edits events can edit too.
			last := min(v.sealed, *after.Seq+maxLost)
			for place := *after.Seq + 1; place <= last; place++ {
				if place%verifyPage == 0 && ctx.Err() != nil {
					return 0, false, ctx.Err()
				}
				if e.digest(place, prev) == hash {
					return place, true, nil
				}
			}
			return 0, false, nil
		}
		for _, other := range page {
			place := *other.Seq
			if e.digest(place, prev) == hash || other.ID != e.ID && e.digest(place, deref(other.PrevHash)) == deref(other.Hash) {
				return place, true, nil
			}
		}
		after = &page[len(page)-1]
	}
}

func (v *verifier) byHash(ctx context.Context, hash string) (*AuditEvent, error) {
	var rows []AuditEvent
	if hash == "" {
		return nil, nil
	}
	err := v.view(ctx, func(tx *Tx) error {
		return tx.DB.Where("workspace_id = ? AND seq IS NOT NULL AND hash = ?", v.by.WorkspaceID, hash).Order("seq").Limit(1).Find(&rows).Error
	})
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return &rows[0], nil
}

func (v *verifier) following(ctx context.Context, e AuditEvent) (*AuditEvent, error) {
	var page []AuditEvent
	err := v.view(ctx, func(tx *Tx) error {
		var err error
		page, err = tx.chainAfter(v.by.WorkspaceID, &e, 1)
		return err
	})
	if err != nil || len(page) == 0 {
		return nil, err
	}
	return &page[0], nil
}

// atEnd holds the end of the chain against the desk's own note of it and against what was signed.
func (v *verifier) atEnd(ctx context.Context, head *auditHead) error {
	switch {
	case head == nil && v.seq > 0:
		v.report.Break = v.brk(BreakTail, nil, v.seq, "The desk's own note of how far it sealed is gone, so events may be missing at the end.")
	case head != nil && head.Seq > v.seq:
		v.report.Break = v.brk(BreakTail, nil, v.seq+1, fmt.Sprintf("%s missing at the end: the desk sealed %d, the last one of %s.", count(head.Seq-v.seq), head.Seq, head.At.Format("2 Jan 2006, 15:04:05 UTC")))
	case head != nil && head.Seq < v.seq:
		v.report.Break = v.brk(BreakInserted, nil, head.Seq+1, fmt.Sprintf("%s after event %d, the last one the desk sealed.", stand(v.seq-head.Seq), head.Seq))
	case head != nil && head.Hash != v.hash:
		v.report.Break = v.brk(BreakRewritten, nil, v.seq, fmt.Sprintf("Every link fits, but event %d, the last one, is not the one the desk sealed: the chain was written anew somewhere %s.", v.seq, v.since(v.seq)))
	case len(v.marks) > 0:
		m := v.marks[len(v.marks)-1]
		v.report.Break = v.brk(BreakTail, nil, v.seq+1, fmt.Sprintf("%s missing at the end: %s covers %d events, and %d are left.", count(m.Seq-v.seq), m.words(), m.Seq, v.seq))
	case v.seq == 0 && v.report.Unsealed == 0:
		var known int64
		err := v.view(ctx, func(tx *Tx) error {
			return tx.DB.Model(&Workspace{}).Where("id = ?", v.by.WorkspaceID).Count(&known).Error
		})
		if err != nil {
			return err
		}
		if known > 0 {
			v.report.Break = v.brk(BreakTail, nil, 1, "There is no event at all, though the workspace exists, and making it is an event.")
		}
	}
	return nil
}

func deref(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func count(n int64) string {
	if n == 1 {
		return "1 event is"
	}
	return fmt.Sprintf("%d events are", n)
}

func put(n int64) string {
	if n == 1 {
		return "1 event was"
	}
	return fmt.Sprintf("%d events were", n)
}

func stand(n int64) string {
	if n == 1 {
		return "1 event stands"
	}
	return fmt.Sprintf("%d events stand", n)
}

func places(first, last int64) string {
	if first == last {
		return fmt.Sprintf("number %d", first)
	}
	return fmt.Sprintf("numbers %d to %d", first, last)
}

// AuditChains names every workspace that has a chain, or should have one. "" is the desk's own, of what
// belongs to no workspace.
func (s *Store) AuditChains(ctx context.Context) (names []string, err error) {
	err = s.View(ctx, Principal{}, func(tx *Tx) error {
		names, err = tx.chains()
		return err
	})
	return names, err
}
