// Package agent is the demo's scripted invoice agent. It works the documents of
// its inbox with the ERP's tools, follows every next_action to the letter, hands
// over to people at the desk and does what they decide, nothing else.
//
// All it knows is in one file per invoice, written before each call and after
// each answer: an agent that was killed repeats at most the call it had not
// heard back from, under the same idempotency key. The loop limits are pure
// functions of that file.
package agent
