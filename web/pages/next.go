package pages

import (
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/approvals/confirm"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
	"github.com/apdesk/apdesk/web/proxy"
	"github.com/apdesk/apdesk/web/upload"
)

// maxFrom bounds the address of a list that other addresses carry along.
const maxFrom = 1000

// listPath is the list within the desk that an address names, or "" when it leads anywhere else.
func listPath(address string) string {
	local := localPath(address)
	if local == "" || len(local) > maxFrom {
		return ""
	}
	u, err := url.Parse(local)
	if err != nil {
		return ""
	}
	if kind := kindOf(u.Path); kind == pageNotices || !slices.Contains(lists, kind) {
		return ""
	}
	query := u.Query()
	for _, name := range []string{"from", "draft", "select", "totals"} {
		query.Del(name)
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// from is the list the person came from, "" when none is known. A page's address says it in from, a form
// in the field of that name; a link without it is told by the browser.
func (v *visit) from() string {
	if v.c.Method() == fiber.MethodPost {
		return postedFrom(v.c)
	}
	if named := listPath(strings.Clone(v.c.Query("from"))); named != "" {
		return named
	}
	came, err := url.Parse(v.c.Get(fiber.HeaderReferer))
	if err != nil || came.Host == "" || strings.ToLower(came.Host) != proxy.HostOf(v.c) {
		return ""
	}
	return listPath(came.RequestURI())
}

// postedFrom is the list that a form carries along. That of a file is not unpacked for it.
func postedFrom(c *fiber.Ctx) string {
	if upload.Takes(c.Method(), c.Path()) {
		return listPath(upload.Field(c, "from"))
	}
	return listPath(strings.TrimSpace(fieldsOf(c, "from")["from"]))
}

// withFrom is an address that carries along which list the person came from.
func withFrom(address templ.SafeURL, from string) templ.SafeURL {
	if from == "" {
		return address
	}
	sep := "?"
	if strings.Contains(string(address), "?") {
		sep = "&"
	}
	return address + templ.SafeURL(sep+"from="+url.QueryEscape(from))
}

// recordForm is what every form on a record's page begins with: it carries along which list the person
// came from.
func (v *visit) recordForm(url templ.SafeURL) views.Form {
	f := v.form(url)
	f.From = v.from()
	return f
}

// along is the field of a form of one button that carries the list along.
func (v *visit) along() []ui.Hidden {
	if from := v.from(); from != "" {
		return []ui.Hidden{{Name: "from", Value: from}}
	}
	return nil
}

// backTo ends an act on a record's page, a part of it given as #fragment. The list the person came from
// stays with them.
func (v *visit) backTo(page templ.SafeURL) error {
	address, part, found := strings.Cut(string(page), "#")
	address = string(withFrom(templ.SafeURL(address), v.from()))
	if found {
		address += "#" + part
	}
	return seeOther(v.c, address)
}

// listAt is the list the person came from where it is one at path, narrowed as they had it, else the
// whole of it.
func (v *visit) listAt(path string) templ.SafeURL {
	if from := v.from(); from != "" && originOf(from).path == path {
		return templ.SafeURL(from)
	}
	return v.link(path)
}

// fromHere is the address of a row of the list that is being shown.
func (v *visit) fromHere(address templ.SafeURL) templ.SafeURL {
	if v.c.Method() != fiber.MethodGet {
		return address
	}
	uri := v.c.Context().URI()
	here := string(uri.PathOriginal())
	if query := uri.QueryString(); len(query) > 0 {
		here += "?" + string(query)
	}
	return withFrom(address, listPath(here))
}

// self is the address of a record's page with what it is shown by.
func (v *visit) self(page templ.SafeURL) templ.SafeURL {
	self := withFrom(page, v.from())
	if v.c.Method() != fiber.MethodGet {
		return self
	}
	if form := v.c.Query("draft"); isDraftForm(form) {
		self = withQuery(self, "draft", form)
	}
	if beside := v.c.Query(besideParam); beside != "" {
		self = withQuery(self, besideParam, beside)
	}
	return self
}

func withQuery(page templ.SafeURL, name, value string) templ.SafeURL {
	sep := "?"
	if strings.Contains(string(page), "?") {
		sep = "&"
	}
	return page + templ.SafeURL(sep+name+"="+url.QueryEscape(value))
}

// origin is a list that records are gone through along.
type origin struct {
	address string // within the desk
	path    string
	query   url.Values
}

func originOf(address string) origin {
	u, err := url.Parse(address)
	if err != nil {
		return origin{address: "/", path: "/"}
	}
	return origin{address: address, path: u.Path, query: u.Query()}
}

// queue is the queue the list is of, "" for others.
func (o origin) queue() models.Queue {
	q := models.Queue(strings.TrimPrefix(o.path, "/queues/"))
	if !q.Valid() {
		return ""
	}
	return q
}

// ofCases says whether it is a list of cases, of one queue or of all.
func (o origin) ofCases() bool { return o.queue() != "" || o.path == allCasesPath }

// listName is what people call a list.
func (w words) listName(o origin) string {
	if q := o.queue(); q != "" {
		return w.queue(q)
	}
	switch o.path {
	case allCasesPath:
		return w.tr("All cases")
	case "/approvals":
		return w.tr("Approvals")
	case "/confirmations":
		return w.tr("Confirmations")
	case "/holds":
		return w.tr("Holds")
	case "/search":
		return w.trc("the page", "Search")
	}
	return w.tr("Your desk")
}

// caseFilter is what a list of cases shows. Amounts without a currency are those of the workspace's.
func (o origin) caseFilter(currency string) queue.Filter {
	return (words{}).listOf(o.queue(), o.query.Get, currency).filter
}

func (o origin) waitingFilter() approvals.WaitingFilter {
	return approvals.WaitingFilter{Currency: strings.ToUpper(o.query.Get("currency")), Supplier: o.query.Get("supplier"), Tool: o.query.Get("tool"), Asker: o.query.Get("asked_by")}
}

// here says which record a page is about: who else is there, and what stands beside it in the list the
// person came from, else in the list where such records wait.
func (v *visit) here(id, list string) (*views.Here, error) {
	o := originOf(orSome(v.from(), list))
	h := &views.Here{List: v.listName(o), ListURL: templ.SafeURL(o.address), Subject: id}
	all, err := v.presences(id)
	if err != nil {
		return nil, err
	}
	h.Present = all[id]
	before, after, err := v.beside(id, o)
	if err != nil {
		return nil, err
	}
	if before != "" {
		h.PrevURL = withFrom(recordURL(before), o.address)
	}
	if after != "" {
		h.NextURL = withFrom(recordURL(after), o.address)
	}
	return h, nil
}

// recordURL is the page of a case, approval request or confirmation.
func recordURL(id string) templ.SafeURL {
	switch {
	case strings.HasPrefix(id, models.PrefixApprovalRequest+"_"):
		return requestURL(id)
	case strings.HasPrefix(id, models.PrefixConfirmation+"_"):
		return confirmationURL(id)
	}
	return caseURL(id)
}

// beside are the records before and after one in a list; none where the list is of other records or
// cannot be read as its address says.
func (v *visit) beside(id string, o origin) (before, after string, err error) {
	switch {
	case strings.HasPrefix(id, models.PrefixCase+"_"):
		if !o.ofCases() {
			return "", "", nil
		}
		n, err := v.p.queue.Around(v.ctx, v.by, o.caseFilter(v.ws.Currency), id)
		if named(err) {
			return "", "", nil
		}
		return n.Before, n.After, err
	default:
		ids, err := v.waitingIDs(id, o)
		if i := slices.Index(ids, id); i >= 0 {
			if i > 0 {
				before = ids[i-1]
			}
			if i+1 < len(ids) {
				after = ids[i+1]
			}
		} else if len(ids) > 0 {
			after = ids[0]
		}
		return before, after, err
	}
}

func named(err error) bool {
	_, ok := models.AsNamed(err)
	return ok
}

// waitingIDs are the requests or confirmations that wait for the person, in their order.
func (v *visit) waitingIDs(like string, o origin) ([]string, error) {
	var ids []string
	if strings.HasPrefix(like, models.PrefixApprovalRequest+"_") {
		var f approvals.WaitingFilter
		if o.path == "/approvals" {
			f = o.waitingFilter()
		}
		list, err := v.p.approvals.WaitingList(v.ctx, v.by, f)
		if err != nil && !named(err) {
			return nil, err
		}
		for _, i := range list.Items {
			ids = append(ids, i.RequestID)
		}
		return ids, nil
	}
	waiting, err := v.p.confirm.WaitingFor(v.ctx, v.by)
	if err != nil && !named(err) {
		return nil, err
	}
	for _, i := range waiting[:min(len(waiting), confirm.MaxLimit)] {
		ids = append(ids, i.ConfirmationID)
	}
	return ids, nil
}

// onward lets a form that decides say where to go afterwards.
func (v *visit) onward(f *views.Form, list string) error {
	likes, err := v.likes()
	if err != nil {
		return err
	}
	chosen := models.AfterDecision(v.typed("after")["after"])
	if !chosen.Valid() {
		chosen = likes.AfterDecision
	}
	f.After, f.From = v.afterWords(chosen), orSome(v.from(), list)
	return nil
}

// goOn ends a decision about a record: on its page, in the list, or with the next one. list is where such
// records wait, for who came from nowhere. What the person chose beside the button is remembered.
func (v *visit) goOn(message, id, list string) error {
	chosen := models.AfterDecision(v.typed("after")["after"])
	if likes, err := v.likes(); chosen.Valid() && err == nil && likes.AfterDecision != chosen {
		if err := v.p.store.SetPreferences(v.ctx, v.by, func(p *models.Preference) { p.AfterDecision = chosen }); err != nil {
			v.p.log.WarnContext(v.ctx, "where to go after a decision is not remembered", "cause", err)
		}
	}
	from := orSome(v.from(), list)
	switch chosen {
	case models.AfterList:
		v.p.say(v.c, message+"."+id)
		return seeOther(v.c, from)
	case models.AfterNext:
		v.p.say(v.c, message+"."+id)
		return seeOther(v.c, string(v.link("/next", "from", from, "after", id)))
	}
	v.p.say(v.c, message)
	return v.backTo(recordURL(id))
}

// next is GET /next with from, a list, and after, the record that was worked last: on to the next open
// one, or to what else waits when none is left.
func (v *visit) next() error {
	o, after := originOf(orSome(v.from(), "/")), strings.Clone(v.c.Query("after"))
	if err := v.enterList(o); err != nil {
		return err
	}
	id, err := v.nextOf(o, after)
	if err != nil {
		return err
	}
	if id != "" {
		return seeOther(v.c, string(withFrom(recordURL(id), o.address)))
	}
	return v.nothingLeft(o)
}

// enterList goes to the workspace of a list.
func (v *visit) enterList(o origin) error {
	if ws := o.query.Get("workspace_id"); ws != "" && ws != v.by.WorkspaceID {
		return v.enter(ws)
	}
	return nil
}

func (v *visit) nextOf(o origin, after string) (string, error) {
	switch {
	case o.ofCases():
		f := o.caseFilter(v.ws.Currency)
		f.Status = models.CaseOpen
		if f.Snoozed == "" && f.Due == "" {
			f.Snoozed = queue.SnoozedNot
		}
		id, err := v.p.queue.NextFree(v.ctx, v.by, f, after)
		if models.IsCode(err, models.BadRequest) || models.IsCode(err, models.ValidationError) {
			id, err = v.p.queue.NextFree(v.ctx, v.by, queue.Filter{Queue: o.queue(), Status: models.CaseOpen}, after)
		}
		return id, err
	case o.path == "/approvals", o.path == "/confirmations":
		like := models.PrefixApprovalRequest + "_"
		if o.path == "/confirmations" {
			like = models.PrefixConfirmation + "_"
		}
		ids, err := v.waitingIDs(like, o)
		for _, id := range ids {
			if id != after {
				return id, err
			}
		}
		return "", err
	}
	work, err := v.p.queue.Mine(v.ctx, v.by)
	if err != nil && !models.IsCode(err, models.InsufficientPermission) {
		return "", err
	}
	for _, item := range slices.Concat(work.Claimed, work.Next) {
		if item.CaseID != after && item.Status == models.CaseOpen {
			return item.CaseID, nil
		}
	}
	return "", nil
}

// nothingLeft says that a list is done, and what else waits for the person.
func (v *visit) nothingLeft(o origin) error {
	beside, err := v.counts()
	if err != nil {
		return err
	}
	page, err := v.page(v.tr("Nothing left in %s", v.listName(o)), v.link("/next", "from", o.address), "")
	if err != nil {
		return err
	}
	out := views.NothingLeftPage{Page: page, Heading: v.tr("Nothing left in %s", v.listName(o)), Text: v.tr("What is still in this list is with somebody else, or the list is empty."), ListURL: templ.SafeURL(o.address)}
	for _, c := range beside.queues {
		if c.Mine && c.Open > 0 && c.Queue != o.queue() {
			out.Others = append(out.Others, views.Waiting{Text: v.queue(c.Queue), Count: strconv.FormatInt(c.Open, 10), URL: v.link(queueURL(c.Queue))})
		}
	}
	if text := beside.waiting.text(); text != "" && o.path != "/approvals" {
		out.Others = append(out.Others, views.Waiting{Text: v.tr("Approvals"), Count: text, URL: v.link("/approvals")})
	}
	if n := len(beside.answers); n > 0 && o.path != "/confirmations" {
		out.Others = append(out.Others, views.Waiting{Text: v.tr("Confirmations"), Count: count(n), URL: v.link("/confirmations")})
	}
	return render(v.c, http.StatusOK, views.NothingLeft(out))
}

// liveRefresh is the header by which an open page asks for itself.
const liveRefresh = "Live-Refresh"

// flashed takes the message left for this page. One about a record says which, since the person is
// elsewhere by now.
func (v *visit) flashed() []ui.Flash {
	if v.c.Get(liveRefresh) != "" {
		return nil // the page that is on its way says it
	}
	_, subject, about := strings.Cut(v.c.Cookies(v.p.auth.Cookie(v.c, flashCookie)), ".")
	out := v.p.said(v.c)
	if about && len(out) == 1 {
		if words := v.aboutRecord(strings.Clone(subject)); words != "" {
			out[0].Text = words + ". " + out[0].Text
		}
	}
	return out
}

// aboutRecord names a record of this workspace and what was decided about it; "" for others.
func (v *visit) aboutRecord(id string) string {
	switch {
	case strings.HasPrefix(id, models.PrefixCase+"_"):
		c, err := v.p.queue.Get(v.ctx, v.by, id)
		if err != nil {
			return ""
		}
		invoice := v.reader().invoice(c.Invoice)
		text := v.codeTitle(codeOf(c.Code)) + ", " + orSome(invoice.Number.Plain(), invoice.ID.Plain())
		if c.Resolution != nil {
			text += ": " + v.lower(v.exit(c.Resolution.Exit))
		}
		return text
	case strings.HasPrefix(id, models.PrefixApprovalRequest+"_"):
		page, err := v.p.approvals.Page(v.ctx, v.by, id)
		if err != nil {
			return ""
		}
		return v.money(page.Amount.Text(), page.Amount.Currency()) + ", " + orSome(v.reader().invoice(page.Invoice).Number.Plain(), ui.Foreign(page.Request.InvoiceID).Plain())
	case strings.HasPrefix(id, models.PrefixConfirmation+"_"):
		page, err := v.p.confirm.Page(v.ctx, v.by, id)
		if err != nil {
			return ""
		}
		return ui.Foreign(page.Confirmation.Tool).Plain()
	}
	return ""
}
