package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

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
}

// lease is as short as etcd grants.
const lease = 2 * time.Second

func newServers(t *testing.T, pool string, nodes ...string) *servers {
	t.Helper()
	effort.NeedFull(t)
	s := &servers{etcd: etcdtest.Start(t), all: []string{"a", "b", "c"}, ports: map[string]int{}}
	s.daemons = newDaemons(t, pool, "", nodes...)
	endpoint := s.etcd.Client().Endpoints()[0]
	var ways []string
	for _, name := range s.all {
		s.ports[name] = freePort(t)
		ways = append(ways, fmt.Sprintf("%q", fmt.Sprintf("127.0.0.1:%d", s.ports[name])))
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
		text = cut(text, "server = "+address, "servers = ["+strings.Join(ways, ", ")+"]")
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

// leads waits until one of the servers leads, and sees to it that the daemons ask that one.
func (s *servers) leads(but string) (name string) {
	s.t.Helper()
	s.until("a server leads", func() (bool, string) {
		var seen []string
		for _, name := range s.all {
			var st server.Status
			s.at = "run." + name
			err := hook.Call(s.t.Context(), s.socket(), "status", nil, &st)
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
			var st server.Status
			err := hook.Call(s.t.Context(), s.path("run."+name, "server.sock"), "status", nil, &st)
			if err == nil && name != leader && st.Servers.Warm {
				return true, ""
			}
			seen = append(seen, fmt.Sprintf("%s: %+v %v", name, st.Servers, err))
		}
		return false, strings.Join(seen, "\n")
	})
}

func TestALeaderIsKilled(t *testing.T) {
	t.Parallel()
	s := newServers(t, "2000-2039", "n1", "n2")
	for _, name := range s.all {
		s.start(name)
	}
	for _, n := range s.nodes {
		s.start(n)
	}
	leader := s.leads("")
	s.attached()
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
