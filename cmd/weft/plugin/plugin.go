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
	cmd := &cobra.Command{Use: "plugin", Short: "Look after plugins", Args: cli.NoVerb, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	serve := &cobra.Command{
		Use: "serve KIND TYPE NAME", Short: "Be a built-in plugin, for the daemon that starts it", Hidden: true, Args: cobra.ExactArgs(3),
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
		Use: "list", Short: "List the plugins of this host's agent, or of the server, and how each is", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows := []plugin.Row{}
			if err := o.AskHere(cmd.Context(), "plugins", nil, &rows); err != nil {
				return err
			}
			return o.Print(cmd.OutOrStdout(), rows, func(w io.Writer) {
				out := make([][]string, 0, len(rows))
				for _, r := range rows {
					out = append(out, []string{r.Kind, r.Name, r.State, cli.Ago(r.Since), process(r.PID), r.Version, fmt.Sprint(r.Starts), fmt.Sprint(r.Deaths), r.Why})
				}
				cli.Columns(w, "KIND NAME STATE SINCE PID VERSION STARTS DEATHS WHY", out)
			})
		},
	})
	restart := &cobra.Command{
		Use: "restart KIND NAME", Short: "Start a plugin anew, also one that has failed; KIND and NAME are as the list shows them", Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.AskHere(cmd.Context(), "restart-plugin", plugin.Args{Kind: args[0], Name: args[1]}, nil); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cli.Stdout(), "%s %s is ready\n", args[0], args[1])
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
