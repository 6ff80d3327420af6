package conformance

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/slurm"
)

// translator is Slurm's half beside the hook, with one fault.
type translator struct {
	*slurm.Plugin
	parse  func(*slurm.Plugin, core.HookCall) (core.Intent, error)
	render func(*slurm.Plugin, core.HookCall, core.Outcome) (core.HookReply, error)
	phases func([]core.HookPhase) []core.HookPhase
	option func(core.Option) core.Option
	asked  func(core.Request, error) (core.Request, error)
}

func (x *translator) Options(ctx context.Context) ([]core.Option, error) {
	all, err := x.Plugin.Options(ctx)
	for i := range all {
		if x.option != nil {
			all[i] = x.option(all[i])
		}
	}
	return all, err
}

func (x *translator) ParseRequest(ctx context.Context, given []string) (core.Request, error) {
	r, err := x.Plugin.ParseRequest(ctx, given)
	if x.asked != nil {
		return x.asked(r, err)
	}
	return r, err
}

func (x *translator) Parse(ctx context.Context, c core.HookCall) (core.Intent, error) {
	if x.parse != nil {
		return x.parse(x.Plugin, c)
	}
	return x.Plugin.Parse(ctx, c)
}

func (x *translator) Render(ctx context.Context, c core.HookCall, o core.Outcome) (core.HookReply, error) {
	if x.render != nil {
		return x.render(x.Plugin, c, o)
	}
	return x.Plugin.Render(ctx, c, o)
}

func (x *translator) Phases(ctx context.Context) ([]core.HookPhase, error) {
	all, err := x.Plugin.Phases(ctx)
	if x.phases != nil {
		all = x.phases(all)
	}
	return all, err
}

func TestHooksMutations(t *testing.T) {
	var count atomic.Uint32
	ctx := t.Context()
	for name, c := range map[string]struct {
		rule string
		make translator
	}{
		"Parse keeps a count": {"S1", translator{parse: func(p *slurm.Plugin, c core.HookCall) (core.Intent, error) {
			a, err := p.Parse(ctx, c)
			a.Note = fmt.Append(nil, count.Add(1))
			return a, err
		}}},
		"Parse changes the call": {"S1", translator{parse: func(p *slurm.Plugin, c core.HookCall) (core.Intent, error) {
			delete(c.Env, "SLURM_JOB_ID")
			return p.Parse(ctx, c)
		}}},
		"Parse panics without variables": {"S9", translator{parse: func(p *slurm.Plugin, c core.HookCall) (core.Intent, error) {
			if c.Env == nil {
				c.Env["x"] = "y" // that is the fault
			}
			return p.Parse(ctx, c)
		}}},
		"Parse takes any id": {"S9", translator{parse: func(p *slurm.Plugin, c core.HookCall) (core.Intent, error) {
			a, err := p.Parse(ctx, c)
			if err != nil && c.Env["SLURM_JOB_ID"] != "" {
				return core.Intent{Action: core.CleanUp, Key: core.Key{JobID: core.JobID{Job: c.Env["SLURM_JOB_ID"]}}}, nil
			}
			return a, err
		}}},
		"an option whose example it refuses": {"S10", translator{option: func(o core.Option) core.Option {
			o.Example = "weft-verify-x"
			return o
		}}},
		"an option without a sentence": {"S10", translator{option: func(o core.Option) core.Option {
			o.Help = ""
			return o
		}}},
		"an idle option without a warning": {"S10", translator{asked: func(r core.Request, err error) (core.Request, error) {
			r.Warnings = nil
			return r, err
		}}},
		"an unknown option that it takes": {"S10", translator{asked: func(r core.Request, err error) (core.Request, error) {
			return r, nil
		}}},
		"an environment without what is to be unset": {"S7", translator{render: func(p *slurm.Plugin, c core.HookCall, o core.Outcome) (core.HookReply, error) {
			var set []core.Variable
			for _, v := range o.Environment {
				if !v.Unset {
					set = append(set, v)
				}
			}
			o.Environment = set
			return p.Render(ctx, c, o)
		}}},
		"a value becomes a line": {"S7", translator{render: func(p *slurm.Plugin, c core.HookCall, o core.Outcome) (core.HookReply, error) {
			if o.Action != core.Environment || o.Err != nil {
				return p.Render(ctx, c, o)
			}
			var out bytes.Buffer
			for _, v := range o.Environment {
				fmt.Fprintf(&out, "export %s=%s\n", v.Name, v.Value)
			}
			return core.HookReply{Stdout: out.Bytes()}, nil
		}}},
		"a refused environment exits with 0": {"S8", translator{render: func(p *slurm.Plugin, c core.HookCall, o core.Outcome) (core.HookReply, error) {
			r, err := p.Render(ctx, c, o)
			r.Exit = 0
			return r, err
		}}},
		"a refused environment says nothing": {"S8", translator{render: func(p *slurm.Plugin, c core.HookCall, o core.Outcome) (core.HookReply, error) {
			r, err := p.Render(ctx, c, o)
			if o.Err != nil {
				r.Stdout = nil
			}
			return r, err
		}}},
		"a phase without a limit": {"S5", translator{phases: func(all []core.HookPhase) []core.HookPhase {
			all[0].Limit = 0
			return all
		}}},
		"a phase that Parse takes for another": {"S5", translator{phases: func(all []core.HookPhase) []core.HookPhase {
			all[0].Action = core.CleanUp
			return all
		}}},
	} {
		t.Run(name, func(t *testing.T) {
			report := verify(t, Value(func() any {
				x := c.make
				x.Plugin = slurm.New("tioga")
				return &x
			}), Site{}, "^hooks/")
			caught(t, report, c.rule)
		})
	}
}

