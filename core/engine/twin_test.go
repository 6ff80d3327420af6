package engine

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
)

// The two hosts of n2.
var (
	first  = Host{From: "10.0.0.2", Boot: "n2-boot1", Agent: "first"}
	second = Host{From: "10.0.0.9", Boot: "n2-boot2", Agent: "second"}
	equal  = Host{From: "10.0.0.9", Boot: "n2-boot1", Agent: "second"}
)

// came is a session of n2 from h.
func (w *world) came(h Host, held ...core.Held) []Action {
	w.t.Helper()
	return w.cameOn("", h, held...)
}

func (w *world) cameOn(hardware string, h Host, held ...core.Held) []Action {
	w.t.Helper()
	w.boots["n2"] = h.Boot
	return w.begin("n2", core.Report{From: h.From, Agent: h.Agent, Hardware: hardware, Held: held})
}

func (w *world) drained() string { return w.m.nodes["n2"].Drained }

// twins is a run that drains and that only n2 still holds, on its first host.
func twins(t *testing.T) (*world, core.Run) {
	w, run := draining(t)
	w.tell("n1", heldAs(core.HeldClean, run))
	w.came(first, heldAs(core.HeldReady, run, 1024))
	return w, run
}

// Whatever the two hosts say, what the node holds stays held. Without the second, the first heals it in the same boot.
func TestTwoHosts(t *testing.T) {
	for _, tt := range []struct {
		name  string
		other Host
		seen  func(w *world, run core.Run)
	}{
		{"the first host answers", second, func(w *world, _ core.Run) { w.step(TwoHosts{"n2", first, second}) }},
		{"boots that alternate", second, func(w *world, run core.Run) {
			w.came(second)
			w.want(run, Quarantined)
			w.came(first, heldAs(core.HeldReady, run, 1024))
		}},
		{"boots that alternate, with a restart between", second, func(w *world, run core.Run) {
			w.restart()
			w.came(second)
			w.want(run, Quarantined)
			w.restart()
			w.came(first, heldAs(core.HeldReady, run, 1024))
		}},
		{"boots that alternate, and the first host has lost its record", second, func(w *world, run core.Run) {
			w.came(second)
			w.want(run, Quarantined)
			w.came(first)
		}},
		{"equal boots", equal, func(w *world, run core.Run) {
			w.came(equal, heldAs(core.HeldClean, run))
			w.want(run, Quarantined)
			w.step(TwoHosts{"n2", equal, first})
			w.came(first, heldAs(core.HeldReady, run, 1024))
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, run := twins(t)
			tt.seen(w, run)
			for _, want := range []string{core.TwinPrefix, first.From, first.Boot, tt.other.From, tt.other.Boot} {
				if !strings.Contains(w.drained(), want) {
					t.Errorf("drained: %q, which lacks %q", w.drained(), want)
				}
			}
			held := func(when string, acts []Action) {
				t.Helper()
				w.tick(time.Second)
				w.want(run, Held)
				if len(cleans(acts, "n2"))+len(forgets(acts, "n2")) > 0 {
					t.Errorf("%s: orders: %+v", when, acts)
				}
			}
			held("at once", w.last)
			held("the other says clean", w.came(tt.other, heldAs(core.HeldClean, run)))
			held("the first says clean", w.came(first, heldAs(core.HeldClean, run)))
			held("a third boot", w.came(Host{From: first.From, Boot: "n2-boot3", Agent: "third"}))
			for range 60 {
				held("time", w.tick(time.Minute))
				w.came(tt.other)
				w.came(first)
			}
			w.restart()
			w.attach("n1")
			held("a restart of the server", w.came(first))
			w.refused("n2", job("8", "n2"), app(), core.NodeDrained)

			w.tick(DefaultRules.Away - 3*time.Second)
			held("just before the other counts as gone", nil)
		})
	}
}

