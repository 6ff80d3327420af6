package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/hook"
)

func newEnv(o *options) *cobra.Command {
	var node, label string
	cmd := o.listing(&cobra.Command{
		Use: "env [JOB]", Short: "Print a job's variables, for its owner, in a shell that no hook reached",
		Long: `Print a job's variables as a shell can take them: eval "$(weft env JOB)". Without JOB it is the one that WEFT_JOB names.
Only the job's owner and root can.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			job, at := jobHere(args, node)
			if job == "" || at == "" {
				return usage(fmt.Errorf("env: this shell is of no job; give JOB, and --node if its name does not begin with it"))
			}
			var rows []agent.EnvRow
			if err := hook.Call(cmd.Context(), o.agent(at), "env", agent.EnvArgs{Scheduler: label, Job: job}, &rows); err != nil {
				return err
			}
			return o.print(stdout(), nonNil(rows), func(w io.Writer) {
				for _, r := range rows {
					if r.Unset {
						fmt.Fprintln(w, "unset "+r.Name)
					} else {
						fmt.Fprintf(w, "export %s='%s'\n", r.Name, strings.ReplaceAll(r.Value, "'", `'\''`))
					}
				}
			})
		},
	})
	cmd.Flags().StringVar(&node, "node", "", "as the job sees it on this node")
	cmd.Flags().StringVar(&label, "scheduler", "local", "label of the job's scheduler in config.hcl")
	return cmd
}

func newServices(o *options) *cobra.Command {
	var node string
	var all bool
	cmd := o.listing(&cobra.Command{
		Use: "services", Short: "List the CXI services on a node's NICs, and whose each is", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, at := jobHere(nil, node); at != "" {
				node = at
			}
			if node == "" {
				return usage(fmt.Errorf("services: --node is missing"))
			}
			rows, err := hook.List[agent.ServiceRow](cmd.Context(), o.agent(node), "services", nil)
			if err != nil {
				return err
			}
			if !all {
				kept := rows[:0]
				for _, r := range rows {
					if r.Kind == "job" || r.Kind == "unknown" || r.Kind == "default" && r.Enabled {
						kept = append(kept, r)
					}
				}
				rows = kept
			}
			return o.print(stdout(), nonNil(rows), func(w io.Writer) { printServices(w, rows) })
		},
	})
	cmd.Flags().StringVar(&node, "node", "", "the node")
	cmd.Flags().BoolVar(&all, "all", false, "the driver's own services and a disabled default service too")
	return cmd
}

func printServices(w io.Writer, rows []agent.ServiceRow) {
	out := make([][]string, 0, len(rows))
	for _, r := range rows {
		var limits []string
		for _, name := range core.ResourceNames() {
			if l := r.Limits[name]; l[1] > 0 {
				limits = append(limits, fmt.Sprintf("%s %d/%d", name, l[0], l[1]))
			}
		}
		whose := r.Job
		if whose == "" {
			whose = strings.ToUpper(r.Kind)
		}
		out = append(out, []string{r.Device, fmt.Sprint(r.Service), whose, r.Owner, core.FormatVNIs(r.VNIs), strings.Join(r.Classes, ","), strings.Join(limits, " ")})
	}
	columns(w, "NIC SERVICE JOB OWNER VNIS CLASSES RESERVED/MAX", out)
}

// jobHere is the job and node that a verb is about: what was given, else what the shell's own environment names.
func jobHere(args []string, node string) (job, at string) {
	job, at = getenv("WEFT_JOB"), node
	if len(args) == 1 {
		job = args[0]
	}
	if at == "" && len(args) == 0 {
		at = getenv("WEFT_NODE")
	}
	if dot := strings.LastIndexByte(job, '.'); at == "" && dot > 0 {
		at = job[:dot]
	}
	return job, at
}
