package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
)

func (a *API) proofOfRequest() endpoint {
	return endpoint{
		method: http.MethodGet, path: "/approval-requests/{request_id}/proof", name: "getProof", summary: "Draw the proof of an approval request",
		about: "The record an auditor files, for requests of every state: the exact call and its digest, each vote with role, limit, rule version and delegation, the grant, " +
			"its use and outcome, refused attempts, and where all of it stands in the trail. The approval's id is masked. For people of the workspace and the account that asked.",
		action: "get_approval", scopes: []models.Scope{models.ScopeApprovalsRead},
		answer: reflect.TypeFor[approvals.Proof](), status: []int{http.StatusOK}, fails: []models.Code{models.NotFound},
		run: func(ctx context.Context, c *call) (int, any, error) {
			proof, err := a.cfg.Approvals.Proof(ctx, c.by, c.id)
			return http.StatusOK, proof, err
		},
	}
}
