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
}

// tellSettings puts a change of the workspace's settings, or of the desk itself, into words.
func (w words) tellSettings(e models.AuditEvent) told {
	var d settingsEvent
	_ = json.Unmarshal([]byte(e.Data), &d) // an event the page cannot read is told without its facts
	rule := shortID(e.Subject)
	switch e.Action {
	case "workspace.created":
		return told{what: "created the workspace", details: pairs("Name", d.Name)}
	case "period.moved":
		return told{what: "moved the date through which the books are closed", words: d.Reason, details: pairs("Before", w.periodText(d.Before), "Now", w.periodText(d.After))}
	case "period.reopened_over":
		return told{what: "told the finance leads that the time for which the books were reopened is over"}
	case "hours.changed":
		return told{what: "changed the opening hours", details: pairs("Before", w.hoursText(d.Before), "Now", w.hoursText(d.After))}
	case "sla.changed":
		return told{what: "changed how long " + w.said(d.Queue.Title()) + " has for a case", details: pairs("Before", w.hoursText(d.Before), "Now", w.hoursText(d.After))}
	case "holidays.added":
		return told{what: "added holidays", details: pairs("Days", w.daysText(d.Days))}
	case "holiday.removed":
		return told{what: "removed the holiday " + w.dateText(d.Day)}
	case "binding.set":
		return told{what: "stated where " + orSome(d.Tool, "a tool") + " carries its values"}
	case "rule.created", "rule.added":
		return told{what: "added rule " + rule + " to the matrix"}
	case "rule.changed", "rule.edited", "rule.replaced":
		return told{what: "changed rule " + rule + " of the matrix"}
	case "rule.retired":
		return told{what: "retired rule " + rule + " of the matrix"}
	case "rules.imported":
		return told{what: "imported rules into the matrix"}
	case "server_rule.added":
		return told{what: "said who confirms calls of a server", details: pairs("Server", orSome(d.ServerName, d.Server), "Tool", d.Tool, "Who answers", w.roleWords(string(d.Role)))}
	case "server_rule.retired":
		return told{what: "retired a rule about who confirms calls of a server", details: pairs("Server", d.Server, "Tool", d.Tool)}
	case "erp_link.set":
		return told{what: "changed where invoices are found in the ERP"}
	case "backup.made":
		return told{what: "backed the desk up"}
	case "handover.refused":
		return told{what: "handed over what needs no person, and was told what to do instead", details: pairs("Why", d.Message)}
	case "security.blocked":
		return told{what: "blocked " + orSome(d.Action, "an action") + " " + w.channel(d.Channel)}
	case "security.unblocked":
		return told{what: "allowed " + orSome(d.Action, "an action") + " again " + w.channel(d.Channel)}
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
	return "open"
}
