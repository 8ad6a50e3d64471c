package approvals

import (
	"encoding/json"
	"testing"
)

// FuzzPointer: a pointer finds a value that is JSON itself, or nothing, in whatever arguments.
func FuzzPointer(f *testing.F) {
	f.Add(`{"a":{"b":[1,{"c":"x"}]},"":{"~":1}}`, "/a/b/1/c")
	f.Add(`{"a/b":1,"m~n":2}`, "/a~1b")
	f.Add(`[[1]]`, "/0/00")
	f.Add(`{"":1}`, "/")
	f.Add(`1`, "")
	f.Fuzz(func(t *testing.T, arguments, pointer string) {
		if !json.Valid([]byte(arguments)) {
			return
		}
		value, ok, err := at(json.RawMessage(arguments), pointer)
		if ok && (err != nil || !json.Valid(value)) {
			t.Errorf("%s in %s is %s, %v", pointer, arguments, value, err)
		}
		if again, okAgain, _ := at(json.RawMessage(arguments), pointer); okAgain != ok || string(again) != string(value) {
			t.Errorf("%s in %s is %s, then %s", pointer, arguments, value, again)
		}
	})
}
