package ui

import (
	"context"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/lang"
)

// Tone is the meaning of a colour. Colour never stands alone: whatever has a
// tone also says it in words or with a sign of its own shape.
type Tone string

// The tones.
const (
	ToneNeutral Tone = "neutral"
	ToneInfo    Tone = "info"
	ToneGood    Tone = "good"
	ToneWarn    Tone = "warn"
	ToneBad     Tone = "bad"
	ToneAgent   Tone = "agent" // from the agent, not from a person
)

// Badge is a short state in words. Sign is a shape before the words, so that
// states differ without colour.
type Badge struct {
	Text   string
	Tone   Tone
	Sign   Sign
	TestID string
}

// Sign is the shape before a badge's words.
type Sign string

// The signs.
const (
	SignNone   Sign = ""
	SignOpen   Sign = "○"
	SignHalf   Sign = "◐"
	SignDone   Sign = "●"
	SignYes    Sign = "✓"
	SignNo     Sign = "✕"
	SignAlert  Sign = "▲"
	SignPaused Sign = "‖"
)

// ButtonVariant is how much weight a button has.
type ButtonVariant string

// The variants of a Button.
const (
	ButtonPlain   ButtonVariant = "plain"
	ButtonPrimary ButtonVariant = "primary"
	ButtonDanger  ButtonVariant = "danger"
	ButtonQuiet   ButtonVariant = "quiet"
)

// Button submits the form it stands in. Name and Value are sent when it is the
// one pressed.
type Button struct {
	Label   string
	About   string // what it is about, for those who do not see what it stands beside
	Variant ButtonVariant
	Name    string
	Value   string
	TestID  string
}

// PostForm is a form of one button, or of hidden values and one button.
type PostForm struct {
	URL    templ.SafeURL
	CSRF   string
	Hidden []Hidden
	Button Button
}

// Hidden is a value a form carries unseen.
type Hidden struct{ Name, Value string }

// FieldKind is the control of a Field.
type FieldKind string

// The kinds of a Field.
const (
	FieldText     FieldKind = "text"
	FieldDate     FieldKind = "date"
	FieldDateTime FieldKind = "datetime-local"
	FieldEmail    FieldKind = "email"
	FieldPassword FieldKind = "password"
	FieldNumber   FieldKind = "number"
	FieldAmount   FieldKind = "amount" // text with a decimal keypad; never a binary number
	FieldArea     FieldKind = "textarea"
	FieldSelect   FieldKind = "select"
	FieldCheckbox FieldKind = "checkbox" // sends Value, or nothing
	FieldURL      FieldKind = "url"
	FieldDecimal  FieldKind = "decimal" // a number as text, which keeps its digits
	FieldWhole    FieldKind = "whole"   // a whole number as text
	FieldRadios   FieldKind = "radios"  // one of Options
	FieldChecks   FieldKind = "checks"  // any of Options
)

// Field is a labelled control with its hint and its error.
type Field struct {
	ID    string // unique on the page; Name when empty
	Name  string
	Label string
	// LabelForeign is the label in somebody else's words, shown instead of Label; About is what they
	// say about the field. Both are kept apart from the desk's own words.
	LabelForeign Foreign
	About        Foreign
	Kind         FieldKind
	Value        string
	Hint         string
	Error        string
	Suffix       string // shown after the control: a currency
	Required     bool
	// RequiredLater is for fields that are needed only with a choice made
	// elsewhere in the form: the script makes them required, not the page.
	RequiredLater bool
	Checked       bool // checkboxes
	Rows          int  // textareas
	Autocomplete  string
	Placeholder   string
	Min, Max      string
	Step          string // of times
	Options       []Option
	TestID        string
}

// typed is the value as it stands in the field. The character zero, which no page can hold, is marked.
func (f Field) typed() string { return markZero(f.Value) }

func markZero(text string) string { return strings.ReplaceAll(text, "\x00", "\uFFFD") }

// Option is one choice of a select.
type Option struct {
	Value, Label string
	Note         string // beside the label of radios and checks
	Selected     bool
}

// DOMID is the id of the control.
func (f Field) DOMID() string {
	if f.ID != "" {
		return f.ID
	}
	return "f-" + f.Name
}

func (f Field) describedBy() string {
	var ids []string
	if f.About != "" {
		ids = append(ids, f.DOMID()+"-about")
	}
	if f.Hint != "" {
		ids = append(ids, f.DOMID()+"-hint")
	}
	if f.Error != "" {
		ids = append(ids, f.DOMID()+"-error")
	}
	return strings.Join(ids, " ")
}

// OptionID is the id of the control of one of the options.
func (f Field) OptionID(i int) string { return f.DOMID() + "-" + strconv.Itoa(i) }

// groups says whether the field is several controls of one name.
func (f Field) groups() bool { return f.Kind == FieldRadios || f.Kind == FieldChecks }

func (f Field) optionType() string {
	if f.Kind == FieldChecks {
		return "checkbox"
	}
	return "radio"
}

func (f Field) inputType() string {
	switch f.Kind {
	case FieldAmount, FieldDecimal, FieldWhole, "":
		return "text"
	}
	return string(f.Kind)
}

func (f Field) rows() string {
	if f.Rows > 0 {
		return strconv.Itoa(f.Rows)
	}
	return "3"
}

// FieldError is one line of an error summary, leading to its field.
type FieldError struct {
	FieldID string // may be empty: the error belongs to the whole form
	Text    string
}

// ErrorsOf collects the errors of fields for a summary.
func ErrorsOf(fields ...Field) []FieldError {
	var out []FieldError
	for _, f := range fields {
		if f.Error != "" {
			out = append(out, FieldError{FieldID: f.DOMID(), Text: f.Label + ": " + f.Error})
		}
	}
	return out
}

// Flash is a message about what just happened.
type Flash struct {
	Tone Tone
	Text string
}

// Notice is something to know before going on, with an optional way to act.
type Notice struct {
	Tone     Tone
	Heading  string
	Text     Foreign
	LinkText string
	URL      templ.SafeURL
	TestID   string
}

// Empty says in words that there is nothing, and what that means.
type Empty struct {
	Heading  string
	Text     string
	LinkText string
	URL      templ.SafeURL
	TestID   string
}

// Tab is one of several views of the same thing, reached by a link.
type Tab struct {
	Label   string
	Count   string // "" shows none
	URL     templ.SafeURL
	Current bool
	TestID  string
}

// Pager leads through a keyset list: there are no page numbers to be wrong.
type Pager struct {
	First templ.SafeURL
	Next  templ.SafeURL
	Text  string // "50 shown of 214"
}

// TimelineKind says who did it.
type TimelineKind string

// The kinds of a TimelineEntry.
const (
	ByAgent  TimelineKind = "agent"
	ByPerson TimelineKind = "person"
	BySystem TimelineKind = "system"
	ByERP    TimelineKind = "erp"
)

// TimelineEntry is one thing that happened. Words are what the actor wrote.
type TimelineEntry struct {
	At      Moment
	Kind    TimelineKind
	Who     Foreign
	Channel string // "in the browser", "over MCP"
	What    string
	Words   Foreign
	Details []Entry
	// About names the record it happened to, with the page of it, where a line of time tells of several.
	About string
	URL   templ.SafeURL
}

func (k TimelineKind) words(ctx context.Context) string {
	switch k {
	case ByAgent:
		return tr(ctx, "agent")
	case BySystem:
		return lang.Of(ctx).C("who did it", "desk")
	case ByERP:
		return tr(ctx, "ERP")
	}
	return tr(ctx, "person")
}
