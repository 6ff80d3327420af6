package sim

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

// FaultKind is what goes wrong.
type FaultKind string

// The kinds of faults.
const (
	Latency  FaultKind = "latency"   // each call takes Delay longer
	Busy     FaultKind = "busy"      // a service cannot be removed: EBUSY, as when queues do not drain
	Fail     FaultKind = "fail"      // the Nth call from now fails with EIO, once
	Hang     FaultKind = "hang"      // calls do not return until shortly before their deadline
	Vanish   FaultKind = "vanish"    // the NIC is removed with its services; once that is over it is back under another name
	Reload   FaultKind = "reload"    // the driver is loaded again, at once and once: all services end, names and ids start anew
	LinkDown FaultKind = "link-down" // the link is down
	NetDown  FaultKind = "net-down"  // so is the network interface: its service ends, and its id is free
	NoRetry  FaultKind = "no-retry"  // the retry handler does not run
	Open     FaultKind = "open"      // the default service shows as enabled
	Profile  FaultKind = "profile"   // the active QoS profile has BEST_EFFORT alone
	NoRGIDs  FaultKind = "no-rgids"  // all RGIDs show as taken
)

// FaultKinds lists the kinds.
func FaultKinds() []FaultKind {
	return []FaultKind{Latency, Busy, Fail, Hang, Vanish, Reload, LinkDown, NetDown, NoRetry, Open, Profile, NoRGIDs}
}

// Call names a method of the driver, for Fault.
type Call string

// The calls to a NIC.
const (
	CallDevices  Call = "devices"
	CallServices Call = "services"
	CallCreate   Call = "create"
	CallDestroy  Call = "destroy"
	CallOpen     Call = "open" // an application opens an LNI
)

// failed says in a message that the call had no success.
func (c Call) failed() string {
	switch c {
	case CallDevices, CallServices:
		return "cannot read " + string(c)
	case CallCreate:
		return "cannot create service"
	case CallDestroy:
		return "cannot remove service"
	case CallOpen:
	}
	return "cannot open an LNI"
}

// Fault is one thing that goes wrong on a NIC from now on.
type Fault struct {
	Kind   FaultKind     `json:"kind"`
	Device string        `json:"device,omitempty"` // cxi0; empty: every NIC
	Call   Call          `json:"call,omitempty"`   // Latency, Fail, Hang: only this call; empty: each
	Delay  time.Duration `json:"delay,omitempty"`  // Latency
	Nth    int           `json:"nth,omitempty"`    // Fail: from 1; the calls that Device and Call name count
	For    time.Duration `json:"for,omitempty"`    // how long it lasts; 0: until it is cleared
	Until  time.Time     `json:"until,omitzero"`   // set from For
}

func (f Fault) check() error {
	bad := func(format string, args ...any) error {
		return core.Errorf(core.BadCall, "fault %q: "+format, append([]any{core.Clip(string(f.Kind))}, args...)...)
	}
	switch {
	case !slices.Contains(FaultKinds(), f.Kind):
		var kinds []string
		for _, k := range FaultKinds() {
			kinds = append(kinds, string(k))
		}
		return core.Errorf(core.BadCall, "fault %q: there is no such kind", core.Clip(string(f.Kind))).WithRemedy("use " + strings.Join(kinds, ", "))
	case f.Device != "" && !isNICName(f.Device):
		return bad("NIC %q: simulated NICs are cxi0, cxi1 and so on", core.Clip(f.Device))
	case f.Kind == Reload && (f.Device != "" || f.For != 0):
		return bad("it ends at once, and one driver serves all NICs of a node")
	case !slices.Contains([]Call{"", CallDevices, CallServices, CallCreate, CallDestroy, CallOpen}, f.Call):
		return bad("call %q: use devices, services, create, destroy or open", core.Clip(string(f.Call)))
	case f.Kind == Latency && f.Delay <= 0:
		return bad("it needs a delay above 0")
	case f.Kind == Fail && f.Nth < 1:
		return bad("it needs the number of the call that is to fail, from 1")
	case f.For < 0:
		return bad("it cannot last %v", f.For)
	}
	return nil
}

