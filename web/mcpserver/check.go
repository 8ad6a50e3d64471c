package mcpserver

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

// bodyLimit is the largest request body, in bytes.
const bodyLimit = 14680064

// Protocol versions served, newest first.
const (
	version2026    = "2026-07-28"
	version202511  = "2025-11-25"
	version202506  = "2025-06-18"
	metaVersion    = "io.modelcontextprotocol/protocolVersion"
	metaClientCaps = "io.modelcontextprotocol/clientCapabilities"
	versionHeader  = "MCP-Protocol-Version"
	methodHeader   = "Mcp-Method"
	nameHeader     = "Mcp-Name"
)

var versions = []string{version2026, version202511, version202506}

// Methods of both eras; anything else is unknown, removed, or behind a capability not offered.
var (
	methods2026 = []string{"server/discover", "tools/list", "tools/call", "prompts/list", "prompts/get",
		"resources/list", "resources/templates/list", "resources/read", "subscriptions/listen"}
	methods2025 = []string{"initialize", "ping", "tools/list", "tools/call", "prompts/list", "prompts/get",
		"resources/list", "resources/templates/list", "resources/read"}
)

// nameParam is the param that the header Mcp-Name repeats, by method.
var nameParam = map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}

func tooLarge() *refusal {
	return &refusal{status: http.StatusRequestEntityTooLarge, code: codeInvalidRequest,
		message: fmt.Sprintf("Request body too large (limit %d bytes)", bodyLimit), nullID: true}
}

func invalidRequest(id json.RawMessage, message string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: codeInvalidRequest, message: message, id: id}
}

func invalidParams(id json.RawMessage, message string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: codeInvalidParams, message: message, id: id}
}

func headerMismatch(id json.RawMessage, message string) *refusal {
	return &refusal{status: http.StatusBadRequest, code: codeHeaderMismatch, message: message, id: id}
}

// readBody reads at most the limit.
func readBody(r *http.Request) ([]byte, *refusal) {
	body, err := io.ReadAll(io.LimitReader(r.Body, bodyLimit+1))
	if err != nil {
		return nil, invalidRequest(nil, "The body could not be read")
	}
	if len(body) > bodyLimit {
		return nil, tooLarge()
	}
	return body, nil
}

// lingering is how long a refused client may go on sending.
const lingering = 5 * time.Second

// refuse answers and then reads on within bounds, since many clients look for no answer before they have
// sent everything, and would only see a broken connection. Who asked before sending is not made to.
func refuse(w http.ResponseWriter, r *http.Request, refused *refusal) {
	if r.ContentLength == 0 || r.Header.Get("Expect") != "" {
		refused.write(w)
		return
	}
	rc := http.NewResponseController(w)
	_ = rc.EnableFullDuplex() // where it is not to be had, the answer alone must do
	refused.write(w)
	_ = rc.Flush()
	if rc.SetReadDeadline(time.Now().Add(lingering)) == nil {
		_, _ = io.CopyN(io.Discard, r.Body, 2*bodyLimit) // the answer stands whatever comes
		_ = rc.SetReadDeadline(time.Time{})
	}
}

// checkMedia refuses what is not sent as JSON, and clients that would not read the answer.
func checkMedia(r *http.Request) *refusal {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return &refusal{status: http.StatusUnsupportedMediaType, code: codeInvalidRequest, message: "Content-Type must be application/json"}
	}
	if !accepts(r.Header.Values("Accept")) {
		return &refusal{status: http.StatusBadRequest, code: codeInvalidRequest, message: "Accept must list application/json and text/event-stream"}
	}
	return nil
}

func accepts(values []string) bool {
	var asJSON, asStream bool
	for _, part := range strings.Split(strings.Join(values, ","), ",") {
		media, _, _ := strings.Cut(part, ";")
		switch strings.ToLower(strings.TrimSpace(media)) {
		case "*/*":
			return true
		case "application/json", "application/*":
			asJSON = true
		case "text/event-stream", "text/*":
			asStream = true
		}
	}
	return asJSON && asStream
}

