package ui

import "github.com/a-h/templ"

// fieldAttrs are the attributes every control of a Field shares.
func fieldAttrs(f Field) templ.Attributes {
	a := templ.Attributes{"id": f.DOMID(), "name": f.Name, "required": f.Required}
	if f.RequiredLater {
		a["data-required"] = true
	}
	if f.Kind != FieldCheckbox {
		a["class"] = "field__input"
	}
	if d := f.describedBy(); d != "" {
		a["aria-describedby"] = d
	}
	if f.Error != "" {
		a["aria-invalid"] = "true"
	}
	if f.Autocomplete != "" {
		a["autocomplete"] = f.Autocomplete
	}
	if f.Placeholder != "" {
		a["placeholder"] = f.Placeholder
	}
	if f.Min != "" {
		a["min"] = f.Min
	}
	if f.Max != "" {
		a["max"] = f.Max
	}
	if f.TestID != "" {
		a["data-testid"] = f.TestID
	}
	switch f.Kind {
	case FieldDecimal:
		a["inputmode"] = "decimal"
	case FieldWhole:
		a["inputmode"] = "numeric"
	case FieldURL:
		a["inputmode"] = "url"
		a["spellcheck"] = "false"
	}
	if f.Step != "" {
		a["step"] = f.Step
	}
	if f.Kind == FieldAmount {
		a["inputmode"] = "decimal"
		a["spellcheck"] = "false"
		a["class"] = "field__input field__input--amount"
	}
	return a
}
