package pages

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
)

const (
	mePath        = "/settings/me"
	shortcutsPath = "/shortcuts"
)

// mountWork puts on the router how a person works: keys, preferences, presence, drafts, what comes next.
func mountWork(get, post route) {
	get(shortcutsPath, (*visit).showShortcuts)
	get(mePath, (*visit).showPreferences)
	post(mePath, (*visit).setPreferences)
	get("/next", (*visit).next)
	post("/presence", (*visit).attend)
	post("/presence/leave", (*visit).leave)
	post("/drafts", (*visit).saveDraft)
	post("/drafts/discard", (*visit).discardDraft)
}

// kindOfPage says which shortcuts a page has.
type kindOfPage string

const (
	pageHome         kindOfPage = "home"
	pageList         kindOfPage = "list"
	pageApprovals    kindOfPage = "approvals"
	pageQueue        kindOfPage = "queue"
	pageSearch       kindOfPage = "search"
	pageNotices      kindOfPage = "notices"
	pageCase         kindOfPage = "case"
	pageApproval     kindOfPage = "approval"
	pageConfirmation kindOfPage = "confirmation"
	pageOther        kindOfPage = "other"
)

// kindOf tells a page's kind by its address.
func kindOf(path string) kindOfPage {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "/":
		return pageHome
	case len(parts) == 1 && (parts[0] == "confirmations" || parts[0] == "holds"):
		return pageList
	case len(parts) == 1 && parts[0] == "approvals":
		return pageApprovals
	case path == searchPath:
		return pageSearch
	case path == "/notices":
		return pageNotices
	case len(parts) == 2 && parts[0] == "queues" || path == allCasesPath:
		return pageQueue
	case len(parts) == 2 && parts[0] == "cases":
		return pageCase
	case len(parts) == 2 && parts[0] == "approvals" && strings.HasPrefix(parts[1], models.PrefixApprovalRequest+"_"):
		return pageApproval
	case len(parts) == 2 && parts[0] == "confirmations":
		return pageConfirmation
	}
	return pageOther
}

// isRecord says whether a page is that of a record which is decided.
func isRecord(kind kindOfPage) bool {
	return kind == pageCase || kind == pageApproval || kind == pageConfirmation
}

// shortcut is one act by keys. There is this one list of them: the sheet shows it, and the script reads
// from the sheet which keys do what.
type shortcut struct {
	on    []kindOfPage // nil: everywhere
	keys  []string     // each a way of its own; the keys of a sequence apart by blanks
	words string
	act   string // what the script does: row, inrow, claim, click, focus, pick, arm, send, go, help
	to    string // with what: a selector, an address, or how far
}

// go-to keys get their addresses from goTo.
const actGo = "go"

// actTick is taken off the sheet where nothing can be ticked.
const actTick = "inrow"

var (
	// lists have rows to go through; all but the first have pages.
	lists = []kindOfPage{pageHome, pageList, pageApprovals, pageQueue, pageSearch, pageNotices}
	paged = lists[1:]
	// tickable have rows to do something with several of them.
	tickable = []kindOfPage{pageApprovals, pageQueue}
	// fresh are those that say when something on them has changed.
	fresh = []kindOfPage{pageHome, pageList, pageApprovals, pageQueue, pageNotices, pageCase, pageApproval, pageConfirmation}
)

