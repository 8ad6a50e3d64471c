package approvals

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/apdesk/apdesk/models"
)

// Limits of a sheet that is read.
const (
	MaxSheetBytes = 1 << 20
	MaxSheetLines = 5000 // lines with a rule
)

// maxSheetProblems bounds the problems told at once.
const maxSheetProblems = 200

// The columns of a sheet. A sheet that is read needs currency, from and to; the others may be left out: a
// rule that stands then keeps what it says there, a new one gets what is usual.
const (
	colRule       = "rule"
	colVersion    = "version"
	colCurrency   = "currency"
	colTool       = "tool"
	colType       = "document_type"
	colSupplier   = "supplier"
	colCentre     = "cost_centre"
	colFrom       = "from"
	colTo         = "to"
	colRole       = "role"
	colPeople     = "people"
	colThenRole   = "then_role"
	colThenPeople = "then_people"
	colRequired   = "required"
	colValid      = "valid"
	colAuthor     = "written_by" // for people; not read
	colWritten    = "written_at" // for people; not read
)

// SheetColumns are the columns of a sheet in their order.
func SheetColumns() []string {
	return []string{colRule, colVersion, colCurrency, colTool, colType, colSupplier, colCentre, colFrom, colTo, colRole, colPeople,
		colThenRole, colThenPeople, colRequired, colValid, colAuthor, colWritten}
}

// SheetProblem is one thing wrong with a sheet.
type SheetProblem struct {
	Line    int    // of the file, the header being line 1; 0 is the file as a whole
	Column  string // name of the column, empty for the line as a whole
	Message string
}

// String is the problem in words: "Line 4, column to: must not be below 100".
func (p SheetProblem) String() string {
	switch {
	case p.Line == 0:
		return p.Message
	case p.Column == "":
		return fmt.Sprintf("Line %d: %s", p.Line, p.Message)
	}
	return fmt.Sprintf("Line %d, column %s: %s", p.Line, p.Column, p.Message)
}

// SheetChange is one rule that a sheet adds, changes or takes out.
type SheetChange struct {
	Line   int       // 0 for a rule that is not in the sheet
	Before *RuleView // nil for a rule that is added
	After  *RuleView // nil for a rule that is retired
	Fields []FieldChange
	Looser []Loosening // in what the rule would be less strict than it is
}

// Loosening is one way in which a rule would be less strict.
type Loosening string

// The ways in which a rule can be less strict.
const (
	LooserPeople  Loosening = "people"  // fewer people decide
	LooserAmounts Loosening = "amounts" // it reaches amounts it did not reach
	LooserWrites  Loosening = "writes"  // it is for writes it was not for
	LooserValid   Loosening = "valid"   // an approval is good for longer
)

// loosened says in what a rule would be less strict than it is.
func loosened(before, after models.Rule) []Loosening {
	var out []Loosening
	add := func(how Loosening, is bool) {
		if is && !slices.Contains(out, how) {
			out = append(out, how)
		}
	}
	add(LooserPeople, after.Required < before.Required)
	add(LooserAmounts, after.Currency != before.Currency || compareAmounts(after.ToAmount, before.ToAmount) > 0 || compareAmounts(after.FromAmount, before.FromAmount) < 0)
	for _, d := range [][2]string{{before.Tool, after.Tool}, {before.DocumentType, after.DocumentType}, {before.Supplier, after.Supplier}, {before.CostCentre, after.CostCentre}} {
		add(LooserWrites, d[0] != "" && d[1] != d[0])
	}
	add(LooserValid, after.ValidSeconds > before.ValidSeconds)
	return out
}

// SheetPlan is what a sheet would do to the matrix, or why it cannot be read. With problems nothing else
// is told, and nothing can be applied.
type SheetPlan struct {
	Version   int64 // of the matrix the plan was made for
	Problems  []SheetProblem
	More      int // problems not listed
	Added     []SheetChange
	Changed   []SheetChange
	Retired   []SheetChange
	Unchanged int
	Missing   int // rules in force that are not in the sheet and stay, since retiring them was not asked for
}

