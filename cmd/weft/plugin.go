package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/daemon"
	"github.com/weft-hpc/weft/sdk"
)

func newPlugin(o *options) *cobra.Command {
	cmd := &cobra.Command{Use: "plugin", Short: "Look after plugins", Args: noVerb, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	serve := &cobra.Command{
		Use: "serve KIND TYPE NAME", Short: "Be a built-in plugin, for the daemon that starts it", Hidden: true, Args: cobra.ExactArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			value, err := daemon.Builtin(args[0], args[1], args[2])
			if err != nil {
				return err
			}
			sdk.Serve(value, sdk.WithName(args[1]), sdk.WithVersion(version))
			return nil
		},
	}
	list := o.listing(&cobra.Command{
		Use: "list", Short: "List the plugins of this host's agent, or of the server, and how each is", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows := []daemon.PluginRow{}
			if err := o.askHere(cmd.Context(), "plugins", nil, &rows); err != nil {
				return err
			}
			return o.print(cmd.OutOrStdout(), rows, func(w io.Writer) {
				out := make([][]string, 0, len(rows))
				for _, r := range rows {
					out = append(out, []string{r.Kind, r.Name, r.State, ago(r.Since), process(r.PID), r.Version, fmt.Sprint(r.Starts), fmt.Sprint(r.Deaths), r.Why})
				}
				columns(w, "KIND NAME STATE SINCE PID VERSION STARTS DEATHS WHY", out)
			})
		},
	})
	restart := &cobra.Command{
		Use: "restart KIND NAME", Short: "Start a plugin anew, also one that has failed; KIND and NAME are as the list shows them", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.askHere(cmd.Context(), "restart-plugin", daemon.PluginArgs{Kind: args[0], Name: args[1]}, nil); err != nil {
				return err
			}
			_, err := fmt.Fprintf(stdout(), "%s %s is ready\n", args[0], args[1])
			return err
		},
	}
	cmd.AddCommand(serve, list, restart, newPluginVerify(o))
	return cmd
}

// process is a plugin's, which has none while it is down or where it runs in the daemon.
func process(pid int) string {
	if pid == 0 {
		return ""
	}
	return fmt.Sprint(pid)
}

// askHere makes one call to this host's agent, or to the server where there is no agent.
func (o *options) askHere(ctx context.Context, verb string, in, out any) error {
	if _, name, ok := o.here(); ok {
		return o.askNode(ctx, name, verb, in, out)
	}
	return o.ask(ctx, verb, in, out)
}
