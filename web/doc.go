// Package web joins pages, REST and the MCP endpoint into one server with two addresses, and starts and
// stops it. What an address answers is decided in the packages below.
package web
