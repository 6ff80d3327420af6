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
		Use:               "drain NODES REASON…",
		Short:             "Take nodes out of service, in Weft and in every scheduler",
		Args:              cobra.MinimumNArgs(1),
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
		Use:   "resume NODES",
		Short: "Take nodes back into service where Weft took them out",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: o.NodeNames().Once,
		RunE: func(cmd *cobra.Command, args []string) error {
			return nodes(o, cmd, "resume", server.NodeArgs{Nodes: args[0]}, "in service")
		},
	}
}

func NewNode(o *cli.Options) *cobra.Command {
	return cli.Holder("node", "Change the record of a node", &cobra.Command{
		Use:   "accept NODES",
		Short: "Accept the NICs that nodes have now as their inventory",
		Args:  cobra.ExactArgs(1), ValidArgsFunction: o.NodeNames().Once,
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

func nodes(o *cli.Options, cmd *cobra.Command, verb string, in server.NodeArgs, done string) error {
	n, err := o.Count(cmd.Context(), verb, in)
	if err != nil {
		return err
	}
	_, err = fmt.Println(cli.Plural(n, "node"), done)
	return err
}
