package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// ConfirmationRow is another server's question in a list.
type ConfirmationRow struct {
	ID       string
	URL      templ.SafeURL
	Status   ui.Badge
	Expires  ui.Moment // zero once it is answered or over
	Message  ui.Foreign
	Tool     ui.Foreign
	Server   ui.Foreign
	Known    bool // the workspace has registered the server
	Invoice  ui.Foreign
	AskedBy  ui.Foreign
	Asked    ui.Moment
	Answers  string // who answers: "finance lead"
	Answered string // "accepted by Ines Roth"
	At       ui.Moment
	Present  []Presence // who else has it open
}

// ConfirmationsPage is the list of forwarded questions.
type ConfirmationsPage struct {
	Page    Page
	Lead    string
	Tabs    []ui.Tab // waiting for me, all open, done
	Caption string
	Rows    []ConfirmationRow
	Empty   ui.Empty
	Pager   ui.Pager
}

// ConfirmationPage is one forwarded question: which server asks about which call, and the answer.
type ConfirmationPage struct {
	Page     Page
	ID       string
	BackURL  templ.SafeURL
	Status   ui.Badge // test id "confirmation-status"
	Expires  ui.Moment
	Asked    ui.Moment
	Agent    ui.Foreign
	OnBehalf string // "Mia Brandt answers for this account"
	Run      ui.Foreign
	Server   Server
	// CallHeading says where the call stands: "If you accept, the server goes on with exactly this call".
	CallHeading string
	Call        Call
	Digest      string
	StateHash   string // of the server's own state; "" when it sent none
	Questions   []Question
	Invoice     *Invoice
	Who         string // "A finance lead answers this."
	WhoWhy      string // "No rule names this server or tool."
	Eligible    []Eligible
	WhyNot      string
	Form        *AnswerForm
	Answer      *ConfirmationAnswer
	Notices     []ui.Notice
	Conflict    *Conflict
	Timeline    []ui.TimelineEntry
}

// Server is the other server as the desk knows it.
type Server struct {
	Name     ui.Foreign
	Known    bool       // the workspace has registered it; its name is then the workspace's
	Reported ui.Foreign // as the agent called it, when that differs
	By       ui.Foreign // the agent whose word it is, when it is not known
	URL      ui.Foreign
	Host     ui.Foreign
}

// Question is one request of the server, in its own words.
type Question struct {
	Key     ui.Foreign // "" when it is the only one
	Message ui.Foreign
	Title   ui.Foreign // of its form
	About   ui.Foreign // of its form
	Address *Address
	Fields  []ui.Field
}

// Address is what a person is asked to open. Nothing opens it by itself.
type Address struct {
	Host ui.Foreign
	URL  ui.Foreign
	Note string   // what to mind about the host
	Link *ui.Link // for the person who accepted
}

// AnswerForm posts action (accept, decline or cancel), content.<name>, reason and version.
type AnswerForm struct {
	Form
	Reason ui.Field
	After  string // what accepting, declining and cancelling have in common
	Kept   bool   // it holds what was typed before; a refresh must not replace it
	Opens  bool   // accepting consents to open an address, not to a call
}

// ConfirmationAnswer is what became of the question.
type ConfirmationAnswer struct {
	Badge      ui.Badge
	Who        string
	Role       string
	At         ui.Moment
	Reason     ui.Foreign
	Values     []GivenValue
	Taken      string // "robot took it 2 min ago"
	CancelOnly string // "The agent is told cancel, whatever was answered."
}

// GivenValue is one field of a form and what was answered.
type GivenValue struct {
	Label ui.Foreign
	Name  ui.Foreign
	Value ui.Foreign
	Given bool
}

// SecondStepPage shows an acceptance once more, before it counts.
type SecondStepPage struct {
	Page     Page
	BackURL  templ.SafeURL
	ID       string
	Heading  string
	Text     string
	Server   Server
	Agent    ui.Foreign
	Expires  ui.Moment
	Call     Call
	Question []Question
	Values   []GivenValue
	Reason   ui.Foreign
	Form     Form
	Hidden   []ui.Hidden
	Step     ui.Field // the box to tick
	Button   string
}

// ServersPage are the rules that say whose role answers for which server.
type ServersPage struct {
	Page   Page
	Lead   string
	Tabs   []ui.Tab
	WhyNot string
	Rows   []ServerRuleRow
	Empty  ui.Empty
	Add    *ServerRuleForm
}

// ServerRuleRow is one rule in words.
type ServerRuleRow struct {
	ID      string
	Server  ui.Foreign
	URL     ui.Foreign
	Tool    ui.Foreign // "" for any
	Role    string
	Written string
	Retire  *Form
}

// ServerRuleForm adds a rule.
type ServerRuleForm struct {
	Form
	Fields []ui.Field
}

// SecurityPage says which actions are blocked on which channel.
type SecurityPage struct {
	Page   Page
	Lead   string
	Tabs   []ui.Tab
	WhyNot string
	Ask    *AskAgain
	Groups []ActionGroup
}

// ActionGroup is a set of actions that belong together.
type ActionGroup struct {
	Heading string
	Rows    []ActionRow
}

// ActionRow is one action on every channel.
type ActionRow struct {
	Action string // the tool's name
	Words  string // what it does
	API    ActionCell
	MCP    ActionCell
}

// ActionCell is one action on one channel.
type ActionCell struct {
	Offered bool
	Blocked bool
	By      string // who blocked it, and when
	TestID  string
	Change  *ui.PostForm // nil for people who may not change it
}

// opens says whether the server asks to open an address rather than about a call.
func (p ConfirmationPage) opens() bool { return len(p.Questions) > 0 && p.Questions[0].Address != nil }

// callParts are what the heading names: who runs which tool where.
func (p ConfirmationPage) callParts() ui.Parts {
	return ui.Parts{"agent": ui.Text(p.Agent), "tool": ui.Text(p.Call.Tool), "server": ui.Text(p.Server.Name)}
}
