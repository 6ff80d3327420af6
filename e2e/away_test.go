package e2e

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
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
	both(t, setup{nodes: []string{"n1", "n2"}}, func(t *testing.T, w *site) {
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
		if a := <-interactive; a.err != nil || len(read(t, a.text)) != 2 {
			t.Errorf("srun: %v\n%s", a.err, a.text)
		}
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
