package main_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/apdesk/apdesk/web/conformance"
)

// unfurnished are the scenarios that ask for no tool, prompt or resource of their own.
var unfurnished = []string{
	"tools-list", "server-sse-multiple-streams", "resources-list", "prompts-list", "sep-2164-resource-not-found",
	"dns-rebinding-protection", "caching", "http-header-validation", "input-required-result-unsupported-methods",
	"input-required-result-missing-input-response", "input-required-result-ignore-extra-params", "input-required-result-validate-input",
}

// furnished are the checks of the scenario server-stateless that need the suite's own tools.
var furnished = []string{
	"sep-2575-server-rejects-undeclared-capability", "sep-2575-missing-capability-http-400",
	"sep-2575-http-server-no-independent-requests-on-stream", "sep-2575-server-no-log-without-loglevel",
}

// TestConformanceOfTheServedDesk runs the public suite against "apdesk serve".
func TestConformanceOfTheServedDesk(t *testing.T) {
	if os.Getenv(conformance.Enabled) == "" {
		t.Skip("run .ci/conformance")
	}
	suite, err := conformance.Find("../../web/conformance")
	if err != nil {
		t.Fatal(err)
	}
	d := open(t, sqliteFile(t))
	served, err := url.Parse("http://" + d.mcpAddr)
	if err != nil {
		t.Fatal(err)
	}
	// The suite sends no token, so one is added on the way; all else passes unchanged.
	withToken := httptest.NewServer(&httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(served)
			r.Out.Host = r.In.Host
			r.Out.Header.Set("Authorization", "Bearer "+string(d.agent))
		},
	})
	t.Cleanup(withToken.Close)
	if res, err := http.Get(withToken.URL + "/mcp"); err != nil || res.StatusCode != http.StatusMethodNotAllowed {
		t.Fatalf("GET was answered with %v, %v", res, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	found, _, said, err := suite.Run(ctx, withToken.URL+"/mcp", t.TempDir())
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	for _, name := range unfurnished {
		t.Run(name, func(t *testing.T) {
			scenario := found[name]
			if len(scenario.Failed()) > 0 || len(scenario.Passed()) == 0 {
				t.Errorf("passed %v, failed %v\n%s", scenario.Passed(), scenario.Failed(), scenario.Why())
			}
		})
	}
	t.Run("server-stateless", func(t *testing.T) {
		scenario := found["server-stateless"]
		failed := slices.DeleteFunc(scenario.Failed(), func(id string) bool { return slices.Contains(furnished, id) })
		if len(failed) > 0 || len(scenario.Passed()) == 0 {
			t.Errorf("passed %v, failed %v\n%s", scenario.Passed(), failed, scenario.Why())
		}
	})
}
