package demo

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// startBound starts a process in a group of its own, so that Ctrl-C reaches only
// the supervisor, and has the kernel end it if the supervisor dies. The kernel
// watches the thread that started the process; one thread starts them all and
// never ends.
func startBound(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	starter.once.Do(func() {
		starter.ask = make(chan *exec.Cmd)
		starter.told = make(chan error)
		go func() {
			runtime.LockOSThread()
			for cmd := range starter.ask {
				starter.told <- cmd.Start()
			}
		}()
	})
	starter.mu.Lock()
	defer starter.mu.Unlock()
	starter.ask <- cmd
	return <-starter.told
}

var starter struct {
	mu   sync.Mutex
	once sync.Once
	ask  chan *exec.Cmd
	told chan error
}
