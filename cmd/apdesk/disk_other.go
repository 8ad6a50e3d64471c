//go:build !linux && !darwin

package main

// freeBytes is not known on this system.
func freeBytes(string) (uint64, bool) { return 0, false }
