package local

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
)

// every is how often a Watch tells a complete answer anew.
const every = 10 * time.Second

// again is how long to wait before a pidfd that spoke too early is asked again.
const again = 10 * time.Millisecond

// watch waits for a job's process to be over.
func (t *Table) watch(j *job) {
	for p := j.process; p.wait() == nil; {
		next := t.still(j)
		if next == nil {
			t.end(j)
			return
		}
		t.mu.Lock()
		p.Close()
		if t.closed {
			next.Close()
		}
		j.process, p = next, next
		t.mu.Unlock()
	}
}

// still is the process anew when its pidfd spoke too early: kernels before 6.15 can do so while a thread that is not the first execs.
func (t *Table) still(j *job) *process {
	text, err := readProc(fmt.Sprintf("/proc/%d/stat", j.PID))
	if err != nil {
		return nil
	}
	if s, err := parseStat(text); err != nil || s.start != j.Start || s.state == 'Z' || s.state == 'X' {
		return nil
	}
	timer := time.NewTimer(again)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.closing:
	}
	p, err := hold(int(j.PID))
	if err != nil {
		return nil
	}
	if p.start != j.Start {
		p.Close()
		return nil
	}
	return p
}

// end takes a job out whose process is over.
func (t *Table) end(j *job) {
	t.mu.Lock()
	j.process.Close()
	delete(t.jobs, j.Job)
	t.ended[j.Job] = j.Entry
	t.notify(j.Entry)
	t.mu.Unlock()
	t.tell(j.Entry)
}

// tell tells Gone first and forgets then: an agent that is killed in between is told again.
func (t *Table) tell(e Entry) {
	if t.o.Gone != nil {
		t.o.Gone(e)
	}
	t.mu.Lock()
	delete(t.ended, e.Job)
	t.changed++
	need := t.changed
	t.mu.Unlock()
	if err := t.save(need); err != nil {
		t.o.Log.Warn("the table of local jobs was not written; a job that is over is told again after a restart", core.LogJob, e.Job, core.LogError, err)
	}
}

// notify tells the watchers that something about e changed; t.mu is held.
func (t *Table) notify(e Entry) {
	for w := range t.watchers {
		w.add(e)
	}
}

// watcher gathers what changed until its Watch has time for it.
type watcher struct {
	mu       sync.Mutex
	changed  map[string]Entry
	overflow bool // too much to remember: only a complete answer helps
	wake     chan struct{}
}

func newWatcher() *watcher {
	return &watcher{changed: map[string]Entry{}, wake: make(chan struct{}, 1)}
}

func (w *watcher) add(e Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.changed) >= MaxJobs {
		w.overflow = true
	} else {
		w.changed[e.Job] = e
	}
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// take empties the watcher.
func (w *watcher) take() (changed map[string]Entry, overflow bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed, overflow = w.changed, w.overflow
	w.changed, w.overflow = map[string]Entry{}, false
	return changed, overflow
}

// Watch tells the jobs of the plugin's Tables: that it asks, the complete answer, then what changes, and both anew every 10 s. A job of several nodes is
// final when none of them has it.
func (p *Plugin) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	if len(p.tables) == 0 {
		return core.Errorf(core.NotSupported, "scheduler %s: there is no table of jobs here", p.name).WithRemedy("a local job's truth is on its node: the agent's reports tell it")
	}
	w := newWatcher()
	for _, t := range p.tables {
		t.mu.Lock()
		t.watchers[w] = true
		t.mu.Unlock()
		defer func() {
			t.mu.Lock()
			delete(t.watchers, w)
			t.mu.Unlock()
		}()
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for complete := true; ; {
		if err := p.answer(w, complete, tell); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.wake:
			complete = false
		case <-tick.C:
			complete = true
		}
	}
}

// answer tells once.
func (p *Plugin) answer(w *watcher, complete bool, tell func(core.Jobs) error) error {
	changed, overflow := w.take()
	if !complete && !overflow {
		return p.changes(changed, tell)
	}
	if err := tell(core.Jobs{Asking: true}); err != nil {
		return err
	}
	all := map[string]core.JobStatus{}
	for _, t := range p.tables {
		for _, e := range t.Jobs() {
			all[e.Job] = p.status(e, core.JobRunning)
		}
	}
	if err := tell(core.Jobs{Complete: true, Jobs: sorted(all)}); err != nil {
		return err
	}
	// What ended meanwhile is in no complete answer, and to be final is more than to be absent.
	return p.changes(changed, tell)
}

func (p *Plugin) changes(changed map[string]Entry, tell func(core.Jobs) error) error {
	if len(changed) == 0 {
		return nil
	}
	all := make(map[string]core.JobStatus, len(changed))
	for id, e := range changed {
		state := core.JobFinal
		if _, ok := p.find(id); ok {
			state = core.JobRunning
		}
		all[id] = p.status(e, state)
	}
	return tell(core.Jobs{Jobs: sorted(all)})
}

func (p *Plugin) status(e Entry, state core.JobState) core.JobStatus {
	return core.JobStatus{Run: p.run(e), State: state, Hosts: strings.Join(e.Hosts, ",")}
}

func sorted(all map[string]core.JobStatus) []core.JobStatus {
	out := make([]core.JobStatus, 0, len(all))
	for _, s := range all {
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b core.JobStatus) int { return strings.Compare(a.Job, b.Job) })
	return out
}