// Changes is how many rules the plan touches.
func (p SheetPlan) Changes() int { return len(p.Added) + len(p.Changed) + len(p.Retired) }

// ExportSheet writes the matrix in force as comma-separated values. Text that a spreadsheet would run as
// a formula is preceded by an apostrophe, which reading takes away again. People of the workspace may.
func (s *Service) ExportSheet(ctx context.Context, by models.Principal) ([]byte, error) {
	if err := by.NeedRole(readers...); err != nil {
		return nil, err
	}
	var out []byte
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		if _, err := setVersion(tx); err != nil {
			return err
		}
		rules, err := rulesInForce(tx)
		if err != nil {
			return err
		}
		views, err := ruleViews(tx, rules)
		if err != nil {
			return err
		}
		out, err = writeSheet(views)
		return err
	})
	return out, err
}

func writeSheet(views []RuleView) ([]byte, error) {
	var b bytes.Buffer
	w, err := models.NewSheet(&b)
	if err != nil {
		return nil, err
	}
	if err := w.Write(SheetColumns()); err != nil {
		return nil, fmt.Errorf("approvals: write sheet: %w", err)
	}
	for _, v := range views {
		r := v.Rule
		record := []string{r.ID, strconv.FormatInt(r.Version, 10), r.Currency, r.Tool, r.DocumentType, r.Supplier, r.CostCentre, r.FromAmount, r.ToAmount,
			string(r.Role), emails(v.People), string(r.ThenRole), emails(v.ThenPeople), strconv.Itoa(r.Required), ValidText(v.Valid), r.AuthorName,
			r.CreatedAt.UTC().Format(time.RFC3339)}
		if err := w.Write(record); err != nil {
			return nil, fmt.Errorf("approvals: write sheet: %w", err)
		}
	}
	err = w.Flush()
	return b.Bytes(), err
}

func emails(users []models.User) string {
	list := make([]string, len(users))
	for i, u := range users {
		list[i] = u.Email
	}
	return strings.Join(list, " ")
}

// PlanSheet says what a sheet would do to the matrix of now: which rules it adds, which it changes and
// how, which it takes out (only with retireMissing), or everything that is wrong with it. It changes
// nothing. A line is about the rule it names; without a name it is about the rule that says the same, else
// about the only one for the same writes and amounts, else it is a new one.
func (s *Service) PlanSheet(ctx context.Context, by models.Principal, sheet []byte, retireMissing bool) (SheetPlan, error) {
	if err := mayEditRules(by); err != nil {
		return SheetPlan{}, err
	}
	var plan SheetPlan
	err := s.store.View(ctx, by, func(tx *models.Tx) error {
		version, err := setVersion(tx)
		if err != nil {
			return err
		}
		plan, err = planSheet(tx, sheet, retireMissing)
		plan.Version = version
		return err
	})
	return plan, err
}

// ApplySheet carries out what PlanSheet said, in one transaction. version is the plan's; CONFLICT when
// the matrix changed since. VALIDATION_ERROR with every problem when the sheet cannot be read. No problem
// and no change is no error.
func (s *Service) ApplySheet(ctx context.Context, by models.Principal, sheet []byte, retireMissing bool, version int64) (SheetPlan, error) {
	if err := mayEditRules(by); err != nil {
		return SheetPlan{}, err
	}
	var plan SheetPlan
	err := s.changeRules(ctx, by, func(tx *models.Tx, set models.RuleSet) (bool, error) {
		if set.Version != version {
			return false, models.E(models.Conflict, "Somebody changed the rules since this preview was made, so nothing was imported. Look at the preview again.",
				map[string]any{"version": set.Version})
		}
		var err error
		if plan, err = planSheet(tx, sheet, retireMissing); err != nil {
			return false, err
		}
		plan.Version = version
		if len(plan.Problems) > 0 {
			return false, plan.invalid()
		}
		return plan.Changes() > 0, applyPlan(tx, plan)
	})
	return plan, err
}

