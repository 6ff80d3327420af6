package daemon

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
)

func NewReload(o *cli.Options) *cobra.Command {
	return o.Listing(&cobra.Command{
		Use: "reload", Short: "Load config.hcl and the policy files without a restart", Args: cobra.NoArgs,
		Long: `Put config.hcl and the policy files in force in the daemons of this host: the
server, the agent, or both. No job is dropped. Each daemon reports its changes,
and the changes that need a restart. After any error, the old files stay in
force as a whole.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			rows, away := o.Reload(cmd.Context())
			if away != nil && len(rows) == 0 {
				return away
			}
			if err := cli.Print(o, rows, func(w io.Writer, rows []cli.ReloadRow) {
				for _, r := range rows {
					cli.Show(r.Findings)
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
					return cli.Usage("reload: %s: nothing was changed; the configuration from before stays in force", r.Daemon)
				}
			}
			return away
		},
	})
}
