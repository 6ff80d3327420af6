package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestMany: 200 short jobs, four at a time. At the end nothing is left on any NIC, and every VNI is accounted for.
func TestMany(t *testing.T) {
	t.Parallel()
	both(t, setup{pool: "2000-2059"}, func(t *testing.T, w *site) {
		w.batch(alice, show, "-N1", "-n1", "--array=1-200%4", "-o", w.path("out", "many-%a"))
		for left := 200; left > 0; { // each has its time: on a loaded machine they take minutes together
			until(t, fmt.Sprintf("another of %d jobs is over", left), func() (bool, string) {
				out, err := w.root("squeue", "-h", "-a", "-r", "-o", "%i %T")
				was := left
				if err == nil {
					left = strings.Count(out, "\n")
				}
				return left < was, out
			})
		}
		for i := 1; i <= 200; i++ {
			tasks := read(t, tail(w.path("out", fmt.Sprint("many-", i)), 1<<14))
			if len(tasks) != 1 {
				t.Fatalf("job %d: %s", i, tail(w.path("out", fmt.Sprint("many-", i)), 1<<14))
			}
			w.isolated(tasks[0])
		}
		w.clean()
		w.nothingDrained()
	})
}
