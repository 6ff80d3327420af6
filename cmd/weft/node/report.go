package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/weft-hpc/weft/cmd/weft/cli"
	"github.com/weft-hpc/weft/config"
	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi"
	"github.com/weft-hpc/weft/hclfile"
)

// reportArgs are the flags of a report.
type reportArgs struct {
	file, nic, config string
	jobs              bool // try on a NIC with jobs, too
}

func (a *reportArgs) flags(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.file, "report", "",
		"compare the answers of a NIC with the sources of its driver, and write `FILE`")
	cmd.Flags().StringVar(&a.nic, "nic", "", "NIC of the report, such as cxi0; best one without jobs")
	cmd.Flags().BoolVar(&a.jobs, "with-jobs", false, "report on a NIC that has jobs; this leaves some trials out")
}

// write makes the report. It asks no agent, since it is for the first day, too.
func (a *reportArgs) write(ctx context.Context, o *cli.Options) error {
	if os.Geteuid() != 0 {
		return core.Errorf(core.NotAllowed, "report: only root may make services on a NIC").WithRemedy("be root")
	}
	site, err := cli.LoadOwn(a.config)
	if err != nil {
		return err
	}
	d, err := realDriver(ctx, site)
	if err != nil {
		return err
	}
	first, err := spareVNIs(site)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(a.file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	trials, stop := untilSignal(ctx)
	defer stop()
	r, err := d.Report(trials, a.nic, first, a.jobs)
	if err == nil {
		var host unix.Utsname
		err = unix.Uname(&host)
		r.Weft, r.Kernel = o.Version, unix.ByteSliceToString(host.Release[:])
		to := json.NewEncoder(f)
		to.SetIndent("", "  ")
		err = errors.Join(err, to.Encode(r))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, os.Remove(a.file))
	}
	return a.tell(r)
}

// untilSignal ends also by the signals of a lost terminal, which would leave the services. nohup keeps SIGHUP away.
func untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	signals := []os.Signal{unix.SIGHUP, unix.SIGQUIT}
	return signal.NotifyContext(ctx, slices.DeleteFunc(signals, signal.Ignored)...)
}

// tell says which trials differ. The exit code is 1 then.
func (a *reportArgs) tell(r cxi.Report) error {
	differ := slices.DeleteFunc(slices.Clone(r.Rows), func(row cxi.Row) bool { return row.Agrees })
	for _, row := range differ {
		fmt.Printf("%s: %s, and the sources of SHS %s say %s\n", row.Rule, row.Seen, r.Release, row.Expected)
	}
	for _, l := range r.Left {
		fmt.Printf("service %d is left: %s: `cxi_service delete -d %s -s %d`\n", l.Service, l.Why, a.nic, l.Service)
	}
	fmt.Printf("%d of %d trials are as the sources of SHS %s say; %s has all of them\n",
		len(r.Rows)-len(differ), len(r.Rows), r.Release, a.file)
	if len(differ)+len(r.Left) > 0 {
		return cli.Exit(1, nil)
	}
	return nil
}

// realDriver is the driver "cxi" as config.hcl sets it up.
func realDriver(ctx context.Context, site *config.Config) (*cxi.Driver, error) {
	at := slices.IndexFunc(site.Drivers, func(p config.Plugin) bool { return p.Type == "cxi" })
	if at < 0 {
		return nil, core.Errorf(core.NotSupported,
			"report: %s has no driver \"cxi\", and a report is of a real NIC", site.File)
	}
	d := cxi.New()
	if _, findings := site.Drivers[at].Apply(ctx, d); hclfile.Failed(findings) {
		return nil, config.AsError(findings)
	}
	return d, nil
}

// spareVNIs are an aligned block of which no pool and no service has a VNI: no job can have one.
func spareVNIs(site *config.Config) (core.VNI, error) {
	taken := func(first int) bool {
		last := first + cxi.ReportVNIs - 1
		return slices.ContainsFunc(slices.Concat(site.Pools, site.Services), func(p config.Pool) bool {
			for _, r := range p.VNIs {
				if first <= int(r.Last) && int(r.First) <= last {
					return true
				}
			}
			return false
		})
	}
	for first := cxi.ReportVNIs; first < 1<<16; first += cxi.ReportVNIs { // VNIs 1 and 10 are the default service's
		if !taken(first) {
			return core.VNI(first), nil
		}
	}
	return 0, core.Errorf(core.BadConfig, "report: pools and services leave no block of %d VNIs", cxi.ReportVNIs).
		WithRemedy("take a block out of a pool in config.hcl: no job may have a VNI of the trials")
}
