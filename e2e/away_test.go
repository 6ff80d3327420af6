package e2e

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weft-hpc/weft/dev/effort"
)

// restartPause is RestartSec of the agent's unit.
func restartPause(t testing.TB) time.Duration {
	t.Helper()
	text, err := os.ReadFile("../deploy/systemd/weft-agent.service")
	must(t, err)
	found := regexp.MustCompile(`(?m)^RestartSec=(.*)$`).FindSubmatch(text)
	if found == nil {
		t.Fatal("the agent's unit has no RestartSec")
	}
	d, err := time.ParseDuration(string(found[1]))
	must(t, err)
	return d
}

// pause lets time pass in which the test does nothing.
func pause(t testing.TB, d time.Duration) {
	t.Helper()
	over, cancel := context.WithTimeout(t.Context(), d)
	defer cancel()
	<-over.Done()
}

// TestAgentKilled: jobs that start and end while systemd waits before it starts a killed agent again notice nothing.
func TestAgentKilled(t *testing.T) {
	t.Parallel()
	both(t, setup{}, func(t *testing.T, w *site) {
		ends := w.batch(bob, "sleep 300", "-N2", "-n2")
		w.awaitState(ends, "RUNNING")
		w.procs[agentOf("n1")].kill()
		killed := time.Now()
		job := w.batch(alice, "srun sh -c "+quoted(show), "-N2", "-n2", "-w", "n[1-2]", "-o", w.path("out", "batch"))
		w.mustRoot("scancel", ends)
		type answer struct {
			text string
			err  error
		}
		interactive := make(chan answer, 1)
		go func() {
			out, err := w.as(bob, "srun", "-N2", "-n2", "sh", "-c", show)
			interactive <- answer{out, err}
		}()
		pause(t, restartPause(t)-time.Since(killed))
		w.startAgent("n1")
		until(t, "srun ends", func() (bool, string) {
			select {
			case a := <-interactive:
				if a.err != nil || len(read(t, a.text)) != 2 {
					t.Errorf("srun: %v\n%s", a.err, a.text)
				}
				return true, ""
			default:
				return false, w.mustRoot("sinfo", "-R")
			}
		})
		until(t, "the batch job's tasks say what they see", func() (bool, string) {
			text := tail(w.path("out", "batch"), 1<<14)
			return strings.Count(text, "VNIs") == 2, text + w.state(job)
		})
		for _, s := range read(t, tail(w.path("out", "batch"), 1<<14)) {
			w.isolated(s)
		}
		w.clean()
		w.nothingDrained()
	})
}

// TestAgentAway: Slurm drains a node whose agent is away or hangs. It tells why when that is back. Weft resumes it.
func TestAgentAway(t *testing.T) {
	t.Parallel()
	both(t, setup{}, func(t *testing.T, w *site) {
		agent, back := w.procs[agentOf("n1")], func() { w.startAgent("n1") }
		if w.alloc { // it hangs, and its session with the server goes on
			must(t, agent.cmd.Process.Signal(syscall.SIGSTOP))
			back = func() { must(t, agent.cmd.Process.Signal(syscall.SIGCONT)) }
		} else {
			agent.kill()
		}
		job := w.batch(alice, "echo RAN", "-N1", "-w", "n1", "-o", w.path("out", "away"))
		until(t, "Slurm drains n1", func() (bool, string) {
			state, reason := w.nodeState("n1")
			return strings.HasPrefix(state, "drain") && reason == "Prolog error", state + " " + reason
		})
		w.mustRoot("scontrol", "update", "NodeName=n2", "State=DRAIN", "Reason=Prolog error")
		w.mustRoot("scancel", job)
		back()
		if why := w.drained("n1"); !strings.Contains(why, "its agent did not answer: prolog of job "+job) {
			t.Errorf("the reason is %q", why)
		}
		if _, reason := w.nodeState("n2"); reason != "Prolog error" {
			t.Errorf("n2, which a person has drained, has the reason %q", reason)
		}
		until(t, "weft nodes tells it", func() (bool, string) {
			out, err := w.weft("nodes", "n1")
			return err == nil && strings.Contains(out, "its agent did not answer"), out
		})
		for _, n := range []string{"n1", "n2"} {
			out, err := w.weft("resume", n)
			t.Log(out, err)
		}
		w.inService("n1")
		if state, _ := w.nodeState("n2"); !strings.HasPrefix(state, "drain") {
			t.Errorf("n2, which a person has drained, is %s", state)
		}
		w.oneStep(bob, "n1", 1)
		w.clean()
	})
}

// TestSlowController: slurmctld stands still for 12 s while batch jobs start. Each of them runs in the end.
func TestSlowController(t *testing.T) {
	t.Parallel()
	effort.NeedNight(t)
	both(t, setup{lines: []string{"MinJobAge=300"}}, func(t *testing.T, w *site) {
		const jobs = 12
		var ids []string
		for i := range jobs {
			out := w.path("out", fmt.Sprint("slow-", i))
			ids = append(ids, w.batch(alice, show+"\necho RAN", "-N2", "-n2", "--requeue", "--open-mode=append", "-o", out))
		}
		controller := w.procs[theController].cmd.Process
		must(t, controller.Signal(syscall.SIGSTOP))
		pause(t, 12*time.Second)
		must(t, controller.Signal(syscall.SIGCONT))
		for i, id := range ids {
			w.runsAfterAll(id, w.path("out", fmt.Sprint("slow-", i)))
			if text := tail(w.path("out", fmt.Sprint("slow-", i)), 1<<14); strings.Contains(text, "server: no answer") {
				t.Errorf("job %s: %s", id, text)
			} else if strings.Contains(text, "weft: ") && !strings.Contains(text, "slurmctld") {
				t.Errorf("job %s is not told that slurmctld did not answer: %s", id, text)
			}
		}
		w.clean()
		if !w.alloc { // with it, slurmd drains the node of a job whose REQUEST_LAUNCH_PROLOG slurmctld did not send
			w.nothingDrained()
		}
	})
}
