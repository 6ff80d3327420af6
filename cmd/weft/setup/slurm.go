package setup

import (
	"context"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/plan"
	"github.com/weft-hpc/weft/plugins/slurm"
	"github.com/weft-hpc/weft/plugins/slurm/install"
	"github.com/weft-hpc/weft/plugins/slurm/stack"
)

func newInitSlurm(o *cli.Options) *cobra.Command {
	i := install.Options{}
	m := mode{}
	spank := false
	var plugin, bin string
	var file cli.ConfigFlag
	cmd := &cobra.Command{
		Use: "slurm", Short: "Look at slurm.conf; print, write or remove Weft's files and lines", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := m.check(cmd); err != nil {
				return err
			}
			if i.Files && m.remove {
				return cli.Misuse(cmd, "init slurm: --files goes with --write; --remove takes the hook files when slurm.conf names them no more")
			}
			if cmd.Flags().Changed("dir") {
				i.Dir = o.Dir
			}
			site, err := ownSite(&file)
			if err != nil {
				return err
			}
			i.Observed = blockOf(cmd, site, i.Scheduler, map[string]*string{"bin": &bin, "conf": &i.Conf})
			if spank {
				i.Spank = &install.Spank{Plugin: plugin, Source: slurm.SpankSource(), Built: stack.Built, Prove: prover(cmd.Context(), bin, &i.Conf)}
			}
			return initSlurm(cmd.Context(), o, site, i, m, bin)
		},
	}
	cmd.Long = `Look for conflicts between slurm.conf and Weft. Show the lines for slurm.conf
and the hook files that every node needs.

Nothing changes without --write. It puts Weft's lines into a marked block,
turns the lines that they replace into comments, and keeps the previous file as
slurm.conf` + plan.Backup + `. A Prolog, TaskProlog or Epilog of the site stays in force:
the hook files run it too. A second --write changes nothing. --remove restores
the file byte for byte. It changes nothing if any of Weft's lines or files was
edited by hand.

Slurm drains a node whose Prolog it cannot find. So the order matters:
  - The hook files must be on every node, at the same path, before the lines
    are in slurm.conf. --write --files writes only the hook files.
  - Run ` + "`scontrol reconfigure`" + ` at once after --write. A new step obeys
    TaskProlog as soon as the line is in slurm.conf; Prolog runs only after
    the reconfigure.
  - The hook files must stay until Slurm has read slurm.conf without the
    lines. --remove removes the lines. Run it again after
    ` + "`scontrol reconfigure`" + ` to remove the hook files.

Where config.hcl can be read, --bin and --conf default to ` + "`bin` and `conf`" + ` of
the scheduler's block. Run this as root: Slurm's commands then run as the Weft
server does, and weft-hook as a job's user.

--spank installs the plugin of slurmstepd in place of Prolog and TaskProlog.
Hooks that are there stay. Nothing changes unless this host's Slurm loads the
plugin. The plugin must be on every node, and on every host from which users
submit, before the line is in plugstack.conf. --spank --write --files writes
the source of the plugin, ` + install.SourceFile + `. --remove takes the line out too.

While SwitchType=switch/hpe_slingshot stands, the lines are refused unless
config.hcl has ` + "`mode = \"observe\"`" + ` for the scheduler. The hook files are
not: --files --write also writes SwitchParameters as a pool of config.hcl
(switch.hcl) and as a policy (switch.policy.hcl) next to them.

Exit codes:
  0  no finding refuses the change; --write or --remove is done
  1  a finding refuses the change, and nothing has changed
  2  wrong usage, Weft cannot read slurm.conf, or Weft's lines in it were edited`
	f := cmd.Flags()
	f.StringVar(&i.Conf, "conf", "/etc/slurm/slurm.conf", "path of slurm.conf")
	f.StringVar(&i.Hooks, "hooks", "/etc/weft/slurm", "folder of the hook files, on every node")
	f.StringVar(&i.Scheduler, "scheduler", "",
		"label of the scheduler in config.hcl (default: the label in the hook files, or slurm if that type is unique)")
	f.StringVar(&i.Hook, "weft-hook", "",
		"path of weft-hook on every node (default: "+libexecHook+", or the folder of weft)")
	f.BoolVar(&i.Alloc, "alloc", false,
		"also set PrologFlags=Alloc: Prolog then runs on each node as soon as a job gets it")
	f.BoolVar(&i.Files, "files", false,
		"show or write only the hook files and leave slurm.conf as it is, to install the files on every node first")
	f.BoolVar(&spank, "spank", false, "use the SPANK plugin, by a line of plugstack.conf")
	f.StringVar(&plugin, "plugin", "/usr/lib64/weft/"+stack.File, "path of the SPANK plugin, on every host")
	f.StringVar(&bin, "bin", "/usr/bin", "folder of Slurm's commands, as `bin` in config.hcl")
	file.Flags(cmd)
	m.flags(cmd, "write the files and lines", "remove the files and lines again")
	return o.Listing(cmd)
}

