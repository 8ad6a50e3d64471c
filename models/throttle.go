package models

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"
)

// Guessing passwords is slowed down by counting failures in the database, so that every replica knows them.
// An attempt is counted before its password is looked at: no number of attempts at one moment gets past a
// limit. One that succeeds takes its counts back.
//
// Strangers are counted three times: for the account and the address together, for the account whatever the
// address, and for the address whatever the account. Whoever sends a device that the account signed in with
// before is counted for that device alone, so that nobody can lock a person out of their own browser by
// failing for them elsewhere.

// limitKind says what failures are counted for.
type limitKind string

const (
	limitPair     limitKind = "pair"     // an account and an address together
	limitAccount  limitKind = "account"  // an account, from browsers it is not known in
	limitAddress  limitKind = "address"  // an address, whatever the account
	limitDevice   limitKind = "device"   // a browser in which the account signed in before
	limitPassword limitKind = "password" // the present password, asked for again in a session
)

// limit is how many failures are free, how the delay grows after them, and how fast failures are forgotten.
type limit struct {
	free int           // failures before the first delay
	base time.Duration // the first delay; each further failure doubles it
	most time.Duration // the longest delay
	leak time.Duration // one failure is forgotten after each
}

func limitOf(kind limitKind) limit {
	switch kind {
	case limitAccount:
		return limit{free: 30, base: time.Minute, most: time.Hour, leak: time.Hour}
	case limitAddress:
		return limit{free: 100, base: time.Minute, most: 15 * time.Minute, leak: time.Minute}
	}
	return limit{free: 10, base: 30 * time.Second, most: 15 * time.Minute, leak: time.Hour}
}

// delayAfter is how long nobody may try after this many failures.
func (l limit) delayAfter(failures int) time.Duration {
	over := failures - l.free
	if over < 0 {
		return 0
	}
	if over > 20 || l.base<<over > l.most {
		return l.most
	}
	return l.base << over
}

// left is how many of the failures still count after a while.
func (l limit) left(failures int, since time.Duration) int {
	return max(0, failures-int(since/l.leak))
}

// signInLimit is a row of failures.
type signInLimit struct {
	Subject      string `gorm:"primaryKey"`
	Kind         limitKind
	Email        string
	Address      string
	Failures     int
	LastAt       Time
	BlockedUntil Time
}

// attempt is one try to sign in, or to show that one knows one's password.
type attempt struct {
	email   string
	address string
	device  string // a browser the account is known in, or ""
}

// MaxEmail is the longest e-mail address, in characters.
const MaxEmail = 254

func (a attempt) rows() []signInLimit {
	email := clip(a.email, MaxEmail)
	network := NetworkOf(a.address)
	if a.device != "" {
		return []signInLimit{{Subject: "device:" + a.device, Kind: limitDevice, Email: email, Address: a.address}}
	}
	// In one order for everybody, so that two of them never wait for each other.
	return []signInLimit{
		{Subject: "account:" + HashSecret(email), Kind: limitAccount, Email: email},
		{Subject: "address:" + network, Kind: limitAddress, Address: network},
		{Subject: "pair:" + HashSecret(email) + ":" + network, Kind: limitPair, Email: email, Address: network},
	}
}

// NetworkOf is whom an address counts for when calls or failures are counted: itself, of IPv6 the /64 that
// one customer is given.
func NetworkOf(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return clip(address, 64)
	}
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a.String()
	}
	p, err := a.Prefix(64)
	if err != nil {
		return a.String()
	}
	return p.String()
}

