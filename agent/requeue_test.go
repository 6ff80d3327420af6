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
)

// away is a server that does not answer, or that refuses.
type away struct {
	*authority
	says error
}

func (a away) Reserve(ctx context.Context, _ string, _ core.Intent, _ core.Peer) (core.Grant, error) {
	if a.says != nil {
		return core.Grant{}, a.says
	}
	<-ctx.Done()
	return core.Grant{}, ctx.Err()
}

// speaking is an adapter one of whose job's nodes speaks.
type speaking struct {
	core.Scheduler // it is asked for nothing of these
	speaks         bool
	hangs          bool
	told           []string
	blamed         []string
}

func (s *speaking) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	a := ask(core.Prepare, "s", "1", 7)
	a.Began, a.Speaks = call.Began, s.speaks
	return a, nil
}

func (s *speaking) Render(ctx context.Context, _ core.HookCall, out core.Outcome) (core.HookReply, error) {
	select {
	case <-time.After(300 * time.Millisecond): // as an adapter's process takes on a busy node
	case <-ctx.Done():
		return core.HookReply{}, ctx.Err()
	}
	return core.HookReply{Stderr: []byte(out.Err.Line())}, nil
}

func (s *speaking) Requeue(ctx context.Context, key core.Key, reason string) error {
	if s.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	s.told = append(s.told, key.Job+": "+reason)
	return nil
}

func (s *speaking) Blame(_ context.Context, key core.Key, node, reason string) error {
	s.blamed = append(s.blamed, key.Job+" on "+node+": "+reason)
	return nil
}

// TestABlamedNode is named in the job's record, by root's prepare and by a fault of the node alone.
func TestABlamedNode(t *testing.T) {
	for _, c := range []struct {
		reason core.Reason
		uid    uint32
		blamed bool
	}{{core.NICFailed, 0, true}, {core.NICFailed, 7, false}, {core.PoolEmpty, 0, false}, {core.PolicyDenied, 0, false}} {
		synctest.Test(t, func(t *testing.T) {
			s := &speaking{}
			a, _ := run(t, agent.Needs{
				Authority: away{&authority{}, core.Errorf(c.reason, "cxi1 is gone")}, Hooks: map[string]core.Hooks{"s": s},
				Requeuers: map[string]core.SchedulerClient{"s": core.Dispatcher{Of: s}},
			})
			call := core.HookCall{Scheduler: "s", Phase: "prolog", Began: time.Now().UnixNano(), Peer: core.Peer{UID: c.uid}}
			reply, err := a.Hook(t.Context(), call)
			if err != nil || (len(s.blamed) == 1 && s.blamed[0] == "1 on n1: "+string(reply.Stderr)) != c.blamed {
				t.Errorf("%s for uid %d: blamed %q, the hook says %q, %v", c.reason, c.uid, s.blamed, reply.Stderr, err)
			}
		})
	}
}

// TestAwayServersJobGoesBackIntoTheQueue: who judged acts, once a job, within the hook's limit, and whatever comes of it the hook's answer is the same.
func TestAwayServersJobGoesBackIntoTheQueue(t *testing.T) {
	for name, c := range map[string]struct {
		adapter speaking
		says    error
		uid     uint32
		told    bool
	}{
		"the node that speaks":       {adapter: speaking{speaks: true}, told: true},
		"another node":               {},
		"a server that refuses":      {adapter: speaking{speaks: true}, says: core.Errorf(core.PoolEmpty, "pool jobs: it is empty")}, // which has told it
		"a store that takes nothing": {adapter: speaking{speaks: true}, says: core.Errorf(core.StoreFailed, "server: its store takes nothing"), told: true},
		"too many who wait":          {adapter: speaking{speaks: true}, says: core.Errorf(core.Overloaded, "server: 4096 inputs are waiting"), told: true},
		"a server just started":      {adapter: speaking{speaks: true}, says: core.Errorf(core.NodeAway, "node n1: it has not reported to this server yet"), told: true},
		"a server that recovers":     {adapter: speaking{speaks: true}, says: core.Errorf(core.Recovering, "store s: it is new"), told: true},
		"a scheduler that hangs":     {adapter: speaking{speaks: true, hangs: true}},
		"who is not root":            {adapter: speaking{speaks: true}, uid: 7},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := &c.adapter
				a, _ := run(t, agent.Needs{
					Authority: away{&authority{}, c.says}, Hooks: map[string]core.Hooks{"s": s},
					Requeuers: map[string]core.SchedulerClient{"s": core.Dispatcher{Of: s}},
				})
				const limit = 8 * time.Second
				ctx, end := context.WithTimeout(t.Context(), limit)
				defer end()
				began := time.Now()
				reply, err := a.Hook(ctx, core.HookCall{Scheduler: "s", Phase: "prolog", Began: began.UnixNano(), Peer: core.Peer{UID: c.uid}})
				if took := time.Since(began); err != nil || took > limit {
					t.Errorf("the hook was answered after %s: %v", took, err)
				}
				why := string(reply.Stderr)
				if c.told && !slices.Equal(s.told, []string{"1: " + why}) || !c.told && len(s.told) > 0 {
					t.Errorf("the scheduler was told %q, the hook %q", s.told, why)
				}
				if c.adapter.speaks && c.says == nil && c.uid == 0 && !strings.Contains(why, "server") {
					t.Errorf("the hook was told %q", why)
				}
			})
		})
	}
}
