package upgrade

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/weft-hpc/weft/dev/effort"
)

// load are jobs that start and end on all nodes while daemons are upgraded, by the programs that are installed there.
type load struct {
	s   *system
	all sync.WaitGroup

	mu    sync.Mutex
	live  map[string]string // by VNI: a job
	count map[string]int    // of jobs that were ready, by node and kind
	bad   []string
}

// fail notes what went wrong.
func (l *load) fail(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bad = append(l.bad, fmt.Sprintf(format, args...))
}

func (l *load) failures() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.bad
}

// ready counts a job that has its VNIs.
func (l *load) ready(vnis, who, kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if other := l.live[vnis]; other != "" || vnis == "" {
		l.bad = append(l.bad, fmt.Sprintf("VNI %q has %s while %s lives", vnis, who, other))
	}
	l.live[vnis] = who
	l.count[kind]++
}

func (l *load) ended(vnis string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.live, vnis)
}

// counts are the jobs that were ready so far.
func (l *load) counts(kind string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.count[kind]
}

// runs has `weft run` start one job after the other on a node.
func (l *load) runs(ctx context.Context, node string) {
	for ctx.Err() == nil {
		k, err := l.s.begin(node, l.s.program(node, "weft"))
		if err != nil {
			l.fail("%v", err)
			return
		}
		l.ready(k.vnis, k.name, node)
		if n := len(only(l.s.services(node), k.vnis)); n != 2 {
			l.fail("job %s: %d services on 2 NICs", k.name, n)
		}
		l.ended(k.vnis) // another job may have the VNI from the moment in which this one ends
		k.finish()
	}
}

// wide has hooks start and end one job after the other on some nodes.
func (l *load) wide(ctx context.Context, random *rand.Rand) {
	for ctx.Err() == nil {
		nodes := make([]string, 1+random.IntN(min(3, len(l.s.nodes))))
		for i, at := range random.Perm(len(l.s.nodes))[:len(nodes)] {
			nodes[i] = l.s.nodes[at]
		}
		name := l.s.submit(nodes...)
		vnis := l.hooks(nodes, "prolog", name)
		for _, v := range vnis {
			if v != vnis[0] {
				l.fail("job %s has VNIs %v on %v", name, vnis, nodes)
			}
		}
		l.ready(vnis[0], "job "+name, "wide")
		l.ended(vnis[0])
		l.s.over(name)
		l.hooks(nodes, "epilog", name)
	}
}

// hooks runs a phase of a job on its nodes at the same time.
func (l *load) hooks(nodes []string, phase, name string) []string {
	vnis := make([]string, len(nodes))
	var all sync.WaitGroup
	for i, node := range nodes {
		all.Go(func() {
			var err error
			if vnis[i], err = l.s.hook(node, l.s.program(node, "weft-hook"), phase, name); err != nil {
				l.fail("%v", err)
			}
		})
	}
	all.Wait()
	return vnis
}

// TestRolling upgrades all hosts under load, server first. No job fails: each job that starts meanwhile waits until the
// daemon is back. WEFT_NIGHT=1 does so with eight agents, and takes them back.
func TestRolling(t *testing.T) {
	t.Parallel()
	nodes := []string{"n1", "n2"}
	if effort.Night() {
		nodes = append(nodes, "n3", "n4", "n5", "n6", "n7", "n8")
	}
	newSystem(t, mark, nodes...).rolls()
}

// TestRollingServers does the same with three servers. Each standby comes before the server that leads.
func TestRollingServers(t *testing.T) {
	t.Parallel()
	effort.NeedNight(t)
	need(t)
	if _, err := os.Stat(filepath.Join(filepath.Dir(mark.dir), "source/config/etcd.go")); err != nil {
		t.Skip("NOT RUN: several servers, since this release mark had one server")
	}
	newSeveral(t, mark, "n1", "n2", "n3", "n4", "n5", "n6", "n7", "n8").rolls()
}

// rolls upgrades all hosts under load.
func (s *system) rolls() {
	t, nodes := s.t, s.nodes
	t.Helper()
	s.up()
	ctx, stop := context.WithCancel(t.Context())
	l := &load{s: s, live: map[string]string{}, count: map[string]int{}}
	defer l.all.Wait()
	defer stop()
	for _, node := range nodes {
		l.all.Go(func() { l.runs(ctx, node) })
	}
	for i := range 2 {
		l.all.Go(func() { l.wide(ctx, rand.New(rand.NewPCG(1, uint64(i)))) })
	}
	goesOn := func(after string) {
		t.Helper()
		before := map[string]int{"wide": l.counts("wide")}
		for _, node := range nodes {
			before[node] = l.counts(node)
		}
		s.until("jobs start after "+after, func() (bool, string) {
			for kind, n := range before {
				if l.counts(kind) == n && len(l.failures()) == 0 {
					return false, kind
				}
			}
			return true, ""
		})
		if bad := l.failures(); len(bad) > 0 {
			t.Fatalf("after %s: %v", after, bad)
		}
	}
	goesOn("the start")
	standbys := slices.DeleteFunc(slices.Clone(s.servers), func(host string) bool { return host == s.leader })
	s.servers = append(standbys, s.leader)
	for _, host := range s.hosts() {
		s.upgrade(host, tree)
		goesOn("the upgrade of " + host)
	}
	for _, host := range slices.Backward(s.hosts()) {
		if !effort.Night() {
			break
		}
		s.upgrade(host, mark)
		goesOn(host + " went back")
	}
	stop()
	l.all.Wait()
	if bad := l.failures(); len(bad) > 0 {
		t.Error(bad)
	}
	s.clean()
	t.Logf("jobs that started: %v", l.count)
}
