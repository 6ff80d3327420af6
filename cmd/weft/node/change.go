package node

import (
	"cmp"
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

// nodes does a verb and says what each scheduler made of it.
func nodes(o *cli.Options, cmd *cobra.Command, verb string, in server.NodeArgs, done string) error {
	var n server.Count
	if err := o.Ask(cmd.Context(), verb, in, &n); err != nil {
		return err
	}
	fmt.Println(cli.Plural(n.Count, "node"), done)
	differ := ""
	for _, t := range n.Told {
		switch {
		case !t.Done:
			fmt.Printf("%s: %s: not %s: %s\n", t.Scheduler, t.Nodes, done, cmp.Or(t.Why, "the scheduler shows no drain"))
			differ = t.Scheduler
		case t.Why != "":
			fmt.Printf("%s: %s: %s\n", t.Scheduler, t.Nodes, t.Why)
		default:
			fmt.Printf("%s: %s: %s\n", t.Scheduler, t.Nodes, done)
		}
	}
	if n.Away != "" {
		fmt.Printf("%s: no job starts there before its agent is in contact again\n", n.Away)
	}
	if differ != "" {
		return core.Errorf(core.SchedulerAway, "%s: scheduler %s did not do it", verb, differ).
			WithRemedy("Weft itself did; mend what the line above says, or use the scheduler's own command")
	}
	return nil
}
