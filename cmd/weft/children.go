package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"time"

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

// children runs the command once on each simulated node, and waits. A child that cannot start ends the others; signals reach all of them; none outlives
// this process, however it ends.
func (r *runArgs) children(ctx context.Context, o *options, job local.Entry, path string, who *identity, environs [][]string) error {
	signals := make(chan os.Signal, 64)
	signal.Notify(signals, passedOn...)
	defer signal.Stop(signals)
	if ctx.Err() != nil { // the signal came before anybody would have passed it on
		return fmt.Errorf("job %s was not started: %w", job.Job, context.Cause(ctx))
	}
	// The kernel kills a child when the thread that started it ends, so that must live as long as this process.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	var all []*exec.Cmd
	end := func() {
		for _, c := range all {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	}
	for i, at := range job.Hosts {
		c := exec.Command(path, r.command[1:]...)
		c.Args[0], c.Env, c.Stdin, c.Stdout, c.Stderr = r.command[0], environs[i], os.Stdin, os.Stdout, os.Stderr
		c.SysProcAttr = who.attr()
		if err := c.Start(); err != nil {
			end()
			return &exitError{exitExec, fmt.Errorf("run %s on %s: it cannot be executed: %w", path, at, err)}
		}
		all = append(all, c)
	}
	done := make(chan struct{})
	go func() {
		for {
			select {
			case s := <-signals:
				for _, c := range all {
					_ = c.Process.Signal(s)
				}
			case <-done:
				return
			}
		}
	}()
	defer close(done)
	if err := r.join(o, job, all); err != nil {
		end()
		return err
	}
	code := 0
	for _, c := range all {
		if err := c.Wait(); err != nil && code == 0 {
			code = exitCode(c.ProcessState)
		}
	}
	if code != 0 {
		return &exitError{code, nil}
	}
	return nil
}

// join tells each further node which process is its part of the job. A child that has ended already has nothing to join with, and its node gives back with
// the job.
func (r *runArgs) join(o *options, job local.Entry, all []*exec.Cmd) error {
	ctx, cancel := context.WithTimeout(context.Background(), joining)
	defer cancel()
	for i, at := range job.Hosts {
		if i == 0 {
			continue
		}
		err := o.askNode(ctx, at, "join", dev.Join{Job: job.Job, PID: int32(all[i].Process.Pid)}, nil)
		if err != nil && core.AsError(err).Reason != core.Cancelled {
			return err
		}
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
