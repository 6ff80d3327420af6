// Package node holds the verbs about nodes, their NICs and the services on them.
package node

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/server"
)

func NewNodes(o *cli.Options) *cobra.Command {
	return o.Listing(&cobra.Command{
		Use: "nodes [NODES]", Short: "List the nodes, their NICs and why one is drained",
		Long: "List the nodes, their NICs and why one is drained. With NODES, say too\nwho drained them, when, and in which scheduler.",
		Args: cobra.MaximumNArgs(1), ValidArgsFunction: o.NodeNames().Once,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cli.PrintList(cmd.Context(), o, "nodes", nil, PrintNodes)
			}
			named, err := hostlist.ParseSet(args[0])
			if err != nil {
				return cli.Misuse(cmd, "nodes: %v", err)
			}
			rows, err := cli.List[server.NodeRow](cmd.Context(), o, "nodes", nil)
			if err != nil {
				return err
			}
			rows = slices.DeleteFunc(rows, func(n server.NodeRow) bool { return !named.Contains(n.Node) })
			if len(rows) == 0 {
				return core.Errorf(core.NotThere, "node %q: there is none of that name", core.Clip(args[0])).
					WithRemedy("`weft nodes` lists them")
			}
			return cli.Print(o, rows, printDrains)
		},
	})
}

func PrintNodes(w io.Writer, nodes []server.NodeRow) {
	head := "NODE STATE NICS JOBS DRAINED"
	certified := slices.ContainsFunc(nodes, func(n server.NodeRow) bool { return !n.Expiry.IsZero() }) // there are none in `weft dev`
	if certified {
		head = "NODE STATE NICS JOBS CERTIFICATE-ENDS DRAINED"
	}
	cli.Table(w, head, nodes, func(n server.NodeRow) []string {
		state := n.State
		if n.Away != "" {
			state += " " + n.Away
		}
		cells := []string{n.Node, state, fmt.Sprintf("%d/%d", len(n.NICs)-len(n.Unusable), len(n.Inventory)), fmt.Sprint(n.Jobs)}
		if certified {
			cells = append(cells, cli.Date(n.Expiry, time.DateOnly))
		}
		for _, d := range n.Schedulers {
			if !(core.Drain{Reason: d.Reason}).Ours() {
				n.Drained = strings.TrimPrefix(n.Drained+"; "+d.Scheduler+": "+d.Reason, "; ")
			}
		}
		return append(cells, n.Drained)
	})
}

// printDrains says of nodes who drained them, too.
func printDrains(w io.Writer, nodes []server.NodeRow) {
	PrintNodes(w, nodes)
	for _, n := range nodes {
		if n.Drained != "" {
			fmt.Fprintf(w, "%s: drained by %s%s: %s\n", n.Node, cmp.Or(n.DrainedBy, "Weft"), since(n.DrainedSince), n.Drained)
		}
		for _, d := range n.Schedulers {
			by := d.By
			if (core.Drain{Reason: d.Reason}).Ours() {
				by = "Weft"
			}
			fmt.Fprintf(w, "%s: %s has it drained by %s%s: %s\n", n.Node, d.Scheduler, cmp.Or(by, "an unknown user"), since(d.Since), d.Reason)
		}
	}
}

func since(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return " since " + cli.Date(t, time.DateTime)
}
