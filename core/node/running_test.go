package node

import (
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
)

// list tells which jobs the scheduler has, at a time of CLOCK_BOOTTIME.
func (b *bench) list(at time.Duration, scheduler string, alive ...core.Key) core.Outcome {
	id := b.hook(core.Intent{Action: core.Running, Key: core.Key{JobID: core.JobID{Scheduler: scheduler}}, Alive: alive, Began: int64(at)}, 0)
	return b.replies[id]
}

// A job whose clean-up hook was lost goes when two lists in turn lack it; one list may have been made before the job came.
func TestLostCleanUp(t *testing.T) {
	b := newBench(1)
	next := core.VNI(4034)
	b.grant = func(r Reserve) (core.Grant, *core.Error) { next++; return grantOf(r, next), nil }
	b.prepare(job("7", 0), 1000, int64(time.Second))
	b.prepare(job("8", 0), 1000, int64(time.Second))
	other := core.Key{JobID: core.JobID{Scheduler: "pbs", Job: "7"}}
	b.prepare(other, 1000, int64(time.Second))
	for _, at := range []time.Duration{2 * time.Second, 30 * time.Second, 60 * time.Second} {
		if o := b.list(at, "slurm"); o.Err != nil || len(o.Warnings) > 0 {
			t.Errorf("a list that may be older than the job: %+v", o)
		}
	}
	b.wantPhases(t, Ready, Ready, Ready)
	b.list(70*time.Second, "slurm", job("8", 0))
	b.list(70*time.Second, "slurm", job("8", 0)) // the same once more is no second one
	b.wantPhases(t, Ready, Ready, Ready)
	b.list(80*time.Second, "slurm", job("7", 0)) // it was there after all, and 8 is not
	b.list(90*time.Second, "slurm", job("8", 0))
	b.wantPhases(t, Ready, Ready, Ready)
	o := b.list(100*time.Second, "slurm", job("8", 0))
	if o.Err != nil || len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0], "job 7: it is cleaned up") {
		t.Errorf("got %+v", o)
	}
	b.wantPhases(t, Clean, Ready, Ready)
	if n := len(b.ours()); n != 2 {
		t.Errorf("%d services are left, want those of two jobs", n)
	}
}

// What has no time covers nothing: the start of a MOM that may keep her jobs.
func TestListWithoutATime(t *testing.T) {
	b := newBench(1)
	b.prepare(job("7", 0), 1000, int64(time.Second))
	for range 3 {
		if o := b.list(0, "slurm"); o.Err != nil {
			t.Errorf("got %v", o.Err)
		}
	}
	b.wantPhases(t, Ready)
}
