// Command weft is Weft's one binary: the daemons, the operator's verbs, and `weft run`.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/core"
)

// version is set by the linker.
var version = "devel"

// Exit codes, as `weft --help` tells them.
const (
	exitFailed = 1   // the call was understood and failed
	exitUsage  = 2   // wrong usage, or a configuration that cannot be used
	exitRun    = 125 // `weft run` itself failed; everything else is COMMAND's own
	exitExec   = 126 // its COMMAND cannot be executed
	exitNone   = 127 // there is no such COMMAND
)

// exitError carries an exit code; an empty text prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// execute runs one command line and gives its exit code.
func execute(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(dashed(args))
	err := root.ExecuteContext(ctx)
	if err == nil {
		return 0
	}
	code := exitFailed
	if e, ok := errors.AsType[*exitError](err); ok {
		code = e.code
	} else if e, ok := errors.AsType[*core.Error](err); ok && (e.Reason == core.BadConfig || e.Reason == core.BadCall) {
		code = exitUsage
	}
	complain(err)
	return code
}

// complain writes an error for a person, as one line.
func complain(err error) {
	if text := strings.TrimSpace(explain(err)); text != "" {
		fmt.Fprintln(os.Stderr, "weft: "+strings.ReplaceAll(text, "\n", " "))
	}
}

// explain is an error with what to do about it, on one line.
func explain(err error) string {
	if e, ok := errors.AsType[*core.Error](err); ok && e.Remedy != "" {
		return err.Error() + "; " + e.Remedy
	}
	return err.Error()
}

func newRoot() *cobra.Command {
	o := &options{}
	root := &cobra.Command{
		Use:   "weft",
		Short: "The one authority over a Slingshot fabric's VNIs, whichever schedulers share it",
		Long: `Weft gives every job on an HPE Slingshot system its own isolated network resources: VNIs, CXI services on each NIC that only
the job's owner can use, traffic classes and guaranteed NIC resources.

Exit codes: 0 done; 1 it failed, and standard error says why and what to do; 2 wrong usage, or a configuration that cannot be used.
` + "`weft run`" + ` exits as its COMMAND does; with 125 when the job could not be started, 126 and 127 when COMMAND could not.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
		Args:          noVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return misuse(cmd, err) })
	root.PersistentFlags().StringVar(&o.dir, "dir", defaultDir, "folder of the system's sockets; where it is not there, /run/weft")
	root.AddGroup(
		&cobra.Group{ID: "see", Title: "To see:"},
		&cobra.Group{ID: "change", Title: "To change:"},
		&cobra.Group{ID: "work", Title: "To work with:"},
		&cobra.Group{ID: "daemon", Title: "To run it:"},
	)
	for id, cmds := range map[string][]*cobra.Command{
		"see":    {newStatus(o), newJobs(o), newJob(o), newVNIs(o), newNodes(o), newServices(o), newDoctor(o), newEnv(o), newVersion()},
		"change": {newForget(o), newDrain(o), newResume(o), newRecover(o), newNode(o), newClean(o)},
		"work":   {newRun(o), newPolicy(o), newDev(o), newDemo(), newSim(o), newStore()},
		"daemon": {newServer(), newAgent(o), newTLS(), newInit(o), newPlugin(o), newReload(o)},
	} {
		for _, c := range cmds {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	root.AddCommand(newKeep())
	root.SetHelpCommandGroupID("work")
	root.SetCompletionCommandGroupID("work")
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = noVerb, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
		wantArgs(c)
	}
	return root
}
