package queue

import (
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
)

// ListPlans says how SQLite reads each part of a list.
func ListPlans(t *testing.T, store *models.Store, by models.Principal, f Filter) (plans []string) {
	t.Helper()
	if _, err := f.check(); err != nil {
		t.Fatal(err)
	}
	err := store.View(t.Context(), by, func(tx *models.Tx) error {
		due, err := f.windows(tx)
		if err != nil {
			return err
		}
		at := f.at(models.Case{ID: "case_1", DueAt: tx.Now, CreatedAt: tx.Now, Currency: "EUR", AmountKey: "1031000000"})
		for _, after := range []*cursor{nil, &at} {
			for _, part := range f.parts() {
				query, args := part.statement(tx, due, after, 50)
				rows, err := tx.DB.Raw("EXPLAIN QUERY PLAN "+query, args...).Rows()
				if err != nil {
					return err
				}
				var plan []string
				for rows.Next() {
					var id, parent, unused int
					var detail string
					if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
						return err
					}
					plan = append(plan, detail)
				}
				if err := rows.Close(); err != nil {
					return err
				}
				plans = append(plans, strings.Join(plan, "; "))
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return plans
}
