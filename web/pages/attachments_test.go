package pages_test

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/PuerkitoBio/goquery"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

// addFile posts a file with the form of a case.
func (v *visitor) addFile(p page, name, content string) page {
	v.t.Helper()
	action, fields := p.fill(v.t, "file-form", nil)
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for field := range fields {
		if err := form.WriteField(field, fields.Get(field)); err != nil {
			v.t.Fatal(err)
		}
	}
	part, err := form.CreateFormFile("file", name)
	if err != nil {
		v.t.Fatal(err)
	}
	if _, err := io.WriteString(part, content); err != nil {
		v.t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		v.t.Fatal(err)
	}
	req := httptest.NewRequest(http.MethodPost, "http://desk.example"+action, &body)
	req.Header.Set("Content-Type", form.FormDataContentType())
	for name, value := range v.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	res, err := v.app.Test(req, -1)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	doc, err := goquery.NewDocumentFromReader(bytes.NewReader(raw))
	if err != nil {
		v.t.Fatal(err)
	}
	return page{status: res.StatusCode, location: res.Header.Get("Location"), header: res.Header, doc: doc, raw: string(raw)}
}

const tinyPNG = "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR<script>alert(1)</script>"

func TestAFileIsAddedShownAndForbiddenEverything(t *testing.T) {
	t.Parallel()
	modelstest.EachAt(t, func(t *testing.T, store *models.Store, clock *modelstest.Clock) {
		d := newDeskOn(t, store, clock)
		id := d.handOver(d.robot(), poClosed)
		petra := d.signedIn("petra")
		if p := petra.addFile(petra.get("/cases/"+id), "../../evil.html", tinyPNG); p.status != http.StatusSeeOther || !strings.HasPrefix(p.location, "/cases/"+id) {
			t.Fatalf("adding a file is answered %d %s", p.status, p.raw)
		}
		seen := petra.get("/cases/" + id)
		seen.wants(t, "files", "evil.html.png", "PNG", "Petra")
		link := seen.doc.Find("[data-testid=file-open]").AttrOr("href", "")
		file := petra.do(http.MethodGet, link, nil)
		if file.status != http.StatusOK || file.raw != tinyPNG || file.header.Get("Content-Type") != "image/png" || !strings.HasPrefix(file.header.Get("Content-Security-Policy"), "sandbox; default-src 'none'") ||
			file.header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(file.header.Get("Content-Disposition"), "inline") || !strings.HasPrefix(file.header.Get("Cache-Control"), "private") {
			t.Errorf("the file is answered %d %v", file.status, file.header)
		}
		if got := petra.do(http.MethodGet, link+"?download=1", nil).header.Get("Content-Disposition"); !strings.HasPrefix(got, `attachment; filename="evil.html.png"`) {
			t.Errorf("saved it is %q", got)
		}
		petra.headers = map[string]string{"If-None-Match": file.header.Get("ETag")}
		if p := petra.do(http.MethodGet, link, nil); p.status != http.StatusNotModified {
			t.Errorf("asked again it is answered %d", p.status)
		}
		petra.headers = nil
		if p := d.signedIn("yuki").do(http.MethodGet, link, nil); p.status != http.StatusNotFound {
			t.Errorf("in another workspace it is answered %d", p.status)
		}
		if p := d.stranger().do(http.MethodGet, link, nil); p.status == http.StatusOK {
			t.Error("nobody signed in reads it")
		}
		for content, says := range map[string]string{"<svg xmlns='http://www.w3.org/2000/svg'>": "SVG", "PK\x03\x04": "ZIP", "": "empty"} {
			if p := petra.addFile(petra.get("/cases/"+id), "a.png", content); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.raw, says) {
				t.Errorf("%q is answered %d", content, p.status)
			}
		}
		if d.signedIn("anna").get("/cases/"+id).doc.Find("[data-testid=file-form]").Length() != 0 {
			t.Error("somebody who does not work the queue has the form")
		}
	})
}

func TestACommentNamesAPersonAndTellsThem(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	petra := d.signedIn("petra")
	petra.follow(petra.send(petra.get("/cases/"+id), "comment-form", one("text", "<b>look</b> @fiona", "mention", "Paul")))
	seen := petra.get("/cases/" + id)
	if got := seen.doc.Find(".mention").Length(); got != 2 || seen.doc.Find("[data-testid=comment] b").Length() != 0 {
		t.Errorf("%d people are marked", got)
	}
	for _, who := range []string{"paul", "fiona"} {
		if p := d.signedIn(who).get("/notices"); !strings.Contains(p.raw, "mentions you") || !strings.Contains(p.raw, "Petra") {
			t.Errorf("%s is not told", who)
		}
	}
	if p := petra.send(seen, "comment-form", one("text", "x", "mention", "Nobody")); p.status != http.StatusUnprocessableEntity || !strings.Contains(p.raw, "names no active person") {
		t.Errorf("a name nobody has is answered %d", p.status)
	}
}

func TestTheERPIsOneLinkAway(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	id := d.handOver(d.robot(), poClosed)
	request := d.ask(d.robot(), approvalFor("500.00"))
	adam := d.signedIn("adam")
	if p := adam.send(adam.get("/settings"), "erp-form", one("erp_link", "http://erp.example.com/{invoice_id}")); p.status != http.StatusUnprocessableEntity {
		t.Errorf("an address without https is answered %d", p.status)
	}
	adam.follow(adam.send(adam.get("/settings"), "erp-form", one("erp_link", "https://erp.example.com/i/{invoice_id}?c={workspace_id}"))).wants(t, "erp-example", "erp.example.com")
	for _, path := range []string{"/cases/" + id, "/approvals/" + request} {
		a := d.signedIn("fiona").get(path).doc.Find(`a[href="https://erp.example.com/i/5105600123?c=1000"]`)
		if a.Length() == 0 || !strings.Contains(a.AttrOr("rel", ""), "noreferrer") {
			t.Errorf("%s does not lead there", path)
		}
	}
	if d.signedIn("fiona").get("/settings").doc.Find("[data-testid=erp-form]").Length() != 0 {
		t.Error("somebody who is no admin can set it")
	}
}
