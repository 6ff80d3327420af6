package policy

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"time"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// functions are all that a policy can call. Left out is what can make much out of little (format, formatlist, indent, pow, range, regexall, setproduct), what
// hides a mistake (try, can) and what reads the world.
var functions = map[string]function.Function{
	"abs":             stdlib.AbsoluteFunc,
	"ceil":            stdlib.CeilFunc,
	"chomp":           stdlib.ChompFunc,
	"coalesce":        stdlib.CoalesceFunc,
	"coalescelist":    stdlib.CoalesceListFunc,
	"compact":         stdlib.CompactFunc,
	"concat":          stdlib.ConcatFunc,
	"contains":        stdlib.ContainsFunc,
	"distinct":        stdlib.DistinctFunc,
	"element":         stdlib.ElementFunc,
	"endswith":        predicate(strings.HasSuffix),
	"flatten":         stdlib.FlattenFunc,
	"floor":           stdlib.FloorFunc,
	"int":             stdlib.IntFunc,
	"join":            bounded(stdlib.JoinFunc, joined),
	"keys":            stdlib.KeysFunc,
	"length":          stdlib.LengthFunc,
	"log":             logarithm,
	"lookup":          stdlib.LookupFunc,
	"lower":           stdlib.LowerFunc,
	"max":             stdlib.MaxFunc,
	"merge":           stdlib.MergeFunc,
	"min":             stdlib.MinFunc,
	"multicast_share": multicastShare,
	"parseint":        stdlib.ParseIntFunc,
	"regex":           stdlib.RegexFunc,
	"replace":         bounded(stdlib.ReplaceFunc, replaced),
	"reverse":         stdlib.ReverseListFunc,
	"setintersection": stdlib.SetIntersectionFunc,
	"setsubtract":     stdlib.SetSubtractFunc,
	"setunion":        stdlib.SetUnionFunc,
	"signum":          stdlib.SignumFunc,
	"slice":           stdlib.SliceFunc,
	"sort":            stdlib.SortFunc,
	"split":           stdlib.SplitFunc,
	"startswith":      predicate(strings.HasPrefix),
	"strlen":          stdlib.StrlenFunc,
	"strrev":          stdlib.ReverseFunc,
	"substr":          stdlib.SubstrFunc,
	"time":            moment,
	"title":           stdlib.TitleFunc,
	"trim":            stdlib.TrimFunc,
	"trimprefix":      stdlib.TrimPrefixFunc,
	"trimspace":       stdlib.TrimSpaceFunc,
	"trimsuffix":      stdlib.TrimSuffixFunc,
	"upper":           stdlib.UpperFunc,
	"values":          stdlib.ValuesFunc,
	"zipmap":          stdlib.ZipmapFunc,
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

// maxMade bounds the text that a function makes of several, in bytes: without it two calls inside each other make gigabytes of a kilobyte.
const maxMade = 1 << 12

// bounded is f, which is not called when size says that it would make more than maxMade bytes.
func bounded(f function.Function, size func(args []cty.Value) int) function.Function {
	return function.New(&function.Spec{
		Params:   f.Params(),
		VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			types := make([]cty.Type, len(args))
			for i, arg := range args {
				types[i] = arg.Type()
			}
			return f.ReturnType(types)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			for _, arg := range args {
				if !arg.IsWhollyKnown() {
					return f.Call(args)
				}
			}
			if size(args) > maxMade {
				return cty.NilVal, fmt.Errorf("it would make a text of more than %d bytes", maxMade)
			}
			return f.Call(args)
		},
	})
}

func joined(args []cty.Value) int {
	size, count := 0, 0
	for _, list := range args[1:] {
		for it := list.ElementIterator(); it.Next(); count++ {
			if _, v := it.Element(); !v.IsNull() {
				size += len(v.AsString())
			}
		}
	}
	return size + count*len(args[0].AsString())
}

func replaced(args []cty.Value) int {
	text, old, with := args[0].AsString(), args[1].AsString(), args[2].AsString()
	return len(text) + (strings.Count(text, old))*len(with)
}

// logarithm refuses what is infinite, such as that of 0 or to base 1: it would compare with anything, as what is divided by zero would.
var logarithm = function.New(&function.Spec{
	Params: stdlib.LogFunc.Params(),
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		of, _ := args[0].AsBigFloat().Float64()
		base, _ := args[1].AsBigFloat().Float64()
		log := math.Log(of) / math.Log(base)
		if math.IsNaN(log) || math.IsInf(log, 0) || of == 0 || base == 0 {
			return cty.NilVal, errors.New("both must be more than 0, and the base not 1")
		}
		return cty.NumberFloatVal(log), nil
	},
})

// moment is a time of RFC 3339 in Unix seconds, as now has it: time("2026-12-01T06:00:00Z").
var moment = function.New(&function.Spec{
	Params: []function.Parameter{{Name: "text", Type: cty.String}},
	Type:   function.StaticReturnType(cty.Number),
	Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
		t, err := time.Parse(time.RFC3339, args[0].AsString())
		if err != nil {
			return cty.NilVal, function.NewArgErrorf(0, `it must be written as "2026-12-01T06:00:00Z"`)
		}
		return cty.NumberIntVal(t.Unix()), nil
	},
})

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
