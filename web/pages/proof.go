package pages

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/a-h/templ"
	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/views"
	"github.com/apdesk/apdesk/views/lang"
	"github.com/apdesk/apdesk/views/ui"
)

func mountProof(get, _ route) {
	get("/approvals/:id/proof", (*visit).showProof)
	get("/approvals/:id/proof.json", (*visit).proofJSON)
}

func proofURL(requestID string) templ.SafeURL { return requestURL(requestID) + "/proof" }

// drawProof draws the record of a request in the workspace that holds it.
func (v *visit) drawProof() (approvals.Proof, error) {
	var p approvals.Proof
	err := v.find(func() error {
		var err error
		p, err = v.p.approvals.Proof(v.ctx, v.by, v.param("id"))
		return err
	})
	return p, err
}

// proofJSON is GET /approvals/{request_id}/proof.json.
func (v *visit) proofJSON() error {
	p, err := v.drawProof()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(p, "", "  ")
	if err != nil {
		return fmt.Errorf("pages: proof: %w", err)
	}
	v.c.Set(fiber.HeaderContentType, "application/json; charset=utf-8")
	v.c.Set(fiber.HeaderCacheControl, "no-store")
	v.c.Set(fiber.HeaderContentDisposition, `attachment; filename="`+fileName("apdesk proof "+p.Request.ID)+`.json"`)
	return v.c.Send(append(text, '\n'))
}

// fileName is a text that every system takes as the name of a file.
func fileName(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)) || r == '_' || r == '-' || r == ' ':
			return r
		}
		return '-'
	}, s), " -")
}

// trailShown is how many lines of the trail stand on the printed page; the JSON record has all.
const trailShown = 60

// showProof is GET /approvals/{request_id}/proof.
func (v *visit) showProof() error {
	p, err := v.drawProof()
	if err != nil {
		return err
	}
	number := orSome(p.Invoice.Number, p.Invoice.ID)
	around, err := v.page(fileName(v.tr("Proof")+" "+p.Request.ID+" "+number), proofURL(p.Request.ID), "")
	if err != nil {
		return err
	}
	r := v.reader()
	r.bankData = true // what is not for the reader was taken out when the record was drawn
	arguments, _ := r.value(p.Call.Arguments)
	out := views.ProofPage{Page: around, ID: p.Request.ID, BackURL: withFrom(requestURL(p.Request.ID), v.from()), JSONURL: proofURL(p.Request.ID) + ".json", State: v.requestState(v.proofState(p)),
		Issuer: p.Workspace.ID + " · " + p.Workspace.Name, MadeAt: v.both(p.MadeAt), Amount: v.figures(p.Amount, p.Currency), Currency: p.Currency,
		Sentence: v.writeInWords(p.Call.Tool, p.Invoice.ID, p.Invoice.SupplierID, p.Amount, p.Currency, p.Request.PostingDate.String()),
		Tool:     ui.Foreign(p.Call.Tool), Arguments: arguments, Withheld: p.Call.Hidden, Digest: p.Digest.Value,
		HowDigest: v.tr("It is the SHA-256 of the RFC 8785 form of {workspace, tool, arguments}, arguments without top-level approval_id and idempotency_key."),
		Asked:     v.proofAsked(p), NoVotes: v.tr("Nobody voted."), Approval: v.proofApproval(p.Approval)}
	out.AuthorityHeading = v.tr("The rule, as it was")
	v.proofAuthority(p, &out)
	for _, vote := range p.Votes {
		out.Votes = append(out.Votes, v.proofVote(vote))
	}
	for _, e := range p.Refused {
		why := sentence(orSome(v.said(e.Why), e.Code))
		what := v.tr("tried to %s, refused: %s", strings.TrimSuffix(e.Action, ".refused"), why)
		if e.Action == "redeem.refused" {
			what = v.tr("tried to use the approval, refused: %s", why)
		}
		out.Refused = append(out.Refused, views.ProofLine{At: v.both(e.At), Channel: v.channel(e.Channel), Who: ui.Foreign(e.Actor.Name), What: ui.Foreign(what)})
	}
	shown := p.Events[:min(len(p.Events), trailShown)]
	for _, e := range shown {
		line := views.ProofEvent{Seq: v.tr("not sealed yet"), ID: e.ID, Action: e.Action, At: e.At.UTC.UTC().Format(time.DateTime), Who: ui.Foreign(e.Actor.Name)}
		if e.Seq != nil && e.Hash != nil {
			line.Seq, line.Hash = fmt.Sprint(*e.Seq), *e.Hash
		}
		out.Trail = append(out.Trail, line)
	}
	if left := len(p.Events) - len(shown); left > 0 || p.MoreEvents {
		out.MoreTrail = v.tr("%d more in the JSON record.", left)
		if p.MoreEvents {
			out.MoreTrail = v.tr("%d more in the JSON record, and others in the trail.", left)
		}
	}
	return render(v.c, http.StatusOK, views.ProofRecord(out))
}

