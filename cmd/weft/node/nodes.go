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
			return cli.PrintList(cmd.Context(), o, "nodes", nil, PrintNodes)
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
		return append(cells, n.Drained)
	})
}
