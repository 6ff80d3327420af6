package upgrade

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/etcdtest"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/server"
)

// patience is how long something may take that has to come. Nothing waits that long when all is well.
const patience = 90 * time.Second

// theServer is the server's name among the hosts.
const theServer = "server"

// system is servers and agents, each on a host with its own programs, with TLS between them and simulated NICs.
type system struct {
	t       *testing.T
	dir     string
	servers []string
	leader  string // of the servers
	etcd    string // endpoint of the etcd that several servers share
	ports   map[string]int
	nodes   []string
	procs   map[string]*exec.Cmd
	jobs    atomic.Uint64 // of scheduler "files"
}

// newSystem makes the files of a system with one server, all of release r. Nothing runs yet.
func newSystem(t *testing.T, r release, nodes ...string) *system {
	t.Helper()
	need(t)
	return lay(t, r, &system{servers: []string{theServer}, nodes: nodes})
}

// newSeveral is newSystem with three servers that share an etcd.
func newSeveral(t *testing.T, r release, nodes ...string) *system {
	t.Helper()
	need(t)
	etcd := etcdtest.Start(t).Client().Endpoints()[0]
	return lay(t, r, &system{servers: []string{"a", "b", "c"}, nodes: nodes, etcd: etcd})
}

func lay(t *testing.T, r release, s *system) *system {
	t.Helper()
	dir, err := os.MkdirTemp("", "weft")
	must(t, err)
	s.t, s.dir, s.leader, s.procs, s.ports = t, dir, s.servers[0], map[string]*exec.Cmd{}, map[string]int{}
	t.Cleanup(s.end)
	must(t, os.Chmod(dir, 0o755))
	must(t, os.Mkdir(s.path("jobs"), 0o755))
	must(t, os.Mkdir(s.path("policy"), 0o755))
	must(t, copyFile(mark.path("site.policy.hcl"), s.path("policy", "site.policy.hcl")))
	must(t, identity.Init(s.path("tls"), []string{"127.0.0.1"}, time.Now()))
	for _, host := range s.hosts() {
		for _, folder := range []string{"bin", "run", "tls", "witness"} {
			must(t, os.MkdirAll(s.path(host, folder), 0o755))
		}
		s.install(host, r)
		if s.serving(host) {
			s.ports[host] = freePort(t)
			continue
		}
		must(t, identity.IssueNode(s.path("tls"), host, time.Now()))
		for _, file := range []string{identity.CAFile, host + ".crt", host + ".key"} {
			must(t, os.Link(s.path("tls", file), s.path(host, "tls", file)))
		}
	}
	return s
}

func (s *system) hosts() []string { return slices.Concat(s.servers, s.nodes) }

// serving reports whether a host runs a server.
func (s *system) serving(host string) bool { return slices.Contains(s.servers, host) }

func (s *system) path(name ...string) string {
	return filepath.Join(append([]string{s.dir}, name...)...)
}

func (s *system) program(host, name string) string { return s.path(host, "bin", name) }

func (s *system) run(node string) rundir.Dir { return rundir.Dir(s.path(node, "run")) }

// socket is that of the server that leads.
func (s *system) socket() string { return s.path(s.leader, "run", "server.sock") }

// install puts the programs of r in the place of a host's, as a package does: each file is replaced as a whole, and
// running daemons keep theirs.
func (s *system) install(host string, r release, programs ...string) {
	s.t.Helper()
	if len(programs) == 0 {
		programs = []string{"weft", "weft-hook", "adapter"}
	}
	for _, name := range programs {
		next := s.program(host, name+".new")
		if err := os.Link(r.path(name), next); err != nil {
			must(s.t, copyFile(r.path(name), next)) // another file system
		}
		must(s.t, os.Rename(next, s.program(host, name)))
	}
}

// configure writes a host's config.hcl: a host's differs from another's in its paths alone.
func (s *system) configure(host string) {
	s.t.Helper()
	store := "store = \"server.db\"\n  witness = \"witness/server.head\""
	if s.etcd != "" {
		store = fmt.Sprintf("name = %q\n  etcd {\n    endpoints = [%q]\n    lease = \"2s\"\n  }", host, s.etcd)
	}
	var ways []string
	for _, name := range s.servers {
		ways = append(ways, fmt.Sprintf("%q", fmt.Sprintf("127.0.0.1:%d", s.ports[name])))
	}
	way := "server = " + ways[0]
	if len(ways) > 1 {
		way = "servers = [" + strings.Join(ways, ", ") + "]"
	}
	text := fmt.Sprintf(`
nodes  = %q
policy = %q
pool "jobs" {
  vnis       = "2000-2199"
  quarantine = "1s"
}
scheduler "local" "local" {
  jobs_per_user = 100
}
scheduler "adapter" "files" {
  command = [%q]
  dir     = %q
}
driver "sim" {
  nics  = 2
  state = %q
  sync  = false
}
server {
  socket = "run/server.sock"
  %s
  listen = "127.0.0.1:%d"
  tls    = %q
}
agent {
  %s
  dir = "run"
  tls = "tls"
}
`, strings.Join(s.nodes, ","), s.path("policy"), s.program(host, "adapter"), s.path("jobs"), s.path(host, "nics"),
		store, cmp.Or(s.ports[host], s.ports[s.leader]), s.path("tls"), way)
	must(s.t, os.WriteFile(s.path(host, "config.hcl"), []byte(text), 0o644))
}

// freePort is a port without a listener. Another process may take it before the server does; then up takes another.
func freePort(t *testing.T) int {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer ln.Close()
	return ln.Addr().(*net.TCPAddr).Port
}

