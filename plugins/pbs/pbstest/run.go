package pbstest

import (
	"slices"
	"strconv"
	"strings"
)

// Schedule starts what waits, again and again as PBS does, until nothing more can start. A host has one job at a time.
func (c *Complex) Schedule() {
	c.move.Lock()
	defer c.move.Unlock()
	for c.cycle() {
	}
}

// cycle tries each job that waits once; true: one may be tried again at once.
func (c *Complex) cycle() bool {
	again := false
	for _, j := range c.waiting() {
		on := c.place(j)
		if on == nil {
			continue
		}
		if r := c.fire("runjob", nil, j); r.Rejected {
			c.set(j, func() { j.Comment, j.On = "Not Running: PBS Error: "+r.Message, nil })
			continue
		}
		again = c.start(j) || again
	}
	return again
}

func (c *Complex) waiting() []*Job {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []*Job
	for _, j := range c.jobs {
		if j.State == "Q" {
			all = append(all, j)
		}
	}
	return all
}

// place finds hosts for a job.
func (c *Complex) place(j *Job) []*Host {
	c.mu.Lock()
	defer c.mu.Unlock()
	var on []*Host
	for _, h := range c.hosts {
		if h.usable() && len(h.jobs) == 0 && len(on) < j.Hosts {
			on = append(on, h)
		}
	}
	if len(on) < j.Hosts {
		return nil
	}
	j.On = on
	return on
}

func (c *Complex) set(j *Job, f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f()
	if j.State != "R" {
		for _, h := range c.hosts {
			h.drop(j)
		}
		j.On = nil
	}
}

// rejected is what the server makes of a job's comment when a MOM rejects the job, whatever it was.
const rejected = "Not Running: PBS Error: Execution server rejected request and failed"

// start sends a job to its MOMs; true: it is back in the queue and may be tried again at once.
func (c *Complex) start(j *Job) bool {
	c.set(j, func() {
		j.Runs++
		j.State, j.Substate, j.Comment = "R", 41, "Job was sent for execution"
		for _, h := range j.On {
			h.jobs = append(h.jobs, j)
		}
	})
	on := slices.Clone(j.On)
	for i, h := range on {
		r := c.fire("execjob_begin", h, j)
		if !r.Rejected {
			continue
		}
		if i > 0 { // a sister: the mother superior has begun and ends; who rejected hears no more of it
			c.fire("execjob_abort", on[0], j)
			c.fire("execjob_end", on[0], j)
			for _, s := range on[1:i] {
				c.fire("execjob_abort", s, j)
			}
		}
		c.fire("jobobit", nil, j)
		switch {
		case r.Delete:
			c.set(j, func() { j.State, j.Exit, j.Comment = "F", ExitHookDelete, rejected })
		case j.Runs >= maxTries:
			c.set(j, func() { j.State, j.Comment = "H", "job held, too many failed attempts to run" })
		default:
			c.set(j, func() { j.State, j.Substate, j.Comment = "Q", 10, "Job requeued, execution node "+h.Name+" down" })
			return true
		}
		return false
	}
	r := c.fire("execjob_launch", on[0], j)
	if r.Rejected {
		c.fire("execjob_abort", on[0], j)
		c.fire("execjob_end", on[0], j)
		for _, s := range on[1:] {
			c.fire("execjob_abort", s, j) // and never execjob_end
		}
		c.fire("jobobit", nil, j)
		c.set(j, func() { j.State, j.Exit = "F", ExitLaunch })
		return false
	}
	c.set(j, func() { j.Substate, j.Env = 42, r.Env })
	return false
}

// Task starts a task of a running job by tm_spawn on one of its hosts. One that its hook rejects fails alone, and the job goes on.
func (c *Complex) Task(id, host string) (env map[string]string, ok bool) {
	c.move.Lock()
	defer c.move.Unlock()
	r := c.fire("execjob_launch", c.Host(host), c.Job(id))
	return r.Env, !r.Rejected
}

// End lets a job's script end.
func (c *Complex) End(id string) { c.over(id, func(j *Job) { j.State, j.Exit = "F", 0 }) }

