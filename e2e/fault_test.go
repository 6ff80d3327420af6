package e2e

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/dev/effort"
	"github.com/weft-hpc/weft/drivers/sim"
)

// fault lets something go wrong on a node's NICs.
func (w *site) fault(node string, f sim.Fault) {
	w.t.Helper()
	must(w.t, sim.At(w.path(node+".nic")).SetFault(w.t.Context(), f))
}

// drained waits until a node is out of service and returns why.
func (w *site) drained(node string) string {
	w.t.Helper()
	var why string
	until(w.t, node+" is drained", func() (bool, string) {
		state, reason := w.nodeState(node)
		why = reason
		return strings.HasPrefix(state, "drain") && strings.Contains(reason, "weft"), state + " " + reason
	})
	return why
}

// TestNICFails: the node goes out of service with a reason that a person can act on, the job starts elsewhere.
func TestNICFails(t *testing.T) {
	t.Parallel()
	both(t, setup{nodes: four}, func(t *testing.T, w *site) {
		w.fault("n1", sim.Fault{Kind: sim.Fail, Device: "cxi1", Call: sim.CallCreate, Nth: 1})
		job := w.batch(alice, show, "-N2", "-w", "n[1-2]", "--requeue", "-o", w.path("out", "nic"), "--open-mode=append")
		if !w.alloc { // n2 has no Prolog then
			defer w.mustRoot("scancel", job)
		}
		why := w.drained("n1")
		if !strings.Contains(why, "cxi1") {
			t.Errorf("the reason names no NIC: %s", why)
		}
		until(t, "job is requeued, and nothing is left of it", func() (bool, string) {
			s, n := w.state(job), w.allServices()
			return s == "PENDING" && n == 0, fmt.Sprint(s, n)
		})
		for _, n := range []string{"n2", "n3", "n4"} {
			if state, reason := w.nodeState(n); strings.HasPrefix(state, "drain") {
				t.Errorf("%s is %s: %s", n, state, reason)
			}
		}
		if text := tail(w.path("out", "nic"), 1<<14); strings.Contains(text, "VNIs") {
			t.Errorf("the job ran: %s", text)
		}
		w.mustRoot("scancel", job)
		w.clean()
	})
}

// epilogLimit is what Slurm gives the call in an Epilog. One whose service is busy is back after about 2 s; how soon is no test's matter on a loaded machine.
const epilogLimit = 10 * time.Second

// timed notes in the site's folder when the call of weft-hook begins and when it is over.
const timed = `date +%s.%N >>"$(dirname "$0")/../out/epilog"
{}
rc=$?
date +%s.%N >>"$(dirname "$0")/../out/epilog"
exit $rc`

// TestBusy: a service that an application still holds at the end.
func TestBusy(t *testing.T) {
	t.Parallel()
	both(t, setup{pool: "2000-2001", hooks: map[string]string{"epilog": timed}}, func(t *testing.T, w *site) {
		job := w.batch(alice, show+"\nsleep 300", "-N1", "-w", "n1", "-o", w.path("out", "busy"))
		var tasks []seen
		until(t, "the job says what it sees", func() (bool, string) {
			tasks = read(t, tail(w.path("out", "busy"), 1<<14))
			return len(tasks) == 1, ""
		})
		release := w.hold("n1", tasks[0])
		w.mustRoot("scancel", job)
		until(t, "the job is over for Slurm", func() (bool, string) { s := w.state(job); return s == "CANCELLED" || s == "", s })
		var took float64
		until(t, "its Epilog is over", func() (bool, string) {
			text := tail(w.path("out", "epilog"), 1000)
			at := strings.Fields(text)
			if len(at) != 2 {
				return false, text
			}
			began, err := strconv.ParseFloat(at[0], 64)
			must(t, err)
			ended, err := strconv.ParseFloat(at[1], 64)
			must(t, err)
			took = ended - began
			return true, ""
		})
		if took > epilogLimit.Seconds() {
			t.Errorf("its Epilog took %.1f s while the service is busy", took)
		}
		t.Logf("the Epilog of a busy service took %.1f s", took)
		if n := len(w.services("n1")); n == 0 {
			t.Error("the service is gone that an application holds")
		}
		// The VNI is not given again: of the two there is one, and a third job finds none.
		for range 2 {
			out, err := w.as(bob, "srun", "-N1", "-w", "n2", "sh", "-c", show)
			for _, s := range read(t, out) {
				if s.VNIs == tasks[0].VNIs {
					t.Errorf("VNI %s was given again while its service stood", s.VNIs)
				}
			}
			if err != nil {
				t.Logf("srun beside it: %s", out)
			}
		}
		until(t, "VNI "+tasks[0].VNIs+" is draining", func() (bool, string) {
			rows, err := w.rows()
			for _, r := range rows {
				if fmt.Sprint(r.VNI) == tasks[0].VNIs && r.State == "draining" {
					return true, ""
				}
			}
			return false, fmt.Sprint(rows, err)
		})
		release()
		w.clean()
		w.nothingDrained()
	})
}

