package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/apdesk/apdesk/cmd/apdesk/demo"
)

type demoCmd struct {
	Fast    bool   `help:"Let scripted people decide, check how every invoice ended, print a table and exit."`
	Dir     string `help:"Keep database and files here; default a temporary folder that is removed at the end." placeholder:"DIR" type:"path"`
	Addr    string `help:"Address of pages and REST; default 127.0.0.1:8080 or a free port." placeholder:"HOST:PORT"`
	MCPAddr string `help:"Address of the MCP endpoint; default 127.0.0.1:8081 or a free port." name:"mcp-addr" placeholder:"HOST:PORT"`
}

func (c demoCmd) Run(e *env) error {
	err := demo.Run(e.ctx, demo.Options{Dir: c.Dir, Addr: c.Addr, MCPAddr: c.MCPAddr, Fast: c.Fast, Stdout: e.stdout})
	if errors.Is(err, context.Canceled) && e.ctx.Err() != nil && !c.Fast {
		return nil
	}
	return err
}

// demoPartCmd runs one of the demo's processes; the demo itself starts them.
type demoPartCmd struct {
	Name string `arg:"" help:"erp, agent or people."`
	File string `arg:"" help:"File with the part's options." type:"path"`
}

func (c demoPartCmd) Run(e *env) error {
	if err := demo.Part(e.ctx, c.Name, c.File, e.stdout, e.stderr); err != nil {
		if e.ctx.Err() != nil {
			return nil
		}
		return fmt.Errorf("%s: %w", c.Name, err)
	}
	return nil
}
