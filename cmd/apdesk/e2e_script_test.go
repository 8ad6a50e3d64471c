package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/apdesk/apdesk/models/modelstest"
)

// TestCommandLine runs the scripts of testdata/script on the built program,
// each in a directory of its own with an empty database.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"sqlite", "postgres"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			path := filepath.Dir(program(t)) + string(os.PathListSeparator) + os.Getenv("PATH")
			database := func(work string) string { return "sqlite:" + filepath.Join(work, "apdesk.db") }
			if kind == "postgres" {
				modelstest.PostgresURL(t) // skips here when there is no server
				database = func(string) string { return modelstest.PostgresURL(t) }
			}
			testscript.Run(t, testscript.Params{
				Dir:                 filepath.Join("testdata", "script"),
				RequireExplicitExec: true,
				Condition: func(cond string) (bool, error) {
					return cond == kind, nil
				},
				Setup: func(env *testscript.Env) error {
					env.Setenv("PATH", path)
					env.Setenv("APDESK_DATABASE", database(env.WorkDir))
					env.Setenv("APDESK_SECRET_KEY", secretKey)
					return nil
				},
			})
		})
	}
}
