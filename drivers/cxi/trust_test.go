package cxi_test

import (
	"os"
	"strings"
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// TestRootLoadsOnlyRootsLibrary: a library is root's code as soon as root loads it.
func TestRootLoadsOnlyRootsLibrary(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root refuses a library that others can change")
	}
	s := shim.New(t, &kernel.R1401, 1, shim.Lib10)
	if err := os.Chmod(s.Library(), 0o666); err != nil {
		t.Fatal(err)
	}
	_, err := driver(t, s).Devices(t.Context())
	if e := core.AsError(err); e == nil || e.Reason != core.NICFailed || !strings.Contains(e.What, s.Library()) ||
		!strings.Contains(e.Remedy, "chmod") {
		t.Errorf("got %v", err)
	}
}
