//go:build !unix

package demo

import "os/exec"

// startBound starts a process.
func startBound(cmd *exec.Cmd) error { return cmd.Start() }
