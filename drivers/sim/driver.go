package sim

import (
	"context"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// Options of a simulated node. The zero value is a node with 4 NICs in memory.
type Options struct {
	Dir     string            // the node's folder, made when it is first needed; empty: in memory
	NICs    int               // 1 to MaxNICs; 0: 4
	Boot    string            // the node's boot id; empty: the machine's own. One that differs from the folder's clears all services
	Address uint32            // fabric address of cxi0; the others follow
	Latency time.Duration     // what each call to a NIC takes
	NoSync  bool              // do not wait for the disk: a power cut may lose services, the death of a process does not
	Release *kernel.Behaviour // nil: SHS 14.0.1
}

// MaxNICs bounds Options.NICs.
const MaxNICs = 16

// Driver is the NIC driver of one simulated node. It is safe for concurrent use, and several drivers and processes may share one folder.
type Driver struct {
	options Options
	adopt   bool          // take the folder as it is, see At
	turn    chan struct{} // one call at a time has what follows
	node
	faults []Fault
	read   []byte // the state file that the node was made of
	script []byte // the faults file that faults were made of
	held   []held // LNIs that are in nics because a file says so
}

var (
	_ core.NICDriver    = (*Driver)(nil)
	_ core.Configurable = (*Driver)(nil)
)

// New is a driver of a node. Nothing is opened before its first call.
func New(o Options) *Driver {
	if o.NICs == 0 {
		o.NICs = 4
	}
	if o.Release == nil {
		o.Release = &kernel.R1401
	}
	o.NICs = min(max(o.NICs, 1), MaxNICs)
	return &Driver{options: o, turn: make(chan struct{}, 1)}
}

// At is a view of a node's folder that another process made. It never clears it, whatever the boot id.
func At(dir string) *Driver {
	d := New(Options{Dir: dir, NICs: MaxNICs})
	d.adopt = true
	return d
}

// Devices lists the NICs that are there. One that does not answer has Fault set.
func (d *Driver) Devices(ctx context.Context) ([]core.Device, error) {
	out := make([]core.Device, d.options.NICs)
	there := make([]bool, d.options.NICs)
	works := make([]work, d.options.NICs)
	for i := range works {
		works[i] = work{device: i, call: CallDevices, do: func(n *kernel.NIC) {
			there[i] = true
			def, _ := n.Get(kernel.DefaultID)
			out[i] = core.Device{
				Name: works[i].name, Address: d.options.Address + uint32(i), Capacity: n.Capacity(),
				Bus: d.slot(i), Probed: d.probed(i), Sign: d.sign(i),
				Classes: d.profile(i), RGIDs: d.rgids(n, i),
				Up: !d.faulty(LinkDown, i) && n.Ethernet(), Retry: !d.faulty(NoRetry, i), Open: def.Enable || d.faulty(Open, i),
			}
		}, fail: func(err *core.Error) {
			there[i] = err.Reason != core.NICMissing
			out[i] = core.Device{Name: works[i].name, Address: d.options.Address + uint32(i), Fault: err.What}
		}}
	}
	if err := d.run(ctx, works, false); err != nil {
		return nil, err
	}
	seen := out[:0]
	for i := range out {
		if there[i] {
			seen = append(seen, out[i])
		}
	}
	return seen, nil
}

// Services reads every service of every NIC that is there. Where one cannot be read the error says which, and what the others hold comes with it.
func (d *Driver) Services(ctx context.Context) ([]core.Service, error) {
	lists := make([][]core.Service, d.options.NICs)
	works := make([]work, d.options.NICs)
	var bad *core.Error
	for i := range works {
		works[i] = work{device: i, call: CallServices, do: func(n *kernel.NIC) {
			lists[i] = ServicesOn(n, works[i].name)
		}, fail: func(err *core.Error) {
			if err.Reason != core.NICMissing && bad == nil {
				bad = err
			}
		}}
	}
	if err := d.run(ctx, works, false); err != nil {
		return nil, err
	}
	var all []core.Service
	for _, l := range lists {
		all = append(all, l...)
	}
	if bad != nil {
		return all, bad
	}
	return all, nil
}

// Create makes services; see core.NICDriver.
func (d *Driver) Create(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
	out := make([]core.Created, len(specs))
	works := make([]work, len(specs))
	for i, spec := range specs {
		works[i] = work{name: spec.Device, call: CallCreate,
			do:   func(n *kernel.NIC) { out[i] = CreateOn(n, spec) },
			fail: func(err *core.Error) { out[i] = core.Created{Err: err} },
		}
	}
	if err := d.run(ctx, works, true); err != nil {
		return nil, err
	}
	return out, nil
}

// Destroy removes services; see core.NICDriver. On a NIC that is not there nothing is known to be gone.
func (d *Driver) Destroy(ctx context.Context, services []core.Service) ([]error, error) {
	out := make([]error, len(services))
	works := make([]work, len(services))
	for i, s := range services {
		works[i] = work{name: s.Device, call: CallDestroy,
			do: func(n *kernel.NIC) {
				if held, errno := n.Get(s.ID); errno == kernel.OK && !held.System && d.faulty(Busy, works[i].device) && Same(n, s, held) {
					out[i] = refusal.Error(s.Device, "cannot remove service", s.ID, kernel.EBUSY)
					return
				}
				out[i] = DestroyOn(n, s)
			},
			fail: func(err *core.Error) { out[i] = err },
		}
	}
	if err := d.run(ctx, works, true); err != nil {
		return nil, err
	}
	return out, nil
}
