package e2e

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// both runs a scenario with and without PrologFlags=Alloc, side by side.
func both(t *testing.T, s setup, scenario func(t *testing.T, w *site)) {
	t.Helper()
	needSlurm(t)
	for _, alloc := range []bool{true, false} {
		t.Run(fmt.Sprintf("alloc=%v", alloc), func(t *testing.T) {
			t.Parallel()
			s := s
			s.alloc = alloc
			scenario(t, newSite(t, s))
		})
	}
}

// isolated fails the test unless a task has an environment that is whole.
func (w *site) isolated(s seen) {
	w.t.Helper()
	ids := strings.Split(s.IDs, ",")
	if s.VNIs == "" || s.Devices != "cxi0,cxi1" || len(ids) != nics || s.TCs != "0xa" {
		w.t.Errorf("%+v: its environment is not whole", s)
	}
}

// holds fails the test unless a task's services stand on its node's NICs as they should: owner, VNIs, classes, limits.
func (w *site) holds(s seen, owner uint32, cores int) {
	w.t.Helper()
	ids := strings.Split(s.IDs, ",")
	for i, device := range strings.Split(s.Devices, ",") {
		id, _ := strconv.Atoi(ids[i])
		all := w.services(s.Node)
		at := slices.IndexFunc(all, func(x core.Service) bool { return x.Device == device && x.ID == uint32(id) })
		if at < 0 {
			w.t.Errorf("node %s: %s has no service %d: %v", s.Node, device, id, all)
			continue
		}
		x := all[at]
		want := core.BestEffort | core.LowLatency
		if x.Owner != core.UID(owner) || core.FormatVNIs(x.VNIs) != s.VNIs || x.Classes != want || !x.Enabled {
			w.t.Errorf("node %s: %+v is not the service that %+v was told of", s.Node, x, s)
		}
		limit := core.Limit{Reserved: uint16(2 * cores), Max: w.part(s.Node, device, cores)}
		if got := x.Limits[core.TXQ]; got != limit {
			w.t.Errorf("node %s: service %d has TXQs %+v, and %+v are due to %d cores", s.Node, id, got, limit, cores)
		}
	}
}

// part counts the TXQs of a NIC that a job with so many of its node's cores may take: all with all of them, else its
// part of those that the system's services leave.
func (w *site) part(node, device string, cores int) uint16 {
	w.t.Helper()
	left := int(kernel.Total[core.TXQ])
	if cores == cpus {
		return uint16(left)
	}
	for _, s := range w.everyService(node) {
		if s.Device == device && s.Enabled && (s.System || s.Default) {
			left -= int(s.Limits[core.TXQ].Max)
		}
	}
	return uint16(left * cores / cpus)
}

func TestStart(t *testing.T) {
	t.Parallel()
	both(t, setup{}, func(t *testing.T, w *site) {
		// Something holds a service on n1 only, so that ids differ between nodes.
		first := w.batch(alice, "sleep 100", "-N1", "-w", "n1", "-c2")
		w.awaitState(first, "RUNNING")
		until(t, "the first job has its services", func() (bool, string) {
			n := len(w.services("n1"))
			return n == nics, fmt.Sprint(n)
		})

		// The tasks stay until the NICs were looked at.
		job := w.batch(bob, "srun sh -c "+quoted(show+"; sleep 100")+"\n", "-N2", "-w", "n[1-2]", "-c2", "-o", w.path("out", "two"))
		var tasks []seen
		until(t, "two tasks of job "+job+" say what they see", func() (bool, string) {
			text := tail(w.path("out", "two"), 1<<16)
			tasks = read(t, text)
			return len(tasks) == 2, text
		})
		slices.SortFunc(tasks, func(a, b seen) int { return cmp.Compare(a.Node, b.Node) })
		if tasks[0].Node != "n1" || tasks[1].Node != "n2" || tasks[0].VNIs != tasks[1].VNIs || tasks[0].IDs == tasks[1].IDs {
			t.Errorf("%+v: one VNI and the node's own ids are due", tasks)
		}
		for _, s := range tasks {
			w.isolated(s)
			w.holds(s, bob.uid, 2)
		}
		if n := w.allServices(); n != 3*nics {
			t.Errorf("%d services, want the first job's on one node and the second's on two", n)
		}
		out, err := w.weft("vnis", tasks[0].VNIs)
		if err != nil || !strings.Contains(out, "tioga/"+job) || !strings.Contains(out, bob.name) {
			t.Errorf("weft vnis %s: %v\n%s", tasks[0].VNIs, err, out)
		}
		w.mustRoot("scancel", first, job)
		w.clean()
		w.nothingDrained()
	})
}

