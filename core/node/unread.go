package node

import (
	"time"

	"github.com/weft-hpc/weft/core"
)

// unreadAfter is how long the NICs cannot be read before the node says so. A driver that starts again takes less.
const unreadAfter = 5 * time.Second

// unread takes a survey that failed. After unreadAfter the node reports its records and the reason, and takes no
// job until it can read its NICs again. Without that report a new store would grant nothing, and not say why.
func (m *Machine) unread(err *core.Error) {
	s := &m.survey
	if !m.session.up { // the server learns nothing, and asks for nothing
		return
	}
	if s.failing == 0 {
		s.failing = max(m.now, 1)
	}
	if s.unread == nil {
		if m.now-s.failing < unreadAfter {
			return
		}
		s.unread = core.Errorf(err.Reason, core.UnreadPrefix+"node %s: %w", m.cfg.Node, err).WithRemedy(err.Remedy)
		if err.Scope() != core.ScopeNode {
			s.unread = core.Errorf(core.NICFailed, core.UnreadPrefix+"node %s: %w", m.cfg.Node, err)
		}
		s.devices, s.blind, s.unknown, m.session.changed = nil, nil, nil, true
		m.act(Drain{Reason: s.unread.Line()})
	}
	m.session.ready = true
}

// readable ends what unread began.
func (m *Machine) readable() {
	if m.survey.unread != nil {
		m.survey.unread, m.session.changed = nil, true
		m.say(false, core.Run{}, "the NICs can be read again")
	}
}
