package approvals

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/models"
)

// notPartOfTheCall are the members of a call's arguments that carry the desk's own bookkeeping: they
// differ between the request and the write, so the digest leaves them out.
var notPartOfTheCall = map[string]bool{"approval_id": true, "idempotency_key": true}

// CheckArguments says why the raw arguments of a call cannot be digested: no object, duplicate names,
// text that is no Unicode, or numbers that another reader of JSON would understand differently. base
// is the JSON Pointer of the arguments in the caller's request. No issue means that CanonicalArguments
// and Digest succeed.
func CheckArguments(raw json.RawMessage, base string) []models.Issue {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if dec.PeekKind() != '{' {
		if len(bytes.TrimSpace(raw)) == 0 {
			return []models.Issue{{Path: base, Message: "is required: the exact arguments of the call, as an object"}}
		}
		if kind := dec.PeekKind(); kind != 0 {
			return []models.Issue{{Path: base, Message: "must be an object: the exact arguments of the call"}}
		}
	}
	var issues []models.Issue
	for {
		tok, err := dec.ReadToken()
		if errors.Is(err, io.EOF) {
			return issues
		}
		if err != nil {
			return append(issues, syntaxIssue(err, base))
		}
		if dec.StackDepth() == 0 && len(bytes.TrimSpace(raw[dec.InputOffset():])) > 0 {
			return append(issues, models.Issue{Path: base, Message: "is not valid JSON: something follows the object"})
		}
		if tok.Kind() == '0' && !sameAsDouble(tok.String()) {
			issues = append(issues, models.Issue{Path: base + string(dec.StackPointer()),
				Message: fmt.Sprintf("the number %s is not exact for every reader of JSON; send it as a string", clip(tok.String(), 40))})
		}
	}
}

func syntaxIssue(err error, base string) models.Issue {
	issue := models.Issue{Path: base, Message: "is not valid JSON"}
	var syntax *jsontext.SyntacticError
	if errors.As(err, &syntax) {
		issue.Path += string(syntax.JSONPointer)
		switch {
		case errors.Is(syntax.Err, jsontext.ErrDuplicateName):
			issue.Message = "is named twice in one object; name it once"
		case strings.Contains(syntax.Err.Error(), "UTF-8"), strings.Contains(syntax.Err.Error(), "surrogate"):
			issue.Message = "is not valid Unicode text (invalid UTF-8 or a lone surrogate)"
		}
	}
	return issue
}

// CanonicalArguments is the RFC 8785 form of a call's arguments without approval_id and
// idempotency_key: what the digest covers, and so what people are shown.
func CanonicalArguments(raw json.RawMessage) (json.RawMessage, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(raw))
	if dec.PeekKind() != '{' {
		return nil, errors.New("approvals: arguments are not an object")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, fmt.Errorf("approvals: arguments: %w", err)
	}
	var out bytes.Buffer
	enc := jsontext.NewEncoder(&out)
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return nil, fmt.Errorf("approvals: arguments: %w", err)
	}
	for dec.PeekKind() != '}' {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, fmt.Errorf("approvals: arguments: %w", err)
		}
		name := tok.String()
		value, err := dec.ReadValue()
		if err != nil {
			return nil, fmt.Errorf("approvals: arguments: %w", err)
		}
		if notPartOfTheCall[name] {
			continue
		}
		if err := enc.WriteToken(jsontext.String(name)); err != nil {
			return nil, fmt.Errorf("approvals: arguments: %w", err)
		}
		if err := enc.WriteValue(value); err != nil {
			return nil, fmt.Errorf("approvals: arguments: %w", err)
		}
	}
	if err := enc.WriteToken(jsontext.EndObject); err != nil {
		return nil, fmt.Errorf("approvals: arguments: %w", err)
	}
	canonical := jsontext.Value(bytes.TrimSpace(out.Bytes()))
	if err := canonical.Canonicalize(); err != nil {
		return nil, fmt.Errorf("approvals: arguments: %w", err)
	}
	return json.RawMessage(canonical), nil
}

// Digest is the hex SHA-256 of the RFC 8785 form of workspace, tool and arguments: the identity of one
// write. Two spellings of the same JSON have the same digest.
func Digest(workspace, tool string, raw json.RawMessage) (string, error) {
	arguments, err := CanonicalArguments(raw)
	if err != nil {
		return "", err
	}
	return digestOf(workspace, tool, arguments)
}

