package models

import (
	"slices"
	"strings"
)

// Role is what a membership lets its user do in one workspace (design: words, people, tokens).
type Role string

// Roles of people, then of callers.
const (
	RoleAPClerk     Role = "ap_clerk"     // works queue ap
	RoleAPLead      Role = "ap_lead"      // works ap and ap_lead, edits the matrix, takes over claims
	RoleProcurement Role = "procurement"  // works queue procurement
	RoleFinanceLead Role = "finance_lead" // works queue finance, approves, may move the closed period
	RoleMasterData  Role = "master_data"  // works queue master_data
	RoleAuditor     Role = "auditor"      // reads everything, changes nothing
	RoleAdmin       Role = "admin"        // people, tokens, rules of the own workspace; decides nothing
	RoleAgent       Role = "agent"        // hands over, asks for approvals, reads what it filed
	RoleERP         Role = "erp"          // redeems approvals and reports writes
)

// Roles lists every role.
func Roles() []Role {
	return []Role{RoleAPClerk, RoleAPLead, RoleProcurement, RoleFinanceLead, RoleMasterData, RoleAuditor, RoleAdmin, RoleAgent, RoleERP}
}

// Valid says whether r is a known role.
func (r Role) Valid() bool { return slices.Contains(Roles(), r) }

var roleTitles = map[Role]string{
	RoleAPClerk: "AP clerk", RoleAPLead: "AP lead", RoleProcurement: "Procurement", RoleFinanceLead: "Finance lead",
	RoleMasterData: "Master data", RoleAuditor: "Auditor", RoleAdmin: "Admin", RoleAgent: "Agent", RoleERP: "ERP",
}

// Title is the role in words.
func (r Role) Title() string {
	if t, ok := roleTitles[r]; ok {
		return t
	}
	return string(r)
}

// Queue is where a case waits.
type Queue string

// The five queues.
const (
	QueueAP          Queue = "ap"
	QueueAPLead      Queue = "ap_lead"
	QueueProcurement Queue = "procurement"
	QueueFinance     Queue = "finance"
	QueueMasterData  Queue = "master_data"
)

// Queues lists every queue.
func Queues() []Queue {
	return []Queue{QueueAP, QueueAPLead, QueueProcurement, QueueFinance, QueueMasterData}
}

// Valid says whether q is a known queue.
func (q Queue) Valid() bool { return slices.Contains(Queues(), q) }

var queueTitles = map[Queue]string{QueueAP: "Accounts payable", QueueAPLead: "AP lead", QueueProcurement: "Procurement", QueueFinance: "Finance", QueueMasterData: "Master data"}

// Title is the queue in words.
func (q Queue) Title() string { return queueTitles[q] }

var queueRoles = map[Queue][]Role{
	QueueAP:          {RoleAPClerk, RoleAPLead},
	QueueAPLead:      {RoleAPLead},
	QueueProcurement: {RoleProcurement},
	QueueFinance:     {RoleFinanceLead},
	QueueMasterData:  {RoleMasterData},
}

// Roles lists who works the queue.
func (q Queue) Roles() []Role { return queueRoles[q] }

// Scope is what a token may be used for.
type Scope string

// Token scopes; a write scope includes its read scope, all includes everything and money.
const (
	ScopeCasesRead          Scope = "cases:read"
	ScopeCasesWrite         Scope = "cases:write"
	ScopeApprovalsRead      Scope = "approvals:read"
	ScopeApprovalsWrite     Scope = "approvals:write"
	ScopeConfirmationsRead  Scope = "confirmations:read"
	ScopeConfirmationsWrite Scope = "confirmations:write"
	ScopeHoldsRead          Scope = "holds:read"
	ScopeHoldsWrite         Scope = "holds:write"
	ScopeMoney              Scope = "money"
	ScopeAll                Scope = "all"
)

// Scopes lists every scope.
func Scopes() []Scope {
	return []Scope{ScopeCasesRead, ScopeCasesWrite, ScopeApprovalsRead, ScopeApprovalsWrite, ScopeConfirmationsRead,
		ScopeConfirmationsWrite, ScopeHoldsRead, ScopeHoldsWrite, ScopeMoney, ScopeAll}
}

// Valid says whether s is a known scope.
func (s Scope) Valid() bool { return slices.Contains(Scopes(), s) }

// Grants says whether a token with have may do what want names.
func Grants(have []Scope, want Scope) bool {
	for _, h := range have {
		if h == want || h == ScopeAll {
			return true
		}
		if base, ok := strings.CutSuffix(string(h), ":write"); ok && string(want) == base+":read" {
			return true
		}
	}
	return false
}

// Channel is how somebody acts.
type Channel string

// The four channels.
const (
	ChannelWeb    Channel = "web"
	ChannelAPI    Channel = "api"
	ChannelMCP    Channel = "mcp"
	ChannelSystem Channel = "system"
)