// both is a moment in UTC and on the workspace's clocks.
func (w words) both(t approvals.ProofTime) string {
	utc, local := t.UTC.UTC(), t.UTC.In(w.zone)
	text := w.lang.Format(utc, lang.DaySecond) + " UTC"
	if utc.Format(time.DateTime) == local.Format(time.DateTime) {
		return text
	}
	form := "15:04:05"
	if utc.Format(time.DateOnly) != local.Format(time.DateOnly) {
		form = lang.DaySecond
	}
	return text + " (" + w.lang.Format(local, form) + " " + w.zone.String() + ")"
}

// bothOr is both for a moment that need not have come.
func (w words) bothOr(t *approvals.ProofTime) string {
	if t == nil {
		return ""
	}
	return w.both(*t)
}

func (w words) proofState(p approvals.Proof) requestFacts {
	f := requestFacts{status: p.Request.Status, expiresAt: p.Request.ExpiresAt.UTC, reason: p.Request.Reason}
	if p.Request.DecidedAt != nil {
		f.decidedAt = p.Request.DecidedAt.UTC
	}
	if p.Authority != nil {
		f.required = p.Authority.Required
	}
	for _, v := range p.Votes {
		if v.Decision == models.VoteApprove {
			f.yes++
		}
		if (v.Decision == models.VoteReject) == (f.status == models.RequestRejected) {
			f.by = append(f.by, w.voterInWords(v))
		}
	}
	if a := p.Approval; a != nil {
		f.approval, f.approvalExpires, f.revokeReason = a.Status, a.ExpiresAt.UTC, a.RevokeReason
		if a.RedeemedAt != nil {
			f.redeemedAt = a.RedeemedAt.UTC
		}
		if a.RevokedAt != nil {
			f.revokedAt = a.RevokedAt.UTC
		}
		if o := a.Outcome; o != nil && o.Status != approvals.OutcomeAwaited {
			f.report, f.document, f.message = approvals.ReportStatus(o.Status), o.DocumentNumber, o.Message
			if o.ReportedAt != nil {
				f.reportedAt = o.ReportedAt.UTC
			}
		}
	}
	return f
}

func (w words) voterInWords(v approvals.ProofVote) string {
	if v.OnBehalfOf == nil {
		return v.Name
	}
	return w.tr("%s on behalf of %s", v.Name, v.OnBehalfOf.Name)
}

// proofFacts are named facts, without the empty ones.
func proofFacts(labelled ...string) []views.ProofFact {
	var out []views.ProofFact
	for i := 0; i+1 < len(labelled); i += 2 {
		if labelled[i+1] != "" {
			out = append(out, views.ProofFact{Name: labelled[i], Value: ui.Foreign(labelled[i+1])})
		}
	}
	return out
}

