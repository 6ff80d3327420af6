package history

import (
	"maps"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/store/memory"
)

// endOfSession is the highest of hurt's numbers that end a session alone.
const endOfSession = 59

// hurt breaks something.
func (w *world) hurt() {
	b := w.boxes[w.rng.IntN(numNodes)]
	n := &b.nics[w.rng.IntN(numNICs)]
	p := w.rng.IntN(100)
	if *sessions && w.odds(900) {
		p = endOfSession
	}
	switch {
	case p < 15:
		if w.srv.up {
			w.say("server is killed")
			w.srv.crash()
		}
	case p < 30:
		w.say("%s: the agent is killed", b.name)
		b.crash()
	case p < 38:
		w.say("%s: reboots", b.name)
		b.off()
		b.power()
	case p < 42:
		w.say("%s: loses its power", b.name)
		b.off()
	case p < 50:
		w.say("%s: is cut from the network", b.name)
		b.cut = true
		if l := b.agent.link; l != nil {
			w.unlink(l)
		}
	case p <= endOfSession:
		if l := b.agent.link; l != nil {
			w.unlink(l)
		}
	case p < 62:
		w.say("%s: nothing reaches it", b.name)
		b.deaf = true
	case p < 66:
		if len(w.srv.sessions) > 0 && w.srv.up {
			w.detach(w.srv.sessions[w.rng.IntN(len(w.srv.sessions))])
		}
	case p < 72:
		w.say("%s: NIC %s leaves the bus", b.name, n.name)
		n.hidden = true
	case p < 78 && w.odds(300):
		b.blind()
	case p < 78 && w.odds(400):
		b.restart(w.rng.IntN(numNICs))
	case p < 78:
		w.say("%s: NIC %s is at fault", b.name, n.name)
		n.fault = true
	case p < 90:
		w.losePast()
	case p < 92:
		w.fork(b)
	case p < 94:
		w.hidden = firstUID + uint32(w.rng.IntN(2))
		w.say("complete answers lack the jobs of uid %d from now on", w.hidden)
	case p < 96:
		w.mass()
	case p < 98:
		w.copyHost()
	default:
		if w.srv.up {
			w.say("server is killed, and its scheduler's controller with it")
			w.srv.crash()
		}
	}
}

// blind lets no reading of b's NICs succeed: each call fails, or no reading has an answer.
func (b *box) blind() {
	if b.w.odds(500) {
		b.unread, b.failed = true, b.w.odds(500)
		b.w.say("%s: its NICs cannot be read; its plugin has failed: %v", b.name, b.failed)
	} else {
		b.w.say("%s: its driver hangs", b.name)
		b.hung = true
	}
}

// losePast is what goes wrong with a store while its server is down: it is deleted, an older copy is put back, or an export is imported.
func (w *world) losePast() {
	s := w.srv
	if s.up {
		s.crash()
	}
	if len(w.replies) > 0 && w.odds(500) { // what the lost store has granted arrives late, if at all
		b := w.replies[w.rng.IntN(len(w.replies))].b
		w.say("%s: nothing reaches it", b.name)
		b.deaf = true
	}
	witness := core.Head{}
	s.imported = nil
	switch p := w.rng.IntN(10); {
	case p < 2 || len(s.snaps) == 0:
		w.say("the store is deleted")
		s.stores++
		s.store, s.snaps, s.highest = memory.New(), nil, core.Head{}
		w.law.lost(nil, true)
	case p < 8:
		at := w.rng.IntN(len(s.snaps))
		old := s.snaps[at]
		known := true
		switch p := w.rng.IntN(10); {
		case p < 4:
			witness = s.highest
		case p < 7: // it is lost, too
		default: // it is put back with the store
			witness, known = old.Head(), false
		}
		w.say("the store is put back from %v to %v, and its witness says %v", s.highest, old.Head(), witness)
		s.store, s.line = old.Clone(), maps.Clone(s.lines[old])
		s.snaps = s.snaps[:at+1]
		if !known {
			s.highest = old.Head()
		}
		w.law.lost(s.store, known)
	default:
		at := w.rng.IntN(len(s.snaps))
		s.stores++
		old := s.snaps[at]
		w.say("an export of %v is imported into a new store", old.Head())
		s.store, s.snaps, s.highest = memory.New(), nil, core.Head{}
		s.imported = old
		w.law.lost(old, true)
	}
	s.start(witness)
}

// mass makes the scheduler forget everything without a word.
func (w *world) mass() {
	w.say("the scheduler's state is lost")
	w.sched.Rebuild()
}

