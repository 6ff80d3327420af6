package cxi

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// sysfs is the root of a sysfs.
type sysfs string

// card is a NIC by name, cxi0, and by the number that libcxi opens.
type card struct {
	name string
	id   uint32
	of   int // NICs of the node
}

// maxNICs bounds the list.
const maxNICs = 64

// physicalBAR is the least size in bytes of a physical NIC's first range of memory. That of a virtual function is smaller.
const physicalBAR = 2 << 30

// virtual reports whether the device is a virtual function of a NIC. On a host the kernel's PCI core links it to its
// physical one; in a virtual machine, where that one is not, only its range of memory tells it.
func (s sysfs) virtual(name string) bool {
	device := filepath.Join(string(s), "class/cxi_user", name, "device")
	if bar, err := os.Stat(filepath.Join(device, "resource0")); err == nil {
		return bar.Size() < physicalBAR
	}
	_, err := os.Lstat(filepath.Join(device, "physfn"))
	return err == nil
}

// cards lists the NICs as libcxi finds them (class cxi_user), in the order of their numbers, and beside them the virtual
// functions, which are none.
func (s sysfs) cards() (out, virtual []card, err error) {
	entries, err := os.ReadDir(filepath.Join(string(s), "class/cxi_user"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, nil, core.Errorf(core.NICFailed, "NICs: %s/class/cxi_user: %w", s, err)
	}
	for _, e := range entries {
		switch id, ok := number(e.Name()); {
		case !ok || len(out) == maxNICs:
		case s.virtual(e.Name()):
			virtual = append(virtual, card{name: e.Name()})
		default:
			out = append(out, card{name: e.Name(), id: id})
		}
	}
	slices.SortFunc(out, func(a, b card) int { return cmp.Compare(a.id, b.id) })
	for i := range out {
		out[i].of = len(out)
	}
	if len(out) > 0 {
		return out, virtual, nil
	}
	if len(virtual) > 0 {
		return nil, virtual, core.Errorf(core.NICMissing, "NICs: %s/class/cxi_user: this node has virtual functions only, the first is %s", s, virtual[0].name).
			WithRemedy("run Weft where the NICs themselves are: the driver makes no service on a virtual function")
	}
	if found, _ := filepath.Glob(filepath.Join(string(s), "class/cxi/cxi*")); len(found) > 0 {
		return nil, nil, core.Errorf(core.NICMissing, "NICs: %s/class/cxi_user: it is empty, though the node has %d NICs: nobody can open one", s, len(found)).
			WithRemedy("load the driver's module for applications: `modprobe cxi-user`")
	}
	return nil, nil, core.Errorf(core.NICMissing, "NICs: %s/class/cxi_user: this node has no Slingshot NIC, or its driver is not loaded", s).
		WithRemedy("load it, `modprobe cxi-ss1 cxi-user`; the kernel log says why a NIC is missing")
}

// number is N of cxiN.
func number(name string) (uint32, bool) {
	digits, ok := strings.CutPrefix(name, "cxi")
	n, err := strconv.ParseUint(digits, 10, 16)
	return uint32(n), ok && err == nil && strconv.FormatUint(n, 10) == digits
}

// read is a file's text of at most 1 MiB without its line end; empty where it cannot be read.
func (s sysfs) read(path ...string) string {
	data, err := file.Read(filepath.Join(append([]string{string(s)}, path...)...), 1<<20)
	if err != nil {
		return ""
	}
	return string(bytes.TrimSpace(data))
}

// place is a NIC's PCI address and its folder, and the number that the kernel gave to the NIC's folder when its driver began with it: a
// NIC that comes back has another folder, and often another name (cass_probe in cass_core.c, SHS 12.0 to 14.0.1).
func (s sysfs) place(nic string) (bus, probed string, sign core.Sign) {
	path := filepath.Join(string(s), "class/cxi_user", nic)
	if device, err := filepath.EvalSymlinks(filepath.Join(path, "device")); err == nil {
		bus = filepath.Base(device)
	}
	var st unix.Stat_t
	if unix.Stat(path, &st) == nil {
		probed, sign = strconv.FormatUint(st.Ino, 10), core.Sign{Path: path, Inode: st.Ino}
	}
	return bus, probed, sign
}

// rgids is how many RGIDs of a NIC no service's LNIs have now.
func (s sysfs) rgids(nic string) (uint32, bool) {
	n, err := strconv.ParseUint(s.read("class/cxi", nic, "device/properties/rgids_avail"), 10, 16)
	return uint32(n), err == nil
}

// profile is a NIC's active QoS profile and the traffic classes that it has; ok is false where the driver does not show them.
func (s sysfs) profile(nic string) (name string, has core.Classes, ok bool) {
	dir := filepath.Join("class/cxi", nic, "device/traffic_classes")
	if name = s.read(dir, "active_qos_profile"); name == "" {
		return "", 0, false
	}
	for i, class := range core.ClassNames() {
		if info, err := os.Stat(filepath.Join(string(s), dir, strings.ToLower(class))); err == nil && info.IsDir() {
			has |= 1 << i
		}
	}
	return name, has, true
}

// mapped is the file of a library that this process has loaded, as its newest name says its version: libcxi.so.1.7.0.
func mapped(path string) string {
	base := filepath.Base(path)
	stem, _, _ := strings.Cut(base, ".so")
	data, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return path
	}
	for line := range strings.Lines(string(data)) {
		at := strings.IndexByte(line, '/')
		if at < 0 {
			continue
		}
		file := strings.TrimSpace(line[at:])
		if filepath.IsAbs(path) && filepath.Dir(file) != filepath.Dir(path) {
			continue
		}
		if strings.HasPrefix(filepath.Base(file), stem+".so") {
			return file
		}
	}
	return path
}
