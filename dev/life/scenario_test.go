package life

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/effort"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var makers = []maker{{"flux", newFlux}, {"pbs", newPBS}, {"slurm", newSlurm}, {localName, newLocal}}

// scenario is one case of a job's life. job is one of the site under trial; beside runs on the same nodes, another scheduler's, and must not be touched by
// what happens.
type scenario struct {
	name   string
	vnis   int // of the pool; 0: enough
	run    func(c *trial)
	faulty string // this node is at fault, and is drained

	observes bool // the site's jobs are only observed at first
}

// trial is one run of a scenario.
type trial struct {
	*world
	site
	beside *running
}

// running is a job whose tasks run.
type running struct {
	s   site
	job string
	vni string
}

var scenarios = []scenario{
	{name: "start", run: func(c *trial) {
		r := c.begin(c.site)
		if r.vni == c.beside.vni {
			c.Errorf("jobs of two schedulers have VNI %s", r.vni)
		}
		c.holds(r)
		c.site.finish(r.job)
	}},
	{name: "one after the other", run: func(c *trial) {
		for range 3 {
			r := c.begin(c.site)
			c.holds(r)
			c.site.finish(r.job)
		}
	}},
	{name: "requeue", run: func(c *trial) {
		r := c.begin(c.site)
		if !c.site.requeue(r.job) {
			c.site.finish(r.job) // this scheduler has no such thing
			return
		}
		again := c.run(c.site, r.job)
		c.holds(again)
		c.site.finish(r.job)
	}},
	{name: "node lost, and back after a reboot", run: func(c *trial) {
		r := c.begin(c.site)
		also := c.beside
		c.beside = nil // it was there too
		c.lost(r, "n2", func() { c.reboot("n2") }, also)
	}},
	{name: "node lost, and back as it was", run: func(c *trial) {
		r := c.begin(c.site)
		c.lost(r, "n2", func() { c.boot("n2") })
	}},
	{name: "server killed while the job runs", run: func(c *trial) {
		r := c.begin(c.site)
		c.killServer()()
		c.holds(r)
		c.site.finish(r.job)
	}},
	{name: "server killed, and the job ends meanwhile", run: func(c *trial) {
		r := c.begin(c.site)
		back := c.killServer()
		c.site.finish(r.job)
		back()
	}},
	{name: "server killed before it makes a grant durable", run: func(c *trial) { c.serverDies(atCommit) }},
	{name: "server killed once a grant is durable", run: func(c *trial) { c.serverDies(atCommitted) }},
	{name: "server killed while it asks the scheduler", run: func(c *trial) { c.serverDies(atDescribe + c.site.name()) }},
	{name: "agent killed while the job runs", run: func(c *trial) {
		r := c.begin(c.site)
		c.kill("n1")()
		c.holds(r)
		c.site.finish(r.job)
	}},
	{name: "agent killed before services stand", run: func(c *trial) { c.agentDies(atCreate + "n1") }},
	{name: "agent killed once services stand", run: func(c *trial) { c.agentDies(atCreated + "n2") }},
	{name: "agent killed before services are removed", run: func(c *trial) { c.agentDies(atDestroy + "n1") }},
	{name: "agent killed once services are removed", run: func(c *trial) { c.agentDies(atDestroyed + "n2") }},
	{name: "adapter killed while the job runs", run: func(c *trial) {
		r := c.begin(c.site)
		c.site.die()
		c.holds(r)
		c.site.finish(r.job)
	}},
	{name: "adapter killed while it reads what a hook says", run: func(c *trial) { c.adapterDies(atParse + c.site.name()) }},
	{name: "adapter killed while it words the answer", run: func(c *trial) { c.adapterDies(atRender + c.site.name()) }},
	{name: "adapter killed while it describes the job", run: func(c *trial) { c.adapterDies(atDescribe + c.site.name()) }},
	{name: "adapter killed before a grant is made durable", run: func(c *trial) { c.adapterDies(atCommit) }},
	{name: "adapter killed once a grant is durable", run: func(c *trial) { c.adapterDies(atCommitted) }},
	{name: "adapter killed before services stand", run: func(c *trial) { c.adapterDies(atCreate + "n1") }},
	{name: "adapter killed once services stand", run: func(c *trial) { c.adapterDies(atCreated + "n2") }},
	{name: "adapter killed before services are removed", run: func(c *trial) { c.adapterDies(atDestroy + "n1") }},
	{name: "adapter killed once services are removed", run: func(c *trial) { c.adapterDies(atDestroyed + "n2") }},
	{name: "cancelled while it waits", run: func(c *trial) { c.site.cancel(c.site.submit())() }},
	{name: "cancelled while the server asks the scheduler", run: func(c *trial) { c.cancelled(atDescribe + c.site.name()) }},
	{name: "cancelled while its grant is made durable", run: func(c *trial) { c.cancelled(atCommit) }},
	{name: "cancelled before services stand", run: func(c *trial) { c.cancelled(atCreate + "n1") }},
	{name: "cancelled once services stand", run: func(c *trial) { c.cancelled(atCreated + "n2") }},
	{name: "cancelled while it runs", run: func(c *trial) { c.site.cancel(c.begin(c.site).job)() }},
	{name: "cancelled while its services are removed", run: func(c *trial) {
		r := c.begin(c.site)
		second := make(chan func(), 1)
		c.at(atDestroy+"n1", func() { second <- c.site.cancel(r.job) }, nil)
		c.site.finish(r.job)
		(<-second)()
	}},
	{name: "denied by policy", run: func(c *trial) {
		c.mu.Lock()
		c.denied = c.site
		c.mu.Unlock()
		job := c.site.submit()
		c.until("the job's end", func() bool { c.site.start(job); return c.site.state(job) == over })
	}},
	{name: "the pool is empty", vnis: 1, run: func(c *trial) {
		job := c.site.submit()
		if c.site.start(job) {
			c.Errorf("it runs without a VNI of its own")
		}
		c.holds(c.beside)
		c.beside.s.finish(c.beside.job)
		c.beside = nil
		c.site.finish(c.run(c.site, job).job)
	}},
	{name: "a NIC of the first node makes no service", faulty: "n1", run: func(c *trial) { c.unable("n1", "n2") }},
	{name: "a NIC of the other node makes no service", faulty: "n2", run: func(c *trial) { c.unable("n2", "n1") }},
	{name: "a NIC of the first node hangs as it makes a service", faulty: "n1", run: func(c *trial) { c.hung("n1", "n2") }},
	{name: "a node is drained and resumed in Weft", faulty: "n1", run: func(c *trial) { c.resumed("n1") }},
	{name: "a drained node is resumed in the scheduler", faulty: "n1", run: func(c *trial) { c.undrained("n1") }},
	{name: "a person drains a node in the scheduler", faulty: "n1", run: func(c *trial) { c.drainedByAPerson("n1") }},
	{name: "the store takes no commit", run: func(c *trial) {
		c.refused(func() func() {
			c.at(atCommit, nil, core.Errorf(core.StoreFailed, "no space is left on the device"))
			return c.open
		})
	}},
	{name: "the scheduler does not answer", run: func(c *trial) {
		c.refused(func() func() {
			c.at(atDescribe+c.site.name(), nil, core.Errorf(core.SchedulerAway, "it does not answer"))
			return c.open
		})
	}},
	{name: "the scheduler does not know the job at first", run: func(c *trial) {
		c.first(atDescribe+c.site.name(), core.Errorf(core.JobUnknown, "it knows none of that id"))
		job := c.site.submit()
		if !c.site.start(job) { // its user is told; only PBS tries again by itself
			c.site.cancel(job)()
			return
		}
		c.holds(&running{c.site, job, c.site.vni(job, names[0])})
		c.site.finish(job)
	}},
	{name: "the server is away for longer than the hook waits", run: func(c *trial) { c.refused(c.killServer) }},
	{name: "a service is busy at clean-up", run: func(c *trial) {
		r := c.begin(c.site)
		busy := c.at(atDestroy+"n2", nil, core.Errorf(core.ServiceBusy, "an application holds it"))
		c.site.finish(r.job)
		c.until("a try", busy.past.Load)
		next := c.begin(c.site)
		if next.vni == r.vni {
			c.Errorf("VNI %s has services of the job before", r.vni)
		}
		c.open()
		c.site.finish(next.job)
	}},
}

