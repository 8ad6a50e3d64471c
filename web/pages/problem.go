package pages

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
	"github.com/apdesk/apdesk/web/problem"
)

// Problem answers a request that failed with a page that says what to do next. It is also for the
// server's own error handler: errors of Fiber keep their status.
func (p *Pages) Problem(c *fiber.Ctx, err error) error {
	ne, status, unexpected := problem.Of(err, problem.RequestID(c))
	if unexpected {
		problem.Log(c.UserContext(), p.log, ne, problem.RequestID(c), err)
	}
	if ne.Code == models.ValidationError {
		status = http.StatusUnprocessableEntity
	}
	if wait := problem.Wait(ne); wait > 0 {
		c.Set(fiber.HeaderRetryAfter, strconv.Itoa(wait))
	}
	var who *visit
	if ne.Code != models.Unavailable { // who it is for stands in the database
		who = p.whoever(c)
	}
	page := p.speaker(c).problemPage(ne, status)
	if ne.Code == models.Unavailable {
		page.Page = views.Page{Title: page.Heading, Assets: assets(), SelfURL: "/"}
		page.Typed, page.Again = p.sentInVain(c)
	} else {
		page.Page = p.around(who, page.Heading)
		page.Typed, _ = p.sentInVain(c)
	}
	page.Status = strconv.Itoa(status)
	if status >= http.StatusInternalServerError {
		page.RequestID = problem.RequestID(c)
	}
	return p.render(c, status, views.Problem(page))
}

// whoever is the visit of the person who asked, in their language; nil when nobody is signed in, or when
// that cannot be read.
func (p *Pages) whoever(c *fiber.Ctx) *visit {
	v, err := p.visit(c)
	if err == nil {
		if err = v.chooseWorkspace(); err != nil && v.chosen != "" {
			err = v.enter(v.chosen) // the address named one out of reach
		}
	}
	if err != nil {
		return nil
	}
	v.speak()
	return v
}

// around is the frame of a problem page: the person's own when they are signed in and it can be read.
func (p *Pages) around(v *visit, title string) views.Page {
	if v == nil {
		return views.Page{Title: title, Assets: assets(), SelfURL: "/"}
	}
	page, err := v.page(title, "", "")
	if err != nil {
		return v.plainPage(title)
	}
	return page
}

// statusOf is the status of a page for an error. A form that is not filled in right is 422.
func statusOf(err error) int {
	ne, status, _ := problem.Of(err, "")
	if ne.Code == models.ValidationError {
		return http.StatusUnprocessableEntity
	}
	return status
}

// formStatus is the status of a page that shows a refused form again.
func formStatus(err error) int {
	if models.IsCode(err, models.Conflict) {
		return http.StatusConflict
	}
	return http.StatusUnprocessableEntity
}

// problemPage says in words what an error means for the person.
func (w words) problemPage(ne *models.NamedError, status int) views.ProblemPage {
	page := views.ProblemPage{LinkText: w.tr("Your desk"), URL: "/"}
	switch {
	case status == http.StatusNotFound:
		page.Heading, page.Text = w.tr("There is nothing here"), w.tr("Either this address is wrong, or the record belongs to a workspace you cannot reach.")
	case status == http.StatusRequestEntityTooLarge:
		page.Heading, page.Text, page.Next = w.tr("This is too large"), w.tr("A file may have 20 MB, anything else 14 MB."), w.tr("Nothing was changed.")
	case status == http.StatusMethodNotAllowed:
		page.Heading, page.Text = w.tr("This address only takes forms"), w.tr("Nothing was changed. A link never decides anything here.")
	case status == http.StatusUnauthorized:
		page.Heading, page.Text, page.LinkText, page.URL = w.tr("You are not signed in"), w.tr("Your session has ended. Nothing was changed."), w.tr("Sign in"), "/login"
	case ne.Code == models.InsufficientPermission:
		page.Heading, page.Text, page.Next = w.tr("This is not yours to do"), w.problem(ne.Message), w.tr("Nothing was changed.")
	case ne.Code == models.SecurityBlocked:
		page.Heading, page.Text, page.Next = w.tr("This form is not current"), w.tr("It was not sent from a page of this session, or the page is too old. Nothing was changed."), w.tr("Open the page again and send the form from there.")
	case status == http.StatusForbidden:
		page.Heading, page.Text, page.Next = w.tr("This was refused"), w.problem(ne.Message), w.tr("Nothing was changed.")
	case status == http.StatusConflict:
		page.Heading, page.Text, page.Next = w.tr("Something else happened first"), w.problem(ne.Message), w.tr("Nothing you sent was recorded.")
	case status == http.StatusTooManyRequests:
		page.Heading, page.Text = w.tr("Too many requests"), w.problem(ne.Message)
	case status == http.StatusServiceUnavailable:
		page.Heading, page.Text, page.Next = w.tr("The desk is not reachable just now"), w.tr("What you sent was either recorded whole or not at all."), w.tr("Wait a few seconds, then try again.")
	case status >= http.StatusInternalServerError:
		page.Heading, page.Text = w.tr("Something went wrong"), w.tr("The fault is on the desk's side. What you sent was either recorded whole or not at all.")
	case ne.Code == models.ValidationError && len(issuesOf(ne)) > 0:
		var wrong []string
		for _, is := range issuesOf(ne) {
			wrong = append(wrong, strings.TrimSpace(ui.Foreign(is.Path).Plain()+" "+w.said(is.Message)))
		}
		page.Heading, page.Text, page.Next = w.tr("This could not be done"), w.tr("Correct these values and send again: %s.", strings.Join(wrong, "; ")), w.tr("Nothing was changed.")
	default:
		page.Heading, page.Text, page.Next = w.tr("This could not be done"), w.problem(ne.Message), w.tr("Nothing was changed.")
	}
	return page
}

func issuesOf(ne *models.NamedError) []models.Issue {
	issues, _ := ne.Details["issues"].([]models.Issue)
	return issues
}
