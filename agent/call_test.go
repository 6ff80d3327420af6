package agent_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
)

// half is a scheduler's half that runs on the node.
type half struct {
	drained atomic.Pointer[string]
	running atomic.Int32
	deaf    chan struct{} // until it is closed Fail returns for nobody
	left    chan time.Duration
}

func (h *half) Describe(ctx context.Context, key core.Key, note []byte, from core.Peer) (core.Job, error) {
	if key.Job == "none" {
		return core.Job{}, core.Errorf(core.JobUnknown, "job none: there is none")
	}
	if key.Job == "slow" {
		<-ctx.Done()
		return core.Job{}, ctx.Err()
	}
	if d, ok := ctx.Deadline(); ok {
		h.left <- time.Until(d)
	}
	return core.Job{Run: core.Run{Key: key}, Name: string(note), User: from.Node}, nil
}

func (h *half) Watch(context.Context, func(core.Jobs) error) error {
	return core.Errorf(core.NotSupported, "watch: no")
}

func (h *half) Fail(context.Context, core.Key, string) error {
	h.running.Add(1)
	<-h.deaf
	return nil
}

func (h *half) Drain(_ context.Context, node, reason string) error {
	text := node + ": " + reason
	h.drained.Store(&text)
	return nil
}

// withHalf is an agent on whose node the half of scheduler f runs.
func withHalf(t *testing.T, h core.Scheduler) (*authority, func()) {
	t.Helper()
	server := &authority{orders: make(chan core.Orders)}
	_, stop := run(t, agent.Needs{Authority: server, Schedulers: map[string]core.SchedulerClient{"f": core.Dispatcher{Of: h}}})
	return server, stop
}

// replies are what the server was told of calls, and what else since the last time is not looked at.
func (a *authority) replies() (out []core.SchedulerReply) {
	synctest.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, r := range a.reports {
		if r.Reply != nil {
			out = append(out, *r.Reply)
		}
	}
	a.reports = nil
	return out
}

func TestTheServerCallsAHalfOnTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &half{left: make(chan time.Duration, 1)}
		server, _ := withHalf(t, h)
		key := func(job string) core.Key { return core.Key{JobID: core.JobID{Scheduler: "f", Job: job}} }
		server.orders <- core.Orders{Calls: []core.SchedulerCall{
			{ID: 7, Scheduler: "f", Within: 3 * time.Second, Verb: core.CallDescribe, Key: key("1"), Note: []byte("note"), From: core.Peer{Node: "n9"}},
		}}
		want := []core.SchedulerReply{{ID: 7, Job: &core.Job{Run: core.Run{Key: key("1")}, Name: "note", User: "n9"}}}
		if diff := cmp.Diff(want, server.replies()); diff != "" {
			t.Error(diff)
		}
		if left := <-h.left; left != 3*time.Second {
			t.Errorf("%s were left of 3 s", left)
		}
		server.orders <- core.Orders{Calls: []core.SchedulerCall{{ID: 8, Scheduler: "f", Within: time.Second, Verb: core.CallDrain, Node: "n2", Reason: "cxi2 fails"}}}
		if diff := cmp.Diff([]core.SchedulerReply{{ID: 8}}, server.replies()); diff != "" || *h.drained.Load() != "n2: cxi2 fails" {
			t.Error(diff)
		}
		for _, test := range []struct {
			what string
			call core.SchedulerCall
			want core.Reason
		}{
			{"an unknown job", core.SchedulerCall{Scheduler: "f", Within: time.Second, Verb: core.CallDescribe, Key: key("none")}, core.JobUnknown},
			{"a half that is not here", core.SchedulerCall{Scheduler: "s", Within: time.Second, Verb: core.CallDrain, Node: "n2"}, core.SchedulerAway},
			{"a verb of another release", core.SchedulerCall{Scheduler: "f", Within: time.Second}, core.NotSupported},
			{"no time left", core.SchedulerCall{Scheduler: "f", Verb: core.CallDrain, Node: "n3"}, core.TimedOut},
			{"less than none", core.SchedulerCall{Scheduler: "f", Within: -1, Verb: core.CallDrain, Node: "n3"}, core.TimedOut},
		} {
			test.call.ID = 9
			server.orders <- core.Orders{Calls: []core.SchedulerCall{test.call}}
			if got := server.replies(); len(got) != 1 || got[0].ID != 9 || got[0].Err == nil || got[0].Err.Reason != test.want {
				t.Errorf("%s: %+v", test.what, got)
			}
		}
		if *h.drained.Load() != "n2: cxi2 fails" {
			t.Error("a call whose time had passed was made")
		}
		began := time.Now()
		server.orders <- core.Orders{Calls: []core.SchedulerCall{{ID: 10, Scheduler: "f", Within: time.Hour, Verb: core.CallDescribe, Key: key("slow")}}}
		time.Sleep(time.Hour)
		if got := server.replies(); len(got) != 1 || got[0].Err == nil || got[0].Err.Reason != core.TimedOut {
			t.Errorf("%v: a call that is to take an hour: %+v", time.Since(began), got)
		}
	})
}

