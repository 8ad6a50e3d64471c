package queue_test

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/queue"
)

func pdf(name, text string) models.Upload {
	return models.Upload{Name: name, Open: func() (io.Reader, error) { return strings.NewReader("%PDF-1.7\n" + text), nil }}
}

func fileEvidence(id string) []json.RawMessage {
	return []json.RawMessage{json.RawMessage(`{"kind": "note", "text": "see the file"}`), json.RawMessage(`{"kind": "file", "title": "Scan", "file_id": "` + id + `"}`)}
}

func TestAnAgentsFileComesWithItsHandover(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		f, err := c.desk.UploadFile(t.Context(), c.agent, pdf("scan.pdf", "one"), "")
		must(t, err)
		if _, err := c.store.File(t.Context(), c.clara, f.ID); !models.IsCode(err, models.NotFound) {
			t.Errorf("a loose file is there for others: %v", err)
		}
		in := c.stop("i1", models.POClosed, `{}`)
		in.Evidence = fileEvidence(f.ID)
		id := c.file(in).CaseID
		seen, err := c.store.File(t.Context(), c.clara, f.ID)
		must(t, err)
		if seen.CaseID == nil || *seen.CaseID != id {
			t.Errorf("the file belongs to %v, not to %s", seen.CaseID, id)
		}
		for _, stranger := range []models.Principal{c.stranger, c.other, c.erp} {
			if _, err := c.store.File(t.Context(), stranger, f.ID); !models.IsCode(err, models.NotFound) {
				t.Errorf("%s is answered %v", stranger.UserName, err)
			}
		}
		if got := c.actions(id); !slices.Contains(got, "file.attached") {
			t.Errorf("the trail says %v", got)
		}
		c.clock.Advance(48 * time.Hour)
		c.runJobs()
		_, err = models.NewWorker(c.store, nil, models.HouseKeeping()).RunDue(t.Context())
		must(t, err)
		_, err = c.store.File(t.Context(), c.clara, f.ID)
		must(t, err)
	})
}

func TestEvidenceNamesOnlyOnesOwnFiles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		theirs, err := c.desk.UploadFile(t.Context(), c.other, pdf("scan.pdf", "theirs"), "")
		must(t, err)
		for _, id := range []string{theirs.ID, "file_unknown", ""} {
			in := c.stop("i1", models.POClosed, `{}`)
			in.Evidence = fileEvidence(id)
			_, err := c.desk.HandOver(t.Context(), c.agent, in, models.Idempotency{})
			issueOn(t, err, "/evidence/1/file_id")
		}
		page, err := c.desk.List(t.Context(), c.clara, queue.Filter{Queue: models.QueueProcurement})
		must(t, err)
		if len(page.Items) != 0 {
			t.Errorf("a refused handover opened %d cases", len(page.Items))
		}
	})
}

func TestWhoMayAddFiles(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		for _, by := range []models.Principal{c.erp, c.clara} {
			_, err := c.desk.UploadFile(t.Context(), by, pdf("a.pdf", "x"), "")
			refused(t, err, models.InsufficientPermission)
		}
		weak := c.agent
		weak.Scopes = []models.Scope{models.ScopeCasesRead}
		_, err := c.desk.UploadFile(t.Context(), weak, pdf("a.pdf", "x"), "")
		refused(t, err, models.InsufficientScope)

		first, err := c.desk.UploadFile(t.Context(), c.agent, pdf("a.pdf", "x"), "key")
		must(t, err)
		again, err := c.desk.UploadFile(t.Context(), c.agent, pdf("a.pdf", "x"), "key")
		must(t, err)
		if first.ID != again.ID {
			t.Error("the same key keeps the file twice")
		}
		_, err = c.desk.UploadFile(t.Context(), c.agent, pdf("a.pdf", "y"), "key")
		refused(t, err, models.Conflict)

		id := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		_, err = c.desk.AttachFile(t.Context(), c.petra, id, pdf("order.pdf", "x"))
		must(t, err)
		for _, by := range []models.Principal{c.clara, c.aude, c.agent, onToken(c.petra)} {
			_, err := c.desk.AttachFile(t.Context(), by, id, pdf("a.pdf", "x"))
			refused(t, err, models.InsufficientPermission)
		}
		_, err = c.desk.AttachFile(t.Context(), c.stranger, id, pdf("a.pdf", "x"))
		refused(t, err, models.NotFound)
		_, err = c.desk.AttachFile(t.Context(), c.petra, id, models.Upload{Name: "a.pdf", Open: func() (io.Reader, error) { return strings.NewReader("<html>"), nil }})
		issueOn(t, err, "/file")
		_, err = c.desk.AttachFile(t.Context(), c.petra, id, models.Upload{Name: "a.pdf", Open: func() (io.Reader, error) { return nil, errors.New("gone") }})
		if err == nil {
			t.Error("a body that cannot be read is taken")
		}
	})
}

