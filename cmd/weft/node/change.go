package node

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

func NewDrain(o *cli.Options) *cobra.Command {
	return &cobra.Command{
		Use: "drain NODES REASON…", Short: "Take nodes out of service, in Weft and in every scheduler that lists them", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: o.NodeNames().Once,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return cli.Misuse(cmd, "drain %s: a reason is missing: who finds the node drained must learn why", core.Clip(args[0]))
			}
			return nodes(o, cmd, "drain", server.NodeArgs{Nodes: args[0], Reason: strings.Join(args[1:], " ")}, "drained")
		},
	}
}

func NewResume(o *cli.Options) *cobra.Command {
	return &cobra.Command{
		Use: "resume NODES", Short: "Take nodes back into service, in Weft and in every scheduler where Weft took them out of it", Args: cobra.ExactArgs(1), ValidArgsFunction: o.NodeNames().Once,
		RunE: func(cmd *cobra.Command, args []string) error {
			return nodes(o, cmd, "resume", server.NodeArgs{Nodes: args[0]}, "in service")
		},
	}
}

func NewRecover(o *cli.Options) *cobra.Command {
	var without string
	cmd := &cobra.Command{
		Use: "recover --without NODES", Short: "Grant again after the loss of a store, without these nodes",
		Long: `A server whose store is new, imported or older than what nodes have seen grants nothing until every node has reported, since a node
may hold VNIs that the store does not know. This goes on without the nodes that will not come. If one comes back all the same
with services of its own, their VNIs may be another job's by then.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if without == "" {
				return cli.Misuse(cmd, "recover: --without is missing; `weft nodes` shows who is waited for")
			}
			return nodes(o, cmd, "recover", server.NodeArgs{Nodes: without}, "no longer waited for")
		},
	}
	cmd.Flags().StringVar(&without, "without", "", "hostlist of the nodes not to wait for")
	o.NodeNames().Flag(cmd, "without")
	return cmd
}

func NewNode(o *cli.Options) *cobra.Command {
	return cli.Holder("node", "Change the record of a node", &cobra.Command{
		Use: "accept NODES", Short: "Take the NICs that a node has now for its inventory", Args: cobra.ExactArgs(1), ValidArgsFunction: o.NodeNames().Once,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := o.Count(cmd.Context(), "accept", server.NodeArgs{Nodes: args[0]})
			if err != nil {
				return err
			}
			_, err = fmt.Printf("%s of %s taken for the inventory\n", cli.Plural(n, "NIC"), args[0])
			return err
		},
	})
}

// nodes makes a call about nodes and says what came of it.
func nodes(o *cli.Options, cmd *cobra.Command, verb string, in server.NodeArgs, done string) error {
	n, err := o.Count(cmd.Context(), verb, in)
	if err != nil {
		return err
	}
	_, err = fmt.Println(cli.Plural(n, "node"), done)
	return err
}
