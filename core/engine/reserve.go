package engine

import (
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// reserve joins a node to the reservation of its job, or makes it. Nothing is granted on a hook's word alone: the scheduler must have shown the run, in an
// answer that is fresh.
func (m *Machine) reserve(in Reserve) {
	n, err := m.admit(in)
	if err != nil {
		m.do(Refused{in.Call, err})
		return
	}
	if in.Said == nil {
		if r := m.fresh(in, n); r != nil {
			m.grantTo(in, n, r, nil)
			return
		}
		if m.leaves(in) {
			m.passBy(in)
			return
		}
		m.do(Describe{in.Call})
		return
	}
	if _, observed := m.cfg.Observe[in.Ask.Key.Scheduler]; observed && in.Said.Err != nil &&
		in.Said.Err.Scope() == core.ScopeJob && !m.granted(in.Ask.Key.JobID) {
		m.passBy(in) // where it runs is not known, so it is not known to be served
		return
	}
	if in.Said.Err != nil {
		m.refuse(in, in.Said.Err)
		return
	}
	if half := m.twins[in.Said.From]; half != nil {
		err := core.Errorf(core.SchedulerAway, "job %s: node %s: %s", in.Ask.Key, n.Name, half.tells(in.Ask.Key.Scheduler))
		m.refuse(in, err.WithRemedy(core.TwinRemedy))
		return
	}
	job := in.Said.Job
	if in.Said.Observed && m.run(job.Run) == nil {
		m.passBy(in)
		return
	}
	if err := m.believe(in, job); err != nil {
		m.refuse(in, err)
		return
	}
	if m.displace(in, job) {
		m.do(Describe{in.Call})
		return
	}
	r := m.run(job.Run)
	switch {
	case m.overtaken(job.Run):
		m.refuse(in, core.Errorf(core.JobEnded, "job %s: node %s: this run of it is over", in.Ask.Key, n.Name))
	case r != nil && r.state != Active:
		m.relaunched(in, r.entered)
	case m.isEnded(job.Run):
		m.relaunched(in, m.ended[job.Run].at)
	case r != nil && r.Adopted && in.Said.Decision.Deny != nil:
		m.refuse(in, in.Said.Decision.Deny)
	case r != nil:
		if !r.known || in.Said.Began > r.shown {
			r.known, r.shown, r.missing, r.vanished = true, in.Said.Began, 0, 0
		}
		m.grantTo(in, n, r, in.Said)
	default:
		m.make(in, n, job)
	}
}

// admit says whether this node may ask at all, now.
func (m *Machine) admit(in Reserve) (*node, *core.Error) {
	k := in.Ask.Key
	if err := core.CheckJobID(k.Job); err != nil {
		return nil, core.AsError(err)
	}
	if !slices.Contains(m.cfg.Schedulers, k.Scheduler) {
		return nil, core.Errorf(core.BadCall, "scheduler %q: config.hcl of the server declares none of that name", core.Clip(k.Scheduler)).
			WithRemedy("add `scheduler \"TYPE\" \"" + core.Clip(k.Scheduler) + "\" {}` and reload")
	}
	n := m.nodes[in.Node]
	if n == nil || !n.attached {
		return nil, core.Errorf(core.NodeAway, "node %s: it has not reported to this server yet", in.Node)
	}
	if n.paired() {
		return nil, n.refuses("it is drained", n.trouble())
	}
	if n.Boot != in.Ask.Boot || n.agent != in.Ask.Agent {
		return nil, core.Errorf(core.NodeAway, "node %s: the call is of another boot or agent than its report", in.Node)
	}
	if err := m.Withheld(); err != nil {
		return nil, err
	}
	return n, nil
}

// fresh finds the reservation that in may join without asking the scheduler again. A hook that does not know its run's
// generation joins only what its node has joined already: a node is clean before its scheduler starts the next run there.
func (m *Machine) fresh(in Reserve, n *node) *reservation {
	for r := m.jobs[in.Ask.Key.JobID]; r != nil; r = r.next {
		here := in.Ask.Key.Generation == core.AnyGeneration && r.joins.of(n) != nil && r.joins.of(n).boot == n.Boot
		if r.Job.Key != in.Ask.Key && !here || r.state != Active || r.Job.UID != in.Ask.UID || !r.known || r.missing > 0 {
			continue
		}
		if j := r.joins.of(n); j != nil && j.clean {
			continue
		}
		if m.now.Uptime-r.shown <= m.rules.Fresh && r.placement(n.Name) >= 0 {
			return r
		}
	}
	return nil
}

// believe checks what the scheduler said against what the hook claimed.
func (m *Machine) believe(in Reserve, job core.Job) *core.Error {
	k := in.Ask.Key
	switch {
	case job.Gone:
		return core.Errorf(core.JobEnded, "job %s: node %s: the scheduler says that this run of it is over", k, in.Node)
	case !k.Takes(job.Key):
		return core.Errorf(core.JobEnded, "job %s: node %s: the scheduler has it as %s", k, in.Node, job.Key)
	case job.UID != in.Ask.UID || job.UID == core.NoUID:
		return core.Errorf(core.NotAllowed, "job %s: node %s: the hook says uid %d, the scheduler says %d", k, in.Node, in.Ask.UID, job.UID).
			WithRemedy("a forged or stale hook environment; nothing was granted")
	}
	if in.Said.placement(in.Node) >= 0 {
		return nil
	}
	return core.Errorf(core.NotPlaced, "job %s: node %s: the scheduler has not placed it there", k, in.Node).
		WithRemedy("see whether config.hcl's alias maps the scheduler's name of this node")
}

// displace drains what job's presence proves to be gone: the same id with another owner or submit time, and earlier generations. It reports true when the
// answer is older than a prepare that contradicts it, so that the scheduler must be asked again.
func (m *Machine) displace(in Reserve, job core.Job) bool {
	for _, r := range m.job(job.JobID) {
		if r.state != Active || r.Job.Run == job.Run {
			continue
		}
		if r.Job.Fingerprint == job.Fingerprint && r.Job.Generation > job.Generation {
			continue
		}
		if in.Said.Began <= r.prepared {
			return true
		}
		m.drain(r, "the scheduler has the id for another run: "+job.Key.String(), in.Said.From)
	}
	return false
}

// relaunched ends a prepare of a run that is over, though the scheduler has it running on the node. Where that answer is
// the younger, the scheduler has started the run once more, and a new run of the job has a generation of its own.
// slurmctld 22.05.8 that was killed within 5 s of a batch script's start does so, with the restart count of before.
func (m *Machine) relaunched(in Reserve, ended time.Duration) {
	if in.Said.Began <= ended {
		m.do(Describe{in.Call})
		return
	}
	m.refuse(in, core.Errorf(core.JobRelaunch, "job %s: node %s: this run of it was over, and the scheduler has started it again", in.Said.Job.Key, in.Node))
}

// overtaken reports whether a higher generation of the run is known.
func (m *Machine) overtaken(run core.Run) bool {
	for r := m.jobs[run.JobID]; r != nil; r = r.next {
		if r.Job.Fingerprint == run.Fingerprint && r.Job.Generation > run.Generation {
			return true
		}
	}
	return false
}

// make takes the VNIs of a new reservation. Quotas are counted and VNIs taken in this one step.
func (m *Machine) make(in Reserve, n *node, job core.Job) {
	d := in.Said.Decision
	delete(m.begins, job.JobID)
	if d.Deny != nil {
		m.refuse(in, d.Deny)
		return
	}
	if n.Drained != "" {
		m.refuse(in, n.refuses("it is drained", n.Drained))
		return
	}
	if len(d.VNIs) > core.MaxVNIs {
		m.refuse(in, core.Errorf(core.PolicyFault, "job %s: policy gives it %d VNIs, and a service carries at most %d", in.Ask.Key, len(d.VNIs), core.MaxVNIs))
		return
	}
	for _, t := range d.Trials {
		m.do(Say{Level: Warn, Run: job.Run, Node: n.Name, Text: "dry run: " + t})
	}
	if len(d.VNIs) == 0 {
		m.do(Granted{Call: in.Call, Grant: core.Grant{Run: job.Run, GID: job.GID, Warnings: d.Warnings}})
		return
	}
	warnings, err := m.admitQuotas(in, d, len(d.VNIs))
	if err != nil {
		m.refuse(in, err)
		return
	}
	taken, err := m.take(d.VNIs)
	degraded := err != nil && err.Reason == core.PoolEmpty && d.Degrade
	if err != nil && !degraded {
		m.refuse(in, err)
		return
	}
	granted := Say{Run: job.Run, Node: n.Name, Text: "granted"}
	if degraded {
		d, granted.Level = d.without(err), Warn
		granted.Text = "granted without a VNI: the job runs without isolation, as on_failure = \"degrade\" has it: " + err.What
	}
	if len(warnings) > 0 {
		d.Warnings = append(slices.Clone(d.Warnings), warnings...)
	}
	m.meta.Serial++
	rec := Reservation{Serial: m.meta.Serial, Job: job, VNIs: taken, Grant: d, Made: m.now.Wall, First: Join{Serial: m.meta.Serial, Node: n.Name, Boot: n.Boot}}
	m.keep(d.Policy, in.Said.Policy)
	r := m.insert(rec, Active)
	m.place(r)
	m.join(r, rec.First)
	m.write(rec)
	r.placements = in.Said.placements
	r.prepared, r.known, r.shown = m.now.Uptime, true, in.Said.Began
	granted.VNIs = r.vnis()
	m.do(granted)
	m.grantStep(in, n, r, Granted{Call: in.Call, Grant: m.grant(r, n, nil), First: true, Degraded: degraded})
	if job.Nodes() <= 1 {
		r.placements = nil // nobody else will come
	}
}

// take takes what a decision wants, or nothing.
func (m *Machine) take(wanted []Wanted) ([]Taken, *core.Error) {
	taken := make([]Taken, 0, len(wanted))
	for _, w := range wanted {
		v, err := m.alloc.Take(w.Pool)
		if err != nil {
			for _, t := range taken {
				m.alloc.Give(t.VNI)
			}
			return nil, core.AsError(err)
		}
		taken = append(taken, Taken{v, w.Pool, w.Name})
	}
	for _, t := range taken {
		m.cursors[t.Pool] = t.VNI
	}
	return taken, nil
}

// grantTo joins n to r, which exists.
func (m *Machine) grantTo(in Reserve, n *node, r *reservation, said *Said) {
	j := r.joins.of(n)
	switch {
	case n.crowd != "" && (j == nil || j.clean):
		m.refuse(in, n.refuses("it is drained", n.crowd))
		return
	case j == nil || j.clean && j.boot != n.Boot:
		m.enlist(r, n)
	case j.clean: // so said is there: fresh passes over it
		m.relaunched(in, r.cleaned)
		return
	}
	r.prepared, r.missing, r.vanished = m.now.Uptime, 0, 0 // an answer from before this prepare proves nothing any more
	m.grantStep(in, n, r, Granted{Call: in.Call, Grant: m.grant(r, n, said)})
}

// grant is what r gives to n. The floor of policy is one for the whole job, and a small placement may want less than it: what is wanted is floor enough.
func (m *Machine) grant(r *reservation, n *node, said *Said) core.Grant {
	d := &r.Grant
	if r.Adopted && said != nil { // the decision that made it is lost
		d = &said.Decision
	}
	at := r.placement(n.Name)
	g := core.Grant{
		Run: r.Job.Run, GID: r.Job.GID, VNIs: r.granted(), Classes: d.Classes, Asked: r.Job.Request.Classes != 0, Limits: r.limits(at, n, said), Floor: d.Floor, MinNICs: d.MinNICs,
		Inventory: n.Inventory, Warnings: d.Warnings, Exact: r.Job.Request.Exact, Steps: len(r.drawable()),
	}
	switch {
	case !r.Adopted:
		g.Request = new(r.Job.Request)
	case said != nil:
		g.Request = new(said.Job.Request)
	}
	if !d.Greedy {
		g.Share = r.share(at, n, said)
	}
	for i := range g.Floor {
		g.Floor[i] = min(g.Floor[i], g.Limits[i].Reserved)
	}
	return g
}

// limits are those of n's placement, which is the job's i-th. A node that came late gets what the first placement with as many cores got; failing that, what policy says now.
func (r *reservation) limits(i int, n *node, said *Said) core.Limits {
	if i < 0 && said != nil {
		if k := said.placement(n.Name); k >= 0 {
			i = slices.IndexFunc(r.Job.Placements, func(o core.Placement) bool { return o.Cores == said.Job.Placements[k].Cores })
			if i < 0 && k < len(said.Decision.Limits) {
				return said.Decision.Limits[k]
			}
		}
	}
	if i = max(i, 0); i < len(r.Grant.Limits) {
		return r.Grant.Limits[i]
	}
	return core.Limits{}
}

// share is the job's part of n, which is in the job's i-th placement.
func (r *reservation) share(i int, n *node, said *Said) core.Share {
	p := r.Job.Placements
	if i < 0 && said != nil {
		p, i = said.Job.Placements, said.placement(n.Name)
	}
	if i < 0 || p[i].Total > 0 && p[i].Cores >= p[i].Total {
		return core.Share{}
	}
	return core.Share{Cores: p[i].Cores, Total: p[i].Total}
}

// refuse ends a Reserve, and tells the scheduler where the failure is the job's own: a node where the job is not placed has no say in it.
func (m *Machine) refuse(in Reserve, err *core.Error) {
	key := in.Ask.Key
	if key.Generation == core.AnyGeneration && in.Said != nil && in.Said.Err == nil {
		key = in.Said.Job.Key
	}
	if err.Scope() == core.ScopeJob && err.Reason != core.JobEnded && err.Reason != core.NotPlaced && !in.Ask.Tells {
		m.do(Fail{Key: key, Reason: err.Line()})
	}
	if again(err) && !m.works(in) {
		m.do(Fail{Key: key, Reason: err.Line(), Again: true})
	}
	m.do(Say{Level: Info, Run: core.Run{Key: key}, Node: in.Node, Text: "refused: " + err.What})
	m.do(Refused{in.Call, err})
}

// again reports whether a job that is refused now may have later what it asked for. What its node asks anew by itself is not over yet.
func again(err *core.Error) bool {
	switch err.Reason {
	case core.Cancelled, core.Overloaded, core.TimedOut:
		return false
	default:
		return err.Scope() == core.ScopeSystem
	}
}
