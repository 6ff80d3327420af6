package policy

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/policy/cases"
)

func newPolicyTest(o *cli.Options) *cobra.Command {
	a, only, coverage := &rulesArgs{}, "", false
	cmd := &cobra.Command{
		Use: "test [FILES]", Short: "Run the tests of a policy", Args: cobra.ArbitraryArgs,
		Long: `Run the cases in the files whose names end in _test.policy.hcl. Each case has a
job, the resources in use, and the expected decision. A failed case shows each
attribute that differs, and the rule and line that set it.

FILES are files and folders of the policy and its tests. Without FILES, or if
they have only tests, Weft takes the policy that the configuration names.

Exit codes:
  0  all cases pass
  1  a case fails
  2  Weft cannot use the policy or its tests, or no case ran`,
		RunE: func(cmd *cobra.Command, args []string) error {
			match, err := cli.Regexp(cmd, only)
			if err != nil {
				return err
			}
			r := a.loadTested(args)
			tests, findings := cases.Load(r.Tests)
			if r.Policy == nil || tests == nil {
				cli.Show(append(r.Findings, findings...))
				return unusable(append(r.Findings, findings...))
			}
			report := tests.Run(r.Policy, r.Env, match)
			if len(report.Cases) == 0 {
				return cli.Usage("policy test: no case was run: %s are there in %s", core.Plural(tests.Len(), "case"), core.Plural(len(r.Tests), "test file"))
			}
			if err := cli.Print(o, report, func(w io.Writer, r cases.Report) { printReport(w, r, coverage) }); err != nil {
				return err
			}
			if report.Failed > 0 {
				return cli.Exit(cli.ExitFailed, fmt.Errorf("policy test: %d of %s failed", report.Failed, core.Plural(len(report.Cases), "case")))
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&only, "run", "", "run only the cases whose names match this `REGEXP`")
	cmd.Flags().BoolVar(&coverage, "coverage", false, "list the rules, denies and quotas that apply to no case")
	a.Flags(cmd)
	return o.Listing(cmd)
}

func printReport(w io.Writer, r cases.Report, coverage bool) {
	for _, c := range r.Cases {
		if c.OK {
			continue
		}
		fmt.Fprintf(w, "FAILED %q (%s:%d)\n", c.Case, c.File, c.Line)
		for _, d := range c.Differences {
			fmt.Fprintf(w, "  %s: want %s\n", d.What, d.Want)
			fmt.Fprintf(w, "  %*s  got  %s\n", len(d.What), "", d.Got)
			if d.By != nil {
				fmt.Fprintf(w, "  %*s  by   %s\n", len(d.What), "", place(*d.By))
			}
		}
	}
	fmt.Fprintf(w, "%d passed, %d failed\n", r.Passed, r.Failed)
	if coverage {
		verb := "were"
		if r.Coverage.Reached == 1 || r.Coverage.Rules == 1 {
			verb = "was"
		}
		fmt.Fprintf(w, "%d of %s %s for the job of a case\n", r.Coverage.Reached, core.Plural(r.Coverage.Rules, "rule"), verb)
		for _, p := range r.Coverage.Missed {
			fmt.Fprintf(w, "  not reached: %s\n", place(p))
		}
	}
}
