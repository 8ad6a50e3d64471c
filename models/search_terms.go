package models

import (
	"crypto/sha256"
	"encoding/base32"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/runes"
	"golang.org/x/text/transform"
	"golang.org/x/text/unicode/norm"
)

// Text becomes terms here, for both databases alike: what stands in a record and what a person types
// are taken apart by the same rules, so the databases only compare terms that are equal or begin alike.
//
// A term is the mark of its workspace, the letter of its class, and letters and digits.
const (
	classWord     = 'w' // a run of letters, or of digits without leading zeros
	classNumber   = 'n' // anything with digits, as NormaliseNumber writes it
	classAmount   = 'a' // an amount: 1234.5 is a1234p5
	classOwn      = 'x' // the record's own id or number, by which it comes first
	classSupplier = 'v' // a word of the supplier
	classInvoice  = 'i' // the invoice's id or number
	classPO       = 'p' // the purchase order
	classKind     = 'k'
	classCode     = 'c'
	classCurrency = 'y'
)

const (
	maxTermRunes = 40       // of a term; longer ones are compared by their beginning
	maxDocTerms  = 1200     // of a record
	maxDocText   = 16 << 10 // bytes of a record's text that are searched
	maxQueryText = 1000     // bytes of what is typed
	maxQueryWord = 12       // words of what is typed
)

// searchMark is what a workspace's terms begin with. Two workspaces may have one mark: that only makes
// their lists of records longer, since every search asks for the workspace too.
func searchMark(workspaceID string) string {
	sum := sha256.Sum256([]byte(workspaceID))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:4])
}

// foldText writes text without case and accents: Müller and MULLER are muller.
func foldText(s string) string {
	if isASCII(s) {
		return strings.ToLower(s)
	}
	out, _, err := transform.String(transform.Chain(norm.NFKD, runes.Remove(runes.In(unicode.Mn)), cases.Fold()), s)
	if err != nil {
		return strings.ToLower(s)
	}
	return out
}

func isASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// spelledOut are the letters that German also writes with two.
var spelledOut = strings.NewReplacer("ä", "ae", "ö", "oe", "ü", "ue", "Ä", "AE", "Ö", "OE", "Ü", "UE", "å", "aa", "Å", "AA", "ø", "oe", "Ø", "OE", "æ", "ae", "Æ", "AE")

// wordForms are the forms of a run of letters: without accents, and where it has letters that are also
// written with two, written so.
func wordForms(run string) []string {
	plain := termValue(foldText(run))
	if isASCII(run) {
		return []string{plain}
	}
	long := termValue(foldText(spelledOut.Replace(norm.NFC.String(run))))
	if long == plain {
		return []string{plain}
	}
	return []string{plain, long}
}

// termValue leaves letters and digits, so that no text is an operator of a database.
func termValue(s string) string {
	n := 0
	return strings.Map(func(r rune) rune {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) || r == utf8.RuneError || n == maxTermRunes {
			return -1
		}
		n++
		return r
	}, s)
}

// digitsValue is a run of digits without leading zeros.
func digitsValue(run string) string {
	run = termValue(run)
	if trimmed := strings.TrimLeft(run, "0"); trimmed != "" {
		return trimmed
	}
	if run == "" {
		return ""
	}
	return "0"
}

// numberValue is the desk's own form of a number, in lower case as terms are.
func numberValue(s string) string { return termValue(foldText(NormaliseNumber(s))) }

func hasDigit(s string) bool { return strings.ContainsFunc(s, unicode.IsDigit) }

// run is a piece of text of letters alone, or of digits alone.
type run struct {
	from, to int // bytes
	digits   bool
}

