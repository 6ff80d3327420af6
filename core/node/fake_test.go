package node

import (
	"fmt"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// nics is the NICs of a node as a list of services: what a driver would see.
type nics struct {
	devices  []core.Device
	services []core.Service
	busy     map[string]bool // "cxi0/7"
}

func newNICs(n int) *nics {
	f := &nics{busy: map[string]bool{}}
	for i := range n {
		d := core.Device{Name: fmt.Sprintf("cxi%d", i), Up: true, Retry: true}
		for r := range d.Capacity {
			d.Capacity[r] = core.Supply{Total: 1000, Free: 1000}
		}
		f.devices = append(f.devices, d)
		f.services = append(f.services,
			core.Service{Device: d.Name, ID: 1, Default: true, VNIs: core.DefaultVNIs[:]},
			core.Service{Device: d.Name, ID: 2, System: true})
	}
	return f
}

func (f *nics) device(name string) *core.Device {
	for i := range f.devices {
		if f.devices[i].Name == name {
			return &f.devices[i]
		}
	}
	return nil
}

// there are the services that show: those of a NIC that is gone do not.
func (f *nics) there() []core.Service {
	var out []core.Service
	for _, s := range f.services {
		if f.device(s.Device) != nil {
			out = append(out, s)
		}
	}
	return out
}

func (f *nics) make(spec core.ServiceSpec) core.Created {
	d := f.device(spec.Device)
	if d == nil || d.Fault != "" {
		return core.Created{Err: core.Errorf(core.NICFailed, "NIC %s: no such device", spec.Device)}
	}
	var id uint32 = 1
	for slices.ContainsFunc(f.services, func(s core.Service) bool { return s.Device == spec.Device && s.ID == id }) {
		id++
	}
	for r, l := range spec.Limits {
		if have := f.free(spec.Device, core.Resource(r)); l.Reserved > have {
			return core.Created{Err: core.Errorf(core.NICShort, "NIC %s: %v", spec.Device, core.Resource(r)).
				WithShort(core.Shortage{Device: spec.Device, Resource: core.Resource(r), Want: l.Reserved, Have: have})}
		}
	}
	s := core.Service{Device: spec.Device, ID: id, Owner: spec.Owner, VNIs: spec.VNIs, Classes: spec.Classes, Limits: spec.Limits, Enabled: true}
	f.services = append(f.services, s)
	return core.Created{Service: s}
}

func (f *nics) free(device string, r core.Resource) uint16 {
	free := f.device(device).Capacity[r].Total
	for _, s := range f.services {
		if s.Device == device {
			free -= s.Limits[r].Reserved
		}
	}
	return free
}

func (f *nics) unmake(s core.Service) *core.Error {
	i := slices.IndexFunc(f.services, func(t core.Service) bool { return t.Device == s.Device && t.ID == s.ID })
	switch {
	case f.device(s.Device) == nil:
		return core.Errorf(core.NICFailed, "NIC %s: no such device", s.Device)
	case i < 0:
		return nil
	case !f.services[i].Same(s):
		return core.Errorf(core.NICConflict, "NIC %s: service %d is another", s.Device, s.ID)
	case f.busy[fmt.Sprintf("%s/%d", s.Device, s.ID)]:
		return core.Errorf(core.ServiceBusy, "NIC %s: service %d is busy", s.Device, s.ID)
	}
	f.services = slices.Delete(f.services, i, i+1)
	return nil
}

// reading is what a Look shows now.
func (f *nics) reading(a Attempt) Read {
	devices := slices.Clone(f.devices)
	for i := range devices {
		for r := range devices[i].Capacity {
			devices[i].Capacity[r].Free = f.free(devices[i].Name, core.Resource(r))
		}
	}
	return Read{Attempt: a, Devices: devices, Services: f.there()}
}

// books are the committed records by name, as a store keeps them.
type books struct {
	of    map[string]Record
	order []string
}

func (b *books) commit(records []Record) {
	if b.of == nil {
		b.of = map[string]Record{}
	}
	for _, r := range records {
		if d, ok := r.(Delete); ok {
			delete(b.of, d.Of)
			b.order = slices.DeleteFunc(b.order, func(s string) bool { return s == d.Of })
			continue
		}
		if _, known := b.of[r.Name()]; !known {
			b.order = append(b.order, r.Name())
		}
		b.of[r.Name()] = r
	}
}

func (b *books) all() []Record {
	out := make([]Record, len(b.order))
	for i, n := range b.order {
		out[i] = b.of[n]
	}
	return out
}

// bench runs a machine against nics, doing each action at once unless it is held.
type bench struct {
	cfg     Config
	m       *Machine
	nics    *nics
	books   books
	now     time.Duration
	grant   func(Reserve) (core.Grant, *core.Error)
	hold    func(Action) bool // true: do not do it, keep it
	held    []Action
	broken  *core.Error // what each reading of the NICs fails with
	todo    []Action    // in order
	doing   bool
	log     []Action
	replies map[uint64]core.Outcome
	call    uint64
}

func newBench(n int) *bench {
	b := &bench{cfg: Config{Node: "n1", Boot: "boot-1", SelfService: []string{"local"}}, nics: newNICs(n), replies: map[uint64]core.Outcome{}}
	b.grant = func(r Reserve) (core.Grant, *core.Error) { return grantOf(r, 4034), nil }
	b.start()
	return b
}

func grantOf(r Reserve, vnis ...core.VNI) core.Grant {
	g := core.Grant{Run: core.Run{Key: r.Ask.Key, Fingerprint: core.Fingerprint{UID: r.Ask.UID, Submitted: 1}}, GID: 100, VNIs: vnis, Classes: core.BestEffort}
	for i := range g.Limits {
		g.Limits[i] = core.Limit{Max: 500, Reserved: 10}
	}
	g.Head = core.Head{Store: "s", Epoch: 1, Revision: 1}
	return g
}

// start makes the machine from what is committed: a restart.
func (b *bench) start() {
	b.held, b.todo = nil, nil
	m, records, actions := New(b.cfg, b.books.all(), core.Moment{Uptime: b.now})
	b.m = m
	b.after(records, actions)
}

func (b *bench) step(in Input) {
	records, actions := b.m.Step(core.Moment{Uptime: b.now}, in)
	b.after(records, actions)
}

func (b *bench) after(records []Record, actions []Action) {
	b.books.commit(records)
	b.log = append(b.log, actions...)
	b.todo = append(b.todo, actions...)
	if b.doing {
		return
	}
	for b.doing = true; len(b.todo) > 0; {
		a := b.todo[0]
		b.todo = b.todo[1:]
		if b.hold != nil && b.hold(a) {
			b.held = append(b.held, a)
		} else {
			b.do(a)
		}
	}
	b.doing = false
}

// do an action and step its result.
func (b *bench) do(a Action) {
	switch a := a.(type) {
	case Reserve:
		g, err := b.grant(a)
		b.step(Reserved{a.Attempt, g, err})
	case Look:
		if b.broken != nil {
			b.step(Read{Attempt: a.Attempt, Err: b.broken})
			return
		}
		b.step(b.nics.reading(a.Attempt))
	case Create:
		var out []core.Created
		for _, s := range a.Specs {
			out = append(out, b.nics.make(s))
		}
		b.step(Made{Attempt: a.Attempt, Results: out})
	case Destroy:
		var out []*core.Error
		for _, s := range a.Services {
			out = append(out, b.nics.unmake(s))
		}
		b.step(Removed{Attempt: a.Attempt, Errs: out})
	case Reply:
		if _, twice := b.replies[a.Call]; twice {
			panic(fmt.Sprintf("call %d answered twice", a.Call))
		}
		b.replies[a.Call] = a.Outcome
	}
}

// release does what was held.
func (b *bench) release() {
	held := b.held
	b.held, b.hold = nil, nil
	for _, a := range held {
		b.do(a)
	}
}

// ticks lets time pass.
func (b *bench) pass(d time.Duration) {
	until := b.now + d
	for {
		next := b.m.Next()
		if next > until {
			break
		}
		b.now = max(b.now, next)
		b.step(Tick{})
	}
	b.now = until
	b.step(Tick{})
}

func job(id string, gen uint32) core.Key {
	return core.Key{JobID: core.JobID{Scheduler: "slurm", Job: id}, Generation: gen}
}

// hook sends a call and gives its number.
func (b *bench) hook(ask core.Intent, uid uint32) uint64 {
	b.call++
	b.step(Hook{Call: b.call, Ask: ask, Peer: core.Peer{UID: uid}, Until: b.now + 8*time.Second})
	return b.call
}

func (b *bench) prepare(k core.Key, uid uint32, began int64) uint64 {
	return b.hook(core.Intent{Action: core.Prepare, Key: k, UID: uid, Began: began}, 0)
}

func (b *bench) cleanUp(k core.Key, began int64) uint64 {
	return b.hook(core.Intent{Action: core.CleanUp, Key: k, Began: began}, 0)
}

// ours are the services on the NICs that are neither the system's nor the default.
func (b *bench) ours() []core.Service {
	var out []core.Service
	for _, s := range b.nics.services {
		if !s.System && !s.Default {
			out = append(out, s)
		}
	}
	return out
}

func count[T Action](b *bench) int { return len(all[T](b)) }

func all[T Action](b *bench) []T {
	var out []T
	for _, a := range b.log {
		if a, ok := a.(T); ok {
			out = append(out, a)
		}
	}
	return out
}
