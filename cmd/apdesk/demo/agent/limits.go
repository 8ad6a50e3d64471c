package agent

import "slices"

// Budget is how many tool calls one invoice may cost. Polling the desk and
// handing over never count.
const Budget = 25

// Call is one finished tool call.
type Call struct {
	Run  int    `json:"run"`
	Tool string `json:"tool"`
	// Arguments in canonical form, without approval_id and idempotency_key.
	Arguments  string `json:"arguments"`
	ApprovalID string `json:"approval_id,omitempty"`
	// Code of the named error or information; empty when there was none.
	Code string `json:"code,omitempty"`
	// Counted is false for polls and handovers.
	Counted bool `json:"counted"`
	// Transient calls were answered "not now, the same again later".
	Transient bool `json:"transient,omitempty"`
}

// Refusal reasons, as a handover names them.
const (
	loopDetected    = "loop_detected"
	budgetExhausted = "budget_exhausted"
)

// allowed says whether the next call keeps the loop limits, else which one it
// would break. A granted call is the one fresh try that a person's decision
// gives; it passes every limit but the one on writes without approval.
func allowed(done []Call, next Call, write, granted bool) (reason string, ok bool) {
	spent := 0
	for _, c := range done {
		if c.Counted {
			spent++
		}
		if c.Run != next.Run || c.Transient {
			continue
		}
		// After APPROVAL_MISSING no write until a new approval: the one it was
		// refused with, or none at all, is no new one.
		if write && c.Code == "APPROVAL_MISSING" && (next.ApprovalID == "" || next.ApprovalID == c.ApprovalID) {
			return loopDetected, false
		}
		same := c.Tool == next.Tool && c.Arguments == next.Arguments && c.ApprovalID == next.ApprovalID
		if same && !granted {
			return loopDetected, false
		}
	}
	if spent >= Budget && !granted {
		return budgetExhausted, false
	}
	return "", true
}

// mayCorrect says whether the agent may still correct an input of this tool on
// its own: once per tool and invoice.
func mayCorrect(corrected []string, tool string) bool { return !slices.Contains(corrected, tool) }
