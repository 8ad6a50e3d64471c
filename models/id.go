package models

import (
	"crypto/rand"
	"encoding/base32"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/oklog/ulid/v2"
)

// Prefixes of the records' ids.
const (
	PrefixCase            = "case"
	PrefixHandover        = "hand"
	PrefixDecision        = "dec"
	PrefixComment         = "com"
	PrefixApprovalRequest = "areq"
	PrefixApproval        = "apr"
	PrefixVote            = "vote"
	PrefixRule            = "rule"
	PrefixConfirmation    = "conf"
	PrefixServerRule      = "srule"
	PrefixHold            = "hold"
	PrefixEvent           = "evt"
	PrefixUser            = "usr"
	PrefixToken           = "tok"
	PrefixLink            = "link"
	PrefixDelegation      = "deleg"
	PrefixNotice          = "note"
	PrefixSavedView       = "view"
	PrefixAttachment      = "file"
	PrefixPasskey         = "pkey"
)

// IDs makes prefixed ids that sort by creation. It is safe for concurrent use.
type IDs struct {
	mu      sync.Mutex
	clock   func() time.Time
	random  io.Reader
	entropy *ulid.MonotonicEntropy
}

// NewIDs makes ids from a clock and a source of randomness; nil means the system's.
func NewIDs(clock func() time.Time, random io.Reader) *IDs {
	if random == nil {
		random = rand.Reader
	}
	return &IDs{clock: clock, random: random, entropy: ulid.Monotonic(random, 0)}
}

// New is a new id with the prefix. An approval id carries 128 further random bits, because
// whoever holds it may write.
func (g *IDs) New(prefix string) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	id := ulid.MustNew(ulid.Timestamp(g.clock()), g.entropy)
	text := prefix + "_" + strings.ToLower(id.String())
	if prefix == PrefixApproval {
		text += Secret(g.random, 16)
	}
	return text
}

// Secret is n random bytes as lower-case text. It panics when the source of randomness fails, since
// nothing may go on with a guessable secret.
func Secret(random io.Reader, n int) string {
	if random == nil {
		random = rand.Reader
	}
	buf := make([]byte, n)
	if _, err := io.ReadFull(random, buf); err != nil {
		panic("models: no randomness: " + err.Error())
	}
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(buf))
}

// MaskID shows enough of a secret id to recognise it, never enough to use it.
func MaskID(id string) string {
	const head = 4 + 10 // prefix and the time part
	if len(id) <= head {
		return id
	}
	return id[:head] + "…"
}
