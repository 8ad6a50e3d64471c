package approvals_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/apdesk/apdesk/approvals"
	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/models/modelstest"
)

func (d *desk) proof(by models.Principal, requestID string) approvals.Proof {
	d.t.Helper()
	p, err := d.svc.Proof(d.t.Context(), by, requestID)
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

// recomputed is the digest of a record as its own words say.
func recomputed(t *testing.T, p approvals.Proof) string {
	t.Helper()
	text, err := json.Marshal(map[string]any{"workspace": p.Workspace.ID, "tool": p.Call.Tool, "arguments": p.Call.Arguments})
	if err != nil {
		t.Fatal(err)
	}
	canonical := jsontext.Value(text)
	if err := canonical.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:])
}

func TestTheProofOfAnApprovalNamesEverybodyAndTheirAuthority(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		rule := d.rule(financeRule(2))
		id := d.request("robot", ask(t, "250.00")).RequestID
		clock.Advance(time.Minute)
		if _, err := d.svc.Vote(t.Context(), d.web("clara"), approvals.VoteInput{RequestID: id, Decision: models.VoteApprove, Version: 1}); err == nil {
			t.Fatal("the person responsible for the asking account could vote")
		}
		d.yes("fumiko", id)
		clock.Advance(time.Minute)
		d.yes("frank", id)
		got, err := d.svc.Get(t.Context(), d.mcp("robot"), id)
		if err != nil {
			t.Fatal(err)
		}
		clock.Advance(time.Minute)
		if _, err := d.redeem("sap", got.ApprovalID, "k1", arguments("250.00")); err != nil {
			t.Fatal(err)
		}
		if p := d.proof(d.web("audrey"), id); p.Approval.Outcome.Status != approvals.OutcomeAwaited || p.Approval.RedeemedBy.Name != "sap" {
			t.Errorf("before the report the outcome is %+v", p.Approval.Outcome)
		}
		clock.Advance(time.Minute)
		if _, err := d.svc.Report(t.Context(), d.mcp("sap"), got.ApprovalID, approvals.ReportInput{Status: approvals.ReportPosted, DocumentNumber: "5100001234"}, models.Idempotency{}); err != nil {
			t.Fatal(err)
		}
		if err := d.store.SealEvents(t.Context(), company); err != nil {
			t.Fatal(err)
		}

		p := d.proof(d.web("audrey"), id)
		if p.Schema != "apdesk.proof/1" || p.Workspace.TimeZone != "Europe/Berlin" || p.Request.Status != models.RequestApproved {
			t.Errorf("the record says of itself %+v %+v", p.Schema, p.Request)
		}
		if recomputed(t, p) != p.Digest.Value || p.Call.Hidden {
			t.Errorf("the digest %s cannot be recomputed from %s", p.Digest.Value, p.Call.Arguments)
		}
		if p.Request.AskedAt.Local != p.Request.AskedAt.UTC.In(time.FixedZone("", 2*3600)).Format(time.RFC3339) {
			t.Errorf("asked at %+v", p.Request.AskedAt)
		}
		if len(p.Askers) != 2 || p.Askers[0].Name != "robot" || p.Askers[0].Relation != "asked" || p.Askers[1].Name != "clara" || p.Askers[1].Relation != "responsible" {
			t.Errorf("askers are %+v", p.Askers)
		}
		if p.Authority == nil || p.Authority.Rule.ID != rule.ID || p.Authority.Rule.To != "10000" || p.Authority.Required != 2 {
			t.Errorf("the rule is %+v", p.Authority)
		}
		if len(p.Votes) != 2 || p.Votes[0].Name != "fumiko" || p.Votes[1].Name != "frank" {
			t.Fatalf("votes are %+v", p.Votes)
		}
		for _, v := range p.Votes {
			if v.Role != "finance_lead" || v.LimitAmount != "10000" || v.RuleVersion != 1 || v.Channel != models.ChannelWeb || v.Step < 1 {
				t.Errorf("%s voted with %+v", v.Name, v)
			}
		}
		if a := p.Approval; a.Status != models.ApprovalRedeemed || a.Outcome.DocumentNumber != "5100001234" || strings.Contains(a.MaskedID, got.ApprovalID) {
			t.Errorf("the approval is %+v", a)
		}
		if len(p.Refused) != 1 || p.Refused[0].Actor.Name != "clara" || p.Refused[0].Why == "" {
			t.Errorf("refused attempts are %+v", p.Refused)
		}
		for i, e := range p.Events {
			if e.Seq == nil || e.Hash == nil || e.PrevHash == nil {
				t.Errorf("%s is not sealed", e.Action)
			} else if i > 0 && *e.Seq <= *p.Events[i-1].Seq {
				t.Errorf("%s stands before %s in the chain", e.Action, p.Events[i-1].Action)
			}
		}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), got.ApprovalID) {
			t.Error("the approval's id stands in its record")
		}
		if again := d.proof(d.mcp("robot"), id); recomputed(t, again) != p.Digest.Value {
			t.Error("the account that asked cannot check the digest")
		}
		if _, err := d.svc.Proof(t.Context(), d.mcp("other-robot"), id); !models.IsCode(err, models.NotFound) {
			t.Errorf("an account that did not ask is answered %v", err)
		}
	})
}

