package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
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
			opts, done := daemonOptions(cmd.Context())
			defer done()
			s, err := read(path, 0)
			if err != nil {
				return err
			}
			opts.Member = newPeople().member
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
			opts, done := daemonOptions(cmd.Context())
			defer done()
			s, err := read(path, 0)
			if err != nil {
				return err
			}
			return told(daemon.Agent(cmd.Context(), s.Site, boot, opts))
		},
	}
	cmd.Flags().StringVar(&path, "config", defaultConfig, "the configuration")
	cmd.Flags().StringVar(&boot, "boot", "", "the node's boot id, for a simulated node; by default the machine's")
	_ = cmd.Flags().MarkHidden("boot")
	cmd.AddCommand(newBypass(o))
	return cmd
}

// daemonOptions are those of both daemons, until done is called. systemd is told when they serve, and when they stop. SIGHUP asks for a reload from the first
// moment on, or it would end a daemon that is still starting.
func daemonOptions(ctx context.Context) (_ daemon.Options, done func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	context.AfterFunc(ctx, func() { _, _ = sd.SdNotify(false, sd.SdNotifyStopping) })
	every, err := sd.SdWatchdogEnabled(false)
	if err != nil {
		log.Warn("systemd's watchdog is not told anything: what it says of itself cannot be read", core.LogError, err)
	}
	return daemon.Options{
		Version: version, Log: log, Reload: hup,
		Ready: func() {
			log.Info("serving", "version", version)
			_, _ = sd.SdNotify(false, sd.SdNotifyReady)
		},
		Watch: daemon.Watchdog{Every: every, Tell: func() { _, _ = sd.SdNotify(false, sd.SdNotifyWatchdog) }},
	}, func() { signal.Stop(hup) }
}

// told shows a complaint about config.hcl with its lines.
func told(err error) error {
	if e, ok := errors.AsType[*daemon.FindingsError](err); ok {
		show(e.Findings)
		return usage(fmt.Errorf("the configuration or its policy cannot be used"))
	}
	return err
}

// reloadRow is what came of a reload of one daemon.
type reloadRow struct {
	Daemon string `json:"daemon"`
	daemon.Reloaded
}

func newReload(o *options) *cobra.Command {
	return o.listing(&cobra.Command{
		Use: "reload", Short: "Put config.hcl and the policy files in force without a restart; the old stay when anything is wrong", Args: cobra.NoArgs,
		Long: `Put config.hcl and the policy files in force in the daemons of this host: the server, the agent, or both. No job is dropped. Each says what
changed, and what of it needs a restart. When anything is wrong with the new, the old stays in force whole.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, away := o.reload(cmd.Context())
			if away != nil && len(rows) == 0 {
				return away
			}
			if err := o.print(cmd.OutOrStdout(), rows, func(w io.Writer) {
				for _, r := range rows {
					show(r.Findings)
					for _, c := range r.Changed {
						fmt.Fprintf(w, "%s: %s\n", r.Daemon, c)
					}
					if len(r.Changed) == 0 && !r.Refused {
						fmt.Fprintf(w, "%s: nothing is different\n", r.Daemon)
					}
				}
			}); err != nil {
				return err
			}
			for _, r := range rows {
				if r.Refused {
					return usage(fmt.Errorf("reload: %s: nothing was changed; the configuration from before stays in force", r.Daemon))
				}
			}
			return away
		},
	})
}

// reload asks every daemon of this host. It is one file, so where the first refuses it the other is not asked.
func (o *options) reload(ctx context.Context) ([]reloadRow, error) {
	_, name, agent := o.here()
	if err := o.there(); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(o.dir, "nodes")); err == nil && !agent {
		return nil, core.Errorf(core.NotSupported, "reload: %s is a system of `weft dev`, which reads its configuration at its start only", o.dir).
			WithRemedy("end it and start it again: what it keeps is found again")
	}
	var rows []reloadRow
	var down error
	if _, err := os.Stat(filepath.Join(o.dir, "server.sock")); err == nil || !agent {
		r := reloadRow{Daemon: "server"}
		switch err := o.ask(ctx, "reload", nil, &r.Reloaded); {
		case err == nil:
			if rows = append(rows, r); r.Refused {
				return rows, nil
			}
		case agent && awayFrom(err): // a server that was killed leaves its socket behind; the agent can reload without it
			down = err
		default:
			return nil, err
		}
	}
	if agent {
		r := reloadRow{Daemon: "agent"}
		if err := o.askNode(ctx, name, "reload", nil, &r.Reloaded); err != nil {
			return rows, err
		}
		rows = append(rows, r)
	}
	return rows, down
}

func awayFrom(err error) bool {
	e, ok := errors.AsType[*core.Error](err)
	return ok && e.Reason == core.ServerAway
}
