package policy

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hclfile"
)

// limits is a limits block. A resource that it leaves out is not given at all.
type limits struct {
	name      string
	resources [core.NumResources]*limit
}

type limit struct {
	reserved, max *number
	ask           *number // nil: max
}

const limitForm = "{ reserved = 2 * share.cores, max = 1024 }"

func (c *compiler) compileLimits(file *hclfile.File, block *hclsyntax.Block) {
	title := hclfile.Title(block)
	l := &limits{name: block.Labels[0]}
	c.limits[l.name] = l
	known, of := core.ResourceNames(), map[string]*hclsyntax.Attribute{}
	for _, spelling := range slices.Sorted(maps.Keys(block.Body.Attributes)) {
		attr, name := block.Body.Attributes[spelling], resourceName(spelling)
		if name != spelling {
			known = append(known, spelling)
		}
		if of[name] != nil {
			c.add(file.At(hclfile.Error, attr.NameRange, fmt.Sprintf("%s: %s is given twice", title, name), fmt.Sprintf("The other is spelled %s.", of[name].Name)))
		}
		of[name] = attr
	}
	c.add(file.Check(block.Body, hclfile.Shape{Where: title, Attributes: known})...)
	for i, name := range core.ResourceNames() {
		attr := of[name]
		if attr == nil {
			continue
		}
		fields := c.fields(file, attr.Expr, title+": "+name, limitForm, []string{"reserved", "max"}, []string{"ask"}, nil)
		if fields["reserved"] == nil || fields["max"] == nil {
			continue
		}
		one := &limit{
			reserved: c.number(file, fields["reserved"], title, name+".reserved", limitScope),
			max:      c.number(file, fields["max"], title, name+".max", limitScope),
		}
		if one.reserved == nil || one.max == nil {
			continue
		}
		if fields["ask"] != nil {
			one.ask = c.number(file, fields["ask"], title, name+".ask", limitScope)
		}
		if r, m := one.reserved.constant, one.max.constant; r != cty.NilVal && m != cty.NilVal && r.GreaterThan(m).True() {
			c.add(file.At(hclfile.Error, attr.Expr.Range(), title+": "+name+": reserved is above max", "Reserved is guaranteed to the job, max is its ceiling."))
		}
		l.resources[i] = one
	}
}

// evaluate gives the limits of the share that e is at. What a rule of thumb reserves above its own max, as 2 * share.cores does on a node with very many cores, is max:
// switch/hpe_slingshot does the same. ask is the most of each that a user may have reserved, never less than policy reserves
// for the cores that e is at.
func (l *limits) evaluate(e *evaluation) (out core.Limits, ask [core.NumResources]uint16, _ *core.Error) {
	for i, one := range l.resources {
		if one == nil {
			continue
		}
		reserved, err := one.reserved.value(e)
		if err != nil {
			return out, ask, one.reserved.fault(fmt.Sprintf("limits %q", l.name), err)
		}
		most, err := one.max.value(e)
		if err != nil {
			return out, ask, one.max.fault(fmt.Sprintf("limits %q", l.name), err)
		}
		out[i], ask[i] = core.Limit{Reserved: min(reserved, most), Max: most}, most
		if one.ask == nil {
			continue
		}
		if ask[i], err = one.ask.value(e); err != nil {
			return out, ask, one.ask.fault(fmt.Sprintf("limits %q", l.name), err)
		}
		ask[i] = max(out[i].Reserved, min(ask[i], most))
	}
	return out, ask, nil
}
