package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/auth"
	"github.com/apdesk/apdesk/web/wire"
)

// object is a JSON object of the document.
type object = map[string]any

// openAPI writes the OpenAPI 3.1 document of the operations.
func (a *API) openAPI() ([]byte, error) {
	paths := object{}
	for _, e := range a.endpoints {
		item, ok := paths[e.path].(object)
		if !ok {
			item = object{}
			paths[e.path] = item
		}
		item[strings.ToLower(e.method)] = operation(e)
	}
	version := a.cfg.Version
	if version == "" {
		version = "dev"
	}
	return json.MarshalIndent(object{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info": object{
			"title": "apdesk", "version": version,
			"description": "The human side of a finance agent: hand over what needs a person, ask for approval of a write, and read what to do next. " +
				"Every error carries code, message, retryable, next_action and details under error. " +
				"A write may carry an idempotency key, as the header Idempotency-Key or the member idempotency_key: the same key and body give the first answer again.",
			"license": object{"name": "Apache-2.0", "identifier": "Apache-2.0"},
		},
		"servers":    []object{{"url": a.cfg.PublicURL + Prefix}},
		"security":   []object{{"token": []string{}}},
		"paths":      paths,
		"components": object{"securitySchemes": object{"token": object{"type": "http", "scheme": "bearer", "description": "personal token, apd_…"}}, "schemas": object{"Error": errorSchema()}},
	}, "", "  ")
}

func operation(e endpoint) object {
	op := object{"operationId": e.name, "summary": e.summary, "responses": responses(e)}
	var about []string
	if e.about != "" {
		about = append(about, e.about)
	}
	if len(e.scopes) > 0 {
		about = append(about, "Scope: "+strings.Join(quoted(e.scopes), " and ")+".")
	}
	if len(e.roles) > 0 {
		about = append(about, "Role: "+strings.Join(quoted(e.roles), " or ")+".")
	}
	if len(about) > 0 {
		op["description"] = strings.Join(about, " ")
	}
	if e.open {
		op["security"] = []object{}
	}
	if list := parametersOf(e); len(list) > 0 {
		op["parameters"] = list
	}
	if e.upload {
		file := object{"schema": object{"type": "string", "format": "binary"}}
		content := object{"multipart/form-data": object{"schema": object{"type": "object", "required": []string{"file"}, "properties": object{"file": object{"type": "string", "format": "binary"}}}}}
		for _, kind := range models.FileKinds() {
			content[kind] = file
		}
		op["requestBody"] = object{"required": true, "content": content}
	}
	if len(e.bodies) > 0 {
		var schema any = e.bodies[0].Schema()
		if len(e.bodies) > 1 {
			var each []*jsonschema.Schema
			for _, b := range e.bodies {
				each = append(each, b.Schema())
			}
			schema = object{"oneOf": each}
		}
		op["requestBody"] = object{"required": !e.empty, "content": object{"application/json": object{"schema": schema}}}
	}
	return op
}

func quoted[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = "`" + string(v) + "`"
	}
	return out
}

