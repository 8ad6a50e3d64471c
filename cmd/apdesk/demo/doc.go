// Package demo shows apdesk at work: it sets up a desk in a temporary directory
// and runs the desk, a simulated ERP, a scripted agent and, with Fast, scripted
// people as processes of the same binary, which share nothing but sockets and
// tokens. Any of them may be killed at any moment; the supervisor starts it again.
package demo
