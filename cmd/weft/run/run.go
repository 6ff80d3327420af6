// Package run is `weft run`: a command with network resources of its own.
package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/server"
)

// maxRun bounds the nodes of one local job: each is a process of this machine.
const maxRun = 1024

// runArgs is what `weft run` is told.
type runArgs struct {
	nodes   int
	on      string
	wish    local.Wish
	label   string
	command []string
}

func New(o *cli.Options) *cobra.Command {
	r := &runArgs{}
	cmd := &cobra.Command{
		Use: "run [flags] -- COMMAND [ARG…]", Short: "Run a command with network resources of its own, where no scheduler does it",
		Long: `Run COMMAND as a job of its own: with VNIs and CXI services that only its owner can use, on a login or transfer node where no
scheduler does it. COMMAND replaces weft in its own process; when that process ends, however it ends, its services go.

With -N a simulated system (` + "`weft dev`" + `) starts COMMAND once on each of several nodes, and passes signals on to all of them. Options are
those of a scheduler's users:
  weft run --options vnis=2 --options classes=LOW_LATENCY:BULK_DATA -- ./app

COMMAND has the environment of the shell, but for the variables of the job's network, which are its own: SLINGSHOT_VNIS and so on. With
--user HOME, USER and LOGNAME are that user's.

Exit code: COMMAND's own, the first that is not 0 of several; 128 and the signal's number where one ended it. 125 when the job could not be
started, or was asked for wrongly; 126 when COMMAND cannot be executed; 127 when there is none.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return cli.Misuse(cmd, errors.New("run: COMMAND is missing"))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			r.command = args
			err := r.run(cmd.Context(), o)
			if _, ok := errors.AsType[*cli.ExitError](err); ok || err == nil {
				return err
			}
			return cli.Exit(cli.ExitRun, err)
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().IntVarP(&r.nodes, "nodes", "N", 1, "on how many nodes; more than one only in weft dev")
	cmd.Flags().StringVar(&r.on, "on", "", "on these nodes, such as n1 or n[1-2]; by default those with the fewest jobs")
	o.NodeNames().Flag(cmd, "on")
	cmd.Flags().StringVar(&r.wish.User, "user", "", "as this user; for root only")
	cmd.Flags().StringArrayVar(&r.wish.Options, "options", nil, "what the job wants of the network, KEY or KEY=VALUE; may be repeated")
	cmd.Flags().StringVar(&r.label, "scheduler", "local", "label of the scheduler of type local in config.hcl")
	return cmd
}

func (r *runArgs) run(ctx context.Context, o *cli.Options) error {
	// What can be known to be wrong is said before anybody is asked for anything.
	path, err := find(r.command[0])
	if err != nil {
		return err
	}
	if _, err := local.ParseOptions(r.wish.Options); err != nil {
		return err
	}
	who, err := owner(ctx, r.wish.User)
	if err != nil {
		return err
	}
	hosts, err := r.hosts(ctx, o)
	if err != nil {
		return err
	}
	var job local.Entry
	if err := o.AskNode(ctx, hosts[0], "begin", dev.Begin{Wish: r.wish, Hosts: hosts}, &job); err != nil {
		return err
	}
	said := notice(os.Stderr, r.waits(o, job.Job))
	environs, err := r.prepare(ctx, o, job)
	said()
	if err != nil {
		return err
	}
	for i := range environs {
		environs[i] = who.environ(environs[i])
	}
	if len(hosts) > 1 {
		return r.children(ctx, o, job, path, who, environs)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("job %s was not started: %w", job.Job, context.Cause(ctx))
	}
	if err := who.become(); err != nil {
		return err
	}
	err = syscall.Exec(path, r.command, environs[0])
	return cli.Exit(cli.ExitExec, fmt.Errorf("run %s: it cannot be executed: %w", path, err))
}

// runPatience is how long a job is prepared without a word.
const runPatience = 2 * time.Second

// notice writes a line when runPatience has passed before over is called.
func notice(w io.Writer, text string) (over func()) {
	t := time.AfterFunc(runPatience, func() { fmt.Fprintln(w, "weft: "+text) })
	return func() { t.Stop() }
}

// waits says what a job's start waits for, and until when.
func (r *runArgs) waits(o *cli.Options, job string) string {
	until := ""
	if dir, _, ok := o.Here(); ok {
		if hooks, err := dir.Hooks(); err == nil {
			if _, phase, err := hooks.Find(r.label, local.PhasePrepare); err == nil {
				until = ", until " + time.Now().Add(phase.Limit).Format(time.TimeOnly) + " at most"
			}
		}
	}
	return "job " + job + " waits for its node and for the server's grant" + until + "; `weft status` on the server's host says whether it grants; Ctrl-C ends the wait"
}

// find is COMMAND's file, as a shell would find it.
func find(command string) (string, error) {
	path, err := exec.LookPath(command)
	switch {
	case err == nil || errors.Is(err, exec.ErrDot): // a PATH with the current folder in it is the user's own wish
		return path, nil
	case errors.Is(err, exec.ErrNotFound):
		return "", cli.Exit(cli.ExitNone, fmt.Errorf("run %s: there is no such command in PATH", command))
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return "", cli.Exit(cli.ExitNone, fmt.Errorf("run %s: there is no such file", command))
	case errors.Is(err, fs.ErrPermission):
		return "", cli.Exit(cli.ExitExec, fmt.Errorf("run %s: it is not executable: permission denied", command))
	}
	var e *exec.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	return "", cli.Exit(cli.ExitExec, fmt.Errorf("run %s: it cannot be executed: %w", command, err))
}

// hosts chooses the job's nodes: those asked for, or the up and undrained ones with the fewest jobs.
func (r *runArgs) hosts(ctx context.Context, o *cli.Options) ([]string, error) {
	if r.nodes < 1 {
		return nil, fmt.Errorf("run: -N %d: a job has at least one node", r.nodes)
	}
	if r.on != "" {
		return r.named()
	}
	if _, name, ok := o.Here(); ok && r.nodes == 1 {
		return []string{name}, nil
	}
	all, err := cli.List[server.NodeRow](ctx, o, "nodes", nil)
	if err != nil {
		return nil, err
	}
	known := len(all)
	all = slices.DeleteFunc(all, func(n server.NodeRow) bool { return n.State != "up" || n.Drained != "" })
	slices.SortStableFunc(all, func(a, b server.NodeRow) int { return a.Jobs - b.Jobs })
	if len(all) < r.nodes {
		return nil, core.Errorf(core.NodeDrained, "run: -N %d: the system has %s, and %d of them can take a job", r.nodes, cli.Plural(known, "node"), len(all)).
			WithRemedy("`weft nodes` shows why; ask for fewer")
	}
	hosts := make([]string, r.nodes)
	for i := range hosts {
		hosts[i] = all[i].Node
	}
	slices.Sort(hosts)
	return hosts, nil
}

// named reads --on.
func (r *runArgs) named() ([]string, error) {
	on, err := hostlist.Parse(r.on)
	if err != nil {
		return nil, core.Errorf(core.BadCall, "run: --on: %w", err)
	}
	hosts, err := on.ExpandMax(maxRun)
	if err != nil {
		return nil, core.Errorf(core.BadCall, "run: --on: %w", err)
	}
	seen := map[string]bool{}
	for _, h := range hosts {
		if seen[h] {
			return nil, fmt.Errorf("run: --on names node %s twice", h)
		}
		seen[h] = true
	}
	switch {
	case len(hosts) == 0:
		return nil, fmt.Errorf("run: --on names no node")
	case r.nodes > 1 && r.nodes != len(hosts):
		return nil, fmt.Errorf("run: --on names %s and -N says %d", cli.Plural(len(hosts), "node"), r.nodes)
	}
	return hosts, nil
}

// prepare has every node make the job's services, and gives the command's environment on each. When one cannot, the others give back what they made as soon
// as this process ends: it is the job.
func (r *runArgs) prepare(ctx context.Context, o *cli.Options, job local.Entry) ([][]string, error) {
	environs := make([][]string, len(job.Hosts))
	errs := make([]error, len(job.Hosts))
	var all sync.WaitGroup
	for i, node := range job.Hosts {
		all.Go(func() {
			reply, err := callHook(ctx, o, node, r.label, local.PhasePrepare, local.Call{Job: job.Job})
			_, _ = os.Stderr.Write(reply.Stderr)
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

// callHook calls a node as weft-hook does.
func callHook(ctx context.Context, o *cli.Options, node, scheduler, phase string, in any) (core.HookReply, error) {
	var reply core.HookReply
	body, err := json.Marshal(in)
	if err != nil {
		return reply, err
	}
	err = o.AskNode(ctx, node, "hook", core.HookCall{Scheduler: scheduler, Phase: phase, Stdin: body}, &reply)
	return reply, err
}

// environ is the submitting environment with the job's variables. All that such a variable could carry is gone, whatever the node answers: a value that
// was left would let the command use another job's VNIs.
func environ(base []string, a local.Answer, at string) []string {
	gone := map[string]bool{"WEFT_JOB": true, "WEFT_NODE": true}
	for _, v := range node.Environment(node.Entry{}) {
		gone[v.Name] = true
	}
	for _, name := range a.Unset {
		gone[name] = true
	}
	for _, v := range a.Set {
		gone[v.Name] = true
	}
	var out []string
	for _, kv := range base {
		if name, _, _ := strings.Cut(kv, "="); !gone[name] {
			out = append(out, kv)
		}
	}
	for _, v := range a.Set {
		out = append(out, v.Name+"="+v.Value)
	}
	return append(out, "WEFT_JOB="+a.Job, "WEFT_NODE="+at)
}
