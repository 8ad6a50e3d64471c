package pages

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/views/lang"
)

// messageCalls are the functions whose first texts are messages; plainCalls take texts nobody reads.
var (
	messageCalls = []string{"tr", "trn", "trc", "Mark", "MarkIn", "word", "T", "N", "C"}
	plainCalls   = []string{"Errorf", "New", "Query", "Set", "Get", "Warn", "WarnContext", "ErrorContext", "InfoContext", "Format", "Replace", "ReplaceAll", "NewReplacer", "panic", "Add", "Has", "Where", "Raw", "HasPrefix", "HasSuffix", "Contains", "Cut", "CutPrefix", "CutSuffix", "TrimPrefix", "TrimSuffix", "MustCompile", "Parse", "Mount", "E", "Missing", "say", "exportAudit"}
	// plainFields are fields of structs with names, keys, and what can be typed.
	plainFields = []string{"Name", "keys", "typed"}
	proseForm   = regexp.MustCompile(`[A-Za-z]{2,}[,;:]? +[A-Za-z%]|^[A-Z][a-z]+( |$|…|:)`)
)

// What a person reads stands in the catalogues. A text of several words, or one word that begins with a
// capital, is taken for something to read wherever it is no argument of a function that takes none.
func TestNoPageHasWordsOfItsOwn(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		var look func(n ast.Node) bool
		look = func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec, *ast.Field:
				return false
			case *ast.KeyValueExpr:
				if name, ok := n.Key.(*ast.Ident); ok && slices.Contains(plainFields, name.Name) {
					return false
				}
			case *ast.CaseClause: // what something is compared with is not shown
				for _, statement := range n.Body {
					ast.Inspect(statement, look)
				}
				return false
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					return false
				}
			case *ast.CompositeLit:
				if message, ok := issueOf(n); ok {
					unsaid(t, set.Position(n.Pos()).String(), message)
					return false
				}
			case *ast.CallExpr:
				if calledName(n) == "E" && len(n.Args) > 1 {
					if literal, ok := n.Args[1].(*ast.BasicLit); ok {
						if message, err := strconv.Unquote(literal.Value); err == nil {
							unsaid(t, set.Position(n.Pos()).String(), message)
						}
					}
					return false
				}
				if name := calledName(n); slices.Contains(plainCalls, name) || slices.Contains(messageCalls, name) {
					return false
				}
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				if err == nil && n.Kind == token.STRING && proseForm.MatchString(text) && !strings.Contains(text, "default-src") {
					t.Errorf("%s: %q goes round the catalogue", set.Position(n.Pos()), text)
				}
			}
			return true
		}
		ast.Inspect(tree, look)
	}
}

// What is said of order, receipt and invoice is put together of many pieces, of which a page shows few.
func TestWhatIsSaidOfAMatchIsSaidInEveryLanguage(t *testing.T) {
	t.Parallel()
	verb := regexp.MustCompile(`%[sd]`)
	found := 0
	for _, file := range []string{"compare.go", "match_rows.go", "match_currency.go"} {
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, filepath.Join("..", "..", "approvals", file), nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(literal.Value)
			if err != nil || strings.Count(text, " ") < 2 || strings.TrimSpace(text) != text || strings.HasPrefix(text, "approvals: ") || strings.ContainsAny(text, "?") || strings.Contains(text, " DESC") ||
				strings.HasSuffix(text, "than expected") { // a piece, see away
				return true
			}
			found++
			unsaid(t, set.Position(n.Pos()).String(), verb.ReplaceAllString(text, "7"))
			return true
		})
	}
	if found < 30 {
		t.Errorf("only %d sentences were found", found)
	}
}

// issueOf is the message of an issue that a page raises as services do. It is said in the reader's
// language by its form where it is shown.
func issueOf(n *ast.CompositeLit) (message string, ok bool) {
	// In a list the type stands before the list.
	if of, isSelector := n.Type.(*ast.SelectorExpr); n.Type != nil && (!isSelector || of.Sel.Name != "Issue") {
		return "", false
	}
	for _, e := range n.Elts {
		if pair, isPair := e.(*ast.KeyValueExpr); isPair {
			name, isName := pair.Key.(*ast.Ident)
			if literal, isLiteral := pair.Value.(*ast.BasicLit); isLiteral && isName && name.Name == "Message" {
				message, err := strconv.Unquote(literal.Value)
				return message, err == nil
			}
		}
	}
	return "", false
}

// unsaid fails for a sentence of a service that a language has no words for.
func unsaid(t *testing.T, where, message string) {
	t.Helper()
	for _, l := range lang.All()[1:] {
		if l.Said(message) == message {
			t.Errorf("%s: %q is not said in %s; add it to views/lang/%s/services.po", where, message, l.Tag(), l.Tag())
		}
	}
}

func calledName(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}
