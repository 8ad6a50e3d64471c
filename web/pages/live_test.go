package pages_test

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// stream is an open page's live stream on a real connection.
type stream struct {
	t      *testing.T
	lines  chan string
	status int
	kind   string
}

// listen serves the desk's pages on a real address.
func (d *desk) listen() string {
	d.t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		d.t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- d.app.Listener(l) }()
	d.t.Cleanup(func() {
		d.stop()
		if err := d.app.Shutdown(); err != nil {
			d.t.Error(err)
		}
		if err := <-served; err != nil {
			d.t.Error(err)
		}
	})
	return "http://" + l.Addr().String()
}

func (v *visitor) open(t *testing.T, base, path string) *stream {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range v.cookies {
		req.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{t: t, lines: make(chan string, 100), status: res.StatusCode, kind: res.Header.Get("Content-Type")}
	go func() {
		defer close(s.lines)
		defer res.Body.Close()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			s.lines <- lines.Text()
		}
	}()
	return s
}

// until reads on until a line begins with prefix; "" means the end of the stream.
func (s *stream) until(prefix string) bool {
	s.t.Helper()
	for line := range s.lines {
		if prefix != "" && strings.HasPrefix(line, prefix) {
			return true
		}
	}
	return prefix == ""
}

func TestAnOpenCaseIsToldThatItChanged(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	base := d.listen()
	id := d.handOver(d.robot(), poClosed)
	petra, paul := d.signedIn("petra"), d.signedIn("paul")
	live := petra.get("/cases/"+id).doc.Find("body").AttrOr("data-live", "")
	s := petra.open(t, base, live)
	if s.status != http.StatusOK || !strings.HasPrefix(s.kind, "text/event-stream") || !s.until("retry:") {
		t.Fatalf("the stream is answered %d as %s", s.status, s.kind)
	}
	paul.press(paul.get("/cases/"+id), "claim")
	if !s.until("data:") {
		t.Error("nothing was told")
	}
}

func TestAnOpenQueueIsToldOfANewCase(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	base := d.listen()
	petra := d.signedIn("petra")
	s := petra.open(t, base, petra.get("/queues/procurement").doc.Find("body").AttrOr("data-live", ""))
	if !s.until("retry:") {
		t.Fatal("the stream did not open")
	}
	d.handOver(d.robot(), poClosed)
	if !s.until("data:") {
		t.Error("nothing was told")
	}
}

func TestALiveStreamEndsWithItsSession(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	base := d.listen()
	petra := d.signedIn("petra")
	home := petra.get("/")
	s := petra.open(t, base, home.doc.Find("body").AttrOr("data-live", ""))
	if !s.until("retry:") {
		t.Fatal("the stream did not open")
	}
	petra.press(home, "sign-out")
	d.handOver(d.robot(), poClosed)
	if s.until("data:") {
		t.Error("a stream goes on after its session ended")
	}
}

func TestLiveStreamsEndWhenTheDeskShutsDown(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	base := d.listen()
	s := d.signedIn("petra").open(t, base, "/live?topic=home")
	if !s.until("retry:") {
		t.Fatal("the stream did not open")
	}
	d.stop()
	if !s.until("") {
		t.Error("the stream did not end")
	}
}

func TestALiveStreamIsForThePersonsOwnPagesOnly(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	if p := d.stranger().do(http.MethodGet, "/live?topic=home", nil); p.status != http.StatusUnauthorized {
		t.Errorf("a stranger's stream is answered %d", p.status)
	}
	petra := d.signedIn("petra")
	if p := petra.do(http.MethodHead, "/live?topic=home", nil); p.status != http.StatusOK {
		t.Errorf("a look at the stream is answered %d", p.status)
	}
	for _, topic := range []string{"", "queue:nothing", "case:nothing", "queues:" + other, "*"} {
		if p := petra.do(http.MethodGet, "/live?topic="+topic, nil); p.status != http.StatusNotFound {
			t.Errorf("the stream of %q is answered %d", topic, p.status)
		}
	}
	if p := petra.do(http.MethodGet, "/live?topic=home&workspace_id="+other, nil); p.status != http.StatusForbidden {
		t.Errorf("another workspace's stream is answered %d", p.status)
	}
}

