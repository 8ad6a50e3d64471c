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

// serviceVerb is a place for a value in a sentence of a service.
var serviceVerb = regexp.MustCompile(`%(\[\d+\])?[+#]?(\.\d)?[sdqvxf]`)

// toOthers are what only agents, systems and the operator hear, and forms whose sentences stand in the
// catalogues one by one.
var toOthers = []string{
	"The trail of workspace Xy-1 does not end with the event the desk sealed last. Nothing was signed; run apdesk audit verify.",
	"Correct these values and send again: Xy-1.",
	"This idempotency key was used before with another body. Use a new key for a new request.",
	"The token is missing, unknown, expired or revoked.",
	"The access token belongs to nobody who may use the desk.",
	"Workspace \"Xy-1\" does not exist or this caller cannot reach it. Call list_workspaces and use one of those.",
	"Several workspaces can be reached. Call list_workspaces, then repeat this call with a workspace_id.",
	"must be viewing or editing",
	"The token \"Xy-1\" lacks the scope Xy-1. Ask its owner for a token with that scope.",
	"The desk lost its database while it recorded this, and cannot tell whether it did. Repeat the same call with the same idempotency key, or look before you repeat it.",
	"must be given, or an address",
	"must be 1 to 64 letters, digits, dots, dashes or underscores",
	"Workspace Xy-1 exists already.",
	"must be GR_MISSING, the code that is waited for",
	"Xy-1 is not waited for: its next action is Xy-1.",
	"must be available or still_missing",
	"must be waiting, released, escalated or cancelled",
	"must be named_error, retry_exhausted, loop_detected, budget_exhausted or other",
	"must hold the error met when the reason is named_error",
	"No question waits for an answer on this case. Read it with get_case for what was decided.",
	"The list cannot be sorted by \"Xy-1\"; it can by Xy-1.",
	"must be open, held or resolved",
	"must be soon, overdue or today",
	"must be not or only",
	"must be Xy-1",
	"The cursor belongs to another list. Send next_cursor of the page before, with the same sort.",
	"Xy-1 is not handed to a person: Xy-1.",
	"Only the account that handed this case over can withdraw it.",
	"Only the account that filed this hold can cancel it.",
	"Xy-1 delegated to Xy-1 from Xy-1; the two would decide for one another",
	"Xy-1 is away from Xy-1; name somebody who is there",
	"Xy-1 decides for Xy-1 from Xy-1, and what was delegated cannot be delegated on",
	"must be an object: the exact arguments of the call",
	"is not valid JSON: something follows the object",
	"the number Xy-1 is not exact for every reader of JSON; send it as a string",
	"is not valid JSON",
	"\"Xy-1\" is no status of an approval request.",
	"Requests can be sorted by created_at, -created_at or expires_at.",
	"is required, so that a lost answer can be asked for again",
	"must be posted or failed",
	"This approval was not redeemed, so there is no write to report. Redeem before you write.",
	"This write was reported as posted with document number \"Xy-1\" on Xy-1; that stands.",
	"This write was reported as posted on Xy-1; that stands. Only its document number may still be added.",
	"is required, with its currency",
	"names no case you filed in this workspace",
	"Xy-1 Another account must ask.",
	"Xy-1 Xy-1 this request on Xy-1.",
	"Xy-1 Xy-1 this on Xy-1, and the answer expired on Xy-1 because nobody took it.",
	"Xy-1 Xy-1 this on Xy-1.",
	"You Xy-1, so you cannot answer it. Somebody else must.",
	"\"Xy-1\" is no status of a confirmation.",
	"Confirmations can be sorted by created_at or -created_at.",
	"must have at most 7 bytes",
	"This confirmation was used already. Call again without requestState to be asked anew. Nothing was changed.",
	"The person said no. Nothing was changed; do not repeat the call.",
	"This form asks for a secret (Xy-1). Passwords, keys, tokens, PINs, codes and card or bank numbers are never asked for in a form. The server must use url mode for them.",
	"is required, with at most 7 characters",
	"This answer was taken already, for another key or call. An answer counts once: make the call again without requestState to be asked anew.",
	"The answer is for another call: server, tool and arguments must be exactly those it was asked about.",
	"Nobody has answered yet. Wait with get_confirmation until the status is no longer pending.",
	"Only the account that asked for this confirmation can Xy-1.",
}

// sampleOf is the text an expression of a service makes, with a value for what is only known later. ok is
// false when none of it stands in the code.
func sampleOf(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "7", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return sampleOf(e.X)
	case *ast.BinaryExpr:
		left, one := sampleOf(e.X)
		right, other := sampleOf(e.Y)
		return left + right, e.Op == token.ADD && (one || other)
	case *ast.CallExpr:
		switch name := calledName(e); {
		case (name == "Sprintf" || name == "Errorf") && len(e.Args) > 0:
			form, ok := sampleOf(e.Args[0])
			return serviceVerb.ReplaceAllStringFunc(form, func(verb string) string {
				switch verb[len(verb)-1] {
				case 'd', 'f':
					return "7"
				case 'q':
					return `"Xy-1"`
				}
				return "Xy-1"
			}), ok
		case name == "New" && len(e.Args) == 1:
			return sampleOf(e.Args[0])
		}
	}
	return "Xy-1", false
}

// TestWhatServicesSayIsSaidInEveryLanguage reads the code of the services: marks of cases, what is wrong with
// a field, and why something is refused.
func TestWhatServicesSayIsSaidInEveryLanguage(t *testing.T) {
	t.Parallel()
	found, met := 0, make([]bool, len(toOthers))
	for _, pattern := range []string{"../../models/*.go", "../../queue/*.go", "../../approvals/*.go", "../../approvals/confirm/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s holds nothing (%v)", pattern, err)
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
			check := func(e ast.Expr) {
				if text, ok := sampleOf(e); ok && strings.Contains(text, " ") {
					found++
					if i := slices.Index(toOthers, text); i >= 0 {
						met[i] = true
						return
					}
					unsaid(t, set.Position(e.Pos()).String(), text)
				}
			}
			ast.Inspect(tree, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.CompositeLit:
					name := ""
					switch of := n.Type.(type) {
					case *ast.Ident:
						name = of.Name
					case *ast.SelectorExpr:
						name = of.Sel.Name
					}
					if name != "Issue" && name != "Mark" && name != "" {
						return true
					}
					for i, e := range n.Elts {
						if pair, keyed := e.(*ast.KeyValueExpr); keyed {
							if key, isName := pair.Key.(*ast.Ident); isName && key.Name == "Message" {
								check(pair.Value)
							}
						} else if i == 1 && len(n.Elts) == 2 && name != "" {
							check(e)
						}
					}
				case *ast.CallExpr:
					switch name := calledName(n); {
					case name == "E" && len(n.Args) == 3:
						check(n.Args[1])
					case name == "issue" && len(n.Args) >= 2:
						check(&ast.CallExpr{Fun: ast.NewIdent("Sprintf"), Args: n.Args[1:]})
					}
				case *ast.ValueSpec:
					for i, name := range n.Names {
						if strings.HasPrefix(name.Name, "Err") && i < len(n.Values) {
							check(n.Values[i])
						}
					}
				}
				return true
			})
		}
	}
	for i, text := range toOthers {
		if !met[i] {
			t.Errorf("nothing says %q any more", text)
		}
	}
	if found < 250 {
		t.Errorf("only %d texts were found", found)
	}
}
