package slurm

import (
	"strconv"

	"github.com/weft-hpc/weft/core"
)

// checkJob refuses what is no id of a job as Slurm's variables have it: a number from 1 to 2^32-1 without leading zeros. An id becomes an argument of Slurm's commands.
func checkJob(id string) error {
	n, err := strconv.ParseUint(id, 10, 32)
	if err != nil || n == 0 || strconv.FormatUint(n, 10) != id {
		return core.Errorf(core.BadCall, "job id %q: it is no number that Slurm gives", core.Clip(id)).WithRemedy("the hook must be run by Slurm, which sets SLURM_JOB_ID")
	}
	return nil
}
