package flux

import (
	"context"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// The phases, in Flux's own words.
const (
	PhaseProlog = "prolog"
	PhaseShell  = "shell"
	PhaseEpilog = "epilog"
)

// What the hooks' variables are called. In prolog and epilog Flux sets them for root; the shell plugin has them of the job's shell.
const (
	envJob  = "FLUX_JOB_ID"
	envUser = "FLUX_JOB_USERID"
	envPath = "FLUX_JOB_ID_PATH"
	envSet  = "FLUX_JOB_RANKS"  // of the job's nodes, in prolog and epilog
	envRank = "WEFT_SHELL_RANK" // by weft.lua: the rank of a shell of Weft's own job, not of a job within it
)

// Time limits of hooks that do not wait for the server: a job's shell may look for an agent that restarts; the epilog leaves the work to it.
const (
	shellLimit   = 20 * time.Second
	cleanUpLimit = 10 * time.Second
)

// Phases of Flux's hooks.
func (p *Plugin) Phases(context.Context) ([]core.HookPhase, error) {
	ids, wants := []string{envJob}, slices.Clip([]string{envJob, envUser})
	return []core.HookPhase{
		{Name: PhaseProlog, Action: core.Prepare, Root: true, Job: ids, Variables: append(wants, envSet), Limit: p.settings.prolog},
		{
			Name: PhaseShell, Action: core.Environment, Job: ids, Step: []string{envPath}, First: []string{envRank},
			Variables: []string{envJob, envPath}, Limit: shellLimit,
		},
		{Name: PhaseEpilog, Action: core.CleanUp, Root: true, Job: ids, Variables: wants, Limit: cleanUpLimit},
	}, nil
}