func TestTwoHostsHeal(t *testing.T) {
	w, run := twins(t)
	w.step(TwoHosts{"n2", first, second})
	w.tick(DefaultRules.Away - time.Second)
	w.step(TwoHosts{"n2", first, second}) // it comes again and again
	w.tick(DefaultRules.Away - time.Second)
	if w.drained() == "" {
		t.Fatal("healed while the other comes")
	}
	acts := w.tick(time.Second)
	if diff := cmp.Diff([]End{{"n2", w.m.nodes["n2"].session}}, all[End](acts)); diff != "" {
		t.Error(diff)
	}
	if len(all[Resume](acts)) != 1 || w.drained() != "" {
		t.Errorf("drained: %q: %+v", w.drained(), acts)
	}
	w.restart()
	w.attach("n1")
	if acts := w.came(first, heldAs(core.HeldReady, run, 1024)); len(cleans(acts, "n2")) != 1 {
		t.Errorf("%+v", acts)
	}
	w.tell("n2", heldAs(core.HeldClean, run))
	w.want(run, Quarantined)
	in := w.ask("n2", job("8", "n2"))
	if in.Ask.Agent = first.Agent; !described(w.step(in), in.Call) {
		t.Errorf("%+v", w.last)
	}
}

// Where the boot ids are equal, a host that comes later proves nothing until an administrator says that it is the node.
func TestTwoHostsOfEqualBoots(t *testing.T) {
	w, run := twins(t)
	w.step(TwoHosts{"n2", first, equal})
	w.came(equal, heldAs(core.HeldClean, run))
	resume := func() { w.step(SetDrain{Call: 1, Node: "n2"}) }
	if resume(); w.drained() == "" {
		t.Fatal("resumed while both are there")
	}
	w.tick(time.Hour)
	w.want(run, Held)
	if w.drained() == "" {
		t.Fatal("the second host healed it")
	}
	if resume(); w.drained() != "" || len(all[End](w.last)) != 1 {
		t.Fatalf("drained: %q: %+v", w.drained(), w.last)
	}
	w.came(equal, heldAs(core.HeldClean, run))
	w.want(run, Quarantined)
}

// A host that went leaves what it held. Only an administrator writes that off.
func TestTheHostThatWentIsWrittenOff(t *testing.T) {
	w, run := twins(t)
	stray := strayService(1050)
	w.more("n2", core.Report{Changed: true, Devices: []string{"cxi0", "cxi1"}, Unknown: []core.Service{stray}})
	w.step(TwoHosts{"n2", first, second})
	w.came(second)
	w.tick(DefaultRules.Away)
	w.came(second, heldAs(core.HeldClean, run))
	w.tick(time.Hour)
	w.came(Host{Boot: "n2-boot3"}) // it reboots
	w.tick(time.Hour)
	if w.drained() != "" {
		t.Fatal(w.drained())
	}
	w.want(run, Held)
	w.want(strayRun("n2", stray), Held)
	for _, job := range []core.JobID{run.JobID, strayRun("n2", stray).JobID} {
		if d := all[Done](w.step(Forget{Call: 1, Job: job})); len(d) != 1 || d[0].Err != nil || d[0].Count != 1 {
			t.Errorf("%+v", d)
		}
	}
	w.want(run, Quarantined)
	w.want(strayRun("n2", stray), Quarantined)
}

// The second host may have unknown services that the first does not have.
func TestTwoHostsWithUnknownServices(t *testing.T) {
	w, _ := twins(t)
	stray := strayService(1050)
	w.more("n2", core.Report{Changed: true, Devices: []string{"cxi0", "cxi1"}, Unknown: []core.Service{stray}})
	w.came(second)
	w.want(strayRun("n2", stray), Quarantined)
	w.came(first)
	w.want(strayRun("n2", stray), Held)
	w.tick(time.Hour)
	w.came(first)
	w.want(strayRun("n2", stray), Quarantined)
}

