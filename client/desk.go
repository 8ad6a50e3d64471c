package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Desk is where questions are answered: [REST] or [Tools].
type Desk interface {
	// Ask files a question. The same key and question again give the same confirmation.
	Ask(ctx context.Context, key string, q Question) (Confirmation, error)
	// Await reads a confirmation; while it is pending the answer may take up to wait, at most 50 seconds.
	Await(ctx context.Context, id string, wait time.Duration) (Confirmation, error)
	// Take hands out the answer by the keys of the question, each {"action", "content"?}. It does so
	// once, and again for the same key and call.
	Take(ctx context.Context, id, key string, call Call) (map[string]json.RawMessage, error)
	// Withdraw takes a question back that nobody needs to answer any more.
	Withdraw(ctx context.Context, id string) error
}

// Server is the MCP server whose call is in question.
type Server struct {
	Name string `json:"name"` // what people know it by
	URL  string `json:"url"`  // of its MCP endpoint
}

// Call is a tools/call of a server.
type Call struct {
	Server    Server          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"` // a JSON object, exactly as sent to the server
}

// Question is a server's question about one of its calls.
type Question struct {
	Call
	// InputRequests is the object of the server's answer, key to {"method", "params"}.
	InputRequests json.RawMessage `json:"input_requests"`
	// RequestStateHash is the hex SHA-256 of the server's requestState; empty when it gave none. The
	// state itself never leaves the agent.
	RequestStateHash string          `json:"request_state_hash,omitempty"`
	RunID            string          `json:"run_id,omitempty"`
	Invoice          json.RawMessage `json:"invoice,omitempty"`    // what the call is about
	ExpiresIn        int64           `json:"expires_in,omitempty"` // seconds; 0: the desk's own hour
}

// Status is where a confirmation stands.
type Status string

// The states of a confirmation.
const (
	Pending   Status = "pending"   // waits for a person
	Answered  Status = "answered"  // a person answered; the answer waits to be taken
	Taken     Status = "taken"     // the answer was handed out
	Expired   Status = "expired"   // nobody answered, or took the answer, in time
	Withdrawn Status = "withdrawn" // the asker took it back
)

// Confirmation is a question at the desk. It never holds the answer.
type Confirmation struct {
	ID        string    `json:"confirmation_id"`
	Status    Status    `json:"status"`
	URL       string    `json:"url"` // of its page, for people
	ExpiresAt time.Time `json:"expires_at"`
}

// Error is a refusal of the desk: the five fields every error of the desk has.
type Error struct {
	Code       string         `json:"code"`
	Message    string         `json:"message"` // plain English, fit for a model
	Retryable  bool           `json:"retryable"`
	NextAction string         `json:"next_action"`
	Details    map[string]any `json:"details"`
	Status     int            `json:"-"` // of HTTP; 0 over MCP
}

// Error gives code and message.
func (e *Error) Error() string { return fmt.Sprintf("the desk refused: %s: %s", e.Code, e.Message) }

// passing says whether the same call may work a little later.
func passing(err error) bool {
	var refused *Error
	if errors.As(err, &refused) {
		return refused.Retryable && refused.NextAction == "hold_and_recheck" ||
			refused.Status == http.StatusBadGateway || refused.Status == http.StatusServiceUnavailable || refused.Status == http.StatusGatewayTimeout
	}
	var broken *unreachable
	return errors.As(err, &broken)
}

// after is how long the desk asks to be left alone, 0 when it does not say.
func after(err error) time.Duration {
	var refused *Error
	if !errors.As(err, &refused) {
		return 0
	}
	seconds, _ := refused.Details["retry_after_seconds"].(float64)
	if seconds < 0 || seconds > 3600 {
		return 0
	}
	return time.Duration(seconds * float64(time.Second))
}

// unreachable is a desk that gave no answer.
type unreachable struct{ cause error }

func (u *unreachable) Error() string { return "the desk cannot be reached: " + u.cause.Error() }

func (u *unreachable) Unwrap() error { return u.cause }