// TestBusyForGood: a service that does not go within five minutes. Its node is drained, its VNI held; both end when it
// goes after all and root resumes the node. No setting shortens the five minutes, so a night waits for them; core/node
// and core/engine have tests of both ends of them, and TestNICFails and TestDrain of Weft's drains in Slurm.
func TestBusyForGood(t *testing.T) {
	t.Parallel()
	effort.NeedNight(t)
	both(t, setup{}, func(t *testing.T, w *site) {
		job := w.batch(alice, show+"\nsleep 300", "-N1", "-w", "n1", "-o", w.path("out", "busy"))
		var tasks []seen
		until(t, "the job says what it sees", func() (bool, string) {
			tasks = read(t, tail(w.path("out", "busy"), 1<<14))
			return len(tasks) == 1, ""
		})
		release := w.hold("n1", tasks[0])
		w.mustRoot("scancel", job)
		busy, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // the engine's own limit, which no setting shortens
		defer cancel()
		<-busy.Done()
		why := w.drained("n1")
		if !strings.HasPrefix(why, "weft: ") || !strings.Contains(why, tasks[0].VNIs) && !strings.Contains(why, job) {
			t.Errorf("the reason names neither the job nor its VNI: %s", why)
		}
		state := func() string {
			rows, err := w.rows()
			for _, r := range rows {
				if fmt.Sprint(r.VNI) == tasks[0].VNIs {
					return r.State
				}
			}
			return fmt.Sprint("free ", err)
		}
		until(t, "the VNI is held", func() (bool, string) { s := state(); return s == "held", s })
		w.unlike(w.oneStep(bob, "n2", 1), tasks)
		release()
		w.clean()
		if out, err := w.weft("resume", "n1"); err != nil {
			t.Errorf("weft resume: %v\n%s", err, out)
		}
		w.inService("n1")
		w.oneStep(bob, "n1", 1)
		w.clean()
	})
}

// hold is a simulated application that keeps a task's service on cxi0 in use until release.
func (w *site) hold(node string, s seen) (release func()) {
	w.t.Helper()
	id, _, _ := strings.Cut(s.IDs, ",")
	service, err := strconv.ParseUint(id, 10, 32)
	must(w.t, err)
	ctx, cancel := context.WithCancel(w.t.Context())
	w.t.Cleanup(cancel)
	opened, over := make(chan struct{}), make(chan error, 1)
	go func() {
		over <- sim.Hold(ctx, w.path(node+".nic"), "cxi0", uint32(service), alice.uid, func() { close(opened) })
	}()
	select {
	case <-opened:
	case err := <-over:
		w.t.Fatal(err)
	}
	return func() {
		w.t.Helper()
		cancel()
		must(w.t, <-over)
	}
}
