package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/agent"
)

func newEnv(o *options) *cobra.Command {
	var node, label string
	var show bool
	cmd := o.listing(&cobra.Command{
		Use: "env [JOB]", Short: "Print a job's variables, for its owner, in a shell that no hook reached",
		Long: `Print a job's variables as a shell can take them: eval "$(weft env JOB)". Without JOB it is the one that WEFT_JOB names.
Only the job's owner and root can.

With --show it tells what this shell carries already and whose it is: a job within a Flux job shares the services of the outermost.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if show {
				if len(args) > 0 || node != "" || label != "" {
					return misuse(cmd, fmt.Errorf("env: --show is about this shell alone"))
				}
				s := showEnv(getenv)
				return o.print(stdout(), s, func(w io.Writer) { printShownEnv(w, s) })
			}
			scheduler, job, at, err := o.jobHere(args, node)
			switch {
			case err != nil:
				return err
			case job == "":
				return misuse(cmd, fmt.Errorf("env: JOB is missing, and this shell is of no job"))
			case at == "":
				return misuse(cmd, fmt.Errorf("env: --node is missing, and job %s does not name one", job))
			case scheduler == "":
				scheduler = label
			}
			var rows []agent.EnvRow
			if err := o.askNode(cmd.Context(), at, "env", agent.EnvArgs{Scheduler: scheduler, Job: job}, &rows); err != nil {
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
	cmd.ValidArgsFunction = o.jobNames().once
	cmd.Flags().StringVar(&node, "node", "", "as the job sees it on this node")
	o.nodeNames().flag(cmd, "node")
	cmd.Flags().StringVar(&label, "scheduler", "", "label of the job's scheduler in config.hcl; needed where two have a job of that id")
	cmd.Flags().BoolVar(&show, "show", false, "show what this shell carries, and from which job")
	return cmd
}

// jobHere is the job and node that a verb is about: what was given, else what the shell's own environment names. A local job's id begins with its node.
func (o *options) jobHere(args []string, node string) (scheduler, job, at string, err error) {
	job, at = getenv("WEFT_JOB"), node
	if len(args) == 1 {
		job = args[0]
	}
	if job != "" {
		if scheduler, job, err = splitJob(job); err != nil {
			return "", "", "", err
		}
	}
	if at == "" && len(args) == 0 {
		at = getenv("WEFT_NODE")
	}
	if _, name, ok := o.here(); at == "" && ok {
		at = name
	}
	if dot := strings.LastIndexByte(job, '.'); at == "" && dot > 0 {
		at = job[:dot]
	}
	return scheduler, job, at, nil
}
