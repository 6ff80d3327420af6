package cxi_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// TestQoSProfiles: each profile's classes, as sysfs shows them, on each release.
func TestQoSProfiles(t *testing.T) {
	three := core.LowLatency | core.BulkData | core.BestEffort
	want := map[string]core.Classes{"HPC": core.AllClasses, "LL_BE_BD_ET": three, "LL_BE_BD_ET1_ET2": three}
	for _, b := range kernel.Behaviours() {
		for profile := range shim.Profiles {
			d, n := on(t, b, 2, shim.LibraryOf(b))
			if err := os.RemoveAll(n.Sys()); err != nil {
				t.Fatal(err)
			}
			shim.Tree(t, n.Sys(), b, 2, profile)
			got, err := d.Devices(t.Context())
			if err != nil || len(got) != 2 {
				t.Fatalf("SHS %s, %s: %+v, %v", b.Release, profile, got, err)
			}
			for _, g := range got {
				if g.Classes != want[profile] || want[profile] == 0 {
					t.Errorf("SHS %s, %s: %s has %v, want %v", b.Release, profile, g.Name, g.Classes.Names(), want[profile].Names())
				}
			}
		}
	}
}

// TestSysfsThatLacks: what sysfs does not show is not known, and never a reason to fail.
func TestSysfsThatLacks(t *testing.T) {
	const device = "class/cxi/cxi0/device/"
	for name, c := range map[string]struct {
		path, text string // empty text: it is not there
		classes    core.Classes
		rgids      core.Stock
		check      string // in what Check says is loaded
	}{
		"nothing":                   {"", "", core.LowLatency | core.BulkData | core.BestEffort, core.Stock{Total: 255, Free: 253}, "cxi_ss1 of source 0A1B"},
		"no active profile":         {device + "traffic_classes/active_qos_profile", "", 0, core.Stock{Total: 255, Free: 253}, "cxi_ss1 of source"},
		"no traffic classes":        {device + "traffic_classes", "", 0, core.Stock{Total: 255, Free: 253}, "cxi_ss1 of source"},
		"a class less":              {device + "traffic_classes/bulk_data", "", core.LowLatency | core.BestEffort, core.Stock{Total: 255, Free: 253}, "cxi_ss1 of source"},
		"no count of RGIDs":         {device + "properties/rgids_avail", "", core.LowLatency | core.BulkData | core.BestEffort, core.Stock{}, "cxi_ss1 of source"},
		"a count that is no number": {device + "properties/rgids_avail", "many", core.LowLatency | core.BulkData | core.BestEffort, core.Stock{}, "cxi_ss1 of source"},
		"more RGIDs than there are": {device + "properties/rgids_avail", "256", core.LowLatency | core.BulkData | core.BestEffort, core.Stock{Total: 255, Free: 255}, "cxi_ss1 of source"},
		"no source":                 {"module/cxi_ss1/srcversion", "", core.LowLatency | core.BulkData | core.BestEffort, core.Stock{Total: 255, Free: 253}, "cxi_ss1 (tells no version)"},
		"a version":                 {"module/cxi_ss1/version", "15.0", core.LowLatency | core.BulkData | core.BestEffort, core.Stock{Total: 255, Free: 253}, "cxi_ss1 15.0"},
		"no module":                 {"module", "", core.LowLatency | core.BulkData | core.BestEffort, core.Stock{Total: 255, Free: 253}, "the driver's module is not loaded"},
	} {
		d, n := on(t, &kernel.R1401, 1, shim.Lib10)
		if path := filepath.Join(n.Sys(), c.path); c.text != "" {
			if err := os.WriteFile(path, []byte(c.text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		} else if c.path != "" {
			if err := os.RemoveAll(path); err != nil {
				t.Fatal(err)
			}
		}
		got, err := d.Devices(t.Context())
		if err != nil || len(got) != 1 || got[0].Fault != "" {
			t.Fatalf("%s: %+v, %v", name, got, err)
		}
		if got[0].Classes != c.classes || got[0].RGIDs != c.rgids {
			t.Errorf("%s: classes %v, RGIDs %+v; want %v, %+v", name, got[0].Classes.Names(), got[0].RGIDs, c.classes.Names(), c.rgids)
		}
		found, err := d.Check(t.Context())
		if err != nil || !strings.Contains(found[0].Evidence, c.check) {
			t.Errorf("%s: %+v, %v: want %q", name, found, err, c.check)
		}
	}
}

// TestLinkIsThatOfTheNetworkDevice: libfabric asks operstate, and so does Weft; without it, the device's link_state.
func TestLinkIsThatOfTheNetworkDevice(t *testing.T) {
	d, n := on(t, &kernel.R1401, 4, shim.Lib10)
	for nic := range 3 {
		shim.Healthy(t, n.Sys(), nic)
	}
	n.Set(func(s *shim.State) { s.Link(1, false); s.Link(3, false) })
	shim.Operstate(t, n.Sys(), 2, "down")
	got, err := d.Devices(t.Context())
	if err != nil || len(got) != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	for i, up := range []bool{true, true, false, false} {
		if got[i].Up != up {
			t.Errorf("%s: up %v, want %v", got[i].Name, got[i].Up, up)
		}
	}
}

// TestRatesAreOfTwoChecks: a check compares with the one before it.
func TestRatesAreOfTwoChecks(t *testing.T) {
	d, n := on(t, &kernel.R1401, 1, shim.Lib10)
	shim.Healthy(t, n.Sys(), 0)
	counter := filepath.Join(n.Sys(), "class/cxi/cxi0/device/telemetry/hni_pcs_uncorrected_cw")
	for _, c := range []struct {
		text string
		lost bool
	}{{"9000@100.0", false}, {"9000@200.0", false}, {"90000@210.0", true}, {"90000@220.0", false}} {
		if err := os.WriteFile(counter, []byte(c.text+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		found, err := d.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		lost := slices.ContainsFunc(found, func(f core.Finding) bool { return strings.Contains(f.What, "loses codewords") })
		if lost != c.lost {
			t.Errorf("%s: %+v", c.text, found)
		}
	}
}

// TestFilesOfANICThatDoesNotOpen are judged, since they may tell why.
func TestFilesOfANICThatDoesNotOpen(t *testing.T) {
	d, n := on(t, &kernel.R1401, 1, shim.Lib10)
	shim.Healthy(t, n.Sys(), 0)
	fatal := filepath.Join(n.Sys(), "class/cxi/cxi0/device/aer_dev_fatal")
	if err := os.WriteFile(fatal, []byte("DLP 1\nTOTAL_ERR_FATAL 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	n.Set(func(s *shim.State) { s.Opens(0, false) })
	found, err := d.Check(t.Context())
	if err != nil || len(found) != 4 || !strings.Contains(found[3].What, "PCIe errors that cannot be corrected") {
		t.Errorf("%+v, %v", found, err)
	}
}

// TestVirtualFunction: a virtual function is no NIC.
//
// The driver tells one from a physical function in cass_probe: of shs-cxi-driver release/shs-12.0.0 (cxi/cass_core.c) by
// the kernel's pdev->is_virtfn, for which PCI core makes the link physfn; of release/shs-13.0.0, 13.1.0, 14.0.0 and 14.0.1
// (drivers/net/ethernet/hpe/ss1/cass_core.c) by a BAR 0 shorter than MMIO_BAR_LEN_PF, 2 GiB.
//
// libcxi's answer, is_vf in struct cxil_devinfo, needs an open device and is weaker: cxil_query_devinfo (src/devinfo.c) of
// shs-libcxi release/shs-12.0.0 to 14.0.0 sees the link alone, which a virtual machine lacks. Its main branch takes the
// size of resource0 since then.
func TestVirtualFunction(t *testing.T) {
	for name, c := range map[string]struct {
		link bool
		bar  int64 // 0: none is shown
		isVF bool  // of libcxi
		nics int
	}{
		"a physical function":               {false, 2 << 30, false, 2},
		"a larger one":                      {false, 4 << 30, false, 2},
		"a physical one without its memory": {false, 0, false, 2},
		"a virtual function on a host":      {true, 16 << 20, true, 1},
		"a virtual one without its memory":  {true, 0, false, 1},
		"one in a virtual machine":          {false, 16 << 20, true, 1},
		"one that libcxi alone can tell":    {false, 0, true, 1},
	} {
		for _, b := range []*kernel.Behaviour{&kernel.R120, &kernel.R1401} {
			d, n := on(t, b, 2, shim.LibraryOf(b))
			device := filepath.Join(n.Sys(), "class/cxi_user/cxi1/device")
			err := os.MkdirAll(device, 0o700)
			if c.link {
				err = errors.Join(err, os.Symlink("../cxi0", filepath.Join(device, "physfn")))
			}
			bar := filepath.Join(device, "resource0")
			err = errors.Join(err, os.Remove(bar))
			if c.bar > 0 {
				err = errors.Join(err, os.WriteFile(bar, nil, 0o600), os.Truncate(bar, c.bar))
			}
			if err != nil {
				t.Fatal(err)
			}
			n.Set(func(s *shim.State) { s.Virtual(1, c.isVF) })
			got, err := d.Devices(t.Context())
			if err != nil || len(got) != c.nics || got[0].Name != "cxi0" {
				t.Errorf("SHS %s, %s: the NICs are %+v, %v, want %d", b.Release, name, got, err, c.nics)
			}
			services, err := d.Services(t.Context())
			if err != nil || len(services) != 3*c.nics {
				t.Errorf("SHS %s, %s: %d services, %v, want those of %d NICs", b.Release, name, len(services), err, c.nics)
			}
			if _, err := create(t, d, spec("cxi1", 1000, 4034)); c.nics == 1 && core.AsError(err).Reason != core.NICMissing {
				t.Errorf("SHS %s, %s: create: %v", b.Release, name, err)
			}
			found, err := d.Check(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var listed []string
			for _, f := range found {
				if strings.Contains(f.What, "virtual function") {
					listed = append(listed, f.Severity.String()+": "+f.What)
				}
			}
			var want []string
			if c.nics == 1 {
				want = []string{"notice: NIC cxi1: it is a virtual function, and no NIC of the node"}
			}
			if diff := cmp.Diff(want, listed); diff != "" {
				t.Errorf("SHS %s, %s: the doctor lists it: %s", b.Release, name, diff)
			}
			if err := os.RemoveAll(filepath.Join(n.Sys(), "class/cxi_user/cxi0")); err != nil {
				t.Fatal(err)
			}
			if got, err := d.Devices(t.Context()); c.nics == 1 && len(got) != 0 {
				t.Errorf("SHS %s, %s: virtual functions alone are NICs %+v, %v", b.Release, name, got, err)
			}
		}
	}
}
