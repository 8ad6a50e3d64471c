package views

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	templparser "github.com/a-h/templ/parser/v2"
	"github.com/a-h/templ/parser/v2/visitor"
)

// What people read stands in the catalogues, so that no page is half in one language.
func TestNoComponentHasWordsOfItsOwn(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*.templ")
	if err != nil {
		t.Fatal(err)
	}
	more, err := filepath.Glob("ui/*.templ")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, more...) {
		tree, err := templparser.Parse(file)
		if err != nil {
			t.Fatal(err)
		}
		at := func(r templparser.Range) string { return file + ":" + strconv.Itoa(int(r.From.Line)+1) }
		v := visitor.New()
		v.Text = func(n *templparser.Text) error {
			if readable(n.Value) {
				t.Errorf("%s: %q stands there in English whatever the reader's language", at(n.Range), n.Value)
			}
			return nil
		}
		v.ConstantAttribute = func(n *templparser.ConstantAttribute) error {
			if slices.Contains([]string{"aria-label", "title", "placeholder", "alt", "data-label", "label"}, n.Key.String()) && readable(n.Value) {
				t.Errorf("%s: %s is %q whatever the reader's language", at(n.Range), n.Key, n.Value)
			}
			return nil
		}
		look := func(e templparser.Expression) {
			for _, word := range wordsIn(e.Value) {
				t.Errorf("%s: %q goes round the catalogue", at(e.Range), word)
			}
		}
		v.StringExpression = func(n *templparser.StringExpression) error { look(n.Expression); return nil }
		v.ExpressionAttribute = func(n *templparser.ExpressionAttribute) error {
			if n.Key.String() != "class" {
				look(n.Expression)
			}
			return nil
		}
		v.CallTemplateExpression = func(n *templparser.CallTemplateExpression) error { look(n.Expression); return nil }
		element := v.TemplElementExpression
		v.TemplElementExpression = func(n *templparser.TemplElementExpression) error { look(n.Expression); return element(n) }
		if err := tree.Visit(v); err != nil {
			t.Fatal(err)
		}
	}
}

// readable says whether text has a word in it. The desk's own name is the same in every language.
func readable(text string) bool {
	text = strings.ReplaceAll(text, "apdesk", "")
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.IsLetter(r) }) {
		if len(word) > 1 && !strings.HasPrefix(word, "nbsp") && word != "ap" && word != "desk" {
			return true
		}
	}
	return false
}

// wordsIn are the texts of a Go expression that read as words and are no message.
func wordsIn(expression string) (found []string) {
	tree, err := parser.ParseExpr(expression)
	if err != nil {
		return nil
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			if name, ok := n.Fun.(*ast.Ident); ok && (name.Name == "tr" || name.Name == "trn" || name.Name == "trc") {
				return false
			}
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			if err == nil && n.Kind == token.STRING && readable(text) && (strings.Contains(strings.TrimSpace(text), " ") || unicode.IsUpper([]rune(text)[0])) {
				found = append(found, text)
			}
		}
		return true
	})
	return found
}
