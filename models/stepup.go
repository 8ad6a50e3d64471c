package models

import (
	"context"
	"errors"
	"fmt"
	"sort"
	"strings"
	"time"

	"gorm.io/gorm/clause"
)

// Factor is how a person showed that it is them.
type Factor string

// The ways. Only the first two confirm what somebody does in a session that is open already.
const (
	FactorPassword     Factor = "password"
	FactorPasskey      Factor = "passkey"
	FactorRecoveryCode Factor = "recovery_code" // in the place of a passkey, once
	FactorProvider     Factor = "provider"      // the identity provider vouched for them
)

// StepUpFor is how long a person's confirmation in a session counts.
const StepUpFor = 5 * time.Minute

// stepUpSkew is how far the clocks of two replicas may differ: one may write a moment that the other has
// not reached yet.
const stepUpSkew = time.Minute

// SteppedUp says whether the person confirmed lately, in this session, that it is them.
func (p Principal) SteppedUp(now Time) bool {
	age := now.Sub(p.SteppedUpAt.Time)
	return p.IsPerson() && !p.SteppedUpAt.IsZero() && age >= -stepUpSkew && age <= StepUpFor
}

type stepUpAmount struct {
	WorkspaceID string `gorm:"primaryKey"`
	Currency    string `gorm:"primaryKey"`
	Above       string
}

// StepUpAmounts lists above which absolute amounts an approval needs a fresh confirmation, by currency.
func (tx *Tx) StepUpAmounts() ([]Money, error) {
	var rows []stepUpAmount
	if err := tx.DB.Where("workspace_id = ?", tx.By.WorkspaceID).Find(&rows).Error; err != nil {
		return nil, err
	}
	amounts := make([]Money, len(rows))
	for i, r := range rows {
		var err error
		if amounts[i], err = ParseMoney(r.Above, r.Currency); err != nil {
			return nil, fmt.Errorf("models: step-up amount of %s: %w", tx.By.WorkspaceID, err)
		}
	}
	sort.Slice(amounts, func(i, j int) bool { return amounts[i].Currency() < amounts[j].Currency() })
	return amounts, nil
}

// AsksAgain finds the amount of amounts that an approval of m is above; ok is false when there is none.
// There is no guessing across currencies: one without an amount of its own is never asked about.
func AsksAgain(amounts []Money, m Money) (above Money, ok bool) {
	for _, a := range amounts {
		if a.Currency() != m.Currency() {
			continue
		}
		if c, err := m.Abs().Cmp(a); err == nil && c > 0 {
			return a, true
		}
	}
	return Money{}, false
}

// SetStepUp sets above which amount of a currency approving asks people again that it is them; an empty
// amount asks no more. Admins may, and the operator. It fails with VALIDATION_ERROR on /currency or /above.
func (tx *Tx) SetStepUp(currency, above string) error {
	if err := tx.By.needEditor(RoleAdmin); err != nil {
		return err
	}
	currency, above = strings.ToUpper(strings.TrimSpace(currency)), strings.TrimSpace(above)
	if !ValidCurrency(currency) {
		return Invalid(Issue{"/currency", ErrCurrencyUnknown.Error()})
	}
	if above != "" {
		m, err := ParseMoney(above, currency)
		if err == nil && m.Negative() {
			err = errors.New("must not be below zero; a credit note counts by its absolute amount")
		}
		if err != nil {
			return Invalid(Issue{"/above", err.Error()})
		}
	}
	if _, err := tx.LockRules(); err != nil {
		return err
	}
	var before []stepUpAmount
	if err := tx.DB.Where("workspace_id = ? AND currency = ?", tx.By.WorkspaceID, currency).Find(&before).Error; err != nil {
		return err
	}
	was := ""
	if len(before) > 0 {
		was = before[0].Above
	}
	if was == above {
		return nil
	}
	var err error
	row := stepUpAmount{WorkspaceID: tx.By.WorkspaceID, Currency: currency, Above: above}
	if above == "" {
		err = tx.DB.Delete(&row).Error
	} else {
		err = tx.DB.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "workspace_id"}, {Name: "currency"}}, DoUpdates: clause.AssignmentColumns([]string{"above"})}).Create(&row).Error
	}
	if err != nil {
		return err
	}
	return tx.Audit("step_up.set", Ref{Subject: tx.By.WorkspaceID}, map[string]any{"currency": currency, "before": was, "after": above})
}

