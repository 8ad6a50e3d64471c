package views_test

import (
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func TestAFileIsSentWithoutLeavingThePage(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	b := browse(t)
	with := func(form views.UploadForm, items ...views.File) views.CasePage {
		c := sampleCase()
		form.Form, form.MaxSize = views.Form{URL: "/cases/case_01k6v8a/files", CSRF: "csrf-sample", Heading: form.Heading, Errors: form.Errors}, 100
		c.Files = views.Files{Form: &form, Items: items}
		return c
	}
	d := openDesk(t, views.Case(with(views.UploadForm{})))
	arrived, answers := make(chan string, 8), make(chan http.HandlerFunc)
	d.answer = func(w http.ResponseWriter, r *http.Request) {
		file, head, err := r.FormFile("file")
		if err != nil {
			t.Error(err)
			return
		}
		content, _ := io.ReadAll(file)
		arrived <- head.Filename + ": " + string(content) + ", " + r.FormValue("csrf_token")
		(<-answers)(w, r)
	}
	page := func(status int, c views.CasePage) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.WriteHeader(status)
			if err := views.Case(c).Render(context.Background(), w); err != nil {
				t.Error(err)
			}
		}
	}
	path := filepath.Join(t.TempDir(), "offer.pdf")
	write := func(content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("%PDF-1.7 an offer")

	p := open(t, b, d.URL+"/cases/case_01k6v8a", 1280)
	p.MustEval(`() => { window.stayed = true; }`)
	p.MustElement(`[data-testid="exit-use_other_po"]`).MustClick()
	typed := p.MustElement(`[name="input.po_id"]`).MustInput("4500018822")
	field, button := p.MustElement("#f-file"), p.MustElement(`[data-testid="add-file"]`)
	bar, status, complaint := p.MustElement("[data-upload-progress]"), p.MustElement(`[data-testid="upload-status"]`), p.MustElement("#f-file-error")
	says := func(what, words string) {
		t.Helper()
		p.MustWait(`(words) => document.querySelector("[data-testid=upload-status]").textContent === words`, words)
		if status.MustAttribute("role") == nil || *status.MustAttribute("role") != "status" {
			t.Errorf("%s: a screen reader does not hear it", what)
		}
	}
	stayed := func(what string) {
		t.Helper()
		if !p.MustEval(`() => window.stayed === true`).Bool() || typed.MustProperty("value").Str() != "4500018822" {
			t.Fatalf("%s: the page was left, or what was typed is lost", what)
		}
	}
	refused := func(what, words string) {
		t.Helper()
		says(what, "The file was not added.")
		stayed(what)
		if got := complaint.MustText(); !strings.Contains(got, words) || bar.MustVisible() {
			t.Errorf("%s: the page says %q", what, got)
		}
		if !p.MustEval(`() => document.activeElement.id === "f-file" && document.activeElement.getAttribute("aria-invalid") === "true" && document.activeElement.files.length === 1`).Bool() {
			t.Errorf("%s: the focus is not on the field, or the file is lost", what)
		}
	}

	field.MustSetFiles(path)
	button.MustEval(`() => { this.click(); this.click(); }`)
	if got := <-arrived; got != "offer.pdf: %PDF-1.7 an offer, csrf-sample" {
		t.Errorf("%q arrived", got)
	}
	says("while it is sent", "The file offer.pdf is being sent.")
	if !bar.MustVisible() || *bar.MustAttribute("aria-label") == "" {
		t.Error("how much is sent does not show")
	}
	answers <- page(http.StatusUnprocessableEntity, with(views.UploadForm{Error: "is no PDF, PNG, JPEG, GIF or WebP"}))
	refused("a file that is none", "is no PDF, PNG, JPEG, GIF or WebP")

	button.MustClick()
	<-arrived
	answers <- func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		// Closed before a word, the browser would send it once more by itself.
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 1000\r\n\r\n<p>")
		_ = conn.Close()
	}
	refused("a connection that broke", "The connection broke")

	write(strings.Repeat("x", 101))
	field.MustSetFiles(path)
	button.MustClick()
	refused("a file that is too large", "more than 20 MB")

	write("%PDF-1.7 an offer")
	field.MustSetFiles(path)
	button.MustClick()
	<-arrived
	answers <- page(http.StatusOK, with(views.UploadForm{}, views.File{Name: ui.Foreign("offer.pdf"), Kind: views.FilePDF, URL: "/files/file_1", DownloadURL: "/files/file_1?download=1"}))
	says("in the end", "The file offer.pdf was added.")
	stayed("in the end")
	if got := p.MustElement(`[data-live-region="files"]`).MustText(); !strings.Contains(got, "offer.pdf") || complaint.MustVisible() || field.MustEval(`() => this.files.length`).Int() != 0 {
		t.Errorf("in the end the files read %q", got)
	}
	if len(arrived) != 0 {
		t.Errorf("a file was sent twice: %q", <-arrived)
	}
}
