package cxi

import (
	"cmp"
	"context"
	"slices"
	"sync"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi/health"
)

// Driver is the NIC driver of the node that it runs on. It is safe for concurrent use and keeps nothing of the NICs but what release they behave as, and for a second their handles.
type Driver struct {
	lanes   lanes
	loading chan struct{} // who loads the library

	mu       sync.Mutex
	settings settings
	loaded   map[string]*library
	known    map[key]traits
	checked  map[string]health.Reading // of the last Check, by NIC
}

var (
	_ core.NICDriver    = (*Driver)(nil)
	_ core.Configurable = (*Driver)(nil)
	_ core.Checker      = (*Driver)(nil)
)

// New is a driver with the defaults of its block. Nothing is loaded before its first call.
func New() *Driver {
	return &Driver{
		settings: defaults, loading: make(chan struct{}, 1), loaded: map[string]*library{}, known: map[key]traits{},
		checked: map[string]health.Reading{},
	}
}

func (d *Driver) now() settings {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.settings
}

// library loads libcxi once; a file that is not there is looked for again by the next call.
func (d *Driver) library(ctx context.Context) (*library, error) {
	d.mu.Lock()
	path := d.settings.library
	l := d.loaded[path]
	d.mu.Unlock()
	if l != nil {
		return l, nil
	}
	select {
	case d.loading <- struct{}{}:
	case <-ctx.Done():
		return nil, ended(ctx, "libcxi: "+path+": another call is still loading it")
	}
	type result struct {
		l   *library
		err error
	}
	out := make(chan result, 1)
	go func() { // a file on a server that does not answer takes this thread with it, and no other call
		defer func() { <-d.loading }()
		d.mu.Lock()
		l := d.loaded[path]
		d.mu.Unlock()
		var err error
		if l == nil {
			if l, err = openLibrary(path); err == nil {
				d.mu.Lock()
				d.loaded[path] = l
				d.mu.Unlock()
			}
		}
		out <- result{l, err}
	}()
	select {
	case r := <-out:
		return r.l, r.err
	case <-ctx.Done():
		return nil, ended(ctx, "libcxi: "+path+": loading it")
	}
}

// begin is what each call needs: the library and the NICs.
func (d *Driver) begin(ctx context.Context, what string) (*library, []card, error) {
	if ctx.Err() != nil {
		return nil, nil, ended(ctx, what)
	}
	lib, err := d.library(ctx)
	if err != nil {
		return nil, nil, err
	}
	cards, _, err := d.now().sys.cards()
	return lib, cards, err
}

// Devices lists the NICs. One that cannot be opened or does not answer has Fault set. A node without any is NICMissing.
func (d *Driver) Devices(ctx context.Context) ([]core.Device, error) {
	ctx, stop := beforeEnd(ctx)
	defer stop()
	lib, cards, err := d.begin(ctx, "cannot list the NICs")
	if err != nil {
		return nil, err
	}
	out := make([]core.Device, len(cards))
	parallel(len(cards), func(i int) {
		device, err := once(ctx, d, lib, cards[i], true, "cannot read it", d.device)
		if err != nil && err.Reason != core.NICMissing {
			device = core.Device{Name: cards[i].name, Fault: err.What, Remedy: err.Known()}
			device.Bus, device.Probed, device.Sign = d.now().sys.place(cards[i].name)
		}
		out[i] = device
	})
	return slices.DeleteFunc(out, func(d core.Device) bool { return d.Name == "" }), nil // virtual functions
}

func (d *Driver) device(n *nic) core.Device {
	out := core.Device{Name: n.name, Address: n.info.nid & (1<<20 - 1)}
	out.Bus, out.Probed, out.Sign = d.now().sys.place(n.name)
	services, err := n.list()
	if err != ok {
		e := failure(n.name, "cannot list its services", 0, err)
		out.Fault, out.Remedy = e.What, e.Known()
		return out
	}
	out.Up, out.Retry = n.info.linkState != 0, n.info.pctEQ != 0
	network := health.NetworkOf(string(d.now().sys), n.name)
	out.Network = network.Name
	if up, known := network.Up(); known {
		out.Up = up
	}
	for i := range services {
		if services[i].id == defaultID && services[i].has(enabled) {
			out.Open = true
		}
	}
	_, out.Classes, _ = d.now().sys.profile(n.name)
	if free, known := d.now().sys.rgids(n.name); known {
		out.RGIDs = core.Stock{Total: totalRGIDs, Free: uint16(min(free, totalRGIDs))}
	}
	out.Capacity = capacity(n.info.totals(), services, n.traits())
	return out
}

// Services reads every service of every NIC. Where one cannot be read the error says which, and what the others hold comes with it.
func (d *Driver) Services(ctx context.Context) ([]core.Service, error) {
	ctx, stop := beforeEnd(ctx)
	defer stop()
	lib, cards, err := d.begin(ctx, "cannot list the services")
	if err != nil {
		return nil, err
	}
	type listed struct {
		services []core.Service
		err      *core.Error
	}
	lists := make([]listed, len(cards))
	parallel(len(cards), func(i int) {
		l, err := once(ctx, d, lib, cards[i], false, "cannot list its services", func(n *nic) (l listed) {
			l.services, l.err = n.services()
			return l
		})
		if err != nil && err.Reason != core.NICMissing {
			l.err = err
		}
		lists[i] = l
	})
	var all []core.Service
	var bad *core.Error
	for _, l := range lists {
		all = append(all, l.services...)
		bad = cmp.Or(bad, l.err)
	}
	if bad != nil {
		return all, bad
	}
	return all, nil
}

// services are all of the NIC's, in Weft's words.
func (n *nic) services() ([]core.Service, *core.Error) {
	list, err := n.list()
	if err != ok {
		return nil, failure(n.name, "cannot list its services", 0, err)
	}
	uses, err := n.uses()
	if err != ok {
		return nil, failure(n.name, "cannot read what its services use", 0, err)
	}
	out := make([]core.Service, 0, len(list))
	for i := range list {
		seen := view(n.name, &list[i], n.extras(&list[i]), uses[list[i].id])
		if !seen.System && !seen.Default {
			if lnis, err := n.lpr(seen.ID); err == ok {
				seen.LNIs = uint16(lnis)
			}
		}
		out = append(out, seen)
	}
	if n.over() {
		return nil, failure(n.name, "cannot list its services", 0, ecanceled)
	}
	return out, nil
}
