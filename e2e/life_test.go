package e2e

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// slow makes a hook take a while, on the side of the call that is named; the file "slow" in the site's folder says whether it does.
func slow(before, after bool) string {
	wait := `[ ! -e "$(dirname "$0")/../slow" ] || sleep 2`
	text := "{}"
	if before {
		text = wait + "\n" + text
	}
	if after {
		text += "\nrc=$?\n" + wait + "\nexit $rc"
	}
	return text
}

// TestCancel ends jobs at each moment of their start.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, at := range []string{"before the call", "after the call"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			before := strings.HasPrefix(at, "before")
			both(t, setup{hooks: map[string]string{"prolog": slow(before, !before)}}, func(t *testing.T, w *site) {
				w.touch(w.path("slow"))
				job := w.batch(alice, "sleep 100", "-N2", "-w", "n[1-2]")
				w.awaitState(job, "RUNNING", "CONFIGURING")
				if !before {
					until(t, "the Prolog has made its services", func() (bool, string) { n := w.allServices(); return n > 0, fmt.Sprint(n) })
				}
				w.mustRoot("scancel", job)
				w.awaitState(job, "CANCELLED", "")
				w.clean()
				w.nothingDrained()
			})
		})
	}
	t.Run("while it runs", func(t *testing.T) {
		t.Parallel()
		both(t, setup{}, func(t *testing.T, w *site) {
			job := w.batch(alice, "srun sleep 100", "-N2", "-w", "n[1-2]")
			until(t, "the job has its services", func() (bool, string) { n := w.allServices(); return n == 2*nics, fmt.Sprint(n) })
			w.mustRoot("scancel", job)
			w.clean()

			// Its time is over.
			job = w.batch(alice, "sleep 300", "-N1", "-t", "1")
			until(t, "the job has its services", func() (bool, string) { n := w.allServices(); return n == nics, fmt.Sprint(n) })
			w.mustRoot("scontrol", "update", "JobId="+job, "EndTime=now+1")
			w.awaitState(job, "TIMEOUT", "")
			w.clean()
			w.nothingDrained()
		})
	})
}

// TestRequeue: the next run of a job may begin while the Epilog of the one before still works, and Slurm shows that Epilog the next count.
func TestRequeue(t *testing.T) {
	t.Parallel()
	both(t, setup{hooks: map[string]string{"epilog": slow(true, false)}}, func(t *testing.T, w *site) {
		job := w.batch(alice, show+"\nsleep 300", "-N1", "--requeue", "--open-mode=append", "-o", w.path("out", "again"))
		var first []seen
		until(t, "the first run says what it sees", func() (bool, string) {
			first = read(t, tail(w.path("out", "again"), 1<<16))
			return len(first) == 1, ""
		})
		w.touch(w.path("slow"))
		w.mustRoot("scontrol", "requeue", job)
		until(t, "the job is back in the queue", func() (bool, string) { s := w.state(job); return s == "PENDING", s })
		var all []seen
		until(t, "the second run says what it sees", func() (bool, string) {
			all = read(t, tail(w.path("out", "again"), 1<<16))
			s := w.state(job)
			if s == "PENDING" {
				w.hurry(job)
			}
			return len(all) == 2, s
		})
		w.isolated(all[1])
		w.holds(all[1], alice.uid, 1)
		if all[0].VNIs == all[1].VNIs {
			t.Errorf("both runs have VNI %s", all[0].VNIs)
		}
		w.mustRoot("scancel", job)
		w.clean()
		w.nothingDrained()
	})
}

// TestHet: two components are one job. Slurm 22.05 places them on nodes of their own: it refuses to name one node for both, and waits for ever for a second
// node where there is one. Two on one node are a table in plugins/slurm.
func TestHet(t *testing.T) {
	t.Parallel()
	both(t, setup{}, func(t *testing.T, w *site) { w.het("-w", "n1", "-w", "n2") })
}

// het runs a job of two components, the first half of where for the one and the rest for the other.
func (w *site) het(where ...string) {
	w.t.Helper()
	one := append(append([]string{"srun", "-N1", "-n1"}, where[:len(where)/2]...), "sh", "-c", show, ":")
	two := append(append([]string{"-N1", "-n1"}, where[len(where)/2:]...), "sh", "-c", show)
	out, err := w.as(alice, append(one, two...)...)
	tasks := read(w.t, out)
	if err != nil || len(tasks) != 2 {
		w.t.Fatalf("%v\n%s", err, out)
	}
	for _, s := range tasks {
		w.isolated(s)
	}
	if tasks[0].VNIs != tasks[1].VNIs || tasks[0].Node == tasks[1].Node && tasks[0].IDs != tasks[1].IDs {
		w.t.Errorf("%+v: a job's components share its VNI, and on one node its services", tasks)
	}
	w.clean()
	w.nothingDrained()
}

