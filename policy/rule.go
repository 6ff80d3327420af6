package policy

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hclfile"
)

// rule is a rule, a deny or a quota block: a condition, and what follows from it.
type rule struct {
	kind     kind
	name     string
	place    place
	match    match
	when     *expr          // nil: always
	direct   truth          // when, computed without HCL; nil: HCL must
	settings settings       // a rule's
	message  *expr          // a deny's
	quota    quota          // a quota's
	enforce  engine.Enforce // of a deny or a quota
}

// kind is which block a rule is.
type kind uint8

const (
	ruleKind kind = iota
	denyKind
	quotaKind
)

var kindNames = [...]string{ruleKind: "rule", denyKind: "deny", quotaKind: "quota"}

func (k kind) String() string { return kindNames[k] }

// title is how errors call it: rule "storage".
func (r *rule) title() string { return fmt.Sprintf("%s %q", r.kind, r.name) }

func (c *compiler) compileRule(file *hclfile.File, b *hclsyntax.Block, k kind) {
	title := hclfile.Title(b)
	r := &rule{kind: k, name: b.Labels[0], place: at(file, b.TypeRange)}
	shape := hclfile.Shape{Where: title, Attributes: []string{"when"}, Blocks: map[string]hclfile.BlockShape{"match": {Once: true}}}
	switch k {
	case ruleKind:
		shape.Attributes = append(append(shape.Attributes, settable...), "collectives")
	case denyKind:
		shape.Attributes, shape.Required = append(shape.Attributes, "message", "enforce"), []string{"message"}
	case quotaKind:
		shape.Attributes, shape.Required = append(append(shape.Attributes, "per", "enforce", "on_full"), unitNames[:]...), []string{"per"}
	}
	c.add(file.Check(b.Body, shape)...)
	for _, inner := range b.Body.Blocks {
		if inner.Type == "match" && len(inner.Labels) == 0 {
			c.match(&r.match, file, inner, title)
		}
	}
	for name, attr := range b.Body.Attributes {
		what := title + ": " + name
		switch {
		case name == "when":
			if r.when = c.when(file, attr, what); r.when != nil {
				r.direct = direct(attr.Expr)
			}
		case k == ruleKind:
			c.set(&r.settings, r.where(), file, attr, what)
		case name == "enforce":
			r.enforce = c.enforce(file, attr, what)
		case k == denyKind && name == "message":
			r.message = c.expr(file, attr.Expr, what, ruleScope, cty.String)
			if m := r.message; m != nil && m.constant != cty.NilVal && strings.TrimSpace(m.constant.AsString()) == "" {
				c.add(file.At(hclfile.Error, attr.Expr.Range(), what+": it is empty", "Say what a user can do about it, or whom to ask."))
			}
		case k == quotaKind:
			c.quota(&r.quota, file, attr, title)
		}
	}
	switch {
	case k == ruleKind && (len(b.Body.Attributes) == 0 || len(b.Body.Attributes) == 1 && b.Body.Attributes["when"] != nil):
		c.add(file.At(hclfile.Error, b.DefRange(), title+": it sets nothing", "Name what jobs of this rule get, such as traffic_classes or vnis; to refuse jobs write a deny block."))
	case k == denyKind && r.enforce == engine.EnforceDeny && b.Body.Attributes["when"] == nil && len(b.Body.Blocks) == 0:
		c.add(file.At(hclfile.Warning, b.DefRange(), title+": it has neither when nor match: every job is denied", ""))
	case k == quotaKind && b.Body.Attributes[unitNames[engine.UnitVNIs]] == nil && b.Body.Attributes[unitNames[engine.UnitAddresses]] == nil:
		c.add(file.At(hclfile.Error, b.DefRange(), title+": it limits nothing", "Write vnis = 8, or addresses = 100, or both."))
	}
	c.policy.rules, c.blocks = append(c.policy.rules, r), append(c.blocks, block{file: file, block: b})
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
