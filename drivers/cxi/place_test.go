package cxi

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook/rundir"
)

// TestPlace: a NIC that its driver removes and finds again has its old PCI address and another folder in sysfs. Often
// it has another name, too (cass_remove and cass_probe in cass_core.c, SHS 12.0 to 14.0.1).
func TestPlace(t *testing.T) {
	root := t.TempDir()
	add := func(name string) {
		t.Helper()
		class := filepath.Join(root, "class/cxi_user", name)
		bus := filepath.Join(root, "devices/pci0000:00/0000:21:00.0")
		for _, dir := range []string{class, bus} {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.Symlink(bus, filepath.Join(class, "device")); err != nil {
			t.Fatal(err)
		}
	}
	add("cxi0")
	bus, first, sign := sysfs(root).place("cxi0")
	if bus != "0000:21:00.0" || first == "" || first != fmt.Sprint(sign.Inode) {
		t.Errorf("PCI address %q, probe %q", bus, first)
	}
	if _, again, _ := sysfs(root).place("cxi0"); again != first {
		t.Errorf("the same NIC, and its probe is %q and then %q", first, again)
	}
	add("cxi4")
	if bus, second, _ := sysfs(root).place("cxi4"); bus != "0000:21:00.0" || second == first {
		t.Errorf("PCI address %q, probe %q, and before %q", bus, second, first)
	}
	if !rundir.Hold([]core.Sign{sign}) {
		t.Error("the NIC has restarted before anything happened to it")
	}
	class := filepath.Join(root, "class/cxi_user")
	if err := os.RemoveAll(filepath.Join(class, "cxi0")); err != nil {
		t.Fatal(err)
	}
	if rundir.Hold([]core.Sign{sign}) {
		t.Error("the NIC is gone")
	}
	if err := os.Rename(filepath.Join(class, "cxi4"), filepath.Join(class, "cxi0")); err != nil {
		t.Fatal(err)
	}
	if rundir.Hold([]core.Sign{sign}) {
		t.Error("another probe has the name")
	}
	if bus, probed, sign := sysfs(root).place("cxi5"); bus != "" || probed != "" || sign != (core.Sign{}) {
		t.Errorf("a NIC that is not there has PCI address %q, probe %q", bus, probed)
	}
}