func (v *visit) proofAsked(p approvals.Proof) []views.ProofFact {
	var asked, behind []string
	for _, a := range p.Askers {
		switch a.Relation {
		case "asked":
			who := a.Name
			if a.Kind == models.KindService {
				who = v.tr("%s (service account)", who)
			}
			asked = append(asked, who)
		case "responsible":
			behind = append(behind, v.tr("%s, responsible for the account", a.Name))
		default:
			behind = append(behind, v.tr("%s, who made its token", a.Name))
		}
	}
	q, inv := p.Request, p.Invoice
	number := inv.Number
	if inv.NumberNormalised != "" && inv.NumberNormalised != number {
		number = v.tr("%s (compared as %s)", number, inv.NumberNormalised)
	}
	supplier := strings.TrimSpace(inv.SupplierName + " " + inv.SupplierID)
	return proofFacts(v.tr("Asked by"), v.list(asked), v.tr("Stands behind"), v.list(behind), v.tr("Asked"), v.both(q.AskedAt)+", "+v.channel(q.Channel), v.trc("what is asked for", "For"), q.Summary,
		v.tr("Invoice"), inv.ID, v.tr("Invoice number"), number, v.tr("Supplier"), supplier, v.tr("Invoice total"), v.money(inv.Amount, inv.Currency), v.tr("PO"), inv.PoID,
		v.tr("Document type"), q.DocumentType, v.tr("Posting date"), v.date(q.PostingDate), v.tr("Cost centre"), q.CostCentre, v.tr("Case"), q.CaseID, v.tr("Run"), q.RunID,
		v.tr("Decided"), v.bothOr(q.DecidedAt), v.tr("Expiry"), v.expiryOf(q), v.tr("Reason"), v.kept(q.Reason), v.tr("Sent back with"), v.corrected(p.Call.Arguments, q.Instruction))
}

// expiryOf says when a request that nobody decided lapsed or lapses.
func (v *visit) expiryOf(q approvals.ProofRequest) string {
	if q.DecidedAt != nil {
		return ""
	}
	return v.both(q.ExpiresAt)
}

// corrected says what a call was sent back with.
func (w words) corrected(call json.RawMessage, in *models.Instruction) string {
	var parts []string
	for _, c := range approvals.CorrectedValues(call, in) {
		parts = append(parts, w.argumentLabel(c.Name)+": "+c.Value)
	}
	return strings.Join(parts, "; ")
}

func (v *visit) proofAuthority(p approvals.Proof, out *views.ProofPage) {
	a := p.Authority
	if a == nil {
		out.NoRule = v.tr("No rule of the matrix covered the request.")
		return
	}
	need := v.tr("one yes")
	if a.Required > 1 {
		need = v.tr("%d different people", a.Required)
	}
	out.Authority = proofFacts(v.tr("In words"), v.ruleInWords(a.Text), v.tr("Needed"), need)
	if a.Person != nil {
		who := a.Person.Name
		if a.NamedBy != nil {
			who = v.tr("%s, named by %s", who, a.NamedBy.Name)
		}
		out.Authority = append(out.Authority, proofFacts(v.tr("Named for this request only"), who)...)
	}
	for _, t := range a.TakenOut {
		who := v.tr("%s took out %s on %s", t.Name, v.ruleName(t.Rule.ID, t.Rule.Version), v.both(t.At))
		if t.What == approvals.RuleChanged {
			who = v.tr("%s changed %s on %s", t.Name, v.ruleName(t.Rule.ID, t.Rule.Version), v.both(t.At))
		}
		out.Authority = append(out.Authority, proofFacts(v.tr("Could not decide"), who+": "+v.ruleInWords(t.Text))...)
	}
	names := map[string]string{}
	for _, person := range a.People {
		names[person.UserID] = person.Name
	}
	if a.Rule != nil {
		out.RuleFacts = v.ruleFacts(*a.Rule, names)
	} else if a.Named != nil {
		out.RuleFacts = v.ruleFacts(*a.Named, names)
		out.RuleFacts[0].Name = v.tr("Limit from rule")
		out.AuthorityHeading = v.tr("The person named, and the rule their limit is from")
	}
}

