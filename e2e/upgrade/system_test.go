package upgrade

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
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

// system is a server and agents, each on a host with its own programs, with TLS between them and simulated NICs.
type system struct {
	t      *testing.T
	dir    string
	port   int
	nodes  []string
	driver string // the block of the NIC driver, without its state; empty: the simulated one
	procs  map[string]*exec.Cmd
	jobs   atomic.Uint64 // of scheduler "files"
}

// newSystem makes the files of a system, all of release r. Nothing runs yet.
func newSystem(t *testing.T, r release, nodes ...string) *system {
	t.Helper()
	need(t)
	dir, err := os.MkdirTemp("", "weft")
	must(t, err)
	s := &system{t: t, dir: dir, nodes: nodes, procs: map[string]*exec.Cmd{}}
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
		if host == theServer {
			continue
		}
		must(t, identity.IssueNode(s.path("tls"), host, time.Now()))
		for _, file := range []string{identity.CAFile, host + ".crt", host + ".key"} {
			must(t, os.Link(s.path("tls", file), s.path(host, "tls", file)))
		}
	}
	s.port = freePort(t)
	return s
}

func (s *system) hosts() []string { return append([]string{theServer}, s.nodes...) }

func (s *system) path(name ...string) string {
	return filepath.Join(append([]string{s.dir}, name...)...)
}

func (s *system) program(host, name string) string { return s.path(host, "bin", name) }

func (s *system) run(node string) rundir.Dir { return rundir.Dir(s.path(node, "run")) }

func (s *system) socket() string { return s.path(theServer, "run", "server.sock") }

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
	driver := s.driver
	if driver == "" {
		driver = fmt.Sprintf("driver \"sim\" {\n  nics  = 2\n  state = %q\n  sync  = false\n}", s.path(host, "nics"))
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
%s
server {
  socket  = "run/server.sock"
  store   = "server.db"
  witness = "witness/server.head"
  listen  = "127.0.0.1:%[6]d"
  tls     = %[7]q
}
agent {
  server = "127.0.0.1:%[6]d"
  dir    = "run"
  tls    = "tls"
}
`, strings.Join(s.nodes, ","), s.path("policy"), s.program(host, "adapter"), s.path("jobs"), driver, s.port,
		s.path("tls"))
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
	for try := 1; ; try++ {
		s.start(theServer)
		if s.serves() {
			break
		}
		if try == 5 {
			s.t.Fatal("the server does not start")
		}
		s.port = freePort(s.t)
	}
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
	if host == theServer {
		verb = theServer
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
	if host == theServer && !s.serves() {
		s.t.Fatalf("the server of release %s does not start", r.name)
	}
	s.answers(host)
}

// answers waits until a host's daemon answers. The previous daemon has ended, so it is the new one.
func (s *system) answers(host string) {
	s.t.Helper()
	socket := s.socket()
	if host != theServer {
		socket = s.run(host).RootSocket()
	}
	s.until(host+" answers", func() (bool, string) {
		err := hook.Call(s.t.Context(), socket, "plugins", nil, nil)
		return err == nil, fmt.Sprint(err)
	})
}

// serves waits until the server answers; false when it has ended instead.
func (s *system) serves() bool {
	s.t.Helper()
	p, answers := s.procs[theServer], false
	s.until("the server answers", func() (bool, string) {
		var st server.Status
		err := hook.Call(s.t.Context(), s.socket(), "status", nil, &st)
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
