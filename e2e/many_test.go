package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/dev/effort"
)

// TestMany: 60 short jobs, and in a night 200, four at a time: three and more for each VNI. At the end nothing is left
// on any NIC, and every VNI is accounted for.
func TestMany(t *testing.T) {
	t.Parallel()
	jobs := 60
	if effort.Night() {
		jobs = 200
	}
	both(t, setup{pool: "2000-2019"}, func(t *testing.T, w *site) {
		w.batch(alice, show, "-N1", "-n1", fmt.Sprintf("--array=1-%d%%4", jobs), "-o", w.path("out", "many-%a"))
		for left := jobs; left > 0; { // each has its time: on a loaded machine they take minutes together
			until(t, fmt.Sprintf("another of %d jobs is over", left), func() (bool, string) {
				out, err := w.root("squeue", "-h", "-a", "-r", "-o", "%i %T")
				was := left
				if err == nil {
					left = strings.Count(out, "\n")
				}
				return left < was, out
			})
		}
		for i := 1; i <= jobs; i++ {
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
