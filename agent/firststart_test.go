package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// counting is an adapter whose job has been started so often before.
type counting struct {
	*adapter
	generation uint32
}

func (c *counting) Parse(ctx context.Context, call core.HookCall) (core.Intent, error) {
	ask, err := c.adapter.Parse(ctx, call)
	ask.Key.Generation = c.generation
	return ask, err
}

// firstAgent is an agent at its first start in a boot.
type firstAgent struct {
	*agent.Agent
	dir     rundir.Dir
	server  *authority
	adapter *counting
	stop    func()
}

// begins starts it, as the daemon does; again on the run directory of the one before.
func begins(t *testing.T, d rundir.Dir, untold ...string) *firstAgent {
	t.Helper()
	s, first, err := d.FirstStart("b", 1)
	if err != nil {
		t.Fatal(err)
	}
	var f *agent.FirstStart
	if first {
		boot, start := time.Now().Add(-time.Hour), time.Now().Add(-time.Minute)
		untold = slices.DeleteFunc(slices.Clone(untold), func(name string) bool { return slices.Contains(s.Told, name) })
		f = &agent.FirstStart{Start: s, Untold: untold, Age: func(t time.Time) agent.Age { return agent.AgeOf(t, boot, start) }}
	}
	n := &firstAgent{dir: d, server: &authority{orders: make(chan core.Orders), cut: make(chan error)}, adapter: &counting{adapter: &adapter{}}}
	hooks := map[string]core.Hooks{"s": n.adapter}
	table, err := agent.HookTable(t.Context(), "n1", map[string]string{"s": "slurm"}, hooks, rundir.Hooks{})
	if err != nil {
		t.Fatal(err)
	}
	n.Agent, n.stop = run(t, agent.Needs{
		Authority: n.server, Hooks: hooks, First: f, Environ: d.Environs(), Rundir: d, HookTable: table,
	})
	return n
}

// tell tells what runs on the node, by the server.
func (n *firstAgent) tell(scheduler string, jobs ...core.JobStatus) {
	n.server.orders <- core.Orders{Ran: []core.Ran{{Scheduler: scheduler, Jobs: jobs}}}
	synctest.Wait()
}

// asks reports whether the newest session wants to be told.
func (n *firstAgent) asks() bool {
	full := slices.DeleteFunc(n.server.said(), func(r core.Report) bool { return !r.Full })
	return len(full) > 0 && full[len(full)-1].First
}

// ran is job 1 of generation 2, begun so long ago.
func ran(ago time.Duration) core.JobStatus {
	return core.JobStatus{
		Run:   core.Run{Key: core.Key{JobID: one, Generation: 2}, Fingerprint: core.Fingerprint{UID: 7, Submitted: 1}},
		State: core.JobRunning, Started: time.Now().Add(-ago).Unix(),
	}
}

func TestAgeOf(t *testing.T) {
	first := time.Unix(1_000_000, 300_000_000)
	booted := first.Add(-time.Hour)
	for name, c := range map[string]struct {
		started time.Time
		want    agent.Age
	}{
		"long before":                     {first.Add(-10 * time.Minute), agent.Settled},
		"its Prolog has had its time":     {time.Unix(1_000_000-31, 0), agent.Settled},
		"its Prolog may be on its way":    {time.Unix(1_000_000-30, 0), agent.Older},
		"the second before":               {time.Unix(1_000_000-1, 0), agent.Older},
		"the same second, cut to a whole": {time.Unix(1_000_000, 0), agent.Younger},
		"after":                           {first.Add(time.Minute), agent.Younger},
		"before the boot":                 {booted.Add(-time.Second), agent.Younger},
	} {
		if got := agent.AgeOf(c.started, booted, first); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// TestAJobThatBeganBesideTheAgent: its Prolog comes after the agent was told of it. It is prepared like any other, and a refused one has no exemption left.
func TestAJobThatBeganBesideTheAgent(t *testing.T) {
	for name, away := range map[string]bool{"granted": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := begins(t, rundir.Dir(t.TempDir()), "s")
				n.adapter.generation = 2
				n.tell("s", ran(time.Minute+5*time.Second)) // the agent began a minute ago
				if !n.dir.Exempted(one) {
					t.Fatal("a job that began before the agent is not exempt")
				}
				if away {
					n.server.err = core.Errorf(core.PoolEmpty, "no VNI is free")
				}
				if r := hooked(t, n.Agent, "prolog", 0); (r.Exit != 0) != away {
					t.Fatalf("its prepare: %d %q", r.Exit, r.Stderr)
				}
				if n.dir.Exempted(one) || len(n.server.vnis) == 0 && !away {
					t.Errorf("it is still exempt: %v; granted: %v", n.dir.Exempted(one), n.server.vnis)
				}
				r := hooked(t, n.Agent, "task", 7)
				if away && r.Exit == 0 || !away && !strings.Contains(string(r.Stdout), "export") {
					t.Errorf("a task: %d %q %q", r.Exit, r.Stdout, r.Stderr)
				}
			})
		})
	}
}

func TestAJobThatRanBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := begins(t, rundir.Dir(t.TempDir()), "s")
		n.adapter.generation = 2
		if !n.asks() {
			t.Fatal("the first report does not say that it is the first start")
		}
		if r := hooked(t, n.Agent, "task", 7); r.Exit == 0 {
			t.Errorf("before anybody has told, a task ran: %q", r.Stdout)
		}
		n.tell("s", ran(2*time.Minute))
		if _, first, err := n.dir.FirstStart("b", 2); first || err != nil {
			t.Errorf("all have told, and the start is not noted: %v", err)
		}
		for range 2 {
			r := hooked(t, n.Agent, "task", 7)
			if r.Exit != 0 || strings.Contains(string(r.Stdout), "export") || !strings.Contains(string(r.Stdout), "unset SLINGSHOT_VNIS\n") {
				t.Errorf("a task: %d %q %q", r.Exit, r.Stdout, r.Stderr)
			}
			// A step reaches this node, without PrologFlags=Alloc.
			if r := hooked(t, n.Agent, "prolog", 0); r.Exit != 0 || strings.Contains(string(r.Stdout), "export") {
				t.Errorf("its prepare: %d %q %q", r.Exit, r.Stdout, r.Stderr)
			}
		}
		if len(n.server.vnis) > 0 || !n.dir.Exempted(one) {
			t.Errorf("its prepare was granted %v; exempt: %v", n.server.vnis, n.dir.Exempted(one))
		}
		n.adapter.generation = 3 // it was requeued
		if r := hooked(t, n.Agent, "prolog", 0); r.Exit != 0 {
			t.Fatalf("%s", r.Stderr)
		}
		if r := hooked(t, n.Agent, "task", 7); !strings.Contains(string(r.Stdout), "export SLINGSHOT_VNIS=1024\n") || n.dir.Exempted(one) {
			t.Errorf("a task of its next run: %q; exempt: %v", r.Stdout, n.dir.Exempted(one))
		}
		n.server.cut <- nil
		time.Sleep(time.Minute)
		synctest.Wait()
		if n.asks() {
			t.Error("it asks again although all have told")
		}
	})
}

// What somebody says of a job that ran before ends nothing, unless it is root: else any user could end it.
func TestAUserPreparesAJobThatRanBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := begins(t, rundir.Dir(t.TempDir()), "s")
		n.adapter.generation = 3
		n.tell("s", ran(2*time.Minute))
		for _, uid := range []uint32{7, 8} {
			if r := hooked(t, n.Agent, "prolog", uid); r.Exit == 0 || !n.dir.Exempted(one) {
				t.Errorf("uid %d: %d %q; exempt: %v", uid, r.Exit, r.Stdout, n.dir.Exempted(one))
			}
		}
	})
}

// A job that has the id of one that ran before gets its own grant.
func TestAnotherUsersJobUnderTheIDOfOneThatRanBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := begins(t, rundir.Dir(t.TempDir()), "s")
		n.adapter.generation = 2
		before := ran(2 * time.Minute)
		before.UID = 8
		n.tell("s", before)
		if r := hooked(t, n.Agent, "prolog", 0); r.Exit != 0 || len(n.server.vnis) != 1 || n.dir.Exempted(one) {
			t.Errorf("%d %q; granted %v; exempt: %v", r.Exit, r.Stderr, n.server.vnis, n.dir.Exempted(one))
		}
	})
}

func TestThatRunsExemptionEndsWithItsCleanUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := begins(t, rundir.Dir(t.TempDir()), "s")
		n.tell("s", ran(2*time.Minute))
		if r := hooked(t, n.Agent, "epilog", 0); r.Exit != 0 || n.dir.Exempted(one) {
			t.Errorf("%s; exempt: %v", r.Stderr, n.dir.Exempted(one))
		}
	})
}

