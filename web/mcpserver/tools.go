package mcpserver

import (
	"context"
	"reflect"
	"slices"

	"github.com/apdesk/apdesk/web/wire"
)

// allTools lists every tool the endpoint has.
func (h *handler) allTools() []*tool {
	return slices.Concat([]*tool{
		h.listWorkspaces(),
		h.routeToPerson(), h.stopAndEscalate(), h.getCase(),
		h.requestApproval(), h.getApproval(), h.redeemApproval(), h.reportWrite(),
		h.holdAndRecheck(), h.listDueRechecks(), h.reportRecheck(),
	}, h.confirmationTools(), h.undoTools())
}

// workspaceAnswer is one workspace the caller reaches.
type workspaceAnswer struct {
	WorkspaceID string   `json:"workspace_id" jsonschema:"use it as workspace_id in other calls"`
	Name        string   `json:"name"`
	Currency    string   `json:"currency" jsonschema:"ISO 4217 currency its books are kept in"`
	TimeZone    string   `json:"time_zone"`
	Roles       []string `json:"roles" jsonschema:"what you are in it"`
	Default     bool     `json:"default" jsonschema:"used when a call names none"`
}

type workspacesAnswer struct {
	Items []workspaceAnswer `json:"items"`
}

func (h *handler) listWorkspaces() *tool {
	return &tool{
		name: "list_workspaces", title: "List workspaces",
		description: "Lists the workspaces (company codes) you can work in, with your roles in each. Call it when another tool answers workspace_required or workspace_access_denied, " +
			"then repeat that call with one of these as workspace_id.",
		noWorkspace: true, readOnly: true,
		spec: wire.NoArguments, output: reflect.TypeFor[workspacesAnswer](),
		run: func(ctx context.Context, c *call) (any, error) {
			if _, err := wire.ReadNothing(c.body); err != nil {
				return nil, err
			}
			list, err := h.cfg.Store.WorkspacesOf(ctx, c.identity)
			if err != nil {
				return nil, err
			}
			answer := workspacesAnswer{Items: []workspaceAnswer{}}
			for _, w := range list {
				item := workspaceAnswer{WorkspaceID: w.ID, Name: w.Name, Currency: w.Currency, TimeZone: w.TimeZone, Roles: []string{}}
				for _, m := range c.identity.Memberships {
					if m.WorkspaceID != w.ID {
						continue
					}
					for _, r := range m.Roles {
						item.Roles = append(item.Roles, string(r))
					}
				}
				if t := c.identity.Token; t != nil && t.DefaultWorkspaceID != nil {
					item.Default = *t.DefaultWorkspaceID == w.ID
				}
				answer.Items = append(answer.Items, item)
			}
			return answer, nil
		},
	}
}
