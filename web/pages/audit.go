package pages

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

const auditPath = "/audit"

func mountAudit(get, _ route) {
	get(auditPath, (*visit).showAudit)
	get(auditPath+".jsonl", func(v *visit) error { return v.exportAudit(models.AuditJSONL, "application/jsonl") })
	get(auditPath+".csv", func(v *visit) error { return v.exportAudit(models.AuditCSV, "text/csv; charset=utf-8") })
}

// readsAudit says whether the person may read the whole trail.
func readsAudit(by models.Principal) bool { return by.Has(models.AuditReaders()...) }

const (
	auditShown       = 50
	checkpointsShown = 7
)

// auditFields are the filters, as their fields and addresses are named.
var auditFields = []string{"actor", "action", "channel", "case", "request", "invoice", "from", "to", "refused"}

// auditFilter reads the filters of the address. What cannot be read is answered as issues.
func (v *visit) auditFilter() (q models.AuditQuery, asked map[string]string, issues []models.Issue) {
	asked = map[string]string{}
	for _, name := range auditFields {
		asked[name] = strings.TrimSpace(strings.Clone(v.c.Query(name)))
	}
	q.Actor, q.Action, q.Channel, q.Refused = asked["actor"], asked["action"], models.Channel(asked["channel"]), asked["refused"] != ""
	q.CaseID, q.ApprovalRequestID, q.InvoiceID = asked["case"], asked["request"], asked["invoice"]
	day := func(name string, add int) (at models.Time) {
		if asked[name] == "" {
			return at
		}
		d, err := models.ParseDate(asked[name])
		if err != nil {
			issues = append(issues, models.Issue{Path: "/" + name, Message: err.Error()})
			return at
		}
		return d.AddDays(add).StartIn(v.zone)
	}
	q.From, q.To = day("from", 0), day("to", 1)
	if len(issues) == 0 && !q.From.IsZero() && !q.To.IsZero() && !q.From.Before(q.To.Time) {
		issues = append(issues, models.Issue{Path: "/to", Message: "must not be before the first day"})
	}
	return q, asked, issues
}

// asQuery is the filter as it stands in an address.
func asQuery(asked map[string]string) (query []string) {
	for _, name := range auditFields {
		query = append(query, name, asked[name])
	}
	return query
}

// auditCursor is where a page of the trail ended, as text.
func auditCursor(k *models.TrailKey) string {
	if k == nil {
		return ""
	}
	return models.KeyCursor(k.At, k.ID)
}

func readAuditCursor(text string) *models.TrailKey {
	at, id, err := models.ReadKeyCursor(text)
	if err != nil {
		return nil
	}
	return &models.TrailKey{At: at, ID: id}
}

// showAudit is GET /audit.
func (v *visit) showAudit() error {
	if err := v.by.NeedRole(models.AuditReaders()...); err != nil {
		return err
	}
	q, asked, issues := v.auditFilter()
	cursor := v.c.Query("cursor")
	q.Limit, q.After = auditShown, readAuditCursor(cursor)
	if q.After == nil {
		cursor = ""
	}
	actions, actors, err := v.p.store.AuditChoices(v.ctx, v.by)
	if err != nil {
		return err
	}
	signed, err := v.p.store.Checkpoints(v.ctx, v.by, checkpointsShown)
	if err != nil {
		return err
	}
	query := asQuery(asked)
	page, err := v.page(v.tr("Audit trail"), v.link(auditPath, append(slices.Clone(query), "cursor", cursor)...), "")
	if err != nil {
		return err
	}
	out := views.AuditPage{Page: page, Filter: v.auditForm(asked, issues, actions, actors),
		Lead:       v.tr("Everything that people, agents and the desk did in %s, and what was refused. Nothing here can be changed; days and times are of %s.", v.ws.Name, v.zone.String()),
		Empty:      ui.Empty{Heading: v.tr("No event matches"), Text: v.tr("Take away a filter, or choose other days."), TestID: "empty"},
		NoneSigned: v.tr("None is signed yet; a running desk signs the first within a day.")}
	for _, c := range signed {
		out.Checkpoints = append(out.Checkpoints, views.Checkpoint{Number: fmt.Sprint(c.Seq), Signed: v.exactly(c.At), Note: ui.Foreign(c.Note)})
	}
	if len(issues) > 0 {
		out.Errors = ui.ErrorsOf(out.Filter.Fields...)
		return render(v.c, http.StatusUnprocessableEntity, views.AuditTrail(out))
	}
	found, err := v.p.store.AuditPage(v.ctx, v.by, q)
	if err != nil {
		return err
	}
	for _, e := range found.Events {
		out.Rows = append(out.Rows, v.auditRow(e))
	}
	if found.Cut {
		out.Cut = v.tr("The last %d events looked at go back to %s; older ones may match too. Go on with Next, or choose days.", models.AuditScan, v.exactly(found.Until).Text)
	}
	out.JSONL, out.CSV = v.link(auditPath+".jsonl", query...), v.link(auditPath+".csv", query...)
	out.Pager = v.pager(auditPath, len(found.Events), cursor, auditCursor(found.Next), query...)
	return render(v.c, http.StatusOK, views.AuditTrail(out))
}