// count counts the attempt as a failure until it succeeds. It answers which limits the attempt has just
// reached, and RATE_LIMITED, counting nothing, when one was reached before.
func (tx *Tx) count(rows []signInLimit) (reached []signInLimit, err error) {
	for i := range rows {
		row := &rows[i]
		l := limitOf(row.Kind)
		if _, err := tx.Exec(`INSERT INTO sign_in_limits (subject, kind, email, address, failures, last_at, blocked_until) VALUES (?, ?, ?, ?, 0, ?, ?)
			ON CONFLICT (subject) DO NOTHING`, row.Subject, string(row.Kind), row.Email, row.Address, tx.Now, tx.Now); err != nil {
			return nil, err
		}
		now, err := One[signInLimit](tx, "SELECT * FROM sign_in_limits WHERE subject = ?"+tx.ForChange(), row.Subject)
		if err != nil {
			return nil, err
		}
		if wait := now.BlockedUntil.Sub(tx.Now.Time); wait > 0 {
			return nil, E(RateLimited, "Too many failed sign-ins. Wait a while and try again.", map[string]any{"retry_after_seconds": int((wait + time.Second - 1) / time.Second)})
		}
		row.Failures = l.left(now.Failures, tx.Now.Sub(now.LastAt.Time)) + 1
		row.LastAt, row.BlockedUntil = tx.Now, tx.Now.Add(l.delayAfter(row.Failures))
		if row.Failures == l.free {
			reached = append(reached, *row)
		}
	}
	for _, row := range rows {
		if _, err := tx.Exec("UPDATE sign_in_limits SET failures = ?, last_at = ?, blocked_until = ?, email = ?, address = ? WHERE subject = ?",
			row.Failures, row.LastAt, row.BlockedUntil, row.Email, row.Address, row.Subject); err != nil {
			return nil, err
		}
	}
	return reached, nil
}