// parse checks that the body is JSON (-32700) and one request or notification (-32600).
func (h *handler) parse(body []byte) (*message, *refusal) {
	repeated, err := scan(body)
	if err != nil {
		return nil, &refusal{status: http.StatusBadRequest, code: codeParse, message: "Parse error: " + err.Error()}
	}
	all, ok := members(body)
	if !ok {
		return nil, invalidRequest(nil, "Invalid request: the body must be one JSON-RPC request object")
	}
	m := &message{repeated: repeated}
	if id := all["id"]; readableID(id) {
		m.id = id
	}
	var name string
	if params, ok := members(all["params"]); ok {
		m.params = params
		m.tool, _ = text(params["name"])
		name = m.tool
	}
	method, isText := text(all["method"])
	if isText {
		m.method = method
	}
	if twice := h.givenTwice(m, name); twice != "" {
		return nil, &refusal{status: http.StatusBadRequest, code: codeParse, message: "Parse error: an object has two members of one name: " + clip(twice), id: idUnlessRepeated(m)}
	}
	switch {
	case string(all["jsonrpc"]) != `"2.0"`:
		return nil, invalidRequest(m.id, `Invalid request: jsonrpc must be "2.0"`)
	case !isText:
		return nil, invalidRequest(m.id, "Invalid request: method must be a string")
	case all["id"] != nil && m.id == nil:
		return nil, invalidRequest(nil, "Invalid request: id must be a string or an integer of at most 53 bits")
	case m.id == nil && !m.notification():
		return nil, invalidRequest(nil, "Invalid request: a request needs an id")
	}
	_, sent := all["params"]
	m.badParams = sent && m.params == nil
	return m, nil
}

// givenTwice is where a member occurs twice, except inside the arguments of a call to be approved: there
// it is the tool's to refuse, field by field.
func (h *handler) givenTwice(m *message, tool string) string {
	opaque := "\x00"
	if t, ok := h.tools[tool]; ok && m.method == "tools/call" && t.opaque != "" {
		opaque = "/params/arguments" + t.opaque + "/"
	}
	for _, at := range m.repeated {
		if !strings.HasPrefix(at, opaque) {
			return at
		}
	}
	return ""
}

func idUnlessRepeated(m *message) json.RawMessage {
	if slices.Contains(m.repeated, "/id") {
		return nil
	}
	return m.id
}

// checkVersion refuses versions not served (-32022) and calls without a version (-32020); only the
// handshake of the 2025 clients comes without.
func checkVersion(r *http.Request, m *message) (version string, refused *refusal) {
	values := r.Header.Values(versionHeader)
	switch {
	case len(values) == 0 && m.method == "initialize":
		return "", nil
	case len(values) == 0:
		return "", headerMismatch(m.id, "The header "+versionHeader+" is missing")
	case len(values) > 1:
		return "", headerMismatch(m.id, "The header "+versionHeader+" must occur once")
	}
	if !slices.Contains(versions, values[0]) {
		return "", &refusal{status: http.StatusBadRequest, code: codeUnsupportedVersion, id: m.id,
			message: "Protocol version " + clip(values[0]) + " is not supported",
			data: struct {
				Supported []string `json:"supported"`
				Requested string   `json:"requested"`
			}{versions, values[0]}}
	}
	return values[0], nil
}

// checkHeaders compares the headers with the body; before 2026 only the version may stand in both.
func checkHeaders(r *http.Request, m *message, version string) *refusal {
	if meta, ok := members(m.params["_meta"]); ok {
		if v, ok := text(meta[metaVersion]); ok && v != version {
			return headerMismatch(m.id, fmt.Sprintf("The header %s is %s, the body says %s", versionHeader, version, clip(v)))
		}
	}
	if version != version2026 {
		return nil
	}
	method := r.Header.Values(methodHeader)
	if len(method) != 1 {
		return headerMismatch(m.id, "The header "+methodHeader+" is missing or occurs twice")
	}
	if method[0] != m.method {
		return headerMismatch(m.id, fmt.Sprintf("The header %s is %s, the body says %s", methodHeader, clip(method[0]), clip(m.method)))
	}
	param, named := nameParam[m.method]
	if !named {
		return nil
	}
	inBody, ok := text(m.params[param])
	if !ok {
		return nil // a missing name is a matter of the params
	}
	sent := r.Header.Values(nameHeader)
	if len(sent) != 1 {
		return headerMismatch(m.id, "The header "+nameHeader+" is missing or occurs twice")
	}
	inHeader, ok := decodeHeader(sent[0])
	if !ok {
		return headerMismatch(m.id, "The header "+nameHeader+" is not valid base64")
	}
	if inHeader != inBody {
		return headerMismatch(m.id, fmt.Sprintf("The header %s is %s, the body says %s", nameHeader, clip(inHeader), clip(inBody)))
	}
	return nil
}

// decodeHeader undoes the encoding of header values that are not plain ASCII.
func decodeHeader(value string) (string, bool) {
	inner, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value, true
	}
	if inner, ok = strings.CutSuffix(inner, "?="); !ok {
		return value, true
	}
	decoded, err := base64.StdEncoding.DecodeString(inner)
	return string(decoded), err == nil
}

