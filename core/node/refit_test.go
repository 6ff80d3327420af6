package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"pgregory.net/rapid"
)

// TestRefitAgainstOthers: while others take what a reading showed as free, a job is fitted anew a bounded number of times, and then has between policy's floor
// and its wish on every NIC, with a warning that names each resource of which it has less; or it has nothing at all, and its node is not blamed for it.
func TestRefitAgainstOthers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench(rapid.IntRange(1, 3).Draw(t, "nics"))
		b.cfg.Refits = rapid.IntRange(1, 4).Draw(t, "refits")
		b.start()
		want, floor := core.Limits{}, core.Grant{}.Floor
		some := rapid.SampledFrom([]core.Resource{core.PTE, core.TXQ, core.EQ, core.LE})
		for r := range want {
			want[r] = core.Limit{Max: 1000, Reserved: 10}
		}
		var wished []core.Resource
		for range rapid.IntRange(1, 3).Draw(t, "large wishes") {
			wished = append(wished, some.Draw(t, "of"))
			want[wished[len(wished)-1]].Reserved = rapid.Uint16Range(300, 1000).Draw(t, "wish")
		}
		if rapid.Bool().Draw(t, "has a floor") {
			r := wished[len(wished)-1]
			floor[r] = rapid.SampledFrom([]uint16{want[r].Reserved, want[r].Reserved / 2, 1}).Draw(t, "floor")
		}
		b.grant = func(r Reserve) (core.Grant, *core.Error) {
			g := grantOf(r, 4034)
			g.Limits, g.Floor = want, floor
			return g, nil
		}
		creates, others := 0, core.VNI(5000)
		b.hold = func(a Action) bool {
			if _, is := a.(Create); !is {
				return false
			}
			creates++
			for range rapid.IntRange(0, 3).Draw(t, "others") {
				d := rapid.SampledFrom(b.nics.devices).Draw(t, "on").Name
				r := rapid.SampledFrom(wished).Draw(t, "take")
				n := b.nics.free(d, r)
				n -= min(n, rapid.SampledFrom([]uint16{0, 1, 10, want[r].Reserved / 2, want[r].Reserved - 1}).Draw(t, "but so many"))
				others++
				var l core.Limits
				l[r] = core.Limit{Max: n, Reserved: n}
				b.nics.make(core.ServiceSpec{Device: d, Owner: core.UID(5), VNIs: []core.VNI{others}, Limits: l})
			}
			return false
		}
		call := b.prepare(job("7", 0), 1000, 10)
		b.pass(time.Minute)
		out, answered := b.replies[call]
		if !answered {
			t.Fatal("the hook has no answer")
		}
		if most := 1 + b.cfg.Refits*len(b.nics.devices)*len(wished); creates > most {
			t.Fatalf("%d attempts with %d refits of each resource of a NIC", creates, b.cfg.Refits)
		}
		if count[Drain](b) > 0 {
			t.Fatalf("a NIC that is short took the node out: %v", out.Err)
		}
		warned := eachNIC(t, out.Warnings)
		mine := 0
		for _, s := range b.ours() {
			if s.Owner != core.UID(1000) {
				continue
			}
			mine++
			for r, l := range s.Limits {
				name := core.Resource(r).String()
				if l.Reserved < floor[r] || l.Reserved > want[r].Reserved || l.Max > b.nics.device(s.Device).Capacity[r].Total || l.Reserved > l.Max {
					t.Fatalf("%s: %s: %+v, where %+v was wished with a floor of %d", s.Device, name, l, want[r], floor[r])
				}
				if l.Reserved < want[r].Reserved && !strings.Contains(strings.Join(warned, "\n"), fmt.Sprintf("NIC %s: %s: %d reserved instead of %d", s.Device, name, l.Reserved, want[r].Reserved)) &&
					!strings.Contains(strings.Join(warned, "\n"), fmt.Sprintf("NIC %s: %s: none instead of %d reserved", s.Device, name, want[r].Reserved)) {
					t.Fatalf("%s: %s: %d instead of %d, and the user is told %q", s.Device, name, l.Reserved, want[r].Reserved, out.Warnings)
				}
			}
		}
		for i, w := range warned {
			for _, other := range warned[:i] {
				if about := strings.SplitAfterN(w, ": ", 3); len(about) == 3 && strings.HasPrefix(other, about[0]+about[1]) {
					t.Fatalf("the user is told twice of one resource: %q", out.Warnings)
				}
			}
		}
		for _, d := range b.nics.devices {
			for r := range d.Capacity {
				used := 0
				for _, s := range b.nics.services {
					if s.Device == d.Name {
						used += int(s.Limits[r].Reserved)
					}
				}
				if used > int(d.Capacity[r].Total) {
					t.Fatalf("%s: %d of %v are reserved", d.Name, used, core.Resource(r))
				}
			}
		}
		switch {
		case out.Err == nil && mine != len(b.nics.devices):
			t.Fatalf("ready with %d services on %d NICs", mine, len(b.nics.devices))
		case out.Err != nil && (mine != 0 || out.Err.Code != core.Exhausted):
			t.Fatalf("%v, with %d services left", out.Err, mine)
		}
	})
}

