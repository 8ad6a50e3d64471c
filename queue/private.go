package queue

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/models"
)

// Hidden stands where tax or bank data is not for the reader.
const Hidden = "(hidden)"

// seesPrivate says whether tax and bank data is for the principal: it is for master data, finance
// leads and auditors, and for the caller that sent it.
func seesPrivate(by models.Principal, filed bool) bool {
	if by.Has(models.RoleMasterData, models.RoleFinanceLead, models.RoleAuditor) {
		return true
	}
	return filed && by.Has(models.RoleAgent) && by.Channel != models.ChannelWeb
}

// hider hides private members, and their values wherever else they are repeated, also in free text.
type hider struct{ values []string }

// minRepeated is the length from which a private value is looked for in other text; shorter ones
// would hide what has nothing to do with it.
const minRepeated = 6

// learn remembers the values of private members.
func (h *hider) learn(v any) {
	switch v := v.(type) {
	case object:
		for _, m := range v {
			if models.IsPrivateName(m.name) {
				h.keep(m.value)
			}
			h.learn(m.value)
		}
	case []any:
		for _, value := range v {
			h.learn(value)
		}
	}
}

func (h *hider) keep(v any) {
	switch v := v.(type) {
	case string:
		if len(v) >= minRepeated && v != Hidden {
			h.values = append(h.values, v)
		}
	case object:
		for _, m := range v {
			h.keep(m.value)
		}
	case []any:
		for _, value := range v {
			h.keep(value)
		}
	}
}

func (h *hider) text(s string) string {
	for _, v := range h.values {
		s = strings.ReplaceAll(s, v, Hidden)
	}
	return s
}

func (h *hider) value(v any) any {
	switch v := v.(type) {
	case string:
		return h.text(v)
	case object:
		for i, m := range v {
			if models.IsPrivateName(m.name) && m.value != nil {
				v[i].value = Hidden
			} else {
				v[i].value = h.value(m.value)
			}
		}
		h.columns(v)
		// A record given as name and value pairs.
		if name, ok := v.get("name").(string); ok && models.IsPrivateName(name) {
			for i, m := range v {
				if m.name == "value" && m.value != nil {
					v[i].value = Hidden
				}
			}
		}
		return v
	case []any:
		for i, value := range v {
			v[i] = h.value(value)
		}
		return v
	}
	return v
}

// columns hides the cells of a table under private column names.
func (h *hider) columns(table object) {
	names, ok := table.get("columns").([]any)
	rows, rowsOK := table.get("rows").([]any)
	if !ok || !rowsOK {
		return
	}
	for i, n := range names {
		name, ok := n.(string)
		if !ok || !models.IsPrivateName(name) {
			continue
		}
		for _, row := range rows {
			if cells, ok := row.([]any); ok && i < len(cells) {
				cells[i] = Hidden
			}
		}
	}
}

// object is a JSON object whose members keep their order, which is part of how its author wanted it
// read.
type object []member

type member struct {
	name  string
	value any
}

func (o object) get(name string) any {
	for _, m := range o {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// MarshalJSON writes the members in their order.
func (o object) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			out.WriteByte(',')
		}
		name, err := plainJSON(m.name)
		if err != nil {
			return nil, err
		}
		value, err := plainJSON(m.value)
		if err != nil {
			return nil, err
		}
		out.Write(name)
		out.WriteByte(':')
		out.Write(value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// decodeAny reads JSON with the order of members and the digits of numbers as they are.
func decodeAny(raw json.RawMessage) (any, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	v, err := decodeNext(d)
	return v, err == nil
}

func decodeNext(d *json.Decoder) (any, error) {
	token, err := d.Token()
	if err != nil {
		return nil, err
	}
	switch token {
	case json.Delim('{'):
		o := object{}
		for d.More() {
			name, err := d.Token()
			if err != nil {
				return nil, err
			}
			value, err := decodeNext(d)
			if err != nil {
				return nil, err
			}
			text, _ := name.(string) // the decoder refuses any other name
			o = append(o, member{text, value})
		}
		_, err := d.Token()
		return o, err
	case json.Delim('['):
		items := []any{}
		for d.More() {
			value, err := decodeNext(d)
			if err != nil {
				return nil, err
			}
			items = append(items, value)
		}
		_, err := d.Token()
		return items, err
	}
	return token, nil
}

func (h *hider) learnRaw(raw json.RawMessage) {
	if v, ok := decodeAny(raw); ok {
		h.learn(v)
	}
}

// raw hides inside JSON. What cannot be read is hidden whole.
func (h *hider) raw(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return raw
	}
	if v, ok := decodeAny(raw); ok {
		if text, err := plainJSON(h.value(v)); err == nil {
			return text
		}
	}
	return json.RawMessage(`"` + Hidden + `"`)
}

// hidePrivate takes tax and bank data out of a case for readers it is not for.
func hidePrivate(v *CaseView) {
	h := &hider{}
	h.learnRaw(v.Invoice)
	for _, x := range v.Handovers {
		for _, raw := range x.Evidence {
			h.learnRaw(raw)
		}
		for _, e := range x.Errors {
			h.learnRaw(e.Arguments)
			h.learnRaw(e.Error.Details)
		}
		for _, c := range x.ProposedCalls {
			h.learnRaw(c.Arguments)
		}
	}
	v.Invoice = h.raw(v.Invoice)
	for i := range v.Handovers {
		x := &v.Handovers[i]
		x.Explanation, x.Answer = h.text(x.Explanation), h.text(x.Answer)
		if x.Suggestion != nil {
			x.Suggestion = &Suggestion{Exit: x.Suggestion.Exit, Why: h.text(x.Suggestion.Why)}
		}
		for j := range x.Evidence {
			x.Evidence[j] = h.raw(x.Evidence[j])
		}
		hideInErrors(h, x.Errors)
		for j := range x.ProposedCalls {
			x.ProposedCalls[j].Arguments = h.raw(x.ProposedCalls[j].Arguments)
		}
	}
}

func hideInErrors(h *hider, errs []models.SeenError) {
	for i := range errs {
		errs[i].Arguments = h.raw(errs[i].Arguments)
		errs[i].Error.Details = h.raw(errs[i].Error.Details)
		errs[i].Error.Message = h.text(errs[i].Error.Message)
	}
}

// hideInvoice hides inside one invoice alone, as lists show it.
func hideInvoice(invoice json.RawMessage) json.RawMessage {
	if !namesPrivate(invoice) {
		return invoice
	}
	h := &hider{}
	h.learnRaw(invoice)
	return h.raw(invoice)
}

// namesPrivate says whether anything in JSON could be tax or bank data, by any name or text in it; also of
// what cannot be read. Most invoices have none, and lists show many.
func namesPrivate(raw json.RawMessage) bool {
	d := jsontext.NewDecoder(bytes.NewReader(raw), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return !errors.Is(err, io.EOF)
		}
		if token.Kind() == '"' && models.IsPrivateName(token.String()) {
			return true
		}
	}
}

// plainJSON is JSON whose texts stand as they were sent: < stays <, since whoever shows it escapes it.
func plainJSON(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(out.Bytes()), nil
}
