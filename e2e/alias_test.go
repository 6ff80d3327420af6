package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/drivers/sim"
)

// TestAlias: Slurm's NodeName is not the name that a node has in its certificate. config.hcl's alias leads jobs to their nodes, and drains to Slurm's.
func TestAlias(t *testing.T) {
	t.Parallel()
	both(t, setup{prefix: "nid"}, func(t *testing.T, w *site) {
		job := w.batch(bob, "srun sh -c "+quoted(show+"; sleep 300")+"\n", "-N2", "-o", w.path("out", "alias"))
		var tasks []seen
		until(t, "two tasks of job "+job+" say what they see", func() (bool, string) {
			text := tail(w.path("out", "alias"), 1<<16)
			tasks = read(t, text)
			return len(tasks) == 2, text
		})
		var nodes []string
		for _, s := range tasks {
			w.isolated(s)
			nodes = append(nodes, s.Node)
			s.Node = strings.TrimPrefix(s.Node, w.prefix)
			w.holds(s, bob.uid, 1)
		}
		if slices.Sort(nodes); !slices.Equal(nodes, []string{"nidn1", "nidn2"}) {
			t.Errorf("Slurm calls the nodes %v", nodes)
		}
		out, err := w.weft("job", job)
		if err != nil || !strings.Contains(out, "n[1-2]") || strings.Contains(out, "nid") {
			t.Errorf("weft job: %v\n%s", err, out)
		}
		w.mustRoot("scancel", job)
		w.clean()
		w.nothingDrained()

		w.fault("n1", sim.Fault{Kind: sim.Fail, Device: "cxi1", Call: sim.CallCreate, Nth: 1})
		job = w.batch(alice, show, "-N1", "-w", "nidn1", "-o", w.path("out", "nic"))
		if why := w.drained("nidn1"); !strings.Contains(why, "cxi1") {
			t.Errorf("the reason names no NIC: %s", why)
		}
		w.mustRoot("scancel", job)
		w.clean()
	})
}
