package history

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// heal ends every fault and every job, and lets time pass until all is given back.
func (w *world) heal() {
	w.calm = true
	w.say("everything is healed, and every job ends")
	w.removeCopy()
	for _, b := range w.boxes {
		if !b.powered {
			b.power()
		}
		b.cut, b.deaf, b.unread, b.failed, b.hung = false, false, false, false, false
		for i := range b.nics {
			b.nics[i].hidden, b.nics[i].fault = false, false
		}
		for _, a := range b.apps {
			b.nics[a.nic].k.FreeLNI(a.lni)
		}
		b.apps = nil
		if !b.agent.up {
			b.start()
		}
	}
	if !w.srv.up {
		w.srv.start(w.srv.highest)
	}
	w.settle()
	w.pass(10 * time.Second) // a node whose NICs could not be read tries again
	w.settle()
	w.short()
	w.healSteps()
	w.unserved()
	if w.restarted {
		w.acceptAll()
	}
	if w.odds(200) {
		w.mute(w.boxes[w.rng.IntN(numNodes)])
	}
	for _, j := range w.sched.Jobs() {
		if j.State != core.JobFinal {
			w.end(j)
		}
	}
	if w.odds(300) {
		w.resumeOne()
	}
	if w.odds(400) { // no Epilog comes at all
		w.hooks = nil
	}
	if w.odds(600) {
		w.uproot()
	}
	for round := range 40 {
		w.step++
		w.settle()
		if w.restored() {
			w.check()
			return
		}
		w.writeOff()
		if w.restarted { // it was refused while two hosts had a certificate
			w.acceptAll()
		}
		if round == 10 { // what comes now is the same again and again
			w.trace = nil
		}
		w.pass(min(time.Duration(5+round*5)*time.Second, 2*time.Minute))
	}
	text := ""
	for v := range w.srv.m.Reservations(0) {
		for i := range v.Some {
			v.Some[i].Fit = nil // an address, which differs in the second run of a seed
		}
		text += fmt.Sprintf("\n  the server has %v: %v %q %v", v.Job.Run, v.State, v.Why, v.Some)
	}
	w.fail("liveness: not all came back: %s%s", w.left(), text)
}

// short looks whether the server knows why a job has less than it was granted, now that all nodes are there.
func (w *world) short() {
	for v := range w.srv.m.Reservations(0) {
		for _, n := range w.srv.m.NodesOf(v.Serial, 0, v.Joined) {
			at := slices.IndexFunc(w.boxes, func(b *box) bool { return b.name == n.Node })
			e, ok := w.boxes[at].entry(v.Job.Run)
			less := ok && e.State == node.Ready && slices.ContainsFunc(e.Services, func(s core.Service) bool {
				return s.Limits[core.TXQ].Reserved < e.Grant.Limits[core.TXQ].Reserved
			})
			if less && (n.Fit == nil || len(n.Fit.Warnings) == 0) {
				w.fail("liveness: %s has less of its NICs than %v was granted, and the server does not know", n.Node, v.Job.Run)
			}
		}
	}
}

// mute lets no NIC of b be read, from the start of its agent on or later. The server must learn why, without a job there,
// and the node must refuse a job at once.
func (w *world) mute(b *box) {
	later := w.odds(500)
	if !later {
		b.crash()
	}
	b.blind()
	if !later {
		b.start()
	}
	if b.failed {
		b.input(node.Reread{}) // as the daemon does
	} else {
		for range 16 {
			w.settle()
			w.pass(5 * time.Second)
		}
	}
	w.settle()
	for n := range w.srv.m.Nodes("") {
		if n.Name == b.name && (!n.Attached || n.Drained == "") {
			w.fail("liveness: %s cannot read its NICs, and the server does not know: %+v", b.name, n)
		}
	}
	ask := core.Intent{Action: core.Prepare, Key: core.Key{JobID: core.JobID{Scheduler: label, Job: "unread"}}, UID: firstUID}
	_, actions := b.agent.m.Step(b.moment(), node.Hook{Call: 1 << 62, Ask: ask, Until: b.moment().Uptime + time.Hour})
	if !slices.ContainsFunc(actions, func(a node.Action) bool {
		r, ok := a.(node.Reply)
		return ok && r.Outcome.Err != nil && strings.HasPrefix(r.Outcome.Err.What, core.UnreadPrefix)
	}) {
		w.fail("liveness: %s cannot read its NICs, and a job waits there: %v", b.name, actions)
	}
	b.unread, b.failed, b.hung = false, false, false
}

// settle lets everything that is under way come to its end.
func (w *world) settle() {
	w.ask()
	for range 400 {
		if !w.deliver() {
			return
		}
		w.now += time.Millisecond
	}
	w.fail("liveness: the system does not come to rest")
}

