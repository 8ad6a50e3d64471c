package confirm

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
)

// asking wraps the schema of one field, called f, into input requests.
func askingFor(field, required string) json.RawMessage {
	return json.RawMessage(`{"ok":{"method":"elicitation/create","params":{"message":"Go on?","requestedSchema":{"type":"object","properties":{"f":` + field + `},"required":[` + required + `]}}}}`)
}

func fieldOf(t *testing.T, schema, required string) Field {
	t.Helper()
	questions, issues := ReadQuestions(askingFor(schema, required), "/input_requests")
	if len(issues) > 0 {
		t.Fatalf("%s: %+v", schema, issues)
	}
	return questions[0].Form.Fields[0]
}

func number(n int) *int { return &n }

func TestEveryPermittedKindOfFieldIsRead(t *testing.T) {
	t.Parallel()
	eu := []Option{{"eu", "Europe"}, {"us", "United States"}}
	plainOptions := []Option{{"eu", "eu"}, {"us", "us"}}
	for _, c := range []struct {
		schema string
		want   Field
	}{
		{`{"type":"string"}`, Field{Kind: KindText}},
		{`{"type":"string","title":"Why","description":"In your words","minLength":2,"maxLength":5e1,"default":"none"}`,
			Field{Kind: KindText, Title: "Why", Description: "In your words", MinLength: number(2), MaxLength: number(50), Default: []string{"none"}}},
		{`{"type":"string","format":"email","default":"a@example.com"}`, Field{Kind: KindText, Format: FormatEmail, Default: []string{"a@example.com"}}},
		{`{"type":"string","format":"uri"}`, Field{Kind: KindText, Format: FormatURI}},
		{`{"type":"string","format":"date","default":"2026-02-28"}`, Field{Kind: KindText, Format: FormatDate, Default: []string{"2026-02-28"}}},
		{`{"type":"string","format":"date-time","default":"2026-10-05T09:12:44Z"}`, Field{Kind: KindText, Format: FormatDateTime, Default: []string{"2026-10-05T09:12:44Z"}}},
		{`{"type":"number","minimum":-1.5,"maximum":1e3,"default":2.50}`, Field{Kind: KindNumber, Minimum: "-1.5", Maximum: "1000", Default: []string{"2.5"}}},
		{`{"type":"integer","minimum":0,"default":7}`, Field{Kind: KindInteger, Minimum: "0", Default: []string{"7"}}},
		{`{"type":"boolean","default":false}`, Field{Kind: KindBoolean, Default: []string{"false"}}},
		{`{"type":"string","enum":["eu","us"],"default":"us"}`, Field{Kind: KindChoice, Options: plainOptions, Default: []string{"us"}}},
		{`{"type":"string","oneOf":[{"const":"eu","title":"Europe"},{"const":"us","title":"United States"}]}`, Field{Kind: KindChoice, Options: eu}},
		{`{"type":"string","enum":["eu","us"],"enumNames":["Europe","United States"]}`, Field{Kind: KindChoice, Options: eu}},
		{`{"type":"array","items":{"type":"string","enum":["eu","us"]},"minItems":1,"maxItems":2,"default":["us"]}`,
			Field{Kind: KindChoices, Options: plainOptions, MinItems: number(1), MaxItems: number(2), Default: []string{"us"}}},
		{`{"type":"array","items":{"anyOf":[{"const":"eu","title":"Europe"},{"const":"us","title":"United States"}]},"default":[]}`,
			Field{Kind: KindChoices, Options: eu, Default: []string{}}},
	} {
		c.want.Name, c.want.FormName = "f", "f"
		if got := fieldOf(t, c.schema, ""); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s\n got %+v\nwant %+v", c.schema, got, c.want)
		}
		if !fieldOf(t, c.schema, `"f"`).Required {
			t.Errorf("%s is not required", c.schema)
		}
	}
}

