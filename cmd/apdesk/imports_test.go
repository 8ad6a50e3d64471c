package main_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/apdesk/apdesk"

// layer says what the packages below a directory may import of ours. Paths are
// relative to the module; "x/..." means x and everything below it. The first
// layer that matches a package is its own.
type layer struct {
	packages string
	mayUse   []string
	why      string
}

var layers = []layer{
	{"models/modelstest", []string{"models"}, "test databases know the store and nothing built on it"},
	{"models/...", []string{"models/..."}, "the core imports nothing of ours"},
	{"queue/...", []string{"queue/...", "models"}, "queue and approvals are joined in cmd/apdesk/serve.go, and know nothing of the web"},
	{"approvals/...", []string{"approvals/...", "models"}, "queue and approvals are joined in cmd/apdesk/serve.go, and know nothing of the web"},
	{"web/pages/...", []string{"models", "queue", "approvals/...", "web/pages/...", "web/auth", "web/auth/passkey", "web/auth/provider", "web/problem", "web/proxy", "web/upload", "web/wire", "views/...", "static"}, "pages turn service answers into view models"},
	{"web/api/...", []string{"models", "queue", "approvals/...", "web/api/...", "web/auth", "web/problem", "web/upload", "web/wire"}, "REST shares the wire structs with MCP and nothing with the pages"},
	{"web/mcpserver/...", []string{"models", "queue", "approvals/...", "web/mcpserver/...", "web/auth", "web/problem", "web/proxy", "web/wire"}, "MCP shares the wire structs with REST and nothing with the pages"},
	{"web/auth/...", []string{"models", "web/auth/...", "web/problem", "web/proxy", "web/upload"}, "who acts is settled before any service is known"},
	{"web/problem/...", []string{"models", "web/problem/..."}, "an error becomes a status in one place"},
	{"web/proxy", nil, "who sent a request is known before anything else"},
	{"web/upload", []string{"models"}, "a body is taken apart before anybody knows what for"},
	{"web/wire/...", []string{"models", "queue", "approvals/...", "web/wire/...", "web/problem"}, "wire structs serve both channels"},
	{"web/conformance", nil, "it runs a program of others and reads its files"},
	{"web", []string{"models", "queue", "approvals/...", "web/...", "static"}, "the server joins its parts; only pages know the views"},
	{"views/ui/...", []string{"views/ui/...", "views/lang"}, "parts of pages know no page, and speak its language"},
	{"views/...", []string{"views/..."}, "a view model is already in words"},
	{"static/...", nil, "files only"},
	{"client/...", nil, "others build agents with it and get nothing of the desk"},
	{"cmd/apdesk/demo/...", []string{"cmd/apdesk/demo/..."}, "the demo's processes share sockets and tokens with the desk, no code"},
	{"cmd/apdesk", []string{"..."}, "the command wires everything"},
}

// testMayUse is what tests may use beyond their package's own layer.
var testMayUse = []string{"models/modelstest", "static", "web/conformance", "web/auth/passkey/passkeytest"}

// home says which packages may import a library, the tests of others included.
type home struct {
	library  string
	packages []string
	why      string
}

var homes = []home{
	{"gorm.io/", []string{"models/...", "queue", "approvals/..."}, "rules and pages do not query"},
	{"github.com/mattn/go-sqlite3", []string{"models/...", "cmd/apdesk"}, "one place knows the driver"},
	{"github.com/jackc/pgx", []string{"models/...", "cmd/apdesk"}, "one place knows the driver"},
	{"github.com/gofiber/", []string{"web/..."}, "services do not know who calls"},
	{"github.com/valyala/fasthttp", []string{"web/..."}, "services do not know who calls"},
	{"github.com/modelcontextprotocol/go-sdk", []string{"web", "web/mcpserver/...", "cmd/apdesk/demo/...", "cmd/apdesk", "client"}, "services do not know the protocol"},
	{"github.com/coreos/go-oidc", []string{"web/auth/oauth", "web/auth/provider"}, "one place checks an identity provider's access tokens, one signs its people in"},
	{"github.com/go-jose/", []string{"web/auth/oauth", "web"}, "one place checks an identity provider's tokens; the server's tests forge some"},
	{"github.com/a-h/templ", []string{"views/...", "web/pages"}, "only pages render"},
	{"github.com/alecthomas/kong", []string{"cmd/apdesk/..."}, "only the command reads flags"},
	{"github.com/go-rod/rod", []string{"cmd/apdesk", "views"}, "a browser is for tests of pages and of the whole"},
}

type goPackage struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
}

func TestImportsFollowTheLayers(t *testing.T) {
	t.Parallel()
	packages := listPackages(t)
	if len(packages) < 5 {
		t.Fatalf("only %d packages were found", len(packages))
	}
	for _, p := range packages {
		own := relative(p.ImportPath)
		l, known := layerOf(own)
		if !known {
			t.Errorf("%s is in no layer: add it to layers in imports_test.go and say why", own)
			continue
		}
		for _, imported := range p.Imports {
			if ours(imported) && !matchesAny(relative(imported), l.mayUse) {
				t.Errorf("%s imports %s: %s", own, relative(imported), l.why)
			}
		}
		for _, imported := range slices.Concat(p.TestImports, p.XTestImports) {
			other := relative(imported)
			if ours(imported) && other != own && !matchesAny(other, l.mayUse) && !matchesAny(other, testMayUse) {
				t.Errorf("a test of %s imports %s: %s", own, other, l.why)
			}
		}
	}
}

func TestLibrariesStayAtHome(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		own := relative(p.ImportPath)
		for _, imported := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
			for _, h := range homes {
				if strings.HasPrefix(imported, h.library) && !matchesAny(own, h.packages) {
					t.Errorf("%s imports %s: %s", own, imported, h.why)
				}
			}
		}
	}
}

func TestWhatOnlyTestsNeedIsNotInTheProduct(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		if p.ImportPath == module+"/models/modelstest" || p.ImportPath == module+"/web/auth/passkey/passkeytest" {
			continue
		}
		for _, imported := range p.Imports {
			if imported == "testing" || strings.HasPrefix(imported, "github.com/go-rod/") ||
				imported == module+"/models/modelstest" || imported == module+"/web/auth/passkey/passkeytest" || imported == module+"/web/conformance" {
				t.Errorf("%s imports %s outside its tests", relative(p.ImportPath), imported)
			}
		}
	}
}

// listPackages asks the go command, so that build tags and tests are seen as
// the compiler sees them.
func listPackages(t *testing.T) []goPackage {
	t.Helper()
	list := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", module+"/...")
	out, err := list.Output()
	if err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) {
			t.Fatalf("go list: %s", failed.Stderr)
		}
		t.Fatal(err)
	}
	var packages []goPackage
	decoder := json.NewDecoder(strings.NewReader(string(out)))
	for {
		var p goPackage
		switch err := decoder.Decode(&p); {
		case errors.Is(err, io.EOF):
			return packages
		case err != nil:
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func layerOf(own string) (layer, bool) {
	for _, l := range layers {
		if matches(own, l.packages) {
			return l, true
		}
	}
	return layer{}, false
}

func ours(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

func relative(path string) string { return strings.TrimPrefix(strings.TrimPrefix(path, module), "/") }

func matchesAny(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(path, pattern) })
}

func matches(path, pattern string) bool {
	if pattern == "..." {
		return true
	}
	if parent, all := strings.CutSuffix(pattern, "/..."); all {
		return path == parent || strings.HasPrefix(path, parent+"/")
	}
	return path == pattern
}
