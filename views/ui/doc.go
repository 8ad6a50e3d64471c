// Package ui holds the partials every page of apdesk is made of: typed
// buttons, badges, fields, tables, timelines and the rendering of text and
// data that came from outside.
//
// It knows nothing about cases, approvals or HTTP. What it gets is already in
// words; the pure helpers here (Visible, FromJSON, Compare, Ago, Due, Figures,
// Words) are the few steps on the way there that every page shares.
package ui
