package cxi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// TestMixture: the doctor names a library that does not fit the driver. Where no application could run, no job starts.
//
// The command that opens an LNI has 16 bytes up to 14.0.1 (struct cxi_lni_alloc_cmd in cxi-abi.h) and 24 in main. A
// library has the layout of the headers that it was built with, which need not be its own release's.
func TestMixture(t *testing.T) {
	const (
		layout = "no application can open a service"
		cp     = "libcxi is newer than the driver, so that applications cannot send"
		older  = "libcxi is older than the driver, whose newer calls it lacks"
		newer  = "libcxi is newer than the driver"
		retry  = "its retry handler gets no LNI"
		untold = "the two are not known to work together"
	)
	for _, c := range []struct {
		release  *kernel.Behaviour
		library  int
		lniAlloc byte // what the driver takes
		open     bool // the default service is enabled
		severity core.Severity
		what     string
		why      string
	}{
		{&kernel.R120, shim.Lib8, 16, false, core.Good, "", ""},
		{&kernel.R130, shim.Lib8, 16, false, core.Good, "", ""},
		{&kernel.R131, shim.Lib9, 16, false, core.Good, "", ""},
		{&kernel.R1400, shim.Lib10, 16, false, core.Good, "", ""},
		{&kernel.R1401, shim.Lib10, 16, false, core.Good, "", ""},
		{&kernel.R120, shim.Lib9, 16, false, core.Critical, cp, "EINVAL"},
		{&kernel.R130, shim.Lib9, 16, false, core.Critical, cp, "EINVAL"},
		{&kernel.R130, shim.Lib10, 16, false, core.Critical, cp, "EINVAL"},
		{&kernel.R131, shim.Lib8, 16, false, core.Warning, older, retry},
		{&kernel.R1401, shim.Lib8, 16, false, core.Warning, older, retry},
		{&kernel.R1401, shim.Lib9, 16, false, core.Warning, older, untold},
		{&kernel.R131, shim.Lib10, 16, false, core.Warning, newer, untold},
		{&kernel.R1401, shim.Lib11, 16, false, core.Critical, layout, "EINVAL"},
		{&kernel.R130, shim.Lib11, 16, false, core.Critical, layout, "EINVAL"},
		{&kernel.R1401, shim.Lib10, 24, false, core.Critical, layout, "EINVAL"},
		{&kernel.R1401, shim.Lib11, 24, false, core.Warning, newer, untold},
		{&kernel.R1400, shim.Lib10, 16, true, core.Good, "", ""},
		{&kernel.R1401, shim.Lib11, 16, true, core.Critical, layout, "EINVAL"},
	} {
		name := fmt.Sprintf("SHS %s, LIBCXI_1.%d, %d bytes, default service enabled: %v",
			c.release.Release, c.library, c.lniAlloc, c.open)
		d, n := on(t, c.release, 1, c.library)
		n.Set(func(s *shim.State) { s.LNIAlloc(c.lniAlloc) })
		n.Do(0, func(k *kernel.NIC) { k.Enable(kernel.Root, kernel.DefaultID, c.open) })
		found, err := d.Check(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		said := core.Finding{}
		for _, f := range found {
			if f.Severity >= core.Warning {
				said = f
			}
		}
		if said.Severity != c.severity || !strings.Contains(said.What, c.what) || !strings.Contains(said.Evidence, c.why) {
			t.Errorf("%s: the doctor says %+v, want %v: %q, %q", name, said, c.severity, c.what, c.why)
		}
		_, err = create(t, d, spec("cxi0", 1000, 4034))
		if refused := core.AsError(err); (refused != nil) != (c.severity == core.Critical) {
			t.Errorf("%s: create: %v", name, err)
		} else if refused != nil && (refused.Reason != core.NICFailed || !strings.Contains(refused.What, c.what) ||
			!strings.Contains(refused.Remedy, "of one release")) {
			t.Errorf("%s: create: %+v", name, refused)
		}
		n.Do(0, func(k *kernel.NIC) {
			if left := len(k.Services()) - 3; left > 1 || err != nil && left > 0 || len(k.LNIs()) != 2 {
				t.Errorf("%s: %d services and %d LNIs are left beside the driver's", name, left, len(k.LNIs())-2)
			}
		})
		if asked := n.Calls("open LNI"); asked != 1 {
			t.Errorf("%s: it asked %d times", name, asked)
		}
	}
}

// TestNoDefaultService: where the default service is not there, to open it is EINVAL, too (cxi_lni_alloc in cass_lni.c
// of 13.0.0). That says nothing of the layout.
func TestNoDefaultService(t *testing.T) {
	d, n := on(t, &kernel.R130, 1, shim.Lib8)
	n.Set(func(s *shim.State) {
		s.Refuse(func(op string) kernel.Errno {
			if op == "get" || op == "open LNI" {
				return kernel.EINVAL
			}
			return kernel.OK
		})
	})
	found, err := d.Check(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if f.Severity >= core.Warning {
			t.Errorf("the doctor says %+v", f)
		}
	}
	if asked := n.Calls("open LNI"); asked != 0 {
		t.Errorf("it asked %d times", asked)
	}
}
