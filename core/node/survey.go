package node

import (
	"cmp"
	"slices"
	"time"

	"github.com/weft-hpc/weft/core"
)

// survey is the machine's own reading of the NICs: for the report, and for orders to clean what this node has no record of.
type survey struct {
	attempt Attempt // under way; 0: none
	wanted  bool    // one must begin after what happened last
	started time.Duration
	next    time.Duration
	backoff time.Duration
	failing time.Duration // since when no reading succeeds; 0: the last one did
	unread  *core.Error   // why the NICs cannot be read, once failing lasts too long
	churn   uint64        // counts runs that became clean
	began   uint64        // churn when it began
	second  bool          // it was begun for the sake of suspects

	done    bool    // at least once
	proved  Attempt // the newest, of whomever, when a survey succeeded last
	devices []string
	blind   []string          // of devices, those that could not be read
	useless []string          // of devices, those that no job can use
	sound   []string          // NICs (by same) ever seen without fault by this process; all must be seen again before an order without record is confirmed
	names   map[string]string // of NICs that this process has seen: same by the name
	unknown []core.Service
	suspect []core.Service // seen, but perhaps only because its run was being cleaned meanwhile
	doubted bool           // the newest report called the NICs of suspects blind, since it lacks them
	checks  []check
	asked   map[core.Run]bool
}

// check is an order to clean a run that this node has no record of.
type check struct {
	core.Clean
	attempt Attempt // the survey that answers it; 0: it has not begun
}

// maxChecks bounds the checks; orders are repeated, so what is beyond comes again.
const maxChecks = 4096

// want begins a survey now, or after the one that is under way.
func (m *Machine) want() {
	m.survey.wanted = true
	if m.survey.attempt == 0 {
		m.beginSurvey()
	}
}

func (m *Machine) beginSurvey() {
	s := &m.survey
	m.attempt++
	s.attempt, s.wanted, s.began, s.next, s.started = m.attempt, false, s.churn, never, m.now
	m.due = min(m.due, m.overdue())
	s.second = len(s.suspect) > 0
	for i := range s.checks {
		s.checks[i].attempt = s.attempt
	}
	m.act(Look{Attempt: s.attempt})
}

// check sees whether the NICs are clean of a run without a record.
func (m *Machine) check(c core.Clean) {
	s := &m.survey
	if s.asked[c.Run] || len(s.checks) >= maxChecks {
		return
	}
	if s.asked == nil {
		s.asked = map[core.Run]bool{}
	}
	s.asked[c.Run] = true
	m.act(Withdraw{Run: c.Run}) // else `weft clean` would take the job for one that lives
	s.checks = append(s.checks, check{Clean: c})
	m.want()
}

// surveyed takes in a reading.
func (m *Machine) surveyed(in Read) {
	s := &m.survey
	attempt := s.attempt
	s.attempt = 0
	if in.Err == nil && m.now-s.started >= unreadAfter {
		in.Err = silent(in.Devices)
	}
	if in.Err != nil {
		m.unread(in.Err, s.started)
		m.sighted(in)
		s.backoff = min(max(2*s.backoff, backoffLeast), backoffMost)
		m.surveyAt(m.now + s.backoff)
		return
	}
	s.backoff, s.failing = 0, 0
	s.proved = m.attempt
	m.takeDevices(in.Devices)
	m.takeUnknown(in.Services)
	s.done = true
	m.sighted(in)
	m.answerChecks(attempt, in)
	if len(s.suspect) == 0 || !s.wanted {
		m.readable()
		m.session.ready = m.session.ready || m.session.up && attempt > m.session.from
	}
	switch {
	case s.wanted:
		m.beginSurvey()
	case m.session.up:
		wait := m.cfg.Sweep
		if m.amiss(in.Devices) {
			wait = min(wait, sweepAmiss)
		}
		if m.cfg.Observes != nil && m.cfg.Observes() {
			wait = min(wait, SweepObserved)
		}
		m.surveyAt(m.now + wait)
	}
}

