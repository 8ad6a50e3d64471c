package models_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The two databases have one schema, written twice because their types and triggers differ. Tables,
// columns, constraints and indexes must be the same, or a test on one says nothing about the other.
func TestBothDatabasesHaveOneSchema(t *testing.T) {
	t.Parallel()
	files, err := os.ReadDir("migrations/sqlite")
	if err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadDir("migrations/postgres")
	if err != nil || len(other) != len(files) {
		t.Fatalf("%d migrations for PostgreSQL and %d for SQLite (%v)", len(other), len(files), err)
	}
	for _, f := range files {
		lite, postgres := statements(t, "migrations/sqlite/"+f.Name()), statements(t, "migrations/postgres/"+f.Name())
		for _, s := range lite {
			if !slices.Contains(postgres, s) {
				t.Errorf("%s: only for SQLite: %s", f.Name(), s)
			}
		}
		for _, s := range postgres {
			if !slices.Contains(lite, s) {
				t.Errorf("%s: only for PostgreSQL: %s", f.Name(), s)
			}
		}
	}
}

var (
	schemaStatement = regexp.MustCompile(`(?m)^(?:CREATE (?:TABLE|(?:UNIQUE )?INDEX)|DROP TABLE)[^;]*;`)
	timestampType   = regexp.MustCompile(`\bTIMESTAMPTZ\b`)
	bytesType       = regexp.MustCompile(`\bBYTEA\b`)
	blanks          = regexp.MustCompile(`\s+`)
)

// statements are the tables and indexes a migration makes or drops, the databases' names of one type made alike.
func statements(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := schemaStatement.FindAllString(string(text), -1)
	if len(found) == 0 && !strings.Contains(string(text), "ALTER TABLE") {
		t.Fatalf("%s makes nothing", file)
	}
	for i, s := range found {
		found[i] = blanks.ReplaceAllString(bytesType.ReplaceAllString(timestampType.ReplaceAllString(s, "TIMESTAMP"), "BLOB"), " ")
	}
	return found
}