var shortcuts = []struct {
	heading string
	keys    []shortcut
}{
	{lang.Mark("In a list"), []shortcut{
		{on: lists, keys: []string{"j", "ArrowDown"}, words: lang.Mark("the next row"), act: "row", to: "1"},
		{on: lists, keys: []string{"k", "ArrowUp"}, words: lang.Mark("the row before"), act: "row", to: "-1"},
		{on: lists, keys: []string{"o", "Enter"}, words: lang.Mark("open the row"), act: "open"},
		{on: []kindOfPage{pageQueue}, keys: []string{"c"}, words: lang.Mark("claim the row’s case"), act: "claim"},
		{on: tickable, keys: []string{"x"}, words: lang.Mark("tick the row, to do something with several"), act: actTick, to: "input[type=checkbox]"},
		{on: paged, keys: []string{"n"}, words: lang.Mark("the next page"), act: "click", to: ".pager [rel=next]"},
		{on: paged, keys: []string{"p"}, words: lang.Mark("back: the page before, or the first"), act: "click", to: ".pager [rel=prev], [data-testid=pager-first]"},
	}},
	{lang.Mark("On a case"), []shortcut{
		{on: []kindOfPage{pageCase}, keys: []string{"1", "2", "3", "4", "5", "6", "7", "8", "9"}, words: lang.Mark("choose the exit with this number"), act: "pick"},
		{on: []kindOfPage{pageCase}, keys: []string{"r"}, words: lang.Mark("go to the reason"), act: "focus", to: "[data-testid=decision-form] [name=reason]"},
		{on: []kindOfPage{pageCase}, keys: []string{"Enter"}, words: lang.Mark("in a field of an exit: on to the reason"), act: "onward"},
		{on: []kindOfPage{pageCase}, keys: []string{"Ctrl+Enter"}, words: lang.Mark("decide, or send the form you write in"), act: "send", to: "[data-testid=decision-form]"},
		{on: []kindOfPage{pageCase}, keys: []string{"c"}, words: lang.Mark("claim the case"), act: "click", to: "[data-testid=claim]"},
	}},
	{lang.Mark("On an approval"), []shortcut{
		{on: []kindOfPage{pageApproval}, keys: []string{"a"}, words: lang.Mark("get ready to approve: the reason, then Ctrl Enter"), act: "arm", to: "[data-testid=approve]"},
		{on: []kindOfPage{pageApproval}, keys: []string{"e"}, words: lang.Mark("get ready to reject: the reason, then Ctrl Enter"), act: "arm", to: "[data-testid=reject]"},
		{on: []kindOfPage{pageApproval}, keys: []string{"Enter"}, words: lang.Mark("on a tick: on to the reason"), act: "onward"},
		{on: []kindOfPage{pageApproval}, keys: []string{"Ctrl+Enter"}, words: lang.Mark("send what you got ready, or the form you write in"), act: "send", to: "[data-testid=vote-form]"},
	}},
	{lang.Mark("On a confirmation"), []shortcut{
		{on: []kindOfPage{pageConfirmation}, keys: []string{"a"}, words: lang.Mark("go to accept"), act: "focus", to: "[data-testid=accept]"},
		{on: []kindOfPage{pageConfirmation}, keys: []string{"e"}, words: lang.Mark("go to decline"), act: "focus", to: "[data-testid=decline]"},
		{on: []kindOfPage{pageConfirmation}, keys: []string{"r"}, words: lang.Mark("go to the reason"), act: "focus", to: "[data-testid=answer-form] [name=reason]"},
	}},
	{lang.Mark("Along the list you came from"), []shortcut{
		{on: []kindOfPage{pageCase, pageApproval, pageConfirmation}, keys: []string{"J"}, words: lang.Mark("the next one"), act: "click", to: "[data-around=next]"},
		{on: []kindOfPage{pageCase, pageApproval, pageConfirmation}, keys: []string{"K"}, words: lang.Mark("the one before"), act: "click", to: "[data-around=prev]"},
		{on: []kindOfPage{pageCase, pageApproval, pageConfirmation}, keys: []string{"u"}, words: lang.Mark("back to the list"), act: "click", to: "[data-around=list]"},
	}},
	{lang.Mark("Everywhere"), []shortcut{
		{keys: []string{"?"}, words: lang.Mark("show this sheet"), act: "help"},
		{on: fresh, keys: []string{"R"}, words: lang.Mark("refresh the page, once it says that something has changed"), act: "click", to: "[data-live-bar]:not([hidden]) a"},
		{keys: []string{"/"}, words: lang.Mark("search"), act: "focus", to: "[role=search] input:not([type=hidden]), input[type=search]"},
		{keys: []string{"Escape"}, words: lang.Mark("leave the field you write in, so that keys do something again"), act: "leave"},
		{keys: []string{"g h"}, words: lang.Mark("go to your desk"), act: actGo, to: "/"},
		{keys: []string{"g q"}, words: lang.Mark("go to your queue"), act: actGo, to: "queue"},
		{keys: []string{"g a"}, words: lang.Mark("go to approvals"), act: actGo, to: "/approvals"},
		{keys: []string{"g c"}, words: lang.Mark("go to confirmations"), act: actGo, to: "/confirmations"},
		{keys: []string{"g o"}, words: lang.Mark("go to holds"), act: actGo, to: "/holds"},
		{keys: []string{"g n"}, words: lang.Mark("go to notices"), act: actGo, to: "/notices"},
		{keys: []string{"g i"}, words: lang.Mark("go to search"), act: actGo, to: "/search"},
		{keys: []string{"g s"}, words: lang.Mark("go to settings"), act: actGo, to: "/settings"},
	}},
}

