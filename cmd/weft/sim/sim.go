// Package sim holds the verbs about simulated nodes: `weft dev` and `weft sim`.
package sim

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/sim"
)

func New(o *cli.Options) *cobra.Command {
	return cli.Holder("sim", "Play an application, a fault or another tool on simulated NICs", newSimApp(o), newSimFault(o), newSimService(o))
}

func newSimApp(o *cli.Options) *cobra.Command {
	var at place
	var device string
	var service, uid uint32
	var untilEOF bool
	cmd := &cobra.Command{
		Use:   "app --node NODE --device NIC --service ID",
		Short: "Hold a service until this process ends, as an application does",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("uid") {
				uid = uint32(os.Geteuid())
			}
			if at.none() || service == 0 {
				return cli.Misuse(cmd, "sim app: --node or --state, and --service are needed")
			}
			if uid == core.NoUID {
				return core.Errorf(core.BadCall, "uid %d: it is nobody's; no service can have it for an owner", uid).WithRemedy("give a user's uid, or leave --uid out")
			}
			dir, err := at.folder(o)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithCancel(cmd.Context())
			defer cancel()
			if untilEOF {
				go func() {
					_, _ = io.Copy(io.Discard, os.Stdin)
					cancel()
				}()
			}
			return sim.Hold(ctx, dir, device, service, uid, func() {
				fmt.Printf("holding service %d of %s on %s\n", service, device, at)
			})
		},
	}
	at.flags(o, cmd)
	cmd.Flags().StringVar(&device, "device", "cxi0", "use the service on this NIC")
	cmd.Flags().Uint32Var(&service, "service", 0, "id of the service")
	cmd.Flags().Uint32Var(&uid, "uid", 0, "use the service as this user (default: the caller)")
	cmd.Flags().BoolVar(&untilEOF, "until-eof", false, "end when standard input ends")
	return cmd
}

func newSimFault(o *cli.Options) *cobra.Command {
	var at place
	var device, call string
	var clear bool
	var n int
	var d, delay time.Duration
	kinds := make([]string, 0, 8)
	for _, k := range sim.FaultKinds() {
		kinds = append(kinds, string(k))
	}
	cmd := &cobra.Command{
		Use:   "fault KIND --node NODE",
		Short: "Cause a fault on a node's NICs",
		Long:  "Cause a fault on a node's NICs. KIND is one of these:\n  " + strings.Join(kinds, "\n  "),
		Args:  cobra.ExactArgs(1), ValidArgs: kinds,
		RunE: func(cmd *cobra.Command, args []string) error {
			if at.none() {
				return cli.Misuse(cmd, "sim fault: --node is missing, and so is --state")
			}
			dir, err := at.folder(o)
			if err != nil {
				return err
			}
			if clear {
				return sim.At(dir).ClearFaults(cmd.Context(), sim.FaultKind(args[0]), device)
			}
			return sim.At(dir).SetFault(cmd.Context(), sim.Fault{Kind: sim.FaultKind(args[0]), Device: device, Call: sim.Call(call), Nth: n, Delay: delay, For: d})
		},
	}
	at.flags(o, cmd)
	cmd.Flags().StringVar(&device, "device", "", "cause the fault on this NIC (default: all NICs)")
	cmd.Flags().StringVar(&call, "call", "",
		"cause the fault in this call of the driver: devices, services, create, destroy or open (default: all)")
	cmd.Flags().IntVar(&n, "n", 1, "fail: number of the call that fails, from now on")
	cmd.Flags().DurationVar(&d, "for", 0, "duration of the fault; 0 lasts until --clear")
	cmd.Flags().DurationVar(&delay, "delay", time.Second, "latency: duration of each call")
	cmd.Flags().BoolVar(&clear, "clear", false, "end the fault")
	return cmd
}