func TestRelatedCasesAreThoseOfTheInvoiceTheSupplierAndTheRun(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		handed := func(invoice, supplier, run string, code models.Code) string {
			in := c.stop(invoice, code, `{}`)
			in.Invoice.SupplierID, in.RunID = supplier, run
			in.Invoice.Sent = nil
			return c.file(in).CaseID
		}
		id := handed("i1", "S1", "r1", models.POClosed)
		same := handed("i1", "S1", "r2", models.DuplicateInvoice)
		supplier := handed("i2", "S1", "r3", models.POClosed)
		run := handed("i3", "S9", "r1", models.POClosed)
		handed("i4", "S8", "r8", models.POClosed)
		c.decide(c.petra, supplier, "reject_invoice", nil, "Not ours.")
		got, err := c.desk.Related(t.Context(), c.petra, id)
		must(t, err)
		ids := func(l queue.RelatedList) (out []string) {
			for _, i := range l.Items {
				out = append(out, i.CaseID)
			}
			return out
		}
		if !slices.Equal(ids(got.Invoice), []string{same}) || !slices.Equal(ids(got.Supplier), []string{supplier}) || !slices.Equal(ids(got.Run), []string{run}) {
			t.Errorf("got %v, %v, %v", ids(got.Invoice), ids(got.Supplier), ids(got.Run))
		}
		if got.Supplier.Items[0].Exit != "reject_invoice" || got.Supplier.Items[0].Status != models.CaseResolved {
			t.Errorf("what became of it: %+v", got.Supplier.Items[0])
		}
		if alone, err := c.desk.Related(t.Context(), c.agent, id); err != nil || len(alone.Invoice.Items)+len(alone.Supplier.Items)+len(alone.Run.Items) != 0 {
			t.Errorf("an agent sees %+v, %v", alone, err)
		}
		_, err = c.desk.Related(t.Context(), c.stranger, id)
		refused(t, err, models.NotFound)
		for i := range 12 {
			handed("more"+string(rune('a'+i)), "S1", "", models.POClosed)
		}
		if got, err = c.desk.Related(t.Context(), c.petra, id); err != nil || len(got.Supplier.Items) != 10 || !got.Supplier.More {
			t.Errorf("of 13 cases %d are shown, more is %v", len(got.Supplier.Items), got.Supplier.More)
		}
	})
}

func TestACommentTellsWhomItMentions(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, c *cast) {
		id := c.file(c.stop("i1", models.POClosed, `{}`)).CaseID
		told := func(p models.Principal) (n int) {
			list, _, err := c.store.Notices(t.Context(), p, "")
			must(t, err)
			for _, notice := range list {
				if notice.Kind == queue.NoticeMentioned && notice.Subject == id {
					n++
				}
			}
			return n
		}
		must(t, c.desk.AddComment(t.Context(), c.petra, id, "@Lena, @lena@example.test and @petra: look. Not a mention: clara@example.test, @claraX, @agent-one"))
		for _, want := range []struct {
			who models.Principal
			n   int
		}{{c.lena, 1}, {c.petra, 0}, {c.clara, 0}} {
			if got := told(want.who); got != want.n {
				t.Errorf("%s is told %d times, want %d", want.who.UserName, got, want.n)
			}
		}
		must(t, c.store.InTx(t.Context(), models.Operator("1000"), func(tx *models.Tx) error {
			_, _, err := tx.CreateUser(models.NewUser{Email: "lena2@example.test", Name: "Lena", Roles: []models.Role{models.RoleAPClerk}})
			return err
		}))
		issueOn(t, c.desk.AddComment(t.Context(), c.petra, id, "@Lena, please"), "/text")
		must(t, c.desk.AddComment(t.Context(), c.petra, id, "@lena@example.test, please"))
		if got := told(c.lena); got != 2 {
			t.Errorf("by e-mail Lena is told %d times", got)
		}
	})
}

func TestMentionsAreReadAsWritten(t *testing.T) {
	t.Parallel()
	member := func(id, name, email string) models.Member {
		return models.Member{User: models.User{ID: id, Name: name, Email: email, Kind: models.KindPerson}}
	}
	members := []models.Member{member("1", "Anna Berg", "anna@x.test"), member("2", "Anna Roth", "anna.roth@x.test"), member("3", "Jörg Ünal", "j@x.test"),
		{User: models.User{ID: "4", Name: "robot", Email: "robot@x.test", Kind: models.KindService}}}
	for text, want := range map[string]string{
		"@Anna Berg and @anna roth": "12", "@anna@x.test.": "1", "@jörg": "3", "(@JÖRG ÜNAL)": "3", "@robot": "", "mail anna@x.test": "", "@Annabel": "", "@@jörg": "3", "@": "",
		"@anna.roth@x.test": "2", "@j@x.testing": "",
	} {
		found, _ := queue.Mentions(text, members)
		got := ""
		for _, m := range found {
			got += m.UserID
		}
		if got != want {
			t.Errorf("%q names %q, want %q", text, got, want)
		}
	}
	if _, ambiguous := queue.Mentions("@Anna, look", members); !slices.Equal(ambiguous, []string{"@Anna"}) {
		t.Errorf("ambiguous are %v", ambiguous)
	}
}

func FuzzMentions(f *testing.F) {
	f.Add("@Anna Berg @anna@x.test", "Anna Berg")
	f.Add("@\xff@İ", "İ")
	f.Fuzz(func(t *testing.T, text, name string) {
		found, _ := queue.Mentions(text, []models.Member{{User: models.User{ID: "1", Name: name, Email: "a@x.test", Kind: models.KindPerson}}, {User: models.User{ID: "2", Name: "Anna", Kind: models.KindPerson}}})
		at := 0
		for _, m := range found {
			if m.Start < at || m.End <= m.Start+1 || m.End > len(text) || text[m.Start] != '@' {
				t.Fatalf("%q: %+v", text, m)
			}
			at = m.End
		}
	})
}
