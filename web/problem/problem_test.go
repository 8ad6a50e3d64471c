package problem

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
)

var update = flag.Bool("update", false, "write the golden files and generated documents anew")

// golden compares text with a file, or writes the file.
func golden(t *testing.T, path, text string) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != text {
		t.Errorf("%s is stale; run go test ./web/problem -update\n%s", path, text)
	}
}

func send(t *testing.T, err error) (status int, header func(string) string, body, logged string) {
	t.Helper()
	var log bytes.Buffer
	app := fiber.New(fiber.Config{ErrorHandler: func(c *fiber.Ctx, err error) error {
		return Send(c, slog.New(slog.NewTextHandler(&log, nil)), err)
	}})
	app.Get("/", func(c *fiber.Ctx) error {
		SetRequestID(c, "req_1")
		return err
	})
	res, testErr := app.Test(httptest.NewRequestWithContext(t.Context(), "GET", "/", nil), -1)
	if testErr != nil {
		t.Fatal(testErr)
	}
	defer func() { _ = res.Body.Close() }()
	text, readErr := io.ReadAll(res.Body)
	if readErr != nil {
		t.Fatal(readErr)
	}
	return res.StatusCode, res.Header.Get, string(text), log.String()
}

func TestSend(t *testing.T) {
	t.Run("gives every published code its status and five fields", func(t *testing.T) {
		var lines strings.Builder
		for _, e := range models.Catalogue() {
			status, _, body, _ := send(t, fmt.Errorf("service: %w", models.E(e.Code, "What to do next.", nil)))
			fmt.Fprintf(&lines, "%d %s\n", status, body)
		}
		golden(t, "testdata/envelopes.golden", lines.String())
	})
	t.Run("keeps the cause of an unknown error to itself", func(t *testing.T) {
		status, _, body, logged := send(t, errors.New("pq: relation secrets does not exist at 10.0.0.7"))
		if status != 500 || strings.Contains(body, "secrets") || !strings.Contains(body, `"request_id":"req_1"`) || !strings.Contains(body, `"INTERNAL"`) {
			t.Errorf("got %d %s", status, body)
		}
		if !strings.Contains(logged, "secrets") || !strings.Contains(logged, "req_1") {
			t.Errorf("logged %q", logged)
		}
	})
	t.Run("logs the cause of an outage and says when to come back", func(t *testing.T) {
		status, header, body, logged := send(t, models.E(models.Unavailable, "Wait.", map[string]any{"retry_after_seconds": 5}).Because(errors.New("disk I/O error")))
		if status != 503 || header("Retry-After") != "5" || strings.Contains(body, "disk") || !strings.Contains(logged, "disk") {
			t.Errorf("got %d %s, Retry-After %q, logged %q", status, body, header("Retry-After"), logged)
		}
	})
	t.Run("asks for 30 seconds where the error names no time", func(t *testing.T) {
		if _, header, _, _ := send(t, models.E(models.RateLimited, "Wait.", nil)); header("Retry-After") != "30" {
			t.Errorf("Retry-After %q", header("Retry-After"))
		}
		if _, header, _, _ := send(t, models.E(models.GRMissing, "Hold.", nil)); header("Retry-After") != "" {
			t.Errorf("a hold is no wait, yet Retry-After is %q", header("Retry-After"))
		}
	})
	t.Run("answers 404, 405, 413 and 415 of the server in the envelope", func(t *testing.T) {
		for status, code := range map[int]string{404: "NOT_FOUND", 405: "BAD_REQUEST", 413: "BAD_REQUEST", 415: "BAD_REQUEST"} {
			got, _, body, _ := send(t, fiber.NewError(status))
			if got != status || !strings.Contains(body, code) {
				t.Errorf("got %d %s", got, body)
			}
		}
	})
	t.Run("a call that was cut off may be repeated", func(t *testing.T) {
		if status, _, body, _ := send(t, fmt.Errorf("queue: %w", context.Canceled)); status != 503 || !strings.Contains(body, "UNAVAILABLE") {
			t.Errorf("got %d %s", status, body)
		}
	})
	t.Run("an error outside the catalogue is internal", func(t *testing.T) {
		if status, _, body, _ := send(t, &models.NamedError{Code: "MADE_UP", Message: "secret"}); status != 500 || strings.Contains(body, "secret") {
			t.Errorf("got %d %s", status, body)
		}
	})
	t.Run("details are an object even when there are none", func(t *testing.T) {
		_, _, body, _ := send(t, models.E(models.Conflict, "No.", nil))
		var answer map[string]map[string]json.RawMessage
		if err := json.Unmarshal([]byte(body), &answer); err != nil || string(answer["error"]["details"]) != "{}" || len(answer["error"]) != 5 {
			t.Errorf("got %s", body)
		}
	})
}

