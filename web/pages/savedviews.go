package pages

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

const (
	viewsPath = "/views"
	// viewsBeside bounds how many kept views the navigation counts; the page of views has the rest.
	viewsBeside = 10
	// mostInView is up to where the cases of a kept view are counted.
	mostInView = 99

	formView = "view"
)

// keptView is a list the person keeps, with how much is in it.
type keptView struct {
	models.SavedView
	list  caseList
	known bool // the list can still be read
	found queue.Found
}

// keptViews are the first of the person's views, counted, and how many there are.
func (v *visit) keptViews(limit int) ([]keptView, int, error) {
	saved, all, err := v.p.store.SavedViews(v.ctx, v.by, limit)
	if err != nil || len(saved) == 0 {
		return nil, all, err
	}
	kept := make([]keptView, len(saved))
	var lists []queue.Filter
	for i, s := range saved {
		kept[i] = keptView{SavedView: s}
		kept[i].list, kept[i].known = v.readList(s.Path, s.Query, v.ws.Currency)
		lists = append(lists, kept[i].list.filter)
	}
	found, err := v.p.queue.CountEach(v.ctx, v.by, lists, mostInView)
	if err != nil {
		return nil, all, err
	}
	for i := range kept {
		kept[i].found = found[i]
		kept[i].known = kept[i].known && !found[i].Bad
	}
	return kept, all, nil
}

// url is the list's address, as it is written now.
func (k keptView) url(v *visit) templ.SafeURL {
	if !k.known {
		return v.link(viewsPath)
	}
	return v.link(k.list.path(), k.list.query(nil)...)
}

// count is how much is in the view: "" when nothing is, or nothing was met among those looked at.
func (k keptView) count() string {
	switch {
	case !k.known || k.found.N == 0:
		return ""
	case k.found.More:
		return strconv.Itoa(k.found.N) + "+"
	}
	return strconv.Itoa(k.found.N)
}

// viewsNav is the person's views in the navigation.
func (v *visit) viewsNav(kept []keptView, all int, self templ.SafeURL) *views.NavGroup {
	if len(kept) == 0 {
		return nil
	}
	g := &views.NavGroup{Heading: v.tr("Your views")}
	for _, k := range kept {
		at := k.url(v)
		g.Items = append(g.Items, views.NavItem{Label: ui.Foreign(k.Name).Plain(), URL: at, Count: k.count(), CountIs: v.tr("cases"), Current: sameList(at, self), TestID: "nav-view"})
	}
	label := v.tr("Change these views")
	if all > len(kept) {
		label = v.tr("All %d views", all)
	}
	g.Items = append(g.Items, views.NavItem{Label: label, URL: v.link(viewsPath), Current: pathOf(self) == viewsPath, TestID: "nav-views"})
	return g
}

// sameList says whether two addresses are one list, on whichever page of it.
func sameList(a, b templ.SafeURL) bool {
	plain := func(u templ.SafeURL) string {
		parsed, err := url.Parse(string(u))
		if err != nil {
			return string(u)
		}
		query := parsed.Query()
		query.Del("cursor")
		query.Del("select")
		return parsed.Path + "?" + query.Encode()
	}
	return plain(a) == plain(b)
}

// keepable lets the person keep the list, or says under which name they do.
func (v *visit) keepable(out *views.QueuePage, l caseList, kept []keptView, refused refusal) {
	path, query := l.address()
	for _, k := range kept {
		if k.Path == path && k.Query == query {
			out.Saved = k.Name
			return
		}
	}
	if len(l.issues) > 0 && refused.form == "" {
		return
	}
	name := refused.field(ui.Field{Name: "name", Label: v.tr("Name of the view"), Required: true, Hint: v.tr("It stands beside the queues, with how much is in it. Nobody else sees it.")})
	list := path
	if query != "" {
		list += "?" + query
	}
	out.Save = &views.SaveViewForm{Form: v.form(viewsPath), Name: name, List: list, Open: refused.form != ""}
	out.Save.Heading, out.Save.Errors = refused.heading, refused.summary(name)
}

