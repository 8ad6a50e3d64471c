package views

import "github.com/apdesk/apdesk/views/ui"

// NoticesPage is what one person was told, the newest first.
type NoticesPage struct {
	Page    Page
	Lead    string
	ReadAll *ui.PostForm // nil when everything is read
	Rows    []NoticeRow
	Empty   ui.Empty
	Pager   ui.Pager
}

// NoticeRow is one thing a person was told.
type NoticeRow struct {
	ID     string
	Unread bool
	Badge  ui.Badge // what it is about
	Text   ui.Foreign
	At     ui.Moment
	// Open marks an unread notice as read and leads to what it is about. Once it is read, or when it is
	// about nothing that has a page, Link or nothing stands in its place.
	Open *ui.PostForm
	Link *RelatedLink
}
