package history

import (
	"fmt"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/drivers/sim"
)

type opKind uint8

const (
	looking opKind = iota
	creating
	destroying
	witnessing
)

// op is a call of the NIC driver that is under way: NIC by NIC, service by service.
type op struct {
	kind     opKind
	attempt  attempt
	run      core.Run
	specs    []core.ServiceSpec
	services []core.Service
	uids     []uint32
	at       int // what is done

	devices []core.Device
	seen    []core.Service
	created []core.Created
	errs    []*core.Error
}

func (o *op) over() bool {
	switch o.kind {
	case creating:
		return o.at == len(o.specs)
	case destroying:
		return o.at == len(o.services)
	case witnessing:
		return true
	default:
		return o.at == numNICs
	}
}

// proceed does some of a call's work, or all and answers.
func (b *box) proceed(o *op) {
	for !o.over() {
		b.work(o)
		if b.w.chance(250) {
			return
		}
	}
	i := slices.Index(b.agent.ops, o)
	b.agent.ops = slices.Delete(b.agent.ops, i, i+1)
	var err *core.Error
	if b.w.chance(15) || b.unread {
		err = core.Errorf(core.DriverAway, "driver: its process has ended")
	}
	if b.failed {
		err = core.Errorf(core.DriverAway, "driver: %w", core.Down("its plugin is down"))
	}
	switch o.kind {
	case looking:
		b.reading = o.seen
		b.input(node.Read{Attempt: o.attempt, Devices: o.devices, Services: o.seen, Err: err})
		b.reading = nil
	case witnessing:
		b.input(node.Witnessed{Attempt: o.attempt, Processes: b.processes(o.uids), Err: err})
	case creating:
		b.input(node.Made{Attempt: o.attempt, Results: o.created, Err: err})
	default:
		b.input(node.Removed{Attempt: o.attempt, Errs: o.errs, Err: err})
	}
}

// work does one step of a call.
func (b *box) work(o *op) {
	switch o.kind {
	case looking:
		b.read(o)
	case creating:
		b.create(o)
	default:
		b.destroy(o)
	}
	o.at++
}

func (b *box) read(o *op) {
	n := &b.nics[o.at]
	switch {
	case n.hidden:
		return
	case n.fault:
		o.devices = append(o.devices, core.Device{
			Name: n.name, Fault: "it does not answer", Bus: fmt.Sprint(o.at), Probed: fmt.Sprint(n.probed), Sign: n.sign(),
		})
		return
	}
	o.devices = append(o.devices, core.Device{
		Name: n.name, Up: true, Retry: true, Capacity: n.k.Capacity(), Bus: fmt.Sprint(o.at), Probed: fmt.Sprint(n.probed), Sign: n.sign(),
	})
	for _, own := range n.owned {
		s := own.service
		s.System = own.system && !b.w.calm
		o.seen = append(o.seen, s)
	}
	if b.w.step&7 == 0 { // the system's own services are there too; that they are left alone is seen now and then
		o.seen = append(o.seen, sim.ServicesOn(&n.k, n.name)[:3]...)
	}
}

func (b *box) nic(name string) *nic {
	for i := range b.nics {
		if b.nics[i].name == name {
			return &b.nics[i]
		}
	}
	return &nic{name: name, hidden: true} // it came back under another name
}

func (n *nic) find(id uint32) *owned {
	for _, o := range n.owned {
		if o.id == id {
			return o
		}
	}
	return nil
}

func (b *box) create(o *op) {
	spec := o.specs[o.at]
	n := b.nic(spec.Device)
	var c core.Created
	switch {
	case n.hidden || n.fault:
		c.Err = core.Errorf(core.NICMissing, "NIC %s: it is not there", n.name)
	case b.w.chance(12):
		c.Err = core.Errorf(core.NICFailed, "NIC %s: input/output error", n.name)
	case b.w.chance(12):
		c.Err = core.Errorf(core.NICShort, "NIC %s: too few", n.name).WithShort(core.Shortage{Device: n.name, Resource: core.TXQ, Want: 8, Have: 4})
	case b.w.chance(12):
		c = b.lie(n, o.run, spec)
	default:
		c = sim.CreateOn(&n.k, spec)
		if c.Err == nil {
			if own := n.find(c.Service.ID); own == nil {
				own = &owned{id: c.Service.ID, run: o.run, vnis: spec.VNIs, service: c.Service}
				b.w.law.making(b, n, own)
				n.owned = append(n.owned, own)
			} else if own.run != o.run {
				b.w.fail("R7: %s: NIC %s: service %d of %v was taken for one of %v", b.name, n.name, own.id, own.run, o.run)
			}
			if b.w.chance(8) {
				c = core.Created{Err: core.Errorf(core.NICFailed, "NIC %s: it could not be read back", n.name)}
			}
		}
	}
	o.created = append(o.created, c)
}

