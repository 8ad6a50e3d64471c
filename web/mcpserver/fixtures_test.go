package mcpserver

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The tools, prompts and resources that the public conformance suite asks a server for, by the names and
// with the words it looks for. They stand behind the endpoint's own checks; only tests have them.

// fixtures is an endpoint that serves them, its answers streamed.
func fixtures(cfg Config) http.Handler {
	h := newHandler(cfg)
	f := &fixtureServer{
		handler: h,
		server: mcp.NewServer(&mcp.Implementation{Name: "apdesk-fixtures", Version: "1.0.0"}, &mcp.ServerOptions{
			Capabilities: &mcp.ServerCapabilities{
				Tools:       &mcp.ToolCapabilities{ListChanged: true},
				Prompts:     &mcp.PromptCapabilities{ListChanged: true},
				Resources:   &mcp.ResourceCapabilities{},
				Completions: &mcp.CompletionCapabilities{},
			},
			SupportedProtocolVersions: versions,
			SetCacheable:              cacheable,
			CompletionHandler: func(context.Context, *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
				return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: []string{"paris", "park", "party"}, Total: 3}}, nil
			},
		}),
	}
	h.tools = map[string]*tool{}
	h.alsoServes = f.has
	f.addContent()
	f.addSchemas()
	f.addStreams()
	f.addQuestions()
	f.addPrompts()
	f.addResources()
	f.server.AddReceivingMiddleware(h.survive)
	h.sdk = h.speak(f.server, true)
	return h.mux
}

type fixtureServer struct {
	handler *handler
	server  *mcp.Server
	prompts []string
}

const (
	staticText   = "test://static-text"
	staticBinary = "test://static-binary"
	templated    = "test://template/"
)

// has says what the server offers that the desk does not: completion, prompts, resources, and tools that
// ask for more than a person's answer.
func (f *fixtureServer) has(m *message) bool {
	switch m.method {
	case "completion/complete":
		return true
	case "prompts/get":
		name, _ := text(m.params["name"])
		return slices.Contains(f.prompts, name)
	case "resources/read":
		uri, _ := text(m.params["uri"])
		return uri == staticText || uri == staticBinary || strings.HasPrefix(uri, templated)
	case "tools/call":
		_, known := f.handler.tools[m.tool]
		_, answered := m.params["inputResponses"]
		return known && answered && !strings.HasSuffix(m.tool, "_elicitation")
	}
	return false
}

type fixture func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error)

const noArguments = `{"type":"object","properties":{}}`

func (f *fixtureServer) add(name, description, schema string, run fixture) {
	var in struct {
		Properties map[string]any `json:"properties"`
	}
	if err := json.Unmarshal([]byte(schema), &in); err != nil {
		panic(err)
	}
	t := &tool{name: name, takes: map[string]bool{}}
	for property := range in.Properties {
		t.takes[property] = true
	}
	f.handler.tools[name] = t
	f.server.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)}, mcp.ToolHandler(run))
}

func says(content ...mcp.Content) *mcp.CallToolResult { return &mcp.CallToolResult{Content: content} }

func saysText(format string, values ...any) *mcp.CallToolResult {
	return says(&mcp.TextContent{Text: fmt.Sprintf(format, values...)})
}

func always(res *mcp.CallToolResult) fixture {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return res, nil }
}

func decoded(b64 string) []byte {
	raw, err := base64.StdEncoding.DecodeString(b64)
	if err != nil {
		panic(err)
	}
	return raw
}

// pixel is a PNG of one pixel; silence is a WAV without samples.
var (
	pixel   = decoded("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=")
	silence = decoded("UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=")
)

