// Package upload finds the file in the body of a request. It reads the body where it stands and holds
// no second copy of it.
package upload

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/url"
	"strings"

	"github.com/gofiber/fiber/v2"
	"github.com/gofiber/fiber/v2/utils"

	"github.com/apdesk/apdesk/models"
)

// BodyLimit is the most bytes a request with a file may have: the file and what stands around it.
const BodyLimit = models.MaxFile + 64<<10

const (
	maxParts = 20      // parts of a form that are looked at
	maxValue = 4 << 10 // bytes of a field beside the file
)

// ErrNoFile is what a body without a file fails with.
var ErrNoFile = errors.New("upload: no file in the body")

// Takes says whether a request may carry a file, and so be larger than others.
func Takes(method, path string) bool {
	if method != fiber.MethodPost {
		return false
	}
	path, _, _ = strings.Cut(path, "?")
	if path == "/api/v1/files" {
		return true
	}
	id, isCase := strings.CutPrefix(path, "/cases/")
	id, isFiles := strings.CutSuffix(id, "/files")
	return isCase && isFiles && id != "" && !strings.Contains(id, "/")
}

// Of is the file of a request: the first file of a form, or else the body as it is, under a name given
// otherwise. It fails with ErrNoFile, or BAD_REQUEST when the form cannot be read. The upload must be
// used before the handler of the request returns.
func Of(c *fiber.Ctx, name string) (models.Upload, error) {
	return find(c.Body(), utils.CopyString(c.Get(fiber.HeaderContentType)), name)
}

func find(body []byte, contentType, name string) (models.Upload, error) {
	form, err := newForm(body, contentType)
	if err != nil {
		return models.Upload{}, err
	}
	if form == nil {
		if len(body) == 0 {
			return models.Upload{}, ErrNoFile
		}
		return models.Upload{Name: name, Open: func() (io.Reader, error) { return bytes.NewReader(body), nil }}, nil
	}
	part, err := form.file()
	if err != nil {
		return models.Upload{}, err
	}
	if sent := part.FileName(); sent != "" && name == "" {
		name = sent
	}
	return models.Upload{Name: name, Open: func() (io.Reader, error) {
		form, err := newForm(body, contentType)
		if err != nil {
			return nil, err
		}
		return form.file()
	}}, nil
}

// Field is a field that stands in a form before its file, "" when there is none.
func Field(c *fiber.Ctx, name string) string {
	return field(c.Body(), utils.CopyString(c.Get(fiber.HeaderContentType)), name)
}

func field(body []byte, contentType, name string) string {
	form, err := newForm(body, contentType)
	if err != nil || form == nil {
		return ""
	}
	for range maxParts {
		part, err := form.NextRawPart()
		if err != nil || isFile(part) {
			return ""
		}
		if part.FormName() != name {
			continue
		}
		value, err := io.ReadAll(io.LimitReader(part, maxValue+1))
		if err != nil || len(value) > maxValue {
			return ""
		}
		return string(value)
	}
	return ""
}

// form is a body in parts.
type form struct{ *multipart.Reader }

// newForm reads a body that comes as a form; nil for others.
func newForm(body []byte, contentType string) (*form, error) {
	media, params, err := mime.ParseMediaType(contentType)
	if media != fiber.MIMEMultipartForm {
		return nil, nil
	}
	if err != nil || params["boundary"] == "" {
		return nil, broken()
	}
	return &form{multipart.NewReader(bytes.NewReader(body), params["boundary"])}, nil
}

// file goes to the first part that is a file.
func (f *form) file() (*multipart.Part, error) {
	for range maxParts {
		part, err := f.NextRawPart()
		if errors.Is(err, io.EOF) {
			return nil, ErrNoFile
		}
		if err != nil {
			return nil, broken()
		}
		if isFile(part) {
			return part, nil
		}
	}
	return nil, ErrNoFile
}

// isFile says whether a part holds a file, also one whose field was left empty.
func isFile(part *multipart.Part) bool {
	if part.FormName() == "file" {
		return true
	}
	_, params, err := mime.ParseMediaType(part.Header.Get("Content-Disposition"))
	_, named := params["filename"]
	return err == nil && named
}

func broken() error {
	return models.E(models.BadRequest, "The form in the body cannot be read to its end.", nil)
}

// Disposition is the header that says how a file is to be shown and under which name it is saved
// (RFC 6266): in plain letters for old clients, and whole.
func Disposition(name string, inline bool) string {
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || strings.ContainsRune(`"\%;`, r) {
			return '_'
		}
		return r
	}, name)
	kind := "attachment"
	if inline {
		kind = "inline"
	}
	return kind + `; filename="` + plain + `"; filename*=UTF-8''` + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
}
