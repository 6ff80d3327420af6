package policy

import (
	"context"
	"fmt"
	"io"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/shadow"
	"github.com/weft-hpc/weft/policy/compare"
)

// askShadow makes the call, and prints what the policy beside has seen.
func askShadow(ctx context.Context, o *cli.Options, in shadow.Args) error {
	return cli.Answer(ctx, o, shadow.Verb, in, func(w io.Writer, out compare.Shadowed) {
		if out.Policy == "" {
			fmt.Fprintln(w, "no policy decides beside the one in force")
			return
		}
		state := "decides beside %.12s, which is in force; it changes nothing\n"
		if in.Off {
			state = "decides beside %.12s no more\n"
		}
		fmt.Fprintf(w, "policy %.12s "+state, out.Policy, out.Against)
		fmt.Fprintf(w, "%d of %s would have got something else in %s", out.Changed, core.Plural(out.Jobs, "job"), cli.Ago(out.Since))
		if out.Dropped > 0 {
			fmt.Fprintf(w, "; %d more were not looked at", out.Dropped)
		}
		fmt.Fprintln(w)
		printGroups(w, out.Groups)
		if out.More > 0 {
			fmt.Fprintf(w, "and %s of other kinds, of which there are too many to keep\n", core.Plural(out.More, "difference"))
		}
	})
}
