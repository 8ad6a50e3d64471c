package views_test

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/static"
)

// TestGalleryIsWrittenForLookingAt writes every page to the directory named by
// APDESK_GALLERY, with its style beside it, for a person to open in a browser.
func TestGalleryIsWrittenForLookingAt(t *testing.T) {
	dir := os.Getenv("APDESK_GALLERY")
	if dir == "" {
		t.Skip("APDESK_GALLERY names no directory")
	}
	for _, name := range []string{"css/app.css", "css/lists.css", "css/records.css", "css/settings.css", "js/app.js", "favicon.svg"} {
		a, _ := static.File(name)
		file := filepath.Join(dir, filepath.Base(name))
		if err := os.WriteFile(file, a.Body, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for name, page := range gallery() {
		for _, theme := range []string{"light", "dark"} {
			var b bytes.Buffer
			if err := page.Render(context.Background(), &b); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			html := b.String()
			for _, asset := range []string{"css/app.css", "css/lists.css", "css/records.css", "css/settings.css", "js/app.js", "favicon.svg"} {
				html = strings.ReplaceAll(html, static.URL(asset), filepath.Base(asset))
			}
			html = strings.Replace(html, `<html lang="en"`, `<html lang="en" data-theme="`+theme+`"`, 1)
			// Nothing serves a stream here.
			html = strings.ReplaceAll(html, "data-live=", "data-no-live=")
			if err := os.WriteFile(filepath.Join(dir, name+"-"+theme+".html"), []byte(html), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// galleryNames are the names of all pages, in order.
func galleryNames() []string { return slices.Sorted(maps.Keys(gallery())) }
