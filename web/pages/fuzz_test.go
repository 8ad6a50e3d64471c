package pages

import (
	"net/url"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/views/lang"
)

// FuzzLocalPath: an address to go on to is one of the desk's own, however a browser reads it.
func FuzzLocalPath(f *testing.F) {
	for _, next := range []string{"/cases/case_1?tab=x#y", "//evil.example", `/\evil.example`, "/%2f/evil.example", "/%5cevil.example", "/.//evil.example", "/..//evil.example", "javascript:alert(1)", "/\t/evil.example", "/login", "/a\r\nSet-Cookie: b"} {
		f.Add(next)
	}
	base, err := url.Parse("https://desk.example.com/login")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, next string) {
		got := localPath(next)
		if got == "" {
			return
		}
		if !strings.HasPrefix(got, "/") || strings.HasPrefix(got, "//") || strings.ContainsAny(got, "\\\r\n\t\x00") {
			t.Errorf("%q leads to %q", next, got)
		}
		u, err := base.Parse(got)
		if err != nil || u.Host != base.Host || u.Scheme != base.Scheme || u.User != nil {
			t.Errorf("%q leads to %v (%v)", next, u, err)
		}
		if again := localPath(got); again != got {
			t.Errorf("%q leads to %q, and that to %q", next, got, again)
		}
		if from := listPath(next); from != "" && localPath(from) == "" {
			t.Errorf("the list %q is elsewhere", from)
		}
	})
}

// FuzzReadList: the list that an address names, also one kept as a view years ago, is read or refused, and has
// one address.
func FuzzReadList(f *testing.F) {
	f.Add("/queues/ap", "supplier=V-1&amount_from=-20&sort=amount")
	f.Add("/cases", "state=held&due=today&code=PO_CLOSED&claimed_by=me&cursor=x")
	f.Add("/queues/ap", "amount_to=1e400&currency=%00&state=%ff&sort=';--")
	f.Add("/queues/../ap", "%")
	f.Fuzz(func(t *testing.T, path, query string) {
		list, known := (words{}).readList(path, query, "EUR")
		if !known || len(list.issues) > 0 {
			return
		}
		path1, query1 := list.address()
		again, known := (words{}).readList(path1, query1, "EUR")
		if !known || len(again.issues) > 0 {
			t.Fatalf("%s?%s has the address %s?%s, which is none: %v", path, query, path1, query1, again.issues)
		}
		if path2, query2 := again.address(); path2 != path1 || query2 != query1 {
			t.Errorf("%s?%s has the addresses %s?%s and %s?%s", path, query, path1, query1, path2, query2)
		}
	})
}

// FuzzReadKeptForm: what a sign-in form carries along is read or dropped, names a form of which drafts are
// kept, and is shown without losing its way.
func FuzzReadKeptForm(f *testing.F) {
	f.Add(`{"Draft":"case_1/decision","Version":1,"Fields":[{"Name":"reason","Value":"x"}]}`)
	f.Add(`{"Draft":"case_1/nothing"}`)
	f.Add(`[`)
	f.Fuzz(func(t *testing.T, text string) {
		kept, ok := readKeptForm(text)
		if !ok {
			return
		}
		if _, _, isForm := readDraftKey(kept.Draft); !isForm {
			t.Errorf("%q is kept for %q", text, kept.Draft)
		}
		(words{lang: lang.English()}).fieldEntries(kept.Fields)
		if again := kept.text(); again != "" {
			if _, ok := readKeptForm(again); !ok {
				t.Errorf("%q is written as %q, which is not read", text, again)
			}
		}
	})
}
