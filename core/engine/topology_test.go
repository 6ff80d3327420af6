package engine_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

func TestSpread(t *testing.T) {
	two, err := engine.NewTopology([]string{"n[1-4]", "n[5-8]"})
	if err != nil {
		t.Fatal(err)
	}
	for hosts, want := range map[string]int{"n1": 1, "n[1-4]": 1, "n[4-5]": 2, "n[1-8]": 2, "login1": 1, "n1,login[1-2]": 2, "n[1-9]": 3, "": 0, "n[": 0} {
		if got := two.Spread(core.Job{Placements: []core.Placement{{Hosts: hosts}}}); got != want {
			t.Errorf("%q: over %d groups, want %d", hosts, got, want)
		}
	}
	if got := two.Spread(core.Job{Placements: []core.Placement{{Hosts: "n1"}, {Hosts: "n2"}, {Hosts: "n7"}}}); got != 2 {
		t.Errorf("two groups in three shares: %d", got)
	}
	var none *engine.Topology
	if got := none.Spread(core.Job{Placements: []core.Placement{{Hosts: "n1"}}}); got != 0 {
		t.Errorf("without a topology: %d", got)
	}
	if _, err := engine.NewTopology(make([]string, engine.MaxGroups+1)); err == nil {
		t.Error("more groups than a fabric has")
	}
}

// A job's spread is what counting by hand gives, whatever its nodes and however they are split into shares.
func TestSpreadCounts(t *testing.T) {
	const per, groups = 4, 8
	lists := make([]string, groups)
	for i := range lists {
		lists[i] = fmt.Sprintf("n[%d-%d]", i*per, i*per+per-1)
	}
	top, err := engine.NewTopology(lists)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		var job core.Job
		want := map[int]bool{}
		for _, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, per*groups+3), 1, 12, rapid.ID[int]).Draw(t, "nodes") {
			job.Placements = append(job.Placements, core.Placement{Hosts: fmt.Sprintf("n%d", n), Nodes: 1})
			want[min(n/per, groups)] = true
		}
		if got := top.Spread(job); got != len(want) {
			t.Fatalf("%v: over %d groups, want %d", job.Placements, got, len(want))
		}
	})
}
