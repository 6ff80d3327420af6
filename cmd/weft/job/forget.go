package job

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

func NewForget(o *cli.Options) *cobra.Command {
	var vni string
	in := server.JobArgs{}
	cmd := &cobra.Command{
		Use: "forget [JOB]", Short: "Write off nodes that keep a held reservation from being freed",
		Long: `Write off the nodes that keep a reservation from being freed, because they are
out of contact for good or were reinstalled. The VNIs of the reservation go to
quarantine. If such a node comes back with the services, Weft shows them and
holds their VNIs again.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			given := len(args)
			if len(args) == 1 {
				job, err := cli.JobName(args[0])
				if err != nil {
					return err
				}
				in.Job = job
			}
			if cmd.Flags().Changed("vni") {
				v, err := core.ParseVNI(vni)
				if err != nil {
					return err
				}
				in.VNI = uint16(v)
				given++
			}
			if in.Vanished {
				given++
			}
			if given != 1 {
				return cli.Misuse(cmd, "forget: give one of JOB, --vni and --vanished")
			}
			n, err := o.Count(cmd.Context(), "forget", in)
			if err != nil {
				return err
			}
			_, err = fmt.Printf("%s written off; their VNIs rest in quarantine before they are free\n", core.Plural(n, "reservation"))
			return err
		},
	}
	cmd.ValidArgsFunction = o.JobNames().Once
	cmd.Flags().StringVar(&vni, "vni", "", "write off the reservations that hold this `VNI`")
	o.VNINumbers().Flag(cmd, "vni")
	cmd.Flags().BoolVar(&in.Vanished, "vanished", false, "confirm that the jobs of an alarm are really gone")
	cmd.Flags().BoolVar(&in.Confirmed, "gone", false, "also forget a job whose end the scheduler has not reported")
	return cmd
}