// TestRefitOfEachResource: a NIC names one resource at a time, and each has its own bound.
func TestRefitOfEachResource(t *testing.T) {
	b := newBench(2)
	b.cfg.Refits = 1
	b.start()
	b.hold = func(a Action) bool { _, ok := a.(Create); return ok }
	call := b.prepare(job("7", 0), 1000, 10)
	a := b.held[0].(Create)
	var all core.Limits
	for r := range all {
		all[r] = core.Limit{Max: 1000, Reserved: 1000}
	}
	for _, d := range b.nics.devices {
		b.nics.make(core.ServiceSpec{Device: d.Name, Owner: core.UID(5), VNIs: []core.VNI{5000}, Limits: all})
	}
	b.hold = nil
	b.do(a)
	if out := b.replies[call]; out.Err != nil || len(out.Warnings) != int(core.NumResources) {
		t.Errorf("%v, warnings %q", out.Err, out.Warnings)
	}
	b.wantPhases(t, Ready)
}

// TestShare: a job's part of the node bounds its max, whose cores the node counts where the scheduler does not say.
func TestShare(t *testing.T) {
	for name, test := range map[string]struct {
		share core.Share
		max   uint16
		warns []string
	}{
		"all of the node":             {max: 1000},
		"as the scheduler counts":     {share: core.Share{Cores: 4, Total: 16}, max: 250},
		"as the node counts":          {share: core.Share{Cores: 4}, max: 500},
		"all that the node counts":    {share: core.Share{Cores: 8}, max: 1000},
		"more than the node counts":   {share: core.Share{Cores: 9}, max: 1000},
		"less than policy reserves":   {share: core.Share{Cores: 1, Total: 200}, max: 5, warns: []string{"5 reserved instead of 10: that is the job's share of the node"}},
		"less than policy must leave": {share: core.Share{Cores: 1, Total: 2000}, max: 2, warns: []string{"2 reserved instead of 10: that is the job's share of the node"}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(2)
			b.cfg.Cores = 8
			b.start()
			b.grant = func(r Reserve) (core.Grant, *core.Error) {
				g := grantOf(r, 4034)
				g.Limits = core.Limits{core.TXQ: {Max: 1000, Reserved: 10}}
				g.Floor[core.TXQ], g.Share = 2, test.share
				return g, nil
			}
			call := b.prepare(job("7", 0), 1000, 10)
			b.wantPhases(t, Ready)
			for _, s := range b.ours() {
				if got := s.Limits[core.TXQ].Max; got != test.max {
					t.Errorf("%s: at most %d, want %d", s.Device, got, test.max)
				}
			}
			for i, w := range test.warns {
				test.warns[i] = "NIC cxi[0-1]: txqs: " + w
			}
			if out := b.replies[call]; !slices.Equal(out.Warnings, test.warns) {
				t.Errorf("%v, warnings %q", out.Err, out.Warnings)
			}
		})
	}
}