// auditForm is the filter with what was asked for.
func (v *visit) auditForm(asked map[string]string, issues []models.Issue, actions []string, actors []models.AuditChoice) views.FilterForm {
	f := views.FilterForm{URL: auditPath, ClearURL: v.link(auditPath)}
	if v.by.WorkspaceID != v.chosen {
		f.Hidden = append(f.Hidden, ui.Hidden{Name: "workspace_id", Value: v.by.WorkspaceID})
	}
	who := []ui.Option{{Value: "", Label: v.tr("Anybody")}}
	for _, a := range actors {
		who = append(who, ui.Option{Value: a.ID, Label: ui.Foreign(a.Name).Plain()})
	}
	who = append(who, ui.Option{Value: models.System("").UserName, Label: v.tr("The desk itself")}, ui.Option{Value: models.Operator("").UserName, Label: v.tr("The operator at the command line")})
	what := []ui.Option{{Value: "", Label: v.tr("Anything")}}
	for _, a := range actions {
		what = append(what, ui.Option{Value: a, Label: a})
	}
	through := []ui.Option{{Value: "", Label: v.tr("Any way")}, {Value: string(models.ChannelWeb), Label: v.tr("In the browser")}, {Value: string(models.ChannelAPI), Label: v.tr("Over REST")},
		{Value: string(models.ChannelMCP), Label: v.tr("Over MCP")}, {Value: string(models.ChannelSystem), Label: v.tr("By the desk or the operator")}}
	choose := func(options []ui.Option, value string) []ui.Option {
		known := false
		for i := range options {
			options[i].Selected = options[i].Value == value
			known = known || options[i].Selected
		}
		if !known { // an address may ask for what does not occur
			options = append(options, ui.Option{Value: value, Label: ui.Foreign(value).Plain(), Selected: true})
		}
		return options
	}
	f.Fields = []ui.Field{
		{Name: "actor", Label: v.tr("Who"), Kind: ui.FieldSelect, Options: choose(who, asked["actor"])},
		{Name: "action", Label: v.tr("What"), Kind: ui.FieldSelect, Options: choose(what, asked["action"])},
		{Name: "channel", Label: v.tr("Which way"), Kind: ui.FieldSelect, Options: choose(through, asked["channel"])},
		{Name: "from", Label: v.tr("From day"), Kind: ui.FieldDate, Value: asked["from"]},
		{Name: "to", Label: v.tr("Through day"), Kind: ui.FieldDate, Value: asked["to"]},
		{Name: "invoice", Label: v.tr("Invoice id"), Kind: ui.FieldText, Value: asked["invoice"]},
		{Name: "case", Label: v.tr("Case id"), Kind: ui.FieldText, Value: asked["case"]},
		{Name: "request", Label: v.tr("Approval request id"), Kind: ui.FieldText, Value: asked["request"]},
		{Name: "refused", Label: v.tr("Only what was refused"), Kind: ui.FieldCheckbox, Value: "1", Checked: asked["refused"] != ""},
	}
	var active []string
	for i := range f.Fields {
		field := &f.Fields[i]
		for _, issue := range issues {
			if issue.Path == "/"+field.Name {
				field.Error = v.said(issue.Message)
			}
		}
		if asked[field.Name] == "" {
			continue
		}
		shown := asked[field.Name]
		for _, o := range field.Options {
			if o.Selected {
				shown = o.Label
			}
		}
		switch field.Kind {
		case ui.FieldCheckbox:
			shown = v.tr("refused")
		case ui.FieldDate:
			shown = v.lower(field.Label) + " " + v.dateText(shown)
		case ui.FieldText:
			shown = v.lower(field.Label) + " " + ui.Foreign(shown).Plain()
		}
		active = append(active, shown)
	}
	f.Active = v.list(active)
	return f
}

