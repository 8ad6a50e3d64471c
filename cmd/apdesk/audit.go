package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/apdesk/apdesk/models"
)

type auditCmd struct {
	Verify     auditVerifyCmd     `cmd:"" help:"Check that no event of the trail was changed, removed, put in or moved."`
	Checkpoint auditCheckpointCmd `cmd:"" help:"Print a signed note of how far each workspace's trail has come, to be kept elsewhere."`
	Key        auditKeyCmd        `cmd:"" help:"Print the public key that checkpoints are checked with."`
	Export     auditExportCmd     `cmd:"" help:"Print a workspace's trail as JSON lines or CSV."`
}

// keyFlags name the secret key, which the key of the checkpoints is derived from.
type keyFlags struct {
	SecretKey     string `help:"The desk's secret key, 64 hex digits." env:"APDESK_SECRET_KEY" placeholder:"HEX"`
	SecretKeyFile string `help:"File that holds it; on SQLite default the one beside the database." env:"APDESK_SECRET_KEY_FILE" placeholder:"FILE" type:"path"`
}

var errNoKey = errors.New("there is no secret key: give --secret-key or --secret-key-file (on SQLite the desk makes one beside the database when it starts first)")

// auditKey derives the key of the checkpoints. It makes no secret key.
func (c keyFlags) auditKey(database string) (*models.AuditKey, error) {
	var secret []byte
	var err error
	switch path := models.SQLitePath(database); {
	case c.SecretKey != "" || c.SecretKeyFile != "":
		secret, err = serveCmd{SecretKey: c.SecretKey, SecretKeyFile: c.SecretKeyFile}.secretKey(database)
	case path == "":
		err = errNoKey
	default:
		secret, err = readKey(path + ".key")
		if errors.Is(err, fs.ErrNotExist) {
			err = errNoKey
		}
	}
	if err != nil {
		return nil, err
	}
	return models.NewAuditKey(secret)
}

type auditVerifyCmd struct {
	keyFlags
	Workspace  string `help:"Only this workspace." placeholder:"CODE"`
	Checkpoint string `help:"File of checkpoints kept elsewhere: the trail of today must extend every one." placeholder:"FILE" type:"existingfile"`
	PublicKey  string `help:"Public key of the checkpoints, as apdesk audit key printed it then; default that of the secret key." placeholder:"KEY"`
	JSON       bool   `help:"Answer as JSON." name:"json"`
}

// verifyAnswer is what --json prints.
type verifyAnswer struct {
	Intact        bool                 `json:"intact"`
	MissingGuards []string             `json:"missing_guards"`
	Workspaces    []models.ChainReport `json:"workspaces"`
}

func (c auditVerifyCmd) Run(e *env) error {
	o := models.VerifyOptions{Progress: progress(e.stderr)}
	var err error
	if c.PublicKey != "" {
		o.Key, err = models.ParseAuditKey(c.PublicKey)
	} else if o.Key, err = c.auditKey(e.cli.Database); errors.Is(err, errNoKey) && c.Checkpoint == "" {
		err = nil // the desk's own checkpoints are held against the chain, their signatures unread
	}
	if err != nil {
		return err
	}
	if c.Checkpoint != "" {
		text, err := os.ReadFile(c.Checkpoint)
		if err != nil {
			return err
		}
		if o.Signed, err = o.Key.Open(text); err != nil {
			return fmt.Errorf("%s: %w", c.Checkpoint, err)
		}
	}
	if c.Workspace != "" {
		o.Workspace = &c.Workspace
	}
	store, err := e.open()
	if err != nil {
		return err
	}
	answer := verifyAnswer{Intact: true}
	answer.Workspaces, err = store.VerifyAudit(e.ctx, o)
	if err == nil {
		answer.MissingGuards, err = store.MissingGuards(e.ctx)
	}
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	if c.Workspace != "" && answer.Workspaces[0].Events == 0 && answer.Workspaces[0].Unsealed == 0 && answer.Workspaces[0].Break == nil {
		return models.Missing("workspace", c.Workspace)
	}
	broken := 0
	for _, r := range answer.Workspaces {
		if r.Break != nil {
			broken++
		}
	}
	answer.Intact = broken == 0
	if c.JSON {
		if answer.MissingGuards == nil {
			answer.MissingGuards = []string{}
		}
		if err := printJSON(e.stdout, answer); err != nil {
			return err
		}
	} else {
		for _, r := range answer.Workspaces {
			sayChain(e.stdout, r, o)
		}
		if len(answer.MissingGuards) > 0 {
			fmt.Fprintf(e.stdout, "The database no longer refuses changes of the trail: %s gone or switched off.\n", strings.Join(answer.MissingGuards, ", "))
		}
	}
	if broken > 0 {
		return fmt.Errorf("the trail is broken in %d of %d workspaces", broken, len(answer.Workspaces))
	}
	return nil
}

