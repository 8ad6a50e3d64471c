package pages

import (
	"net/url"
	"strings"
)

// localPath is the address within the desk that next names, or "" when next leads anywhere else: to
// another host however it is spelled, back to the sign-in page, or nowhere.
func localPath(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsFunc(next, func(r rune) bool { return r == '\\' || r < ' ' || r == 0x7f }) {
		return ""
	}
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || u.User != nil || !strings.HasPrefix(u.Path, "/") || strings.HasPrefix(u.Path, "//") || strings.Contains(u.Path, "\\") {
		return ""
	}
	for _, elsewhere := range []string{"/login", "/logout", "/workspace", "/live", "/static", "/api", "/presence", "/drafts"} {
		if u.Path == elsewhere || strings.HasPrefix(u.Path, elsewhere+"/") {
			return ""
		}
	}
	u.Fragment, u.RawFragment = "", ""
	return u.String()
}

// pageBehind is the page a form stands on, by the address it posts to: /cases/x/claim is on /cases/x.
func pageBehind(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case len(parts) >= 2 && (parts[0] == "cases" || parts[0] == "approvals" || parts[0] == "confirmations" || parts[0] == "holds"):
		return "/" + parts[0] + "/" + url.PathEscape(parts[1])
	case len(parts) >= 2 && parts[0] == "settings" && (parts[1] == "rules" || parts[1] == "servers" || parts[1] == "security" || parts[1] == "delegations" || parts[1] == "hours"):
		return "/settings/" + parts[1]
	case len(parts) >= 3 && parts[0] == "settings" && parts[1] == "people":
		return "/settings/people/" + url.PathEscape(parts[2])
	case len(parts) == 2 && parts[0] == "settings" && parts[1] == "people":
		return "/settings/people"
	case len(parts) == 2 && parts[0] == "settings" && parts[1] == "me":
		return mePath
	case parts[0] == "settings":
		return "/settings"
	}
	return "/"
}
