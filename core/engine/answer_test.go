package engine

import (
	"fmt"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// A job is gone when an answer that was asked for after its newest prepare says so.
func TestAnswerSaysGone(t *testing.T) {
	run := job("7", "n1").Run
	run.Generation = 1
	with := func(f func(*core.JobStatus)) core.JobStatus { s := running(run); f(&s); return s }
	for _, tt := range []struct {
		name string
		said []core.JobStatus
		want State
	}{
		{"running", []core.JobStatus{running(run)}, Active},
		{"back in the queue", []core.JobStatus{queued(run)}, Draining},
		{"final", []core.JobStatus{with(func(s *core.JobStatus) { s.State = core.JobFinal })}, Draining},
		{"a higher generation", []core.JobStatus{with(func(s *core.JobStatus) { s.Generation = 2 })}, Draining},
		{"an earlier generation says nothing", []core.JobStatus{with(func(s *core.JobStatus) { s.Generation = 0 })}, Active},
		{"another uid", []core.JobStatus{with(func(s *core.JobStatus) { s.UID = 1001 })}, Draining},
		{"another submit time", []core.JobStatus{with(func(s *core.JobStatus) { s.Submitted = 7 })}, Draining},
		{"it and another of its id", []core.JobStatus{with(func(s *core.JobStatus) { s.Submitted = 7 }), running(run), with(func(s *core.JobStatus) { s.Submitted = 8 })}, Active},
		{"the same id of another scheduler", []core.JobStatus{running(run), with(func(s *core.JobStatus) { s.Scheduler, s.State = "flux", core.JobFinal })}, Active},
		{"once not there", nil, Active},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, 100, "n1")
			j := job("7", "n1")
			j.Run = run
			w.granted("n1", j, app())
			began := w.now.Uptime
			w.step(Answer{Scheduler: "slurm", Began: began, Jobs: core.Jobs{Complete: true, Jobs: tt.said}})
			w.want(run, Active) // not asked for after the prepare
			w.pass(1)
			w.step(Answer{Scheduler: "pbs", Began: w.now.Uptime, Jobs: core.Jobs{Complete: true, Jobs: tt.said}})
			w.want(run, Active) // no such scheduler
			w.step(Answer{Scheduler: "slurm", Began: w.now.Uptime, Jobs: core.Jobs{Asking: true}})
			w.want(run, Active)
			w.complete(tt.said...)
			w.want(run, tt.want)
		})
	}
}

// What an answer lacks is gone when the next one lacks it too; what it shows in between begins the count anew.
func TestAnswerLacksTwice(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	j := job("7", "n[1-2]")
	w.granted("n1", j, app())
	miss := func() { w.pass(time.Second); w.complete() }
	miss()
	w.complete() // told twice
	w.want(j.Run, Active)
	w.pass(time.Second)
	w.complete(running(j.Run))
	miss()
	w.want(j.Run, Active)
	w.granted("n2", j, app()) // asks the scheduler, which shows it
	miss()
	w.want(j.Run, Active)
	miss()
	w.want(j.Run, Draining)
}

func TestAnswerOfOtherSchedulerFreesNothing(t *testing.T) {
	w := newWorld(t, 100, "n1")
	j := job("7", "n1")
	w.granted("n1", j, app())
	for range 3 {
		w.pass(time.Second)
		w.step(Answer{Scheduler: "flux", Began: w.now.Uptime, Jobs: core.Jobs{Complete: true}})
	}
	w.want(j.Run, Active)
}

// An answer of one node judges what was first prepared there, and a change of it no more than that.
func TestAnswerOfOneNode(t *testing.T) {
	w := newWorld(t, 100, "n1", "n2")
	a, b := job("a", "n1"), job("b", "n2")
	w.granted("n1", a, app())
	w.granted("n2", b, app())
	for range 2 {
		w.pass(time.Second)
		w.step(Answer{Scheduler: "slurm", Node: "n1", Began: w.now.Uptime, Jobs: core.Jobs{Complete: true}})
	}
	w.step(Answer{Scheduler: "slurm", Node: "n1", Began: w.now.Uptime, Jobs: core.Jobs{Jobs: []core.JobStatus{{Run: b.Run, State: core.JobFinal}}}})
	w.want(a.Run, Draining)
	w.want(b.Run, Active)
}

// Of changes only a final one counts.
func TestAnswerChange(t *testing.T) {
	w := newWorld(t, 100, "n1")
	j := job("7", "n1")
	w.granted("n1", j, app())
	w.pass(time.Second)
	other := j.Run
	other.Submitted++
	w.step(Answer{Scheduler: "slurm", Began: w.now.Uptime, Jobs: core.Jobs{Jobs: []core.JobStatus{queued(j.Run), {Run: other, State: core.JobFinal}}}})
	w.want(j.Run, Active)
	w.step(Answer{Scheduler: "flux", Began: w.now.Uptime, Jobs: core.Jobs{Jobs: []core.JobStatus{{Run: j.Run, State: core.JobFinal}}}})
	w.want(j.Run, Active)
	w.final(j.Run)
	w.want(j.Run, Draining)
}

// After a restart nothing is known of when a prepare was: an answer from before counts for nothing.
func TestAnswerFromBeforeALoad(t *testing.T) {
	w := newWorld(t, 100, "n1")
	j := job("7", "n1")
	began := w.now.Uptime
	w.granted("n1", j, app())
	w.load()
	w.step(Answer{Scheduler: "slurm", Began: began, Jobs: core.Jobs{Complete: true, Jobs: []core.JobStatus{queued(j.Run)}}})
	w.want(j.Run, Active)
}