// TestWhatIsNotExempt: each of these was or will be prepared, or refused.
func TestWhatIsNotExempt(t *testing.T) {
	final := ran(2 * time.Minute)
	for name, test := range map[string]struct {
		before string // a hook that is here before the list
		uid    uint32
		refuse core.Reason
		tell   func() core.JobStatus
		exempt bool
	}{
		"it is older":            {tell: func() core.JobStatus { return ran(2 * time.Minute) }, exempt: true},
		"it is prepared":         {before: "prolog", tell: func() core.JobStatus { return ran(2 * time.Minute) }},
		"it was refused":         {before: "prolog", refuse: core.PolicyDenied, tell: func() core.JobStatus { return ran(2 * time.Minute) }},
		"it is over":             {before: "epilog", tell: func() core.JobStatus { return ran(2 * time.Minute) }},
		"it came after":          {tell: func() core.JobStatus { return ran(30 * time.Second) }},
		"it waited for the boot": {tell: func() core.JobStatus { return ran(2 * time.Hour) }},
		"it does not run":        {tell: func() core.JobStatus { final.State = core.JobQueued; return final }},
		"another scheduler's":    {tell: func() core.JobStatus { s := ran(2 * time.Minute); s.Scheduler = "other"; return s }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := begins(t, rundir.Dir(t.TempDir()), "s")
				if test.refuse != "" {
					n.server.err = core.Errorf(test.refuse, "no")
				}
				if test.before != "" {
					hooked(t, n.Agent, test.before, 0)
				}
				n.tell("s", test.tell())
				if got := n.dir.Exempted(one); got != test.exempt {
					t.Errorf("exempt: %v", got)
				}
			})
		})
	}
}

// TestAJobOfWhichNobodySaysSince runs on, but a prepare of it is a prepare: it may have come just now.
func TestAJobOfWhichNobodySaysSince(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			n := begins(t, rundir.Dir(t.TempDir()), "s")
			n.adapter.generation = 2
			j := ran(0)
			j.Started = 0
			n.tell("s", j)
			if r := hooked(t, n.Agent, "task", 7); r.Exit != 0 {
				t.Errorf("a task: %s", r.Stderr)
			}
			if refuse {
				n.server.err = core.Errorf(core.PolicyDenied, "no")
			}
			hooked(t, n.Agent, "prolog", 0)
			if r := hooked(t, n.Agent, "task", 7); n.dir.Exempted(one) || refuse != (r.Exit != 0) {
				t.Errorf("refused %v: a task after its prepare: %d %q", refuse, r.Exit, r.Stdout)
			}
		})
	}
}

// TestToldInParts: a session that ends and an agent that is killed lose nothing of what was told and ask for the rest.
func TestToldInParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := rundir.Dir(t.TempDir())
		n := begins(t, d, "s", "later")
		n.server.cut <- nil
		time.Sleep(time.Minute)
		synctest.Wait()
		if !n.asks() {
			t.Error("the next session does not ask again")
		}
		n.tell("s", ran(10*time.Minute))
		n.stop()
		n = begins(t, d, "s", "later")
		if !n.asks() || !d.Exempted(one) {
			t.Errorf("after a restart it asks: %v, and the job is exempt: %v", n.asks(), d.Exempted(one))
		}
		other := ran(2 * time.Minute)
		other.Job = "2"
		n.tell("s", other) // it has told: what it says now may be younger
		if d.Exempted(other.JobID) {
			t.Error("a scheduler was heard twice")
		}
		n.tell("later")
		if _, first, err := d.FirstStart("b", 2); first || err != nil {
			t.Errorf("all have told, and the start is not noted: %v", err)
		}
	})
}

// TestAnExemptionEndsWithoutAHook: the job ended before slurm.conf named Weft's hooks, so no clean-up was ever asked for. The server is asked, in the same
// session and at the begin of each, and its answer ends the exemption where it is whole and lacks that very run.
func TestAnExemptionEndsWithoutAHook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := rundir.Dir(t.TempDir())
		n := begins(t, d, "s", "other")
		job := ran(2 * time.Minute)
		n.tell("s", job)
		n.tell("other")
		bypassed := core.JobID{Scheduler: "s", Job: "2"}
		if err := d.Exempt(bypassed); err != nil {
			t.Fatal(err)
		}
		again := func() (times int) {
			for _, r := range n.server.said() {
				if r.First && !r.Full {
					times++
				}
			}
			return times
		}
		time.Sleep(11 * time.Minute)
		synctest.Wait()
		if got := again(); got != 1 {
			t.Errorf("after 11 minutes the server was asked again %d times", got)
		}
		n.server.cut <- nil
		time.Sleep(time.Minute)
		synctest.Wait()
		if !n.asks() {
			t.Error("the next session does not ask")
		}
		whole := func(scheduler string, jobs ...core.JobStatus) {
			n.server.orders <- core.Orders{Ran: []core.Ran{{Scheduler: scheduler, Jobs: jobs, Whole: true}}}
			synctest.Wait()
		}
		whole("s", job)
		whole("other")
		n.tell("s") // not whole
		if !d.Exempted(one) {
			t.Fatal("a job that runs, or may, is not exempt any more")
		}
		later := job
		later.Generation++
		whole("s", later)
		if d.Exempted(one) || !d.Exempted(bypassed) {
			t.Errorf("its run is over, and it is exempt: %v; one that went by is: %v", d.Exempted(one), d.Exempted(bypassed))
		}
		before := again()
		time.Sleep(time.Hour)
		synctest.Wait()
		if got := again(); got != before {
			t.Errorf("nothing is left to be asked, and the server was asked %d times", got-before)
		}
	})
}
