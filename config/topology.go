package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/hclfile"
)

// Dragonfly is the shape of a regular Slingshot fabric. The nodes fill it in their order: the first switch of the first group, then its second.
type Dragonfly struct {
	Groups           int // 1 to 511
	SwitchesPerGroup int // 1 to 32
	NodesPerSwitch   int // 1 to 64; with SwitchesPerGroup at most 512 nodes a group
	NICsPerNode      int // 1 to 16; with NodesPerSwitch at most the 64 ports of a switch
}

// Address is the fabric address of the first NIC of the node at index; the others of the node follow. A Slingshot address has 20 bits: 9 for the group, 5
// for the switch in it, 6 for the port.
func (d Dragonfly) Address(index int) uint32 {
	port := index % d.NodesPerSwitch * d.NICsPerNode
	index /= d.NodesPerSwitch
	return uint32(index/d.SwitchesPerGroup<<11 | index%d.SwitchesPerGroup<<6 | port)
}

// maxGroups bounds the groups of a fabric.
const maxGroups = 511

// maxGroupNodes bounds the nodes of a dragonfly group.
const maxGroupNodes = 512

// maxPorts is how many ports a Slingshot switch has.
const maxPorts = 64

var dragonflyAttributes = []struct {
	name string
	most int64
	at   func(*Dragonfly) *int
}{
	{"groups", maxGroups, func(d *Dragonfly) *int { return &d.Groups }},
	{"switches_per_group", 32, func(d *Dragonfly) *int { return &d.SwitchesPerGroup }},
	{"nodes_per_switch", maxPorts, func(d *Dragonfly) *int { return &d.NodesPerSwitch }},
	{"nics_per_node", 16, func(d *Dragonfly) *int { return &d.NICsPerNode }},
}

// dragonfly reads the figures, and makes the groups of them.
func (l *loader) dragonfly(block *hclsyntax.Block) {
	body := block.Body
	var d Dragonfly
	if len(body.Blocks) > 0 {
		l.add(l.file.At(hclfile.Error, block.DefRange(), "topology: it has group blocks, and the figures of a dragonfly too", "Leave one of them: group blocks name the nodes of each group, figures count them off."))
		return
	}
	for _, a := range dragonflyAttributes {
		attr := body.Attributes[a.name]
		if attr == nil {
			l.add(l.file.At(hclfile.Error, block.DefRange(), "topology: "+a.name+" is missing", "A dragonfly needs groups, switches_per_group, nodes_per_switch and nics_per_node."))
			return
		}
		n, findings := l.file.Int(attr.Expr, "topology: "+a.name, 1, a.most)
		l.add(findings...)
		if findings != nil {
			return
		}
		*a.at(&d) = int(n)
	}
	per := d.SwitchesPerGroup * d.NodesPerSwitch
	switch ports := d.NodesPerSwitch * d.NICsPerNode; {
	case per > maxGroupNodes:
		l.add(l.file.At(hclfile.Error, block.DefRange(), fmt.Sprintf("topology: a group would have %d nodes, and has at most %d", per, maxGroupNodes), ""))
		return
	case ports > maxPorts:
		l.add(l.file.At(hclfile.Error, block.DefRange(), fmt.Sprintf("topology: a switch would have %d NICs, and has %d ports", ports, maxPorts), ""))
		return
	}
	list, err := hostlist.Parse(l.config.Nodes)
	if err != nil || l.nodes == nil {
		return // nodes was wrong, and that was said
	}
	if l.config.NodeCount > d.Groups*per {
		l.add(l.file.At(hclfile.Error, block.DefRange(), fmt.Sprintf("topology: it has room for %d nodes, and nodes names %d", d.Groups*per, l.config.NodeCount), ""))
		return
	}
	l.config.Dragonfly = &d
	hosts := slices.Collect(list.Expand())
	for i := 0; len(hosts) > 0; i++ {
		n := min(per, len(hosts))
		l.config.Groups = append(l.config.Groups, Group{Name: fmt.Sprintf("g%d", i), Nodes: hostlist.Fold(hosts[:n])})
		hosts = hosts[n:]
	}
}

// topology reads which nodes are near each other: groups by name, or the figures of a dragonfly.
func (l *loader) topology(block *hclsyntax.Block) {
	shape := hclfile.Shape{Where: "topology", Blocks: map[string]hclfile.BlockShape{"group": {Labels: []string{"NAME"}}}}
	for _, a := range dragonflyAttributes {
		shape.Attributes = append(shape.Attributes, a.name)
	}
	l.add(l.file.Check(block.Body, shape)...)
	if len(block.Body.Attributes) > 0 {
		l.dragonfly(block)
		return
	}
	group, named := map[string]string{}, map[string]bool{}
	for _, block := range block.Body.Blocks {
		if block.Type != "group" || len(block.Labels) != 1 || !l.name(block, 0, core.MaxScheduler) {
			continue
		}
		title, name := hclfile.Title(block), block.Labels[0]
		if len(l.config.Groups) == maxGroups {
			l.add(l.file.At(hclfile.Error, block.DefRange(), fmt.Sprintf("topology: it has more than the %d groups that a fabric can have", maxGroups), ""))
			return
		}
		l.add(l.file.Check(block.Body, hclfile.Shape{Where: title, Attributes: []string{"nodes"}, Required: []string{"nodes"}})...)
		if named[name] {
			l.add(l.file.At(hclfile.Error, block.DefRange(), title+" is given twice", ""))
		}
		named[name] = true
		attr := block.Body.Attributes["nodes"]
		text, ok := l.text(attr, title+": nodes")
		if !ok {
			continue
		}
		for _, host := range l.hosts(attr.Expr.Range(), text, title+": nodes") {
			if other, ok := group[host]; ok {
				l.add(l.file.At(hclfile.Error, attr.Expr.Range(), fmt.Sprintf("%s: node %q is also in group %q", title, host, other), "A node is in one group."))
				return
			}
			if _, out := l.outside([]string{host}); out {
				l.add(l.file.At(hclfile.Error, attr.Expr.Range(), fmt.Sprintf("%s: %q is not one of nodes", title, host), ""))
				return
			}
			group[host] = name
		}
		l.config.Groups = append(l.config.Groups, Group{Name: name, Nodes: text})
	}
}
