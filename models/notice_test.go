package models_test

import (
	"fmt"
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func TestEverybodyIsToldHoweverMany(t *testing.T) {
	t.Parallel()
	modelstest.EachDatabase(t, func(t *testing.T, url string) {
		store := modelstest.Open(t, url, modelstest.NewClock())
		company(t, store)
		const n = 4200
		err := store.InTx(t.Context(), models.Operator("1000"), func(tx *models.Tx) error {
			made, _, err := tx.CreateUser(models.NewUser{Name: "Lena", Email: "lena@example.com", Roles: []models.Role{models.RoleAPLead}})
			if err != nil {
				return err
			}
			from := fmt.Sprintf("WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < %d) ", n)
			for _, q := range []string{
				"INSERT INTO users (id, kind, name, email, active, created_at) " + from + "SELECT 'usr_n' || c.i, u.kind, u.name, 'n' || c.i || '@example.com', u.active, u.created_at FROM c, users u WHERE u.id = ?",
				"INSERT INTO memberships (user_id, workspace_id, active, created_at) " + from + "SELECT 'usr_n' || c.i, m.workspace_id, m.active, m.created_at FROM c, memberships m WHERE m.user_id = ?",
				"INSERT INTO membership_roles (user_id, workspace_id, role) " + from + "SELECT 'usr_n' || c.i, r.workspace_id, r.role FROM c, membership_roles r WHERE r.user_id = ?",
			} {
				if err := tx.DB.Exec(q, made.ID).Error; err != nil {
					return err
				}
			}
			return tx.TellRole("case.returned", "case_1", nil, models.RoleAPLead)
		})
		if err != nil {
			t.Fatal(err)
		}
		var told int64
		if err := store.View(t.Context(), models.Operator("1000"), func(tx *models.Tx) error { return tx.DB.Model(&models.Notice{}).Count(&told).Error }); err != nil || told != n+1 {
			t.Errorf("%d of %d were told, %v", told, n+1, err)
		}
	})
}
