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
	out := w.path("out", "script")
	job := w.batch(alice, "echo BEGUN\nsleep 300", "-N1", "-o", out)
	until(t, "the script is past its own TaskProlog", func() (bool, string) {
		text := tail(out, 1<<12)
		return strings.Contains(text, "BEGUN"), text
	})
	step := func() (string, error) { return w.as(alice, "srun", "--jobid="+job, "--overlap", "sh", "-c", show) }
	said, err := step()
	if tasks := read(t, said); err != nil || len(tasks) != 1 {
		t.Fatalf("before the restart: %v\n%s", err, said)
	} else {
		w.isolated(tasks[0])
	}
	w.fault("n1", sim.Fault{Kind: sim.Reload})
	said, err = step()
	if err == nil || len(read(t, said)) != 0 || !strings.Contains(said, "its driver was loaded again") {
		t.Errorf("after the restart: %v\n%s", err, said)
	}
	w.mustRoot("scancel", job)
	w.clean()
	w.nothingDrained()
}
