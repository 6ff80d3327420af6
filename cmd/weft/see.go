package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/server"
)

func newVersion() *cobra.Command {
	return &cobra.Command{Use: "version", Short: "Print the release", Args: cobra.NoArgs, RunE: func(*cobra.Command, []string) error {
		_, err := fmt.Fprintln(stdout(), "weft "+version)
		return err
	}}
}

func newStatus(o *options) *cobra.Command {
	return o.listing(&cobra.Command{
		Use: "status", Short: "Show the system in one look", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			var s server.Status
			if err := o.ask(cmd.Context(), "status", nil, &s); err != nil {
				return err
			}
			return o.print(stdout(), s, func(w io.Writer) { printStatus(w, s) })
		},
	})
}

func printStatus(w io.Writer, s server.Status) {
	fmt.Fprintf(w, "weft %s, up %s, store %.8s epoch %d revision %d\n", s.Version, s.Up, s.Store, s.Epoch, s.Revision)
	switch {
	case s.Failure != "":
		fmt.Fprintln(w, "NOTHING IS GRANTED: "+s.Failure)
	case s.Recovering && s.Awaited == 0:
		fmt.Fprintln(w, "NOTHING IS GRANTED: a store was lost, and what was in quarantine then is unknown; every VNI rests first, and it ends by itself")
	case s.Recovering:
		fmt.Fprintf(w, "NOTHING IS GRANTED: the store is new, imported or was rolled back, and %s not reported yet (`weft nodes`)\n", have(s.Awaited, "node"))
	}
	if s.Refused != nil {
		fmt.Fprintf(w, "THE LAST RELOAD WAS REFUSED %s ago; policy %.12s and the configuration from before stay in force: %s\n", ago(s.Refused.At), s.Policy, s.Refused.Why)
	}
	if b := s.Shadow; b != nil {
		fmt.Fprintf(w, "policy %.12s decides beside %.12s, which is in force: %d of %s in %s would have got something else (`weft policy apply --shadow --report`)\n",
			b.Policy, s.Policy, b.Changed, plural(b.Jobs, "job"), ago(b.Since))
	}
	if left := time.Until(s.Expiry); !s.Expiry.IsZero() && left < server.ExpiresSoon {
		fmt.Fprintf(w, "the server's certificate ends on %s: renew it with `weft tls init`\n", s.Expiry.Format(time.DateOnly))
	}
	if e := s.Ending; e != nil {
		fmt.Fprintf(w, "%s certificates that end soon or have ended, the first, of %s, on %s: `weft nodes` shows each; renew one with `weft tls node NAME`\n", have(e.Nodes, "node"), e.First, e.Ends.Format(time.DateOnly))
	}
	if s.Vanished > 0 {
		fmt.Fprintf(w, "ALARM: %s vanished at once from their scheduler; if they are really gone, `weft forget --vanished` frees what they hold\n", plural(s.Vanished, "job"))
	}
	fmt.Fprintf(w, "nodes: %d of %d attached, %d drained\n", s.Attached, s.Nodes, s.Drained)
	var live []string
	for _, k := range slices.Sorted(maps.Keys(s.Live)) {
		live = append(live, fmt.Sprintf("%d %s", s.Live[k], k))
	}
	fmt.Fprintln(w, "reservations: "+cmp.Or(strings.Join(live, ", "), "none"))
	rows := make([][]string, 0, len(s.Pools))
	for _, p := range s.Pools {
		rows = append(rows, []string{p.Pool, fmt.Sprint(p.Size), fmt.Sprint(p.Used), fmt.Sprint(p.Free)})
	}
	columns(w, "POOL VNIS USED FREE", rows)
}