// begin submits a job and starts it.
func (c *trial) begin(s site) *running {
	c.Helper()
	return c.run(s, s.submit())
}

// run starts a job that waits, however often its scheduler must try.
func (c *trial) run(s site, job string) *running {
	c.Helper()
	c.until(fmt.Sprintf("a start of job %s of %s", job, s.name()), func() bool {
		started := s.start(job)
		c.once()
		if started {
			return true
		}
		if st := s.state(job); st != waits && st != runs {
			c.Fatalf("job %s of %s does not start: it is %s\n%s", job, s.name(), st, c.story())
		}
		return false
	})
	r := &running{s, job, s.vni(job, names[0])}
	if r.vni == "" {
		c.Fatalf("job %s of %s has no VNI", job, s.name())
	}
	c.holds(r)
	return r
}

// holds is that a job's tasks have its VNI on all nodes, and that it stands on every NIC.
func (c *trial) holds(r *running) {
	c.Helper()
	for _, n := range names {
		if got := r.s.vni(r.job, n); got != r.vni {
			c.Errorf("job %s of %s on %s: VNI %q, want %q", r.job, r.s.name(), n, got, r.vni)
		}
		on := 0
		for _, s := range c.services(n) {
			if s.Owner == core.UID(r.s.uid()) && len(s.VNIs) == 1 && fmt.Sprint(s.VNIs[0]) == r.vni {
				on++
			}
		}
		if on != nics {
			c.Errorf("job %s of %s on %s: VNI %s stands on %d NICs, want %d", r.job, r.s.name(), n, r.vni, on, nics)
		}
	}
	c.look(func(m *engine.Machine) {
		for v := range m.Reservations(0) {
			if v.Job.Scheduler == r.s.name() && slices.ContainsFunc(v.VNIs, func(t engine.Taken) bool { return fmt.Sprint(t.VNI) == r.vni }) {
				return
			}
		}
		c.Errorf("job %s of %s has VNI %s, and the server has no reservation of it", r.job, r.s.name(), r.vni)
	})
	c.once()
}

