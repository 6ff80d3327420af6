package run

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/plugins/local"
)

// prepare has every node make the job's services, and gives the command's environment on each. When one cannot, the others give back what they made as soon
// as this process ends: it is the job.
func (r *runArgs) prepare(ctx context.Context, o *cli.Options, job local.Entry) ([][]string, error) {
	environs := make([][]string, len(job.Hosts))
	errs := make([]error, len(job.Hosts))
	said := make([][]byte, len(job.Hosts))
	var all sync.WaitGroup
	for i, node := range job.Hosts {
		all.Go(func() {
			reply, err := callHook(ctx, o, node, r.label, local.PhasePrepare, local.Call{Job: job.Job})
			said[i] = reply.Stderr
			if err == nil && reply.Exit != 0 {
				err = cli.Exit(reply.Exit, nil)
			}
			var answer local.Answer
			if err == nil {
				err = json.Unmarshal(reply.Stdout, &answer)
			}
			environs[i], errs[i] = environ(os.Environ(), answer, node), err
		})
	}
	all.Wait()
	tell(os.Stderr, job.Hosts, said)
	failed := false
	for i, err := range errs {
		failed = failed || err != nil
		if err != nil && err.Error() != "" {
			cli.Complain(fmt.Errorf("node %s: %w", job.Hosts[i], err))
		}
	}
	if failed {
		return nil, fmt.Errorf("job %s was not started", job.Job)
	}
	return environs, nil
}

// tell writes the lines of all nodes, each once, and of a job on several nodes whose line it is.
func tell(w io.Writer, hosts []string, said [][]byte) {
	var lines []string
	from := map[string][]string{} // by line
	for i, text := range said {
		for line := range strings.Lines(string(text)) {
			at := from[line]
			if at == nil {
				lines = append(lines, line)
			}
			if !slices.Contains(at[max(0, len(at)-1):], hosts[i]) {
				from[line] = append(at, hosts[i])
			}
		}
	}
	for _, line := range lines {
		if text, ours := strings.CutPrefix(line, "weft: "); ours && len(hosts) > 1 {
			line = "weft: " + hostlist.Fold(from[line]) + ": " + text
		}
		_, _ = io.WriteString(w, line)
	}
}

// callHook calls a node as weft-hook does.
func callHook(ctx context.Context, o *cli.Options, node, scheduler, phase string, in any) (core.HookReply, error) {
	var reply core.HookReply
	body, err := json.Marshal(in)
	if err != nil {
		return reply, err
	}
	err = o.AskJob(ctx, node, "hook", core.HookCall{Scheduler: scheduler, Phase: phase, Stdin: body}, &reply)
	return reply, err
}

// environ is the submitting environment with the job's variables. All that such a variable could carry is gone, whatever the node answers: a value that
// was left would let the command use another job's VNIs.
func environ(base []string, a local.Answer, at string) []string {
	gone := map[string]bool{}
	for _, v := range node.Environment(node.Entry{}) {
		gone[v.Name] = true
	}
	for _, name := range a.Unset {
		gone[name] = true
	}
	for _, v := range a.Set {
		gone[v.Name] = true
	}
	out := without(base, gone)
	for _, v := range a.Set {
		out = append(out, v.Name+"="+v.Value)
	}
	return append(out, "WEFT_JOB="+a.Job, "WEFT_NODE="+at)
}

func without(env []string, gone map[string]bool) []string {
	return slices.DeleteFunc(slices.Clone(env), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return gone[name]
	})
}