// ruleFacts are the rule's copy in full.
func (v *visit) ruleFacts(c approvals.RuleCopy, names map[string]string) []views.ProofFact {
	named := func(ids []string) string {
		var people []string
		for _, id := range ids {
			people = append(people, orSome(names[id], id))
		}
		return v.list(people)
	}
	facts := []views.ProofFact{{Name: v.tr("Rule"), Value: ui.Foreign(c.ID), Code: true}}
	return append(facts, proofFacts(v.tr("Version"), fmt.Sprint(c.Version), v.tr("Amounts"), v.trc("amounts", "%s to %s", v.money(c.From, c.Currency), v.money(c.To, c.Currency)),
		v.tr("Role"), v.roleWords(string(c.Role)), v.tr("People"), named(c.People), v.tr("Then role"), v.roleWords(string(c.ThenRole)), v.tr("Then people"), named(c.ThenPeople), v.tr("Tool"), orSome(c.Tool, v.tr("any")), v.tr("Document type"), orSome(c.DocumentType, v.tr("any")), v.tr("Supplier"), orSome(c.Supplier, v.tr("any")),
		v.tr("Cost centre"), orSome(c.CostCentre, v.tr("any")), v.tr("An approval is good for"), v.span(c.Valid()), v.tr("Written by"), v.author(c.AuthorName),
		v.tr("Written"), v.both(approvals.ProofTime{UTC: c.CreatedAt}))...)
}

func (v *visit) proofVote(vote approvals.ProofVote) views.ProofVote {
	out := views.ProofVote{Answer: v.tr("Yes"), Who: ui.Foreign(vote.Name), Role: v.lower(v.role(models.Role(vote.Role))), Step: v.tr("Step %d", vote.Step),
		Limit: orSome(v.limitText(vote.LimitAmount, vote.Currency), v.tr("not recorded")), Rule: v.tr("Rule %s, version %d", vote.RuleID, vote.RuleVersion),
		Channel: v.channel(vote.Channel), At: v.both(vote.At), Reason: ui.Foreign(vote.Reason), HasReason: vote.Reason != ""}
	if vote.Decision == models.VoteReject {
		out.Answer = v.tr("No")
	}
	if vote.SecondStep {
		out.Second = v.tr("Second step: confirmed that the same call had been carried out before.")
	}
	if c := vote.Confirmed; c != nil {
		out.Confirmed = v.tr("Confirmed that it is them %s, %s.", v.factor(c.How), v.both(c.At))
	}
	if vote.OnBehalfOf != nil {
		text := v.tr("on behalf of %s", vote.OnBehalfOf.Name)
		if d := vote.Delegation; d != nil {
			text = v.tr("on behalf of %s (delegation %s, %s to %s, set by %s)", vote.OnBehalfOf.Name, d.ID, v.date(d.FirstDay), v.date(d.LastDay), d.SetBy)
		}
		out.OnBehalf = ui.Foreign(text)
	}
	return out
}

func (v *visit) proofApproval(a *approvals.ProofApproval) []views.ProofFact {
	if a == nil {
		return nil
	}
	facts := proofFacts(v.tr("Approval"), a.MaskedID, v.tr("State"), v.approvalBadge(a.Status).Text, v.tr("Granted"), v.both(a.GrantedAt), v.tr("Good until"), v.both(a.ExpiresAt))
	if a.RedeemedAt != nil {
		used := v.both(*a.RedeemedAt)
		if a.RedeemedBy != nil {
			used = v.trc("a moment", "%s by %s", used, a.RedeemedBy.Name)
		}
		facts = append(facts, proofFacts(v.tr("Used"), used)...)
	}
	if a.RevokedAt != nil {
		facts = append(facts, proofFacts(v.tr("Revoked"), v.trc("a moment", "%s by %s", v.both(*a.RevokedAt), a.RevokedBy), v.tr("Why"), v.kept(a.RevokeReason))...)
	}
	if o := a.Outcome; o != nil {
		words := map[string]string{approvals.OutcomeAwaited: v.tr("no report yet"), string(approvals.ReportPosted): v.tr("posted"), string(approvals.ReportFailed): v.tr("failed"),
			string(approvals.ReportOverdue): v.tr("no report came in time")}
		facts = append(facts, proofFacts(v.tr("Outcome"), words[o.Status], v.tr("Document number"), o.DocumentNumber, v.tr("Message"), o.Message, v.tr("Reported"), v.bothOr(o.ReportedAt))...)
	}
	return facts
}
