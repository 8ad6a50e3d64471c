package queue

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/models"
)

// lastOutcome is the last of the ten codes among the errors, "" when there is none.
func lastOutcome(errs []models.SeenError) (models.Code, int) {
	for i, e := range slices.Backward(errs) {
		if e.Error.Code.IsOutcome() {
			return e.Error.Code, i
		}
	}
	return "", -1
}

// teach refuses a handover whose code has a better next step than a person: a goods receipt that is
// missing is waited for, a write is asked for. The answer is UNPROCESSABLE_ENTITY with the code's own
// next_action. Escalating is not refused: stop_and_escalate takes any code.
func teach(reason models.HandoverReason, code models.Code, escalate bool) *models.NamedError {
	if escalate || reason != models.ReasonNamedError {
		return nil
	}
	var instead string
	switch code {
	case models.GRMissing:
		instead = "hold it with hold_and_recheck (POST /api/v1/holds): the desk waits for the receipt and hands it to a person when it does not come"
	case models.ApprovalMissing:
		instead = "ask for leave with request_approval (POST /api/v1/approval-requests) for exactly this call, then repeat it with the approval_id"
	case models.ToleranceExceeded:
		instead = "ask for the write with request_approval (POST /api/v1/approval-requests) and send the match as evidence"
	default:
		return nil
	}
	entry, _ := models.Lookup(code)
	err := models.E(models.Unprocessable, fmt.Sprintf("%s is not handed to a person: %s.", code, instead),
		map[string]any{"code": string(code), "next_action": string(entry.NextAction)})
	err.NextAction = entry.NextAction
	return err
}

// queueFor is where a handover waits; home is the queue its code has in the workspace, "" for none.
func queueFor(code models.Code, home models.Queue, escalate bool) models.Queue {
	switch {
	case code == "" && escalate:
		return models.QueueFinance
	case code == "" || home == "":
		return models.QueueAP
	}
	return home
}

// Mark is something intake noticed about a handover, or a decision left for others to see.
type Mark struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
}

// Kinds of marks.
const (
	MarkNoRetry         = "no_corrected_retry"
	MarkNoExplanation   = "no_explanation"
	MarkUnknownExit     = "unknown_exit"
	MarkUnknownCode     = "unknown_code"
	MarkSuspectedFraud  = "suspected_fraud"
	MarkFraudElsewhere  = "fraud_elsewhere"   // fraud is suspected on another case of the supplier or bank account
	MarkReview          = "approval_revoked"  // the case reviews an approval whose giver left
	MarkQuestions       = "request_questions" // the case is for questions about an approval request
	MarkReceiptCame     = "receipt_came"      // a re-check found what the case waited for
	MarkVerdictOutdated = "verdict_outdated"  // the pair was judged under another supplier
)

// marksOf is what people should know about how the agent handed over. None of it refuses the handover.
func marksOf(in HandoverInput, code models.Code, at int) []Mark {
	marks := []Mark{}
	if code != "" && !triedAgain(in.Errors, at) {
		marks = append(marks, Mark{MarkNoRetry, "The agent made no corrected retry, although " + string(code) + " allows one."})
	}
	if !models.HasVisible(in.Explanation) {
		marks = append(marks, Mark{MarkNoExplanation, "The agent gave no explanation."})
	}
	if in.Suggestion != nil && in.Suggestion.Exit != "" {
		if !slices.ContainsFunc(Exits(code, in.Reason, ""), func(e Exit) bool { return e.Code == in.Suggestion.Exit }) {
			marks = append(marks, Mark{MarkUnknownExit, fmt.Sprintf("The agent suggests %q, which is no exit of this case.", in.Suggestion.Exit)})
		}
	}
	var foreign []string
	for _, e := range in.Errors {
		if c := string(e.Error.Code); !e.Error.Code.IsOutcome() && !slices.Contains(foreign, c) {
			foreign = append(foreign, c)
		}
	}
	if len(foreign) > 0 {
		marks = append(marks, Mark{MarkUnknownCode, "The agent met errors outside the ten outcomes: " + strings.Join(foreign, ", ") + "."})
	}
	return marks
}

// triedAgain says whether the tool behind errs[at] was called with two different arguments, as a
// retryable code asks for. Other codes need no retry.
func triedAgain(errs []models.SeenError, at int) bool {
	last := errs[at]
	if entry, ok := models.Lookup(last.Error.Code); !ok || !entry.Retryable {
		return true
	}
	own := canonical(last.Arguments)
	return slices.ContainsFunc(errs[:at], func(e models.SeenError) bool {
		return e.Tool == last.Tool && !bytes.Equal(canonical(e.Arguments), own)
	})
}

// addMarks adds what is not yet marked.
func addMarks(have, more []Mark) []Mark {
	for _, m := range more {
		if !slices.Contains(have, m) {
			have = append(have, m)
		}
	}
	return have
}

// joinKey tells whether two handovers are one stop: equal code, invoice id, normalised invoice number,
// supplier and details of the last error. The workspace stands beside it in the index.
func joinKey(code models.Code, inv models.Invoice, details json.RawMessage) string {
	text, err := json.Marshal([]any{code, inv.ID, models.NormaliseNumber(inv.Number), inv.Supplier(), json.RawMessage(canonical(details))})
	if err != nil {
		text = []byte(string(code) + "\x00" + inv.ID + "\x00" + string(details))
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// canonical is one form for equal JSON: members sorted, strings written alike, nothing absent. Whole
// numbers keep all their digits, so that long ids in numbers stay different.
func canonical(raw json.RawMessage) []byte {
	if len(bytes.TrimSpace(raw)) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		return []byte("{}")
	}
	v := jsontext.Value(bytes.Clone(raw))
	if err := v.Format(jsontext.ReorderRawObjects(true), jsontext.CanonicalizeRawInts(false), jsontext.CanonicalizeRawFloats(false),
		jsontext.PreserveRawStrings(false), jsontext.Multiline(false), jsontext.SpaceAfterColon(false), jsontext.SpaceAfterComma(false)); err != nil {
		return raw
	}
	return v
}

// lastDetails are the details of the last error, whatever its code.
func lastDetails(errs []models.SeenError) json.RawMessage {
	if len(errs) == 0 {
		return nil
	}
	return errs[len(errs)-1].Error.Details
}

// detail reads one identifier from an error's details; a number counts as its digits.
//
// What is longer than any id, or no text, names nothing.
func detail(details json.RawMessage, name string) string {
	if len(details) == 0 {
		return ""
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(details, &all); err != nil {
		return ""
	}
	raw, ok := all[name]
	if !ok {
		return ""
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if len(text) > maxDetail || strings.ContainsRune(text, 0) {
			return ""
		}
		return text
	}
	var number json.Number
	if json.Unmarshal(raw, &number) == nil {
		return number.String()
	}
	return ""
}

// maxDetail is the longest identifier read out of an error's details, in bytes.
const maxDetail = 255

// pair is the two invoices of a DUPLICATE_INVOICE in order; ok is false when the other one is not named.
func pair(invoiceID, duplicateOf string) (low, high string, ok bool) {
	if duplicateOf == "" {
		return "", "", false
	}
	return min(invoiceID, duplicateOf), max(invoiceID, duplicateOf), true
}
