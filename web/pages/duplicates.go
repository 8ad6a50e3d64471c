package pages

import (
	"strings"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// duplicateCandidates are the invoices that inv may be again, by what the desk has seen; nil when there
// are none, or when they are not for this reader. Of an invoice the desk has seen its id is enough.
// named are ids of invoices that somebody says it duplicates.
func (v *visit) duplicateCandidates(inv models.Invoice, named ...string) (*views.Duplicates, error) {
	found, err := v.p.store.DuplicateCandidates(v.ctx, v.by, inv, named...)
	if models.IsCode(err, models.InsufficientPermission) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return v.duplicates(found), nil
}

func (v *visit) duplicates(found models.Duplicates) *views.Duplicates {
	if len(found.Candidates) == 0 {
		return nil
	}
	out := &views.Duplicates{Lead: v.trn("%d invoice the desk has seen may be this one again.", "%d invoices the desk has seen may be this one again.", len(found.Candidates)) + " " +
		v.tr("It is for a person to judge: numbers may restart every year, and equal amounts may be due every month.")}
	if found.More {
		out.More = v.tr("There are more; the %d likeliest are shown.", len(found.Candidates))
	}
	asked := v.c.Query(besideParam)
	for i, c := range found.Candidates {
		d := v.duplicate(found.This, c)
		chosen := asked != "" && asked == c.Invoice.InvoiceID
		d.Open = chosen || asked == "" && i == 0
		if i >= wholeDuplicates && !chosen {
			d.Rows, d.Cases, d.Approvals = nil, nil, nil
			d.BesideURL = withQuery(withFrom(templ.SafeURL(v.c.Path()), v.from()), besideParam, c.Invoice.InvoiceID) + "#beside"
		}
		d.Chosen = chosen
		out.Items = append(out.Items, d)
	}
	return out
}

// wholeDuplicates are shown field by field; each further one is a row that leads to the page with it so shown, as
// besideParam names it.
const (
	wholeDuplicates = 3
	besideParam     = "beside"
)

func (v *visit) duplicate(this models.SeenInvoice, c models.DuplicateCandidate) views.Duplicate {
	that := c.Invoice
	d := views.Duplicate{ID: ui.Foreign(that.InvoiceID), URL: v.invoiceURL(that.InvoiceID), Number: ui.Foreign(that.Number), Why: v.whyDuplicate(c),
		ThisTitle: ui.Foreign(v.tr("This invoice")), ThatTitle: ui.Foreign(v.tr("Seen %s", v.day(that.FirstSeenAt)))}
	if that.Amount != "" {
		d.Amount = v.money(that.Amount, that.Currency)
	}
	if !that.InvoiceDate.IsZero() {
		d.Date = v.date(that.InvoiceDate)
	}
	if days, ok := models.DaysBetween(this.InvoiceDate, that.InvoiceDate); ok && days > restartDays && c.Why == models.WhyNumber {
		d.Hint = v.tr("The dates lie %d days apart: the supplier’s numbers may have started anew.", days)
	}
	d.Rows = v.duplicateRows(this, that)
	d.DiffersText = v.differ(d.Rows)
	v.verdict(&d, c.Judged)
	for _, k := range c.Cases {
		state := v.lower(v.caseBadge(k.Status).Text)
		if k.Exit != "" {
			state += ": " + v.lower(v.exit(k.Exit))
		}
		d.Cases = append(d.Cases, views.RelatedState{Text: v.codeTitle(k.Code), State: state, URL: caseURL(k.CaseID)})
	}
	for _, a := range c.Approvals {
		d.Approvals = append(d.Approvals, views.RelatedState{Text: v.tr("%s with %s", v.money(a.Amount, a.Currency), ui.Foreign(a.Tool).Plain()), State: v.approvalState(a), URL: requestURL(a.RequestID)})
	}
	return d
}

// restartDays is from how many days apart on two invoices of one number are likelier of two years.
const restartDays = 180

func (w words) whyDuplicate(c models.DuplicateCandidate) string {
	var why []string
	if c.Named {
		why = append(why, w.tr("named by the agent"))
	}
	switch c.Why {
	case models.WhyNumber:
		why = append(why, w.tr("same number"))
	case models.WhyAmount:
		why = append(why, w.tr("same amount and near date"))
	case models.WhyBoth:
		why = append(why, w.tr("same number, same amount and near date"))
	}
	return strings.Join(why, ", ")
}

func (w words) approvalState(a models.CandidateApproval) string {
	switch {
	case a.ReportStatus == "posted" && a.DocumentNumber != "":
		return w.tr("posted as document %s", ui.Foreign(a.DocumentNumber).Plain())
	case a.ReportStatus != "":
		return w.tr("report: %s", w.said(strings.ReplaceAll(a.ReportStatus, "_", " ")))
	case a.Approval != "":
		return w.lower(w.approvalBadge(a.Approval).Text)
	}
	return w.lower(w.requestBadge(a.Status).Text)
}

// verdict says what a person decided about the pair.
func (v *visit) verdict(d *views.Duplicate, j *models.JudgedPair) {
	if j == nil {
		return
	}
	d.VerdictURL, d.VerdictTone = caseURL(j.CaseID), ui.ToneInfo
	who := orSome(j.By, v.tr("Somebody"))
	switch {
	case j.Outdated:
		d.Verdict = v.tr("%s judged on %s that the two are no duplicates. The supplier of one of them changed since, so that verdict does not count any more.", who, v.day(j.At))
		d.VerdictTone = ui.ToneWarn
	case j.Exit == "not_duplicate":
		d.Verdict = v.tr("%s judged on %s that the two are no duplicates.", who, v.day(j.At))
		d.VerdictTone = ui.ToneGood
	case j.Exit == "confirm_duplicate":
		d.Verdict = v.tr("%s judged on %s that the one duplicates the other.", who, v.day(j.At))
		d.VerdictTone = ui.ToneBad
	default:
		d.Verdict = v.tr("%s judged on %s that the one corrects the other, which must be credited first.", who, v.day(j.At))
	}
}

// duplicateRows sets two invoices beside each other. Amounts differ by their value, numbers also in the
// form in which they are compared.
func (w words) duplicateRows(this, that models.SeenInvoice) []ui.CompareRow {
	var rows []ui.CompareRow
	add := func(label, left, right string, same bool) {
		row := ui.CompareRow{Key: ui.Foreign(label), Label: ui.Foreign(label), Left: sideValue(left), Right: sideValue(right), Difference: ui.Differs}
		switch {
		case left == "" && right == "":
			return
		case right == "":
			row.Difference = ui.OnlyLeft
		case left == "":
			row.Difference = ui.OnlyRight
		case same:
			row.Difference = ui.Same
		}
		rows = append(rows, row)
	}
	add(w.tr("Invoice number"), this.Number, that.Number, this.Number == that.Number)
	add(w.tr("Number as compared"), this.NumberNorm, that.NumberNorm, this.NumberNorm == that.NumberNorm)
	add(w.tr("Supplier"), this.Supplier, that.Supplier, this.Supplier == that.Supplier)
	add(w.tr("Supplier name"), this.SupplierName, that.SupplierName, this.SupplierName == that.SupplierName)
	add(w.tr("PO"), this.PoID, that.PoID, this.PoID == that.PoID)
	add(w.tr("Amount"), w.moneyOrNone(this), w.moneyOrNone(that), this.AmountNorm == that.AmountNorm && this.Currency == that.Currency)
	add(w.tr("Invoice date"), w.date(this.InvoiceDate), w.date(that.InvoiceDate), this.InvoiceDate == that.InvoiceDate)
	add(w.tr("ERP id"), this.InvoiceID, that.InvoiceID, this.InvoiceID == that.InvoiceID)
	return rows
}

func (w words) moneyOrNone(s models.SeenInvoice) string {
	if s.Amount == "" {
		return ""
	}
	return w.money(s.Amount, s.Currency)
}

func sideValue(text string) ui.Value {
	if text == "" {
		return ui.Value{Kind: ui.KindNone}
	}
	return ui.TextValue(text)
}
