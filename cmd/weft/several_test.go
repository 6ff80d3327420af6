package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/effort"
	"github.com/weft-hpc/weft/dev/etcdtest"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// servers are daemons with several servers that share an etcd.
type servers struct {
	*daemons
	etcd  *etcdtest.Member
	all   []string
	ports map[string]int
	ways  []string // the servers' addresses
	lease time.Duration
}

// shortest is as short as etcd grants a lease.
const shortest = 2 * time.Second

func newServers(t testing.TB, lease time.Duration, pool string, nodes ...string) *servers {
	t.Helper()
	effort.NeedFull(t)
	s := &servers{etcd: etcdtest.Start(t), lease: lease, all: []string{"a", "b", "c"}, ports: map[string]int{}}
	s.daemons = newDaemons(t, pool, "", nodes...)
	endpoint := s.etcd.Client().Endpoints()[0]
	for _, name := range s.all {
		s.ports[name] = freePort(t)
		s.ways = append(s.ways, fmt.Sprintf("127.0.0.1:%d", s.ports[name]))
	}
	cut := func(text, old, now string) string {
		s.t.Helper()
		if !strings.Contains(text, old) {
			s.t.Fatalf("config.hcl has no %q", old)
		}
		return strings.Replace(text, old, now, 1)
	}
	s.site = func(name, text string) string {
		address := fmt.Sprintf("\"127.0.0.1:%d\"", s.port)
		text = cut(text, "server = "+address, fmt.Sprintf(`servers = ["%s"]`, strings.Join(s.ways, `", "`)))
		if name != theServer {
			return text
		}
		etcd := fmt.Sprintf("etcd {\n    endpoints = [%q]\n    lease = %q\n  }", endpoint, lease)
		text = cut(text, `store       = "server.db"`, etcd)
		text = cut(text, `witness     = "run/server.head"`, "")
		for name, port := range s.ports {
			one := cut(text, address, fmt.Sprintf("\"127.0.0.1:%d\"", port))
			socket := fmt.Sprintf("name = %q\n  socket = \"run.%[1]s/server.sock\"", name)
			one = cut(one, `socket      = "run/server.sock"`, socket)
			s.must(os.MkdirAll(s.path("run."+name), 0o755))
			s.must(os.WriteFile(s.path(name+".hcl"), []byte(one), 0o644))
		}
		return text
	}
	s.configure()
	return s
}

// statusOf asks a server, which may be paused.
func (s *servers) statusOf(name string) (st server.Status, err error) {
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Second)
	defer cancel()
	err = hook.Call(ctx, s.path("run."+name, "server.sock"), "status", nil, &st)
	return st, err
}

// leads waits until one of the servers leads, and sees to it that the daemons ask that one.
func (s *servers) leads(but string) (name string) {
	s.t.Helper()
	s.until("a server leads", func() (bool, string) {
		var seen []string
		for _, name := range s.all {
			s.at = "run." + name
			st, err := s.statusOf(name)
			if err == nil && st.Servers.Leads && name != but {
				return true, ""
			}
			seen = append(seen, fmt.Sprintf("%s: %+v %v", name, st.Servers, err))
		}
		return false, strings.Join(seen, "\n")
	})
	return strings.TrimPrefix(s.at, "run.")
}

// warm waits until a standby could lead without waiting for nodes.
func (s *servers) warm(leader string) {
	s.t.Helper()
	s.until("a standby has followed the leader", func() (bool, string) {
		var seen []string
		for _, name := range s.all {
			st, err := s.statusOf(name)
			if err == nil && name != leader && st.Servers.Warm {
				return true, ""
			}
			seen = append(seen, fmt.Sprintf("%s: %+v %v", name, st.Servers, err))
		}
		return false, strings.Join(seen, "\n")
	})
}

// begun are several servers and their nodes, of which one server leads and another has followed it.
func (s *servers) begun() (leader string) {
	s.t.Helper()
	for _, name := range slices.Concat(s.all, s.nodes) {
		s.start(name)
	}
	leader = s.leads("")
	s.attached()
	s.warm(leader)
	return leader
}

// other is a server that does not lead.
func (s *servers) other(leader string) string {
	return s.all[(slices.Index(s.all, leader)+1)%len(s.all)]
}

