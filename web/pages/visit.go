package pages

import (
	"context"
	"net/url"
	"slices"
	"strconv"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/static"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/web/problem"
)

// visit is one request of a signed-in person: who it is, in which workspace, and how times are told.
type visit struct {
	p          *Pages
	c          *fiber.Ctx
	ctx        context.Context
	id         models.Identity
	workspaces []models.Workspace // that the person reaches, by id
	ws         models.Workspace
	by         models.Principal
	chosen     string // the workspace the session shows
	csrf       string
	words

	liked   *models.Preference // read once a request
	counted *figuresBeside     // read once a request, since a page needs them and the navigation too
}

// figuresBeside are what the navigation counts.
type figuresBeside struct {
	queues   []queue.QueueCount
	waiting  waitingCount       // requests that wait for this person's decision
	answers  []confirm.ListItem // questions of other servers that wait for this person
	unread   int                // notices, counted up to mostUnread
	views    []keptView         // the first of the person's views
	allViews int
}

// enter goes to one of the person's workspaces for the rest of this request. What the session shows
// stays.
func (v *visit) enter(workspaceID string) error {
	by, err := v.id.As(workspaceID, models.ChannelWeb, problem.RequestID(v.c))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(v.workspaces, func(w models.Workspace) bool { return w.ID == workspaceID })
	if i < 0 {
		return models.Missing("workspace", workspaceID)
	}
	if err := v.needSecondFactor(v.workspaces[i], by); err != nil {
		return err
	}
	v.ws, v.by, v.counted = v.workspaces[i], by, nil
	v.zone = v.ws.Zone()
	v.timing = v.timingHere()
	return nil
}

// chooseWorkspace enters the workspace named by the address, else the one the session shows, else the
// first.
func (v *visit) chooseWorkspace() error {
	reachable := v.id.Reachable()
	if len(reachable) == 0 {
		return models.E(models.MembershipInactive, "You are no active member of any workspace. An admin of a workspace can add you.", nil)
	}
	v.chosen = reachable[0]
	if s := v.id.Session; s != nil && s.WorkspaceID != nil && slices.Contains(reachable, *s.WorkspaceID) {
		v.chosen = *s.WorkspaceID
	}
	if named := v.c.Query("workspace_id"); named != "" && v.c.Method() != fiber.MethodPost {
		return v.enter(named)
	}
	return v.enter(v.chosen)
}

// find enters the workspace of the person's that holds a record, the shown one first. read answers
// NOT_FOUND where the record is not. A record that is in none of them is NOT_FOUND, whether or not
// another workspace has it.
func (v *visit) find(read func() error) error {
	err := read()
	if !models.IsCode(err, models.NotFound) {
		return err
	}
	shown := v.by.WorkspaceID
	for _, ws := range v.id.Reachable() {
		if ws == shown {
			continue
		}
		if enterErr := v.enter(ws); isSecondFactorMissing(enterErr) {
			continue // what is in there is not theirs to see yet
		} else if enterErr != nil {
			return enterErr
		}
		if err := read(); !models.IsCode(err, models.NotFound) {
			return err
		}
	}
	if enterErr := v.enter(shown); enterErr != nil {
		return enterErr
	}
	return err
}

// reader is how this person reads foreign data.
func (v *visit) reader() reader {
	return reader{words: v.words, bankData: seesBankData(v.by), invoiceURL: v.invoiceURL, fileOf: v.fileNamed, erp: v.erpLink}
}

// link is an address of a list, in the workspace of this request.
func (v *visit) link(path string, query ...string) templ.SafeURL {
	q := url.Values{}
	for i := 0; i+1 < len(query); i += 2 {
		if query[i+1] != "" {
			q.Set(query[i], query[i+1])
		}
	}
	if v.by.WorkspaceID != v.chosen {
		q.Set("workspace_id", v.by.WorkspaceID)
	}
	if len(q) > 0 {
		path += "?" + q.Encode()
	}
	return templ.SafeURL(path)
}

func caseURL(id string) templ.SafeURL    { return templ.SafeURL("/cases/" + url.PathEscape(id)) }
func requestURL(id string) templ.SafeURL { return templ.SafeURL("/approvals/" + url.PathEscape(id)) }
func holdURL(id string) templ.SafeURL    { return templ.SafeURL("/holds/" + url.PathEscape(id)) }
func confirmationURL(id string) templ.SafeURL {
	return templ.SafeURL("/confirmations/" + url.PathEscape(id))
}
func queueURL(q models.Queue) string { return "/queues/" + string(q) }

func assets() views.Assets {
	return views.Assets{CSS: static.URL("css/app.css"), Lists: static.URL("css/lists.css"), Records: static.URL("css/records.css"), Settings: static.URL("css/settings.css"),
		JS: static.URL("js/app.js"), Icon: static.URL("favicon.svg")}
}

// form is what every form of a page begins with.
func (v *visit) form(url templ.SafeURL) views.Form { return views.Form{URL: url, CSRF: v.csrf} }

