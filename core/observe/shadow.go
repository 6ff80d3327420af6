package observe

import (
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// Judged is the verdict on a run that Answer gave.
type Judged struct {
	Run      core.Run
	Job      core.Job        // as its scheduler describes it
	Decision engine.Decision // of policy
	Rule     string          // the deny of policy that was for it
	Err      *core.Error     // instead: it could not be described
	Served   bool            // Weft serves it
	Took     time.Duration   // of policy's decision
}

// tally names what a quota counts together.
type tally struct {
	name, subject string
	unit          engine.Unit
}

// Judge takes it, once for each run.
func (a *Account) Judge(now time.Time, in Judged) {
	a.tick(now)
	j := a.jobs[in.Run]
	if j == nil && in.Err == nil && len(a.jobs) < MaxJobs { // its node was quicker than its scheduler's answer
		j = &job{run: in.Run}
		a.jobs[in.Run] = j
		a.place(j, "")
	}
	if j == nil || j.judged {
		return
	}
	j.judged, j.Served = true, in.Served
	if in.Served {
		return
	}
	if len(j.nodes) == 0 && in.Err == nil {
		a.place(j, hosts(in.Job))
	}
	h := a.hour()
	h.Jobs++
	if in.Took > 0 {
		h.Decisions++
		h.Took += in.Took
		h.Most = max(h.Most, in.Took)
	}
	if err := in.Err; err != nil {
		if err.Scope() == core.ScopeJob {
			h.refuse(Refusal{Scheduler: in.Run.Scheduler, Reason: err.Reason, Job: in.Run.Job, Why: err.Line()})
		} else {
			h.Unjudged++
		}
		return
	}
	a.grant(h, j, in)
}

// grant gives a job in the shadow what policy decides, or counts why not.
func (a *Account) grant(h *Hour, j *job, in Judged) {
	d := &in.Decision
	refusal := Refusal{Scheduler: in.Run.Scheduler, Rule: in.Rule, Job: in.Run.Job}
	switch reason, why := a.refuses(d); {
	case reason != "":
		if d.Deny == nil {
			refusal.Rule = ""
		}
		refusal.Reason, refusal.Why = reason, why
		h.refuse(refusal)
		return
	case len(d.VNIs) == 0:
		h.Without++
		return
	}
	for _, w := range d.VNIs {
		j.Pools = append(j.Pools, w.Pool)
		a.used[w.Pool]++
		h.peak(w.Pool, a.used[w.Pool])
	}
	j.Quotas = d.Quotas
	j.Addresses = d.Collectives
	a.count(j, 1)
	drained := false
	for _, name := range j.nodes {
		n := a.nodes[name]
		if n == nil {
			continue
		}
		h.Services += len(n.devices)
		if why := n.fault(d.MinNICs); why != "" {
			drained = true
			a.drain(name, why, 1)
		}
	}
	if drained {
		h.Drained++
	} else {
		h.Granted++
	}
}

// refuses is why Weft would have refused a job; empty: it would not.
func (a *Account) refuses(d *engine.Decision) (core.Reason, string) {
	if d.Deny != nil {
		return d.Deny.Reason, d.Deny.Line()
	}
	for _, q := range d.Quotas {
		if text := q.Over(d, a.quotas[tally{q.Name, q.Subject, q.Unit}]); text != "" && q.Enforce == engine.EnforceDeny {
			return q.Reason(d), text
		}
	}
	wants := map[string]int{}
	for _, w := range d.VNIs {
		wants[w.Pool]++
		if p := a.cfg.Pools[w.Pool]; a.used[w.Pool]+wants[w.Pool] > p.Size && !d.Degrade {
			return core.PoolEmpty, "pool " + w.Pool + ": all of its VNIs would be in use or in quarantine"
		}
	}
	return "", ""
}

// count adds a job to its quotas, or takes it out.
func (a *Account) count(j *job, sign int) {
	for _, q := range j.Quotas {
		n := len(j.Pools)
		if q.Unit == engine.UnitAddresses {
			n = j.Addresses
		}
		k := tally{q.Name, q.Subject, q.Unit}
		if a.quotas[k] += sign * n; a.quotas[k] <= 0 {
			delete(a.quotas, k)
		}
	}
}

// release has the VNIs of a job that is over rest in the shadow.
func (a *Account) release(j *job) {
	a.count(j, -1)
	for _, pool := range j.Pools {
		until := a.now.Add(a.cfg.Pools[pool].Quarantine)
		if i := len(a.resting) - 1; i >= 0 && a.resting[i].Pool == pool && a.resting[i].Until.Equal(until) {
			a.resting[i].VNIs++
			continue
		}
		a.resting = append(a.resting, Rest{Pool: pool, VNIs: 1, Until: until})
	}
}

// Spare takes that a node would have been drained.
func (a *Account) Spare(now time.Time, name, why string) {
	a.tick(now)
	a.drain(name, why, 0)
}

func (a *Account) drain(name, why string, jobs int) {
	i := slices.IndexFunc(a.drains, func(d Drain) bool { return d.Node == name && d.Why == why })
	if i < 0 {
		a.drains = append(bounded(a, a.drains), Drain{Node: name, Why: why, Since: a.now})
		i = len(a.drains) - 1
	}
	a.drains[i].Jobs += jobs
	a.drains[i].Last = a.now
}

// bounded makes room for one more in a list, whose oldest goes.
func bounded[T any](a *Account, list []T) []T {
	if len(list) < MaxListed {
		return list
	}
	a.dropped++
	return slices.Delete(list, 0, 1)
}

// hosts are all nodes of a job.
func hosts(j core.Job) string {
	out := ""
	for _, p := range j.Placements {
		if out != "" {
			out += ","
		}
		out += p.Hosts
	}
	return out
}