func TestWhatAFormMayNotHaveIsNamedWhereItStands(t *testing.T) {
	t.Parallel()
	const field = "/input_requests/ok/params/requestedSchema/properties/f"
	for schema, path := range map[string]string{
		`{}`:                                                                             "/type",
		`{"type":["string","null"]}`:                                                     "/type",
		`{"type":"object","properties":{}}`:                                              "/type",
		`{"type":"null"}`:                                                                "/type",
		`{"type":"string","pattern":"^a$"}`:                                              "/pattern",
		`{"type":"string","minimum":1}`:                                                  "/minimum",
		`{"type":"string","format":"hostname"}`:                                          "/format",
		`{"type":"string","minLength":-1}`:                                               "/minLength",
		`{"type":"string","minLength":1.5}`:                                              "/minLength",
		`{"type":"string","minLength":3,"maxLength":2}`:                                  "/maxLength",
		`{"type":"string","minLength":100000}`:                                           "/minLength",
		`{"type":"string","default":1}`:                                                  "/default",
		`{"type":"string","default":null}`:                                               "/default",
		`{"type":"string","minLength":3,"default":"ab"}`:                                 "/default",
		`{"type":"string","format":"date","default":"2026-02-30"}`:                       "/default",
		`{"type":"string","title":5}`:                                                    "/title",
		`{"type":"string","const":"x"}`:                                                  "/const",
		`{"type":"string","$ref":"#/x"}`:                                                 "/$ref",
		`{"type":"string","enum":[]}`:                                                    "/enum",
		`{"type":"string","enum":["a","a"]}`:                                             "/enum/1",
		`{"type":"string","enum":["a",1]}`:                                               "/enum/1",
		`{"type":"string","enum":["a"],"enumNames":["A","B"]}`:                           "/enumNames",
		`{"type":"string","enum":["a"],"minLength":1}`:                                   "/minLength",
		`{"type":"string","enum":["a"],"oneOf":[{"const":"a","title":"A"}]}`:             "/oneOf",
		`{"type":"string","enum":["a"],"default":"b"}`:                                   "/default",
		`{"type":"string","oneOf":[{"const":"a"}]}`:                                      "/oneOf/0/title",
		`{"type":"string","oneOf":[{"title":"A"}]}`:                                      "/oneOf/0/const",
		`{"type":"string","oneOf":[{"const":"a","title":"A","x":1}]}`:                    "/oneOf/0/x",
		`{"type":"string","oneOf":["a"]}`:                                                "/oneOf/0",
		`{"type":"number","exclusiveMinimum":1}`:                                         "/exclusiveMinimum",
		`{"type":"number","multipleOf":2}`:                                               "/multipleOf",
		`{"type":"number","minimum":"1"}`:                                                "/minimum",
		`{"type":"number","minimum":2,"maximum":1}`:                                      "/maximum",
		`{"type":"number","minimum":5,"default":4}`:                                      "/default",
		`{"type":"integer","default":1.5}`:                                               "/default",
		`{"type":"number","enum":[1,2]}`:                                                 "/enum",
		`{"type":"number","minimum":12345678901234567890}`:                               "/minimum",
		`{"type":"boolean","enum":[true]}`:                                               "/enum",
		`{"type":"boolean","default":"true"}`:                                            "/default",
		`{"type":"array"}`:                                                               "/items",
		`{"type":"array","items":{"type":"string"}}`:                                     "/items/enum",
		`{"type":"array","items":{"type":"number","enum":["1"]}}`:                        "/items/type",
		`{"type":"array","items":{"enum":["1"]}}`:                                        "/items/type",
		`{"type":"array","items":{"type":"object"}}`:                                     "/items/type",
		`{"type":"array","items":{"type":"string","anyOf":[{"const":"a","title":"A"}]}}`: "/items/type",
		`{"type":"array","items":[{"type":"string","enum":["a"]}]}`:                      "/items",
		`{"type":"array","items":{"type":"string","enum":["a"]},"minItems":2}`:           "/minItems",
		`{"type":"array","items":{"type":"string","enum":["a"]},"uniqueItems":true}`:     "/uniqueItems",
		`{"type":"array","items":{"type":"string","enum":["a"]},"default":["b"]}`:        "/default",
		`{"type":"array","items":{"type":"string","enum":["a"]},"default":"a"}`:          "/default",
		`{"anyOf":[{"type":"string"},{"type":"null"}]}`:                                  "/type",
		`"string"`: "",
		`true`:     "",
	} {
		_, issues := ReadQuestions(askingFor(schema, ""), "/input_requests")
		if !slices.ContainsFunc(issues, func(is models.Issue) bool { return is.Path == field+path }) {
			t.Errorf("%s: got %+v, want an issue at %s", schema, issues, path)
		}
	}
}