// mend brings something back.
func (w *world) mend() {
	if !w.srv.up && w.odds(500) {
		witness := core.Head{}
		if w.odds(500) {
			witness = w.srv.highest
		}
		w.srv.start(witness)
		return
	}
	b := w.boxes[w.rng.IntN(numNodes)]
	switch {
	case w.hidden != 0 && w.odds(100):
		w.hidden = 0
	case !b.powered:
		b.power()
		w.say("%s: boots", b.name)
	case !b.agent.up:
		b.start()
	case b.cut || b.deaf:
		b.cut, b.deaf = false, false
	default:
		b.unread, b.failed, b.hung = false, false, false
		for i := range b.nics {
			b.nics[i].hidden, b.nics[i].fault = false, false
		}
	}
}

// plant makes, or removes, services that are not Weft's: the same owner with other VNIs, a job's VNI with another owner, a look-alike under another id.
func (w *world) plant() {
	b := w.boxes[w.rng.IntN(numNodes)]
	if !b.powered {
		return
	}
	n := &b.nics[w.rng.IntN(numNICs)]
	for _, o := range n.owned {
		if o.foreign && w.odds(500) {
			if sim.DestroyOn(&n.k, o.service) == nil {
				w.say("%s: the owner of %s/%d removes it", b.name, n.name, o.id)
				b.forget(n, o)
			}
			return
		}
	}
	spec := core.ServiceSpec{Device: n.name, Owner: core.UID(900), VNIs: []core.VNI{core.VNI(firstVNI + w.rng.IntN(12))}, Classes: core.BestEffort}
	switch w.rng.IntN(6) {
	case 4: // more than the node's unknown services may hold
		for i := range core.VNI(unknownVNIs) {
			spec.VNIs = append(spec.VNIs, firstVNI+i)
		}
		spec.VNIs[0] = firstVNI + unknownVNIs
	case 5:
		if b.name != dataServer {
			return
		}
		spec.VNIs = []core.VNI{firstServed, lastServed}
	case 0:
		spec.Owner = core.UID(firstUID)
		spec.VNIs[0] = core.VNI(5000 + w.rng.IntN(100))
	case 1:
		spec.Owner = core.Owner{Kind: core.OwnerGID, ID: firstUID}
	case 2:
		if len(n.owned) == 0 {
			return
		}
		o := n.owned[w.rng.IntN(len(n.owned))]
		e, ok := b.entry(o.run)
		if o.foreign || !ok || e.State != node.Ready {
			return
		}
		spec.VNIs = o.vnis
		if w.odds(500) {
			spec.Owner = core.UID(o.run.UID)
		}
	}
	if w.odds(300) { // a neighbour takes nearly all that the next job needs
		left := n.k.Capacity()[core.TXQ].Free
		left -= min(left, uint16(w.rng.IntN(10))) //nolint:gosec // below 10
		spec.Limits[core.TXQ] = core.Limit{Max: left, Reserved: left}
	}
	if n.k.Services()[len(n.k.Services())-1].ID > 12 {
		return
	}
	c := sim.CreateOn(&n.k, spec)
	if c.Err != nil || n.find(c.Service.ID) != nil {
		return
	}
	w.say("%s: somebody makes %s/%d with VNIs %v owner %v", b.name, n.name, c.Service.ID, spec.VNIs, spec.Owner)
	own := &owned{id: c.Service.ID, vnis: spec.VNIs, foreign: true, service: c.Service}
	own.system = w.odds(150) // any root can mark it so
	n.owned = append(n.owned, own)
	w.law.planted(b, own)
}

// operate is what administrators do.
func (w *world) operate() {
	if !w.srv.up {
		return
	}
	b := w.boxes[w.rng.IntN(numNodes)]
	w.calls++
	switch p := w.rng.IntN(100); {
	case p < 20:
		w.srv.input(engine.Forget{Call: w.calls, Vanished: true})
	case p < 30:
		jobs := w.sched.Jobs()
		if len(jobs) > 0 {
			j := jobs[w.rng.IntN(len(jobs))]
			w.say("an administrator forgets %v", j.JobID)
			w.srv.input(engine.Forget{Call: w.calls, Job: j.JobID})
		}
	case p < 50:
		reason := ""
		if w.odds(300) {
			reason = "maintenance"
		}
		if reason == "" && w.knows(b.name) { // he would take a copy for the node
			return
		}
		w.srv.input(engine.SetDrain{Call: w.calls, Node: b.name, Reason: reason})
	case p < 60:
		w.accept(b)
	case p < 65:
		if w.srv.m.Recovering() {
			w.say("an administrator goes on without %s", b.name)
			w.law.without(b)
			w.srv.input(engine.Recover{Call: w.calls, Without: []string{b.name}})
		}
	case p < 80:
		w.inScheduler(b.name)
	case !w.knows(b.name):
		w.srv.input(engine.SetDrain{Call: w.calls, Node: b.name})
	}
}
