// Command weft is Weft's one binary: the daemons, the operator's verbs, and `weft run`.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/certificate"
	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/cmd/weft/daemon"
	"github.com/weft-hpc/weft/cmd/weft/demo"
	"github.com/weft-hpc/weft/cmd/weft/job"
	"github.com/weft-hpc/weft/cmd/weft/node"
	"github.com/weft-hpc/weft/cmd/weft/plugin"
	"github.com/weft-hpc/weft/cmd/weft/policy"
	"github.com/weft-hpc/weft/cmd/weft/run"
	"github.com/weft-hpc/weft/cmd/weft/setup"
	"github.com/weft-hpc/weft/cmd/weft/sim"
	"github.com/weft-hpc/weft/cmd/weft/store"
)

// version is set by the linker.
var version = "devel"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := execute(ctx, os.Args[1:])
	stop()
	os.Exit(code)
}

// execute runs one command line and gives its exit code.
func execute(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(policy.Dashed(args))
	err := root.ExecuteContext(ctx)
	if err != nil {
		cli.Complain(err)
	}
	return cli.ExitCode(err)
}

func newRoot() *cobra.Command {
	o := &cli.Options{Version: version}
	root := &cobra.Command{
		Use:   "weft",
		Short: "The one authority over a Slingshot fabric's VNIs, for all schedulers that share it",
		Long: `Weft gives every job on an HPE Slingshot system its own isolated network resources: VNIs, CXI services on each NIC that only
the job's owner can use, traffic classes and guaranteed NIC resources.

Exit codes: 0 done; 1 it failed, and standard error says why and what to do; 2 wrong usage, or a configuration that cannot be used.
` + "`weft run`" + ` exits as its COMMAND does; with 125 when the job could not be started, 126 and 127 when COMMAND could not.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
		Args:          cli.NoVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return cli.Misuse(cmd, "%w", err) })
	root.PersistentFlags().StringVar(&o.Dir, "dir", cli.DefaultDir, "folder of the system's sockets; where it is not there, /run/weft")
	root.AddGroup(
		&cobra.Group{ID: "see", Title: "To see:"},
		&cobra.Group{ID: "change", Title: "To change:"},
		&cobra.Group{ID: "work", Title: "To work with:"},
		&cobra.Group{ID: "daemon", Title: "To run it:"},
	)
	for id, cmds := range map[string][]*cobra.Command{
		"see":    {daemon.NewStatus(o), job.NewJobs(o), job.NewJob(o), job.NewVNIs(o), node.NewNodes(o), node.NewServices(o), node.NewDoctor(o), job.NewEnv(o), daemon.NewVersion(o)},
		"change": {job.NewForget(o), node.NewDrain(o), node.NewResume(o), node.NewRecover(o), node.NewNode(o), node.NewClean(o)},
		"work":   {run.New(o), policy.New(o), sim.NewDev(o), demo.New(o), sim.New(o), store.New()},
		"daemon": {daemon.NewServer(o), daemon.NewAgent(o), certificate.New(), setup.New(o), plugin.New(o), daemon.NewReload(o)},
	} {
		for _, c := range cmds {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	root.AddCommand(run.NewKeep())
	root.SetHelpCommandGroupID("work")
	root.SetCompletionCommandGroupID("work")
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		if c.Name() == "completion" {
			c.Args, c.RunE = cli.NoVerb, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
		cli.WantArgs(c)
	}
	return root
}
