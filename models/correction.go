package models

import (
	"fmt"
	"slices"

	"gorm.io/gorm/clause"
)

// Correction says that somebody changed what an agent does with an invoice: by a case decision, or by
// sending a call of it back. Nobody approves what follows from their own correction.
type Correction struct {
	WorkspaceID string `gorm:"primaryKey"`
	InvoiceID   string `gorm:"primaryKey"`
	UserID      string `gorm:"primaryKey"`
	Source      string `gorm:"primaryKey"` // the case, or the request that was sent back
	At          Time
}

// Correct records that tx.By corrected these invoices: the one the agent worked on and, when the
// correction names another, that one as well, since the next call is about it. Empty ids are left out,
// and what the desk itself does corrects nothing.
func (tx *Tx) Correct(source string, invoiceIDs ...string) error {
	if tx.By.UserID == "" {
		return nil
	}
	var rows []Correction
	for _, id := range CorrectionKeys(invoiceIDs...) {
		rows = append(rows, Correction{WorkspaceID: tx.By.WorkspaceID, InvoiceID: id, UserID: tx.By.UserID, Source: source, At: tx.Now})
	}
	if len(rows) == 0 {
		return nil
	}
	if err := tx.DB.Clauses(clause.OnConflict{DoNothing: true}).Create(&rows).Error; err != nil {
		return fmt.Errorf("models: correction: %w", err)
	}
	return nil
}

// CorrectionKeys are the invoice ids under which corrections are kept and looked up: each as it was sent
// and as people read it, so that no other spelling of an id gets past somebody's own correction.
func CorrectionKeys(invoiceIDs ...string) []string {
	var keys []string
	for _, id := range invoiceIDs {
		for _, key := range []string{id, NormaliseNumber(id)} {
			if key != "" && !slices.Contains(keys, key) {
				keys = append(keys, key)
			}
		}
	}
	return keys
}
