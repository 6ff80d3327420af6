package plugin

import (
	"context"
	"slices"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// maxAliased bounds the nodes of one list whose names are translated.
const maxAliased = 100_000

// Aliases translate between a scheduler's names of nodes and Weft's.
type Aliases struct {
	ours   map[string]string // by theirs
	theirs map[string]string // by ours
}

// AliasesOf are those of a scheduler's block; nil where it has none.
func AliasesOf(p config.Plugin) *Aliases {
	ours := p.Names()
	if len(ours) == 0 {
		return nil
	}
	a := &Aliases{ours: ours, theirs: make(map[string]string, len(ours))}
	for their, our := range ours {
		a.theirs[our] = their
	}
	return a
}

// out is the scheduler's name of one of Weft's nodes.
func (a *Aliases) out(node string) string {
	if name, ok := a.theirs[node]; ok {
		return name
	}
	return node
}

// in gives a scheduler's list of nodes in Weft's names.
func (a *Aliases) in(hosts string) (string, error) {
	if hosts == "" {
		return "", nil
	}
	list, err := hostlist.Parse(hosts)
	if err != nil {
		return "", err
	}
	all, err := list.ExpandMax(maxAliased)
	if err != nil {
		return "", err
	}
	other := false
	for i, name := range all {
		if our, ok := a.ours[name]; ok && our != name {
			all[i], other = our, true
		}
	}
	if !other {
		return hosts, nil
	}
	slices.SortFunc(all, hostlist.Compare)
	return hostlist.Fold(all), nil
}

// Hooks is an adapter's half beside the hook, which is told this node by its scheduler's name.
func (a *Aliases) Hooks(h core.Hooks) core.Hooks {
	if a == nil {
		return h
	}
	return aliasedHooks{a, h}
}

// Scheduler is an adapter's other half.
func (a *Aliases) Scheduler(s core.SchedulerClient) core.SchedulerClient {
	if a == nil {
		return s
	}
	return aliasedScheduler{s, a}
}

type aliasedHooks struct {
	*Aliases
	of core.Hooks
}

var _ core.Phased = aliasedHooks{}

func (h aliasedHooks) Parse(ctx context.Context, call core.HookCall) (core.Intent, error) {
	call.Node = h.out(call.Node)
	return h.of.Parse(ctx, call)
}

func (h aliasedHooks) Render(ctx context.Context, call core.HookCall, outcome core.Outcome) (core.HookReply, error) {
	call.Node = h.out(call.Node)
	return h.of.Render(ctx, call, outcome)
}

func (h aliasedHooks) Phases(ctx context.Context) ([]core.HookPhase, error) {
	p, ok := h.of.(core.Phased)
	if !ok {
		return nil, core.Errorf(core.NotSupported, "phases of hooks: the adapter tells none")
	}
	return p.Phases(ctx)
}

type aliasedScheduler struct {
	core.SchedulerClient
	*Aliases
}

func (s aliasedScheduler) Call(ctx context.Context, c core.SchedulerCall) (core.SchedulerReply, error) {
	c.Node, c.From.Node = s.out(c.Node), s.out(c.From.Node)
	told, err := s.SchedulerClient.Call(ctx, c)
	if err != nil {
		return core.SchedulerReply{}, err
	}
	told.Drained = slices.Clone(told.Drained)
	for i := range told.Drained {
		if told.Drained[i].Hosts, err = s.in(told.Drained[i].Hosts); err != nil {
			return core.SchedulerReply{}, core.Errorf(core.SchedulerAway, "scheduler %s: drained nodes: %w", c.Scheduler, err)
		}
	}
	if told.Job == nil {
		return told, nil
	}
	job := *told.Job
	job.Placements = slices.Clone(job.Placements)
	for i := range job.Placements {
		if job.Placements[i].Hosts, err = s.in(job.Placements[i].Hosts); err != nil {
			return core.SchedulerReply{}, core.Errorf(core.SchedulerAway, "scheduler %s: job %s: its nodes: %w", c.Key.Scheduler, c.Key.Job, err)
		}
	}
	told.Job = &job
	return told, nil
}

// Watch leaves out the nodes of a job whose list cannot be read, as the scheduler may.
func (s aliasedScheduler) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	return s.SchedulerClient.Watch(ctx, func(jobs core.Jobs) error {
		jobs.Jobs = slices.Clone(jobs.Jobs)
		for i := range jobs.Jobs {
			hosts, err := s.in(jobs.Jobs[i].Hosts)
			if err != nil {
				hosts = ""
			}
			jobs.Jobs[i].Hosts = hosts
		}
		return tell(jobs)
	})
}
