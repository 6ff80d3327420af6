package cxi

import (
	"fmt"
	"os"
	"strings"
	"time"
	"unsafe"

	"github.com/weft-hpc/weft/core"
)

// bench is where one trial makes its services.
type bench struct {
	*nic
	first uint16 // of its VNIs
	made  []uint32
	lnis  []unsafe.Pointer
}

// change makes another service of the plain one.
type change func(*desc)

// desc is a service of root and of a group without members, with the first VNI.
func (b *bench) desc(changes ...change) *desc {
	d := &desc{
		flags: restricted, numVNIs: 1, vnis: [core.MaxVNIs]uint16{b.first}, tcs: [numTCs]uint8{0, 1, 0, 1},
		members: [maxMembers]member{{uint32(os.Geteuid()), uid}, {core.NoUID - 1, gid}},
	}
	d.limits[core.TXQ] = limit{2, 1}
	for _, f := range changes {
		f(d)
	}
	return d
}

// alloc makes a service, which clear removes.
func (b *bench) alloc(changes ...change) (uint32, failInfo, errno) {
	id, fail, err := b.nic.alloc(b.desc(changes...))
	if err == ok {
		b.made = append(b.made, id)
	}
	return id, fail, err
}

// open opens an LNI of a service.
func (b *bench) open(id uint32) errno {
	var lni unsafe.Pointer
	err := b.do(true, func() int32 { return b.lib.allocLNI(b.handle, &lni, id) })
	if err == ok {
		b.lnis = append(b.lnis, lni)
	}
	return err
}

func (b *bench) close() {
	for _, lni := range b.lnis {
		b.lib.destroyLNI(lni)
	}
	b.lnis = nil
}

// clearing bounds the time in which the queues of an LNI drain.
const clearing = 2 * time.Second

// clear removes what the trial made, and gives what stays.
func (b *bench) clear() (left []Leaving) {
	b.close()
	for _, id := range b.made {
		err := b.destroy(id, true)
		for start := time.Now(); err == ebusy && time.Since(start) < clearing && !b.over(); err = b.destroy(id, true) {
			time.Sleep(10 * time.Millisecond)
		}
		if err != ok && err != einval { // EINVAL: the trial removed it
			left = append(left, Leaving{id, err.Error()})
		}
	}
	return left
}

func vnis(count, step uint16) change {
	return func(d *desc) {
		for i := range d.vnis {
			d.vnis[i] = d.vnis[0] + uint16(i)*step
		}
		d.numVNIs = uint8(count)
	}
}

// at is the i-th VNI of the bench alone.
func at(i uint16) change { return func(d *desc) { d.vnis[0] += i } }

func vni(v uint16) change { return func(d *desc) { d.vnis[0] = v } }

func owners(a, b member) change { return func(d *desc) { d.members = [maxMembers]member{a, b} } }

func limits(r core.Resource, most, reserved uint16) change {
	return func(d *desc) { d.limits[r] = limit{most, reserved} }
}

// unnamed names no VNI, and may have a range.
func unnamed(d *desc) { d.flags &^= restrictedVNIs; d.numVNIs = 0; d.vnis = [core.MaxVNIs]uint16{} }

// trial is one of the rows; its answer is an error number, or a reading.
type trial struct {
	rule     string
	takesAll bool // of a resource, for a moment
	try      func(*bench) string
}

func allocs(changes ...change) func(*bench) string {
	return func(b *bench) string {
		_, _, err := b.alloc(changes...)
		return said(err)
	}
}

// with is a call on a service just made.
func with(call func(b *bench, id uint32) string, changes ...change) func(*bench) string {
	return func(b *bench) string {
		id, _, err := b.alloc(changes...)
		if err != ok {
			return "no service: " + said(err)
		}
		return call(b, id)
	}
}

func said(err errno) string {
	if err == ok {
		return "ok"
	}
	return err.Error()
}

