package server_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/server"
)

// atLogin has the half of scheduler f on node login; that of s is here.
func atLogin(n *server.Needs) {
	n.At = map[string]string{"f": "login"}
	n.Config.Schedulers = []string{"s", "f"}
}

func askOf(scheduler, job string) core.Intent {
	return core.Intent{Action: core.Prepare, Key: core.Key{JobID: core.JobID{Scheduler: scheduler, Job: job}}, UID: 1000, Boot: "b", Agent: "b", Note: []byte("note")}
}

// half is a node that a scheduler's half runs on, in a test's hands.
type half struct {
	orders chan core.Orders
	ended  chan error
	next   chan core.Report
}

func (s *system) half(ctx context.Context, node string) *half {
	h := &half{next: make(chan core.Report, 8)}
	h.orders, h.ended = s.attend(ctx, node, "b", h.next)
	return h
}

// call is the next that the server wants of it, but for jobs to put back into its queue, grants to show and the list of
// drained nodes.
func (h *half) call(t *testing.T) core.SchedulerCall {
	t.Helper()
	return h.find(t, func(c core.SchedulerCall) bool {
		return c.Verb != core.CallRequeue && c.Verb != core.CallAnnotate && c.Verb != core.CallDrained
	})
}

func (h *half) find(t *testing.T, is func(core.SchedulerCall) bool) core.SchedulerCall {
	t.Helper()
	for {
		synctest.Wait()
		select {
		case o := <-h.orders:
			if len(o.Calls) == 1 && is(o.Calls[0]) {
				return o.Calls[0]
			}
		default:
			t.Fatal("the server asked nothing")
		}
	}
}

func (h *half) reply(r core.SchedulerReply) {
	h.next <- core.Report{Reply: &r}
	synctest.Wait()
}

type granted struct {
	grant core.Grant
	err   error
}

func (s *system) reserve(ctx context.Context, node string, ask core.Intent) <-chan granted {
	out := make(chan granted, 1)
	go func() {
		g, err := s.Reserve(ctx, node, ask, core.Peer{UID: 7})
		out <- granted{g, err}
	}()
	synctest.Wait()
	return out
}

func describedBy(c core.SchedulerCall) *core.Job {
	return &core.Job{
		Run:        core.Run{Key: c.Key, Fingerprint: core.Fingerprint{UID: 1000, Submitted: 1}},
		Placements: []core.Placement{{Hosts: "n[1-400]", Nodes: 400, Cores: 8}},
	}
}

func TestAHalfOnANodeIsAskedThroughItsSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, atLogin)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		if g := <-s.reserve(ctx, "n1", askOf("f", "1")); core.AsError(g.err).Reason != core.SchedulerAway || !strings.Contains(g.err.Error(), "login") {
			t.Fatalf("with no session of login: %v", g.err)
		}
		login := s.half(ctx, "login")
		wait := s.reserve(ctx, "n1", askOf("f", "1"))
		c := login.call(t)
		want := core.SchedulerCall{
			ID: c.ID, Scheduler: "f", Within: server.DefaultLimits.Describe, Verb: core.CallDescribe, Key: askOf("f", "1").Key, Note: []byte("note"),
			From: core.Peer{UID: 7, Node: "n1"},
		}
		if diff := cmp.Diff(want, c); diff != "" {
			t.Error(diff)
		}
		login.reply(core.SchedulerReply{ID: c.ID, Job: describedBy(c)})
		if g := <-wait; g.err != nil || len(g.grant.VNIs) != 1 {
			t.Errorf("%+v", g)
		}
		wait = s.reserve(ctx, "n1", askOf("f", "2"))
		login.reply(core.SchedulerReply{ID: login.call(t).ID, Err: core.Errorf(core.JobUnknown, "job 2: there is none")})
		if g := <-wait; core.AsError(g.err).Reason != core.JobUnknown {
			t.Errorf("%v", g.err)
		}
	})
}

