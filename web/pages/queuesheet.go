package pages

import (
	"context"
	"errors"
	"io"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
)

// queueSheet is GET /queues/{queue}.csv.
func (v *visit) queueSheet() error {
	q := models.Queue(v.param("queue"))
	if !q.Valid() {
		return models.Missing("queue", string(q))
	}
	return v.sheet(v.listHere(q))
}

// allSheet is GET /cases.csv.
func (v *visit) allSheet() error { return v.sheet(v.listHere("")) }

// sheet streams a list as a file. One that cannot be finished ends the connection, so that half of it is
// never taken for the whole.
func (v *visit) sheet(l caseList) error {
	var issues []models.Issue
	for name, message := range l.issues {
		issues = append(issues, models.Issue{Path: "/" + name, Message: message})
	}
	if err := invalid(issues); err != nil {
		return err
	}
	if err := v.by.NeedScope(models.ScopeCasesRead); err != nil {
		return err
	}
	name := "cases"
	if l.queue != "" {
		name = string(l.queue)
	}
	v.c.Set(fiber.HeaderContentType, "text/csv; charset=utf-8; header=present")
	v.c.Set(fiber.HeaderCacheControl, "no-store")
	v.c.Set(fiber.HeaderContentDisposition, `attachment; filename="`+fileName("apdesk "+name+" "+v.by.WorkspaceID+" "+v.today().String())+`.csv"`)
	if v.c.Method() == fiber.MethodHead {
		return nil
	}
	desk, by, log, zone := v.p.queue, v.by, v.p.log, v.zone
	base := strings.TrimSuffix(v.p.publicURL, "/")
	from, to := io.Pipe()
	ctx, stop := context.WithCancel(v.p.app)
	go func() {
		defer stop()
		err := desk.WriteSheet(ctx, by, l.filter, zone, func(id string) string { return base + string(caseURL(id)) }, to)
		if err != nil && !errors.Is(err, io.ErrClosedPipe) {
			log.Warn("a list was not exported to its end", "cause", err)
		}
		_ = to.CloseWithError(err) // never fails
	}()
	v.c.Context().SetBodyStream(from, -1)
	return nil
}
