package cxi

import (
	"fmt"
	"os"
	"strings"
	"unsafe"

	"github.com/weft-hpc/weft/core"
)

// change makes another service of the plain one.
type change func(*desc)

// desc is a service of root and of a group without members, with the first VNI.
func (b *bench) desc(changes []change) *desc {
	d := &desc{
		flags: restricted, numVNIs: 1, vnis: [core.MaxVNIs]uint16{b.first}, tcs: [numTCs]uint8{0, 1, 0, 1},
		members: [maxMembers]member{{uint32(os.Geteuid()), uid}, others},
	}
	d.limits[core.TXQ] = limit{2, 1}
	for _, f := range changes {
		f(d)
	}
	return d
}

func vnis(count, step uint16) change {
	return func(d *desc) {
		for i := range d.vnis {
			d.vnis[i] = d.vnis[0] + uint16(i)*step
		}
		d.numVNIs = uint8(count)
	}
}

func at(i uint16) change        { return func(d *desc) { d.vnis[0] += i } }
func vni(v uint16) change       { return func(d *desc) { d.vnis[0] = v } }
func owners(a, b member) change { return func(d *desc) { d.members = [maxMembers]member{a, b} } }
func txqs(most, reserved uint16) change {
	return func(d *desc) { d.limits[core.TXQ] = limit{most, reserved} }
}

func reserved(r core.Resource, n uint16) change { return func(d *desc) { d.limits[r] = limit{n, n} } }

// unnamed names no VNI, and may have a range.
func unnamed(d *desc) { d.flags &^= restrictedVNIs; d.numVNIs = 0; d.vnis = [core.MaxVNIs]uint16{} }

var (
	root     = member{0, uid}
	noUID    = member{core.NoUID, uid}
	stranger = member{core.NoUID - 1, uid}
	others   = member{core.NoUID - 1, gid}
	ignored  = member{}
)

func alloc(changes ...change) step {
	return func(b *bench) (string, errno) {
		id, fail, err := b.nic.alloc(b.desc(changes))
		if err == ok {
			b.id, b.made = id, append(b.made, id)
		}
		b.fail = fail
		return "", err
	}
}

// of names the service of the steps that follow.
func of(id uint32) step { return func(b *bench) (string, errno) { b.id = id; return "", ok } }

func allocDefaultVNI(b *bench) (string, errno) {
	d, err := b.get(defaultID)
	if err != ok {
		return "", err
	}
	return alloc(vni(d.vnis[0]))(b)
}

func allocAllTLEs(b *bench) (string, errno) { return alloc(reserved(core.TLE, b.info.tles))(b) }

// allocAgain reports whether a service gets the id of the one that was destroyed.
func allocAgain(b *bench) (string, errno) {
	before := b.id
	_, err := alloc()(b)
	return fmt.Sprint(b.id == before), err
}

// until counts the services that reserve a resource until the driver has no pool for another.
func until(r core.Resource) step {
	return func(b *bench) (string, errno) {
		for i := range uint16(ReportVNIs) {
			if _, err := alloc(at(i), reserved(r, leastTLEs))(b); err != ok {
				return fmt.Sprintf("%d, then %s, flags %d %d", i, err, b.fail.noLEPools, b.fail.noTLEPools), ok
			}
		}
		return fmt.Sprint(ReportVNIs), ok
	}
}

func open(b *bench) (string, errno) {
	var lni unsafe.Pointer
	err := b.do(true, func() int32 { return b.lib.allocLNI(b.handle, &lni, b.id) })
	if err == ok {
		b.lnis = append(b.lnis, lni)
	}
	return "", err
}

func cp(class uint32) step {
	return func(b *bench) (string, errno) {
		var made unsafe.Pointer
		err := b.do(true, func() int32 { return b.lib.allocCP(b.lnis[0], uint32(b.first), class, 0, &made) })
		if err == ok {
			b.lib.destroyCP(made)
		}
		return "", err
	}
}

func remove(b *bench) (string, errno)  { return "", b.destroy(b.id, true) }
func disable(b *bench) (string, errno) { return "", b.enable(b.id, false) }

func clearAll(b *bench) (string, errno) { return fmt.Sprintf("%d are left", len(b.clear())), ok }

func flags(b *bench) (string, errno) {
	d, err := b.get(b.id)
	return fmt.Sprintf("%#x, %d VNIs", d.flags&flagsMask, d.numVNIs), err
}

func tles(b *bench) (string, errno) {
	d, err := b.get(b.id)
	return fmt.Sprintf("%d/%d", d.limits[core.TLE].max, d.limits[core.TLE].reserved), err
}

func inUse(b *bench) (string, errno) {
	all, err := b.uses()
	return texts(all[b.id].inUse), err
}

func lprIs(n uint32) step { return func(b *bench) (string, errno) { return "", b.setLPR(b.id, n) } }

func readLPR(b *bench) (string, errno) {
	n, err := b.lpr(b.id)
	return fmt.Sprint(n), err
}

func rangeIs(from, to uint16) step {
	return func(b *bench) (string, errno) {
		return "", b.setRange(b.id, []core.VNI{core.VNI(b.first + from), core.VNI(b.first + to)})
	}
}

func readRange(b *bench) (string, errno) {
	d, err := b.get(b.id)
	e := b.extras(&d)
	return fmt.Sprintf("%d VNIs", e.to-e.from+1), err
}

func inNetNS(b *bench) (string, errno) { return "", b.setNetNS(b.id, 1) }

func readNetNS(b *bench) (string, errno) {
	d, err := b.get(b.id)
	return fmt.Sprint(b.extras(&d).netns), err
}

// texts are numbers of each resource, in the driver's order.
func texts(of [core.NumResources]uint16) string {
	var out []string
	for r, n := range of {
		out = append(out, fmt.Sprintf("%s %d", core.Resource(r), n))
	}
	return strings.Join(out, " ")
}

// text is a service as the driver shows it, without its members' numbers.
func (d *desc) text() string {
	out := fmt.Sprintf("service %d: flags %#x, %d VNIs, member types %d %d", d.id, d.flags&flagsMask, d.numVNIs,
		d.members[0].kind, d.members[1].kind)
	for r, l := range d.limits {
		if l != (limit{}) {
			out += fmt.Sprintf(", %s %d/%d", core.Resource(r), l.max, l.reserved)
		}
	}
	return out
}