// invalid is VALIDATION_ERROR with every problem.
func (p SheetPlan) invalid() error {
	issues := make([]models.Issue, len(p.Problems))
	for i, problem := range p.Problems {
		issues[i] = models.Issue{Path: "/sheet", Message: problem.String()}
	}
	return models.Invalid(issues...)
}

func applyPlan(tx *models.Tx, plan SheetPlan) error {
	for _, c := range plan.Retired {
		if err := retireRule(tx, c.Before.Rule); err != nil {
			return err
		}
	}
	for _, c := range plan.Changed {
		if _, err := replaceRule(tx, c.Before.Rule, writtenBy(tx, c.After.Rule)); err != nil {
			return err
		}
	}
	for _, c := range plan.Added {
		rule := writtenBy(tx, c.After.Rule)
		rule.ID, rule.Version, rule.FirstAt = tx.NewID(models.PrefixRule), 1, tx.Now
		if err := insertRule(tx, rule, "rule.created", map[string]any{"imported": true}); err != nil {
			return err
		}
	}
	if plan.Changes() == 0 {
		return nil
	}
	return tx.Audit("rules.imported", models.Ref{Subject: tx.By.WorkspaceID},
		map[string]any{"added": len(plan.Added), "changed": len(plan.Changed), "retired": len(plan.Retired), "unchanged": plan.Unchanged})
}

// sheetLine is one line of a sheet as it was read.
type sheetLine struct {
	line    int
	id      string
	version int64 // 0 when the sheet says none
	columns []string
	rule    NewRule
}

func (l sheetLine) has(column string) bool { return slices.Contains(l.columns, column) }

// onto is what the line says of a rule that stands: what its sheet has no column for stays. Of a role and
// people, either of which decides, the one that is said takes the place of the other.
func (l sheetLine) onto(v RuleView) NewRule {
	n, r := l.rule, v.Rule
	for _, d := range []struct {
		column string
		said   *string
		stands string
	}{{colTool, &n.Tool, r.Tool}, {colType, &n.DocumentType, r.DocumentType}, {colSupplier, &n.Supplier, r.Supplier}, {colCentre, &n.CostCentre, r.CostCentre}} {
		if !l.has(d.column) {
			*d.said = d.stands
		}
	}
	if !l.has(colRole) && len(n.People) == 0 {
		n.Role = r.Role
	}
	if !l.has(colPeople) && n.Role == "" {
		n.People = strings.Fields(emails(v.People))
	}
	if !l.has(colThenRole) && len(n.ThenPeople) == 0 {
		n.ThenRole = r.ThenRole
	}
	if !l.has(colThenPeople) && n.ThenRole == "" {
		n.ThenPeople = strings.Fields(emails(v.ThenPeople))
	}
	if !l.has(colRequired) {
		n.Required = r.Required
		if n.ThenRole != "" || len(n.ThenPeople) > 0 {
			n.Required = 2
		}
	}
	if !l.has(colValid) {
		n.Valid = v.Valid
	}
	return n
}

func planSheet(tx *models.Tx, text []byte, retireMissing bool) (SheetPlan, error) {
	people, err := rosterOf(tx)
	if err != nil {
		return SheetPlan{}, err
	}
	rules, err := rulesInForce(tx)
	if err != nil {
		return SheetPlan{}, err
	}
	before, err := ruleViews(tx, rules)
	if err != nil {
		return SheetPlan{}, err
	}
	lines, problems := readSheet(text)
	plan := match(lines, before, people)
	if plan.Problems = append(problems, plan.Problems...); len(plan.Problems) > 0 {
		slices.SortStableFunc(plan.Problems, func(a, b SheetProblem) int { return a.Line - b.Line })
		plan = SheetPlan{Problems: plan.Problems}
		if more := len(plan.Problems) - maxSheetProblems; more > 0 {
			plan.Problems, plan.More = plan.Problems[:maxSheetProblems], more
		}
		return plan, nil
	}
	if !retireMissing {
		plan.Missing, plan.Retired = len(plan.Retired), nil
	}
	return plan, inWordsOf(tx, &plan)
}

