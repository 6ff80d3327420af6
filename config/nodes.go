package config

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/hclfile"
)

// MaxNodes bounds a system; the largest Slingshot fabric has some 250,000 endpoints.
const MaxNodes = 1 << 18

// hosts reads a hostlist, in the order written. It is nil when that was wrong.
func (l *loader) hosts(at hcl.Range, text, what string) []string {
	list, err := hostlist.Parse(text)
	if err != nil {
		known := core.AsError(err)
		l.add(l.file.At(hclfile.Error, at, what+": "+known.What, known.Remedy))
		return nil
	}
	switch count := list.Count(); {
	case count == 0:
		l.add(l.file.At(hclfile.Error, at, what+": it names no node", `Write a hostlist such as "n[1-4]" or "n[001-128],login1".`))
		return nil
	case count > MaxNodes:
		l.add(l.file.At(hclfile.Error, at, fmt.Sprintf("%s: it names %d nodes, more than the %d that a system may have", what, count, MaxNodes), ""))
		return nil
	}
	hosts := slices.Collect(list.Expand())
	seen := make(map[string]bool, len(hosts))
	for _, host := range hosts {
		if seen[host] {
			l.add(l.file.At(hclfile.Error, at, fmt.Sprintf("%s: %q is named twice", what, host), ""))
			return nil
		}
		seen[host] = true
	}
	return hosts
}

// outside is a host that the system does not have.
func (l *loader) outside(hosts []string) (string, bool) {
	if l.nodes == nil { // it was wrong, and that was said
		return "", false
	}
	for _, host := range hosts {
		if !l.nodes[host] {
			return host, true
		}
	}
	return "", false
}

// among checks that a text names one node of the system.
func (l *loader) among(attr *hclsyntax.Attribute, what, name string) {
	if _, out := l.outside([]string{name}); out {
		l.add(l.file.At(hclfile.Error, attr.Expr.Range(), fmt.Sprintf("%s: %q is not one of nodes", what, core.Clip(name)), "Add it to nodes at the top of the file: every host with an agent is one."))
	}
}

// pair checks that an alias maps name by name, and gives the names.
func (l *loader) pair(item hclsyntax.ObjectConsItem, what string, a Alias) (theirs, ours []string) {
	theirs = l.hosts(item.KeyExpr.Range(), a.Theirs, what)
	ours = l.hosts(item.ValueExpr.Range(), a.Ours, what)
	if theirs == nil || ours == nil {
		return nil, nil
	}
	if len(theirs) != len(ours) {
		l.add(l.file.At(hclfile.Error, item.ValueExpr.Range(), fmt.Sprintf("%s: %s names %d nodes and %s names %d", what, core.Clip(a.Theirs), len(theirs), core.Clip(a.Ours), len(ours)),
			"They are paired one by one, in the order written."))
		return nil, nil
	}
	if node, out := l.outside(ours); out {
		l.add(l.file.At(hclfile.Error, item.ValueExpr.Range(), fmt.Sprintf("%s: %q is not one of nodes", what, node), "On the right stand Weft's names, those of the nodes' certificates."))
	}
	return theirs, ours
}
