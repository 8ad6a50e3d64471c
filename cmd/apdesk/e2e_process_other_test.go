//go:build !linux

package main_test

import "os/exec"

func start(cmd *exec.Cmd) error { return cmd.Start() }