func TestTwoHostsAndOtherDrains(t *testing.T) {
	w, _ := twins(t)
	twin := core.TwinPrefix + first.String() + " and " + second.String()
	unread := core.UnreadPrefix + "no libcxi"
	set := func(reason string) { w.step(SetDrain{Call: 1, Node: "n2", Reason: reason}) }
	for _, tt := range []struct {
		name string
		do   func()
		want string
	}{
		{"the node's own fault", func() { w.more("n2", core.Report{Changed: true, Fault: unread}) }, unread},
		{"gives way", func() { w.step(TwoHosts{"n2", first, second}) }, twin},
		{"a fault", func() { w.more("n2", core.Report{Fault: "cxi0: no link"}) }, twin},
		{"a reading", func() { w.more("n2", core.Report{Changed: true}) }, twin},
		{"a reading that failed", func() { w.more("n2", core.Report{Changed: true, Fault: unread}) }, twin},
		{"an administrator cannot resume it", func() { set("") }, twin},
		{"an administrator's reason", func() { set("repair") }, "repair"},
		{"resumed", func() { set("") }, twin},
		{"the other host is gone", func() { w.tick(DefaultRules.Away) }, "cxi0: no link"},
		{"an administrator resumes it", func() { set("") }, unread},
		{"seen again, while it is drained", func() { set("repair"); w.step(TwoHosts{"n2", first, second}) }, "repair"},
		{"and gone", func() { w.tick(DefaultRules.Away) }, "repair"},
	} {
		if tt.do(); w.drained() != tt.want {
			t.Fatalf("%s: drained: %q, want %q", tt.name, w.drained(), tt.want)
		}
	}
}

// One host's scheduler does not know the jobs of the other.
func TestTheJobsOfOneOfTwoHosts(t *testing.T) {
	w := newWorld(t, 100, "n2")
	j := job("7", "n2")
	w.granted("n2", j, app())
	answer := func() {
		w.pass(time.Second)
		w.step(Answer{Scheduler: "slurm", Node: "n2", From: "n2", Began: w.now.Uptime, Jobs: core.Jobs{Complete: true}})
	}
	w.step(TwoHosts{"n2", first, second})
	answer()
	answer()
	w.want(j.Run, Active)
	w.tick(DefaultRules.Away)
	answer()
	answer()
	w.want(j.Run, Draining)
}

// A store that waits for its nodes does not take one of two hosts for the node.
func TestTwoHostsInARecovery(t *testing.T) {
	w := lost(t)
	w.attach("n1")
	w.came(second)
	w.step(TwoHosts{"n2", second, first})
	w.attach("n3")
	w.came(second)
	w.refused("n1", job("7", "n1"), app(), core.Recovering)
	w.tick(DefaultRules.Away)
	w.refused("n1", job("7", "n1"), app(), core.Recovering)
	w.came(second)
	w.granted("n1", job("7", "n1"), app())
}

// A call of another process than the session's may be the other host's.
func TestAnotherAgentsCallIsRefused(t *testing.T) {
	w, _ := twins(t)
	w.refused("n2", job("8", "n2"), app(), core.NodeAway)
	w.came(Host{Boot: first.Boot}) // both of an older release
	w.granted("n2", job("8", "n2"), app())
}

// A fault that the node told while it had two hosts drains it afterwards.
func TestAFaultOfOneOfTwoHosts(t *testing.T) {
	w, _ := twins(t)
	w.step(TwoHosts{"n2", first, second})
	w.more("n2", core.Report{Fault: "cxi0: no link"})
	w.restart()
	w.came(first)
	for _, want := range []string{"cxi0: no link", ""} {
		if w.tick(DefaultRules.Away); w.drained() != want {
			t.Errorf("drained: %q, want %q", w.drained(), want)
		}
		w.step(SetDrain{Call: 1, Node: "n2"})
		w.step(TwoHosts{"n2", first, second})
	}
}