// runsIn takes text apart. Accents and characters without width belong to the letter before them.
func runsIn(s string) []run {
	var all []run
	open := false
	for i, r := range s {
		digit := unicode.IsDigit(r)
		switch {
		case digit || unicode.IsLetter(r):
			if !open || all[len(all)-1].digits != digit {
				all = append(all, run{from: i, digits: digit})
			}
			open = true
			all[len(all)-1].to = i + utf8.RuneLen(r)
		case open && (unicode.In(r, unicode.Mn, unicode.Cf)):
			all[len(all)-1].to = i + utf8.RuneLen(r)
		default:
			open = false
		}
	}
	return all
}

// recordID is one of the desk's own ids, whose letters and digits mean nothing by themselves.
var recordID = regexp.MustCompile(`^[a-z]{2,8}_[0-9a-z]{20,}$`)

// anyApprovalID is an approval id, or the beginning of one, however it is written.
var anyApprovalID = regexp.MustCompile(`(?i)` + PrefixApproval + `[_\x{FF3F}][0-9a-z]{6,}`)

// amountValue is the term of an amount: its sign is left out, so that a credit note is found too.
func amountValue(decimal string) string {
	return strings.Replace(strings.TrimPrefix(normaliseAmount(decimal), "-"), ".", "p", 1)
}

// amountReadings are the amounts a text with separators may mean, as plain decimals without sign:
// 1,234.50 and 1.234,50 are one amount, 1.234 may be two. None when it is no amount; a text without
// separators is for its digits to be found by.
func amountReadings(s string) []string {
	s = strings.TrimFunc(norm.NFKC.String(s), func(r rune) bool { return unicode.IsLetter(r) || unicode.Is(unicode.Sc, r) })
	s = strings.TrimLeft(s, "+-−")
	s = strings.NewReplacer("'", "", "’", "", " ", "", " ", "", " ", "").Replace(s)
	if len(s) > maxTermRunes || s == "" {
		return nil
	}
	for _, r := range s {
		if (r < '0' || r > '9') && r != '.' && r != ',' {
			return nil
		}
	}
	dots, commas := strings.Count(s, "."), strings.Count(s, ",")
	if dots+commas == 0 || !hasDigit(s[:1]) || !hasDigit(s[len(s)-1:]) {
		return nil
	}
	decimal := func(mark string) string {
		other := map[string]string{".": ",", ",": "."}[mark]
		at := strings.LastIndex(s, mark)
		whole, frac := s[:at], s[at+1:]
		if strings.ContainsAny(frac, ".,") || strings.Contains(whole, mark) || !grouped(whole, other) {
			return ""
		}
		return strings.ReplaceAll(whole, other, "") + "." + frac
	}
	var all []string
	add := func(reading string) {
		if reading != "" && !slices.Contains(all, reading) {
			all = append(all, reading)
		}
	}
	for _, mark := range []string{".", ","} {
		if !strings.Contains(s, mark) {
			continue
		}
		add(decimal(mark))
		if (dots == 0 || commas == 0) && grouped(s, mark) {
			add(strings.ReplaceAll(s, mark, ""))
		}
	}
	return all
}

// grouped says whether digits are set off by a separator as thousands are, or not at all.
func grouped(whole, separator string) bool {
	groups := strings.Split(whole, separator)
	for i, g := range groups {
		if strings.ContainsAny(g, ".,") || g == "" || i > 0 && len(g) != 3 || i == 0 && len(groups) > 1 && len(g) > 3 {
			return false
		}
	}
	return true
}

// spacedAmount is an amount whose thousands are set off by blanks: 1 234,50.
var spacedAmount = regexp.MustCompile(`\b\d{1,3}(?:[ \x{a0}\x{2009}\x{202f}]\d{3})+(?:[.,]\d{1,3})?\b`)

// joinAmounts takes the blanks out of amounts, where they have decimals or the blank is one that joins.
func joinAmounts(s string) string {
	return spacedAmount.ReplaceAllStringFunc(s, func(m string) string {
		if strings.Contains(m, " ") && !strings.ContainsAny(m, ".,") {
			return m
		}
		return strings.Map(func(r rune) rune {
			if unicode.IsSpace(r) {
				return -1
			}
			return r
		}, m)
	})
}

