package pages

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
)

// sources are the desk's own Go files, without tests, by the directory of their package.
type sources struct {
	files  map[string][]*ast.File
	consts map[string]string // "name" of a constant of text, by "package directory name" and by name alone
}

func readSources(t *testing.T) *sources {
	t.Helper()
	s := &sources{files: map[string][]*ast.File{}, consts: map[string]string{}}
	set := token.NewFileSet()
	for _, root := range []string{"../../models", "../../queue", "../../approvals", "../../web", "../../cmd"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() {
				if name := entry.Name(); name == "testdata" || name == "modelstest" || name == "node_modules" {
					return filepath.SkipDir
				}
				return nil
			}
			if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return nil
			}
			file, err := parser.ParseFile(set, path, nil, 0)
			if err != nil {
				return err
			}
			dir := filepath.Dir(path)
			s.files[dir] = append(s.files[dir], file)
			for _, d := range file.Decls {
				g, ok := d.(*ast.GenDecl)
				if !ok || g.Tok != token.CONST {
					continue
				}
				for _, spec := range g.Specs {
					v := spec.(*ast.ValueSpec)
					for i, name := range v.Names {
						if i >= len(v.Values) {
							continue
						}
						if text, ok := literal(v.Values[i]); ok {
							s.consts[dir+" "+name.Name] = text
							s.consts[file.Name.Name+"."+name.Name] = text
						}
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func literal(e ast.Expr) (string, bool) {
	b, ok := e.(*ast.BasicLit)
	if !ok || b.Kind != token.STRING {
		return "", false
	}
	text, err := strconv.Unquote(b.Value)
	return text, err == nil
}

// texts are the values an expression within a function of a package can have, as far as the source says
// so: literals, constants, what is assigned to a variable, what callers hand in for a parameter, and
// texts joined of these.
func (s *sources) texts(dir string, in *ast.FuncDecl, e ast.Expr, depth int) ([]string, error) {
	if depth > 6 {
		return nil, fmt.Errorf("too deep")
	}
	if text, ok := literal(e); ok {
		return []string{text}, nil
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return s.texts(dir, in, e.X, depth)
	case *ast.CallExpr: // a conversion: string(x)
		if len(e.Args) == 1 {
			return s.texts(dir, in, e.Args[0], depth+1)
		}
	case *ast.SelectorExpr:
		if pkg, ok := e.X.(*ast.Ident); ok {
			if text, ok := s.consts[pkg.Name+"."+e.Sel.Name]; ok {
				return []string{text}, nil
			}
		}
	case *ast.BinaryExpr:
		left, err := s.texts(dir, in, e.X, depth+1)
		if err != nil {
			return nil, err
		}
		right, err := s.texts(dir, in, e.Y, depth+1)
		if err != nil {
			return nil, err
		}
		var joined []string
		for _, l := range left {
			for _, r := range right {
				joined = append(joined, l+r)
			}
		}
		return joined, nil
	case *ast.Ident:
		if text, ok := s.consts[dir+" "+e.Name]; ok {
			return []string{text}, nil
		}
		return s.ofVariable(dir, in, e.Name, depth)
	}
	return nil, fmt.Errorf("%T", e)
}

func (s *sources) ofVariable(dir string, in *ast.FuncDecl, name string, depth int) ([]string, error) {
	var found []string
	var failed error
	add := func(e ast.Expr) {
		texts, err := s.texts(dir, in, e, depth+1)
		if err != nil {
			failed = err
			return
		}
		found = append(found, texts...)
	}
	ast.Inspect(in, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for i, left := range n.Lhs {
				id, ok := left.(*ast.Ident)
				switch {
				case !ok || id.Name != name:
				case len(n.Lhs) == len(n.Rhs):
					add(n.Rhs[i])
				default: // one of several answers of a function, or of what callers hand in
					found = append(found, s.answers(dir, in, n.Rhs[0])...)
				}
			}
		case *ast.ValueSpec:
			for i, id := range n.Names {
				if id.Name == name && i < len(n.Values) {
					add(n.Values[i])
				}
			}
		}
		return true
	})
	place := 0
	for _, p := range in.Type.Params.List {
		for _, id := range p.Names {
			if id.Name == name {
				for _, call := range s.callsOf(dir, in.Name.Name) {
					if place < len(call.call.Args) {
						texts, err := s.texts(dir, call.in, call.call.Args[place], depth+1)
						if err != nil {
							failed = err
						}
						found = append(found, texts...)
					}
				}
			}
			place++
		}
	}
	if len(found) == 0 && failed == nil {
		failed = fmt.Errorf("nothing is assigned to %s in %s", name, in.Name.Name)
	}
	if len(found) > 0 {
		failed = nil // what a loop or a helper adds beside is one of these
	}
	return found, failed
}

// dotted are texts such as case.claimed.
var dotted = regexp.MustCompile(`^[a-z_]+\.[a-z_]+$`)

// answers are the dotted texts a function of the package may answer; those its callers write, when it is
// one they hand in.
func (s *sources) answers(dir string, in *ast.FuncDecl, e ast.Expr) []string {
	var found []string
	read := func(n ast.Node) {
		ast.Inspect(n, func(n ast.Node) bool {
			if b, ok := n.(*ast.BasicLit); ok {
				if text, ok := literal(b); ok && dotted.MatchString(text) {
					found = append(found, text)
				}
			}
			return true
		})
	}
	call, ok := e.(*ast.CallExpr)
	if !ok {
		return nil
	}
	called, ok := call.Fun.(*ast.Ident)
	if !ok {
		return nil
	}
	for _, file := range s.files[dir] {
		for _, d := range file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == called.Name {
				read(fn)
			}
		}
	}
	if len(found) == 0 {
		for _, c := range s.callsOf(dir, in.Name.Name) {
			read(c.in)
		}
	}
	return found
}

type foundCall struct {
	dir  string
	in   *ast.FuncDecl
	call *ast.CallExpr
}

// callsOf are the calls of a function or method by its name, in one package or, with dir empty, in all.
func (s *sources) callsOf(dir, name string) []foundCall {
	var calls []foundCall
	for d, files := range s.files {
		if dir != "" && d != dir {
			continue
		}
		for _, file := range files {
			for _, decl := range file.Decls {
				fn, ok := decl.(*ast.FuncDecl)
				if !ok || fn.Body == nil {
					continue
				}
				ast.Inspect(fn.Body, func(n ast.Node) bool {
					if call, ok := n.(*ast.CallExpr); ok {
						switch f := call.Fun.(type) {
						case *ast.SelectorExpr:
							if x, ok := f.X.(*ast.Ident); f.Sel.Name == name && (!ok || x.Name != "views") { // a page is no event
								calls = append(calls, foundCall{d, fn, call})
							}
						case *ast.Ident:
							if f.Name == name {
								calls = append(calls, foundCall{d, fn, call})
							}
						}
					}
					return true
				})
			}
		}
	}
	return calls
}

// emitted are the texts handed to the functions named, by the place of the argument.
func (s *sources) emitted(t *testing.T, place map[string]int) []string {
	t.Helper()
	var all []string
	for name, i := range place {
		for _, c := range s.callsOf("", name) {
			if len(c.call.Args) <= i || c.in.Name.Name == name || c.in.Name.Name == "RecordRefusal" || c.in.Name.Name == "TellRole" {
				continue
			}
			texts, err := s.texts(c.dir, c.in, c.call.Args[i], 0)
			if err != nil {
				t.Errorf("%s in %s hands %s something this test cannot follow: %v", c.in.Name.Name, c.dir, name, err)
			}
			all = append(all, texts...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestEveryActionOnTheTrailHasWords(t *testing.T) {
	t.Parallel()
	actions := readSources(t).emitted(t, map[string]int{"Audit": 0, "RecordRefusal": 2})
	if len(actions) < 40 {
		t.Fatalf("only %d actions were found: %v", len(actions), actions)
	}
	w := words{now: time.Now(), zone: time.UTC}
	for _, action := range actions {
		e := models.AuditEvent{Action: action, ActorName: "Mia", Channel: models.ChannelWeb, Data: "{}"}
		if told := w.tell(e, eventData{}); told.what == "" || told.what == plainWords(action) {
			t.Errorf("%s has no words in timeline.go; it is told as %q", action, told.what)
		}
	}
}

func TestEveryKindOfNoticeHasWords(t *testing.T) {
	t.Parallel()
	kinds := readSources(t).emitted(t, map[string]int{"Tell": 0, "TellRole": 0})
	for _, known := range []string{"request.waiting", "request.expiring", "request.lapsed", "approval.expiring", "report.overdue", "approval.revoked", "delegation.set",
		"delegation.started", "delegation.ended", "fraud.suspected", "case.returned"} {
		if !slices.Contains(kinds, known) {
			kinds = append(kinds, known)
		}
	}
	neutral := words{}.noticeWords("something.else", noticeData{})
	if neutral.text == "" {
		t.Error("a kind nobody knows is told with nothing")
	}
	seen := map[string]string{}
	for _, kind := range kinds {
		told := words{}.noticeWords(models.NoticeKind(kind), noticeData{})
		full := words{}.noticeWords(models.NoticeKind(kind), noticeData{Amount: "250.00", Currency: "EUR", Number: "INV-778", From: "Ines Hoffmann", To: "Jonas Weber", By: "Mia", LastDay: "2026-10-09", Why: "she left", Until: "2026-10-09"})
		for _, text := range []string{told.text, full.text} {
			if text == "" || text == neutral.text || !strings.HasSuffix(text, ".") || strings.Contains(text, "  ") {
				t.Errorf("%s has no words in words.go; it is told as %q", kind, text)
			}
		}
		if other, ok := seen[told.text]; ok {
			t.Errorf("%s and %s are told alike", kind, other)
		}
		seen[told.text] = kind
	}
}
