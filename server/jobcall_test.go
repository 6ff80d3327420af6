package server_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

// deaf is a scheduler that does not take what it is told.
type deaf struct {
	*scheduler
	told int
}

func (d *deaf) Fail(context.Context, core.Key, string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.told++
	return errors.New("not now")
}

func (d *deaf) times() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.told
}

// everyNode has all nodes of a job refused at once.
func everyNode(t *testing.T, s *system, nodes int) {
	t.Helper()
	var all sync.WaitGroup
	for i := range nodes {
		all.Go(func() {
			_, err := s.Reserve(t.Context(), fmt.Sprintf("n%d", i+1), ask("1", "b"), core.Peer{})
			if e := core.AsError(err); e == nil || e.Reason != core.PolicyDenied {
				t.Errorf("node %d: got %v", i+1, err)
			}
		})
	}
	all.Wait()
	synctest.Wait()
}

func TestAJobOfManyNodesIsToldToItsSchedulerOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) { n.Policy = generous{deny: 1000} })
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const nodes = 300
		for i := range nodes {
			s.attend(ctx, fmt.Sprintf("n%d", i+1), "b", nil)
		}
		everyNode(t, s, nodes)
		time.Sleep(20 * time.Second) // nodes whose Prolog came late
		everyNode(t, s, nodes)
		if len(s.sched.failed) != 1 {
			t.Errorf("the scheduler was told %d times that one job fails", len(s.sched.failed))
		}
		time.Sleep(2 * time.Minute) // it lives all the same: it is told once more
		everyNode(t, s, 1)
		if len(s.sched.failed) != 2 {
			t.Errorf("the scheduler was told %d times", len(s.sched.failed))
		}
	})
}

func TestASchedulerThatDoesNotTakeItIsToldAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &deaf{}
		s := start(t, func(n *server.Needs) {
			n.Policy = generous{deny: 1000}
			d.scheduler = n.Schedulers["s"].(core.Dispatcher).Of.(*scheduler)
			n.Schedulers = map[string]core.SchedulerClient{"s": core.Dispatcher{Of: d}}
		})
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range 2 {
			s.attend(ctx, fmt.Sprintf("n%d", i+1), "b", nil)
		}
		everyNode(t, s, 2)
		time.Sleep(time.Minute)
		if n := d.times(); n != 3 {
			t.Errorf("it was told %d times for two nodes, want the three tries of one", n)
		}
		everyNode(t, s, 1)
		time.Sleep(time.Minute)
		if n := d.times(); n != 6 {
			t.Errorf("it was told %d times, and took it never", n)
		}
	})
}
