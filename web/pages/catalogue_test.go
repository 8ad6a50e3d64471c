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
)

// notYet are files whose words are still being moved to the catalogues.
var notYet = []string{
	"approvalpage.go",
	"approvals.go",
	"attachments.go",
	"audit.go",
	"bulk.go",
	"bulkcases.go",
	"casepage.go",
	"cases.go",
	"comments.go",
	"confirmationpage.go",
	"confirmations.go",
	"countdown.go",
	"delegations.go",
	"doc.go",
	"drafts.go",
	"duplicates.go",
	"evidence.go",
	"flash.go",
	"holds.go",
	"home.go",
	"hours.go",
	"invoice.go",
	"live.go",
	"local.go",
	"login.go",
	"matrix.go",
	"next.go",
	"notices.go",
	"pages.go",
	"people.go",
	"preferences.go",
	"presence.go",
	"problem.go",
	"proof.go",
	"proposed.go",
	"queues.go",
	"queuesheet.go",
	"render.go",
	"rules.go",
	"savedviews.go",
	"search.go",
	"security.go",
	"settings.go",
	"shortcuts.go",
	"snooze.go",
	"tell.go",
	"timeline.go",
	"visit.go",
	"words.go",
}

// messageCalls are the functions whose first texts are messages; plainCalls take texts nobody reads.
var (
	messageCalls = []string{"tr", "trn", "trc", "Mark", "T", "N", "C"}
	plainCalls   = []string{"Errorf", "New", "Query", "Set", "Get", "WarnContext", "ErrorContext", "InfoContext", "Format", "Replace", "ReplaceAll", "NewReplacer", "panic", "Add", "Has", "Where", "Raw", "HasPrefix", "HasSuffix", "Contains", "Cut", "CutPrefix", "CutSuffix", "TrimPrefix", "TrimSuffix", "MustCompile", "Parse", "Mount"}
	proseForm    = regexp.MustCompile(`[A-Za-z]{2,}[,;:]? +[A-Za-z%]|^[A-Z][a-z]+( |$|…|:)`)
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
		if strings.HasSuffix(file, "_test.go") || slices.Contains(notYet, file) {
			continue
		}
		set := token.NewFileSet()
		tree, err := parser.ParseFile(set, file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec, *ast.Field:
				return false
			case *ast.CallExpr:
				if name := calledName(n); slices.Contains(plainCalls, name) || slices.Contains(messageCalls, name) {
					return false
				}
			case *ast.BasicLit:
				text, err := strconv.Unquote(n.Value)
				if err == nil && n.Kind == token.STRING && proseForm.MatchString(text) {
					t.Errorf("%s: %q goes round the catalogue", set.Position(n.Pos()), text)
				}
			}
			return true
		})
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
