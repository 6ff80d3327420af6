package sim

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// bus holds the numbers that the driver gives to a node's NICs. The counter only rises: a NIC that is removed and comes
// back has another name (cass_probe in cass_core.c of SHS 12.0 to 14.0.1). A reload of the driver restarts it.
type bus struct {
	Loads int    `json:"loads"`          // of the driver, after the first of this boot
	Next  int    `json:"next,omitempty"` // number of the next NIC
	Cards []card `json:"cards,omitzero"` // none: all are there and NIC i is cxi<i>
}

// card is one place of the bus.
type card struct {
	Number int  `json:"number"` // of the NIC's name, also while it is gone
	Gone   bool `json:"gone,omitempty"`
}

const maxNumber = 9999

func nicName(number int) string { return "cxi" + strconv.Itoa(number) }

func isNICName(s string) bool {
	digits, is := strings.CutPrefix(s, "cxi")
	n, err := strconv.Atoi(digits)
	return is && err == nil && n >= 0 && n <= maxNumber && s == nicName(n)
}

// check tells why a bus from a file cannot be that of so many NICs.
func (b *bus) check(nics int) error {
	if len(b.Cards) != 0 && len(b.Cards) != nics {
		return fmt.Errorf("it names %d NICs and holds %d", len(b.Cards), nics)
	}
	for i, c := range b.Cards {
		twice := slices.ContainsFunc(b.Cards[:i], func(o card) bool { return o.Number == c.Number })
		if twice || c.Number < 0 || c.Number >= b.Next || b.Next > maxNumber {
			return fmt.Errorf("NIC %d cannot be %s", i, nicName(c.Number))
		}
	}
	return nil
}

// name is the name of the NIC at a place of the bus. The folder is locked.
func (d *Driver) name(device int) string {
	if device < len(d.bus.Cards) {
		device = d.bus.Cards[device].Number
	}
	return nicName(device)
}

// slot is the PCI address of a place of the bus.
func (d *Driver) slot(device int) string { return fmt.Sprintf("0000:%02x:00.0", device+1) }

// probed tells which probe of the NIC by the driver was the newest. The folder is locked.
func (d *Driver) probed(device int) string { return fmt.Sprintf("%d/%s", d.bus.Loads, d.name(device)) }

// signFile is there from a probe of the NIC until the next.
func (d *Driver) signFile(device int) string {
	return filepath.Join(d.options.Dir, "nics", d.probed(device))
}

// sign shows a restart of the NIC to other processes. The folder is locked.
func (d *Driver) sign(device int) (s core.Sign) {
	path, err := filepath.Abs(d.signFile(device))
	var st unix.Stat_t
	if d.options.Dir != "" && err == nil && unix.Stat(path, &st) == nil {
		s = core.Sign{Path: path, Inode: st.Ino}
	}
	return s
}

// signs leaves the files of the NICs that are there, and no others, where every user can look them up. The folder is
// locked.
func (d *Driver) signs() error {
	there := map[string]bool{}
	for i := range d.nics {
		if !d.gone(i) {
			there[d.signFile(i)] = true
		}
	}
	old, err := filepath.Glob(d.path("nics/*/*"))
	for _, path := range old {
		if !there[path] {
			err = errors.Join(err, os.Remove(path))
		}
		delete(there, path)
	}
	for path := range there {
		err = errors.Join(err, os.MkdirAll(filepath.Dir(path), 0o711), os.WriteFile(path, nil, 0o600))
	}
	return err
}

// index is the place of the NIC that has the name and is there; -1: none. The folder is locked.
func (d *Driver) index(name string) int {
	for i := range min(len(d.nics), d.options.NICs) {
		if d.name(i) == name && !d.gone(i) {
			return i
		}
	}
	return -1
}

func (d *Driver) gone(device int) bool { return device < len(d.bus.Cards) && d.bus.Cards[device].Gone }

// settle makes the NICs what the faults Vanish and NetDown say, and reports whether they were something else. A NIC has
// lost its services when it is removed. The folder is locked.
func (d *Driver) settle() (changed bool) {
	for i := range d.nics {
		if gone := d.faulty(Vanish, i); gone != d.gone(i) {
			changed = true
			d.plug(i, !gone)
		}
		if down := d.faulty(NetDown, i); down == d.nics[i].Ethernet() {
			changed = true
			d.nics[i].SetEthernet(!down)
		}
	}
	return changed
}

// plug removes a NIC or brings it back.
func (d *Driver) plug(device int, in bool) {
	for len(d.bus.Cards) < len(d.nics) {
		d.bus.Cards = append(d.bus.Cards, card{Number: d.number()})
	}
	c := &d.bus.Cards[device]
	if c.Gone = !in; in {
		c.Number = d.number()
	}
	d.probe(device)
}

func (d *Driver) number() int {
	d.bus.Next++
	return d.bus.Next - 1
}

// reload is the driver unloaded and loaded again. The folder is locked.
func (d *Driver) reload() error {
	d.bus = bus{Loads: d.bus.Loads + 1}
	for i := range d.nics {
		d.probe(i)
	}
	d.settle()
	return d.forgetBusy()
}

// probe makes a NIC one without services of jobs. Applications keep their files, and no LNI.
func (d *Driver) probe(device int) {
	d.nics[device] = kernel.New(d.nics[device].Behaviour())
	d.held = slices.DeleteFunc(d.held, func(h held) bool { return h.device == device })
}