// amountKey is an amount as text that sorts like its figure, without its sign; "" when it is too long.
func amountKey(decimal string) string {
	whole, frac, _ := strings.Cut(strings.TrimPrefix(normaliseAmount(decimal), "-"), ".")
	const places = 24
	if len(whole) > places || !isASCII(whole+frac) {
		return ""
	}
	return strings.Repeat("0", places-len(whole)) + whole + "." + frac
}

// terms gathers what a record is found by, in the order in which it counts: when there is too much, the
// end of a long text is not searched.
type terms struct {
	mark string
	seen map[string]bool
	all  []string
}

func newTerms(workspaceID string) *terms {
	return &terms{mark: searchMark(workspaceID), seen: map[string]bool{}}
}

func (t *terms) add(class rune, value string) {
	if value == "" || len(t.all) >= maxDocTerms {
		return
	}
	term := t.mark + string(class) + value
	if !t.seen[term] {
		t.seen[term] = true
		t.all = append(t.all, term)
	}
}

// own adds an id or number of the record itself.
func (t *terms) own(ids ...string) {
	for _, id := range ids {
		t.add(classOwn, numberValue(id))
		t.number(id)
	}
}

// number adds an id or number that stands in the record.
func (t *terms) number(id string) {
	t.add(classNumber, numberValue(id))
	if !recordID.MatchString(id) {
		t.runs(id)
	}
}

func (t *terms) field(class rune, value string) { t.add(class, numberValue(value)) }

func (t *terms) words(class rune, text string) {
	text = norm.NFKC.String(text)
	for _, r := range runsIn(text) {
		if r.digits {
			t.add(class, digitsValue(text[r.from:r.to]))
			continue
		}
		for _, form := range wordForms(text[r.from:r.to]) {
			t.add(class, form)
		}
	}
}

func (t *terms) runs(text string) { t.words(classWord, text) }

func (t *terms) amount(decimal, currency string) {
	if decimal != "" {
		t.add(classAmount, amountValue(decimal))
	}
	t.add(classCurrency, termValue(foldText(currency)))
	t.runs(currency)
}

// text adds free text: its words, and its numbers and amounts as they are typed.
func (t *terms) text(s string) {
	for _, chunk := range strings.Fields(joinAmounts(norm.NFKC.String(s))) {
		if len(t.all) >= maxDocTerms {
			return
		}
		if recordID.MatchString(trimMarks(chunk)) {
			t.add(classNumber, numberValue(trimMarks(chunk)))
			continue
		}
		t.runs(chunk)
		if !hasDigit(chunk) {
			continue
		}
		for _, piece := range strings.FieldsFunc(chunk, func(r rune) bool { return strings.ContainsRune(`;()[]{}"<>|=:!?`, r) }) {
			piece = trimMarks(piece)
			if !hasDigit(piece) {
				continue
			}
			t.add(classNumber, numberValue(piece))
			for _, reading := range amountReadings(piece) {
				t.add(classAmount, amountValue(reading))
			}
		}
	}
}

// trimMarks takes marks of punctuation from both ends.
func trimMarks(s string) string {
	return strings.TrimFunc(s, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !unicode.Is(unicode.Sc, r) })
}

func (t *terms) norm() string { return strings.Join(t.all, " ") }

// SearchQuery is what a person typed, read.
type SearchQuery struct {
	Text  string // as it may be shown again: approval ids are masked
	Plain string // the words without filters
	Words []SearchWord
	Own   string // the desk's form of all of Plain, by which records come first

	Kind     SearchKind
	Status   string
	Queue    Queue
	Code     Code
	Currency string
	Supplier string // as typed
	Invoice  string
	PO       string
	// AmountFrom and AmountTo bound the amount, without its sign and whatever its currency; plain
	// decimals, "" bounds nothing. The bound itself counts unless Over or Under is set.
	AmountFrom, AmountTo string
	Over, Under          bool
	From, To             Date // first and last day, both included, on which the record began

	RecordID   string // set when all of it is the id of a case, request, hold or confirmation
	ApprovalID bool   // it holds an approval id, which nothing is found by
	Cut        bool   // it was too long, and the rest is not looked for
}

