package mcpserver

import (
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/apdesk/apdesk/models"
)

// record is what one call's log line says. The tool runs in a goroutine of the SDK's, hence the lock.
type record struct {
	mu        sync.Mutex
	workspace string
	status    string // ok, the code of the error, or how the protocol refused it
	subject   string // id the call was about, masked where it is a secret
}

func (r *record) in(workspace string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.workspace = workspace
}

func (r *record) about(subject string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subject = models.MaskIDs(subject) // whatever the caller sent in place of an id
}

func (r *record) ended(status string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// unless keeps how the call ended, if nobody has said so yet.
func (r *record) unless(status string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status == "" {
		r.status = status
	}
}

func (r *record) refused(refused *refusal) { r.ended(fmt.Sprint(refused.code)) }

// logCall writes the one line of a tools/call and counts it. It holds no secret: of an approval id only
// the start.
func (h *handler) logCall(x *exchange, took time.Duration) {
	x.log.mu.Lock()
	defer x.log.mu.Unlock()
	status := x.log.status
	if status == "" {
		status = "unanswered" // the client left before the tool began
	}
	tool := x.msg.tool
	if h.cfg.Observe != nil {
		known := "unknown"
		if _, ok := h.tools[tool]; ok {
			known = tool
		}
		h.cfg.Observe(known, status, took)
	}
	if r := []rune(tool); len(r) > 128 {
		tool = string(r[:128])
	}
	attrs := []slog.Attr{
		slog.String("tool", tool),
		slog.String("workspace", x.log.workspace),
		slog.String("person", x.identity.User.ID),
		slog.String("token_type", x.identity.TokenType()),
		slog.String("status", status),
		slog.Duration("duration", took),
		slog.String("request_id", x.requestID),
		slog.String("address", x.address),
	}
	if x.log.subject != "" {
		attrs = append(attrs, slog.String("subject", x.log.subject))
	}
	h.logger.LogAttrs(x.http, slog.LevelInfo, "tools/call", attrs...)
}
