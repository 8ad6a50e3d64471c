package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"reflect"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/problem"
	"github.com/apdesk/apdesk/web/upload"
	"github.com/apdesk/apdesk/web/wire"
)

// fileAnswer is a file that was uploaded.
type fileAnswer struct {
	FileID    string      `json:"file_id"`
	Name      string      `json:"name"`
	MediaType string      `json:"media_type"`
	Size      int64       `json:"size"`
	SHA256    string      `json:"sha256"`
	CaseID    *string     `json:"case_id"` // null until a handover or answer named it
	CreatedAt models.Time `json:"created_at"`
}

func answerOf(f models.Attachment) fileAnswer {
	a := fileAnswer{FileID: f.ID, Name: f.Name, MediaType: f.MediaType, Size: f.Size, SHA256: f.SHA256, CreatedAt: f.CreatedAt}
	if id := f.Ref().CaseID; id != "" {
		a.CaseID = &id
	}
	return a
}

type fileQuery struct {
	wire.Where
	Name string `json:"name,omitempty" wire:"max=1000" jsonschema:"name of the file, when the body is the file itself"`
}

func (a *API) uploadFile() endpoint {
	return endpoint{
		method: http.MethodPost, path: "/files", name: "uploadFile", summary: "Upload a file to hand over",
		about:  fmt.Sprintf("PDF, PNG, JPEG, GIF or WebP up to %d MB, told by its content alone. Evidence of the kind file names its file_id; a file that nothing named is removed after a day.", models.MaxFile>>20),
		action: "route_to_person", scopes: []models.Scope{models.ScopeCasesWrite}, roles: []models.Role{models.RoleAgent}, upload: true,
		query: reflect.TypeFor[fileQuery](), answer: reflect.TypeFor[fileAnswer](), status: []int{http.StatusCreated},
		fails: []models.Code{models.Conflict},
		run: func(ctx context.Context, c *call) (int, any, error) {
			u, err := upload.Of(c.http, c.query.(*fileQuery).Name)
			if errors.Is(err, upload.ErrNoFile) {
				return 0, nil, models.Invalid(models.Issue{Path: "/file", Message: "is required: send the file as the body, or as the part file of a form"})
			}
			if err != nil {
				return 0, nil, err
			}
			f, err := a.cfg.Queue.UploadFile(ctx, c.by, u, c.key)
			if errors.Is(err, models.ErrFileTooLarge) {
				return 0, tooLarge{}, nil
			}
			if err != nil {
				return 0, nil, err
			}
			return http.StatusCreated, answerOf(f), nil
		},
	}
}

// tooLarge refuses a file whose body just fits.
type tooLarge struct{}

func (tooLarge) send(c *fiber.Ctx) error {
	ne := models.E(models.BadRequest, models.ErrFileTooLarge.Message, map[string]any{"limit_bytes": models.MaxFile})
	return problem.SendNamed(c, ne, http.StatusRequestEntityTooLarge)
}

func (a *API) getFile() endpoint {
	return endpoint{
		method: http.MethodGet, path: "/files/{file_id}", name: "getFile", summary: "Read about a file",
		about: "Agents see the files they uploaded, people of the workspace those of cases and requests too.", action: "get_case",
		scopes: []models.Scope{models.ScopeCasesRead}, answer: reflect.TypeFor[fileAnswer](), status: []int{http.StatusOK},
		fails: []models.Code{models.NotFound},
		run: func(ctx context.Context, c *call) (int, any, error) {
			f, err := a.cfg.Store.File(ctx, c.by, c.id)
			return http.StatusOK, answerOf(f), err
		},
	}
}

func (a *API) getFileContent() endpoint {
	return endpoint{
		method: http.MethodGet, path: "/files/{file_id}/content", name: "getFileContent", summary: "Download a file",
		about: "The bytes as they were uploaded.", action: "get_case", binary: true,
		scopes: []models.Scope{models.ScopeCasesRead}, answer: reflect.TypeFor[string](), status: []int{http.StatusOK},
		fails: []models.Code{models.NotFound},
		run: func(ctx context.Context, c *call) (int, any, error) {
			f, err := a.cfg.Store.File(ctx, c.by, c.id)
			return http.StatusOK, content{store: a.cfg.Store, file: f}, err
		},
	}
}

// content sends a file.
type content struct {
	store *models.Store
	file  models.Attachment
}

func (s content) send(c *fiber.Ctx) error {
	c.Set(fiber.HeaderContentType, s.file.MediaType)
	c.Set(fiber.HeaderContentDisposition, upload.Disposition(s.file.Name, false))
	c.Set(fiber.HeaderContentSecurityPolicy, "sandbox; default-src 'none'")
	c.Set(fiber.HeaderXContentTypeOptions, "nosniff")
	c.Context().SetBodyStream(s.store.FileContent(c.UserContext(), s.file), int(s.file.Size))
	return nil
}
