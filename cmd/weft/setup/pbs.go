package setup

import (
	"context"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/adapters"
	"github.com/weft-hpc/weft/plugins/pbs"
	"github.com/weft-hpc/weft/plugins/pbs/install"
)

type pbsInit struct {
	install.Options
	exec   string // PBS_EXEC
	config cli.ConfigFlag
	noRoom bool
	mode
}

func newInitPBS(o *cli.Options) *cobra.Command {
	i := pbsInit{}
	cmd := &cobra.Command{
		Use: "pbs", Short: "Print, write or remove the hook file and configuration for PBS", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := i.mode.check(cmd); err != nil {
				return err
			}
			if cmd.Flags().Changed("dir") {
				i.Agent = o.Dir
			}
			return initPBS(cmd.Context(), o, i)
		},
	}
	cmd.Long = `Look for conflicts between PBS and Weft. Show the hook file, its configuration,
and the lines that an administrator gives to qmgr.

Run it as root on pbs_server's host. Nothing changes without --write, which
writes the files, and the lines for qmgr to install.qmgr. A second --write
changes nothing. Weft never changes PBS itself: PBS keeps its own copies of the
files, and the lines for qmgr install these copies and the hooks.

--remove removes the files, and shows the lines that remove the hooks from PBS.
It changes nothing if one of the files was edited by hand.

Exit codes:
  0  no finding refuses the change; --write or --remove is done
  1  a finding refuses the change, and nothing has changed
  2  wrong usage`
	f := cmd.Flags()
	f.StringVar(&i.Options.Dir, "files", "/etc/weft/pbs", "folder of the files, on pbs_server's host")
	f.StringVar(&i.Scheduler, "scheduler", "pbs",
		"label of the scheduler in config.hcl, or its type if that is unique")
	f.StringVar(&i.Hook, "weft-hook", "",
		"path of weft-hook on every node and on pbs_server's host (default: "+libexecHook+", or the folder of weft)")
	f.StringVar(&i.Server, "server-dir", filepath.Join(filepath.Dir(config.DefaultServerSocket), adapters.HooksFolder),
		"folder where the Weft server listens for hooks of pbs_server, next to its socket")
	f.BoolVar(&i.noRoom, "no-room", false,
		"runjob does not check for a free VNI: for a Weft server on another host than pbs_server")
	f.StringVar(&i.exec, "exec", "/opt/pbs", "PBS_EXEC, the folder with bin/qmgr")
	i.config.Flags(cmd)
	i.flags(cmd, "write the files", "remove the files again")
	return o.Listing(cmd)
}

func initPBS(ctx context.Context, o *cli.Options, i pbsInit) error {
	if err := absolute(&i.Hook, &i.Options.Dir, &i.Agent, &i.Server, &i.exec); err != nil {
		return err
	}
	declared, err := ownSite(&i.config)
	if err != nil {
		return err
	}
	i.Room, i.Resources = !i.noRoom, pbs.Installed()
	adapter := pbs.New(i.Scheduler)
	if err := adapter.Configure(ctx, core.Values{"exec": i.exec}); err != nil {
		return err
	}
	site, err := install.Ask(ctx, adapter.Qmgr)
	if err != nil {
		site = nil // what it says is in the plan's findings
	}
	build, g := install.New, guide{
		none: "The files are in place already.",
		next: "See that weft-hook and the agents are on every node; then run `qmgr < " +
			filepath.Join(i.Options.Dir, "install.qmgr") + "`. Lines that qmgr has already may stay.",
	}
	if i.remove {
		build, g = install.Removal, guide{
			none: "None of Weft's files is there.",
			next: "Now give these lines to qmgr. A resource that a job names, also one of PBS's history, " +
				"cannot go yet, and harms nobody.",
		}
	}
	p, err := build(i.Options, site)
	if err != nil {
		return err
	}
	if !i.remove {
		labelled(&p.Plan, declared, "pbs", i.Scheduler)
	}
	g.sections = []section{{"For qmgr, as root on pbs_server's host:", p.Lines}}
	return carryOut(o, "pbs", p.Plan, i.mode, g, shown{Lines: append([]string{}, p.Lines...)})
}
