package limits

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/weft-hpc/weft/core"
	"pgregory.net/rapid"
)

// others are the system's service and another one of the device.
func others(system, max uint16) []core.Service {
	var l, m core.Limits
	for r := range l {
		l[r], m[r] = core.Limit{Max: system, Reserved: system}, core.Limit{Max: max}
	}
	return []core.Service{
		{Device: "cxi0", ID: 2, System: true, Enabled: true, Limits: l},
		{Device: "cxi0", ID: 3, Enabled: true, Limits: m},
		{Device: "cxi1", ID: 3, Enabled: true, Limits: core.Limits{core.TXQ: {Max: 1024}}},
	}
}

func TestShare(t *testing.T) {
	half := core.Share{Cores: 32, Total: 64}
	limit := func(max, reserved uint16) core.Limit { return core.Limit{Max: max, Reserved: reserved} }
	standard := others(24, 0)
	standard[0].System, standard[0].Default = false, true
	used := others(24, 900)
	used[1].Enabled, used[1].InUse[core.TXQ] = false, 700
	for _, test := range []struct {
		name  string
		part  core.Share
		there []core.Service
		floor Floor
		want  core.Limit // of txqs, of which there are 1024
		got   core.Limit
		warns []string
	}{
		{
			name: "as many cores as are counted", part: core.Share{Cores: 64, Total: 64}, there: others(24, 0),
			want: limit(1024, 64), got: limit(1000, 64),
		},
		{
			name: "beside the default service", part: half, there: standard,
			want: limit(1024, 64), got: limit(500, 64),
		},
		{
			name: "another has as many", part: core.Share{Cores: 64, Total: 64}, there: others(24, 1000),
			want: limit(1024, 64), got: limit(64, 64),
			warns: []string{"NIC cxi0: txqs: 64 reserved, and other services may use them up"},
		},
		{
			name: "more cores than are counted", part: core.Share{Cores: 96, Total: 64}, there: others(24, 0),
			want: limit(1024, 64), got: limit(1000, 64),
		},
		{
			name: "no share", there: others(24, 0),
			want: limit(1024, 64), got: limit(1024, 64),
		},
		{
			name: "a node that nobody counted", part: core.Share{Cores: 1}, there: others(24, 0),
			want: limit(1024, 64), got: limit(1000, 64),
		},
		{
			name: "half of the node", part: half, there: others(24, 0),
			want: limit(1024, 64), got: limit(500, 64),
		},
		{
			name: "less is wanted", part: half, there: others(24, 0),
			want: limit(100, 64), got: limit(100, 64),
		},
		{
			name: "another leaves less", part: half, there: others(24, 900),
			want: limit(1024, 64), got: limit(100, 64),
		},
		{
			name: "another leaves too little", part: half, there: others(24, 1024),
			want: limit(1024, 64), got: limit(64, 64),
			warns: []string{"NIC cxi0: txqs: 64 reserved, and other services may use them up"},
		},
		{
			name: "a disabled service has what is in use", part: half, there: used,
			want: limit(1024, 64), got: limit(300, 64),
		},
		{
			name: "more is reserved than the share", part: half, there: others(24, 0),
			want: limit(1024, 600), got: limit(500, 500),
			warns: []string{"NIC cxi0: txqs: 500 reserved instead of 600: that is the job's share of the node"},
		},
		{
			name: "both", part: half, there: others(24, 1024),
			want: limit(1024, 600), got: limit(500, 500),
			warns: []string{"NIC cxi0: txqs: 500 reserved instead of 600: " +
				"that is the job's share of the node, and other services may use it up"},
		},
		{
			name: "the floor", part: core.Share{Cores: 1, Total: 1024}, floor: Floor{core.TXQ: 2}, there: others(24, 0),
			want: limit(1024, 2), got: limit(2, 2),
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			d := cassini()
			got, warns := Share(core.Limits{core.TXQ: test.want}, test.floor, test.part, d, test.there)
			if diff := cmp.Diff(core.Limits{core.TXQ: test.got}, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.warns, lines(warns)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestShareKeepsPools: the hardware keeps what lies in a pool, so that has no share.
func TestShareKeepsPools(t *testing.T) {
	want := core.Limits{core.LE: {Max: 16384, Reserved: 1024}, core.TLE: {Max: 512, Reserved: 512}}
	got, warns := Share(want, Floor{}, core.Share{Cores: 1, Total: 64}, cassini(), others(24, 1024))
	if diff := cmp.Diff(want, got); diff != "" || len(warns) > 0 {
		t.Error(warns, diff)
	}
}

// TestReservationsHold: jobs come and go on a node whose cores they share. Whatever the others take, each can have what
// is reserved to it. A job is warned where others could take that: those that no share bounds, or that have the floor.
// Some nodes give a core to several jobs, and some have cores that no scheduler counts.
func TestReservationsHold(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		dev, floor := cassini(), Floor{}
		there := others(rapid.Uint16Max(50).Draw(t, "system"), 0)[:1]
		bounded := true
		if rapid.Bool().Draw(t, "greedy") {
			there, bounded = append(there, core.Service{Device: "cxi0", Enabled: true, Limits: wanted()}), false
		}
		if rapid.Bool().Draw(t, "has a floor") {
			floor, bounded = Floor{core.PTE: 6, core.TXQ: 2}, false
		}
		counted := rapid.Bool().Draw(t, "the node's cores are known")
		bounded = bounded && counted
		first := len(there)
		node := rapid.IntRange(1, 800).Draw(t, "cores")
		total := node * rapid.IntRange(1, 4).Draw(t, "jobs that may have a core")
		var cores []int
		for range rapid.IntRange(1, 12).Draw(t, "jobs") {
			if len(cores) > 0 && rapid.Bool().Draw(t, "one ends") {
				cores, there = cores[1:], append(there[:first:first], there[first+1:]...)
				continue
			}
			free := total
			for _, n := range cores {
				free -= n
			}
			if free == 0 {
				continue
			}
			n := rapid.IntRange(1, min(free, node)).Draw(t, "job's cores")
			want := wanted()
			for r := range want {
				want[r].Reserved = rapid.Uint16Max(want[r].Max).Draw(t, "reserved")
			}
			part := core.Share{Cores: n}
			if counted {
				part.Total = total
			}
			got, warns := Share(want, floor, part, dev, there)
			unsure := map[core.Resource]bool{}
			for _, w := range warns {
				unsure[w.Resource] = w.Unsure
				if w.Unsure && bounded {
					t.Fatalf("%v", w)
				}
			}
			for i, has := range dev.Capacity {
				r, reserved := core.Resource(i), int(got[i].Reserved)
				_, all := taken(there, "cxi0", r)
				if taker := reserved > 0 && all+reserved > int(has.Total); !has.Pooled && taker != unsure[r] {
					t.Fatalf("%d of %d cores: %v: %d reserved, others may have %d: %v", n, total, r, reserved, all, warns)
				}
			}
			there = append(there, core.Service{Device: "cxi0", Enabled: true, Limits: got})
			cores = append(cores, n)
		}
		for r, has := range dev.Capacity {
			_, all := taken(there, "cxi0", core.Resource(r))
			if bounded && !has.Pooled && all > int(has.Total) {
				t.Fatalf("jobs of %v cores of %d: %v: all may have %d", cores, total, core.Resource(r), all)
			}
		}
	})
}

// TestTake: a service takes its reservation, and a pool where it needs one.
func TestTake(t *testing.T) {
	d := core.Device{}
	d.Capacity[core.TXQ] = core.Supply{Total: 100, Free: 10}
	d.Capacity[core.LE] = core.Supply{Total: 100, Free: 100, Pooled: true, PoolsLeft: 2}
	d.Capacity[core.TLE] = core.Supply{Total: 100, Free: 100, Pooled: true, PooledByMax: true, PoolsLeft: 1}
	Take(&d, core.Limits{core.TXQ: {Max: 50, Reserved: 20}, core.LE: {Max: 50}, core.TLE: {Max: 8}})
	Take(&d, core.Limits{core.LE: {Max: 50, Reserved: 5}, core.TLE: {Max: 8, Reserved: 8}})
	if txq, le, tle := d.Capacity[core.TXQ], d.Capacity[core.LE], d.Capacity[core.TLE]; txq.Free != 0 ||
		le.Free != 95 || le.PoolsLeft != 1 || tle.Free != 92 || tle.PoolsLeft != 0 {
		t.Errorf("%+v %+v %+v", txq, le, tle)
	}
}
