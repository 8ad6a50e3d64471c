package erp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/gowebpki/jcs"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/mcpcall"
)

// performing is one write and how to book it.
type performing struct {
	tool, invoice, approval string
	// book changes the record and says what was done; the documents are counted
	// in the same change that notes the write as booked.
	book func(b *state, r *Record) Booking
}

// perform runs a write once per approval: note it, redeem at the desk, book,
// report. Called again with the same approval and arguments it goes on from the
// step that was reached and answers the same document.
func (s *Server) perform(ctx context.Context, raw json.RawMessage, p performing) (any, *mcpcall.NamedError) {
	var record Record
	var found bool
	var missing *mcpcall.NamedError
	s.books.view(func(b *state) {
		if record, found = b.Invoices[p.invoice]; !found {
			missing = invoiceNotFound(b, p.invoice)
		}
	})
	if missing != nil {
		return nil, missing
	}
	if p.approval == "" {
		return nil, named("APPROVAL_MISSING", "request_approval", false, details{"tool": p.tool, "invoice_id": p.invoice},
			"%s needs an approval_id. Ask for the approval of exactly this call first.", p.tool)
	}
	digest, err := digestOf(raw)
	if err != nil {
		return nil, invalid("", "arguments cannot be compared: "+err.Error())
	}

	unlock := s.approvals.lock(p.approval)
	defer unlock()

	var w pendingWrite
	var known bool
	s.books.view(func(b *state) { w, known = b.Writes[p.approval] })
	switch {
	case known && w.Digest != digest:
		return nil, named("APPROVAL_MISSING", "request_approval", false,
			details{"tool": p.tool, "invoice_id": p.invoice, "reason": "different_call"}, "This approval is for another call.")
	case known && w.Step != asked:
		s.reportSoon()
		return written(w), nil
	case !known && (record.Status != Open && record.Status != Released):
		return nil, named("CONFLICT", "route_to_person", false, details{"invoice_id": p.invoice, "status": record.Status},
			"Invoice %s is already %s.", p.invoice, record.Status)
	}
	if !known {
		w = pendingWrite{ApprovalID: p.approval, Workspace: record.Workspace, Tool: p.tool, Invoice: p.invoice, Arguments: raw, Digest: digest, Step: asked}
		if err := s.books.change(func(b *state) error { b.Writes[p.approval] = w; return nil }); err != nil {
			return nil, s.broken(err)
		}
	}

	grant, err := s.desk.redeem(ctx, w)
	var refused *mcpcall.NamedError
	if errors.As(err, &refused) {
		if err := s.books.change(func(b *state) error { delete(b.Writes, p.approval); return nil }); err != nil {
			return nil, s.broken(err)
		}
		return nil, refused
	}
	if err != nil {
		// Whether it was redeemed is not known; the note stays and the next call or
		// the next start asks again with the same key.
		s.log.Warn("redeem not answered", "tool", p.tool, "invoice", p.invoice, "error", err)
		return nil, named("UNAVAILABLE", "hold_and_recheck", true, details{"retry_after_seconds": 1}, "The approval could not be redeemed just now.")
	}

	err = s.books.change(func(b *state) error {
		r, ok := b.Invoices[p.invoice]
		if !ok {
			return fmt.Errorf("invoice %s is gone", p.invoice)
		}
		done := p.book(b, &r)
		done.ApprovalID, done.RequestID, done.Tool, done.Invoice = p.approval, grant.RequestID, p.tool, p.invoice
		b.Invoices[p.invoice] = r
		b.Bookings = append(b.Bookings, done)
		w.Step, w.DocumentNumber = booked, done.DocumentNumber
		b.Writes[p.approval] = w
		return nil
	})
	if err != nil {
		return nil, s.broken(err)
	}
	s.log.Info("written", "tool", p.tool, "invoice", p.invoice, "document", w.DocumentNumber)
	s.reportSoon()
	return written(w), nil
}

func written(w pendingWrite) any {
	return details{"invoice_id": w.Invoice, "status": "posted", "document_number": w.DocumentNumber}
}

// digestOf compares arguments as the desk does: without approval_id and
// idempotency_key, in RFC 8785 form.
func digestOf(raw json.RawMessage) (string, error) {
	var args map[string]json.RawMessage
	if err := json.Unmarshal(raw, &args); err != nil {
		return "", err
	}
	delete(args, "approval_id")
	delete(args, "idempotency_key")
	plain, err := json.Marshal(args)
	if err != nil {
		return "", err
	}
	canonical, err := jcs.Transform(plain)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}

// finish takes up what a crash left behind: writes that were asked for are
// redeemed again under their old key and booked, booked ones are reported.
func (s *Server) finish(ctx context.Context) {
	var left []pendingWrite
	s.books.view(func(b *state) {
		for _, w := range b.Writes {
			if w.Step == asked {
				left = append(left, w)
			}
		}
	})
	for _, w := range left {
		var refused *mcpcall.NamedError
		switch w.Tool {
		case "post_invoice_adjustment":
			var in postArgs
			if json.Unmarshal(w.Arguments, &in) == nil {
				_, refused = s.post(ctx, w.Arguments, in)
			}
		case "notify_supplier":
			var in notifyArgs
			if json.Unmarshal(w.Arguments, &in) == nil {
				_, refused = s.notify(ctx, w.Arguments, in)
			}
		}
		if refused != nil {
			s.log.Info("unfinished write refused", "tool", w.Tool, "invoice", w.Invoice, "code", refused.Code)
		}
	}
	s.reportSoon()
}

// report tells the desk about booked writes until told to stop.
func (s *Server) report(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.wake:
		}
		var left []pendingWrite
		s.books.view(func(b *state) {
			for _, w := range b.Writes {
				if w.Step == booked {
					left = append(left, w)
				}
			}
		})
		for _, w := range left {
			err := s.desk.report(ctx, w)
			var refused *mcpcall.NamedError
			if err != nil && !errors.As(err, &refused) {
				if ctx.Err() == nil {
					s.log.Warn("report not answered", "invoice", w.Invoice, "error", err)
				}
				continue
			}
			if refused != nil {
				s.log.Error("report refused", "invoice", w.Invoice, "code", refused.Code, "message", refused.Message)
				continue
			}
			if err := s.books.change(func(b *state) error {
				w.Step = reported
				b.Writes[w.ApprovalID] = w
				return nil
			}); err != nil {
				s.log.Error("books", "error", err)
			}
		}
	}
}

func (s *Server) reportSoon() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// keyed locks by name.
type keyed struct {
	mu    sync.Mutex
	locks map[string]*sync.Mutex
}

func (k *keyed) lock(name string) (unlock func()) {
	k.mu.Lock()
	if k.locks == nil {
		k.locks = map[string]*sync.Mutex{}
	}
	l := k.locks[name]
	if l == nil {
		l = &sync.Mutex{}
		k.locks[name] = l
	}
	k.mu.Unlock()
	l.Lock()
	return l.Unlock
}