// sayChain tells what was found in one chain.
func sayChain(w io.Writer, r models.ChainReport, o models.VerifyOptions) {
	name := "Workspace " + r.WorkspaceID
	if r.WorkspaceID == "" {
		name = "The desk itself"
	}
	if r.Break != nil {
		fmt.Fprintf(w, "%s: BROKEN at event %d (%s).\n  %s\n", name, r.Break.Seq, r.Break.Kind, r.Break.Text)
		if r.Break.EventID != "" {
			fmt.Fprintf(w, "  It is event %s of %s.\n", r.Break.EventID, moment(r.Break.At))
		}
		fmt.Fprintf(w, "  Nothing after this place is proven. Keep the database as it is, and compare it with a backup.\n")
	} else if r.Events == 0 {
		fmt.Fprintf(w, "%s: no event is in the chain yet.\n", name)
	} else {
		fmt.Fprintf(w, "%s: intact.\n", name)
	}
	if r.Events > 0 {
		fmt.Fprintf(w, "  %s; the last is number %d of %s, hash %s.\n", counted(r.Events, "event"), r.HeadSeq, moment(r.HeadAt), r.HeadHash)
	}
	if r.Unsealed > 0 {
		fmt.Fprintf(w, "  %s written and not in the chain yet, the oldest of %s.\n", counted(r.Unsealed, "event"), moment(r.UnsealedAt))
	}
	if r.SealedLate > 0 {
		fmt.Fprintf(w, "  %s sealed more than %d minutes late: the desk was down in between, its clock went back, or somebody put it there.\n", counted(r.SealedLate, "event"), int(models.LateSeal/time.Minute))
	}
	if r.Break == nil && r.Signed > 0 {
		signatures := "their signatures checked"
		if o.Key == nil {
			signatures = "their signatures not checked, for want of the key"
		}
		fmt.Fprintf(w, "  It extends %s, %s.\n", counted(int64(r.Signed), "checkpoint"), signatures)
	}
	if r.Foreign > 0 {
		fmt.Fprintf(w, "  %s of the desk's own not signed with this key, and not looked at: was the secret key changed?\n", counted(int64(r.Foreign), "checkpoint"))
	}
}

type auditCheckpointCmd struct {
	keyFlags
	Workspace string `help:"Only this workspace." placeholder:"CODE"`
	Out       string `help:"File to add the checkpoints to; default standard output." placeholder:"FILE" type:"path"`
}

func (c auditCheckpointCmd) Run(e *env) error {
	key, err := c.auditKey(e.cli.Database)
	if err != nil {
		return err
	}
	store, err := e.open()
	if err != nil {
		return err
	}
	notes, err := c.take(e, store, key)
	if err = errors.Join(err, store.Close()); err != nil {
		return err
	}
	if len(notes) == 0 {
		return errors.New("there is no event to sign yet")
	}
	text := strings.Join(notes, "\n")
	if c.Out == "" {
		_, err = io.WriteString(e.stdout, text)
		return err
	}
	file, err := os.OpenFile(c.Out, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	if info, err := file.Stat(); err == nil && info.Size() > 0 {
		text = "\n" + text
	}
	_, err = file.WriteString(text)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return err
	}
	fmt.Fprintf(e.stdout, "%s added to %s.\n", counted(int64(len(notes)), "checkpoint"), c.Out)
	return nil
}

