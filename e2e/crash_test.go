package e2e

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/dev/effort"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/server"
)

// steady starts a job on two nodes that stays, and returns what its tasks see.
func (w *site) steady(u user, name string, options ...string) (job string, tasks []seen) {
	w.t.Helper()
	out := w.path("out", name)
	job = w.batch(u, "srun sh -c "+quoted(show+"; sleep 300"), append([]string{"-N2", "-w", "n[1-2]", "-o", out}, options...)...)
	until(w.t, "job "+job+" says what it sees", func() (bool, string) {
		tasks = read(w.t, tail(out, 1<<14))
		return len(tasks) == 2, tail(out, 1<<12) + w.state(job)
	})
	return job, tasks
}

// unlike fails the test when a job was given a VNI that another has.
func (w *site) unlike(tasks []seen, other []seen) {
	w.t.Helper()
	for _, s := range tasks {
		if s.VNIs == other[0].VNIs {
			w.t.Errorf("VNI %s is given to %+v and to %+v", s.VNIs, s, other[0])
		}
	}
}

// keeps fails the test when a VNI is free.
func (w *site) keeps(vni string) {
	w.t.Helper()
	rows, err := w.rows()
	must(w.t, err)
	if !slices.ContainsFunc(rows, func(r server.VNIRow) bool { return fmt.Sprint(r.VNI) == vni }) {
		w.t.Errorf("VNI %s of a lost node is free: %+v", vni, rows)
	}
}

// oneStep runs a step on nodes and returns what its tasks see.
func (w *site) oneStep(u user, nodes string, n int) []seen {
	w.t.Helper()
	out, err := w.as(u, "srun", fmt.Sprint("-N", n), "-w", nodes, "sh", "-c", show)
	tasks := read(w.t, out)
	if err != nil || len(tasks) != n {
		w.t.Fatalf("srun: %v\n%s", err, out)
	}
	for _, s := range tasks {
		w.isolated(s)
	}
	return tasks
}

// TestNodeLost: slurmd and agent are killed at once. Slurm ends the job, and its VNI stays held until both are back and the node is clean.
func TestNodeLost(t *testing.T) {
	t.Parallel()
	both(t, setup{pool: "2000-2003", nodes: four}, func(t *testing.T, w *site) {
		job, tasks := w.steady(alice, "lost")
		w.procs["n2"].kill()
		w.procs[agentOf("n2")].kill()
		until(t, "Slurm has ended the job", func() (bool, string) {
			s := w.state(job)
			return s != "RUNNING" && s != "COMPLETING", s
		})
		w.mustRoot("scancel", job)
		until(t, "n1 is clean", func() (bool, string) { n := len(w.services("n1")); return n == 0, fmt.Sprint(n) })
		for range 4 { // the pool has four: each of the other three is given once, and one again
			until(t, "one of the VNIs has rested", func() (bool, string) {
				rows, err := w.rows()
				return err == nil && len(rows) < 4, fmt.Sprint(rows, err)
			})
			w.unlike(w.oneStep(bob, "n[3-4]", 2), tasks)
		}
		w.keeps(tasks[0].VNIs)
		if n := len(w.services("n2")); n != nics {
			t.Errorf("%d services on the lost node", n)
		}
		w.startAgent("n2")
		w.start("n2")
		w.attached()
		w.clean()
	})
}

// TestParts kills each part alone while a job runs; the job never notices, the next one starts, and all is clean at the end.
func TestParts(t *testing.T) {
	t.Parallel()
	parts := map[string]func(w *site){
		"slurmd": func(w *site) {
			w.procs["n2"].kill()
			w.start("n2")
		},
		"agent": func(w *site) {
			w.procs[agentOf("n2")].kill()
			w.startAgent("n2")
		},
		"driver": func(w *site) { w.killPlugin("n2", "driver") },
		"adapter": func(w *site) {
			w.killPlugin("n2", "scheduler")
			w.killServersPlugin("scheduler")
		},
		"slurmctld": func(w *site) {
			w.saved()
			w.procs[theController].kill()
			w.start(theController)
			until(w.t, "the controller answers", func() (bool, string) {
				out, err := w.root("squeue", "-h")
				return err == nil, out
			})
		},
		"server": func(w *site) {
			w.procs[theServer].kill()
			w.startServer()
		},
	}
	for name, crash := range parts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, setup{}, func(t *testing.T, w *site) {
				job, tasks := w.steady(alice, "steady")
				crash(w)
				w.attached()
				for _, s := range tasks {
					w.holds(s, alice.uid, 1)
				}
				var next []seen
				until(t, "a step of another job starts on the same nodes", func() (bool, string) {
					out, err := w.as(bob, "srun", "-N2", "-n2", "-w", "n[1-2]", "--immediate=20", "sh", "-c", show)
					next = read(t, out)
					return err == nil && len(next) == 2, out
				})
				w.unlike(next, tasks)
				w.mustRoot("scancel", job)
				w.clean()
				w.nothingDrained()
			})
		})
	}
}

// saved waits until the controller has written down the jobs of now: what it has not, it forgets when it is killed, whatever runs.
func (w *site) saved() {
	w.t.Helper()
	now := time.Now()
	for _, job := range strings.Fields(w.mustRoot("squeue", "-h", "-o", "%i")) { // it saves what has changed, and may have done so before now
		w.mustRoot("scontrol", "update", "JobId="+job, "AdminComment=is to be saved")
	}
	until(w.t, "the controller has saved its jobs", func() (bool, string) {
		at, err := os.Stat(w.path("state", "job_state"))
		return err == nil && at.ModTime().After(now), fmt.Sprint(err)
	})
}

