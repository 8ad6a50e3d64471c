package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"go.yaml.in/yaml/v3"

	"github.com/apdesk/apdesk/web/proxy"
)

// spoken are the flags, variables and commands that the program knows.
func spoken(t *testing.T) (flags, variables, commands map[string]bool) {
	t.Helper()
	parser, err := kong.New(new(cli), kong.Name("apdesk"), kong.Exit(func(int) {}), kong.Writers(io.Discard, io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	flags, variables, commands = map[string]bool{}, map[string]bool{}, map[string]bool{}
	var walk func(n *kong.Node)
	walk = func(n *kong.Node) {
		commands[n.Name] = true
		for _, f := range n.Flags {
			flags["--"+f.Name] = true
			for _, name := range f.Envs {
				variables[name] = true
			}
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(parser.Model.Node)
	return flags, variables, commands
}

func deployed(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestWhatIsDeployedSpeaksTheProgramsLanguage finds every flag, variable and command of apdesk that the
// files of deploy/ name, and holds them against the program, so that they cannot rot.
func TestWhatIsDeployedSpeaksTheProgramsLanguage(t *testing.T) {
	t.Parallel()
	flags, variables, commands := spoken(t)
	entries, err := os.ReadDir(filepath.Join("..", "..", "deploy"))
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, entry := range entries {
		if entry.IsDir() {
			continue // secrets of whoever deploys
		}
		text := deployed(t, entry.Name())
		for _, name := range regexp.MustCompile(`APDESK_[A-Z_]+`).FindAllString(text, -1) {
			seen++
			if !variables[name] {
				t.Errorf("%s sets %s, which apdesk does not read", entry.Name(), name)
			}
		}
		// "apdesk COMMAND …" and "["/apdesk", "COMMAND"]", with the flags of the same line.
		for line := range strings.Lines(text) {
			for _, call := range regexp.MustCompile(`(?:/apdesk"?,? "?|desk-1 /apdesk |^apdesk )([a-z]+)\b(.*)`).FindAllStringSubmatch(line, -1) {
				if call[1] == "apdesk" || strings.Contains(call[0], ".env") {
					continue
				}
				seen++
				if !commands[call[1]] {
					t.Errorf("%s calls apdesk %s, which there is not: %s", entry.Name(), call[1], line)
				}
				for _, flag := range regexp.MustCompile(`--[a-z-]+`).FindAllString(call[2], -1) {
					if !flags[flag] {
						t.Errorf("%s gives apdesk %s the flag %s, which it does not take", entry.Name(), call[1], flag)
					}
				}
			}
		}
	}
	if seen < 15 {
		t.Errorf("only %d flags, variables and commands were found; the patterns of this test are too narrow", seen)
	}
}

type composed struct {
	Services map[string]struct {
		Image       string            `yaml:"image"`
		Environment map[string]string `yaml:"environment"`
		Secrets     []string          `yaml:"secrets"`
		ReadOnly    bool              `yaml:"read_only"`
		Ports       []string          `yaml:"ports"`
		Networks    any               `yaml:"networks"`
	} `yaml:"services"`
	Secrets map[string]struct {
		File string `yaml:"file"`
	} `yaml:"secrets"`
	Networks map[string]any `yaml:"networks"`
	Volumes  map[string]any `yaml:"volumes"`
}

func TestTheComposeFileServesTwoDesksBehindOneName(t *testing.T) {
	t.Parallel()
	var c composed
	if err := yaml.Unmarshal([]byte(deployed(t, "compose.yaml")), &c); err != nil {
		t.Fatal(err)
	}
	readme, caddy := deployed(t, "README.md"), deployed(t, "Caddyfile")
	for _, name := range []string{"desk-1", "desk-2"} {
		desk, ok := c.Services[name]
		if !ok {
			t.Fatalf("there is no %s", name)
		}
		if !desk.ReadOnly || len(desk.Ports) > 0 {
			t.Errorf("%s can write to its image or is reached without the proxy", name)
		}
		// It takes connections from other machines, so the public address must be https and no address but the
		// proxy's be believed. Only the way to the database is open, on a network of its own.
		serve := serveCmd{Addr: desk.Environment["APDESK_ADDR"], MCPAddr: desk.Environment["APDESK_MCP_ADDR"], SecretKeyFile: desk.Environment["APDESK_SECRET_KEY_FILE"],
			PublicURL: regexp.MustCompile(`\$\{[^}]*\}`).ReplaceAllString(desk.Environment["APDESK_PUBLIC_URL"], "desk.example.com")}
		publicURL, mcpURL, err := serve.urls()
		if err != nil {
			t.Fatal(err)
		}
		proxies, err := proxy.Parse(desk.Environment["APDESK_TRUSTED_PROXIES"])
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range dangers(serve, publicURL, mcpURL, desk.Environment["APDESK_DATABASE"], proxies) {
			if found.check != "database connection" {
				t.Errorf("%s is served unsafely: %s", name, found.text)
			}
		}
		for what, value := range desk.Environment {
			if regexp.MustCompile(`//[^@/]*:[^@/]*@`).MatchString(value) || what == "APDESK_SECRET_KEY" {
				t.Errorf("%s has a secret in its environment: %s", name, what)
			}
			if secret, isFile := strings.CutPrefix(value, "/run/secrets/"); isFile && !slices.Contains(desk.Secrets, secret) {
				t.Errorf("%s reads the secret %s, which it is not given", name, secret)
			}
		}
		for _, port := range []string{"8080", "8081"} {
			if !strings.Contains(caddy, name+":"+port) {
				t.Errorf("the proxy does not know %s:%s", name, port)
			}
		}
	}
	for name, secret := range c.Secrets {
		if secret.File != "secrets/"+name || !strings.Contains(readme, "> "+secret.File) {
			t.Errorf("README.md does not say how to make %s", secret.File)
		}
	}
	if !strings.Contains(deployed(t, ".gitignore"), "secrets/") {
		t.Error("secrets could be committed")
	}
	for _, path := range []string{"/mcp", "/.well-known/oauth-protected-resource", "flush_interval -1", "/readyz"} {
		if !strings.Contains(caddy, path) {
			t.Errorf("the proxy's file says nothing of %s", path)
		}
	}
}

func TestTheServiceKeepsToItsOwnDirectory(t *testing.T) {
	t.Parallel()
	unit := map[string][]string{}
	for line := range strings.Lines(deployed(t, "apdesk.service")) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "="); ok && !strings.HasPrefix(name, "#") {
			unit[name] = append(unit[name], value)
		}
	}
	for name, want := range map[string]string{"DynamicUser": "yes", "ProtectSystem": "strict", "NoNewPrivileges": "yes", "ProtectHome": "yes", "PrivateTmp": "yes",
		"CapabilityBoundingSet": "", "StateDirectory": "apdesk", "StateDirectoryMode": "0700", "UMask": "0077", "ExecStart": "/usr/local/bin/apdesk serve"} {
		if !slices.Contains(unit[name], want) {
			t.Errorf("%s is %q, want %q", name, unit[name], want)
		}
	}
	if !slices.Contains(unit["Environment"], "APDESK_DATABASE=sqlite:/var/lib/apdesk/apdesk.db") {
		t.Errorf("the database is not in the directory it may write to: %q", unit["Environment"])
	}
}

func TestReadySaysWhatTheDeskSays(t *testing.T) {
	t.Parallel()
	status := http.StatusOK
	desk := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("it asks %s", r.URL.Path)
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, "the database does not answer\n")
	}))
	defer desk.Close()
	address := strings.TrimPrefix(desk.URL, "http://")
	_, port, _ := strings.Cut(address, ":")
	ask := func(address string) (int, string) {
		var said strings.Builder
		return run(t.Context(), []string{"ready", "--addr", address}, strings.NewReader(""), &said, &said), said.String()
	}
	for _, a := range []string{address, "0.0.0.0:" + port, ":" + port} {
		if code, said := ask(a); code != 0 {
			t.Errorf("--addr %s of a ready desk: %d, %s", a, code, said)
		}
	}
	status = http.StatusServiceUnavailable
	if code, said := ask(address); code != 1 || !strings.Contains(said, "the database does not answer") {
		t.Errorf("a desk that is not ready: %d, %s", code, said)
	}
	desk.Close()
	if code, said := ask(address); code != 1 || !strings.Contains(said, "does not answer") {
		t.Errorf("no desk: %d, %s", code, said)
	}
	if code, _ := ask("nonsense"); code != 1 {
		t.Error("an address that is none is no failure")
	}
}
