package chaos

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/gatetest"
	"github.com/weft-hpc/weft/dev/liartest"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/hook/rundir"
	"github.com/weft-hpc/weft/identity"
	"github.com/weft-hpc/weft/server"
)

// site is one system.
type site struct {
	t testing.TB
	episode
	dir       string
	lan       *lan
	liar      *liartest.Liar
	scheduler string // its block of config.hcl
	told      *history

	servers, nodes []string
	copies         []string // of nodes, where there are some
	hosts          map[string]*host
	daemons        map[string]*daemon
	members        []string                    // of etcd
	gates          map[string][]*gatetest.Gate // of some nodes: one to each server
	boots          map[string]int              // of each node so far
}

// The quarantine is the shortest that may be configured, so that each VNI comes around again and again.
const (
	firstVNI    core.VNI = 2000
	quarantine           = time.Second
	port                 = 6464
	nics                 = 2
	nodesOfSite          = 3
)

// newSite makes a system; nothing runs yet.
func newSite(t testing.TB, e episode) *site {
	t.Helper()
	dir, err := os.MkdirTemp("", "chaos")
	must(t, err)
	t.Cleanup(func() {
		if !t.Failed() {
			_ = os.RemoveAll(dir)
		}
	})
	must(t, os.Chmod(dir, 0o755))
	s := &site{
		t: t, episode: e, dir: dir, lan: newLAN(t), told: newHistory(e.vnis()),
		hosts: map[string]*host{}, daemons: map[string]*daemon{}, gates: map[string][]*gatetest.Gate{},
		boots: map[string]int{},
	}
	names := []string{s.lan.own()}
	for i := range max(1, e.servers) {
		name := fmt.Sprintf("s%d", i+1)
		s.servers = append(s.servers, name)
		s.hosts[name] = s.lan.add(name, 1+i)
		names = append(names, s.hosts[name].address)
	}
	now := time.Now()
	must(t, identity.Init(s.path("tls"), names, now))
	for i := range nodesOfSite {
		name := fmt.Sprintf("n%d", i+1)
		s.nodes = append(s.nodes, name)
		s.hosts[name] = s.lan.add(name, 101+i)
		must(t, identity.IssueNode(s.path("tls"), name, now))
	}
	s.makeEtcd()
	must(t, os.Mkdir(s.path("policy"), 0o755))
	text, err := os.ReadFile("../../policy/default.policy.hcl")
	must(t, err)
	must(t, os.WriteFile(s.path("policy", "default.policy.hcl"), text, 0o644))
	self, err := os.Executable()
	must(t, err)
	s.liar = liartest.New(t, s.path("liar.sock"), e.seed)
	s.liar.Quiet()
	s.scheduler = s.liar.Block(self, pluginArg)
	for i, name := range anyCopied(s) {
		copy := copyOf(name)
		s.copies = append(s.copies, copy)
		s.hosts[copy] = s.lan.add(copy, 151+i)
	}
	for i, name := range slices.Concat(s.servers, s.nodes, s.copies) {
		s.prepare(name, i%2 == 1)
	}
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (s *site) path(name ...string) string { return filepath.Join(append([]string{s.dir}, name...)...) }

// prepare makes a host's folders, of which one is a small disk, and its config.hcl.
func (s *site) prepare(name string, gated bool) {
	s.t.Helper()
	for _, d := range []string{"run", "disk"} {
		must(s.t, os.MkdirAll(s.path(name, d), 0o755))
	}
	must(s.t, os.Mkdir(s.path(name, "tls"), 0o700))
	cert := copied(name)
	for _, file := range []string{identity.CAFile, cert + ".crt", cert + ".key", "server.crt", "server.key"} {
		text, err := os.ReadFile(s.path("tls", file))
		mine := strings.HasPrefix(file, "server") == strings.HasPrefix(name, "s") || file == identity.CAFile
		if mine && !errors.Is(err, fs.ErrNotExist) {
			must(s.t, errors.Join(err, os.WriteFile(s.path(name, "tls", file), text, 0o600)))
		}
	}
	must(s.t, syscall.Mount("tmpfs", s.path(name, "disk"), "tmpfs", 0, "size=8m,mode=0755"))
	s.t.Cleanup(func() { _ = syscall.Unmount(s.path(name, "disk"), syscall.MNT_DETACH) })
	for _, server := range s.servers {
		if gated && strings.HasPrefix(name, "n") {
			s.gates[name] = append(s.gates[name], gatetest.New(s.t, s.lan.own()+":0", s.hosts[server].at()))
		}
	}
	s.setClock(name)
	s.configure(name)
	verb := "agent"
	if strings.HasPrefix(name, "s") {
		verb = "server"
	}
	s.daemons[name] = newDaemon(s.t, s.path(name, "log"), func() *exec.Cmd {
		args := []string{s.weft, verb, "--config", s.path(name, "config.hcl")}
		if verb == "agent" {
			args = append(args, "--boot", s.boot(name), "--hardware", "board-of-"+name)
		}
		c := s.hosts[name].command(args...)
		c.Env = append(c.Env, clockEnv+"="+s.path(name, "clock"), syncEnv+"="+s.path(name, "sync-fails"))
		c.Env = append(c.Env, s.environ...)
		return c
	})
}

// configure writes a host's config.hcl.
func (s *site) configure(name string) {
	s.t.Helper()
	var at []string // the servers, as the host reaches them
	for i, server := range s.servers {
		at = append(at, s.hosts[server].at())
		if g := s.gates[name]; g != nil {
			at[i] = fmt.Sprintf("%s:%d", s.lan.own(), g[i].Port())
		}
	}
	agent := fmt.Sprintf("server = %q", at[0])
	store := fmt.Sprintf("store   = %q\n  witness = %q",
		s.path(name, "disk", "server.db"), s.path(name, "run", "server.head"))
	if s.episode.servers > 0 {
		agent, store = "servers = "+list(at), fmt.Sprintf("name    = %q\n  %s", name, s.etcdBlock())
	}
	vnis := s.vnis()
	text := fmt.Sprintf(`
nodes  = %q
policy = %q
pool "jobs" {
  vnis       = "%d-%d"
  quarantine = %q
}
driver "sim" {
  nics  = %d
  state = %q
  boot  = %q
  sync  = false
}
server {
  socket  = %q
  listen  = %q
  tls     = %q
  %s
}
agent {
  %s
  dir    = %q
  tls    = %[11]q
}
`, strings.Join(s.nodes, ","), s.path("policy"), vnis[0], vnis[len(vnis)-1], quarantine,
		nics, s.path(name, "nics"), s.boot(name),
		s.socket(name), s.hosts[name].at(), s.path(name, "tls"), store, agent, s.path(name, "disk"))
	must(s.t, os.WriteFile(s.path(name, "config.hcl"), []byte(text+s.scheduler), 0o644))
}

// list is a list of texts in HCL.
func list(texts []string) string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = fmt.Sprintf("%q", text)
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

// boot is the boot id of a host now.
func (s *site) boot(name string) string { return fmt.Sprintf("%s-%d", name, s.boots[name]) }

func (s *site) socket(server string) string { return s.path(server, "run", "server.sock") }

func (s *site) agentSocket(node string) string { return rundir.Dir(s.path(node, "disk")).RootSocket() }

// up starts all daemons and waits until every node is in session.
func (s *site) up() {
	s.t.Helper()
	for name, d := range s.daemons {
		if !slices.Contains(s.copies, name) {
			d.start()
		}
	}
	if err := s.attached(); err != nil {
		s.t.Fatalf("%v\n%s", err, s.logs())
	}
}

// patience is how long something may take that must come. Nothing waits that long when all is well.
const patience = time.Minute

// until waits for something that must come.
func until(what string, so func(ctx context.Context) (ok bool, seen string)) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		ok, seen := so(ctx)
		if ok {
			return nil
		}
		select {
		case <-time.After(20 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("liveness: %s: not within %s; last seen: %s", what, patience, seen)
		}
	}
}

