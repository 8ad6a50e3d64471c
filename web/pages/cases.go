package pages

import (
	"net/http"
	"strings"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

// goToCase enters the workspace that holds the case.
func (v *visit) goToCase(id string) error {
	return v.find(func() error {
		_, err := v.p.queue.Get(v.ctx, v.by, id)
		return err
	})
}

// showCase is GET /cases/{id}. Looking claims nothing.
func (v *visit) showCase() error {
	return v.renderCase(v.param("id"), http.StatusOK, caseForm{})
}

// onCase runs one act on a case in the workspace that holds it, and goes back to its page. An act that
// came too late shows the page as it is now, with who was faster.
func (v *visit) onCase(message string, act func(id string) error) error {
	id := v.param("id")
	if err := v.goToCase(id); err != nil {
		return err
	}
	err := act(id)
	if models.IsCode(err, models.Conflict) {
		return v.renderCase(id, http.StatusConflict, caseForm{late: asNamed(err)})
	}
	if err != nil {
		return err
	}
	v.p.say(v.c, message)
	return v.backTo(caseURL(id))
}

// claimCase is POST /cases/{id}/claim.
func (v *visit) claimCase() error {
	return v.onCase("claimed", func(id string) error {
		_, err := v.p.queue.Claim(v.ctx, v.by, id)
		return err
	})
}

// releaseCase is POST /cases/{id}/release.
func (v *visit) releaseCase() error {
	return v.onCase("released", func(id string) error {
		_, err := v.p.queue.Release(v.ctx, v.by, id)
		return err
	})
}

// takeOverCase is POST /cases/{id}/take-over.
func (v *visit) takeOverCase() error {
	return v.onCase("taken_over", func(id string) error {
		_, err := v.p.queue.TakeOver(v.ctx, v.by, id)
		return err
	})
}

// commentCase is POST /cases/{id}/comments.
func (v *visit) commentCase() error {
	id, typed := v.param("id"), v.typed("text", "mention")
	if err := v.goToCase(id); err != nil {
		return err
	}
	text, err := v.withMention(typed["text"], typed["mention"])
	if err == nil {
		err = v.p.queue.AddComment(v.ctx, v.by, id, text)
	}
	if err == nil {
		v.sent(id, formComment)
		v.p.say(v.c, "commented")
		return v.backTo(caseURL(id))
	}
	r, ok := v.refuse(err, formComment, v.tr("The comment was not added"), typed, nil)
	if !ok {
		return err
	}
	return v.renderCase(id, formStatus(err), caseForm{comment: r})
}

// decideCase is POST /cases/{id}/decision, and POST /cases/{id} for who posts to the page itself.
func (v *visit) decideCase() error {
	id := v.param("id")
	var before queue.CaseView
	err := v.find(func() error {
		var err error
		before, err = v.p.queue.Get(v.ctx, v.by, id)
		return err
	})
	if err != nil {
		return err
	}
	typed := v.typed("exit", "reason", "version")
	input, issues := v.inputs()
	in := queue.DecideInput{CaseID: id, Exit: typed["exit"], Reason: typed["reason"], Input: input, Proposed: v.proposed(typed)}
	for name, value := range in.Input {
		typed["input."+name] = value
		if queue.AsksAmount(name) {
			input[name] = v.lang.ReadFigures(value)
		}
	}
	var missing []models.Issue
	in.Version, missing = version(typed["version"])
	err = invalid(append(issues, missing...))
	if err == nil {
		var after queue.CaseView
		if after, err = v.p.queue.Decide(v.ctx, v.by, in); err == nil {
			v.sent(id, formDecision)
			return v.goOn(decidedWords(after), id, string(v.link(queueURL(before.Queue))))
		}
	}
	form := caseForm{exit: in.Exit}
	if models.IsCode(err, models.Conflict) || models.IsCode(err, models.InsufficientPermission) {
		form.late, form.typed, form.since = asNamed(err), typed, typed["version"]
		v.keepTyped(id, formDecision)
		return v.renderCase(id, statusOf(err), form)
	}
	r, ok := v.refuse(err, formDecision, v.tr("The case was not decided"), typed, nil)
	if !ok {
		return err
	}
	if r.problems["exit"] != "" && in.Exit == "" {
		r.problems["exit"] = v.tr("choose what should happen")
	}
	form.decision, form.typed = r, typed
	return v.renderCase(id, formStatus(err), form)
}

// inputs are the fields input.<name> of the form. A browser without script sends those of every exit,
// so a name may come once for each: empty ones count as not sent, and two different values are an
// issue, since nobody can tell which one was meant.
func (v *visit) inputs() (map[string]string, []models.Issue) {
	values := map[string]string{}
	var issues []models.Issue
	for _, f := range posted(v.c) {
		name, ok := strings.CutPrefix(f.name, "input.")
		text := trimmed(f.value)
		switch {
		case !ok:
		case values[name] == "":
			values[name] = text
		case text != "" && text != values[name]:
			issues = append(issues, models.Issue{Path: "/input/" + name, Message: "is filled in twice with different values; leave it empty where it is not meant"})
		}
	}
	return values, issues
}

// decidedWords is the message after a decision.
func decidedWords(after queue.CaseView) string {
	switch {
	case after.Status == models.CaseHeld:
		return "held"
	case after.Instruction != nil && after.Instruction.Question != "":
		return "asked"
	case after.Status == models.CaseOpen:
		return "moved"
	}
	return "decided"
}
