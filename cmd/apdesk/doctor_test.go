package main

import (
	"strings"
	"testing"
	"time"

	"github.com/apdesk/apdesk/models"
	"github.com/apdesk/apdesk/web/proxy"
)

func TestAConnectionToTheDatabaseIsJudgedByHowFarItGoesInTheClear(t *testing.T) {
	t.Setenv("PGSSLMODE", "")
	for url, want := range map[string]reach{
		"sqlite:apdesk.db": overNothing,
		"postgres://desk@127.0.0.1/desk?sslmode=disable":                overNothing,
		"postgres://desk@localhost/desk":                                overNothing,
		"postgres://desk@/desk?host=/var/run/postgresql":                overNothing,
		"postgres://desk@db.example.com/desk?sslmode=verify-full":       overNothing,
		"postgres://desk@db.example.com/desk?sslmode=require":           unverified,
		"postgres://desk@db.example.com/desk?sslmode=disable":           overInternet,
		"postgres://desk@db.example.com/desk":                           overInternet, // the default falls back to plain text
		"postgres://desk@203.0.113.5/desk?sslmode=prefer":               overInternet,
		"postgres://desk@10.1.2.3/desk?sslmode=disable":                 overLAN,
		"postgres://desk@database/desk?sslmode=disable":                 overLAN,
		"postgres://desk@127.0.0.1,db.example.com/desk?sslmode=disable": overInternet,
	} {
		if host, got := plainDatabase(url); got != want {
			t.Errorf("%s is judged %d (%s), want %d", url, got, host, want)
		}
	}
}

func TestEveryDangerStopsTheStartUnlessItIsAllowed(t *testing.T) {
	safe := serveCmd{Addr: "127.0.0.1:8080", MCPAddr: "127.0.0.1:8081"}
	for name, tc := range map[string]struct {
		change   func(*serveCmd)
		database string
		check    string // "": no danger
	}{
		"this machine alone":                {func(*serveCmd) {}, "sqlite:a.db", ""},
		"https before it":                   {func(c *serveCmd) { c.Addr, c.MCPAddr, c.PublicURL = ":8080", ":8081", "https://desk.example.com" }, "sqlite:a.db", ""},
		"open without https":                {func(c *serveCmd) { c.Addr = "0.0.0.0:8080" }, "sqlite:a.db", "transport"},
		"open for agents":                   {func(c *serveCmd) { c.MCPAddr = "[::]:8081" }, "sqlite:a.db", "transport"},
		"a public URL in the clear":         {func(c *serveCmd) { c.PublicURL = "http://desk.example.com" }, "sqlite:a.db", "transport"},
		"an MCP URL in the clear":           {func(c *serveCmd) { c.PublicURL, c.MCPURL = "https://desk.example.com", "http://mcp.example.com/mcp" }, "sqlite:a.db", "transport"},
		"localhost by name":                 {func(c *serveCmd) { c.PublicURL = "http://localhost:8080" }, "sqlite:a.db", ""},
		"a proxy":                           {func(c *serveCmd) { c.TrustedProxy = []string{"10.0.0.0/24"} }, "sqlite:a.db", ""},
		"everybody a proxy":                 {func(c *serveCmd) { c.TrustedProxy = []string{"127.0.0.1", "::/0"} }, "sqlite:a.db", "proxies"},
		"a database in the clear far away":  {func(*serveCmd) {}, "postgres://desk@db.example.com/desk?sslmode=disable", "database connection"},
		"a database in the clear next door": {func(*serveCmd) {}, "postgres://desk@database/desk?sslmode=disable", ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := safe
			tc.change(&c)
			publicURL, mcpURL, err := c.urls()
			if err != nil {
				t.Fatal(err)
			}
			proxies, err := proxy.Parse(c.TrustedProxy...)
			if err != nil {
				t.Fatal(err)
			}
			refused := checkUnsafe(c, publicURL, mcpURL, tc.database, proxies)
			if (refused != nil) != (tc.check != "") || refused != nil && strings.Count(refused.Error(), "\n") == 0 {
				t.Errorf("starting is answered %v", refused)
			}
			d := &doctor{}
			d.addresses(c, tc.database)
			if got := d.level(tc.check); tc.check != "" && got != levelProblem {
				t.Errorf("doctor says %s of %s: %+v", got, tc.check, d.findings)
			}
			for _, f := range d.findings {
				if f.Level == levelProblem && f.Check != tc.check || f.Level != levelOK && f.Do == "" {
					t.Errorf("doctor finds %+v", f)
				}
			}
			c.Insecure = true
			if err := checkUnsafe(c, publicURL, mcpURL, tc.database, proxies); err != nil {
				t.Errorf("--insecure is answered %v", err)
			}
			d = &doctor{}
			d.addresses(c, tc.database)
			if got := d.level(tc.check); tc.check != "" && got != levelWarning {
				t.Errorf("with --insecure doctor says %s", got)
			}
		})
	}
}

// level is the worst that was found of a check.
func (d *doctor) level(check string) level {
	worst := levelOK
	for _, f := range d.findings {
		if f.Check == check && f.Level != levelOK && worst != levelProblem {
			worst = f.Level
		}
	}
	return worst
}

func TestClocksThatDifferAreAProblem(t *testing.T) {
	now := time.Date(2026, 10, 5, 9, 0, 0, 0, time.UTC)
	for ahead, want := range map[time.Duration]level{0: levelOK, 4 * time.Second: levelOK, -4 * time.Second: levelOK, 6 * time.Second: levelProblem, -time.Hour: levelProblem} {
		d := &doctor{now: now}
		d.trail(models.Health{ClockAhead: ahead})
		if got := d.level("clock"); got != want {
			t.Errorf("%v apart is %s", ahead, got)
		}
	}
	d := &doctor{now: now}
	d.trail(models.Health{LastEvent: models.At(now.Add(time.Hour))})
	if d.level("clock") != levelProblem {
		t.Error("a trail from the future is fine")
	}
}
