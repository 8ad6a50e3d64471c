package models

import "encoding/json"

// Invoice is the invoice a handover, request or hold is about, as its caller described it.
type Invoice struct {
	ID           string
	Number       string
	SupplierID   string
	SupplierName string
	PoID         string
	Amount       Money // the invoice's total
	InvoiceDate  Date
	DueDate      Date
	TaxID        string
	BankAccount  string
	DocumentURL  string
	// Sent is the invoice object as sent, with amounts as strings.
	Sent json.RawMessage
}

// Supplier is what tells suppliers apart: the id, else the name.
func (i Invoice) Supplier() string {
	if i.SupplierID != "" {
		return i.SupplierID
	}
	return i.SupplierName
}

// SeenError is one error an agent met, as it handed it over. Its code may be any, also none of ours.
type SeenError struct {
	Tool      string          `json:"tool,omitempty"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	At        string          `json:"at,omitempty"`
	Error     SeenNamedError  `json:"error"`
}

// SeenNamedError is the error object inside a SeenError.
type SeenNamedError struct {
	Code       Code            `json:"code"`
	Message    string          `json:"message"`
	Retryable  *bool           `json:"retryable,omitempty"`
	NextAction NextAction      `json:"next_action,omitempty"`
	Details    json.RawMessage `json:"details,omitempty"`
}

// Call names a tool and the exact arguments of one call.
type Call struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}