// auditRow tells one event, as this reader may see it.
func (v *visit) auditRow(e models.AuditEvent) views.AuditRow {
	data := e.DataFor(v.by)
	e.Data = string(data)
	row := views.AuditRow{ID: e.ID, At: v.exactly(e.At), Action: e.Action, Who: ui.Foreign(e.ActorName), Channel: v.channel(e.Channel), Refused: e.Refused(), RequestID: ui.Foreign(e.RequestID)}
	if e.Seq != nil {
		row.Number = fmt.Sprint(*e.Seq)
	}
	var roles []models.Role
	for _, r := range strings.Split(e.ActorRoles, ",") {
		if r != "" {
			roles = append(roles, models.Role(r))
		}
	}
	row.Roles = v.roleTitles(roles)
	if e.Channel == models.ChannelSystem {
		row.Who = ui.Foreign(v.author(e.ActorName))
	}
	if told := v.timeline([]models.AuditEvent{e}, nil); len(told) == 1 {
		row.What, row.Words, row.Details = told[0].What, told[0].Words, told[0].Details
		row.Kind = v.actorKind(cameAs(e))
		if e.Channel == models.ChannelSystem {
			row.Kind = v.tr("command line")
			if e.ActorName == models.System("").UserName {
				row.Kind = v.trc("who did it", "desk")
			}
		}
	}
	row.Changes = v.changesOf(data)
	if row.Data, _ = v.reader().value(data); row.Data.Kind == ui.KindFields && len(row.Data.Fields) == 0 {
		row.Empty = e.RequestID == ""
	}
	link := func(text string, url templ.SafeURL) {
		row.Links = append(row.Links, views.RelatedLink{Text: text, URL: url})
	}
	if e.CaseID != "" {
		link(v.tr("Case"), caseURL(e.CaseID))
	}
	if e.ApprovalRequestID != "" {
		link(v.tr("Approval request"), requestURL(e.ApprovalRequestID))
	}
	if url := v.invoiceURL(e.InvoiceID); url != "" {
		link(v.tr("Invoice %s", ui.Foreign(e.InvoiceID).Plain()), url)
	}
	return row
}

// actorKind says what did something.
func (w words) actorKind(k ui.TimelineKind) string {
	switch k {
	case ui.ByAgent:
		return w.tr("agent")
	case ui.BySystem:
		return w.trc("who did it", "desk")
	case ui.ByERP:
		return w.tr("ERP")
	}
	return w.tr("person")
}

// changesOf compares what an event says was before with what is after. Where it says what was before
// and then the rule as it is, the rule is what is after.
func (v *visit) changesOf(data json.RawMessage) []ui.CompareRow {
	var d map[string]json.RawMessage
	if json.Unmarshal(data, &d) != nil {
		return nil
	}
	before, there := d["before"]
	after, both := d["after"]
	if !both {
		after, both = d["rule"]
	}
	if !there || !both {
		return nil
	}
	side := func(raw json.RawMessage) ui.Value {
		value, _ := v.reader().value(raw)
		if value.Kind == ui.KindItems {
			var texts []string
			for _, item := range value.Items {
				texts = append(texts, string(item.Text))
			}
			value = ui.TextValue(strings.Join(texts, ", "))
		}
		if value.Kind != ui.KindFields {
			value = ui.FieldsValue(ui.Entry{Key: "value", Label: ui.Foreign(v.tr("Value")), Value: value})
		}
		return value
	}
	return slices.DeleteFunc(ui.Compare(side(before), side(after)), func(r ui.CompareRow) bool { return r.Difference == ui.Same })
}

// exportAudit streams what the filter chooses, oldest first. A file that cannot be finished ends the
// connection, so that half of it is never taken for the whole.
func (v *visit) exportAudit(format models.AuditFormat, contentType string) error {
	if err := v.by.NeedRole(models.AuditReaders()...); err != nil {
		return err
	}
	q, _, issues := v.auditFilter()
	if err := invalid(issues); err != nil {
		return err
	}
	q.Oldest = true
	v.c.Set(fiber.HeaderContentType, contentType)
	v.c.Set(fiber.HeaderCacheControl, "no-store")
	v.c.Set(fiber.HeaderContentDisposition, `attachment; filename="`+fileName("apdesk audit "+v.by.WorkspaceID+" "+v.today().String())+"."+string(format)+`"`)
	if v.c.Method() == fiber.MethodHead {
		return nil
	}
	store, by, log := v.p.store, v.by, v.p.log
	from, to := io.Pipe()
	ctx, stop := context.WithCancel(v.p.app)
	go func() {
		defer stop()
		err := store.ExportAudit(ctx, by, q, format, to)
		if err != nil && !errors.Is(err, io.ErrClosedPipe) {
			log.Warn("an export of the trail was not finished", "cause", err)
		}
		_ = to.CloseWithError(err) // never fails
	}()
	v.c.Context().SetBodyStream(from, -1)
	return nil
}