// Lists of approvals and confirmations say who else has a record open, like lists of cases, and hear of it.
func TestListsOfApprovalsAndConfirmationsSayWhoLooks(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	base := d.listen()
	fiona, felix := d.signedIn("fiona"), d.signedIn("felix")
	request, question := d.ask(d.robot(), approvalFor("21.00")), d.forward(d.robot(), asks(yesOrNo, `"confirm"`))
	for _, c := range []struct{ list, own, row string }{
		{"/approvals", "/approvals/" + request, "tr[data-request='" + request + "']"},
		{"/confirmations", "/confirmations/" + question, "tr[data-confirmation='" + question + "']"},
	} {
		s := felix.open(t, base, felix.get(c.list).doc.Find("body").AttrOr("data-live", ""))
		if s.status != http.StatusOK || !s.until("retry:") {
			t.Fatalf("the stream of %s is answered %d", c.list, s.status)
		}
		own := fiona.get(c.own)
		subject := own.doc.Find("[data-subject]").AttrOr("data-subject", "")
		tell := func(doing string) {
			t.Helper()
			p := fiona.do(http.MethodPost, "/presence", one("csrf_token", own.doc.Find("input[name=csrf_token]").AttrOr("value", ""), "subject", subject, "doing", doing))
			if p.status != http.StatusOK || !s.until("data:") {
				t.Fatalf("%s: presence at %q is answered %d", c.list, subject, p.status)
			}
		}
		if row := felix.get(c.list).text(c.row); row == "" || strings.Contains(row, "looking") {
			t.Errorf("%s: before, the row reads %q", c.list, row)
		}
		tell("viewing")
		if row := felix.get(c.list).text(c.row); !strings.Contains(row, "Fiona is looking at this") {
			t.Errorf("%s: the row reads %q", c.list, row)
		}
		tell("editing")
		if row := felix.get(c.list).text(c.row); !strings.Contains(row, "Fiona is writing") {
			t.Errorf("%s: the row reads %q", c.list, row)
		}
		if row := fiona.get(c.list).text(c.row); strings.Contains(row, "Fiona is writing") {
			t.Errorf("%s: who looks is told of themself: %q", c.list, row)
		}
		felix.get(c.own).wants(t, "presence", "Fiona is writing")
	}
}

// The connection is the stream's alone: its answer says so, and nothing sent after it is answered.
func TestALiveStreamEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	d := newDesk(t)
	base := d.listen()
	petra := d.signedIn("petra")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	cookies := []string{}
	for name, value := range petra.cookies {
		cookies = append(cookies, name+"="+value)
	}
	request := "GET /live?topic=home HTTP/1.1\r\nHost: " + strings.TrimPrefix(base, "http://") + "\r\nCookie: " + strings.Join(cookies, "; ") + "\r\n\r\n"
	if _, err := io.WriteString(conn, request+request); err != nil {
		t.Fatal(err)
	}
	answer := bufio.NewReader(conn)
	res, err := http.ReadResponse(answer, nil)
	if err != nil {
		t.Fatal(err)
	}
	if res.StatusCode != http.StatusOK || !res.Close || res.ContentLength != -1 || len(res.TransferEncoding) != 0 || res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("X-Accel-Buffering") != "no" {
		t.Errorf("the stream is answered %s %v", res.Status, res.Header)
	}
	lines := bufio.NewReader(res.Body)
	if line, err := lines.ReadString('\n'); line != "retry: 3000\n" {
		t.Fatalf("the stream begins with %q, %v", line, err)
	}
	d.stop()
	rest, err := io.ReadAll(lines)
	if err != nil || strings.Contains(string(rest), "HTTP/1.1") {
		t.Errorf("the stream ends with %q, %v", rest, err)
	}
}
