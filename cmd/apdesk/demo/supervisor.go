package demo

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// supervisor keeps the processes of the demo running.
type supervisor struct {
	demo *demo

	mu       sync.Mutex
	stopping bool
	children []*child
	err      error
	down     chan struct{}
}

type child struct {
	name string
	done func() bool
	cmd  *exec.Cmd // the running process, under the supervisor's mutex
	gone chan struct{}
}

// start runs a part and runs it again whenever it ends, however it ended, unless
// it has nothing left to do (nil: it always has). The channel is closed then.
func (s *supervisor) start(name string, done func() bool, args ...string) <-chan struct{} {
	c := &child{name: name, done: done, gone: make(chan struct{})}
	s.mu.Lock()
	s.children = append(s.children, c)
	s.mu.Unlock()
	finished := make(chan struct{})
	go s.keep(c, args, finished)
	return finished
}

// tooOften is how many times in a row a part may die within a second.
const tooOften = 10

func (s *supervisor) keep(c *child, args []string, finished chan<- struct{}) {
	defer close(c.gone)
	quick := 0
	for {
		began := time.Now()
		cmd, logFile, err := s.launch(c, args)
		if err != nil {
			s.fail(fmt.Errorf("demo: start %s: %w", c.name, err))
			return
		}
		if cmd == nil {
			return // stopping
		}
		err = cmd.Wait()
		_ = logFile.Close()
		s.mu.Lock()
		c.cmd = nil
		stopping := s.stopping
		s.mu.Unlock()
		if stopping {
			return
		}
		if err == nil && c.done != nil && c.done() {
			close(finished)
			return
		}
		if time.Since(began) > time.Second {
			quick = 0
		}
		if quick++; quick >= tooOften {
			s.fail(fmt.Errorf("demo: %s keeps failing: %w; see %s", c.name, err, s.logName(c.name)))
			return
		}
		s.demo.say("demo   %s ended (%s); starting it again", c.name, cmd.ProcessState)
		time.Sleep(time.Duration(quick) * 100 * time.Millisecond)
	}
}

// launch starts one process, or answers nil when the demo is being stopped.
func (s *supervisor) launch(c *child, args []string) (*exec.Cmd, *os.File, error) {
	logFile, err := os.OpenFile(s.logName(c.name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	cmd := exec.Command(s.demo.opt.Binary, args...)
	cmd.Env, cmd.Dir = plainEnv(), s.demo.dir
	cmd.Stdout, cmd.Stderr = s.demo, logFile
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopping {
		return nil, nil, logFile.Close()
	}
	if err := startBound(cmd); err != nil {
		_ = logFile.Close()
		return nil, nil, err
	}
	c.cmd = cmd
	s.demo.say("demo   %s runs as process %d", c.name, cmd.Process.Pid)
	return cmd, logFile, nil
}

func (s *supervisor) logName(name string) string {
	return filepath.Join(s.demo.dir, name+".log")
}

// stop ends every part, the desk last, so that nobody's last words are lost.
func (s *supervisor) stop() {
	s.mu.Lock()
	s.stopping = true
	children := s.children
	s.mu.Unlock()
	for i := len(children) - 1; i >= 0; i-- {
		c := children[i]
		s.mu.Lock()
		if c.cmd != nil {
			_ = c.cmd.Process.Signal(syscall.SIGTERM)
		}
		s.mu.Unlock()
		select {
		case <-c.gone:
		case <-time.After(10 * time.Second):
			s.mu.Lock()
			if c.cmd != nil {
				_ = c.cmd.Process.Kill()
			}
			s.mu.Unlock()
			<-c.gone
		}
	}
}

// broken is closed when a part cannot be kept running.
func (s *supervisor) broken() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down == nil {
		s.down = make(chan struct{})
		if s.err != nil {
			close(s.down)
		}
	}
	return s.down
}

func (s *supervisor) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil || s.stopping {
		return
	}
	s.err = err
	if s.down != nil {
		close(s.down)
	}
}

func (s *supervisor) fault() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// await waits until an address answers.
func (s *supervisor) await(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return fmt.Errorf("demo: %w", err)
		}
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-s.broken():
			return s.fault()
		case <-ctx.Done():
			return fmt.Errorf("demo: %s does not answer: %w", url, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}
