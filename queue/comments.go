package queue

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/apdesk/apdesk/models"
)

// NoticeMentioned tells a person that a comment names them.
const NoticeMentioned models.NoticeKind = "comment.mentioned"

// maxMentions bounds how many people one comment tells.
const maxMentions = 20

// Mention is a person named in a comment, as @name or @e-mail. Start and End are where it stands, in
// bytes.
type Mention struct {
	Start, End int
	UserID     string
	Name       string
}

// mentionable is one way to write a person.
type mentionable struct {
	word string // folded
	who  []models.Member
}

// Mentions finds who is named in a text: by e-mail, by name, or by first name. ambiguous lists names
// that several people have. People alone are mentioned; what names nobody is just text.
func Mentions(text string, members []models.Member) (found []Mention, ambiguous []string) {
	names := writtenAs(members)
	for at := 0; at < len(text); {
		i := strings.IndexByte(text[at:], '@')
		if i < 0 {
			break
		}
		start := at + i
		at = start + 1
		if before, _ := utf8.DecodeLastRuneInString(text[:start]); start > 0 && inWord(before) {
			continue // an address, not a mention
		}
		for _, n := range names {
			end, matches := foldedPrefix(text, at, n.word)
			if !matches {
				continue
			}
			if len(n.who) > 1 {
				ambiguous = append(ambiguous, text[start:end])
			} else {
				found = append(found, Mention{Start: start, End: end, UserID: n.who[0].User.ID, Name: n.who[0].User.Name})
			}
			at = end
			break
		}
	}
	return found, ambiguous
}

// writtenAs lists how people can be written, the longest first, so that "Anna Berg" is not read as Anna.
func writtenAs(members []models.Member) []mentionable {
	var all []mentionable
	add := func(word string, m models.Member) {
		word = strings.ToLower(strings.TrimSpace(word))
		if word == "" {
			return
		}
		i := slices.IndexFunc(all, func(n mentionable) bool { return n.word == word })
		if i < 0 {
			all = append(all, mentionable{word: word, who: []models.Member{m}})
		} else if !slices.ContainsFunc(all[i].who, func(o models.Member) bool { return o.User.ID == m.User.ID }) {
			all[i].who = append(all[i].who, m)
		}
	}
	for _, m := range members {
		if m.User.Kind != models.KindPerson {
			continue
		}
		add(m.User.Email, m)
		add(m.User.Name, m)
		first, _, _ := strings.Cut(m.User.Name, " ")
		add(first, m)
	}
	slices.SortStableFunc(all, func(a, b mentionable) int { return cmp.Compare(len(b.word), len(a.word)) })
	return all
}

// foldedPrefix says whether text goes on with a folded word at a place, and with no more letters of the
// same word, and where it ends.
func foldedPrefix(text string, at int, word string) (end int, ok bool) {
	end = at
	for _, want := range word {
		r, size := utf8.DecodeRuneInString(text[end:])
		if size == 0 || unicode.ToLower(r) != want {
			return at, false
		}
		end += size
	}
	next, size := utf8.DecodeRuneInString(text[end:])
	if size > 0 && inWord(next) {
		return at, false
	}
	if next == '@' && !strings.Contains(word, "@") {
		return at, false // the beginning of somebody's e-mail
	}
	return end, true
}

func inWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' }

// tellMentioned tells the people a comment names, less its author. It fails with VALIDATION_ERROR on
// /text when a name is several people's.
func tellMentioned(tx *models.Tx, c models.Case, comment models.Comment) error {
	if !strings.Contains(comment.Text, "@") {
		return nil
	}
	members, err := tx.Members()
	if err != nil {
		return err
	}
	found, ambiguous := Mentions(comment.Text, members)
	if len(ambiguous) > 0 {
		return models.Invalid(models.Issue{Path: "/text", Message: fmt.Sprintf("names %s, which more than one person is called; write the full name or the e-mail after the @", ambiguous[0])})
	}
	var ids []string
	for _, m := range found {
		if m.UserID != comment.AuthorID && !slices.Contains(ids, m.UserID) {
			ids = append(ids, m.UserID)
		}
	}
	if len(ids) > maxMentions {
		return models.Invalid(models.Issue{Path: "/text", Message: fmt.Sprintf("mentions more than %d people", maxMentions)})
	}
	if len(ids) == 0 {
		return nil
	}
	return tx.Tell(NoticeMentioned, c.ID, map[string]any{"by": comment.AuthorName, "invoice_id": c.InvoiceID, "invoice_number": c.InvoiceNumber, "comment_id": comment.ID}, ids...)
}

// Mentionable lists who can be mentioned in comments of the workspace.
func (s *Service) Mentionable(ctx context.Context, by models.Principal) (members []models.Member, err error) {
	if err := by.NeedPerson(); err != nil {
		return nil, err
	}
	err = s.store.View(ctx, by, func(tx *models.Tx) error {
		if members, err = tx.Members(); err != nil {
			return err
		}
		members = slices.DeleteFunc(members, func(m models.Member) bool { return m.User.Kind != models.KindPerson })
		return nil
	})
	return members, err
}
