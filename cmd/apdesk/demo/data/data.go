package data

import "time"

// Workspace is one company code.
type Workspace struct {
	ID, Name, TimeZone, Currency string
	// ClosedThrough is the last day of the last closed period, YYYY-MM-DD.
	ClosedThrough string
}

// Keys of the people.
const (
	Clerk       = "clerk"
	Lead        = "ap_lead"
	Procurement = "procurement"
	FinanceA    = "finance_a"
	FinanceB    = "finance_b"
	MasterData  = "master_data"
	Auditor     = "auditor"
	Admin       = "admin"
)

// Person is somebody who can sign in. All work in both companies.
type Person struct {
	Key, Name, Email, Role string
	// Queue is the queue the person works, empty for none.
	Queue string
}

// Rule is a row of the approval matrix.
type Rule struct {
	Workspace, Role, Currency, From, To, Tool string
	Required                                  int
}

// Supplier is a master record.
type Supplier struct {
	ID, Workspace, Name, TaxID, BankAccount, Since string
	InvoicesLastYear                               int
	LastPaid                                       string
}

// OrderLine is one line of a purchase order. Amounts and quantities are
// decimal strings.
type OrderLine struct {
	Line                int
	Text                string
	Quantity, UnitPrice string
	// Received is the quantity on posted goods receipts.
	Received string
	// ReceiptAfterMisses keeps the receipt away until that many different runs
	// of the agent have asked in vain; zero means it is there from the start.
	ReceiptAfterMisses int
}

// Order is a purchase order.
type Order struct {
	ID, Workspace, SupplierID, Currency, OrderedOn string
	Closed                                         bool
	ClosedOn, ClosedBy, ClosedBecause              string
	Lines                                          []OrderLine
}

// Invoice is an invoice as the ERP holds it.
type Invoice struct {
	ID, Workspace, Number, SupplierID, SupplierName, TaxID, BankAccount string
	OrderID, Amount, Currency, InvoiceDate, DueDate                     string
	// Status is open unless the invoice was settled before the demo.
	Status, DocumentNumber, PaidOn string
}

// Books is what the ERP knows at the start.
type Books struct {
	Suppliers []Supplier
	Orders    []Order
	Invoices  []Invoice
}

// Document is one paper in the agent's inbox, as it was read from the scan. Ids
// can be misread.
type Document struct {
	// Key is the invoice's true id and names the work in tables and files.
	Key, Workspace, InvoiceID, Number, SupplierName, OrderID string
	Amount, Currency, InvoiceDate                            string
	// PostingDate the business asked for, YYYY-MM-DD; empty means today.
	PostingDate string
	// Note is what else the document says; the agent quotes it when asked.
	Note string
	// MaxChecks limits the re-checks of a missing receipt; zero takes the desk's own.
	MaxChecks int
}

// Decision is what one scripted person does with one case or request.
type Decision struct {
	Invoice, Person string
	// Code is the case's outcome; empty for a vote.
	Code, Exit string
	Inputs     map[string]string
	// Ask, when set, asks the agent this before the exit is chosen.
	Ask string
	// Tool is the write voted on and Vote is approve or reject; empty for a case.
	// A reject with Inputs sends the call back with that correction.
	Tool, Vote string
	// Amount, when set, is the amount of the call that is voted on: another call
	// of the tool is not this decision's.
	Amount string
	Reason string
}

// Want is how an invoice must end.
type Want struct {
	Invoice string
	// Codes are the named outcomes met, in order of first appearance.
	Codes []string
	// Deciders are keys of the people who decided, in order.
	Deciders []string
	// Status of the ERP record: released (matched, the payment run takes it),
	// posted, disputed, duplicate, blocked.
	Status string
	// Document says that the ERP gave the posting a document number.
	Document bool
	// Writes is how many write tools ran.
	Writes int
	// Retries is how many corrected retries the agent made on its own.
	Retries int
	// Cases is how many cases the desk has of it.
	Cases int
}

