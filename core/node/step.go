package node

import (
	"slices"

	"github.com/weft-hpc/weft/core"
)

// WithStep is an Environment with the id of a step, as StepEnvironment gives it; ok says whether the step makes a difference, which it does for a job with
// collectives only.
func WithStep(environment []core.Variable, step string) (with []core.Variable, ok bool) {
	named := func(name string) func(core.Variable) bool {
		return func(v core.Variable) bool { return v.Name == name && !v.Unset }
	}
	at := slices.IndexFunc(environment, named(envJob))
	if at < 0 || step == "" {
		return environment, false
	}
	with = slices.Insert(slices.Clone(environment), at+1, core.Variable{Name: envStep, Value: step})
	return slices.DeleteFunc(with, func(v core.Variable) bool { return v.Name == envStep && v.Unset }), true
}