func newJobs(o *options) *cobra.Command {
	at, past, since := &rulesArgs{}, false, ""
	cmd := &cobra.Command{
		Use: "jobs", Short: "List the reservations", Args: cobra.NoArgs,
		Long: `List the reservations. With --history those of the past too, with what policy knew of each job, out of the files that the configuration names
as server { history = … } and that root alone can read: with -o json one line for each.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if past {
				return o.printHistory(at.path(), since)
			}
			if since != "" {
				return misuse(cmd, fmt.Errorf("jobs: --since is for --history"))
			}
			jobs, err := list[server.JobRow](cmd.Context(), o, "jobs", nil)
			if err != nil {
				return err
			}
			return o.print(stdout(), nonNil(jobs), func(w io.Writer) {
				rows := make([][]string, 0, len(jobs))
				for _, j := range jobs {
					rows = append(rows, []string{j.Scheduler, j.Job, account(j.User, j.UID), j.State, ago(j.Since), core.FormatVNIs(j.VNIs), fmt.Sprintf("%d/%d", j.Unclean, j.Nodes), j.Waits})
				}
				columns(w, "SCHEDULER JOB USER STATE SINCE VNIS HOLDING WAITS-FOR", rows)
			})
		},
	}
	cmd.Flags().BoolVar(&past, "history", false, "those of the past too, on the server's host")
	cmd.Flags().StringVar(&since, "since", "", "only those that had not ended so long ago, as 36h, or by then, as 2026-01-31")
	at.flags(cmd)
	return o.listing(cmd)
}

func newJob(o *options) *cobra.Command {
	return o.listing(&cobra.Command{
		Use: "job ID", Short: "Show all that is known of a job", Args: cobra.ExactArgs(1), ValidArgsFunction: o.jobNames().once,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, _, err := splitJob(args[0]); err != nil {
				return err
			}
			var jobs []server.JobDetail
			if err := o.ask(cmd.Context(), "job", server.JobArgs{Job: args[0]}, &jobs); err != nil {
				return err
			}
			return o.print(stdout(), jobs, func(w io.Writer) {
				for _, j := range jobs {
					printJob(w, j)
				}
			})
		},
	})
}

func printJob(w io.Writer, j server.JobDetail) {
	if j.Unknown { // it is nobody's job, only services that no record explains
		fmt.Fprintf(w, "%s, not made by Weft: %s since %s\n", j.Job, j.State, ago(j.Since))
	} else {
		fmt.Fprintf(w, "job %s/%s, run %d, of %s: %s since %s\n", j.Scheduler, j.Job, j.Generation, account(j.User, j.UID), j.State, ago(j.Since))
	}
	if j.Waits != "" {
		fmt.Fprintln(w, "  waits for        "+j.Waits)
	}
	fmt.Fprintln(w, "  VNIs             "+core.FormatVNIs(j.VNIs))
	if len(j.Classes) > 0 {
		fmt.Fprintln(w, "  traffic classes  "+strings.Join(j.Classes, ", "))
	}
	for _, text := range j.Warnings {
		fmt.Fprintln(w, "  warning          "+text)
	}
	for _, s := range j.Shares {
		var limits []string
		for _, r := range core.ResourceNames() {
			if l := s.Limits[r]; l[1] > 0 {
				limits = append(limits, fmt.Sprintf("%s %d/%d", r, l[0], l[1]))
			}
		}
		fmt.Fprintf(w, "  on %s, %d cores each: reserved/max on each NIC: %s\n", s.Hosts, s.Cores, strings.Join(limits, ", "))
	}
	for _, n := range j.Where {
		fmt.Fprintf(w, "  node %-12s %s %s\n", n.Node, n.State, n.Why)
	}
}

func newVNIs(o *options) *cobra.Command {
	return o.listing(&cobra.Command{
		Use: "vnis [VNI]", Short: "Say who has which VNI, since when, where, and what it waits for", Args: cobra.MaximumNArgs(1), ValidArgsFunction: o.vniNumbers().once,
		RunE: func(cmd *cobra.Command, args []string) error {
			var in server.JobArgs
			if len(args) == 1 {
				v, err := core.ParseVNI(args[0])
				if err != nil {
					return err
				}
				in.VNI = uint16(v)
			}
			vnis, err := list[server.VNIRow](cmd.Context(), o, "vnis", in)
			if err != nil {
				return err
			}
			return o.print(stdout(), nonNil(vnis), func(w io.Writer) { printVNIs(w, vnis) })
		},
	})
}

func printVNIs(w io.Writer, vnis []server.VNIRow) {
	rows := make([][]string, 0, len(vnis))
	for _, v := range vnis {
		owner := ""
		if v.Job != "" {
			owner = account(v.User, v.UID)
		}
		nodes := strings.Join(v.Nodes[:min(len(v.Nodes), 4)], ",")
		if len(v.Nodes) > 4 {
			nodes += fmt.Sprintf(" and %d more", len(v.Nodes)-4)
		}
		rows = append(rows, []string{fmt.Sprint(v.VNI), v.Pool, v.State, v.Job, owner, ago(v.Since), nodes, v.Waits})
	}
	columns(w, "VNI POOL STATE JOB USER SINCE ON WAITS-FOR", rows)
}

func newNodes(o *options) *cobra.Command {
	return o.listing(&cobra.Command{
		Use: "nodes", Short: "List the nodes, their NICs and why one is drained", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			nodes, err := list[server.NodeRow](cmd.Context(), o, "nodes", nil)
			if err != nil {
				return err
			}
			return o.print(stdout(), nonNil(nodes), func(w io.Writer) { printNodes(w, nodes) })
		},
	})
}

func printNodes(w io.Writer, nodes []server.NodeRow) {
	rows := make([][]string, 0, len(nodes))
	certified := slices.ContainsFunc(nodes, func(n server.NodeRow) bool { return !n.Expiry.IsZero() }) // there are none in `weft dev`
	for _, n := range nodes {
		state := n.State
		if n.Away != "" {
			state += " " + n.Away
		}
		rows = append(rows, []string{n.Node, state, fmt.Sprintf("%d/%d", len(n.NICs), len(n.Inventory)), fmt.Sprint(n.Jobs), n.Drained})
		if certified {
			ends := ""
			if !n.Expiry.IsZero() {
				ends = n.Expiry.Format(time.DateOnly)
			}
			rows[len(rows)-1] = slices.Insert(rows[len(rows)-1], 4, ends)
		}
	}
	if certified {
		columns(w, "NODE STATE NICS JOBS CERTIFICATE-ENDS DRAINED", rows)
		return
	}
	columns(w, "NODE STATE NICS JOBS DRAINED", rows)
}

// nonNil makes an empty list of JSON of none.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func have(n int, what string) string {
	if n == 1 {
		return "1 " + what + " has"
	}
	return plural(n, what) + " have"
}
