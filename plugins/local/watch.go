package local

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
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
	t.notify()
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

// notify wakes the watches; t.mu is held.
func (t *Table) notify() {
	for wake := range t.watches {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// watched lets the table wake a watch, or no longer do so.
func (t *Table) watched(wake chan struct{}, yes bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if delete(t.watches, wake); yes {
		t.watches[wake] = true
	}
}

// Watch tells the jobs of the plugin's Tables: that it asks, the complete answer, then what changes, and both anew every 10 s. A job of several nodes is
// final when none of them has it.
func (p *Plugin) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	if len(p.tables) == 0 {
		return core.Errorf(core.NotSupported, "scheduler %s: there is no table of jobs here", p.name).WithRemedy("a local job's truth is on its node: the agent's reports tell it")
	}
	wake := make(chan struct{}, 1)
	for _, t := range p.tables {
		t.watched(wake, true)
		defer t.watched(wake, false)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for complete := true; ; {
		if err := p.answer(complete, tell); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-wake:
			complete = false
		case <-tick.C:
			complete = true
		}
	}
}

// answer tells what runs now and did not when it told last; then what has ended. What ended is in no complete answer, and to be final is more than to be
// absent. After a complete answer it tells all that has ended since the one before, since the listener may have lost it.
func (p *Plugin) answer(complete bool, tell func(core.Jobs) error) error {
	if complete {
		if err := tell(core.Jobs{Asking: true}); err != nil {
			return err
		}
	}
	p.mu.Lock()
	told := p.told
	p.mu.Unlock()
	now := p.running()
	known, changed := maps.Clone(now), map[string]core.JobStatus{}
	for id, s := range told {
		if _, runs := now[id]; runs {
			continue
		}
		if complete || s.State != core.JobFinal {
			s.State = core.JobFinal
			changed[id] = s
		}
		if !complete {
			known[id] = s
		}
	}
	if complete {
		if err := tell(core.Jobs{Complete: true, Jobs: sorted(now)}); err != nil {
			return err
		}
	} else {
		for id, s := range now {
			if _, ran := told[id]; !ran {
				changed[id] = s
			}
		}
	}
	if len(changed) > 0 {
		if err := tell(core.Jobs{Jobs: sorted(changed)}); err != nil {
			return err
		}
	}
	p.mu.Lock()
	p.told = known
	p.mu.Unlock()
	return nil
}

// running are the jobs of all Tables.
func (p *Plugin) running() map[string]core.JobStatus {
	all := map[string]core.JobStatus{}
	for _, t := range p.tables {
		for _, e := range t.Jobs() {
			all[e.Job] = core.JobStatus{Run: p.run(e), State: core.JobRunning, Hosts: strings.Join(e.Hosts, ",")}
		}
	}
	return all
}

func sorted(all map[string]core.JobStatus) []core.JobStatus {
	return slices.SortedFunc(maps.Values(all), func(a, b core.JobStatus) int { return strings.Compare(a.Job, b.Job) })
}
