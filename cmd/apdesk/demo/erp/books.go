package erp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"

	"github.com/natefinch/atomic"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/data"
)

// Invoice statuses. Open invoices wait; every other one is an end.
const (
	Open      = "open"
	Released  = "released" // matched; the payment run takes it
	Posted    = "posted"   // booked by an approved adjustment
	Disputed  = "disputed" // the supplier was asked for a corrected invoice
	Duplicate = "duplicate"
	Rejected  = "rejected"
	Blocked   = "blocked"
	Cancelled = "cancelled"
	Accrued   = "accrued"
	Returned  = "returned"
)

// Record is an invoice in the books.
type Record struct {
	data.Invoice
	// Matching is two_way when a person said so, else empty.
	Matching string `json:",omitempty"`
}

// Booking is one thing a write tool did. A second booking under one approval
// would be the mistake the whole arrangement exists to prevent.
type Booking struct {
	ApprovalID, RequestID, Tool, Invoice, DocumentNumber, Amount, Currency, PostingDate, Message string
}

// Steps of a write.
const (
	asked    = "asked"    // the desk may or may not have redeemed it
	booked   = "booked"   // redeemed and in the books
	reported = "reported" // the desk knows the document number
)

type pendingWrite struct {
	ApprovalID, Workspace, Tool, Invoice string
	Arguments                            json.RawMessage
	Digest, Step, DocumentNumber         string
}

// Books is everything the ERP knows. Change goes through change, which saves
// before it returns.
type Books struct {
	path string
	mu   sync.Mutex
	s    state
}

type state struct {
	Suppliers map[string]data.Supplier
	Orders    map[string]data.Order
	Invoices  map[string]Record
	// NotDuplicates holds pairs a person judged different, "a|b" sorted.
	NotDuplicates map[string]bool
	// Misses lists, per order, the agent runs that asked for its receipt in vain.
	Misses map[string][]string
	Writes map[string]pendingWrite
	// Bookings in the order they happened.
	Bookings []Booking
	// Applied lists cases whose decision the office has carried out.
	Applied  map[string]bool
	Calls    map[string]int
	NextDoc  int
	NextNote int
}

// OpenBooks loads the books at path, or opens new ones with what the set says.
func OpenBooks(path string, first data.Books) (*Books, error) {
	b := &Books{path: path}
	raw, err := os.ReadFile(path)
	switch {
	case err == nil:
		if err := json.Unmarshal(raw, &b.s); err != nil {
			return nil, fmt.Errorf("books %s: %w", path, err)
		}
		return b, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("books: %w", err)
	}
	b.s = state{
		Suppliers: map[string]data.Supplier{}, Orders: map[string]data.Order{}, Invoices: map[string]Record{},
		NotDuplicates: map[string]bool{}, Misses: map[string][]string{}, Writes: map[string]pendingWrite{},
		Applied: map[string]bool{}, Calls: map[string]int{}, NextDoc: 1900005200, NextNote: 71000,
	}
	for _, s := range first.Suppliers {
		b.s.Suppliers[s.ID] = s
	}
	for _, o := range first.Orders {
		b.s.Orders[o.ID] = o
	}
	for _, i := range first.Invoices {
		b.s.Invoices[i.ID] = Record{Invoice: i}
	}
	return b, b.save()
}

// view reads the books.
func (b *Books) view(f func(s *state)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	f(&b.s)
}

// change alters the books and saves them; with an error nothing was altered.
func (b *Books) change(f func(s *state) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, err := json.Marshal(b.s)
	if err != nil {
		return fmt.Errorf("books: %w", err)
	}
	restore := func() {
		b.s = state{}
		if err := json.Unmarshal(before, &b.s); err != nil {
			panic("books: own copy unreadable: " + err.Error())
		}
	}
	if err := f(&b.s); err != nil {
		restore()
		return err
	}
	if err := b.save(); err != nil {
		restore()
		return err
	}
	return nil
}

func (b *Books) save() error {
	raw, err := json.MarshalIndent(b.s, "", " ")
	if err != nil {
		return fmt.Errorf("books: %w", err)
	}
	if err := atomic.WriteFile(b.path, bytes.NewReader(raw)); err != nil {
		return fmt.Errorf("books: %w", err)
	}
	return nil
}

// State is what the ERP shows of itself to the demo.
type State struct {
	Invoices []InvoiceState `json:"invoices"`
	// Unreported counts writes the desk has not been told about.
	Unreported int            `json:"unreported"`
	Calls      map[string]int `json:"calls"`
}

// InvoiceState is one invoice's end as the books have it.
type InvoiceState struct {
	ID             string `json:"id"`
	Workspace      string `json:"workspace"`
	Number         string `json:"number"`
	SupplierName   string `json:"supplier_name"`
	Amount         string `json:"amount"`
	Currency       string `json:"currency"`
	Status         string `json:"status"`
	DocumentNumber string `json:"document_number"`
	PostingDate    string `json:"posting_date"`
	// Writes counts bookings of write tools.
	Writes int `json:"writes"`
}

// State sums the books up, invoices in order of id.
func (b *Books) State() State {
	var out State
	b.view(func(s *state) {
		out.Calls = map[string]int{}
		for tool, n := range s.Calls {
			out.Calls[tool] = n
		}
		for _, w := range s.Writes {
			if w.Step != reported {
				out.Unreported++
			}
		}
		for _, r := range s.Invoices {
			i := InvoiceState{ID: r.ID, Workspace: r.Workspace, Number: r.Number, SupplierName: r.SupplierName,
				Amount: r.Amount, Currency: r.Currency, Status: r.Status, DocumentNumber: r.DocumentNumber}
			for _, k := range s.Bookings {
				if k.Invoice == r.ID {
					i.Writes++
					if k.PostingDate != "" {
						i.PostingDate = k.PostingDate
					}
				}
			}
			out.Invoices = append(out.Invoices, i)
		}
	})
	slices.SortFunc(out.Invoices, func(a, b InvoiceState) int {
		if a.ID < b.ID {
			return -1
		}
		return 1
	})
	return out
}
