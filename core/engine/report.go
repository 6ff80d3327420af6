package engine

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/weft-hpc/weft/core"
)

// report takes what a node says of itself, and only of itself.
func (m *Machine) report(in Report) {
	rep := in.Report
	n := m.node(in.Node)
	switch {
	case in.Session == n.session && n.attached && rep.Number == 0 && len(rep.Unanswered) > 0:
		n.missed = rep.Unanswered
		return
	case in.Session < n.session, in.Session == n.session && (rep.Number <= n.number || !n.attached):
		return
	case in.Session > n.session && !rep.Full:
		return
	case rep.Boot == "":
		m.do(Say{Level: Warn, Node: n.Name, Text: "a report without a boot id was ignored; see that the node's agent is at most one release older or newer than the server"})
		return
	case in.Session == n.session && rep.Boot != n.Boot:
		return
	}
	if in.Session > n.session {
		m.began(n, rep)
		n.session, n.attached = in.Session, true
		m.met(n, rep.Seen)
		if m.Recovering() { // no two sessions see one revision: a node that comes back by way of another server shows it
			m.write(m.meta)
		}
	}
	n.number = rep.Number
	first := len(n.Inventory) == 0
	m.know(n, rep)
	first = first && len(n.Inventory) > 0
	if n.paired() {
		rep.Epilogs = nil
	}
	for _, job := range rep.Epilogs {
		for r := m.jobs[job]; r != nil; r = r.next {
			if r.joins.of(n) != nil {
				r.hooked = true
			}
		}
	}
	if rep.Full && !n.paired() {
		n.told = true
		delete(m.awaited, n.Name)
		n.unmention(rep.Held)
	}
	var forget []core.Run
	for _, h := range rep.Held {
		if m.held(n, h) {
			forget = append(forget, h.Run)
		}
	}
	over := m.stepsOf(n, rep.Steps, rep.Full)
	if rep.Full || rep.Changed {
		m.reads(n, rep)
	}
	if rep.Full {
		n.missed = rep.Unanswered
	}
	m.faulty(n, rep.Fault)
	clean := m.late
	m.late = nil
	if rep.Full {
		clean = m.ordersFor(n) // with what held has found
		m.finishRecovery()
	}
	orders := core.Orders{Clean: clean, Forget: forget, Over: over}
	if rep.Full {
		drain := n.Drain()
		orders.Vouch, orders.Drain = m.unanswered(n), &drain
	}
	if rep.Full || first {
		orders.Inventory = slices.Clone(n.Inventory)
	}
	if n.paired() {
		orders = core.Orders{TwoHosts: n.Twin.Reason(), Vouch: orders.Vouch, Drain: orders.Drain}
	}
	if len(orders.Clean) > 0 || len(orders.Forget) > 0 || len(orders.Over) > 0 || rep.Full || first {
		m.do(Order{n.Name, n.session, orders})
	}
	m.unstick(n)
}

// reads takes what n's reading of its NICs showed, or that it could not read them. Such a node is drained while that
// lasts, unless it is drained for another reason: that one needs a person.
func (m *Machine) reads(n *node, rep core.Report) {
	n.unread = ""
	if strings.HasPrefix(rep.Fault, core.UnreadPrefix) {
		n.unread = rep.Fault
		return
	}
	m.unknown(n, rep.Unknown)
	m.redrain(n, n.trouble())
}

// faulty drains n for a fault that it reports, and notes that for later while it has two hosts. The node learns what
// came of it.
func (m *Machine) faulty(n *node, why string) {
	switch {
	case why == "":
		return
	case why == n.Drained:
	case n.paired():
		if why != n.Fault && why != n.unread {
			n.Fault = why
			m.write(n.Node)
		}
	case n.DrainedBy != "":
		m.do(Say{Level: Warn, Node: n.Name, Text: "a fault of a node that is drained already: " + why})
	case n.unread == "" || n.resumes():
		m.drainNode(n, why, "")
		return
	}
	m.tellDrain(n)
}