// keySheet are the shortcuts of a kind of page, all of them for "".
func (v *visit) keySheet(kind kindOfPage) views.KeySheet {
	var sheet views.KeySheet
	for _, g := range shortcuts {
		group := views.KeyGroup{Heading: v.tr(g.heading)}
		for _, s := range g.keys {
			if kind == "" || s.isOn(kind) {
				group.Keys = append(group.Keys, v.shortcut(s))
			}
		}
		if len(group.Keys) > 0 {
			sheet.Groups = append(sheet.Groups, group)
		}
	}
	return sheet
}

func (s shortcut) isOn(kind kindOfPage) bool {
	for _, k := range s.on {
		if k == kind {
			return true
		}
	}
	return s.on == nil
}

func (v *visit) shortcut(s shortcut) views.Shortcut {
	out := views.Shortcut{Words: v.tr(s.words), Act: s.act, To: s.to}
	var ways []string
	for _, way := range s.keys {
		keys := strings.Split(way, " ")
		ways = append(ways, strings.Join(keys, ","))
		var shown []string
		for _, key := range keys {
			shown = append(shown, v.keyNames(key)...)
		}
		out.Show = append(out.Show, shown)
	}
	out.Keys = strings.Join(ways, " ")
	if s.act == "pick" {
		out.Show = [][]string{{"1"}, {fmt.Sprintf("… %s", s.keys[len(s.keys)-1])}}
	}
	if s.act == actGo {
		out.To = string(v.goTo(s.to))
	}
	return out
}

// untickable takes the key that ticks a row off the sheet of a page without boxes.
func untickable(p *views.Page) {
	if p.Keys == nil {
		return
	}
	for i, g := range p.Keys.Groups {
		p.Keys.Groups[i].Keys = slices.DeleteFunc(g.Keys, func(k views.Shortcut) bool { return k.Act == actTick })
	}
}

// keyNames are what stands on the keys.
func (w words) keyNames(key string) []string {
	switch key {
	case "ArrowDown":
		return []string{"↓"}
	case "ArrowUp":
		return []string{"↑"}
	case "Escape":
		return []string{w.tr("Esc")}
	case "Ctrl+Enter":
		return []string{w.tr("Ctrl"), w.tr("Enter")}
	}
	if key == "Enter" {
		return []string{w.tr("Enter")}
	}
	return []string{key}
}

// goTo is the address of a go-to key.
func (v *visit) goTo(to string) templ.SafeURL {
	if to != "queue" {
		return v.link(to)
	}
	for _, q := range models.Queues() {
		if v.by.Has(q.Roles()...) {
			return v.link(queueURL(q))
		}
	}
	return v.link(queueURL(models.Queues()[0]))
}

// showShortcuts is GET /shortcuts: the sheet of every page at once.
func (v *visit) showShortcuts() error {
	likes, err := v.likes()
	if err != nil {
		return err
	}
	page, err := v.page(v.tr("Shortcuts"), v.link(shortcutsPath), "")
	if err != nil {
		return err
	}
	return render(v.c, http.StatusOK, views.Shortcuts(views.ShortcutsPage{Page: page, Off: !likes.Shortcuts, MeURL: v.link(mePath), Sheet: v.keySheet(""),
		Lead: v.tr("What keys do on which page. None of them acts while you write in a field, and no single key ever sends a decision.")}))
}

// dress gives a page what the person chose and the keys it has.
func (v *visit) dress(p *views.Page, self templ.SafeURL) error {
	likes, err := v.likes()
	if err != nil {
		return err
	}
	p.Theme, p.KeysURL, p.MeURL = likes.Theme, v.link(shortcutsPath), v.link(mePath)
	if likes.Shortcuts {
		sheet := v.keySheet(kindOf(pathOf(self)))
		p.Keys = &sheet
	}
	return nil
}

// likes are the person's preferences, read once a request.
func (v *visit) likes() (models.Preference, error) {
	if v.liked == nil {
		p, err := v.p.store.Preferences(v.ctx, v.by)
		if err != nil {
			return p, err
		}
		v.liked = &p
	}
	return *v.liked, nil
}
