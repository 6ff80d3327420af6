package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/hook"
	"github.com/weft-hpc/weft/plugins/local"
	"github.com/weft-hpc/weft/server"
)

// runArgs is what `weft run` is told.
type runArgs struct {
	nodes   int
	on      string
	wish    local.Wish
	label   string
	command []string
}

func newRun(o *options) *cobra.Command {
	r := &runArgs{}
	cmd := &cobra.Command{
		Use: "run [flags] -- COMMAND [ARG…]", Short: "Run a command with network resources of its own, where no scheduler does it",
		Long: `Run COMMAND as a job of its own: with VNIs and CXI services that only its owner can use, on a login or transfer node where no
scheduler does it. COMMAND replaces weft in its own process; when that process ends, however it ends, its services go.

With -N a simulated system (` + "`weft dev`" + `) starts COMMAND once on each of several nodes. Options are those of a scheduler's users:
  weft run --options vnis=2 --options classes=LOW_LATENCY:BULK_DATA -- ./app

Exit code: COMMAND's own, 128 and the signal's number if one ended it; 125 when the job could not be started, 126 and 127 when COMMAND could not.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			r.command = args
			return r.run(cmd.Context(), o)
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().IntVarP(&r.nodes, "nodes", "N", 1, "on how many nodes; more than one only in weft dev")
	cmd.Flags().StringVar(&r.on, "on", "", "on these nodes, comma-separated; by default those with the fewest jobs")
	cmd.Flags().StringVar(&r.wish.User, "user", "", "as this user; for root only")
	cmd.Flags().StringArrayVar(&r.wish.Options, "options", nil, "what the job wants of the network, KEY or KEY=VALUE; may be repeated")
	cmd.Flags().StringVar(&r.label, "scheduler", "local", "label of the scheduler of type local in config.hcl")
	return cmd
}

func (r *runArgs) run(ctx context.Context, o *options) error {
	hosts, err := r.hosts(ctx, o)
	if err != nil {
		return &exitError{exitRun, err}
	}
	path, err := exec.LookPath(r.command[0])
	if err != nil {
		code := 127
		if errors.Is(err, os.ErrPermission) {
			code = 126
		}
		return &exitError{code, fmt.Errorf("run %s: %w", r.command[0], err)}
	}
	who, err := owner(r.wish.User)
	if err != nil {
		return &exitError{exitRun, err}
	}
	var job local.Entry
	if err := hook.Call(ctx, o.agent(hosts[0]), "begin", dev.Begin{Wish: r.wish, Hosts: hosts}, &job); err != nil {
		return &exitError{exitRun, err}
	}
	environs, err := r.prepare(ctx, o, job)
	if err != nil {
		return &exitError{exitRun, err}
	}
	if len(hosts) == 1 {
		if err := who.become(); err != nil {
			return &exitError{exitRun, err}
		}
		err := syscall.Exec(path, r.command, environs[0])
		return &exitError{126, fmt.Errorf("run %s: %w", path, err)}
	}
	return r.children(ctx, o, job, path, who, environs)
}

// hosts chooses the job's nodes: those asked for, or the up and undrained ones with the fewest jobs.
func (r *runArgs) hosts(ctx context.Context, o *options) ([]string, error) {
	if r.on != "" {
		hosts := strings.Split(r.on, ",")
		if r.nodes > 1 && r.nodes != len(hosts) {
			return nil, fmt.Errorf("run: --on names %d nodes and -N says %d", len(hosts), r.nodes)
		}
		return hosts, nil
	}
	if r.nodes < 1 {
		return nil, fmt.Errorf("run: -N %d: a job has at least one node", r.nodes)
	}
	all, err := hook.List[server.NodeRow](ctx, o.server(), "nodes", nil)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(n server.NodeRow) bool { return n.State != "up" || n.Drained != "" })
	slices.SortStableFunc(all, func(a, b server.NodeRow) int { return a.Jobs - b.Jobs })
	if len(all) < r.nodes {
		return nil, core.Errorf(core.NodeDrained, "run: %d nodes are wanted and %d are up and not drained", r.nodes, len(all)).WithMend("`weft nodes` shows why")
	}
	hosts := make([]string, r.nodes)
	for i := range hosts {
		hosts[i] = all[i].Node
	}
	slices.Sort(hosts)
	return hosts, nil
}

// prepare has every node make the job's services, and gives the command's environment on each. When one cannot, the others give back what they made as soon
// as this process ends: it is the job.
func (r *runArgs) prepare(ctx context.Context, o *options, job local.Entry) ([][]string, error) {
	environs := make([][]string, len(job.Hosts))
	errs := make([]error, len(job.Hosts))
	var all sync.WaitGroup
	for i, node := range job.Hosts {
		all.Go(func() {
			reply, err := callHook(ctx, o, node, r.label, local.PhasePrepare, local.Call{Job: job.Job})
			_, _ = os.Stderr.Write(reply.Stderr)
			if err == nil && reply.Exit != 0 {
				err = &exitError{reply.Exit, nil}
			}
			var answer local.Answer
			if err == nil {
				err = json.Unmarshal(reply.Stdout, &answer)
			}
			environs[i], errs[i] = environ(os.Environ(), answer, node), err
		})
	}
	all.Wait()
	var said []error
	for _, err := range errs {
		if err != nil && err.Error() != "" {
			said = append(said, err)
		}
	}
	if slices.ContainsFunc(errs, func(e error) bool { return e != nil }) {
		return nil, errors.Join(append(said, fmt.Errorf("job %s was not started", job.Job))...)
	}
	return environs, nil
}

// callHook calls a node as weft-hook does.
func callHook(ctx context.Context, o *options, node, scheduler, phase string, in any) (core.HookReply, error) {
	var reply core.HookReply
	body, err := json.Marshal(in)
	if err != nil {
		return reply, err
	}
	err = hook.Call(ctx, o.agent(node), "hook", core.HookCall{Scheduler: scheduler, Phase: phase, Stdin: body}, &reply)
	return reply, err
}

// environ is the submitting environment with the job's variables: what it carried of them is gone.
func environ(base []string, a local.Answer, node string) []string {
	var out []string
	for _, kv := range base {
		name, _, _ := strings.Cut(kv, "=")
		set := slices.ContainsFunc(a.Set, func(v local.Variable) bool { return v.Name == name })
		if !set && !slices.Contains(a.Unset, name) && name != "WEFT_JOB" && name != "WEFT_NODE" {
			out = append(out, kv)
		}
	}
	for _, v := range a.Set {
		out = append(out, v.Name+"="+v.Value)
	}
	return append(out, "WEFT_JOB="+a.Job, "WEFT_NODE="+node)
}

// children runs the command once on each simulated node, and waits. A child that cannot start ends the others; signals reach all of them.
func (r *runArgs) children(ctx context.Context, o *options, job local.Entry, path string, who *identity, environs [][]string) error {
	all := make([]*exec.Cmd, 0, len(job.Hosts))
	defer func() {
		for _, c := range all {
			_ = c.Process.Kill()
		}
	}()
	for i, node := range job.Hosts {
		c := exec.CommandContext(ctx, path, r.command[1:]...)
		c.Args[0], c.Env, c.Stdin, c.Stdout, c.Stderr = r.command[0], environs[i], os.Stdin, os.Stdout, os.Stderr
		c.SysProcAttr = who.attr()
		c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
		if err := c.Start(); err != nil {
			return &exitError{126, fmt.Errorf("run %s on %s: %w", path, node, err)}
		}
		all = append(all, c)
		if i == 0 {
			continue
		}
		// A child that has ended already has nothing to join with, and its node gives back with the job.
		err := hook.Call(ctx, o.agent(node), "join", dev.Join{Job: job.Job, PID: int32(c.Process.Pid)}, nil)
		if err != nil && core.AsError(err).Reason != core.Cancelled {
			return &exitError{exitRun, err}
		}
	}
	code := 0
	for _, c := range all {
		if err := c.Wait(); err != nil && code == 0 {
			code = exitCode(c.ProcessState)
		}
	}
	all = nil
	if code != 0 {
		return &exitError{code, nil}
	}
	return nil
}

// exitCode is how a shell tells a process's end.
func exitCode(s *os.ProcessState) int {
	if s == nil {
		return exitRun
	}
	if w, ok := s.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return 128 + int(w.Signal())
	}
	return s.ExitCode()
}

// identity is who the command runs as; nil is the caller.
type identity struct {
	cred *syscall.Credential
	home string
}

// owner looks up the user that the command runs as; an empty name is the caller.
func owner(name string) (*identity, error) {
	if name == "" {
		return nil, nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return nil, core.Errorf(core.BadCall, "user %q: %w", core.Clip(name), err)
	}
	ids, err := u.GroupIds()
	if err != nil {
		return nil, core.Errorf(core.BadCall, "user %q: its groups: %w", core.Clip(name), err)
	}
	if os.Geteuid() != 0 {
		if u.Uid == strconv.Itoa(os.Geteuid()) {
			return nil, nil
		}
		return nil, core.Errorf(core.NotAllowed, "user %q: only root may run a command as another user", core.Clip(name))
	}
	number := func(s string) uint32 {
		n, _ := strconv.ParseUint(s, 10, 32)
		return uint32(n)
	}
	c := &syscall.Credential{Uid: number(u.Uid), Gid: number(u.Gid)}
	for _, g := range ids {
		c.Groups = append(c.Groups, number(g))
	}
	return &identity{c, u.HomeDir}, nil
}

func (i *identity) attr() *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if i != nil {
		a.Credential = i.cred
	}
	return a
}

// become makes this process the owner's, for the exec that follows.
func (i *identity) become() error {
	if i == nil {
		return nil
	}
	groups := make([]int, len(i.cred.Groups))
	for k, g := range i.cred.Groups {
		groups[k] = int(g)
	}
	if err := syscall.Setgroups(groups); err != nil {
		return fmt.Errorf("user: groups: %w", err)
	}
	if err := syscall.Setgid(int(i.cred.Gid)); err != nil {
		return fmt.Errorf("user: gid: %w", err)
	}
	if err := syscall.Setuid(int(i.cred.Uid)); err != nil {
		return fmt.Errorf("user: uid: %w", err)
	}
	return nil
}
