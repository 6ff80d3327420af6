package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestMoveOver: a job that runs when Weft comes goes on running its steps; jobs that run when Weft goes do, too.
func TestMoveOver(t *testing.T) {
	needSlurm(t)
	t.Parallel()
	w := newSite(t, setup{bare: true, alloc: true}) // without Alloc a node's Prolog would run for the old job, too
	gate := w.path("out", "gate")
	step := "srun sh -c " + quoted(show) + "\n"
	job := w.batch(alice, "echo BEFORE\nwhile [ ! -e "+gate+" ]; do sleep 0.1; done\n"+step, "-N2", "-w", "n[1-2]", "-o", w.path("out", "old"))
	until(t, "the old job runs", func() (bool, string) {
		text := tail(w.path("out", "old"), 1000)
		return strings.Contains(text, "BEFORE"), text
	})

	// Weft comes: the agents start anew, as on the day it is installed, and find the job; then slurm.conf names the hooks.
	for _, n := range w.nodes() {
		w.procs[agentOf(n)].stop()
		w.reboot(n)
		w.startAgent(n)
	}
	w.attached()
	w.rewrite(w.hookLines(w.dir)...)
	w.oneStep(bob, "n[3-4]", 2)
	w.touch(gate)
	w.awaitState(job, "COMPLETED", "FAILED", "")
	tasks := read(t, tail(w.path("out", "old"), 1<<14))
	if len(tasks) != 2 || tasks[0].VNIs != "" {
		t.Errorf("the old job's step: %+v\n%s", tasks, tail(w.path("out", "old"), 1<<14))
	}
	w.clean()

	// Weft goes while a job runs.
	gate += "2"
	job = w.batch(alice, "echo BEFORE\nwhile [ ! -e "+gate+" ]; do sleep 0.1; done\n"+step, "-N2", "-w", "n[1-2]", "-o", w.path("out", "last"))
	until(t, "the last job runs", func() (bool, string) {
		n := w.allServices()
		return n > 0 && strings.Contains(tail(w.path("out", "last"), 1000), "BEFORE"), fmt.Sprint(n)
	})
	w.rewrite()
	w.touch(gate)
	until(t, "the last job is over", func() (bool, string) { s := w.state(job); return s == "COMPLETED" || s == "", s })
	if tasks := read(t, tail(w.path("out", "last"), 1<<14)); len(tasks) != 2 {
		t.Errorf("the last job's step: %+v\n%s", tasks, tail(w.path("out", "last"), 1<<14))
	}
	w.clean() // by squeue's answer alone: no Epilog calls any more
	w.nothingDrained()
}

// rewrite puts other hooks in force, without a restart.
func (w *site) rewrite(lines ...string) {
	w.t.Helper()
	w.change(lines...)
	w.mustRoot("scontrol", "reconfigure")
	until(w.t, "every slurmd has read its configuration", func() (bool, string) {
		for _, n := range w.nodes() {
			if w.procs[n].over() {
				return false, n + " has ended"
			}
		}
		out, _ := w.root("scontrol", "show", "config")
		want := "Prolog                  = (null)"
		if len(lines) > 0 {
			want = "Prolog                  = " + w.path("hooks", "prolog")
		}
		return strings.Contains(out, want), out
	})
}
