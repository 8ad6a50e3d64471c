package erp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/apdesk/apdesk/cmd/apdesk/demo/mcpcall"
)

// desk is the REST side of apdesk as the ERP uses it.
type desk struct {
	base string
	http *http.Client
}

func newDesk(base, token string) *desk {
	return &desk{base: strings.TrimSuffix(base, "/"), http: mcpcall.NewHTTPClient(token)}
}

// call answers the response body, a *mcpcall.NamedError when the desk refused,
// or another error when it did not answer.
func (d *desk) call(ctx context.Context, method, path, workspace, key string, body any) (json.RawMessage, error) {
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		in = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, d.base+path, in)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Workspace-Id", workspace)
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	res, err := d.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return nil, err
	}
	if res.StatusCode < 300 {
		return raw, nil
	}
	var envelope struct {
		Error mcpcall.NamedError `json:"error"`
	}
	if err := json.Unmarshal(raw, &envelope); err != nil || envelope.Error.Code == "" {
		return nil, fmt.Errorf("%s %s: %s", method, path, res.Status)
	}
	return nil, &envelope.Error
}

type grant struct {
	RequestID string `json:"request_id"`
	InvoiceID string `json:"invoice_id"`
}

// redeem waits a while for the desk to come back; the key is the write's own, so
// asking again after a lost answer or a crash is the same question.
func (d *desk) redeem(ctx context.Context, w pendingWrite) (grant, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	raw, err := d.call(ctx, http.MethodPost, "/api/v1/approvals/"+url.PathEscape(w.ApprovalID)+"/redeem", w.Workspace, "", map[string]any{
		"tool": w.Tool, "arguments": w.Arguments, "idempotency_key": "erp-" + w.Digest,
	})
	if err != nil {
		return grant{}, err
	}
	var g grant
	if err := json.Unmarshal(raw, &g); err != nil {
		return grant{}, fmt.Errorf("redeem: %w", err)
	}
	return g, nil
}

func (d *desk) report(ctx context.Context, w pendingWrite) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err := d.call(ctx, http.MethodPost, "/api/v1/approvals/"+url.PathEscape(w.ApprovalID)+"/report", w.Workspace, "report-"+w.Digest, map[string]any{
		"status": "posted", "document_number": w.DocumentNumber,
	})
	return err
}
