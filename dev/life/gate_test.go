package life

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/drivers/sim"
)

// The steps at which a scenario may step in. Those of a node or of a scheduler end with its name.
const (
	atParse     = "parse "    // the agent has a hook's words read
	atRender    = "render "   // the agent has its answer worded
	atDescribe  = "describe " // the server asks the scheduler about the job
	atCommit    = "commit"    // the server is about to make a grant durable
	atCommitted = "committed" // it is durable, and nobody has been told
	atCreate    = "create "   // the node is about to make services
	atCreated   = "created "  // they stand, and the agent does not know
	atDestroy   = "destroy "  // the node is about to remove them
	atDestroyed = "destroyed "
)

// gates are what scenarios do at steps.
type gates struct {
	mu sync.Mutex
	do map[string]*gate
}

// gate is what is done at one step.
type gate struct {
	once sync.Once
	do   func()      // the first time
	err  *core.Error // every time, from the first one on; nil: none
	past atomic.Bool // somebody came
	only bool        // err is for the first alone
}

// at has f done when the step is reached for the first time; whoever reaches it waits for f. err is what the step comes to, until open.
func (w *world) at(step string, f func(), err *core.Error) *gate {
	w.gates.mu.Lock()
	defer w.gates.mu.Unlock()
	if w.gates.do == nil {
		w.gates.do = map[string]*gate{}
	}
	g := &gate{do: f, err: err}
	w.gates.do[step] = g
	return g
}

// first is at for an error that only the first who comes gets.
func (w *world) first(step string, err *core.Error) {
	g := w.at(step, nil, err)
	w.gates.mu.Lock()
	defer w.gates.mu.Unlock()
	g.only = true
}

// open takes all gates away.
func (w *world) open() {
	w.gates.mu.Lock()
	defer w.gates.mu.Unlock()
	w.gates.do = nil
}

func (w *world) reach(step string) error {
	w.gates.mu.Lock()
	g := w.gates.do[step]
	w.gates.mu.Unlock()
	if g == nil {
		return nil
	}
	if g.past.Swap(true) && g.only {
		return nil
	}
	if g.do != nil {
		g.once.Do(g.do)
	}
	if g.err != nil {
		return g.err
	}
	return nil
}

// passed reports whether somebody came to a step: a full disk takes nothing from then on.
func (w *world) passed(step string) bool {
	w.gates.mu.Lock()
	defer w.gates.mu.Unlock()
	g := w.gates.do[step]
	return g != nil && g.past.Load()
}

// grants reports whether a batch makes a reservation.
func grants(batch []engine.Record) bool {
	return slices.ContainsFunc(batch, func(r engine.Record) bool {
		_, ok := r.(engine.Reservation)
		return ok
	})
}

func (w *world) before(batch []engine.Record) error {
	if !grants(batch) && (!w.passed(atCommit) || w.starting.Load()) { // a server commits its incarnation before it serves
		return nil
	}
	err := w.reach(atCommit)
	if w.server.Load() == nil {
		return errors.New("it was killed")
	}
	return err
}

func (w *world) after(batch []engine.Record) error {
	if grants(batch) {
		return w.reach(atCommitted)
	}
	return nil
}

// driver is a node's NICs, at which a scenario may step in, and where it is seen that no VNI serves two users.
type driver struct {
	*sim.Driver
	mu    sync.Mutex // Driver
	world *world
	node  string
}

func (d *driver) now() *sim.Driver {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.Driver
}

func (d *driver) swap(to *sim.Driver) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.Driver = to
}

// Devices are those of the boot that is now.
func (d *driver) Devices(ctx context.Context) ([]core.Device, error) { return d.now().Devices(ctx) }

func (d *driver) Services(ctx context.Context) ([]core.Service, error) {
	return d.world.showing(d.now())(ctx)
}

func (d *driver) Create(ctx context.Context, specs []core.ServiceSpec) ([]core.Created, error) {
	if err := d.world.reach(atCreate + d.node); err != nil {
		out := make([]core.Created, len(specs))
		for i := range out {
			out[i].Err = err
		}
		// The last NIC alone fails: what stands on the others must be rolled back.
		made, err := d.now().Create(ctx, specs[:len(specs)-1])
		copy(out, made)
		if err != nil {
			d.world.Error(err)
		}
		return out, nil
	}
	out, err := d.world.creating(d.now())(ctx, specs)
	d.world.apart()
	_ = d.world.reach(atCreated + d.node)
	return out, err
}

func (d *driver) Destroy(ctx context.Context, services []core.Service) ([]error, error) {
	if err := d.world.reach(atDestroy + d.node); err != nil {
		out := make([]error, len(services))
		for i := range out {
			out[i] = err
		}
		return out, nil
	}
	out, err := d.world.destroying(d.now())(ctx, services)
	_ = d.world.reach(atDestroyed + d.node)
	return out, err
}

// services are those of jobs on a node.
func (w *world) services(node string) []core.Service {
	all, err := w.nodes[node].driver.now().Services(context.Background())
	if err != nil {
		w.Error(err)
	}
	return slices.DeleteFunc(all, func(s core.Service) bool { return s.System || s.Default })
}

// apart holds that no VNI on any NIC serves two schedulers' users. What another manager gives is its own concern.
func (w *world) apart() {
	owner := map[core.VNI]core.Owner{}
	for _, name := range names {
		if w.nodes[name] == nil {
			continue
		}
		for _, s := range w.services(name) {
			for _, v := range s.VNIs {
				if o, ok := owner[v]; ok && o != s.Owner && v != otherVNI {
					w.Errorf("VNI %d serves %v and %v", v, o, s.Owner)
				}
				owner[v] = s.Owner
			}
		}
	}
}
