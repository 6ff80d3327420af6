package slurm

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
)

// The phases, in Slurm's own words.
const (
	PhaseProlog     = "prolog"
	PhaseTaskProlog = "taskprolog"
	PhaseEpilog     = "epilog"
	PhaseStep       = "step" // slurmstepd's, before the tasks of a step start; see spank/weft.c
)

// What the hooks' variables are called. In Prolog and Epilog slurmd sets them for root; in TaskProlog they are the user's environment.
const (
	envJob       = "SLURM_JOB_ID"
	envLeader    = "SLURM_HET_JOB_ID"
	envUID       = "SLURM_JOB_UID"
	envRestarts  = "SLURM_JOB_RESTART_COUNT"
	envRestarted = "SLURM_RESTART_COUNT"
	envNodes     = "SLURM_NODELIST"
	envJobNodes  = "SLURM_JOB_NODELIST"
	envCPUs      = "SLURM_JOB_CPUS_PER_NODE"
	envStep      = "SLURM_STEP_ID"
	envTask      = "SLURM_PROCID"
	envNode      = "SLURM_NODEID"
	envStepNodes = "SLURM_STEP_NUM_NODES"
	envNetwork   = "SLURM_NETWORK" // the user's own word, and the job's where a step has none
	envParts     = "SLURM_HET_SIZE"
	envWarned    = "WEFT_WARNED" // the job whose warnings have been told
)

// epilogLimit is that of Epilog, which leaves the work to the agent.
const epilogLimit = 10 * time.Second

// taskLimit is how long a step and its tasks wait: weft.c's own default. Their processes exist by then, and no limit of
// srun, slurmd or slurmctld counts any more. Tasks that waited 25 s in slurm_spank_task_init_privileged or in TaskProlog
// ran, with a MessageTimeout of 10 s (22.05.8).
const taskLimit = 60 * time.Second

// Phases of Slurm's hooks.
func (p *Plugin) Phases(context.Context) ([]core.HookPhase, error) {
	ids := []string{envLeader, envJob}
	return []core.HookPhase{
		{
			Name: PhaseProlog, Action: core.Prepare, Root: true, Job: ids, Limit: p.settings.prolog,
			Variables: []string{envJob, envUID, envRestarts, envRestarted, envNodes, envJobNodes, envCPUs},
		},
		// A batch script is task 0 too, and has no step. A task of a het job sees its leader's id as SLURM_JOB_ID, and whatever its user left in SLURM_HET_JOB_ID.
		{
			Name: PhaseTaskProlog, Action: core.Environment, Job: []string{envJob}, Step: []string{envStep},
			First: []string{envTask, envStep}, Asks: []string{envNetwork}, Variables: []string{envParts}, Limit: taskLimit,
		},
		{
			Name: PhaseStep, Action: core.Prepare, Root: true, Job: []string{envJob}, Step: []string{envStep}, Limit: taskLimit,
			Variables: []string{envUID, envNode, envStepNodes, envNetwork, envWarned},
		},
		{Name: PhaseEpilog, Action: core.CleanUp, Root: true, Job: ids, Variables: []string{envJob, envUID}, Limit: epilogLimit},
	}, nil
}
