package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/apdesk/apdesk/models"
)

type userPasskeysCmd struct {
	Email  string `required:"" help:"E-mail address of the person."`
	Remove bool   `help:"Remove every passkey and recovery code of somebody who lost them all; their sessions end, and the password alone signs them in again."`
}

func (c userPasskeysCmd) Run(e *env) (err error) {
	if c.Remove {
		user, err := e.changeUser(c.Email, "", func(tx *models.Tx, u models.User) error { return tx.RemovePasskeys(u.ID) })
		if err == nil {
			fmt.Fprintf(e.stdout, "The passkeys and recovery codes of %s are removed; their sessions have ended.\n", user.Email)
		}
		return err
	}
	store, err := e.open()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	user, err := store.UserByEmail(e.ctx, c.Email)
	if err != nil {
		return models.Missing("user", c.Email)
	}
	keys, codes, err := store.Passkeys(e.ctx, user.ID)
	if err != nil {
		return err
	}
	if len(keys) == 0 {
		fmt.Fprintf(e.stdout, "%s has no passkey.\n", user.Email)
		return nil
	}
	w := tabwriter.NewWriter(e.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tADDED\tLAST USED")
	for _, k := range keys {
		used := "never"
		if !k.LastUsedAt.IsZero() {
			used = k.LastUsedAt.String()
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", k.Name, k.CreatedAt, used)
	}
	fmt.Fprintf(w, "%d of %d recovery codes are left.\n", codes, models.RecoveryCodes)
	return w.Flush()
}

// checkStepUp finds what is wrong with amounts given as CURRENCY=AMOUNT.
func checkStepUp(amounts map[string]string) []models.Issue {
	var issues []models.Issue
	for _, currency := range slices.Sorted(maps.Keys(amounts)) {
		if strings.TrimSpace(amounts[currency]) == "" {
			continue
		}
		if _, err := models.ParseMoney(strings.TrimSpace(amounts[currency]), strings.ToUpper(currency)); err != nil {
			issues = append(issues, models.Issue{Path: "/step_up", Message: fmt.Sprintf("gives %s the amount %q, which %v", currency, amounts[currency], err)})
		}
	}
	return issues
}