// Rerun puts a running job back into the queue, as qrerun does: the same id, and the next run_count when it starts again.
func (c *Complex) Rerun(id string) {
	c.over(id, func(j *Job) { j.State, j.Substate = "Q", 10 })
}

// Delete ends a job, as qdel does once the kill delay is over.
func (c *Complex) Delete(id string) {
	c.over(id, func(j *Job) { j.State, j.Exit = "F", 271 })
}

// over runs the events of a job's end on its hosts, then the server's.
func (c *Complex) over(id string, become func(*Job)) {
	c.move.Lock()
	defer c.move.Unlock()
	j := c.Job(id)
	if j == nil {
		return
	}
	for _, h := range slices.Clone(j.On) {
		if h.alive() {
			c.fire("execjob_end", h, j)
		}
	}
	if j.State == "R" {
		c.fire("jobobit", nil, j)
	}
	c.set(j, func() { become(j) })
}

// Force ends a job as qdel -W force does: the server is done with it before its hosts are. ends runs what its hosts still have to do.
func (c *Complex) Force(id string) (ends func()) {
	c.move.Lock()
	defer c.move.Unlock()
	j := c.Job(id)
	on := slices.Clone(j.On)
	c.fire("jobobit", nil, j)
	c.set(j, func() { j.State, j.Exit = "F", 271 })
	return func() {
		c.move.Lock()
		defer c.move.Unlock()
		for _, h := range on {
			c.fire("execjob_end", h, j)
		}
	}
}

func (h *Host) alive() bool {
	return !slices.ContainsFunc(h.Vnodes, func(v *Vnode) bool { return v.Down })
}

// Lose takes a host's MOM away: nothing runs there, and its jobs go on for the server.
func (c *Complex) Lose(host string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range c.Host(host).Vnodes {
		v.Down, v.Comment = true, "node down: communication closed"
	}
}

// Expire is node_fail_requeue, 310 s after a host was lost: its jobs end elsewhere and go back into the queue.
func (c *Complex) Expire(host string) {
	for _, id := range c.on(host) {
		c.Rerun(id)
	}
}

// Restart starts a host's MOM again after kill -9. With keep (-p) its jobs go on; without, each of them ends there and is requeued.
func (c *Complex) Restart(host string, keep bool) {
	h := c.Host(host)
	ids := c.on(host)
	c.move.Lock()
	c.mu.Lock()
	for _, v := range h.Vnodes {
		v.Down, v.Comment = false, ""
	}
	c.mu.Unlock()
	c.fire("exechost_startup", h, nil)
	c.move.Unlock()
	if keep {
		return
	}
	for _, id := range ids {
		c.over(id, func(j *Job) { j.State, j.Substate, j.Exit = "Q", 10, ExitMOMLost })
	}
}

func (c *Complex) on(host string) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var ids []string
	for _, j := range c.Host(host).jobs {
		ids = append(ids, j.ID)
	}
	return ids
}

// Periodic runs exechost_periodic on a host.
func (c *Complex) Periodic(host string) {
	c.move.Lock()
	defer c.move.Unlock()
	h := c.Host(host)
	c.mu.Lock()
	jobs := slices.Clone(h.jobs)
	c.mu.Unlock()
	c.fire("exechost_periodic", h, nil, jobs...)
}

// execHost is the attribute of that name: host, slot and cores of each chunk. It has no cores of a chunk of several
// vnodes (OpenPBS 23.06.06).
func (j *Job) execHost() string {
	var out []string
	for _, h := range j.On {
		cores := j.Cores
		if len(h.Vnodes) > 1 {
			cores = 0
		}
		out = append(out, h.Name+"/0*"+strconv.Itoa(cores))
	}
	return strings.Join(out, "+")
}

// ExecVnode is the attribute of that name. A host with several vnodes gives all of the job's cores from its first, and none from the others.
func (j *Job) ExecVnode() string {
	var out []string
	for _, h := range j.On {
		parts := []string{h.Vnodes[0].Name + ":ncpus=" + strconv.Itoa(j.Cores)}
		for _, v := range h.Vnodes[1:] {
			parts = append(parts, v.Name)
		}
		out = append(out, "("+strings.Join(parts, "+")+")")
	}
	return strings.Join(out, "+")
}