// checkMethod refuses unknown methods and those of another era.
func checkMethod(m *message, version string) *refusal {
	known := methods2025
	if version == version2026 {
		known = methods2026
	}
	if slices.Contains(known, m.method) {
		return nil
	}
	return &refusal{status: http.StatusNotFound, code: codeMethodNotFound, id: m.id, message: "Method not found: " + clip(m.method)}
}

// checkParams refuses params that no tool should see: a missing name, an unknown tool, prompt or
// argument, a field of the protocol of the wrong kind.
func (h *handler) checkParams(m *message, version string) *refusal {
	if m.badParams {
		return invalidParams(m.id, "Invalid params: params must be an object")
	}
	if version == version2026 {
		meta, _ := members(m.params["_meta"])
		if _, ok := text(meta[metaVersion]); !ok {
			return invalidParams(m.id, "Invalid params: _meta must name the protocol version in "+metaVersion)
		}
		if _, ok := members(meta[metaClientCaps]); !ok {
			return invalidParams(m.id, "Invalid params: _meta must hold an object in "+metaClientCaps)
		}
	}
	if h.servesToo(m) {
		return nil
	}
	switch m.method {
	case "initialize":
		if _, ok := text(m.params["protocolVersion"]); !ok {
			return invalidParams(m.id, "Invalid params: protocolVersion must be a string")
		}
	case "tools/list", "prompts/list", "resources/list", "resources/templates/list":
		// Every list fits one page, so no cursor was ever handed out.
		if cursor, sent := m.params["cursor"]; sent && string(cursor) != "null" && string(cursor) != `""` {
			return invalidParams(m.id, "Invalid params: unknown cursor")
		}
	case "tools/call":
		return h.checkCall(m)
	case "prompts/get":
		name, ok := text(m.params["name"])
		if !ok {
			return invalidParams(m.id, "Invalid params: name must be a string")
		}
		return invalidParams(m.id, "Invalid params: unknown prompt "+clip(name))
	case "resources/read":
		uri, ok := text(m.params["uri"])
		if !ok {
			return invalidParams(m.id, "Invalid params: uri must be a string")
		}
		refused := invalidParams(m.id, "Resource not found: "+clip(uri))
		if version != version2026 {
			refused.code = -32002 // what clients of 2025 know it by
		}
		return refused
	}
	return nil
}

func (h *handler) servesToo(m *message) bool { return h.alsoServes != nil && h.alsoServes(m) }

func (h *handler) checkCall(m *message) *refusal {
	if _, ok := text(m.params["name"]); !ok {
		return invalidParams(m.id, "Invalid params: name must be a string")
	}
	t, ok := h.tools[m.tool]
	if !ok {
		return invalidParams(m.id, "Invalid params: unknown tool "+clip(m.tool))
	}
	m.args = json.RawMessage("{}")
	if raw, sent := m.params["arguments"]; sent && string(raw) != "null" {
		m.args = raw
	}
	given, ok := members(m.args)
	if !ok {
		return invalidParams(m.id, "Invalid params: arguments must be an object")
	}
	var unknown []string
	for name := range given {
		if !t.takes[name] {
			unknown = append(unknown, clip(name))
		}
	}
	if len(unknown) > 0 {
		slices.Sort(unknown)
		return invalidParams(m.id, fmt.Sprintf("Invalid params: %s has no argument %s", t.name, strings.Join(unknown, ", ")))
	}
	return checkAnswers(m)
}

// checkAnswers checks the form of a resent call's answers, which the SDK would misread.
func checkAnswers(m *message) *refusal {
	if raw, sent := m.params["requestState"]; sent {
		if _, ok := text(raw); !ok {
			return invalidParams(m.id, "Invalid params: requestState must be a string")
		}
	}
	raw, sent := m.params["inputResponses"]
	if !sent {
		return nil
	}
	answers, ok := members(raw)
	if !ok {
		return invalidParams(m.id, "Invalid params: inputResponses must be an object")
	}
	for key, answer := range answers {
		fields, ok := members(answer)
		if _, isText := text(fields["action"]); !ok || !isText {
			return invalidParams(m.id, "Invalid params: inputResponses/"+clip(key)+" must be an object with an action")
		}
	}
	return nil
}

// clip shortens foreign text for a message.
func clip(s string) string {
	const most = 100
	if r := []rune(s); len(r) > most {
		return fmt.Sprintf("%q…", string(r[:most]))
	}
	return fmt.Sprintf("%q", s)
}
