// Package api serves REST under /api/v1. Every operation is one line of a table: its method, path,
// scopes, what it takes and what it answers. Routes and the OpenAPI document both come from that table,
// so neither can say what the other does not.
package api
