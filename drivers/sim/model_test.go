package sim_test

import (
	"context"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// TestFolderIsMemory does random things to a node in memory and, alike, to one in a folder whose driver is now and then another one. Both must give the
// same answers and hold the same services.
func TestFolderIsMemory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dir, err := os.MkdirTemp("", "sim")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		ctx := context.Background()
		boot := 'a'
		options := func(dir string) sim.Options { return sim.Options{NICs: 2, Boot: string(boot), Dir: dir, NoSync: true} }
		memory, folder, other := sim.New(options("")), sim.New(options(dir)), sim.New(options(dir))
		type pair struct{ a, b *sim.LNI }
		var lnis []pair
		closeAll := func() {
			for _, l := range lnis {
				l.a.Close()
				l.b.Close()
			}
			lnis = nil
		}
		defer func() { closeAll() }()
		reason := func(err error) string {
			if err == nil {
				return "ok"
			}
			return string(core.AsError(err).Reason) + ": " + err.Error()
		}
		same := func(what string, a, b any) {
			if d := cmp.Diff(a, b, cmpopts.IgnoreTypes(core.Sign{})); d != "" { // NICs in memory have none
				t.Fatalf("%s: memory and folder differ: %s", what, d)
			}
		}
		device := rapid.SampledFrom([]string{"cxi0", "cxi1", "cxi2"})
		var known []core.Service
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				var specs []core.ServiceSpec
				for range rapid.IntRange(1, 3).Draw(t, "n") {
					s := spec(device.Draw(t, "device"), rapid.Uint32Range(1000, 1002).Draw(t, "uid"), core.VNI(rapid.IntRange(0, 3).Draw(t, "vni")))
					for _, r := range []core.Resource{core.TXQ, core.LE, core.TLE} {
						n := rapid.SampledFrom([]uint16{0, 8, 600, 1025}).Draw(t, r.String())
						s.Limits[r] = core.Limit{Max: n, Reserved: n}
					}
					specs = append(specs, s)
				}
				a, err1 := memory.Create(ctx, specs)
				b, err2 := folder.Create(ctx, specs)
				same("create", reason(err1), reason(err2))
				for i := range a {
					same("created", a[i].Service, b[i].Service)
					same("created", reason(a[i].Err), reason(b[i].Err))
					if a[i].Err == nil {
						known = append(known, a[i].Service)
					}
				}
			},
			"destroy": func(t *rapid.T) {
				if len(known) == 0 {
					t.Skip()
				}
				s := rapid.SampledFrom(known).Draw(t, "service")
				a, err1 := memory.Destroy(ctx, []core.Service{s})
				b, err2 := folder.Destroy(ctx, []core.Service{s})
				same("destroy", reason(err1), reason(err2))
				same("destroyed", reason(a[0]), reason(b[0]))
			},
			"open": func(t *rapid.T) {
				name, id := device.Draw(t, "device"), rapid.Uint32Range(1, 7).Draw(t, "id")
				caller := kernel.Caller{EUID: rapid.Uint32Range(1000, 1002).Draw(t, "uid")}
				a, err1 := memory.Open(ctx, name, id, caller)
				b, err2 := other.Open(ctx, name, id, caller)
				same("open", reason(err1), reason(err2))
				if err1 == nil {
					lnis = append(lnis, pair{a, b})
				}
			},
			"close": func(t *rapid.T) {
				if len(lnis) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(lnis)-1).Draw(t, "lni")
				lnis[i].a.Close()
				lnis[i].b.Close()
				lnis = append(lnis[:i], lnis[i+1:]...)
			},
			"restart": func(*rapid.T) { folder = sim.New(options(dir)) },
			"swap":    func(*rapid.T) { folder, other = other, folder },
			"reboot": func(*rapid.T) {
				closeAll()
				boot++
				memory, folder, other = sim.New(options("")), sim.New(options(dir)), sim.New(options(dir))
			},
			"": func(t *rapid.T) {
				beside := rapid.SampledFrom([]*sim.Driver{other, sim.New(options(dir)), sim.At(dir)}).Draw(t, "beside")
				for _, d := range []*sim.Driver{folder, beside} {
					a, err1 := memory.Services(ctx)
					b, err2 := d.Services(ctx)
					same("services", reason(err1), reason(err2))
					same("services", a, b)
				}
				a, _ := memory.Devices(ctx)
				b, _ := folder.Devices(ctx)
				same("devices", a, b)
			},
		})
	})
}
