package life

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/dev/effort"
	"github.com/weft-hpc/weft/plugins/pbs/pbstest"
)

// covered is how old a prepare must be before a list of MOM's speaks of it, in the hooks' nanoseconds.
const covered = int64(2 * time.Minute)

// pbsLife are what only PBS does to jobs and hosts, with a job of Slurm's beside on the same nodes.
var pbsLife = []scenario{
	{name: "deleted by force: the server is done with a job whose services stand", run: func(c *trial) {
		pbs := c.site.(*pbsSite)
		r := c.begin(c.site)
		for _, n := range names {
			c.at(atDestroy+n, nil, core.Errorf(core.ServiceBusy, "the job's processes hold it"))
		}
		ends := pbs.Force(r.job)
		c.until("the job's end", func() bool { return c.stands(r) != "active" })
		c.holdsVNI(r)
		c.standing(r, names...)
		next := c.begin(c.site)
		if next.vni == r.vni {
			c.Errorf("VNI %s is given again, and its services stand", r.vni)
		}
		c.holds(next)
		c.open()
		ends()
		c.until("no service of the job deleted", func() bool { return c.count(r, names...) == 0 })
		c.holds(next)
		c.site.finish(next.job)
	}},
	{name: "MOM is killed and takes her jobs up again", run: func(c *trial) {
		pbs := c.site.(*pbsSite)
		r := c.begin(c.site)
		c.began.Add(covered)
		for range 3 {
			pbs.Lose("n1")
			pbs.Restart("n1", true)
			pbs.Periodic("n1")
			pbs.Periodic("n1")
			c.holds(r)
		}
		if task := c.site.vni(r.job, "n1"); task != r.vni || pbs.Job(r.job).Runs != 1 {
			c.Errorf("a task after MOM's return has VNI %q, want %q; run %d", task, r.vni, pbs.Job(r.job).Runs)
		}
		c.site.finish(r.job)
	}},
	{name: "MOM is killed and gives her jobs up", run: func(c *trial) {
		pbs := c.site.(*pbsSite)
		r := c.begin(c.site)
		pbs.Lose("n1")
		pbs.Restart("n1", false)
		again := c.run(c.site, r.job)
		if pbs.Job(r.job).Runs != 2 {
			c.Errorf("it is run %d, want 2", pbs.Job(r.job).Runs)
		}
		c.holds(again)
		c.site.finish(r.job)
	}},
	{name: "a node's end is lost, and MOM's lists lack the job", run: func(c *trial) {
		pbs := c.site.(*pbsSite)
		r := c.begin(c.site)
		back := c.killServer() // whose order would clean the node as well
		hook := pbs.Hook
		pbs.Hook = func(e pbstest.Event) pbstest.Result {
			if e.Name == "execjob_end" && e.Host.Name == "n2" {
				return pbstest.Result{}
			}
			return hook(e)
		}
		c.site.finish(r.job)
		pbs.Hook = hook
		c.standing(r, "n2")
		pbs.Periodic("n2")
		c.standing(r, "n2") // a list may be older than the prepare
		c.began.Add(covered)
		c.until("no service on n2 after MOM's lists", func() bool { pbs.Periodic("n2"); return c.count(r, "n2") == 0 })
		back()
	}},
	{name: "tasks of one array", run: func(c *trial) {
		pbs := c.site.(*pbsSite)
		pbs.Submit(pbstest.Job{ID: "77[].pbs1", Hosts: 99})
		for i := range 3 {
			job := pbs.Submit(pbstest.Job{ID: fmt.Sprintf("77[%d].pbs1", i), Hosts: len(names), Cores: 4, Rerunable: true}).ID
			r := c.run(c.site, job)
			if i == 1 {
				c.site.requeue(job)
				r = c.run(c.site, job)
			}
			if got := c.holder(r); got.Job != job || got.Generation != uint32(pbs.Job(job).Runs) { //nolint:gosec // a few
				c.Errorf("VNI %s of task %s is that of %v", r.vni, job, got)
			}
			c.site.finish(job)
		}
	}},
	{name: "a sister is lost, and the job runs on until PBS gives it up", run: func(c *trial) {
		pbs := c.site.(*pbsSite)
		r := c.begin(c.site)
		back := c.kill("n2")
		pbs.Lose("n2")
		c.standing(r, "n1")
		if c.site.state(r.job) != runs || c.stands(r) != "active" {
			c.Errorf("it is %s, its reservation %s", c.site.state(r.job), c.stands(r))
		}
		pbs.Expire("n2")
		c.until("no service on n1", func() bool { return c.count(r, "n1") == 0 })
		c.holdsVNI(r)
		back()
		c.attached("n2")
		pbs.Restart("n2", false)
		c.site.finish(c.run(c.site, r.job).job)
	}},
}

