package main_test

import (
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTheReadmeCanBePasted runs the README's own examples: the commands that set
// a desk up, the REST calls and the script for npm's client.
func TestTheReadmeCanBePasted(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"bash", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("no %s on PATH", tool)
		}
	}
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(program(t), filepath.Join(dir, "apdesk")); err != nil {
		t.Fatal(err)
	}
	d := newDesk(t, "sqlite:"+filepath.Join(dir, "apdesk.db"))
	addresses := strings.NewReplacer("127.0.0.1:8080", d.addr, "127.0.0.1:8081", d.mcpAddr)
	shell := func(script string, env ...string) string {
		t.Helper()
		cmd := exec.Command("bash", "-euo", "pipefail", "-c", addresses.Replace(script))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), env...)
		var said strings.Builder
		cmd.Stderr = &said
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, script, said.String())
		}
		return strings.TrimSpace(string(out))
	}
	blocks := fenced(string(readme), "sh")
	block := func(with string) string {
		t.Helper()
		i := slices.IndexFunc(blocks, func(b string) bool { return strings.Contains(b, with) })
		if i < 0 {
			t.Fatalf("the README has no example with %s", with)
		}
		return blocks[i]
	}

	setUp := strings.NewReplacer("go build -o apdesk ./cmd/apdesk", "", "./apdesk serve", "").Replace(block("workspace create"))
	tokens := strings.Fields(shell("{ " + setUp + "\n} >&2; echo $APDESK_TOKEN $ERP_TOKEN"))
	if len(tokens) != 2 {
		t.Fatalf("the commands made the tokens %q", tokens)
	}
	d.start()
	env := []string{"APDESK_TOKEN=" + tokens[0], "ERP_TOKEN=" + tokens[1]}
	answered := func(script string, more ...string) answer {
		t.Helper()
		var body object
		if out := shell(script, slices.Concat(env, more)...); json.Unmarshal([]byte(out), &body) != nil {
			t.Fatalf("answered with %q", out)
		}
		return answer{status: http.StatusOK, body: body}
	}
	buyer := cast{name: "Petra Vogel", email: "petra@example.com"}
	lead := cast{name: "Fiona Falk", email: "fiona@example.com"}

	id := answered(block("/api/v1/handovers")).text("case_id")
	d.signIn(t, buyer).decideCase(t, id, "reopen_po")
	if got := answered(block("/api/v1/cases/"), "CASE_ID="+id); got.text("instruction", "kind") != "resume" {
		t.Errorf("the agent reads %s, want to resume", got)
	}

	calls := strings.Split(block("/api/v1/approval-requests \\"), "\n\n")
	if len(calls) != 4 {
		t.Fatalf("the README shows %d calls for a write, want ask, wait, redeem and report", len(calls))
	}
	request := answered(calls[0]).text("request_id")
	d.signIn(t, lead).vote(t, request, "approve")
	approval := answered(calls[1], "REQUEST_ID="+request).text("approval_id")
	if got := answered(calls[2], "APPROVAL_ID="+approval); got.text("invoice_id") != "5105600123" {
		t.Errorf("the redeem is answered with %s", got)
	}
	if got := answered(calls[3], "APPROVAL_ID="+approval); got.code() != "" {
		t.Errorf("the report is answered with %s", got)
	}

	t.Run("npm", func(t *testing.T) {
		scripts := fenced(string(readme), "js")
		if len(scripts) == 0 {
			t.Fatal("the README has no script for npm's client")
		}
		node := nodeProgram(t)
		cmd := exec.Command(node, "--input-type=module")
		cmd.Dir = filepath.Join("testdata", "node")
		cmd.Env = append(os.Environ(), env...)
		cmd.Stdin = strings.NewReader(addresses.Replace(scripts[0]))
		var said strings.Builder
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := start(cmd); err != nil {
			t.Fatal(err)
		}
		visitor := d.signIn(t, buyer)
		var row string
		eventually(t, "the script's case is in the queue", func() bool {
			row = visitor.get(t, "/queues/procurement").doc.Find("[data-testid=case-row]").AttrOr("data-case", "")
			return row != ""
		})
		visitor.decideCase(t, row, "reopen_po")
		if err := cmd.Wait(); err != nil {
			t.Fatalf("%v\n%s", err, said.String())
		}
		if !strings.Contains(said.String(), "kind: 'resume'") {
			t.Errorf("the script prints %s, want the instruction resume", said.String())
		}
	})
}

// fenced lists the README's blocks of one language.
func fenced(markdown, language string) []string {
	var blocks []string
	for _, part := range strings.Split(markdown, "\n```"+language+"\n")[1:] {
		body, _, _ := strings.Cut(part, "\n```")
		blocks = append(blocks, body)
	}
	return blocks
}
