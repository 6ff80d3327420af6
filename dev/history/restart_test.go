package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// restart ends all services on a NIC or, by a reload of the driver, on every NIC. A NIC that is removed comes back with
// another name: the driver's counter only rises (cass_probe in cass_core.c, SHS 12.0 to 14.0.1).
func (b *box) restart(at int) {
	b.w.restarted = true
	if b.w.odds(500) {
		b.probe(at, b.names)
		b.names++
		b.nics[at].hidden = true
		b.w.say("%s: a NIC is removed, and will be %s", b.name, b.nics[at].name)
		return
	}
	b.w.say("%s: the driver is loaded again", b.name)
	for i := range b.nics {
		b.probe(i, i)
	}
	b.names = numNICs
}

// probe has the driver begin with a NIC.
func (b *box) probe(at, number int) {
	n := &b.nics[at]
	reads := slices.ContainsFunc(b.agent.ops, func(o *op) bool { return o.kind == looking })
	for _, o := range n.owned {
		b.w.law.removed(o)
		if e, ok := b.entry(o.run); ok && (reads || e.State == node.Ready) {
			b.struck[o.run] = true
		}
	}
	b.apps = slices.DeleteFunc(b.apps, func(a app) bool { return a.nic == at })
	b.probes++
	*n = nic{name: fmt.Sprintf("cxi%d", number), k: kernel.New(&kernel.R1401), probed: fmt.Sprint(b.probes)}
}

// hit reports whether a NIC of a job has restarted.
func (b *box) hit(job core.JobID) bool {
	for run := range b.struck {
		if run.JobID == job {
			return true
		}
	}
	return false
}

// accept has an administrator say that a node has lost the NICs that are off its bus, with all that they held.
func (w *world) accept(b *box) {
	for i := range b.nics {
		for _, o := range b.nics[i].owned {
			o.reported = o.reported && !b.nics[i].hidden
		}
	}
	w.srv.input(engine.Accept{Call: w.calls, Node: b.name})
}

// acceptAll has an administrator accept the NICs that nodes have now, since some have other names.
func (w *world) acceptAll() {
	for _, b := range w.boxes {
		w.calls++
		w.srv.input(engine.Accept{Call: w.calls, Node: b.name})
	}
	w.settle()
}

// unserved looks for jobs whose tasks would still begin without a service, though a NIC has restarted.
func (w *world) unserved() {
	if !w.restarted {
		return
	}
	w.pass(61 * time.Second)
	w.settle()
	for _, b := range w.boxes {
		for _, r := range b.records {
			e, ok := r.(node.Entry)
			if !ok || e.State != node.Ready || !b.env[e.Grant.Run] {
				continue
			}
			for i := range e.Services {
				if !b.shows(e.Services[i].Device, e.Services[i].ID) {
					w.fail("liveness: %s: tasks of %v begin, and service %s/%d is gone",
						b.name, e.Grant.Run, e.Services[i].Device, e.Services[i].ID)
				}
			}
		}
	}
}

func (b *box) shows(device string, id uint32) bool {
	for i := range b.nics {
		if b.nics[i].name == device && b.nics[i].find(id) != nil {
			return true
		}
	}
	return false
}