// succeeded takes back what count counted: of what is the person's own everything, of an account or address
// that others use too only this attempt.
func (tx *Tx) succeeded(rows []signInLimit) error {
	for _, row := range rows {
		var err error
		switch row.Kind {
		case limitAccount, limitAddress:
			_, err = tx.Exec("UPDATE sign_in_limits SET failures = failures - 1, blocked_until = ? WHERE subject = ? AND failures > 0", tx.Now, row.Subject)
		default:
			_, err = tx.Exec("DELETE FROM sign_in_limits WHERE subject = ?", row.Subject)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// locked tells a known person and the trails of their workspaces that sign-ins are slowed down from now on.
func (tx *Tx) locked(id Identity, reached []signInLimit) error {
	for _, row := range reached {
		if row.Kind == limitAddress { // concerns no one account
			continue
		}
		data := map[string]any{"kind": string(row.Kind), "failures": row.Failures, "until": row.BlockedUntil, "address": row.Address}
		if err := tx.auditEverywhere(id, "person.sign_in_locked", data); err != nil {
			return err
		}
		err := tx.tellEverywhere(id, NoticeSignInLocked, map[string]any{"address": row.Address})
		if err != nil {
			return err
		}
	}
	return nil
}

// Notices about a person's own account.
const (
	NoticeSignInLocked    NoticeKind = "account.sign_in_locked"
	NoticePasswordChanged NoticeKind = "account.password_changed"
	NoticeTokenExpiring   NoticeKind = "token.expiring"
	NoticeTokenRevoked    NoticeKind = "token.revoked"
)

// tellEverywhere puts a notice about their own account before a person in each of their workspaces, unless
// one of the kind stands there unread: an attacker must not fill the page.
func (tx *Tx) tellEverywhere(id Identity, kind NoticeKind, data map[string]any) error {
	by := tx.By
	defer func() { tx.By = by }()
	for _, ws := range id.Reachable() {
		tx.By.WorkspaceID = ws
		var unread int64
		err := tx.DB.Model(&Notice{}).Where("workspace_id = ? AND user_id = ? AND kind = ? AND read_at IS NULL", ws, id.User.ID, kind).Limit(1).Count(&unread).Error
		if err != nil {
			return err
		}
		if unread > 0 {
			continue
		}
		if err := tx.Tell(kind, id.User.ID, data, id.User.ID); err != nil {
			return err
		}
	}
	return nil
}

// SignInLock is somebody, or an address, whose sign-ins are slowed down.
type SignInLock struct {
	What     string // "account", "address", "pair", "device" or "password"
	Email    string // empty for an address
	Address  string
	Failures int
	Last     Time // the last failure
	Until    Time // nobody may try before; zero or past: the next attempt is looked at
}

// SignInLocks lists for whom failed sign-ins are counted, the latest first, at most 200: all, or of one
// e-mail. Only the operator may read it, since it reaches beyond a workspace.
func (s *Store) SignInLocks(ctx context.Context, by Principal, email string) ([]SignInLock, error) {
	if err := by.needOperator(); err != nil {
		return nil, err
	}
	var locks []SignInLock
	err := s.View(ctx, by, func(tx *Tx) error {
		q := tx.DB.Where("failures > 0").Order("last_at DESC, subject").Limit(200)
		if email != "" {
			q = q.Where("email = ?", strings.ToLower(strings.TrimSpace(email)))
		}
		var rows []signInLimit
		if err := q.Find(&rows).Error; err != nil {
			return err
		}
		for _, r := range rows {
			left := limitOf(r.Kind).left(r.Failures, tx.Now.Sub(r.LastAt.Time))
			if left == 0 && !tx.Now.Before(r.BlockedUntil.Time) {
				continue
			}
			locks = append(locks, SignInLock{What: string(r.Kind), Email: r.Email, Address: r.Address, Failures: left, Last: r.LastAt, Until: r.BlockedUntil})
		}
		return nil
	})
	return locks, err
}

// ClearSignInLocks forgets the failed sign-ins of a person, or of an address when no e-mail is given, and
// says how many counts that were. Only the operator may. It fails with VALIDATION_ERROR when neither is
// given.
func (tx *Tx) ClearSignInLocks(email, address string) (int64, error) {
	if err := tx.By.needOperator(); err != nil {
		return 0, err
	}
	email, address = strings.ToLower(strings.TrimSpace(email)), strings.TrimSpace(address)
	switch {
	case email != "":
		cleared := tx.DB.Where("email = ?", email).Delete(&signInLimit{})
		if cleared.Error != nil || cleared.RowsAffected == 0 {
			return 0, cleared.Error
		}
		user, err := tx.UserByEmail(email)
		if errors.Is(err, ErrNoRow) {
			return cleared.RowsAffected, nil
		}
		if err != nil {
			return 0, err
		}
		var holder Identity
		if err := tx.identify(&holder, user.ID); err != nil && !errors.Is(err, ErrNoRow) {
			return 0, err
		}
		return cleared.RowsAffected, tx.auditEverywhere(holder, "person.sign_in_unlocked", map[string]any{"user": user.Email})
	case address != "":
		cleared := tx.DB.Where("address = ? OR address = ?", address, NetworkOf(address)).Delete(&signInLimit{})
		return cleared.RowsAffected, cleared.Error
	}
	return 0, Invalid(Issue{"/email", "must be given, or an address"})
}

// forgetSignIns drops counts that no longer count.
func (tx *Tx) forgetSignIns() error {
	return tx.DB.Where("last_at < ? AND blocked_until < ?", tx.Now.Add(-48*time.Hour), tx.Now).Delete(&signInLimit{}).Error
}

// KnownDevice is a browser in which somebody signed in before, as a cookie signed by the desk tells it.
type KnownDevice struct {
	ID     string // of the browser; random
	UserID string
	Epoch  string // see DeviceEpoch
}

// DeviceEpoch ties a known device to the password it was made known with: with a new password every device
// is a stranger's again.
func DeviceEpoch(u User) string {
	return HashSecret("device epoch " + u.ID + " " + u.PasswordHash)[:16]
}

// knownFor finds the device that belongs to the user.
func knownFor(u User, devices []KnownDevice) string {
	for _, d := range devices {
		if u.ID != "" && u.PasswordHash != "" && d.UserID == u.ID && d.Epoch == DeviceEpoch(u) && d.ID != "" {
			return fmt.Sprintf("%s:%s", u.ID, clip(d.ID, 64))
		}
	}
	return ""
}
