package kernel_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
	"github.com/weft-hpc/weft/drivers/sim/kernel/kerneltest"
)

// TestReleaseFacts: what is no error number.
func TestReleaseFacts(t *testing.T) {
	type fact struct {
		LEPoolsLeft, TLEPoolsLeft uint16
		LEByMax                   bool
		Flags                     bool // pools are named in fail_info
		OpenEnabled               bool // without restricted_vnis
	}
	want := []fact{{14, 3, true, false, true}, {14, 3, true, false, true}, {14, 3, true, true, false}, {14, 3, true, true, false}, {14, 3, false, true, false}}
	for i, b := range kerneltest.Drivers[:len(want)] {
		n := kernel.New(b)
		c := n.Capacity()
		got := fact{LEPoolsLeft: c[core.LE].PoolsLeft, TLEPoolsLeft: c[core.TLE].PoolsLeft, LEByMax: c[core.LE].PooledByMax}
		open, _ := n.Get(must(t, &n, kerneltest.Open))
		got.OpenEnabled = open.Enable
		for v := range uint16(3) {
			must(t, &n, vnis(100+v), limit(core.TLE, 8, 8))
		}
		_, fail, _ := n.Alloc(kernel.Root, desc(limit(core.TLE, 8, 8)))
		got.Flags = fail.NoTLEPools
		if d := cmp.Diff(want[i], got); d != "" {
			t.Errorf("SHS %s: %s", b.Release, d)
		}
		if kernel.Named(b.Release) != b {
			t.Errorf("SHS %s: it is not found by its name", b.Release)
		}
	}
	if kernel.Named("2.1") != nil {
		t.Error("SHS 2.1: nobody knows its rules")
	}
}

// TestIgnoredResourceLimits: without resource_limits a service has everything, and takes pools all the same.
func TestIgnoredResourceLimits(t *testing.T) {
	for _, b := range kerneltest.Drivers {
		n := kernel.New(b)
		before := n.Capacity()
		must(t, &n, kerneltest.NoLimits)
		after := n.Capacity()
		if after[core.TLE].PoolsLeft != before[core.TLE].PoolsLeft-1 || after[core.TLE].Free != before[core.TLE].Free-8 {
			t.Errorf("SHS %s: it takes a TLE pool with 8: %+v", b.Release, after[core.TLE])
		}
		if took := before[core.LE].PoolsLeft - after[core.LE].PoolsLeft; (took == 1) != b.LEPoolByMax {
			t.Errorf("SHS %s: it took %d LE pools", b.Release, took)
		}
	}
}