// Set is the whole world on one day.
type Set struct {
	Today      string
	Workspaces []Workspace
	People     []Person
	Rules      []Rule
	Books      Books
	Inbox      []Document
	Decisions  []Decision
	Wants      []Want
}

// New builds the world as it stands on the date of today; all its dates follow
// from that one, so that the demo works in any month.
func New(today time.Time) Set {
	d := days{today: time.Date(today.Year(), today.Month(), today.Day(), 0, 0, 0, 0, time.UTC)}
	return Set{
		Today: d.ago(0),
		Workspaces: []Workspace{
			{ID: "1000", Name: "Nordlicht Maschinenbau GmbH", TimeZone: "Europe/Berlin", Currency: "EUR", ClosedThrough: d.lastMonth(0)},
			{ID: "2000", Name: "Hoshino Trading K.K.", TimeZone: "Asia/Tokyo", Currency: "JPY", ClosedThrough: d.lastMonth(0)},
		},
		People: []Person{
			{Key: Clerk, Name: "Clara Jansen", Email: "clara@demo.example", Role: "ap_clerk", Queue: "ap"},
			{Key: Lead, Name: "Liam Okafor", Email: "liam@demo.example", Role: "ap_lead", Queue: "ap_lead"},
			{Key: Procurement, Name: "Petra Lindqvist", Email: "petra@demo.example", Role: "procurement", Queue: "procurement"},
			{Key: FinanceA, Name: "Fumiko Sato", Email: "fumiko@demo.example", Role: "finance_lead", Queue: "finance"},
			{Key: FinanceB, Name: "Frank Weber", Email: "frank@demo.example", Role: "finance_lead", Queue: "finance"},
			{Key: MasterData, Name: "Mona Ricci", Email: "mona@demo.example", Role: "master_data", Queue: "master_data"},
			{Key: Auditor, Name: "Audrey Klein", Email: "audrey@demo.example", Role: "auditor"},
			{Key: Admin, Name: "Adam Novak", Email: "adam@demo.example", Role: "admin"},
		},
		// The dollar rules of company 1000 leave a gap between 5,000 and 10,000:
		// that is how APPROVER_NOT_FOUND comes about in real matrices.
		Rules: []Rule{
			{Workspace: "1000", Role: "finance_lead", Currency: "EUR", From: "0", To: "10000", Required: 1},
			{Workspace: "1000", Role: "finance_lead", Currency: "EUR", From: "10000.01", To: "50000", Required: 2},
			{Workspace: "1000", Role: "finance_lead", Currency: "USD", From: "0", To: "5000", Required: 1},
			{Workspace: "1000", Role: "finance_lead", Currency: "USD", From: "10000", To: "50000", Required: 1},
			{Workspace: "1000", Role: "ap_lead", Currency: "EUR", From: "0", To: "50000", Tool: "notify_supplier", Required: 1},
			{Workspace: "2000", Role: "finance_lead", Currency: "JPY", From: "0", To: "1000000", Required: 1},
			{Workspace: "2000", Role: "finance_lead", Currency: "USD", From: "0", To: "20000", Required: 1},
		},
		Books:     d.books(),
		Inbox:     d.inbox(),
		Decisions: d.decisions(),
		Wants:     wants(),
	}
}

// Person finds a person by key.
func (s Set) Person(key string) Person {
	for _, p := range s.People {
		if p.Key == key {
			return p
		}
	}
	return Person{}
}

// Workspace finds a workspace by id.
func (s Set) Workspace(id string) Workspace {
	for _, w := range s.Workspaces {
		if w.ID == id {
			return w
		}
	}
	return Workspace{}
}

type days struct{ today time.Time }

func (d days) ago(n int) string { return d.today.AddDate(0, 0, -n).Format(time.DateOnly) }

// lastMonth is the last day of the previous month, less n days.
func (d days) lastMonth(n int) string {
	first := time.Date(d.today.Year(), d.today.Month(), 1, 0, 0, 0, 0, time.UTC)
	return first.AddDate(0, 0, -1-n).Format(time.DateOnly)
}