// rows are the trials. None of them is known to harm a driver of SHS 12.0 to 14.0.1. An LNI never shares its RGID,
// which 12.0 and 13.0 get wrong (cass_rgid_get in cass_rgid.c). Only a service with restricted_vnis names more VNIs
// than it can have, since the driver checks that count (validate_descriptor in cass_svc.c).
var rows = []trial{
	{"alloc", false, allocs()},
	{"alloc: four VNIs", false, allocs(vnis(4, 1))},
	{"alloc: five VNIs", false, allocs(vnis(5, 1))},
	{"alloc: no VNI", false, allocs(vnis(0, 1))},
	{"alloc: VNI 0", false, allocs(vni(0))},
	{"alloc: a VNI twice", false, allocs(vnis(2, 0))},
	{"alloc: a VNI of the default service", false, func(b *bench) string {
		d, _ := b.get(defaultID)
		return allocs(vni(d.vnis[0]))(b)
	}},
	{"alloc: a VNI of another service", false, with(func(b *bench, _ uint32) string { return allocs()(b) })},
	{"alloc: a member twice", false, allocs(owners(member{core.NoUID - 1, gid}, member{core.NoUID - 1, gid}))},
	{"alloc: nobody as member", false, allocs(owners(member{0, uid}, member{core.NoUID, uid}))},
	{"alloc: a member of no known type", false, allocs(owners(member{0, uid}, member{0, netNS + 1}))},
	{"alloc: a network namespace as member", false, allocs(owners(member{0, netNS}, member{core.NoUID - 1, gid}))},
	{"alloc: max below reserved", false, allocs(limits(core.TXQ, 1, 2))},
	{"alloc: max above the device", false, allocs(func(d *desc) { d.limits[core.TXQ].max = 0xffff })},
	{"alloc: all TLEs", false, func(b *bench) string {
		all := b.info.tles
		return allocs(limits(core.TLE, all, all))(b)
	}},
	{"order: a VNI of another service, and nobody as member", false, with(func(b *bench, _ uint32) string {
		return allocs(owners(member{0, uid}, member{core.NoUID, uid}))(b)
	})},
	{"order: a VNI of another service, and all TLEs", false, with(func(b *bench, _ uint32) string {
		all := b.info.tles
		return allocs(limits(core.TLE, all, all))(b)
	})},
	{"order: max below reserved, and nobody as member", false,
		allocs(limits(core.TXQ, 1, 2), owners(member{0, uid}, member{core.NoUID, uid}))},
	{"alloc: an id is used again", false, with(func(b *bench, id uint32) string {
		_ = b.destroy(id, true)
		again, _, _ := b.alloc()
		return fmt.Sprint(again == id)
	})},
	{"reading: flags", false, with(func(b *bench, id uint32) string {
		d, err := b.get(id)
		return fmt.Sprintf("%s, %#x, VNIs %d", said(err), d.flags&flagsMask, d.numVNIs)
	})},
	{"reading: a reservation of one TLE", false, with(func(b *bench, id uint32) string {
		d, err := b.get(id)
		return fmt.Sprintf("%s, %d/%d", said(err), d.limits[core.TLE].max, d.limits[core.TLE].reserved)
	}, limits(core.TLE, 1, 1))},
	{"reading: an unknown service", false, func(b *bench) string {
		_, err := b.get(unknown)
		return said(err)
	}},
	{"reading: use of a service without LE and TLE", false, with(func(b *bench, id uint32) string {
		all, err := b.uses()
		return fmt.Sprintf("%s, LE %d, TLE %d", said(err), all[id].inUse[core.LE], all[id].inUse[core.TLE])
	})},
	{"reading: use of a service with an open LNI", false, with(func(b *bench, id uint32) string {
		if err := b.open(id); err != ok {
			return said(err)
		}
		all, err := b.uses()
		return said(err) + ", " + texts(all[id].inUse)
	})},
	{"destroy: an unknown service", false, func(b *bench) string { return said(b.destroy(unknown, true)) }},
	{"destroy: the default service", false, func(b *bench) string { return said(b.destroy(defaultID, true)) }},
	{"destroy: with an open LNI", false, with(func(b *bench, id uint32) string {
		if err := b.open(id); err != ok {
			return said(err)
		}
		return said(b.destroy(id, true))
	})},
	{"destroy: once the LNI is closed", false, with(func(b *bench, id uint32) string {
		if err := b.open(id); err != ok {
			return said(err)
		}
		left := b.clear()
		return fmt.Sprintf("left: %d", len(left))
	})},

	{"open: a member", false, with(func(b *bench, id uint32) string { return said(b.open(id)) })},
	{"open: root, who is no member", false, with(func(b *bench, id uint32) string { return said(b.open(id)) },
		owners(member{core.NoUID - 1, uid}, member{core.NoUID - 1, gid}))},
	{"open: root, the second member ignored", false,
		with(func(b *bench, id uint32) string { return said(b.open(id)) }, owners(member{core.NoUID - 1, uid}, member{}))},
	{"open: root, who is no member, of one that is disabled", false, with(func(b *bench, id uint32) string {
		if err := b.enable(id, false); err != ok {
			return "not disabled: " + said(err)
		}
		return said(b.open(id))
	}, owners(member{core.NoUID - 1, uid}, member{core.NoUID - 1, gid}))},
	{"open: an unknown service", false, func(b *bench) string { return said(b.open(unknown)) }},
	{"open: a service that is disabled", false, with(func(b *bench, id uint32) string {
		if err := b.enable(id, false); err != ok {
			return "not disabled: " + said(err)
		}
		return said(b.open(id))
	})},
	{"CP: a class of the service", false, cp(3)},
	{"CP: a class that the service lacks", false, cp(2)},

	{"enable: off", false, with(func(b *bench, id uint32) string { return said(b.enable(id, false)) })},
	{"enable: an unknown service", false, func(b *bench) string { return said(b.enable(unknown, true)) }},
	{"enable: off, with an open LNI", false, with(func(b *bench, id uint32) string {
		if err := b.open(id); err != ok {
			return said(err)
		}
		return said(b.enable(id, false))
	})},

	{"lpr: 0", false, lprs(0)},
	{"lpr: 8", false, lprs(8)},
	{"lpr: 9", false, lprs(9)},
	{"lpr: never set", false, with(func(b *bench, id uint32) string { return b.readLPR(id) })},
	{"lpr: an unknown service", false, func(b *bench) string { return b.readLPR(unknown) }},
	{"lpr: with an open LNI", false, with(func(b *bench, id uint32) string {
		if err := b.open(id); err != ok {
			return said(err)
		}
		return said(b.setLPR(id, 2))
	})},

	{"range: a power of two, aligned", false, ranges(8, 15)},
	{"range: not aligned", false, ranges(9, 16)},
	{"range: no power of two", false, ranges(8, 14)},
	{"range: of a service with restricted_vnis", false, with(func(b *bench, id uint32) string {
		return said(b.setVNIs(id, 8, 15))
	})},
	{"range: over a VNI of another service", false,
		with(func(b *bench, _ uint32) string { return ranges(8, 15)(b) }, at(9))},
	{"range: it does not enable", false, with(func(b *bench, id uint32) string {
		if err := b.setVNIs(id, 8, 15); err != ok {
			return said(err)
		}
		return said(b.open(id))
	}, unnamed)},

	{"netns: of a service that is disabled and has no member", false, with(func(b *bench, id uint32) string {
		_ = b.enable(id, false)
		return b.inNetNS(id)
	}, owners(member{}, member{}))},
	{"netns: of one that is enabled", false, with((*bench).inNetNS, owners(member{}, member{}))},
	{"netns: of one with a member", false, with((*bench).inNetNS)},
	{"netns: of the default service", false, func(b *bench) string { return b.inNetNS(defaultID) }},

	{"pools: services that reserve TLEs", true, pools(core.TLE, 8)},
	{"pools: services that reserve LEs", true, pools(core.LE, 8)},
}

