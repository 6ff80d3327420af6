package policy

import (
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/hclfile"
)

// maxHosts bounds the hosts of a job that are looked at.
const maxHosts = 1 << 18

// nodes is a match's list of nodes.
type nodes map[string]struct{}

func (c *compiler) nodes(file *hclfile.File, attr *hclsyntax.Attribute, what string) nodes {
	text, findings := file.String(attr.Expr, what)
	c.add(findings...)
	if findings != nil {
		return nil
	}
	list, err := hostlist.Parse(text)
	if err != nil {
		known := core.AsError(err)
		c.add(file.At(hclfile.Error, attr.Expr.Range(), what+": "+known.What, known.Remedy))
		return nil
	}
	if count := list.Count(); count == 0 || count > maxHosts {
		c.add(file.At(hclfile.Error, attr.Expr.Range(), fmt.Sprintf("%s: it names %d nodes; it must name 1 to %d", what, count, maxHosts), ""))
		return nil
	}
	out := nodes{}
	for node := range list.Expand() {
		if _, ok := c.system[node]; c.system != nil && !ok {
			c.add(file.At(hclfile.Error, attr.Expr.Range(), fmt.Sprintf("%s: %q is not one of config.hcl's nodes", what, node), ""))
			return nil
		}
		out[node] = struct{}{}
	}
	return out
}

// hit fails closed: a rule gives only where all of the job's nodes are in the list, a deny takes where any of them is, and so does a quota. A job whose nodes are not known is
// given nothing by such a rule, and cannot be judged by such a deny or quota.
func (n nodes) hit(shares []core.Placement, deny bool) (bool, error) {
	known := false
	for _, share := range shares {
		list, err := hostlist.Parse(share.Hosts)
		if err != nil {
			return false, fmt.Errorf("the job's nodes %q: %w", core.Clip(share.Hosts), err)
		}
		if list.Count() > maxHosts {
			return false, fmt.Errorf("the job has more than %d nodes", maxHosts)
		}
		for host := range list.Expand() {
			known = true
			if _, in := n[host]; in == deny {
				return deny, nil
			}
		}
	}
	if !known && deny {
		return false, errors.New("the job's nodes are not known")
	}
	return known && !deny, nil
}