// inWordsOf puts names to what a plan adds and changes.
func inWordsOf(tx *models.Tx, plan *SheetPlan) error {
	var rules []models.Rule
	for _, c := range slices.Concat(plan.Added, plan.Changed) {
		rules = append(rules, c.After.Rule)
	}
	views, err := ruleViews(tx, rules)
	if err != nil {
		return err
	}
	for i := range views {
		if i < len(plan.Added) {
			plan.Added[i].After = &views[i]
			continue
		}
		c := &plan.Changed[i-len(plan.Added)]
		c.After, c.Fields, c.Looser = &views[i], differences(*c.Before, views[i]), loosened(c.Before.Rule, views[i].Rule)
	}
	return nil
}

// sheetMatch finds the rule that each line of a sheet is about.
type sheetMatch struct {
	before []RuleView
	ids    map[string]string // of everybody who is there or named by a rule, by e-mail
	taken  map[int]int       // index of before to the line that is about it
	plan   SheetPlan
}

// match says what lines make of the rules in force. Rules that no line is about are retired.
func match(lines []sheetLine, before []RuleView, people roster) SheetPlan {
	m := sheetMatch{before: before, ids: map[string]string{}, taken: map[int]int{}}
	byID, bySays, byCovers := map[string]int{}, map[string][]int{}, map[string][]int{}
	for i, v := range before {
		for _, u := range slices.Concat(v.People, v.ThenPeople) {
			m.ids[u.Email] = u.ID
		}
		byID[v.Rule.ID] = i
		bySays[saysKey(v.Rule)] = append(bySays[saysKey(v.Rule)], i)
		byCovers[coversKey(v.Rule)] = append(byCovers[coversKey(v.Rule)], i)
	}
	for email, p := range people {
		m.ids[email] = p.User.ID
	}
	// Where the sheet leaves columns out, rules are also looked for by the columns it has.
	var bySaid map[string][]int
	dropped := len(lines) > 0 && slices.ContainsFunc(coveringColumns, func(c string) bool { return !lines[0].has(c) })
	said := func(r models.Rule) string {
		var fields []ruleField
		for i, f := range ruleFields(RuleView{Rule: r})[:coveringFields] {
			if lines[0].has(coveringColumns[i]) {
				fields = append(fields, f)
			}
		}
		return joined(fields)
	}
	if len(lines) > 0 {
		bySaid = map[string][]int{}
		for i, v := range before {
			key := said(v.Rule)
			bySaid[key] = append(bySaid[key], i)
		}
	}
	about := make([]int, len(lines)) // index of before, or one of these
	const (
		isNew  = -1
		isNone = -2
	)
	// A line about a rule by name comes before one that says word for word what a rule says, and that
	// before one that may be a change of a rule for the same writes and amounts.
	for i, l := range lines {
		about[i] = isNew
		if l.id == "" {
			continue
		}
		at, known := byID[l.id]
		first, twice := m.taken[at]
		switch {
		case !known:
			about[i] = isNone
			m.problem(l.line, colRule, "%q is no rule in force of this workspace; leave it empty to add a rule", clip(l.id, 80))
		case twice:
			about[i] = isNone
			m.problem(l.line, colRule, "%s stands on line %d too", RuleName(l.id), first)
		default:
			about[i], m.taken[at] = at, l.line
		}
	}
	drafts := make([]models.Rule, len(lines))
	alike := map[string]int{} // lines that may be a change of a rule, by what they cover
	for i, l := range lines {
		drafts[i] = m.draft(l.rule)
		if about[i] != isNew {
			continue
		}
		if at, ok := m.free(bySays[saysKey(drafts[i])]); ok {
			about[i], m.taken[at] = at, l.line
			continue
		}
		alike[coversKey(drafts[i])]++
	}
	alikeSaid := map[string]int{}
	for i, l := range lines {
		if about[i] != isNew {
			continue
		}
		for _, at := range bySaid[said(drafts[i])] {
			if _, taken := m.taken[at]; !taken && saysKey(m.draft(l.onto(before[at]))) == saysKey(before[at].Rule) {
				about[i], m.taken[at] = at, l.line
				alike[coversKey(drafts[i])]--
				break
			}
		}
		if about[i] == isNew {
			alikeSaid[said(drafts[i])]++
		}
	}
	saidBefore := map[string]int{}
	for i, l := range lines {
		if about[i] == isNone {
			continue
		}
		if about[i] == isNew && alike[coversKey(drafts[i])] == 1 {
			if at, ok := m.only(byCovers[coversKey(drafts[i])]); ok {
				about[i], m.taken[at] = at, l.line
			}
		}
		if about[i] == isNew && dropped {
			if n := m.left(bySaid[said(drafts[i])]); n > 1 || n == 1 && alikeSaid[said(drafts[i])] > 1 {
				m.problem(l.line, "", "may be about more than one rule, since the sheet leaves out what tells them apart; add the column rule, or %s", leftOut(l))
				continue
			}
			if at, ok := m.only(bySaid[said(drafts[i])]); ok {
				about[i], m.taken[at] = at, l.line
			}
		}
		if about[i] == isNew {
			if first, twice := saidBefore[saysKey(drafts[i])]; twice {
				m.problem(l.line, "", "says the same as line %d", first)
				continue
			}
			saidBefore[saysKey(drafts[i])] = l.line
		}
		if about[i] >= 0 {
			l.rule = l.onto(before[about[i]])
			drafts[i] = m.draft(l.rule)
		}
		m.line(l, about[i], drafts[i], people)
	}
	for i := range before {
		if _, kept := m.taken[i]; !kept {
			m.plan.Retired = append(m.plan.Retired, SheetChange{Before: &before[i]})
		}
	}
	return m.plan
}

