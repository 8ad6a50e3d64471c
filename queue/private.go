package queue

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"github.com/apdesk/apdesk/models"
)

// Hidden stands where tax or bank data is not for the reader.
const Hidden = "(hidden)"

// privateNames are members of an object, or columns of a table, that hold tax or bank data; compared
// in lower case, letters only.
var privateNames = []string{"taxid", "taxnumber", "vatid", "vatnumber", "bankaccount", "bankaccounts", "accountnumber", "iban", "bic", "swift", "sortcode",
	"routingnumber", "bank", "bankdata", "bankdetails", "bankname", "bankkey"}

func isPrivate(name string) bool {
	plain := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, name)
	if slices.Contains(privateNames, plain) {
		return true
	}
	// old_iban, supplier_tax_id, bank_account_on_invoice
	for _, p := range []string{"taxid", "vatid", "bankaccount", "iban"} {
		if strings.HasPrefix(plain, p) || strings.HasSuffix(plain, p) {
			return true
		}
	}
	return false
}

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
	case map[string]any:
		for name, value := range v {
			if isPrivate(name) {
				h.keep(value)
			}
			h.learn(value)
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
	case map[string]any:
		for _, value := range v {
			h.keep(value)
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
	case map[string]any:
		for name, value := range v {
			if isPrivate(name) && value != nil {
				v[name] = Hidden
			} else {
				v[name] = h.value(value)
			}
		}
		h.columns(v)
		// A record given as name and value pairs.
		if name, ok := v["name"].(string); ok && isPrivate(name) && v["value"] != nil {
			v["value"] = Hidden
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
func (h *hider) columns(table map[string]any) {
	names, ok := table["columns"].([]any)
	rows, rowsOK := table["rows"].([]any)
	if !ok || !rowsOK {
		return
	}
	for i, n := range names {
		name, ok := n.(string)
		if !ok || !isPrivate(name) {
			continue
		}
		for _, row := range rows {
			if cells, ok := row.([]any); ok && i < len(cells) {
				cells[i] = Hidden
			}
		}
	}
}

func decodeAny(raw json.RawMessage) (any, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, false
	}
	return v, true
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
		if text, err := json.Marshal(h.value(v)); err == nil {
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
	h := &hider{}
	h.learnRaw(invoice)
	return h.raw(invoice)
}
