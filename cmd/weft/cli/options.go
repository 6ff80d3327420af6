// Package cli is what the verbs share: their options and output, how they ask server and agents, and how a command line ends.
package cli

import (
	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/core"
)

// DefaultDir is where `weft dev` puts its sockets.
const DefaultDir = "weft.dev"

// DaemonDir is where the daemons put theirs.
const DaemonDir = "/run/weft"

// Options are the flags that all verbs share.
type Options struct {
	Dir      string
	Output   string
	Version  string
	Coloured bool // the verb sees itself that a terminal obeys nothing that came from elsewhere
}

// Listing gives cmd the flag -o.
func (o *Options) Listing(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVarP(&o.Output, "output", "o", "table", "table or json")
	_ = cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions([]string{"table", "json"}, cobra.ShellCompDirectiveNoFileComp))
	run := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if o.Output != "table" && o.Output != "json" {
			return Misuse(cmd, "output %q: it is neither table nor json", core.Clip(o.Output))
		}
		return run(cmd, args)
	}
	return cmd
}
