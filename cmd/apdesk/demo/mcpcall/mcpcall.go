// Package mcpcall calls tools of an MCP server (revision 2026-07-28) and reads
// their answers as the two things an agent can act on: a JSON result or a named
// error. Weather (refused connections, 502 to 504, 429) is waited out below it,
// so nobody above ever sees it. It knows no tool by name.
package mcpcall

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ProtocolVersion is the only revision this client speaks.
const ProtocolVersion = "2026-07-28"

// NamedError is the five-field error of the contract.
type NamedError struct {
	Code       string          `json:"code"`
	Message    string          `json:"message"`
	Retryable  bool            `json:"retryable"`
	NextAction string          `json:"next_action"`
	Details    json.RawMessage `json:"details"`
}

// Error makes it an error.
func (e *NamedError) Error() string { return e.Code + ": " + e.Message }

// Detail reads one string of the details, empty when it is absent or no string.
func (e *NamedError) Detail(name string) string {
	var all map[string]json.RawMessage
	if json.Unmarshal(e.Details, &all) != nil {
		return ""
	}
	var s string
	if json.Unmarshal(all[name], &s) != nil {
		return ""
	}
	return s
}

// Client calls one server with one token. It is safe for concurrent use.
type Client struct {
	endpoint string
	name     string
	http     *http.Client

	mu      sync.Mutex
	session *mcp.ClientSession
}

// New prepares a client; it connects on the first call.
func New(endpoint, token, name string) *Client {
	return &Client{endpoint: endpoint, name: name, http: NewHTTPClient(token)}
}

// Call runs one tool. Exactly one of the first two answers is set when the error
// is nil. The error is a *jsonrpc.Error when the server refused the request
// itself, or the context's.
func (c *Client) Call(ctx context.Context, tool string, arguments any, meta map[string]any) (json.RawMessage, *NamedError, error) {
	for spoilt := 0; ; {
		res, err := c.once(ctx, tool, arguments, meta)
		if err == nil {
			return read(tool, res)
		}
		if ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		var refused *jsonrpc.Error
		if errors.As(err, &refused) && refused.Code != jsonrpc.CodeInternalError && refused.Code != 0 {
			return nil, nil, fmt.Errorf("%s: %w", tool, refused)
		}
		// The session is spoilt: a new one, the same call. Weather is waited out
		// below, so this cannot go on for long unless the server means it.
		if spoilt++; spoilt == maxSpoilt {
			return nil, nil, fmt.Errorf("%s: %w", tool, err)
		}
		select {
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}

const maxSpoilt = 10

// Close ends the session.
func (c *Client) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		_ = c.session.Close()
		c.session = nil
	}
}

func (c *Client) once(ctx context.Context, tool string, arguments any, meta map[string]any) (*mcp.CallToolResult, error) {
	session, err := c.connected(ctx)
	if err != nil {
		return nil, err
	}
	res, err := session.CallTool(ctx, &mcp.CallToolParams{Meta: meta, Name: tool, Arguments: arguments})
	if err != nil {
		c.drop(session)
		return nil, err
	}
	return res, nil
}

func (c *Client) connected(ctx context.Context) (*mcp.ClientSession, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		return c.session, nil
	}
	client := mcp.NewClient(&mcp.Implementation{Name: c.name, Version: "1"}, &mcp.ClientOptions{Capabilities: &mcp.ClientCapabilities{}})
	session, err := client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: c.endpoint, HTTPClient: c.http, MaxRetries: -1, DisableStandaloneSSE: true,
	}, &mcp.ClientSessionOptions{ProtocolVersion: ProtocolVersion})
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", c.endpoint, err)
	}
	if got := session.InitializeResult(); got != nil && got.ProtocolVersion != ProtocolVersion {
		_ = session.Close()
		return nil, fmt.Errorf("connect to %s: the server speaks %s", c.endpoint, got.ProtocolVersion)
	}
	c.session = session
	return session, nil
}

func (c *Client) drop(session *mcp.ClientSession) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session == session {
		c.session = nil
	}
}

// read takes the text block, not the structured content: only the text still has
// the digits as they were sent.
func read(tool string, res *mcp.CallToolResult) (json.RawMessage, *NamedError, error) {
	if res.NeedsInput() {
		return nil, nil, fmt.Errorf("%s asks for input, which this client does not give", tool)
	}
	var text string
	for _, block := range res.Content {
		if t, ok := block.(*mcp.TextContent); ok {
			text = t.Text
			break
		}
	}
	if !json.Valid([]byte(text)) {
		return nil, nil, fmt.Errorf("%s answered no JSON: %.200q", tool, text)
	}
	if !res.IsError {
		return json.RawMessage(text), nil, nil
	}
	var named NamedError
	if err := json.Unmarshal([]byte(text), &named); err != nil || named.Code == "" || named.NextAction == "" {
		return nil, nil, fmt.Errorf("%s answered an error without the five fields: %.200q", tool, text)
	}
	return nil, &named, nil
}

// NewHTTPClient sends the bearer token with every request and waits out weather.
func NewHTTPClient(token string) *http.Client {
	return &http.Client{Transport: &patient{token: token, next: &http.Transport{
		MaxIdleConnsPerHost: 16, IdleConnTimeout: 30 * time.Second,
	}}}
}

// patient repeats a request until the server answers something else than "not
// now". Every request of the demo is a read or carries an idempotency key, so a
// repeat changes nothing.
type patient struct {
	token string
	next  http.RoundTripper
}

// RoundTrip implements http.RoundTripper. The answer is read whole, so that a
// server killed in the middle of one counts as weather too.
func (p *patient) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		_ = req.Body.Close()
	}
	pace := backoff.NewExponentialBackOff(backoff.WithInitialInterval(100*time.Millisecond),
		backoff.WithMaxInterval(2*time.Second), backoff.WithMaxElapsedTime(0))
	return backoff.RetryWithData(func() (*http.Response, error) {
		try := req.Clone(req.Context())
		try.Header.Set("Authorization", "Bearer "+p.token)
		if body != nil {
			try.Body = io.NopCloser(bytes.NewReader(body))
			try.ContentLength = int64(len(body))
		}
		res, err := p.next.RoundTrip(try)
		if err != nil {
			return nil, err
		}
		whole, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			return nil, err
		}
		res.Body = io.NopCloser(bytes.NewReader(whole))
		switch res.StatusCode {
		case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
			if seconds, err := strconv.Atoi(res.Header.Get("Retry-After")); err == nil && seconds > 2 {
				select {
				case <-time.After(time.Duration(min(seconds, 30)) * time.Second):
				case <-req.Context().Done():
				}
			}
			return nil, fmt.Errorf("%s %s: %s", req.Method, req.URL.Path, res.Status)
		}
		return res, nil
	}, backoff.WithContext(pace, req.Context()))
}
