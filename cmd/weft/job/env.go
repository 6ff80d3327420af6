package job

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/agent"
	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core/node"
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
			if err := cli.Closed(); err != nil {
				return err
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

// shownEnv has the network variables of this shell, and the job that they belong to.
type shownEnv struct {
	Job       string     `json:"job"`                 // the job around this shell, with the jobs around it; empty: none
	From      string     `json:"from,omitempty"`      // whose reservation it is; empty: unknown
	Inherited bool       `json:"inherited"`           // the reservation is of a job around it
	Variables []shownVar `json:"variables,omitempty"` // those that are set
}

type shownVar struct {
	Name  string `json:"name"`
	Value string `json:"value"` // of a token only that it is set
}

// showEnv reads the variables of this process alone and asks no agent. So it answers in any instance, on any node.
func showEnv(getenv func(string) string) shownEnv {
	var s shownEnv
	for _, v := range node.Network(node.Entry{}) {
		value := getenv(v.Name)
		if value == "" {
			continue
		}
		if strings.HasSuffix(v.Name, "_TOKEN") {
			value = "(set)"
		}
		s.Variables = append(s.Variables, shownVar{v.Name, value})
	}
	flux, path, from := getenv("FLUX_JOB_ID"), getenv("FLUX_JOB_ID_PATH"), getenv("WEFT_FROM")
	s.Job = cmp.Or(path, flux, getenv("SLURM_JOB_ID"), getenv("PBS_JOBID"), getenv("WEFT_JOB"))
	switch {
	case len(s.Variables) == 0:
	case flux != "": // `flux start` begins a new path, so the path alone does not tell
		s.From, s.Inherited = from, from != flux || strings.Count(path, "/") > 1
	case s.Job != "":
		s.From = s.Job
	default: // the first shell of an instance
		s.From, s.Inherited = from, from != ""
	}
	return s
}

func printShownEnv(w io.Writer, s shownEnv) {
	switch {
	case len(s.Variables) == 0 && s.Job == "":
		fmt.Fprintln(w, "this shell is of no job and has no network of a job's")
	case len(s.Variables) == 0:
		fmt.Fprintf(w, "job %s: this shell has no network of it\n", s.Job)
	case s.Inherited && s.Job == "":
		fmt.Fprintf(w, "this shell has the network of job %s\n", s.From)
	case s.Inherited && s.From == "":
		fmt.Fprintf(w, "job %s: it has the network of the instance around it, or another that Weft did not give\n", s.Job)
	case s.Inherited:
		fmt.Fprintf(w, "job %s: inherited from job %s, whose services on this node it shares\n", s.Job, s.From)
	case s.Job == "":
		fmt.Fprintln(w, "this shell names no job; it carries:")
	default:
		fmt.Fprintf(w, "job %s: its own\n", s.Job)
	}
	if len(s.Variables) > 0 {
		cli.Table(w, "VARIABLE VALUE", s.Variables, func(v shownVar) []string { return []string{v.Name, v.Value} })
	}
}
