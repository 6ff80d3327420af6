package engine

import (
	"maps"
	"time"

	"github.com/weft-hpc/weft/core"
)

// beginWithin is how long Room keeps for a job that it let start, until the job's first node asks. A scheduler starts
// many jobs in a moment, and each begins on its nodes some time later.
const beginWithin = 30 * time.Second

// begins are the jobs that Room let start and that have not asked yet.
type begins map[core.JobID]begin

type begin struct {
	decision *Decision
	until    time.Duration // Moment.Uptime
}

// vnis are those of a pool that the jobs will want.
func (b begins) vnis(pool string) (n int) {
	for _, of := range b {
		for _, w := range of.decision.VNIs {
			if w.Pool == pool {
				n++
			}
		}
	}
	return n
}

// counts is how much the jobs will add to what q counts.
func (b begins) counts(q Quota) (n int) {
	for _, of := range b {
		for _, o := range of.decision.Quotas {
			if o.Name == q.Name && o.Subject == q.Subject && o.Unit == q.Unit {
				n += amount(q.Unit, of.decision, len(of.decision.VNIs))
			}
		}
	}
	return n
}

// Room says why a job that policy has decided on could not have its VNIs now; nil: it could. It takes nothing, but a job
// that may start counts until it is granted or refused, for half a minute at most. sizes are the VNIs of each pool.
func (m *Machine) Room(job core.JobID, d Decision, sizes map[string]int) *core.Error {
	if d.Deny != nil || len(d.VNIs) > core.MaxVNIs || len(d.VNIs) == 0 { // the second is for its prepare to say
		return d.Deny
	}
	if m.Recovering() {
		return core.Errorf(core.Recovering, "store %s: nothing is granted until every node has reported", m.meta.Head.Store)
	}
	maps.DeleteFunc(m.begins, func(of core.JobID, b begin) bool { return of == job || b.until <= m.now.Uptime })
	for _, q := range d.Quotas {
		if q.Enforce != EnforceDeny {
			continue
		}
		u := m.quotas[tally{q.Name, q.Subject, q.Unit}]
		has := m.begins.counts(q)
		if u != nil {
			has += u.sum
		}
		wants := amount(q.Unit, &d, len(d.VNIs))
		if text := q.over(wants, has, u.who); text != "" {
			return q.exceeded(text, wants)
		}
	}
	if err := m.fits(d, sizes); err != nil && !d.Degrade {
		return err
	}
	if m.begins == nil {
		m.begins = begins{}
	}
	m.begins[job] = begin{&d, m.now.Uptime + beginWithin}
	return nil
}

// fits says which pool has too few VNIs for d.
func (m *Machine) fits(d Decision, sizes map[string]int) *core.Error {
	wants := map[string]int{}
	for _, w := range d.VNIs {
		wants[w.Pool]++
	}
	use := m.alloc.Use()
	for _, w := range d.VNIs {
		used := use[w.Pool] + m.begins.vnis(w.Pool)
		if n := sizes[w.Pool] - used; n < wants[w.Pool] {
			return core.Errorf(core.PoolEmpty, "pool %q: the job wants %s and %s free: it has %d and %s in use",
				w.Pool, core.Plural(wants[w.Pool], "VNI"), core.Are(max(n, 0)), sizes[w.Pool], core.Are(used))
		}
	}
	return nil
}
