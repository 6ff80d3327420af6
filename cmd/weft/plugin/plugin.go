// Package plugin holds the verbs about plugins.
package plugin

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/daemon/plugin"
	"github.com/weft-hpc/weft/sdk"
)

func New(o *cli.Options) *cobra.Command {
	serve := &cobra.Command{
		Use: "serve KIND TYPE NAME", Short: "Run a built-in plugin for its daemon", Hidden: true, Args: cobra.ExactArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			value, err := plugin.Builtin(args[0], args[1], args[2])
			if err != nil {
				return err
			}
			sdk.Serve(value, sdk.WithName(args[1]), sdk.WithVersion(o.Version))
			return nil
		},
	}
	list := o.Listing(&cobra.Command{
		Use: "list", Short: "List the plugins of this host's agent or server, and their states", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows := []plugin.Row{}
			if err := o.AskHere(cmd.Context(), "plugins", nil, &rows); err != nil {
				return err
			}
			return cli.Print(o, rows, printPlugins)
		},
	})
	restart := &cobra.Command{
		Use: "restart KIND NAME", Short: "Restart a plugin, by its KIND and NAME in the list", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.AskHere(cmd.Context(), "restart-plugin", plugin.Args{Kind: args[0], Name: args[1]}, nil); err != nil {
				return err
			}
			_, err := fmt.Printf("%s %s is ready\n", args[0], args[1])
			return err
		},
	}
	return cli.Holder("plugin", "List, restart and test plugins", serve, list, restart, newPluginVerify(o))
}

func printPlugins(w io.Writer, rows []plugin.Row) {
	cli.Table(w, "KIND NAME STATE SINCE PID VERSION STARTS DEATHS LIMIT WHY", rows, func(r plugin.Row) []string {
		process := "" // a plugin has none while it is down or where it runs in the daemon
		if r.PID != 0 {
			process = fmt.Sprint(r.PID)
		}
		return []string{r.Kind, r.Name, r.State, cli.Ago(r.Since), process, r.Version, fmt.Sprint(r.Starts), fmt.Sprint(r.Deaths), r.Limit, r.Why}
	})
}