func TestHostileRequestsAreRefused(t *testing.T) {
	t.Parallel()
	const form = `{"type":"object","properties":{}}`
	fields := func(n int) string {
		var list []string
		for i := range n {
			list = append(list, fmt.Sprintf(`"f%d":{"type":"string"}`, i))
		}
		return `{"type":"object","properties":{` + strings.Join(list, ",") + `}}`
	}
	one := func(params string) string { return `{"a":{"method":"elicitation/create","params":` + params + `}}` }
	for _, c := range []struct{ raw, path string }{
		{``, "/r"},
		{`null`, "/r"},
		{`[]`, "/r"},
		{`{}`, "/r"},
		{`{"a":1,"a":2}`, "/r/a"},
		{`{"a":"\ud800"}`, "/r/a"},
		{`{"a":{`, "/r/a"},
		{`{"":{"method":"elicitation/create","params":{"message":"m","requestedSchema":` + form + `}}}`, "/r/"},
		{`{"a":{"method":"sampling/createMessage","params":{}}}`, "/r/a/method"},
		{`{"a":{"method":"roots/list"}}`, "/r/a/method"},
		{`{"a":{"params":{}}}`, "/r/a/method"},
		{`{"a":{"method":"elicitation/create"}}`, "/r/a/params"},
		{`{"a":{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{"message":"m","requestedSchema":` + form + `}}}`, "/r/a/jsonrpc"},
		{one(`{"requestedSchema":` + form + `}`), "/r/a/params/message"},
		{one(`{"message":"","requestedSchema":` + form + `}`), "/r/a/params/message"},
		{one(`{"message":"m"}`), "/r/a/params/requestedSchema"},
		{one(`{"message":"m","mode":"voice","requestedSchema":` + form + `}`), "/r/a/params/mode"},
		{one(`{"message":"m","url":"https://x.example","requestedSchema":` + form + `}`), "/r/a/params/url"},
		{one(`{"message":"m","requestedSchema":{"properties":{}}}`), "/r/a/params/requestedSchema/type"},
		{one(`{"message":"m","requestedSchema":{"type":"object"}}`), "/r/a/params/requestedSchema/properties"},
		{one(`{"message":"m","requestedSchema":{"type":"object","properties":[]}}`), "/r/a/params/requestedSchema/properties"},
		{one(`{"message":"m","requestedSchema":{"type":"object","properties":{},"allOf":[]}}`), "/r/a/params/requestedSchema/allOf"},
		{one(`{"message":"m","requestedSchema":{"type":"object","properties":{},"additionalProperties":true}}`), "/r/a/params/requestedSchema/additionalProperties"},
		{one(`{"message":"m","requestedSchema":{"type":"object","properties":{},"required":["x"]}}`), "/r/a/params/requestedSchema/required/0"},
		{one(`{"message":"m","requestedSchema":{"type":"object","properties":{"":{"type":"string"}}}}`), "/r/a/params/requestedSchema/properties/"},
		{one(`{"message":"m","requestedSchema":{"type":"object","properties":{"x/~":{"type":"x"}}}}`), "/r/a/params/requestedSchema/properties/x~1~0/type"},
		{one(`{"message":"m","requestedSchema":` + fields(51) + `}`), "/r/a/params/requestedSchema/properties"},
		{one(`{"message":"` + strings.Repeat("x", maxMessage+1) + `","requestedSchema":` + form + `}`), "/r/a/params/message"},
		{`{"a":"` + strings.Repeat("x", maxQuestion) + `"}`, "/r"},
		{one(`{"message":"m","mode":"url"}`), "/r/a/params/url"},
		{one(`{"message":"m","mode":"url","url":"http://bank.example/x"}`), "/r/a/params/url"},
		{one(`{"message":"m","mode":"url","url":"javascript:alert(1)"}`), "/r/a/params/url"},
		{one(`{"message":"m","mode":"url","url":"https://bank.example@evil.example/"}`), "/r/a/params/url"},
		{one(`{"message":"m","mode":"url","url":"https://bänk.example/"}`), "/r/a/params/url"},
		{one(`{"message":"m","mode":"url","url":"//bank.example/"}`), "/r/a/params/url"},
		{`{"a":{"method":"elicitation/create","params":{"message":"m","requestedSchema":` + form + `}},"b":{"method":"elicitation/create","params":{"message":"m","mode":"url","url":"https://x.example/"}}}`, "/r/b"},
		{`{"a":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"b.c":{"type":"string"}}}}},"a.b":{"method":"elicitation/create","params":{"message":"m","requestedSchema":{"type":"object","properties":{"c":{"type":"string"}}}}}}`,
			"/r/a.b/params/requestedSchema/properties/c"},
	} {
		questions, issues := ReadQuestions(json.RawMessage(c.raw), "/r")
		if questions != nil || !slices.ContainsFunc(issues, func(is models.Issue) bool { return is.Path == c.path }) {
			t.Errorf("%.200s: got %+v, want an issue at %s", c.raw, issues, c.path)
		}
	}
	for _, good := range []string{
		one(`{"message":"m","mode":"url","url":"https://Bank.Example/pay?x=1","elicitationId":"e1"}`),
		one(`{"message":"m","mode":"url","url":"http://127.0.0.1:8080/pay"}`),
		one(`{"message":"m","requestedSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","title":"Ask","type":"object","properties":{},"additionalProperties":false},"_meta":{}}`),
	} {
		if _, issues := ReadQuestions(json.RawMessage(good), "/r"); len(issues) > 0 {
			t.Errorf("%s: %+v", good, issues)
		}
	}
}

