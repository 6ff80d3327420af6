package life

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/flux"
)

// fluxLife are what only Flux does to jobs and nodes, with a job of Slurm's beside on the same nodes.
var fluxLife = []scenario{
	// A broker that does not take the event holds up no prolog.
	{name: "its eventlog shows once what it was given", run: func(c *trial) {
		f := c.site.(*fluxSite)
		held, release := f.hold("job-manager.post-event.post", 1)
		r := c.begin(f)
		f.prolog(r.job, 0, names...) // as another prolog of the job's that fails makes them all come again
		<-held
		if e := f.events(r.job, "weft"); len(e) != 0 {
			c.Errorf("the broker held it up, and has %q", e)
		}
		release()
		c.noted(f, r.job)
		c.shown(f, r)
		f.finish(r.job)
		// The next job's event comes after whatever else of this one's would.
		next := c.begin(f)
		c.noted(f, next.job)
		f.finish(next.job)
		if e := f.events(r.job, "weft"); len(e) != 1 {
			c.Errorf("%d events of one job: %q", len(e), e)
		}
	}},
	{name: "its eventlog shows once what it was given, though the server ends", run: func(c *trial) {
		f := c.site.(*fluxSite)
		jobs := []string{f.submit(), f.submit(), f.submit()}
		for i, job := range jobs {
			held, release := make(<-chan struct{}), func() {}
			switch i {
			case 0: // before the event is asked for: the first lookup is for the grant
				held, release = f.hold("job-info.lookup", 2)
			case 1: // before the broker's answer comes
				held, release = f.hold("job-manager.post-event.post", 1)
			}
			f.alloc(job)
			f.prolog(job, 0, "n1")
			if i < 2 {
				<-held
				back := c.killServer()
				release()
				if e := f.events(job, "weft"); i == 0 && len(e) != 0 {
					c.Errorf("%q", e)
				}
				back()
			}
			c.noted(f, job)
		}
		for _, job := range jobs {
			if e := f.events(job, "weft"); len(e) != 1 {
				c.Errorf("job %s has %d events: %q", job, len(e), e)
			}
			f.finish(job)
		}
	}},
	// Flux starts an epilog beside a prolog that ignores SIGTERM, and a prolog may come late once more.
	{name: "its epilog ends before its prolog", run: func(c *trial) {
		f := c.site.(*fluxSite)
		held, release := f.hold("job-info.lookup", 1)
		job := f.submit()
		f.alloc(job)
		prolog := make(chan core.HookReply, 1)
		go func() { prolog <- f.hook("n1", flux.PhaseProlog, job) }()
		<-held
		for _, event := range []string{"epilog-start", "free", "clean"} {
			f.broker.Post(number(job), event, nil)
		}
		f.cancel(job)()
		release()
		if r := <-prolog; r.Exit != 0 && r.Exit != flux.ExitAgain {
			c.Errorf("the prolog would drain the node: %+v", r)
		}
		f.prolog(job, 0, "n1")
		f.stopped(job, "n1", "")
	}},
	{name: "an epilog comes three times while the next job starts", run: func(c *trial) {
		f := c.site.(*fluxSite)
		old, next := c.begin(f), f.submit()
		var all sync.WaitGroup
		for range 2 {
			all.Go(func() { f.hook("n1", flux.PhaseEpilog, old.job) })
		}
		all.Go(f.end(old.job, ""))
		r := c.run(f, next)
		all.Wait()
		c.until("no service of the job before", func() bool { return c.count(old, names...) == 0 })
		c.holds(r)
		f.stopped(old.job, "n1", "")
		f.finish(next)
	}},
	{name: "no epilog comes", run: func(c *trial) {
		f := c.site.(*fluxSite)
		r := c.begin(f)
		f.end(r.job, "") // runs no epilog, as its wait would
		f.broker.End(number(r.job))
		c.until("no service of the job", func() bool { return c.count(r, names...) == 0 })
	}},
	{name: "a node where nothing was prepared", run: func(c *trial) {
		f := c.site.(*fluxSite)
		job := f.submit()
		f.alloc(job)
		f.prolog(job, 0, "n1")
		f.stopped(job, "n2", "")
		f.finish(job)
	}},
	{name: "the pool is empty, and its user hears it", vnis: 1, run: func(c *trial) {
		f := c.site.(*fluxSite)
		job := f.submit()
		f.alloc(job)
		for range 3 {
			if text := f.prolog(job, flux.ExitAgain, "n1"); !strings.Contains(text, "jobs") {
				c.Errorf("%s", text)
			}
		}
		f.stopped(job, "n1", "no VNI is free")
		f.finish(job)
		if e := f.events(job, "exception"); e != nil {
			c.Errorf("%q", e)
		}
	}},
	{name: "it asks for what there is not, and its user hears it", run: func(c *trial) {
		f := c.site.(*fluxSite)
		job := f.submit()
		options := map[string]any{"slingshot": map[string]any{"colour": "blue"}}
		f.broker.Submit(number(job), fluxUser, map[string]any{"shell": map[string]any{"options": options}})
		f.alloc(job)
		f.prolog(job, 0, names...)
		c.until("an exception", func() bool { return f.events(job, "exception") != nil })
		if e := f.events(job, "exception")[0]; !strings.Contains(e, `"type":"weft"`) || !strings.Contains(e, "slingshot.colour") {
			c.Errorf("%s", e)
		}
		f.stopped(job, "n1", "")
		f.finish(job)
	}},
	// flux-coral2's helper crashed at EBUSY and never tried again, and its VNI was free before.
	{name: "its broker forgets it while its services are busy", vnis: 2, run: func(c *trial) {
		f := c.site.(*fluxSite)
		r := c.begin(f)
		c.at(atDestroy+"n1", nil, core.Errorf(core.ServiceBusy, "an application holds it"))
		f.finish(r.job)
		f.broker.Purge(number(r.job))
		next := f.submit()
		if f.start(next) {
			c.Errorf("the VNI was given before its services were gone")
		}
		c.standing(r, "n1")
		c.open()
		f.finish(c.run(f, next).job)
	}},
	// flux-coral2 forgot what jobs had when its plugin was loaded anew.
	{name: "the broker starts anew, and then all", run: func(c *trial) {
		f := c.site.(*fluxSite)
		r := c.begin(f)
		for name, restart := range map[string]func() error{
			"the broker": func() error { f.broker.Crash(); return f.broker.Start() },
			"all": func() error {
				server, node := c.killServer(), c.kill("n1")
				f.broker.Stop()
				err := f.broker.Start()
				server()
				node()
				return err
			},
		} {
			if err := restart(); err != nil {
				c.Fatal(err)
			}
			other := c.begin(f)
			if other.vni == r.vni {
				c.Errorf("after a restart of %s another job has VNI %s, too", name, r.vni)
			}
			c.holds(r)
			f.finish(other.job)
		}
		if e := f.events(r.job, "exception"); e != nil {
			c.Errorf("%q", e)
		}
		f.finish(r.job)
	}},
}

