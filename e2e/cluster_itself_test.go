package e2e

import (
	"os"
	"strings"
	"testing"
)

func TestSlurmItself(t *testing.T) {
	needSlurm(t)
	c := newCluster(t, folder(t), nil, "n1", "n2")
	c.up()
	out, err := c.as(alice, "srun", "-N2", "sh", "-c", "echo $SLURMD_NODENAME $(id -u)")
	if err != nil || !strings.Contains(out, "n1 5") || !strings.Contains(out, "n2 5") {
		t.Errorf("%v\n%s", err, out)
	}
	job := c.batch(alice, "sleep 100", "-N1")
	c.awaitState(job, "RUNNING")
	c.nothingDrained()
}

// folder is a test's own, which users can enter. A unix socket's path is short: t.TempDir would be too long.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "weft")
	must(t, err)
	must(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() {
		if !t.Failed() {
			_ = os.RemoveAll(dir)
		}
	})
	return dir
}
