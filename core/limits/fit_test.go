package limits

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weft-hpc/weft/core"
)

// cassini is a NIC of SHS 14.0.1 on which nothing is reserved but what the driver needs itself.
func cassini() core.Device {
	total := [core.NumResources]uint16{core.PTE: 2048, core.TXQ: 1024, core.TGQ: 512, core.EQ: 2047, core.CT: 2047, core.LE: 16384, core.TLE: 2048, core.AC: 1022}
	d := core.Device{Name: "cxi0", Up: true, Retry: true}
	for r, n := range total {
		d.Capacity[r] = core.Supply{Total: n, Free: n}
	}
	d.Capacity[core.LE].Pooled, d.Capacity[core.LE].PoolsLeft = true, 14
	d.Capacity[core.TLE] = core.Supply{Total: 2048, Free: 1536, Least: 8, MaxIsReserved: true, Pooled: true, PooledByMax: true, PoolsLeft: 3}
	return d
}

func wanted() core.Limits {
	return core.Limits{
		core.PTE: {Max: 2048, Reserved: 384}, core.TXQ: {Max: 1024, Reserved: 128}, core.TGQ: {Max: 512, Reserved: 64}, core.EQ: {Max: 2047, Reserved: 128},
		core.CT: {Max: 2047, Reserved: 64}, core.LE: {Max: 16384, Reserved: 1024}, core.AC: {Max: 1022, Reserved: 128},
	}
}

// with changes the limit of one resource.
func with(l core.Limits, r core.Resource, limit core.Limit) core.Limits {
	l[r] = limit
	return l
}