// TestArray: each task is a job of its own.
func TestArray(t *testing.T) {
	t.Parallel()
	both(t, setup{}, func(t *testing.T, w *site) {
		w.batch(alice, show, "-N1", "-n1", "--array=1-20", "-o", w.path("out", "task-%a"))
		vnis := map[string]bool{}
		for i := 1; i <= 20; i++ {
			path := w.path("out", fmt.Sprint("task-", i))
			var tasks []seen
			until(t, fmt.Sprintf("task %d says what it sees", i), func() (bool, string) {
				tasks = read(t, tail(path, 1<<16))
				return len(tasks) == 1, tail(path, 1<<12)
			})
			w.isolated(tasks[0])
			vnis[tasks[0].VNIs] = true
		}
		if len(vnis) != 20 {
			t.Errorf("20 tasks had %d VNIs", len(vnis))
		}
		w.clean()
		w.nothingDrained()
	})
}

// TestShrink: a node that a job gives back is clean at once, and the job goes on.
func TestShrink(t *testing.T) {
	t.Parallel()
	both(t, setup{}, func(t *testing.T, w *site) {
		job := w.batch(alice, "srun sleep 300\nsleep 300", "-N2", "-w", "n[1-2]") // the step ends with its node
		until(t, "the job has its services", func() (bool, string) { n := w.allServices(); return n == 2*nics, fmt.Sprint(n) })
		w.mustRoot("scontrol", "update", "JobId="+job, "NodeList=n1")
		until(t, "n2 is clean", func() (bool, string) { n := len(w.services("n2")); return n == 0, fmt.Sprint(n) })
		if n := len(w.services("n1")); n != nics {
			t.Errorf("%d services on n1", n)
		}
		// A suspended job keeps them.
		w.mustRoot("scontrol", "suspend", job)
		w.awaitState(job, "SUSPENDED")
		quiet, cancel := context.WithTimeout(t.Context(), 3*time.Second) // longer than two answers of squeue are apart
		defer cancel()
		<-quiet.Done()
		if n := len(w.services("n1")); n != nics {
			t.Errorf("%d services of a suspended job", n)
		}
		w.mustRoot("scontrol", "resume", job)
		w.mustRoot("scancel", job)
		w.clean()
		w.nothingDrained()
	})
}

// TestGrow: a node that a running job is given. Without PrologFlags=Alloc its first step there runs Prolog, and it has the job's VNI; with Alloc Slurm 22.05
// runs none, and the task fails rather than run without isolation; Slurm 26.05 starts no task there, and drains the node.
func TestGrow(t *testing.T) {
	t.Parallel()
	// Both jobs have a license: slurmctld of 25.11 and 26.05 ends by SIGSEGV where one to be grown has none
	// (src/slurmctld/job_mgr.c, _valid_license_job_expansion, reads a list that is not there).
	s := setup{lines: []string{
		"SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,permit_job_expansion", "Licenses=any:9",
	}}
	both(t, s, func(t *testing.T, w *site) {
		gate, out := w.path("out", "gate"), w.path("out", "grow")
		script := "while [ ! -e " + gate + " ]; do sleep 0.1; done\n" + // what follows is of the job as it was
			"unset SLURM_NNODES SLURM_JOB_NUM_NODES SLURM_NODELIST SLURM_JOB_NODELIST SLURM_TASKS_PER_NODE SLURM_NTASKS SLURM_NPROCS\n" +
			"srun -N2 -n2 sh -c " + quoted(show) + "\necho THAT IS ALL\nsleep 300\n"
		job := w.batch(alice, script, "-N1", "--exclusive", "-w", "n1", "-L", "any", "-o", out)
		until(t, "the job has its services", func() (bool, string) { n := len(w.services("n1")); return n == nics, w.state(job) })
		w.mustAs(alice, "salloc", "--no-shell", "-J", "more", "-N1", "--exclusive", "-w", "n2", "-L", "any",
			"--dependency=expand:"+job)
		more := strings.TrimSpace(w.mustRoot("squeue", "-h", "-n", "more", "-o", "%i"))
		w.mustRoot("scontrol", "update", "JobId="+more, "NumNodes=0")
		until(t, "the job has both nodes", func() (bool, string) {
			said, _ := w.root("scontrol", "update", "JobId="+job, "NumNodes=ALL")
			nodes, _ := w.root("squeue", "-h", "-j", job, "-o", "%N")
			return strings.TrimSpace(nodes) == "n[1-2]", said + nodes
		})
		w.touch(gate)
		until(t, "its step is over", func() (bool, string) {
			text := tail(out, 1<<14)
			return strings.Contains(text, "THAT IS ALL"), text
		})
		text := tail(out, 1<<14)
		tasks := read(t, text)
		for _, s := range tasks {
			w.isolated(s)
			w.holds(s, alice.uid, cpus)
		}
		if strings.Contains(tail(w.path("log", "slurmd-n2.log"), 1<<14), "REQUEST_LAUNCH_PROLOG notification failed") {
			t.Skip("slurmd waits for a Prolog that slurmctld does not ask for, and slurmctld drains the node: " +
				"src/slurmd/slurmd/req.c, _wait_for_request_launch_prolog, 26.05")
		}
		switch {
		case w.alloc:
			if len(tasks) != 1 || tasks[0].Node != "n1" || !strings.Contains(text, "weft: environment of tioga/"+job) {
				t.Errorf("a task ran where no Prolog did: %s", text)
			}
		case len(tasks) != 2 || tasks[0].VNIs != tasks[1].VNIs:
			t.Errorf("a job on two nodes: %s", text)
		}
		w.mustRoot("scancel", job)
		w.clean()
		w.nothingDrained()
	})
}