// unknown is a service that no NIC has.
const unknown = 0xfff0

func cp(class uint32) func(*bench) string {
	return with(func(b *bench, id uint32) string {
		if err := b.open(id); err != ok {
			return said(err)
		}
		var made unsafe.Pointer
		err := b.do(true, func() int32 { return b.lib.allocCP(b.lnis[0], uint32(b.first), class, 0, &made) })
		if err == ok {
			b.lib.destroyCP(made)
		}
		return said(err)
	})
}

func lprs(lnis uint32) func(*bench) string {
	return with(func(b *bench, id uint32) string {
		if err := b.setLPR(id, lnis); err != ok {
			return said(err)
		}
		return b.readLPR(id)
	})
}

func (b *bench) readLPR(id uint32) string {
	lnis, err := b.lpr(id)
	return fmt.Sprintf("%s, %d", said(err), lnis)
}

func (b *bench) setVNIs(id uint32, from, to uint16) errno {
	return b.setRange(id, []core.VNI{core.VNI(b.first + from), core.VNI(b.first + to)})
}

func ranges(from, to uint16) func(*bench) string {
	return with(func(b *bench, id uint32) string {
		if err := b.setVNIs(id, from, to); err != ok {
			return said(err)
		}
		d, _ := b.get(id)
		e := b.extras(&d)
		return fmt.Sprintf("ok, %d VNIs", e.to-e.from+1)
	}, unnamed)
}

func (b *bench) inNetNS(id uint32) string {
	if err := b.setNetNS(id, 1); err != ok {
		return said(err)
	}
	d, _ := b.get(id)
	return fmt.Sprintf("ok, %d", b.extras(&d).netns)
}

// pools counts the services until the driver has no pool for another.
func pools(r core.Resource, reserved uint16) func(*bench) string {
	return func(b *bench) string {
		for i := range uint16(ReportVNIs) {
			_, fail, err := b.alloc(at(i), limits(r, reserved, reserved))
			if err != ok {
				return fmt.Sprintf("%d, then %s, flags %d %d", i, said(err), fail.noLEPools, fail.noTLEPools)
			}
		}
		return fmt.Sprintf("%d", ReportVNIs)
	}
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