func (f *fixtureServer) addContent() {
	embedded := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://embedded", MIMEType: "text/plain", Text: "Text inside a resource."}}
	image := &mcp.ImageContent{Data: pixel, MIMEType: "image/png"}
	f.add("test_simple_text", "Answers one text", noArguments, always(saysText("This is a simple text response for testing.")))
	f.add("test_image_content", "Answers an image", noArguments, always(says(image)))
	f.add("test_audio_content", "Answers a sound", noArguments, always(says(&mcp.AudioContent{Data: silence, MIMEType: "audio/wav"})))
	f.add("test_embedded_resource", "Answers a resource", noArguments, always(says(embedded)))
	f.add("test_multiple_content_types", "Answers a text, an image and a resource", noArguments, always(says(&mcp.TextContent{Text: "Three kinds:"}, image, embedded)))
	failure := saysText("This tool intentionally returns an error for testing")
	failure.IsError = true
	f.add("test_error_handling", "Fails, as tools do", noArguments, always(failure))
}

func (f *fixtureServer) addSchemas() {
	f.add("json_schema_2020_12_tool", "Has a schema of many keywords", `{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
		"$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
		"properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]},
			"phone": {"type": "string"}, "email": {"type": "string"}},
		"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
		"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
		"then": {"required": ["phone"]}, "else": {"required": ["email"]},
		"additionalProperties": false}`, always(saysText("called")))
	f.add("test_x_mcp_header", "Has an argument that a header repeats", `{"type": "object",
		"properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "level": {"type": "integer"}}}`, always(saysText("called")))
}

func (f *fixtureServer) addStreams() {
	f.add("test_tool_with_progress", "Tells how far it is", noArguments, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		token := req.Params.GetProgressToken()
		for _, done := range []float64{0, 50, 100} {
			if token == nil {
				break
			}
			note := &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100, Message: fmt.Sprintf("%.0f of 100", done)}
			if err := req.Session.NotifyProgress(ctx, note); err != nil {
				return nil, err
			}
		}
		return saysText("%v", token), nil
	})
	f.add("test_streaming_elicitation", "Streams nothing but notifications", noArguments, always(saysText("done")))
	f.add("test_logging_tool", "Logs to clients that asked for it", noArguments, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		//lint:ignore SA1019 the suite looks whether logging stays silent unasked
		err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "logged"})
		return saysText("logged"), err
	})
	f.add("test_missing_capability", "Cannot do without sampling", noArguments, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if caps := req.ClientCapabilities(); caps != nil && caps.Sampling != nil {
			return saysText("done"), nil
		}
		return nil, &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: "needs sampling", Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`)}
	})
	f.add("test_trigger_tool_change", "Changes the list of tools", noArguments, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f.server.AddTool(&mcp.Tool{Name: "test_passing", Description: "Comes by", InputSchema: json.RawMessage(noArguments)}, mcp.ToolHandler(always(saysText("hello"))))
		return saysText("changed"), nil
	})
	f.add("test_trigger_prompt_change", "Changes the list of prompts", noArguments, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		f.server.AddPrompt(&mcp.Prompt{Name: "test_passing", Description: "Comes by"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{}}, nil
		})
		return saysText("changed"), nil
	})
}

// question asks for one field of a type.
func question(message, field, kind string) *mcp.ElicitParams {
	return &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(
		fmt.Sprintf(`{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, field, kind, field))}
}

func asks(state string, requests mcp.InputRequestMap) *mcp.CallToolResult {
	return &mcp.CallToolResult{InputRequests: requests, RequestState: state}
}

// answered is a field of an accepted answer; ok is false when it is missing or of another type.
func answered[T any](responses mcp.InputResponseMap, key, field string) (value T, ok bool) {
	if res, isAnswer := responses[key].(*mcp.ElicitResult); isAnswer && res != nil && res.Action == "accept" {
		value, ok = res.Content[field].(T)
	}
	return value, ok
}

func sampled(responses mcp.InputResponseMap, key string) (string, bool) {
	res, ok := responses[key].(*mcp.CreateMessageWithToolsResult)
	if !ok || len(res.Content) == 0 {
		return "", false
	}
	block, ok := res.Content[0].(*mcp.TextContent)
	if !ok {
		return "", false
	}
	return block.Text, true
}

var sampling = &mcp.CreateMessageParams{
	MaxTokens: 100,
	Messages:  []*mcp.SamplingMessage{{Role: "user", Content: &mcp.TextContent{Text: "What is the capital of France?"}}},
}

