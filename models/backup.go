package models

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"gorm.io/driver/sqlite"
)

// BackupReport says what a backup holds.
type BackupReport struct {
	File   string        `json:"file"`
	Bytes  int64         `json:"bytes"`
	Chains []ChainReport `json:"chains"` // of the copy; on PostgreSQL of the database, read just before
}

// Broken says whether the trail in the copy does not hold.
func (r BackupReport) Broken() bool {
	for _, c := range r.Chains {
		if c.Break != nil {
			return true
		}
	}
	return false
}

// Backup writes a copy of the whole database to a file while the desk runs, as it is at one moment:
// everything acknowledged before is in it. The file is new, for its owner alone, whole or not there,
// and on the disk when Backup returns. The copy is checked before it gets its name.
func (s *Store) Backup(ctx context.Context, file string, key *AuditKey) (BackupReport, error) {
	if _, err := os.Lstat(file); err == nil {
		return BackupReport{}, fmt.Errorf("%s is there already; a backup overwrites nothing", file)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return BackupReport{}, err
	}
	part, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".partial-*") // mode 0600
	if err != nil {
		return BackupReport{}, err
	}
	if err := part.Close(); err != nil {
		return BackupReport{}, errors.Join(err, os.Remove(part.Name()))
	}
	report := BackupReport{File: file}
	if s.postgres {
		report.Chains, err = s.dumpPostgres(ctx, part.Name(), key)
	} else {
		report.Chains, err = s.copySQLite(ctx, part.Name(), key)
	}
	if err == nil {
		report.Bytes, err = keepFile(part.Name(), file)
	}
	if err != nil {
		return BackupReport{}, errors.Join(err, removeIfThere(part.Name()))
	}
	return report, nil
}

// keepFile gives a finished file its name for good, unless that name is taken meanwhile.
func keepFile(part, file string) (size int64, err error) {
	f, err := os.OpenFile(part, os.O_RDWR, 0)
	if err != nil {
		return 0, err
	}
	info, err := f.Stat()
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return 0, err
	}
	if err := os.Link(part, file); err == nil {
		err = os.Remove(part)
		return info.Size(), errors.Join(err, syncDir(filepath.Dir(file)))
	} else if errors.Is(err, fs.ErrExist) {
		return 0, fmt.Errorf("%s is there already; a backup overwrites nothing", file)
	}
	// A file system without hard links.
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("%s is there already; a backup overwrites nothing", file)
	}
	return info.Size(), errors.Join(os.Rename(part, file), syncDir(filepath.Dir(file)))
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

func removeIfThere(file string) error {
	if err := os.Remove(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// copySQLite lets SQLite write a copy from one snapshot, which no writer waits for, and checks it.
func (s *Store) copySQLite(ctx context.Context, to string, key *AuditKey) ([]ChainReport, error) {
	path, err := filepath.Abs(SQLitePath(s.url))
	if err != nil {
		return nil, err
	}
	db, err := sql.Open("sqlite3", fileURL(path, url.Values{"_busy_timeout": {"10000"}, "mode": {"rw"}}))
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", to)
	if err = errors.Join(err, db.Close()); err != nil {
		return nil, fmt.Errorf("copy the database: %w", err)
	}
	return s.checkCopy(ctx, to, key)
}

// SQLitePath is the file of a database URL, "" for another kind of database.
func SQLitePath(databaseURL string) string {
	path, isFile := strings.CutPrefix(databaseURL, "sqlite:")
	if !isFile {
		return ""
	}
	return strings.TrimPrefix(path, "//")
}

func fileURL(path string, options url.Values) string {
	return "file:" + (&url.URL{Path: path}).EscapedPath() + "?" + options.Encode()
}

// checkCopy reads the whole of a copy: its pages, its references and its trail.
func (s *Store) checkCopy(ctx context.Context, path string, key *AuditKey) (chains []ChainReport, err error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	c := &Store{clock: s.clock, log: s.log}
	c.read, err = c.gorm(sqlite.Open(fileURL(abs, url.Values{"mode": {"ro"}, "immutable": {"1"}, "_query_only": {"1"}})))
	if err != nil {
		return nil, fmt.Errorf("read the copy: %w", err)
	}
	db, err := c.read.DB()
	if err != nil {
		return nil, err
	}
	c.reader = db
	defer func() { err = errors.Join(err, db.Close()) }()
	for _, check := range []string{"PRAGMA integrity_check", "PRAGMA foreign_key_check"} {
		if err := mustSayOK(ctx, db, check); err != nil {
			return nil, err
		}
	}
	return c.VerifyAudit(ctx, VerifyOptions{Key: key})
}

func mustSayOK(ctx context.Context, db *sql.DB, check string) error {
	rows, err := db.QueryContext(ctx, check)
	if err != nil {
		return fmt.Errorf("check the copy: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var said sql.NullString
		columns, err := rows.Columns()
		if err != nil {
			return err
		}
		into := make([]any, len(columns))
		into[0] = &said
		for i := 1; i < len(into); i++ {
			into[i] = new(any)
		}
		if err := rows.Scan(into...); err != nil {
			return err
		}
		if said.String != "ok" {
			return fmt.Errorf("check the copy: %s says %s", check, said.String)
		}
	}
	return rows.Err()
}

// dumpPostgres runs pg_dump, whose copy is of one snapshot, and reads the whole archive once.
func (s *Store) dumpPostgres(ctx context.Context, to string, key *AuditKey) ([]ChainReport, error) {
	for _, program := range []string{"pg_dump", "pg_restore"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, fmt.Errorf("%s is not on the PATH: install PostgreSQL's client programs of the server's version (Debian: postgresql-client), or back the server up with its own tools (pg_basebackup, snapshots)", program)
		}
	}
	chains, err := s.VerifyAudit(ctx, VerifyOptions{Key: key})
	if err != nil {
		return nil, err
	}
	address, environment, err := withoutPassword(s.url)
	if err != nil {
		return nil, err
	}
	dump := exec.CommandContext(ctx, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--no-password", "--file="+to, "--dbname="+address)
	dump.Env = append(os.Environ(), environment...)
	if said, err := dump.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pg_dump: %w: %s", err, strings.TrimSpace(string(said)))
	}
	read := exec.CommandContext(ctx, "pg_restore", "--file="+os.DevNull, to)
	if said, err := read.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the copy cannot be read: pg_restore: %w: %s", err, strings.TrimSpace(string(said)))
	}
	return chains, nil
}

// withoutPassword takes the password out of an address, for which other users of the machine could
// read it in the list of processes.
func withoutPassword(databaseURL string) (address string, environment []string, err error) {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return "", nil, errors.New("the database's address cannot be read")
	}
	if password, there := u.User.Password(); there {
		environment = append(environment, "PGPASSWORD="+password)
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	if q.Has("password") {
		environment = append(environment, "PGPASSWORD="+q.Get("password"))
		q.Del("password")
	}
	for name := range q {
		if strings.HasPrefix(name, "pool_") || name == "default_query_exec_mode" || name == "statement_cache_capacity" || name == "description_cache_capacity" {
			q.Del(name) // of the desk's driver; libpq refuses what it does not know
		}
	}
	u.RawQuery = q.Encode()
	return u.String(), environment, nil
}