// SetSecondFactor sets whether people whose roles decide need a passkey before they can do anything here.
// Admins may, and the operator.
func (tx *Tx) SetSecondFactor(required bool) error {
	if err := tx.By.needEditor(RoleAdmin); err != nil {
		return err
	}
	set := tx.DB.Model(&Workspace{}).Where("id = ? AND second_factor = ?", tx.By.WorkspaceID, !required).Update("second_factor", required)
	if set.Error != nil || set.RowsAffected == 0 {
		return set.Error
	}
	return tx.Audit("second_factor.set", Ref{Subject: tx.By.WorkspaceID}, map[string]any{"required": required})
}

// DecidingRoles are the roles that decide anything: that work a queue, or vote. Auditors change nothing, admins
// decide nothing by that role.
func DecidingRoles() []Role {
	return []Role{RoleAPClerk, RoleAPLead, RoleProcurement, RoleFinanceLead, RoleMasterData}
}

// NeedsSecondFactor says whether a workspace lets somebody in only who has a passkey: when it requires one, and
// they decide there. Whom the identity provider vouched for it does not ask.
func (w Workspace) NeedsSecondFactor(id Identity, by Principal) bool {
	return w.SecondFactor && id.Session != nil && id.Session.SignedInBy != FactorProvider && by.Has(DecidingRoles()...)
}

// ConfirmByPassword marks a session as freshly confirmed when the password is right. It fails with
// VALIDATION_ERROR on /password when it is wrong, RATE_LIMITED when it was wrong too often, and
// UNPROCESSABLE_ENTITY (reason passkey_needed or no_password) for a person with a passkey or without a
// password.
func (s *Store) ConfirmByPassword(ctx context.Context, id Identity, password string) (Identity, error) {
	if err := id.needOwnSession(); err != nil {
		return id, err
	}
	_, counted, err := s.knowsPassword(ctx, id, password, "/password", func(tx *Tx, user User) error {
		keys, err := tx.passkeyCount(user.ID)
		switch {
		case err != nil:
			return err
		case keys > 0:
			return E(Unprocessable, "You have a passkey, so confirm with that.", map[string]any{"reason": "passkey_needed"})
		case user.PasswordHash == "" || user.PasswordOff:
			return E(Unprocessable, "You have no password here. Add a passkey, and confirm with that.", map[string]any{"reason": "no_password"})
		}
		return nil
	})
	if err != nil {
		return id, err
	}
	err = s.InTx(ctx, id.themself(), func(tx *Tx) error {
		if err := tx.succeeded(counted); err != nil {
			return err
		}
		return tx.stepUp(&id, FactorPassword, nil)
	})
	return id, err
}

// stepUp marks the session of id as freshly confirmed. It fails with unauthenticated when it has ended.
func (tx *Tx) stepUp(id *Identity, how Factor, data map[string]any) error {
	set := tx.DB.Model(&Session{}).Where("id = ? AND user_id = ?", id.Session.ID, id.User.ID).Updates(map[string]any{"stepped_up_at": tx.Now, "stepped_up_how": how})
	if set.Error != nil {
		return set.Error
	}
	if set.RowsAffected == 0 {
		return E(Unauthenticated, "You are not signed in, or your session has ended.", nil)
	}
	session := *id.Session
	session.SteppedUpAt, session.SteppedUpHow = tx.Now, how
	id.Session = &session
	if data == nil {
		data = map[string]any{}
	}
	data["how"] = how
	return tx.auditEverywhere(*id, "person.confirmed", data)
}
