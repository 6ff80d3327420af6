// Package run is `weft run`: a command with network resources of its own.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/dev"
	"github.com/weft-hpc/weft/plugins/local"
)

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
		Use: "run [flags] -- COMMAND [ARG…]", Short: "Run a command with its own network resources, without a scheduler",
		Long: `Run COMMAND as a separate job on a login or transfer node without a scheduler.
The job has VNIs and CXI services that only its owner can use. COMMAND replaces
weft in its process. Weft removes the services when that process ends.

With -N, a simulated system (` + "`weft dev`" + `) starts COMMAND once on each of several
nodes, and passes signals on to all of them. The options are those of a
scheduler's users:
  weft run --options vnis=2 --options classes=LOW_LATENCY:BULK_DATA -- ./app

COMMAND has the environment of the shell, except for the variables of the job's
network, such as SLINGSHOT_VNIS. With --user, HOME, USER and LOGNAME are those
of that user.

Exit code: COMMAND's own, or the first of several that is not 0. After a signal
it is 128 plus the signal's number. It is 125 when the job could not be started
or the request is wrong, 126 when COMMAND cannot be executed, and 127 when
COMMAND does not exist.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || args[0] == "" {
				return cli.Misuse(cmd, "run: COMMAND is missing")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			cli.OutliveReaders()
			r.command = args
			err := r.run(cmd.Context(), o)
			if _, ok := errors.AsType[*cli.ExitError](err); ok || err == nil {
				return err
			}
			return cli.Exit(cli.ExitRun, err)
		},
	}
	cmd.Flags().SetInterspersed(false)
	cmd.Flags().IntVarP(&r.nodes, "nodes", "N", 1, "number of nodes; more than one only in weft dev")
	cmd.Flags().StringVar(&r.on, "on", "",
		"run on these `NODES`, such as n1 or n[1-2] (default: the nodes with the fewest jobs)")
	o.NodeNames().Flag(cmd, "on")
	cmd.Flags().StringVar(&r.wish.User, "user", "", "run as this user; only for root")
	cmd.Flags().StringArrayVar(&r.wish.Options, "options", nil,
		"a network option of the job, `KEY[=VALUE]`; may be repeated")
	cli.OptionNames(func(context.Context) (core.RequestParser, func(), error) {
		return local.New(r.label), func() {}, nil
	}).Flag(cmd, "options")
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
	said := notice(os.Stderr, "the job waits for the agent of "+hosts[0]+"; Ctrl-C ends the wait")
	err = o.AskJob(ctx, hosts[0], "begin", dev.Begin{Wish: r.wish, Hosts: hosts}, &job)
	said()
	if err != nil {
		return err
	}
	said = notice(os.Stderr, r.waits(o, job.Job))
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
