package job

import (
	"fmt"
	"io"
	"strings"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core/node"
)

// shownEnv is what this shell itself carries of a network, and whose it is.
type shownEnv struct {
	Job       string     `json:"job"`                 // the job around this shell, by the jobs around it where its scheduler says; empty: none
	From      string     `json:"from,omitempty"`      // whose reservation it is
	Inherited bool       `json:"inherited"`           // the reservation is of a job around it
	Variables []shownVar `json:"variables,omitempty"` // those that are set
}

type shownVar struct {
	Name  string `json:"name"`
	Value string `json:"value"` // of a token only that it is set
}

// showEnv looks at the variables of this process alone: it asks no agent, so that it answers within any instance, on any node.
func showEnv(getenv func(string) string) shownEnv {
	var s shownEnv
	for _, v := range node.Environment(node.Entry{}) {
		value := getenv(v.Name)
		if value == "" {
			continue
		}
		if strings.HasSuffix(v.Name, "_TOKEN") {
			value = "(set)"
		}
		s.Variables = append(s.Variables, shownVar{v.Name, value})
	}
	path := strings.Split(strings.Trim(getenv("FLUX_JOB_ID_PATH"), "/"), "/")
	slurm := getenv("SLURM_JOB_ID")
	switch {
	case path[0] != "":
		s.Job, s.From, s.Inherited = "/"+strings.Join(path, "/"), path[0], len(path) > 1
	case getenv("FLUX_JOB_ID") != "":
		s.Job = getenv("FLUX_JOB_ID")
		s.From = s.Job
	case slurm != "":
		s.Job, s.From = slurm, slurm
	}
	if len(s.Variables) == 0 {
		s.From, s.Inherited = "", false
	}
	return s
}

func printShownEnv(w io.Writer, s shownEnv) {
	switch {
	case len(s.Variables) == 0 && s.Job == "":
		fmt.Fprintln(w, "this shell is of no job and has no network of a job's")
	case len(s.Variables) == 0:
		fmt.Fprintf(w, "job %s: this shell has no network of it\n", s.Job)
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
