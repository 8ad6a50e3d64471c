package models

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// NamedError is one occurrence of a published code: the five fields every error an agent can act on
// carries, on MCP as on REST. Its message is plain English for the caller and never names tables,
// hosts or paths.
type NamedError struct {
	Code       Code           `json:"code"`
	Message    string         `json:"message"`
	Retryable  bool           `json:"retryable"`
	NextAction NextAction     `json:"next_action"`
	Details    map[string]any `json:"details"`

	cause error
}

// Error is the code and the message, for logs.
func (e *NamedError) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap gives the cause kept for the log, if any.
func (e *NamedError) Unwrap() error { return e.cause }

// Status is the HTTP status of the error on REST.
func (e *NamedError) Status() int { return byCode[e.Code].Status }

// Because keeps a cause for the log; callers never see it.
func (e *NamedError) Because(cause error) *NamedError {
	e.cause = cause
	return e
}

// E builds the named error of a code; retryable and next_action come from the catalogue.
func E(code Code, message string, details map[string]any) *NamedError {
	entry, ok := byCode[code]
	if !ok {
		entry = byCode[Internal]
	}
	if details == nil {
		details = map[string]any{}
	}
	return &NamedError{Code: entry.Code, Message: message, Retryable: entry.Retryable, NextAction: entry.NextAction, Details: details}
}

// Issue names one field that is not valid. Path is a JSON Pointer into the request.
type Issue struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Invalid is VALIDATION_ERROR with every issue found, in the order of their paths.
func Invalid(issues ...Issue) *NamedError {
	sort.SliceStable(issues, func(i, j int) bool { return issues[i].Path < issues[j].Path })
	parts := make([]string, 0, len(issues))
	for i, is := range issues {
		if i == 3 {
			parts = append(parts, fmt.Sprintf("and %d more", len(issues)-3))
			break
		}
		path := is.Path
		if path == "" {
			path = "the request"
		}
		parts = append(parts, path+" "+is.Message)
	}
	return E(ValidationError, "Correct these values and send again: "+strings.Join(parts, "; ")+".", map[string]any{"issues": issues})
}

// AsNamed finds the named error in a chain.
func AsNamed(err error) (*NamedError, bool) {
	var ne *NamedError
	ok := errors.As(err, &ne)
	return ne, ok
}

// IsCode says whether err carries the given code.
func IsCode(err error, code Code) bool {
	ne, ok := AsNamed(err)
	return ok && ne.Code == code
}

// Missing is NOT_FOUND for one kind of record; it says the same for a record of another workspace.
func Missing(what, id string) *NamedError {
	return E(NotFound, fmt.Sprintf("There is no %s %q in a workspace you can reach.", what, id), map[string]any{"id": id})
}
