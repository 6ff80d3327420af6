package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/liartest"
	"github.com/weft-hpc/weft/dev/schedulertest"
)

// controller starts and ends jobs of several nodes under the scheduler that lies. What it lies about it does itself in good order: a run's epilogs are over
// before the next of its job begins.
type controller struct {
	w      *witness
	random *rand.Rand
	runs   []*wide
	queue  []*schedulertest.Job // put back in it
	users  uint32
	count  map[string]int
}

// wide is a run of such a job.
type wide struct {
	job   *schedulertest.Job
	run   core.Run
	hosts []string
	vnis  string
}

func mustLook(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func (c *controller) work(ctx context.Context) {
	c.count = map[string]int{}
	for ctx.Err() == nil && c.w.failure() == nil {
		pause(c.random, 200*time.Millisecond)
		if len(c.runs) > 0 && (len(c.runs) == 3 || c.random.IntN(2) == 0) {
			i := c.random.IntN(len(c.runs))
			p := c.runs[i]
			c.runs = slices.Delete(c.runs, i, i+1)
			c.leave(ctx, p, c.random.IntN(4) == 0)
			continue
		}
		c.begin(ctx)
	}
}

// begin runs a job that waits, or a new one, on some nodes.
func (c *controller) begin(ctx context.Context) {
	hosts := slices.Clone(c.w.d.nodes)
	c.random.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	p := &wide{hosts: hosts[:1+c.random.IntN(len(hosts))]}
	var hooks []schedulertest.Hook
	c.w.liar.Do(func(m *schedulertest.Model) {
		if len(c.queue) > 0 {
			p.job, c.queue = c.queue[0], c.queue[1:]
		} else {
			// Each job has a user of its own, so that a service tells whose it is.
			c.users++
			p.job = m.Submit(int64(1_000_000+c.users), 30_000+c.users, core.Request{})
		}
		hooks = m.Start(p.job, p.hosts)
		p.run = p.job.Run
	})
	if c.random.IntN(6) == 0 {
		hooks = append(hooks, hooks[0])
	}
	vnis, errs := c.call(ctx, hooks)
	if len(errs) > 0 {
		c.count["refused: "+because(errs[0])]++
		c.w.because(errs[0].Error())
		c.leave(ctx, p, c.random.IntN(2) == 0)
		return
	}
	c.count["ready"]++
	p.vnis = vnis[0]
	for _, v := range vnis {
		if v != p.vnis && c.w.trusts(p) {
			c.w.fail("run %v has VNIs %v on its nodes %v", p.run, vnis, p.hosts)
		}
	}
	c.w.beginWide(p)
	c.runs = append(c.runs, p)
}

// because is the reason of a hook's failure, in a word.
func because(err error) string {
	if e, ok := errors.AsType[*core.Error](err); ok {
		return string(e.Reason)
	}
	_, text, _ := strings.Cut(err.Error(), ": ")
	word, _, _ := strings.Cut(text, ":")
	return word
}

// leave ends a run, for good or back to the queue.
func (c *controller) leave(ctx context.Context, p *wide, requeue bool) {
	c.w.endWide(p)
	var hooks []schedulertest.Hook
	c.w.liar.Do(func(m *schedulertest.Model) {
		if requeue {
			hooks = m.Requeue(p.job)
			c.queue = append(c.queue, p.job)
		} else {
			hooks = m.End(p.job)
		}
	})
	c.count["ended"]++
	_, _ = c.call(ctx, schedulertest.Muddle(hooks, c.random)) // what fails, or does not come, is the scheduler's answer to mend
}

// finish ends everything.
func (c *controller) finish() {
	for _, p := range c.runs {
		c.leave(context.Background(), p, false)
	}
	c.w.liar.Do(func(m *schedulertest.Model) {
		for _, j := range c.queue {
			m.End(j)
		}
	})
}

// call runs hooks at the same time.
func (c *controller) call(ctx context.Context, hooks []schedulertest.Hook) (vnis []string, errs []error) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, h := range hooks {
		all.Go(func() {
			v, err := liartest.Call(ctx, c.w.d.run(h.Node).RootSocket(), h)
			mu.Lock()
			defer mu.Unlock()
			if vnis = append(vnis, v); err != nil {
				errs = append(errs, err)
			}
		})
	}
	all.Wait()
	return vnis, errs
}

// trusts reports whether a run really has all of its nodes, and its scheduler never said otherwise.
func (w *witness) trusts(p *wide) bool {
	for _, h := range p.hosts {
		if !w.liar.Trusted(p.run, h) {
			return false
		}
	}
	return true
}

// still reports whether the run goes on, trusted, with VNIs v.
func (w *witness) still(v string, p *wide) bool {
	w.mu.Lock()
	same := w.wide[v] == p
	w.mu.Unlock()
	return same && w.trusts(p)
}

func (w *witness) wides() map[string]*wide {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.wide)
}

// unused fails where a VNI that was just given to who is a run's that goes on.
func (w *witness) unused(vnis, who string) {
	w.mu.Lock()
	other := w.wide[vnis]
	w.mu.Unlock()
	if other != nil && w.still(vnis, other) {
		w.fail("VNI %s was given to %s while run %v has it", vnis, who, other.run)
	}
}

func (w *witness) beginWide(p *wide) {
	if _, err := core.ParseVNI(p.vnis); err != nil {
		if w.trusts(p) {
			w.fail("run %v: VNIs %q", p.run, p.vnis)
		}
		return
	}
	w.unused(p.vnis, fmt.Sprint("run ", p.run))
	w.mu.Lock()
	local := w.live[p.vnis]
	w.wide[p.vnis] = p
	w.given[p.vnis]++
	w.mu.Unlock()
	if local != nil {
		w.fail("VNI %s was given to run %v while job %s runs with it", p.vnis, p.run, local.job)
	}
}

func (w *witness) endWide(p *wide) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.wide[p.vnis] == p {
		delete(w.wide, p.vnis)
	}
}

// compare sees that a node's NICs hold what the runs that go on there were told.
func (w *witness) compare(node string, all []core.Service, wides map[string]*wide) {
	for v, p := range wides {
		if !slices.Contains(p.hosts, node) {
			continue
		}
		got := slices.DeleteFunc(only(all, v), func(s core.Service) bool { return s.Owner != core.UID(p.run.UID) })
		if len(got) != 2 && w.still(v, p) {
			w.fail("run %v goes on with VNI %s, and %d NICs of %s have a service for it: %+v", p.run, v, len(got), node, all)
		}
	}
}

func (w *witness) because(why string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.why = why
}
