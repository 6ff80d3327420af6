package e2e

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/dev/effort"
)

// TestRefusedArray: of an array of 24 a quota lets half run. Each other task ends, and its output says why.
func TestRefusedArray(t *testing.T) {
	t.Parallel()
	effort.NeedNight(t)
	const all, half = 24, 12
	quota := fmt.Sprintf("quota \"half\" {\n  per     = \"user\"\n  vnis    = %d\n  on_full = \"refuse\"\n}\n", half)
	both(t, setup{policy: quota}, func(t *testing.T, w *site) {
		script := fmt.Sprintf("echo RAN\nwhile [ ! -e %s ]; do sleep 1; done", w.path("out", "go"))
		first := w.batch(alice, script, "-N1", "-n1", fmt.Sprint("--array=1-", all), "-o", w.path("out", "half-%a"))
		var ran, told int
		until(t, "half of the tasks run, and the others say why not", func() (bool, string) {
			ran, told = 0, 0
			for i := 1; i <= all; i++ {
				switch text := tail(w.path("out", fmt.Sprint("half-", i)), 1<<14); {
				case strings.Contains(text, "RAN"):
					ran++
				case strings.Contains(text, "weft: ") && strings.Contains(text, `"half"`):
					told++
				}
			}
			return ran+told == all, fmt.Sprint(ran, " run, ", told, " say why not")
		})
		if ran != half {
			t.Errorf("%d run", ran)
		}
		w.nothingDrained()
		w.touch(w.path("out", "go"))
		until(t, "the array is over", func() (bool, string) {
			out, err := w.root("squeue", "-h", "-j", first)
			return strings.TrimSpace(out) == "" || err != nil, out
		})
		w.clean()
		w.nothingDrained()
	})
}

// TestRefusedForNow: a batch job that may not come back ends as one that is refused for good does.
func TestRefusedForNow(t *testing.T) {
	t.Parallel()
	ends := func(t *testing.T, w *site, name, why string) {
		t.Helper()
		out := w.path("out", name)
		job := w.batch(alice, "echo RAN", "-N1", "-n1", "--no-requeue", "-o", out)
		until(t, "job "+job+" says why it cannot run", func() (bool, string) {
			text := tail(out, 1<<14)
			return strings.Contains(text, "weft: ") && strings.Contains(text, why), text + w.state(job)
		})
		w.awaitState(job, "FAILED")
		if text := tail(out, 1<<14); strings.Contains(text, "RAN") {
			t.Errorf("job %s ran without isolation: %s", job, text)
		}
		w.nothingDrained()
	}
	both(t, setup{pool: "2000-2000", prolog: "10s"}, func(t *testing.T, w *site) {
		holder := w.batch(bob, "sleep 300", "-N1", "-n1")
		until(t, "the one VNI is taken", func() (bool, string) { n := w.allServices(); return n == nics, fmt.Sprint(n) })
		ends(t, w, "pool", "pool")
		w.mustRoot("scancel", holder)
		w.clean()
		w.procs[theServer].kill()
		ends(t, w, "dead", "server")
		w.startServer()
		w.attached()
		w.clean()
	})
}
