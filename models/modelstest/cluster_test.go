package modelstest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestMain(m *testing.M) {
	if os.Getenv("APDESK_TEST_DIE_WITH_CLUSTER") == "1" {
		dieWithCluster()
	}
	Main(m)
}

func TestPostgresURL(t *testing.T) {
	t.Parallel()
	ctx := context.Background()

	t.Run("gives every test an empty database of its own", func(t *testing.T) {
		t.Parallel()
		first, second := PostgresURL(t), PostgresURL(t)
		if first == second {
			t.Fatalf("both are %s", first)
		}
		conn, err := pgx.Connect(ctx, first)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		var tables int
		if err := conn.QueryRow(ctx, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").Scan(&tables); err != nil {
			t.Fatal(err)
		}
		if tables != 0 {
			t.Errorf("%d tables in a new database, want none", tables)
		}
	})

	t.Run("hands over what it wrote before it answers, as in production", func(t *testing.T) {
		t.Parallel()
		conn, err := pgx.Connect(ctx, PostgresURL(t))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(ctx)
		for _, setting := range []string{"synchronous_commit"} {
			var value string
			if err := conn.QueryRow(ctx, "SHOW "+setting).Scan(&value); err != nil {
				t.Fatal(err)
			}
			if value != "on" {
				t.Errorf("%s is %s", setting, value)
			}
		}
	})

	t.Run("drops the database when its test ends", func(t *testing.T) {
		t.Parallel()
		var url string
		t.Run("a test", func(t *testing.T) { url = PostgresURL(t) })
		if url == "" {
			t.Skip("no PostgreSQL here")
		}
		if conn, err := pgx.Connect(ctx, url); err == nil {
			conn.Close(ctx)
			t.Errorf("%s still answers", url)
		}
	})
}

// dieWithCluster is the child of the next test: it starts a cluster, tells
// where, and hangs until it is killed.
func dieWithCluster() {
	c, err := startCluster()
	if err != nil {
		fmt.Println("failed:", err)
		os.Exit(1)
	}
	fmt.Println(c.dir, c.guard.Process.Pid)
	select {}
}

func TestClusterEndsWithAKilledTestProcess(t *testing.T) {
	t.Parallel()
	if _, _, err := findPrograms(); errors.Is(err, errNoPostgres) && os.Getenv(RequirePostgres) != "1" {
		t.Skip(err)
	}
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), "APDESK_TEST_DIE_WITH_CLUSTER=1")
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var dir, guard string
	if _, err := fmt.Fscan(out, &dir, &guard); err != nil {
		t.Fatal(err)
	}
	server, err := os.ReadFile(dir + "/data/postmaster.pid")
	if err != nil {
		t.Fatalf("%s: %v", dir, err)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait() // reports the kill

	waitForEnd(t, guard)
	waitForEnd(t, strings.SplitN(string(server), "\n", 2)[0])
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("%s is still there (%v)", dir, err)
	}
}

// waitForEnd returns once the process has ended. It is no child of this one,
// so the only way to wait for it is to ask.
func waitForEnd(t *testing.T, process string) {
	t.Helper()
	if out, err := exec.Command("tail", "--pid="+process, "-f", "/dev/null").CombinedOutput(); err != nil {
		t.Fatalf("wait for process %s to end: %v %s", process, err, out)
	}
}
