package pages

import (
	"net/http"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
)

// reach enters the workspace of a record that the person may read. It fails with NOT_FOUND.
func (v *visit) reach(id string) error {
	return v.find(func() error { return v.p.store.NeedRecord(v.ctx, v.by, id) })
}

// here is what an open page hears about its record.
type hereAnswer struct {
	// Present is compared with what the page shows.
	Present string `json:"present"`
	// ClaimEnd is until when the reader's own claim lasts, empty without one.
	ClaimEnd string `json:"claim_end"`
}

// attend is POST /presence with subject, doing (viewing or editing) and used, which says that the person
// did something on the page since it last told. It renews their claim, if they hold one.
func (v *visit) attend() error {
	typed := v.typed("subject", "doing", "used")
	subject := typed["subject"]
	if err := v.reach(subject); err != nil {
		return err
	}
	if err := v.p.store.Attend(v.ctx, v.by, subject, models.Doing(typed["doing"])); err != nil {
		return err
	}
	others, err := v.presences(subject)
	if err != nil {
		return err
	}
	answer := hereAnswer{Present: views.PresenceSignature(others[subject])}
	if strings.HasPrefix(subject, models.PrefixCase+"_") {
		claim, err := v.p.queue.KeepClaim(v.ctx, v.by, subject, typed["used"] != "")
		if err != nil {
			return err
		}
		if claim.Mine {
			answer.ClaimEnd = claim.Until.String()
		}
	}
	v.c.Set(fiber.HeaderCacheControl, "no-store")
	return v.c.JSON(answer)
}

// leave is POST /presence/leave with subject, which an open page sends when it is closed.
func (v *visit) leave() error {
	subject := v.typed("subject")["subject"]
	if err := v.reach(subject); err != nil {
		return err
	}
	if err := v.p.store.Leave(v.ctx, v.by, subject); err != nil {
		return err
	}
	return v.c.SendStatus(http.StatusNoContent)
}

// presentIn puts into the rows of a list who else has each record open.
func presentIn[R any](v *visit, rows []R, of func(*R) (id string, present *[]views.Presence)) error {
	ids := make([]string, len(rows))
	for i := range rows {
		ids[i], _ = of(&rows[i])
	}
	all, err := v.presences(ids...)
	if err != nil {
		return err
	}
	for i := range rows {
		id, present := of(&rows[i])
		*present = all[id]
	}
	return nil
}

// presences says in words who else has each of the records open.
func (v *visit) presences(subjects ...string) (map[string][]views.Presence, error) {
	found, err := v.p.store.Presences(v.ctx, v.by, subjects...)
	if err != nil {
		return nil, err
	}
	out := make(map[string][]views.Presence, len(found))
	for subject, all := range found {
		for _, p := range all {
			here := views.Presence{Name: p.UserName, Words: v.tr("is looking at this")}
			if p.Doing == models.Editing {
				here.Words, here.Editing = v.tr("is writing"), true
			}
			out[subject] = append(out[subject], here)
		}
	}
	return out, nil
}