func TestFit(t *testing.T) {
	for _, test := range []struct {
		name   string
		want   core.Limits
		floor  Floor
		nic    func(*core.Capacity)
		got    core.Limits
		warns  []string
		reason core.Reason
		what   string
		short  []core.Shortage
	}{
		{name: "all fits", want: wanted(), got: wanted()},
		{name: "nothing wanted", floor: Floor{}},
		{
			name: "max above the device is cut without a word",
			want: with(wanted(), core.EQ, core.Limit{Max: 2048, Reserved: 128}), got: wanted(),
		},
		{
			name: "reserved is scaled to what is left",
			want: wanted(), nic: func(c *core.Capacity) { c[core.TXQ].Free = 31 },
			got:   with(wanted(), core.TXQ, core.Limit{Max: 1024, Reserved: 31}),
			warns: []string{"NIC cxi0: txqs: 31 reserved instead of 128: the NIC has no more left"},
		},
		{
			name: "reserved above max is cut to it",
			want: with(wanted(), core.CT, core.Limit{Max: 10, Reserved: 64}), got: with(wanted(), core.CT, core.Limit{Max: 10, Reserved: 10}),
			warns: []string{"NIC cxi0: cts: 10 reserved instead of 64: that is the max that was wanted with it"},
		},
		{
			name: "a floor that is kept",
			want: wanted(), floor: Floor{core.TXQ: 31}, nic: func(c *core.Capacity) { c[core.TXQ].Free = 31 },
			got:   with(wanted(), core.TXQ, core.Limit{Max: 1024, Reserved: 31}),
			warns: []string{"NIC cxi0: txqs: 31 reserved instead of 128: the NIC has no more left"},
		},
		{
			name: "below the floor",
			want: wanted(), floor: Floor{core.TXQ: 32, core.AC: 2}, nic: func(c *core.Capacity) { c[core.TXQ].Free, c[core.AC].Free = 31, 0 },
			reason: core.BelowFloor,
			what:   "NIC cxi0: txqs: 31 of 128 can be reserved, for 31 of 1024 are free, below policy's floor of 32; acs: 0 of 128 can be reserved, for 0 of 1022 are free, below policy's floor of 2",
			short:  []core.Shortage{{Device: "cxi0", Resource: core.TXQ, Want: 128, Have: 31}, {Device: "cxi0", Resource: core.AC, Want: 128}},
		},
		{
			name: "a floor above what is wanted",
			want: wanted(), floor: Floor{core.TGQ: 65}, reason: core.BelowFloor,
			what:  "NIC cxi0: tgqs: 64 are asked for, below policy's floor of 65",
			short: []core.Shortage{{Device: "cxi0", Resource: core.TGQ, Want: 65, Have: 512}},
		},
		{
			name: "no LE pool left: les come out of the shared pool",
			want: wanted(), nic: func(c *core.Capacity) { c[core.LE].PoolsLeft = 0 },
			got:   with(wanted(), core.LE, core.Limit{Max: 16384}),
			warns: []string{"NIC cxi0: les: 0 reserved instead of 1024: the NIC has no pool left for them"},
		},
		{
			name: "no LE pool left with SHS 14.0.0: the NIC is of no use",
			want: wanted(), nic: func(c *core.Capacity) { c[core.LE].PoolsLeft, c[core.LE].PooledByMax = 0, true },
			reason: core.NICShort,
			what:   "NIC cxi0: les: the job would have none: no LE pool is left, and with this driver no list entry comes without one",
			short:  []core.Shortage{{Device: "cxi0", Resource: core.LE, Want: 1024, Have: 16384, Pool: true}},
		},
		{
			name: "an LE floor and no pool",
			want: wanted(), floor: Floor{core.LE: 1}, nic: func(c *core.Capacity) { c[core.LE].PoolsLeft = 0 },
			reason: core.BelowFloor,
			what:   "NIC cxi0: les: 0 of 1024 can be reserved, for no pool is left, below policy's floor of 1",
			short:  []core.Shortage{{Device: "cxi0", Resource: core.LE, Want: 1024, Have: 16384, Pool: true}},
		},
		{
			name: "no TLE pool left",
			want: with(wanted(), core.TLE, core.Limit{Max: 512, Reserved: 512}), nic: func(c *core.Capacity) { c[core.TLE].PoolsLeft = 0 },
			got: wanted(), warns: []string{"NIC cxi0: tles: none instead of 512 reserved: the NIC has no pool left for them"},
		},
		{
			name: "max of TLE is what is reserved",
			want: with(wanted(), core.TLE, core.Limit{Max: 512, Reserved: 100}), got: with(wanted(), core.TLE, core.Limit{Max: 100, Reserved: 100}),
		},
		{
			name: "a TLE max alone reserves nothing and takes no pool",
			want: with(wanted(), core.TLE, core.Limit{Max: 512}), got: wanted(),
			warns: []string{"NIC cxi0: tles: at most 0 instead of 512: on this NIC that is what is reserved"},
		},
		{
			name: "a TLE reservation is raised to the least",
			want: with(wanted(), core.TLE, core.Limit{Max: 3, Reserved: 3}), got: with(wanted(), core.TLE, core.Limit{Max: 8, Reserved: 8}),
		},
		{
			name: "fewer TLEs left than the least",
			want: with(wanted(), core.TLE, core.Limit{Max: 64, Reserved: 64}), nic: func(c *core.Capacity) { c[core.TLE].Free = 7 },
			got: wanted(), warns: []string{"NIC cxi0: tles: none instead of 64 reserved: the NIC has no more left"},
		},
		{
			name: "a device that lacks a resource",
			want: wanted(), nic: func(c *core.Capacity) { c[core.CT] = core.Supply{} },
			got: with(wanted(), core.CT, core.Limit{}), warns: []string{"NIC cxi0: cts: none instead of 64 reserved: the NIC has no more left"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := cassini()
			if test.nic != nil {
				test.nic(&d.Capacity)
			}
			got, warns, err := Fit(test.want, test.floor, d)
			if diff := cmp.Diff(test.got, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.warns, lines(warns)); diff != "" {
				t.Error(diff)
			}
			if test.reason == "" {
				if err != nil {
					t.Fatal(err)
				}
				return
			}
			e := core.AsError(err)
			if e == nil || e.Reason != test.reason || e.What != test.what || !errors.Is(err, core.Exhausted) {
				t.Fatalf("got  %v\nwant %s", err, test.what)
			}
			if diff := cmp.Diff(test.short, e.Short); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func lines(warns []Warning) []string {
	var out []string
	for _, w := range warns {
		out = append(out, w.String())
	}
	return out
}

func TestRefit(t *testing.T) {
	tles := with(wanted(), core.TLE, core.Limit{Max: 64, Reserved: 64})
	bare := with(with(core.Limits{}, core.LE, core.Limit{Max: 16384}), core.TXQ, core.Limit{Max: 9, Reserved: 1})
	for _, test := range []struct {
		name     string
		previous core.Limits
		short    []core.Shortage
		floor    Floor
		nic      func(*core.Capacity)
		got      core.Limits
		reason   core.Reason
		what     string
	}{
		{
			name: "to what the NIC has", previous: wanted(), short: []core.Shortage{{Device: "cxi0", Resource: core.EQ, Want: 128, Have: 57}},
			got: with(wanted(), core.EQ, core.Limit{Max: 2047, Reserved: 57}),
		},
		{
			name: "to none where the NIC has none", previous: wanted(), short: []core.Shortage{{Device: "cxi0", Resource: core.EQ, Want: 128}},
			got: with(wanted(), core.EQ, core.Limit{Max: 2047}),
		},
		{
			name: "to half where it is not known", previous: wanted(), short: []core.Shortage{{Device: "cxi0", Resource: core.EQ, Want: 128, Have: 128}},
			got: with(wanted(), core.EQ, core.Limit{Max: 2047, Reserved: 64}),
		},
		{
			name: "to half where what it has is not less", previous: wanted(), short: []core.Shortage{{Device: "cxi0", Resource: core.EQ, Want: 128, Have: 500}},
			got: with(wanted(), core.EQ, core.Limit{Max: 2047, Reserved: 64}),
		},
		{
			name: "below the floor", previous: wanted(), floor: Floor{core.EQ: 100}, short: []core.Shortage{{Device: "cxi0", Resource: core.EQ, Want: 128, Have: 57}},
			reason: core.BelowFloor, what: "NIC cxi0: eqs: 57 of 128 can be reserved, for 57 of 2047 are free, below policy's floor of 100",
		},
		{
			name: "no TLE pool", previous: tles, short: []core.Shortage{{Device: "cxi0", Resource: core.TLE, Want: 64, Pool: true}},
			got: wanted(),
		},
		{
			name: "no LE pool", previous: tles, short: []core.Shortage{{Device: "cxi0", Resource: core.LE, Pool: true}},
			got: with(tles, core.LE, core.Limit{Max: 16384}),
		},
		{
			name: "no LE pool with SHS 14.0.0", previous: tles, short: []core.Shortage{{Device: "cxi0", Resource: core.LE, Pool: true}},
			nic:    func(c *core.Capacity) { c[core.LE].PooledByMax = true },
			reason: core.NICShort, what: "NIC cxi0: les: the job would have none: no LE pool is left, and with this driver no list entry comes without one",
		},
		{
			name: "half of the least TLEs is none", previous: with(wanted(), core.TLE, core.Limit{Max: 8, Reserved: 8}),
			short: []core.Shortage{{Device: "cxi0", Resource: core.TLE, Want: 8, Have: 8}}, got: wanted(),
		},
		{name: "refused without a word: the TLE pool first", previous: tles, got: wanted()},
		{name: "refused without a word: then the LE pool", previous: wanted(), got: with(wanted(), core.LE, core.Limit{Max: 16384})},
		{name: "refused without a word: then half of all", previous: bare, got: with(bare, core.TXQ, core.Limit{Max: 9})},
		{
			name: "another NIC's shortage", previous: wanted(), short: []core.Shortage{{Device: "cxi1", Resource: core.EQ, Want: 128, Have: 1}, {Device: "cxi0", Resource: core.CT, Have: 2}},
			got: with(wanted(), core.CT, core.Limit{Max: 2047, Reserved: 2}),
		},
		{
			name: "nothing left to reduce", previous: core.Limits{core.LE: {Max: 100}}, short: []core.Shortage{{Device: "cxi0", Resource: core.EQ}},
			reason: core.NICShort, what: "NIC cxi0: it refuses the service for want of resources, and there is nothing left to reduce",
		},
		{
			name: "a resource that does not exist", previous: core.Limits{}, short: []core.Shortage{{Device: "cxi0", Resource: 200, Have: 5}},
			reason: core.NICShort, what: "NIC cxi0: it refuses the service for want of resources, and there is nothing left to reduce",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := cassini()
			if test.nic != nil {
				test.nic(&d.Capacity)
			}
			got, warns, err := Refit(test.previous, test.short, test.floor, d)
			if diff := cmp.Diff(test.got, got); diff != "" {
				t.Error(diff)
			}
			if test.reason == "" && (err != nil || len(warns) == 0) {
				t.Fatalf("%v, warnings %v", err, warns)
			}
			if e := core.AsError(err); test.reason != "" && (e == nil || e.Reason != test.reason || e.What != test.what) {
				t.Fatalf("got  %v\nwant %s", err, test.what)
			}
		})
	}
}
