package slurm

import (
	"strconv"
	"strings"
)

// run is how many CPUs a job has on each of so many nodes in a row.
type run struct {
	cpus  int
	nodes int
}

// maxRuns bounds how irregular a job may be spread.
const maxRuns = 1 << 16

// parseCPUs reads SLURM_JOB_CPUS_PER_NODE, such as "5,1(x2)": the CPUs of a job on its nodes, in the order of
// SLURM_NODELIST.
func parseCPUs(text string) (runs []run, ok bool) {
	for item := range strings.SplitSeq(text, ",") {
		count, times, repeated := strings.Cut(item, "(x")
		if !repeated {
			times = "1)"
		}
		times, closed := strings.CutSuffix(times, ")")
		cpus, err1 := strconv.ParseUint(count, 10, 31)
		nodes, err2 := strconv.ParseUint(times, 10, 31)
		if err1 != nil || err2 != nil || !closed || cpus == 0 || nodes == 0 || len(runs) == maxRuns {
			return nil, false
		}
		runs = append(runs, run{int(cpus), int(nodes)})
	}
	return runs, true
}
