package agent

import (
	"fmt"
	"slices"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/hostlist"
)

// held are findings about the services.
func (s *state) held() []core.Finding {
	var found []core.Finding
	if s.servErr != nil && !s.same() {
		found = append(found, unread("the services cannot be read, so this node cannot be seen to be clean", s.servErr))
	}
	found = append(found, s.strays()...)
	if s.servErr == nil {
		const again = ": end the job, which cannot use that NIC, and start it again"
		found = append(found, s.gone(false, "is gone", "a person or another program removed it"+again)...)
		found = append(found, s.gone(true, "ended by a restart of the NIC",
			"the NIC was removed, or its driver was loaded again, which ends every service"+again)...)
	}
	for i := range s.disabled {
		t := &s.disabled[i]
		found = append(found, core.Finding{
			Severity: core.Warning, What: "a running job's service is disabled: its applications cannot open it",
			Evidence: evidence(t),
			Remedy:   fmt.Sprintf("`cxi_service enable -d %s -s %d`, unless an administrator disabled it", t.Device, t.ID),
		})
	}
	for _, r := range s.stuck {
		remedy := "mend that"
		if r.Busy {
			remedy = "end the application that holds it"
		}
		found = append(found, core.Finding{
			Severity: core.Warning, What: "job " + r.Key.JobID.String() + " cannot be cleaned up yet", Evidence: r.Why,
			Remedy: remedy + "; the node goes on trying, and a reboot ends it for certain",
		})
	}
	return found
}

// gone is one finding about services of running jobs that are not on their NICs, or none.
func (s *state) gone(restarted bool, is, remedy string) []core.Finding {
	var all []*core.Service
	for i := range s.missing {
		if s.missing[i].Restarted == restarted {
			all = append(all, &s.missing[i].Service)
		}
	}
	if len(all) == 0 {
		return nil
	}
	f := core.Finding{Severity: core.Warning, What: "a running job's service " + is, Evidence: spread(all), Remedy: remedy}
	if n := len(all); n > 1 {
		f.What = fmt.Sprintf("%d services of running jobs: each %s", n, is)
	}
	return []core.Finding{f}
}

// same reports whether the NICs themselves have shown why the services cannot be read.
func (s *state) same() bool {
	if s.devicesErr != nil {
		return core.AsError(s.devicesErr).Reason == core.AsError(s.servErr).Reason
	}
	return slices.ContainsFunc(s.devices, func(d core.Device) bool { return d.Fault != "" })
}

// stray says why a service has no record here. Strays with the same reason are one finding.
type stray struct {
	severity core.Severity
	is       string // of one of them, as after "a service "
	remedy   string
	delete   bool // the remedy continues with the command that removes one
}

// strays are findings about services without a record.
func (s *state) strays() (found []core.Finding) {
	var order []stray
	of := map[stray][]*core.Service{}
	for i := range s.orphans {
		why := s.stray(&s.orphans[i])
		if of[why] == nil {
			order = append(order, why)
		}
		of[why] = append(of[why], &s.orphans[i])
	}
	for _, why := range order {
		found = append(found, why.of(of[why]))
	}
	return found
}

// of is the finding about these services.
func (y stray) of(services []*core.Service) core.Finding {
	f := core.Finding{Severity: y.severity, Remedy: y.remedy}
	if one := services[0]; len(services) == 1 {
		f.What, f.Evidence = "a service "+y.is, evidence(one)
		if y.delete {
			f.Remedy += removal(one)
		}
		return f
	}
	f.What = fmt.Sprintf("%d services: each %s", len(services), y.is)
	f.Evidence = spread(services)
	if y.delete {
		f.Remedy += "`cxi_service delete -d NIC -s SERVICE` for each, as `weft services` shows"
	}
	return f
}

// stray is why no record explains a service.
func (s *state) stray(t *core.Service) stray {
	mine, some := s.site.ours(t.VNIs)
	const clean = "`weft clean --dry-run` shows what would go, `weft clean` removes it"
	y := stray{severity: core.Warning, remedy: clean}
	of := s.site.observed()
	switch {
	case of != "":
		y.severity, y.remedy = core.Notice, "none: scheduler "+of+` is in mode "observe", and another manager makes services`
	case mine:
	case some: // `weft clean` leaves it
		y.remedy = "some of its VNIs are of Weft's pools and held for it: take them out of config.hcl's pools, or "
		y.delete = true
	default:
		y.severity, y.remedy, y.delete = core.Notice, "none, if you know it; else ", true
	}
	job, lives := s.jobs[madeFor(t)]
	switch {
	case t.System:
		y.is, y.remedy, y.delete = "has VNIs and is marked as the system's, whose services have none", "", true
	case lives:
		y.is, y.delete = "is of job "+job.String()+", of which this node lost its record", false
		y.remedy = "let the job end; then `weft clean` removes it"
	case t.Owner.Kind == core.OwnerNone && t.Enabled && of == "":
		y.severity, y.is = core.Warning, "belongs to nobody and lets every user of the node in"
		if some {
			y.severity = core.Critical
		}
	case t.Owner.Kind == core.OwnerNone:
		y.is = "belongs to nobody"
	case t.Owner.Kind == core.OwnerUID && !s.users[t.Owner.ID]:
		y.is = fmt.Sprintf("is of uid %d, who has no job on this node", t.Owner.ID)
	default:
		y.is = "is of no job that this node knows"
	}
	return y
}

func (s *Site) observed() string {
	if s.Observed == nil {
		return ""
	}
	return s.Observed()
}

// ours reports whether all, and whether some of the VNIs are of Weft's pools.
func (s *Site) ours(vnis []core.VNI) (all, some bool) {
	if s.Ours == nil || len(vnis) == 0 {
		return false, false
	}
	all = true
	for _, v := range vnis {
		if s.Ours(v) {
			some = true
		} else {
			all = false
		}
	}
	return all, some
}

// spread names the NICs and VNIs of services; of one also its id and owner.
func spread(services []*core.Service) string {
	if len(services) == 1 {
		return evidence(services[0])
	}
	var devices []string
	var vnis []core.VNI
	for _, t := range services {
		devices, vnis = append(devices, t.Device), append(vnis, t.VNIs...)
	}
	slices.SortFunc(devices, hostlist.Compare)
	slices.Sort(vnis)
	return fmt.Sprintf("NIC %s: %s", hostlist.Fold(slices.Compact(devices)), named(slices.Compact(vnis)))
}

func evidence(t *core.Service) string {
	return fmt.Sprintf("NIC %s: service %d of %s with %s", t.Device, t.ID, t.Owner, named(t.VNIs))
}

// named are a service's VNIs in words.
func named(vnis []core.VNI) string {
	if len(vnis) == 0 {
		return "no VNI of its own"
	}
	return "VNIs " + core.VNIRanges(vnis)
}

// removal is the command that removes a service.
func removal(t *core.Service) string {
	return fmt.Sprintf("`cxi_service delete -d %s -s %d`", t.Device, t.ID)
}
