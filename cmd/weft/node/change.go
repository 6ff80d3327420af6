package node

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
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
			var n server.Count
			if err := o.Ask(cmd.Context(), "accept", server.NodeArgs{Nodes: args[0]}, &n); err != nil {
				return err
			}
			fmt.Printf("%s of %s taken for the inventory\n", core.Plural(n.Count, "NIC"), args[0])
			return refused(os.Stdout, "accept", n)
		},
	})
}

// nodes does a verb and says what each scheduler made of it.
func nodes(o *cli.Options, cmd *cobra.Command, verb string, in server.NodeArgs, done string) error {
	var n server.Count
	if err := o.Ask(cmd.Context(), verb, in, &n); err != nil {
		return err
	}
	return say(os.Stdout, verb, done, n)
}

// say prints what became of a verb. The first line is about Weft alone where a scheduler shows something else.
func say(w io.Writer, verb, done string, n server.Count) error {
	kept := slices.ContainsFunc(n.Told, func(t server.Told) bool { return t.Kept })
	differ := slices.IndexFunc(n.Told, func(t server.Told) bool { return !t.Done })
	if differ >= 0 {
		fmt.Fprintf(w, "%s %s in Weft, and not in every scheduler\n", core.Plural(n.Count, "node"), done)
	} else if kept {
		fmt.Fprintf(w, "%s %s in Weft\n", core.Plural(n.Count, "node"), done)
	} else {
		fmt.Fprintln(w, core.Plural(n.Count, "node"), done)
	}
	for _, was := range n.Before {
		fmt.Fprintf(w, "%s: the new reason replaces this one\n", was)
	}
	for _, t := range n.Told {
		switch {
		case !t.Done:
			fmt.Fprintf(w, "%s: %s: not %s: %s\n", t.Scheduler, t.Nodes, done, cmp.Or(t.Why, "the scheduler shows no drain"))
		case t.Kept:
			fmt.Fprintf(w, "%s: %s: %s; that stays, and `weft resume` does not end it\n", t.Scheduler, t.Nodes, t.Why)
		case t.Why != "":
			fmt.Fprintf(w, "%s: %s: %s\n", t.Scheduler, t.Nodes, t.Why)
		default:
			fmt.Fprintf(w, "%s: %s: %s\n", t.Scheduler, t.Nodes, done)
		}
	}
	if n.Away != "" {
		fmt.Fprintf(w, "%s: no job starts there before its agent is in contact again\n", n.Away)
	}
	if err := refused(w, verb, n); err != nil || differ < 0 {
		return err
	}
	return core.Errorf(core.SchedulerAway, "%s: scheduler %s did not do it", verb, n.Told[differ].Scheduler).
		WithRemedy("Weft itself did; mend what the line above says, or use the scheduler's own command")
}

// refused prints why nodes stay as they were, and is an error where there are any.
func refused(w io.Writer, verb string, n server.Count) error {
	if len(n.Refused) == 0 {
		return nil
	}
	fmt.Fprintln(w, strings.Join(n.Refused, "\n"))
	return core.Errorf(core.NodeDrained, "%s: refused for %s", verb, core.Plural(len(n.Refused), "node")).
		WithRemedy("the lines above say why")
}
