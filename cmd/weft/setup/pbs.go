package setup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/adapters"
	"github.com/weft-hpc/weft/plan"
	"github.com/weft-hpc/weft/plugins/pbs"
	"github.com/weft-hpc/weft/plugins/pbs/install"
)

// pbsInit is what `weft init pbs` is told.
type pbsInit struct {
	install.Options
	exec   string // PBS_EXEC
	noRoom bool
	write  bool
	remove bool
}

func newInitPBS(o *cli.Options) *cobra.Command {
	i := pbsInit{}
	cmd := &cobra.Command{
		Use: "pbs", Short: "Print or write PBS's hook file and its configuration, and show the lines for qmgr; or take them out", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if i.write && i.remove {
				return cli.Misuse(cmd, fmt.Errorf("init pbs: give one of --write and --remove"))
			}
			if cmd.Flags().Changed("dir") {
				i.Agent = o.Dir
			}
			return initPBS(cmd.Context(), o, i)
		},
	}
	cmd.Long = `Look at PBS for what stands in Weft's way, and show the hook file, its configuration, and the lines that an administrator gives to qmgr.

Run it as root on pbs_server's host. Nothing is changed without --write, which writes the files; PBS itself is never changed by this: it keeps its
own copies of the files and gets them, and its hooks, by the lines for qmgr, which are written to install.qmgr too. Writing twice changes nothing.
--remove takes the files out again, and changes nothing when one of them was edited by hand; it shows the lines that take the hooks out of PBS.

Exit codes: 0 nothing stands in the way, and with --write or --remove it is done; 1 a finding refuses, and nothing was changed; 2 wrong usage.`
	f := cmd.Flags()
	f.StringVar(&i.Options.Dir, "files", "/etc/weft/pbs", "folder of the files, on pbs_server's host")
	f.StringVar(&i.Scheduler, "scheduler", "pbs", "the scheduler's label in config.hcl, or its type while that is unique")
	f.StringVar(&i.Hook, "weft-hook", "", "path of weft-hook on every node and on pbs_server's host (default: "+libexecHook+", or beside weft)")
	f.StringVar(&i.Server, "server-dir", filepath.Join(filepath.Dir(config.DefaultServerSocket), adapters.HooksFolder), "where the Weft server listens for hooks of pbs_server: the folder "+adapters.HooksFolder+" beside its socket")
	f.BoolVar(&i.noRoom, "no-room", false, "do not ask in runjob whether a VNI is free: for a Weft server that is not on pbs_server's host")
	f.StringVar(&i.exec, "exec", "/opt/pbs", "PBS_EXEC, whose bin has qmgr")
	f.BoolVar(&i.write, "write", false, "write the files")
	f.BoolVar(&i.remove, "remove", false, "take them out again")
	return o.Listing(cmd)
}

func initPBS(ctx context.Context, o *cli.Options, i pbsInit) error {
	if err := absolute(&i.Hook, &i.Options.Dir, &i.Agent, &i.Server, &i.exec); err != nil {
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
	build := install.New
	if i.remove {
		build = install.Removal
	}
	p, err := build(i.Options, site)
	if err != nil {
		return err
	}
	done := (i.write || i.remove) && !p.Refused()
	if err := carryOut(p, done); err != nil {
		return err
	}
	if err := cli.Print(o, asShownPBS(p, done), func(w io.Writer, s shownPBS) { printPBS(w, s, i) }); err != nil {
		return err
	}
	if p.Refused() {
		return cli.Exit(cli.ExitFailed, errors.New("init pbs: a finding refuses; nothing was changed"))
	}
	return nil
}

// shownPBS is a plan as JSON.
type shownPBS struct {
	Findings []plan.Finding `json:"findings"`
	Lines    []string       `json:"lines"`
	Changes  []shownChange  `json:"changes"`
	Done     bool           `json:"done"`
}

func asShownPBS(p *install.Plan, done bool) shownPBS {
	s := shownPBS{Findings: p.Findings, Lines: p.Lines, Changes: []shownChange{}, Done: done}
	for _, c := range p.Changes {
		s.Changes = append(s.Changes, shownChange{c.Path, c.What(), string(c.Text), !strings.HasSuffix(c.Path, ".json")})
	}
	if s.Findings == nil {
		s.Findings = []plan.Finding{}
	}
	if s.Lines == nil {
		s.Lines = []string{}
	}
	return s
}

func printPBS(w io.Writer, p shownPBS, i pbsInit) {
	for _, f := range p.Findings {
		fmt.Fprintf(w, "%-8s %s: %s\n", f.Level, f.Setting, f.What)
		if f.Remedy != "" {
			fmt.Fprintf(w, "%-8s -> %s\n", "", f.Remedy)
		}
	}
	printChanges(w, p.Changes, p.Done)
	switch {
	case len(p.Changes) > 0:
	case i.remove:
		fmt.Fprintln(w, "None of Weft's files is there.")
	default:
		fmt.Fprintln(w, "The files are in place already.")
	}
	if len(p.Lines) > 0 {
		fmt.Fprintln(w, "\nFor qmgr, as root on pbs_server's host:")
		for _, l := range p.Lines {
			fmt.Fprintln(w, "  "+l)
		}
	}
	switch {
	case !p.Done:
		fmt.Fprintln(w, "\nNothing is changed yet.")
	case i.remove && len(p.Lines) > 0:
		fmt.Fprintln(w, "\nNow give these lines to qmgr. A resource that a job names, also one of PBS's history, cannot go yet, and harms nobody.")
	case !i.remove:
		fmt.Fprintln(w, "\nSee that weft-hook and the agents are on every node; then run `qmgr < "+filepath.Join(i.Options.Dir, "install.qmgr")+"`. What qmgr says is there already may stay.")
	}
}
