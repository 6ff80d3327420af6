package kernel_test

import (
	"testing"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/drivers/sim/kernel/kerneltest"
)

func TestDestroyGivesBack(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	id := must(t, &n, limit(core.LE, 8, 8), limit(core.TLE, 8, 8))
	if err := n.Destroy(kernel.Root, id); err != kernel.OK {
		t.Fatal(err)
	}
	if fresh := kernel.New(&kernel.R1401); n.Capacity() != fresh.Capacity() {
		t.Error("it keeps some of what the service had")
	}
	if err := n.FreeLNI(9); err != kernel.EINVAL {
		t.Errorf("free of an LNI that is not open: %v, want EINVAL", err)
	}
}

// TestWideRange: libcxi cannot ask for these ranges: its VNIs have 16 bits.
func TestWideRange(t *testing.T) {
	n := kernel.New(&kernel.R131)
	id := must(t, &n, kerneltest.Open, vnis())
	for _, r := range [][2]uint32{{65536, 65536}, {65536, 65543}, {32768, 65536}} {
		if err := n.SetVNIRange(kernel.Root, id, r[0], r[1]); err != kernel.EINVAL {
			t.Errorf("range %d: %v, want EINVAL", r, err)
		}
	}
}

func TestLNIsAreReused(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	id, user := must(t, &n), kernel.Caller{EUID: 1000}
	for n.FreeRGIDs() > 0 {
		if _, err := n.AllocLNI(user, id); err != kernel.OK {
			t.Fatalf("%v with %d RGIDs free", err, n.FreeRGIDs())
		}
	}
	n.FreeLNI(10)
	if lni, err := n.AllocLNI(user, id); err != kernel.OK || lni != 10 {
		t.Errorf("LNI %d, %v: want the freed 10 again", lni, err)
	}
}

func TestUse(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	id := must(t, &n, limit(core.TXQ, 16, 8))
	lni, _ := n.AllocLNI(kernel.Caller{EUID: 1000}, id)
	if err := n.Use(lni, core.EQ, 1); err != kernel.EBADR {
		t.Errorf("a resource with max 0: %v, want EBADR", err)
	}
	if err := n.Use(lni, core.TXQ, 16); err != kernel.OK {
		t.Errorf("up to max: %v", err)
	}
	if err := n.Use(lni, core.TXQ, 1); err != kernel.ENOSPC {
		t.Errorf("above max: %v, want ENOSPC", err)
	}
	if s, _ := n.Get(id); s.InUse[core.TXQ] != 16 {
		t.Errorf("in use: %v", s.InUse)
	}
	greedy := must(t, &n, limit(core.TXQ, 1024, 0), vnis(7))
	lni2, _ := n.AllocLNI(kernel.Caller{EUID: 1000}, greedy)
	if err := n.Use(lni2, core.TXQ, 1024-16+1); err != kernel.ENOSPC {
		t.Errorf("more than the device has left: %v, want ENOSPC", err)
	}
	if err := n.Use(lni2, core.TXQ, 1024-16); err != kernel.OK {
		t.Errorf("all that the device has left: %v", err)
	}
	starved := must(t, &n, limit(core.TXQ, 8, 8), vnis(8))
	lni3, _ := n.AllocLNI(kernel.Caller{EUID: 1000}, starved)
	if err := n.Use(lni3, core.TXQ, 1); err != kernel.ENOSPC {
		t.Errorf("reserved, but another service took it: %v, want ENOSPC", err)
	}
	n.FreeLNI(lni)
	if s, _ := n.Get(id); s.InUse[core.TXQ] != 0 {
		t.Errorf("in use after the LNI is closed: %v", s.InUse)
	}
	if err := n.Use(lni3, core.TXQ, 1); err != kernel.OK {
		t.Errorf("after it is given back: %v", err)
	}
}

func TestFreeRGIDs(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	if got := n.FreeRGIDs(); got != kernel.RGIDs-2 { // the ethernet service and the retry handler have one each
		t.Fatalf("%d RGIDs are free on a new NIC", got)
	}
}