func initSlurm(
	ctx context.Context, o *cli.Options, site *config.Config, i install.Options, m mode, bin string,
) error {
	paths := []*string{&i.Conf, &i.Hooks, &i.Dir}
	if i.Spank != nil {
		paths = append(paths, &i.Spank.Plugin)
	}
	if err := absolute(&i.Hook, paths...); err != nil {
		return err
	}
	build, none := install.New, "Everything is in place already."
	if m.remove {
		build, none = install.Removal, "Nothing of Weft's is there."
	}
	p, err := build(i)
	if err != nil {
		return err
	}
	if !m.remove {
		if i.Scheduler != "" {
			labelled(&p.Plan, site, "slurm", i.Scheduler)
		}
		served(&p.Plan, i.Dir)
		commands(ctx, &p.Plan, bin, i.Conf)
		runsAsUser(ctx, &p.Plan, i.Hook)
	}
	g := guide{none: none, next: afterSlurm(p, i, m.remove), sections: []section{
		{"These lines become comments:", p.Replaced},
		{"These lines stand at the end of slurm.conf:", p.Lines},
		{"These lines stand at the end of plugstack.conf:", p.Stack},
	}}
	return carryOut(o, "slurm: "+i.Conf, p.Plan, m, g, shown{
		Lines: append([]string{}, p.Lines...), Stack: p.Stack, Replaced: append([]string{}, p.Replaced...), Files: append([]string{}, p.Files...),
	})
}

// prover has the commands in bin prove that they load a plugin, and sees that they are of the release of the slurmd that
// runs here with that slurm.conf.
func prover(ctx context.Context, bin string, conf *string) func(path string, lines []string) (stack.Release, error) {
	return func(path string, lines []string) (stack.Release, error) {
		ctx, cancel := context.WithTimeout(ctx, proofLimit)
		defer cancel()
		r, err := stack.Prove(ctx, bin, path, lines)
		if err != nil {
			return 0, err
		}
		return r, stack.Alike(ctx, r, *conf)
	}
}

// proofLimit bounds what is run of Slurm.
const proofLimit = 10 * time.Second

func afterSlurm(p *install.Plan, i install.Options, remove bool) string {
	switch {
	case remove && len(p.Files) > 0:
		return "These hook files stay until Slurm has read slurm.conf without them, since it drains a node whose Prolog " +
			"it cannot find:\n  " + strings.Join(p.Files, "\n  ") + "\n\nNow run `scontrol reconfigure`; then this again, " +
			"here and on every node, with --hooks " + filepath.Dir(p.Files[0]) + "."
	case remove:
		return "Run this on every node that has the hook files; then Weft itself can go."
	case i.Files && i.Spank != nil:
		return "Compile the plugin once for each release of Slurm, where its slurm/spank.h is:\n  " + i.Compile() +
			"\n\nThen bring it to the login and submit hosts, and to every node with the hook files. Run this without --files when all have it."
	case i.Spank != nil:
		return "New steps obey plugstack.conf already. Run `scontrol reconfigure` now, for Epilog. Then run `weft doctor` on each node."
	case i.Files:
		return "When every node has the hook files, at the same paths, and its agent runs, slurm.conf may name them: " +
			"run this without --files."
	}
	return "Run `scontrol reconfigure` now: new steps obey TaskProlog already, and fail where no Prolog has run for their job. " +
		"Every node needs the hook files, at the same paths, and its agent."
}
