package web

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
)

// sendFile posts a body to the REST interface.
func (w *world) sendFile(method, path, token, kind string, body []byte) (status int, header http.Header, text string) {
	w.t.Helper()
	req := httptest.NewRequest(method, path, bytes.NewReader(body))
	req.Header.Set("Authorization", "Bearer "+w.tokens[token])
	req.Header.Set("X-Workspace-Id", "1000")
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	res, err := w.server.app.Test(req, -1)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(raw)
}

func TestAnAgentUploadsAFileAndOthersDoNotReadIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	status, _, text := w.sendFile("POST", "/api/v1/files?name=..%2Fscan.html", "agent", "text/html", []byte("%PDF-1.7 scan"))
	var file struct {
		FileID    string `json:"file_id"`
		Name      string `json:"name"`
		MediaType string `json:"media_type"`
		Size      int64  `json:"size"`
		SHA256    string `json:"sha256"`
	}
	if err := json.Unmarshal([]byte(text), &file); err != nil || status != http.StatusCreated || file.Name != "scan.html.pdf" || file.MediaType != "application/pdf" || file.Size != 13 || len(file.SHA256) != 64 {
		t.Fatalf("got %d %s", status, text)
	}
	if status, header, text := w.sendFile("GET", "/api/v1/files/"+file.FileID+"/content", "reader", "", nil); status != http.StatusOK || text != "%PDF-1.7 scan" || header.Get("X-Content-Type-Options") != "nosniff" ||
		!strings.HasPrefix(header.Get("Content-Disposition"), "attachment") {
		t.Errorf("reading it is answered %d %v", status, header)
	}
	for _, other := range []string{"fiona", "both"} {
		for _, path := range []string{"/api/v1/files/" + file.FileID, "/api/v1/files/" + file.FileID + "/content"} {
			if status, _, _ := w.sendFile("GET", path, other, "", nil); status != http.StatusNotFound {
				t.Errorf("GET %s by %s is answered %d", path, other, status)
			}
		}
	}
	for who, want := range map[string]int{"fiona": http.StatusForbidden, "reader": http.StatusForbidden, "nobody": http.StatusUnauthorized} {
		if status, _, _ := w.sendFile("POST", "/api/v1/files?name=a.pdf", who, "", []byte("%PDF-1.7")); status != want {
			t.Errorf("%s is answered %d", who, status)
		}
	}
	for body, want := range map[string]int{"<html>": http.StatusBadRequest, "": http.StatusBadRequest, "%PDF-" + strings.Repeat("x", models.MaxFile-4): http.StatusRequestEntityTooLarge,
		"%PDF-" + strings.Repeat("x", models.MaxFile-5): http.StatusCreated} {
		if status, _, text := w.sendFile("POST", "/api/v1/files?name=a.pdf", "agent", "", []byte(body)); status != want {
			t.Errorf("%d bytes are answered %d %.200s", len(body), status, text)
		}
	}
	big := []byte(`{"x": "` + strings.Repeat("x", BodyLimit) + `"}`)
	if _, err := w.server.app.Test(httptest.NewRequest("POST", "/api/v1/handovers", bytes.NewReader(big)), -1); err == nil {
		if status, _, _ := w.sendFile("POST", "/api/v1/handovers", "agent", "application/json", big); status != http.StatusRequestEntityTooLarge {
			t.Errorf("another body of more than 14 MiB is answered %d", status)
		}
	}
}