// line adds what one line does to the plan; at is the rule it is about, negative for a new one.
func (m *sheetMatch) line(l sheetLine, at int, draft models.Rule, people roster) {
	if at >= 0 && sameRule(m.before[at].Rule, draft) {
		// It stays as it is, also with people in it who could not be named anew.
		m.plan.Unchanged++
		return
	}
	rule, issues := l.rule.rule(people)
	for _, is := range issues {
		m.problem(l.line, columnOf(is.Path), "%s", is.Message)
	}
	if at >= 0 && l.version != 0 && l.version != m.before[at].Rule.Version {
		m.problem(l.line, colVersion, "the rule is at version %d by now and this sheet was made from version %d; export the rules again and repeat the change there",
			m.before[at].Rule.Version, l.version)
		return
	}
	switch c := (SheetChange{Line: l.line, After: &RuleView{Rule: rule}}); {
	case len(issues) > 0:
	case at >= 0:
		c.Before = &m.before[at]
		m.plan.Changed = append(m.plan.Changed, c)
	default:
		m.plan.Added = append(m.plan.Added, c)
	}
}

func (m *sheetMatch) problem(line int, column, format string, args ...any) {
	m.plan.Problems = append(m.plan.Problems, SheetProblem{line, column, fmt.Sprintf(format, args...)})
}

// free is the first of the rules that no line is about yet; only is that too, if there is no other.
func (m *sheetMatch) free(list []int) (at int, ok bool) {
	for _, i := range list {
		if _, taken := m.taken[i]; !taken {
			return i, true
		}
	}
	return 0, false
}

// left counts the rules that no line is about yet.
func (m *sheetMatch) left(list []int) int {
	n := 0
	for _, i := range list {
		if _, taken := m.taken[i]; !taken {
			n++
		}
	}
	return n
}

// coveringColumns are the columns of the fields that say what a rule covers, in the order of ruleFields.
var coveringColumns = []string{colCurrency, colTool, colType, colSupplier, colCentre, colFrom, colTo}

// leftOut names the columns of what a rule covers that a sheet does not have.
func leftOut(l sheetLine) string {
	return strings.Join(slices.DeleteFunc(slices.Clone(coveringColumns), l.has), ", ")
}

func (m *sheetMatch) only(list []int) (at int, ok bool) {
	n := 0
	for _, i := range list {
		if _, taken := m.taken[i]; !taken {
			at, n = i, n+1
		}
	}
	return at, n == 1
}

