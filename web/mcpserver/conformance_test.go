package mcpserver

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/apdesk/apdesk/web/conformance"
)

// optional are scenarios that do not count for the revision and pass all the same.
var optional = []string{"json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation"}

func TestConformanceOfEveryRequiredScenario(t *testing.T) {
	if os.Getenv(conformance.Enabled) == "" {
		t.Skip("run .ci/conformance")
	}
	suite, err := conformance.Find("../conformance")
	if err != nil {
		t.Fatal(err)
	}
	required, err := suite.Required()
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	endpoint := fixtures(Config{Store: w.store, Queue: w.queue, Approvals: w.approvals, Version: "1.2.3", MCPURL: "https://desk.example.test/mcp"})
	// The suite sends no token, so it is given one on the way in.
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+w.tokens["agent"])
		endpoint.ServeHTTP(rw, r)
	}))
	t.Cleanup(server.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	found, ok, said, err := suite.Run(ctx, server.URL+Path, t.TempDir())
	if err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	if !ok {
		t.Errorf("the suite is not satisfied:\n%s", said)
	}
	for _, name := range slices.Concat(required, optional) {
		t.Run(name, func(t *testing.T) {
			scenario := found[name]
			if len(scenario.Failed()) > 0 || len(scenario.Passed()) == 0 {
				t.Errorf("passed %v, failed %v\n%s", scenario.Passed(), scenario.Failed(), scenario.Why())
			}
		})
	}
}