// take seals what is written and signs how far each chain has come.
func (c auditCheckpointCmd) take(e *env, store *models.Store, key *models.AuditKey) (notes []string, err error) {
	workspaces := []string{c.Workspace}
	if c.Workspace == "" {
		if workspaces, err = store.AuditChains(e.ctx); err != nil {
			return nil, err
		}
	}
	for _, ws := range workspaces {
		if err := store.SealEvents(e.ctx, ws); err != nil {
			return nil, err
		}
		var row *models.StoredCheckpoint
		err := store.InTx(e.ctx, models.System(ws), func(tx *models.Tx) error {
			var err error
			row, err = tx.TakeCheckpoint(key)
			return err
		})
		if err != nil {
			return nil, err
		}
		if row != nil {
			notes = append(notes, row.Note)
		}
	}
	return notes, nil
}

type auditKeyCmd struct{ keyFlags }

func (c auditKeyCmd) Run(e *env) error {
	key, err := c.auditKey(e.cli.Database)
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, key.Public())
	return nil
}

type auditExportCmd struct {
	Workspace string `required:"" help:"Workspace whose trail is printed." placeholder:"CODE"`
	Format    string `help:"jsonl or csv." enum:"jsonl,csv" default:"jsonl"`
	From      string `help:"Only events of this day and later, in the workspace's time zone." placeholder:"DATE"`
	To        string `help:"Only events of this day and earlier." placeholder:"DATE"`
	Action    string `help:"Only events of this action, such as vote.cast."`
	Case      string `help:"Only events of this case." placeholder:"ID"`
	Request   string `help:"Only events of this approval request." placeholder:"ID"`
	Invoice   string `help:"Only events of this invoice." placeholder:"ID"`
}

func (c auditExportCmd) Run(e *env) error {
	q := models.AuditQuery{TrailFilter: models.TrailFilter{Oldest: true, Action: c.Action, CaseID: c.Case, ApprovalRequestID: c.Request, InvoiceID: c.Invoice}}
	var issues []models.Issue
	var from, to models.Date
	var err error
	if c.From != "" {
		if from, err = models.ParseDate(c.From); err != nil {
			issues = append(issues, models.Issue{Path: "/from", Message: err.Error()})
		}
	}
	if c.To != "" {
		if to, err = models.ParseDate(c.To); err != nil {
			issues = append(issues, models.Issue{Path: "/to", Message: err.Error()})
		}
	}
	if len(issues) > 0 {
		return models.Invalid(issues...)
	}
	store, err := e.open()
	if err != nil {
		return err
	}
	return errors.Join(c.export(e, store, q, from, to), store.Close())
}

func (c auditExportCmd) export(e *env, store *models.Store, q models.AuditQuery, from, to models.Date) error {
	by := models.Operator(c.Workspace)
	var ws models.Workspace
	err := store.View(e.ctx, by, func(tx *models.Tx) error {
		var err error
		ws, err = tx.Workspace()
		return err
	})
	if errors.Is(err, models.ErrNoRow) {
		return models.Missing("workspace", c.Workspace)
	}
	if err != nil {
		return err
	}
	if !from.IsZero() {
		q.From = from.StartIn(ws.Zone())
	}
	if !to.IsZero() {
		q.To = to.AddDays(1).StartIn(ws.Zone())
	}
	return store.ExportAudit(e.ctx, by, q, models.AuditFormat(c.Format), e.stdout)
}

func moment(t models.Time) string { return t.Format("2 Jan 2006, 15:04:05 UTC") }

func counted(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func printJSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(v)
}

// progress shows on a terminal how far a chain has been read; elsewhere it says nothing.
func progress(w io.Writer) func(string, int64, int64) {
	file, ok := w.(*os.File)
	if !ok {
		return nil
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return nil
	}
	return func(workspace string, done, of int64) {
		fmt.Fprintf(w, "\r\x1b[K%s: %d of %d", workspace, done, of)
		if done >= of {
			fmt.Fprint(w, "\r\x1b[K")
		}
	}
}
