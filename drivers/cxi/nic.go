package cxi

import (
	"context"
	"slices"
	"unsafe"

	"github.com/weft-hpc/weft/core"
)

// nic is a NIC whose handle is open.
type nic struct {
	ctx    context.Context // of the visit: once it is over nothing more is begun
	d      *Driver
	lib    *library
	name   string
	beside int // NICs of the node, with this one
	handle unsafe.Pointer
	info   devinfo
}

// over reports that nobody waits any more.
func (n *nic) over() bool { return n.ctx.Err() != nil }

func openNIC(ctx context.Context, d *Driver, l *library, c card) (*nic, errno) {
	n := &nic{ctx: ctx, d: d, lib: l, name: c.name, beside: c.of}
	if n.over() {
		return nil, ecanceled
	}
	if _, err := code(l.openDevice(c.id, &n.handle)); err != ok {
		return nil, err
	}
	if n.handle == nil {
		return nil, eio
	}
	n.info = *(*devinfo)(n.handle)
	if n.info.vf != 0 {
		n.close()
		return nil, evirtual
	}
	return n, ok
}

func (n *nic) close() { n.lib.closeDevice(n.handle) }

// list is every service of the NIC, as the driver lists them.
func (n *nic) list() ([]desc, errno) {
	return listed[desc](n, n.lib.svcList, n.lib.freeSvcList)
}

// listed copies a list that libcxi makes.
func listed[T any](
	n *nic, get func(unsafe.Pointer, *unsafe.Pointer) int32, free func(unsafe.Pointer),
) ([]T, errno) {
	if n.over() {
		return nil, ecanceled
	}
	var list unsafe.Pointer
	if _, err := code(get(n.handle, &list)); err != ok {
		return nil, err
	}
	defer free(list)
	return items[T](list)
}

// uses is what applications have allocated, by service; nothing with a library that cannot tell.
func (n *nic) uses() (map[uint32]use, errno) {
	if n.lib.useList == nil {
		return nil, ok
	}
	all, err := listed[use](n, n.lib.useList, n.lib.freeUseList)
	out := make(map[uint32]use, len(all))
	for _, u := range all {
		out[u.id] = u
	}
	return out, err
}

// get is one service; einval for an unknown one.
func (n *nic) get(id uint32) (desc, errno) {
	if n.lib.getSvc == nil {
		all, err := n.list()
		for _, d := range all {
			if d.id == id {
				return d, ok
			}
		}
		if err == ok {
			err = einval
		}
		return desc{}, err
	}
	if n.over() {
		return desc{}, ecanceled
	}
	var d desc
	_, err := code(n.lib.getSvc(n.handle, id, &d))
	return d, err
}

// alloc makes a service and gives its id.
func (n *nic) alloc(d *desc) (uint32, failInfo, errno) {
	if n.over() {
		return 0, failInfo{}, ecanceled
	}
	var fail failInfo
	want := *d
	id, err := code(n.lib.allocSvc(n.handle, &want, &fail))
	if err == ok && id == 0 {
		err = eio
	}
	return id, fail, err
}

// destroy removes a service. A service that this visit made is removed even when nobody waits any more: undo says so.
func (n *nic) destroy(id uint32, undo bool) errno {
	if n.over() && !undo {
		return ecanceled
	}
	_, err := code(n.lib.destroySvc(n.handle, id))
	return err
}

// do runs a setting, unless the library lacks it or nobody waits any more.
func (n *nic) do(has bool, f func() int32) errno {
	switch {
	case !has:
		return eopnotsupp
	case n.over():
		return ecanceled
	}
	_, err := code(f())
	return err
}

func (n *nic) enable(id uint32, on bool) errno {
	return n.do(n.lib.enable != nil, func() int32 { return n.lib.enable(n.handle, id, on) })
}

func (n *nic) setLPR(id, lpr uint32) errno {
	return n.do(n.lib.setLPR != nil, func() int32 { return n.lib.setLPR(n.handle, id, lpr) })
}

// lpr is how many LNIs of a service share an RGID.
func (n *nic) lpr(id uint32) (uint32, errno) {
	switch {
	case n.lib.getLPR == nil:
		return 0, eopnotsupp
	case n.over():
		return 0, ecanceled
	}
	return code(n.lib.getLPR(n.handle, id))
}

func (n *nic) setRange(id uint32, vnis []core.VNI) errno {
	return n.do(n.lib.setRange != nil, func() int32 { return n.lib.setRange(n.handle, id, uint16(vnis[0]), uint16(vnis[len(vnis)-1])) })
}

func (n *nic) setNetNS(id, netns uint32) errno {
	return n.do(n.lib.setNetNS != nil, func() int32 { return n.lib.setNetNS(n.handle, id, netns) })
}

// extras are what a service has beside its descriptor. What cannot be read is none: the driver answers EINVAL where there is no range or namespace.
type extras struct {
	from, to uint16 // VNI range
	named    bool   // without restricted_vnis the VNIs of the descriptor are the service's nevertheless
	anyone   bool   // an ignored member lets everybody in
	netns    uint32
}

func (n *nic) extras(d *desc) (e extras) {
	if !d.has(restrictedVNIs) {
		if n.do(n.lib.getRange != nil, func() int32 { return n.lib.getRange(n.handle, d.id, &e.from, &e.to) }) != ok {
			e.from, e.to = 0, 0
		}
		e.named = d.numVNIs > 0 && e.from == 0 && n.traits().named
	}
	ignored := func(m member) bool { return m.kind == ignore }
	if d.has(restrictedMembers) && !d.has(systemService) && slices.ContainsFunc(d.members[:], ignored) {
		e.anyone = n.traits().openIgnore
	}
	if d.has(restrictedMembers) && d.members == [maxMembers]member{} {
		if n.do(n.lib.getNetNS != nil, func() int32 { return n.lib.getNetNS(n.handle, d.id, &e.netns) }) != ok {
			e.netns = 0
		}
	}
	return e
}
