package compare

import (
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
