package pages

import (
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views/lang"
)

func TestWrongValuesAreToldInThePersonsLanguage(t *testing.T) {
	t.Parallel()
	w := words{lang: lang.Find("de")}
	err := models.Invalid(models.Issue{Path: "/list", Message: "is no list of cases that can be kept"}, models.Issue{Path: "/file", Message: "is text by its content; send a PDF, PNG, JPEG, GIF or WebP file"})
	ne, _ := models.AsNamed(err)
	text := w.problemPage(ne, 422).Text
	if !strings.HasPrefix(text, "Korrigieren Sie") || strings.Contains(text, "is ") || strings.Contains(text, "send a") || !strings.Contains(text, "dem Inhalt nach Text") {
		t.Errorf("a German reads %q", text)
	}
}