// Empty says whether there is nothing to look for.
func (q SearchQuery) Empty() bool {
	return len(q.Words) == 0 && !q.Filtered() && !q.ApprovalID && q.RecordID == ""
}

// Filtered says whether a filter narrows the search.
func (q SearchQuery) Filtered() bool {
	return q.Kind != "" || q.Status != "" || q.Queue != "" || q.Code != "" || q.Currency != "" || q.Supplier != "" || q.Invoice != "" || q.PO != "" ||
		q.AmountFrom != "" || q.AmountTo != "" || !q.From.IsZero() || !q.To.IsZero()
}

// SearchWord is one thing that a record must have, in any of its forms.
type SearchWord struct {
	Text  string         // as typed
	Forms [][]searchTerm // a record has one of them, with all its terms
}

type searchTerm struct {
	class  rune
	value  string
	prefix bool
}

// Runs are the letters and digits a word is found by, as they stand in text; the last may go on.
func (w SearchWord) matches(value string) (yes bool) {
	for _, form := range w.Forms {
		for _, term := range form {
			if term.class == classWord && (term.value == value || term.prefix && strings.HasPrefix(value, term.value)) {
				return true
			}
		}
	}
	return false
}

var (
	ownID      = regexp.MustCompile(`^(?:` + PrefixCase + `|` + PrefixApprovalRequest + `|` + PrefixConfirmation + `|` + PrefixHold + `)_[0-9a-z]{20,40}$`)
	filterForm = regexp.MustCompile(`^([a-zA-Z]{2,12})(:|>=|<=|>|<|=)(.*)$`)
)

// SearchStatuses are the states a record of a kind can be searched by; none for kinds without states.
func SearchStatuses(kind SearchKind) []string {
	var all []string
	switch kind {
	case SearchCase:
		for _, s := range CaseStatuses() {
			all = append(all, string(s))
		}
	case SearchRequest:
		for _, s := range RequestStatuses() {
			all = append(all, string(s))
		}
	case SearchHold:
		all = []string{string(HoldWaiting), string(HoldReleased), string(HoldEscalated), string(HoldCancelled)}
	case SearchConfirmation:
		for _, s := range ConfirmationStatuses() {
			all = append(all, string(s))
		}
	}
	return all
}

func knownStatus(s string) bool {
	for _, k := range SearchKinds() {
		if slices.Contains(SearchStatuses(k), s) {
			return true
		}
	}
	return false
}

// ReadSearch reads what a person typed. Nothing typed is an error: what is no filter is a word.
//
// Filters are name:value, the value in quotes when it has blanks: kind, status, queue, code, currency,
// supplier, invoice, po, from and to (dates); amount takes :, >, >=, < and <=.
func ReadSearch(typed string) SearchQuery {
	q := SearchQuery{}
	typed = strings.ReplaceAll(strings.ToValidUTF8(typed, " "), "\x00", " ")
	if len(typed) > maxQueryText {
		end := maxQueryText
		for !utf8.RuneStart(typed[end]) {
			end--
		}
		typed, q.Cut = typed[:end], true
	}
	typed = strings.TrimSpace(typed)
	q.Text = anyApprovalID.ReplaceAllStringFunc(typed, func(string) string { return PrefixApproval + "_…" })
	if q.ApprovalID = anyApprovalID.MatchString(norm.NFKC.String(typed)); q.ApprovalID {
		q.Text = anyApprovalID.ReplaceAllStringFunc(norm.NFKC.String(typed), func(string) string { return PrefixApproval + "_…" })
		return q
	}
	if id := strings.ToLower(typed); ownID.MatchString(id) {
		q.RecordID, q.Plain = id, typed
		return q
	}
	pieces := piecesOf(joinAmounts(typed))
	var plain []piece
	for _, p := range pieces {
		if p.name == "" || !q.filter(p) {
			plain = append(plain, p)
		}
	}
	texts := make([]string, len(plain))
	for i, p := range plain {
		texts[i] = p.text
		q.word(p, i == len(plain)-1)
		if joined := q.groupedDigits(p, i, plain); joined != "" && len(q.Words) > 0 {
			w := &q.Words[len(q.Words)-1]
			w.Forms = append(w.Forms, []searchTerm{{classNumber, joined, true}})
		}
	}
	q.Plain = strings.Join(texts, " ")
	q.Own = numberValue(q.Plain)
	return q
}