// TestExact: with no_adjust_limits a job has all that it reserves on every NIC, or nothing. It does not take a
// neighbour's part of the node for that.
func TestExact(t *testing.T) {
	for name, test := range map[string]struct {
		share core.Share
		taken uint16 // by somebody else, of the 1000 of each NIC
		late  bool   // after the node has read what there is
		says  string
	}{
		"all is there":    {taken: 990},
		"too little":      {taken: 991, says: "NIC cxi0: txqs: 9 of 10 can be reserved, and no_adjust_limits wants all of them"},
		"taken meanwhile": {taken: 991, late: true, says: "NIC cxi0: txqs: 9 of 10 can be reserved, and no_adjust_limits wants"},
		"its part":        {share: core.Share{Cores: 1, Total: 100}},
		"less than that":  {share: core.Share{Cores: 1, Total: 200}, says: "NIC cxi0: txqs: 5 of 10 can be reserved, and no_adjust_limits wants"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, exact := range []bool{true, false} {
				b := newBench(2)
				take := func() {
					for _, d := range b.nics.devices {
						l := core.Limits{core.TXQ: {Max: test.taken, Reserved: test.taken}}
						b.nics.make(core.ServiceSpec{Device: d.Name, Owner: core.UID(5), VNIs: []core.VNI{5000}, Limits: l})
					}
				}
				b.grant = func(r Reserve) (core.Grant, *core.Error) {
					g := grantOf(r, 4034)
					g.Limits, g.Share = core.Limits{core.TXQ: {Max: 1000, Reserved: 10}}, test.share
					g.Exact = exact
					return g, nil
				}
				b.hold = func(a Action) bool { _, ok := a.(Create); return ok && test.late }
				if test.taken > 0 && !test.late {
					take()
				}
				call := b.prepare(job("7", 0), 1000, 10)
				if b.hold = nil; test.late {
					take()
					b.do(b.held[0])
				}
				b.pass(time.Minute)
				out, mine := b.replies[call], 0
				for _, s := range b.ours() {
					if s.Owner == core.UID(1000) {
						mine++
					}
				}
				switch {
				case exact && test.says != "":
					if mine != 0 || out.Err == nil || out.Err.Reason != core.BelowFloor || !strings.Contains(out.Err.What, test.says) {
						t.Errorf("it has %d services, and says %v", mine, out.Err)
					}
				case mine != 2 || out.Err != nil || (len(out.Warnings) > 0) != (test.says != ""):
					t.Errorf("it has %d services, and says %v, warnings %q", mine, out.Err, out.Warnings)
				}
			}
		})
	}
}

// TestShareOfTwo: no scheduler counts the node's cores, and two jobs each have as many as it has processors. The first has
// all, and the second is warned that it may.
func TestShareOfTwo(t *testing.T) {
	b := newBench(1)
	b.cfg.Cores = 8
	b.start()
	b.grant = func(r Reserve) (core.Grant, *core.Error) {
		g := grantOf(r, core.VNI(4034+r.Ask.UID))
		g.Limits, g.Share = core.Limits{core.TXQ: {Max: 1000, Reserved: 10}}, core.Share{Cores: 8}
		return g, nil
	}
	first := b.prepare(job("7", 0), 1000, 10)
	b.wantPhases(t, Ready)
	second := b.prepare(job("8", 0), 1001, 10)
	b.wantPhases(t, Ready, Ready)
	if out := b.replies[first]; out.Err != nil || len(out.Warnings) > 0 {
		t.Errorf("the first: %v, warnings %q", out.Err, out.Warnings)
	}
	want := []string{"NIC cxi0: txqs: 10 reserved, and other services may use them up"}
	if out := b.replies[second]; out.Err != nil || !slices.Equal(out.Warnings, want) {
		t.Errorf("the second: %v, warnings %q, want %q", out.Err, out.Warnings, want)
	}
	var got []core.Limit
	for _, s := range b.ours() {
		got = append(got, s.Limits[core.TXQ])
	}
	if want := []core.Limit{{Max: 1000, Reserved: 10}, {Max: 10, Reserved: 10}}; !slices.Equal(got, want) {
		t.Errorf("they have %v, want %v", got, want)
	}
}