func TestAnswersAreReadAsTheSchemaWants(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	const regions = `{"type":"array","items":{"type":"string","enum":["eu","us","apac"]},"minItems":1,"maxItems":2}`
	for _, c := range []struct {
		schema   string
		required bool
		given    []string
		want     string // JSON; empty when left out
		problem  string
	}{
		{schema: `{"type":"string"}`, given: nil},
		{schema: `{"type":"string"}`, given: []string{""}},
		{schema: `{"type":"string"}`, required: true, given: []string{""}, problem: "is required"},
		{schema: `{"type":"string"}`, given: []string{" two\r\nlines "}, want: `" two\nlines "`},
		{schema: `{"type":"string"}`, given: []string{"a", "b"}, problem: "given once"},
		{schema: `{"type":"string"}`, given: []string{"\xff"}, problem: "Unicode"},
		{schema: `{"type":"string","minLength":3}`, given: []string{"äö"}, problem: "at least 3"},
		{schema: `{"type":"string","maxLength":3}`, given: []string{"äöüß"}, problem: "at most 3"},
		{schema: `{"type":"string","maxLength":4}`, given: []string{"äöüß"}, want: `"äöüß"`},
		{schema: `{"type":"string","format":"email"}`, given: []string{" a@example.com "}, want: `"a@example.com"`},
		{schema: `{"type":"string","format":"email"}`, given: []string{"A <a@example.com>"}, problem: "e-mail"},
		{schema: `{"type":"string","format":"uri"}`, given: []string{"https://example.com/x?y=1"}, want: `"https://example.com/x?y=1"`},
		{schema: `{"type":"string","format":"uri"}`, given: []string{"mailto:a@example.com"}, want: `"mailto:a@example.com"`},
		{schema: `{"type":"string","format":"uri"}`, given: []string{"example.com"}, problem: "full address"},
		{schema: `{"type":"string","format":"uri"}`, given: []string{"https://a b"}, problem: "full address"},
		{schema: `{"type":"string","format":"date"}`, given: []string{"2026-02-29"}, problem: "calendar date"},
		{schema: `{"type":"string","format":"date"}`, given: []string{"2028-02-29"}, want: `"2028-02-29"`},
		{schema: `{"type":"string","format":"date-time"}`, given: []string{"2026-10-05T09:12:44.5+02:00"}, want: `"2026-10-05T09:12:44.5+02:00"`},
		{schema: `{"type":"string","format":"date-time"}`, given: []string{"2026-10-05T14:30"}, want: `"2026-10-05T14:30:00+02:00"`},
		{schema: `{"type":"string","format":"date-time"}`, given: []string{"2026-12-05T14:30:10"}, want: `"2026-12-05T14:30:10+01:00"`},
		{schema: `{"type":"string","format":"date-time"}`, given: []string{"2026-03-29T02:30"}, problem: "does not exist"},
		{schema: `{"type":"string","format":"date-time"}`, given: []string{"5 October"}, problem: "date and time"},
		{schema: `{"type":"number"}`, given: []string{"0012.50"}, want: `12.50`},
		{schema: `{"type":"number"}`, given: []string{"-0.0"}, want: `0.0`},
		{schema: `{"type":"number"}`, given: []string{"0.1"}, want: `0.1`},
		{schema: `{"type":"number"}`, given: []string{"12345678901234567890"}, problem: "more digits"},
		{schema: `{"type":"number"}`, given: []string{"0.30000000000000000001"}, problem: "more digits"},
		{schema: `{"type":"number"}`, given: []string{"1e3"}, problem: "number such as"},
		{schema: `{"type":"number"}`, given: []string{"NaN"}, problem: "number such as"},
		{schema: `{"type":"number"}`, given: []string{"1,5"}, problem: "number such as"},
		{schema: `{"type":"number","minimum":0.1}`, given: []string{"0.10"}, want: `0.10`},
		{schema: `{"type":"number","minimum":0.1}`, given: []string{"0.09"}, problem: "at least 0.1"},
		{schema: `{"type":"number","maximum":10}`, given: []string{"10.01"}, problem: "at most 10"},
		{schema: `{"type":"integer"}`, given: []string{"7"}, want: `7`},
		{schema: `{"type":"integer"}`, given: []string{"7.0"}, problem: "whole number"},
		{schema: `{"type":"integer"}`, required: true, given: nil, problem: "is required"},
		{schema: `{"type":"boolean"}`, required: true, given: nil, problem: "yes or no"},
		{schema: `{"type":"boolean"}`, given: nil},
		{schema: `{"type":"boolean"}`, given: []string{"true"}, want: `true`},
		{schema: `{"type":"boolean"}`, given: []string{"false"}, want: `false`},
		{schema: `{"type":"boolean"}`, given: []string{"on"}, want: `true`},
		{schema: `{"type":"boolean"}`, given: []string{"false", "true"}, want: `true`},
		{schema: `{"type":"boolean"}`, given: []string{"maybe"}, problem: "true or false"},
		{schema: `{"type":"string","enum":["a","b"]}`, given: []string{"b"}, want: `"b"`},
		{schema: `{"type":"string","enum":["a","b"]}`, given: []string{"c"}, problem: "one of the choices"},
		{schema: `{"type":"string","enum":["a","b"]}`, required: true, given: []string{""}, problem: "choose one"},
		{schema: `{"type":"string","enum":["","b"]}`, required: true, given: []string{""}, want: `""`},
		{schema: `{"type":"string","oneOf":[{"const":"a","title":"b"}]}`, given: []string{"b"}, problem: "one of the choices"},
		{schema: regions, given: nil},
		{schema: regions, required: true, given: nil, problem: "at least 1 choice"},
		{schema: regions, given: []string{"eu", "us"}, want: `["eu","us"]`},
		{schema: regions, given: []string{"eu", "us", "apac"}, problem: "at most 2 choices"},
		{schema: regions, given: []string{"eu", "eu"}, problem: "only once"},
		{schema: regions, given: []string{"mars"}, problem: "some of the choices"},
		{schema: `{"type":"array","items":{"type":"string","enum":["a"]}}`, required: true, given: []string{""}, want: `[]`},
		{schema: `{"type":"array","items":{"type":"string","enum":["a"]},"default":["a"]}`, given: nil, want: `[]`},
	} {
		required := ""
		if c.required {
			required = `"f"`
		}
		value, ok, problem := fieldOf(t, c.schema, required).read(c.given, berlin)
		if (c.problem == "") != (problem == "") || !strings.Contains(problem, c.problem) {
			t.Errorf("%s %q: it %q, want %q", c.schema, c.given, problem, c.problem)
			continue
		}
		got := ""
		if ok {
			text, err := json.Marshal(value)
			if err != nil {
				t.Fatal(err)
			}
			got = string(text)
		}
		if got != c.want {
			t.Errorf("%s %q: got %s, want %s", c.schema, c.given, got, c.want)
		}
	}
}