// digestOf is Digest for arguments already in canonical form.
func digestOf(workspace, tool string, canonical json.RawMessage) (string, error) {
	body, err := json.Marshal(map[string]string{"workspace": workspace, "tool": tool})
	if err != nil {
		return "", fmt.Errorf("approvals: digest: %w", err)
	}
	whole := jsontext.Value(bytes.Join([][]byte{[]byte(`{"arguments":`), canonical, []byte(`,`), body[1:]}, nil))
	if err := whole.Canonicalize(); err != nil {
		return "", fmt.Errorf("approvals: digest: %w", err)
	}
	sum := sha256.Sum256(whole)
	return hex.EncodeToString(sum[:]), nil
}

// sameAsDouble says whether a JSON number keeps its value when it is read as a double and written in
// shortest form, which is what RFC 8785 and most readers do.
func sameAsDouble(number string) bool {
	f, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return false
	}
	want, ok := decimalOf(number)
	if !ok {
		return false
	}
	got, ok := decimalOf(strconv.FormatFloat(f, 'e', -1, 64))
	return ok && want == got
}

// decimal is an exact decimal number in one spelling only: digits without leading or trailing zeros,
// times ten to the exponent. Zero has no digits.
type decimal struct {
	negative bool
	digits   string
	exponent int64
}

// maxExponent bounds the exponents read; a double has none near it.
const maxExponent = 1_000_000_000_000

// decimalOf reads a JSON number, or a plain decimal text, without rounding and without spelling out
// its zeros.
func decimalOf(s string) (decimal, bool) {
	var d decimal
	if s, d.negative = strings.CutPrefix(s, "-"); s == "" {
		return decimal{}, false
	}
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		sign, exponent := int64(1), s[i+1:]
		if rest, minus := strings.CutPrefix(exponent, "-"); minus {
			sign, exponent = -1, rest
		}
		exponent = strings.TrimLeft(strings.TrimPrefix(exponent, "+"), "0")
		// An exponent too long to read is beyond any double; only a zero can carry it.
		d.exponent = sign * maxExponent
		if len(exponent) < len(strconv.Itoa(maxExponent)) {
			e, err := strconv.ParseInt("0"+exponent, 10, 64)
			if err != nil {
				return decimal{}, false
			}
			d.exponent = sign * e
		}
		s = s[:i]
	}
	whole, fraction, pointed := strings.Cut(s, ".")
	if whole == "" || (pointed && fraction == "") || strings.Trim(whole+fraction, "0123456789") != "" {
		return decimal{}, false
	}
	d.exponent -= int64(len(fraction))
	digits := strings.TrimLeft(whole+fraction, "0")
	d.digits = strings.TrimRight(digits, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	d.exponent += int64(len(digits) - len(d.digits))
	return d, true
}

// at finds the value a JSON Pointer names in canonical arguments; ok is false when there is none.
func at(arguments json.RawMessage, pointer string) (value json.RawMessage, ok bool, err error) {
	if !strings.HasPrefix(pointer, "/") {
		return nil, false, fmt.Errorf("approvals: binding: %q is no JSON Pointer", pointer)
	}
	value = arguments
	for _, part := range strings.Split(pointer[1:], "/") {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		switch (jsontext.Value)(value).Kind() {
		case '{':
			var members map[string]json.RawMessage
			if err := json.Unmarshal(value, &members); err != nil {
				return nil, false, fmt.Errorf("approvals: binding: %w", err)
			}
			if value, ok = members[name]; !ok {
				return nil, false, nil
			}
		case '[':
			var items []json.RawMessage
			if err := json.Unmarshal(value, &items); err != nil {
				return nil, false, fmt.Errorf("approvals: binding: %w", err)
			}
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(items) || strconv.Itoa(i) != name {
				return nil, false, nil
			}
			value = items[i]
		default:
			return nil, false, nil
		}
	}
	return value, true, nil
}

func clip(s string, n int) string {
	if r := []rune(s); len(r) > n {
		return string(r[:n]) + "…"
	}
	return s
}
