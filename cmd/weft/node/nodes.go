// Package node holds the verbs about nodes, their NICs and the services on them.
package node

import (
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/server"
)

func NewNodes(o *cli.Options) *cobra.Command {
	return o.Listing(&cobra.Command{
		Use: "nodes", Short: "List the nodes, their NICs and why one is drained", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			nodes, err := cli.List[server.NodeRow](cmd.Context(), o, "nodes", nil)
			if err != nil {
				return err
			}
			return o.Print(cli.Stdout(), cli.NonNil(nodes), func(w io.Writer) { PrintNodes(w, nodes) })
		},
	})
}

func PrintNodes(w io.Writer, nodes []server.NodeRow) {
	rows := make([][]string, 0, len(nodes))
	certified := slices.ContainsFunc(nodes, func(n server.NodeRow) bool { return !n.Expiry.IsZero() }) // there are none in `weft dev`
	for _, n := range nodes {
		state := n.State
		if n.Away != "" {
			state += " " + n.Away
		}
		rows = append(rows, []string{n.Node, state, fmt.Sprintf("%d/%d", len(n.NICs), len(n.Inventory)), fmt.Sprint(n.Jobs), n.Drained})
		if certified {
			ends := ""
			if !n.Expiry.IsZero() {
				ends = n.Expiry.Format(time.DateOnly)
			}
			rows[len(rows)-1] = slices.Insert(rows[len(rows)-1], 4, ends)
		}
	}
	if certified {
		cli.Columns(w, "NODE STATE NICS JOBS CERTIFICATE-ENDS DRAINED", rows)
		return
	}
	cli.Columns(w, "NODE STATE NICS JOBS DRAINED", rows)
}