// TestShells are the ways to start processes that no step of Slurm's starts.
func TestShells(t *testing.T) {
	t.Parallel()
	both(t, setup{nodes: []string{"n1", "n2", "n3"}}, func(t *testing.T, w *site) {
		// The batch shell and what it starts; a job of one node.
		job := w.batch(alice, show+"\nsh -c "+quoted("sh -c "+quoted(show)+"; true")+"\n", "-N1", "-o", w.path("out", "shell"))
		w.awaitState(job, "COMPLETED", "FAILED")
		tasks := read(t, tail(w.path("out", "shell"), 1<<16))
		if len(tasks) == 0 {
			t.Fatalf("the shell said nothing: %s", tail(w.path("out", "shell"), 1<<16))
		}
		for _, s := range tasks {
			w.isolated(s)
		}
		w.clean()

		// A node's first step comes later.
		gate := w.path("out", "gate")
		job = w.batch(alice, "while [ ! -e "+gate+" ]; do sleep 0.1; done\nsrun -N1 -n1 -w n2 sh -c "+quoted(show)+"\n",
			"-N2", "-w", "n[1-2]", "-o", w.path("out", "late"))
		w.awaitState(job, "RUNNING")
		until(t, "the job has its services on n1", func() (bool, string) { n := len(w.services("n1")); return n == nics, fmt.Sprint(n) })
		want := 0
		if w.alloc {
			want = nics
		}
		until(t, "n2 is as PrologFlags have it", func() (bool, string) { n := len(w.services("n2")); return n == want, fmt.Sprint(n) })
		pause(t, engine.DefaultRules.Fresh+5*time.Second) // longer than any answer about the job is kept
		w.touch(gate)
		w.awaitState(job, "COMPLETED", "FAILED")
		tasks = read(t, tail(w.path("out", "late"), 1<<16))
		if len(tasks) != 1 || tasks[0].Node != "n2" {
			t.Fatalf("%+v: %s", tasks, tail(w.path("out", "late"), 1<<16))
		}
		w.isolated(tasks[0])
		w.clean()

		// An allocation without a step: two Epilogs, and a Prolog only with Alloc.
		w.mustAs(alice, "salloc", "--no-shell", "-J", "idle", "-N2", "-w", "n[1-2]")
		job = strings.TrimSpace(w.mustRoot("squeue", "-h", "-n", "idle", "-o", "%i"))
		until(t, "the allocation is as PrologFlags have it", func() (bool, string) { n := w.allServices(); return n == 2*want, fmt.Sprint(n) })
		out, err := w.as(alice, bin+"/weft", "--dir", w.path("n2"), "env", job)
		if has := strings.Contains(out, "SLINGSHOT_VNIS="); has != w.alloc || (err == nil) != w.alloc {
			t.Errorf("weft env on a node without a step: %v\n%s", err, out)
		}
		w.mustRoot("scancel", job)
		until(t, "the allocation is over", func() (bool, string) { s := w.state(job); return s == "CANCELLED" || s == "COMPLETED" || s == "", s })
		w.clean()

		// A shell that no hook reached asks for itself, as its user.
		job = w.batch(alice, "sleep 100", "-N1", "-w", "n3")
		w.awaitState(job, "RUNNING")
		until(t, "the job has its services on n3", func() (bool, string) { n := len(w.services("n3")); return n == nics, fmt.Sprint(n) })
		out, err = w.as(alice, bin+"/weft", "--dir", w.path("n3"), "env", job)
		if err != nil || !strings.Contains(out, "SLINGSHOT_VNIS=") || !strings.Contains(out, "SLINGSHOT_SVC_IDS=") {
			t.Errorf("weft env: %v\n%s", err, out)
		}
		out, err = w.as(bob, bin+"/weft", "--dir", w.path("n3"), "env", job)
		if err == nil || strings.Contains(out, "SLINGSHOT_SVC_IDS=") {
			t.Errorf("another user's environment: %v\n%s", err, out)
		}
		w.mustRoot("scancel", job)
		w.clean()
		w.nothingDrained()
	})
}

