package cxi_test

import (
	"flag"
	"fmt"
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

var update = flag.Bool("update", false, "write golden files anew")

// TestCheck shows what `weft doctor` says of each release, of a library that is newer or older than the driver, and of a NIC that does not open.
func TestCheck(t *testing.T) {
	var got strings.Builder
	for _, c := range []struct {
		title   string
		release *kernel.Behaviour
		library int
		set     func(*shim.State)
	}{
		{"SHS 12.0", &kernel.R120, shim.Lib8, nil},
		{"SHS 13.0", &kernel.R130, shim.Lib8, nil},
		{"SHS 13.1", &kernel.R131, shim.Lib9, nil},
		{"SHS 14.0.0", &kernel.R1400, shim.Lib10, nil},
		{"SHS 14.0.1", &kernel.R1401, shim.Lib10, nil},
		{"SHS 13.0 with the libcxi of 13.1", &kernel.R130, shim.Lib9, nil},
		{"SHS 14.0.1 with the libcxi of 12.0", &kernel.R1401, shim.Lib8, nil},
		{"cxi1 does not open", &kernel.R1401, shim.Lib10, func(s *shim.State) { s.Opens(1, false) }},
		{"without privilege", &kernel.R1401, shim.Lib10, func(s *shim.State) { s.Admin(false) }},
	} {
		d, n := on(t, c.release, 2, c.library)
		if c.set != nil {
			n.Set(c.set)
		}
		found, err := d.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "== %s\n", c.title)
		for _, f := range found {
			if named := "NIC " + strings.Join(f.NICs, ", ") + ": "; strings.HasPrefix(f.What, named) != (len(f.NICs) > 0) ||
				strings.HasPrefix(f.What, "NIC ") != (len(f.NICs) > 0) {
				t.Errorf("%s: %q is of %v", c.title, f.What, f.NICs)
			}
			if strings.HasSuffix(f.What, ": its state") {
				continue // package health has its tests
			}
			fmt.Fprintf(&got, "%s: %s\n    %s\n", f.Severity, f.What, strings.ReplaceAll(f.Evidence, n.Dir, "DIR"))
			if f.Remedy != "" {
				fmt.Fprintf(&got, "    > %s\n", f.Remedy)
			}
		}
		for nic := range 2 {
			n.Do(nic, func(k *kernel.NIC) {
				if len(k.Services()) != 3 {
					t.Errorf("%s: asking for the release left %d services", c.title, len(k.Services())-3)
				}
			})
		}
	}
	file := filepath.Join("testdata", "check.golden")
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), got.String()); d != "" {
		t.Errorf("%s\nwrite it anew with -update", d)
	}
}

// TestCheckNamesNetworkDevices: a remedy has the network devices of its NICs, where the node knows them.
func TestCheckNamesNetworkDevices(t *testing.T) {
	for name, want := range map[string]string{
		"known":     "`ethtool --set-priv-flags hsn0 llr on; ethtool --set-priv-flags hsn1 llr on`",
		"not known": "`ethtool --set-priv-flags hsnN llr on`",
	} {
		d, n := on(t, &kernel.R1401, 2, shim.Lib10)
		for nic := range 2 {
			file := filepath.Join(n.Sys(), fmt.Sprintf("class/cxi/cxi%d/device/port/link_layer_retry", nic))
			err := os.MkdirAll(filepath.Dir(file), 0o700)
			if name == "known" {
				shim.Healthy(t, n.Sys(), nic)
			}
			if err == nil {
				err = os.WriteFile(file, []byte("off\n"), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		found, err := d.Check(t.Context())
		at := slices.IndexFunc(found, func(f core.Finding) bool { return strings.Contains(f.What, "link-layer retry is off") })
		if err != nil || at < 0 || !strings.HasPrefix(found[at].Remedy, want) {
			t.Errorf("%s: %v, %+v, want %q", name, err, found, want)
		}
		devices, err := d.Devices(t.Context())
		if known := err == nil && devices[1].Network == "hsn1"; known != (name == "known") {
			t.Errorf("%s: %v, %+v", name, err, devices)
		}
	}
}

// TestCheckAndDevicesAgree: the doctor tells a fault once, since both give it with the same words; and the remedy is
// more than to ask the doctor.
func TestCheckAndDevicesAgree(t *testing.T) {
	for name, set := range map[string]func(*shim.Node){
		"a NIC that does not open": func(n *shim.Node) { n.Set(func(s *shim.State) { s.Opens(0, false) }) },
		"no list of services": func(n *shim.Node) {
			n.Set(func(s *shim.State) {
				s.Refuse(func(op string) kernel.Errno {
					if op == "list" {
						return kernel.EIO
					}
					return kernel.OK
				})
			})
		},
		"no library": func(n *shim.Node) { _ = os.Remove(n.Library()) },
		"no NICs":    func(n *shim.Node) { _ = os.RemoveAll(n.Sys()) },
	} {
		d, n := on(t, &kernel.R1401, 1, shim.Lib10)
		set(n)
		devices, failed := d.Devices(t.Context())
		found, err := d.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		told := ""
		if failed != nil {
			told = core.AsError(failed).What
		} else {
			told = devices[0].Fault
		}
		at := slices.IndexFunc(found, func(f core.Finding) bool { return f.Severity == core.Critical && f.Evidence == told })
		if told == "" || at < 0 {
			t.Errorf("%s: Devices says %q, Check %+v", name, told, found)
		} else if strings.Contains(found[at].Remedy, "weft doctor") {
			t.Errorf("%s: the doctor's remedy is %q", name, found[at].Remedy)
		}
	}
}
