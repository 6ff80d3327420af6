package server

import (
	"maps"
	"sync"
	"time"

	"github.com/weft-hpc/weft/core"
	"github.com/weft-hpc/weft/core/engine"
)

// mostCounted bounds what once remembers; beyond, a job counts on each of its nodes.
const mostCounted = 16384

// verdict is what a block of policy said of a job.
type verdict struct {
	job   core.Key
	quota bool // or a deny
	name  string
	by    engine.Enforce
}

// once has a job counted once, though each of its nodes asks. A job that asks again within keepTold is the same.
type once struct {
	mu    sync.Mutex
	until map[verdict]time.Duration // Moment.Uptime
}

// first reports whether v was not said lately.
func (o *once) first(v verdict, now time.Duration) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.until == nil {
		o.until = map[verdict]time.Duration{}
	}
	until, known := o.until[v]
	if !known && len(o.until) >= mostCounted {
		maps.DeleteFunc(o.until, func(_ verdict, until time.Duration) bool { return until <= now })
	}
	if known || len(o.until) < mostCounted {
		o.until[v] = now + keepTold
	}
	return !known || until <= now
}

// over counts a job beyond a quota.
func (s *Server) over(a engine.Over) {
	if s.counted.first(verdict{a.Key, true, a.Quota, a.Enforce}, s.now().Uptime) {
		s.meter.Exceeded(a.Quota, a.Enforce)
	}
}

// judge decides, and counts the denies that were for the job.
func (s *Server) judge(policy engine.Policy, facts engine.Facts) engine.Decision {
	j, ok := policy.(engine.Judge)
	if !ok {
		return policy.Decide(facts)
	}
	decision, denies := j.Judge(facts)
	for _, d := range denies {
		if s.counted.first(verdict{facts.Job.Key, false, d.Name, d.Enforce}, s.now().Uptime) {
			s.meter.Denied(d.Name, d.Enforce)
		}
	}
	return decision
}
