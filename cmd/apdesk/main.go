// Command apdesk is the human side of a finance agent: it serves the desk's pages, its REST interface
// and its MCP endpoint, and administers their database.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/apdesk/apdesk/models"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// cli is the whole command line. Flags win over APDESK_* variables, which win over defaults.
type cli struct {
	Database  string `help:"Database: sqlite:PATH or postgres://USER@HOST/NAME." default:"sqlite:apdesk.db" env:"APDESK_DATABASE" placeholder:"URL"`
	LogFormat string `help:"Log lines as text or json." enum:"text,json" default:"text" env:"APDESK_LOG_FORMAT"`

	Serve     serveCmd     `cmd:"" help:"Serve the desk: pages and REST at one address, MCP at another."`
	Demo      demoCmd      `cmd:"" help:"Try the desk with a simulated ERP and an agent that gets stuck; needs nothing else."`
	Migrate   migrateCmd   `cmd:"" help:"Bring the database's schema up to date and exit."`
	Workspace workspaceCmd `cmd:"" help:"Create and set up workspaces (company codes)."`
	User      userCmd      `cmd:"" help:"Create people and service accounts."`
	Token     tokenCmd     `cmd:"" help:"Create tokens for agents and ERPs."`
	Rule      ruleCmd      `cmd:"" help:"Write rules of the approval matrix."`
	Audit     auditCmd     `cmd:"" help:"Verify, sign and export the audit trail."`
	Backup    backupCmd    `cmd:"" help:"Write a checked copy of the whole database to a file while the desk runs."`
	Doctor    doctorCmd    `cmd:"" help:"Look for unsafe settings and for what is stuck or missing."`
	Ready     readyCmd     `cmd:"" help:"Ask a desk on this machine whether it can answer calls; exits with 1 when not."`
	DemoPart  demoPartCmd  `cmd:"" hidden:"" name:"demo-part"`
	Version   versionCmd   `cmd:"" help:"Print the version."`
}

// env is what every command gets from outside.
type env struct {
	ctx            context.Context
	cli            *cli
	stdin          io.Reader
	stdout, stderr io.Writer
	log            *slog.Logger
}

// run carries out one command line and answers the exit status: 0 done, 1 failed, 2 not understood.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	var c cli
	exit := -1
	parser, err := kong.New(&c, kong.Name("apdesk"),
		kong.Description("The human side of a finance agent. Start with: apdesk demo"),
		kong.Writers(stdout, stderr), kong.UsageOnError(), kong.Exit(func(code int) { exit = code }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}))
	if err != nil {
		fmt.Fprintln(stderr, "apdesk:", err)
		return 1
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	kctx, err := parser.Parse(args)
	if exit >= 0 { // --help has been answered
		return exit
	}
	if err != nil {
		fmt.Fprintf(stderr, "apdesk: %v\nRun apdesk --help for what there is.\n", err)
		return 2
	}
	e := &env{ctx: ctx, cli: &c, stdin: stdin, stdout: stdout, stderr: stderr}
	e.log = slog.New(logHandler(stderr, c.LogFormat))
	if err := kctx.Run(e); err != nil {
		fmt.Fprintln(stderr, "apdesk:", explain(err))
		return 1
	}
	return 0
}

func logHandler(w io.Writer, format string) slog.Handler {
	if format == "json" {
		return slog.NewJSONHandler(w, nil)
	}
	return slog.NewTextHandler(w, nil)
}

// explain is an error in words for somebody at the command line, with every field that was wrong.
func explain(err error) string {
	ne, ok := models.AsNamed(err)
	if !ok {
		return err.Error()
	}
	issues, ok := ne.Details["issues"].([]models.Issue)
	if !ok {
		if cause := errors.Unwrap(ne); cause != nil {
			return fmt.Sprintf("%s (%v)", ne.Message, cause)
		}
		return ne.Message
	}
	text := ""
	for i, is := range issues {
		if i > 0 {
			text += "\napdesk: "
		}
		text += "--" + flagName(is.Path) + " " + is.Message
	}
	return text
}

func flagName(path string) string {
	name := []byte{}
	for i := range len(path) {
		switch {
		case path[i] == '/' && i == 0:
		case path[i] == '_':
			name = append(name, '-')
		default:
			name = append(name, path[i])
		}
	}
	return string(name)
}

// open opens the database, its schema brought up to date, as every command does first.
func (e *env) open() (*models.Store, error) {
	return models.Open(e.ctx, e.cli.Database, models.Options{Logger: e.log})
}

// inWorkspace runs fn in one transaction as the operator of a workspace.
func (e *env) inWorkspace(id string, fn func(*models.Tx) error) error {
	store, err := e.open()
	if err != nil {
		return err
	}
	wire(store)
	return errors.Join(store.InTx(e.ctx, models.Operator(id), fn), store.Close())
}

type migrateCmd struct{}

func (migrateCmd) Run(e *env) error {
	store, err := e.open()
	if err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, "The database is up to date.")
	return store.Close()
}

type versionCmd struct{}

func (versionCmd) Run(e *env) error {
	fmt.Fprintln(e.stdout, "apdesk", version())
	return nil
}

// version is the module's version, or the revision it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && len(s.Value) >= 12 {
			return "devel-" + s.Value[:12]
		}
	}
	return "devel"
}
