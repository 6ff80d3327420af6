package node

import (
	"testing"

	"github.com/weft-hpc/weft/core"
)

// A node answers what it reads: a process of the run's user with its VNIs, or a service of it in use. It denies nothing
// after a failed reading.
func TestVouch(t *testing.T) {
	own := Process{UID: 1000, VNIs: "4035"}
	unread := core.Errorf(core.NICFailed, "unread")
	for _, tt := range []struct {
		name string
		in   Witnessed
		used bool
		want core.Life
	}{
		{"a process", Witnessed{Processes: []Process{{UID: 1000, VNIs: "9"}, own}}, false, core.LifeSeen},
		{"a process, and the NICs are not read", Witnessed{Processes: []Process{own}, Err: unread}, false, core.LifeSeen},
		{"another user's process", Witnessed{Processes: []Process{{UID: 1001, VNIs: "4035"}}}, false, core.LifeNone},
		{"a process of another job", Witnessed{Processes: []Process{{UID: 1000, VNIs: "4036"}}}, false, core.LifeNone},
		{"an application", Witnessed{}, true, core.LifeSeen},
		{"nothing", Witnessed{}, false, core.LifeNone},
		{"nothing read", Witnessed{Err: unread}, false, core.LifeUnsaid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(1)
			b.grant = func(r Reserve) (core.Grant, *core.Error) { return grantOf(r, 4035), nil }
			b.step(Linked{Up: true})
			b.prepare(job("7", 0), 1000, 1)
			r := b.m.runs[0]
			services := append([]core.Service(nil), r.Services...)
			if tt.used {
				services[0].InUse[core.TXQ] = 1
			}
			tt.in.Services = services
			other := r.Grant.Run
			other.UID++ // a run that the node does not know is no question
			witness := b.orderVouch(r.Grant.Run, other)
			if len(witness.UIDs) != 1 || witness.UIDs[0] != 1000 {
				t.Fatalf("it looks for %+v", witness)
			}
			stale := tt.in
			stale.Attempt = witness.Attempt - 1
			if got := b.lives(stale); got != nil {
				t.Fatalf("an answer to another question is told: %v", got)
			}
			tt.in.Attempt = witness.Attempt
			if got := b.lives(tt.in); len(got) != 1 || got[0] != tt.want {
				t.Errorf("told %v, want %v", got, tt.want)
			}
		})
	}
}

// orderVouch asks for runs and gives the reading that is to answer.
func (b *bench) orderVouch(runs ...core.Run) Witness {
	b.step(Ordered{core.Orders{Vouch: runs}})
	w := all[Witness](b)
	return w[len(w)-1]
}

// lives gives the reports that follow a reading.
func (b *bench) lives(in Witnessed) (told []core.Life) {
	before := count[Tell](b)
	b.step(in)
	for _, t := range all[Tell](b)[before:] {
		for _, h := range t.Report.Held {
			told = append(told, h.Life)
		}
	}
	return told
}

// One reading at a time answers: a question that comes meanwhile is answered by the next.
func TestVouchOneAtATime(t *testing.T) {
	b := newBench(1)
	b.step(Linked{Up: true})
	b.prepare(job("7", 0), 1000, 1)
	run := b.m.runs[0].Grant.Run
	first := b.orderVouch(run)
	b.orderVouch(run)
	if n := count[Witness](b); n != 1 {
		t.Fatalf("%d readings at once", n)
	}
	if got := b.lives(Witnessed{Attempt: first.Attempt}); len(got) != 1 || got[0] != core.LifeNone {
		t.Errorf("told %v", got)
	}
	if n := count[Witness](b); n != 2 {
		t.Errorf("%d readings for two questions", n)
	}
}
