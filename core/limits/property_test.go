package limits

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weft-hpc/weft/core"
	"pgregory.net/rapid"
)

var amount = rapid.OneOf(rapid.Uint16Max(20), rapid.Uint16())

func drawLimits(t *rapid.T, name string) core.Limits {
	var l core.Limits
	for r := range core.NumResources {
		l[r] = core.Limit{Max: amount.Draw(t, name+" max"), Reserved: amount.Draw(t, name+" reserved")}
	}
	return l
}

// drawDevice draws a device of any rules, however strange.
func drawDevice(t *rapid.T) core.Device {
	d := core.Device{Name: "cxi0"}
	flag := rapid.Bool()
	for r := range core.NumResources {
		d.Capacity[r] = core.Supply{
			Total: amount.Draw(t, "total"), Free: amount.Draw(t, "free"), Least: rapid.Uint16Max(12).Draw(t, "least"),
			MaxIsReserved: flag.Draw(t, "max is reserved"), Pooled: flag.Draw(t, "pooled"), PooledByMax: flag.Draw(t, "pooled by max"),
			PoolsLeft: rapid.Uint16Max(2).Draw(t, "pools"),
		}
	}
	return d
}

func drawFloor(t *rapid.T) Floor {
	var f Floor
	for r := range core.NumResources {
		if rapid.IntRange(0, 9).Draw(t, "has floor") == 0 {
			f[r] = amount.Draw(t, "floor")
		}
	}
	return f
}

// alloc is the strictest device: the checks of a service's making in the kernel's order (cxi_svc_alloc), as far as limits go.
func alloc(l core.Limits, c core.Capacity) string {
	for r := range core.NumResources {
		if l[r].Max < l[r].Reserved || l[r].Max > c[r].Total {
			return "EINVAL " + r.String()
		}
		if c[r].MaxIsReserved && l[r].Max != l[r].Reserved {
			return "max is not reserved " + r.String()
		}
	}
	for r := range core.NumResources {
		if l[r].Reserved > c[r].Free {
			return "ENOSPC " + r.String()
		}
		if c[r].Pooled && c[r].PoolsLeft == 0 && (l[r].Reserved > 0 || c[r].PooledByMax && l[r].Max > 0) {
			return "no pool " + r.String()
		}
		if l[r].Reserved > 0 && l[r].Reserved < c[r].Least {
			return "below the least " + r.String()
		}
	}
	return ""
}

func TestFitIsNeverRefused(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, floor, dev := drawLimits(t, "want"), drawFloor(t), drawDevice(t)
		got, warns, err := Fit(want, floor, dev)
		if err != nil {
			e := core.AsError(err)
			if got != (core.Limits{}) || len(e.Short) == 0 || e.Code != core.Exhausted {
				t.Fatalf("limits %v and shortages %v with error %v", got, e.Short, err)
			}
			return
		}
		if why := alloc(got, dev.Capacity); why != "" {
			t.Fatalf("refused: %s", why)
		}
		told := map[core.Resource]bool{}
		for _, w := range warns {
			told[w.Resource] = true
		}
		for r := range core.NumResources {
			if got[r].Reserved < floor[r] {
				t.Fatalf("%v: %d is below the floor of %d and nobody said so", r, got[r].Reserved, floor[r])
			}
			if least := dev.Capacity[r].Least; got[r].Reserved > max(want[r].Reserved, least) || want[r].Reserved == 0 && got[r].Reserved > 0 {
				t.Fatalf("%v: %d reserved, %d wanted", r, got[r].Reserved, want[r].Reserved)
			}
			if (got[r].Reserved < want[r].Reserved || got[r].Max == 0 && want[r].Max > 0) && !told[r] {
				t.Fatalf("%v: %v instead of %v without a warning", r, got[r], want[r])
			}
		}
		again, warns, err := Fit(got, floor, dev)
		if diff := cmp.Diff(got, again); diff != "" || err != nil || len(warns) > 0 {
			t.Fatalf("fitted again: %v %v %s", err, warns, diff)
		}
	})
}

// TestFitChangesNothingThatFits: what a device takes as it is stays as it is.
func TestFitChangesNothingThatFits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want, dev := core.Limits{}, drawDevice(t)
		for r := range core.NumResources {
			c := dev.Capacity[r]
			l := core.Limit{Max: rapid.Uint16Max(c.Total).Draw(t, "max")}
			l.Reserved = rapid.Uint16Max(min(l.Max, c.Free)).Draw(t, "reserved")
			if c.MaxIsReserved {
				l.Max = l.Reserved
			}
			want[r] = l
			if alloc(with(core.Limits{}, r, l), dev.Capacity) != "" {
				want[r] = core.Limit{}
			}
		}
		got, warns, err := Fit(want, Floor{}, dev)
		if diff := cmp.Diff(want, got); diff != "" || err != nil || len(warns) > 0 {
			t.Fatalf("%v %v %s", err, warns, diff)
		}
	})
}

