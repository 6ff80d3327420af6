package setup

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/plan"
	"github.com/weft-hpc/weft/plugins/flux/install"
)

func newInitFlux(o *cli.Options) *cobra.Command {
	i := install.Options{}
	var write, remove bool
	cmd := &cobra.Command{
		Use: "flux", Short: "Print or write the scriptlets, the shell plugin and the lines of configuration that Flux needs; or take them out", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if write && remove {
				return cli.Misuse(cmd, fmt.Errorf("init flux: give one of --write and --remove"))
			}
			if cmd.Flags().Changed("dir") {
				i.Dir = o.Dir
			}
			return initFlux(o, i, write, remove)
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
	f.BoolVar(&write, "write", false, "write what is shown")
	f.BoolVar(&remove, "remove", false, "take it out again")
	return o.Listing(cmd)
}

func initFlux(o *cli.Options, i install.Options, write, remove bool) error {
	if err := absolute(&i.Hook, &i.System, &i.Shell, &i.Dir); err != nil {
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
	if err := cli.Print(o, asFluxShown(p, done), func(w io.Writer, s shownFlux) { printFlux(w, s, remove) }); err != nil {
		return err
	}
	if p.Refused() {
		return cli.Exit(cli.ExitFailed, errors.New("init flux: a finding refuses; nothing was changed"))
	}
	return nil
}

// shownFlux is a plan as JSON.
type shownFlux struct {
	Findings []plan.Finding `json:"findings"`
	Notes    []string       `json:"notes"`
	Lines    string         `json:"lines"`
	Changes  []shownChange  `json:"changes"`
	Done     bool           `json:"done"`
}

func asFluxShown(p *install.Plan, done bool) shownFlux {
	s := shownFlux{Findings: append([]plan.Finding{}, p.Findings...), Notes: append([]string{}, p.Notes...), Lines: p.Lines, Done: done, Changes: []shownChange{}}
	for _, c := range p.Changes {
		s.Changes = append(s.Changes, shownChange{c.Path, c.What(), string(c.Text), c.Gone})
	}
	return s
}

func printFlux(w io.Writer, p shownFlux, remove bool) {
	for _, f := range p.Findings {
		fmt.Fprintf(w, "%-8s %s: %s\n%-8s -> %s\n", f.Level, f.Setting, f.What, "", f.Remedy)
	}
	for _, n := range p.Notes {
		fmt.Fprintln(w, "warning  "+n)
	}
	printChanges(w, p.Changes, p.Done)
	if len(p.Notes) > 0 {
		fmt.Fprintln(w, "\nFlux's configuration needs:")
		for line := range strings.Lines(p.Lines) {
			fmt.Fprint(w, "  | "+line)
		}
	}
	switch {
	case len(p.Changes) == 0 && remove:
		fmt.Fprintln(w, "Nothing of Weft's is there.")
	case len(p.Changes) == 0:
		fmt.Fprintln(w, "Everything is in place already.")
	case !p.Done:
		fmt.Fprintln(w, "\nNothing is changed yet.")
	case remove:
		fmt.Fprintln(w, "\nNow run `flux config reload` on every broker, and remove the files from the other nodes too.")
	default:
		fmt.Fprintln(w, "\nBring the files to every node, at the same paths; see that the agents run; then run `flux config reload` on every broker.")
	}
}