// TestFluxLife runs what only Flux does.
func TestFluxLife(t *testing.T) {
	for _, sc := range fluxLife {
		t.Run(sc.name, func(t *testing.T) {
			t.Parallel()
			sc.try(newWorld(t, sc, breaks{}, maker{"flux", newFlux}, maker{"slurm", newSlurm}))
		})
	}
}

// hold has the broker keep back its answers to a topic from the nth on, until release. held says that one is kept.
func (s *fluxSite) hold(topic string, nth int32) (held <-chan struct{}, release func()) {
	came, gone := make(chan struct{}, 1), make(chan struct{})
	var asked atomic.Int32
	s.broker.Before(func(t string) {
		if t == topic && asked.Add(1) >= nth {
			select {
			case came <- struct{}{}:
			default:
			}
			<-gone
		}
	})
	return came, func() { s.broker.Before(nil); close(gone) }
}

// events are those of a job with a name.
func (s *fluxSite) events(job, name string) (found []string) {
	for _, e := range s.broker.Events(number(job)) {
		if strings.Contains(e, fmt.Sprintf(`"name":%q`, name)) {
			found = append(found, e)
		}
	}
	return found
}

// prolog runs a job's prolog on nodes in turn, and wants this exit code. It gives what they said.
func (s *fluxSite) prolog(job string, exit int, nodes ...string) (said string) {
	for _, n := range nodes {
		r := s.hook(n, flux.PhaseProlog, job)
		if said += string(r.Stdout) + string(r.Stderr); r.Exit != exit {
			s.w.Errorf("prolog of job %s on %s: exit %d, want %d: %s", job, n, r.Exit, exit, r.Stderr)
		}
	}
	return said
}

// stopped is that a job's shell on a node starts no task, and says why.
func (s *fluxSite) stopped(job, node, why string) {
	r := s.hook(node, flux.PhaseShell, job)
	text := string(r.Stdout)
	if r.Exit != 1 || !strings.HasPrefix(text, "print weft: ") || !strings.Contains(text, why) || strings.Contains(text, "export") || strings.Contains(text, "-1") {
		s.w.Errorf("job %s would run on %s: exit %d: %s", job, node, r.Exit, text)
	}
}