// draft is what a line says, unchecked, for comparing it with rules.
func (m *sheetMatch) draft(n NewRule) models.Rule {
	idsOf := func(emails []string) string {
		var ids []string
		for _, e := range emails {
			id, known := m.ids[strings.ToLower(e)]
			if !known {
				id = e
			}
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
		return idList(ids)
	}
	r := models.Rule{Tool: n.Tool, DocumentType: n.DocumentType, Supplier: n.Supplier, CostCentre: n.CostCentre, Currency: n.Currency, FromAmount: n.From, ToAmount: n.To,
		Role: n.Role, People: idsOf(n.People), ThenRole: n.ThenRole, ThenPeople: idsOf(n.ThenPeople), Required: n.Required, ValidSeconds: int64(n.Valid / time.Second)}
	if r.Required == 0 {
		r.Required = len(stepsOf(r))
	}
	if r.ValidSeconds == 0 {
		r.ValidSeconds = int64(DefaultValid / time.Second)
	}
	return r
}

// saysKey is one text for rules that ask for the same, coversKey for those about the same writes and amounts.
func saysKey(r models.Rule) string {
	return joined(ruleFields(RuleView{Rule: r, Valid: copyOf(r).Valid()}))
}

// asksKey is saysKey but for how long an approval is good: of two such rules one never decides.
func asksKey(r models.Rule) string {
	r.ValidSeconds = 0
	return saysKey(r)
}

func coversKey(r models.Rule) string { return joined(ruleFields(RuleView{Rule: r})[:coveringFields]) }

func joined(fields []ruleField) string {
	var b strings.Builder
	for _, f := range fields {
		b.WriteString(strconv.Quote(f.value))
	}
	return b.String()
}

// columnOf names the column that an issue of a rule is about.
func columnOf(path string) string {
	switch path {
	case "/person":
		return colPeople
	case "/then_person":
		return colThenPeople
	}
	return strings.TrimPrefix(path, "/")
}

// readSheet reads comma- or semicolon-separated values, or what is pasted from a spreadsheet, with a
// first line of column names. Everything that is wrong is told.
func readSheet(text []byte) (lines []sheetLine, problems []SheetProblem) {
	problem := func(line int, column, format string, args ...any) {
		problems = append(problems, SheetProblem{line, column, fmt.Sprintf(format, args...)})
	}
	if len(text) > MaxSheetBytes {
		problem(0, "", "The sheet has more than %d kB.", MaxSheetBytes/1024)
		return nil, problems
	}
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	if !bytes.Contains(text, []byte("\n")) {
		text = bytes.ReplaceAll(text, []byte("\r"), []byte("\n"))
	}
	for i, line := range bytes.Split(text, []byte("\n")) {
		if !utf8.Valid(line) {
			problem(i+1, "", "holds bytes that are no UTF-8 text; save the sheet as CSV UTF-8")
			return nil, problems
		}
	}
	skipped := 0
	if first, rest, _ := bytes.Cut(text, []byte("\n")); bytes.HasPrefix(bytes.ToLower(first), []byte("sep=")) {
		text, skipped = rest, 1 // what a spreadsheet writes first to say its separator
	}
	r := csv.NewReader(bytes.NewReader(text))
	r.Comma, r.FieldsPerRecord = separatorOf(text), -1
	var columns []string
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		var broken *csv.ParseError
		if errors.As(err, &broken) {
			problem(broken.Line+skipped, "", "cannot be read: %s (character %d)", broken.Err, broken.Column)
			return nil, problems
		}
		if err != nil {
			problem(0, "", "The sheet cannot be read: %s.", err)
			return nil, problems
		}
		line, _ := r.FieldPos(0)
		line += skipped
		switch {
		case columns == nil:
			var wrong []SheetProblem
			if columns, wrong = readColumns(record, line); len(wrong) > 0 {
				return nil, append(problems, wrong...)
			}
		case strings.TrimSpace(strings.Join(record, "")) == "":
		case len(lines) == MaxSheetLines:
			problem(0, "", "The sheet has more than %d rules.", MaxSheetLines)
			return nil, problems
		default:
			l, wrong := readLine(columns, record, line)
			lines, problems = append(lines, l), append(problems, wrong...)
		}
	}
	if columns == nil {
		problem(0, "", "The sheet is empty. Its first line names the columns: %s.", strings.Join(SheetColumns(), ", "))
	}
	return lines, problems
}

