package mcpserver

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// JSON-RPC error codes of the protocol.
const (
	codeParse              = -32700
	codeInvalidRequest     = -32600
	codeMethodNotFound     = -32601
	codeInvalidParams      = -32602
	codeInternal           = -32603
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

// refusal is a request answered with an error before any tool ran: an HTTP status and a JSON-RPC error.
type refusal struct {
	status  int
	code    int
	message string
	data    any
	id      json.RawMessage // omitted when nil, since an unreadable id must not be invented
	nullID  bool            // the published exception: the body was too large to be read
}

func (r *refusal) Error() string { return r.message }

// write sends the refusal. Headers set before, such as Retry-After, stay.
func (r *refusal) write(w http.ResponseWriter) {
	id := r.id
	if r.nullID {
		id = json.RawMessage("null")
	}
	body := encode(struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id,omitempty"`
		Error   any             `json:"error"`
	}{"2.0", id, struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    any    `json:"data,omitempty"`
	}{r.code, r.message, r.data}})
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(r.status)
	_, _ = w.Write(body) // the client is gone when this fails
}

// encode is JSON without the escapes meant for HTML, which only cost a model tokens.
func encode(v any) []byte {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic("mcpserver: an answer that is no JSON: " + err.Error())
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n"))
}

// jsonOnly passes the SDK's answers on, and turns its plain-text ones into JSON-RPC errors.
type jsonOnly struct {
	http.ResponseWriter
	id      json.RawMessage
	status  int // of the answer, 0 before there is one
	plain   int // status of a plain-text answer being replaced
	message bytes.Buffer
}

// WriteHeader holds a plain-text error back until its text is known.
func (w *jsonOnly) WriteHeader(status int) {
	w.status = status
	if status >= 400 && !strings.HasPrefix(w.Header().Get("Content-Type"), "application/json") {
		w.plain = status
		return
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *jsonOnly) Write(b []byte) (int, error) {
	if w.plain != 0 {
		return w.message.Write(b)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController flush streams.
func (w *jsonOnly) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// finish sends the replacement of a plain-text answer.
func (w *jsonOnly) finish() {
	if w.plain == 0 {
		return
	}
	code := codeInvalidRequest
	if w.plain >= 500 {
		code = codeInternal
	}
	(&refusal{status: w.plain, code: code, message: strings.TrimSpace(w.message.String()), id: w.id}).write(w.ResponseWriter)
}