func (f Fault) over(now time.Time) bool { return !f.Until.IsZero() && !now.Before(f.Until) }

func (f Fault) String() string {
	s := string(f.Kind)
	if f.Device != "" {
		s += " " + f.Device
	}
	if f.Call != "" {
		s += " " + string(f.Call)
	}
	if f.Kind == Latency {
		s += " " + f.Delay.String()
	}
	if f.Kind == Fail {
		s += fmt.Sprintf(" at call %d", f.Nth)
	}
	if !f.Until.IsZero() {
		s += " until " + f.Until.Format(time.RFC3339)
	}
	return s
}

// SetFault lets f happen on the node from now on, in place of an earlier fault of the same kind, NIC and call.
func (d *Driver) SetFault(ctx context.Context, f Fault) error {
	if err := f.check(); err != nil {
		return err
	}
	f.Until = time.Time{}
	if f.For > 0 {
		f.Until = time.Now().Add(f.For)
	}
	if f.Kind == Reload {
		return d.change(ctx, d.reload)
	}
	return d.changeFaults(ctx, func(old []Fault) []Fault {
		old = slices.DeleteFunc(old, func(o Fault) bool { return o.Kind == f.Kind && o.Device == f.Device && o.Call == f.Call })
		return append(old, f)
	})
}

// ClearFaults ends the faults of a kind on a NIC; an empty kind is every kind, an empty device every NIC.
func (d *Driver) ClearFaults(ctx context.Context, kind FaultKind, device string) error {
	return d.changeFaults(ctx, func(old []Fault) []Fault {
		return slices.DeleteFunc(old, func(o Fault) bool { return (kind == "" || o.Kind == kind) && (device == "" || o.Device == device) })
	})
}

// Faults lists what goes wrong now.
func (d *Driver) Faults(ctx context.Context) ([]Fault, error) {
	var out []Fault
	err := d.locked(ctx, false, func() {
		now := time.Now()
		for _, f := range d.faults {
			if !f.over(now) {
				out = append(out, f)
			}
		}
	})
	return out, err
}

func (d *Driver) changeFaults(ctx context.Context, change func([]Fault) []Fault) error {
	return d.change(ctx, func() error {
		err := d.keepFaults(change(slices.Clone(d.faults)))
		d.settle()
		return err
	})
}

// change changes the node in a way that can fail.
func (d *Driver) change(ctx context.Context, how func() error) error {
	var failed error
	if err := d.locked(ctx, true, func() { failed = how() }); err != nil {
		return err
	}
	return failed
}

// faulty reports whether a fault of the kind is on the NIC now. The folder is locked.
func (d *Driver) faulty(kind FaultKind, device int) bool {
	now := time.Now()
	for _, f := range d.faults {
		if f.Kind == kind && (f.Device == "" || f.Device == d.name(device)) && !f.over(now) {
			return true
		}
	}
	return false
}

// consult is what the faults make of one call. The folder is locked.
func (d *Driver) consult(device int, call Call) (delay time.Duration, hang, failed bool) {
	delay = d.options.Latency
	if len(d.faults) == 0 {
		return delay, false, false
	}
	now, counted := time.Now(), false
	kept := slices.Clone(d.faults)
	for i := range kept {
		f := &kept[i]
		if f.Device != "" && f.Device != d.name(device) || f.Call != "" && f.Call != call || f.over(now) {
			continue
		}
		switch f.Kind {
		case Latency:
			delay += f.Delay
		case Hang:
			hang = true
		case Fail:
			counted = true
			f.Nth--
			failed = failed || f.Nth == 0
		case Busy, Vanish, Reload, LinkDown, NetDown, NoRetry, Open, Profile, NoRGIDs:
			// these are no matter of a call
		}
	}
	if counted {
		kept = slices.DeleteFunc(kept, func(f Fault) bool { return f.Kind == Fail && f.Nth == 0 })
		if err := d.keepFaults(kept); err != nil {
			failed = true // the count is lost: better a fault too many than one that never comes
		}
	}
	return delay, hang, failed
}
