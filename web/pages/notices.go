package pages

import (
	"strconv"

	"github.com/apdesk/apdesk/views"
)

func mountNotices(_, _ route) {}

// mostUnread is up to where unread notices are counted.
const mostUnread = 100

// bell is the way to the person's notices.
func (v *visit) bell(unread int) *views.Bell {
	b := &views.Bell{URL: v.link("/notices"), Words: "Notices, all read"}
	if unread > 0 {
		b.Unread = strconv.Itoa(unread)
		b.Words = "Notices: " + plural(unread, "you have not read", "you have not read")
	}
	if unread >= mostUnread {
		b.Unread = strconv.Itoa(mostUnread-1) + "+"
	}
	return b
}
