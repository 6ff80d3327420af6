package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/core/allocator"
	"github.com/weft-hpc/weft/history"
	"github.com/weft-hpc/weft/plugins/slurm"
	"github.com/weft-hpc/weft/policy/compare"
	"github.com/weft-hpc/weft/policy/facts"
)

func newPolicyDiff(o *options) *cobra.Command {
	a, jobs := &rulesArgs{}, ""
	cmd := &cobra.Command{
		Use: "diff OLD NEW --jobs FILE", Short: "Say which jobs would get something else under another policy", Args: cobra.ExactArgs(2),
		Long: `Decide on jobs of the past by two policies, each a file or a folder, and say which would get something else, by the rule that changes it; and
whether pools and quotas would have sufficed when the jobs came and went as they did. FILE is what "weft jobs --history -o json" prints, or
"sacct -a -X -P -o ` + slurm.SacctFields + `", which does not
know what users asked for with --network; - is standard input.

Exit codes: 0 all jobs get the same; 1 some do not; 2 a policy or FILE cannot be used.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if jobs == "" {
				return misuse(cmd, fmt.Errorf("policy diff: --jobs is missing"))
			}
			before, after := a.load(args[:1]), a.load(args[1:])
			for _, r := range []ruleset{before, after} {
				if r.Policy == nil {
					show(r.Findings)
					return unusable(r.Findings)
				}
			}
			rows, err := after.past(jobs)
			if err != nil {
				return usage(err)
			}
			if len(rows) == 0 {
				return usage(fmt.Errorf("policy diff: there is no job in %s", jobs))
			}
			pools, err := after.pools()
			if err != nil {
				return usage(err)
			}
			report := compare.Compare(before.Policy, after.Policy, after.Env.Nodes, after.Env.Topology, pools, rows)
			if err := o.print(stdout(), report, func(w io.Writer) { printDiff(w, report) }); err != nil {
				return err
			}
			if report.Changed > 0 {
				return &exitError{exitFailed, nil}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&jobs, "jobs", "", "the jobs: JSON lines of \"weft jobs --history\", or what sacct -P prints")
	a.flags(cmd)
	return o.listing(cmd)
}

// past reads jobs of either form.
func (r ruleset) past(path string) ([]history.Row, error) {
	in := os.Stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("jobs: %w", err)
		}
		defer f.Close()
		in = f
	}
	b := bufio.NewReader(in)
	if first, err := b.Peek(1); err != nil || first[0] == '{' {
		return history.Parse(b)
	}
	scheduler := ""
	for _, s := range r.Config.Schedulers {
		if s.Type == "slurm" {
			scheduler = s.Name
			break
		}
	}
	jobs, err := slurm.Sacct(b, scheduler, time.Local)
	rows := make([]history.Row, 0, len(jobs))
	for _, j := range jobs {
		rows = append(rows, history.Row{Made: j.Start, Ended: j.Ends, Job: facts.Of(j.Job)})
	}
	return rows, err
}

// pools are those of the configuration, the services' blocks with them.
func (r ruleset) pools() ([]compare.Pool, error) {
	all := r.Config.Allocator()
	in, err := allocator.New(all)
	if err != nil {
		return nil, err
	}
	rest := r.Config.Quarantines()
	out := make([]compare.Pool, 0, len(all))
	for _, p := range all {
		out = append(out, compare.Pool{Name: p.Name, Size: in.Size(p.Name), Quarantine: rest[p.Name].Seconds()})
	}
	return out, nil
}

func printDiff(w io.Writer, r compare.Report) {
	fmt.Fprintf(w, "%d of %s would get something else\n", r.Changed, plural(r.Jobs, "job"))
	if r.Unused > 0 {
		fmt.Fprintf(w, "%s left out: no job that can be on this system\n", plural(r.Unused, "line"))
	}
	printGroups(w, r.Groups)
	printCapacity(w, r)
}

func printGroups(w io.Writer, groups []compare.Group) {
	for _, g := range groups {
		verb := "by"
		if g.In == "old" {
			verb = "no more by"
		}
		fmt.Fprintf(w, "%s of %s, %s %s\n", g.What, plural(g.Jobs, "job"), verb, place(g.By))
		for _, c := range g.Some {
			fmt.Fprintf(w, "  %s: %s\n  %*s  %s\n", c.Job, c.Old, len(c.Job), "", c.New)
		}
	}
}

func printCapacity(w io.Writer, r compare.Report) {
	for i, p := range r.After.Pools {
		fmt.Fprintf(w, "pool %s of %d: at most %d wanted, before %d", p.Pool, p.Size, p.Peak, r.Before.Pools[i].Peak)
		if p.Short > 0 {
			fmt.Fprintf(w, "; TOO FEW for %s, before for %d", plural(p.Short, "job"), r.Before.Pools[i].Short)
		}
		fmt.Fprintln(w)
	}
	for _, q := range r.After.Quotas {
		fmt.Fprintf(w, "quota %q exceeded by %s, the first: %s\n", q.Quota, plural(q.Jobs, "job"), q.First)
	}
}
