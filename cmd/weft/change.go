package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

func newForget(o *options) *cobra.Command {
	var vni string
	in := server.JobArgs{}
	cmd := &cobra.Command{
		Use: "forget [JOB]", Short: "Write off nodes that keep a held reservation from being freed",
		Long: `Write off the nodes that keep a reservation from being freed: they are out of contact for good, or were reinstalled.
Its VNIs go to quarantine. If such a node comes back and still has the services, they are shown and its VNIs are held again.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if given := count(len(args) == 1, cmd.Flags().Changed("vni"), in.Vanished); given != 1 {
				return misuse(cmd, fmt.Errorf("forget: give one of JOB, --vni and --vanished"))
			}
			if len(args) == 1 {
				if _, _, err := splitJob(args[0]); err != nil {
					return err
				}
				in.Job = args[0]
			}
			if cmd.Flags().Changed("vni") {
				v, err := core.ParseVNI(vni)
				if err != nil {
					return err
				}
				in.VNI = uint16(v)
			}
			var n server.Count
			if err := o.ask(cmd.Context(), "forget", in, &n); err != nil {
				return err
			}
			_, err := fmt.Fprintf(stdout(), "%s written off; their VNIs rest in quarantine before they are free\n", plural(n.Count, "reservation"))
			return err
		},
	}
	cmd.ValidArgsFunction = o.jobNames().once
	cmd.Flags().StringVar(&vni, "vni", "", "the reservations that hold this VNI")
	o.vniNumbers().flag(cmd, "vni")
	cmd.Flags().BoolVar(&in.Vanished, "vanished", false, "the jobs of an alarm are really gone")
	cmd.Flags().BoolVar(&in.Confirmed, "gone", false, "also where the scheduler has not said that the job is over")
	return cmd
}

func count(given ...bool) int {
	n := 0
	for _, g := range given {
		if g {
			n++
		}
	}
	return n
}

func newDrain(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "drain NODES REASON…", Short: "Take nodes out of service, in Weft and in every scheduler that lists them", Args: cobra.MinimumNArgs(1),
		ValidArgsFunction: o.nodeNames().once,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return misuse(cmd, fmt.Errorf("drain %s: a reason is missing: who finds the node drained must learn why", core.Clip(args[0])))
			}
			return o.nodes(cmd, "drain", server.NodeArgs{Nodes: args[0], Reason: strings.Join(args[1:], " ")}, "drained")
		},
	}
}

func newResume(o *options) *cobra.Command {
	return &cobra.Command{
		Use: "resume NODES", Short: "Take nodes back into service, in Weft and in every scheduler where Weft took them out of it", Args: cobra.ExactArgs(1), ValidArgsFunction: o.nodeNames().once,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.nodes(cmd, "resume", server.NodeArgs{Nodes: args[0]}, "in service")
		},
	}
}

func newRecover(o *options) *cobra.Command {
	var without string
	cmd := &cobra.Command{
		Use: "recover --without NODES", Short: "Grant again after a store was lost, without waiting for these nodes",
		Long: `A server whose store is new, imported or older than what nodes have seen grants nothing until every node has reported, since a node
may hold VNIs that the store does not know. This goes on without the nodes that will not come. If one comes back all the same
with services of its own, their VNIs may be another job's by then.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if without == "" {
				return misuse(cmd, fmt.Errorf("recover: --without is missing; `weft nodes` shows who is waited for"))
			}
			return o.nodes(cmd, "recover", server.NodeArgs{Nodes: without}, "no longer waited for")
		},
	}
	cmd.Flags().StringVar(&without, "without", "", "hostlist of the nodes not to wait for")
	o.nodeNames().flag(cmd, "without")
	return cmd
}

func newNode(o *options) *cobra.Command {
	return holder("node", "Change what is known of a node", &cobra.Command{
		Use: "accept NODES", Short: "Take the NICs that a node has now for its inventory", Args: cobra.ExactArgs(1), ValidArgsFunction: o.nodeNames().once,
		RunE: func(cmd *cobra.Command, args []string) error {
			var n server.Count
			if err := o.ask(cmd.Context(), "accept", server.NodeArgs{Nodes: args[0]}, &n); err != nil {
				return err
			}
			_, err := fmt.Fprintf(stdout(), "%s of %s taken for the inventory\n", plural(n.Count, "NIC"), args[0])
			return err
		},
	})
}

// nodes makes a call about nodes and says what came of it.
func (o *options) nodes(cmd *cobra.Command, verb string, in server.NodeArgs, done string) error {
	var n server.Count
	if err := o.ask(cmd.Context(), verb, in, &n); err != nil {
		return err
	}
	_, err := fmt.Fprintln(stdout(), plural(n.Count, "node"), done)
	return err
}
