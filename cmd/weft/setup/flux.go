package setup

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/plugins/flux/install"
)

func newInitFlux(o *cli.Options) *cobra.Command {
	i := install.Options{}
	m := mode{}
	var file cli.ConfigFlag
	cmd := &cobra.Command{
		Use: "flux", Short: "Print, write or remove the files and configuration for Flux", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := m.check(cmd); err != nil {
				return err
			}
			if cmd.Flags().Changed("dir") {
				i.Dir = o.Dir
			}
			site, err := ownSite(&file)
			if err != nil {
				return err
			}
			return initFlux(o, site, i, m)
		},
	}
	cmd.Long = `Print the files that Flux needs on every node: the prolog and epilog
scriptlets, the plugin of the job shell, and the lines of the configuration.

Nothing changes without --write, and a second --write changes nothing. The
lines go into their own file, conf.d/weft.toml. If another file there has a
table job-manager, add the lines to it by hand. --remove removes everything
that --write wrote. It changes nothing if any of it was edited by hand.

The files must be on every node, at the same paths, before Flux reads its
configuration.

Exit codes:
  0  no finding refuses the change; --write or --remove is done
  1  a finding refuses the change, and nothing has changed
  2  wrong usage, or Weft cannot read a file`
	f := cmd.Flags()
	f.StringVar(&i.System, "system", "/etc/flux/system", "folder of Flux's scriptlets and configuration")
	f.StringVar(&i.Shell, "shell", "/etc/flux/shell/lua.d", "folder of the job shell's plugins")
	f.StringVar(&i.Scheduler, "scheduler", "flux",
		"label of the scheduler in config.hcl, or its type if that is unique")
	f.StringVar(&i.Hook, "weft-hook", "",
		"path of weft-hook on every node (default: "+libexecHook+", or the folder of weft)")
	f.StringVar(&i.URI, "uri", "local:///run/flux/local", "socket of the system instance on every node")
	f.DurationVar(&i.Wait, "wait", 10*time.Minute,
		"how long a prolog waits when the server does not answer or no VNI is free")
	f.DurationVar(&i.Try, "prolog-timeout", 5*time.Minute,
		"time limit of one try: prolog_timeout of the scheduler's block in config.hcl")
	file.Flags(cmd)
	m.flags(cmd, "write the files", "remove the files and lines again")
	return o.Listing(cmd)
}

func initFlux(o *cli.Options, site *config.Config, i install.Options, m mode) error {
	if err := absolute(&i.Hook, &i.System, &i.Shell, &i.Dir); err != nil {
		return err
	}
	build, g := install.New, guide{
		none: "Everything is in place already.",
		next: "Bring the files to every node, at the same paths; see that the agents run; " +
			"then run `flux config reload` as the instance's owner, on the host of its rank 0.",
	}
	if m.remove {
		build, g = install.Removal, guide{
			none: "Nothing of Weft's is there.",
			next: "Now run `flux config reload` as the instance's owner, on the host of its rank 0. " +
				"Remove the files from the other nodes too.",
		}
	}
	p, err := build(i)
	if err != nil {
		return err
	}
	if !m.remove {
		labelled(&p.Plan, site, "flux", i.Scheduler)
	}
	if p.ByHand {
		g.sections = []section{{"Flux's configuration needs:", indented(p.Lines)}}
	}
	return carryOut(o, "flux", p.Plan, m, g, shown{Lines: p.Lines})
}

func indented(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, "| "+strings.TrimSuffix(line, "\n"))
	}
	return out
}
