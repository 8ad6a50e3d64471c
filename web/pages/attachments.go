package pages

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
	"github.com/apdesk/apdesk/web/upload"
)

const (
	formFile = "file"
	formERP  = "erp"
)

func mountFiles(get, post route) {
	get("/files/:id", (*visit).showFile)
	post("/cases/:id/files", (*visit).attachFile)
	post("/settings/erp", (*visit).setERPLink)
}

// filePolicy forbids a file everything: whatever stands in it, a browser only shows it.
const filePolicy = "sandbox; default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"

// showFile is GET /files/{id}.
func (v *visit) showFile() error {
	var file models.Attachment
	err := v.find(func() error {
		var err error
		file, err = v.p.store.File(v.ctx, v.by, v.param("id"))
		return err
	})
	if err != nil {
		return err
	}
	etag := `"` + file.SHA256 + `"`
	v.c.Set(fiber.HeaderContentSecurityPolicy, filePolicy)
	v.c.Set(fiber.HeaderXFrameOptions, "SAMEORIGIN")
	v.c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	v.c.Set(fiber.HeaderCacheControl, "private, no-cache") // asked for again each time, since access can end
	v.c.Set(fiber.HeaderETag, etag)
	if v.c.Get(fiber.HeaderIfNoneMatch) == etag {
		return v.c.SendStatus(http.StatusNotModified)
	}
	v.c.Set(fiber.HeaderContentType, file.MediaType)
	v.c.Set(fiber.HeaderContentDisposition, upload.Disposition(file.Name, v.c.Query("download") == ""))
	v.c.Context().SetBodyStream(v.p.store.FileContent(v.ctx, file), int(file.Size))
	return nil
}

// attachFile is POST /cases/{id}/files. The body is not unpacked as other forms are: it would stand in
// memory twice.
func (v *visit) attachFile() error {
	id := v.param("id")
	if err := v.goToCase(id); err != nil {
		return err
	}
	sent, err := upload.Of(v.c, "")
	if err == nil {
		_, err = v.p.queue.AttachFile(v.ctx, v.by, id, sent)
	}
	if errors.Is(err, upload.ErrNoFile) || sent.Name == "" && models.IsCode(err, models.ValidationError) && !errors.Is(err, models.ErrFileTooLarge) {
		err = models.Invalid(models.Issue{Path: "/file", Message: "choose a file first"})
	}
	if err == nil {
		v.p.say(v.c, "file_added")
		return v.backTo(caseURL(id) + "#files")
	}
	r, ok := v.refuse(err, formFile, v.tr("The file was not added"), nil, nil)
	if !ok {
		return err
	}
	return v.renderCase(id, formStatus(err), caseForm{file: r})
}

func fileURL(id string) templ.SafeURL { return templ.SafeURL("/files/" + url.PathEscape(id)) }

func (w words) file(f models.Attachment) views.File {
	kind := views.FilePDF
	if f.Image() {
		kind = views.FileImage
	}
	return views.File{Name: ui.Foreign(f.Name), Kind: kind, Size: w.fileSize(f.Size), Type: fileType(f.MediaType), URL: fileURL(f.ID), DownloadURL: fileURL(f.ID) + "?download=1",
		By: ui.Foreign(f.UploadedByName), At: w.at(f.CreatedAt), SHA256: f.SHA256}
}

// fileNamed is the file that a piece of evidence names; nil when it is not there.
func (v *visit) fileNamed(id string) *views.File {
	f, err := v.p.store.File(v.ctx, v.by, id)
	if err != nil {
		return nil // the page goes without
	}
	out := v.file(f)
	return &out
}

// fileSize writes a size for people: 512 bytes, 1.4 MB.
func (w words) fileSize(n int64) string {
	switch {
	case n < 1000:
		return w.trn("%d byte", "%d bytes", int(n))
	case n < 1000*1000:
		return w.tr("%d kB", (n+500)/1000)
	}
	tenths := (n + 50_000) / 100_000
	return w.tr("%s MB", w.lang.Figures(fmt.Sprintf("%d.%d", tenths/10, tenths%10)))
}

func fileType(mediaType string) string {
	switch mediaType {
	case "image/webp":
		return "WebP"
	case "image/png", "image/gif", "image/jpeg", "application/pdf":
		_, name, _ := strings.Cut(mediaType, "/")
		return strings.ToUpper(name)
	}
	return mediaType
}

