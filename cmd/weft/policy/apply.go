package policy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/daemon/reload"
	"github.com/weft-hpc/weft/daemon/settings"
	"github.com/weft-hpc/weft/daemon/shadow"
	"github.com/weft-hpc/weft/hclfile"
	"github.com/weft-hpc/weft/policy"
	"github.com/weft-hpc/weft/policy/folder"
	"github.com/weft-hpc/weft/server"
)

type applied struct {
	Policy  string          `json:"policy"` // hash
	Before  string          `json:"before"` // hash of the one that was in force
	Folder  string          `json:"folder"`
	Files   []string        `json:"files"`
	Tests   []string        `json:"tests"`
	Daemons []cli.ReloadRow `json:"daemons"`
}

func newPolicyApply(o *cli.Options) *cobra.Command {
	a, beside, seen := &rulesArgs{}, "", false
	cmd := &cobra.Command{
		Use: "apply [FILES]", Short: "Check and test a policy, and put it in force", Args: cobra.ArbitraryArgs,
		Long: `Put a policy in force on the server's host. FILES are files and folders of the
policy and its tests. Weft checks them and runs the tests. If all pass, FILES
replace everything in the folder that the configuration names, in one step, and
the daemons of this host reload. That puts edits of config.hcl in force, too.
If FILES have no tests, the tests in the folder run and stay. If a daemon
refuses the reload, Weft restores the folder.
The verb needs the right to write in that folder and to reload. The audit log
has the reload.

With --shadow, Weft puts nothing in force and touches no folder. The server
also decides each job by FILES, and counts the jobs that would get something
else. It does so until --shadow=off, until FILES are in force, or until the
server ends. --shadow --report shows the result so far; ` + "`weft status`" + ` shows the
count. No job waits for the shadow policy. Weft does not count quotas for it.

Exit codes:
  0  the policy is in force
  1  a test fails, or a daemon refuses the policy; nothing has changed
  2  Weft cannot use the policy; nothing has changed`,
		RunE: func(cmd *cobra.Command, args []string) error {
			quiet := seen || beside == "off" // no policy is given
			switch {
			case beside != "" && beside != "on" && beside != "off":
				return cli.Misuse(cmd, "policy apply: --shadow is on or off")
			case seen && beside != "on":
				return cli.Misuse(cmd, "policy apply: --report is for --shadow")
			case quiet != (len(args) == 0):
				return cli.Misuse(cmd, "policy apply: FILES are needed, but with --report and --shadow=off there are none")
			case quiet:
				return askShadow(cmd.Context(), o, shadow.Args{Off: beside == "off"})
			}
			r := a.load(args)
			cli.Show(r.Findings)
			if r.Policy == nil {
				return unusable(r.Findings)
			}
			if len(r.Tests) == 0 {
				_, r.Tests, _ = policy.Gather([]string{r.Config.Policy})
			}
			if failed := settings.Try(r.Policy, r.Env, r.Tests); hclfile.Failed(failed) {
				cli.Show(failed)
				return cli.Exit(cli.ExitFailed, fmt.Errorf("policy apply: the tests do not pass: %s; nothing was changed", tally(failed)))
			}
			if beside == "on" {
				packed, err := shadow.Pack(r.Policy)
				if err != nil {
					return cli.Usage("%w", err)
				}
				return askShadow(cmd.Context(), o, shadow.Args{Text: packed})
			}
			out, err := apply(cmd.Context(), o, r)
			if err != nil {
				return err
			}
			return cli.Print(o, out, func(w io.Writer, out applied) {
				fmt.Fprintf(w, "policy %.12s of %s is in force, in place of %.12s; %s beside it\n", out.Policy, core.Plural(len(out.Files), "file"), out.Before, core.Plural(len(out.Tests), "test file"))
				for _, row := range out.Daemons {
					for _, change := range row.Changed {
						if !strings.HasPrefix(change, reload.PolicyPrefix) { // it stands above
							fmt.Fprintf(w, "%s: %s\n", row.Daemon, change)
						}
					}
				}
			})
		},
	}
	cmd.Flags().StringVar(&beside, "shadow", "", "only count the jobs for which FILES decide otherwise; off ends it")
	cmd.Flags().Lookup("shadow").NoOptDefVal = "on"
	cmd.Flags().BoolVar(&seen, "report", false, "show the result of --shadow so far")
	a.Flags(cmd)
	return o.Listing(cmd)
}

// apply puts a policy in the folder's place and has the daemons reload; when they do not take it, all is as it was.
func apply(ctx context.Context, o *cli.Options, r ruleset) (applied, error) {
	out := applied{Policy: r.Policy.Hash(), Folder: r.Config.Policy, Files: names(r.Files), Tests: names(r.Tests)}
	var st server.Status
	if err := o.Ask(ctx, "status", nil, &st); err != nil {
		return out, err
	}
	out.Before = st.Policy
	swap, err := folder.Stage(r.Config.Policy, slices.Concat(r.Files, r.Tests))
	if err != nil {
		return out, err
	}
	if err := swap.Exchange(); err != nil {
		return out, errors.Join(err, swap.Drop())
	}
	if err := takes(ctx, o, &out); err != nil {
		ctx = context.WithoutCancel(ctx)
		if back := swap.Exchange(); back != nil {
			return out, errors.Join(err, back)
		}
		_, again := o.Reload(ctx) // some of them may have the new one in force
		return out, cli.Exit(cli.ExitFailed, errors.Join(untaken(out.Folder, err, again), swap.Drop()))
	}
	return out, swap.Drop()
}

// untaken says why a policy is not in force: err of its reload, and what came of a reload of the one before, which is in its folder again.
func untaken(folder string, err, again error) error {
	if again == nil || again.Error() == err.Error() { // nobody took either
		return fmt.Errorf("policy apply: it is not in force, and the folder %s is what it was: %w", folder, err)
	}
	return fmt.Errorf("policy apply: it is not in force, and the folder %s is what it was: %w; a daemon that took it has it until `weft reload`, which failed for the one before too: %w", folder, err, again)
}

// takes has the daemons reload, and sees that the server has the policy that is meant.
func takes(ctx context.Context, o *cli.Options, out *applied) error {
	rows, err := o.Reload(ctx)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if row.Refused {
			cli.Show(row.Findings)
			return fmt.Errorf("%s: the reload was refused", row.Daemon)
		}
	}
	var st server.Status
	if err := o.Ask(ctx, "status", nil, &st); err != nil {
		return err
	}
	if st.Policy != out.Policy {
		return fmt.Errorf("the server has policy %.12s in force: it does not read this folder; name its own configuration with --config", st.Policy)
	}
	out.Daemons = rows
	return nil
}
