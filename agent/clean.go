package agent

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/node"
	"github.com/weft-hpc/weft/hook/rundir"
)

// CleanArgs say what is to go.
type CleanArgs struct {
	DryRun bool `json:"dry_run,omitempty"`
}

// CleanRow is one service without a record, and what became of it.
type CleanRow struct {
	Device  string       `json:"device"`
	Service uint32       `json:"service"`
	Owner   string       `json:"owner"`
	VNIs    core.VNIList `json:"vnis"`
	Result  string       `json:"result"` // removed, orphan (a dry run), busy, kept, failed
	Why     string       `json:"why,omitempty"`
}

// maxCleaned bounds the services of one call, and maxCleanedVNIs the VNIs of several, so that a reply holds what became of
// them.
const (
	maxCleaned     = 64
	maxCleanedVNIs = 1 << 16
)

// auditClean is the event of an operator's word that orphans go.
const auditClean = "clean"

// Clean removes the services that no run of this node explains, as far as all their VNIs are of Weft's pools; the others are listed as kept, and so is one
// of a job whose record is lost. Never one of the
// system, never a default service. It looks at some of those behind after; next is empty at the end.
func (a *Agent) Clean(
	ctx context.Context, site Site, peer core.Peer, call, right, after string, dry bool,
) (rows []CleanRow, next string, err error) {
	ctx, cancel := context.WithTimeout(ctx, a.limits.Driver)
	defer cancel()
	services, err := a.needs.Driver.Services(ctx)
	if err != nil && (dry || len(services) == 0) {
		return nil, "", a.driverError(err)
	}
	// A run is recorded before its services are made, so what the reading showed and the machine does not know now is nobody's.
	var orphans []core.Service
	if err := a.Look(ctx, func(m *node.Machine) { orphans = m.Orphans(services) }); err != nil {
		return nil, "", err
	}
	orphans, next = someAfter(orphans, after)
	jobs := a.unrecorded()
	rows = make([]CleanRow, 0, len(orphans))
	var going []core.Service
	var at []int
	for _, s := range orphans {
		r := CleanRow{Device: s.Device, Service: s.ID, Owner: s.Owner.String(), VNIs: s.VNIs, Result: "orphan"}
		if of := site.observed(); of != "" {
			r.Result, r.Why = "kept", "scheduler "+of+` is in mode "observe", so another manager may have made it`
		} else if s.System {
			r.Result, r.Why = "kept", "it is marked as the system's; `cxi_service delete` on the node removes it"
		} else if all, _ := site.ours(s.VNIs); !all {
			r.Result, r.Why = "kept", "it has a VNI of none of Weft's pools, so it is somebody else's"
		} else if job, lives := jobs[madeFor(&s)]; lives {
			r.Result, r.Why = "kept", fmt.Sprintf("job %v has it, and this node lost its record: it can go once the job has ended, or %s is gone",
				job, rundir.EnvironPath(a.needs.Environ, job))
		} else if !dry {
			going, at = append(going, s), append(at, len(rows))
		} else {
			r.Why = "see on the server's host with `weft vnis` that no job has its VNIs"
		}
		rows = append(rows, r)
	}
	if len(going) == 0 {
		return rows, next, nil
	}
	errs, err := a.needs.Driver.Destroy(ctx, going)
	if err == nil && len(errs) != len(going) {
		err = core.Errorf(core.DriverAway, "NIC driver: it answered %d results for %d services", len(errs), len(going))
	}
	for i, s := range going {
		r := &rows[at[i]]
		one := err
		if err == nil {
			one = errs[i]
		}
		attrs := append(peer.Audited(call, right), core.LogNIC, s.Device, core.LogService, s.ID, core.LogVNI, core.VNIRanges(s.VNIs), core.LogOwner, r.Owner)
		if e := a.driverError(one); e != nil {
			r.Result, r.Why = "failed", core.Cut(e.What, maxWhy)
			if e.Code == core.Busy {
				r.Result = "busy"
			}
			attrs = append(attrs, core.LogReason, string(e.Reason), core.LogError, e.What)
		} else {
			r.Result = "removed"
		}
		a.audit.Info(auditClean, attrs...)
	}
	if slices.ContainsFunc(rows, func(r CleanRow) bool { return r.Result == "removed" }) {
		return rows, next, a.Reread(ctx) // the server learns of it at once
	}
	return rows, next, nil
}

// unrecorded are the jobs that have an environment here, by what their services show. It tells of jobs that the ledger
// lost, until the server says that they are over.
func (a *Agent) unrecorded() map[node.Process]core.JobID {
	jobs := map[node.Process]core.JobID{}
	if a.needs.Environ == "" {
		return jobs
	}
	for job, e := range rundir.ReadEnvirons(a.needs.Environ) {
		for _, v := range e.Variables {
			if v.Name == node.EnvVNIs && !v.Unset {
				jobs[node.Process{UID: e.UID, VNIs: v.Value}] = job
			}
		}
	}
	return jobs
}

// madeFor are the tasks for which s was made; none where no user owns it.
func madeFor(s *core.Service) node.Process {
	if s.Owner.Kind != core.OwnerUID {
		return node.Process{}
	}
	return node.Process{UID: s.Owner.ID, VNIs: core.FormatVNIs(s.VNIs)}
}

// someAfter sorts services and gives those of one call.
func someAfter(services []core.Service, after string) (some []core.Service, next string) {
	slices.SortFunc(services, func(a, b core.Service) int { return cmp.Compare(place(a), place(b)) })
	vnis := 0
	for _, s := range services {
		if place(s) <= after {
			continue
		}
		if vnis += len(s.VNIs); len(some) > 0 && (len(some) == maxCleaned || vnis > maxCleanedVNIs) {
			return some, place(some[len(some)-1])
		}
		some = append(some, s)
	}
	return some, ""
}

func place(s core.Service) string { return fmt.Sprintf("%s %010d", s.Device, s.ID) }