// files are those of the case, and the form for people who may add one.
func (v *visit) files(page queue.CasePage, refused refusal) (views.Files, error) {
	var list []models.Attachment
	err := v.p.store.View(v.ctx, v.by, func(tx *models.Tx) error {
		var err error
		list, err = tx.FilesOf(page.Case.CaseID)
		return err
	})
	if err != nil {
		return views.Files{}, err
	}
	var out views.Files
	for _, f := range list {
		if f.UploadedByID == v.by.UserID || queue.ReadsAll(v.by) { // an agent sees its own
			out.Items = append(out.Items, v.file(f))
		}
	}
	if page.CanComment {
		out.Form = &views.UploadForm{Form: v.recordForm(caseURL(page.Case.CaseID) + "/files"), Error: refused.problems["file"], MaxSize: models.MaxFile}
		out.Form.Heading, out.Form.Errors = refused.heading, refused.summary(ui.Field{Name: "file", Label: v.tr("Add a file"), Error: refused.problems["file"]})
	}
	return out, nil
}

// addToCase adds what stands below a case: files, related cases and comments.
func (v *visit) addToCase(out *views.CasePage, page queue.CasePage, form caseForm) error {
	var err error
	if out.Files, err = v.files(page, form.file); err != nil {
		return err
	}
	if out.Related, err = v.related(page); err != nil {
		return err
	}
	members, err := v.p.queue.Mentionable(v.ctx, v.by)
	if err != nil {
		return err
	}
	out.Comments = v.comments(page.Comments, members)
	if out.CommentForm != nil {
		out.CommentForm.People = mentionOptions(members, v.by.UserID)
	}
	return nil
}

// related are the other cases of the same invoice, supplier and run.
func (v *visit) related(page queue.CasePage) ([]views.RelatedGroup, error) {
	found, err := v.p.queue.Related(v.ctx, v.by, page.Case.CaseID)
	if err != nil {
		return nil, err
	}
	var out []views.RelatedGroup
	add := func(heading, testID string, list queue.RelatedList, all string, allURL templ.SafeURL) {
		if len(list.Items) == 0 {
			return
		}
		g := views.RelatedGroup{Heading: heading, TestID: testID}
		if list.More || testID == "related-invoice" {
			g.All, g.AllURL = all, allURL
		}
		for _, c := range list.Items {
			one := views.RelatedCase{Heading: v.codeTitle(c.Code), Number: ui.Foreign(c.InvoiceNumber), Amount: v.money(c.Amount, c.Currency), Status: v.caseBadge(c.Status),
				Opened: v.age(c.CreatedAt), URL: caseURL(c.CaseID)}
			if c.Exit != "" {
				one.Exit = v.lower(v.exit(c.Exit))
			}
			g.Items = append(g.Items, one)
		}
		out = append(out, g)
	}
	id, supplier := invoiceKeys(page.Case.Invoice)
	add(v.tr("Of the same invoice"), "related-invoice", found.Invoice, v.tr("All about this invoice"), v.invoiceURL(id))
	add(v.tr("Of the same supplier"), "related-supplier", found.Supplier, v.tr("Search for the supplier"), v.link(searchPath, "q", supplier))
	add(v.tr("Of the same run"), "related-run", found.Run, v.tr("Search for the run"), v.link(searchPath, "q", page.RunID))
	return out, nil
}

// erpLink is where an invoice stands in the workspace's ERP; nil when the workspace names no address, or
// the invoice lacks what it names.
func (v *visit) erpLink(invoice, po, supplier string) *ui.Link {
	return v.erpLinkOf(v.ws, invoice, po, supplier)
}

func (w words) erpLinkOf(ws models.Workspace, invoice, po, supplier string) *ui.Link {
	template, err := models.ParseERPLink(ws.ERPLink)
	if err != nil {
		return nil // the settings show what is kept
	}
	address, ok := template.URL(map[string]string{"invoice_id": invoice, "po_id": po, "supplier_id": supplier, "workspace_id": ws.ID})
	if !ok {
		return nil
	}
	link, ok := ui.ParseLink(ui.Foreign(w.tr("Open in the ERP")), address)
	if !ok {
		return nil
	}
	return &link
}
