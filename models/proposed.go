package models

// ProposedRequest is a write an agent proposed, completed by the person who asks for its approval.
type ProposedRequest struct {
	Call         Call
	Amount       Money
	DocumentType string
	PostingDate  Date
	CostCentre   string
	Summary      string
	Invoice      Invoice // of the case
	Agent        AgentOf
}

// AgentOf is the account that handed the case over, and who stands behind it.
type AgentOf struct {
	UserID    string
	UserName  string
	OwnerID   string // responsible person, empty when it is a person itself
	TokenID   string
	TokenByID string // who made the token, empty: the operator
}