// lie answers as if the service had been made: there is none, or it has another owner, other VNIs, another id or no limits,
// or the NIC shows it as the system's for a while.
func (b *box) lie(n *nic, run core.Run, spec core.ServiceSpec) core.Created {
	b.w.say("%s: the driver lies about %v on %s", b.name, run, n.name)
	claim := core.Service{Device: n.name, ID: 99, Owner: spec.Owner, VNIs: spec.VNIs, Classes: spec.Classes, Limits: spec.Limits, Enabled: true}
	real, foreign, system := spec, true, false
	switch b.w.rng.IntN(6) {
	case 0:
		return core.Created{Service: claim}
	case 1:
		real.Owner = core.UID(901)
	case 2:
		real.VNIs = []core.VNI{core.VNI(5000 + b.w.rng.IntN(100))}
	case 3:
		foreign = false
	case 4:
		foreign, real.Limits = false, core.Limits{}
	case 5:
		foreign, system = false, true
	}
	c := sim.CreateOn(&n.k, real)
	if c.Err != nil || n.find(c.Service.ID) != nil {
		return c
	}
	own := &owned{id: c.Service.ID, run: run, vnis: real.VNIs, foreign: foreign, system: system, service: c.Service}
	if n.owned = append(n.owned, own); foreign {
		b.w.law.planted(b, own)
		claim.ID = own.id
	} else {
		b.w.law.making(b, n, own)
	}
	if system || real.Limits != spec.Limits {
		claim.ID = own.id
	}
	return core.Created{Service: claim}
}

func (b *box) destroy(o *op) {
	s := o.services[o.at]
	n := b.nic(s.Device)
	var err error
	switch {
	case n.hidden || n.fault:
		err = core.Errorf(core.NICMissing, "NIC %s: it is not there", n.name)
	case b.w.chance(15):
		err = core.Errorf(core.NICFailed, "NIC %s: input/output error", n.name)
	default:
		own := n.find(s.ID)
		stood := len(n.k.Services())
		err = sim.DestroyOn(&n.k, s)
		if len(n.k.Services()) == stood {
			break
		}
		switch {
		case own == nil:
			b.w.fail("R7: %s: NIC %s: the system's service %d was destroyed", b.name, n.name, s.ID)
		case own.foreign || own.run != o.run:
			b.w.fail("R7: %s: NIC %s: service %d of %v (foreign %v) was destroyed for %v", b.name, n.name, s.ID, own.run, own.foreign, o.run)
		}
		b.forget(n, own)
		if b.w.chance(8) {
			err = core.Errorf(core.NICFailed, "NIC %s: input/output error", n.name)
		}
	}
	if err != nil {
		o.errs = append(o.errs, core.AsError(err))
	} else {
		o.errs = append(o.errs, nil)
	}
}

func (b *box) forget(n *nic, own *owned) {
	i := slices.Index(n.owned, own)
	n.owned = slices.Delete(n.owned, i, i+1)
	b.w.law.removed(own)
}

// stands reports whether a service of run stands on the node, seen or not, or a call may still make one.
func (b *box) stands(run core.Run) string {
	for i := range b.nics {
		for _, o := range b.nics[i].owned {
			if !o.foreign && o.run == run {
				return "service " + o.service.Device + " stands"
			}
		}
	}
	for _, o := range b.agent.ops {
		if o.kind == creating && o.run == run && !o.over() {
			return "a driver call is still making some"
		}
	}
	return ""
}

// processes are those of jobs that live here, with what their prepares left for them.
func (b *box) processes(uids []uint32) (all []node.Process) {
	for _, r := range b.records {
		e, ok := r.(node.Entry)
		if ok && b.env[e.Grant.Run] && slices.Contains(uids, e.Grant.UID) && b.w.sched.Lives(e.Grant.Run, b.name) {
			all = append(all, node.Process{UID: e.Grant.UID, VNIs: core.FormatVNIs(e.Grant.VNIs)})
		}
	}
	return all
}
