package server_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/server"
)

// firstStart keeps a session of a node whose agent has started for the first time; what it is told of jobs that ran there comes to the channel.
func (s *system) firstStart(ctx context.Context, node string, next <-chan core.Report) chan core.Ran {
	ran := make(chan core.Ran, 64)
	go func() {
		_ = s.Attend(ctx, node, core.Report{Number: 1, Boot: "b", Agent: "b", Full: true, First: true, Devices: []string{"cxi0"}}, next, func(o core.Orders) {
			for _, r := range o.Ran {
				ran <- r
			}
		})
	}()
	synctest.Wait()
	time.Sleep(time.Millisecond) // an answer that is begun now is younger than the report
	return ran
}

func running(job, hosts string) core.JobStatus {
	return core.JobStatus{Run: core.Run{Key: core.Key{JobID: core.JobID{Scheduler: "s", Job: job}}, Fingerprint: core.Fingerprint{UID: 1000, Submitted: 1}},
		State: core.JobRunning, Hosts: hosts, Started: 5}
}

func jobsOf(r core.Ran) []string {
	var out []string
	for _, j := range r.Jobs {
		out = append(out, j.Job+"/"+j.Hosts)
	}
	return out
}

func TestAFirstStartGetsWhatRanThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) {
			n.Schedulers["own"], n.Own, n.Config.Schedulers = core.Dispatcher{Of: &scheduler{Script: make(schedulertest.Script)}}, []string{"own"}, []string{"s", "own"}
		})
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.sched.Script <- core.Jobs{Asking: true}
		n1 := s.firstStart(ctx, "n1", nil)
		orders, _ := s.attend(ctx, "n3", "b", nil) // it has started before
		s.sched.Script <- core.Jobs{Complete: true, Jobs: []core.JobStatus{running("old", "n1")}}
		synctest.Wait()
		if len(n1) > 0 {
			t.Fatalf("an answer that was begun before its report told n1 %v", <-n1)
		}
		n2 := s.firstStart(ctx, "n2", nil)
		if _, err := s.Reserve(ctx, "n3", ask("granted", "b"), core.Peer{}); err != nil {
			t.Fatal(err)
		}
		s.sched.hosts = "n[2,9]" // of what is described
		asked := s.sched.asked
		final, queued := running("final", "n1"), running("queued", "")
		final.State, queued.State = core.JobFinal, core.JobQueued
		s.sched.Script <- core.Jobs{Asking: true}
		s.sched.Script <- core.Jobs{Complete: true, Jobs: []core.JobStatus{
			running("a", "n[1-400]"), running("b", "n2,n2"), running("c", "n3"), running("granted", "n[1-3]"), final, queued, running("long", ""), running("bad", "n["),
		}}
		synctest.Wait()
		for node, want := range map[string][]string{"n1": {"a/"}, "n2": {"a/", "b/", "long/"}} {
			ran := map[string]chan core.Ran{"n1": n1, "n2": n2}[node]
			if len(ran) != 1 {
				t.Fatalf("%s was told %d times", node, len(ran))
			}
			r := <-ran
			if diff := cmp.Diff(want, jobsOf(r)); diff != "" || r.Scheduler != "s" || r.Jobs[0].Started != 5 || r.Whole { // one job's nodes are not known
				t.Errorf("%s: %+v\n%s", node, r, diff)
			}
		}
		if s.sched.asked != asked+1 {
			t.Errorf("the scheduler was asked about %d single jobs", s.sched.asked-asked)
		}
		s.sched.Answer(running("late", "n[1-3]"))
		synctest.Wait()
		if len(n1)+len(n2) > 0 {
			t.Error("nodes were told twice")
		}
		for len(orders) > 0 {
			if o := <-orders; len(o.Ran) > 0 {
				t.Errorf("a node that did not ask was told %v", o.Ran)
			}
		}
		next := make(chan core.Report)
		again := s.firstStart(ctx, "n1", next) // its session broke before it could write
		for range 2 {
			s.sched.Answer()
			synctest.Wait()
			if len(again) != 1 {
				t.Fatalf("it was told %d times", len(again))
			}
			if r := <-again; len(r.Jobs) != 0 || r.Scheduler != "s" || !r.Whole {
				t.Errorf("an answer without jobs tells %+v", r)
			}
			next <- core.Report{First: true} // what ran there before may be over
			time.Sleep(time.Millisecond)
		}
	})
}

// TestFirstStartsOfASchedulerElsewhere: its half runs on a node, which forwards the answer.
func TestFirstStartsOfASchedulerElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) { n.Schedulers, n.At = nil, map[string]string{"s": "front"} })
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		next := make(chan core.Report)
		s.attend(ctx, "front", "b", next)
		n1 := s.firstStart(ctx, "n1", nil)
		for _, jobs := range []core.Jobs{{Asking: true}, {Complete: true, Jobs: []core.JobStatus{running("a", "n1")}}} {
			next <- core.Report{Answer: &core.Forward{Scheduler: "s", Ask: 1, Jobs: jobs}}
		}
		if diff := cmp.Diff([]string{"a/"}, jobsOf(<-n1)); diff != "" {
			t.Error(diff)
		}
	})
}

// TestFirstStartsOfASchedulerThatCannotTell are told of no job, and wait no more.
func TestFirstStartsOfASchedulerThatCannotTell(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) {
			n.Schedulers = map[string]core.SchedulerClient{"s": core.Dispatcher{Of: unable{}}}
		})
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if r := <-s.firstStart(ctx, "n1", nil); r.Scheduler != "s" || len(r.Jobs) > 0 || r.Whole {
			t.Errorf("told %+v", r)
		}
	})
}

// unable is a scheduler's half that cannot be watched.
type unable struct{ core.Scheduler }

func (unable) Watch(context.Context, func(core.Jobs) error) error {
	return core.Errorf(core.NotSupported, "it cannot be watched")
}
