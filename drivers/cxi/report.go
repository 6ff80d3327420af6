package cxi

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/drivers/cxi/health"
)

// ReportFormat is the first field of a Report. It changes when a reader of the older one would misread it.
const ReportFormat = "weft-nic-report 1"

// Report is how a NIC answers, compared with the sources of its release. It names no user and no host.
type Report struct {
	Format  string    `json:"format"`
	Weft    string    `json:"weft"`
	Kernel  string    `json:"kernel"`
	Driver  string    `json:"driver"` // its module and what it was built from
	Libcxi  string    `json:"libcxi"`
	Release string    `json:"release"` // as Weft tells it; empty: it is not known
	ToldBy  string    `json:"told_by"`
	State   []string  `json:"state"`  // of the NIC's files, and what is wrong with them
	Totals  string    `json:"totals"` // resources of the device
	System  []string  `json:"system"` // the driver's services as they stand
	Rows    []Row     `json:"rows"`   // the trials
	Left    []Leaving `json:"left"`   // of the trials, that could not be removed
}

// Row is one trial.
type Row struct {
	Rule     string `json:"rule"`
	Expected string `json:"expected"` // of the release; empty: it is not known
	Seen     string `json:"seen"`
	Agrees   bool   `json:"agrees"`
	Took     int64  `json:"took_us"` // microseconds
}

// Leaving is a service that a report left behind.
type Leaving struct {
	Service uint32 `json:"service"`
	Why     string `json:"why"`
}

// ReportVNIs is how many VNIs a report uses: an aligned block, of which no other service and no job has one.
const ReportVNIs = 32

// Report makes services on a NIC, opens some of them, and removes them. They have root as their member and VNIs from
// first on. Where the NIC has services of others it is Conflict, unless shared allows that; trials that would take all
// of a resource are left out then. Once ctx is over no trial begins, and the last one's services are removed.
func (d *Driver) Report(ctx context.Context, name string, first core.VNI, shared bool) (Report, error) {
	lib, cards, err := d.begin(ctx, "cannot try it")
	if err != nil {
		return Report{}, err
	}
	at := slices.IndexFunc(cards, func(c card) bool { return c.name == name })
	if at < 0 {
		return Report{}, core.Errorf(core.NICMissing, "NIC %s: the node has no such NIC now", core.Clip(name))
	}
	type result struct {
		r   Report
		err *core.Error
	}
	visit, stop := context.WithoutCancel(ctx), func() {}
	if end, bounded := ctx.Deadline(); bounded {
		visit, stop = context.WithDeadline(visit, end.Add(2*clearing))
	}
	defer stop()
	got, failed := once(visit, d, lib, cards[at], true, "cannot try it", func(n *nic) (out result) {
		out.r, out.err = n.report(ctx, first, shared)
		return out
	})
	if failed == nil {
		failed = got.err
	}
	if failed != nil {
		return Report{}, failed
	}
	return got.r, nil
}

func (n *nic) report(ctx context.Context, first core.VNI, shared bool) (r Report, _ *core.Error) {
	before, err := n.list()
	if err != ok {
		return r, failure(n.name, "cannot list its services", 0, err)
	}
	refused := func(id uint32, why string) *core.Error {
		return core.Errorf(core.NICConflict, "NIC %s: service %d %s", n.name, id, why).
			WithRemedy(fmt.Sprintf("`cxi_service delete -d %s -s %d` removes it if it is left from a report; "+
				"`cxi_service list -v` shows whose it is", n.name, id))
	}
	for _, d := range before {
		for _, v := range d.vnis[:min(int(d.numVNIs), len(d.vnis))] {
			if at := core.VNI(v); at >= first && at < first+ReportVNIs {
				return r, refused(d.id, fmt.Sprintf("has VNI %d, which the report would use", v))
			}
		}
	}
	other := func(d desc) bool { return d.id != defaultID && !d.has(systemService) }
	if at := slices.IndexFunc(before, other); at >= 0 && !shared {
		err := refused(before[at].id, "is of a job or of another manager")
		err.Remedy = "name a NIC without services by --nic, or drain the node; --with-jobs tries on this one; " + err.Remedy
		return r, err
	}
	t, sys := n.traits(), n.d.now().sys
	module, version := sys.driver()
	r = Report{
		Format: ReportFormat, Driver: module + " " + version, Libcxi: n.lib.newest(), Release: t.release, ToldBy: t.told,
		Totals: texts(n.info.totals()), Left: []Leaving{},
	}
	reading := health.Read(string(sys), n.name)
	for _, f := range reading.Judge(health.Reading{}, time.Now()) {
		r.State = append(r.State, f.What+": "+f.Evidence)
	}
	for i := range before {
		if before[i].id == defaultID || before[i].has(systemService) {
			r.System = append(r.System, before[i].text())
		}
	}
	want, all := expected(t.release), rows
	if !shared {
		all = slices.Concat(rows, poolRows)
	}
	for _, row := range all {
		if ctx.Err() != nil {
			return r, ended(ctx, "NIC "+n.name+": cannot try it")
		}
		start := time.Now()
		seen, left := row.try(n, uint16(first))
		r.Left = append(r.Left, left...)
		r.Rows = append(r.Rows, Row{
			row.rule, want[row.rule], seen, seen == want[row.rule], time.Since(start).Microseconds(),
		})
	}
	return r, nil
}

// expectations are the answers of each release: a line for each rule, made by a test of the model of the driver.
//
//go:embed expected.txt
var expectations string

// expected are a release's answers by rule. A name of two releases, which Weft could not tell apart, is that of the
// first.
func expected(release string) map[string]string {
	release, _, _ = strings.Cut(release, " ")
	lines := strings.Split(strings.TrimSpace(expectations), "\n")
	at := slices.Index(strings.Split(lines[0], "\t"), release)
	out := map[string]string{}
	for _, line := range lines[1:] {
		if cells := strings.Split(line, "\t"); at > 0 && at < len(cells) {
			out[cells[0]] = cells[at]
		}
	}
	return out
}
