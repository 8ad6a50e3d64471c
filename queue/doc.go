// Package queue takes handovers from agents, keeps the cases people work, and the holds that wait for
// a re-check. It knows nothing of HTTP, of pages, or of how approvals are decided.
package queue
