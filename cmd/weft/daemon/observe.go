package daemon

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/observe"
	"github.com/weft-hpc/weft/server"
)

// NewObserve is `weft observe`.
func NewObserve(o *cli.Options) *cobra.Command {
	var since string
	c := o.Listing(&cobra.Command{
		Use: "observe", Short: "Show the account of jobs that Weft only observes", Args: cobra.NoArgs,
		Long: `Shows what Weft would have done for the jobs of each scheduler whose block in
config.hcl has mode = "observe", and what it saw of another manager's services.

A NIC shows the user of a service and not the job. So a job is inferred from
user, node and time, and each line says how sure it is.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			from, err := cli.Moment(since, time.Now())
			if err != nil {
				return cli.Usage("%w", err)
			}
			return cli.Answer(cmd.Context(), o, server.VerbObserve, server.ObserveArgs{Since: from}, printObserved)
		},
	})
	c.Flags().StringVar(&since, "since", "",
		"count from then on, in whole hours: how long ago (36h), a day\n(2026-01-31) or a time")
	return c
}

func printObserved(w io.Writer, r observe.Report) {
	if len(r.Schedulers) == 0 {
		fmt.Fprintln(w, "no scheduler is in mode observe")
	} else {
		fmt.Fprintf(w, "only observed: %s\n", strings.Join(r.Schedulers, ", "))
	}
	fmt.Fprintf(w, "since %s: %s; Weft would have granted %d with %s, refused %d and failed %d on nodes at fault; ",
		at(r.Since), core.Plural(r.Jobs, "job"), r.Granted, core.Plural(r.Services, "service"), r.Refused, r.Drained)
	fmt.Fprintf(w, "%d wanted no network, %d could not be judged\n", r.Without, r.Unjudged)
	if r.Decisions > 0 {
		fmt.Fprintf(w, "decisions of policy: %s on average, %s at most\n",
			(r.Took / time.Duration(r.Decisions)).Round(time.Microsecond), r.Most.Round(time.Microsecond))
	}
	cli.Table(w, "POOL VNIS NOW PEAK", r.Pools, func(p observe.PoolUse) []string {
		return []string{p.Pool, fmt.Sprint(p.VNIs), fmt.Sprint(p.Now), fmt.Sprint(p.Peak)}
	})
	section(w, "refused jobs", "JOBS SCHEDULER REASON RULE LAST WHY", r.Refusals, func(x observe.Refusal) []string {
		return []string{fmt.Sprint(x.Jobs), x.Scheduler, string(x.Reason), x.Rule, x.Job, x.Why}
	})
	const (
		drains = "NODE JOBS SINCE LAST WHY"
		twice  = "VNI SURE FIRST SECOND SINCE LAST"
		left   = "NODE SERVICES VNIS USER JOB SURE SINCE GONE"
	)
	section(w, "nodes that would have been drained", drains, r.Drains, func(d observe.Drain) []string {
		return []string{d.Node, fmt.Sprint(d.Jobs), at(d.Since), at(d.Last), d.Why}
	})
	section(w, "VNIs that two jobs had at a time", twice, r.Twice, func(t observe.Twice) []string {
		first, second := holder(t.Holders[0]), holder(t.Holders[1])
		return []string{fmt.Sprint(t.VNI), string(t.Sure), first, second, at(t.Since), at(t.Last)}
	})
	section(w, "services that outlived their job", left, r.Left, func(l observe.Left) []string {
		services, vnis := strings.Join(l.Services, ","), core.VNIRanges(l.VNIs)
		return []string{
			l.Node, services, vnis, cli.Account("", l.UID), ofJobs(l.Job, l.Jobs), string(l.Sure), at(l.Since), at(l.Gone),
		}
	})
	if r.Dropped > 0 {
		fmt.Fprintf(w, "and %d more than the account or this list holds\n", r.Dropped)
	}
}

func section[T any](w io.Writer, title, head string, rows []T, cells func(T) []string) {
	if len(rows) > 0 {
		fmt.Fprintf(w, "\n%s:\n", title)
		cli.Table(w, head, rows, cells)
	}
}

func holder(h observe.Holder) string {
	return fmt.Sprintf("%s %s %s", h.Node, cli.Account("", h.UID), ofJobs(h.Job, h.Jobs))
}

// ofJobs names a job, or says how many it may be of.
func ofJobs(job string, of int) string {
	if job == "" && of > 1 {
		return fmt.Sprintf("one of %d jobs", of)
	}
	return job
}

func at(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime)
}
