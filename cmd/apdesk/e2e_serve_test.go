package main_test

import (
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"

	"github.com/apdesk/apdesk/models/modelstest"
)

// metric reads one line of /metrics, "" when it is not there.
func (d *desk) metric(t testing.TB, name string) string {
	t.Helper()
	res, err := http.Get(d.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(all)) {
		if value, found := strings.CutPrefix(line, name+" "); found {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

func TestAStoppingDeskAnswersWhoeverWaits(t *testing.T) {
	t.Parallel()
	c := open(t, sqliteFile(t))
	id := c.as(c.agent).handOver(t, poClosed(1))
	waiting := c.waits(t, "/cases/"+id)
	petras := c.signIn(t, petra)
	address := petras.get(t, "/queues/procurement").doc.Find("body").AttrOr("data-live", "")
	live, err := petras.http.Get(c.url + address)
	if err != nil || live.StatusCode != http.StatusOK {
		t.Fatalf("the page's live stream %q: %v, %v", address, live, err)
	}
	defer live.Body.Close()
	eventually(t, "the wait has reached the desk", func() bool { return c.metric(t, `apdesk_waits{channel="api"}`) == "1" })

	if err := c.stop(); err != nil {
		t.Errorf("the desk ended with %v\n%s", err, c.log)
	}
	if got := waiting(); got.status != http.StatusOK || got.text("case_id") != id {
		t.Errorf("whoever waited got %s, want the case as it is", got)
	}
	if _, err := io.Copy(io.Discard, live.Body); err != nil {
		t.Errorf("the live stream broke off: %v", err)
	}
}

// TestAFlowGoesOnAtAnyReplica takes every step of one approval at another desk
// than the step before, and restarts each desk after its step.
func TestAFlowGoesOnAtAnyReplica(t *testing.T) {
	t.Parallel()
	c := open(t, modelstest.PostgresURL(t))
	desks := c.both(t)
	step := 0
	at := func() *desk {
		d := desks[step%2]
		if step > 1 {
			d.kill()
			d.start()
		}
		step++
		return d
	}
	inv := invoice(1, "15000.00")
	request := at().as(c.agent).ask(t, approvalOf(inv))
	at().signIn(t, fiona).vote(t, request, "approve")
	if got := at().as(c.agent).get(t, "/approval-requests/"+request); got.text("status") != "pending" {
		t.Fatalf("after one of two votes the agent reads %s", got)
	}
	at().signIn(t, felix).vote(t, request, "approve")
	approval := at().as(c.agent).get(t, "/approval-requests/"+request).text("approval_id")
	call := posting(inv)
	call["idempotency_key"] = "once"
	spent := at().as(c.erp).post(t, "/approvals/"+approval+"/redeem", call)
	if spent.status != http.StatusOK {
		t.Fatalf("the redeem is answered with %s", spent)
	}
	again := at().as(c.erp).post(t, "/approvals/"+approval+"/redeem", call)
	if again.status != http.StatusOK || again.text("redeemed_at") != spent.text("redeemed_at") {
		t.Errorf("the same redeem at the other desk is answered with %s, want %s", again, spent)
	}
	if got := at().as(c.erp).post(t, "/approvals/"+approval+"/report", object{"status": "posted", "document_number": "19"}); got.status != http.StatusOK {
		t.Errorf("the report is answered with %s", got)
	}
}

// TestASessionSurvivesARestart: cookies are sealed with the key, not with
// something the process made up.
func TestASessionSurvivesARestart(t *testing.T) {
	t.Parallel()
	c := open(t, sqliteFile(t))
	petras := c.signIn(t, petra)
	id := c.as(c.agent).handOver(t, poClosed(1))
	before := petras.get(t, "/cases/"+id)
	c.kill()
	c.start()
	after := petras.send(t, before, "decision-form", url.Values{"exit": {"reopen_po"}, "reason": {"Reopened."}})
	if after.status != http.StatusOK || c.as(c.agent).get(t, "/cases/"+id).text("status") != "resolved" {
		t.Errorf("a form opened before the restart is answered with %d: %s", after.status, after.all())
	}
}

// TestAnotherSiteCannotDecide tells the attack: a page elsewhere lets the
// browser of somebody who is signed in post the decision form.
func TestAnotherSiteCannotDecide(t *testing.T) {
	t.Parallel()
	c := open(t, sqliteFile(t))
	petras := c.signIn(t, petra)
	id := c.as(c.agent).handOver(t, poClosed(1))
	seen := petras.get(t, "/cases/"+id)
	action := seen.doc.Find("[data-testid=decision-form]").AttrOr("action", "")
	version := seen.doc.Find("[data-testid=decision-form] [name=version]").AttrOr("value", "")
	for name, csrf := range map[string]string{"no token": "", "a guessed token": "AAAAAAAAAAAAAAAAAAAAAA", "another person's token": c.signIn(t, paul).get(t, "/cases/"+id).doc.Find("[name=csrf_token]").First().AttrOr("value", "")} {
		got, err := petras.try(t.Context(), http.MethodPost, action, url.Values{"exit": {"reopen_po"}, "reason": {"ha"}, "version": {version}, "csrf_token": {csrf}})
		if err != nil {
			t.Fatal(err)
		}
		if got.status != http.StatusForbidden {
			t.Errorf("with %s the form is answered with %d, want 403", name, got.status)
		}
	}
	// A link, opened by a mail scanner with the person's cookie, decides nothing.
	petras.get(t, action+"?exit=reopen_po&reason=ha&version="+version)
	if got := c.as(c.agent).get(t, "/cases/"+id); got.text("status") != "open" || got.body["claimed_by"] != nil {
		t.Errorf("the case is %s, want it untouched", got)
	}
}

// TestTheDemoDoesWhatItsDataSetSays runs "apdesk demo --fast", in which scripted
// people decide through the same forms, and which fails unless every invoice
// ended as its data set says.
func TestTheDemoDoesWhatItsDataSetSays(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(program(t), "demo", "--fast", "--dir", t.TempDir(), "--addr", freeAddress(t), "--mcp-addr", freeAddress(t))
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v\n%s", err, said.String())
	}
	for _, wanted := range []string{"INVOICE", "DECIDED BY", "PO_CLOSED", "DUPLICATE_INVOICE", "APPROVER_NOT_FOUND", "PERIOD_CLOSED", "GR_MISSING", "TOLERANCE_EXCEEDED", "APPROVAL_MISSING", "ended as expected"} {
		if !strings.Contains(said.String(), wanted) {
			t.Errorf("the demo's table lacks %s:\n%s", wanted, said.String())
		}
	}
}

// What a desk holds is small, so it is collected less often than a program usually is.
func TestADeskIsCollectedLessOften(t *testing.T) {
	t.Parallel()
	d := startDesk(t, sqliteFile(t))
	if got := d.metric(t, "go_gc_gogc_percent"); got != "400" {
		t.Errorf("the heap grows by %q percent before it is collected", got)
	}
}