// A standby answers what it reads, says how old that is, and refuses to change anything.
func TestAStandby(t *testing.T) {
	t.Parallel()
	s := newServers(t, shortest, "2000-2039", "n1")
	leader := s.begun()
	k := s.mustBegin("n1")
	standby := s.path("run."+s.other(leader), "server.sock")
	var note string
	ctx := hook.WithNotes(t.Context(), func(n string) { note = n })
	s.until("the standby knows the job", func() (bool, string) {
		rows, err := hook.List[server.VNIRow](ctx, standby, "vnis", nil)
		return err == nil && len(rows) == 1 && fmt.Sprint(rows[0].VNI) == k.vnis, fmt.Sprintf("%+v %v", rows, err)
	})
	if !strings.Contains(note, "does not lead, and read the store ") || !strings.HasSuffix(note, ": "+leader) {
		t.Errorf("it notes %q", note)
	}
	err := hook.Call(ctx, standby, "drain", server.NodeArgs{Nodes: "n1", Reason: "a test"}, nil)
	if core.ReasonOf(err) != core.Standby || !strings.Contains(core.AsError(err).Line(), "run it on "+leader) {
		t.Errorf("a drain: %v", err)
	}
	var st server.Status
	s.until("the standby knows all servers and etcd", func() (bool, string) {
		err := hook.Call(ctx, standby, "status", nil, &st)
		m := st.Servers
		ok := err == nil && m.Leader == leader && len(m.Members) == 3 && len(m.Etcd) == 1 && m.Etcd[0].Leads
		return ok, fmt.Sprintf("%+v %v", m, err)
	})
	s.must(hook.Call(ctx, standby, "reload", nil, nil))

	// A leader that is stopped politely leaves its place at once.
	began := time.Now()
	s.must(s.procs[leader].Process.Signal(syscall.SIGTERM))
	if err := s.procs[leader].Wait(); err != nil {
		t.Errorf("the leader that was stopped: %v", err)
	}
	s.all = slices.DeleteFunc(s.all, func(name string) bool { return name == leader })
	s.leads(leader)
	t.Logf("another led %v after a stop, with a lease of %v", time.Since(began).Round(time.Millisecond), s.lease)
	k.finish()
	s.clean()
}

// A leader that was paused for longer than its lease, and goes on, grants nothing and ends. So does one that etcd does
// not answer.
func TestALeaderIsPaused(t *testing.T) {
	t.Parallel()
	s := newServers(t, shortest, "2000-2039", "n1", "n2")
	old := s.begun()
	k := s.mustBegin("n1")
	s.must(s.procs[old].Process.Signal(syscall.SIGSTOP))
	leader := s.leads(old)
	other := s.mustBegin("n2")
	if other.vnis == k.vnis {
		t.Fatalf("VNI %s is in two jobs", k.vnis)
	}
	s.must(s.procs[old].Process.Signal(syscall.SIGCONT))
	s.until("the old leader ends", func() (bool, string) { return over(s.procs[old]), s.log(old) })
	if text := s.log(old); !strings.Contains(text, "leads no longer") {
		t.Errorf("it does not say why: %s", text)
	}
	s.warm(leader)

	s.etcd.Kill()
	s.until("the leader ends", func() (bool, string) { return over(s.procs[leader]), s.log(leader) })
	s.etcd.Run()
	s.start(old)
	s.start(leader)
	s.leads("")
	s.attached()
	third := s.mustBegin("n2")
	if third.vnis == k.vnis || third.vnis == other.vnis {
		t.Errorf("VNI %s is in two jobs", third.vnis)
	}
	for _, k := range []*task{k, other, third} {
		k.finish()
	}
	s.clean()
}

func TestALeaderIsKilled(t *testing.T) {
	t.Parallel()
	s := newServers(t, shortest, "2000-2039", "n1", "n2")
	leader := s.begun()
	lives := s.mustBegin("n1")
	var took []time.Duration
	for range 10 {
		s.warm(leader)
		s.kill(leader)
		began := time.Now()
		k, err := s.begin("n2")
		if err != nil {
			t.Fatalf("a job that could wait was refused: %v", err)
		}
		took = append(took, time.Since(began).Round(10*time.Millisecond))
		if k.vnis == lives.vnis {
			t.Fatalf("VNI %s is in two jobs", k.vnis)
		}
		k.finish()
		s.start(leader)
		leader = s.leads(leader)
		if st := s.status(); st.Cause != "" {
			t.Fatalf("a server that followed waits for nodes: %s", st.Cause)
		}
	}
	t.Logf("a job that began at the kill started after %v", took)
	s.attached()
	if got := only(s.services("n1"), lives.vnis); len(got) != 2 {
		t.Errorf("the job that went on has services %+v", got)
	}
	lives.finish()
	s.clean()
}
