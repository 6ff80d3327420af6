package node

import (
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// cleaner is a clean-up hook that waits until all that it covers is clean.
type cleaner struct {
	call  uint64
	key   core.Key
	until time.Duration
	left  int
}

// maxCleaners bounds the clean-up hooks that wait; one beyond is told at once that the node is still at it.
const maxCleaners = 4096

// cleanUp removes whatever generations this node holds of the job, of those whose prepare began before the hook did.
func (m *Machine) cleanUp(h Hook) {
	job, began := h.Ask.Key.JobID, h.Ask.Began
	if err := core.CheckJobID(job.Job); err != nil {
		m.refuse(h, core.AsError(err))
		return
	}
	rs := slices.Clone(m.jobs[job])
	if !h.Peer.Root() {
		if err := m.mayCleanUp(h, rs); err != nil {
			m.refuse(h, err)
			return
		}
	} else if began != 0 {
		m.stamps.put(job, max(m.stamps.of[job], began))
	}
	if h.Peer.Root() || len(rs) > 0 {
		m.refusals.drop(job)
		m.epilog(job)
	}
	c := &cleaner{call: h.Call, key: h.Ask.Key, until: min(h.Until, m.now+m.cfg.CleanReply)}
	for _, r := range rs {
		if began == 0 || r.Began <= began {
			m.cleanFor(r, c, h.Ask.Call)
		}
	}
	switch {
	case c.left == 0:
		m.cleanerDone(c, false)
	case len(m.cleaners) >= maxCleaners || c.until <= m.now:
		m.cleanerDone(c, true)
	default:
		m.cleaners = append(m.cleaners, c)
		m.due = min(m.due, c.until)
	}
}

// mayCleanUp judges a caller that is not root.
func (m *Machine) mayCleanUp(h Hook, rs []*holding) *core.Error {
	others := func(r *holding) bool { return r.UID != h.Peer.UID }
	if m.selfService(h.Ask.Key) && !slices.ContainsFunc(rs, others) {
		return nil
	}
	return core.Errorf(core.NotAllowed, "clean-up of %v: uid %d may not do it", h.Ask.Key.JobID, h.Peer.UID)
}

// cleanFor begins to clean one run of a job on behalf of a hook.
func (m *Machine) cleanFor(r *holding, c *cleaner, origin string) {
	r.origin = origin
	m.cancel(r, core.Cancelled, "a clean-up hook of the job came")
	if r.State == Cleaning {
		r.cleaners = append(r.cleaners, c)
		c.left++
	}
}

// cancel ends a run that is not over, for the reason given to those who still wait for it.
func (m *Machine) cancel(r *holding, reason core.Reason, why string) {
	switch r.State {
	case Asking: // whatever the server grants is cleaned when it comes
		r.cancelled = true
	case Making, Ready:
	default:
		return
	}
	if len(r.waiters) > 0 {
		m.answer(r, core.Errorf(reason, "prepare of %v: %s", r.Key, why))
	}
	if r.State != Asking {
		m.clean(r, why)
	}
}

// cleanersDone tells the clean-ups that wait for r that it is clean.
func (m *Machine) cleanersDone(r *holding) {
	for _, c := range r.cleaners {
		c.left--
		if c.left > 0 {
			continue
		}
		if i := slices.Index(m.cleaners, c); i >= 0 {
			m.cleaners = slices.Delete(m.cleaners, i, i+1)
			m.cleanerDone(c, false)
		}
	}
	r.cleaners = nil
}

// cleanerDone answers a clean-up; pending says that the node goes on by itself, and what it waits for.
func (m *Machine) cleanerDone(c *cleaner, pending bool) {
	o := core.Outcome{Action: core.CleanUp, Key: c.key, Pending: pending}
	if pending {
		for _, r := range m.jobs[c.key.JobID] {
			if r.State == Cleaning && r.waits != "" {
				o.Warnings = append(o.Warnings, r.waits)
			}
		}
	}
	m.reply(c.call, o)
}
