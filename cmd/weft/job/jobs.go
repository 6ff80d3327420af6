// Package job holds the verbs about jobs and their VNIs.
package job

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

func NewJobs(o *cli.Options) *cobra.Command {
	at, past, since := &cli.ConfigFlag{}, false, ""
	cmd := &cobra.Command{
		Use: "jobs", Short: "List the reservations", Args: cobra.NoArgs,
		Long: `List the reservations.

With --history, the list has past reservations too, with the facts that policy
knew about each job. Weft reads them from the files that the configuration
names in server { history = … }; only root can read these files. With -o json,
it prints one line for each reservation.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if past {
				return printHistory(o, at.Path(), since)
			}
			if since != "" {
				return cli.Misuse(cmd, "jobs: --since is for --history")
			}
			return cli.PrintList(cmd.Context(), o, "jobs", nil, printJobs)
		},
	}
	cmd.Flags().BoolVar(&past, "history", false, "also list past reservations, on the server's host")
	cmd.Flags().StringVar(&since, "since", "",
		"omit jobs that ended before this `TIME`: 36h for a time ago, or a date such as 2026-01-31")
	at.Flags(cmd)
	return o.Listing(cmd)
}

func printJobs(w io.Writer, jobs []server.JobRow) {
	cli.Table(w, "SCHEDULER JOB USER STATE SINCE VNIS HOLDING WAITS-FOR", jobs, func(j server.JobRow) []string {
		return []string{
			j.Scheduler, j.Job, cli.Account(j.User, j.UID), j.State, cli.Ago(j.Since), core.VNIRanges(j.VNIs),
			fmt.Sprintf("%d/%d", j.Unclean, j.Nodes), j.Waits,
		}
	})
}

func NewJob(o *cli.Options) *cobra.Command {
	return o.Listing(&cobra.Command{
		Use: "job ID", Short: "Show everything about a job", Args: cobra.ExactArgs(1), ValidArgsFunction: o.JobNames().Once,
		RunE: func(cmd *cobra.Command, args []string) error {
			job, err := cli.JobName(args[0])
			if err != nil {
				return err
			}
			rows, err := cli.List[server.JobDetail](cmd.Context(), o, "job", server.JobArgs{Job: job})
			if err != nil {
				return err
			}
			return cli.Print(o, server.Joined(rows), func(w io.Writer, jobs []server.JobDetail) {
				for _, j := range jobs {
					printJob(w, j)
				}
			})
		},
	})
}

func printJob(w io.Writer, j server.JobDetail) {
	if j.Unknown { // it is nobody's job, only services that no record explains
		fmt.Fprintf(w, "%s, not made by Weft: %s since %s\n", j.Job, j.State, cli.Ago(j.Since))
	} else {
		fmt.Fprintf(w, "job %s/%s, run %d, of %s: %s since %s\n", j.Scheduler, j.Job, j.Generation, cli.Account(j.User, j.UID), j.State, cli.Ago(j.Since))
	}
	if j.Waits != "" {
		fmt.Fprintln(w, "  waits for        "+j.Waits)
	}
	fmt.Fprintln(w, "  VNIs             "+core.VNIRanges(j.VNIs))
	if len(j.Classes) > 0 {
		fmt.Fprintln(w, "  traffic classes  "+strings.Join(j.Classes, ", "))
	}
	for _, s := range j.Steps {
		has := fmt.Sprintf("VNI %d", s.VNI)
		if s.VNI == 0 {
			has = "shares the job's VNI"
		}
		fmt.Fprintf(w, "  step %s (%d nodes): %s\n", s.Step, s.Nodes, has)
	}
	for _, text := range j.Warnings {
		fmt.Fprintln(w, "  warning          "+text)
	}
	for _, s := range j.Shares {
		fmt.Fprintf(w, "  on %s, %d cores each: reserved/max on each NIC: %s\n", s.Hosts, s.Cores, limits(s.Limits))
	}
	for _, g := range j.Got {
		for _, n := range g.NICs {
			granted := func(s server.Share) bool { return maps.Equal(s.Limits, n.Limits) }
			if len(g.Warnings) == 0 && slices.ContainsFunc(j.Shares, granted) {
				continue
			}
			fmt.Fprintf(w, "  got on %s, NIC %s: reserved/max: %s\n", g.Nodes, n.NICs, limits(n.Limits))
		}
		for _, text := range g.Warnings {
			fmt.Fprintf(w, "  warning          %s: %s\n", g.Nodes, text)
		}
	}
	for _, n := range j.Where {
		fmt.Fprintf(w, "  node %-12s %s %s\n", n.Node, n.State, n.Why)
	}
}

func limits(of map[string][2]int) string {
	var out []string
	for _, r := range core.ResourceNames() {
		if l := of[r]; l[1] > 0 {
			out = append(out, fmt.Sprintf("%s %d/%d", r, l[0], l[1]))
		}
	}
	return strings.Join(out, ", ")
}

func NewVNIs(o *cli.Options) *cobra.Command {
	return o.Listing(&cobra.Command{
		Use:   "vnis [VNI]",
		Short: "Show the job of each VNI, its nodes, and why the VNI is not free",
		Args:  cobra.MaximumNArgs(1), ValidArgsFunction: o.VNINumbers().Once,
		RunE: func(cmd *cobra.Command, args []string) error {
			var in server.JobArgs
			if len(args) == 1 {
				v, err := core.ParseVNI(args[0])
				if err != nil {
					return err
				}
				in.VNI = uint16(v)
			}
			rows, err := cli.List[server.VNIRow](cmd.Context(), o, "vnis", in)
			if err != nil {
				return err
			}
			return cli.Print(o, server.FoldVNIs(rows), PrintVNIs) // a range may go over a page's end
		},
	})
}

func PrintVNIs(w io.Writer, vnis []server.VNIRow) {
	cli.Table(w, "VNI POOL STATE JOB USER SINCE ON WAITS-FOR", vnis, func(v server.VNIRow) []string {
		number, owner := fmt.Sprint(v.VNI), ""
		if v.Last != 0 {
			number = fmt.Sprintf("%d-%d", v.VNI, v.Last)
		}
		if v.Job != "" {
			owner = cli.Account(v.User, v.UID)
		}
		nodes := strings.Join(v.Nodes[:min(len(v.Nodes), 4)], ",")
		if v.Unclean > 4 {
			nodes += fmt.Sprintf(" and %d more", v.Unclean-4)
		}
		return []string{number, v.Pool, v.State, v.Job, owner, cli.Ago(v.Since), nodes, v.Waits}
	})
}