func parametersOf(e endpoint) []object {
	var list []object
	if name := e.idName(); name != "" {
		list = append(list, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	if e.open {
		return list
	}
	list = append(list, object{"name": auth.WorkspaceHeader, "in": "header", "schema": object{"type": "string"},
		"description": "workspace to work in, when the body names none"})
	if len(e.bodies) > 0 || e.upload {
		list = append(list, object{"name": "Idempotency-Key", "in": "header", "schema": object{"type": "string", "maxLength": models.MaxIdempotencyKey},
			"description": "your own key for this call"})
	}
	query := e.query
	if query == nil {
		query = reflect.TypeFor[workspaceQuery]()
	}
	schema := wire.SchemaOf(query)
	for _, name := range schema.PropertyOrder {
		p := schema.Properties[name]
		about := p.Description
		p.Description = ""
		list = append(list, object{"name": name, "in": "query", "schema": p, "description": about})
	}
	return list
}

func responses(e endpoint) object {
	all := object{}
	for _, status := range e.status {
		about := "As asked."
		switch {
		case status == http.StatusCreated:
			about = "Made anew."
		case slices.Contains(e.status, http.StatusCreated):
			about = "Joined what was there, or answered from it."
		}
		content := object{"application/json": object{"schema": answerSchema(e.answer)}}
		if e.binary {
			content = object{}
			for _, kind := range models.FileKinds() {
				content[kind] = object{"schema": object{"type": "string", "format": "binary"}}
			}
		}
		all[strconv.Itoa(status)] = object{"description": about, "content": content}
	}
	codes := []models.Code{models.BadRequest, models.Internal, models.Unavailable}
	if !e.open {
		codes = append(codes, models.ValidationError, models.Unauthenticated, models.WorkspaceAccessDenied, models.RateLimited)
		if !e.noWorkspace {
			codes = append(codes, models.WorkspaceRequired, models.MembershipInactive, models.InsufficientScope, models.InsufficientPermission)
		}
	}
	if e.action != "" {
		codes = append(codes, models.SecurityBlocked)
	}
	byStatus := map[int][]string{}
	for _, code := range append(codes, e.fails...) {
		entry, _ := models.Lookup(code)
		byStatus[entry.Status] = append(byStatus[entry.Status], string(code))
	}
	if e.upload {
		byStatus[http.StatusRequestEntityTooLarge] = []string{string(models.BadRequest)}
	}
	if len(e.bodies) > 0 {
		byStatus[http.StatusRequestEntityTooLarge] = []string{string(models.BadRequest)}
		byStatus[http.StatusUnsupportedMediaType] = []string{string(models.BadRequest)}
	}
	for status, names := range byStatus {
		slices.Sort(names)
		all[strconv.Itoa(status)] = object{"description": strings.Join(names, ", "), "content": object{"application/json": object{"schema": object{"$ref": "#/components/schemas/Error"}}}}
	}
	return all
}

func errorSchema() object {
	codes := []models.Code{}
	for _, e := range models.Catalogue() {
		codes = append(codes, e.Code)
	}
	text := object{"type": "string"}
	return object{"type": "object", "required": []string{"error"}, "properties": object{"error": object{
		"type": "object", "required": []string{"code", "message", "retryable", "next_action", "details"},
		"properties": object{
			"code":        object{"type": "string", "enum": codes, "description": "codes are added, never renamed or removed"},
			"message":     text,
			"retryable":   object{"type": "boolean"},
			"next_action": object{"type": "string", "enum": []models.NextAction{models.FixInputAndRetry, models.HoldAndRecheck, models.RouteToPerson, models.RequestApproval, models.StopAndEscalate}},
			"details":     object{"type": "object", "description": "identifiers the next step needs; VALIDATION_ERROR has issues, a list of path (JSON Pointer) and message"},
		}}}}
}

var answerTypes = func() map[reflect.Type]*jsonschema.Schema {
	enum := func(values ...any) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Enum: values} }
	all := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[models.Time]():            {Types: []string{"string", "null"}, Format: "date-time"},
		reflect.TypeFor[models.Date]():            {Types: []string{"string", "null"}, Format: "date"},
		reflect.TypeFor[json.RawMessage]():        {},
		reflect.TypeFor[models.InstructionKind](): enum(models.InstructResume, models.InstructRetryWith, models.InstructWait, models.InstructStop),
		reflect.TypeFor[models.OutcomeKind]():     enum(models.KindError, models.KindInformation),
		reflect.TypeFor[models.HoldStatus]():      enum(models.HoldWaiting, models.HoldReleased, models.HoldEscalated, models.HoldCancelled),
	}
	for _, s := range models.CaseStatuses() {
		add(all, s)
	}
	for _, s := range models.RequestStatuses() {
		add(all, s)
	}
	for _, s := range models.ConfirmationStatuses() {
		add(all, s)
	}
	return all
}()

// add puts one more value into the enumeration of its type.
func add[T ~string](all map[reflect.Type]*jsonschema.Schema, value T) {
	t := reflect.TypeFor[T]()
	if all[t] == nil {
		all[t] = &jsonschema.Schema{Type: "string"}
	}
	all[t].Enum = append(all[t].Enum, value)
}

// answerSchema describes an answer. Unlike a request it may hold null, and may gain fields later.
func answerSchema(t reflect.Type) *jsonschema.Schema {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: answerTypes})
	if err != nil {
		panic(fmt.Sprintf("api: schema of %s: %v", t, err))
	}
	loosen(s)
	return s
}

func loosen(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if s.Properties != nil {
		s.AdditionalProperties = nil
	}
	for _, p := range s.Properties {
		loosen(p)
	}
	loosen(s.Items)
}