// sealed is a state with a proof that it came from here.
func sealed(state string) string {
	mac := hmac.New(sha256.New, []byte("a key of the fixtures"))
	mac.Write([]byte(state))
	return url.QueryEscape(state) + "." + hex.EncodeToString(mac.Sum(nil))
}

func opened(state string) (string, error) {
	escaped, _, _ := strings.Cut(state, ".")
	inner, err := url.QueryUnescape(escaped)
	if err != nil || !hmac.Equal([]byte(sealed(inner)), []byte(state)) {
		return "", &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState is not from here"}
	}
	return inner, nil
}

func (f *fixtureServer) addQuestions() {
	const prefix = "test_input_required_result_"
	name := question("What is your name?", "name", "string")
	f.add(prefix+"elicitation", "Asks for a name", noArguments, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if who, ok := answered[string](req.Params.InputResponses, "user_name", "name"); ok {
			return saysText("Hello, %s!", who), nil
		}
		return asks("", mcp.InputRequestMap{"user_name": name}), nil
	})
	f.add(prefix+"sampling", "Asks a model", noArguments, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if said, ok := sampled(req.Params.InputResponses, "capital_question"); ok {
			return saysText("The model says: %s", said), nil
		}
		return asks("", mcp.InputRequestMap{"capital_question": sampling}), nil
	})
	f.add(prefix+"list_roots", "Asks for the roots", noArguments, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if roots, ok := req.Params.InputResponses["client_roots"].(*mcp.ListRootsResult); ok {
			return saysText("%d roots", len(roots.Roots)), nil
		}
		return asks("", mcp.InputRequestMap{"client_roots": &mcp.ListRootsParams{}}), nil
	})
	confirmed := func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		ask := asks(sealed("asked"), mcp.InputRequestMap{"confirm": question("Go on?", "ok", "boolean")})
		if req.Params.RequestState == "" {
			return ask, nil
		}
		if _, err := opened(req.Params.RequestState); err != nil {
			return nil, err
		}
		if _, ok := answered[bool](req.Params.InputResponses, "confirm", "ok"); !ok {
			return ask, nil
		}
		return saysText("state-ok"), nil
	}
	f.add(prefix+"request_state", "Asks and remembers", noArguments, confirmed)
	f.add(prefix+"tampered_state", "Asks and remembers", noArguments, confirmed)
	f.add(prefix+"multiple_inputs", "Asks three things at once", noArguments, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		who, named := answered[string](req.Params.InputResponses, "user_name", "name")
		greeting, greeted := sampled(req.Params.InputResponses, "greeting")
		roots, rooted := req.Params.InputResponses["client_roots"].(*mcp.ListRootsResult)
		if named && greeted && rooted {
			return saysText("%s %s, %d roots", greeting, who, len(roots.Roots)), nil
		}
		return asks(sealed("three"), mcp.InputRequestMap{"user_name": name, "greeting": sampling, "client_roots": &mcp.ListRootsParams{}}), nil
	})
	f.add(prefix+"multi_round", "Asks twice", noArguments, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		first := asks(sealed("first"), mcp.InputRequestMap{"step1": name})
		if req.Params.RequestState == "" {
			return first, nil
		}
		state, err := opened(req.Params.RequestState)
		if err != nil {
			return nil, err
		}
		who, second := strings.CutPrefix(state, "second:")
		if !second {
			var ok bool
			if who, ok = answered[string](req.Params.InputResponses, "step1", "name"); !ok {
				return first, nil
			}
		}
		if color, ok := answered[string](req.Params.InputResponses, "step2", "color"); ok && second {
			return saysText("%s likes %s", who, color), nil
		}
		return asks(sealed("second:"+who), mcp.InputRequestMap{"step2": question("Your favourite colour?", "color", "string")}), nil
	})
	f.add(prefix+"capabilities", "Asks only what the client can answer", noArguments, func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if len(req.Params.InputResponses) > 0 {
			return saysText("answered"), nil
		}
		requests, caps := mcp.InputRequestMap{}, req.ClientCapabilities()
		if caps != nil && caps.Elicitation != nil {
			requests["user_name"] = name
		}
		if caps != nil && caps.Sampling != nil {
			requests["greeting"] = sampling
		}
		if caps != nil && caps.RootsV2 != nil {
			requests["client_roots"] = &mcp.ListRootsParams{}
		}
		if len(requests) == 0 {
			return saysText("nothing can be asked"), nil
		}
		return asks("", requests), nil
	})
}

