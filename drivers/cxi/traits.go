package cxi

import "github.com/weft-hpc/weft/core"

// traits are what a NIC's driver can do. No release tells its version in a form that can be relied on, an unknown command is EINVAL like a wrong argument,
// and a library may be newer than the driver: so the NIC is asked for services that every release refuses, each with an error number of its own. None of
// them can come into being.
type traits struct {
	release         string // the release that it behaves as; empty where it could not be told
	ranges          bool   // VNI ranges; SHS 13.1
	netns           bool   // network namespaces; SHS 14.0
	exact           bool   // two services may have one VNI; SHS 12.0, and again from 14.0.1 on
	leByReservation bool   // LE pools are taken by reservations alone; SHS 14.0.1
}

// Releases, as traits tell them apart.
const (
	shs120  = "12.0"
	shs130  = "13.0"
	shs131  = "13.1"
	shs140  = "14.0.0"
	shs1401 = "14.0.1"
)

// traits of a NIC are asked for once a driver that is loaded. services are the NIC's own.
func (d *Driver) traits(n *nic, services []desc) traits {
	_, _, build := d.now().sys.driver()
	d.mu.Lock()
	known, is := d.known[n.name]
	d.mu.Unlock()
	if is && known.build == build {
		return known.traits
	}
	t := n.probe(services)
	if t.release != "" {
		d.mu.Lock()
		d.known[n.name] = knownTraits{build, t}
		d.mu.Unlock()
	}
	return t
}

type knownTraits struct {
	build  string
	traits traits
}

// refused asks for a service that is to be refused, and gives the error number.
func (n *nic) refused(d desc) errno {
	id, _, err := n.alloc(&d)
	if err == ok {
		_ = n.destroy(id, true) // no release is known that gets here; what is left admits root alone
	}
	return err
}

func (n *nic) probe(services []desc) traits {
	root := member{0, uid}
	// No VNI is EINVAL up to 13.0; from 13.1 on the same member twice is EEXIST.
	none := desc{flags: restricted, members: [maxMembers]member{root, root}}
	switch n.refused(none) {
	case einval:
		return n.probeOld(services)
	case eexist:
	default:
		return traits{}
	}
	// The type of a network namespace is EINVAL before 14.0; from then on two of them are the same member twice.
	spaces := desc{flags: restricted, numVNIs: 1, vnis: [core.MaxVNIs]uint16{1}, members: [maxMembers]member{{0, netNS}, {0, netNS}}}
	switch n.refused(spaces) {
	case einval:
		return traits{release: shs131, ranges: true}
	case eexist:
	default:
		return traits{ranges: true}
	}
	// A VNI of the default service is EEXIST before 14.0.1; from then on the reservation decides.
	t := traits{release: shs140, ranges: true, netns: true}
	if d, can := n.tooMuch(services); can && n.refused(d) == enospc {
		t.release, t.exact, t.leByReservation = shs1401, true, true
	}
	return t
}

// probeOld tells 12.0 from 13.0, which looks at VNIs first: the default service has this one (cxi_svc_alloc of 13.0.0).
func (n *nic) probeOld(services []desc) traits {
	d, can := n.tooMuch(services)
	if !can {
		return traits{}
	}
	switch n.refused(d) {
	case eexist:
		return traits{release: shs130}
	case enospc:
		return traits{release: shs120, exact: true}
	default:
		return traits{}
	}
}

// tooMuch is a service with the default service's first VNI that wants all of a resource of which something is reserved already.
func (n *nic) tooMuch(services []desc) (desc, bool) {
	d := desc{flags: restricted, numVNIs: 1, members: [maxMembers]member{{0, uid}, {0, gid}}}
	total := n.info.totals()
	for i := range services {
		s := &services[i]
		if s.id == defaultID && s.has(restrictedVNIs) && s.numVNIs > 0 {
			d.vnis[0] = s.vnis[0]
		}
		for _, r := range []core.Resource{core.TXQ, core.AC, core.EQ} {
			if s.limits[r].reserved > 0 && total[r] > 0 && d.limits == (desc{}).limits {
				d.limits[r] = limit{total[r], total[r]}
			}
		}
	}
	return d, d.vnis[0] != 0 && d.limits != (desc{}).limits
}
