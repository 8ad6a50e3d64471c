package models_test

import (
	"bytes"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

const pngHead = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"

func sent(name, content string) models.Upload {
	return models.Upload{Name: name, Open: func() (io.Reader, error) { return strings.NewReader(content), nil }}
}

func TestAFileIsWhatItsContentSays(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, content, kind, kept string }{
		{"invoice.pdf", "%PDF-1.7\n", "application/pdf", "invoice.pdf"},
		{"a.PNG", pngHead, "image/png", "a.PNG"},
		{"photo.jpeg", "\xff\xd8\xff\xe0", "image/jpeg", "photo.jpeg"},
		{"x.gif", "GIF89a", "image/gif", "x.gif"},
		{"x.webp", "RIFF\x10\x00\x00\x00WEBPVP8 ", "image/webp", "x.webp"},
		{"page.html", pngHead + "<html><script>alert(1)</script>", "image/png", "page.html.png"},
		{"../../etc/passwd", "%PDF-1.7", "application/pdf", "passwd.pdf"},
		{`C:\temp\bill.pdf`, "%PDF-1.7", "application/pdf", "bill.pdf"},
		{"a\x00b\r\nc.pdf", "%PDF-1.7", "application/pdf", "abc.pdf"},
		{"gpj.\u202efdp.pdf", "%PDF-1.7", "application/pdf", "gpj.fdp.pdf"},
		{`a"<b>|.pdf`, "%PDF-1.7", "application/pdf", "a__b__.pdf"},
		{"..", "%PDF-1.7", "application/pdf", "file.pdf"},
		{"", "GIF89a", "image/gif", "file.gif"},
		{strings.Repeat("ä", 300) + ".pdf", "%PDF-1.7", "application/pdf", strings.Repeat("ä", 116) + ".pdf"},
		{"both.pdf", "%PDF-1.7\nPK\x03\x04<svg onload=alert(1)>", "application/pdf", "both.pdf"},
	} {
		got, err := models.CheckUpload(sent(tc.name, tc.content))
		if err != nil || got.MediaType != tc.kind || got.Name != tc.kept || got.Size != int64(len(tc.content)) || len(got.SHA256) != 64 {
			t.Errorf("%q: got %+v, %v", tc.name, got, err)
		}
	}
	for _, tc := range []struct{ name, content, says string }{
		{"x.pdf", "", "is empty"},
		{"x.png", "<!DOCTYPE html><script>alert(1)</script>", "an HTML page"},
		{"x.svg", `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`, "an SVG picture"},
		{"x.png", `<?xml version="1.0"?><svg/>`, "an SVG picture"},
		{"x.pdf", "PK\x03\x04 and more", "a ZIP archive"},
		{"x.pdf", " %PDF-1.7", "text"},
		{"x.pdf", "\x00\x00\x00\x00", "of an unknown kind"},
		{"x.png", "MZ\x90\x00\x03", "of an unknown kind"},
		{"x.txt", "hello", "text"},
	} {
		_, err := models.CheckUpload(sent(tc.name, tc.content))
		if !models.IsCode(err, models.ValidationError) || !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s with %.10q: got %v, want %q", tc.name, tc.content, err, tc.says)
		}
	}
}

func TestAFileHasAtMostTwentyMegabytes(t *testing.T) {
	t.Parallel()
	most := "%PDF-" + strings.Repeat("x", models.MaxFile-5)
	if _, err := models.CheckUpload(sent("a.pdf", most)); err != nil {
		t.Errorf("20 MB are refused: %v", err)
	}
	if _, err := models.CheckUpload(sent("a.pdf", most+"x")); !errors.Is(err, models.ErrFileTooLarge) {
		t.Errorf("one byte more is answered %v", err)
	}
}

