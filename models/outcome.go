package models

import "net/http"

// Code is a published outcome or error code. Codes are never renamed or removed once published.
type Code string

// The ten outcomes an invoice agent can hand over.
const (
	InvoiceNotFound   Code = "INVOICE_NOT_FOUND"
	PONotFound        Code = "PO_NOT_FOUND"
	SupplierNotFound  Code = "SUPPLIER_NOT_FOUND"
	GRMissing         Code = "GR_MISSING"
	POClosed          Code = "PO_CLOSED"
	DuplicateInvoice  Code = "DUPLICATE_INVOICE"
	ApproverNotFound  Code = "APPROVER_NOT_FOUND"
	ApprovalMissing   Code = "APPROVAL_MISSING"
	PeriodClosed      Code = "PERIOD_CLOSED"
	ToleranceExceeded Code = "TOLERANCE_EXCEEDED"
)

// The further codes the desk itself answers with.
const (
	ValidationError         Code = "VALIDATION_ERROR"
	BadRequest              Code = "BAD_REQUEST"
	NotFound                Code = "NOT_FOUND"
	Conflict                Code = "CONFLICT"
	Unprocessable           Code = "UNPROCESSABLE_ENTITY"
	SecurityBlocked         Code = "SECURITY_BLOCKED"
	RateLimited             Code = "RATE_LIMITED"
	InsufficientScope       Code = "insufficient_scope"
	InsufficientPermission  Code = "insufficient_permission"
	MembershipInactive      Code = "membership_inactive"
	WorkspaceAccessDenied   Code = "workspace_access_denied"
	WorkspaceRequired       Code = "workspace_required"
	ConfirmationRequired    Code = "confirmation_required"
	UserDeclined            Code = "USER_DECLINED"
	ConfirmationReplayed    Code = "confirmation_replayed"
	ConfirmationUnavailable Code = "confirmation_unavailable"
	Unauthenticated         Code = "unauthenticated"
	Unavailable             Code = "UNAVAILABLE"
	Internal                Code = "INTERNAL"
)

// NextAction tells an agent what to do about a code.
type NextAction string

// The five next actions.
const (
	FixInputAndRetry NextAction = "fix_input_and_retry"
	HoldAndRecheck   NextAction = "hold_and_recheck"
	RouteToPerson    NextAction = "route_to_person"
	RequestApproval  NextAction = "request_approval"
	StopAndEscalate  NextAction = "stop_and_escalate"
)

// OutcomeKind says whether an outcome is a failure or a fact to be weighed.
type OutcomeKind string

// The two kinds of outcome.
const (
	KindError       OutcomeKind = "error"
	KindInformation OutcomeKind = "information"
)

// Entry is one line of the catalogue: all that is fixed about a code.
type Entry struct {
	Code       Code
	Kind       OutcomeKind // empty for codes that are no outcome
	Retryable  bool
	NextAction NextAction
	Queue      Queue  // home queue of an outcome, empty where none
	Status     int    // HTTP status on REST
	Title      string // the code in words, for people
	Meaning    string // one sentence for the documentation
}

