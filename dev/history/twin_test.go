package history

import (
	"fmt"
	"maps"
	"slices"

	"github.com/weft-hpc/weft/core/engine"
)

// copyHost starts a copy of a node's host under the node's name, or does something to the copy that there is.
func (w *world) copyHost() {
	if len(w.boxes) > numNodes {
		c := w.boxes[numNodes]
		switch p := w.rng.IntN(10); {
		case p < 4:
			w.removeCopy()
		case p < 7:
			w.say("%s: the agent is killed", c.host())
			c.crash()
			c.start()
		case c.boot != c.of.boot:
			w.say("%s: reboots", c.host())
			c.off()
			w.bootCopy(c)
		}
		return
	}
	of := w.boxes[w.rng.IntN(numNodes)]
	if w.half != "" && w.odds(700) {
		of = w.boxes[w.half[1]-'1']
	}
	c := &box{w: w, name: of.name, of: of, hardware: of.hardware}
	if w.odds(500) {
		c.hardware = "other"
	}
	w.boxes = append(w.boxes, c)
	w.bootCopy(c)
}

// bootCopy boots a copy. It may have the boot id of its original.
func (w *world) bootCopy(c *box) {
	c.power()
	w.copies[c.name]++
	if c.boot = fmt.Sprintf("%s-copy%d", c.name, w.copies[c.name]); c.boots == 1 && w.odds(300) {
		c.boot = c.of.boot
	}
	c.start()
	w.say("%s: a copy of it boots as %s", c.name, c.boot)
}

// removeCopy ends the copy that there is.
func (w *world) removeCopy() {
	if len(w.boxes) == numNodes {
		return
	}
	c := w.boxes[numNodes]
	w.say("%s: its copy is removed", c.name)
	c.off()
	w.boxes = w.boxes[:numNodes]
}

// at is the host that a node's hook runs on.
func (w *world) at(name string) *box {
	if c := w.boxes[len(w.boxes)-1]; c.of != nil && c.name == name && w.odds(300) {
		return c
	}
	return w.boxes[name[1]-'1']
}

// host is an agent's process on its host.
func (b *box) host() engine.Host {
	from := b.name
	if b.of != nil {
		from += "'"
	}
	return engine.Host{From: from, Boot: b.boot, Agent: fmt.Sprintf("%s/%d/%d", from, b.boots, b.agent.proc)}
}

// admit asks the session that b's node has on another host whether that host lives. It reports whether b's begins.
func (w *world) admit(b *box) bool {
	for _, l := range slices.Clone(w.srv.sessions) {
		switch other := l.b; {
		case other.name != b.name || other == b:
		case l.agentUp && other.agent.link == l && !other.deaf:
			w.say("%s: a second host asks for a session: %v beside %v", b.name, b.host(), other.host())
			w.law.twins[b.name] = w.now
			w.srv.input(engine.TwoHosts{Node: b.name, Here: other.host(), There: b.host()})
			return false
		case !w.tells(b):
			return false
		default:
			w.detach(l)
		}
	}
	return w.srv.up && w.tells(b)
}

// tells reports whether the server tells b from the host that b is a copy of. Another copy would be taken for a reboot,
// see docs/states.md.
func (w *world) tells(b *box) bool {
	if b.of == nil || w.knows(b.name) {
		return true
	}
	for n := range w.srv.m.Nodes("") {
		if n.Name == b.name {
			return n.Hardware == b.of.hardware && n.Hardware != b.hardware
		}
	}
	return false
}

// knows reports whether the server knows of two hosts with the certificate of a node.
func (w *world) knows(name string) bool { return slices.Contains(w.srv.m.Figures().Twins, name) }

// recordTwin judges that two hosts have the certificate of a node, or have it no longer.
func (l *law) recordTwin(n engine.Node) {
	is := !n.Twin.Since.IsZero()
	if was := l.paired[n.Name]; was && !is && l.w.now-l.twins[n.Name] < engine.DefaultRules.Away {
		l.w.fail("R2: %s has one host again, %v after the second one came", n.Name, l.w.now-l.twins[n.Name])
	}
	l.paired[n.Name] = is
}

// writeOff is an administrator's word: removed copies hold nothing, and the host in contact is the node.
func (w *world) writeOff() {
	for _, serial := range slices.Sorted(maps.Keys(w.law.held)) {
		h := w.law.held[serial]
		for _, j := range h.joins {
			if !j.Clean && w.copies[j.Node] > 0 && j.Boot != w.boxes[j.Node[1]-'1'].boot && !w.knows(j.Node) {
				w.forget(h)
				return
			}
		}
	}
	for _, name := range w.srv.m.Figures().Twins {
		w.calls++
		w.srv.input(engine.SetDrain{Call: w.calls, Node: name})
	}
}

func (w *world) forget(h *held) {
	w.calls++
	w.say("an administrator writes %v off", h.Job.Run)
	w.srv.input(engine.Forget{Call: w.calls, Serial: h.Serial})
}
