package setup

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/plan"
	"github.com/weft-hpc/weft/plugins/slurm/install"
)

func newInitSlurm(o *cli.Options) *cobra.Command {
	i := install.Options{}
	m := mode{}
	cmd := &cobra.Command{
		Use: "slurm", Short: "Look at slurm.conf, and print or write the lines and hook files that Weft needs; or take them out", Args: cobra.NoArgs,
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
			return initSlurm(o, i, m)
		},
	}
	cmd.Long = `Look at slurm.conf for what stands in Weft's way, and show the lines it would get and the hook files that every node needs.

Nothing is changed without --write, which puts Weft's lines into a marked block, makes comments of the lines they replace, and keeps what the
file was as slurm.conf` + plan.Backup + `. A Prolog, TaskProlog or Epilog of the site's stays in force: the hook files run it too. Writing twice changes nothing.
--remove takes out again what --write put in, byte for byte, and changes nothing when any of it was edited by hand.

The hook files must be on every node, at the same path, before the lines are in slurm.conf, and may go only after Slurm has read it without
them: Slurm drains a node whose Prolog it cannot find. So --write --files writes the hook files alone; and --remove takes out the lines, and
the hook files when it is run again after ` + "`scontrol reconfigure`" + `. Run that at once after --write: a new step obeys TaskProlog as soon as the line is in
slurm.conf, and Prolog runs only from then on.

Exit codes: 0 nothing stands in the way, and with --write or --remove it is done; 1 a finding refuses, and nothing was changed; 2 wrong usage, a
slurm.conf that cannot be read, or one in which Weft's own lines were edited.`
	f := cmd.Flags()
	f.StringVar(&i.Conf, "conf", "/etc/slurm/slurm.conf", "path of slurm.conf")
	f.StringVar(&i.Hooks, "hooks", "/etc/weft/slurm", "folder of the hook files, on every node")
	f.StringVar(&i.Scheduler, "scheduler", "", "the scheduler's label in config.hcl (default: what the hook files there say, or slurm, its type, while that is unique)")
	f.StringVar(&i.Hook, "weft-hook", "", "path of weft-hook on every node (default: "+libexecHook+", or beside weft)")
	f.BoolVar(&i.Alloc, "alloc", false, "set PrologFlags=Alloc too, so that Prolog runs on each node as soon as a job gets it")
	f.BoolVar(&i.Files, "files", false, "leave slurm.conf as it is: show or write the hook files alone, to have them on every node first")
	m.flags(cmd, "write what is shown", "take it out again")
	return o.Listing(cmd)
}

func initSlurm(o *cli.Options, i install.Options, m mode) error {
	if err := absolute(&i.Hook, &i.Conf, &i.Hooks, &i.Dir); err != nil {
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
	g := guide{none: none, next: afterSlurm(p, m.remove, i.Files), sections: []section{
		{"These lines become comments:", p.Replaced},
		{"These lines stand at the end of slurm.conf:", p.Lines},
	}}
	return carryOut(o, "slurm: "+i.Conf, p.Plan, m, g, func(s shown) any {
		return struct {
			shown
			Lines    []string `json:"lines"`
			Replaced []string `json:"replaced"`
			Files    []string `json:"files"`
		}{s, append([]string{}, p.Lines...), append([]string{}, p.Replaced...), append([]string{}, p.Files...)}
	})
}

// afterSlurm says what to do once a plan is carried out.
func afterSlurm(p *install.Plan, remove, files bool) string {
	switch {
	case remove && len(p.Files) > 0:
		return "These hook files stay until Slurm has read slurm.conf without them, since it drains a node whose Prolog " +
			"it cannot find:\n  " + strings.Join(p.Files, "\n  ") + "\n\nNow run `scontrol reconfigure`; then this again, " +
			"here and on every node, with --hooks " + filepath.Dir(p.Files[0]) + "."
	case remove:
		return "Run this on every node that has the hook files; then Weft itself can go."
	case files:
		return "When every node has the hook files, at the same paths, and its agent runs, slurm.conf may name them: " +
			"run this without --files."
	}
	return "Run `scontrol reconfigure` now: new steps obey TaskProlog already, and fail where no Prolog has run for their job. " +
		"Every node needs the hook files, at the same paths, and its agent."
}