func (f *fixtureServer) addPrompt(name, description string, arguments []string, run func(*mcp.GetPromptRequest) *mcp.GetPromptResult) {
	prompt := &mcp.Prompt{Name: name, Description: description}
	for _, argument := range arguments {
		prompt.Arguments = append(prompt.Arguments, &mcp.PromptArgument{Name: argument, Description: "An argument", Required: true})
	}
	f.prompts = append(f.prompts, name)
	f.server.AddPrompt(prompt, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) { return run(req), nil })
}

func prompts(content ...mcp.Content) *mcp.GetPromptResult {
	res := &mcp.GetPromptResult{}
	for _, one := range content {
		res.Messages = append(res.Messages, &mcp.PromptMessage{Role: "user", Content: one})
	}
	return res
}

func (f *fixtureServer) addPrompts() {
	f.addPrompt("test_simple_prompt", "One message", nil, func(*mcp.GetPromptRequest) *mcp.GetPromptResult {
		return prompts(&mcp.TextContent{Text: "This is a simple prompt for testing."})
	})
	f.addPrompt("test_prompt_with_arguments", "Repeats its arguments", []string{"arg1", "arg2"}, func(req *mcp.GetPromptRequest) *mcp.GetPromptResult {
		return prompts(&mcp.TextContent{Text: fmt.Sprintf("arg1='%s', arg2='%s'", req.Params.Arguments["arg1"], req.Params.Arguments["arg2"])})
	})
	f.addPrompt("test_prompt_with_embedded_resource", "Holds a resource", []string{"resourceUri"}, func(req *mcp.GetPromptRequest) *mcp.GetPromptResult {
		return prompts(&mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: req.Params.Arguments["resourceUri"], MIMEType: "text/plain", Text: "Text inside a resource."}},
			&mcp.TextContent{Text: "Read the resource above."})
	})
	f.addPrompt("test_prompt_with_image", "Holds an image", nil, func(*mcp.GetPromptRequest) *mcp.GetPromptResult {
		return prompts(&mcp.ImageContent{Data: pixel, MIMEType: "image/png"}, &mcp.TextContent{Text: "Look at the image above."})
	})
	f.addPrompt("test_input_required_result_prompt", "Asks for its context", nil, func(req *mcp.GetPromptRequest) *mcp.GetPromptResult {
		if said, ok := answered[string](req.Params.InputResponses, "user_context", "context"); ok {
			return prompts(&mcp.TextContent{Text: "Context: " + said})
		}
		return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{"user_context": question("In which context?", "context", "string")}}
	})
}

func (f *fixtureServer) addResources() {
	read := func(contents mcp.ResourceContents) mcp.ResourceHandler {
		return func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			one := contents
			one.URI = req.Params.URI
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&one}}, nil
		}
	}
	f.server.AddResource(&mcp.Resource{URI: staticText, Name: "static-text", MIMEType: "text/plain"},
		read(mcp.ResourceContents{MIMEType: "text/plain", Text: "This is the content of the static text resource."}))
	f.server.AddResource(&mcp.Resource{URI: staticBinary, Name: "static-binary", MIMEType: "image/png"},
		read(mcp.ResourceContents{MIMEType: "image/png", Blob: pixel}))
	f.server.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: templated + "{id}/data", Name: "template", MIMEType: "application/json"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, templated), "/data")
			body, err := json.Marshal(map[string]string{"id": id, "data": "Data for ID: " + id})
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: req.Params.URI, MIMEType: "application/json", Text: string(body)}}}, err
		})
}
