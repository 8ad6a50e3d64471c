//go:build !unix

package modelstest

import "syscall"

const dirPrefix = "apdesk-pg-"

func unprivileged(string) (*syscall.SysProcAttr, error) { return nil, errNoPostgres }

func ownGroup(account *syscall.SysProcAttr) *syscall.SysProcAttr { return account }

func sweepAbandoned() {}