// attached waits until every node is in service.
func (s *site) attached() error {
	return until("every node is in service", func(ctx context.Context) (bool, string) {
		rows, err := hook.List[server.NodeRow](ctx, s.socket(s.leader(ctx)), "nodes", nil)
		up := 0
		for _, r := range rows {
			if r.State == "up" && len(r.NICs) == nics && r.Drained == "" {
				up++
			}
		}
		return err == nil && up == len(s.nodes), fmt.Sprint(rows, err)
	})
}

// services are those of jobs that a node's NICs hold. It asks no daemon.
func (s *site) services(ctx context.Context, node string) ([]core.Service, error) {
	if _, err := os.Stat(s.path(node, "nics", "state")); errors.Is(err, fs.ErrNotExist) {
		return nil, nil // its driver has never started
	}
	all, err := sim.At(s.path(node, "nics")).Services(ctx)
	var of []core.Service
	for _, one := range all {
		if !one.System && !one.Default {
			of = append(of, one)
		}
	}
	return of, err
}

// clean waits until nothing is left of any job.
func (s *site) clean() error {
	return until("every VNI is in its pool again", func(ctx context.Context) (bool, string) {
		rows, err := hook.List[server.VNIRow](ctx, s.socket(s.leader(ctx)), "vnis", nil)
		left := 0
		for _, n := range s.nodes {
			all, err := s.services(ctx, n)
			if err != nil {
				return false, err.Error()
			}
			left += len(all)
		}
		return err == nil && len(rows) == 0 && left == 0, fmt.Sprintf("%d services; %v, %v", left, rows, err)
	})
}

// logs is the end of each daemon's log, for a failure.
func (s *site) logs() string {
	var out strings.Builder
	for _, name := range slices.Concat(s.servers, s.nodes, s.copies, s.members) {
		text, _ := os.ReadFile(s.path(name, "log"))
		fmt.Fprintf(&out, "%s said:\n%s\n", name, text[max(0, len(text)-6<<10):])
	}
	return out.String()
}

// panics finds a daemon that has ended with a trace.
func (s *site) panics() error {
	for name := range s.daemons {
		text, err := os.ReadFile(s.path(name, "log"))
		if err == nil && strings.Contains(string(text), "\ngoroutine ") {
			return fmt.Errorf("panic: %s", name)
		}
	}
	return nil
}
