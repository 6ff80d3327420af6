package node

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
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
comes back with services, their VNIs may belong to another job by then.

With --without down, the server asks the schedulers which of these nodes are
down. It leaves out each node that one of them calls down and no other calls
up.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if without == "" {
				return cli.Misuse(cmd, "recover: --without is missing; `weft nodes` shows who is waited for")
			}
			var taken server.Count
			if err := o.Ask(cmd.Context(), "recover", server.NodeArgs{Nodes: without}, &taken); err != nil {
				return err
			}
			done := "no longer waited for"
			if taken.Count > 0 && taken.Nodes != "" {
				done += ": " + taken.Nodes
			}
			if taken.Why != "" {
				done += " (" + taken.Why + ")"
			}
			_, err := fmt.Println(core.Plural(taken.Count, "node"), done)
			return err
		},
	}
	cmd.Flags().StringVar(&without, "without", "", "do not wait for these `NODES`, a hostlist, or \"down\"")
	o.NodeNames().Flag(cmd, "without")
	return cmd
}