func TestSeveralRequestsAreAnsweredUnderTheirOwnNames(t *testing.T) {
	t.Parallel()
	questions, issues := ReadQuestions(json.RawMessage(`{
		"first":{"method":"elicitation/create","params":{"message":"1","requestedSchema":{"type":"object","properties":{"sure":{"type":"boolean"}},"required":["sure"]}}},
		"second":{"method":"elicitation/create","params":{"message":"2","requestedSchema":{"type":"object","properties":{"z":{"type":"string"},"a":{"type":"integer"}}}}}}`), "/r")
	if len(issues) > 0 {
		t.Fatal(issues)
	}
	if names := []string{questions[1].Form.Fields[0].FormName, questions[1].Form.Fields[1].FormName}; !slices.Equal(names, []string{"second.z", "second.a"}) {
		t.Fatalf("the server's order is kept: %v", names)
	}
	answers, issues := accepted(questions, map[string][]string{"first.sure": {"true"}, "second.a": {"3"}}, time.UTC)
	text, err := json.Marshal(answers)
	if err != nil || len(issues) > 0 || string(text) != `{"first":{"action":"accept","content":{"sure":true}},"second":{"action":"accept","content":{"a":3}}}` {
		t.Fatalf("%s %v %v", text, issues, err)
	}
	_, issues = accepted(questions, map[string][]string{"sure": {"true"}, "second.a": {"x"}}, time.UTC)
	paths := map[string]bool{}
	for _, is := range issues {
		paths[is.Path] = true
	}
	if want := []string{"/content/first.sure", "/content/second.a", "/content/sure"}; !slices.Equal(slices.Sorted(maps.Keys(paths)), want) {
		t.Fatalf("issues %+v", issues)
	}
}