// piece is one word, or what stands in quotes, or a filter.
type piece struct {
	text            string // all of it
	name, op, value string // of a filter
	quoted          bool
}

// piecesOf parts what was typed at blanks outside quotes.
func piecesOf(s string) []piece {
	s = strings.NewReplacer("„", `"`, "“", `"`, "”", `"`, "«", `"`, "»", `"`).Replace(s)
	var all []piece
	var word strings.Builder
	inside, quoted := false, false
	flush := func() {
		if text := word.String(); text != "" {
			p := piece{text: text, quoted: quoted}
			if m := filterForm.FindStringSubmatch(text); m != nil && strings.TrimSpace(m[3]) != "" {
				p.name, p.op, p.value = strings.ToLower(m[1]), m[2], strings.TrimSpace(m[3])
			}
			all = append(all, p)
		}
		word.Reset()
		quoted = false
	}
	for _, r := range s {
		switch {
		case r == '"':
			if inside && !filterForm.MatchString(word.String()) {
				flush()
			}
			inside, quoted = !inside, true
		case unicode.IsSpace(r) && !inside:
			flush()
		default:
			word.WriteRune(r)
		}
	}
	flush()
	return all
}

// filter takes a piece as a filter, if it is one.
func (q *SearchQuery) filter(p piece) bool {
	if p.name == "amount" {
		return q.amountFilter(p.op, p.value)
	}
	if p.op != ":" && p.op != "=" {
		return false
	}
	value := strings.ToLower(p.value)
	switch p.name {
	case "kind", "type", "in":
		if k := SearchKind(value); k.Valid() {
			q.Kind = k
			return true
		}
	case "status", "state":
		if knownStatus(value) {
			q.Status = value
			return true
		}
	case "queue":
		if Queue(value).Valid() {
			q.Queue = Queue(value)
			return true
		}
	case "code":
		if c := Code(strings.ToUpper(value)); c.IsOutcome() {
			q.Code = c
			return true
		}
	case "currency":
		if len(value) == 3 && termValue(foldText(value)) != "" {
			q.Currency = strings.ToUpper(value)
			return true
		}
	case "supplier":
		return take(&q.Supplier, p.value)
	case "invoice", "number":
		return take(&q.Invoice, p.value)
	case "po", "order":
		return take(&q.PO, p.value)
	case "from", "since":
		if d, err := ParseDate(value); err == nil && d.String() > "0001-01-01" {
			q.From = d
			return true
		}
	case "to", "until":
		if d, err := ParseDate(value); err == nil && d.String() > "0001-01-01" {
			q.To = d
			return true
		}
	}
	return false
}

// take keeps a value that has something to look for.
func take(into *string, value string) bool {
	if numberValue(value) == "" {
		return false
	}
	*into = value
	return true
}

var plainDecimal = regexp.MustCompile(`^\d{1,20}$`)

