package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	sd "github.com/coreos/go-systemd/v22/daemon"
	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon"
)

// defaultConfig is where a site's configuration lies.
const defaultConfig = "/etc/weft/config.hcl"

func newServer() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use: "server", Short: "Run the server: the one authority over the fabric", Args: cobra.NoArgs,
		Long: `Run the server of a system, until it is told to stop. It keeps its records in the store that config.hcl names, answers operators on its
socket, and agents where "listen" says, over TLS. ` + "`weft tls init`" + ` makes its certificates.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := read(path, 0)
			if err != nil {
				return err
			}
			hup := make(chan os.Signal, 1)
			signal.Notify(hup, syscall.SIGHUP)
			defer signal.Stop(hup)
			opts := daemonOptions(cmd.Context())
			opts.Reload = hup
			return told(daemon.Server(cmd.Context(), s.Site, opts))
		},
	}
	cmd.Flags().StringVar(&path, "config", defaultConfig, "the configuration")
	return cmd
}

func newAgent(o *options) *cobra.Command {
	var path, boot string
	cmd := &cobra.Command{
		Use: "agent", Short: "Run this node's agent, which makes and removes its CXI services", Args: noVerb,
		Long: `Run the agent of this node, until it is told to stop. Services stay when it does: they are their jobs', and the next start finds them
again. The node is called what its certificate says; ` + "`weft tls node NAME`" + ` makes it.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := read(path, 0)
			if err != nil {
				return err
			}
			return told(daemon.Agent(cmd.Context(), s.Site, boot, daemonOptions(cmd.Context())))
		},
	}
	cmd.Flags().StringVar(&path, "config", defaultConfig, "the configuration")
	cmd.Flags().StringVar(&boot, "boot", "", "the node's boot id, for a simulated node; by default the machine's")
	_ = cmd.Flags().MarkHidden("boot")
	cmd.AddCommand(newBypass(o))
	return cmd
}

// daemonOptions are those of both daemons. systemd is told when they serve, and when they stop.
func daemonOptions(ctx context.Context) daemon.Options {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	context.AfterFunc(ctx, func() { _, _ = sd.SdNotify(false, sd.SdNotifyStopping) })
	every, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("systemd's watchdog is not told anything: what it says of itself cannot be read", core.LogError, err)
	}
	return daemon.Options{
		Version: version, Log: log,
		Ready: func() {
			log.Info("serving", "version", version)
			_, _ = sd.SdNotify(false, sd.SdNotifyReady)
		},
		Watch: daemon.Watchdog{Every: every, Tell: func() { _, _ = sd.SdNotify(false, sd.SdNotifyWatchdog) }},
	}
}

// told shows a complaint about config.hcl with its lines.
func told(err error) error {
	if e, ok := errors.AsType[*daemon.FindingsError](err); ok {
		show(e.Findings)
		return usage(fmt.Errorf("the configuration cannot be used"))
	}
	return err
}

func newReload(o *options) *cobra.Command {
	return o.listing(&cobra.Command{
		Use: "reload", Short: "Put config.hcl and the policy files in force without a restart; the old stay when anything is wrong", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var r daemon.Reloaded
			if err := o.ask(cmd.Context(), "reload", nil, &r); err != nil {
				return err
			}
			if err := o.print(cmd.OutOrStdout(), r, func(w io.Writer) {
				show(r.Findings)
				for _, c := range r.Changed {
					fmt.Fprintln(w, c)
				}
				if len(r.Changed) == 0 && !r.Refused {
					fmt.Fprintln(w, "nothing is different")
				}
			}); err != nil {
				return err
			}
			if r.Refused {
				return usage(fmt.Errorf("reload: nothing was changed; the configuration from before stays in force"))
			}
			return nil
		},
	})
}
