package web

import (
	"net/url"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// An attack on the database through what only looks like text: PostgreSQL refuses the character zero
// and broken UTF-8 with an error, which must not become the caller's.
func TestWhatIsNoText_is_answered_alike_on_both_databases(t *testing.T) {
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		w := newWorldOn(t, store, clock)
		for _, bad := range []string{"%00", "%ff", "%ed%a0%80", "a%00b"} {
			for _, path := range []string{"/api/v1/cases/", "/api/v1/approval-requests/", "/api/v1/holds/", "/api/v1/confirmations/", "/cases/", "/approvals/", "/static/"} {
				if a := w.call("GET", path+bad, "agent", ""); a.status != 404 || a.code() != "NOT_FOUND" {
					t.Errorf("%s%s: %d %s", path, bad, a.status, a.body)
				}
			}
			for _, path := range []string{"/api/v1/cases?supplier=", "/api/v1/cases?cursor=", "/queues/ap?supplier="} {
				if a := w.call("GET", path+bad, "agent", ""); a.status != 400 || a.code() != "BAD_REQUEST" {
					t.Errorf("%s%s: %d %s", path, bad, a.status, a.body)
				}
			}
			a := w.call("POST", "/login", "", "email="+bad+"%40example.test&password="+bad, "Content-Type", "application/x-www-form-urlencoded")
			if a.status >= 500 {
				t.Errorf("sign-in with %s: %d %s", bad, a.status, a.body)
			}
		}
	})
}

func TestMarked_keeps_everything_that_is_text(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Grüße 漢字 👍": "Grüße 漢字 👍", "a\x00b": "a\uFFFDb", "a\xffb": "a\uFFFDb", "\xed\xa0\x80": "\uFFFD", "": "",
	} {
		if got := marked(in); got != want || !isText(got) {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	if escaped := url.QueryEscape(marked("x\x00")); !strings.HasSuffix(escaped, "%EF%BF%BD") {
		t.Errorf("%s", escaped)
	}
}

// A small packed body can unpack to gigabytes before anybody asked who sends it.
func TestPackedBodies_are_refused_before_they_are_unpacked(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{"/api/v1/handovers", "/login", "/cases/x/decision"} {
		for _, coding := range []string{"gzip", "deflate", "br", "foo", "identity, gzip"} {
			if a := w.call("POST", path, "", "\x1f\x8b\x08 not looked at", "Content-Encoding", coding); a.status != 415 || a.code() != "BAD_REQUEST" {
				t.Errorf("%s %s: %d %s", path, coding, a.status, a.body)
			}
		}
	}
	if a := w.call("POST", "/api/v1/handovers", "agent", poClosed, "Content-Encoding", "identity"); a.status != 201 {
		t.Errorf("a body as it is: %d %s", a.status, a.body)
	}
}

func TestWorkspace_named_as_a_number_is_not_taken_for_none(t *testing.T) {
	w := newWorld(t)
	a := w.call("POST", "/api/v1/handovers", "both", strings.Replace(poClosed, `{`, `{"workspace_id": 1000,`, 1))
	if a.status != 400 || a.code() != "VALIDATION_ERROR" || !strings.Contains(a.body, `"/workspace_id"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
}
