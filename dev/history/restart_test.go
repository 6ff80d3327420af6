package history

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/dev/schedulertest"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// restart ends all services on a NIC or, by a reload of the driver, on every NIC. A NIC that is removed comes back with
// another name: the driver's counter only rises (cass_probe in cass_core.c, SHS 12.0 to 14.0.1).
func (b *box) restart(at int) {
	b.w.restarted = true
	defer b.tasks()
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

// tasks of the node's jobs are about to begin.
func (b *box) tasks() {
	if !b.agent.up {
		return
	}
	for _, e := range b.agent.m.Entries() {
		if e.State == node.Ready && b.w.odds(500) {
			h := schedulertest.Hook{Node: b.name, Action: core.Environment, Key: e.Key, UID: e.UID, Run: e.Grant.Run}
			b.w.hooks = append(b.w.hooks, &hook{Hook: h, b: b, caller: e.UID})
		}
	}
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
	*n = nic{name: fmt.Sprintf("cxi%d", number), k: kernel.New(&kernel.R1401), probed: b.probes}
}

// sign is zero for a NIC that is not there.
func (n *nic) sign() core.Sign {
	if n.hidden {
		return core.Sign{}
	}
	return core.Sign{Path: n.name, Inode: uint64(n.probed)}
}

// doubts reports whether a NIC of signs has restarted or is gone, as the agent and weft-hook see.
func (b *box) doubts(signs []core.Sign) bool {
	return slices.ContainsFunc(signs, func(s core.Sign) bool { return b.nic(s.Path).sign() != s })
}

// begin asks for a task's environment: the job's file first, then the agent.
func (b *box) begin(h *hook) (doubt bool) {
	h.probes = b.probes
	f, there := b.files[h.Key.JobID]
	if there && (h.caller == 0 || h.caller == f.Run.UID) && !b.doubts(f.Signs) {
		b.w.law.told(b, h, core.Outcome{Environment: f.Environment})
	}
	return b.doubts(b.agent.m.Signs())
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
