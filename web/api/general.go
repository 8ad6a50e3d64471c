package api

import (
	"context"
	"net/http"
	"reflect"

	"github.com/apdesk/apdesk/models"
)

// table lists every operation, in the order of the document.
func (a *API) table() []endpoint {
	return []endpoint{
		a.outcomes(), a.workspaces(),
		a.handOver(), a.listCases(), a.getCase(),
		a.requestApproval(), a.getApprovalRequest(), a.proofOfRequest(), a.redeem(), a.report(),
		a.requestConfirmation(), a.getConfirmation(), a.takeConfirmation(), a.withdrawConfirmation(),
		a.hold(), a.listHolds(), a.lease(), a.getHold(), a.recheck(),
		a.uploadFile(), a.getFile(), a.getFileContent(),
		a.audit(),
	}
}

// outcomeAnswer is one published outcome.
type outcomeAnswer struct {
	Code       models.Code        `json:"code"`
	Kind       models.OutcomeKind `json:"kind"`
	Retryable  bool               `json:"retryable"`
	NextAction models.NextAction  `json:"next_action"`
	Queue      *models.Queue      `json:"queue"` // null: no queue of its own
}

type outcomesAnswer struct {
	Outcomes []outcomeAnswer `json:"outcomes"`
}

func (a *API) outcomes() endpoint {
	return endpoint{
		method: http.MethodGet, path: "/outcomes", name: "listOutcomes", summary: "List the ten outcomes",
		about: "The catalogue of named errors an agent hands over, with what to do about each. Needs no token.",
		open:  true, answer: reflect.TypeFor[outcomesAnswer](), status: []int{http.StatusOK},
		run: func(context.Context, *call) (int, any, error) {
			var answer outcomesAnswer
			for _, e := range models.Outcomes() {
				one := outcomeAnswer{Code: e.Code, Kind: e.Kind, Retryable: e.Retryable, NextAction: e.NextAction}
				if e.Queue != "" {
					one.Queue = &e.Queue
				}
				answer.Outcomes = append(answer.Outcomes, one)
			}
			return http.StatusOK, answer, nil
		},
	}
}

// workspaceAnswer is one workspace the caller reaches.
type workspaceAnswer struct {
	WorkspaceID string        `json:"workspace_id"`
	Name        string        `json:"name"`
	Currency    string        `json:"currency"`
	TimeZone    string        `json:"time_zone"`
	Roles       []models.Role `json:"roles"`
	Default     bool          `json:"default"` // used when a call names none
}

type workspacesAnswer struct {
	Items []workspaceAnswer `json:"items"`
}

func (a *API) workspaces() endpoint {
	return endpoint{
		method: http.MethodGet, path: "/workspaces", name: "listWorkspaces", summary: "List the workspaces the caller reaches",
		noWorkspace: true, answer: reflect.TypeFor[workspacesAnswer](), status: []int{http.StatusOK},
		run: func(ctx context.Context, c *call) (int, any, error) {
			list, err := a.cfg.Store.WorkspacesOf(ctx, c.identity)
			if err != nil {
				return 0, nil, err
			}
			answer := workspacesAnswer{Items: []workspaceAnswer{}}
			for _, w := range list {
				one := workspaceAnswer{WorkspaceID: w.ID, Name: w.Name, Currency: w.Currency, TimeZone: w.TimeZone, Roles: []models.Role{}}
				for _, m := range c.identity.Memberships {
					if m.WorkspaceID == w.ID {
						one.Roles = append(one.Roles, m.Roles...)
					}
				}
				if t := c.identity.Token; t != nil && t.DefaultWorkspaceID != nil {
					one.Default = *t.DefaultWorkspaceID == w.ID
				}
				answer.Items = append(answer.Items, one)
			}
			return http.StatusOK, answer, nil
		},
	}
}
