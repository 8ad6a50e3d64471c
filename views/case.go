package views

import (
	"slices"

	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// CasePage is one case with everything needed to decide it.
type CasePage struct {
	Page      Page
	ID        string
	Heading   string // "PO is closed"
	Code      ui.Foreign
	QueueName string
	QueueURL  templ.SafeURL
	Status    ui.Badge // test id "case-status"
	Due       ui.Moment
	Opened    ui.Moment
	Run       ui.Foreign
	Reason    string // "stopped at a named error", "ran out of budget"
	Claim     Claim
	// Marks are what the desk noticed about the handover: "no corrected retry
	// was made".
	Marks   []ui.Notice
	Earlier []EarlierDecision
	Invoice Invoice
	Match   *Match // nil when the evidence tells of no order and no receipt
	// Handovers is what the agent said, newest first.
	Handovers []HandoverView
	// Request leads to the approval request behind the case, if there is one.
	Request *RelatedLink
	// Search helps to find an approver; nil on cases that need none.
	Search *ApproverSearch
	// Duplicates are invoices the desk has seen that this one may be again; nil for none.
	Duplicates *Duplicates
	// Instruction is what the agent was told; nil while nobody decided.
	Instruction *Instruction
	Decision    *DecisionForm // nil when there is nothing to decide
	WhyNot      string        // why this person cannot decide, in words
	Conflict    *Conflict
	Changes     *Changes
	Snooze      *Snooze  // nil when there is nothing to say of it
	Reroute     *Reroute // nil for people who cannot
	Files       Files
	Related     []RelatedGroup
	Comments    []Comment
	CommentForm *CommentForm
	Timeline    []ui.TimelineEntry
}

// stopPart is a part of what is told of a stop.
type stopPart int

const (
	partSearch stopPart = iota
	partCompared
	partOtherEvidence
	partEvidence
	partMatch
	partErrors
	partDuplicates
	partNothing
)

// decides says by code which parts hold the facts of its own, in the order in which people look at them. Of
// several in one place the first that is there stands.
var decides = map[ui.Foreign][][]stopPart{
	"DUPLICATE_INVOICE":  {{partCompared, partDuplicates, partErrors}},
	"PO_CLOSED":          {{partEvidence, partErrors}, {partMatch}},
	"APPROVER_NOT_FOUND": {{partSearch, partErrors}},
	"PERIOD_CLOSED":      {{partErrors}},
	"SUPPLIER_NOT_FOUND": {{partCompared, partEvidence}, {partErrors}},
	"GR_MISSING":         {{partMatch, partEvidence}, {partErrors}},
	"TOLERANCE_EXCEEDED": {{partMatch, partEvidence, partErrors}},
}

// anyStop is for all others: what was sent each time, and what was read and found.
var anyStop = [][]stopPart{{partErrors}, {partEvidence}}

// stopAt is the newest handover that tells of the stop itself: an answer to a question may tell nothing of it.
func (p CasePage) stopAt() int {
	for i, h := range p.Handovers {
		if len(h.Errors) > 0 || len(h.Evidence) > 0 {
			return i
		}
	}
	return 0
}

func (p CasePage) stop() HandoverView {
	if len(p.Handovers) == 0 {
		return HandoverView{}
	}
	return p.Handovers[p.stopAt()]
}

// told are the handovers whose words count: the one of the stop, and what came after.
func (p CasePage) told() []HandoverView {
	return p.Handovers[:min(p.stopAt()+1, len(p.Handovers))]
}

func (p CasePage) earlierHandovers() []HandoverView { return p.Handovers[len(p.told()):] }

// unlikeStop leaves out what stands with the stop word for word.
func (p CasePage) unlikeStop(all []Evidence) []Evidence {
	var out []Evidence
	for _, e := range all {
		if e.AsSent == "" || !slices.ContainsFunc(p.stop().Evidence, func(s Evidence) bool { return s.Title == e.Title && s.AsSent == e.AsSent }) {
			out = append(out, e)
		}
	}
	return out
}

func (p CasePage) compared() []Evidence { return p.evidenceOf(true) }

func (p CasePage) notCompared() []Evidence { return p.evidenceOf(false) }

func (p CasePage) evidenceOf(compared bool) []Evidence {
	var out []Evidence
	for _, e := range p.stop().Evidence {
		if (e.Kind == EvidenceComparison) == compared {
			out = append(out, e)
		}
	}
	return out
}

func (p CasePage) has(part stopPart) bool {
	switch part {
	case partSearch:
		return p.Search != nil
	case partCompared:
		return len(p.compared()) > 0
	case partOtherEvidence:
		return len(p.notCompared()) > 0
	case partEvidence:
		return len(p.stop().Evidence) > 0
	case partMatch:
		return p.Match != nil
	case partErrors:
		return len(p.stop().Errors) > 0
	case partDuplicates:
		return p.Duplicates != nil
	}
	return false
}

// deciding are the parts that stand before the decision.
func (p CasePage) deciding() []stopPart {
	for _, places := range [][][]stopPart{decides[p.Code], anyStop} {
		var out []stopPart
		for _, place := range places {
			if i := slices.IndexFunc(place, p.has); i >= 0 {
				out = append(out, place[i])
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return []stopPart{partNothing}
}

// besides are all other parts.
func (p CasePage) besides() []stopPart {
	first := p.deciding()
	var out []stopPart
	for _, part := range []stopPart{partSearch, partMatch, partEvidence, partErrors, partDuplicates} {
		if part == partEvidence && slices.Contains(first, partCompared) {
			part = partOtherEvidence
		}
		if p.has(part) && !slices.Contains(first, part) {
			out = append(out, part)
		}
	}
	return out
}

// Claim is who holds the case and what this person can do about it.
type Claim struct {
	Text                              string // "Claimed by you until 14:30"
	CanClaim, CanRelease, CanTakeOver bool
	ClaimURL, ReleaseURL, TakeOverURL templ.SafeURL
	Hidden                            []ui.Hidden // of each of these forms
}

// EarlierDecision is a decision on the same error within a day.
type EarlierDecision struct {
	Text   string // "Petra Vogel decided the same error 3 h ago: reopen the PO."
	Reason ui.Foreign
	URL    templ.SafeURL
}

// RelatedLink leads to something that belongs to the page.
type RelatedLink struct {
	Text string
	URL  templ.SafeURL
}

// ApproverSearch is what finding an approver for a request needs.
type ApproverSearch struct {
	Facts  []ui.Entry // of the request: its call, type, amount and who asks
	Amount string     // "7,500.00 USD"; "" where candidates are not shown
	// Candidates may be named; Others hold a deciding role and may not, with the reason.
	Candidates []ApproverCandidate
	Others     []ApproverCandidate
	Tried      []TriedRule
	TryURL     templ.SafeURL // tries the request on the matrix
}

// ApproverCandidate is somebody who might be named to decide a request.
type ApproverCandidate struct {
	Name, Email string
	Limit       string     // "EUR 10,000.00"; "" without one
	Absence     string     // "away until 12 Oct 2026"; "" when they are there
	Why         ui.Foreign // why they cannot be named; finishes a sentence that begins with their name
}

// TriedRule is a rule of the matrix that does not help.
type TriedRule struct {
	Name string // "Rule 6CA32R, version 1"
	Text string // "finance lead · EUR 0 to 10,000"
	Why  ui.Foreign
}

// HandoverView is one handover in the agent's words.
type HandoverView struct {
	At          ui.Moment
	Agent       ui.Foreign
	Run         ui.Foreign
	Asks        string     // the question of a person this one answers, or ""
	Answer      ui.Foreign // to that question
	Explanation ui.Foreign
	Suggestion  *Suggestion
	Errors      []SeenError
	Evidence    []Evidence
	Calls       []Call
}

// Suggestion is the exit the agent would choose.
type Suggestion struct {
	ExitWords string // "Reopen the PO"; "" for an exit that does not exist
	Exit      ui.Foreign
	Why       ui.Foreign
}

// Instruction is what the agent was told to do.
type Instruction struct {
	Words    string // "Call again with the corrected input."
	Kind     string
	Input    []ui.Entry
	Question ui.Foreign
	Note     ui.Foreign
	Until    string
	By       string // "decided by Petra Vogel, procurement"
	At       ui.Moment
	Reason   ui.Foreign
	ExitText string // "Reopen the PO"
}

// DecisionForm posts exit, input.<name>, reason and version.
type DecisionForm struct {
	Form
	Exits    []Exit
	Reason   ui.Field
	Proposed []ProposedCall // writes of the agent that can be asked for together with the decision
	// ProposedError is about the proposed calls as a whole.
	ProposedError string
	// ClaimsOnSubmit says in words that deciding also claims the case.
	ClaimsOnSubmit string
}

// Exit is one way out of a case.
type Exit struct {
	Code      string
	Label     string
	AgentWill string // "The agent goes on from where it stopped."
	States    string // "By this you state that the PO is open again in the ERP."
	// NoReason is set for the plain go-on, the only exit without a reason.
	NoReason  bool
	Stops     bool
	Checked   bool
	Suggested bool // by the agent
	Fields    []ui.Field
}

// fields are the exit's own fields. Two exits may ask for the same name, so
// the ids carry the exit; a browser without script must not insist on fields
// of exits that were not chosen.
func (e Exit) fields() []ui.Field {
	out := make([]ui.Field, len(e.Fields))
	for i, f := range e.Fields {
		if f.ID == "" {
			f.ID = "f-" + e.Code + "-" + f.Name
		}
		out[i] = chosenOnly(f)
	}
	return out
}

// FieldID is the id of one of the exit's fields, for the error summary.
func (e Exit) FieldID(name string) string { return "f-" + e.Code + "-" + name }

func chosenOnly(f ui.Field) ui.Field {
	f.RequiredLater, f.Required = f.Required, false
	return f
}

// ProposedCall is a write the agent proposed. Ticked, an approval is asked for it.
type ProposedCall struct {
	Tick    ui.Field
	Tool    ui.Foreign
	InWords ui.Foreign
	Bound   bool // the workspace knows where the values stand in its arguments
	Fields  []ui.Field
	Open    bool
}
