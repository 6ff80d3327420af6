package daemon

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/poll"
)

// idleFor is how long an agent is watched.
const idleFor = time.Minute // two health checks of each plugin

// BenchmarkIdleProcesses watches a node's agent that has run some jobs and has nothing to do, weft as it is built, with its plugins in processes of their own: the NIC
// driver, and Slurm's adapter beside the local one. RSS counts the pages of the one program that they share once for each, PSS once.
func BenchmarkIdleProcesses(b *testing.B) {
	dir, err := os.MkdirTemp("", "weft") // b.TempDir can be too long for a socket
	if err != nil {
		b.Fatal(err)
	}
	defer os.RemoveAll(dir)
	must := func(err error) {
		b.Helper()
		if err != nil {
			b.Fatal(err)
		}
	}
	must(os.Chmod(dir, 0o755))
	weft := filepath.Join(dir, "weft")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", weft, "../cmd/weft")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, text)
	}
	now := time.Now()
	must(os.Mkdir(filepath.Join(dir, "run"), 0o755))
	must(identity.Init(filepath.Join(dir, "tls"), []string{"127.0.0.1"}, now))
	must(identity.IssueNode(filepath.Join(dir, "tls"), "n1", now))
	must(os.Mkdir(filepath.Join(dir, "n1.tls"), 0o700))
	for _, name := range []string{identity.CAFile, "n1.crt", "n1.key"} {
		text, err := os.ReadFile(filepath.Join(dir, "tls", name))
		must(err)
		must(os.WriteFile(filepath.Join(dir, "n1.tls", name), text, 0o600))
	}
	rules, err := filepath.Abs("../policy")
	must(err)
	file := filepath.Join(dir, "config.hcl")
	must(os.WriteFile(file, fmt.Appendf(nil, `
nodes  = "n1"
policy = %[1]q
pool "jobs" {
  vnis       = "1024-65535"
  quarantine = "1s"
}
scheduler "local" "local" {
}
scheduler "slurm" "tioga" {
}
driver "sim" {
  nics  = 4
  state = %[3]q
}
server {
  socket  = "run/server.sock"
  store   = "server.db"
  witness = "run/server.head"
  listen = "127.0.0.1:%[2]d"
  tls    = "tls"
}
agent {
  server = "127.0.0.1:%[2]d"
  dir    = "n1"
  tls    = "n1.tls"
}
`, rules, freePort(b), filepath.Join(dir, "nics")), 0o644))
	start := func(verb string) *exec.Cmd {
		c := exec.Command(weft, verb, "--config", file)
		said, err := os.Create(filepath.Join(dir, verb+".log"))
		must(err)
		defer said.Close()
		c.Dir, c.Stdout, c.Stderr = dir, said, said
		must(c.Start())
		return c
	}
	end := func(c *exec.Cmd) {
		_ = c.Process.Signal(syscall.SIGTERM)
		_ = c.Wait()
	}
	defer end(start("server"))
	agent := start("agent")
	defer end(agent)
	run := func() error {
		c := exec.Command(weft, "--dir", filepath.Join(dir, "n1"), "run", "--", "true")
		text, err := c.CombinedOutput()
		if err != nil {
			err = fmt.Errorf("%w: %s", err, text)
		}
		return err
	}
	for late := time.Now().Add(time.Minute); ; {
		if err = run(); err == nil {
			break
		}
		if time.Now().After(late) {
			server, _ := os.ReadFile(filepath.Join(dir, "server.log"))
			agent, _ := os.ReadFile(filepath.Join(dir, "agent.log"))
			b.Fatalf("no job starts: %v\n%s%s", err, server, agent)
		}
		poll.Pause(b.Context(), 200*time.Millisecond)
	}
	for range 20 {
		must(run())
	}
	var rows []plugin.Row
	must(hook.Call(b.Context(), rundir.Dir(filepath.Join(dir, "n1")).Socket(os.Geteuid() == 0), plugin.VerbList, nil, &rows))
	pids := []string{strconv.Itoa(agent.Process.Pid)}
	for _, r := range rows {
		if r.State != "ready" {
			b.Fatalf("%+v", r)
		}
		pids = append(pids, strconv.Itoa(r.PID))
	}
	var spent, passed, agents time.Duration // agents: of spent, the agent alone
	var resident, shared, own uint64
	for b.Loop() {
		poll.Pause(b.Context(), 2*time.Second) // whatever the jobs left to do
		began, mine, at := ran(b, pids), ran(b, pids[:1]), time.Now()
		poll.Pause(b.Context(), idleFor)
		spent += ran(b, pids) - began
		agents += ran(b, pids[:1]) - mine
		passed += time.Since(at)
		resident, shared, own = 0, 0, 0
		for i, pid := range pids {
			n := memoryOf(b, pid, "Rss:")
			if i == 0 {
				own = n
			}
			resident, shared = resident+n, shared+memoryOf(b, pid, "Pss:")
		}
	}
	b.ReportMetric(float64(len(pids)), "processes")
	b.ReportMetric(mib(own), "agent-RSS-MiB")
	b.ReportMetric(mib(resident), "RSS-MiB")
	b.ReportMetric(mib(shared), "PSS-MiB")
	b.ReportMetric(60, "budget-MiB")
	b.ReportMetric(100*spent.Seconds()/passed.Seconds(), "cpu-%")
	b.ReportMetric(100*agents.Seconds()/passed.Seconds(), "agent-cpu-%")
	b.ReportMetric(0.05, "budget-cpu-%")
}

// ran is the processor time that the threads of processes have had.
func ran(b *testing.B, pids []string) (all time.Duration) {
	b.Helper()
	for _, pid := range pids {
		threads, err := filepath.Glob("/proc/" + pid + "/task/*/schedstat")
		if err != nil || len(threads) == 0 {
			b.Fatalf("process %s has ended: %v", pid, err)
		}
		for _, path := range threads {
			text, err := os.ReadFile(path)
			if err != nil {
				continue // it ended meanwhile
			}
			ns, _, _ := strings.Cut(string(text), " ")
			n, err := strconv.ParseInt(ns, 10, 64)
			if err != nil {
				b.Fatalf("%s: %q", path, text)
			}
			all += time.Duration(n)
		}
	}
	return all
}

// memoryOf is a sum of a process's mappings, in bytes.
func memoryOf(b *testing.B, pid, what string) uint64 {
	b.Helper()
	text, err := os.ReadFile("/proc/" + pid + "/smaps_rollup")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n"+what)
	var n uint64
	if _, err := fmt.Sscan(rest, &n); !ok || err != nil {
		b.Fatalf("/proc/%s/smaps_rollup has no %s", pid, what)
	}
	return n << 10
}

// freePort is one that nobody listens at now.
func freePort(b testing.TB) int {
	b.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}
