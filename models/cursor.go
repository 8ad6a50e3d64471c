package models

import (
	"encoding/base64"
	"strings"
)

// KeyCursor is where a page of a list by time ended, as text for an address.
func KeyCursor(at Time, id string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(at.String() + "|" + id))
}

// ReadKeyCursor reads a KeyCursor. BAD_REQUEST for any other text.
func ReadKeyCursor(cursor string) (at Time, id string, err error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	when, id, ok := strings.Cut(string(raw), "|")
	if err == nil && ok {
		err = at.Scan(when)
	}
	if err != nil || !ok || id == "" {
		return Time{}, "", E(BadRequest, "This cursor is not one the desk gave out. Start again without it.", map[string]any{"field": "cursor"})
	}
	return at, id, nil
}
