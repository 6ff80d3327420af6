package policy

import (
	"slices"
	"strings"
)

// single are the flags of `weft policy` that may have one dash, as Go's own tools and terraform spell them. None of their letters together are
// flags of these verbs.
var single = map[string][]string{"fmt": {"-check"}, "test": {"-run", "-coverage"}}

// Dashed gives a `weft policy` command line the second dash that the flags' library wants. What stands behind `--` is nobody's flag.
func Dashed(args []string) []string {
	at := slices.Index(args, "policy")
	if at < 0 || at+1 >= len(args) || slices.Contains(args[:at], "--") {
		return args
	}
	flags := single[args[at+1]]
	out := slices.Clone(args)
	for i := at + 2; i < len(out) && out[i] != "--"; i++ {
		if name, _, _ := strings.Cut(out[i], "="); slices.Contains(flags, name) {
			out[i] = "-" + out[i]
		}
	}
	return out
}