// sweepAmiss is between readings while a NIC is away or at fault: who mends it, and resumes the node, looks a moment later whether it is seen again.
const sweepAmiss = 5 * time.Second

// SweepObserved is between readings while another manager makes services, whose life the server follows.
const SweepObserved = 5 * time.Second

// amiss reports whether a NIC cannot be used, or one that was sound before is not there; also for a while after a fault drained the node, since a process
// that began later does not know which NICs there were.
func (m *Machine) amiss(devices []core.Device) bool {
	if m.fault.reason != "" && m.now-m.fault.at < m.cfg.BusyDrain {
		return true
	}
	for i := range devices {
		if unusable(&devices[i]) != "" {
			return true
		}
	}
	return slices.ContainsFunc(m.survey.sound, func(nic string) bool { return byPlace(devices, nic) == nil })
}

func (m *Machine) surveyAt(t time.Duration) {
	m.survey.next = t
	m.due = min(m.due, t)
}

func (m *Machine) takeDevices(devices []core.Device) {
	s := &m.survey
	names := make([]string, len(devices))
	var blind, useless []string
	for i := range devices {
		d := &devices[i]
		names[i] = d.Name
		if unusable(d) != "" {
			useless = append(useless, d.Name)
		}
		switch {
		case d.Fault != "":
			blind = append(blind, d.Name)
		case !slices.Contains(s.sound, same(d)):
			s.sound = append(s.sound, same(d))
		}
		if s.names == nil {
			s.names = map[string]string{}
		}
		s.names[d.Name] = same(d)
	}
	if !s.done || !slices.Equal(names, s.devices) || !slices.Equal(blind, s.blind) || !slices.Equal(useless, s.useless) {
		s.devices, s.blind, s.useless = names, blind, useless
		m.session.changed = true
	}
}

// takeUnknown finds services without a record. One that may only have been read before its run was clean is believed when the next survey shows it too.
func (m *Machine) takeUnknown(services []core.Service) {
	s := &m.survey
	var unknown, suspect []core.Service
	for i := range services {
		t := &services[i]
		if !m.stray(t) {
			continue
		}
		if s.began == s.churn || slices.ContainsFunc(s.suspect, t.Same) || slices.ContainsFunc(s.unknown, t.Same) {
			unknown = append(unknown, *t)
		} else {
			suspect = append(suspect, *t)
		}
	}
	slices.SortFunc(unknown, func(a, b core.Service) int {
		return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.ID, b.ID))
	})
	s.suspect = suspect
	m.session.changed = m.session.changed || s.doubted && len(suspect) == 0
	if len(suspect) > 0 && !s.second {
		s.wanted = true
	}
	if !slices.EqualFunc(unknown, s.unknown, core.Service.Same) {
		s.unknown = unknown
		m.session.changed = true
	}
}

// answerChecks confirms the orders that the reading proves done. The others wait for the server to repeat them.
func (m *Machine) answerChecks(attempt Attempt, in Read) {
	s := &m.survey
	if len(s.checks) == 0 {
		return
	}
	whole := !slices.ContainsFunc(s.sound, func(nic string) bool {
		d := byPlace(in.Devices, nic)
		return d == nil || d.Fault != ""
	})
	s.checks = slices.DeleteFunc(s.checks, func(c check) bool {
		if c.attempt != attempt {
			return false
		}
		delete(s.asked, c.Run)
		if whole && m.find(c.Run) == nil && !slices.ContainsFunc(in.Services, func(t core.Service) bool {
			return !m.served(&t) && sharesVNI(t.VNIs, c.VNIs) // whatever its mark: that may be wrong
		}) {
			m.session.clean = append(m.session.clean, core.Held{Run: c.Run, VNIs: c.VNIs, State: core.HeldClean})
		}
		return true
	})
}
