package node

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
)

func NewClean(o *cli.Options) *cobra.Command {
	var node string
	var in agent.CleanArgs
	cmd := o.Listing(&cobra.Command{
		Use: "clean", Short: "Remove the services on a node that use Weft's VNIs but have no job", Args: cobra.NoArgs,
		Long: `Remove the services on a node's NICs that have no record, if all their VNIs
belong to the pools and services of config.hcl. A lost record, another tool or
a disabled plugin can leave such services. The list shows a service with
another VNI as kept, and also one of a job whose record the node lost, until
the job has ended. Weft never touches the driver's services, the default service
or the service of a job. The audit log has each removal. Only root may use this
verb.

Exit code 1: Weft could not remove a service, because an application still uses
it or the NIC failed.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := o.NodeHere(cmd, node)
			if err != nil {
				return err
			}
			rows, err := cli.ListNode[agent.CleanRow](cmd.Context(), o, at, "clean", in)
			if err != nil {
				return err
			}
			if err := cli.Print(o, rows, printClean); err != nil {
				return err
			}
			for _, r := range rows {
				if r.Result == "busy" || r.Result == "failed" {
					return cli.Exit(cli.ExitFailed, nil)
				}
			}
			return nil
		},
	})
	o.NodeFlag(cmd, &node, "clean this node (default: the node of this host's agent)")
	cmd.Flags().BoolVar(&in.DryRun, "dry-run", false, "show the services, but remove none")
	return cmd
}

func printClean(w io.Writer, rows []agent.CleanRow) {
	if len(rows) == 0 {
		fmt.Fprintln(w, "every service has its job; there is nothing to remove")
		return
	}
	cli.Table(w, "NIC SERVICE OWNER VNIS RESULT WHY", rows, func(r agent.CleanRow) []string {
		return []string{r.Device, fmt.Sprint(r.Service), r.Owner, core.VNIRanges(r.VNIs), r.Result, r.Why}
	})
}
