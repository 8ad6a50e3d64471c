package client

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// REST reaches the desk through its REST API. URL and Token must be set.
type REST struct {
	URL   string // of the desk's pages, such as https://desk.example.com
	Token string // with the scope confirmations:write
	// WorkspaceID is the workspace to ask in; empty for the token's default.
	WorkspaceID string
	// HTTPClient must let a request take a minute; [http.DefaultClient] when nil.
	HTTPClient *http.Client
}

// answerLimit is the largest answer read, in bytes.
const answerLimit = 16 << 20

// Ask files a question.
func (d *REST) Ask(ctx context.Context, key string, q Question) (Confirmation, error) {
	return d.confirmation(ctx, http.MethodPost, "/confirmations", key, q)
}

// Await reads a confirmation, waiting for a person's answer up to wait.
func (d *REST) Await(ctx context.Context, id string, wait time.Duration) (Confirmation, error) {
	query := "?wait=" + strconv.Itoa(int(wait/time.Second))
	return d.confirmation(ctx, http.MethodGet, "/confirmations/"+url.PathEscape(id)+query, "", nil)
}

// Withdraw takes a question back.
func (d *REST) Withdraw(ctx context.Context, id string) error {
	return d.send(ctx, http.MethodPost, "/confirmations/"+url.PathEscape(id)+"/withdraw", "", struct{}{}, nil)
}

// Take hands out the answer.
func (d *REST) Take(ctx context.Context, id, key string, call Call) (map[string]json.RawMessage, error) {
	var taken taken
	err := d.send(ctx, http.MethodPost, "/confirmations/"+url.PathEscape(id)+"/take", "", taking{Key: key, Call: call}, &taken)
	if err != nil {
		return nil, err
	}
	return taken.answers(id)
}

func (d *REST) confirmation(ctx context.Context, method, path, key string, body any) (Confirmation, error) {
	var c Confirmation
	if err := d.send(ctx, method, path, key, body, &c); err != nil {
		return Confirmation{}, err
	}
	return c, c.check()
}

func (d *REST) send(ctx context.Context, method, path, key string, body, into any) error {
	var content io.Reader
	if body != nil {
		encoded, err := encode(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(encoded)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(d.URL, "/")+"/api/v1"+path, content)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Authorization", "Bearer "+d.Token)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	if d.WorkspaceID != "" {
		req.Header.Set("X-Workspace-Id", d.WorkspaceID)
	}
	client := d.HTTPClient
	if client == nil {
		client = http.DefaultClient
	}
	res, err := client.Do(req)
	if err != nil {
		return &unreachable{err}
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, answerLimit))
	if err != nil {
		return &unreachable{err}
	}
	if res.StatusCode >= 300 {
		return refusedWith(res.StatusCode, raw)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("the desk answered %s %s with no JSON of its own: %w", method, path, err)
	}
	return nil
}

// refusedWith reads the desk's error; what is none, such as a proxy's page, keeps its status.
func refusedWith(status int, raw []byte) error {
	var envelope struct {
		Error *Error `json:"error"`
	}
	if json.Unmarshal(raw, &envelope) != nil || envelope.Error == nil || envelope.Error.Code == "" {
		return &Error{Code: strconv.Itoa(status), Message: http.StatusText(status), Status: status}
	}
	envelope.Error.Status = status
	return envelope.Error
}

// taking and taken are the request and answer of taking.
type taking struct {
	Key string `json:"idempotency_key"`
	Call
}

type taken struct {
	ID        string                     `json:"confirmation_id"`
	Responses map[string]json.RawMessage `json:"input_responses"`
}

func (t taken) answers(id string) (map[string]json.RawMessage, error) {
	if t.ID != id || t.Responses == nil {
		return nil, fmt.Errorf("the desk answered for confirmation %q with no answers", t.ID)
	}
	return t.Responses, nil
}

func (c Confirmation) check() error {
	if c.ID == "" || c.Status == "" {
		return fmt.Errorf("the desk answered with no confirmation")
	}
	return nil
}

// encode is JSON that keeps <, > and & as they are, so that the bytes a person judges are those sent.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(buf.Bytes()), nil
}
