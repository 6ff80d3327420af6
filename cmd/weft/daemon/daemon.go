// Package daemon holds the verbs that run, reload, bypass and show the daemons.
package daemon

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"syscall"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/people"
)

func NewServer(o *cli.Options) *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use: "server", Short: "Run the server, which allocates the VNIs of the fabric", Args: cobra.NoArgs,
		Long: `Run the server of a system until a signal stops it. It keeps its records in the
store that config.hcl names. It answers operators on its socket, and agents
over TLS on the address in "listen". ` + "`weft tls init`" + ` makes its certificates.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), o.Version, path, func(ctx context.Context, s *settings.Site, opts daemon.Options) error {
				opts.Member = people.New(nil).Member
				return daemon.Server(ctx, s, opts)
			})
		},
	}
	cmd.Flags().StringVar(&path, "config", cli.DefaultConfig, "read this configuration")
	return cmd
}

func NewAgent(o *cli.Options) *cobra.Command {
	var path string
	var host daemon.Host
	cmd := &cobra.Command{
		Use: "agent", Short: "Run this node's agent, which makes and removes its CXI services", Args: cli.NoVerb,
		Long: `Run the agent of this node until a signal stops it. The services stay when the
agent stops: they belong to jobs, and the agent finds them at its next start.
The certificate names the node; ` + "`weft tls node NAME`" + ` makes it.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return serve(cmd.Context(), o.Version, path, func(ctx context.Context, s *settings.Site, opts daemon.Options) error {
				return daemon.Agent(ctx, s, host, opts)
			})
		},
	}
	cmd.Flags().StringVar(&path, "config", cli.DefaultConfig, "read this configuration")
	for flag, to := range map[string]*string{"boot": &host.Boot, "hardware": &host.Hardware} {
		cmd.Flags().StringVar(to, flag, "", flag+" of a simulated node (default: the machine's)")
		_ = cmd.Flags().MarkHidden(flag)
	}
	cmd.AddCommand(newBypass(o))
	return cmd
}

// serve reads the site and runs a daemon of it. systemd learns when the daemon serves and when it stops. SIGHUP opens
// the audit's file again, from the first moment on, or it would end a daemon that is still starting.
func serve(ctx context.Context, version, path string, run func(context.Context, *settings.Site, daemon.Options) error) error {
	log := cli.Log()
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	defer signal.Stop(hup)
	context.AfterFunc(ctx, func() { _, _ = sd.SdNotify(false, sd.SdNotifyStopping) })
	every, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("systemd's watchdog is not told anything: what it says of itself cannot be read", core.LogError, err)
	}
	site, err := cli.ReadSite(path, 0)
	if err != nil {
		return err
	}
	err = run(ctx, site, daemon.Options{
		Version: version, Log: log, Reopen: hup,
		Ready: func() {
			log.Info("serving", "version", version)
			_, _ = sd.SdNotify(false, sd.SdNotifyReady)
		},
		Watch: daemon.Watchdog{Every: every, Tell: func() { _, _ = sd.SdNotify(false, sd.SdNotifyWatchdog) }},
	})
	if e, ok := errors.AsType[*config.FindingsError](err); ok {
		cli.Show(e.Findings)
		return cli.Usage("the configuration or its policy cannot be used")
	}
	return err
}
