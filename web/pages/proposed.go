package pages

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

// proposedPrefix begins the names of fields that complete a call the agent proposed: proposed.0 is the
// tick of the first one, proposed.0.amount a field of it.
const proposedPrefix = "proposed."

// proposedCall is one call that can be asked for, prefilled from its arguments or as it was typed.
func (v *visit) proposedCall(page queue.CasePage, c queue.ProposedCall, form caseForm) views.ProposedCall {
	name := proposedPrefix + strconv.Itoa(c.Index)
	out := views.ProposedCall{Tool: ui.Foreign(c.Tool), Bound: c.Bound}
	if call := lastProposed(page, c.Index); call != nil {
		shown := v.reader().call(call.Tool, call.Arguments)
		out.InWords = shown.InWords
	}
	out.Tick = ui.Field{Name: name, Label: v.tr("Ask for %s", out.Tool.Plain()), Kind: ui.FieldCheckbox, Value: "yes", Checked: form.typed[name] == "yes", TestID: "propose"}
	field := func(f ui.Field, prefilled string) {
		f.Name = name + "." + f.Name
		f.Value = prefilled
		if typed, ok := form.typed[f.Name]; ok && form.typed != nil {
			f.Value = typed
		}
		f.Error = form.decision.problems[f.Name]
		out.Open = out.Open || f.Error != ""
		// Needed only with the tick: the page must not insist on it.
		f.RequiredLater, f.Required = f.Required, false
		out.Fields = append(out.Fields, f)
	}
	currency, amount := c.Currency, c.Amount
	if currency == "" {
		currency = page.Amount.Currency()
	}
	field(ui.Field{Name: "amount", Label: v.tr("Amount of this write"), Kind: ui.FieldAmount, Required: true}, v.lang.TypeFigures(amount))
	field(ui.Field{Name: "currency", Label: v.tr("Currency"), Required: true}, currency)
	field(ui.Field{Name: "posting_date", Label: v.tr("Posting date"), Kind: ui.FieldDate}, c.PostingDate)
	field(ui.Field{Name: "document_type", Label: v.tr("Document type"), Hint: v.tr("As the approval matrix names it.")}, "")
	field(ui.Field{Name: "cost_centre", Label: v.tr("Cost centre")}, "")
	field(ui.Field{Name: "summary", Label: v.tr("What is asked, in one sentence"), Required: true}, strings.TrimSpace(out.InWords.Plain()))
	out.Open = out.Open || out.Tick.Checked
	return out
}

// lastProposed is a call of the newest handover as this reader may see it.
func lastProposed(page queue.CasePage, index int) *models.Call {
	for _, h := range slices.Backward(page.Case.Handovers) {
		if h.Answer != "" {
			continue
		}
		if index < len(h.ProposedCalls) {
			return &h.ProposedCalls[index]
		}
		return nil
	}
	return nil
}

// proposed reads the calls that were ticked, and keeps everything typed for the case that the form comes
// back.
func (v *visit) proposed(typed map[string]string) []queue.ProposedInput {
	var ticked []int
	for _, f := range posted(v.c) {
		rest, ok := strings.CutPrefix(f.name, proposedPrefix)
		if !ok || len(typed) > maxTypedFields {
			continue
		}
		typed[f.name] = strings.TrimSpace(f.value)
		if i, err := strconv.Atoi(rest); err == nil && f.value == "yes" && !slices.Contains(ticked, i) {
			ticked = append(ticked, i)
		}
	}
	slices.Sort(ticked)
	var out []queue.ProposedInput
	for _, i := range ticked {
		at := func(field string) string { return typed[fmt.Sprintf("%s%d.%s", proposedPrefix, i, field)] }
		out = append(out, queue.ProposedInput{Index: i, Amount: v.lang.ReadFigures(at("amount")), Currency: at("currency"), PostingDate: at("posting_date"), DocumentType: at("document_type"),
			CostCentre: at("cost_centre"), Summary: at("summary")})
	}
	return out
}

// maxTypedFields bounds what is kept of a form.
const maxTypedFields = 500

// approverSearch is what finding an approver needs: the request, every rule and why it does not help,
// and who could be named. nil once the request is routed.
func (v *visit) approverSearch(requestID string) (*views.ApproverSearch, error) {
	request, err := v.p.approvals.Page(v.ctx, v.by, requestID)
	if models.IsCode(err, models.NotFound) || (err == nil && request.Status != models.RequestUnrouted) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	q := request.Request
	out := &views.ApproverSearch{Amount: v.money(q.Amount, q.Currency), Tried: v.tried(request.Tried)}
	out.Facts = append(pairs(v.tr("What is asked"), q.Summary, v.tr("Tool"), q.Tool, v.tr("Amount"), out.Amount, v.tr("Document type"), orSome(q.DocumentType, v.tr("none named")), v.tr("Cost centre"), q.CostCentre,
		v.tr("Posting date"), v.date(q.PostingDate), v.tr("Asked by"), q.AskerName), pairs(v.tr("Why nobody can decide"), v.said(request.Unrouted))...)
	try := url.Values{"tool": {q.Tool}, "amount": {lang.FiguresInAddress(q.Amount)}, "currency": {q.Currency}}
	for name, value := range map[string]string{"document_type": q.DocumentType, "supplier": q.SupplierID, "cost_centre": q.CostCentre} {
		if value != "" {
			try.Set(name, value)
		}
	}
	if v.by.WorkspaceID != v.chosen {
		try.Set("workspace_id", v.by.WorkspaceID)
	}
	out.TryURL = templ.SafeURL("/settings/rules/try?" + try.Encode())
	people, err := v.p.approvals.Candidates(v.ctx, v.by, requestID)
	if models.IsCode(err, models.InsufficientPermission) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	for _, p := range people {
		c := views.ApproverCandidate{Name: p.Name, Email: p.Email, Limit: p.Limit, Absence: v.said(p.Absence), Why: ui.Foreign(v.said(p.Why))}
		if p.May {
			out.Candidates = append(out.Candidates, c)
		} else {
			out.Others = append(out.Others, c)
		}
	}
	return out, nil
}

// offerCandidates lets the person choose among those who can be named. Without any the field stays as it
// is, since the desk says why whoever is typed cannot.
func (w words) offerCandidates(form *views.DecisionForm, search *views.ApproverSearch) {
	if form == nil || search == nil || len(search.Candidates) == 0 {
		return
	}
	for i := range form.Exits {
		for j := range form.Exits[i].Fields {
			f := &form.Exits[i].Fields[j]
			if f.Name != "input.person" {
				continue
			}
			options := []ui.Option{{Value: "", Label: w.tr("Choose who decides")}}
			for _, c := range search.Candidates {
				label := c.Name
				if c.Limit != "" {
					label += ", " + w.tr("up to %s", c.Limit)
				}
				if c.Absence != "" {
					label += ", " + c.Absence
				}
				options = append(options, ui.Option{Value: c.Email, Label: label, Selected: c.Email == f.Value})
			}
			if f.Value != "" && !slices.ContainsFunc(options, func(o ui.Option) bool { return o.Selected }) {
				options = append(options, ui.Option{Value: f.Value, Label: f.Value, Selected: true})
			}
			f.Kind, f.Options, f.Label, f.Autocomplete = ui.FieldSelect, options, w.tr("Approver"), ""
		}
	}
}
