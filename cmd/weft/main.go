// Command weft is Weft's one binary: the daemons, the operator's verbs, and `weft run`.
package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
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

func execute(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(policy.Dashed(args))
	err := root.ExecuteContext(cli.WithNotes(ctx))
	if err != nil {
		cli.Complain(err)
	}
	return cli.ExitCode(err)
}

func newRoot() *cobra.Command {
	o := &cli.Options{Version: version}
	root := &cobra.Command{
		Use:   "weft",
		Short: "Allocate the VNIs of a Slingshot fabric for all schedulers that share it",
		Long: `Weft gives each job on an HPE Slingshot system its own network resources: VNIs,
traffic classes and guaranteed NIC resources. On each NIC, the job has CXI
services that only its owner can use.

Exit codes:
  0  done
  1  failed: standard error has the reason and the remedy
  2  wrong usage, or a configuration that Weft cannot use

` + "`weft run`" + ` exits with the code of its COMMAND. It exits with 125 when it cannot
start the job, and with 126 or 127 when it cannot start COMMAND.`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Version:       version,
		Args:          cli.NoVerb,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return cli.Misuse(cmd, "%w", err) })
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	root.PersistentFlags().StringVar(&o.Dir, "dir", cli.DefaultDir,
		"folder of the sockets; Weft uses /run/weft if it does not exist")
	root.AddGroup(
		&cobra.Group{ID: "see", Title: "Look at the system:"},
		&cobra.Group{ID: "change", Title: "Change the system:"},
		&cobra.Group{ID: "work", Title: "Run jobs, test policy and simulate:"},
		&cobra.Group{ID: "daemon", Title: "Install and run the daemons:"},
	)
	for id, cmds := range map[string][]*cobra.Command{
		"see":    {daemon.NewStatus(o), daemon.NewObserve(o), job.NewJobs(o), job.NewJob(o), job.NewVNIs(o), node.NewNodes(o), node.NewServices(o), node.NewDoctor(o), job.NewEnv(o), daemon.NewVersion(o)},
		"change": {job.NewForget(o), node.NewDrain(o), node.NewResume(o), node.NewRecover(o), node.NewNode(o), node.NewClean(o)},
		"work":   {run.New(o), policy.New(o), sim.NewDev(o), demo.New(o), sim.New(o), store.New(o)},
		"daemon": {daemon.NewServer(o), daemon.NewAgent(o), certificate.New(), setup.New(o), plugin.New(o), daemon.NewReload(o)},
	} {
		for _, c := range cmds {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	root.AddCommand(run.NewKeep(), run.NewTry(o))
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
