package compare

import (
	"maps"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core/engine"
)

// stay is a job's time, and what it gets.
type stay struct {
	made, ended time.Time // ended zero: it runs to the end
	gets        *engine.Decision
	holds       bool // it came, and no quota refused it
}

// replay is what the jobs use at one moment, and what did not suffice until then.
type replay struct {
	charged map[account]int         // of each quota
	used    map[string]int          // VNIs of each pool, those in quarantine with them
	lacking map[string]time.Time    // pools of which more is wanted than there is, and since when
	peaks   map[string]*PoolPeak    // of each pool of the configuration
	strains map[string]*QuotaStrain // of each quota that jobs went beyond
}

// account is what a quota counts together.
type account struct {
	quota, subject string
	unit           engine.Unit
}

// replayed lets the jobs come and go. One that a quota refuses takes nothing; one that a pool is too small for is counted and takes its VNIs all the
// same, so that Peak is what a pool would need.
func replayed(stays []stay, pools []Pool) Capacity {
	r := &replay{map[account]int{}, map[string]int{}, map[string]time.Time{}, map[string]*PoolPeak{}, map[string]*QuotaStrain{}}
	for _, p := range pools {
		r.peaks[p.Name] = &PoolPeak{Pool: p.Name, Size: p.Size}
	}
	for _, e := range events(stays, pools) {
		switch s := &stays[e.of]; {
		case e.kind == comes:
			s.holds = r.come(s)
		case s.holds && e.kind == leaves:
			r.charge(s.gets, -1)
		case s.holds && e.kind == rested:
			r.release(s.gets, e.at)
		}
	}
	out := Capacity{Pools: []PoolPeak{}, Quotas: []QuotaStrain{}}
	for _, s := range stays {
		if s.gets.Deny != nil {
			out.Denied++
		}
	}
	for _, p := range pools {
		if from, lacks := r.lacking[p.Name]; lacks {
			r.peaks[p.Name].add(from, time.Time{})
		}
		out.Pools = append(out.Pools, *r.peaks[p.Name])
	}
	for _, name := range slices.Sorted(maps.Keys(r.strains)) {
		out.Quotas = append(out.Quotas, *r.strains[name])
	}
	return out
}

// come reports whether no quota refuses a job that comes; it then has what it gets. A job that ends as it comes never holds anything.
func (r *replay) come(s *stay) bool {
	if !s.ended.IsZero() && !s.ended.After(s.made) {
		return false
	}
	for _, q := range s.gets.Quotas {
		over := q.Over(s.gets, r.charged[account{q.Name, q.Subject, q.Unit}])
		if over == "" {
			continue
		}
		strain := r.strains[q.Name]
		if strain == nil {
			strain = &QuotaStrain{Quota: q.Name, Enforce: q.Enforce.String(), First: over, FirstAt: s.made}
			r.strains[q.Name] = strain
		}
		strain.Jobs++
		strain.LastAt = s.made
		strain.add(s.made, s.ended)
		if q.Enforce == engine.EnforceDeny {
			return false
		}
	}
	r.charge(s.gets, 1)
	r.take(s.gets, s.made)
	return true
}

// charge adds a job to its quotas, or takes it from them.
func (r *replay) charge(d *engine.Decision, sign int) {
	for _, q := range d.Quotas {
		n := len(d.VNIs)
		if q.Unit == engine.UnitAddresses {
			n = d.Collectives
		}
		r.charged[account{q.Name, q.Subject, q.Unit}] += sign * n
	}
}

// take gives a job its VNIs. A job that finds too few counts once, in the first pool that lacks them.
func (r *replay) take(d *engine.Decision, at time.Time) {
	short := false
	for _, w := range d.VNIs {
		r.used[w.Pool]++
		p, used := r.peaks[w.Pool], r.used[w.Pool]
		if p == nil {
			continue
		}
		if used > p.Peak {
			p.Peak, p.At = used, at
		}
		if used <= p.Size {
			continue
		}
		if !short {
			p.Short++
			short = true
		}
		if _, known := r.lacking[w.Pool]; !known {
			r.lacking[w.Pool] = at
		}
	}
}

// release takes the VNIs back from a job, after their quarantine.
func (r *replay) release(d *engine.Decision, at time.Time) {
	for _, w := range d.VNIs {
		r.used[w.Pool]--
		if from, lacks := r.lacking[w.Pool]; lacks && r.used[w.Pool] <= r.peaks[w.Pool].Size {
			r.peaks[w.Pool].add(from, at)
			delete(r.lacking, w.Pool)
		}
	}
}
