package mcpserver

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/web/wire"
)

// undoTools are the tools that undo something for good. They exist only where their questions can be kept.
func (h *handler) undoTools() []*tool {
	if h.keeper == nil {
		return nil
	}
	return []*tool{h.withdrawCase(), h.withdrawRequest(), h.revokeApproval(), h.cancelHold()}
}

const asksFirst = " Your client is asked to let its person confirm (input_required), and nothing happens before the answer is yes. If the person says no, leave it and do not ask again. " +
	"A client that cannot show forms gets confirmation_required."

func (h *handler) withdrawCase() *tool {
	return &tool{
		name: "withdraw_case", title: "Withdraw a case",
		description: "Takes back a case you handed over, when nobody has to decide it any more, for example because the reason is gone. It is resolved as withdrawn, for good." + asksFirst,
		scopes:      []models.Scope{models.ScopeCasesWrite}, roles: []models.Role{models.RoleAgent}, destructive: true, asks: true,
		spec: wire.WithdrawCaseArguments, output: reflect.TypeFor[queue.CaseView](),
		run: undo(h, undoing[queue.CaseView]{
			operation: queue.OpWithdrawCase, read: wire.ReadWithdrawCase,
			look: func(ctx context.Context, by models.Principal, id string) (string, models.Ref, error) {
				v, err := h.cfg.Queue.CaseToWithdraw(ctx, by, id)
				if err != nil {
					return "", models.Ref{}, err
				}
				inv := invoiceIn(v.Invoice)
				return wordsOfCase(v, inv), models.Ref{Subject: v.CaseID, CaseID: v.CaseID, InvoiceID: inv.ID}, nil
			},
			undo: func(tx *models.Tx, id, reason string) (queue.CaseView, error) {
				return h.cfg.Queue.WithdrawCaseIn(tx, queue.WithdrawInput{CaseID: id, Reason: reason})
			},
			show: func(v queue.CaseView) any {
				v.URL = h.pageOf("cases", v.CaseID)
				return v
			},
		}),
	}
}

func (h *handler) withdrawRequest() *tool {
	return &tool{
		name: "withdraw_request", title: "Withdraw an approval request",
		description: "Takes back an approval request you made that is still pending or unrouted, when the write is not wanted any more. Nobody decides it then. One that is approved already is given back with revoke_approval." + asksFirst,
		scopes:      []models.Scope{models.ScopeApprovalsWrite}, roles: []models.Role{models.RoleAgent}, destructive: true, asks: true,
		spec: wire.WithdrawRequestArguments, output: reflect.TypeFor[requestAnswer](),
		run: undo(h, undoing[approvals.RequestView]{
			operation: "request.withdraw", read: wire.ReadWithdrawRequest,
			look: func(ctx context.Context, by models.Principal, id string) (string, models.Ref, error) {
				t, err := h.cfg.Approvals.RequestToWithdraw(ctx, by, id)
				if err != nil {
					return "", models.Ref{}, err
				}
				words := fmt.Sprintf("Withdraw the request to %s? It is %s. Nobody will decide it any more, and the write may not be made. This cannot be undone.", wordsOfCall(t), t.Status)
				return words, refOf(t), nil
			},
			undo: func(tx *models.Tx, id, reason string) (approvals.RequestView, error) {
				return h.cfg.Approvals.WithdrawRequestIn(tx, approvals.WithdrawInput{RequestID: id, Reason: reason})
			},
			show: func(v approvals.RequestView) any { return h.answerTo(v) },
		}),
	}
}

func (h *handler) revokeApproval() *tool {
	return &tool{
		name: "revoke_approval", title: "Revoke an approval",
		description: "Gives back an approval of a request you made, unused, when the write is not wanted any more. Afterwards it cannot be redeemed; the same write needs a new request." + asksFirst,
		scopes:      []models.Scope{models.ScopeApprovalsWrite}, roles: []models.Role{models.RoleAgent}, destructive: true, asks: true,
		spec: wire.RevokeApprovalArguments, output: reflect.TypeFor[requestAnswer](),
		run: undo(h, undoing[approvals.RequestView]{
			operation: "approval.revoke", read: wire.ReadRevokeApproval, secret: true,
			look: func(ctx context.Context, by models.Principal, id string) (string, models.Ref, error) {
				t, err := h.cfg.Approvals.ApprovalToRevoke(ctx, by, approvals.RevokeInput{ApprovalID: id})
				if err != nil {
					return "", models.Ref{}, err
				}
				words := fmt.Sprintf("Revoke the approval to %s? %s approved it, and it is good until %s. It ends unused, and the write may not be made without a new approval. This cannot be undone.",
					wordsOfCall(t), strings.Join(t.Approvers, " and "), moment(t.ExpiresAt))
				return words, refOf(t), nil
			},
			undo: func(tx *models.Tx, id, reason string) (approvals.RequestView, error) {
				return h.cfg.Approvals.RevokeApprovalIn(tx, approvals.RevokeInput{ApprovalID: id, Reason: reason})
			},
			show: func(v approvals.RequestView) any { return h.answerTo(v) },
		}),
	}
}

