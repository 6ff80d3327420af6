// nicdriver is a third party's NIC driver, as small as one can be: NICs that exist in its memory only. docs/plugins.md walks through it.
package main

import (
	"context"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/sdk"
	"slices"
	"sync"
)

type driver struct {
	NICs int `weft:"nics" min:"1" max:"8" doc:"How many NICs the node has, 1 to 8."`
	mu   sync.Mutex
	next uint32
	held []core.Service
}

func main()                                                        { sdk.Serve(&driver{}) }
func (d *driver) lock() func()                                     { d.mu.Lock(); return d.mu.Unlock }
func (d *driver) Schema() core.Schema                              { return sdk.SchemaOf(&driver{NICs: 4}) }
func (d *driver) Configure(_ context.Context, v core.Values) error { return sdk.Decode(v, d) }
func (d *driver) Devices(context.Context) (all []core.Device, _ error) {
	for i := range d.NICs {
		all = append(all, core.Device{Name: "mem" + string('0'+rune(i)), Address: uint32(i), Up: true, Retry: true})
	}
	return all, nil
}

func (d *driver) Services(context.Context) (all []core.Service, _ error) {
	defer d.lock()()
	return slices.Clone(d.held), nil
}

func (d *driver) Create(_ context.Context, specs []core.ServiceSpec) (all []core.Created, _ error) {
	defer d.lock()()
	for _, s := range specs {
		i := slices.IndexFunc(d.held, func(h core.Service) bool {
			return h.Device == s.Device && h.Owner == s.Owner && h.Classes == s.Classes && h.Limits == s.Limits && slices.Equal(h.VNIs, s.VNIs)
		})
		if i < 0 { // none is equal; ids begin at 2, since 1 is the default service
			i, d.next = len(d.held), d.next+1
			d.held = append(d.held, core.Service{Device: s.Device, ID: d.next + 1, Owner: s.Owner, VNIs: s.VNIs, Classes: s.Classes, Limits: s.Limits, Enabled: true})
		}
		all = append(all, core.Created{Service: d.held[i]})
	}
	return all, nil
}

func (d *driver) Destroy(_ context.Context, services []core.Service) ([]error, error) {
	defer d.lock()()
	out := make([]error, len(services)) // nil: it is gone, or was before
	for i, s := range services {
		d.held = slices.DeleteFunc(d.held, func(h core.Service) bool { return h.Same(s) })
		if slices.ContainsFunc(d.held, func(h core.Service) bool { return h.Device == s.Device && h.ID == s.ID }) {
			out[i] = core.Errorf(core.NICConflict, "NIC %s: service %d: it is another", s.Device, s.ID)
		}
	}
	return out, nil
}
