package engine

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/weft-hpc/weft/core"
)

// Reason names both hosts. It drains the node.
func (t Twin) Reason() string { return fmt.Sprintf("%s%s and %s", core.TwinPrefix, t.Here, t.There) }

func (h Host) String() string {
	return fmt.Sprintf("%s with boot %s", cmp.Or(h.From, "an unknown address"), h.Boot)
}

// paired reports whether two hosts have n's certificate. Then no word of either is proof of anything.
func (n *node) paired() bool { return !n.Twin.Since.IsZero() }

// Twins gives the nodes whose certificate two hosts have, by name.
func (m *Machine) Twins() []Node {
	var list []Node
	for _, name := range slices.Sorted(maps.Keys(m.twins)) {
		list = append(list, m.twins[name].Node)
	}
	return list
}

// alone reports whether one host has come for so long that the other is gone.
func (m *Machine) alone(n *node) bool { return n.attached && m.now.Uptime-n.heard >= m.rules.Away }

// twoHosts takes that a second host asked for a session of a node while the first one answered.
func (m *Machine) twoHosts(in TwoHosts) {
	n := m.node(in.Node)
	if n.heard = m.now.Uptime; !n.paired() {
		m.pair(n, in.Here, in.There)
		m.do(Order{n.Name, n.session, core.Orders{TwoHosts: n.Twin.Reason()}})
	}
}

// began takes the host of a new session. A boot that was over comes again only where two hosts have the certificate.
// Other hardware may be a copied host, which proves nothing about the services on the first one.
func (m *Machine) began(n *node, rep core.Report) {
	came := Host{From: rep.From, Boot: rep.Boot, Agent: rep.Agent}
	switch {
	case slices.Contains(n.Retired, came.Boot), n.moved(rep.Hardware) && len(n.open) > 0:
		m.pair(n, Host{From: n.From, Boot: n.Boot, Agent: n.agent}, came)
	case n.paired() && (n.Boot != came.Boot || n.agent != came.Agent):
		n.heard = m.now.Uptime
	}
	n.agent, n.hardware = came.Agent, rep.Hardware
}

// moved reports whether n is known to have had other hardware.
func (n *node) moved(hardware string) bool {
	return n.Hardware != "" && hardware != "" && n.Hardware != hardware
}

// pair notes that two hosts have n's certificate. The returning host's boot was taken for over by mistake.
func (m *Machine) pair(n *node, here, there Host) {
	n.heard = m.now.Uptime
	m.reopen(n, there.Boot)
	if n.paired() {
		m.unsay(n)
		return
	}
	n.Twin = Twin{Since: m.now.Wall, Here: here, There: there}
	m.twins[n.Name] = n
	n.told = false
	m.await()
	m.unsay(n)
	m.write(n.Node)
	m.do(Say{Level: Alarm, Node: n.Name, Text: n.Twin.Reason()})
	m.redrain(n, n.trouble())
}

// reopen makes n's joins of a boot unclean again.
func (m *Machine) reopen(n *node, boot string) {
	for _, serial := range slices.Sorted(maps.Keys(m.serials)) {
		r := m.serials[serial]
		j := r.joins.of(n)
		if j == nil || !j.clean || j.boot != boot {
			continue
		}
		rec := Join{Serial: serial, Node: n.Name, Boot: boot}
		m.write(rec)
		m.join(r, rec)
		if r.state == Quarantined {
			m.rouse(r, "two hosts have the certificate of node "+n.Name)
		}
		if r.Unknown {
			m.setState(r, Held, strayWhy(n.Name))
		}
	}
}

// tells is why nothing counts that n's half of a scheduler says.
func (n *node) tells(scheduler string) string {
	return fmt.Sprintf("scheduler %s: node %s tells of its jobs: %s", scheduler, n.Name, n.Twin.Reason())
}

// unsay takes back what only n's half of a scheduler said of jobs that a node may still hold.
func (m *Machine) unsay(n *node) {
	for _, serial := range slices.Sorted(maps.Keys(m.closing)) {
		if r := m.closing[serial]; r.by == n.Name && r.unclean > 0 {
			m.revive(r, "two hosts have the certificate of node "+n.Name+", which said that it ended")
		}
	}
}

// heal ends what is over of m.twins. Where the boot ids are equal, the boot id of a join does not say whose it is: then
// only the first host's own process heals it, or `weft resume`. Other hardware needs `weft resume` as well.
func (m *Machine) heal() {
	for _, name := range slices.Sorted(maps.Keys(m.twins)) {
		n := m.twins[name]
		if m.alone(n) && !n.moved(n.hardware) && (n.Twin.Here.Boot != n.Twin.There.Boot || n.agent == n.Twin.Here.Agent) {
			m.part(n)
		}
	}
}

// part says that one host has n's certificate again. Its next session begins with a full report.
func (m *Machine) part(n *node) {
	n.Twin, n.Hardware = Twin{}, cmp.Or(n.hardware, n.Hardware)
	why := cmp.Or(n.Fault, n.trouble())
	n.Fault = ""
	delete(m.twins, n.Name)
	m.write(n.Node)
	m.do(Say{Node: n.Name, Text: "one host has its certificate again"})
	m.redrain(n, why)
	m.do(End{n.Name, n.session})
}

// trouble is why n is out of service until that ends by itself; empty: nothing is.
func (n *node) trouble() string {
	if n.paired() {
		return n.Twin.Reason()
	}
	return cmp.Or(n.unread, n.crowd)
}

// refuses is the error for a call that n refuses while it is out of service for why.
func (n *node) refuses(what, why string) *core.Error {
	err := core.Errorf(core.NodeDrained, "node %s: %s: %s", n.Name, what, why)
	switch why {
	case n.Twin.Reason():
		return err.WithRemedy(core.TwinRemedy)
	case n.unread, n.crowd:
		return err.WithRemedy("remove that cause; then the node is in service again by itself")
	}
	return err
}