// unstick looks again at what n, which has just reported, held up.
func (m *Machine) unstick(n *node) {
	if n.stuck == 0 {
		return
	}
	for _, serial := range sortedOpen(n) {
		if j := n.open[serial]; j.stuck != notStuck {
			m.mark(j, m.judge(j))
			m.settle(j.of)
		}
	}
}

// unmention forgets what n said before of runs that its full report does not have: it holds nothing of them.
func (n *node) unmention(held []core.Held) {
	if len(n.open) == 0 {
		return
	}
	said := make(map[core.Run]bool, len(held))
	for _, h := range held {
		said[h.Run] = true
	}
	for _, j := range n.open {
		if !said[j.of.Job.Run] {
			j.busy, j.why = 0, ""
		}
	}
}

// know takes over boot id, address and NICs. Another boot id proves every run of the boot before it clean: services do
// not outlive a boot.
func (m *Machine) know(n *node, rep core.Report) {
	changed := false
	if rep.From != "" && rep.From != n.From {
		n.From, changed = rep.From, true
	}
	if rep.Hardware != "" && rep.Hardware != n.Hardware && !n.paired() {
		n.Hardware, changed = rep.Hardware, true
	}
	if rep.Boot != n.Boot {
		changed = true
		m.reboot(n, rep.Boot)
	}
	if rep.Full || rep.Changed {
		n.devices, n.blind = rep.Devices, rep.Blind
		n.unusable = slices.DeleteFunc(slices.Clone(rep.Unusable), func(name string) bool {
			return !slices.Contains(rep.Devices, name)
		})
		if len(n.Inventory) == 0 && len(rep.Devices) > 0 {
			n.Inventory, changed = slices.Clone(rep.Devices), true
		}
	}
	if changed {
		m.write(n.Node)
	}
}

// reboot takes another boot id.
func (m *Machine) reboot(n *node, boot string) {
	before := n.Boot
	n.Boot = boot
	if before == "" {
		return
	}
	n.Retired = append(slices.DeleteFunc(slices.Clone(n.Retired), func(b string) bool { return b == boot }), before)
	n.Retired = n.Retired[max(0, len(n.Retired)-MaxRetired):]
	if n.paired() {
		return
	}
	over := 0
	for _, serial := range sortedOpen(n) {
		if j := n.open[serial]; j.boot == before {
			over++
			m.confirm(j)
		}
	}
	m.do(Say{Node: n.Name, Text: "rebooted: its " + strconv.Itoa(over) + " joins of the boot before hold nothing there any more"})
}

// held takes one run as the node holds it. It reports true when the node may forget its record.
func (m *Machine) held(n *node, h core.Held) bool {
	r := m.run(h.Run)
	if h.State == core.HeldClean {
		switch {
		case n.paired():
			return false
		case r == nil:
			return true
		}
		if j := r.joins.of(n); j != nil && j.boot == n.Boot {
			m.confirm(j)
		}
		return true
	}
	if len(h.VNIs) == 0 {
		return false
	}
	if r != nil && h.Life != core.LifeUnsaid {
		n.answers(r, h)
	}
	if r == nil {
		r = m.adopt(n, h)
	}
	m.extend(r, h.VNIs)
	j := r.joins.of(n)
	if j == nil || j.clean {
		j = m.enlist(r, n)
	}
	j.why = h.Why
	if h.State == core.HeldReady {
		j.fitted(h)
	}
	switch {
	case h.State != core.HeldBusy:
		j.busy = 0
	case j.busy == 0:
		j.busy = max(m.now.Uptime, 1)
	}
	if r.state == Quarantined {
		m.rouse(r, "node "+n.Name+" still holds it")
	}
	if (r.state == Draining || r.state == Held) && (h.State == core.HeldReady || h.State == core.HeldPreparing) {
		m.late = append(m.late, r.order().Clean...)
	}
	return false
}

