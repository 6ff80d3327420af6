package slurm

import (
	"math"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// run is how many CPUs a job has on each of so many nodes in a row.
type run struct {
	cpus  int
	nodes int
}

// maxRuns bounds how irregular a job may be spread.
const maxRuns = 1 << 16

// parseCPUs reads SLURM_JOB_CPUS_PER_NODE, such as "5,1(x2)": the CPUs of a job on its nodes, in the order of SLURM_NODELIST.
func parseCPUs(text string) ([]run, error) {
	bad := func(item string) ([]run, error) {
		return nil, core.Errorf(core.BadCall, "CPUs per node: %q is neither a number nor one with (xN) behind", core.Clip(item))
	}
	var runs []run
	for item := range strings.SplitSeq(text, ",") {
		count, times, repeated := strings.Cut(item, "(x")
		r := run{nodes: 1}
		var err error
		if r.cpus, err = positive(count); err != nil {
			return bad(item)
		}
		if repeated {
			number, closed := strings.CutSuffix(times, ")")
			if r.nodes, err = positive(number); err != nil || !closed {
				return bad(item)
			}
		}
		if len(runs) == maxRuns {
			return nil, core.Errorf(core.BadCall, "CPUs per node: there are more than %d different ones", maxRuns)
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// positive reads a number from 1 to 2^31-1, in digits alone.
func positive(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err == nil && (n == 0 || n > math.MaxInt32) {
		err = strconv.ErrRange
	}
	return int(n), err
}