// separatorOf finds what separates the columns in the first line.
func separatorOf(text []byte) rune {
	line, _, _ := bytes.Cut(bytes.TrimLeft(text, "\r\n"), []byte("\n"))
	best, most := ',', 0
	for _, sep := range []rune{',', ';', '\t'} {
		if n := bytes.Count(line, []byte(string(sep))); n > most {
			best, most = sep, n
		}
	}
	return best
}

func readColumns(record []string, line int) (columns []string, problems []SheetProblem) {
	problem := func(format string, args ...any) {
		problems = append(problems, SheetProblem{line, "", fmt.Sprintf(format, args...)})
	}
	for _, name := range record {
		name = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(models.ReadCell(name))), " ", "_")
		switch {
		case name != "" && !slices.Contains(SheetColumns(), name):
			problem("%q is no column; the columns are %s", clip(name, 40), strings.Join(SheetColumns(), ", "))
		case name != "" && slices.Contains(columns, name):
			problem("the column %s stands twice", name)
		}
		columns = append(columns, name)
	}
	for _, needed := range []string{colCurrency, colFrom, colTo} {
		if !slices.Contains(columns, needed) {
			problem("the column %s is missing", needed)
		}
	}
	if !slices.Contains(columns, colRole) && !slices.Contains(columns, colPeople) {
		problem("the columns role and people are missing; a rule names either")
	}
	return columns, problems
}

func readLine(columns, record []string, line int) (l sheetLine, problems []SheetProblem) {
	l.line, l.columns = line, columns
	problem := func(column, format string, args ...any) {
		problems = append(problems, SheetProblem{line, column, fmt.Sprintf(format, args...)})
	}
	cells := map[string]string{}
	for i, text := range record {
		text = models.ReadCell(strings.TrimSpace(text))
		switch {
		case i < len(columns) && columns[i] != "":
			cells[columns[i]] = text
		case text != "":
			problem("", "has more cells than there are columns; put text that holds the separator into quotes")
		}
	}
	l.id = cells[colRule]
	if v := cells[colVersion]; v != "" {
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil || n < 1 {
			problem(colVersion, "must be a whole number, or empty")
		}
		l.version = n
	}
	l.rule = NewRule{Tool: cells[colTool], DocumentType: cells[colType], Supplier: cells[colSupplier], CostCentre: cells[colCentre],
		Currency: strings.ToUpper(cells[colCurrency]), From: strings.TrimPrefix(cells[colFrom], "'"), To: strings.TrimPrefix(cells[colTo], "'"),
		Role: roleCell(cells[colRole]), People: SplitPeople(cells[colPeople]), ThenRole: roleCell(cells[colThenRole]), ThenPeople: SplitPeople(cells[colThenPeople])}
	if v := cells[colRequired]; v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 {
			problem(colRequired, "must be 1 or 2 people")
			n = 1
		}
		l.rule.Required = n
	}
	if v := cells[colValid]; v != "" {
		d, err := ParseValid(v)
		if err != nil {
			problem(colValid, "%s", err)
			d = DefaultValid
		}
		l.rule.Valid = d
	}
	return l, problems
}

// roleCell reads a role by its code or its title.
func roleCell(text string) models.Role {
	return models.Role(strings.ReplaceAll(strings.ToLower(text), " ", "_"))
}

// SplitPeople splits e-mail addresses written with commas, semicolons or blanks between them.
func SplitPeople(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ';' || unicode.IsSpace(r) })
}

// errValid says how a length of time is written.
var errValid = errors.New("must be a length of time such as 24h, 90m or 3d")

// ParseValid reads how long an approval stays good: "24h", "90m", "3d".
func ParseValid(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil || n < 1 || n > 366 {
			return 0, errValid
		}
		return time.Duration(n) * 24 * time.Hour, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, errValid
	}
	return d, nil
}
