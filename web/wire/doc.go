// Package wire reads what callers send: the same request structs on REST and on MCP, taken strictly
// from the raw bytes, so that an amount keeps its digits and a duplicate name is noticed. The structs
// are also what the published JSON Schemas are made from.
//
// Everything wrong with a request is collected and named at its own place; nothing is guessed. The
// package knows no HTTP and no MCP, and it decides nothing about cases or approvals.
package wire
