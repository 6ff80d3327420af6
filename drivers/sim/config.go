package sim

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// Schema describes the driver's block in config.hcl.
func (d *Driver) Schema() core.Schema {
	return core.Schema{Fields: []core.Field{
		{Name: "nics", Kind: core.KindInt, Default: int64(4), Doc: "How many NICs the node has, 1 to 16."},
		{Name: "shs", Kind: core.KindString, Default: kernel.Behaviours()[0].Release, Doc: "The Slingshot release whose rules the NICs follow: " + known() + "."},
		{Name: "state", Kind: core.KindString, Default: "", Doc: "Folder that keeps the services, an absolute path; empty keeps them in memory."},
		{Name: "latency", Kind: core.KindDuration, Default: time.Duration(0), Doc: "What each call to a NIC takes, 0s to 1m."},
		{Name: "boot", Kind: core.KindString, Default: "", Doc: "The node's boot id: another one clears all services; empty is the machine's own."},
		{Name: "sync", Kind: core.KindBool, Default: true, Doc: "Wait for the disk before a call answers; false for benchmarks."},
	}}
}

// known lists the releases that a simulated NIC can follow.
func known() string {
	var names []string
	for _, b := range kernel.Behaviours() {
		names = append(names, b.Release)
	}
	slices.Reverse(names)
	return strings.Join(names, ", ")
}

// Configure sets the driver up. It is called before the driver is used.
func (d *Driver) Configure(ctx context.Context, values core.Values) error {
	o := Options{NICs: 4, Address: d.options.Address, Release: d.options.Release}
	bad := func(field, format string, args ...any) error {
		return &core.PathError{Path: []string{field}, Err: core.Errorf(core.BadConfig, field+": "+format, args...)}
	}
	for name, value := range values {
		ok := true
		switch name {
		case "nics":
			var n int64
			if n, ok = value.(int64); ok && (n < 1 || n > MaxNICs) {
				return bad(name, "%d: a simulated node has 1 to %d NICs", n, MaxNICs)
			}
			o.NICs = int(n)
		case "shs":
			var release string
			if release, ok = value.(string); ok {
				if o.Release = kernel.Named(release); o.Release == nil {
					return bad(name, "%q: the rules of that release are not known; use %s", core.Clip(release), known())
				}
			}
		case "state":
			if o.Dir, ok = value.(string); ok && o.Dir != "" && !filepath.IsAbs(o.Dir) {
				return bad(name, "%q: it must be an absolute path", core.Clip(o.Dir))
			}
		case "latency":
			if o.Latency, ok = value.(time.Duration); ok && (o.Latency < 0 || o.Latency > time.Minute) {
				return bad(name, "%v: it must be 0s to 1m", o.Latency)
			}
		case "boot":
			if o.Boot, ok = value.(string); ok && o.Boot != "" {
				if err := core.CheckName("boot id", o.Boot, 64); err != nil {
					return bad(name, "%w", err)
				}
			}
		case "sync":
			var sync bool
			sync, ok = value.(bool)
			o.NoSync = !sync
		default:
			return bad(name, "a simulated driver has no such setting")
		}
		if !ok {
			return bad(name, "%v: it is of the wrong kind", value)
		}
	}
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return ended(ctx, "simulated node: configure")
	}
	defer func() { <-d.turn }()
	d.options, d.node, d.faults, d.read, d.script, d.held = o, node{}, nil, nil, nil, nil
	return nil
}
