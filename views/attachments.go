package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// FileKind is how a file is shown.
type FileKind string

// The kinds of file.
const (
	FileImage FileKind = "image"
	FilePDF   FileKind = "pdf"
)

// File is a file that was uploaded to the desk.
type File struct {
	Name        ui.Foreign
	Kind        FileKind
	Size        string // "1.4 MB"
	Type        string // "PDF"
	URL         templ.SafeURL
	DownloadURL templ.SafeURL
	By          ui.Foreign
	At          ui.Moment
	SHA256      string
}

// Files are those of a case, and the form to add one; nil form for people who cannot.
type Files struct {
	Items []File
	Form  *UploadForm
}

// UploadForm posts a file.
type UploadForm struct {
	Form
	Error   string
	MaxSize int64 // bytes
}

// RelatedGroup is a titled list of other cases.
type RelatedGroup struct {
	Heading string // "Of the same supplier"
	Items   []RelatedCase
	AllURL  templ.SafeURL // where all of them stand; "" when these are all
	All     string        // words of that link
	TestID  string
}

// RelatedCase is one case beside another.
type RelatedCase struct {
	Heading string     // "PO is closed"
	Number  ui.Foreign // of its invoice
	Amount  string     // "1,234.50 EUR"
	Status  ui.Badge
	Exit    string // "reopen the PO"; "" while nobody decided
	Opened  ui.Moment
	URL     templ.SafeURL
}

// CommentPart is a stretch of a comment; a mention names a person.
type CommentPart struct {
	Text    ui.Foreign
	Mention string // the person's name
}

// ERPSetting is where an invoice stands in the workspace's ERP.
type ERPSetting struct {
	Link    ui.Foreign // the template; "" for none
	Example *ui.Link   // as it would be for an invoice the desk knows
	Form    *Form      // nil for people who may not change it
	Field   ui.Field
}
