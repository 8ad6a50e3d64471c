package pages

import (
	"context"
	"io"
	"strings"
	"time"

	"github.com/gofiber/fiber/v2"

	"github.com/apdesk/apdesk/models"
)

// LivePath is the address of the live streams.
const LivePath = "/live"

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
	stream := &liveStream{app: v.p.app, alive: v.stillSignedIn()}
	// Subscribe before the first byte: what changes from here on is told.
	stream.wake, stream.unsubscribe = v.p.store.Hub().Subscribe(topics...)
	v.c.Set(fiber.HeaderContentType, "text/event-stream; charset=utf-8")
	v.c.Set(fiber.HeaderCacheControl, "no-store")
	v.c.Set("X-Accel-Buffering", "no")
	v.c.Context().SetBodyStream(stream, -1)
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

// liveStream is the body of a stream: reading it waits for what there is to say, and each reading is sent at
// once. It takes no goroutine and no buffer of its own, for there are as many as open pages. It outlives
// the request that opened it, so it holds nothing of it.
type liveStream struct {
	app         context.Context
	alive       func(context.Context) bool
	wake        <-chan struct{}
	unsubscribe func() // nil once the stream is closed

	beat *time.Ticker // nil before the first reading
	told bool         // a change was told just now
}

// Read answers the next thing to say, until the session ends or the desk shuts down.
func (s *liveStream) Read(p []byte) (int, error) {
	if s.beat == nil {
		s.beat = time.NewTicker(heartbeat)
		return say(p, "retry: 3000\n\n")
	}
	if s.told {
		s.told = false
		pause := time.NewTimer(settle)
		defer pause.Stop()
		select {
		case <-s.app.Done():
			return 0, io.EOF
		case <-pause.C:
		}
	}
	select {
	case <-s.app.Done():
		return 0, io.EOF
	case <-s.beat.C:
	case <-s.wake:
		s.told = true
	}
	switch {
	case !s.alive(s.app):
		return 0, io.EOF
	case s.told:
		return say(p, "data: changed\n\n")
	}
	return say(p, ": still here\n\n")
}

func say(p []byte, line string) (int, error) { return copy(p, line), nil }

// Close ends the stream, also one that was never read.
func (s *liveStream) Close() error {
	if s.beat != nil {
		s.beat.Stop()
	}
	if s.unsubscribe != nil {
		s.unsubscribe()
		s.unsubscribe = nil
	}
	return nil
}
