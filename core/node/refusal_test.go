package node

import (
	"fmt"
	"testing"

	"github.com/weft-hpc/weft/core"
)

// reasonOf asks for a job's environment and gives why there is none.
func (b *bench) reasonOf(k core.Key, uid uint32) core.Reason {
	c := b.hook(core.Intent{Action: core.Environment, Key: k, UID: uid}, uid)
	if err := b.replies[c].Err; err != nil {
		return err.Reason
	}
	return ""
}

func TestTasksAreToldWhyTheirJobWasRefused(t *testing.T) {
	b := newBench(2)
	deny := core.Errorf(core.PolicyDenied, "job 7: no DEDICATED_ACCESS for you")
	b.grant = func(Reserve) (core.Grant, *core.Error) { return core.Grant{}, deny }
	if got := b.replies[b.prepare(job("7", 0), 1000, 10)].Err; got != deny {
		t.Fatalf("prepare: %v", got)
	}
	for uid, want := range map[uint32]core.Reason{1000: core.PolicyDenied, 0: core.PolicyDenied, 1001: core.NoRecord} {
		if got := b.reasonOf(job("7", 0), uid); got != want {
			t.Errorf("uid %d is told %q, want %q", uid, got, want)
		}
	}
	if len(b.ours()) != 0 {
		t.Error("services were made")
	}

	b.grant = func(r Reserve) (core.Grant, *core.Error) { return grantOf(r, 4034), nil }
	if got := b.replies[b.prepare(job("7", 0), 1000, 20)].Err; got != nil {
		t.Fatalf("the second prepare: %v", got)
	}
	if got := b.reasonOf(job("7", 0), 1000); got != "" {
		t.Errorf("after a prepare that went well: %q", got)
	}
	b.cleanUp(job("7", 0), 30)
	if got := b.reasonOf(job("7", 0), 1000); got != core.NoRecord {
		t.Errorf("after the job: %q", got)
	}
}

func TestRefusalsEndWithTheirJob(t *testing.T) {
	b := newBench(2)
	b.grant = func(Reserve) (core.Grant, *core.Error) {
		return core.Grant{}, core.Errorf(core.PoolEmpty, "pool jobs: it is empty")
	}
	b.prepare(job("7", 0), 1000, 10)
	if got := b.reasonOf(job("7", 0), 1000); got != core.PoolEmpty {
		t.Errorf("got %q", got)
	}
	b.cleanUp(job("7", 0), 20)
	if got := b.reasonOf(job("7", 0), 1000); got != core.NoRecord {
		t.Errorf("after an Epilog: %q", got)
	}
}

func TestRefusalsAreBounded(t *testing.T) {
	m, _, _ := New(Config{}, nil, core.Moment{})
	err := core.Errorf(core.PoolEmpty, "pool jobs: it is empty")
	name := func(i int) core.JobID { return core.JobID{Scheduler: "slurm", Job: fmt.Sprint(i)} }
	for i := range 2 * maxRefusals {
		m.refused(name(i), 1000, err)
		m.refused(name(i), 1000, err)
		if i%2 == 0 {
			m.refusals.drop(name(i))
			m.refusals.drop(name(i))
		}
	}
	for i := range 2 * maxRefusals {
		m.refused(name(i), 1000, err)
	}
	if len(m.refusals.of) != maxRefusals || len(m.refusals.order) != maxRefusals {
		t.Errorf("%d and %d are kept, want %d", len(m.refusals.of), len(m.refusals.order), maxRefusals)
	}
	m.refused(core.JobID{Scheduler: "slurm", Job: "a/b"}, 1000, err)
	if m.whyRefused(core.JobID{Scheduler: "slurm", Job: "a/b"}, core.Peer{}) != nil {
		t.Error("what is no job's id is kept")
	}
	if last := name(2*maxRefusals - 1); m.whyRefused(last, core.Peer{UID: 1000}) == nil || m.whyRefused(name(0), core.Peer{UID: 1000}) != nil {
		t.Error("not the newest are kept")
	}
}