// TestClassThatANICLacks: a job is told at its start. It does not start if it asked for the class.
func TestClassThatANICLacks(t *testing.T) {
	for name, test := range map[string]struct {
		asked bool
		has   core.Classes
		why   core.Reason
		warns []string
	}{
		"all are there":     {true, core.AllClasses, "", nil},
		"nobody knows":      {true, 0, "", nil},
		"given, not asked":  {false, core.BestEffort | core.BulkData, "", []string{"NIC cxi1: traffic in LOW_LATENCY will fail: its QoS profile has only BULK_DATA,BEST_EFFORT"}},
		"asked for by name": {true, core.BestEffort, core.ClassMissing, nil},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(2)
			b.nics.devices[0].Classes, b.nics.devices[1].Classes = core.AllClasses, test.has
			b.grant = func(r Reserve) (core.Grant, *core.Error) {
				g := grantOf(r, 4034)
				g.Classes, g.Asked = core.BestEffort|core.LowLatency, test.asked
				return g, nil
			}
			call := b.prepare(job("7", 0), 1000, 10)
			b.pass(time.Minute)
			b.wantErr(t, call, test.why)
			if out := b.replies[call]; !slices.Equal(out.Warnings, test.warns) {
				t.Errorf("warnings %q, want %q", out.Warnings, test.warns)
			}
			if len(b.ours()) > 0 != (test.why == "") || count[Drain](b) > 0 {
				t.Errorf("it left %+v, and drained %d times", b.ours(), count[Drain](b))
			}
		})
	}
}

// TestStartsTogether: a run counts what another run is about to make as taken, so no NIC refuses either.
func TestStartsTogether(t *testing.T) {
	b := newBench(2)
	b.grant = func(r Reserve) (core.Grant, *core.Error) {
		g := grantOf(r, core.VNI(4034+r.Ask.UID))
		g.Limits[core.TXQ] = core.Limit{Max: 1000, Reserved: 600}
		return g, nil
	}
	b.hold = func(a Action) bool { _, ok := a.(Create); return ok }
	calls := []uint64{b.prepare(job("7", 0), 1000, 10), b.prepare(job("8", 0), 1001, 10)}
	if len(b.held) != 2 {
		t.Fatalf("%d runs are about to be made", len(b.held))
	}
	held := b.held
	b.hold = nil
	for _, a := range held {
		b.do(a)
	}
	for i, want := range [][]string{nil, {"NIC cxi[0-1]: txqs: 400 reserved instead of 600: the NIC has no more left"}} {
		if out := b.replies[calls[i]]; out.Err != nil || !slices.Equal(out.Warnings, want) {
			t.Errorf("job %d: %v, warnings %q", i, out.Err, out.Warnings)
		}
	}
	if n := count[Create](b); n != 2 {
		t.Errorf("%d creations", n)
	}
}

// TestSharesTogether: the room that a run finds is without that of a run that is about to be made.
func TestSharesTogether(t *testing.T) {
	b := newBench(1)
	b.grant = func(r Reserve) (core.Grant, *core.Error) {
		g := grantOf(r, core.VNI(4034+r.Ask.UID))
		g.Limits = core.Limits{core.TXQ: {Max: 700, Reserved: 10}}
		if r.Ask.UID == 1001 {
			g.Share = core.Share{Cores: 1, Total: 2}
		}
		return g, nil
	}
	b.hold = func(a Action) bool { _, ok := a.(Create); return ok }
	b.prepare(job("7", 0), 1000, 10)
	b.prepare(job("8", 0), 1001, 10)
	b.release()
	for i, want := range []uint16{700, 300} {
		if got := b.ours()[i].Limits[core.TXQ].Max; got != want {
			t.Errorf("job %d: at most %d, want %d", i, got, want)
		}
	}
}

// eachNIC gives a line for each NIC of those that share one.
func eachNIC(t *rapid.T, warnings []string) []string {
	var out []string
	for _, w := range warnings {
		nics, text, _ := strings.Cut(strings.TrimPrefix(w, aboutNIC), ": ")
		list, err := hostlist.Parse(nics)
		if err != nil {
			t.Fatal(err)
		}
		for name := range list.Expand() {
			out = append(out, aboutNIC+name+": "+text)
		}
	}
	return out
}
