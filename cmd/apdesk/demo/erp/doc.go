// Package erp is the demo's simulated ERP: an MCP server with the eight ERP
// tools, books that survive a SIGKILL, and an office that carries out in the ERP
// what people state at the desk (an order reopened, an invoice rejected).
//
// It reaches the desk only over REST with its own tokens. A write runs once per
// approval: it is noted, redeemed at the desk, booked and reported, and each of
// the steps can be repeated after a crash.
package erp