// up starts all daemons and waits until every node is in session.
func (s *system) up() {
	s.t.Helper()
	for _, host := range s.servers {
		for try := 1; ; try++ {
			s.start(host)
			if s.serves(host) {
				break
			}
			if try == 5 {
				s.t.Fatalf("server %s does not start", host)
			}
			s.ports[host] = freePort(s.t)
		}
	}
	s.leads()
	for _, n := range s.nodes {
		s.start(n)
	}
	s.attached()
}

// start starts a host's daemon, of the release that is installed there.
func (s *system) start(host string) {
	s.t.Helper()
	s.configure(host)
	verb := "agent"
	if s.serving(host) {
		verb = "server"
	}
	f, err := os.OpenFile(s.path(host, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	must(s.t, err)
	defer f.Close()
	c := exec.Command(s.program(host, "weft"), verb, "--config", s.path(host, "config.hcl"))
	c.Stdout, c.Stderr = f, f
	must(s.t, c.Start())
	s.procs[host] = c
}

// stop ends a host's daemon as systemd does.
func (s *system) stop(host string) {
	s.t.Helper()
	p := s.procs[host]
	must(s.t, p.Process.Signal(syscall.SIGTERM))
	if err := p.Wait(); err != nil {
		s.t.Errorf("%s: %v", host, err)
	}
}

// upgrade puts a host from its release to r: the programs, then a restart.
func (s *system) upgrade(host string, r release) {
	s.t.Helper()
	s.install(host, r)
	s.stop(host)
	s.start(host)
	if !s.serving(host) {
		s.answers(host)
		return
	}
	if !s.serves(host) {
		s.t.Fatalf("server %s of release %s does not start", host, r.name)
	}
	s.leads()
}

// leads waits until one of the servers leads, which others then speak of.
func (s *system) leads() {
	s.t.Helper()
	if len(s.servers) == 1 {
		return
	}
	s.until("a server leads", func() (bool, string) {
		var seen []string
		for _, host := range s.servers {
			var st server.Status
			err := hook.Call(s.t.Context(), s.path(host, "run", "server.sock"), "status", nil, &st)
			if err == nil && st.Servers != nil && st.Servers.Leads {
				s.leader = host
				return true, ""
			}
			seen = append(seen, fmt.Sprintf("%s: %+v %v", host, st.Servers, err))
		}
		return false, strings.Join(seen, "\n")
	})
}

// answers waits until a node's agent answers. Its predecessor has ended.
func (s *system) answers(node string) {
	s.t.Helper()
	s.until(node+" answers", func() (bool, string) {
		err := hook.Call(s.t.Context(), s.run(node).RootSocket(), "plugins", nil, nil)
		return err == nil, fmt.Sprint(err)
	})
}

// serves waits until a server answers; false when it has ended instead.
func (s *system) serves(host string) bool {
	s.t.Helper()
	p, answers := s.procs[host], false
	s.until("server "+host+" answers", func() (bool, string) {
		var st server.Status
		err := hook.Call(s.t.Context(), s.path(host, "run", "server.sock"), "status", nil, &st)
		answers = err == nil
		return answers || over(p), fmt.Sprint(err)
	})
	return answers
}

// over reports whether a process has ended. Another call waits for it.
func over(p *exec.Cmd) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.Process.Pid))
	_, rest, ok := bytes.Cut(stat, []byte(") "))
	return err != nil || !ok || rest[0] == 'Z'
}

// attached waits until every node is in session with the server.
func (s *system) attached() {
	s.t.Helper()
	s.until("every node is attached", func() (bool, string) {
		rows, err := hook.List[server.NodeRow](s.t.Context(), s.socket(), "nodes", nil)
		up := 0
		for _, r := range rows {
			if r.State == "up" && len(r.NICs) > 0 {
				up++
			}
		}
		return err == nil && up == len(s.nodes), fmt.Sprint(rows, err)
	})
}

// end leaves nothing behind.
func (s *system) end() {
	for host, p := range s.procs {
		_ = p.Process.Kill()
		_ = p.Wait()
		if text, err := os.ReadFile(s.path(host, "log")); s.t.Failed() {
			s.t.Logf("%s said: %v\n%s", host, err, text[max(0, len(text)-8<<10):])
		}
	}
	_ = os.RemoveAll(s.dir)
}

// services are those of jobs on a node's NICs. They are read from the NICs' own state, without a daemon.
func (s *system) services(node string) (jobs []core.Service) {
	s.t.Helper()
	all, err := sim.At(s.path(node, "nics")).Services(s.t.Context())
	must(s.t, err)
	for _, one := range all {
		if !one.System && !one.Default {
			jobs = append(jobs, one)
		}
	}
	return jobs
}

// clean waits until nothing is left of any job: no reservation, no VNI in use, no service on any NIC.
func (s *system) clean() {
	s.t.Helper()
	s.until("nothing is left of any job", func() (bool, string) {
		rows, err := hook.List[server.VNIRow](s.t.Context(), s.socket(), "vnis", nil)
		left := 0
		for _, n := range s.nodes {
			left += len(s.services(n))
		}
		return err == nil && len(rows) == 0 && left == 0, fmt.Sprintf("%v %v; %d services", rows, err, left)
	})
}

// until waits for something that must come.
func (s *system) until(what string, so func() (ok bool, seen string)) {
	s.t.Helper()
	limit := time.NewTimer(patience)
	defer limit.Stop()
	for again := 10 * time.Millisecond; ; again = min(2*again, 200*time.Millisecond) {
		ok, seen := so()
		if ok {
			return
		}
		select {
		case <-time.After(again):
		case <-limit.C:
			s.t.Fatalf("%s: not within %s; last seen: %s", what, patience, seen)
		}
	}
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}
