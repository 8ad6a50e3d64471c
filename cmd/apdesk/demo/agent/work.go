package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/gowebpki/jcs"
	"github.com/natefinch/atomic"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/data"
	"github.com/apdesk/apdesk/cmd/apdesk/demo/mcpcall"
)

// Steps of the work on an invoice, in their usual order.
const (
	stepInvoice   = "invoice"
	stepSupplier  = "supplier"
	stepDuplicate = "duplicate"
	stepEarlier   = "earlier" // read the invoice that this one may double
	stepOrder     = "order"
	stepReceipt   = "receipt"
	stepMatch     = "match"
	stepWrite     = "write" // try the write, with the approval if there is one
	stepAsk       = "ask"   // ask for the approval of the write
	stepHandOver  = "handover"
	stepHold      = "hold"
	stepReport    = "report" // report a re-check
	stepAnswer    = "answer" // answer a person's question
	stepCase      = "case"   // wait for a person's decision
	stepApproval  = "approval"
	stepRecheck   = "recheck" // wait for the next re-check
)

// Ends of an invoice.
const (
	EndReleased = "released" // matched, nothing to write
	EndWritten  = "written"  // the approved write ran
	EndStopped  = "stopped"  // a person said stop
	EndWaiting  = "waiting"  // a person said wait, longer than the demo lasts
	EndFailed   = "failed"   // the agent could not go on: a fault
)

// Facts is what the agent takes for true about the invoice.
type Facts struct {
	InvoiceID, Number, SupplierID, SupplierName, TaxID, BankAccount string
	POID, Amount, Currency, InvoiceDate, DueDate, PostingDate       string
	NonPO, TwoWay                                                   bool
}

// Write is a call that needs an approval.
type Write struct {
	Tool      string
	Arguments map[string]any
	Summary   string
}

// Seen is one error as it goes into a handover.
type Seen struct {
	Tool      string              `json:"tool"`
	Arguments map[string]any      `json:"arguments"`
	At        string              `json:"at"`
	Error     *mcpcall.NamedError `json:"error"`
}

// Started is a call that was sent and not yet answered.
type Started struct {
	Seq       int
	Desk      bool
	Tool      string
	Arguments map[string]any
}

// Work is everything the agent knows about one invoice.
type Work struct {
	Doc   data.Document
	Facts Facts
	Step  string
	Run   int
	// Seq numbers the calls that change something; it is part of their key.
	Seq     int
	Started *Started
	Calls   []Call
	// Corrected lists tools whose input was corrected once; Tried the values of
	// ids sent so far.
	Corrected []string
	Tried     []string
	Retries   int
	// Granted is the tool that a person's decision gave one fresh try.
	Granted string
	// Seen since the last handover, Evidence for the next one.
	Seen     []Seen
	Evidence []map[string]any
	Write    *Write
	// Record is the invoice as the ERP answered it, Earlier the one it may double.
	Record, Earlier json.RawMessage
	// Via is the tool that hands over and Reason why.
	Via, Reason, Explanation string
	// FailedStep is where to go on once a person decided.
	FailedStep string
	CaseID     string
	CaseCode   string
	Question   string
	RequestID  string
	ApprovalID string
	HoldID     string
	NextCheck  string
	Recheck    string

	Codes     []string
	Deciders  []string
	Acts      []string
	Handovers int
	Document  string
	End       string
	Why       string
}

func startWork(doc data.Document, today string) *Work {
	w := &Work{Doc: doc, Step: stepInvoice, Run: 1}
	w.Facts = Facts{InvoiceID: doc.InvoiceID, Number: doc.Number, SupplierName: doc.SupplierName, POID: doc.OrderID, Amount: doc.Amount,
		Currency: doc.Currency, InvoiceDate: doc.InvoiceDate, PostingDate: doc.PostingDate}
	if w.Facts.PostingDate == "" {
		w.Facts.PostingDate = today
	}
	return w
}

// RunID names the run the work is in.
func (w *Work) RunID() string { return fmt.Sprintf("run-%s-%d", w.Doc.Key, w.Run) }

func (w *Work) met(code string) {
	if code != "" && !slices.Contains(w.Codes, code) {
		w.Codes = append(w.Codes, code)
	}
}

func (w *Work) decidedBy(names ...string) {
	for _, n := range names {
		if n != "" {
			w.Deciders = append(w.Deciders, n)
		}
	}
}

func (w *Work) did(format string, args ...any) { w.Acts = append(w.Acts, fmt.Sprintf(format, args...)) }

// ToolCalls counts all calls but polls.
func (w *Work) ToolCalls() int { return len(w.Calls) }

// Load reads all work under dir, keyed by invoice.
func Load(dir string) (map[string]*Work, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	all := map[string]*Work{}
	for _, name := range names {
		w, err := readWork(name)
		if err != nil {
			return nil, err
		}
		all[w.Doc.Key] = w
	}
	return all, nil
}

func readWork(name string) (*Work, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("agent: %w", err)
	}
	w := &Work{}
	if err := json.Unmarshal(raw, w); err != nil {
		return nil, fmt.Errorf("agent: %s: %w", name, err)
	}
	return w, nil
}

// openWork goes on with the work on a document, or starts it.
func openWork(dir string, doc data.Document, today string) (*Work, error) {
	w, err := readWork(workFile(dir, doc.Key))
	if errors.Is(err, fs.ErrNotExist) {
		w = startWork(doc, today)
		return w, w.save(dir)
	}
	return w, err
}

func (w *Work) save(dir string) error {
	raw, err := json.MarshalIndent(w, "", " ")
	if err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	if err := atomic.WriteFile(workFile(dir, w.Doc.Key), bytes.NewReader(raw)); err != nil {
		return fmt.Errorf("agent: %w", err)
	}
	return nil
}

func workFile(dir, key string) string { return filepath.Join(dir, key+".json") }

// canonical is the form in which arguments are compared.
func canonical(args map[string]any) string {
	plain := map[string]any{}
	for k, v := range args {
		if k != "approval_id" && k != "idempotency_key" {
			plain[k] = v
		}
	}
	raw, err := json.Marshal(plain)
	if err != nil {
		return fmt.Sprint(plain)
	}
	out, err := jcs.Transform(raw)
	if err != nil {
		return string(raw)
	}
	return string(out)
}