func TestAFileIsKeptWholeAndALooseOneForADay(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		company(t, store)
		by := models.Operator("1000")
		u := person(t, store, models.NewUser{Email: "f@example.com", Name: "F", Roles: []models.Role{models.RoleAgent}})
		by.UserID, by.UserName = u.ID, u.Name
		content := "%PDF-1.7\n" + strings.Repeat("0123456789abcdef", 50_000) // more than three pieces
		checked, err := models.CheckUpload(sent("a.pdf", content))
		if err != nil {
			t.Fatal(err)
		}
		var loose, used models.Attachment
		err = store.InTx(t.Context(), by, func(tx *models.Tx) error {
			if loose, err = tx.AddFile(checked, ""); err != nil {
				return err
			}
			used, err = tx.AddFile(checked, "case_1")
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(store.FileContent(t.Context(), used))
		if err != nil || !bytes.Equal(got, []byte(content)) {
			t.Fatalf("%d bytes came back of %d: %v", len(got), len(content), err)
		}
		worker := models.NewWorker(store, nil, models.HouseKeeping())
		clock.Advance(23 * time.Hour)
		if _, err := worker.RunDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := store.File(t.Context(), by, loose.ID); err != nil {
			t.Errorf("after 23 hours: %v", err)
		}
		clock.Advance(2 * time.Hour)
		if _, err := worker.RunDue(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := store.File(t.Context(), by, loose.ID); !models.IsCode(err, models.NotFound) {
			t.Errorf("a day later the loose file is answered %v", err)
		}
		if _, err := io.ReadAll(store.FileContent(t.Context(), loose)); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("reading what is gone ends with %v", err)
		}
		if _, err := store.File(t.Context(), by, used.ID); err != nil {
			t.Errorf("the one that belongs to a case: %v", err)
		}
	})
}

func TestALinkToTheERPLeadsWhereItsTemplateSays(t *testing.T) {
	t.Parallel()
	values := map[string]string{"invoice_id": "51/05?x=1&y#z", "po_id": "..", "supplier_id": "V 1", "workspace_id": "1000"}
	for template, want := range map[string]string{
		"https://erp.example.com/invoice/{invoice_id}":                    "https://erp.example.com/invoice/51%2F05%3Fx%3D1%26y%23z",
		"https://erp.example.com:8443/x?s={supplier_id}&c={workspace_id}": "https://erp.example.com:8443/x?s=V%201&c=1000",
		"https://erp.example.com/po/{po_id}":                              "",
		"":                                                                "",
	} {
		link, err := models.ParseERPLink(template)
		if err != nil {
			t.Errorf("%s: %v", template, err)
			continue
		}
		if got, ok := link.URL(values); got != want || ok != (want != "") {
			t.Errorf("%s leads to %q, want %q", template, got, want)
		}
	}
	for _, template := range []string{"http://erp.example.com/{invoice_id}", "javascript:alert({invoice_id})", "https://{invoice_id}.example.com/", "https://{invoice_id}/", "https://u:p@erp.example.com/{invoice_id}",
		"https://erp.example.com/{secret}", "https://erp.example.com/{invoice_id", "https://erp.example.com/", "https://erp.example.com\\@evil.example/{invoice_id}", "//erp.example.com/{invoice_id}",
		"https:///{invoice_id}", "https://erp.example.com/a b/{invoice_id}", "https://erp.example.com/" + strings.Repeat("a", 500) + "{invoice_id}"} {
		if _, err := models.ParseERPLink(template); !models.IsCode(err, models.ValidationError) {
			t.Errorf("%.60s is answered %v", template, err)
		}
	}
}

func FuzzFileName(f *testing.F) {
	for _, name := range []string{"a.pdf", "../../x", "a\x00.png", "\u202efdp.exe", ".pdf", "....", "a/b\\c"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, kind := range models.FileKinds() {
			got := models.FileName(name, kind)
			if got == "" || utf8.RuneCountInString(got) > 120 || !utf8.ValidString(got) || strings.ContainsAny(got, "/\\\x00\r\n\"<>") || filepath.Base(got) != got ||
				filepath.Ext(got) == "" || strings.HasPrefix(got, ".") || models.FileName(got, kind) != got {
				t.Errorf("%q becomes %q", name, got)
			}
		}
	})
}

func FuzzERPLink(f *testing.F) {
	f.Add("https://erp.example.com/{invoice_id}", "5105")
	f.Add("https://erp.example.com?x={invoice_id}", "../x")
	f.Add("https://erp.example.com#{po_id}", "@evil")
	f.Fuzz(func(t *testing.T, template, value string) {
		link, err := models.ParseERPLink(template)
		if err != nil {
			return
		}
		host := func(value string) string {
			address, ok := link.URL(map[string]string{"invoice_id": value, "po_id": value, "supplier_id": value, "workspace_id": value})
			if !ok {
				return ""
			}
			rest, https := strings.CutPrefix(address, "https://")
			if !https {
				t.Fatalf("%q leads to %q", template, address)
			}
			return rest[:len(rest)-len(strings.TrimLeft(rest, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-:[]_~!$&'()*+,;=%"))]
		}
		if got := host(value); got != "" && got != host("x") {
			t.Errorf("%q with %q leads to %q", template, value, got)
		}
	})
}