// uproot has the owners of foreign services remove them.
func (w *world) uproot() {
	for _, b := range w.boxes {
		for i := range b.nics {
			n := &b.nics[i]
			for at := len(n.owned) - 1; at >= 0; at-- {
				if o := n.owned[at]; o.foreign {
					if err := sim.DestroyOn(&n.k, o.service); err != nil {
						w.fail("the owner of %s/%d cannot remove it: %v", n.name, o.id, err)
					}
					b.forget(n, o)
				}
			}
		}
	}
}

// foreign reports whether a foreign service holds one of the VNIs on any node: then a reservation with it may stay.
func (w *world) foreign(vnis []engine.Taken) bool {
	for _, t := range vnis {
		for _, o := range w.law.on[t.VNI] {
			if o.foreign {
				return true
			}
		}
	}
	return false
}

// restored reports whether nothing is left but what foreign services hold.
func (w *world) restored() bool { return w.left() == "" }

func (w *world) left() string {
	if w.law.recovering {
		return "the store still recovers"
	}
	for _, key := range slices.Sorted(maps.Keys(w.law.held)) {
		if h := w.law.held[key]; !w.foreign(h.VNIs) {
			return "reservation " + h.Job.Run.String() + " is " + h.state.String()
		}
	}
	for n := range w.srv.m.Nodes("") {
		if strings.HasPrefix(n.Drained, core.UnreadPrefix) {
			return n.Name + " is drained though its NICs can be read: " + n.Drained
		}
	}
	if text := w.agree(); text != "" {
		return text
	}
	for _, b := range w.boxes {
		if len(b.agent.waits) > 0 {
			return "a hook waits on " + b.name
		}
		if text := w.bound(b); text != "" {
			return text
		}
		for i := range b.nics {
			n := &b.nics[i]
			for _, o := range n.owned {
				if !o.foreign && !w.shared(o) {
					return b.name + ": service " + o.service.Device + " of " + o.run.String()
				}
				for _, v := range o.vnis {
					if o.foreign && !crowded(b.strays()) && w.inPool(v) && len(w.law.holders[v]) == 0 {
						return fmt.Sprintf("R7: %s: VNI %d of the foreign service %s/%d is not held", b.name, v, n.name, o.id)
					}
				}
			}
		}
	}
	return ""
}

// strays are the foreign services on b.
func (b *box) strays() (all []core.Service) {
	for i := range b.nics {
		for _, o := range b.nics[i].owned {
			if o.foreign {
				all = append(all, o.service)
			}
		}
	}
	return all
}

// crowded reports whether the server may take services for more than a node's unknown ones may hold.
func crowded(services []core.Service) bool {
	n := 0
	for _, s := range services {
		n += len(s.VNIs)
	}
	return n > unknownVNIs
}

// bound sees that b's unknown services leave VNIs to the jobs of other nodes, and that b is out of service for it.
func (w *world) bound(b *box) string {
	n := 0
	for _, h := range w.law.held {
		if j, ok := h.joins[b.name]; ok && h.Unknown && !j.Clean {
			n += len(h.VNIs)
		}
	}
	if n > unknownVNIs {
		return fmt.Sprintf("the unknown services of %s hold %d VNIs", b.name, n)
	}
	huge := slices.ContainsFunc(b.strays(), func(s core.Service) bool { return len(s.VNIs) > unknownVNIs })
	for n := range w.srv.m.Nodes("") {
		if n.Name == b.name && (n.Drained == "" && huge || n.Trouble != "" && !crowded(b.strays())) {
			return fmt.Sprintf("%s is drained %q, and has the unknown services %v", b.name, n.Drained, b.strays())
		}
	}
	return ""
}

// shared reports whether a foreign service has a VNI of o.
func (w *world) shared(o *owned) bool {
	for _, v := range o.vnis {
		for _, other := range w.law.on[v] {
			if other.foreign {
				return true
			}
		}
	}
	return false
}

// check looks once more at what must be true when all is over: the driver's own services stand, foreign ones stand, and their VNIs are held.
func (w *world) check() {
	for _, b := range w.boxes {
		for i := range b.nics {
			n := &b.nics[i]
			for id := uint32(kernel.DefaultID); id <= 3; id++ {
				if _, err := n.k.Get(id); err != kernel.OK {
					w.fail("R7: %s: NIC %s: the driver's own service %d is gone", b.name, n.name, id)
				}
			}
			for _, o := range n.owned {
				if _, err := n.k.Get(o.id); err != kernel.OK {
					w.fail("R7: %s: NIC %s: service %d is gone", b.name, n.name, o.id)
				}
			}
		}
	}
}
