package confirm

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/apdesk/apdesk/models"
)

// Path is where an issue of this field stands in a refused answer.
func (f Field) Path() string { return at("/content", f.FormName) }

// Preview is what would be answered with an accepted form, in words and in the order of the fields, or
// what is wrong with it. zone is where a time without one is meant.
func Preview(questions []Question, content map[string][]string, zone *time.Location) ([]AnswerValue, []models.Issue, error) {
	answers, issues := accepted(questions, content, zone)
	if len(issues) > 0 {
		return nil, issues, nil
	}
	var values []AnswerValue
	for _, q := range questions {
		if q.Form == nil {
			continue
		}
		for _, f := range q.Form.Fields {
			value, given := answers[q.Key].Content[f.Name]
			raw, err := json.Marshal(value)
			if err != nil {
				return nil, nil, fmt.Errorf("confirm: value of a field: %w", err)
			}
			shown := AnswerValue{Field: f, Given: given}
			if given {
				shown.Value = f.inWords(raw)
			}
			values = append(values, shown)
		}
	}
	return values, nil, nil
}
