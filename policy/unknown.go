package policy

import (
	"errors"
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// uncertain are the variables of an expression that may be unknown.
func uncertain(tree hclsyntax.Expression) []string {
	var out []string
	for _, steps := range tree.Variables() {
		name := name(&hclsyntax.ScopeTraversalExpr{Traversal: steps})
		if _, ok := variables[name].(interface{ known(*evaluation) bool }); ok && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// lacks are the variables of x that are unknown for this job.
func (e *evaluation) lacks(x *expr) (out []string) {
	for _, name := range x.needs {
		if !variables[name].(interface{ known(*evaluation) bool }).known(e) {
			out = append(out, name)
		}
	}
	return out
}

// unknown says why x has no value.
func (e *evaluation) unknown(x *expr) error {
	lacks := e.lacks(x)
	switch {
	case len(lacks) == 0:
		return errors.New("it gives nothing that is known")
	case lacks[0] == nowVariable:
		return errors.New("now is unknown: the job has no time of decision")
	}
	return fmt.Errorf("%s is unknown: scheduler %q did not tell it", lacks[0], e.facts.Job.Scheduler)
}
