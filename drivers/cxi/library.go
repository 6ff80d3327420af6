package cxi

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"unsafe"

	"github.com/ebitengine/purego"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/file"
)

// library is libcxi, loaded. Functions of symbol versions after LIBCXI_1.0 are nil where the library lacks them. None is ever unloaded: a thread may hang
// in it.
//
// All of them may be called by several threads at the same time, also with one device's handle: each is one write(2) to the driver.
type library struct {
	openDevice  func(id uint32, dev *unsafe.Pointer) int32
	closeDevice func(dev unsafe.Pointer)
	allocSvc    func(dev unsafe.Pointer, d *desc, fail *failInfo) int32
	destroySvc  func(dev unsafe.Pointer, id uint32) int32
	svcList     func(dev unsafe.Pointer, list *unsafe.Pointer) int32
	freeSvcList func(list unsafe.Pointer)
	allocLNI    func(dev unsafe.Pointer, lni *unsafe.Pointer, id uint32) int32
	destroyLNI  func(lni unsafe.Pointer) int32
	allocCP     func(lni unsafe.Pointer, vni, class, kind uint32, cp *unsafe.Pointer) int32
	destroyCP   func(cp unsafe.Pointer) int32

	getSvc      func(dev unsafe.Pointer, id uint32, d *desc) int32          // LIBCXI_1.2
	useList     func(dev unsafe.Pointer, list *unsafe.Pointer) int32        // 1.5
	freeUseList func(list unsafe.Pointer)                                   // 1.5
	setLPR      func(dev unsafe.Pointer, id, lpr uint32) int32              // 1.8
	getLPR      func(dev unsafe.Pointer, id uint32) int32                   // 1.8
	enable      func(dev unsafe.Pointer, id uint32, on bool) int32          // 1.9, SHS 13.1
	setRange    func(dev unsafe.Pointer, id uint32, from, to uint16) int32  // 1.9
	getRange    func(dev unsafe.Pointer, id uint32, from, to *uint16) int32 // 1.9
	setNetNS    func(dev unsafe.Pointer, id, netns uint32) int32            // 1.10, SHS 14.0
	getNetNS    func(dev unsafe.Pointer, id uint32, netns *uint32) int32    // 1.10
	bufCmdq     func()                                                      // 1.11, newer than SHS 14.0.1; never called
	file        string                                                      // where it was found, when the loader tells
}

// symbol is a function that is looked up, and whether the driver can do without.
type symbol struct {
	name     string
	function any
	optional bool
}

func (l *library) symbols() []symbol {
	return []symbol{
		{"cxil_open_device", &l.openDevice, false},
		{"cxil_close_device", &l.closeDevice, false},
		{"cxil_alloc_svc", &l.allocSvc, false},
		{"cxil_destroy_svc", &l.destroySvc, false},
		{"cxil_get_svc_list", &l.svcList, false},
		{"cxil_free_svc_list", &l.freeSvcList, false},
		{"cxil_alloc_lni", &l.allocLNI, false},
		{"cxil_destroy_lni", &l.destroyLNI, false},
		{"cxil_alloc_cp", &l.allocCP, false},
		{"cxil_destroy_cp", &l.destroyCP, false},
		{"cxil_get_svc", &l.getSvc, true},
		{"cxil_get_svc_rsrc_list", &l.useList, true},
		{"cxil_free_svc_rsrc_list", &l.freeUseList, true},
		{"cxil_set_svc_lpr", &l.setLPR, true},
		{"cxil_get_svc_lpr", &l.getLPR, true},
		{"cxil_svc_enable", &l.enable, true},
		{"cxil_svc_set_vni_range", &l.setRange, true},
		{"cxil_svc_get_vni_range", &l.getRange, true},
		{"cxil_svc_set_netns", &l.setNetNS, true},
		{"cxil_svc_get_netns", &l.getNetNS, true},
		{"cxil_alloc_buf_cmdq", &l.bufCmdq, true},
	}
}

// openLibrary loads libcxi from a path, or by a name that the loader looks up. Root loads no file that another user can
// change.
func openLibrary(path string) (*library, error) {
	if os.Geteuid() == 0 && filepath.IsAbs(path) {
		if d := file.Trust(path); d != nil {
			return nil, core.Errorf(core.NICFailed, "libcxi: %w", d).WithRemedy(d.Remedy)
		}
	}
	handle, err := purego.Dlopen(path, purego.RTLD_NOW|purego.RTLD_LOCAL)
	if err != nil {
		return nil, unusable(path, "it cannot be loaded", err)
	}
	l := &library{file: mapped(path)}
	for _, s := range l.symbols() {
		at, err := purego.Dlsym(handle, s.name)
		switch {
		case err == nil:
			purego.RegisterFunc(s.function, at)
		case !s.optional:
			return nil, unusable(path, "it is no libcxi: it has no "+s.name, err)
		}
	}
	if l.getLPR == nil {
		l.setLPR = nil // both are of LIBCXI_1.8: what is set is read back
	}
	if (l.useList == nil) != (l.freeUseList == nil) {
		return nil, unusable(path, "it is no libcxi", errors.New("a list that it makes cannot be freed"))
	}
	return l, nil
}

// unusable is why there is no library. The package has its name from cray-libcxi.spec of shs-libcxi.
func unusable(path, why string, err error) *core.Error {
	return core.Errorf(core.NICFailed, "libcxi: %s: %s: %w", path, why, err).
		WithRemedy("install the package cray-libcxi of the Slingshot host software (SHS), " +
			"or name libcxi's file by `library` in the block of driver \"cxi\"")
}

// oldest stands for all symbol versions that no release ships.
const oldest = 7

// version is N of the newest symbol version, LIBCXI_1.N, that the library has.
func (l *library) version() int {
	switch {
	case l.bufCmdq != nil:
		return 11
	case l.setNetNS != nil:
		return 10
	case l.enable != nil:
		return 9
	case l.setLPR != nil:
		return 8
	}
	return oldest
}

// newest is the version in words.
func (l *library) newest() string {
	return map[int]string{
		oldest: "older than LIBCXI_1.8, which SHS 12.0 ships",
		8:      "LIBCXI_1.8, as SHS 12.0 and 13.0 ship",
		9:      "LIBCXI_1.9, as SHS 13.1 ships",
		10:     "LIBCXI_1.10, as SHS 14.0 ships",
		11:     "LIBCXI_1.11 or newer, as SHS newer than 14.0.1 ships",
	}[l.version()]
}

// items copies a list that libcxi made: a count, and the items behind it. More than most items are no list.
func items[T any](list unsafe.Pointer) ([]T, errno) {
	const most = 1 << 16
	if list == nil {
		return nil, ok
	}
	count := *(*uint32)(list)
	if count > most {
		return nil, eio
	}
	return slices.Clone(unsafe.Slice((*T)(unsafe.Add(list, unsafe.Sizeof(count))), count)), ok
}
