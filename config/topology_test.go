package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/hclfile"
)

func TestDragonfly(t *testing.T) {
	text := strings.Replace(base, "n[1-4]", "login1,n[1-10]", 1) + "topology {\n  groups = 3\n  switches_per_group = 2\n  nodes_per_switch = 2\n  nics_per_node = 4\n}\n"
	c, findings := config.Parse(hclfile.Source{Name: "config.hcl", Text: []byte(text)})
	if findings != nil {
		t.Fatal(findings)
	}
	want := []config.Group{{Name: "g0", Nodes: "login1,n[1-3]"}, {Name: "g1", Nodes: "n[4-7]"}, {Name: "g2", Nodes: "n[8-10]"}}
	if diff := cmp.Diff(want, c.Groups); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&config.Dragonfly{Groups: 3, SwitchesPerGroup: 2, NodesPerSwitch: 2, NICsPerNode: 4}, c.Dragonfly); diff != "" {
		t.Error(diff)
	}
}

// The largest fabric can be written down.
func TestLargestDragonfly(t *testing.T) {
	text := strings.Replace(base, "n[1-4]", "n[1-261632]", 1) + "topology {\n  groups = 511\n  switches_per_group = 32\n  nodes_per_switch = 16\n  nics_per_node = 4\n}\n"
	c, findings := config.Parse(hclfile.Source{Name: "config.hcl", Text: []byte(text)})
	if findings != nil {
		t.Fatal(findings)
	}
	if n := len(c.Groups); n != 511 || c.Groups[510].Nodes != "n[261121-261632]" {
		t.Errorf("%d groups, the last %q", n, c.Groups[n-1].Nodes)
	}
}

// No two NICs of a fabric have one address, each has 20 bits, and its first 9 are the group's.
func TestDragonflyAddress(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := config.Dragonfly{Groups: rapid.IntRange(1, 511).Draw(t, "groups"), SwitchesPerGroup: rapid.IntRange(1, 32).Draw(t, "switches"), NICsPerNode: rapid.IntRange(1, 16).Draw(t, "nics")}
		d.NodesPerSwitch = rapid.IntRange(1, min(64/d.NICsPerNode, 512/d.SwitchesPerGroup)).Draw(t, "nodes")
		seen := map[uint32]string{}
		per := d.SwitchesPerGroup * d.NodesPerSwitch
		for i := range min(d.Groups, 3) * per {
			for nic := range d.NICsPerNode {
				at, name := d.Address(i)+uint32(nic), fmt.Sprintf("node %d NIC %d", i, nic)
				if other, ok := seen[at]; ok || at >= 1<<20 || int(at>>11) != i/per {
					t.Fatalf("%s has address %#x of group %d; so has %q", name, at, at>>11, other)
				}
				seen[at] = name
			}
		}
		if last := d.Address(d.Groups*per-1) + uint32(d.NICsPerNode) - 1; last >= 1<<20 {
			t.Fatalf("the last address is %#x", last)
		}
	})
}
