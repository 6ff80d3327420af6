package compare

import (
	"cmp"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core/engine"
)

// Capacity is how far pools and quotas suffice for jobs that are made and end when they did.
type Capacity struct {
	Denied int           `json:"denied"` // by policy itself
	Pools  []PoolPeak    `json:"pools"`
	Quotas []QuotaStrain `json:"quotas"`
}

// PoolPeak is the most that was wanted of a pool at a time, the VNIs in quarantine with it.
type PoolPeak struct {
	Pool  string    `json:"pool"`
	Size  int       `json:"size"`
	Peak  int       `json:"peak"`
	At    time.Time `json:"at,omitzero"` // first
	Short int       `json:"short"`       // jobs that found too few, and would have waited
	Spans           // in which more was wanted than there is
}

// QuotaStrain is a quota that jobs went beyond.
type QuotaStrain struct {
	Quota   string    `json:"quota"`
	Enforce string    `json:"enforce"` // deny: it would have refused the jobs; warn, dry_run: they run, and count
	Jobs    int       `json:"jobs"`
	First   string    `json:"first"` // what the first would have been told
	FirstAt time.Time `json:"first_at"`
	LastAt  time.Time `json:"last_at"`
	Spans             // in which there was a job that it would have refused or warned of
}

// Refuses reports whether jobs would not have run for it.
func (q *QuotaStrain) Refuses() bool { return q.Enforce == engine.EnforceDeny.String() }

// Short is how many jobs found too few in pool.
func (c *Capacity) Short(pool string) int {
	for _, p := range c.Pools {
		if p.Pool == pool {
			return p.Short
		}
	}
	return 0
}

// Refused is how many jobs quota would have refused.
func (c *Capacity) Refused(quota string) int {
	for _, q := range c.Quotas {
		if q.Quota == quota && q.Refuses() {
			return q.Jobs
		}
	}
	return 0
}

// stay is a job's time, and what it gets.
type stay struct {
	made, ended time.Time // ended zero: it runs to the end
	is          *engine.Decision
}

// event is a change of use.
type event struct {
	at   time.Time
	kind int // leaves of quotas, leaves of pools, comes: in this order at one time
	of   int
}

const (
	leaves = iota
	rested
	comes
)

// replay lets the jobs come and go. One that a quota refuses takes nothing; one that a pool is too small for is counted and takes its VNIs all the same, so
// that Peak is what a pool would need.
func replay(stays []stay, pools []Pool) Capacity {
	out := Capacity{Pools: []PoolPeak{}, Quotas: []QuotaStrain{}}
	peaks, used, rest := map[string]*PoolPeak{}, map[string]int{}, 0.0
	for _, p := range pools {
		peaks[p.Name] = &PoolPeak{Pool: p.Name, Size: p.Size}
	}
	var events []event
	for i, s := range stays {
		if s.is.Deny != nil {
			out.Denied++
			continue
		}
		events = append(events, event{s.made, comes, i})
		if s.ended.IsZero() {
			continue
		}
		end := s.ended
		if end.Before(s.made) {
			end = s.made
		}
		events = append(events, event{end, leaves, i})
		rest = 0
		for _, p := range pools {
			if slices.ContainsFunc(s.is.VNIs, func(w engine.Wanted) bool { return w.Pool == p.Name }) {
				rest = max(rest, p.Quarantine)
			}
		}
		events = append(events, event{end.Add(time.Duration(rest * float64(time.Second))), rested, i})
	}
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.kind, b.kind)) })
	type tally struct {
		name, subject string
		unit          engine.Unit
	}
	counts, strains, in := map[tally]int{}, map[string]*QuotaStrain{}, map[int]bool{}
	lacks := map[string]time.Time{} // pools of which more is wanted than there is, and since when
	charge := func(d *engine.Decision, sign int) {
		for _, q := range d.Quotas {
			n := len(d.VNIs)
			if q.Unit == engine.UnitAddresses {
				n = d.Collectives
			}
			counts[tally{q.Name, q.Subject, q.Unit}] += sign * n
		}
	}
	for _, e := range events {
		d := stays[e.of].is
		switch e.kind {
		case comes:
			if ended := stays[e.of].ended; !ended.IsZero() && !ended.After(e.at) {
				continue // it never held anything
			}
			refused := false
			for _, q := range d.Quotas {
				over := q.Over(d, counts[tally{q.Name, q.Subject, q.Unit}])
				if over == "" {
					continue
				}
				s := strains[q.Name]
				if s == nil {
					s = &QuotaStrain{Quota: q.Name, Enforce: q.Enforce.String(), First: over, FirstAt: e.at}
					strains[q.Name] = s
				}
				s.Jobs++
				s.LastAt = e.at
				s.add(e.at, stays[e.of].ended)
				if refused = q.Enforce == engine.EnforceDeny; refused {
					break
				}
			}
			if refused {
				continue
			}
			in[e.of] = true
			charge(d, 1)
			short := false
			for _, w := range d.VNIs {
				used[w.Pool]++
				p := peaks[w.Pool]
				if p == nil {
					continue
				}
				if used[w.Pool] > p.Peak {
					p.Peak, p.At = used[w.Pool], e.at
				}
				if used[w.Pool] <= p.Size {
					continue
				}
				if !short {
					p.Short++
					short = true
				}
				if _, known := lacks[w.Pool]; !known {
					lacks[w.Pool] = e.at
				}
			}
		case leaves:
			if in[e.of] {
				charge(d, -1)
			}
		case rested:
			if in[e.of] {
				for _, w := range d.VNIs {
					used[w.Pool]--
					if from, lacked := lacks[w.Pool]; lacked && used[w.Pool] <= peaks[w.Pool].Size {
						peaks[w.Pool].add(from, e.at)
						delete(lacks, w.Pool)
					}
				}
			}
		}
	}
	for _, p := range pools {
		if from, lacked := lacks[p.Name]; lacked {
			peaks[p.Name].add(from, time.Time{})
		}
		out.Pools = append(out.Pools, *peaks[p.Name])
	}
	for _, s := range strains {
		out.Quotas = append(out.Quotas, *s)
	}
	slices.SortFunc(out.Quotas, func(a, b QuotaStrain) int { return cmp.Compare(a.Quota, b.Quota) })
	return out
}
