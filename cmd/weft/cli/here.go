package cli

import (
	"os"
	"strings"
)

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
