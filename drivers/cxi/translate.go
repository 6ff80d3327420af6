package cxi

import "github.com/weft-hpc/weft/core"

// restricted is what each service of Weft's is: members, VNIs and classes are checked, limits apply.
const restricted = restrictedMembers | restrictedVNIs | restrictedTCs | resourceLimits

// ranged reports whether a spec's VNIs are set as a range: more than a descriptor can name.
func ranged(spec *core.ServiceSpec) bool { return len(spec.VNIs) > core.MaxVNIs }

// descriptor is the driver's form of a spec. What the kernel judges itself is left to it.
func descriptor(spec *core.ServiceSpec) (desc, *core.Error) {
	d := desc{flags: restricted}
	switch {
	case ranged(spec) && core.IsVNIRange(spec.VNIs):
		d.flags &^= restrictedVNIs
	case len(spec.VNIs) == 0 || ranged(spec):
		return d, core.Errorf(core.BadCall, "NIC %s: a service with %d VNIs: a CXI service names 1 to %d, or has an aligned block of a power of two",
			spec.Device, len(spec.VNIs), core.MaxVNIs)
	default:
		for i, v := range spec.VNIs {
			d.vnis[i] = uint16(v)
		}
		d.numVNIs = uint8(len(spec.VNIs))
	}
	for i := range numTCs - 1 {
		if spec.Classes&(1<<i) != 0 {
			d.tcs[i] = 1
		}
	}
	for r, l := range spec.Limits {
		d.limits[r] = limit{l.Max, l.Reserved}
	}
	var ok bool
	if d.members, ok = members(spec.Owner); !ok {
		return d, core.Errorf(core.BadCall, "NIC %s: a service with VNIs %s: it has no owner, so nobody could use it", spec.Device, core.VNIRanges(spec.VNIs))
	}
	return d, nil
}

// members are a descriptor's two members. SHS 13.0 lets everybody in where one is ignored (mended by driver commit 3f0057f, which that branch lacks): the
// second member is root instead, which every release takes. Root's own service cannot name
// root twice, EEXIST from 13.1 on: there it is group 0. A network namespace is no member; it is set afterwards, and needs both ignored, which releases
// that know namespaces do right.
func members(o core.Owner) (m [maxMembers]member, ok bool) {
	m[1].kind = uid
	switch o.Kind {
	case core.OwnerUID:
		m[0] = member{o.ID, uid}
		if o.ID == 0 {
			m[1].kind = gid
		}
	case core.OwnerGID:
		m[0] = member{o.ID, gid}
	case core.OwnerNetNS:
		m = [maxMembers]member{}
	default:
		return m, false
	}
	return m, true
}

// stands is a descriptor as the kernel holds the finished service: it raises TLEs to the least pool, forces their max to what is reserved, and enables it.
func stands(d desc) desc {
	if tle := &d.limits[core.TLE]; *tle != (limit{}) {
		tle.reserved = max(tle.reserved, leastTLEs)
		tle.max = tle.reserved
	}
	d.flags |= enabled
	return d
}

// extrasOf are what a spec wants beside its descriptor.
func extrasOf(spec *core.ServiceSpec) (e extras) {
	if ranged(spec) {
		e.from, e.to = uint16(spec.VNIs[0]), uint16(spec.VNIs[len(spec.VNIs)-1])
	}
	if spec.Owner.Kind == core.OwnerNetNS {
		e.netns = spec.Owner.ID
	}
	return e
}

// view is a service of the NIC in Weft's words. A VNI range is written out, so that none of its VNIs is overlooked.
func view(device string, d *desc, e extras, u use) core.Service {
	v := core.Service{Device: device, ID: d.id, System: d.has(systemService), Default: d.id == defaultID, Enabled: d.has(enabled)}
	switch {
	case d.has(restrictedVNIs) || e.named:
		for _, vni := range d.vnis[:min(int(d.numVNIs), core.MaxVNIs)] {
			v.VNIs = append(v.VNIs, core.VNI(vni))
		}
	case e.from != 0:
		for vni := int(e.from); vni <= int(e.to); vni++ {
			v.VNIs = append(v.VNIs, core.VNI(vni))
		}
	}
	if !d.has(restrictedTCs) {
		v.Classes = core.AllClasses
	}
	for i := range numTCs - 1 {
		if d.tcs[i] != 0 {
			v.Classes |= 1 << i
		}
	}
	for r, l := range d.limits {
		v.Limits[r] = core.Limit{Max: l.max, Reserved: l.reserved}
		if l.max > 0 && u.inUse[r] != notCounted { // without TLEs 14.0.1 tells those of the default service
			v.InUse[r] = u.inUse[r]
		}
	}
	if d.has(restrictedMembers) && !e.anyone {
		v.Owner = memberOwner(d, e)
	}
	return v
}

func memberOwner(d *desc, e extras) core.Owner {
	for _, m := range d.members {
		switch m.kind {
		case uid:
			return core.Owner{Kind: core.OwnerUID, ID: m.id}
		case gid:
			return core.Owner{Kind: core.OwnerGID, ID: m.id}
		}
	}
	if e.netns != 0 {
		return core.Owner{Kind: core.OwnerNetNS, ID: e.netns}
	}
	return core.Owner{}
}

// capacity is what a NIC has left beside all its services, and the rules of its release.
func capacity(total [core.NumResources]uint16, services []desc, t traits) core.Capacity {
	var c core.Capacity
	var reserved [core.NumResources]int
	les, tles := lePools, tlePools
	if t.leByReservation {
		les-- // pool 0 is shared by all that reserve none
	}
	for i := range services {
		l := &services[i].limits
		for r := range l {
			reserved[r] += int(l[r].reserved)
		}
		if l[core.LE].reserved > 0 || !t.leByReservation && l[core.LE].max > 0 {
			les--
		}
		if l[core.TLE] != (limit{}) {
			tles--
		}
	}
	for r := range c {
		c[r] = core.Supply{Total: total[r], Free: uint16(max(int(total[r])-reserved[r], 0))}
	}
	le, tle := &c[core.LE], &c[core.TLE]
	le.Pooled, le.PooledByMax, le.PoolsLeft = true, !t.leByReservation, uint16(max(les, 0))
	tle.Pooled, tle.PooledByMax, tle.PoolsLeft = true, true, uint16(max(tles, 0))
	tle.Least, tle.MaxIsReserved = leastTLEs, true
	return c
}
