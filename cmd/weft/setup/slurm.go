package setup

import (
	"cmp"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/plan"
	"github.com/weft-hpc/weft/plugins/slurm/install"
)

func newInitSlurm(o *cli.Options) *cobra.Command {
	i := install.Options{}
	var write, remove bool
	cmd := &cobra.Command{
		Use: "slurm", Short: "Look at slurm.conf, and print or write the lines and hook files that Weft needs; or take them out", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			switch {
			case write && remove:
				return cli.Misuse(cmd, fmt.Errorf("init slurm: give one of --write and --remove"))
			case i.Files && remove:
				return cli.Misuse(cmd, fmt.Errorf("init slurm: --files goes with --write; --remove takes the hook files when slurm.conf names them no more"))
			}
			if cmd.Flags().Changed("dir") {
				i.Dir = o.Dir
			}
			return initSlurm(o, i, write, remove)
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
	f.BoolVar(&write, "write", false, "write what is shown")
	f.BoolVar(&i.Files, "files", false, "leave slurm.conf as it is: show or write the hook files alone, to have them on every node first")
	f.BoolVar(&remove, "remove", false, "take it out again")
	return o.Listing(cmd)
}

func initSlurm(o *cli.Options, i install.Options, write, remove bool) error {
	if err := absolute(&i.Hook, &i.Conf, &i.Hooks, &i.Dir); err != nil {
		return err
	}
	build := install.New
	if remove {
		build = install.Removal
	}
	p, err := build(i)
	if err != nil {
		return err
	}
	done := (write || remove) && !p.Refused()
	if err := carryOut(p, done); err != nil {
		return err
	}
	if err := cli.Print(o, asShown(p, done), func(w io.Writer, s shownPlan) { printPlan(w, p, s, remove, i.Files) }); err != nil {
		return err
	}
	if p.Refused() {
		return cli.Exit(cli.ExitFailed, fmt.Errorf("init slurm: %s: %s; nothing was changed", i.Conf, refusals(p)))
	}
	return nil
}

func refusals(p *install.Plan) string {
	n, first := 0, ""
	for _, f := range p.Findings {
		if f.Level == plan.Refusal {
			n++
			first = cmp.Or(first, f.Setting+": "+f.What)
		}
	}
	if n == 1 {
		return first
	}
	return fmt.Sprintf("%d findings refuse: %s …", n, first)
}

// shownPlan is a plan as JSON.
type shownPlan struct {
	Findings []plan.Finding `json:"findings"`
	Lines    []string       `json:"lines"`
	Replaced []string       `json:"replaced"`
	Changes  []shownChange  `json:"changes"`
	Files    []string       `json:"files"`
	Done     bool           `json:"done"`
}

func asShown(p *install.Plan, done bool) shownPlan {
	s := shownPlan{Findings: p.Findings, Lines: p.Lines, Replaced: p.Replaced, Files: p.Files, Done: done, Changes: []shownChange{}}
	for _, c := range p.Changes {
		s.Changes = append(s.Changes, shownChange{c.Path, c.What(), string(c.Text), c.Site || c.Gone})
	}
	for _, list := range []*[]string{&s.Lines, &s.Replaced, &s.Files} {
		if *list == nil {
			*list = []string{}
		}
	}
	if s.Findings == nil {
		s.Findings = []plan.Finding{}
	}
	return s
}

func printPlan(w io.Writer, p *install.Plan, s shownPlan, remove, files bool) {
	for _, f := range p.Findings {
		place := f.Place()
		if place != "" {
			place = " (" + place + ")"
		}
		fmt.Fprintf(w, "%-8s %s%s: %s\n", f.Level, f.Setting, place, f.What)
		if f.Remedy != "" {
			fmt.Fprintf(w, "%-8s %s\n", "", "-> "+f.Remedy)
		}
	}
	if len(p.Replaced) > 0 {
		fmt.Fprintln(w, "\nThese lines become comments:")
		for _, l := range p.Replaced {
			fmt.Fprintln(w, "  "+l)
		}
	}
	if len(p.Lines) > 0 {
		fmt.Fprintln(w, "\nThese lines stand at the end of slurm.conf:")
		for _, l := range p.Lines {
			fmt.Fprintln(w, "  "+l)
		}
	}
	printOutcome(w, p, s, remove, files)
}

func printOutcome(w io.Writer, p *install.Plan, s shownPlan, remove, files bool) {
	if len(p.Findings) > 0 {
		fmt.Fprintln(w)
	}
	if len(p.Changes) == 0 {
		if remove {
			fmt.Fprintln(w, "Nothing of Weft's is there.")
		} else {
			fmt.Fprintln(w, "Everything is in place already.")
		}
		return
	}
	printChanges(w, s.Changes, s.Done)
	switch {
	case !s.Done:
		fmt.Fprintln(w, "\nNothing is changed yet.")
	case remove && len(p.Files) > 0:
		fmt.Fprintln(w, "\nThese hook files stay until Slurm has read slurm.conf without them, since it drains a node whose Prolog it cannot find:")
		for _, path := range p.Files {
			fmt.Fprintln(w, "  "+path)
		}
		fmt.Fprintf(w, "\nNow run `scontrol reconfigure`; then this again, here and on every node, with --hooks %s.\n", filepath.Dir(p.Files[0]))
	case remove:
		fmt.Fprintln(w, "\nRun this on every node that has the hook files; then Weft itself can go.")
	case files:
		fmt.Fprintln(w, "\nWhen every node has the hook files, at the same paths, and its agent runs, slurm.conf may name them: run this without --files.")
	default:
		fmt.Fprintln(w, "\nRun `scontrol reconfigure` now: new steps obey TaskProlog already, and fail where no Prolog has run for their job. Every node needs the hook files, at the same paths, and its agent.")
	}
}
