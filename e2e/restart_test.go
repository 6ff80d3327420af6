package e2e

import (
	"os"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/drivers/sim"
)

// TestTasksOfARestartedNIC: the job's user cannot look up what shows a restart, so the agent answers each of his tasks.
// None gets the ids of services that the restart ended.
func TestTasksOfARestartedNIC(t *testing.T) {
	t.Parallel()
	needSlurm(t)
	w := newSite(t, setup{nodes: []string{"n1"}, alloc: true})
	must(t, os.Chmod(w.path("n1.nic"), 0o700))
	job := w.batch(alice, "sleep 300", "-N1")
	w.awaitState(job, "RUNNING")
	step := func() (string, error) { return w.as(alice, "srun", "--jobid="+job, "--overlap", "sh", "-c", show) }
	out, err := step()
	if tasks := read(t, out); err != nil || len(tasks) != 1 {
		t.Fatalf("before the restart: %v\n%s", err, out)
	} else {
		w.isolated(tasks[0])
	}
	w.fault("n1", sim.Fault{Kind: sim.Reload})
	out, err = step()
	if err == nil || len(read(t, out)) != 0 || !strings.Contains(out, "its driver was loaded again") {
		t.Errorf("after the restart: %v\n%s", err, out)
	}
	w.mustRoot("scancel", job)
	w.clean()
	w.nothingDrained()
}