// A scheduler whose half runs on such a node is blind: the list may be the other host's.
func TestTheSchedulerOfTwoHosts(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	j := job("7", "n1")
	w.granted("n1", j, app())
	w.attach("n2")
	tells := func(jobs core.Jobs) {
		w.pass(time.Second)
		w.step(Answer{Scheduler: "slurm", From: "n2", Began: w.now.Uptime, Jobs: jobs})
	}
	lacks := func() { tells(core.Jobs{Complete: true}) }
	lacks()
	w.step(TwoHosts{"n2", first, second})
	for range 3 {
		lacks()
		tells(core.Jobs{Jobs: []core.JobStatus{{Run: j.Run, State: core.JobFinal}}})
		w.want(j.Run, Active)
	}
	for _, want := range []string{"slurm", "n2", first.From, second.From} {
		if why := w.m.Figures().Blind["slurm"]; !strings.Contains(why, want) {
			t.Errorf("blind: %q, which lacks %q", why, want)
		}
	}
	w.tick(DefaultRules.Away)
	lacks()
	w.want(j.Run, Active)
	if why := w.m.Figures().Blind["slurm"]; why != "" {
		t.Error(why)
	}
	lacks()
	w.want(j.Run, Draining)
}

// A host that sees a job live keeps it, whatever the other says.
func TestTwoHostsVouch(t *testing.T) {
	w, j, held := vouching(t)
	says := func(node string, l core.Life) { held.Life = l; w.tell(node, held) }
	miss := func() []Action { w.pass(5 * time.Second); return w.complete() }
	w.step(TwoHosts{"n2", first, second})
	for range 3 {
		if got := asks(miss(), j.Run); len(got) != 2 {
			t.Fatalf("asked %v", got)
		}
		says("n1", core.LifeNone)
		says("n2", core.LifeSeen)
		says("n2", core.LifeNone)
		w.want(j.Run, Active)
	}
	miss()
	if acts := w.begin("n2", core.Report{Agent: "a", Held: []core.Held{held}}); len(asks(acts, j.Run)) != 1 {
		t.Errorf("the next session is not asked: %+v", acts)
	}
}

// Whatever is refused for two hosts says what ends that.
func TestTwoHostsRefuse(t *testing.T) {
	w, _ := twins(t)
	w.step(TwoHosts{"n2", first, second})
	resume, accept := SetDrain{Call: 1, Node: "n2"}, Accept{Call: 2, Node: "n2"}
	for name, err := range map[string]error{
		"a job":          w.refused("n2", job("8", "n2"), app(), core.NodeDrained),
		"weft resume":    done(t, w.step(resume)).Err,
		"the NICs there": done(t, w.step(accept)).Err,
	} {
		if e := core.AsError(err); e == nil || e.Reason != core.NodeDrained || e.Remedy != core.TwinRemedy {
			t.Errorf("%s: %+v", name, err)
		}
	}
}

// A node that an administrator drained before keeps its two hosts through a restart of the server.
func TestTwoHostsOfADrainedNode(t *testing.T) {
	w, _ := twins(t)
	w.step(SetDrain{Call: 1, Node: "n2", Reason: "repair"})
	w.step(TwoHosts{"n2", first, second})
	w.restart()
	w.came(first)
	if got := w.m.Twins(); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}