func (q *SearchQuery) amountFilter(op, value string) bool {
	value = strings.TrimLeft(value, "+-−")
	readings := amountReadings(value)
	if plainDecimal.MatchString(value) {
		readings = []string{value}
	}
	if len(readings) == 0 || amountKey(readings[0]) == "" {
		return false
	}
	amount := readings[0]
	switch op {
	case ":", "=":
		q.AmountFrom, q.AmountTo, q.Over, q.Under = amount, amount, false, false
	case ">", ">=":
		q.AmountFrom, q.Over = amount, op == ">"
	case "<", "<=":
		q.AmountTo, q.Under = amount, op == "<"
	}
	return true
}

// word adds what a piece asks for. The last one typed may go on, unless it is quoted, and so may numbers.
func (q *SearchQuery) word(p piece, last bool) {
	text := norm.NFKC.String(p.text)
	found := runsIn(text)
	if len(found) == 0 {
		return
	}
	value := func(r run) string {
		if r.digits {
			return digitsValue(text[r.from:r.to])
		}
		return termValue(foldText(text[r.from:r.to]))
	}
	goesOn := func(value string, last bool) bool { return last && !p.quoted && utf8.RuneCountInString(value) > 1 }
	if !hasDigit(text) {
		for i, r := range found {
			w := SearchWord{Text: text[r.from:r.to]}
			for _, form := range wordForms(text[r.from:r.to]) {
				w.Forms = append(w.Forms, []searchTerm{{classWord, form, goesOn(form, last && i == len(found)-1)}})
			}
			q.addWord(w)
		}
		return
	}
	w := SearchWord{Text: p.text}
	trimmed := trimMarks(text)
	if n := numberValue(trimmed); n != "" {
		w.Forms = append(w.Forms, []searchTerm{{classNumber, n, goesOn(n, true)}})
	}
	amounts := amountReadings(trimmed)
	for _, reading := range amounts {
		w.Forms = append(w.Forms, []searchTerm{{classAmount, amountValue(reading), false}})
	}
	if len(found) == 1 && isASCII(trimmed) {
		// 1234 is an amount without its cents, too.
		w.Forms = append(w.Forms, []searchTerm{{classAmount, value(found[0]), false}}, []searchTerm{{classAmount, value(found[0]) + "p", true}})
	}
	if len(amounts) == 0 {
		var parts []searchTerm
		for i, r := range found {
			parts = append(parts, searchTerm{classWord, value(r), goesOn(value(r), last && i == len(found)-1)})
		}
		if len(parts) <= 6 {
			w.Forms = append(w.Forms, parts)
		}
	}
	q.addWord(w)
}

// onlyDigits are digits, in groups or not: an order number as a document prints it.
var onlyDigits = regexp.MustCompile(`^[0-9]+(?:[-./][0-9]+)*$`)

// groupedDigits is the number that a word is, or belongs to, when the groups of digits it is typed in are
// one: 4500-018822 and 4500 018822 are 4500018822. "" when it has no other groups.
func (q *SearchQuery) groupedDigits(p piece, at int, all []piece) string {
	text := norm.NFKC.String(p.text)
	if !onlyDigits.MatchString(text) {
		return ""
	}
	from, to := at, at+1
	for from > 0 && onlyDigits.MatchString(norm.NFKC.String(all[from-1].text)) {
		from--
	}
	for to < len(all) && onlyDigits.MatchString(norm.NFKC.String(all[to].text)) {
		to++
	}
	joined := ""
	for _, one := range all[from:to] {
		joined += strings.Map(func(r rune) rune {
			if r < '0' || r > '9' {
				return -1
			}
			return r
		}, norm.NFKC.String(one.text))
	}
	if joined == text || len(joined) < 6 || len(joined) > maxTermRunes {
		return ""
	}
	return numberValue(joined)
}

func (q *SearchQuery) addWord(w SearchWord) {
	w.Forms = slices.DeleteFunc(w.Forms, func(form []searchTerm) bool {
		return slices.ContainsFunc(form, func(t searchTerm) bool { return t.value == "" })
	})
	switch {
	case len(w.Forms) == 0:
	case len(q.Words) == maxQueryWord:
		q.Cut = true
	default:
		q.Words = append(q.Words, w)
	}
}

