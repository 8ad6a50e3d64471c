//go:build unix

package demo

import (
	"bufio"
	"context"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// build compiles the real program for the tests that run it.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "apdesk")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "github.com/apdesk/apdesk/cmd/apdesk").CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return program
}

// fast runs the demo without a person, every process real, and hands each line
// it prints to each.
func fast(t *testing.T, program string, each func(line string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "demo", "--fast", "--dir", filepath.Join(t.TempDir(), "demo"),
		"--addr", "127.0.0.1:0", "--mcp-addr", "127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second
	read, write := io.Pipe()
	cmd.Stdout, cmd.Stderr = write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	done := make(chan struct{})
	go func() {
		defer close(done)
		lines := bufio.NewScanner(read)
		for lines.Scan() {
			said.WriteString(lines.Text() + "\n")
			each(lines.Text())
		}
	}()
	err := cmd.Wait()
	_ = write.Close()
	<-done
	if err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	if !strings.Contains(said.String(), "invoices ended as expected") {
		t.Fatalf("no closing line\n%s", said.String())
	}
}

func TestTheFastDemoBringsEveryInvoiceToItsEnd(t *testing.T) {
	t.Parallel()
	fast(t, build(t), func(string) {})
}

var process = regexp.MustCompile(`^demo +(\w+) runs as process (\d+)$`)

func TestKillingAnyPartOfTheDemoLosesAndDoublesNothing(t *testing.T) {
	t.Parallel()
	// Every few lines of what the agent says, one part is killed, each in turn and
	// the seed decides when: no part is spared and none is asked.
	pids := map[string]int{}
	chance := rand.New(rand.NewPCG(2026, 7))
	victims := []string{"desk", "agent", "erp", "people"}
	until, killed := 10, 0
	fast(t, build(t), func(line string) {
		if m := process.FindStringSubmatch(line); m != nil {
			pids[m[1]], _ = strconv.Atoi(m[2])
			return
		}
		if !strings.HasPrefix(line, "agent ") || killed == 16 {
			return
		}
		if until--; until > 0 {
			return
		}
		until = 5 + chance.IntN(12)
		victim := victims[killed%len(victims)]
		killed++
		if pid := pids[victim]; pid != 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	if killed < 8 {
		t.Errorf("only %d parts were killed", killed)
	}
}