// crowded has n jobs on n1, of which some nodes saw the end.
func crowded(t *testing.T, n, hooked int) (*world, []core.Job) {
	w := newWorld(t, 1000, "n1", "n2")
	var jobs []core.Job
	var seen []core.JobID
	for i := range n {
		j := job(fmt.Sprint(i), "n1")
		w.granted("n1", j, app())
		jobs = append(jobs, j)
		if i < hooked {
			seen = append(seen, j.JobID)
		}
	}
	w.more("n2", core.Report{Epilogs: []core.JobID{jobs[n-1].JobID}}) // another node's word counts for nothing
	w.more("n1", core.Report{Epilogs: seen})
	return w, jobs
}

func (w *world) counts() map[State]int { return w.m.Figures().Reservations }

func statuses(jobs []core.Job) []core.JobStatus {
	var out []core.JobStatus
	for _, j := range jobs {
		out = append(out, running(j.Run))
	}
	return out
}

func TestVanishAlarm(t *testing.T) {
	for _, tt := range []struct {
		name              string
		all, gone, hooked int
		drained, alarmed  int
	}{
		{"few", 100, 20, 0, 20, 0},
		{"many", 100, 21, 0, 0, 21},
		{"many, but not a tenth", 210, 21, 0, 21, 0},
		{"more than a tenth", 209, 21, 0, 0, 21},
		{"their nodes saw the end", 100, 50, 50, 50, 0},
		{"the nodes of some saw the end", 100, 50, 29, 29, 21},
		{"all but a few saw the end", 100, 50, 30, 50, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w, jobs := crowded(t, tt.all, tt.hooked)
			var acts []Action
			for range 2 {
				w.pass(time.Second)
				acts = w.complete(statuses(jobs[tt.gone:])...)
			}
			if got := w.counts()[Draining]; got != tt.drained {
				t.Errorf("%d drain, want %d", got, tt.drained)
			}
			if got := w.m.Figures().Vanished; got != tt.alarmed {
				t.Errorf("%d are of the alarm, want %d", got, tt.alarmed)
			}
			loud := 0
			for _, s := range all[Say](acts) {
				if s.Level == Alarm {
					loud++
				}
			}
			if (loud == 1) != (tt.alarmed > 0) || loud > 1 {
				t.Errorf("%d alarms", loud)
			}
		})
	}
}

// What each run's nodes have shown to be clean is believed over, also by a server that was started anew and has seen no hook.
func TestVanishOfWhatIsClean(t *testing.T) {
	w, jobs := crowded(t, 50, 0)
	var held []core.Held
	for _, j := range jobs[:30] {
		held = append(held, core.Held{Run: j.Run, State: core.HeldClean})
	}
	w.more("n1", core.Report{Held: held})
	w.restart()
	w.attach("n1")
	for range 2 {
		w.pass(time.Second)
		w.complete()
	}
	if got := w.m.Figures().Vanished; got != 0 || w.counts()[Active] != 0 {
		t.Errorf("20 vanished and 30 are clean: %d are of the alarm, %v", got, w.counts())
	}

	w, jobs = crowded(t, 50, 0)
	w.more("n1", core.Report{Held: []core.Held{{Run: jobs[0].Run, State: core.HeldClean}}})
	w.restart()
	w.attach("n1")
	for range 2 {
		w.pass(time.Second)
		w.complete()
	}
	if got := w.m.Figures().Vanished; got != 49 || w.counts()[Active] != 49 {
		t.Errorf("49 vanished and one is clean: %d are of the alarm, %v", got, w.counts())
	}
}

// The alarm ends by an answer ten minutes later that still lacks the jobs, by an administrator's word, or by the jobs' return.
func TestVanishEnds(t *testing.T) {
	w, jobs := crowded(t, 50, 0)
	for range 2 {
		w.pass(time.Second)
		w.complete()
	}
	w.pass(DefaultRules.VanishWait - 1)
	w.complete(running(jobs[0].Run))
	if got := w.m.Figures().Vanished; got != 49 || w.counts()[Active] != 50 {
		t.Fatalf("%d are of the alarm, %v", got, w.counts())
	}
	w.restart()
	w.attach("n1")
	for range 2 {
		w.pass(time.Second)
		w.complete(running(jobs[0].Run))
	}
	if got := w.m.Figures().Vanished; got != 49 {
		t.Fatalf("after a restart %d are of the alarm", got)
	}
	w.pass(DefaultRules.VanishWait - 1)
	w.complete(running(jobs[0].Run))
	if got := w.m.Figures().Vanished; got != 49 {
		t.Fatalf("%d are of the alarm", got)
	}
	w.pass(1)
	w.complete(running(jobs[0].Run))
	if got := w.counts(); got[Draining] != 49 || got[Active] != 1 {
		t.Errorf("%v", got)
	}

	w, _ = crowded(t, 50, 0)
	for range 2 {
		w.pass(time.Second)
		w.complete()
	}
	acts := w.step(Forget{Call: 9, Vanished: true})
	if d := all[Done](acts); len(d) != 1 || d[0].Count != 50 || w.counts()[Draining] != 50 {
		t.Errorf("%v: %v", d, w.counts())
	}
}
