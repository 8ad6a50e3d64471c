package main_test

import (
	"os/exec"
	"runtime"
	"sync"
	"syscall"
)

// start starts a process that the kernel kills when the test process dies, so
// that a test killed half-way leaves no desk behind. The kernel watches the
// thread that started the process, so one thread starts them all and never ends.
func start(cmd *exec.Cmd) error {
	starter.once.Do(func() {
		starter.commands = make(chan *exec.Cmd)
		starter.results = make(chan error)
		go func() {
			runtime.LockOSThread()
			for cmd := range starter.commands {
				cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
				starter.results <- cmd.Start()
			}
		}()
	})
	starter.Lock()
	defer starter.Unlock()
	starter.commands <- cmd
	return <-starter.results
}

var starter struct {
	sync.Mutex
	once     sync.Once
	commands chan *exec.Cmd
	results  chan error
}
