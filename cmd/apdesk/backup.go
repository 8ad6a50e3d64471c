package main

import (
	"errors"
	"fmt"

	"github.com/apdesk/apdesk/models"
)

type backupCmd struct {
	keyFlags
	File string `arg:"" help:"File to write; it must not be there yet." type:"path"`
}

func (c backupCmd) Run(e *env) error {
	key, err := c.auditKey(e.cli.Database)
	if err != nil && !errors.Is(err, errNoKey) {
		return err
	}
	store, err := e.open()
	if err != nil {
		return err
	}
	// So that the copy's chains hold all that is acknowledged; a copy without is a good one too.
	if err := sealAll(e, store); err != nil {
		e.log.Warn("the newest events are not in the chain of the copy", "cause", err)
	}
	report, err := store.Backup(e.ctx, c.File, key)
	if err == nil {
		// The backup is good without this event; only apdesk doctor would not know of it.
		noted := store.InTx(e.ctx, models.Operator(""), func(tx *models.Tx) error {
			return tx.Audit(models.ActionBackedUp, models.Ref{}, map[string]any{"bytes": report.Bytes})
		})
		if noted != nil {
			e.log.Warn("the backup is not noted on the trail", "cause", noted)
		}
	}
	if err = errors.Join(err, store.Close()); err != nil {
		return fmt.Errorf("no backup was made: %w", err)
	}
	var events int64
	for _, r := range report.Chains {
		events += r.Events
	}
	fmt.Fprintf(e.stdout, "Backed up to %s: %d bytes, %s in %s.\n", c.File, report.Bytes, counted(events, "sealed event"), counted(int64(len(report.Chains)), "chain"))
	if path := models.SQLitePath(e.cli.Database); path != "" {
		fmt.Fprintf(e.stdout, "It is a whole SQLite database. Checked: every page, every reference, every event of the trail.\n"+
			"Keep apart from it, and as safe: the secret key (%s, or what --secret-key names). Without it sessions end, questions in agents' clients start anew, and no checkpoint can be signed with the same key.\n", path+".key")
	} else {
		fmt.Fprintf(e.stdout, "It is an archive of pg_dump for pg_restore. Checked: the archive was read whole; every event of the trail in the database was verified just before.\n"+
			"Keep apart from it, and as safe: the secret key that --secret-key or --secret-key-file names.\n")
	}
	if report.Broken() {
		for _, r := range report.Chains {
			if r.Break != nil {
				sayChain(e.stdout, r, models.VerifyOptions{Key: key})
			}
		}
		return errors.New("the copy is complete, and the trail in it is broken as it is in the database; see apdesk audit verify")
	}
	return nil
}

// sealAll takes what is written into the chains.
func sealAll(e *env, store *models.Store) error {
	chains, err := store.AuditChains(e.ctx)
	for _, ws := range chains {
		err = errors.Join(err, store.SealEvents(e.ctx, ws))
	}
	return err
}
