package views

import (
	"context"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// RulesPage is the approval matrix, with what is found about it.
type RulesPage struct {
	Page     Page
	Lead     string
	Tabs     []ui.Tab
	Links    []ui.Tab // the other pages about rules
	WhyNot   string
	Sheets   []RuleSheet // one for each currency
	Empty    ui.Empty
	Waiting  *ui.Notice // requests that wait for the matrix
	Findings []Finding  // worth a look
	Notes    []Finding  // only said
	More     string     // "and 20 more", when not all notes are listed
	Bindings []Binding
	EditURL  templ.SafeURL // where pointers are edited, empty for who may not
	Add      *RuleForm
}

// RuleSheet is the part of the matrix for one currency.
type RuleSheet struct {
	Currency string
	Groups   []RuleGroup
}

// RuleGroup are the rules that name the same, by amount.
type RuleGroup struct {
	Scope RuleScope
	Rows  []RuleRow
}

// RuleScope is what rules name besides amounts; "" is any.
type RuleScope struct {
	Tool, DocumentType, Supplier, CostCentre ui.Foreign
}

// any says whether nothing is named.
func (s RuleScope) any() bool { return s == RuleScope{} }

// RuleRow is one rule in words.
type RuleRow struct {
	ID       string
	Name     string // "Rule 7K2PXM"
	URL      templ.SafeURL
	Version  string // "version 3"
	From, To string
	Who      string // "finance lead", or the people's names
	Then     string // who comes second, one after the other
	How      string // "one person", "two people together"
	Valid    string // "24 h"
	By       string
	At       string // "12 Sep 2026"
	Gap      string // "only one active finance lead, two votes needed"
	Open     string // label of the link to the rule: "Edit" or "History"
}

// Finding is a sentence about the matrix, in pieces, with links to the rules it names.
type Finding struct {
	Kind  string // for tests and styles: gap, overlap, …
	Warn  bool
	Parts []FindingPart
}

// FindingPart is text, or the name of a rule with its page.
type FindingPart struct {
	Text ui.Foreign
	URL  templ.SafeURL
}

// RetireForm takes a rule out of use. It posts version.
type RetireForm struct {
	Form
	What string // what it means: "Requests already routed by it keep it."
}

// RuleForm adds a rule or makes its next version.
type RuleForm struct {
	Form
	Covers []ui.Field
	Band   []ui.Field
	How    []ui.Field // how many people, and how long their approval lives
	Who    []ui.Field // who decides, or decides first
	Then   []ui.Field // who comes second
	Button string
}

// RulePage is one rule: as it is, how to change it, and what it was.
type RulePage struct {
	Page     Page
	Heading  string
	Lead     string
	Back     templ.SafeURL
	Badge    ui.Badge
	Facts    []ui.Entry
	Warning  []Finding
	Conflict string // somebody was faster; what was typed stands in the form
	Edit     *RuleForm
	Retire   *RetireForm
	WhyNot   string
	Changes  []RuleChange
}

// RuleChange is one entry in the history of rules.
type RuleChange struct {
	Rule    string // "Rule 7K2PXM"; "" on the rule's own page
	URL     templ.SafeURL
	What    string // "added the rule", "changed the rule", "retired the rule"
	Version string
	At      ui.Moment
	Who     string
	Routed  string // "2 requests carry it"
	Fields  []RuleField
	First   bool // there is nothing before to compare with
}

// RuleField is one field of a rule before and after.
type RuleField struct {
	Label         string
	Before, After ui.Foreign
	Changed       bool
}

// RuleHistoryPage is what happened to all rules.
type RuleHistoryPage struct {
	Page    Page
	Back    templ.SafeURL
	Changes []RuleChange
	Pager   ui.Pager
	Empty   ui.Empty
}

// TryPage asks what the matrix would do with a write.
type TryPage struct {
	Page    Page
	Back    templ.SafeURL
	URL     templ.SafeURL // the form is sent with GET
	Hidden  []ui.Hidden
	Heading string // of the summary of errors
	Errors  []ui.FieldError
	Fields  []ui.Field
	Result  *TryResult
}

// TryResult is the answer.
type TryResult struct {
	Write    string // "EUR 1,234.50 for post_invoice_adjustment"
	Rule     *RuleRow
	Scope    RuleScope
	Currency string
	Why      ui.Foreign
	Missing  ui.Foreign // why nobody can decide it
	Unbound  string
	People   []TryPerson
	Others   []OtherRule
}

// TryPerson is one of those the rule names.
type TryPerson struct {
	Name, Role string
	Turn       string // "second", "" when there is one step
	OnBehalfOf string
	Limit      string
	Absence    string
	May        bool
	Why        string
}

// place is the role with what else there is to say of it: "AP lead, comes first".
func (p TryPerson) place(ctx context.Context) string {
	text := p.Role
	if p.Turn != "" {
		text += ", " + p.Turn
	}
	if p.OnBehalfOf != "" {
		text += ", " + tr(ctx, "on behalf of %s", p.OnBehalfOf)
	}
	return text
}

// OtherRule is a rule that does not decide.
type OtherRule struct {
	Name string
	URL  templ.SafeURL
	Text ui.Foreign
	Why  ui.Foreign
}

// ImportPage reads a sheet of rules.
type ImportPage struct {
	Page     Page
	Back     templ.SafeURL
	Form     Form
	File     ui.Field
	Text     ui.Field
	Retire   ui.Field
	Columns  []ImportColumn
	Problems []string
	More     string
	Template templ.SafeURL
}

// ImportColumn says what a column of the sheet holds.
type ImportColumn struct{ Name, What string }

// ImportPreview says what a sheet would do before it does.
type ImportPreview struct {
	Page    Page
	Back    templ.SafeURL
	Again   templ.SafeURL
	Counts  []ui.Entry
	Added   []ImportChange
	Changed []ImportChange
	Retired []ImportChange
	Form    *Form // nil when nothing would change
	Hidden  []ui.Hidden
	Button  string
}

// ImportChange is one rule of the preview.
type ImportChange struct {
	Line   string // "line 4"
	Name   string
	URL    templ.SafeURL
	Text   ui.Foreign
	Looser string // in what the rule would be less strict
	Fields []RuleField
}
