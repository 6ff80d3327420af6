package node

import (
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// Next is the earliest Moment.Uptime at which a Tick does something; the largest Duration when nothing waits.
func (m *Machine) Next() time.Duration {
	next := min(m.survey.next, m.overdue())
	for _, r := range m.runs {
		next = min(next, r.retry, r.drainAt, r.stalls())
		for i := range r.waiters {
			next = min(next, r.waiters[i].until)
		}
	}
	for _, s := range m.asks {
		for i := range s.waiters {
			next = min(next, s.waiters[i].until)
		}
	}
	for _, c := range m.cleaners {
		next = min(next, c.until)
	}
	for i := range m.sight.doubts {
		next = min(next, m.sight.doubts[i].Until)
	}
	m.due = next
	return next
}

// expire does what is due.
func (m *Machine) expire() {
	for _, r := range m.runs {
		m.expireWaiters(r)
		if r.drainAt <= m.now {
			m.stuck(r)
		}
		if r.stalls() <= m.now {
			m.stall(r)
		}
		if r.retry <= m.now && r.activity == idle {
			m.look(r)
		}
	}
	m.expireSteps()
	m.cleaners = slices.DeleteFunc(m.cleaners, func(c *cleaner) bool {
		if c.until > m.now {
			return false
		}
		m.cleanerDone(c, true)
		return true
	})
	m.expireDoubts()
	if m.overdue() <= m.now {
		m.hang()
	}
	if s := &m.survey; s.attempt == 0 && s.next <= m.now {
		if m.session.up || len(s.checks) > 0 {
			m.beginSurvey()
		} else {
			s.next = never
		}
	}
	m.Next()
}

// expireWaiters answers the prepares whose scheduler waits no longer; what was begun goes on, and the job's clean-up ends it.
func (m *Machine) expireWaiters(r *holding) {
	if len(r.waiters) == 0 {
		return
	}
	r.waiters = slices.DeleteFunc(r.waiters, func(w waiter) bool {
		if w.until > m.now {
			return false
		}
		err := r.err
		if err == nil {
			err = late(w.key)
		}
		m.reply(w.call, core.Outcome{Action: core.Prepare, Key: w.key, Err: err})
		return true
	})
}
