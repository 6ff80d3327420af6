package sim

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
)

func newSimService(o *cli.Options) *cobra.Command {
	var at place
	var device, vnis string
	var uid uint32
	cmd := &cobra.Command{
		Use:   "service --node NODE --vnis VNIS",
		Short: "Leave a service on a simulated NIC, as another tool does",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if at.none() || vnis == "" {
				return cli.Misuse(cmd, "sim service: --node or --state, and --vnis are needed")
			}
			var list []core.VNI
			for text := range strings.SplitSeq(vnis, ",") {
				v, err := core.ParseVNI(text)
				if err != nil {
					return err
				}
				list = append(list, v)
			}
			dir, err := at.folder(o)
			if err != nil {
				return err
			}
			var owner *uint32
			if cmd.Flags().Changed("uid") {
				owner = &uid
			}
			id, err := sim.At(dir).Foreign(cmd.Context(), device, owner, list)
			if err != nil {
				return err
			}
			_, err = fmt.Printf("service %d of %s on %s\n", id, device, at)
			return err
		},
	}
	at.flags(o, cmd)
	cmd.Flags().StringVar(&device, "device", "cxi0", "make the service on this NIC")
	cmd.Flags().StringVar(&vnis, "vnis", "", "1 to 4 VNIs of the service, separated by commas")
	cmd.Flags().Uint32Var(&uid, "uid", 0, "owner of the service (default: the service admits every user)")
	return cmd
}
