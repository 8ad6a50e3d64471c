package models

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
)

// AuditEvent is one line of the trail. Its action is a past-tense verb such as case.claimed.
type AuditEvent struct {
	ID                string `gorm:"primaryKey"`
	WorkspaceID       string
	At                Time
	ActorID           string
	ActorName         string
	ActorRoles        string
	Channel           Channel
	TokenID           string
	Action            string
	Subject           string // id of the record it is about
	CaseID            string
	ApprovalRequestID string
	InvoiceID         string
	RequestID         string // of the HTTP request, to find its log line
	Data              string // JSON object
	Seq               *int64
	PrevHash          *string
	Hash              *string
}

// Ref names what an audit event is about; empty fields do not apply.
type Ref struct {
	Subject           string
	CaseID            string
	ApprovalRequestID string
	InvoiceID         string
}

// Audit adds an event to the trail, in the transaction of the change it records.
func (tx *Tx) Audit(action string, ref Ref, data map[string]any) error {
	if data == nil {
		data = map[string]any{}
	}
	payload, err := json.Marshal(data)
	if err != nil {
		return err
	}
	roles := make([]string, len(tx.By.Roles))
	for i, r := range tx.By.Roles {
		roles[i] = string(r)
	}
	if ref.Subject == "" {
		ref.Subject = ref.CaseID
	}
	if ref.Subject == "" {
		ref.Subject = ref.ApprovalRequestID
	}
	if tx.sealing == nil {
		tx.sealing = map[string]bool{}
	}
	tx.sealing[tx.By.WorkspaceID] = true
	_, err = tx.Exec(`INSERT INTO audit_events (id, workspace_id, at, actor_id, actor_name, actor_roles, channel, token_id, action, subject,
		case_id, approval_request_id, invoice_id, request_id, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		tx.NewID(PrefixEvent), tx.By.WorkspaceID, tx.Now, tx.By.UserID, tx.By.UserName, strings.Join(roles, ","), string(tx.By.Channel), tx.By.TokenID, action, ref.Subject,
		ref.CaseID, ref.ApprovalRequestID, ref.InvoiceID, tx.By.RequestID, string(payload))
	return err
}

// RecordRefusal adds an event for an attempt that was refused, in a transaction of its own since the
// attempt's was undone.
func (s *Store) RecordRefusal(ctx context.Context, by Principal, action string, ref Ref, data map[string]any) error {
	return s.InTx(context.WithoutCancel(ctx), by, func(tx *Tx) error { return tx.Audit(action, ref, data) })
}

// AuditReaders are the roles that read the whole trail of their workspace.
func AuditReaders() []Role { return []Role{RoleAuditor, RoleFinanceLead, RoleAPLead, RoleAdmin} }

// hidden stands where a value is not for the reader.
const hidden = "(hidden)"

// enteredData are members of an event's data that hold what people entered, which may be tax or bank
// data under any name.
var enteredData = []string{"input", "correction", "answers"}

// DataFor is the event's data as a reader may see it: tax and bank data is for master data, finance
// leads and auditors, and no approval id is shown whole to anybody.
func (e AuditEvent) DataFor(by Principal) json.RawMessage {
	text := MaskIDs(e.Data)
	if by.Channel == ChannelSystem || by.Has(RoleAuditor, RoleFinanceLead, RoleMasterData) {
		if !json.Valid([]byte(text)) {
			return json.RawMessage("{}")
		}
		return json.RawMessage(text)
	}
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var data map[string]any
	if err := d.Decode(&data); err != nil {
		return json.RawMessage("{}")
	}
	changed := hidePrivate(data)
	for _, name := range enteredData {
		if _, there := data[name]; there {
			data[name], changed = hidden, true
		}
	}
	if !changed {
		return json.RawMessage(text)
	}
	out, err := json.Marshal(data)
	if err != nil {
		return json.RawMessage("{}")
	}
	return out
}

// hidePrivate hides members that are private by their names, at any depth.
func hidePrivate(v any) (changed bool) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if IsPrivateName(name) && value != nil {
				v[name], changed = hidden, true
			} else if hidePrivate(value) {
				changed = true
			}
		}
	case []any:
		for _, value := range v {
			if hidePrivate(value) {
				changed = true
			}
		}
	}
	return changed
}

// Refused says whether the event records an attempt that was refused.
func (e AuditEvent) Refused() bool { return strings.HasSuffix(e.Action, "refused") }

// AuditQuery chooses events of the trail. Actor is a user's id, or the name of what acts without being
// a user: the desk itself, or the operator.
type AuditQuery struct {
	TrailFilter
	Actor   string
	Channel Channel
	Refused bool
}

// AuditScan is how many events are looked at for one page. A page that would need more says where it
// stopped, so that no filter makes reading cost what the history is long.
const AuditScan = 2000

// AuditPage is a page of the trail.
type AuditPage struct {
	Events []AuditEvent
	Next   *TrailKey // where to go on; nil at the end
	// Cut says that the page is short because AuditScan events were looked at, the last of them at Until.
	Cut   bool
	Until Time
}

// index keeps of the filter what one index answers by itself: the narrowest of its conditions.
func (q AuditQuery) index() TrailFilter {
	f := TrailFilter{Oldest: q.Oldest, After: q.After}
	if q.After == nil && q.Oldest {
		f.From = q.From
	} else if q.After == nil {
		f.To = q.To
	}
	switch {
	case q.CaseID != "":
		f.CaseID = q.CaseID
	case q.ApprovalRequestID != "":
		f.ApprovalRequestID = q.ApprovalRequestID
	case q.InvoiceID != "":
		f.InvoiceID = q.InvoiceID
	case q.Subject != "":
		f.Subject = q.Subject
	case strings.HasPrefix(q.Actor, PrefixUser+"_"):
		f.ActorID = q.Actor
	default:
		f.Action = q.Action
	}
	return f
}

// ends says whether the period asked for ends before the event, in the order of reading. Only where
// reading begins is a bound of the query: with two SQLite prefers the index by time alone.
func (q AuditQuery) ends(e AuditEvent) bool {
	if q.Oldest {
		return !q.To.IsZero() && !e.At.Before(q.To.Time)
	}
	return !q.From.IsZero() && e.At.Before(q.From.Time)
}

// matches looks at the conditions the index does not answer.
func (q AuditQuery) matches(e AuditEvent) bool {
	for _, want := range []struct{ value, is string }{
		{q.Action, e.Action}, {string(q.Channel), string(e.Channel)}, {q.CaseID, e.CaseID}, {q.ApprovalRequestID, e.ApprovalRequestID}, {q.InvoiceID, e.InvoiceID}, {q.Subject, e.Subject},
	} {
		if want.value != "" && want.value != want.is {
			return false
		}
	}
	if q.Actor != "" && q.Actor != e.ActorID && (e.ActorID != "" || q.Actor != e.ActorName) {
		return false
	}
	return !q.Refused || e.Refused()
}

// AuditPage reads a page of the trail of the workspace acted in.
func (s *Store) AuditPage(ctx context.Context, by Principal, q AuditQuery) (AuditPage, error) {
	var page AuditPage
	f := q.index()
	for looked := 0; ; {
		f.Limit = min(max(q.Limit, 200), AuditScan-looked)
		events, more, err := s.Trail(ctx, by, f)
		if err != nil {
			return AuditPage{}, err
		}
		for i, e := range events {
			if q.ends(e) {
				return page, nil
			}
			if !q.matches(e) {
				continue
			}
			page.Events = append(page.Events, e)
			if len(page.Events) == q.Limit {
				if more || i+1 < len(events) {
					page.Next = &TrailKey{At: e.At, ID: e.ID}
				}
				return page, nil
			}
		}
		if !more {
			return page, nil
		}
		looked += len(events)
		last := events[len(events)-1]
		f.After, f.From, f.To = &TrailKey{At: last.At, ID: last.ID}, Time{}, Time{}
		if looked >= AuditScan {
			page.Next, page.Cut, page.Until = f.After, true, last.At
			return page, nil
		}
	}
}

// EachAuditEvent gives every event the query chooses to fn, reading a page at a time. Its error ends
// the reading.
func (s *Store) EachAuditEvent(ctx context.Context, by Principal, q AuditQuery, fn func(AuditEvent) error) error {
	q.Limit = 500
	for {
		page, err := s.AuditPage(ctx, by, q)
		if err != nil {
			return err
		}
		for _, e := range page.Events {
			if err := fn(e); err != nil {
				return err
			}
		}
		if page.Next == nil {
			return nil
		}
		q.After = page.Next
	}
}

// AuditChoice is something the trail can be filtered by, as it occurs there.
type AuditChoice struct{ ID, Name string }

// AuditChoices lists the actions and the users that occur in the trail of the workspace acted in.
func (s *Store) AuditChoices(ctx context.Context, by Principal) (actions []string, actors []AuditChoice, err error) {
	err = s.View(ctx, by, func(tx *Tx) error {
		if err := tx.DB.Raw(occurring("action"), by.WorkspaceID, by.WorkspaceID).Scan(&actions).Error; err != nil {
			return err
		}
		return tx.DB.Raw(`SELECT users.id, users.name FROM users JOIN (`+occurring("actor_id")+`) seen ON seen.value = users.id ORDER BY users.name, users.id`,
			by.WorkspaceID, by.WorkspaceID).Scan(&actors).Error
	})
	return actions, actors, err
}

// occurring lists the values of a column by looking up each next one in its index.
func occurring(column string) string {
	return strings.ReplaceAll(`WITH RECURSIVE v(value) AS (
			SELECT MIN(COLUMN) FROM audit_events WHERE workspace_id = ?
			UNION ALL
			SELECT (SELECT MIN(e.COLUMN) FROM audit_events e WHERE e.workspace_id = ? AND e.COLUMN > v.value) FROM v WHERE v.value IS NOT NULL
		) SELECT value FROM v WHERE value IS NOT NULL`, "COLUMN", column)
}

// AuditFormat is how the trail is exported.
type AuditFormat string

// The formats of an export.
const (
	AuditJSONL AuditFormat = "jsonl"
	AuditCSV   AuditFormat = "csv"
)

// exportedEvent is an event in an export. Whoever holds all of them can check the chain.
type exportedEvent struct {
	WorkspaceID       string          `json:"workspace_id"`
	Seq               *int64          `json:"seq"`
	ID                string          `json:"id"`
	At                Time            `json:"at"`
	ActorID           string          `json:"actor_id"`
	ActorName         string          `json:"actor_name"`
	ActorRoles        string          `json:"actor_roles"`
	Channel           Channel         `json:"channel"`
	TokenID           string          `json:"token_id"`
	Action            string          `json:"action"`
	Refused           bool            `json:"refused"`
	Subject           string          `json:"subject"`
	CaseID            string          `json:"case_id"`
	ApprovalRequestID string          `json:"approval_request_id"`
	InvoiceID         string          `json:"invoice_id"`
	RequestID         string          `json:"request_id"`
	Data              json.RawMessage `json:"data"`
	PrevHash          *string         `json:"prev_hash"`
	Hash              *string         `json:"hash"`
}

var exportedColumns = []string{"workspace_id", "seq", "id", "at", "actor_id", "actor_name", "actor_roles", "channel", "token_id", "action", "refused", "subject", "case_id",
	"approval_request_id", "invoice_id", "request_id", "data", "prev_hash", "hash"}

// ExportAudit writes every event the query chooses, as by may see it, one on a line. In CSV no cell
// begins like a formula.
func (s *Store) ExportAudit(ctx context.Context, by Principal, q AuditQuery, format AuditFormat, to io.Writer) error {
	if format == AuditJSONL {
		out := json.NewEncoder(to)
		out.SetEscapeHTML(false)
		return s.EachAuditEvent(ctx, by, q, func(e AuditEvent) error {
			return out.Encode(exportedEvent{e.WorkspaceID, e.Seq, e.ID, e.At, e.ActorID, e.ActorName, e.ActorRoles, e.Channel, e.TokenID, e.Action, e.Refused(), MaskIDs(e.Subject), e.CaseID,
				e.ApprovalRequestID, e.InvoiceID, e.RequestID, e.DataFor(by), e.PrevHash, e.Hash})
		})
	}
	out, err := NewSheet(to)
	if err != nil {
		return err
	}
	if err := out.Write(exportedColumns); err != nil {
		return err
	}
	err = s.EachAuditEvent(ctx, by, q, func(e AuditEvent) error {
		seq := ""
		if e.Seq != nil {
			seq = strconv.FormatInt(*e.Seq, 10)
		}
		row := []string{e.WorkspaceID, seq, e.ID, e.At.String(), e.ActorID, e.ActorName, e.ActorRoles, string(e.Channel), e.TokenID, e.Action, strconv.FormatBool(e.Refused()), MaskIDs(e.Subject),
			e.CaseID, e.ApprovalRequestID, e.InvoiceID, e.RequestID, string(e.DataFor(by)), deref(e.PrevHash), deref(e.Hash)}
		return out.Write(row)
	})
	return errors.Join(err, out.Flush())
}