// adopt makes a reservation of a run that a node holds and that the store does not know: the store was lost or rolled back, or an administrator forgot it.
func (m *Machine) adopt(n *node, h core.Held) *reservation {
	m.meta.Serial++
	rec := Reservation{
		Serial: m.meta.Serial, Job: core.Job{Run: h.Run, GID: h.GID}, VNIs: m.pooled(h.VNIs), Made: m.now.Wall, Adopted: true,
		First: Join{Serial: m.meta.Serial, Node: n.Name, Boot: n.Boot},
	}
	rec.Grant.Steps = uint8(min(h.Steps, len(h.VNIs)))
	for i := range h.Services { // of the lost decision, what its services show
		rec.Grant.Classes |= h.Services[i].Classes
	}
	r := m.insert(rec, Active)
	m.hold(r)
	m.place(r)
	m.join(r, rec.First)
	r.prepared = m.now.Uptime
	m.write(rec)
	m.do(Say{Level: Warn, Run: h.Run, Node: n.Name, VNIs: h.VNIs, Text: "adopted: the node holds a run that the store does not know"})
	if m.isEnded(h.Run) {
		m.drain(r, "this run was over before", "")
	}
	return r
}

// foundName names a VNI that the job was not given by this store: a node holds it for the job nevertheless.
const foundName = "(found)"

// extend makes r hold whatever a node holds of it. They differ only where a store was lost and the job was granted anew.
func (m *Machine) extend(r *reservation, vnis []core.VNI) {
	var more []core.VNI
	for _, v := range vnis {
		if !slices.ContainsFunc(r.VNIs, func(t Taken) bool { return t.VNI == v }) && !slices.Contains(more, v) {
			more = append(more, v)
		}
	}
	if len(more) == 0 {
		return
	}
	taken := m.pooled(more)
	counts := r.state == Active || r.state == Draining
	if counts {
		m.uncount(r)
	}
	r.VNIs = slices.Concat(r.VNIs, taken)
	if counts {
		m.count(r)
	}
	for i := range taken {
		r.VNIs[len(r.VNIs)-len(taken)+i].Name = foundName
		m.holdBy(taken[i].VNI, r)
	}
	m.holdAll(r, taken)
	m.write(r.Reservation)
	m.do(Say{Level: Alarm, Run: r.Job.Run, VNIs: more, Text: "a node holds other VNIs for this job than the store has granted"})
}

// hold takes r's VNIs out of their pools and names the others that have one already.
func (m *Machine) hold(r *reservation) { m.holdAll(r, r.VNIs) }

func (m *Machine) holdAll(r *reservation, taken []Taken) {
	shared := map[*reservation][]core.VNI{}
	for _, t := range taken {
		for _, other := range m.heldBy(t.VNI) {
			if other != r && !(other.Unknown && r.Unknown) {
				shared[other] = append(shared[other], t.VNI)
			}
		}
		m.alloc.Hold(t.VNI)
	}
	for _, other := range slices.SortedFunc(maps.Keys(shared), bySerial) {
		text := r.holder() + " and " + other.holder() + " hold the same VNIs"
		m.do(Say{Level: Alarm, Run: r.Job.Run, Node: r.First.Node, VNIs: shared[other], Text: text})
	}
}

// holder names who holds r's VNIs, for people.
func (r *reservation) holder() string {
	if r.Unknown {
		return "unknown services on " + r.First.Node
	}
	return "job " + r.Job.Key.String()
}

// pooled names the pool of each VNI.
func (m *Machine) pooled(vnis []core.VNI) []Taken {
	out := make([]Taken, len(vnis))
	for i, v := range vnis {
		out[i] = Taken{VNI: v, Pool: m.PoolOf(v)}
	}
	return out
}

// detach ends a session.
func (m *Machine) detach(in Detach) {
	n := m.nodes[in.Node]
	if n == nil || n.session != in.Session || !n.attached {
		return
	}
	n.attached, n.lost = false, m.now.Uptime
}
