package wire

import (
	"net/url"
	"testing"

	"github.com/apdesk/apdesk/models"
)

// FuzzReadQuery: a query of each call that reads is understood, or refused by one of two codes.
func FuzzReadQuery(f *testing.F) {
	f.Add("queue=ap&status=open&limit=5&cursor=x&sort=-due_at&workspace_id=1000")
	f.Add("from=2026-10-05T00:00:00Z&to=x&limit=-1&limit=2")
	f.Add("wait=51&due=maybe&%00=%ff")
	f.Fuzz(func(t *testing.T, query string) {
		values, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		var parameters []Parameter
		for name, all := range values {
			for _, v := range all {
				parameters = append(parameters, Parameter{name, v})
			}
		}
		for _, into := range []any{&CaseQuery{}, &HoldQuery{}, &AuditQuery{}, &WaitQuery{}} {
			if err := ReadQuery(parameters, into); err != nil && !models.IsCode(err, models.ValidationError) && !models.IsCode(err, models.BadRequest) {
				t.Errorf("%s into %T: %v", query, into, err)
			}
		}
	})
}
