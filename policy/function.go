package policy

import (
	"errors"
	"maps"
	"math/big"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions are all that a policy can call. Left out is what can make much out of little (format, range, replace, setproduct, pow) and what reads the
// world.
var functions = map[string]function.Function{
	"abs":             stdlib.AbsoluteFunc,
	"ceil":            stdlib.CeilFunc,
	"concat":          stdlib.ConcatFunc,
	"contains":        stdlib.ContainsFunc,
	"distinct":        stdlib.DistinctFunc,
	"endswith":        predicate(strings.HasSuffix),
	"floor":           stdlib.FloorFunc,
	"join":            stdlib.JoinFunc,
	"length":          stdlib.LengthFunc,
	"lower":           stdlib.LowerFunc,
	"max":             stdlib.MaxFunc,
	"min":             stdlib.MinFunc,
	"multicast_share": multicastShare,
	"split":           stdlib.SplitFunc,
	"startswith":      predicate(strings.HasPrefix),
	"strlen":          stdlib.StrlenFunc,
	"trimprefix":      stdlib.TrimPrefixFunc,
	"trimsuffix":      stdlib.TrimSuffixFunc,
	"upper":           stdlib.UpperFunc,
}

var functionNames = slices.Sorted(maps.Keys(functions))

func predicate(is func(s, part string) bool) function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "text", Type: cty.String}, {Name: "part", Type: cty.String}},
		Type:   function.StaticReturnType(cty.Bool),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			return cty.BoolVal(is(args[0].AsString(), args[1].AsString())), nil
		},
	})
}

// multicastShare is how many of the fabric's M multicast addresses one job may take on a system of S nodes, when jobs of s nodes or more take some and each
// node is in at most j such jobs at once: (M / (S / s)) / j, rounded down. El Capitan: 4086, 11136, 64, 1 gives 23. A system smaller than s counts as s.
var multicastShare = function.New(&function.Spec{
	Params: []function.Parameter{
		{Name: "addresses", Type: cty.Number}, {Name: "system_nodes", Type: cty.Number},
		{Name: "job_nodes", Type: cty.Number}, {Name: "jobs_per_node", Type: cty.Number},
	},
	Type: function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		var n [4]int64
		for i, arg := range args {
			v, accuracy := arg.AsBigFloat().Int64()
			if accuracy != big.Exact || v < 0 || v > 1<<24 {
				return cty.NilVal, function.NewArgErrorf(i, "it must be a whole number from 0 to %d", 1<<24)
			}
			n[i] = v
		}
		addresses, nodes, least, per := n[0], n[1], n[2], n[3]
		if least == 0 || per == 0 {
			return cty.NilVal, errors.New("the third and fourth argument must be at least 1")
		}
		return cty.NumberIntVal(addresses * least / (max(nodes, least) * per)), nil
	},
})
