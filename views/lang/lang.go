package lang

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/go-playground/locales"
	"github.com/go-playground/locales/de"
	"github.com/go-playground/locales/en"
	"github.com/leonelquinteros/gotext"
	"golang.org/x/text/language"
)

//go:embed de/*.po
var catalogues embed.FS

// Lang is one language a page can be read in. The nil Lang is English.
type Lang struct {
	tag          string
	name         string
	locale       locales.Translator
	group, point string // of figures
	words        map[string][]string
	said, parts  []pattern
	exact        map[string]string
	exactParts   map[string]string
	load         func() // reads the catalogue once; nil: there is none
}

var (
	english = &Lang{tag: "en", name: "English", locale: en.New(), group: ",", point: "."}
	german  = &Lang{tag: German, name: "Deutsch", locale: de.New(), group: ".", point: ","}
	all     = []*Lang{english, german}
	matcher = language.NewMatcher([]language.Tag{language.English, language.German})
)

// A catalogue is read when its language is first spoken: commands start without it.
func init() {
	german.load = sync.OnceFunc(func() {
		if err := german.read(catalogues, "de"); err != nil {
			panic(err) // the catalogue is part of the program
		}
	})
}

// English is the language the pages are written in.
func English() *Lang { return english }

// All lists the languages, English first.
func All() []*Lang { return all }

// Find is the language of a tag ("en", "de"); English for any other.
func Find(tag string) *Lang {
	for _, l := range all {
		if l.tag == tag {
			return l
		}
	}
	return english
}

// Choose is the language a person chose, else the best for what the browser accepts, else English.
func Choose(chosen, accepted string) *Lang {
	for _, l := range all {
		if l.tag == chosen {
			return l
		}
	}
	wanted, _, err := language.ParseAcceptLanguage(accepted)
	if err != nil || len(wanted) == 0 {
		return english
	}
	if _, i, confidence := matcher.Match(wanted...); confidence != language.No {
		return all[i]
	}
	return english
}

// German is the tag of German.
const German = "de"

type contextKey struct{}

// With keeps the language for what is rendered with the context.
func With(ctx context.Context, l *Lang) context.Context {
	return context.WithValue(ctx, contextKey{}, l)
}

// Of is the language kept in the context, English without one.
func Of(ctx context.Context) *Lang {
	if l, ok := ctx.Value(contextKey{}).(*Lang); ok && l != nil {
		return l
	}
	return english
}

// Tag is the language's tag as in the lang attribute of a page.
func (l *Lang) Tag() string { return l.named().tag }

// Name is what the language calls itself.
func (l *Lang) Name() string { return l.named().name }

func (l *Lang) named() *Lang {
	if l == nil {
		return english
	}
	return l
}

// or is the language with its words.
func (l *Lang) or() *Lang {
	l = l.named()
	if l.load != nil {
		l.load()
	}
	return l
}

// T is a message with its values filled in as fmt.Sprintf does; without values it is taken as it is.
func (l *Lang) T(id string, values ...any) string {
	if found, ok := l.or().words[id]; ok {
		id = found[0]
	}
	return fill(id, values)
}

// C is a message whose English means several things: in tells which ("verb", "of a case").
func (l *Lang) C(in, id string, values ...any) string {
	if found, ok := l.or().words[keyed(in, id)]; ok {
		id = found[0]
	}
	return fill(id, values)
}

// N is the form of a message that goes with a count. The count is its first value.
func (l *Lang) N(one, many string, count int, values ...any) string {
	l = l.or()
	form := 1
	if l.locale.CardinalPluralRule(float64(count), 0) == locales.PluralRuleOne {
		form = 0
	}
	texts, ok := l.words[one]
	if !ok || len(texts) < 2 {
		texts = []string{one, many}
	}
	return fmt.Sprintf(texts[form], append([]any{count}, values...)...)
}

// Mark gives a message as it is, for tables of words that are looked up with T where they are shown.
func Mark(id string) string { return id }

// Message is a message of a table of words, with what tells which when its English means several things.
type Message struct{ In, ID string }

// MarkIn gives a Message, for tables of words that are looked up with M where they are shown.
func MarkIn(in, id string) Message { return Message{in, id} }

// M is a message of a table.
func (l *Lang) M(m Message) string {
	if m.In == "" {
		return l.T(m.ID)
	}
	return l.C(m.In, m.ID)
}

func fill(text string, values []any) string {
	if len(values) == 0 {
		return text
	}
	return fmt.Sprintf(text, values...)
}

// keyed is the place of a message with a context, as in compiled catalogues.
func keyed(in, id string) string { return in + "\x04" + id }

// servicesFile begins the names of the files with the sentences of the services; only these are looked
// for by form. There %v stands for words of people and agents, and a message with the context "part" is
// only a piece of a sentence.
const servicesFile = "services"

func (l *Lang) read(files fs.FS, dir string) error {
	entries, err := fs.ReadDir(files, dir)
	if err != nil {
		return fmt.Errorf("lang: %w", err)
	}
	l.words, l.exact, l.exactParts = map[string][]string{}, map[string]string{}, map[string]string{}
	for _, e := range entries {
		text, err := fs.ReadFile(files, dir+"/"+e.Name())
		if err != nil {
			return fmt.Errorf("lang: %w", err)
		}
		po := gotext.NewPo()
		po.Parse(text)
		for id, m := range po.GetDomain().GetTranslations() {
			if texts := textsOf(m); len(texts) > 0 {
				if strings.HasPrefix(e.Name(), servicesFile) {
					l.learn(id, texts[0])
				} else {
					l.words[id] = texts
				}
			}
		}
		for in, messages := range po.GetDomain().GetCtxTranslations() {
			for id, m := range messages {
				if texts := textsOf(m); len(texts) > 0 {
					if strings.HasPrefix(e.Name(), servicesFile) {
						l.learnPart(id, texts[0])
					} else {
						l.words[keyed(in, id)] = texts
					}
				}
			}
		}
	}
	l.said, l.parts = exactFirst(l.said), exactFirst(l.parts)
	return nil
}

// textsOf are the forms of a message in order; none when one is missing.
func textsOf(m *gotext.Translation) (texts []string) {
	if m.ID == "" {
		return nil
	}
	for i := range len(m.Trs) {
		text := m.Trs[i]
		if strings.TrimSpace(text) == "" {
			return nil
		}
		texts = append(texts, text)
	}
	return texts
}