// TestShared: jobs of one and of two users on one node.
func TestShared(t *testing.T) {
	t.Parallel()
	both(t, setup{}, func(t *testing.T, w *site) {
		users := []user{alice, bob, alice, bob}
		stale := []string{"SLINGSHOT_VNIS=7", "SLINGSHOT_SVC_IDS=1", "SLINGSHOT_DEVICES=cxi9", "SLINGSHOT_TCS=0xf", "FI_CXI_COLL_MCAST_TOKEN=stale"}
		owners := map[string]uint32{}
		var jobs []string
		for i, u := range users {
			out := w.path("out", fmt.Sprint("small", i))
			// What the submitting shell carries must not reach a task.
			job := w.batchWith(u, stale, show+"\nsrun sh -c "+quoted(show)+"\nenv | grep ^FI_CXI_COLL\necho THAT IS ALL\nsleep 100\n",
				"-N1", "-w", "n1", "-c4", "-o", out)
			jobs = append(jobs, job)
			var tasks []seen
			until(t, "job "+job+" says what it sees", func() (bool, string) {
				text := tail(out, 1<<16)
				tasks = read(t, text)
				return strings.Contains(text, "THAT IS ALL"), text
			})
			if len(tasks) != 2 {
				t.Fatalf("job %s: %s", job, tail(out, 1<<16))
			}
			for _, s := range tasks {
				w.isolated(s)
				w.holds(s, u.uid, 4)
			}
			if strings.Contains(tail(out, 1<<16), "stale") {
				t.Errorf("a stale variable reached the task: %s", tail(out, 1<<16))
			}
			if _, twice := owners[tasks[0].VNIs]; twice {
				t.Errorf("VNI %s is two jobs'", tasks[0].VNIs)
			}
			owners[tasks[0].VNIs] = u.uid
		}
		if n := len(w.services("n1")); n != len(users)*nics {
			t.Errorf("%d services on n1", n)
		}
		// Nor where a job wants no network, and gets nothing instead.
		out, err := w.as(alice, "srun", "-N1", "-w", "n2", "--network=no_vni", "--export=ALL,SLINGSHOT_VNIS=7,SLINGSHOT_SVC_IDS=1,SLINGSHOT_DEVICES=cxi9,SLINGSHOT_TCS=0xf",
			"sh", "-c", show+"; env | grep ^SLINGSHOT; true")
		if tasks := read(t, out); err != nil || len(tasks) != 1 || strings.Contains(out, "SLINGSHOT") {
			t.Errorf("a job without a network: %v\n%s", err, out)
		}
		if len(owners) != len(users) {
			t.Errorf("VNIs %v", slices.Collect(maps.Keys(owners)))
		}
		w.mustRoot(append([]string{"scancel"}, jobs...)...)
		w.clean()
		w.nothingDrained()
	})
}

// TestWarned: a job's owner reads a warning once in its output, however many nodes, steps and tasks the job has.
func TestWarned(t *testing.T) {
	t.Parallel()
	both(t, setup{}, func(t *testing.T, w *site) {
		const option = "--network=nic_distribution_count=2"
		once := func(out string) {
			t.Helper()
			if strings.Count(out, "weft: warning: ") != 1 || strings.Count(out, "weft: `weft job ") != 1 {
				t.Errorf("one warning is not there once:\n%s", out)
			}
		}
		out, err := w.as(alice, "srun", "-N2", "-n4", option, "true")
		must(t, err)
		once(out)
		job := w.batch(alice, "srun true && srun true\n", "-N2", "-n4", option, "-o", w.path("out", "warned"))
		w.awaitState(job, "COMPLETED")
		once(tail(w.path("out", "warned"), 1<<16))
		out, err = w.as(alice, "salloc", "-N2", "-n4", option, "sh", "-c", "srun true && srun true")
		must(t, err)
		once(out)
		w.clean()
	})
}
