//go:build unix

package modelstest

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// dirPrefix starts the name of every cluster's directory; the id of the process
// that made it follows.
const dirPrefix = "apdesk-pg-"

// unprivileged gives dir to the account that PostgreSQL runs as and returns how
// to start a program as that account. PostgreSQL refuses to run as root, so
// root hands over to postgres or nobody; everybody else runs it themselves.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return &syscall.SysProcAttr{}, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		account, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(account.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(account.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", name, err)
		}
		if err := os.Chown(dir, int(uid), int(gid)); err != nil {
			return nil, err
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, errors.New("running as root, and neither postgres nor nobody is an account here")
}

// ownGroup keeps an interrupt typed at the terminal away from the guard, which
// has to outlive the tests for as long as its cleaning takes.
func ownGroup(account *syscall.SysProcAttr) *syscall.SysProcAttr {
	grouped := *account
	grouped.Setpgid = true
	return &grouped
}

// sweepAbandoned removes directories whose test process is gone, for the case
// that guard and tests were killed together.
func sweepAbandoned() {
	found, err := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*"))
	if err != nil {
		return
	}
	for _, dir := range found {
		owner, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), dirPrefix), "-")
		pid, err := strconv.Atoi(owner)
		if err != nil || pid <= 0 {
			continue
		}
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			// Somebody else's leftovers stay theirs: a refusal is no problem.
			_ = os.RemoveAll(dir)
		}
	}
}