// page is what stands around the content. self is the address that shows this page again; live names
// the changes it listens to, "" for none.
func (v *visit) page(title string, self templ.SafeURL, live string) (views.Page, error) {
	beside, err := v.counts()
	if err != nil {
		return views.Page{}, err
	}
	p := views.Page{
		Title: title, Assets: assets(), CSRF: v.csrf, SelfURL: self, Now: v.now.UTC().Format("2006-01-02T15:04:05.000000Z07:00"),
		Person:    &views.Person{Name: v.id.User.Name, Roles: v.roleTitles(v.by.Roles), SignOutURL: "/logout"},
		SwitchURL: "/workspace", Flashes: v.flashed(),
	}
	if live != "" {
		p.LiveURL = string(v.link("/live", "topic", live))
	}
	for _, w := range v.workspaces {
		p.Workspaces = append(p.Workspaces, views.Workspace{ID: w.ID, Name: w.Name, Current: w.ID == v.by.WorkspaceID})
	}
	p.Nav = v.nav(self, beside)
	p.Bell = v.bell(beside.unread)
	p.Search = v.searchBox("")
	return p, v.dress(&p, self)
}

// plainPage is a page without what needs the services, for when they fail.
func (v *visit) plainPage(title string) views.Page {
	return views.Page{Title: title, Assets: assets(), CSRF: v.csrf, SelfURL: "/",
		Person:    &views.Person{Name: v.id.User.Name, Roles: v.roleTitles(v.by.Roles), SignOutURL: "/logout"},
		SwitchURL: "/workspace", Workspaces: []views.Workspace{{ID: v.ws.ID, Name: v.ws.Name, Current: true}},
		Nav: v.nav("", &figuresBeside{})}
}

func (v *visit) nav(self templ.SafeURL, beside *figuresBeside) []views.NavGroup {
	item := func(label, path, count, countIs, testID string) views.NavItem {
		url := v.link(path)
		return views.NavItem{Label: label, URL: url, Count: count, CountIs: countIs, Current: pathOf(self) == path, TestID: testID}
	}
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return strconv.FormatInt(n, 10)
	}
	desk := views.NavGroup{Items: []views.NavItem{
		item(v.tr("Your desk"), "/", "", "", "nav-home"),
	}}
	if v.by.MaySearch() || v.by.Has(models.RoleAgent) {
		desk.Items = append(desk.Items, item(v.tr("Approvals"), "/approvals", beside.waiting.text(), v.tr("waiting for you"), "nav-approvals"))
	}
	desk.Items = append(desk.Items,
		item(v.tr("Confirmations"), "/confirmations", number(int64(len(beside.answers))), v.tr("waiting for you"), "nav-confirmations"),
		item(v.tr("Holds"), "/holds", "", "", "nav-holds"))
	queues := views.NavGroup{Heading: v.tr("Queues"), Items: []views.NavItem{item(v.tr("All cases"), allCasesPath, number(countsIn("", beside.queues).Open), v.trc("cases", "open"), "nav-cases")}}
	for _, q := range models.Queues() {
		open := int64(0)
		for _, c := range beside.queues {
			if c.Queue == q {
				open = c.Open
			}
		}
		queues.Items = append(queues.Items, item(v.queue(q), queueURL(q), number(open), v.trc("cases", "open"), "nav-queue-"+string(q)))
	}
	settings := views.NavGroup{Heading: v.tr("Workspace"), Items: []views.NavItem{
		item(v.tr("Settings"), "/settings", "", "", "nav-settings"),
	}}
	if v.by.MaySearch() { // an agent's or an ERP's role opens neither
		settings.Items = append(settings.Items, item(v.tr("Approval rules"), "/settings/rules", "", "", "nav-rules"), item(v.tr("Away"), delegationsPath, "", "", "nav-away"))
	}
	if readsAudit(v.by) {
		desk.Items = append(desk.Items, item(v.tr("Reports"), reportsPath, "", "", "nav-reports"))
		settings.Items = append(settings.Items, item(v.tr("Audit trail"), auditPath, "", "", "nav-audit"))
	}
	if kept := v.viewsNav(beside.views, beside.allViews, self); kept != nil {
		for _, i := range kept.Items { // a list that is kept is one place, not two
			for n := range queues.Items {
				queues.Items[n].Current = queues.Items[n].Current && !i.Current
			}
		}
		return []views.NavGroup{desk, queues, *kept, settings}
	}
	return []views.NavGroup{desk, queues, settings}
}

func pathOf(u templ.SafeURL) string {
	parsed, err := url.Parse(string(u))
	if err != nil {
		return string(u)
	}
	return parsed.Path
}

// stillSignedIn says later, without the request, whether the person's session goes on. Asking is no
// activity of theirs.
func (v *visit) stillSignedIn() func(context.Context) bool {
	if v.id.Session == nil {
		return func(context.Context) bool { return false }
	}
	store, id := v.p.store, v.id.Session.ID
	return func(ctx context.Context) bool {
		alive, err := store.SessionAlive(ctx, id)
		return err == nil && alive
	}
}
