package cxi

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// modules are the names that the driver's module has had.
var modules = []string{"cxi_ss1", "cxi_core"}

// driver is the module that is loaded, and its version. No release so far has one (MODULE_VERSION). The source or the
// commit of its build is there where the kernel was built so, or the module with git.
func (s sysfs) driver() (module, is string) {
	for _, module := range modules {
		if _, err := os.Stat(filepath.Join(string(s), "module", module)); err != nil {
			continue
		}
		is := s.read("module", module, "version")
		if source := s.read("module", module, "srcversion"); is == "" && source != "" {
			is = "of source " + source
		}
		devices, _ := filepath.Glob(filepath.Join(string(s), "class/cxi/cxi*"))
		if len(devices) > 0 {
			if rev := s.commit(filepath.Base(devices[0])); rev != "" {
				is = strings.TrimSpace(is + " of commit " + rev)
			}
		}
		return module, cmp.Or(is, "(tells no version)")
	}
	return "the driver's module", "is not loaded"
}

// commit is that of a NIC's driver: the first seven digits.
func (s sysfs) commit(nic string) string {
	rev := s.read("class/cxi", nic, "device/properties/driver_rev")
	if rev == "[unknown]" {
		return ""
	}
	return rev[:min(len(rev), 7)]
}

// load tells one load of the driver's module from another, also of the same build: its folder's inode is a new one.
func (s sysfs) load() string {
	for _, module := range modules {
		var folder unix.Stat_t
		if unix.Stat(filepath.Join(string(s), "module", module), &folder) == nil {
			return fmt.Sprint(module, folder.Ino)
		}
	}
	return ""
}

// sharingOff reports whether the driver lets no LNIs share an RGID, by its parameter.
func (s sysfs) sharingOff() bool {
	return s.read("module", modules[0], "parameters/enable_rgid_sharing") == "N"
}

// parameter reports whether the driver's module has a parameter; no answer where its parameters are not shown.
func (s sysfs) parameter(name string) answer {
	for _, module := range modules {
		folder := filepath.Join(string(s), "module", module, "parameters")
		if _, err := os.Stat(filepath.Join(folder, name)); err == nil {
			return yes
		}
		if _, err := os.Stat(folder); err == nil {
			return no
		}
	}
	return unanswered
}
