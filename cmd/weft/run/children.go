package run

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/plugins/local"
)

// passedOn are the signals that reach the children of a job on several nodes. A job on one node is the command itself and needs none.
var passedOn = []os.Signal{
	syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGALRM,
}

// joining bounds how long a node may take to learn of its child.
const joining = 10 * time.Second

// children runs the command once on each simulated node, and waits. A child that cannot start ends the others; signals reach all of them; none of them, and
// nothing that they started, outlives this process when it is killed: see keep.
func (r *runArgs) children(ctx context.Context, o *cli.Options, job local.Entry, path string, who identity, environs [][]string) error {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, passedOn...)
	defer func() {
		signal.Stop(signals)
		close(signals)
	}()
	if ctx.Err() != nil { // the signal came before anybody would have passed it on
		return fmt.Errorf("job %s was not started: %w", job.Job, context.Cause(ctx))
	}
	k, err := startKeeper()
	if err != nil {
		return err
	}
	defer k.end()
	begun, err := k.begin(keepSpec{Path: path, Args: r.command, Environs: environs, Cred: who.cred})
	if err != nil {
		return err
	}
	if begun.Err != "" {
		return cli.Exit(cli.ExitExec, fmt.Errorf("run %s on %s: it cannot be executed: %s", path, job.Hosts[len(begun.PIDs)], begun.Err))
	}
	go func() {
		for s := range signals {
			if s, ok := s.(syscall.Signal); ok {
				_ = k.to.Encode(int(s))
			}
		}
	}()
	if err := r.join(o, job, begun.PIDs); err != nil {
		return err
	}
	code, err := k.wait()
	if err == nil && code != 0 {
		err = cli.Exit(code, nil)
	}
	return err
}

// join tells each further node which process is its part of the job. A child that has ended already has nothing to join with, and its node gives back with
// the job.
func (r *runArgs) join(o *cli.Options, job local.Entry, pids []int) error {
	ctx, cancel := context.WithTimeout(context.Background(), joining)
	defer cancel()
	for i, at := range job.Hosts[1:] {
		err := o.AskNode(ctx, at, "join", dev.Join{Job: job.Job, PID: int32(pids[i+1])}, nil)
		if err != nil && core.AsError(err).Reason != core.Cancelled {
			return err
		}
	}
	return nil
}
