package wire

import (
	"encoding/json"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
)

// The requests about confirmations.
var (
	ConfirmationBody          = specOf[ConfirmationRequest]()
	GetConfirmationArguments  = specOf[GetConfirmation]()
	TakeConfirmationBody      = specOf[Take]()
	TakeConfirmationArguments = specOf[TakeConfirmation]()
	WithdrawConfirmationBody  = specOf[Write]()
)

// Server is another server, as the agent that calls it knows it.
type Server struct {
	Name string `json:"name" wire:"max=200" jsonschema:"what the server calls itself"`
	URL  string `json:"url" wire:"max=2000" jsonschema:"http or https address you call it at"`
}

// AskedServer is Server where its name may be left out.
type AskedServer struct {
	Name string `json:"name,omitempty" wire:"max=200" jsonschema:"as in the request; another name is another call"`
	URL  string `json:"url" wire:"max=2000" jsonschema:"as in the request"`
}

// InvoiceMention is an invoice that something is about, of which only the id has to be known.
type InvoiceMention struct {
	ID           string   `json:"id" wire:"max=255" jsonschema:"invoice id in the ERP"`
	Number       string   `json:"number,omitempty" wire:"max=255" jsonschema:"invoice number as printed by the supplier"`
	SupplierID   string   `json:"supplier_id,omitempty" wire:"max=255" jsonschema:"supplier id in the ERP"`
	SupplierName string   `json:"supplier_name,omitempty" wire:"max=1000" jsonschema:"supplier name as printed"`
	PoID         string   `json:"po_id,omitempty" wire:"max=255" jsonschema:"purchase order number"`
	Amount       Amount   `json:"amount,omitempty" jsonschema:"invoice total as a plain decimal text such as 1234.50; minus for credit notes"`
	Currency     Currency `json:"currency,omitempty" jsonschema:"ISO 4217 currency of the amount"`
	InvoiceDate  Date     `json:"invoice_date,omitzero" jsonschema:"date of the invoice"`
	DueDate      Date     `json:"due_date,omitzero" jsonschema:"date payment is due"`
	TaxID        string   `json:"tax_id,omitempty" wire:"max=255" jsonschema:"supplier's tax number as printed"`
	BankAccount  string   `json:"bank_account,omitempty" wire:"max=255" jsonschema:"supplier's bank account as printed"`
	DocumentURL  HTTPS    `json:"document_url,omitempty" jsonschema:"https address of the scanned document; people see its host"`
	Lines        []Line   `json:"lines,omitempty" jsonschema:"the invoice's lines, each with the fields your ERP has"`

	raw   jsontext.Value
	total models.Money
}

func (i *InvoiceMention) keep(raw jsontext.Value) { i.raw = raw }

func (i *InvoiceMention) check(r *reader, at string) {
	currency := child(at, "currency")
	told := slices.ContainsFunc(r.issues, func(known models.Issue) bool { return known.Path == currency })
	if i.Amount != "" && i.Currency == "" && !told {
		r.fail(currency, "is required beside an amount")
	}
	i.total = r.money(i.Amount, i.Currency, child(at, "amount"))
}

// ConfirmationRequest forwards another server's question about one of its calls to a person.
type ConfirmationRequest struct {
	Write
	Server           Server          `json:"server" jsonschema:"the server that asks"`
	Tool             string          `json:"tool" wire:"max=200" jsonschema:"its tool you called"`
	Arguments        Arguments       `json:"arguments" jsonschema:"the exact arguments you called it with; the answer counts for them alone"`
	InputRequests    Object          `json:"input_requests" jsonschema:"inputRequests of its input_required result, unchanged: one elicitation request a key"`
	RequestStateHash string          `json:"request_state_hash,omitempty" wire:"max=64" jsonschema:"SHA-256, in hex, of the requestState that came with them; keep the state itself"`
	RunID            string          `json:"run_id,omitempty" wire:"max=200" jsonschema:"your name for this run"`
	Invoice          *InvoiceMention `json:"invoice,omitempty" jsonschema:"the invoice the call is about, if any"`
	ExpiresIn        *int64          `json:"expires_in,omitempty" wire:"min=1,max=604800" jsonschema:"seconds until it is answered with cancel; left out: an hour"`
}

// Take collects the answer of a confirmation for the call it was asked about.
type Take struct {
	Where
	Server         AskedServer `json:"server" jsonschema:"the server, as in the request"`
	Tool           string      `json:"tool" wire:"max=200" jsonschema:"the tool, as in the request"`
	Arguments      Arguments   `json:"arguments" jsonschema:"the exact arguments, as in the request"`
	IdempotencyKey string      `json:"idempotency_key" wire:"max=255" jsonschema:"your key for taking this answer: the same key and call again give it again, anything else does not"`
}

// The arguments of tools whose REST twins carry the confirmation in their path.
type (
	// GetConfirmation reads a confirmation.
	GetConfirmation struct {
		Where
		ConfirmationID string `json:"confirmation_id" wire:"max=255" jsonschema:"the confirmation"`
		Waiting
	}
	// TakeConfirmation is Take with its confirmation.
	TakeConfirmation struct {
		ConfirmationID string `json:"confirmation_id" wire:"max=255" jsonschema:"the confirmation whose answer to take"`
		Take
	}
	// WithdrawConfirmation takes a question back.
	WithdrawConfirmation struct {
		Write
		ConfirmationID string `json:"confirmation_id" wire:"max=255" jsonschema:"the confirmation to withdraw"`
	}
)

// ReadConfirmationRequest reads a forwarded question.
func ReadConfirmationRequest(b *Body) (confirm.RequestInput, models.Idempotency, error) {
	q, err := read[ConfirmationRequest](b)
	if err != nil {
		return confirm.RequestInput{}, models.Idempotency{}, err
	}
	in := confirm.RequestInput{
		ServerName: q.Server.Name, ServerURL: q.Server.URL, Tool: q.Tool, Arguments: json.RawMessage(q.Arguments), InputRequests: json.RawMessage(q.InputRequests),
		RequestStateHash: q.RequestStateHash, RunID: q.RunID, ExpiresIn: q.ExpiresIn,
	}
	replaced := map[string]jsontext.Value{}
	if q.Invoice != nil {
		whole := Invoice(*q.Invoice)
		invoice := whole.model()
		in.Invoice = &invoice
		replaced["invoice"] = jsontext.Value(invoice.Sent)
	}
	return in, idempotency(q.IdempotencyKey, b.kept(replaced)), nil
}

// ReadGetConfirmation reads which confirmation is asked for, and how long to wait.
func ReadGetConfirmation(b *Body) (GetConfirmation, error) { return read[GetConfirmation](b) }

// ReadTakeConfirmation reads for which call an answer is taken.
func ReadTakeConfirmation(b *Body) (confirm.TakeInput, error) {
	q, err := read[TakeConfirmation](b)
	if err != nil {
		return confirm.TakeInput{}, err
	}
	return confirm.TakeInput{ID: q.ConfirmationID, IdempotencyKey: q.IdempotencyKey, ServerName: q.Server.Name, ServerURL: q.Server.URL, Tool: q.Tool, Arguments: json.RawMessage(q.Arguments)}, nil
}

// ReadWithdrawConfirmation reads which confirmation is withdrawn. Withdrawing twice changes nothing, so
// a key in the body adds nothing.
func ReadWithdrawConfirmation(b *Body) (id string, err error) {
	q, err := read[WithdrawConfirmation](b)
	return q.ConfirmationID, err
}
