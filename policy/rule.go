package policy

import (
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/hclfile"
)

// rule is a rule or a deny block.
type rule struct {
	name     string
	place    place
	match    match
	when     *expr    // nil: always
	settings settings // a rule's
	deny     bool
	message  *expr // a deny's
}

// title is how errors call it: rule "storage".
func (r *rule) title() string {
	kind := "rule"
	if r.deny {
		kind = "deny"
	}
	return fmt.Sprintf("%s %q", kind, r.name)
}

func (c *compiler) compileRule(file *hclfile.File, block *hclsyntax.Block) {
	title := hclfile.Title(block)
	r := &rule{name: block.Labels[0], place: at(file, block.TypeRange), deny: block.Type == "deny"}
	shape := hclfile.Shape{Where: title, Attributes: []string{"when"}, Blocks: map[string]hclfile.BlockShape{"match": {Once: true}}}
	if r.deny {
		shape.Attributes = append(shape.Attributes, "message")
		shape.Required = []string{"message"}
	} else {
		shape.Attributes = append(append(shape.Attributes, settable...), "collectives")
	}
	c.add(file.Check(block.Body, shape)...)
	for _, inner := range block.Body.Blocks {
		if inner.Type == "match" && len(inner.Labels) == 0 {
			c.match(&r.match, file, inner, title)
		}
	}
	for name, attr := range block.Body.Attributes {
		what := title + ": " + name
		switch {
		case name == "when":
			r.when = c.when(file, attr, what)
		case name == "message" && r.deny:
			r.message = c.expr(file, attr.Expr, what, ruleScope, cty.String)
		case !r.deny:
			c.set(&r.settings, file, attr, what)
		}
	}
	if !r.deny && len(block.Body.Attributes) == 0 || !r.deny && len(block.Body.Attributes) == 1 && block.Body.Attributes["when"] != nil {
		c.add(file.At(hclfile.Error, block.DefRange(), title+": it sets nothing", "Name what jobs of this rule get, such as traffic_classes or vnis; to refuse jobs write a deny block."))
	}
	if r.deny && block.Body.Attributes["when"] == nil && len(block.Body.Blocks) == 0 {
		c.add(file.At(hclfile.Warning, block.DefRange(), title+": it has neither when nor match: every job is denied", ""))
	}
	c.policy.rules = append(c.policy.rules, r)
}

func (c *compiler) when(file *hclfile.File, attr *hclsyntax.Attribute, what string) *expr {
	when := c.expr(file, attr.Expr, what, ruleScope, cty.Bool)
	if when != nil && when.constant != cty.NilVal {
		if when.constant.False() {
			c.add(file.At(hclfile.Warning, attr.Expr.Range(), what+": it is never true", ""))
		} else {
			c.add(file.At(hclfile.Notice, attr.Expr.Range(), what+": it is always true", "Leave it out: what has no when is for every job."))
		}
	}
	return when
}
