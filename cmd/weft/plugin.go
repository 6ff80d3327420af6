package main

import (
	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/daemon"
	"github.com/weft-hpc/weft/sdk"
)

func newPlugin() *cobra.Command {
	cmd := &cobra.Command{Use: "plugin", Short: "Look after plugins", Args: noVerb, RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	serve := &cobra.Command{
		Use: "serve KIND TYPE NAME", Short: "Be a built-in plugin, for the daemon that starts it", Hidden: true, Args: cobra.ExactArgs(3),
		RunE: func(_ *cobra.Command, args []string) error {
			value, err := daemon.Builtin(args[0], args[1], args[2])
			if err != nil {
				return err
			}
			sdk.Serve(value, sdk.WithName(args[1]))
			return nil
		},
	}
	cmd.AddCommand(serve)
	return cmd
}
