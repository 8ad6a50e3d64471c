package models

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// maxERPLink is the longest template, in characters.
const maxERPLink = 500

// erpPlaces are what a template may name.
var erpPlaces = []string{"invoice_id", "po_id", "supplier_id", "workspace_id"}

var erpPlace = regexp.MustCompile(`\{[^{}]*\}`)

// ERPLink is the address of an invoice in the workspace's ERP, with places for what differs.
type ERPLink struct {
	template string
	host     string
}

// ParseERPLink reads a template such as https://erp.example.com/invoice/{invoice_id}. The empty text is
// no link. It fails with VALIDATION_ERROR on /erp_link.
func ParseERPLink(template string) (ERPLink, error) {
	refuse := func(why string) (ERPLink, error) { return ERPLink{}, Invalid(Issue{"/erp_link", why}) }
	if template == "" {
		return ERPLink{}, nil
	}
	if len([]rune(template)) > maxERPLink {
		return refuse("must have at most 500 characters")
	}
	places := erpPlace.FindAllString(template, -1)
	for _, p := range places {
		if !slices.Contains(erpPlaces, strings.Trim(p, "{}")) {
			return refuse("holds " + p + "; known places are {" + strings.Join(erpPlaces, "}, {") + "}")
		}
	}
	plain := erpPlace.ReplaceAllString(template, "x")
	if strings.ContainsAny(plain, "{}") {
		return refuse("holds a brace that belongs to no place such as {invoice_id}")
	}
	u, err := url.Parse(plain)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || u.User != nil || strings.ContainsFunc(plain, notInAddress) {
		return refuse("must be an https address such as https://erp.example.com/invoice/{invoice_id}")
	}
	before, _, _ := strings.Cut(strings.TrimPrefix(template, "https://"), "/")
	before, _, _ = strings.Cut(before, "?")
	before, _, _ = strings.Cut(before, "#")
	if before != u.Host {
		return refuse("must name its host in full; places come after it")
	}
	if len(places) == 0 {
		return refuse("needs at least one place such as {invoice_id}")
	}
	return ERPLink{template: template, host: u.Host}, nil
}

// notInAddress says which characters stand in no address; a backslash is a slash to a browser.
func notInAddress(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' || r > 0x7f }

// URL is the address for one invoice. There is none when a value that the template names is missing,
// or would change the address's path by being a dot or two.
func (l ERPLink) URL(values map[string]string) (address string, ok bool) {
	if l.template == "" {
		return "", false
	}
	ok = true
	address = erpPlace.ReplaceAllStringFunc(l.template, func(place string) string {
		value := values[strings.Trim(place, "{}")]
		if strings.Trim(value, ".") == "" {
			ok = false
		}
		return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
	})
	u, err := url.Parse(address)
	if !ok || err != nil || u.Scheme != "https" || u.Host != l.host {
		return "", false
	}
	return address, true
}

// SetERPLink states where an invoice stands in the ERP; the empty text is no link. Admins may. It fails
// with VALIDATION_ERROR on /erp_link.
func (tx *Tx) SetERPLink(template string) error {
	if err := tx.By.needEditor(RoleAdmin); err != nil {
		return err
	}
	template = strings.TrimSpace(template)
	if _, err := ParseERPLink(template); err != nil {
		return err
	}
	w, err := tx.Workspace()
	if err != nil || w.ERPLink == template {
		return err
	}
	if _, err := tx.Exec("UPDATE workspaces SET erp_link = ? WHERE id = ?", template, w.ID); err != nil {
		return err
	}
	return tx.Audit("erp_link.set", Ref{Subject: w.ID}, map[string]any{"before": w.ERPLink, "after": template})
}
