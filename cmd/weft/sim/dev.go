package sim

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/dev/cluster"
	"github.com/weft-hpc/weft/hclfile"
)

// System are the flags that `weft dev` and `weft demo` share.
type System struct {
	Config     string
	quarantine time.Duration
	policy     string // folder of the configuration's policy
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
	d.policy = s.Config.Policy
	out := dev.Options{
		Dir: dir, Nodes: s.Nodes, Config: s.Engine, Pools: s.Pools, Policy: s.Policy, Admins: s.Config.Server.AdminGroup, Version: version, Log: log,
		Site: settings.Examined(func() *settings.Site { return s }, nil),
	}
	err = simulated(s, &out)
	return out, err
}

func NewDev(o *cli.Options) *cobra.Command {
	d := &System{}
	servers := 1
	cmd := &cobra.Command{
		Use: "dev", Short: "Run a whole system of simulated nodes", Args: cobra.NoArgs,
		Long: `Run a server, an agent for each node of config.hcl, and simulated NICs, until
Ctrl-C. The other verbs work on this system from the same folder, except
reload, policy apply and jobs --history:
  weft dev &
  weft run -- env | grep SLINGSHOT
The system keeps its state in --dir and continues from it at the next start.

With --servers 3, three servers share an etcd, which must be on the PATH. Then
etcd, each server and each agent is a process. You can kill the server that
leads, and see another take its place. A process that ends starts again after
5 seconds. A job has one node there.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if servers < 1 || servers > cluster.MaxServers {
				return cli.Usage("servers %d: it is from 1 to %d", servers, cluster.MaxServers)
			}
			opts, err := d.Options(o.Dir, o.Version, cli.Log())
			if err != nil {
				return err
			}
			if servers > 1 {
				return d.several(cmd.Context(), opts, servers)
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
	cmd.Flags().IntVar(&servers, "servers", servers, "run so many servers that share an etcd")
	return cmd
}

// several runs a system with several servers, each a process.
func (d *System) several(ctx context.Context, opts dev.Options, servers int) error {
	source, findings := hclfile.Read(d.Config)
	if hclfile.Failed(findings) {
		return cli.Unusable(d.Config, findings)
	}
	c, err := cluster.Start(ctx, cluster.Options{
		Dir: opts.Dir, Servers: servers, Nodes: opts.Nodes, NICs: opts.NICs, Config: source, Quarantine: d.quarantine,
		Policy: d.policy, Admins: opts.Admins,
		Tell: func(format string, args ...any) { fmt.Printf("weft dev: "+format+"\n", args...) },
	})
	defer c.Stop()
	if err != nil || ctx.Err() != nil {
		return err
	}
	fmt.Printf("weft dev: %d servers, and %s with %d NICs each; sockets below %s; Ctrl-C ends it\n",
		servers, core.Plural(len(opts.Nodes), "node"), opts.NICs, opts.Dir)
	c.Watch(ctx)
	return nil
}