// lost is a job that loses a node, and others with it. Its VNI is nobody's until that node is known to be clean.
func (c *trial) lost(r *running, node string, back func(), others ...*running) {
	c.Helper()
	c.kill(node)
	<-c.nodes[node].stopped
	all := append(others, r)
	for _, o := range all {
		o.s.lose(node)
		if st := o.s.state(o.job); st == runs {
			c.Errorf("job %s of %s runs and has lost a node", o.job, o.s.name())
		}
	}
	if c.server.Load() != nil {
		c.look(func(m *engine.Machine) {
			for v := range m.Reservations(0) {
				for _, vni := range v.VNIs {
					if fmt.Sprint(vni.VNI) == r.vni {
						return
					}
				}
			}
			c.Errorf("VNI %s is free while its node %s is lost", r.vni, node)
		})
	}
	back()
	c.attached(node)
	for _, o := range all {
		o.s.mend(node)
		if o.s.state(o.job) == waits {
			o.s.finish(c.run(o.s, o.job).job)
		}
	}
}

// serverDies is a job that starts while the server is killed at a step.
func (c *trial) serverDies(step string) {
	c.Helper()
	killed := make(chan func(), 1)
	c.at(step, func() { killed <- c.killServer() }, nil)
	job := c.site.submit()
	done := make(chan struct{})
	go func() { defer close(done); c.site.start(job) }()
	(<-killed)()
	<-done
	r := c.run(c.site, job)
	c.holds(r)
	c.site.finish(job)
}

// agentDies is a job during whose life the agent of a node is killed at a step.
func (c *trial) agentDies(step string) {
	c.Helper()
	node := step[strings.LastIndexByte(step, ' ')+1:]
	killed := make(chan func(), 1)
	c.at(step, func() { killed <- c.kill(node) }, nil)
	rises := make(chan struct{})
	go func() { defer close(rises); (<-killed)() }()
	r := c.begin(c.site)
	c.holds(r)
	c.site.finish(r.job)
	<-rises
}

// adapterDies is a job during whose life the adapter's process is killed at a step.
func (c *trial) adapterDies(step string) {
	c.Helper()
	dies := c.at(step, c.site.die, nil)
	r := c.begin(c.site)
	c.holds(r)
	c.site.finish(r.job)
	c.until("the adapter's end", dies.past.Load)
}

// unable is a job on a node one of whose NICs makes no service: that node is drained, and no other.
func (c *trial) unable(node, other string) {
	c.Helper()
	c.fails(node, other, nil, core.Errorf(core.NICFailed, "cxi1: it makes no service"), "cxi1: it makes no service")
}

// hung is unable for a NIC that does not answer before its node is drained.
func (c *trial) hung(node, other string) {
	c.Helper()
	drained := make(chan struct{})
	defer close(drained)
	hang := func() {
		select {
		case <-drained:
		case <-time.After(15 * time.Second):
			c.Error("the driver hangs, and nobody minds")
		}
	}
	c.fails(node, other, hang, nil, "cannot create service: no answer for 5s")
}

