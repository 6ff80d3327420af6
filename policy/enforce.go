package policy

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
	"github.com/weft-hpc/weft/hclfile"
)

// enforcements are the values of enforce, by engine.Enforce.
var enforcements = engine.Enforcements()

func (c *compiler) enforce(file *hclfile.File, attr *hclsyntax.Attribute, what string) engine.Enforce {
	text, findings := file.String(attr.Expr, what)
	c.add(findings...)
	i := slices.Index(enforcements, text)
	if findings == nil && i < 0 {
		c.add(unknown(file, attr.Expr.Range(), fmt.Sprintf("%s: %q is not one of its values", what, core.Clip(text)), text, enforcements))
	}
	return engine.Enforce(max(i, 0))
}

// refuse is what becomes of a refusal by r. What is not enforced refuses nobody, not even when it fails: it gives nothing, so that opens no door, and a
// deny that is being tried out must not stop the site when it has a mistake in it.
func (e *evaluation) refuse(r *rule, refusal *core.Error) *core.Error {
	if r.kind == denyKind {
		e.denies = append(e.denies, engine.Denial{Name: r.name, Enforce: r.enforce})
	}
	switch r.enforce {
	case engine.EnforceWarn:
		e.warn(refusal.What + " (a warning only)")
	case engine.EnforceDryRun:
		e.decision.Trials = append(e.decision.Trials, refusal.What)
	case engine.EnforceDeny:
		e.ended = r
		return refusal
	}
	return nil
}
