package node

import (
	"github.com/weft-hpc/weft/core"
)

// Orphans are those of services, read from the NICs before, that no run explains and that are neither the system's nor a default service: who made them is
// not known here.
func (m *Machine) Orphans(services []core.Service) []core.Service {
	var out []core.Service
	for i := range services {
		if s := &services[i]; m.stray(s) {
			out = append(out, *s)
		}
	}
	return out
}

// Maker is the job of the run that made s and is not clean; not ok: there is none.
func (m *Machine) Maker(s *core.Service) (job core.JobID, ok bool) {
	for _, r := range m.runs {
		if r.State != Asking && r.State != Clean && mine(r, s) {
			return r.Key.JobID, true
		}
	}
	return job, false
}

// stray reports whether s is neither the system's, nor a default service, nor made by a run, nor a data service's own.
func (m *Machine) stray(s *core.Service) bool {
	_, ours := m.Maker(s)
	return !ours && m.strange(s)
}

// strange reports whether s is neither the system's, nor a default service, nor a data service's own on its server. The
// driver's and the retry handler's own services have no VNI in any release (hw_setup in cxi_eth_ops.c, main.c of
// libcxi's retry_handler, SHS 12.0 to 14.0.1), so one that has is not believed to be the system's.
func (m *Machine) strange(s *core.Service) bool {
	return (!s.System || len(s.VNIs) > 0) && !s.Default && !m.served(s)
}

// served reports whether s is a data service's own on its server.
func (m *Machine) served(s *core.Service) bool { return m.cfg.Served != nil && m.cfg.Served(s.VNIs) }

// Standing are the services of runs that are ready.
func (m *Machine) Standing() (out []core.Service) {
	for _, r := range m.runs {
		if r.State == Ready {
			out = append(out, r.Services...)
		}
	}
	return out
}

// Missing are those of Standing that are not among services. Both were read from the NICs after the runs became ready.
func (m *Machine) Missing(services []core.Service, devices []core.Device) (out []Gone) {
	for _, r := range m.runs {
		if r.State == Ready {
			out = append(out, r.gone(services, devices)...)
		}
	}
	return out
}

// Stuck is a run that is being cleaned and waits for something.
type Stuck struct {
	Key  core.Key
	Why  string
	Busy bool // an application still uses a service
}

// Stuck are the runs whose cleaning waits, oldest first.
func (m *Machine) Stuck() []Stuck {
	var out []Stuck
	for _, r := range m.runs {
		if r.State == Cleaning && r.waits != "" {
			out = append(out, Stuck{r.Key, r.waits, r.busy})
		}
	}
	return out
}

// Drain is why the node is out of service, by the server's word in this session; before that, by the fault of this node.
func (m *Machine) Drain() core.Drain {
	if m.session.drain == nil {
		return core.Drain{Reason: m.fault.reason}
	}
	return *m.session.drain
}

// Unread is why the NICs cannot be read; nil: they can, or it is not known yet.
func (m *Machine) Unread() *core.Error { return m.survey.unread }

// Known reports whether a hook has asked for something of the run on this node, or of another run of its job: a prepare that is under way, was granted or
// refused, or a clean-up. Such a job did not merely run here before Weft did.
func (m *Machine) Known(run core.Run) bool {
	return len(m.jobs[run.JobID]) > 0 || m.refusals.has(run.JobID) || m.stamps.has(run.JobID) || m.tombs.has(run)
}

// Entries are the runs of this node, oldest first. The slices in them must not be changed.
func (m *Machine) Entries() []Entry {
	out := make([]Entry, len(m.runs))
	for i, r := range m.runs {
		out[i] = r.Entry
	}
	return out
}

// Unknown counts the services that the last reading of the NICs showed and that no record explains, neither system nor default; -1: they were not read yet.
func (m *Machine) Unknown() int {
	if !m.survey.done {
		return -1
	}
	return len(m.survey.unknown)
}

// Seen is the highest head this node has seen.
func (m *Machine) Seen() core.Head { return m.seen }