// The catalogue may gain lines and never lose one, nor may a published line change.
func TestCatalogue(t *testing.T) {
	const path = "testdata/catalogue.golden"
	var lines []string
	for _, e := range models.Catalogue() {
		kind, queue := string(e.Kind), string(e.Queue)
		if kind == "" {
			kind = "-"
		}
		if queue == "" {
			queue = "-"
		}
		lines = append(lines, fmt.Sprintf("%s kind=%s status=%d retryable=%v next_action=%s queue=%s", e.Code, kind, e.Status, e.Retryable, e.NextAction, queue))
	}
	now := strings.Join(lines, "\n") + "\n"
	before, err := os.ReadFile(path)
	if err != nil && !*update {
		t.Fatal(err)
	}
	for _, line := range strings.Split(strings.TrimSpace(string(before)), "\n") {
		if !strings.Contains(now, line+"\n") {
			t.Fatalf("a published code was changed or removed: %s", line)
		}
	}
	golden(t, path, now)
}

func TestOutcomesDocument_is_made_from_the_catalogue(t *testing.T) {
	golden(t, "../../docs/outcomes.md", document())
}

// document is docs/outcomes.md.
func document() string {
	var out strings.Builder
	out.WriteString(`# Outcomes and errors

Every error an agent can act on has five fields, on MCP as on REST: ` + "`code`, `message`, `retryable`, `next_action` and `details`" + `.
On REST they stand under ` + "`error`" + `; on MCP they are the text of an ` + "`isError`" + ` result. Codes are never renamed or removed.
This page is generated from the catalogue in ` + "`models/outcome.go`" + ` (` + "`go test ./web/problem -update`" + `).

## The ten outcomes

An agent hands these over, and a person decides. The queue is where the case waits by default.

| Code | Kind | Retryable | Next action | Queue | REST | Meaning |
|---|---|---|---|---|---|---|
`)
	for _, e := range models.Outcomes() {
		queue := "none"
		if e.Queue != "" {
			queue = "`" + string(e.Queue) + "`"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | `%s` | %s | %d | %s |\n", e.Code, e.Kind, yesNo(e.Retryable), e.NextAction, queue, e.Status, e.Meaning)
	}
	out.WriteString(`
## Errors of the desk itself

| Code | Retryable | Next action | REST | Meaning |
|---|---|---|---|---|
`)
	for _, e := range models.Catalogue()[len(models.Outcomes()):] {
		fmt.Fprintf(&out, "| `%s` | %s | `%s` | %d | %s |\n", e.Code, yesNo(e.Retryable), e.NextAction, e.Status, e.Meaning)
	}
	out.WriteString(`
## What the next actions mean

| Next action | The agent |
|---|---|
| ` + "`fix_input_and_retry`" + ` | corrects what ` + "`details`" + ` names and makes the same call once more |
| ` + "`hold_and_recheck`" + ` | files a hold and goes on with other invoices; when the error is retryable, it waits ` + "`details.retry_after_seconds`" + ` (30 when absent) and repeats the same call instead |
| ` + "`route_to_person`" + ` | hands the invoice over and waits for the instruction |
| ` + "`request_approval`" + ` | asks for approval of exactly the write it wants to make |
| ` + "`stop_and_escalate`" + ` | stops work on the invoice and hands it over |

Addresses that do not exist, methods an address does not take, bodies that are too large and bodies that are not JSON are answered in the same
form: ` + "`NOT_FOUND`" + ` with 404, ` + "`BAD_REQUEST`" + ` with 405, 413 or 415.
`)
	return out.String()
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