// What a node is asked in one session is answered in it, within its time, by it, or not at all.
func TestRepliesThatNobodyWaitsForAreDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) { atLogin(n); n.Limits.Describe = 2 * time.Second })
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		n1, login := s.half(ctx, "n1"), s.half(ctx, "login")
		wait := s.reserve(ctx, "n1", askOf("f", "1"))
		late := login.call(t)
		n1.reply(core.SchedulerReply{ID: late.ID, Job: describedBy(late)}) // by another node
		login.reply(core.SchedulerReply{ID: late.ID + 1, Job: describedBy(late)})
		login.reply(core.SchedulerReply{ID: 0})
		time.Sleep(2 * time.Second)
		if g := <-wait; core.AsError(g.err).Reason != core.SchedulerAway || !errors.Is(g.err, context.DeadlineExceeded) {
			t.Errorf("%v", g.err)
		}
		wait = s.reserve(ctx, "n1", askOf("f", "1"))
		second := login.call(t)
		login.reply(core.SchedulerReply{ID: late.ID, Job: &core.Job{Gone: true}}) // too late
		if second.ID == late.ID {
			t.Error("an id is given twice")
		}
		login.reply(core.SchedulerReply{ID: second.ID, Job: describedBy(second)})
		login.reply(core.SchedulerReply{ID: second.ID, Job: &core.Job{Gone: true}}) // twice
		if g := <-wait; g.err != nil {
			t.Error(g.err)
		}
		wait = s.reserve(ctx, "n1", askOf("f", "2"))
		old := login.call(t)
		again := s.half(ctx, "login")
		if g := <-wait; core.AsError(g.err).Reason != core.SchedulerAway {
			t.Errorf("its session ended: %v", g.err)
		}
		wait = s.reserve(ctx, "n1", askOf("f", "2"))
		fresh := again.call(t)
		again.reply(core.SchedulerReply{ID: fresh.ID + old.ID + 1})
		again.reply(core.SchedulerReply{ID: fresh.ID, Job: describedBy(fresh)})
		if g := <-wait; g.err != nil {
			t.Error(g.err)
		}
		for _, h := range []*half{n1, again} {
			select {
			case err := <-h.ended:
				t.Errorf("a session ended by what it said: %v", err)
			default:
			}
		}
	})
}

// A half that hangs fills its own room and nobody else's.
func TestCallsOfANodeAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) { atLogin(n); n.Limits.Describes = 2 * core.MaxSchedulerCalls })
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		login := s.half(ctx, "login")
		var waits []<-chan granted
		for i := range core.MaxSchedulerCalls {
			waits = append(waits, s.reserve(ctx, "n1", askOf("f", strconv.Itoa(i+1))))
			login.call(t)
		}
		if g := <-s.reserve(ctx, "n1", askOf("f", "more")); core.AsError(g.err).Reason != core.Overloaded {
			t.Errorf("%v", g.err)
		}
		if g := <-s.reserve(ctx, "n1", askOf("s", "1")); g.err != nil {
			t.Errorf("another scheduler's job: %v", g.err)
		}
		for _, w := range waits {
			if g := <-w; core.AsError(g.err).Reason != core.SchedulerAway {
				t.Errorf("%v", g.err)
			}
		}
		wait := s.reserve(ctx, "n1", askOf("f", "more"))
		c := login.call(t)
		login.reply(core.SchedulerReply{ID: c.ID, Job: describedBy(c)})
		if g := <-wait; g.err != nil {
			t.Errorf("with room again: %v", g.err)
		}
	})
}

func TestFailAndDrainReachAHalfOnANode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, atLogin)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		login, next := s.half(ctx, "login"), make(chan core.Report)
		s.attend(ctx, "n1", "b", next)
		next <- core.Report{Number: 2, Boot: "b", Fault: "cxi2 fails"}
		c := login.call(t)
		if c.Verb != core.CallDrain || c.Node != "n1" || c.Reason != "cxi2 fails" || c.Within <= 0 {
			t.Errorf("%+v", c)
		}
		login.reply(core.SchedulerReply{ID: c.ID, Err: core.Errorf(core.SchedulerAway, "flux: no answer")})
		time.Sleep(time.Second)
		if again := login.call(t); again.Verb != core.CallDrain || again.ID == c.ID {
			t.Errorf("%+v", again)
		}
	})
}

// A node speaks for the schedulers whose `at` names it, and for all of their jobs; of others it can say what it likes.
func TestANodeTellsOfItsOwnSchedulersOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := start(t, func(n *server.Needs) { atLogin(n); n.Log = slog.New(slog.NewTextHandler(&log, nil)) })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		login, n1 := s.half(ctx, "login"), s.half(ctx, "n1")
		for _, scheduler := range []string{"s", "f"} {
			wait := s.reserve(ctx, "n1", askOf(scheduler, "1"))
			if scheduler == "f" {
				c := login.call(t)
				login.reply(core.SchedulerReply{ID: c.ID, Job: describedBy(c)})
			}
			if g := <-wait; g.err != nil {
				t.Fatal(g.err)
			}
		}
		active := func() (n int) {
			synctest.Wait()
			if err := s.Look(ctx, func(m *engine.Machine) {
				for v := range m.Reservations(0) {
					if v.State == engine.Active {
						n++
					}
				}
			}); err != nil {
				t.Fatal(err)
			}
			return n
		}
		over := func(h *half, scheduler string) {
			run := core.Run{Key: askOf(scheduler, "1").Key, Fingerprint: core.Fingerprint{UID: 1000, Submitted: 1}}
			h.next <- core.Report{Answer: &core.Forward{Scheduler: scheduler, Ask: 1, Jobs: core.Jobs{Asking: true}}}
			synctest.Wait()
			h.next <- core.Report{Answer: &core.Forward{Scheduler: scheduler, Ask: 2, Jobs: core.Jobs{Complete: true, Jobs: []core.JobStatus{{Run: run, State: core.JobFinal}}}}}
			synctest.Wait()
		}
		time.Sleep(time.Second)
		over(n1, "f")
		over(n1, "s")
		over(login, "s")
		over(login, "nobody's")
		if n := active(); n != 2 {
			t.Errorf("%d of 2 reservations are active", n)
		}
		over(login, "f")
		if n := active(); n != 1 {
			t.Errorf("%d reservations are active, and one job is over", n)
		}
		s.stop()
		if n := strings.Count(log.String(), "not believed"); n != 2 {
			t.Errorf("%d warnings of 2 nodes:\n%s", n, &log)
		}
	})
}

