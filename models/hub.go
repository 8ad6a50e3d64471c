package models

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

// Topics of changes that waits and live pages subscribe to.
func TopicCase(id string) string            { return "case:" + id }
func TopicRequest(id string) string         { return "request:" + id }
func TopicHold(id string) string            { return "hold:" + id }
func TopicQueues(workspaceID string) string { return "queues:" + workspaceID }
func TopicApprovals(workspaceID string) string {
	return "approvals:" + workspaceID
}
func topicUser(id string) string           { return "user:" + id }
func TopicHolds(workspaceID string) string { return "holds:" + workspaceID }

// Hub wakes those who wait for a change. On PostgreSQL it also hears the changes of other replicas.
type Hub struct {
	mu   sync.Mutex
	subs map[string]map[*subscription]struct{}
}

type subscription struct{ wake chan struct{} }

func newHub() *Hub { return &Hub{subs: map[string]map[*subscription]struct{}{}} }

// Subscribe gives a channel that receives after any of the topics changed. Subscribe before reading
// the state waited for, so that no change falls in between. End it by calling cancel.
func (h *Hub) Subscribe(topics ...string) (wake <-chan struct{}, cancel func()) {
	sub := &subscription{wake: make(chan struct{}, 1)}
	h.mu.Lock()
	for _, t := range topics {
		if h.subs[t] == nil {
			h.subs[t] = map[*subscription]struct{}{}
		}
		h.subs[t][sub] = struct{}{}
	}
	h.mu.Unlock()
	return sub.wake, func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, t := range topics {
			delete(h.subs[t], sub)
			if len(h.subs[t]) == 0 {
				delete(h.subs, t)
			}
		}
	}
}

// Publish wakes the subscribers of the topics.
func (h *Hub) Publish(topics ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range topics {
		for sub := range h.subs[t] {
			select {
			case sub.wake <- struct{}{}:
			default:
			}
		}
	}
}

// publishAll wakes everybody, after changes may have been missed.
func (h *Hub) publishAll() {
	h.mu.Lock()
	topics := make([]string, 0, len(h.subs))
	for t := range h.subs {
		topics = append(topics, t)
	}
	h.mu.Unlock()
	h.Publish(topics...)
}

// rereadEvery is how often a wait looks again although nothing woke it, in case another process
// changed the database file.
const rereadEvery = 5 * time.Second

// Wait calls read until it says done, its error, the context's end or the time is up, whichever
// comes first. It subscribes to the topics before the first read. When the time is up the last
// read stands and the error is nil.
func (h *Hub) Wait(ctx context.Context, wait time.Duration, topics []string, read func() (done bool, err error)) error {
	wake, cancel := h.Subscribe(topics...)
	defer cancel()
	if done, err := read(); done || err != nil || wait <= 0 {
		return err
	}
	deadline := time.NewTimer(wait)
	defer deadline.Stop()
	again := time.NewTicker(rereadEvery)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-deadline.C:
			_, err := read()
			return err
		case <-wake:
		case <-again.C:
		}
		if done, err := read(); done || err != nil {
			return err
		}
	}
}

const (
	notifyChannel = "apdesk"
	topicSep      = "\n"
	maxPayload    = 7900 // PostgreSQL takes less than 8000 bytes
	wakeAll       = "*"
)

func packTopics(topics []string) string {
	payload := strings.Join(topics, topicSep)
	if len(payload) > maxPayload {
		return wakeAll
	}
	return payload
}

// listen passes on what other replicas changed, until ctx ends. After a lost connection everybody is
// woken, since notices may have been missed.
func (s *Store) listen(ctx context.Context) {
	for ctx.Err() == nil {
		if err := s.listenOnce(ctx); err != nil && ctx.Err() == nil {
			s.log.Warn("listening for changes interrupted", "cause", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

func (s *Store) listenOnce(ctx context.Context) error {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(closing) // the connection is given up either way
	}()
	if _, err := conn.Exec(ctx, "LISTEN "+notifyChannel); err != nil {
		return err
	}
	s.hub.publishAll()
	for {
		waiting, cancel := context.WithTimeout(ctx, quietTime)
		n, err := conn.WaitForNotification(waiting)
		quiet := waiting.Err() != nil && ctx.Err() == nil
		cancel()
		if err != nil && quiet {
			// A server that is gone without a word would be waited for for ever.
			if err := ping(ctx, conn); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		if n.Payload == wakeAll {
			s.hub.publishAll()
			continue
		}
		s.hub.Publish(strings.Split(n.Payload, topicSep)...)
	}
}

const (
	quietTime = 15 * time.Second // without a notice, before the server is asked whether it is there
	pingTime  = 5 * time.Second
)

func ping(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	return conn.Ping(ctx)
}
