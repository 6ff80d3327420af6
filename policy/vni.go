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

// stepName is the vni block whose VNIs the steps of a job draw from.
const stepName = "step"

// vni is a vni block.
type vni struct {
	engine.Wanted
	service bool
	count   int // of VNIs
	beyond  engine.Beyond
}

func (v *vni) steps() bool { return v.Name == stepName }

func (c *compiler) compileVNI(file *hclfile.File, block *hclsyntax.Block) {
	title := hclfile.Title(block)
	c.add(file.Check(block.Body, hclfile.Shape{Where: title, Attributes: []string{"pool", "service", "count", "beyond"}})...)
	v := &vni{Wanted: engine.Wanted{Name: block.Labels[0]}, count: 1}
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
	c.compileSteps(file, block, v)
	text, findings := file.String(attr.Expr, title+": "+kind)
	c.add(findings...)
	if findings == nil && !c.env.stored && !slices.Contains(known, text) {
		c.add(unknown(file, attr.Expr.Range(), fmt.Sprintf("%s: config.hcl has no %s %q", title, kind, core.Clip(text)), text, known))
	}
	v.Pool = text
}

// compileSteps reads what only vni "step" has.
func (c *compiler) compileSteps(file *hclfile.File, block *hclsyntax.Block, v *vni) {
	title := hclfile.Title(block)
	if v.steps() && v.service {
		c.add(file.At(hclfile.Error, block.DefRange(), title+": steps draw from VNIs of the job's own, and it names a service", `Write pool = "jobs".`))
	}
	for _, name := range []string{"count", "beyond"} {
		attr := block.Body.Attributes[name]
		switch {
		case attr == nil:
		case !v.steps():
			c.add(file.At(hclfile.Error, attr.NameRange, title+": it has a "+name, `Only vni "step" has one: the VNIs that steps of a job draw from.`))
		case name == "count":
			n, findings := file.Int(attr.Expr, title+": count", 1, core.MaxVNIs-1)
			c.add(findings...)
			v.count = int(n)
		default:
			text, findings := file.String(attr.Expr, title+": beyond")
			c.add(findings...)
			at := slices.Index(engine.Beyonds(), text)
			if findings == nil && at < 0 {
				c.add(unknown(file, attr.Expr.Range(), fmt.Sprintf("%s: beyond: %q is not one of its values", title, core.Clip(text)), text, engine.Beyonds()))
			}
			v.beyond = engine.Beyond(max(at, 0))
		}
	}
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
	at, sum := 0, 0 // at is the index in SLINGSHOT_VNIS, which shows no VNI of steps
	for _, item := range items {
		v := c.vnis[item.Text]
		switch {
		case v == nil && c.syntax:
			continue
		case v == nil:
			c.add(unknown(file, item.At, fmt.Sprintf("%s: there is no vni %q", what, core.Clip(item.Text)), item.Text, slices.Collect(maps.Keys(c.vnis))))
			continue
		case slices.Contains(out, v):
			c.add(file.At(hclfile.Error, item.At, fmt.Sprintf("%s: %q is given twice", what, item.Text), "Each vni is one VNI; declare another one."))
		case v.service && at < firstService:
			c.add(file.At(hclfile.Error, item.At, fmt.Sprintf("%s: %q is a service's VNI and stands at index %d", what, item.Text, at),
				"The order is that of SLINGSHOT_VNIS: the application's, the job's, then services, from index 2 on; DAOS reads index 2."))
		}
		if sum += v.count; !v.steps() {
			at++
		}
		out = append(out, v)
	}
	switch {
	case sum > core.MaxVNIs:
		c.add(file.At(hclfile.Error, tree.Range(), fmt.Sprintf("%s: %d VNIs, those of steps with them, are more than the %d that a CXI service can name", what, sum, core.MaxVNIs),
			`Give vni "step" a smaller count.`))
	case len(out) > 0 && at == 0:
		c.add(file.At(hclfile.Error, tree.Range(), what+": the job has no VNI of its own beside those of its steps", `Write vnis = ["app", "step"].`))
	}
	return out
}
