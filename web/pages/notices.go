package pages

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

func mountNotices(get, post route) {
	get("/notices", (*visit).listNotices)
	post("/notices/read", (*visit).readAllNotices)
	post("/notices/:id/read", (*visit).readNotice)
}

// mostUnread is up to where unread notices are counted.
const mostUnread = 100

// bell is the way to the person's notices.
func (v *visit) bell(unread int) *views.Bell {
	b := &views.Bell{URL: v.link("/notices"), Words: v.tr("Notices, all read")}
	switch {
	case unread >= mostUnread:
		b.Unread = strconv.Itoa(mostUnread-1) + "+"
		b.Words = v.tr("Notices, more than %d unread", mostUnread-1)
	case unread > 0:
		b.Unread = strconv.Itoa(unread)
		b.Words = v.tr("Notices, %d unread", unread)
	}
	return b
}

// listNotices is GET /notices. Looking at notices does not read them.
func (v *visit) listNotices() error {
	cursor := strings.Clone(v.c.Query("cursor"))
	list, more, err := v.p.store.Notices(v.ctx, v.by, cursor)
	if err != nil {
		return err
	}
	beside, err := v.counts()
	if err != nil {
		return err
	}
	page, err := v.page(counted(v.tr("Notices"), beside.unread), v.link("/notices", "cursor", cursor), "notices")
	if err != nil {
		return err
	}
	out := views.NoticesPage{Page: page, Lead: v.tr("What the desk told you in this workspace. Opening a notice marks it as read."), Empty: ui.Empty{Heading: v.tr("You were told nothing yet"), TestID: "empty",
		Text: v.tr("When something waits for you, is about to lapse or went wrong, it appears here by itself.")}}
	if cursor != "" {
		out.Empty = ui.Empty{Heading: v.tr("Nothing older"), TestID: "empty"}
	}
	for _, n := range list {
		out.Rows = append(out.Rows, v.noticeRow(n))
	}
	if beside.unread > 0 && len(list) > 0 {
		out.ReadAll = &ui.PostForm{URL: "/notices/read", CSRF: v.csrf, Hidden: []ui.Hidden{{Name: "newest", Value: list[0].ID}, {Name: "workspace", Value: v.by.WorkspaceID}},
			Button: ui.Button{Label: v.tr("Mark all as read"), Variant: ui.ButtonPlain, TestID: "read-all"}}
	}
	next := ""
	if more {
		next = list[len(list)-1].ID
	}
	out.Pager = v.pager("/notices", len(list), cursor, next)
	return render(v.c, http.StatusOK, views.Notices(out))
}

func (v *visit) noticeRow(n models.Notice) views.NoticeRow {
	t := v.noticeOf(n)
	row := views.NoticeRow{ID: n.ID, Unread: n.ReadAt.IsZero(), Badge: ui.Badge{Text: t.about, Tone: t.tone}, Text: ui.Foreign(t.text), At: v.at(n.At)}
	text, target := v.noticeTarget(n)
	switch {
	case row.Unread:
		label := text
		if target == "" {
			label = v.tr("Mark as read")
		}
		row.Open = &ui.PostForm{URL: templ.SafeURL("/notices/" + url.PathEscape(n.ID) + "/read"), CSRF: v.csrf, Hidden: []ui.Hidden{{Name: "workspace", Value: v.by.WorkspaceID}},
			Button: ui.Button{Label: label, About: v.tr("and mark this notice as read"), Variant: ui.ButtonPlain, TestID: "open-notice"}}
		if target == "" {
			row.Open.Button.About = ": " + ui.Foreign(t.text).Plain()
		}
	case target != "":
		row.Link = &views.RelatedLink{Text: text, URL: target}
	}
	return row
}

// noticeOf puts a notice into words.
func (w words) noticeOf(n models.Notice) noticeTold {
	var d noticeData
	_ = json.Unmarshal([]byte(n.Data), &d) // what cannot be read is told without its facts
	return w.noticeWords(n.Kind, d)
}

// noticeTarget is the page of what a notice is about, "" when it has none.
func (v *visit) noticeTarget(n models.Notice) (text string, target templ.SafeURL) {
	prefix, _, _ := strings.Cut(n.Subject, "_")
	switch prefix {
	case models.PrefixCase:
		return v.tr("Open the case"), caseURL(n.Subject)
	case models.PrefixApprovalRequest:
		return v.tr("Open the request"), requestURL(n.Subject)
	case models.PrefixConfirmation:
		return v.tr("Open the confirmation"), confirmationURL(n.Subject)
	case models.PrefixHold:
		return v.tr("Open the hold"), holdURL(n.Subject)
	case models.PrefixDelegation:
		return v.tr("See the delegations"), v.link("/settings/delegations")
	case models.PrefixToken:
		return v.tr("See the tokens"), v.link(tokensPath)
	case models.PrefixUser:
		if n.Kind == models.NoticeSignInLocked || n.Kind == models.NoticePasswordChanged {
			return v.tr("See where you are signed in"), v.link(accountPath)
		}
		return "", ""
	}
	return v.tr("Open the invoice"), v.invoiceURL(n.Subject)
}

// goToNotices enters the workspace a form was made in, since a person has notices in each.
func (v *visit) goToNotices() error {
	if ws := v.typed("workspace")["workspace"]; ws != "" && ws != v.by.WorkspaceID {
		return v.enter(ws)
	}
	return nil
}

// readAllNotices is POST /notices/read: everything up to the newest one that was shown.
func (v *visit) readAllNotices() error {
	if err := v.goToNotices(); err != nil {
		return err
	}
	if err := v.p.store.ReadNoticesUpTo(v.ctx, v.by, v.typed("newest")["newest"]); err != nil {
		return err
	}
	return seeOther(v.c, string(v.link("/notices")))
}

// readNotice is POST /notices/{id}/read: it leads on to what the notice is about.
func (v *visit) readNotice() error {
	if err := v.goToNotices(); err != nil {
		return err
	}
	n, err := v.p.store.Notice(v.ctx, v.by, v.param("id"))
	if err != nil {
		return err
	}
	if n.ReadAt.IsZero() {
		if err := v.p.store.ReadNotices(v.ctx, v.by, n.ID); err != nil {
			return err
		}
	}
	if _, target := v.noticeTarget(n); target != "" {
		return seeOther(v.c, string(target))
	}
	return seeOther(v.c, string(v.link("/notices")))
}
