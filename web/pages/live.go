package pages

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
)

// LivePath is the address of the live streams.
const LivePath = "/live"

// LiveTime is how long a stream is open at most; a page opens it again then.
const LiveTime = 10 * time.Minute

const (
	// heartbeat is how often an idle stream writes, which is the only way to notice that its reader
	// has left, and how soon a stream ends after its session.
	heartbeat = 15 * time.Second
	// settle is the pause between two notices of one stream, so that a burst of changes is one.
	settle = 300 * time.Millisecond
)

// live streams to an open page that it may have changed. It says no more than that: the page's script
// asks for the page again, as the person it belongs to.
func (v *visit) live() error {
	topics, err := v.topics(v.c.Query("topic"))
	if err != nil {
		return err
	}
	topics = append(topics, models.TopicNotices(v.by.WorkspaceID, v.by.UserID)) // every page has the bell
	v.c.Set(fiber.HeaderContentType, "text/event-stream; charset=utf-8")
	v.c.Set(fiber.HeaderCacheControl, "no-store")
	v.c.Set("X-Accel-Buffering", "no")
	if v.c.Method() == fiber.MethodHead {
		return nil
	}
	answer := &v.c.Context().Response
	answer.SetConnectionClose() // which is where it ends: it has no length
	stream := &liveStream{app: v.p.app, log: v.p.log, alive: v.stillSignedIn(), head: slices.Clone(answer.Header.Header())}
	hub := v.p.store.Hub()
	v.c.Context().HijackSetNoResponse(true)
	v.c.Context().Hijack(func(conn net.Conn) {
		if server, ok := conn.(interface{ UnsafeConn() net.Conn }); ok {
			conn = server.UnsafeConn() // without the buffer of what else the page may have sent
		}
		// Subscribe before the first byte: what changes from here on is told.
		stream.wake, stream.unsubscribe = hub.Subscribe(topics...)
		go stream.serve(conn)
	})
	return nil
}

// topics are the changes behind the name of a page, within what the person reaches.
func (v *visit) topics(name string) ([]string, error) {
	kind, id, _ := strings.Cut(name, ":")
	ws := v.by.WorkspaceID
	switch kind {
	case "home":
		return []string{models.TopicQueues(ws), models.TopicApprovals(ws), models.TopicConfirmations(ws), models.TopicHolds(ws)}, nil
	case "queue":
		if models.Queue(id).Valid() {
			return []string{models.TopicQueues(ws), models.TopicPresences(ws)}, nil
		}
	case "cases":
		return []string{models.TopicQueues(ws), models.TopicPresences(ws)}, nil
	case "approvals":
		return []string{models.TopicApprovals(ws), models.TopicPresences(ws)}, nil
	case "confirmations":
		return []string{models.TopicConfirmations(ws), models.TopicPresences(ws)}, nil
	case "holds":
		return []string{models.TopicHolds(ws)}, nil
	case "people":
		return []string{models.TopicPeople(ws)}, nil
	case "delegations":
		return []string{models.TopicApprovals(ws), models.TopicPeople(ws)}, nil
	case "notices":
		return nil, nil // told on every page's stream
	case "invoice":
		return []string{models.TopicQueues(ws), models.TopicApprovals(ws), models.TopicConfirmations(ws), models.TopicHolds(ws)}, nil
	case "case":
		if err := v.goToCase(id); err != nil {
			return nil, err
		}
		return []string{models.TopicCase(id), models.TopicPresence(id)}, nil
	case "request":
		if err := v.goToRequest(id); err != nil {
			return nil, err
		}
		return []string{models.TopicRequest(id), models.TopicPresence(id)}, nil
	case "confirmation":
		if err := v.goToConfirmation(id); err != nil {
			return nil, err
		}
		return []string{models.TopicConfirmation(id), models.TopicPresence(id)}, nil
	case "hold":
		if err := v.goToHold(id); err != nil {
			return nil, err
		}
		return []string{models.TopicHold(id)}, nil
	}
	return nil, models.Missing("live topic", name)
}

// liveStream tells an open page of changes. There are as many as open pages, so it takes the connection from the
// server, which then keeps nothing for it: no buffers, no request, and not the stack that a request needs. It
// outlives the request that opened it, so it holds nothing of it either.
type liveStream struct {
	app         context.Context
	log         *slog.Logger
	alive       func(context.Context) bool
	head        []byte // of the answer
	wake        <-chan struct{}
	unsubscribe func()
}

// serve writes until the session ends, the page is left, its time is up or the desk shuts down.
func (s *liveStream) serve(conn net.Conn) {
	defer s.unsubscribe()
	defer func() { _ = conn.Close() }() // it is given up either way

	if conn.SetWriteDeadline(time.Now().Add(LiveTime)) != nil { // a connection's time, not the desk's
		return
	}
	if say(conn, string(s.head)+"retry: 3000\n\n") != nil {
		return
	}
	s.head = nil
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		told := false
		select {
		case <-s.app.Done():
			return
		case <-beat.C:
		case <-s.wake:
			told = true
		}
		if !<-s.goesOn() {
			return
		}
		if !told {
			if say(conn, ": still here\n\n") != nil {
				return
			}
			continue
		}
		if say(conn, "data: changed\n\n") != nil {
			return
		}
		pause := time.NewTimer(settle)
		select {
		case <-s.app.Done():
			pause.Stop()
			return
		case <-pause.C:
		}
	}
}

// goesOn says whether the session does. It is asked on a stack of its own, which is given back: it would have to
// be four times as large as the stream's.
func (s *liveStream) goesOn() <-chan bool {
	answer := make(chan bool, 1)
	go func() {
		defer close(answer) // false, also after a panic, which nobody else would catch
		defer func() {
			if cause := recover(); cause != nil {
				s.log.ErrorContext(s.app, "live stream panicked", "cause", fmt.Sprint(cause), "stack", string(debug.Stack()))
			}
		}()
		answer <- s.alive(s.app)
	}()
	return answer
}

func say(conn io.Writer, line string) error {
	_, err := io.WriteString(conn, line)
	return err
}