func TestThereIsAProofOfEveryEnd(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, clock *modelstest.Clock) {
		unrouted := d.request("robot", ask(t, "10.00")).RequestID
		d.rule(financeRule(1))
		rejected := d.request("robot", ask(t, "20.00")).RequestID
		if _, err := d.vote("fumiko", rejected, models.VoteReject, "Not ours."); err != nil {
			t.Fatal(err)
		}
		withdrawn := d.request("robot", ask(t, "30.00")).RequestID
		if _, err := d.svc.WithdrawRequest(t.Context(), d.mcp("robot"), approvals.WithdrawInput{RequestID: withdrawn, Reason: "No longer needed."}); err != nil {
			t.Fatal(err)
		}
		revoked, _ := d.approved(ask(t, "40.00"))
		if _, err := d.svc.RevokeApproval(t.Context(), d.web("fumiko"), approvals.RevokeInput{RequestID: revoked, Reason: "I looked at the wrong invoice."}); err != nil {
			t.Fatal(err)
		}
		pending := d.request("robot", ask(t, "50.00")).RequestID
		audrey := d.web("audrey")
		if p := d.proof(audrey, unrouted); p.Request.Status != models.RequestUnrouted || p.Authority != nil || p.Request.Reason == "" || p.Approval != nil {
			t.Errorf("unrouted: %+v", p.Request)
		}
		if p := d.proof(audrey, rejected); p.Request.Status != models.RequestRejected || p.Votes[0].Reason != "Not ours." || p.Request.DecidedAt == nil {
			t.Errorf("rejected: %+v %+v", p.Request, p.Votes)
		}
		if p := d.proof(audrey, withdrawn); p.Request.Status != models.RequestWithdrawn || p.Request.Reason != "No longer needed." {
			t.Errorf("withdrawn: %+v", p.Request)
		}
		if p := d.proof(audrey, revoked); p.Approval.Status != models.ApprovalRevoked || p.Approval.RevokedBy != "fumiko" || p.Approval.RevokeReason == "" || p.Approval.Outcome != nil {
			t.Errorf("revoked: %+v", p.Approval)
		}
		clock.Advance(30 * day)
		before := len(d.proof(audrey, pending).Events)
		if p := d.proof(audrey, pending); p.Request.Status != models.RequestExpired || len(p.Votes) != 0 || p.Request.DecidedAt != nil || len(p.Events) != before {
			t.Errorf("expired: %+v", p.Request)
		}
	})
}

// Bank data in a call is for those who judge it; everybody else may still know that the call was approved.
func TestAProofHidesBankDataFromThoseItIsNotFor(t *testing.T) {
	onBoth(t, func(t *testing.T, d *desk, _ *modelstest.Clock) {
		d.rule(financeRule(1))
		in := ask(t, "250.00", func(in *approvals.RequestInput) {
			in.Action.Arguments = json.RawMessage(`{"invoice_id":"5105600123","supplier_id":"V-2001","amount":"250.00","currency":"EUR","posting_date":"2026-10-05",
				"payee":{"iban":"DE02120300000000202051","lines":[1.5]},"text":"to DE02120300000000202051"}`)
			in.Summary = "Pay to DE02120300000000202051."
		})
		id, _ := d.approved(in)
		for name, may := range map[string]bool{"audrey": true, "fumiko": true, "lars": false, "adam": false} {
			p := d.proof(d.web(name), id)
			text, err := json.Marshal(p)
			if err != nil {
				t.Fatal(err)
			}
			if shown := strings.Contains(string(text), "DE0212"); shown != may || p.Call.Hidden == may {
				t.Errorf("%s reads %s", name, text)
			}
			if (recomputed(t, p) == p.Digest.Value) != may {
				t.Errorf("%s: hidden is %v, and the digest says otherwise", name, p.Call.Hidden)
			}
		}
		if p := d.proof(d.mcp("robot"), id); p.Call.Hidden {
			t.Error("the account that sent the call does not see all of it")
		}
	})
}

func TestEveryFieldOfAProofIsDescribed(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/proof.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[reflect.Type]bool{}
	var walk func(typ reflect.Type)
	walk = func(typ reflect.Type) {
		for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || seen[typ] || typ == reflect.TypeFor[models.Time]() || typ == reflect.TypeFor[models.Date]() {
			return
		}
		seen[typ] = true
		for i := range typ.NumField() {
			f := typ.Field(i)
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name != "" && name != "-" && !strings.Contains(string(text), "`"+name+"`") && !strings.Contains(string(text), `"`+name+`"`) {
				t.Errorf("docs/proof.md does not describe %s of %s", name, typ.Name())
			}
			walk(f.Type)
		}
	}
	walk(reflect.TypeFor[approvals.Proof]())
}
