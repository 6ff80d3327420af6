package node

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev"
)

// What an examination may take; a scheduler's health check waits less long than a person.
const (
	doctorTime = 20 * time.Second
	healthTime = 8 * time.Second
	doctorMost = 5 * time.Minute
)

// exitUnexamined is the exit code of a call that was refused or went nowhere.
const exitUnexamined = 3

func NewDoctor(o *cli.Options) *cobra.Command {
	var node, path string
	var health, all, trial bool
	var report reportArgs
	var limit time.Duration
	cmd := o.Listing(&cobra.Command{
		Use: "doctor", Short: "Look for faults of a node, and show their remedies", Args: cobra.NoArgs,
		Long: `Look for faults of a node: of its NICs, of the services on them, of the agent
and its files, and those that the plugins find. On the server's host, look at
the server's files, too. Each finding has a severity, its evidence, and the
command that fixes it. Only root may use this verb on a node.

Exit codes:
  0  there is no fault
  1  the worst fault is a warning
  2  the worst fault is critical, or the agent does not answer; or wrong usage
  3  nothing was examined: the caller may not, or there is no such node

With --deep, a process without any rights opens a service on each NIC, as an
application does. The process is a job of the scheduler of type local. So the
policy decides what it gets, the server gives it a VNI that no other job has,
and Weft removes its services when it ends.

With --report FILE --nic NIC, make services on a NIC, try them, remove them, and
compare each answer with the sources of the driver's release. The VNIs are ones
that no pool and no service of config.hcl has. FILE names no user and no host.
Send it to the makers of Weft on the first day with real NICs. The agent need
not run. A NIC with jobs is refused without --with-jobs. The exit code is 1 when
an answer differs, or when a service could not be removed.

With --health, it prints one line within --limit, for a scheduler's health
check. It exits with 1 when a fault is critical or the agent does not answer,
and otherwise with 0. A warning does not fail the check, because it must not
drain a whole system.

With --all, the server asks every node. The table has one line for nodes with
the same worst finding, the worst first. Only root and the members of
admin_group may do this.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !cmd.Flags().Changed("limit") {
				limit = doctorTime
				if health {
					limit = healthTime
				}
			}
			if limit < time.Second || limit > doctorMost {
				return cli.Misuse(cmd, "doctor: limit %s: it must be 1s to %s", limit, doctorMost)
			}
			if report.file != "" || report.nic != "" || report.jobs {
				if report.file == "" || report.nic == "" || health || trial || all || node != "" {
					return cli.Misuse(cmd, "doctor: --report FILE and --nic NIC go together, with --with-jobs and --config alone")
				}
				if report.file == "-" {
					return cli.Misuse(cmd, "doctor: --report: FILE is a new file that only root can read, not standard output")
				}
				report.config = path
				if !cmd.Flags().Changed("limit") {
					limit = doctorMost // the queues of an LNI may drain for seconds
				}
				ctx, cancel := context.WithTimeout(cmd.Context(), limit)
				defer cancel()
				return report.write(ctx, o)
			}
			if all {
				if health || trial || node != "" {
					return cli.Misuse(cmd, "doctor: --all is of every node; leave out --node, --health and --deep")
				}
				return doctorAll(cmd.Context(), o, limit)
			}
			if health && cmd.Flags().Changed("output") {
				return cli.Misuse(cmd, "doctor: --health is one line; leave out --output")
			}
			if health && trial {
				return cli.Misuse(cmd, "doctor: --deep starts a job, which a health check must not; leave out --health")
			}
			_, _, at, err := o.JobHere(nil, node)
			if err != nil {
				return err
			}
			var rows []agent.FindingRow
			switch {
			case at != "":
				rows, err = examine(cmd.Context(), o, at, limit, path)
				if trial && err == nil && !slices.ContainsFunc(rows, func(r agent.FindingRow) bool { return r.Of == "agent" }) {
					rows = withTrial(cmd.Context(), o, at, limit, path, rows)
				}
			case manyNodes(o):
				return cli.Misuse(cmd, "doctor: no agent is here: --node is missing")
			case !serverHere(o):
				evidence := "no agent has started in " + o.Dir + " since this host booted"
				if o.Begun() {
					evidence = "the agent in " + o.Dir + " is still starting, or ended before it was ready"
				}
				rows = away(evidence, path)
			}
			if err == nil && node == "" && !health && serverHere(o) {
				var more []agent.FindingRow
				more, err = examineServer(cmd.Context(), o, limit, path)
				rows = append(rows, more...)
			}
			slices.SortStableFunc(rows, func(a, b agent.FindingRow) int { return cmp.Compare(rank(b), rank(a)) })
			if err != nil && health { // who runs a health check shows its one line as the reason, and nothing else
				rows, err = []agent.FindingRow{{Severity: core.Critical.String(), What: core.AsError(err).Line()}}, nil
			}
			if err != nil {
				return unexamined(err)
			}
			if health {
				return printHealth(os.Stdout, rows)
			}
			if err := cli.Print(o, rows, printFindings); err != nil {
				return err
			}
			if code := worst(rows); code > 0 {
				return cli.Exit(code, nil)
			}
			return nil
		},
	})
	o.NodeFlag(cmd, &node, "check this node (default: the node of this host's agent)")
	cmd.Flags().BoolVar(&all, "all", false, "check every node")
	cmd.Flags().StringVar(&path, "config", cli.DefaultConfig, "configuration of a daemon that does not answer")
	cmd.Flags().BoolVar(&health, "health", false, "print one line and exit with 0 or 1, for a health check")
	cmd.Flags().BoolVar(&trial, "deep", false, "also open a service on each NIC, as a user's application does")
	report.flags(cmd)
	cmd.Flags().DurationVar(&limit, "limit", doctorTime, "time limit; 8s with --health, 5m with --report")
	return cmd
}

// unexamined gives an error a code that is no severity's; wrong usage keeps its own.
func unexamined(err error) error {
	if cli.ExitCode(err) != cli.ExitFailed {
		return err
	}
	return cli.Exit(exitUnexamined, err)
}

// examine asks the agent. One that does not answer is the finding; a caller who may not ask is an error.
func examine(ctx context.Context, o *cli.Options, node string, limit time.Duration, path string) ([]agent.FindingRow, error) {
	if _, err := o.Socket(node); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	rows := []agent.FindingRow{}
	err := o.AskNode(ctx, node, "doctor", agent.DoctorArgs{Limit: limit - limit/10}, &rows)
	if err == nil {
		return rows, nil
	}
	if e := core.AsError(err); e.Reason == core.NotAllowed || e.Reason == core.BadCall {
		return nil, err
	}
	return away(core.AsError(err).What, path), nil
}

func away(evidence, path string) []agent.FindingRow {
	return append([]agent.FindingRow{{
		Severity: core.Critical.String(), Of: "agent", What: "the agent does not answer: no job can start on this node", Evidence: evidence,
		Remedy: "`systemctl restart weft-agent`, which touches no job; then `journalctl -u weft-agent`",
	}}, unbelieved(path, "agent", config.OfAgent)...)
}

// manyNodes reports whether the folder is that of a simulated system, or of none: which node is meant must be said there.
func manyNodes(o *cli.Options) bool {
	if o.There() != nil {
		return o.Dir == cli.DefaultDir
	}
	_, err := os.Stat(filepath.Dir(dev.Folder(o.Dir, "n")))
	return err == nil
}

func worst(rows []agent.FindingRow) int {
	code := 0
	for _, r := range rows {
		code = max(code, rank(r)-int(core.Notice))
	}
	return code
}

// rank is how bad a finding is; a severity that this release does not know is the worst.
func rank(r agent.FindingRow) int {
	for s := core.Good; s < core.Critical; s++ {
		if r.Severity == s.String() {
			return int(s)
		}
	}
	return int(core.Critical)
}

func printFindings(w io.Writer, rows []agent.FindingRow) {
	for _, r := range rows {
		fmt.Fprintf(w, "%-9s %s\n", r.Severity, core.Flat(r.What))
		if r.Evidence != "" {
			fmt.Fprintf(w, "          %s: %s\n", r.Of, core.Flat(r.Evidence))
		}
		if r.Remedy != "" {
			fmt.Fprintln(w, "          remedy: "+core.Flat(r.Remedy))
		}
	}
}

func printHealth(w io.Writer, rows []agent.FindingRow) error {
	var bad, warn []agent.FindingRow
	for _, r := range rows {
		switch worst([]agent.FindingRow{r}) {
		case 2:
			bad = append(bad, r)
		case 1:
			warn = append(warn, r)
		}
	}
	var text string
	switch {
	case len(bad) > 0:
		text = "weft: " + bad[0].What
		if n := len(bad) - 1; n > 0 {
			text += fmt.Sprintf(", and %d more; see `weft doctor`", n)
		}
	case len(warn) > 0:
		text = "weft: usable, with " + core.Plural(len(warn), "warning") + "; see `weft doctor`"
	default:
		text = "weft: good"
	}
	if _, err := fmt.Fprintln(w, core.Flat(text)); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	if len(bad) > 0 {
		return cli.Exit(1, nil)
	}
	return nil
}
