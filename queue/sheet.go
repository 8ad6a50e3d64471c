package queue

import (
	"context"
	"io"
	"strconv"
	"time"

	"github.com/apdesk/apdesk/models"
)

// MostRows bounds how many cases of a list are exported.
const MostRows = 10_000

// sheetStep is how many cases are read at once.
const sheetStep = 200

// SheetColumns are the columns of an exported list. None holds tax or bank data.
func SheetColumns() []string {
	return []string{"case_id", "status", "code", "queue", "reason", "invoice_id", "invoice_number", "supplier_id", "supplier_name", "po_id", "amount", "currency",
		"due_at", "overdue", "created_at", "held_until", "snoozed_until", "claimed_by", "claimed_until", "handovers", "agent", "run_id", "url"}
}

// WriteSheet writes the cases of a list as comma-separated values, up to MostRows of them, in its order.
// Amounts are plain decimals, times those of the zone with its offset, and no cell runs as a formula;
// url is the address of a case's page. It fails as List does, before it writes anything.
func (s *Service) WriteSheet(ctx context.Context, by models.Principal, f Filter, zone *time.Location, url func(id string) string, to io.Writer) error {
	f.Cursor, f.Limit = "", sheetStep
	page, err := s.List(ctx, by, f)
	if err != nil {
		return err
	}
	w, err := models.NewSheet(to)
	if err != nil {
		return err
	}
	if err := w.Write(SheetColumns()); err != nil {
		return err
	}
	for written := 0; ; {
		for _, item := range page.Items[:min(len(page.Items), MostRows-written)] {
			if err := w.Write(sheetRow(item, zone, url(item.CaseID))); err != nil {
				return err
			}
		}
		written += len(page.Items)
		if err := w.Flush(); err != nil || page.NextCursor == "" || written >= MostRows {
			return err
		}
		f.Cursor = page.NextCursor
		if page, err = s.List(ctx, by, f); err != nil {
			return err
		}
	}
}

func sheetRow(c CaseItem, zone *time.Location, url string) []string {
	at := func(t models.Time) string {
		if t.IsZero() {
			return ""
		}
		return t.In(zone).Format(time.RFC3339)
	}
	code, holder := "", ""
	if c.Code != nil {
		code = string(*c.Code)
	}
	if c.ClaimedBy != nil {
		holder = *c.ClaimedBy
	}
	name := c.Supplier
	if name == c.SupplierID {
		name = ""
	}
	row := []string{c.CaseID, string(c.Status), code, string(c.Queue), string(c.Reason), c.InvoiceID, c.InvoiceNumber, c.SupplierID, name, c.PoID, c.Amount, c.Currency,
		at(c.DueAt), strconv.FormatBool(c.Overdue), at(c.CreatedAt), c.HeldUntil.String(), at(c.SnoozedUntil), holder, at(c.ClaimedUntil), strconv.Itoa(c.Handovers), c.Agent, c.RunID, url}
	for i, cell := range row {
		row[i] = models.MaskIDs(cell)
	}
	return row
}