func (h *handler) cancelHold() *tool {
	return &tool{
		name: "cancel_hold", title: "Cancel a hold",
		description: "Ends a hold you filed, when the invoice does not wait any more, for example because it was withdrawn. It is not checked again and no case opens for it." + asksFirst,
		scopes:      []models.Scope{models.ScopeHoldsWrite}, roles: []models.Role{models.RoleAgent}, destructive: true, asks: true,
		spec: wire.CancelHoldArguments, output: reflect.TypeFor[queue.HoldResult](),
		run: undo(h, undoing[queue.HoldResult]{
			operation: queue.OpCancelHold, read: wire.ReadCancelHold,
			look: func(ctx context.Context, by models.Principal, id string) (string, models.Ref, error) {
				v, err := h.cfg.Queue.HoldToCancel(ctx, by, id)
				if err != nil {
					return "", models.Ref{}, err
				}
				inv := invoiceIn(v.Invoice)
				return wordsOfHold(v, inv), models.Ref{Subject: v.HoldID, InvoiceID: inv.ID}, nil
			},
			undo: func(tx *models.Tx, id, reason string) (queue.HoldResult, error) {
				return h.cfg.Queue.CancelHoldIn(tx, queue.CancelInput{HoldID: id, Reason: reason})
			},
		}),
	}
}

func refOf(t approvals.TakeBack) models.Ref {
	return models.Ref{Subject: t.RequestID, ApprovalRequestID: t.RequestID, InvoiceID: t.InvoiceID}
}

// invoiceText is what of an invoice stands in a question.
type invoiceText struct {
	ID           string `json:"id"`
	Number       string `json:"number"`
	SupplierID   string `json:"supplier_id"`
	SupplierName string `json:"supplier_name"`
	Amount       string `json:"amount"`
	Currency     string `json:"currency"`
}

func invoiceIn(sent json.RawMessage) (inv invoiceText) {
	_ = json.Unmarshal(sent, &inv) // the desk wrote it; what does not fit stays empty
	return inv
}

func (i invoiceText) words() string {
	name, supplier := i.Number, i.SupplierName
	if name == "" {
		name = i.ID
	}
	if supplier == "" {
		supplier = i.SupplierID
	}
	words := "invoice " + quoted(name)
	if supplier != "" {
		words += " of " + quoted(supplier)
	}
	return words + " over " + i.Amount + " " + i.Currency
}

func wordsOfCase(v queue.CaseView, inv invoiceText) string {
	words := "Withdraw the case about " + inv.words() + "?"
	if v.Code != nil {
		words += " " + v.Code.Title() + ":"
	}
	words += fmt.Sprintf(" it is %s in the queue %s", v.Status, v.Queue.Title())
	if v.ClaimedBy != nil {
		words += ", and " + *v.ClaimedBy + " is working on it"
	}
	words += ". It is resolved as withdrawn and nobody will decide it any more."
	if v.Code != nil && *v.Code == models.ApproverNotFound {
		words += " An approval request that waits behind it is withdrawn too."
	}
	return words + " This cannot be undone."
}

func wordsOfCall(t approvals.TakeBack) string {
	words := fmt.Sprintf("call %s for invoice %s over %s %s", quoted(t.Tool), quoted(t.InvoiceID), t.Amount, t.Currency)
	if t.Summary != "" {
		words += " (" + quoted(t.Summary) + ")"
	}
	return words
}

func wordsOfHold(v queue.HoldView, inv invoiceText) string {
	words := "Cancel the hold of " + inv.words() + ", which waits for purchase order " + quoted(v.PoID)
	if v.Line != nil {
		words += fmt.Sprintf(", line %d", *v.Line)
	}
	return words + fmt.Sprintf("? The next check is due on %s; %d of %d checks are left. It will not be checked again and no case opens for it. This cannot be undone.",
		moment(v.NextCheckAt), v.ChecksLeft, v.MaxChecks)
}
