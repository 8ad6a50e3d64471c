package web

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// What is still taken from a client whose body was refused, so that it gets to read the refusal.
const (
	lingerTime  = 10 * time.Second
	lingerBytes = 8 * BodyLimit
)

// listener knows which of its connections have not sent a byte yet. Browsers and clients open such
// connections in advance; when the desk shuts down nothing is lost by closing them, while the servers
// would wait for their first request.
type listener struct {
	net.Listener

	mu     sync.Mutex
	silent map[*connection]struct{}
}

func newListener(l net.Listener) *listener {
	return &listener{Listener: l, silent: map[*connection]struct{}{}}
}

// Accept waits for the next connection.
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &connection{Conn: conn, from: l}
	l.mu.Lock()
	l.silent[c] = struct{}{}
	l.mu.Unlock()
	return c, nil
}

// closeSilent closes the connections that have not sent a byte.
func (l *listener) closeSilent() {
	l.mu.Lock()
	list := make([]*connection, 0, len(l.silent))
	for c := range l.silent {
		list = append(list, c)
	}
	l.mu.Unlock()
	for _, c := range list {
		_ = c.Close() // it is given up either way
	}
}

// connection tells its listener once it has sent something, or is closed.
type connection struct {
	net.Conn
	from   *listener
	once   sync.Once
	linger atomic.Bool // the client is still sending what will not be read
}

func (c *connection) known() {
	c.once.Do(func() {
		c.from.mu.Lock()
		delete(c.from.silent, c)
		c.from.mu.Unlock()
	})
}

// Read reads what the client sent.
func (c *connection) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 {
		c.known()
	}
	return n, err
}

// Close closes the connection. With unread bytes waiting, the system would reset it and the client
// would lose the answer, so those of a refused body are taken first and thrown away.
func (c *connection) Close() error {
	c.known()
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || !c.linger.CompareAndSwap(true, false) {
		return c.Conn.Close()
	}
	go func() {
		defer func() { _ = c.Conn.Close() }() // it is given up either way
		if half.CloseWrite() == nil && c.Conn.SetReadDeadline(time.Now().Add(lingerTime)) == nil {
			_, _ = io.CopyN(io.Discard, c.Conn, lingerBytes) // however it ends, the connection closes
		}
	}()
	return nil
}
