package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// readyCmd asks a desk on this machine, for containers that hold nothing else to ask with.
type readyCmd struct {
	Addr    string        `help:"Address of pages and REST, as given to serve." default:"127.0.0.1:8080" env:"APDESK_ADDR" placeholder:"HOST:PORT"`
	Timeout time.Duration `help:"How long to wait for an answer." default:"3s"`
}

func (c readyCmd) Run(e *env) error {
	host, port, err := net.SplitHostPort(c.Addr)
	if err != nil {
		return fmt.Errorf("--addr %q: must be HOST:PORT", c.Addr)
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1" // the desk listens on every address
	}
	ctx, cancel := context.WithTimeout(e.ctx, c.Timeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/readyz", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("the desk does not answer: %w", err)
	}
	said, err := io.ReadAll(io.LimitReader(res.Body, 1<<10))
	_ = res.Body.Close() // it was read
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the desk is not ready: %s", strings.TrimSpace(string(said)))
	}
	fmt.Fprintln(e.stdout, "The desk is ready.")
	return nil
}