// Of a scheduler each of whose nodes knows its own jobs only, no node speaks for another's jobs.
func TestANodeTellsOfItsOwnJobsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) { n.Own = []string{"s"} })
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		halves := map[string]*half{"n1": s.half(ctx, "n1"), "n2": s.half(ctx, "n2")}
		for node := range halves {
			if g := <-s.reserve(ctx, node, askOf("s", node)); g.err != nil {
				t.Fatal(g.err)
			}
		}
		for range 3 {
			time.Sleep(time.Minute) // so that no node is waited for
			for _, jobs := range []core.Jobs{{Asking: true}, {Complete: true}} {
				halves["n2"].next <- core.Report{Answer: &core.Forward{Scheduler: "s", Ask: 1, Jobs: jobs}}
				synctest.Wait()
			}
		}
		var active []string
		if err := s.Look(ctx, func(m *engine.Machine) {
			for v := range m.Reservations(0) {
				if v.State == engine.Active {
					active = append(active, v.Job.Job)
				}
			}
		}); err != nil || !slices.Equal(active, []string{"n1"}) {
			t.Errorf("after n2 listed no job the jobs %v are active, want [n1]; %v", active, err)
		}
	})
}

// An answer to a question of an earlier session may be of any age: it does not prove that the half sees all jobs again.
func TestAnAnswerToNoQuestionIsDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, atLogin)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		blind := func() string {
			synctest.Wait()
			var why string
			if err := s.Look(ctx, func(m *engine.Machine) { why = m.Figures().Blind["f"] }); err != nil {
				t.Fatal(err)
			}
			return why
		}
		tell := func(h *half, jobs ...core.Jobs) {
			for _, j := range jobs {
				h.next <- core.Report{Answer: &core.Forward{Scheduler: "f", Ask: 1, Jobs: j}}
			}
		}
		login := s.half(ctx, "login")
		tell(login, core.Jobs{Asking: true}, core.Jobs{Blind: "it is a guest"})
		if blind() == "" {
			t.Fatal("the half is not blind")
		}
		login = s.half(ctx, "login")
		if tell(login, core.Jobs{Complete: true}); blind() == "" {
			t.Error("an answer to no question of this session ended it")
		}
		if tell(login, core.Jobs{Asking: true}, core.Jobs{Complete: true}); blind() != "" {
			t.Error("it stays blind")
		}
	})
}

// A job that cannot be served now goes back into the queue of a scheduler whose half is on a node, as with one whose half is here.
func TestAHalfOnANodeIsToldToRequeue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, func(n *server.Needs) {
			atLogin(n)
			n.Allocator = func(engine.Config) (engine.Allocator, error) {
				return allocator.New([]allocator.Pool{{Name: "jobs", Ranges: []allocator.Range{{First: 1024, Last: 1024}}}})
			}
		})
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		login := s.half(ctx, "login")
		for _, job := range []string{"1", "2"} {
			wait := s.reserve(ctx, "n1", askOf("f", job))
			c := login.call(t)
			login.reply(core.SchedulerReply{ID: c.ID, Job: describedBy(c)})
			if job == "2" {
				again := login.find(t, func(c core.SchedulerCall) bool { return c.Verb == core.CallRequeue })
				if again.Key.Job != "2" || again.Reason == "" {
					t.Errorf("the half is told %+v", again)
				}
				login.reply(core.SchedulerReply{ID: again.ID})
			}
			if g := <-wait; job == "1" && g.err != nil || job == "2" && core.AsError(g.err).Reason != core.PoolEmpty {
				t.Errorf("job %s: %v", job, g.err)
			}
		}
	})
}

// What a half on a node says of a job counts no more once a second host has the node's certificate.
func TestAHalfOnANodeOfTwoHostsIsNotBelieved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := start(t, atLogin)
		defer s.stop()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s.attend(ctx, "n1", "b", nil)
		login := s.half(ctx, "login")
		wait := s.reserve(ctx, "n1", askOf("f", "1"))
		c := login.call(t)
		s.attend(ctx, "login", "another", nil)
		login.reply(core.SchedulerReply{ID: login.call(t).ID, Err: core.Errorf(core.NotSupported, "it lives")})
		login.reply(core.SchedulerReply{ID: c.ID, Job: describedBy(c)})
		g := <-wait
		if err, ok := g.err.(*core.Error); !ok || err.Reason != core.SchedulerAway || err.Remedy != core.TwinRemedy {
			t.Errorf("%+v", g)
		}
	})
}
