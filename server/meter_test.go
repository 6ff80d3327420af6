package server_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/server"
)

// tally counts what policy refuses.
type tally struct {
	mu sync.Mutex
	of map[string]int
}

func (*tally) Reserved(string, core.Reason, time.Duration)  {}
func (*tally) Described(string, core.Reason, time.Duration) {}
func (*tally) Committed(int, core.Reason, time.Duration)    {}
func (*tally) Answered(string)                              {}
func (c *tally) Denied(name string, by engine.Enforce)      { c.add("deny " + name + " " + by.String()) }
func (c *tally) Exceeded(name string, by engine.Enforce)    { c.add("quota " + name + " " + by.String()) }
func (c *tally) Degraded(scheduler string)                  { c.add("degraded " + scheduler) }

func (c *tally) add(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.of[what]++
}

// full lets nobody have a VNI by its quota, and has one quota and one deny tried out.
type full struct{ generous }

func (f full) Judge(facts engine.Facts) (engine.Decision, []engine.Denial) {
	d := f.Decide(facts)
	d.Quotas = []engine.Quota{{Name: "warns", Subject: "all", Enforce: engine.EnforceWarn}}
	if facts.Job.Job == "1" {
		d.Quotas = append(d.Quotas, engine.Quota{Name: "none", Subject: "all"})
	}
	return d, []engine.Denial{{Name: "tried", Enforce: engine.EnforceDryRun}}
}

// A job of many nodes that its quota refuses is one, however often its nodes ask; so is one that is only warned.
func TestAJobIsCountedOnceWhateverItsNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		counts := &tally{of: map[string]int{}}
		s := start(t, func(n *server.Needs) { n.Policy, n.Meter = full{}, counts })
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const nodes = 100
		for i := range nodes {
			s.attend(ctx, fmt.Sprintf("n%d", i+1), "b", nil)
		}
		everyNode := func(id string, reason core.Reason) {
			t.Helper()
			var all sync.WaitGroup
			for i := range nodes {
				all.Go(func() {
					_, err := s.Reserve(t.Context(), fmt.Sprintf("n%d", i+1), ask(id, "b"), core.Peer{})
					if e := core.AsError(err); (e == nil) != (reason == "") || e != nil && e.Reason != reason {
						t.Errorf("job %s, node %d: got %v", id, i+1, err)
					}
				})
			}
			all.Wait()
			synctest.Wait()
		}
		want := func(tried, warned, refused int) {
			t.Helper()
			counts.mu.Lock()
			defer counts.mu.Unlock()
			if diff := cmp.Diff(map[string]int{"deny tried dry_run": tried, "quota warns warn": warned, "quota none deny": refused}, counts.of); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		}
		everyNode("1", core.OverQuota)
		want(1, 1, 1)
		time.Sleep(20 * time.Second) // nodes whose Prolog came late
		everyNode("1", core.OverQuota)
		want(1, 1, 1)
		everyNode("2", "")
		want(2, 2, 1)
		time.Sleep(2 * time.Minute) // it came back from its queue
		everyNode("1", core.OverQuota)
		want(3, 3, 2)
	})
}
