package e2e

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/observe"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"

	"github.com/weft-hpc/weft/dev/effort"
)

const observes = `mode = "observe"`

// TestAWayIn goes it next to services of another manager: Weft only looks, serves one node, one partition and all jobs,
// and goes back while a job runs. It changes no service of the other's, and no observed job.
func TestAWayIn(t *testing.T) {
	effort.NeedNight(t)
	needSlurm(t)
	t.Parallel()
	w := newSite(t, setup{alloc: true, mode: observes, nodes: []string{"n1", "n2", "n3"}})
	twice, left := w.other("n1", alice, 2500), w.other("n3", bob, 2600)
	w.other("n2", bob, 2500)
	foreign := w.allServices()

	// Hooks say nothing and fail nothing, also while server and agents are down.
	w.untouched("n[1-2]", 2)
	w.procs[agentOf("n1")].kill()
	w.procs[theServer].kill()
	w.untouched("n[1-2]", 2)
	w.serve()
	w.startAgent("n1")
	w.attached()
	seen := w.batch(alice, "sleep 5\n", "-N2", "-w", "n[1-2]", "-o", "/dev/null")
	until(t, "the account has a VNI given twice, a service left behind and a granted job", func() (bool, string) {
		r, err := w.account()
		given := slices.ContainsFunc(r.Twice, func(x observe.Twice) bool {
			return x.VNI == twice && x.Sure == observe.Certain
		})
		lost := slices.ContainsFunc(r.Left, func(x observe.Left) bool {
			return x.Node == "n3" && slices.Contains(x.VNIs, left)
		})
		return err == nil && given && lost && r.Granted > 0, fmt.Sprintf("%+v, %v", r, err)
	})
	w.awaitState(seen, "COMPLETED", "")
	out, err := w.root(filepath.Join(bin, "weft"), "--dir", w.path("n1"), "clean")
	if err != nil || !strings.Contains(out, "kept") {
		t.Errorf("weft clean: %v\n%s", err, out)
	}

	w.turn(observes + "\n  enforce {\n    nodes = \"n1\"\n  }")
	w.oneStep(alice, "n1", 1)
	w.untouched("n[1-2]", 2)
	w.turn(observes + "\n  enforce {\n    queues = [\"debug\"]\n  }")
	w.untouched("n1", 1)
	w.turn(observes + "\n  enforce {\n    queues = [\"main\"]\n  }")
	w.oneStep(alice, "n[1-2]", 2)
	if n := w.allServices(); n < foreign {
		t.Errorf("%d of %d services of another manager are left", n, foreign)
	}

	w.turn("")
	job, gate := w.waiting("served")
	w.turn(observes)
	w.untouched("n3", 1)
	w.touch(gate)
	w.awaitState(job, "COMPLETED", "FAILED", "")
	if tasks := read(t, tail(w.path("out", "served"), 1<<14)); len(tasks) != 2 {
		t.Errorf("the step of a job that was served: %+v\n%s", tasks, tail(w.path("out", "served"), 1<<14))
	} else {
		w.isolated(tasks[0])
	}
	until(t, "the services of served jobs alone are gone", func() (bool, string) {
		n := w.allServices()
		return n == foreign, fmt.Sprint(n, " of ", foreign)
	})
	w.nothingDrained()
}

// other has another manager make a service.
func (w *site) other(node string, u user, vni core.VNI) core.VNI {
	w.t.Helper()
	_, err := sim.At(w.path(node+".nic")).Foreign(w.t.Context(), "cxi0", &u.uid, []core.VNI{vni})
	must(w.t, err)
	return vni
}

// untouched runs a step whose tasks keep the variables that another manager set.
func (w *site) untouched(nodes string, n int) {
	w.t.Helper()
	out, err := w.as(alice, "env", "SLINGSHOT_VNIS=4000", "srun", fmt.Sprint("-N", n), "-w", nodes, "sh", "-c", show)
	tasks := read(w.t, out)
	if err != nil || len(tasks) != n || strings.Contains(out, "weft") {
		w.t.Fatalf("srun: %v\n%s", err, out)
	}
	for _, s := range tasks {
		if s.VNIs != "4000" {
			w.t.Errorf("an observed task: %+v", s)
		}
	}
}

// account is the server's.
func (w *site) account() (r observe.Report, err error) {
	err = hook.Call(w.t.Context(), w.socket(), server.VerbObserve, nil, &r)
	return r, err
}

// turn puts another mode in force, on the nodes first.
func (w *site) turn(mode string) {
	w.t.Helper()
	w.mode = mode
	w.configs()
	for _, n := range w.nodes() {
		w.mustRoot(filepath.Join(bin, "weft"), "--dir", w.path(n), "reload")
	}
	if out, err := w.weft("reload"); err != nil {
		w.t.Fatalf("reload: %v\n%s", err, out)
	}
}
