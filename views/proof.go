package views

import (
	"github.com/a-h/templ"

	"github.com/apdesk/apdesk/views/ui"
)

// ProofPage is the record of one approval request on one printable page.
type ProofPage struct {
	Page     Page
	ID       string
	BackURL  templ.SafeURL
	JSONURL  templ.SafeURL
	State    ui.Foreign // "Approved by Ines Roth on …, posted as 5100001234 on …"
	Issuer   string     // the workspace
	MadeAt   string
	Amount   string
	Currency string
	Sentence ui.Foreign // what the call does
	// AuthorityHeading is "The rule, as it was", or says that a person was named.
	AuthorityHeading string
	Tool             ui.Foreign
	// Arguments are the exact ones; Withheld says that some are hidden from this reader.
	Arguments ui.Value
	Withheld  bool
	Digest    string
	HowDigest string
	Asked     []ProofFact
	Authority []ProofFact
	RuleFacts []ProofFact // the rule's copy in full
	NoRule    string
	Votes     []ProofVote
	NoVotes   string
	Approval  []ProofFact
	Refused   []ProofLine
	Trail     []ProofEvent
	MoreTrail string // "12 more in the JSON record"
}

// ProofFact is one named fact of a record. Code is for ids and digests.
type ProofFact struct {
	Name  string
	Value ui.Foreign
	Code  bool
}

// ProofVote is one vote with its authority.
type ProofVote struct {
	Answer    string // "Yes", "No"
	Who       ui.Foreign
	Role      string
	OnBehalf  ui.Foreign // "on behalf of Ines Hoffmann, delegation … 1 Oct to 9 Oct 2026"
	Step      string
	Limit     string
	Rule      string
	Channel   string
	At        string
	Second    string // the second step, when one was asked for
	Confirmed string // how and when the voter confirmed that it is them, when the amount asked for it
	Reason    ui.Foreign
	HasReason bool
}

// ProofLine is one refused attempt.
type ProofLine struct {
	At, Channel string
	Who         ui.Foreign
	What        ui.Foreign
}

// ProofEvent is one line of the trail.
type ProofEvent struct {
	Seq    string
	ID     string
	Action string
	At     string
	Who    ui.Foreign
	Hash   string
}
