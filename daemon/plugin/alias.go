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
func (a *Aliases) Scheduler(s core.Scheduler) core.Scheduler {
	if a == nil {
		return s
	}
	return aliasedScheduler{a, s}
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
	*Aliases
	of core.Scheduler
}

var (
	_ core.Requeuer  = aliasedScheduler{}
	_ core.Resumer   = aliasedScheduler{}
	_ core.Annotator = aliasedScheduler{}
)

func (s aliasedScheduler) Describe(ctx context.Context, key core.Key, note []byte, from core.Peer) (core.Job, error) {
	from.Node = s.out(from.Node)
	job, err := s.of.Describe(ctx, key, note, from)
	if err != nil {
		return job, err
	}
	job.Placements = slices.Clone(job.Placements)
	for i := range job.Placements {
		if job.Placements[i].Hosts, err = s.in(job.Placements[i].Hosts); err != nil {
			return core.Job{}, core.Errorf(core.SchedulerAway, "scheduler %s: job %s: its nodes: %w", key.Scheduler, key.Job, err)
		}
	}
	return job, nil
}

// Watch leaves out the nodes of a job whose list cannot be read, as the scheduler may.
func (s aliasedScheduler) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	return s.of.Watch(ctx, func(jobs core.Jobs) error {
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

func (s aliasedScheduler) Fail(ctx context.Context, key core.Key, reason string) error {
	return s.of.Fail(ctx, key, reason)
}

func (s aliasedScheduler) Drain(ctx context.Context, node, reason string) error {
	return s.of.Drain(ctx, s.out(node), reason)
}

func (s aliasedScheduler) Requeue(ctx context.Context, key core.Key, reason string) error {
	r, ok := s.of.(core.Requeuer)
	if !ok {
		return core.Errorf(core.NotSupported, "scheduler %s: it puts no job back into its queue", key.Scheduler)
	}
	return r.Requeue(ctx, key, reason)
}

func (s aliasedScheduler) Resume(ctx context.Context, node string) error {
	r, ok := s.of.(core.Resumer)
	if !ok {
		return core.Errorf(core.NotSupported, "node %s: its scheduler's adapter takes no node back into service", node)
	}
	return r.Resume(ctx, s.out(node))
}

func (s aliasedScheduler) Annotate(ctx context.Context, key core.Key, grant core.Grant) error {
	a, ok := s.of.(core.Annotator)
	if !ok {
		return core.Errorf(core.NotSupported, "scheduler %s: it shows no grants", key.Scheduler)
	}
	return a.Annotate(ctx, key, grant)
}
