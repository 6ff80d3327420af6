package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/hook/rundir"
)

// environs are the environments that this process has left. The lock is held for the time of a file's change and never for an adapter's.
type environs struct {
	mu   sync.Mutex
	left map[core.JobID]*left
}

// left is one of them.
type left struct {
	run      core.Run
	rendered chan struct{} // closed when the adapter has said what tasks are told, or could not
}

// sweepEnvirons removes the environments that a killed agent had not named yet. Each may carry a session token.
func (a *Agent) sweepEnvirons() {
	folders, err := os.ReadDir(a.needs.Environ)
	if a.needs.Environ == "" || errors.Is(err, fs.ErrNotExist) {
		return
	}
	for _, f := range folders {
		if !f.IsDir() {
			continue
		}
		err = errors.Join(err, file.Sweep(filepath.Join(a.needs.Environ, f.Name())))
	}
	if err != nil {
		a.log.Warn("environments that were being written at the last agent's end could not be removed", core.LogError, err)
	}
}

// publish leaves the environment for the job's tasks, so that 192 of them that start at once read a file and nobody's socket. What the adapter says of
// it is added beside the writer: an adapter may be slow.
func (a *Agent) publish(p node.Publish) error {
	if a.needs.Environ == "" {
		return nil
	}
	a.unexempt(p.Run.JobID)
	if p.Stepped { // a task's VNIs depend on its step: it asks
		return nil
	}
	path := rundir.EnvironPath(a.needs.Environ, p.Run.JobID)
	e := rundir.Environ{Generation: p.Run.Generation, UID: p.Run.UID, Submitted: p.Run.Submitted, Variables: p.Environment, Signs: p.Signs}
	l := &left{run: p.Run, rendered: make(chan struct{})}
	a.environs.mu.Lock()
	err := rundir.WriteEnviron(path, e, p.GID)
	if err == nil {
		if a.environs.left == nil {
			a.environs.left = map[core.JobID]*left{}
		}
		a.environs.left[p.Run.JobID] = l
	}
	a.environs.mu.Unlock()
	if err != nil {
		return fmt.Errorf("environment of %s: %w", p.Run.JobID, err)
	}
	if a.tasks(p.Run.Scheduler) == nil {
		close(l.rendered)
		return nil
	}
	ctx := a.ctx
	a.beside.Go(func() {
		defer close(l.rendered)
		ctx, cancel := context.WithTimeout(ctx, a.limits.Hook)
		defer cancel()
		if err := a.addReplies(ctx, l, e, p); err != nil && ctx.Err() == nil {
			a.log.Warn("the adapter did not say what the job's tasks are told; they will ask the agent", core.LogJob, p.Run.Key.String(), core.LogError, err)
		}
	})
	return nil
}

// addReplies adds to an environment what the adapter says of it, unless it has been withdrawn meanwhile.
func (a *Agent) addReplies(ctx context.Context, l *left, e rundir.Environ, p node.Publish) (err error) {
	e.Replies, e.First = map[string]rundir.Rendered{}, map[string]rundir.Rendered{}
	warned := append(slices.Clip(e.Variables), core.Variable{Name: rundir.Warned, Value: l.run.Job})
	for _, phase := range a.tasks(l.run.Scheduler) {
		e.Replies[phase.Name], err = a.render(ctx, l.run.Key, phase.Name, e.Variables, nil)
		if err == nil && len(p.Warnings) > 0 && len(phase.First) > 0 {
			e.First[phase.Name], err = a.render(ctx, l.run.Key, phase.Name, warned, p.Warnings)
		}
		if err != nil {
			return fmt.Errorf("phase %s: %w", phase.Name, err)
		}
	}
	a.environs.mu.Lock()
	defer a.environs.mu.Unlock()
	if a.environs.left[l.run.JobID] != l {
		return nil
	}
	return rundir.WriteEnviron(rundir.EnvironPath(a.needs.Environ, l.run.JobID), e, p.GID)
}

// stepMark stands for a step's id while an adapter renders: nothing that an adapter would quote.
const stepMark = "WeftStepWeftStepWeftStep"

func (a *Agent) render(ctx context.Context, key core.Key, phase string, environment []core.Variable, warnings []string) (rundir.Rendered, error) {
	h := a.needs.Hooks[key.Scheduler]
	call := core.HookCall{Scheduler: key.Scheduler, Phase: phase, Node: a.needs.Node}
	out := core.Outcome{Action: core.Environment, Key: key, Environment: environment, Warnings: warnings}
	plain, err := h.Render(ctx, call, out)
	if err != nil {
		return rundir.Rendered{}, err
	}
	with, ok := node.WithStep(environment, stepMark)
	if !ok {
		return rundir.Rendered{Reply: rundir.Reply(plain)}, nil
	}
	out.Environment = with
	stepped, err := h.Render(ctx, call, out)
	return rundir.Split(plain, stepped.Stdout, stepMark), err
}

// tasks are the phases of a scheduler that a job's file answers.
func (a *Agent) tasks(scheduler string) []rundir.Phase {
	var out []rundir.Phase
	if a.needs.Hooks[scheduler] == nil {
		return nil
	}
	for _, s := range a.hookTable.Load().Schedulers {
		for _, p := range s.Phases {
			if s.Name == scheduler && p.Action == core.Environment && len(p.Job) > 0 {
				out = append(out, p)
			}
		}
	}
	return out
}

// published waits until the file of a job that is prepared says all that it will; its tasks start when the hook returns.
func (a *Agent) published(ctx context.Context, job core.JobID) {
	a.environs.mu.Lock()
	l := a.environs.left[job]
	a.environs.mu.Unlock()
	if l == nil {
		return
	}
	// Part of the time only: without it tasks ask the agent, and that is slow but right.
	t := time.NewTimer(a.limits.Hook / 8)
	defer t.Stop()
	select {
	case <-l.rendered:
	case <-t.C:
	case <-a.done:
	case <-ctx.Done():
	}
}

// withdraw removes the environment of run; one of a later run stays.
func (a *Agent) withdraw(run core.Run) error {
	if a.needs.Environ == "" {
		return nil
	}
	a.environs.mu.Lock()
	defer a.environs.mu.Unlock()
	if l := a.environs.left[run.JobID]; l != nil {
		if l.run != run {
			return nil
		}
		delete(a.environs.left, run.JobID)
	}
	path := rundir.EnvironPath(a.needs.Environ, run.JobID)
	e, err := rundir.ReadEnviron(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// What cannot be read is no run's: its owner may have written into it.
	if err == nil && !e.Is(run) {
		return nil
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("environment of %s: %w", run.JobID, err)
	}
	return nil
}
