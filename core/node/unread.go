package node

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/weft-hpc/weft/core"
)

// unreadAfter is how long readings of the NICs fail, or one has no answer, before the node says so, unless the driver's
// plugin has failed. A driver that starts again takes less.
const unreadAfter = 5 * time.Second

// unread takes a reading that began at since and failed. After unreadAfter the node reports its records and the reason,
// and takes no job until it can read its NICs again. Without that report a new store would grant nothing, and not say
// why.
func (m *Machine) unread(err *core.Error, since time.Duration) {
	s := &m.survey
	if !m.session.up { // the server learns nothing, and asks for nothing
		return
	}
	if s.failing == 0 || since < s.failing {
		s.failing = max(since, 1)
	}
	if s.unread == nil && !down(err) && m.now-s.failing < unreadAfter {
		return
	}
	why := core.Errorf(err.Reason, core.UnreadPrefix+"node %s: %w", m.cfg.Node, err).WithRemedy(err.Remedy)
	if err.Scope() != core.ScopeNode {
		why = core.Errorf(core.NICFailed, core.UnreadPrefix+"node %s: %w", m.cfg.Node, err)
	}
	if s.unread == nil || why.What != s.unread.What && replaces(err, s.unread) {
		s.unread, m.session.changed = why, true
		m.act(Drain{Reason: why.Line()})
	}
	m.session.ready = true
}

// replaces reports whether the node gives err as its reason from now on. A plugin that failed starts again now and
// then, and its errors meanwhile replace nothing.
func replaces(err, reason *core.Error) bool {
	return down(err) || down(reason) && err.Reason != core.DriverAway
}

func down(err *core.Error) bool {
	_, is := errors.AsType[core.Down](err)
	return is
}

// overdue is when a reading without an answer counts as one that failed; never where the server knows already.
func (m *Machine) overdue() time.Duration {
	s := &m.survey
	if !m.session.up || s.unread != nil && m.session.ready {
		return never
	}
	since := never - unreadAfter
	if s.attempt != 0 {
		since = s.started
	}
	for _, r := range m.runs {
		if m.unanswered(r) {
			since = min(since, r.looked)
		}
	}
	return max(since, 1) + unreadAfter
}

// unanswered reports whether a reading for r is under way, and no survey has succeeded since it began.
func (m *Machine) unanswered(r *holding) bool {
	return r.activity == looking && r.flight > m.survey.proved
}

// hang takes readings without an answer for those that failed. A late answer still counts.
func (m *Machine) hang() {
	waited := m.now - (m.overdue() - unreadAfter)
	m.unread(core.Errorf(core.DriverAway, "the NIC driver has not answered for %v", waited.Round(time.Second)).
		WithRemedy("`weft plugin list` on the node shows the driver's state"), m.now-waited)
	for _, r := range slices.Clone(m.runs) {
		if r.State == Making && m.unanswered(r) {
			m.fail(r, m.survey.unread)
		}
	}
	if m.survey.attempt == 0 {
		m.beginSurvey() // its success ends the drain
	}
}

// stalls is when a Create without an answer counts as one that failed.
func (r *holding) stalls() time.Duration {
	if r.activity != creating || r.stalled {
		return never
	}
	return r.looked + unreadAfter
}

// stall drains a node whose NICs can be read and make no service: each job that its scheduler sends would wait as long.
// The node removes the services that the Create makes in the end.
func (m *Machine) stall(r *holding) {
	r.stalled = true
	var nics []string
	for i := range r.sent {
		nics = append(nics, r.sent[i].Device)
	}
	err := core.Errorf(core.NICFailed, "NIC %s: cannot create service: no answer for %v",
		strings.Join(nics, ","), unreadAfter).
		WithRemedy("see the kernel's log; repair the NIC or reboot the node, then `weft resume` it")
	if r.State == Making {
		m.fail(r, err)
	} else {
		m.blame(err.Line())
	}
}

// silent is the fault of a NIC that kept a whole reading waiting: each job's reading would wait for it too.
func silent(devices []core.Device) *core.Error {
	for i := range devices {
		if d := &devices[i]; d.Fault != "" {
			return core.Errorf(core.NICFailed, "NIC %s: %s", d.Name, d.Fault)
		}
	}
	return nil
}

// readable ends what unread began.
func (m *Machine) readable() {
	if m.survey.unread != nil {
		m.survey.unread, m.session.changed = nil, true
		m.say(false, core.Run{}, "the NICs can be read again")
	}
}
