package engine

import (
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// TestBlindFreesNothing: a job that the asker may not see is not gone. Earlier answers without it count no longer.
func TestBlindFreesNothing(t *testing.T) {
	w := newWorld(t, 100, "n1")
	j := job("7", "n1")
	w.granted("n1", j, app())
	blind := func(why string) {
		w.pass(time.Second)
		w.step(Answer{Scheduler: "slurm", Began: w.now.Uptime, Jobs: core.Jobs{Blind: why}})
	}
	miss := func() { w.pass(time.Second); w.complete() }
	for range 5 {
		blind("PrivateData=jobs")
		miss()
		w.want(j.Run, Active)
	}
	if got := w.m.Figures().Blind["slurm"]; got != "" {
		t.Errorf("blind after a complete answer: %q", got)
	}
	blind("PrivateData=jobs")
	if got := w.m.Figures().Blind["slurm"]; got != "PrivateData=jobs" {
		t.Errorf("blind: %q", got)
	}
	miss()
	miss()
	w.want(j.Run, Draining)
}