// catalogue is the one table of codes, in published order: first the ten outcomes, then the rest.
var catalogue = []Entry{
	{InvoiceNotFound, KindError, true, FixInputAndRetry, QueueAP, http.StatusUnprocessableEntity, "Invoice not found", "The ERP does not know the invoice id the agent used."},
	{PONotFound, KindError, true, FixInputAndRetry, QueueAP, http.StatusUnprocessableEntity, "Purchase order not found", "The ERP does not know the purchase order number on the invoice."},
	{SupplierNotFound, KindError, true, FixInputAndRetry, QueueMasterData, http.StatusUnprocessableEntity, "Supplier not found", "No supplier master record matches the invoice."},
	{GRMissing, KindError, false, HoldAndRecheck, "", http.StatusUnprocessableEntity, "Goods receipt missing", "No goods receipt is posted for the order yet; the invoice waits and is checked again."},
	{POClosed, KindError, false, RouteToPerson, QueueProcurement, http.StatusUnprocessableEntity, "Purchase order closed", "The purchase order was closed before the invoice arrived."},
	{DuplicateInvoice, KindError, false, RouteToPerson, QueueAP, http.StatusUnprocessableEntity, "Possible duplicate", "Another invoice of the same supplier looks like this one."},
	{ApproverNotFound, KindError, false, RouteToPerson, QueueAPLead, http.StatusUnprocessableEntity, "No approver found", "No rule of the matrix gives enough people the authority for this request."},
	{ApprovalMissing, KindError, false, RequestApproval, "", http.StatusForbidden, "Approval missing", "The write carries no valid approval for exactly this call."},
	{PeriodClosed, KindError, false, StopAndEscalate, QueueFinance, http.StatusUnprocessableEntity, "Period closed", "The posting date lies in a period that is closed."},
	{ToleranceExceeded, KindInformation, false, RequestApproval, "", http.StatusUnprocessableEntity, "Tolerance exceeded", "Invoice, order and receipt differ by more than the limit; evidence for an approval request."},

	{ValidationError, "", true, FixInputAndRetry, "", http.StatusBadRequest, "Some values are not valid", "`details.issues` names each field and what is wrong with it."},
	{BadRequest, "", true, FixInputAndRetry, "", http.StatusBadRequest, "Request not understood", "Unknown filter, operator or sort field, or a request that cannot be read."},
	{NotFound, "", true, FixInputAndRetry, "", http.StatusNotFound, "Not found", "No such record in a workspace the caller can reach."},
	{Conflict, "", false, RouteToPerson, "", http.StatusConflict, "Conflict", "Something else happened first; `details` says what."},
	{Unprocessable, "", false, RouteToPerson, "", http.StatusUnprocessableEntity, "Not possible", "A business rule forbids it; a misrouted outcome carries that outcome's own next action."},
	{SecurityBlocked, "", false, StopAndEscalate, "", http.StatusForbidden, "Blocked by the security settings", "The workspace's security page forbids this action on this channel."},
	{RateLimited, "", true, HoldAndRecheck, "", http.StatusTooManyRequests, "Too many requests", "Wait `details.retry_after_seconds` and repeat the same call."},
	{InsufficientScope, "", false, StopAndEscalate, "", http.StatusForbidden, "Token scope missing", "The token lacks the named scope."},
	{InsufficientPermission, "", false, StopAndEscalate, "", http.StatusForbidden, "Permission missing", "The user lacks the named permission, which an admin of the workspace can grant."},
	{MembershipInactive, "", false, StopAndEscalate, "", http.StatusForbidden, "Membership inactive", "The user's membership of the workspace is switched off."},
	{WorkspaceAccessDenied, "", true, FixInputAndRetry, "", http.StatusForbidden, "Workspace out of reach", "The named workspace does not exist or the caller cannot reach it."},
	{WorkspaceRequired, "", true, FixInputAndRetry, "", http.StatusBadRequest, "Workspace required", "Several workspaces are reachable: call `list_workspaces` and repeat with one."},
	{ConfirmationRequired, "", false, RouteToPerson, "", http.StatusConflict, "Confirmation required", "A person must confirm; this client cannot ask one. Nothing was changed."},
	{UserDeclined, "", false, StopAndEscalate, "", http.StatusConflict, "Declined by the person", "The person said no. Nothing was changed."},
	{ConfirmationReplayed, "", true, FixInputAndRetry, "", http.StatusConflict, "Confirmation already used", "Call again without requestState. Nothing was changed."},
	{ConfirmationUnavailable, "", true, HoldAndRecheck, "", http.StatusServiceUnavailable, "Confirmation unavailable", "Confirmations cannot be kept right now. Nothing was changed."},
	{Unauthenticated, "", false, StopAndEscalate, "", http.StatusUnauthorized, "Not signed in", "The credential is missing, unknown, expired or revoked."},
	{Unavailable, "", true, HoldAndRecheck, "", http.StatusServiceUnavailable, "Temporarily unavailable", "The database or another dependency does not answer; nothing was half-written."},
	{Internal, "", false, StopAndEscalate, "", http.StatusInternalServerError, "Internal error", "A fault of the desk; quote the request id."},
}

var byCode = func() map[Code]Entry {
	m := make(map[Code]Entry, len(catalogue))
	for _, e := range catalogue {
		m[e.Code] = e
	}
	return m
}()

// Catalogue lists every published code in order.
func Catalogue() []Entry { return append([]Entry(nil), catalogue...) }

// Outcomes lists the ten outcomes in published order.
func Outcomes() []Entry { return append([]Entry(nil), catalogue[:10]...) }

// Lookup finds a code's line of the catalogue.
func Lookup(c Code) (Entry, bool) {
	e, ok := byCode[c]
	return e, ok
}

// IsOutcome says whether c is one of the ten outcomes.
func (c Code) IsOutcome() bool {
	e, ok := byCode[c]
	return ok && e.Kind != ""
}

// Title is the code in words; an unknown code is its own title.
func (c Code) Title() string {
	if e, ok := byCode[c]; ok {
		return e.Title
	}
	return string(c)
}
