package plugin

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
)

// named is an adapter that knows its scheduler's names alone, and notes those that it is given.
type named struct {
	core.Scheduler
	core.Hooks
	hosts string
	heard []string
}

func (n *named) Describe(_ context.Context, _ core.Key, _ []byte, from core.Peer) (core.Job, error) {
	n.heard = append(n.heard, from.Node)
	return core.Job{Placements: []core.Placement{{Hosts: n.hosts, Nodes: 3, Cores: 4}}}, nil
}

func (n *named) Watch(_ context.Context, tell func(core.Jobs) error) error {
	return tell(core.Jobs{Complete: true, Jobs: []core.JobStatus{{State: core.JobRunning, Hosts: n.hosts}, {State: core.JobQueued}}})
}

func (n *named) Drain(_ context.Context, node, _ string) error {
	n.heard = append(n.heard, node)
	return nil
}

func (n *named) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	n.heard = append(n.heard, call.Node)
	return core.Intent{}, nil
}

func (n *named) Drained(context.Context) ([]core.Drained, error) {
	return []core.Drained{{Hosts: n.hosts}}, nil
}

func (n *named) Render(_ context.Context, call core.HookCall, _ core.Outcome) (core.HookReply, error) {
	n.heard = append(n.heard, call.Node)
	return core.HookReply{}, nil
}

func TestAliases(t *testing.T) {
	a := AliasesOf(config.Plugin{Alias: []config.Alias{{Theirs: "nid[001-003]", Ours: "n[1-3]"}, {Theirs: "login", Ours: "front.example"}}})
	n := &named{hosts: "nid[002-003],other"}
	adapter := core.Dispatcher{Of: n}
	s, h := a.Scheduler(adapter), a.Hooks(n)
	ctx, key := t.Context(), core.Key{JobID: core.JobID{Scheduler: "tioga", Job: "7"}}

	job, err := core.Describe(ctx, s, key, nil, core.Peer{Node: "n2"})
	want := []core.Placement{{Hosts: "n[2-3],other", Nodes: 3, Cores: 4}}
	if diff := cmp.Diff(want, job.Placements); err != nil || diff != "" {
		t.Errorf("a job's nodes: %v %s", err, diff)
	}
	var told core.Jobs
	err = s.Watch(ctx, func(j core.Jobs) error { told = j; return nil })
	if err != nil || len(told.Jobs) != 2 || !told.Complete || told.Jobs[0].Hosts != "n[2-3],other" || told.Jobs[1].Hosts != "" {
		t.Errorf("%v %+v", err, told)
	}
	for _, node := range []string{"n1", "front.example", "other"} {
		if _, err := s.Call(ctx, core.SchedulerCall{Verb: core.CallDrain, Node: node, Reason: "why"}); err != nil {
			t.Error(err)
		}
	}
	shown, err := s.Call(ctx, core.SchedulerCall{Verb: core.CallDrained})
	if err != nil || len(shown.Drained) != 1 || shown.Drained[0].Hosts != "n[2-3],other" {
		t.Errorf("drained nodes: %v %+v", err, shown.Drained)
	}
	_, err = h.Parse(ctx, core.HookCall{Node: "n3"})
	_, err2 := h.Render(ctx, core.HookCall{Node: "n3"}, core.Outcome{})
	if err != nil || err2 != nil {
		t.Error(err, err2)
	}
	if diff := cmp.Diff([]string{"nid002", "nid001", "login", "other", "nid003", "nid003"}, n.heard); diff != "" {
		t.Errorf("what the adapter was told: %s", diff)
	}

	// A list that cannot be read says nothing of a job that is watched, and of one that is asked about it is an error: nothing is placed by a guess.
	n.hosts = "nid[001-"
	if _, err := core.Describe(ctx, s, key, nil, core.Peer{}); core.AsError(err) == nil || core.AsError(err).Reason != core.SchedulerAway {
		t.Errorf("a list that cannot be read: %v", err)
	}
	if err := s.Watch(ctx, func(j core.Jobs) error { told = j; return nil }); err != nil || told.Jobs[0].Hosts != "" {
		t.Errorf("%v %+v", err, told)
	}
	if _, err := s.Call(ctx, core.SchedulerCall{Verb: core.CallDrained}); core.ReasonOf(err) != core.SchedulerAway {
		t.Errorf("a list that cannot be read: %v", err)
	}

	// What an adapter cannot do, it cannot do behind its aliases either.
	_, err = h.(core.Phased).Phases(ctx)
	if !errors.Is(err, core.Unsupported) {
		t.Errorf("phases: %v", err)
	}
	for _, verb := range []core.SchedulerVerb{core.CallRequeue, core.CallAnnotate, core.CallResume, core.CallDown} {
		_, err := s.Call(ctx, core.SchedulerCall{Verb: verb, Key: key, Node: "n1", Reason: "why", Grant: &core.Grant{}})
		if !errors.Is(err, core.Unsupported) || s.Has(verb) {
			t.Errorf("%s: %v, and it has it: %v", verb, err, s.Has(verb))
		}
	}
	if none := AliasesOf(config.Plugin{}); none.Scheduler(adapter) != core.SchedulerClient(adapter) || none.Hooks(n) != core.Hooks(n) {
		t.Error("without an alias nothing stands between")
	}
}
