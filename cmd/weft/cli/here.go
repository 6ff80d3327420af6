package cli

import (
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/plugins/flux"
)

func (o *Options) NodeFlag(cmd *cobra.Command, node *string, help string) {
	cmd.Flags().StringVar(node, "node", "", help)
	o.NodeNames().Flag(cmd, "node")
}

// NodeHere is the node that cmd is about: the one given, else that of the shell's job or of this host's agent.
func (o *Options) NodeHere(cmd *cobra.Command, node string) (string, error) {
	_, _, at, err := o.JobHere(nil, node)
	if err == nil && at == "" {
		err = Misuse(cmd, "%s: no agent is here: --node is missing", cmd.Name())
	}
	return at, err
}

// JobHere is the job and node that a verb is about: what was given, else what the shell's own environment names. A local job's id begins with its node.
func (o *Options) JobHere(args []string, node string) (scheduler, job, at string, err error) {
	job, at = os.Getenv("WEFT_JOB"), node
	if len(args) == 1 {
		job = args[0]
	}
	if job != "" {
		if scheduler, job, err = SplitJob(job); err != nil {
			return "", "", "", err
		}
	}
	if at == "" && len(args) == 0 {
		at = os.Getenv("WEFT_NODE")
	}
	if _, name, ok := o.Here(); at == "" && ok {
		at = name
	}
	if dot := strings.LastIndexByte(job, '.'); at == "" && dot > 0 {
		at = job[:dot]
	}
	return scheduler, job, at, nil
}

// JobName reads a job as a person writes it, SCHEDULER/ID or ID, for a question to the server.
func JobName(text string) (string, error) {
	scheduler, id, err := SplitJob(text)
	if scheduler != "" {
		id = scheduler + "/" + id
	}
	return id, err
}

// SplitJob reads a job as the lists show it, SCHEDULER/ID or ID, and refuses what no scheduler gives. A job of Flux may
// have any spelling of Flux's.
func SplitJob(text string) (scheduler, id string, err error) {
	id = text
	if label, rest, ok := strings.Cut(text, "/"); ok {
		if core.CheckName("scheduler", label, core.MaxScheduler) != nil {
			return "", "", core.Errorf(core.BadCall, "job %q: %q is no scheduler's label", core.Clip(text), core.Clip(label)).WithRemedy("write ID or SCHEDULER/ID, as `weft jobs` shows it")
		}
		scheduler, id = label, rest
	}
	id = flux.Spelled(id)
	return scheduler, id, core.CheckJobID(id)
}
