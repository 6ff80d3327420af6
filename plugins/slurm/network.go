package slurm

import (
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/request"
)

// dialect is --network= (or SLURM_NETWORK) as switch/hpe_slingshot reads it, so that a site moves without telling its users.
var dialect = request.Dialect{Command: "--network=", Plugin: true}

// strange is all that weft.c sends of a text that has other characters than options have, or too many.
const strange = "?"

// stepRequest is what a step's user asks for by srun's --network. From 24.05 on srun sets SLURM_NETWORK to it, and
// slurmctld sets the batch script's to the job's (src/srun/opt.c; src/slurmctld/job_scheduler.c), so that a step without
// --network repeats what its job asked for. srun takes a SLURM_NETWORK that is set already for --network, in any release.
// The components of a het job have one srun, so the last one's stands for all: it counts for none.
func stepRequest(env map[string]string, step string) (core.Request, error) {
	text := env[envNetwork]
	if step == "" || text == "" || env[envParts] != "" {
		return core.Request{}, nil
	}
	all, err := dialect.ParseText(text)
	if text == strange {
		err = core.Errorf(core.BadRequest, "--network: it has characters that no option has, or more than %d bytes",
			request.MaxBytes).WithRemedy("the srun manual says which options there are")
	}
	if err != nil {
		return core.Request{}, core.Errorf(core.BadRequest, "step %s: %w", step, err).WithRemedy(core.AsError(err).Remedy)
	}
	return all, nil
}
