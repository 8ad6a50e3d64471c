// Package mcpserver serves the desk's tools to agents and ERP systems over the Model Context Protocol:
// Streamable HTTP, stateless, JSON answers, on a net/http server of its own.
//
// The official SDK speaks the protocol. In front of it stands a check of every request in the published
// order (size, credentials, Host and Origin, workspace, JSON, request, version, headers, method,
// params), so that each refusal is a JSON-RPC error with the published status, also where the SDK is
// lenient or answers plain text. Tool arguments are taken from the bytes as they came.
//
// A tool checks access, decodes, calls one service method and hands out its result; rules live in the
// services. The package knows nothing of pages and REST.
package mcpserver
