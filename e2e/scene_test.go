package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/dev/effort"
)

// sceneLines is the slurm.conf of a site that preempts jobs in each way that Slurm has.
var sceneLines = []string{
	"PreemptType=preempt/partition_prio", "PreemptMode=SUSPEND,GANG",
	"PartitionName=requeue Nodes=ALL PriorityTier=1 PreemptMode=REQUEUE",
	"PartitionName=cancel Nodes=ALL PriorityTier=1 PreemptMode=CANCEL",
	"PartitionName=suspend Nodes=ALL PriorityTier=1 PreemptMode=SUSPEND OverSubscribe=FORCE:1",
	"PartitionName=high Nodes=ALL PriorityTier=10 PreemptMode=OFF OverSubscribe=FORCE:1",
	"MaxTasksPerNode=2000", "LaunchParameters=use_interactive_step",
	`InteractiveStepOptions="--interactive --preserve-env /bin/sh"`,
}

// TestScenes tries what sites do other than plain jobs, by SPANK and by hooks. docs/slurm.md has a table of it.
func TestScenes(t *testing.T) {
	needSlurm(t)
	effort.NeedNight(t)
	t.Parallel()
	scenes := map[string]func(t *testing.T, w *site){
		"preempted and put back": preemptedAndPutBack, "preempted and cancelled": preemptedAndCancelled,
		"preempted and suspended": preemptedAndSuspended, "reservation": reserved, "a step from outside": fromOutside,
		"an interactive step": interactive, "sbcast": broadcast, "many tasks": manyTasks,
		"a lost node": lostAndPutBack,
	}
	for _, spank := range []bool{true, false} {
		t.Run(fmt.Sprintf("spank=%v", spank), func(t *testing.T) {
			t.Parallel()
			w := newSite(t, setup{nodes: four, spank: spank, alloc: !spank, lines: sceneLines,
				policy: "deny \"a closed reservation\" {\n" +
					"  when    = job.reservation == \"closed\"\n  message = \"this reservation is closed\"\n}\n"})
			for name, try := range scenes {
				t.Run(name, func(t *testing.T) {
					defer func(was testing.TB) { w.t = was }(w.t)
					w.t = t
					try(t, w)
					w.clean()
					w.nothingDrained()
				})
			}
		})
	}
}

// sleeper starts a job that takes all of n1, and returns what its script sees.
func (w *site) sleeper(name string, options ...string) (job, out string, first seen) {
	w.t.Helper()
	out = w.path("out", name)
	options = append(options, "-N1", "--exclusive", "-w", "n1", "--open-mode=append", "-o", out)
	job = w.batch(alice, show+"\nsleep 300", options...)
	var all []seen
	until(w.t, "job "+job+" says what it sees", func() (bool, string) {
		all = read(w.t, tail(out, 1<<14))
		return len(all) == 1, tail(out, 1<<12) + w.state(job)
	})
	w.isolated(all[0])
	return job, out, all[0]
}

// preempts runs a job of another user on n1 that takes the place of one that runs there.
func (w *site) preempts(first seen) {
	w.t.Helper()
	out, err := w.as(bob, "srun", "-p", "high", "-N1", "--exclusive", "-w", "n1", "sh", "-c", show)
	all := read(w.t, out)
	if err != nil || len(all) != 1 {
		w.t.Fatalf("the job that preempts: %v\n%s", err, out)
	}
	w.isolated(all[0])
	w.unlike(all, []seen{first})
}

func preemptedAndPutBack(t *testing.T, w *site) {
	job, out, first := w.sleeper("put-back", "-p", "requeue", "--requeue")
	w.preempts(first)
	var all []seen
	until(t, "it runs again", func() (bool, string) {
		if w.state(job) == "PENDING" {
			w.hurry(job)
		}
		all = read(t, tail(out, 1<<14))
		return len(all) == 2, tail(out, 1<<12) + w.state(job)
	})
	w.isolated(all[1])
	w.unlike(all[1:], all)
	w.mustRoot("scancel", job)
}

func preemptedAndCancelled(_ *testing.T, w *site) {
	job, _, first := w.sleeper("cancelled", "-p", "cancel")
	w.preempts(first)
	w.awaitState(job, "PREEMPTED", "CANCELLED", "")
}

func preemptedAndSuspended(t *testing.T, w *site) {
	job, _, first := w.sleeper("suspended", "-p", "suspend")
	w.preempts(first)
	w.awaitState(job, "RUNNING") // again
	if n := len(w.services("n1")); n < nics {
		t.Errorf("%d services on n1: a suspended job keeps them", n)
	}
	w.mustRoot("scancel", job)
}

