// nicdriver is a third party's NIC driver, as small as one can be: NICs that exist in its memory only. docs/plugins.md walks through it.
package main

import (
	"context"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/sdk"
	"reflect"
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
func (d *driver) Services(context.Context) ([]core.Service, error) {
	defer d.lock()()
	return slices.Clone(d.held), nil
}
func (d *driver) Create(ctx context.Context, specs []core.ServiceSpec) (all []core.Created, _ error) {
	defer d.lock()()
	for _, s := range specs {
		made := core.Service{Device: s.Device, ID: d.next + 2, Owner: s.Owner, VNIs: s.VNIs, Classes: s.Classes, Limits: s.Limits, Enabled: true}
		if ctx.Err() != nil { // there is no time left to begin
			all = append(all, core.Created{Err: core.Errorf(core.TimedOut, "NIC %s: cannot create service: %w", s.Device, ctx.Err())})
		} else if n := len(s.VNIs); n < 1 || n > core.MaxVNIs || slices.Contains(s.VNIs, 0) || s.Owner == (core.Owner{}) || len(s.Device) != 4 || s.Device < "mem0" || s.Device >= "mem"+string('0'+rune(d.NICs)) {
			all = append(all, core.Created{Err: core.Errorf(core.BadCall, "NIC %s: cannot create service: there is no such NIC, owner or VNI", s.Device)})
		} else if i := slices.IndexFunc(d.held, func(h core.Service) bool { h.ID = made.ID; return reflect.DeepEqual(h, made) }); i >= 0 {
			all = append(all, core.Created{Service: d.held[i]})
		} else { // none is equal; ids begin at 2, since 1 is the default service
			all, d.held, d.next = append(all, core.Created{Service: made}), append(d.held, made), d.next+1
		}
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
