package config

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/hclfile"
)

// owners is which pool or service has each VNI.
type owners struct {
	names []string     // title of each, from 1
	of    [1 << 16]int // index into names, from 1; 0: nobody
}

func (l *loader) pool(block *hclsyntax.Block) {
	title := hclfile.Title(block)
	shape := hclfile.Shape{Where: title, Attributes: []string{"vnis", "quarantine"}, Required: []string{"vnis"}}
	if block.Type == "service" {
		shape.Attributes = append(shape.Attributes, "servers")
	}
	l.add(l.file.Check(block.Body, shape)...)
	pool := Pool{Name: block.Labels[0], Quarantine: DefaultQuarantine}
	if !l.name(block, 0, core.MaxScheduler) {
		return
	}
	for _, other := range append(l.config.Pools, l.config.Services...) {
		if other.Name == pool.Name {
			l.add(l.file.At(hclfile.Error, block.LabelRanges[0], title+": a pool or service of this name is declared above", "Policy names pools and services alike; give it a name of its own."))
		}
	}
	vnis := block.Body.Attributes["vnis"]
	if text, ok := l.text(vnis, title+": vnis"); ok {
		pool.VNIs = l.ranges(vnis, title, text)
	}
	if attr := block.Body.Attributes["quarantine"]; attr != nil {
		d, findings := l.file.Duration(attr.Expr, title+": quarantine", MinQuarantine, MaxQuarantine)
		l.add(findings...)
		pool.Quarantine = d
	}
	if block.Type == "pool" {
		l.config.Pools = append(l.config.Pools, pool)
		return
	}
	servers := block.Body.Attributes["servers"]
	if text, ok := l.text(servers, title+": servers"); ok {
		l.hosts(servers.Expr.Range(), text, title+": servers")
		pool.Servers = text
	}
	l.config.Services = append(l.config.Services, pool)
}

// ranges reads a pool's VNIs and takes them for it.
func (l *loader) ranges(attr *hclsyntax.Attribute, title, text string) []allocator.Range {
	ranges, err := allocator.ParseRanges(text)
	if err != nil {
		known := core.AsError(err)
		l.add(l.file.At(hclfile.Error, attr.Expr.Range(), title+": "+known.What, known.Remedy))
		return nil
	}
	l.vnis.names = append(l.vnis.names, title)
	me, usable, defaults := len(l.vnis.names), 0, false
	clashes := map[int]allocator.Range{}
	for _, r := range ranges {
		for v := int(r.First); v <= int(r.Last); v++ {
			if core.VNI(v).IsDefault() {
				defaults = true
				continue
			}
			usable++
			if other := l.vnis.of[v]; other != 0 && other != me {
				clash, seen := clashes[other]
				if !seen {
					clash.First = core.VNI(v)
				}
				clash.Last = core.VNI(v)
				clashes[other] = clash
				continue
			}
			l.vnis.of[v] = me
		}
	}
	for other, clash := range clashes {
		l.add(l.file.At(hclfile.Error, attr.Expr.Range(), fmt.Sprintf("%s: VNIs between %d and %d are also those of %s", title, clash.First, clash.Last, l.vnis.names[other-1]),
			"A VNI can be given by one pool or service only, or two jobs could hold the same."))
	}
	switch {
	case usable == 0:
		l.add(l.file.At(hclfile.Error, attr.Expr.Range(), title+": it has no VNI that can be given", "VNIs 1 and 10 are those of the default service, which every user of a node may use; they are never given."))
	case defaults:
		l.add(l.file.At(hclfile.Notice, attr.Expr.Range(), title+": VNIs 1 and 10 are left out", "They are those of the default service and are never given to a job."))
	}
	return ranges
}
