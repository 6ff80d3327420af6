package slurm

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// absent finds the hooks of slurm.conf that are not on this host, where a slurmd runs. A path that is not absolute is
// one that slurmctld sends to a configless slurmd.
func absent(c map[string]string) []core.Finding {
	var all []core.Finding
	for _, key := range slices.Sorted(maps.Keys(c)) {
		// Slurm fails where a pattern has no file: "Unable to create list of paths" (slurmd_script and run_prolog in
		// plugins/prep/script/prep_script_slurmd.c, 22.05.8 and 26.05).
		name, _, _ := strings.Cut(key, "[")
		what := "slurmd does not find " + name + " here, and drains this node for it"
		switch name {
		case "Prolog", "Epilog":
		case "TaskProlog":
			what = "slurmstepd does not find TaskProlog here: no task starts"
		default:
			continue
		}
		if !filepath.IsAbs(c[key]) || found(c[key]) {
			continue
		}
		all = append(all, core.Finding{
			Severity: core.Critical, What: what, Evidence: fmt.Sprintf("%s = %s", key, c[key]),
			Remedy: "bring the file to this node: `weft init slurm --files --write` writes Weft's own",
		})
	}
	return all
}

// found reports that a pattern has a program.
func found(pattern string) bool {
	paths, _ := filepath.Glob(pattern)
	return slices.ContainsFunc(paths, file.Runs)
}
