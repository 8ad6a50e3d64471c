package api

import (
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
)

// What people entered may be tax or bank data, which an AP lead or admin who reads the trail must not see.
func TestTheTrailHidesWhatPeopleEnteredFromThoseItIsNotFor(t *testing.T) {
	t.Parallel()
	for _, member := range []string{"input", "correction", "answers"} {
		event := models.AuditEvent{Data: `{"` + member + `":{"iban":"DE02120300000000202051"},"version":2}`}
		for _, role := range auditReaders {
			data := string(eventOf(event, models.Principal{Roles: []models.Role{role}}).Data)
			shown := strings.Contains(data, "DE021203")
			if may := role == models.RoleAuditor || role == models.RoleFinanceLead; shown != may {
				t.Errorf("%s to %s: %s", member, role, data)
			}
			if !strings.Contains(data, `"version":2`) {
				t.Errorf("%s to %s lost the rest: %s", member, role, data)
			}
		}
	}
}
