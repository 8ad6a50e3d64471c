package approvals

import (
	"bytes"
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestCheckArguments(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, arguments, path, says string
	}{
		{"plain numbers pass", `{"a":0.1,"b":2.50,"c":-0,"d":1e2,"e":9007199254740992,"f":0e999999999999}`, "", ""},
		{"twenty digits", `{"a":12345678901234567890}`, "/action/arguments/a", "as a string"},
		{"too large for a double", `{"a":{"b":[1,1e400]}}`, "/action/arguments/a/b/1", "as a string"},
		{"too small for a double", `{"a":1e-400}`, "/action/arguments/a", "as a string"},
		{"an exponent beyond all", `{"a":1e-99999999999999999999}`, "/action/arguments/a", "as a string"},
		{"more digits than a double keeps", `{"a":0.10000000000000000001}`, "/action/arguments/a", "as a string"},
		{"one more than 2^53", `{"a":9007199254740993}`, "/action/arguments/a", "as a string"},
		{"a name twice", `{"a":1,"a":2}`, "/action/arguments/a", "named twice"},
		{"a name twice, once escaped", `{"o":{"a":1,"\u0061":2}}`, "/action/arguments/o/a", "named twice"},
		{"a lone surrogate", `{"a":"\ud800"}`, "/action/arguments", "Unicode"},
		{"invalid UTF-8", "{\"a\":\"\xff\"}", "/action/arguments", "Unicode"},
		{"no object", `[]`, "/action/arguments", "object"},
		{"a number alone", `1`, "/action/arguments", "object"},
		{"nothing", ``, "/action/arguments", "required"},
		{"broken", `{"a":`, "/action/arguments", "not valid JSON"},
		{"two values", `{} {}`, "/action/arguments", "not valid JSON"},
		{"a name with a slash", `{"a/b":1e400}`, "/action/arguments/a~1b", "as a string"},
	} {
		issues := CheckArguments(json.RawMessage(c.arguments), "/action/arguments")
		if c.path == "" {
			if len(issues) != 0 {
				t.Errorf("%s: %+v", c.name, issues)
			}
			continue
		}
		if len(issues) == 0 || !strings.HasPrefix(issues[0].Path, c.path) || !strings.Contains(issues[0].Message, c.says) {
			t.Errorf("%s: got %+v, want %q at %s", c.name, issues, c.says, c.path)
		}
	}
}

func TestEveryInexactNumberIsNamed(t *testing.T) {
	t.Parallel()
	if issues := CheckArguments(json.RawMessage(`{"a":1e400,"b":[12345678901234567890]}`), ""); len(issues) != 2 || issues[0].Path != "/a" || issues[1].Path != "/b/0" {
		t.Errorf("%+v", issues)
	}
}

