package life

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// The other manager gives them, outside of Weft's pool.
const (
	otherVNI  = 4000
	otherUser = 4242
)

// TestAWayIn goes it with each scheduler whose jobs can be observed. A job of another scheduler is served meanwhile.
func TestAWayIn(t *testing.T) {
	sc := scenario{observes: true, run: (*trial).wayIn}
	for i, under := range makers {
		if under.name == localName {
			continue
		}
		t.Run(under.name, func(t *testing.T) {
			t.Parallel()
			sc.try(newWorld(t, sc, breaks{}, under, makers[(i+1)%len(makers)]))
		})
	}
}

// wayIn observes, serves one node, a queue and all jobs, and goes back. The other manager has left a service of a user
// behind, and gives its VNI to a job. It removes its services before all jobs are served.
func (c *trial) wayIn() {
	every := func(string) bool { return true }
	c.other("n2", otherUser)
	seen := c.untouched()
	c.other("n1", c.site.uid())
	c.until("an account of a VNI given twice, and of one left behind", func() bool {
		row := c.server.Load().Observed()
		return row.Granted == 1 && row.Twice == 1 && row.Left == 1
	})
	all := c.others()
	c.site.finish(seen)
	c.keeps(all)

	c.turn(&engine.Observed{Nodes: func(n string) bool { return n == "n1" }})
	c.site.finish(c.untouched())
	c.turn(&engine.Observed{Queues: []string{"another"}})
	c.site.finish(c.untouched())
	c.turn(&engine.Observed{Nodes: every})
	c.site.finish(c.begin(c.site).job)
	c.keeps(all)

	c.turn(&engine.Observed{})
	began := c.untouched()
	c.removeOthers()
	c.turn(nil)
	c.asItBegan(began)
	c.site.finish(began)
	served := c.begin(c.site)
	c.turn(&engine.Observed{})
	c.holds(served)
	c.site.finish(served.job)
	c.site.finish(c.untouched())
}

// turn puts another mode of the first site's jobs in force.
func (c *trial) turn(o *engine.Observed) {
	c.Helper()
	c.mu.Lock()
	c.observes = o
	c.mu.Unlock()
	if err := c.server.Load().Reload(c.Context(), c.change()); err != nil {
		c.Fatal(err)
	}
}

func (w *world) observing() *engine.Observed {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.observes
}

// mode is the one that is in force on a node.
func (w *world) mode(node string) func(scheduler string) agent.Mode {
	return func(scheduler string) agent.Mode {
		o := w.observing()
		switch {
		case o == nil || scheduler != w.sites[0].name():
			return agent.ServesAll
		case o.On(node):
			return agent.ServesSome
		}
		return agent.ServesNone
	}
}

// untouched starts a job that runs as if there were no Weft.
func (c *trial) untouched() (job string) {
	c.Helper()
	job = c.site.submit()
	if !c.site.start(job) {
		c.Fatalf("an observed job does not start\n%s", c.story())
	}
	c.asItBegan(job)
	return job
}

// asItBegan is that an observed job's tasks start, and that Weft gives them nothing.
func (c *trial) asItBegan(job string) {
	c.Helper()
	for _, n := range names {
		if v := c.site.vni(job, n); v != "" {
			c.Errorf("an observed job has VNI %s on %s", v, n)
		}
	}
	if st := c.site.state(job); st != runs {
		c.Errorf("an observed job is %s", st)
	}
	c.look(func(m *engine.Machine) {
		if m.Job(core.JobID{Scheduler: c.site.name(), Job: job}) != nil {
			c.Errorf("an observed job has a reservation")
		}
	})
}

// other has the other manager make a service.
func (c *trial) other(node string, uid uint32) {
	c.Helper()
	if _, err := c.nodes[node].driver.now().Foreign(c.Context(), "cxi0", &uid, []core.VNI{otherVNI}); err != nil {
		c.Fatal(err)
	}
}

// others are the services of the other manager, by node.
func (c *trial) others() map[string][]core.Service {
	all := map[string][]core.Service{}
	for _, n := range names {
		all[n] = slices.DeleteFunc(c.services(n), func(s core.Service) bool { return !slices.Contains(s.VNIs, otherVNI) })
	}
	return all
}

// keeps is that the other manager's services are as they were.
func (c *trial) keeps(was map[string][]core.Service) {
	c.Helper()
	if diff := cmp.Diff(was, c.others()); diff != "" {
		c.Errorf("services of the other manager (-were +are):\n%s", diff)
	}
}

func (c *trial) removeOthers() {
	c.Helper()
	for n, services := range c.others() {
		failed, err := c.nodes[n].driver.now().Destroy(c.Context(), services)
		if err != nil || slices.ContainsFunc(failed, func(e error) bool { return e != nil }) {
			c.Fatal(failed, err)
		}
	}
}
