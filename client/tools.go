package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Tools reaches the desk through its MCP endpoint, for agents that are connected to it anyway. Over MCP
// a question cannot be taken back; give contexts a deadline, and it expires by then.
type Tools struct {
	Session *mcp.ClientSession // connected to the desk
	// WorkspaceID is the workspace to ask in; empty for the token's default.
	WorkspaceID string
}

// ErrCannotWithdraw is answered by [Tools.Withdraw].
var ErrCannotWithdraw = errors.New("a question cannot be withdrawn over MCP, it expires")

// codeRejected is what the SDK says of a message that its transport could not deliver.
const codeRejected = -32005

// Ask files a question.
func (d *Tools) Ask(ctx context.Context, key string, q Question) (Confirmation, error) {
	return d.confirmation(ctx, "request_confirmation", struct {
		Question
		Key       string `json:"idempotency_key"`
		Workspace string `json:"workspace_id,omitempty"`
	}{q, key, d.WorkspaceID})
}

// Await reads a confirmation, waiting for a person's answer up to wait.
func (d *Tools) Await(ctx context.Context, id string, wait time.Duration) (Confirmation, error) {
	return d.confirmation(ctx, "get_confirmation", struct {
		ID        string `json:"confirmation_id"`
		Wait      int    `json:"wait_seconds"`
		Workspace string `json:"workspace_id,omitempty"`
	}{id, int(wait / time.Second), d.WorkspaceID})
}

// Take hands out the answer.
func (d *Tools) Take(ctx context.Context, id, key string, call Call) (map[string]json.RawMessage, error) {
	var taken taken
	err := d.call(ctx, "take_confirmation", struct {
		taking
		ID        string `json:"confirmation_id"`
		Workspace string `json:"workspace_id,omitempty"`
	}{taking{key, call}, id, d.WorkspaceID}, &taken)
	if err != nil {
		return nil, err
	}
	return taken.answers(id)
}

// Withdraw answers [ErrCannotWithdraw].
func (d *Tools) Withdraw(context.Context, string) error { return ErrCannotWithdraw }

func (d *Tools) confirmation(ctx context.Context, tool string, arguments any) (Confirmation, error) {
	var c Confirmation
	if err := d.call(ctx, tool, arguments, &c); err != nil {
		return Confirmation{}, err
	}
	return c, c.check()
}

func (d *Tools) call(ctx context.Context, tool string, arguments, into any) error {
	encoded, err := encode(arguments)
	if err != nil {
		return err
	}
	res, err := d.Session.CallTool(ctx, &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(encoded)})
	if err != nil {
		// A session that is closed stays closed, and what the protocol refuses it refuses again; the SDK
		// dresses a broken connection as such a refusal, of a code of its own.
		var protocol *jsonrpc.Error
		if errors.Is(err, mcp.ErrConnectionClosed) || (errors.As(err, &protocol) && protocol.Code != codeRejected) {
			return fmt.Errorf("%s: %w", tool, err)
		}
		return &unreachable{fmt.Errorf("%s: %w", tool, err)}
	}
	text := ""
	if len(res.Content) > 0 {
		if block, ok := res.Content[0].(*mcp.TextContent); ok {
			text = block.Text
		}
	}
	if res.IsError {
		refused := new(Error)
		if json.Unmarshal([]byte(text), refused) != nil || refused.Code == "" {
			return fmt.Errorf("%s: the desk refused: %s", tool, text)
		}
		return refused
	}
	if err := json.Unmarshal([]byte(text), into); err != nil {
		return fmt.Errorf("the desk answered %s with no JSON of its own: %w", tool, err)
	}
	return nil
}