// saveView is POST /views with name and list, the address of a list.
func (v *visit) saveView() error {
	typed := v.typed("name", "list")
	u, err := url.Parse(localPath(typed["list"]))
	l, known := caseList{}, false
	if err == nil {
		l, known = v.readList(u.Path, u.RawQuery, v.ws.Currency)
	}
	if !known || len(l.issues) > 0 {
		return models.Invalid(models.Issue{Path: "/list", Message: "is no list of cases that can be kept"})
	}
	path, query := l.address()
	if _, err = v.p.store.SaveView(v.ctx, v.by, typed["name"], path, query); err == nil {
		v.p.say(v.c, "view_kept")
		return seeOther(v.c, string(v.link(l.path(), l.query(nil)...)))
	}
	refused, ok := v.refuse(err, formView, v.tr("The list was not kept"), typed, nil)
	if !ok {
		return err
	}
	return v.showList(l, refused, formStatus(err))
}

// showViews is GET /views: every list the person keeps.
func (v *visit) showViews() error { return v.renderViews("", refusal{}, http.StatusOK) }

// renderViews shows the views; id is the one whose new name was refused.
func (v *visit) renderViews(id string, refused refusal, status int) error {
	kept, _, err := v.keptViews(models.MostViews)
	if err != nil {
		return err
	}
	page, err := v.page(v.tr("Your views"), v.link(viewsPath), "")
	if err != nil {
		return err
	}
	out := views.ViewsPage{Page: page, Lead: v.tr("Lists you keep in %s. Nobody else sees them.", v.ws.Name),
		Empty: ui.Empty{Heading: v.tr("You keep no views"), Text: v.tr("Narrow a list of cases to what you often look for, then keep it under a name at the foot of the page."), LinkText: v.tr("All cases"), URL: v.link(allCasesPath), TestID: "empty"}}
	for _, k := range kept {
		at := viewsPath + "/" + url.PathEscape(k.ID)
		view := views.SavedView{ID: k.ID, Name: ui.Foreign(k.Name), URL: k.url(v), Where: v.listTitle(k.list), Count: k.count(), Chips: v.chips(k.list),
			Rename: v.form(templ.SafeURL(at + "/rename")), Field: ui.Field{ID: "name-" + k.ID, Name: "name", Label: v.tr("New name"), Value: k.Name, Required: true},
			Delete: ui.PostForm{URL: templ.SafeURL(at + "/delete"), CSRF: v.csrf, Button: ui.Button{Label: v.tr("Delete"), About: ui.Foreign(k.Name).Plain(), Variant: ui.ButtonQuiet, TestID: "delete-view"}}}
		if !k.known {
			view.Where = v.tr("A list the desk does not know any more")
			view.Chips = nil
		} else if words := v.sortName(k.list.asked["sort"]); words != "" {
			view.Chips = append(view.Chips, views.Chip{Name: words})
		}
		if k.ID == id {
			r := refused.field(view.Field)
			view.Field = r
			out.Heading, out.Errors = refused.heading, refused.summary(r)
		}
		out.Views = append(out.Views, view)
	}
	return render(v.c, status, views.Views(out))
}

// renameView is POST /views/{id}/rename with name.
func (v *visit) renameView() error {
	id, typed := v.param("id"), v.typed("name")
	err := v.p.store.RenameView(v.ctx, v.by, id, typed["name"])
	if err == nil {
		v.p.say(v.c, "view_renamed")
		return seeOther(v.c, string(v.link(viewsPath)))
	}
	refused, ok := v.refuse(err, formView, v.tr("The view keeps its name"), typed, nil)
	if !ok {
		return err
	}
	return v.renderViews(id, refused, formStatus(err))
}

// deleteView is POST /views/{id}/delete.
func (v *visit) deleteView() error {
	if err := v.p.store.DeleteView(v.ctx, v.by, v.param("id")); err != nil {
		return err
	}
	v.p.say(v.c, "view_deleted")
	return seeOther(v.c, string(v.link(viewsPath)))
}
