// Package views holds the pages of apdesk as templ components.
//
// Each page takes one struct that is shaped like the page and already in
// words: amounts are grouped text, times are sentences, permissions are
// booleans. A page asks nothing, decides nothing and formats nothing. Text from
// outside has the type ui.Foreign, which cannot be printed unescaped.
//
// The package imports the standard library, templ and views/ui only; web/pages
// turns answers of the services into these structs.
package views
