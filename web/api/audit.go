package api

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/wire"
)

// auditReaders may read the trail of their workspace.
var auditReaders = models.AuditReaders()

// eventAnswer is one line of the trail.
type eventAnswer struct {
	ID                string          `json:"id"`
	Seq               *int64          `json:"seq"` // place in the hash chain; null until it is sealed
	At                models.Time     `json:"at"`
	ActorID           string          `json:"actor_id"`
	ActorName         string          `json:"actor_name"`
	ActorRoles        []string        `json:"actor_roles"`
	Channel           models.Channel  `json:"channel"`
	Action            string          `json:"action"`
	Subject           string          `json:"subject"`
	CaseID            string          `json:"case_id,omitempty"`
	ApprovalRequestID string          `json:"approval_request_id,omitempty"`
	InvoiceID         string          `json:"invoice_id,omitempty"`
	RequestID         string          `json:"request_id,omitempty"` // of the call, to find its log line
	Data              json.RawMessage `json:"data"`
}

type auditAnswer struct {
	Items      []eventAnswer `json:"items"`
	NextCursor string        `json:"next_cursor"`
}

func (a *API) audit() endpoint {
	return endpoint{
		method: http.MethodGet, path: "/audit", name: "listAuditEvents", summary: "Read the trail",
		scopes: []models.Scope{models.ScopeCasesRead, models.ScopeApprovalsRead}, roles: auditReaders,
		query: reflect.TypeFor[wire.AuditQuery](), answer: reflect.TypeFor[auditAnswer](), status: []int{http.StatusOK},
		run: func(ctx context.Context, c *call) (int, any, error) {
			if err := c.by.NeedRole(auditReaders...); err != nil {
				return 0, nil, err
			}
			answer, err := a.trail(ctx, c.by, *c.query.(*wire.AuditQuery))
			return http.StatusOK, answer, err
		},
	}
}

const (
	sortNewest   = "-at"
	sortOldest   = "at"
	defaultLimit = 50
)

// trailCursor is where a page of the trail ended.
type trailCursor struct {
	Sort string `json:"s"`
	At   string `json:"t"`
	ID   string `json:"i"`
}

// trail reads one page of a workspace's audit events, each page by the key where the one before ended.
func (a *API) trail(ctx context.Context, by models.Principal, q wire.AuditQuery) (auditAnswer, error) {
	if q.Sort == "" {
		q.Sort = sortNewest
	}
	if q.Sort != sortNewest && q.Sort != sortOldest {
		return auditAnswer{}, models.E(models.BadRequest, fmt.Sprintf("The trail cannot be sorted by %q; it can by at and -at.", q.Sort), map[string]any{"field": "sort"})
	}
	if q.Limit == 0 {
		q.Limit = defaultLimit
	}
	after, err := readTrailCursor(q.Cursor, q.Sort)
	if err != nil {
		return auditAnswer{}, err
	}
	filter := models.TrailFilter{Action: q.Action, ActorID: q.ActorID, Subject: q.Subject, CaseID: q.CaseID, ApprovalRequestID: q.ApprovalRequestID,
		InvoiceID: q.InvoiceID, Oldest: q.Sort == sortOldest, Limit: int(q.Limit)}
	if q.From != "" {
		filter.From = q.From.Time()
	}
	if q.To != "" {
		filter.To = q.To.Time()
	}
	if after != nil {
		filter.After = &models.TrailKey{At: wire.Moment(after.At).Time(), ID: after.ID}
	}
	events, more, err := a.cfg.Store.Trail(ctx, by, filter)
	if err != nil {
		return auditAnswer{}, err
	}
	answer := auditAnswer{Items: make([]eventAnswer, len(events))}
	for i, e := range events {
		answer.Items[i] = eventOf(e, by)
	}
	if more {
		last := events[len(events)-1]
		answer.NextCursor = trailCursor{q.Sort, last.At.String(), last.ID}.text()
	}
	return answer, nil
}

func eventOf(e models.AuditEvent, by models.Principal) eventAnswer {
	out := eventAnswer{ID: e.ID, Seq: e.Seq, At: e.At, ActorID: e.ActorID, ActorName: e.ActorName, ActorRoles: []string{}, Channel: e.Channel, Action: e.Action,
		Subject: models.MaskIDs(e.Subject), CaseID: e.CaseID, ApprovalRequestID: e.ApprovalRequestID, InvoiceID: e.InvoiceID, RequestID: e.RequestID,
		Data: e.DataFor(by)}
	if e.ActorRoles != "" {
		out.ActorRoles = strings.Split(e.ActorRoles, ",")
	}
	return out
}

func (t trailCursor) text() string {
	raw, err := json.Marshal(t)
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}

func readTrailCursor(text, sort string) (*trailCursor, error) {
	if text == "" {
		return nil, nil
	}
	var t trailCursor
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		err = json.Unmarshal(raw, &t)
	}
	if err != nil || t.Sort != sort || t.ID == "" || wire.Moment(t.At).Time().IsZero() {
		return nil, models.E(models.BadRequest, "The cursor belongs to another list. Send next_cursor of the page before, with the same sort.", map[string]any{"field": "cursor"})
	}
	return &t, nil
}