// fails is a job that does not start, and drains one of its nodes.
func (c *trial) fails(node, other string, create func(), fault *core.Error, says string) {
	c.Helper()
	c.at(atCreate+node, create, fault)
	job := c.site.submit()
	if c.site.start(job) {
		c.Errorf("it runs on a node that has no services")
	}
	c.mu.Lock()
	if !strings.Contains(c.failed, says) {
		c.Errorf("its prepare does not name the NIC: %q", c.failed)
	}
	c.mu.Unlock()
	c.until("a drain of "+node, func() bool { return c.site.drained(node) != "" })
	if why := c.site.drained(other); why != "" {
		c.Errorf("%s is at fault, and %s is drained: %s", node, other, why)
	}
	c.open()
	c.site.cancel(job)()
}

// refused is a job that finds a part of the system away: it does not run, it is not ended, and nobody else notices. It starts when that part is back.
func (c *trial) refused(away func() (back func())) {
	c.Helper()
	job := c.site.submit()
	back := away()
	c.patience(impatient)
	if c.site.start(job) {
		c.Errorf("it runs without services")
	}
	if c.site.state(job) == over {
		c.Errorf("it was ended for what it cannot help")
	}
	c.holds(c.beside)
	c.patience(0)
	back()
	r := c.run(c.site, job)
	c.holds(r)
	c.site.finish(r.job)
}

// cancelled is a job that is cancelled while it starts, at a step.
func (c *trial) cancelled(step string) {
	c.Helper()
	job := c.site.submit()
	ends := make(chan func(), 1)
	c.at(step, func() { ends <- c.site.cancel(job) }, nil)
	rest := make(chan struct{})
	go func() { defer close(rest); (<-ends)() }()
	c.site.start(job)
	<-rest
	if c.site.start(job) || c.site.state(job) != over {
		c.Errorf("it was cancelled, and is %s", c.site.state(job))
	}
}

// once is that no VNI is in two reservations, and that every VNI in use is some reservation's.
func (c *trial) once() {
	c.Helper()
	c.apart()
	c.look(func(m *engine.Machine) {
		holder, n := map[core.VNI]core.Key{}, 0
		for v := range m.Reservations(0) {
			for _, taken := range v.VNIs {
				vni := taken.VNI
				if k, ok := holder[vni]; ok {
					c.Errorf("VNI %d is %v's and %v's", vni, k, v.Job.Key)
				}
				holder[vni] = v.Job.Key
				n++
			}
		}
		if used := m.Figures().Used["jobs"]; used != n {
			c.Errorf("%d VNIs are in use, and reservations have %d", used, n)
		}
	})
}

// settled is a world without jobs: no service, no reservation, no VNI in use, and no node drained.
func (c *trial) settled(faulty string) {
	c.Helper()
	for _, n := range names {
		c.until("no service on "+n, func() bool { return len(c.services(n)) == 0 })
	}
	c.until("no reservation", func() bool {
		left := 0
		return c.look(func(m *engine.Machine) {
			left = m.Figures().Used["jobs"]
			for range m.Reservations(0) {
				left++
			}
		}) && left == 0
	})
	for _, s := range c.sites {
		for _, n := range names {
			if why := s.drained(n); why != "" && n != faulty { // a node at fault is drained in every scheduler that has it
				c.Errorf("%s drained %s: %s", s.name(), n, why)
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if faulty == "" && len(c.drains) > 0 {
		c.Errorf("drained: %q", c.drains)
	}
}

// story is what a failure shows of the world.
func (w *world) story() string {
	var b strings.Builder
	w.look(func(m *engine.Machine) {
		for v := range m.Reservations(0) {
			fmt.Fprintf(&b, "%v %v %v: %s %v\n", v.Job.Key, v.VNIs, v.State, v.Why, v.Some)
		}
	})
	for _, n := range names {
		fmt.Fprintf(&b, "%s: %v\n", n, w.services(n))
	}
	return b.String()
}

// TestLife runs every scenario over every adapter, beside a job of the next one. A full run does so beside a job of the one
// after that, too, so that each two meet.
func TestLife(t *testing.T) {
	for i, under := range makers {
		for j := 1; j <= 2; j++ {
			if j > 1 && !effort.Full() {
				break
			}
			other := makers[(i+j)%len(makers)]
			for _, sc := range scenarios {
				t.Run(under.name+" beside "+other.name+"/"+sc.name, func(t *testing.T) {
					t.Parallel()
					sc.try(newWorld(t, sc, breaks{}, under, other))
				})
			}
		}
	}
}

// try is one run of the scenario over the world's first site, beside the other.
func (sc scenario) try(w *world) {
	c := &trial{world: w, site: w.sites[0]}
	c.beside = c.begin(w.sites[1])
	sc.run(c)
	c.open()
	if c.beside != nil {
		c.holds(c.beside)
		c.beside.s.finish(c.beside.job)
	}
	c.settled(sc.faulty)
}
