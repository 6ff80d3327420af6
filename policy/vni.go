package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hclfile"
)

// firstService is the least index at which a service's VNI may stand in SLINGSHOT_VNIS: 0 is the application's, 1 the job's (DAOS reads index 2).
const firstService = 2

// vni is a vni block.
type vni struct {
	engine.Wanted
	service bool
}

func (c *compiler) compileVNI(file *hclfile.File, block *hclsyntax.Block) {
	title := hclfile.Title(block)
	c.add(file.Check(block.Body, hclfile.Shape{Where: title, Attributes: []string{"pool", "service"}})...)
	v := &vni{Wanted: engine.Wanted{Name: block.Labels[0]}}
	c.vnis[v.Name] = v
	pool, service := block.Body.Attributes["pool"], block.Body.Attributes["service"]
	attr, kind, known := pool, "pool", c.env.Pools
	if pool == nil {
		attr, kind, known = service, "service", c.env.Services
	}
	if (pool == nil) == (service == nil) {
		c.add(file.At(hclfile.Error, block.DefRange(), title+": it must name a pool or a service, one of the two", `Write pool = "jobs".`))
		return
	}
	v.service = kind == "service"
	text, findings := file.String(attr.Expr, title+": "+kind)
	c.add(findings...)
	if findings == nil && !c.env.stored && !slices.Contains(known, text) {
		c.add(unknown(file, attr.Expr.Range(), fmt.Sprintf("%s: config.hcl has no %s %q", title, kind, core.Clip(text)), text, known))
	}
	v.Pool = text
}

// vniList reads the VNIs that a job gets, in the order of SLINGSHOT_VNIS.
func (c *compiler) vniList(file *hclfile.File, tree hclsyntax.Expression, what string) []*vni {
	items, findings := file.Items(tree, what)
	c.add(findings...)
	if len(items) > core.MaxVNIs {
		c.add(file.At(hclfile.Error, tree.Range(), fmt.Sprintf("%s: %d VNIs are more than the %d that a CXI service can name", what, len(items), core.MaxVNIs), ""))
		return nil
	}
	out := make([]*vni, 0, len(items))
	for i, item := range items {
		v := c.vnis[item.Text]
		switch {
		case v == nil && c.syntax:
			continue
		case v == nil:
			c.add(unknown(file, item.At, fmt.Sprintf("%s: there is no vni %q", what, core.Clip(item.Text)), item.Text, slices.Collect(maps.Keys(c.vnis))))
			continue
		case slices.Contains(out, v):
			c.add(file.At(hclfile.Error, item.At, fmt.Sprintf("%s: %q is given twice", what, item.Text), "Each vni is one VNI; declare another one."))
		case v.service && i < firstService:
			c.add(file.At(hclfile.Error, item.At, fmt.Sprintf("%s: %q is a service's VNI and stands at index %d", what, item.Text, i),
				"The order is that of SLINGSHOT_VNIS: the application's, the job's, then services, from index 2 on; DAOS reads index 2."))
		}
		out = append(out, v)
	}
	return out
}
