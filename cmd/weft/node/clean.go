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
		Use: "clean", Short: "Remove the services of Weft's VNIs on a node that belong to no job", Args: cobra.NoArgs,
		Long: `Remove the services on a node's NICs that no record explains, where all their VNIs are of the pools and services of config.hcl: what a
lost record, another tool or a switched-off plugin left behind. A service with another VNI is listed as kept; the driver's own and the
default service are never touched, nor is one of a job. Each removal is in the audit. Only root may do it.

Exit code 1 says that one of them could not be removed: an application still uses it, or the NIC failed.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := o.NodeHere(cmd, node)
			if err != nil {
				return err
			}
			rows := []agent.CleanRow{}
			if err := o.AskNode(cmd.Context(), at, "clean", in, &rows); err != nil {
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
	o.NodeFlag(cmd, &node, "the node; by default that of this host's agent")
	cmd.Flags().BoolVar(&in.DryRun, "dry-run", false, "only show what would go")
	return cmd
}

func printClean(w io.Writer, rows []agent.CleanRow) {
	if len(rows) == 0 {
		fmt.Fprintln(w, "every service has its job; there is nothing to remove")
		return
	}
	cli.Table(w, "NIC SERVICE OWNER VNIS RESULT WHY", rows, func(r agent.CleanRow) []string {
		return []string{r.Device, fmt.Sprint(r.Service), r.Owner, core.FormatVNIs(r.VNIs), r.Result, r.Why}
	})
}
