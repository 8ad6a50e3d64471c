package queue

import (
	"encoding/json"
	"testing"
)

func TestHidingKeepsOrderAndDigits(t *testing.T) {
	t.Parallel()
	h := &hider{}
	in := json.RawMessage(`{"po":"45","amount":12345678901234567890.10,"iban":"DE02120300000000202051","lines":[{"z":1,"a":2.50}],"note":"pay to DE02120300000000202051","none":null,"empty":{},"list":[]}`)
	h.learnRaw(in)
	const want = `{"po":"45","amount":12345678901234567890.10,"iban":"(hidden)","lines":[{"z":1,"a":2.50}],"note":"pay to (hidden)","none":null,"empty":{},"list":[]}`
	if got := string(h.raw(in)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestHidingReachesTablesAndPairs(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"kind":"table","columns":["Name","IBAN"],"rows":[["x","DE1"],["y"]]}`: `{"kind":"table","columns":["Name","IBAN"],"rows":[["x","(hidden)"],["y"]]}`,
		`{"name":"tax id","value":"DE811"}`:                                     `{"name":"tax id","value":"(hidden)"}`,
		`{"old":{"supplier_tax_id":["a"]}}`:                                     `{"old":{"supplier_tax_id":"(hidden)"}}`,
		`{"broken"`:                                                             `"(hidden)"`,
	} {
		h := &hider{}
		h.learnRaw(json.RawMessage(in))
		if got := string(h.raw(json.RawMessage(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}