func TestServersAreComparedByTheirPlainAddress(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string][2]string{
		"https://ERP.example:443/":        {"https://erp.example", "https://erp.example"},
		"https://erp.example/mcp?x=1":     {"https://erp.example/mcp?x=1", "https://erp.example"},
		"http://erp.example:80/mcp":       {"http://erp.example/mcp", "http://erp.example"},
		"http://[::1]:9000/mcp":           {"http://[::1]:9000/mcp", "http://[::1]:9000"},
		"https://erp.example/mcp#x":       {},
		"https://user:pw@erp.example/mcp": {},
		"stdio:erp":                       {},
		"":                                {},
	} {
		address, origin, problem := serverAddress(raw)
		if address != want[0] || origin != want[1] || (problem == "") != (want[0] != "") {
			t.Errorf("%q: %q %q %q", raw, address, origin, problem)
		}
	}
}

// FuzzQuestions checks that whatever a server sends is either turned down with issues inside
// input_requests, or is a form that its own defaults answer.
func FuzzQuestions(f *testing.F) {
	for _, field := range []string{`{"type":"string","minLength":1,"maxLength":9,"default":"x"}`, `{"type":"number","minimum":1e-7,"default":1e300}`, `{"type":"boolean"}`,
		`{"type":"string","enum":["a","b"],"enumNames":["A","B"],"default":"a"}`, `{"type":"string","oneOf":[{"const":"a","title":"A"}]}`,
		`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]},"minItems":1,"default":["a"]}`, `{"type":"string","format":"date-time","default":"2026-10-05T09:12:44Z"}`,
		`{"type":"integer","minimum":1e400}`, `{"type":"string","pattern":"("}`, `[[[[`} {
		f.Add([]byte(askingFor(field, `"f"`)))
	}
	f.Add([]byte(`{"a":{"method":"elicitation/create","params":{"mode":"url","message":"m","url":"https://x.example/?q=%00"}}}`))
	f.Add([]byte(`{"a":{"method":"roots/list"},"b":null,"a/~":{}}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		questions, issues := ReadQuestions(raw, "/input_requests")
		if len(issues) > 0 {
			for _, is := range issues {
				if !strings.HasPrefix(is.Path, "/input_requests") || is.Message == "" {
					t.Fatalf("issue %+v", is)
				}
			}
			return
		}
		if len(questions) == 0 || len(questions) > maxQuestions {
			t.Fatalf("%d questions", len(questions))
		}
		again, issues := ReadQuestions(raw, "/input_requests")
		if len(issues) > 0 || !reflect.DeepEqual(again, questions) {
			t.Fatal("read differently the second time")
		}
		_, _, _, _ = secretField(questions)
		content := map[string][]string{}
		for _, q := range questions {
			if (q.Mode == ModeURL) != (q.Form == nil) || (q.Mode == ModeURL && (q.Host == "" || len(questions) > 1)) {
				t.Fatalf("question %+v", q)
			}
			if q.Form == nil {
				continue
			}
			for _, field := range q.Form.Fields {
				if content[field.FormName] != nil {
					t.Fatalf("two fields are called %q", field.FormName)
				}
				content[field.FormName] = append([]string{}, field.Default...)
			}
		}
		answers, problems := accepted(questions, content, time.UTC)
		for _, is := range problems {
			name := strings.NewReplacer("~1", "/", "~0", "~").Replace(strings.TrimPrefix(is.Path, "/content/"))
			if len(content[name]) > 0 && !(len(content[name]) == 1 && content[name][0] == "") {
				t.Fatalf("a default is refused: %+v %q", is, content[name])
			}
		}
		text, err := json.Marshal(answers)
		if err != nil {
			t.Fatalf("answers cannot be written: %v", err)
		}
		if len(problems) == 0 && !json.Valid(text) {
			t.Fatalf("answers are no JSON: %s", text)
		}
	})
}

func TestTheCorpusIsKept(t *testing.T) {
	t.Parallel()
	for _, target := range []string{"FuzzQuestions", "FuzzOpen"} {
		kept, err := filepath.Glob(filepath.Join("testdata", "fuzz", target, "*"))
		if err != nil || len(kept) == 0 {
			t.Errorf("no committed corpus for %s: %v", target, err)
		}
	}
	if _, err := os.Stat("testdata"); err != nil {
		t.Error(err)
	}
}
