package sim

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/hclfile"
)

// System are the flags that `weft dev` and `weft demo` share.
type System struct {
	Config     string
	quarantine time.Duration
}

func (d *System) Flags(cmd *cobra.Command, quarantine time.Duration) {
	cmd.Flags().StringVar(&d.Config, "config", "config.hcl", "read this configuration")
	cmd.Flags().DurationVar(&d.quarantine, "quarantine", quarantine,
		"quarantine of a freed VNI; 0 takes the value of config.hcl")
}

// Options reads the configuration and gives the options of a system of simulated nodes.
func (d *System) Options(dir, version string, log *slog.Logger) (dev.Options, error) {
	if d.quarantine < 0 {
		return dev.Options{}, cli.Usage("quarantine %s: it is below zero", d.quarantine)
	}
	s, err := cli.ReadSite(d.Config, d.quarantine)
	if err != nil {
		return dev.Options{}, err
	}
	if failed := settings.Try(s.Policy, settings.Env(s.Config), s.Tests); hclfile.Failed(failed) {
		cli.Show(failed)
		return dev.Options{}, cli.Usage("the tests of the policy of %s do not pass", d.Config)
	}
	out := dev.Options{
		Dir: dir, Nodes: s.Nodes, Config: s.Engine, Pools: s.Pools, Policy: s.Policy, Admins: s.Config.Server.AdminGroup, Version: version, Log: log,
		Site: settings.Examined(func() *settings.Site { return s }, nil),
	}
	err = simulated(s, &out)
	return out, err
}

func NewDev(o *cli.Options) *cobra.Command {
	d := &System{}
	cmd := &cobra.Command{
		Use: "dev", Short: "Run a whole system of simulated nodes in one process", Args: cobra.NoArgs,
		Long: `Run a server, an agent for each node of config.hcl, and simulated NICs, until
Ctrl-C. The other verbs work on this system from the same folder, except
reload, policy apply and jobs --history:
  weft dev &
  weft run -- env | grep SLINGSHOT
The system keeps its state in --dir and continues from it at the next start.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts, err := d.Options(o.Dir, o.Version, cli.Log())
			if err != nil {
				return err
			}
			s, err := dev.Start(cmd.Context(), opts)
			if err != nil {
				return err
			}
			fmt.Printf("weft dev: %d nodes with %d NICs each; sockets below %s; Ctrl-C ends it\n", len(opts.Nodes), opts.NICs, opts.Dir)
			<-cmd.Context().Done()
			s.Stop()
			return nil
		},
	}
	d.Flags(cmd, 0)
	return cmd
}
