package history

import (
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

const (
	firstUID  = 1001
	deniedUID = 1009
)

// hook is one run of a hook's process on a node.
type hook struct {
	schedulertest.Hook
	b      *box
	began  int64 // boot time, once it began
	caller uint32
	probes int // of the node, when its signs were looked up
	stepd  *stepd
}

// life is what users and the scheduler do.
func (w *world) life() {
	m := w.sched
	jobs := m.Jobs()
	var running, queued []*schedulertest.Job
	for _, j := range jobs {
		switch j.State {
		case core.JobRunning:
			running = append(running, j)
		case core.JobQueued:
			queued = append(queued, j)
		case core.JobFinal:
		}
	}
	p := w.rng.IntN(100)
	switch {
	case w.drawable > 0 && len(running) > 0 && w.odds(600):
		w.stepLife(running)
	case p < 30 && len(running) < 7:
		var j *schedulertest.Job
		if len(queued) > 0 && w.odds(700) {
			j = queued[w.rng.IntN(len(queued))]
		} else {
			j = w.submit()
		}
		var hosts []string
		for _, b := range w.boxes[:numNodes] {
			if w.odds(550) {
				hosts = append(hosts, b.name)
			}
		}
		if len(hosts) == 0 {
			hosts = []string{w.boxes[w.rng.IntN(numNodes)].name}
		}
		w.say("scheduler starts %v on %v", j.Run, hosts)
		w.launch(m.Start(j, hosts))
	case p < 45 && len(running) > 0:
		w.end(running[w.rng.IntN(len(running))])
	case p < 55 && len(running) > 0:
		j := running[w.rng.IntN(len(running))]
		w.say("scheduler requeues %v", j.Run)
		w.launch(m.Requeue(j))
	case p < 56 && len(running) > 0:
		j := running[w.rng.IntN(len(running))]
		w.say("scheduler forgets that it started %v", j.Run)
		w.launch(m.Relapse(j))
	case p < 60 && len(running) > 0:
		j := running[w.rng.IntN(len(running))]
		host := j.Hosts[w.rng.IntN(len(j.Hosts))]
		w.say("scheduler takes %s from %v", host, j.Run)
		w.launch(m.Shrink(j, host))
	case p < 64 && len(jobs) > 0:
		m.Forget(jobs[w.rng.IntN(len(jobs))])
	case p < 66 && w.odds(200):
		w.say("the cluster is rebuilt: every id begins again")
		m.Rebuild()
	case p < 68:
		b := w.boxes[w.rng.IntN(numNodes)]
		if !b.powered || b.cut || w.odds(100) {
			w.say("scheduler gives %s up", b.name)
			w.launch(m.Lose(b.name, w.odds(500)))
		}
	case p < 73 && len(jobs) > 0: // a hook out of nowhere, of any job
		j := jobs[w.rng.IntN(len(jobs))]
		k := j.Key
		if w.odds(300) && k.Generation > 0 {
			k.Generation--
		}
		a := []core.Action{core.Prepare, core.CleanUp, core.Environment}[w.rng.IntN(3)]
		if a == core.CleanUp && len(j.Hosts) > 0 { // only where the job is not: nobody runs an Epilog beside living tasks
			break
		}
		b := w.boxes[w.rng.IntN(numNodes)]
		h := &hook{Hook: schedulertest.Hook{Node: b.name, Action: a, Key: k, UID: j.UID, Run: j.Run}, b: b}
		if a == core.Environment {
			h.caller = firstUID + uint32(w.rng.IntN(2))
		}
		w.hooks = append(w.hooks, h)
	default:
		w.apply()
	}
}

func (w *world) submit() *schedulertest.Job {
	uid := uint32(firstUID + w.rng.IntN(2))
	if w.odds(30) {
		uid = deniedUID
	}
	return w.sched.Submit(1_800_000_000+int64(w.step), uid, core.Request{Off: w.odds(40), JobVNI: w.odds(300), Exact: w.odds(200)})
}

func (w *world) end(j *schedulertest.Job) {
	w.say("%v ends", j.Run)
	run := j.Run
	w.launch(w.sched.End(j))
	if w.odds(500) {
		w.srv.watch.changes = append(w.srv.watch.changes, schedulertest.Final(run))
	}
}

// launch sends hooks to their nodes; they begin there when they begin.
func (w *world) launch(hooks []schedulertest.Hook) {
	if !w.calm {
		hooks = schedulertest.Muddle(hooks, w.rng)
	}
	for _, h := range hooks {
		b := w.at(h.Node)
		if b.powered {
			w.hooks = append(w.hooks, &hook{Hook: h, b: b})
		}
	}
}

// runHook begins a hook, or brings it to the agent. A hook that finds no agent gives up, or tries again.
func (w *world) runHook(i int) {
	h := w.hooks[i]
	if h.began == 0 {
		h.began = int64(w.now - h.b.bootAt)
		if w.chance(200) {
			return
		}
	}
	if !h.b.agent.up {
		if w.odds(400) {
			w.hooks = slices.Delete(w.hooks, i, i+1)
		}
		return
	}
	if !w.chance(30) { // else its twin comes later, with the same stamp: the hook's client tried twice
		w.hooks = slices.Delete(w.hooks, i, i+1)
	} else {
		twin := *h
		h = &twin
	}
	b := h.b
	patience := 8 * time.Second
	if w.odds(300) {
		patience = 2 * time.Minute
	}
	w.calls++
	b.agent.waits[w.calls] = h
	if h.Action == core.Prepare {
		b.newest[h.Key.JobID] = max(b.newest[h.Key.JobID], h.began)
	}
	step := h.Action == core.Prepare && (h.stepd != nil || w.odds(250))
	if step { // of Slurm: it does not know its run's generation
		h.Key.Generation = core.AnyGeneration
	}
	w.say("%s: hook %v %v begun at %d", b.name, h.Action, h.Key, h.began)
	in := node.Hook{
		Doubt: h.Action == core.Environment && b.begin(h),
		Call:  w.calls, Until: b.moment().Uptime + patience,
		Ask:  core.Intent{Action: h.Action, Key: h.Key, UID: h.UID, Began: h.began, Joins: step && w.odds(500), Tells: step},
		Peer: core.Peer{UID: h.caller},
	}
	if h.stepd != nil {
		h.stepHook(&in)
	}
	b.input(in)
}

// apply is what applications do: open an LNI of a service, or let go of one.
func (w *world) apply() {
	b := w.boxes[w.rng.IntN(numNodes)]
	if len(b.apps) > 0 && w.odds(450) {
		i := w.rng.IntN(len(b.apps))
		a := b.apps[i]
		b.nics[a.nic].k.FreeLNI(a.lni)
		b.apps = slices.Delete(b.apps, i, i+1)
		return
	}
	for i := range b.nics {
		n := &b.nics[i]
		for _, o := range n.owned {
			if o.foreign || !w.odds(500) || !b.env[o.run] {
				continue
			}
			if lni, err := n.k.AllocLNI(kernel.Caller{EUID: o.run.UID}, o.id); err == kernel.OK {
				w.say("%s: an application of %v holds %s/%d", b.name, o.run, n.name, o.id)
				b.apps = append(b.apps, app{i, lni, o.run})
				return
			}
		}
	}
}
