package web

import (
	"net"
	"sync"
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
	from *listener
	once sync.Once
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

// Close closes the connection.
func (c *connection) Close() error {
	c.known()
	return c.Conn.Close()
}
