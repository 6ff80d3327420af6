package plugin

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/host"
	"github.com/weft-hpc/weft/host/probe"
	"github.com/weft-hpc/weft/sdk/conformance"
)

type verifyArgs struct {
	config, vnis, hold, junit, only string
	memory, expendable, verbose     bool
	patience                        time.Duration
}

func newPluginVerify(o *cli.Options) *cobra.Command {
	a := &verifyArgs{}
	cmd := &cobra.Command{
		Use: "verify PATH|NAME", Short: "Test a plugin on this machine, next to its jobs", Args: cobra.ExactArgs(1),
		Long: `Start a plugin as a daemon does, and try each duty in docs/plugins.md. PATH is
a plugin's program. NAME is the label of a block of the configuration, or a
built-in plugin. The daemons need not run, and the test does not affect them.

The test may run on a node with jobs. A driver's cases make services for uids
without an account, with VNIs of --vnis only. They remove the services, also
after a failure or an interrupt. With --config, the default is the five highest
VNIs outside all pools and services, and Weft refuses VNIs of a pool. Without
--config and --vnis, Weft skips the cases that make a service. Weft asks a
scheduler about a job and a node that do not exist. The built-in "sim" without
--config gets its own simulated NICs, and every case runs on them.

Exit codes:
  0  no case failed
  1  a case failed
  2  Weft cannot use the plugin or the arguments, or no case passed`,
		RunE: func(cmd *cobra.Command, args []string) error { return verify(o, cmd, a, args[0]) },
	}
	f := cmd.Flags()
	f.StringVar(&a.config, "config", "", "configuration with the plugin's block (default: the plugin's defaults)")
	f.StringVar(&a.vnis, "vnis", "", "unused VNIs, five for every case: 65000-65004")
	f.StringVar(&a.hold, "hold", "", "`PROGRAM` that holds a service in use: it takes DEVICE, SERVICE and UID, "+
		"prints a line when it holds the service, and ends when its standard input ends")
	f.BoolVar(&a.memory, "in-memory", false,
		"the plugin's NICs exist only in its memory: skip the cases with two processes")
	f.BoolVar(&a.expendable, "expendable", false,
		"nothing on this machine matters: also try to remove the system's services")
	f.StringVar(&a.junit, "junit", "", "write a JUnit report to this `FILE`")
	f.StringVar(&a.only, "run", "", "run only the cases whose names match this `REGEXP`: driver/D5")
	f.DurationVar(&a.patience, "patience", 30*time.Second, "time limit of one case")
	f.BoolVarP(&a.verbose, "verbose", "v", false, "also list the cases that pass")
	return o.Listing(cmd)
}

func verify(o *cli.Options, cmd *cobra.Command, a *verifyArgs, what string) error {
	only, err := cli.Regexp(cmd, a.only)
	if err != nil {
		return err
	}
	run := conformance.Options{Only: only}
	if a.patience <= 0 || a.patience > time.Hour {
		return cli.Misuse(cmd, "plugin verify: patience %v: it is not above 0 and at most 1h", a.patience)
	}
	dir, err := os.MkdirTemp("", "weft")
	if err != nil {
		return fmt.Errorf("plugin verify: folder for its socket: %w", err)
	}
	defer os.RemoveAll(dir)
	t, err := a.find(what, dir)
	if err != nil {
		return err
	}
	table := o.Output == "table"
	if table {
		fmt.Printf("%s, %s\n", t.title, t.about())
		run.Told = func(_ conformance.Case, r conformance.Result) { printResult(cli.Shown(os.Stdout), r, a.verbose) }
	}
	report, err := conformance.Run(cmd.Context(), probe.Subject(t.title, t.program, dir), t.site, run)
	if err == nil || len(report.Results) > 0 {
		if err := a.tell(o, report); err != nil {
			return err
		}
	}
	switch {
	case err != nil && cmd.Context().Err() != nil:
		return cli.Exit(cli.ExitFailed, fmt.Errorf("plugin verify: %w", err))
	case err != nil:
		if _, complained := errors.AsType[*core.PathError](err); complained && t.complain != nil {
			t.complain(err)
		}
		return cli.Usage("plugin verify: %s cannot be verified: %w", t.title, err)
	case report.Failed > 0:
		return cli.Exit(cli.ExitFailed, fmt.Errorf("plugin verify: %d of %s failed", report.Failed, core.Plural(len(report.Results), "case")))
	case report.Passed == 0:
		return cli.Usage("plugin verify: no case passed: %s skipped, of %d", core.Plural(report.Skipped, "case"), len(report.Results))
	}
	return nil
}

// tell prints what came of a run, and writes its JUnit report.
func (a *verifyArgs) tell(o *cli.Options, r *conformance.Report) error {
	if err := cli.Print(o, r, func(w io.Writer, r *conformance.Report) {
		fmt.Fprintf(w, "%d passed, %d failed, %d skipped in %v\n", r.Passed, r.Failed, r.Skipped, r.Took.Round(10*time.Millisecond))
	}); err != nil {
		return err
	}
	if a.junit == "" {
		return nil
	}
	var text bytes.Buffer
	err := r.JUnit(&text)
	if err == nil {
		err = os.WriteFile(a.junit, text.Bytes(), 0o644)
	}
	if err != nil {
		return cli.Usage("plugin verify: junit: %w", err)
	}
	return nil
}

func printResult(w io.Writer, r conformance.Result, verbose bool) {
	said := map[conformance.Outcome]string{conformance.Passed: "ok", conformance.Failed: "FAILED", conformance.Skipped: "skipped"}[r.Outcome]
	if r.Outcome == conformance.Passed && !verbose {
		return
	}
	fmt.Fprintf(w, "%-7s  %-3s  %s\n", said, r.Rule, r.Case)
	for _, why := range r.Why {
		fmt.Fprintf(w, "               %s\n", why)
	}
}

// about says what the run may touch.
func (t *target) about() string {
	switch {
	case t.kind != host.Driver && t.kind != "": // it makes no services
		return t.from
	case len(t.site.VNIs) == 0:
		return t.from + ", no VNI to make services with"
	}
	return t.from + ", VNIs " + core.FormatVNIs(t.site.VNIs)
}

// find finds the plugin, and says what its cases may touch.
func (a *verifyArgs) find(what, dir string) (*target, error) {
	t, err := findTarget(what, a.config)
	if err != nil {
		return nil, err
	}
	t.site.InMemory, t.site.Expendable, t.site.Patience = a.memory, a.expendable, a.patience
	if a.hold != "" {
		t.site.Hold = func(ctx context.Context, s core.Service) (func(), error) { return holdBy(ctx, a.hold, s) }
	}
	if t.sim {
		t.simulated(cmp.Or(t.state, dir+"/nics"))
	}
	if a.vnis != "" {
		t.site.VNIs, err = chosenVNIs(a.vnis, t.config)
	} else if t.config != nil {
		t.site.VNIs = spareVNIs(t.config)
	}
	return t, err
}
