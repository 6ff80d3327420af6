package node

import (
	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/server"
)

func NewRecover(o *cli.Options) *cobra.Command {
	var without string
	cmd := &cobra.Command{
		Use: "recover --without NODES", Short: "Grant again after the loss of a store, without these nodes",
		Long: `After the loss of a store, a server grants nothing until every node has
reported: a node may hold VNIs that the store does not know. The same holds for
a store that is new, imported, or older than the records of the nodes.

This verb lets the server continue without the given nodes. If such a node
comes back with services, their VNIs may belong to another job by then.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if without == "" {
				return cli.Misuse(cmd, "recover: --without is missing; `weft nodes` shows who is waited for")
			}
			return nodes(o, cmd, "recover", server.NodeArgs{Nodes: without}, "no longer waited for")
		},
	}
	cmd.Flags().StringVar(&without, "without", "", "do not wait for these `NODES`, a hostlist")
	o.NodeNames().Flag(cmd, "without")
	return cmd
}
