package sim

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/file"
	"github.com/weft-hpc/weft/poll"
)

// locked runs fn while nobody else, in this process or another, uses the node, with its NICs as they are now. What fn changed is durable when locked
// returns, if writes; on an error nothing of it is.
func (d *Driver) locked(ctx context.Context, writes bool, fn func()) error {
	if ctx.Err() != nil {
		return ended(ctx, "simulated node: the call came too late")
	}
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return ended(ctx, "simulated node: other calls are still at work")
	}
	defer func() { <-d.turn }()
	if d.options.Dir == "" {
		d.complete()
		d.settle()
		fn()
		return nil
	}
	lock, err := d.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.Close() // frees the lock
	if err := d.load(); err != nil {
		return err
	}
	settled := d.settle()
	fn()
	if !writes && !settled {
		return nil
	}
	if err := d.save(); err != nil {
		d.node, d.read, d.held = node{}, nil, nil
		return err
	}
	return nil
}

// complete adds NICs that the node does not have yet.
func (d *Driver) complete() {
	if d.nics == nil {
		d.nics = make([]kernel.NIC, 0, d.options.NICs)
	}
	for len(d.nics) < d.options.NICs {
		d.nics = append(d.nics, kernel.New(d.options.Release))
		if len(d.bus.Cards) > 0 {
			d.bus.Cards = append(d.bus.Cards, card{Number: d.number()})
		}
	}
}

// lock takes the folder's lock. flock cannot be waited for with a deadline, so it is tried at growing intervals.
func (d *Driver) lock(ctx context.Context) (*os.File, error) {
	f, err := os.OpenFile(d.path("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if errors.Is(err, fs.ErrNotExist) && !d.adopt {
		if err := os.MkdirAll(d.options.Dir, 0o711); err != nil {
			return nil, d.broken("make it", err)
		}
		f, err = os.OpenFile(d.path("lock"), os.O_RDWR|os.O_CREATE, 0o600)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, core.Errorf(core.NotThere, "simulated node %s: there is no such folder", d.options.Dir).WithRemedy("start its agent first, or name the folder that the driver's state names")
	}
	if err != nil {
		return nil, d.broken("cannot open its lock", err)
	}
	for pause := 100 * time.Microsecond; ; pause = min(2*pause, 20*time.Millisecond) {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		switch {
		case err == nil:
			return f, nil
		case !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR):
			f.Close()
			return nil, d.broken("lock it", err)
		case !poll.Pause(ctx, pause):
			f.Close()
			return nil, ended(ctx, "simulated node "+d.options.Dir+": another process holds its lock")
		}
	}
}

// load makes nics, faults and LNIs what the folder says.
func (d *Driver) load() error {
	data, err := file.Read(d.path("state"), maxState)
	switch {
	case errors.Is(err, fs.ErrNotExist) && d.adopt:
		return core.Errorf(core.NotThere, "simulated node %s: it has no state file", d.options.Dir).WithRemedy("start its agent first")
	case errors.Is(err, fs.ErrNotExist):
		d.node, d.read, d.held = node{booted: d.boot()}, nil, nil
	case err != nil:
		return d.broken("cannot read its state", err)
	case d.nics != nil && bytes.Equal(data, d.read):
		return d.loadScene()
	default:
		n, err := decodeState(data)
		if err != nil {
			return d.spoiled("state", err)
		}
		d.node, d.read, d.held = n, data, nil
		if d.adopt || n.booted == d.boot() && (len(n.nics) == 0 || n.nics[0].Behaviour() == d.options.Release) {
			break
		}
		d.node = node{booted: d.boot()} // a reboot, or another driver was loaded: nothing of the driver's survives it
		if err := d.forgetBoot(); err != nil {
			return d.broken("clear it after a reboot", err)
		}
	}
	if !d.adopt {
		d.complete()
		if err := d.save(); err != nil {
			return err
		}
	}
	return d.loadScene()
}

// loadScene reads what other processes do to the node: faults and LNIs.
func (d *Driver) loadScene() error {
	if err := d.loadFaults(); err != nil {
		return err
	}
	if err := d.loadLNIs(); err != nil {
		return d.broken("cannot read its LNIs", err)
	}
	return nil
}

func (d *Driver) forgetBoot() error {
	if err := os.RemoveAll(d.path("lni")); err != nil {
		return err
	}
	if err := d.loadFaults(); err != nil {
		return err
	}
	return d.forgetBusy()
}

// forgetBusy ends the faults of services that are gone.
func (d *Driver) forgetBusy() error {
	kept := slices.DeleteFunc(slices.Clone(d.faults), func(f Fault) bool { return f.Kind == Busy })
	if len(kept) == len(d.faults) {
		return nil
	}
	return d.keepFaults(kept)
}

// save writes the state, unless it is what the file holds already.
func (d *Driver) save() error {
	data, err := encodeState(d.node, d.options.Release)
	if err != nil {
		return d.broken("write its state", err)
	}
	if bytes.Equal(data, d.read) {
		return nil
	}
	if err := d.signs(); err != nil {
		return d.broken("write its NICs' files", err)
	}
	if err := file.Replace(d.path("state"), data, file.How{Mode: 0o600, Volatile: d.options.NoSync}); err != nil {
		return d.broken("write its state", err)
	}
	d.read = data
	return nil
}

func (d *Driver) loadFaults() error {
	data, err := file.Read(d.path("faults"), maxFaults)
	if errors.Is(err, fs.ErrNotExist) {
		d.faults, d.script = nil, nil
		return nil
	}
	if err != nil {
		return d.broken("cannot read its faults", err)
	}
	if bytes.Equal(data, d.script) {
		return nil
	}
	faults, err := decodeFaults(data)
	if err != nil {
		return d.spoiled("faults", err)
	}
	d.faults, d.script = faults, data
	return nil
}

// keepFaults makes the node's faults fs, for every process. They need not survive a power cut.
func (d *Driver) keepFaults(fs []Fault) error {
	if d.options.Dir != "" {
		data, err := json.MarshalIndent(fs, "", "\t")
		if err == nil {
			err = file.Replace(d.path("faults"), data, file.How{Mode: 0o600, Volatile: true})
		}
		if err != nil {
			return d.broken("write its faults", err)
		}
		d.script = data
	}
	d.faults = fs
	return nil
}

func (d *Driver) path(name string) string { return filepath.Join(d.options.Dir, name) }

// boot is this boot's id: the one given, or the machine's.
func (d *Driver) boot() string {
	if d.options.Boot == "" {
		d.options.Boot = "unknown"
		if id, err := file.Read("/proc/sys/kernel/random/boot_id", 4096); err == nil {
			d.options.Boot = strings.TrimSpace(string(id))
		}
	}
	return d.options.Boot
}

func (d *Driver) broken(what string, err error) error {
	return core.Errorf(core.NICFailed, "simulated node %s: cannot %s: %w", d.options.Dir, what, err).WithRemedy("see the folder's rights and the space on its disk")
}

func (d *Driver) spoiled(file string, err error) error {
	return core.Errorf(core.NICFailed, "simulated node %s: its file %s: %w", d.options.Dir, file, err).WithRemedy("move the file away; the node begins without it")
}