// A half that never returns costs its own calls: no more run than may, the others are refused, and hooks go on.
func TestAHalfThatHangsFillsItsOwnRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &half{deaf: make(chan struct{})}
		server, _ := withHalf(t, h)
		defer close(h.deaf)
		for i := range core.MaxSchedulerCalls + 3 {
			server.orders <- core.Orders{Calls: []core.SchedulerCall{{ID: uint64(i + 1), Scheduler: "f", Within: time.Second, Verb: core.CallFail, Key: core.Key{JobID: core.JobID{Scheduler: "f", Job: "1"}}}}}
		}
		got := server.replies()
		if len(got) != 3 || got[0].Err == nil || got[0].Err.Reason != core.Overloaded || got[0].ID != core.MaxSchedulerCalls+1 {
			t.Errorf("%+v", got)
		}
		if n := h.running.Load(); n != core.MaxSchedulerCalls {
			t.Errorf("%d calls run", n)
		}
	})
}

// requeuing is a half that puts jobs back into its queue.
type requeuing struct {
	half
	again atomic.Pointer[string]
}

func (r *requeuing) Requeue(_ context.Context, key core.Key, reason string) error {
	text := key.Job + ": " + reason
	r.again.Store(&text)
	return nil
}

// A half on a node puts a job back into its queue where it can; where it cannot, it says so, and the server ends nothing by mistake.
func TestAHalfOnTheNodeRequeues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := core.SchedulerCall{ID: 1, Scheduler: "f", Within: time.Second, Verb: core.CallRequeue, Key: core.Key{JobID: core.JobID{Scheduler: "f", Job: "7"}}, Reason: "pool jobs is empty"}
		can := &requeuing{}
		server, stop := withHalf(t, can)
		server.orders <- core.Orders{Calls: []core.SchedulerCall{call}}
		if got := server.replies(); len(got) != 1 || got[0].Err != nil || can.again.Load() == nil || *can.again.Load() != "7: pool jobs is empty" {
			t.Errorf("%+v", got)
		}
		stop()
		server, _ = withHalf(t, &half{})
		server.orders <- core.Orders{Calls: []core.SchedulerCall{call}}
		if got := server.replies(); len(got) != 1 || got[0].Err == nil || got[0].Err.Reason != core.NotSupported {
			t.Errorf("a half that cannot: %+v", got)
		}
	})
}

// showing is a half that shows grants.
type showing struct {
	half
	shown atomic.Pointer[core.Grant]
}

func (s *showing) Annotate(_ context.Context, key core.Key, g core.Grant) error {
	if key != g.Key {
		return core.Errorf(core.BadCall, "job %s: the grant is of job %s", key.JobID, g.JobID)
	}
	s.shown.Store(&g)
	return nil
}

// resuming is a half that takes nodes back into service.
type resuming struct {
	half
	node atomic.Pointer[string]
}

func (r *resuming) Resume(_ context.Context, node string) error {
	r.node.Store(&node)
	return nil
}

// A half on a node takes nodes back into service where it can.
func TestAHalfOnTheNodeResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		call := core.SchedulerCall{ID: 1, Scheduler: "f", Within: time.Second, Verb: core.CallResume, Node: "n7"}
		can := &resuming{}
		server, stop := withHalf(t, can)
		server.orders <- core.Orders{Calls: []core.SchedulerCall{call}}
		if got := server.replies(); len(got) != 1 || got[0].Err != nil || can.node.Load() == nil || *can.node.Load() != "n7" {
			t.Errorf("%+v", got)
		}
		stop()
		server, _ = withHalf(t, &half{})
		server.orders <- core.Orders{Calls: []core.SchedulerCall{call}}
		if got := server.replies(); len(got) != 1 || got[0].Err == nil || got[0].Err.Reason != core.NotSupported {
			t.Errorf("a half that cannot: %+v", got)
		}
	})
}

// A half on a node shows what a job was given where it can; where it cannot, or is told nothing, it says so.
func TestAHalfOnTheNodeShowsGrants(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		key := core.Key{JobID: core.JobID{Scheduler: "f", Job: "7"}}
		grant := core.Grant{Run: core.Run{Key: key}, VNIs: []core.VNI{1024, 1030}, Inventory: []string{"cxi0"}}
		call := core.SchedulerCall{ID: 1, Scheduler: "f", Within: time.Second, Verb: core.CallAnnotate, Key: key, Grant: &grant}
		empty := call
		empty.Grant = nil
		can := &showing{}
		server, stop := withHalf(t, can)
		server.orders <- core.Orders{Calls: []core.SchedulerCall{empty}}
		if got := server.replies(); len(got) != 1 || got[0].Err == nil || got[0].Err.Reason != core.NotSupported || can.shown.Load() != nil {
			t.Errorf("no grant: %+v", got)
		}
		server.orders <- core.Orders{Calls: []core.SchedulerCall{call}}
		if got := server.replies(); len(got) != 1 || got[0].Err != nil || can.shown.Load() == nil {
			t.Errorf("%+v", got)
		} else if diff := cmp.Diff(grant, *can.shown.Load()); diff != "" {
			t.Error(diff)
		}
		stop()
		server, _ = withHalf(t, &half{})
		server.orders <- core.Orders{Calls: []core.SchedulerCall{call}}
		if got := server.replies(); len(got) != 1 || got[0].Err == nil || got[0].Err.Reason != core.NotSupported {
			t.Errorf("a half that cannot: %+v", got)
		}
	})
}
