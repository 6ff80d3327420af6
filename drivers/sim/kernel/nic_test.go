package kernel_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/refusal"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// TestRandomCalls compares the NIC's incremental books with what its list of services says, and that copies are independent.
func TestRandomCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		release := rapid.SampledFrom(kernel.Behaviours()).Draw(t, "release")
		n := kernel.New(release)
		user := kernel.Caller{EUID: 1000}
		id := rapid.Uint32Range(1, 12)
		for range rapid.IntRange(1, 60).Draw(t, "calls") {
			before := n.Clone()
			services, lnis := slices.Clone(n.Services()), slices.Clone(n.LNIs())
			switch rapid.IntRange(0, 6).Draw(t, "call") {
			case 0, 1, 2:
				d := desc(vnis(rapid.Uint16Range(0, 20).Draw(t, "vni")))
				for r, total := range kernel.Total {
					if rapid.IntRange(0, 3).Draw(t, "some") == 0 {
						top := rapid.SampledFrom([]uint16{1, 8, total / 4, total, total + 1}).Draw(t, "max")
						d.Limits[r] = core.Limit{Max: top, Reserved: rapid.Uint16Range(0, top).Draw(t, "reserved")}
					}
				}
				d.RestrictedVNIs = rapid.Bool().Draw(t, "restricted")
				_, fail, err := n.Alloc(kernel.Root, d)
				if err != kernel.OK && (n.Capacity() != before.Capacity() || !slices.Equal(services, n.Services())) {
					t.Fatalf("%v: it changed the NIC", err)
				}
				if err != kernel.ENOSPC && fail != (refusal.FailInfo{}) {
					t.Fatalf("%v with fail_info %+v, which the driver fills for ENOSPC alone", err, fail)
				}
				if err == kernel.ENOSPC {
					r, pool, ok := fail.First(d.Limits)
					c := before.Capacity()
					if ok && (pool && c[r].PoolsLeft != 0 || !pool && d.Limits[r].Reserved <= c[r].Free) {
						t.Fatalf("fail_info %+v names %v, of which there is enough: %+v", fail, r, c[r])
					}
				}
			case 3:
				n.Destroy(kernel.Root, id.Draw(t, "id"))
			case 4:
				n.AllocLNI(user, id.Draw(t, "id"))
			case 5:
				n.FreeLNI(id.Draw(t, "lni"))
			case 6:
				n.SetVNIRange(kernel.Root, id.Draw(t, "id"), rapid.Uint32Range(0, 20).Draw(t, "min"), rapid.Uint32Range(0, 20).Draw(t, "max"))
			}
			again, ok := kernel.Restore(release, n.Services())
			if !ok || again.Capacity() != n.Capacity() {
				t.Fatalf("the services do not add up to the NIC's capacity: %v\n%+v\n%+v", ok, again.Capacity(), n.Capacity())
			}
			if !slices.Equal(n.Services(), again.Services()) {
				t.Fatal("restored:", cmp.Diff(n.Services(), again.Services()))
			}
			if !slices.Equal(services, before.Services()) || !slices.Equal(lnis, before.LNIs()) {
				t.Fatal("a call changed a copy:", cmp.Diff(services, before.Services()), cmp.Diff(lnis, before.LNIs()))
			}
			for i := range kernel.Total {
				if n.Capacity()[i].Free > kernel.Total[i] {
					t.Fatalf("resource %d is over-committed", i)
				}
			}
		}
	})
}

func TestRestoreRefuses(t *testing.T) {
	n := kernel.New(&kernel.R1401)
	must(t, &n, limit(core.TLE, 8, 8), limit(core.LE, 8, 8))
	for what, spoil := range map[string]func([]kernel.Service){
		"an id twice":                 func(s []kernel.Service) { s[3].ID = 2 },
		"id 0":                        func(s []kernel.Service) { s[3].ID = 0 },
		"a TLE pool twice":            func(s []kernel.Service) { s[3].TLEPool = 0 },
		"a TLE pool there is not":     func(s []kernel.Service) { s[3].TLEPool = 4 },
		"an LE pool twice":            func(s []kernel.Service) { s[3].LEPool = 1 },
		"the shared LE pool":          func(s []kernel.Service) { s[3].LEPool = 0 },
		"more reserved than there is": func(s []kernel.Service) { s[3].Limits[core.TXQ].Reserved = 1024 },
		"five VNIs":                   func(s []kernel.Service) { s[3].NumVNIs = 5 },
		"nine LNIs per RGID":          func(s []kernel.Service) { s[3].LPR = 9 },
	} {
		s := append([]kernel.Service(nil), n.Services()...)
		spoil(s)
		if _, ok := kernel.Restore(&kernel.R1401, s); ok {
			t.Errorf("%s: it was taken", what)
		}
	}
}

func BenchmarkNew(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		n := kernel.New(&kernel.R1401)
		_ = n.Clone()
	}
}

func BenchmarkAllocDestroy(b *testing.B) {
	b.ReportAllocs()
	n, d := kernel.New(&kernel.R1401), desc()
	for b.Loop() {
		id, _, _ := n.Alloc(kernel.Root, d)
		n.Destroy(kernel.Root, id)
	}
}

func BenchmarkNewAlloc(b *testing.B) {
	b.ReportAllocs()
	d := desc()
	for b.Loop() {
		n := kernel.New(&kernel.R1401)
		_, _, _ = n.Alloc(kernel.Root, d)
	}
}
