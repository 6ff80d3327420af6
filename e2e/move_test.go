package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/agent"
)

// TestMoveOver: a job that runs when Weft comes goes on running its steps; jobs that run when Weft goes do, too. Without PrologFlags=Alloc the old job's step is
// what runs Prolog on the second of its nodes.
func TestMoveOver(t *testing.T) {
	t.Parallel()
	both(t, setup{bare: true, nodes: four}, func(t *testing.T, w *site) {
		job, gate := w.waiting("old")
		w.settled()

		// Weft comes: the agents start anew, as on the day it is installed, and are told of the job; then slurm.conf names the hooks.
		for _, n := range w.nodes() {
			w.newAgent(n)
		}
		w.attached()
		w.toldAll()
		w.rewrite(true)
		w.oneStep(bob, "n[3-4]", 2)
		w.touch(gate)
		w.plain(job, "old")

		// Weft goes while a job runs.
		job, gate = w.waiting("last")
		until(t, "the last job has its services", func() (bool, string) { n := w.allServices(); return n > 0, fmt.Sprint(n) })
		w.rewrite(false)
		w.touch(gate)
		until(t, "the last job is over", func() (bool, string) { s := w.state(job); return s == "COMPLETED" || s == "", s })
		if tasks := read(t, tail(w.path("out", "last"), 1<<14)); len(tasks) != 2 {
			t.Errorf("the last job's step: %+v\n%s", tasks, tail(w.path("out", "last"), 1<<14))
		}
		w.clean() // by squeue's answer alone: no Epilog calls any more
		w.nothingDrained()
	})
}

// TestMoveOverWithoutServer: the agents start before the server, and are killed; when it comes they are told of the job all the same.
func TestMoveOverWithoutServer(t *testing.T) {
	needSlurm(t)
	t.Parallel()
	w := newSite(t, setup{bare: true})
	job, gate := w.waiting("old")
	w.settled()
	w.procs[theServer].stop()
	for _, n := range w.nodes() {
		w.newAgent(n)
		until(t, "the agent of "+n+" has begun", func() (bool, string) {
			_, err := os.Stat(w.path(n, "start.json"))
			return err == nil, fmt.Sprint(err)
		})
		w.procs[agentOf(n)].kill()
		w.startAgent(n)
	}
	w.serve()
	w.attached()
	w.toldAll()
	w.rewrite(true)
	w.touch(gate)
	w.plain(job, "old")
	w.oneStep(bob, "n[1-2]", 2)
	w.clean()
	w.nothingDrained()
}

// waiting starts a job on two nodes that runs a step once its gate is there.
func (w *site) waiting(name string) (job, gate string) {
	w.t.Helper()
	gate = w.path("out", name+".gate")
	script := "echo BEFORE\nwhile [ ! -e " + gate + " ]; do sleep 0.1; done\nsrun sh -c " + quoted(show) + "\n"
	job = w.batch(alice, script, "-N2", "-w", "n[1-2]", "-o", w.path("out", name))
	until(w.t, "the job runs", func() (bool, string) {
		text := tail(w.path("out", name), 1000)
		return strings.Contains(text, "BEFORE"), text
	})
	return job, gate
}

// settled waits until the jobs of now are older than the agents. Without Alloc it waits until they are so old that a
// Prolog which still comes for one is a later step's. That cannot be had sooner: the agent asks Slurm since when a job
// runs.
func (w *site) settled() {
	w.t.Helper()
	age := 2 * time.Second // Slurm tells whole seconds
	if !w.alloc {
		age += agent.Settling
	}
	pause(w.t, age)
}

// plain waits for the end of a job and fails the test unless the tasks of its step ran without a VNI.
func (w *site) plain(job, name string) {
	w.t.Helper()
	w.awaitState(job, "COMPLETED", "FAILED", "")
	tasks := read(w.t, tail(w.path("out", name), 1<<14))
	if len(tasks) != 2 || tasks[0].VNIs != "" || tasks[1].VNIs != "" {
		w.t.Errorf("the job's step: %+v\n%s", tasks, tail(w.path("out", name), 1<<14))
	}
	w.clean()
}

// newAgent starts a node's agent as on the day on which it is installed.
func (w *site) newAgent(node string) {
	w.t.Helper()
	w.procs[agentOf(node)].stop()
	w.reboot(node)
	w.startAgent(node)
}

// toldAll waits until every agent has been told which jobs run on its node.
func (w *site) toldAll() {
	w.t.Helper()
	for _, n := range w.nodes() {
		until(w.t, "the agent of "+n+" has been told", func() (bool, string) {
			_, err := os.Stat(w.path(n, "boot"))
			return err == nil, tail(w.path(agentOf(n)+".log"), 2000)
		})
	}
}

// rewrite puts Weft's hooks into slurm.conf or takes them out, without a restart.
func (w *site) rewrite(with bool) {
	w.t.Helper()
	if w.written = nil; with {
		w.written = w.install
		w.change(w.hookLines()...)
	} else {
		w.change()
	}
	w.mustRoot("scontrol", "reconfigure")
	until(w.t, "every slurmd has read its configuration", func() (bool, string) {
		for _, n := range w.nodes() {
			if w.procs[n].over() {
				return false, n + " has ended"
			}
		}
		out, _ := w.root("scontrol", "show", "config")
		return strings.Contains(out, w.path("hooks", "prolog")) == with, out
	})
}
