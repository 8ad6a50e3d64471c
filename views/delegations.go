package views

import (
	"github.com/apdesk/apdesk/views/ui"
)

// DelegationsPage is who is away and who decides in their place.
type DelegationsPage struct {
	Page    Page
	Lead    string
	Tabs    []ui.Tab
	Notices []ui.Notice
	Mine    []DelegationCard // from and to the reader
	Others  []DelegationCard
	Ended   []DelegationCard
	WhyNot  string // why the reader can set none, or ""
	Form    *DelegationForm
}

// DelegationCard is one absence.
type DelegationCard struct {
	ID      string
	Heading string // "Ines Hoffmann is away; Jonas Weber decides"
	State   ui.Badge
	When    string // "Mon 30 Nov to Fri 4 Dec 2026 (Europe/Berlin)"
	Next    ui.Moment
	NextIs  string // "starts", "ends", "ended"
	What    string // "every document type", "document type KR"
	Note    ui.Foreign
	Moved   string // "3 requests wait with Jonas Weber through it now"
	Warning string // "1 open request has nobody who can decide it", empty when none
	Limits  string // "Not everything moves, since both limits count", empty when all does
	Set     string // "set by Lars Lindner, 1 Dec 2026"
	End     *DelegationEnd
}

// DelegationEnd ends one before its time, and says what that means.
type DelegationEnd struct {
	Form
	What   string
	Button ui.Button
}

// DelegationForm sets one.
type DelegationForm struct {
	Form
	Who    []ui.Field
	When   []ui.Field
	What   []ui.Field
	Will   []string
	Button ui.Button
}
