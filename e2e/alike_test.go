package e2e

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/drivers/cxi/testdata/shim"
	"github.com/weft-hpc/weft/drivers/sim"
	"github.com/weft-hpc/weft/drivers/sim/kernel"
)

// TestDriversAlike does random things by the simulated driver and by the real one, whose libcxi is a stand-in, as an agent does them: batches over several
// NICs. On no release may an error or what the NICs hold then differ. drivers/cxi has the table of behaviours, and the same with other tools at work.
func TestDriversAlike(t *testing.T) {
	nodes := map[*kernel.Behaviour]*shim.Node{}
	for _, b := range kernel.Behaviours() {
		nodes[b] = shim.New(t, b, 2, shim.LibraryOf(b))
	}
	t.Cleanup(shim.Clean)
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SampledFrom(kernel.Behaviours()).Draw(t, "release")
		for nic := range 2 {
			nodes[b].Do(nic, func(n *kernel.NIC) { *n = kernel.New(b) })
		}
		ctx := context.Background()
		simulated, real := sim.New(sim.Options{NICs: 2, Release: b, Boot: "b"}), cxi.New()
		if err := real.Configure(ctx, core.Values{"library": nodes[b].Library(), "sysfs": nodes[b].Sys(), "processes": int64(1)}); err != nil {
			t.Fatal(err)
		}
		same := func(what string, want, got any) {
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("SHS %s: %s: sim and cxi differ: %s", b.Release, what, d)
			}
		}
		type seen struct {
			Code         core.Code
			Reason       core.Reason
			What, Remedy string
			Short        []core.Shortage
		}
		shown := func(err error) seen {
			e := core.AsError(err)
			if e == nil {
				return seen{}
			}
			return seen{e.Code, e.Reason, e.What, e.Remedy, e.Short}
		}
		device := rapid.SampledFrom([]string{"cxi0", "cxi1", "cxi1", "cxi2"})
		var known []core.Service
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				var specs []core.ServiceSpec
				for range rapid.IntRange(0, 3).Draw(t, "specs") {
					s := core.ServiceSpec{Device: device.Draw(t, "device"), Owner: core.UID(rapid.SampledFrom([]uint32{0, 1000, 1001}).Draw(t, "uid")), Classes: core.BestEffort}
					if rapid.IntRange(0, 3).Draw(t, "group") == 0 {
						s.Owner.Kind = core.OwnerGID
					}
					for v := range rapid.IntRange(1, 5).Draw(t, "vnis") {
						s.VNIs = append(s.VNIs, core.VNI(rapid.IntRange(0, 12).Draw(t, "vni")+20*v))
					}
					for r, total := range kernel.Total {
						if rapid.IntRange(0, 4).Draw(t, "some") == 0 {
							top := rapid.SampledFrom([]uint16{1, 8, total / 4, total, total + 1}).Draw(t, "max")
							s.Limits[r] = core.Limit{Max: top, Reserved: rapid.SampledFrom([]uint16{0, 1, top / 2, top, top + 1}).Draw(t, "reserved")}
						}
					}
					specs = append(specs, s)
				}
				want, err1 := simulated.Create(ctx, specs)
				got, err2 := real.Create(ctx, specs)
				same("create", shown(err1), shown(err2))
				same("create: results", len(want), len(got))
				for i := range want {
					want[i].Service.LNIs = 0 // only a list of the cxi driver has them
					same("created", want[i].Service, got[i].Service)
					same("not created", shown(want[i].Err), shown(got[i].Err))
					if want[i].Err == nil {
						known = append(known, want[i].Service)
					}
				}
			},
			"destroy": func(t *rapid.T) {
				var gone []core.Service
				for range rapid.IntRange(0, 3).Draw(t, "services") {
					if len(known) == 0 {
						break
					}
					s := rapid.SampledFrom(known).Draw(t, "service")
					switch rapid.IntRange(0, 7).Draw(t, "as") {
					case 0:
						s.Owner.ID++
					case 1:
						s.ID = rapid.Uint32Range(0, 9).Draw(t, "id")
					case 2:
						s.Device = device.Draw(t, "device")
					}
					gone = append(gone, s)
				}
				want, err1 := simulated.Destroy(ctx, gone)
				got, err2 := real.Destroy(ctx, gone)
				same("destroy", shown(err1), shown(err2))
				for i := range want {
					same("destroyed", shown(want[i]), shown(got[i]))
				}
			},
			"": func(t *rapid.T) {
				want, err1 := simulated.Services(ctx)
				got, err2 := real.Services(ctx)
				same("services", shown(err1), shown(err2))
				same("services", want, got)
				nics, err1 := simulated.Devices(ctx)
				others, err2 := real.Devices(ctx)
				same("devices", shown(err1), shown(err2))
				for i := range nics { // addresses, classes and RGIDs are the stand-in's sysfs's
					nics[i].Address, nics[i].Classes, nics[i].RGIDs = others[i].Address, others[i].Classes, others[i].RGIDs
					nics[i].Bus, nics[i].Probed = others[i].Bus, others[i].Probed
					nics[i].Sign = others[i].Sign
				}
				same("devices", nics, others)
			},
		})
	})
}