// TestRefitEnds: whatever the NIC says, each Refit asks for less, and their number is bounded.
func TestRefitEnds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dev := drawDevice(t)
		previous := drawLimits(t, "previous")
		for n := 0; ; n++ {
			if n > 17*int(core.NumResources) {
				t.Fatalf("%d refits and no end", n)
			}
			var short []core.Shortage
			for range rapid.IntRange(0, 3).Draw(t, "shortages") {
				short = append(short, core.Shortage{
					Device: rapid.SampledFrom([]string{"cxi0", "", "cxi1"}).Draw(t, "device"), Resource: core.Resource(rapid.IntRange(0, 9).Draw(t, "resource")),
					Have: amount.Draw(t, "have"), Pool: rapid.Bool().Draw(t, "pool"),
				})
			}
			got, _, err := Refit(previous, short, Floor{}, dev)
			if err != nil {
				if core.AsError(err).Reason != core.NICShort {
					t.Fatal(err)
				}
				return
			}
			less := false
			for r := range core.NumResources {
				if got[r].Max > previous[r].Max || got[r].Reserved > previous[r].Reserved {
					t.Fatalf("%v: %v after %v", r, got[r], previous[r])
				}
				less = less || got[r] != previous[r]
			}
			if !less {
				t.Fatal("nothing is less")
			}
			if why := alloc(got, dev.Capacity); why != "" {
				t.Fatalf("refused: %s", why)
			}
			previous = got
		}
	})
}

// TestRefitReachesWhatIsThere: a NIC with less than it said gets its service, unless it has no pool for list entries.
func TestRefitReachesWhatIsThere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		said := cassini()
		truth := said
		for r := range core.NumResources {
			truth.Capacity[r].Free = rapid.Uint16Max(said.Capacity[r].Free).Draw(t, "free")
		}
		truth.Capacity[core.LE].PoolsLeft = rapid.Uint16Max(1).Draw(t, "le pools")
		truth.Capacity[core.TLE].PoolsLeft = rapid.Uint16Max(1).Draw(t, "tle pools")
		mute := rapid.Bool().Draw(t, "mute about pools")
		l, _, err := Fit(with(wanted(), core.TLE, core.Limit{Max: 64, Reserved: 64}), Floor{}, said)
		for n := 0; err == nil; n++ {
			short, refused := kernel(l, truth.Capacity, mute)
			if !refused {
				return
			}
			l, _, err = Refit(l, short, Floor{}, said)
		}
		t.Fatal(err)
	})
}

// kernel refuses as the driver does: the first short resource in enum order, then pools.
func kernel(l core.Limits, c core.Capacity, mute bool) ([]core.Shortage, bool) {
	for r := range core.NumResources {
		if l[r].Reserved > c[r].Free {
			s := core.Shortage{Device: "cxi0", Resource: r, Want: l[r].Reserved, Have: c[r].Free}
			if r == core.TLE {
				s.Have = 0
			}
			return []core.Shortage{s}, true
		}
	}
	for _, r := range []core.Resource{core.LE, core.TLE} {
		if l[r].Reserved > 0 && c[r].PoolsLeft == 0 {
			if mute {
				return nil, true
			}
			return []core.Shortage{{Device: "cxi0", Resource: r, Pool: true}}, true
		}
	}
	return nil, false
}

// TestRefitKeepsTheFloor: whatever a NIC says that it lacks, no refit gives less than policy's floor or more than the device has, and what a job lost on the
// way from its wish to the last fit is told with the resource's name.
func TestRefitKeepsTheFloor(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dev, want, floor := drawDevice(t), drawLimits(t, "want"), drawFloor(t)
		got, _, err := Fit(want, floor, dev)
		for range rapid.IntRange(0, 9).Draw(t, "refusals") {
			if err != nil {
				break
			}
			short := []core.Shortage{{Device: "cxi0", Resource: core.Resource(rapid.IntRange(0, int(core.NumResources)-1).Draw(t, "resource")), Have: amount.Draw(t, "have"), Pool: rapid.Bool().Draw(t, "pool")}}
			before := got
			var warnings []Warning
			if got, warnings, err = Refit(before, short, floor, dev); err != nil {
				break
			}
			for r := range core.NumResources {
				told := false
				for _, w := range warnings {
					told = told || w.Resource == r && strings.Contains(w.String(), "cxi0: "+r.String()+": ")
				}
				if got[r].Reserved < before[r].Reserved && !told {
					t.Fatalf("%v: %v after %v, and nobody said so: %v", r, got[r], before[r], warnings)
				}
			}
		}
		if err != nil {
			if e := core.AsError(err); got != (core.Limits{}) || e.Code != core.Exhausted {
				t.Fatalf("limits %v with error %v", got, err)
			}
			return
		}
		for r := range core.NumResources {
			if got[r].Reserved < floor[r] || got[r].Max > dev.Capacity[r].Total || got[r].Reserved > min(dev.Capacity[r].Free, dev.Capacity[r].Total) || got[r].Reserved > got[r].Max {
				t.Fatalf("%v: %v with floor %d on %+v", r, got[r], floor[r], dev.Capacity[r])
			}
		}
	})
}
