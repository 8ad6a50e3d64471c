package upload

import (
	"errors"
	"io"
	"mime"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
)

const formType = "multipart/form-data; boundary=b"

func formOf(parts ...string) []byte { return []byte(strings.Join(parts, "")) }

func part(disposition, content string) string {
	return "--b\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + content + "\r\n"
}

const end = "--b--\r\n"

func TestTheFileOfARequestIsFound(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ says, kind, name, body, wantName, want string }{
		{"a body of its own", "application/pdf", "x.pdf", "%PDF", "x.pdf", "%PDF"},
		{"a body of no kind", "", "", "%PDF", "", "%PDF"},
		{"a form", formType, "", string(formOf(part(`name="csrf_token"`, "t"), part(`name="file"; filename="a.pdf"`, "%PDF\r\n--c"), end)), "a.pdf", "%PDF\r\n--c"},
		{"a form with a path", formType, "", string(formOf(part(`name="file"; filename="../../a.pdf"`, "x"), end)), "a.pdf", "x"},
		{"a name given beside", formType, "n.pdf", string(formOf(part(`name="upload"; filename="a.pdf"`, "x"), end)), "n.pdf", "x"},
		{"an empty field", formType, "", string(formOf(part(`name="file"; filename=""`, ""), end)), "", ""},
	} {
		u, err := find([]byte(tc.body), tc.kind, tc.name)
		if err != nil {
			t.Errorf("%s: %v", tc.says, err)
			continue
		}
		for range 2 { // it can be read again
			r, err := u.Open()
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(r)
			if err != nil || string(got) != tc.want || u.Name != tc.wantName {
				t.Errorf("%s: %q named %q, %v", tc.says, got, u.Name, err)
			}
		}
	}
	for says, body := range map[string]string{"nothing": "", "a form without a file": string(formOf(part(`name="x"`, "y"), end))} {
		kind := formType
		if body == "" {
			kind = "application/pdf"
		}
		if _, err := find([]byte(body), kind, ""); !errors.Is(err, ErrNoFile) {
			t.Errorf("%s is answered %v", says, err)
		}
	}
	for says, tc := range map[string][2]string{"no boundary": {"multipart/form-data", "x"}, "a form that breaks off": {formType, "--b\r\nContent-Dis"}} {
		if _, err := find([]byte(tc[1]), tc[0], ""); !models.IsCode(err, models.BadRequest) && !errors.Is(err, ErrNoFile) {
			t.Errorf("%s is answered %v", says, err)
		}
	}
}

func TestAFieldStandsBeforeTheFile(t *testing.T) {
	t.Parallel()
	body := formOf(part(`name="csrf_token"`, "secret"), part(`name="file"; filename="a.pdf"`, "%PDF"), part(`name="late"`, "x"), end)
	if field(body, formType, "csrf_token") != "secret" || field(body, formType, "late") != "" || field(body, "text/plain", "csrf_token") != "" {
		t.Error("the fields are not read as they stand")
	}
}

func TestOnlyUploadsMayBeLarge(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]bool{"/api/v1/files": true, "/api/v1/files?name=x": true, "/cases/case_1/files": true, "/cases/case_1/files?x=/y": true, "/cases//files": false,
		"/cases/a/b/files": false, "/api/v1/handovers": false, "/api/v1/files/x": false, "/cases/case_1/comments?/files": false} {
		if got := Takes("POST", path); got != want {
			t.Errorf("%s: %v", path, got)
		}
	}
	if Takes("GET", "/api/v1/files") {
		t.Error("a read may be large")
	}
}

func TestANameIsSafeInItsHeader(t *testing.T) {
	t.Parallel()
	got := Disposition("Rechnung ä\"; x=\r\ny%.pdf", false)
	if strings.ContainsAny(got, "\r\n") || !strings.HasPrefix(got, "attachment; ") {
		t.Errorf("got %q", got)
	}
	for _, name := range []string{"a.pdf", "Rechnung ä (1).pdf", "日本.png", `a'b"c;d.pdf`, "50%.pdf"} {
		kind, params, err := mime.ParseMediaType(Disposition(name, true))
		if err != nil || kind != "inline" {
			t.Errorf("%s: %v, %s", name, err, Disposition(name, true))
			continue
		}
		if params["filename"] != name && !strings.Contains(Disposition(name, true), "filename*=UTF-8''") {
			t.Errorf("%s is read as %q", name, params["filename"])
		}
	}
}

func FuzzFind(f *testing.F) {
	f.Add(formOf(part(`name="file"; filename="a.pdf"`, "%PDF"), end), formType, "csrf_token")
	f.Add([]byte("--b\r\n\r\n--b"), formType, "x")
	f.Add([]byte("%PDF"), "multipart/form-data; boundary=\"\xff\"", "x")
	f.Fuzz(func(t *testing.T, body []byte, kind, name string) {
		if len(field(body, kind, name)) > maxValue {
			t.Error("a field is larger than it may be")
		}
		u, err := find(body, kind, "")
		if err != nil {
			return
		}
		first, err := u.Open()
		if err != nil {
			t.Fatal(err)
		}
		a, errA := io.ReadAll(first)
		second, err := u.Open()
		if err != nil {
			t.Fatal(err)
		}
		b, errB := io.ReadAll(second)
		if string(a) != string(b) || (errA == nil) != (errB == nil) || len(a) > len(body) {
			t.Errorf("read twice it is %d and %d bytes of %d", len(a), len(b), len(body))
		}
	})
}
