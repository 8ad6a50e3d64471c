package api

import (
	"encoding/json"
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/gofiber/fiber/v2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

var update = flag.Bool("update", false, "write the document anew")

// The document in docs is the one served by a desk at its default address.
func TestOpenAPI(t *testing.T) {
	const path = "../../docs/openapi.json"
	a := New(Config{PublicURL: "http://127.0.0.1:8080"})
	doc, err := a.document()
	if err != nil {
		t.Fatal(err)
	}
	doc = append(doc, '\n')
	if *update {
		if err := os.WriteFile(path, doc, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(doc) {
		t.Error("docs/openapi.json is stale; run go test ./web/api -update")
	}

	var parsed struct {
		OpenAPI string
		Paths   map[string]map[string]struct {
			OperationID string
			Parameters  []struct {
				Name, In, Description string
				Schema                any
			}
			RequestBody struct {
				Content map[string]struct{ Schema any }
			}
			Responses map[string]struct {
				Description string
				Content     map[string]struct{ Schema any }
			}
		}
	}
	if err := json.Unmarshal(doc, &parsed); err != nil || parsed.OpenAPI != "3.1.0" {
		t.Fatalf("%v, version %s", err, parsed.OpenAPI)
	}
	compiles := func(name string, schema any) {
		t.Helper()
		text, err := json.Marshal(schema)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), `"$ref"`) {
			return // to the one shared schema, which stands below
		}
		parsed, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("urn:x", parsed); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Compile("urn:x"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	compiles("Error", errorSchema())
	seen := map[string]bool{}
	for path, item := range parsed.Paths {
		for method, op := range item {
			name := method + " " + path
			if op.OperationID == "" || seen[op.OperationID] {
				t.Errorf("%s: operationId %q", name, op.OperationID)
			}
			seen[op.OperationID] = true
			for _, p := range op.Parameters {
				compiles(name+" "+p.Name, p.Schema)
				if p.In != "path" && p.Description == "" {
					t.Errorf("%s: %s is not described", name, p.Name)
				}
			}
			for _, m := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(path, -1) {
				found := false
				for _, p := range op.Parameters {
					found = found || p.In == "path" && p.Name == m[1]
				}
				if !found {
					t.Errorf("%s: path parameter %s is not listed", name, m[1])
				}
			}
			for media, body := range op.RequestBody.Content {
				compiles(name+" body "+media, body.Schema)
			}
			for status, r := range op.Responses {
				for media, answer := range r.Content {
					compiles(name+" "+status+" "+media, answer.Schema)
				}
				if len(r.Content) == 0 {
					t.Errorf("%s %s has no content", name, status)
				}
				if r.Description == "" {
					t.Errorf("%s: %s is not described", name, status)
				}
			}
		}
	}
}

// Every operation of the document is routed, and nothing else is.
func TestRoutes_are_those_of_the_document(t *testing.T) {
	app := fiber.New()
	a := New(Config{})
	a.Mount(app)
	routed := map[string]bool{}
	for _, r := range app.GetRoutes(true) {
		if r.Method != fiber.MethodHead {
			routed[r.Method+" "+r.Path] = true
		}
	}
	for _, e := range a.endpoints {
		name := e.method + " " + Prefix + routePath(e.path)
		if !routed[name] {
			t.Errorf("%s is not routed", name)
		}
		delete(routed, name)
	}
	delete(routed, "GET "+Prefix+"/openapi.json")
	if len(routed) > 0 {
		t.Errorf("not in the document: %v", routed)
	}
}