// teller is a scheduler's half with one fault.
type teller struct {
	*modelAdapter
	fault string
	fails atomic.Int32
}

func (x *teller) Watch(ctx context.Context, tell func(core.Jobs) error) error {
	first := true
	err := x.modelAdapter.Watch(ctx, func(j core.Jobs) error {
		switch {
		case x.fault == "tells before it asks" && j.Asking:
			return nil
		case x.fault == "asks and answers at once" && j.Complete:
			j.Asking = true
		case x.fault == "is blind" && j.Complete:
			return tell(core.Jobs{Blind: "the scheduler hides jobs"})
		case x.fault == "lacks a job" && j.Complete:
			j.Jobs = j.Jobs[:1]
		case x.fault == "tells a change first" && first:
			first = false
			return tell(core.Jobs{Jobs: []core.JobStatus{{Run: modelledJob(false).Run, State: core.JobFinal}}})
		}
		err := tell(j)
		if x.fault == "goes on when tell fails" {
			return nil
		}
		return err
	})
	if x.fault == "ends without an error" {
		return nil
	}
	return err
}

func (x *teller) Describe(ctx context.Context, key core.Key, note []byte, from core.Peer) (core.Job, error) {
	j, err := x.modelAdapter.Describe(ctx, key, note, from)
	if x.fault == "believes the hook" {
		j.Key, j.Gone, err = key, false, nil
	}
	return j, err
}

func (x *teller) Fail(ctx context.Context, key core.Key, reason string) error {
	if n := x.fails.Add(1); x.fault == "an error for a repeated Fail" && n > 1 {
		return core.Errorf(core.JobEnded, "job %s: it is over", key)
	}
	return x.modelAdapter.Fail(ctx, key, reason)
}

func (x *teller) Drain(ctx context.Context, node, reason string) error {
	if x.fault == "a Drain that fails without a code" {
		return fmt.Errorf("exit status 1")
	}
	return x.modelAdapter.Drain(ctx, node, reason)
}

func TestSchedulerMutations(t *testing.T) {
	for fault, rule := range map[string]string{
		"tells before it asks": "S3", "asks and answers at once": "S3", "lacks a job": "S3", "is blind": "S3", "tells a change first": "S3", "goes on when tell fails": "S3",
		"ends without an error": "S3", "believes the hook": "S2", "an error for a repeated Fail": "S6", "a Drain that fails without a code": "S4",
	} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			report := verify(t, Value(func() any { return &teller{modelAdapter: modelled(), fault: fault} }), Site{Job: modelledJob(true), Patience: 4 * soon}, "^scheduler/")
			caught(t, report, rule)
		})
	}
}
