package models

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"
	"gorm.io/gorm"
)

// ErrNoRow is what a lookup of one record fails with when there is none.
var ErrNoRow = gorm.ErrRecordNotFound

// translate turns what a database driver says of an outage into UNAVAILABLE, once for both databases.
// Named errors and everything else pass unchanged.
func translate(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := AsNamed(err); ok {
		return err
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	if outage(err) || errors.Is(err, context.DeadlineExceeded) {
		return E(Unavailable, "The desk cannot reach its database right now; nothing was changed. Wait and repeat the same call.",
			map[string]any{"retry_after_seconds": 5}).Because(err)
	}
	return err
}

func outage(err error) bool {
	var lite sqlite3.Error
	if errors.As(err, &lite) {
		switch lite.Code {
		case sqlite3.ErrBusy, sqlite3.ErrLocked, sqlite3.ErrFull, sqlite3.ErrIoErr, sqlite3.ErrReadonly, sqlite3.ErrCantOpen, sqlite3.ErrNomem:
			return true
		}
		return false
	}
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		for _, class := range []string{"08", "53", "57P", "25006"} {
			if strings.HasPrefix(pg.Code, class) {
				return true
			}
		}
		return retryable(err)
	}
	var netErr net.Error
	var connect *pgconn.ConnectError
	return errors.As(err, &connect) || errors.As(err, &netErr) || pgconn.SafeToRetry(err) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, errLost) || errors.Is(err, sql.ErrConnDone) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
}

// retryable says whether a PostgreSQL transaction lost a race it may simply run again: a
// serialization failure, a deadlock, or a connection that was gone before anything was sent.
func retryable(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return pg.Code == "40001" || pg.Code == "40P01"
	}
	return pgconn.SafeToRetry(err)
}

// IsDuplicate says whether a unique index refused a row.
func IsDuplicate(err error) bool {
	var lite sqlite3.Error
	if errors.As(err, &lite) {
		return lite.ExtendedCode == sqlite3.ErrConstraintUnique || lite.ExtendedCode == sqlite3.ErrConstraintPrimaryKey
	}
	var pg *pgconn.PgError
	return errors.As(err, &pg) && pg.Code == "23505"
}