// lostAndPutBack: Slurm runs a job again whose node is lost, and it has another VNI while that node is away.
func lostAndPutBack(t *testing.T, w *site) {
	out := w.path("out", "lost")
	job := w.batch(alice, show+"\nsleep 300", "-N1", "--exclusive", "--requeue", "--open-mode=append", "-o", out)
	var all []seen
	runs := func(times int) {
		t.Helper()
		until(t, fmt.Sprintf("it has begun %d times", times), func() (bool, string) {
			if w.state(job) == "PENDING" {
				w.hurry(job)
			}
			all = read(t, tail(out, 1<<14))
			return len(all) == times, tail(out, 1<<12) + w.state(job)
		})
		w.isolated(all[times-1])
	}
	runs(1)
	node := all[0].Node
	w.procs[node].kill()
	w.procs[agentOf(node)].kill()
	runs(2)
	if w.unlike(all[1:], all); all[1].Node == node || len(w.services(node)) != nics {
		t.Errorf("%+v: its first node is lost, and has %d services", all, len(w.services(node)))
	}
	w.keeps(all[0].VNIs)
	w.startAgent(node)
	w.start(node)
	w.attached()
	until(t, "the lost node is clean", func() (bool, string) { n := len(w.services(node)); return n == 0, fmt.Sprint(n) })
	w.mustRoot("scancel", job)
	w.inService(node)
}

// reserved: a job in a reservation is served as any other, and policy sees which reservation it is.
func reserved(t *testing.T, w *site) {
	for _, name := range []string{"open", "closed"} {
		w.mustRoot("scontrol", "create", "reservation", "ReservationName="+name, "StartTime=now", "Duration=10",
			"Users="+alice.name, "Nodes=n2", "Flags=OVERLAP")
		out, err := w.as(alice, "srun", "-N1", "--reservation="+name, "sh", "-c", show)
		all := read(t, out)
		switch refused := strings.Contains(out, "this reservation is closed"); {
		case name == "open" && (err != nil || len(all) != 1 || all[0].VNIs == ""):
			t.Errorf("reservation %s: %v\n%s", name, err, out)
		case name == "closed" && (len(all) != 0 || !refused):
			t.Errorf("reservation %s: %v\n%s", name, err, out)
		}
		until(t, "the reservation ends", func() (bool, string) {
			out, err := w.root("scontrol", "delete", "ReservationName="+name)
			return err == nil, out
		})
	}
}

// fromOutside: its owner adds a step to a job from a login host.
func fromOutside(t *testing.T, w *site) {
	job, _, first := w.sleeper("outside")
	out, err := w.as(alice, "srun", "--jobid="+job, "--overlap", "-N1", "-n1", "sh", "-c", show)
	all := read(t, out)
	if err != nil || len(all) != 1 || all[0].VNIs != first.VNIs || all[0].IDs != first.IDs {
		t.Errorf("%v: %+v, and its script has %+v\n%s", err, all, first, out)
	}
	out, err = w.as(bob, "srun", "--jobid="+job, "--overlap", "-N1", "-n1", "sh", "-c", show)
	if err == nil || strings.Contains(out, "VNIs") {
		t.Errorf("another user's step: %v\n%s", err, out)
	}
	w.mustRoot("scancel", job)
}

// interactive: salloc's shell runs on the node, as a step, and starts others.
func interactive(t *testing.T, w *site) {
	commands := w.path("out", "commands")
	must(t, os.WriteFile(commands, []byte(show+"\nsrun -N2 -n2 --overlap sh -c "+quoted(show)+"\n"), 0o644))
	out, err := w.as(alice, "sh", "-c", "salloc -N2 -n2 <"+commands)
	all := read(t, out)
	if err != nil || len(all) != 3 {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, s := range all {
		w.isolated(s)
		if s.VNIs != all[0].VNIs {
			t.Errorf("%+v: one job has one VNI, as %+v", s, all[0])
		}
	}
}

// broadcast: sbcast copies a file to a job's nodes before a step runs it.
func broadcast(t *testing.T, w *site) {
	program, out := w.path("out", "program"), w.path("out", "broadcast")
	must(t, os.WriteFile(program, []byte("#!/bin/sh\n"+show+"\n"), 0o755))
	w.batch(alice, "sbcast -f "+program+" "+program+".copy && srun "+program+".copy\necho OVER\n", "-N2", "-o", out)
	all := read(t, w.output(out))
	if len(all) != 2 {
		t.Fatalf("%d tasks:\n%s", len(all), tail(out, 1<<12))
	}
	for _, s := range all {
		w.isolated(s)
	}
}

// manyTasks: every task of a step has the job's variables.
func manyTasks(t *testing.T, w *site) {
	const n = 400
	out, err := w.as(alice, "srun", "-N4", "-O", "-n", fmt.Sprint(n), "sh", "-c",
		`echo "has $SLINGSHOT_VNIS at $SLINGSHOT_SVC_IDS"`)
	seen := map[string]int{}
	for line := range strings.Lines(out) {
		seen[strings.TrimSpace(line)]++
	}
	total := 0
	for line, times := range seen {
		if strings.HasPrefix(line, "has 2") {
			total += times
		}
	}
	if err != nil || total != n || len(seen) > 4 {
		t.Errorf("%v: of %d tasks %d have the variables; lines with their counts:\n%.2000s", err, n, total, fmt.Sprint(seen))
	}
}
