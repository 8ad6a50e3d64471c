package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// SettingsPage is what holds for the whole workspace.
type SettingsPage struct {
	Page     Page
	Lead     string
	Tabs     []ui.Tab
	Facts    []ui.Entry // name, id, time zone, currency
	WhyNot   string     // why nothing can be changed here, or ""
	Period   PeriodSetting
	Holidays HolidaySetting
	Bindings BindingSetting
	ERP      ERPSetting
}

// PeriodSetting is the last day that is closed for posting.
type PeriodSetting struct {
	Through string // "30 Sep 2026"; "" when none is closed
	By      string // "moved by Ines Roth, 2 Oct 2026"
	Form    *Form  // nil for people who may not move it
	Field   ui.Field
}

// HolidaySetting is the list of days without business hours.
type HolidaySetting struct {
	Days  []Holiday
	Form  *Form
	Field ui.Field
}

// Holiday is one such day. Remove is nil for people who may not change it.
type Holiday struct {
	Day    string // "Fri 25 Dec 2026"
	Remove *ui.PostForm
}

// BindingSetting says where in a call each checked value stands.
type BindingSetting struct {
	Rows   []Binding
	Form   *Form
	Fields []ui.Field // tool and the pointers
}

// Binding is one tool's pointers; "" is no pointer.
type Binding struct {
	Tool                                               ui.Foreign
	Invoice, Amount, Currency, PostingDate, SupplierID ui.Foreign
	Default                                            bool
	Remove                                             *ui.PostForm
}

// ConfirmPage asks once more before something is undone.
type ConfirmPage struct {
	Page      Page
	Heading   string
	Text      string
	Facts     []ui.Entry
	Form      Form
	Fields    []ui.Field
	Button    ui.Button
	CancelURL templ.SafeURL
}