// TestPBSLife runs what only PBS does beside a job of each other scheduler.
func TestPBSLife(t *testing.T) {
	for _, other := range makers {
		if other.name == "pbs" || !effort.Full() && other.name != "slurm" {
			continue
		}
		for _, sc := range pbsLife {
			t.Run("beside "+other.name+"/"+sc.name, func(t *testing.T) {
				t.Parallel()
				sc.try(newWorld(t, sc, breaks{}, maker{"pbs", newPBS}, other))
			})
		}
	}
}

// TestPBSLifeFindsWhatIsWrong is that those scenarios hear of a VNI that is given while its services stand, and of services that stay.
func TestPBSLifeFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		scenario int
		breaks   breaks
		hears    string
	}{
		"a VNI is given by jobobit":       {0, breaks{takes: again(2)}, "VNI 1025 is "},
		"periodic's lists remove nothing": {3, breaks{leaks: true}, "it does not come to no service on n2"},
	} {
		test.breaks.gives = 10 * time.Second
		if said := heard(t, pbsLife[test.scenario], test.breaks, maker{"pbs", newPBS}, maker{"slurm", newSlurm}); !strings.Contains(said, test.hears) {
			t.Errorf("%s: heard %q, want %q", name, said, test.hears)
		}
	}
}

// count is on how many NICs of nodes a job's services stand.
func (c *trial) count(r *running, nodes ...string) int {
	c.Helper()
	on := 0
	for _, n := range nodes {
		for _, s := range c.services(n) {
			if s.Owner == core.UID(r.s.uid()) && slices.ContainsFunc(s.VNIs, func(v core.VNI) bool { return fmt.Sprint(v) == r.vni }) {
				on++
			}
		}
	}
	return on
}

// standing is that a job's services stand on every NIC of nodes.
func (c *trial) standing(r *running, nodes ...string) {
	c.Helper()
	if got := c.count(r, nodes...); got != len(nodes)*nics {
		c.Errorf("VNI %s stands on %d NICs of %v, want %d", r.vni, got, nodes, len(nodes)*nics)
	}
}

// stands is the state of the reservation that has a job's VNI; "" where none has.
func (c *trial) stands(r *running) string {
	c.Helper()
	state := ""
	c.look(func(m *engine.Machine) {
		for v := range m.Reservations(0) {
			if slices.ContainsFunc(v.VNIs, func(t engine.Taken) bool { return fmt.Sprint(t.VNI) == r.vni }) {
				state = v.State.String()
			}
		}
	})
	return state
}

// holder is whose reservation has a job's VNI.
func (c *trial) holder(r *running) (key core.Key) {
	c.Helper()
	c.look(func(m *engine.Machine) {
		for v := range m.Reservations(0) {
			if slices.ContainsFunc(v.VNIs, func(t engine.Taken) bool { return fmt.Sprint(t.VNI) == r.vni }) {
				key = v.Job.Key
			}
		}
	})
	return key
}

// holdsVNI is that a job's VNI is not free.
func (c *trial) holdsVNI(r *running) {
	c.Helper()
	if c.stands(r) == "" {
		c.Errorf("VNI %s is free, and a node is not known to be clean of it", r.vni)
	}
}
