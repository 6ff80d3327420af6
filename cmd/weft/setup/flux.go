package setup

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/plugins/flux/install"
)

func newInitFlux(o *cli.Options) *cobra.Command {
	i := install.Options{}
	m := mode{}
	cmd := &cobra.Command{
		Use: "flux", Short: "Print or write the scriptlets, the shell plugin and the lines of configuration that Flux needs; or take them out", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := m.check(cmd); err != nil {
				return err
			}
			if cmd.Flags().Changed("dir") {
				i.Dir = o.Dir
			}
			return initFlux(o, i, m)
		},
	}
	cmd.Long = `Print the prolog, epilog and housekeeping scriptlets that every node needs, the plugin of Flux's job shell, and the lines of Flux's configuration.

Nothing is changed without --write, and writing twice changes nothing. The lines go into a file of their own, conf.d/weft.toml, unless another file there
has a table job-manager already: they are then to be brought in by hand. --remove takes out what --write put in, and changes nothing when any of it was
edited by hand.

The files must be on every node, at the same paths, before Flux reads its configuration.

Exit codes: 0 nothing stands in the way, and with --write or --remove it is done; 1 a finding refuses, and nothing was changed; 2 wrong usage, or a file
that cannot be read.`
	f := cmd.Flags()
	f.StringVar(&i.System, "system", "/etc/flux/system", "folder of Flux's scriptlets and configuration")
	f.StringVar(&i.Shell, "shell", "/etc/flux/shell/lua.d", "folder of the job shell's plugins")
	f.StringVar(&i.Scheduler, "scheduler", "flux", "the scheduler's label in config.hcl, or flux, its type, while that is unique")
	f.StringVar(&i.Slurm, "slurm", "slurm", "the same for Slurm, for Flux instances that Slurm starts")
	f.StringVar(&i.Hook, "weft-hook", "", "path of weft-hook on every node (default: "+libexecHook+", or beside weft)")
	f.StringVar(&i.URI, "uri", "local:///run/flux/local", "the system instance's socket on every node")
	f.DurationVar(&i.Wait, "wait", 10*time.Minute, "how long a prolog waits for what Weft cannot give now: its server is away, or no VNI is free")
	f.DurationVar(&i.Try, "prolog-timeout", 5*time.Minute, "how long one try of it may take: prolog_timeout of the scheduler's block in config.hcl")
	m.flags(cmd, "write what is shown", "take it out again")
	return o.Listing(cmd)
}

func initFlux(o *cli.Options, i install.Options, m mode) error {
	if err := absolute(&i.Hook, &i.System, &i.Shell, &i.Dir); err != nil {
		return err
	}
	build, g := install.New, guide{
		none: "Everything is in place already.",
		next: "Bring the files to every node, at the same paths; see that the agents run; " +
			"then run `flux config reload` on every broker.",
	}
	if m.remove {
		build, g = install.Removal, guide{
			none: "Nothing of Weft's is there.",
			next: "Now run `flux config reload` on every broker, and remove the files from the other nodes too.",
		}
	}
	p, err := build(i)
	if err != nil {
		return err
	}
	if p.ByHand {
		g.sections = []section{{"Flux's configuration needs:", indented(p.Lines)}}
	}
	return carryOut(o, "flux", p.Plan, m, g, func(s shown) any {
		return struct {
			shown
			Lines string `json:"lines"`
		}{s, p.Lines}
	})
}

func indented(text string) []string {
	var out []string
	for line := range strings.Lines(text) {
		out = append(out, "| "+strings.TrimSuffix(line, "\n"))
	}
	return out
}