// killPlugin ends a node's plugin process by SIGKILL and waits until there is another.
func (w *site) killPlugin(node, kind string) {
	w.t.Helper()
	w.killPluginOf(w.rundir(node).Socket(true), kind)
}

func (w *site) killServersPlugin(kind string) { w.t.Helper(); w.killPluginOf(w.socket(), kind) }

func (w *site) killPluginOf(socket, kind string) {
	w.t.Helper()
	find := func() (pid int, state string) {
		var rows []plugin.Row
		if err := hook.Call(w.t.Context(), socket, "plugins", nil, &rows); err != nil {
			return 0, err.Error()
		}
		for _, r := range rows {
			if r.Kind == kind {
				return r.PID, r.State
			}
		}
		return 0, fmt.Sprintf("none of %+v", rows)
	}
	pid, state := find()
	if pid == 0 {
		w.t.Fatalf("%s: no %s plugin: %s", socket, kind, state)
	}
	must(w.t, syscall.Kill(pid, syscall.SIGKILL))
	until(w.t, "the plugin is back", func() (bool, string) {
		again, state := find()
		return again != 0 && again != pid && state == "ready", state
	})
}

// TestServerAway: jobs end while the server is away for 15 s, and in a night for two minutes. Their nodes clean them,
// and all is accounted for when it is back.
func TestServerAway(t *testing.T) {
	t.Parallel()
	both(t, setup{nodes: four}, func(t *testing.T, w *site) {
		first, tasks := w.steady(alice, "first")
		second, _ := w.steady(bob, "second", "-O")
		w.procs[theServer].kill()
		long := 15 * time.Second
		if effort.Night() {
			long = 2 * time.Minute
		}
		away, cancel := context.WithTimeout(t.Context(), long)
		defer cancel()
		w.mustRoot("scancel", first)
		until(t, "the first job's nodes are clean without a server", func() (bool, string) { n := w.allServices(); return n == 2*nics, fmt.Sprint(n) })
		refused(w, "srun", "-N1", "-w", "n3", "echo", "RAN")
		<-away.Done()
		w.mustRoot("scancel", second)
		until(t, "the second job's nodes are clean without a server", func() (bool, string) { n := w.allServices(); return n == 0, fmt.Sprint(n) })
		w.startServer()
		w.attached()
		w.unlike(w.oneStep(bob, "n[3-4]", 2), tasks)
		w.clean()
		w.nothingDrained()
	})
}

// TestServerKilled kills the server again and again while jobs start and end: no VNI twice, none lost. The pool has fewer VNIs than there are jobs, so that
// some must be given again.
func TestServerKilled(t *testing.T) {
	t.Parallel()
	both(t, setup{pool: "2000-2019"}, func(t *testing.T, w *site) {
		const jobs = 30
		for i := range jobs {
			w.batch([]user{alice, bob}[i%2], "date +%s.%N\n"+show+"\nsleep 0.5\ndate +%s.%N\n", "-N1", "-n1", "--requeue", "--open-mode=append",
				"-o", w.path("out", fmt.Sprint("kill-", i)))
		}
		kills := 0
		until(t, "all jobs are over", func() (bool, string) {
			out, err := w.root("squeue", "-h", "-a", "-o", "%i %T %r %S")
			if err != nil {
				return false, out
			}
			if kills < 8 {
				w.procs[theServer].kill()
				w.startServer()
				kills++
				until(t, "the server answers", func() (bool, string) { _, err := w.status(); return err == nil, fmt.Sprint(err) })
			}
			for line := range strings.Lines(out) { // requeued since the server was away, or no VNI had rested
				if f := strings.Fields(line); len(f) > 2 && f[1] == "PENDING" {
					w.hurry(f[0])
				}
			}
			return strings.TrimSpace(out) == "", out
		})
		var all []spell
		told := 0 // the server was killed while it told Slurm to put the job back: its task does not run, and its user reads why
		for i := range jobs {
			said := tail(w.path("out", fmt.Sprint("kill-", i)), 1<<14)
			ran := spells(t, said)
			all = append(all, ran...)
			if len(ran) == 0 {
				t.Logf("job %d: %s", i+1, said)
				if strings.Contains(said, "weft: ") {
					told++
				}
			}
		}
		if len(all)+told < jobs || len(all) < jobs/2 {
			t.Errorf("of %d jobs %d had their time, and %d were told why not", jobs, len(all), told)
		}
		for i, a := range all {
			w.isolated(a.seen)
			for _, b := range all[:i] {
				if a.VNIs == b.VNIs && a.from < b.to && b.from < a.to {
					t.Errorf("VNI %s was two jobs' at once: %+v and %+v", a.VNIs, a, b)
				}
			}
		}
		w.clean()
		w.nothingDrained()
	})
}

// spell is the time that a job's shell ran, in seconds since 1970.
type spell struct {
	seen
	from, to float64
}

// spells finds them in the output of jobs: a time, what the shell saw, a time.
func spells(t testing.TB, text string) []spell {
	t.Helper()
	var all []spell
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		tasks := read(t, line)
		if len(tasks) != 1 || i == 0 || i+1 == len(lines) {
			continue
		}
		s := spell{seen: tasks[0]}
		var err error
		if s.from, err = strconv.ParseFloat(lines[i-1], 64); err != nil {
			continue
		}
		if s.to, err = strconv.ParseFloat(lines[i+1], 64); err == nil {
			all = append(all, s)
		}
	}
	return all
}
