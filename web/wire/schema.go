package wire

import (
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/apdesk/apdesk/models"
)

// Spec is one kind of request: the fields it has and the schema it is published with.
type Spec struct {
	names  []string
	schema *jsonschema.Schema
}

// Schema is the request's JSON Schema (2020-12). The caller may change it.
func (s *Spec) Schema() *jsonschema.Schema { return s.schema.CloneSchemas() }

// The requests, by what they do. Those of MCP tools carry the ids that REST has in its paths.
var (
	HandoverBody        = specOf[Handover]()
	AnswerBody          = specOf[Answer]()
	HandoverArguments   = specOf[HandoverOrAnswer]()
	ApprovalRequestBody = specOf[ApprovalRequest]()
	RedeemBody          = specOf[Redeem]()
	RedeemArguments     = specOf[RedeemApproval]()
	ReportBody          = specOf[Report]()
	ReportArguments     = specOf[ReportWrite]()
	HoldBody            = specOf[Hold]()
	LeaseBody           = specOf[Lease]()
	RecheckBody         = specOf[Recheck]()
	RecheckArguments    = specOf[ReportRecheck]()
	GetCaseArguments    = specOf[GetCase]()
	GetRequestArguments = specOf[GetApproval]()
	NoArguments         = specOf[Nothing]()
)

func specOf[T any]() *Spec {
	s := &Spec{schema: SchemaOf(reflect.TypeFor[T]())}
	for _, f := range fieldsOf(reflect.TypeFor[T]()) {
		s.names = append(s.names, f.name)
	}
	return s
}

// SchemaOf makes the JSON Schema of a request or response struct. It panics on a type that JSON
// cannot carry, which only a programmer can cause.
func SchemaOf(t reflect.Type) *jsonschema.Schema {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: typeSchemas})
	if err != nil {
		panic("wire: schema of " + t.String() + ": " + err.Error())
	}
	tighten(t, s, typeSchemas)
	return s
}

var typeSchemas = leafSchemas()

func leafSchemas() map[reflect.Type]*jsonschema.Schema {
	object := func() *jsonschema.Schema { return &jsonschema.Schema{Type: "object"} }
	all := map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[Amount]():    {Types: []string{"string", "number"}, Pattern: `^-?[0-9]+(\.[0-9]+)?$`},
		reflect.TypeFor[Currency]():  {Type: "string", Pattern: "^[A-Z]{3}$"},
		reflect.TypeFor[Date]():      {Type: "string", Format: "date"},
		reflect.TypeFor[Moment]():    {Type: "string", Format: "date-time"},
		reflect.TypeFor[HTTPS]():     {Type: "string", Format: "uri", Pattern: "^https://"},
		reflect.TypeFor[Object]():    object(),
		reflect.TypeFor[Arguments](): object(),
		reflect.TypeFor[Line]():      object(),
		reflect.TypeFor[Any]():       {},
		// What answers carry.
		reflect.TypeFor[models.Time](): {Type: "string", Format: "date-time"},
		reflect.TypeFor[models.Date](): {Type: "string", Format: "date"},
	}
	for _, v := range []oneOf{Reason(""), OutcomeCode(""), CheckResult(""), ReportStatus(""), QueueName(""), CaseState(""), HoldState("")} {
		s := &jsonschema.Schema{Type: "string"}
		for _, value := range v.values() {
			s.Enum = append(s.Enum, value)
		}
		all[reflect.TypeOf(v)] = s
	}
	evidence := &jsonschema.Schema{}
	for _, kind := range evidenceKinds {
		s, err := jsonschema.ForType(evidenceTypes[kind], &jsonschema.ForOptions{TypeSchemas: all})
		if err != nil {
			panic("wire: schema of evidence: " + err.Error())
		}
		tighten(evidenceTypes[kind], s, all)
		s.Properties["kind"].Const = jsonschema.Ptr[any](kind)
		evidence.OneOf = append(evidence.OneOf, s)
	}
	all[reflect.TypeFor[Evidence]()] = evidence
	return all
}

// tighten adds what the reader also insists on: no null, and the limits of the wire tags.
func tighten(t reflect.Type, s *jsonschema.Schema, leaves map[reflect.Type]*jsonschema.Schema) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	if _, leaf := leaves[t]; leaf {
		return
	}
	switch t.Kind() {
	case reflect.Slice:
		if s.Items != nil {
			tighten(t.Elem(), s.Items, leaves)
		}
	case reflect.Struct:
		for _, f := range fieldsOf(t) {
			p := s.Properties[f.name]
			if p == nil {
				continue
			}
			tighten(t.FieldByIndex(f.index).Type, p, leaves)
			if p.Type == "string" && len(p.Enum) == 0 {
				if f.max != nil {
					p.MaxLength = jsonschema.Ptr(int(*f.max))
				}
				if f.required && p.Format == "" && p.Pattern == "" {
					p.MinLength = jsonschema.Ptr(1)
				}
			}
			if p.Type == "integer" {
				if f.min != nil {
					p.Minimum = jsonschema.Ptr(float64(*f.min))
				}
				if f.max != nil {
					p.Maximum = jsonschema.Ptr(float64(*f.max))
				}
			}
		}
	}
}
