package pages

import (
	"encoding/json"
	"strings"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/ui"
)

// comments are the remarks on a case, with the people they name marked.
func (v *visit) comments(all []models.Comment, members []models.Member) []views.Comment {
	var out []views.Comment
	for _, c := range all {
		out = append(out, views.Comment{At: v.at(c.At), Who: c.AuthorName, Text: ui.Foreign(c.Text), Parts: commentParts(c.Text, members)})
	}
	return out
}

// commentParts cuts a comment at the people it names; nil when it names nobody.
func commentParts(text string, members []models.Member) []views.CommentPart {
	if !strings.Contains(text, "@") {
		return nil
	}
	found, _ := queue.Mentions(text, members)
	if len(found) == 0 {
		return nil
	}
	var parts []views.CommentPart
	at := 0
	for _, m := range found {
		if m.Start > at {
			parts = append(parts, views.CommentPart{Text: ui.Foreign(text[at:m.Start])})
		}
		parts = append(parts, views.CommentPart{Text: ui.Foreign(text[m.Start:m.End]), Mention: m.Name})
		at = m.End
	}
	if at < len(text) {
		parts = append(parts, views.CommentPart{Text: ui.Foreign(text[at:])})
	}
	return parts
}

// mentionOptions are who can be mentioned: by name, or by e-mail where several are called the same.
func mentionOptions(members []models.Member, self string) []ui.Option {
	named := map[string]int{}
	for _, m := range members {
		named[strings.ToLower(m.User.Name)]++
	}
	var out []ui.Option
	for _, m := range members {
		if m.User.ID == self {
			continue
		}
		o := ui.Option{Value: m.User.Name, Label: m.User.Email}
		if named[strings.ToLower(m.User.Name)] > 1 {
			o = ui.Option{Value: m.User.Email, Label: m.User.Name}
		}
		out = append(out, o)
	}
	return out
}

// withMention puts who is chosen beside a comment before it, unless it names them already.
func (v *visit) withMention(text, whom string) (string, error) {
	whom = strings.TrimPrefix(strings.TrimSpace(whom), "@")
	if whom == "" || text == "" || strings.Contains(strings.ToLower(text), "@"+strings.ToLower(whom)) {
		return text, nil
	}
	members, err := v.p.queue.Mentionable(v.ctx, v.by)
	if err != nil {
		return "", err
	}
	found, ambiguous := queue.Mentions("@"+whom, members)
	switch {
	case len(ambiguous) > 0:
		return "", models.Invalid(models.Issue{Path: "/mention", Message: "is what more than one person is called; write the full name or the e-mail"})
	case len(found) != 1 || found[0].End != len(whom)+1:
		return "", models.Invalid(models.Issue{Path: "/mention", Message: "names no active person of this workspace"})
	}
	return "@" + whom + " " + text, nil
}

// invoiceKeys are the ids by which an invoice and its supplier are known.
func invoiceKeys(sent json.RawMessage) (invoice, supplier string) {
	var keys struct {
		ID         json.RawMessage `json:"id"`
		SupplierID json.RawMessage `json:"supplier_id"`
	}
	if json.Unmarshal(sent, &keys) != nil {
		return "", ""
	}
	text := func(raw json.RawMessage) string {
		var s string
		if json.Unmarshal(raw, &s) != nil {
			return strings.Trim(string(raw), `"`)
		}
		return s
	}
	return text(keys.ID), text(keys.SupplierID)
}
