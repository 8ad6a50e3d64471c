//go:build unix && !linux

package demo

import (
	"os/exec"
	"syscall"
)

// startBound starts a process in a group of its own, so that Ctrl-C reaches only
// the supervisor.
func startBound(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd.Start()
}
