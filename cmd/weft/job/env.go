package job

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/cmd/weft/cli"
)

func NewEnv(o *cli.Options) *cobra.Command {
	var node, label string
	var show bool
	cmd := o.Listing(&cobra.Command{
		Use: "env [JOB]", Short: "Print a job's variables for a shell that no hook prepared",
		Long: `Print a job's variables for a shell: eval "$(weft env JOB)". Without JOB, Weft
takes the job that WEFT_JOB names. Only the job's owner and root may use it.

With --show, it prints the variables that this shell has, and their job. A job
within a Flux job shares the services of the outermost job.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if show {
				if len(args) > 0 || node != "" || label != "" {
					return cli.Misuse(cmd, "env: --show is about this shell alone")
				}
				s := showEnv(os.Getenv)
				return cli.Print(o, s, printShownEnv)
			}
			scheduler, job, at, err := o.JobHere(args, node)
			switch {
			case err != nil:
				return err
			case job == "":
				return cli.Misuse(cmd, "env: JOB is missing, and this shell is of no job")
			case at == "":
				return cli.Misuse(cmd, "env: --node is missing, and job %s does not name one", job)
			case scheduler == "":
				scheduler = label
			}
			rows := []agent.EnvRow{}
			if err := o.AskNode(cmd.Context(), at, "env", agent.EnvArgs{Scheduler: scheduler, Job: job}, &rows); err != nil {
				return err
			}
			return cli.Print(o, rows, func(w io.Writer, rows []agent.EnvRow) {
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
	cmd.ValidArgsFunction = o.JobNames().Once
	o.NodeFlag(cmd, &node, "print the variables of the job on this node")
	cmd.Flags().StringVar(&label, "scheduler", "",
		"label of the job's scheduler in config.hcl; needed if two schedulers have this job id")
	cmd.Flags().BoolVar(&show, "show", false, "show the variables that this shell has, and their job")
	return cmd
}
