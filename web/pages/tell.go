package pages

import (
	"encoding/json"
	"strings"

	"github.com/apdesk/apdesk/models"
)

// plainWords are the words of an action that has no others.
func plainWords(action string) string { return strings.NewReplacer(".", " ", "_", " ").Replace(action) }

// plainTold tells an event that has no words of its own.
func (w words) plainTold(e models.AuditEvent, d eventData) told {
	return told{what: plainWords(e.Action), words: d.Reason}
}

// settingsEvent is what the desk writes beside a change of a workspace's settings.
type settingsEvent struct {
	Name       string         `json:"name"`
	Tool       string         `json:"tool"`
	Action     string         `json:"action"`
	Channel    models.Channel `json:"channel"`
	Server     string         `json:"server"`
	ServerName string         `json:"server_name"`
	Role       models.Role    `json:"role"`
	Day        string         `json:"day"`
	Days       []string       `json:"days"`
	From       string         `json:"from"`
	To         string         `json:"to"`
	Queue      models.Queue   `json:"queue"`
	Before     any            `json:"before"`
	After      any            `json:"after"`
	Reason     string         `json:"reason"`
	Message    string         `json:"message"`
	Currency   string         `json:"currency"`
	Required   bool           `json:"required"`
}

// tellSettings puts a change of the workspace's settings, or of the desk itself, into words.
func (w words) tellSettings(e models.AuditEvent) told {
	var d settingsEvent
	_ = json.Unmarshal([]byte(e.Data), &d) // an event the page cannot read is told without its facts
	rule := shortID(e.Subject)
	switch e.Action {
	case "workspace.created":
		return told{what: w.tr("created the workspace"), details: pairs(w.tr("Name"), d.Name)}
	case "period.moved":
		return told{what: w.tr("moved the date through which the books are closed"), words: d.Reason, details: pairs(w.tr("Before"), w.periodText(d.Before), w.tr("Now"), w.periodText(d.After))}
	case "period.reopened_over":
		return told{what: w.tr("told the finance leads that the time for which the books were reopened is over")}
	case "step_up.set":
		return told{what: w.tr("changed above which amount an approval asks again who one is"), details: pairs(w.tr("Currency"), d.Currency, w.tr("Before"), plainText(d.Before), w.tr("Now"), plainText(d.After))}
	case "second_factor.set":
		if d.Required {
			return told{what: w.tr("asked everybody who decides for a passkey")}
		}
		return told{what: w.tr("left it to everybody whether they use a passkey")}
	case "hours.changed":
		return told{what: w.tr("changed the opening hours"), details: pairs(w.tr("Before"), w.hoursText(d.Before), w.tr("Now"), w.hoursText(d.After))}
	case "sla.changed":
		return told{what: w.tr("changed how long %s has for a case", w.queue(d.Queue)), details: pairs(w.tr("Before"), w.hoursText(d.Before), w.tr("Now"), w.hoursText(d.After))}
	case "holidays.added":
		return told{what: w.tr("added holidays"), details: pairs(w.tr("Days"), w.daysText(d.Days))}
	case "holiday.removed":
		return told{what: w.tr("removed the holiday %s", w.dateText(d.Day))}
	case "binding.removed":
		return told{what: w.tr("took back where %s carries its values", orSome(d.Tool, w.tr("a tool")))}
	case "binding.set":
		return told{what: w.tr("stated where %s carries its values", orSome(d.Tool, w.tr("a tool")))}
	case "rule.created", "rule.added":
		return told{what: w.tr("added rule %s to the matrix", rule)}
	case "rule.changed", "rule.edited", "rule.replaced":
		return told{what: w.tr("changed rule %s of the matrix", rule)}
	case "rule.retired":
		return told{what: w.tr("retired rule %s of the matrix", rule)}
	case "rules.imported":
		return told{what: w.tr("imported rules into the matrix")}
	case "server_rule.added":
		return told{what: w.tr("said who confirms calls of a server"), details: pairs(w.tr("Server"), orSome(d.ServerName, d.Server), w.tr("Tool"), d.Tool, w.tr("Who answers"), w.roleWords(string(d.Role)))}
	case "server_rule.retired":
		return told{what: w.tr("retired a rule about who confirms calls of a server"), details: pairs(w.tr("Server"), d.Server, w.tr("Tool"), d.Tool)}
	case "erp_link.set":
		return told{what: w.tr("changed where invoices are found in the ERP")}
	case "backup.made":
		return told{what: w.tr("backed the desk up")}
	case "handover.refused":
		return told{what: w.tr("handed over what needs no person, and was told what to do instead"), details: pairs(w.tr("Why"), w.said(d.Message))}
	case "security.blocked":
		return told{what: w.tr("blocked %s %s", orSome(d.Action, w.tr("an action")), w.channel(d.Channel))}
	case "security.unblocked":
		return told{what: w.tr("allowed %s again %s", orSome(d.Action, w.tr("an action")), w.channel(d.Channel))}
	}
	return w.plainTold(e, eventData{Reason: d.Reason})
}

func (w words) daysText(days []string) string {
	texts := make([]string, len(days))
	for i, day := range days {
		texts[i] = w.dateText(day)
	}
	return w.list(texts)
}

// periodText is the date through which the books are closed.
func (w words) periodText(v any) string {
	if text, ok := v.(string); ok && text != "" {
		return w.dateText(text)
	}
	return w.trc("books", "open")
}

// plainText is a value of an event that is text; "" for any other.
func plainText(value any) string {
	text, _ := value.(string)
	return text
}
