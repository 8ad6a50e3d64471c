// Package data is the demo's small world: two companies, their people, rules,
// suppliers, orders and invoices, and how each invoice is meant to end.
//
// The simulated ERP reads only Books, the agent only Inbox, the scripted people
// only Decisions, and the supervisor compares what really happened with Want.
// Nothing here knows a socket, a file or the desk.
package data