// Amount is the amount that a word with separators was read as, a plain decimal; "" for other words.
func (w SearchWord) Amount() string {
	if readings := amountReadings(trimMarks(norm.NFKC.String(w.Text))); len(readings) > 0 {
		return strings.Join(readings, " or ")
	}
	return ""
}

// Looked says in which forms a number was looked for, where that differs from what was typed: INV-778 is
// looked for as INV778. "" when there is nothing to say.
func (q SearchQuery) Looked() string {
	own := strings.ToUpper(q.Own)
	if !hasDigit(own) || own == q.Plain {
		return ""
	}
	return own
}

// MarkedText is a piece of text, found or not.
type MarkedText struct {
	Text  string
	Found bool
}

// Mark parts text into what the query found in it and what stands between. The pieces joined are the
// text again.
func (q SearchQuery) Mark(text string) []MarkedText {
	type span struct{ from, to int }
	var found []span
	amounts := map[string]bool{}
	for _, w := range q.Words {
		for _, form := range w.Forms {
			for _, t := range form {
				if t.class == classAmount {
					amounts[t.value] = true
				}
			}
		}
	}
	add := func(from, to int) {
		if n := len(found); n > 0 && from <= found[n-1].to+1 && !strings.ContainsFunc(text[found[n-1].to:max(from, found[n-1].to)], unicode.IsSpace) {
			found[n-1].to = max(to, found[n-1].to)
			return
		}
		found = append(found, span{from, to})
	}
	at := 0
	for _, chunk := range strings.FieldsFunc(text, unicode.IsSpace) {
		from := at + strings.Index(text[at:], chunk)
		at = from + len(chunk)
		if len(amounts) > 0 && slices.ContainsFunc(amountReadings(trimMarks(chunk)), func(a string) bool { return amounts[amountValue(a)] }) {
			inner := trimMarks(chunk)
			start := from + strings.Index(chunk, inner)
			add(start, start+len(inner))
			continue
		}
		number := ""
		if hasDigit(chunk) {
			number = numberValue(chunk)
		}
		for _, r := range runsIn(chunk) {
			if q.marks(chunk[r.from:r.to], r.digits, number) {
				add(from+r.from, from+r.to)
			}
		}
	}
	var out []MarkedText
	last := 0
	for _, f := range found {
		if f.from > last {
			out = append(out, MarkedText{Text: text[last:f.from]})
		}
		out = append(out, MarkedText{Text: text[f.from:f.to], Found: true})
		last = f.to
	}
	if last < len(text) {
		out = append(out, MarkedText{Text: text[last:]})
	}
	return out
}

// marks says whether a run of letters or digits is one that was found: by itself, or because the number
// it stands in begins as a number asked for.
func (q SearchQuery) marks(text string, digits bool, number string) bool {
	forms := []string{digitsValue(norm.NFKC.String(text))}
	if !digits {
		forms = wordForms(norm.NFKC.String(text))
	}
	for _, w := range q.Words {
		for _, form := range forms {
			if form != "" && w.matches(form) {
				return true
			}
		}
		if number == "" {
			continue
		}
		for _, form := range w.Forms {
			for _, t := range form {
				if t.class == classNumber && (t.value == number || t.prefix && strings.HasPrefix(number, t.value)) {
					return true
				}
			}
		}
	}
	return number != "" && q.Own != "" && number == q.Own
}

// dayBounds are the first moment of a day and the first after another in a zone; zero where there is no
// day.
func (q SearchQuery) dayBounds(zone *time.Location) (from, before Time) {
	if !q.From.IsZero() {
		from = q.From.StartIn(zone)
	}
	if !q.To.IsZero() {
		before = q.To.AddDays(1).StartIn(zone)
	}
	return from, before
}