// The second host's half of a scheduler does not know the jobs of the first. The server drops its word on them.
func TestTwoHostsTakeBackAnEnd(t *testing.T) {
	for name, between := range map[string]func(*world){
		"the same server":    func(*world) {},
		"a restart between":  func(w *world) { w.restart() },
		"a third host comes": func(w *world) { w.step(TwoHosts{"n2", second, Host{Boot: "n2-boot3"}}) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 100, "n2")
			j := job("7", "n2")
			w.came(first)
			in := w.ask("n2", j)
			in.Ask.Agent = first.Agent
			w.step(in)
			in.Said = &Said{Began: w.now.Uptime, Job: j, Decision: app()}
			g, err := w.outcome(w.step(in), in.Call)
			if err != nil {
				t.Fatal(err)
			}
			answer := func(jobs ...core.JobStatus) {
				w.pass(time.Second)
				said := core.Jobs{Complete: true, Jobs: jobs}
				w.step(Answer{Scheduler: "slurm", Node: "n2", From: "n2", Began: w.now.Uptime, Jobs: said})
			}
			held := heldAs(core.HeldReady, j.Run, g.VNIs...)
			w.came(first, held)
			w.came(second)
			answer()
			answer()
			w.want(j.Run, Quarantined)
			between(w)
			w.came(first, held)
			w.want(j.Run, Active)
			w.restart()
			w.came(first, held)
			w.tick(DefaultRules.Away)
			acts := w.came(first, held)
			answer(running(j.Run))
			w.tick(time.Hour)
			w.want(j.Run, Active)
			if len(cleans(acts, "n2")) > 0 {
				t.Errorf("%+v", acts)
			}
			answer()
			w.pass(DefaultRules.Vouch) // the node does not say that it sees the job
			answer()
			w.want(j.Run, Draining)
		})
	}
}

// The end that an administrator told stays.
func TestTwoHostsKeepAnAdministratorsEnd(t *testing.T) {
	w := newWorld(t, 100, "n2")
	j := job("7", "n2")
	w.granted("n2", j, app())
	final := core.Jobs{Jobs: []core.JobStatus{{Run: j.Run, State: core.JobFinal}}}
	w.step(Answer{Scheduler: "slurm", Node: "n2", From: "n2", Began: w.now.Uptime, Jobs: final})
	w.step(Forget{Call: 1, Job: j.JobID})
	w.step(TwoHosts{"n2", second, first})
	w.tick(time.Second)
	w.want(j.Run, Held)
}

// Other hardware under a node's name may be a copied host, also where the first host is silent. The services of that
// one stay held. An administrator says that the hardware was replaced.
func TestOtherHardware(t *testing.T) {
	for name, other := range map[string]Host{"another boot": second, "an equal boot": equal} {
		t.Run(name, func(t *testing.T) {
			w, run := draining(t)
			w.tell("n1", heldAs(core.HeldClean, run))
			w.cameOn("a", first, heldAs(core.HeldReady, run, 1024))
			came := func() {
				t.Helper()
				w.cameOn("b", other, heldAs(core.HeldClean, run))
				w.tick(time.Second)
				w.want(run, Held)
				if !strings.HasPrefix(w.drained(), core.TwinPrefix) {
					t.Fatalf("drained: %q", w.drained())
				}
			}
			came()
			w.restart()
			w.attach("n1")
			came()
			w.tick(time.Hour)
			came()

			w.cameOn("a", first, heldAs(core.HeldReady, run, 1024))
			if w.tick(DefaultRules.Away); w.drained() != "" {
				t.Fatalf("the first host is alone, and drained: %q", w.drained())
			}

			came()
			w.tick(time.Hour)
			if w.step(SetDrain{Call: 1, Node: "n2"}); w.drained() != "" {
				t.Fatalf("resumed, and drained: %q", w.drained())
			}
			w.cameOn("b", other, heldAs(core.HeldClean, run))
			if other != equal { // as after any two hosts
				w.want(run, Held)
				w.step(Forget{Call: 2, Job: run.JobID})
			}
			w.want(run, Quarantined)
		})
	}
}

// A node that holds nothing may have other hardware at any boot.
func TestReplacedHardware(t *testing.T) {
	w, run := draining(t)
	w.cameOn("a", first)
	w.tell("n2", heldAs(core.HeldClean, run))
	w.cameOn("b", second)
	w.cameOn("", Host{Boot: "n2-boot3"})
	w.cameOn("b", Host{Boot: "n2-boot4"})
	if w.drained() != "" || w.m.nodes["n2"].Hardware != "b" {
		t.Errorf("drained: %q; %+v", w.drained(), w.m.nodes["n2"].Node)
	}
}
