package kernel

import "github.com/weft-hpc/weft/core"

// EthernetLEs are the LEs of the ethernet service in each processing engine. The driver computes them from its receive
// queues' credits, and falls back to 1024.
const EthernetLEs = 1024

// probe is a NIC whose network interface is up and whose retry handler runs.
func probe(b *Behaviour) NIC {
	n := NIC{b: b}
	def := Desc{
		ResourceLimits: true, RestrictedVNIs: true, NumVNIs: 2, VNIs: [MaxVNIs]uint16{1, 10},
		TCs: [NumTCs]bool{true, true, true, true},
	}
	for r, t := range Total {
		def.Limits[r].Max = t
	}
	def.Limits[core.TLE] = core.Limit{Max: 512, Reserved: 512} // parameter default_svc_num_tles
	if _, _, err := n.add(&def); err != OK {
		panic("kernel: a bare NIC has no room for the default service: " + err.Error())
	}
	n.SetEthernet(true)
	n.system(core.Limits{core.EQ: {Max: 1, Reserved: 1}, core.AC: {Max: 1, Reserved: 1}})
	return n
}

// system makes a service of the system's, and opens its LNI. Up to SHS 13.0 it has no restricted_vnis: hw_setup in
// cxi_eth_ops.c for ethernet, and retry_handler/main.c of shs-libcxi, which is taken to be of the driver's release.
func (n *NIC) system(limits core.Limits) {
	id, _, err := n.add(&Desc{
		ResourceLimits: true, RestrictedVNIs: !n.b.NeedVNI, RestrictedMembers: true, System: true,
		Members: [MaxMembers]Member{{Type: UID}}, Limits: limits,
	})
	if err == OK {
		_, _ = n.AllocLNI(Caller{}, id)
	}
}

// SetEthernet brings the NIC's network interface up or down. It has its service only while it is up, and its id is free
// meanwhile (hw_setup and hw_cleanup in cxi_eth_ops.c).
func (n *NIC) SetEthernet(up bool) {
	at := n.ethernet()
	switch {
	case up && at == nil:
		n.system(core.Limits{
			core.AC: {Max: 1, Reserved: 1}, core.EQ: {Max: 49, Reserved: 1}, core.PTE: {Max: 17, Reserved: 8},
			core.TXQ: {Max: 32, Reserved: 1}, core.TGQ: {Max: 18, Reserved: 1},
			core.LE: {Max: Total[core.LE], Reserved: EthernetLEs},
		})
	case !up && at != nil:
		id := at.ID
		for _, l := range n.lnis {
			if l.Service == id {
				_ = n.FreeLNI(l.ID)
				break
			}
		}
		_ = n.Destroy(Root, id)
	}
}

// Ethernet reports whether the NIC's network interface is up.
func (n *NIC) Ethernet() bool { return n.ethernet() != nil }

// ethernet is the service of the network interface, the only one of the system's that has list entries.
func (n *NIC) ethernet() *Service {
	for i := range n.services {
		if s := &n.services[i]; s.System && s.Limits[core.LE].Reserved > 0 {
			return s
		}
	}
	return nil
}
