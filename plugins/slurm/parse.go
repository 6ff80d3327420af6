package slurm

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

var actions = map[string]core.Action{
	PhaseProlog: core.Prepare, PhaseTaskProlog: core.Environment, PhaseEpilog: core.CleanUp, PhaseStep: core.Prepare,
}

// Parse reads a hook's variables.
func (p *Plugin) Parse(_ context.Context, call core.HookCall) (core.Intent, error) {
	ask := core.Intent{Action: actions[call.Phase], Began: call.Began, Call: call.ID}
	if ask.Action == 0 {
		return ask, core.Errorf(core.BadCall, "phase %q: Slurm has no such hook that Weft takes part in", core.Clip(call.Phase)).
			WithRemedy("use " + strings.Join(slices.Sorted(maps.Keys(actions)), ", "))
	}
	own := call.Env[envJob]
	id := own
	if leader := call.Env[envLeader]; leader != "" && leader != "0" && ask.Action != core.Environment {
		id = leader
	}
	for _, each := range []string{own, id} {
		if err := checkJob(each); err != nil {
			return ask, err
		}
	}
	ask.Key = core.Key{JobID: core.JobID{Scheduler: call.Scheduler, Job: id}}
	var err error
	if ask.Action == core.Environment {
		ask.UID, ask.Step = call.Peer.UID, step(call.Env[envStep])
		ask.Request, err = stepRequest(call.Env, ask.Step)
		return ask, err
	}
	uid, err := strconv.ParseUint(call.Env[envUID], 10, 32)
	if err != nil {
		return ask, core.Errorf(core.BadCall, "job %s: %s is %q, which is no uid", id, envUID, core.Clip(call.Env[envUID])).WithRemedy("run the hook by slurmd, which sets it")
	}
	ask.UID = uint32(uid)
	if ask.Action != core.Prepare {
		return ask, nil // Epilog may show another restart count than Prolog did
	}
	if ask.Key.Generation, err = restarts(first(call.Env, envRestarts, envRestarted)); err != nil {
		return ask, err
	}
	if call.Phase == PhaseStep {
		// Slurm's S_SLURM_RESTART_COUNT is always 0: spank_get_item reads slurmd_job->restart_cnt, which no line of
		// slurmstepd sets (src/common/plugstack.c and src/slurmd/slurmstepd/slurmstepd_job.c of 22.05.8 to 26.05).
		ask.Key.Generation = core.AnyGeneration
		ask.Step, ask.Tells, ask.Speaks = step(call.Env[envStep]), true, call.Env[envNode] == "0"
		// S_JOB_NNODES is the step's in slurmstepd: spank_get_item gives slurmd_job->nnodes (src/common/plugstack.c,
		// spank.c from 23.02), which is node_cnt of the step's layout in srun (src/api/step_launch.c); 22.05 to 26.05.
		if n, err := strconv.ParseUint(call.Env[envStepNodes], 10, 31); err == nil {
			ask.StepNodes = int(n)
		}
		ask.Joins = ask.Step != "" && ask.Step != "0" // the first step asks: its job's id may be that of an older job
		if ask.Note, err = (note{Job: own}).encode(); err != nil {
			return ask, err
		}
		if ask.Request, err = stepRequest(call.Env, ask.Step); ask.Request.Off {
			ask.Step = "" // it needs no VNI of its own
		}
		return ask, err
	}
	ask.Speaks = own == id && call.Node != "" && leads(first(call.Env, envNodes, envJobNodes), call.Node)
	ask.Note, err = note{Job: own, Nodes: first(call.Env, envNodes, envJobNodes), CPUs: call.Env[envCPUs]}.encode()
	return ask, err
}

// leads reports whether a node is the first of a job's: the one on which its batch script runs, and so has its Prolog in any case.
func leads(nodes, node string) bool {
	list, err := hostlist.Parse(nodes)
	if err != nil {
		return false
	}
	for name := range list.Expand() {
		return name == node
	}
	return false
}

// restarts reads a restart count; Slurm sets none where there was none.
func restarts(text string) (uint32, error) {
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return 0, core.Errorf(core.BadCall, "%s: %q is no number", envRestarts, core.Clip(text))
	}
	return uint32(n), nil
}

// lastStep is the highest id of a step that a user starts; those above are Slurm's own (batch, extern, interactive).
const lastStep = 0xffffff00

// step is the step's id, or nothing where there is none: the batch script has no step.
func step(text string) string {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n >= lastStep {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

func first(env map[string]string, names ...string) string {
	for _, name := range names {
		if v := env[name]; v != "" {
			return v
		}
	}
	return ""
}
