package policy

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/history"
	"github.com/weft-hpc/weft/plugins/slurm"
	"github.com/weft-hpc/weft/policy/compare"
	"github.com/weft-hpc/weft/policy/facts"
)

func newPolicyDiff(o *cli.Options) *cobra.Command {
	a, jobs, now := &rulesArgs{}, "", time.Time{}
	cmd := &cobra.Command{
		Use:   "diff OLD NEW --jobs FILE",
		Short: "Show the jobs that get something else under another policy",
		Args:  cobra.ExactArgs(2),
		Long: `Decide on past jobs by two policies, each a file or a folder. Show the jobs
that get something else, by the rule that changes it. Show also whether pools
and quotas suffice when the jobs come and go as they did.

FILE has the output of one of these commands; - is standard input:
  weft jobs --history -o json
    lists only jobs that got a reservation, not those that Weft refused
  sacct -a -X -P -o \
    ` + slurm.SacctFields + `
    knows neither groups nor the options of --network; the columns
    ` + slurm.SacctMore + `
    may follow, for policies that ask for them

Exit codes:
  0  all jobs get the same
  1  some jobs get something else, or pools or quotas of NEW refuse more jobs
  2  Weft cannot use a policy or FILE`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if jobs == "" {
				return cli.Misuse(cmd, "policy diff: --jobs is missing")
			}
			before, err := a.usable(args[:1])
			if err != nil {
				return err
			}
			after, err := a.usable(args[1:])
			if err != nil {
				return err
			}
			rows, caveats, err := after.past(jobs)
			if err != nil {
				return cli.Usage("%w", err)
			}
			if len(rows) == 0 {
				return cli.Usage("policy diff: there is no job in %s", jobs)
			}
			if !now.IsZero() {
				for i := range rows {
					rows[i].Job.Now = now
				}
			}
			report := compare.Compare(before.Policy, after.Policy, after.Env.Nodes, after.Env.Topology, after.pools(), rows)
			report.Caveats = caveats
			if err := cli.Print(o, report, printDiff); err != nil {
				return err
			}
			if report.Changed > 0 || report.Worse() {
				return cli.Exit(cli.ExitFailed, nil)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&jobs, "jobs", "", "read the past jobs from this `FILE`")
	nowFlag(cmd, &now, "decide on all jobs as at this `TIME`, such as 2026-12-01T06:00:00Z (default: when each job began)")
	a.Flags(cmd)
	return o.Listing(cmd)
}

// past reads jobs of either form, and says what they lack.
func (r ruleset) past(path string) (rows []history.Row, caveats []string, err error) {
	in, err := cli.Input(path)
	if err != nil {
		return nil, nil, fmt.Errorf("jobs: %w", err)
	}
	defer in.Close()
	b := bufio.NewReader(in)
	if first, err := b.Peek(1); err != nil || first[0] == '{' {
		rows, err = history.Parse(b)
		return rows, nil, err
	}
	var schedulers []string
	for _, s := range r.Config.Schedulers {
		if s.Type == "slurm" {
			schedulers = append(schedulers, s.Name)
		}
	}
	scheduler := ""
	caveats = []string{"sacct knows neither the groups of users nor what they asked for with --network: what policy gives or denies for these is not seen here"}
	if len(schedulers) == 0 {
		caveats = append(caveats, "the configuration has no scheduler \"slurm\": job.scheduler is empty")
	} else if scheduler = schedulers[0]; len(schedulers) > 1 {
		caveats = append(caveats, fmt.Sprintf("all are taken for jobs of scheduler %q, the first of %s", scheduler, strings.Join(schedulers, ", ")))
	}
	jobs, err := slurm.Sacct(b, scheduler, time.Local)
	rows = make([]history.Row, 0, len(jobs))
	for _, j := range jobs {
		rows = append(rows, history.Row{Made: j.Start, Ended: j.Ends, Job: facts.Of(j.Job)})
	}
	return rows, caveats, err
}

// pools are those of the configuration, the services' blocks with them.
func (r ruleset) pools() []compare.Pool {
	all := r.Config.Allocator()
	rest := r.Config.Quarantines()
	out := make([]compare.Pool, 0, len(all))
	for _, p := range all {
		out = append(out, compare.Pool{Name: p.Name, Size: p.Size(), Quarantine: rest[p.Name].Seconds()})
	}
	return out
}

func printDiff(w io.Writer, r compare.Report) {
	for _, c := range r.Caveats {
		fmt.Fprintln(w, "note:", c)
	}
	fmt.Fprintf(w, "%d of %s would get something else\n", r.Changed, core.Plural(r.Jobs, "job"))
	if r.Unused > 0 {
		fmt.Fprintf(w, "%s left out: no job that can be on this system\n", core.Plural(r.Unused, "line"))
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
		fmt.Fprintf(w, "%s of %s, %s %s\n", g.What, core.Plural(g.Jobs, "job"), verb, place(g.By))
		for _, c := range g.Some {
			fmt.Fprintf(w, "  %s: %s\n  %*s  %s\n", c.Job, c.Old, len(c.Job), "", c.New)
		}
	}
}

func printCapacity(w io.Writer, r compare.Report) {
	for i, p := range r.After.Pools {
		fmt.Fprintf(w, "pool %s of %d: at most %d wanted, before %d", p.Pool, p.Size, p.Peak, r.Before.Pools[i].Peak)
		before := r.Before.Short(p.Pool)
		switch {
		case p.Short > 0:
			fmt.Fprintf(w, "; TOO FEW for %s, before for %d", core.Plural(p.Short, "job"), before)
		case before > 0:
			fmt.Fprintf(w, "; enough, before too few for %s", core.Plural(before, "job"))
		}
		fmt.Fprintln(w)
		printSpans(w, p.Spans)
	}
	for _, q := range r.After.Quotas {
		verb := "refuses"
		if !q.Refuses() {
			verb = "refuses nobody (enforce = \"" + q.Enforce + "\"), and is exceeded by"
		}
		fmt.Fprintf(w, "quota %q %s %s", q.Quota, verb, core.Plural(q.Jobs, "job"))
		if q.Refuses() {
			fmt.Fprintf(w, ", before %d", r.Before.Refused(q.Quota))
		}
		fmt.Fprintf(w, "; the first %s, the last %s: %s\n", clock(q.FirstAt), clock(q.LastAt), q.First)
		printSpans(w, q.Spans)
	}
	for _, q := range r.Before.Quotas {
		if q.Refuses() && !slices.ContainsFunc(r.After.Quotas, func(o compare.QuotaStrain) bool { return o.Quota == q.Quota }) {
			fmt.Fprintf(w, "quota %q refuses nobody, before %s\n", q.Quota, core.Plural(q.Jobs, "job"))
		}
	}
}

// printSpans says when something did not suffice.
func printSpans(w io.Writer, s compare.Spans) {
	for _, span := range s.Spans {
		to := "the end"
		if !span.To.IsZero() {
			to = clock(span.To)
		}
		fmt.Fprintf(w, "  from %s to %s\n", clock(span.From), to)
	}
	if s.More > 0 {
		fmt.Fprintf(w, "  and %d times more\n", s.More)
	}
}

func clock(t time.Time) string { return t.Local().Format(time.DateTime) }
