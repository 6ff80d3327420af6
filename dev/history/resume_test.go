package history

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// A node that an administrator resumes before its NIC is mended is drained again by the next job that meets the fault, however soon that is; once it is
// mended it stays in service.
func TestANodeResumedTooEarlyIsDrainedAgain(t *testing.T) {
	for seed := range uint64(20) {
		w := newWorld(seed, nil)
		w.calm = true
		w.settle()
		b := w.boxes[0]
		nic := &b.nics[0]
		why := func() string { return slices.Collect(w.srv.m.Nodes(""))[0].Drained }
		job := func() {
			j := w.sched.Submit(1_800_000_000, firstUID, core.Request{})
			w.launch(w.sched.Start(j, []string{b.name}))
			w.settle()
			w.pass(time.Second)
			w.settle()
			w.launch(w.sched.End(j))
			w.settle()
		}
		resume := func() {
			w.srv.input(engine.SetDrain{Call: 1, Node: b.name})
			w.srv.flush()
			w.settle()
			if why() != "" {
				t.Fatalf("seed %d: resumed, and drained at once: %s", seed, why())
			}
		}
		nic.fault = true
		for range 3 {
			job()
			if !strings.Contains(why(), nic.name+" is at fault") {
				t.Fatalf("seed %d: a job met NIC %s at fault, and the node is not drained: %q", seed, nic.name, why())
			}
			resume()
		}
		nic.fault = false
		job()
		if why() != "" {
			t.Fatalf("seed %d: the NIC is mended, and the node drained: %s", seed, why())
		}
	}
}