// noted waits for the event that shows what a job was given.
func (c *trial) noted(f *fluxSite, job string) {
	c.Helper()
	c.until("an event of job "+job, func() bool { return f.events(job, "weft") != nil })
}

// shown is that a job's eventlog has the VNIs, NICs, classes and limits of its services.
func (c *trial) shown(f *fluxSite, r *running) {
	c.Helper()
	type given struct {
		VNIs      []core.VNI
		NICs, TCs []string
		Limits    map[string]core.Limit
	}
	var got struct{ Context given }
	if err := json.Unmarshal([]byte(f.events(r.job, "weft")[0]), &got); err != nil {
		c.Fatal(err)
	}
	var want given
	for _, s := range c.services("n1") {
		if s.Owner != core.UID(fluxUser) {
			continue
		}
		want.NICs = append(want.NICs, s.Device)
		want.VNIs, want.TCs, want.Limits = s.VNIs, s.Classes.Names(), map[string]core.Limit{}
		for i, l := range s.Limits {
			if l != (core.Limit{}) {
				want.Limits[core.Resource(i).String()] = l
			}
		}
	}
	slices.Sort(want.NICs)
	if diff := cmp.Diff(want, got.Context); diff != "" || core.FormatVNIs(want.VNIs) != r.vni {
		c.Errorf("the eventlog of a job with VNI %s (-services +eventlog):\n%s", r.vni, diff)
	}
}

// TestFluxDoctor: a broker of another owner, whom the block does not name, takes Weft for a guest.
func TestFluxDoctor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, scenario{}, breaks{}, maker{"flux", newFlux})
	f := w.sites[0].(*fluxSite)
	doctor := func() []agent.FindingRow {
		p := flux.New("flux")
		if err := p.Configure(t.Context(), core.Values{"uri": f.broker.URI()}); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = p.Configure(context.Background(), core.Values{}) }()
		rows := w.nodes["n1"].agent.Load().Doctor(t.Context(), agent.Site{Checks: map[string]core.Checker{"scheduler flux": p}}, 0)
		return slices.DeleteFunc(rows, func(r agent.FindingRow) bool { return r.Of != "scheduler flux" })
	}
	guest := func(r agent.FindingRow) bool {
		return r.Severity == core.Critical.String() && strings.Contains(r.What, "guest") && strings.Contains(r.Remedy, "user") && strings.Contains(r.Remedy, "allow-root-owner")
	}
	if rows := doctor(); len(rows) == 0 || slices.ContainsFunc(rows, guest) {
		t.Errorf("its owner: %+v", rows)
	}
	f.broker.OwnedBy(4242)
	if rows := doctor(); !slices.ContainsFunc(rows, guest) {
		t.Errorf("a guest: %+v", rows)
	}
}

// TestFluxSlowPrologs: 2,000 nodes of a job wait for a broker that answers nobody for long. It is asked about the job once, and none of them is given up.
// flux-coral2 gave up each after 30 s.
func TestFluxSlowPrologs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, scenario{}, breaks{}, maker{"flux", newFlux})
	f := w.sites[0].(*fluxSite)
	server := w.server.Load()
	many := make([]string, 2000)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var there sync.WaitGroup
	for i := range many {
		many[i] = fmt.Sprintf("m%04d", i)
		there.Add(1)
		first := core.Report{Number: 1, Boot: many[i], Full: true, Devices: []string{"cxi0"}}
		greet := sync.OnceFunc(there.Done)
		go func() { _ = server.Attend(ctx, many[i], first, nil, func(core.Orders) { greet() }) }()
	}
	there.Wait()
	job := f.submit()
	f.alloc(job, many...)
	held, release := f.hold("job-info.lookup", 1)
	var group, waiting sync.WaitGroup
	waiting.Add(len(many))
	for _, name := range many {
		group.Go(func() {
			ask, err := f.process().hooks.Parse(t.Context(), f.call(flux.PhaseProlog, job))
			ask.Boot = name
			waiting.Done()
			if err == nil {
				_, err = server.Reserve(t.Context(), name, ask, core.Peer{})
			}
			if err != nil {
				t.Errorf("node %s: %v", name, err)
			}
		})
	}
	waiting.Wait()
	<-held
	release()
	group.Wait()
	if n := f.broker.Asked("job-info.lookup"); n > 3 { // two for what it is, one for whether its eventlog shows already what it was given
		t.Errorf("the broker was asked %d times about one job", n)
	}
	phases, err := f.lives[0].Phases(t.Context())
	if err != nil || phases[0].Name != flux.PhaseProlog || phases[0].Limit < 5*time.Minute {
		t.Errorf("a prolog is given up after %v: %v", phases[0].Limit, err)
	}
}