func TestDigest(t *testing.T) {
	t.Parallel()
	digest := func(workspace, tool, arguments string) string {
		t.Helper()
		d, err := Digest(workspace, tool, json.RawMessage(arguments))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	// SHA-256 of {"arguments":{"amount":"2.50","n":2.5},"tool":"post","workspace":"1000"}
	const want = "b28493349509789af6c5b4206dfc60b0fb17c6cecdbb7331cc794fdc96e66efb"
	first := digest("1000", "post", `{"n":2.50, "amount":"2.50"}`)
	if first != want {
		t.Fatalf("%q", first)
	}
	same := map[string]string{
		"order and space":   "{\n \"amount\" : \"2.50\", \"n\": 25e-1}",
		"escapes":           `{"\u0061mount":"2\u002e50","n":2.5}`,
		"the desk's fields": `{"approval_id":"apr_1","amount":"2.50","idempotency_key":{"x":[1]},"n":2.5}`,
		"escaped field":     `{"approval\u005fid":"apr_1","amount":"2.50","n":2.5}`,
	}
	for name, arguments := range same {
		if digest("1000", "post", arguments) != first {
			t.Errorf("%s must not change the digest", name)
		}
	}
	for name, other := range map[string]string{
		"another amount":                    digest("1000", "post", `{"n":2.5,"amount":"2.5"}`),
		"another tool":                      digest("1000", "post2", `{"n":2.5,"amount":"2.50"}`),
		"another workspace":                 digest("2000", "post", `{"n":2.5,"amount":"2.50"}`),
		"one more argument":                 digest("1000", "post", `{"n":2.5,"amount":"2.50","x":null}`),
		"an approval_id deeper in the call": digest("1000", "post", `{"n":2.5,"amount":"2.50","o":{"approval_id":"a"}}`),
		"text for a number":                 digest("1000", "post", `{"n":"2.5","amount":"2.50"}`),
	} {
		if other == first {
			t.Errorf("%s must change the digest", name)
		}
	}
}

func TestDecimalsAreComparedExactly(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"250.0", "250.00", 0}, {"-0", "0", 0}, {"0.1", "0.10000000000000000001", -1}, {"-2", "-10", 1}, {"2", "-10", 1}, {"10", "9.999", 1},
		{"999999999999999999.99", "1000000000000000000", -1}, {"0", "0.01", -1}, {"0", "-0.01", 1}, {"1e2", "100", 0}, {"0012", "12", 0},
	} {
		if got := compareAmounts(c.a, c.b); got != c.want {
			t.Errorf("%s and %s: got %d, want %d", c.a, c.b, got, c.want)
		}
		if got := compareAmounts(c.b, c.a); got != -c.want {
			t.Errorf("%s and %s: got %d, want %d", c.b, c.a, got, -c.want)
		}
	}
}

// FuzzDecimal holds our decimals to math/big's.
func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"0", "-0.10", "123.4500", "1e3", "-7E-2", "00.1"} {
		f.Add(s, "1.5")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		if len(a) > 40 || len(b) > 40 || !jsontext.Value(a).IsValid() || !jsontext.Value(b).IsValid() {
			return
		}
		for _, s := range []string{a, b} {
			if i := strings.IndexAny(s, "eE"); i >= 0 {
				if e, err := strconv.Atoi(s[i+1:]); err != nil || e > 400 || e < -400 {
					return
				}
			}
		}
		x, okX := new(big.Rat).SetString(a)
		y, okY := new(big.Rat).SetString(b)
		_, isX := decimalOf(a)
		_, isY := decimalOf(b)
		if !okX || !okY || !isX || !isY {
			return
		}
		if got, want := compareAmounts(a, b), x.Cmp(y); got != want {
			t.Errorf("%s and %s: got %d, want %d", a, b, got, want)
		}
	})
}

// FuzzArguments checks what everything rests on: what passes the check has one digest however it is
// spelled, and reads as the same values.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1.50}`, `{"b":"\u00e9","a":[1e2,{"x":null}]}`, `{"approval_id":"x","z":"€"}`, `{"a":1e400}`, `{"a":1,"a":2}`, `{"a":"\ud800"}`,
		`{"\ue000":1,"\ud83d\ude00":2}`, `[]`, `{"a":-0}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		issues := CheckArguments(raw, "")
		canonical, err := CanonicalArguments(raw)
		if len(issues) > 0 {
			return
		}
		if err != nil {
			t.Fatalf("passed the check and cannot be digested: %v", err)
		}
		if more := CheckArguments(canonical, ""); len(more) > 0 {
			t.Fatalf("canonical form %s does not pass: %+v", canonical, more)
		}
		again, err := CanonicalArguments(canonical)
		if err != nil || !bytes.Equal(again, canonical) {
			t.Fatalf("canonical form is not stable: %s, then %s (%v)", canonical, again, err)
		}
		spaced := jsontext.Value(bytes.Clone(raw))
		if err := spaced.Indent(); err != nil {
			t.Fatal(err)
		}
		a, errA := Digest("1000", "post", raw)
		b, errB := Digest("1000", "post", json.RawMessage(spaced))
		if errA != nil || errB != nil || a != b {
			t.Fatalf("spelling changes the digest of %s", raw)
		}
	})
}
